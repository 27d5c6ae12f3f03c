"""A hundred shapes of one program compile few kernels, and none in a second process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.marks import few, one_in

LIMIT = 4


def elementwise(x: Any, gain: Any, bias: Any) -> Any:
    return np.where(x > 0, x * gain + bias, x - bias) / (1 + x * x)


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    centered = x - x.mean(axis=1, keepdims=True)
    variance = (centered * centered).mean(axis=1, keepdims=True)
    return centered / np.sqrt(variance + 1e-5) * gain + bias


def softmax(x: Any, gain: Any, bias: Any) -> Any:
    scaled = x * gain
    e = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) + bias


def column_sums(x: Any, gain: Any, bias: Any) -> Any:
    return (x * gain + bias).sum(axis=0)


EXTENTS = [1, 2, 3, 5, 7, 11, 16, 31, 33, 64, 97, 101, 128, 257, 1000, 1013]
FIXED = [
    (0, 3), (0, 0), (1, 1), (1, 3), (3, 1), (1, 1_000_000), (1_000_000, 1), (2, 500_009),
    (100_003, 3), (1_000_000, 2), (1, 200_000), (8, 100_000), (65_537, 5),
]  # fmt: skip


def shapes() -> list[tuple[int, int]]:
    """A hundred shapes: extents 0, 1, 3, odd, prime; rows of 1 to a million."""
    rng = np.random.default_rng(7)
    drawn = [(int(rng.choice(EXTENTS)), int(rng.choice(EXTENTS))) for _ in range(100 - len(FIXED))]
    return FIXED + drawn


def cases() -> Iterator[tuple[Any, Any, Any]]:
    """Arguments in each shape: contiguous, strided, transposed, reversed and broadcast in turn."""
    rng = np.random.default_rng(8)
    for i, (n, m) in enumerate(shapes()):
        x, gain, bias = rng.normal(size=(n, m)), rng.normal(size=m), rng.normal(size=m)
        match i % 8:
            case 3:
                bias = bias[::-1]
            case 4:
                x = rng.normal(size=(m, n)).T
            case 5:
                x = rng.normal(size=(2 * n, m))[::2]
            case 6:
                gain = gain[:1]
            case 7:
                x = rng.normal(size=(n, 2 * m))[:, ::2]
        yield x, gain, bias


PROGRAMS = [elementwise, layer_norm, softmax, column_sums]


def run_all(program: Callable[..., Any], check: bool) -> int:
    """Run ``program`` fused in every shape; how many compilations that took."""
    before = fc.compile_count()
    function = fc.fused(program)
    for x, gain, bias in cases():
        if program is softmax and x.shape[1] == 0:
            continue
        got = function(x, gain, bias)
        if check:
            with np.errstate(all="ignore"):
                want = program(x, gain, bias)
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)
    return fc.compile_count() - before


def test_equal_kernels_are_equal_texts() -> None:
    """Which values are stored if they are not in one kernel tells nothing of how they are named."""
    columns, ones = np.ones((257, 331)).T, np.ones((100_000, 1))
    of_columns, of_ones = (
        fc.lower(layer_norm, x, np.ones(x.shape[1]), np.ones(x.shape[1])).kernels[0].source
        for x in (columns, ones)
    )
    name = re.compile(r"_[0-9a-f]{12}\b|^//.*$", re.MULTILINE)
    assert name.sub("", of_columns) == name.sub("", of_ones)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("program", few(PROGRAMS, 2), ids=lambda p: p.__name__)
@one_in(4)
def test_a_hundred_shapes_compile_few_kernels(
    program: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most LIMIT compiler runs for one program in a hundred shapes and layouts, all right."""
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path))
    assert len(shapes()) == 100
    assert run_all(program, check=True) <= LIMIT


@pytest.mark.slow  # by default one program shows it: test_a_warm_second_process_runs_no_compiler
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    """What one process has compiled, another finds on disk."""
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from tests.codegen.test_compilations import PROGRAMS, run_all\n"
        "print([run_all(p, check=False) for p in PROGRAMS])"
    )
    environment = {**os.environ, "FUSECUDA_CACHE_DIR": str(tmp_path)}
    root = Path(__file__).parents[2]

    def count() -> list[int]:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=root, check=True, capture_output=True
        )
        return [int(n) for n in done.stdout.decode().strip()[1:-1].split(",")]

    assert all(1 <= n <= LIMIT for n in count())
    assert count() == [0, 0, 0, 0]


def test_a_scalar_that_changes_compiles_nothing() -> None:
    """Numbers are arguments of kernels: a step width may change at each call."""
    step = fc.fused(lambda u, dt: u + dt * (u - 0.5 * dt))
    u = np.linspace(0, 1, 50)
    step(u, 0.1)
    before = fc.compile_count()
    for dt in (0.2, 0.3, -1.0, 7):
        np.testing.assert_array_equal(step(u, dt), u + dt * (u - 0.5 * dt))
    assert fc.compile_count() == before
    assert step.traces <= 2  # float and int are two types
