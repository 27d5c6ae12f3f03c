"""Planted bugs around iterations that are loops of the C back end, and truths beside doubles."""

from __future__ import annotations

from .mutation import Mutation, ids

_ITERATIONS = "cpu_fallback/iterations.py"
_TESTS = "cpu_fallback/iterations"

ITERATIONS = (
    Mutation(
        "iteration-of-moved-pointers",
        "cpu_fallback/emit_loop.py",
        "not piece.taken and self.iteration is None",
        "not piece.taken",
        "what comes before the steps moves pointers that they read by",
        ids(_TESTS, "results[in_place]"),
    ),
    Mutation(
        "iteration-that-leaves-nothing",
        _ITERATIONS,
        "            if carried.setdefault(first, left) != left:",
        "            if carried.setdefault(first, first) != left:",
        "no steps that leave something are ever found",
        ids(_TESTS, "text[escaping]", "text[falling]"),
    ),
    Mutation(
        "iteration-with-results-of-each-step",
        _ITERATIONS,
        "return None  # of an earlier step",
        "pass",
        "results of earlier steps are those of the last one",
        ids(_TESTS, "results[all_kept]", "text[all_kept]"),
    ),
    Mutation(
        "iteration-in-the-order-of-operands",
        _ITERATIONS,
        "return height[i], kind, [",
        "return 0, kind, [",
        "what is made of a step comes behind all steps, and these are written out",
        ids(_TESTS, "text[escaping]"),
    ),
    Mutation(
        "iteration-over-long-runs",
        "cpu_fallback/emit_loop.py",
        "self.kernel.searches or self.iteration is not None",
        "self.kernel.searches",
        "runs are longer than the buffers between steps",
        ids(_TESTS, "text[halving]"),
    ),
    Mutation(
        "iteration-that-leaves-too-much",
        _ITERATIONS,
        "if late:",
        "if not late:",
        "a step leaves to the next one what that would compute of the rest",
        ids(_TESTS, "least_is_left"),
    ),
    Mutation(
        "iteration-of-the-first-numbers",
        _ITERATIONS,
        "= each{value}[step];",
        "= each{value}[0];",
        "each step has the first one's numbers",
        ids(_TESTS, "results[numbered]"),
    ),
    Mutation(
        "iteration-of-the-first-truth",
        _ITERATIONS,
        "or (is_truth and {*each} != {first})",
        "or False",
        "each step has the first one's choice, whose mask is made before",
        ids(_TESTS, "results[chosen]", "text[chosen]"),
    ),
    Mutation(
        "terms-before-all-steps",
        _ITERATIONS,
        "if depth[i] <= _SHALLOW < least - depth[i] or",
        "if",
        "what each step is given comes before all steps, and these are written out",
        ids(_TESTS, "text[numbered]"),
    ),
    Mutation(
        "truths-at-any-steps",
        "cpu_fallback/truths.py",
        "if s.dtype == BOOL and steps[s.form] == 1 and",
        "if s.dtype == BOOL and",
        "truths that lie backwards are read forwards",
        ids("cpu_fallback/truths", "results[by_steps]"),
    ),
    Mutation(
        "truths-of-packed-runs",
        "cpu_fallback/emit_packed.py",
        "        return {}",
        "        return super().widened_by(body)",
        "runs that wait for others leave truths that nobody has computed",
        ids("cpu_fallback/truths", "results[packed]"),
    ),
    Mutation(
        "truths-of-long-runs",
        "cpu_fallback/emit_loop.py",
        "if wide or quotients.divides(body):",
        "if quotients.divides(body):",
        "more truths are made wide than there is room for",
        ids("cpu_fallback/truths", "which_are_wide"),
    ),
)
