"""Programs of statistics: clusters, likelihoods, series, ranks."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .program import Program, rows_of_1000, square, uniform, vectors, whole


def kmeans_step(xp: Any, x: Any, centres: Any) -> Any:
    """The nearest centre of each point, and the centres moved."""
    apart = x[:, None, :] - centres[None, :, :]
    label = xp.argmin(xp.sum(apart * apart, axis=2), axis=1)
    moved = [xp.mean(x[label == k], axis=0) for k in range(centres.shape[0])]
    return label, xp.stack(moved)


def gaussian_mixture_step(xp: Any, x: Any, weight: Any, mean: Any, variance: Any) -> Any:
    """Expectation and maximisation, diagonal variances: the new parameters and the likelihood."""
    apart = x[:, None, :] - mean[None, :, :]
    log = xp.log(weight) - 0.5 * xp.sum(apart * apart / variance + xp.log(variance), axis=2)
    top = xp.max(log, axis=1, keepdims=True)
    e = xp.exp(log - top)
    total = xp.sum(e, axis=1, keepdims=True)
    share = e / total
    count = xp.sum(share, axis=0)
    new = share.T @ x / count[:, None]
    spread = share.T @ (x * x) / count[:, None] - new * new
    return count / x.shape[0], new, spread, xp.mean(top + xp.log(total))


def running_statistics(xp: Any, x: Any) -> Any:
    """Mean and variance of 32 neighbours, by running sums."""
    zero = xp.zeros(1)
    sums = xp.concatenate((zero, xp.cumsum(x)))
    squares = xp.concatenate((zero, xp.cumsum(x * x)))
    mean = (sums[32:] - sums[:-32]) / 32.0
    return mean, (squares[32:] - squares[:-32]) / 32.0 - mean * mean


def exponential_average(xp: Any, x: Any) -> Any:
    """Of many series at once, over their 24 moments."""
    out = xp.empty_like(x)
    level = x[0]
    for t in range(x.shape[0]):
        level = 0.2 * x[t] + 0.8 * level
        out[t] = level
    return out


def masked_statistics(xp: Any, x: Any, y: Any) -> Any:
    """Mean, deviation and largest of the values where another array is positive."""
    chosen = x[y > 0.0]
    return xp.mean(chosen), xp.std(chosen), xp.max(chosen)


def pairwise_distances(xp: Any, x: Any, y: Any) -> Any:
    """Of all pairs of points in space."""
    d = x[:, None, :] - y[None, :, :]
    return xp.sqrt(xp.sum(d * d, axis=2))


def cumulative_integral(xp: Any, x: Any, y: Any) -> Any:
    """Of y over x by trapezia, from the first point to each."""
    parts = 0.5 * (y[:, 1:] + y[:, :-1]) * (x[1:] - x[:-1])
    out = xp.zeros(y.shape)
    out[:, 1:] = xp.cumsum(parts, axis=1)
    return out


def pagerank_step(xp: Any, rank: Any, degree: Any, source: Any, target: Any) -> Any:
    """The next ranks, and how far they are from the last."""
    n = rank.shape[0]
    share = xp.where(degree > 0, rank / xp.maximum(degree, 1), 0.0)
    loose = xp.sum(xp.where(degree > 0, 0.0, rank))
    taken = xp.bincount(target, weights=share[source], minlength=n)
    new = 0.85 * (taken + loose / n) + 0.15 / n
    return new, xp.sum(xp.abs(new - rank))


def cholesky_likelihood(xp: Any, x: Any, y: Any) -> Any:
    """The log likelihood of a Gaussian process."""
    d = x[:, None] - x[None, :]
    k = xp.exp(-0.5 * d * d) + 0.1 * xp.eye(x.shape[0])
    lower = xp.linalg.cholesky(k)
    half = xp.linalg.solve(lower, y)
    return -0.5 * xp.sum(half * half) - xp.sum(xp.log(xp.diagonal(lower)))


def sum_of_products(xp: Any, x: Any, y: Any, z: Any) -> Any:
    """A full reduction of x + y z."""
    return xp.sum(x + y * z)


def metrics(xp: Any, a: Any, b: Any) -> Any:
    """Three full reductions over one difference."""
    d = a - b
    return xp.sum(d * d), xp.sum(xp.abs(d)), xp.max(xp.abs(d))


def column_sum(xp: Any, x: Any) -> Any:
    """A reduction over the first axis."""
    return xp.sum(x, axis=0)


def column_standard(xp: Any, x: Any) -> Any:
    """Each column with mean 0 and deviation 1."""
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)


def column_summary(xp: Any, x: Any) -> Any:
    """Mean, deviation and range of a few long columns."""
    return xp.mean(x, axis=0), xp.std(x, axis=0), xp.min(x, axis=0), xp.max(x, axis=0)


def running_sums(xp: Any, x: Any) -> Any:
    """Of exponentials, along rows."""
    return xp.cumsum(xp.exp(x), axis=1)


def drawdown(xp: Any, price: Any) -> Any:
    """How far prices are below their highest so far, and the deepest fall."""
    fall = price / xp.maximum.accumulate(price) - 1.0
    return fall, xp.min(fall)


def group_residuals(xp: Any, x: Any, group: Any, count: int) -> Any:
    """What is left of values without the mean of their group."""
    total = xp.bincount(group, weights=x, minlength=count)
    size = xp.bincount(group, minlength=count)
    return x - (total / xp.maximum(size, 1))[group]


def integer_hash(xp: Any, x: Any) -> Any:
    """Numbers of 32 bits, mixed."""
    x = (x ^ (x >> 16)) * xp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * xp.uint32(0x846CA68B)
    return x ^ (x >> 16)


def transposed_sum(xp: Any, a: Any, b: Any) -> Any:
    """A matrix on its side, and another one."""
    return a.T + 2.0 * b


def autocorrelation(xp: Any, x: Any) -> Any:
    """Of a series with itself, eight steps on."""
    d = x - xp.mean(x)
    n = x.shape[0]
    return xp.stack([xp.sum(d[: n - k] * d[k:]) for k in range(8)]) / xp.sum(d * d)


def winners(xp: Any, x: Any) -> Any:
    """The place of the largest of each row, and how far it is above the mean."""
    return xp.argmax(x, axis=1), xp.max(x, axis=1) - xp.mean(x, axis=1)


def twenty(xp: Any, x: Any) -> Any:
    """Twenty operations, some of them functions."""
    a = xp.sin(x) * 2.0 + xp.cos(x) * 0.5
    b = xp.exp(-a * a) + xp.sqrt(xp.abs(x))
    c = (a - b) / (1.0 + b * b)
    return xp.tanh(c) * xp.log1p(b) - c * x + a * 0.25


def _points(n: int) -> tuple[Any, ...]:
    x = uniform(-1, 1, max(8, n // 3), 3)
    return x, x[:4] * 0.9


def _mixture(n: int) -> tuple[Any, ...]:
    x, mean = _points(n)
    return x, uniform(0.1, 0.4, 4), mean, uniform(0.2, 0.9, 4, 3)


def _two_clouds(n: int) -> tuple[Any, ...]:
    count = max(2, round(math.sqrt(n)))
    return uniform(-1, 1, count, 3), uniform(-2, 2, count, 3)


def _curves(n: int) -> tuple[Any, ...]:
    y = uniform(0, 1, *square(n))
    return numpy.sort(uniform(0, 9, y.shape[1])), y


def _links(n: int) -> tuple[Any, ...]:
    pages = max(4, n // 8)
    source, target = whole(0, pages, 2, n)
    rank = uniform(0, 1, pages)
    return rank / rank.sum(), numpy.bincount(source, minlength=pages), source, target


def _groups(n: int) -> tuple[Any, ...]:
    count = max(1, n // 50)
    return uniform(-5, 5, n), whole(0, count, n), count


def _sides(n: int) -> tuple[Any, ...]:
    rows, columns = square(n, 1.3)
    return uniform(0, 1, rows, columns), uniform(0, 1, columns, rows)


def _process(n: int) -> tuple[Any, ...]:
    count = min(2000, max(4, round(math.sqrt(n))))
    return numpy.linspace(0, count / 4, count), uniform(-1, 1, count)


PROGRAMS = (
    Program("sum of x + y z", sum_of_products, lambda n: vectors(n, 3), rtol=1e-14),
    Program("three metrics", metrics, lambda n: vectors(n, 2), rtol=1e-14),
    Program("column sum", column_sum, lambda n: (uniform(0, 1, *square(n)),), rtol=1e-13),
    Program("column standard", column_standard, lambda n: (uniform(0, 1, *square(n)),),
            rtol=1e-13, why="one launch, with a second pass when deviations are known"),
    Program("summary of four columns", column_summary,
            lambda n: (uniform(-1, 1, max(2, n // 4), 4),), rtol=1e-13,
            why="one launch, with a second pass when the means are known"),
    Program("running sums of exp", running_sums, rows_of_1000, rtol=1e-14),
    Program("drawdown", drawdown, lambda n: (uniform(50, 150, n),)),
    Program("residuals of groups", group_residuals, _groups, minimum=2, rtol=1e-13,
            why="the means are known when all has been read, which is then read again",
            passes=lambda x, group, count: x.nbytes + group.nbytes,
            above="whether groups fit is asked before; counts are known before means are"),
    Program("integer hash", integer_hash, lambda n: (whole(0, 1 << 32, n).astype("u4"),)),
    Program("transposed sum", transposed_sum, _sides),
    Program("autocorrelation", autocorrelation, lambda n: (uniform(-1, 1, n),), rtol=1e-12,
            why="one launch, with a second pass when the mean is known",
            above="each sum is of another length: the mean, all sums, and what ends them"),
    Program("winners of rows", winners, rows_of_1000, rtol=1e-14),
    Program("twenty operations", twenty, lambda n: (uniform(-3, 3, n),), rtol=1e-14),
    Program("k-means step", kmeans_step, _points, rtol=1e-13, unseen=4,
            why="one pass over the points, which are added to the sums of their centres",
            above="sums over the points are made when the nearest are known, in their own pass"),
    Program("Gaussian mixture step", gaussian_mixture_step, _mixture, rtol=1e-12,
            why="one pass over the points, which are added to all sums",
            above="products with four columns are library calls, and what they read is stored"),
    Program("running mean and variance", running_statistics, lambda n: (uniform(0, 1, n),),
            why="one pass: the last 32 sums stay in cache",
            above="a running sum ends its launch where it is read at other places"),
    Program("exponential moving average", exponential_average,
            lambda n: (uniform(0, 1, 24, max(1, n // 24)),)),
    Program("masked statistics", masked_statistics, lambda n: tuple(uniform(-1, 1, 2, n)),
            rtol=1e-13, unseen=1, why="one launch, with a second pass when the mean is known",
            above="whether anything was chosen is asked before the largest is told"),
    Program("pairwise distances", pairwise_distances, _two_clouds, rtol=1e-15),
    Program("cumulative integral", cumulative_integral, _curves,
            above="zeros are filled in before most of them are overwritten"),
    Program("PageRank step", pagerank_step, _links, minimum=2, rtol=1e-13,
            why="ranks follow from all that is sent, and links come in no order",
            passes=lambda rank, degree, source, target: 2 * rank.nbytes,
            above="what each link sends is gathered by all threads and added by one"),
    Program("Cholesky likelihood", cholesky_likelihood, _process, minimum=4, rtol=1e-11,
            why="a kernel, the decomposition and the solution (library), a kernel",
            passes=lambda x, y: 5 * 8 * len(x) ** 2,
            above="NumPy's two functions copy; two sums of unlike arrays do not share a launch"),
)  # fmt: skip
