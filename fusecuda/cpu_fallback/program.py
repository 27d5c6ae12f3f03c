"""A program: the launches of an assembly in native form, run by the driver in one call.

Everything that stays the same from call to call (kernels, extents, strides, offsets, constants) is
laid out once. A call fills a frame with the array objects at hand and calls the driver, which reads
their data pointers itself.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..codegen.packing import NUMBER_BYTES, packer
from ..errors import CompilerError
from ..fusion.assembly import Assembly
from ..fusion.binding import Bound
from ..graph.dtypes import DType
from ..graph.interpret import evaluate
from ..graph.node import Node
from ..watch import Lap
from .backend import compile_kernels, load_driver
from .loader import KernelSource
from .pool import pool
from .threads import set_thread_count, thread_count

__all__ = ["ElementError", "Layout", "Program", "set_thread_count", "thread_count"]

Array = np.ndarray[Any, Any]
_KEPT_BLOCK = 1 << 20  # a block of temporaries up to this size stays with its frame
_FRAME_WORDS = 7
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


def _data_offset() -> int | None:
    """Where an ndarray object holds its data pointer: behind the head, as NumPy's ABI says.

    None where it does not, or where `id` is no address; then NumPy is asked at each call.
    """
    offset = object.__basicsize__
    if sys.implementation.name != "cpython" or np.ndarray.__basicsize__ < offset + _POINTER:
        return None
    for probe in (np.empty(3), np.empty((2, 2), np.int8)[1:]):
        if ctypes.c_void_p.from_address(id(probe) + offset).value != probe.ctypes.data:
            return None
    return offset


_DATA = _data_offset()
_POINTER_BYTES = struct.calcsize("P")


def _refuse_unfit() -> None:
    """Raise CompilerError where kernels cannot be called: frames hold pointers in 64-bit words."""
    if _POINTER_BYTES != 8:
        raise CompilerError(
            f"kernels need 64-bit pointers, and those of this Python have {8 * _POINTER_BYTES} bits"
        )


_driver: list[Callable[[int, int, int, int], None]] = []


def _run_function() -> Callable[[int, int, int, int], None]:
    """The process's one driver, whose threads all launches share."""
    if not _driver:
        _driver.append(_RUN(load_driver().address()))
    return _driver[0]


class ElementError(Exception):
    """Some element could not be computed; ``node`` is the operation (the caller says the line)."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.op)
        self.node = node


@dataclass(slots=True)
class _Frame:
    """One call's memory in the driver's layout, reused by later calls."""

    buffer: ctypes.Array[ctypes.c_char]
    address: int
    block: Array | None
    status: Array


class Program:
    """The native form of an assembly. Raises CompilerError if its kernels cannot be compiled."""

    def __init__(
        self,
        assembly: Assembly,
        sources: Sequence[KernelSource | None],
        layout: Layout,
        traffic: bool = False,
    ) -> None:
        _refuse_unfit()
        self.assembly = assembly
        self.layout = layout
        self.threads = 1 if traffic else layout.threads
        wanted = [
            source
            for step, source in zip(assembly.steps, sources, strict=True)
            if source is not None and isinstance(step, Bound) and step.launched
        ]
        kernels = compile_kernels(wanted, traffic) if wanted else {}
        self.libraries = [k.library for k in kernels.values()]
        self._keep: list[object] = [kernels]
        # Addresses of kernels, in companies and apart, and how many; or a library call.
        self._segments: list[tuple[int, int, int] | Node] = []
        self._constants = bytearray()
        self._dynamic: list[tuple[int, int, Callable[..., None]]] = []  # argument, byte, packer
        self._sites: list[tuple[int, Bound]] = []
        self._run = _run_function() if kernels else _RUN()
        records: list[list[int]] = []
        for company in layout.companies:
            if company[0] == len(assembly.steps) - assembly.plan.commits:
                self._flush(records)
            first = assembly.steps[company[0]]
            if isinstance(first, Node):
                self._flush(records)
                self._segments.append(first)
                continue
            for number in company:
                step, source = assembly.steps[number], sources[number]
                if source is None or isinstance(step, Node) or not step.launched:
                    continue
                assert isinstance(step, Bound)
                kernel = kernels[source.symbol]
                addresses = kernel.address(), kernel.address("_finish")
                own = len(company) if number == company[0] else 1
                records.append([*self._record(number, step, addresses), own])
        self._flush(records)
        self._arguments = [b.argument for b in assembly.buffers if b.argument is not None]
        shapes = [(o.shape, o.dtype) for o in assembly.plan.graph.outputs]
        made = [b.output for b in assembly.buffers if b.output is not None]
        self._made = [(i, *shapes[i]) for i in made]
        self._pack = struct.Struct(f"={2 + len(self._arguments) + len(made) + 1}q").pack_into
        self._frames: list[_Frame] = []
        self._placed: Sequence[Array] | None = None

    def place_results(self, arrays: Sequence[Array]) -> None:
        """Let every call write its results into ``arrays``, one for each output."""
        self._placed = arrays

    def _record(self, number: int, step: Bound, addresses: tuple[int, int]) -> list[int]:
        """The words of one fc_launch (see abi.h), but for the last."""
        layout = self.layout
        places: list[int] = []
        for buffer, offset in zip(step.buffers, step.offsets, strict=True):
            spec = self.assembly.buffers[buffer]
            if spec.argument is None and spec.output is None:
                places += [self._last_base(), offset + layout.buffer_offsets[buffer]]
            else:
                places += [self._base(buffer), offset]
        first = len(self._constants) // NUMBER_BYTES
        for node in step.lowered.scalars:
            self._scalar(node)
        if step.lowered.sites:
            self._sites.append((number, step))
        return [
            *addresses,
            self._array(step.dims),
            self._array(places),
            len(step.buffers),
            step.work,
            step.grain,
            first,
            number,
            layout.workspace_offsets[number],
            layout.scratch_offsets[number],
            step.scratch,
        ]

    def _base(self, buffer: int) -> int:
        """The place of an argument or result among the bases: arguments first."""
        buffers = self.assembly.buffers
        own = buffers[buffer]
        if own.argument is not None:
            return sum(b.argument is not None for b in buffers[:buffer])
        arguments = sum(b.argument is not None for b in buffers)
        return arguments + sum(b.output is not None for b in buffers[:buffer])

    def _last_base(self) -> int:
        return sum(b.argument is not None or b.output is not None for b in self.assembly.buffers)

    def _array(self, words: Sequence[int]) -> int:
        """The address of an array of 64-bit words that lives as long as the program."""
        array = (ctypes.c_int64 * max(1, len(words)))(*words)
        self._keep.append(array)
        return ctypes.addressof(array)

    def _scalar(self, node: Node) -> None:
        if node.op == "constant":
            assert isinstance(node.attr, bytes)
            self._constants += node.attr.ljust(NUMBER_BYTES, b"\0")
        else:
            pack = packer(node.dtype)
            self._dynamic.append((node.parameter.number, len(self._constants), pack))
            self._constants += bytes(NUMBER_BYTES)

    def _flush(self, records: list[list[int]]) -> None:
        if records:
            words = [w for record in records for w in record]
            apart = [w for record in records for w in (*record[:-1], 1)]
            self._segments.append((self._array(words), self._array(apart), len(records)))
            self._launch_bytes = 8 * len(records[0])  # of one fc_launch
            records.clear()

    # --- calls

    def _frame(self) -> _Frame:
        """A frame of this program that no other call is using."""
        try:
            return self._frames.pop()
        except IndexError:
            pass
        bases = len(self._arguments) + len(self._made) + 1
        steps = len(self.assembly.steps)
        forms = max(map(self._forms_of, self.layout.companies), default=0)
        scalar = 8 * (_FRAME_WORDS + bases)
        status = scalar + len(self._constants)
        pointers = status + 8 * steps
        buffer = ctypes.create_string_buffer(pointers + 8 * forms + 8)
        address = ctypes.addressof(buffer)
        head = (address + scalar, address + status, address + pointers)
        struct.pack_into("=7q", buffer, 0, *head, address + 8 * _FRAME_WORDS, bases, 0, 0)
        ctypes.memmove(address + scalar, bytes(self._constants), len(self._constants))
        size = self.layout.block_bytes
        block = np.empty(max(size, 8), np.uint8) if size <= _KEPT_BLOCK else None
        return _Frame(
            buffer, address, block, np.frombuffer(memoryview(buffer), np.int64, steps, status)
        )

    def _forms_of(self, company: Sequence[int]) -> int:
        steps = [self.assembly.steps[number] for number in company]
        return sum(len(step.buffers) for step in steps if isinstance(step, Bound))

    def __call__(self, arguments: Sequence[Any], lap: Lap | None = None) -> list[Array | None]:
        """The results, in the order of the outputs; None for one that overwrote its argument.

        ``arguments`` are indexed by parameter number. Raises ElementError for an element that
        may not be computed; arguments are then as they were. ``lap`` is called before the first
        launch and after each, library calls among them.
        """
        frame = self._frame()
        try:
            return self._call(frame, arguments, lap)
        finally:
            self._frames.append(frame)

    def _call(self, frame: _Frame, arguments: Sequence[Any], lap: Lap | None) -> list[Array | None]:
        arrays = [arguments[n] for n in self._arguments]
        if self._placed is None:
            made = [pool.empty(shape, dtype) for _, shape, dtype in self._made]
        else:
            made = [self._placed[i] for i, _, _ in self._made]
        block = frame.block
        if block is None:
            block = pool.empty((self.layout.block_bytes,), _BYTE)
        buffer = frame.buffer
        bases = len(arrays) + len(made) + 1
        if _DATA is None:
            addresses = [a.ctypes.data for a in (*arrays, *made, block)]
            self._pack(buffer, 40, 0, 0, *addresses)
        else:
            self._pack(buffer, 40, bases, _DATA, *map(id, arrays), *map(id, made), id(block))
        scalar = 8 * (_FRAME_WORDS + bases)
        for number, offset, pack in self._dynamic:
            pack(buffer, scalar + offset, arguments[number])
        commits = len(self._segments) - bool(self.assembly.plan.commits)
        run = self._run if lap is None else self._measured(lap)
        for i, segment in enumerate(self._segments):
            if i == commits and self._sites:
                self._check(frame)
            if isinstance(segment, Node):
                self._library(segment, [*arrays, *made, block], lap)
            else:
                run(segment[lap is not None], segment[2], frame.address, self.threads)
        if self._sites:
            self._check(frame)
        results: list[Array | None] = [None] * len(self.assembly.plan.graph.outputs)
        for (i, _, _), array in zip(self._made, made, strict=True):
            results[i] = array
        return results

    def _measured(self, lap: Lap) -> Callable[[int, int, int, int], None]:
        """The driver's entry, kernel by kernel with a ``lap`` after each."""

        def run(launches: int, count: int, frame: int, threads: int) -> None:
            for number in range(count):
                self._run(launches + number * self._launch_bytes, 1, frame, threads)
                lap()

        lap()
        return run

    def _check(self, frame: _Frame) -> None:
        """Raise ElementError if a kernel has set its status word."""
        for number, step in self._sites:
            site = int(frame.status[number])
            if site:
                frame.status[:] = 0
                raise ElementError(step.lowered.sites[site - 1])

    def _library(self, node: Node, bases: list[Array], lap: Lap | None) -> None:
        operands = [self._view(o, bases) for o in node.operands]
        self._view(node, bases)[...] = evaluate(node, operands)
        if lap is not None:
            lap()

    def _view(self, node: Node, bases: list[Array]) -> Array:
        """``node``'s memory as an array; never handed out."""
        if node.op == "constant":
            return np.asarray(node.value)
        memory = self.assembly.memory(node)
        spec = self.assembly.buffers[memory.buffer]
        if spec.argument is None and spec.output is None:
            offset = memory.offset + self.layout.buffer_offsets[memory.buffer]
            return np.ndarray(node.shape, node.dtype, bases[-1], offset, memory.strides)
        base = bases[self._base(memory.buffer)]
        if 0 in node.shape:
            return np.empty(node.shape, node.dtype)
        start = base.reshape(-1)[:0] if base.size == 0 else base
        address = start.__array_interface__["data"][0] + memory.offset
        window = _Window(address, node.shape, memory.strides, node.dtype, base)
        return np.asarray(window)


class _Window:
    """Memory of another array under its own shape and strides, for `numpy.asarray`."""

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: DType,
        base: Array,
    ) -> None:
        self.base = base
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
        }


_BYTE = np.dtype(np.uint8)


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
    def scratch_offsets(self) -> tuple[int, ...]: ...
    @property
    def threads(self) -> int: ...
