"""Simulations in classes, as physicists write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, attribute, put

# --- heat in a plate: attributes updated in place, a helper method, a counter


class Plate:
    """A square plate with insulated edges."""

    def __init__(self, n: int, conductivity: float = 0.2) -> None:
        self.u = np.zeros((n, n))
        self.u[n // 4 : n // 2, n // 4 : n // 2] = 100.0
        self.conductivity = conductivity
        self.dt = 0.5
        self.steps = 0

    def laplacian(self) -> Any:
        u = self.u
        return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]

    def insulate(self) -> None:
        self.u[0], self.u[-1] = self.u[1], self.u[-2]
        self.u[:, 0], self.u[:, -1] = self.u[:, 1], self.u[:, -2]

    def step(self, count: int = 1) -> Any:
        for _ in range(count):
            self.u[1:-1, 1:-1] += self.conductivity * self.dt * self.laplacian()
            self.insulate()
            self.steps += 1
        return self.u.mean()


# --- a wave in a pond: three time levels that swap names, a source that depends on the time


class Pond:
    """Waves with damping; a stone moves up and down in the middle."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.previous = np.zeros(shape)
        self.current = np.zeros(shape)
        self.speed = 0.4
        self.damping = 0.01
        self.time = 0.0
        y, x = np.mgrid[: shape[0], : shape[1]]
        self.stone = np.exp(-((y - shape[0] / 2) ** 2 + (x - shape[1] / 2) ** 2) / 20)

    def advance(self, dt: float) -> Any:
        """Swaps the levels and returns the new one."""
        u = self.current
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        force = self.speed**2 * (around - 4 * u) - self.damping * (u - self.previous) / dt
        new = 2 * u - self.previous + dt**2 * (force + np.sin(3 * self.time) * self.stone)
        self.previous, self.current = u, new
        self.time += dt
        return new


# --- Gray-Scott: a function of two fields, settings in a named tuple


class Feeding(NamedTuple):
    feed: float = 0.035
    kill: float = 0.065
    spread: tuple[float, float] = (0.16, 0.08)


def around(a: Any) -> Any:
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def gray_scott(u: Any, v: Any, settings: Feeding, steps: int = 5) -> dict[str, Any]:
    """Both fields after some steps, in place, and how much of each there is."""
    for _ in range(steps):
        uvv = u * v * v
        u += settings.spread[0] * around(u) - uvv + settings.feed * (1 - u)
        v += settings.spread[1] * around(v) + uvv - (settings.feed + settings.kill) * v
    return {"fields": (u, v), "totals": {"u": u.sum(), "v": v.sum()}}


def make_gray_scott() -> list[Any]:
    u, v = np.ones((192, 192)), np.zeros((192, 192))
    u[80:110, 80:110], v[80:110, 80:110] = 0.5, 0.25
    return [u, v, Feeding()]


# --- bodies: a dataclass with arrays, leapfrog, energies


@dataclass
class Bodies:
    """Masses, positions and velocities."""

    mass: Any
    position: Any
    velocity: Any
    softening: float = 0.1
    energies: list[Any] = field(default_factory=list)

    def pairs(self) -> tuple[Any, Any]:
        apart = self.position[None, :, :] - self.position[:, None, :]
        return apart, np.sqrt((apart**2).sum(axis=-1) + self.softening**2)

    def acceleration(self) -> Any:
        apart, distance = self.pairs()
        return (self.mass[None, :, None] * apart / distance[..., None] ** 3).sum(axis=1)

    def leap(self, dt: float) -> dict[str, Any]:
        """The kinetic and potential energy after one step."""
        self.velocity += 0.5 * dt * self.acceleration()
        self.position += dt * self.velocity
        self.velocity += 0.5 * dt * self.acceleration()
        kinetic = 0.5 * (self.mass * (self.velocity**2).sum(axis=1)).sum()
        _, distance = self.pairs()
        potential = -0.5 * (np.outer(self.mass, self.mass) / distance).sum()
        self.energies.append(kinetic + potential)
        return {"kinetic": kinetic, "potential": potential}


def make_bodies() -> list[Any]:
    rng = np.random.default_rng(3)
    return [
        Bodies(rng.random(150) + 0.1, rng.normal(size=(150, 3)), np.zeros((150, 3))),
        0.01,
    ]


# --- springs: chains of masses in rows, results in a named tuple


class Motion(NamedTuple):
    place: Any
    speed: Any
    energy: float
    longest: np.float64


class Chain:
    """Many chains at once, their ends held."""

    stiffness = 40.0  # of every chain, unless set for one

    def __init__(self, chains: int, links: int) -> None:
        self.place = np.cumsum(np.ones((chains, links)), axis=1)
        self.speed = np.zeros((chains, links))
        self.speed[:, links // 2] = np.linspace(-1, 1, chains)

    def tension(self) -> Any:
        return self.stiffness * (np.diff(self.place, axis=1) - 1.0)

    def shake(self, dt: float, *, friction: float = 0.0) -> Motion:
        pull = np.diff(np.pad(self.tension(), ((0, 0), (1, 1)), mode="edge"), axis=1)
        self.speed += dt * (pull - friction * self.speed)
        self.speed[:, [0, -1]] = 0.0
        self.place = self.place + dt * self.speed
        energy = float(0.5 * np.sum(self.speed**2) + 0.5 * self.stiffness * pull.var())
        return Motion(self.place, self.speed, energy, np.diff(self.place, axis=1).max())


# --- particles in a box: a boolean mask turns those round that left it


class Gas:
    """Particles that are reflected by the walls."""

    __slots__ = ("bounces", "box", "v", "x")

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(8)
        self.x = rng.random((count, 2))
        self.v = rng.normal(size=(count, 2))
        self.box = 1.0
        self.bounces = 0

    def move(self, dt: float) -> Any:
        """The pressure on the walls."""
        self.x += dt * self.v
        out = (self.x < 0) | (self.x > self.box)
        self.v[out] *= -1
        np.clip(self.x, 0, self.box, out=self.x)
        self.bounces += np.count_nonzero(out)
        return np.where(out, 2 * np.abs(self.v), 0).sum() / (4 * self.box * dt)


PIECES = [
    Piece(
        "heat in a plate", "Plate.step", lambda: [Plate(200), 3], REPLAYED,
        (
            attribute(0, "dt", 0.25), attribute(0, "conductivity", 0.1), put(1, lambda n: 2),
            lambda a: a[0].u.__imul__(2), lambda a: setattr(a[0], "u", a[0].u[:150, 7:].copy()),
            put(0, lambda p: Plate(90)),
        ),
    ),
    Piece(
        "wave in a pond", "Pond.advance", lambda: [Pond((180, 220)), 0.1], REPLAYED,
        (
            put(1, lambda dt: 0.05), attribute(0, "time", 7.5), attribute(0, "speed", 0.5),
            put(0, lambda p: Pond((64, 80))),
        ),
    ),
    Piece(
        "Gray-Scott", "gray_scott", make_gray_scott, REPLAYED,
        (
            put(2, lambda s: s._replace(feed=0.04)), put(2, lambda s: Feeding(spread=(0.2, 0.1))),
            lambda a: a.append(2),
        ),
    ),
    Piece(
        "bodies", "Bodies.leap", make_bodies, REPLAYED,
        (
            put(1, lambda dt: 0.02), attribute(0, "softening", 0.3),
            lambda a: a[0].mass.__imul__(2), lambda a: a[0].energies.clear(),
        ),
    ),
    Piece(
        "chains of springs", "Chain.shake", lambda: [Chain(100, 400), 0.01, 0.1], REPLAYED,
        (
            put(1, lambda dt: 0.02), lambda a: setattr(Chain, "stiffness", 20.0),
            attribute(0, "stiffness", 30.0), put(0, lambda c: Chain(7, 30)),
        ),
        keywords=("friction",),
    ),
    Piece(
        "gas in a box", "Gas.move", lambda: [Gas(50_000), 0.05], REPLAYED,
        (put(1, lambda dt: 0.02), attribute(0, "box", 0.8), put(0, lambda g: Gas(1000))),
        steady=False,  # how many particles are outside differs from call to call
    ),
]  # fmt: skip
