"""Running sums and products are kernels of the C back end, in NumPy's order and with its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.options import Options
from tests.strategies import DTYPES, lay_out, mixed_values, same_bits, strides_of

LENGTHS = (1, 2, 511, 513, 1500)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bits(dtype: Any, name: str) -> None:
    """Along rows and columns of every length and layout, of special values too."""
    rng = np.random.default_rng(5)
    parameters, outputs, arrays = [], [], []
    kind = getattr(np, name)(np.empty(0, dtype)).dtype
    for n in LENGTHS:
        for shape, axis in (((3, n), 1), ((n, 40), 0), ((n,), 0), ((2, n, 9), 1)):
            layout = str(rng.choice(["contiguous", "mixed"]))
            arrays.append(lay_out(mixed_values(rng, dtype, shape), layout))
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
