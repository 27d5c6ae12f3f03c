# ruff: noqa: E501
"""Functions that loop over few numbers are called as wholes at first, others are not."""

from __future__ import annotations

import pytest

from tests.capture.calls.test_whole import (
    FUNCTIONS,
    alike,
    as_under_run,  # noqa: F401 - a fixture of each test
    counted,
    outcome,
    space,
)

TINY = {
    "in_place": "for i in range(9):\n    a[1:] += a[:-1] * n\nreturn a",
    "draws": "for i in range(9):\n    a = a + rng.normal(size=6)\n    n += rng.random()\nreturn a, n",
    "branches": "k = 0\nwhile float(a @ a) < 900 and k < 9:\n    a = a * 1.5\n    k += 1\nreturn k, a",
    "collects": "out = []\nfor i in range(4):\n    a = cp.sin(a)\n    out.append(a)\nreturn cp.array(out)",
    "of_a_size": "t = cp.zeros((3, 2), dtype=int)\nfor i in range(3):\n    t[i] = i\nreturn t, t.T",
    "helpers": "for i in range(4):\n    a = twice(other, a)\nreturn [a, {'n': n}]",
    "walks": "s = 0\nfor i, v in enumerate(a):\n    s = s + v * W[i]\nreturn s, [v for v in a]",
    "raises": "for i in range(4):\n    a[i] = n\n    if i == 2:\n        raise ValueError(i)",
    "libraries": "for i in range(2):\n    a = a / cp.linalg.norm(a) + math.sqrt(n)\nreturn a, cp.pi",
    "returns_nothing": "for i in range(2):\n    a += i",
}
NOT_TINY = {
    "no_loop": "return a + 1",
    "of_any_size": "t = cp.zeros(n)\nfor i in range(3):\n    t += i\nreturn t",
    "of_a_large_size": "t = cp.zeros((400, 100))\nfor i in range(3):\n    t += i\nreturn t",
    "draws_many": "for i in range(3):\n    t = rng.normal(size=(n, 2))\nreturn t",
    "draws_by_a_large_number": "for i in range(3):\n    t = rng.normal(size=10**4)\nreturn t",
    "grows": "for i in range(3):\n    a = cp.tile(a, 4)\nreturn a",
    "repeats": "for i in range(3):\n    a = a.repeat(4)\nreturn a",
    "iterators": "for i in range(3):\n    a = a + i\nreturn map(float, a)",
    "pairs": "for i in range(3):\n    a = a + i\nreturn zip(a, a)",
    "sets": "for i in range(3):\n    a = a + i\nreturn {float(v) for v in a}",
    "generators": "for i in range(3):\n    a = a + i\nreturn (v for v in a)",
    "functions": "for i in range(3):\n    a = a + i\nreturn cp.sin",
    "parts": "for i in range(3):\n    a = a + i\nreturn cp.linalg",
    "views_of_keys": "d = {1: a}\nfor i in range(3):\n    d[i] = a * i\nreturn d.values()",
    "methods": "for i in range(3):\n    a = a + i\nreturn a.sum",
    "helpers": "for i in range(3):\n    a = a + i\nreturn grown(a)",
    "closures": "for i in range(3):\n    a = a + i\nreturn lambda: 1",
    "caught": "try:\n    for i in range(9):\n        a[i] += 1\nexcept IndexError as e:\n    k = e\nreturn a",
}


def program(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    grown = "def grown(v):\n    return cp.tile(v, 2)\n"
    large = "large = cp.ones(1000)\n"
    return FUNCTIONS + large + grown + f"def f(a, n, g=None):\n{lines}"


@pytest.mark.parametrize("name", TINY)
def test_tiny_functions_are_wholes_at_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do what they do operation by operation, be it once."""
    wholes = counted(monkeypatch)
    both = [space(program(TINY[name])), space(program(TINY[name]), plain=True)]
    for call in ("f(x, 2)", "f(x, 2)", "f(x[1:4], 5)"):
        alike(*(outcome(call, names) for names in both))
        alike(*(names["x"] for names in both))
        alike(*(names["rng"].random() for names in both))
        assert wholes and set(wholes) == {"f"}


@pytest.mark.parametrize("name", NOT_TINY)
def test_others_are_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their first calls tell whether their work is small, and what they give."""
    wholes = counted(monkeypatch)
    names = space(program(NOT_TINY[name]))
    outcome("f(x, 2)", names)
    assert "f" not in wholes


def test_arrays_that_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As arguments, in a list, or by name."""
    wholes = counted(monkeypatch)
    body = "for i in range(3):\n    n = n + i\nreturn a, W"
    for call, head in (("f(large, 1)", ""), ("f([large], 1)", ""), ("f(x, 1)", "W = large\n")):
        names = space(program(body) + head)
        outcome(call, names)
        assert "f" not in wholes


def test_functions_that_are_given_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that may make large arrays makes the function that it is given to no tiny one."""
    wholes = counted(monkeypatch)
    text = program("for i in range(3):\n    a = g(a)\nreturn a")
    both = [space(text), space(text, plain=True)]
    alike(*(outcome("f(x, 2, grown)", names) for names in both))
    assert "f" not in wholes
    alike(*(outcome("f(x, 2, other)", names) for names in both))
    assert "f" not in wholes  # it is no whole of others, either
    both = [space(text), space(text, plain=True)]
    alike(*(outcome("f(x, 2, other)", names) for names in both))
    assert "f" in wholes
