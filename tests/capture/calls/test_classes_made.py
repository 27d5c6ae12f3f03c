"""Classes of which a fused function makes instances: methods are recorded as functions are."""

from __future__ import annotations

import abc
import collections
import contextlib
import enum
import functools
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.calls import exchange
from tests.capture_check import equal

TABLE = np.array([1.0, 2.0, 4.0, 8.0])


class Tensor:
    """A value with its gradient, as in frameworks of one page."""

    def __init__(self, data: Any, parents: tuple[Any, ...] = ()) -> None:
        self.data = np.asarray(data, dtype=float)
        self.grad = np.zeros_like(self.data)
        self.parents = parents
        self.back: Callable[[], None] = lambda: None

    def __add__(self, other: Any) -> Tensor:
        other = other if isinstance(other, Tensor) else Tensor(other)
        out = Tensor(self.data + other.data, (self, other))

        def back() -> None:
            self.grad += out.grad
            other.grad += out.grad

        out.back = back
        return out

    def __mul__(self, other: Any) -> Tensor:
        other = other if isinstance(other, Tensor) else Tensor(other)
        out = Tensor(self.data * other.data, (self, other))

        def back() -> None:
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.back = back
        return out

    def tanh(self) -> Tensor:
        out = Tensor(np.tanh(self.data), (self,))

        def back() -> None:
            self.grad += (1 - out.data**2) * out.grad

        out.back = back
        return out

    def backward(self) -> None:
        order: list[Tensor] = []
        seen = set()

        def visit(node: Tensor) -> None:
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.grad = np.ones_like(self.data)
        for node in reversed(order):
            node.back()


def autograd(x: Any, y: Any) -> Any:
    a, b = Tensor(x), Tensor(y)
    out = (a * b + a).tanh() * (y + 2.0)
    out.backward()
    return out.data, a.grad, b.grad


@dataclass(slots=True)
class State:
    position: Any
    velocity: Any = None
    trail: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.position = np.array(self.position, dtype=float)
        if self.velocity is None:
            self.velocity = np.zeros_like(self.position)
        self.trail.append(self.position.copy())

    def step(self, dt: float) -> State:
        v = np.array(self.velocity - self.position * dt)
        return State(self.position + v * dt, v, self.trail)


def dataclasses_with_slots(x: Any, y: Any) -> Any:
    state = State(x, y)
    for _ in range(3):
        state = state.step(0.1)
    return state.position, len(state.trail), state.trail[1]


class Frame(NamedTuple):
    image: Any
    scale: float = 2.0

    def scaled(self) -> Frame:
        return self._replace(image=np.array(self.image) * self.scale)

    @property
    def spread(self) -> Any:
        return np.asarray(self.image).max() - np.asarray(self.image).min()

    @classmethod
    def joined(cls, *parts: Any) -> Frame:
        return cls(np.array([np.asarray(p) for p in parts]))


def named_tuples(x: Any, y: Any) -> Any:
    frame = Frame.joined(x, y).scaled()
    return frame.image, frame.spread, frame.scale


class Layer(abc.ABC):
    count: ClassVar[int] = 2

    def __init__(self, weight: Any) -> None:
        self.weight = np.array(weight)

    def __call__(self, x: Any) -> Any:
        return self.forward(np.atleast_1d(np.asarray(x)))

    @abc.abstractmethod
    def forward(self, x: Any) -> Any: ...

    @staticmethod
    def clipped(x: Any) -> Any:
        return np.clip(np.asarray(x), -self_limit(), self_limit())


def self_limit() -> float:
    return 3.0


class Scale(Layer):
    def __init__(self, weight: Any, bias: Any) -> None:
        super().__init__(weight)
        self.bias = np.asarray(bias)

    def forward(self, x: Any) -> Any:
        return self.clipped(x * self.weight + self.bias) * self.count + TABLE

    @functools.cached_property
    def norm(self) -> Any:
        return np.sqrt(np.sum(np.asarray(self.weight) ** 2))


def inheritance(x: Any, y: Any) -> Any:
    layer = Scale(x, y)
    return layer(x) / (1 + layer.norm), layer.norm


class Meter:
    def __init__(self) -> None:
        self.total: Any = 0.0
        self.parts: list[Any] = []

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.total = np.asarray(self.parts).sum()

    @contextlib.contextmanager
    def part(self, value: Any) -> Iterator[Any]:
        held = np.array(value) * 2
        yield held
        self.parts.append(held.sum())

    def each(self, values: Any) -> Iterator[Any]:
        for value in values:
            yield np.asarray(value) + 1


def managers(x: Any, y: Any) -> Any:
    with Meter() as meter:
        for value in meter.each((x, y)):
            with meter.part(value) as held:
                np.add(held, y, out=held)
    return meter.total, meter.parts


class Kind(enum.Enum):
    WIDE = 2.0
    FLAT = 0.5

    def of(self, values: Any) -> Any:
        return np.asarray(values) * self.value


def enums(x: Any, y: Any) -> Any:
    return [kind.of(x) + np.array([kind.value, y[0]])[1] for kind in Kind]


class Registry:
    makers: ClassVar[dict[str, Any]] = {"scale": Scale}

    def __getitem__(self, name: str) -> Any:
        return self.makers[name]

    def __len__(self) -> int:
        return len(self.makers)


def registries(x: Any, y: Any) -> Any:
    made = Registry()["scale"](x, y)
    hook = made.forward
    return hook(np.asarray(y)), type(made) is Scale, isinstance(made, Layer), len(Registry())


EVERY = (
    autograd, dataclasses_with_slots, named_tuples, inheritance, managers, enums, registries,
)  # fmt: skip


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_classes_made_inside_are_recorded(function: Callable[..., Any]) -> None:
    fused = fc.fused(function, strict=True)
    for offset in (0, 0, 1, 4):
        x, y = np.arange(4.0) + offset, np.arange(4.0)[::-1] * 3 + offset
        equal(fused(x, y), function(x, y))
        assert fused.explain().startswith(f"{function.__name__}: replayed")
    assert not exchange._installed


def test_an_instance_that_is_returned_is_the_users() -> None:
    """Its methods are those of its class, which holds what it held before."""
    before = {name: vars(Scale)[name] for name in ("__init__", "forward", "norm")}

    def make(x: Any) -> Any:
        made = Scale(x, x + 1)
        made.hooks = [made.forward]
        return made

    fused = fc.fused(make, strict=True)
    for _ in range(2):
        made = fused(np.arange(4.0))
        assert type(made) is Scale
        assert made.hooks[0] == made.forward
        assert made.hooks[0].__func__ is vars(Scale)["forward"]
        equal(made(TABLE), make(np.arange(4.0))(TABLE))
    assert {name: vars(Scale)[name] for name in before} == before


class Box:
    def __init__(self, values: Any, meet: Any = None) -> None:
        if meet is not None:
            meet()
        self.values = np.array(np.asarray(values))

    def doubled(self) -> Any:
        return np.zeros(3) + self.values * 2


def test_other_threads_find_the_methods_as_they_are() -> None:
    """While one thread records, another's instances are plain, and its traces are kept."""
    inside, done = threading.Event(), threading.Event()
    seen: list[Any] = []

    @fc.fused(strict=True)
    def known(x: Any) -> Any:
        return Box(x).doubled()

    x = np.arange(3.0)
    known(x)
    traces = known.traces

    def other() -> None:
        inside.wait(20)
        box = Box(x)
        seen.extend([type(box.values), type(box.doubled()), known(x), known.traces])
        done.set()

    def meet() -> None:
        inside.set()
        assert done.wait(20)

    thread = threading.Thread(target=other)
    thread.start()
    fused = fc.fused(lambda x, meet: Box(x, meet).doubled())
    equal(fused(x, meet), x * 2)
    thread.join()
    assert seen[:2] == [np.ndarray, np.ndarray]
    equal(seen[2], x * 2)
    assert seen[3] == traces
    assert not exchange._installed


def test_a_method_replaced_meanwhile_stays_replaced() -> None:
    class Changing:
        def __init__(self, values: Any) -> None:
            self.values = np.array(values)

        def get(self) -> Any:
            return np.asarray(self.values)

    def other(self: Any) -> Any:
        return np.asarray(self.values) + 1

    with exchange.Exchange([(Changing, "get", vars(Changing)["get"])], {}):
        assert exchange.held(Changing, "get") is not vars(Changing)["get"]
        Changing.get = other  # type: ignore[method-assign]
    assert vars(Changing)["get"] is other
    equal(fc.fused(lambda x: Changing(x).get(), strict=True)(np.arange(3.0)), np.arange(3.0) + 1)


FACTOR, SHIFTS = 2.0, np.array([0.5, 1.5, 2.5, 3.5])
halved = np.vectorize(lambda value: value / FACTOR if value > 1 else 0.0)
pairs = np.vectorize(lambda row: (row.sum(), row * FACTOR), signature="(n)->(),(n)")
shifted = np.vectorize(lambda value: value + SHIFTS[int(value) % 4])


def test_what_numpy_has_vectorized_is_called_by_each_replay(monkeypatch: Any) -> None:
    def f(x: Any) -> Any:
        total, rows = pairs(x * 2)
        return halved(x) + 1, total + rows

    fused = fc.fused(f, strict=True)
    for factor in (2.0, 2.0, 3.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for x in (TABLE, TABLE + 1, TABLE.reshape(2, 2)):
            equal(fused(x), f(x))
            assert fused.explain().startswith("f: replayed")


def test_vectorized_functions_of_arrays_see_them_as_they_are() -> None:
    def f(x: Any) -> Any:
        SHIFTS[0] += 1
        return shifted(x) * 2

    fused = fc.fused(f)
    for _ in range(3):
        want = f(TABLE)
        SHIFTS[0] -= 1
        equal(fused(TABLE), want)


class Ring:
    """The last rows that it was given, which NumPy takes for an array."""

    def __init__(self, count: int) -> None:
        self.rows, self.count = np.zeros((count, 4)), 0

    def push(self, row: Any) -> None:
        self.rows[self.count % len(self.rows)] = np.asarray(row, dtype=float)
        self.count += 1

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(np.roll(self.rows, -self.count, axis=0), dtype=dtype)


def test_objects_that_say_what_they_are_as_arrays() -> None:
    def smooth(x: Any, y: Any) -> Any:
        ring = Ring(3)
        for row in (x, y, x + y, x * y):
            ring.push(row)
        return np.asarray(ring).mean(0), np.asarray(ring, dtype=np.float32), np.array(ring) * 2

    fused = fc.fused(smooth, strict=True)
    for offset in (0, 0, 1):
        equal(fused(TABLE, TABLE + offset), smooth(TABLE, TABLE + offset))
        assert fused.explain().startswith("smooth: replayed")


class Amount:
    """What Python takes for a number, in C code too."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def total(self) -> int:
        return int(self.values.sum())

    def __float__(self) -> float:
        return float(self.values.mean())

    def __complex__(self) -> complex:
        return complex(float(self.values[0]), float(self.values[1]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.total() == other.total()

    def __hash__(self) -> int:
        return self.total()

    __int__ = __index__ = total


NAMES: list[str] = []
AMOUNTS: list[tuple[str, Callable[[Any], Any]]] = [
    ("float", lambda amount: float(amount) > 2),
    ("root", lambda amount: 2 * math.sqrt(amount)),
    ("int", lambda amount: int(amount) + 1),
    ("complex", lambda amount: complex(amount) * 2),
    ("shape", lambda amount: np.zeros(amount) + 1),
    ("index", lambda amount: list(range(100))[amount]),
    ("hash", lambda amount: {amount: 3}[amount]),
    ("array", lambda amount: np.asarray(float(amount))),
]


@pytest.mark.parametrize("use", [use for _, use in AMOUNTS], ids=[name for name, _ in AMOUNTS])
def test_objects_that_say_what_they_are_as_numbers(use: Callable[[Any], Any]) -> None:
    def f(amount: Amount, x: Any) -> Any:
        if "x" in NAMES:
            return x
        amount.values += x
        return use(amount), amount.total() * x

    fused = fc.fused(f)
    for factor in (1.0, 1.0, 1.0, 2.0, 1.0):
        given, same = Amount(np.ones(4)), Amount(np.ones(4))
        for got, want in zip(fused(given, TABLE * factor), f(same, TABLE * factor), strict=True):
            equal(got, want)
        equal(given.values, same.values)
    assert fused.explain().startswith("f: replayed")


class Block:
    def __init__(self, *weights: Any) -> None:
        self.first, self.rest = weights[0], list(weights[1:])

    def parameters(self) -> Iterator[Any]:
        for value in vars(self).values():
            yield from value if isinstance(value, list) else [value]


def test_attributes_may_be_asked_for_by_vars() -> None:
    def norm(block: Block, x: Any) -> Any:
        made = Block(x, x + 1)
        total = sum((weight * weight).sum() for weight in block.parameters())
        return total, list(vars(made)), sum(made.parameters())

    fused = fc.fused(norm, strict=True)
    for count in (2, 2, 3):
        block = Block(*[np.arange(4.0) + i for i in range(count)])
        equal(fused(block, TABLE), norm(block, TABLE))
        assert fused.explain().startswith("norm: replayed")


class Weight:
    def __init__(self, value: Any) -> None:
        self.value = np.array(value)
        self.slope = np.ones_like(self.value)


class Momentum:
    """An optimiser that keeps what it knows of each weight under its identity."""

    def __init__(self, weights: list[Weight]) -> None:
        self.weights = weights
        self.state: dict[int, Any] = {}

    def step(self, rate: float) -> None:
        for weight in self.weights:
            key = id(weight)
            if key not in self.state:
                self.state[key] = np.zeros_like(weight.value)
            self.state[key] = 0.9 * self.state[key] + weight.slope
            weight.value -= rate * self.state[key]


def test_state_may_be_kept_by_identity() -> None:
    def train(optimiser: Momentum, rate: float) -> None:
        optimiser.step(rate)

    fused = fc.fused(train, strict=True)
    found = []
    for call in (train, fused):
        first = [Weight(np.arange(3.0)), Weight(np.arange(4.0) + 1)]
        optimiser = Momentum(first)
        for _ in range(3):
            call(optimiser, 0.25)
        assert list(optimiser.state) == [id(w) for w in first]
        others = optimiser.weights = [Weight(np.arange(3.0)), first[1]]
        call(optimiser, 0.25)
        assert [type(key) for key in optimiser.state] == [int] * 3
        assert id(others[0]) in optimiser.state
        found.append([w.value for w in (*first, others[0])])
    equal(found[0], found[1])


def test_an_identity_of_what_is_made_may_be_looked_at() -> None:
    @fc.fused
    def f(x: Any) -> Any:
        box = Box(x)
        return box, id(box), f"{id(box)}", {id(box): box.doubled()}

    for _ in range(2):
        box, number, text, known = f(np.arange(3.0))
        assert id(box) == number == int(text) == next(iter(known))
        assert type(number) is type(next(iter(known))) is int
    assert "it looks at the identity of an object" in f.explain()


class Node:
    def __init__(self, value: Any, last: Any = None) -> None:
        self.value, self.last = np.asarray(value), last


def test_results_may_hold_themselves_and_be_found_twice() -> None:
    def ring(x: Any) -> Any:
        first = Node(x * 2)
        first.last = Node(x + 1, first)
        both = [first.value, first]
        return first, both, both, {"last": first.last}

    fused = fc.fused(ring, strict=True)
    for _ in range(2):
        first, both, again, named = fused(np.arange(3.0))
        assert first.last.last is first
        assert both is again
        assert both[1] is first
        assert named["last"] is first.last
        equal([first.value, first.last.value], [np.arange(3.0) * 2, np.arange(3.0) + 1])
        assert both[0] is first.value


def test_results_may_be_nested_deeply() -> None:
    def chain(x: Any) -> Any:
        node = None
        for _ in range(150):
            node = Node(x, node)
        return node

    fused = fc.fused(chain, strict=True)
    x = np.arange(3.0)
    for _ in range(2):
        node, count = fused(x), 0
        while node is not None:
            assert node.value is x
            node, count = node.last, count + 1
        assert count == 150


class Span(tuple):
    """Bounds, made by ``__new__``."""

    def __new__(cls, low: Any, high: Any) -> Any:
        return super().__new__(cls, (np.asarray(low, float), np.asarray(high, float)))

    def __mul__(self, other: Any) -> Any:
        ends = np.stack([a * b for a in self for b in other])
        return Span(ends.min(0), ends.max(0))


def test_instances_may_be_made_by_new() -> None:
    def product(x: Any, y: Any) -> Any:
        low, high = Span(x - 1, x + 1) * Span(y, y + 2)
        return low, high - low

    fused = fc.fused(product, strict=True)
    for offset in (0, 0, 1):
        equal(fused(TABLE, TABLE - offset), product(TABLE, TABLE - offset))


def test_numbers_may_go_where_nothing_but_an_int_can() -> None:
    """`deque` takes no number that is followed: it is a condition then, and on paths as well."""

    def windows(x: Any, count: int) -> Any:
        last: Any = collections.deque(maxlen=count)
        total = 0.0
        for row in x:
            last.append(row)
            if row.sum() > 3:
                total = total + np.stack(list(last)).max()
        return total, len(last)

    fused = fc.fused(windows, strict=True)
    x = np.arange(12.0).reshape(4, 3)
    for count in (2, 2, 3, 2):
        for rows in (x, x - 3, x[::-1].copy()):
            equal(fused(rows, count), windows(rows, count))
            assert fused.explain().startswith("windows: replayed")

    def wrong(x: Any, count: int) -> Any:
        return x + count + "text"  # type: ignore[operator]

    for _ in range(2):
        with pytest.raises(TypeError):
            fc.fused(wrong)(x, 2)


class Kept:
    """What it holds is written in C, or of a library."""

    factors: Any
    spline: Any
    rng = np.random.default_rng(3)

    def solved(self, x: Any) -> Any:
        return self.factors.solve(x * 2) + 1

    def fitted(self, x: Any) -> Any:
        return type(self).spline(x * 2) + 1

    def drawn(self, x: Any) -> Any:
        return x * 2 + self.rng.normal(size=4)


class Heir(Kept):
    """Finds them in the class before."""


@pytest.mark.parametrize("kind", [Kept, Heir])
@pytest.mark.parametrize("name", ["solved", "fitted", "drawn"])
def test_objects_that_classes_hold(kind: type, name: str) -> None:
    """They are called as they are, with arrays, as those that instances hold."""
    sparse = pytest.importorskip("scipy.sparse")
    Kept.factors = pytest.importorskip("scipy.sparse.linalg").splu(sparse.csc_array(np.diag(TABLE)))
    Kept.spline = pytest.importorskip("scipy.interpolate").CubicSpline(TABLE, TABLE**2)
    step = fc.fused(getattr(kind, name))
    before = Kept.rng.bit_generator.state
    results = [step(kind(), k * TABLE) for k in (1.0, 2.0, 3.0)]
    Kept.rng.bit_generator.state = before
    equal(results, [getattr(kind(), name)(k * TABLE) for k in (1.0, 2.0, 3.0)])
    assert isinstance(vars(Kept)["rng"], np.random.Generator)  # no switch stays
