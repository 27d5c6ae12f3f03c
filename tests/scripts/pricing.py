"""A Monte-Carlo pricer: European, Asian, barrier and basket options, with Greeks and errors."""

import math
import sys

import cupy as cp
import numpy as np

SPOT, STRIKE, RATE, VOLATILITY, YEARS = 100.0, 105.0, 0.03, 0.25, 1.0


def normals(shape, seed):
    """Normal numbers with their mirror images."""
    half = np.random.default_rng(seed).normal(size=(shape[0] // 2, *shape[1:]))
    numbers = cp.asarray(half)
    return cp.concatenate([numbers, -numbers])


def paths(numbers, spot=SPOT, volatility=VOLATILITY):
    """Prices at each step of a geometric Brownian motion."""
    steps = numbers.shape[1]
    dt = YEARS / steps
    drift = (RATE - 0.5 * volatility**2) * dt
    logs = cp.cumsum(drift + volatility * math.sqrt(dt) * numbers, axis=1)
    return spot * cp.exp(logs)


def stepwise(numbers, spot=SPOT):
    """The same step by step, with what the path-dependent options need to know."""
    count, steps = numbers.shape
    dt = YEARS / steps
    price = cp.full(count, spot)
    lowest = price.copy()
    highest = price.copy()
    total = cp.zeros(count)
    variance = cp.full(count, VOLATILITY**2)
    for k in range(steps):
        z = numbers[:, k]
        price *= cp.exp((RATE - 0.5 * variance) * dt + cp.sqrt(variance * dt) * z)
        variance += 2.0 * (VOLATILITY**2 - variance) * dt
        variance += 0.1 * cp.sqrt(cp.maximum(variance, 0.0)) * math.sqrt(dt) * z
        variance = cp.maximum(variance, 1e-4)
        cp.minimum(lowest, price, out=lowest)
        cp.maximum(highest, price, out=highest)
        total += price
    return price, lowest, highest, total / steps


def estimate(payoff):
    """Discounted mean and its standard error."""
    discounted = math.exp(-RATE * YEARS) * payoff
    return discounted.mean(), discounted.std() / math.sqrt(payoff.size)


def call(price):
    return cp.maximum(price - STRIKE, 0.0)


def european(numbers):
    """A call, with delta and vega by differences over the same paths."""
    value, error = estimate(call(paths(numbers)[:, -1]))
    up, _ = estimate(call(paths(numbers, spot=SPOT * 1.01)[:, -1]))
    down, _ = estimate(call(paths(numbers, spot=SPOT * 0.99)[:, -1]))
    more, _ = estimate(call(paths(numbers, volatility=VOLATILITY + 0.01)[:, -1]))
    return value, error, (up - down) / (0.02 * SPOT), (more - value) / 0.01


def exotics(numbers):
    """Options on what a path did on its way."""
    price, lowest, highest, mean = stepwise(numbers)
    asian = cp.maximum(mean - STRIKE, 0.0)
    knocked = cp.where(lowest < 80.0, 0.0, call(price))
    lookback = highest - price
    digital = (price > STRIKE).astype(cp.float64)
    return [estimate(p) for p in (asian, knocked, lookback, digital)]


def basket(count, seed):
    """A call on the mean of four correlated shares."""
    correlation = 0.4 * np.ones((4, 4)) + 0.6 * np.eye(4)
    factor = cp.asarray(np.linalg.cholesky(correlation))
    z = normals((count, 4), seed) @ factor.T
    volatilities = cp.asarray(np.array([0.15, 0.2, 0.25, 0.3]))
    spots = cp.asarray(np.array([90.0, 95.0, 105.0, 110.0]))
    final = spots * cp.exp((RATE - 0.5 * volatilities**2) * YEARS + volatilities * z)
    payoff = cp.maximum(final.mean(axis=1) - 100.0, 0.0)
    return estimate(payoff)


def black_scholes():
    """The exact value of the European call."""
    d1 = (math.log(SPOT / STRIKE) + (RATE + 0.5 * VOLATILITY**2) * YEARS) / VOLATILITY
    d2 = d1 - VOLATILITY
    n1, n2 = (0.5 * (1.0 + math.erf(d / math.sqrt(2.0))) for d in (d1, d2))
    return SPOT * n1 - STRIKE * math.exp(-RATE * YEARS) * n2


def main(count=2000, steps=24):
    """All options, printed with their errors."""
    numbers = normals((count, steps), 11)
    value, error, delta, vega = european(numbers)
    print(f"european {float(value):.8f} ± {float(error):.8f}, exact {black_scholes():.8f}")
    print(f"delta {float(delta):.8f}, vega {float(vega):.6f}")
    found = {"european": cp.stack([value, error, delta, vega])}
    for name, (v, e) in zip(
        ("asian", "knock-out", "lookback", "digital"), exotics(numbers), strict=True
    ):
        print(f"{name} {float(v):.8f} ± {float(e):.8f}")
        found[name] = cp.stack([v, e])
    found["basket"] = cp.stack(list(basket(count, 5)))
    return {name: np.array(cp.asnumpy(v)) for name, v in found.items()}


if __name__ == "__main__":
    results = main(*map(int, sys.argv[1:]))
