"""Planted bugs around segments: reductions of part of a row."""

from __future__ import annotations

from .mutation import Mutation, ids

_USERS = "capture/arrays/segments.py"
_EMIT, _WARPS = "cpu_fallback/emit_reduction.py", "emit_cuda/rows.py"
_AROUND = ids("fusion/segments", "what_is_before_and_after_shares_the_kernel[shape0-0-7]")

SEGMENTS = (
    Mutation(
        "segment-from-the-first-element",
        _EMIT,
        'return position if self.kernel.segment is None else f"segment + {position}"',
        "return position",
        "a kernel in C takes the first elements of the row for those of each segment",
        _AROUND,
    ),
    Mutation(
        "segment-of-a-warp-from-the-first-element",
        "emit_cuda/reductions.py",
        'return position if self.kernel.segment is None else f"(segment + {position})"',
        "return position",
        "a kernel in CUDA C takes the first elements of the row for those of each segment",
        _AROUND,
    ),
    Mutation(
        "segment-out-of-bounds-is-read",
        _EMIT,
        "{first} >= 0 && {first} < {last} && {last} <= length;",
        "{first} < {last} && {last} <= length;",
        "a segment that begins before the first element is reduced",
        ids("fusion/segments", "segments_out_of_bounds[shape0--1-2]"),
    ),
    Mutation(
        "segment-of-a-warp-out-of-bounds-is-read",
        "emit_cuda/reductions.py",
        "{first} < {last} && {last} <= {length};",
        "{first} < {last};",
        "a segment that ends behind the last element is reduced on a device",
        ids("fusion/segments", "segments_out_of_bounds[shape0-0-11]"),
    ),
    Mutation(
        "segment-of-the-first-column",
        "fusion/variants.py",
        "return kernel.segment is None or not any(rows.strides[f][-1] for f in forms)",
        "return True",
        "neighbouring rows of different segments stand side by side",
        ids("fusion/segments", "bits[int16]"),
    ),
    Mutation(
        "segment-sum-from-zero",
        "fusion/lowering.py",
        "from_zero=whole",
        "from_zero=True",
        "a segment of negative zeros is +0.0",
        ids("fusion/segments", "zeros_keep_their_sign"),
    ),
    Mutation(
        "segment-beside-whole-rows",
        "fusion/verdict.py",
        '    if over == cluster.shape and cluster.segments is not None:\n        return ""\n',
        "",
        "a kernel of segments computes them for what needs whole rows",
        ids("fusion/segments", "what_has_the_same_extents_stays_apart"),
    ),
    Mutation(
        "segments-taken-for-each-other",
        "fusion/verdict.py",
        "same = over == cluster.shape and segments_of(root) == cluster.segments",
        "same = over == cluster.shape and cluster.segments is not None",
        "segments are reduced between the ends of other ones",
        ids("fusion/segments", "reductions_of_the_same_segments_share_a_kernel"),
    ),
    Mutation(
        "segment-of-more-chunks-than-a-warp-keeps",
        "emit_cuda/launch.py",
        "if self.length > MOST_CHUNKS * CHUNK:",
        "if self.length > MOST_CHUNKS * CHUNK * CHUNK:",
        "a warp has no room for the chunks of a long segment",
        ids("fusion/segments", "skeletons_on_a_device"),
    ),
    Mutation(
        "segment-up-to-the-next-in-any-case",
        _USERS,
        'build.elementwise("maximum", [following, after], INT64)',
        "following if after else first",
        "an index that is not below the next gives no element",
        ids("arrays/segments", "lowered_functions[totals]"),
    ),
)
