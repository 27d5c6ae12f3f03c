"""CupyRegion: the recorder of a block around CuPy code.

What is done to CuPy arrays is recorded by the handlers of NumPy's functions, on lazy arrays that
stand for the CuPy arrays while one operation is recorded. What has no handler is completed first
and then run by CuPy itself, with recording suspended.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...graph.node import Node
from ...options import Options
from ..record.flight import Flight, Job, is_idle, recording, versions_of, wait_for
from ..record.lines import name_line
from ..record.numbers import argument_of
from ..record.periods import smallest_period
from ..record.plans import compacts
from ..record.recorder import PENDING_LIMIT, Recorder, default_recorder, recorder_in_force
from ..record.storage import Storage
from ..record.user_frames import user_line
from . import internals
from .internals import ndarray
from .keys import OFF
from .lazies import Lazies
from .picked import Begun, begun
from .steps import Key, Slot, Step
from .storages import CupyStorage, OvertakenError, Unrecorded, table
from .tape import Tape
from .taped_flight import CupyFlight

_ATTEMPTS = 3  # at recording an operation that other threads overtake
_acquire, _release = recording.acquire, recording.release


class CupyRegion(Lazies):
    """Records operations on CuPy arrays, and on lazy arrays as any region does."""

    def __init__(self, options: Options, chosen: bool = True) -> None:
        super().__init__(options, chosen)
        self.flushes = 0
        self.dispatching = False
        self._picks = False  # an operation has given what masks pick, and no more comes of it
        self._on_device = False
        self.tape = Tape(self)

    @property
    def compacts(self) -> bool:
        if not self.dispatching:
            return super().compacts
        return self._picks and compacts(self.cupy_options)

    # --- the recorder's hooks

    def value(self, node: Node) -> Storage:
        if not self.dispatching:
            return super().value(node)
        if not self.operands:
            self.creates()
        storage = CupyStorage(self, node)
        storage.device = self.device
        self.note(node, storage)
        return storage

    def note(self, node: Node, storage: Storage) -> None:
        tape = self.tape
        if tape.learner is not None and self.dispatching and isinstance(storage, CupyStorage):
            tape.learner.noted.append(storage)
        elif tape.mode is not OFF:
            tape.leave()
        if self.tally is None:  # known operations come without a node: this one is new
            name_line(node, user_line())
            Recorder.note(self, node, storage)
            return
        self.call = self.operations if self.dispatching else None
        super().note(node, storage)

    def look(self) -> None:
        if self.dispatching:  # a handler wants values: CuPy is to do this operation
            raise Unrecorded
        super().look()

    def flush(self, needed: Storage | None = None) -> None:
        with recording:
            self.flushes += 1
            try:
                super().flush(needed)
            finally:
                if not self.is_recording:  # else another thread has begun meanwhile
                    table.leave(self)

    def close(self) -> None:
        super().close()
        with recording:
            if not self.is_recording:  # as ever, but for what was interrupted
                table.leave(self)

    @property
    def is_recording(self) -> bool:
        """True if something has been recorded, or taken as an operand, since the last flush."""
        return bool(self._live) or not self.tape.is_new

    def _taken(self, needed: Storage | None) -> CupyFlight | None:
        known = self.tape.known_end()
        if known is None:
            waiting = self.pending()
            return CupyFlight(self, [Job(s, s.node) for s in waiting]) if waiting else None
        end, alive = known
        if end.executable is None:
            return None
        jobs = [Job(alive[n], Slot(n, alive[n].shape, alive[n].dtype)) for n in end.outputs]
        flight = CupyFlight(self, jobs)
        flight.known, flight.arguments = end, self.tape.rerun(end)
        return flight

    def _begin_anew(self, flight: Flight | None = None) -> None:
        super()._begin_anew(flight)
        if isinstance(flight, CupyFlight):
            table.generation += 1  # what is being recorded looks again what its operands are
            flight.tape = self.tape.detached()
        else:
            self.tape.planned((), (), None)
            self.tape.end()

    def _compute(self, flight: Flight) -> None:
        token = recorder_in_force.set(default_recorder)  # nothing is recorded meanwhile
        try:
            self._on_device = True
            if not (isinstance(flight, CupyFlight) and flight.as_before(self._run, self._keep)):
                super()._compute(flight)
        finally:
            recorder_in_force.reset(token)

    def pending(self) -> list[Storage]:
        self.tape.materialize()
        return super().pending()

    def resume(self, storages: Sequence[Storage], sequence: list[int], cut: int) -> None:
        """Go on from a recording whose ``storages`` wait for nodes made just now."""
        for storage in storages:
            storage.noted = True
        self._live = [weakref.ref(s) for s in storages]
        self._sequence = sequence
        self._cut = cut or self._cut

    @property
    def is_taped(self) -> bool:
        """True if what repeats may be known from before; not where every operation is told."""
        return self.tally is None

    @property
    def recorded(self) -> int:
        """The number of versions noted since the last flush."""
        return len(self._sequence)

    def sequence_from(self, first: int) -> tuple[list[int], int]:
        """What was noted from then on, and where a flush is sought next."""
        return self._sequence[first:], self._cut

    def _results(self, flight: Flight, jobs: Sequence[Job]) -> Sequence[Any]:
        """As any recorder's; CuPy's storages and others are two graphs, on two devices."""
        ours = [isinstance(job.storage, CupyStorage) for job in jobs]
        found: dict[int, Any] = {}
        for which in (True, False):
            numbers = [i for i, our in enumerate(ours) if our is which]
            if numbers:
                part = [jobs[i] for i in numbers]
                found.update(zip(numbers, self._results_of(flight, part, which), strict=True))
        return [found[i] for i in range(len(jobs))]

    def _results_of(self, flight: Any, jobs: Sequence[Job], on_device: bool) -> Sequence[Any]:
        options = self.cupy_options if on_device else self.options
        leaves, executable, seconds = self._executable(*versions_of(jobs), options)
        if len(jobs) == len(flight.jobs):  # a part is planned alone where the whole has failed
            with recording:
                flight.tape.planned([job.storage for job in jobs], leaves, executable)
        self._on_device = on_device
        return self._computed(flight, executable, [argument_of(leaf) for leaf in leaves], seconds)

    def _failed(self, storage: Storage, error: BaseException) -> None:
        super()._failed(storage, error)
        if isinstance(storage, CupyStorage):
            memory = storage.memory() if storage.memory is not None else None
            if memory is None:
                self.faults.append(error)
            else:
                internals.fail(memory)

    def _flush_at_period(self) -> None:
        if not self.dispatching:
            super()._flush_at_period()
            return
        count = len(self._sequence)
        rest = smallest_period(self._sequence) if count < 4 * PENDING_LIMIT else 0
        self._cut = count + (rest or 4 * PENDING_LIMIT)
        self.flush_after = rest == 0  # an operation is recorded whole

    def _run(self, executable: Any, arrays: Sequence[Any]) -> Sequence[Any]:
        if self._on_device:
            assert self.space is not None
            return self.space.run(executable, arrays, self.device)
        return super()._run(executable, arrays)

    def _store(self, target: Any, source: Any) -> None:
        if isinstance(target, ndarray):
            assert self.space is not None
            self.space.copy(target, source)
        else:
            super()._store(target, source)

    # --- recording

    def record(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What ``function`` records of CuPy arrays, or NotImplemented if CuPy is to compute it.

        ``function`` takes and gives lazy arrays. Raises what NumPy raises for operands that do not
        fit.
        """
        with recording:
            if self.dispatching or self.rests():
                return NotImplemented
            wait_for(self)  # another thread may compute what has been recorded so far
            tape = self.tape
            key = tape.key(function, args, kwargs)
            step = tape.step(key)
            if step is not None:
                return self.follow(step)
            return self.learn(key, lambda: self.lowered(function, args, kwargs))

    def record_numbered(
        self, function: Any, args: Sequence[Any], operation: Callable[[Any, Any, Any], Any]
    ) -> Any:
        """As `record`, of ``function`` by ``operation``, which takes floats as `Tape.constants`."""
        try:
            _acquire()  # not before: a signal's handler may raise as soon as it returns
            if self.dispatching or (self._resting and self.rests()):
                return NotImplemented
            if not is_idle():
                wait_for(self)  # another thread may compute what has been recorded so far
            tape = self.tape
            key = tape.numbered_key(function, args)
            step = tape.step(key)
            if step is None:
                result = self.learn(key, lambda: operation(self, function, args))
            else:
                result = tape.take(step)
                self.operations += result is not NotImplemented
                if step.flushes:
                    self.flush()
            if result is NotImplemented:
                tape.drop_numbers(args)
            return result
        finally:
            _release()

    def follow(self, step: Step) -> Any:
        """The result of an operation that the tape knows."""
        result = self.tape.take(step)
        if result is not NotImplemented:
            self.operations += 1
        if step.flushes:
            self.flush()
        return result

    def learn(self, key: Key | None, operation: Callable[[], Any]) -> Any:
        """The result of an operation that is recorded, and that the tape knows from now on."""
        tape = self.tape
        for _ in range(_ATTEMPTS):
            run = tape.begin()
            try:
                self.dispatching, self.operands = True, 0
                result = operation()
            except OvertakenError:
                result, key = NotImplemented, None
            except Unrecorded:
                result = NotImplemented
                break
            except BaseException:
                tape.leave()
                raise
            else:
                break
            finally:
                self.dispatching = False
        self.operations += result is not NotImplemented
        if type(result) is Begun:
            tape.learn(run, None, None)
            self.flush()
            return result.of(self.counted(result.storages))
        tape.learn(run, key, result)
        if self.flush_after:
            self.flush_after = False
            self.flush()
        return result

    def counted(self, storages: Sequence[Storage]) -> list[Any]:
        """The arrays of what masks have picked, for which ``storages`` have waited."""
        for storage in storages:
            if storage.error is not None:
                raise storage.error
        return [storage.buffer for storage in storages]

    def lowered(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What ``function``, of lazy arrays, makes of CuPy's."""
        given, named = self.lifted(args, kwargs)
        result = function(*given, **named)
        if result is NotImplemented:
            return result
        self._picks = True
        try:
            picked = begun(result) if self.compacts else None
        finally:
            self._picks = False
        return self.lower(result) if picked is None else picked


in_force = recorder_in_force.get
_idle: Callable[[], None] | None = None


def when_idle(call: Callable[[], None] | None) -> None:
    """Have ``call`` made as soon as an operation comes that no region records."""
    global _idle  # noqa: PLW0603 - one for the process
    _idle = call


def region_in_force() -> CupyRegion | None:
    """The region that records the CuPy operations of this context, if there is one."""
    recorder: Any = in_force()
    if recorder.captures:
        return recorder  # type: ignore[no-any-return]
    if _idle is not None:
        _idle()
    return None
