"""Operators: what stands for Python's operators on CuPy arrays in a block.

The usual operands take a shorter way than through CuPy, which makes calls of ufuncs of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import internals
from .internals import base
from .operations import elementwise
from .region import region_in_force

Function = Callable[..., Any]

_PLAIN = internals.OURS | {float, int, np.float64}
_SHORT: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
}
_COMPARING: dict[str, np.ufunc] = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_UNARY: dict[str, np.ufunc] = {"neg": np.negative, "abs": np.absolute}


def stand_ins() -> dict[str, Function]:
    """All of them by their names."""
    own = vars(base)
    made = {}
    for name, ufunc in _SHORT.items():
        for operator in (f"__{name}__", f"__r{name}__", f"__i{name}__"):
            made[operator] = _operator(operator, ufunc, own[operator])
    for name, ufunc in _COMPARING.items():
        made[f"__{name}__"] = _operator(f"__{name}__", ufunc, own[f"__{name}__"])
    for name, of_one in _UNARY.items():
        made[f"__{name}__"] = _unary(of_one, own[f"__{name}__"])
    return made


def _unary(ufunc: np.ufunc, original: Function) -> Function:
    """As `_operator`, of one operand."""

    def call(self: Any) -> Any:
        region = region_in_force()
        if region is not None:
            result = region.record_numbered(ufunc, (self,), elementwise)
            if result is not NotImplemented:
                return result
        return original(self)

    return call


def _operator(name: str, ufunc: np.ufunc, original: Function) -> Function:
    """A stand-in for an operator: the usual operands by a shorter way, others by CuPy's own."""
    reflected = name.startswith("__r")

    def call(self: Any, other: Any) -> Any:
        region = region_in_force()
        if region is not None and type(other) in _PLAIN:
            result = region.record_numbered(ufunc, (self, other), elementwise)
            if result is not NotImplemented:
                return result
        return original(self, other)

    def call_reflected(self: Any, other: Any) -> Any:
        region = region_in_force()
        if region is not None and type(other) in _PLAIN:
            result = region.record_numbered(ufunc, (other, self), elementwise)
            if result is not NotImplemented:
                return result
        return original(self, other)

    def call_in_place(self: Any, other: Any) -> Any:
        region = region_in_force()
        if (
            region is not None
            and type(other) in _PLAIN
            and region.record_numbered(ufunc, (self, other, self), elementwise) is None
        ):
            return self
        return original(self, other)

    return call_in_place if name.startswith("__i") else call_reflected if reflected else call
