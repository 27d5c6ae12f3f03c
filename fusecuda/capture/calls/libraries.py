"""Libraries: what stands for their functions and classes, which compute, and seldom do more.

They are called as functions of NumPy's are, by each replay. Where none can make the call, and where
the result is an object, the call is made as it is, and what is recorded is not replayed.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.library import at_line
from ..arrays.array import Array
from ..arrays.computed import as_fragment
from ..arrays.dispatch import raising
from ..arrays.opaque import given, taken
from ..arrays.scipy_functions import handler_of
from ..arrays.values import plain, wrap
from ..record.structure import leaves, rebuilt
from ..record.user_frames import user_line
from .numpy_calls import is_plain
from .plain_values import calling, type_meant
from .purity import may_act


def library_call(
    func: Any, acts: Callable[[], None], looked: Callable[[str], None]
) -> Callable[..., Any]:
    """``func``, which computes, as functions of NumPy's are called: recorded if it can be.

    What it does otherwise, and what it makes of functions, is done by no replay. So it is with the
    methods of a class.
    """
    handler, acting = handler_of(func), may_act(func)

    @functools.wraps(func, updated=() if isinstance(func, type) else ("__dict__",))
    def called(*args: Any, **kwargs: Any) -> Any:
        if handler is not None and not raising():
            recorded = handler(*args, **kwargs)
            if recorded is not NotImplemented:
                return recorded
        if acting:
            acts()
        if not is_plain((args, kwargs), constants=not acting):
            looked(f"it gives {func.__name__} what is not followed")
        args, kwargs = rebuilt((args, kwargs), type_meant)
        result = as_fragment(func, args, kwargs)
        return _in_memory(func, args, kwargs) if result is NotImplemented else result

    def found(value: Any) -> Any:
        is_method = callable(value) and not isinstance(value, type)
        return library_call(value, acts, looked) if is_method else value

    made: Callable[..., Any] = calling(func, called, found)
    return made


def _in_memory(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What ``func`` gives for arrays in their memory, to which it may write, or keep it."""

    def lent(keeps: bool) -> Any:
        def leaf(part: Any) -> Any:
            if isinstance(part, types.FunctionType | types.MethodType):
                return _giving_values(part)
            return given(part, keeps) if type(part) is Array else plain(part)

        return rebuilt((args, kwargs), leaf)

    keeps = isinstance(func, type)
    memory = lent(keeps)
    result = at_line(user_line())(func, *memory)
    if not keeps and not is_plain(result):
        lent(keeps=True)
    arrays = [part for part in leaves(memory) if isinstance(part, np.ndarray)]

    def lazy(part: Any) -> Any:
        is_theirs = type(part) is np.ndarray and any(np.may_share_memory(part, a) for a in arrays)
        return taken(part, _nothing, fresh=False) if is_theirs else wrap(part)

    kind = type(result)
    return kind(map(lazy, result)) if kind in (list, tuple) else lazy(result)


def _giving_values(function: Any) -> Callable[..., Any]:
    """``function``, which C code may call: what it gives is computed."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return plain(function(*args, **kwargs))

    return called


def _nothing() -> None:
    """What is done before an array is used that is an array already."""
