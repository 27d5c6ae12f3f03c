"""Reductions in C: the bits of the documented tree, whatever the shape, layout or threads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from fusecuda.cpu_fallback.program import set_thread_count
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.dtypes import BOOL, FLOAT64, DType, is_reducible, kind_of
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import REDUCTIONS, Graph
from fusecuda.options import Options
from tests.marks import chosen, few, one_in
from tests.strategies import DTYPES, Array, lay_out, mixed_values, same_bits, strides_of

_USUAL = (FLOAT64, np.dtype(np.int64))
EXTENTS = (0, 1, 3, 31, 32, 33, 511, 512, 513, 1025)
LONG = (70_000, 200_000)
FLOAT32 = np.dtype(np.float32)
Axes = tuple[int, ...]


@pytest.fixture
def threads() -> Iterator[None]:
    """Give the process its thread count back."""
    before = set_thread_count(1)
    set_thread_count(before)
    yield
    set_thread_count(before)


def kinds_for(dtype: DType) -> list[str]:
    """The reductions that ``dtype`` takes."""
    return [k for k in REDUCTIONS if is_reducible(k, dtype)]


def identity_missing(kind: str, shape: tuple[int, ...], axes: Axes) -> bool:
    """True if the reduction is an error because nothing is reduced."""
    return kind not in ("sum", "prod", "any", "all") and 0 in [shape[a] for a in axes]


Subject = tuple[Array, Axes]  # values and the axes to reduce


def all_kinds(subjects: Sequence[Subject], layout: str = "contiguous") -> tuple[Graph, list[Array]]:
    """Every reduction of all ``subjects`` as one graph, compiled at once, and its arguments.

    NumPy's extrema return either of ±0, so max and min are of values without -0.
    """
    parameters, outputs = [], []
    for number, (values, axes) in enumerate(subjects):
        x = build.parameter(number, values.shape, values.dtype)
        parameters.append(x)
        for kind in kinds_for(values.dtype):
            if not identity_missing(kind, values.shape, axes):
                operand = x
                if kind in ("max", "min") and kind_of(values.dtype) == "f":
                    zero = build.constant(0.0, values.dtype)
                    operand = build.elementwise("add", [x, zero], values.dtype)
                outputs.append(build.reduce(kind, operand, axes))
    arguments = [lay_out(values, layout) for values, _ in subjects]
    return Graph(tuple(parameters), tuple(outputs)), arguments


def check(subjects: Sequence[Subject], layout: str = "contiguous") -> None:
    """Demand the interpreter's bits of every reduction of all ``subjects``."""
    graph, arguments = all_kinds(subjects, layout)
    got = compile_graph(graph, strides_of(arguments), Options()).run(arguments)
    for node, a, b in zip(graph.outputs, got, interpret(graph, arguments), strict=True):
        assert a is not None
        assert same_bits(a, b), f"{node.reduction} of {node.operands[0]}, {layout}"


def some_axes(shape: tuple[int, ...]) -> list[Axes]:
    """The first axis, the last and all of them."""
    return sorted({(0,), (len(shape) - 1,), tuple(range(len(shape)))})


def tame(dtype: DType, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Values whose products neither vanish nor overflow at once; integers of the whole range."""
    rng = np.random.default_rng(seed)
    if kind_of(dtype) == "f":
        return np.asarray(rng.choice([-1, 1], shape) * np.exp(rng.normal(size=shape) / 30), dtype)
    return mixed_values(rng, dtype, shape)


@pytest.mark.parametrize("dtype", chosen(DTYPES, _USUAL), ids=str)
def test_every_extent_along_every_axis(dtype: DType) -> None:
    """Full, row, column and middle-axis reductions, around the tree's lanes and chunks."""
    subjects: list[Subject] = []
    for n in EXTENTS:
        shapes: list[tuple[Axes, Axes]] = [((n,), (0,)), ((4, n), (1,)), ((n, 40), (0,))]
        if dtype in (FLOAT64, FLOAT32, np.dtype(np.int8)):
            shapes += [((n, 5), (0,)), ((3, n), (0, 1)), ((2, n, 3), (1,)), ((2, n, 3), (0, 2))]
            shapes += [((2, n, 3), (0, 1, 2)), ((n, 2, 3), (1,))]
        subjects += [(tame(dtype, shape, n), axes) for shape, axes in shapes]
    check(subjects)


@pytest.mark.parametrize("layout", few(["mixed", "offset", "reversed", "transposed"], 1))
def test_every_layout(layout: str) -> None:
    """Where the elements lie changes how they are read and nothing else."""
    shapes: list[Axes] = [(1025,), (33, 513), (513, 33), (5, 32, 31)]
    dtypes = (FLOAT64, FLOAT32, np.dtype(np.int16), BOOL)
    drawn = [tame(dtype, shape) for dtype in dtypes for shape in shapes]
    check([(values, axes) for values in drawn for axes in some_axes(values.shape)], layout)


SIDE_BY_SIDE: list[Subject] = [
    (np.empty(shape), (axis,))
    for shape, axis in (
        ((100, 3), 1), ((70, 32), 1), ((64, 33), 1), ((3, 80, 5), 2), ((65, 1), 1), ((2, 3, 90), 1),
        ((300, 70), 0), ((1100, 100), 0), ((600, 64), 0), ((255, 130), 0), ((520, 33), 0),
    )
]  # fmt: skip


@pytest.mark.parametrize("layout", ["contiguous", "reversed", "transposed", "mixed"])
@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32, np.dtype(np.int16), BOOL], ids=str)
@one_in(12)
def test_rows_side_by_side(dtype: DType, layout: str) -> None:
    """Many short rows, and columns of which several elements of a lane are read at once."""
    check([(tame(dtype, like.shape), axes) for like, axes in SIDE_BY_SIDE], layout)


@pytest.mark.parametrize("dtype", few([FLOAT64, BOOL, FLOAT32, np.dtype(np.int16)], 1), ids=str)
def test_columns_of_which_elements_are_read_at_once(dtype: DType) -> None:
    """Each kind alone, so that what is combined is a value and nothing else."""
    for kind in [k for k in kinds_for(dtype) if not k.startswith("arg")]:
        values = [tame(dtype, like.shape) for like, axes in SIDE_BY_SIDE if axes == (0,)]
        nodes = [build.parameter(i, v.shape, dtype) for i, v in enumerate(values)]
        graph = Graph(tuple(nodes), tuple(build.reduce(kind, x, (0,)) for x in nodes))
        got = compile_graph(graph, {}, Options()).run(values)
        for node, a, b in zip(nodes, got, interpret(graph, values), strict=True):
            assert a is not None and same_bits(a, b), (kind, node)


@pytest.mark.parametrize("layout", ["contiguous", "mixed"])
@pytest.mark.parametrize("dtype", few([FLOAT64, FLOAT32], 1), ids=str)
def test_rows_side_by_side_are_kept(dtype: DType, layout: str) -> None:
    """What a row is read again for: its elements less the largest, the sum of their squares."""
    parameters, outputs, arguments = [], [], []
    for number, (like, (axis,)) in enumerate(SIDE_BY_SIDE):
        x = build.parameter(number, like.shape, dtype)
        kept = tuple(1 if a == axis else n for a, n in enumerate(like.shape))
        top = build.broadcast_to(build.reshape(build.reduce("max", x, (axis,)), kept), like.shape)
        y = build.elementwise("subtract", [x, top], dtype)
        squares = build.elementwise("multiply", [y, y], dtype)
        parameters.append(x)
        outputs += [y, build.reduce("sum", squares, (axis,))]
        arguments.append(lay_out(tame(dtype, like.shape, number), layout))
    graph = Graph(tuple(parameters), tuple(outputs))
    got = compile_graph(graph, strides_of(arguments), Options()).run(arguments)
    for node, a, b in zip(outputs, got, interpret(graph, arguments), strict=True):
        assert a is not None and same_bits(a, b), (node, layout)


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32, np.dtype(np.int32), BOOL], ids=str)
@pytest.mark.parametrize("count", [1, 2, 3])
@one_in(8)
def test_long_reductions_on_any_number_of_threads(dtype: DType, count: int, threads: None) -> None:
    """Rows that are split over threads, and rows and columns that are shared among them."""
    set_thread_count(count)
    for n in LONG:
        shapes = (((n,), (0,)), ((n, 3), (0,)), ((3, n), (1,)))
        shapes += (((n // 10, 40), (0,)), ((n // 40, 40), (1,)))
        check([(tame(dtype, shape), axes) for shape, axes in shapes])
        check([(tame(dtype, (n,)), (0,))], "reversed")


def test_threads_do_not_change_a_fused_pass(threads: None) -> None:
    """Sums of rows, of columns and of all, with work before and after, on one to three threads."""
    x = build.parameter(0, (700, 513), FLOAT64)
    y = build.elementwise("multiply", [x, x], FLOAT64)
    outputs = [build.reduce("sum", y, axes) for axes in ((0,), (1,), (0, 1))]
    outputs += [build.elementwise("sqrt", [o], FLOAT64) for o in outputs]
    graph, values = Graph((x,), tuple(outputs)), tame(FLOAT64, (700, 513))
    want = interpret(graph, [values])
    for count in (1, 2, 3):
        set_thread_count(count)
        got = compile_graph(graph, {}, Options()).run([values])
        assert all(a is not None and same_bits(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32], ids=str)
def test_sums_are_as_accurate_as_pairwise_summation(dtype: DType) -> None:
    """The mean error over several draws is at most NumPy's pairwise sum's, or one rounding."""
    ours, theirs = 0.0, 0.0
    sizes = (1000, 4099, 70_000)
    nodes = [build.parameter(i, (n,), dtype) for i, n in enumerate(sizes)]
    graph = Graph(tuple(nodes), tuple(build.reduce("sum", x, (0,)) for x in nodes))
    executable = compile_graph(graph, {}, Options())
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arguments = [rng.random(n).astype(dtype) for n in sizes]
        for values, result in zip(arguments, executable.run(arguments), strict=True):
            assert result is not None
            exact = math.fsum(values.tolist())
            place = float(np.spacing(dtype.type(exact)))
            ours += abs(float(result) - exact) / place
            theirs += abs(float(values.sum()) - exact) / place
    assert ours <= max(theirs, 0.5 * 20 * len(sizes))


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32], ids=str)
@pytest.mark.parametrize("n", [1, 5, 33, 600, 70_000])
@one_in(6)
def test_nan_wins_every_extremum(dtype: DType, n: int) -> None:
    """A NaN anywhere is the maximum and the minimum; arg-reductions give the first one's place."""
    for places in ((0,), (n - 1,), (n // 2, n - 1), (n // 3, n // 2)):
        values = tame(dtype, (n,))
        values[list(places)] = np.nan
        values[0 if 0 in places else n // 4 - 1] = np.nan if 0 in places else np.inf
        check([(values, (0,))])
        if n < 1000:
            check([(np.stack([values, values[::-1], np.roll(values, 3)] * 12, axis=1), (0,))])
    check([(np.full((n,), np.nan, dtype), (0,))])


@pytest.mark.parametrize("dtype", chosen(DTYPES, _USUAL), ids=str)
def test_the_first_of_equals_wins(dtype: DType) -> None:
    """Arg-reductions of ties, over rows, columns and both, across chunks; infinities tie too."""
    for shape in ((2000,), (40, 600), (600, 40)):
        values = np.random.default_rng(3).integers(0, 2, shape).astype(dtype)
        drawn = [values, np.ones(shape, dtype)]
        if kind_of(dtype) == "f":
            drawn += [np.where(values > 0, np.inf, -np.inf).astype(dtype)]
            drawn += [np.full(shape, -np.inf, dtype)]
        check([(v, axes) for v in drawn for axes in some_axes(shape)])


@pytest.mark.parametrize("dtype", [FLOAT64, FLOAT32], ids=str)
def test_zeros_keep_numpys_sign(dtype: DType) -> None:
    """A sum of negative zeros is +0.0, a product of them keeps its sign, an empty sum is +0.0."""
    for n in (0, 1, 2, 31, 513, 1024):
        check([(np.full((n,), -0.0, dtype), (0,)), (np.full((n, 33), -0.0, dtype), (0,))])
        graph, arguments = all_kinds([(np.full((n,), -0.0, dtype), (0,))])
        total, product = compile_graph(graph, {}, Options()).run(arguments)[:2]
        assert total is not None and total == 0 and not np.signbit(total)
        assert product is not None and (n == 0 or np.signbit(product) == n % 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@one_in(8)
def test_empty_reductions_have_numpys_identities_and_errors(dtype: DType) -> None:
    """0, 1, False and True; an extremum of nothing is NumPy's ValueError when it is built."""
    shapes = (((0, 3), (0,)), ((3, 0), (0,)), ((3, 0), (0, 1)), ((0, 0, 4), (1,)))
    check([(np.empty(shape, dtype), axes) for shape, axes in shapes])
    x = build.parameter(0, (0, 3), FLOAT64)
    for kind in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=r"zero-size array|empty sequence"):
            build.reduce(kind, x, (0,))
        assert build.reduce(kind, x, (1,)).shape == (0,)


@pytest.mark.parametrize("dtype", [np.dtype(np.int8), np.dtype(np.uint16)], ids=str)
def test_integers_wrap_around_in_their_own_dtype(dtype: DType) -> None:
    """The sum of a narrow dtype is that of its wrapped additions, as NumPy's with that dtype."""
    values = tame(dtype, (3, 1025))
    graph, arguments = all_kinds([(values, (1,))])
    got = compile_graph(graph, {}, Options()).run(arguments)
    for kind, result in zip(kinds_for(dtype), got, strict=True):
        assert result is not None
        if kind in ("sum", "prod"):
            assert same_bits(result, getattr(values, kind)(axis=1, dtype=dtype))
