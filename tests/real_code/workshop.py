"""Workshop: flags, patterns, generators, recursion, duals, and tables of one's own."""

from __future__ import annotations

import enum
import functools
import itertools
import math
import operator
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, put


def noise(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


# --- chemistry: mass action; flags say what is kept


class Keep(enum.Flag):
    NOTHING = 0
    POSITIVE = enum.auto()
    MASS = enum.auto()


@dataclass(frozen=True, slots=True)
class Reaction:
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    rate: float

    def speed(self, c: Any) -> Any:
        return functools.reduce(operator.mul, [c[i] for i in self.inputs], self.rate)


def kinetics(c: Any, reactions: list[Reaction], dt: float, keep: Keep = Keep.NOTHING) -> Any:
    change = np.zeros_like(c)
    for reaction in reactions:
        speed = reaction.speed(c)
        for i in reaction.inputs:
            change[i] -= speed
        for i in reaction.outputs:
            change[i] += speed
    new = c + dt * change
    if keep & Keep.POSITIVE:
        new = np.clip(new, 0, None)
    if Keep.MASS in keep:
        new *= c.sum(axis=0) / new.sum(axis=0)
    return new


def make_kinetics() -> list[Any]:
    reactions = [Reaction((0, 1), (2,), 0.3), Reaction((2,), (0, 1), 0.1)]
    return [np.abs(noise(3, 200)) + 1, reactions, 0.05, Keep.POSITIVE | Keep.MASS]


# --- expressions as nested tuples and dicts


def evaluate(expression: Any, names: dict[str, Any]) -> Any:
    match expression:
        case ("+" | "*" as sign, *parts):
            function = operator.add if sign == "+" else operator.mul
            return functools.reduce(function, [evaluate(part, names) for part in parts])
        case ("-", part):
            return -evaluate(part, names)
        case {"if": condition, "then": yes, "else": no}:
            chosen = evaluate(condition, names) > 0
            return np.where(chosen, evaluate(yes, names), evaluate(no, names))
        case str(name):
            return names[name]
        case int() | float() as number:
            return number
        case _:
            raise TypeError(f"cannot evaluate {expression!r}")


def make_expression() -> list[Any]:
    expression = ("+", ("*", "x", 2.0, "y"), ("-", "x"), {"if": "x", "then": "y", "else": 1})
    return [expression, {"x": noise(50), "y": noise(50, seed=1)}]


# --- finance: a table of columns of one's own


class Table:
    def __init__(self, **columns: Any) -> None:
        self.columns = dict(columns)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.columns[key]
        return Table(**{name: column[key] for name, column in self.columns.items()})

    def __setitem__(self, key: str, value: Any) -> None:
        self.columns[key] = np.asarray(value)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rolling(self, key: str, n: int) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(self[key], n)
        return np.concatenate([np.full(n - 1, np.nan), windows.mean(axis=-1)])


def backtest(table: Table, fast: int, slow: int, cost: float = 1e-3) -> dict[str, Any]:
    table["fast"], table["slow"] = table.rolling("close", fast), table.rolling("close", slow)
    table["position"] = np.where(table["fast"] > table["slow"], 1.0, -1.0)
    turns = np.abs(np.diff(table["position"], prepend=0.0))[:-1]
    gains = table["position"][:-1] * np.diff(np.log(table["close"])) - cost * turns
    equity = np.cumsum(gains)
    return {
        "ratio": float(gains.mean() / gains.std() * np.sqrt(252)),
        "loss": (np.maximum.accumulate(equity) - equity).max(),
        "long": len(table[table["position"] > 0]),
    }


def make_table() -> list[Any]:
    return [Table(close=100 * np.exp(np.cumsum(0.01 * noise(300))), volume=noise(300)), 5, 20]


# --- audio: partials from a generator, an envelope in pieces

PATCHES = {"organ": [(1, 1.0), (2, 0.5), (3, 0.25)], "bell": [(1.0, 1.0), (2.76, 0.6)]}


def partials(name: str, base: float) -> Iterator[tuple[float, float]]:
    for ratio, amplitude in PATCHES[name]:
        yield base * ratio, amplitude


def note(name: str, base: float, length: float = 0.05, **given: float) -> Any:
    t = np.arange(int(length * 8000)) / 8000
    wave = sum(amplitude * np.sin(2 * np.pi * f * t) for f, amplitude in partials(name, base))
    shape = {"attack": 0.01, "level": 0.6, "release": 0.02, **given}
    end = length - shape["release"]
    envelope = np.piecewise(
        t,
        [t < shape["attack"], (t >= shape["attack"]) & (t < end), t >= end],
        [
            lambda t: t / shape["attack"],
            shape["level"],
            lambda t: shape["level"] * np.maximum(length - t, 0) / shape["release"],
        ],
    )
    return wave * envelope / np.abs(wave).max()


# --- optimisation: a memory of steps, a callback that may stop


class Quasi:
    def __init__(self, memory: int) -> None:
        self.memory: deque[Any] = deque(maxlen=memory)

    def direction(self, g: Any) -> Any:
        q, factors = g.copy(), []
        for s, y in reversed(self.memory):
            factors.append((s @ q) / (y @ s))
            q -= factors[-1] * y
        if self.memory:
            s, y = self.memory[-1]
            q *= (s @ y) / (y @ y)
        for (s, y), factor in zip(self.memory, reversed(factors), strict=True):
            q += s * (factor - (y @ q) / (y @ s))
        return -q

    def minimise(
        self, function: Callable[[Any], Any], x: Any, seen: Callable[[int, float], bool] | None
    ) -> Any:
        value, g = function(x)
        for k in itertools.count():
            step = self.direction(g)
            size = next(t for t in (1.0, 0.3, 0.1, 0.03, 0.01) if function(x + t * step)[0] < value)
            new, (value, g_new) = x + size * step, function(x + size * step)
            self.memory.append((new - x, g_new - g))
            x, g = new, g_new
            if (seen is not None and seen(k, float(value))) or k == 1:
                return x, float(value)


def bowl(x: Any) -> Any:
    scale = np.arange(1.0, len(x) + 1)
    return (scale * (x - 1) ** 2).sum(), 2 * scale * (x - 1)


def stops(k: int, value: float) -> bool:
    return value < 1e3 and k >= 0


# --- learning: a tree of dicts, walked by masks


def classify(tree: dict[str, Any], x: Any) -> Any:
    if "leaf" in tree:
        return np.full(len(x), tree["leaf"])
    mask = x[:, tree["feature"]] <= tree["at"]
    found = np.empty(len(x), int)
    found[mask], found[~mask] = classify(tree["yes"], x[mask]), classify(tree["no"], x[~mask])
    return found


def make_classified() -> list[Any]:
    inner = {"feature": 1, "at": -0.3, "yes": {"leaf": 1}, "no": {"leaf": 2}}
    return [{"feature": 0, "at": 0.1, "yes": {"leaf": 0}, "no": inner}, noise(40, 3)]


# --- derivatives by dual numbers


class Dual:
    __slots__ = ("d", "v")

    def __init__(self, v: Any, d: Any = 0.0) -> None:
        self.v, self.d = v, d

    @staticmethod
    def _lifted(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @functools.wraps(method)
        def lifted(self: Any, other: Any) -> Any:
            return method(self, other if isinstance(other, Dual) else Dual(other))

        return lifted

    @_lifted
    def __add__(self, other: Any) -> Dual:
        return Dual(self.v + other.v, self.d + other.d)

    @_lifted
    def __mul__(self, other: Any) -> Dual:
        return Dual(self.v * other.v, self.v * other.d + self.d * other.v)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self) -> Dual:
        return Dual(np.sin(self.v), np.cos(self.v) * self.d)


def derivative(function: Callable[[Any], Any], x: Any) -> Any:
    found = function(Dual(x, np.ones_like(x)))
    return found.v, found.d


def wave(z: Any) -> Any:
    return 3 * z * z + (z * 0.5).sin() + 1


def parabola(z: Any) -> Any:
    return z * z + math.pi


PIECES = [
    Piece(
        "flags and reactions", "kinetics", make_kinetics, REPLAYED,
        (put(3, lambda keep: Keep.NOTHING), put(2, lambda dt: 2.0),
         lambda a: a[1].append(Reaction((1,), (1, 0), 0.5)), put(3, lambda keep: Keep.MASS)),
    ),
    Piece(
        "expressions by patterns", "evaluate", make_expression, REPLAYED,
        (put(0, lambda e: ("*", e, 3)), lambda a: a[1].update(x=a[1]["x"] * 2),
         put(0, lambda e: ("sin", "x")), put(0, lambda e: {"if": "q", "then": 1, "else": 2})),
    ),
    Piece(
        "a table of one's own", "backtest", make_table, REPLAYED,
        (put(1, lambda n: 8), lambda a: a[0].columns.update(close=a[0]["close"][::-1].copy()),
         lambda a: a.append(0.5)),
    ),
    Piece(
        "a note", "note", lambda: ["organ", 220.0], REPLAYED,
        (put(0, lambda name: "bell"), put(1, lambda base: 440.0), lambda a: a.append(0.04)),
    ),
    Piece(
        "a memory of steps", "Quasi.minimise", lambda: [Quasi(3), bowl, noise(6), None], REPLAYED,
        (put(3, lambda seen: stops), put(2, lambda x: x + 0.1), lambda a: a[0].memory.clear()),
        steady=False,
    ),
    Piece(
        "a tree of dicts", "classify", make_classified, REPLAYED,
        (put(1, lambda x: -x), put(1, lambda x: x[:7]), put(0, lambda tree: {"leaf": 4})),
        steady=False,
    ),
    Piece(
        "dual numbers", "derivative", lambda: [wave, noise(100)], REPLAYED,
        (put(1, lambda x: x * 2), put(0, lambda f: parabola)),
    ),
]  # fmt: skip
