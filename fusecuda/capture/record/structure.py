"""Structure: containers taken apart and put together again, in one way for all of them.

A container is a list, tuple, named tuple, deque, dict, an instance of a class written in Python, a
bound method, or a `functools.partial`. Everything that walks values (arguments, what is read by
name, results, changes to write back) asks `kind_of` here and nowhere else.
"""

from __future__ import annotations

import collections
import enum
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .origin import is_users, module_of

Step = tuple[str, Any]  # "item" and a key, "attribute" and a name, or "slot" and a name
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


class Growing(list[Any]):
    """A list that knows whether anybody has done more than make it longer."""

    touched = False
    start = 0  # how long it was

    def __getitem__(self, key: Any) -> Any:
        new = type(key) is int and self.start - list.__len__(self) <= key < 0
        self.touched = self.touched or not new
        return list.__getitem__(self, key)

    def extend(self, values: Any) -> None:
        self.touched = self.touched or values is self
        list.extend(self, values)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.touched = True
        return list, (), None, list.__iter__(self)  # a copy is a list like any


def _touching(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    @functools.wraps(plain)
    def method(self: Growing, *args: Any, **kwargs: Any) -> Any:
        self.touched = True
        return plain(self, *args, **kwargs)

    return method


LISTS = frozenset({list, Growing})
SEQUENCES = LISTS | {tuple}  # which NumPy takes for arrays


for _name in (
    *("__setitem__", "__delitem__", "__iter__", "__len__", "__contains__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__iadd__"),
    *("__mul__", "__rmul__", "__imul__", "__reversed__", "__repr__"),
    *("index", "count", "pop", "remove", "insert", "sort", "reverse", "clear", "copy"),
):
    setattr(Growing, _name, _touching(_name))


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


@functools.lru_cache(maxsize=4096)
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
NAMED = Kind("named tuple", _items, lambda v, p: tuple.__new__(type(v), p))
DICT = Kind(
    "dict", lambda v: [(("item", key), part) for key, part in v.items()],
    lambda v, p: dict(zip(v, p, strict=True)), True, _empty_dict, _fill_dict,
)  # fmt: skip
INSTANCE = Kind(
    "instance", _attributes, _none, True, lambda v: object.__new__(type(v)), _fill_instance
)
NAMESPACE = Kind("namespace", _attributes, _none, True, lambda v: type(v)(), _fill_instance)
METHOD = Kind("method", _slot_parts("__self__"), lambda v, p: types.MethodType(v.__func__, p[0]))
PARTIAL = Kind("partial", _slot_parts("func", "args", "keywords"), _make_partial)

_KINDS: dict[type, Kind] = {
    list: LIST,
    Growing: LIST,
    tuple: TUPLE,
    set: SET,
    frozenset: SET,
    dict: DICT,
    collections.OrderedDict: DICT,
    collections.defaultdict: DICT,
    collections.deque: DEQUE,
    functools.partial: PARTIAL,
    types.SimpleNamespace: NAMESPACE,
}


def held_by_attributes(kind: type) -> type:
    """Let instances of ``kind``, a class of ours, be taken apart like those of the user's."""
    _KINDS[kind] = INSTANCE
    return kind


_HEAP_TYPE = 1 << 9
# With these a class decides for itself what its attributes are, or what becomes of a copy.
_OWN_WAYS = ("__getattribute__", "__setattr__", "__delattr__", "__del__")


def kind_of(value: Any) -> Kind | None:
    """The kind of container that ``value`` is, None for what is not taken apart."""
    kind: Any = type(value)
    found = _KINDS.get(kind)
    if found is not None:
        return found
    if kind is types.MethodType:
        return METHOD if isinstance(value.__func__, types.FunctionType) else None
    return _kind_of_class(kind)


@functools.lru_cache(maxsize=4096)
def _kind_of_class(kind: Any) -> Kind | None:
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return NAMED if set(kind.__mro__) >= {tuple, object} and not _is_odd(kind, tuple) else None
    if issubclass(kind, enum.Enum | type | BaseException) or not is_users(module_of(kind)):
        return None
    return None if _is_odd(kind, object) else INSTANCE


def _is_odd(kind: type, root: type) -> bool:
    """True if a base of ``kind`` other than ``root`` is native, or has ways of its own."""
    frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    for base in kind.__mro__:
        if base in (root, object):
            continue
        if not base.__flags__ & _HEAP_TYPE or _is_native(base):
            return True
        own = [name for name in _OWN_WAYS if name in vars(base)]
        if own and not (frozen and set(own) <= {"__setattr__", "__delattr__"}):
            return True
    return False


def _is_native(kind: type) -> bool:
    """True for a class made by C code, whose instances may hold what no attribute shows."""
    names = vars(kind).get("__slots__", ())
    room = 8 * (1 if isinstance(names, str) else len(tuple(names)))
    most = kind.__base__.__basicsize__ + room if kind.__base__ is not None else 0
    return kind.__basicsize__ > most + 16  # `__dict__` and `__weakref__`


def walk(value: Any, limit: int = 100_000) -> Iterator[Any]:
    """``value`` and all that lies in it, each container once; ends after ``limit`` values."""
    stack, seen = [value], set()
    while stack and limit:
        limit -= 1
        current = stack.pop()
        yield current
        kind = kind_of(current)
        if kind is not None and id(current) not in seen:
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
