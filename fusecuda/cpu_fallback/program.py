"""A program: the launches of a blueprint in native form, run by the driver in one call.

Everything that stays the same from call to call (kernels, extents, strides, offsets, constants) is
laid out once. A call fills a frame with the array objects at hand and calls the driver, which reads
their data pointers itself.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..codegen.packing import NUMBER_BYTES, packer
from ..graph.node import Node
from ..watch import Lap
from .array_object import data_offset, layout_words
from .bands import Series, together
from .blueprint import Blueprint, Called, Launched
from .driver import NOTHING, refuse_unfit, run_function
from .kernels import compile_kernels
from .library_calls import Views, has_threads, step_of
from .loader import KernelSource, LoadedKernel
from .looks import FRAME_WORDS, LAYOUTS
from .pool import SMALLEST, cut, pool
from .threads import set_thread_count, thread_count

__all__ = ["ElementError", "Program", "set_thread_count", "thread_count"]

Array = np.ndarray[Any, Any]
_KEPT_BLOCK = 1 << 20  # a block of temporaries up to this size stays with its frame
_NOW = 8 * 6  # the byte at which a frame says what is to be run
_STATUS_WORDS = 2  # of a step: the site of an element that failed, how many are picked

_DATA = data_offset()


class ElementError(Exception):
    """Some element could not be computed; ``node`` is the operation (the caller says the line)."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.op)
        self.node = node


class _Launches(NamedTuple):
    """Addresses of the kernels of a part, in companies and apart, and how many they are."""

    together: int
    apart: int
    kernels: int


class _Frame(NamedTuple):
    """One call's memory in the driver's layout, reused by later calls."""

    buffer: ctypes.Array[ctypes.c_char]
    address: int
    block: Array | None
    status: Array
    views: list[Array]  # of the block, as library calls see it


class Program:
    """The native form of a blueprint. Raises CompilerError if its kernels cannot be compiled.

    ``sources`` are those of its steps, None for one that is not a kernel's.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        sources: Sequence[KernelSource | None],
        traffic: bool = False,
    ) -> None:
        refuse_unfit()
        self.blueprint = blueprint
        self.threads = 1 if traffic else blueprint.threads
        self._series = () if traffic else blueprint.series  # accesses are counted without
        steps = zip(blueprint.steps, sources, strict=True)
        wanted = [s for step, s in steps if s is not None and isinstance(step, Launched)]
        kernels = compile_kernels(wanted, traffic) if wanted else {}
        self.libraries = [k.library for k in kernels.values()]
        self._keep: list[object] = [kernels]
        self._parts: list[_Launches | Called] = []
        self._constants = bytearray()
        self._dynamic: list[tuple[int, int, Callable[..., None]]] = []  # argument, byte, packer
        self._sites: list[tuple[int, Launched]] = []
        self._run = run_function() if kernels else NOTHING
        self._lay_out(kernels)
        self._arguments = [argument.number for argument in blueprint.arguments]
        made = [b.output for b in blueprint.buffers if b.output is not None]
        self._made = [(i, *blueprint.outputs[i]) for i in made]
        self._pack = struct.Struct(f"={3 + len(self._arguments) + len(made) + 1}q").pack_into
        self._frames: list[_Frame] = []
        self._views = Views(blueprint, blueprint.block_bytes <= _KEPT_BLOCK)
        self._placed: Sequence[Array] | None = None
        self.call: Callable[..., list[Array | None]] = self._straight()
        self.checked = self._straight(is_checked=True) if self._checks() else None
        self._timed: Callable[..., list[Array | None]] | None = None

    def _lay_out(self, kernels: Mapping[str, LoadedKernel]) -> None:
        """Make the parts: runs of launches, of which the driver reads records, and calls."""
        steps = self.blueprint.steps
        records: list[list[int]] = []
        series = {one.steps[0]: one for one in self._series}
        for company in together(self.blueprint.companies, series.values()):
            if company[0] == len(steps) - self.blueprint.commits:
                self._flush(records)
            first = steps[company[0]]
            if isinstance(first, Called):
                self._flush(records)
                self._parts.append(first)
                continue
            for number in company:
                step = steps[number]
                if not isinstance(step, Launched):
                    continue
                kernel = kernels[step.symbol]
                addresses = kernel.address(), kernel.address("_finish")
                own = len(company) if number == company[0] else 1
                score = self._score(series[number]) if number in series else 0
                records.append([*self._record(number, step, addresses), score, own])
        self._flush(records)

    def place_results(self, arrays: Sequence[Array]) -> None:
        """Let every call write its results into ``arrays``, one for each output."""
        self._placed = arrays
        self.call, self.checked = self._straight(), None

    def _checks(self) -> bool:
        """True if the driver can see whether arguments are what the program is for."""
        runs = any(not isinstance(s, Called) for s in self._parts)
        return LAYOUTS and runs and self._placed is None

    def _layouts(self) -> int:
        """The address of what `fc_fits` compares arguments with."""
        arguments = self.blueprint.arguments
        self._keep += [a.dtype.type for a in arguments]
        layouts = [(a.shape, a.strides, a.dtype) for a in arguments]
        words = layout_words(layouts, [a.is_written for a in arguments])
        return self._array(words)

    def _record(self, number: int, step: Launched, addresses: tuple[int, int]) -> list[int]:
        """The words of one fc_launch (see abi.h), but for the last two."""
        plan = self.blueprint
        places: list[int] = []
        for buffer, offset in step.places:
            spec = plan.buffers[buffer]
            if spec.argument is None and spec.output is None:
                places += [self._last_base(), offset + plan.buffer_offsets[buffer]]
            else:
                places += [self._base(buffer), offset]
        first = len(self._constants) // NUMBER_BYTES
        for node in step.scalars:
            self._scalar(node)
        if step.sites:
            self._sites.append((number, step))
        return [
            *addresses,
            self._array(step.dims),
            self._array(places),
            len(step.places),
            step.work,
            self._grain(step),
            first,
            _STATUS_WORDS * number,
            plan.workspace_offsets[number],
            plan.scratch_offsets[number],
            step.scratch,
            step.phases,
            int(step.streams and all(number not in one.inner for one in self._series)),
            int(step.again),
        ]

    def _score(self, series: Series) -> int:
        """The address of what the driver does for a series (see abi.h)."""
        steps = [self.blueprint.steps[number] for number in series.steps]
        streams = any(s.streams for s in steps if isinstance(s, Launched))
        head = [series.place, series.room, int(streams), len(series.scores)]
        at = [*accumulate(map(len, series.scores), initial=len(head) + len(series.scores))]
        return self._array([*head, *at[:-1], *(word for score in series.scores for word in score)])

    def _grain(self, step: Launched) -> int:
        """The grain of a launch; of a compaction, whose runs are joined, one for each thread."""
        if not step.compacts:
            return step.grain
        return max(step.grain, step.work // self.threads)

    def _base(self, buffer: int) -> int:
        """The place of an argument or result among the bases: arguments first."""
        buffers = self.blueprint.buffers
        own = buffers[buffer]
        if own.argument is not None:
            return sum(b.argument is not None for b in buffers[:buffer])
        arguments = sum(b.argument is not None for b in buffers)
        return arguments + sum(b.output is not None for b in buffers[:buffer])

    def _last_base(self) -> int:
        return sum(b.argument is not None or b.output is not None for b in self.blueprint.buffers)

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
            apart = [w for record in records for w in (*record[:-2], 0, 1)]
            self._parts.append(_Launches(self._array(words), self._array(apart), len(records)))
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
        words_of_status = _STATUS_WORDS * len(self.blueprint.steps)
        forms = max(map(self._forms_of, self.blueprint.companies), default=0)
        forms = max(forms, 2 * len(self._arguments))  # or where arguments begin and end
        scalar = 8 * (FRAME_WORDS + bases)
        status = scalar + len(self._constants)
        pointers = status + 8 * words_of_status
        buffer = ctypes.create_string_buffer(pointers + 8 * forms + 8)
        address = ctypes.addressof(buffer)
        head = (address + scalar, address + status, address + pointers)
        begins = any(isinstance(s, _Launches) for s in self._parts[:1])
        now = self._says(0) if begins else (0, 0, 0)
        place = address + 8 * FRAME_WORDS
        struct.pack_into("=9q", buffer, 0, *head, place, bases, self.threads, *now)
        ctypes.memmove(address + scalar, bytes(self._constants), len(self._constants))
        size = self.blueprint.block_bytes
        block = np.empty(max(size, 8), np.uint8) if size <= _KEPT_BLOCK else None
        words = np.frombuffer(memoryview(buffer), np.int64, words_of_status, status)
        return _Frame(buffer, address, block, words, self._views.of_block(block))

    def _forms_of(self, company: Sequence[int]) -> int:
        steps = [self.blueprint.steps[number] for number in company]
        return sum(len(step.places) for step in steps if isinstance(step, Launched))

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
            "run": self._run, "now": struct.Struct("=3q").pack_into, "pack": self._pack,
            "check": self._check, "numpy_empty": np.empty, "cut": cut,
        }  # fmt: skip
        lines = self._memory(space) + self._filled(space, bases, is_checked)
        lines += self._steps(space, is_timed, is_checked)
        for i, number in self.blueprint.cuts:
            lines.append(f"r{i} = cut(r{i}, int(status[{_STATUS_WORDS * number + 1}]))")
        space |= self._views.space
        made = {i for i, _, _ in self._made}
        outputs = range(len(self.blueprint.outputs))
        results = ", ".join(f"r{i}" if i in made else "None" for i in outputs)
        source = [
            f"def call(arguments{', lap' * is_timed}):",
            "    try: frame = frames.pop()",
            "    except IndexError: frame = new_frame()",
            "    buffer, address, block, status, views = frame",
            "    try:",
            *(f"        {line}" for line in lines),
            "    finally: frames.append(frame)",
            f"    return [{results}]",
        ]
        exec(compile("\n".join(source), "<fusecuda call>", "exec"), space)
        return space["call"]  # type: ignore[no-any-return]

    def _memory(self, space: dict[str, Any]) -> list[str]:
        """The lines that name the arguments, and make results and the block of temporaries."""
        lines = [f"a{n} = arguments[{n}]" for n in self._arguments]
        if self._placed is not None:
            space["placed"] = self._placed
            lines += [f"r{i} = placed[{i}]" for i, _, _ in self._made]
        else:
            for i, shape, dtype in self._made:
                space |= {f"shape{i}": shape, f"dtype{i}": dtype}
                small = math.prod(shape) * dtype.itemsize < SMALLEST
                lines.append(f"r{i} = {'numpy' if small else 'pool'}_empty(shape{i}, dtype{i})")
        if self.blueprint.block_bytes > _KEPT_BLOCK:
            space |= {"block_shape": (self.blueprint.block_bytes,), "block_dtype": _BYTE}
            lines.append("block = pool_empty(block_shape, block_dtype)")
        return lines

    def _filled(self, space: dict[str, Any], bases: Sequence[str], is_checked: bool) -> list[str]:
        """The lines that fill the frame: where ``bases`` are, and numbers that may change."""
        unresolved = (0, 0) if _DATA is None else (len(bases), _DATA)
        addresses = ", ".join(f"{b}.ctypes.data" if _DATA is None else f"id({b})" for b in bases)
        known = *unresolved, self._layouts() if is_checked else 0
        lines = [f"pack(buffer, {_NOW + 24}, {', '.join(map(str, known))}, {addresses})"]
        for k, (number, offset, pack) in enumerate(self._dynamic):
            space[f"pack{k}"] = pack
            scalar = 8 * (FRAME_WORDS + len(bases)) + offset
            lines.append(f"pack{k}(buffer, {scalar}, arguments[{number}])")
        return lines

    def _steps(self, space: dict[str, Any], is_timed: bool, is_checked: bool) -> list[str]:
        """The lines that run launches and library calls, and look whether an element has failed."""
        lines = ["lap()"] * is_timed
        first = self._parts[0] if is_checked else None
        if isinstance(first, Called):  # the driver looks, and runs nothing
            lines += [f"now(buffer, {_NOW}, 0, 0, 0)", "if run(address): return None"]
        for i, part in enumerate(self._parts):
            if i == len(self._parts) - bool(self.blueprint.commits) and self._sites:
                lines.append("check(frame)")
            if isinstance(part, Called):
                space[f"step{i}"] = step_of(part)
                lines.append(f"step{i}({self._shown(part)})")
                lines += ["lap()"] * is_timed
            else:
                lines += self._runs(i, part, is_timed)
                if is_checked and i == 0:
                    lines[-1] = "if run(address): return None"
        return lines + ["check(frame)"] * bool(self._sites)

    def _runs(self, i: int, part: _Launches, is_timed: bool) -> list[str]:
        """The lines that run kernels, those of a call with one part as a frame says already."""
        natives = [n for n, s in enumerate(self._parts) if isinstance(s, _Launches)]
        together = f"now(buffer, {_NOW}, {', '.join(map(str, self._says(i)))})"
        if not is_timed:
            return [together] * (natives != [0]) + ["run(address)"]
        lines = []
        for number in range(part.kernels):
            launch = part.apart + number * self._launch_bytes
            lines += [f"now(buffer, {_NOW}, {launch}, 1, 0)", "run(address)", "lap()"]
        return [*lines, together]

    def _says(self, i: int) -> tuple[int, int, int]:
        """What a frame says of part ``i``, of kernels: where they are, how many, what is next.

        Our threads go to sleep at once where the next is a product, for which NumPy's has its own.
        """
        part, after = self._parts[i], self._parts[i + 1 : i + 2]
        assert isinstance(part, _Launches)
        rests = any(isinstance(n, Called) and has_threads(n.node) for n in after)
        return part.together, part.kernels, int(rests)

    def _shown(self, called: Called) -> str:
        """The arguments of a library call's step: arrays of the operands, and of the result."""
        buffers = self.blueprint.buffers

        def base(number: int) -> str:
            own = buffers[number]
            if own.argument is not None:
                return f"a{own.argument}"
            return "block" if own.output is None else f"r{own.output}"

        operands = "".join(f"{self._views.text(o, base)}, " for o in called.operands)
        return f"({operands}), {self._views.text(called.out, base)}"

    def _check(self, frame: _Frame) -> None:
        """Raise ElementError if a kernel has set its status word."""
        for number, step in self._sites:
            site = int(frame.status[_STATUS_WORDS * number])
            if site:
                frame.status[:] = 0
                raise ElementError(step.sites[site - 1])


_BYTE = np.dtype(np.uint8)
