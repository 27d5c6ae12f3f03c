"""Axes behind what is tested are one with it: runs go along columns and colours alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.marks import one_in

RNG = np.random.default_rng(12)
PROGRAMS: dict[str, tuple[Callable[[Any], Any], int]] = {  # and how many axes are left
    "rolled": (lambda x: np.roll(x, 2, 1), 2),
    "rolled in both": (lambda x: np.roll(x, (2, -1), (0, 1)), 2),
    "rolled backwards": (lambda x: np.roll(x[:, ::-1], 1, 0), 3),
    "joined": (lambda x: np.concatenate([x[1:], x[:1]]), 1),
    "joined in rows": (lambda x: np.concatenate([x, x * 2, x[:, 1:]], axis=1), 2),
    "padded": (lambda x: np.pad(x, ((1, 2), (2, 0), (0, 0))), 2),
    "padded within": (lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1))), 3),
    "joined within": (lambda x: np.concatenate([x, x], axis=2), 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_runs_go_along_all_that_lies_together(name: str, dtype: str) -> None:
    x = RNG.integers(0, 99, (7, 9, 3)).astype(dtype)
    function, axes = PROGRAMS[name]
    lowered = fc.lower(function, x, device="cpu")
    np.testing.assert_array_equal(lowered(x), function(x))
    (step,) = lowered.assembly.steps
    extents = step.dims[2:5]
    assert sum(n > 1 for n in extents) <= axes


def moved(rng: np.random.Generator, rank: int) -> Callable[[Any], Any]:
    """A few moves along random axes."""
    plan = [tuple(map(int, rng.integers(0, [6, rank, rank, 9]))) for _ in range(rng.integers(1, 4))]

    def function(x: Any) -> Any:
        for kind, axis, other, by in plan:
            rest = (slice(None),) * axis + (slice(1, None),)
            widths = [(by % 3, by % 2) if a == axis else (0, 0) for a in range(rank)]
            match kind:
                case 0:
                    x = np.roll(x, by - 4, axis)
                case 1:
                    x = np.roll(x, (by - 4, 1), (axis, other))
                case 2:
                    x = np.flip(x, axis)
                case 3:
                    x = np.pad(x, widths)
                case 4:
                    x = np.concatenate([x[rest], np.flip(x, axis), x * 2], axis=axis)
                case _:
                    x = np.swapaxes(x, axis, other)
        return x + x.dtype.type(1)

    return function


@pytest.mark.parametrize("seed", range(60))
@one_in(20)
def test_random_moves(seed: int) -> None:
    """Along any axes of arrays of up to four."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 5))))
    function, x = moved(rng, len(shape)), rng.integers(0, 99, shape).astype("f4")
    np.testing.assert_array_equal(fc.lower(function, x, device="cpu")(x), function(x))
