"""The op table: one row for each elementwise operation; all else iterates these rows.

A row gives the operation's name (NumPy's), the NumPy function that defines it, its text in C and
CUDA C for each kind of operand, its cost, and the domain from which tests draw its operands.

Slots of the texts: ``{0}``, ``{1}``, ``{2}`` operands, always names or literals; ``{T}`` the C type
of the result; ``{U}`` the unsigned C type in which the operand type's arithmetic wraps around;
``{t}`` the operand type's short name (``f64``), the suffix of helper functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .dtypes import ELEMENT_TYPES, DType, complex_of, hlo_name, kind_of
from .philox import below, philox, philox_rest

Text = dict[str, str]  # operand kind ("b", "i", "u", "f", "c") -> C expression; a type's own first


@dataclass(frozen=True)
class OpRow:
    """One elementwise operation."""

    name: str
    numpy: Callable[..., Any]
    arity: int
    text: Text = field(repr=False)
    cost: int = 1  # in units of cost.NS_PER_COST, as measured on doubles
    domain: str = "any"
    may_fail: str = ""  # the message of the error that some integers raise
    fails: str = ""  # the C condition under which they do
    home: str = "numpy"  # the module whose function of this name it is
    exact: bool = False  # gives an operand, or one with another sign: nothing is to be rounded
    by_type: bool = False  # what a wider type computes is of no use to one that is rounded

    def c_text(self, dtype: DType) -> str | None:
        """The C expression for operands of ``dtype``, or None where there is no such loop."""
        if self.by_type and dtype in ELEMENT_TYPES and ELEMENT_TYPES[dtype].computes:
            return None
        return self.text.get(hlo_name(dtype), self.text.get(kind_of(dtype))) or None

    @property
    def is_expensive(self) -> bool:
        """True if computing it again costs more than keeping its value."""
        return self.cost >= EXPENSIVE


EXPENSIVE = 8
SPECIAL = "scipy.special"
OWN = "fusecuda"


def _float(text: str) -> Text:
    return {"f": text}


def _call(name: str, kinds: str = "f") -> Text:
    return dict.fromkeys(kinds, f"fc_{name}_{{t}}({{0}})")


def _call2(name: str) -> Text:
    return {"f": f"fc_{name}_{{t}}({{0}}, {{1}})"}


def _wrap(symbol: str, on_bool: str) -> Text:
    """Arithmetic that wraps around on integers: computed on the unsigned type, cast back."""
    wrapped = f"({{T}})(({{U}}){{0}} {symbol} ({{U}}){{1}})"
    text = {"i": wrapped, "u": wrapped, "f": f"{{0}} {symbol} {{1}}"}
    return {"b": on_bool, **text} if on_bool else text


def _wrap1(text: str) -> Text:
    """Arithmetic on one integer, of which NumPy has no loop for bool."""
    return dict.fromkeys("iu", f"({{T}})({text})")


def _all(text: str, on_complex: str = "") -> Text:
    return {**dict.fromkeys("biuf", text), "c": on_complex or text}


def _complex(name: str) -> Text:
    return {"c": f"fc_{name}_{{t}}({{0}})"}


def _complex2(name: str) -> Text:
    return {"c": f"fc_{name}_{{t}}({{0}}, {{1}})"}


def _floats(name: str) -> dict[str, str]:
    """Of halves that are equal, as zeros of either sign are, NumPy takes the first."""
    return {"f": f"fc_{name}_{{t}}({{0}}, {{1}})", "f16": f"fc_{name}_f16({{0}}, {{1}})"}


def _ints(text: str, on_bool: str = "") -> Text:
    return {"b": on_bool or text, "i": text, "u": text}


def _helper(name: str, kinds: str = "iuf") -> Text:
    return dict.fromkeys(kinds, f"fc_{name}_{{t}}({{0}}, {{1}})")


def _compare(symbol: str) -> Text:
    return dict.fromkeys("biuf", f"{{0}} {symbol} {{1}}")


def _truths(symbol: str) -> Text:
    """Logic on what is not zero."""
    one = f"({{0}} != 0) {symbol} ({{1}} != 0)"
    return _all(one, f"fc_truth_{{t}}({{0}}) {symbol} fc_truth_{{t}}({{1}})")


def _convert(a: Any) -> Any:
    raise NotImplementedError("a conversion needs the dtype of its node")  # see interpret.py


def _where(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)


def _within(index: Any, extent: Any) -> Any:
    """Indices counted from the start; raises IndexError for those that are not within an axis."""
    place = np.where(index < 0, index + extent, index)
    if np.any((place < 0) | (place >= extent)):
        raise IndexError("an index is out of bounds")
    return place


def _special(name: str, cost: int, domain: str = "any", arity: int = 1) -> OpRow:
    """The row of a function of SciPy's, which is imported when it is first called."""

    def call(*args: Any) -> Any:
        import scipy.special  # type: ignore[import-untyped]  # noqa: PLC0415

        return getattr(scipy.special, name)(*args)

    call.__name__ = name
    text = _call(name) if arity == 1 else _call2(name)
    return OpRow(name, call, arity, text, cost, domain, home=SPECIAL)


def _drawn(function: Callable[..., Any], cost: int) -> OpRow:
    """The row of a function of random bits, of which NumPy has none."""
    name = function.__name__
    text = {"u64": f"fc_{name}_u64({{0}}, {{1}}, {{2}})"}
    return OpRow(name, function, 3, text, cost, home=OWN)


def _power(name: str, exponent: float) -> OpRow:
    """The row of powers with a known exponent, of one operand."""

    def call(base: Any) -> Any:
        return np.power(base, np.asarray(base).dtype.type(exponent))

    call.__name__ = name
    return OpRow(name, call, 1, _call(name), 3 if exponent > 0 else 8, home=OWN)


def _join(real: Any, imag: Any) -> Any:
    """Complex numbers of their parts."""
    joined = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), complex_of(real.dtype))
    joined.real, joined.imag = real, imag
    return joined


# Powers that kernels know, of few operations, by their exponents.
POWERS = {
    3: "power_3", 4: "power_4", 5: "power_5", 6: "power_6", 12: "power_12",
    -2: "power_minus_2", -3: "power_minus_3",
    1.5: "power_3_halves", -0.5: "power_minus_half", -1.5: "power_minus_3_halves",
}  # fmt: skip
_IDENTITY: Text = {"b": "{0}", "i": "{0}", "u": "{0}", "f": "{0}"}
_OUTSIDE = "(uint64_t)({0} < 0 ? {0} + {1} : {0}) >= (uint64_t){1}"
_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."

ROWS: tuple[OpRow, ...] = (
    # arithmetic
    OpRow("add", np.add, 2, {**_wrap("+", "{0} | {1}"), **_complex2("add")}),
    OpRow("subtract", np.subtract, 2, {**_wrap("-", ""), **_complex2("subtract")}),
    OpRow("multiply", np.multiply, 2, {**_wrap("*", "{0} & {1}"), **_complex2("multiply")}),
    OpRow("divide", np.divide, 2, {**_float("{0} / {1}"), **_complex2("divide")}, cost=4),
    OpRow("floor_divide", np.floor_divide, 2, _helper("floor_divide"), cost=36, domain="divide"),
    OpRow("remainder", np.remainder, 2, _helper("remainder"), cost=36, domain="divide"),
    OpRow("fmod", np.fmod, 2, _helper("fmod"), cost=36, domain="divide"),
    OpRow(
        "power",
        np.power,
        2,
        _helper("power"),
        40,
        "power",
        may_fail=_NEGATIVE_POWER,
        fails="{1} < 0",
    ),
    *(_power(name, exponent) for exponent, name in POWERS.items()),
    OpRow(
        "negative",
        np.negative,
        1,
        {**_wrap1("-({U}){0}"), "f": "-{0}", **_complex("negative")},
        exact=True,
    ),
    OpRow("positive", np.positive, 1, {k: "{0}" for k in "iufc"}, exact=True),
    OpRow(
        "absolute",
        np.absolute,
        1,
        {"b": "{0}", "u": "{0}", **dict.fromkeys("ifc", "fc_absolute_{t}({0})")},
        exact=True,
    ),
    OpRow("fabs", np.fabs, 1, _call("absolute"), exact=True),
    OpRow(
        "sign",
        np.sign,
        1,
        {
            "i": "({T})(({0} > 0) - ({0} < 0))",
            "u": "({T})({0} > 0)",
            "f": "fc_sign_{t}({0})",
            "bf16": "{0} == 0 ? {0} : fc_sign_f32({0})",  # -0.0 stays
        },
    ),
    OpRow(
        "square",
        np.square,
        1,
        {**_wrap1("({U}){0} * ({U}){0}"), "f": "{0} * {0}", **_complex("square")},
    ),
    OpRow(
        "reciprocal",
        np.reciprocal,
        1,
        {**dict.fromkeys("iuc", "fc_reciprocal_{t}({0})"), "f": "1 / {0}"},
        cost=4,
    ),
    OpRow("sqrt", np.sqrt, 1, _call("sqrt", "fc"), cost=6),
    OpRow("cbrt", np.cbrt, 1, _call("cbrt"), cost=12),
    # rounding
    OpRow("rint", np.rint, 1, _call("rint")),
    OpRow("floor", np.floor, 1, {**_IDENTITY, "f": "fc_floor_{t}({0})"}),
    OpRow("ceil", np.ceil, 1, {**_IDENTITY, "f": "fc_ceil_{t}({0})"}),
    OpRow("trunc", np.trunc, 1, {**_IDENTITY, "f": "fc_trunc_{t}({0})"}),
    # exponential and logarithmic
    OpRow("exp", np.exp, 1, _call("exp", "fc"), 8, "exponent"),
    OpRow("exp2", np.exp2, 1, _call("exp2"), 8, "exponent"),
    OpRow("expm1", np.expm1, 1, _call("expm1"), 10, "exponent"),
    OpRow("log", np.log, 1, _call("log", "fc"), 8, "positive"),
    OpRow("log2", np.log2, 1, _call("log2"), 10, "positive"),
    OpRow("log10", np.log10, 1, _call("log10"), 10, "positive"),
    OpRow("log1p", np.log1p, 1, _call("log1p"), 10, "positive"),
    OpRow("logaddexp", np.logaddexp, 2, _call2("logaddexp"), 28, "exponent"),
    OpRow("logaddexp2", np.logaddexp2, 2, _call2("logaddexp2"), 28, "exponent"),
    # trigonometric and hyperbolic
    OpRow("sin", np.sin, 1, _call("sin", "fc"), 10),
    OpRow("cos", np.cos, 1, _call("cos", "fc"), 10),
    OpRow("tan", np.tan, 1, _call("tan"), 14),
    OpRow("arcsin", np.arcsin, 1, _call("arcsin"), 10, "unit"),
    OpRow("arccos", np.arccos, 1, _call("arccos"), 10, "unit"),
    OpRow("arctan", np.arctan, 1, _call("arctan"), 12),
    OpRow("arctan2", np.arctan2, 2, _call2("arctan2"), 20),
    OpRow("hypot", np.hypot, 2, _call2("hypot"), 10),
    OpRow("sinh", np.sinh, 1, _call("sinh", "fc"), 14, "exponent"),
    OpRow("cosh", np.cosh, 1, _call("cosh", "fc"), 10, "exponent"),
    OpRow("tanh", np.tanh, 1, _call("tanh"), 10),
    OpRow("arcsinh", np.arcsinh, 1, _call("arcsinh"), 16),
    OpRow("arccosh", np.arccosh, 1, _call("arccosh"), 16, "positive"),
    OpRow("arctanh", np.arctanh, 1, _call("arctanh"), 16, "unit"),
    OpRow("degrees", np.degrees, 1, _call("degrees"), cost=2),
    OpRow("radians", np.radians, 1, _call("radians"), cost=2),
    # extrema and parts of numbers
    OpRow(
        "maximum",
        np.maximum,
        2,
        {**_ints("{0} > {1} ? {0} : {1}", "{0} | {1}"), **_floats("maximum")},
        exact=True,
    ),
    OpRow(
        "minimum",
        np.minimum,
        2,
        {**_ints("{0} < {1} ? {0} : {1}", "{0} & {1}"), **_floats("minimum")},
        exact=True,
    ),
    OpRow(
        "fmax",
        np.fmax,
        2,
        {**_ints("{0} > {1} ? {0} : {1}", "{0} | {1}"), **_floats("fmax")},
        exact=True,
    ),
    OpRow(
        "fmin",
        np.fmin,
        2,
        {**_ints("{0} < {1} ? {0} : {1}", "{0} & {1}"), **_floats("fmin")},
        exact=True,
    ),
    OpRow("real", np.real, 1, _complex("real")),
    OpRow("imag", np.imag, 1, _complex("imag")),
    OpRow("join", _join, 2, {"f": "fc_join_{t}({0}, {1})"}, by_type=True),
    OpRow(
        "conjugate",
        np.conjugate,
        1,
        {**dict.fromkeys("iuf", "{0}"), **_complex("conjugate")},
        exact=True,
    ),
    OpRow("copysign", np.copysign, 2, _call2("copysign"), exact=True),
    OpRow("nextafter", np.nextafter, 2, _call2("nextafter"), cost=24, by_type=True),
    OpRow("heaviside", np.heaviside, 2, _call2("heaviside")),
    # comparison and logic
    OpRow("equal", np.equal, 2, {**_compare("=="), **_complex2("equal")}),
    OpRow("not_equal", np.not_equal, 2, {**_compare("!="), **_complex2("not_equal")}),
    OpRow("less", np.less, 2, _compare("<")),
    OpRow("less_equal", np.less_equal, 2, _compare("<=")),
    OpRow("greater", np.greater, 2, _compare(">")),
    OpRow("greater_equal", np.greater_equal, 2, _compare(">=")),
    OpRow("logical_and", np.logical_and, 2, _truths("&")),
    OpRow("logical_or", np.logical_or, 2, _truths("|")),
    OpRow("logical_xor", np.logical_xor, 2, _truths("^")),
    OpRow("logical_not", np.logical_not, 1, _all("{0} == 0", "!fc_truth_{t}({0})")),
    OpRow("isnan", np.isnan, 1, {**_ints("0"), "f": "{0} != {0}", **_complex("isnan")}),
    OpRow("isinf", np.isinf, 1, {**_ints("0"), **_call("isinf", "fc")}),
    OpRow("isfinite", np.isfinite, 1, {**_ints("1"), **_call("isfinite", "fc")}),
    OpRow("signbit", np.signbit, 1, _float("fc_signbit_{t}({0})")),
    # bits
    OpRow("bitwise_and", np.bitwise_and, 2, _ints("({T})({0} & {1})")),
    OpRow("bitwise_or", np.bitwise_or, 2, _ints("({T})({0} | {1})")),
    OpRow("bitwise_xor", np.bitwise_xor, 2, _ints("({T})({0} ^ {1})")),
    OpRow("invert", np.invert, 1, _ints("({T})(~{0})", "!{0}")),
    OpRow("left_shift", np.left_shift, 2, _helper("left_shift", "iu"), domain="shift"),
    OpRow("right_shift", np.right_shift, 2, _helper("right_shift", "iu"), domain="shift"),
    OpRow("gcd", np.gcd, 2, _helper("gcd", "iu"), cost=60),
    OpRow("lcm", np.lcm, 2, _helper("lcm", "iu"), cost=70),
    # SciPy's
    _special("erf", 22),
    _special("erfc", 22),
    _special("expit", 10, "exponent"),
    _special("gammaln", 60),
    _special("gamma", 90),
    _special("psi", 60),
    _special("erfcx", 50),
    _special("erfinv", 70, "unit"),
    _special("erfcinv", 70, "positive"),
    _special("ndtr", 35),
    _special("ndtri", 70, "unit"),
    _special("log_ndtr", 90),
    _special("logit", 30, "unit"),
    _special("log_expit", 40, "exponent"),
    _special("i0", 60),
    _special("i0e", 60),
    _special("i1", 60),
    _special("i1e", 60),
    _special("entr", 20, "positive"),
    _special("xlogy", 20, "positive", 2),
    _special("xlog1py", 24, "positive", 2),
    _special("rel_entr", 70, "positive", 2),
    _special("kl_div", 80, "positive", 2),
    _special("huber", 4, "any", 2),
    _special("pseudo_huber", 16, "any", 2),
    _special("exp10", 40, "exponent"),
    _special("exprel", 24, "exponent"),
    _special("cosm1", 24),
    _special("boxcox", 50, "positive", 2),
    _special("boxcox1p", 50, "positive", 2),
    _special("inv_boxcox", 50, "unit", 2),
    _special("inv_boxcox1p", 50, "unit", 2),
    # random bits: counter, stream and key; two times 64 bits and a count
    _drawn(philox, 14),
    _drawn(philox_rest, 14),
    _drawn(below, 8),
    # an index, counted from the start of an axis of so many elements
    OpRow(
        "within",
        _within,
        2,
        {"s64": "{0} < 0 ? {0} + {1} : {0}"},
        2,
        "within",
        home=OWN,
        may_fail="an index is out of bounds",
        fails=_OUTSIDE,
    ),
    # selection and conversion, whose operands differ in type; see graph/build.py
    OpRow("where", _where, 3, _all("{0} ? {1} : {2}"), exact=True),
    OpRow("convert", _convert, 1, _all("({T}){0}")),
)

OPS: dict[str, OpRow] = {row.name: row for row in ROWS}
SCIPY_NAMES = frozenset(row.name for row in ROWS if row.home == SPECIAL)


def row_of(name: str) -> OpRow:
    """The row of the operation called ``name``; raises KeyError if there is none."""
    return OPS[name]
