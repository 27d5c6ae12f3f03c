"""Programs for streams and memory: some that have branches, and five of about forty operations."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusecuda as fc

Array = Any


def four_chains(*arrays: Array) -> Array:
    """Four chains of products, of which none needs another."""
    found = list(arrays)
    for i in range(len(found)):
        for scale in (2.0, 3.0, 4.0, 5.0):
            found[i] = found[i] @ found[i] * scale
    return tuple(found)


def lstm_step(x: Array, h: Array, c: Array, wx: Array, wh: Array, bias: Array) -> Array:
    """One step of a long short-term memory, its gates multiplied one by one."""
    gates = [x @ wx[i] + h @ wh[i] + bias[i] for i in range(4)]
    i, f, o = (1 / (1 + np.exp(-g)) for g in gates[:3])
    after = f * c + i * np.tanh(gates[3])
    return o * np.tanh(after), after


def greeks(price: Array, strike: Array, years: Array) -> Array:
    """Prices and sensitivities of options."""
    rate, volatility = 0.02, 0.3
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    n1 = 1 / (1 + np.exp(-(0.07056 * d1 * d1 * d1 + 1.5976 * d1)))
    n2 = 1 / (1 + np.exp(-(0.07056 * d2 * d2 * d2 + 1.5976 * d2)))
    density = np.exp(-0.5 * d1 * d1) * 0.3989423
    discounted = strike * np.exp(-rate * years)
    call = price * n1 - discounted * n2
    gamma = density / (price * spread)
    vega = price * density * np.sqrt(years)
    theta = -0.5 * vega * volatility / years - rate * discounted * n2
    return call, gamma, vega, theta


def block_of_a_network(x: Array, y: Array, gain: Array, bias: Array) -> Array:
    """What surrounds the products of a transformer's block: two norms, GELU, softmax, residuals."""

    def norm(v: Array) -> Array:
        centered = v - v.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centered * centered).mean(axis=-1, keepdims=True) + 1e-5)
        return centered / spread * gain + bias

    z = norm(x) + y
    z = z + 0.5 * z * (1 + np.tanh(0.7978846 * (z + 0.044715 * z * z * z)))
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return norm(e / e.sum(axis=-1, keepdims=True) + x)


def shallow_water(h: Array, u: Array, v: Array) -> Array:
    """A step of waves in shallow water, in place on copies."""
    h, u, v = h.copy(), u.copy(), v.copy()
    u[1:-1, 1:-1] -= 0.1 * (h[1:-1, 2:] - h[1:-1, :-2]) + 0.01 * u[1:-1, 1:-1] * (
        u[1:-1, 2:] - u[1:-1, :-2]
    )
    v[1:-1, 1:-1] -= 0.1 * (h[2:, 1:-1] - h[:-2, 1:-1]) + 0.01 * v[1:-1, 1:-1] * (
        v[2:, 1:-1] - v[:-2, 1:-1]
    )
    h[1:-1, 1:-1] -= 0.05 * (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1])
    energy = 0.5 * (h * h + h * (u * u + v * v))
    return h, u, v, np.sqrt(u * u + v * v), energy.sum()


def moments(x: Array, w: Array) -> Array:
    """Weighted mean, deviation, skewness and kurtosis of columns, and outliers beyond them."""
    share = w / w.sum(axis=0)
    mean = (share * x).sum(axis=0)
    centered = x - mean
    deviation = np.sqrt((share * centered * centered).sum(axis=0))
    z = centered / deviation
    z2 = z * z
    skewness = (share * z2 * z).sum(axis=0)
    kurtosis = (share * z2 * z2).sum(axis=0) - 3
    bounded = np.where(np.abs(z) > 3, np.sign(z) * 3, z)
    kept = (np.abs(z) <= 3).sum(axis=0)
    again = bounded - (share * bounded).sum(axis=0)
    return skewness, kurtosis, kept, again * deviation + mean


def colours(r: Array, g: Array, b: Array) -> Array:
    """Tone mapping of a picture: luminance, contrast, gamma."""
    luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b
    level = np.exp(np.log(luminance + 1e-4).mean())
    scaled = luminance * 0.18 / level
    mapped = scaled * (1 + scaled / 4) / (1 + scaled)
    ratio = mapped / (luminance + 1e-6)
    found = []
    for channel in (r, g, b):
        tone = np.clip(channel * ratio, 0, 1)
        found.append(np.where(tone <= 0.0031308, 12.92 * tone, 1.055 * np.sqrt(tone) - 0.055))
    return tuple(found)


def specs(*shapes: tuple[int, ...]) -> list[Any]:
    """float32 arguments of these shapes."""
    return [fc.spec(shape, np.float32) for shape in shapes]


BRANCHES = (
    (four_chains, specs(*[(256, 256)] * 4)),
    (lstm_step, specs(*[(64, 512)] * 3, *[(4, 512, 512)] * 2, (4, 512))),
)
_SQUARE = (1000, 1000)
FORTY = (
    (greeks, specs(*[_SQUARE] * 3)),
    (block_of_a_network, specs(_SQUARE, _SQUARE, (1000,), (1000,))),
    (shallow_water, specs(*[_SQUARE] * 3)),
    (moments, specs(_SQUARE, _SQUARE)),
    (colours, specs(*[_SQUARE] * 3)),
)
