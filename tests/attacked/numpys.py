# ruff: noqa: E501
"""Programs around what NumPy has besides operators: flat iterators, pieces, axes, names."""

from __future__ import annotations

PROGRAMS = {
    "flat iterators": (
        """
def tried(fn, *a):
    try: return fn(*a)
    except Exception as e: return type(e).__name__, str(e)
@fused
def f(x):
    x.flat[::3] = -1
    x.flat[[1, 2]] += 5
    x.flat[0] = 7; x.flat[-1] *= 2
    x.flat[1:5] = [1, 2]
    x.flat[np.array([0, 3])] = np.array([8.0, 9.0])
    x.flat[x.ravel() < 0] = 0
    a = x.flat[2:5]; a += 100
    return x.flat[3], a, len(x.flat), [float(v) for v in x.flat][:3], x.flat[[0, 1]], sum(x.flat), x.flat.base is x
@fused
def g(x):
    x.T.flat[1:3] = 50; x[::2].flat = 1; x[:, ::-1].flat[0] = 33
    it = x.flat
    n = next(it); i = it.index; c = it.coords
    return n, i, c, [v for v in it][:2], x.flat.copy(), tried(lambda: x.flat[99]), tried(lambda: x.flat[0, 1])
@fused
def band(n, k): m = np.zeros((n, n)); m.flat[:: n + 1] = k; m.flat[1 :: n + 1] = -1; return m, m.flat == k
""",
        """
x = np.arange(12.0).reshape(3, 4)
*2 r = f(x)
r = f(x.T)
r = f(np.arange(6.0)[::-1])
r = f(np.arange(12).reshape(3, 4))
*2 r = g(x + 1)
r = g(np.arange(16.0).reshape(4, 4)[::-1, ::2])
*2 r = band(4, 2.0)
r = band(3, 5.0)
""",
    ),
    "pieces": (
        """
@fused
def f(x, a):
    return (np.piecewise(x, [x < 0, x >= 0], [lambda v: -v * a, lambda v: v + a]), np.piecewise(x, [x < -1, x > 1], [-1, 1, 0]),
            np.piecewise(x, x < 0, [2]), np.piecewise(x, [x > 9], [lambda v: v * 0, 5]))
@fused
def g(x, k): return np.piecewise(x, [x < k], [lambda v, s, t=1: v * s + t, lambda v, s, t=1: v], 3, t=7)
@fused
def bad(x): return np.piecewise(x, [x < 0, x > 0, x == 0], [1])
x = np.arange(6.0) - 2.5
""",
        """
*2 r = f(x, 2.0)
r = f(x[::-1] * 2, 3.0)
r = f(np.arange(-3, 3), 2)
r = f(x.reshape(2, 3), 2.0)
r = f(np.array(0.5), 1.0)
r = f(np.zeros(0), 1.0)
*2 r = g(x, 0.0)
r = bad(x)
""",
    ),
    "outputs, functions along axes, memory": (
        """
import array
@fused
def f(x, q, w, buf):
    np.divmod(x, 0.7, out=(q, w))
    fraction, whole = np.modf(x, out=(None, buf))
    np.multiply.accumulate(x, axis=1, out=buf)
    np.add.accumulate(x, axis=1, out=x)
    return fraction, np.apply_along_axis(np.median, 1, x), np.apply_over_axes(np.sum, x, [0, 1]), np.asfortranarray(x) + 1, x.byteswap().byteswap(inplace=True)
@fused
def g(x, data):
    print(end="")
    return np.frombuffer(data, np.uint8) + x[0], np.asarray(memoryview(x)) + 1
@fused
def same(x, known): return known(x) is x, known(x) is known(x)
def known(x): return x
x = np.arange(6.0).reshape(2, 3) - 2
q, w, b = np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3))
""",
        """
*2 r = f(x, q, w, b)
r = f(x + 1, q, w, q)
r = f(x.astype("f4"), q, w, b)
r = f(x.T.copy(), q, w, b)
*2 r = g(x, bytearray(b"ab"))
r = g(x, array.array("B", [1, 2]))
*2 r = same(x, __import__("numpy").asarray)
""",
    ),
    "functions by names that are computed": (
        """
@fused
def f(x, how): return getattr(np, "nan" + how)(x), getattr(np, how.upper(), None) is None, getattr(x, how)()
@fused
def g(n, name): return getattr(np, name)(n) * 2
class Box: pass
@fused
def h(b, name): return getattr(b, name) * 2, getattr(b, "no", 5)
b = Box(); b.w = np.arange(3.0); b.v = 2
x = np.arange(3.0)
""",
        """
*2 r = f(x, "sum")
r = f(x, "max")
r = f(x, "nothing")
*2 r = g(4, "hanning")
r = g(4, "hamming")
*2 r = h(b, "w")
r = h(b, "v")
np.nansum = np.nanmax
r = f(x, "sum")
np.nansum = np.lib._nanfunctions_impl.nansum
r = f(x, "sum")
""",
    ),
    "heaps, slices, counters and managers": (
        """
import bisect, contextlib, heapq
from collections import Counter
@contextlib.contextmanager
def scaled(d, k):
    old = d["a"].copy()
    d["a"] *= k
    try: yield d["a"]
    finally: d["a"] = old
@fused
def f(x, heap, c, d):
    heapq.heappush(heap, float(x.max()))
    least = heapq.heappop(heap) if len(heap) > 3 else heap[0]
    c["calls"] += 1; c.update(["a", "b"])
    with contextlib.suppress(IndexError), scaled(d, least) as a:
        c["sum"] += float(a.sum())
        x[99] = 1
    k = bisect.bisect(heap, least)
    return slice(int(x.argmin()), int(x.argmax()) + 1), slice(None, x.max()), heap, c.most_common(2), k
@fused
def push(x, heap): heapq.heappush(heap, float(x.max())); return x + 1
@fused
def part(x, s): return x[s] * 2, s
heap, c, d = [2.0], Counter(), {"a": np.ones(2)}
x = np.arange(5.0)
""",
        """
*3 r = f(x, heap, c, d)
r = f(x[::-1] + 1, heap, c, d)
heap.clear(); heap.append(9.0)
*2 r = f(x, heap, c, d)
c.clear()
r = f(x, heap, c, d)
heap = [5.0]
*3 r = push(x + 3, heap)
heap = [100.0]
*2 r = push(x + 3, heap)
*2 r = part(x, slice(1, 3))
r = part(x, slice(np.int64(2), None))
r = part(x, r[1])
""",
    ),
    "results that are kept by their object": (
        """
import functools
class Model:
    def __init__(self, k): self.k = k
    @functools.lru_cache
    def weights(self, n): return np.arange(n) + self.k
@fused
def f(x, m): return x + m.weights(3)
m, x = Model(2.0), np.arange(3.0)
""",
        """
*2 r = f(x, m)
m.k = 5.0
*2 r = f(x, m)
r = f(x, Model(9.0))
""",
    ),
}
