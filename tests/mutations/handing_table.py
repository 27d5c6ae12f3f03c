"""Planted bugs in what goes to opaque code and comes from it, in caches, and in heirs of dicts."""

from __future__ import annotations

from .mutation import Mutation, ids

_OPAQUE, _HANDING = "capture/arrays/opaque.py", "capture/calls/handing.py"
_STRUCTURE, _INPUTS = "capture/record/structure.py", "capture/calls/inputs.py"

HANDING = (
    Mutation(
        "twins-are-kept-by-opaque-code",
        _OPAQUE,
        "originals = {} if _is_of(value, _FORGETTING) else _handed_over((args, kwargs))",
        "originals: dict[int, Any] = {}",
        "a queue keeps what stands for an object, and is left with it",
        ids("calls/handing", "handing[what is kept is no twin]"),
    ),
    Mutation(
        "what-opaque-code-gives-holds-lazy-arrays",
        _OPAQUE,
        "            handing.taken(value)",
        "            pass",
        "lazy arrays are left in what has come from a queue",
        ids("calls/handing", "handing[what is given is the user's]"),
    ),
    Mutation(
        "changes-are-handed-over-twice",
        _HANDING,
        "            twin.before = twin.kind.parts(twin.built)",
        "            pass",
        "what has been appended before a list was handed over is appended again",
        ids("calls/handing", "handing[what is kept is no twin]"),
    ),
    Mutation(
        "weak-references-hold-nothing",
        "capture/calls/reach.py",
        "        if isinstance(current, weakref.ReferenceType):",
        "        if False:",
        "a node that is found through a weak reference is not its twin, and lazy arrays stay there",
        ids("calls/handing", "handing[what weak references lead to]"),
    ),
    Mutation(
        "methods-in-c-hold-nothing",
        "capture/calls/reach.py",
        "        if isinstance(one, types.ModuleType | type):",
        "        if isinstance(one, types.ModuleType | types.BuiltinFunctionType | type):",
        "a list's append, which is given with the list, appends to the list and not to its twin",
        ids("calls/handing", "handing[methods of what is given]"),
    ),
    Mutation(
        "bases-of-what-is-handed-out",
        "capture/arrays/methods.py",
        "            return own.base",
        "            return self.hand_out().base",
        "an argument that is its own has a base where the call cannot be made again",
        ids("calls/views_of_memory", "an_argument_keeps_its_base"),
    ),
    Mutation(
        "cached-arrays-are-nobodys",
        "capture/calls/numpy_calls.py",
        "                known.storage.held = known.storage.escaped = True\n",
        "",
        "what is written to an array of a cache is not found there by the next call",
        ids("calls/caches", "caches[arrays that are written to]"),
    ),
    Mutation(
        "cached-arrays-that-are-given",
        "capture/calls/outcomes.py",
        " or any(np.may_share_memory(part, a) for a in arrays):",
        ":",
        "an array of a cache is a second one where it is an argument, too",
        ids("calls/caches", "caches[arrays that are given, too]"),
    ),
    Mutation(
        "read-only-arrays-are-viewed",
        "capture/calls/host.py",
        " and not value.is_scalar and value.storage.writeable:",
        " and not value.is_scalar:",
        "a read-only array of a cache is given back as a view of it",
        ids("calls/caches", "caches[read-only, tuples, errors]"),
    ),
    Mutation(
        "heirs-are-asked-for-their-items",
        _INPUTS,
        'return f"{_RAW[kind]}.__getitem__({name}, {text})"',
        'return f"{name}[{text}]"',
        "a guard calls the methods of a class, which count it",
        ids("calls/heirs", "heirs[its own items]"),
    ),
    Mutation(
        "heirs-lose-their-attributes",
        _STRUCTURE,
        "    _fill_instance(value, parts)\n    list.__setitem__",
        "    list.__setitem__",
        "an heir of list has no attributes while its method is recorded",
        ids("calls/heirs", "heirs[a list that forgets]"),
    ),
    Mutation(
        "objects-are-asked-what-they-have",
        "capture/calls/why.py",
        'if not hasattr(type(value), "strides"):',
        'if not hasattr(value, "strides"):',
        "an error of an object's __getattr__ ends a call that is recorded again",
        ids("calls/heirs", "an_object_that_refuses_questions"),
    ),
)
