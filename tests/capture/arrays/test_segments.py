"""``ufunc.reduceat`` as users write it, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused
from tests.capture_check import equal, lazy

Program = Callable[[Any, Any], Any]
# Programs of an array (6, 9) of small whole numbers and indices below 6, which change at each call.


def totals(a: Any, i: Any) -> Any:
    return np.add.reduceat(a, i), np.add.reduceat(a * 2, i, axis=1), np.add.reduceat(a, i, -1)


def of_every_kind(a: Any, i: Any) -> Any:
    ufuncs = (np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)
    return [ufunc.reduceat(a % 3, i, axis=axis) for ufunc in ufuncs for axis in (0, 1)]


def of_types(a: Any, i: Any) -> Any:
    kinds = ("?", "i1", "u1", "i4", "u4", "u8", "f2", "f4", "c8")
    sums = [np.add.reduceat(a.astype(kind), i) for kind in kinds]
    sums += [np.add.reduceat(a, i, dtype=kind) for kind in ("i8", "f4", "?", "u1")]
    return sums + [np.maximum.reduceat(a.astype(kind), i, axis=1) for kind in kinds[:8]]


def at_known_places(a: Any, i: Any) -> Any:
    every = np.arange(0, 9, 2)
    return (
        np.add.reduceat(a, [0, 3, 2, 2, 5]),
        np.add.reduceat(a[0], every),
        np.add.reduceat(a, np.array([True, False, True]), axis=1),
        np.add.reduceat(a[:, ::-1], (4,), axis=1),
        np.add.reduceat(a.T, every.astype("i2"))[::2],
    )


def a_matrix_times_a_vector(a: Any, i: Any) -> Any:
    """Of compressed rows."""
    columns, starts = i[np.arange(54) % 6], np.arange(0, 54, 9)
    return np.add.reduceat(a.reshape(-1) * a[0][columns], starts)


def means(a: Any, i: Any) -> Any:
    starts = np.sort(i)
    counts = np.maximum(np.diff(np.append(starts, 9)), 1)
    return np.sqrt(np.abs(np.add.reduceat(a * a, starts, axis=1) / counts))


def written(a: Any, i: Any) -> Any:
    a[1:, :6] = np.add.reduceat(a, i, axis=1)[1:]
    a[0] = np.maximum.reduceat(a, i)[2]
    return a


def by_numpy(a: Any, i: Any) -> Any:
    """What kernels have no reduction for, and results given beforehand."""
    out = np.zeros((6, 9))
    np.add.reduceat(a, i, out=out)
    return np.subtract.reduceat(a, i), np.logaddexp.reduceat(a, i), np.add.reduceat(a, i[:0]), out


PROGRAMS = [totals, of_every_kind, of_types, at_known_places, a_matrix_times_a_vector, means,
            written, by_numpy]  # fmt: skip


def given(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 7, (6, 9)).astype(float), rng.integers(0, 6, 6)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_fused_functions(program: Program) -> None:
    """Recorded and replayed, with other values: sums of small whole numbers are exact."""
    function = fused(program)
    for seed in range(4):
        want, arguments = given(seed), given(seed)
        equal(function(*arguments), program(*want), ulp=4 * (program in (means, by_numpy)))
        equal(arguments[0], want[0])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_lazy_arrays(program: Program) -> None:
    found = program(*map(lazy, given(5)))
    parts = found if isinstance(found, list | tuple) else (found,)
    computed = [np.asarray(part) for part in parts]
    want = program(*given(5))
    equal(computed, want if isinstance(want, list | tuple) else (want,),
          ulp=4 * (program in (means, by_numpy)))  # fmt: skip


@pytest.mark.parametrize("program", [totals, of_every_kind, at_known_places])
def test_lowered_functions(program: Program) -> None:
    """Kernels compute all of it: NumPy would not be asked if one failed."""
    executable = fc.lower(program, *given(0))
    assert all(kernel.kind != "library" for kernel in executable.kernels)
    for seed in range(3):
        arguments = given(seed)
        equal(executable(*arguments), program(*arguments))


def test_one_launch() -> None:
    """With what comes before and after; of several reductions of the same segments, too."""
    exe = fc.lower(a_matrix_times_a_vector, *given(0))
    assert exe.launches == 1 and exe.kernels[0].kind == "reduction"
    exe = fc.lower(
        lambda a, i: np.maximum.reduceat(a * a, i) - np.minimum.reduceat(a * a, i), *given(0)
    )
    assert exe.launches == 1


def test_shapes_share_a_kernel() -> None:
    """Extents, counts and ends are arguments."""
    function = fused(lambda x, i: np.add.reduceat(x * 2, i), strict=True)
    rng = np.random.default_rng(0)
    for n, count in ((100, 7), (100_000, 900), (33, 33)):
        x, i = rng.integers(0, 9, n).astype(float), np.sort(rng.integers(0, n, count))
        before = fc.compile_count()
        equal(function(x, i), np.add.reduceat(x * 2, i))
        assert n == 100 or fc.compile_count() == before


BAD = ([0, 9], [-1, 2], [0, 3, 6], [1 << 40])


@pytest.mark.parametrize("places", BAD, ids=str)
def test_numpys_errors(places: list[int]) -> None:
    """Of lazy arrays at the statement, of fused functions when NumPy makes the call again."""
    a, i = given(0)[0], np.array(places)
    with pytest.raises(IndexError) as want:
        np.add.reduceat(a, i)
    function = fused(lambda a, i: np.add.reduceat(a, i) + 1)
    for call, x in ((np.add.reduceat, lazy(a)), (function, a), (function, a)):
        with pytest.raises(IndexError) as found:
            call(x, i)
        assert str(found.value) == str(want.value)

    def caught(a: Any, i: Any) -> Any:
        try:
            return np.add.reduceat(a, i)
        except IndexError as error:
            return str(error)

    assert fused(caught)(a, i) == str(want.value)


@pytest.mark.parametrize(
    ("places", "options"),
    [(0, {}), ([[0]], {}), (np.array([1], "u8"), {}), ([0], {"axis": 2}), ([0], {"axis": None})],
    ids=str,
)
def test_what_numpy_does_not_take(places: Any, options: Any) -> None:
    a = given(0)[0]
    with pytest.raises(Exception) as want:
        np.add.reduceat(a, places, **options)
    with pytest.raises(want.type) as found:
        np.add.reduceat(lazy(a), places, **options)
    assert str(found.value) == str(want.value)


def test_strict_functions() -> None:
    """Kernels do all of it; NumPy does it where errors of floats are asked for."""
    a, i = given(1)
    equal(fused(totals, strict=True)(a, i), totals(a, i))
    with np.errstate(all="raise"):
        equal(fused(totals)(a, i), totals(a, i))
