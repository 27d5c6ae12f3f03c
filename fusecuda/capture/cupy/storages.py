"""Storages: the process-wide table of CuPy memory that regions have read or written.

Entries are ranges of addresses that do not overlap, whoever made the arrays: two arrays that show
the same memory are views of one storage. An entry lives until its region is flushed, for then the
memory itself holds the newest values. Used under the lock of recording.
"""

from __future__ import annotations

import bisect
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.dtypes import DType
from ...graph.index_map import Shape
from ...graph.node import Node
from ..record.flight import atomic, is_computing, is_recording, recording
from ..record.leaf import Leaf, Promise
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..record.structure import leaves
from . import internals
from .internals import PendingMemory
from .recording import Owning, Recording


class Unrecorded(BaseException):
    """Raised while an operation is recorded that cannot be: it has had no effect."""


class OvertakenError(Unrecorded):
    """Raised where others have computed meanwhile what the operation at hand is recorded on.

    Recorded again, it finds what there is now.
    """


class CupyStorage(Storage):
    """A storage whose memory is CuPy's: pending (`memory`), or known by its addresses (`span`).

    ``run`` and ``slot`` are its recording and its number on the tape; while that is followed, a new
    version has no node.
    """

    __slots__ = ("_node", "device", "memory", "run", "slot", "span")

    recorder: Any  # the region

    def __init__(self, recorder: Any, node: Node | None, buffer: Any = None) -> None:
        if node is None:
            node = Leaf(buffer, buffer.shape, buffer.dtype)
        if node.dtype.kind == "V":  # of bfloat16, for which its rules are not known to be NumPy's
            raise Unrecorded("CuPy computes bfloat16 itself")
        super().__init__(recorder, node, buffer)
        self.memory: weakref.ref[PendingMemory] | None = None
        self.readers = set()
        self.span = (0, 0)
        self.device = 0
        self.run: object = None
        self.slot = -1

    @classmethod
    def postponed(cls, recorder: Recording, shape: Shape, dtype: DType) -> CupyStorage:
        """A new storage on the tape of ``recorder``."""
        self = cls.__new__(cls)
        self.recorder, self.shape, self.dtype, self.device = recorder, shape, dtype, recorder.device
        self.buffer = self.memory = self.error = None
        self.held = self.escaped = self.shared = self.noted = False
        self.readers, self.span = set(), (0, 0)
        self.landed = 0
        self.version = self.leaf = self.viewers = self.keepers = self._node = None
        return self

    @classmethod
    def of_memory(cls, recorder: Recording, memory: PendingMemory) -> CupyStorage:
        """The storage of ``memory``, which the tape of ``recorder`` has made without one."""
        slot, shape, dtype, _ = memory.place
        self = cls.postponed(recorder, shape, dtype)
        self.run, self.slot, self.memory = memory.run, slot, weakref.ref(memory)
        self.device = memory.device_id
        return self

    @property
    def node(self) -> Node:
        """The present version; on a tape, the nodes are made first."""
        node = self._node
        if node is None:
            self.recorder.tape.materialize()
            node = self._node
        assert isinstance(node, Node)
        return node

    @node.setter
    def node(self, node: Node) -> None:
        self._node: Node | None = node

    @property
    def pending(self) -> bool:
        node = self._node
        if type(node) is Promise and (node.flight is not None or node.error is not None):
            return True
        return not (isinstance(node, Leaf) and node.array is self.buffer)

    @property
    def flight(self) -> Any:
        node = self._node
        return node.flight_of(self) if type(node) is Promise else None

    @property
    def writeable(self) -> bool:
        return True

    def belongs_to(self, recorder: Any) -> None:
        """Let ``recorder`` take what is going to be written, which others have read by then.

        Raises OvertakenError where other threads may have recorded or computed meanwhile.
        """
        before = recorder.flushes, table.generation
        super().belongs_to(recorder)
        if (recorder.flushes, table.generation) != before:
            raise OvertakenError
        self.readers = {recorder}

    def others(self, recorder: Any) -> list[Any]:
        """As any storage's; its present recorder reads it without a note."""
        own = self.recorder
        found = super().others(recorder)
        if own is not recorder and own not in found and own.is_recording and not is_computing():
            found.append(own)
        return found

    def postpone(self) -> None:
        """The tape has made a new version; no other region has read the one before."""
        self._node = None

    def depart(self, promise: Promise) -> None:
        self._node = promise

    def settle(self, array: Any, promise: Promise) -> None:
        """Take ``array`` as the computed value; pending arrays of this storage lie there now."""
        super().settle(array, promise)
        memory = self.memory() if self.memory is not None else None
        if memory is not None:
            internals.bind(memory, internals.pointer_of(array))

    def array(self, shape: Shape, strides: Any = None, offset: int = 0) -> Any:
        """A CuPy array that shows part of this storage; ``strides`` and ``offset`` in bytes."""
        if self.buffer is not None:
            pointer = internals.pointer_of(self.buffer) + offset
            return internals.array_over(pointer, shape, self.dtype, strides)
        memory = self.memory() if self.memory is not None else None
        if memory is None:
            memory = PendingMemory(self, internals.nbytes_of(self.shape, self.dtype), self.device)
            self.memory = weakref.ref(memory)
        return internals.make_pending(memory, shape, self.dtype, strides, offset)


class Run:
    """One recording on a tape; the storages that are met in it carry it."""

    __slots__ = ("recorder",)

    def __init__(self, recorder: Recording) -> None:
        self.recorder = recorder

    @atomic
    def storage_of(self, memory: PendingMemory) -> CupyStorage:
        """The storage of memory that was made without one."""
        return memory.own or CupyStorage.of_memory(self.recorder, memory)


class Table:
    """The known storages by address."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._entries: list[CupyStorage] = []
        self.exact: dict[int, CupyStorage] = {}
        self.generation = 0  # changes when entries go

    def __len__(self) -> int:
        return len(self._entries)

    def at(self, start: int) -> CupyStorage | None:
        """The storage that begins at ``start``."""
        return self.exact.get(start)

    def overlapping(self, low: int, high: int) -> list[CupyStorage]:
        """The storages with an address in [low, high)."""
        first = max(bisect.bisect_right(self._starts, low) - 1, 0)
        found = []
        for entry in self._entries[first:]:
            if entry.span[0] >= high:
                break
            if entry.span[1] > low:
                found.append(entry)
        return found

    def enter(self, storage: CupyStorage) -> None:
        """Add a storage that overlaps none of the others."""
        assert is_recording()
        place = bisect.bisect_left(self._starts, storage.span[0])
        self._starts.insert(place, storage.span[0])
        self._entries.insert(place, storage)
        self.exact[storage.span[0]] = storage

    def leave(self, recorder: Recorder) -> None:
        """Forget what only ``recorder`` has read or written."""
        assert is_recording()
        for entry in self._entries:
            entry.readers.discard(recorder)
            if entry.recorder is recorder and entry.readers and entry.error is None:
                entry.recorder = next(iter(entry.readers))
        self.drop(lambda e: e.recorder is not recorder)

    def drop(self, keep: Any) -> None:
        """Forget the storages for which ``keep`` does not hold."""
        assert is_recording()
        self.generation += 1
        self._entries = [e for e in self._entries if keep(e)]
        self._starts = [e.span[0] for e in self._entries]
        self.exact = {e.span[0]: e for e in self._entries}


table = Table()


def storage_of(region: Owning, array: Any) -> tuple[CupyStorage, int]:
    """The storage that holds ``array``, and the byte in it at which the array begins.

    Raises Unrecorded for arrays whose elements do not lie on a grid.
    """
    pointer = internals.pointer_of(array)
    memory = pointer.mem
    if type(memory) is PendingMemory:
        storage = memory.storage
        offset = pointer.ptr - memory.ptr
        if array.dtype == storage.dtype and offset % array.dtype.itemsize == 0:
            return storage, offset
        storage.complete()
        pointer = internals.pointer_of(array)
    start = pointer.ptr
    known = table.at(start)
    if (
        known is not None
        and known.dtype == array.dtype
        and array._c_contiguous
        and start + array.nbytes <= known.span[1]
    ):
        return known, 0
    low, high = internals.span_of(array)
    spans: list[tuple[int, int]] = []
    while found := table.overlapping(low, high):
        if len(found) == 1 and found[0].dtype == array.dtype:
            low_known, high_known = found[0].span
            within = low_known <= low and high <= high_known
            if within and (start - low_known) % array.dtype.itemsize == 0:
                return found[0], start - low_known
        spans += [entry.span for entry in found]
        low, high = min(s[0] for s in spans), max(s[1] for s in spans)
        for entry in found:  # the same memory in another guise: what is pending there comes first
            release(entry)
    storage = _enter(region, array, spans)
    return storage, start - storage.span[0]


def release(entry: CupyStorage) -> None:
    """Compute all that reads or writes ``entry`` and forget it."""
    while True:
        for recorder in {entry.recorder, *entry.readers}:
            recorder.flush()
        if table.at(entry.span[0]) is not entry:
            return
        if not (entry.readers or entry.waits or entry.flight):
            table.drop(lambda e: e is not entry)
            return


def _enter(region: Owning, array: Any, spans: list[tuple[int, int]]) -> CupyStorage:
    """A new entry for the memory of ``array`` or of the array that it is a view of."""
    own: CupyStorage | None = region.own(array)
    if own is not None:
        table.enter(own)
        return own
    root = array.base
    if root is None or not _holds(root, array) or spans:
        root = array
    low, high = internals.span_of(root)
    if not spans and table.overlapping(low, high):
        root = array
        low, high = internals.span_of(root)
    for other_low, other_high in spans:
        low, high = min(low, other_low), max(high, other_high)
    return _make(region, root, (low, high), alone=not spans)


def enter_together(region: Owning, arrays: Sequence[Any]) -> CupyStorage:
    """A new entry for just the memory of ``arrays``, which overlap if there are several.

    Raises Unrecorded if their elements do not lie on one grid, or the memory is known already.
    """
    first = arrays[0]
    item, start = first.dtype.itemsize, internals.pointer_of(first).ptr
    spans = [internals.span_of(a) for a in arrays]
    low, high = min(s[0] for s in spans), max(s[1] for s in spans)
    for a in arrays:
        apart = internals.pointer_of(a).ptr - start
        if a.dtype != first.dtype or apart % item or any(s % item for s in a.strides):
            raise Unrecorded
    if table.overlapping(low, high):
        raise Unrecorded
    return _make(region, first, (low, high), alone=all(a is first for a in arrays))


def _make(region: Owning, root: Any, span: tuple[int, int], alone: bool) -> CupyStorage:
    """A storage over the memory of ``root``, or, with others, over all of ``span``."""
    low, high = span
    item = root.dtype.itemsize
    if any(s % item for s in root.strides) or internals.pointer_of(root).ptr % item:
        raise Unrecorded
    buffer = _ordered(root) if alone else None
    if buffer is None:
        if (high - low) % item:
            raise Unrecorded
        pointer = internals.pointer_of(root)
        shifted = type(pointer)(pointer.mem, low - pointer.mem.ptr)
        buffer = internals.array_over(shifted, ((high - low) // item,), root.dtype)
    storage: CupyStorage = CupyStorage.of_array(region, buffer)  # type: ignore[assignment]
    storage.held = True
    storage.span = span
    storage.device = internals.pointer_of(root).device_id
    if low < high:
        table.enter(storage)
    return storage


def _holds(root: Any, array: Any) -> bool:
    if root.dtype != array.dtype:
        return False
    (low, high), (first, last) = internals.span_of(root), internals.span_of(array)
    return low <= first and last <= high


def _ordered(root: Any) -> Any:
    """The elements of ``root`` in the order of its memory if there are no gaps, else None."""
    if root._c_contiguous:
        return root
    if any(s <= 0 for s in root.strides):
        return None
    order = sorted(range(root.ndim), key=lambda d: -root.strides[d])
    shape = tuple(root.shape[d] for d in order)
    probe = np.lib.stride_tricks.as_strided(
        np.empty((), root.dtype), shape, tuple(root.strides[d] for d in order)
    )
    if not probe.flags.c_contiguous:
        return None
    return internals.array_over(internals.pointer_of(root), shape, root.dtype)


# --- completion


def complete(*values: Any) -> None:
    """Compute what is pending, in whatever region, of the CuPy arrays in ``values``."""
    for value in leaves(values):
        if isinstance(value, internals.ndarray):
            complete_array(value)


def complete_array(array: Any) -> None:
    """Compute what is pending of ``array``, and what was recorded of its present memory."""
    memory = internals.pointer_of(array).mem
    with recording:
        if type(memory) is PendingMemory:
            memory.storage.complete()
        elif len(table):
            while entries := table.overlapping(*internals.span_of(array)):
                error = entries[0].error
                release(entries[0])
                if error is not None:
                    raise error
