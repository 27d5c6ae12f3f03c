"""The named programs: ordinary NumPy functions, each with arguments and what it must cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


def sum_of_product(x: Array, y: Array, z: Array) -> Array:
    return np.sum(x + y * z)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x: Array, gain: Array, bias: Array) -> Array:
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * gain + bias


def row_variance(x: Array) -> Array:
    return x.var(axis=1)


def cross_entropy(logits: Array, labels: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))
    return (log_sum - shifted[np.arange(len(labels)), labels]).mean()


def black_scholes(price: Array, strike: Array, years: Array) -> Array:
    rate, volatility = 0.02, 0.3
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    # The normal distribution by its logistic approximation (Bowling et al., 2009).
    n1 = 1 / (1 + np.exp(-(0.07056 * d1 * d1 * d1 + 1.5976 * d1)))
    n2 = 1 / (1 + np.exp(-(0.07056 * d2 * d2 * d2 + 1.5976 * d2)))
    discounted = strike * np.exp(-rate * years)
    call = price * n1 - discounted * n2
    return call, call - price + discounted


def three_metrics(x: Array) -> Array:
    return np.abs(x).max(), np.abs(x).mean(), (x * x).mean()


def transposed_add(x: Array, y: Array) -> Array:
    return x + y.T


def column_mean(x: Array) -> Array:
    return x.mean(axis=0)


def centered_columns(x: Array) -> Array:
    return x - x.mean(axis=0)


def standardize(x: Array) -> Array:
    return (x - x.mean()) / x.std()


@dataclass(frozen=True)
class Program:
    """A named program: how its arguments are drawn, its launches, and the loads of each argument.

    ``loads`` are (least, most) loads of one element of each argument; None where an argument is
    broadcast, so that its elements are read once for each row.
    """

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int, int], tuple[Any, ...]]
    launches: int
    loads: tuple[tuple[int, int] | None, ...]

    @property
    def name(self) -> str:
        return self.function.__name__


def _one(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return (rng.normal(size=(n, m)),)


def _three(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return tuple(rng.normal(size=(n, m)) for _ in range(3))


def _positive(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return tuple(rng.uniform(0.5, 2.0, size=(n, m)) for _ in range(3))


def _rows(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return rng.normal(size=(n, m)), rng.normal(size=m), rng.normal(size=m)


def _labelled(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return rng.normal(size=(n, m)), rng.integers(0, m, size=n)


def _turned(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return rng.normal(size=(n, m)), rng.normal(size=(m, n))


ONCE = (1, 1)
PROGRAMS = (
    Program(sum_of_product, _three, 1, (ONCE, ONCE, ONCE)),
    Program(softmax, _one, 1, (ONCE,)),
    Program(layer_norm, _rows, 1, (ONCE, None, None)),
    Program(row_variance, _one, 1, (ONCE,)),
    Program(cross_entropy, _labelled, 1, ((1, 2), ONCE)),  # the label's logit is gathered again
    Program(black_scholes, _positive, 1, (ONCE, ONCE, ONCE)),
    Program(three_metrics, _one, 1, (ONCE,)),
    Program(transposed_add, _turned, 1, (ONCE, ONCE)),
    Program(column_mean, _one, 1, (ONCE,)),
    Program(centered_columns, _one, 1, (ONCE,)),
    Program(standardize, _one, 1, (ONCE,)),
)
