"""Planted bugs around late stores: how long they wait, where, and what is read back."""

from __future__ import annotations

from .mutation import Mutation, ids

_EMIT = "cpu_fallback/emit_late.py"
_TILES, _HALOS = "emit_cuda/late.py", "emit_cuda/halos.py"
_CUDA = ids("cuda_late", "one_launch[heat-shape0-reverse]", "one_launch[box-shape5-forward]")
_ALONE = ids("fusion/late", "one_launch[upwind-1-1]", "one_launch[heat-2-1]")
_THREADS = ids("fusion/late", "one_launch[heat-2-3]", "one_launch[upwind-2-8]")

LATE = (
    Mutation(
        "late-for-those-ahead",
        "fusion/waiting.py",
        "behind, ahead = max(behind, -apart), max(ahead, apart)",
        "behind, ahead = max(behind, apart), max(ahead, -apart)",
        "an element waits for those that read it before, not behind",
        _ALONE,
    ),
    Mutation(
        "late-for-nobody",
        "fusion/waiting.py",
        "place.buffer == home.buffer",
        "place is home",
        "elements do not wait for reads of the same memory",
        _ALONE,
    ),
    Mutation(
        "late-ends-at-once",
        _EMIT,
        "fc_max(last - behind, head) : last",
        "last : last",
        "a part writes its last elements before the next one has read them",
        _THREADS,
    ),
    Mutation(
        "late-ring-overrun",
        _EMIT,
        '"fc_min(room - (at - done), room - (at & (room - 1)))"',
        '"room - (at & (room - 1))"',
        "what waits is overwritten in the ring",
        ids("fusion/late", "one_launch[box-3-1]", "one_launch[downwind-1-1]", "random_updates"),
    ),
    Mutation(
        "late-in-rows",
        "fusion/verdict.py",
        "if cluster.late and (domain(root) != cluster.shape or root.op in _NOT_LATE):",
        "if cluster.late and domain(root) != cluster.shape:",
        "a reduction joins a kernel whose stores wait",
        ids("fusion/late", "a_reduction_behind_an_update"),
    ),
    Mutation(
        "read-back-by-all",
        "fusion/read_back.py",
        "if user is not update and waits[user] & own[update]:",
        "if user is not update:",
        "a value is read back by what comes before it is written",
        ids("fusion/late", "reading_back_changes_no_value", "what_is_written_is_read_back"),
    ),
    Mutation(
        "late-tiles-do-not-meet",
        _TILES,
        'w.line("__syncthreads();  // the tile, and what is around it, has been read")',
        'w.line("// the tile, and what is around it, has been read")',
        "a thread writes what others of its block have yet to read",
        _CUDA,
    ),
    Mutation(
        "late-tiles-have-no-edges",
        _HALOS,
        "found = [max(h, abs(by)) for h, by in zip(found, apart, strict=True)]",
        "found = [max(h, by) for h, by in zip(found, apart, strict=True)]",
        "what is read from behind is written before other tiles have read it",
        ids("cuda_late", "one_launch[upwind-shape1-forward]", "random_updates"),
    ),
    Mutation(
        "late-tiles-too-few-readers",
        "emit_cuda/late.cuh",
        "return last - first + 1;",
        "return last - first;",
        "a tile's edges are written before its last reader has come",
        _CUDA,
    ),
    Mutation(
        "late-edge-of-another",
        _TILES,
        'w.line(f"if (c_{a} >= {halo}) c_{a} += {inner};")',
        'w.line(f"if (c_{a} > {halo}) c_{a} += {inner};")',
        "an edge that lies behind the inside is taken for the inside's first",
        _CUDA,
    ),
    Mutation(
        "late-more-than-there-is-room",
        "fusion/verdict.py",
        "    if cluster.late and _late_bytes(cluster, root) > cluster.machine.late_bytes:",
        "    if cluster.late and not cluster.machine.late_bytes:",
        "more arrays wait than shared memory has room for",
        ids("cuda_late", "what_cannot_wait[1]"),
    ),
)
