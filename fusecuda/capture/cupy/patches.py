"""Patches: what is replaced in CuPy while a block is active, and put back afterwards.

Each stand-in asks the context whether it records. If it does not, what other contexts have pending
of the arrays at hand is completed, and CuPy goes on as ever. The first such call after the last
block puts everything back, so that blocks that follow each other cost little.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import cupy

from ...options import Options
from . import callables, gates, handlers, internals, operations, operators
from .internals import base, getitem, ndarray, setitem
from .operations import holds_array, is_basic, kernel_called
from .region import CupyRegion, region_in_force, when_idle
from .storages import complete, complete_array

Function = Callable[..., Any]

_lock = threading.RLock()
_active: set[weakref.ref[CupyRegion]] = set()  # regions of blocks; one may die without being closed
_applied = False  # the stand-ins are in place
_attributes: dict[str, Any] = {}
_functions: list[tuple[types.FunctionType, types.CodeType, types.CodeType]] = []
_MISSING = object()
_saved: dict[str, Any] = {}
_known: set[int] = set()


def open_region(options: Options, chosen: bool) -> CupyRegion:
    """The recorder of a new block around CuPy code, which is active from `open` to `close`."""
    region = CupyRegion(options, chosen)
    attach(region)
    return region


def attach(region: CupyRegion) -> None:
    """Have the stand-ins in place while ``region`` is open."""
    if region.captures:
        known_as = weakref.ref(region)
        region.on_open = functools.partial(apply, known_as)
        region.on_close = functools.partial(remove, known_as)


def apply(known_as: weakref.ref[CupyRegion]) -> None:
    """The block of a region is active; the first one puts the stand-ins in place."""
    global _applied  # noqa: PLW0603 - one state of the process, under the lock
    with _lock:
        _active.add(known_as)
        when_idle(None)
        known = len(_functions) if _applied else 0
        if not _attributes:
            _prepare()
        _prepare_modules()
        if _applied:
            for function, _, code in _functions[known:]:  # of modules imported meanwhile
                function.__code__ = code
            gates.close_again()
            return
        for name, value in _attributes.items():
            _saved.setdefault(name, vars(ndarray).get(name, _MISSING))  # put before, if interrupted
            setattr(ndarray, name, value)
        for function, _, code in _functions:
            function.__code__ = code
        gates.close()
        _applied = True


def remove(known_as: weakref.ref[CupyRegion]) -> None:
    """The block of a region is over.

    After the last one the next call of CuPy takes the stand-ins away, for blocks that follow each
    other need not put them in place again.
    """
    with _lock:
        _active.discard(known_as)
        if not active():
            when_idle(settle)


def settle() -> None:
    """Let CuPy be as it was, unless a block is active."""
    global _applied  # noqa: PLW0603 - as above
    with _lock:
        if active() or not _applied:
            return
        _applied = False  # first: what is interrupted is put in place anew
        when_idle(None)
        gates.open_()
        for name, value in _saved.items():
            if value is _MISSING:
                delattr(ndarray, name)
            else:
                setattr(ndarray, name, value)
        for function, code, _ in _functions:
            function.__code__ = code
        _saved.clear()


def active() -> int:
    """How many blocks are active in the process."""
    return sum(region() is not None for region in tuple(_active))


# --- the stand-ins


class _KernelHook:
    """`__cupy_override_elementwise_kernel__`, which CuPy looks for in each argument of a kernel.

    There is none where nothing is recorded: CuPy then goes on with the array, now computed.
    """

    def __get__(self, array: Any, owner: Any = None) -> Any:
        region = region_in_force()
        if region is not None:
            return functools.partial(kernel_called, region)
        if array is not None:
            try:
                complete_array(array)
            except Exception as error:  # raised here, it would be absence to CuPy 13's `hasattr`
                return functools.partial(_raise, error)
        raise AttributeError("__cupy_override_elementwise_kernel__")


def _raise(error: Exception, /, *args: Any, **kwargs: Any) -> Any:
    raise error


class _Completed:
    """An attribute that shows memory: what is pending is completed before it is looked at."""

    def __init__(self, name: str, escapes: bool) -> None:
        self.original = getattr(base, name)
        self.escapes = escapes

    def __get__(self, array: Any, owner: Any = None) -> Any:
        if array is None:
            return self
        region = region_in_force()
        if region is not None:
            region.look()
            region.flush()
            complete_array(array)
            if self.escapes:
                region.escape(array)
        else:
            complete_array(array)
        return self.original.__get__(array)

    def __set__(self, array: Any, value: Any) -> None:
        self.__get__(array)
        self.original.__set__(array, value)


def _getitem(self: Any, key: Any) -> Any:
    region = region_in_force()
    if is_basic(key):  # CuPy makes the view itself
        return getitem(self, key)
    if region is not None:
        return operations.getitem(region, self, key)
    complete(self, key)
    return getitem(self, key)


def _setitem(self: Any, key: Any, value: Any) -> None:
    region = region_in_force()
    if region is not None:
        operations.setitem(region, self, key, value)
        return
    complete(self, key, value)
    setitem(self, key, value)


def _recorded(
    name: str, function: Function, original: Function, names: tuple[str, ...], is_view: bool = False
) -> Function:
    """A stand-in that records ``function``; ``names`` are those of positional parameters."""
    is_itself = handlers.ITSELF.get(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is None:
            complete(args, kwargs)
            return original(*args, **kwargs)
        if is_view and not kwargs and args[0]._c_contiguous:
            return original(*args)
        given, named = args, kwargs
        if len(args) > 2 and names:
            named = {**dict(zip(names[1:], args[2:], strict=False)), **kwargs}
            given = args[:2]
        result = region.record(function, given, named)
        if result is NotImplemented:
            return region.native(original, args, kwargs, name)
        if is_itself is not None and type(args[0]) in internals.OURS and is_itself(*args, **kwargs):
            return args[0]
        out = named.get("out")
        return result if out is None else out

    return call


def _flushing(name: str, original: Function, escapes: bool = False) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is None:
            complete(args, kwargs)
            return original(*args, **kwargs)
        result = region.native(original, args, kwargs, name)
        if escapes:
            region.escape(args[0])
        return result

    return call


def _creating(name: str, original: Function) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is None:
            complete(args, kwargs)
            return original(*args, **kwargs)
        if name in _CONVERSIONS and args and type(args[0]) in internals.OURS:
            lies_so = name == "ascontiguousarray" and args[0].flags.c_contiguous
            how = "asarray" if lies_so else name
            converted = region.record(handlers.convert, (args[0], how, args[1:]), kwargs)
            if converted is not NotImplemented:
                return args[0] if converted is None else converted
        return region.native(original, args, kwargs, name, flush=holds_array((args, kwargs)))

    return call


def _peeking(original: Function) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is not None:
            region.look()
        return original(*args, **kwargs)

    return call


_CONVERSIONS = frozenset({"array", "asarray", "asanyarray", "ascontiguousarray"})


# --- what is replaced

_ESCAPING = frozenset({"data", "__cuda_array_interface__", "__dlpack__", "toDlpack"})
_UNTOUCHED = internals.names(
    """
    __new__ __init__ __class_getitem__ __doc__ __hash__ __pyx_vtable__ __array_priority__
    __array_ufunc__ __len__ __iter__ _check_kind_sort _set_shape_and_strides __delitem__
    __array_function__
    """
)
_SKIPPED = (internals.LAYOUT | _UNTOUCHED).difference(internals.REPLACED)
_OPERATORS = frozenset(  # CuPy makes ufunc calls of these, which find the hook
    f"__{prefix}{name}__"
    for name in (
        *("mod", "pow", "lshift", "rshift", "and", "xor", "or", "floordiv", "divmod"),
        *("pos", "invert"),
        *("div",),
    )
    for prefix in ("", "r", "i")
)


def _prepare() -> None:
    """Work out, once, every stand-in."""
    _attributes["__cupy_override_elementwise_kernel__"] = _KernelHook()
    _attributes["__getitem__"] = _getitem
    _attributes["__setitem__"] = _setitem
    _attributes.update(internals.REPLACED)
    _attributes.update(operators.stand_ins())
    for name, original in vars(base).items():
        if name in _SKIPPED or name in _OPERATORS or name in _attributes:
            continue
        kind = callables.class_of_method(name)
        escapes = name in _ESCAPING
        if kind == "recorded":
            names, function = handlers.METHODS[name]
            is_view = name in ("reshape", "ravel")
            _attributes[name] = _recorded(name, function, original, names, is_view)
        elif kind == "flushing":
            if isinstance(original, types.GetSetDescriptorType):
                _attributes[name] = _Completed(name, escapes)
            else:
                _attributes[name] = _flushing(name, original, escapes)
    for name in dir(cupy):
        if not name.startswith("_"):  # CuPy 13's `__getattr__` is asked for names that nobody has
            _prepare_function(name, getattr(cupy, name))


_seen_modules: set[str] = set()
_module_count = 0


def _prepare_modules() -> None:
    """Work out the stand-ins for the public functions of modules imported since the last time."""
    global _module_count  # noqa: PLW0603
    if len(sys.modules) == _module_count:
        return
    _module_count = len(sys.modules)
    names = [n for n in tuple(sys.modules) if n.startswith(_MODULES) and "._" not in n]
    for module in names:
        if module in _seen_modules:
            continue
        _seen_modules.add(module)
        for name, function in tuple(vars(sys.modules[module]).items()):
            if not name.startswith("_"):
                _prepare_function(f"{module.removeprefix('cupy.')}.{name}", function)


_MODULES = ("cupy.linalg", "cupy.fft", "cupy.random", "cupy.polynomial", "cupyx")


def _prepare_function(name: str, function: Any) -> None:
    kind = callables.class_of(name)
    if not isinstance(function, types.FunctionType) or kind in ("view", "free", "composed"):
        return
    if function.__closure__ or not function.__module__.startswith("cupy"):
        return
    if id(function) in _known:
        return
    _known.add(id(function))
    original = internals.twin(function)
    if kind == "recorded":
        target = _recorded(name, handlers.RECORDED[name], original, _positional(function)[1:])
    elif kind == "creating":
        target = _creating(name, original)
    elif kind == "peeking":
        target = _peeking(original)
    else:
        target = _flushing(name, original)
    _functions.append((function, function.__code__, internals.stand_in(function, target)))


def _positional(function: Function) -> tuple[str, ...]:
    """The parameters that arguments by position are; none where there may be any number of them."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return ()
    return tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)


__all__ = ["active", "apply", "open_region", "remove"]
