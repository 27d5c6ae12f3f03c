"""What is measured on a device: one program for each kind of fusion, with the bytes it must move.

Each program is a function of a namespace ``np``, so that fusecuda, CuPy, JAX and PyTorch run the
same text. ``size`` is always the bytes of the first argument.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from fusecuda.tools.programs.rows import named

MIB = 1 << 20
SIZES = (64 * MIB, 256 * MIB, 4 * MIB)  # the order in which they are measured
Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A program, its arguments for a size, the bytes it must move, and the ceiling it is held to.

    It reads its arguments in their order, for a graph numbers its parameters as they are read.

    ``moved`` counts in units of the first argument's bytes. An ``in_place`` program gives nothing
    and leaves its result in its first argument. From ``least`` bytes on it is planned as for more.
    """

    name: str
    make: Callable[[Any], Callable[..., Any]]
    inputs: Callable[[int, Any], Arrays]
    moved: float
    ceiling: str = "copy"
    dtype: str = "float32"
    in_place: bool = False
    least: int = 0

    def bytes_moved(self, size: int) -> float:
        """The least bytes to be read and written."""
        return self.moved * size


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    """Normal random numbers, the same at each call."""
    generator = numpy.random.Generator(numpy.random.SFC64(seed))
    if numpy.dtype(dtype).itemsize < 4:
        return generator.standard_normal(shape, dtype=numpy.float32).astype(dtype)
    return generator.standard_normal(shape, dtype=dtype)


def flat(count: int, size: int, dtype: Any) -> Arrays:
    """``count`` arrays of one dimension."""
    n = size // numpy.dtype(dtype).itemsize
    return tuple(numbers((n,), dtype, seed) for seed in range(count))


def rows(length: int, size: int, dtype: Any) -> Arrays:
    """One array of rows of ``length``."""
    return (numbers((size // numpy.dtype(dtype).itemsize // length, length), dtype),)


def normed(length: int, size: int, dtype: Any) -> Arrays:
    """Rows with a gain and a bias."""
    gain, bias = (numbers((length,), dtype, seed) for seed in (1, 2))
    return (*rows(length, size, dtype), gain, bias)


def planes(size: int, dtype: Any) -> Arrays:
    """One array of three axes, of which the last has 64 elements."""
    n = size // numpy.dtype(dtype).itemsize // (32 * 64)
    return (numbers((n, 32, 64), dtype),)


def square(size: int, dtype: Any) -> Arrays:
    """One square matrix."""
    return squares(size, dtype)[:1]


def squares(size: int, dtype: Any) -> Arrays:
    """Two square matrices."""
    n = math.isqrt(size // numpy.dtype(dtype).itemsize)
    return numbers((n, n), dtype), numbers((n, n), dtype, 1)


# --- programs


def one_input(np: Any) -> Callable[..., Any]:
    """Three operations on one array."""
    return lambda x: (x * 2.0 + 1.0) * x


def two_inputs(np: Any) -> Callable[..., Any]:
    """Three operations on two arrays."""
    return lambda x, y: x * y + x - y


def three_inputs(np: Any) -> Callable[..., Any]:
    """Three operations on three arrays."""
    return lambda x, y, z: (x + y * z) * 0.5


def full_sum(np: Any) -> Callable[..., Any]:
    """The sum of all squares."""
    return lambda x: np.sum(x * x)


def row_sum(np: Any) -> Callable[..., Any]:
    """The sum of squares of each row."""
    return lambda x: np.sum(x * x, axis=1)


def column_sum(np: Any) -> Callable[..., Any]:
    """The sum of squares of each column."""
    return lambda x: np.sum(x * x, axis=0)


def argmax(np: Any) -> Callable[..., Any]:
    """Where each row is largest."""
    return lambda x: np.argmax(x * 2.0, axis=1)


def metrics(np: Any) -> Callable[..., Any]:
    """Three full reductions of one array."""
    return lambda x: (np.sum(x * x), np.sum(np.abs(x)), np.max(x))


def transposed_add(np: Any) -> Callable[..., Any]:
    """One of the two reads crosses the lines of memory."""
    return lambda x, y: x + y.T


def softmax(np: Any) -> Callable[..., Any]:
    """Over rows."""

    def f(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    return f


def layer_norm(np: Any) -> Callable[..., Any]:
    """Over rows."""

    def f(x: Any, gain: Any, bias: Any) -> Any:
        d = x - np.mean(x, axis=1, keepdims=True)
        return d / np.sqrt(np.mean(d * d, axis=1, keepdims=True) + 1e-5) * gain + bias

    return f


def sum_of_two_axes(np: Any) -> Callable[..., Any]:
    """The first and the last of three."""
    return lambda x: np.sum(x * x, axis=(0, 2))


def column_statistics(np: Any) -> Callable[..., Any]:
    """Mean and standard deviation of each column."""

    def f(x: Any) -> Any:
        mean = np.mean(x, axis=0)
        d = x - mean
        return mean, np.sqrt(np.mean(d * d, axis=0))

    return f


def batch_norm(np: Any) -> Callable[..., Any]:
    """Over columns."""

    def f(x: Any) -> Any:
        d = x - np.mean(x, axis=0)
        return d / np.sqrt(np.mean(d * d, axis=0) + 1e-5)

    return f


def log_sums(np: Any) -> Callable[..., Any]:
    """The mean of the logarithms of sums of exponentials, as of a loss over a vocabulary."""

    def f(x: Any) -> Any:
        most = np.max(x, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(x - most), axis=1)) + most[:, 0], axis=0)

    return f


def norms(np: Any) -> Callable[..., Any]:
    """A reduction over what each row is reduced to."""
    return lambda x: np.sum(np.sqrt(np.sum(x * x, axis=1)))


def five_points(np: Any) -> Callable[..., Any]:
    """A step of diffusion."""
    return lambda u: (
        u[1:-1, 1:-1]
        + (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - u[1:-1, 1:-1] * 4.0) * 0.1
    )


def four_chains(np: Any) -> Callable[..., Any]:
    """Four arrays of 32 rows, each scaled down by the norms of its rows and turned, four times.

    Columns need the norms of all rows, so that no two times are one launch.
    """

    def scaled(x: Any) -> Any:
        x = x.reshape(32, -1)
        for _ in range(4):
            x = x.T / np.sqrt(np.sum(x * x, axis=1) + 1.0)
        return x

    return lambda a, b, c, d: (scaled(a), scaled(b), scaled(c), scaled(d))


def update_rows(np: Any) -> Callable[..., Any]:
    """Every second row is written in place; values stay bounded however often it runs."""

    def f(x: Any) -> Any:
        x[::2] = x[::2] * 0.5 + 0.25

    return f


def _elementwise() -> tuple[Case, ...]:
    programs = ((one_input, "1 input"), (two_inputs, "2 inputs"), (three_inputs, "3 inputs"))
    return tuple(
        Case(f"elementwise, {text}", make, functools.partial(flat, count), count + 1.0, dtype=dtype)
        for dtype in ("float32", "float64")
        for count, (make, text) in enumerate(programs, 1)
    )


def _rows_of(length: int) -> Callable[[int, Any], Arrays]:
    return functools.partial(rows, length)


CASES = (
    *_elementwise(),
    Case("full sum", full_sum, functools.partial(flat, 1), 1.0, "read"),
    Case("full sum", full_sum, functools.partial(flat, 1), 1.0, "read", "float64"),
    Case("row sum, rows of 32", row_sum, _rows_of(32), 1 + 1 / 32, "read"),
    Case("row sum, rows of 1024", row_sum, _rows_of(1024), 1 + 1 / 1024, "read"),
    Case("row sum, rows of 65536", row_sum, _rows_of(65536), 1.0, "read"),
    Case("column sum", column_sum, _rows_of(1024), 1.0, "read"),
    Case("softmax, rows of 1024", softmax, _rows_of(1024), 2.0),
    Case("softmax, rows of 8192", softmax, _rows_of(8192), 2.0),
    Case("softmax, rows of 65536", softmax, _rows_of(65536), 2.0, least=4 * MIB),
    Case("log-sum-exp, rows of 131072", log_sums, _rows_of(131072), 1.0, "read", least=8 * MIB),
    Case("batch norm of 8192 columns", batch_norm, _rows_of(8192), 2.0),
    Case("layer norm, rows of 1024", layer_norm, functools.partial(normed, 1024), 2.0),
    Case("argmax, rows of 1024", argmax, _rows_of(1024), 1 + 2 / 1024, "read"),
    Case("transposed add", transposed_add, squares, 3.0),
    Case("softmax, rows of 1001", softmax, _rows_of(1001), 2.0),
    Case("softmax, rows of 1024", softmax, _rows_of(1024), 2.0, dtype="float16"),
    Case("elementwise, 2 inputs", two_inputs, functools.partial(flat, 2), 3.0, dtype="float16"),
    Case("five-point stencil", five_points, square, 2.0),
    Case("sum over two of three axes", sum_of_two_axes, planes, 1.0, "read"),
    Case("mean and deviation of columns", column_statistics, _rows_of(1024), 1.0, "read"),
    Case("norms of rows of 64, summed", norms, _rows_of(64), 1.0, "read"),
    Case("update of every second row", update_rows, _rows_of(1024), 1.0, in_place=True),
    Case("three metrics of one array", metrics, functools.partial(flat, 1), 1.0, "read"),
)

# Several launches: CUDA graphs and streams on and off.
SWITCHED = (Case("four chains of norms", four_chains, functools.partial(flat, 4), 8.0),)

SMALL = 64 << 10  # bytes of the arrays where the host's time counts
HOSTED = tuple(c for c in CASES if c.name in ("elementwise, 2 inputs", "softmax, rows of 1024",
                                              "three metrics of one array"))  # fmt: skip
COMPILED = (
    Case(
        "seawater density, 60 operations",
        named("seawater density").make,
        functools.partial(flat, 3),
        4.0,
    ),
    Case("softmax, rows of 1024", softmax, _rows_of(1024), 2.0),
    Case("three metrics of one array", metrics, functools.partial(flat, 1), 1.0, "read"),
)
