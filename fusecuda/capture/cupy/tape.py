"""Tape: a recording that goes as one before is followed step by step, and makes no nodes.

What a region records from one flush to the next is a path in a tree of steps. A step is known by
its key: the operation, and for each operand which storage of the recording it shows and how. After
the same steps the same key has the same effects, so a body that repeats is not recorded again: its
results are made from what the first time has shown, and at the flush the executable of then is run
on the arrays of now. Where a recording leaves the known steps, the nodes of its steps are made
after all; it goes on as it would without a tape, and what is new in it is learned.

Floating-point operands of operators are no part of a key: they are the tape's numbers, which an
executable takes as arguments or was built for.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...graph.dtypes import DType
from ...graph.node import Node, topological
from ...options import fusion_enabled
from ..record.leaf import Leaf
from . import steps, ufuncs
from .internals import make_known, pointer_of
from .keys import FOLLOWING, LEARNING, OFF, Keys
from .step_maker import Learner, constant
from .steps import End, Key, Number, Slot, State, Step
from .storages import CupyStorage

if TYPE_CHECKING:
    from ...engine import Executable


def _memory_of(objects: Sequence[weakref.ref[Any]]) -> Any:
    """The pending memory that one of these arrays shows, if one is alive."""
    for reference in objects:
        if (array := reference()) is not None:
            return pointer_of(array).mem
    return None


class Tape(Keys):
    """The path of one region since its last flush."""

    @property
    def is_new(self) -> bool:
        """True if nothing has been met since the last flush."""
        return self.mode is FOLLOWING and not self.slots and not self.path

    def end(self) -> None:
        """A flush has computed all that was recorded."""
        if self.is_new:
            return
        if self.learner is not None:
            self.learner.close()
        self._reset()

    def _reset(self) -> None:
        super()._reset()
        self.path: list[Step] = []
        self.state: State | None = None
        self.learner: Learner | None = None
        self.written: list[CupyStorage | None] = []  # by the step that is to be taken next

    # --- following

    def step(self, key: Key | None) -> Step | None:
        """The known step for ``key``; without one the nodes are made, to go on by."""
        if self.mode is not FOLLOWING or key is None:
            return None
        if self.state is None:
            if not self.region.is_taped:
                self.leave()
                return None
            region = self.region
            self.state = steps.root((region.cupy_options, region.home, fusion_enabled()))
        found = self.state.steps.get(key)
        if found is not None and (not found.written or self._may_write(found)):
            return found
        self._make_nodes()
        return None

    def _may_write(self, step: Step) -> bool:
        """False for memory that another region has read, which is then to be told."""
        self.written = written = [self.known(number) for number in step.written]
        for storage in written:  # one that nobody has asked for has no other readers
            if storage is not None and storage.readers and not storage.readers <= {self.region}:
                return False
        return True

    def take(self, step: Step) -> Any:
        """The result of ``step``, which has now been taken."""
        self.path.append(step)
        self.state = step.next
        slots, single = self.slots, step.single
        if single is not None:
            slots.append(None)  # before anything can fail
            return make_known(self.run, single, self.region.device, slots)
        if step.written:
            for storage in self.written:
                if storage is not None:
                    storage.postpone()
            if not step.added and step.result is None:
                return None
        slots.extend(step.added)
        made = []  # alive until an array shows them
        for number, shape, dtype in step.made:
            new = CupyStorage.postponed(self.region, shape, dtype)
            new.run, new.slot = self.run, number
            slots[number] = weakref.ref(new)
            if step.result == number:
                return new.array(shape)
            made.append(new)
        return self._built(step.result)

    def _built(self, result: Any) -> Any:
        """The arrays that ``result`` describes."""
        if result is None or result is NotImplemented:
            return result
        if result[0] in (list, tuple):
            return result[0]([self._built(r) for r in result[1:]])
        number, shape, strides, offset = result
        storage = self.storage(number)
        assert storage is not None
        return storage.array(shape, strides, offset)

    def known(self, number: int) -> CupyStorage | None:
        """The storage of that number, if it is alive and somebody has asked for it."""
        found = self.slots[number]
        if type(found) is list:
            found = _memory_of(found)
            return found if found is None else found.own
        return found() if type(found) is weakref.ref else found

    def storage(self, number: int) -> CupyStorage | None:
        """The storage of that number, if it is alive."""
        found = self.slots[number]
        if type(found) is list:
            found = _memory_of(found)
            return found if found is None else found.storage
        return found() if type(found) is weakref.ref else found

    def alive(self) -> dict[int, CupyStorage]:
        """The storages that the path has given a new version and somebody still holds."""
        noted = dict.fromkeys(number for step in self.path for number in step.noted)
        found = ((number, self.storage(number)) for number in noted)
        return {n: s for n, s in found if s is not None and s.error is None}

    def known_end(self) -> tuple[End, dict[int, CupyStorage]] | None:
        """What a flush does after such a recording, and the storages that are alive, if known."""
        if self.mode is not FOLLOWING or self.state is None:
            return None
        alive = self.alive()  # other threads may drop some meanwhile
        end = self.state.ends.get(tuple(alive))
        return (end, alive) if end is not None and self._fits(end) else None

    def rerun(self, end: End) -> list[Any]:
        """The arguments for the executable of ``end``, of the arrays of now."""
        return [get(self) for get in end.arguments]

    def detached(self) -> Tape:
        """The tape as it is, for the flush that computes what is on it; this one begins anew."""
        past = Tape(self.region)
        past.__dict__, self.__dict__ = self.__dict__, past.__dict__
        if past.learner is not None:
            past.learner.tape = past
        return past

    def _fits(self, end: End) -> bool:
        """True if the numbers are those that the executable was built for, or its arguments."""
        bits = self.bits()
        if bits == end.bits:
            return True
        return all(
            number in end.free or bits[8 * number :][:8] == end.bits[8 * number :][:8]
            for number in range(len(self.numbers))
        )

    def bits(self) -> bytes:
        """The numbers, their signs and NaNs included."""
        return struct.pack(f"{len(self.numbers)}d", *self.numbers)

    # --- making nodes of what was followed

    def materialize(self) -> None:
        """Make the nodes of all steps; from here on the recording is an ordinary one."""
        if self.mode is FOLLOWING and self.path:
            self._make_nodes()

    def nodes(self, learner: Learner) -> tuple[dict[int, Node], dict[Node, Node]]:
        """The versions of the storages that are alive, and the nodes in them by their symbols."""
        versions: dict[int, Node] = {}
        for step in self.path:
            versions.update(zip(step.noted, step.versions, strict=True))
        alive = [n for n in versions if self.storage(n) is not None]
        made: dict[Node, Node] = {}
        for node in topological([versions[n] for n in alive]):
            made[node] = self._real(node, made, learner)
        return {n: made[versions[n]] for n in alive}, made

    def _make_nodes(self) -> None:
        self.mode, self.learner = LEARNING, Learner(self)
        versions, made = self.nodes(self.learner)
        alive = [(n, s) for n in versions if (s := self.storage(n)) is not None]
        for number, storage in alive:
            storage.node = versions[number]
        self.learner.symbols = {real: node for node, real in made.items()}
        sequence = [n for step in self.path for n in step.sequence]
        cut = self.path[-1].cut if self.path else 0
        self.region.resume([s for _, s in alive], sequence, cut)

    def _real(self, node: Node, made: dict[Node, Node], learner: Learner) -> Node:
        if type(node) is Slot:
            storage = self.storage(node.number)
            assert storage is not None and storage.buffer is not None
            return Leaf(storage.buffer, storage.shape, storage.dtype)
        if type(node) is Number:
            real = constant(self.numbers[node.number], node.dtype)
            learner.number_nodes.append((real, node.number))
            return real
        return node.with_operands(tuple(made[o] for o in node.operands))

    # --- learning

    def leave(self) -> None:
        """What comes is not to be learned, up to the next flush."""
        self.materialize()
        if self.learner is not None:
            self.learner.close()
        self.mode, self.learner = OFF, None

    def begin(self) -> object:
        """An operation is going to be recorded; `learn` takes what is given here."""
        if self.learner is not None:
            self.learner.begin()
        return self.run

    def constants(self, operands: Sequence[Any]) -> Callable[[Any, DType], Node]:
        """What makes nodes of the numbers among ``operands``, in turn."""
        return ufuncs.number if self.learner is None else self.learner.constants(operands)

    def learn(self, run: object, key: Key | None, result: Any) -> None:
        """An operation has been recorded, with ``result``; NotImplemented if it has not been."""
        learner = self.learner
        if learner is None or (key is None and not learner.noted):
            return
        step = None
        effects = result is NotImplemented and learner.noted
        if run is self.run and key is not None and not effects and self.presumed_rightly():
            step = learner.learn(key, result)
        if step is None:
            self.leave()
            return
        self.path.append(step)
        self.state = step.next

    def planned(
        self, waiting: Sequence[Any], leaves: Sequence[Leaf], executable: Executable | None
    ) -> None:
        """A flush is about to run ``executable`` on ``leaves`` to compute ``waiting``."""
        if self.learner is not None:
            self.learner.planned(waiting, leaves, executable)
