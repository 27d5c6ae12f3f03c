"""Tally: what a region recorded, line by line, and what it launched, for ``run --report``."""

from __future__ import annotations

import linecache
from collections import Counter

from ..engine import Executable
from ..graph.node import STRUCTURAL, Node

_MOVING = frozenset({"reduce", "concatenate", "pad", "gather", "update", "library", "iota"})


class Tally:
    """Operations and bytes by source line, launches and bytes as they were run."""

    def __init__(self) -> None:
        self.operations: Counter[str] = Counter()  # by line; one launch each without us
        self.traffic: Counter[str] = Counter()  # bytes of one operation at a time, by line
        self.unrecorded: Counter[str] = Counter()  # by name
        self.launches = 0
        self.moved = 0
        self.flushes = 0
        self._moves: dict[int, tuple[Executable, int]] = {}
        self._counted: set[int] = set()

    def recorded(self, line: str, root: Node) -> None:
        """A storage waits for ``root``: count the operations that it adds."""
        nodes = [root]
        while nodes:
            node = nodes.pop()
            if id(node) in self._counted or node.op in ("parameter", "constant"):
                continue
            self._counted.add(id(node))
            if node.op in _MOVING or node.op not in STRUCTURAL:
                self.operations[line] += 1
                self.traffic[line] += node.nbytes + sum(o.nbytes for o in node.operands)
            nodes.extend(node.operands)

    def completed(self, name: str) -> None:
        """An operation that has no graph meaning made what was pending be computed."""
        self.unrecorded[name] += 1

    def ran(self, executable: Executable) -> None:
        """A flush has run ``executable``; what was recorded before may be forgotten."""
        known = self._moves.get(id(executable))
        if known is None:
            moved = sum(k.bytes_read + k.bytes_written for k in executable.kernels)
            known = self._moves[id(executable)] = executable, moved
        self.launches += executable.launches
        self.moved += known[1]
        self.flushes += 1
        self._counted.clear()

    def text(self) -> str:
        """The report."""
        before, traffic = sum(self.operations.values()), sum(self.traffic.values())
        lines = [
            f"fusecuda: {before:,} operations recorded, {self.launches:,} launches in "
            f"{self.flushes:,} flushes",
            f"fusecuda: {traffic:,} B moved one operation at a time, {self.moved:,} B fused: "
            f"{max(traffic - self.moved, 0):,} B saved",
        ]
        if before:
            lines.append(f"{'operations':>12} {'bytes unfused':>16}  line")
        for line in sorted(self.operations, key=_place):
            source = linecache.getline(*_place(line)).strip()
            place = f"{_place(line)[0].rsplit('/', 1)[-1]}:{_place(line)[1]}"
            lines.append(f"{self.operations[line]:12,} {self.traffic[line]:16,}  {place}: {source}")
        for name, count in self.unrecorded.most_common():
            lines.append(
                f"not recorded, so what was pending was computed: {name} ({count:,} times)"
            )
        return "\n".join(lines) + "\n"


def _place(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return (file, int(number)) if number.isdigit() else (line, 0)
