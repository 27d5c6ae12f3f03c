"""Structure: containers taken apart and put together again, in one way for all of them.

A container is a list, tuple, slice, deque, dict, an instance of a class written in Python, which
may be an heir of list, tuple or dict, a bound method, or a `functools.partial`. Everything that
walks values (arguments, what is read by name, results, changes to write back) asks `kind_of` here
and nowhere else.
"""

from __future__ import annotations

import collections
import enum
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .growing import Growing
from .origin import HEAP_TYPE, is_users, module_of
from .per_class import per_class

LISTS = frozenset({list, Growing})
SEQUENCES = LISTS | {tuple}  # which NumPy takes for arrays

# "item" and a key, "attribute" and a name, "slot" and a name; of an heir of dict or list, which may
# have an opinion of its own on its items, "entry" and a key, or "place" and an index
Step = tuple[str, Any]
Parts = list[tuple[Step, Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """How containers of one kind are taken apart and put together.

    ``parts`` gives steps and children; ``make`` a new container like ``value`` around other
    children. A ``mutable`` one is made empty by ``shell`` and then filled by ``fill``, so that it
    may hold itself; ``fill`` also gives a container that exists the contents of another.
    """

    name: str
    parts: Callable[[Any], Parts]
    make: Callable[[Any, Sequence[Any]], Any]
    mutable: bool = False
    shell: Callable[[Any], Any] = lambda value: None
    fill: Callable[[Any, Parts], None] = lambda value, parts: None

    @property
    def changes(self) -> bool:
        """True if parts can be set; only attributes can, of heirs of tuple."""
        return self.mutable or self is HEIR_OF_TUPLE


def _items(value: Any) -> Parts:
    return [(("item", i), part) for i, part in enumerate(value)]


def _fill_deque(value: Any, parts: Parts) -> None:
    value.clear()
    value.extend([part for _, part in parts])


def _fill_dict(value: Any, parts: Parts) -> None:
    value.clear()
    value.update({step[1]: part for step, part in parts})


def _empty_dict(value: Any) -> Any:
    shell = value.copy()
    shell.clear()
    return shell


def _dict_of(value: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found


def _attributes(value: Any) -> Parts:
    kind: Any = type(value)
    found: Parts = [(("attribute", k), v) for k, v in _dict_of(value).items()]
    for name in slots_of(kind):
        try:
            found.append((("slot", name), object.__getattribute__(value, name)))
        except AttributeError:
            continue
    return found


def _fill_instance(value: Any, parts: Parts) -> None:
    kind: Any = type(value)
    if hasattr(value, "__dict__"):
        value.__dict__.clear()
        value.__dict__.update({step[1]: v for step, v in parts if step[0] == "attribute"})
    wanted = {step[1]: v for step, v in parts if step[0] == "slot"}
    for name in slots_of(kind):
        if name in wanted:
            object.__setattr__(value, name, wanted[name])
        elif hasattr(value, name):
            object.__delattr__(value, name)


def _fill_heir_of_dict(value: Any, parts: Parts) -> None:
    _fill_instance(value, parts)
    dict.clear(value)
    dict.update(value, {step[1]: part for step, part in parts if step[0] == "entry"})


def _made_heir_of_tuple(value: Any, parts: Sequence[Any]) -> Any:
    made = tuple.__new__(type(value), parts[: len(value)])
    made.__dict__.update(zip(_dict_of(value), parts[len(value) :], strict=True))
    return made


def _fill_heir_of_list(value: Any, parts: Parts) -> None:
    _fill_instance(value, parts)
    list.__setitem__(value, slice(None), [part for step, part in parts if step[0] == "place"])


@per_class
def slots_of(kind: Any) -> tuple[str, ...]:
    """The names of the slots of a class and its bases."""
    found = []
    for base in kind.__mro__:
        names = vars(base).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else tuple(names):
            if name not in ("__dict__", "__weakref__"):
                hidden = name.startswith("__") and not name.endswith("__")
                found.append(f"_{base.__name__.lstrip('_')}{name}" if hidden else name)
    return tuple(found)


def _make_partial(value: Any, parts: Sequence[Any]) -> Any:
    function, args, keywords = parts
    return functools.partial(function, *args, **keywords)


def _none(value: Any, parts: Sequence[Any]) -> Any:
    raise TypeError(f"a {type(value).__name__} is made empty and then filled")


def _slot_parts(*names: str) -> Callable[[Any], Parts]:
    return lambda value: [(("slot", name), getattr(value, name)) for name in names]


def _made_deque(value: Any, parts: Sequence[Any]) -> Any:
    return type(value)(parts, value.maxlen)


LIST = Kind(
    "list", lambda v: _items(list.__iter__(v)), lambda v, p: type(v)(p), True,
    lambda v: type(v)(), lambda v, p: v.__setitem__(slice(None), [part for _, part in p]),
)  # fmt: skip
DEQUE = Kind("deque", _items, _made_deque, True, lambda v: _made_deque(v, ()), _fill_deque)
TUPLE = Kind("tuple", _items, lambda v, p: tuple(p))
SET = Kind("set", _items, lambda v, p: type(v)(p))
SLICE = Kind("slice", _slot_parts("start", "stop", "step"), lambda v, p: slice(*p))
NAMED = Kind("named tuple", _items, lambda v, p: tuple.__new__(type(v), p))
DICT = Kind(
    "dict", lambda v: [(("item", key), part) for key, part in v.items()],
    lambda v, p: dict(zip(v, p, strict=True)), True, _empty_dict, _fill_dict,
)  # fmt: skip
INSTANCE = Kind(
    "instance", _attributes, _none, True, lambda v: object.__new__(type(v)), _fill_instance
)
NAMESPACE = Kind("namespace", _attributes, _none, True, lambda v: type(v)(), _fill_instance)
HEIR_OF_DICT = Kind(
    "heir of dict",
    lambda v: [*_attributes(v), *((("entry", key), part) for key, part in dict.items(v))],
    _none, True, lambda v: dict.__new__(type(v)), _fill_heir_of_dict,
)  # fmt: skip
HEIR_OF_LIST = Kind(
    "heir of list",
    lambda v: [*_attributes(v), *((("place", i), p) for i, p in enumerate(list.__iter__(v)))],
    _none, True, lambda v: list.__new__(type(v)), _fill_heir_of_list,
)  # fmt: skip
HEIR_OF_TUPLE = Kind(
    "heir of tuple", lambda v: [*_items(v), *_attributes(v)], _made_heir_of_tuple,
    fill=_fill_instance,
)  # fmt: skip
_HEIRS: dict[type, Kind] = {tuple: HEIR_OF_TUPLE, dict: HEIR_OF_DICT, list: HEIR_OF_LIST}
METHOD = Kind("method", _slot_parts("__self__"), lambda v, p: types.MethodType(v.__func__, p[0]))
PARTIAL = Kind("partial", _slot_parts("func", "args", "keywords"), _make_partial)

_KINDS: dict[type, Kind] = {
    list: LIST,
    Growing: LIST,
    tuple: TUPLE,
    slice: SLICE,
    set: SET,
    frozenset: SET,
    dict: DICT,
    collections.Counter: DICT,
    collections.OrderedDict: DICT,
    collections.defaultdict: DICT,
    collections.deque: DEQUE,
    functools.partial: PARTIAL,
    types.SimpleNamespace: NAMESPACE,
    **dict.fromkeys((collections.ChainMap, collections.UserDict, collections.UserList), INSTANCE),
}


def held_by_attributes(kind: type) -> type:
    """Let instances of ``kind``, a class of ours, be taken apart like those of the user's."""
    _KINDS[kind] = INSTANCE
    return kind


# With these a class decides for itself what its attributes are, or what becomes of a copy.
_OWN_WAYS = ("__getattribute__", "__del__")
_WRITING = ("__setattr__", "__delattr__")  # whose code is read like any method's
_METHODS = (types.FunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)
_OF_TUPLES = ("__getitem__", "__iter__", "__len__")  # by which tuples are taken apart


def kind_of(value: Any) -> Kind | None:
    """The kind of container that ``value`` is, None for what is not taken apart."""
    kind: Any = type(value)
    found = _KINDS.get(kind)
    if found is not None:
        return found
    if kind is types.MethodType:
        return METHOD if _is_followed(value) else None
    found = _kind_of_class(kind)
    if found is HEIR_OF_DICT and _dict_of(value) is value:  # its items are its attributes
        return None
    if found is HEIR_OF_TUPLE and any([part is value for part in _dict_of(value).values()]):
        return None
    return found


def _is_followed(method: types.MethodType) -> bool:
    """False for a method of a library's object, which is called as it is."""
    function, owner = method.__func__, method.__self__
    if not isinstance(function, types.FunctionType):
        return False
    users = isinstance(owner, type) or is_users(module_of(function))
    return users or kind_of(owner) is not None


@per_class
def _kind_of_class(kind: Any) -> Kind | None:
    is_named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    if issubclass(kind, enum.Enum | type | BaseException):
        return None
    if not is_named and not is_users(module_of(kind)):
        return None
    root: type = next((base for base in _HEIRS if issubclass(kind, base)), object)
    if root is tuple and any(getattr(kind, n) is not getattr(tuple, n) for n in _OF_TUPLES):
        return None
    if root is tuple and not kind.__dictoffset__:
        return None if _is_odd(kind, root) else NAMED
    return None if _is_odd(kind, root) else _HEIRS.get(root, INSTANCE)


def is_frozen(value: Any) -> bool:
    """True for an instance of a frozen dataclass."""
    return bool(getattr(getattr(type(value), "__dataclass_params__", None), "frozen", False))


def _is_odd(kind: type, root: type) -> bool:
    """True if a base of ``kind`` other than ``root`` is native, or has ways of its own."""
    for base in kind.__mro__:
        if base in (root, object):
            continue
        if not base.__flags__ & HEAP_TYPE or _is_native(base):
            return True
        if any(name in vars(base) for name in _OWN_WAYS):
            return True
        if any(not isinstance(vars(base)[n], _METHODS) for n in _WRITING if n in vars(base)):
            return True
    return False


def _is_native(kind: type) -> bool:
    """True for a class made by C code, whose instances may hold what no attribute shows."""
    names = vars(kind).get("__slots__", ())
    room = 8 * (1 if isinstance(names, str) else len(tuple(names)))
    most = kind.__base__.__basicsize__ + room if kind.__base__ is not None else 0
    return kind.__basicsize__ > most + 16  # `__dict__` and `__weakref__`


_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))


def holds_plain(value: Any) -> bool:
    """True for a list or tuple of nothing but numbers and texts."""
    kind = type(value)
    return (kind is list or kind is tuple) and _PLAIN.issuperset(map(type, value))


def walk(value: Any, limit: int = 100_000) -> Iterator[Any]:
    """``value`` and all that lies in it, each container once; ends after ``limit`` values.

    Numbers and texts are left out where a list has nothing else.
    """
    stack, seen = [value], set()
    while stack and limit:
        limit -= 1
        current = stack.pop()
        yield current
        kind = kind_of(current)
        if kind is not None and id(current) not in seen and not holds_plain(current):
            seen.add(id(current))
            stack.extend([part for _, part in kind.parts(current)][::-1])


def leaves(value: Any) -> Iterator[Any]:
    """The parts of plain lists, tuples, dicts and slices, one in another; else ``value`` itself."""
    kind = type(value)
    if kind in SEQUENCES:
        for part in value:
            yield from leaves(part)
    elif kind is dict:
        yield from leaves(list(value.values()))
    elif kind is slice:
        yield from leaves((value.start, value.stop, value.step))
    else:
        yield value


def plain_kind(kind: Any) -> Any:
    """The type of `SEQUENCES` that others know: of a twin of a list that of the list."""
    return tuple if kind is tuple else list


def rebuilt(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """``value``, made anew with ``leaf(part)`` for each of its `leaves`."""
    kind = type(value)
    if kind in SEQUENCES:
        return plain_kind(kind)([rebuilt(part, leaf) for part in value])
    if kind is dict:
        return {key: rebuilt(part, leaf) for key, part in value.items()}
    if kind is slice:
        return slice(*[rebuilt(p, leaf) for p in (value.start, value.stop, value.step)])
    return leaf(value)


def mapped(value: Any, leaf: Callable[[Any], Any], done: dict[int, Any] | None = None) -> Any:
    """``value`` with ``leaf(part)`` for each part that is no container.

    Containers in which nothing changes stay themselves; mutable ones are changed in place.
    """
    done = {} if done is None else done
    kind = kind_of(value)
    if kind is None:
        return leaf(value)
    if id(value) in done:
        return done[id(value)]
    done[id(value)] = value
    parts = kind.parts(value)
    new = [(step, mapped(part, leaf, done)) for step, part in parts]
    if all(a is b for (_, a), (_, b) in zip(parts, new, strict=True)):
        return value
    if kind.mutable:
        kind.fill(value, new)
        return value
    done[id(value)] = made = kind.make(value, [part for _, part in new])
    return made
