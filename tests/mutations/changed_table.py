"""Planted bugs in what a function reads without a name of its own, and in what is the same."""

from __future__ import annotations

from .mutation import Mutation, ids

_SCAN, _SPECIAL = "capture/calls/scan.py", "capture/calls/special.py"
_PLACES, _SETTINGS = "capture/calls/places.py", "capture/calls/settings.py"
_NAMES, _BYTECODE = "capture/calls/by_name.py", "capture/calls/bytecode.py"


def _computed(case: str) -> tuple[str, ...]:
    return ids("calls/changed", f"what_classes_hold_under_names_that_are_computed[{case}]")


def _attributes(case: str) -> tuple[str, ...]:
    return ids("calls/changed", f"attributes_of_functions_come_and_go[{case}]")


def _equal(case: str) -> tuple[str, ...]:
    return ids("calls/changed", f"equal_values_that_are_not_the_same[{case}]")


def _counts(case: str) -> tuple[str, ...]:
    return ids("calls/changed", f"what_a_value_counts_as[{case}]")


CHANGED = (
    Mutation(
        "computed-names-are-not-looked-for",
        _NAMES,
        "            asks(name)",
        "            pass",
        "what a class holds under a name that is computed stays what it was",
        _computed("of a variable"),
    ),
    Mutation(
        "computed-names-end-a-recording",
        "capture/calls/recorded.py",
        "        if why.startswith(ASKS_BY_NAME):\n            return True\n",
        "",
        "a function that computes the name of an attribute runs unfused",
        _computed("of a method"),
    ),
    Mutation(
        "getters-are-as-they-are",
        _NAMES,
        "(getattr, operator.attrgetter, operator.methodcaller)",
        "(getattr, operator.methodcaller)",
        "what a class holds under the name of a getter stays what it was",
        _computed("by a getter"),
    ),
    Mutation(
        "names-in-texts",
        _BYTECODE,
        "itertools.chain.from_iterable(map(named_by, texts))",
        "()",
        "attributes named in a text that is filled in stay what they were",
        _computed("in a text"),
    ),
    Mutation(
        "dicts-of-classes",
        _SPECIAL,
        "    if every:",
        "    if False:",
        "what is found in the dictionary of a class stays what it was",
        _computed("in the dict of the class"),
    ),
    Mutation(
        "attributes-that-functions-get-later",
        _SETTINGS,
        "    if catches or names &",
        "    if False and names &",
        "an attribute that a function gets later is not seen",
        _attributes("asked for") + _attributes("tried"),
    ),
    Mutation(
        "dicts-of-functions",
        _SCAN,
        "vars(function) if self.sees_all else vars(function).keys() & self.names",
        "vars(function).keys() & self.names",
        "what is found in the dictionary of a function stays what it was",
        _attributes("all of them"),
    ),
    Mutation(
        "special-functions-only",
        _SPECIAL,
        '    return callable(member) or hasattr(type(member), "__get__")',
        "    return isinstance(member, FUNCTION)",
        "what a special method that is no function reads stays what it was",
        ids("calls/changed", "special_methods_that_are_no_functions[a static method]"),
    ),
    Mutation(
        "defaults-by-name-written",
        "capture/calls/classify.py",
        "            self._seen(place, default)  # which may be written there\n",
        "",
        "a default of a keyword that is set where it is stays what it was",
        ids("calls/changed", "defaults_that_are_set_where_they_are[of another]"),
    ),
    Mutation(
        "defaults-of-named-tuples",
        "capture/calls/classify.py",
        'if made and "_fields" in vars(base):',
        "if False:",
        "defaults of a named tuple stay what they were",
        ids("calls/changed", "defaults_that_are_set_where_they_are[of a named tuple]"),
    ),
    Mutation(
        "registered-for-classes-in-containers",
        _SETTINGS,
        "    if names & _ASKING or any(",
        "    if any(",
        "what is registered for a class in a tuple is not seen",
        _counts("in a tuple"),
    ),
    Mutation(
        "registered-for-what-is-matched",
        _BYTECODE,
        '"MATCH_SEQUENCE"), "match")',
        '"MATCH_SEQUENCE"), "class")',
        "what is registered as a mapping does not match one",
        _counts("matched"),
    ),
    Mutation(
        "members-of-heirs",
        _SPECIAL,
        'type.__subclasses__(kind) if "__subclasses__" in names else []',
        "[]",
        "what heirs hold that are found by their base stays what it was",
        _counts("heirs"),
    ),
    Mutation(
        "heirs-made-later",
        _SETTINGS,
        "functools.partial(type.__subclasses__, kind) for kind in classes",
        "functools.partial(type.__subclasses__, kind) for kind in ()",
        "heirs that are made later are not found by their base",
        _counts("more heirs"),
    ),
    Mutation(
        "attributes-of-members",
        "capture/calls/classify.py",
        "in reached_of_member(member, self.names):",
        "in ():",
        "an attribute of a member of an enum stays what it was",
        ids("calls/changed", "attributes_of_constants[by a variable]"),
    ),
    Mutation(
        "attributes-of-members-looked-up",
        "capture/calls/classify.py",
        "+= marked_members(kind)",
        "+= []",
        "an attribute of a member that is found by the enum stays what it was",
        ids("calls/changed", "attributes_of_constants[looked up]"),
    ),
    Mutation(
        "attributes-of-texts",
        _PLACES,
        "    if _has_attributes(type(seen)):",
        "    if False:",
        "an attribute that a text gets later is not seen",
        ids("calls/changed", "attributes_of_constants[of a text]"),
    ),
    Mutation(
        "equal-keys",
        "capture/calls/inputs.py",
        "        if any(type(key) is not str for key in keys):",
        "        if False:",
        "keys of another type that are equal are those of the trace",
        _equal("keys") + _equal("zeros as keys"),
    ),
    Mutation(
        "equal-elements",
        "capture/calls/guard.py",
        "type({0}) is set and same(tuple({0}), {1})",
        "type({0}) is set and {0} == set({1})",
        "elements of another type that are equal are those of the trace",
        _equal("sets"),
    ),
    Mutation(
        "equal-times",
        _PLACES,
        "    if isinstance(a, np.datetime64 | np.timedelta64):",
        "    if False:",
        "times in another unit that are equal are those of the trace",
        _equal("units of times"),
    ),
    Mutation(
        "equal-long-numbers",
        _PLACES,
        "same(a.real, b.real)",
        "same(float(a.real), float(b.real))",
        "long complex numbers are the same if they are as doubles",
        _equal("long numbers"),
    ),
)
