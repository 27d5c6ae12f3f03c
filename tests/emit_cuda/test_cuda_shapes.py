"""Emulated kernels over shapes: every class of rows and columns, tails, strides, alignment."""

from __future__ import annotations

import functools
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record.view import in_memory_order
from fusecuda.emit_cuda import choice, launch
from fusecuda.fusion.assembly import assemble
from fusecuda.fusion.cost import CPU, Machine
from fusecuda.graph.interpret import CUPY, interpret
from tests import emulated, emulator
from tests.marks import one_in
from tests.programs import PROGRAMS, Program
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(5)
EXTENTS = (0, 1, 3, 4, 5, 31, 127, 128, 129, 511, 512, 513, 1024, 4097)


def compare(
    function: Callable[..., Any],
    *arguments: Any,
    order: str = "reverse",
    plan_for: Machine | None = None,
) -> Any:
    """Emulated kernels give the interpreter's bits; the device with its reports is returned."""
    executable = fc.lower(function, *arguments)
    memory = [in_memory_order(a)[0] for a in arguments]
    want = interpret(executable.graph, memory, CUPY)
    got, device = emulated.run(executable.graph, memory, executable.strides, order, plan_for)
    for g, w in zip(got, want, strict=True):
        assert same_bits(w, g), f"{g!r} is not {w!r}"
    return device


def statistics(x: Any) -> Any:
    """Several reductions over one read, one of them with an index."""
    return x.sum(axis=1), x.max(axis=1), x.argmin(axis=1), (x * x).sum(axis=1) * 0.5


def centred(x: Any) -> Any:
    """Two stages over a row that stays resident, and a value for each row."""
    mean = x.sum(axis=1, keepdims=True) * 0.25
    return (x - mean), ((x - mean) * (x - mean)).sum(axis=1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1"])
@pytest.mark.parametrize("function", [statistics, centred])
@one_in(12)
def test_rows_of_every_class(function: Callable[..., Any], dtype: str) -> None:
    """Lanes of a warp, one warp, several warps, rows that do not start at multiples of 16 bytes."""
    for length in EXTENTS[1:]:
        compare(function, (RNG.normal(size=(3, length)) * 9).astype(dtype))


@pytest.mark.parametrize("function", [statistics, centred])
@one_in(4)
def test_columns_of_every_class(function: Callable[..., Any]) -> None:
    """Rows that lie side by side in memory."""
    for length in EXTENTS[1:]:
        compare(function, np.asfortranarray(RNG.normal(size=(37, length))))
    compare(function, np.asfortranarray(RNG.normal(size=(300, 700))))


@pytest.mark.parametrize("count", [0, 1, 2, 31, 300])
@pytest.mark.parametrize("length", [0, 2, 200])
@one_in(10)
def test_counts(count: int, length: int) -> None:
    """No row, one row, more rows than a block has; sums of nothing."""
    x = RNG.normal(size=(count, length)).astype("f4")
    compare(lambda a: (a.sum(axis=1), a.sum(axis=0), a.sum(), np.abs(a).sum(axis=1).sum()), x)


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
@one_in(6)
def test_long_rows_are_split_over_blocks(order: str) -> None:
    """The last block to finish has everybody's results, whoever it is."""
    x = RNG.normal(size=(2, 70_001))
    device = compare(lambda a: (a.sum(axis=1), a.argmax(axis=1)), x, order=order)
    assert any(p.bounds[0].grid > 2 for p, _ in device.reports)
    compare(lambda a: a.sum(), x, order=order)
    compare(lambda a: a.sum(axis=0), np.ascontiguousarray(x.T), order=order)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda a: a, "offset": lambda a: a[:, 1:], "step": lambda a: a[::2, ::3],
    "reversed": lambda a: a[::-1, ::-1], "turned": lambda a: a.T, "column": lambda a: a[:, 3:4],
    "repeated": lambda a: np.broadcast_to(a[2], (7, a.shape[1])),
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@one_in(14)
def test_layouts(view: str, dtype: str) -> None:
    """Strided, reversed, turned and repeated arguments, in loops and reductions."""
    x = VIEWS[view]((RNG.normal(size=(33, 45)) * 50).astype(dtype))
    compare(lambda a: (a + a, a.sum(axis=0), a.max(axis=1)), x)


def test_tiles() -> None:
    """What lies transposed passes through shared memory; every access is contiguous."""

    def sums(a: Any, b: Any) -> Any:
        return a + b.T, a * 2 - b.T

    for shape in ((70, 45), (32, 32), (16, 100), (33, 17)):
        device = compare(sums, RNG.normal(size=shape), RNG.normal(size=shape[::-1]))
        assert {p.bounds[0].variant.skeleton for p, _ in device.reports} == {"tiles"}
    batched = RNG.normal(size=(3, 40, 5, 50)).astype("f4")
    straight = RNG.normal(size=(50, 40, 5, 3)).astype("f4")
    compare(lambda a, b: a.transpose(3, 1, 2, 0)[:, :20] + b[:, 20:], batched, straight)
    small = compare(sums, RNG.normal(size=(5, 90)), RNG.normal(size=(90, 5)))
    assert {p.bounds[0].variant.skeleton for p, _ in small.reports} == {"loop"}


def test_indices_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every skeleton with wide indices, which it gets where 32 bits would not do."""
    executable = fc.lower(lambda a: a + a, fc.spec((3, 1 << 30), np.int8))
    assembly, _ = emulated.assembled(executable.graph)
    assert [step.variant.wide for step in assembly.steps] == [True]
    monkeypatch.setattr(launch, "_NARROW", 1)
    x, tall = RNG.normal(size=(5, 1300)), np.asfortranarray(RNG.normal(size=(40, 700)))
    for a in (x, x[:, :50], x[::-1, ::3], tall):
        device = compare(lambda a: (a + a, a.sum(axis=1), a.argmax(axis=0)), a)
        assert all(p.bounds[0].variant.wide for p, _ in device.reports)
    compare(centred, x)
    compare(lambda a: a.T + np.pad(a.T, 1)[1:-1, 1:-1], x)


def spread(shape: tuple[int, int], dtype: str, step: int) -> np.ndarray:
    """Rows ``step`` elements apart in memory that the system hands out where it is touched."""
    item = np.dtype(dtype).itemsize
    nbytes = ((shape[0] - 1) * step + shape[1]) * item
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Python 3.12 has no name for it
    try:
        memory = mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)
    except OSError as error:
        pytest.skip(f"the system gives out no memory before it is touched: {error}")
    array = np.ndarray(shape, dtype, memory, 0, (step * item, item))
    array[...] = RNG.integers(-9, 9, shape)
    return array


@pytest.mark.slow  # the emulator keeps books on all that lies between
@pytest.mark.parametrize("step", [(1 << 31) + 5])
def test_memory_beyond_32_bits(step: int) -> None:
    """Elements over 2^31 apart, at their real addresses: reads, reductions, updates in place."""
    x = spread((3, 700), "i1", step)

    def program(a: Any) -> Any:
        a[1:, ::2] += a[1:, 1::2]
        a[2, 5] = 7
        return (
            a * 2,
            a.sum(axis=1),
            a.max(axis=0),
            a.T.copy(),
            a[:, 1:] - a[:, :-1],
            a.argmax(axis=1),
        )

    want = program(mine := x.copy())
    executable = fc.lower(program, x)
    strides = {0: tuple(s // x.itemsize for s in x.strides)}
    got, device = emulated.run(executable.graph, [x], strides)
    wide = [b.variant.wide for p, _ in device.reports if _touches(p) for b in p.bounds]
    assert sum(wide) >= 4  # the others touch one row
    for value, wanted in zip([g for g in got if g is not None], want, strict=True):
        assert same_bits(wanted, value)
    assert same_bits(mine, x)


def _touches(prepared: Any) -> bool:
    """True for a launch that reads or writes the argument itself."""
    return any(base == 0 for base, _ in prepared.pointers)


def test_arguments_that_are_not_aligned() -> None:
    """Arguments that start at odd addresses get kernels that move one element at a time."""
    room = np.arange(1, 2003, dtype="f4")
    for length in (999, 1999):
        executable = fc.lower(lambda a: a * 2 + 1, room[:length])
        for start in (0, 1, 2, 3):
            argument = room[start : start + length]
            (got,), device = emulated.run(executable.graph, [argument])
            assert same_bits(argument * 2 + 1, got)
            (variant,) = [p.bounds[0].variant for p, _ in device.reports]
            aligned = argument.__array_interface__["data"][0] % 16 == 0
            assert variant.packed == (aligned or length >= 1024)
            assert len(variant.apart) == (0 if aligned or length < 1024 else 2)


def weights(x: Any) -> Any:
    """As a softmax, by operations that have one result."""
    below = x - x.max(axis=-1, keepdims=True)
    e = 1 / (1 + below * below)
    return e / e.sum(axis=-1, keepdims=True)


def blended(x: Any) -> Any:
    """Keeps what was read and what was computed of it, both to the end."""
    near = (x * x + 3) // (x * x * 0.25 + 0.5)  # costly, so that it is kept
    return near / near.sum(axis=-1, keepdims=True) + x * near.max(axis=-1, keepdims=True)


def ranks(x: Any) -> Any:
    """Keeps booleans and numbers of two sizes at once."""
    inside = x > x.mean(axis=-1, keepdims=True)
    spread = np.where(inside, x, 0).sum(axis=-1, keepdims=True)
    return x - spread, inside, (x * 2 - spread).max(axis=-1)


def on_device_of(monkeypatch: pytest.MonkeyPatch, **facts: int) -> None:
    """Launches are fitted to a device of which something is otherwise than of an H100."""
    monkeypatch.setattr(launch, "Facts", lambda: choice.Facts(**facts))


@pytest.mark.parametrize("cluster", [1, 8])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [weights, blended, ranks, centred])
@one_in(32)
def test_rows_kept_in_shared_memory(
    function: Callable[..., Any], dtype: str, cluster: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that registers cannot hold are read once all the same; any length, any strides.

    A cluster shares them where there are few, or where they would fill most of a block's memory.
    """
    on_device_of(monkeypatch, cluster=cluster)
    least = {"f4": 16385, "f8": 8193}[dtype]
    for length in (least, least + 3, least + 126, least + 3000):
        x = RNG.normal(size=(2, length)).astype(dtype)
        device = compare(function, x)
        (prepared, report), *_ = device.reports
        (bound,) = prepared.bounds
        assert bound.variant.kept == "shared memory"
        assert bound.variant.blocks == cluster
        assert prepared.grid == 2 * bound.variant.blocks
        assert report.read[0] == report.touched_read[0] == x.nbytes
    compare(function, RNG.normal(size=(2, 2 * least)).astype(dtype)[:, ::2])
    compare(lambda a: function(a.reshape(2, -1)), RNG.normal(size=(2, 5, least // 4)).astype(dtype))


@pytest.mark.parametrize("function", [weights, centred])
@pytest.mark.parametrize(
    ("length", "facts", "kept"),
    [
        (58_000, {"cluster": 1}, ("both", 1)),
        (80_000, {"cluster": 1}, ("both", 1)),
        (65_536, {}, ("shared memory", 8)),
        (70_001, {"shared": 64 << 10, "cluster": 2}, ("both", 2)),
    ],
)
@one_in(8)
def test_rows_kept_in_registers_and_shared_memory(
    function: Callable[..., Any], length: int, facts: dict[str, int], kept: tuple[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Rows for which shared memory is too small are read once all the same."""
    on_device_of(monkeypatch, **facts)
    x = RNG.normal(size=(2, length)).astype("f4")
    device = compare(function, x, plan_for=CPU)  # of few rows the passes would be kernels
    ((prepared, report),) = device.reports
    (bound,) = prepared.bounds
    assert (bound.variant.kept, bound.variant.blocks) == kept
    assert report.read[0] == report.touched_read[0] == x.nbytes


def norm_of_all(x: Any) -> Any:
    """Something of each element, of each row, and of all rows."""
    below = x - x.mean(axis=1, keepdims=True)
    size = np.sqrt((below * below).mean(axis=1))
    return below / size[:, None], size, size.max()


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
@one_in(6)
def test_rows_of_clusters_are_reduced_over(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block of each cluster ends its rows, which may be several, and meets the others."""
    on_device_of(monkeypatch, multiprocessors=1, cluster=2, shared=24 << 10)
    x = RNG.normal(size=(17, 31_000)).astype("f4")
    x[:, 5] = np.arange(17)
    ((prepared, _),) = compare(norm_of_all, x, order=order, plan_for=CPU).reports
    (bound,) = prepared.bounds
    assert (bound.variant.kept, bound.variant.blocks) == ("both", 2)
    assert bound.integers["turns"] > 1


def test_clusters_are_as_few_blocks_as_fill_the_device() -> None:
    """Two blocks fit on a processor, unless rows are too long; few rows are shared by more."""
    for shape, blocks, kept in (
        ((4000, 20_000), 1, "shared memory"),
        ((4000, 33_000), 2, "shared memory"),
        ((4000, 128_256), 8, "shared memory"),
        ((4000, 400_000), 8, "shared memory"),
        ((4000, 500_000), 8, "both"),
        ((4000, 600_000), 1, "nowhere"),
        ((17, 20_000), 1, "shared memory"),
        ((16, 20_000), 8, "shared memory"),
    ):
        executable = fc.lower(weights, fc.spec(shape, np.float32), device="cuda")
        (step,) = executable.assembly.steps
        assert (step.variant.blocks, step.variant.kept) == (blocks, kept), shape
        assert step.grid == shape[0] * blocks
        assert step.shared <= 227 << 10


def test_rows_that_no_block_can_keep() -> None:
    """Each stage reads them again; what a block can keep is the device's affair."""
    x = RNG.normal(size=(2, 90_000)).astype("f4")
    for shared, kept in ((227 << 10, "nowhere"), (1 << 20, "shared memory")):
        executable = fc.lower(weights, x)
        facts = choice.Facts(shared=shared, cluster=1)
        plan = executable.assembly.plan
        (step,) = assemble(plan, {}, functools.partial(launch.bind, facts=facts)).steps
        assert step.variant.kept == kept
    x = RNG.normal(size=(1, 530_000)).astype("f4")
    device = compare(weights, x, plan_for=CPU)  # for few of them there are several kernels
    report = device.reports[0][1]
    assert report.read[0] == 3 * report.touched_read[0]


def exponentials(x: Any) -> Any:
    most = x.max(axis=1)
    below = np.exp(x - most[:, None])
    total = below.sum(axis=1)
    return below / total[:, None], np.log(total) + most


def log_sum(x: Any) -> Any:
    most = x.max(axis=1)
    return np.log(np.exp(x - most[:, None]).sum(axis=1)) + most


@pytest.mark.parametrize(("function", "passes"), [(exponentials, 2), (log_sum, 1)])
@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
@one_in(12)
def test_long_rows_online(
    function: Callable[..., Any], passes: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``contract`` a maximum and a sum of exponentials take one pass; special values too."""
    on_device_of(monkeypatch, cluster=1)
    x = (RNG.normal(size=(6, 90_001)) * 5).astype("f4")
    x[1, :] = -np.inf
    x[2, ::3] = -np.inf
    x[3, 777] = np.inf
    x[4, 59_999] = np.nan
    x[5] = np.sort(x[5])
    executable = fc.lower(function, x)
    with np.errstate(all="ignore"):
        want = function(x.astype("f8"))
    got, device = emulated.run(executable.graph, [x], None, order, CPU, contract=True)
    for g, w in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_allclose(g, w, rtol=3e-6)
    assert times_read(device) == passes
    _, twice = emulated.run(executable.graph, [x], None, order, CPU)
    assert times_read(twice) == passes + 1


def times_read(device: Any) -> float:
    """How often the one kernel reads its first argument."""
    ((prepared, report),) = device.reports
    place = [name for name, _ in prepared.parameters].index("in0")
    return float(report.read[place] / report.touched_read[place])


def test_few_long_rows_are_worked_on_by_the_whole_device() -> None:
    """Their passes are kernels of their own, each split over many blocks; many rows share one.

    Few rows do, too, that clusters can keep, if these are half of the device.
    """
    for shape, kernels in (
        ((4, 1 << 22), 3),
        ((400, 1 << 18), 1),
        ((1, 50_000), 1),
        ((9, 60_000), 1),
        ((2, 1 << 20), 3),
    ):
        executable = fc.lower(weights, fc.spec(shape, np.float32))
        assembly, _ = emulated.assembled(executable.graph)
        assert len(assembly.steps) == kernels, shape
        assert min(step.grid for step in assembly.steps) >= (shape[0] if kernels == 1 else 128)
    tall = fc.lower(lambda a: a - a.mean(axis=0), fc.spec((1 << 20, 16), np.float32))
    assembly, _ = emulated.assembled(tall.graph)
    assert len(assembly.steps) == 2 and min(step.grid for step in assembly.steps) > 128


def test_few_long_columns_are_worked_on_by_the_whole_device() -> None:
    """A block has 32 columns: those that none can keep are passed over by kernels of their own."""

    def deviation(x: Any) -> Any:
        return x - x.mean(axis=0), x.std(axis=0)

    for shape, is_one in (
        ((1000, 64), True),
        ((50_000, 64), False),
        ((50_000, 4000), False),
        ((50_000, 9000), True),
        ((12_000, 2000), True),
    ):
        executable = fc.lower(deviation, fc.spec(shape, np.float32))
        assembly, _ = emulated.assembled(executable.graph)
        assert (len(assembly.steps) == 1) == is_one, shape
        assert min(step.grid for step in assembly.steps) >= 128 or shape[0] == 1000


def test_the_grid_fits_the_device() -> None:
    """A long row is split over as many blocks as the multiprocessors need."""
    executable = fc.lower(lambda a: a.sum(), fc.spec((1 << 24,), np.float32))
    plan = executable.assembly.plan
    grids = [
        assemble(plan, {}, functools.partial(launch.bind, facts=choice.Facts(count))).steps[0].grid
        for count in (16, 132)
    ]
    assert grids[0] >= 8 * 16 and grids[1] >= 4 * grids[0]


def test_in_place_updates() -> None:
    """A slice is written where it lies; what overlaps itself is not."""

    def program(a: Any) -> None:
        a[1:-1] = a[1:-1] + (a[2:] - 2 * a[1:-1] + a[:-2]) * 0.25
        a[::2] *= 3

    x = RNG.normal(size=(40, 8))
    want = x.copy()
    program(want)
    executable = fc.lower(program, x.copy())
    emulated.run(executable.graph, [x])
    assert same_bits(want, x)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@one_in(10)
def test_named_programs_move_the_least_bytes(program: Program) -> None:
    """Each input is read once and each output written once; one launch."""
    arguments = program.arguments(np.random.default_rng(3), 48, 200)
    executable = fc.lower(program.function, *arguments)
    want = program.function(*arguments)
    results, device = emulated.run(executable.graph, arguments)
    for got, wanted in zip(results, want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)
    assert len(device.reports) == program.launches
    prepared, report = device.reports[0]
    for i, (name, ctype) in enumerate(prepared.parameters):
        if "*" not in ctype or not name.startswith(("in", "out")):
            continue
        moved, touched = report.read[i], report.touched_read[i]
        if name.startswith("out"):
            moved, touched = report.written[i], report.touched_written[i]
        shared = name != "in0" or program.name in {"layer_norm", "cross_entropy"}
        if not shared or name.startswith("out"):
            assert moved == touched, name


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 10_000_001), (1_000_001, 1), (1_333_333, 3), (2, 4_000_037)])
def test_millions(shape: tuple[int, int]) -> None:
    """The longest rows, and the most of them."""
    x = RNG.normal(size=shape).astype("f4")
    compare(lambda a: (a.sum(axis=1), a.max(axis=0), a.sum()), x, order="forward")
