"""Parts: what views show of memory whose type has no kernels, and parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import DType
from ...graph.node import Node
from ..record.leaf import Leaf
from ..record.view import View

NDArray = np.ndarray[Any, Any]


def build_snapshot(shown: NDArray, dtype: DType) -> Node:
    """A leaf with a copy of what is shown of shared memory at this moment."""
    return Leaf(np.array(shown, order="C"), shown.shape, dtype)


def joined(numbers: Node, part: str, value: Node) -> Node:
    """The complex ``numbers`` with ``value`` for one part of them."""
    other = "imag" if part == "real" else "real"
    kept = build.elementwise(other, [numbers], value.dtype)
    parts = [value, kept] if part == "real" else [kept, value]
    return build.elementwise("join", parts, numbers.dtype)


def shown_of(array: NDArray, view: View, part: str) -> NDArray:
    """What ``view`` shows of ``array``, or a part of the complex numbers there."""
    seen = view.of(array)
    return getattr(seen, part) if part else seen


def copied(array: NDArray, view: View, part: str) -> NDArray:
    """A copy of what is shown."""
    return np.array(shown_of(array, view, part), order="C")


def written(array: NDArray, view: View, part: str, value: NDArray) -> NDArray:
    """A copy of ``array`` with ``value`` in what is shown of it."""
    copy = np.array(array, order="C")
    shown_of(copy, view, part)[...] = value
    return copy
