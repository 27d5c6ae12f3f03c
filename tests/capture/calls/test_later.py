"""Functions, objects and classes that are found through others, or come to them later."""

from __future__ import annotations

import collections
import functools
import sys
import types
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record.rest import Trial
from tests.capture_check import equal

X = np.linspace(-2.0, 3.0, 24).reshape(4, 6)


K, AA = 2.0, np.ones(6)


def by_globals(x: Any) -> Any:
    return x * K + AA


class Reading:
    def by_globals(self, x: Any) -> Any:
        return by_globals(x)


@functools.singledispatch
def dispatched(kind: Any, x: Any) -> Any:
    return x


@dispatched.register
def _(kind: int, x: Any) -> Any:
    return x * K


LATER: dict[Any, Any] = {"a": np.negative, Reading: 1}
OBJECT = types.SimpleNamespace(steps=[np.negative])
MISSING: Any = collections.defaultdict(lambda: K)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, m: LATER["a"](x),
        lambda x, m: OBJECT.steps[0](x),
        lambda x, m: m(x),
        lambda x, m: dispatched(3, x),
        lambda x, m: x * collections.ChainMap({}, MISSING)[float(K)],
        lambda x, m: [key().by_globals(x) for key in LATER if isinstance(key, type)],
    ],
    ids=["dict", "object", "method", "dispatched", "missing", "keys"],
)
def test_code_that_comes_later_reads_what_is_there(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions, objects and classes in containers, however they have come there."""
    here = sys.modules[__name__]
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))
    monkeypatch.setattr(Trial, "took", lambda *args, **kwargs: None)
    step = fc.fused(function)
    given = Reading().by_globals if function.__code__.co_names == () else None
    for k in range(4):
        if k == 1:
            monkeypatch.setitem(LATER, "a", by_globals)
            monkeypatch.setattr(OBJECT, "steps", [by_globals])
            OBJECT.steps[0] = by_globals
        monkeypatch.setattr(here, "K", 2.0 + k // 2)
        monkeypatch.setattr(here, "AA", np.full(6, 1.0 + k))
        for _ in range(2):
            equal(step(X, given), function(X, given))


def test_lists_are_lists() -> None:
    table = {list: 2, tuple: 3}
    step = fc.fused(lambda x, k: (x * table[type(k)], type(k).__name__, k.__class__), strict=True)
    for _ in range(3):
        got, name, kind = step(X, [1.0])
        equal(got, X * 2)
        assert (name, kind) == ("list", list)


def test_functions_of_modules_read_what_is_there() -> None:
    """Arrays and containers of the module of a function that is found in it, by `module.name`."""
    module = types.ModuleType("physics")
    text = "A, T = [1.0], {'k': 2.0}\ndef scaled(x): return x * A[0] + T['k']"
    exec(text, vars(module))
    step = fc.fused(lambda x: module.scaled(x) + 1)
    for k in range(4):
        module.A[0], module.T["k"] = float(k), k * 0.5
        equal(step(X), X * k + k * 0.5 + 1)
    assert step.traces <= 2
