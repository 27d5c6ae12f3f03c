"""Programs of prices and signals: options, random walks, filters, spins."""

from __future__ import annotations

from typing import Any

import numpy

from .program import Program, square, uniform, whole


def black_scholes(xp: Any, spot: Any, strike: Any, time: Any) -> Any:
    """Two prices; the normal distribution by the polynomial that every library can compute."""

    def cdf(x: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * xp.abs(x))
        tail = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (
            -1.821255978 + k * 1.330274429))))  # fmt: skip
        upper = 1.0 - 0.3989422804014327 * xp.exp(-0.5 * x * x) * tail
        return xp.where(x < 0.0, 1.0 - upper, upper)

    deviation = 0.3 * xp.sqrt(time)
    d1 = (xp.log(spot / strike) + (0.03 + 0.045) * time) / deviation
    d2 = d1 - deviation
    discounted = strike * xp.exp(-0.03 * time)
    n1, n2 = cdf(d1), cdf(d2)
    return spot * n1 - discounted * n2, discounted * (1.0 - n2) - spot * (1.0 - n1)


def greeks(xp: Any, spot: Any, strike: Any, time: Any) -> Any:
    """What the price of a call changes with: spot, twice, volatility, time, rate."""
    root = xp.sqrt(time)
    d1 = (xp.log(spot / strike) + 0.075 * time) / (0.3 * root)
    d2 = d1 - 0.3 * root
    density = xp.exp(-0.5 * d1 * d1) / 2.5066282746310002
    # The normal distribution by its logistic approximation (Bowling et al., 2009).
    n1 = 1.0 / (1.0 + xp.exp(-(0.07056 * d1 * d1 * d1 + 1.5976 * d1)))
    n2 = 1.0 / (1.0 + xp.exp(-(0.07056 * d2 * d2 * d2 + 1.5976 * d2)))
    discounted = strike * xp.exp(-0.03 * time)
    gamma = density / (spot * 0.3 * root)
    theta = -spot * density * 0.15 / root - 0.03 * discounted * n2
    return n1, gamma, spot * density * root, theta, time * discounted * n2


def monte_carlo(xp: Any, spot: Any, rng: Any) -> Any:
    """The price of an Asian option for each spot price, and its standard error."""
    normal = rng.standard_normal((spot.shape[0], 16, 64))
    steps = 0.0005 + 0.02 * normal
    path = spot[:, None, None] * xp.exp(xp.cumsum(steps, axis=2))
    payoff = xp.maximum(xp.mean(path, axis=2) - 100.0, 0.0)
    return xp.mean(payoff, axis=1), xp.std(payoff, axis=1) / 4.0


def metropolis_sweep(xp: Any, spins: Any, rng: Any) -> Any:
    """A sweep over Ising spins, one colour of the chessboard after the other, and their sum."""
    row, column = xp.arange(spins.shape[0])[:, None], xp.arange(spins.shape[1])
    for colour in range(2):
        around = xp.roll(spins, 1, axis=0) + xp.roll(spins, -1, axis=0)
        around = around + xp.roll(spins, 1, axis=1) + xp.roll(spins, -1, axis=1)
        accepted = rng.random(spins.shape) < xp.exp(-0.9 * spins * around)
        spins = xp.where(accepted & ((row + column) % 2 == colour), -spins, spins)
    return spins, xp.sum(spins)


def fir_filter(xp: Any, x: Any, taps: Any) -> Any:
    """Sixteen taps."""
    n = x.shape[0] - 15
    out = taps[0] * x[:n]
    for k in range(1, 16):
        out = out + taps[k] * x[k : k + n]
    return out


def fft_convolution(xp: Any, x: Any, y: Any) -> Any:
    """A convolution by transforms, and its mean square removed."""
    n = x.shape[0] + y.shape[0] - 1
    z = xp.fft.irfft(xp.fft.rfft(x, n) * xp.fft.rfft(y, n), n)
    return z - xp.mean(z)


def wave_packet(xp: Any, psi: Any, potential: Any) -> Any:
    """A wave turned by a potential and made one in all, and where it is."""
    turned = psi * xp.exp(-0.05j * potential)
    density = turned.real * turned.real + turned.imag * turned.imag
    total = xp.sum(density)
    return turned / xp.sqrt(total), density / total


def decibels(xp: Any, x: Any) -> Any:
    """The level of samples, above a floor."""
    return 20.0 * xp.log10(xp.maximum(xp.abs(x), 1e-5))


def _options(n: int) -> tuple[Any, ...]:
    return uniform(50, 150, n), uniform(60, 140, n), uniform(0.1, 2, n)


def _spins(n: int) -> tuple[Any, ...]:
    rows, columns = square(n)
    return 2 * whole(0, 2, rows // 2 * 2, columns // 2 * 2) - 1, numpy.random.default_rng(5)


def _draws(n: int) -> tuple[Any, ...]:
    return uniform(90, 110, max(1, n // 1024)), numpy.random.default_rng(5)


DRAWS = "random numbers are drawn by NumPy (library), and stored"

PROGRAMS = (
    Program("Black-Scholes", black_scholes, _options, rtol=1e-12),
    Program("Greeks", greeks, _options, rtol=1e-12),
    Program("Monte Carlo pricing", monte_carlo, _draws, rtol=1e-12, unseen=1,
            why="one pass over paths, of which nothing is stored",
            above=f"{DRAWS}; sums over steps and over paths are launches"),
    Program("Metropolis sweep", metropolis_sweep, _spins, minimum=2, unseen=2,
            why="each colour of the board needs the other's new spins around it",
            above=f"{DRAWS}, and the board's colours are computed by it",
            passes=lambda spins, rng: 2 * spins.nbytes),
    Program("wave packet", wave_packet,
            lambda n: (uniform(-1, 1, n) + 1j * uniform(0, 1, n), uniform(0, 9, n)), rtol=1e-13,
            why="one launch, with a second pass when the total is known"),
    Program("decibels", decibels, lambda n: (uniform(-1, 1, n).astype("f4"),), rtol=1e-6),
    Program("FIR filter", fir_filter, lambda n: (uniform(-1, 1, n + 15), uniform(-1, 1, 16))),
    Program("FFT convolution", fft_convolution, lambda n: (uniform(-1, 1, n), uniform(-1, 1, 65)),
            minimum=5, rtol=1e-12,
            why="two transforms, their product, the transform back (library), the mean removed",
            passes=lambda x, y: 8 * x.nbytes),
)  # fmt: skip
