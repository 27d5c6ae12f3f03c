"""Texts, errors and iterators of wholes and loops are those of the calls as they are."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from fusecuda.capture.arrays.array import Array
from fusecuda.capture.calls.whole import Whole
from fusecuda.tools.own_code import with_wholes
from tests.capture.calls.test_whole import (
    CALLS,
    HEAD,
    as_under_run,  # noqa: F401 - a fixture of each test
    space,
)
from tests.capture.calls.test_whole_objects import (
    as_a_module,  # noqa: F401 - a fixture
)
from tests.marks import one_in

TEXTS = {
    "containers": "f'{[a[0]]} {(a[0], a[1:])} {{0: a[1]}}'",
    "converted": "f'{a[0]!r} {a[0]!s} {a[:2]!a} {a[1]=}'",
    "numbers_and_arrays": "f'{a[0]} {a} {a[0]:.3f} {n:>4}'",
    "forms_from_values": "f'{[a[0]]:{str()}} {a[0]:{n}.2f}'",
    "filled_in": "'%s %r %.2f' % (a[0], a[1], a[2]) + '%r' % a[0] + '%s' % [a[0]]",
    "filled_in_by_name": "'%(k)r' % {'k': a[0]}",
    "filled_in_later": "T % (a[0], [a[1]])",
    "format": "'{} {!r} {k}'.format(a[0], a[1], *[a[2]], k=[a[0]])",
    "functions": "(str([a[0]]), repr(a[0]), ascii(a[1]), format((a[0],)), str(), str(b'n', 'u8'))",
    "mapped": "' '.join(map(str, [a[0], [a[1]]]))",
    "parts": "'{0.shape} {0[1]!r}'.format(a)",
    "named_tuples": "f'{N(a[0], [a])} {N(n, d)!r}', str(N(a[1], a)), 'of %s' % (N(a.sum(), 2),)",
    "inner": "[f'{[v]}' for v in a] + [(lambda v: f'{v!r}')(a[0])]",
    "objects": "f'{o} {o!r} {[o]}' + str(o) + '%r' % o",
    "dataclasses": "f'{d}' + repr([d])",
    "plain_objects": "f'{p}' + repr([p])",
    "errors": "told(a)",
}
CLASSES = (
    "from dataclasses import dataclass\nfrom collections import namedtuple\nT = '%r %s'\n"
    "N = namedtuple('N', 'k v')\n"
    "class O:\n    def __init__(self, v):\n        self.v = v\n"
    "    def __repr__(self):\n        return f'O({self.v!r}, {[self.v[0]]})'\n"
    "@dataclass\nclass D:\n    v: object\n    o: object = None\n"
    "class P:\n    def __init__(self, v):\n        self.v = v\n"
    "o, p = O(x), P(x)\nd = D(x, O(y))\n"
    "def told(a):\n    try:\n        raise ValueError(a[0], [a[1]])\n"
    "    except ValueError as e:\n        return f'{e} {e!r}', str(e), repr([e])\n"
)


def both_ways(text: str, call: str, way: bool | None = True) -> list[Any]:
    """What calls of ``f`` give, which are the same as wholes and as they are.

    ``way`` says whether wholes have to be made.
    """
    found = []
    for whole in (True, False):
        names = space(text)
        f = names["f"]
        assert type(f) is Whole
        if not whole:
            names["f"] = f.function
        found.append([_given(call, names, n) for n in range(CALLS)])
        if whole and way is not None:
            assert bool(not f.refused and [e for e in f._entries.values() if e.small]) is way
    assert found[0] == found[1]
    return found[0]


def _given(call: str, names: dict[str, Any], n: int) -> Any:
    names["n"] = n
    try:
        return described(eval(call, names))
    except Exception as error:
        return described(error)


def described(value: Any) -> Any:
    """The kinds and values in a result; where an object lies does not count."""
    if isinstance(value, BaseException):
        return type(value), described(value.args), described(value.__cause__)
    if isinstance(value, Iterator):
        return type(value), [described(one) for one in value]
    if isinstance(value, list | tuple):
        return type(value), [described(one) for one in value]
    if isinstance(value, dict):
        return {key: described(one) for key, one in value.items()}
    return type(value), re.sub("0x[0-9a-f]+", "", str(value))


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    """Texts show lazy arrays and numbers, however they are made."""
    text = f"{HEAD}{CLASSES}def f(a, n, o, d, p):\n    a += 1\n    return {TEXTS[name]}\n"
    got = both_ways(text, "f(x, n, o, d, p)", name not in ("parts", "inner"))
    assert "np.float64" not in repr(got)


def test_objects_are_told_by_their_places() -> None:
    """A plain object that stands for another one has the text of that."""
    names = space(f"{HEAD}{CLASSES}def f(p):\n    return repr(p), f'{{p.v[0]}}'\n")
    for _ in range(CALLS):
        assert names["f"](names["p"]) == (repr(names["p"]), "0.0")


ERRORS = {
    "values": "raise ValueError('bad', a[0], [a[1:]], {'k': a.sum()})",
    "keys": "raise KeyError(a[0])",
    "causes": "try:\n        raise KeyError(a[1])\n    except KeyError as error:\n"
    "        raise ValueError(a[0]) from error",
    "handled_before": "try:\n        raise KeyError(a[1])\n    except KeyError:\n"
    "        raise ValueError([a[0]])",
    "numpys": "return a[9]",
    "returned": "try:\n        raise KeyError(a[n])\n    except KeyError as error:\n"
    "        return error if n % 4 == 3 else a",
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    """What an error holds is lazy, as are arguments of those that led to it."""
    later = "    return g(a, n) if n % 4 == 3 else a\n"
    text = f"{HEAD}def g(a, n):\n    a += 1\n    {ERRORS[name]}\ndef f(a, n):\n{later}"
    got = both_ways(text, "f(x, n)", None)
    assert "float64" not in repr(got)


ITERATORS = {
    "generators": "g(a, 3, a, z=4, q=a)",
    "generators_of_methods": "g(a)",
    "begun": "begun(a)",
    "expressions": "(v * 2 for v in a)",
    "arrays": "iter(a)",
    "mapped": "map(double, a)",
    "zipped": "zip(a, [a, a], enumerate(a, 2))",
    "lists": "(reversed([a, a * 2]), iter((a, 3)), filter(double, [a[1]]))",
}


@pytest.mark.parametrize("name", ITERATORS)
def test_iterators_that_only_later_calls_return(name: str) -> None:
    """What such calls give holds no arrays of NumPy's."""
    text = (
        f"{HEAD}def double(v):\n    return v * 2\n"
        "def g(a, k=2, *r, z=3, **kw):\n    yield a * k\n    yield a[0] * z + len(r)\n"
        "def begun(a):\n    q = zip(g(a), map(double, a))\n    next(q)\n    return q\n"
        f"def f(a, n):\n    return {ITERATORS[name]} if n % 4 == 3 else a + n\n"
    )
    both_ways(text, "f(x, n)", None)


LOOP = (
    "s, n, seen, last = x * 0, 0, [], None\nfor i in range(400):\n    s = s + 1\n    n += 1\n"
    "    last = s[0]\n    seen.append(last)\n    if i == {at}:\n        {end}\n    k = n * 2\n"
)


@pytest.mark.parametrize("at", [0, 2, 3, 40, 399])
@pytest.mark.parametrize("end", ["raise ValueError(s, seen)", "s[9]", "raise KeyError(f'{seen}')"])
def test_variables_of_a_loop_that_an_error_leaves(at: int, end: str) -> None:
    """They are what they were when it was raised: who looks at the module then sees them."""
    text = HEAD + LOOP.format(at=at, end=end)
    found = []
    for code in (with_wholes(text.encode(), "<p>"), compile(text, "<p>", "exec")):
        names: dict[str, Any] = {"__name__": "whole_program"}
        with pytest.raises((ValueError, LookupError)) as raised:
            exec(code, names)
        kept = [names.get(name) for name in ("s", "n", "seen", "last", "i", "k")]
        found.append((described(kept), described(raised.value)))
    assert found[0] == found[1]


_VALUES = (
    *("a", "a[0]", "a[1:3]", "n", "a.sum()", "[a[1]]", "(a[0], n)", "[{0: a[2]}]", "o", "d.v[0]"),
    *("[o, a[0]]", "d", "[[a[0]], (a,)]", "T", "a.shape", "float(a[1])", "a > 2", "a[0] > 2"),
)
_FORMS = (
    *("f'{{{0}}}'", "f'{{{0}!r}}'", "f'{{{0}!s}} {{{1}}}'", "'%s %r' % ({0}, {1})", "str({0})"),
    *("'{{}} {{!r}}'.format({0}, {1})", "repr({0})", "format({0})", "'%r' % ({0},)"),
    *("' '.join(map(str, [{0}, {1}]))", "f'{{{0}=}}'", "ascii({0})", "f'{{[{0}, {1}]}}'"),
)


@one_in(8)
@pytest.mark.parametrize("seed", range(60))
def test_random_texts(seed: int) -> None:
    """Random texts of random values, in functions and in what they call."""
    rng = random.Random(seed)
    made = [rng.choice(_FORMS).format(*rng.sample(_VALUES, 2)) for _ in range(4)]
    text = (
        f"{HEAD}{CLASSES}def g(a, n, o, d):\n    a[1:] += n\n    return {made[0]}, {made[1]}\n"
        f"def f(a, n, o, d):\n    return g(a, n, o, d), {made[2]}, [{made[3]} for v in a[:2]]\n"
    )
    both_ways(text, "f(x, n, o, d)")


def test_functions_that_make_texts_go_out_as_written() -> None:
    """A function that is made in a whole shows lazy arrays where the script calls it."""
    names = space(f"{HEAD}def f(a, n):\n    return (lambda: f'{{[a[0]]}}') if n > 2 else a\n")
    for n in range(1, CALLS):
        got = names["f"](names["x"], n)
        assert type(got) is Array or got() == repr([names["x"][0]])
