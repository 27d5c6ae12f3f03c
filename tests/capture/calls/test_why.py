"""Why a call was not replayed: `why`, and the log of what is recorded again."""

from __future__ import annotations

import contextlib
import gc
import logging
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc

HERE = Path(__file__).name
X = np.linspace(1, 2, 12)
factor: Any = 2.0


def made(function: Callable[..., Any]) -> Any:
    return fc.fused(strict=True)(function)


def scaled(x: np.ndarray, plus: Any = 0.5, twice: bool = False) -> np.ndarray:
    y = x * 3.0
    y = y + (factor if isinstance(factor, str) is False else 1.0)
    return y * 2 if twice else y + plus


def reason(fused: Any) -> str:
    text = str(fused.why())
    return text.partition(": ")[2].partition("; ")[0]


@pytest.mark.parametrize(
    ("second", "wanted"),
    [
        ((X[:5],), "x.shape was (12,), is (5,)"),
        ((X.astype("f4"),), "x.dtype was dtype('float64'), is dtype('float32')"),
        ((np.repeat(X, 2)[::2],), "x.strides was (8,), is (16,)"),
        ((X, 0.5, False), "the number of arguments was 1, is 3"),
        ((list(X),), "type(x) was ndarray, is list"),
    ],
)
def test_it_names_the_condition_its_values_and_the_line(second: Any, wanted: str) -> None:
    fused = made(scaled)
    fused(X)
    assert reason(fused) == "no trace was there"
    with contextlib.suppress(TypeError, fc.NotFusedError):  # a list is no array
        fused(*second)
    assert reason(fused).startswith(wanted), fused.why()
    assert HERE in reason(fused)


def test_an_argument_that_was_looked_at() -> None:
    fused = made(scaled)
    fused(X, 0.5, False)
    fused(X, 0.5, True)
    assert reason(fused).startswith("twice was False, is True")
    line = scaled.__code__.co_firstlineno
    assert reason(fused).endswith(f"{HERE}:{line + 3})")


def test_a_global_a_closure_and_an_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = made(scaled)
    fused(X)
    monkeypatch.setitem(globals(), "factor", np.float32(7))
    fused(X)
    assert reason(fused).startswith("factor was 2.0, is "), fused.why()

    mode = "up"

    def moded(x: np.ndarray) -> np.ndarray:
        return x + 1.0 if mode == "up" else x - 1.0

    fused = made(moded)
    fused(X)
    mode = "down"
    fused(X)
    assert reason(fused).startswith("mode was 'up', is 'down'"), fused.why()

    class Model:
        def __init__(self) -> None:
            self.kind = "linear"

        def __call__(self, x: np.ndarray) -> np.ndarray:
            return x * 2.0 if self.kind == "linear" else x * x

    model = Model()
    fused = made(model)
    fused(X)
    model.kind = "square"
    fused(X)
    assert reason(fused).startswith("self.kind was 'linear', is 'square'"), fused.why()


def test_memory_that_two_of_many_arrays_share() -> None:
    def halve(*arrays: np.ndarray) -> None:
        for a in arrays:
            a[...] = a / 2

    fused, u = made(halve), np.ones(80)
    parts = [u[10 * k : 10 * k + 10] for k in range(8)]
    fused(*parts)
    fused(*parts[:7], u[65:75])
    assert reason(fused).startswith("two of many arrays share memory"), fused.why()


def test_memory_that_is_shared_and_values_not_seen_before() -> None:
    def add(a: np.ndarray, b: np.ndarray) -> Any:
        a += b
        return a.sum()

    fused, u = made(add), np.ones(20)
    fused(u[:5], u[5:10])
    fused(u[:5], u[3:8])
    assert reason(fused).startswith("a and b share memory, and did not")

    fused = made(lambda x: x + 1.0 if x.sum() > 0 else x - 1.0)
    fused(X)
    fused(-X)
    assert reason(fused) == "it saw a value not seen before: False"


def test_what_would_become_of_a_call() -> None:
    fused = made(scaled)
    assert fused.why(X) == "scaled would be recorded: there is no trace that can be replayed"
    fused(X)
    assert fused.why(X + 1) == "scaled would be replayed"
    assert fused.why(X[:3]).startswith("scaled would be recorded again: x.shape was (12,), is (3,)")
    fused(X[:3])
    for known in (X, X[:3]):  # not by the newest trace alone
        assert fused.why(known) == "scaled would be replayed"


def test_arguments_are_not_kept_alive_and_still_explained() -> None:
    fused = made(scaled)
    fused(X)
    y = np.ones(7)
    gone = weakref.ref(y)
    fused(y)
    del y
    gc.collect()
    assert gone() is None
    assert reason(fused).startswith("x.shape was (12,), is (7,)")


def test_a_call_that_does_not_pay_is_explained_too() -> None:
    fused = fc.fused(lambda x: np.random.default_rng(0).permutation(x) + 1.0)
    fused(X)
    assert "no trace was there" in fused.why()


def test_the_log_tells_what_is_recorded_again(caplog: pytest.LogCaptureFixture) -> None:
    fused = made(scaled)
    with caplog.at_level(logging.INFO, logger="fusecuda.capture"):
        fused(X)
        fused(X)
        fused(X[:4])
    texts = [r.getMessage() for r in caplog.records if r.name == "fusecuda.capture"]
    again = [t for t in texts if "recorded again" in t]
    assert len(again) == 1 and "x.shape was (12,), is (4,)" in again[0]
    assert len(texts) == 3  # what became of the two recordings; a replay is silent
