"""Planted bugs around scatters, and the looks and counts that come before them."""

from __future__ import annotations

from .mutation import Mutation, ids

_PLACE, _LOOPS = "cpu_fallback/place.py", "cpu_fallback/emit_loop.py"
_FUSION, _USERS = "fusion/scatters.py", "capture/arrays/scatters.py"
_BITS = ids("fusion/scatters", "bits[float64]")

SCATTERS = (
    Mutation(
        "scatter-in-the-order-of-memory",
        "fusion/walk.py",
        'if kernel.kind == "loop" and not kernel.is_ordered:',
        'if kernel.kind == "loop":',
        "elements are scattered in the order in which their values lie",
        ids("fusion/scatters", "the_last_value_stays"),
    ),
    Mutation(
        "scatter-as-numpy-iterates",
        "graph/library.py",
        "[module.ascontiguousarray(i) for i in indices]",
        "list(indices)",
        "the interpreter scatters in the order in which indices lie",
        ids("fusion/scatters", "the_last_value_stays"),
    ),
    Mutation(
        "scatter-indices-not-wrapped",
        _PLACE,
        "{value} < 0 ? {value} + {n} : {value};",
        "{value};",
        "negative indices do not count from the end",
        _BITS,
    ),
    Mutation(
        "scatter-writes-before-all-is-checked",
        _LOOPS,
        'self.w.line("if (a->status[0]) return;")',
        'self.w.line("")',
        "an argument is written to though an index is out of bounds",
        ids("fusion/scatters", "nothing_is_written_if_an_index_is_out_of_bounds"),
    ),
    Mutation(
        "scatter-checks-no-index",
        _LOOPS,
        '*lines, element.failed(statement.site, f"!({inside})")',
        '*lines, f"(void)({inside});"',
        "indices are looked at when the elements before them have been written",
        ids("fusion/scatters", "nothing_is_written_if_an_index_is_out_of_bounds"),
    ),
    Mutation(
        "scatter-in-another-region",
        "fusion/lowering.py",
        "root.dtype, root.scatter.map)",
        "root.dtype, axis_map([(0, 1, a) for a, _ in enumerate(root.shape)], len(root.shape)))",
        "a scatter in a part of an array goes to its beginning",
        ids("fusion/scatters", "regions[contiguous]", "regions_of_arguments[a part]"),
    ),
    Mutation(
        "scatter-over-what-it-reads",
        "fusion/overwriting.py",
        "if place.exact and same and",
        "if same and",
        "a scatter whose value is what it overwrites reads what it has written",
        ids("fusion/scatters", "chains[rows of itself]"),
    ),
    Mutation(
        "scatters-joined-where-they-meet",
        "fusion/verdict.py",
        "if not all(other.is_beside(place.at, place.over, root) for other in chain.places):",
        "if not all(place and other for other in chain.places):",
        "two scatters into places that meet are one kernel",
        ids("fusion/scatters", "chains[a column and a row]"),
    ),
    Mutation(
        "scatter-past-a-write",
        _FUSION,
        'if old.op != "update" or not are_disjoint(old.map, domain(old), node.map, part.shape):',
        'if old.op != "update":',
        "a scatter on elements as they were goes to those that have been changed",
        ids("fusion/scatters", "chains[elements as they were]"),
    ),
    Mutation(
        "scatter-into-a-part-that-is-seen",
        _FUSION,
        "if used[inner] == [node] and inner not in outputs:",
        "if inner not in outputs:",
        "a part that is written back, and read, is computed twice",
        ids("fusion/scatters", "a_region_is_written_to_in_the_array"),
    ),
    Mutation(
        "bounds-without-wrap-around",
        "graph/bounds.py",
        "if found is None or found[0] < own[0] or found[1] > own[1]:",
        "if found is None:",
        "bounds forget that integers wrap around",
        ids("bounds", "values_are_within_their_bounds"),
    ),
    Mutation(
        "errors-of-indices-not-caught",
        _USERS,
        "if recorder.transparent and not recorder.catches:",
        "if recorder.transparent:",
        "a function that handles an error of an index does not get NumPy's",
        ids("arrays/scatter_errors", "errors[too large]"),
    ),
    Mutation(
        "errors-not-suppressed",
        "capture/calls/scan.py",
        'sum(i.opname == "WITH_EXCEPT_START" for i in instructions)',
        "0 * len(instructions)",
        "an error that a with statement swallows is raised later",
        ids("arrays/scatter_errors", "errors_that_a_with_statement_swallows"),
    ),
    Mutation(
        "scattered-values-with-axes-in-place",
        _USERS,
        "    if not lead:\n",
        "    if lead >= 0:\n",
        "values for columns are taken for those of rows",
        ids("arrays/scatters", "fused_functions[c-written]"),
    ),
    Mutation(
        "scatter-before-the-look",
        _USERS,
        "    if not all(reaches(found[a], array.shape[a]) for a in indexed):\n"
        "        return False\n",
        "",
        "indices are not looked at: the error comes late, and without NumPy's text",
        ids("arrays/scatter_errors", "errors[too small]"),
    ),
)
