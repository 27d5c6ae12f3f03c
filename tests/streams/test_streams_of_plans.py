"""Streams of real plans: memory of one lane and of many, lanes that pay, what is shown of them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda.launch import bind
from fusecuda.engine import build
from fusecuda.errors import GraphError
from fusecuda.fusion.assembly import Assembly, assemble
from fusecuda.fusion.binding import bind as bind_c
from fusecuda.fusion.cost import CPU
from fusecuda.fusion.planner import make_plan
from fusecuda.graph.passes import simplify
from fusecuda.graph.structure import operations
from fusecuda.options import Options
from fusecuda.streams import plans
from fusecuda.streams.costs import Speeds, costs
from fusecuda.streams.liveness import aligned
from fusecuda.streams.memory_plan import plan_memory
from fusecuda.streams.schedule import direct, schedule
from fusecuda.streams.simulate import simulate
from fusecuda.streams.timeline import one_lane, with_events
from fusecuda.streams.verify import verify_memory
from tests.programs_of_branches import BRANCHES, FORTY, specs
from tests.random_graphs import random_graph

H100 = Speeds()
LSTM_STEP, LSTM = BRANCHES[1]


def assembly_of(seed: int, fuse: bool = True) -> Assembly:
    """The assembly of a random graph for the CPU."""
    case = random_graph(seed)
    plan = make_plan(simplify(case.graph), case.strides, fuse, CPU)
    return assemble(plan, case.strides, bind_c)


def offsets_by_intervals(assembly: Assembly, threads: int) -> tuple[dict[Any, int], int]:
    """Offsets by first and last use in the order of the plan: what one lane must come to."""
    pieces: list[tuple[Any, int, int, int]] = []
    for number, buffer in enumerate(assembly.buffers):
        used = [s for s, touch in enumerate(assembly.touches) if number in touch.buffers]
        if buffer.argument is None and buffer.output is None:
            first, last = (min(used), max(used)) if used else (0, -1)
            pieces.append((("buffer", number), first, last, buffer.nbytes))
    for number, step in enumerate(assembly.steps):
        for kind in ("workspace", "scratch"):
            size = getattr(step, kind, 0) * (threads if kind == "scratch" else 1)
            if size:
                pieces.append(((kind, number), number, number, size))
    placed: list[tuple[int, int, int, int]] = []
    found: dict[Any, int] = {}
    for name, first, last, nbytes in sorted(pieces, key=lambda p: -p[3]):
        at = 0
        for start, end, begin, over in sorted(placed):
            if begin <= last and first <= over:
                if start - at >= aligned(nbytes):
                    break
                at = max(at, end)
        found[name] = at
        placed.append((at, at + aligned(nbytes), first, last))
    return found, max((end for _, end, _, _ in placed), default=0)


@pytest.mark.parametrize("fuse", [True, False])
def test_one_lane_has_the_memory_of_intervals(fuse: bool) -> None:
    for seed in range(60):
        assembly = assembly_of(seed, fuse)
        memory = plan_memory(assembly, 3)
        found, size = offsets_by_intervals(assembly, 3)
        assert memory.block_bytes == size
        own = {"buffer": memory.buffer_offsets, "workspace": memory.workspace_offsets,
               "scratch": memory.scratch_offsets}  # fmt: skip
        assert found == {(kind, n): own[kind][n] for kind, n in found}


def test_needs_of_random_graphs_hold_on_any_lanes() -> None:
    """The plans of random graphs on lanes drawn at random: order and memory pass the verifier."""
    rng = np.random.default_rng(0)
    for seed in range(60):
        assembly = assembly_of(seed, fuse=bool(seed % 2))
        placed = [(s, int(rng.integers(3))) for s in range(len(assembly.steps))]
        timeline = with_events(placed, assembly.needs)
        verify_memory(assembly, plan_memory(assembly, 2, timeline))


def test_the_needs_hold_the_order_of_the_plan() -> None:
    """Each operand of a step is made by a step that it needs, directly or not."""
    for seed in range(60):
        assembly = assembly_of(seed)
        behind: list[set[int]] = []
        for needed in direct(assembly.needs):
            behind.append(set(needed).union(*(behind[s] for s in needed)))
        made: dict[Any, int] = {}
        for number, step in enumerate(assembly.plan.steps):
            nodes = [step] if not hasattr(step, "cones") else list(step.cones)
            for node in nodes:
                read = node.operands if step is node else step.cones[node].sources
                for source in map(assembly.plan.roots.source, read):
                    if source in made and made[source] != number and source in assembly.plan.stored:
                        assert made[source] in behind[number], (seed, number, source)
                made[node] = number


# --- programs with branches


def lowered(function: Any, arguments: list[Any], streams: int) -> fc.Executable:
    """``function`` for an H100 with at most so many streams."""
    return fc.lower(fc.fused(function, device="cuda", streams=streams), *arguments)


@pytest.mark.parametrize(
    ("function", "arguments"), BRANCHES, ids=lambda f: getattr(f, "__name__", "")
)
def test_branches_run_side_by_side(function: Any, arguments: list[Any]) -> None:
    """Simulated, the more streams the quicker; order and memory pass the verifier."""
    ends = []
    for streams in (1, 2, 4):
        executable = lowered(function, arguments, streams)
        verify_memory(executable.assembly, executable.memory)
        chart = executable.timeline()
        assert chart.lanes == streams
        ends.append(max(e["end"] for e in chart.entries))
    assert ends[0] > ends[1] > ends[2]
    assert ends[0] / ends[2] > 3


def test_a_chain_and_full_kernels_stay_on_one_lane() -> None:
    """Nothing forks where each step needs the one before, or where one kernel fills the device."""
    chain = lowered(lambda x: ((x @ x) @ x) @ x, specs((512, 512)), 4)
    full = lowered(lambda x, y: (x @ x, y @ y), specs(*[(4096, 4096)] * 2), 4)
    tiny = lowered(lambda x, y: (x.sum(axis=0), y.sum(axis=1)), specs((64, 8), (32, 64)), 4)
    for executable in (chain, full, tiny):
        assert executable.timeline().lanes == 1
        one = plan_memory(executable.assembly, 1, alignment=256)
        assert executable.memory == one


def test_no_timeline_is_slower_than_one_lane() -> None:
    """Of random graphs, by the costs that were scheduled for."""
    for seed in range(40):
        assembly = assembly_of(seed, fuse=False)
        steps = costs(assembly, H100)
        alone = simulate(one_lane(len(steps)), steps, H100).end
        timeline = schedule(assembly.needs, steps, H100, 4)
        assert simulate(timeline, steps, H100).end <= alone


@pytest.mark.parametrize(("function", "arguments"), FORTY, ids=lambda f: getattr(f, "__name__", ""))
def test_fused_programs_hold_less(function: Any, arguments: list[Any]) -> None:
    """On a device, of about forty operations: less at once than operation by operation."""
    executable = fc.lower(function, *arguments, device="cuda")
    work = operations(executable.graph.nodes())
    assert 30 <= len(work) <= 60, len(work)
    plan = make_plan(executable.graph, {}, fuse=False)
    alone = plan_memory(assemble(plan, {}, bind), 1, alignment=256).peak_bytes
    assert executable.memory.peak_bytes < 0.4 * alone


# --- options


def test_streams_are_one_to_four() -> None:
    for wrong in (0, 5, -1):
        with pytest.raises(ValueError, match="1 to 4"):
            fc.fused(streams=wrong)
    assert Options().streams == 1


def test_streams_have_no_effect_on_the_cpu() -> None:
    """The same plan and memory; the timeline says so."""
    made = [fc.lower(LSTM_STEP, *LSTM, streams=n) for n in (1, 4)]
    assert made[0].memory == made[1].memory
    assert "no effect" not in str(made[0].timeline())
    assert "streams=4 has no effect on the CPU" in str(made[1].timeline())


def test_the_verifier_looks_at_every_timeline_of_many_lanes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With FUSECUDA_VERIFY=1 a schedule that loses a need is refused."""
    monkeypatch.setenv("FUSECUDA_VERIFY", "1")
    executable = lowered(LSTM_STEP, LSTM, 4)

    def careless(needs: Any, *args: Any) -> Any:
        return schedule([{} for _ in needs], *args)

    monkeypatch.setattr(plans, "schedule", careless)
    with pytest.raises(GraphError, match="may start before"):
        build(executable.graph, {}, executable.options)


# --- what is shown


def test_a_timeline_as_text_and_as_svg() -> None:
    chart = lowered(LSTM_STEP, LSTM, 4).timeline()
    text = str(chart)
    for word in ("9 steps on 4 lanes, 5 events", "estimates, not measured", "waits for 4, 5, 6",
                 "waits for the beginning", "lane 0  waits for 8 at the end"):  # fmt: skip
        assert word in text, (word, text)
    root = ET.fromstring(chart.svg())
    name = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f".//{name}rect")) == 9
    assert len(root.findall(f".//{name}path")) == 3  # the waits of the last step
    tops = {float(r.get("y", "0")) for r in root.iter(f"{name}rect")}
    assert len(tops) == 4
    entries = chart.entries
    assert entries[8]["waits"] == [4, 5, 6, 7]
    assert entries[0]["waits"] == []


def test_a_timeline_of_nothing() -> None:
    chart = fc.lower(lambda x: x, np.ones(3)).timeline()
    ET.fromstring(chart.svg())
    assert str(chart)


def test_times_after_a_profile() -> None:
    """On the CPU the steps of the last run in a profile have the times of that run."""
    x = np.random.default_rng(0).normal(size=(50, 50))
    executable = fc.lower(lambda x: np.sort(x * 2, axis=0) + 1, x)
    assert executable.timeline().entries[0]["start"] is None
    ET.fromstring(executable.timeline().svg())
    with fc.profile():
        executable(x)
    entries = executable.timeline().entries
    assert len(entries) == 3
    assert entries[0]["start"] == 0
    for before, then in pairwise(entries):
        assert before["start"] <= before["end"] <= then["start"] <= then["end"]
    assert "as last measured" in str(executable.timeline())


# --- the emulated device runs what is issued


def test_binding_for_a_device_touches_what_the_plan_touches() -> None:
    """The buffers are those of the plan, whatever back end binds it."""
    for seed in range(30):
        case = random_graph(seed)
        plan = make_plan(simplify(case.graph), case.strides, True, CPU)
        ours = assemble(plan, case.strides, bind_c)
        for aligned_too in (True, False):
            other = assemble(plan, case.strides, partial(bind, aligned=aligned_too))
            assert [t[:2] for t in other.touches] == [t[:2] for t in ours.touches]
