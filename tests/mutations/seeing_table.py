"""Planted bugs in what counts, measures and explains."""

from __future__ import annotations

from .mutation import Mutation, ids

SEEING = (
    Mutation(
        "hooks-left-behind",
        "tools/hooks.py",
        "[u for u in self.users if u != user]",
        "[u for u in self.users if u is not user]",
        "NumPy's calls are counted when the block has ended, by hooks that stay",
        ids("counting", "other_threads_count_and_nothing_is_left_behind"),
    ),
    Mutation(
        "library-calls-not-counted",
        "fusion/assembly.py",
        'getattr(self.steps[c[0]], "launched", True)',
        'getattr(self.steps[c[0]], "launched", False)',
        "a library call of a plan is no launch",
        ids("counting", "a_region_counts_library_calls"),
    ),
    Mutation(
        "numbers-counted",
        "tools/hooks.py",
        "*(int *)((char *)given + 24) > 0",
        "*(int *)((char *)given + 24) >= 0",
        "calls on arrays without axes count as launches",
        ids("counting", "numbers_do_not_count"),
    ),
    Mutation(
        "laps-of-other-launches",
        "cpu_fallback/program.py",
        "{apart + number * self._launch_bytes}, 1)",
        "{apart}, 1)",
        "while a profile is taken the first launch of a plan runs in place of the others",
        ids("profile", "results_are_the_same_while_a_profile_is_taken"),
    ),
    Mutation(
        "lines-part-of-plans",
        "capture/record/plans.py",
        "line = node.line if node.line is None or may_fail(node) else None",
        "line = node.line",
        "one graph is planned for each line that records it",
        ids("brief", "two_places_of_one_graph_share_a_plan"),
    ),
    Mutation(
        "why-of-the-condition-before",
        "capture/calls/why.py",
        "if fails == replaying:",
        "if fails != replaying:",
        "the first condition that holds is given as the reason",
        ids("why", "it_names_the_condition_its_values_and_the_line"),
    ),
    Mutation(
        "checked-after-overwriting",
        "cases/checked.py",
        "kept = [on_host(a) for a in arguments]",
        "kept = list(arguments)",
        "a checked call is computed again from arguments that it has overwritten",
        ids(
            "check", "right_programs_are_left_in_peace", "a_fault_is_told_with_its_place_and_a_dump"
        ),
    ),
    Mutation(
        "libraries-called-twice",
        "graph/library.py",
        "    calls = _steady.get()\n    if calls is None",
        "    calls = _steady.get()\n    if True",
        "a library's rounding is reported as a difference",
        ids("faults", "steady_calls_give_the_same_for_the_same_bits"),
    ),
    Mutation(
        "dumps-without-layouts",
        "cases/case.py",
        "        if self.strides:",
        "        if not self.strides:",
        "a dump is replayed on contiguous arguments, which is another plan",
        ids("faults", "a_dump_keeps_values_layouts_lines_and_options"),
    ),
    Mutation(
        "apart-forgotten",
        "fusion/planner.py",
        "if self.fuse and not self._is_apart(root):",
        "if self.fuse:",
        "what is to be apart shares a kernel, so that bisect blames another fusion",
        ids("faults", "nodes_apart_share_no_kernel_with_what_they_read"),
    ),
    Mutation(
        "other-faults-followed",
        "tools/reduce.py",
        "return outcome(case).kind == self.kind",
        "return outcome(case).kind != 'same'",
        "a graph that the interpreter refuses counts as failing",
        ids("faults", "only_the_same_fault_is_followed"),
    ),
    Mutation(
        "bench-only-first-calls-compared",
        "tools/bench/worker.py",
        "for number in range(3):",
        "for number in range(1):",
        "a wrong replay is timed, since only what the recording gave was compared",
        ids("bench", "a_wrong_fused_result_is_reported_and_not_timed"),
    ),
    Mutation(
        "bench-nothing-put-back",
        "tools/bench/worker.py",
        "_write(self.given[i], kept)",
        "_write(kept, self.given[i])",
        "what calls overwrite is never put back, and runs out into zeros",
        ids("bench", "what_calls_overwrite_is_put_back"),
    ),
    Mutation(
        "bench-ready-among-others",
        "tools/bench/rounds.py",
        """        for name in samples.fit()[:2]:
            samples.heard(contenders.ask([name], LONGEST, **request))
        samples.heard(contenders.ask(samples.fit()[2:], effort.patience, **request))""",
        """        samples.heard(contenders.ask(samples.fit(), effort.patience, **request))""",
        "`fused` decides by its measurements while compilers take the processors",
        ids("bench_rounds", "ours_gets_ready_alone"),
    ),
    Mutation(
        "bench-lost-asked-again",
        "tools/bench/rounds.py",
        'lost = {n: a["missing"] for n, a in samples.answers.items() if "missing" in a}',
        "lost = {}",
        "who takes too long to compile takes as long again for each size",
        ids("bench_rounds", "who_is_not_ready_in_time_is_asked_for_no_larger_size"),
    ),
    Mutation(
        "bench-compares-seconds",
        "tools/bench/compare.py",
        "grown = b.ratio(peer) / a.ratio(peer)",
        "grown = a.times[OURS].median / b.times[OURS].median",
        "a faster machine is taken for a gain",
        ids("bench_compare", "compare_speaks_of_ratios_only"),
    ),
)
