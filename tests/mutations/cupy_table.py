"""Planted bugs in the capture of CuPy code."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

_TAPE, _LEARNING = "capture/cupy/tape.py", "capture/cupy/step_maker.py"
_STORAGES, _OPERATIONS = "capture/cupy/storages.py", "capture/cupy/operations.py"

CUPY = (
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
        _TAPE,
        "if low < storage.span[0] or high > storage.span[1]:",
        "if high < low:",
        "an operand beside a storage is learned as one that lies in it",
        _ids("cupy_tape_faults", "memory_in_several_guises"),
    ),
    Mutation(
        "view-without-its-place",
        _TAPE,
        "else (slot, offset, shape)",
        "else (slot, shape)",
        "views of one shape are one operand, wherever they begin",
        _ids("cupy_tape", "shapes_types_and_layouts_are_told_apart"),
    ),
    Mutation(
        "key-made-again-from-half",
        _TAPE,
        "        self._reset()\n        return self._key(",
        "        self.numbers.clear()\n        return self._key(",
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
        "            tape.leave()\n            raise",
        "            raise",
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
        "if table.generation != generation:\n        return NotImplemented\n    node = region.tape",
        "node = region.tape",
        "a number is assigned to a storage that a flush has dropped",
        _ids("cupy_tape_faults", "numbers_assigned_after_arrays_were_made"),
    ),
)
