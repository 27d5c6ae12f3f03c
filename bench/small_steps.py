"""Small work, steps of little fields, series, calls: NumPy code as one writes it.

Fusing has little to win here, and an engine that records has much to lose.
"""

from __future__ import annotations

import numpy as np

from bench.small_inputs import Program, cavity, field, points, vectors

# --- simulations of little fields


def flow(u, v, p):
    dx, dt = 0.05, 0.001
    for _ in range(15):
        b = (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx * dt)
        for _ in range(6):
            near = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
            p[1:-1, 1:-1] = 0.25 * (near - dx * dx * b)
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        for w, slope in (
            (u, p[1:-1, 2:] - p[1:-1, :-2]),
            (v, p[2:, 1:-1] - p[:-2, 1:-1]),
        ):
            c = w[1:-1, 1:-1]
            spread = w[1:-1, 2:] + w[1:-1, :-2] + w[2:, 1:-1] + w[:-2, 1:-1] - 4 * c
            w[1:-1, 1:-1] = c + dt * (0.1 * spread / dx**2 - slope / (2 * dx))
            w[0, :] = 0
            w[:, 0] = 0
            w[:, -1] = 0
            w[-1, :] = 0
        u[-1, :] = 1
    return u, v, p


def spread(a):
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]


def gray_scott(u, v, steps):
    for _ in range(steps):
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        abb = a * b * b
        da = 0.16 * spread(u) - abb + 0.035 * (1 - a)
        db = 0.08 * spread(v) + abb - 0.1 * b
        a += da
        b += db
    return u, v


def life(cells, generations):
    for _ in range(generations):
        near = sum(
            np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        )
        cells = ((near == 3) | ((cells == 1) & (near == 2))).astype(int)
    return cells


def halo(w):
    for _ in range(100):
        w[0] = w[-2]
        w[-1] = w[1]
    return w[:3]


def counters(w):
    for i in range(300):
        w[i] += 1
    return w[:3]


def jacobi(u):
    for _ in range(300):
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u[1:-1, 1:-1]).max()
        u[1:-1, 1:-1] = new
        if change < 1e-4:
            break
    return u


def bodies(x, v, m):
    for _ in range(60):
        apart = x[None] - x[:, None]
        cube = ((apart**2).sum(-1) + 0.01) ** 1.5
        v += 0.01 * (m[None, :, None] * apart / cube[..., None]).sum(1)
        x += 0.01 * v
    return x


def lorenz(s):
    def rate(s):
        x, y, z = s
        return np.asarray([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    for _ in range(100):
        k1 = rate(s)
        k2 = rate(s + 0.005 * k1)
        k3 = rate(s + 0.005 * k2)
        k4 = rate(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s


# --- learning and series


def training(x, y):
    w, losses = np.zeros(x.shape[1]), []
    for _ in range(200):
        p = 1 / (1 + np.exp(-(x @ w)))
        losses.append(float(((p - y) ** 2).mean()))
        w -= 0.1 * (x.T @ (p - y)) / len(y)
    return w, np.asarray(losses)


def perceptron(x, y):
    w = np.zeros(x.shape[1])
    for row, target in zip(x, y, strict=True):
        if (row * w).sum() * target <= 0:
            w += target * row
    return w


def smoothing(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.1 * x[i] + 0.9 * y[i - 1]
    return y


def running_moments(rows):
    mean, square = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for i, row in enumerate(rows):
        delta = row - mean
        mean += delta / (i + 1)
        square += delta * (row - mean)
    return mean, square


def k_means(points, centres):
    for _ in range(10):
        owner = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
        for k in range(len(centres)):
            mine = points[owner == k]
            if len(mine):
                centres[k] = mine.mean(0)
    return centres


# --- a function called again and again on a thousand elements


def twenty(x, y):
    a = x * 2 + y
    b = a * a - x
    c = np.where(b > 0, b, -b) + 1
    d = np.sqrt(c) * a / (1 + c)
    e = (d + a) * (d - a) + x * y
    return np.maximum(e, 0) - 0.5 * np.minimum(e, 1) + d


def call_twenty(x, y):
    total = 0.0
    for i in range(300):
        x = twenty(x, y) * 0.001
        total += float(x[i])
    return x, np.asarray([total])


def single(x):
    return x + 1.5


def call_single(x):
    for _ in range(1000):
        x = single(x)
    return x


def look(x):
    total = 0.0
    for i in range(300):
        y = x * i
        total += float(y[i])
    return np.asarray([total])


def call_sum(x):
    total = 0.0
    for i in range(300):
        total += float(mean_of(x[i : i + 500]))
    return np.asarray([total])


def mean_of(x):
    return (x * x).mean()


PROGRAMS = [
    Program("flow in a cavity", "flow", cavity),
    Program("Gray-Scott, 1000 steps", "gray_scott", lambda: (field(64), field(64, 1) / 4, 1000)),
    Program("Gray-Scott, 100 steps", "gray_scott", lambda: (field(64), field(64, 1) / 4, 100)),
    Program("life", "life", lambda: ((field(50) > 0.6).astype(int), 50)),
    Program("edges of a large field", "halo", lambda: (np.zeros((2000, 2000)),)),
    Program("rows of a large field", "counters", lambda: (np.zeros((2000, 2000)),)),
    Program("Jacobi until it settles", "jacobi", lambda: (field(30),)),
    Program("few bodies", "bodies", lambda: (*points((20, 3), (20, 3)), *vectors(20))),
    Program("Lorenz by RK4", "lorenz", lambda: (np.ones(3),)),
    Program("training of five weights", "training",
            lambda: (*points((100, 5)), (vectors(100)[0] > 0).astype(float))),
    Program("perceptron, row by row", "perceptron",
            lambda: (*points((300, 8)), np.sign(vectors(300)[0]))),
    Program("smoothing, sample by sample", "smoothing", lambda: vectors(1000)),
    Program("running moments", "running_moments", lambda: points((500, 10))),
    Program("k-means of 200 points", "k_means", lambda: points((200, 2), (3, 2))),
    Program("20 operations on 1,000", "call_twenty", lambda: vectors(1000, 1000), "twenty"),
    Program("one operation on 1,000", "call_single", lambda: vectors(1000), "single"),
    Program("one operation, looked at", "look", lambda: vectors(1000)),
    Program("a mean of 500", "call_sum", lambda: vectors(1000), "mean_of"),
]  # fmt: skip
