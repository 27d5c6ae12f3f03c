"""CUDA graphs: what becomes one, that its edges keep the order, and which instance is launched."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda.backend import program
from fusecuda.errors import FlushError, GraphRefusedError
from fusecuda.graph import build
from fusecuda.graph.node import Graph
from fusecuda.streams.graphs import INSTANCES, LEAST, Replay, parts_of, told
from fusecuda.streams.memory_plan import plan_memory
from fusecuda.streams.plans import graphs_told
from fusecuda.streams.schedule import schedule
from fusecuda.streams.timeline import one_lane, with_events
from tests.emulated import assembled
from tests.lazy_device import LazyDevice
from tests.marks import at_length
from tests.random_graphs import random_graph
from tests.strategies import same_bits
from tests.streams.test_lanes_of_programs import _copy, _is_array, on_lanes
from tests.timelines import QUICK, random_steps

RNG = np.random.default_rng(9)


def ancestors(nodes: Any) -> list[int]:
    """For each step, as bits, the steps that edges let run before it."""
    found: list[int] = []
    for _, after in nodes:
        mask = 0
        for place in after:
            mask |= found[place] | 1 << nodes[place].step
        found.append(mask)
    return [mask for _, mask in sorted(zip((n.step for n in nodes), found, strict=True))]


# --- what becomes a graph


def test_edges_are_the_order_of_the_timeline() -> None:
    """A node follows what would be done before its step on lanes with events, and no other."""
    several = 0
    for seed in range(200):
        steps = random_steps(seed)
        count = len(steps.touches)
        rng = np.random.default_rng([seed, 2])
        drawn = with_events([(s, int(rng.integers(4))) for s in range(count)], steps.needs)
        listed = schedule(steps.needs, steps.costs, QUICK, 4)
        for timeline in (drawn, listed, one_lane(count)):
            (part,) = parts_of(timeline.commands, range(count))
            if count < LEAST:
                assert not part.nodes
                continue
            assert ancestors(part.nodes) == timeline.before()
            several += timeline.lanes > 1
    assert several > 100


def test_library_calls_stand_between_graphs() -> None:
    """Runs of kernels are graphs if they are long enough; every command is there in its order."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        timeline = one_lane(int(rng.integers(1, 20)))
        kernels = {n for n in range(len(timeline.steps)) if rng.random() < 0.7}
        parts = parts_of(timeline.commands, kernels)
        assert tuple(c for part in parts for c in part.commands) == timeline.commands
        for part in parts:
            of_kernels = [c.number in kernels for c in part.commands]
            if part.nodes:
                assert all(of_kernels) and len(of_kernels) >= LEAST
                assert [n.step for n in part.nodes] == [c.number for c in part.commands]
            else:
                runs = "".join("k" if own else "L" for own in of_kernels)
                assert "k" * LEAST not in runs


def test_on_several_lanes_all_or_nothing_is_a_graph() -> None:
    """One library call beside the kernels, and events order them all."""
    steps = random_steps(3)
    count = len(steps.touches)
    timeline = with_events([(s, s % 3) for s in range(count)], steps.needs)
    (part,) = parts_of(timeline.commands, range(1, count))
    assert not part.nodes and part.commands == timeline.commands


# --- which instance is launched


class Made:
    """Instances that note what they have been told."""

    def __init__(self) -> None:
        self.given: list[Any] = []  # the frames, as each instance has them
        self.frames: Any = None
        self.ran: list[Any] = []
        self.fails = ""

    def __call__(self) -> Made._Instance:
        return self._Instance(self)

    class _Instance:
        def __init__(self, made: Made) -> None:
            self.made = made
            if made.fails == "make":
                raise GraphRefusedError("not made")
            self.number = len(made.given)
            made.given.append(made.frames)

        def update(self) -> None:
            if self.made.fails == "update":
                raise GraphRefusedError("not updated")
            self.made.given[self.number] = self.made.frames

        def launch(self, stream: int) -> None:
            if self.made.fails == "launch":
                raise GraphRefusedError("not launched")
            self.made.ran.append((self.made.given[self.number], stream))


def started(replay: Replay, made: Made, key: str) -> bool:
    """True if a call with ``key`` was launched as a graph with its own parameters."""
    if not replay(key.encode(), 7):
        made.frames = key
        if not replay.renew(key.encode(), 7):
            return False
    assert made.ran[-1] == (key, 7)
    return True


def test_each_call_has_its_own_parameters() -> None:
    """Whatever keys come in whatever order; instances are few."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        made, kinds = Made(), int(rng.integers(1, 40))
        replay = Replay(made)
        for _ in range(200):
            assert started(replay, made, f"k{rng.integers(kinds)}")
        assert 1 <= len(made.given) <= INSTANCES


def test_what_comes_again_is_not_updated() -> None:
    """Keys that take turns get instances of their own; those that never come again share one."""
    made = Made()
    replay = Replay(made)
    for n in range(100):
        started(replay, made, f"new {n}")
    assert len(made.given) == 1
    for _ in range(4):
        for key in "abc":
            started(replay, made, key)
    known = list(made.given)
    assert len(known) > 1
    for key in "abcabc":
        assert replay(key.encode(), 7)
    assert made.given == known


@pytest.mark.parametrize("fails", ["make", "update", "launch"])
def test_a_refusal_is_for_good_and_told(fails: str) -> None:
    made = Made()
    replay = Replay(made)
    made.fails = fails if fails != "update" else ""
    assert started(replay, made, "a") == (fails == "update")
    made.fails = fails
    assert not started(replay, made, "b")
    made.fails = ""
    assert not started(replay, made, "a") and "not" in replay.refusal


# --- programs


def chain(a: Any, b: Any, k: Any = 1.0) -> Any:
    """Several kernels, one after the other."""
    c = (a * b * k).sum()
    d = (a * c).max(0)
    return (a - d).sum(1) * b, d


class Device(LazyDevice):
    """A device that knows what it has cleared, and what it has brought."""

    def __init__(self) -> None:
        super().__init__()
        self.cleared: list[Any] = []
        self.brought = 0

    def zeros(self, nbytes: int) -> Any:
        self.cleared.append(super().zeros(nbytes))
        return self.cleared[-1]

    def constant(self, value: Any) -> Any:
        self.brought += 1
        return super().constant(value)


def ready(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Device, Any]:
    """The program of ``function`` on a lazy device, and its assembly."""
    executable = fc.lower(function, *arguments)
    assembly, sources = assembled(executable.graph, executable.strides)
    device = Device()
    return program(assembly, sources, plan_memory(assembly, 1), device), device, assembly


def done(native: Any, device: LazyDevice, *arguments: Any) -> list[np.ndarray]:
    """What a call gives once the device has done it."""
    results = native([_copy(a) for a in arguments])
    device.finish(list(device.queues))
    return [np.array(r) for r in results if r is not None]


def test_a_program_is_replayed_from_its_second_call_on() -> None:
    """With the bits of the first, for other arrays and other numbers too."""
    a, b = RNG.normal(size=(2, 40, 40))
    native, device, assembly = ready(chain, a, b, 2.0)
    assert "kernels are one" in graphs_told(assembly, native.layout)
    launched = len(native.prepared)
    assert launched >= LEAST
    for n, k in enumerate((2.0, 2.0, 3.0, 0.0, -0.0)):
        fresh = native((_copy(a), _copy(b), k), lap=lambda: None)
        device.finish([0])
        found = done(native, device, a, b, k)
        assert all(same_bits(x, np.asarray(y)) for x, y in zip(found, fresh, strict=True)), k
        assert sum(g.launches for g in device.graphs) == n + 1
        assert len(device.reports) == 2 * launched * (n + 1)


@at_length
def test_random_graphs_replayed_in_any_order() -> None:
    """Random programs on random lanes: a graph has the bits of steps in their order."""
    replayed = 0
    for seed in (1, 2, 5, 6, 8, 14, 15, 16):
        case = random_graph(seed)
        native, _, device = on_lanes(case, seed)
        arguments = [_copy(v) for v in case.arguments]
        expected = [r for r in native(arguments, lap=lambda: None) if r is not None]
        device.finish([0])
        after = [v for v in arguments if _is_array(v)]
        for _ in range(3):
            given = [_copy(v) for v in case.arguments]
            found = [r for r in native(given) if r is not None]
            device.finish([2, 1, 0])
            left = [v for v in given if _is_array(v)]
            for x, y in zip([*found, *left], [*expected, *after], strict=True):
                assert same_bits(np.asarray(x), np.asarray(y)), seed
        replayed += sum(g.launches for g in device.graphs) > 0
    assert replayed >= 3


class Refusing(LazyDevice):
    """A device whose graphs fail at some point."""

    fails = ""

    def graph(self, nodes: Any) -> Any:
        if self.fails == "make":
            raise GraphRefusedError("the driver is too old")
        made = super().graph(nodes)
        for name in ("update", "launch"):
            if self.fails == f"{name} {len(self.graphs)}":
                setattr(made, name, self._refuse)
        return made

    def _refuse(self, *_: Any) -> None:
        raise GraphRefusedError("the driver is too old")


def in_place(a: Any, b: Any) -> Any:
    """Kernels that overwrite an argument before a library call, and kernels after it."""
    for _ in range(3):
        a -= a.sum() * 0.01
        a *= a.max(0)
    c = np.sort(a, 1)
    for _ in range(3):
        c = c * c.sum() - c.max(0)
    return c + b


@pytest.mark.parametrize("fails", ["make", "launch 1", "launch 2"])
def test_what_is_refused_is_started_one_by_one(fails: str) -> None:
    """Each kernel runs once, whichever part is refused, and the reason is told."""
    a, b = RNG.normal(size=(2, 20, 20))
    executable = fc.lower(in_place, a, b)
    assembly, sources = assembled(executable.graph, executable.strides)
    device = Refusing()
    native = program(assembly, sources, plan_memory(assembly, 1), device)
    assert sum(bool(part.nodes) for part in native.parts) == 2
    wanted, known = _copy(a), _copy(a)
    expected = [r for r in native([wanted, b], lap=lambda: None) if r is not None]
    device.finish([0])
    device.fails = fails
    for _ in range(2):
        known = _copy(a)
        results = native([known, b])
        device.finish([0])
        assert same_bits(known, wanted)
        found = [r for r in results if r is not None]
        assert all(same_bits(x, y) for x, y in zip(found, expected, strict=True))
    assert native.refusal == "the driver is too old"


def test_threads_share_no_instance() -> None:
    """Calls at the same time have frames and graphs of their own."""
    a, b = RNG.normal(size=(2, 30, 30))
    native, device, _ = ready(chain, a, b, 2.0)
    done(native, device, a, b, 2.0)
    inside, gate = threading.Barrier(2), threading.Lock()
    device.finish([0])
    plain = device.graph

    def graph(nodes: Any) -> Any:
        inside.wait(10)
        with gate:
            return plain(nodes)

    device.graph = graph  # type: ignore[method-assign]
    results: dict[float, Any] = {}

    def call(k: float) -> None:
        results[k] = native([a, b, k])

    threads = [threading.Thread(target=call, args=(k,)) for k in (2.0, 5.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    device.finish([0])
    for k, found in results.items():
        fresh = native([a, b, k], lap=lambda: None)
        device.finish([0])
        assert all(same_bits(x, y) for x, y in zip(found, fresh, strict=True))


# --- a user's own capture


def test_a_user_s_graph_keeps_what_it_uses() -> None:
    """Results, the block and counters, which are its own and zero, and the program."""
    a, b = RNG.normal(size=(2, 400, 400)).astype(np.float32)
    native, device, _ = ready(chain, a, b, 2.0)
    expected = done(native, device, a, b, 2.0)
    device.on(5)
    device.captured = {5}
    before = len(device.cleared)
    results = native([a, b, 2.0])
    again = native([a, b, 2.0])
    assert device.graphs == []
    device.finish([5])
    for found in (results, again):
        assert all(same_bits(x, y) for x, y in zip(found, expected, strict=True))
    cleared = device.cleared[before:]
    assert len(cleared) == 2 and cleared[0] is not cleared[1]
    held = [id(v) for v in device.held]
    assert held.count(id(native)) == 2
    assert {id(v) for v in (*results, *again, *cleared)} <= set(held)
    blocks = [v for v in device.held if getattr(v, "shape", ()) == (native.layout.block_bytes,)]
    assert len(blocks) == 2 and blocks[0] is not blocks[1]
    assert not any(stream == 5 for stream, _ in native._counters)


def test_on_a_user_s_graph_all_is_on_its_stream() -> None:
    """Lanes are not taken, for others use their streams."""
    case = random_graph(8)
    native, memory, device = on_lanes(case, 8)
    native([_copy(v) for v in case.arguments])
    device.finish([0, 1, 2])
    assert memory.timeline.lanes > 1
    device.on(5)
    device.captured = {5}
    native([_copy(v) for v in case.arguments])
    assert not any(queue for lane, queue in device.queues.items() if lane != 5)
    assert device.queues[5]


def test_a_first_call_is_not_captured() -> None:
    """It is refused, by operation and line, and goes on being so until it has run."""
    a, b = RNG.normal(size=(2, 40, 40))
    native, device, _ = ready(chain, a, b, 2.0)
    device.on(5)
    device.captured = {5}
    for _ in range(2):
        with pytest.raises(FlushError, match=r"loop_multiply.*graphs.py:\d+.*call it once"):
            native([a, b, 2.0])
    assert not device.queues[5]


def test_a_library_call_that_cannot_be_captured_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = RNG.normal(size=(2, 20, 20))
    native, device, _ = ready(in_place, a, b)
    done(native, device, a, b)
    device.on(5)
    device.captured = {5}

    def refuse(*_: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(device, "library", refuse)
    with pytest.raises(FlushError, match=r"sort.*test_graphs.py:\d+.*not permitted"):
        native([_copy(a), b])


def test_constants_are_there_beforehand() -> None:
    """A constant operand of a library call is brought when the program is made, and once."""
    x = build.parameter(0, (3, 3), np.dtype(float))
    two = build.constant(2.0, np.dtype(float))
    graph = Graph((x,), (build.library("add", [x, two], (3, 3), np.dtype(float)),), "g", (None,))
    assembly, sources = assembled(graph)
    device = Device()
    native = program(assembly, sources, plan_memory(assembly, 1), device)
    assert device.brought == 1
    for _ in range(3):
        assert done(native, device, np.ones((3, 3)))[0][0, 0] == 3
    assert device.brought == 1


def test_counters_of_threads_on_the_per_thread_stream_are_apart() -> None:
    """Each thread has a stream of its own behind the one number; the legacy stream is another."""
    native, _, _ = ready(lambda a: a.sum(), np.ones((600, 600)))
    found: list[int] = []

    def look(stream: int) -> None:
        found.append(native._counters_of(stream)[1])

    for stream in (0, 1, 2):
        look(stream)
    threads = [threading.Thread(target=look, args=(2,)) for _ in range(1)]
    for thread in threads:
        thread.start()
        thread.join()
    look(2)
    assert len(set(found)) == 4 and found[-1] == found[2]


def test_what_the_key_holds() -> None:
    """All addresses and numbers, to the bit."""
    a, b = RNG.normal(size=(2, 40, 40))
    native, _, _ = ready(chain, a, b, 2.0)
    calling = native._calling
    count = len(calling.arguments) + len(calling.made) + calling.has_block + calling.has_counters
    from fusecuda.emit_cuda.straight import key_format

    assert struct.calcsize(key_format(calling)) == 8 * (count + 1)
    assert list(calling.numbers) == [2]


def test_graphs_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """For measuring; whoever asks is told."""
    commands = one_lane(5).commands
    assert [len(p.nodes) for p in parts_of(commands, range(5))] == [5]
    monkeypatch.setenv("FUSECUDA_GRAPHS", "0")
    parts = parts_of(commands, range(5))
    assert [len(p.nodes) for p in parts] == [0] and parts[0].commands == tuple(commands)
    assert told(parts, [""] * 5) == "no CUDA graph: FUSECUDA_GRAPHS=0"
