"""Planted bugs in what is done while kernels are compiled, and in what time there is."""

from __future__ import annotations

from .mutation import Mutation, ids

FIRST_RUNS = (
    Mutation(
        "recorded-while-awaited",
        "capture/calls/entry.py",
        "            if self.awaited.is_under_way and not self.awaited.has_kernels():",
        "            if False:",
        "each call is recorded again until the kernels are there",
        ids("calls/first_runs", "calls_are_plain_until_the_kernels_are_there"),
    ),
    Mutation(
        "runs-without-kernels-count",
        "capture/calls/function.py",
        "                if meanwhile == Interpreted.meanwhile:\n",
        "                if meanwhile:\n",
        "a trial compares plain calls with interpreted ones",
        ids("calls/first_runs", "what_cannot_begin_again_is_interpreted_to_the_bit"),
    ),
    Mutation(
        "opaque-twice",
        "capture/calls/trace.py",
        "        if self.failure:  # this is what",
        "        if False:  # this is what",
        "a finally does what it does for a recording that is given up, too",
        ids("calls/first_runs", "what_a_call_does_while_it_is_left_is_done_once"),
    ),
    Mutation(
        "classes-not-restored",
        "capture/calls/outliving.py",
        "                    type.__setattr__(kind, name, value)",
        "                    pass",
        "the end of a with writes to a class for a recording that is given up, too",
        ids("calls/first_runs", "what_a_call_does_while_it_is_left_is_done_once"),
    ),
    Mutation(
        "launches-of-the-interpreter",
        "capture/record/recorder.py",
        "0 if executable.is_ready else executable.launches",
        "0",
        "a block has launched kernels that were not there",
        ids("calls/first_runs", "blocks_are_computed_without_their_kernels"),
    ),
    Mutation(
        "jobs-of-the-parent",
        "cpu_fallback/background.py",
        "        return self._over.is_set() or self._process != os.getpid()",
        "        return self._over.is_set()",
        "a forked child waits for what no thread of its own compiles",
        ids("calls/first_runs", "a_forked_child_waits_for_no_job_of_its_parent"),
    ),
    Mutation(
        "compilers-left-behind",
        "cpu_fallback/background.py",
        "            invoke.stop()",
        "            pass",
        "a compiler outlives the process that wanted its kernels",
        ids("cpu_fallback/background", "processes_end_and_leave_no_compiler_behind"),
    ),
)
