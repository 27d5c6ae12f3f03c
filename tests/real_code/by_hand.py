"""What textbooks do by hand: epidemics, labels, convolutions, words, graphs, checksums, prices."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.real_code.piece import REPLAYED, Piece, put

# --- an epidemic in many towns: three states put into one row, the peak by a mask

State = namedtuple("State", "S I R")


def epidemic(state: Any, beta: Any, gamma: float, days: int, dt: float = 0.5) -> Any:
    """The last state, the height and the day of each town's peak, all days."""
    S, I, R = (part.copy() for part in state)  # noqa: E741
    people = S + I + R
    out = np.zeros((days, 3, S.size))
    peak, when = np.zeros(S.size), np.zeros(S.size, dtype=int)
    for day in range(days):
        for _ in range(int(1 / dt)):
            new, healed = beta * S * I / people * dt, gamma * I * dt
            S -= new
            I += new - healed  # noqa: E741
            R += healed
        out[day] = S, I, R
        better = peak < I
        peak[better] = I[better]
        when[better] = day
    return State(*out[-1]), peak, when, np.mean([peak, S], axis=0)


def make_epidemic() -> list[Any]:
    n = 30_000
    start = State(np.full(n, 990.0), np.full(n, 10.0), np.zeros(n))
    return [start, np.linspace(0.2, 0.6, n), 0.1, 3]


# --- connected regions: the smallest label of the neighbours, until nothing changes


def regions(mask: Any) -> tuple[Any, int]:
    """Labels, and how many rounds it took."""
    height, width = mask.shape
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(height, width), 0)
    most, rounds = np.iinfo(labels.dtype).max, 0
    while True:
        rounds += 1
        p = np.pad(np.where(labels == 0, most, labels), 1, constant_values=most)
        near = [p[1:-1, 1:-1], p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]]
        new = np.where(mask, np.minimum.reduce(near), 0)
        if np.array_equal(new, labels):
            return labels, rounds
        labels = new


def make_regions(seed: int = 0) -> list[Any]:
    mask = np.zeros((300, 300), bool)
    for row, column in np.random.default_rng(seed).integers(0, 295, (60, 2)):
        mask[row : row + 3, column : column + 2] = True
    return [mask]


# --- a layer of a network: windows by strides, batch norm, pooling, and back


def layer(x: Any, weights: Any, gamma: Any, beta: Any) -> tuple[Any, Any, Any]:
    """What comes out, the gradient of its squares by ``gamma``, the means of the channels."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    n, c, h, w = x.shape
    s = padded.strides
    windows = as_strided(padded, (n, h, w, c, 3, 3), (s[0], s[2], s[3], s[1], s[2], s[3]))
    z = windows.reshape(n * h * w, -1) @ weights.reshape(len(weights), -1).T
    z = z.reshape(n, h, w, -1).transpose(0, 3, 1, 2)
    mean, var = z.mean(axis=(0, 2, 3), keepdims=True), z.var(axis=(0, 2, 3), keepdims=True)
    normal = (z - mean) / np.sqrt(var + 1e-5)
    a = np.maximum(gamma[None, :, None, None] * normal + beta[:, None, None], 0)
    pooled = a.reshape(n, -1, h // 2, 2, w // 2, 2).max(axis=(3, 5))
    back = (2 * pooled).repeat(2, 2).repeat(2, 3) * (a == pooled.repeat(2, 2).repeat(2, 3))
    return pooled, (back * (a > 0) * normal).sum((0, 2, 3)), mean.ravel()


def make_layer() -> list[Any]:
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=(8, 3, 48, 48)), rng.normal(size=(6, 3, 3, 3))
    return [x.astype("f4"), weights.astype("f4"), np.ones(6, "f4"), np.zeros(6, "f4")]


# --- words: negative sampling, pairs of indices in `ufunc.at`


def words(inner: Any, outer: Any, at: Any, near: Any, rate: float) -> tuple[float, Any]:
    """The loss of one step, which is made in place, and how alike word 0 and the others are."""
    v, u = inner[at], outer[near]
    score = 1 / (1 + np.exp(-np.clip(np.einsum("bd,bkd->bk", v, u), -30, 30)))
    wanted = np.zeros(near.shape)
    wanted[:, 0] = 1
    off = score - wanted
    loss = -np.log(np.where(wanted > 0, score, 1 - score) + 1e-10).sum() / len(at)
    step = np.einsum("bk,bkd->bd", off, u)
    np.add.at(outer, near, -rate * off[..., None] * v[:, None])
    np.subtract.at(inner, at, rate * step)
    norms = np.linalg.norm(inner, axis=1)
    pairs = np.zeros((2, 2))
    np.add.at(pairs, (near[:9, 0] % 2, at[:9] % 2), 1.0)
    return float(loss), (inner @ inner[0] / (norms * norms[0]), pairs)


def make_words() -> list[Any]:
    rng = np.random.default_rng(2)
    inner, outer = rng.normal(size=(500, 24)), np.full((500, 24), 0.1)
    return [inner, outer, rng.integers(0, 500, 3000), rng.integers(0, 500, (3000, 6)), 0.05]


# --- shortest ways: rows against columns in place, what is near, and the farthest


def ways(lengths: Any, limit: float) -> dict[str, Any]:
    """All shortest ways of a graph, in which 0 is no edge."""
    far = np.where(lengths > 0, lengths, np.inf)
    np.fill_diagonal(far, 0)
    for k in range(len(far)):
        np.minimum(far, far[:, k, None] + far[None, k, :], out=far)
    reached = np.isfinite(far)
    most = np.where(reached, far, -1).max(axis=1)
    whole = bool(most.max().is_integer())
    return {"far": far, "most": most, "near": (far <= limit).sum(1), "whole": whole}


def make_ways() -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.integers(1, 9, (150, 150)) * (rng.random((150, 150)) < 0.05), 12.0]


# --- checksums: a table of plain numbers, looked up by bytes


def checksums(messages: Any, seed: int) -> tuple[Any, Any]:
    """A CRC of each message, and the parity of its bits."""
    table = [(n * 0x1D ^ n >> 3) & 0xFFFFFFFF for n in range(0, 256 * 77777, 77777)]
    known = np.array(table, np.uint32)
    crc = np.full(len(messages), seed, np.uint32)
    for column in messages.T:
        crc = known[(crc ^ column) & 0xFF] ^ (crc >> 8)
    parity = messages ^ (messages >> 4)
    parity ^= parity >> 2
    return crc ^ np.uint32(seed), np.bitwise_xor.reduce((parity ^ parity >> 1) & 1, axis=1)


def make_checksums() -> list[Any]:
    data = np.random.default_rng(4).integers(0, 256, (20_000, 12), dtype=np.uint8)
    return [data, 0xFFFFFFFF]


# --- volatility that is random itself: paths updated in place, a history of some steps


def volatile(start: float, v0: float, theta: float, z1: Any, z2: Any) -> tuple[Any, ...]:
    """A price with its error, the share of paths above, and some of them."""
    steps, count = z1.shape
    dt = 1 / steps
    s, v = np.full(count, float(start)), np.full(count, v0)
    mixed = -0.7 * z1 + np.sqrt(1 - 0.7**2) * z2
    history = np.empty((steps + 1, count))
    history[0] = s
    for i in range(steps):
        positive = np.maximum(v, 0)
        root = np.sqrt(positive * dt)
        s *= np.exp(-0.5 * positive * dt + root * z1[i])
        v += 1.5 * (theta - positive) * dt + 0.3 * root * mixed[i]
        history[i + 1] = s
    gain = np.maximum(history[-1] - start, 0)
    price = np.array([gain.mean(), gain.std(ddof=1) / np.sqrt(count), 1.0])
    return price, (history.max(axis=0) > 1.2 * start).mean(), history[::2, :3]


def make_volatile() -> list[Any]:
    z = np.random.default_rng(5).normal(size=(2, 6, 30_000))
    return [100, 0.04, 0.04, z[0], z[1]]


PIECES = [
    Piece(
        "an epidemic", "epidemic", make_epidemic, REPLAYED,
        (put(2, lambda g: 0.3), put(3, lambda n: 4), put(1, lambda b: b[::-1]),
         lambda a: a.append(0.25)),
    ),
    Piece(
        "connected regions", "regions", make_regions, REPLAYED,
        (put(0, lambda m: m[::-1]), put(0, lambda m: make_regions(5)[0]),
         put(0, lambda m: m[:200, 7:])),
    ),
    Piece(
        "a layer of a network", "layer", make_layer, REPLAYED,
        (put(0, lambda x: x * 2 + 1), put(3, lambda b: b + 0.5), put(0, lambda x: x[:3]),
         put(1, lambda w: w[::-1])),
    ),
    Piece(
        "words and their neighbours", "words", make_words, REPLAYED,
        (put(4, lambda r: 0.02), put(2, lambda i: i[::-1]), lambda a: a[1].fill(0.3)),
    ),
    Piece(
        "all shortest ways", "ways", make_ways, REPLAYED,
        (put(1, lambda n: 4.0), put(0, lambda x: x[::-1] * 1.5), put(0, lambda x: x[:90, :90])),
    ),
    Piece(
        "checksums", "checksums", make_checksums, REPLAYED,
        (put(1, lambda s: 7), put(0, lambda m: m ^ 3), put(0, lambda m: m[:5000, :5])),
    ),
    Piece(
        "random volatility", "volatile", make_volatile, REPLAYED,
        (put(0, lambda s: 80), put(2, lambda t: 0.09), put(3, lambda z: -z),
         put(1, lambda v: 0.01)),
    ),
]  # fmt: skip
