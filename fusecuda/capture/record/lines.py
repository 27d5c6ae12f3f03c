"""Tally: what a region recorded, line by line, and what it launched, for ``run --report``."""

from __future__ import annotations

import linecache
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph.node import Node
from ...words import counted, position

if TYPE_CHECKING:
    from ...engine import Executable


def name_line(root: Node, place: str) -> list[Node]:
    """Let the line ``place`` have recorded ``root`` and what it needs that no line has; those."""
    nodes, named = [root], []
    while nodes:
        node = nodes.pop()
        if node.line is None and node.op not in ("parameter", "constant"):
            node.line = place
            named.append(node)
            nodes.extend(node.operands)
    return named


@dataclass(slots=True)
class Line:
    """One source line: launches and bytes one operation at a time, and as it was run.

    A launch counts for the line of its last operation; its bytes are shared out among all its lines
    as those would move them alone. ``together`` are the lines that shared a launch with this one.
    """

    before: int = 0
    after: int = 0
    alone: int = 0
    moved: float = 0.0
    together: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Step:
    """A launch or library call: the bytes it moves, and those of each of its lines alone."""

    moved: int
    alone: dict[str, int]


class Tally:
    """Operations, launches and bytes by source line."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self.unrecorded: Counter[tuple[str, str]] = Counter()  # by name and line
        self.flushes = 0
        self._steps: dict[int, tuple[Executable, list[_Step]]] = {}
        self._counted: set[int] = set()
        self._call: object = None  # what is being recorded, by which line, and its nodes
        self._place = ""
        self._nodes: list[Node] = []
        self._other = Line()  # what no line has recorded: copies into the user's own memory

    @property
    def before(self) -> int:
        """The calls recorded: a launch or more each without us."""
        return sum(line.before for line in self.lines.values())

    @property
    def after(self) -> int:
        """The launches and library calls that were made."""
        return sum(line.after for line in self.lines.values()) + self._other.after

    @property
    def alone(self) -> int:
        """Bytes moved one operation at a time."""
        return sum(line.alone for line in self.lines.values())

    @property
    def moved(self) -> int:
        """Bytes moved by the launches."""
        return round(sum(line.moved for line in self.lines.values()) + self._other.moved)

    def recorded(self, place: str, root: Node, call: object = None) -> None:
        """A storage waits for ``root``, recorded by ``call``, or by a call of its own."""
        if call is None or call != self._call:
            self._close()
            self._call, self._place = call, place
        nodes, added = [root], []
        while nodes:
            node = nodes.pop()
            if node.op not in ("parameter", "constant") and id(node) not in self._counted:
                self._counted.add(id(node))
                node.line = node.line or place
                added.append(node)
                nodes.extend(node.operands)
        self._nodes += reversed(added)

    def _close(self) -> None:
        """Enter the call that was recorded last as a launch of its own."""
        if self._nodes:
            from ...fusion.explain import bytes_alone  # noqa: PLC0415 - with the planner

            line = self._line(self._place)
            line.before += 1
            line.alone += bytes_alone(self._nodes)
        self._nodes, self._call = [], None

    def _line(self, place: str) -> Line:
        return self.lines.setdefault(place, Line())

    def completed(self, name: str, place: str) -> None:
        """An operation that has no graph meaning made what was pending be computed."""
        self.unrecorded[name, place] += 1

    def ran(self, executable: Executable) -> None:
        """A flush has run ``executable``; what was recorded before may be forgotten."""
        self._close()
        known = self._steps.get(id(executable))
        if known is None:
            known = self._steps[id(executable)] = executable, _steps_of(executable)
        for step in known[1]:
            places = list(step.alone)
            (self._line(places[-1]) if places else self._other).after += 1
            whole = sum(step.alone.values())
            for place, alone in step.alone.items():
                line = self._line(place)
                line.moved += step.moved * alone / whole if whole else 0
                line.together.update(places)
            if not places:
                self._other.moved += step.moved
        self.flushes += 1
        self._counted.clear()

    def text(self) -> str:
        """The report."""
        saved = max(self.alone - self.moved, 0)
        texts = [
            f"fusecuda: {counted(self.before, 'launch')} before, {self.after:,} after, "
            f"in {counted(self.flushes, 'flush')}",
            f"fusecuda: {self.alone:,} B moved one operation at a time, {self.moved:,} B fused: "
            f"{saved:,} B saved",
        ]
        if self.lines:
            texts.append(f"{'before':>10} {'after':>10} {'bytes saved':>16}  line")
        for place in sorted(self.lines, key=position):
            texts += self._rows(place, self.lines[place])
        if self._other.after:
            texts.append(f"{0:10} {self._other.after:10,} {round(-self._other.moved):16,}  copies")
        for (name, place), count in self.unrecorded.most_common():
            texts.append(
                "not recorded, so what was pending was computed: "
                f"{name} at {_short(place)} ({counted(count, 'time')})"
            )
        return "\n".join(texts) + "\n"

    def _rows(self, place: str, line: Line) -> Iterable[str]:
        source = linecache.getline(*position(place)).strip()
        saved = round(line.alone - line.moved)
        yield f"{line.before:10,} {line.after:10,} {saved:16,}  {_short(place)}: {source}"
        others = sorted(line.together - {place}, key=position)
        if others:
            file = position(place)[0]
            names = [str(position(o)[1]) if position(o)[0] == file else _short(o) for o in others]
            yield f"{'':38}  fused with {', '.join(names)}"


def title_of(func: Any) -> str:
    """What the user calls ``func``, most likely one of NumPy's."""
    home = (getattr(func, "__module__", None) or "numpy").partition("._")[0]
    return f"{home}.{func.__name__}" if home.startswith("numpy") else str(func.__name__)


def _steps_of(executable: Executable) -> list[_Step]:
    from ...fusion.explain import recorded_lines, summarize  # noqa: PLC0415 - with the planner

    assembly, found = executable.assembly, []
    recorded = recorded_lines(assembly)
    for company in assembly.launches:
        moved, alone = 0, Counter[str]()
        for number in company:
            summary = summarize(assembly.steps[number], assembly)
            moved += summary.bytes_read + summary.bytes_written
            alone.update(recorded[number])
        found.append(_Step(moved, dict(alone)))
    return found


def _short(place: str) -> str:
    file, number = position(place)
    return f"{os.path.basename(file)}:{number}"
