"""Arrays that are put together of components: what is computed of them is one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused
from fusecuda.fusion.components import by_components
from fusecuda.fusion.cost import CPU
from fusecuda.fusion.placed import placed
from fusecuda.graph import build
from fusecuda.graph.dtypes import FLOAT64
from fusecuda.graph.index_map import identity
from fusecuda.graph.node import Graph, Node
from tests.capture_check import equal
from tests.marks import few, one_in

RNG = np.random.default_rng(11)


def crossed_twice(p: Any, q: Any) -> Any:
    return p + 2 * np.cross(q, np.cross(p, q))


def filled_columns(p: Any, q: Any) -> Any:
    out = np.empty_like(p)
    out[:, 0] = p[:, 1] * q[:, 2] - 1
    out[:, 2] = p[:, 0] / (q[:, 1] ** 2 + 1)
    out[:, 1] = q[:, 0] * 3
    return out * 2 - p


def stacked(p: Any, q: Any) -> Any:
    colours = np.stack((np.sqrt(p[:, 0] ** 2), p[:, 1] / 3, q[:, 2] * q[:, 0]), axis=-1)
    return np.minimum(colours, 1) + q[:, :1]


def filled_rows(p: Any, q: Any) -> Any:
    out = np.empty((2, len(p)))
    out[0] = p[:, 0] * q[:, 0]
    out[1] = p[:, 1] / (q[:, 1] ** 2 + 1)
    return np.abs(out) - p[:, 2]


def turned_about_one_axis(p: Any, q: Any) -> Any:
    out = p.copy()
    out[:, 0] = p[:, 0] * q[:, 0] - p[:, 1] * q[:, 1]
    out[:, 1] = p[:, 0] * q[:, 1] + p[:, 1] * q[:, 0]
    return out + q


def two_of_three(p: Any, q: Any) -> Any:
    out = np.zeros_like(p)
    out[:, 1] = p[:, 1] * q[:, 2]
    out[:, 0] = 1
    out[:, 0] += np.sqrt(np.abs(p[:, 0]))
    return (out * q - 1)[:, 2] + out[:, 0]


def in_place(p: Any, q: Any) -> Any:
    p[...] = np.cross(p, q) + p
    p[:, 1] *= q[:, 2]
    return p * 2 - q


def seen_whole(p: Any, q: Any) -> Any:
    both = np.stack((p / 3, q / 7), axis=1)
    return both, both * 2 - 1, both[::2], both[:, 1, ::2] + 1


def upside_down(p: Any, q: Any) -> Any:
    return np.cross(p, q)[::-1] * 2 + np.cross(q, p)


ONE_KERNEL = [
    crossed_twice, filled_columns, stacked, filled_rows, turned_about_one_axis, two_of_three,
]  # fmt: skip


def checked(function: Callable[..., Any], p: Any, q: Any) -> list[Any]:
    """The names of the launches of a call that is replayed; results are NumPy's each time."""
    call = fused(function, strict=True)  # so that no fault of ours is made good by NumPy
    for _ in range(2):
        own, mine = p.copy(), p.copy()
        with fc.count_launches() as counter:
            got = call(mine, q)
        equal([got, mine], [function(own, q), own])
    return list(counter.by_name.elements())


@pytest.mark.parametrize("rows", [1, 5, 6000])
@pytest.mark.parametrize("function", ONE_KERNEL, ids=lambda f: f.__name__)
@one_in(12)
def test_one_kernel(function: Callable[..., Any], rows: int, emitted: str) -> None:
    """Nothing is stored in between, however the components are put together."""
    p, q = RNG.normal(size=(2, rows, 3))
    names = checked(function, p, q)
    assert len(names) <= 1 or rows <= 1, names


@pytest.mark.parametrize("function", ONE_KERNEL, ids=lambda f: f.__name__)
def test_none_at_all(function: Callable[..., Any]) -> None:
    """Of arrays without elements."""
    checked(function, np.ones((0, 3)), np.ones((0, 3)))


@pytest.mark.parametrize("function", [in_place, seen_whole, upside_down], ids=lambda f: f.__name__)
@pytest.mark.parametrize("rows", [1, 6000])
@one_in(8)
def test_what_needs_it_whole(function: Callable[..., Any], rows: int, emitted: str) -> None:
    """It is stored where it is a result, written elsewhere or seen otherwise."""
    p, q = RNG.normal(size=(2, rows, 3))
    checked(function, p, q)
    checked(function, np.asfortranarray(p), q[::-1])


def test_sums_of_components(emitted: str) -> None:
    """Have the bits that sums of stored rows have."""

    def lengths(p: Any, q: Any) -> Any:
        c = np.cross(p, q)
        size = np.sqrt((c * c).sum(axis=1, keepdims=True))
        rows = c.min(axis=1), c.any(axis=1), c.argmax(axis=1)
        return c / size, size.max(), *rows, (c * 2).max(axis=0)

    def apart(p: Any, q: Any) -> Any:
        c = np.cross(p, q)
        return fused(lambda c: (c * c).sum(axis=1))(c)

    p, q = RNG.normal(size=(2, 6000, 3)).astype("f4")
    got = fused(lengths)(p, q)
    size = np.sqrt(apart(p, q))
    c = np.cross(p, q)
    rows = c.min(axis=1), c.any(axis=1), c.argmax(axis=1)
    equal(list(got), [c / size[:, None], size.max(), *rows, (c * 2).max(axis=0)])


def test_parts_are_computed_where_they_are_read() -> None:
    """Each once, at no cost: what is dear is not stored for that."""

    def pieces(p: Any, q: Any) -> Any:
        x = np.exp(p) * np.sin(q)
        return x[:, 0] * x[:, 1] - x[:, 2]

    p, q = RNG.normal(size=(2, 6000, 3))
    call = fused(pieces)
    for _ in range(2):
        with fc.count_launches() as counter:
            got = call(p, q)
    np.testing.assert_allclose(got, pieces(p, q), rtol=1e-14, atol=1e-15)
    assert counter.total == 1


def test_numbers_and_lines_have_no_components(emitted: str) -> None:
    """What is written into them is computed as ever, whatever their rank and extent."""

    def written(p: Any, q: Any) -> Any:
        number, line = np.zeros(()), np.zeros(3)
        number[...] = p[0, 0] * 2
        line[0], line[2] = p[1, 0] + 1, q[0, 0] * 3
        x = np.stack([p[0, 0] * 2, p[1, 1] / 3])
        return number + 1, line * 2 - 1, x * 3, number * line

    def number_in_place(p: Any, q: Any) -> Any:
        p[...] = p * 2 + q.max()
        return p + q

    p, q = RNG.normal(size=(2, 6, 3))
    checked(written, p, q)
    checked(number_in_place, np.array(3.0), q)
    number, value = (build.parameter(i, (), FLOAT64) for i in range(2))
    updated = Node("update", (number, value), (), FLOAT64, identity(0))
    graph = Graph((number, value), (build.elementwise("add", [updated, value], FLOAT64),))
    assert by_components(graph, CPU) is placed(graph) is graph


def test_much_is_not_computed_for_each() -> None:
    """Kernels of all components would be long: what is put together is stored."""

    def grown(p: Any, q: Any) -> Any:
        out = p.copy()
        out[:, 0] = p[:, 0] * q[:, 1]
        for _ in range(20):
            out = np.abs(out * 2 - q) + p
        return out

    p, q = RNG.normal(size=(2, 6000, 3))  # fewer are chosen among, element by element
    assert len(checked(grown, p, q)) == 3


@pytest.mark.parametrize("first", few(range(0, 40, 4), 1))
def test_random_components(first: int, emitted: str) -> None:
    """Random chains over arrays of components, along any axis, of any types."""
    for seed in range(first, first + 4):
        checked(*random_program(seed))


def random_program(seed: int) -> tuple[Callable[..., Any], Any, Any]:
    draw = np.random.default_rng(seed)
    count, rank = int(draw.integers(2, 6)), int(draw.integers(1, 3))
    axis = int(draw.integers(0, rank + 1))
    shape = tuple(draw.integers(1, 40, rank))
    dtype = draw.choice(["f4", "f8", "i4"])
    steps = draw.integers(0, 8, 6).tolist()
    full = (*shape[:axis], count, *shape[axis:])
    p, q = (draw.integers(-9, 9, full).astype(dtype) for _ in range(2))

    def program(p: Any, q: Any) -> Any:
        def part(x: Any, k: int) -> Any:
            return x[(slice(None),) * axis + (k % count,)]

        def joined(x: Any) -> Any:
            out = np.empty_like(p)
            for k in (*range(1, count), 0):
                part(out, k)[...] = part(x, k) * part(q, k + 1) + k
            return out

        x, seen = joined(p), []
        for step in steps:
            if step == 0:
                x = joined(x)
            elif step == 1:
                x = np.stack([part(x, k) - part(q, 1 - k) for k in range(count)], axis=axis)
            elif step == 2:
                x = np.abs(x) + part(x, 1).reshape(*shape[:axis], 1, *shape[axis:])
            elif step == 3:
                seen.append(x.max(axis=axis))
            elif step == 4:
                seen.append(x[..., ::-1] * 2)
            elif step == 5:
                x = x - q
            elif step == 6:
                y = x.copy()
                part(y, 1)[...] = part(x, 0) - part(q, 1)
                x = y
            else:
                seen.append(part(x, 0) * 3)
        return x, seen

    return program, p, q


def runge_kutta(y: Any) -> Any:
    def slope(y: Any) -> Any:
        return np.column_stack([y[:, 1], -np.sin(y[:, 0])])

    first = slope(y)
    second = slope(y + first / 2)
    return y + first + second


COLUMNS: dict[str, Callable[[Any], Any]] = {
    "reshaped": lambda y: (y * 2)[:, 1].reshape(-1, 1) * (y * 2),
    "raveled": lambda y: np.sin(y)[:, 1].ravel()[:, None] * np.sin(y),
    "squeezed": lambda y: np.sin(y)[:, 1:2].reshape(-1) * np.sin(y)[:, 0],
    "stacked": runge_kutta,
    "picked": lambda y: np.sin(y)[:, [1]] * np.sin(y),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_under_other_shapes_are_components(name: str) -> None:
    """An axis of extent one that comes or goes, or is picked, stores nothing."""
    function, y = COLUMNS[name], RNG.standard_normal((5000, 2))
    lowered = fc.lower(function, y)
    assert lowered.launches == 1
    np.testing.assert_allclose(lowered(y), function(y), rtol=1e-12)
