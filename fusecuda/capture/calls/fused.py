"""fused: regions as a block, and functions that are traced once and replayed."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Sequence
from contextvars import Token
from typing import Any, Self

import numpy as np

from ...engine import Executable
from ...errors import NotFusedError
from ...options import Options, default_device
from ..arrays.array import Array
from ..arrays.dispatch import raising
from ..record import rest as patience
from ..record.block import Region
from ..record.numbers import TracedScalar
from ..record.recorder import Recorder, recorder_in_force
from .call import Trace, Tracer, Unfollowed
from .guard import MISS
from .reads import Reads, is_pure, reads_of

_ENTRIES_LIMIT = 64  # traces kept for one signature of shapes
_SIGNATURES_LIMIT = 1024
_SMALL = 1 << 18  # bytes below which recording at each call costs more than fusion saves
_ndarray = np.ndarray
Replay = Callable[[tuple[Any, ...]], Any]


class fused:  # noqa: N801 - reads as a keyword
    """``with fused() as region``, ``@fused``, ``fused(fn, **options)`` or ``@fused(**options)``.

    As a block, operations on lazy arrays (`fusecuda.Array`) are computed together when it is left.
    As a decorator it makes a `FusedFunction`: NumPy arrays in, NumPy arrays out. Options:
    ``device``, ``contract``, ``strict``, ``streams``.
    """

    launches: int
    _options: Options
    _chosen: bool  # the device was named; else it is that of the arrays

    def __new__(cls, function: Any = None, **options: Any) -> Any:
        device_chosen = "device" in options or "FUSECUDA_DEVICE" in os.environ
        options.setdefault("device", default_device())
        chosen = Options(**options)
        if function is not None:
            if not callable(function):
                raise TypeError(f"fused takes a function, not a {type(function).__name__}")
            return FusedFunction(function, chosen, device_chosen)
        region = super().__new__(cls)
        region.launches = 0
        region._options = chosen
        region._chosen = device_chosen
        region._nested = []
        region._remarks = []
        return region

    def __call__(self, function: Callable[..., Any]) -> FusedFunction:
        return FusedFunction(function, self._options, self._chosen)

    def __enter__(self) -> Self:
        outer = recorder_in_force.get()
        token: Token[Recorder] | None = None
        if not isinstance(outer, Region):  # a nested block joins the outer one
            outer.flush()
            if not patience.rests(site := patience.site_of(sys._getframe(1))):
                outer = _new_region(self._options, self._chosen)
                outer.site = site
                token = recorder_in_force.set(outer)
        self._nested.append((token, outer, outer.launches, len(outer.reports)))
        return self

    def __exit__(self, *exc: object) -> None:
        token, recorder, before, reports = self._nested.pop()
        if token is not None:
            recorder_in_force.reset(token)
        recorder.flush()
        self.launches = recorder.launches - before
        self._reports = recorder.reports[reports:]
        passed = not isinstance(recorder, Region)
        self._remarks = [_PASSED] if passed else [_UNRECORDED % n for n in recorder.unrecorded]
        if token is not None:
            recorder.close()
            patience.left(recorder.site, recorder.gained)
            if recorder.faults and exc[0] is None:
                raise recorder.faults[0]

    def explain(self) -> str:
        """Text: which operations shared a kernel, each refusal with its reason, bytes saved."""
        texts = [executable.explain() for executable in getattr(self, "_reports", [])]
        return "\n".join(texts + self._remarks) or "nothing was recorded\n"

    _nested: list[Any]
    _reports: list[Executable]
    _remarks: list[str]


_UNRECORDED = "not recorded: %s has no graph meaning\n"
_PASSED = f"passed through: {patience.ATTEMPTS} times it recorded one operation, or tiny arrays\n"


def _new_region(options: Options, chosen: bool) -> Region:
    """The recorder of a new block; it takes CuPy arrays too if CuPy has been imported."""
    if "cupy" not in sys.modules:
        return Region(options)
    from ..cupy.patches import open_region  # noqa: PLC0415 - needs CuPy

    return open_region(options, chosen)


class FusedFunction:
    """A function whose array operations are recorded once and replayed as fused kernels.

    A trace is replayed only if shapes, dtypes, layouts, overlap of written arguments, and all that
    the function read besides (globals, closures, scalars it looked at) are as they were; otherwise
    it is recorded anew. `explain` tells what happened in the last call that was not a replay.
    """

    __name__: str

    def __init__(
        self, function: Callable[..., Any], options: Options, device_chosen: bool = True
    ) -> None:
        self._chosen = device_chosen
        self.__name__ = type(function).__name__
        functools.update_wrapper(self, function)
        while isinstance(function, FusedFunction):
            function = function.function
        self.function: Any = function
        self.options = options
        self.traces = 0  # how often the function has been recorded
        self._newest: Replay = _never
        self._replays: dict[Any, list[Replay]] = {}
        self._plain: dict[Any, str] = {}  # signatures that run unfused, and why
        self._orders: dict[Any, tuple[Any, list[tuple[str, Any]] | None]] = {}
        self._inner: dict[Any, FusedFunction] = {}
        self._reads: Reads | None = None
        self._why = "not called yet"
        self._last: Executable | None = None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return self._keywords(args, kwargs)
        result = self._newest(args)
        return self._search(args) if result is MISS else result

    def _search(self, args: tuple[Any, ...]) -> Any:
        """The result by an older trace that holds, or else by recording."""
        key = tuple([a.shape if type(a) is _ndarray else type(a) for a in args])
        if key in self._plain:
            return self.function(*args)
        replays = self._replays.get(key, ())
        for replay in replays:
            if replay is not self._newest:
                result = replay(args)
                if result is not MISS:
                    self._newest = replay
                    return result
        return self._record(key, args)

    def _record(self, key: Any, args: tuple[Any, ...]) -> Any:
        if "cupy" in sys.modules and _has_cupy(args):
            return self._on_cupy(key, args)
        if isinstance(recorder_in_force.get(), Trace) or any(map(_has_lazy, args)):
            return self.function(*args)  # joins what is being recorded
        if raising():
            why = "numpy.errstate asks for errors or calls on floating-point faults"
            return self._unfused(None, why, args)
        tracer = Tracer(self, args, self._read())
        if tracer.unfusable:
            return self._unfused(key, tracer.unfusable, args)
        try:
            result = tracer.run()
        except Unfollowed as unfollowed:
            why = str(unfollowed)
        else:
            self.traces += 1
            self._why = tracer.why
            self._last = tracer.executable
            if tracer.replay is not None:
                self._keep(key, tracer.replay)
            elif sum(a.nbytes for a in tracer.arrays) < _SMALL and not self.options.strict:
                self._set_plain(key, f"{tracer.why}, which does not pay for small arrays")
            return result
        return self._unfused(key, why, args)

    def _on_cupy(self, key: Any, args: tuple[Any, ...]) -> Any:
        """CuPy arrays in, CuPy arrays out: the call is recorded as a block is."""
        if isinstance(recorder_in_force.get(), Region):
            return self.function(*args)  # joins what is being recorded
        region = _new_region(self.options, self._chosen)
        token = recorder_in_force.set(region)
        call = _cupy_call(region, self.function, args, self._read())
        replay = None
        try:
            result = call.run()
            replay = call.replay(result)
        finally:
            recorder_in_force.reset(token)
            region.flush()
            region.close()
            call.write_back()
        if region.faults:
            raise region.faults[0]
        self.traces += 1
        self._why = f"recorded anew at each call: {call.why}"
        if replay is not None:
            self._why = "replayed while its conditions hold"
            self._keep(key, replay)
        self._last = region.reports[-1] if region.reports else None
        return call.finished(result)

    def _keep(self, key: Any, replay: Replay) -> None:
        if len(self._replays) >= _SIGNATURES_LIMIT:
            self._replays.clear()
        replays = self._replays.setdefault(key, [])
        replays.insert(0, replay)
        del replays[_ENTRIES_LIMIT:]
        self._newest = replay

    def _set_plain(self, key: Any, why: str) -> None:
        if len(self._plain) >= _SIGNATURES_LIMIT:
            self._plain.clear()
        self._plain[key] = why
        self._why = f"runs unfused: {why}"

    def _read(self) -> Reads:
        """What the function reads, looked up again only if some of it has changed."""
        function = self.function
        if not isinstance(function, types.ModuleType) and is_pure(function):
            return Reads()
        if not isinstance(function, types.FunctionType):
            return Reads(opaque=f"a {type(function).__name__} is not a Python function")
        if self._reads is None or not self._reads.unchanged():
            self._reads = reads_of(function)
        return self._reads

    def _unfused(self, key: Any, why: str, args: tuple[Any, ...]) -> Any:
        if self.options.strict:
            raise NotFusedError(f"{self.__name__} cannot be fused: {why}")
        self._last = None
        if key is None:
            self._why = f"ran unfused: {why}"
        else:
            self._set_plain(key, why)
        return self.function(*args)

    # --- keyword arguments

    def _keywords(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Keyword arguments are turned into positional ones."""
        key = (len(args), *kwargs)
        defaults = getattr(self.function, "__defaults__", None)
        known, order = self._orders.get(key, (MISS, None))
        if known is not defaults:
            order = self._order(len(args), kwargs)
            self._orders[key] = defaults, order
        if order is None:
            return self._by_name(args, kwargs)
        values = [kwargs[v] if kind == "keyword" else v for kind, v in order]
        return self(*args, *values)

    def _order(self, count: int, kwargs: dict[str, Any]) -> list[tuple[str, Any]] | None:
        """What follows ``count`` positional arguments; None if names have to stay names."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return None
        rest = parameters[count:]
        if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in (*parameters[:count], *rest)):
            return None
        if {p.name for p in rest} < set(kwargs) or not set(kwargs) <= {p.name for p in rest}:
            return None
        order: list[tuple[str, Any]] = []
        for p in rest:
            if p.name in kwargs:
                order.append(("keyword", p.name))
            elif p.default is p.empty:
                return None
            else:
                order.append(("default", p.default))
        return order

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of positional arguments that passes the last ones on by name."""
        names, count, function = tuple(kwargs), len(args), self.function
        inner = self._inner.get((count, names))
        if inner is None:

            def call(*values: Any) -> Any:
                return function(*values[:count], **dict(zip(names, values[count:], strict=True)))

            inner = self._inner[count, names] = FusedFunction(call, self.options, self._chosen)
            inner.__name__ = self.__name__
        result = inner(*args, *kwargs.values())
        self._why, self._last = inner._why, inner._last
        return result

    def explain(self) -> str:
        """Text on the last recorded call: its plan, and why it is or is not replayed."""
        plan = self._last.explain() if self._last else ""
        return f"{self.__name__}: {self._why}\n{plan}"


def _cupy_call(region: Region, function: Any, args: tuple[Any, ...], reads: Reads) -> Any:
    from ..cupy.calls import Call  # noqa: PLC0415 - needs CuPy

    return Call(region, function, args, reads)  # type: ignore[arg-type]


def _has_cupy(value: Any) -> bool:
    """True if there is a CuPy array in ``value``."""
    if type(value) is dict:
        return any(map(_has_cupy, value.values()))
    if type(value) in (list, tuple):
        return any(map(_has_cupy, value))
    return isinstance(value, sys.modules["cupy"].ndarray)


def _never(args: tuple[Any, ...]) -> Any:
    return MISS


def _has_lazy(value: Any) -> bool:
    if isinstance(value, Array) or type(value) is TracedScalar:
        return True
    if type(value) is dict:
        return any(map(_has_lazy, value.values()))
    return type(value) in (list, tuple) and any(map(_has_lazy, value))


def lower_function(function: Any, args: Sequence[Any], options: Options) -> Executable:
    """The executable of one trace of ``function`` with ``args``, callable, not yet run."""
    owner = FusedFunction(function, options)
    tracer = Tracer(owner, tuple(args), owner._read(), execute=False)
    if tracer.unfusable or raising():
        raise NotFusedError(f"{owner.__name__} cannot be fused: {tracer.unfusable or 'errstate'}")
    try:
        tracer.run()
    except Unfollowed as unfollowed:
        raise NotFusedError(f"{owner.__name__} is no single graph: {unfollowed}") from None
    replay, executable = tracer.replay, tracer.executable
    assert replay is not None and executable is not None

    def call(*given: Any) -> Any:
        result = replay(given)
        if result is MISS:
            wanted, got = _signature(args), _signature(given)
            if got == wanted:
                got += " that share other memory, have other strides, or with what it read changed"
            raise TypeError(f"{owner.__name__} was lowered for {wanted}, not {got}")
        return result

    return dataclasses.replace(executable, caller=call)


def _signature(args: Sequence[Any]) -> str:
    texts = (f"{a.dtype}{list(a.shape)}" if hasattr(a, "shape") else type(a).__name__ for a in args)
    return f"({', '.join(texts)})"


__all__ = ["FusedFunction", "fused"]
