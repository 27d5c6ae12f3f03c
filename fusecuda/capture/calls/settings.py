"""Settings: what libraries are told for all calls, of which a trace supposes that it stays."""

from __future__ import annotations

import abc
import functools
import sys
import types
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

import numpy as np

Setting = Callable[[], Any]
_TEXTS = frozenset((  # names of what makes texts
    *("str", "repr", "format", "__str__", "__repr__", "__format__", "get_printoptions"),
    *("array2string", "array_str", "array_repr"),
))  # fmt: skip
_ASKING = frozenset({"isinstance", "issubclass", "match"})  # what a value is: bases may register it
# NumPy 2.3 and newer keep them in a context variable, of which the stubs do not tell.
_printing = getattr(np._core, "printoptions", None)  # type: ignore[attr-defined]
_options = getattr(_printing, "format_options", None)
print_options: Setting = np.get_printoptions if _options is None else _options.get


def makes_texts(operator: str, code: types.CodeType) -> bool:
    """True if ``operator`` may fill in a text: most often it is the remainder of numbers."""
    return operator == "%" and any(type(c) is str and "%" in c for c in code.co_consts)


def settings_of(
    names: Set[str], seen: Iterable[tuple[Any, Any]], classes: Iterable[type],
    functions: Sequence[Any], catches: bool,
) -> list[tuple[Setting, Any]]:  # fmt: skip
    """What code with ``names`` depends on, and what that is now.

    It reads values that places were ``seen`` to hold, may reach ``classes``, and look for
    attributes of ``functions``, also of those without if it ``catches`` errors.
    """
    values = [value for _, value in seen]
    found: list[Setting] = [print_options] if names & _TEXTS else []
    if names & _ASKING or any(isinstance(value, abc.ABCMeta) for value in values):
        found.append(abc.get_cache_token)
    if "__subclasses__" in names:
        found += [functools.partial(type.__subclasses__, kind) for kind in classes]
    if catches or names & {"getattr", "hasattr"}:
        found += [_attributes_of(vars(function)) for function in functions]
    found += [functools.partial(_chosen_among, v) for v in values if is_dispatcher(v)]
    special: Any = sys.modules.get("scipy.special")
    if special is not None and any(_is_special(value, special) for value in values):
        found.append(special.geterr)
    return [(setting, setting()) for setting in found]


def _attributes_of(space: dict[str, Any]) -> Setting:
    """What tells the names of the attributes in ``space``, or as quickly that there are none."""
    return (lambda: frozenset(space)) if space else space.__len__


def is_dispatcher(value: Any) -> bool:
    """True for what `functools.singledispatch` makes."""
    return isinstance(value, types.FunctionType) and hasattr(value, "registry")


def _chosen_among(dispatcher: Any) -> tuple[Any, ...]:
    """The functions that ``dispatcher`` may call, and the classes that they are for."""
    return tuple(dispatcher.registry.items())


def _is_special(value: Any, special: Any) -> bool:
    """True for the module ``special`` of SciPy, and for a ufunc of it."""
    if isinstance(value, np.ufunc):
        return getattr(special, value.__name__, None) is value
    return value is special
