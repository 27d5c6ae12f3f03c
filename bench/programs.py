"""The benchmark programs: NumPy code over a namespace ``np`` that every array library can fill.

Each program is a function from a namespace to a function of arrays, so that NumPy, fusecuda, Numba
and JAX run the very same text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy


@dataclass(frozen=True)
class Program:
    """A function to be timed; ``inputs(n)`` are its arguments for about ``n`` elements."""

    name: str
    make: Callable[[Any], Callable[..., Any]]
    inputs: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...] = (1_000, 100_000, 4_000_000)


def uniform(low: float, high: float, *shape: int) -> Any:
    """Random numbers, the same at each call."""
    return numpy.random.default_rng(7).uniform(low, high, shape)


def square(n: int, aspect: float = 1.0) -> tuple[int, int]:
    """The shape of about ``n`` elements in rows and columns."""
    rows = max(4, round(math.sqrt(n * aspect)))
    return rows, max(4, n // rows)


def chain(np: Any) -> Callable[..., Any]:
    """Twelve elementwise operations."""

    def f(x: Any, y: Any) -> Any:
        a = x * 2.0 + y
        b = (a - x) * (a + y) * 0.5
        return np.sqrt(np.abs(b * b + a) + 1.0) / (y + 3.0) - x

    return f


def black_scholes(np: Any) -> Callable[..., Any]:
    """Two results; the normal distribution by the polynomial that every library can compute."""

    def cdf(x: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        tail = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (
            -1.821255978 + k * 1.330274429))))  # fmt: skip
        upper = 1.0 - 0.3989422804014327 * np.exp(-0.5 * x * x) * tail
        return np.where(x < 0.0, 1.0 - upper, upper)

    def f(spot: Any, strike: Any, time: Any) -> Any:
        deviation = 0.3 * np.sqrt(time)
        d1 = (np.log(spot / strike) + (0.03 + 0.045) * time) / deviation
        d2 = d1 - deviation
        discounted = strike * np.exp(-0.03 * time)
        n1, n2 = cdf(d1), cdf(d2)
        return spot * n1 - discounted * n2, discounted * (1.0 - n2) - spot * (1.0 - n1)

    return f


def seawater(np: Any) -> Callable[..., Any]:
    """The density of seawater: sixty operations without a transcendental function."""

    def f(s: Any, t: Any, p: Any) -> Any:
        r = np.sqrt(s)
        water = 999.842594 + t * (6.793952e-2 + t * (-9.09529e-3 + t * (1.001685e-4 + t * (
            -1.120083e-6 + t * 6.536332e-9))))  # fmt: skip
        salt = 0.824493 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
        salt = salt + r * (-5.72466e-3 + t * (1.0227e-4 + t * -1.6546e-6)) + s * 4.8314e-4
        k = 19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 + t * -5.155288e-5)))
        k = k + s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 + t * -6.167e-5)))
        k = k + s * r * (7.944e-2 + t * (1.6483e-2 + t * -5.3009e-4))
        a = 3.239908 + t * (1.43713e-3 + t * (1.16092e-4 + t * -5.77905e-7))
        a = a + s * (2.2838e-3 + t * (-1.0981e-5 + t * -1.6078e-6) + r * 1.91075e-4)
        b = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8)
        b = b + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
        return (water + s * salt) / (1.0 - p / (k + p * (a + p * b)))

    return f


def softmax(np: Any) -> Callable[..., Any]:
    """Over rows of a thousand."""

    def f(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    return f


def layer_norm(np: Any) -> Callable[..., Any]:
    """Over rows of a thousand."""

    def f(x: Any, gain: Any, bias: Any) -> Any:
        d = x - np.mean(x, axis=1, keepdims=True)
        return gain * d / np.sqrt(np.mean(d * d, axis=1, keepdims=True) + 1e-5) + bias

    return f


def sum_of_products(np: Any) -> Callable[..., Any]:
    """A full reduction of x + y z."""

    def f(x: Any, y: Any, z: Any) -> Any:
        return np.sum(x + y * z)

    return f


def metrics(np: Any) -> Callable[..., Any]:
    """Three full reductions over one difference."""

    def f(a: Any, b: Any) -> Any:
        d = a - b
        return np.sum(d * d), np.sum(np.abs(d)), np.max(np.abs(d))

    return f


def stencil(np: Any) -> Callable[..., Any]:
    """One step of the heat equation on the inner points."""

    def f(u: Any) -> Any:
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return inner + 0.2 * (around - 4.0 * inner)

    return f


def nbody(np: Any) -> Callable[..., Any]:
    """The accelerations of √n bodies, of all pairs."""

    def f(x: Any, y: Any, z: Any, m: Any) -> Any:
        dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
        r = dx * dx + dy * dy + dz * dz + 0.01
        w = m / (r * np.sqrt(r))
        return np.sum(w * dx, axis=1), np.sum(w * dy, axis=1), np.sum(w * dz, axis=1)

    return f


def column_sum(np: Any) -> Callable[..., Any]:
    """A reduction over the first axis."""

    def f(x: Any) -> Any:
        return np.sum(x, axis=0)

    return f


def hillshade(np: Any) -> Callable[..., Any]:
    """Slope and light of an elevation model, stretched to its own range."""

    def f(z: Any) -> Any:
        dx = (z[1:-1, 2:] - z[1:-1, :-2]) * 0.05
        dy = (z[2:, 1:-1] - z[:-2, 1:-1]) * 0.05
        slope = np.arctan(np.sqrt(dx * dx + dy * dy))
        aspect = np.arctan2(-dx, dy)
        light = 0.7 * np.cos(slope) + 0.7 * np.sin(slope) * np.cos(2.3 - aspect)
        light = np.where(light > 0.0, light, 0.0)
        low, high = np.min(light), np.max(light)
        return (light - low) / (high - low)

    return f


def rows_of_1000(n: int) -> tuple[Any, ...]:
    """One array of rows of a thousand."""
    return (uniform(-4, 4, max(1, n // 1000), 1000),)


def bodies(n: int) -> tuple[Any, ...]:
    """Three coordinates and the mass of √n bodies."""
    return (*uniform(-1, 1, 3, round(math.sqrt(n))), uniform(0.5, 1, round(math.sqrt(n))))


PROGRAMS = (
    Program("chain of 12", chain, lambda n: tuple(uniform(0, 1, 2, n))),
    Program("Black-Scholes", black_scholes,
            lambda n: (uniform(50, 150, n), uniform(60, 140, n), uniform(0.1, 2, n))),
    Program("seawater density", seawater,
            lambda n: (uniform(0, 42, n), uniform(-2, 40, n), uniform(0, 1000, n))),
    Program("softmax", softmax, rows_of_1000),
    Program("layer norm", layer_norm, lambda n: (*rows_of_1000(n), *uniform(0, 1, 2, 1000))),
    Program("sum of x + y z", sum_of_products, lambda n: tuple(uniform(0, 1, 3, n))),
    Program("three metrics", metrics, lambda n: tuple(uniform(0, 1, 2, n))),
    Program("stencil", stencil, lambda n: (uniform(0, 1, *square(n)),)),
    Program("n-body", nbody, bodies),
    Program("column sum", column_sum, lambda n: (uniform(0, 1, *square(n)),)),
    Program("hillshade", hillshade, lambda n: (uniform(0, 30, *square(n)),)),
)  # fmt: skip
