"""Code as users write it: right at every call, and fused as far as it can be."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.marks import one_in
from tests.real_code import running
from tests.real_code.piece import OUTCOMES, REPLAYED

PIECES = [(f, n) for f in running.FIELDS for n in running.names_of(f)]
report_on = functools.cache(running.run)
each_piece = pytest.mark.parametrize(("field", "name"), PIECES, ids=[n for _, n in PIECES])


@each_piece
@one_in(12)
def test_right_at_every_call(field: str, name: str) -> None:
    """Results, what is printed, written and left behind, whatever changes between calls."""
    report = report_on(field, name)
    assert not report.faults, "\n".join(report.faults)


@each_piece
@one_in(12)
def test_outcome(field: str, name: str) -> None:
    """At least what is promised for the piece; what is not replayed says which line is to blame."""
    report = report_on(field, name)
    wanted = report.piece.outcome
    assert report.outcome, "\n".join(report.faults)
    assert OUTCOMES.index(report.outcome) >= OUTCOMES.index(wanted), report.reason
    if report.outcome == REPLAYED:
        assert report.late == 0 or not report.piece.steady, f"{report.late} late recordings"
    else:
        assert running.names_its_cause(report.reason, f"{field}.py"), report.reason


class _Frozen:
    """A function that always returns what it did first, and does nothing."""

    traces = 0

    def __init__(self, function: Any) -> None:
        self.function = function
        self.known: list[Any] = []

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.known:
            self.known.append(self.function(*args, **kwargs))
        return self.known[0]

    def explain(self) -> str:
        return "frozen: replayed"


@each_piece
@one_in(12)
def test_what_is_frozen_is_found(field: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every piece changes enough between its calls for a stale result to be seen."""
    monkeypatch.setattr(running, "fuse", _Frozen)
    assert running.run(field, name).faults


def test_most_pieces_are_to_be_replayed() -> None:
    """The list is as long as it should be, and asks for enough."""
    wanted = []
    for field in running.FIELDS:
        with running.program(field) as module:
            wanted += [piece.outcome for piece in module.PIECES]
    assert len(wanted) >= 40 and wanted.count(REPLAYED) >= 30
