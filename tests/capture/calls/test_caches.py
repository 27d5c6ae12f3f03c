"""Functions that keep their results: replays call them, and cached arrays stay what they are."""

from __future__ import annotations

import pytest

import fusecuda as fc
from tests.side_by_side import run

HEAD = """import enum, functools, math
from dataclasses import dataclass
def R(seed, *shape): return np.random.default_rng(seed).normal(size=shape)
strict = lambda function: fused(function, strict=True)
@functools.cache
def rot(a): c, s = math.cos(a), math.sin(a); return np.array([[c, -s], [s, c]])
info = lambda: tuple(rot.cache_info())
"""

PROGRAMS = {
    "numbers": (
        """
@functools.lru_cache(maxsize=8)
def rate(t, name="a", *, k=1): return math.exp(-t) * len(name) * k
info = lambda: tuple(rate.cache_info())
@strict
def f(x, t): return x * rate(t) + rate(t, "bcd", k=2)
@strict
def g(x): return x * rate(float(x.max())) + rate(x.min())
""",
        """r = f(R(1, 4), 0.5); c = info()
r = f(R(2, 4), 0.7); c = info()
r = f(R(2, 4), 2); c = info()
rate.cache_clear(); r = f(R(2, 4), 2); c = info()
r = g(R(3, 5)); c = info()
r = g(R(4, 5)); c = info()""",
    ),
    "arrays": (
        """
@strict
def f(x, a): return x @ rot(a), rot(a), rot(a).T
""",
        """r = f(R(1, 3, 2), 0.5); c = info(); same = r[1] is rot(0.5), r[2].base is rot(0.5)
r = f(R(2, 3, 2), 0.6); c = info(); same = r[1] is rot(0.6)
r[1][0] = 7; r = f(R(1, 3, 2), 0.6); c = info()
r = f(rot(0.7), 0.8); c = info()""",
    ),
    "arrays that are written to": (
        """
@strict
def g(x, a): m = rot(a); m *= 2; return x @ m + rot(a)[0], m is rot(a)
@strict
def h(x, a): m = rot(a); y = m + 1; m[0] = x[0]; return y, m, rot(a)
@strict
def row(a): m = rot(a)[1]; m += 1; return m
""",
        """r = g(R(1, 3, 2), 0.5); m = rot(0.5)
r = g(R(2, 3, 2), 0.5); m = rot(0.5); c = info()
r = h(R(2, 2, 2), 0.5); m = rot(0.5); c = info()
r = h(R(3, 2, 2), 0.6); m = rot(0.6); c = info()
r = row(0.3); m = rot(0.3); c = info()
rot.cache_clear(); r = row(0.3); m = rot(0.3); c = info()""",
    ),
    "arrays that are given, too": (
        """
@fused
def f(x, a): return x @ rot(a), rot(a), rot(a).T
@fused
def h(x, a): m = rot(a); y = m + x; m[0] = x[1]; x[1] = 5; return y, m, rot(a), x + m
""",
        """r = f(rot(0.7), 0.7); c = info()
r = f(rot(0.7)[::-1], 0.7); c = info()
r = h(R(3, 2, 2), 0.6); m = rot(0.6); c = info()
r = h(R(4, 2, 2), 0.6); m = rot(0.6); c = info()
r = h(rot(0.6), 0.6); m = rot(0.6); c = info()
r = h(rot(0.6)[::-1], 0.6); m = rot(0.6); c = info()
r = h(rot(0.5), 0.6); m = rot(0.6), rot(0.5); c = info()""",
    ),
    "read-only, tuples, errors": (
        """
@functools.lru_cache
def grid(n, kind):
    if n > 9: raise ValueError(f"{n} is too many")
    x = np.linspace(0, 1, n); x.flags.writeable = kind != "ro"; return x
@functools.lru_cache
def both(n): return np.arange(n) * 1.0, n * 0.5, "name", np.float32(n)
@strict
def f(n, kind): g = grid(n, kind); return g, g * 2
@strict
def w(n, kind): g = grid(n, kind); g += 1; return g
@strict
def t(x, n): a, b, c, d = both(n); return x[:n] * b + a, c, d * x, a
""",
        """r = f(4, "ro"); same = r[0] is grid(4, "ro"), r[0].flags.writeable
r = f(4, "rw"); same = r[0] is grid(4, "rw"), r[0].flags.writeable
r = f(50, "rw")
r = w(4, "rw"); g = grid(4, "rw")
r = w(4, "ro"); g = grid(4, "ro")
r = t(R(1, 9), 3); same = r[3] is both(3)[0]
r = t(R(1, 9), 4); same = r[3] is both(4)[0]""",
    ),
    "containers, objects, enums": (
        """
@dataclass(frozen=True)
class Spec: n: int; scale: float
class Identity:
    def __init__(self, v): self.v = v
class Kind(enum.Enum): A = 1; B = 2
@functools.cache
def many(n): return [np.arange(n) * 1.0, n]
@functools.cache
def settings(n): return {"w": np.arange(n) * 1.0}
@functools.cache
def build(spec): return np.arange(spec.n) * spec.scale
@functools.cache
def same(o): return o
@functools.cache
def of_kind(k, t=(1, "a")): return 2.0 if k is Kind.A else 3.0
@fused
def g(x, n): l = many(n); l[0] += x[:n]; l[1] += 1; return l
@fused
def h(x, n): d = settings(n); d["w"] = d["w"] + x[:n]; d["n"] = n; return d["w"].sum()
@fused
def b(s, x): return build(s) + x
@fused
def i(o, x): o.v = o.v + 1; return same(o) is o, x * o.v
@strict
def k(kind, x): return x * of_kind(kind) * of_kind(kind, (2, "b"))
@fused
def bad(x): return of_kind(x)
o, s = Identity(1.0), Spec(3, 2.0)
""",
        """r = g(R(1, 9), 4); is_same = r is many(4)
r = h(R(2, 9), 4); d = settings(4)
r = b(s, R(1, 3)); c = build.cache_info().currsize
r = b(Spec(3, 2.0), R(2, 3)); c = build.cache_info().currsize
r = i(o, R(1, 3)); is_same = same(o) is o; c = same.cache_info().currsize
r = k(Kind.A, R(1, 3))
r = k(Kind.B, R(1, 3))
r = bad(R(1, 3))""",
    ),
    "what they do and read": (
        """
COUNT, K, A = [], 2.0, np.arange(3.0)
@functools.cache
def loud(n): COUNT.append(n); return n * 2.0
@functools.cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@functools.cache
def uses(n): return K * n
@functools.cache
def table(n): return A[n]
@fused
def f(x, n): return x * loud(n)
@fused
def g(x, n): return x * fib(n) + fib.cache_info().currsize
@strict
def h(x, n): return x * uses(n)
@fused
def t(x, n): A[n] += 1; return x * table(n)
@fused
def clear(x, n): y = x * uses(n); uses.cache_clear(); return y, uses.cache_info().hits
""",
        """r = f(R(1, 3), 2)
r = f(R(1, 3), 3)
r = g(R(1, 3), 5)
r = h(R(1, 3), 5)
K = 3.0; r = h(R(1, 3), 5)
r = h(R(1, 3), 6)
r = t(R(1, 3), 1)
r = clear(R(1, 3), 1)""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_caches(name: str) -> None:
    """What ``strict`` functions do is replayed; hits and misses are counted as ever."""
    program, steps = PROGRAMS[name]
    run(HEAD + program, [s for s in steps.splitlines() for _ in range(2)] * 2)


def test_a_method_s_cache_is_told() -> None:
    """A twin is another object each time, so that it would be kept each time."""
    program = """import functools
class M:
    @functools.lru_cache
    def w(self, n): return np.ones(n)
    @fused
    def f(self, x): return x + self.w(len(x))
m = M()
"""
    spaces = run(program, ["r = m.f(np.ones(3)); c = M.w.cache_info().currsize"] * 3)
    function: fc.FusedFunction[..., object] = spaces.functions[0]
    assert "M.w keeps results by the object that it is called on" in function.explain()
