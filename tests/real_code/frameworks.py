"""Small frameworks that a program brings along, of which it makes what it needs at each call."""

from __future__ import annotations

import abc
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from tests.real_code.piece import REPLAYED, Piece, attribute, put


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


# --- gradients by hand: values that know what they were made of


class Value:
    """An array, its gradient, and what it was made of."""

    def __init__(self, data: Any, parents: tuple[Any, ...] = ()) -> None:
        self.data = np.asarray(data, float)
        self.grad = np.zeros_like(self.data)
        self.parents = parents
        self.back: Callable[[], None] = lambda: None

    def __matmul__(self, other: Value) -> Value:
        out = Value(self.data @ other.data, (self, other))

        def back() -> None:
            self.grad += out.grad @ other.data.T
            other.grad += self.data.T @ out.grad

        out.back = back
        return out

    def __sub__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data - other.data, (self, other))

        def back() -> None:
            self.grad += out.grad
            other.grad -= out.grad

        out.back = back
        return out

    def relu(self) -> Value:
        out = Value(np.maximum(self.data, 0), (self,))

        def back() -> None:
            self.grad += (out.data > 0) * out.grad

        out.back = back
        return out

    def backward(self) -> None:
        order: list[Value] = []
        seen: set[int] = set()

        def visit(node: Value) -> None:
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.grad = np.ones_like(self.data)
        for node in reversed(order):
            node.back()


def slopes(x: Any, y: Any, first: Any, second: Any) -> tuple[Any, Any, Any]:
    """The errors of a network of two layers, and the slopes of their sum."""
    w1, w2 = Value(first), Value(second)
    error = (Value(x) @ w1).relu() @ w2 - y
    error.backward()
    return error.data, w1.grad, w2.grad


def make_slopes() -> list[Any]:
    return [drawn(30, 5), drawn(30, 2, seed=1), drawn(5, 8, seed=2), drawn(8, 2, seed=3)]


# --- layers with parameters, and an optimiser with a state for each


class Parameter:
    def __init__(self, value: Any) -> None:
        self.value = value
        self.grad = np.zeros_like(value)


class Module(abc.ABC):
    def parameters(self) -> Iterator[Parameter]:
        for value in vars(self).values():
            if isinstance(value, Parameter):
                yield value
            elif isinstance(value, list):
                for part in value:
                    yield from part.parameters()

    def __call__(self, x: Any) -> Any:
        return self.forward(x)

    @abc.abstractmethod
    def forward(self, x: Any) -> Any: ...

    @abc.abstractmethod
    def backward(self, grad: Any) -> Any: ...


class Linear(Module):
    def __init__(self, inputs: int, outputs: int, seed: int) -> None:
        self.weight = Parameter(drawn(inputs, outputs, seed=seed) / math.sqrt(inputs))
        self.bias = Parameter(np.zeros(outputs))

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.weight.value + self.bias.value

    def backward(self, grad: Any) -> Any:
        self.weight.grad += self.x.T @ grad
        self.bias.grad += grad.sum(0)
        return grad @ self.weight.value.T


class Tanh(Module):
    def forward(self, x: Any) -> Any:
        self.y = np.tanh(x)
        return self.y

    def backward(self, grad: Any) -> Any:
        return grad * (1 - self.y**2)


class Sequential(Module):
    def __init__(self, *layers: Module) -> None:
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def backward(self, grad: Any) -> Any:
        for layer in reversed(self.layers):
            grad = layer.backward(grad)
        return grad


class Descent:
    def __init__(self, model: Module, rate: float) -> None:
        self.model, self.rate = model, rate
        self.speed = {i: np.zeros_like(p.value) for i, p in enumerate(model.parameters())}

    def step(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            speed = self.speed[i]
            speed *= 0.9
            speed -= self.rate * p.grad
            p.value += speed
            p.grad[...] = 0


def fit(model: Module, descent: Descent, x: Any, y: Any) -> Any:
    """The mean square of the errors before a step."""
    difference = model(x) - y
    model.backward(2 * difference / len(x))
    descent.step()
    return (difference**2).mean()


def make_fit() -> list[Any]:
    model = Sequential(Linear(4, 6, 0), Tanh(), Linear(6, 2, 1))
    return [model, Descent(model, 0.05), drawn(25, 4, seed=2), drawn(25, 2, seed=3)]


# --- entities, components and systems


class World:
    """Components by name, each an array with a row for each entity."""

    def __init__(self) -> None:
        self.count = 0
        self.parts: dict[str, Any] = {}
        self.systems: list[Callable[[World, float], None]] = []

    def spawn(self, **given: Any) -> None:
        more = len(next(iter(given.values())))
        for name, rows in given.items():
            known = self.parts.get(name, np.zeros((self.count, *rows.shape[1:])))
            self.parts[name] = np.concatenate([known, np.asarray(rows)])
        self.count += more
        for name, rows in self.parts.items():
            if len(rows) < self.count:
                missing = np.zeros((self.count - len(rows), *rows.shape[1:]))
                self.parts[name] = np.concatenate([rows, missing])

    def system(self, function: Callable[[World, float], None]) -> Callable[[World, float], None]:
        self.systems.append(function)
        return function

    def __getitem__(self, name: str) -> Any:
        return self.parts[name]

    def __setitem__(self, name: str, rows: Any) -> None:
        self.parts[name] = rows

    def tick(self, dt: float) -> None:
        for system in self.systems:
            system(self, dt)


def entities(place: Any, speed: Any, health: Any, dt: float) -> tuple[dict[str, Any], int]:
    """What three ticks make of moving and standing entities."""
    world = World()
    world.spawn(place=place, speed=speed)
    world.spawn(place=place + 1, health=health)

    @world.system
    def move(world: World, dt: float) -> None:
        world["place"] = world["place"] + world["speed"] * dt

    @world.system
    def hurt(world: World, dt: float) -> None:
        far = np.abs(world["place"]).max(axis=1) > 1.5
        world["health"] = np.where(far, world["health"] - 10 * dt, world["health"])

    @world.system
    def bounce(world: World, dt: float) -> None:
        world["speed"][np.abs(world["place"]) > 2] *= -1

    for _ in range(3):
        world.tick(dt)
    return dict(sorted(world.parts.items())), world.count


def make_entities() -> list[Any]:
    return [drawn(40, 2), 3 * drawn(40, 2, seed=1), np.full(40, 100.0), 0.1]


# --- schemes for one equation, chosen by name


class Scheme(abc.ABC):
    kinds: ClassVar[dict[str, type[Scheme]]] = {}

    def __init__(self, speed: float, courant: float) -> None:
        self.speed, self.courant = speed, courant

    def __init_subclass__(cls, name: str) -> None:
        super().__init_subclass__()
        cls.kinds[name] = cls

    @abc.abstractmethod
    def flux(self, u: Any) -> Any: ...

    def step(self, u: Any) -> Any:
        flux = self.flux(u)
        return u - self.courant / self.speed * (flux - np.roll(flux, 1))


class Upwind(Scheme, name="upwind"):
    def flux(self, u: Any) -> Any:
        return self.speed * u


class LaxWendroff(Scheme, name="lax-wendroff"):
    def flux(self, u: Any) -> Any:
        ahead = np.roll(u, -1)
        return 0.5 * self.speed * (u + ahead - self.courant * (ahead - u))


class Run:
    """A run of a scheme, which notes how much there is."""

    def __init__(self, kind: str, speed: float, courant: float) -> None:
        self.scheme = Scheme.kinds[kind](speed, courant)
        self.notes: dict[str, list[Any]] = defaultdict(list)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exc: object) -> None:
        self.notes["kinds"].append(type(self.scheme).__name__)

    def go(self, u: Any, steps: int) -> Any:
        for _ in range(steps):
            u = self.scheme.step(np.asarray(u))
            self.notes["total"].append(np.abs(u).sum())
        return u


def transport(u: Any, kind: str, speed: float) -> tuple[Any, dict[str, list[Any]]]:
    """What is left of a pulse, and notes."""
    with Run(kind, speed, 0.5) as run:
        u = run.go(u, 4)
    return u, dict(run.notes)


PIECES = [
    Piece("gradients by hand", "slopes", make_slopes, REPLAYED,
          (put(2, lambda w: w * 1.5), put(0, lambda x: x[:20] + 1), put(1, lambda y: y[:20]))),
    Piece("layers and optimiser", "fit", make_fit, REPLAYED,
          (attribute(1, "rate", 0.1), put(3, lambda y: y + 1)), steady=False),
    Piece("entities and systems", "entities", make_entities, REPLAYED,
          (put(3, lambda dt: dt * 2), put(1, lambda v: v[::-1].copy()))),
    Piece("schemes by name", "transport", lambda: [np.abs(drawn(60)), "upwind", 1.5], REPLAYED,
          (put(1, lambda kind: "lax-wendroff"), put(0, lambda u: u[:50] * 2))),
]  # fmt: skip
