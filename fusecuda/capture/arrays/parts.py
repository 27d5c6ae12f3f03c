"""Parts: what views show of memory whose type has no kernels, and parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph import build
from ...graph.node import Node
from ..record.leaf import Leaf
from ..record.storage import Storage
from ..record.view import View

NDArray = np.ndarray[Any, Any]


def build_snapshot(storage: Storage) -> Node:
    """A leaf with a copy of what a shared storage holds at this moment."""
    assert storage.buffer is not None
    return Leaf(np.array(storage.buffer), storage.shape, storage.dtype)


def joined(numbers: Node, part: str, value: Node) -> Node:
    """The complex ``numbers`` with ``value`` for one part of them."""
    other = "imag" if part == "real" else "real"
    kept = build.elementwise(other, [numbers], value.dtype)
    parts = [value, kept] if part == "real" else [kept, value]
    return build.elementwise("join", parts, numbers.dtype)


def part_shown(view: View, part: str, memory: NDArray) -> NDArray:
    shown: NDArray = getattr(view.of(memory), part)
    return shown


def shown_of(array: NDArray, view: View) -> NDArray:
    """A copy of what ``view`` shows of ``array``."""
    return np.array(view.of(array), order="C")


def part_of(array: NDArray, view: View, part: str) -> NDArray:
    """A copy of a part of the complex numbers that ``view`` shows of ``array``."""
    return np.array(part_shown(view, part, array), order="C")


def written(array: NDArray, view: View, part: str, value: NDArray) -> NDArray:
    """A copy of ``array`` with ``value`` in what ``view`` shows of it, or in a part of that."""
    copy = np.array(array, order="C")
    target = part_shown(view, part, copy) if part else view.of(copy)
    target[...] = value
    return copy
