# ruff: noqa: E501
"""Programs of many fields as users write them: text, and steps that call what is fused in it."""

from __future__ import annotations

HEAD = """import collections, functools, itertools, math
from collections import Counter, namedtuple
from dataclasses import dataclass
from typing import Any
def R(seed, *shape): return np.random.default_rng(seed).normal(size=shape)
def U(seed, *shape): return np.random.default_rng(seed).random(shape)
def I(seed, low, high, *shape, dtype=np.int64): return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)
"""

PROGRAMS: dict[str, tuple[str, str]] = {
    "tryfin": (
        r"""
count = Counter()
class Convergence(Exception):
    def __init__(self, it, res): super().__init__(it, res); self.it, self.res = it, res
@fused
def jacobi(A, b, tol=1e-8, maxit=25):
    x = np.zeros_like(b); D = np.diag(A)
    try:
        if (D == 0).any(): raise ZeroDivisionError("zero on the diagonal")
        for i in range(maxit):
            x = x + (b - A @ x) / D
            r = float(np.abs(b - A @ x).max())
            if r < tol: return x, i
        raise Convergence(i, round(r, 6))
    except ZeroDivisionError as e:
        count[str(e)] += 1
        return None, -1
    finally:
        count["calls"] += 1
def solve(A, b):
    try: return jacobi(A, b)
    except Convergence as c: return ("no", c.it)
""",
        r"""
A = R(1, 5, 5) + 10 * np.eye(5); r = solve(A, R(2, 5)); r = solve(A, R(3, 5))
B = A.copy(); B[2, 2] = 0; r = solve(B, R(2, 5))
r = solve(R(1, 5, 5), R(2, 5))
jacobi(R(1, 5, 5), R(2, 5), maxit=3)
r = jacobi(A, R(2, 5), 1e-2)
""",
    ),
    "pagerank": (
        r"""
@dataclass
class CSR:
    indptr: Any
    indices: Any
    data: Any
    n: int
    @classmethod
    def from_edges(cls, src, dst, n):
        o = np.lexsort((dst, src)); src, dst = src[o], dst[o]
        indptr = np.zeros(n + 1, int); np.add.at(indptr, src + 1, 1); indptr = np.cumsum(indptr)
        return cls(indptr, dst, np.ones(len(dst)), n)
    @property
    def rows(self): return np.repeat(np.arange(self.n), np.diff(self.indptr))
    def __matmul__(self, x):
        y = np.zeros((self.n,) + x.shape[1:]); np.add.at(y, self.rows, (self.data * x[self.indices].T).T)
        return y
    def T(self): return CSR.from_edges(self.indices, self.rows, self.n)
@fused
def pagerank(A, d=0.85, tol=1e-6):
    out = np.bincount(A.rows, minlength=A.n)
    x = np.full(A.n, 1 / A.n); it = 0
    At = A.T()
    while it < 50:
        y = np.where(out > 0, x / np.maximum(out, 1), 0)
        new = (1 - d) / A.n + d * (At @ y + x[out == 0].sum() / A.n)
        it += 1
        if np.abs(new - x).sum() < tol: break
        x = new
    return new, it
@fused
def bfs(A, s):
    dist = np.full(A.n, -1); dist[s] = 0; front = np.array([s]); lvl = 0
    while front.size:
        lvl += 1
        nxt = np.unique(np.concatenate([A.indices[A.indptr[v]:A.indptr[v + 1]] for v in front]))
        front = nxt[dist[nxt] < 0]
        dist[front] = lvl
    return dist, lvl
@fused
def reducerows(A):
    nz = np.diff(A.indptr) > 0
    return np.add.reduceat(A.data, A.indptr[:-1][nz]), np.maximum.reduceat(A.indices, A.indptr[:-1][nz])
A = CSR.from_edges(I(1, 0, 10, 25), I(2, 0, 10, 25), 10)
""",
        r"""
p, it = pagerank(A); d, l = bfs(A, 0); y = A @ R(1, 10); r = reducerows(A)
A = CSR.from_edges(I(3, 0, 7, 12), I(4, 0, 7, 12), 7); p, it = pagerank(A, 0.5); d, l = bfs(A, 3); y = A @ R(2, 7, 2); r = reducerows(A)
A.data = A.data * 2; y = A @ R(2, 7)
""",
    ),
    "kinematics": (
        r"""
@dataclass
class DH:
    a: float
    alpha: float
    d: float
    limits: tuple = (-3.14, 3.14)
    def T(self, q):
        c, s, ca, sa = np.cos(q), np.sin(q), math.cos(self.alpha), math.sin(self.alpha)
        return np.array([[c, -s * ca, s * sa, self.a * c], [s, c * ca, -c * sa, self.a * s], [0, sa, ca, self.d], [0, 0, 0, 1.0]])
@fused
def fk(links, q): return functools.reduce(np.matmul, (l.T(v) for l, v in zip(links, q)))
@fused
def ik(links, target, q, n=5, lam=0.1):
    q = np.array(q, float)
    for _ in range(n):
        p = fk(links, q)[:3, 3]
        J = np.empty((3, len(q)))
        for i in range(len(q)):
            dq = q.copy(); dq[i] += 1e-6
            J[:, i] = (fk(links, dq)[:3, 3] - p) / 1e-6
        q += J.T @ np.linalg.solve(J @ J.T + lam ** 2 * np.eye(3), target - p)
        q = np.clip(q, *np.array([l.limits for l in links]).T)
    return q, float(np.linalg.norm(target - p))
L = [DH(0.5, 0.0, 0.1), DH(0.4, 1.57, 0.0), DH(0.2, 0.0, 0.0, (-1, 1))]
""",
        r"""
T = fk(L, [0.1, 0.2, 0.3]); q, e = ik(L, np.array([0.5, 0.5, 0.2]), [0.1, 0.1, 0.1])
L[0].a = 0.7; T = fk(L, R(1, 3)); q, e = ik(L, np.array([0.2, 0.5, 0.2]), (0, 0, 0), n=2); T = fk(L[:2], [0, 1])
""",
    ),
    "smithwaterman": (
        r"""
CODE = {c: i for i, c in enumerate("ACGT")}
def encode(s): return np.frombuffer(s.encode(), np.uint8)
@fused
def align(a, b, match=2, miss=-1, gap=-2):
    n, m = len(a), len(b)
    H = np.zeros((n + 1, m + 1), np.int32)
    for k in range(2, n + m + 1):
        i = np.arange(max(1, k - m), min(n, k - 1) + 1)
        j = k - i
        s = np.where(a[i - 1] == b[j - 1], match, miss)
        H[i, j] = np.maximum.reduce([H[i - 1, j - 1] + s, H[i - 1, j] + gap, H[i, j - 1] + gap, np.zeros_like(s)])
    return H
@fused
def onehot(a):
    lut = np.full(256, 4, np.uint8)
    for c, i in CODE.items(): lut[ord(c)] = i
    return np.eye(5, dtype=np.float32)[lut[a]][:, :4]
@fused
def kmers(a, k):
    lut = np.zeros(256, np.int64); lut[np.frombuffer(b"ACGT", np.uint8)] = np.arange(4)
    w = np.lib.stride_tricks.sliding_window_view(lut[a], k) @ (4 ** np.arange(k - 1, -1, -1))
    u, c = np.unique(w, return_counts=True)
    return dict(zip(u.tolist(), c.tolist()))
""",
        r"""
H = align(encode("ACACACTA"), encode("AGCACACA")); sc = int(H.max()); at = np.unravel_index(H.argmax(), H.shape)
H = align(encode("GGTTGACTA"), encode("TGTTACGG"), 3, -3)
o = onehot(encode("ACGTNA")); km = kmers(encode("ACGTACGTGA"), 3)
o = onehot(encode("")); km = kmers(encode("TTTTTTA"), 2)
""",
    ),
    "knn": (
        r"""
@fused
def knn(train, labels, q, k=3, metric="l2", weights=None):
    match metric:
        case "l2": d = np.sqrt(np.maximum((q ** 2).sum(1)[:, None] + (train ** 2).sum(1) - 2 * q @ train.T, 0))
        case "l1": d = np.abs(q[:, None] - train).sum(-1)
        case "cos": d = 1 - (q @ train.T) / (np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(train, axis=1))
        case _: raise ValueError(f"unknown metric {metric!r}")
    idx = np.argpartition(d, k, axis=1)[:, :k]
    dd = np.take_along_axis(d, idx, axis=1)
    o = np.argsort(dd, axis=1)
    idx = np.take_along_axis(idx, o, axis=1); dd = np.take_along_axis(dd, o, axis=1)
    votes = np.zeros((len(q), labels.max() + 1))
    w = np.ones_like(dd) if weights is None else 1 / (dd + 1e-9)
    np.add.at(votes, (np.arange(len(q))[:, None], labels[idx]), w)
    return votes.argmax(1), dd
tr, la = R(1, 40, 4), I(2, 0, 3, 40)
""",
        r"""
a, d = knn(tr, la, R(3, 7, 4))
a, d = knn(tr, la, R(3, 7, 4), metric="l1", k=5)
a, d = knn(tr, la, R(4, 7, 4), metric="cos", weights="distance")
a, d = knn(tr, la, R(5, 2, 4), metric="bad")
a, d = knn(tr[:10], la[:10], R(6, 3, 4), 2)
""",
    ),
    "hmm": (
        r"""
class HMM:
    def __init__(self, A, B, pi): self.A, self.B, self.pi = A, B, pi
    @fused
    def forward(self, obs):
        T, N = len(obs), len(self.pi)
        al = np.empty((T, N)); sc = np.empty(T)
        a = self.pi * self.B[:, obs[0]]
        for t, o in enumerate(obs):
            if t: a = (al[t - 1] @ self.A) * self.B[:, o]
            sc[t] = a.sum(); al[t] = a / sc[t]
        return al, np.log(sc).sum()
    @fused
    def viterbi(self, obs):
        with np.errstate(divide="ignore"):
            lA, lB = np.log(self.A), np.log(self.B)
            d = np.log(self.pi) + lB[:, obs[0]]
        back = []
        for o in obs[1:]:
            s = d[:, None] + lA
            back.append(s.argmax(0)); d = s.max(0) + lB[:, o]
        path = [int(d.argmax())]
        for b in reversed(back): path.append(int(b[path[-1]]))
        return path[::-1], float(d.max())
    @fused
    def backward(self, obs, sc=None):
        b = np.ones(len(self.pi)); out = [b]
        for o in obs[:0:-1]:
            b = self.A @ (self.B[:, o] * b); b = b / b.sum(); out.insert(0, b)
        return np.array(out)
h = HMM(np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]), np.array([0.6, 0.4]))
obs = I(1, 0, 3, 8)
""",
        r"""
al, ll = h.forward(obs); p = h.viterbi(obs); b = h.backward(obs)
al, ll = h.forward([0, 1, 2, 2]); p = h.viterbi([0, 1, 2, 2])
h.A = np.array([[0.9, 0.1], [0.0, 1.0]]); p = h.viterbi(I(2, 0, 3, 8))
obs = I(9, 0, 3, 8); g = al[:, 0]
""",
    ),
    "iterproto": (
        r"""
class Grid:
    def __init__(self, a): self.a = a
    def __iter__(self): return iter(self.a)
    def __len__(self): return len(self.a)
    def __getitem__(self, k): return self.a[k]
    def __setitem__(self, k, v): self.a[k] = v
    def __contains__(self, v): return bool((self.a == v).any())
    def __array__(self, dtype=None, copy=None): return np.array(self.a, dtype)
    def __bool__(self): return bool(self.a.any())
    def __enter__(self): self.saved = self.a.copy(); return self
    def __exit__(self, *e):
        if e[0] is not None: self.a[...] = self.saved
        return False
@fused
def use(g, k):
    s = [row.sum() for row in g]
    g[0] = g[1] * 2
    g[k, 1:] += 1
    return s, len(g), 3.5 in g, np.mean(g), np.asarray(g) + 1, (1 if g else 0), [*g][0], max(s)
@fused
def trans(g, fail):
    with g as h:
        h[...] = h.a * 2
        if fail: raise RuntimeError("rolled back")
    return h.a.sum()
g = Grid(R(1, 3, 4))
""",
        r"""
u = use(g, 2); u = use(g, 0); t = trans(g, False); t = trans(g, False)
t = trans(g, True)
g.a = np.zeros((2, 3)); u = use(g, 1); g.a = R(2, 3, 4).T; u = use(g, 3)
u = use(g, 9)
""",
    ),
    "closures": (
        r"""
def make_counter(k):
    n = 0
    hist = []
    @fused
    def step(x):
        nonlocal n
        n += 1
        hist.append(float(x.sum()) * k)
        return x * n + k
    def get(): return n, hist
    def setk(v):
        nonlocal k
        k = v
    return step, get, setk
def make_filter(taps):
    buf = np.zeros(len(taps))
    @fused
    def f(v):
        buf[1:] = buf[:-1]; buf[0] = v
        return float(buf @ taps)
    return f, buf
st, get, setk = make_counter(2.0); fl, buf = make_filter(np.array([0.5, 0.3, 0.2])); ys = []
""",
        r"""
y = st(R(1, 3)); y = st(R(2, 3)); setk(3.0); y = st(R(3, 3)); g = get()
for v in (1.0, 2, -1, 0.5): ys.append(fl(v))
st2, get2, _ = make_counter(1); y = st2(R(3, 4)); g2 = get2()
""",
    ),
    "sortnet": (
        r"""
@fused
def bitonic(x):
    n = len(x); x = x.copy(); k = 2
    i = np.arange(n)
    while k <= n:
        j = k // 2
        while j:
            p = i ^ j
            up = (i & k) == 0
            lo, hi = np.minimum(x, x[p]), np.maximum(x, x[p])
            x = np.where((i < p) == up, lo, hi)
            j >>= 1
        k <<= 1
    return x
@fused
def oddeven(a):
    swaps = 0
    while True:
        n = 0
        for s in (0, 1):
            l, r = a[s:-1:2], a[s + 1::2]
            m = l > r
            n += int(m.sum())
            l[m], r[m] = r[m], l[m]
        swaps += n
        if not n: return swaps
""",
        r"""
b = bitonic(R(1, 16)); c = bitonic(I(2, 0, 99, 32))
a = I(3, 0, 50, 9); s = oddeven(a); a2 = R(5, 9); s = oddeven(a2)
b = bitonic(np.array([3.0, np.nan, 1, 2]))
a3 = I(7, 0, 50, 20)[::2]; s = oddeven(a3)
""",
    ),
    "percolation": (
        r"""
def find(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]; i = parent[i]
    return i
@fused
def spans(grid):
    reach = np.zeros_like(grid); reach[0] = grid[0]
    n = 0
    while True:
        new = reach.copy()
        new[1:] |= reach[:-1]; new[:-1] |= reach[1:]; new[:, 1:] |= reach[:, :-1]; new[:, :-1] |= reach[:, 1:]
        new &= grid
        n += 1
        if (new == reach).all(): break
        reach = new
    return bool(reach[-1].any()), n, reach.sum()
@fused
def union(grid):
    h, w = grid.shape
    parent = np.arange(h * w)
    for y, x in np.argwhere(grid):
        for dy, dx in ((0, 1), (1, 0)):
            if y + dy < h and x + dx < w and grid[y + dy, x + dx]:
                a, b = find(parent, y * w + x), find(parent, (y + dy) * w + x + dx)
                if a != b: parent[b] = a
    roots = [find(parent, i) for i in np.flatnonzero(grid)]
    return len(set(map(int, roots)))
""",
        r"""
s = spans(U(1, 12, 12) < 0.7); s = spans(U(2, 12, 12) < 0.55); s = spans(U(3, 9, 14) < 0.8); u = union(U(1, 4, 4) < 0.6)
s = spans(np.zeros((3, 3), bool)); u = union(U(2, 4, 4) < 0.6)
""",
    ),
    "lsm": (
        r"""
@fused
def lsm(paths, strike, r, dt, deg=2):
    n, steps = paths.shape
    cash = np.maximum(strike - paths[:, -1], 0)
    ex = np.zeros(steps, int)
    for t in range(steps - 2, 0, -1):
        cash *= np.exp(-r * dt)
        itm = paths[:, t] < strike
        if itm.sum() > deg + 1:
            x = paths[itm, t]
            c = np.polyfit(x, cash[itm], deg)
            cont = np.polyval(c, x)
            pay = strike - x
            now = pay > cont
            ix = np.flatnonzero(itm)[now]
            cash[ix] = pay[now]
            ex[t] = now.sum()
    return cash.mean() * np.exp(-r * dt), ex
""",
        r"""
p = 100 * np.exp(np.cumsum(0.1 * R(1, 60, 6), axis=1))
v, ex = lsm(p, 100.0, 0.05, 0.2)
v, ex = lsm(p * 1.3, 100.0, 0.05, 0.2)
v, ex = lsm(p[:, ::-1], 95, 0.01, 0.2, deg=1)
""",
    ),
}
