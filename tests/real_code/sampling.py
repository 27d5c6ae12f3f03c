"""Samplers: random generators as arguments, as attributes, made inside, and of the process."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, Piece, attribute, put

# --- Metropolis: many walkers, the generator is an attribute


class Metropolis:
    """Walkers in a banana."""

    def __init__(self, walkers: int, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.x = self.rng.normal(size=(walkers, 2))
        self.width = 0.5
        self.accepted = 0
        self.tried = 0

    @staticmethod
    def log_density(x: Any) -> Any:
        return -0.5 * (x[:, 0] ** 2 / 4 + (x[:, 1] - 0.5 * x[:, 0] ** 2) ** 2)

    def step(self) -> float:
        """The share of moves that were accepted so far."""
        proposal = self.x + self.width * self.rng.normal(size=self.x.shape)
        ratio = self.log_density(proposal) - self.log_density(self.x)
        accept = np.log(self.rng.random(len(self.x))) < ratio
        self.x = np.where(accept[:, None], proposal, self.x)
        self.accepted += int(accept.sum())
        self.tried += len(self.x)
        return self.accepted / self.tried


# --- the same with draws that are given: nothing is left to chance inside


def metropolis(x: Any, moves: Any, chances: Any, width: float) -> tuple[Any, Any]:
    """The walkers' path and the share of accepted moves at each step."""
    path = np.empty((len(moves), *x.shape))
    rates = np.zeros(len(moves))
    for i, (move, chance) in enumerate(zip(moves, chances, strict=True)):
        proposal = x + width * move
        accept = chance < np.exp(-0.5 * (proposal**2 - x**2))
        x = np.where(accept, proposal, x)
        path[i] = x
        rates[i] = accept.mean()
    return path, rates


def make_metropolis() -> list[Any]:
    rng = np.random.default_rng(3)
    return [np.zeros(20_000), rng.normal(size=(6, 20_000)), rng.random((6, 20_000)), 1.0]


# --- Gibbs: a correlated pair, a generator as argument


def gibbs(rng: np.random.Generator, count: int, rho: float, rounds: int = 4) -> dict[str, Any]:
    """Moments of many chains."""
    x, y = np.zeros(count), np.zeros(count)
    spread = np.sqrt(1 - rho**2)
    for _ in range(rounds):
        x = rho * y + spread * rng.standard_normal(count)
        y = rho * x + spread * rng.standard_normal(count)
    centred = x - x.mean(), y - y.mean()
    covariance = (centred[0] * centred[1]).mean()
    return {"mean": (x.mean(), y.mean()), "rho": covariance / (x.std() * y.std()), "last": (x, y)}


# --- bootstrap: a generator made inside from a seed


def bootstrap(data: Any, repeats: int = 20, seed: int | None = 1) -> dict[str, Any]:
    """The mean with its interval, by resampling."""
    rng = np.random.default_rng(seed)
    means = np.empty(repeats)
    for i in range(repeats):
        sample = data[rng.integers(0, len(data), len(data))]
        means[i] = (sample * np.exp(-(sample**2))).mean()
    low, high = np.percentile(means, [2.5, 97.5])
    return {
        "mean": means.mean(),
        "interval": (low, high),
        "bias": round(means.mean() - means[0], 3),
    }


# --- batches in an order shuffled by a local random.Random


def batches(data: Any, target: Any, size: int, seed: int) -> list[float]:
    """The errors of a line that is fitted batch by batch."""
    order = list(range(0, len(data), size))
    random.Random(seed).shuffle(order)
    slope, errors = 0.0, []
    for start in order:
        x, y = data[start : start + size], target[start : start + size]
        off = slope * x - y
        slope = slope - 0.1 * (off * x).mean()
        errors.append(float((off**2).mean()))
    return errors


def make_batches() -> list[Any]:
    x = np.random.default_rng(4).normal(size=60_000)
    return [x, 3 * x + 1, 10_000, 0]


# --- noise of the process's own generator, as older code has it


def augment(images: Any, strength: float) -> Any:
    """Images with noise, some of them mirrored."""
    noisy = images + strength * np.random.standard_normal(images.shape)  # noqa: NPY002
    if np.random.rand() < 0.5:  # noqa: NPY002
        noisy = noisy[:, :, ::-1]
    noisy *= 1 + 0.1 * random.random()
    return np.clip(noisy, 0.0, 1.0)


# --- importance sampling with weights; an error of the caller's


def expectation(draws: Any, scale: float, powers: tuple[int, ...] = (1, 2)) -> dict[int, Any]:
    """Moments under a wider law than the draws came from."""
    if scale <= 0:
        raise ValueError(f"the scale must be positive, not {scale!r}")
    logs = -0.5 * (draws / scale) ** 2 + 0.5 * draws**2 - np.log(scale)
    logs -= logs.max()
    weights = np.exp(logs)
    weights /= weights.sum()
    return {p: (weights * draws**p).sum() for p in powers} | {0: 1 / (weights**2).sum()}


PIECES = [
    Piece(
        "Metropolis in a class", "Metropolis.step", lambda: [Metropolis(30_000)], ANEW,
        (attribute(0, "width", 0.1), lambda a: a[0].rng.random(), attribute(0, "accepted", 0),
         put(0, lambda m: Metropolis(50, 9))),
    ),
    Piece(
        "Metropolis with given draws", "metropolis", make_metropolis, REPLAYED,
        (put(3, lambda w: 2.0), lambda a: a.__setitem__(slice(1, 3), [a[1][:3], a[2][:3]]),
         put(0, lambda x: x + 1), put(1, lambda m: m[:2])),
    ),
    Piece(
        "Gibbs", "gibbs", lambda: [np.random.default_rng(5), 40_000, 0.7], ANEW,
        (put(2, lambda r: -0.3), put(1, lambda n: 500),
         put(0, lambda g: np.random.default_rng(9))),
    ),
    Piece(
        "bootstrap", "bootstrap", lambda: [np.linspace(0, 2, 40_000) ** 2], ANEW,
        (put(0, lambda d: d[::-1]), lambda a: a.extend([5, 2]), put(2, lambda s: 3)),
    ),
    Piece(
        "shuffled batches", "batches", make_batches, ANEW,
        (put(3, lambda s: 1), put(2, lambda n: 20_000), put(1, lambda y: 2 * y)),
    ),
    Piece(
        "noise of the process", "augment", lambda: [np.full((4, 128, 128), 0.5), 0.2], ANEW,
        (put(1, lambda s: 0.0), put(0, lambda x: x[:2])),
    ),
    Piece(
        "importance sampling", "expectation",
        lambda: [np.random.default_rng(6).normal(size=60_000), 1.5], REPLAYED,
        (put(1, lambda s: 2.0), lambda a: a.append((1, 2, 3, 4)), put(1, lambda s: -1)),
    ),
]  # fmt: skip
