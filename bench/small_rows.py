"""Small work, rows, tables, bytes and windows: NumPy code as one writes it.

Fusing has little to win here, and an engine that records has much to lose.
"""

from __future__ import annotations

import numpy as np

from bench.small_inputs import (
    Program,
    field,
    integers,
    matrix,
    paths,
    plane,
    points,
    sparse,
    vectors,
)

# --- linear algebra by rows


def triangular(lower, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def cholesky(a):
    n = a.shape[0]
    lower = np.zeros_like(a)
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - (lower[j, :j] ** 2).sum())
        lower[j + 1 :, j] = (a[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def lu(a):
    a = a.copy()
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k : k + 1, k + 1 :]
    return a


def gram_schmidt(a):
    q = a.copy()
    for i in range(q.shape[1]):
        for j in range(i):
            q[:, i] -= (q[:, j] @ q[:, i]) * q[:, j]
        q[:, i] /= np.sqrt((q[:, i] ** 2).sum())
    return q


def tridiagonal(low, middle, high, b):
    c, d = high.copy(), b.copy()
    n = d.shape[0]
    c[0] /= middle[0]
    d[0] /= middle[0]
    for i in range(1, n):
        scale = middle[i] - low[i] * c[i - 1]
        c[i] /= scale
        d[i] = (d[i] - low[i] * d[i - 1]) / scale
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def power_iteration(a):
    v = np.ones(a.shape[0])
    value = 0.0
    for _ in range(200):
        w = a @ v
        size = np.sqrt((w * w).sum())
        v = w / size
        if abs(float(size) - value) < 1e-10:
            break
        value = float(size)
    return v


def products(b, c):
    for _ in range(30):
        b = (b @ c) * 0.01
    return b


# --- tables, graphs, bytes


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = d[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, change)
    return d


def knapsack(weights, values, room):
    best = np.zeros(room + 1)
    for weight, value in zip(weights, values, strict=True):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + value)
    return best


def shortest_paths(d):
    for k in range(d.shape[0]):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def checksum(data):
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return np.asarray([int(b) * 65536 + int(a)])


def sparse_rows(starts, columns, values, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        some = slice(int(starts[i]), int(starts[i + 1]))
        y[i] = (values[some] * x[columns[some]]).sum()
    return y


def tally(items):
    counts = np.zeros(16, dtype=int)
    for item in items:
        counts[item] += 1
    return counts


def sieve(n):
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return prime


def odd_even_sort(x):
    x = x.copy()
    for turn in range(len(x)):
        a, b = x[turn % 2 : -1 : 2], x[turn % 2 + 1 :: 2]
        low, high = np.minimum(a, b), np.maximum(a, b)
        a[...] = low
        b[...] = high
    return x


# --- images and networks by loops over windows


def windows(image, weights):
    out = np.zeros((image.shape[0] - 2, image.shape[1] - 2))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (image[i : i + 3, j : j + 3] * weights).sum()
    return out


def layer(x, weights):
    out = np.zeros((weights.shape[0], x.shape[1] - 2, x.shape[2] - 2))
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            part = x[None, :, i : i + 3, j : j + 3] * weights
            out[:, i, j] = np.maximum(part.sum(axis=(1, 2, 3)), 0)
    return out


def network(x, first, second):
    x = layer(x, first)
    x = np.maximum(np.maximum(x[:, ::2, ::2], x[:, 1::2, ::2]), x[:, ::2, 1::2])
    return layer(x, second).mean(axis=(1, 2))


def mandelbrot(c):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(40):
        inside = np.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count


PROGRAMS = [
    Program("triangular solve by rows", "triangular",
            lambda: (np.tril(matrix(400)), *vectors(400))),
    Program("Cholesky by columns", "cholesky", lambda: (matrix(120) @ matrix(120).T,)),
    Program("LU by rows", "lu", lambda: (matrix(120),)),
    Program("Gram-Schmidt", "gram_schmidt", lambda: (matrix(40),)),
    Program("tridiagonal solve", "tridiagonal",
            lambda: (*vectors(300), 9 + vectors(300)[0], *vectors(300, 300))),
    Program("power iteration", "power_iteration", lambda: (matrix(50) @ matrix(50).T,)),
    Program("products of matrices", "products", lambda: (matrix(200), matrix(200, 1))),
    Program("edit distance", "edit_distance", lambda: (integers(50, 4), integers(51, 4))),
    Program("knapsack", "knapsack", lambda: (
        (1 + integers(200, 50)).tolist(), (1 + integers(200, 90)).tolist(), 1000)),
    Program("all-pairs shortest paths", "shortest_paths", paths),
    Program("checksum over bytes", "checksum", lambda: (integers(2000, 256, np.int64),)),
    Program("sparse rows", "sparse_rows", sparse),
    Program("tally of items", "tally", lambda: (integers(1000, 16),)),
    Program("sieve", "sieve", lambda: (100_000,)),
    Program("odd-even sort", "odd_even_sort", lambda: vectors(300)),
    Program("convolution by windows", "windows", lambda: (field(34), field(3))),
    Program("small network by windows", "network",
            lambda: points((3, 28, 28), (8, 3, 3, 3), (8, 8, 3, 3))),
    Program("Mandelbrot by masks", "mandelbrot", plane),
]  # fmt: skip
