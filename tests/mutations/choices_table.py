"""Planted bugs in choices by place and in edges: what is rolled, padded, copied, partly written."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

CHOICES = (
    Mutation(
        "any-number-of-reductions-in-turn",
        "fusion/verdict.py",
        "cluster.stage_of(cone) and cluster.staged() >= MAX_STAGED",
        "cluster.stage_of(cone) < 0",
        "the text of a kernel grows with each reduction that needs others: it compiles for minutes",
        _ids("cuts", "reductions_that_need_others_are_cut"),
    ),
    Mutation(
        "reductions-that-need-no-others-are-cut",
        "fusion/cluster.py",
        "sum(root.reduces and stage > 0 for root",
        "sum(root.reduces for root",
        "sums of one array take a launch more",
        _ids("cuts", "reductions_that_need_no_others_are_not_cut"),
    ),
    Mutation(
        "late-for-what-others-overwrite",
        "fusion/cluster.py",
        "for v, (c, _) in self.writes.items() if c is chain}",
        "for v, (c, _) in self.writes.items()}",
        "an update waits for reads of another array",
        _ids("late", "an_array_that_is_only_read_where_it_is_written_does_not_wait"),
    ),
    Mutation(
        "read-from-the-other-part",
        "cpu_fallback/chosen.py",
        'text = f"{names.value(test)} ? {source} : {text}"',
        'text = f"{names.value(test)} ? {text} : {source}"',
        "a run of a choice is read from where the other part lies",
        _ids("chosen", "elements_are_chosen_where_they_are_read[c-on_a_ring-float64]"),
    ),
    Mutation(
        "picked-however-it-is-walked",
        "cpu_fallback/chosen.py",
        "and len({step for _, step in among}) == 1",
        "",
        "what stands still at an edge is walked as what lies inside is",
        _ids("chosen", "elements_are_chosen_where_they_are_read[c-edged_widely-float64]"),
    ),
    Mutation(
        "everywhere-inside",
        "cpu_fallback/interiors.py",
        "made[test] = None",
        "made.setdefault(test) if not made else None",
        "a run is taken for one inside if it is inside along one axis",
        _ids("chosen", "elements_are_chosen_where_they_are_read[c-curvature-float64]"),
    ),
    Mutation(
        "read-before-it-is-written",
        "fusion/placed.py",
        "are_disjoint(reader.map, reader.shape, u.map, u.operands[1].shape) for u in updates",
        "True for u in updates",
        "what was read between two writes is read when both are done",
        _ids("placed", "parts_are_written_to_their_places[c-read_between]"),
    ),
    Mutation(
        "narrow-operations-cost-as-wide-ones",
        "fusion/cost.py",
        "return op_cost(node) * min(1.0, max(widest, machine.narrowest) / _UNIT_BYTES)",
        "return float(op_cost(node))",
        "bools are stored that are computed again more cheaply",
        _ids("chosen", "narrow_elements_are_computed_again"),
    ),
    Mutation(
        "edges-that-meet",
        "fusion/dependences.py",
        "if mine and its and (mine[1] <= its[0] or its[1] <= mine[0]):",
        "if mine and its:",
        "columns that are the same are taken for others",
        _ids("together", "kernels_share_a_launch[c-one_needs_another]"),
    ),
    Mutation(
        "numbers-are-read-back",
        "fusion/read_back.py",
        "if value.size == 1:",
        "if value.size == 0:",
        "each of a recurrence's numbers is a kernel, which reads the last one from memory",
        _ids("chosen", "elements_are_chosen_where_they_are_read[c-recurrence-float64]"),
    ),
    Mutation(
        "a-scatter-in-a-choice",
        "fusion/placed.py",
        'if value.op == "library" or value.size == 0:',
        "if value.size == 0:",
        "what is scattered into a row of a copy is stored, copied and chosen",
        ("tests/fusion/test_scatters.py::test_chains[apart]",),
    ),
    Mutation(
        "zeros-chosen-for-elements",
        "cpu_fallback/emit_runs.py",
        """        for load in tests.chosen:
            self.w.lines(chosen.declared(load, self.variant.steps or ()))
        for form, guards in tests.guards.items():
""",
        """        for form, guards in [*tests.guards.items(), (-1, ())]:
            if form < 0:
                for load in tests.chosen:
                    self.w.lines(chosen.declared(load, self.variant.steps or ()))
                break
""",
        "a choice is made among addresses of which some were led to zeros for others",
        _ids("chosen", "elements_are_chosen_where_they_are_read[c-ends_of_a_ring-float64]"),
    ),
    Mutation(
        "read-outside-of-a-choice",
        "cpu_fallback/chosen.py",
        "ir.ChosenLoad(s.out, s.dtype, s.tests, sources, tested[s.tests[0]])",
        "ir.ChosenLoad(s.out, s.dtype, s.tests, sources)",
        "where none of what is chosen from has a place, elements outside of the last are read",
        _ids("chosen", "nothing_is_read_outside_of_what_is_chosen_from"),
    ),
    Mutation(
        "rows-of-blocks-are-stored",
        "fusion/placed.py",
        'inner = _parts(part) if part.op == "concatenate" else [(part, [0] * len(part.shape))]',
        "inner = [(part, [0] * len(part.shape))]",
        "a row of blocks is stored, and chosen from",
        _ids("placed", "parts_are_written_to_their_places[c-blocks]"),
    ),
    Mutation(
        "what-is-seen-between-is-edged",
        "fusion/placed.py",
        "alone = kept or (used[old] == [node] and old not in outputs)",
        "alone = True",
        "edges are chosen of what is a result without them, too",
        _ids("placed", "parts_are_written_to_their_places[c-edged_between]"),
    ),
    Mutation(
        "edges-in-the-wrong-part",
        "fusion/placed.py",
        "max(begin - first, 0), min(end, last) - first)",
        "max(begin, 0), min(end, last))",
        "of what slices make up already the wrong elements are taken",
        _ids("placed", "parts_are_written_to_their_places[c-edges_of_numbers]"),
    ),
    Mutation(
        "parts-counted-as-computed-again",
        "fusion/roots.py",
        "most = _MOST_AGAIN if again > 1 else MAX_STATEMENTS",
        "most = _MOST_AGAIN",
        "what is taken apart, each element once, is stored as if it were computed again",
        _ids("cuts", "parts_at_many_places_are_computed_once"),
    ),
    Mutation(
        "places-stored-for-two-kernels",
        "fusion/planner.py",
        "if shared and not self._is_slight(node) and self._costs_more(node, places):",
        "if shared and self._costs_more(node, places):",
        "the number of each column is stored as a float, in a launch of its own",
        _ids("cuts", "numbers_of_places_are_never_stored"),
    ),
)
