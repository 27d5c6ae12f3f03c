"""Planted bugs in what blocks know of recordings from before."""

from __future__ import annotations

from .mutation import Mutation, ids

_RUN, _MAKERS = "capture/record/run.py", "capture/arrays/makers.py"
_SEEN, _PATTERNS = "capture/arrays/seen.py", "capture/arrays/patterns.py"
_REST, _UPDATES = "capture/record/rest.py", "capture/arrays/updates.py"

RUNS = (
    Mutation(
        "a-part-by-any-other",
        _UPDATES,
        "    entry: tuple[Any, ...] = (maker, version.place, at)",
        "    entry: tuple[Any, ...] = (maker, version.place)",
        "what a part is updated by tells a recording",
        ids("record/runs", "which_part_is_updated_by_which"),
    ),
    Mutation(
        "by-any-part-of-the-other",
        _UPDATES,
        "    key = ufunc, id(view), version.kind, id(shown), its",
        "    key = ufunc, id(view), version.kind, shown is None, its",
        "a part is updated by the part of another that its operator names",
        ids("record/runs", "which_part_is_updated_by_which", "parts_that_are_updated"),
    ),
    Mutation(
        "a-part-written-under-a-selection",
        _UPDATES,
        "    if own.keepers is not None or array.pick",
        "    if array.pick",
        "a selection has the values of before an update of a part",
        ids("record/runs", "what_waits_for_a_part_has_it_as_it_was"),
    ),
    Mutation(
        "entries-without-operands",
        _RUN,
        "        entries.append(entry)",
        "        entries.append((maker, len(entry)))",
        "the same operation on other operands is another recording",
        ids("record/runs", "who_reads_what"),
    ),
    Mutation(
        "rows-that-do-not-fit",
        _SEEN,
        "    if build.broadcast_shapes(kind.shape, shape) != shape:",
        "    if False:",
        "rows that do not fit where they are written to are an error",
        ids("record/runs", "rows_that_are_written_to_several"),
    ),
    Mutation(
        "the-second-operand-for-the-first",
        _MAKERS,
        "        else (maker, place, its)",
        "        else (maker, its, its)",
        "an operation is told by both of its operands",
        ids("record/runs", "who_reads_what", "one_array_and_two"),
    ),
    Mutation(
        "any-view-of-a-view",
        _MAKERS,
        "known = _composed.get((id(outer), id(inner)))",
        "known = next((k for k in _composed.values() if k[0] is outer), None)",
        "which elements are spread is told by the view of them",
        ids("record/runs", "rows_that_are_written_to_several"),
    ),
    Mutation(
        "numbers-of-then",
        _RUN,
        "not fit([n.attr for n in self.numbers], route.bits, route.free)",
        "False",
        "an executable was built for numbers, but for those that are its arguments",
        ids("record/runs", "numbers_that_change"),
    ),
    Mutation(
        "versions-read-as-they-were",
        _MAKERS,
        "        own.belongs_to(recorder)\n",
        "",
        "who else has read an array computes what it reads before that is written to",
        ids("record/runs", "a_write_waits_for_who_has_read"),
    ),
    Mutation(
        "results-put-into-stand-ins",
        _PATTERNS,
        " or _is_told_where(func, args, kwargs)",
        "",
        "no pattern is learned of a call that writes to what it is given",
        ids("record/runs", "results_that_are_put_into_arrays[<lambda>0]"),
    ),
    Mutation(
        "one-operand-for-two",
        _PATTERNS,
        "    if not items or len(operands) > len(set(operands)):",
        "    if not items:",
        "a pattern is not learned where one array takes the place of two",
        ids("record/runs", "one_array_and_two"),
    ),
    Mutation(
        "every-value-there-already",
        _SEEN,
        "if value._shown is view and value._part",
        "if value._part",
        "only what an operator in place has written is there already",
        ids("record/runs", "views_of_a_temporary"),
    ),
    Mutation(
        "other-work-passes",
        _REST,
        "        if self._others > self.EACH:",
        "        if False:",
        "a block that does other work than was measured is measured anew",
        ids("record/runs", "other_work_is_measured_anew"),
    ),
    Mutation(
        "written-numbers-of-then",
        _MAKERS,
        "    run.numbers.append(number)\n",
        "",
        "numbers that are written to arrays are numbers of the recording",
        ids("record/runs", "numbers_that_are_written"),
    ),
)
