"""The table of back ends: a row of functions for each device that programs may name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from . import options as settings
from .cpu_fallback import backend as c_backend
from .cpu_fallback import background
from .cpu_fallback.background import Job
from .cpu_fallback.program import Program, thread_count
from .fusion.assembly import Assembly
from .fusion.binding import bind as bind_c
from .fusion.cost import CPU, Machine
from .fusion.walk import Bind
from .options import Options
from .streams.costs import Speeds
from .streams.liveness import ALIGNMENT
from .streams.memory_plan import MemoryPlan

Native = Callable[..., list[Any]]  # results from arguments by number, and a lap after each step


@dataclass(frozen=True)
class BackEnd:
    """What the engine needs of a back end.

    ``machine`` tells the planner what it plans for; ``bind`` chooses the launch of a kernel,
    ``emit`` turns it into its source (whose text the user sees behind ``head``); ``program``
    compiles the sources of an assembly and is then called with arguments, and ``begin`` may begin
    with that as soon as they are there; ``begin_beside`` compiles them while the program goes on,
    if that is possible; ``threads`` tells how many share a launch's scratch.
    Where independent launches may run at once, ``speeds`` tells what that brings. Temporaries
    start at multiples of ``alignment``. Where it ``shares_launches``, independent kernels are one;
    ``joined`` makes the source of such a launch, if the kernels' own are not what is compiled.
    Where it ``replays``, kernels that are launched again and again are one graph.
    """

    machine: Callable[[], Machine]
    bind: Callable[[Options], Bind]
    emit: Callable[[Any, Options], Any]
    program: Callable[[Assembly, Sequence[Any], MemoryPlan, Options], Native]
    threads: Callable[[], int]
    begin: Callable[[Assembly, Sequence[Any]], None] = lambda assembly, sources: None
    begin_beside: Callable[[Sequence[Any]], Job] | None = None
    head: str = ""
    speeds: Callable[[], Speeds] | None = None
    alignment: int = ALIGNMENT
    shares_launches: bool = False
    joined: Callable[[Sequence[Any]], Any] | None = None
    replays: bool = False


def add_back_end(name: str, back_end: BackEnd, on_host: bool = True) -> None:
    """Let ``device=name`` compute by ``back_end``, in the whole process from now on.

    ``on_host`` tells that its arrays are NumPy's, and that its program returns when all is done.
    """
    BACK_ENDS[name] = back_end
    settings.DEVICES[name] = on_host


def _cuda(module: str, name: str) -> Callable[..., Any]:
    """The function of the CUDA back end, whose modules are loaded when one is called."""

    def call(*args: Any, **named: Any) -> Any:
        return getattr(import_module(f".emit_cuda.{module}", __package__), name)(*args, **named)

    return call


_INCLUDE = '#include "fusecuda.cuh"\n\n'
BACK_ENDS: dict[str, BackEnd] = {
    "cpu": BackEnd(
        lambda: CPU,
        lambda _: bind_c,
        lambda launch, _: c_backend.emit(launch),
        lambda assembly, sources, memory, _: Program(assembly, sources, memory),
        thread_count,
        begin_beside=background.begin,
        shares_launches=True,
    ),
    "cuda": BackEnd(
        _cuda("backend", "machine"),
        lambda options: partial(_cuda("backend", "bind_here"), contract=options.contract),
        lambda launch, options: _cuda("backend", "emit")(launch, options.contract),
        lambda assembly, sources, memory, options: _cuda("backend", "DevicePrograms")(
            assembly, sources, memory, options.contract
        ),
        lambda: 1,
        _cuda("backend", "begin"),
        head=_INCLUDE,
        speeds=lambda: Speeds(_cuda("backend", "device_facts")().multiprocessors),
        alignment=256,
        shares_launches=True,
        joined=_cuda("shared", "shared_source"),
        replays=True,
    ),
}
