"""CupyTrace: the recorder of one call on CuPy's arrays, and the path that it takes.

What CuPy computes itself is a fragment of the path, called by each replay. Arrays are known by
where they lie: all that shows memory in the environment is found there, also views that CuPy makes.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import FlushError, mark_before_effects
from ...graph.node import Node
from ...options import Options
from ..arrays.array import Array
from ..calls.numpy_calls import NumpyCalls, calls_of, is_plain
from ..calls.path import Environment, Path, Source
from ..calls.purity import is_pure
from ..calls.trace import Trace
from ..record.flight import Flight, Job, is_computing, recording, wait_until
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar
from ..record.storage import Storage
from ..record.structure import leaves
from . import internals
from .internals import ndarray
from .keys import OFF
from .region import CupyRegion
from .storages import CupyStorage, Unrecorded, table

_PATIENCE = 2.0  # seconds that a thread waits for another that records what is known
_FEW = 64  # bytes of an array, or parts of a result, that are compared by each replay
_EXACT = frozenset({"__float__", "__complex__"})  # of which Python takes nothing but a float
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


class CupyPath(Path):
    """A path whose arrays are CuPy's, found by their addresses."""

    def __init__(
        self,
        trail: Sequence[Any] = (),
        values: Sequence[Any] = (),
        environment: Sequence[Any] = (),
    ) -> None:
        super().__init__(trail, values, environment)
        self._spans: dict[int, tuple[int, int]] = {}
        self._shown: dict[int, list[weakref.ref[Any]]] = {}  # the arrays that show a result

    def _place(self, array: Any, slot: int) -> None:
        if isinstance(array, ndarray):
            self._spans[slot] = internals.span_of(array)

    def _take_away(self, slot: int) -> None:
        self._spans.pop(slot, None)
        self._shown.pop(slot, None)

    def _blank(self, shape: Any, dtype: Any) -> Any:
        nbytes = internals.nbytes_of(shape, dtype)
        nowhere = internals.over_address(internals.unused_address(nbytes), nbytes, None)
        return internals.array_over(nowhere, shape, dtype)

    def _owner(self, storage: Any) -> Callable[[], Any]:
        memory = storage.memory() if storage.memory is not None else None
        shown = [weakref.ref(storage), *(memory.objects if memory is not None else ())]
        self._shown[len(self.environment) - 1] = shown
        return lambda: next((one for one in shown if one() is not None), None)

    def shows(self, array: Any) -> None:
        """``array`` is a further one over memory that was known before."""
        place = self.place_of(array)
        if place is not None and place[0] in self._shown:
            self._shown[place[0]].append(weakref.ref(array))

    def place_of(self, array: Any) -> tuple[int, int] | None:
        """The slot in whose memory ``array`` lies, and how many bytes from its first element."""
        low, high = internals.span_of(array)
        for slot in reversed(self._spans):
            first, last = self._spans[slot]
            if first <= low and high <= last:
                start = internals.pointer_of(self.environment[slot]).ptr
                return slot, internals.pointer_of(array).ptr - start
        return None

    def slot_of(self, array: Any) -> int | None:
        place = self.place_of(array) if isinstance(array, ndarray) else None
        return None if place is None else place[0]

    def source(self, leaf: Leaf) -> Source:
        if isinstance(leaf.array, ndarray):
            return self.array_source(leaf.array)
        return super().source(leaf)

    def array_source(self, array: Any) -> Source:
        """Where a replay finds ``array``."""
        place = self.place_of(array)
        if place is None:
            self.broken = self.broken or "it works on an array from elsewhere"
            return lambda environment: array
        slot, offset = place
        whole, layout = self.environment[slot], (array.shape, array.dtype, array.strides)
        if offset == 0 and layout == (whole.shape, whole.dtype, whole.strides):
            return slot
        return functools.partial(_shown_of, slot, offset, *layout)


def _shown_of(
    slot: int, offset: int, shape: Any, dtype: Any, strides: Any, environment: Environment
) -> Any:
    return array_at(internals.pointer_of(environment[slot]), offset, shape, dtype, strides)


def array_at(pointer: Any, offset: int, shape: Any, dtype: Any, strides: Any = None) -> Any:
    """An array over the memory ``offset`` bytes from ``pointer``."""
    return internals.array_over(pointer + offset, shape, dtype, strides)


class _Calls(NumpyCalls):
    """Calls whose arguments may be CuPy's arrays."""

    def template(self, value: Any) -> Callable[[Environment], Any]:
        if isinstance(value, ndarray):
            assert isinstance(self.path, CupyPath)
            source = self.path.array_source(value)
            return (lambda e: e[source]) if type(source) is int else source  # type: ignore[return-value]
        return super().template(value)


class CupyTrace(CupyRegion, Trace):
    """The recorder of one call; where its path is broken, a region like any other."""

    transparent = False
    path: CupyPath

    def __init__(self, options: Options, chosen: bool, path: CupyPath) -> None:
        super().__init__(options, chosen)
        self.path = path
        self.calls = _Calls(self)
        self.budget = None
        self.memories: list[CupyStorage] = []  # of the arguments
        self._thread = threading.get_ident()

    @property
    def is_unfollowed(self) -> bool:
        return bool(self.path.broken) and not self.path.replaying

    @property
    def is_taped(self) -> bool:
        return self.is_unfollowed and super().is_taped

    def rests(self) -> bool:
        return self.is_unfollowed and super().rests()

    def note(self, node: Node, storage: Storage) -> None:
        if self.is_unfollowed:
            CupyRegion.note(self, node, storage)
        else:
            if self.tape.mode is not OFF:
                self.tape.leave()
            Trace.note(self, node, storage)

    def own(self, array: Any) -> CupyStorage | None:
        low, high = internals.span_of(array)
        start = internals.pointer_of(array).ptr
        for storage in self.memories:
            first, last = storage.span
            if first <= low and high <= last and storage.dtype == array.dtype:
                apart = (start - first) % array.dtype.itemsize
                if apart or storage.error or table.overlapping(first, last):
                    return None
                storage.recorder = self
                return storage
        return None

    def flush(self, needed: Storage | None = None) -> None:
        if threading.get_ident() != self._thread:
            if self.path.replaying and not self._catches_up():
                self._give_pending_up()
                return
            if self.captures:
                self.breaks("another thread looks at an array of it")
        super().flush(needed)

    def _catches_up(self) -> bool:
        """True if the thread that records comes, soon, to the end of what has been run before."""
        if not is_computing():
            wait_until(lambda: not (self.path.replaying and self.captures), _PATIENCE)
        return not (self.path.replaying and self.captures)

    def _give_pending_up(self) -> None:
        """What another thread needs here is known to the one that records alone."""
        with recording:
            error = FlushError("another thread needs what is being recorded again")
            for storage in self.pending():
                self._failed(storage, error)
            self._begin_anew()
            table.leave(self)

    def _results(self, flight: Flight, jobs: Sequence[Job]) -> Sequence[Any]:
        if not all(isinstance(job.storage, CupyStorage) for job in jobs):
            self.breaks("it works on lazy arrays, too")
        if self.is_unfollowed:
            return super()._results(flight, jobs)
        return self._fragment(flight, jobs, self.cupy_options)

    def _runner(self, executable: Any) -> Callable[[Sequence[Any]], Sequence[Any]]:
        assert self.space is not None
        return functools.partial(self.space.run, executable, device=self.device)

    def pending_array(self, array: Any) -> Any:
        made = super().pending_array(array)
        if type(made) is ndarray:
            self.path.shows(made)
        return made

    def escape(self, array: Any) -> None:
        self.breaks("it takes an array's memory")
        super().escape(array)

    # --- looks

    def counted(self, storages: Sequence[Storage]) -> list[Any]:
        """As in any region; a replay goes on where their extents are the same."""
        wholes = super().counted(storages)
        path = self.path
        slots = [slot for whole in wholes if (slot := path.slot_of(whole)) is not None]
        if self.is_unfollowed or len(slots) < len(wholes):
            return wholes
        extents = self.calls.seen(lambda env: tuple([len(env[slot]) for slot in slots]))
        made = []
        for whole, extent in zip(wholes, extents, strict=True):
            shape = (extent, *whole.shape[1:])  # which nobody has looked at yet in a replay
            pointer = internals.pointer_of(whole)
            made.append(whole if len(whole) == extent else array_at(pointer, 0, shape, whole.dtype))
            path.shows(made[-1])
        return made

    def seen(self, array: Any, kind: Callable[[Any], Any]) -> Any:
        self._leave_to_cupy()
        return super().seen(array, kind)

    def number(self, array: Any, kind: Callable[[Any], Any]) -> Any:
        self._leave_to_cupy()
        return super().number(array, kind)

    def eager(self, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        self._leave_to_cupy()
        return super().eager(func, args, kwargs)

    def _leave_to_cupy(self) -> None:
        """Have CuPy do the operation at hand if a handler wants values for it."""
        if self.dispatching:
            raise Unrecorded

    # --- what CuPy computes

    def _by_cupy(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What ``function`` gives, a fragment of the path: each replay calls it.

        A replay goes on where shapes, numbers and what else it gives are the same. A floating-point
        number is followed.
        """
        path = self.path
        if not self.is_unfollowed and not _is_repeatable((args, kwargs)):
            self.breaks(f"CuPy's {_name(function)} is given what may change")
        if self.is_unfollowed:
            return super()._by_cupy(function, args, kwargs)
        template = self.calls.template((args, kwargs))
        operands = _operands((args, kwargs))
        start = len(path.environment)
        if path.replaying and calls_of(path.trail[len(path.fragments)], function):
            described = path.values[len(path.fragments)]
            blanks = [d[1:3] if d[0] == "array" else None for d in _leaves(described)]
            results = path.known_results([None, *blanks])
        else:
            given = template(path.environment)
            try:
                result = super()._by_cupy(function, *given)
            except BaseException:
                self.breaks(f"CuPy's {_name(function)} raised an error")
                raise
            results = _taken_apart(result, _operands(given))
            described = results[0]
        run = functools.partial(_called, function, self._call_native)
        path.ran(run, [template], results, [None] * len(results))
        path.looked(lambda environment: environment[start], described)
        if "other" in {d[0] for d in _leaves(described)}:
            self.breaks(f"CuPy's {_name(function)} gives what may change")
            return result
        parts = iter(range(start + 1, start + len(results)))
        made = self._together(described, operands, parts)
        exact = type(made) is TracedScalar and _name(function) in _EXACT
        return made.seen() if exact else made

    @property
    def _call_native(self) -> Callable[..., Any]:
        assert self.space is not None
        return self.space.native

    def _together(self, described: Any, operands: Sequence[Any], slots: Any) -> Any:
        """The result that is described, its new parts those in the ``slots``."""
        kind = described[0]
        if isinstance(kind, type):
            parts = [self._together(d, operands, slots) for d in described[1:]]
            return kind(parts) if kind in (list, tuple) else kind(*parts)  # a named tuple
        slot = next(slots)
        if kind == "given":
            return operands[described[1]]
        if kind == "view":
            number, offset, shape, dtype, strides = described[1:]
            pointer = internals.pointer_of(operands[number])
            return array_at(pointer, offset, shape, dtype, strides)
        value = self.path.environment[slot]
        return value if kind != "number" or self.path.broken else self.number_at(slot, value)


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _is_repeatable(value: Any) -> bool:
    return all(
        type(part) is ndarray or (type(part) is not Array and (is_plain(part) or is_pure(part)))
        for part in leaves(value)
    )


def _operands(value: Any) -> list[Any]:
    """The CuPy arrays in ``value``."""
    return [part for part in leaves(value) if isinstance(part, ndarray)]


def _called(function: Any, native: Callable[..., Any], values: Sequence[Any]) -> list[Any]:
    """What a replay has of a call: its description, and its parts."""
    args, kwargs = values[0]
    try:
        result = native(function, args, kwargs)
    except Exception as error:
        mark_before_effects(error)
        raise
    return _taken_apart(result, _operands((args, kwargs)))


def _taken_apart(result: Any, operands: Sequence[Any]) -> list[Any]:
    """What describes ``result``, and its parts: new arrays and numbers."""
    parts: list[Any] = []
    return [_describe(result, operands, parts, alone=True), *parts]


def _describe(value: Any, operands: Sequence[Any], parts: list[Any], alone: bool = False) -> Any:
    kind = type(value)
    if (kind is list or isinstance(value, tuple)) and len(value) <= _FEW:
        return kind, *[_describe(v, operands, parts) for v in value]
    described = _described(value, operands, alone)
    parts.append(None if described[0] in ("given", "view", "other") else value)
    return described


def _described(value: Any, operands: Sequence[Any], alone: bool) -> tuple[Any, ...]:
    """What a replay compares of a part of a result."""
    kind = type(value)
    if kind is ndarray:
        return _described_array(value, operands)
    if kind is np.ndarray and value.nbytes <= _FEW and not value.dtype.hasobject:
        return "host", value.shape, value.dtype, value.strides, value.tobytes()
    if kind is float and alone:
        return ("number",)
    return ("value", value) if isinstance(value, _CONSTANTS) else ("other",)


def _described_array(array: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
    low, high = internals.span_of(array)
    layout = array.shape, array.dtype, array.strides
    for number, operand in enumerate(operands):
        if operand is array:
            return "given", number
        first, last = internals.span_of(operand)
        if low < last and first < high:
            offset = internals.pointer_of(array).ptr - internals.pointer_of(operand).ptr
            return "view", number, offset, *layout
    return "array", *layout, internals.pointer_of(array).device_id


def _leaves(described: Any) -> list[Any]:
    if isinstance(described[0], type):
        return [leaf for part in described[1:] for leaf in _leaves(part)]
    return [described]
