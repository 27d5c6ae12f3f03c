"""Running sums and products are kernels of the C back end, in NumPy's order and with its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.dtypes import kind_of
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.options import Options
from tests.marks import chosen, one_in
from tests.strategies import DTYPES, lay_out, mixed_values, same_bits, strides_of

LENGTHS = (1, 2, 511, 513, 1500)
USUAL = [np.dtype(name) for name in ("uint8", "int64", "float16", "float32")]


def result_of(name: str, dtype: Any) -> Any:
    """The type of a running sum, product or extreme, None where there is no such kernel."""
    if name in ("cumsum", "cumprod"):
        return getattr(np, name)(np.empty(0, dtype)).dtype
    return dtype if kind_of(dtype) in "iuf" else None


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@one_in(10)
def test_bits(dtype: Any, name: str) -> None:
    """Along rows and columns of every length and layout, of special values too."""
    check_bits(dtype, name)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", chosen(DTYPES, USUAL), ids=str)
@one_in(8)
def test_bits_of_extremes(dtype: Any, name: str) -> None:
    check_bits(dtype, name)


def check_bits(dtype: Any, name: str) -> None:
    """Compare with the interpreter."""
    rng = np.random.default_rng(5)
    parameters, outputs, arrays = [], [], []
    kind = result_of(name, dtype)
    if kind is None:
        return
    for n in LENGTHS:
        for shape, axis in (((3, n), 1), ((n, 40), 0), ((n,), 0), ((2, n, 9), 1)):
            layout = str(rng.choice(["contiguous", "mixed"]))
            values = mixed_values(rng, dtype, shape)
            if name in ("cummax", "cummin"):  # of which zero it is, either will do
                values = values + dtype.type(0)
            arrays.append(lay_out(values, layout))
            x = build.parameter(len(parameters), shape, dtype)
            parameters.append(x)
            outputs.append(build.library(name, [x], shape, kind, None, (("axis", axis),)))
    graph = Graph(tuple(parameters), tuple(outputs))
    executable = compile_graph(graph, strides_of(arrays), Options())
    with np.errstate(all="ignore"):
        results = executable.run(arrays)
    for x, got, want in zip(arrays, results, interpret(graph, arrays), strict=True):
        assert got is not None and same_bits(got, want), x.shape
    product_of_complex = name == "cumprod" and dtype.kind == "c"
    kinds = {k.kind for k in executable.kernels}
    assert kinds == ({"library"} if product_of_complex else {"reduction"})


def chain(x: Any) -> Any:
    return np.sqrt(np.abs(np.cumsum(np.exp(x) - 1, axis=1))) + x


def two(x: Any) -> Any:
    y = np.cumsum(x, axis=1)
    z = np.cumsum(np.abs(y) * 0.25, axis=1)
    return z - y, y.max(axis=1), (y - y.min(axis=1, keepdims=True)) / 4


def columns(x: Any) -> Any:
    return np.cumsum(np.where(x > 0, x, 0), axis=0) * 2 + np.cumsum(x[::-1], axis=0)


def joined(x: Any) -> Any:
    return np.cumsum(np.concatenate([x[:, :3], x, x[:, 5:]], axis=1), axis=1)


@pytest.mark.parametrize("function", [chain, two, columns, joined], ids=lambda f: f.__name__)
def test_with_what_is_around(function: Callable[..., Any]) -> None:
    """What a scan is made of and what is made of it are one kernel with it."""
    x = np.random.default_rng(1).normal(size=(30, 1100))
    exe = fc.lower(function, x)
    assert exe.launches == 1
    got, want = exe(x), function(x)
    for g, w in zip(got if type(got) is tuple else (got,), want if type(want) is tuple else (want,),
                    strict=True):  # fmt: skip
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


def test_differences_of_a_scan_are_read_from_memory() -> None:
    """A running mean reads other elements than the one at hand: two kernels."""

    def running(x: Any) -> Any:
        total = np.cumsum(x, axis=1)
        return (total[:, 4:] - total[:, :-4]) / 4

    x = np.random.default_rng(2).normal(size=(20, 700))
    exe = fc.lower(running, x)
    assert exe.launches == 2
    np.testing.assert_allclose(exe(x), running(x), rtol=1e-12)


def test_in_place_and_along_everything() -> None:
    """A scan may overwrite what it reads; without an axis it goes through all elements."""

    def program(x: Any) -> Any:
        x[:, 1:] = np.cumsum(x[:, 1:], axis=1)
        return np.cumsum(x)

    fused = fc.fused(program)
    mine = np.random.default_rng(3).normal(size=(6, 600))
    theirs = mine.copy()
    for _ in range(3):
        np.testing.assert_array_equal(fused(mine), program(theirs))
        np.testing.assert_array_equal(mine, theirs)


def test_nothing_is_scanned_of_nothing() -> None:
    """Empty arrays stay empty."""
    for shape in ((0,), (0, 3), (3, 0)):
        got = fc.fused(lambda x: np.cumsum(x, axis=0))(np.empty(shape))
        assert got.shape == shape


def test_the_first_element_stays_as_it_is() -> None:
    """A running sum of negative zeros stays negative: nothing is added to the first one."""
    got = fc.fused(lambda x: np.cumsum(x, axis=1))(np.full((20, 3), -0.0))
    assert np.signbit(got).all()


def drawdown(x: Any) -> Any:
    """How far a price is below its highest so far, at most, and where it rises above that."""
    price = np.exp(np.cumsum(x * 0.01, axis=1))
    top = np.maximum.accumulate(price, axis=1)
    return (1 - price / top).max(axis=1), np.minimum.accumulate(price, 1) * 2


def first_axis(x: Any) -> Any:
    return np.minimum.accumulate(x) + np.add.accumulate(x), np.multiply.accumulate(x, axis=-1)


@pytest.mark.parametrize(("function", "launches"), [(drawdown, 1), (first_axis, 2)])
def test_running_extremes(function: Callable[..., Any], launches: int) -> None:
    """With what is before and behind in their kernel; NaN stays."""
    x = np.random.default_rng(3).normal(size=(40, 300))
    x[3, 7] = np.nan
    assert len(fc.lower(function, x).kernels) == launches
    with np.errstate(all="ignore"):
        for got, want in zip(fc.fused(function)(x), function(x), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("place", [0, 511, 700])
def test_nan_stays_behind_its_chunk(place: int, dtype: str) -> None:
    """In the chunk where it is met, and in those that have none themselves."""
    x = np.random.default_rng(4).normal(size=(3, 1600)).astype(dtype)
    x[1, place] = np.nan
    got = fc.lower(lambda x: (np.maximum.accumulate(x, 1), np.minimum.accumulate(x, 1)), x)(x)
    for extreme, found in zip((np.maximum, np.minimum), got, strict=True):
        want = x.copy()  # one after the other: NumPy's own reductions are fast ones
        for k in range(1, x.shape[1]):
            want[:, k] = extreme(want[:, k - 1], x[:, k])
        np.testing.assert_array_equal(found, want)


def test_what_runs_on_as_numpy_does_it() -> None:
    """Axes that are not there, other types and targets."""

    def given(x: Any, axis: Any, dtype: Any) -> Any:
        return np.maximum.accumulate(x, axis, dtype)

    x, out = np.arange(6.0).reshape(2, 3), np.empty((2, 3))
    for axis in (2, -3):
        with pytest.raises(np.exceptions.AxisError):
            fc.fused(given)(x, axis, None)
    with pytest.raises(TypeError, match="cannot accumulate on a scalar"):
        fc.fused(given)(np.float64(3), 0, None)
    assert fc.fused(given)(x, 1, np.float32).dtype == np.float32
    fc.fused(lambda a, b: np.minimum.accumulate(a, 1, out=b))(x, out)
    assert np.array_equal(out, np.minimum.accumulate(x, 1))
    flags = np.array([False, True, False])
    assert fc.fused(np.maximum.accumulate)(flags).tolist() == [False, True, True]
