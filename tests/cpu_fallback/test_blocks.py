"""Runs in blocks: whatever is computed again or put apart, each element is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused
from fusecuda.cpu_fallback import blocks
from fusecuda.fusion import kernel_ir as ir
from fusecuda.graph.dtypes import BOOL, FLOAT32, FLOAT64
from tests.marks import one_in

RNG = np.random.default_rng(8)
LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 47, 63, 64, 65)


def elementwise(x: Any, y: Any) -> Any:
    return x * y + 1, x - y


def stencil(x: Any, y: Any) -> Any:
    return x[1:-1, 1:-1] * 4 - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]


def in_place(x: Any, y: Any) -> Any:
    """What is written is what is read: no element may be computed twice."""
    x *= 3
    x += y
    return x


def moved_in_place(x: Any, y: Any) -> Any:
    """Elements wait until their neighbours have been computed."""
    x[1:-1, 1:-1] += x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] * 2 - x[1:-1, :-2]
    return x


def of_rows(x: Any, y: Any) -> Any:
    """What is kept of rows, and what is combined of them."""
    away = x - x.max(axis=1, keepdims=True)
    return away * y, away.sum(axis=1)


def of_rows_in_place(x: Any, y: Any) -> Any:
    x -= x.min(axis=1, keepdims=True)
    return x.max(axis=1) + y[:, 0]


def chosen(x: Any, y: Any) -> Any:
    """One of several places in memory is read, or a block of zeros."""
    return np.roll(x, 3, axis=1) * 2 + np.pad(y, 1)[2:, 2:] - np.concatenate([y, x], 1)[:, 1::2]


def counted(x: Any, y: Any) -> Any:
    """Indices are computed; one number is read by a whole row."""
    return x * np.arange(x.shape[1]).astype(x.dtype) + y[:, :1]


def of_every_second(x: Any, y: Any) -> Any:
    """Of rows that are cut off by their neighbours."""
    even, odd = x[:, : x.shape[1] // 2 * 2 : 2], y[:, 1::2]
    return even * odd - even, np.pad(x[:, ::2], ((1, 0), (2, 1))) + 1


def of_every_second_in_place(x: Any, y: Any) -> Any:
    x[:, : x.shape[1] // 2 * 2 : 2] *= x[:, 1::2] + y[:, 1::2]
    return x


def of_two_sizes(x: Any, y: Any) -> Any:
    return x.astype(np.float64) * 2 + y.astype(np.float32), np.where(x > y, x, -y)


def of_many_steps(x: Any, y: Any) -> Any:
    """So much is computed that short runs have no loop of their own."""
    for k in range(9):
        x = np.abs(x - y) - k
    return x


PROGRAMS = (
    elementwise, stencil, in_place, moved_in_place, of_rows, of_rows_in_place, chosen, counted,
    of_two_sizes, of_every_second, of_every_second_in_place, of_many_steps,
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@one_in(6)
def test_values(program: Callable[..., Any], dtype: str) -> None:
    """Of whole numbers, in rows of each length with others between them, which stay as they are."""
    for length in LENGTHS:
        around = RNG.integers(-9, 9, (2, 70, length + 5)).astype(dtype)
        kept = around.copy()
        given, expected = around[:, :, 3:-2], kept[:, :, 3:-2]
        found, right = fused(program)(*given), program(*expected)
        for one, other in zip(_listed(found), _listed(right), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(around, kept)


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.parametrize("length", LENGTHS)
def test_elements_do_not_depend_on_their_block(length: int) -> None:
    """Of functions that make no whole numbers either."""
    x = RNG.normal(size=(40, 100)).astype("f4")
    run = fused(lambda x: np.exp(np.sin(x) * 3) / (x + 7))
    np.testing.assert_array_equal(run(x[:, :length]), run(np.ascontiguousarray(x))[:, :length])


def test_which_runs_are_cut() -> None:
    """Those of 4 or 8 bytes, side by side; narrower ones make longer vectors."""
    x = np.ones((50, 31))
    for dtype, size in ("f8", 8), ("f4", 16), ("i8", 8), ("u4", 16):
        (text,) = fc.lower(lambda x: x * x + x, x.astype(dtype)[:, 1:]).emit("c")
        assert f"if (run < {size})" in text and text.count("to1[k] = ") == 2  # beside short ones
    for dtype in "u1", "i2", "f2", "c16":
        (text,) = fc.lower(lambda x: x * x + x, x.astype(dtype)[:, 1:]).emit("c")
        assert "block +=" not in text
    wide = np.ones((50, 60), "f4")
    for step, taken in (1, False), (2, True):
        (text,) = fc.lower(lambda x, step=step: x[:, ::step] + 1, wide).emit("c")
        assert "block +=" in text and ("fc_second_4(" in text) == taken
    for slices in (slice(None, None, 3), slice(None, None, -1)):
        (text,) = fc.lower(lambda x, slices=slices: x[:, slices] + 1, x).emit("c")
        assert "block +=" not in text


def test_what_may_be_computed_again() -> None:
    """Not where it is written to what is read, but where it is written late."""

    def bound(function: Callable[..., Any]) -> bool:
        (step,) = fc.lower(function, np.ones((90, 40)), np.ones((90, 40))).assembly.steps
        assert bool(step.lowered.ir.late) == (function is late)
        return bool(step.again)

    def late(x: Any, y: Any) -> None:
        moved_in_place(x, y)

    def early(x: Any, y: Any) -> None:
        x *= 3

    assert bound(elementwise) and bound(late)
    assert not bound(early)


def test_no_block_of_what_is_kept_and_recalled_at_once() -> None:
    """Recalled is what was kept before, not what the block keeps."""
    kernel = ir.KernelIR("k", "reduction", 1, 1, [ir.Form(FLOAT64, False)])
    load, keep = ir.Load(0, FLOAT64, 0), ir.Keep(0, 0, FLOAT64)
    assert blocks.size_of(kernel, (1,), [load, keep]) == 8
    assert blocks.size_of(kernel, (1,), [load, keep, ir.Recall(1, FLOAT64, 0)]) == 0
    truth = ir.Compute(1, BOOL, "less", (0, 0), (FLOAT64, FLOAT64))
    assert blocks.size_of(kernel, (1,), [load, truth]) == 8
    assert blocks.size_of(kernel, (1,), [load, ir.Load(1, FLOAT32, 0)]) == 16
