"""Held: what arrays do with their storages - nodes read and written, memory handed out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import is_supported
from ...graph.node import Node
from ..record.flight import atomic, wait_for_memory
from ..record.recorder import current_recorder
from ..record.view import View
from .memory import in_force, values
from .methods import Methods
from .parts import build_snapshot, copied, joined, written
from .table import ENTRIES

NDArray = np.ndarray[Any, Any]


class Held(Methods):
    """The methods of an array that go to its storage."""

    __slots__ = ()

    _gather: Callable[[], None]
    _node: Any
    _storage: Any
    _shown: View | None
    _view: Any
    _part: str
    loose: Any
    of_node: Any
    pick: Any
    shown_of: Any
    shows_all: Callable[[], bool]
    is_scalar: bool
    writeable: bool

    def read_node(self) -> Node:
        """The node of the array's present value."""
        if (made := self._node) is not None and made.run is in_force().run:
            waiting: Node = made
            return waiting
        if self.pick is not None:
            self._gather()
        if self.loose is not None:
            node: Node = self.loose.copied().read_node()
            return node
        storage = self._storage
        view: View = self._shown or self._view
        if storage.recorder is not (recorder := in_force()):
            storage.read_by(recorder)
        if storage.shared:
            storage.complete()
            return build_snapshot(self.shown_of(storage.buffer), self.dtype)
        if storage.flight is not None and not is_supported(storage.dtype):
            storage.complete()
        node = storage.read()
        whole = view is View.whole(node.shape) or (node.shape == view.shape and view.is_whole())
        if whole and not self._part:
            return node
        if not is_supported(node.dtype):
            return self._whole_by(copied, view, self._part)
        seen = view.read(node)
        return build.elementwise(self._part, [seen], self.dtype) if self._part else seen

    @property
    def reads_by_computing(self) -> bool:
        """True if `read_node` may compute what is pending."""
        if self._node is not None:
            return False
        if self.pick is not None:
            self._gather()
        if self.loose is not None:
            return True
        held = self._storage.dtype if self._part else self.dtype
        return not is_supported(held) and not self.shows_all()

    def _whole_by(self, function: Callable[..., Any], *args: Any) -> Node:
        """What NumPy's ``function`` makes of all of the storage: of types without kernels."""
        kind: Any = type(self)
        whole = kind(self._storage, View.whole(self._storage.shape))
        node: Node = ENTRIES.eager(function, whole, *args).read_node()
        return node

    def write_node(self, value: Node) -> None:
        """Make ``value``, of the array's shape and dtype, what the array shows from now on."""
        storage = self._storage
        if not self.writeable or not storage.writeable:
            raise ValueError("assignment destination is read-only")
        shape, walk = self._view.shape, self._view.map
        if self.size and walk.repeats(shape):
            raise ValueError("assignment destination is read-only")
        storage.belongs_to(current_recorder())
        # Of what is written to one place NumPy says which is the last.
        if not walk.is_injective(shape) or not is_supported(storage.dtype):
            new = type(self).of_node(value, is_scalar=False)
            new.storage.complete()
            while storage.pending:  # from here on nothing is computed: no other thread may write
                storage.complete()
            changed = self._whole_by(written, self._view, self._part, new)
            storage.write(build.library("copy", [changed], storage.shape, storage.dtype))
            return
        if self._part:
            value = joined(self._view.read(storage.read()), self._part, value)
        storage.write(self._view.write(storage.read(), value))

    @atomic
    def compute(self) -> NDArray:
        """The values as a read-only NumPy view of the storage, valid until the next write."""
        current_recorder().look()
        result: NDArray = self.shown_of(self._storage.complete()).view()
        result.flags.writeable = False
        return result

    @atomic
    def at_once(self) -> NDArray:
        """The array's memory, to be written to before anything else is done."""
        storage = self._storage
        storage.part()
        current_recorder().flush()
        current_recorder().write_at_once(storage.held)
        for other in tuple(storage.readers):
            other.flush()
        self._completed()
        assert storage.buffer is not None
        wait_for_memory(storage.buffer)
        result: NDArray = self.shown_of(storage.buffer).view()
        result.flags.writeable = self.writeable and storage.writeable
        return result

    @atomic
    def hand_out(self) -> NDArray:
        """As `compute`, and the storage keeps its address: later writes show in what is given."""
        current_recorder().hands_out()
        self._completed()
        storage = self._storage
        assert storage.buffer is not None
        storage.held = storage.escaped = True
        result: NDArray = self.shown_of(storage.buffer).view()
        result.flags.writeable = False
        return result

    def handed_over(self) -> NDArray:
        """As `hand_out`, to be written to by whoever has it: the memory is shared from now on."""
        self.hand_out()
        self._storage.shared = True
        return self.at_once()

    def lent(self) -> NDArray:
        """The memory to be exported, read-only as the array is, which NumPy tells or refuses."""
        self.hand_out()
        storage = self._storage
        storage.shared = True
        assert storage.buffer is not None
        result: NDArray = self.shown_of(storage.buffer).view()
        if not self.is_scalar:
            result.flags.writeable = self.writeable and storage.writeable
        return result

    def _completed(self) -> None:
        """Compute what is pending, and wait until nothing is under way to other memory."""
        current_recorder().look()
        storage = self._storage
        storage.complete()
        while storage.flight is not None:
            storage.complete()

    def _handed_out(self) -> NDArray:
        """As `hand_out`, without looking for a view of memory that is known."""
        recorder = in_force()
        known = values(self) if recorder.at_once_below else None
        if known is None:
            return self.hand_out()
        if self.is_scalar:  # it does not change
            result: NDArray = np.array(known)
        else:
            storage = self._storage
            storage.held = storage.escaped = True
            result = known.view()
        result.flags.writeable = False
        return result


def compute_first(values: Iterable[Any]) -> None:
    """Compute what is pending if reading one of ``values`` would.

    Whoever holds a node meanwhile would compute it a second time, from memory that is overwritten.
    """
    for value in values:
        if isinstance(value, Held) and value.reads_by_computing:
            in_force().flush()
            return
