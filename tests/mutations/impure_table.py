"""Planted bugs in calls that replays make again: prints, logs, clocks, draws."""

from __future__ import annotations

from .mutation import Mutation, ids

_IMPURE = "capture/calls/impure.py"
_PLAIN = "capture/calls/plain_values.py"

IMPURE = (
    Mutation(
        "a-list-of-warnings-of-its-own",
        "capture/calls/impure.py",
        'if function is warnings.catch_warnings and (args or kwargs.get("record")):',
        "if function is warnings.catch_warnings and args:",
        "warnings that the function catches are not in the list that it looks at",
        ids("warnings_inside", "warnings_that_the_function_catches_are_in_its_list"),
    ),
    Mutation(
        "done-twice",
        "capture/calls/trace.py",
        "            raise Unfollowed(self.failure)\n        self.may_restart = False\n",
        "            raise Unfollowed(self.failure)\n",
        "a call that has printed is started again",
        ids("capture/calls/impure", "what_was_done_is_not_done_again"),
    ),
    Mutation(
        "one-generator-for-all",
        _IMPURE,
        "self._called(found, Impure(name, None if slot >= 0 else found, slot))",
        "self._called(found, Impure(name, found))",
        "a replay draws from the generator that was given when it was recorded",
        ids("capture/calls/impure", "another_object_is_another_generator"),
    ),
    Mutation(
        "draws-into-memory",
        _IMPURE,
        'kwargs.get("out") is None and ',
        "",
        "a replay draws into a copy of what was given",
        ids("capture/calls/impure", "recorded_anew[out]"),
    ),
    Mutation(
        "logged-arrays",
        _IMPURE,
        "(type(part) is Array and part.is_scalar)",
        "(type(part) is Array)",
        "a handler keeps memory of a kernel",
        ids("capture/calls/impure", "records_keep_what_was_logged"),
    ),
    Mutation(
        "logged-errors",
        _IMPURE,
        '(kwargs and module == "logging")',
        "False",
        "a replay logs no error that was being handled",
        ids("capture/calls/impure", "recorded_anew[an error that is logged]"),
    ),
    Mutation(
        "function-of-the-caller",
        "graph/library.py",
        'names = {"co_filename": code.co_filename, "co_name": code.co_name}',
        'names = {"co_filename": code.co_filename}',
        "a log names a function of this package",
        ids("capture/calls/impure", "replayed[log]"),
    ),
    Mutation(
        "types-of-generators",
        _PLAIN,
        "        return isinstance(value, cls.stands_for)",
        "        return False",
        "what a function makes is no object of its class",
        ids("capture/calls/impure", "replayed[generators that it makes]"),
    ),
    Mutation(
        "impure-objects",
        "capture/calls/inputs.py",
        "        if is_impure(value):\n            self.impure",
        "        if False:\n            self.impure",
        "a function that is given a generator is recorded anew",
        ids("capture/calls/impure", "another_object_is_another_generator"),
    ),
    Mutation(
        "two-stand-ins",
        "capture/calls/binding.py",
        "return self._stand_ins.setdefault(id(value), made) if shows else made",
        "return made",
        "one generator that is given twice is two",
        ids("capture/calls/scalar_types", "which_object_it_is_may_be_asked"),
    ),
    Mutation(
        "numbers-in-texts",
        _PLAIN,
        "plain = _all_plain if function is json.dumps else _plain",
        "plain = _plain",
        "C code is given what stands for a number, in a list",
        ids("capture/calls/plain_values", "replayed[texts of numbers]"),
    ),
    Mutation(
        "lists-in-queues",
        _PLAIN,
        "plain = _all_plain if function is json.dumps else _plain",
        "plain = _all_plain",
        "a queue holds copies of lists",
        ids("capture/calls/plain_values", "replayed[queues]"),
    ),
    Mutation(
        "attributes-of-functions",
        "capture/calls/scan.py",
        "                self._seen(place, value)\n            elif not name",
        "                pass\n            elif not name",
        "an attribute of a function is what it was when it was recorded",
        ids("capture/calls/plain_values", "replayed[attributes of functions]"),
    ),
    Mutation(
        "all-can-be-called",
        "capture/arrays/opaque.py",
        "if _held(kind, n) is not None}",
        "if getattr(kind, n, None) is not None}",
        "objects that cannot be called seem to be",
        ids("capture/calls/plain_values", "right[paths]"),
    ),
)
