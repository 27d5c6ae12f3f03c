"""Containers that go through opaque code, which keeps them, and come back from it."""

from __future__ import annotations

import pytest

from tests.side_by_side import run

HEAD = """import contextvars, queue, weakref
def R(seed, *shape): return np.random.default_rng(seed).normal(size=shape)
class O:
    def __init__(self, v): self.v = v
Q = queue.SimpleQueue()
V = contextvars.ContextVar("v", default=None)
"""

PROGRAMS = {
    "what is kept is no twin": (
        """
@fused
def put(o, x): o.v = o.v + x; Q.put(o); o.v = o.v * 2; o.n = float(x.sum()); return o.v * 2
@fused
def puts(l, x): l.append(x * 2); Q.put(l); l.append(x.sum()); l[0] = 5; return len(l)
@fused
def nested(o, x): Q.put({"o": (o, [o])}); o.v = x + 1; return x
o, l = O(R(1, 3)), []
""",
        """r = put(o, R(2, 3)); got = Q.get(); same = got is o
r = put(o, R(3, 3)); got = Q.get(); same = got is o
r = puts(l, R(3, 3)); got = Q.get(); same = got is l
r = nested(o, R(4, 3)); got = Q.get()["o"]; same = got[0] is o, got[1][0] is o""",
    ),
    "what is given is the user's": (
        """
o = O(R(1, 3))
@fused
def take(x): o = Q.get(); o.v = o.v + x; o.n = float(o.v.sum()); return o.v * 2
@fused
def listed(x): l = Q.get(); l[0] = x * 2; l.append(x.sum()); l[1]["a"] = [x + 1]; return len(l)
@fused
def entered(x): d = Q.get(); d["a"] = x * 2; Q.put(d); d["l"].append(x + 1); return d
""",
        """Q.put(o); r = take(R(1, 3))
Q.put(o); r = take(R(2, 3))
l = [1, {}]; Q.put(l); r = listed(R(2, 3))
d = {"l": []}; Q.put(d); r = entered(R(2, 3)); same = r is d, Q.get() is d""",
    ),
    "what weak references lead to": (
        """
class Node:
    def __init__(self, v, parent=None):
        self.v, self.kids, self.total = v, [], 0.0
        self.parent = weakref.ref(parent) if parent else None
        if parent: parent.kids.append(self)
    def add(self, x):
        self.v = self.v + x
        if self.parent is not None: self.parent().total = self.parent().total + self.v.sum()
class Named:
    def __init__(self): self.nodes = weakref.WeakValueDictionary()
class Behind:
    def __init__(self, node): self.node = weakref.proxy(node)
@fused
def f(root, x):
    root.v = root.v * 2
    for k in root.kids: k.add(x)
    return root.total, [k.parent().v.sum() for k in root.kids], root.kids[0].parent() is root
@fused
def g(t, n, x): n.v = n.v + x; return sum(o.v.sum() for o in t.nodes.values())
@fused
def h(p, n, x): n.v = n.v + x; p.node.total = 7.0; return p.node.v.sum()
root = Node(R(1, 3)); kids = [Node(R(2, 3), root), Node(R(3, 3), root)]
named, behind = Named(), Behind(root)
named.nodes["root"] = root
""",
        """r = f(root, R(4, 3)); v = [k.v for k in kids]
r = f(root, R(5, 3)); v = [k.v for k in kids]
r = g(named, root, R(5, 3))
r = h(behind, root, R(6, 3))""",
    ),
    "methods of what is given": (
        """
@fused
def f(x, add, l): add(x * 2); l.append(x.sum()); return len(l), l[0] * 1.0
@fused
def g(d, get, x): d["a"] = x + 1; return get("a") * 2, list(d.items())
@fused
def h(d, values, x): d["a"] = x + 1; return [v * 2 for v in values], len(values)
@fused
def u(x, add): add(x * 2); return x + 1
l, d, other = [], {"a": R(1, 3)}, []
""",
        """r = f(R(1, 3), l.append, l)
r = f(R(2, 3), l.append, l)
r = g(d, d.get, R(2, 3))
r = h(d, d.values(), R(3, 3))
r = u(R(3, 3), other.append)""",
    ),
    "what others look at in between": (
        """
class Holder:
    def __init__(self): self.d = {}
@fused
def f(x):
    V.set({"x": x * 2}); d = V.get(); d["y"] = x + 1
    Q.put(V.get()["y"]); d["z"] = d["y"] * 2
    return Q.get() + 1
""",
        """r = f(R(1, 3)); d = V.get()
r = f(R(2, 3)); d = V.get()""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_handing(name: str) -> None:
    """Effects and identities are the plain program's."""
    program, steps = PROGRAMS[name]
    run(HEAD + program, steps.splitlines() * 3)
