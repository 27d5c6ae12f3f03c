"""Methods of a script's classes, and functions of objects, are called as wholes."""

from __future__ import annotations

import sys
import types
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from fusecuda.capture.arrays.array import Array
from fusecuda.capture.calls import whole
from fusecuda.capture.calls.border import Border
from fusecuda.capture.calls.objects import is_own, stores_to
from fusecuda.capture.calls.whole import Whole
from tests.capture.calls.test_whole import (
    CALLS,
    HEAD,
    alike,
    as_under_run,  # noqa: F401 - a fixture of each test
    leaves,
    outcome,
    sharing,
    space,
)

CLASS = (
    HEAD
    + "class C:\n    K = 2\n    def __init__(self, a):\n        self.u = a\n        self.n = 0\n"
)


def method(body: str, rest: str = "", given: str = "x") -> tuple[str, str, str]:
    """A program with a method ``m``, what calls it, and what is done in between."""
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return f"{CLASS}    def m(self, *given):\n{lines}{rest}\nc = C({given})\n", "c.m()", ""


SAME: dict[str, tuple[str, str, str]] = {
    "reads": method("return self.u * self.K + self.n"),
    "writes_in_place": method("self.u[1:] += self.u[:-1]\nself.u *= 0.5"),
    "writes_attributes": method("self.u = self.u * 0.5 + 1\nself.n += 1"),
    "new_attributes": method("self.w = self.u[1:]\nself.v = self.w.sum()\nself.u[2] = 7"),
    "returns_itself": method("self.n += 1\nreturn self"),
    "other_methods": method(
        "self.add(2)\nreturn self.total() + self.doubled",
        "    def add(self, k):\n        self.u = self.u + k\n"
        "    def total(self):\n        return self.u.sum()\n"
        "    @property\n    def doubled(self):\n        return self.u * 2\n",
    ),
    "helpers": method(
        "self.u = g(self, self.u)\nreturn h(self)",
        "def g(c, u):\n    return u * c.K\ndef h(c):\n    return c.u.max()\n",
    ),
    "containers": method(
        "self.parts[0] += 1\nself.parts.append(self.parts.pop() * 1)\nself.by['w'] = self.u - 1\n"
        "self.n = len(self.parts)",
        given="x)\nc.parts, c.by = [y, z], {'v': 1}\n(0",
    ),
    "exceptions": method(
        "self.u[0] += 1\nself.n += 1\nif self.n % 3 == 2:\n    raise ValueError(self.n)\n"
        "self.u = self.u + 1"
    ),
    "no_attribute": method("self.n += 1\nreturn self.missing"),
    "unpacked": method("self.u, self.n = self.u[::-1], self.n + 2\nfor self.i in range(3): pass"),
    "keeps_functions": method(
        "self.n += 1\nif self.n == 9:\n    self.f, self.g = self.other, helper\nreturn self.u",
        "    def other(self):\n        return self.u\ndef helper(a):\n    return a\n",
    ),
    "keeps_itself": method(
        "self.n += 1\nif self.n == 9:\n    self.me = [self]\n    self.me[0].u[1] += 1\n"
        "    return self.me[0] is self, self.me\nreturn self.u"
    ),
    "shares": method("self.u += self.w[::-1]\nreturn self.w", given="z[:6])\nc.w = z[3:9]\n(0"),
    "inherited": (
        CLASS + "    def g(self):\n        return self.u * 2\nclass D(C):\n    def g(self):\n"
        "        return self.u * 3\n    def m(self):\n        self.n += 1\n"
        "        return self.g()\nc, d = D(x), C(y)\n", "c.m(), d.g()", "",
    ),
    "dataclass": (
        "from dataclasses import dataclass, field\n" + HEAD + "@dataclass\nclass P:\n"
        "    dt: float = 0.5\n    k: float = 2.0\n@dataclass\nclass C:\n    u: object\n    p: P\n"
        "    def m(self):\n        self.u = self.u + self.p.dt * self.p.k * self.u[0]\n"
        "        return self.p == self.p, self.p\nc = C(x, P())\n", "c.m()", "",
    ),
    "given": (
        CLASS + "def f(state, w):\n    state.u[0] += w[1]\n    return state, state.u * state.K\n"
        "c = C(x)\n", "f(c, y)", "",
    ),
    "draws": method(
        "self.u = self.r.normal(size=6)\nself.r.shuffle(self.u)\nself.s = self.r\n"
        "return self.r is self.s, self.r.random(), self.r.integers(9)",
        given="x)\nc.r = cp.random.default_rng(1)\n(0",
    ),
    "makes_generators": method(
        "self.n += self.r is not None and self.r.random() > 2\n"
        "self.r = cp.random.default_rng(self.n)\nreturn self.r.normal()",
        given="x)\nc.r = None\n(0",
    ),
    "changed_between": (*method("self.u += self.n\nreturn self.u")[:2], "c.u = c.u * 2; c.n += 1"),
    "class_changed": (*method("return self.u * self.K")[:2], "C.K += 1"),
    "method_changed": (
        *method("return self.g()", "    def g(self):\n        return self.u + 1\n")[:2],
        "C.g = lambda self: self.u - self.n; c.n += 1",
    ),
}  # fmt: skip

# What is not known to be the same is called as it is.
DIFFERENT = {
    "keeps_functions": method("self.f = lambda: self.u"),
    "keeps_the_namespace": method("self.xp = cp\nreturn self.u"),
    "kind": method("return self.__class__.__name__"),
    "makes_one_of_its_kind": method("return self.__class__(self.u)"),
    "copied": (
        HEAD + "import copy\nclass C:\n    def m(self):\n        return copy.copy(self)\nc = C()\n",
        "c.m()", "",
    ),
    "replaced": (
        HEAD + "from dataclasses import dataclass, replace\n@dataclass\nclass C:\n    u: object\n"
        "    def m(self):\n        return replace(self, u=self.u + 1)\nc = C(x)\n", "c.m()", "",
    ),
    "writes_others": method("g.kept = self.u", "def g():\n    pass\n"),
    "writes_by_another_name": method("h = g\nh.kept = self.u", "def g():\n    pass\n"),
    "writes_arrays": method("self.u.shape = 2, 3"),
    "deletes": method("self.v = 1\ndel self.v"),
    "rebinds": method("n = self\nself = g\nself.kept = n.u", "def g():\n    pass\n"),
    "others_attributes": method("g.kept += 1", "def g():\n    pass\ng.kept = 0\n"),
    "dictionary": method("self.__dict__['v'] = self.u"),
    "makes_objects": method("return C(self.u)"),
    "super": method("return super().__repr__()"),
    "opaque": method(
        "return self.r.random()", given="x)\nimport random\nc.r = random.Random(1)\n(0"
    ),
    "slots": (
        HEAD + "class C:\n    __slots__ = ('u',)\n    def m(self):\n        return self.u\n"
        "c = C()\nc.u = x\n", "c.m()", "",
    ),
    "special": method("return self.u", "    def __getattr__(self, name):\n        return 1\n"),
    "a_base_of_others": (
        "import collections\n" + HEAD + "class C(collections.UserDict):\n    def m(self):\n"
        "        return len(self)\nc = C()\n", "c.m()", "",
    ),
}  # fmt: skip


class Pair(namedtuple("Pair", "a b")):
    """With attributes beside its fields."""


def test_tuples_keep_their_attributes() -> None:
    """What a whole returns is taken with all that its attributes hold."""
    pair: Any = Pair(np.ones(2), 1)
    pair.more = np.zeros(2)
    taken = Border().taken(pair)
    assert type(taken) is Pair and type(taken.a) is type(taken.more) is Array


@pytest.fixture(autouse=True)
def as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where dataclasses look for what annotations mean."""
    monkeypatch.setitem(sys.modules, "whole_program", types.ModuleType("whole_program"))


def attributes(value: Any, seen: tuple[Any, ...] = ()) -> Any:
    """An object as a dictionary of what it holds."""
    if any(value is s for s in seen):
        return "again"
    if type(value) in (list, tuple):
        return [attributes(v, seen) for v in value]
    if isinstance(value, types.MethodType):
        return "method of", value.__name__, attributes(value.__self__, seen)
    if callable(value):
        return getattr(value, "__name__", "")
    if is_own(type(value)) and type(value).__module__ == "whole_program":
        held = {name: attributes(v, (*seen, value)) for name, v in vars(value).items()}
        return {"kind": type(value).__name__, **held}
    return value


def run(text: str, call: str, step: str) -> None:
    """Make the call again and again both ways."""
    both = [space(text), space(text, plain=True)]
    for _ in range(2 * CALLS):
        ours, plain = (outcome(call, names) for names in both)
        alike(attributes(ours), attributes(plain))
        held = []
        for names, result in zip(both, (ours, plain), strict=True):
            objects = [attributes(names[n]) for n in ("c", "d") if n in names]
            held.append(leaves([attributes(result), *objects, names["x"], names["z"]]))
            assert (result is names.get("c")) == (plain is both[1].get("c"))
        for mine, theirs in zip(*held, strict=True):
            alike(mine, theirs)
        assert sharing(held[0]) == sharing(held[1])
        for names in both:
            exec(step, names)


@pytest.mark.parametrize("name", SAME)
def test_wholes_of_objects_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results, attributes, identity, shared memory and errors are NumPy's."""
    wholes = []
    as_whole = Whole._as_whole

    def counted(self: Whole, *args: Any) -> Any:
        wholes.append(self.__name__)
        return as_whole(self, *args)

    monkeypatch.setattr(Whole, "_as_whole", counted)
    run(*SAME[name])
    assert wholes or name == "no_attribute"


def test_objects_as_keys() -> None:
    """A dictionary that has them is given to the function itself."""
    for made in ("C(x)", "cp.random.default_rng(1)"):
        names = space(CLASS + f"def f(d, c):\n    return d[c] * 1\nc = {made}\nd = {{c: y}}\n")
        for _ in range(CALLS):
            alike(names["f"](names["d"], names["c"]), np.ones(6))


@pytest.mark.parametrize("name", DIFFERENT)
def test_objects_that_are_not_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of them are made as they are."""
    monkeypatch.setattr(Whole, "_as_whole", None)
    text, call, _ = DIFFERENT[name]
    names = space(text)
    for _ in range(CALLS):
        assert "NoneType" not in str(outcome(call, names))


def test_which_methods_are_made_wholes() -> None:
    names = space(
        "class C:\n    def m(self):\n        pass\n    def __len__(self):\n        return 1\n"
        "    @staticmethod\n    def s():\n        pass\n    def taken(self):\n        pass\n"
        "f = C().taken\nclass Meta(type):\n    def m(self):\n        pass\n"
        "class D(metaclass=Meta):\n    def m(self):\n        pass\n"
    )
    kinds = [n for n, value in vars(names["C"]).items() if type(value) is Whole]
    assert kinds == ["m"] and not any(type(v) is Whole for v in vars(names["D"]).values())
    assert names["C"].m.__name__ == "m" and names["C"]().m.__self__ is not None


@pytest.mark.parametrize(
    ("instructions", "stores"),
    [
        ([("LOAD_FAST_LOAD_FAST", ("v", "self")), ("STORE_ATTR", "u")], True),
        ([("LOAD_FAST_LOAD_FAST", ("self", "v")), ("STORE_ATTR", "u")], False),
        ([("STORE_FAST_LOAD_FAST", ("v", "self")), ("STORE_ATTR", "u")], True),
        ([("STORE_FAST_LOAD_FAST", ("self", "self")), ("STORE_ATTR", "u")], False),
        ([("STORE_FAST_STORE_FAST", ("v", "self")), ("LOAD_FAST", "self")], True),
        ([("STORE_FAST_STORE_FAST", ("v", "self")), ("STORE_ATTR", "u")], False),
        ([("LOAD_FAST_BORROW", "self"), ("COPY", 1), ("LOAD_ATTR", "u")], True),
        ([("LOAD_FAST_BORROW", "v"), ("COPY", 1), ("LOAD_ATTR", "u")], False),
        ([("LOAD_DEREF", "self"), ("STORE_ATTR", "u")], True),
        ([("STORE_DEREF", "self"), ("LOAD_DEREF", "self"), ("STORE_ATTR", "u")], False),
    ],
)
def test_what_other_pythons_make_of_attributes(instructions: Any, stores: bool) -> None:
    """Two variables by one instruction, on 3.13 and later."""
    made = [types.SimpleNamespace(opname=name, argval=arg) for name, arg in instructions]
    assert stores_to(("self",), made) is stores


def test_methods_step_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "_SHORT", 1.0)
    names = space(CLASS + "    def get(self):\n        return self.n\nc = C(x)\n")
    for _ in range(2 * whole._IDLE):
        assert names["c"].get() == 0
    assert type(vars(names["C"])["get"]) is types.FunctionType


def test_attributes_are_lazy_arrays() -> None:
    text, call, _ = SAME["writes_attributes"]
    names = space(text)
    for _ in range(CALLS):
        outcome(call, names)
        assert type(names["c"].u) is Array and type(names["c"].n) is int
    np.testing.assert_allclose(np.asarray(names["c"].u)[0], 2 - 2 * 0.5**CALLS)
