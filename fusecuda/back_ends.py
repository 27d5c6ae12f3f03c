"""The table of back ends: a row of functions for each device that programs may name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from . import options as settings
from .cpu_fallback import background
from .cpu_fallback.background import Job
from .cpu_fallback.program import Program, thread_count
from .fusion.cost import CPU, Machine
from .fusion.memory import ALIGNMENT
from .options import Options

if TYPE_CHECKING:  # what is loaded with the planner
    from .fusion.assembly import Assembly
    from .fusion.walk import Bind
    from .streams.costs import Speeds
    from .streams.memory_plan import MemoryPlan

Native = Callable[..., list[Any]]  # results from arguments by number, and a lap after each step


class Keeps(NamedTuple):
    """How plans of a back end are kept on the disk.

    ``blueprint`` makes plain data of what `BackEnd.program` is given, with numbers in the place of
    lines if it is given these; those of its nodes that have lines are ``named``. ``program`` makes
    a program of it and of the sources. ``facts`` tell all that plans depend on beside the machine.
    """

    facts: Callable[[], object]
    blueprint: Callable[..., Any]
    program: Callable[[Any, Sequence[Any]], Native]


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
    ``series`` tells which loops of an assembly go on together, for memory laid out so.
    Where it ``replays``, kernels that are launched again and again are one graph. Where it
    ``keeps`` its plans, another process finds them.
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
    series: Callable[[Assembly, MemoryPlan], Iterable[Any]] = lambda assembly, memory: ()
    replays: bool = False
    keeps: Keeps | None = None


def add_back_end(name: str, back_end: BackEnd, on_host: bool = True) -> None:
    """Let ``device=name`` compute by ``back_end``, in the whole process from now on.

    ``on_host`` tells that its arrays are NumPy's, and that its program returns when all is done.
    """
    BACK_ENDS[name] = back_end
    settings.DEVICES[name] = on_host


def _late(room: str, module: str, name: str) -> Callable[..., Any]:
    """The function of a room, whose module is loaded when it is called."""

    def call(*args: Any, **named: Any) -> Any:
        return getattr(import_module(f".{room}.{module}", __package__), name)(*args, **named)

    return call


_c, _cuda = partial(_late, "cpu_fallback"), partial(_late, "emit_cuda")
_blueprint = _c("drafting", "blueprint")

_INCLUDE = '#include "fusecuda.cuh"\n\n'
BACK_ENDS: dict[str, BackEnd] = {
    "cpu": BackEnd(
        lambda: CPU,
        lambda _: _late("fusion", "binding", "bind"),
        lambda launch, _: _c("backend", "emit")(launch),
        lambda assembly, sources, memory, _: Program(
            _blueprint(assembly, sources, memory), sources
        ),
        thread_count,
        begin_beside=background.begin,
        shares_launches=True,
        series=_c("bands", "series_of"),
        keeps=Keeps(thread_count, _blueprint, Program),
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
        speeds=lambda: _late("streams", "costs", "Speeds")(
            _cuda("backend", "device_facts")().multiprocessors
        ),
        alignment=256,
        shares_launches=True,
        joined=_cuda("shared", "shared_source"),
        replays=True,
    ),
}
