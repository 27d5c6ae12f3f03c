"""Programs around variables: globals and closures that are read, written and replaced."""

from __future__ import annotations

PROGRAMS = {
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
    "functions of a module that read its variables": (
        """
import types
m = types.ModuleType('m'); inner = types.ModuleType('m.inner'); m.inner = inner
exec('''
import numpy as np
T = [1.0]; D = {'k': 2.0}; A = np.ones(6); K = 3.0
def listed(): return T[0]
def keyed(v): return v * D['k']
def by_array(v): return v + A
def named(): return K
def through(v): return by_array(v) * listed()
''', m.__dict__)
exec('''
L = [1.0]
def last(): return L[-1]
''', inner.__dict__)
@fused
def f(x):
    return m.through(m.keyed(x)) * m.listed() + m.named() * m.inner.last()
x=np.arange(6.)
""",
        """
*2 r = f(x)
m.T[0] = 5.0
r = f(x)
m.A[:] = 7.0
r = f(x)
m.D['k'] = 4.0
m.inner.L.append(9.0)
*2 r = f(x)
m.K = 8.0
*2 r = f(x)
""",
    ),
    "functions in the place of a library's": (
        """
import math, time, builtins
T = [1.0]
def fake(*args): return T[0]
@fused
def f(x):
    return x * math.floor(3.5) + time.time() + abs(-2.5)
x=np.arange(6.)
before = math.floor, time.time, builtins.abs
def put(*functions): math.floor, time.time, builtins.abs = functions
def g(x):
    put(fake, fake, fake)
    try:
        return f(x)
    finally:
        put(*before)
""",
        """
*2 r = g(x)
T[0] = 2.0
*2 r = g(x)
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
    "arrays that opaque code makes read-only, and knows again": (
        """
import contextlib
@contextlib.contextmanager
def frozen(*arrays):
    for a in arrays: a.flags.writeable = False
    yield [id(a) for a in arrays]
    for a in arrays: a.flags.writeable = True
@fused
def f(x, y):
    said = []
    with frozen(x, y[1:]) as first, frozen(x) as again:
        for write in (lambda: x.__setitem__(0, 5), lambda: x.__imul__(2), lambda: y.fill(1)):
            try: write()
            except ValueError as e: said.append(str(e))
    x[1:] += 1
    return said, first[0] == again[0], first[0] == id(x), x + y
x, y = np.arange(6.), np.arange(6.)
""",
        """
*3 r = f(x, y)
r = f(x, x)
r = f(x[::2], y[3:])
""",
    ),
}
