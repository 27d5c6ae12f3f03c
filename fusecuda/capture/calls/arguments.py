"""Arguments: those of one call taken apart into arrays, numbers and constants.

Lists, tuples and dictionaries are taken apart too, and put together again around lazy arrays. Each
part has a name, Python text that finds it in a later call, and conditions under which a trace of
this call holds for that one.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..record.numbers import NUMBERS
from .places import is_constant
from .reads import is_pure

NDArray = np.ndarray[Any, Any]
LAYOUT_FLAGS = 0x500  # aligned, writeable


class Arguments:
    """The parts of ``args``, in the order in which they stand there, arrays of ``array_type``."""

    def __init__(self, args: Sequence[Any], array_type: type = np.ndarray) -> None:
        self.args = args
        self.array_type = array_type
        self.arrays: list[tuple[str, NDArray]] = []
        self.scalars: list[tuple[str, Any]] = []
        self.functions: list[types.FunctionType] = []
        self.conditions: list[tuple[str, str, Any]] = []  # kind, name, value; in order
        self.unfusable = ""
        self._seen: set[int] = set()
        self._given: list[tuple[str, Any, Any, list[Any]]] = []  # name, original, built, content
        for i, a in enumerate(args):
            self._take(a, f"a{i}")

    def _take(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind is self.array_type:
            if kind is np.ndarray:
                self.unfusable = self.unfusable or why_not(value)
            self.arrays.append((name, value))
            self.conditions.append(("array", name, value))
        elif kind in NUMBERS:
            self.scalars.append((name, value))
            self.conditions.append(("type", name, kind))
        elif kind in (list, tuple, dict) or _is_named(value):
            self._take_parts(value, name)
        elif is_constant(value) or isinstance(value, slice):
            self.conditions.append(("same", name, value))
        elif isinstance(value, types.FunctionType) or is_pure(value):
            if isinstance(value, types.FunctionType) and not is_pure(value):
                self.functions.append(value)
            self.conditions.append(("is", name, value))
        else:
            self.unfusable = f"an argument is a {kind.__name__}"

    def _take_parts(self, value: Any, name: str) -> None:
        if id(value) in self._seen and value:
            self.unfusable = f"a {type(value).__name__} stands twice among the arguments"
            return
        self._seen.add(id(value))
        self.conditions.append(("type", name, type(value)))
        if type(value) is dict:
            if not all(type(k) in (str, int) for k in value):
                self.unfusable = "an argument is a dict whose keys are not strings or integers"
                return
            self.conditions.append(("keys", name, list(value)))
            for key, part in value.items():
                self._take(part, f"{name}[{key!r}]")
        else:
            self.conditions.append(("length", name, len(value)))
            for i, part in enumerate(value):
                self._take(part, f"{name}[{i}]")

    def build(self, leaf: Callable[[Any, str], Any]) -> list[Any]:
        """The arguments around what ``leaf`` gives for each array, number, constant or function."""
        self._given.clear()
        return [self._build(a, f"a{i}", leaf) for i, a in enumerate(self.args)]

    def _build(self, value: Any, name: str, leaf: Callable[[Any, str], Any]) -> Any:
        if type(value) is dict:
            built: Any = {k: self._build(v, f"{name}[{k!r}]", leaf) for k, v in value.items()}
            self._given.append((name, value, built, list(built.values())))
        elif type(value) in (list, tuple) or _is_named(value):
            parts = [self._build(v, f"{name}[{i}]", leaf) for i, v in enumerate(value)]
            built = value._make(parts) if _is_named(value) else type(value)(parts)
            if value != ():
                self._given.append((name, value, built, parts))
        else:
            built = leaf(value, name)
        return built

    def given(self, value: Any) -> tuple[str, Any] | None:
        """Name and original of a container that was built for the call."""
        for name, original, built, _ in self._given:
            if built is value:
                return name, original
        return None

    def changed(self) -> Iterator[tuple[Any, Any]]:
        """The containers that were changed: the original, and what stands for it now."""
        for _, original, built, content in self._given:
            now = list(built.values()) if type(built) is dict else list(built)
            same_keys = type(built) is not dict or list(built) == list(original)
            if (
                not same_keys
                or len(now) != len(content)
                or any(a is not b for a, b in zip(now, content, strict=True))
            ):
                yield original, built

    def write_back(self, finished: Callable[[Any], Any]) -> None:
        """Change the caller's lists and dicts as those built for the call have been changed."""
        for original, built in list(self.changed()):
            value = finished(built)
            if isinstance(original, list):
                original[:] = value
            elif isinstance(original, dict):
                original.clear()
                original.update(value)


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def why_not(array: NDArray) -> str:
    """Why kernels cannot work on ``array`` where it lies, or an empty string."""
    if array.dtype.hasobject:
        return "an argument has dtype object"
    if array.dtype.names is not None or array.dtype.itemsize == 0:
        return f"an argument has dtype {array.dtype}"
    if not array.flags.aligned:
        return "an argument is not aligned"
    if any(s % array.dtype.itemsize for s in array.strides):
        return "the elements of an argument do not lie on a grid"
    return ""
