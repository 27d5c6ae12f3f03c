"""From textbooks: smoothing, loans, regressions that register, derivatives, sparse systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, attribute, put

# --- Holt's smoothing by a closure that keeps level and trend


def smoother(alpha: float, beta: float) -> Callable[[Any], Any]:
    level: Any = None
    trend: Any = None

    def update(x: Any) -> Any:
        nonlocal level, trend
        if level is None:
            level, trend = x.copy(), np.zeros_like(x)
            return level
        before = level
        level = alpha * x + (1 - alpha) * (level + trend)
        trend = beta * (level - before) + (1 - beta) * trend
        return level + trend

    return update


def holt(rows: Any, alpha: float, beta: float) -> Any:
    """What is foreseen in each row, and how far off the last one was."""
    update = smoother(alpha, beta)
    out = np.stack([update(row) for row in rows])
    return out, float(np.abs(out[-2] - rows[-1]).mean())


def make_holt() -> list[Any]:
    return [np.random.default_rng(0).normal(size=(8, 20_000)), 0.5, 0.2]


# --- loans in a named tuple with methods


class Loans(NamedTuple):
    principal: Any
    rate: Any
    months: int

    def payment(self) -> Any:
        monthly = self.rate / 12
        safe = np.where(monthly == 0, 1, monthly)
        with_interest = self.principal * safe / (1 - (1 + safe) ** -self.months)
        return np.where(monthly == 0, self.principal / self.months, with_interest)

    @property
    def balances(self) -> Any:
        left, every, payment = self.principal.astype(float), [], self.payment()
        for _ in range(self.months):
            left = left - (payment - left * self.rate / 12)
            every.append(left)
        return np.array(every)


def book(loans: Any, extra: Any) -> Any:
    """The loans at the end, when each is paid back, and what is paid."""
    left = np.maximum(loans.balances - np.cumsum(extra)[:, None], 0)
    return loans._replace(principal=left[-1]), (left <= 1e-6).argmax(axis=0), loans.payment()


def make_book() -> list[Any]:
    rng = np.random.default_rng(1)
    rates = rng.integers(0, 9, 8000) / 100
    return [Loans(rng.integers(100, 900, 8000), rates, 9), np.full(9, 15.0)]


# --- regressions that register themselves, found by name


class Regression:
    known: dict[str, Any] = {}  # noqa: RUF012 - of all of them

    def __init_subclass__(cls, /, name: str, **more: Any) -> None:
        super().__init_subclass__(**more)
        Regression.known[name] = cls

    def __init__(self, degree: int, ridge: float = 0.0) -> None:
        self.degree, self.ridge, self.weights = degree, ridge, np.zeros(0)

    def basis(self, x: Any) -> Any:
        raise NotImplementedError(type(self).__name__)

    def fit(self, x: Any, y: Any) -> float:
        """How much of the variance is explained."""
        basis = self.basis(x)
        normal = basis.T @ basis + self.ridge * np.eye(basis.shape[1])
        self.weights = np.linalg.solve(normal, basis.T @ y)
        off = y - basis @ self.weights
        return float(1 - off @ off / ((y - y.mean()) ** 2).sum())


class Powers(Regression, name="powers"):
    def basis(self, x: Any) -> Any:
        return np.vander(x, self.degree + 1, increasing=True)


class Waves(Regression, name="waves"):
    def basis(self, x: Any) -> Any:
        k = np.arange(1, self.degree + 1)
        return np.hstack([np.ones((len(x), 1)), np.cos(np.outer(x, k)), np.sin(np.outer(x, k))])


def make_fit() -> list[Any]:
    rng = np.random.default_rng(2)
    x = rng.random(20_000)
    return [Regression.known["waves"](3, 8.0), x, np.cos(3 * x) + rng.normal(size=20_000)]


# --- derivatives by a tape: nodes with operators, closures, and a set of what has been visited


class Node:
    def __init__(self, value: Any, parents: Any = (), back: Any = None) -> None:
        self.value, self.parents, self.back = np.asarray(value, float), parents, back
        self.slope: Any = np.zeros_like(self.value)

    def __add__(self, other: Any) -> Node:
        def back(slope: Any) -> None:
            self.slope = self.slope + reduced(slope, self.value.shape)
            other.slope = other.slope + reduced(slope, other.value.shape)

        return Node(self.value + other.value, (self, other), back)

    def __mul__(self, other: Any) -> Node:
        def back(slope: Any) -> None:
            self.slope = self.slope + reduced(slope * other.value, self.value.shape)
            other.slope = other.slope + reduced(slope * self.value, other.value.shape)

        return Node(self.value * other.value, (self, other), back)

    def positive(self) -> Node:
        def back(slope: Any) -> None:
            self.slope = self.slope + slope * (self.value > 0)

        return Node(np.maximum(self.value, 0), (self,), back)

    def derive(self) -> None:
        order: list[Node] = []
        seen: set[int] = set()

        def visit(node: Node) -> None:
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.slope = np.ones_like(self.value)
        for node in reversed(order):
            if node.back is not None:
                node.back(node.slope)


def reduced(slope: Any, shape: tuple[int, ...]) -> Any:
    while slope.ndim > len(shape):
        slope = slope.sum(0)
    for axis, extent in enumerate(shape):
        if extent == 1:
            slope = slope.sum(axis, keepdims=True)
    return slope


def derived(x: Any, w: Any, b: Any) -> Any:
    """The value and the derivatives by x, w and b."""
    x, w, b = Node(x), Node(w), Node(b)
    top = (x * w + b).positive() * x
    top.derive()
    return top.value.mean(), x.slope, w.slope, b.slope


def make_derived() -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=(200, 100)), rng.normal(size=100), rng.normal(size=(200, 1))]


# --- a sparse matrix of triples with operators, and conjugate gradients


class Triples:
    def __init__(self, size: int, rows: Any, columns: Any, values: Any) -> None:
        self.size, self.rows, self.columns, self.values = size, rows, columns, values

    def __matmul__(self, x: Any) -> Any:
        if len(x) != self.size:
            raise ValueError(f"{self.size} columns and {len(x)} rows")
        out = np.zeros_like(x)
        np.add.at(out, self.rows, self.values * x[self.columns])
        return out


def gradients(matrix: Any, b: Any, most: int, limit: float = 1e-3) -> Any:
    """What solves the system, and after how many steps."""
    x = np.zeros_like(b)
    rest = b - matrix @ x
    way, square = rest.copy(), rest @ rest
    for step in range(most):
        made = matrix @ way
        far = square / (way @ made)
        x += far * way
        rest -= far * made
        new = rest @ rest
        if new < limit:
            return x, step
        way = rest + new / square * way
        square = new
    return x, None


def make_gradients(size: int = 4000) -> list[Any]:
    k = np.arange(size)
    rows, columns = np.r_[k, k[1:], k[:-1]], np.r_[k, k[:-1], k[1:]]
    values = np.r_[np.full(size, 4.0), np.full(2 * size - 2, -1.0)]
    return [Triples(size, rows, columns, values), np.random.default_rng(4).normal(size=size), 30]


# --- statistics of windows, by the name of what is wanted


def rolling(x: Any, width: int, what: str) -> Any:
    """One of NumPy's functions of each window, and where the largest value is."""
    if what == "zscore":
        sums = np.cumsum(np.insert(x, 0, 0.0))
        mean = (sums[width:] - sums[:-width]) / width
        made = (x[width - 1 :] - mean) / x.std()
    else:
        windows = np.lib.stride_tricks.sliding_window_view(x, width)
        made = getattr(np, what)(windows, axis=-1)
    return made, int(np.argmax(made))


def make_rolling() -> list[Any]:
    return [np.random.default_rng(5).normal(size=20_000), 5, "max"]


# --- schemes from a table, events that stop them, what is kept in a list

TABLE = {"heun": ([[], [1.0]], [0.5, 0.5]), "middle": ([[], [0.5]], [0.0, 1.0])}


def prey(t: float, y: Any, rate: float) -> Any:
    a, b = y
    return np.stack([a * (rate - b), b * (a - rate)])


def integrated(slope: Any, y: Any, end: float, h: float, scheme: str, rate: float) -> Any:
    """Times, states, and whether an event has come first."""
    stages, weights = TABLE[scheme]
    t, times, states = 0.0, [0.0], [y]
    while t < end - 1e-12:
        h = min(h, end - t)
        slopes: list[Any] = []
        for row in stages:
            known = sum((a * k for a, k in zip(row, slopes, strict=True)), np.zeros_like(y))
            slopes.append(slope(t, y + h * known, rate))
        y = y + h * sum(w * k for w, k in zip(weights, slopes, strict=True))
        t += h
        times.append(t)
        states.append(y)
        if np.abs(y).max() > 9:
            return np.array(times), np.stack(states), True
    return np.array(times), np.stack(states), False


def make_integrated() -> list[Any]:
    start = np.random.default_rng(6).random((2, 10_000)) + 0.5
    return [prey, start, 0.3, 0.1, "heun", 1.0]


PIECES = [
    Piece(
        "smoothing in a closure", "holt", make_holt, REPLAYED,
        (put(1, lambda a: 0.75), put(0, lambda x: x[::-1]), put(0, lambda x: x[:4])),
    ),
    Piece(
        "loans", "book", make_book, REPLAYED,
        (put(0, lambda b: b._replace(rate=b.rate[::-1])), put(1, lambda e: e * 2),
         lambda a: a.__setitem__(slice(None), [a[0]._replace(months=5), a[1][:5]])),
    ),
    Piece(
        "regressions by name", "Regression.fit", make_fit, REPLAYED,
        (put(2, lambda y: y * y), attribute(0, "ridge", 5.0), attribute(0, "degree", 2),
         put(0, lambda m: m.known["powers"](2))),
    ),
    Piece(
        "derivatives by a tape", "derived", make_derived, REPLAYED,
        (put(0, lambda x: -x), put(1, lambda w: w[None] * 2), put(2, lambda b: b + 1)),
    ),
    Piece(
        "conjugate gradients", "gradients", make_gradients, REPLAYED,
        (put(1, lambda b: b[::-1]), attribute(0, "values", np.full(11998, 0.5)),
         put(2, lambda n: 3), put(1, lambda b: b[:-1])),
    ),
    Piece(
        "windows by name", "rolling", make_rolling, REPLAYED,
        (put(2, lambda w: "ptp"), put(1, lambda n: 3), put(2, lambda w: "zscore"),
         put(0, lambda x: x[::-2])),
    ),
    Piece(
        "schemes of a table", "integrated", make_integrated, REPLAYED,
        (put(5, lambda r: 1.5), put(4, lambda s: "middle"), put(1, lambda y: y * 9),
         put(2, lambda t: 0.2)),
    ),
]  # fmt: skip
