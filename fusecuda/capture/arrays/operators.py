"""Operators: Python's operators and NumPy's methods, as ufunc and function calls on lazy arrays."""

from __future__ import annotations

import collections
import operator
from array import array as typed_list
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.dtypes import is_numeric
from ...graph.numpy_rules import power_looks_at, power_ufunc
from ...graph.ops import POWERS
from ..record.flight import recording as writing
from ..record.numbers import TracedScalar
from .memory import completed, in_force, is_small, new, operand, values
from .resting import EXACT, by_numpy, rests
from .table import ENTRIES

_PRODUCTS = 16  # exponents of integers up to which powers are products
_WHOLE = frozenset((-2, *range(-99, -2), *range(3, 100)))  # exponents that NumPy multiplies for
# Powers of floating-point numbers that have one value and one dtype with each NumPy.
_EXACT = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}


def _power(base: Any, exponent: Any, in_place: bool = False) -> Any:
    """``base ** exponent`` with NumPy's shortcuts for 2, 0.5, -1, 1 and 0."""
    limit = in_force().at_once_below
    if limit and in_place:
        done = _in_place_at_once(operator.ipow, base, exponent, limit)
        if done is not None:
            return done
    elif limit and (a := values(base)) is not None:
        b = operand(exponent, type(base))
        if b is not None and is_small(a, b, limit):
            return new(type(base), a**b)
    if type(exponent) is TracedScalar:
        exponent = exponent.seen()
    if base.dtype.kind in "iufc" and type(exponent) in (int, float):
        result = _known_power(base, exponent, limit)
        if result is not NotImplemented:
            return result
    number = None if base.is_scalar else _number_in(base, exponent, in_place)
    if number is not None:
        ufunc, dtype = power_ufunc(base.dtype, number, in_place)
        if ufunc is not np.power:
            return _unary(ufunc)(base if base.dtype == dtype else base.astype(dtype))
    return _operate(np.power, operator.pow, base, exponent, (base, exponent))


def _known_power(base: Any, exponent: float, limit: int) -> Any:
    """The power by a number for which there are other operations."""
    if base.dtype.kind in "iu":
        known = type(exponent) is int and 2 < exponent <= _PRODUCTS and not limit
        return ENTRIES.whole_power(base, int(exponent)) if known else NotImplemented
    if base.dtype.kind == "c":
        known = exponent in _WHOLE and not limit
        return ENTRIES.whole_power(base, int(exponent)) if known else NotImplemented
    if exponent in _EXACT:
        return _unary(_EXACT[exponent])(base)
    if exponent == 0:
        return np.power(base, exponent)
    known = exponent in POWERS and not limit
    return ENTRIES.power(base, POWERS[exponent]) if known else NotImplemented


def _number_in(base: Any, exponent: Any, in_place: bool) -> Any:
    """The number that ``exponent`` is if it has to be known for the dtype of the power, or None."""
    if type(exponent) in (bool, int, float):
        return exponent
    if getattr(exponent, "ndim", None) != 0:
        return None
    looks = power_looks_at(base.dtype, exponent.dtype, in_place)
    return np.asarray(exponent)[()] if looks else None


def _written(target: Any, result: Any) -> Any:
    """The outcome of an in-place operator; a NumPy scalar is not written to, its name is bound."""
    if result is NotImplemented or target.is_scalar:
        return result
    return ENTRIES.assign_result(target, result)


def _binary(
    ufunc: np.ufunc, plainly: Callable[[Any, Any], Any]
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    forward, backward = _one_way(ufunc, plainly, False), _one_way(ufunc, plainly, True)
    return forward, backward, _in_place_by(ufunc, plainly)


def _one_way(
    ufunc: np.ufunc, plainly: Callable[[Any, Any], Any], turned: bool
) -> Callable[..., Any]:
    """The operator with the array as its first operand, or as its second one."""
    exact = ufunc in EXACT

    def operate(self: Operators, other: Any) -> Any:
        recorder = in_force()
        inputs = (other, self) if turned else (self, other)
        if limit := recorder.at_once_below:
            b = None
            if (a := values(self)) is not None:
                b = operand(other, type(self))
                if b is not None and is_small(a, b, limit):
                    return new(type(self), plainly(b, a) if turned else plainly(a, b))
            if exact and rests(a, b, limit):
                return new(type(self), by_numpy(ufunc, b, a) if turned else by_numpy(ufunc, a, b))
        elif recorder.run is not None:
            made = ENTRIES.recorded_of_two(recorder, ufunc, *inputs)
            if made is not NotImplemented:
                return made
        return _operate(ufunc, plainly, self, other, inputs)

    return operate


def _product() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """The operators of `matmul`, which is NumPy's work in any case and waits for nothing."""

    def one_way(turned: bool) -> Callable[..., Any]:
        def operate(self: Operators, other: Any) -> Any:
            done = _product_at_once(self, other, turned)
            if done is not None:
                return done
            inputs = (other, self) if turned else (self, other)
            return _operate(np.matmul, operator.matmul, self, other, inputs)

        return operate

    return one_way(False), one_way(True), _in_place_by(np.matmul, operator.matmul)


def _product_at_once(array: Any, other: Any, turned: bool) -> Any:
    """The product, None if it is to be recorded."""
    if not in_force().at_once_below or (a := completed(array)) is None:
        return None
    b = completed(other) if type(other) is type(array) else operand(other, type(array))
    return None if b is None else new(type(array), b @ a if turned else a @ b)


def _in_place_by(ufunc: np.ufunc, plainly: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The operator in place."""
    exact = ufunc in EXACT
    in_place_plainly = getattr(operator, f"i{plainly.__name__.rstrip('_')}", plainly)

    def in_place(self: Operators, other: Any) -> Any:
        recorder = in_force()
        if limit := recorder.at_once_below:
            done = _in_place_at_once(in_place_plainly, self, other, limit, exact)
            if done is not None:
                return done
        elif recorder.run is not None and ENTRIES.updated(recorder, ufunc, self, other):
            return self
        try:
            return _in_place(ufunc, plainly, in_place_plainly, self, other)
        except Exception as error:
            numpys = ENTRIES.error_of(error, in_place_plainly, (self, other), {})
            if numpys is None:
                raise
            try:
                raise numpys from error.__cause__
            finally:
                del numpys  # no cycle of error and frame keeps arrays alive

    return in_place


def _in_place(ufunc: np.ufunc, plainly: Any, in_place: Any, array: Any, other: Any) -> Any:
    if array.pick is None and ENTRIES.update_loosely(in_place, array, other):
        return array
    result = _operate(ufunc, plainly, array, other, (array, other))
    if ufunc is np.matmul and result is not NotImplemented and result.shape != array.shape:
        raise ValueError(f"a product of {result.shape} is not in the place of {array.shape}")
    return _written(array, result)


def _in_place_at_once(
    plainly: Callable[[Any, Any], Any], array: Any, other: Any, limit: int, exact: bool = False
) -> Any:
    """The array, written to at once; None if that is to be recorded."""
    b = operand(other, type(array))
    if array.is_scalar:  # its name is bound to another
        a = values(array)
        known = a is not None and b is not None
        return new(type(array), plainly(a, b)) if known and is_small(a, b, limit) else None
    with writing:
        a = values(array)
        own = array._own
        known = a is not None and b is not None and (own is None or own.unread)
        if not (known and is_small(a, b, limit)) and not (
            exact and rests(a if known else None, b, limit, nodes=2)
        ):
            return None
        plainly(a, b)
    return array


def _operate(
    ufunc: np.ufunc, plainly: Callable[[Any, Any], Any], array: Any, other: Any,
    inputs: tuple[Any, Any],
) -> Any:  # fmt: skip
    kind = type(other)
    if kind is type(array) or kind is float or kind is int:
        return ENTRIES.operate(kind if kind is type(array) else type(array), ufunc, inputs)
    if (made := ENTRIES.as_opaque(plainly, inputs, {})) is not NotImplemented:
        return made
    if kind not in _OPERANDS and not isinstance(other, _OPERAND_TYPES):
        if getattr(kind, "__array_ufunc__", NotImplemented) is None:
            return NotImplemented
        if ufunc is np.multiply and array.is_scalar and issubclass(kind, _REPEATED):
            return NotImplemented  # a sequence is repeated
        made = ENTRIES.gathered(other)
        made = made if type(made) is type(array) else np.asarray(other)
        if not is_numeric(made.dtype):
            return ENTRIES.eager(plainly, *inputs)
        inputs = (array, made) if inputs[0] is array else (made, array)
    elif kind is np.ndarray and not is_numeric(other.dtype):
        return ENTRIES.eager(plainly, *inputs)
    return ENTRIES.call_ufunc(type(array), ufunc, "__call__", inputs, {})


def _unary(ufunc: np.ufunc) -> Callable[[Operators], Any]:
    def operate(self: Operators) -> Any:
        recorder = in_force()
        if limit := recorder.at_once_below:
            a = values(self)
            if a is not None and a.nbytes <= limit:
                return new(type(self), ufunc(a))
            if ufunc in EXACT and rests(a, 0, limit):
                return new(type(self), by_numpy(ufunc, a))
        elif recorder.run is not None:
            made = ENTRIES.recorded(recorder, ufunc, (self,))
            if made is not NotImplemented:
                return made
        return ENTRIES.call_ufunc(type(self), ufunc, "__call__", (self,), {})

    return operate


def _divided(array: Any, other: Any, inputs: tuple[Any, Any]) -> Any:
    """The quotient and the remainder."""
    if limit := in_force().at_once_below:
        made = ENTRIES.ufunc_at_once(np.divmod, "__call__", inputs, {}, limit)
        if made is not NotImplemented:
            return made
    return _operate(np.divmod, divmod, array, other, inputs)


_NO_VIEWS = frozenset({"sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax"})


def _method(function: Any) -> Callable[..., Any]:
    name = function.__name__
    numpys = getattr(np.ndarray, name) if name in _NO_VIEWS else None

    def method(self: Operators, /, *args: Any, **kwargs: Any) -> Any:
        recorder = in_force()
        if limit := recorder.at_once_below:
            if numpys is not None and (not kwargs or kwargs.keys() <= _PLAIN_KEYWORDS):
                a = values(self)
                if (
                    type(a) is np.ndarray
                    and a.nbytes <= limit
                    and all(type(v) is int for v in args)
                ):
                    return new(type(self), numpys(a, *args, **kwargs))
            result = ENTRIES.function_at_once(function, (self, *args), kwargs, limit)
            if result is not NotImplemented:
                return result
        elif recorder.run is not None:
            result = ENTRIES.followed(recorder, function, (self, *args), kwargs)
            if result is not NotImplemented:
                return result
        return ENTRIES.call_function(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"As `numpy.{function.__name__}`."
    method.__wrapped__ = function  # type: ignore[attr-defined]  # help() shows its signature
    return method


_clip = _method(np.clip)


class Operators:
    """What `Array` has for every operator and for methods that are functions of the same name."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    __add__, __radd__, __iadd__ = _binary(np.add, operator.add)
    __sub__, __rsub__, __isub__ = _binary(np.subtract, operator.sub)
    __mul__, __rmul__, __imul__ = _binary(np.multiply, operator.mul)
    __truediv__, __rtruediv__, __itruediv__ = _binary(np.true_divide, operator.truediv)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary(np.floor_divide, operator.floordiv)
    __mod__, __rmod__, __imod__ = _binary(np.remainder, operator.mod)
    __lshift__, __rlshift__, __ilshift__ = _binary(np.left_shift, operator.lshift)
    __rshift__, __rrshift__, __irshift__ = _binary(np.right_shift, operator.rshift)
    __and__, __rand__, __iand__ = _binary(np.bitwise_and, operator.and_)
    __or__, __ror__, __ior__ = _binary(np.bitwise_or, operator.or_)
    __xor__, __rxor__, __ixor__ = _binary(np.bitwise_xor, operator.xor)
    __matmul__, __rmatmul__, __imatmul__ = _product()
    __lt__ = _binary(np.less, operator.lt)[0]
    __le__ = _binary(np.less_equal, operator.le)[0]
    __gt__ = _binary(np.greater, operator.gt)[0]
    __ge__ = _binary(np.greater_equal, operator.ge)[0]
    __eq__ = _binary(np.equal, operator.eq)[0]
    __ne__ = _binary(np.not_equal, operator.ne)[0]
    __rpow__ = _binary(np.power, operator.pow)[1]
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """As `numpy.clip`."""  # but that a bound may be left out
        return _clip(self, min, max, **({} if out is None else {"out": out}), **kwargs)

    def __pow__(self, exponent: Any) -> Any:
        return _power(self, exponent)

    def __ipow__(self, exponent: Any) -> Any:
        result = _power(self, exponent, in_place=True)
        return result if result is self else _written(self, result)

    def __divmod__(self, other: Any) -> Any:
        return _divided(self, other, (self, other))

    def __rdivmod__(self, other: Any) -> Any:
        return _divided(self, other, (other, self))


_PLAIN_KEYWORDS = frozenset({"axis", "keepdims", "dtype", "ddof"})
_REPEATED = (list, tuple, str, bytes, bytearray, collections.deque, typed_list)
_OPERANDS = frozenset({int, float, bool, TracedScalar, np.float64, np.ndarray})
_OPERAND_TYPES = (Operators, TracedScalar, np.ndarray, np.generic, int, float, complex)
for _function in (
    np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std, np.argmax, np.argmin,
    np.cumsum, np.cumprod, np.round, np.argsort, np.take, np.repeat, np.nonzero,
    np.diagonal, np.trace, np.searchsorted, np.argpartition,
):  # fmt: skip
    setattr(Operators, _function.__name__, _method(_function))
