"""Planted bugs around compactions: runs and counts, what is picked together, and results."""

from __future__ import annotations

from .mutation import Mutation, ids

_CUH, _CUDA = "emit_cuda/compaction.cuh", "emit_cuda/compactions.py"
_TILES = ids("cuda_compactions", "tiles[reverse]")
_EMIT, _USERS = "cpu_fallback/emit_compaction.py", "capture/arrays/picks.py"
_THREADS = ids("fusion/compactions", "threads[2]", "threads[8]")

COMPACTIONS = (
    Mutation(
        "compaction-runs-stay-apart",
        _EMIT,
        'self.w.line(f"memmove({places}, {size});")',
        'self.w.line(f"(void)({places}, {size});")',
        "what the second thread picks stays where its run begins",
        _THREADS,
    ),
    Mutation(
        "compaction-of-another-mask",
        "fusion/verdict.py",
        "if _mask_of(first) is not _mask_of(root):",
        "if (_mask_of(first) is None) != (_mask_of(root) is None):",
        "a kernel with two masks counts what one of them picks",
        ids("fusion/compactions", "two_masks_one_launch"),
    ),
    Mutation(
        "compaction-rows-of-the-first-block",
        _EMIT,
        'last: f"({index[last]} + {number})"',
        'last: f"({number})"',
        "the rows picked are those of the first block",
        _THREADS,
    ),
    Mutation(
        "compaction-rows-that-may-fail",
        _EMIT,
        'if any(getattr(s, "site", -1) >= 0 for s in every):',
        "if not every:",
        "an index out of bounds in a row that is not picked is no error",
        ids("fusion/compactions", "errors_of_rows_that_are_not_picked"),
    ),
    Mutation(
        "compaction-keeps-all-memory",
        "codegen/kept_rows.py",
        "_KEPT_SHARE * count >= rows",
        "count >= 0",
        "a few elements keep the memory of all",
        ids("fusion/compactions", "memory"),
    ),
    Mutation(
        "compaction-in-the-order-of-memory",
        "fusion/kernel_ir.py",
        "return any(isinstance(s, Scatter | Compact) for stage in self.stages for s in stage.body)",
        "return any(isinstance(s, Scatter) for stage in self.stages for s in stage.body)",
        "elements are picked in the order in which they lie",
        ids("fusion/compactions", "bits[float64]"),
    ),
    Mutation(
        "picks-one-at-a-time",
        "capture/calls/results.py",
        "part.pick = part.pick.begun()",
        "part.is_loose",
        "each result that a mask picks has a launch of its own",
        ids("arrays/compactions", "one_launch[picked_and_placed]"),
    ),
    Mutation(
        "picks-are-computed-whole",
        _USERS,
        "return other.whole.is_own and other.whole.array.storage.pending",
        "return False",
        "of a pick that waits all of the array is computed",
        ids("arrays/compactions", "what_is_picked_elsewhere_is_not_computed_whole"),
    ),
    Mutation(
        "indices-one-axis-at-a-time",
        _USERS,
        "return type(self.whole) is Index and self.mask is other.mask",
        "return False",
        "the mask is computed for each axis of the indices",
        ids("arrays/compactions", "indices_of_one_mask"),
    ),
    Mutation(
        "cuda-compaction-looks-back-once",
        _CUH,
        "if (ends) break;",
        "break;",
        "a tile adds up what the 32 before it have picked",
        ids("cuda_compactions", "looking_back"),
    ),
    Mutation(
        "cuda-compaction-remembers",
        _CUH,
        "i += FC_TILE_THREADS) states[i] = 0;",
        "i += FC_TILE_THREADS) states[i] = states[i];",
        "the next launch finds the counts of the last one",
        _TILES,
    ),
    Mutation(
        "cuda-compaction-without-the-tile-that-knows",
        _CUH,
        "const bool counts = !ends || lane < __ffs((int)ends);",
        "const bool counts = !ends || lane + 1 < __ffs((int)ends);",
        "what a tile and all before it have picked is left out",
        _TILES,
    ),
    Mutation(
        "cuda-compaction-of-the-first-part",
        _CUDA,
        'w.line(f"const {t} begin = part * {each};")',
        'w.line(f"const {t} begin = 0 * part * {each};")',
        "blocks that share rows all write the first part",
        ids("cuda_compactions", "few_long_rows_are_shared[forward]"),
    ),
    Mutation(
        "cupy-picks-of-another-extent",
        "capture/cupy/trace.py",
        "tuple([len(env[slot]) for slot in slots])",
        "tuple([0 for slot in slots])",
        "a replay goes on with arrays of another extent",
        ids("cupy/cupy_picked", "in_a_function[cpu]"),
    ),
)
