"""Every row of the op table in C against the interpreter, on every dtype that the row has text for.

Operands are all combinations of special values, and random ones from the row's domain. Results must
have NumPy's bits, but for two families. Of ±0, NumPy's extrema return either. The functions of
`BOUNDS` must be within so many ULP of the exact value, which is that of NumPy's function on long
doubles or of mpmath; `tests/cpu_fallback/test_vecmath_special.py` has those of SciPy's that are not
here. The reciprocal of the integer 0 is a cast out of range, which is left open.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.dtypes import (
    BOOL,
    ELEMENT_TYPES,
    DType,
    complex_of,
    computed_in,
    kind_of,
    part_of_complex,
)
from fusecuda.graph.interpret import evaluate, interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.graph.ops import OPS, OWN, POWERS, ROWS, SCIPY_NAMES, OpRow
from fusecuda.options import Options
from tests.marks import one_in
from tests.special_functions import BOUNDS as SPECIAL_BOUNDS
from tests.strategies import (
    DTYPES,
    EITHER_ZERO,
    SPECIALS,
    TRANSCENDENTAL,
    Array,
    Rng,
    lay_out,
    mixed_values,
    operands,
    same_bits,
    strides_of,
)

# The largest error in ULP: (float64, float32).
BOUNDS: dict[str, tuple[float, float]] = {
    "power": (1.0, 0.6),
    **dict.fromkeys(POWERS.values(), (1.0, 0.6)),
    "cbrt": (1.0, 0.6),
    "exp": (1.0, 1.0),
    "exp2": (1.0, 1.0),
    "expm1": (1.0, 1.0),
    "log": (1.0, 1.0),
    "log2": (1.0, 1.0),
    "log10": (1.0, 1.0),
    "log1p": (1.0, 1.0),
    "sin": (1.0, 1.0),
    "cos": (1.0, 1.0),
    "tan": (1.0, 1.0),
    "arcsin": (1.0, 1.0),
    "arccos": (1.0, 1.0),
    "arctan": (1.0, 1.0),
    "hypot": (1.0, 0.6),
    "sinh": (1.0, 1.0),
    "cosh": (1.0, 1.0),
    "tanh": (1.0, 1.0),
    "arcsinh": (1.0, 1.0),
    "arccosh": (1.0, 1.0),
    "arctanh": (1.0, 1.0),
    "expit": (1.0, 1.0),
    "erf": (1.0, 1.0),
    "arctan2": (1.1, 1.0),
    "erfc": (2.0, 0.6),
    "logaddexp": (2.5, 1.0),
    "logaddexp2": (3.0, 3.0),
}
INTS = tuple(d for d in DTYPES if d.kind in "iu")
FLOATS = tuple(d for d in DTYPES if kind_of(d) == "f")
# The largest error in units of the last place of the absolute value, of either complex type.
COMPLEX_BOUNDS = {
    "multiply": 2.0, "divide": 4.0, "square": 2.0, "reciprocal": 4.0, "absolute": 1.0, "exp": 4.0,
    "log": 4.0, "sqrt": 4.0, "sin": 4.0, "cos": 4.0, "sinh": 4.0, "cosh": 4.0,
}  # fmt: skip
HALF_BOUND = 0.502  # of each function of halves: computed in float, and rounded
SIGNED = tuple(d for d in DTYPES if d.kind == "i")
UNLIKE = ("where", "convert")  # whose operands differ in dtype: tested by themselves
I64, U64 = np.dtype(np.int64), np.dtype(np.uint64)


def rows_on(dtype: DType) -> list[OpRow]:
    """The rows that have text for ``dtype``, but for the two that mix dtypes."""
    return [
        r for r in ROWS
        if r.c_text(dtype) is not None and r.name not in UNLIKE and not rounded_as_float(r, dtype)
    ]  # fmt: skip


def rounded_as_float(row: OpRow, dtype: DType) -> bool:
    """True for integers that are rounded to float numbers, as by NumPy 2.0."""
    return (
        row.name in ("floor", "ceil", "trunc")
        and dtype.kind in "biu"
        and row.numpy(np.ones(1, dtype)).dtype.kind == "f"
    )


def result_dtype(row: OpRow, dtype: DType) -> DType:
    """The dtype of ``row`` on ``dtype``; the row must be one of NumPy's loops."""
    if row.name in SCIPY_NAMES or row.home == OWN:
        return dtype
    if row.name in ("real", "imag"):
        return part_of_complex(dtype)
    if row.name == "join":
        return complex_of(dtype)
    *inputs, result = build.resolve(row.numpy, *(dtype,) * row.arity)
    if row.name in ("degrees", "radians") and computed_in(dtype) != dtype:  # or by another name
        return dtype
    assert set(inputs) == {dtype}, f"NumPy has no {row.name} loop on {dtype}"
    return result


class Sheet:
    """One graph of many results, with its arguments."""

    def __init__(self, layout: str = "contiguous") -> None:
        self.layout = layout
        self.parameters: list[Node] = []
        self.arguments: list[Any] = []
        self.outputs: list[Node] = []
        self.names: list[str] = []

    def argument(self, values: Array) -> Node:
        """A parameter for ``values`` in the sheet's layout."""
        node = build.parameter(len(self.parameters), values.shape, values.dtype)
        self.parameters.append(node)
        self.arguments.append(lay_out(values, self.layout))
        return node

    def result(self, name: str, node: Node) -> None:
        """One more result, called ``name`` in messages."""
        self.outputs.append(node)
        self.names.append(name)

    def run(self) -> tuple[list[Array], list[Array]]:
        """What the compiled kernels give, and what the interpreter does."""
        graph = Graph(tuple(self.parameters), tuple(self.outputs))
        executable = compile_graph(graph, strides_of(self.arguments), Options())
        got = [r for r in executable.run(self.arguments) if r is not None]
        return got, interpret(graph, self.arguments)

    def check(self, exempt: Sequence[str] = ()) -> tuple[list[Array], list[Array]]:
        """Demand the interpreter's bits of every result but those ``exempt``."""
        got, want = self.run()
        wrong = [
            name
            for name, a, b in zip(self.names, got, want, strict=True)
            if name not in exempt and not same_bits(*(_one_zero(name, x) for x in (a, b)))
        ]
        assert not wrong, f"{wrong} on {self.arguments[0].dtype}"
        return got, want


def _one_zero(name: str, values: Array) -> Array:
    return values + values.dtype.type(0) if name in EITHER_ZERO else values


def _nonzero(values: Array) -> Array:
    return np.where(values == 0, values.dtype.type(1), values)


def on_rows_of_eight(columns: list[Array]) -> list[Array]:
    """The columns as 2-d arrays, so that layouts have axes to permute."""
    length = -(-len(columns[0]) // 8) * 8
    return [np.resize(c, length).reshape(-1, 8) for c in columns]


def all_rows(
    dtype: DType, layout: str, drawn_of: Callable[..., list[Array]] = operands
) -> tuple[Sheet, dict[str, list[Array]]]:
    """A sheet of every row on ``dtype``, and the operands of each, which ``drawn_of`` draws."""
    sheet, rng = Sheet(layout), np.random.default_rng(7)
    drawn: dict[tuple[object, ...], tuple[list[Array], list[Node]]] = {}
    used = {}
    for row in rows_on(dtype):
        key = (row.domain, row.arity)
        if key not in drawn:
            columns = on_rows_of_eight(drawn_of(rng, row, [dtype] * row.arity))
            drawn[key] = (columns, [sheet.argument(c) for c in columns])
        used[row.name], nodes = drawn[key]
        if row.name == "reciprocal" and dtype.kind in "iu":
            nodes = [sheet.argument(_nonzero(used[row.name][0]))]
        sheet.result(row.name, build.elementwise(row.name, nodes, result_dtype(row, dtype)))
    return sheet, used


def exact_values(row: OpRow, args: list[Array]) -> Array:
    """The values of ``row``, far more exact than the operands' dtype."""
    if row.name not in ("erf", "erfc"):
        return np.asarray(row.numpy(*(a.astype(np.longdouble) for a in args)))
    function = getattr(mpmath, row.name)
    with mpmath.workprec(100):
        inside = np.clip(args[0], -100, 100).flat  # all is 0, 1 or 2 outside
        texts = [mpmath.nstr(function(mpmath.mpf(float(x))), 25) for x in inside]
    return np.array(texts, np.longdouble).reshape(args[0].shape)


def ulp_error(row: OpRow, args: list[Array], got: Array) -> Array:
    """|got - exact| in units of the last place; infinite where a special value is wrong."""
    with np.errstate(all="ignore"):
        exact, own = exact_values(row, args), row.numpy(*args)
        if row.name == "power":  # of exponents so large NumPy's long double function is wrong
            exact = np.where(np.abs(args[1]) >= 2.0**53, own, exact)
        rounded = exact.astype(got.dtype)
        scale = np.abs(rounded)
        if row.name.startswith("logaddexp"):  # where the sum cancels, so do its digits
            scale = np.fmax(scale, np.fmax(*np.abs(args)))
        error = np.abs(got.astype(np.longdouble) - exact) / np.spacing(scale)
    special = ~np.isfinite(rounded) | ~np.isfinite(got)
    equal = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    error = np.where(special, np.where(equal, 0, np.inf), error)
    lost = (rounded == 0) & (got == 0) & (np.signbit(own) != np.signbit(got))
    return np.where(lost, np.inf, error).astype(float)


def test_every_row_can_be_tested() -> None:
    """Each row has text for some dtype, a NumPy loop there, and either exact bits or a bound."""
    assert BOUNDS.keys() | SPECIAL_BOUNDS.keys() == TRANSCENDENTAL | {"power"}
    for row in ROWS:
        dtypes = [d for d in DTYPES if row.c_text(d) is not None]
        assert dtypes, f"{row.name} has no text"
        if row.name not in UNLIKE:
            tested = [d for d in dtypes if not rounded_as_float(row, d)]
            assert all(result_dtype(row, d) in DTYPES for d in tested), row.name
        elif row.name == "where":
            assert dtypes == list(DTYPES)


def test_the_interpreter_rounds_large_integers_to_themselves() -> None:
    """The rows hold for each NumPy, also one that rounds integers as floats."""
    large = np.array([2**62 + 1, -(2**53) - 1])
    for name in ("floor", "ceil", "trunc"):
        node = build.elementwise(name, [build.parameter(0, (2,), large.dtype)], large.dtype)
        np.testing.assert_array_equal(evaluate(node, [large]), large)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if kind_of(d) in "fc"], ids=str)
@one_in(24)
def test_rows_without_a_compiler_have_the_kernels_bits(dtype: DType) -> None:
    """The interpreter that stands in for the kernels carries out their own vector math."""
    sheet, _ = all_rows(dtype, "contiguous")
    got, _ = sheet.run()
    graph = Graph(tuple(sheet.parameters), tuple(sheet.outputs))
    want = interpret(graph, sheet.arguments, KERNELS)
    compared = zip(sheet.names, got, want, strict=True)
    assert [n for n, *pair in compared if not same_bits(*(_one_zero(n, x) for x in pair))] == []


@pytest.mark.parametrize("layout", ["contiguous", "mixed"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@one_in(10)
def test_rows_give_numpys_values(dtype: DType, layout: str) -> None:
    """All rows on one dtype: NumPy's bits, or for transcendental functions the bound."""
    sheet, used = all_rows(dtype, layout)
    loose = bounds_of(dtype)
    got, _ = sheet.check(exempt=[*loose, *SPECIAL_BOUNDS])
    worse = []
    for name, value in zip(sheet.names, got, strict=True):
        if name in loose:
            measure = complex_error if dtype.kind == "c" else ulp_error
            error = measure(OPS[name], used[name], value)
            at = np.unravel_index(np.argmax(error), error.shape)
            if error[at] > loose[name]:
                where = [a[at].item() for a in used[name]]
                worse.append(f"{name}{where} = {value[at]!r}, {error[at]:.3g} ULP off")
    assert not worse, "\n".join(worse)


def every_value(rng: Rng, row: OpRow, dtypes: Sequence[DType]) -> list[Array]:
    """All 65,536 values of a type of 16 bits; a second operand has them in random order."""
    every = np.arange(1 << 16, dtype=np.uint16)
    return [(every if i == 0 else rng.permutation(every)).view(d) for i, d in enumerate(dtypes)]


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.itemsize == 2], ids=str)
def test_rows_on_every_value(dtype: DType) -> None:
    """Of each number of 16 bits: the interpreter's bits, or what is next to NumPy's on doubles."""
    sheet, used = all_rows(dtype, "contiguous", every_value)
    with np.errstate(invalid="ignore"):  # some NaN signal
        got, _ = sheet.check(exempt=[*BOUNDS, *SPECIAL_BOUNDS])
    near = 2.0 ** -(ELEMENT_TYPES[dtype].digits + 9)  # the rest of HALF_BOUND
    for name, value in zip(sheet.names, got, strict=True):
        if name in BOUNDS and OPS[name].home == "numpy" and OPS[name].arity == 1:
            with np.errstate(all="ignore"):
                exact = OPS[name].numpy(used[name][0].astype(np.float64))
                low, high = (
                    (exact * (1 + side * near)).astype(np.float32).astype(dtype) for side in (-1, 1)
                )
                found = (value == low) | (value == high) | (np.isnan(value) & np.isnan(low))
            wrong = used[name][0][~found]
            assert not wrong.size, f"{name}{wrong[:5]} of {dtype}"


def bounds_of(dtype: DType) -> dict[str, float]:
    """The rows that need not have NumPy's bits on ``dtype``, and the largest error of each."""
    if dtype.kind == "c":
        return COMPLEX_BOUNDS
    if kind_of(dtype) != "f":
        return {}
    if dtype.itemsize == 2:
        return dict.fromkeys(BOUNDS, HALF_BOUND)
    return {name: bounds[dtype.itemsize == 4] for name, bounds in BOUNDS.items()}


def complex_error(row: OpRow, args: list[Array], got: Array) -> Array:
    """|got - exact| in units of the last place of |exact|; infinite where a special is wrong."""
    with np.errstate(all="ignore"):
        exact = row.numpy(*(a.astype(np.clongdouble) for a in args))
        own = row.numpy(*args)
        rounded = np.abs(exact).astype(np.abs(got).dtype)
        error = np.abs(got.astype(exact.dtype) - exact) / np.spacing(rounded)
    finite = np.isfinite(own) & np.isfinite(got)
    alike = (np.isnan(own) == np.isnan(got)) & (np.isinf(own) == np.isinf(got))
    return np.where(finite, error, np.where(alike, 0, np.inf)).astype(float)


def test_conversions_within_range_are_numpys() -> None:
    """Every dtype to every other; a negative fraction becomes +0 on its way through an integer."""
    sheet = Sheet()
    rng = np.random.default_rng(8)
    for source in DTYPES:
        values = np.concatenate([SPECIALS[source], mixed_values(rng, source, (200,))])
        for target in DTYPES:
            kept = values
            if kind_of(source) in "fc" and target.kind in "iu":
                info, real = np.iinfo(str(target)), values.real.astype(np.float64)
                inside = (real > float(info.min) - 1) & (real < float(info.max))
                kept = values[inside]
            x = sheet.argument(kept)
            sheet.result(f"{source} to {target}", build.convert(x, target))
            if kind_of(source) == "f" and target.kind in "iu":
                back = build.convert(build.convert(x, target), source)
                sheet.result(f"{source} to {target} and back", back)
    sheet.check()


def test_where_selects_without_touching_bits() -> None:
    """On every dtype, with array and scalar branches, the other branch's NaN stays out."""
    sheet, rng = Sheet(), np.random.default_rng(9)
    for dtype in DTYPES:
        columns = operands(rng, OPS["where"], [BOOL, dtype, dtype], 50)
        condition, a, b = (sheet.argument(c) for c in columns)
        sheet.result(f"where {dtype}", build.where(condition, a, b))
        last = build.constant(SPECIALS[dtype][-1], dtype)
        sheet.result(f"where {dtype}, scalar", build.where(condition, last, b))
    sheet.check()


def test_comparisons_of_signed_and_unsigned_are_by_value() -> None:
    """NumPy compares int64 with uint64 exactly, without a common type."""
    sheet, rng = Sheet(), np.random.default_rng(10)
    names = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    for dtypes in ((I64, U64), (U64, I64)):
        nodes = [sheet.argument(c) for c in operands(rng, OPS["less"], dtypes)]
        for name in names:
            assert build.resolve(OPS[name].numpy, *dtypes)[:2] == dtypes
            sheet.result(f"{name} {dtypes}", build.elementwise(name, nodes, BOOL))
    sheet.check()


def test_scalar_operands_on_either_side() -> None:
    """A constant is a kernel argument: the result is that of an array full of it."""
    sheet, rng = Sheet(), np.random.default_rng(11)
    for dtype in DTYPES:
        x = sheet.argument(mixed_values(rng, dtype, (40,)))
        scalar = build.constant(SPECIALS[dtype][1], dtype)
        for row in rows_on(dtype):
            if row.arity == 2 and row.name not in TRANSCENDENTAL and not row.may_fail:
                made = result_dtype(row, dtype)
                sheet.result(row.name, build.elementwise(row.name, [x, scalar], made))
                sheet.result(row.name, build.elementwise(row.name, [scalar, x], made))
    sheet.check()


def run_one(name: str, *values: Array) -> Array:
    """The compiled row ``name`` on ``values``."""
    sheet = Sheet()
    nodes = [sheet.argument(v) for v in values]
    sheet.result(name, build.elementwise(name, nodes, result_dtype(OPS[name], values[0].dtype)))
    return sheet.run()[0][0]


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
@one_in(10)
def test_signed_corner_cases(dtype: DType) -> None:
    """What C leaves undefined is what NumPy does: wrap-around, and 0 for division by zero."""
    low, high = (np.iinfo(str(dtype)).min, np.iinfo(str(dtype)).max)
    width = 8 * dtype.itemsize
    x = np.array([low, low, high, -7, -1, 5], dtype)
    y = np.array([-1, 0, 0, 2, width, width - 1], dtype)
    assert run_one("floor_divide", x[:4], y[:4]).tolist() == [low, 0, 0, -4]
    assert run_one("remainder", x[:4], y[:4]).tolist() == [0, 0, 0, 1]
    assert run_one("fmod", x[:4], y[:4]).tolist() == [0, 0, 0, -1]
    assert run_one("negative", x).tolist() == [low, low, -high, 7, 1, -5]
    assert run_one("absolute", x).tolist() == [low, low, high, 7, 1, 5]
    assert run_one("right_shift", x[4:], y[4:]).tolist() == [-1, 0]
    assert run_one("left_shift", x[4:], y[4:]).tolist() == [0, low]
    assert run_one("add", x[:3], x[:3]).tolist() == [0, 0, -2]


@pytest.mark.parametrize("dtype", INTS, ids=str)
@one_in(6)
def test_integer_power_wraps_around_and_refuses_negative_exponents(dtype: DType) -> None:
    """A negative exponent anywhere is NumPy's ValueError, and leaves the arguments alone."""
    base = np.arange(7).astype(dtype)
    exponents = np.array([0, 1, 5, 40, 63, 64, 3]).astype(dtype)
    assert same_bits(run_one("power", base, exponents), np.power(base, exponents))
    if dtype.kind == "i":
        exponents[3] = -1
        with pytest.raises(ValueError, match="Integers to negative integer powers"):
            run_one("power", base, exponents)
        x, y = (build.parameter(i, (7,), dtype) for i in range(2))
        twice = build.elementwise("add", [build.elementwise("power", [x, y], dtype), x], dtype)
        kept = base.copy()
        executable = compile_graph(Graph((x, y), (twice,), "power", (0,)), {}, Options())
        with pytest.raises(ValueError, match="Integers to negative integer powers"):
            executable.run([base, exponents])
        assert same_bits(base, kept)
        exponents[3] = 2
        executable.run([base, exponents])
        assert same_bits(base, np.power(kept, exponents) + kept)


def test_unsigned_arithmetic_wraps_around() -> None:
    """Of every width, narrower than C's int or not."""
    for dtype in INTS:
        if dtype.kind == "u":
            high = int(np.iinfo(str(dtype)).max)
            x, y = np.array([high, 0, high], dtype), np.array([1, 1, high], dtype)
            assert run_one("add", x, y).tolist() == [0, 1, high - 1]
            assert run_one("subtract", x, y).tolist() == [high - 1, high, 0]
            assert run_one("multiply", x, y).tolist() == [high, 0, 1]
            assert run_one("negative", y).tolist() == [high, high, 1]


@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod, math.fmod])
def test_float_division_follows_numpy_on_random_values(operation: Callable[..., Any]) -> None:
    """Quotients near whole numbers, where a rounding decides."""
    rng: Rng = np.random.default_rng(12)
    name = {"floordiv": "floor_divide", "mod": "remainder"}.get(operation.__name__, "fmod")
    for kind in (np.float32, np.float64):
        y = rng.normal(size=2000).astype(kind)
        x = (y * rng.integers(-50, 50, 2000)).astype(kind)
        x[::3] = np.nextafter(x[::3], kind(np.inf))
        assert same_bits(run_one(name, x, y), OPS[name].numpy(x, y))
