"""Kernels that are compiled beside the program, which goes on without them until they are there.

One thread takes what is wanted in turn; it waits for a compiler, hardly for the interpreter's lock.
What it has built, or why it could not, is in the table of kernels (`loader.py`): whoever asks for a
kernel of a job that is over has it, or its error, at once. When the process ends, what runs may end
within `GRACE`, or `FIRST_GRACE` in a short process, and is killed else; a forked child has neither
thread nor jobs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence

from ..codegen.compilations import before_counting
from ..errors import CompilerError
from .kernels import compile_kernels, load_driver
from .loader import KernelSource
from .threads import processors

FIRST_GRACE, GRACE = 0.2, 0.06  # seconds that the end may be held up: each run keeps something
_BATCH = 12_000  # characters: jobs that wait, and are no longer together, share a compiler's start
_NICE = 5  # steps: where processors are scarce, compilers get a third of the program's share
_SHORT_S = 0.3  # since the first job
_BURIAL_S = 2.0  # for the thread to remove what a killed compiler has left


class Job:
    """Kernels to be compiled."""

    def __init__(self, sources: Sequence[KernelSource]) -> None:
        self.sources = sources
        self._process = os.getpid()
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """True if nothing is to be waited for: all is compiled, has failed, or was given up."""
        return self._over.is_set() or self._process != os.getpid()

    @property
    def is_void(self) -> bool:
        """True in a forked child, for what its parent compiles."""
        return self._process != os.getpid()

    def wait(self, seconds: float) -> None:
        """Return when it is over, but after so many seconds at the latest."""
        if not self.is_over:
            _workers.hasten(self)
            self._over.wait(min(seconds, threading.TIMEOUT_MAX))

    def end(self) -> None:
        """It is over."""
        self._over.set()


class _Workers:
    """The jobs that wait, and the threads that take them."""

    def __init__(self) -> None:
        self.begin_anew()
        self.closing = False

    def begin_anew(self) -> None:
        """There is nothing: true at first, and in a forked child."""
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._jobs: weakref.WeakSet[Job] = weakref.WeakSet()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self.done = 0  # batches
        self._begun = time.monotonic()

    def add(self, job: Job) -> None:
        """Let ``job`` be done; where no thread can be begun, it is over, and its asker does it."""
        with self._changed:
            if self.closing:
                job.end()
                return
            if not self._threads:
                self._begun = time.monotonic()
            self._jobs.add(job)
            self._waiting.append(job)
            self._changed.notify()
            if self._idle or len(self._threads) >= max(1, processors() - 1):
                return
            if not self._begin_thread(self._work) and not self._threads:
                self._waiting.remove(job)
                job.end()

    def hasten(self, job: Job) -> None:
        """Let ``job`` be the next, and at once: who waits for it leaves a processor idle."""
        with self._changed:
            if job not in self._waiting or self._idle or self.closing:
                return
            self._waiting.remove(job)
            if len(self._threads) >= processors() or not self._begin_thread(self._help, job):
                self._waiting.appendleft(job)

    def _begin_thread(self, work: Callable[..., None], *args: Job) -> bool:
        """False where the interpreter ends, or the system gives no more threads."""
        thread = threading.Thread(target=work, args=args, name="fusecuda compiles", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False
        self._threads.append(thread)
        return True

    def _help(self, job: Job) -> None:
        """Do ``job`` and no more."""
        try:
            self._compile([job])
        finally:
            with self._changed:  # before who waits can want another one
                self._threads.remove(threading.current_thread())
            job.end()

    def _work(self) -> None:
        if sys.platform == "linux":  # where threads have priorities, which their children inherit
            with contextlib.suppress(OSError):
                thread = threading.get_native_id()
                now = os.getpriority(os.PRIO_PROCESS, thread)
                os.setpriority(os.PRIO_PROCESS, thread, now + _NICE)
        while batch := self._next():
            try:
                self._compile(batch)
            finally:
                for job in batch:
                    job.end()

    def _compile(self, batch: Sequence[Job]) -> None:
        sources = {s.symbol: s for job in batch for s in job.sources}
        with contextlib.suppress(CompilerError):  # told to who asks for the kernels
            load_driver()  # at once if the compiler has just been tried out
            compile_kernels(list(sources.values()), most=1)
            self.done += 1

    def _next(self) -> list[Job]:
        """The jobs to be done together; none when the process ends."""
        with self._changed:
            self._idle += 1
            while not self._waiting and not self.closing:
                self._changed.wait()
            self._idle -= 1
            return self._batch()

    def _batch(self) -> list[Job]:
        """The jobs that come next, none if no job waits."""
        batch: list[Job] = []
        size = 0
        while self._waiting and not self.closing:
            size += sum(len(s.text) for s in self._waiting[0].sources)
            if batch and size > _BATCH:
                break
            batch.append(self._waiting.popleft())
        return batch

    def finish(self) -> None:
        """Return when all jobs are over."""
        with self._changed:
            jobs = list(self._jobs)
        for job in jobs:
            job.wait(threading.TIMEOUT_MAX)

    def close(self) -> None:
        """Nothing runs any more; nobody waits for what had not begun."""
        with self._changed:
            self.closing = True
            left, threads = list(self._waiting), list(self._threads)
            self._waiting.clear()
            busy = len(threads) - self._idle
            is_short = not self.done and time.monotonic() < self._begun + _SHORT_S
            grace = FIRST_GRACE if is_short else GRACE
            self._changed.notify_all()
        for job in left:
            job.end()
        until = time.monotonic() + (grace if busy else _BURIAL_S)  # idle ones end at once
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            from . import invoke  # noqa: PLC0415 - most processes run no compiler

            invoke.stop()
            for thread in threads:
                thread.join(_BURIAL_S)


_workers = _Workers()
os.register_at_fork(after_in_child=_workers.begin_anew)
atexit.register(_workers.close)
before_counting.append(_workers.finish)


def begin(sources: Sequence[KernelSource]) -> Job:
    """The job that compiles ``sources``, and the driver that runs them."""
    job = Job(sources)
    _workers.add(job)
    return job
