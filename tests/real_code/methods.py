"""Methods: spectral, finite elements, trees, Gaussian processes, pyramids, labels, bits."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, Piece, put


def noise(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


# --- a spectral method whose matrices are remembered


@functools.cache
def chebyshev(n: int) -> tuple[Any, Any]:
    x = np.cos(np.pi * np.arange(n + 1) / n)
    c = np.ones(n + 1)
    c[[0, -1]] = 2
    c *= (-1.0) ** np.arange(n + 1)
    apart = np.tile(x, (n + 1, 1)).T
    d = np.outer(c, 1 / c) / (apart - apart.T + np.eye(n + 1))
    return d - np.diag(d.sum(axis=1)), x


def burgers(u: Any, n: int, dt: float, steps: int = 3) -> tuple[Any, Any]:
    """The velocity after some steps, and its energy."""
    d, x = chebyshev(n)
    left = np.eye(n - 1) - dt * 0.01 * (d @ d)[1:-1, 1:-1]
    for _ in range(steps):
        right = u[1:-1] - dt * (u * (d @ u))[1:-1]
        u = np.concatenate(([0.0], np.linalg.solve(left, right), [0.0]))
    return u, np.trapezoid(u[::-1] ** 2, x[::-1])


# --- finite elements, which may be inverted


def stiffness(nodes: Any, tri: Any, k: Any) -> tuple[Any, Any]:
    """The matrix, and the area."""
    xy = nodes[tri]
    j = np.stack([xy[:, 1] - xy[:, 0], xy[:, 2] - xy[:, 0]], axis=2)
    det = j[:, 0, 0] * j[:, 1, 1] - j[:, 0, 1] * j[:, 1, 0]
    if (det <= 0).any():
        raise ValueError(f"inverted elements {np.flatnonzero(det <= 0).tolist()}")
    inverse = np.empty_like(j)
    inverse[:, 0, 0], inverse[:, 1, 1] = j[:, 1, 1], j[:, 0, 0]
    inverse[:, 0, 1], inverse[:, 1, 0] = -j[:, 0, 1], -j[:, 1, 0]
    inverse /= det[:, None, None]
    b = np.array([[-1.0, -1], [1, 0], [0, 1]]) @ inverse
    local = k[:, None, None] * np.einsum("eia,eja->eij", b, b) * (det / 2)[:, None, None]
    whole = np.zeros((len(nodes), len(nodes)))
    np.add.at(whole, (tri[:, :, None], tri[:, None, :]), local)
    return whole, det.sum() / 2


def make_stiffness() -> list[Any]:
    x, y = np.meshgrid(*[np.linspace(0, 1, 5)] * 2, indexing="ij")
    at = np.arange(25).reshape(5, 5)
    a, b, c, d = (at[s].ravel() for s in (np.s_[:-1, :-1], np.s_[1:, :-1], np.s_[:-1, 1:],
                                          np.s_[1:, 1:]))  # fmt: skip
    return [np.column_stack([x.ravel(), y.ravel()]), np.vstack([np.c_[a, b, c], np.c_[b, d, c]]),
            np.ones(32)]  # fmt: skip


# --- a decision tree, by recursion


class Node(NamedTuple):
    feature: int = -1
    threshold: float = 0.0
    left: Any = None
    right: Any = None
    value: float = 0.0


def split(x: Any, y: Any) -> tuple[Any, Any]:
    order = np.argsort(x, kind="mergesort")
    xs, ys = x[order], y[order]
    n = len(y)
    k = np.arange(1, n)
    left = np.cumsum(ys)[:-1]
    p, q = left / k, (ys.sum() - left) / (n - k)
    gini = (k * 2 * p * (1 - p) + (n - k) * 2 * q * (1 - q)) / n
    gini = np.where(np.diff(xs) > 0, gini, np.inf)
    i = np.argmin(gini)
    return gini[i], (xs[i] + xs[i + 1]) / 2


def grow(x: Any, y: Any, depth: int = 2) -> Node:
    """The tree."""
    if depth == 0 or len(y) < 4 or np.ptp(y) == 0:
        return Node(value=float(y.mean()))
    scores = [split(x[:, j], y) for j in range(x.shape[1])]
    j = min(range(len(scores)), key=lambda j: scores[j][0])
    m = x[:, j] <= scores[j][1]
    return Node(j, scores[j][1], grow(x[m], y[m], depth - 1), grow(x[~m], y[~m], depth - 1))


# --- a Gaussian process whose kernels can be added and multiplied


class Kernel:
    def __add__(self, o: Kernel) -> Kernel:
        return Combined(operator.add, self, o)

    def __mul__(self, o: Kernel) -> Kernel:
        return Combined(operator.mul, self, o)

    def __call__(self, a: Any, b: Any) -> Any:
        raise NotImplementedError


class Radial(Kernel):
    def __init__(self, length: float) -> None:
        self.length = length

    def __call__(self, a: Any, b: Any) -> Any:
        return np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / self.length**2)


class White(Kernel):
    def __init__(self, size: float) -> None:
        self.size = size

    def __call__(self, a: Any, b: Any) -> Any:
        return self.size**2 * (a[:, None] == b[None, :])


class Combined(Kernel):
    def __init__(self, how: Callable[[Any, Any], Any], *kernels: Kernel) -> None:
        self.how, self.kernels = how, kernels

    def __call__(self, a: Any, b: Any) -> Any:
        return functools.reduce(self.how, (k(a, b) for k in self.kernels))


def posterior(kernel: Kernel, x: Any, y: Any, at: Any) -> tuple[Any, Any, Any]:
    """Mean and variance, and how likely the data are."""
    k = kernel(x, x)
    try:
        low = np.linalg.cholesky(k)
    except np.linalg.LinAlgError:
        low = np.linalg.cholesky(k + 1e-6 * np.eye(len(x)))
    alpha = np.linalg.solve(low.T, np.linalg.solve(low, y))
    across = kernel(at, x)
    v = np.linalg.solve(low, across.T)
    variance = np.diag(kernel(at, at)) - np.einsum("ij,ij->j", v, v)
    likely = -0.5 * y @ alpha - np.log(np.diagonal(low)).sum() - len(x) / 2 * math.log(2 * math.pi)
    return across @ alpha, variance, likely


def make_posterior() -> list[Any]:
    x = np.linspace(0, 3, 12) ** 1.5
    return [Radial(0.5) + White(0.1), x, np.sin(x), np.linspace(0, 3, 7)]


# --- pyramids of pictures, by recursion


WEIGHTS = np.array([1, 4, 6, 4, 1]) / 16


def blurred(a: Any) -> Any:
    p = np.pad(a, ((2, 2), (0, 0)), mode="reflect")
    a = sum(w * p[i : i + a.shape[0]] for i, w in enumerate(WEIGHTS))
    p = np.pad(a, ((0, 0), (2, 2)), mode="symmetric")
    return sum(w * p[:, i : i + a.shape[1]] for i, w in enumerate(WEIGHTS))


def larger(a: Any, shape: tuple[int, ...]) -> Any:
    b = np.zeros(shape)
    b[::2, ::2] = a
    return 4 * blurred(b)


def pyramid(picture: Any, levels: int) -> list[Any]:
    """What each level adds, and the smallest picture."""
    if levels == 0 or min(picture.shape) < 4:
        return [picture]
    small = blurred(picture)[::2, ::2]
    return [picture - larger(small, picture.shape), *pyramid(small, levels - 1)]


# --- connected parts, by labels that spread


def labelled(picture: Any) -> tuple[Any, int, int]:
    """The labels, how many parts there are, and how many rounds that took."""
    labels = np.where(picture, np.arange(1, picture.size + 1).reshape(picture.shape), 0)
    rounds = 0
    while True:
        old = labels.copy()
        for axis in (0, 1):
            for step in (1, -1):
                moved = np.roll(labels, step, axis)
                edge: list[Any] = [slice(None)] * 2
                edge[axis] = 0 if step == 1 else -1
                moved[tuple(edge)] = 0
                np.maximum(labels, moved, out=labels, where=picture)
        rounds += 1
        if (labels == old).all():
            break
    found, places = np.unique(labels, return_inverse=True)
    return places.reshape(picture.shape), len(found) - 1, rounds


# --- a generator of random bits, and single precision by NumPy's types


def shifted(state: Any, count: int) -> tuple[Any, Any]:
    """Random bits, and numbers made of them."""
    out = np.empty((count, state.size), np.uint64)
    for i in range(count):
        state = state ^ (state << np.uint64(13))
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        out[i] = state * np.uint64(2685821657736338717)
    return out, (out >> np.uint64(11)) * 2.0**-53


def damped(x: Any, v: Any, dt: float, drag: float) -> tuple[Any, Any, Any]:
    """Places and speeds a step later, in the precision of ``x``, and where the fastest is."""
    h, half = np.float32(dt), np.float32(0.5 * dt)
    a = -x - np.float32(drag) * v
    x = x + h * v + half * h * a
    v = v + h * a
    return x, v * np.float32(1 / max(1.0, float(np.abs(v).max()))), np.int64(np.abs(v).argmax())


def make_damped() -> list[Any]:
    return [noise(1, 40).astype("f4"), noise(2, 40).astype("f4"), 0.01, 0.3]


PIECES = [
    Piece("matrices that are remembered", "burgers",
          lambda: [np.sin(np.pi * chebyshev(16)[1]), 16, 0.01], ANEW, (put(2, lambda dt: 0.02),)),
    Piece("finite elements", "stiffness", make_stiffness, REPLAYED,
          (put(0, lambda n: n * 2), put(2, lambda k: k + 1), put(1, lambda t: t[:, ::-1]))),
    Piece("a decision tree", "grow",
          lambda: [noise(1, 20, 2), (noise(1, 20, 2)[:, 0] > 0.2).astype(int)], REPLAYED,
          (lambda a: a.append(1),), calls=3, steady=False),
    Piece("a Gaussian process", "posterior", make_posterior, REPLAYED,
          (lambda a: setattr(a[0].kernels[0], "length", 0.8), put(2, lambda y: y * 2),
           put(0, lambda k: k.kernels[0] * k.kernels[0]))),
    Piece("a pyramid", "pyramid", lambda: [noise(1, 16, 24), 2], REPLAYED,
          (put(0, lambda p: p[:15, :21] * 2),), calls=3),
    Piece("labels that spread", "labelled", lambda: [noise(1, 12, 13) > 0.2], REPLAYED,
          (put(0, lambda p: ~p), put(0, lambda p: p[:3] & False))),
    Piece("random bits", "shifted", lambda: [np.arange(1, 9, dtype=np.uint64), 5], REPLAYED,
          (put(0, lambda s: s * np.uint64(77)), put(1, lambda n: 3))),
    Piece("single precision by types", "damped", make_damped, REPLAYED,
          (put(2, lambda dt: 0.02), put(3, lambda d: 0.1), put(0, lambda x: x[::-1] + x[0]))),
]  # fmt: skip
