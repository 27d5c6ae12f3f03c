"""Generators that count: what they draw, exactly, wherever and however it is computed."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.record.numbers import argument_of
from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph, topological
from fusecuda.numpy.random import CounterGenerator, counter_rng
from tests.marks import one_in
from tests.random_bits import floats, halves, integers

SIZES: tuple[Any, ...] = (0, 1, 7, 64, 1001, 70_000, (3, 5), (2, 3, 4), (400, 3), (1, 9, 1), (4, 0))


def drawn(array: Any) -> np.ndarray:
    assert type(array) is fc.Array
    return np.asarray(array)


# --- values


@pytest.mark.parametrize("size", [1, 7, 64, 1001])
@one_in(16)
def test_each_element_is_the_function_of_its_place(size: int, emitted: str) -> None:
    rng = counter_rng(2**63 + 5, stream=2**40)
    rng.position = 2**32 - 3  # a carry into the next word
    np.testing.assert_array_equal(
        drawn(rng.random(size)), floats(2**32 - 3, size, 2**63 + 5, 2**40)
    )
    assert rng.position == 2**32 - 3 + size


def test_positions_end_where_numbers_of_64_bits_do(emitted: str) -> None:
    rng = counter_rng(1)
    rng.position = 2**64 - 2
    np.testing.assert_array_equal(drawn(rng.random(5)), floats(2**64 - 2, 5, 1))
    np.testing.assert_array_equal(drawn(rng.random(5)), floats(3, 5, 1))


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(0, 10, np.int64), (-3, 4, np.int8), (0, 2**64, np.uint64), (-(2**63), 2**63, np.int64),
     (2**63, 2**64 - 1, np.uint64), (250, 256, np.uint8), (5, 6, np.int32), (0, 2, np.bool_)],
    ids=str,
)  # fmt: skip
@one_in(8)
def test_integers_are_the_whole_parts_of_exact_products(
    low: int, high: int, dtype: type, emitted: str
) -> None:
    rng = counter_rng(9)
    rng.position = 4
    got = drawn(rng.integers(low, high, 300, dtype))
    assert got.dtype == dtype
    assert [int(v) for v in got] == integers(4, 300, low, high, 9)
    rng.position = 4
    np.testing.assert_array_equal(
        drawn(rng.integers(low, high - 1, 300, dtype, endpoint=True)), got
    )


def test_single_floats_have_24_bits(emitted: str) -> None:
    got = drawn(counter_rng(3).random(50, np.float32))
    expected = [np.float32((halves(i, 3)[0] >> 40) * 2.0**-24) for i in range(50)]
    np.testing.assert_array_equal(got, np.array(expected, np.float32))


def test_normals_and_exponentials_are_the_stated_functions() -> None:
    """Of Box and Muller, and the inverse of the distribution."""
    normals = drawn(counter_rng(7).standard_normal(60))
    exponentials = drawn(counter_rng(7).standard_exponential(60))
    with mpmath.workdps(40):
        for i in range(60):
            lower, upper = halves(i, 7)
            log = -mpmath.log(mpmath.mpf(float(lower | 1)) / 2**64)
            radius = mpmath.sqrt(2 * log)
            exact = radius * mpmath.cos(mpmath.ldexp(upper >> 11, -53) * 2 * mpmath.pi)
            assert abs(normals[i] - exact) < 2e-15 * radius
            assert abs(exponentials[i] - log) <= 1e-15 * log


# --- the same numbers however they are asked for

METHODS: dict[str, Callable[..., Any]] = {
    "random": lambda rng, size: rng.random(size),
    "random32": lambda rng, size: rng.random(size, dtype=np.float32),
    "uniform": lambda rng, size: rng.uniform(-2.0, 5.0, size),
    "standard_normal": lambda rng, size: rng.standard_normal(size),
    "standard_normal32": lambda rng, size: rng.standard_normal(size, np.float32),
    "normal": lambda rng, size: rng.normal(3.0, 0.5, size),
    "standard_exponential": lambda rng, size: rng.standard_exponential(size),
    "exponential": lambda rng, size: rng.exponential(2.0, size),
    "integers": lambda rng, size: rng.integers(-5, 1000, size),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@each_method
@pytest.mark.parametrize("size", SIZES, ids=str)
@one_in(16)
def test_shapes_are_cut_out_of_one_stream(method: Any, size: Any) -> None:
    """A draw of any shape, in one or in parts, and seen through any view."""
    count = math.prod(size) if isinstance(size, tuple) else size
    whole = drawn(method(counter_rng(3), count))
    rng = counter_rng(3)
    shaped = drawn(method(rng, size))
    assert rng.position == count
    assert shaped.tobytes() == whole.tobytes()
    rng = counter_rng(3)
    first = count // 3
    parts = [drawn(method(rng, n)) for n in (first, 0, count - first)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    again = method(counter_rng(3), count)
    assert np.ascontiguousarray(drawn(again[::-1])[::-1]).tobytes() == whole.tobytes()


@each_method
@one_in(10)
def test_the_interpreter_and_one_operation_at_a_time(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = drawn(method(counter_rng(5), 3000))
    node = method(counter_rng(5), 3000).read_node()
    leaves: Any = [n for n in topological([node]) if n.op == "parameter"]
    places = {leaf: i for i, leaf in enumerate(leaves)}
    assert len(places) == len(leaves)
    values: dict[int, Any] = {leaf.parameter.number: argument_of(leaf) for leaf in leaves}
    (computed,) = interpret(Graph(tuple(leaves), (node,)), values, KERNELS)  # type: ignore[arg-type]
    assert computed.tobytes() == fused.tobytes()
    monkeypatch.setenv("FUSECUDA_FUSE", "0")
    assert drawn(method(counter_rng(5), 3000)).tobytes() == fused.tobytes()


@each_method
def test_a_later_draw_or_another_seed_plans_and_compiles_nothing(method: Any) -> None:
    drawn(method(counter_rng(1), 500))
    known, compiled = len(plans_there()), fc.compile_count()
    for seed, stream in ((1, 0), (7, 7), (2**64 - 1, 2)):
        rng = counter_rng(seed, stream)
        rng.position = stream  # numbers that happen to be alike are numbers for all that
        for _ in range(3):
            drawn(method(rng, 500))
    assert len(plans_there()) == known
    assert fc.compile_count() == compiled


def plans_there() -> list[Any]:
    """All executables that are known."""
    from fusecuda.capture.record.plans import _plans

    return [variant for variants in _plans.values() for variant in variants]


def test_numbers_without_a_size() -> None:
    rng = counter_rng(11)
    one = [rng.random(), rng.integers(6), rng.normal(), rng.uniform(2, 3), rng.exponential()]
    assert all(a.is_scalar and a.shape == () for a in one)
    assert rng.position == 5
    assert float(one[0]) == floats(0, 1, 11)[0]
    assert int(one[1]) == integers(1, 1, 0, 6, 11)[0]


def test_parameters_may_be_arrays() -> None:
    rng, low = counter_rng(4), np.linspace(0, 1, 6)
    high = fnp.asarray(low[:, None] + 2)
    np.testing.assert_array_equal(
        drawn(rng.uniform(low, high)),
        low + (np.asarray(high) - low) * floats(0, 36, 4).reshape(6, 6),
    )
    assert rng.position == 36
    assert rng.normal([0.0, 1.0], 2.0, (3, 2)).shape == (3, 2)
    assert rng.exponential(np.ones(4)).shape == (4,)
    assert rng.position == 46
    with pytest.raises(ValueError, match="not compatible"):
        rng.normal(np.ones(3), 1.0, 2)


def test_out() -> None:
    rng = counter_rng(4)
    given, lazy = np.zeros((2, 3)), fnp.zeros((2, 3))
    assert rng.random(out=given) is given
    assert rng.standard_normal((2, 3), out=lazy) is lazy
    np.testing.assert_array_equal(given.ravel(), floats(0, 6, 4))
    other = counter_rng(4)
    other.position = 6
    np.testing.assert_array_equal(np.asarray(lazy), drawn(other.standard_normal((2, 3))))
    with pytest.raises(ValueError, match=r"out\.shape"):
        rng.random(5, out=given)
    with pytest.raises(TypeError, match="wrong type"):
        rng.random(dtype=np.float32, out=given)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: r.random(3, np.float16), TypeError, "Unsupported dtype"),
        (lambda r: r.random(-1), ValueError, "negative dimensions"),
        (lambda r: r.integers(3, 3), ValueError, "low >= high"),
        (lambda r: r.integers(4, 3, endpoint=True), ValueError, "low > high"),
        (lambda r: r.integers(-1, 3, dtype=np.uint8), ValueError, "low is out of bounds"),
        (lambda r: r.integers(0, 258, dtype=np.uint8), ValueError, "high is out of bounds"),
        (lambda r: r.integers(0, 3, dtype=float), TypeError, "Unsupported dtype"),
        (lambda r: r.integers(0.5, 3), TypeError, "integer"),
        (lambda r: r.normal(0, -1.0), ValueError, "scale < 0"),
        (lambda r: r.exponential(-1.0), ValueError, "scale < 0"),
        (lambda r: r.spawn(-1), ValueError, "non-negative"),
        (lambda r: counter_rng(-1), ValueError, "seed must be"),
        (lambda r: counter_rng(2**64), ValueError, "seed must be"),
        (lambda r: counter_rng(0, -1), ValueError, "must a stream"),
        (lambda r: counter_rng("1"), TypeError, "integer"),
    ],
)
def test_errors_draw_nothing(call: Any, error: Any, text: str) -> None:
    rng = counter_rng(0)
    with pytest.raises(error, match=text):
        call(rng)
    assert rng.position == 0


# --- generators


def test_copies_and_pickles_go_on_alike() -> None:
    rng = counter_rng(5, stream=3)
    rng.random(10)
    others = copy.copy(rng), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))
    expected = drawn(rng.random(4))
    for other in others:
        assert type(other) is CounterGenerator
        assert repr(other) == "CounterGenerator(seed=5, stream=3, position=10)"
        np.testing.assert_array_equal(drawn(other.random(4)), expected)
    assert counter_rng(rng) is rng


def test_children_have_seeds_that_are_drawn() -> None:
    rng = counter_rng(5)
    rng.random(2)
    children = rng.spawn(3)
    assert [child.seed for child in children] == [halves(2 + i, 5)[0] for i in range(3)]
    assert rng.position == 5
    np.testing.assert_array_equal(drawn(children[0].random(3)), floats(0, 3, children[0].seed))


def test_streams_of_one_seed_are_apart() -> None:
    drawn_at_all = [drawn(counter_rng(1, stream=s).integers(0, 2**62, 1000)) for s in range(8)]
    assert len(np.unique(np.concatenate(drawn_at_all))) == 8000


def test_threads_share_a_generator_without_drawing_twice() -> None:
    rng, found = counter_rng(8), []

    def work() -> None:
        for _ in range(40):
            found.append(drawn(rng.random(25)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert rng.position == 4000
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.sort(floats(0, 4000, 8)))


def test_numpys_generators_stay_numpys() -> None:
    """Ours hides no name, and what NumPy's draw is NumPy's."""
    assert fnp.random.Philox is np.random.Philox
    got = fnp.random.Generator(fnp.random.Philox(3)).random(4)
    np.testing.assert_array_equal(got, np.random.Generator(np.random.Philox(3)).random(4))


# --- statistics, of fixed seeds


def distance(values: np.ndarray, distribution: Callable[[float], float]) -> float:
    """Kolmogorov and Smirnov's, times the root of the number of values."""
    exact = np.array([distribution(float(v)) for v in np.sort(values)])
    n = len(exact)
    above = np.arange(1, n + 1) / n - exact
    return float(max(above.max(), (exact - np.arange(n) / n).max()) * math.sqrt(n))


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
@pytest.mark.parametrize(
    ("method", "mean", "variance", "distribution"),
    [
        ("random", 0.5, 1 / 12, lambda v: v),
        ("random32", 0.5, 1 / 12, lambda v: v),
        ("standard_normal", 0.0, 1.0, lambda v: math.erfc(-v / math.sqrt(2)) / 2),
        ("standard_normal32", 0.0, 1.0, lambda v: math.erfc(-v / math.sqrt(2)) / 2),
        ("standard_exponential", 1.0, 1.0, lambda v: -math.expm1(-v)),
    ],
)
def test_distributions(
    method: str, mean: float, variance: float, distribution: Any, seed: int
) -> None:
    """The mean within four of its errors, and no distance that one seed in a thousand exceeds."""
    n = 20_000
    values = drawn(METHODS[method](counter_rng(seed), n)).astype(np.float64)
    assert abs(values.mean() - mean) < 4 * math.sqrt(variance / n)
    assert abs(values.var() / variance - 1) < 8 / math.sqrt(n)
    assert distance(values, distribution) < 1.95
    neighbours = np.corrcoef(values[:-1], values[1:])[0, 1]
    assert abs(neighbours) < 4 / math.sqrt(n)


def test_all_integers_are_as_likely() -> None:
    n, kinds = 100_000, 37
    counts = np.bincount(drawn(counter_rng(6).integers(0, kinds, n)), minlength=kinds)
    chi_squared = ((counts - n / kinds) ** 2 / (n / kinds)).sum()
    assert chi_squared < 68  # of 36 degrees of freedom, one in a thousand
