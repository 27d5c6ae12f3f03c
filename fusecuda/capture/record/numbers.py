"""TracedScalar: a number given to a `fused` function, followed through its arithmetic.

Arithmetic among numbers is recorded and done again, in Python, at each replay; the result enters
kernels as an argument. Whatever looks at the value itself (a comparison, ``int()``, an axis) marks
it observed: the trace then holds for that value only.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...graph.dtypes import ELEMENT_TYPES, DType
from ...graph.node import Node
from .leaf import Leaf

# A name, what computes it from what a call has computed so far, or a function and its arguments.
Recipe = str | Callable[[Any], Any] | tuple[Callable[..., Any], tuple[Any, ...]]
Computing = Callable[[Callable[..., Any], tuple[Any, ...]], Any]  # a function of numbers
_COMPLEX = (complex, np.complex64, np.complex128)
NUMBERS = frozenset({int, float, *(t.type for t in ELEMENT_TYPES if t.kind != "b"), *_COMPLEX})


class TracedScalar:
    """Stands for a Python or NumPy number whose value may differ in the next call."""

    __slots__ = ("_nodes", "attempt", "branch", "observe", "operations", "recipe", "value")
    __array_priority__ = -1.0  # operators are the arrays'

    def __init__(
        self,
        value: Any,
        recipe: Recipe,
        observe: Callable[[], None],
        branch: Computing | None = None,
        attempt: Computing | None = None,
        operations: int = 0,
    ) -> None:
        self.value = value
        self.recipe = recipe  # how to compute it again; a string is the name of an argument
        self.observe = observe
        self.branch = branch  # gives what is made of it and looked at, if that is enough
        self.attempt = attempt  # gives what is made of it by what may raise, or by many operations
        self.operations = operations  # how many there are in the recipe
        self._nodes: dict[DType, Node] = {}

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.value)

    @property
    def type(self) -> type | DType:
        """What it counts as in type resolution: a weak type of Python's or a NumPy dtype."""
        kind = type(self.value)
        return kind if kind in (int, float, complex) else np.dtype(kind)

    def node(self, dtype: DType | None = None) -> Node:
        """The node of the value cast to ``dtype``; raises OverflowError as NumPy does."""
        dtype = np.dtype(self.type) if dtype is None else dtype
        if dtype not in self._nodes:
            try:
                cast(self.value, dtype)
            except Exception:
                self.observe()
                raise
            self._nodes[dtype] = Leaf(self, (), dtype, scalar=True)
        return self._nodes[dtype]

    @property
    def real(self) -> Any:
        return _applied(_REAL, (self,))

    @property
    def imag(self) -> Any:
        return _applied(_IMAG, (self,))

    def conjugate(self) -> Any:
        """The complex conjugate."""
        return _applied(_CONJUGATE, (self,))

    def seen(self) -> Any:
        """The value, from now on a condition of the trace."""
        self.observe()
        return self.value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy looks at the value, unless a lazy array is there to record the operation."""
        if any(map(_records, inputs)):
            return NotImplemented
        if method == "__call__" and not kwargs and ufunc.nout == 1:
            if any(type(v) is np.ndarray for v in inputs):
                result = self.with_arrays(ufunc, inputs)
                if result is not NotImplemented:
                    return result
            return _applied(ufunc, inputs)
        plain = map(value_seen, inputs)
        return getattr(ufunc, method)(*plain, **kwargs)

    @staticmethod
    def with_arrays(ufunc: np.ufunc, inputs: Any) -> Any:
        """What ``ufunc`` of numbers and NumPy's own arrays records; NotImplemented for nothing."""
        return NotImplemented

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy follows its own arithmetic; where it asks for types, Python's numbers are weak."""
        asked = _ASKING_TYPES.get(func)
        asks = asked is not None and any(map(asked, (*args, *kwargs.values())))
        if not asks and {*types} <= {TracedScalar, np.ndarray}:
            return func._implementation(*args, **kwargs)
        if any(hasattr(kind, "read_node") for kind in types):
            return NotImplemented
        return func(*map(value_seen, args), **{k: value_seen(v) for k, v in kwargs.items()})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.seen(), dtype, copy=copy)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.seen(), name)

    def __copy__(self) -> TracedScalar:
        return self

    def __deepcopy__(self, memo: Any) -> TracedScalar:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.seen().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(self.seen())


_REAL, _IMAG = operator.attrgetter("real"), operator.attrgetter("imag")
_CONJUGATE = operator.methodcaller("conjugate")


def followed(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of numbers, done again at each replay where it is given followed ones."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if any(type(a) is TracedScalar for a in args):
            return _applied(function, args)
        return function(*args)

    return call


def _applied(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What ``function`` gives for numbers some of which are followed."""
    attempt = _first_of("attempt", args)
    if attempt is None or (_is_safe(function, args) and not is_long(args)):
        return applied(function, args)
    return attempt(function, args)


def applied(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """As the operators of numbers give it; whether it raises again is not asked."""
    values = [value_of(a) for a in args]

    def observe() -> None:
        for a in args:
            if type(a) is TracedScalar:
                a.observe()

    plain = all(type(v) in NUMBERS for v in values)
    try:
        result = function(*values)
    except Exception:  # whether it raises is a condition of the trace
        observe()
        raise
    if type(result) not in NUMBERS or not plain:
        observe()
        return result
    branch, attempt = _first_of("branch", args), _first_of("attempt", args)
    return TracedScalar(
        result, (function, args), observe, branch, attempt, 1 + _operations_of(args)
    )


def is_long(args: Iterable[Any]) -> bool:
    """True if what is made of ``args`` is to be computed once, not again for each use of it."""
    return _operations_of(args) >= _LONG


def _operations_of(args: Iterable[Any]) -> int:
    return min(sum(a.operations for a in args if type(a) is TracedScalar), _LONG)


def _is_safe(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """True if ``function`` raises nothing, and gives one type, for all numbers of these types.

    Where ``args`` are constants, for those. A followed int may be too large for a float; NumPy's
    numbers warn, which may raise.
    """
    kinds = {type(value_of(a)) for a in args}
    if not kinds <= _PYTHONS:
        return function in _PARTS or not kinds <= NUMBERS
    if function in _UNARY:
        return function is not operator.abs or complex not in kinds
    if len(kinds) > 1 and any(type(value_of(a)) is int for a in args if type(a) is TracedScalar):
        return False
    if function in _DIVISIONS:
        constant = type(args[1]) is not TracedScalar
        return constant and not (function is operator.truediv and int in kinds and len(kinds) == 1)
    return function in _RINGS


_LONG = 32  # operations; a text may not be nested by 200
_PYTHONS = frozenset({int, float, complex})
_PARTS = (_REAL, _IMAG, _CONJUGATE)
_UNARY = (*_PARTS, operator.neg, operator.pos, operator.abs)
_RINGS = (operator.add, operator.sub, operator.mul)
_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod)


def _first_of(name: str, args: Iterable[Any]) -> Computing | None:
    """The first ``branch`` or ``attempt`` of the followed ones among ``args``."""
    known = (getattr(a, name) for a in args if type(a) is TracedScalar)
    return next((computing for computing in known if computing is not None), None)


def cast(value: Any, dtype: DType) -> Any:
    """A number as a NumPy scalar of ``dtype``; raises OverflowError for an int out of bounds."""
    if isinstance(value, np.generic):
        with np.errstate(all="ignore"):
            return value.astype(dtype)
    return dtype.type(value)


def argument_of(leaf: Leaf) -> Any:
    """What an executable is given for ``leaf``."""
    if type(leaf.array) is TracedScalar:
        return cast(leaf.array.value, leaf.dtype)
    return leaf.array


def _records(value: Any) -> bool:
    """True for an array that records what is done with it: a lazy one, or CuPy's in a region."""
    kind = type(value)
    return kind is not TracedScalar and (
        hasattr(kind, "read_node") or hasattr(kind, "__cupy_override_elementwise_kernel__")
    )


def _is_typed(value: Any) -> bool:
    return isinstance(value, np.generic | np.ndarray)


def _is_int(value: Any) -> bool:
    return type(value_of(value)) is int


# Functions that ask for types, and what is among the arguments where they do.
_ASKING_TYPES = {
    np.where: _is_typed, np.result_type: _is_typed, np.linspace: _is_typed, np.clip: _is_int,
}  # fmt: skip


def _arithmetic(function: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    def method(self: TracedScalar, other: Any) -> Any:
        kind = type(other)
        if kind is not TracedScalar and kind not in NUMBERS:
            left = kind is np.ndarray or _records(other)
            return NotImplemented if left else _seen(self, other)
        return _applied(function, (other, self) if swapped else (self, other))

    def _seen(self: TracedScalar, other: Any) -> Any:
        other = other[:] if isinstance(other, list) else other  # which NumPy's numbers repeat
        return function(other, self.seen()) if swapped else function(self.seen(), other)

    return method


def _observed(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: TracedScalar, *args: Any) -> Any:
        if args and _records(args[0]):
            return NotImplemented
        branch = _first_of("branch", (self, *args))
        if branch is None or not all(type(a) is TracedScalar or type(a) in NUMBERS for a in args):
            plain = list(map(value_seen, args))
            return function(self.seen(), *plain)
        return branch(function, (self, *args))

    return method


def value_of(value: Any) -> Any:
    """The number that a followed one is now; any other value itself."""
    return value.value if type(value) is TracedScalar else value


def value_seen(value: Any) -> Any:
    """As `value_of`, from now on a condition of the trace."""
    return value.seen() if type(value) is TracedScalar else value


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: _applied(function, (self,))


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self.seen())


for _name in ("neg", "pos", "abs"):
    setattr(TracedScalar, f"__{_name}__", _unary(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _function = getattr(operator, _name)
    setattr(TracedScalar, f"__{_name}__", _arithmetic(_function))
    setattr(TracedScalar, f"__r{_name}__", _arithmetic(_function, swapped=True))
_binary_pow: Any = vars(TracedScalar)["__pow__"]


def _pow(self: TracedScalar, other: Any, modulus: Any = None) -> Any:
    if modulus is None:
        return _binary_pow(self, other)
    plain = map(value_seen, (other, modulus))
    return pow(self.seen(), *plain)


def _round(self: TracedScalar, ndigits: Any = None) -> Any:
    return round(self.seen()) if ndigits is None else _applied(round, (self, ndigits))


setattr(TracedScalar, "__pow__", _pow)  # noqa: B010 - as above, by name
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "lshift", "rshift", "and_", "or_", "xor"):
    _function = getattr(operator, _name)
    setattr(TracedScalar, f"__{_name.rstrip('_')}__", _observed(_function))
for _function in (float, int, bool, complex, hash, divmod, str, format):
    setattr(TracedScalar, f"__{_function.__name__}__", _observed(_function))
for _name in ("index", "invert"):
    setattr(TracedScalar, f"__{_name}__", _observed(getattr(operator, _name)))
for _name in ("trunc", "floor", "ceil"):
    setattr(TracedScalar, f"__{_name}__", _observed(getattr(math, _name)))
for _name in ("lshift", "rshift", "and_", "or_", "xor", "divmod"):
    _function = divmod if _name == "divmod" else getattr(operator, _name)
    setattr(TracedScalar, f"__r{_name.rstrip('_')}__", _swapped(_function))
setattr(TracedScalar, "__round__", _round)  # noqa: B010
