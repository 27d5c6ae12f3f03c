"""Planted bugs in choices by place and in edges: what is rolled, padded, copied, partly written."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

CHOICES = (
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
        "cpu_fallback/emit.py",
        """        self.w.lines([chosen.declared(load) for load in tests.chosen])
        for form, guards in tests.guards.items():
""",
        """        for form, guards in [*tests.guards.items(), (-1, ())]:
            if form < 0:
                self.w.lines([chosen.declared(load) for load in tests.chosen])
                break
""",
        "a choice is made among addresses of which some were led to zeros for others",
        _ids("chosen", "elements_are_chosen_where_they_are_read[c-ends_of_a_ring-float64]"),
    ),
)
