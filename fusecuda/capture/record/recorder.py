"""Recorder: storages with pending versions, and the flush that computes them.

A storage is memory, its present version a node of the graph. Arrays are views of storages: a write
makes a new version, a later read through any view sees it. A flush computes the last version of
every storage that is still alive, in one graph, so a version is never overwritten while something
recorded still reads it.
"""

from __future__ import annotations

import contextvars
import functools
import math
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ...engine import Executable, Interpreted, is_before_effects
from ...errors import FlushError
from ...graph.index_map import IndexMap
from ...graph.node import Node
from ...options import Options
from .budget import PROGRAM, Budget, processor_time
from .leaf import Leaf
from .numbers import argument_of
from .periods import smallest_period
from .plans import executable_for
from .storage import Storage
from .windows import windowed

NDArray = np.ndarray[Any, Any]
P = ParamSpec("P")
T = TypeVar("T")
PENDING_LIMIT = 512  # operations recorded before a flush is sought
SMALL_IN_A_ROW = 16  # operations on small arrays, after which what they wait for is computed
AT_ONCE_BELOW = 1 << 18  # bytes of operands, below which recording costs more than kernels save

_recording = threading.RLock()  # held while something is recorded, and while it is computed
_NOT_USER = (__name__.partition(".")[0], "cupy.")


os.register_at_fork(
    before=_recording.acquire,
    after_in_parent=_recording.release,
    after_in_child=_recording.release,
)


def atomic(function: Callable[P, T]) -> Callable[P, T]:
    """``function`` as one step: no other thread records or computes while it runs."""

    @functools.wraps(function)
    def locked(*args: P.args, **kwargs: P.kwargs) -> T:
        with _recording:
            return function(*args, **kwargs)

    return locked


class Recorder:
    """What has been recorded and not yet computed; shared by all threads that use its arrays."""

    first_cut = PENDING_LIMIT
    transparent = False  # arrays pass for NumPy's own
    may_compute = True  # before all is recorded
    loose = False  # there are arrays on whose extent nothing depends
    at_once_below = 0  # bytes: what is computed and touches less is left to NumPy, at once

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.launches = 0
        self.reports: list[Executable] = []  # kept for `explain`
        self.budget: Budget | None = PROGRAM
        self.touched: int | None = None  # most bytes of a recorded node, if that is asked for
        self._small = 0  # operations on small arrays that wait for something
        self._planned = 0.0  # seconds for the plan at hand
        self.observed = False  # something was computed while recording went on
        self._live: list[weakref.ref[Storage]] = []  # in the order of recording
        self._sequence: list[int] = []
        self._cut = self.first_cut

    def value(self, node: Node) -> Storage:
        """A storage of its own for the result ``node``."""
        storage = Storage(self, node)
        self.note(node, storage)
        return storage

    def note(self, node: Node, storage: Storage) -> None:
        """Record that ``storage`` waits for ``node``; flush where a repeating body ends."""
        if not storage.noted:
            self._live.append(weakref.ref(storage))
            storage.noted = True
        if self.touched is not None:
            sizes = [n.dtype.itemsize * math.prod(n.shape) for n in (node, *node.operands)]
            self.touched = max(self.touched, *sizes)
        sequence = self._sequence
        attr = node.attr
        if type(attr) is IndexMap:
            attr = attr.coefs  # type: ignore[assignment]
        sequence.append(hash((node.op, node.shape, attr)))
        if len(sequence) >= self._cut:
            self._flush_at_period()

    def _flush_at_period(self) -> None:
        """Flush at the end of a repeating body, so that each flush has the same graph."""
        count = len(self._sequence)
        if count < 4 * PENDING_LIMIT:
            rest = smallest_period(self._sequence)
            if rest:
                self._cut = count + rest
                return
        self.flush(keep_observed=True)

    def pending(self) -> list[Storage]:
        """The live storages whose present version is not computed, in the order of recording."""
        found = (reference() for reference in self._live)
        return [s for s in found if s is not None and s.pending and s.error is None]

    def _take(self) -> list[Storage]:
        """The pending storages; recording starts from nothing."""
        waiting = self.pending()
        for reference in self._live:
            storage = reference()
            if storage is not None:
                storage.noted = False
        self._live.clear()
        self._sequence.clear()
        self._cut = self.first_cut
        self._small = 0
        return waiting

    def should_compute(self, size: int) -> bool:
        """True if an array of ``size`` bytes, needed now, is better computed than waited for."""
        if size > self.at_once_below:
            return False
        self._small += 1
        return self._small > SMALL_IN_A_ROW

    def look(self) -> None:
        """Called before a value is looked at."""
        self.observed = True

    def write_at_once(self, held: bool) -> None:
        """Called before memory is written to without being recorded."""
        self.observed = True

    def seen(self, array: Any, kind: Callable[[Any], Any]) -> Any:
        """What ``kind`` makes of the values of ``array``, at which the program looks."""
        values = array.compute()
        return kind(values[()] if array.is_scalar else values)

    def number(self, array: Any, kind: Callable[[Any], Any]) -> Any:
        """As `seen`, where the value is a floating-point number."""
        return self.seen(array, kind)

    def eager(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of a function of NumPy's that is to be computed; by default its caller's."""
        return NotImplemented

    def hands_out(self) -> None:
        """Called before the memory of an array is given to code that we do not follow."""

    def flush(self, keep_observed: bool = False) -> None:
        """Compute every pending storage; faults are kept in the storages that they concern."""
        with _recording:
            waiting = self._take()
            if not waiting:
                return
            if not keep_observed:
                self.observed = True
            try:
                results = self._results(waiting, [self._in_place(s) for s in waiting])
            except Exception as error:
                if any(map(self._in_place, waiting)) and not is_before_effects(error):
                    for storage in waiting:  # some of them may have been updated already
                        self._failed(storage, error)
                else:
                    self._compute_apart(waiting, error)
            except BaseException:
                self._interrupted(waiting)
                raise
            else:
                self._settle(zip(waiting, results, strict=True))

    def _compute_apart(self, waiting: Sequence[Storage], error: Exception) -> None:
        """Find out which of several storages a fault concerns; the others are computed."""
        if len(waiting) == 1:
            self._failed(waiting[0], error)
            return
        values: list[tuple[Storage, Any]] = []
        for storage in waiting:  # all of them before any memory is overwritten
            try:
                values.append((storage, self._results([storage], [False])[0]))
            except Exception as own:
                self._failed(storage, own)
        self._settle(values)

    def _interrupted(self, waiting: Iterable[Storage]) -> None:
        """Nobody knows what has been written: nothing is computed from it."""
        for storage in waiting:
            self._failed(storage, FlushError("the computation of this array was interrupted"))

    def _failed(self, storage: Storage, error: BaseException) -> None:
        """Let ``storage`` raise ``error`` when its value is needed."""
        storage.error = error

    def _results(self, waiting: Sequence[Storage], targets: Sequence[bool]) -> Sequence[Any]:
        leaves, executable = self._executable(waiting, targets)
        results: Sequence[Any] = self._computed(executable, [argument_of(leaf) for leaf in leaves])
        self.launches += executable.launches
        if isinstance(executable, Executable):
            self._ran(executable)
        return results

    def _computed(
        self, executable: Executable | Interpreted, arguments: Sequence[Any]
    ) -> Sequence[Any]:
        """The results; what has to be planned and compiled for them is taken off the budget."""
        if self.budget is None or not isinstance(executable, Executable) or executable.is_ready:
            return self._run(executable, arguments)
        before = processor_time()
        try:
            return self._run(executable, arguments)
        finally:
            self.budget.spend(self._planned + processor_time() - before)

    def _ran(self, executable: Executable) -> None:
        """Called after ``executable`` has run."""

    def _settle(self, values: Iterable[tuple[Storage, Any]]) -> None:
        """Give each storage its computed value, in its own memory where that must stay."""
        for storage, result in values:
            buffer = storage.buffer
            if result is None or (storage.held and buffer is not None):
                assert buffer is not None
                try:
                    if result is not None:
                        self._store(buffer, result)
                except Exception as error:  # updates in place have happened: not to be done again
                    self._failed(storage, error)
                    continue
                storage.settle(buffer)
            else:
                storage.settle(result)

    def _in_place(self, storage: Storage) -> bool:
        """True if the new version belongs in the storage's present memory."""
        return in_place(storage)

    def _run(self, executable: Executable | Interpreted, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results of ``executable``, in the memory that this recorder's arrays lie in."""
        return executable.run(arrays)

    def _store(self, target: Any, source: Any) -> None:
        """Write the elements of one array into another."""
        target[...] = source

    def _executable(
        self, waiting: Sequence[Storage], targets: Sequence[bool], windows: bool = True
    ) -> tuple[list[Leaf], Executable | Interpreted]:
        outputs: Sequence[Node] = [s.node for s in waiting]
        own: Sequence[Leaf | None] = [
            Leaf(s.buffer, s.shape, s.dtype) if t and s.buffer is not None else None
            for s, t in zip(waiting, targets, strict=True)
        ]
        if windows:
            outputs, own = windowed(outputs, own)
        before = processor_time()
        found = executable_for(outputs, own, self.options, budget=self._budget())
        self._planned = processor_time() - before
        return found

    def _budget(self) -> Budget | None:
        """The time that may be spent on plans; None: as much as they take."""
        return None if self.options.strict or self.options.device != "cpu" else self.budget


def in_place(storage: Storage) -> bool:
    """True if the new version belongs in the storage's present memory."""
    if storage.buffer is None:
        return False
    if storage.held:
        return True
    node = storage.node
    while node.op in ("reshape", "update"):
        node = node.operands[0]
    return isinstance(node, Leaf) and node.array is storage.buffer and storage.node is not node


def user_line() -> str:
    """The file and line of the innermost frame outside this package and CuPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(_NOT_USER):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


default_recorder = Recorder()
default_recorder.at_once_below = AT_ONCE_BELOW
recorder_in_force: contextvars.ContextVar[Recorder] = contextvars.ContextVar(
    "fusecuda_recorder", default=default_recorder
)


def current_recorder() -> Recorder:
    """The recorder that takes new operations: the innermost trace's, or the process's own."""
    return recorder_in_force.get()
