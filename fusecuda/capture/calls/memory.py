"""Memory: what a guard demands of arrays, for each kind of memory that they lie in.

A kind of memory whose library is not always there registers itself in `PROVIDERS` by the library's
name; its module is loaded when arrays of that library are met.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...cpu_fallback.array_object import are_apart

LAYOUT_FLAGS = 0x500  # aligned, writeable
_MANY_PAIRS = 12  # from which on arrays are sorted by where they lie
PROVIDERS = {"cupy": "fusecuda.capture.cupy.provider"}


class Writer(Protocol):
    """What a memory needs of the guard that is written."""

    space: dict[str, Any]

    def constant(self, value: Any) -> str:
        """A name for an object."""

    def demand(self, condition: str) -> None:
        """The trace stands only if ``condition`` does."""


class Memory(Protocol):
    """Writes the conditions of arrays."""

    def array(self, guard: Writer, name: str, a: Any) -> None:
        """Demand an array of the layout of ``a``."""


def layout(guard: Writer, name: str, a: Any) -> str:
    """The condition that the array ``name`` has the shape, strides and dtype of ``a``."""
    dtype = guard.constant(a.dtype)
    return (
        f"{name}.shape == {a.shape} and {name}.strides == {a.strides} "
        f"and ({name}.dtype is {dtype} or {name}.dtype == {dtype})"
    )


class HostMemory:
    """NumPy's arrays."""

    def array(self, guard: Writer, name: str, a: Any) -> None:
        flags = f"{name}.flags.num & {LAYOUT_FLAGS} == {a.flags.num & LAYOUT_FLAGS}"
        guard.demand(f"type({name}) is ndarray and {layout(guard, name, a)} and {flags}")

    def apart(self, guard: Writer, written: Sequence[str], names: Sequence[str]) -> None:
        """Demand that no array ``written`` shares memory with another one of ``names``."""
        pairs = pairs_of(written, names)
        if len(pairs) > _MANY_PAIRS:
            guard.space["are_apart"] = are_apart
            rest = [name for name in names if name not in written]
            guard.demand(f"are_apart(({', '.join([*written, *rest])},), {len(written)})")
            return
        guard.space["may_share"] = np.may_share_memory
        for one, other in pairs:
            guard.demand(f"not may_share({one}, {other})")


class DeviceMemory:
    """A device's own arrays: contiguous ones, of the layout that was traced."""

    def array(self, guard: Writer, name: str, a: Any) -> None:
        guard.space["fits"] = _fits
        guard.demand(f"fits({name}, {a.shape}, {a.strides}, {guard.constant(a.dtype)})")

    def apart(self, guard: Writer, written: Sequence[str], names: Sequence[str]) -> None:
        """Demand that no array ``written`` shares memory with another one of ``names``."""
        guard.space["apart"] = _apart
        for one, other in pairs_of(written, names):
            guard.demand(f"apart({one}, {other})")


def pairs_of(written: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Each array ``written`` with each other one of ``names``, once."""
    into = [names.index(name) for name in written]
    pairs = {(min(i, j), max(i, j)) for i in into for j in range(len(names)) if i != j}
    return [(names[i], names[j]) for i, j in sorted(pairs)]


def _fits(value: Any, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> bool:
    """True for an array of a device with this layout."""
    if isinstance(value, np.ndarray) or not hasattr(type(value), "__cuda_array_interface__"):
        return False
    return bool(value.shape == shape and value.strides == strides and value.dtype == dtype)


def _apart(a: Any, b: Any) -> bool:
    """True if two contiguous arrays of a device share no memory."""
    first, second = a.data.ptr, b.data.ptr
    return bool(first + a.nbytes <= second or second + b.nbytes <= first)


def provider() -> Any:
    """The module for the arrays of a library that has been imported; None without one."""
    for library, module in PROVIDERS.items():
        found = sys.modules.get(library)
        if getattr(found, "__spec__", None) is not None:  # not what stands in for it under `run`
            return importlib.import_module(module)
    return None
