"""Planted bugs of the CUDA emitters, their header, and what binds and fills launches."""

from __future__ import annotations

from .mutation import Mutation, ids

_CUH, _COLUMNS_CUH = "emit_cuda/fusecuda.cuh", "emit_cuda/columns.cuh"
_TREE = "emit_cuda/tree.cuh"
_LOOP, _ROWS, _COLUMNS = "emit_cuda/emit.py", "emit_cuda/rows.py", "emit_cuda/columns.py"
_TILES = "emit_cuda/tiles.py"
_PACKS = "emit_cuda/packs.py"
_LAUNCH, _PROGRAM = "emit_cuda/launch.py", "emit_cuda/program.py"

_UNALIGNED = ids("cuda_shapes", "arguments_that_are_not_aligned")
_LAYOUT = ids("cuda_shapes", "layouts[f4-whole]")
_SPLIT = ids("cuda_shapes", "long_rows_are_split_over_blocks[forward]")
_REVERSE = ids("cuda_shapes", "long_rows_are_split_over_blocks[reverse]")
_TILE = ids("cuda_shapes", "named_programs_move_the_least_bytes[transposed_add]")
_SPLIT_COLUMNS = ids("cuda_survivors", "long_columns_are_split_over_blocks[forward]")
_ONE_ROW = ids("cuda_shapes", "counts[200-1]")

_GROUPS = ids("cuda_kernels", "row_values_are_reduced_in_groups[forward]")
_TURNS = ids("cuda_kernels", "blocks_take_several_rows")
_MANY_PARTS = ids("cuda_kernels", "columns_of_many_parts[forward]")
_SHARED = ids("cuda_shapes", "rows_kept_in_shared_memory")
_CHOICE = "emit_cuda/choice.py"

_ONLINE = ids("cuda_shapes", "long_rows_online")

_BOTH = ids("cuda_shapes", "rows_kept_in_registers_and_shared_memory")
_KEPT = "emit_cuda/kept_rows.py"

LOADS_AND_STORES = (
    Mutation(
        "cuda-clipped-integers",
        "emit_cuda/dialect.py",
        '_SAME = {"equal": "fc_same", "not_equal": "!fc_same"}',
        "_SAME: dict[str, str] = {}",
        "compilers take a clipped integer's equality with its bound for something else",
        ids("emit_cuda/cuda_places", "clipped_integers_are_compared_by_their_bits"),
    ),
    Mutation(
        "cuda-quotients-of-zeros",
        _CUH,
        "if (!fc_is_middling(a) && !(__float_as_uint(a) == 0 && d.by > 0)) odd = true;",
        "if (!fc_is_middling(a) && a != 0) odd = true;",
        "zeros that are divided lose their sign",
        ids("emit_cuda/cuda_quotients", "quotients_of_zeros"),
    ),
    Mutation(
        "cuda-quotients-corrected-once",
        _CUH,
        "return __fmaf_rn(__fmaf_rn(-d.by, second, a), d.reciprocal, second);",
        "return first;",
        "elements are multiplied by the reciprocal of what they are divided by",
        ids("emit_cuda/cuda_quotients", "quotients_of_everyday_numbers[300-f4]"),
    ),
    Mutation(
        "cuda-levels-without-the-others",
        _TREE,
        "if (step >= count) return fc_of_first_lane(p);",
        "if (step >= count) return p;",
        "lanes behind those that meet have nothing",
        ids("cuda_shapes", "rows_of_every_class[centred-f4]"),
    ),
    Mutation(
        "cuda-first-of-nans",
        _TREE,
        "place = (v[e] == best || v[e] != v[e]) ? e : place;",
        "place = v[e] == best ? e : place;",
        "of NaNs in a pack the last one is found",
        ids("emit_cuda/cuda_places", "the_first_of_the_best_is_found[f4]"),
    ),
    Mutation(
        "functions-that-cupy-lacks",
        "emit_cuda/cupy_device.py",
        "and not is_own(node.attr.name):",
        'and node.attr.name != "astype":',
        "what is made of CuPy's operators is refused",
        ids("cpu_fallback/library_calls", "what_is_no_function_of_cupys"),
    ),
    Mutation(
        "streams-that-nobody-keeps",
        "emit_cuda/program.py",
        "found = array, self.device.address(array), self.device.kept_stream()",
        "found = array, self.device.address(array), None",
        "counters outlive the stream of their number",
        ids("emit_cuda/cupy_device", "counters_keep_their_stream"),
    ),
    Mutation(
        "cuda-kept-beside-registers",
        _KEPT,
        "beside = SHARED_WARPS * self.variant.chunks * CHUNK",
        "beside = self.variant.chunks * CHUNK",
        "what shared memory keeps is put behind its end",
        _BOTH,
    ),
    Mutation(
        "cuda-kept-in-too-little",
        _CHOICE,
        "CHUNK * max(0, self.own(length) - beside)",
        "CHUNK * max(0, self.own(length) - beside - 1)",
        "shared memory has no room for the last chunk of each warp",
        _BOTH,
    ),
    Mutation(
        "cuda-online-not-scaled",
        "emit_cuda/online.cuh",
        "return {most, below(a, most) + (v == most ? T(1) : fc_exp(v - most))};",
        "return {most, a.sum + (v == most ? T(1) : fc_exp(v - most))};",
        "a larger maximum leaves the sum below the smaller one as it is",
        _ONLINE,
    ),
    Mutation(
        "cuda-online-unasked",
        _LAUNCH,
        "if contract and chosen_skeleton(",
        "if chosen_skeleton(",
        "sums are rescaled although the user has not freed their order",
        _ONLINE,
    ),
    Mutation(
        "cuda-kept-by-two",
        _KEPT,
        '"at - 3 * lane + 32 * e"',
        '"at + 32 * e"',
        "lanes keep elements of a row in each other's place",
        _SHARED,
    ),
    Mutation(
        "cuda-kept-too-short",
        _CHOICE,
        "if room == size and last.get(owner, first[owner]) < first[slot]:",
        "if room == size:",
        "what a row keeps is overwritten before it is read for the last time",
        _SHARED,
    ),
    Mutation(
        "cuda-kept-of-the-dead",
        _LOOP,
        "if self.variant.kept in (SHARED, BOTH) and any(",
        "if self.variant.kept not in (SHARED, BOTH) and any(",
        "elements behind the end of a row are kept behind the end of shared memory",
        _SHARED,
    ),
    Mutation(
        "cuda-tail-of-a-pack",
        "emit_cuda/loops.py",
        'live = self.remaining(n, "at", self.width)',
        'live = self.remaining(f"{n} + 1", "at", self.width)',
        "the last pack of a loop has one element too many",
        _UNALIGNED,
    ),
    Mutation(
        "cuda-tail-of-a-row",
        _ROWS,
        "take{name}({at}, {self.remaining('here', at, most)}, {kept});",
        "take{name}({at}, {self.remaining('here + 1', at, most)}, {kept});",
        "the last lane of a short row reads one element too many",
        ids("cuda_shapes", "counts[2-1]"),
    ),
    Mutation(
        "cuda-tail-of-a-chunk",
        _ROWS,
        "w.line(f\"take{name}(at, {self.remaining('here', 'at', most)}, {kept} + 4 * s);\")",
        'w.line(f"take{name}(at, {most}, {kept} + 4 * s);")',
        "the last chunk of a row is taken for a whole one",
        _ONE_ROW,
    ),
    Mutation(
        "cuda-store-of-the-dead",
        _CUH,
        "        if (e < live) to[e * STEP] = pack.at[e];",
        "        to[e * STEP] = pack.at[e];",
        "elements behind the end are stored",
        _UNALIGNED,
    ),
    Mutation(
        "cuda-load-of-the-dead",
        _CUH,
        "pack.at[e] = e < live ? from[e * STEP] : T();",
        "pack.at[e] = from[e * STEP];",
        "elements behind the end are loaded",
        _UNALIGNED,
    ),
    Mutation(
        "cuda-element-of-the-dead",
        _LOOP,
        "if not self.harmless(statements) or then:",
        "if then:",
        "elements behind the end are kept, in the places of others",
        ids("cuda_shapes", "rows_kept_in_shared_memory[weights-f4-1]"),
    ),
    Mutation(
        "cuda-alignment-of-rows",
        _PACKS,
        "if any(n % need for n in steps):",
        "if steps[0] % need:",
        "rows that do not start at multiples of 16 bytes are read by 16 bytes",
        _LAYOUT,
    ),
    Mutation(
        "cuda-alignment-of-arguments",
        "emit_cuda/straight.py",
        "if ({ored}) & 15: return",
        "if ({ored}) & 7: return",
        "an argument at an odd multiple of 8 bytes is read by 16 bytes",
        _UNALIGNED,
    ),
    Mutation(
        "cuda-dead-row",
        _ROWS,
        "line = row < rows ? row : 0;  // is safe to read",
        "line = row;  // is safe to read",
        "what belongs to a row is read for rows that do not exist",
        ids("cuda_survivors", "row_values_are_read_for_rows_that_exist"),
    ),
    Mutation(
        "cuda-dead-column",
        _COLUMNS,
        "{name} = here ? column : 0;",
        "{name} = column;",
        "what belongs to a column is read for columns that do not exist",
        ids("cuda_survivors", "row_values_are_read_for_columns_that_exist"),
    ),
    Mutation(
        "cuda-elements-of-a-dead-column",
        _COLUMNS,
        "for (int s = 0; s < 4 && here; ++s)",
        "for (int s = 0; s < 4; ++s)",
        "columns that do not exist are read",
        _LAYOUT,
    ),
    Mutation(
        "cuda-negative-index",
        _CUH,
        "return (I)(rest < 0 ? rest + n : rest);",
        "return (I)rest;",
        "a negative index is not counted from the end",
        ids("cuda_survivors", "indices_wrap_around"),
    ),
    Mutation(
        "cuda-index-out-of-range",
        _CUH,
        "return (I)(rest < 0 ? rest + n : rest);",
        "return (I)(index < 0 ? index + n : index);",
        "an index out of range touches memory outside",
        ids("cuda_survivors", "indices_wrap_around"),
    ),
    Mutation(
        "cuda-narrow-indices",
        _LAUNCH,
        "return max([*spans, *walked_spans(self.kernel, self.walked)]) >= _NARROW",
        "return False",
        "two thousand million elements are counted in 32 bits",
        ids("cuda_survivors", "indices_are_as_wide_as_they_must"),
    ),
)

TREE = (
    Mutation(
        "cuda-fold-of-half-the-lanes",
        _TREE,
        "for (int half = lanes / 2; half; half /= 2) {",
        "for (int half = lanes / 4; half; half /= 2) {",
        "half of the lanes are not folded",
        _ONE_ROW,
    ),
    Mutation(
        "cuda-fold-of-other-rows",
        _TREE,
        "for (int half = lanes / 2; half; half /= 2) {",
        "for (int half = 16; half; half /= 2) {",
        "lanes that belong to other rows are folded in",
        ids("cuda_shapes", "counts[2-31]"),
    ),
    Mutation(
        "cuda-fold-order",
        _TREE,
        "for (int half = lanes / 2; half; half /= 2) {",
        "for (int half = 1; half < lanes; half *= 2) {",
        "neighbouring lanes are folded first, which rounds otherwise",
        _SPLIT,
    ),
    Mutation(
        "cuda-pairwise-order",
        _TREE,
        "for (int step = 1; step < 32; step *= 2) {",
        "for (int step = 16; step; step /= 2) {",
        "chunks far apart are combined first, which rounds otherwise",
        _SPLIT,
    ),
    Mutation(
        "cuda-chunks-in-turn",
        _ROWS,
        'f"(warp * {each} + c)"',
        'f"(warp + c * (int)(blockDim.x / 32))"',
        "a warp takes chunks that are not neighbours",
        ids("cuda_kernels", "blocks_take_several_rows"),
    ),
    Mutation(
        "cuda-lanes-of-a-row",
        _LAUNCH,
        "return min(32, power_of_two(-(-max(self.length, 1) // GROUP)))",
        "return min(32, -(-max(self.length, 1) // GROUP))",
        "lanes that are no power of two are cut down to one, so that a tail is left out",
        _LAYOUT,
    ),
    Mutation(
        "cuda-identity-of-max",
        _TREE,
        "FC_REDUCTION(max, fc_least(T()),",
        "FC_REDUCTION(max, T(),",
        "a maximum starts from zero",
        ids("cuda_survivors", "rows_of_negative_numbers"),
    ),
    Mutation(
        "cuda-least-integer",
        _TREE,
        "return (T)-1 < (T)0 ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;",
        "return (T)-1 < (T)0 ? (T)(1ull << (8 * sizeof(T) - 2)) : (T)0;",
        "a maximum of integers starts from a quarter of their range",
        ids("cuda_survivors", "rows_of_negative_numbers"),
    ),
    Mutation(
        "cuda-argmax-tie",
        _TREE,
        "better | (tied & (a.index < b.index));",
        "better | (tied & (a.index > b.index));",
        "of equal elements the last is the largest",
        ids("cuda_shapes", "rows_of_every_class[statistics-i1]"),
    ),
    Mutation(
        "cuda-sum-of-nothing",
        "codegen/reductions.py",
        'return rounded(reduce.dtype, f"{partial} + 0")',
        "return rounded(reduce.dtype, partial)",
        "a sum of nothing is -0.0",
        ids("cuda_shapes", "counts[0-1]"),
    ),
    Mutation(
        "cuda-column-fold-stride",
        _COLUMNS_CUH,
        "room[k * blockDim.x + threadIdx.x]",
        "room[k + threadIdx.x]",
        "the lanes of a column are folded with its neighbours' lanes",
        _LAYOUT,
    ),
    Mutation(
        "cuda-column-lanes",
        _COLUMNS,
        "at = first + i / 4 * 32 + i % 4;",
        "at = first + i / 4 * 32 + 3 - i % 4;",
        "a lane of a column takes its elements in another order, which rounds otherwise",
        _SPLIT_COLUMNS,
    ),
    Mutation(
        "cuda-contraction",
        "emit_cuda/dialect.py",
        '"subtract": "sub", "multiply": "mul"}',
        '"subtract": "sub"}',
        "products are plain, so that the compiler may fuse them with a sum",
        ids("cuda_survivors", "what_the_user_wrote_apart_is_rounded_apart"),
    ),
)

BLOCKS = (
    Mutation(
        "cuda-barrier-of-a-block",
        _TREE,
        "room[fc_thread() / 32] = p;\n    __syncthreads();",
        "room[fc_thread() / 32] = p;",
        "warps read each other's results before they are written",
        _REVERSE,
    ),
    Mutation(
        "cuda-barrier-of-columns",
        _COLUMNS,
        '(acc{out}[0], acc{out}[1]);")\n        w.line("__syncthreads();")',
        '(acc{out}[0], acc{out}[1]);")',
        "the threads of a column read each other's lanes before they are written",
        _LAYOUT,
    ),
    Mutation(
        "cuda-barrier-of-other-blocks",
        _TREE,
        "if (lane == 0) room[run] = p;\n    }\n    __syncthreads();",
        "if (lane == 0) room[run] = p;\n    }",
        "warps read what others make of the blocks' results before it is written",
        _REVERSE,
    ),
    Mutation(
        "cuda-barrier-between-chunks",
        _COLUMNS,
        'push({folded});")\n        w.line("__syncthreads();")',
        'push({folded});")',
        "a column's lanes are overwritten before they are folded",
        ids("cuda_kernels", "columns_of_many_chunks"),
    ),
    Mutation(
        "cuda-barrier-of-a-column-total",
        _COLUMNS,
        'finish();")\n                w.line("__syncthreads();")',
        'finish();")',
        "a column's total is read before it is there",
        _LAYOUT,
    ),
    Mutation(
        "cuda-last-block",
        _TREE,
        "atomicInc(arrivals, blocks - 1) == blocks - 1;",
        "atomicInc(arrivals, blocks - 1) == blocks - 2;",
        "the last block but one takes itself for the last",
        _SPLIT,
    ),
    Mutation(
        "cuda-counter-left-behind",
        _TREE,
        "atomicInc(arrivals, blocks - 1) == blocks - 1;",
        "atomicInc(arrivals, blocks) == blocks - 1;",
        "the counter of blocks is not zero again for the next launch",
        ids("cuda_survivors", "a_second_call_finds_its_counters_at_zero"),
    ),
    Mutation(
        "cuda-fence-of-the-writer",
        _TREE,
        "    __threadfence();\n    __syncthreads();\n"
        "    if (fc_thread() == 0) {\n        __threadfence();",
        "    __syncthreads();\n    if (fc_thread() == 0) {",
        "a block is counted before others can see its results",
        _SPLIT,
    ),
    Mutation(
        "cuda-partial-of-a-row",
        _ROWS,
        'f"row * {parts} + part"',
        'f"row + part"',
        "the partial results of two rows share a place",
        _SPLIT,
    ),
    Mutation(
        "cuda-partial-of-a-column",
        _COLUMNS_CUH,
        "results[k * step]",
        "results[k]",
        "a column is joined from the parts of its neighbours",
        _SPLIT_COLUMNS,
    ),
    Mutation(
        "cuda-room-for-partials",
        _LAUNCH,
        "16 * max(count, 1)",
        "4 * max(count, 1)",
        "the partial results of two reductions share a place",
        _SPLIT,
    ),
    Mutation(
        "cuda-counter-for-each-row",
        _LAUNCH,
        "self.out.counters += max(counters, 1)",
        "self.out.counters += 1",
        "there is one counter, but each row counts its blocks",
        (*_SPLIT, *_SPLIT_COLUMNS),
    ),
)

TILES = (
    Mutation(
        "cuda-barrier-of-a-tile",
        _TILES,
        'w.line("__syncthreads();")',
        "pass",
        "a tile is read before it is there",
        _TILE,
    ),
    Mutation(
        "cuda-tile-not-turned",
        _TILES,
        'return f"tile{form}[x * {GROUP} + {self.element}][k]"',
        'return f"tile{form}[k][x * {GROUP} + {self.element}]"',
        "a tile is stored as it was read",
        _TILE,
    ),
    Mutation(
        "cuda-edge-of-a-tile",
        _TILES,
        'live = self.remaining(m, f"i_{right}", most)',
        "live = str(most)",
        "a tile at the edge is taken for a whole one",
        _TILE,
    ),
    Mutation(
        "cuda-whole-packs-of-a-tile",
        _PACKS,
        "for n in (walked.offsets[f], *strides[:-2], strides[-1])):",
        "for n in (walked.offsets[f], *strides[:-2])):",
        "what lies transposed in odd lines is read by 16 bytes",
        ids("cuda_packs", "tiles_of_any_size[f4]"),
    ),
)

KERNELS = (
    Mutation(
        "cuda-group-of-other-rows",
        _LAUNCH,
        '"group_rows": each * CHUNK}',
        '"group_rows": each * CHUNK // 2}',
        "the last block of a group reduces over half of its rows",
        _GROUPS,
    ),
    Mutation(
        "cuda-groups-that-meet",
        "emit_cuda/reductions.py",
        "fc_last_block({finished} + {groups}, (unsigned){groups})",
        "fc_last_block({finished} + {groups}, 1)",
        "each group takes itself for the last",
        _GROUPS,
    ),
    Mutation(
        "cuda-turn-of-a-block",
        _ROWS,
        "({block} * {self.integer('turns')} + turn)",
        "({block} + turn)",
        "blocks take rows of others",
        _TURNS,
    ),
    Mutation(
        "cuda-barrier-between-turns",
        _ROWS,
        'self.w.line("__syncthreads();  // before the next row takes the shared memory")',
        "pass",
        "a block's next row overwrites what its warps still read of the last",
        _TURNS,
    ),
    Mutation(
        "cuda-argmax-later-tie",
        _TREE,
        "LARGEST ? v <= a.value : v >= a.value",
        "LARGEST ? v < a.value : v > a.value",
        "of equal elements of a lane the last is the largest",
        ids("cuda_kernels", "of_equal_elements_the_first_is_found"),
    ),
    Mutation(
        "cuda-parts-of-a-thread",
        _COLUMNS_CUH,
        "while (each * (int)blockDim.y < count) each *= 2;",
        "while (each * (int)blockDim.y < count) each += 1;",
        "a thread joins parts that are no subtree, which rounds otherwise",
        _MANY_PARTS,
    ),
    Mutation(
        "cuda-barrier-of-parts",
        _COLUMNS_CUH,
        "room[fc_thread()] = stack.finish();\n    __syncthreads();",
        "room[fc_thread()] = stack.finish();",
        "a column's parts are joined before they are there",
        _MANY_PARTS,
    ),
    Mutation(
        "cuda-levels-of-a-column",
        _LAUNCH,
        "LEVELS[each >= 1 << LEVELS[0]]",
        "LEVELS[0]",
        "a thread has no room for the chunks of a long column",
        ids("cuda_kernels", "columns_of_many_chunks"),
    ),
    Mutation(
        "cuda-head-of-a-line",
        "emit_cuda/loops.py",
        "{pack} * {width} - {width} + ",
        "{pack} * {width} + ",
        "the second pack of a line begins too late",
        ids("cuda_kernels", "a_loop_begins_where_it_writes_whole_packs"),
    ),
    Mutation(
        "cuda-spread-tail",
        "emit_cuda/loops.py",
        "- at + {WARP - 1}) / {WARP}, ",
        "- at + {WARP}) / {WARP}, ",
        "a thread takes an element behind the end of its line",
        ids("cuda_kernels", "lines_that_begin_anywhere"),
    ),
    Mutation(
        "cuda-stores-apart",
        _PACKS,
        "if not any(kernel.forms[f].store for f in apart):",
        "if True:",
        "a loop writes the elements of its packs one by one",
        ids("cuda_kernels", "lines_that_begin_anywhere"),
    ),
    Mutation(
        "cuda-factor-too-small",
        "emit_cuda/quotients.py",
        "factor = -(-(1 << (bits - 1 + down)) // divisor)",
        "factor = (1 << (bits - 1 + down)) // divisor",
        "some multiples of an extent are taken for one less",
        ids("cuda_packs", "quotients_are_exact[False]"),
    ),
    Mutation(
        "cuda-row-store-of-the-last-lane",
        _CUH,
        "const int most = lane == lanes - 1 ? N - skip : N;",
        "const int most = N;",
        "the last lane stores what no lane has given it",
        ids("cuda_packs", "rows_that_begin_anywhere[f4]"),
    ),
    Mutation(
        "cuda-row-store-of-the-first-lane",
        _CUH,
        "if (e < skip && e < live) to[e] = pack.at[e];",
        "if (e < skip) to[e] = pack.at[e];",
        "a row shorter than what is before its first pack is written behind its end",
        ids("cuda_packs", "rows_that_begin_anywhere[f4]"),
    ),
    Mutation(
        "cuda-runs-of-odd-length",
        _PACKS,
        "return Packing(is_run or inner % GROUP == 0, GROUP)",
        "return Packing(True, GROUP)",
        "a pack is read beyond the end of its run",
        ids("cuda_packs", "runs_of_rows_are_packed"),
    ),
)

_KEPT_COLUMNS = ids("cuda_columns", "columns_kept_in_shared_memory[f4]")
_LONG_SCANS = ids("cuda_scans", "long_rows_are_in_tiles[forward]", "tiles_in_groups")
_SCAN_BITS = ids("cuda_scans", "bits[float32-cumsum]")
SCANS = (
    Mutation(
        "cuda-columns-kept-in-one-place",
        "emit_cuda/columns.py",
        '} + x"',
        '} + y"',
        "columns side by side are kept in one place",
        _KEPT_COLUMNS,
    ),
    Mutation(
        "cuda-columns-kept-beyond-their-end",
        "emit_cuda/columns.py",
        "(ir.Effect, ir.LookUp, ir.Recall)",
        "(ir.Effect, ir.LookUp)",
        "what is kept is read behind a column's end",
        _KEPT_COLUMNS,
    ),
    Mutation(
        "cuda-scan-tells-too-early",
        "emit_cuda/scan.cuh",
        """    *total = value;
    __threadfence();
    *state = 1;""",
        """    *state = 1;
    __threadfence();
    *total = value;""",
        "a tile says that it has told what it comes to before it has",
        _LONG_SCANS,
    ),
    Mutation(
        "cuda-scan-with-its-own-tile",
        "emit_cuda/scan.cuh",
        "(place + 31) & 31",
        "place",
        "what comes before a tile has the tile itself",
        _LONG_SCANS,
    ),
    Mutation(
        "cuda-scan-of-one-row-in-another",
        "emit_cuda/scans.py",
        'value)} + row * {told}"',
        'value)} + row"',
        "the tiles of one row see what those of another have told",
        _LONG_SCANS,
    ),
    Mutation(
        "cuda-scan-reduced-by-a-tile",
        "fusion/verdict.py",
        "    return longest > cluster.machine.scanned_row and reduces",
        "    return False",
        "a reduction joins a kernel of which no block has a whole row",
        ids("cuda_scans", "long_rows_are_not_reduced"),
    ),
    Mutation(
        "cuda-scan-steps-begin-anew",
        "emit_cuda/scan.cuh",
        "steps = R::combine(steps, of_last_lane(lanes));",
        "steps = of_last_lane(lanes);",
        "a step takes what the one before has for what all before it have",
        _SCAN_BITS,
    ),
    Mutation(
        "cuda-scan-of-what-is-not-there",
        "emit_cuda/scans.py",
        'then = [f"{self._waiting(v)}[slot + e] = {names.value(v)};" for v in left]',
        "then: list[str] = []",
        "what waits for a scan is not what was computed before it",
        ids("cuda_scans", "functions_of_doubles"),
    ),
    Mutation(
        "cuda-scan-ends-with-its-chunk",
        "emit_cuda/scan.cuh",
        "chunks = R::combine(chunks, steps);",
        "chunks = steps;",
        "a chunk takes what the one before has for what all before it have",
        _SCAN_BITS,
    ),
)

_TOGETHER = ids("cuda_together", "one_launch[of_every_kind-forward]")
SHARED = (
    Mutation(
        "cuda-shared-every-other-block",
        "emit_cuda/shared.py",
        'block = f"({block}) * {member.own_blocks}"',
        'block = f"({block})"',
        "blocks that are two of a kernel's own do the work of neighbours twice",
        _TOGETHER,
    ),
    Mutation(
        "cuda-shared-blocks-of-any-size",
        "emit_cuda/variant.py",
        "if skeleton == COLUMN or (skeleton == SHORT and self.own_blocks == 1):",
        "if skeleton == COLUMN and self.own_blocks == 0:",
        "columns have the launch of loops, or none",
        ids("cuda_together", "one_launch[of_columns-forward]"),
    ),
    Mutation(
        "cuda-shared-memory-of-the-launch",
        "emit_cuda/variant.py",
        "if skeleton == BLOCK and self.variant.kept == SHARED:",
        "if skeleton == BLOCK and self.variant.kept == LOOP:",
        "rows kept in shared memory share no launch",
        ids("cuda_together", "what_needs_another_block_is_apart"),
    ),
)

CUDA = (*SHARED, *SCANS, *LOADS_AND_STORES, *TREE, *BLOCKS, *TILES, *KERNELS)
