"""Planted bugs: each a small replacement in one file, and the tests that must notice it."""

from __future__ import annotations

from importlib.util import find_spec

from .arrays_table import ARRAYS
from .blocks_table import BLOCKS
from .calls_table import CALLS
from .changed_table import CHANGED
from .choices_table import CHOICES
from .clusters_table import CLUSTERS
from .compactions_table import COMPACTIONS
from .crossed_table import CROSSED
from .cuda_table import CUDA
from .cupy_table import CUPY
from .first_runs_table import FIRST_RUNS
from .functions_table import FUNCTIONS
from .graphs_table import GRAPHS
from .handing_table import HANDING
from .impure_table import IMPURE
from .iterations_table import ITERATIONS
from .late_table import LATE
from .later_table import LATER
from .layouts_table import LAYOUTS
from .like_numpy_table import LIKE_NUMPY
from .machine_table import MACHINE
from .mutation import Mutation
from .mutation import ids as _ids
from .narrowed_table import NARROWED
from .runs_table import RUNS
from .scatters_table import SCATTERS
from .searches_table import SEARCHES
from .seeing_table import SEEING
from .segments_table import SEGMENTS
from .shared_divisors_table import SHARED_DIVISORS
from .speed_table import SPEED
from .streams_table import STREAMS
from .threads_table import THREADS
from .types_table import TYPES
from .wholes_table import WHOLES
from .windows_table import WINDOWS

_VALUES = "launches", "values[transposed_add]", "values[softmax]", "values[centered_columns]"
_SURVIVORS = "survivors"
_OVERWRITE = "results_that_overwrite_what_they_are_made_of"
_REDUCE = "fusion/binding.py", "cpu_fallback/emit_rows.py", "codegen/reduce.h"
_BINDING, _ROWS, _TREE = _REDUCE
_COLUMNS, _RUNS = "cpu_fallback/emit_columns.py", "cpu_fallback/runs.h"
_LOOP, _PROGRAM = "cpu_fallback/emit.py", "cpu_fallback/program.py"
_PLACE = "cpu_fallback/place.py"
_MAP, _PASSES = "graph/index_map.py", "graph/passes.py"
_STORAGE = "capture/record/storage.py"
_VERDICT, _ORDER = "fusion/verdict.py", "fusion/order.py"

EMITTER = (
    Mutation(
        "wrong-stride",
        _LOOP,
        'f" + {i} * {names.stride(f, axis)}" for axis, i in axes.items()',
        'f" + {i} * {names.stride(f, max(axes))}" for i in axes.values()',
        "a base is displaced along every axis by the stride of the last",
        _ids("cpu_fallback/inside", "values[outer-f4]"),
    ),
    Mutation(
        "wrong-step",
        _PLACE,
        "        return names.stride(form, self.axis)",
        '        return names.stride(form, self.axis[0] + "0")',
        "elements of any stride step along the first axis",
        _ids("cpu_fallback/steps", "values[shifted-u1]"),
    ),
    Mutation(
        "known-step-forwards",
        _PLACE,
        '-1: "-"',
        '-1: ""',
        "narrow elements that lie backwards are read forwards",
        _ids("cpu_fallback/steps", "values[of_rows-u1]", "values[shifted-u1]"),
    ),
    Mutation(
        "zeros-left-by-steps",
        "cpu_fallback/chosen.py",
        'room += f" / {abs(step)}" if abs(step) > 1 else ""',
        'room += ""',
        "a run beside a frame walks past the zeros",
        _ids("cpu_fallback/steps", "runs_beside_a_frame_stay_in_the_zeros"),
    ),
    Mutation(
        "run-too-long",
        _RUNS,
        "(at < limit ? 0 : limit)",
        "0",
        "a run that walks backwards into an operand goes on past its end",
        _ids("joined", "joined"),
    ),
    Mutation(
        "tests-at-the-first-column",
        _COLUMNS,
        'self._columns(stage, tests, index, "from", "from + run")',
        'self._columns(stage, tests, index, "0", "from + run")',
        "what lies inside is told from the first column of a block for all of them",
        _ids("joined", "joined"),
    ),
    Mutation(
        "missing-last-chunk",
        _ROWS,
        "for (int64_t at = {first}; at < {last}; at += {chunk})",
        "for (int64_t at = {first}; at + {chunk} <= {last}; at += {chunk})",
        "the last chunk of a row is left out unless it is full",
        _ids(*_VALUES),
    ),
    Mutation(
        "missing-tail",
        "cpu_fallback/emit_runs.py",
        "for (int64_t block = 0, count; block < run; block += count)",
        "for (int64_t block = 0, count; block + 8 <= run; block += count)",
        "what is left of a run behind whole blocks is not computed",
        _ids(_SURVIVORS, "strided_rows_of_a_matrix"),
    ),
    Mutation(
        "cast-of-zero",
        "codegen/scalar.py",
        'if source.kind in "iu" and dtype.kind == "f":\n        return f"FC_OF_WHOLE',
        'if False:\n        return f"FC_OF_WHOLE',
        "a cast to integer and back may become one truncation, which keeps -0.0",
        _ids(_SURVIVORS, "a_cast_to_integer_and_back_loses_the_sign_of_zero"),
    ),
    Mutation(
        "lane-fold-width",
        _TREE,
        "for (int64_t w = FC_LANES / 2; w; w /= 2) {",
        "for (int64_t w = FC_LANES / 4; w; w /= 2) {",
        "half of the lanes are not folded",
        _ids("fusion/crossed", "bits_of_short_rows[int64-1]"),
    ),
    Mutation(
        "column-fold-width",
        _COLUMNS,
        '"for (int64_t w = FC_LANES / 2; w; w /= 2)"',
        '"for (int64_t w = FC_LANES / 4; w; w /= 2)"',
        "half of the lanes of a column are not folded",
        _ids("launches", "values[column_mean]"),
    ),
    Mutation(
        "lost-guard",
        "codegen/statements.py",
        'text = f"{name(guard)} ? {text} : {zero(dtype)}"',
        "pass",
        "a part of a concatenate is read outside of its bounds",
        _ids(_SURVIVORS, "parts_of_a_whole_are_read_inside_their_bounds"),
    ),
    Mutation(
        "comparison-by-bits",
        "codegen/scalar.py",
        "text = _MIXED.get((op, kinds)) or",
        "text =",
        "signed and unsigned operands are compared after C's conversion",
        _ids("ops", "comparisons_of_signed_and_unsigned_are_by_value"),
    ),
    Mutation(
        "status-not-set-by-gather",
        _PLACE,
        'self.failed(statement.site, f"!ok{out}")',
        'f"(void)ok{out};"',
        "an index out of bounds is no error",
        _ids(_SURVIVORS, "an_index_out_of_bounds_leaves_arguments_and_later_calls_alone"),
    ),
    Mutation(
        "status-not-set-by-power",
        _PLACE,
        "self.failed(statement.site, OPS[statement.op].fails.format(*operands))",
        '""',
        "an integer to a negative power is no error",
        _ids("ops", "integer_power_wraps_around_and_refuses_negative_exponents[int64]"),
    ),
    Mutation(
        "partial-slot",
        "cpu_fallback/emit_reduction.py",
        "16 * ((row * parts + part) * {len(self.inner)} + {number})",
        "16 * ((row * parts + part) * {len(self.inner)})",
        "all reductions of a split row share one slot",
        _ids(_SURVIVORS, "several_sums_of_one_long_row"),
    ),
    Mutation(
        "end-of-part",
        _ROWS,
        "const int64_t last = fc_min(first + part_length, length);",
        "const int64_t last = first + part_length;",
        "the last part of a split row goes past its end",
        _ids(_SURVIVORS, "several_sums_of_one_long_row"),
    ),
    Mutation(
        "numbers-as-found",
        "fusion/levels.py",
        "return self.numbers.setdefault(key, len(self.numbers))",
        "return list(self.values).index(key)",
        "one kernel has another text where other values might be stored",
        ("tests/codegen/test_compilations.py::test_equal_kernels_are_equal_texts",),
    ),
    Mutation(
        "recalled-slot",
        "fusion/stages.py",
        "target.append(ir.Recall(self.number(key), dtype, self.slots[key]))",
        "target.append(ir.Recall(self.number(key), dtype, 0))",
        "every value is recalled from the first resident row",
        _ids(_SURVIVORS, "rows_that_are_kept_are_not_confused"),
    ),
    Mutation(
        "column-block-width",
        _COLUMNS,
        "const int64_t width = fc_min(block, {inner} - first);",
        "const int64_t width = fc_min(block, {inner});",
        "the last block of columns goes past the last column",
        _ids("launches", "launches_and_loads[column_mean-(37, 53)]"),
    ),
    Mutation(
        "identity-of-prod",
        "codegen/reductions.py",
        'return "1", "a * b" if',
        'return "0", "a * b" if',
        "a product starts from 0",
        _ids("reductions", "zeros_keep_numpys_sign[float64]"),
    ),
    Mutation(
        "identity-of-max",
        "codegen/reductions.py",
        "return f\"{'-' if largest else ''}{huge}\",",
        'return f"{huge}",',
        "a maximum starts from infinity",
        _ids(_SURVIVORS, "strided_rows_of_a_matrix"),
    ),
    Mutation(
        "argmax-tie",
        _TREE,
        "if (a.value == b.value) return a.index < b.index ? a : b;",
        "if (a.value == b.value) return a.index < b.index ? b : a;",
        "of equal elements the last is the largest",
        _ids("reductions", "the_first_of_equals_wins[float64]"),
    ),
    Mutation(
        "argmax-later-tie",
        _TREE,
        "(!((b) BETTER##= (a)) &",
        "(!((b) BETTER (a)) &",
        "of equal elements of a lane or a column the last is the largest",
        _ids("reductions", "the_first_of_equals_wins[float64]"),
    ),
    Mutation(
        "argmax-later-nan",
        _TREE,
        "& ((b) == (b)))",
        "& true)",
        "a later NaN is larger than the first one",
        _ids("reductions", "nan_wins_every_extremum[33-float64]"),
    ),
    Mutation(
        "argmax-behind-the-first-lanes",
        _TREE,
        "if (found) break;",
        "if (found && at) break;",
        "the first of equal elements is not looked for among the first ones",
        _ids("reductions", "the_first_of_equals_wins[float64]"),
    ),
)

GRAPH = (
    Mutation(
        "elements-not-written",
        "graph/views.py",
        "view_map.offsets), ...)",
        "view_map.offsets),)",
        "the interpreter loses updates of arrays of no axes",
        _ids("interpret_updates", "a_single_element_is_written"),
    ),
    Mutation(
        "composition-offset",
        _MAP,
        "offsets = inner(self.offsets)",
        "offsets = inner.offsets",
        "the outer view's offset is dropped",
        _ids("index_map", "random_views_read_what_they_say"),
    ),
    Mutation(
        "flip-off-by-one",
        "capture/record/view.py",
        "a.shape[d] - 1 if step < 0",
        "a.shape[d] - 2 if step < 0",
        "a reversed argument starts one element late",
        _ids(_SURVIVORS, "strided_rows_of_a_matrix"),
    ),
    Mutation(
        "split-axes",
        _MAP,
        "for axis in reversed(group):",
        "for axis in group:",
        "the axes into which one is split are counted in column-major order",
        _ids("index_map", "split_axes_is_the_reshape_where_it_gives_a_map"),
    ),
    Mutation(
        "reshape-strides",
        _MAP,
        "if any(s0 != s1 * n1 for",
        "if any(s0 < s1 * n1 for",
        "axes are merged although there is a gap between their runs",
        _ids("index_map", "reshape_strides_are_numpys"),
    ),
    Mutation(
        "always-disjoint",
        _PASSES,
        "            return True\n    return False\n\n\n@lru_cache",
        "            return True\n    return True\n\n\n@lru_cache",
        "any two views share no element",
        _ids("index_map", "disjoint_views_share_no_element"),
    ),
    Mutation(
        "plus-zero",
        "graph/arithmetic.py",
        'zero = -0.0 if kind_of(node.dtype) == "f" else 0',
        "zero = 0",
        "x + 0.0 is x, also for -0.0",
        _ids("passes", "look_alikes_are_left_alone"),
    ),
    Mutation(
        "merge-of-casts",
        "graph/arithmetic.py",
        'if inner.op == "convert" and is_lossless(inner.operands[0].dtype, inner.dtype):',
        'if inner.op == "convert":',
        "a cast that rounds is left out before another",
        _ids("passes", "look_alikes_are_left_alone"),
    ),
    Mutation(
        "forward-overlap",
        _PASSES,
        "if node.map == written.map and node.shape == value.shape:",
        "if node.map.coefs == written.map.coefs and node.shape == value.shape:",
        "reading some of what was written gives all of it, moved",
        _ids("passes", "reads_after_writes"),
    ),
    Mutation(
        "constants-by-value",
        _PASSES,
        "key = (node.op, node.attr, node.shape",
        'constant = float(node.value) if node.op == "constant" else node.attr\n'
        "        key = (node.op, constant, node.shape",
        "0.0 and -0.0 are one constant",
        _ids("passes", "equal_nodes_become_one"),
    ),
    Mutation(
        "dropped-write",
        "graph/motion.py",
        "and used_by[old] == [node]\n                and old.map == node.map",
        "and used_by[old] == [node]",
        "a write is dropped though the next one covers other elements",
        _ids("passes", "reads_after_writes"),
    ),
)

FUSION = (
    Mutation(
        "places-that-cross",
        _VERDICT,
        "if not all(other.is_beside(place.at, place.over, root) for other in chain.places):",
        "if False:",
        "one kernel writes two values to the same element",
        _ids("placed", "parts_are_written_to_their_places[c-crossing_in_place]"),
    ),
    Mutation(
        "older-version-not-minded",
        _VERDICT,
        "dict.fromkeys((version, *chain.versions, *older), (place,))",
        "dict.fromkeys((version,), (place,))",
        "a kernel overwrites what it still reads of an array from before its own first write",
        _ids("placed", "parts_are_written_to_their_places[c-read_turned]"),
    ),
    Mutation(
        "memory-not-all-overwritten",
        "fusion/placed.py",
        "    if left or not places:",
        "    if not places:",
        "zeros of which a part is overwritten are not filled in",
        _ids("placed", "parts_are_written_to_their_places[cuda-partly]"),
    ),
    Mutation(
        "update-of-own-reads",
        "fusion/overwriting.py",
        "            if not place.is_beside(at, over, source):\n                return True\n",
        "",
        "a stencil overwrites elements that it still reads",
        _ids("fused", "arguments_that_share_memory"),
    ),
    Mutation(
        "other-rows",
        _VERDICT,
        "if reader in (FINAL, FOOT) or not at.same_over(own, over):",
        "if reader in (FINAL, FOOT):",
        "a kernel reads row values before they are known",
        _ids(_SURVIVORS, "sums_of_rows_meet_other_rows"),
    ),
    Mutation(
        "other-axes",
        _VERDICT,
        "if over == cluster.shape and cluster.reduced in (None, axes):",
        "if over == cluster.shape:",
        "reductions over different axes share a kernel",
        _ids("reductions", "threads_do_not_change_a_fused_pass"),
    ),
    Mutation(
        "values-of-rows-cost-as-elements",
        "fusion/planner.py",
        "price(inside, machine) * min(1, inside.size / size)",
        "price(inside, machine)",
        "an array that is cheap but for a row's value is stored between kernels",
        _ids("shared_rows", "what_rows_have_in_common_is_stored_once_for_each"),
    ),
    Mutation(
        "nothing-is-read-beside",
        "fusion/planner.py",
        "beside = {s for r in self.readers.get(root, ()) for s in r.sources if s in self.place}",
        "beside = set()",
        "rows are passed over again by another kernel for one more of their reductions",
        _ids("shared_rows", "launches"),
    ),
    Mutation(
        "write-after-read",
        _ORDER,
        "found[reader, self.place[met]] = met",
        "pass",
        "an array is overwritten before all have read it",
        _ids("random_dags", f"{_OVERWRITE}[swapped and computed]"),
    ),
    Mutation(
        "an-update-of-the-same-version-may-come-before",
        _ORDER,
        "if places is None or not own <= {writer}:",
        "if places is None:",
        "of two updates made of one version the second one reads what the first has overwritten",
        _ids("planned_overwrites", "the_interpreter_agrees[two versions made of one-1-2]"),
    ),
    Mutation(
        "one-read-beside-is-enough",
        _ORDER,
        "return all(place.is_beside(at, over, version)",
        "return any(place.is_beside(at, over, version)",
        "a step comes after a write to what another of its reads shows",
        _ids("placed", "random_writes_to_parts[c-0]"),
    ),
    Mutation(
        "copy-before",
        _ORDER,
        'return "an argument that is not the result must stay as it is"',
        'return ""',
        "an update writes into an argument that is only read",
        _ids("random_dags", f"{_OVERWRITE}[an argument regrouped and updated]"),
    ),
    Mutation(
        "shared-result",
        "fusion/legalize.py",
        "base in taken\n            or structure_of",
        "structure_of",
        "two results share one buffer",
        _ids(_SURVIVORS, "two_results_of_one_value_have_memory_of_their_own"),
    ),
    Mutation(
        "collapse-ignores-a-form",
        "fusion/walk.py",
        "s[axis] == t[0] * extents[0] for s, t in zip(self.strides, strides, strict=True)",
        "s[axis] == t[0] * extents[0] for s, t in zip(self.strides[1:], strides[1:], strict=True)",
        "axes are merged though the first form does not walk them as one",
        _ids(_SURVIVORS, "strided_rows_of_a_matrix"),
    ),
    Mutation(
        "no-number-behind-the-first-lanes",
        _TREE,
        "odd[l] = (P)(odd[l] | -(P)(from[l] != from[l]));",
        "odd[l] = (P)(odd[l] | -(P)(best[l] != best[l]));",
        "a NaN behind the first 32 elements is no extreme",
        _ids("cpu_fallback/places", "what_is_no_number_comes_first[f8]"),
    ),
    Mutation(
        "place-in-the-last-lanes",
        _TREE,
        "int64_t k = FC_LANES; k < n;",
        "int64_t k = FC_LANES; k < n - 1;",
        "the last element of a chunk is never the largest",
        _ids("cpu_fallback/places", "what_is_no_number_comes_first[f8]"),
    ),
    Mutation(
        "unit-of-two",
        "fusion/variants.py",
        "        pattern.append(step)",
        "        pattern.append(min(step, 1))",
        "every second element is read as if they lay side by side",
        _ids("cpu_fallback/steps", "values[shifted-u1]"),
    ),
    Mutation(
        "wrong-parts",
        _BINDING,
        "part = max(cost.SPLIT_ELEMENTS, CHUNK)",
        "part = max(cost.SPLIT_ELEMENTS, CHUNK) + CHUNK",
        "parts are no power of two of chunks, so that a split row has another tree",
        _ids(_SURVIVORS, "several_sums_of_one_long_row"),
    ),
    Mutation(
        "passes-not-waited-for",
        "cpu_fallback/driver.h",
        "if (l->phases > phases) phases = l->phases;",
        "",
        "of rows that are cut into parts only the first pass is done",
        _ids("phases", "as_interpreted[(150003,)-standardised]"),
    ),
    Mutation(
        "passes-of-others",
        "cpu_fallback/driver.h",
        "if (phase >= launches[k].phases) shares[k].parts = 0;",
        "",
        "a kernel is run once more in the passes of one that shares its launch",
        _ids("phases", "kernels_of_fewer_passes_run_once"),
    ),
    Mutation(
        "parts-keep-apart",
        "cpu_fallback/emit_rows.py",
        "parts > 1 ? a->workspace + {before} + row * kept : scratch",
        "parts > 1 ? a->workspace + {before} : scratch",
        "the parts of all rows keep their values in one place",
        _ids("phases", "as_interpreted[(3, 70000)-softmax]"),
    ),
)

MEMORY = (
    Mutation(
        "touching-lives",
        "streams/liveness.py",
        "later |= every ^ before[step]",
        "later |= every ^ (before[step] | 1 << step)",
        "lives that touch in one step are apart",
        _ids(_SURVIVORS, "touching_lives_are_apart_and_offsets_aligned"),
    ),
    Mutation(
        "unaligned-offsets",
        "streams/liveness.py",
        "(offsets[j], offsets[j] + sizes[j])",
        "(offsets[j], offsets[j] + lives[j].nbytes)",
        "a temporary starts right behind another",
        _ids(_SURVIVORS, "touching_lives_are_apart_and_offsets_aligned"),
    ),
    Mutation(
        "shared-scratch",
        "streams/memory_plan.py",
        "step.scratch * threads",
        "step.scratch",
        "there is room for the resident rows of one thread only",
        _ids(_SURVIVORS, "each_thread_has_rows_of_its_own"),
    ),
    Mutation(
        "block-lent-twice",
        "cpu_fallback/pool.py",
        "return blocks[indexOf(_counts(blocks), free)]",
        "return blocks[0]",
        "a block is lent again while an array lives in it",
        _ids("memory", "a_block_comes_back_when_the_last_view_dies"),
    ),
    Mutation(
        "lanes-of-neighbours",
        _COLUMNS,
        "at + done + l + k * FC_LANES",
        "at + done + l * 8 + k",
        "elements that are read at once are neighbours, not those of one lane",
        _ids("reductions", "columns_of_which_elements_are_read_at_once"),
    ),
    Mutation(
        "two-chunks-without-a-tree",
        _COLUMNS,
        "{length} > 0 && {length} <= FC_CHUNK",
        "{length} > 0 && {length} <= 2 * FC_CHUNK",
        "of rows side by side with two chunks the first is lost",
        _ids("reductions", "rows_side_by_side"),
    ),
    Mutation(
        "not-a-number-lost",
        "codegen/prelude.h",
        "fc_either_##t(a != a, a, a > b ? a : b)",
        "fc_either_##t(a != a, b, a > b ? a : b)",
        "the larger of NaN and a number is the number",
        _ids("reductions", "nan_wins_every_extremum"),
    ),
    Mutation(
        "skipped-items",
        "cpu_fallback/driver.h",
        "share->work * (part + 1) / share->parts",
        "share->work / share->parts * (part + 1)",
        "what is left when the work is shared out is not done",
        _ids("reductions", "threads_do_not_change_a_fused_pass"),
    ),
    Mutation(
        "scalar-dtype",
        "codegen/packing.py",
        'return "?" if dtype.kind == "b" else {"l": "q", "L": "Q"}.get(dtype.char, dtype.char)',
        'return "?" if dtype.kind == "b" else "d"',
        "a scalar argument is packed as float64, whatever its dtype",
        _ids("fused", "scalar_arguments[numpy]", "scalar_arguments[numpy int]"),
    ),
    Mutation(
        "commit-after-failure",
        _PROGRAM,
        "- bool(self.blueprint.commits) and self._sites:",
        "- bool(self.blueprint.commits) and False:",
        "arguments are overwritten although an element has failed",
        _ids(_SURVIVORS, "an_index_out_of_bounds_leaves_arguments_and_later_calls_alone"),
    ),
    Mutation(
        "status-kept",
        _PROGRAM,
        "frame.status[:] = 0",
        "pass",
        "a failed call makes later ones fail",
        _ids(_SURVIVORS, "an_index_out_of_bounds_leaves_arguments_and_later_calls_alone"),
    ),
)

CAPTURE = (
    Mutation(
        "dtypes-over-one-buffer",
        "capture/calls/overlap.py",
        "a.dtype == b.dtype\n        and",
        "True\n        and",
        "memory that two arguments see as different types is taken for one array",
        _ids("fused", "two_dtypes_over_one_buffer"),
    ),
    Mutation(
        "picks-see-later-writes",
        _STORAGE,
        "        if self.keepers is not None:\n            self.part()\n",
        "",
        "what a mask has picked changes when the array is written to",
        _ids("picks", "as_numpy[recorded-plain-read_before_it_is_written]"),
    ),
    Mutation(
        "memory-of-picks-is-unread",
        _STORAGE,
        " and not self.keepers",
        "",
        "an element is written at once to memory that a pick is of",
        _ids("picks", "written_at_once_after_it_was_picked"),
    ),
    Mutation(
        "masks-of-one-kind-are-one",
        "capture/arrays/picks.py",
        "a.attr != b.attr:",
        "False:",
        "what one mask picks is written back under another",
        _ids("picks", "masks_that_look_alike"),
    ),
    Mutation(
        "picks-of-anything",
        "capture/arrays/picks.py",
        "            if row.may_fail and",
        "            if False and",
        "a function that fails for what was not picked is computed of it",
        _ids("picks", "dear_functions_are_computed_of_what_is_picked"),
    ),
)

# Without CuPy its tests notice nothing, for they are left out.
MUTATIONS = (
    *EMITTER,
    *GRAPH,
    *FUSION,
    *MEMORY,
    *CAPTURE,
    *ARRAYS,
    *CALLS,
    *CHANGED,
    *ITERATIONS,
    *LATER,
    *WHOLES,
    *WINDOWS,
    *THREADS,
    *RUNS,
    *MACHINE,
    *CHOICES,
    *SCATTERS,
    *COMPACTIONS,
    *LATE,
    *LAYOUTS,
    *LIKE_NUMPY,
    *NARROWED,
    *SHARED_DIVISORS,
    *SPEED,
    *BLOCKS,
    *SEARCHES,
    *SEGMENTS,
    *CROSSED,
    *TYPES,
    *FUNCTIONS,
    *FIRST_RUNS,
    *SEEING,
    *STREAMS,
    *GRAPHS,
    *HANDING,
    *IMPURE,
    *CUDA,
    *CLUSTERS,
    *(CUPY if find_spec("cupy") else ()),
)
