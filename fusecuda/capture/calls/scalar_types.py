"""Types that are called: ``np.float32`` and its like, and ``np.ndarray``, in code that is recorded.

NumPy's own types ask what they are given for its memory, or for a value. A function that does
nothing with such a type but call it sees NumPy's module with functions in their place, which
record. Where it is a dtype as well, or is compared, it stays what it is.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.dtypes import kind_of
from ..arrays.array import Array
from ..arrays.creators import of_memory, seen_with
from ..arrays.dispatch import raising
from ..record.numbers import NUMBERS, TracedScalar, followed
from .bytecode import GLOBALS

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_BY_TEXT = frozenset({"getattr", "hasattr", "vars", "attrgetter", "methodcaller", "__dict__"})


def _conversion(kind: Any) -> Callable[..., Any]:
    """``kind``, a type of NumPy's numbers, of lazy arrays and followed numbers, too."""
    of_number = followed(kind)

    def convert(*args: Any, **kwargs: Any) -> Any:
        value = args[0] if len(args) == 1 and not kwargs else None
        if type(value) is TracedScalar:
            return of_number(value)
        if type(value) is not Array or kind_of(value.dtype) not in "fiub" or raising():
            return kind(*args, **kwargs)
        made = value if value.dtype == kind else value.astype(kind)
        return made if made.ndim else made[()]

    return convert


_KINDS = {
    name: kind for name, kind in vars(np).items()
    if isinstance(kind, type) and issubclass(kind, np.integer | np.floating) and kind in NUMBERS
}  # fmt: skip
_CONVERSIONS = {name: _conversion(kind) for name, kind in _KINDS.items()}
_CONVERSIONS["ndarray"] = of_memory(np.ndarray)


def module_for(name: str, module: Any, codes: Sequence[types.CodeType]) -> Any:
    """``module``, NumPy or what stands for it, as ``codes`` may see it, which call it ``name``."""
    called: set[str] = set()
    for code in codes:
        if not _CONVERSIONS.keys().isdisjoint(code.co_names):
            if not _BY_TEXT.isdisjoint(code.co_names):
                return module
            called |= _CONVERSIONS.keys() & set(code.co_names)
    only = {k for k in called if all(_only_called(k, name, code) for code in codes)}
    return seen_with(module, {k: _CONVERSIONS[k] for k in only}) if only else module


@functools.lru_cache(maxsize=1024)
def _only_called(kind: str, module: str, code: types.CodeType) -> bool:
    """True if the code takes ``kind`` from the global ``module`` alone, and calls it."""
    if kind not in code.co_names:
        return True
    every = [i for i in dis.get_instructions(code) if i.opname not in ("EXTENDED_ARG", "CACHE")]
    around = zip([None, None, *every], [None, *every], every, [*every[1:], None], strict=False)
    return all(_calls(module, *some) for some in around if some[2].argval == kind)


def _calls(module: str, first: Any, before: Any, load: Any, after: Any) -> bool:
    """True if ``load`` gets what is called, of the global ``module``; on each Python since 3.11."""
    if before is None or before.opname not in GLOBALS or before.argval != module:
        return False
    if load.opname not in _ATTRIBUTES or after is None or after.opname in _ATTRIBUTES:
        return False
    with_null = "NULL" in before.argrepr or "NULL" in load.argrepr
    pushed = "PUSH_NULL" in (after.opname, first.opname if first is not None else "")
    return load.opname == "LOAD_METHOD" or with_null or pushed
