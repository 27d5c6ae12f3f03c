"""A program: the launches of an assembly in native form, run by the driver in one call.

Everything that stays the same from call to call (kernels, extents, strides, offsets, constants) is
laid out once. A call fills a frame with the array objects at hand and calls the driver, which reads
their data pointers itself.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..codegen.packing import NUMBER_BYTES, packer
from ..errors import CompilerError
from ..fusion.assembly import Assembly
from ..fusion.binding import Bound
from ..graph.dtypes import DType
from ..graph.interpret import evaluate
from ..graph.node import Node
from ..watch import Lap
from .array_object import data_offset, shows_layouts
from .backend import compile_kernels, load_driver
from .loader import KernelSource
from .pool import SMALLEST, pool
from .threads import set_thread_count, thread_count

__all__ = ["ElementError", "Layout", "Program", "set_thread_count", "thread_count"]

Array = np.ndarray[Any, Any]
_KEPT_BLOCK = 1 << 20  # a block of temporaries up to this size stays with its frame
_FRAME_WORDS = 11  # of fc_frame
_NOW = 8 * 6  # the byte at which a frame says what is to be run
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


_DATA = data_offset()
_POINTER_BYTES = struct.calcsize("P")
_LAYOUTS = _POINTER_BYTES == 8 and shows_layouts(_DATA)


def _refuse_unfit() -> None:
    """Raise CompilerError where kernels cannot be called: frames hold pointers in 64-bit words."""
    if _POINTER_BYTES != 8:
        raise CompilerError(
            f"kernels need 64-bit pointers, and those of this Python have {8 * _POINTER_BYTES} bits"
        )


_driver: list[Callable[[int], None]] = []


def _run_function() -> Callable[[int], None]:
    """The process's one driver, whose threads all launches share."""
    if not _driver:
        _driver.append(_RUN(load_driver().address()))
    return _driver[0]


class ElementError(Exception):
    """Some element could not be computed; ``node`` is the operation (the caller says the line)."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.op)
        self.node = node


class _Frame(NamedTuple):
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
        self._pack = struct.Struct(f"={3 + len(self._arguments) + len(made) + 1}q").pack_into
        self._frames: list[_Frame] = []
        self._placed: Sequence[Array] | None = None
        self.call: Callable[..., list[Array | None]] = self._straight()
        self.checked = self._straight(is_checked=True) if self._checks() else None
        self._timed: Callable[..., list[Array | None]] | None = None

    def place_results(self, arrays: Sequence[Array]) -> None:
        """Let every call write its results into ``arrays``, one for each output."""
        self._placed = arrays
        self.call, self.checked = self._straight(), None

    def _checks(self) -> bool:
        """True if the driver can see whether arguments are what the program is for."""
        begins = bool(self._segments) and not isinstance(self._segments[0], Node)
        return _LAYOUTS and begins and self._placed is None

    def _layouts(self) -> int:
        """The address of what `fc_fits` compares arguments with."""
        words = [len(self._arguments), id(np.ndarray)]
        for number in self._arguments:
            shape, strides, dtype = self.assembly.layout_of(number)
            self._keep.append(dtype)
            words += [len(shape), id(dtype), *shape, *strides]
        return self._array(words)

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
        natives = [s for s in self._segments if not isinstance(s, Node)]
        (launches, _, count) = natives[0] if natives else (0, 0, 0)
        words = *head, address + 8 * _FRAME_WORDS, bases, self.threads, launches, count
        struct.pack_into("=8q", buffer, 0, *words)
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
        if lap is None:
            return self.call(arguments)
        if self._timed is None:
            self._timed = self._straight(is_timed=True)
        return self._timed(arguments, lap)

    def _straight(self, is_timed: bool = False, is_checked: bool = False) -> Callable[..., Any]:
        """A call as one function of straight lines: it costs what it does and no more.

        If ``is_checked`` the function gives None where the arguments are not what they have to be.
        """
        bases = [f"a{n}" for n in self._arguments] + [f"r{i}" for i, _, _ in self._made] + ["block"]
        space: dict[str, Any] = {
            "frames": self._frames, "new_frame": self._frame, "pool_empty": pool.empty,
            "run": self._run, "now": struct.Struct("=2q").pack_into, "pack": self._pack,
            "check": self._check, "library": self._library, "numpy_empty": np.empty,
        }  # fmt: skip
        lines = [f"a{n} = arguments[{n}]" for n in self._arguments]
        for i, shape, dtype in self._made:
            space |= {f"shape{i}": shape, f"dtype{i}": dtype}
            small = math.prod(shape) * dtype.itemsize < SMALLEST
            lines.append(f"r{i} = {'numpy' if small else 'pool'}_empty(shape{i}, dtype{i})")
        if self._placed is not None:
            lines = lines[: len(self._arguments)]
            lines += [f"r{i} = placed[{i}]" for i, _, _ in self._made]
            space["placed"] = self._placed
        if self.layout.block_bytes > _KEPT_BLOCK:
            space |= {"block_shape": (self.layout.block_bytes,), "block_dtype": _BYTE}
            lines.append("block = pool_empty(block_shape, block_dtype)")
        unresolved = (0, 0) if _DATA is None else (len(bases), _DATA)
        addresses = ", ".join(f"{b}.ctypes.data" if _DATA is None else f"id({b})" for b in bases)
        known = *unresolved, self._layouts() if is_checked else 0
        lines.append(f"pack(buffer, {_NOW + 16}, {', '.join(map(str, known))}, {addresses})")
        for k, (number, offset, pack) in enumerate(self._dynamic):
            space[f"pack{k}"] = pack
            scalar = 8 * (_FRAME_WORDS + len(bases)) + offset
            lines.append(f"pack{k}(buffer, {scalar}, arguments[{number}])")
        lines += ["lap()"] * is_timed
        for i, segment in enumerate(self._segments):
            if i == len(self._segments) - bool(self.assembly.plan.commits) and self._sites:
                lines.append("check(frame)")
            if isinstance(segment, Node):
                space[f"node{i}"] = segment
                lines.append(f"library(node{i}, ({', '.join(bases)},))")
                lines += ["lap()"] * is_timed
            else:
                lines += self._runs(segment, is_timed)
                if is_checked and i == 0:
                    lines[-1] = "if run(address): return None"
        lines += ["check(frame)"] * bool(self._sites)
        made = {i for i, _, _ in self._made}
        outputs = range(len(self.assembly.plan.graph.outputs))
        results = ", ".join(f"r{i}" if i in made else "None" for i in outputs)
        source = [
            f"def call(arguments{', lap' * is_timed}):",
            "    try: frame = frames.pop()",
            "    except IndexError: frame = new_frame()",
            "    buffer, address, block, _ = frame",
            "    try:",
            *(f"        {line}" for line in lines),
            "    finally: frames.append(frame)",
            f"    return [{results}]",
        ]
        exec(compile("\n".join(source), "<fusecuda call>", "exec"), space)
        return space["call"]  # type: ignore[no-any-return]

    def _runs(self, segment: tuple[int, int, int], is_timed: bool) -> list[str]:
        """The lines that run kernels, those of a call with one segment as a frame says already."""
        together, apart, count = segment
        natives = sum(not isinstance(s, Node) for s in self._segments)
        if not is_timed:
            return [f"now(buffer, {_NOW}, {together}, {count})"] * (natives > 1) + ["run(address)"]
        lines = []
        for number in range(count):
            lines += [f"now(buffer, {_NOW}, {apart + number * self._launch_bytes}, 1)"]
            lines += ["run(address)", "lap()"]
        return [*lines, f"now(buffer, {_NOW}, {together}, {count})"]

    def _check(self, frame: _Frame) -> None:
        """Raise ElementError if a kernel has set its status word."""
        for number, step in self._sites:
            site = int(frame.status[number])
            if site:
                frame.status[:] = 0
                raise ElementError(step.lowered.sites[site - 1])

    def _library(self, node: Node, bases: Sequence[Array]) -> None:
        operands = [self._view(o, bases) for o in node.operands]
        self._view(node, bases)[...] = evaluate(node, operands)

    def _view(self, node: Node, bases: Sequence[Array]) -> Array:
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
