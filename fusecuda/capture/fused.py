"""fused: regions as a block, and functions that are traced once and replayed."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Sequence
from contextvars import Token
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..engine import Executable
from ..errors import NotFusedError
from ..options import Options, default_device
from .array import Array, recorder_in_force
from .functions import raising
from .reads import Reads, reads_of, rebound
from .recorder import Leaf, Recorder, Storage, executable_for
from .scalar import TracedScalar, value_of
from .view import View

NDArray = np.ndarray[Any, Any]
_ENTRIES_LIMIT = 64  # traces kept for one signature of shapes


class fused:  # noqa: N801 - reads as a keyword
    """``with fused() as region``, ``@fused``, ``fused(fn, **options)`` or ``@fused(**options)``.

    As a block, operations on lazy arrays (`fusecuda.Array`) are computed together when it is left.
    As a decorator it makes a `FusedFunction`: NumPy arrays in, NumPy arrays out. Options: ``device``,
    ``contract``, ``strict``, ``streams``.
    """

    launches: int
    _options: Options

    def __new__(cls, function: Any = None, **options: Any) -> Any:
        options.setdefault("device", default_device())
        chosen = Options(**options)
        if function is not None:
            if not callable(function):
                raise TypeError(f"fused takes a function, not a {type(function).__name__}")
            return FusedFunction(function, chosen)
        region = super().__new__(cls)
        region.launches = 0
        region._options = chosen
        region._nested = []
        return region

    def __call__(self, function: Callable[..., Any]) -> FusedFunction:
        return FusedFunction(function, self._options)

    def __enter__(self) -> Self:
        outer = recorder_in_force.get()
        token: Token[Recorder] | None = None
        if not isinstance(outer, _Region):  # a nested block joins the outer one
            outer.flush()
            region = _Region(self._options)
            token = recorder_in_force.set(region)
            outer = region
        self._nested.append((token, outer, outer.launches, len(outer.reports)))
        return self

    def __exit__(self, *exc: object) -> None:
        token, recorder, before, reports = self._nested.pop()
        if token is not None:
            recorder_in_force.reset(token)
        recorder.flush()
        self.launches = recorder.launches - before
        self._reports = recorder.reports[reports:]

    def explain(self) -> str:
        """Text: which operations shared a kernel, each refusal with its reason, bytes saved."""
        return "\n".join(getattr(self, "_reports", [])) or "nothing was recorded\n"

    _nested: list[Any]
    _reports: list[str]


class _Region(Recorder):
    """The recorder of a ``with fused()`` block."""


class _Trace(Recorder):
    """The recorder of one call of a fused function; arguments are storages that it was given."""

    def _flush_at_period(self) -> None:
        """A trace is not cut: it becomes one plan, whatever its length."""
        self._sequence.clear()


@dataclass(slots=True)
class _Argument:
    """One array argument (or array read by name) of a trace, and the guard on it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool


@dataclass(slots=True)
class _Entry:
    """One trace: the conditions under which it holds, and what replays it."""

    kinds: tuple[Any, ...]  # for each argument: _Argument, a type (scalar), or a literal
    observed: dict[int, Any]  # scalar argument -> the value that the trace depends on
    reads: Reads
    arrays: list[_Argument]  # of the arrays read by name
    executable: Executable
    feed: list[Any]  # for each leaf: (0, argument), (1, read array), (2, recipe), (3, constant)
    targets: list[int]  # the leaves that are written to
    result: _Result
    overlaps: tuple[tuple[int, int, int], ...] | None  # if arguments are written to


class FusedFunction:
    """A function whose array operations are recorded once and replayed as fused kernels.

    A trace is replayed only if shapes, dtypes, layouts, overlap of written arguments, and all that
    the function read besides (globals, closures, scalars it looked at) are as they were; otherwise
    it is recorded anew. `explain` tells what happened in the last call.
    """

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        functools.update_wrapper(self, function)
        while isinstance(function, FusedFunction):
            function = function.function
        self.function: Any = function
        self.options = options
        self.traces = 0  # how often the function has been recorded
        self._entries: dict[Any, list[_Entry]] = {}
        self._why = "not called yet"
        self._last: Executable | None = None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            key = tuple([a.shape if type(a) is _ndarray else type(a) for a in args])
            entries = self._entries.get(key)
            if entries is not None:
                for entry in entries:
                    if _holds(entry, args):
                        return _replay(entry, args)
            return self._slow(key, args)
        return self._keywords(args, kwargs)

    def _keywords(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Keyword arguments are turned into positional ones where the signature allows it."""
        import inspect  # noqa: PLC0415

        try:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
        except ValueError:
            return self.function(*args, **kwargs)
        bound.apply_defaults()
        if not bound.kwargs:
            return self(*bound.args)
        names = sorted(bound.kwargs)
        positional = bound.args
        count = len(positional)
        if not hasattr(self, "_by_names"):
            self._by_names: dict[tuple[int, tuple[str, ...]], FusedFunction] = {}
        inner = self._by_names.get((count, tuple(names)))
        if inner is None:
            function = self.function

            def call(*values: Any) -> Any:
                return function(*values[:count], **dict(zip(names, values[count:], strict=True)))

            inner = self._by_names[count, tuple(names)] = FusedFunction(call, self.options)
        return inner(*positional, *(bound.kwargs[n] for n in names))

    def _slow(self, key: Any, args: tuple[Any, ...]) -> Any:
        why = _unfusable(args)
        if why:
            return self._unfused(why, args)
        if any(_has_lazy(a) for a in args) or isinstance(recorder_in_force.get(), _Trace):
            return self.function(*args)  # joins what is being recorded
        tracer = _Tracer(self, args)
        result, entry = tracer.run()
        self.traces += 1
        self._why = tracer.why
        self._last = tracer.executable
        if entry is not None:
            entries = self._entries.setdefault(key, [])
            entries.insert(0, entry)
            del entries[_ENTRIES_LIMIT:]
        return result

    def _unfused(self, why: str, args: tuple[Any, ...]) -> Any:
        if self.options.strict:
            raise NotFusedError(f"{self.__name__} cannot be fused: {why}")
        self._why = f"ran unfused: {why}"
        return self.function(*args)

    def explain(self) -> str:
        """Text on the last recorded call: its plan, and why it is or is not replayed."""
        plan = self._last.explain() if self._last else ""
        return f"{self.__name__}: {self._why}\n{plan}"

    __name__: str


_ndarray = np.ndarray


def _unfusable(args: Sequence[Any]) -> str:
    """Why a call with ``args`` runs unfused, or an empty string."""
    if raising():
        return "numpy.errstate asks for errors or calls on floating-point faults"
    for a in args:
        if type(a) is np.ndarray and a.dtype.hasobject:
            return "an argument has dtype object"
        if isinstance(a, np.ndarray) and type(a) is not np.ndarray:
            return f"an argument is a {type(a).__name__}"
    return ""


def _has_lazy(value: Any) -> bool:
    if isinstance(value, Array | TracedScalar):
        return True
    return type(value) in (list, tuple) and any(map(_has_lazy, value))


def lower_function(function: Any, args: Sequence[Any], options: Options) -> Executable:
    """The executable of one trace of ``function`` with ``args``, callable, not yet run."""
    owner = FusedFunction(function, options)
    why = _unfusable(args)
    if why:
        raise NotFusedError(f"{owner.__name__} cannot be fused: {why}")
    entry, _ = _Tracer(owner, tuple(args), execute=False).run()
    if any(f is None for f in entry.feed):
        raise NotFusedError("arguments that overlap cannot be lowered apart from a call")

    def call(*given: Any) -> Any:
        if len(given) != len(args) or not _fits(entry, given):
            raise TypeError(f"{owner.__name__} was lowered for {_signature(args)}, not {_signature(given)}")
        return _replay(entry, given)

    return dataclasses.replace(entry.executable, caller=call)


def _fits(entry: _Entry, args: Sequence[Any]) -> bool:
    return all(
        (a.shape, a.strides, a.dtype) == (k.shape, k.strides, k.dtype)
        if type(k) is _Argument and type(a) is np.ndarray
        else type(a) is k.kind
        if type(k) is _Scalar
        else type(k) is _Literal and _equal(a, k.value)
        for a, k in zip(args, entry.kinds, strict=True)
    )


def _signature(args: Sequence[Any]) -> str:
    texts = (f"{a.dtype}{list(a.shape)}" if hasattr(a, "shape") else type(a).__name__ for a in args)
    return f"({', '.join(texts)})"


# --- replay


def _holds(entry: _Entry, args: tuple[Any, ...]) -> bool:
    """True if the trace of ``entry`` is what a new trace with ``args`` would be."""
    for i, (kind, a) in enumerate(zip(entry.kinds, args, strict=True)):
        if type(kind) is _Argument:
            # The shape is part of the key under which the entry was found.
            if a.strides != kind.strides or a.dtype is not kind.dtype and a.dtype != kind.dtype:
                return False
        elif type(kind) is _Scalar:
            if i in entry.observed and not _equal(a, entry.observed[i]):
                return False
        elif a is not kind.value and not _equal(a, kind.value):
            return False
    if raising() or not entry.reads.unchanged():
        return False
    for (read, _), kind in zip(entry.reads.arrays, entry.arrays, strict=True):
        a = read()
        if type(a) is not _ndarray or _guard(a) != kind:
            return False
    return entry.overlaps is None or entry.overlaps == _overlaps(_all_arrays(entry, args))


def _all_arrays(entry: _Entry, args: Sequence[Any]) -> list[NDArray]:
    found = [a for a, k in zip(args, entry.kinds, strict=True) if type(k) is _Argument]
    return found + [read() for read, _ in entry.reads.arrays]


def _equal(a: Any, b: Any) -> bool:
    from .reads import _same  # noqa: PLC0415

    return _same(a, b)


def _guard(a: NDArray) -> _Argument:
    return _Argument(a.shape, a.strides, a.dtype, a.flags.writeable)


def _replay(entry: _Entry, args: tuple[Any, ...]) -> Any:
    values: list[Any] = []
    for source, what in entry.feed:
        if source == 0:
            values.append(args[what])
        elif source == 1:
            values.append(entry.reads.arrays[what][0]())
        elif source == 2:  # noqa: PLR2004
            recipe, kind = what
            values.append(kind(value_of(recipe, args)))  # type: ignore[arg-type]
        else:
            values.append(what)
    for number in entry.targets:
        if not values[number].flags.writeable:
            raise ValueError("assignment destination is read-only")
    results = entry.executable.run(values)
    arrays = _all_arrays(entry, args) if entry.result.takes_arrays else ()
    return entry.result(args, arrays, results)


def _overlaps(arrays: Sequence[NDArray]) -> tuple[tuple[int, int, int], ...]:
    """The pairs of arrays that share memory, with the distance of their first elements."""
    found = []
    for i, a in enumerate(arrays):
        for j in range(i):
            b = arrays[j]
            if np.may_share_memory(a, b):
                found.append((j, i, _address(a) - _address(b)))
    return tuple(found)


def _address(a: NDArray) -> int:
    return int(a.__array_interface__["data"][0])


# --- tracing


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A Python or NumPy number among the arguments."""

    kind: type


@dataclass(frozen=True, slots=True)
class _Literal:
    """Any other argument, guarded by its value."""

    value: Any


@dataclass(slots=True)
class _Shared:
    """Storage of one array argument, or of several that share memory."""

    storage: Storage
    array: NDArray
    members: list[int] = field(default_factory=list)


class _Tracer:
    """One recorded call."""

    def __init__(self, owner: FusedFunction, args: tuple[Any, ...], execute: bool = True) -> None:
        self.owner = owner
        self.execute = execute  # False: only the entry is wanted
        self.args = args
        self.trace = _Trace(owner.options)
        self.why = ""
        self.executable: Executable | None = None
        function = owner.function
        if isinstance(function, types.FunctionType):
            self.reads = reads_of(function)
        else:
            self.reads = Reads(impure=f"{type(function).__name__} is not a Python function")
        self.observed: dict[int, Any] = {}
        self.shared: list[_Shared] = []

    def run(self) -> tuple[Any, Any]:
        """The call's result, and the entry that replays it if the trace may be replayed."""
        read_arrays = [value for _, value in self.reads.arrays] if not self.reads.impure else []
        arrays = [a for a in self.args if type(a) is np.ndarray] + read_arrays
        overlaps = _overlaps(arrays)
        if overlaps and any(not _mergeable(arrays[i], arrays[j]) for i, j, _ in overlaps):
            return self.owner._unfused("arguments overlap in a way that is not followed", self.args), None
        token = recorder_in_force.set(self.trace)
        try:
            lazies = self._lazy_arrays(arrays, overlaps)
            given, kinds = self._arguments(iter(lazies))
            function = self.owner.function
            if read_arrays:
                by_id: dict[int, Any] = dict(
                    zip(map(id, read_arrays), lazies[len(arrays) - len(read_arrays) :], strict=True)
                )
                by_id[-1] = self.reads.functions
                function = rebound(function, by_id, {})
            result = function(*given)
            return self._finish(result, kinds, arrays, overlaps)
        except BaseException:
            if self.execute:
                self._complete()
            raise
        finally:
            recorder_in_force.reset(token)

    # --- arguments

    def _lazy_arrays(
        self, arrays: list[NDArray], overlaps: tuple[tuple[int, int, int], ...]
    ) -> list[Array]:
        """A lazy array for each of ``arrays``; those that share memory are views of one storage."""
        groups = _groups(len(arrays), overlaps)
        found: dict[int, Array] = {}
        for group in groups:
            members = [arrays[i] for i in group]
            whole = members[0] if len(group) == 1 else _union(members)
            storage = Storage.of_array(self.trace, whole)
            storage.held = True
            self.shared.append(_Shared(storage, whole, group))
            for i in group:
                a = arrays[i]
                if len(group) == 1:
                    view = View.whole(a.shape)
                else:
                    view = _view_in(a, whole)
                found[i] = Array(storage, view)
        return [found[i] for i in range(len(arrays))]

    def _arguments(self, lazies: Any) -> tuple[list[Any], list[Any]]:
        given: list[Any] = []
        kinds: list[Any] = []
        for i, a in enumerate(self.args):
            if type(a) is np.ndarray:
                given.append(next(lazies))
                kinds.append(_Argument(a.shape, a.strides, a.dtype, a.flags.writeable))
            elif type(a) in (int, float):
                given.append(TracedScalar(a, i, functools.partial(self._observe, i, a)))
                kinds.append(_Scalar(type(a)))
            else:
                given.append(a)
                kinds.append(_Literal(a))
                if not _is_literal(a):
                    self.reads.impure = f"an argument is a {type(a).__name__}"
        return given, kinds

    def _observe(self, number: int, value: Any) -> None:
        self.observed[number] = value

    # --- the end of a trace

    def _finish(
        self,
        result: Any,
        kinds: list[Any],
        arrays: list[NDArray],
        overlaps: tuple[tuple[int, int, int], ...],
    ) -> tuple[Any, _Entry | None]:
        returned = _storages_in(result)
        written = [s for s in self.shared if s.storage.pending]
        if self.execute is False:
            if self.trace.observed:
                raise NotFusedError(f"{self.owner.__name__} looks at a value while it is recorded")
            return self._entry(result, returned, written, kinds, arrays, overlaps)
        leaked = [
            s
            for s in self.trace.pending()
            if not any(s is r for r in returned) and not any(s is w.storage for w in written)
        ]
        for s in written:
            if not s.array.flags.writeable:
                raise ValueError("assignment destination is read-only")
        reason = self._reason(leaked)
        if reason:
            self.why = f"recorded anew at each call: {reason}"
            self._complete()
            return _finished(result), None
        entry, values = self._entry(result, returned, written, kinds, arrays, overlaps)
        self.why = "replayed while its conditions hold"
        computed = entry.executable.run(values)
        value = entry.result(self.args, arrays, computed)
        return value, None if any(f is None for f in entry.feed) else entry

    def _entry(
        self,
        result: Any,
        returned: list[Storage],
        written: list[_Shared],
        kinds: list[Any],
        arrays: list[NDArray],
        overlaps: tuple[tuple[int, int, int], ...],
    ) -> tuple[_Entry, list[Any]]:
        """The entry of a finished trace, and what its leaves are in this call."""
        outputs = [s for s in returned if not self._is_argument(s)]
        nodes = [s.node for s in outputs] + [w.storage.node for w in written]
        own: list[Leaf | None] = [None] * len(outputs)
        own += [Leaf(w.array, w.array.shape, w.array.dtype) for w in written]
        leaves, executable = executable_for(nodes, own, self.owner.options)
        self.executable = executable
        overwritten = [any(leaf.array is w.array for w in written) for leaf in leaves]
        entry = _Entry(
            tuple(kinds),
            self.observed,
            self.reads,
            [_guard(a) for _, a in self.reads.arrays],
            executable,
            [self._source(leaf, arrays) for leaf in leaves],
            [n for n, yes in enumerate(overwritten) if yes],
            _Result(result, outputs, self.shared, arrays),
            overlaps if written else None,
        )
        return entry, [_leaf_value(leaf) for leaf in leaves]

    def _reason(self, leaked: list[Storage]) -> str:
        if self.reads.impure:
            return self.reads.impure
        if self.trace.observed:
            return "it looked at a value while it was recorded"
        if leaked:
            return "it kept an array that it does not return"
        return ""

    def _is_argument(self, storage: Storage) -> bool:
        return any(storage is s.storage for s in self.shared)

    def _source(self, leaf: Leaf, arrays: list[NDArray]) -> Any:
        """Where a replay finds what ``leaf`` stands for."""
        if isinstance(leaf.array, TracedScalar):
            return 2, (leaf.array, _caster(leaf.dtype))
        position = 0
        for i, a in enumerate(self.args):
            if type(a) is np.ndarray:
                if leaf.array is arrays[position]:
                    return 0, i
                position += 1
        for i, (_, a) in enumerate(self.reads.arrays):
            if leaf.array is a:
                return 1, i
        if any(leaf.array is s.array for s in self.shared):
            return None  # memory that several arguments share is put together at each call
        return 3, leaf.array

    def _complete(self) -> None:
        """Compute all that is pending, arguments included."""
        self.trace.flush()
        for shared in self.shared:
            if shared.storage.error is not None:
                raise shared.storage.error


def _is_literal(value: Any) -> bool:
    from .reads import _is_constant, _is_pure  # noqa: PLC0415

    return _is_constant(value) or _is_pure(value) or isinstance(value, slice)


def _caster(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """What turns a Python number into one of ``dtype``; raises OverflowError as NumPy does."""
    return dtype.type


def _leaf_value(leaf: Leaf) -> Any:
    if isinstance(leaf.array, TracedScalar):
        return leaf.dtype.type(leaf.array.value)
    return leaf.array


# --- results


def _storages_in(result: Any) -> list[Storage]:
    """The storages of the lazy arrays in a returned structure, each once."""
    found: list[Storage] = []
    stack = [result]
    while stack:
        value = stack.pop()
        if isinstance(value, Array):
            if not any(value.storage is s for s in found):
                found.append(value.storage)
        elif type(value) in (list, tuple):
            stack.extend(reversed(value))
        elif type(value) is dict:
            stack.extend(reversed(list(value.values())))
    return found


def _finished(result: Any) -> Any:
    """A returned structure with every lazy array computed, as the user gets it."""
    if isinstance(result, Array):
        result.compute()
        storage = result.storage
        assert storage.buffer is not None
        array = result.view_of_storage.of(storage.buffer)
        return array[()] if result.is_scalar else array
    if type(result) is TracedScalar:
        return result.value
    if type(result) in (list, tuple):
        return type(result)(_finished(v) for v in result)
    if type(result) is dict:
        return {k: _finished(v) for k, v in result.items()}
    return result


class _Result:
    """Puts a call's result together: results and views of them, arguments, scalars, structure."""

    def __init__(
        self,
        result: Any,
        outputs: list[Storage],
        shared: list[_Shared],
        arrays: Sequence[NDArray],
    ) -> None:
        self.takes_arrays = False
        made = {id(s): i for i, s in enumerate(outputs)}
        arguments = {id(s.storage): s for s in shared}
        self.structure = self._spec(result, made, arguments, arrays)

    def _spec(
        self,
        result: Any,
        made: dict[int, int],
        arguments: dict[int, _Shared],
        arrays: Sequence[NDArray],
    ) -> Any:
        if isinstance(result, Array):
            key = id(result.storage)
            view = result.view_of_storage
            if key in made:
                whole = view.is_whole() and view.shape == result.storage.shape
                return "made", made[key], None if whole else view, result.is_scalar
            self.takes_arrays = True
            shared = arguments[key]
            for member in shared.members:  # an argument that is returned as it came
                own = _view_in(arrays[member], shared.array)
                if view == own or (len(shared.members) == 1 and view.is_whole()):
                    return "argument", member, None, False
            return "argument", shared.members[0], view, result.is_scalar
        if type(result) is TracedScalar:
            return "scalar", result
        if type(result) in (list, tuple):
            parts = [self._spec(v, made, arguments, arrays) for v in result]
            return "sequence", type(result), parts
        if type(result) is dict:
            parts = [self._spec(v, made, arguments, arrays) for v in result.values()]
            return "dict", list(result), parts
        return "value", result

    def __call__(self, args: Sequence[Any], arrays: Sequence[Any], results: Sequence[Any]) -> Any:
        """The result of one call, given its arguments and what its kernels computed."""
        spec = self.structure
        if spec[0] == "made" and spec[2] is None and not spec[3]:
            return results[spec[1]]
        return self._build(spec, args, arrays, results)

    def _build(
        self, spec: Any, args: Sequence[Any], arrays: Sequence[Any], results: Sequence[Any]
    ) -> Any:
        match spec:
            case "made" | "argument" as kind, number, view, is_scalar:
                array = results[number] if kind == "made" else arrays[number]
                if view is not None:
                    array = view.of(array)
                return array[()] if is_scalar else array
            case "scalar", scalar:
                return value_of(scalar, args)  # type: ignore[arg-type]
            case "sequence", kind, parts:
                return kind([self._build(s, args, arrays, results) for s in parts])
            case "dict", keys, parts:
                built = [self._build(s, args, arrays, results) for s in parts]
                return dict(zip(keys, built, strict=True))
        return spec[1]


# --- arguments that share memory


def _groups(count: int, overlaps: tuple[tuple[int, int, int], ...]) -> list[list[int]]:
    """The arguments' numbers, those that share memory together."""
    group = list(range(count))
    for i, j, _ in overlaps:
        a, b = group[i], group[j]
        group = [min(a, b) if g in (a, b) else g for g in group]
    return [[i for i in range(count) if group[i] == g] for g in sorted(set(group))]


def _mergeable(a: NDArray, b: NDArray) -> bool:
    """True if two arrays that share memory are views of one row of elements."""
    item = a.dtype.itemsize
    return (
        a.dtype == b.dtype
        and (_address(a) - _address(b)) % item == 0
        and all(s % item == 0 for s in (*a.strides, *b.strides))
    )


def _union(members: Sequence[NDArray]) -> NDArray:
    """All the memory that ``members`` span, as one flat array."""
    from numpy.lib.array_utils import byte_bounds  # noqa: PLC0415

    low = min(byte_bounds(m)[0] for m in members)
    high = max(byte_bounds(m)[1] for m in members)
    dtype = members[0].dtype
    window = types.SimpleNamespace(
        members=members,
        __array_interface__={
            "version": 3,
            "data": (low, not all(m.flags.writeable for m in members)),
            "shape": ((high - low) // dtype.itemsize,),
            "typestr": dtype.str,
        },
    )
    return np.asarray(window)


def _view_in(a: NDArray, whole: NDArray) -> View:
    from ..graph.index_map import IndexMap  # noqa: PLC0415

    item = a.dtype.itemsize
    offset = (_address(a) - _address(whole)) // item
    strides = tuple(s // item for s in a.strides)
    return View(whole.shape, IndexMap(a.ndim, (offset,), (strides,)), a.shape)


__all__ = ["FusedFunction", "fused"]
