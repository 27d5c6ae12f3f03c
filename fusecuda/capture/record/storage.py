"""Storage: memory and its present version, which may be pending."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

import numpy as np

from ...graph.node import Node
from .leaf import Leaf

NDArray = np.ndarray[Any, Any]


class Keeper(Protocol):
    """What a storage needs of the recorder that it belongs to."""

    def note(self, node: Node, storage: Storage) -> None:
        """Record that ``storage`` waits for ``node``."""

    def flush(self, keep_observed: bool = False) -> None:
        """Compute all that is pending."""


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
        "__weakref__",
        "buffer",
        "dtype",
        "error",
        "escaped",
        "held",
        "leaf",
        "noted",
        "recorder",
        "shape",
        "shared",
        "version",
        "viewers",
    )

    def __init__(self, recorder: Any, node: Node | None, buffer: NDArray | None = None) -> None:
        self.recorder = recorder
        self.version: Node | None = None  # what is pending
        self.leaf: weakref.ref[Leaf] | None = None
        self.viewers: list[weakref.ref[Any]] | None = None  # arrays that keep views of the memory
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
        if isinstance(node, Leaf) and node.array is self.buffer:
            self.version, self.leaf = None, weakref.ref(node)
        else:
            self.version = node

    @property
    def pending(self) -> bool:
        """True if the present version has not been computed."""
        return self.version is not None

    @property
    def unread(self) -> bool:
        """True if nothing that is recorded reads the memory."""
        return self.leaf is None or self.leaf() is None

    def watch(self, viewer: Any) -> None:
        """Have ``viewer.let_go()`` called when the memory is given up for other memory."""
        if self.viewers is None:
            self.viewers = []
        elif len(self.viewers) >= _MANY and len(self.viewers) & (len(self.viewers) - 1) == 0:
            self.viewers = [v for v in self.viewers if v() is not None]
        self.viewers.append(weakref.ref(viewer))

    @property
    def writeable(self) -> bool:
        """False for memory that is read-only."""
        return self.buffer is None or bool(self.buffer.flags.writeable)

    def read(self) -> Node:
        """The present version; raises the error of a flush that failed to compute it."""
        if self.error is not None:
            raise self.error
        return self.node

    def write(self, node: Node) -> None:
        """Make ``node`` the present version."""
        self.node = node
        self.recorder.note(node, self)
        if self.escaped or self.shared:
            self.recorder.flush()
            if self.error is not None:
                raise self.error

    def settle(self, array: NDArray) -> None:
        """Take ``array`` as the computed present version."""
        if self.viewers is not None and array is not self.buffer:
            viewers, self.viewers = self.viewers, None
            for viewer in viewers:
                if (found := viewer()) is not None:
                    found.let_go()
        if array is not self.buffer:
            self.leaf = None
        self.buffer = array
        self.version = None
