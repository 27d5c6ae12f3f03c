"""NumPy's functions on lazy arrays: recorded by the handlers of the dispatch table, or computed.

What is not in the table runs as it would without us: see `computed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...graph.dtypes import is_numeric
from ..record.flight import recording
from ..record.numbers import TracedScalar
from ..record.recorder import current_recorder
from ..record.structure import SEQUENCES
from . import ufuncs
from .array import Array
from .computed import as_changed, assign_result, check_cast, eager, loosely
from .gathering import gathered, takes_arrays, without_objects
from .opaque import StandIn
from .table import ENTRIES, TABLE, entry, place_of_out, positional_names
from .values import array_of, complete_together, is_any_picked, mask_of, plain

# What writes to its first argument, and could not write to what NumPy is given of ours.
WRITERS = frozenset((np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal))
_OUT_OR_DTYPE = (np.concatenate, np.stack)  # which take one of the two
_BY_ELEMENT = WRITERS - {np.copyto}  # which write what is in a list one by one


@entry
def call_function(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of NumPy's ``func``: recorded if the table has it, else computed by NumPy."""
    is_odd = _has_subclass(args) or (kwargs and _has_subclass(kwargs.values()))
    if is_odd and func not in WRITERS:
        return eager(func, *args, **kwargs)
    if _has_list(args) and takes_arrays(func) and func not in _BY_ELEMENT:
        args = tuple(map(gathered, args))
    result = _of_any_extent(func, func, args, kwargs)
    if result is not NotImplemented:
        return result
    if len(args) > (place := place_of_out(func)):
        named = zip(positional_names(func) or (), args, strict=False)
        kwargs = {**kwargs, **dict(list(named)[place:])}
        args = args[:place]
    out = kwargs.get("out")
    handler = _handler_of(func, kwargs)
    if handler is not None and (func in WRITERS or not raising()):
        rest = {k: v for k, v in kwargs.items() if k != "out"}
        try:
            result = handler(*args, **rest)
        except (TypeError, OverflowError):
            if func in WRITERS:
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


def _handler_of(func: Any, kwargs: dict[str, Any]) -> Any:
    """What the table has for a function, None where NumPy takes no such arguments."""
    both = kwargs.get("out") is not None and kwargs.get("dtype") is not None
    return None if both and func in _OUT_OR_DTYPE else TABLE.get(func)


def _of_any_extent(known: Any, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What is made of picks and loose arrays as they are, else NotImplemented."""
    if is_any_picked(args) and not raising():
        result = ENTRIES.of_picked(known, args, kwargs)
        if result is not NotImplemented:
            return result
    return loosely(func, args, kwargs) if current_recorder().loose else NotImplemented


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
    if casting not in ("safe", "same_kind", "unsafe"):  # operands may not be promoted then
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
        result = np.where(mask_of(where), result.astype(target.dtype, copy=False), target)
    return assign_result(target, result, casting)


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
