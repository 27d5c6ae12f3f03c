"""Numbers: what is computed of a function's number arguments, as statements of C.

Python's own arithmetic on floats and ints, done once a call before the kernels. What C would
compute otherwise than Python, or not at all, is refused.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...capture.record.numbers import TracedScalar, value_of
from ...errors import NotFusedError
from ...graph.dtypes import ELEMENT_TYPES, DType, kind_of
from .signature import Codes, c_number_type

_SYMBOLS = {operator.add: "+", operator.sub: "-", operator.mul: "*"}
_NAMES = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}
_FLOAT, _INT = "double", "int64_t"
_EXACT = 2**53  # integers up to here are doubles
POWER = """// As Python computes it: by the library, never by the compiler.
static double fc_power_of(double x, double y)
{
    double (*volatile function)(double, double) = pow;
    return function(x, y);
}
"""


class Statements:
    """Lines of C that compute numbers; each operation is a variable of its own."""

    def __init__(self, names: Mapping[str, str], codes: Codes, failing: str = "return") -> None:
        self.lines: list[str] = []
        self.has_power = False
        self._names = names  # of the C parameters, by the names of recipes
        self._codes = codes
        self._failing = failing
        self._known: dict[int, tuple[str, str]] = {}

    def cast(self, value: Any, dtype: DType) -> str:
        """The expression of ``value`` as a number of ``dtype`` in memory."""
        text, kind = self._value(value)
        if dtype.kind == "c":
            part = c_number_type(dtype)
            return f"{{({part})(double)({text}), 0}}"
        row = ELEMENT_TYPES[dtype]
        if row.computes:
            once = row.of_double and kind != "float"
            near = row.of_double if once else row.rounded
            return row.store.format(near.format(f"({'double' if once else 'float'})({text})"))
        if dtype.kind in "iu" and kind == _INT:
            self._check_range(text, dtype)
        through = "(double)" if kind_of(dtype) == "f" and kind == _INT else ""  # as Python does
        return f"({c_number_type(dtype)}){through}({text})"

    def _check_range(self, text: str, dtype: DType) -> None:
        """NumPy raises for a Python integer that a narrower type has no room for."""
        info = np.iinfo(dtype.name)
        tests = [f"{text} < {info.min}"] if info.min > -(2**63) else []
        tests += [f"{text} > {info.max}"] if info.max < 2**63 - 1 else []
        if tests:
            message = f"OverflowError: a Python integer is out of bounds for {dtype}"
            self._fail(" || ".join(tests), message)

    def _fail(self, condition: str, message: str) -> None:
        self.lines.append(f"if ({condition}) {self._failing} {self._codes.add(message)};")

    def _value(self, value: Any) -> tuple[str, str]:
        """The expression of a number and its C type."""
        if type(value) is not TracedScalar:
            return _literal(value)
        if isinstance(value.recipe, str):
            name = self._names.get(value.recipe)
            if name is None:
                return _literal(value.value)
            return name, c_number_type(np.dtype(type(value.value)))
        if id(value) not in self._known:
            self._known[id(value)] = self._applied(value)
        return self._known[id(value)]

    def _applied(self, value: TracedScalar) -> tuple[str, str]:
        assert isinstance(value.recipe, tuple)
        function, args = value.recipe
        kinds = {type(value_of(a)) for a in args}
        if not kinds <= {int, float, np.float64} or type(value.value) not in kinds | {float}:
            raise _refused(function)
        parts = [self._value(a) for a in args]
        name = f"fc_n{len(self._known)}_{len(self.lines)}"
        if {kind for _, kind in parts} == {_INT}:
            return self._of_integers(name, function, [text for text, _ in parts]), _INT
        texts = [f"(double){text}" if kind == _INT else text for text, kind in parts]
        self._of_floats(name, function, texts, args, np.float64 not in kinds)
        return name, _FLOAT

    def _of_integers(self, name: str, function: Any, texts: list[str]) -> str:
        """An operation of integers, which Python has no bounds for."""
        if function is operator.pos:
            return texts[0]
        if function is operator.neg:
            function, texts = operator.sub, ["INT64_C(0)", *texts]
        if function not in _NAMES:
            raise _refused(function)
        self.lines.append(f"int64_t {name};")
        arguments = f"{', '.join(texts)}, &{name}"
        message = "OverflowError: a number has no room in 64 bits"
        self._fail(f"__builtin_{_NAMES[function]}_overflow({arguments})", message)
        return name

    def _of_floats(
        self, name: str, function: Any, texts: list[str], args: Any, raises: bool
    ) -> None:
        """An operation of doubles; ``raises`` if it is Python's own, and may raise."""
        if function in _SYMBOLS:
            made = f"{texts[0]} {_SYMBOLS[function]} {texts[1]}"
        elif function is operator.truediv:
            if raises:
                self._fail(f"{texts[1]} == 0", "ZeroDivisionError: float division by zero")
            made = f"{texts[0]} / {texts[1]}"
        elif function in (operator.neg, operator.pos):
            made = f"{'-' if function is operator.neg else ''}{texts[0]}"
        elif function in (operator.abs, abs):
            made = f"fabs({texts[0]})"
        elif function is operator.pow and raises and _is_whole(args[1]):
            self.has_power = True
            made = f"fc_power_of({texts[0]}, {texts[1]})"
        else:
            raise _refused(function)
        self.lines.append(f"const double {name} = {made};")
        if function is operator.pow:
            message = "OverflowError: a power is too large"
            self._fail(f"isinf({name}) && !isinf({texts[0]})", message)


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _EXACT


def _literal(value: Any) -> tuple[str, str]:
    """A number that is the same in all calls."""
    kind = type(value)
    if kind is int or isinstance(value, np.integer):
        if not -(2**63) < value < 2**63:
            raise NotFusedError(f"the number {value} has no room in 64 bits")
        return f"INT64_C({int(value)})", _INT
    if kind is float or isinstance(value, np.floating):
        return float_text(float(value)), _FLOAT
    raise NotFusedError(f"a {kind.__name__} among the numbers cannot be exported: give an array")


def float_text(value: float) -> str:
    """The C expression of a double, to the bit (but for a NaN's)."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _refused(function: Any) -> NotFusedError:
    name = getattr(function, "__name__", str(function))
    return NotFusedError(
        f"a number is computed from arguments by {name}, which an export does not follow: give its"
        " result as an argument of its own"
    )
