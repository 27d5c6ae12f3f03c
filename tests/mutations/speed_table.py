"""Planted bugs in what makes loops and calls quick."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

SPEED = (
    Mutation(
        "inside-as-work",
        "fusion/binding.py",
        "work, per_item = work // inside, inside",
        "work, per_item = work, inside",
        "what is walked inside a run is shared out to threads once more",
        _ids("cpu_fallback/inside", "threads_share_the_long_axis"),
    ),
    Mutation(
        "first-of-the-short-axis",
        "cpu_fallback/emit_loop.py",
        'head = f"for (int64_t i_{axis} = 0; i_{axis} < {axis}; ++i_{axis})"',
        'head = f"for (int64_t i_{axis} = 0; i_{axis} < 1; ++i_{axis})"',
        "of a short axis only the first place is computed",
        _ids("cpu_fallback/inside", "values[outer-f8]"),
    ),
    Mutation(
        "counted-twice",
        "cpu_fallback/emit_rows.py",
        "any(self.divisors_of(p.body, p.taken) for p in scans.pieces(stage, searches=True))",
        "False",
        "a run that is divided again is added to the total once more",
        _ids("cpu_fallback/quotients", "a_row_that_is_divided_again_is_counted_once"),
    ),
    Mutation(
        "a-total-of-two-cuts",
        "fusion/roots.py",
        "        read = [o for o in below if structure_of(o).is_view and not self._inlined(o)]",
        "        read: list[Node] = []",
        "what is read through views is stored where a kernel is cut",
        _ids("fusion/cuts", "two_sums_of_the_same_are_cut_at_one_place"),
    ),
    Mutation(
        "parts-that-share",
        "codegen/fission.py",
        "                    above[find(value)] = find(s.out)",
        "                    above[find(s.out)] = find(s.out)",
        "values of one part are computed in another",
        _ids("codegen/fission", "each_statement_has_one_part"),
    ),
    Mutation(
        "writers-apart",
        "codegen/fission.py",
        "    bound = ir.Store | ir.Scatter | ir.Compact | ir.Scan",
        "    bound = ir.Scatter | ir.Compact | ir.Scan",
        "what one part of a pass overwrites another has yet to read",
        _ids("codegen/fission", "what_is_stored_stays_together"),
    ),
    Mutation(
        "dense-at-any-step",
        "fusion/indexed.py",
        "    return bool(places) and all(p.step == _itemsize(kernel, p) for p in places)",
        "    return bool(places)",
        "every index leads to the next element",
        _ids("cpu_fallback/steps", "indices_of_what_lies_apart"),
    ),
    Mutation(
        "sure-of-few",
        "fusion/indexed.py",
        "all(n > _LARGEST and is_byte(value) for value, n in indices)",
        "all(is_byte(value) for value, n in indices)",
        "a byte for which a table has no element reads what is behind it",
        _ids("cpu_fallback/steps", "bytes_that_are_looked_up[255]"),
    ),
    Mutation(
        "odd-behind-the-end",
        "codegen/reduce.h",
        "odd[l] |= -(P)((l < rest) & (v[k + l] != v[k + l]));",
        "odd[l] |= 0;",
        "NaN among the last elements of a chunk is not seen by max and min",
        _ids("codegen/fission", "floats_are_folded_where_they_are"),
    ),
    Mutation(
        "chunks-in-pieces",
        "cpu_fallback/emit_rows.py",
        'f"if (count == FC_CHUNK && {last} - {index[last]} >= count)"',
        'f"if (count == FC_CHUNK)"',
        "a chunk that lies in pieces is folded as if it were one",
        _ids("codegen/fission", "floats_are_folded_where_they_are"),
    ),
    Mutation(
        "nobody-is-written",
        "capture/calls/guard.py",
        "[name in written for name in names])",
        "[False for name in names])",
        "a replay of several runs does not see that an array it writes shares memory",
        _ids("capture/calls/layouts", "what_the_driver_sees[shared]"),
    ),
    Mutation(
        "every-second-for-every-third",
        "cpu_fallback/runs.h",
        "fc_pick_by_##W(to, from, 3 * W, run)",
        "fc_pick_by_##W(to, from, 2 * W, run)",
        "bytes of colours are picked at another step than they have",
        _ids("cpu_fallback/inside", "narrow_elements[brightened-u1-3]"),
    ),
    Mutation(
        "near-but-not-put",
        "cpu_fallback/emit.py",
        'self._move_near(moved, "put", axis)',
        'self._move_near({}, "put", axis)',
        "narrow results stay on the stack",
        _ids("cpu_fallback/inside", "narrow_elements[brightened-u1-4]"),
    ),
)
