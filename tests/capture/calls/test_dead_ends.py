"""Functions that no trace can follow are known to the scans of all that lead to them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from fusecuda import fused
from fusecuda.capture.calls import dead_ends
from fusecuda.capture.calls.dead_ends import dead_end
from fusecuda.capture.calls.scan import Scan, reads_of

_ask: Any = id


def asks(x: Any) -> Any:
    return x + (_ask is type)


def leads(x: Any) -> Any:
    return asks(x) * 2.0


def leads_there(x: Any) -> Any:
    return leads(x) + 1.0


def also_leads(x: Any) -> Any:
    return leads(x) - 1.0


@pytest.fixture(autouse=True)
def nothing_is_known() -> None:
    for known in dead_ends._known:
        known.clear()


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setitem(asks.__globals__, "_ask", type)
    return monkeypatch


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that scans read from now on."""
    names: list[str] = []
    read = Scan._function

    def noting(scan: Scan, function: FunctionType, bound: bool) -> None:
        names.append(function.__name__)
        read(scan, function, bound)

    monkeypatch.setattr(Scan, "_function", noting)
    return names


@pytest.mark.usefixtures("asking")
def test_another_caller_is_told_the_cause_at_once(scanned: list[str]) -> None:
    assert "type" in reads_of(leads_there).opaque
    assert scanned == ["leads_there", "leads", "asks"]
    assert reads_of(also_leads).opaque == reads_of(leads_there).opaque != ""
    assert scanned[3:] == ["also_leads"]
    assert reads_of(lambda x: also_leads(x) + x).opaque == reads_of(also_leads).opaque
    assert scanned[4:] == ["<lambda>"]


def test_a_function_that_is_called_as_it_is_may_be_one(scanned: list[str]) -> None:
    """One that writes globals is, by whomever it is called."""
    space: dict[str, Any] = {"ask": type}
    exec("def writes(x):\n    global asked\n    asked = ask is type\n    return x\n", space)
    writes = space["writes"]
    assert reads_of(lambda x: writes(x) + 1).opaque
    assert reads_of(lambda x: writes(x) + 2).opaque
    assert scanned == ["<lambda>", "writes", "<lambda>"]


def test_what_has_changed_is_read_again(asking: pytest.MonkeyPatch) -> None:
    assert all([reads_of(function).opaque for function in (leads_there, also_leads)])
    asking.setitem(asks.__globals__, "_ask", id)
    assert not any([dead_end(f, False) for f in (asks, leads, leads_there, also_leads)])
    assert not reads_of(leads_there).opaque
    assert not reads_of(also_leads).opaque
    asking.setitem(asks.__globals__, "_ask", type)
    assert reads_of(also_leads).opaque


@pytest.mark.usefixtures("asking")
def test_results_are_those_of_the_function() -> None:
    x = np.arange(6.0)
    for function in (leads_there, also_leads, leads):
        compiled = fused(function)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x), function(x))
        assert "type" in compiled.explain()


def made(ask: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    def inner(x: Any) -> Any:
        return x + (ask is type) + (outer is None)

    def outer(x: Any) -> Any:
        return inner(x)

    return inner, outer


def test_closures_are_told_apart_by_what_they_hold_and_not_kept_alive() -> None:
    inner, outer = made(type)
    assert reads_of(outer).opaque
    assert isinstance(inner, FunctionType) and dead_end(inner, False)
    assert not reads_of(made(id)[1]).opaque
    alive = weakref.ref(inner), weakref.ref(outer)
    del inner, outer
    gc.collect()
    assert [one() for one in alive] == [None, None]


def test_a_table_of_functions_is_walked_once(scanned: list[str]) -> None:
    table: dict[str, Any] = {}
    for k in range(40):
        space = {"table": table, "k": k}
        exec(f"def f{k}(x): return table['f{(k + 1) % 40}'] and x + k", space)
        table[f"f{k}"] = space[f"f{k}"]
    followed = []
    follow = Scan.follow

    def noting(scan: Scan, function: FunctionType, bound: bool) -> None:
        followed.append(function.__name__)
        follow(scan, function, bound)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scan, "follow", noting)
        reads_of(table["f0"])
    assert sorted(scanned) == sorted(table)
    assert len(followed) == 1 + len(table)


def yields(x: Any, function: Callable[[Any], Any]) -> Any:
    yield function(x)


def test_a_generator_that_is_given_a_function_is_called_as_it_is() -> None:
    compiled, x = fused(yields), np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(next(compiled(x, np.negative)), -x)
        np.testing.assert_array_equal(next(compiled(x, lambda a: a * 2)), x * 2)
    assert "generator" in compiled.explain()
    assert "yields is a generator" in reads_of(yields, lambda a: a * 2).opaque
    assert not reads_of(lambda a, function: next(function(a, np.negative)), yields).opaque
