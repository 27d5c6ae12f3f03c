"""A program: the launches of an assembly, prepared, and run on a device with few verbs.

All that stays the same between calls is laid out once: kernels, grids, and for each launch eight
bytes for each parameter, pointers first. A call writes the pointers and launches.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any, Protocol

import numpy as np

from ..codegen import names
from ..codegen.packing import NUMBER_BYTES, packer
from ..fusion.assembly import Assembly
from ..fusion.together import Company, common
from ..graph.dtypes import DType
from ..graph.node import Node
from ..watch import Lap
from .launch import CudaBound
from .library_calls import Called, Functions, called
from .shared import limits, shared_source
from .source import CudaSource


class Layout(Protocol):
    """What a program needs of the memory plan (see streams/memory_plan.py)."""

    @property
    def block_bytes(self) -> int: ...
    @property
    def companies(self) -> Sequence[tuple[int, ...]]: ...
    @property
    def buffer_offsets(self) -> tuple[int, ...]: ...
    @property
    def workspace_offsets(self) -> tuple[int, ...]: ...
    @property
    def commands(self) -> Sequence[tuple[str, int, int]]: ...


class Device(Functions, Protocol):
    """What a program needs of a device. Arrays are the device's own."""

    def load(self, sources: Sequence[CudaSource]) -> dict[str, Any]:
        """The kernels by symbol; raises CompilerError."""

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An uninitialised C-contiguous array."""

    def zeros(self, nbytes: int) -> Any:
        """Bytes that are zero."""

    def stream(self) -> Hashable:
        """The stream on which launches start now."""

    def address(self, array: Any) -> int:
        """The address of an array's first element."""

    def launch(self, kernel: Any, prepared: Prepared, frame: Frame, bases: Sequence[Any]) -> None:
        """Start ``kernel`` on the current stream with the parameters in ``frame``."""

    def lanes(self, count: int, events: int) -> Lanes:
        """So many lanes and events, for one call after the other."""


class Lanes(Protocol):
    """Streams for one call: lane 0 is the one that is current when the call begins."""

    def begin(self) -> None:
        """The current stream is lane 0 from now on."""

    def use(self, lane: int) -> None:
        """What starts from now on starts on ``lane``."""

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
        return sum(bound.grid for bound in self.bounds)


class CudaProgram:
    """The native form of an assembly on ``device``; raises CompilerError where it has none."""

    def __init__(
        self,
        assembly: Assembly,
        sources: Sequence[CudaSource | None],
        layout: Layout,
        device: Device,
        unaligned: Callable[[], CudaProgram] | None = None,
    ) -> None:
        self._make_unaligned = unaligned
        self._unaligned: CudaProgram | None = None
        self.assembly = assembly
        self.layout = layout
        self.device = device
        buffers = assembly.buffers
        self._arguments = [b.argument for b in buffers if b.argument is not None]
        self._made = [b.output for b in buffers if b.output is not None]
        self._outputs = [(o.shape, o.dtype) for o in assembly.plan.graph.outputs]
        self._base = self._bases_of_buffers()
        # Those for which memory was planned, less those that were parted since.
        companies = common(layout.companies, assembly.companies)
        company = {c[0]: c for c in companies}
        wanted = launched(assembly, companies, sources)
        self.kernels = device.load(wanted) if wanted else {}
        self._counter_words = 0
        self._steps: list[Prepared | Called] = []
        self._commands: list[tuple[str, int, int]] = []
        for command in layout.commands:
            number = command[2]
            if command[0] == "run":
                step = assembly.steps[number]
                if isinstance(step, Node):
                    self._steps.append(called(step, assembly, self._base_of))
                elif number in company and _launched(step):
                    self._steps.append(self._prepared(company[number], sources))
                else:
                    continue
            self._commands.append(command)
        self._lane_count = 1 + max((lane for _, lane, _ in layout.commands), default=0)
        self._lanes: list[Lanes] = []
        self._counters: dict[Hashable, Any] = {}  # launches on one stream run one after the other
        self._frames: list[list[Frame]] = []

    def _bases_of_buffers(self) -> list[int]:
        """Each buffer's place among the bases: arguments, results, then the one block."""
        found, arguments, made = [], 0, len(self._arguments)
        last = len(self._arguments) + len(self._made)
        for buffer in self.assembly.buffers:
            if buffer.argument is not None:
                found.append(arguments)
                arguments += 1
            elif buffer.output is not None:
                found.append(made)
                made += 1
            else:
                found.append(last)
        return found

    def _base_of(self, buffer: int) -> tuple[int, int]:
        """The place of a buffer among the bases, and the byte at which it begins there."""
        base = self._base[buffer]
        is_inside = base == len(self._arguments) + len(self._made)
        return base, self.layout.buffer_offsets[buffer] if is_inside else 0

    # --- preparation

    def _prepared(self, company: Sequence[int], sources: Sequence[CudaSource | None]) -> Prepared:
        """The launch of a company of kernels."""
        own = [
            self._prepare(number, *_kernel(self.assembly, sources, number)) for number in company
        ]
        if len(own) == 1:
            return own[0]
        source = company_source(company, sources)
        pointers = [p for one in own for p in one.pointers]
        template = bytes(NUMBER_BYTES * len(pointers))
        dynamic: list[tuple[int, Callable[..., None], int]] = []
        for one in own:
            skipped = NUMBER_BYTES * len(one.pointers)
            moved = len(template) - skipped
            dynamic += [(at + moved, pack, number) for at, pack, number in one.dynamic]
            template += one.template[skipped:]
        bounds = [bound for one in own for bound in one.bounds]
        template += limits([bound.grid for bound in bounds])
        pack = struct.Struct("=" + len(pointers) * "Q8x").pack_into
        return Prepared(source.symbol, source.parameters, bounds, pointers, pack, dynamic, template)

    def _prepare(self, number: int, bound: CudaBound, source: CudaSource) -> Prepared:
        kernel = bound.lowered.ir
        address_forms = [f for f, form in enumerate(kernel.forms) if form.dtype is not None]
        by_name = {names.pointer(kernel, f): i for i, f in enumerate(address_forms)}
        pointers: list[tuple[int, int]] = []
        dynamic: list[tuple[int, Callable[..., None], int]] = []
        template = b""
        for at, (name, ctype) in enumerate(source.parameters):
            if "*" in ctype:
                assert at == len(pointers), "pointers come first"
                pointers.append(self._pointer(number, bound, name, by_name))
                template += bytes(NUMBER_BYTES)
            elif name[0] == "k" and name[1:].isdigit():
                node = bound.lowered.scalars[int(name[1:])]
                if node.op == "constant":
                    assert isinstance(node.attr, bytes)
                    template += node.attr.ljust(NUMBER_BYTES, b"\0")
                else:
                    number = node.parameter.number
                    dynamic.append((NUMBER_BYTES * at, packer(node.dtype), number))
                    template += bytes(NUMBER_BYTES)
            else:
                template += struct.pack("=q8x", bound.integers[name])
        self._counter_words += bound.counters
        pack = struct.Struct("=" + len(pointers) * "Q8x").pack_into
        return Prepared(
            source.symbol, source.parameters, [bound], pointers, pack, dynamic, template
        )

    def _pointer(
        self, number: int, bound: CudaBound, name: str, by_name: dict[str, int]
    ) -> tuple[int, int]:
        block = len(self._arguments) + len(self._made)
        if name in by_name:
            i = by_name[name]
            base, inside = self._base_of(bound.buffers[i])
            return base, bound.offsets[i] + inside
        start = bound.areas[name]
        if start < 0:  # a counter
            return block + 1, 4 * (self._counter_words - 1 - start)
        return block, self.layout.workspace_offsets[number] + start

    def _frame(self) -> list[Frame]:
        try:
            return self._frames.pop()
        except IndexError:
            return [_new_frame(p) for p in self._steps if isinstance(p, Prepared)]

    # --- calls

    def __call__(self, arguments: Sequence[Any], lap: Lap | None = None) -> list[Any]:
        """The results, in the order of the outputs; None for one that overwrote its argument.

        ``lap`` is called before the first launch and after each has been started.
        """
        frames = self._frame()
        try:
            return self._call(frames, arguments, lap)
        finally:
            self._frames.append(frames)

    def _counters_of(self, stream: Hashable) -> Any:
        """Zeroed counters for launches on the current ``stream``, which run one after the other.

        Each thread has a stream of its own behind the one number of the per-thread default stream.
        """
        key = stream, get_ident() if stream == _PER_THREAD else 0
        if key not in self._counters:
            self._counters[key] = self.device.zeros(4 * max(1, self._counter_words))
        return self._counters[key]

    def _call(self, frames: list[Frame], arguments: Sequence[Any], lap: Lap | None) -> list[Any]:
        device = self.device
        given = [arguments[n] for n in self._arguments]
        if self._make_unaligned is not None and any(device.address(a) & 15 for a in given):
            if self._unaligned is None:
                self._unaligned = self._make_unaligned()
            return self._unaligned(arguments, lap)
        made = [device.empty(*self._outputs[i]) for i in self._made]
        bases = given + made
        bases.append(device.empty((max(self.layout.block_bytes, 1),), _BYTE))
        bases.append(self._counters_of(device.stream()))
        addresses = [device.address(b) for b in bases]
        steps = self._started(frames, arguments, bases, addresses)
        if self._lane_count > 1 and lap is None:
            self._on_lanes(steps)
        else:  # what is measured runs on one stream, in the order in which it would be issued
            if lap is not None:
                lap()
            for kernels in steps:
                if lap is not None:
                    for _ in range(kernels):  # of a launch: its time is that of the first
                        lap()
        results: list[Any] = [None] * len(self._outputs)
        for i, array in zip(self._made, made, strict=True):
            results[i] = array
        return results

    def _started(
        self,
        frames: list[Frame],
        arguments: Sequence[Any],
        bases: list[Any],
        addresses: list[int],
    ) -> Iterator[int]:
        """Start one step after the other, each when the next item is asked for: its kernels."""
        frame = iter(frames)
        launch = self.device.launch
        for step in self._steps:
            if isinstance(step, Called):
                step.start(self.device, bases)
                yield 1
            else:
                now = next(frame)
                step.pack(now.buffer, 0, *[addresses[b] + offset for b, offset in step.pointers])
                for at, pack, number in step.dynamic:
                    pack(now.buffer, at, arguments[number])
                launch(self.kernels[step.symbol], step, now, bases)
                yield len(step.bounds)

    def _on_lanes(self, steps: Iterator[int]) -> None:
        """Start the steps on their lanes; whatever happens, lane 0 is current again and is last."""
        lanes = self._free_lanes()
        lanes.begin()
        used = 0
        try:
            for kind, lane, number in self._commands:
                if lane != used:
                    lanes.use(lane)
                    used = lane
                if kind == "run":
                    next(steps)
                elif kind == "record":
                    lanes.record(number)
                else:
                    lanes.wait(number)
        except BaseException:
            lanes.join()
            raise
        finally:
            lanes.end()
            self._lanes.append(lanes)

    def _free_lanes(self) -> Lanes:
        try:
            return self._lanes.pop()
        except IndexError:
            events = sum(kind == "record" for kind, _, _ in self._commands)
            return self.device.lanes(self._lane_count, events)


def launched(
    assembly: Assembly, companies: Sequence[Company], sources: Sequence[CudaSource | None]
) -> list[CudaSource]:
    """The sources of the launches that have anything to do."""
    launches = [c for c in companies if _launched(assembly.steps[c[0]])]
    return [company_source(company, sources) for company in launches]


def company_source(company: Sequence[int], sources: Sequence[CudaSource | None]) -> CudaSource:
    """The source of a launch, which may be of several kernels."""
    found = [s for n in company if (s := sources[n]) is not None]
    return found[0] if len(found) == 1 else shared_source(found)


def _kernel(
    assembly: Assembly, sources: Sequence[CudaSource | None], number: int
) -> tuple[CudaBound, CudaSource]:
    step, source = assembly.steps[number], sources[number]
    assert isinstance(step, CudaBound) and source is not None
    return step, source


def _launched(step: Any) -> bool:
    return not isinstance(step, Node) and bool(step.launched)


def _new_frame(prepared: Prepared) -> Frame:
    count = len(prepared.parameters)
    end = NUMBER_BYTES * count
    buffer = ctypes.create_string_buffer(end + 8 * count + 8)
    slots = ctypes.addressof(buffer)
    ctypes.memmove(slots, prepared.template, len(prepared.template))
    places = [slots + NUMBER_BYTES * i for i in range(count)]
    struct.pack_into(f"={count}Q", buffer, end, *places)
    return Frame(buffer, slots, slots + end)


_BYTE = np.dtype(np.uint8)
_PER_THREAD = 2  # CUDA's number of the default stream of whichever thread asks


__all__ = ["CudaProgram", "Device", "Frame", "Prepared", "launched"]
