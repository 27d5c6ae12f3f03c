"""Scatters are kernels of the C back end, in the order and with the bits of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.engine import build as compile_graph
from fusecuda.fusion import scatters
from fusecuda.graph import build
from fusecuda.graph.dtypes import FLOAT64, INT64, DType
from fusecuda.graph.index_map import axis_map
from fusecuda.graph.interpret import interpret
from fusecuda.graph.library import SCATTERS
from fusecuda.graph.node import Graph, Node
from fusecuda.options import Options
from tests.marks import one_in
from tests.strategies import (
    DTYPES,
    EITHER_ZERO,
    LAYOUTS,
    lay_out,
    mixed_values,
    same_bits,
    strides_of,
)

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel's IR is checked."""
    monkeypatch.setenv("FUSECUDA_VERIFY", "1")


def ran(graph: Graph, arrays: list[Array], same: bool = True) -> Any:
    """The executable of ``graph``, whose results and arguments are the interpreter's."""
    arrays = [lay_out(a, "contiguous") if a.flags.c_contiguous else a for a in arrays]
    executable = compile_graph(graph, strides_of(arrays), Options())
    with np.errstate(all="ignore"):
        want = interpret(graph, arrays)
        results = executable.run(arrays)
    for i, (got, expected) in enumerate(zip(results, want, strict=True)):
        target = graph.target(i)
        found = got if target is None else arrays[target]
        assert found is not None and same_bits(found, expected), f"output {i}"
    return executable


def kinds_of(dtype: DType) -> list[str]:
    """The kinds of scatters that kernels have for elements of ``dtype``."""
    found = [k for k in SCATTERS if k == "set" or build.fusible(k, (dtype, dtype))]
    return [
        k
        for k in found
        if not (dtype.kind == "b" and k == "subtract")
        and not (dtype.kind == "c" and k == "multiply")
    ]


CASES: tuple[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], ...] = (
    ((7,), ((40,),)),  # shape of the array, shapes of the indices
    ((7,), ((3, 700),)),
    ((4, 5), ((30,),)),
    ((4, 5), ((30,), (30,))),
    ((4, 5), ((9, 1), (1, 8))),
    ((3, 2, 6), ((25,), ())),
    ((5, 3), ((),)),
    ((2, 3, 4), ((2, 3), (3,), (2, 1))),
    ((1,), ((6,),)),
)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@one_in(16)
def test_bits(dtype: Any) -> None:
    """Every kind, of special values, at indices of either sign that come several times."""
    rng = np.random.default_rng(3)
    parameters: list[Node] = []
    outputs: list[Node] = []
    arrays: list[Array] = []

    def given(values: Array) -> Node:
        layout = "contiguous" if not values.shape else str(rng.choice(LAYOUTS))
        arrays.append(lay_out(values, layout))
        parameters.append(build.parameter(len(parameters), values.shape, values.dtype))
        return parameters[-1]

    for kind in kinds_of(dtype):
        for shape, places in CASES:
            common = np.broadcast_shapes(*places)
            values = [
                mixed_values(rng, dtype, s) for s in (shape, (*common, *shape[len(places) :]))
            ]
            if kind in EITHER_ZERO:
                values = [v + dtype.type(0) for v in values]
            old, value = map(given, values)
            at = [given(rng.integers(-n, n, p)) for n, p in zip(shape, places, strict=False)]
            outputs.append(build.scatter(kind, old, value, at))
    executable = ran(Graph(tuple(parameters), tuple(outputs)), arrays)
    assert {k.kind for k in executable.kernels} == {"loop"}


def test_kinds() -> None:
    """All kinds there are have kernels for some element type."""
    assert set(SCATTERS) == {k for d in DTYPES for k in kinds_of(d)}


# --- regions and chains

X, V, N, J = (
    build.parameter(0, (6, 8), FLOAT64), build.parameter(1, (20,), FLOAT64),
    build.parameter(2, (20,), INT64), build.parameter(3, (20,), INT64),
)  # fmt: skip


def inputs(seed: int = 0) -> list[Array]:
    """Arguments for graphs of the parameters: indices are from 0 to 2."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(6, 8)), rng.normal(size=20), *rng.integers(0, 3, (2, 20))]


def in_region(old: Node, rows: Any, shape: tuple[int, ...], kind: str = "add") -> Node:
    """``old`` with V added at J in a region of it."""
    at = axis_map(rows, len(shape))
    return build.update(
        old, build.scatter(kind, build.index(old, at, shape), V, [J] * len(shape)), at
    )


REGIONS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "a row": ([(4, 0, None), (0, 1, 0)], (8,)),
    "a column": ([(0, 1, 0), (3, 0, None)], (6,)),
    "a column backwards": ([(5, -1, 0), (3, 0, None)], (6,)),
    "a part": ([(2, 1, 0), (1, 2, 1)], (3, 3)),
    "turned": ([(5, -2, 0), (7, -2, 1)], (3, 3)),
    "transposed": ([(0, 1, 1), (0, 1, 0)], (8, 6)),
    "the diagonal": ([(0, 1, 0), (1, 1, 0)], (6,)),
}


@pytest.mark.parametrize("layout", ["contiguous", "mixed"])
def test_regions(layout: str) -> None:
    """A scatter in a part of an array writes just there."""
    arrays = inputs()
    arrays[0] = lay_out(arrays[0], layout)
    nodes = tuple(in_region(X, *REGIONS[r], kind) for r in REGIONS for kind in ("set", "add"))
    ran(Graph((X, V, N, J), nodes), arrays)


@pytest.mark.parametrize("name", REGIONS)
def test_regions_of_arguments(name: str) -> None:
    """An argument is written to in one kernel, without a copy, however it lies."""
    for layout in ("transposed", "mixed"):
        arrays = inputs()
        arrays[0] = lay_out(arrays[0], layout)
        executable = ran(Graph((X, V, N, J), (in_region(X, *REGIONS[name]),), "", (0,)), arrays)
        assert executable.launches == 1


def test_a_region_is_written_to_in_the_array() -> None:
    """What a scatter is on, and what it is written back to, become one node."""
    graph = scatters.scattered(Graph((X, V, N, J), (in_region(X, *REGIONS["a part"]),)))
    (output,) = graph.outputs
    assert output.op == "scatter" and output.operands[0].op == "parameter"
    both = in_region(X, *REGIONS["a part"])
    for other in (both.operands[1], square(both.operands[1])):
        seen = scatters.scattered(Graph((X, V, N, J), (both, other)))
        assert seen.outputs[0].op == "update"


def row(old: Node, number: int, value: Node, at: Node = J, kind: str = "add") -> Node:
    """``old`` with ``value`` added at ``at`` in row ``number``."""
    where = axis_map([(number, 0, None), (0, 1, 0)], 1)
    return build.update(old, build.scatter(kind, build.index(old, where, (8,)), value, [at]), where)


def square(node: Node) -> Node:
    return build.elementwise("multiply", [node, node], node.dtype)


def picked(old: Node, number: int) -> Node:
    """The elements of row ``number`` at N."""
    return build.gather(build.index(old, axis_map([(number, 0, None), (0, 1, 0)], 1), (8,)), [N])


def column(old: Node, value: Node, at: Node) -> Node:
    """``old`` with ``value`` written at ``at`` in its column 1."""
    where = axis_map([(0, 1, 0), (1, 0, None)], 1)
    inner = build.scatter("set", build.index(old, where, (6,)), value, [at])
    return build.update(old, inner, where)


def stale(old: Node, changed: Node) -> Node:
    """``changed`` with row 1 as it is in ``old``, but for values added there."""
    where = axis_map([(1, 0, None), (0, 1, 0)], 1)
    inner = build.scatter("add", build.index(old, where, (8,)), V, [N])
    return build.update(changed, inner, where)


ROW = build.elementwise("add", [build.iota((6,), 0), build.constant(1, INT64)], INT64)
NEXT = build.elementwise("remainder", [ROW, build.constant(6, INT64)], INT64)
FRESH = square(X)
WHOLE = build.scatter("add", X, V, [N, J])
AS_INDEX = build.scatter("set", N, J, [J])
CHAINS: dict[str, tuple[tuple[Node, ...], int]] = {
    "apart": ((row(row(X, 1, V), 2, square(V), N),), 2),
    "the same row": ((row(row(X, 1, V), 1, V, N, "set"),), 4),
    "a column and a row": ((row(column(X, square(V), J), 1, V),), 3),
    "elements as they were": ((stale(X, column(X, square(V), J)),), 4),
    "a value that is read there": ((row(X, 1, picked(X, 1)),), 3),
    "a value that is read elsewhere": ((row(X, 1, picked(X, 2)),), 2),
    "a value of the version before": ((row(row(X, 1, V), 2, picked(X, 1)),), 3),
    "a value of this version": ((row(WHOLE, 2, picked(WHOLE, 2)),), 4),
    "an old version that is seen": ((row(WHOLE, 1, V), WHOLE, square(X)), 5),
    "what is computed": ((build.scatter("multiply", FRESH, V, [N, J]),), 2),
    "what is computed, seen": ((build.scatter("multiply", FRESH, V, [N, J]), FRESH), 3),
    "indices that are written": ((AS_INDEX, build.scatter("add", X, V, [N, AS_INDEX])), 4),
    "rows of itself": ((build.scatter("set", X, X, [NEXT]),), 3),
    "itself at itself": ((build.scatter("set", N, N, [N]),), 2),
    "and its sum": ((WHOLE, build.reduce("sum", WHOLE, [1])), 3),
    "twice with one value": ((build.scatter("add", WHOLE, square(V), [N, J]), square(V)), 4),
    "updated after": ((build.update(WHOLE, WHOLE, axis_map([(5, -1, 0), (0, 1, 1)], 2)),), 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
@one_in(8)
def test_chains(name: str) -> None:
    """Versions of one array, and values of them, are as if each were an array of its own."""
    outputs, most = CHAINS[name]
    assert ran(Graph((X, V, N, J), outputs), inputs()).launches <= most
    number = 2 if outputs[0].dtype == INT64 else 0
    targets = (number, *[None] * (len(outputs) - 1))
    assert ran(Graph((X, V, N, J), outputs, "", targets), inputs()).launches <= most + 2


@pytest.mark.parametrize("name", CHAINS)
def test_chains_unfused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many kernels as operations give the same."""
    monkeypatch.setenv("FUSECUDA_FUSE", "0")
    ran(Graph((X, V, N, J), CHAINS[name][0]), inputs())


# --- order


def test_the_last_value_stays() -> None:
    """Whatever the layout of indices and values, in the order of their elements."""
    at = np.array([[1, 0], [0, 1]])
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    i, v = build.parameter(0, (2, 2), INT64), build.parameter(1, (2, 2), FLOAT64)
    zeros = build.broadcast_to(build.constant(0.0, FLOAT64), (2,))
    graph = Graph((i, v), (build.scatter("set", zeros, v, [i]),))
    for order in "CF":
        arrays = [np.array(at, order=order), np.array(values, order=order)]
        ran(graph, arrays)
        assert interpret(graph, arrays)[0].tolist() == [3, 4]
        (got,) = compile_graph(graph, strides_of(arrays), Options()).run(arrays)
        assert got is not None and got.tolist() == [3, 4]


def test_sums_are_made_in_order() -> None:
    """Sums that depend on the order, of more elements than a thread takes at once."""
    n = 400_000
    values = np.where(np.arange(n) % 4 == 0, 1e16, 1.0)
    values[2::4] = -1e16
    at = np.arange(n) % 3
    v, i = build.parameter(0, (n,), FLOAT64), build.parameter(1, (n,), INT64)
    zeros = build.broadcast_to(build.constant(0.0, FLOAT64), (3,))
    ran(Graph((v, i), (build.scatter("add", zeros, square(v), [i]),)), [values, at])
    ran(Graph((v, i), (build.scatter("add", zeros, v, [i]),)), [values, at])


# --- failures

BIG = build.parameter(4, (20,), INT64)


def test_nothing_is_written_if_an_index_is_out_of_bounds() -> None:
    """Arguments stay as they were, whichever element of whatever fails."""
    power = build.elementwise("power", [N, build.elementwise("subtract", [J, BIG], INT64)], INT64)
    shown = build.gather(V, [build.elementwise("add", [N, BIG], INT64)])
    shifted = build.elementwise("add", [N, BIG], INT64)
    whole = build.scatter("add", X, shown, [N, J])
    graphs = {
        "an index": (build.scatter("set", X, V, [shifted, J]),),
        "the other index": (build.scatter("add", X, V, [J, shifted]),),
        "a value that is gathered": (whole,),
        "a power": (build.scatter("add", X, build.convert(power, FLOAT64), [N, J]),),
        "a region": (row(X, 1, V, shifted),),
        "two regions": (row(row(X, 1, V), 2, V, shifted),),
        "another result": (WHOLE, shown),
        "a result of it": (WHOLE, build.gather(WHOLE, [shifted])),
        "an update after": (build.update(WHOLE, whole, axis_map([(5, -1, 0), (0, 1, 1)], 2)),),
    }
    for name, outputs in graphs.items():
        targets = (0, *[None] * (len(outputs) - 1))
        graph = Graph((X, V, N, J, BIG), outputs, "", targets)
        executable = compile_graph(graph, {}, Options())
        for value in (20, -40 if name != "a power" else 1 << 40):
            arrays: list[Any] = [*inputs(), np.zeros(20, np.int64)]
            arrays[4][13], before = value, arrays[0].copy()
            with pytest.raises((IndexError, ValueError)):
                executable.run(arrays)
            np.testing.assert_array_equal(arrays[0], before, name)


@pytest.mark.parametrize(("low", "high"), [(-7, -6), (6, 7), (2**62, 2**63 - 1), (-(2**63), -8)])
def test_bounds(low: int, high: int) -> None:
    """The first and the last index out of bounds are, for all sizes of them."""
    x, i = build.parameter(0, (6,), FLOAT64), build.parameter(1, (1,), INT64)
    one = build.constant(1.0, FLOAT64)
    executable = compile_graph(Graph((x, i), (build.scatter("add", x, one, [i]),)), {}, Options())
    for value in (low, high):
        if -6 <= value < 6:
            (got,) = executable.run([np.zeros(6), np.array([value])])
            assert got is not None and got.sum() == 1 and got[value] == 1
        else:
            with pytest.raises(IndexError):
                executable.run([np.zeros(6), np.array([value])])


def test_nothing_to_write() -> None:
    """Empty values and empty arrays."""
    for shape, places in (((0,), (0,)), ((4,), (0,)), ((4, 0), (3,)), ((0, 4), (0,))):
        x, v = build.parameter(0, shape, FLOAT64), build.parameter(1, places + shape[1:], FLOAT64)
        i = build.parameter(2, places, INT64)
        arrays = [np.ones(shape), np.ones(v.shape), np.zeros(places, np.int64)]
        for kind in ("set", "add"):
            ran(Graph((x, v, i), (build.scatter(kind, x, v, [i]),)), arrays)


# --- launches


def moved(x: Any, i: Any, v: Any) -> Any:
    x[i] += np.sqrt(np.abs(v * 2 - 1))
    return x


def histogram(x: Any, i: Any, v: Any) -> Any:
    return np.bincount(np.clip((v * 8).astype(np.int64), 0, 15), np.exp(v), minlength=16)


def once(x: Any, i: Any, v: Any) -> Any:
    np.add.at(x, i, v * v + 1)
    return x


@pytest.mark.parametrize(("function", "most"), [(moved, 2), (histogram, 1), (once, 1)])
def test_launches(function: Any, most: int) -> None:
    """What is scattered is computed where it is needed; arguments are written to directly."""
    rng = np.random.default_rng(0)
    arguments = rng.normal(size=50), rng.integers(0, 50, 300), rng.normal(size=300)
    exe = fc.lower(function, *arguments)
    assert exe.launches <= most


def filled_large(x: Any, i: Any, v: Any) -> Any:
    """Much more is filled than scattered."""
    out = np.zeros(200_000)
    out[i] = v
    return out


def filled_twice(x: Any, i: Any, v: Any) -> Any:
    """By numbers of two types, one of them an argument; the second one scattered to twice."""
    count, most = np.zeros(50, np.int32), np.full((50, 2), x)
    np.add.at(count, i, 1)
    np.maximum.at(most, i, v[:, None] * np.arange(2.0))
    most[i[:9]] = 7
    return count, most


def filled_and_seen(x: Any, i: Any, v: Any) -> Any:
    """What is filled is read elsewhere, or is a result itself."""
    out = np.full(50, 2.5)
    before = out.copy()
    out[i] = v
    return out, before


def filled_in_part(x: Any, i: Any, v: Any) -> Any:
    out = np.full((60, 3), -1.0)
    out[3:53, 1][i] = v
    return out * 2


def filled_by_what_is_computed(x: Any, i: Any, v: Any) -> Any:
    out = np.full(50, v.max())
    np.subtract.at(out, i, v)
    return out


FILLED = {
    filled_large: 2, filled_twice: 2, filled_and_seen: 1, filled_in_part: 2,
    filled_by_what_is_computed: 3,
}  # fmt: skip


@pytest.mark.parametrize("function", FILLED, ids=lambda f: f.__name__)
def test_what_is_scattered_to_is_filled_first(function: Any) -> None:
    """By the kernel that scatters, if nobody else sees it and it is no large part of the work."""
    rng = np.random.default_rng(1)
    arguments = rng.normal(), rng.integers(0, 50, 300), rng.normal(size=300)
    exe = fc.lower(function, *arguments)
    for got, want in zip(_listed(exe(*arguments)), _listed(function(*arguments)), strict=True):
        assert same_bits(got, want)
    assert exe.launches == FILLED[function], exe.explain(full=True)


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_rows_of_one_place(dtype: Any) -> None:
    """Where the places, and what is written there, are the same for all of a row."""
    rng = np.random.default_rng(5)
    a, i = rng.integers(0, 9, (5, 7)).astype(dtype), rng.integers(-9, 9, 40)
    v = rng.integers(0, 9, 40).astype(dtype)

    def added(a: Any, i: Any, v: Any) -> Any:
        b = a + 1
        np.add.at(b, i % 5, v[:, None] * np.ones((1, 7), v.dtype))
        np.add.at(b, i % 3, np.broadcast_to(v[:, None], (40, 7)))
        b[i % 4] = v[:, None]
        return b, a[i % 5] * 2, np.take(a, i % 2, axis=0) + v[:, None]

    for got, want in zip(fc.fused(added, strict=True)(a, i, v), added(a, i, v), strict=True):
        assert same_bits(got, want)
    with pytest.raises(IndexError):
        fc.fused(added)(a[:4], i, v)


@pytest.mark.parametrize("kind", ["u1", "i2"])
def test_places_that_are_converted(kind: str) -> None:
    """They are converted where they are used; what is kept of them besides is computed before."""

    def added(at: Any, weights: Any) -> Any:
        out, wide = np.zeros(100), at.astype(np.int64)
        np.add.at(out, wide, weights * (wide - 1))
        return out

    rng = np.random.default_rng(4)
    at = rng.integers(-100 if kind[0] == "i" else 0, 100, 1300).astype(kind)
    for view in (at, at[::-3], at[:0], np.broadcast_to(at[:1], 70)):
        weights = rng.normal(size=view.shape)
        found = fc.fused(strict=True)(added)(view, weights)
        assert same_bits(found, added(view, weights))
    with pytest.raises(IndexError):
        fc.fused(strict=True)(added)(np.full(600, 100, kind), 1.0)
