"""Functions that wholes and loops reach through objects, containers, closures and names."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest

from fusecuda.capture.arrays.array import Array
from fusecuda.capture.calls.border import Border
from fusecuda.capture.calls.whole import Whole
from tests.capture.calls.test_whole import (
    CALLS,
    HEAD,
    alike,
    as_under_run,  # noqa: F401 - a fixture of each test
    counted,
    leaves,
    main,
    outcome,
    sharing,
    space,
)
from tests.capture.calls.test_whole_objects import (
    as_a_module,  # noqa: F401 - a fixture,
    attributes,
)
from tests.marks import one_in

FUNCTIONS = (
    HEAD
    + "W, seen, K = cp.ones(6), [], 2.0\n"
    + "def double(v):\n    return v * K\n"
    + "def noted(v):\n    seen.append(float(v[0]))\n    return v - len(seen)\n"
    + "def scaled(k, w=W):\n    def g(v):\n        return v * k + w\n    return g\n"
    + "def after(*every):\n    def g(v):\n        for one in every:\n            v = one(v)\n"
    + "        return v\n    return g\n"
    + "def counter():\n    n, last = 0, W\n    def put(v):\n        nonlocal n, last\n"
    + "        n, last = n + 1, v\n    def get(v):\n        return v * n + last\n"
    + "    return put, get\n"
    + "put, get = counter()\n"
    + "def series(n):\n    def g(v, k=n):\n        return v if k == 0 else g(v * 0.5, k - 1) + k\n"
    + "    return g\n"
    + "class Scale:\n    def __init__(self, w):\n        self.w, self.n = w, 0\n"
    + "    def times(self, v):\n        self.n += 1\n        return v * self.w\n"
    + "    def plus(self, v):\n        self.n += 2\n        return v + self.w * self.n\n"
    + "class C:\n    def __init__(self, f, g=None):\n        self.f, self.g = f, g\n"
    + "        self.u, self.n = x, 0\n"
    + "    def m(self):\n        self.n += 1\n        self.u = self.f(self.u) * 0.5\n"
    + "        return self.u\n"
    + "    def swap(self):\n        self.f, self.g = self.g, self.f\n"
    + "        return self.f(self.u)\n"
)


def program(made: str, call: str = "c.m()", step: str = "") -> tuple[str, str, str]:
    """A program behind the functions, what it calls and what is done in between."""
    return f"{FUNCTIONS}{made}\n", call, step


SAME: dict[str, tuple[str, str, str]] = {
    "held": program("c = C(double)"),
    "lambdas": program("c = C(lambda v: v - v.sum())"),
    "numpys": program("c = C(cp.tanh)"),
    "noting": program("c = C(noted)", "c.m(), seen, seen[-1]"),
    "in_turn": program("c = C(double, cp.sin)", "c.swap(), c.f is double"),
    "exchanged": program("c = C(double)", step="c.f = cp.cos if c.f is double else double"),
    "code_exchanged": program(
        "def other(v):\n    return v + 3\nc = C(double)",
        step="if c.n > 4: double.__code__ = other.__code__",
    ),
    "attributes_of_the_same_name": program(
        "class D(C):\n    def f(self, v):\n        return v + 1\nc, d = C(double), D(double)\n"
        "del d.f", "c.m(), d.m()", "d.f = double; d.u[0] += 1",
    ),
    "closures": program("c = C(scaled(3.0))"),
    "closures_of_closures": program("c = C(after(scaled(0.5), double, cp.tanh))"),
    "closures_of_themselves": program("c = C(series(3))"),
    "variables_that_others_write": program("c = C(get)", step="put(c.u * 1.0)"),
    "numbers_that_others_write": program(
        "def counting():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
        "    return up, lambda v: v + n\nup, plus = counting()\nc = C(plus)", step="up()",
    ),
    "variables_by_one_name": program(
        "c = C(scaled(2.0), scaled(3.0))", "c.swap(), c.m()", "c.n += 1"
    ),
    "lists_and_dictionaries": program(
        "def h(c, by, k):\n    return c.u + sum([one(c.u) for one in by[k]])\n"
        "by = {0: [double, cp.sin], 1: [scaled(1.0)]}\nc = C(None)\ndef F(n):\n"
        "    return h(c, by, n)", "F(c.n % 2)", "c.n += 1",
    ),
    "callbacks": program(
        "class D:\n    def __init__(self):\n        self.u, self.n, self.calls = x, 0, []\n"
        "    def m(self):\n        self.n += 1\n        for call in self.calls:\n"
        "            call(self, self.n)\n        return self.u\n"
        "def add(d, n):\n    d.u[1:] += n\ndef note(d, n):\n    seen.append((n, d.u[0]))\n"
        "c = D()\nc.calls += [add, note]", "c.m(), seen",
    ),
    "abstract": program(
        "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n"
        "    def g(self, v): ...\n    def m(self):\n        self.u = self.g(self.u)\n"
        "        return self.u\nclass B(A):\n    def __init__(self, u):\n        self.u = u\n"
        "    def g(self, v):\n        return v * 0.5 + 1\nc = B(x)"
    ),
    "protocols": program(
        "from typing import Generic, Protocol, TypeVar\nT = TypeVar('T')\nclass P(Protocol[T]):\n"
        "    def g(self, v: T) -> T: ...\nclass B(P[float]):\n    def __init__(self, u):\n"
        "        self.u = u\n    def g(self, v):\n        return v * 0.5\n    def m(self):\n"
        "        self.u = self.g(self.u) + 1\n        return self.u\nc = B(x)"
    ),
    "called_objects": program(
        "class L:\n    def __init__(self, w):\n        self.w, self.n = w, 0\n"
        "    def __call__(self, v):\n        self.n += 1\n        return v * self.w + self.n\n"
        "class S:\n    def __init__(self, *parts):\n        self.parts = list(parts)\n"
        "    def m(self, v):\n        for part in self.parts:\n            v = part(v)\n"
        "        return v\nc = S(L(W), double, L(0.5))", "c.m(x)",
    ),
    "calls_that_change": program(
        "class L:\n    def __call__(self, v):\n        return v\nl = L()\nc = C(double)\n"
        "def F(g, v):\n    return g(v) + 1", "F(l, x)",
        "c.n += 1\nif c.n == 5: L.__call__ = lambda self, v: v * 3",
    ),
    "properties": program(
        "class D(C):\n    @property\n    def v(self):\n        return self.u * 2\n    @v.setter\n"
        "    def v(self, to):\n        self.u = to\n    @staticmethod\n    def s(a, b=1):\n"
        "        return a + b\n    def p(self):\n        self.v = self.s(self.v) * 0.25\n"
        "        self.v *= 0.5\n        return self.v\nc = D(double)", "c.p()",
    ),
    "named_objects": program(
        "c = C(double)\ndef F(k):\n    c.u[0] += k\n    return c.m(), c", "F(1.0)", "c.n += 1",
    ),
    "named_and_given": program(
        "l = [x, 1]\ndef F(a):\n    a[0] = l[0] + 1\n    l[1] += 2.0\n    return a is l, len(a)\n"
        "c = C(l)", "F(l), F(c.f)",
    ),
    "named_anew": program(
        "l = [x]\ndef F(a):\n    l.append(a[0])\n    return l, a + l[-1]\nc = C(None)", "F(y)",
        "c.n += 1\nif c.n == 5: l = [y * 2]",
    ),
    "named_tables": program(
        "by = {'d': double, 's': lambda v: v * W, 't': cp.tanh}\ndef F(k, v):\n"
        "    return by[k](v)\nc = C(None)", "F('dst'[c.n % 3], x)",
        "c.n += 1\nif c.n == 9: by['d'] = cp.cos",
    ),
    "methods_that_are_held": program(
        "d = Scale(W)\nc = C(d.times, d.plus)", "c.m(), d.n, c.swap()", "d.w[0] += 1",
    ),
    "methods_of_itself": program(
        "class D(C):\n    def up(self):\n        self.u += W\n    def half(self):\n"
        "        self.u = self.u * 0.5\n    def every(self):\n        for one in self.f:\n"
        "            one()\n        return self.u\nc = D(None)\nc.f = [c.up, c.half, c.up]",
        "c.every(), len(c.f), c.f[0] == c.f[2], c.f[0] == c.up", "c.f = c.f[1:] + c.f[:1]",
    ),
    "methods_as_arguments": program(
        "d, c = Scale(W), C(None)\ndef F(one, v):\n    return one(one(v)) + one(v).sum()",
        "F(d.times if d.n % 3 else d.plus, x)",
    ),
    "events": program(
        "class Events(C):\n    def on(self, name, one):\n"
        "        self.f.setdefault(name, []).append(one)\n    def tell(self, name, *given):\n"
        "        for one in self.f.get(name, []):\n            one(*given)\n"
        "    def go(self):\n        self.u = self.u * 0.5 + W\n        self.tell('up', self)\n"
        "        return self.u\nclass Seen:\n    def __init__(self):\n"
        "        self.values, self.u = [], None\n    def see(self, c):\n"
        "        self.values[-2:] = [*self.values[-1:], float(c.u.mean())]\n"
        "        self.u = c.u[1:]\n"
        "c, d = Events({}), Seen()\nc.on('up', d.see)", "c.go(), d.values",
    ),
    "methods_behind_attributes": program(
        "d = Scale(W)\nc = C(d.times)\nd.times = d.plus\ndef F(v):\n"
        "    return c.f(v), c.f == d.times, d.times(v)", "F(x), c.m(), c.f == d.times",
    ),
    "methods_that_change": program(
        "d = Scale(W)\nc = C(d.times)", "c.m(), c.f(x)",
        "c.n += 1\nif c.n == 9: Scale.times = lambda self, v: v - 1",
    ),
    "methods_that_go_out": program(
        "d, l = Scale(W), [0]\nc = C(d.times)\nd.times = d.plus\ndef F(v):\n"
        "    l[:] = [d.plus, c.f, d.times]\n    return v * 2",
        "F(x), [one(x) for one in l], l[1] == c.f, l[0] == d.plus, l[0].__self__ is d",
    ),
    "parents": program(
        "class Node:\n    def __init__(self, up, w):\n        self.up, self.w = up, w\n"
        "        self.parts = []\n    def total(self):\n        self.w = self.w * 0.5\n"
        "        return self.w + sum([p.total() for p in self.parts]) + (\n"
        "            self.up.w if self.up else 0)\nd = Node(None, x)\n"
        "d.parts += [Node(d, W), Node(d, y)]\nc = C(None)\ndef F():\n    return d.total()", "F()",
    ),
    "named_tuples": program(
        "from collections import namedtuple\nS = namedtuple('S', 'x v n')\ns = S(x, W, 0)\n"
        "c = C(None)\ndef F(s, k=0.5):\n    a = s.v - k * s.x\n    s.x[0] += 1\n"
        "    return S(s.x + a, a, s.n + 1), s._replace(n=2), [s.x[0], s[1]], s._asdict(), s is c.f",
        "F(s), F(s)[0].v, isinstance(F(s)[1], S)", "s = F(s)[0]; c.f = s",
    ),
    "typed_named_tuples": program(
        "from typing import NamedTuple\nclass S(NamedTuple):\n    x: object\n    w: float = 2.0\n"
        "c = C([S(x), S(W, 3)], {'a': S(y)})\ndef F(n):\n    one = c.f[n]\n"
        "    c.f[n] = S(one.x * one.w, one.w * 0.5)\n    x, w = c.g['a']\n    return one, x * w",
        "F(c.n % 2), len(c.f)", "c.n += 1",
    ),
    "raising": program(
        "def fails(v):\n    seen.append(v[0])\n    if len(seen) > 5:\n"
        "        raise ValueError(len(seen))\n    return v\nc = C(fails)", "c.m(), seen",
    ),
}  # fmt: skip


def shown(value: Any) -> Any:
    """A result with names for the functions in it."""
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(shown(part) for part in value)]
    if type(value) is dict:
        return {key: shown(part) for key, part in value.items()}
    if (getattr(value, "__module__", "") or "numpy").startswith(("fusecuda", "numpy")):
        return "NumPy's" if callable(value) else value
    return shown(attributes(value)) if attributes(value) is not value else value


def run(text: str, call: str, step: str) -> Any:
    """Make the call again and again both ways, and look at what the names mean then."""
    both = [space(text), space(text, plain=True)]
    kept = [name for name in ("c", "d", "l", "s", "by", "seen", "x", "y", "W") if name in both[1]]
    for _ in range(2 * CALLS):
        alike(*(shown(outcome(call, names)) for names in both))
        for name in kept:
            alike(*(shown(names[name]) for names in both))
        held = [leaves([shown(names[name]) for name in kept]) for names in both]
        assert sharing(held[0]) == sharing(held[1])
        for names in both:
            exec(step, names)
    return both[0]


def test_methods_of_bases() -> None:
    """Another one stands under the name of a method that its object's class has overridden."""
    text = (
        "import types\nclass B:\n    def at(self, v):\n        return v * 3\n"
        "class D(B):\n    def at(self, v):\n        return v - 1\n"
        "d = D()\nc = C(types.MethodType(B.at, d), d.at)"
    )
    run(*program(text, "c.m(), c.swap()"))


def test_named_tuples_with_methods() -> None:
    """What those are given is lazy, as what the script's functions are given."""
    text = (
        "from typing import NamedTuple\nclass S(NamedTuple):\n    x: object\n"
        "    def __add__(self, more):\n        seen[:] = [type(self.x).__name__, more]\n"
        "        return S(self.x + more)\ns = S(x)\n"
        "def F(s, v):\n    return (s + 1).x + v\n"
    )
    names = space(FUNCTIONS + text)
    for _ in range(CALLS):
        alike(names["F"](names["s"], names["x"]), 2 * np.arange(6.0) + 1)
        assert names["seen"] == ["Array", 1]


@pytest.fixture
def crossed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each call that has been made on NumPy's memory."""
    made: list[str] = []
    write_back = Border.write_back

    def told(self: Border) -> None:
        made.append("crossed")
        write_back(self)

    monkeypatch.setattr(Border, "write_back", told)
    return made


@pytest.mark.parametrize("name", SAME)
def test_functions_that_are_reached(name: str, crossed: list[str]) -> None:
    """Results, attributes, identity, shared memory and errors are NumPy's."""
    names = run(*SAME[name])
    made = [v for n in names.values() for v in (n, *(vars(n).values() if type(n) is type else ()))]
    assert crossed, [v.refused for v in made if type(v) is Whole]


# What is made in a whole, or read there, goes out as if it had been made by the function itself.
GOING_OUT = {
    "lambdas": ("lambda: a + cp.ones(6)", "{}()"),
    "two_of_one_variable": ("counted(a)", "{0}[0]() + {0}[1]() + {0}[0]()"),
    "with_defaults": ("lambda v=a, *, w=(a, 2): v * w[0] * w[1]", "{}()"),
    "of_themselves": ("counted(a)[2]", "{}(3)"),
    "in_containers": ("{'g': [lambda: a]}", "{}['g'][0]()"),
    "numpys_function": ("cp.tanh", "{}(x)"),
    "attributes_of_functions": ("named(a)", "{0}(), {0}.__name__, {0}.k"),
}


@pytest.mark.parametrize("name", GOING_OUT)
def test_functions_that_go_out(name: str) -> None:
    """From a call that is made as a whole, where the first ones returned an array."""
    made, use = GOING_OUT[name]
    text = HEAD + (
        "kept = []\ndef counted(a):\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
        "        return a * n\n    def fact(k):\n        return a if k == 0 else fact(k - 1) * k\n"
        "    return up, lambda: a + n, fact\n"
        "def named(a):\n    def h():\n        return a\n    return h\n"
        f"def f(a, n):\n    a = a * n\n    return a if n < 6 else {made}\n"
    )
    ours, plain = space(text), space(text, plain=True)
    for n in (*[4] * CALLS, 6):
        found = [outcome(f"f(x, {n})", names) for names in (ours, plain)]
        if n < 6:
            alike(*found)
    for names, one in zip((ours, plain), found, strict=True):
        if name == "attributes_of_functions":
            one.k = 5
        names["one"] = one
    for _ in range(2):
        alike(*(outcome(use.format("one"), names) for names in (ours, plain)))
    if name == "numpys_function":
        assert found[0] is ours["cp"].tanh


def test_functions_that_are_kept_by_name() -> None:
    """They see the arrays of the script, and write to them."""
    text = HEAD + (
        "kept = []\ndef f(a):\n    def g(v):\n        a[0] += v\n        return a\n"
        "    kept.append(g)\n    return a + 1\n"
    )
    both = [space(text), space(text, plain=True)]
    for n in range(CALLS):
        alike(*(outcome(f"f(x), kept[{n}](2.0), x", names) for names in both))


def test_classes_that_are_given() -> None:
    """Objects that they make would hold NumPy's arrays."""
    names = space(FUNCTIONS + "def F(k, a):\n    return k(double(a))\n")
    for _ in range(CALLS):
        assert type(names["F"](names["C"], names["x"]).f) is Array


OUT_OF_SIGHT = ("[iter([x])]", "[0.0] * 1000", "{'a': x.sum}", "[(), {1}]", "[range(3), x]")


@pytest.mark.parametrize("held", OUT_OF_SIGHT)
def test_what_is_not_known_by_name(held: str, crossed: list[str]) -> None:
    """So are long lists, which would be gone through at each call."""
    names = space(HEAD + f"held = {held}\ndef f(a):\n    return a + len(held)\n")
    for _ in range(CALLS):
        alike(names["f"](names["x"]), np.arange(6.0) + len(names["held"]))
    assert not crossed


def test_methods_by_name_see_no_other_arrays() -> None:
    text = HEAD + "out = []\nheld = [out.append]\ndef f(a):\n    held[0](a * 2)\n    return a + 1\n"
    both = [space(text), space(text, plain=True)]
    for _ in range(CALLS):
        alike(*(outcome("f(x), out", names) for names in both))


def test_many_functions_by_name_make_no_whole() -> None:
    """Each would have a twin."""
    names = space(
        HEAD + "by = [lambda v, k=k: v for k in range(99)]\ndef f(a):\n    return by[0](a)\n"
    )
    made = names["f"]
    made(names["x"])
    assert "many kinds" in made.refused


def test_methods_that_loop_are_wholes_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what they call by attributes, closures or arguments is known to be small."""
    wholes = counted(monkeypatch)
    loop = "    def go(self):\n        while self.n < 5:\n            self.m()\n"
    small = ("double", "scaled(2.0)", "cp.tanh", "after(double, cp.sin)", "noted")
    large = ("cp.zeros", "after(cp.ones)", "lambda v: cp.tile(v, 2)", "lambda v: cp.zeros(len(v))")
    for made in (*small, *large):
        wholes.clear()
        text = FUNCTIONS.replace("    def swap", f"{loop}    def swap") + f"c = C({made})\n"
        both = [space(text), space(text, plain=True)]
        alike(*(outcome("c.go()", names) for names in both))
        assert ("go" in wholes) is (made in small), made


class Writer:
    """Writes programs of objects with functions, and what is done with them in between."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed).choice

    def function(self, depth: int = 2) -> str:
        simple = [
            "double",
            "cp.tanh",
            "get",
            "(lambda v: v[::-1])",
            "one",
            "two",
            "noted",
            "cp.sin",
            "s.times",
            "s.plus",
            "Scale(y).times",
        ]
        if not depth:
            return self.pick(simple)
        g, h = self.function(depth - 1), self.function(depth - 1)
        return self.pick([
            *simple, f"scaled({self.pick([2.0, -0.5])})", f"after({g}, {h})", "series(2)",
            f"L({g})", f"c.f or {g}", f"by.get('a', {g})", f"scaled(1.0, {self.pick('xyW')})",
        ])  # fmt: skip

    def statement(self) -> str:
        return self.pick([
            "self.u = self.f(self.u) * 0.5", "self.u += self.g(self.u * 0.1)", "self.n += 1",
            "self.f, self.g = self.g, self.f", "by['a'] = self.f", "self.u = by['a'](self.u)",
            "l.append(self.u[0])", "self.w = self.u[1:]", "self.h = by['a']", "l[0] = self.u",
            "self.u = self.u + W", "for one in [self.f, self.g]: self.u = one(self.u)",
            "self.u[::2] = 1", "self.f = l[1]", "self.u = self.f(l[0])", "l[1], l[2] = l[2], l[1]",
            "self.h = s.plus", "self.g = c.f", "s.w = self.u * 0.1", "self.s = s; self.f = s.times",
        ])  # fmt: skip

    def step(self) -> str:
        return self.pick([
            "pass", "pass", "c.f = two", "put(c.u * 1.0)", f"by['a'] = {self.function()}",
            f"c.g = {self.function()}", "c.u = x * 0.25", "l = [x, one, two]", "W = W * 0.5",
            "l[1] = double", "K = K + 1", "double.__defaults__ = None", "C.m2 = C.swap",
            "c.f = s.plus", "s = Scale(x * 0.1)", "s.w[0] += 1", "Scale.times = Scale.plus",
        ])  # fmt: skip

    def program(self) -> str:
        body = "".join(f"        {self.statement()}\n" for _ in range(self.pick([2, 4, 6])))
        return (
            FUNCTIONS.replace("    def swap", f"    def go(self):\n{body}{{}}    def swap").format(
                f"        return self.{self.pick('uun')}, l[0], len(by)\n"
            )
            + "one, two, s = scaled(1.0), lambda v: v - 1, Scale(W)\n"
            + "class L:\n    def __init__(self, f):\n        self.f, self.k = f, 0\n"
            + "    def __call__(self, v):\n        self.k += 1\n        return self.f(v) + self.k\n"
            + "c, by, l = None, {}, [x, one, two]\nc = C(double)\n"
            + f"by['a'] = {self.function()}\nc.g = {self.function()}\nc.f = {self.function()}\n"
        )


def random_program(seed: int) -> None:
    """Run the program of a seed both ways."""
    writer = Writer(seed)
    with np.errstate(all="ignore"):
        run(writer.program(), "c.go(), seen", f"try: {writer.step()}\nexcept Exception: pass")


@pytest.mark.parametrize("first", range(0, 40, 10))
@one_in(6)
def test_random_programs(first: int) -> None:
    """``python -m tests.capture.calls.test_whole_functions FIRST LAST`` runs more."""
    for seed in range(first, first + 10):
        random_program(seed)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), random_program)
