"""Arrays that are joined or framed inside a kernel: every skeleton, stride and boundary."""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.texts import prelude
from tests.marks import few, one_in
from tests.strategies import same_bits

Function = Callable[[Any, Any], Any]


def _halves(a: Any, b: Any, axis: int) -> Any:
    return np.concatenate([a, b, a[:1] if axis == 0 else a[:, :1]], axis=axis)


# Whole numbers in, so that every order of summation gives the same bits.
LOOPS: dict[str, Function] = {
    "one run": lambda a, b: np.concatenate([a.ravel(), b.ravel(), a[0]]) + 1,
    "rows": lambda a, b: _halves(a, b, 0) * 2,
    "columns": lambda a, b: _halves(a, b, 1) * 2,
    "backwards": lambda a, b: np.concatenate([a.ravel(), b.ravel()])[::-1] - 1,
    "every third": lambda a, b: np.concatenate([a.ravel(), b.ravel()])[2::3] - 1,
    "transposed": lambda a, b: np.concatenate([a.T, b.T], axis=1) * 2,
    "interleaved": lambda a, b: np.stack([a, b, a], axis=-1) * 2,
    "interleaved in the middle": lambda a, b: np.stack([a[:, ::-1], b], axis=1) * 2,
    "frame": lambda a, b: np.pad(a, ((2, 1), (0, 3)), constant_values=7) + 1,
    "frame, backwards": lambda a, b: np.pad(a, 2, constant_values=7)[::-1, ::-1] + 1,
    "frame of a join": lambda a, b: np.pad(np.concatenate([a, b]), 1) + 1,
    "join of frames": lambda a, b: np.concatenate([np.pad(a, 1), np.pad(b, 1)], axis=1) + 1,
    "edges around": lambda a, b: np.pad(a, ((2, 1), (0, 3)), "edge") + 1,
    "turned around": lambda a, b: np.pad(a, 1, "wrap")[::-1] + np.pad(b, 1, "symmetric"),
    "mixed types": lambda a, b: np.concatenate([a > 2, b], axis=1) * 2,
}
REDUCTIONS: dict[str, Function] = {
    "all": lambda a, b: _halves(a, b, 1).sum(),
    "rows of a wide join": lambda a, b: _halves(a, b, 1).sum(axis=1),
    "rows of a tall join": lambda a, b: _halves(a, b, 0).sum(axis=1),
    "columns of a wide join": lambda a, b: _halves(a, b, 1).sum(axis=0),
    "columns of a tall join": lambda a, b: _halves(a, b, 0).sum(axis=0),
    "framed columns": lambda a, b: np.pad(a, 40, constant_values=3).max(axis=0),
    "framed rows": lambda a, b: np.pad(a, 40, constant_values=3).min(axis=1),
    "backwards": lambda a, b: _halves(a, b, 1)[:, ::-1].argmax(axis=1),
    "interleaved": lambda a, b: np.stack([a, b], axis=-1).sum(axis=(1, 2)),
    "centred": lambda a, b: _halves(a, b, 1) - _halves(a, b, 1).max(axis=1, keepdims=True),
    "centred, tall": lambda a, b: _halves(a, b, 0) - _halves(a, b, 0).max(axis=1, keepdims=True),
}
SHAPES = [(1, 1), (3, 5), (2, 600), (600, 2), (70, 33), (40, 1030)]


@pytest.mark.parametrize("kind", [*LOOPS, *(f"reduced: {k}" for k in REDUCTIONS)])
@pytest.mark.parametrize("dtype", few(["float64", "int8", "float32"], 1))
@one_in(8)
def test_joined(kind: str, dtype: str) -> None:
    """Equal to NumPy's for shapes on both sides of the sizes of blocks, chunks and zeros."""
    function = LOOPS.get(kind) or REDUCTIONS[kind.removeprefix("reduced: ")]
    for shape in SHAPES:
        a, b = (np.arange(2 * np.prod(shape)).reshape(2, *shape) % 61).astype(dtype)
        got, want = fc.fused(function)(a, b), function(a, b)
        assert got.dtype == want.dtype
        assert same_bits(np.asarray(got), np.asarray(want)), shape


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "constant", "mean"])
@pytest.mark.parametrize("order", "CF")
@one_in(18)
def test_margins(mode: Any, order: Any) -> None:
    """Of any widths, also those for which NumPy takes elements more than once, or raises."""
    for shape in ((5,), (1,), (4, 6), (1, 3), (0, 3), (3, 2, 4)):
        x = np.asarray(np.arange(np.prod(shape)).reshape(shape), np.uint8, order=order)
        for widths in (0, 1, 2, 3, 7, (1, 0), (0, 2)):
            function = fc.fused(lambda a, w=widths: np.pad(a, w, mode) * 2)
            try:
                want = np.pad(x, widths, mode) * 2
            except ValueError as error:
                with pytest.raises(ValueError, match=re.escape(str(error))):
                    function(x)
                continue
            assert same_bits(function(x), want), (shape, widths)


def test_margins_are_recorded() -> None:
    """As a kernel: they are index maps."""
    x = np.arange(12.0).reshape(3, 4)
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        executable = fc.lower(lambda a, m=mode: np.pad(a, 2, m) + 1, x)
        assert executable.launches == 1
    kept = np.pad(x.T, 1, "edge").flags.f_contiguous
    assert fc.fused(lambda a: np.pad(a, 1, "edge"))(x.T).flags.f_contiguous == kept


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (1, 1), (511, 513), (512, 512), (3, 9000)])
def test_parts_of_any_size(sizes: tuple[int, int]) -> None:
    """Empty parts, and parts longer than the block of zeros that others are read from."""
    a, b = np.arange(sizes[0]) + 1.0, -np.arange(sizes[1]) - 1.0
    function = fc.fused(lambda a, b: (np.concatenate([a, b]) * 2, np.concatenate([b, a]).sum()))
    got, want = function(a, b), (np.concatenate([a, b]) * 2, np.concatenate([b, a]).sum())
    assert same_bits(got[0], want[0])
    assert got[1] == want[1]


def test_the_length_of_a_run(tmp_path: Path) -> None:
    """`fc_stretch` is how many steps the answer of the test lasts, for all small numbers."""
    source, library = tmp_path / "runs.c", tmp_path / "runs.so"
    call = "int64_t stretch(int64_t r, int64_t a, int64_t s, int64_t l) { %s }"
    body = "return fc_stretch(r, a, s, l);"
    source.write_text(prelude() + call % body, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    stretch = ctypes.CDLL(str(library)).stretch
    stretch.argtypes, stretch.restype = [ctypes.c_int64] * 4, ctypes.c_int64
    numbers = itertools.product((1, 2, 9), range(-7, 8), range(-3, 4), range(5))
    for run, at, step, limit in numbers:
        answers = [0 <= at + k * step < limit for k in range(run)]
        want = next((k for k, a in enumerate(answers) if a != answers[0]), run)
        got = stretch(run, at, step, limit)
        jumps = abs(step) > limit  # steps may pass over what lies inside: a shorter run will do
        assert got == want or (jumps and 0 < got < want), (run, at, step, limit)
