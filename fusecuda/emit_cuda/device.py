"""What a program needs of a device: few verbs. Arrays are the device's own."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..codegen.packing import NUMBER_BYTES
from ..graph.dtypes import DType
from .launch import CudaBound
from .library_calls import Functions
from .source import CudaSource

PER_THREAD = 2  # CUDA's number of the default stream of whichever thread asks
Start = Callable[[int, int, int], Any]  # on a stream, with parameters at an address; 0 comes last


class Device(Functions, Protocol):
    """What a program needs of a device. A stream is its number, 0 if nobody has chosen one."""

    def load(self, sources: Sequence[CudaSource]) -> dict[str, Any]:
        """The kernels by symbol, loaded while these are kept; raises CompilerError."""

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An uninitialised C-contiguous array."""

    def zeros(self, nbytes: int) -> Any:
        """Bytes that are zero for what starts on the current stream."""

    def stream(self) -> int:
        """The stream on which launches start now; asked for once a call."""

    def kept_stream(self) -> Any:
        """That stream itself: while it is kept, no other one has its number."""

    def is_capturing(self, stream: int) -> bool:
        """True if what starts on ``stream`` is not run now but becomes part of a user's graph."""

    def hold(self, stream: int, *values: Any) -> None:
        """Keep ``values`` as long as the graph that ``stream`` is being captured into."""

    def address(self, array: Any) -> int:
        """The address of an array's first element."""

    def told(self, array: Any) -> list[int]:
        """The elements of a small array, when all is done that has been started before."""

    def cut(self, array: Any, count: int) -> Any:
        """The first ``count`` rows of ``array``, which nobody else has."""

    def starter(self, kernel: Any, prepared: Prepared) -> Start:
        """What starts ``kernel`` with parameters that a `Frame` holds."""

    def lanes(self, count: int, events: int) -> Lanes:
        """So many lanes and events, for one call after the other."""

    def graph(self, nodes: Sequence[Node]) -> Any:
        """An instance of a graph (see streams/graphs.py); raises GraphRefusedError."""


class Lanes(Protocol):
    """Streams for one call: lane 0 is the one that is current when the call begins."""

    def begin(self) -> None:
        """The current stream is lane 0 from now on."""

    def use(self, lane: int) -> int:
        """What starts from now on starts on ``lane``: its stream."""

    def record(self, event: int) -> None:
        """Record ``event`` on the lane in use."""

    def wait(self, event: int) -> None:
        """Let the lane in use wait for ``event`` as recorded last."""

    def join(self) -> None:
        """Let lane 0 wait for all that has been started on the others."""

    def end(self) -> None:
        """Lane 0 is in use as before the call, and forgotten."""


@dataclass(slots=True)
class Frame:
    """The parameters of one launch in memory, and the array of pointers to them."""

    buffer: Any
    slots: int  # address of the first of NUMBER_BYTES for each parameter
    parameters: int  # address of the array of pointers that a launch takes


class Node(NamedTuple):
    """A launch in a graph, and the places of those that it waits for."""

    kernel: Any
    prepared: Prepared
    frame: Frame
    after: tuple[int, ...]


@dataclass(slots=True)
class Prepared:
    """One launch with all that stays the same; ``bounds`` of the kernels that share it."""

    symbol: str
    parameters: tuple[tuple[str, str], ...]
    bounds: list[CudaBound]
    pointers: list[tuple[int, int]]  # for each pointer parameter: base, byte offset
    pack: Callable[..., None]
    dynamic: list[tuple[int, Callable[..., None], int]]  # byte in the slots, packer, argument
    template: bytes

    @property
    def grid(self) -> int:
        """The blocks of the launch."""
        if len(self.bounds) == 1:
            return self.bounds[0].grid
        return sum(bound.shared_grid for bound in self.bounds)

    @property
    def shared(self) -> int:
        """The bytes of shared memory that come with the launch."""
        return max(bound.shared for bound in self.bounds)

    @property
    def block(self) -> tuple[int, int]:
        """The threads of a block."""
        first = self.bounds[0]
        return first.block if len(self.bounds) == 1 else (first.geometry or first.block)[:2]

    def frame(self) -> Frame:
        """A frame of its own for one call after the other."""
        count = len(self.parameters)
        end = NUMBER_BYTES * count
        buffer = ctypes.create_string_buffer(end + 8 * count + 8)
        slots = ctypes.addressof(buffer)
        ctypes.memmove(slots, self.template, len(self.template))
        places = [slots + NUMBER_BYTES * i for i in range(count)]
        struct.pack_into(f"={count}Q", buffer, end, *places)
        return Frame(buffer, slots, slots + end)
