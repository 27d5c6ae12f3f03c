"""Classes that wholes read by name, and items of dictionaries that they get with defaults."""

from __future__ import annotations

import pytest

from fusecuda.capture.calls.whole import Whole
from tests.capture.calls.test_whole import (
    CALLS,
    HEAD,
    alike,
    as_under_run,  # noqa: F401 - a fixture of each test
    outcome,
    space,
)
from tests.capture.calls.test_whole_objects import (
    as_a_module,  # noqa: F401 - a fixture
)

CLASSES = (
    HEAD
    + "class Base:\n    K, w = 2.0, 3\n    def plain(a, k=1):\n        return a * k\n"
    + "class B(Base):\n    n, held = 1, x\n    @staticmethod\n    def added(a, b):\n"
    + "        return b - a * B.K\n    @classmethod\n    def made(cls, a):\n"
    + "        return a * cls.K\n    def go(self, a):\n"
    + "        return B.added(a, a + B.K) * self.n\n"
    + "b = B()\n"
)
OF_CLASSES = {
    "static": ("B.added(a, a * 2) * B.K", True),
    "inherited": ("B.plain(a, 3) + B.w", True),
    "methods": ("b.go(a), B.go(b, a)", True),
    "inside": ("[B.added(v, v) for v in a]", True),
    "class_methods": ("B.made(a)", False),
    "arrays": ("a + B.held", False),
    "called": ("B().go(a)", False),
    "passed_on": ("isinstance(b, B), a", False),
    "held": ("(B, a)[1]", False),
}
CHANGES = ("", "B.K = i", "Base.w += 1; B.w = i % 3", "B.added = staticmethod(lambda a, b: a + b)")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", OF_CLASSES)
def test_classes_by_name(name: str, change: str) -> None:
    """What is read of a class by its name is what it is at each call."""
    body, way = OF_CLASSES[name]
    text = f"{CLASSES}def f(a):\n    return {body}\n"
    both = [space(text), space(text, plain=True)]
    for i in range(CALLS):
        alike(*(outcome("f(x)", names) for names in both))
        for names in both:
            exec(change if i % 4 == 3 else "", {**names, "i": i})
    f = both[0]["f"]
    if not change:
        assert (type(f) is Whole and not f.refused) is way


GETS = {
    "texts": ("d.get('k'), d.get('z', a), d.get('z')", True),
    "defaults": ("d.get(n, []), d.get(n, 0.0), d.get(n + 1, {}), d.get(n, -1)", True),
    "of_arrays": ("a.get()", False),
    "in_order": ("a.get(None, 'C')", False),
    "by_keyword": ("a.get(order='C')", False),
    "of_anything": ("d.get(n)", False),
    "passed_on": ("d.get is None", False),
}


@pytest.mark.parametrize("name", GETS)
def test_items_of_dictionaries_with_defaults(name: str) -> None:
    """`get` is called as dictionaries know it, and never as arrays do."""
    body, way = GETS[name]
    names = space(f"{HEAD}d = {{'k': x * 3, 1: y, 2: 4.0}}\ndef f(a, n, d):\n    return {body}\n")
    f = names["f"]
    for n in range(CALLS):
        got, want = f(names["x"], n, names["d"]), f.function(names["x"], n, names["d"])
        assert repr(got) == repr(want)
    assert bool(not f.refused) is way
