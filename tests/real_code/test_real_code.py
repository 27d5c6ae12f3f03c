"""Code as users write it: right at every call, and fused as far as it can be."""

from __future__ import annotations

import functools

import pytest

from tests.real_code import running
from tests.real_code.piece import OUTCOMES, REPLAYED

PIECES = [(f, n) for f in running.FIELDS for n in running.names_of(f)]
report_on = functools.cache(running.run)
each_piece = pytest.mark.parametrize(("field", "name"), PIECES, ids=[n for _, n in PIECES])


@each_piece
def test_right_at_every_call(field: str, name: str) -> None:
    """Results, what is printed, written and left behind, whatever changes between calls."""
    report = report_on(field, name)
    assert not report.faults, "\n".join(report.faults)


@each_piece
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


def test_most_pieces_are_to_be_replayed() -> None:
    """The list is as long as it should be, and asks for enough."""
    wanted = []
    for field in running.FIELDS:
        with running.program(field) as module:
            wanted += [piece.outcome for piece in module.PIECES]
    assert len(wanted) >= 40 and wanted.count(REPLAYED) >= 30
