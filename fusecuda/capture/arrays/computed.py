"""What NumPy computes itself of lazy arrays, and results that are written where they are wanted.

Operands are computed, NumPy is called, and its results become lazy arrays again, views of the
operands where NumPy gives views; or each replay makes the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.library import at_line
from ..record.recorder import current_recorder
from ..record.user_frames import user_line
from .array import Array
from .opaque import as_opaque
from .outputs import fitting
from .table import ENTRIES, entry
from .values import arrays_in, plain, wrap


@entry
def loosely(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What NumPy makes of loose arrays, in each replay; NotImplemented if there are none.

    Where that cannot be, they are arrays like others from then on.
    """
    found = [a for a in arrays_in((args, kwargs)) if a.is_loose]
    if not found:
        return NotImplemented
    out = kwargs.get("out")
    targets = out if isinstance(out, tuple) else () if out is None else (out,)
    if targets and all(isinstance(t, Array) and t.is_loose for t in targets):
        result = current_recorder().eager(_updating(func), args, kwargs)
        if result is not NotImplemented:
            return out if len(targets) > 1 else targets[0]
    elif not targets:
        result = current_recorder().eager(func, args, kwargs)
        if result is not NotImplemented:
            return result
    for array in found:
        array.storage  # noqa: B018 - which needs the extent
    return NotImplemented


@functools.lru_cache(maxsize=256)
def _updating(func: Callable[..., Any]) -> Callable[..., None]:
    """``func``, which writes into an array; what it returns is known."""

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> None:
        at_line(user_line())(func, args, kwargs)

    return called


@entry
def update_loosely(func: Callable[..., Any], target: Array, *args: Any) -> bool:
    """Let NumPy write into a loose array, in each replay; False if it is not loose."""
    if not target.is_loose:
        return False
    if current_recorder().eager(_updating(func), (target, *args), {}) is NotImplemented:
        target.storage  # noqa: B018 - which needs the extent
        return False
    return True


@functools.lru_cache(maxsize=256)
def as_changed(function: Callable[..., Any]) -> Callable[..., Any]:
    """What gives a copy of an array to which ``function``, which writes into it, has been done."""

    @functools.wraps(function)
    def changed(array: Any, /, *args: Any, **kwargs: Any) -> Any:
        copy = np.array(array)
        at_line(user_line())(function, (copy, *args), kwargs)
        return copy

    return changed


def check_cast(source: Any, target: Any, casting: str) -> None:
    """Raise NumPy's TypeError if ``casting`` forbids the cast."""
    if not np.can_cast(source, target, casting=casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast ufunc output from {source!r} to {target!r} with casting rule '{casting}'"
        )


def _as_dtype(value: Any) -> Any:
    """The dtype of an array or number."""
    return value.dtype if hasattr(value, "dtype") else np.asarray(plain(value)).dtype


@entry
def assign_result(target: Any, result: Any, cast: Any = "same_kind") -> Any:
    """Write ``result`` into ``target`` under NumPy's casting rule; ``target`` is returned."""
    if isinstance(target, tuple):
        (target,) = target
    if cast:
        check_cast(_as_dtype(result), target.dtype, cast)
    if getattr(target, "pick", None) is not None and ENTRIES.assign_picked(target, result):
        return target
    if current_recorder().loose and getattr(target, "loose", None) is not None:
        target[...] = result
        return target
    if not isinstance(target, Array) and isinstance(result, Array):
        current_recorder().fills_in()
    shape = getattr(result, "shape", ())
    if shape != target.shape and build.broadcast_shapes(shape, target.shape) != target.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} "
            f"doesn't match the broadcast shape {shape}"
        )
    target[...] = result if isinstance(target, Array) else plain(result)
    return target


def as_fragment(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What `eager` gives where each replay makes the call, or nobody knows what it does.

    Else NotImplemented.
    """
    if (made := as_opaque(func, args, kwargs)) is not NotImplemented:
        return made
    out, rest = kwargs.get("out"), {k: v for k, v in kwargs.items() if k != "out"}
    if out is None:
        return current_recorder().eager(func, args, rest)
    if "where" in kwargs:
        return NotImplemented
    targets = out if isinstance(out, tuple) else (out,)
    parts = fitting(targets, current_recorder().eager(func, args, rest))
    return NotImplemented if parts is None else _assigned(targets, parts)


@entry
def eager(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """NumPy's own result on computed values, its arrays made lazy; ``out`` is written to."""
    made = as_fragment(func, args, kwargs)
    if made is not NotImplemented:
        return made
    current_recorder().left(func)
    if "overwrite_input" in kwargs:
        kwargs["overwrite_input"] = False  # which may change nothing else
    out = kwargs.pop("out", None)
    targets = out if isinstance(out, tuple) else (out,)
    plain_args = [plain(a) for a in args]
    plain_kwargs = {k: plain(v) for k, v in kwargs.items()}
    called = at_line(user_line())
    if out is None:
        result = called(func, plain_args, plain_kwargs)
        sources = list(arrays_in((args, kwargs)))
        made = wrap(result, sources)
        if func in _TO_BE_READ and type(made) is Array:
            made.writeable = all(made.storage is not a.storage for a in sources)
        return made
    memory = [plain(t) for t in targets]  # a number is none, which NumPy says
    copies = tuple(np.array(m) if isinstance(m, np.ndarray) else m for m in memory)
    plain_kwargs["out"] = copies if isinstance(out, tuple) else copies[0]
    result = called(func, plain_args, plain_kwargs)
    results = result if isinstance(result, tuple) else (result,)
    values = [wrap(v) if t is None else c for t, c, v in zip(targets, copies, results, strict=True)]
    return _assigned(targets, values)


def _assigned(targets: Sequence[Any], values: Sequence[Any]) -> Any:
    """The ``targets``, into which ``values`` have been put; the value where there is none."""
    pairs = zip(targets, values, strict=True)
    given = [value if target is None else assign_result(target, value) for target, value in pairs]
    return given[0] if len(given) == 1 else tuple(given)


# Their views are not to be written to; what they are given here is not in any case.
_TO_BE_READ = (np.diag, np.diagonal, np.broadcast_to, np.lib.stride_tricks.sliding_window_view)
