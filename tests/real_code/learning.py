"""Training loops with gradients written by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.real_code.piece import ANEW, REPLAYED, Piece, attribute, put

# --- logistic regression: one step of gradient descent in a class


class Logistic:
    """Weights, a bias, and the losses so far."""

    def __init__(self, features: int, rate: float = 0.5, decay: float = 1e-3) -> None:
        self.weights = np.zeros(features)
        self.bias = 0.0
        self.rate = rate
        self.decay = decay
        self.losses: list[float] = []

    def predict(self, x: Any) -> Any:
        return 1 / (1 + np.exp(-(x @ self.weights + self.bias)))

    def fit_step(self, x: Any, y: Any) -> float:
        p = self.predict(x)
        error = (p - y) / len(y)
        self.weights -= self.rate * (x.T @ error + self.decay * self.weights)
        self.bias -= self.rate * error.sum()
        loss = -np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))
        self.losses.append(float(loss))
        return self.losses[-1]


def make_logistic() -> list[Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 20))
    return [Logistic(20), x, (x[:, 0] - x[:, 3] > 0).astype(float)]


# --- Adam: the optimiser keeps its moments in dicts of arrays


class Adam:
    """Moments for each parameter by its name."""

    def __init__(self, rate: float = 1e-2, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self.rate = rate
        self.betas = betas
        self.t = 0
        self.m: dict[str, Any] = {}
        self.v: dict[str, Any] = {}

    def update(self, parameters: dict[str, Any], gradients: dict[str, Any]) -> None:
        """Moves every parameter, in place."""
        self.t += 1
        b1, b2 = self.betas
        for name, gradient in gradients.items():
            if name not in self.m:
                self.m[name] = np.zeros_like(gradient)
                self.v[name] = np.zeros_like(gradient)
            self.m[name] = b1 * self.m[name] + (1 - b1) * gradient
            self.v[name] = b2 * self.v[name] + (1 - b2) * gradient**2
            m = self.m[name] / (1 - b1**self.t)
            v = self.v[name] / (1 - b2**self.t)
            parameters[name] -= self.rate * m / (np.sqrt(v) + 1e-8)


def make_adam() -> list[Any]:
    rng = np.random.default_rng(1)
    shapes = {"w1": (300, 200), "b1": (200,), "w2": (200, 10)}
    parameters = {k: rng.normal(size=s) for k, s in shapes.items()}
    return [Adam(), parameters, {k: rng.normal(size=s) for k, s in shapes.items()}]


# --- a network of two layers: parameters in a dict, gradients in another


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def gradients(p: dict[str, Any], x: Any, labels: Any, *, decay: float = 0.0) -> dict[str, Any]:
    """The loss, the share of right answers, and the gradient of each parameter."""
    h = relu(x @ p["w1"] + p["b1"])
    q = softmax(h @ p["w2"] + p["b2"])
    n = x.shape[0]
    loss = -np.log(q[np.arange(n), labels]).mean()
    dz = q.copy()
    dz[np.arange(n), labels] -= 1
    dz /= n
    dh = (dz @ p["w2"].T) * (h > 0)
    found = {"w1": x.T @ dh, "b1": dh.sum(0), "w2": h.T @ dz, "b2": dz.sum(0)}
    if decay:
        for name in ("w1", "w2"):
            found[name] += decay * p[name]
            loss += 0.5 * decay * (p[name] ** 2).sum()
    return {"loss": loss, "right": (q.argmax(1) == labels).mean(), "gradients": found}


def make_network() -> list[Any]:
    rng = np.random.default_rng(2)
    p = {"w1": rng.normal(size=(64, 128)) * 0.1, "b1": np.zeros(128)}
    p |= {"w2": rng.normal(size=(128, 10)) * 0.1, "b2": np.zeros(10)}
    return [p, rng.normal(size=(500, 64)), rng.integers(0, 10, 500), 0.0]


# --- k-means: until nobody changes sides


def k_means(points: Any, centres: Any, limit: int = 50) -> tuple[Any, Any, int]:
    """Centres, whom each point belongs to, and how many rounds it took."""
    centres = centres.copy()
    owner = np.full(len(points), -1)
    for round_ in range(limit):
        apart = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1)
        new = apart.argmin(axis=1)
        if (new == owner).all():
            return centres, owner, round_
        owner = new
        members = np.maximum(np.bincount(owner, minlength=len(centres)), 1)
        for axis in range(points.shape[1]):
            sums = np.bincount(owner, weights=points[:, axis], minlength=len(centres))
            centres[:, axis] = sums / members
    return centres, owner, limit


def make_k_means() -> list[Any]:
    rng = np.random.default_rng(4)
    middle = 20.0 * rng.random((5, 2))
    points = middle[rng.integers(0, 5, 8000)] + rng.normal(size=(8000, 2))
    return [points, points[:5].copy()]


# --- momentum without classes: the state goes in and comes out as a named tuple


class Momentum(NamedTuple):
    place: Any
    speed: Any
    turns: int


def rosenbrock(p: Any) -> tuple[Any, Any]:
    x, y = p[..., 0], p[..., 1]
    value = (1 - x) ** 2 + 100 * (y - x**2) ** 2
    slope = np.stack([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)], axis=-1)
    return value, slope


def descend(state: Momentum, rate: float, momentum: float = 0.9) -> tuple[Momentum, Any]:
    """The next state, and the values where it was."""
    ahead = state.place + momentum * state.speed
    value, slope = rosenbrock(ahead)
    norm = np.linalg.norm(slope, axis=-1, keepdims=True)
    slope = np.where(norm > 10, 10 * slope / np.maximum(norm, 1e-300), slope)
    speed = momentum * state.speed - rate * slope
    return Momentum(state.place + speed, speed, state.turns + 1), value


def make_descend() -> list[Any]:
    places = np.random.default_rng(5).normal(size=(20_000, 2))
    return [Momentum(places, np.zeros_like(places), 0), 1e-3]


# --- a whole training loop that prints, and stops when it does not get better


def train(x: Any, y: Any, epochs: int, patience: int = 3, verbose: bool = True) -> dict[str, Any]:
    """Weights and losses; every second epoch says how it goes."""
    w = np.zeros(x.shape[1])
    best, waited, losses = np.inf, 0, []
    for epoch in range(epochs):
        error = x @ w - y
        loss = (error**2).mean()
        losses.append(loss.item())
        if verbose and epoch % 2 == 0:
            print(f"epoch {epoch:3d}: loss {loss:.4f}")
        if loss < best - 1e-6:
            best, waited = loss, 0
        else:
            waited += 1
            if waited > patience:
                break
        w -= 0.05 * (2 / len(y)) * (x.T @ error)
    return {"w": w, "best": float(best), "losses": losses, "epochs": len(losses)}


def make_train() -> list[Any]:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(3000, 15))
    return [x, x @ rng.normal(size=15) + 0.1 * rng.normal(size=3000), 8]


PIECES = [
    Piece(
        "logistic regression", "Logistic.fit_step", make_logistic, REPLAYED,
        (attribute(0, "rate", 0.1), attribute(0, "decay", 0.1), lambda a: a[0].losses.clear(),
         put(1, lambda x: x * 2), put(0, lambda m: Logistic(20))),
    ),
    Piece(
        "Adam", "Adam.update", make_adam, REPLAYED,
        (attribute(0, "rate", 1e-3), attribute(0, "betas", (0.8, 0.99)),
         lambda a: a[2]["b1"].__imul__(3), lambda a: a[2].pop("w2"), put(0, lambda o: Adam())),
    ),
    Piece(
        "network of two layers", "gradients", make_network, REPLAYED,
        (put(3, lambda d: 0.01), lambda a: a[0]["w1"].__imul__(2),
         lambda a: a.__setitem__(slice(1, 3), [a[1][:99], a[2][:99]]),
         put(2, lambda t: t[:50])),
        keywords=("decay",),
    ),
    Piece(
        "k-means", "k_means", make_k_means, REPLAYED,
        (put(1, lambda c: c + 0.5), put(0, lambda p: p[:3000]), lambda a: a.append(2)),
        steady=False,
    ),
    Piece(
        "momentum in a named tuple", "descend", make_descend, REPLAYED,
        (put(1, lambda r: 2e-3), put(0, lambda s: descend(s, 1e-3)[0]), lambda a: a.append(0.5),
         put(0, lambda s: Momentum(s.place[:40], s.speed[:40], 7))),
    ),
    Piece(
        "training that prints", "train", make_train, ANEW,
        (put(2, lambda n: 5), put(1, lambda y: y * 0), lambda a: a.extend([0, False])),
    ),
]  # fmt: skip
