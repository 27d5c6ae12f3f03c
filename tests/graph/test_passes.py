"""Passes: each rule fires on its pattern and keeps every bit; look-alikes are left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fusecuda.graph import build, index_map
from fusecuda.graph.arithmetic import is_lossless
from fusecuda.graph.dtypes import BOOL, FLOAT64, INT64, DType, kind_of
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.graph.passes import simplify
from fusecuda.graph.verify import verify
from tests.strategies import DTYPES, SPECIALS, same_bits

F32, I8, I32 = np.dtype(np.float32), np.dtype(np.int8), np.dtype(np.int32)
SHAPE = (6, 8)
X = build.parameter(0, SHAPE, FLOAT64)
I = build.parameter(1, SHAPE, INT64)  # noqa: E741 - the integers
B = build.parameter(2, SHAPE, BOOL)
S = build.parameter(3, (), FLOAT64)
C = build.parameter(4, SHAPE, I8)
PARAMETERS = (X, I, B, S, C)
ARGUMENTS: list[Any] = [np.resize(SPECIALS[p.dtype], p.shape) for p in PARAMETERS]
ARGUMENTS[3] = np.array(np.nan)


def const(value: Any, dtype: DType = FLOAT64) -> Node:
    """A constant."""
    return build.constant(value, dtype)


def op(name: str, *operands: Node, dtype: DType | None = None) -> Node:
    """An elementwise node whose dtype is its first operand's."""
    return build.elementwise(name, operands, dtype or operands[0].dtype)


def simplified(*outputs: Node) -> tuple[Node, ...]:
    """The outputs after all passes; the graph must be well-formed and keep every bit."""
    before = Graph(PARAMETERS, outputs)
    after = simplify(before)
    verify(before)
    verify(after)
    pairs = zip(interpret(before, ARGUMENTS), interpret(after, ARGUMENTS), strict=True)
    assert all(same_bits(a, b) for a, b in pairs)
    return after.outputs


def slices(*bounds: tuple[int, int, int]) -> Callable[[Node], Node]:
    """The view of slices (start, step, count), as a function of the node."""
    rows = [(start, step, axis) for axis, (start, step, _) in enumerate(bounds)]
    view, shape = index_map.axis_map(rows, len(bounds)), tuple(n for *_, n in bounds)
    return lambda node: build.index(node, view, shape)


TOP, BOTTOM = slices((0, 1, 3), (0, 1, 8)), slices((3, 1, 3), (0, 1, 8))
BECOMES: dict[str, tuple[Node, Node]] = {
    "x * 1": (op("multiply", X, const(1.0)), X),
    "1 * x": (op("multiply", const(1.0), X), X),
    "x - 0": (op("subtract", X, const(0.0)), X),
    "x + -0": (op("add", X, const(-0.0)), X),
    "-0 + x": (op("add", const(-0.0), X), X),
    "i + 0": (op("add", I, const(0, INT64)), I),
    "i * 1": (op("multiply", I, const(1, INT64)), I),
    "-(-x)": (op("negative", op("negative", X)), X),
    "-(-i)": (op("negative", op("negative", I)), I),
    "~~i": (op("invert", op("invert", I)), I),
    "~~b": (op("invert", op("invert", B)), B),
    "+x": (op("positive", X), X),
    "cast there and back": (build.convert(build.convert(C, FLOAT64), I8), C),
    "where(True)": (build.where(const(True, BOOL), X, op("negative", X)), X),
    "where(False)": (build.where(const(False, BOOL), op("negative", X), X), X),
    "where(c, x, x)": (build.where(B, X, X), X),
    "identity view": (Node("index", (X,), SHAPE, FLOAT64, index_map.identity(2)), X),
    "reshape there and back": (build.reshape(build.reshape(X, (48,)), SHAPE), X),
}


@pytest.mark.parametrize("pattern", BECOMES.values(), ids=BECOMES.keys())
def test_patterns_that_become_an_operand(pattern: tuple[Node, Node]) -> None:
    """The node goes and its operand stays, on NaN, infinities and both zeros."""
    before, after = pattern
    assert simplified(before) == (after,)


FOLDED: dict[str, tuple[Node, bytes]] = {
    "2 + 3": (op("add", const(2.0), const(3.0)), np.float64(5).tobytes()),
    "-0 * 1": (op("multiply", const(-0.0), const(2.0)), np.float64(-0.0).tobytes()),
    "127 + 1": (op("add", const(127, I8), const(1, I8)), np.int8(-128).tobytes()),
    "cast": (Node("convert", (const(1.5),), (), F32), np.float32(1.5).tobytes()),
    "where": (build.where(const(False, BOOL), const(1.0), const(-0.0)), b"\0" * 7 + b"\x80"),
}


@pytest.mark.parametrize("case", FOLDED.values(), ids=FOLDED.keys())
def test_constants_are_folded(case: tuple[Node, bytes]) -> None:
    """Cheap operations on constants are computed once, bits and all."""
    (after,) = simplified(case[0])
    assert (after.op, after.attr) == ("constant", case[1])


KEPT: dict[str, Node] = {
    "x + 0.0 turns -0 into +0": op("add", X, const(0.0)),
    "0.0 + x": op("add", const(0.0), X),
    "x - -0.0": op("subtract", X, const(-0.0)),
    "0 - x is not -x": op("subtract", const(0.0), X),
    "x * 0 may be NaN or -0": op("multiply", X, const(0.0)),
    "x * -1": op("multiply", X, const(-1.0)),
    "x - x may be NaN": op("subtract", X, X),
    "x / x may be NaN": op("divide", X, X),
    "a mean of one, so that kernels are the same for every extent": op(
        "divide", build.reduce("sum", X, (0,)), const(1.0)
    ),
    "1 / x": op("divide", const(1.0), X),
    "x / 3 is not x * (1/3)": op("divide", X, const(3.0)),
    "0 / x": op("divide", const(0.0), X),
    "1 - x": op("subtract", const(1.0), X),
    "x == x is False for NaN": op("equal", X, X, dtype=BOOL),
    "x != x": op("not_equal", X, X, dtype=BOOL),
    "max(x, x)": op("maximum", X, X),
    "sqrt(x * x)": op("sqrt", op("multiply", X, X)),
    "(x + 1) - 1": op("subtract", op("add", X, const(1.0)), const(1.0)),
    "(x * 3) / 3": op("divide", op("multiply", X, const(3.0)), const(3.0)),
    "1 / (1 / x)": op("reciprocal", op("reciprocal", X)),
    "not not b": op("logical_not", op("logical_not", B)),
    "sign(sign(x))": op("sign", op("negative", X)),
    "cast that rounds": build.convert(build.convert(X, F32), FLOAT64),
    "cast that wraps": build.convert(build.convert(I, I8), INT64),
    "i64 through f64": build.convert(build.convert(I, FLOAT64), INT64),
    "exp of a constant is C's, not NumPy's": op("exp", const(1.0)),
    "a power that may fail": op("power", const(2, I32), const(3, I32)),
}


@pytest.mark.parametrize("node", KEPT.values(), ids=KEPT.keys())
def test_look_alikes_are_left_alone(node: Node) -> None:
    """What some value would tell apart, or NumPy would round otherwise, is computed as written."""
    if node.op == "convert" and node.operands[0].dtype == FLOAT64:
        after = simplify(Graph(PARAMETERS, (node,))).outputs[0]  # out of range: not computed
    else:
        (after,) = simplified(node)
    assert after.op == node.op
    assert [o.op for o in after.operands] == [o.op for o in node.operands]


def test_divisions_by_powers_of_two_are_of_bits() -> None:
    """Of integers of either sign; by other numbers, negative ones and of floats they stay."""
    for by in (1, 2, 64):
        (after,) = simplified(op("floor_divide", I, const(by, INT64)))
        assert after.op == "right_shift" and after.operands[1].value == by.bit_length() - 1
        (after,) = simplified(op("remainder", C, const(by, I8)))
        assert after.op == "bitwise_and" and after.operands[1].value == by - 1
    for by in (0, 3, -2, -(2**63)):
        (after,) = simplified(op("floor_divide", I, const(by, INT64)))
        assert after.op == "floor_divide"
    for node in (
        op("remainder", X, const(2.0)),
        op("fmod", I, const(2, INT64)),
        op("remainder", I, I),
    ):
        assert simplified(node)[0].op == node.op


def test_quotients_by_powers_of_two_are_products() -> None:
    """Of floats, if the inverse is a normal number; by a half, too; others stay."""
    for by in (1.0, 2.0, -0.25, 2.0**1022, 2.0**-1022):
        (after,) = simplified(op("divide", X, const(by)))
        assert after.op != "divide"
    for by in (0.0, 3.0, np.inf, np.nan, 2.0**1023, 2.0**-1074):
        with np.errstate(all="ignore"):
            (after,) = simplified(op("divide", X, const(by)))
        assert after.op == "divide"


def test_repeated_rounding_is_done_once() -> None:
    """|·| and the roundings change nothing a second time."""
    for name in ("absolute", "fabs", "floor", "ceil", "trunc", "rint"):
        (after,) = simplified(op(name, op(name, X)))
        assert after.op == name and after.operands == (X,)
        (after,) = simplified(op(name, op("negative", X)))
        assert after.operands[0].op == "negative"


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_casts_merge_only_where_nothing_is_lost() -> None:
    """`is_lossless` says so just when every special value comes back from the other dtype."""
    (after,) = simplified(build.convert(build.convert(C, FLOAT64), F32))
    assert after.op == "convert" and after.operands == (C,)
    for source in DTYPES:
        for target in DTYPES:
            from_above = "biufc".index(kind_of(source)) > "biufc".index(kind_of(target))
            if kind_of(source) in "fc" and from_above:
                assert not is_lossless(source, target)
                continue
            with np.errstate(all="ignore"):
                back = SPECIALS[source].astype(target).astype(source)
            ends_lost = not same_bits(back, SPECIALS[source])
            negative_to_unsigned = source.kind == "i" and target.kind == "u"
            if is_lossless(source, target):
                assert not ends_lost and not negative_to_unsigned, (source, target)


def test_what_is_chosen_of_constants_is_cast_before() -> None:
    """One constant or another is cast where it stands; a value is cast when it is known."""
    test = build.elementwise("less", [X, S], BOOL)
    (after,) = simplified(build.convert(build.where(test, const(1, INT64), const(-1, INT64)), F32))
    assert after.op == "where" and after.operands[0].op == "less"
    assert [o.value for o in after.operands[1:]] == [np.float32(1), np.float32(-1)]
    (after,) = simplified(build.convert(build.where(test, I, const(-1, INT64)), F32))
    assert after.op == "convert"


def test_sums_of_small_integers_are_whole() -> None:
    """Of bytes and bools as doubles; those of wide ones, or of floats that are none, stay."""
    for node in (C, B):
        (after,) = simplified(build.reduce("sum", build.convert(node, FLOAT64), (0,)))
        assert after.op == "convert" and after.operands[0].dtype == INT64
        assert after.operands[0].reduction.kind == "sum"
    for node in (build.convert(I, FLOAT64), X):
        (after,) = simplified(build.reduce("sum", node, (0,)))
        assert after.op == "reduce"
    for kind in ("prod", "max"):
        (after,) = simplified(build.reduce(kind, build.convert(C, FLOAT64), (0,)))
        assert after.dtype == FLOAT64 and after.op == "reduce"


def test_equal_nodes_become_one() -> None:
    """Common subexpressions meet; constants are compared by bits, so ±0 and types stay apart."""
    a, b = (op("add", op("multiply", X, X), S) for _ in range(2))
    after = simplified(a, b)
    assert after[0] is after[1]
    plus, minus = simplified(op("add", X, const(0.0)), op("subtract", X, const(-0.0)))
    assert plus.operands[1] is not minus.operands[1]
    one, other = simplified(op("add", X, S), op("subtract", X, S))
    assert one is not other
    first, second = simplified(build.reduce("sum", X, (0,)), build.reduce("sum", X, (1,)))
    assert first is not second


def test_views_compose() -> None:
    """A view of a view is one view of the source; reshapes that only split axes are views."""
    inner = Node("index", (X,), (3, 8), FLOAT64, index_map.axis_map([(1, 2, 0), (7, -1, 1)], 2))
    rows = index_map.axis_map([(2, -1, 0), (0, 0, None)], 1)
    (after,) = simplified(Node("index", (inner,), (3,), FLOAT64, rows))
    assert after.op == "index" and after.operands == (X,)
    (after,) = simplified(build.reshape(X, (2, 3, 1, 8)))
    assert after.op == "index"
    (after,) = simplified(build.reshape(X, (48,)))
    assert after.op == "reshape"


def test_merging_reshapes_move_above_private_arithmetic() -> None:
    """The arithmetic is done in the merged shape, unless someone else uses it too."""
    total = op("add", op("multiply", X, X), S)
    (after,) = simplified(build.reshape(total, (48,)))
    assert after.op == "add" and after.shape == (48,)
    kept, flat = simplified(total, build.reshape(total, (48,)))
    assert flat.op == "reshape" and flat.operands == (kept,)


def test_scalar_arithmetic_stays_scalar() -> None:
    """What is computed from 0-d operands alone is computed once and broadcast."""
    wide = build.broadcast_to(S, SHAPE)
    (after,) = simplified(op("multiply", op("sqrt", wide), X))
    assert after.operands[0].shape == () and after.operands[0].op == "sqrt"


def test_an_operation_that_may_fail_is_not_done_for_an_empty_array() -> None:
    """2 ** -1 of no elements is no error in NumPy, so it must not become a 0-d operation."""
    exponent = build.parameter(5, (), INT64)
    empty = build.broadcast_to(exponent, (0, 3))
    power = op("power", build.broadcast_to(const(2, INT64), (0, 3)), empty)
    graph = Graph((*PARAMETERS, exponent), (power,))
    after = simplify(graph)
    assert interpret(after, [*ARGUMENTS, np.array(-1)])[0].shape == (0, 3)


def test_reads_after_writes() -> None:
    """What was written is read as the value; what was not touched, from the version before."""
    value = op("negative", TOP(X))
    region = TOP(X).map
    written = build.update(X, value, region)
    same, apart, across = simplified(
        TOP(written), BOTTOM(written), slices((2, 1, 3), (0, 1, 8))(written)
    )
    assert same.op == "negative"
    assert apart.op == "index" and apart.operands == (X,)
    assert across.op == "index" and across.operands[0].op == "update"
    (twice,) = simplified(build.update(written, TOP(X), region))
    assert twice.op == "update" and twice.operands[0] is X
    other = BOTTOM(X)
    (both,) = simplified(build.update(written, other, other.map))
    assert both.operands[0].op == "update"


def test_targets_and_names_survive() -> None:
    """A pass rewrites nodes; what the graph promises stays."""
    graph = Graph(PARAMETERS, (op("multiply", X, const(1.0)),), "mine", (0,))
    after = simplify(graph)
    assert (after.name, after.targets, after.parameters) == ("mine", (0,), PARAMETERS)


def test_axes_of_extent_one_are_left_out() -> None:
    """A row value that keeps its axis is computed as a row value, and is one result."""
    total = build.reduce("sum", X, (1,))
    kept = build.index(total, index_map.axis_map([(0, 1, 0)], 2), (6, 1))
    mean = op("divide", kept, const(8.0))
    centred = op("subtract", X, build.broadcast_to(mean, SHAPE))
    first, second = simplified(centred, mean)
    assert second.op == "reshape" and second.shape == (6, 1)
    (small,) = second.operands
    assert small.op == "divide" and small.shape == (6,)
    assert first.operands[1].op == "index" and first.operands[1].operands == (small,)


def test_axes_of_extent_one_that_are_the_users_stay() -> None:
    """Arrays that have such axes themselves are computed as they are."""
    column = build.index(X, index_map.axis_map([(0, 1, 0), (0, 1, 1)], 2), (6, 1))
    (result,) = simplified(op("negative", column))
    assert result.op == "negative" and result.shape == (6, 1)


@pytest.mark.parametrize("kind", ["sum", "max", "argmax"])
def test_reductions_drop_unit_axes(kind: str) -> None:
    """They go along the axes that are there; the shape of the result is the user's."""
    thick = build.reshape(X, (1, 6, 1, 8))
    for axes, own, shape in (
        ((1,), (0,), (1, 1, 8)),
        ((0, 3), (1,), (6, 1)),
        ((1, 3), (0, 1), (1, 1)),
    ):
        (after,) = simplified(build.reduce(kind, thick, axes))
        assert after.shape == shape
        inner = after.operands[0]
        assert inner.op == "reduce" and inner.operands == (X,) and inner.reduction.axes == own
    (after,) = simplified(build.reduce(kind, thick, (0, 2)))  # -0.0 becomes +0.0
    assert after.op == "reduce" and after.reduction.axes == (0, 2)
