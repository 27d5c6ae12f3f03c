"""Fused functions that a fused function finds in containers, arguments and attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused

X = np.arange(6.0)
SCALE = 2.0


@fused
def inner(x: Any) -> Any:
    return x * SCALE + 1


class Model:
    def __init__(self) -> None:
        self.factor = 3.0
        self.layer = inner

    def method(self, x: Any) -> Any:
        return x * self.factor


MODEL = Model()
TABLE, LIST, BOUND = {"inner": inner}, [inner], [fused(MODEL.method)]


def of_dict(x: Any) -> Any:
    return TABLE["inner"](x) + 1


def of_list(x: Any) -> Any:
    return LIST[0](x) * 2


def of_attribute(x: Any, model: Any) -> Any:
    return model.layer(x) - x


def of_argument(x: Any, function: Any) -> Any:
    return function(x) - 1


def of_method(x: Any) -> Any:
    return BOUND[0](x) + 1


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (of_dict, ()), (of_list, ()), (of_attribute, (MODEL,)), (of_argument, (inner,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "more"), CALLS, ids=[f.__name__ for f, _ in CALLS])
def test_it_counts_as_its_function(
    function: Any, more: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is replayed, and what it reads is a condition."""
    ours = fused(function)
    for i, scale in enumerate((2.0, 2.0, 5.0, 5.0)):
        monkeypatch.setitem(globals(), "SCALE", scale)
        with fc.count_launches():
            np.testing.assert_array_equal(ours(X, *more), function(X, *more))
        assert ours.traces == 1 + i // 2


def test_a_bound_one_is_given_its_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is now."""
    ours = fused(of_method)
    for factor in (3.0, 3.0, 7.0):
        monkeypatch.setattr(MODEL, "factor", factor)
        np.testing.assert_array_equal(ours(X), X * factor + 1)


def test_what_is_measured_inside_is_no_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain call counts once it is decided how the fused functions that it calls are made."""
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.REPLAYS_FIRST", 1 << 20)
    step = fused(lambda x: x * 2 + 1)
    ours = fused(lambda x: step(x) - 1)
    for _ in range(4):
        ours(X)
        step(X)
    (mine,), (its,) = ours._entries.values(), step._entries.values()
    assert its.trial.plain is None and not mine.trial._plain
    for counted in (0, 0, 1):
        its.trial.plain = True if counted else None
        ours._timed(mine, (X,))
        assert len(mine.trial._plain) == counted
