"""Planted bugs in what threads do at once."""

from __future__ import annotations

from .mutation import Mutation, ids

_FLIGHT, _STORAGE = "capture/record/flight.py", "capture/record/storage.py"
HANGS = 20.0  # seconds; the tests take less than one
_AT_ONCE, _OPERATORS = "capture/arrays/at_once.py", "capture/arrays/operators.py"

THREADS = (
    Mutation(
        "leaves-that-nobody-knows-yet",
        "capture/record/run.py",
        '            return self._enter(("unknown",))\n',
        "            return self._enter(())\n",
        "a block that reads what another thread computes raises an IndexError",
        ids("record/many_threads", "a_block_reads_what_is_being_computed"),
    ),
    Mutation(
        "copies-of-promises-are-computed",
        _STORAGE,
        "if isinstance(node, Leaf) and self.buffer is not None and node.array is",
        "if isinstance(node, Leaf) and node.array is",
        "a copy of what another thread computes has no value, ever, and an update is lost",
        ids(
            "record/many_threads",
            "a_copy_of_what_is_being_computed[copy]",
            "an_array_that_waits_is_written_with_what_is_being_computed",
        ),
    ),
    Mutation(
        "views-of-memory-given-up",
        "capture/arrays/memory.py",
        "buffer if owner is buffer or owner is buffer.base else None",
        "buffer",
        "a view shows, for ever, memory that another thread's flush has replaced",
        ids("record/many_threads", "a_view_is_of_the_memory_that_its_array_has_by_then"),
    ),
    Mutation(
        "viewers-looked-up-twice",
        _STORAGE,
        "        viewers.append(weakref.ref(viewer))",
        "        self.viewers.append(weakref.ref(viewer))",
        "a view is added to a list that another thread's flush has taken away",
        ids("record/many_threads", "views_may_be_taken_away_while_one_is_added"),
    ),
    Mutation(
        "blocks-leave-the-table-without-the-lock",
        "capture/cupy/region.py",
        "        with recording:\n            if not self.is_recording:  # as ever",
        "        if True:\n            if not self.is_recording:  # as ever",
        "memory that another thread enters is forgotten: two threads' updates of it do not meet",
        ids("cupy/cupy_threads", "threads_write_to_one_array[0]"),
    ),
    Mutation(
        "others-flights-are-waited-for",
        "capture/record/leaf.py",
        "return self.flight if self.storage() is storage else None",
        "return self.flight",
        "what another storage's flight computes is taken for one's own, and is never computed",
        ids("recording_threads", "an_array_is_written_with_what_is_being_computed[run]"),
    ),
    Mutation(
        "items-written-without-the-lock",
        _AT_ONCE,
        "    with writing:\n        shown = _completed(array, key)",
        "    if True:\n        shown = _completed(array, key)",
        "a thread records a read of memory that is about to be written to at once",
        ids("recording_threads", "a_write_at_once_takes_the_lock[item]"),
    ),
    Mutation(
        "sums-at-indices-without-the-lock",
        _AT_ONCE,
        "    with writing:\n        memory, own = values(array), array._own",
        "    if True:\n        memory, own = values(array), array._own",
        "a thread records a read of memory that a sum at indices is about to write to",
        ids("recording_threads", "a_write_at_once_takes_the_lock[at]"),
    ),
    Mutation(
        "outputs-written-without-the-lock",
        _AT_ONCE,
        "    with writing:\n        memory = values(target)",
        "    if True:\n        memory = values(target)",
        "a thread records a read of memory that a ufunc is about to write to",
        ids("recording_threads", "a_write_at_once_takes_the_lock[out]"),
    ),
    Mutation(
        "operators-write-without-the-lock",
        _OPERATORS,
        "    with writing:\n        a = values(array)",
        "    if True:\n        a = values(array)",
        "a thread records a read of memory that an operator is about to write to",
        ids("recording_threads", "a_write_at_once_takes_the_lock[operator]"),
    ),
    Mutation(
        "writes-do-not-wait-for-reads",
        _FLIGHT,
        "return not (writes.isdisjoint(before) and reads.isdisjoint(written))",
        "return not reads.isdisjoint(written)",
        "a flush overwrites memory that another one still reads",
        ids("recording_threads", "a_write_waits_for_the_reads_of_a_flush[run]"),
    ),
    Mutation(
        "all-waits-for-what-waits",
        _FLIGHT,
        "    met: Sequence[Flight] = [other for other in _flights if whole._meets(other)]",
        "    met: Sequence[Flight] = []",
        "what could be computed waits with all else for another thread's flush",
        ids("recording_threads", "what_is_being_computed_is_read_written_and_dropped[run]"),
        limit=HANGS,
    ),
    Mutation(
        "waits-for-itself",
        _FLIGHT,
        "if not self.is_over and self.needs(thread):",
        "if not self.is_over and self.thread == thread:",
        "two threads wait for each other",
        ids("recording_threads", "two_threads_do_not_wait_for_each_other"),
        limit=HANGS,
    ),
    Mutation(
        "readers-in-blocks-forgotten",
        _STORAGE,
        "if not recorder.transparent and recorder not in self.readers:",
        "if False:",
        "a thread overwrites what another one's block has read and not computed",
        ids("recording_threads", "a_block_reads_what_another_thread_writes"),
    ),
    Mutation(
        "forks-in-the-middle",
        _FLIGHT,
        "    while any(not flight.needs(thread) for flight in _flights):\n",
        "    while False:\n",
        "a child is left with arrays that no thread of its computes",
        ids("recording_threads", "a_fork_waits_for_flushes"),
        limit=HANGS,
    ),
    Mutation(
        "versions-computed-twice",
        _FLIGHT,
        "new[node] = known.get(node) or",
        "new[node] =",
        "a version that is computed in place is computed once more, from its own result",
        ids("recording_threads", "a_version_is_computed_once"),
    ),
)
