"""Keys: what tells an operation from others after the same steps of a recording; see `tape`.

Operands are told by the numbers of the storages that they show, and how they show them.
Floating-point operands of operators are no part of a key: they are the recording's numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..arrays.dispatch import raising
from . import internals
from .internals import Pending, PendingMemory, ndarray, pointer_of
from .recording import Recording
from .step_maker import FLOATS, UntapedError
from .steps import Key
from .storages import CupyStorage, Run, Unrecorded, storage_of, table

OFF, FOLLOWING, LEARNING = "off", "following", "learning"
_LITERALS = frozenset({int, bool, str, type(None), type(Ellipsis), type})
_ATTEMPTS = range(3)  # at a key: an operand may have what was recorded before computed


def _has_array(values: Sequence[Any]) -> bool:
    for value in values:
        kind = type(value)
        if kind is Pending or kind is ndarray:
            return True
        if (kind is tuple or kind is list) and _has_array(value):
            return True
    return False


class Keys:
    """The operands of what one region has recorded since its last flush."""

    def __init__(self, region: Recording) -> None:
        self.region = region
        self._reset()

    def _reset(self) -> None:
        self.mode = FOLLOWING
        self.run = Run(self.region)
        # Storages from before, weak references to new ones or to the arrays that show one, None.
        self.slots: list[Any] = []
        self.numbers: list[float] = []
        self.presumed: list[tuple[CupyStorage, Any]] = []  # by a key, to lie in those storages

    def leave(self) -> None:
        """What comes has no keys, up to the next flush."""
        raise NotImplementedError

    def key(self, function: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> Key | None:
        """What tells the call from others after the same steps; None if the tape has ended."""

        def parts() -> Key:
            named = [(name, self._describe(value)) for name, value in kwargs.items()]
            given = [self._describe(v) for v in args]
            if not _has_array((*args, *kwargs.values())):
                return function, raising(), self._created(), *given, *named
            return function, raising(), *given, *named

        return self._key(parts)

    def _created(self) -> int:
        """The device on which a call that takes no array creates one."""
        region = self.region
        current: int = region.space.current_device()
        if current != region.device:
            if self.slots:
                raise UntapedError
            region.device = current
        return current

    def numbered_key(self, function: Any, args: Sequence[Any]) -> Key | None:
        """As `key`, with floats among the recording's numbers."""
        if self.mode is OFF:
            return None
        for _ in _ATTEMPTS:
            run = self.run
            if self.presumed:
                self.presumed.clear()
            parts = [function]
            first, again = args[0], False
            try:
                for value in args:
                    kind = type(value)
                    if kind is Pending or kind is ndarray:
                        if value is not first:
                            parts.append(self.operand(value))
                            continue
                        parts.append(parts[1] if again else self.operand(value))
                        again = True
                    elif kind in FLOATS:
                        self.numbers.append(value)
                        parts.append(kind)
                    else:
                        parts.append(self._describe(value))
            except (UntapedError, Unrecorded):
                break
            if self.run is run:
                return tuple(parts)
            self._reset()  # an operand has flushed the region: others are to be entered anew
        self.leave()
        return None

    def _key(self, parts: Callable[[], Key]) -> Key | None:
        if self.mode is OFF:
            return None
        for _ in _ATTEMPTS:
            run = self.run
            self.presumed.clear()
            try:
                key = parts()
            except (UntapedError, Unrecorded):
                break
            if self.run is run:
                return key
            self._reset()  # as above
        self.leave()
        return None

    def drop_numbers(self, args: Iterable[Any]) -> None:
        """The numbers that a key has found among ``args`` are not needed."""
        del self.numbers[len(self.numbers) - sum(type(a) in FLOATS for a in args) :]

    def _describe(self, value: Any) -> Any:
        kind = type(value)
        if kind is Pending or kind is ndarray:
            return self.operand(value)
        if kind in _LITERALS or issubclass(kind, np.dtype):
            return kind, value
        if kind is float:
            return kind, struct.pack("d", value)
        if kind is tuple or kind is list:
            return kind, *[self._describe(v) for v in value]
        if kind is slice:
            return kind, *[self._describe(v) for v in (value.start, value.stop, value.step)]
        if issubclass(kind, np.generic):
            return kind, value.tobytes()
        raise UntapedError

    def operand(self, array: Any) -> Any:
        """Which storage ``array`` shows, and how: the number of a whole one, else a tuple."""
        pointer = pointer_of(array)
        memory, address = pointer.mem, pointer.ptr
        run, storage = self.run, None
        if type(memory) is PendingMemory:
            offset = address - memory.ptr
            if memory.run is run:
                slot, whole, own, _ = memory.place
            else:
                storage = memory.storage
        else:
            storage, offset = table.exact.get(address), 0
            if storage is None:
                storage, offset = self._around(array, address)
        if storage is not None:
            slot = storage.slot if storage.run is self.run else self._enter(storage)
            whole, own = storage.shape, storage.dtype
        dtype, shape = array.dtype, array.shape
        if dtype is not own and dtype != own:
            raise UntapedError
        if array._c_contiguous:
            if not offset and shape == whole:
                return slot
            told: Key = slot, offset, shape
        else:
            told = slot, offset, shape, array.strides
        if storage is not None and storage.buffer is not None:
            self.presumed.append((storage, array))  # to lie in it, for the whole does
        return told

    def _around(self, array: Any, address: int) -> tuple[CupyStorage, int]:
        """The storage that a plain ``array`` is a part of, and where it begins in that."""
        base = array.base
        storage = None if base is None else table.exact.get(pointer_of(base).ptr)
        if storage is None:
            return storage_of(self.region, array)
        return storage, address - storage.span[0]

    def _enter(self, storage: CupyStorage) -> Any:
        """Give a storage that comes into play its number; later it is told by that alone."""
        region = self.region
        if region.device == -1 or not self.slots:
            region.device = storage.device
        if storage.recorder is not region or storage.device != region.device or storage.error:
            raise UntapedError
        low, high = storage.span
        if low == high or storage.flight is not None or region.has_escaped:  # not in the table
            raise UntapedError
        storage.run, storage.slot = self.run, len(self.slots)
        self.slots.append(storage)
        return len(self.slots) - 1, storage.shape, storage.dtype.num, storage.device

    def presumed_rightly(self) -> bool:
        """True if the operands of the last key lie in the storages that it names."""
        for storage, array in self.presumed:
            low, high = internals.span_of(array)
            if low < storage.span[0] or high > storage.span[1]:
                return False
        return True
