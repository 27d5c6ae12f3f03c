"""Counted random numbers in fused functions: each call draws on, as plain code does."""

from __future__ import annotations

import copy
import dataclasses
import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda import fused
from fusecuda.cpu_fallback.program import set_thread_count, thread_count
from fusecuda.numpy.random import CounterGenerator, counter_rng
from tests.marks import one_in
from tests.random_bits import floats

X = np.linspace(-1, 1, 6000)
SHARED = counter_rng(11)


def dropout(x: Any, rng: Any) -> Any:
    return np.where(rng.random(x.shape) < 0.8, x / 0.8, 0)


def two_draws(x: Any, rng: Any) -> Any:
    return x * rng.random(x.shape) + rng.standard_normal(x.shape)


def forty_draws(x: Any, rng: Any) -> Any:
    for _ in range(40):
        last = rng.random(x.shape)
    return x + last


def until_it_is_large(x: Any, rng: Any) -> Any:
    count = 0
    while x.max() < 3:
        x, count = x + rng.random(x.shape), count + 1
    return x, count


def a_seed_inside(x: Any, rng: Any) -> Any:
    own = counter_rng(5, stream=2)
    return x + own.random(x.shape)


def a_seed_given(x: Any, rng: Any, seed: int = 3) -> Any:
    own = counter_rng(rng.position)
    rng.random(2)
    return x + own.random(x.shape)


def the_position(x: Any, rng: Any) -> Any:
    return rng.random(3), rng.position


def set_back(x: Any, rng: Any) -> Any:
    rng.position = 2**64 - 7
    return x + rng.random(x.shape), rng.standard_normal(5)


def set_to_another_type(x: Any, rng: Any) -> Any:
    rng.position = np.int64(rng.position + 1)
    return x + rng.random(x.shape)


def copies(x: Any, rng: Any) -> Any:
    one, other = copy.copy(rng), copy.deepcopy(rng)
    return one.random(4), other.random(4), rng.random(5)


def numbers(x: Any, rng: Any) -> Any:
    return x * float(rng.random()) + rng.uniform(-1, 1)


def picks(x: Any, rng: Any) -> Any:
    return x[rng.integers(0, len(x), 100)]


def for_nothing(x: Any, rng: Any) -> Any:
    rng.random(10)
    return x + rng.random(x.shape)


def a_choice(x: Any, rng: Any) -> Any:
    return x + 1 if rng.random() < 0.5 else x - 1


def children(x: Any, rng: Any) -> Any:
    a, b = rng.spawn(2)
    return a.random(3) + b.random(3)


def an_error(x: Any, rng: Any) -> Any:
    y = rng.random(5)
    try:
        rng.integers(5, 2)
    except ValueError:
        y = y + 1
    return y


def into_an_array(x: Any, rng: Any) -> Any:
    y = np.zeros(x.shape)
    rng.random(out=y)
    return y + x


def turned(x: Any, rng: Any) -> Any:
    y = x.reshape(60, 100)
    return y.T * rng.random((100, 60)), rng.normal(y, 2.0)


def itself(x: Any, rng: Any) -> Any:
    rng.random(3)
    return rng


def all_integers(x: Any, rng: Any) -> Any:
    wide = rng.integers(-(2**63), 2**63 - 1, 9, endpoint=True)
    return rng.integers(0, x.size + 1, 50), wide, rng.integers(0, 2, 20, dtype=bool)


def by_name(x: Any, rng: Any) -> Any:
    return x + SHARED.random(x.shape)


def a_bound_method(x: Any, rng: Any, draw: Any = SHARED.standard_normal) -> Any:
    return x + draw(x.shape)


def a_function_inside(x: Any, rng: Any) -> Any:
    def noisy(y: Any) -> Any:
        return y + rng.random(y.shape)

    return noisy(noisy(x))


def single_floats(x: Any, rng: Any) -> Any:
    return x.astype(np.float32) * rng.standard_normal(x.shape, np.float32)


def exponentials(x: Any, rng: Any) -> Any:
    return rng.exponential(2.0, x.shape), rng.exponential(abs(x))


class Layer:
    """Draws from what it holds."""

    def __init__(self, rng: Any, keep: float) -> None:
        self.rng, self.keep = rng, keep

    def __call__(self, x: Any) -> Any:
        return np.where(self.rng.random(x.shape) < self.keep, x / self.keep, 0)


@dataclasses.dataclass(frozen=True)
class Noise:
    rng: Any

    def __add__(self, x: Any) -> Any:
        return x + self.rng.standard_normal(x.shape)


def of_layers(x: Any, rng: Any) -> Any:
    for layer in (Layer(rng, 0.9), Layer(rng, 0.5)):
        x = layer(x)
    return x


def of_containers(x: Any, rng: Any) -> Any:
    held = {"noise": Noise(rng), "list": [rng, rng]}
    return (held["noise"] + x) * held["list"][1].random(x.shape)  # type: ignore[index,operator]


def by_a_special_method(x: Any, rng: Any) -> Any:
    return GLOBAL_NOISE + x


GLOBAL_NOISE = Noise(SHARED)
FUNCTIONS = (
    *(dropout, two_draws, forty_draws, until_it_is_large, a_seed_inside, a_seed_given),
    *(
        the_position,
        set_back,
        set_to_another_type,
        copies,
        numbers,
        picks,
        for_nothing,
        a_choice,
        children,
        an_error,
    ),
    *(into_an_array, turned, itself, all_integers, by_name, a_bound_method, a_function_inside),
    *(single_floats, exponentials, of_layers, of_containers, by_a_special_method),
)


def values(result: Any) -> Any:
    """Bytes of arrays and numbers, and the texts of generators."""
    if isinstance(result, tuple):
        return [values(r) for r in result]
    if type(result) is CounterGenerator:
        return repr(result)
    array = np.asarray(result)
    return array.dtype, array.shape, array.tobytes()


def history(function: Callable[..., Any], other: bool) -> list[Any]:
    """What five calls give and leave; with ``other`` each time a generator of its own."""
    SHARED.position = 0
    rng, found = counter_rng(3), []
    for i in range(5):
        if other:
            rng, before = counter_rng(3 + i % 2), rng
            rng.position = before.position
        found.append((values(function(X, rng)), repr(rng), repr(SHARED)))
    return found


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@one_in(24)
def test_as_plain_code(function: Any, strict: bool, other: bool) -> None:
    """The same bits and positions call after call, recorded, replayed, or passed through."""
    assert history(fused(function, strict=strict), other) == history(function, other)


@pytest.mark.parametrize(
    "function",
    [dropout, two_draws, forty_draws, numbers, picks, turned, by_name, of_containers, copies],
    ids=lambda f: f.__name__,
)
@one_in(18)
def test_replays_draw_on(function: Any, emitted: str) -> None:
    """One recording and no plan more; a replay's numbers are new."""
    compiled = fused(function, strict=True)
    seen = history(compiled, other=True)
    assert compiled.traces == 1
    assert "replayed" in compiled.explain()
    assert len({str(result) for result, *_ in seen}) == 5


class Network:
    """Layers that share a generator, and methods that draw."""

    def __init__(self) -> None:
        self.rng = counter_rng(2)
        self.layers = [Layer(self.rng, 0.9), Layer(self.rng, 0.7)]

    @fused(strict=True)
    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x + self.rng.standard_normal(x.shape)

    @fused(strict=True)
    def by_name(self, x: Any) -> Any:
        return x + SHARED.random(x.shape)


def test_methods_draw_from_attributes_and_globals() -> None:
    SHARED.position = 0
    network, same = Network(), Network()
    for i in range(4):
        got = network.forward(X)
        x = X
        for layer in same.layers:
            x = layer(x)
        expected = x + same.rng.standard_normal(x.shape)
        assert values(got) == values(expected)
        assert network.rng.position == same.rng.position == 3 * X.size * (i + 1)
        network.by_name(X)
        assert SHARED.position == X.size * (i + 1)
    assert Network.forward.traces == Network.by_name.traces == 1


def test_a_seed_that_is_an_argument_is_followed() -> None:
    @fused(strict=True)
    def draw(seed: int, stream: int) -> Any:
        return counter_rng(seed, stream).random(50)

    for seed, stream in ((1, 0), (2**63 + 1, 9), (0, 2**64 - 1)):
        np.testing.assert_array_equal(draw(seed, stream), floats(0, 50, seed, stream))
    assert draw.traces == 1
    with pytest.raises(ValueError, match="seed must be"):
        fused(draw.function)(-1, 0)


def test_parameters_of_distributions_are_followed() -> None:
    """One recording for all of them; errors are raised all the same."""

    def draw(rng: Any, low: int, high: int, scale: float) -> Any:
        drawn = rng.normal(low, scale, 20) + rng.exponential(scale, 20) * rng.uniform(low, high)
        return drawn, rng.integers(low, high, 30)

    compiled, rng, other = fused(draw, strict=True), counter_rng(1), counter_rng(1)
    lenient = fused(draw)
    for low, high, scale in ((0, 5, 1.0), (-7, 100, 0.5), (1, 2, 3.25), (-(2**62), 2**62, 0.0)):
        got, want = (draw_(r, low, high, scale) for draw_, r in ((compiled, rng), (draw, other)))
        assert values(got) == values(want)
    assert compiled.traces == 1
    lenient(rng, 0, 5, 1.0)
    for wrong in ((0, 5, -1.0), (5, 5, 1.0)):
        with pytest.raises(ValueError, match=r"scale < 0|low >= high"):
            lenient(rng, *wrong)


def test_blocks_draw_too() -> None:
    rng = counter_rng(3)
    with fused() as region:
        y = fnp.asarray(X) * rng.random(X.shape)
        z = y.sum() + rng.random()
    assert region.launches <= 2
    assert values(y) == values(X * floats(0, X.size, 3))
    assert rng.position == X.size + 1
    assert np.isfinite(float(z))


def test_any_number_of_threads_gives_the_same_bits() -> None:
    big = np.ones(300_000)
    before = thread_count()

    def once(threads: int) -> Any:
        set_thread_count(threads)
        return values(fused(two_draws, strict=True)(big, counter_rng(4)))

    try:
        assert once(1) == once(2) == once(7)
    finally:
        set_thread_count(before)


def test_threads_with_generators_of_their_own() -> None:
    """They share a recording, and nothing else."""
    compiled, found = fused(two_draws, strict=True), {}

    def work(number: int) -> None:
        rng = counter_rng(1, stream=number)
        found[number] = [values(compiled(X, rng)) for _ in range(6)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for number, got in found.items():
        rng = counter_rng(1, stream=number)
        assert got == [values(two_draws(X, rng)) for _ in range(6)]


# --- nobody stores what is drawn


def price(rng: Any, count: int = 40_000) -> Any:
    """A call by Monte Carlo, and the error of its price."""
    end = 100 * np.exp(0.02 + 0.2 * rng.standard_normal(count))
    pay = np.maximum(end - 105, 0)
    return pay.mean(), pay.std()


def sweeps(x: Any, rng: Any, log_density: Any = lambda v: -v * v / 2) -> Any:
    """Two sweeps of Metropolis over independent walkers."""
    accepted = 0
    for _ in range(2):
        proposal = x + rng.uniform(-1, 1, x.shape)
        taken = np.log(rng.random(x.shape)) < log_density(proposal) - log_density(x)
        x = np.where(taken, proposal, x)
        accepted = accepted + taken
    return x, accepted


def trained(x: Any, gradient: Any, rng: Any) -> Any:
    """Dropout forward and backward, by one mask."""
    mask = rng.random(x.shape) < 0.75
    return np.where(mask, x / 0.75, 0), np.where(mask, gradient / 0.75, 0)


@pytest.mark.parametrize(
    ("function", "inputs", "written"),
    [(price, (), 16), (sweeps, (X,), 2 * X.nbytes), (trained, (X, X), 2 * X.nbytes)],
    ids=["price", "sweeps", "trained"],
)
def test_one_launch_that_writes_results_alone(function: Any, inputs: Any, written: int) -> None:
    executable = fc.lower(function, *inputs, counter_rng(1))
    assert executable.launches == 1
    assert sum(k.bytes_written for k in executable.kernels) == written
    assert sum(k.bytes_read for k in executable.kernels) <= sum(x.nbytes for x in inputs)
    compiled, rng = fused(functools.partial(function), strict=True), counter_rng(1)
    compiled(*inputs, rng)
    with fc.count_launches() as launches:
        got = compiled(*inputs, rng)
    assert launches.total == 1
    other = counter_rng(1)
    function(*inputs, other)
    for g, w in zip(got, function(*inputs, other), strict=True):
        np.testing.assert_allclose(g, np.asarray(w), rtol=1e-12)


def test_a_price_is_right() -> None:
    """Within four of its errors of Black and Scholes': 100 e^0.04 N(d + 0.2) - 105 N(d)."""
    mean, deviation = price(counter_rng(12))
    assert abs(float(mean) - 7.875800) < 4 * float(deviation) / 200


def test_walkers_have_the_density() -> None:
    """Metropolis's walkers end as standard normals: mean and variance within four errors."""
    x: Any = np.zeros(20_000)
    compiled, rng = fused(sweeps, strict=True), counter_rng(2)
    for _ in range(75):
        x, _ = compiled(x, rng)
    assert abs(x.mean()) < 4 / np.sqrt(x.size)
    assert abs(x.var() - 1) < 4 * np.sqrt(2 / x.size)
