"""Programs around what is reached through something else: containers, keys, diagonals."""

from __future__ import annotations

_SETTINGS = """
S = {"k": 1.0, "a": np.array([1.0, 2.0])}
W = np.ones(2)
def scaled(p): return p * S["k"] * S["a"] * W
class Tap:
    def __init__(self, f): self.f = f
    def __call__(self, p): return self.f(p)
    def go(self, p): return self.f(p)
def enclosed(p, a=S["a"]):
    def inner(q): return scaled(q) * a
    return inner(p)
tap, known, several = Tap(scaled), {"a": scaled}, [enclosed, scaled]
part = __import__("functools").partial(scaled)
@fused
def f(p, g):
    S["k"] = 5.0
    S["a"] *= 2
    W[:] = 7
    r = [tap(p), tap.go(p), known["a"](p), several[0](p), several[1](p), part(p), g(p)]
    W[:] = 1
    S["a"] /= 2
    S["k"] = 1.0
    return r
p = np.array([1.0, 2.0])
"""

PROGRAMS = {
    "functions found in containers read what was changed": (
        _SETTINGS,
        """
*3 r = f(p, scaled)
*2 r = f(p, tap)
S["k"] = 3.0
*2 r = f(p + 1, enclosed)
W = np.array([2.0, 3.0])
*2 r = f(p, scaled)
""",
    ),
    "keys with numbers in them": (
        """
class Cache:
    def __init__(self): self.memo = {}; self.hits = 0
    @fused
    def get(self, n, x):
        key = (n, x.shape, float(x[0]), ("sum", float(x.sum())))
        if key in self.memo:
            self.hits += 1
            return self.memo[key]
        self.memo[key] = r = x * n
        return r
    @fused
    def put(self, n, x):
        self.memo[frozenset([n, 7])] = self.memo[n] = x + n
c = Cache()
x = np.arange(1.0, 7.0)
""",
        """
*3 r = c.get(2, x)
*2 r = c.get(3.5, x)
x += 1
*3 r = c.get(2, x)
c.put(5, x)
k = [[type(v).__name__ for v in k] for k in c.memo if not isinstance(k, int)]
""",
    ),
    "arrays under keys that are no strings": (
        """
def of(d): return d[0, 1]
@fused
def f(d, x):
    d[None] += x
    return of(d) * 2, d[2.5], d["n", 1] + x
@fused
def g(d, x): return of(d), 2 * of(d)
y, z = np.ones(3), np.ones(3)
d = {(0, 1): y, 2.5: z, None: z.copy(), ("n", 1): 1.5}
x = np.arange(3.0)
""",
        """
*2 r = f(d, x)
*2 q = g(d, x)
y += 1
*2 q = g(d, x)
d["n", 1] = 7.0
*2 r = f(d, x)
del d[2.5]
r = f(d, x)
""",
    ),
    "keys that are named tuples and classes": (
        """
from collections import OrderedDict, defaultdict, namedtuple
Key = namedtuple("Key", "layer kind")
class A: pass
@fused
def f(d, x):
    for v in d.values(): v -= 0.5 * x
    d[Key("n", 1)] = x * 2
    return {getattr(k, "layer", k): v.sum() for k, v in d.items()}
@fused
def g(x):
    ordered, several = OrderedDict(), defaultdict(list)
    for k in np.unique(x):
        ordered[int(k)] = (x == k).sum()
        several[float(k)].append(int(k))
    return ordered, several
d = {Key("a", "b"): np.ones(3), A: np.zeros(3)}
x = np.arange(3.0)
""",
        """
*3 r = f(d, x)
x += 1
*2 r = f(d, x)
*2 o, s = g(x)
k = [type(v).__name__ for v in (*o, *s)]
""",
    ),
    "types asked for in several ways": (
        """
@fused
def f(x): return [t.__name__ for t in map(type, [x, x.sum(), x > 0])]
@fused
def g(x): return type(x) is np.ndarray, isinstance(x, type), x * 2
@fused
def h(x, by): return by[type(x)](x) if type(x) in by else isinstance(x, type)
kind = type
@fused
def i(x): return kind(x * 2) is np.ndarray
@fused
def j(x, k=type): return k(x * 2) is np.ndarray
x = np.arange(3.0)
""",
        """
*2 r = f(x)
*2 r = g(x)
*2 r = h(x, {np.ndarray: np.sum, float: np.exp})
*2 r = i(x), j(x), j(x, type)
r = h(2.0, {np.ndarray: np.sum, float: np.exp})
""",
    ),
    "arrays that classes hold": (
        """
class Mesh:
    nodes = np.array([-1.0, 1.0])
    tables = {"a": np.arange(3.0), 2: [np.ones(2)]}
    def __init__(self, n): self.n = n
    def cell(self, i): return (i + self.nodes) * self.n + Mesh.nodes.sum() + self.tables[2][0]
    def bump(self):
        self.nodes *= 2
        self.tables["a"] += 1
        return self.nodes
    @classmethod
    def total(cls, x): return cls.nodes @ x
    @staticmethod
    def raw(x): return Mesh.nodes + x
class Sub(Mesh):
    nodes = np.array([5.0, 6.0])
@fused
def f(m, i): return m.cell(i), m.total(np.ones(2)), Mesh.raw(i), m.nodes, Sub(2).cell(i)
@fused
def g(m): return m.bump()
m, s = Mesh(3), Sub(2)
""",
        """
*2 r = f(m, 1)
*2 r = f(s, 1)
Mesh.nodes[0] += 1
*2 r = f(m, 2)
*2 r = g(m)
*2 r = g(s)
Mesh.nodes = np.array([7.0, 8.0])
*2 r = f(s, 1)
Mesh.tables[2][0][:] = 5
*2 r = f(m, 1)
q = [Mesh.nodes, Mesh.tables, Sub.nodes, Mesh.__dict__["nodes"]]
""",
    ),
    "rows exchanged by computed places": (
        """
@fused
def f(a):
    order = np.arange(len(a))
    for k in range(len(a) - 1):
        p = k + np.abs(a[k:, k]).argmax()
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[[k, p]] = order[[p, k]]
        a[k + 1:] -= np.outer(a[k + 1:, k] / a[k, k], a[k])
    return order, a[:, [0, p]]
rng = np.random.default_rng(0)
a = rng.normal(size=(5, 5))
""",
        """
*3 r = f(a.copy())
a = rng.normal(size=(5, 5))
*2 r = f(a.T.copy())
r = f(a)
""",
    ),
    "boards known by their bytes": (
        """
@fused(strict=True)
def f(board, seen):
    key = board.tobytes()
    new = key not in seen
    if new:
        seen[key] = len(seen), board * 2
    return new, seen[key], len((board.T + 1).tobytes("F"))
board, seen = np.arange(6).reshape(2, 3), {}
""",
        """
*2 r = f(board, seen)
board[0, 1] = 9
*2 r = f(board, seen)
board[0, 1] = 1
*2 r = f(board, seen)
*2 r = f(board.T, seen)
""",
    ),
    "diagonals written after the rest": (
        """
@fused
def f(m, mask):
    m[mask] = 0
    np.einsum("ii->i", m)[...] = 1.5
    return m.min()
@fused
def g(m):
    m.T[0] = 7
    np.einsum("ii->i", m[:4, :4])[...] += 1.5
    return m.sum()
m = np.asfortranarray(np.arange(64.0).reshape(8, 8))
""",
        """
*2 r = f(m, m > 50)
*2 r = g(m)
*2 r = g(m.T)
""",
    ),
}
