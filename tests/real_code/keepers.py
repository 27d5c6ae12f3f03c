"""Keepers: caches, heirs of dict, list and tuple, and classes that know what is written to them."""

from __future__ import annotations

import contextlib
import functools
import math
import re
import statistics
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, attribute, put


def noise(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


# --- astronomy: where stars stand at a date; the sidereal time of a date is computed once


@functools.lru_cache(maxsize=32)
def sidereal(date: float) -> float:
    century = (date - 2451545.0) / 36525.0
    angle = 280.46061837 + 360.98564736629 * (date - 2451545.0) + 0.000387933 * century**2
    return math.radians(angle % 360.0)


def horizontal(right: Any, declination: Any, date: float, latitude: float) -> dict[str, Any]:
    hour = sidereal(date) - right
    altitude = np.arcsin(
        np.sin(latitude) * np.sin(declination)
        + np.cos(latitude) * np.cos(declination) * np.cos(hour)
    )
    azimuth = np.arctan2(
        np.sin(hour),
        np.cos(hour) * np.sin(latitude) - np.tan(declination) * np.cos(latitude),
    )
    up = altitude > 0
    best = int(np.argmax(altitude))
    return {"altitude": altitude, "azimuth": azimuth, "visible": int(up.sum()), "best": best}


# --- geometry: matrices of rotations, which are the cache's own


@functools.cache
def rotation(angle: float) -> Any:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def spun(points: Any, angle: float, times: int = 3) -> Any:
    for _ in range(times):
        points = points @ rotation(angle).T
    return points, rotation(angle)


# --- crystallography: symmetry operations are read from text once


@functools.lru_cache(None)
def operation(text: str) -> tuple[Any, Any]:
    turn, shift = np.zeros((3, 3)), np.zeros(3)
    for i, part in enumerate(text.split(",")):
        for sign, axis in re.findall(r"([+-]?)([xyz])", part):
            turn[i, "xyz".index(axis)] = -1 if sign == "-" else 1
        if found := re.search(r"(\d)/(\d)", part):
            shift[i] = float(Fraction(int(found[1]), int(found[2])))
    return turn, shift


def factors(
    planes: Any, atoms: Any, weights: Any, group: tuple[str, ...] = ("x,y,z", "-x,-y,z+1/2")
) -> Any:
    total = np.zeros(len(planes), complex)
    for text in group:
        turn, shift = operation(text)
        places = (atoms @ turn.T + shift) % 1.0
        total += (weights * np.exp(2j * np.pi * (planes @ places.T))).sum(axis=1)
    return np.abs(total)


# --- chemistry: rates at temperatures, made when they are missing


class Rates(dict[float, Any]):
    def __init__(self, factor: Any, energy: Any) -> None:
        super().__init__()
        self.factor, self.energy = factor, energy

    def __missing__(self, temperature: float) -> Any:
        self[temperature] = rate = self.factor * np.exp(-self.energy / (8.314 * temperature))
        return rate


def react(c: Any, rates: Rates, temperatures: list[float], dt: float) -> Any:
    for temperature in temperatures:
        c = c - dt * rates[temperature] * c
    return c, len(rates)


def make_reaction() -> list[Any]:
    rates = Rates(np.abs(noise(300, seed=1)) * 10, 20000 + 1000 * noise(300, seed=2))
    return [np.abs(noise(300)), rates, [300.0, 310.0, 300.0], 0.1]


# --- mechanics: a state whose items are attributes


class State(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def swing(state: Any, dt: float) -> State:
    state.v = state.v - dt * state.x
    state.x = state.x + dt * state.v
    state.t = state.get("t", 0.0) + dt
    return State(energy=0.5 * (state.x**2 + state.v**2).sum(), keys=list(state))


# --- prediction from the last fields, of which a list keeps three


class History(list[Any]):
    def __init__(self, *fields: Any, most: int = 3) -> None:
        super().__init__(fields)
        self.most = most

    def append(self, value: Any) -> None:
        super().append(value)
        while len(self) > self.most:
            del self[0]

    @property
    def trend(self) -> Any:
        return self[-1] - self[-2]


def predict(history: History, dt: float) -> Any:
    history.append(history[-1] + dt * history.trend)
    return history[-1].sum(), len(history)


# --- geometry: points that can be added


class Point(tuple[Any, ...]):
    __slots__ = ()

    def __new__(cls, x: Any, y: Any) -> Point:
        return super().__new__(cls, (x, y))

    def __add__(self, other: Any) -> Point:
        return Point(self[0] + other[0], self[1] + other[1])

    @property
    def distance(self) -> Any:
        return np.hypot(self[0], self[1])


def walk(start: Point, steps: list[Any]) -> Any:
    for step in steps:
        start = start + step
    return SimpleNamespace(end=start, far=start.distance)


# --- learning: modules that register what is assigned to them


class Parameter:
    def __init__(self, data: Any) -> None:
        self.data, self.gradient = data, None


class Module:
    def __init__(self) -> None:
        object.__setattr__(self, "parts", {})

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter | Module):
            self.parts[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("parts", {}):
            return self.__dict__["parts"][name]
        raise AttributeError(name)

    def parameters(self) -> Iterator[Parameter]:
        for part in self.parts.values():
            yield from part.parameters() if isinstance(part, Module) else [part]


class Linear(Module):
    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self.weight, self.bias = Parameter(noise(n, m, seed=n) / n), Parameter(np.zeros(m))

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.weight.data + self.bias.data

    def backward(self, g: Any) -> Any:
        self.weight.gradient, self.bias.gradient = self.x.T @ g, g.sum(axis=0)
        return g @ self.weight.data.T


class Network(Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.steps = Linear(8, 16), Linear(16, 1), 0

    def train(self, x: Any, y: Any, rate: float) -> float:
        hidden = np.tanh(self.first.forward(x))
        error = self.second.forward(hidden) - y
        self.first.backward(self.second.backward(2 * error / len(x)) * (1 - hidden**2))
        for parameter in self.parameters():
            parameter.data = parameter.data - rate * parameter.gradient
        self.steps += 1
        return float((error**2).mean())


def cut(network: Any) -> None:
    network.second.weight = Parameter(network.second.weight.data * 0.5)


# --- a field with boundaries that are set for a while


class Field:
    def __init__(self, n: int) -> None:
        self.u, self.kind = noise(n, n), "zero"

    @contextlib.contextmanager
    def boundary(self, kind: str) -> Iterator[None]:
        before, self.kind = self.kind, kind
        try:
            yield
        finally:
            self.kind = before

    def close(self) -> None:
        if self.kind == "periodic":
            self.u[0], self.u[-1] = self.u[-2].copy(), self.u[1].copy()
        elif self.kind == "flat":
            self.u[0], self.u[-1] = self.u[1], self.u[-2]
        else:
            self.u[[0, -1]] = 0

    def step(self, source: float, kinds: list[str]) -> Any:
        with contextlib.ExitStack() as stack:
            for kind in kinds:
                stack.enter_context(self.boundary(kind))
            self.u[1:-1] += 0.2 * (self.u[2:] + self.u[:-2] - 2 * self.u[1:-1]) + source
            self.close()
        return self.u[1:-1].mean(), self.kind


# --- a sampler whose chains are described by Python's own statistics


def gibbs(data: Any, chains: dict[str, list[float]], draws: list[tuple[float, float]]) -> Any:
    mean, weight = chains["mean"][-1], chains["weight"][-1]
    for z, g in draws:
        variance = 1 / (1e-3 + len(data) * weight)
        mean = variance * weight * data.sum() + z * np.sqrt(variance)
        weight = g / (0.5 * ((data - mean) ** 2).sum())
        chains["mean"].append(float(mean))
        chains["weight"].append(float(weight))
    return statistics.fmean(chains["mean"][-3:]), statistics.median(chains["weight"][-3:])


PIECES = [
    Piece(
        "stars at a date", "horizontal",
        lambda: [noise(500), noise(500, seed=1) * 0.4, 2460000.5, 0.8], REPLAYED,
        (put(2, lambda date: date + 0.25), put(0, lambda x: x + 1), put(3, lambda x: -0.5)),
    ),
    Piece(
        "cached rotations", "spun", lambda: [noise(50, 3), 0.3], REPLAYED,
        (put(1, lambda angle: 0.5), put(0, lambda x: x * 2), put(1, lambda angle: 0.3),
         lambda a: a.append(1)),
    ),
    Piece(
        "structure factors", "factors",
        lambda: [np.floor(4 * noise(60, 3)), noise(20, 3), noise(20, seed=2)], REPLAYED,
        (lambda a: a.append(("x,y,z", "-x,y+1/2,-z")), put(1, lambda x: x[::-1].copy()),
         put(2, lambda w: w * 2), put(0, lambda h: h[:50])),
    ),
    Piece(
        "rates that are missing", "react", make_reaction, REPLAYED,
        (lambda a: a[2].append(320.0), put(0, lambda c: c * 2), lambda a: a[1].clear(),
         put(3, lambda dt: 0.2), lambda a: setattr(a[1], "energy", a[1].energy * 1.1)),
    ),
    Piece(
        "items as attributes", "swing", lambda: [State(x=noise(40), v=noise(40, seed=1)), 0.1],
        REPLAYED,
        (put(1, lambda dt: 0.2), put(0, lambda s: State(v=noise(5), x=noise(5, seed=1))),
         put(0, lambda s: State(v=noise(5)))), steady=False,
    ),
    Piece(
        "a list of three", "predict", lambda: [History(noise(20), noise(20, seed=1)), 0.1],
        REPLAYED,
        (put(1, lambda dt: 0.2), attribute(0, "most", 4), lambda a: a[0].reverse(),
         put(0, lambda h: History(noise(5), noise(5, seed=1)))), steady=False,
    ),
    Piece(
        "points that are added", "walk",
        lambda: [Point(noise(20), noise(20, seed=1)), [Point(1.0, 2.0), (noise(20, seed=2), 0.5)]],
        REPLAYED, (lambda a: a[1].append((2.0, 3.0)), put(0, lambda p: Point(p[1], p[0] * 2))),
    ),
    Piece(
        "modules that register", "Network.train",
        lambda: [Network(), noise(30, 8), noise(30, 1, seed=1), 0.1], REPLAYED,
        (put(3, lambda rate: 0.01), lambda a: cut(a[0]), put(1, lambda x: x * 2)),
    ),
    Piece(
        "boundaries on a stack", "Field.step", lambda: [Field(12), 0.1, ["periodic"]], REPLAYED,
        (lambda a: a[2].append("flat"), put(1, lambda s: 0.5), attribute(0, "kind", "flat")),
    ),
    Piece(
        "chains described", "gibbs",
        lambda: [noise(60), {"mean": [0.0], "weight": [1.0]}, [(0.5, 30.0), (-0.2, 28.0)]],
        REPLAYED,
        (put(0, lambda x: x + 1), lambda a: a[2].pop(),
         put(1, lambda c: {"mean": [1.0], "weight": [0.5]})), steady=False,
    ),
]  # fmt: skip
