"""Habits of Python programs around arrays: settings, defaults, errors, files, opaque functions."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, UNFUSED, Piece, put


def field_of(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, n))


# --- settings of the module: a dataclass, a dict of dicts, a list


@dataclass
class Config:
    gain: float = 2.0
    offsets: list[float] = field(default_factory=lambda: [0.1, 0.2])
    clip: tuple[float, float] | None = None


CONFIG = Config()
UNITS: dict[str, Any] = {"length": {"m": 1.0, "km": 1000.0}, "mass": {"kg": 1.0}}
STAGES = ["scale", "shift"]


def calibrate(raw: Any, unit: str = "km") -> Any:
    """Raw values by what the settings say."""
    x = raw * UNITS["length"][unit]
    for stage in STAGES:
        if stage == "scale":
            x = x * CONFIG.gain
        elif stage == "shift":
            x = x + sum(CONFIG.offsets)
        elif stage == "square":
            x = x**2
    if CONFIG.clip is not None:
        x = np.clip(x, *CONFIG.clip)
    return np.tanh(x / 1e3)


# --- modules imported inside, and a decorator of the program's own


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


@logged
def whiten(x: Any, eps: float) -> Any:
    import math

    from numpy import linalg

    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / len(x)
    root = linalg.cholesky(covariance + eps * np.eye(x.shape[1]))
    return linalg.solve(root, centred.T).T * math.sqrt(2)


def whitened(x: Any, eps: float = 1e-6) -> tuple[Any, Any]:
    """Rows without correlations, and a check."""
    import operator as op

    y = whiten(x, eps)
    return y, functools.reduce(op.mul, (y.std(axis=0) for _ in range(2)))


# --- defaults that are functions and arrays; a closure that counts


def smooth(u: Any) -> Any:
    return 0.5 * u + 0.25 * (np.roll(u, 1, 0) + np.roll(u, -1, 0))


def relax(
    u: Any,
    rounds: int = 3,
    step: Callable[[Any], Any] = smooth,
    weights: Any = np.linspace(0.5, 1.5, 250),  # noqa: B008
    seen: dict[str, int] | None = None,
) -> Any:
    """The field after some rounds."""
    for _ in range(rounds):
        u = weights * step(u)
        if seen is not None:
            seen["rounds"] = seen.get("rounds", 0) + 1
    return u


# --- a compiled function that nobody can look into


class Compiled:
    """As compilers of Python hand them out: callable, and that is all."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:
        assert all(type(a) in (np.ndarray, float, int) for a in args), "compiled for NumPy arrays"
        return self._function(*args)


@Compiled
def prefix(x: Any) -> Any:
    out = np.empty_like(x)
    total = 0.0
    for i in range(0, len(x), 1000):
        out[i : i + 1000] = total + x[i : i + 1000].cumsum()
        total = out[min(i + 999, len(x) - 1)]
    return out


def detrended(x: Any, scale: float) -> Any:
    """The sums of what deviates, without their own trend."""
    walk = prefix((x - x.mean()) * scale)
    line = np.linspace(walk[0], walk[-1], len(walk))
    return np.abs(walk - line) ** 1.5


# --- one list given twice, and lists of arrays that are changed


def exchange(mine: list[Any], theirs: list[Any], rate: float) -> list[Any]:
    """Each array moves towards that of the other list; the last is appended."""
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        mean = 0.5 * (a + b)
        a += rate * (mean - a)  # noqa: PLW2901 - in place
        theirs[i] = b + rate * (mean - b)
    return [m * t for m, t in zip(mine, theirs, strict=True)]


def twice(a: list[Any]) -> None:
    a[1] = a[0]


# --- an error that the function catches itself


def neighbour_sums(x: Any, offsets: tuple[int, ...]) -> tuple[Any, list[str]]:
    """Sums over rows further on; what does not exist is told."""
    total = np.zeros(x.shape[1])
    missing = []
    for k in offsets:
        try:
            total += x[k] * np.sqrt(1 + k * k)
        except IndexError as error:
            missing.append(str(error))
    try:
        total = total.reshape(-1, 7)
    except ValueError as error:
        missing.append(str(error))
    return total, missing


# --- a digest and a file: effects, and buffers of computed arrays


def digest(x: Any, y: Any) -> str:
    """A name for the result, for a cache."""
    mixed = (x * 3 + y) * 0.5
    mixed[mixed < 0] = 0
    return hashlib.sha1(np.ascontiguousarray(mixed)).hexdigest()


def save(x: Any, path: pathlib.Path, tag: str) -> int:
    """The bytes that were appended to a file."""
    rows = np.round(2 * x + 1, 3)
    header = f"{tag}:{rows.shape}:{rows[0, 0].item():.3f}\n".encode()
    with path.open("ab") as out:
        out.write(header)
        out.write(rows)
    return path.stat().st_size


def make_save() -> list[Any]:
    path = pathlib.Path(tempfile.mkdtemp()) / "rows.bin"
    return [field_of(100), path, "rows"]


# --- branches on sums, a hash of a number, Python's own functions of arrays


CACHE: dict[float, str] = {}


def normalise(x: Any, target: float) -> Any:
    """Values whose sum is the target's; the sums met are remembered."""
    total = x.sum()
    if total > 0:
        y = x * (target / total)
    elif total == 0:
        y = x + target / x.size
    else:
        y = -x * (target / abs(total))
    CACHE[round(total, 3)] = f"{math.floor(total)}"
    return y * max(1.0, min(target, 2.0))


# --- sums as keys, and rounded


def bins(x: Any, edges: list[float]) -> dict[float, tuple[int, float]]:
    """By the rounded sum of each bin: how many are in it, and their mean."""
    found = {}
    for low, high in itertools.pairwise(edges):
        inside = (x >= low) & (x < high)
        total = (x * inside).sum()
        count = np.count_nonzero(inside)
        if not count:
            continue
        found[round(total, 3)] = (count, round(float(total) / count, 6))
    seen = hash(x.max() * 2)
    return found | {seen % 7: (x.size, x.min().item())}


# --- a generator of tiles, and a recursion over nested parameters


def tiles(x: Any, size: int) -> Iterator[tuple[tuple[slice, slice], Any]]:
    for i in range(0, x.shape[0], size):
        for j in range(0, x.shape[1], size):
            place = slice(i, i + size), slice(j, j + size)
            yield place, x[place]


def flatten(x: Any, size: int, strength: float = 1.0) -> Any:
    """The image without the brightness of its tiles."""
    out = np.empty_like(x)
    for place, tile in tiles(x, size):
        out[place] = (tile - strength * tile.mean()) / (1 + tile.std())
    return out


def mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return {k: mapped(v, function) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(v, function) for v in tree)
    return function(tree)


def decay(parameters: dict[str, Any], rate: float) -> tuple[dict[str, Any], float]:
    """Everything a little smaller, and the norm of it all."""
    squares: list[Any] = []
    smaller = mapped(parameters, lambda p: p * (1 - rate))
    mapped(smaller, lambda p: squares.append((p**2).sum()))
    return smaller, float(np.sqrt(sum(squares)))


def make_decay() -> list[Any]:
    layers = [{"w": field_of(120, s), "b": np.ones(120)} for s in range(3)]
    return [{"layers": layers, "head": (field_of(100, 9), np.zeros(3))}, 0.1]


PIECES = [
    Piece(
        "settings of the module", "calibrate", lambda: [field_of(250)], REPLAYED,
        (lambda a: setattr(CONFIG, "gain", 3.0), lambda a: CONFIG.offsets.append(5.0),
         lambda a: UNITS["length"].update(km=10.0), lambda a: STAGES.append("square"),
         lambda a: setattr(CONFIG, "clip", (-1.0, 1.0)), lambda a: a.append("m"),
         lambda a: globals().update(CONFIG=Config(gain=-1.0)), put(1, lambda u: "mile")),
    ),
    Piece(
        "modules imported inside", "whitened",
        lambda: [np.random.default_rng(1).normal(size=(3000, 12))], REPLAYED,
        (put(0, lambda x: x**3), lambda a: a.append(1.0), put(0, lambda x: x[:, :5])),
    ),
    Piece(
        "defaults", "relax", lambda: [field_of(250)], REPLAYED,
        (lambda a: a.append(2), lambda a: a.append(np.tanh), put(2, lambda f: lambda u: u * 0.5),
         lambda a: a.append(2.0), lambda a: a.append({})),
    ),
    Piece(
        "a compiled function", "detrended",
        lambda: [np.random.default_rng(2).normal(size=50_000), 2.0], UNFUSED,
        (put(1, lambda s: 0.5), put(0, lambda x: x[:7777])),
    ),
    Piece(
        "lists given twice", "exchange",
        lambda: [[field_of(120, 1), field_of(120, 2)], [field_of(120, 3), field_of(120, 4)], 0.2],
        REPLAYED, (twice, put(2, lambda r: 0.5), lambda a: a[0].append(a[0][0])),
    ),
    Piece(
        "errors caught", "neighbour_sums", lambda: [field_of(210), (1, 5, 250, -3)], REPLAYED,
        (put(1, lambda o: (0, 209)), put(1, lambda o: (0, 210)), put(0, lambda x: x[:, :200])),
    ),
    Piece(
        "digest", "digest", lambda: [field_of(200, 1), field_of(200, 2)], ANEW,
        (put(0, lambda x: -x), put(1, lambda y: 1.5)),
    ),
    Piece(
        "file", "save", make_save, ANEW, (put(0, lambda x: -x), put(2, lambda t: "other")),
    ),
    Piece(
        "branches on a sum", "normalise", lambda: [field_of(250) + 0.1, 1.5], REPLAYED,
        (put(0, lambda x: x - 1), put(0, lambda x: x * 0), put(1, lambda t: 5.0),
         put(0, lambda x: x + 1)),
    ),
    Piece(
        "sums as keys", "bins", lambda: [np.round(field_of(200), 6), [-2.0, -1.0, 0.0, 1.0]], ANEW,
        (put(0, lambda x: x + 1), lambda a: a[1].append(90.0), lambda a: a[1].append(99.0)),
    ),
    Piece(
        "tiles of a generator", "flatten", lambda: [field_of(240), 80], REPLAYED,
        (put(1, lambda n: 100), lambda a: a.append(0.5), put(0, lambda x: x[:100])),
    ),
    Piece(
        "nested parameters", "decay", make_decay, REPLAYED,
        (put(1, lambda r: 0.2), lambda a: a[0]["layers"].pop(),
         lambda a: a[0].update(extra=field_of(30)), lambda a: a[0]["head"][1].__iadd__(1)),
    ),
]  # fmt: skip
