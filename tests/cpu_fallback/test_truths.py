"""Truths beside doubles: of loops of many operations they are wide, and the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.strategies import same_bits

RNG = np.random.default_rng(11)
SHAPES = ((0,), (1,), (9,), (1023,), (1025,), (4100,), (3, 0), (60, 45), (3, 1500))


def _steps(x: Any, y: Any, mask: Any) -> Any:
    """An escape count: a dozen operations on doubles for each of five steps."""
    z, w = x, y
    for _ in range(5):
        mask = (z * z + w * w < 4) & mask
        z, w = np.where(mask, z * z - w * w + x, z), np.where(mask, 2 * z * w + y, w)
    return z + w, mask


def given(x: Any, y: Any, mask: Any) -> Any:
    return (_steps(x, y, mask)[0],)


def found(x: Any, y: Any, mask: Any) -> Any:
    z, inside = _steps(x, y, True)
    return z, inside, ~inside


def in_place(x: Any, y: Any, mask: Any) -> Any:
    """What is stored is what was read."""
    mask &= _steps(x, y, mask)[1]
    return (mask | (x > y),)


def by_steps(x: Any, y: Any, mask: Any) -> Any:
    """Some truths lie apart, backwards or once for a row; others side by side."""
    z, inside = _steps(x, y, mask[..., ::-1])
    return np.where(mask[..., :1], z, -z), inside, np.where(mask, inside, True)


def streamed(x: Any, y: Any, mask: Any) -> Any:
    """Beside truths, doubles that may go past the caches."""
    z, inside = _steps(x, y, mask)
    return z * 2, inside, np.sqrt(z * z + x * x) * y


def packed(x: Any, y: Any, mask: Any) -> Any:
    """Short runs wait for others, and their truths with them."""
    far = np.tanh(x[..., 1:]) * y[..., 1:] > 0.2
    return np.exp(x[..., 1:]) > 1.5, far, np.cos(x[..., 1:]) + np.sin(y[..., 1:]) > 0.7


PROGRAMS = (given, found, in_place, by_steps, streamed, packed)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_results(program: Callable[..., Any]) -> None:
    for shape in SHAPES:
        x, y = RNG.normal(size=(2, *shape))
        mask = RNG.random(shape) < 0.7
        other = mask.copy()
        wanted = (*program(x, y, other), other)
        got = (*fc.fused(program)(x, y, mask), mask)
        for one, want in zip(got, wanted, strict=True):
            assert same_bits(one, want), shape


def test_which_are_wide() -> None:
    """Beside few operations, floats or other narrow numbers they stay bytes."""
    x, y = RNG.normal(size=(2, 3000))
    mask = x > 0

    def text(program: Callable[..., Any], *args: Any) -> str:
        return "".join(fc.lower(program, *args).emit("c"))

    assert text(given, x, y, mask).count("fc_widen(") == 1
    assert text(found, x, y, mask).count("fc_narrow(") == 2
    both = text(streamed, x, y, mask)
    assert both.count("fc_widen(") == both.count("fc_narrow(") == 1
    assert "fc_min(FC_ROOM" in both  # as many as wait on the stack
    light = text(lambda x, y, mask: np.where(mask, x, y) + x, x, y, mask)
    singles = text(streamed, x.astype("f4"), y.astype("f4"), mask)
    narrow = text(lambda x, y, m: (*streamed(x, y, m), x.astype(np.int8)), x, y, mask)
    assert "wide" not in light + singles + narrow
