"""Fragments: a recorder whose flushes are kept, as pieces of the path that a call takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import thread_time
from typing import TYPE_CHECKING, Any

from ...errors import FlushError
from ...fusion.cost import may_fail
from ...graph.node import LibraryCall, Node
from ...interpreted import Interpreted
from ...options import Options
from ..record.budget import Budget
from ..record.flight import Flight, Job, versions_of
from ..record.lines import name_line
from ..record.numbers import argument_of
from ..record.periods import repeats
from ..record.recorder import PENDING_LIMIT, Recorder
from ..record.storage import Storage
from ..record.user_frames import user_line
from .endings import (
    KERNELS_ARE_COMPILED,
    NO_TIME,
    RECORDING_IS_SLOW,
    TAKES_MEMORY,
    Unfollowed,
)
from .error_states import under
from .path import Computed, Path, nothing
from .undoing import Undoing

if TYPE_CHECKING:
    from ...engine import Executable

_LOOK_AT_CLOCK = 512  # steps
_SLOWEST = 1e-4  # seconds that a step takes at most
_BESIDE = 0.01  # seconds that a recording takes at most, besides its steps


class Fragments(Recorder):
    """The recorder of one call, whose flushes are the fragments of a path.

    The call is started again where recording takes too long, or cannot be right.
    """

    first_cut = 320  # operations, after which a body that repeats is sought
    transparent = True
    names_lines = False  # nodes know the user's line: of the first recordings, which are planned
    wrote = False  # memory of the caller has been written to, and that is not undone
    had_written = False  # so it had been before the last flush
    longest: int | None = None  # operations
    all_lazy = False  # what the function makes of plain data is lazy, too
    failure = ""  # why the call has to be made again, though its function may swallow it

    def __init__(
        self,
        options: Options,
        path: Path | None = None,
        may_restart: bool = False,
        may_compute: bool = True,
    ) -> None:
        super().__init__(options)
        self.path = path or Path()
        self.may_restart = may_restart  # the function, run a second time, does the same
        self.may_resume = may_restart  # but for what the path has run
        self.may_compute = may_compute  # values may be looked at
        self.effects: Callable[[], str] = str  # what has been written outside, if anything
        self.handles = False  # the function has an ``except`` of its own
        self.is_raising = False  # recorded again for an error, which it is to raise itself
        self.failed: Callable[[Exception], None] = ignored  # is told of errors of elements
        self.states: list[dict[str, str]] = []  # of errors, that the function asks for
        self._unsure = False  # something is pending that was recorded before the replay's end
        self._of_library = False  # some of what is pending
        self._safe: dict[int, Node] = {}  # pending nodes that raise no error, by identity
        self._operations = 0
        self._steps = 0
        self.planned = 0.0  # seconds
        self.spent = 0.0  # of that, from the budget
        self.awaited: Executable | None = None  # whose kernels are not there yet
        self.undoing = Undoing()
        self._begun = thread_time()

    @property
    def ends_with_errors(self) -> bool:  # type: ignore[override]
        """True if it is not known what stands behind an error, and the function has no ``except``.

        Where errors are looked for at each statement it is, but for what a replay has not computed.
        """
        return not self.handles and (not self.is_raising or self._unsure)

    @property
    def catches(self) -> bool:
        return self.handles or (self.is_raising and not self.path.replaying)

    def _counted(self, steps: int = 1) -> None:
        """So much more has been recorded: from time to time look at the clock."""
        before = self._steps
        self._steps += steps
        if before // _LOOK_AT_CLOCK < self._steps // _LOOK_AT_CLOCK and self.budget is not None:
            self._check_time(self.budget)

    def _check_time(self, budget: Budget) -> None:
        """Start again without recording if that alone takes too long; or go on without it.

        What kernels take does not count, nor what else takes more than recording can.
        """
        spent = min(thread_time() - self._begun, self._steps * _SLOWEST)
        if spent <= budget.for_one or self.at_once_below:
            return
        if not self.path.trail:
            budget.spend(spent)
            self.give_up(RECORDING_IS_SLOW)
        if not self.path.replaying:  # what has been done already is only found by recording
            self._takes_no_more(RECORDING_IS_SLOW)

    def _takes_no_more(self, why: str) -> None:
        self.breaks(why)
        self.at_once_below = sys.maxsize

    def breaks(self, why: str) -> None:
        """The path cannot be replayed."""
        self.path.broken = self.path.broken or f"{why} ({user_line()})"

    def conditions_grow(self) -> None:
        """One has been found: too late where a replay has begun already."""
        if self.path.trail and not self.path.replaying:
            self.breaks("it looks at who an argument is after it has looked at a value")

    # --- what is recorded

    def note(self, node: Node, storage: Storage) -> None:
        self._unsure = self._unsure or self.path.replaying
        named = name_line(node, user_line()) if self.names_lines or self.catches else []
        super().note(node, storage)
        self._of_library = self._of_library or isinstance(node.attr, LibraryCall)
        self._operations += 1
        if self.longest is not None and self._operations > self.longest:
            raise Unfollowed(f"it has more than {self.longest} operations")
        self._counted()
        every = (node, *[o for n in named for o in n.operands]) if self.catches else ()
        if any(may_fail(n) or isinstance(n.attr, LibraryCall) for n in every):
            self.flush()  # the function may see an error that computing it raises
            if storage.error is not None:
                raise storage.error

    def _flush_at_period(self) -> None:
        """End a fragment where a repeating body ends; what does not repeat goes on for longer."""
        count = len(self._sequence)
        if not self.may_compute:  # it is to be one plan, whatever its length
            self._sequence.clear()
        elif count < PENDING_LIMIT and not repeats(self._sequence):
            self._cut = min(2 * count, PENDING_LIMIT)
        else:
            super()._flush_at_period()

    def _in_place(self, storage: Storage, node: Node) -> bool:
        known = self.path.slot_of(storage.buffer) is not None
        return (known or storage.held) and super()._in_place(storage, node)

    def _taken(self, needed: Storage | None) -> Flight | None:
        waiting = self.pending()
        return Flight(self, [Job(s, s.node) for s in waiting]) if waiting else None

    def flush(self, needed: Storage | None = None) -> None:
        self.computes()
        self.had_written = self.wrote
        if not (self.wrote or self.path.replaying):
            written = [s for s in self.pending() if s.held]
            may_undo = self.may_restart and not self.path.trail
            self.wrote = bool(written) and not (may_undo and self.undoing.keeps(written))
        self._of_library = False
        self._safe.clear()
        if self._is_next(self._operations) and not self.pending():
            self._known(self._operations, ())
        super().flush(needed)
        self._unsure = False

    def finish_calls(self) -> None:
        """Compute what is pending if NumPy takes part, which may warn."""
        if self._of_library:
            self.flush()

    def _computed(
        self, flight: Flight, executable: Any, arguments: Sequence[Any], seconds: float = 0.0
    ) -> Sequence[Any]:
        before = thread_time()
        try:
            return super()._computed(flight, executable, arguments, seconds)
        finally:
            self._begun += max(0.0, thread_time() - before - _SLOWEST)

    def _results(self, flight: Flight, jobs: Sequence[Job]) -> Sequence[Any]:
        return self._fragment(flight, jobs, self.options)

    def _fragment(self, flight: Flight, jobs: Sequence[Job], options: Options) -> Sequence[Any]:
        """The results of ``jobs``, which are a fragment of the path."""
        leaves, executable, seconds = self._executable(*versions_of(jobs), options)
        self.planned += seconds
        if self.budget is not None:  # at once, for there may be more fragments than time
            self.budget.spend(seconds)
            self.spent += seconds
        executable = self.affordable(executable)
        sources = [self.path.source(leaf) for leaf in leaves]
        if self.path.replaying:
            if not isinstance(executable, Interpreted):
                self._ran(executable)
            return self._known(flight.operations, jobs)
        arguments = [argument_of(leaf) for leaf in leaves]
        results = list(self._computed(flight, executable, arguments))
        storages = [job.storage for job in jobs]
        computed = Computed(flight.operations, tuple([job.place for job in jobs]))
        run = self._runner(executable)
        self.path.ran(run, sources, results, storages, complete=True, computed=computed)
        return results

    def _begin_anew(self, flight: Flight | None = None) -> None:
        if flight is not None:
            shown = [reference() for reference in self._live]
            storages = [s if s is None or isinstance(s, Storage) else s.storage for s in shown]
            places = {id(s): i for i, s in enumerate(storages) if s is not None}
            for i, job in enumerate(flight.jobs, len(storages)):  # a tape knows what it computes
                job.place = places.get(id(job.storage), i)
            flight.operations = self._operations
        super()._begin_anew(flight)

    def _is_next(self, operations: int) -> bool:
        """True if what the replay has computed next is what was pending after so many of them."""
        computed = self.path.next_computed
        return computed is not None and computed.operations == operations

    def _known(self, operations: int, jobs: Sequence[Job]) -> Sequence[Any]:
        """The results of ``jobs``, which a replay has computed.

        Those that it has not were held by nobody then, and are by nobody who could ask for them.
        """
        path, computed = self.path, self.path.next_computed
        by_place = {job.place: job for job in jobs}
        known: dict[int, Any] = {}
        if computed is not None and computed.operations == operations:
            found = [by_place.pop(place, None) for place in computed.places]
            results = path.known_results([None if j is None else _made_anew(j) for j in found])
            storages = [None if j is None else j.storage for j in found]
            path.ran(nothing, [], results, storages, complete=True)
            known = {id(j): r for j, r in zip(found, results, strict=True)}
        for job in by_place.values():
            job.error = FlushError("the array was not computed: nobody held it")
        return [known.get(id(job)) for job in jobs]

    def _runner(self, executable: Any) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """What runs it in a replay."""
        return under(self.states, executable.run)

    def _ran(self, executable: Executable) -> None:
        self.reports.append(executable)

    def affordable(
        self, executable: Executable | Interpreted, last: bool = False
    ) -> Executable | Interpreted:
        """``executable``, or another start: there was no time for it, or its kernels come later.

        If there can be no other start, the interpreter computes.
        """
        if isinstance(executable, Interpreted):
            self.give_up(NO_TIME)
            if not (last or self.path.replaying):
                self._takes_no_more(NO_TIME)
            return executable
        if self.budget is not None:
            executable.patience = self.budget.patience
            if not executable.has_kernels():
                self.awaited = executable
                self.give_up(KERNELS_ARE_COMPILED)
        return executable

    def seconds_of(self, passed: float) -> float:
        """What recording and planning have taken of ``passed`` seconds, but for what is `spent`."""
        others = min(passed - self.planned, self._steps * _SLOWEST + _BESIDE)
        return self.planned - self.spent + others

    def broken_off(self, error: BaseException) -> None:
        """What is pending may have been computed: it is not done again."""
        self.wrote = True
        for storage in self.pending():
            self._failed(storage, error)

    def _compute_apart(self, flight: Flight, error: Exception) -> None:
        self.failed(error)
        self.breaks("an operation failed")
        super()._compute_apart(flight, error)

    # --- what cannot be replayed

    def write_at_once(self, held: bool) -> None:
        """Memory is written to without being recorded; from now on there is no starting again."""
        self.look()
        self.wrote = self.wrote or held

    def hands_out(self) -> None:
        """Start again rather than give out memory of which we would not see the changes."""
        self.give_up(f"{TAKES_MEMORY} ({user_line('numpy.')})")

    def fills_in(self) -> None:
        """Start again with what the function makes of plain data as lazy arrays."""
        if not self.all_lazy:
            self.give_up(f"{TAKES_MEMORY} ({user_line('numpy.')})")

    def give_up(self, why: str) -> None:
        """Start the call again without recording, if that is still possible."""
        may_restart = self.may_restart and not self.wrote and not self.path.trail
        if may_restart and not self.effects():
            self.may_compute = False
            self.failure = why
            raise Unfollowed(why)

    def acts(self) -> None:
        """Something is about to be done that a second run would do again.

        What may raise an error is computed before: nothing behind an error is done.
        """
        if self.failure:  # this is what a ``finally`` does while the call is left
            raise Unfollowed(self.failure)
        if self.may_compute and self._pending_may_fail():
            self.flush()
        self.may_restart = False

    def _pending_may_fail(self) -> bool:
        """True if computing what is pending may raise an error."""
        nodes = [storage.node for storage in self.pending()]
        while nodes:
            node = nodes.pop()
            if id(node) in self._safe:
                continue
            if may_fail(node):
                return True
            self._safe[id(node)] = node
            nodes.extend(node.operands)
        return False

    def used(self) -> None:
        """Something opaque is about to be used."""
        self.acts()
        self.may_resume = False
        if any(s.held for s in self.pending()):
            self.flush()

    def computes(self, what: str = "it looks at a value", where: str = "") -> None:
        """The program asks for a value: a single graph has none."""
        if not self.may_compute:
            raise Unfollowed(f"{what} while it is recorded{where}")


def _made_anew(job: Job) -> tuple[Any, Any] | None:
    """Shape and dtype of the result of ``job``, None where it lies in memory from before."""
    return None if job.in_place else (job.storage.shape, job.storage.dtype)


def ignored(error: Exception) -> None:
    """Nothing is done about it."""
