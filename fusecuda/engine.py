"""The engine: the pipeline as one straight function of named steps."""

from __future__ import annotations

from functools import partial

from . import options as settings
from .back_ends import BACK_ENDS
from .executable import Executable, Kernel, Planned, Strides
from .fusion.assembly import assemble
from .fusion.explain import KernelSummary, launch_names
from .fusion.plan import Plan
from .fusion.planner import make_plan
from .fusion.verify import verify_kernel
from .fusion.walk import Launch
from .graph.node import Graph
from .graph.passes import simplify
from .graph.verify import verify
from .interpreted import Interpreted
from .options import Options
from .streams.plans import memory_of, verify_lanes


def build(graph: Graph, strides: Strides, options: Options) -> Executable:
    """The executable of ``graph`` for parameters laid out as ``strides`` says."""
    if settings.verify_enabled():
        verify(graph)
    simplified = simplify(graph)
    if settings.verify_enabled():
        verify(simplified)
    machine = BACK_ENDS[options.device].machine()
    plan = make_plan(simplified, strides, settings.fusion_enabled(), machine)
    executable = build_plan(simplified, plan, strides, options)
    if options.check:
        from .cases.case import Case  # noqa: PLC0415 - loaded where it is asked for
        from .cases.checked import Checked  # noqa: PLC0415

        executable.around.append(partial(Checked, case=Case(graph, strides, options)))
    return executable


def build_plan(graph: Graph, plan: Plan, strides: Strides, options: Options) -> Executable:
    """The executable of ``plan``, bound and emitted for the device of ``options``."""
    back_end = BACK_ENDS[options.device]
    shared = back_end.shares_launches and options.streams == 1
    assembly = assemble(plan, strides, back_end.bind(options), shared)
    if settings.verify_enabled():
        for step in assembly.steps:
            if isinstance(step, Launch):
                verify_kernel(step.lowered.ir)
    speeds = None if back_end.speeds is None else back_end.speeds()
    threads = back_end.threads()
    memory = memory_of(assembly, threads, back_end.alignment, speeds, options.streams)
    if settings.verify_enabled():
        verify_lanes(assembly, memory)
    sources = [back_end.emit(s, options) if isinstance(s, Launch) else None for s in assembly.steps]
    back_end.begin(assembly, sources)
    planned = Planned(graph, assembly, memory)
    native = partial(back_end.program, assembly, sources, memory, options)
    names, largest = launch_names(assembly), max((n.nbytes for n in graph.nodes()), default=0)
    return Executable(graph, strides, options, names, sources, largest, native, build, planned)


__all__ = ["Executable", "Interpreted", "Kernel", "KernelSummary", "build"]
