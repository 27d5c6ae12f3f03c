"""Storage: memory and its present version, which may be pending."""

from __future__ import annotations

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


class Storage:
    """Memory and its present version; ``node`` is a leaf when nothing is pending.

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
        "node",
        "noted",
        "recorder",
        "shape",
        "shared",
    )

    def __init__(self, recorder: Any, node: Node, buffer: NDArray | None = None) -> None:
        self.recorder = recorder
        self.node = node
        self.buffer = buffer
        self.shape = node.shape
        self.dtype = node.dtype
        self.held = False
        self.escaped = False
        self.shared = False
        self.noted = False
        self.error: BaseException | None = None

    @classmethod
    def of_array(cls, recorder: Any, array: NDArray) -> Storage:
        """A storage over the memory of ``array``."""
        return cls(recorder, Leaf(array, array.shape, array.dtype), array)

    @property
    def pending(self) -> bool:
        """True if the present version has not been computed."""
        return not (isinstance(self.node, Leaf) and self.node.array is self.buffer)

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
        self.buffer = array
        self.node = Leaf(array, array.shape, array.dtype)
