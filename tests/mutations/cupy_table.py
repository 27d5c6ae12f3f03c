"""Planted bugs in the capture of CuPy code."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

_TAPE, _LEARNING = "capture/cupy/tape.py", "capture/cupy/step_maker.py"
_KEYS = "capture/cupy/keys.py"
_CALLS, _FOLLOWED = "capture/cupy/calls.py", "capture/cupy/trace.py"
_STORAGES, _OPERATIONS = "capture/cupy/storages.py", "capture/cupy/operations.py"

CUPY = (
    Mutation(
        "overtaken-update-kept",
        "capture/cupy/storages.py",
        "        if (recorder.flushes, table.generation) != before:",
        "        if recorder.flushes != before[0]:",
        "an update goes to a storage that the flush of another thread has forgotten",
        _ids("cupy_threads", "what_is_forgotten_while_an_update_is_recorded"),
    ),
    Mutation(
        "forgotten-while-recording",
        "capture/cupy/region.py",
        "                if not self.is_recording:",
        "                if not self._live:",
        "a flush by another thread forgets the arrays that are on the tape again",
        _ids("cupy_threads", "what_is_recorded_before_a_flush_has_ended"),
    ),
    Mutation(
        "numbers-not-compared",
        _TAPE,
        "if bits == end.bits:",
        "if bits:",
        "numbers that were built into an executable stay what they were",
        _ids("cupy_tape", "numbers_that_change"),
    ),
    Mutation(
        "operands-presumed",
        _KEYS,
        "if low < storage.span[0] or high > storage.span[1]:",
        "if high < low:",
        "an operand beside a storage is learned as one that lies in it",
        _ids("cupy_tape_faults", "memory_in_several_guises"),
    ),
    Mutation(
        "view-without-its-place",
        _KEYS,
        "told: Key = slot, offset, shape\n",
        "told: Key = slot, shape\n",
        "views of one shape are one operand, wherever they begin",
        _ids("cupy_tape", "shapes_types_and_layouts_are_told_apart"),
    ),
    Mutation(
        "key-made-again-from-half",
        _KEYS,
        "            self._reset()  # an operand",
        "            self.numbers.clear()  # an operand",
        "what was entered while a key failed is told by its number alone",
        _ids("cupy_tape_faults", "overlapping_arrays_of_several_types"),
    ),
    Mutation(
        "the-living-not-told-apart",
        _LEARNING,
        "tape.state.ends[alive] = end",
        "tape.state.ends[tuple(tape.alive())[:1]] = end",
        "a flush with other living results runs the executable of some",
        _ids("cupy_tape", "what_is_dropped_may_differ", "a_known_recording_is_followed"),
    ),
    Mutation(
        "interrupted-operation-learned",
        "capture/cupy/region.py",
        "                tape.leave()\n                raise",
        "                raise",
        "what follows an operation that was broken off is known without it",
        _ids("cupy_tape_faults", "a_fault_in_the_middle_of_an_operation"),
    ),
    Mutation(
        "readers-forgotten",
        _STORAGES,
        "if entry.recorder is recorder and entry.readers and entry.error is None:",
        "if entry.recorder is None:",
        "a flush forgets that another region has read an array",
        _ids("cupy_tape_faults", "what_others_have_read_is_told_after_a_flush_of_ours"),
    ),
    Mutation(
        "assignment-after-a-flush",
        _OPERATIONS,
        "if table.generation != generation:\n        raise OvertakenError\n    node = region.tape",
        "node = region.tape",
        "a number is assigned to a storage that a flush has dropped",
        _ids("cupy_tape_faults", "numbers_assigned_after_arrays_were_made"),
    ),
    Mutation(
        "memories-by-address",
        _CALLS,
        "return sorted(groups, key=min)",
        "return groups",
        "a path that goes on takes one argument for another that lies elsewhere this time",
        _ids("cupy_paths", "where_arguments_lie_does_not_tell_them_apart"),
    ),
    Mutation(
        "end-at-a-look",
        _CALLS,
        "if self.path.looked_at:",
        "if not self.path.segments:",
        "a replay ends at the last look without comparing what it has seen",
        _ids("cupy_paths", "loops_until_convergence"),
    ),
    Mutation(
        "argument-known-as-its-base",
        _FOLLOWED,
        "            if first <= low and high <= last and storage.dtype == array.dtype:",
        "            if high < low:",
        "after a look an argument is taken for all of the array that it is a part of",
        _ids("cupy_paths", "arguments_that_are_parts_of_larger_arrays"),
    ),
    Mutation(
        "view-taken-for-all",
        _FOLLOWED,
        "        if offset == 0 and layout == (whole.shape, whole.dtype, whole.strides):\n"
        "            return slot",
        "        if layout[1] == whole.dtype:\n            return slot",
        "a replay takes the whole of an array where a part was read",
        _ids("cupy_paths", "what_cupy_computes_is_called_by_the_replay"),
    ),
    Mutation(
        "pending-elsewhere",
        _CALLS,
        'guard.lines.append(f"if table.exact: complete({given})")',
        "assert given is not None",
        "a replay reads an object's array before a block has written to it",
        _ids("cupy_paths", "what_is_pending_elsewhere_of_an_object_comes_first"),
    ),
    Mutation(
        "one-array-or-two-that-overlap",
        _CALLS,
        "            if len(names) > 1:\n                guard.distinct",
        "            if len(names) > 9:\n                guard.distinct",
        "a replay takes one array for two that lie in the same place",
        _ids("cupy_survivors", "identity_and_places_are_conditions"),
    ),
    Mutation(
        "order-of-elements-not-asked",
        _CALLS,
        'f"{name}._c_contiguous and {name}.shape == {a.shape} and {is_dtype}"',
        'f"{name}.shape == {a.shape} and {is_dtype}"',
        "a replay takes a transposed array for one in order",
        _ids("cupy_survivors", "identity_and_places_are_conditions"),
    ),
    Mutation(
        "error-of-a-replay",
        "capture/calls/path.py",
        "            if given is not None and not is_before_effects(error):",
        "            if given is not None:",
        "an error in a replay passes by the function that would catch it",
        _ids("cupy_paths", "an_error_is_raised_by_each_call"),
    ),
    Mutation(
        "nothing-dropped",
        _FOLLOWED,
        "        return lambda: next((one for one in shown if one() is not None), None)",
        "        return lambda: shown",
        "a path holds all that it has computed",
        _ids("cupy_paths", "what_is_not_needed_is_given_up"),
    ),
    Mutation(
        "operands-mistaken-for-the-first",
        _KEYS,
        "                        if value is not first:\n",
        "                        if not again and value is not first:\n",
        "the tape takes one operand for another",
        _ids("capture/cupy/cupy_operators", "the_same_operand_twice_is_no_other_one"),
    ),
    Mutation(
        "operators-mistaken",
        "capture/cupy/operators.py",
        '"gt": np.greater,',
        '"gt": np.greater_equal,',
        "a comparison of CuPy arrays is another one",
        _ids("capture/cupy/cupy_operators", "operators[f8]"),
    ),
    Mutation(
        "parts-mistaken-for-what-is-there",
        _OPERATIONS,
        "        internals.pointer_of(value).ptr - start == offset\n        and value.shape",
        "        value.shape",
        "a part that is assigned to another one of the array is taken for it",
        _ids("cupy_places", "parts_that_look_alike"),
    ),
    Mutation(
        "updates-recorded-twice",
        _OPERATIONS,
        "            return  # Python's, after an operation in place",
        "            pass",
        "what Python assigns after an operation in place is recorded",
        _ids("cupy_places", "an_operation_in_place_is_no_assignment"),
    ),
    Mutation(
        "a-slot-forgotten",
        _TAPE,
        "slots.append(None)  # before anything can fail\n"
        "            return make_known(self.run, single, self.region.device, slots)",
        "apart = [None] * (single[0] + 1)\n"
        "            made = make_known(self.run, single, self.region.device, apart)\n"
        "            slots.append(apart[-1])\n            return made",
        "after an array that could not be made others have its number",
        _ids("cupy_tape_faults", "no_memory_for_the_array_of_a_known_operation"),
    ),
    Mutation(
        "contiguous-parts-copied",
        "capture/cupy/patches.py",
        '        how = "asarray" if lies_so else name',
        "        how = name",
        "`ascontiguousarray` of an array that lies so is a copy: writes to it are lost",
        _ids("cupy_contiguous", "writes_go_where_they_go_without_us"),
    ),
)
