"""A program: the launches of an assembly, prepared, and run on a device with few verbs.

All that stays the same between calls is laid out once: kernels, grids, and for each launch eight
bytes for each parameter, pointers first. A call writes the pointers and launches.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from threading import get_ident
from typing import Any

import numpy as np

from ..codegen import names
from ..codegen.compactions import cuts
from ..codegen.layout import Layout
from ..codegen.packing import NUMBER_BYTES, packer
from ..errors import CompilerError, FlushError
from ..fusion.assembly import Assembly
from ..fusion.explain import recorded_lines, summarize
from ..fusion.together import common
from ..graph.dtypes import INT64
from ..graph.node import Node
from ..watch import Lap
from .compactions import COUNT, COUNT_BYTES
from .device import PER_THREAD, Device, Frame, Lanes, Prepared
from .device import Node as LaunchNode
from .launch import CudaBound
from .library_calls import Called, called
from .shared import company_source, is_launched, launched, limits
from .source import CudaSource
from .straight import EAGER, HELD, REPLAYED, TIMED, Calling, key_format, text


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
        self._counted: list[int] = []  # steps that tell how much a mask picks, in launch order
        self._steps: dict[int, Prepared | Called] = {}
        self._commands: list[tuple[str, int, int]] = []
        for command in layout.commands:
            number = command[2]
            if command[0] == "run":
                step = assembly.steps[number]
                if isinstance(step, Node):
                    self._steps[number] = called(step, assembly, self._base_of, device.constant)
                elif number in company and is_launched(step):
                    self._steps[number] = self._prepared(company[number], sources)
                else:
                    continue
            self._commands.append(command)
        self.prepared = {n: s for n, s in self._steps.items() if isinstance(s, Prepared)}
        self.parts = layout.parts(self._commands, self.prepared)
        self._calling = self._calls()
        self._texts: dict[str, Any] = {}
        self._lanes: list[Lanes] = []
        # Launches on one stream run one after the other.
        self._counters: dict[Hashable, tuple[Any, int, Any]] = {}  # with their streams
        self._free: list[Runner] = []
        self.has_run = False

    def _calls(self) -> Calling:
        """What a call does."""
        scalars = (p for p in self.assembly.plan.graph.parameters if p.parameter.scalar)
        dynamic = {n for s in self.prepared.values() for _, _, n in s.dynamic}
        is_temporary = [b.argument is None and b.output is None for b in self.assembly.buffers]
        return Calling(
            self._arguments,
            self._made,
            len(self._outputs),
            has_block=self.layout.block_bytes > 0 or any(is_temporary),
            has_counters=self._counter_words > 0,
            counts=len(self._counted),
            cuts={i: self._counted.index(step) for i, step in cuts(self.assembly).items()},
            looks_at_alignment=self._make_unaligned is not None,
            steps=self._steps,
            numbers={n: p.dtype for p in scalars if (n := p.parameter.number) in dynamic},
            parts=self.parts,
            lanes=1 + max((lane for _, lane, _ in self.layout.commands), default=0),
        )

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
        template += limits([bound.shared_grid for bound in bounds])
        pack = struct.Struct("=" + len(pointers) * "Q8x").pack_into
        return Prepared(source.symbol, source.parameters, bounds, pointers, pack, dynamic, template)

    def _prepare(self, step: int, bound: CudaBound, source: CudaSource) -> Prepared:
        kernel = bound.lowered.ir
        address_forms = [f for f, form in enumerate(kernel.forms) if form.dtype is not None]
        by_name = {names.pointer(kernel, f): i for i, f in enumerate(address_forms)}
        pointers: list[tuple[int, int]] = []
        dynamic: list[tuple[int, Callable[..., None], int]] = []
        template = b""
        for at, (name, ctype) in enumerate(source.parameters):
            if "*" in ctype:
                assert at == len(pointers), "pointers come first"
                pointers.append(self._pointer(step, bound, name, by_name))
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
        self._counter_words += bound.counters + bound.counters % 2  # some are words of 64 bits
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
        if name == COUNT:
            self._counted.append(number)
            return block + 2, COUNT_BYTES * (len(self._counted) - 1)
        start = bound.areas[name]
        if start < 0:  # a counter
            return block + 1, 4 * (self._counter_words - 1 - start)
        return block, self.layout.workspace_offsets[number] + start

    # --- calls

    def __call__(self, arguments: Sequence[Any], lap: Lap | None = None) -> list[Any]:
        """The results, in the order of the outputs; None for one that overwrote its argument.

        ``lap`` is called before the first launch and after each has been started. From the second
        call on kernels are launched as graphs. Raises FlushError where the stream is captured by
        the user and the program has not run before, or a library call cannot be captured.
        """
        try:
            runner = self._free.pop()
        except IndexError:
            runner = Runner(self)
        try:
            if lap is not None:
                return runner.timed(arguments, lap)
            return runner.call(arguments)
        finally:
            self._free.append(runner)

    @property
    def refusal(self) -> str:
        """Why the device launches no graphs of these kernels, if it has refused to."""
        return next((r.refusal for runner in self._free for r in runner.replays if r.refusal), "")

    def _counters_of(self, stream: int) -> tuple[Any, int]:
        """Zeroed counters for launches on the current ``stream``, which run one after the other.

        Each thread has a stream of its own behind the one number of the per-thread default stream.
        """
        key = stream, get_ident() if stream == PER_THREAD else 0
        found = self._counters.get(key)
        if found is None:
            array = self.device.zeros(4 * self._counter_words)
            found = array, self.device.address(array), self.device.kept_stream()
            self._counters[key] = found
        return found[:2]

    def _another(self, *given: Any) -> list[Any]:
        """A call of the program for arguments that are not aligned."""
        assert self._make_unaligned is not None
        if self._unaligned is None:
            self._unaligned = self._make_unaligned()
        return self._unaligned(*given)

    def _free_lanes(self) -> Lanes:
        try:
            return self._lanes.pop()
        except IndexError:
            events = sum(kind == "record" for kind, _, _ in self._commands)
            return self.device.lanes(self._calling.lanes, events)

    def text(self, kind: str) -> Any:
        """The code of a call of a `straight` kind, compiled once."""
        if kind not in self._texts:
            self._texts[kind] = compile(text(self._calling, kind), f"<fusecuda {kind}>", "exec")
        return self._texts[kind]

    def space(self) -> dict[str, Any]:
        """What all calls of this program name."""
        device = self.device
        found: dict[str, Any] = {
            "program": self, "current": device.stream, "is_capturing": device.is_capturing,
            "address": device.address, "empty": device.empty, "zeros": device.zeros,
            "hold": device.hold, "counters_of": self._counters_of, "unaligned": self._another,
            "free_lanes": self._free_lanes, "keep_lanes": self._lanes.append, "byte": _BYTE,
            "block_shape": (max(1, self.layout.block_bytes),),
            "counter_bytes": 4 * self._counter_words,
            "counts_shape": (len(self._counted),), "counts_dtype": INT64, "told": device.told,
            "cut": device.cut,
            "pack_key": struct.Struct(key_format(self._calling)).pack,
        }  # fmt: skip
        for i in self._made:
            found[f"shape{i}"], found[f"dtype{i}"] = self._outputs[i]
        for number, step in self._steps.items():
            if isinstance(step, Called):
                found[f"called{number}"] = partial(step.start, device)
        return found

    def held(self, runner: Runner, arguments: Sequence[Any]) -> list[Any]:
        """A call while the user captures the stream: the graph keeps what it uses."""
        if self._counted:
            raise FlushError(f"{_named(self.assembly)} cannot be captured: a count is looked at")
        if not self.has_run:
            raise not_loaded(self.assembly)
        try:
            return runner.function(HELD)(arguments)  # type: ignore[no-any-return]
        except (FlushError, CompilerError):
            raise
        except Exception as error:
            raise FlushError(
                f"{_named(self.assembly, Node)} cannot be captured: {error}"
            ) from error


class Runner:
    """Frames and graphs for one call of a program after the other, and those calls."""

    def __init__(self, program: CudaProgram) -> None:
        self._program = program
        self._space = program.space() | {"held": self._held}
        self._frames: dict[int, Frame] = {}
        for number, step in program.prepared.items():
            frame = self._frames[number] = step.frame()
            kernel = program.kernels[step.symbol]
            self._space |= {
                f"pack{number}": step.pack,
                f"buffer{number}": frame.buffer,
                f"parameters{number}": frame.parameters,
                f"start{number}": program.device.starter(kernel, step),
            }
            for k, (_, pack, _) in enumerate(step.dynamic):
                self._space[f"number{number}_{k}"] = pack
        self.replays: list[Any] = []
        for number, part in enumerate(program.parts):
            if part.nodes:
                replay = part.replay(partial(self._instance, part))
                self.replays.append(replay)
                self._space |= {f"replay{number}": replay, f"renew{number}": replay.renew}
        self._functions: dict[str, Callable[..., Any]] = {}
        self.call: Callable[[Sequence[Any]], list[Any]] = self._first

    def function(self, kind: str) -> Callable[..., Any]:
        """The calls of a `straight` kind, on the frames of this."""
        if kind not in self._functions:
            space = dict(self._space)
            exec(self._program.text(kind), space)
            self._functions[kind] = space["call"]
        return self._functions[kind]

    def timed(self, arguments: Sequence[Any], lap: Lap) -> list[Any]:
        """A call with a lap after each step, on one stream."""
        results: list[Any] = self.function(TIMED)(arguments, lap)
        self._program.has_run = True
        return results

    def _first(self, arguments: Sequence[Any]) -> list[Any]:
        """The first call starts kernels one by one, as all do where there are no graphs."""
        if not self._program.has_run:
            results: list[Any] = self.function(EAGER)(arguments)
            self._program.has_run = True
        else:
            results = self.function(REPLAYED if self.replays else EAGER)(arguments)
        self.call = self.function(REPLAYED if self.replays else EAGER)
        return results

    def _held(self, arguments: Sequence[Any], lap: Lap | None = None) -> list[Any]:
        del lap  # nothing runs
        return self._program.held(self, arguments)

    def _instance(self, part: Any) -> Any:
        program, nodes = self._program, []
        for step, after in part.nodes:
            prepared = program.prepared[step]
            kernel = program.kernels[prepared.symbol]
            nodes.append(LaunchNode(kernel, prepared, self._frames[step], after))
        return program.device.graph(nodes)


def not_loaded(assembly: Assembly) -> FlushError:
    """The error of a first call while the user captures a stream."""
    return FlushError(
        f"{_named(assembly)} cannot be captured: its kernels are not loaded yet; "
        "call it once before the capture begins"
    )


def _named(assembly: Assembly, kind: Any = object) -> str:
    """The last step of a kind, else the last one, and the line that recorded it."""
    lines = recorded_lines(assembly)
    names = [summarize(step, assembly).name for step in assembly.steps]
    of_kind = [n for n, step in enumerate(assembly.steps) if isinstance(step, kind)]
    if not names:
        return assembly.plan.graph.name
    number = (of_kind or [len(names) - 1])[-1]
    where = [*lines[number]][-1:]
    return " ".join([names[number], *(f"({line})" for line in where)])


def _kernel(
    assembly: Assembly, sources: Sequence[CudaSource | None], number: int
) -> tuple[CudaBound, CudaSource]:
    step, source = assembly.steps[number], sources[number]
    assert isinstance(step, CudaBound) and source is not None
    return step, source


_BYTE = np.dtype(np.uint8)


__all__ = ["CudaProgram", "Runner"]
