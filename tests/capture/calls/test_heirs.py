"""Heirs of dict, list and tuple, and classes that write their attributes in ways of their own."""

from __future__ import annotations

import pytest

from tests.side_by_side import run

HEAD = """
def R(seed, *shape): return np.random.default_rng(seed).normal(size=shape)
strict = lambda function: fused(function, strict=True)
"""

PROGRAMS = {
    "attributes that are items": (
        """
class Bunch(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
@strict
def step(s, dt):
    s.v = s.v - dt * s.x
    s.x = s.x + dt * s.v
    s.t = s.get("t", 0.0) + dt
    return Bunch(energy=0.5 * (s.x**2).sum(), keys=list(s)), s
s, other = Bunch(x=R(1, 9), v=R(2, 9)), Bunch(v=R(1, 4), x=R(2, 4), z=[1])
""",
        """r = step(s, 0.1); same = r[1] is s
r = step(s, 0.2)
r = step(other, 0.2)
other.z.append(3); r = step(other, 0.3)
s.t = 5; r = step(s, 0.1)
del s["t"]; r = step(s, 0.1)
r = step(Bunch(v=R(1, 3)), 1.0)""",
    ),
    "its own items": (
        """
class Count(dict):
    def __init__(self, **k): self.order, self.gets = [], 0; self.update(k)
    def __getitem__(self, k): self.gets += 1; return super().__getitem__(k)
    def __setitem__(self, k, v): self.order.append(k); super().__setitem__(k, v)
    def __iter__(self): return iter(sorted(super().__iter__()))
    def __len__(self): return 77
@strict
def use(c, k):
    c["z"] = c["a"] * k + c["b"]
    return [c[n] for n in c], len(c), c.gets
c = Count(b=R(1, 3), a=R(2, 3))
""",
        """r = use(c, 2.0)
r = use(c, 3.0)
c.gets = 0; r = use(c, 3.0)
c["a"] = R(5, 3); r = use(c, 3.0)""",
    ),
    "what is missing is made": (
        """
class Table(dict):
    def __init__(self, a): self.a = a
    def __missing__(self, t): self[t] = k = self.a * np.exp(-t); return k
@strict
def use(t, keys): return sum(t[k] for k in keys), len(t)
t, u = Table(R(1, 4)), Table(R(2, 4))
""",
        """r = use(t, [1, 2])
r = use(t, [1, 2, 3]); keys = list(t)
r = use(u, [1, 2, 3])
r = use(u, [1, 2, 3])
u.a = R(4, 4); r = use(u, [1, 2, 9])
t.clear(); r = use(t, [1, 2]); same = t[1] is t[1]""",
    ),
    "a list that forgets": (
        """
class History(list):
    def __init__(self, *a, top=3): super().__init__(*a); self.top = top
    def append(self, v):
        super().append(v)
        while len(self) > self.top: del self[0]
    @property
    def last(self): return self[-1]
@strict
def leap(h, dt):
    h.append(h.last + dt * (h.last - h[-2]))
    return h.last.sum(), h
@strict
def swap(h): h[0], h[-1] = h[-1], h[0]; h.top += 1; return h[0] * 2
h = History([R(1, 4), R(2, 4)])
""",
        """r = leap(h, 0.1); same = r[1] is h
r = leap(h, 0.2)
r = swap(h); top = h.top
h.top = 2; r = leap(h, 0.2)
h.pop(); r = leap(h, 0.2)
h[:] = [R(1, 2), R(2, 2)]; r = leap(h, 0.1)""",
    ),
    "points": (
        """
class Point(tuple):
    __slots__ = ()
    def __new__(cls, x, y): return super().__new__(cls, (x, y))
    def __add__(self, o): return Point(self[0] + o[0], self[1] + o[1])
    def __eq__(self, o): raise ValueError("never compared")
    __hash__ = None
@strict
def walk(p, steps):
    for s in steps: p = p + s
    return p, np.hypot(*p), [Point(1.0, 2.0)]
class Tagged(tuple): pass
@fused
def tagged(t): return t[0] * 2, t, Tagged((t[0] + 1, 2))
t = Tagged((R(1, 3), 1))
class Odd(tuple):
    def __getitem__(self, i): return super().__getitem__(i) * 10
    def __iter__(self): return (v + 1 for v in super().__iter__())
@fused
def odd(t): return t[0] + 1, [v * 2 for v in t]
""",
        """r = walk(Point(R(1, 3), R(2, 3)), [Point(1.0, 2.0), (2.0, R(3, 3))])
r = walk(Point(R(4, 3), R(2, 3)), [Point(1.0, 2.0), (2.0, R(3, 3))])
r = walk(Point(R(4, 3), R(2, 3)), [])
r = tagged(t); same = r[1] is t
t.z = 1; r = tagged(t); same = r[1] is t
r = odd(Odd((R(1, 3), 2.0)))
r = odd(Odd((R(2, 3), 2.0)))""",
    ),
    "attributes of tuples": (
        """
from collections import namedtuple
class Pair(namedtuple("Pair", "a b")):
    def total(self): return self.a + self.extra
@strict
def made(x): p = Pair(x, 2.0); p.extra = x + 1; return p, p.total()
@strict
def given(p): return p.a * p.extra
@strict
def written(p):
    p.extra = p.a * p.b; p.more = 1
    return p, p.total()
@strict
def gone(p): del p.more; return p.extra + 1
@strict
def two(p, q): p.extra = p.a + 1; return q.extra + p.a
@strict
def named(p): p.kept = np.ones(2); return p
p = made(R(1, 3))[0]
q = Pair("no", "arrays")
""",
        """r = made(R(2, 3)); same = r[0] is p
r = given(p)
p.extra = R(4, 3); r = given(p)
r = written(p); same = r[0] is p
r = gone(p)
r = two(p, Pair(1.0, 2)) if "extra" not in vars(p) else two(p, p)
r = two(p, made(R(3, 3))[0])
r = named(q); same = r is q; q.kept[0] += 1""",
    ),
    "attributes of results": (
        """
from scipy import stats
@strict
def line(x, y): r = stats.linregress(x, y); return r.slope * x + r.intercept_stderr, r
@strict
def ranks(x, y): r = stats.spearmanr(x, y * 2); return r.correlation, r
@fused
def test(x, y):
    r = stats.pearsonr(x + 1, y)
    print(r)
    return r.pvalue, r.confidence_interval(), r
""",
        """r = line(R(1, 9), R(2, 9))
r = line(R(3, 9), R(2, 9))
r = ranks(R(3, 9), R(2, 9))
r = test(R(1, 9), R(2, 9))
r = test(R(3, 9), R(2, 9))""",
    ),
    "modules that register": (
        """
class Parameter:
    def __init__(self, data): self.data, self.grad = data, None
class Module:
    def __init__(self): object.__setattr__(self, "parts", {})
    def __setattr__(self, n, v):
        if isinstance(v, Parameter | Module): self.parts[n] = v
        else: object.__setattr__(self, n, v)
    def __getattr__(self, n):
        if n in self.__dict__.get("parts", {}): return self.__dict__["parts"][n]
        raise AttributeError(n)
    def __delattr__(self, n): self.parts.pop(n)
    def parameters(self):
        for p in self.parts.values(): yield from p.parameters() if isinstance(p, Module) else [p]
class Linear(Module):
    def __init__(self, i, o):
        super().__init__()
        self.w, self.b, self.calls = Parameter(R(i, i, o)), Parameter(np.zeros(o)), 0
    def __call__(self, x): self.x = x; self.calls += 1; return x @ self.w.data + self.b.data
class Net(Module):
    def __init__(self): super().__init__(); self.a, self.c = Linear(3, 4), Linear(4, 2)
    @strict
    def step(self, x, y, lr=0.1):
        h = np.tanh(self.a(x)); e = self.c(h) - y
        self.c.w.grad = h.T @ e
        self.c.b.grad = e.sum(0)
        for p in self.parameters():
            if p.grad is not None: p.data = p.data - lr * p.grad
        self.extra = Parameter(e)
        return (e * e).mean()
    @strict
    def drop(self): del self.extra; return self.c.w.data * 2
n, x, y = Net(), R(9, 5, 3), R(8, 5, 2)
""",
        """r = n.step(x, y), n.a.calls, n.c.b.data
r = n.step(x * 2, y), n.a.calls, n.c.b.data
r = n.drop(), list(n.parts)
r = n.step(x * 2, y, 0.5), n.a.calls, n.c.b.data, n.extra.data
n.a.w = Parameter(R(7, 3, 4)); r = n.step(x, y)
n.drop(); r = n.drop()""",
    ),
    "the library's own in Python": (
        """
from collections import ChainMap, UserList
base = {"a": R(1, 3), "k": 2.0}
@strict
def f(chain, x):
    chain["a"] = chain["a"] + x; chain["n"] = chain["k"] * 2
    child = chain.new_child({"k": 5.0})
    return child["k"] * chain["a"], dict(chain), len(child)
@strict
def g(l, x): l.append(x * 2); l[0] = l[0] + x.sum(); return l[-2:], len(l)
chain, l = ChainMap({}, base), UserList([1.0])
""",
        """r = f(chain, R(1, 3)); m = chain.maps, chain.maps[1] is base
base["k"] = 7.0; r = f(chain, R(2, 3))
chain.maps[0].clear(); r = f(chain, R(2, 3))
r = g(l, R(1, 3)); d = l.data
l.pop(); r = g(l, R(2, 3)); d = l.data""",
    ),
    "several that are one": (
        """
class B(dict): pass
class L(list): pass
@strict
def f(a, b, l):
    a["x"] = a["x"] + 1
    b["y"] = a["x"] * 2
    l.append(a); l[0] = b
    return a is b, l
a, b = B(x=R(1, 3)), B(x=R(2, 3))
l = L([1, a])
""",
        """r = f(a, b, l); k = [l[0] is b, l[1] is a, l[-1] is a]
r = f(a, b, l); k = [l[0] is b, l[1] is a, l[-1] is a]
r = f(a, a, l); k = [l[0] is b, l[0] is a]
r = f(b, a, L([2]))""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_heirs(name: str) -> None:
    """What ``strict`` functions do is replayed; the same values, effects and errors each time."""
    program, steps = PROGRAMS[name]
    run(HEAD + program, steps.splitlines() * 3)


def test_an_object_that_refuses_questions() -> None:
    """What is not there may be any error: nothing of ours asks an object for what it has not."""
    program = """
class Bunch(dict):
    __getattr__ = dict.__getitem__
@fused
def double(b): return b.x * 2
"""
    run(program, ["r = double(Bunch(x=np.ones(3)))", "r = double(Bunch(y=1, x=np.ones(3)))"] * 2)
