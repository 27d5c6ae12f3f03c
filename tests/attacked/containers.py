"""Programs around containers and arrays that are found, written and kept in them."""

from __future__ import annotations

_LATER = """
import collections, types, functools
K = 2.0; A = np.ones(6); log = []
def g1(x): return x + 0
def g2(x):
    log.append(len(log))
    return x * K + A
class Old:
    by = 1.0
    def m(self, x): return x * self.by
class New:
    by = 3.0
    def m(self, x): return x * self.by + K
class Holder: pass
"""
_COMES = """
*3 r = f(x)
put(%s)
*3 r = f(x)
K = 3.0
*2 r = f(x)
A[:] = 5.0
*2 r = f(x)
New.by = 7.0
*2 r = f(x)
"""
PROGRAMS = {
    "functions that come to a dict later": (
        _LATER
        + """
H = {'a': g1}
@fused
def f(x): return H['a'](x)
def put(g): H['a'] = g
x = np.arange(6.)
""",
        _COMES % "g2",
    ),
    "functions that come to a list of an object later": (
        _LATER
        + """
o = Holder(); o.steps = [g1]
@fused
def f(x):
    for g in o.steps: x = g(x)
    return x
def put(g): o.steps.append(g)
x = np.arange(6.)
""",
        _COMES % "g2",
    ),
    "objects that come to a container later": (
        _LATER
        + """
H = collections.OrderedDict(a=Old())
def call(x): return H['a'].m(x)
@fused
def f(x): return call(x)
def put(o): H['a'] = o
x = np.arange(6.)
""",
        _COMES % "New()",
    ),
    "an object that gets another class": (
        _LATER
        + """
o = Old()
@fused
def f(x): return o.m(x)
def put(kind): o.__class__ = kind
x = np.arange(6.)
""",
        _COMES % "New",
    ),
    "bound methods that are given": (
        _LATER
        + """
class B:
    def m(self, x): return x * K + A
@fused
def f(x, m, ms): return m(x) + ms[0](x)
x = np.arange(6.); b = B()
def put(_): pass
""",
        (_COMES % "0").replace("f(x)", "f(x, b.m, [b.m])"),
    ),
    "functions registered for kinds": (
        _LATER
        + """
@functools.singledispatch
def kind(v, x): return x
@kind.register
def _(v: int, x): return x * K + A[0]
@fused
def f(x): return kind(3, x)
def put(_): pass
x = np.arange(6.)
""",
        _COMES % "0",
    ),
    "what makes missing items": (
        _LATER
        + """
D = collections.defaultdict(lambda: 1.0)
@fused
def f(x):
    y = x * D['a']
    D.clear()
    return y
def put(g): D.default_factory = g
x = np.arange(6.)
""",
        _COMES % "lambda: K",
    ),
    "what makes missing items of an argument": (
        _LATER
        + """
@fused
def f(x, d): return x * d['b']
x = np.arange(6.)
""",
        """
*3 r = f(x, collections.defaultdict(lambda: 2.0))
*3 r = f(x, collections.defaultdict(lambda: K))
K = 9.0
*3 r = f(x, collections.defaultdict(lambda: K))
""",
    ),
    "types of lists": (
        _LATER
        + """
H = {list: 2.0, tuple: 3.0, range: 4.0}
@fused
def f(x, k): return x * H[type(k)], type(k) is list, type(k).__name__, k.__class__ is list
x = np.arange(6.)
""",
        """
*3 r = f(x, [1.0])
*3 r = f(x, (1.0,))
""",
    ),
    "classes as keys": (
        _LATER
        + """
H = {Old: 1.0, (New, 1): 2.0}
@fused
def f(x):
    for key in H:
        kind = key if isinstance(key, type) else key[0]
        x = kind().m(x)
    return x
def put(_): pass
x = np.arange(6.)
""",
        _COMES % "0",
    ),
    "arrays of another byte order": (
        """
@fused
def f(x):
    x += 2
    return x.sum(), x * 2
x = np.arange(5000.0).astype(">f8")
""",
        """
*4 r = f(x)
""",
    ),
    "copies of lists": (
        """
import copy
@fused
def f(l, x):
    a = copy.copy(l); b = copy.deepcopy(l); c = list(l); d = l[:]
    e = l + [1]; g = l * 2; h = [*l]; i = l.copy()
    l.append(x); l.append(l[0])
    return a, b, c, d, e, g, h, i, type(l), isinstance(l, list)
l = [np.ones(6), 2]; x = np.arange(6.)
""",
        """
*2 r = f(l, x)
""",
    ),
    "functions that are returned": (
        """
@fused
def f(x, n):
    y = x + n
    def g(z): return z + y * n
    return g, lambda: (x, y, n)
x = np.arange(6.)
""",
        """
g, h = f(x, 2); r = g(x), h()
g, h = f(x, 3); r = g(x), h()
x += 1
r = g(x), h()
""",
    ),
    "an expression in a text": (
        """
@fused
def f(x):
    y = x*2
    return eval('y + x')
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "code in a text": (
        """
K=1
@fused
def f(x):
    exec('K = 7', globals())
    return x*K
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a decorator that counts": (
        """
import functools
N=0
def counted(g):
    @functools.wraps(g)
    def inner(*a):
        global N
        N += 1
        return g(*a)
    return inner
@counted
def h(v): return v + N
@fused
def f(x):
    return h(x)*N + h(x)
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "containers and arrays that a writer of globals reads": (
        """
c = 0
hist = {}
@fused
def f(x):
    global c
    c += 1
    hist[c] = x * c
    return x + c
@fused
def g(x):
    def inner():
        nonlocal x
        x = x + 1
    inner(); inner()
    return x
@fused
def dl(d, x):
    del d['a']
    d['b'] = x
    return d
x = np.arange(6.)
""",
        """
*3 r = f(x)
*3 r = g(x)
r = dl({'a': 1, 'z': x}, x)
q = {'a': 1, 'b': 2, 'c': 3}
r = dl(q, x)
q['a'] = 2
r = dl(q, x)
""",
    ),
    "arrays that a writer of globals reads": (
        """
c = 0
A = np.ones(6)
@fused
def f(x):
    global c
    A[:] = x + c
    x += 1
    y = A + x
    c = c + x.sum()
    A[0] = y[1]
    return y, A
x = np.arange(6.)
""",
        """
*3 r = f(x)
*3 r = f(A)
""",
    ),
    "arrays written to globals": (
        """
c = None
@fused
def f(x):
    global c
    c = x * 2
    x -= 1
    return c + 1
@fused
def g(x):
    global last
    last = [x, x + 1, n]
    return x
n = 3
x = np.arange(6.)
""",
        """
*3 r = f(x)
*3 r = g(x)
""",
    ),
    "arrays written to globals before an error": (
        """
last = None
@fused
def f(x, n):
    global last
    last = x * 2, n
    x += 1
    if n: raise ValueError
    return x + n
x = np.arange(6.)
""",
        """
*3 r = f(x, 3.0)
*3 r = f(x, 0)
""",
    ),
    "arrays written to closures": (
        """
def mk():
    k = 0
    l = []
    @fused
    def f(x):
        nonlocal k
        k = x + k
        l.append(k)
        return x
    return f, lambda: (k, l)
f, get = mk()
x = np.arange(6.)
""",
        """
*3 r = f(x); s = get()
""",
    ),
    "containers that properties write": (
        """
log = []
d = {}
class P:
    @property
    def v(s):
        log.append(s.a)
        d['k'] = s.a * 2
        return s.a + 1
p = P(); p.a = np.ones(6)
@fused
def f(p, x): return p.v + x
x = np.arange(6.)
""",
        """
*4 r = f(p, x)
""",
    ),
    "containers that operators write": (
        """
log = []
class P:
    def __add__(s, x):
        log.append(x.sum())
        return s.a + x
p = P(); p.a = np.ones(6)
@fused
def f(p, x): return p + x
x = np.arange(6.)
""",
        """
*4 r = f(p, x)
""",
    ),
    "a dict read by a property and by name": (
        """
CONFIG = {'dt': 2.0}
class P:
    @property
    def v(s): return s.a * CONFIG['dt']
p = P(); p.a = np.ones(6)
@fused
def f(p, x): return p.v + x * CONFIG['dt']
x = np.arange(6.)
""",
        """
*3 r = f(p, x)
CONFIG['dt'] = 3.0
*3 r = f(p, x)
""",
    ),
    "a dict read by a property and written by name": (
        """
CONFIG = {'dt': 2.0}
class P:
    @property
    def v(s): return s.a * CONFIG['dt']
p = P(); p.a = np.ones(6)
@fused
def f(p, x):
    CONFIG['dt'] += 1
    return p.v + x * CONFIG['dt']
@fused
def g(p, x, c):
    c['dt'] += 1
    return p.v + x
x = np.arange(6.)
""",
        """
*3 r = f(p, x)
CONFIG['dt'] = 3.0
*3 r = f(p, x)
*3 r = g(p, x, CONFIG)
""",
    ),
    "arrays by name that are one object": (
        """
A = np.ones(6)
class P: pass
p = P(); p.a = A; p.l = [A]
@fused
def f(p, x):
    return x + (1 if p.a is A else 2) + (10 if p.l[0] is p.a else 20) + (100 if p.a is x else 200)
x = np.arange(6.)
""",
        """
*2 r = f(p, x)
p.a = x
*2 r = f(p, x)
A = x
*2 r = f(p, x)
""",
    ),
    "arrays and containers that were two objects, and are one": (
        """
import copy, operator
class P:
    def __init__(self, a): self.a = a
    def __eq__(self, other): return True
x = np.arange(6.); y = np.ones(6); z = y * 2
p = P(x); l = [1.0]; d = {}; t = (1.0, x)
@fused
def arrays(x, y): return x + (1 if x is y else 2)
@fused
def three(x, y, z): return x * 2 if y is z else x
@fused
def parts(x, o, l): return (x + 1 if o.a is x else x * 2), any(x is v for v in l)
@fused
def many(x, *others): return x + sum(a is b for a in others for b in others)
@fused
def wholes(x, a, b): return x + (1 if a is b else 2)
@fused
def inside(x, l): return x + l.index(x) if x in l[:1] else x
@fused
def by_operator(x, y): return x + (1 if operator.is_(x, y) else 2)
@fused
def copied(x, l):
    a, b = copy.deepcopy(l)
    return x + (1 if a is b else 2)
""",
        """
*2 r = arrays(x, y)
*2 r = arrays(x, x)
*2 r = arrays(y, x)
*2 r = three(x, y, z)
*2 r = three(x, y, y)
*2 r = three(x, x, z)
*2 r = parts(x, P(y), [y, z])
*2 r = parts(x, P(x), [y, z])
*2 r = parts(x, P(y), [y, x])
*2 r = many(x, y, z, p.a)
*2 r = many(x, y, z, z)
*2 r = wholes(x, P(y), P(y))
*2 r = wholes(x, p, p)
*2 r = wholes(x, [1.0], [1.0])
*2 r = wholes(x, l, l)
*2 r = wholes(x, {}, {})
*2 r = wholes(x, d, d)
*2 r = wholes(x, (1.0, x), (1.0, y))
*2 r = wholes(x, t, t)
*2 r = inside(x, [x, y])
*2 r = inside(x, [x, x])
*2 r = by_operator(x, y)
*2 r = by_operator(x, x)
*2 r = copied(x, [x, y])
*2 r = copied(x, [x, x])
""",
    ),
    "writers found in containers": (
        """
K=1
def h(v):
    global K
    K += 1
    return v
D={}
def reg(n): D[n]=h
reg('a')
class A:
    def __getattr__(s,n): return h
a=A()
@fused
def f(x):
    x = D['a'](x)
    x = a.zzz(x)
    return x*K
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
}
