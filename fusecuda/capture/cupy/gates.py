"""Gates: native entry points that read arrays' pointers themselves, closed while blocks are active.

A call of a raw kernel, of a function of a module, of a reduction kernel or of a ufunc's methods
first computes all that is pending in this context, for a kernel may reach memory that is not among
its arguments; then CuPy runs it. Changes of stream and device, and waiting for them, do the same.
Methods of random generators complete the arrays that they are given.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import cupy
from cupy._core import _gufuncs, _reduction, fusion

from . import handlers, internals
from .operations import holds_array, kernel_called
from .region import region_in_force
from .storages import complete

_CALLED = (
    cupy.RawKernel,
    cupy.cuda.Function,
    cupy.ReductionKernel,
    _reduction._SimpleReductionKernel,
)
_METHODS: tuple[tuple[Any, str], ...] = (
    (cupy.cuda.Function, "linear_launch"),
    *((cupy.ufunc, name) for name in ("reduce", "accumulate", "reduceat", "at", "outer")),
    (_gufuncs._GUFunc, "__call__"),
    (fusion.Fusion, "__call__"),
    *((cupy.flatiter, name) for name in ("__getitem__", "__setitem__", "__iter__", "__next__")),
    *((cupy.cuda.Stream, name) for name in ("use", "__enter__", "__exit__", "synchronize")),
    *((cupy.cuda.Stream, name) for name in ("begin_capture", "end_capture")),
    *((cupy.cuda.Stream, name) for name in ("record", "wait_event")),
    *((cupy.cuda.Stream, name) for name in ("launch_host_func", "add_callback")),
    *((cupy.cuda.Graph, name) for name in ("launch", "upload")),
    *((cupy.cuda.Event, name) for name in ("record", "synchronize")),
    *((cupy.cuda.Device, name) for name in ("use", "synchronize", "__enter__", "__exit__")),
)
_WAITING = ("deviceSynchronize", "streamSynchronize", "eventSynchronize")  # of the runtime
_GENERATORS = (cupy.random.RandomState, cupy.random.Generator)
_swaps: list[internals.Swap | _Exchanged] = []


class _Exchanged:
    """A function of a module, whoever has put it there, between `put` and `undo` in a gate."""

    def __init__(
        self, owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        self.owner, self.name, self.around = owner, name, around
        self.original: Any = None
        self.function: Any = None

    def put(self) -> None:
        found = getattr(self.owner, self.name)
        if found is not self.function:
            self.original, self.function = found, self.around(found)
            setattr(self.owner, self.name, self.function)

    def undo(self) -> None:
        if getattr(self.owner, self.name) is self.function:  # else another one's is there now
            setattr(self.owner, self.name, self.original)


def close() -> None:
    """Put the gates up."""
    if not _swaps:
        _prepare()
    for swap in _swaps:
        swap.put()


def close_again() -> None:
    """Put up those in whose place others have put functions meanwhile."""
    for swap in _swaps:
        if isinstance(swap, _Exchanged):
            swap.put()


def open_() -> None:
    """Take them away."""
    for swap in _swaps:
        swap.undo()


def _prepare() -> None:
    swaps: list[internals.Swap | _Exchanged] = []  # all of them or none
    for kernel_type in (cupy.ufunc, *_CALLED):
        original = internals.call_of(kernel_type)
        stand_in = _ufunc(original) if kernel_type is cupy.ufunc else _gate(original)
        swaps.append(internals.Swap(kernel_type, "__call__", stand_in))
    elementwise = _without_arrays(internals.call_of(cupy.ElementwiseKernel))
    swaps.append(internals.Swap(cupy.ElementwiseKernel, "__call__", elementwise))
    view = _of_another_class(internals.base.view)
    swaps.append(internals.Swap(internals.base, "view", view))
    for name in _WAITING:
        swaps.append(_Exchanged(cupy.cuda.runtime, name, _flushing))
    for name, around in (("set_allocator", _flushing), ("using_allocator", _allocating)):
        swaps.append(_Exchanged(cupy.cuda, name, around))
    seen = set()
    for owner, name in _METHODS:
        home = next((c for c in owner.__mro__ if name in vars(c)), object)
        if home is not object and (home, name) not in seen:
            seen.add((home, name))
            original = vars(home)[name]
            stand_in = _product(original) if owner is _gufuncs._GUFunc else _gate(original)
            swaps.append(internals.Swap(home, name, stand_in))
    for owner in _GENERATORS:
        for name, original in tuple(vars(owner).items()):
            if callable(original) and not name.startswith("_"):
                swaps.append(internals.Swap(owner, name, _drawing(original)))
    _swaps.extend(swaps)


def _ufunc(original: Callable[..., Any]) -> Callable[..., Any]:
    """Calls of ufuncs: those that have an array anywhere are the region's."""

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is None:
            complete(args, kwargs)
        elif (
            (args and type(args[0]) in internals.OURS)
            or _has_array(args)
            or (kwargs and _has_array(kwargs.values()))
        ):
            return kernel_called(region, self, *args, **kwargs)
        return original(self, *args, **kwargs)

    return call


def _has_array(values: Iterable[Any]) -> bool:
    return any(isinstance(value, internals.ndarray) for value in values)


def _product(original: Callable[..., Any]) -> Callable[..., Any]:
    """Calls of generalized ufuncs: `cupy.matmul` is recorded."""
    gate = _gate(original)

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is not None and self is cupy.matmul and len(args) == 2 and not kwargs:
            result = region.record(handlers.RECORDED["matmul"], args, {})
            if result is not NotImplemented:
                return result
        return gate(self, *args, **kwargs)

    return call


def _without_arrays(original: Callable[..., Any]) -> Callable[..., Any]:
    """Calls of elementwise kernels: arrays that they take speak for themselves."""
    gate = _gate(original)

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        taken = _has_array(args) or _has_array(kwargs.values())
        return (original if taken else gate)(self, *args, **kwargs)

    return call


def _of_another_class(original: Callable[..., Any]) -> Callable[..., Any]:
    """Views of a user's class: what is pending knows nothing of these."""
    flushing = _flushing(original)

    def view(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        other = any(isinstance(a, type) and issubclass(a, internals.base) for a in given)
        return (flushing if other else original)(self, *args, **kwargs)

    return view


def _flushing(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function before which all that is pending is computed."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is None:
            complete(args, kwargs)
        else:
            region.flush()
        return original(*args, **kwargs)

    return call


def _allocating(original: Callable[..., Any]) -> Callable[..., Any]:
    """A context of another allocator: what is recorded in it is computed in it."""

    @contextlib.contextmanager
    def using(*args: Any, **kwargs: Any) -> Iterator[None]:
        flush = _flushing(_nothing)
        flush()
        with original(*args, **kwargs):
            try:
                yield
            finally:
                flush()

    return using


def _nothing() -> None:
    """What is called for what comes before it."""


def _drawing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Methods of random generators: what they draw is new, only arrays given are completed."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is None:
            complete(args, kwargs)
            return original(*args, **kwargs)
        return region.native(original, args, kwargs, flush=holds_array((args, kwargs)))

    return call


def _gate(original: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(original, "__name__", "a kernel")

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        region = region_in_force()
        if region is None:
            complete(args, kwargs)
            return original(self, *args, **kwargs)
        return region.native(original, (self, *args), kwargs, f"{type(self).__name__}.{name}")

    return types.FunctionType(
        call.__code__, call.__globals__, name, call.__defaults__, call.__closure__
    )
