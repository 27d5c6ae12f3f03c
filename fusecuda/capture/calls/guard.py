"""Replay: the guard of a trace and what runs it again, as one Python function made for the trace.

The function's text holds every condition under which the trace stands; `MISS` is its answer where
one fails. Text is made once for each trace, so that a call costs its comparisons and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays.dispatch import raising
from ..record.numbers import TracedScalar, cast
from ..record.view import in_memory_order
from .arguments import LAYOUT_FLAGS
from .overlap import Overlaps, overlaps_of, union
from .places import same

NDArray = np.ndarray[Any, Any]
MISS: Any = object()


class ReplayWriter:
    """Collects the text of one replay function, and the objects that it names."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {
            "ndarray": np.ndarray,
            "MISS": MISS,
            "same": same,
            "raising": raising,
            "union": union,
            "overlaps_of": overlaps_of,
            "may_share": np.may_share_memory,
            "memory_of": lambda a: in_memory_order(a)[0],
        }
        self.lines: list[str] = []
        self._names: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        """A name for an object."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self._names)}"
            self.space[name] = value
        return name

    def demand(self, condition: str) -> None:
        """The trace stands only if ``condition`` does."""
        self.lines.append(f"if not ({condition}): return MISS")

    def argument(self, kind: str, name: str, value: Any) -> None:
        """Demand of the part ``name`` of the arguments what ``kind`` says about ``value``."""
        if kind == "array":
            self.array(name, value)
        elif kind == "type":
            self.demand(f"type({name}) is {self.constant(value)}")
        elif kind == "length":
            self.demand(f"len({name}) == {value}")
        elif kind == "keys":
            self.demand(f"list({name}) == {self.constant(value)}")
        elif kind == "is":
            self.demand(f"{name} is {self.constant(value)}")
        else:
            known = self.constant(value)
            self.demand(f"({name} is {known} or same({name}, {known}))")

    def array(self, name: str, a: NDArray) -> None:
        """Demand an array of the layout of ``a``."""
        flags = f"{name}.flags.num & {LAYOUT_FLAGS} == {a.flags.num & LAYOUT_FLAGS}"
        self.demand(f"type({name}) is ndarray and {self.layout(name, a)} and {flags}")

    def layout(self, name: str, a: Any) -> str:
        """The condition that the array ``name`` has the shape, strides and dtype of ``a``."""
        dtype = self.constant(a.dtype)
        return (
            f"{name}.shape == {a.shape} and {name}.strides == {a.strides} "
            f"and ({name}.dtype is {dtype} or {name}.dtype == {dtype})"
        )

    def disjoint(self, names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> None:
        """Demand that the arrays of each pair share no memory."""
        for i, j in pairs:
            self.demand(f"not may_share({names[i]}, {names[j]})")

    def overlapping(self, names: Sequence[str], overlaps: Overlaps) -> None:
        """Demand that the arrays overlap as given."""
        known = self.constant(overlaps)
        self.demand(f"overlaps_of(({', '.join(names)},)) == {known}")

    def scalar(self, value: Any) -> str:
        """Text that computes a followed number again."""
        if type(value) is not TracedScalar:
            return self.constant(value)
        if isinstance(value.recipe, str):
            return value.recipe
        function, args = value.recipe
        return f"{self.constant(function)}({', '.join(self.scalar(a) for a in args)})"

    def cast_scalar(self, value: TracedScalar, dtype: np.dtype[Any]) -> str:
        """A local variable with a followed number, cast; it must be of the type that it was."""
        name = f"s{len(self.lines)}"
        self.lines.append(f"{name} = {self.scalar(value)}")
        if not isinstance(value.recipe, str):
            self.demand(f"type({name}) is {self.constant(type(value.value))}")
        if isinstance(value.value, np.generic):
            self.space["cast"] = cast
            return f"cast({name}, {self.constant(dtype)})"
        return f"{self.constant(dtype.type)}({name})"

    def function(
        self, count: int, run: Callable[..., Any], values: Sequence[str], result: str
    ) -> Callable[[tuple[Any, ...]], Any]:
        """The replay function for ``count`` arguments: ``run`` on ``values``, giving ``result``."""
        self.space["run"] = run
        unpack = "".join(f"a{i}, " for i in range(count))
        text = [f"if len(args) != {count}: return MISS"]
        text += [f"{unpack}= args"] * bool(count)
        text.append("try:")
        text += [f"    {line}" for line in ("if raising(): return MISS", *self.lines)]
        text.append(f"    values = ({''.join(v + ', ' for v in values)})")
        text.append("except (KeyError, AttributeError, ValueError, ArithmeticError, TypeError):")
        text.append("    return MISS")
        text.append("results = run(values)")
        text.append(f"return {result}")
        source = "def replay(args):\n" + "".join(f"    {line}\n" for line in text)
        exec(compile(source, "<fusecuda replay>", "exec"), self.space)
        return self.space["replay"]  # type: ignore[no-any-return]


class DeviceReplayWriter(ReplayWriter):
    """A replay whose arrays are a device's own: contiguous ones, of the layout that was traced."""

    def array(self, name: str, a: NDArray) -> None:
        self.space["fits"] = _fits
        self.demand(f"fits({name}, {a.shape}, {a.strides}, {self.constant(a.dtype)})")

    def disjoint(self, names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> None:
        self.space["apart"] = _apart
        for i, j in pairs:
            self.demand(f"apart({names[i]}, {names[j]})")


def _fits(value: Any, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> bool:
    """True for an array of a device with this layout."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__cuda_array_interface__"):
        return False
    return bool(value.shape == shape and value.strides == strides and value.dtype == dtype)


def _apart(a: Any, b: Any) -> bool:
    """True if two contiguous arrays of a device share no memory."""
    first, second = a.data.ptr, b.data.ptr
    return bool(first + a.nbytes <= second or second + b.nbytes <= first)
