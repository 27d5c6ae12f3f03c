"""On a device: blocks, fused functions and whole scripts on CuPy's own memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402
from fusecuda.capture.cupy import memory as spaces  # noqa: E402
from tests import cupy_programs  # noqa: E402
from tests.capture.cupy.test_cupy_capture import COMPOSED  # noqa: E402
from tests.programs_of_cupy_users import PROGRAMS  # noqa: E402
from tests.real_code.compare import differences  # noqa: E402
from tests.tools import test_run  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No block is passed through: the arrays here are tiny."""
    monkeypatch.setattr(spaces.CudaSpace, "is_cupys_own", False)


X = np.linspace(-2.0, 3.0, 24).reshape(4, 6)


@pytest.mark.parametrize("block", range(2))
def test_random_programs(block: int) -> None:
    """In a block: views, writes, masks, reads in between and drops, against NumPy."""
    for seed in range(block * 25, block * 25 + 25):
        cupy_programs.run_seed(seed, "cuda")


def test_random_functions() -> None:
    """Recorded and replayed, on arrays of several layouts and overlaps."""
    assert min(cupy_programs.run_call_seed(seed, "cuda") for seed in range(20)) < 5


@pytest.mark.parametrize("name", sorted(COMPOSED))
def test_composed_functions(name: str) -> None:
    """CuPy's own text over pending arrays gives what it gives without us."""
    text = COMPOSED[name]
    a, b = cp.asarray(X), cp.asarray(X[::-1] / 2)
    want = eval(text, {"m": cp, "x": a, "y": b})
    with fc.fused():
        got = eval(text, {"m": cp, "x": a, "y": b})
    assert type(got) is cp.ndarray
    cp.testing.assert_allclose(got, want, rtol=1e-12)


def on_host(value: Any) -> Any:
    """What a program returned, its arrays brought back."""
    if isinstance(value, cp.ndarray):
        return cp.asnumpy(value)
    if type(value) in (list, tuple):
        return type(value)(on_host(v) for v in value)
    return value


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
def test_programs_of_users(program: Callable[..., Any]) -> None:
    """Blocks give what CuPy gives without them, on other values each turn."""
    for turn in range(4):
        given = (cp, cp.asarray, np.random.default_rng(turn))
        wanted = on_host(program(*given[:2], np.random.default_rng(turn), contextlib.nullcontext))
        found = on_host(program(*given, fc.fused))
        assert not differences(found, wanted, program.__name__)


def plainly(name: str) -> tuple[dict[str, Any], float]:
    """What a script computes by CuPy alone, and the seconds it takes when warm."""
    text = (test_run.SCRIPTS / f"{name}.py").read_text()
    space: dict[str, Any] = {"__name__": "plain", "print": lambda *a: None}
    exec(compile(text, name, "exec"), space)
    space["main"]()
    cp.cuda.get_current_stream().synchronize()
    start = time.perf_counter()
    results = space["main"]()
    cp.cuda.get_current_stream().synchronize()
    return results, time.perf_counter() - start


@pytest.mark.parametrize("name", test_run.NAMES)
def test_scripts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal results plain and under `run`, fewer launches; the times are shown, not judged."""
    if name == "digits":
        pytest.importorskip("sklearn")
    want, plain = plainly(name)
    test_run.reported(name, "cuda", monkeypatch)  # compiles
    start = time.perf_counter()
    got, tally = test_run.reported(name, "cuda", monkeypatch)
    fused = time.perf_counter() - start
    print(f"{name}: {plain:.3f} s plain, {fused:.3f} s under run, "
          f"{tally.before} launches before, {tally.after} after")  # fmt: skip
    test_run.same(got, want)
    assert tally.after * 2 < tally.before


@pytest.mark.parametrize("length", [16_388, 40_001])
def test_rows_kept_in_shared_memory(length: int) -> None:
    """More than 48 KB of it have to be allowed."""
    from tests.emit_cuda.test_cuda_shapes import blended, ranks, weights

    x = np.random.default_rng(3).normal(size=(200, length)).astype("f4")
    for function in (weights, blended, ranks):
        executable = fc.lower(function, x, device="cuda")
        want = function(x.astype("f8"))
        results = executable.run([cp.asarray(x)])
        for got, wanted in zip(results, want if isinstance(want, tuple) else (want,), strict=True):
            if wanted.dtype != bool:  # a value next to a limit may fall on either side
                np.testing.assert_allclose(cp.asnumpy(got), wanted, rtol=1e-3, atol=1e-3)


def test_long_rows_online() -> None:
    """One pass for a maximum and its sum of exponentials, where `contract` allows it."""
    x = (np.random.default_rng(3).normal(size=(200, 70_001)) * 5).astype("f4")

    def log_sum(a: Any) -> Any:
        most = a.max(axis=1)
        return np.log(np.exp(a - most[:, None]).sum(axis=1)) + most

    executable = fc.lower(log_sum, x, device="cuda", contract=True)
    assert "fc_online" in executable.kernels[0].source
    (got,) = executable.run([cp.asarray(x)])
    np.testing.assert_allclose(cp.asnumpy(got), log_sum(x.astype("f8")), rtol=1e-5)
