"""Programs on lanes: the CUDA source of real plans, on streams that take any time they like."""

from __future__ import annotations

from itertools import islice, permutations
from typing import Any

import numpy as np
import pytest

from fusecuda.emit_cuda.backend import program
from fusecuda.graph.folds import scan_of
from fusecuda.graph.node import Graph
from fusecuda.streams.memory_plan import MemoryPlan, plan_memory
from fusecuda.streams.timeline import with_events
from tests.emulated import assembled
from tests.lazy_device import LazyDevice
from tests.marks import at_length
from tests.random_graphs import Case, random_graph
from tests.strategies import same_bits

LANES = 3
ORDERS = list(permutations(range(LANES)))


def on_lanes(case: Case, seed: int) -> tuple[Any, MemoryPlan, LazyDevice]:
    """The program of ``case`` on lanes drawn at random, its memory, and its device."""
    assembly, sources = assembled(case.graph, case.strides)
    rng = np.random.default_rng(seed)
    placed = [(s, int(rng.integers(LANES))) for s in range(len(assembly.steps))]
    memory = plan_memory(assembly, 1, with_events(placed, assembly.needs), 256)
    device = LazyDevice()
    return program(assembly, sources, memory, device), memory, device


def outcome(case: Case, ready: Any, device: LazyDevice, order: Any) -> list[np.ndarray]:
    """What a call leaves for the user's stream: results, and arguments as they are then.

    On that stream the arguments get their values just before the call, and lose them just after.
    """
    arguments = [_blank(a) for a in case.arguments]
    arrays = [(a, b) for a, b in zip(arguments, case.arguments, strict=True) if _is_array(a)]
    for mine, value in arrays:
        device.start(lambda mine=mine, value=value: mine.__setitem__(..., value))
    results = ready(arguments)
    assert device.current == 0
    found: list[np.ndarray] = []
    device.start(lambda: found.extend(np.array(r) for r in results if r is not None))
    device.start(lambda: found.extend(np.array(mine) for mine, _ in arrays))
    for mine, _ in arrays:
        device.start(lambda mine=mine: mine.__setitem__(..., 0))
    device.finish(order)
    return found


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.flags.writeable


def _blank(value: Any) -> Any:
    """Memory laid out as that of ``value``; what cannot be written to is ``value`` itself."""
    if not _is_array(value):
        return value
    low, high = np.lib.array_utils.byte_bounds(value)
    memory = np.zeros(high - low + 64, np.uint8)
    start = value.__array_interface__["data"][0] - low
    skew = (low - memory.__array_interface__["data"][0]) % 64  # aligned as it was
    window = memory[skew : skew + high - low]
    blank = np.ndarray(value.shape, value.dtype, window, start, value.strides)
    blank[...] = np.ones((), value.dtype)
    return blank


def _copy(value: Any) -> Any:
    """``value`` in memory of its own, laid out as it is."""
    made = _blank(value)
    if made is not value:
        made[...] = value
    return made


def check(seed: int) -> int:
    """The number of lanes of a random graph's program, whose results are those of any order."""
    case = random_graph(seed)
    ready, memory, device = on_lanes(case, seed)
    arguments = [_copy(a) for a in case.arguments]
    in_order = ready(arguments, lap=lambda: None)
    device.finish([0])
    expected = [r for r in in_order if r is not None]
    for order in ORDERS:
        found = outcome(case, ready, device, order)
        results, left = found[: len(expected)], found[len(expected) :]
        for a, b in zip(results, expected, strict=True):
            assert same_bits(a, np.asarray(b)), (seed, order)
        after = [a for a in arguments if _is_array(a)]
        for a, b in zip(left, after, strict=True):
            assert same_bits(a, b), (seed, order)
    assert device.made <= 1  # streams and events are made once
    return memory.timeline.lanes


def test_random_graphs_on_lanes_in_any_order() -> None:
    assert max(check(seed) for seed in (3, 8, 100, 101)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_random_graphs_on_lanes(part: int) -> None:
    assert max(check(seed) for seed in range(100 + 10 * part, 110 + 10 * part)) == LANES


@at_length
def test_a_call_that_fails_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a library call raises, the user's stream waits for what runs, and is current again."""

    def refuse(*_: Any) -> None:
        raise NotImplementedError("no such function")

    cases = (c for c in map(random_graph, range(100, 200)) if _has_library(c.graph))
    for case in islice(cases, 12):
        ready, _, device = on_lanes(case, 1)
        monkeypatch.setattr(device, "library", refuse)
        with pytest.raises(NotImplementedError):
            ready([_copy(a) for a in case.arguments])
        assert device.current == 0
        done: list[int] = []
        device.start(lambda d=device, n=done: n.extend(len(q) for k, q in d.queues.items() if k))
        device.finish([0, 1, 2])
        assert sum(done) == 0


def _has_library(graph: Graph) -> bool:
    """True if a device has something to call, which is no running sum."""
    return any(n.op == "library" and not scan_of(n) for n in graph.nodes())
