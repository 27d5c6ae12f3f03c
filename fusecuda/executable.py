"""Executables: what runs a graph, and tells all about how it does.

What runs needs no plan: so nothing is imported here that plans, emits or explains before somebody
asks for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .back_ends import BACK_ENDS, Native
from .cpu_fallback import background
from .cpu_fallback.array_object import are_apart
from .cpu_fallback.kernels import are_at_hand, is_driver_at_hand
from .cpu_fallback.program import ElementError
from .errors import CompilerError, mark_before_effects
from .fusion.cost import FUNCTION_COST
from .graph.dtypes import DType
from .graph.faults import element_error
from .graph.index_map import Shape, contiguous_strides
from .graph.node import Graph
from .graph.ops import OPS
from .interpreted import Interpreted, Patience, seconds_of_numpy, warn_interpreted
from .options import Options
from .watch import Lap, timed, told, watchers

if TYPE_CHECKING:  # what is loaded with the planner
    from .fusion.assembly import Assembly
    from .streams.chart import Chart
    from .streams.memory_plan import MemoryPlan

Array = np.ndarray[Any, Any]
Strides = Mapping[int, Sequence[int]]  # parameter number -> strides in elements, if not contiguous


class Planned(NamedTuple):
    """A graph after all passes, with its steps bound and its memory planned."""

    graph: Graph
    assembly: Assembly
    memory: MemoryPlan


@dataclass(frozen=True)
class Kernel:
    """One kernel or library call of an executable, as the user sees it.

    ``name`` tells its operations, ``source`` is its text; ``kind`` is "loop", "reduction",
    "resident" (one that keeps its rows) or "library". It moves at least ``bytes_read`` and
    ``bytes_written``; ``flops`` counts operations of the op table, reductions, scans and scatters.
    """

    name: str
    kind: str
    source: str
    bytes_read: int
    bytes_written: int
    flops: int


# Measured with GCC 12 at -O3, kernels of one to twenty thousand characters.
_SECONDS_A_COMPILATION = 0.06
_SECONDS_A_CHARACTER = 1.2e-5
_SECONDS_A_FUNCTION = 0.05  # whose text stands above the kernels
_SECONDS_OF_THE_FIRST = 0.12  # the compiler is found, and builds the driver


@dataclass
class Executable:
    """A graph planned, emitted and (when first called) compiled, for one set of shapes.

    `lower` makes it. ``memory.peak_bytes`` is what a call holds at once beside its arguments.
    ``recorded`` is the graph as it was given, for parameters laid out as ``strides`` says;
    ``native`` makes the program of it. ``build`` plans anew: for another device, or to tell about
    a plan that another process has made.
    """

    recorded: Graph
    strides: Strides
    options: Options
    names: list[str]  # of the launches
    sources: list[Any]  # for each step, None for a library call
    largest: int  # the bytes of the largest value in the graph, stored or not
    native: Callable[[], Native]
    build: Callable[[Graph, Strides, Options], Executable]
    planned: Planned | None = None
    _program: Native | None = None
    _call: Callable[..., list[Any]] | None = None  # the program without a lap
    _checked: Callable[..., list[Any] | None] | None = None  # as `_call`, if arguments fit
    _has_failed = False  # to compile: no error is kept, which would hold what its frames do
    caller: Callable[..., Any] | None = None
    around: list[Callable[[Native], Native]] = field(default_factory=list)  # what looks at runs
    patience: Patience | None = None  # how long a run waits for kernels; None: until they are there
    _job: background.Job | None = None  # that compiles them
    _since: float = 0.0  # when that began
    _marks: list[float] = field(default_factory=list)  # of the last run whose steps were timed

    def __call__(self, *args: Any) -> Any:
        """What the lowered function returns for ``args``, arrays and numbers of the lowered kinds.

        Raises TypeError if they do not fit; CompilerError where a device's kernels do not compile;
        IndexError or ValueError, naming the line, for an element that cannot be computed.
        """
        if self.caller is None:
            return self.run(args)
        return self.caller(*args)

    @property
    def launches(self) -> int:
        """The number of kernels and library calls that one call launches."""
        return len(self.names)

    @property
    def is_ready(self) -> bool:
        """True if its kernels have been compiled, or cannot be."""
        return self._program is not None or self._has_failed

    @property
    def is_under_way(self) -> bool:
        """True while its kernels are compiled, and nobody wants them at once."""
        return self._job is not None and not (self._job.is_over or self.is_ready or watchers)

    @property
    def seconds_to_compile(self) -> float:
        """About how long compiling its kernels takes, were none of them known."""
        if self.is_ready:
            return 0.0
        text = sum(len(source.text) for source in self.sources if source)
        first = 0.0 if is_driver_at_hand() else _SECONDS_OF_THE_FIRST
        known = _SECONDS_A_CHARACTER * text + _SECONDS_A_FUNCTION * self._functions
        return first + _SECONDS_A_COMPILATION + known

    def has_kernels(self) -> bool:
        """True if the next run has its kernels, or is to wait for them whatever that takes.

        They are compiled meanwhile; who asks waits for them where `patience` has time until they
        should be there, or NumPy would take longer.
        """
        if self.is_ready or self.patience is None or watchers:
            return True
        if self._job is None or self._job.is_void:
            begin = BACK_ENDS[self.options.device].begin_beside
            wanted = [source for source in self.sources if source]
            if begin is None or not wanted or are_at_hand(wanted):
                return True
            self._job, self._since = begin(wanted), perf_counter()
        if not self._job.is_over:
            left = self.seconds_to_compile - (perf_counter() - self._since)
            self.patience.wait_for(self._job, max(left, 0.0), self._seconds_without)
        return self._job.is_over

    @cached_property
    def _functions(self) -> int:
        """How many functions it computes."""
        ops = {node.op for node in self.recorded.nodes()}
        return sum(op in OPS and OPS[op].cost >= FUNCTION_COST for op in ops)

    @cached_property
    def _seconds_without(self) -> float:
        return seconds_of_numpy(self.recorded.nodes())

    def plan(self) -> Planned:
        """What was planned."""
        if self.planned is None:
            self.planned = self.build(self.recorded, self.strides, self.options).planned
            assert self.planned is not None
        return self.planned

    @property
    def graph(self) -> Graph:
        """The graph after all passes."""
        return self._simplified if self.planned is None else self.planned.graph

    @cached_property
    def _simplified(self) -> Graph:
        """The same where no plan is at hand, as for the interpreter while kernels are compiled."""
        from .graph.passes import simplify  # noqa: PLC0415

        return simplify(self.recorded)

    @property
    def assembly(self) -> Assembly:
        """The steps, each bound to its place in memory."""
        return self.plan().assembly

    @property
    def memory(self) -> MemoryPlan:
        """Where temporaries lie, and how many bytes a call holds."""
        return self.plan().memory

    @property
    def hlo(self) -> str:
        """The graph as HLO text, after simplification."""
        from .graph.text import print_hlo  # noqa: PLC0415 - as the other imports in functions here

        return print_hlo(self.graph)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels (and library calls) in the order of execution."""
        from .fusion.explain import summarize  # noqa: PLC0415

        found = []
        for step, source in zip(self.assembly.steps, self.sources, strict=True):
            s = summarize(step, self.assembly)
            head = BACK_ENDS[self.options.device].head
            text = head + source.text if source else f"numpy.{s.name}\n"
            found.append(
                Kernel(s.name, s.kind, s.header + text, s.bytes_read, s.bytes_written, s.flops)
            )
        return found

    def explain(self, full: bool = False) -> str:
        """Text: which operations share a launch, what keeps the others apart, bytes and peak.

        On one screen, hottest first, what repeats once; if ``full`` each step and each reason.
        Bytes are those that have to be moved at least. For a device it ends with what CUDA graphs
        replay, or why nothing is.
        """
        from .fusion.brief import brief  # noqa: PLC0415
        from .fusion.explain import explain_plan  # noqa: PLC0415
        from .streams.plans import graphs_told  # noqa: PLC0415

        peak = self.memory.peak_bytes
        graph = ""
        if BACK_ENDS[self.options.device].replays:
            refusal = getattr(self._program, "refusal", "")
            planned = graphs_told(self.assembly, self.memory)
            graph = f"  no CUDA graph: {refusal}\n" if refusal else f"  {planned}\n"
        if full:
            series = BACK_ENDS[self.options.device].series(self.assembly, self.memory)
            told = [
                f"  {s.steps[0]} to {s.steps[-1]} go on together, band by band\n" for s in series
            ]
            return explain_plan(self.assembly, peak) + "".join(told) + graph
        return "\n".join(brief(self.assembly, peak)) + "\n" + graph

    def emit(self, target: str = "c", arch: str | None = None) -> list[str]:
        """The sources of all kernels for ``target``, "c" or "cuda"; needs neither GPU nor driver.

        Another back end's ``target`` is its name. With ``arch`` (of "cuda", such as "sm_90") NVRTC
        has to accept them; raises CompilerError if it does not, ValueError for an unknown target.
        """
        targets = {"c" if name == "cpu" else name: name for name in BACK_ENDS}
        device = targets.get(target)
        if device is None:
            raise ValueError(f"target must be {' or '.join(map(repr, targets))}, not {target!r}")
        if arch is not None and Options(device).on_host:
            raise ValueError(f"kernels for {target!r} are not compiled for an arch")
        if device != self.options.device:
            other = dataclasses.replace(self.options, device=device)
            return self.build(self.graph, self.strides, other).emit(target, arch)
        emitted = self._emitted()
        if arch is not None:
            from .emit_cuda.nvrtc import cubin  # noqa: PLC0415 - loaded where it is asked for

            cubin([source for _, source in emitted], arch)
        return [header + BACK_ENDS[device].head + source.text for header, source in emitted]

    def _emitted(self) -> list[tuple[str, Any]]:
        """What is compiled, with its head: kernels, joined where one text launches several."""
        from .fusion.explain import summarize  # noqa: PLC0415

        joined = BACK_ENDS[self.options.device].joined
        found = []
        for company in self.assembly.companies:
            own = [
                (summarize(self.assembly.steps[n], self.assembly).header, source)
                for n in company
                if (source := self.sources[n])
            ]
            if joined is not None and len(own) > 1:
                own = [("".join(header for header, _ in own), joined([s for _, s in own]))]
            found += own
        return found

    @property
    def written(self) -> frozenset[int]:
        """The numbers of the arguments that are overwritten."""
        return self.recorded.written

    def timeline(self) -> Chart:
        """What runs on which lane and waits for what, with times: as text (``str``) and SVG.

        Times are those of the last run under a `profile` if that was on the CPU; for a device they
        are estimates.
        """
        from .streams.plans import chart_of  # noqa: PLC0415

        speeds = BACK_ENDS[self.options.device].speeds
        known = None if speeds is None else speeds()
        return chart_of(self.assembly, self.memory, known, self.options.streams, self._marks)

    def run(self, arguments: Sequence[Any]) -> list[Array | None]:
        """The results, None where an argument was overwritten; see `Program`.

        Without a usable compiler the interpreter computes them, after one warning.
        """
        program = self._program
        if program is None:
            if not self.has_kernels():
                return self._meanwhile(arguments)
            program = self._compile()
            if program is None:
                return self._interpret(arguments)
        try:
            if watchers:
                return told(self, partial(self._timed, program, arguments))  # type: ignore[no-any-return]
            return self._call(arguments)  # type: ignore[misc]
        except ElementError as error:
            raise element_error(error.node) from None

    def run_checked(self, arguments: Sequence[Any]) -> list[Array | None] | None:
        """As `run`; None, with nothing done, if an argument of `seen` is not what it has to be.

        It is laid out so, and shares no memory with another one if either is overwritten.
        """
        if self._checked is not None and not watchers:
            try:
                results = self._checked(arguments)
            except ElementError as error:
                raise element_error(error.node) from None
            if results is not None:
                return results
        if not all(_fits(arguments[n], *layout) for n, layout in self.seen.items()):
            return None
        written = sorted(self.seen.keys(), key=lambda n: n not in self.written)
        apart = are_apart([arguments[n] for n in written], len(self.written))
        return self.run(arguments) if apart else None

    @cached_property
    def seen(self) -> dict[int, tuple[Any, ...]]:
        """Shape, strides in bytes and dtype by number, of the arguments that a run looks at."""
        found: dict[int, tuple[Any, ...]] = {}
        for node in self.recorded.parameters if self.options.on_host else ():
            number = node.parameter.number
            if not node.parameter.scalar:
                strides = self.strides.get(number, contiguous_strides(node.shape))
                in_bytes = tuple(s * node.dtype.itemsize for s in strides)
                found[number] = node.shape, in_bytes, node.dtype
        return found

    def sees(self, number: int, array: Any) -> bool:
        """True if `run_checked` tells whether the argument ``number`` is laid out as ``array``."""
        return number in self.seen and _fits(array, *self.seen[number])

    def _timed(self, program: Native, arguments: Sequence[Any], lap: Lap | None) -> list[Any]:
        """A run whose steps are timed if somebody wants a ``lap``."""
        if lap is None or not self.options.on_host:  # a device's steps are only started then
            return program(arguments, lap)
        marks: list[float] = []

        def marked() -> None:
            lap()
            marks.append(perf_counter())

        results = program(arguments, marked)
        self._marks[:] = marks  # which what `lower` gives shares with what it calls
        return results

    def _compile(self) -> Native | None:
        if not self._has_failed:
            try:
                with timed("compile", self.recorded.name, lambda: ", ".join(self.names)):
                    program = self.native()
                for wrapped in self.around:
                    program = wrapped(program)
                self._call = getattr(program, "call", program)
                self._checked = getattr(program, "checked", None)
                self._program = program
            except CompilerError as error:
                if self.options.device != "cpu":  # there is no interpreter on a device
                    raise
                self._has_failed = True
                try:
                    warn_interpreted(error)
                except Warning as warning:  # which the user has made an error
                    mark_before_effects(warning)
                    raise
        return self._program

    def _interpret(self, arguments: Sequence[Any]) -> list[Array | None]:
        return Interpreted(self.graph).run(arguments)

    def make_ready(self) -> None:
        """Return when its kernels have been compiled, or cannot be."""
        if not self.is_ready:
            self._compile()

    def _meanwhile(self, arguments: Sequence[Any]) -> list[Array | None]:
        """The results, while the kernels are compiled."""
        Interpreted.meanwhile += 1
        return Interpreted(self.graph, self.patience).run(arguments)


def _fits(value: Any, shape: Shape, strides: tuple[int, ...], dtype: DType) -> bool:
    """True for a plain NumPy array, aligned and writeable, that is laid out so."""
    known = type(value) is np.ndarray and value.shape == shape and value.strides == strides
    return known and value.dtype == dtype and value.flags.behaved
