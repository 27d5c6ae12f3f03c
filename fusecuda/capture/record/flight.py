"""Flights: what recorders had pending at one moment, computed while other threads go on recording.

The lock of recording is held while something is recorded, and given up, however deep below, while
plans are made and compilers and kernels run. At its departure a flight puts a promise in the place
of each version that it computes; who records meanwhile reads the promise, and who needs the value
waits for that flight alone. A flight begins when the earlier ones are over that compute what it
reads, or touch memory that it writes: all goes as if it were done in the order of recording.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from ...errors import FlushError
from ...graph.node import Node, topological
from .leaf import Leaf, Promise

P = ParamSpec("P")
T = TypeVar("T")

_POLL = 0.001  # seconds between looks at what nobody announces
recording = threading.RLock()  # held while something is recorded, taken for a flight, or settled
_changed = threading.Condition(recording)  # a flight is over, or a fork
_flights: list[Flight] = []  # that are not over, in the order of departure
_waiting: dict[int, Flight] = {}  # for which one each thread waits
_moved: list[tuple[Any, Promise]] = []  # versions that somebody held on to when they were computed
_forking: list[int] = []  # the thread that forks


def atomic(function: Callable[P, T]) -> Callable[P, T]:
    """``function`` as one step, up to what it computes: meanwhile no other thread records."""

    @functools.wraps(function)
    def locked(*args: P.args, **kwargs: P.kwargs) -> T:
        with recording:
            return function(*args, **kwargs)

    return locked


def unlocked(function: Callable[[], T]) -> T:
    """What ``function`` returns, called without the lock of recording, which is then held again."""
    lock: Any = recording  # released as a Condition does
    state: list[Any] = []
    try:
        state.extend(starmap(lock._release_save, ((),)))  # in one step for a signal's handler
        return function()
    finally:
        while not is_recording():
            lock._acquire_restore(*state)


def is_recording() -> bool:
    """True if this thread holds the lock of recording."""
    lock: Any = recording
    return lock._is_owned()  # type: ignore[no-any-return]


class Job:
    """A storage in a flight: the version that it waits for, and what has become of it."""

    __slots__ = ("error", "in_place", "node", "place", "promise", "result", "storage")

    def __init__(self, storage: Any, node: Node) -> None:
        self.storage = storage
        self.node = node
        self.promise: Promise | None = None
        self.place = -1  # of the storage among all that was recorded since the last flight
        self.in_place = False  # the version belongs in the storage's present memory
        self.result: Any = None  # the memory that it lies in
        self.error: BaseException | None = None


def versions_of(jobs: Iterable[Job]) -> tuple[list[Node], list[Leaf | None]]:
    """The versions that ``jobs`` compute, and the memory that each of them overwrites, if any."""
    own = [
        Leaf(j.storage.buffer, j.storage.shape, j.storage.dtype) if j.in_place else None
        for j in jobs
    ]
    return [job.node for job in jobs], own


class Flight:
    """Versions of storages that one thread computes together."""

    def __init__(self, recorder: Any, jobs: Sequence[Job], left: Sequence[Any] = ()) -> None:
        self.recorder = recorder
        self.jobs = jobs
        self.left = left  # storages that stay pending
        self.ran: list[Any] = []  # executables, in order
        self.operations = 0  # that a call has recorded before it
        self.unlaunched = 0  # of their launches: their kernels were not there yet
        self.begun = False  # something may have been written
        self.thread = threading.get_ident()
        self.is_over = False
        self.earlier: list[Flight] = []  # that have to be over before it begins
        self.run: Any = None  # what tells how the jobs were recorded
        self._leaves: list[Leaf] | None = None
        if _flights or _moved:
            self._look_up()

    # --- departure

    def depart(self, one_by_one: bool) -> bool:
        """Take off, or False where that would wait for what this thread is computing already.

        ``one_by_one`` says that the recorder's flights are not to overlap.
        """
        for other in _flights:
            if (one_by_one and other.recorder is self.recorder) or self._meets(other):
                self.earlier.append(other)
        if any(other.needs(self.thread) for other in self.earlier):
            return False
        for job in self.jobs:
            job.promise = Promise(self, job.storage)
        _flights.append(self)
        for job in self.jobs:
            job.storage.depart(job.promise)
        return True

    @property
    def is_under_way(self) -> bool:
        """True from the departure to the end."""
        return self in _flights

    def _look_up(self) -> None:
        """Let promises stand for versions that other flights compute, or have computed."""
        _moved[:] = [(node, promise) for node, promise in _moved if node() is not None]
        known: dict[Any, Promise | None] = {node(): promise for node, promise in _moved}
        for other in _flights:
            known.update((j.node, j.promise) for j in other.jobs if _reads_memory(j.node))
        new: dict[Node, Node] = {}
        for node in topological([job.node for job in self.jobs]):
            new[node] = known.get(node) or node.with_operands(
                tuple([new[o] for o in node.operands])
            )
        for job in self.jobs:
            job.node = new[job.node]

    def _meets(self, other: Flight) -> bool:
        """True if one of the two writes to what the other one reads or writes."""
        reads, writes = self._memory()
        before, written = other._memory()
        return not (writes.isdisjoint(before) and reads.isdisjoint(written))

    def _memory(self) -> tuple[set[Any], set[Any]]:
        """What is read or written, and what of it is written: leaves, and identities of arrays."""
        if self._leaves is None:
            nodes = topological([job.node for job in self.jobs])
            self._leaves = [node for node in nodes if isinstance(node, Leaf)]
        writes: set[Any] = {job.promise for job in self.jobs}
        for job in self.jobs:
            buffer, base = job.storage.buffer, base_of(job.node)
            if base is not None and (base.known is None or base.known is buffer):
                writes.update((base, id(buffer)))
            elif job.storage.held:
                writes.add(id(buffer))
        touched = {id(leaf.known) for leaf in self._leaves}
        nothing = {None, id(None)}
        return writes.union(self._leaves, touched) - nothing, writes - nothing

    # --- waiting

    def needs(self, thread: int) -> bool:
        """True if it cannot be over before ``thread`` goes on."""
        if self.thread == thread:
            return True
        waits_for = _waiting.get(self.thread)
        others = self.earlier if waits_for is None else [*self.earlier, waits_for]
        return any(not other.is_over and other.needs(thread) for other in others)

    def wait(self) -> bool:
        """Return when it is over; False, at once, where it would wait for this very thread."""
        thread = threading.get_ident()
        with recording:
            if not self.is_over and self.needs(thread):
                return False
            before = _waiting.get(thread)
            _waiting[thread] = self
            try:
                while not self.is_over:
                    _changed.wait()
            finally:
                del _waiting[thread]
                if before is not None:
                    _waiting[thread] = before
        return True

    def wait_for_earlier(self) -> None:
        """Return when it may begin."""
        for other in self.earlier:
            if not other.wait():
                raise FlushError("two threads wait for each other's arrays")
        self.earlier = []

    # --- the end

    def end(self) -> None:
        """All storages have been settled: who waits goes on."""
        if self.run is not None:
            self.run.end()
        jobs = self.jobs
        self.is_over = True
        _changed.notify_all()
        _flights.remove(self)  # from here on nobody looks at the jobs
        kept: list[tuple[Any, Any]] = [(weakref.ref(j.node), j.promise) for j in jobs]
        for job in jobs:
            assert job.promise is not None
            job.promise.flight = None
            del job.node
        self.jobs, self.left, self._leaves = (), (), None
        _moved.extend([k for k in kept if k[0]() is not None and _reads_memory(k[0]())])


def _reads_memory(version: Any) -> bool:
    """True for what cannot be computed once more: others may write to what it reads."""
    seen: set[Node] = set()
    stack = [*version.operands]
    while stack:  # most come to one soon
        node = stack.pop()
        if isinstance(node, Leaf):
            return True
        if node not in seen:
            seen.add(node)
            stack += node.operands
    return False


def divided(recorder: Any, storages: Sequence[Any], needed: Any = None) -> Flight:
    """A flight with those of the pending ``storages`` that need not wait for others under way.

    With all of them if there are none, or if the one that is ``needed`` is not among those.
    """
    whole = Flight(recorder, [Job(s, s.node) for s in storages])
    if not _flights:
        return whole
    met: Sequence[Flight] = [other for other in _flights if whole._meets(other)]
    free, bound = [Flight(recorder, [job]) for job in whole.jobs], list[Job]()
    while met:  # what meets these has to wait, and so has what meets that
        moved = [flight for flight in free if any(map(flight._meets, met))]
        free = [flight for flight in free if flight not in moved]
        bound += [flight.jobs[0] for flight in moved]
        met = [Flight(recorder, [flight.jobs[0] for flight in moved])] if moved else []
    left = [job.storage for job in bound]
    if not left or not free or needed in left:
        return whole
    return Flight(recorder, [flight.jobs[0] for flight in free], left)


def base_of(node: Node) -> Leaf | None:
    """The leaf that ``node`` is a later version of, if there is one."""
    version = node
    while version.op in ("reshape", "update"):
        version = version.operands[0]
    return version if isinstance(version, Leaf) and version is not node else None


def wait_for(recorder: Any) -> None:
    """Return when all that ``recorder`` has under way is over, but for this thread's own work."""
    for flight in tuple(_flights) if _flights else ():
        if flight.recorder is recorder:
            flight.wait()


def is_idle() -> bool:
    """True if nothing is under way, for which something recorded might have to wait."""
    return not _flights


def wait_until(happens: Callable[[], bool], seconds: float) -> None:
    """Let others record until ``happens`` is true, but no longer than that."""
    end = monotonic() + seconds
    with recording:
        while not happens() and monotonic() < end:
            _changed.wait(_POLL)


def wait_for_memory(buffer: Any) -> None:
    """Return when nothing that is under way reads or writes the array ``buffer``."""
    for flight in tuple(_flights):
        if id(buffer) in flight._memory()[0]:
            flight.wait()


# --- forks: the child has none of the other threads, so there are no flights of theirs


def pass_gate() -> None:
    """Wait while another thread forks, unless that waits for what this thread computes."""
    thread = threading.get_ident()
    while _forking and thread not in _forking and not is_computing():
        _changed.wait()


def is_computing() -> bool:
    """True if this thread is computing something further up."""
    thread = threading.get_ident()
    return any(flight.thread == thread for flight in _flights)


def _before_fork() -> None:
    recording.acquire()
    thread = threading.get_ident()
    _forking.append(thread)
    while any(not flight.needs(thread) for flight in _flights):
        _changed.wait()


def _after_fork() -> None:
    _forking.remove(threading.get_ident())
    _changed.notify_all()
    recording.release()


def _after_fork_in_child() -> None:
    thread = threading.get_ident()
    _waiting.clear()
    for flight in tuple(_flights):
        if flight.thread != thread:
            flight.recorder.settle(flight)
    _forking.clear()
    recording.release()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
)
