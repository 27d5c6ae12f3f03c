"""Index maps against NumPy's views, and the two rules of reshapes against NumPy's own reshape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from fusecuda.graph import index_map
from fusecuda.graph.index_map import IndexMap, Shape, identity
from fusecuda.graph.passes import are_disjoint
from fusecuda.graph.views import view
from tests.strategies import Array, random_view

SHAPES: tuple[Shape, ...] = ((), (1,), (5,), (3, 4), (1, 6), (2, 3, 4), (4, 4), (2, 1, 3, 2))


def indices(shape: Shape) -> Iterator[tuple[int, ...]]:
    """Every index of ``shape``."""
    return itertools.product(*map(range, shape))


def cells(mapping: IndexMap, shape: Shape) -> list[tuple[int, ...]]:
    """The operand index of every element, in row-major order."""
    return [mapping(i) for i in indices(shape)]


def numbered(shape: Shape) -> Array:
    """An array whose elements are their row-major positions."""
    return np.arange(math.prod(shape)).reshape(shape)


@pytest.mark.parametrize("seed", range(200))
def test_random_views_read_what_they_say(seed: int) -> None:
    """A map called at each index, used as strides, and composed, finds the same elements."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    array = numbered(shape)
    first, mid = random_view(rng, shape)
    second, last = random_view(rng, mid)
    seen = view(array, first, mid)
    assert seen.ravel().tolist() == [int(array[i]) for i in cells(first, mid)]
    assert first.fits(mid, shape) and second.fits(last, mid)
    both = second.then(first)
    if 0 not in last:
        assert view(seen, second, last).tolist() == view(array, both, last).tolist()
    assert cells(both, last) == [first(i) for i in cells(second, last)]
    steps = array.strides
    assert both.offset(steps) == second.offset(first.strides(steps)) + first.offset(steps)


def test_named_maps_are_numpys_views() -> None:
    """Slices, flips, transposes, broadcasts and diagonals."""
    array = numbered((4, 6))
    axis_map = index_map.axis_map
    assert (view(array, axis_map([(1, 2, 0), (5, -1, 1)], 2), (2, 6)) == array[1::2, ::-1]).all()
    assert (view(array, index_map.transpose((1, 0)), (6, 4)) == array.T).all()
    assert (view(array, axis_map([(0, 1, 0), (1, 1, 0)], 1), (4,)) == np.diagonal(array, 1)).all()
    assert (view(array, axis_map([(2, 0, None), (0, 1, 0)], 1), (6,)) == array[2]).all()
    wide = index_map.broadcast((4, 1), (3, 4, 5))
    column = array[:, :1]
    assert (view(column, wide, (3, 4, 5)) == np.broadcast_to(column, (3, 4, 5))).all()
    cube = numbered((2, 3, 4))
    for axes in itertools.permutations(range(3)):
        turned = cube.transpose(axes)
        assert (view(cube, index_map.transpose(axes), turned.shape) == turned).all()
        assert index_map.transpose(axes).is_identity() == (axes == (0, 1, 2))


def test_fits_is_exact() -> None:
    """A map fits just when each index that it gives is inside."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        rank, axes = int(rng.integers(1, 3)), int(rng.integers(1, 3))
        coefs = tuple(tuple(map(int, rng.integers(-2, 3, rank))) for _ in range(axes))
        mapping = IndexMap(rank, tuple(map(int, rng.integers(-1, 5, axes))), coefs)
        shape = tuple(map(int, rng.integers(0, 4, rank)))
        extents = tuple(map(int, rng.integers(1, 6, axes)))
        inside = all(
            0 <= i < n for cell in cells(mapping, shape) for i, n in zip(cell, extents, strict=True)
        )
        assert mapping.fits(shape, extents) == inside


def test_views_that_updates_may_use_are_injective() -> None:
    """Without broadcast axes no element is met twice, and such maps say so."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        shape = SHAPES[seed % len(SHAPES)]
        mapping, extents = random_view(rng, shape, injective=True)
        assert mapping.is_injective(extents)
        found = cells(mapping, extents)
        assert len(set(found)) == len(found)
    assert not index_map.broadcast((1, 3), (2, 3)).is_injective((2, 3))
    assert index_map.broadcast((1, 3), (1, 3)).is_injective((1, 3))


def test_a_map_that_meets_an_element_twice_is_not_injective() -> None:
    """(d0, d1) -> (d0 + d1) uses both axes and still overlaps itself."""
    assert not IndexMap(2, (0,), ((1, 1),)).is_injective((3, 3))
    assert IndexMap(2, (0,), ((3, 1),)).is_injective((4, 3))


def test_disjoint_views_share_no_element() -> None:
    """`are_disjoint` is never wrong, and sees slices that are apart or interleaved."""
    known = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        shape = SHAPES[seed % len(SHAPES)]
        (a, a_shape), (b, b_shape) = random_view(rng, shape), random_view(rng, shape)
        shared = set(cells(a, a_shape)) & set(cells(b, b_shape))
        if are_disjoint(a, a_shape, b, b_shape):
            known += 1
            assert not shared
    assert known > 20

    def cut(start: int, step: int) -> IndexMap:
        return index_map.axis_map([(start, step, 0)], 1)

    assert are_disjoint(cut(0, 2), (5,), cut(1, 2), (5,))
    assert are_disjoint(cut(0, 1), (5,), cut(5, 1), (5,))
    assert are_disjoint(cut(9, -2), (5,), cut(0, 4), (3,))
    assert are_disjoint(cut(0, 1), (0,), cut(0, 1), (5,))
    assert not are_disjoint(cut(0, 1), (5,), cut(4, 1), (5,))


def targets(size: int, rank: int) -> Iterator[Shape]:
    """Every shape of that rank and size."""
    if rank == 1:
        yield (size,)
        return
    for n in range(1, size + 1):
        if size % n == 0:
            yield from ((n, *rest) for rest in targets(size // n, rank - 1))


RESHAPED: tuple[Shape, ...] = ((24,), (4, 6), (2, 3, 4), (1, 24, 1), (6, 1, 4), (2, 2, 2, 3))


@pytest.mark.parametrize("shape", RESHAPED, ids=str)
def test_split_axes_is_the_reshape_where_it_gives_a_map(shape: Shape) -> None:
    """A map there is must read row-major order; one there is for every pure split of axes."""
    array = numbered(shape)
    for rank in range(1, 5):
        for target in targets(24, rank):
            mapping = index_map.split_axes(shape, target)
            if mapping is not None:
                assert (view(array, mapping, target) == array.reshape(target)).all(), target
            if math.prod(shape) == shape[0] or tuple(n for n in target if n > 1) == shape:
                assert mapping is not None, target


@pytest.mark.parametrize("shape", RESHAPED, ids=str)
def test_reshape_strides_are_numpys(shape: Shape) -> None:
    """Strides are found just when NumPy reshapes without a copy, and walk the same elements."""
    base, memory = numbered((8, 9, 10, 11, 2)), np.arange(1 << 18)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        order = rng.permutation(5)[: len(shape)]
        array = np.moveaxis(base, order, range(len(shape)))[(..., *(0,) * (5 - len(shape)))]
        array = np.lib.stride_tricks.as_strided(
            memory, shape, [s * int(rng.choice([1, 1, 2])) for s in array.strides], writeable=False
        )
        for candidate in (array, numbered(shape), numbered(shape[::-1]).T):
            for rank in range(1, 5):
                for target in targets(24, rank):
                    strides = index_map.reshape_strides(shape, candidate.strides, target)
                    copied = not np.may_share_memory(candidate.reshape(target), candidate)
                    assert (strides is None) == copied, (candidate.strides, target)
                    if strides is not None:
                        got = np.lib.stride_tricks.as_strided(candidate, target, strides)
                        assert (got == candidate.reshape(target)).all()


def test_reshapes_of_nothing_and_of_one_element() -> None:
    """Zero extents and 0-d shapes have maps and strides too."""
    assert index_map.reshape_strides((0, 3), (24, 8), (3, 0)) is not None
    assert index_map.reshape_strides((), (), (1, 1)) == (0, 0)
    assert index_map.reshape_strides((1, 1), (8, 8), ()) == ()
    assert index_map.split_axes((), (1, 1)) is not None
    assert index_map.split_axes((1, 1), ()) is not None
    assert index_map.contiguous_strides((2, 3, 4), 8) == (96, 32, 8)


def test_maps_of_other_ranks_differ() -> None:
    """A diagonal begins where all of a matrix does, and is another part of it."""
    diagonal, all_of_it = IndexMap(1, (0, 0), ((1,), (1,))), identity(2)
    assert not diagonal.same_over(all_of_it, (4,))
    assert not all_of_it.same_over(diagonal, (4, 4))
    assert all_of_it.same_over(identity(2), (4, 4))
