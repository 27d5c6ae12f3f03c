"""Sciences: geodesy, kinetics, wavelets, mixtures, linear algebra by hand, hashing, programming."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, put


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


# --- geodesy: to Cartesian places on the ellipsoid and back, by iteration

A, F = 6378137.0, 1 / 298.257223563
E2 = F * (2 - F)


def around_the_earth(lat: Any, lon: Any, height: Any) -> Any:
    phi, lam = np.radians(lat), np.radians(lon)
    n = A / np.sqrt(1 - E2 * np.sin(phi) ** 2)
    x, y = (n + height) * np.cos(phi) * np.cos(lam), (n + height) * np.cos(phi) * np.sin(lam)
    z = (n * (1 - E2) + height) * np.sin(phi)
    p = np.hypot(x, y)
    back = np.arctan2(z, p * (1 - E2))
    steps = 0
    while steps < 20:
        n = A / np.sqrt(1 - E2 * np.sin(back) ** 2)
        found = p / np.cos(back) - n
        new = np.arctan2(z, p * (1 - E2 * n / (n + found)))
        if np.all(np.abs(new - back) < 1e-9):
            break
        back = new
        steps += 1
    return np.column_stack([x, y, z]), np.degrees(back), np.round(found, 3), steps


# --- stiff kinetics: implicit steps of a size that follows Newton's method

RATES = np.array([0.04, 3e7, 1e4])


def rate(y: Any) -> Any:
    a, b, c = RATES[0] * y[0], RATES[1] * y[1] ** 2, RATES[2] * y[1] * y[2]
    return np.array([c - a, a - c - b, b])


def slope(y: Any) -> Any:
    j = np.empty((3, 3))
    j[0] = -RATES[0], RATES[2] * y[2], RATES[2] * y[1]
    j[2] = 0, 2 * RATES[1] * y[1], 0
    j[1] = -j[0] - j[2]
    return j


def step(y: Any, h: float, limit: int = 12) -> tuple[Any, int]:
    z = y.copy()
    for turn in range(1, limit):
        change = np.linalg.solve(np.eye(3) - h * slope(z), z - y - h * rate(z))
        z -= change
        if np.max(np.abs(change) / (1e-8 + np.abs(z))) < 1e-7:
            return z, turn
    raise ArithmeticError(f"Newton failed at h = {h!r}")


def kinetics(y: Any, end: float) -> Any:
    t, h, log = 0.0, end / 8, []
    while t < end:
        h = min(h, end - t)
        try:
            y, turns = step(y, h)
        except ArithmeticError:
            h /= 4
            continue
        t += h
        log.append(turns)
    return y, log, f"{y.sum():.6f}"


# --- wavelets in place, and what came in from them


def wavelet(a: Any, levels: int, threshold: float) -> Any:
    a, n = a.copy(), len(a)
    for _ in range(levels):
        even, odd = a[:n:2].copy(), a[1:n:2].copy()
        a[: n // 2] = (even + odd) / 2
        a[n // 2 : n] = (even - odd) / 2
        n //= 2
    kept = np.abs(a) >= threshold
    a[~kept] = 0
    for _ in range(levels):
        low, high = a[:n].copy(), a[n : 2 * n].copy()
        a[: 2 * n : 2] = low + high
        a[1 : 2 * n : 2] = low - high
        n *= 2
    return a, kept.sum()


# --- a matrix that is changed by masks, lines, diagonals and flat places, in any order of axes


def patched(m: Any, mask: Any, low: float) -> Any:
    m[mask] = 0
    m[m < low] *= -1
    m[~mask & (m > 1)] += 10
    m.T[0] = 7
    np.einsum("ii->i", m[:4, :4])[...] = 1.5
    m[[1, 3]] = m[[3, 1]]
    m[:, [0, 2]] = m[:, [2, 0]]
    m[::2] += m[1::2]
    turned = np.concatenate([m, np.cumsum(m, 0)]).T
    return np.diagonal(m), m.min(), turned, np.sort(m, 0), turned.ravel("A")


def make_patched() -> list[Any]:
    m = np.asfortranarray(drawn(8, 10))
    return [m, m > 0.8, -0.2]


# --- a mixture of two, fitted until it does not get better


def mixture(x: Any, mean: Any, spread: Any, share: Any, limit: int = 40) -> Any:
    seen: list[float] = []
    for _ in range(limit):
        d = -0.5 * ((x[:, None] - mean) / spread) ** 2 - np.log(spread) + np.log(share)
        top = d.max(1, keepdims=True)
        total = top + np.log(np.exp(d - top).sum(1, keepdims=True))
        r = np.exp(d - total)
        weight = r.sum(0)
        mean = r.T @ x / weight
        spread = np.sqrt((r * (x[:, None] - mean) ** 2).sum(0) / weight) + 1e-9
        share = weight / len(x)
        seen.append(float(total.sum()))
        if len(seen) > 1 and abs(seen[-1] - seen[-2]) < 0.05:
            break
    order = mean.argsort()
    return mean[order], spread[order], share[order], len(seen)


def make_mixture() -> list[Any]:
    x = np.concatenate([drawn(300) * 0.5 - 2, drawn(200, seed=1) + 1])
    return [x, np.array([-1.0, 2.0]), np.ones(2), np.full(2, 0.5)]


# --- weighted by distance, with points that are met


def by_distance(points: Any, values: Any, where: Any, k: int = 4, power: int = 2) -> Any:
    d = np.sqrt(((where[:, None] - points) ** 2).sum(-1))
    near = np.argpartition(d, k, axis=1)[:, :k]
    near.sort(axis=1)
    own = np.take_along_axis(d, near, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        w = 1 / own**power
        found = (w * values[near]).sum(1) / w.sum(1)
    met = (own == 0).any(1)
    found[met] = values[near[met, own[met].argmin(1)]]
    return found, met


def make_by_distance() -> list[Any]:
    points, where = drawn(40, 2), drawn(15, 2, seed=1)
    where[3] = points[7]
    return [points, points.sum(1), where]


# --- factors with pivots, and a determinant


def factors(m: Any) -> Any:
    a, n, sign = m.astype(float), len(m), 1
    order = np.arange(n)
    for k in range(n - 1):
        p = k + np.abs(a[k:, k]).argmax()
        if a[p, k] == 0:
            raise ZeroDivisionError(f"column {k} is empty")
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[[k, p]] = order[[p, k]]
            sign = -sign
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.tril(a, -1) + np.eye(n), np.triu(a), order, sign * a.diagonal().prod()


# --- hashes and bits, in the widths that wrap around


def hashes(words: Any, state: Any) -> Any:
    h = np.full(len(words), 14695981039346656037, dtype=np.uint64)
    for column in words.T:
        h ^= column
        h *= np.uint64(1099511628211)
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    x = (h >> np.uint64(48)).astype(np.uint16)
    x = x - ((x >> 1) & 0x5555)
    x = (x & 0x3333) + ((x >> 2) & 0x3333)
    bits = (((x + (x >> 4)) & 0x0F0F) * 0x0101).astype(np.uint16) >> 8
    small = words.astype(np.int8)
    return h, (state >> np.uint64(11)) * 2.0**-53, bits, small * small[:, :1], -small, ~small // 3


def make_hashes() -> list[Any]:
    words = np.random.default_rng(2).integers(0, 256, (200, 9)).astype(np.uint64)
    return [words, np.arange(1, 101, dtype=np.uint64) * np.uint64(88172645463325252)]


# --- linear programming by tableaux


def simplex(c: Any, a: Any, b: Any) -> Any:
    m, n = a.shape
    t = np.zeros((m + 1, n + m + 1))
    t[:m, :n], t[:m, n : n + m], t[:m, -1], t[-1, :n] = a, np.eye(m), b, -c
    basis = list(range(n, n + m))
    while (t[-1, :-1] < -1e-9).any():
        j = int(t[-1, :-1].argmin())
        column = t[:m, j]
        if (column <= 0).all():
            raise ValueError("unbounded")
        ratio = np.full(m, np.inf)
        positive = column > 1e-12
        ratio[positive] = t[:m, -1][positive] / column[positive]
        i = int(ratio.argmin())
        t[i] /= t[i, j]
        for r in range(m + 1):
            if r != i:
                t[r] -= t[r, j] * t[i]
        basis[i] = j
    x = np.zeros(n + m)
    x[basis] = t[:m, -1]
    return x[:n], t[-1, -1], basis


def make_simplex() -> list[Any]:
    return [np.array([3.0, 5]), np.array([[1.0, 0], [0, 2], [3, 2]]), np.array([4.0, 12, 18])]


# --- errors of its own, and of NumPy's, handled inside


def guarded(x: Any, n: int) -> Any:
    log = []
    y = None
    try:
        x[n] = 5
        x += 1
        y = x.reshape(2, -1) @ np.ones(x.size // 2)
    except IndexError as error:
        log.append(str(error))
    except ValueError as error:
        log.append(str(error))
        y = x[:1]
    else:
        log.append(f"{x.mean():.3f}")
    finally:
        x *= 0.5
    return y, log


PIECES = [
    Piece("around the earth", "around_the_earth",
          lambda: [drawn(500) * 25, drawn(500, seed=1) * 60, 0.0], REPLAYED,
          (put(2, lambda h: 2500.5), put(0, lambda p: p / 2), put(2, lambda h: drawn(500) * 50))),
    Piece("stiff kinetics", "kinetics", lambda: [np.array([1.0, 0, 0]), 1e-3], REPLAYED,
          (put(1, lambda t: 2e-3), put(0, lambda y: y * 2)), steady=False),
    Piece("wavelets", "wavelet", lambda: [drawn(256), 3, 0.3], REPLAYED,
          (put(2, lambda t: 0.6), put(0, lambda a: a[::-1]), put(1, lambda n: 2))),
    Piece("a patched matrix", "patched", make_patched, REPLAYED,
          (put(2, lambda low: 0.1), put(1, lambda m: ~m), put(0, np.ascontiguousarray))),
    Piece("a mixture of two", "mixture", make_mixture, REPLAYED,
          (put(0, lambda x: x + 1), put(1, lambda m: m[::-1]))),
    Piece("weighted by distance", "by_distance", make_by_distance, REPLAYED,
          (put(1, lambda v: v * 2), put(2, lambda w: w[::-1]))),
    Piece("factors with pivots", "factors", lambda: [drawn(7, 7)], REPLAYED,
          (put(0, lambda m: m.T), put(0, lambda m: m * [[0]] * 7))),
    Piece("hashes and bits", "hashes", make_hashes, REPLAYED,
          (put(0, lambda w: w[::-1]), put(0, lambda w: w[:50] + np.uint64(1)))),
    Piece("a linear program", "simplex", make_simplex, REPLAYED,
          (put(0, lambda c: c[::-1]), put(2, lambda b: b * 2), put(1, lambda a: -a))),
    Piece("errors handled inside", "guarded", lambda: [np.arange(6.0), 1], REPLAYED,
          (put(1, lambda n: 9), put(0, lambda x: x[:5] + 0), put(1, lambda n: 0)), steady=False),
]  # fmt: skip
