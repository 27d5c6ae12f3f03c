"""Experiments: inversion, an epidemic, rays, a particle filter, genes, a table of values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, Piece, attribute, put


def noise(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


# --- tomography by conjugate gradients, with a history


@dataclass
class Survey:
    rays: Any
    damping: float = 0.1
    history: list[Any] = field(default_factory=list)

    def invert(self, data: Any, rounds: int = 5) -> Any:
        model = np.zeros(self.rays.shape[1])
        residual = data - self.rays @ model
        s = self.rays.T @ residual - self.damping * model
        p, gamma = s, float(s @ s)
        for _ in range(rounds):
            q = self.rays @ p
            alpha = gamma / (q @ q + self.damping * (p @ p))
            model = model + alpha * p
            residual = residual - alpha * q
            s = self.rays.T @ residual - self.damping * model
            gamma, old = float(s @ s), gamma
            if gamma < 1e-20:
                break
            p = s + (gamma / old) * p
        self.history.append(np.linalg.norm(residual))
        return model


# --- an epidemic whose state can be added and scaled


@dataclass(frozen=True)
class Disease:
    beta: float
    sigma: float
    gamma: float
    contact: Any = None


@dataclass
class People:
    s: Any
    e: Any
    i: Any
    r: Any

    def __add__(self, o: People) -> People:
        return People(self.s + o.s, self.e + o.e, self.i + o.i, self.r + o.r)

    def __rmul__(self, k: float) -> People:
        return People(*(k * getattr(self, f.name) for f in dataclasses.fields(self)))

    @property
    def total(self) -> Any:
        return self.s + self.e + self.i + self.r


def slopes(y: People, d: Disease) -> People:
    caught = d.beta * (d.contact @ (y.i / y.total)) * y.s
    return People(-caught, caught - d.sigma * y.e, d.sigma * y.e - d.gamma * y.i, d.gamma * y.i)


def spread(y: People, d: Disease, days: int, dt: float = 0.25) -> tuple[Any, float, int | None]:
    """The people of each day, and the worst one."""
    seen, peak, worst = [], 0.0, None
    for day in range(days):
        k1 = slopes(y, d)
        k2 = slopes(y + dt / 2 * k1, d)
        y = y + dt * k2
        now = y.i.sum()
        if now > peak:
            peak, worst = now, day
        seen.append(dataclasses.replace(y))
    return seen, peak, worst


def make_spread() -> list[Any]:
    contact = np.abs(noise(1, 8, 8)) / 8
    zeros = np.zeros(8)
    return [
        People(zeros + 990, zeros, zeros + 10, zeros.copy()),
        Disease(0.9, 0.2, 0.1, contact),
        5,
    ]


# --- rays that march through a scene of distances


def ball(p: Any, centre: Any, radius: float) -> Any:
    return np.linalg.norm(p - centre, axis=-1) - radius


def ring(p: Any, radius: float, thick: float) -> Any:
    q = np.hypot(p[..., 0], p[..., 2]) - radius
    return np.sqrt(q**2 + p[..., 1] ** 2) - thick


def scene(p: Any) -> Any:
    return np.minimum(ball(p, np.array([0.0, 0.2, 0.0]), 0.6), ring(p, 0.9, 0.25))


def render(width: int, height: int, light: Any = (1.0, 1.0, -1.0), steps: int = 3) -> Any:
    """The picture as bytes."""
    y, x = np.mgrid[1 : -1 : height * 1j, -1 : 1 : width * 1j]
    d = np.stack([x, y, np.full_like(x, 1.5)], axis=-1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    eye = np.array([0, 0, -3.0])
    t, alive = np.zeros(x.shape), np.ones(x.shape, bool)
    for _ in range(steps):
        far = scene(eye + d * t[..., None])
        t = np.where(alive, t + far, t)
        alive &= (np.abs(far) > 1e-3) & (t < 6)
        if not alive.any():
            break
    p = eye + d * t[..., None]
    e = np.eye(3) * 1e-4
    n = np.stack([scene(p + e[i]) - scene(p - e[i]) for i in range(3)], -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        n /= np.linalg.norm(n, axis=-1)[..., None]
    towards = np.asarray(light) / np.sqrt(np.square(light).sum())
    shade = np.maximum(n @ towards, 0.05)
    shade[t >= 6] = 0
    return (255 * shade.clip(0, 1)).astype(np.uint8)


# --- a particle filter that keeps a generator, which one method does not use


class Particles:
    def __init__(self, count: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.x = self.rng.normal(size=(count, 2))
        self.w = np.full(count, 1 / count)
        self.resampled = 0

    @property
    def effective(self) -> Any:
        return 1.0 / np.sum(self.w**2)

    def update(self, seen: float, shaken: Any, first: float) -> Any:
        self.x[:, 0] += 0.1 * self.x[:, 1] + shaken[:, 0]
        self.x[:, 1] = 0.95 * self.x[:, 1] + shaken[:, 1]
        likely = -0.5 * ((seen - self.x[:, 0]) / 0.5) ** 2
        self.w = self.w * np.exp(likely - likely.max())
        self.w /= self.w.sum()
        count = len(self.w)
        if self.effective < count / 2:
            places = np.searchsorted(np.cumsum(self.w), (first + np.arange(count)) / count)
            self.x = self.x[places.clip(0, count - 1)]
            self.w.fill(1 / count)
            self.resampled += 1
        return np.average(self.x, axis=0, weights=self.w), np.cov(self.x.T, aweights=self.w)

    def drift(self, size: float) -> Any:
        self.x += self.rng.normal(0, size, self.x.shape)
        return self.x.mean(0)


# --- a genetic algorithm


def rastrigin(p: Any) -> Any:
    return 10 * p.shape[1] + (p**2 - 10 * np.cos(2 * np.pi * p)).sum(1)


def evolve(
    pop: Any, elite: int, pairs: Any, change: Any, fitness: Callable[[Any], Any] = rastrigin
) -> tuple[Any, Any, dict[str, Any]]:
    """The next generation."""
    f = fitness(pop)
    order = np.argsort(f, kind="stable")
    pop, (a, b) = pop[order], pairs
    win = np.where(f[order][a] < f[order][b], a, b)
    child = np.where(change > 0, pop[win], pop[win[::-1]])
    child += change * (np.abs(change) > 1.0)
    child[:elite] = pop[:elite]
    np.clip(child, -5.12, 5.12, out=child)
    return child, f.min(), {"mean": f.mean(), "best": order[0], "spread": child.std(axis=0)}


# --- learning from experience in a table


class Learner:
    def __init__(self, states: int, actions: int) -> None:
        self.value = np.zeros((states, actions))
        self.visits = np.zeros((states, actions), dtype=np.int32)
        self.log: list[float] = []

    def learn(self, s: Any, a: Any, reward: Any, after: Any, rate: float = 0.1) -> Any:
        error = reward + 0.9 * self.value[after].max(axis=1) - self.value[s, a]
        np.add.at(self.value, (s, a), rate * error)
        np.add.at(self.visits, (s, a), 1)
        self.log.append(float(np.abs(error).mean()))
        return self.value.argmax(1)


def make_learner() -> list[Any]:
    r = np.random.default_rng(4)
    return [Learner(12, 4), *(r.integers(0, n, 30) for n in (12, 4)), r.normal(size=30),
            r.integers(0, 12, 30)]  # fmt: skip


PIECES = [
    Piece("tomography", "Survey.invert", lambda: [Survey(noise(1, 30, 12)), noise(2, 30)], REPLAYED,
          (attribute(0, "damping", 0.5), put(1, lambda d: d * 2), lambda a: a.append(7))),
    Piece("an epidemic in a dataclass", "spread", make_spread, REPLAYED,
          (put(1, lambda d: dataclasses.replace(d, gamma=0.9)), put(2, lambda n: 3))),
    Piece("marching rays", "render", lambda: [24, 16], REPLAYED,
          (lambda a: a.append((0, 1, 0)),), calls=3),
    Piece("particles with a generator", "Particles.update",
          lambda: [Particles(50, 3), 0.3, 0.1 * noise(4, 50, 2), 0.37], REPLAYED,
          (put(1, lambda z: 2.5), put(2, lambda s: s[::-1]),
           lambda a: setattr(a[0], "rng", np.random.default_rng(9)))),
    Piece("particles that drift", "Particles.drift", lambda: [Particles(50, 3), 0.1], ANEW,
          (put(1, lambda s: 0.5),)),
    Piece("a genetic algorithm", "evolve",
          lambda: [4 * noise(1, 20, 4), 2, np.abs(noise(2, 2, 20) * 6).astype(int),
                   noise(3, 20, 4)],
          REPLAYED, (put(1, lambda n: 3), lambda a: a.append(lambda p: (p * p).sum(-1)))),
    Piece("a table of values", "Learner.learn", make_learner, REPLAYED,
          (put(3, lambda r: r + 1), lambda a: a.append(0.5))),
]  # fmt: skip
