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
)
