"""Planted bugs in what is left to NumPy: functions called as wholes, operations that rest."""

from __future__ import annotations

from .mutation import Mutation, ids

_BORDER, _TWINS = "capture/calls/border.py", "capture/calls/twins.py"
_WHOLE = "capture/calls/whole.py"
_OPERATORS, _REST = "capture/arrays/operators.py", "capture/record/rest.py"

WHOLES = (
    Mutation(
        "own-modules-of-a-clone",
        "tools/own_code.py",
        'if name.partition(".")[0] == _PACKAGE:',
        "if name == _PACKAGE:",
        "our own modules are a script's where it lies in a clone",
        ids("tools/run", "a_script_in_whose_folder_this_package_lies"),
    ),
    Mutation(
        "whole-writes-past-reads",
        _BORDER,
        "if not own.unread:\n                own.recorder.flush()\n"
        "            if shown is None or not own.unread or own.shared:",
        "if shown is None:",
        "what waits for old values sees what a whole has written",
        ids("whole", "writing_past_a_pending_read"),
    ),
    Mutation(
        "whole-returns-copies",
        _BORDER,
        "if owner is None or owner.dtype != value.dtype:",
        "if True:",
        "what a whole returns is no view of its argument",
        ids("whole", "wholes_are_the_same[returns_views]"),
    ),
    Mutation(
        "whole-returns-another",
        _BORDER,
        "        if known is not None:\n            return known[1]\n",
        "",
        "an argument that a whole returns is another array",
        ids("whole", "wholes_are_the_same[returns_its_argument]"),
    ),
    Mutation(
        "whole-of-changed-names",
        _TWINS,
        "            if now is not seen:",
        "            if False:",
        "a whole reads what names meant before",
        ids("whole", "names_that_change"),
    ),
    Mutation(
        "whole-that-tells-kinds",
        _TWINS,
        "            if name in _LEFT_OUT and not (name",
        "            if False and not (name",
        "a whole sees that its arrays are NumPy's",
        ids("whole", "what_is_not_known_to_be_the_same_is_called_as_it_is[matched]"),
    ),
    Mutation(
        "whole-of-large-work",
        _WHOLE,
        "largest is not None and largest <= recorder.at_once_below",
        "largest is not None",
        "functions of large arrays are not fused",
        ids("whole", "large_arrays_are_recorded"),
    ),
    Mutation(
        "operations-rest-that-are-fused",
        "capture/record/recorder.py",
        "if flight.left or count > len(self.recorded_by):",
        "if flight.left:",
        "operations are left to NumPy that a kernel shares with others",
        ids("resting", "what_is_fused_goes_on_being_recorded"),
    ),
    Mutation(
        "operations-rest-for-good",
        _REST,
        "return self.passed % _AGAIN != 0",
        "return True",
        "nobody sees that an operation has company by now",
        ids("resting", "a_line_that_rests_is_recorded_again"),
    ),
    Mutation(
        "resting-writes-past-reads",
        _OPERATORS,
        "rests(a if known else None, b, limit, nodes=2)",
        "rests(a, b, limit, nodes=2)",
        "what waits for old values sees what an operator has written",
        ids("resting", "what_waits_sees_the_values_from_before"),
    ),
    Mutation(
        "whole-forgets-attributes",
        _BORDER,
        "if name not in before or before[name] is not value:",
        "if name not in before:",
        "attributes that a method changes stay what they were",
        ids("whole_objects", "wholes_of_objects_are_the_same[writes_attributes]"),
    ),
    Mutation(
        "whole-writes-attributes-of-others",
        "capture/calls/objects.py",
        'if before.opname != "SWAP" and not _loads(own, before):',
        "if False:",
        "attributes of a function are written to its twin",
        ids("whole_objects", "objects_that_are_not_known[writes_by_another_name]"),
    ),
    Mutation(
        "interpreter-overwrites-what-is-read",
        "graph/interpret.py",
        "and _is_last(node, remaining)",
        "",
        "the interpreter writes to versions of arrays that are read later",
        ids("interpret_updates", "versions_that_are_read_late"),
    ),
    Mutation(
        "whole-that-draws-of-a-type",
        _TWINS,
        'or ("dtype" in keywords and not _TYPED.isdisjoint(code.co_names))',
        "",
        "a whole gives NumPy's generators a keyword that only CuPy's have",
        ids("stand_in", "what_only_cupy_has"),
    ),
    Mutation(
        "events-before-their-work",
        "tools/stand_in/cuda.py",
        '        """As `cupy.cuda.Event.record`."""\n        _wait()\n',
        '        """As `cupy.cuda.Event.record`."""\n',
        "an event is over while what was recorded before it is pending",
        ids("stand_in", "streams_events_and_pools"),
    ),
    Mutation(
        "defaults-of-keywords-forgotten",
        "capture/calls/twins.py",
        "            if function.__kwdefaults__ is not named:",
        "            if False:",
        "a call that is made as a whole has the defaults of keywords that were there at first",
        ids("calls/whole", "defaults_of_keywords_that_change[scaled.__kwdefaults__ = {'k': N}]"),
    ),
)
