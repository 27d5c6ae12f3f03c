"""Scans and searches: a pass is cut where a total runs on, or where all of a run is looked for.

What comes before a scan, and what comes after it, are loops of their own over a run of elements,
which vectorise; values that are needed behind the cut wait in buffers of one chunk. So do those
that a loop which runs several ``times`` leaves for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..fusion import kernel_ir as ir
from ..fusion.verify import operands
from .scalar import c_type


@dataclass(slots=True)
class Piece:
    """One loop over a run: statements, and the scan or search of a value of theirs that follows."""

    body: list[ir.Statement] = field(default_factory=list)
    scan: ir.Scan | None = None
    search: ir.Search | None = None
    taken: dict[int, str] = field(default_factory=dict)  # values from buffers, with their C types
    left: dict[int, str] = field(default_factory=dict)  # values that go into buffers
    reduces: list[ir.Reduce] = field(default_factory=list)
    times: int = 1
    anew: dict[int, int] = field(default_factory=dict)  # the buffers of others that values go into
    numbers: dict[int, tuple[str, Sequence[int]]] = field(default_factory=dict)  # each time others


def scans_of(stage: ir.Stage) -> list[ir.Scan]:
    """The scans of a stage, in order."""
    return [s for s in stage.body if isinstance(s, ir.Scan)]


def pieces(stage: ir.Stage, searches: bool = False) -> list[Piece]:
    """The loops of a stage; one, if it has no scans, nor ``searches`` that cut it, too."""
    found = [Piece()]
    made: dict[int, int] = {}  # the piece in which a value is computed; a scan's after its own
    kinds: dict[int, str] = {}
    for s in stage.body:
        if isinstance(s, ir.Scan):
            _use(found, made, kinds, s.value)
            found[-1].scan = s
            found.append(Piece())
            made[s.out] = -1
        elif isinstance(s, ir.Search) and searches and s.value in made:
            if made[s.value] >= 0:
                found[made[s.value]].left[s.value] = kinds[s.value]
            found[-1].search = s
            found.append(Piece())
            made[s.out] = -1
        else:
            for value in operands(s):
                _use(found, made, kinds, value)
            found[-1].body.append(s)
            if isinstance(s, ir.Effect):
                continue
            made[s.out] = len(found) - 1
        kinds[s.out] = c_type(s.dtype)
    found[-1].reduces = [*stage.reduces, *stage.cross]
    for r in found[-1].reduces:
        _use(found, made, kinds, r.value)
    return found


def _use(found: list[Piece], made: dict[int, int], kinds: dict[int, str], value: int) -> None:
    """Take ``value`` from its buffer if another piece has computed it."""
    where = made.get(value)
    if where is None or where == len(found) - 1:  # a row value, or one at hand
        return
    found[-1].taken[value] = kinds[value]
    if where >= 0:
        found[where].left[value] = kinds[value]


def buffers(pieces: Iterable[Piece]) -> dict[int, str]:
    """The values that wait in buffers, those of scans and searches too, with their C types."""
    found: dict[int, str] = {}
    for piece in pieces:
        found.update(piece.left)
        for s in (piece.scan, piece.search):
            if s is not None:
                found[s.out] = c_type(s.dtype)
    return found
