"""``FUSECUDA_FUSE=0`` runs every operation in a kernel of its own, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.program import set_thread_count
from tests.marks import one_in
from tests.programs import PROGRAMS, Program

SIZES = [(37, 53), (3, 2000), (1, 1), (513, 65)]


def _bits(value: object) -> list[bytes]:
    parts = value if isinstance(value, tuple) else (value,)
    return [np.asarray(p).tobytes() for p in parts]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@one_in(32)
def test_fused_and_unfused_agree_bit_for_bit(
    program: Program, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions of libraries and reductions included: they are computed in the same way."""
    arguments = program.arguments(np.random.default_rng(4), *size)
    fused = fc.lower(program.function, *arguments)
    monkeypatch.setenv("FUSECUDA_FUSE", "0")
    unfused = fc.lower(program.function, *arguments)
    if (program.name, size) == ("transposed_add", (1, 1)):  # where turning is nothing
        assert unfused.launches == fused.launches == 1
    else:
        assert unfused.launches > fused.launches
    assert _bits(fused(*arguments)) == _bits(unfused(*arguments))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@one_in(10)
def test_any_number_of_threads_gives_the_same_bits(program: Program) -> None:
    """On arrays large enough for several threads, and split rows."""
    arguments = program.arguments(np.random.default_rng(5), 600, 700)
    results = []
    for threads in (1, 2, 5):
        before = set_thread_count(threads)
        try:
            results.append(_bits(_fresh(program)(*arguments)))
        finally:
            set_thread_count(before)
    assert results[0] == results[1] == results[2]


def _fresh(program: Program) -> object:
    """The program's executable built for the present number of threads."""
    from fusecuda.capture.record import plans

    plans.forget()
    return fc.fused(program.function)


def test_an_elements_bits_do_not_depend_on_its_position() -> None:
    """Every offset into a vector body and its tail gives an element the same value."""

    def function(x: np.ndarray) -> np.ndarray:
        return np.exp(np.sin(x)) / (1 + x * x) + np.tanh(x)

    x = np.random.default_rng(6).normal(size=100)
    fused = fc.fused(function, strict=True)  # never as NumPy computes it
    whole = fused(x)
    for start in range(17):
        for stop in range(start + 1, 60, 7):
            np.testing.assert_array_equal(fused(x[start:stop]), whole[start:stop])
