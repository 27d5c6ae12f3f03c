"""Planted bugs of kernels that reduce rows along and across."""

from __future__ import annotations

from .mutation import Mutation, ids

_BITS = ids("fusion/crossed", "bits[float64-1-many]")

CROSSED = (
    Mutation(
        "lanes-joined-in-the-order-of-rows",
        "codegen/reduce.h",
        "{0, 16, 8, 24, 4, 20,",
        "{0, 8, 16, 24, 4, 20,",
        "across rows, lanes are combined in another order than along them",
        ids("fusion/crossed", "bits[float64-1-one]"),
    ),
    Mutation(
        "rows-of-the-next-chunk",
        "cpu_fallback/emit_crossed.py",
        "behind = fc_min(rows, chunk + FC_CHUNK);",
        "behind = rows;",
        "rows behind a chunk are reduced with it, and once more",
        _BITS,
    ),
    Mutation(
        "parts-of-a-chunk-left-apart",
        "codegen/reduce.h",
        "for (int64_t w = parts / 2; w; w /= 2)",
        "for (int64_t w = 0; w; w /= 2)",
        "what the lanes of all but the first part of a chunk have is lost",
        _BITS,
    ),
    Mutation(
        "turned-below-what-elements-read",
        "fusion/verdict.py",
        "if OUTER in cluster.roles.values() or not rows.isdisjoint(inside):",
        "if OUTER in cluster.roles.values():",
        "the mean of a column is to be known before its last row is read",
        ids("fusion/crossed", "launches_and_values[contiguous-centered]"),
    ),
    Mutation(
        "short-rows-wait-where-others-do",
        "cpu_fallback/emit_crossed.py",
        "position * FC_PITCH + row - chunk",
        "position * FC_PITCH + first",
        "the values of all chunks but the first wait where others' do",
        ids("fusion/crossed", "bits_of_short_rows[float64-1]"),
    ),
    Mutation(
        "lanes-of-short-rows-by-halves-too-small",
        "cpu_fallback/emit_short.py",
        "self.fold_lanes(r, length)",
        'self.fold_lanes(r, f"{length} / 2")',
        "the second half of a short row is not summed",
        ids("fusion/crossed", "bits_of_short_rows[float64-1]"),
    ),
    Mutation(
        "places-across-rows",
        "fusion/verdict.py",
        "not cluster.late and not _finds_place(root)",
        "not cluster.late",
        "where a column is largest is told by no row",
        ids("fusion/crossed", "launches_and_values_of_short_rows[places_behind]"),
    ),
    Mutation(
        "places-turned-below-rows",
        "fusion/verdict.py",
        "if any(map(_finds_place, rows)):",
        "if False:",
        "the same of what a kernel reduces first",
        ids("fusion/crossed", "launches_and_values_of_short_rows[places_across]"),
    ),
    Mutation(
        "unit-axes-counted-as-rows",
        "graph/passes.py",
        "if outer in node.reduction.axes]",
        "if a in node.reduction.axes]",
        "a reduction goes along other axes when one of extent one is dropped before them",
        ids("graph/passes", "reductions_drop_unit_axes"),
    ),
)
