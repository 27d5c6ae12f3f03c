"""Large results go to memory past the caches: the same bits, wherever they begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.fusion import cost
from fusecuda.fusion.binding import Bound
from tests.strategies import same_bits


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All that is written counts as too large for caches."""
    monkeypatch.setattr(cost, "STREAM_BYTES", 0)
    yield


def _streams(exe: fc.Executable) -> list[bool]:
    return [step.streams for step in exe.assembly.steps if isinstance(step, Bound)]


def _checked(program: Any, *arguments: Any) -> None:
    exe = fc.lower(program, *arguments)
    assert any(_streams(exe))
    assert "fc_stream(" in "".join(kernel.source for kernel in exe.kernels)
    got, wanted = exe(*arguments), program(*arguments)
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, wanted)), strict=True):
        assert same_bits(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i1", "i4", "c8", "c16", "?"])
@pytest.mark.parametrize("n", [2, 7, 63, 64, 65, 1023, 1024, 1025, 5000])
def test_lengths(dtype: str, n: int) -> None:
    """Elements of all widths, in runs that end within a line, at its end, and behind it."""
    x = (np.arange(n) % 100).astype(dtype)

    def program(x: Any) -> Any:
        return x + x, x != x * x

    _checked(program, x)


def test_rows_and_edges() -> None:
    """Rows that begin anywhere in a line, joined parts, what is padded, several results."""
    rng = np.random.default_rng(3)

    def edges(x: Any, y: Any) -> Any:
        inner = x[1:-1, 1:-1] * 2 - x[:-2, 1:-1]
        return inner, np.concatenate([x, y], axis=1), np.pad(x, 2), inner > 1

    def rows(x: Any, y: Any) -> Any:
        low = x.min(axis=1, keepdims=True)
        return (x - low) / y.max(axis=1, keepdims=True), low

    for shape in ((5, 33), (33, 70), (3, 1500)):
        x, y = rng.normal(size=(2, *shape))
        _checked(edges, x, y)
        _checked(rows, x, y)


@pytest.mark.parametrize("width", [8, 33, 64, 150])
def test_columns(width: int) -> None:
    """What columns side by side write, a part of each row at a time."""
    x = np.random.default_rng(4).normal(size=(600, width))

    def program(x: Any) -> Any:
        return x - x.max(axis=0), np.where(x > x.min(axis=0), x, -x)

    _checked(program, x)


def test_threads() -> None:
    """Whoever waits for the threads sees all that they have written."""
    x = np.arange(3_000_000.0)
    exe = fc.lower(lambda x: x * 2 + 1, x)
    for _ in range(20):
        assert same_bits(exe(x), x * 2 + 1)


def test_what_is_overwritten_is_in_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that overwrite what is read do not stream, small ones neither."""

    def update(x: Any) -> None:
        x += 1

    x = np.ones(1000)
    exe = fc.lower(update, x)
    assert not any(_streams(exe))
    monkeypatch.setattr(cost, "STREAM_BYTES", 3 * 8 * 1000 + 1)
    assert not any(_streams(fc.lower(lambda x: x + 1, x)))
    assert any(_streams(fc.lower(lambda x: x + 1, np.ones(1001))))
