"""Recorder: storages with pending versions, and the flush that computes them.

A storage is memory, its present version a node of the graph. Arrays are views of storages: a write
makes a new version, a later read through any view sees it. A flush computes the last version of
every storage that is still alive, in one graph, so a version is never overwritten while something
recorded still reads it. Recording goes on meanwhile: see `flight`.
"""

from __future__ import annotations

import contextvars
import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FlushError, is_before_effects
from ...graph.index_map import IndexMap
from ...graph.node import Node
from ...interpreted import Interpreted
from ...options import Options
from ...watch import watchers
from .budget import PROGRAM, Budget
from .flight import (
    Flight,
    Job,
    base_of,
    divided,
    pass_gate,
    recording,
    unlocked,
    versions_of,
    wait_for,
)
from .leaf import Leaf
from .numbers import argument_of
from .periods import smallest_period
from .plans import Home, compacts, executable_for
from .rest import Operation, computed_in_vain
from .run import Run
from .storage import Storage
from .windows import windowed

if TYPE_CHECKING:
    from ...engine import Executable

NDArray = np.ndarray[Any, Any]
PENDING_LIMIT = 512  # operations recorded before a flush is sought
SMALL_IN_A_ROW = 16  # operations on small arrays, after which what they wait for is computed
AT_ONCE_BELOW = 1 << 18  # bytes of operands, below which recording costs more than kernels save
VAIN_BELOW = 8  # times as many bytes of results, below which a flush does not save what it costs


class Recorder:
    """What has been recorded and not yet computed; shared by all threads that use its arrays."""

    first_cut = PENDING_LIMIT
    transparent = False  # arrays pass for NumPy's own
    dispatching = False  # arrays are CuPy's, whose operations give rows whatever they take
    captures = False  # it records what is done to CuPy's arrays
    given: Sequence[Any] = ()  # the arrays that stand for those of a caller
    originals: Sequence[Any] = ()  # those of the caller
    array_name = "Array"  # what arrays are called where they are printed
    may_compute = True  # before all is recorded
    loose = False  # there are arrays on whose extent nothing depends
    ends_with_errors = False  # nobody goes on after an error
    home: Home = None  # where it records: plans tell of the lines they were first made for
    one_by_one = True  # what it computes does not overlap with what it has under way
    run: Run | None = None  # tells what is recorded, where that may be known from before
    at_once_below = 0  # bytes: what is computed and touches less is left to NumPy, at once

    @property
    def catches(self) -> bool:
        """True if what is recorded may handle its own errors."""
        return False

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.launches = 0
        self.reports: list[Executable] = []  # kept for `explain`
        self.budget: Budget | None = PROGRAM
        self.within: dict[Node, tuple[int, int]] = {}  # bounds of integers that were looked at
        self.touched: int | None = None  # most bytes of a recorded node, if that is asked for
        self.recorded_by: list[
            Operation | None
        ] = []  # that have recorded something, but large ones
        self.handed: dict[int, Any] = {}  # by identity, what opaque code knows an array by
        self.classes: dict[type, Any] = {}  # what stands for them in what is recorded
        self.handing: Any = None  # containers to opaque code and from it, where there is such
        self._small = 0  # operations on small arrays that wait for something
        # Storages, and arrays that have none yet, in the order of recording.
        self._live: list[weakref.ref[Any]] = []
        self._sequence: list[int] = []
        self._cut = self.first_cut

    def value(self, node: Node) -> Storage:
        """A storage of its own for the result ``node``."""
        storage = Storage(self, node)
        with recording:
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
        self.flush()

    def pending(self) -> list[Storage]:
        """The live storages whose present version is to be computed, in the order of recording."""
        return [s for s in self._noted() if s.waits]

    def _noted(self) -> Iterable[Storage]:
        """The live storages that something has been recorded for, in that order."""
        found = [shown for reference in self._live if (shown := reference()) is not None]
        return dict.fromkeys([s if isinstance(s, Storage) else s.storage for s in found])

    def _begin_anew(self, flight: Flight | None = None) -> None:
        """What was recorded is in ``flight``, if there was anything; recording starts again."""
        if self.recorded_by:
            if flight is not None and self._is_in_vain(flight):
                computed_in_vain(self.recorded_by)
            self.recorded_by.clear()
        for storage in self._noted():
            storage.noted = False
        self._live.clear()
        for storage in flight.left if flight is not None else ():
            storage.noted = True
            self._live.append(weakref.ref(storage))
        self._sequence.clear()
        self._cut = self.first_cut
        self._small = 0

    def _is_in_vain(self, flight: Flight) -> bool:
        """True if computing all that was recorded, which is ``flight``, does not pay."""
        count = len(self._sequence)
        if flight.left or count > len(self.recorded_by):
            return False
        largest = max(j.storage.dtype.itemsize * math.prod(j.storage.shape) for j in flight.jobs)
        return bool(count * largest <= VAIN_BELOW * self.at_once_below)

    def should_compute(self, size: int) -> bool:
        """True if an array of ``size`` bytes, needed now, is better computed than waited for."""
        if size > self.at_once_below:
            return False
        self._small += 1
        return self._small > SMALL_IN_A_ROW

    def look(self) -> None:
        """Called before a value is looked at."""

    def write_at_once(self, held: bool) -> None:
        """Called before memory is written to without being recorded."""

    def seen(self, array: Any, kind: Callable[[Any], Any]) -> Any:
        """What ``kind`` makes of the values of ``array``, at which the program looks."""
        values = array.compute()
        return kind(values[()] if array.is_scalar else values)

    def number(self, array: Any, kind: Callable[[Any], Any]) -> Any:
        """As `seen`, where the value is a floating-point number."""
        return self.seen(array, kind)

    def eager(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of a function of NumPy's that is to be computed; by default its caller's."""
        return NotImplemented

    def left(self, func: Any) -> None:
        """Called before NumPy computes ``func`` of values, which is not recorded."""

    @property
    def compacts(self) -> bool:
        """True if what masks pick is written by kernels."""
        return compacts(self.options)

    def compacted(self, storage: Storage) -> Any:
        """The array of what a mask picks, for which ``storage`` waits; by default its caller's."""
        return NotImplemented

    def fills_in(self) -> None:
        """Called before values are written into an array of NumPy's own."""

    def hands_out(self) -> None:
        """Called before the memory of an array is given to code that we do not follow."""

    def flush(self, needed: Storage | None = None) -> None:
        """Compute every pending storage; faults are kept in the storages that they concern.

        Some may stay pending if just one is ``needed``: those that wait for what other threads
        compute. So does in any case what waits for what this very thread is computing further up.
        """
        with recording:
            pass_gate()
            flight = self._taken(needed)
            if flight is None:
                self._begin_anew()
            else:
                left = flight.left
                self._fly(flight)
                if left and needed is None and (waiting := self.pending()):
                    self._fly(Flight(self, [Job(s, s.node) for s in waiting]))
            if self.one_by_one:
                wait_for(self)

    def _taken(self, needed: Storage | None) -> Flight | None:
        """What is to be computed now, if there is anything."""
        waiting = self.pending()
        return divided(self, waiting, needed) if waiting else None

    def _fly(self, flight: Flight) -> None:
        """Compute what is in ``flight`` without the lock, and settle it."""
        try:
            if flight.depart(self.one_by_one):
                self._begin_anew(flight)
                unlocked(lambda: self._compute(flight))
        finally:
            if flight.is_under_way:
                try:
                    self.settle(flight)
                except BaseException:  # of a signal's handler, in the midst of it
                    if flight.is_under_way:
                        self.settle(flight)
                    raise

    def _compute(self, flight: Flight) -> None:
        """Each job of ``flight`` has a result or an error, unless it is interrupted."""
        flight.wait_for_earlier()
        jobs = flight.jobs
        try:
            for job in jobs:
                job.in_place = self._in_place(job.storage, job.node)
            results = self._results(flight, jobs)
        except Exception as error:
            if flight.begun and any(j.in_place for j in jobs) and not is_before_effects(error):
                for job in jobs:  # some of them may have been updated already
                    job.error = error
            else:
                self._compute_apart(flight, error)
        else:
            for job, result in zip(jobs, results, strict=True):
                self._keep(job, result)

    def _compute_apart(self, flight: Flight, error: Exception) -> None:
        """Find out which of several storages a fault concerns; the others are computed."""
        if len(flight.jobs) == 1:
            flight.jobs[0].error = error
            return
        values: list[tuple[Job, Any]] = []
        first: Exception | None = None
        for job in flight.jobs:  # all of them before any memory is overwritten
            job.in_place = False
            try:
                values.append((job, self._results(flight, [job])[0]))
            except Exception as own:
                job.error = own
                first = first or own
        for job, result in values:
            if self.ends_with_errors and job.storage.held:  # that stays as it is
                job.error = first
            if job.error is None:
                self._keep(job, result)

    def _keep(self, job: Job, result: Any) -> None:
        """Take a result, None if it is in place, into the storage's memory where that must stay."""
        buffer = job.storage.buffer
        if result is not None and job.storage.held and buffer is not None:
            try:
                self._store(buffer, result)
            except Exception as error:  # updates in place have happened: not to be done again
                job.error = error
                return
            result = None
        job.result = buffer if result is None else result

    def settle(self, flight: Flight) -> None:
        """Give each storage its value or its error, and let others go on; under the lock.

        Done anew, if it was interrupted, it ends what it has begun.
        """
        for job in flight.jobs:
            storage, promise = job.storage, job.promise
            assert promise is not None
            if job.error is None and job.result is None:  # nobody knows what has been written
                job.error = FlushError("the computation of this array was interrupted")
            if job.error is None:
                storage.settle(job.result, promise)
                continue
            promise.error = job.error
            if storage.flight is flight:
                self._failed(storage, job.error)
        ran, flight.ran = flight.ran, []
        self.launches, flight.unlaunched = self.launches - flight.unlaunched, 0
        for executable in ran:
            self.launches += executable.launches
            if not isinstance(executable, Interpreted):
                self._ran(executable)
        flight.end()

    def _failed(self, storage: Storage, error: BaseException) -> None:
        """Let ``storage`` raise ``error`` when its value is needed."""
        storage.error = error

    def _results(self, flight: Flight, jobs: Sequence[Job]) -> Sequence[Any]:
        leaves, executable, seconds = self._executable(*versions_of(jobs), self.options)
        return self._computed(flight, executable, [argument_of(leaf) for leaf in leaves], seconds)

    def _computed(
        self,
        flight: Flight,
        executable: Executable | Interpreted,
        arguments: Sequence[Any],
        seconds: float = 0.0,
    ) -> Sequence[Any]:
        """The results; what has been planned for them is taken off the budget."""
        flight.begun = True
        if isinstance(executable, Interpreted) or executable.is_ready:
            results = self._run(executable, arguments)
        else:
            budget = self._budget()
            executable.patience = budget.patience if budget is not None else None
            if self.budget is not None:
                self.budget.spend(seconds)
            results = self._run(executable, arguments)
            flight.unlaunched += 0 if executable.is_ready else executable.launches
        flight.ran.append(executable)
        return results

    def _ran(self, executable: Executable) -> None:
        """Called after ``executable`` has run."""

    def _in_place(self, storage: Storage, node: Node) -> bool:
        """True if the version ``node`` belongs in the storage's present memory."""
        if storage.buffer is None:
            return False
        base = base_of(node)
        return storage.held or (base is not None and base.array is storage.buffer)

    def _run(self, executable: Executable | Interpreted, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results of ``executable``, in the memory that this recorder's arrays lie in."""
        return executable.run(arrays)

    def _store(self, target: Any, source: Any) -> None:
        """Write the elements of one array into another."""
        target[...] = source

    def _executable(
        self,
        outputs: Sequence[Node],
        own: Sequence[Leaf | None],
        options: Options,
        windows: bool = True,
    ) -> tuple[list[Leaf], Executable | Interpreted, float]:
        """The leaves that ``outputs`` depend on, what takes their arrays, seconds for the plan."""
        if windows:
            outputs, own = windowed(outputs, own)
        before = perf_counter()
        budget, home = self._budget(), self.home
        leaves, executable = executable_for(outputs, own, options, budget=budget, home=home)
        return leaves, executable, perf_counter() - before

    def _budget(self) -> Budget | None:
        """The time that may be spent on plans; None: as much as they take."""
        options = self.options
        asked = options.strict or options.check or options.device != "cpu"
        return None if asked or watchers else self.budget


default_recorder = Recorder()
default_recorder.at_once_below = AT_ONCE_BELOW
default_recorder.one_by_one = False  # of all threads, which may flush at once
recorder_in_force: contextvars.ContextVar[Recorder] = contextvars.ContextVar(
    "fusecuda_recorder", default=default_recorder
)
# The recorder that takes new operations: the innermost trace's, or the process's own.
current_recorder = recorder_in_force.get
