"""Structures: arrays in caches, under keys, in classes and behind callbacks."""

from __future__ import annotations

import contextlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, UNFUSED, Piece, put


def noise(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


# --- finite elements: the points of a cell are computed once, the rule belongs to the class


class Mesh:
    nodes = np.array([-1.0, 1.0]) / np.sqrt(3.0)
    weights: ClassVar[dict[Any, Any]] = {"corner": np.array([1.0, 2.0]), 2: (np.ones(2), 0.5)}

    def __init__(self, n: int) -> None:
        self.n = n
        self.h = 1 / n
        self.cells: dict[tuple[int, int], Any] = {}

    def cell(self, i: int, j: int) -> Any:
        if (i, j) not in self.cells:
            x = (i + 0.5 + 0.5 * self.nodes) * self.h
            y = (j + 0.5 + 0.5 * self.nodes) * self.h
            self.cells[i, j] = np.add.outer(x, y)
        return self.cells[i, j]

    def load(self, f: Callable[[Any], Any], scale: float) -> Any:
        b = np.zeros((self.n + 1, self.n + 1))
        corner = self.weights["corner"] * type(self).weights[2][0]
        for i in range(self.n):
            for j in range(self.n):
                value = f(scale * self.cell(i, j)).mean() * self.h**2 / 4
                b[i : i + 2, j : j + 2] += value * corner
        return b


# --- blocks of a field, by where they lie; neighbours flow into each other


def exchange(blocks: dict[tuple[int, int], Any], at: tuple[int, int], out: Any) -> float:
    out[...] = blocks[at]
    for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        near = at[0] + dy, at[1] + dx
        if near in blocks:
            out += 0.25 * blocks[near]
    blocks[at] = out.copy()
    blocks[0, 0] *= 0.5
    return float(out.sum())


def make_blocks() -> list[Any]:
    blocks = {(i, j): noise(4, 5, seed=3 * i + j) for i in range(3) for j in range(3)}
    return [blocks, (1, 1), np.empty((4, 5))]


# --- settings that a context manager changes, read by functions in a table

SETTINGS = {"order": 2.0, "scale": np.array([1.0, 2.0])}


def moment(x: Any) -> Any:
    return (np.abs(x) ** SETTINGS["order"]).sum() * SETTINGS["scale"]


def spread(x: Any) -> Any:
    return (x.max() - x.min()) * SETTINGS["scale"].sum()


TABLE: dict[str, Any] = {"moment": moment, "spread": spread, "both": [moment, spread]}


class Probe:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, x: Any) -> Any:
        return self.function(x)


PROBE = Probe(moment)


def measured(x: Any, name: str, factor: float) -> Any:
    before = SETTINGS["scale"]
    SETTINGS["scale"] = before * factor
    SETTINGS["order"] += 1
    found = [TABLE[name](x), PROBE(x), TABLE["both"][1](x)]
    SETTINGS["scale"] = before
    SETTINGS["order"] -= 1
    return found


@contextlib.contextmanager
def scaled(factor: float) -> Iterator[None]:
    before = SETTINGS["scale"]
    SETTINGS["scale"] = before * factor
    try:
        yield
    finally:
        SETTINGS["scale"] = before


def within(x: Any, factor: float) -> Any:
    with scaled(factor):
        inside = moment(x)
    return inside, moment(x)


# --- parameters by layer and kind, with a state that grows


class Name(NamedTuple):
    layer: str
    kind: str


def descend(
    parameters: dict[Name, Any], gradients: dict[Name, Any], state: dict[Any, Any], rate: float
) -> float:
    for name, gradient in gradients.items():
        m = state.setdefault(name, np.zeros_like(gradient))
        m *= 0.9
        m += gradient
        parameters[name] -= rate * m
    state["steps"] = state.get("steps", 0) + 1
    return sum(float((p**2).sum()) for p in parameters.values())


def make_descend() -> list[Any]:
    names = [Name("first", "weight"), Name("first", "bias"), Name("last", "weight")]
    parameters = {name: noise(6, 4, seed=i) for i, name in enumerate(names)}
    return [parameters, {name: p * 0.1 + 1 for name, p in parameters.items()}, {}, 0.1]


# --- results that were computed before, by what they were computed of


class Memo:
    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.hits = 0

    def get(self, n: float, x: Any) -> Any:
        key = n, x.shape, round(float(x[0]), 6)
        if key in self.known:
            self.hits += 1
            return self.known[key]
        self.known[key] = result = np.sqrt(np.abs(x)) * n
        return result


# --- groups, in ordered and default dicts with plain keys


def grouped(keys: Any, values: Any) -> Any:
    found: OrderedDict[int, Any] = OrderedDict()
    names: defaultdict[float, list[int]] = defaultdict(list)
    for k in np.unique(keys):
        own = values[keys == k]
        found[int(k)] = {"n": len(own), "mean": own.mean(), "top": own[np.argsort(-own)[:2]]}
        names[float(k) / 2].append(int(k))
    return found, names


# --- functions put together


def chained(x: Any, *steps: Callable[[Any], Any]) -> Any:
    return reduce(lambda value, step: step(value), steps, x)


def shifted(x: Any, by: float = 0.0, times: float = 1.0) -> Any:
    return x * times + by


# --- Langton's ant, which finds its way by a table of its class


class Ant:
    ways = np.array([[-1, 0], [0, 1], [1, 0], [0, -1]])

    def __init__(self, size: int) -> None:
        self.grid = np.zeros((size, size), bool)
        self.place = np.array([size // 2, size // 2])
        self.way = 0

    def walk(self, steps: int) -> Any:
        for _ in range(steps):
            i, j = self.place
            self.way = (self.way + (-1 if self.grid[i, j] else 1)) % 4
            self.grid[i, j] ^= True
            self.place = (self.place + self.ways[self.way]) % len(self.grid)
        return self.grid.sum(), self.place


# --- values of a grid world: moves are an enum, the result is a named tuple


class Move(Enum):
    UP = (-1, 0)
    DOWN = (1, 0)
    LEFT = (0, -1)
    RIGHT = (0, 1)


class Plan(NamedTuple):
    value: Any
    policy: Any
    sweeps: int


def plan(reward: Any, wall: Any, discount: float, tolerance: float = 1e-4) -> Plan:
    h, w = reward.shape
    value = np.zeros((h, w))
    sweep, change = 0, np.inf
    while change >= tolerance and sweep < 200:
        q = np.empty((len(Move), h, w))
        for k, move in enumerate(Move):
            dy, dx = move.value
            to = np.full((h, w), np.nan)
            here = slice(max(0, -dy), h - max(0, dy)), slice(max(0, -dx), w - max(0, dx))
            there = slice(max(0, dy), h - max(0, -dy)), slice(max(0, dx), w - max(0, -dx))
            to[here] = np.where(wall[there], np.nan, value[there])
            q[k] = reward + discount * np.where(np.isnan(to), value, to)
        new = np.where(wall, 0, q.max(0))
        change = abs(new - value).max()
        value = new
        sweep += 1
    return Plan(value, q.argmax(0), sweep)


def make_plan() -> list[Any]:
    reward, wall = np.full((12, 14), -0.04), np.zeros((12, 14), bool)
    reward[0, 13], reward[1, 13] = 1, -1
    wall[4, 3:9] = True
    return [reward, wall, 0.6]


# --- what kinds of things there are, asked for in other ways than by calling `type`


def kinds(*values: Any) -> Any:
    names = [t.__name__ for t in map(type, values)]
    return names, [type(v) is np.ndarray for v in values], sum(np.sum(v) for v in values)


def mesh() -> list[Any]:
    return [Mesh(4), np.sin, 1.0]


PIECES = [
    Piece("loads of a mesh", "Mesh.load", mesh, REPLAYED,
          (put(2, lambda s: 2.0), lambda a: a[0].cells.clear(),
           lambda a: a[0].weights["corner"].fill(0.5), lambda a: a[0].cells[1, 2].fill(0.3))),
    Piece("blocks by place", "exchange", make_blocks, REPLAYED,
          (put(1, lambda at: (2, 1)), lambda a: a[0][1, 1].fill(2.0), put(1, lambda at: (0, 0)))),
    Piece("settings read by functions in a table", "measured",
          lambda: [noise(300), "moment", 3.0], REPLAYED,
          (put(2, lambda f: 0.5), put(1, lambda n: "spread"), put(0, lambda x: x * 2)),
          steady=False),
    Piece("settings changed by a context manager", "within", lambda: [noise(300), 3.0], ANEW,
          (put(1, lambda f: 0.5), put(0, lambda x: x * 2))),
    Piece("parameters by named tuples", "descend", make_descend, REPLAYED,
          (put(3, lambda r: 0.01), lambda a: a[0].popitem() and a[1].popitem(),
           lambda a: a[2].clear()), steady=False),
    Piece("results that are known", "Memo.get", lambda: [Memo(), 2.0, noise(200)], REPLAYED,
          (put(1, lambda n: 3), put(2, lambda x: x + 1), lambda a: a[0].known.clear()),
          steady=False),
    Piece("groups in ordered dicts", "grouped", lambda: [np.arange(60) * 7 % 5, noise(60)],
          REPLAYED, (put(1, lambda v: v * 2), put(0, lambda k: k // 2))),
    Piece("functions put together", "chained",
          lambda: [np.abs(noise(400)), np.sqrt, partial(shifted, times=2.0), np.cumsum],
          REPLAYED, (put(0, lambda x: x * 2), put(2, lambda s: partial(shifted, by=1.0)))),
    Piece("an ant with a table", "Ant.walk", lambda: [Ant(9), 6], REPLAYED,
          (put(1, lambda n: 9),), steady=False),
    Piece("a plan for a grid world", "plan", make_plan, REPLAYED,
          (put(2, lambda d: 0.7), put(1, lambda w: w[::-1]))),
    Piece("kinds of things", "kinds", lambda: [noise(5), noise(5) > 0, 2.5, np.float32(3)], UNFUSED,
          (put(0, lambda x: x * 2),)),
]  # fmt: skip
