"""Late stores by emulated CUDA kernels: an update that reads what it overwrites is one launch.

The emulator knows which block has read an element, and refuses that another one writes it before
the first has said so: the order of blocks is not all that is tried.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record.view import in_memory_order
from fusecuda.emit_cuda import halos, nvrtc
from fusecuda.emit_cuda.backend import machine, program
from fusecuda.emit_cuda.choice import LATE, NEAR
from fusecuda.emit_cuda.launch import CudaBound
from fusecuda.emit_cuda.variant import Variant
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.streams.memory_plan import plan_memory
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts, sources_of
from tests.fusion.test_late import backwards, box, coupled, downwind, drawn_update, heat, upwind
from tests.marks import chosen, one_in
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
Array = np.ndarray[Any, Any]
ORDERS = ("forward", "reverse", "shuffled")


def check(function: Callable[..., Any], *arrays: Array, order: str = "reverse") -> list[CudaBound]:
    """Emulated kernels give NumPy's bits; their launches."""
    want = [a.copy(order="K") for a in arrays]
    function(*want)
    executable = fc.lower(function, *arrays)
    memory = [in_memory_order(a)[0] for a in arrays]
    expected = interpret(executable.graph, [a.copy(order="K") for a in memory], CUPY)
    results, device = emulated.run(executable.graph, memory, executable.strides, order)
    assert all(map(same_bits, arrays, want))
    pairs = zip(results, expected, strict=True)
    assert all(same_bits(got, value) for got, value in pairs if got is not None)
    return [bound for prepared, _ in device.reports for bound in prepared.bounds]


def is_late(bounds: list[CudaBound]) -> bool:
    return [b.variant.skeleton for b in bounds] == [LATE]


CASES = (
    (heat, (70, 90)),
    (upwind, (5000,)),
    (upwind, (90, 70)),
    (downwind, (5000,)),
    (backwards, (70, 90)),
    (box, (17, 19, 23)),
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("function", "shape"), CASES, ids=lambda p: getattr(p, "__name__", p))
@one_in(12)
def test_one_launch(function: Any, shape: tuple[int, ...], order: str) -> None:
    """Whichever tile comes first, in one, two and three dimensions."""
    for layout in "CF":
        values = np.random.default_rng(1).normal(size=shape)
        bounds = check(function, np.array(values, order=layout), order=order)  # type: ignore[arg-type]
        assert is_late(bounds) and bounds[0].grid > 1


def test_two_arrays() -> None:
    """Elements of several arrays, of unlike types, wait side by side."""
    u, v = np.arange(3001.0), np.arange(3001, dtype=np.float32) * 3
    assert is_late(check(coupled, u, v))


@pytest.mark.parametrize("seed", range(24))
@one_in(24)
def test_random_updates(seed: int) -> None:
    """Any steps, shifts, types and layouts."""
    draw = random.Random(seed)
    function, laid_out = drawn_update(draw, seed)
    check(function, laid_out(), laid_out(), order=draw.choice(ORDERS))


@pytest.mark.parametrize("size", [1024, 2048, 4096])
@one_in(10)
def test_tiles_of_any_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halos of none, some and all of a tile, and farther; the counters are zero again."""
    monkeypatch.setattr(halos, "_FILLED", 0)
    monkeypatch.setattr(halos, "_MOST", size)
    monkeypatch.setattr(halos, "_LINE", 4)

    def wide(u: Any) -> None:
        near = u[:-32, 16:-16] + u[32:, 16:-16] + u[16:-16, :-32]
        u[16:-16, 16:-16] = near + u[16:-16, 32:]

    def narrow(u: Any) -> None:
        u[:, :, 1:] += u[:, :, :-1] * 2

    assert is_late(check(wide, np.random.default_rng(2).normal(size=(300, 170)).astype("f4")))
    assert is_late(check(narrow, np.random.default_rng(2).normal(size=(40, 3, 300))))


def test_counters_are_zero_again() -> None:
    """A launch finds them as the one before has left them."""
    u = np.random.default_rng(3).normal(size=(100, 200))
    want = u.copy()
    executable = fc.lower(heat, u)
    assembly, sources = emulated.assembled(executable.graph, executable.strides)
    device = emulated.EmulatedDevice("shuffled")
    ready = program(assembly, sources, plan_memory(assembly, 1), device)
    for _ in range(3):
        ready([u])
        heat(want)
    assert same_bits(u, want) and len(device.reports) == 3


def test_each_element_is_written_once() -> None:
    """And few wait in memory, where they are read once."""
    u = np.zeros((300, 420), "f4")
    executable = fc.lower(heat, u)
    _, device = emulated.run(executable.graph, [u], executable.strides)
    ((prepared, report),) = device.reports
    moved = {
        name: (read, written)
        for (name, _), read, written in zip(
            prepared.parameters, report.read, report.written, strict=True
        )
    }
    assert moved["out5"] == (0, 298 * 418 * 4)
    assert moved["edge5"][0] == moved["edge5"][1] < u.nbytes / 5
    assert prepared.bounds[0].workspace < u.nbytes / 4


def far(u: Any) -> None:
    u[: -NEAR - 1] += u[NEAR + 1 :]


def many(*arrays: Any) -> None:
    """More would wait of an element than a block has room for."""
    sums = [a[2:] + b[:-2] for a, b in zip(arrays, arrays[1:] + arrays[:1], strict=True)]
    for a, value in zip(arrays, sums, strict=True):
        a[1:-1] = value


def fixed(u: Any) -> None:
    """What it reads besides is none of what it writes."""
    u[1:-1] = u[2:] * u[0] + u[-1]


def apart(u: Any) -> None:
    """Red and black: each reads what the other one is."""
    u[1:-1:2] += u[:-2:2] + u[2::2]
    u[2:-1:2] += u[1:-2:2] + u[3::2]


@pytest.mark.parametrize("count", [1, 2])
def test_what_cannot_wait(count: int) -> None:
    """Far reads and too many arrays are stored first; others are in no way of it."""
    rng = np.random.default_rng(4)
    assert not is_late(check(far, rng.normal(size=5000 * count)))
    assert is_late(check(fixed, rng.normal(size=5000 * count)))
    check(apart, rng.normal(size=5001 * count))
    bounds = check(many, *(rng.normal(size=1500 * count) for _ in range(5)))
    assert all(sum(s.dtype.itemsize for s in b.lowered.ir.late) <= 32 for b in bounds)


def test_few_texts() -> None:
    """Shapes of a rank have one, whatever their tiles."""
    found: set[tuple[str, Variant]] = set()
    for shape in ((9, 9), (17, 300), (300, 17), (64, 128), (1000, 1000), (3, 5000), (2, 3)):
        executable = fc.lower(heat, np.zeros(shape))
        _, sources = emulated.assembled(executable.graph, executable.strides)
        found |= {s.symbol for s in sources if s is not None}
    assert len(found) <= 4


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
def test_registers(arch: str) -> None:
    """Late stores neither spill nor use local memory."""
    sources = sources_of(heat, np.ones((70, 90), "f4")) + sources_of(box, np.ones((20, 20, 20)))
    sources += sources_of(coupled, np.ones(3000), np.ones(3000, "f4"))
    for name, (stack, spilled, registers) in facts(sources, arch).items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 128, (name, registers)


def test_the_planner_knows() -> None:
    """What a machine of CUDA devices lets wait is what a block has room for."""
    assert machine().waits == NEAR and machine().late_bytes * 1024 <= 32 << 10
