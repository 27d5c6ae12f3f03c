"""Emulated kernels where blocks meet, columns are split, and accesses are not aligned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import choice, launch
from fusecuda.emit_cuda.launch import Variant
from fusecuda.fusion.cost import Machine
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_shapes import compare
from tests.marks import one_in
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(11)
ONE_PASS = Machine(rows=1, row_bytes=1 << 40, group=4)  # all passes over a row are one kernel
ORDERS = ("forward", "reverse", "shuffled")


def of_all_rows(a: Any) -> Any:
    """Two reductions over rows in one kernel, one of them with an index."""
    rows = np.abs(a).sum(axis=1)
    return rows.sum(), rows.argmax()


def variants(device: Any) -> list[Variant]:
    """How each launch was emitted."""
    return [p.bounds[0].variant for p, _ in device.reports]


@pytest.mark.parametrize("order", ORDERS)
@one_in(10)
def test_row_values_are_reduced_in_groups(order: str) -> None:
    """The last block of each group reduces over it, whichever that is; rows of each skeleton."""
    device = compare(of_all_rows, RNG.normal(size=(20_003, 9)).astype("f4"), order=order)
    (prepared, _), *_ = device.reports
    assert prepared.bounds[0].integers["groups"] > 8
    device = compare(of_all_rows, RNG.normal(size=(1030, 520)).astype("f4"), order=order)
    (prepared, _), *_ = device.reports
    assert prepared.bounds[0].integers["groups"] == 3


@pytest.mark.parametrize("rows", [1, 511, 512, 513])
def test_groups_end_where_rows_do(rows: int) -> None:
    """One group, a whole one, one row more."""
    compare(of_all_rows, RNG.normal(size=(rows, 5)))


def test_no_rows_at_all() -> None:
    """A block comes all the same, for rows of any length."""
    for length in (5, 5000):
        compare(lambda a: np.abs(a).sum(axis=1).sum(), np.zeros((0, length)))


def test_blocks_take_several_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short rows, rows of several warps that stay resident, and more rows than turns."""
    monkeypatch.setattr(launch, "ENOUGH", 0.05)

    def spread(a: Any) -> Any:
        return np.abs(a - a.sum(axis=1, keepdims=True)).max(axis=1).sum()

    for shape in ((777, 40), (79, 1500), (79, 6000)):
        x = RNG.normal(size=shape).astype("f4")
        for function in (of_all_rows, spread):
            device = compare(function, x, order="shuffled")
            assert max(p.bounds[0].integers["turns"] for p, _ in device.reports) > 1


@pytest.mark.parametrize("order", ORDERS)
def test_columns_of_many_parts(order: str) -> None:
    """More parts than threads of a column, a number that is no power of two."""
    x = RNG.normal(size=(19_000, 9)).astype("f4")
    device = compare(lambda a: (a.sum(axis=0), a.argmin(axis=0)), x, order=order)
    assert {p.bounds[0].integers["parts"] for p, _ in device.reports} == {38}


def test_columns_of_many_chunks() -> None:
    """What cannot be split: a thread combines more chunks than most do."""
    x = RNG.normal(size=(66_000, 8)).astype("f4")
    device = compare(lambda a: a - a.sum(axis=0), np.ascontiguousarray(x[:600]))
    assert {v.levels for v in variants(device)} == {7}
    device = compare(lambda a: (a - a.sum(axis=0)).sum(axis=0), x, plan_for=ONE_PASS)
    assert {v.levels for v in variants(device)} == {21}


@pytest.mark.parametrize("length", [1, 3, 4, 15, 16, 127, 128, 129, 640])
@one_in(8)
def test_tails_of_columns(length: int) -> None:
    """Steps of 128 rows, of which the last are read one by one; what is written beside it."""
    x = RNG.normal(size=(length, 21)).astype("f4")
    compare(lambda a: (a.sum(axis=0), a.argmax(axis=0), (a * a).min(axis=0)), x)
    compare(lambda a: (a * 2, (a * 2).sum(axis=0)), np.asfortranarray(x.T).T)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1"])
@one_in(10)
def test_a_loop_begins_where_it_writes_whole_packs(dtype: str) -> None:
    """What it reads before and after that is not aligned, and is moved one by one."""
    x = (RNG.normal(size=1003) * 9).astype(dtype)
    device = compare(lambda a: a[1:] - a[:-1], x)
    (found,) = variants(device)
    assert found.packed and found.apart and not found.headed

    def inside(a: Any) -> None:
        a[..., 3:-2] = a[..., 3:-2] * 2 + a[..., :1]

    for shape in ((1003,), (5, 416)):
        x = (RNG.normal(size=shape) * 9).astype(dtype)
        want = x.copy()
        inside(want)
        executable = fc.lower(inside, x.copy())
        _, device = emulated.run(executable.graph, [x])
        assert same_bits(want, x)
        (found,) = variants(device)
        assert found.packed and found.headed and not found.apart


@pytest.mark.parametrize("extra", [0, 1, 31, 32, 33, 127])
def test_lines_that_begin_anywhere(extra: int) -> None:
    """Odd lines that are written: the elements of a thread are a warp apart."""
    x = RNG.normal(size=(3, 1 + 1025 + extra)).astype("f4")
    device = compare(lambda a: a[:, 1:] * 2 + a[:, :1], x)
    (found,) = variants(device)
    assert found.spread == bool((1025 + extra) % 4)


def test_of_equal_elements_the_first_is_found() -> None:
    """Also within a lane, and where all elements are NaN."""
    for value in (0, np.nan):
        x = np.full((9, 33), value, "f4")
        compare(lambda a: (a.argmax(axis=1), a.argmin(axis=1), a.argmax(axis=0)), x)


def test_no_rows_of_columns_and_no_rows_to_look_at() -> None:
    """Nothing is read where there is nothing, and nothing is left counted."""
    for _ in range(2):
        compare(lambda a: np.abs(a).sum(axis=1).sum(), np.zeros((0, 2000, 1000)))
        compare(lambda a: np.abs(a).sum(axis=1).sum(), np.zeros((0, 5, 1000)))
    for length in (50, 5000):
        compare(
            lambda a, s: np.abs(a / s[:, None]).sum(axis=1).sum(), np.zeros((0, length)), np.ones(0)
        )


def test_more_columns_than_a_block_can_combine_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    a = RNG.normal(size=(3, 5000)).astype("f4")
    function = lambda a: np.abs(a).sum(axis=0).sum()  # noqa: E731
    assert [v.skeleton for v in variants(compare(function, a))] == [choice.COLUMN]
    monkeypatch.setattr(choice, "_LAST_ROWS", 4096)
    assert [v.skeleton for v in variants(compare(function, a))] == [choice.SHORT]


def test_what_meets_in_shared_memory_has_room() -> None:
    """Many reductions of columns go by rows; tiles of wide elements are no tiles."""
    x = RNG.normal(size=(40, 100))

    def places(a: Any) -> Any:
        return tuple((a * k).argmax(axis=0) for k in range(1, 15))

    found = variants(compare(places, x))
    assert choice.COLUMN not in [v.skeleton for v in found if v.rank]
    wide = [RNG.normal(size=(50, 60)) * (1 + 1j) for _ in range(3)]
    flat = [RNG.normal(size=(60, 50)) * (1 + 1j) for _ in range(3)]
    device = compare(lambda a, b, c, d, e, f: a.T + b.T + c.T + d + e + f, *wide, *flat)
    assert [v.skeleton for v in variants(device)] == [choice.LOOP]


def test_gathers_that_reach_far_have_wide_indices() -> None:
    """Of a table with more elements than 31 bits count."""

    def taken(rows: int) -> str:
        table, index = fc.spec((rows, 4096), "f4"), fc.spec((3,), "i8")
        return "".join(fc.lower(lambda t, i: t[i] * 2, table, index).emit("cuda"))

    assert "fc_wrap<int64_t>" in taken(1 << 20)
    assert "fc_wrap<int>" in taken(100)
