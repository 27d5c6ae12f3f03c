"""Programs around objects and classes: attributes, properties, copies, types that change."""

from __future__ import annotations

PROGRAMS = {
    "methods of which the code is looked at": (
        """
import inspect
class K:
    def __init__(self, a=None, b=2): self.a, self.b = a, b
    def scaled(self, x): return x * self.b
@fused
def f(k, x):
    names = inspect.getfullargspec(k.__init__)[0]
    return k.scaled(x), names, k.__init__.__defaults__, k.scaled.__code__.co_varnames
x = np.arange(6.)
""",
        """
*3 r = f(K(), x)
r = f(K(b=3), x)
""",
    ),
    "an attribute that hides an inherited one": (
        """
class A:
    w = 1.0
    def g(s, x): return x * s.w
class B_(A):
    def g(s, x): return super().g(x) + s.h(x)
    def h(s, x): return x - 1
    @classmethod
    def cm(cls, x): return x * cls.w
    @staticmethod
    def sm(x): return x + 7
b = B_()
@fused
def f(b, x): return b.g(x) + b.cm(x) + B_.sm(x)
x = np.arange(6.)
""",
        """
*3 r = f(b, x)
A.w = 2.0
*3 r = f(b, x)
B_.w = 4.0
*3 r = f(b, x)
B_.h = lambda s, x: x + 100
*3 r = f(b, x)
b.h = lambda x: x
*3 r = f(b, x)
B_.sm = staticmethod(lambda x: x*0)
*3 r = f(b, x)
A.g = lambda s, x: x
*3 r = f(b, x)
""",
    ),
    "attributes of a metaclass": (
        """
class M(type):
    q = 3.0
    def __getattr__(c, n):
        if n == 'zz': return 5.0
        raise AttributeError(n)
class A(metaclass=M):
    pass
@fused
def f(x): return x * A.q + A.zz
x = np.arange(6.)
""",
        """
*3 r = f(x)
M.q = 4.0
*3 r = f(x)
A.zz = 9.0
*3 r = f(x)
A.q = 1.0
*3 r = f(x)
""",
    ),
    "containers of classes": (
        """
class P:
    log = []
    def m(s, x):
        s.log.append(x.sum())
        return x + 1
p = P()
@fused
def f(p, x): return p.m(x)
@fused
def g(x):
    P.log.append(x * 2)
    return x
x = np.arange(6.)
""",
        """
*4 r = f(p, x)
*4 r = g(x)
""",
    ),
    "setattr of objects and classes": (
        """
class P: pass
p = P()
@fused
def f(x, n):
    setattr(p, 'a', x * n)
    setattr(P, 'b', x * n)
    p.__dict__['c'] = x
    vars(p)['d'] = x
    return x
x = np.arange(6.)
""",
        """
*4 r = f(x, 2.0)
""",
    ),
    "attributes of functions": (
        """
@fused
def f(x):
    g.count = getattr(g, 'count', 0) + 1
    g.last = x * 2
    return x + g.count
def g(): pass
x = np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "attributes that a class gets": (
        """
class P: pass
p = P()
@fused
def f(p, x): return x * 2 if hasattr(p, 'q') else x
x = np.arange(6.)
""",
        """
*2 r = f(p, x)
P.q = 1
*2 r = f(p, x)
del P.q
*2 r = f(p, x)
p.q = 1
*2 r = f(p, x)
""",
    ),
    "helpers of properties": (
        """
log = []
st = {'n': 1.0}
def help(x):
    log.append(x * 2); st['n'] += 1
    return x * st['n']
class P:
    @property
    def v(s): return help(s.a)
p = P(); p.a = np.ones(6)
@fused
def f(p, x): return help(x) + p.v
@fused
def g(p, x): return p.v
x = np.arange(6.)
""",
        """
*3 r = g(p, x)
st['n'] = 8.0
*3 r = g(p, x)
*3 r = f(p, x)
""",
    ),
    "attributes of the type of an argument": (
        """
class P: pass
p = P()
@fused
def f(p, x, n):
    k = type(p)
    k.last = n
    return x + n
x = np.arange(6.)
""",
        """
*3 r = f(p, x, 2)
*3 r = f(p, x, 3)
""",
    ),
    "arrays that are one object": (
        """
@fused
def f(a, b, l):
    s = (a is b, l[0] is a, l[0] is l[1], a is a[:], b in [a])if a is b else a is l[0]
    l.append(a)
    return s, a + 1, l[-1] is a
x = np.arange(6.); y = np.ones(6)
""",
        """
*2 r = f(x, y, [x, y])
*2 r = f(y, x, [x, x])
r = f(x, x[:], [x, y])
""",
    ),
    "copies of objects": (
        """
import copy
class P: pass
@fused
def f(p, x):
    q = copy.copy(p); d = copy.deepcopy(p)
    q.n = 5; d.a += 1; q.l.append(x)
    return q, d
p = P(); p.a = np.ones(6); p.l = [p.a]; p.n = 1
x = np.arange(6.)
""",
        """
*3 r = f(p, x)
p.n = 7
*3 r = f(p, x)
""",
    ),
    "lists of the type of a list": (
        """
@fused
def f(l, x):
    k = l.__class__()
    k.append(x)
    m = type(l)([1, 2])
    l.append(x)
    return k, m, sorted([1, 2]), l is not k, [l, l], {'a': l}
l = [1]; x = np.arange(6.)
""",
        """
*3 r = f(l, x)
""",
    ),
    "slots that are empty": (
        """
class P:
    __slots__ = ('a', 'b', 'c')
p = P(); p.a = np.ones(6)
@fused
def f(p, x):
    if hasattr(p, 'b'):
        del p.b
        p.c = p.a
    else:
        p.b = p.a * 2
    return x + p.a
x = np.arange(6.)
""",
        """
*6 r = f(p, x)
del p.c
*3 r = f(p, x)
""",
    ),
    "the attributes of an object as a dict": (
        """
class P: pass
p = P(); p.a = np.ones(6); p.n = 2
@fused
def f(p, x):
    for k in list(p.__dict__): x = x + getattr(p, k)
    for k, v in p.__dict__.items(): x = x + v
    p.__dict__['n'] = 3
    return x, sorted(p.__dict__), dir(p)[-1], p.__dict__
x = np.arange(6.)
""",
        """
*3 r = f(p, x)
p.q = 5.0
*3 r = f(p, x)
""",
    ),
    "copies of objects with methods": (
        """
import copy, pickle
class P:
    def m(s, x): return x * s.k
    def cl(s):
        q = P(); q.__dict__.update(s.__dict__); return q
    def cp(s): return copy.copy(s)
p = P(); p.k = 2.0; p.a = np.ones(6)
@fused
def f(p, x):
    q = p.cl(); w = p.cp()
    q.k = 5.0; w.k = 7.0
    return q, w, q.m(x), w.m(x), p.m(x)
x = np.arange(6.)
""",
        """
*3 r = f(p, x); s = r[0].m(x), r[1].m(x), p.m(x)
p.k = 3.0
*3 r = f(p, x); s = r[0].m(x), r[1].m(x), p.m(x)
""",
    ),
    "classes in a dict of a class": (
        """
class Reg:
    all = {}
    def __init_subclass__(cls, **k): Reg.all[cls.__name__] = cls
class A(Reg):
    k = 2
class C(Reg):
    k = 3
@fused
def f(x, n): return x * Reg.all[n].k
x = np.arange(6.)
""",
        """
*2 r = f(x, 'A')
*2 r = f(x, 'C')
A.k = 5
*2 r = f(x, 'A')
Reg.all['A'] = C
*2 r = f(x, 'A')
""",
    ),
    "instances that are copied by their attributes": (
        """
K = np.ones(6); L = []
class P:
    def m(s, x): return x * s.k + K
    def cl(s):
        q = P(); q.__dict__.update(s.__dict__); return q
p = P(); p.k = 2.0; p.a = np.ones(6)
@fused
def f(p, x):
    q = p.cl()
    q.k = 5.0
    return q, q.m(x), p.m(x)
x = np.arange(6.)
""",
        """
*3 r = f(p, x); s = r[0].m(x), p.m(x)
K += 1
*3 r = f(p, x); s = r[0].m(x), p.m(x)
""",
    ),
    "classes that are found in containers": (
        """
class A:
    pass
class R:
    all = [A]
A.k = 2
@fused
def f(x): return x * R.all[0].k
@fused
def g(x, c): return x * c.k
@fused
def h(x, o): return x * o.kind.k
o = R(); o.kind = A
x = np.arange(6.)
""",
        """
*2 r = f(x), g(x, A), h(x, o)
A.k = 5
*2 r = f(x), g(x, A), h(x, o)
class B_(A): k = 7
o.kind = B_
*2 r = f(x), g(x, B_), h(x, o)
B_.k = 8
*2 r = f(x), g(x, B_), h(x, o)
""",
    ),
    "bases that change": (
        """
class A: k = 1
class C: k = 2
class B_(A): pass
b = B_()
@fused
def f(x, b): return x * b.k
x = np.arange(6.)
""",
        """
*2 r = f(x, b)
B_.__bases__ = (C,)
*2 r = f(x, b)
b.__class__ = C
*2 r = f(x, b)
""",
    ),
    "types that are asked for": (
        """
count = 0
cfg = {'type': 'linear'}
class Bag:
    def __init__(s, v): s.v = v
    def kind(s): return type(s.v) is np.ndarray, type(s.v.sum()).__name__, type(s) is Bag
@fused
def f(x, n):
    kinds = [type(v).__name__ for v in (x, n, n * 2, x[0], x > n, x.sum().item())]
    known = {np.ndarray: 1}.get(type(x)), type(n) is float, type('T', (), {}).__name__
    return Bag(x * n).kind(), kinds, known, x.astype(type(n)), cfg['type']
@fused
def g(x):
    global count
    count += 1
    return x * 2 if type(x) is np.ndarray else 'something else'
@fused
def h(x): return Bag(x).kind()
x = np.arange(6.)
""",
        """
*3 r = f(x, 2.5)
*3 r = f(x, 3)
r = f(x, np.float32(2))
*3 r = g(x), h(x)
""",
    ),
}
