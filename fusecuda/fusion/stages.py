"""Stages: in which passes over a row each value of a kernel is computed, or kept from before."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..graph.dtypes import BOOL
from ..graph.index_map import IndexMap
from ..graph.node import Node
from ..graph.ops import OPS
from . import kernel_ir as ir
from .cone import Roots
from .kernel_ir import ELEMENT

ALL, COSTLY, NOTHING = "all", "costly", "nothing"  # what may be kept for later passes over a row


class Key(NamedTuple):
    """A value of the kernel: ``node`` at index ``at``, or whether that index lies inside it.

    Inside a concatenate or pad a value is only read where ``guard`` holds.
    """

    node: Node
    at: IndexMap
    guard: Key | None = None
    inside: bool = False


@dataclass(slots=True)
class Value:
    """Where a value of the kernel stands, and what it is computed from."""

    level: str
    stage: int  # the first stage whose elements may use it
    operands: list[Key]


class Schedule:
    """Where each value is computed: once for each stage that needs it, or kept from an earlier.

    ``roles`` has the roots that the kernel computes. ``keep`` says what may be kept: ALL that is
    worth it, what is COSTLY to compute, but not what is read once more, or NOTHING.
    """

    TAIL, FINAL, FOOT = -1, -2, -3

    def __init__(
        self,
        kernel: ir.KernelIR,
        values: Mapping[Key, Value],
        number: Callable[[Key], int],
        statements: Callable[[Key], list[ir.Statement]],
        roles: Container[Node],
        roots: Roots,
        keep: str,
    ) -> None:
        self.kernel = kernel
        self.values = values
        self.number = number
        self.statements = statements  # that compute a value from its operands
        self.roles = roles
        self.roots = roots
        self.keep = keep
        self.done: dict[int, set[Key]] = {}
        self.first: dict[Key, int] = {}  # the stage whose body first computed an element value
        self.slots: dict[Key, int] = {}

    def place(self, stage: int) -> list[ir.Statement]:
        """The statement list of a stage's body, of the row's tail, the final part, or the foot."""
        if stage == self.TAIL:
            return self.kernel.tail
        if stage == self.FINAL:
            return self.kernel.final
        return self.kernel.foot if stage == self.FOOT else self.kernel.stages[stage].body

    def need(self, sink: Key, stage: int) -> None:
        """Make ``sink`` available in ``stage``, with everything it is computed from."""
        stack = [sink]
        while stack:
            key = stack[-1]
            context, target = self._where(key, stage)
            done = self.done.setdefault(context, set())
            if key in done or self._is_reduced(key):
                stack.pop()
                continue
            if self._recall(key, stage, target, done):
                stack.pop()
                continue
            missing = [o for o in self.values[key].operands if not self._available(o, stage)]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            done.add(key)
            if self.values[key].level == ELEMENT and stage != self.FOOT:
                self.first.setdefault(key, stage)
            target.extend(self.statements(key))

    def _available(self, key: Key, stage: int) -> bool:
        if self._is_reduced(key):
            return True
        context, _ = self._where(key, stage)
        return key in self.done.get(context, ())

    def _is_reduced(self, key: Key) -> bool:
        return key.node.reduces and key.node in self.roles and not key.inside

    def _where(self, key: Key, stage: int) -> tuple[int, list[ir.Statement]]:
        """The scope and the list in which ``key`` is computed when ``stage`` needs it."""
        value = self.values[key]
        if stage in (self.FINAL, self.FOOT):
            return stage, self.place(stage)
        if value.level == ELEMENT:
            return stage, self.place(stage)
        if stage == self.TAIL and self.kernel.splittable:
            return self.TAIL, self.kernel.tail
        head = 1000 + value.stage
        is_known = stage != self.TAIL or key in self.done.get(head, ())
        if value.stage < len(self.kernel.stages) and is_known:
            return head, self.kernel.stages[value.stage].head
        return self.TAIL, self.kernel.tail

    def _recall(self, key: Key, stage: int, target: list[ir.Statement], done: set[Key]) -> bool:
        """Take ``key`` from an earlier stage if that is better than computing it again."""
        value = self.values[key]
        first = self.first.get(key, stage)
        if value.level != ELEMENT or stage in (first, self.FOOT) or self.keep == NOTHING:
            return False
        if not self._worth_keeping(key):
            return False
        dtype = BOOL if key.inside else key.node.dtype
        if key not in self.slots:
            self.slots[key] = len(self.kernel.resident)
            self.kernel.resident.append(dtype)
            keep = ir.Keep(self.slots[key], self.number(key), dtype)
            self.kernel.stages[first].body.append(keep)
        target.append(ir.Recall(self.number(key), dtype, self.slots[key]))
        done.add(key)
        return True

    def _worth_keeping(self, key: Key) -> bool:
        """True for what is costly to compute, and for what is read from memory for each element."""
        row = OPS.get(key.node.op)
        if row is not None:
            return row.is_expensive or bool(row.may_fail)
        if key.node.op in ("gather", "search", "scan"):
            return True
        if self.keep == COSTLY:
            return False
        whole = all(key.at.uses_axis(j) for j in range(key.at.rank))
        return self.roots.is_leaf(key.node) and whole
