"""What the programs of small work are, and what they work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng


@dataclass(frozen=True)
class Program:
    """``function`` is run on what ``make`` gives; a user decorates ``decorated``, or all of it."""

    name: str
    function: str
    make: Callable[[], tuple[Any, ...]]
    decorated: str = ""


def matrix(n: int, seed: int = 0) -> Any:
    return default_rng(seed).normal(size=(n, n)) + n * np.eye(n)


def field(n: int, seed: int = 0) -> Any:
    return default_rng(seed).random((n, n))


def sparse() -> tuple[Any, ...]:
    rng = default_rng(1)
    starts = np.arange(0, 8 * 600 + 1, 8)
    return starts, rng.integers(0, 600, 4800), rng.random(4800), rng.random(600)


def vectors(*sizes: int) -> tuple[Any, ...]:
    return tuple(default_rng(i).normal(size=n) for i, n in enumerate(sizes))


def cavity() -> tuple[Any, ...]:
    return np.zeros((41, 41)), np.zeros((41, 41)), np.zeros((41, 41))


def points(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(default_rng(i).normal(size=s) for i, s in enumerate(shapes))


def integers(n: int, top: int, kind: type = int) -> Any:
    return default_rng(n).integers(0, top, n).astype(kind)


def plane() -> tuple[Any, ...]:
    x = np.linspace(-2, 1, 80)
    return (x[None, :] + 1j * x[:, None],)


def paths() -> tuple[Any, ...]:
    return (field(120) * 100,)
