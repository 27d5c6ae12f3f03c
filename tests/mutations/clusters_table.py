"""Planted bugs of what blocks of a launch share, and of what is rounded by itself on a device."""

from __future__ import annotations

from .mutation import Mutation, ids

_KEPT, _COLUMNS, _LAUNCH = "emit_cuda/kept_rows.py", "emit_cuda/columns.py", "emit_cuda/launch.py"
_CUH, _CHOICE = "emit_cuda/cluster.cuh", "emit_cuda/choice.py"

_ROWS = ids("cuda_shapes", "rows_kept_in_shared_memory[centred-f4-8]")
_OUTER = ids("cuda_shapes", "rows_of_clusters_are_reduced_over")
_BY_COLUMNS = ids("cuda_columns", "columns_kept_by_clusters[forward-f4]")
_SHARED_PLACES = ids("cuda_shapes", "rows_kept_in_registers_and_shared_memory")

CLUSTERS = (
    Mutation(
        "cluster-ends-before-it-is-read",
        _KEPT,
        'self.w.line("fc_cluster_wait();  // what this block has told has been read by all")',
        "pass",
        "a block ends while others read what its chunks come to",
        _ROWS,
    ),
    Mutation(
        "cluster-of-its-own-chunks",
        _CUH,
        "const int rank = BLOCKS == 1 ? 0 : k / own;",
        "const int rank = 0;",
        "chunks of other blocks are looked for behind those of the first",
        _ROWS,
    ),
    Mutation(
        "cluster-told-in-the-wrong-place",
        _CUH,
        "told + (k - rank * own);",
        "told + k;",
        "what a block's chunks come to is read behind them",
        _ROWS,
    ),
    Mutation(
        "cluster-does-not-meet",
        _CUH,
        "        fc_cluster_arrive();\n        fc_cluster_wait();",
        "        __syncthreads();",
        "blocks read what others have not told yet",
        _ROWS,
    ),
    Mutation(
        "cluster-kept-behind",
        _KEPT,
        'place = f"at - begin{place[2:]}"',
        "pass",
        "a block keeps its part of a row where the row has it",
        _ROWS,
    ),
    Mutation(
        "cluster-that-ends-rows-twice",
        _KEPT,
        'self.w.line(f"if (blockIdx.x % {self.blocks}) return;")',
        "pass",
        "each block of a cluster counts itself where rows are reduced over",
        _OUTER,
    ),
    Mutation(
        "cluster-told-without-room",
        _CHOICE,
        "end += -(-kept.own(length) * across * _partial_bytes(reduce) // 16) * 16",
        "pass",
        "what two reductions come to has one place",
        _BY_COLUMNS,
    ),
    Mutation(
        "cluster-shares-a-launch",
        "emit_cuda/variant.py",
        "return 32 * SHARED_WARPS, 1, self.variant.blocks",
        "return 32 * SHARED_WARPS, 1, 1",
        "clusters are some blocks of a larger grid, whose clusters are others",
        ids("cuda_together", "clusters_share_launches"),
    ),
    Mutation(
        "columns-of-a-cluster-kept-behind",
        _COLUMNS,
        'begin = f"(position - from{number})" if self.is_cluster else "position"',
        'begin = "position"',
        "a block keeps its part of a column where the column has it",
        _BY_COLUMNS,
    ),
    Mutation(
        "columns-of-a-cluster-ended-twice",
        _COLUMNS,
        'self.w.line("if (part) return;")',
        "pass",
        "each block of a cluster counts itself where columns are reduced over",
        _BY_COLUMNS,
    ),
    Mutation(
        "columns-told-by-chunks-of-others",
        "emit_cuda/columns.cuh",
        "(k - rank * own) * (int)blockDim.x + threadIdx.x",
        "(k - rank * own) * (int)blockDim.x",
        "all columns have the total of the first",
        _BY_COLUMNS,
    ),
    Mutation(
        "few-columns-taken-for-rows",
        "fusion/verdict.py",
        "fits = length * across * item <= machine.row_bytes",
        "fits = length * item <= machine.row_bytes",
        "two blocks pass over long columns, and the rest of the device idles",
        ids("cuda_shapes", "few_long_columns_are_worked_on_by_the_whole_device"),
    ),
    Mutation(
        "cuda-restrict-of-what-is-written",
        "emit_cuda/emit.py",
        'restrict = "" if form in self.variant.aliased else "__restrict__ "',
        'restrict = "__restrict__ "',
        "what a kernel overwrites is read by way of a cache that knows nothing of writes",
        ids("cuda_shapes", "in_place_updates"),
    ),
    Mutation(
        "lanes-of-short-scans-not-counted",
        _LAUNCH,
        "threads = max(self._lanes() if is_short else 1,",
        "threads = max(1,",
        "the lanes of many short rows are numbered in 32 bits",
        ids("cuda_scans", "many_short_rows_have_more_lanes_than_elements"),
    ),
    Mutation(
        "cuda-complex-product-contracted",
        "emit_cuda/complex.cuh",
        "return __dmul_rn(a, b);",
        "return a * b;",
        "NVRTC makes a fused multiply-add of half a complex product",
        ids("cuda_rounding", "exact_operations_are_not_contracted"),
    ),
    Mutation(
        "cuda-remainder-rounded-twice",
        "emit_cuda/math.cuh",
        "return fma##f(-floor##f(a / b), b, a);",
        "return a - floor##f(a / b) * b;",
        "a remainder has other bits where nothing is contracted",
        ids("cuda_rounding", "kernels_of_remainders[f4]"),
    ),
)
