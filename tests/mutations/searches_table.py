"""Planted bugs around searches: how many elements of a sorted array are before a value."""

from __future__ import annotations

from .mutation import Mutation, ids

_USERS = "capture/arrays/searching.py"
_BITS = ids("fusion/searches", "bits[float64]")

SEARCHES = (
    Mutation(
        "search-of-nan-finds-the-first-place",
        "codegen/search.h",
        "(!((a) >= (v)) & ((a) == (a)))",
        "((a) < (v))",
        "NaN is not behind the numbers of the array",
        _BITS,
    ),
    Mutation(
        "search-of-nan-in-a-run-finds-the-first-place",
        "cpu_fallback/search.h",
        "? of_nan : (found)[k]",
        "? 0 : (found)[k]",
        "NaN in a run is not behind the numbers of the array",
        _BITS,
    ),
    Mutation(
        "search-leaves-a-few",
        "cpu_fallback/search.h",
        "for (; past < run; ++past) {",
        "for (; past + 1 < run; ++past) {",
        "the last value of a run is not looked for where the array is long",
        _BITS,
    ),
    Mutation(
        "search-in-zeros",
        "cpu_fallback/index_tests.py",
        "isinstance(s, ir.Load | ir.LookUp | ir.Store)",
        "isinstance(s, ir.Load | ir.Gather | ir.Store)",
        "the array is not read where an element of it is guarded",
        ids("fusion/searches", "the_table_is_read_behind_no_guard"),
    ),
    Mutation(
        "search-in-what-is-overwritten",
        "fusion/cone.py",
        "if not is_read and structure_of(demand[0]).looks_up:",
        'if not is_read and demand[0].op == "gather":',
        "the array that is searched is overwritten meanwhile",
        ids("fusion/searches", "a_table_that_is_overwritten"),
    ),
    Mutation(
        "an-index-one-too-many",
        "graph/bounds.py",
        "known[1] >= extent",
        "known[1] > extent",
        "an index that may be one too many is not tested",
        ids("fusion/searches", "indices_that_are_known_to_lead_to_elements_are_not_tested"),
    ),
    Mutation(
        "digitize-on-the-other-side",
        _USERS,
        'side = "left" if seen(right) else "right"',
        'side = "right" if seen(right) else "left"',
        "a value on an edge is in the bin on the other side",
        ids("capture/arrays/searching", "edges_that_change_their_order"),
    ),
    Mutation(
        "interp-at-a-point",
        _USERS,
        '        found = build.where(_test("equal", x, x0), y0, found)\n',
        "",
        "the value at a point is that of a line, which may be no number",
        ids("capture/arrays/searching", "lines_between_numbers_without_end"),
    ),
    Mutation(
        "interp-from-one-end",
        _USERS,
        'found = build.where(_test("not_equal", one, one), other, one)',
        "found = one",
        "a line that is no number from one end is not taken from the other",
        ids("capture/arrays/searching", "lines_between_numbers_without_end"),
    ),
)
