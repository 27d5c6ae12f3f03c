"""Programs as users of CuPy write them, around blocks: solvers, models, factorisations.

Each is given the module, what makes one of its arrays, a generator and what makes a block, and
returns what it has computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


def jacobi(m: Any, array: Any, rng: Any, block: Any) -> Any:
    """Two fields that are swapped after each step."""
    u, f = array(rng.normal(size=(12, 14))), array(rng.normal(size=(12, 14)))
    norms = []
    for _ in range(9):
        with block():
            new = u.copy()
            around = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
            new[1:-1, 1:-1] = 0.25 * (around - f[1:-1, 1:-1])
            norms.append(m.abs(new - u).max())
            u, new = new, u
    return u, new, f, norms


@dataclass
class Wave:
    """A field and its speed, advanced by a method."""

    u: Any
    v: Any
    time: float = 0.0
    edges: list[Any] = field(default_factory=list)

    def step(self, dt: float, block: Any) -> Any:
        with block():
            bend = -4 * self.u
            bend[1:] += self.u[:-1]
            bend[:-1] += self.u[1:]
            bend[:, 1:] += self.u[:, :-1]
            bend[:, :-1] += self.u[:, 1:]
            self.v += dt * bend
            self.u += dt * self.v
            self.time += dt
            self.edges.append(self.u[0] * 1)
        return self.u[-1]


def wave(m: Any, array: Any, rng: Any, block: Any) -> Any:
    """An object whose method has a block; one of its arrays is exchanged meanwhile."""
    one = Wave(array(rng.normal(size=(8, 9))), array(rng.normal(size=(8, 9))))
    ends = []
    for i in range(7):
        ends.append(one.step(0.1 + 0.01 * i, block))
        if i == 4:
            one.u = array(rng.normal(size=(8, 9)))
    return ends, one.edges, one.u, one.v, one.time


def regression(m: Any, array: Any, rng: Any, block: Any) -> Any:
    """Softmax regression with a rate that falls, and picks of one element in each row."""
    x, target = array(rng.normal(size=(20, 5))), array(rng.integers(0, 3, 20))
    w, b, losses, rate = array(rng.normal(size=(5, 3))), array(rng.normal(size=3)), [], 0.5
    for _ in range(7):
        with block():
            p = x @ w + b
            p -= p.max(axis=1, keepdims=True)
            p = m.exp(p)
            p /= p.sum(axis=1, keepdims=True)
            losses.append(-m.log(p[m.arange(20), target]).mean())
            p[m.arange(20), target] -= 1
            p /= 20
            w -= rate * (x.T @ p)
            b -= rate * p.sum(axis=0)
        rate *= 0.9
    return w, b, losses


def factors(m: Any, array: Any, rng: Any, block: Any) -> Any:
    """Gauss's elimination, and columns made orthogonal, in blocks around whole loops."""
    a, q = array(rng.normal(size=(8, 8))), array(rng.normal(size=(5, 4)))
    lower = array(rng.normal(size=(8, 8)))
    for _ in range(4):
        with block():
            a += a.T
            for i in range(8):
                a[i, i] = 20.0 + i
            lower[...] = 0
            for k in range(7):
                lower[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
                a[k + 1 :] -= lower[k + 1 :, k][:, None] * a[k]
            for j in range(4):
                for k in range(j):
                    q[:, j] -= (q[:, k] * q[:, j]).sum() * q[:, k]
                q[:, j] /= m.sqrt((q[:, j] ** 2).sum())
            q += 0.01 * q[::-1]
    return a, lower, q


def own_parts(m: Any, array: Any, rng: Any, block: Any) -> Any:
    """Parts of an array assigned to it, where they lie or elsewhere, before and after updates."""
    x, kept = array(rng.normal(size=(5, 6))), []
    for _ in range(6):
        with block():
            part = x[1:4]
            x[1:4] = part
            x[:3] = part
            part += 1
            x[2:] = part
            every = x[:, ::2]
            every *= 0.5
            x[:, 1::2] = every
            x[...] = x[::-1]
            y = x * 1
            y[0], y[1] = y[1], y[0]
            one, other = y[2:4], y[2:4]
            one += 1
            other += 1
            y[2:4] = one
            row = y[-1]
            row.shape = (2, 3)
            row *= 2
            y[:2, :3] = row
        kept += [y, part, every, row]
    return x, kept


def left_over(m: Any, array: Any, rng: Any, block: Any) -> Any:
    """Temporaries that are dropped, or of which a view is left; other ones at each turn."""
    x, kept = array(rng.normal(size=(4, 6))), []
    for i in range(8):
        with block():
            a = x + i
            b = a[1:]
            c = b.T[2:]
            if i % 3:
                del a
            if i % 2:
                del b
            c *= 2
            d = c + 1
            d[0] = c[1]
            e = d[:, 1:]
            del d
            e -= 1
            x[0] += e[0, 0]
        kept += [c, e]
    return x, kept


def _halves(x: Any, count: int, block: Any) -> Iterator[Any]:
    with block():
        for i in range(count):
            x += i
            half = x * 0.5
            yield half
            x -= half


def generators(m: Any, array: Any, rng: Any, block: Any) -> Any:
    """Blocks that are suspended, closed early, or left by an error."""
    x, kept = array(rng.normal(size=6)), []
    for turn in range(4):
        for half in (going := _halves(x, 4, block)):
            kept.append(half)
            if len(kept) % 3 == 0:
                break
        going.close()
        try:
            with block():
                x[turn] = 1.5
                kept.append(x * 2)
                if turn % 2:
                    raise KeyError(turn)
                kept.append(x - 1)
        except KeyError:
            kept.append(turn)
        kept += list(_halves(x, 2, block))
    return x, kept


PROGRAMS = (jacobi, wave, regression, factors, own_parts, left_over, generators)
