"""Planted bugs in the calls of fused functions."""

from __future__ import annotations

from .mutation import Mutation, ids

_CALL, _GUARD, _READS = "capture/calls/host.py", "capture/calls/guard.py", "capture/calls/scan.py"
_PATH, _INPUTS, _TRACE = (
    "capture/calls/path.py",
    "capture/calls/inputs.py",
    "capture/calls/trace.py",
)
_BINDING = "capture/calls/binding.py"
_MEMORY, _OPAQUE = "capture/calls/memory.py", "capture/arrays/opaque.py"
_NUMBERS, _PLANS = "capture/record/numbers.py", "capture/record/plans.py"

_NUMPY_CALLS = "capture/calls/numpy_calls.py"

CALLS = (
    Mutation(
        "extent-never-loose",
        _PATH,
        "            following = segment.after(environment, seen)\n        values",
        "            pass\n        values",
        "each extent that a mask picks is recorded anew",
        ids("loose", "extents_that_differ_are_not_looked_at"),
    ),
    Mutation(
        "begin-of-a-view-not-looked-at",
        "capture/calls/outcomes.py",
        'return "view", i, part.shape, part.dtype, part.strides, at',
        'return "view", i, part.shape, part.dtype, part.strides, 0',
        "a replay takes a view that NumPy gives to begin where the array does",
        ids("loose", "views_that_depend_on_values_are_found_again"),
    ),
    Mutation(
        "warning-names-our-line",
        "graph/library.py",
        "    if not file or not number.isdecimal():",
        "    if file:",
        "a warning of NumPy's names a file of this package",
        ids("warnings_inside", "warnings_name_the_line_of_the_program"),
    ),
    Mutation(
        "comparison-as-seen-once",
        _TRACE,
        "            self._observed(self.path.evaluated(number), number.value)",
        "            pass",
        "a loop until convergence runs as often as it did when recorded",
        ids("loose", "a_number_that_is_compared_is_no_condition"),
    ),
    Mutation(
        "closure-not-checked",
        _GUARD,
        "self.demand(place.condition(self.constant, seen))",
        'if place.kind != "cell":\n'
        "                self.demand(place.condition(self.constant, seen))",
        "a trace is replayed after a closure variable has changed",
        ids("fused", "closure_variable_and_cell"),
    ),
    Mutation(
        "strides-not-checked",
        _MEMORY,
        'f"{name}.shape == {a.shape} and {name}.strides == {a.strides} "',
        'f"{name}.shape == {a.shape} "',
        "a trace is replayed for another layout",
        ids("fused", "layouts_in_turn", "mutation_of_arguments"),
    ),
    Mutation(
        "observed-not-checked",
        "capture/calls/call.py",
        "            guard.equal(name, value)",
        "            pass",
        "a trace is replayed for another value of a number that it looked at",
        ids("fused", "scalar_arguments[branch]"),
    ),
    Mutation(
        "overlap-not-checked",
        _CALL,
        "guard.memory.apart(guard, names, i, j)",
        "pass",
        "a trace of arguments apart is replayed for ones that share memory",
        ids("fused", "arguments_that_share_memory"),
    ),
    Mutation(
        "global-array-as-constant",
        _READS,
        "            self.reads.inputs[place.key] = (place, value)",
        "            self.reads.values[place.key] = (place, value)",
        "an array that is read by name keeps the contents that it had when recorded",
        ids("fused", "closure_variable_and_cell"),
    ),
    Mutation(
        "class-attribute-not-checked",
        _GUARD,
        "for kind, name, seen in reads.members:",
        "for kind, name, seen in reads.members[:0]:",
        "a trace is replayed after an attribute of a class has changed",
        ids("calls", "an_attribute_of_the_class_is_a_condition", "a_method_is_a_condition"),
    ),
    Mutation(
        "aliases-not-checked",
        _CALL,
        "guard.distinct(self.inputs.changing())",
        "pass",
        "a trace of two lists that change is replayed for one list given twice",
        ids("calls", "the_same_list_twice_is_one_list"),
    ),
    Mutation(
        "effects-not-replayed",
        "capture/calls/results.py",
        'after.append(f"apply_effect({effect.twin.name}, {step}, {name})")',
        "pass",
        "a replay does not write to the attributes that the call has written to",
        ids("calls", "a_method_is_replayed_and_its_object_changes"),
    ),
    Mutation(
        "every-branch-alike",
        _PATH,
        "for wanted, segment in self.next.get(key_of(seen), ()):",
        "for wanted, segment in next(iter(self.next.values())):",
        "a replay takes the first known way whatever value it sees",
        ids("calls", "branches_are_replayed_and_new_ones_are_learned"),
    ),
    Mutation(
        "run-again-on-another-path",
        _TRACE,
        "        if self.path.replaying:\n            shapes = [",
        "        if False:\n            shapes = [",
        "a replay that comes to a new value computes again what it has computed",
        ids("calls", "arguments_that_are_written_before_a_look_are_written_once"),
    ),
    Mutation(
        "shapes-not-seen",
        "capture/calls/outcomes.py",
        'return "array", part.shape, part.dtype',
        'return "array", (1,) * part.ndim, part.dtype',
        "a replay goes on with arrays of other shapes than were recorded",
        ids("calls", "functions_without_kernels_are_called_by_replays"),
    ),
    Mutation(
        "dropped-too-early",
        _PATH,
        "if fresh and complete:",
        "if fresh:",
        "a result is dropped that something pending still reads",
        ("tests/real_code/test_real_code.py::test_right_at_every_call[k-means]",),
    ),
    Mutation(
        "opaque-writes-are-lost",
        _OPAQUE,
        "memory = part.at_once()",
        "memory = np.array(part.at_once())",
        "what an opaque function writes to its argument is lost",
        ids("calls", "an_opaque_callable_is_given_arrays"),
    ),
    Mutation(
        "drawn-twice",
        _TRACE,
        "        self.may_restart = False\n        if any(",
        "        if any(",
        "a call that is made again draws its random numbers again",
        ids("calls", "an_opaque_call_is_made_once"),
    ),
    Mutation(
        "powers-are-steady",
        _NUMBERS,
        "return not (function is operator.pow and integers) and",
        "return",
        "an integer power that turns negative is taken for the integer that it was",
        ids("calls", "a_power_of_integers_may_become_a_float"),
    ),
    Mutation(
        "numbers-of-another-plan",
        _PLANS,
        "i in self.free or new == old",
        "True",
        "an executable is taken that was built for another number",
        ids("plans", "numbers_that_change"),
    ),
    Mutation(
        "written-globals-not-seen",
        _BINDING,
        "if now is self._before.get(name, MISSING):",
        "if True:",
        "a function reads a global as it was before a helper wrote it",
        ids("calls_attacked", "is_as_plain[a helper that writes a global]"),
    ),
    Mutation(
        "written-cells-not-shared",
        _BINDING,
        "if id(cell) in self._written:",
        "if False:",
        "functions that share a closure variable each write one of their own",
        ids(
            "calls_attacked",
            "is_as_plain[a closure variable that holds an array and is written]",
        ),
    ),
    Mutation(
        "callers-not-seen",
        _READS,
        "if sees_caller(value):",
        "if False:",
        "what sees its caller sees us",
        ids("calls_attacked", "is_as_plain[globals written in a dictionary]"),
    ),
    Mutation(
        "arguments-in-parts",
        "capture/calls/bytecode.py",
        'frozenset({"EXTENDED_ARG", "CACHE"',
        'frozenset({"CACHE"',
        "behind many names the reader of bytecode stops at a part of an instruction",
        ids("bytecode", "constants_of_modules_are_followed[300]"),
    ),
)
