"""Observed: what looks at the values of an array, as numbers, as text and as NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.dtypes import kind_of
from ..record.recorder import current_recorder
from .memory import in_force, values
from .operators import Operators

NDArray = np.ndarray[Any, Any]


def _seen_as(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda self: self._seen(kind)


class Observed(Operators):
    """The methods of an array that need its values now."""

    __slots__ = ()

    dtype: Any
    size: Any
    is_scalar: bool
    compute: Callable[[], NDArray]

    def _seen(self, kind: Callable[[Any], Any]) -> Any:
        recorder = in_force()
        if recorder.at_once_below and (known := values(self)) is not None:
            return kind(known)
        return recorder.seen(self, kind)

    def item(self, *args: Any) -> Any:
        recorder = in_force()
        if (
            not args
            and not recorder.at_once_below
            and self.size == 1
            and kind_of(self.dtype) == "f"
        ):
            return recorder.number(self, item_of)
        return self._seen(lambda values: values.item(*args))

    def tolist(self) -> Any:
        return self._seen(lambda values: values.tolist())

    def tobytes(self, order: Any = "C") -> bytes:
        return self._seen(lambda values: values.tobytes(order))  # type: ignore[no-any-return]

    def get(
        self, stream: Any = None, order: Any = "C", out: Any = None, blocking: Any = True
    ) -> NDArray:
        """As `cupy.ndarray.get`: the values as a NumPy array, ``out`` if there is one.

        They lie in ``order``. There is no ``stream`` to wait for, nor is ``blocking`` asked.
        """
        if out is None:
            return np.array(self.compute(), order=order)
        out[...] = self.compute()
        return out  # type: ignore[no-any-return]

    def set(self: Any, arr: Any, stream: Any = None) -> None:
        """As `cupy.ndarray.set`: take the values of a NumPy array of the same shape and dtype."""
        self[...] = arr

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __hash__(self) -> int:  # type: ignore[override]
        if not self.is_scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return int(self._seen(hash))

    def __round__(self, ndigits: Any = None) -> Any:
        if not self.is_scalar:
            raise TypeError("type numpy.ndarray doesn't define __round__ method")
        if ndigits is None:
            return self._seen(round)
        return current_recorder().number(self, lambda value: round(value, ndigits))

    def __repr__(self) -> str:
        if current_recorder().transparent:
            return str(self._seen(repr))
        return f"{current_recorder().array_name}{repr(self.compute()).removeprefix('array')}"

    def __str__(self) -> str:
        return str(self._seen(str))

    def __format__(self, spec: str) -> str:
        return str(self._seen(lambda values: format(values[()], spec)))

    __bool__ = _seen_as(bool)
    __float__ = _seen_as(float)
    __int__ = _seen_as(int)
    __complex__ = _seen_as(complex)
    __index__ = _seen_as(operator.index)
    __bytes__ = _seen_as(bytes)

    def __trunc__(self) -> int:
        if not hasattr(self._numpys(), "__trunc__"):
            raise TypeError(f"type {self._numpys().__name__} doesn't define __trunc__ method")
        return self._seen(int)  # type: ignore[no-any-return]

    def _numpys(self) -> Any:
        """The type of what NumPy would give here."""
        return self.dtype.type if self.is_scalar else np.ndarray


def item_of(values: Any) -> Any:
    """The one element there is, as Python's number."""
    return values.item()


def _of_scalars(name: str) -> property:
    """What NumPy's scalars, some of them, have under ``name`` and arrays have not."""

    def get(array: Any) -> Any:
        kind = array._numpys()
        if not hasattr(kind, name):
            raise AttributeError(f"{kind.__module__}.{kind.__name__} has no attribute {name!r}")
        if not callable(getattr(kind, name)):
            return array._seen(lambda values: getattr(values[()], name))
        return lambda *args: array._seen(lambda values: getattr(values[()], name)(*args))

    return property(get)


for _name in ("as_integer_ratio", "bit_count", "denominator", "fromhex", "hex", "is_integer",
              "numerator"):  # fmt: skip
    setattr(Observed, _name, _of_scalars(_name))
