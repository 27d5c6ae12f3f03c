"""Planted bugs in blocks of runs, in reads of later versions, and in memory that scatters fill."""

from __future__ import annotations

from .mutation import Mutation, ids

_EMIT, _BLOCKS = "cpu_fallback/emit.py", "cpu_fallback/blocks.py"
_LATER, _SCATTERS = "fusion/read_later.py", "fusion/scatters.py"
_FILLED = "what_is_scattered_to_is_filled_first"

BLOCKS = (
    Mutation(
        "computed-again-in-place",
        "fusion/needs.py",
        "    return not _overwrites(kernel, walked, {s.form for s in kernel.late})",
        "    return True",
        "what is written to what is read is computed twice",
        ids("cpu_fallback/blocks", "values[in_place-f8]"),
    ),
    Mutation(
        "late-is-in-place",
        "fusion/needs.py",
        "    return not _overwrites(kernel, walked, {s.form for s in kernel.late})",
        "    return not _overwrites(kernel, walked)",
        "what is written late is taken for what is written where it is read",
        ids("cpu_fallback/blocks", "what_may_be_computed_again"),
    ),
    Mutation(
        "before-the-run",
        "cpu_fallback/runs.h",
        "    return again && run >= size ? fc_min(block, run - size) : block;",
        "    return again ? fc_min(block, run - size) : block;",
        "a block of a short run begins before the run does",
        ids("cpu_fallback/blocks", "values[elementwise-f8]"),
    ),
    Mutation(
        "nothing-brought-back",
        _EMIT,
        "                self.w.lines([p.returned() for p in stored])",
        "                self.w.lines([])",
        "what has been computed apart is lost",
        ids("cpu_fallback/blocks", "values[elementwise-f8]"),
    ),
    Mutation(
        "kept-lines-in-blocks",
        _BLOCKS,
        "if sizes and sizes <= {4, 8} and not kept & recalled else 0",
        "if sizes and sizes <= {4, 8} else 0",
        "what is kept and recalled at once is recalled from nowhere",
        ids("cpu_fallback/blocks", "no_block_of_what_is_kept_and_recalled_at_once"),
    ),
    Mutation(
        "narrow-blocks",
        _BLOCKS,
        "if sizes and sizes <= {4, 8} and",
        "if sizes and",
        "narrow elements are computed in blocks that are short for their vectors",
        ids("cpu_fallback/blocks", "which_runs_are_cut"),
    ),
    Mutation(
        "every-second-twice",
        "cpu_fallback/runs.h",
        "        memcpy(&b, (const uint32_t *)from + 2 * k + lanes - 1, sizeof b);",
        "        memcpy(&b, (const uint32_t *)from + 2 * k, sizeof b);",
        "of every second float the second half of a vector is wrong",
        ids("cpu_fallback/blocks", "values[of_every_second-f4]"),
    ),
    Mutation(
        "remainders-looked-up",
        "fusion/byte_chains.py",
        "        if sum(map(_cost, body)) >= COSTLY:",
        "        if sum(OPS[s.op].cost for s in body) >= COSTLY:",
        "remainders of bytes are looked up, which takes longer than to compute them",
        ids("byte_chains", "remainders_are_computed"),
    ),
    Mutation(
        "halves-cut-off",
        "cpu_fallback/halves_packs.h",
        "#define FC_NARROWED_8(a) __builtin_ia32_vcvtps2ph256(a, 0)",
        "#define FC_NARROWED_8(a) __builtin_ia32_vcvtps2ph256(a, 3)",
        "floats become halves by cutting off what does not fit",
        ids("halves_packs", "conversions[-mno-avx512f]"),
    ),
    Mutation(
        "beside-all",
        _LATER,
        "    return are_disjoint(view.map, view.shape, update.map, update.operands[1].shape)",
        "    return True",
        "what is read is taken for what was written later",
        ids("read_later", "values_and_launches[c-read_before]"),
    ),
    Mutation(
        "never-later",
        _LATER,
        "            if not self._is_needed_with(view, after[0]):",
        "            if True:",
        "the field is copied for each edge that is written to",
        ids("read_later", "values_and_launches[c-wave]"),
    ),
    Mutation(
        "later-for-nothing",
        _LATER,
        "            if node is version or node in self.outputs:",
        "            if False:",
        "what needs no edge waits for them",
        ids("read_later", "which_reads_are_moved"),
    ),
    Mutation(
        "writes-wait",
        _LATER,
        "                if user.writes:\n                    return False\n",
        "",
        "updates that could share a kernel read each other",
        ids("read_later", "which_reads_are_moved"),
    ),
    Mutation(
        "written-into-is-needed",
        _LATER,
        "        given = (self.number[o] for o in node.operands[node.writes :])",
        "        given = (self.number[o] for o in node.operands)",
        "updates that could share a kernel read each other, for they go on in one array",
        ids("read_later", "which_reads_are_moved"),
    ),
    Mutation(
        "filled-however-large",
        _SCATTERS,
        "if alone and root.size <= max(GRAIN_ELEMENTS, last.operands[1].size):",
        "if alone:",
        "one thread fills what all could",
        ids("fusion/scatters", f"{_FILLED}[filled_large]"),
    ),
    Mutation(
        "filled-with-what-is-computed",
        _SCATTERS,
        'return number.op == "constant" or (number.op == "parameter" and number.parameter.scalar)',
        "return not number.shape",
        "memory is filled with a number that is nowhere",
        ids("fusion/scatters", f"{_FILLED}[filled_by_what_is_computed]"),
    ),
    Mutation(
        "filled-in-part",
        "cpu_fallback/emit_loop.py",
        'extents = " * ".join(map(names.limit, fill.limits))',
        "extents = names.limit(fill.limits[0])",
        "only as much is filled as one axis has",
        ids("fusion/scatters", f"{_FILLED}[filled_twice]"),
    ),
)
