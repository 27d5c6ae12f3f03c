"""Programs around what nobody takes apart: errors, subclasses of native types, functions, enums."""

from __future__ import annotations

_HOWS = (
    "error", "list", "dict", "setter", "tuple", "counter", "chain", "function", "iterator", "slice",
    "raise", "group",
)  # fmt: skip

PROGRAMS = {
    "arrays in what nobody takes apart": (
        """
import collections
class Bad(ValueError):
    def __init__(self, x): super().__init__("bad", x.max()); self.x = x
class MyList(list): pass
class Logged(dict):
    def __setitem__(self, k, v): super().__setitem__(k, v); self.n = getattr(self, "n", 0) + 1
class Setter:
    def __setattr__(self, k, v): object.__setattr__(self, k, (v, 1))
class Tup(tuple): pass
@fused
def f(x, d, how):
    x *= 2
    if float(x[0]) > 1e9: return None
    v = x[1:]
    match how:
        case "error": y = Bad(v)
        case "list": y = MyList([v, v]); y.a = x + 1
        case "dict": y = Logged(); y["a"] = v; y["b"] = x.max()
        case "setter": y = Setter(); y.v = v; y.w = 3
        case "tuple": y = Tup((v, x + 1)); y.z = x
        case "counter": y = collections.Counter(); y["a"] += x.max(); y["b"] = v
        case "chain": y = collections.ChainMap({"a": v}, {"b": x})
        case "function":
            def y(k, s=x + 1): return v * k + s.max()
        case "iterator": y = iter([v, x])
        case "slice": y = slice(x.max(), None, x[1])
        case "raise": raise Bad(v)
        case "group": raise ExceptionGroup("several", [Bad(v), KeyError(x.max())])
    x += 1
    d[how] = y
    return y
def act(x, how):
    d = {}
    try: r = f(x, d, how)
    except Exception as e: r = e
    x[-1] = 77
    if how == "iterator": r, d = list(r), {}
    if how == "function": r, d = r(2), {}
    if how == "group": r = [e.args for e in r.exceptions]
    return r, d, type(getattr(r, "x", None)).__name__
x = np.arange(1.0, 6.0)
""",
        "\n".join(f'*3 r = act(x, "{how}"); x = x.copy()' for how in _HOWS),
    ),
    "numbers and texts with attributes": (
        """
class Quantity(float):
    def __new__(cls, v, err): s = super().__new__(cls, v); s.err = err; return s
class Name(str): pass
class Index(int): pass
def named(text, tags): n = Name(text); n.tags = tags; return n
@fused
def f(x, q, n):
    s = Name("out"); s.data = x * 2
    return x * q + q.err, np.maximum(x, q), n + "!", n.tags, s, s.data, q
@fused
def g(x, q): return Quantity(q * 2, x + q.err), x * q
Q = Quantity(3.0, np.ones(3))
@fused
def h(x): return x * Q + Q.err, x[Index(1)]
q, n, x = Quantity(2.0, np.arange(3.0)), named("a", np.ones(2)), np.arange(3.0)
""",
        """
*2 r = f(x, q, n)
r = f(x + 1, Quantity(2.0, np.full(3, 5.0)), named("a", np.zeros(2)))
q.err *= 2
*2 r = f(x, q, n)
*2 r = g(x, q)
r = g(x, Quantity(5, 1))
*2 r = h(x)
Q.err += 1
r = h(x)
Q = Quantity(3.0, np.zeros(3))
*2 r = h(x)
""",
    ),
    "texts with attributes": (
        """
class Name(str): pass
def named(text, tags): n = Name(text); n.tags = tags; return n
@fused
def f(x, n):
    s = Name("out"); s.data = x * 2
    return x + n.tags.sum(), n + "!", n.tags, s, s.data
n, x = named("a", np.ones(2)), np.arange(3.0)
""",
        """
*2 r = f(x, n)
r = f(x + 1, named("a", np.zeros(2)))
n.tags *= 3
*2 r = f(x, n)
""",
    ),
    "objects that find attributes in ways of their own": (
        """
class Settings(dict):
    __getattr__ = dict.__getitem__
    def __setattr__(self, k, v): self[k] = v
@fused
def f(p, x): p.w = p.w - p.lr * x; p["n"] = p.get("n", 0) + 1; return p.w + 1, p.n
G = Settings(k=2.0)
@fused
def g(x): return x * G.k
p, x = Settings(w=np.ones(3), lr=0.5), np.arange(3.0)
""",
        """
*3 r = f(p, x)
p.lr = 1.0
*2 r = f(p, x)
*2 r = g(x)
G.k = 3.0
*2 r = g(x)
""",
    ),
    "records": (
        """
def made():
    rec = np.zeros(3, [("id", "i4"), ("pos", "f8", 2)])
    rec["pos"] = np.arange(6).reshape(3, 2)
    row = rec[1]
    @fused
    def f(x, r): return x * r["pos"] + r["id"]
    @fused
    def g(x): return x * row["pos"]
    def grow(): rec["pos"] *= 3
    return (lambda x: f(x, row)), g, grow
f, g, grow = made()
x = np.ones(2)
""",
        """
*2 r = f(x), g(x)
grow()
*2 r = f(x), g(x)
""",
    ),
    "methods of named tuples": (
        """
import collections
from typing import Any, NamedTuple
K = 2.0
class Line(NamedTuple):
    p: Any
    def at(self): return self.p * K
    @property
    def both(self): return np.array([self.p, self.p * K])
    def __add__(self, other): return Line(self.p + other.p * K)
Pair = collections.namedtuple("Pair", "a b")
class Sum(Pair):
    __slots__ = ()
    def norm(self): return self.a * K + self.b
@fused
def f(l, s): return l.at(), l + l, s.norm()
@fused
def g(l): return l.both
@fused
def made(x): return Line(x).at(), Sum(x, 1).norm()
G = Line(np.ones(3))
@fused
def named(x): return x + G.at()
x = np.arange(3.0)
""",
        """
*2 r = f(Line(x), Sum(x, 1.0)), g(Line(x)), made(x), named(x)
K = 5.0
*2 r = f(Line(x), Sum(x, 1.0)), g(Line(x)), made(x), named(x)
Line.at = lambda self: self.p - K
Sum.norm = lambda self: self.a
*2 r = f(Line(x), Sum(x, 1.0)), g(Line(x)), made(x), named(x)
""",
    ),
    "methods of enums and numbers": (
        """
import enum
K = 2.0
class Op(enum.Enum):
    A = 1
    B = 2
    def apply(self, x): return x * K + self.value
    @property
    def w(self): return K + self.value
class Degrees(float):
    def turn(self, x): return x * self * K
class Tag(str):
    def on(self, x): return {"a": x + K, "b": x - K}[self]
OP, TURN = Op.A, Degrees(3.0)
OPS = {"x": Op.A, "y": (Op.B, Degrees(1.0))}
@fused
def f(x, op, d, n): return op.apply(x), op.w * x, d.turn(x), n.on(x)
@fused
def named(x): return OP.apply(x) + TURN.turn(x)
@fused
def kept(x): return OPS["x"].apply(x)
@fused
def inside(x, d): return d["x"].apply(x) + d["y"][0].w + d["y"][1].turn(x)
x = np.arange(3.0)
""",
        """
*2 r = f(x, Op.A, Degrees(2.0), Tag("a")), named(x), kept(x), inside(x, OPS)
K = 5.0
*2 r = f(x, Op.A, Degrees(2.0), Tag("a")), named(x), kept(x), inside(x, OPS)
Op.apply = lambda self, x: x - K
Degrees.turn = lambda self, x: x * self
Tag.on = lambda self, x: x * 0
*2 r = f(x, Op.A, Degrees(2.0), Tag("a")), named(x), kept(x), inside(x, OPS)
""",
    ),
    "enums that hold arrays": (
        """
import enum
class Kernel(enum.Enum):
    BOX = 1
    EDGE = 2
    def __init__(self, v): self.w = np.ones(3) * v
    @property
    def total(self): return self.w.sum()
@fused
def f(x, k): return x @ k.w, k.total * x, k.name
@fused
def h(x): return x * Kernel.BOX.w + Kernel["EDGE"].total
x = np.arange(3.0)
""",
        """
*2 r = f(x, Kernel.BOX)
r = f(x, Kernel.EDGE)
Kernel.BOX.w *= 2
*2 r = f(x, Kernel.BOX)
*2 r = h(x)
Kernel.BOX.w = np.zeros(3)
r = f(x, Kernel.BOX)
r = h(x)
Kernel.EDGE.w[:] = 7
r = h(x)
""",
    ),
    "objects of libraries beside arrays": (
        """
from decimal import Decimal
from fractions import Fraction
@fused
def f(x, k): return x * k, k + x, type((x * k)[0]).__name__, np.multiply(x, k)
x = np.arange(3.0)
""",
        """
*2 r = f(x, Decimal("0.5"))
*2 r = f(x, Fraction(1, 2))
""",
    ),
    "errors of elements after what has been done": (
        """
@fused
def f(x, k, log):
    x[x > 4] = 0
    log.append(float(x.sum()))
    x += 1
    y = x[k] * 2
    x[:2] = 7
    return y
@fused
def g(x, k):
    x *= 2
    while x.max() < 50: x *= 2
    x -= 1
    x[k] += 1
    return x
x, log = np.arange(6.0), []
""",
        """
*2 r = f(x, np.array([1, 2]), log)
*2 r = f(x, np.array([1, 9]), log)
r = f(x, np.array([-7]), log)
r = f(x, np.array([1]), log)
*2 r = g(x, np.array([1, 2]))
*2 r = g(x + 1, np.array([1, 6]))
r = g(np.arange(3.0), np.array([1, 6]))
""",
    ),
}
