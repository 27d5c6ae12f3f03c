"""The tests notice planted bugs: each mutation of the table fails the tests that it names."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.marks import at_length, in_turn
from tests.mutations.table import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ("codegen/", "cpu_fallback/", "emit_cuda/")  # bugs there have compiled kernels apart
_later = itertools.count(1)  # seconds
PASSED, FAILED = 0, 1  # pytest's exit codes; 2 to 5 are wrong usage


def mutated(mutation: Mutation, root: Path = ROOT) -> str:
    """The text of the file with the bug in it; its place must be there just once."""
    text = (root / "fusecuda" / mutation.file).read_text(encoding="utf-8")
    found = text.count(mutation.old)
    assert found == 1, f"{mutation.name}: {mutation.file} holds {found} times: {mutation.old}"
    return text.replace(mutation.old, mutation.new)


@pytest.fixture(name="copy", scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package and its tests, in which bugs are planted in turn."""
    folder = tmp_path_factory.mktemp("planted")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("fusecuda", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def kept_kernels(copy: Path) -> Path:
    """Where kernels are kept that no bug is in: their texts say what they are."""
    return Path(os.environ.get("FUSECUDA_TEST_CACHE") or copy / "kernels").absolute()


@contextlib.contextmanager
def planted(mutation: Mutation, copy: Path) -> Iterator[None]:
    """The bug is in ``copy``; bytecode of what is there goes by the times of the files.

    These count in seconds, and two bugs of one file may be as long: each has a second to itself.
    """
    file = copy / "fusecuda" / mutation.file
    text, times = file.read_text("utf-8"), file.stat()
    file.write_text(mutated(mutation, copy), "utf-8")
    second = int(times.st_mtime) + next(_later)
    os.utime(file, (second, second))
    try:
        yield
    finally:
        file.write_text(text, "utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def run_tests(
    copy: Path, tests: Iterable[str], kernels: Path, limit: float | None
) -> tuple[int, str]:
    """Exit code (negative where killed) and output of ``tests`` in ``copy``."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("FUSECUDA_", "PYTEST"))}
    environment["FUSECUDA_TEST_CACHE"] = str(kernels)
    environment["FUSECUDA_TEST_EMULATED"] = str(kept_kernels(copy))  # no bug is in the emulator
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = environment.get("PYTHONPATH")  # of what tests start the bug is part, too
    environment["PYTHONPATH"] = os.pathsep.join([str(copy), *([before] if before else [])])
    options = ("-x", "-q", "-n0", "-p", "no:cacheprovider")
    command = (sys.executable, "-m", "pytest", *options, *tests)
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, timeout=limit, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        return -9, str(expired)
    return done.returncode, done.stdout


@functools.cache
def compiled_for() -> frozenset[str]:
    """What the C compiler defines for this processor."""
    command = ("cc", "-march=native", "-dM", "-E", "-x", "c", os.devnull)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return frozenset(line.split()[1] for line in done.stdout.splitlines())


def unknown_names(text: str) -> set[str]:
    """The variables that a module reads and that nothing in it, and no builtin, is called."""
    read, known = set[str](), {*dir(builtins), "__file__", "__path__"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else known).add(node.id)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.alias):
            known.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            known.add(node.name or "")
    return read - known


def test_the_table_fits_the_package() -> None:
    """Names are unique, each old text is there just once, and Python files stay Python.

    They name what is there: a call that fails for another reason may be left to NumPy, which knows.
    """
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)
    for mutation in MUTATIONS:
        text = mutated(mutation)
        if mutation.file.endswith(".py"):
            ast.parse(text, mutation.file)
            before = (ROOT / "fusecuda" / mutation.file).read_text(encoding="utf-8")
            if not words(mutation.new) <= words(before):
                assert unknown_names(text) <= unknown_names(before), mutation.name


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@at_length
def test_the_tests_are_there() -> None:
    """pytest finds each test that a mutation names."""
    tests = sorted({test for m in MUTATIONS for test in m.tests})
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", *tests)
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == PASSED, done.stdout[-3000:]


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_the_tests_pass_without_a_bug(copy: Path) -> None:
    """All tests that mutations name pass on a copy as it is."""
    tests = dict.fromkeys(test for m in MUTATIONS for test in m.tests)
    code, output = run_tests(copy, tests, kept_kernels(copy), None)
    assert code == PASSED, output[-3000:]


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("mutation", in_turn(MUTATIONS), ids=lambda m: m.name)
def test_a_planted_bug_is_noticed(mutation: Mutation, copy: Path, tmp_path: Path) -> None:
    """A test fails, crashes or hangs with the bug in place."""
    if mutation.needs and mutation.needs not in compiled_for():
        pytest.skip(f"this processor compiles no place that needs {mutation.needs}")
    kernels = tmp_path if mutation.file.startswith(KERNELS) else kept_kernels(copy)
    with planted(mutation, copy):
        code, output = run_tests(copy, mutation.tests, kernels, mutation.limit)
    assert code != PASSED, f"nobody notices that {mutation.bug}"
    assert code == FAILED or code < 0, f"the selection is broken ({code}):\n{output[-3000:]}"
