"""The dispatch table: from a NumPy function to the handler that records it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..graph.node import Node
from .recorder import atomic

if TYPE_CHECKING:
    from .array import Array

Handler = Callable[..., Any]
_H = TypeVar("_H", bound=Handler)
TABLE: dict[Any, Handler] = {}
OUT_POSITION: dict[Any, int] = {}  # where a function takes ``out`` as a positional argument


def handles(*targets: Any) -> Callable[[_H], _H]:
    """Enter a handler in the table for the NumPy functions ``targets``.

    A handler takes what NumPy's function takes (never a written ``out``) and answers with a lazy
    result, or with NotImplemented where NumPy should compute.
    """

    def enter(handler: _H) -> _H:
        handler = atomic(handler)  # type: ignore[assignment]
        names = list(inspect.signature(handler).parameters)
        for target in targets:
            TABLE[target] = handler
            if "out" in names:
                OUT_POSITION[target] = names.index("out")
        return handler

    return enter


def array_of(value: Any) -> Array:
    """``value`` as a lazy array."""
    from .array import Array  # noqa: PLC0415 - handlers make arrays, arrays call handlers
    from .functions import plain  # noqa: PLC0415

    return value if isinstance(value, Array) else Array.of_array(np.asarray(plain(value)))


def of_node(node: Node, is_scalar: bool | None = None) -> Array:
    """A new array of the value ``node``; NumPy gives a scalar for rank 0 unless told otherwise."""
    from .array import Array  # noqa: PLC0415

    return Array.of_node(node, is_scalar=is_scalar)


def axes_of(a: Array, axis: Any) -> tuple[int, ...]:
    """The axes that ``axis`` names, all of them for None."""
    return tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
