"""Trackers and streams: filters, buffers and statistics that are fed step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, put


def noise(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


# --- a Kalman filter, with gaps in what it is told


@dataclass
class Kalman:
    F: Any
    H: Any
    Q: Any
    R: Any
    x: Any
    P: Any
    misses: list[float] = field(default_factory=list)

    def predict(self) -> None:
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z: Any) -> Any:
        y = z - self.H @ self.x
        s = self.H @ self.P @ self.H.T + self.R
        gain = np.linalg.solve(s.T, (self.P @ self.H.T).T).T
        self.x = self.x + gain @ y
        self.P = (np.eye(len(self.x)) - gain @ self.H) @ self.P
        self.misses.append(float(np.abs(y).max()))
        return self.x

    def step(self, z: Any) -> Any:
        self.predict()
        if np.isnan(z).any():
            return self.x
        return self.update(z)


def kalman() -> list[Any]:
    f = np.array([[1, 0.1], [0, 1]])
    h = np.array([[1.0, 0]])
    return [Kalman(f, h, np.eye(2) / 1e3, np.eye(1) / 10, np.zeros(2), np.eye(2)), np.array([0.3])]


# --- a ring buffer with cached statistics


class Ring:
    __slots__ = ("_stats", "buffer", "full", "place")

    def __init__(self, size: int, channels: int) -> None:
        self.buffer = np.zeros((size, channels))
        self.place, self.full, self._stats = 0, False, None

    def __len__(self) -> int:
        return len(self.buffer) if self.full else self.place

    def push(self, block: Any) -> None:
        size, end = len(self.buffer), self.place + len(block)
        if end <= size:
            self.buffer[self.place : end] = block
        else:
            rest = size - self.place
            self.buffer[self.place :] = block[:rest]
            self.buffer[: end - size] = block[rest:]
            self.full = True
        self.place = end % size
        self._stats = None

    @property
    def data(self) -> Any:
        whole = self.buffer
        return np.roll(whole, -self.place, axis=0) if self.full else whole[: self.place]

    @property
    def stats(self) -> Any:
        if self._stats is None:
            d = self.data
            rms, peak = np.sqrt((d * d).mean(0)), np.abs(d).max(0)
            self._stats = {"rms": rms, "peak": peak, "size": len(self)}
        return self._stats


def feed(ring: Ring, block: Any) -> Any:
    """What a meter shows."""
    ring.push(block)
    shown = ring.stats
    return shown["rms"], shown["peak"], shown["size"], shown is ring.stats


# --- quantiles of a stream


class Histogram:
    def __init__(self, low: float, high: float, bins: int) -> None:
        self.edges = np.linspace(low, high, bins + 1)
        self.counts = np.zeros(bins, dtype=np.int64)
        self.clipped = 0

    def add(self, x: Any) -> Any:
        x = np.asarray(x, dtype=float).ravel()
        inside = (x >= self.edges[0]) & (x < self.edges[-1])
        self.clipped += int((~inside).sum())
        places = np.searchsorted(self.edges, x[inside], side="right") - 1
        self.counts += np.bincount(places, minlength=len(self.counts))
        return self.edges[np.searchsorted(self.counts.cumsum(), self.counts.sum() / 2)]


# --- attitude by quaternions


class Quaternion(NamedTuple):
    w: Any
    x: Any
    y: Any
    z: Any

    def __mul__(self, b: Any) -> Quaternion:  # type: ignore[override]
        a = self
        return Quaternion(
            a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        )

    def conjugate(self) -> Quaternion:
        return self._replace(x=-self.x, y=-self.y, z=-self.z)


def attitude(q: Quaternion, omega: Any, dt: float, steps: int) -> Any:
    """The attitude after some steps, and how far from a rotation it is."""
    for _ in range(steps):
        slope = q * Quaternion(np.zeros_like(q.w), *omega)
        q = Quaternion(*(a + 0.5 * dt * b for a, b in zip(q, slope, strict=True)))
        size = np.sqrt(sum(c * c for c in q))
        q = Quaternion(*(c / size for c in q))
    return q, q * q.conjugate()


def level(n: int) -> Quaternion:
    return Quaternion(np.ones(n), np.zeros(n), np.zeros(n), np.zeros(n))


# --- what a function is given decides what it does, by its type


def resampled(x: Any, rate: Any, fill: Any = None) -> Any:
    """Every so-manieth sample, or at given places; columns of lists as well."""
    if type(x) is not np.ndarray:
        x = np.stack([np.asarray(c, float) for c in x], axis=-1)
    if type(rate) is int:
        found = x[::rate]
    elif type(rate) is float:
        found = x[(np.arange(int(len(x) / rate)) * rate).astype(int)]
    else:
        found = x[np.clip(rate, 0, len(x) - 1)]
    kind = {float: "number", type(None): "none"}.get(type(fill), type(fill).__name__)
    return found if fill is None else np.where(found > 0, found, fill), kind


# --- groups of sorted keys


def groups(keys: Any, *columns: Any, how: tuple[str, ...] = ("sum", "max", "mean")) -> Any:
    order = np.lexsort((np.arange(len(keys)), keys))
    sorted_keys = keys[order]
    starts = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]])
    ends = np.r_[starts[1:], len(keys)]
    result = {}
    for i, column in enumerate(columns):
        values = column[order]
        for name in how:
            match name:
                case "max":
                    result[i, name] = np.maximum.reduceat(values, starts)
                case _:
                    total = np.add.reduceat(values, starts)
                    result[i, name] = total / (ends - starts) if name == "mean" else total
    return sorted_keys[starts], result


PIECES = [
    Piece("Kalman filter", "Kalman.step", kalman, REPLAYED,
          (put(1, lambda z: z * np.nan), put(1, lambda z: np.array([0.7]))), steady=False),
    Piece("ring buffer", "feed", lambda: [Ring(16, 2), noise(4, 2)], REPLAYED,
          (put(1, lambda b: b * 2),), calls=6, steady=False),
    Piece("quantiles of a stream", "Histogram.add", lambda: [Histogram(-3, 3, 32), noise(300)],
          REPLAYED, (put(1, lambda x: x * 2), put(1, lambda x: x[:50])), steady=False),
    Piece("attitude", "attitude", lambda: [level(5), noise(3, 5), 0.01, 4], REPLAYED,
          (put(1, lambda o: -o), put(2, lambda dt: dt * 2), put(3, lambda n: n + 1))),
    Piece("resampled by types", "resampled", lambda: [noise(12, 2), 3], REPLAYED,
          (put(1, lambda r: 2.5), put(1, lambda r: np.array([1, 40])),
           put(0, lambda x: [list(x[:, 0]), x[:, 1]]), put(1, lambda r: 2))),
    Piece("groups of sorted keys", "groups",
          lambda: [np.arange(50) * 7 % 6, noise(50), np.arange(50)], REPLAYED,
          (put(1, lambda c: c * 2), put(0, lambda k: k // 2))),
]  # fmt: skip
