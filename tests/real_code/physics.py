"""Fluids, equilibria and equations of motion: loops, closures, branches on what was computed."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, attribute, put

# --- Lattice Boltzmann: tables of the module, a mask, a loop over nine directions

DIRECTIONS = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


class Channel:
    """A flow around a cylinder."""

    def __init__(self, ny: int, nx: int, tau: float = 0.6) -> None:
        self.tau = tau
        rng = np.random.default_rng(1)
        self.f = WEIGHTS[:, None, None] * (1 + 0.01 * rng.random((9, ny, nx)))
        self.f[1] *= 1.1
        y, x = np.ogrid[:ny, :nx]
        self.cylinder = (y - ny / 2) ** 2 + (x - nx / 4) ** 2 < (ny / 8) ** 2

    def equilibrium(self, rho: Any, ux: Any, uy: Any) -> Any:
        out = np.empty_like(self.f)
        for i, (cx, cy) in enumerate(DIRECTIONS):
            cu = cx * ux + cy * uy
            speed = 1 + 3 * cu + 4.5 * cu**2 - 1.5 * (ux**2 + uy**2)
            out[i] = rho * WEIGHTS[i] * speed
        return out

    def step(self) -> Any:
        """The rotation of the flow."""
        for i, (cx, cy) in enumerate(DIRECTIONS):
            self.f[i] = np.roll(self.f[i], (cy, cx), axis=(0, 1))
        bounced = self.f[:, self.cylinder][OPPOSITE]
        rho = self.f.sum(axis=0)
        ux = sum(c[0] * self.f[i] for i, c in enumerate(DIRECTIONS)) / rho
        uy = sum(c[1] * self.f[i] for i, c in enumerate(DIRECTIONS)) / rho
        self.f -= (self.f - self.equilibrium(rho, ux, uy)) / self.tau
        self.f[:, self.cylinder] = bounced
        ux[self.cylinder] = uy[self.cylinder] = 0
        return np.gradient(uy, axis=1) - np.gradient(ux, axis=0)


# --- predators and prey: RK4 over a closure, many starting points at once, the path kept


@dataclass(frozen=True)
class Ecology:
    birth: float = 1.1
    hunt: float = 0.4
    growth: float = 0.1
    death: float = 0.4


def rk4(rate: Callable[[Any], Any], y: Any, dt: float) -> Any:
    k1 = rate(y)
    k2 = rate(y + dt / 2 * k1)
    k3 = rate(y + dt / 2 * k2)
    k4 = rate(y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def populations(start: Any, law: Ecology, dt: float, steps: int) -> Any:
    """The paths, time first."""

    def rate(y: Any) -> Any:
        prey, hunters = y
        eaten = law.hunt * prey * hunters
        return np.stack([law.birth * prey - eaten, law.growth * eaten - law.death * hunters])

    path = np.empty((steps + 1, *start.shape))
    path[0] = start
    for i in range(steps):
        path[i + 1] = rk4(rate, path[i], dt)
    return path


def make_populations() -> list[Any]:
    rng = np.random.default_rng(2)
    return [10 * rng.random((2, 20_000)), Ecology(), 0.05, 6]


# --- Poisson's equation: iterations until the change is small


def potential(charge: Any, guess: Any, tolerance: float, limit: int = 500) -> tuple[Any, int]:
    """The potential and how many turns it took."""
    phi = guess.copy()
    turns = 0
    while turns < limit:
        old = phi[1:-1, 1:-1].copy()
        near = phi[2:, 1:-1] + phi[:-2, 1:-1] + phi[1:-1, 2:] + phi[1:-1, :-2]
        phi[1:-1, 1:-1] = 0.25 * (near + charge[1:-1, 1:-1])
        turns += 1
        if np.abs(phi[1:-1, 1:-1] - old).max() < tolerance:
            break
    return phi, turns


def make_potential() -> list[Any]:
    charge = np.zeros((200, 200))
    charge[60, 70], charge[140, 120] = 1.0, -1.0
    return [charge, np.zeros((200, 200)), 0.02]


# --- a step size that adapts itself: branches on an error estimate


class Orbit:
    """Test particles around a star; the step is halved or grows by what it got wrong."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(5)
        angle = 2 * np.pi * rng.random(count)
        radius = 1 + rng.random(count)
        self.x = np.stack([radius * np.cos(angle), radius * np.sin(angle)])
        self.v = np.stack([-np.sin(angle), np.cos(angle)]) / np.sqrt(radius)
        self.dt = 0.2
        self.rejected = 0

    def pull(self, x: Any) -> Any:
        return -x / ((x**2).sum(axis=0) ** 1.5)

    def advance(self, tolerance: float) -> float:
        while True:
            dt = self.dt
            a = self.pull(self.x)
            x = self.x + dt * self.v + 0.5 * dt**2 * a
            error = 0.5 * dt * np.abs(self.pull(x) - a).max()
            if error > tolerance:
                self.dt /= 2
                self.rejected += 1
                continue
            self.v = self.v + 0.5 * dt * (a + self.pull(x))
            self.x = x
            if error < tolerance / 8:
                self.dt *= 1.5
            return dt


# --- advection with a limiter chosen by an enum, and a warning when it gets unstable


class Limiter(enum.Enum):
    UPWIND = "upwind"
    MINMOD = "minmod"
    SUPERBEE = "superbee"


def limited(r: Any, limiter: Limiter) -> Any:
    if limiter is Limiter.MINMOD:
        return np.maximum(0, np.minimum(1, r))
    if limiter == Limiter.SUPERBEE:
        return np.maximum(0, np.maximum(np.minimum(2 * r, 1), np.minimum(r, 2)))
    return np.zeros_like(r)


def advect(q: Any, courant: float, limiter: Limiter = Limiter.MINMOD) -> tuple[Any, bool]:
    """The new values, and whether there were none below zero."""
    jump = np.roll(q, -1, axis=-1) - q
    ratio = np.roll(jump, 1, axis=-1) / np.where(jump == 0, 1e-30, jump)
    flux = q + 0.5 * limited(ratio, limiter) * (1 - courant) * jump
    q -= courant * (flux - np.roll(flux, 1, axis=-1))
    if not np.isfinite(q).all():
        raise FloatingPointError(f"unstable at Courant number {courant}")
    return q, bool((q >= -1e-12).all())


def make_advect() -> list[Any]:
    x = np.linspace(0, 1, 2000)
    return [np.exp(-(((x - 0.3) / 0.05) ** 2)) * np.linspace(1, 2, 20)[:, None], 0.5]


# --- Ising: a checkerboard sweep with draws that are given, energies looked at


def sweep(spins: Any, draws: Any, temperature: float) -> dict[str, Any]:
    """Both colours in turn, in place."""
    for colour in (0, 1):
        near = sum(np.roll(spins, shift, axis) for shift in (-1, 1) for axis in (0, 1))
        cost = 2 * spins * near
        flip = draws[colour] < np.exp(-cost / temperature)
        flip[colour::2, ::2] = False
        flip[1 - colour :: 2, 1::2] = False
        spins[flip] *= -1
    energy = -(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).sum()
    return {"energy": int(energy), "magnetisation": spins.mean(), "up": (spins > 0).sum()}


def make_sweep() -> list[Any]:
    rng = np.random.default_rng(6)
    return [rng.choice([-1, 1], (256, 256)), rng.random((2, 256, 256)), 2.2]


PIECES = [
    Piece(
        "Lattice Boltzmann", "Channel.step", lambda: [Channel(60, 160)], REPLAYED,
        (attribute(0, "tau", 0.7), put(0, lambda c: Channel(40, 50)),
         lambda a: a[0].cylinder.__setitem__((slice(3, 9), 5), True)),
    ),
    Piece(
        "predators and prey", "populations", make_populations, REPLAYED,
        (put(1, lambda law: replace(law, hunt=0.5)), put(2, lambda dt: 0.02), put(3, lambda n: 3),
         put(0, lambda y: y[:, :100])),
    ),
    Piece(
        "potential of charges", "potential", make_potential, REPLAYED,
        (put(2, lambda t: 0.005), put(1, lambda g: g + 0.1), put(0, lambda c: 2 * c)),
        steady=False,
    ),
    Piece(
        "orbits with a step that adapts", "Orbit.advance", lambda: [Orbit(40_000), 2e-3], REPLAYED,
        (put(1, lambda t: 1e-4), attribute(0, "dt", 0.5)), steady=False,
    ),
    Piece(
        "advection with a limiter", "advect", make_advect, REPLAYED,
        (lambda a: a.append(Limiter.SUPERBEE), put(2, lambda x: Limiter.UPWIND),
         put(1, lambda c: 0.25), lambda a: a[0].__setitem__((0, 0), np.nan)),
    ),
    Piece(
        "Ising", "sweep", make_sweep, REPLAYED,
        (put(2, lambda t: 1.5), lambda a: a[1].__imul__(0.5), put(0, lambda s: s.astype(np.int8))),
    ),
]  # fmt: skip
