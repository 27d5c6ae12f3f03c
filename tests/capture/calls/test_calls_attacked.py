"""Programs that fused functions once got wrong: each runs side by side with its plain twin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz_calls import failure, written
from tests.side_by_side import run


@pytest.fixture(autouse=True)
def no_trials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Calls are replayed, however fast the plain ones are."""
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.wants_plain", property(lambda s: False))
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.took", lambda *args, **kwargs: None)
    return


PROGRAMS = {
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
    "objects that a writer of globals reads": (
        """
c = 0
class P: pass
p = P(); p.a = np.ones(6)
@fused
def f(x):
    global c
    c = x * 2
    p.b = x + 1
    p.a += 1
    x -= 1
    return p.b + p.a
x = np.arange(6.)
""",
        """
*3 r = f(x)
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
    "numbers written to globals": (
        """
last = None
@fused
def f(x, n):
    global last
    last = n * 2
    return x + n
x = np.arange(6.)
""",
        """
*3 r = f(x, 3)
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
    "attributes of classes that are written": (
        """
class P:
    log = []
    count = 0
    def m(s, x):
        P.count += 1
        s.log.append(x * 2)
        type(s).last = x
        return x + P.count
    @classmethod
    def cm(cls, x):
        cls.z = x * 2
        return x
p = P()
@fused
def f(p, x): return p.m(x)
@fused
def g(p, x): return p.cm(x)
x = np.arange(6.)
""",
        """
*4 r = f(p, x)
*4 r = g(p, x)
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
    "functions and globals that are returned": (
        """
def help(x): return x + K
K = 1.0; L = [1]
@fused
def f(x, n):
    L.append(n)
    return help, x + n, help(x)
@fused
def g(o, x):
    o['cb'] = lambda: x * 2
    o['h'] = help
    o['L'] = L
    return x + 1
o = {}
x = np.arange(6.)
""",
        """
*2 r = f(x, 2)
*2 r = g(o, x); s = o['cb']()
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
    "a helper that writes a global": (
        """
K=1
def h(v):
    global K
    K += 1
    return v
@fused
def f(x):
    x = h(x)
    return x*K
x=np.arange(6.)
""",
        """
*4 r = f(x)
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
    "a generator that writes a global": (
        """
K=1
def gen():
    global K
    for i in range(3):
        K += i
        yield i
@fused
def f(x):
    for i in gen():
        x = x*K
    return x
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a key of sorting that writes a global": (
        """
K=1
def key(v):
    global K
    K += 1
    return -v
@fused
def f(x):
    l = sorted([1,2,3], key=key)
    return x*K + l[0]
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a helper that writes to a module": (
        """
import types
m = types.ModuleType('m'); m.k = 1
def h(v):
    m.k += 1
    return v
@fused
def f(x):
    x = h(x)
    return x*m.k
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a helper that writes a closure variable": (
        """
def outer():
    n = 0
    def inc(v):
        nonlocal n
        n += 1
        return v
    @fused
    def f(x):
        x = inc(x)
        return x*n
    return f
f = outer()
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a closure variable that is written and read by a helper": (
        """
def outer():
    n = 0
    def get(): return n
    @fused
    def f(x):
        nonlocal n
        n += 1
        return x*get()
    return f
f = outer()
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a global that comes and goes": (
        """
K=1
def h(v):
    global K
    del K
    return v
def s():
    global K
    K = 4
@fused
def f(x):
    s()
    x = x*K
    h(x)
    try:
        return x*K
    except NameError:
        return x
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a helper that writes a global and arrays": (
        """
K=1
G=np.arange(6.)
LOG=[]
DD={'a':1}
def h(v):
    global K
    K += 1
    G[0] = K
    G[1:] += 1
    LOG.append(K)
    DD['a'] += 1
    return v
@fused
def f(x):
    y = x + G
    h(x)
    return y, x*G, len(LOG), LOG[-1]*x, DD['a']*x
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "helpers that write and replace arrays": (
        """
K=1
G=np.arange(6.)
S=G
def h(v):
    global G
    G = G + v
    return v
def h2(v):
    global G
    G *= 2
@fused
def f(x):
    y = x + G
    h(x)
    y *= G
    h2(x)
    return y, G*x, G, S
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "a closure variable that holds an array and is written": (
        """
def outer():
    s = np.zeros(6)
    t = np.zeros(6)
    def step(v):
        nonlocal s
        s = s*0.5 + v
        t[:] = s
        return v - s
    @fused
    def f(x):
        a = step(x)
        b = step(a)
        return a, b, s, t+1
    return f
f = outer()
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "local variables by name": (
        """
@fused
def f(x):
    y = x*2
    d = locals()
    return d['y'] + 1, sorted(d)
x=np.arange(6.)
""",
        """
*4 r = f(x)
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
    "globals in a dictionary": (
        """
K=2
@fused
def f(x):
    return x*globals()['K'], 'K' in globals(), x*globals().get('J', 3)
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
    "globals written in a dictionary": (
        """
K=1
@fused
def f(x):
    globals()['K'] = K+1
    return x*K
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
    "a method that writes a global": (
        """
K=2
class A:
    def m(self, v):
        global K
        K += 1
        self.k = K
        return v*K
a = A()
@fused
def f(x):
    y = a.m(x)
    return y*K + a.k
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
    "a default that writes a global, read by the body of a class": (
        """
N=0
def mk():
    def bump():
        global N
        N += 1
        return N
    return bump
b = mk()
@fused
def f(x, g=b):
    y = x*g()
    class L:
        n = N
    return y + N + L.n
x=np.arange(6.)
""",
        """
*4 r = f(x)
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_as_plain(name: str) -> None:
    """Results, arguments, globals and objects are those of the plain function after each call."""
    program, steps = PROGRAMS[name]
    texts: list[str] = []
    for line in steps.strip().splitlines():
        count, _, text = line.partition(" ") if line.startswith("*") else ("*1", "", line)
        texts += [text] * int(count[1:])
    run(program, texts)


@pytest.mark.parametrize("first", range(0, 40, 10))
@pytest.mark.filterwarnings("ignore")
def test_random_programs(first: int) -> None:
    """Random programs are as plain ones are."""
    for seed in range(first, first + 10):
        assert not failure(*written(seed)), seed


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 250))
@pytest.mark.filterwarnings("ignore")
def test_many_random_programs(first: int) -> None:
    """More of them."""
    for seed in range(first, first + 250):
        assert not failure(*written(seed)), seed
