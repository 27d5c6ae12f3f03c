"""Operations on followed numbers that raise errors, between updates of CuPy's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402
from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import memory as spaces  # noqa: E402
from fusecuda.errors import FlushError  # noqa: E402
from tests import cupy_host, programs_of_errors  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402
from tests.marks import one_in  # noqa: E402
from tests.programs_of_errors import RAISING, around, calls  # noqa: E402
from tests.side_by_side import Comparison  # noqa: E402

cupy_host.install()


def run(program: str, steps: Sequence[str]) -> Any:
    """The fused function, having done as the plain one does to NumPy's arrays after each step."""
    functions: list[Any] = []

    def made(function: Any) -> Any:
        functions.append(fused(function, device="cpu"))
        return functions[-1]

    theirs: dict[str, Any] = {"np": np, "fused": lambda function: function}
    mine: dict[str, Any] = {"np": np, "fused": made}
    for space in (theirs, mine):
        exec(program, space)
    mine["x"], mine["y"] = host(mine["x"]), host(mine["y"])
    for text in steps:
        found = []
        for space in (theirs, mine):
            *before, call = text.split("; ")
            exec("; ".join(before), {**space, "x": _seen(space["x"]), "y": _seen(space["y"])})
            error = None
            try:
                exec(call, space)
            except Exception as raised:
                error = type(raised).__name__, str(raised)
            kept = {name: space.get(name) for name in ("x", "y", "r", "LOG", "D")}
            found.append(_seen((error, kept)))
        Comparison().same(f"after {text}: ", *found)
    return functions[0]


def _seen(value: Any) -> Any:
    """``value`` with NumPy's arrays for CuPy's."""
    if isinstance(value, cp.ndarray):
        return seen(value)
    if isinstance(value, dict):
        return {k: _seen(v) for k, v in value.items()}
    return type(value)(map(_seen, value)) if type(value) in (list, tuple) else value


@pytest.mark.parametrize("number", ["float(y.sum())", "n"], ids=["look", "argument"])
@pytest.mark.parametrize("operation", RAISING)
@one_in(16)
def test_an_error_that_the_function_catches(operation: str, number: str) -> None:
    """It is caught in a replay too, each update is done once; then that way is replayed."""
    good, bad = RAISING[operation]
    program = around(operation, number, caught=True)
    for first, then in ((good, bad), (bad, good)):
        function = run(program, calls(first, first, then, first, then, then, first))
        assert function.traces == 2


@pytest.mark.parametrize("number", ["float(y.sum())", "n"], ids=["look", "argument"])
@pytest.mark.parametrize("operation", RAISING)
@one_in(8)
def test_an_error_that_passes_to_the_caller(operation: str, number: str) -> None:
    """The updates before it are there, once; those after it are not."""
    good, bad = RAISING[operation]
    program = around(operation, number, caught=False)
    for first, then in ((good, bad), (bad, good)):
        run(program, calls(first, first, then, first, then, then, first))


@pytest.mark.parametrize("first", range(0, 40, 20))
@pytest.mark.filterwarnings("ignore")
@one_in(4)
def test_random_programs(first: int) -> None:
    """Random programs are as plain ones on NumPy's arrays are."""
    for seed in range(first, first + 20):
        run(*programs_of_errors.written(seed))


# --- a user's own capture


@pytest.mark.parametrize(("pointer", "captured"), [(0, True), (1, True), (77, False), (77, True)])
def test_a_copy_to_the_device_is_not_captured(
    monkeypatch: pytest.MonkeyPatch, pointer: int, captured: bool
) -> None:
    """It is refused by name; the legacy default stream is never captured, so it is not asked."""

    class Stream:
        ptr = pointer

        def is_capturing(self) -> bool:
            assert pointer > 1
            return captured

    monkeypatch.setattr(cp.cuda, "get_current_stream", Stream)
    monkeypatch.setattr(cp.cuda.runtime, "getDevice", lambda: 0)
    monkeypatch.setattr(cp, "asarray", host)
    executable = fc.lower(lambda a: a * 2, np.ones(3))
    monkeypatch.setattr(type(executable), "run", lambda self, arrays: [*arrays, None])
    run = partial(spaces.CudaSpace().run, executable, [np.ones(3)], 0)
    if pointer == 77 and captured:
        with pytest.raises(FlushError, match="loop_multiply cannot be captured: an array of NumPy"):
            run()
    else:
        assert isinstance(run()[0], cp.ndarray)
