"""NumPy's functions on lazy arrays: recorded by the handlers of the dispatch table, or computed.

What is not in the table runs as it would without us: operands are computed, NumPy is called, and
its results become lazy arrays again, views of the operands where NumPy gives views.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import is_numeric
from ...graph.library import at_line
from ..record.flight import recording
from ..record.numbers import TracedScalar
from ..record.recorder import current_recorder
from ..record.structure import SEQUENCES
from ..record.user_frames import user_line
from . import ufuncs
from .array import Array
from .gathering import gathered, takes_arrays, without_objects
from .opaque import StandIn, as_opaque
from .outputs import fitting
from .table import ENTRIES, TABLE, entry, place_of_out, positional_names
from .values import array_of, arrays_in, complete_together, is_any_picked, plain, wrap


@entry
def call_function(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of NumPy's ``func``: recorded if the table has it, else computed by NumPy."""
    if _has_subclass(args) or (kwargs and _has_subclass(kwargs.values())):
        return eager(func, *args, **kwargs)
    if _has_list(args) and takes_arrays(func):
        args = tuple(map(gathered, args))
    result = _of_any_extent(func, func, args, kwargs)
    if result is not NotImplemented:
        return result
    handler = TABLE.get(func)
    if len(args) > (place := place_of_out(func)):
        named = zip(positional_names(func) or (), args, strict=False)
        kwargs = {**kwargs, **dict(list(named)[place:])}
        args = args[:place]
    out = kwargs.get("out")
    if handler is not None and not raising():
        rest = {k: v for k, v in kwargs.items() if k != "out"}
        try:
            result = handler(*args, **rest)
        except (TypeError, OverflowError):
            if func is np.copyto:  # which could not write to what NumPy is given of ours
                raise
            result = NotImplemented  # NumPy knows better which arguments it takes
        if result is not NotImplemented:
            if out is None:
                return result
            target = out[0] if isinstance(out, tuple) else out
            if getattr(result, "dtype", None) == target.dtype and result.shape == target.shape:
                return assign_result(target, result)
    if isinstance(func, np.ufunc):
        return func(*args, **kwargs)
    return eager(func, *args, **kwargs)


def _of_any_extent(known: Any, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What is made of picks and loose arrays as they are, else NotImplemented."""
    if is_any_picked(args) and not raising():
        result = ENTRIES.of_picked(known, args, kwargs)
        if result is not NotImplemented:
            return result
    return loosely(func, args, kwargs) if current_recorder().loose else NotImplemented


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


def _has_subclass(values: Iterable[Any]) -> bool:
    """True if there is a masked array, a stand-in or the like: those have rules of their own."""
    for value in values:
        kind = type(value)
        if kind is Array or kind is np.ndarray:
            continue
        if kind in SEQUENCES:
            if _has_subclass(value):
                return True
        elif issubclass(kind, np.ndarray | StandIn):
            return True
    return False


def _has_list(values: Iterable[Any]) -> bool:
    return any([type(v) in SEQUENCES for v in values])


@entry
def call_ufunc(
    array_type: type[Array], ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]
) -> Any:
    """What ``ufunc.method(*inputs, **kwargs)`` records, or NumPy's result on computed values."""
    try:
        return _called(array_type, ufunc, method, inputs, kwargs)
    except Exception as error:
        if (arrays := without_objects(inputs)) is not None:
            return call_ufunc(array_type, ufunc, method, arrays, kwargs)
        numpys = ENTRIES.error_of(error, getattr(ufunc, method), inputs, kwargs)
        if numpys is None:
            raise
        try:
            raise numpys from error.__cause__
        finally:
            del numpys  # no cycle of error and frame keeps arrays alive


@entry
def operate(array_type: type[Array], ufunc: np.ufunc, inputs: Any) -> Any:
    """As `call_ufunc`, for operands that are lazy arrays and numbers of Python's."""
    if raising():
        return eager(ufunc, *inputs)
    if current_recorder().loose or is_any_picked(inputs):
        return call_ufunc(array_type, ufunc, "__call__", inputs, {})
    try:
        result = ufuncs.apply(array_type, ufunc, inputs, None)
    except Exception as error:
        if (arrays := without_objects(inputs)) is not None:
            return call_ufunc(array_type, ufunc, "__call__", arrays, {})
        numpys = ENTRIES.error_of(error, ufunc, inputs, {})
        if numpys is None:
            raise
        try:
            raise numpys from error.__cause__
        finally:
            del numpys  # no cycle of error and frame keeps arrays alive
    if result is NotImplemented:
        return call_ufunc(array_type, ufunc, "__call__", inputs, {})
    return result


@entry
def power(base: Array, row: str) -> Any:
    """The lazy power of floats or doubles that is a ``row`` of the op table; or NotImplemented."""
    if base.dtype.itemsize < 4 or raising() or is_any_picked((base,)) or base.is_loose:
        return NotImplemented
    return ufuncs.apply_row(type(base), row, (base,))


def _called(
    array_type: type[Array], ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]
) -> Any:
    if _has_subclass(inputs):
        return eager(getattr(ufunc, method), *inputs, **kwargs)
    if method == "at":  # of whose inputs a tuple is one index
        return _at(ufunc, inputs, kwargs)
    if _has_list(inputs):
        inputs = tuple(map(gathered, inputs))
    called, call = ufunc if method == "__call__" else None, getattr(ufunc, method)
    result = _of_any_extent(called, call, inputs, kwargs)
    if result is not NotImplemented:
        return result
    if method == "outer":
        a, b = map(array_of, inputs)
        return call_ufunc(array_type, ufunc, "__call__", (a[(..., *[None] * b.ndim)], b), kwargs)
    if method != "__call__":
        result = _reduced(ufunc, method, inputs, kwargs)
    elif not raising():
        result = _recorded(array_type, ufunc, inputs, kwargs)
    return eager(call, *inputs, **kwargs) if result is NotImplemented else result


def _reduced(ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """What ``ufunc.reduce``, ``reduceat`` or ``accumulate`` records, or NotImplemented."""
    if method != "reduce":
        record = ENTRIES.reduced_at if method == "reduceat" else ENTRIES.accumulated
        return NotImplemented if raising() else record(ufunc, *inputs, **kwargs)
    names = ("axis", "dtype", "out", "keepdims", "initial", "where")
    rest = {"axis": 0, **dict(zip(names, inputs[1:], strict=False)), **kwargs}
    if (rest.pop("out", None) or (None,))[0] is not None:
        return NotImplemented
    if rest.get("dtype", 0) is None:
        del rest["dtype"]
    if ufunc not in _REDUCE or ("dtype" in rest and ufunc not in (np.add, np.multiply)):
        return NotImplemented if raising() else ENTRIES.composed_reduce(ufunc, *inputs[:1], **rest)
    return call_function(_REDUCE[ufunc], inputs[:1], rest)


def _at(ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any]) -> None:
    """``ufunc.at``, recorded, or by NumPy on computed values."""
    if not isinstance(inputs[0], Array):
        ufunc.at(inputs[0], *(plain(v) for v in inputs[1:]), **kwargs)
    elif raising() or kwargs or not ENTRIES.applied_at(ufunc, *inputs):
        with recording:
            complete_together(inputs)
            inputs[0][...] = eager(as_changed(ufunc.at), *inputs, **kwargs)


def _with_arrays(ufunc: np.ufunc, inputs: Any) -> Any:
    """The lazy result of ``ufunc`` for followed numbers and NumPy's own arrays, made inside."""
    if not current_recorder().transparent or not all(map(_is_data, inputs)):
        return NotImplemented
    made = [
        Array.of_node(ufuncs.node_of(v), is_scalar=False) if type(v) is np.ndarray else v
        for v in inputs
    ]
    return call_ufunc(Array, ufunc, "__call__", made, {})


def _is_data(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and is_numeric(value.dtype)
    return type(value) is TracedScalar or isinstance(value, int | float | complex | np.generic)


TracedScalar.with_arrays = staticmethod(_with_arrays)  # type: ignore[method-assign]

_REDUCE = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip


def _recorded(array_type: type[Array], ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """The lazy result of a call of ``ufunc``, or NotImplemented where NumPy has to compute it."""
    if not kwargs:
        result = ufuncs.apply(array_type, ufunc, inputs, None)
        is_product = result is NotImplemented and ufunc.signature is not None and ufunc in TABLE
        return TABLE[ufunc](*inputs) if is_product else result
    if not kwargs.keys() <= {"out", "dtype", "where", "casting"} or ufunc.nout != 1:
        return NotImplemented
    out, where = kwargs.get("out"), kwargs.get("where", True)
    casting = kwargs.get("casting", "same_kind")
    told = out is None or kwargs.get("dtype") is not None  # what is cast but the result
    if (out is None and where is not True) or (casting != "same_kind" and told):
        return NotImplemented
    result = ufuncs.apply(array_type, ufunc, inputs, kwargs.get("dtype"))
    if result is NotImplemented and ufunc.signature is not None and kwargs.keys() <= {"out"}:
        result = TABLE[ufunc](*inputs) if ufunc in TABLE else result
    if result is NotImplemented or out is None:
        return result
    target = out[0] if isinstance(out, tuple) else out
    if not isinstance(target, array_type):
        return NotImplemented if where is not True else assign_result(target, result, casting)
    if where is not True:
        check_cast(result.dtype, target.dtype, casting)
        result = np.where(where, result.astype(target.dtype, copy=False), target)
    return assign_result(target, result, casting)


def check_cast(source: Any, target: Any, casting: str) -> None:
    """Raise NumPy's TypeError if ``casting`` forbids the cast."""
    if not np.can_cast(source, target, casting=casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast ufunc output from {source!r} to {target!r} with casting rule '{casting}'"
        )


def as_dtype(value: Any) -> Any:
    """The dtype of an array or number."""
    return value.dtype if hasattr(value, "dtype") else np.asarray(plain(value)).dtype


@entry
def assign_result(target: Any, result: Any, cast: Any = "same_kind") -> Any:
    """Write ``result`` into ``target`` under NumPy's casting rule; ``target`` is returned."""
    if isinstance(target, tuple):
        (target,) = target
    if cast:
        check_cast(as_dtype(result), target.dtype, cast)
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
    copies = tuple(None if t is None else np.array(plain(t)) for t in targets)
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


_error_state = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]
_known_state: tuple[Any, bool] = (None, False)


def raising() -> bool:
    """True under an ``errstate`` that raises or calls: kernels cannot, so NumPy computes."""
    global _known_state  # noqa: PLW0603 - remembers the answer for the state last seen
    state = _error_state.get(None) if _error_state is not None else object()
    known = _known_state  # another thread, with a state of its own, may exchange it
    if state is not known[0]:
        kinds = np.geterr().values()
        _known_state = known = (state, any(v not in ("warn", "ignore") for v in kinds))
    return known[1]
