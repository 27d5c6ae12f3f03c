"""Storage: memory and its present version, which may be pending."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...errors import FlushError
from ...graph.node import Node
from .flight import recording
from .leaf import Leaf, Promise
from .view import is_writeable

NDArray = np.ndarray[Any, Any]


_MANY = 64  # views that a storage knows of, after which the dead are sought


class Storage:
    """Memory and its present version; ``node`` is a leaf when nothing is pending.

    That leaf is made when it is asked for, and lives as long as something recorded reads the
    memory: until then `unread` memory may be written to.

    ``held`` storages keep their address: new versions end up in the same memory. In ``escaped``
    ones somebody else sees that memory, so writes happen at once. ``shared`` ones may also be
    written by others at any time, so reads take a copy at once.
    """

    __slots__ = (
        "__weakref__", "buffer", "dtype", "error", "escaped", "held", "keepers", "landed", "leaf",
        "noted", "readers", "recorder", "shape", "shared", "version", "viewers",
    )  # fmt: skip

    def __init__(self, recorder: Any, node: Node | None, buffer: NDArray | None = None) -> None:
        self.recorder = recorder
        self.version: Node | None = None  # what is pending
        self.leaf: weakref.ref[Leaf] | None = None
        self.viewers: list[weakref.ref[Any]] | None = None  # arrays that keep views of the memory
        self.keepers: Any = None  # who wants the present version later, by identity, in order
        self.readers: Any = ()  # other recorders that have read the present version
        self.landed = 0  # how many versions have been computed
        self.held = False
        self.escaped = False
        self.shared = False
        self.noted = False
        self.error: BaseException | None = None
        shown: Any = buffer if node is None else node
        self.shape = shown.shape
        self.dtype = shown.dtype
        self.buffer = buffer
        if node is not None:
            self.node = node

    @classmethod
    def of_array(cls, recorder: Any, array: NDArray) -> Storage:
        """A storage over the memory of ``array``."""
        return cls(recorder, None, array)

    @property
    def node(self) -> Node:
        """The present version."""
        if self.version is not None:
            return self.version
        leaf = self.leaf() if self.leaf is not None else None
        if leaf is None:
            leaf = Leaf(self.buffer, self.shape, self.dtype)
            self.leaf = weakref.ref(leaf)
        return leaf

    @node.setter
    def node(self, node: Node) -> None:
        if isinstance(node, Leaf) and self.buffer is not None and node.array is self.buffer:
            self.version, self.leaf = None, weakref.ref(node)
        else:
            self.version = node

    @property
    def pending(self) -> bool:
        """True if the present version has not been computed."""
        return self.version is not None

    @property
    def unread(self) -> bool:
        """True if nothing that is recorded, or will be, reads the memory."""
        return (self.leaf is None or self.leaf() is None) and not self.keepers

    def keep(self, keeper: Any) -> None:
        """Have ``keeper.part()`` called before another version is written."""
        if self.keepers is None:
            self.keepers = weakref.WeakValueDictionary()
        self.keepers[id(keeper)] = keeper

    def part(self) -> None:
        """Let those that want the present version have it before it is overwritten."""
        keepers, self.keepers = self.keepers, None
        for keeper in list(keepers.values()) if keepers else ():  # a replay does it in that order
            keeper.part()

    def watch(self, viewer: Any) -> None:
        """Have ``viewer.let_go()`` called when the memory is given up for other memory."""
        viewers = self.viewers  # once: another thread's flush may take them away
        if viewers is None:
            viewers = self.viewers = []
        elif len(viewers) >= _MANY and len(viewers) & (len(viewers) - 1) == 0:
            viewers = self.viewers = [v for v in viewers if v() is not None]
        viewers.append(weakref.ref(viewer))

    @property
    def writeable(self) -> bool:
        """False for memory that is read-only."""
        return self.buffer is None or is_writeable(self.buffer)

    @property
    def flight(self) -> Any:
        """What is computing the present version, if that is under way."""
        version = self.version
        return version.flight_of(self) if type(version) is Promise else None

    @property
    def waits(self) -> bool:
        """True if the present version is pending, and nothing computes it yet."""
        return self.pending and self.error is None and self.flight is None

    def complete(self) -> Any:
        """The memory of the present version, which is computed first; raises its error.

        Other threads may have recorded another version when this returns.
        """
        with recording:
            landed = self.landed
            while self.error is None and self.pending and self.landed == landed:
                if self.flight is None:
                    self.recorder.flush(self)
                    if self.waits and self.landed == landed:
                        raise FlushError("the array needs what is computed further up")
                elif not self.flight.wait():
                    raise FlushError("the array is being computed further up")
            if self.error is not None:
                raise self.error
            if self.buffer is None:
                raise FlushError("the array's value was not computed")
            return self.buffer

    def read_by(self, recorder: Any) -> None:
        """Note that another recorder reads the present version, which is computed first."""
        while self.waits and self.recorder is not recorder:
            self.complete()
        if not recorder.transparent and recorder not in self.readers:
            self.readers = weakref.WeakSet((*self.readers, recorder))

    def others(self, recorder: Any) -> list[Any]:
        """Recorders but ``recorder`` that may have read the present version."""
        return [r for r in self.readers if r is not recorder]

    def belongs_to(self, recorder: Any) -> None:
        """Let ``recorder`` write the next version; what others wait for and have read comes first.

        Nothing is computed after that look: the present version is still the same.
        """
        while True:
            others = self.others(recorder)
            if not others and (self.recorder is recorder or not self.waits):
                break
            self.readers = type(self.readers)(r for r in self.readers if r is recorder)
            for other in others:
                other.flush()
            if self.recorder is not recorder and self.waits:
                self.complete()
        self.recorder = recorder

    def read(self) -> Node:
        """The present version; raises the error of a flush that failed to compute it."""
        if self.error is not None:
            raise self.error
        return self.node

    def write(self, node: Node) -> None:
        """Make ``node`` the present version."""
        if self.keepers is not None:
            self.part()
        self.node = node
        self.recorder.note(node, self)
        if self.escaped or self.shared:
            self.complete()

    def depart(self, promise: Promise) -> None:
        """The present version is being computed: until it is, ``promise`` stands for it."""
        self.version = promise

    def settle(self, array: NDArray, promise: Promise) -> None:
        """Take ``array`` as the computed version that ``promise`` stands for."""
        if self.viewers is not None and array is not self.buffer:
            viewers, self.viewers = self.viewers, None
            for viewer in viewers:
                if (found := viewer()) is not None:
                    found.let_go()
        promise.array = self.buffer = array
        self.leaf = weakref.ref(promise)
        self.landed += 1
        if self.version is promise:
            self.version = None
