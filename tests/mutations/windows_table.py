"""Planted bugs in windows that overlap, filters of a few taps, and diagonals."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

_SLIDING, _OVERLAPPING = "fusion/sliding.py", "fusion/overlapping.py"
_FILTERS, _CHOICES = "capture/arrays/sliding.py", "graph/choices.py"
_TREES = _ids("overlapping", "the_bits_are_the_trees[f8-1]", "the_bits_are_the_trees[f8-4]")

WINDOWS = (
    Mutation(
        "lanes-in-one",
        _SLIDING,
        "for i in own[len(fewest) :]",
        "for i in own[len(fewest) + 1 :]",
        "what some lanes have more than others is left out",
        _TREES,
    ),
    Mutation(
        "chunks-in-order",
        _SLIDING,
        "self._moved(chunk, CHUNK * i, self.extent)",
        "self._moved(chunk, CHUNK * i + 1, self.extent)",
        "all chunks of a long window begin an element late",
        _TREES,
    ),
    Mutation(
        "slides-by-any",
        _SLIDING,
        "alike = all(coefs[axis] == coefs[window] for coefs in rows)",
        "alike = True",
        "windows that share nothing are made of what lanes of others combine",
        _ids("overlapping", "launches[long deviation]", "weights_are_not_slid"),
    ),
    Mutation(
        "tiles-overlap",
        _OVERLAPPING,
        "if steps and min(steps) <= reach:",
        "if steps:",
        "rows side by side count as windows that overlap",
        _ids("overlapping", "tiles_stay_rows"),
    ),
    Mutation(
        "windows-of-others",
        _OVERLAPPING,
        "inner not in outputs and inside.issuperset(used[inner])",
        "True",
        "a mean that its windows need again is computed for itself",
        _ids("overlapping", "what_stays_a_reduction[centred-resident]"),
    ),
    Mutation(
        "windows-one-by-one",
        "fusion/variants.py",
        "rows.strides[f][-1] == elements.strides[f][-1] == form.dtype.itemsize",
        "rows.strides[f][-1] == 0 and elements.strides[f][-1] == form.dtype.itemsize",
        "long windows are computed one after the other",
        _ids("overlapping", "what_is_too_long_advances_in_columns"),
    ),
    Mutation(
        "windows-by-number",
        _OVERLAPPING,
        "is_wanted(node, sum(map(op_cost, computed)))",
        "is_wanted(node, len(computed))",
        "twenty exponentials are written into one loop",
        _ids("overlapping", "what_stays_a_reduction[dear-reduction]"),
    ),
    Mutation(
        "windows-kept",
        "fusion/binding.py",
        "return few or overlap(lowered.ir, walked.rows, walked.elements)",
        "return few",
        "each window keeps a copy of what it shares with others",
        _ids("overlapping", "what_windows_share_is_not_kept"),
    ),
    Mutation(
        "factors-outside",
        _FILTERS,
        "framed = build.pad(factors, zero, ((before, after), (0, 0)))",
        "framed = build.broadcast_to(build.convert(ufuncs.node_of(taps, dtype), wider), "
        "(x.size + before + after, count))",
        "at the edges a factor that is not finite makes NaN of nothing",
        _ids("sliding", "numbers_that_are_not_finite[full]"),
    ),
    Mutation(
        "same-off-by-one",
        _FILTERS,
        '"same": count // 2,',
        '"same": (count - 1) // 2,',
        "the middle of an even filter is another than NumPy's",
        _ids("sliding", "integers_are_exact[same-i8]", "a_filter_is_near_the_exact_sums[same-2]"),
    ),
    Mutation(
        "windows-read-only",
        "capture/arrays/memory.py",
        "if read_only or array.view_of_storage.map.repeats(shown.shape):",
        "if read_only or not array.view_of_storage.map.is_injective(shown.shape):",
        "windows that may be written to may not",
        _ids("sliding", "windows_share_memory[written_through]"),
    ),
    Mutation(
        "windows-once",
        "capture/calls/lower.py",
        "more_lazy = why.startswith(TAKES_MEMORY) and not all_lazy",
        "more_lazy = False",
        "what a call would record again is not lowered",
        _ids("sliding", "strided_views_are_lowered"),
    ),
    Mutation(
        "diagonal-moved",
        _CHOICES,
        "build.constant(view.offsets[axis], INT64)",
        "build.constant(0, INT64)",
        "every diagonal that is written is the first",
        _ids("choices", "diagonals_are_choices[beside]"),
    ),
    Mutation(
        "diagonal-cut",
        _CHOICES,
        "if view.offsets[first] or min(ends) != value.shape[along] or not whole:",
        "if view.offsets[first] or not whole:",
        "part of a diagonal is written as all of it",
        _ids("choices", "diagonals_are_choices[part]"),
    ),
)
