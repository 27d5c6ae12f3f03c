"""Running: iterators and errors that come out of a whole, with lazy arrays in what they hold."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

from ...text_codes import as_written
from ..arrays.memory import in_force
from .places import unwrapped

Take = Callable[[Any], Any]
# What tells of what it is made, and how far it is.
_ITERATORS: tuple[Any, ...] = (
    map, zip, filter, enumerate, reversed, type(reversed([])),
    *(type(iter(kind())) for kind in (list, tuple)),
    type(iter(type("", (), {"__getitem__": None})())),  # NumPy's arrays have those
)  # fmt: skip


def is_running(value: Any) -> bool:
    """True for iterators and errors, which hold what is not theirs."""
    return isinstance(value, (*_ITERATORS, types.GeneratorType, BaseException))


def taken_over(value: Any, take: Take, functions: Iterable[Any]) -> Any:
    """``value`` with what it holds taken; a generator of one of ``functions`` begins anew.

    None for a generator that cannot.
    """
    if isinstance(value, BaseException):
        raised(value, take)
        return value
    if type(value) is not types.GeneratorType:
        kind, parts, *state = value.__reduce__()
        made = kind(*[_part(part, take) for part in parts])
        if hasattr(made, "__setstate__"):
            for one in state:
                made.__setstate__(one)
        else:
            for _ in range(state[0] if state else 0):
                next(made)
        return made
    code = as_written(value.gi_code)
    made_by = [f for f in functions if getattr(unwrapped(f), "__code__", None) is code]
    if len(made_by) != 1 or inspect.getgeneratorstate(value) != inspect.GEN_CREATED:
        return None
    return _begun_anew(unwrapped(made_by[0]), _variables(value), take)


def _variables(generator: types.GeneratorType[Any, Any, Any]) -> dict[str, Any]:
    frame = generator.gi_frame
    return frame.f_locals if frame is not None else {}


def _part(part: Any, take: Take) -> Any:
    return tuple([take(one) for one in part]) if type(part) is tuple else take(part)


def _begun_anew(function: types.FunctionType, given: dict[str, Any], take: Take) -> Any:
    """The generator that ``function`` returns for arguments by their names."""
    code = function.__code__
    names = iter(code.co_varnames)
    positional = [take(given[next(names)]) for _ in range(code.co_argcount)]
    of_names = [next(names) for _ in range(code.co_kwonlyargcount)]
    named = {name: take(given[name]) for name in of_names}
    if code.co_flags & inspect.CO_VARARGS:
        positional += [take(one) for one in given[next(names)]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named |= {name: take(one) for name, one in given[next(names)].items()}
    return function(*positional, **named)


def step_by_step(generator: Any, take: Take) -> Any:
    """What a generator gives that has begun on NumPy's memory."""
    while True:
        in_force().flush()
        try:
            value = next(generator)
        except StopIteration as end:
            return take(end.value)
        yield take(value)


def raised(error: BaseException | None, take: Take) -> None:
    """Take the arguments of an error, and of those before it."""
    pending, seen = [error], set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if one.args:
            one.args = tuple([take(part) for part in one.args])
        pending += [one.__cause__, one.__context__]
