"""Loops at a script's top level, which are run some turns at a time on NumPy's memory."""

from __future__ import annotations

import subprocess
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest

from fusecuda.capture.calls import loops, whole
from fusecuda.capture.calls.twins import twin_of
from fusecuda.capture.record.block import Region
from fusecuda.capture.record.recorder import AT_ONCE_BELOW, recorder_in_force
from fusecuda.options import Options
from fusecuda.tools.own_code import with_wholes
from fusecuda.tools.stand_in import stand_in
from tests.capture.calls.test_whole import alike, leaves, sharing
from tests.marks import few, in_turn, one_in
from tests.programs_of_wholes import Writer


@pytest.fixture(autouse=True)
def turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """As under ``run``; each call of some turns, True for those that were made as a whole."""
    monkeypatch.setitem(sys.modules, "cupy", stand_in())
    monkeypatch.setattr(loops, "_MARGIN", float("inf"))
    monkeypatch.setattr(whole, "is_little", lambda size: False)  # no function is a whole at first
    made: list[bool] = []
    for name, is_whole in (("whole", True), ("as_it_is", False)):
        plain = getattr(loops._Loop, name)

        def told(self: Any, *count: int, plain: Any = plain, is_whole: bool = is_whole) -> Any:
            made.append(is_whole)
            return plain(self, *count)

        monkeypatch.setattr(loops._Loop, name, told)
    region = Region(Options(device="cpu"))
    region.at_once_below = AT_ONCE_BELOW
    token = recorder_in_force.set(region)
    yield made
    region.flush()
    recorder_in_force.reset(token)


def outcome(text: str, plain: bool) -> tuple[dict[str, Any], str]:
    """The variables that a script leaves, and the error that it raises."""
    space: dict[str, Any] = {"__name__": "looping"}
    text = "import cupy as cp\n" + text
    error = ""
    try:
        if plain:
            exec(compile(text.replace("cupy", "numpy"), "<p>", "exec"), space)
        else:
            exec(with_wholes(text.encode(), "<p>"), space)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    kinds = types.ModuleType | types.FunctionType | type
    names = {n: v for n, v in space.items() if not n.startswith("__") and not isinstance(v, kinds)}
    kept = {n: v for n, v in names.items() if not callable(v) and "Random" not in type(v).__name__}
    return kept, error


def same(text: str) -> str:
    """Both ways a script leaves the same, and shares memory alike; what it raises."""
    (want, error), (got, raised) = outcome(text, plain=True), outcome(text, plain=False)
    assert raised == error
    if not error:
        assert sorted(got) == sorted(want)
        alike({n: got[n] for n in sorted(got)}, {n: want[n] for n in sorted(got)})
        names = sorted(got)
        shared = (leaves([found[n] for n in names]) for found in (got, want))
        assert [b for _, b in sharing(next(shared))] == [b for _, b in sharing(next(shared))]
    return error


WHOLE = {
    "sums": """
s = 0.0
a = cp.arange(5.0)
for i in range(40):
    s = s + a[i % 5]
""",
    "in place": """
a = cp.zeros(9)
b = a
for i in range(30):
    a[i % 9] += i
    a *= 0.5
""",
    "views": """
a = cp.zeros((4, 5))
for i in range(20):
    row = a[i % 4]
    row += i
""",
    "while": """
x = cp.array(100.0)
n = 0
while x > 1e-3:
    x = x / 2
    n += 1
""",
    "while true": """
n = 0
a = cp.ones(3)
while True:
    a = a * 2
    n += 1
    if n == 17:
        break
""",
    "break": """
a = cp.arange(50)
for i in range(50):
    if a[i] == 23:
        break
    k = i
""",
    "continue": """
s = cp.zeros(2)
for i in range(30):
    if i % 3:
        continue
    s[i % 2] += i
""",
    "nested": """
t = cp.zeros((6, 7), int)
for i in range(5):
    for j in range(6):
        t[i + 1, j + 1] = max(t[i, j + 1], t[i + 1, j]) + (i * j) % 2
""",
    "no turns": """
a = cp.ones(2)
for i in range(0):
    a += 1
    k = 3
""",
    "few turns": """
a = cp.ones(2)
for i in range(3):
    a += 1
""",
    "lists": """
h = []
x = cp.zeros(3)
for w in ['a', 'b'] * 20:
    x = x + 1
    h.append(x[0])
""",
    "a list that grows": """
q = [1]
a = cp.zeros(4)
for v in q:
    a[v % 4] += v
    if len(q) < 30:
        q.append(v + 3)
""",
    "arrays": """
a, s = cp.arange(40.0), []
for v in a:
    s.append(v * 2)
    a[-1] += v
""",
    "rows": """
a = cp.arange(40.0).reshape(20, 2)
s = cp.zeros(2)
for row in a:
    s = s + row
    row *= 0.5
    a[-1] += row
""",
    "arrays under their own name": """
a = cp.arange(24.0).reshape(12, 2)
for a in a:
    a += 1
""",
    "counted": """
a, s = cp.arange(20.0), cp.zeros(25)
for i, v in enumerate(a, 3):
    s[i] = v
for i, v in enumerate(a[::2], start=1):
    s[i] += v
for i, v in enumerate('abcdefghi'):
    s[i] += len(v)
""",
    "pairs": """
a, b, s = cp.arange(20.0), cp.ones((15, 2)), 0
for v, w in zip(a, b):
    s = s + v * w
    w[0] = v
for (v, i) in zip(a, range(30)):
    s = s + v * i
for t in zip(*b.T):
    s = s + t[0]
    if t[0] > 9:
        break
""",
    "a zip of its own": """
def zip(*given):
    return [[one[0] for one in given]] * 9
a, s = cp.arange(6.0), 0
for v, w in zip(a, a):
    s = s + v
""",
    "lists of arrays": """
a, b = cp.ones(2), cp.zeros(2)
h, s = [a, b, a] * 5 + [1, 2.0], 0
for v in h:
    v += 1
    s = s + v
""",
    "lists that grow": """
h, s = [cp.ones(2)], 0
for v in h:
    if len(h) < 40:
        h.append(v * 0.9)
    s = s + v
""",
    "lists that change": """
h = [cp.ones(2) * i for i in range(20)]
for i, v in enumerate(h):
    h[(i + 1) % 19] = v + h[i - 1]
    if i == 15:
        h.pop()
""",
    "lists of objects": """
class P:
    def __init__(self, u):
        self.u = u
    def m(self, v):
        self.u = self.u * 0.5 + v
h = [P(cp.ones(2) * i) for i in range(20)]
s = cp.zeros(2)
for p, q in zip(h, h[1:]):
    p.m(q.u)
    s = s + p.u
h = [p.u for p in h]
del p, q
""",
    "dicts": """
d = {'a': cp.zeros(2)}
for i in range(20):
    d['a'] = d['a'] + i
    d[i] = d['a'].sum()
""",
    "functions": """
def f(x, k):
    return x * k + 1
y = cp.arange(3.0)
for i in range(25):
    y = f(y, 0.5)
""",
    "draws": """
r = cp.random.RandomState(3)
p = cp.zeros(2)
for i in range(30):
    p = p + r.randn(2)
""",
    "comprehensions": """
a = cp.arange(4.0)
for i in range(20):
    b = [v * i for v in a]
    c = sum(b)
""",
    "texts": """
a = cp.arange(4.0)
s = ''
for i in range(20):
    a += 1
    s += f'{a[0]:.1f},'
""",
    "ifs": """
a = cp.zeros(2)
if True:
    for i in range(20):
        a += i
""",
    "errors": """
a = cp.arange(6)
for i in range(20):
    a[i] = a[i] * 2
""",
    "errors inside": """
a = cp.arange(6)
n = 0
for i in range(20):
    try:
        a[i] += 1
    except IndexError:
        n += 1
""",
    "tuples": """
a, b = cp.ones(2), cp.zeros(2)
for i in range(20):
    a, b = b, a + b
""",
    "a comprehension of its own name": """
x = [1.0, 2.0]
s = cp.zeros(2)
for i in range(20):
    y = [x * 2 for x in x]
    x = [1.0, y[1] - i]
    s = s + sum(y)
""",
    "elements as targets": """
a, b, c = cp.zeros(3), cp.zeros(3), cp.zeros(3)
for a[1] in range(20):
    for b[2] in (3, 4):
        c += 1
""",
    "an else of no turns": """
a, v, w = cp.zeros(3), 7, 5
for i in range(20):
    for j in range(i % 2):
        v = i
    else:
        a = a + v
    n = i % 3
    while n:
        n, w = 0, i
    else:
        a[0] += w
""",
    "an ellipsis": """
k, m, a = ..., 0, cp.zeros(3)
for i in range(20):
    a[k] += i
    k, m = m, k
    other = Ellipsis
""",
    "except groups": """
a, v, s = cp.arange(4.0), 1, 0.0
for i in range(30):
    try:
        v = a[i % 7]
    except* IndexError:
        pass
    s = s + v
""",
}


@pytest.mark.parametrize("name", WHOLE)
@one_in(4)
def test_loops_run_on_memory(name: str, turns: list[bool]) -> None:
    error = same(WHOLE[name])
    assert bool(error) == (name == "errors")
    assert any(turns) or name in ("no turns", "few turns"), turns
    assert name != "no turns" or not turns


AS_THEY_STAND = {
    "read by a function": """
i = 5
def f():
    return i + 1
a = cp.zeros(3)
for i in range(9):
    a += f()
""",
    "kept by a function": """
g = []
a = cp.ones(2)
for i in range(9):
    g.append(lambda: i)
    a += g[0]()
""",
    "imports": """
a = cp.ones(2)
for i in range(9):
    import math
    a += math.pi
""",
    "an else": """
a = cp.ones(2)
for i in range(9):
    a += 1
else:
    a += 2
""",
    "deleted": """
a = cp.ones(2)
for i in range(9):
    k = a + 1
    del k
""",
    "by text": """
a = cp.ones(2)
for i in range(9):
    a += globals()['i']
""",
    "no value": """
a = cp.ones(2)
for i in range(9):
    a += missing
    missing = 1
""",
    "no value at times": """
a = cp.ones(2)
for i in range(9):
    if i > 20:
        k = 1
    a += k
""",
    "iterators": """
h = [cp.ones(2) for _ in range(9)]
it = iter(h)
s = cp.zeros(2)
for v, w in zip(it, h):
    s = s + v * w
n = len(list(it))
""",
    "strictly": """
a, s = cp.arange(6.0), 0
for v, w in zip(a, [1] * 6, strict=True):
    s = s + v * w
""",
    "long lists": """
h = [cp.ones(1)] * 300
s = cp.zeros(1)
for v in h:
    s = s + v
""",
    "kinds": """
a = cp.ones(2)
n = 0
for i in range(9):
    a = a + 1
    n += isinstance(a, list)
""",
    "classes": """
class A:
    x = 1
    y = x
a = cp.ones(2)
for x in range(9):
    a += A.y
""",
}


@pytest.mark.parametrize("name", AS_THEY_STAND)
@one_in(4)
def test_loops_that_a_function_could_tell_stay(name: str, turns: list[bool]) -> None:
    error = same(AS_THEY_STAND[name])
    assert not turns
    assert bool(error) == name.startswith("no value")


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("h = []\nput = h.append", "put(a * i)"),
        ("it = iter([cp.ones(2), cp.ones(2) * 3])", "a = a + next(it, a)"),
        ("h = []\nputs = [h.append]", "puts[0](a * i)"),
        ("it = map(cp.sqrt, [a] * 40)", "a = a + next(it)"),
    ],
    ids=["method", "iterator", "methods in a list", "map"],
)
def test_what_holds_arrays_unseen_stays_out(made: str, line: str, turns: list[bool]) -> None:
    """It would see NumPy's arrays, or bring lazy ones in."""
    (want, _), (got, _) = (
        outcome(f"a = cp.ones(2)\n{made}\nfor i in range(30):\n    {line}\n    a *= 0.5\n", plain)
        for plain in (True, False)
    )
    alike([got["a"], got.get("h", [])], [want["a"], want.get("h", [])])
    assert turns.count(False) >= 2


def test_what_holds_arrays_unseen_is_not_left(turns: list[bool]) -> None:
    """The first turn, which is made as it is, tells what is kept behind the loop."""
    made = "a = cp.ones(2)\ndef g(v):\n    yield v * 2\n"
    got, _ = outcome(f"{made}for i in range(30):\n    q = g(a)\n    a += 1\n", plain=False)
    assert not isinstance(next(got["q"]), np.ndarray) and float(got["a"][0]) == 31
    assert turns and not any(turns)


FUNCTIONS = {
    "held": "class C:\n    def __init__(self, f, u):\n        self.f, self.u = f, u\n"
    "    def m(self):\n        self.u = self.f(self.u) + 1\n        return self.u\n"
    "c = C(lambda v: v * 0.5, a)\nfor i in range(30):\n    a = a + c.m()\nf = 0\ndel c, C\n",
    "closures": "def scaled(k):\n    return lambda v: v * k + b\nfs = [scaled(0.5), scaled(0.2)]\n"
    "for i in range(30):\n    a = fs[i % 2](a)\ndel fs\n",
    "exchanged": "fs = [lambda v: v + 1, cp.tanh]\nfor i in range(30):\n    g = fs[0]\n"
    "    a = g(a)\n    fs[0], fs[1] = fs[1], g\ng = fs = 0\n",
    "by name": "seen, by = [], {'k': lambda v: v - 1}\ndef put(v):\n    seen.append(by['k'](v))\n"
    "    by['n'] = len(seen)\nfor i in range(30):\n    put(a * i)\nn = by.pop('n')\ndel by\n",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_turns_reach(name: str, turns: list[bool]) -> None:
    """In objects, containers and closures, and containers that functions read."""
    same(f"a, b = cp.arange(3.0), cp.ones(3)\n{FUNCTIONS[name]}")
    assert any(turns)


def test_a_turn_does_not_come_and_go_each_time(
    turns: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The border is crossed once for many turns, so that what it takes hardly counts."""
    monkeypatch.setattr(loops, "_MARGIN", 1.0)
    times = iter(range(10**9))
    crossing = loops._Loop.whole

    def whole(self: Any, some: Any) -> bool:
        more = crossing(self, some)
        self.inside = 0.5
        return more

    monkeypatch.setattr(loops._Loop, "whole", whole)
    monkeypatch.setattr(loops, "thread_time", lambda: float(next(times)))
    monkeypatch.setattr(loops, "_LONGEST", 1e9)
    outcome("a = cp.ones(2)\nfor i in range(30):\n    a = a * 0.5\n", plain=False)
    assert turns[4] is True


def test_turns_that_fill_a_list_take_as_long_as_they_are_many(
    turns: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list comes and goes with them: the longer it is, the more turns are made at once."""
    seconds = {"inside": 0.0, "crossing": 0.0}
    plain = {name: getattr(loops._Loop, name) for name in ("whole", "as_it_is")}

    def run(self: Any, name: str, count: Any) -> bool:
        before = len(self.space["rows"])
        more = bool(plain[name](self, count))
        after = len(self.space["rows"])
        self.inside = 0.001 * (after - before)
        seconds["inside"] += self.inside
        seconds["crossing"] += 0.001 * after * (name == "whole")
        return more

    for name in plain:
        monkeypatch.setattr(loops._Loop, name, lambda s, n=None, name=name: run(s, name, n))
    monkeypatch.setattr(loops, "thread_time", lambda: sum(seconds.values()))
    fill = "for i in range(2000):\n    a = a * 0.5\n    rows.append(a)\n"
    outcome(f"rows, a = [], cp.ones(2)\n{fill}", plain=False)
    assert any(turns) and seconds["crossing"] < 8 * seconds["inside"]


def test_what_a_turn_sets_first_need_not_be_known(turns: list[bool]) -> None:
    same("a = cp.ones(2)\nfor i in range(30):\n    z = iter(a)\n    a = a + next(z)\n    z = 1\n")
    assert any(turns)


def in_main(text: str) -> str:
    """A script that does the same in a function that is called once; `r` has its variables."""
    kept = "sorted((k, v) for k, v in locals().items() if not (callable(v) or k == 'r'))"
    return f"def main():\n{indent(text, '    ')}\n    return dict({kept})\nr = main()\n"


def in_method(text: str) -> str:
    """The same in a method that is called once."""
    made = in_main(text).replace("def main()", "def main(self)").replace("r = main()\n", "")
    return f"class M:\n{indent(made, '    ')}\nr = M().main()\ndel r['self']\n"


PLACES = {"function": in_main, "method": in_method}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", WHOLE)
@one_in(8)
def test_loops_of_a_function_that_is_called_once(
    name: str, place: str, turns: list[bool]
) -> None:  # fmt: skip
    same(PLACES[place](WHOLE[name]))
    assert any(turns) or name in ("no turns", "few turns", "functions"), turns


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", AS_THEY_STAND)
@one_in(8)
def test_loops_of_functions_that_another_could_tell_stay(
    name: str, place: str, turns: list[bool]
) -> None:  # fmt: skip
    same(PLACES[place](AS_THEY_STAND[name]))
    assert bool(turns) is name.startswith("no value")  # in a function a variable may have none


OBJECT = """
class Base:
    def bound(self):
        self.u[0] = self.u[-1] = 0.0
class S(Base):
    def __init__(self, n):
        self.u, self.n, self.seen, self.up = cp.arange(float(n)), 0, [], None
    def change(self, k=0.5):
        self.n += 1
        return self.u * k - self.n
    def bound(self):
        super().bound()
    def run(self, n):
        for i in range(n):
            {}
        return self.u
s, t = S(6), S(6)
s.up, t.up = t, s
r = s.run(30)
w, n, seen = s.u, (s.n, t.n), [s.seen, t.seen, t.u, r is s.u]
del s, t
"""
OF_OBJECTS = {
    "attributes": ("self.u = self.change()\n            self.u += 1", True),
    "in place": ("self.u += self.change(0.1)\n            self.u[1:] *= 0.5", True),
    "others": ("o = self.up\n            o.u[i % 6] += i", True),
    "comprehensions": (
        "self.u = sum([v * self.u for v in self.u])\n            self.n += i\n"
        "            self.u = self.u / cp.abs(self.u).max()",
        True,
    ),
    "lists": ("self.seen.append(self.u[i % 6])\n            self.u = self.u[::-1] * 0.5", True),
    "errors": ("self.u = self.u + 1\n            self.n = ([0.5] * 20)[i]", True),
    "others' attributes": ("o = self.up\n            o.u = self.u * i", False),
    "by turns": ("self = self.up\n            self.u = self.u * 0.5", False),
    "super": ("super().bound()\n            self.u += i", False),
    "methods with super": ("self.bound()\n            self.u = self.u + i", False),
    "deleted": ("self.k = i\n            del self.k", False),
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_loops_change_objects(name: str, turns: list[bool]) -> None:
    """Of methods that are called once: the attributes of what the loop is given."""
    body, way = OF_OBJECTS[name]
    same(OBJECT.replace("{}", body))
    assert any(turns) is way


def test_another_zip_of_the_module(turns: list[bool]) -> None:
    """One that gets its name from elsewhere."""
    text = (
        "globals()['zip'] = lambda *given: [(one[0], 1) for one in given] * 9\n"
        "a, s = cp.arange(6.0), 0\nfor v, w in zip(a, a):\n    s = s + v + w\n"
        "del globals()['zip']\n"
    )
    same(text)
    assert not turns


def test_a_method_may_have_the_name_of_ours(turns: list[bool]) -> None:
    """`run` is what runs a loop by turns, and a method here: its loops are rewritten once."""
    same(
        OBJECT.replace("for i in range(n):", "if n:\n          for i in range(n):").format(
            "self.u += i"
        )
    )
    assert any(turns)


def test_loops_at_top_level_change_objects(turns: list[bool]) -> None:
    """Those that a name stands for all the time."""
    text = OBJECT.replace("{}", "pass").replace(
        "r = s.run(30)", "for i in range(30):\n    {}\nr = s.u"
    )
    same(text.replace("{}", "s.u = s.change()\n    s.n += i\n    t.u[i % 6] += s.u[1]"))
    assert any(turns)
    same(text.replace("{}", "s, t = t, s\n    s.u = s.change()"))


OF_FUNCTIONS = {
    "two calls": ("{}    return a\nr = f(cp.ones(2))\ns = f(cp.ones(3))\n", True),
    "calls in a loop": ("{}    return a\nr = [f(cp.ones(2)) for k in range(3)]\n", True),
    "defaults": ("{}    return a + k\nr = f(cp.ones(2)), f(cp.ones(2), k=2)\n", True),
    "return": ("{}        if i == 4:\n            return a\nr = f(cp.ones(2))\n", True),
    "return nothing": ("{}        if a[0] > 5:\n            return\nr = f(cp.ones(2))\n", True),
    "return variables": ("{}        if i == 7:\n            return i, a[:1], a\nr = f(x)\n", True),
    "return from within": (
        "{}        for j in range(3):\n            if i * j == 6:\n                return [a]\n"
        "    return 0\nr = f(cp.ones(2))\n", True,
    ),
    "return or not": (
        "{}        try:\n            if i == b:\n                return a * 2\n        finally:\n"
        "            a[0] += 1\n    return a\nr = [f(cp.ones(2), b=b) for b in (20, 3, 8)]\n", True,
    ),
    "values that come later": (
        "{}        b = a * 0.5\n        if i > 2 and abs(b - old).max() < 3:\n            break\n"
        "        a, old = b, b\n    return a, old\nr = f(cp.ones(2))\n", True,
    ),
    "values that do not come": (
        "{}        b = a + (c if i > 40 else 1)\n        if i > 50:\n            c = 1\n"
        "    a += b\n    return b, c\nr = f(x)\n", True,
    ),
    "values that are missing": ("{}        b = a + (c if i > 4 else 1)\n        if i > 5:\n"
        "            c = 1\n    return b\nr = f(x)\n", True,
    ),
    "return without a value": (
        "{}        if i > 5:\n            return a + c\n        if i > 7:\n            c = 1\n"
        "r = f(x)\n", True,
    ),
    "yield": ("{}        yield a\nr = list(f(cp.ones(2)))\n", False),
    "global": ("def f(a):\n    global i\n    for i in range(9):\n        a += i\nf(x)\n", False),
    "decorated": ("import functools\n@functools.cache\n{}    return a\nr = f(1)\n", False),
    "passed on": ("{}    return a\nr = list(map(f, [x]))\n", False),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_loops_of_functions(name: str, turns: list[bool]) -> None:
    """In the first call of a function, and while calls take long."""
    text, way = OF_FUNCTIONS[name]
    head = "def f(a, b=1, *, k=0):\n    for i in range(9):\n        a += i\n"
    same("x = cp.ones(3)\n" + text.replace("{}", head))
    assert any(turns) is way


@pytest.mark.parametrize("inner", ["def g(j): p[j] = p[j - 1] + 1", "def g(j): p[j - 1:j] += 2"])
def test_loops_call_the_functions_of_their_own_call(
    inner: str, turns: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an earlier call there are closures that read arrays of the same names."""
    monkeypatch.setattr(whole, "_LONG", 0.0)
    same(
        f"def f(n):\n    p = cp.arange(n)\n    {inner}\n"
        "    for i in range(1, n):\n        p[i] += g(i - 1) or i\n    return p\n"
        "r = [f(n) for n in (9, 9, 9, 8, 9)]\n"
    )
    assert any(turns)


def test_defaults_and_code_that_change(
    turns: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """They are those of the function at each call."""
    monkeypatch.setattr(whole, "_LONG", 0.0)
    text = (
        "import cupy as cp\ndef f(a, k=0, *, n=1):\n    for i in range(9):\n"
        "        a += k + i * n\n    return a\n"
    )
    made: dict[str, Any] = {"__name__": "looping"}
    exec(with_wholes(text.encode(), "<p>"), made)
    f, x = made["f"], made["cp"].zeros(2)
    assert f(x)[0] == 36 and any(turns)
    f.__defaults__, f.__kwdefaults__ = (2,), {"n": 0}
    assert f(x)[0] == 54
    f.__code__ = (lambda a, k, n: a * n).__code__
    assert f(x, 1, 3)[0] == 162


def test_short_calls_have_no_turns(turns: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """But the first one; of long calls each has."""
    text = "def f(a):\n    for i in range(9):\n        a = a + i\n    return a\n"
    calls = "r = [f(cp.ones(k)) for k in range(5)]\n"
    counts = []
    for shortest in (float("inf"), 0.0):
        turns.clear()
        monkeypatch.setattr(whole, "_LONG", shortest)
        same(text + calls)
        counts.append(len(turns))
    assert 0 < counts[0] < counts[1]


def test_a_loop_has_one_twin(turns: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """However often its function is called."""
    made: list[Any] = []

    def told(function: Any, *given: Any, **named: Any) -> Any:
        made.append(function)
        return twin_of(function, *given, **named)

    monkeypatch.setattr(loops, "twin_of", told)
    monkeypatch.setattr(whole, "_LONG", 0.0)
    monkeypatch.setattr(whole.Whole, "_as_whole", lambda self, twin, a, k: self._by_itself(a, k))
    same(
        "def f(a):\n    for i in range(9):\n        a = a + i\n    return a\n"
        "r = [f(cp.ones(k)) for k in range(1, 9)]\n"
    )
    assert len(made) == 1 and any(turns)


_BEGINNINGS = (
    "for k in range(11):\n    n = k % 4\n    t = a + n\n",
    "for k in [0, 1, 2, 3, 4, 5]:\n    n = 2\n    t = b\n    if k % 3 == 1:\n        continue\n",
    "k = 0\nwhile k < 9:\n    k += 1\n    n = 3\n    t = b - n\n    if k == 7:\n        break\n",
    "for k, u in enumerate(a):\n    n = k % 4\n    t = b + u\n",
    "for t, u, k in zip([a, b, x] * 3, b, range(9)):\n    n = int(u > 1)\n    t = t + u\n",
    "k = 1\nfor t in [a, x, b[:2], a[::-1], b, y]:\n    n = 2\n    t = t[0] + b\n",
)
_PAIRS = ("x, y", "x, x", "z[:6], z[3:9]", "z[::2], z[1::2]", "x[::-1], x", "x, w")
_MADE = "x = cp.arange(6.0)\ny = cp.ones(6)\nz = cp.arange(12.0)\nw = cp.ones(6)\nr = []\n"
_G = "def g(v, k=2):\n    v[1:] += k\n    return v\n"


@pytest.mark.parametrize("seed", few(in_turn(range(400)), 12))
@one_in(2)
def test_random_loops(seed: int) -> None:
    """On arrays that share memory, at top level and in a function, with errors at times."""
    writer = Writer(seed)
    body = indent("\n".join(writer.statement() for _ in range(writer.pick([2, 4, 8]))), "    ")
    loop = writer.pick(_BEGINNINGS) + body
    end = f"\n    r.append(({writer.result()},))\n    a *= 0.25\n"
    text = f"{_MADE}a, b = {writer.pick(_PAIRS)}\n{loop}{end}"
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        same(_G + text)
        same(_G + in_main(text).replace("k == 'r'", "k == ''"))


def test_large_work_is_recorded(turns: list[bool]) -> None:
    """Fusing pays there: no turn but the first is timed."""
    same("a = cp.zeros(400_000)\nfor i in range(20):\n    a = a * 0.5 + i\n")
    assert turns == [False, False]


def test_the_faster_way_is_taken(turns: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_MARGIN", 0.0)
    same(WHOLE["in place"])
    assert turns[:5] == [False, True, False, True, False]
    assert not any(turns[4:])


def run(script: Path, plain: bool) -> tuple[int, str, str]:
    command = [sys.executable, str(script)]
    if not plain:
        command = [sys.executable, "-m", "fusecuda", "run", "--device", "cpu", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_what_is_shown_is_the_scripts_own(tmp_path: Path) -> None:
    """Prints and tracebacks name lines of the module, as if there were no functions of loops."""
    text = (
        "import cupy as cp\na = cp.arange(8.0)\nfor i in range(20):\n"
        "    print(i, a[i], a[:2], sep=';')\n    a = a / 2 + 1 // (6 - i)\n"
    )
    ours, plain = tmp_path / "ours.py", tmp_path / "plain.py"
    ours.write_text(text)
    plain.write_text(text.replace("cupy", "numpy"))
    got, want = run(ours, plain=False), run(plain, plain=True)
    assert got[:2] == want[:2]
    assert got[2].replace("ours.py", "plain.py") == want[2]


def test_numbers_in_containers_are_printed_as_lazy_ones(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = """
a = cp.arange(9.0)
for i in range(9):
    print([a[i]], (a[0], 'x'), {1: a[:1]}, a[i])
"""
    texts = []
    for margin in (0.0, float("inf")):
        monkeypatch.setattr(loops, "_MARGIN", margin)
        outcome(loop, plain=False)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and "rray(8.)" in texts[0]


def test_sources_say_their_encoding() -> None:
    text = "# coding: latin-1\nümlaut = 0\nfor é in range(9):\n    ümlaut += é\n"
    made: dict[str, Any] = {}
    exec(with_wholes(text.encode("latin-1"), "<p>"), made)
    assert made["ümlaut"] == sum(range(9))


def test_a_plain_module_is_compiled_as_ever() -> None:
    code = with_wholes(b"x = 1\nif x:\n    y = 2\n", "<p>")
    assert code.co_code == compile("x = 1\nif x:\n    y = 2\n", "<p>", "exec").co_code
