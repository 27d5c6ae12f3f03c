"""Outcomes of functions that NumPy computes in a replay: their parts, and what is seen of them.

So are those of functions that keep what they give for the next call with equal arguments
(`functools.lru_cache`). Arrays among these are the cache's own: each call gives them, whole, and
what is written to them stays.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph.dtypes import is_supported
from ..record.numbers import NUMBERS
from ..record.structure import HEIR_OF_TUPLE, LIST, NAMED, TUPLE, Kind, kind_of, leaves
from ..record.view import View, address_of, displaced, is_writeable, outermost_first
from .impure import methods_of
from .path import Environment

NDArray = np.ndarray[Any, Any]
CACHED = type(functools.lru_cache(len))
Described = tuple[Any, tuple[Any, ...]]  # how a result is put together, and each part of it
PLAIN = (
    bool, type(Ellipsis), int, float, complex, str, type(None), np.generic, np.dtype, type,
    np.ufunc, View,
)  # fmt: skip


class ViewOf(NamedTuple):
    """What a result shows of the memory of an array that was given, ``at`` bytes behind it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    at: int
    writeable: bool

    def of(self, memory: NDArray) -> NDArray:
        """The view of ``memory``, which has no gaps if it is of another dtype."""
        if memory.dtype != self.dtype:
            flat = memory.reshape(-1, order="A")
            return np.ndarray(self.shape, self.dtype, flat, self.at, self.strides)
        start = np.lib.stride_tricks.as_strided(memory, (1,) * memory.ndim or (1,))
        first = displaced(start, self.at)
        return np.lib.stride_tricks.as_strided(first, self.shape, self.strides)


def call_flat(
    func: Any, tight: bool, called: Callable[..., Any], values: Sequence[Any]
) -> list[Any]:
    """How the result of a call is put together, and its parts; or the error raised.

    If they are to be ``tight``, arrays that are no views are contiguous; the result may have their
    axes in another order.
    """
    try:
        result = called(func, *values[0])
    except Exception as error:
        return ["raised", error]
    if type(result) is np.ndarray and (not tight or _is_behaved(result)):
        return ["part", result]
    leaf = functools.partial(_tight, values) if tight else _leaf
    structure, parts = _flattened(result, leaf=leaf)
    return [structure, *parts]


def _leaf(result: Any) -> tuple[Any, Any]:
    """How a part that is no container is put together, and itself; a number has rank 0."""
    if isinstance(result, np.generic) and is_supported(result.dtype):
        return "number", np.asarray(result)
    return "part", result


def _tight(values: Sequence[Any], result: Any) -> tuple[Any, Any]:
    """As `_leaf`, of an array that is no view of any in ``values`` one that is contiguous."""
    structure, part = _leaf(result)
    if not isinstance(part, np.ndarray) or _is_behaved(part):
        return structure, part
    given = (v for v in leaves(list(values)) if isinstance(v, np.ndarray))
    if any(np.may_share_memory(part, g) for g in given):
        return structure, part
    order = outermost_first(part.strides)
    made = np.require(part.transpose(order), requirements=["C", "W"])
    if order == tuple(range(part.ndim)):
        return structure, made
    return ("transposed", *np.argsort(order).tolist()), made


def _is_behaved(array: NDArray) -> bool:
    return array.flags.c_contiguous and array.flags.aligned and is_writeable(array)


def call_impure(impure: Any, tight: bool, called: Callable[..., Any], values: Any) -> list[Any]:
    """As `call_flat`, of what is ``impure``: before the arguments stands what it is now."""
    function, *given = values[0]
    return call_flat(function, tight, called, [given])


def _flattened(
    result: Any,
    kinds: Sequence[Kind] = (LIST, TUPLE, NAMED, HEIR_OF_TUPLE),
    leaf: Callable[[Any], tuple[Any, Any]] = _leaf,
) -> tuple[Any, list[Any]]:
    """How a result is put together, and its parts, of which ``leaf`` gives one.

    What has attributes for methods to look at stays whole: these would meet lazy arrays there.
    """
    kind = kind_of(result)
    if kind is not None and kind in kinds and not _is_whole(result):
        held = kind.parts(result)
        found = [_flattened(part, kinds, leaf) for _, part in held]
        names = tuple([name for (where, name), _ in held if where == "attribute"])
        head = (type(result), names) if names else type(result)
        return (head, *[s for s, _ in found]), [p for _, f in found for p in f]
    structure, part = leaf(result)
    return structure, [part]


def _is_whole(result: Any) -> bool:
    """True for a tuple with attributes, and methods other than those of named tuples."""
    kind: Any = type(result)
    return bool(kind_of(result) is HEIR_OF_TUPLE and vars(result)) and any(
        type(member) is types.FunctionType and not name.startswith("_")
        for base in kind.__mro__
        for name, member in vars(base).items()
    )


def put_together(structure: Any, parts: list[Any]) -> Any:
    """A result put together of its parts, which are taken from the list."""
    if type(structure) is tuple and structure[0] == "transposed":
        return parts.pop(0).transpose(structure[1:])
    if type(structure) is tuple:
        made = [put_together(s, parts) for s in structure[1:]]
        if type(structure[0]) is tuple:
            kind, names = structure[0]
            whole = tuple.__new__(kind, made[: -len(names)])
            whole.__dict__.update(zip(names, made[-len(names) :], strict=True))
            return whole
        return made if structure[0] is list else tuple.__new__(structure[0], made)
    part = parts.pop(0)
    if structure == "number":
        part.is_scalar = True
    return part


def described(slots: Sequence[int], loose: bool, start: int, environment: Environment) -> Described:
    """What a replay sees of the results of a call, which stand last in the environment."""
    structure, *parts = environment[start:]
    sources = [environment[slot] for slot in slots]
    return structure, tuple([_described_part(part, sources, loose) for part in parts])


def described_at(slot: int, loose: bool, environment: Environment) -> Described:
    """What a replay sees of what stands at ``slot``, which is no view."""
    return "part", (_described_part(environment[slot], (), loose),)


def _described_part(part: Any, sources: Sequence[NDArray], loose: bool) -> tuple[Any, ...]:
    if type(part) is np.ndarray and not part.dtype.hasobject:
        for i, source in enumerate(sources):
            if np.may_share_memory(part, source):
                at = address_of(part) - address_of(source)
                writeable = is_writeable(part) or not is_writeable(source)
                return "view", i, ViewOf(part.shape, part.dtype, part.strides, at, writeable)
        if loose and part.ndim:
            return "loose", part.ndim, part.dtype
        return "array", part.shape, part.dtype
    if type(part) in NUMBERS:
        return "number", type(part)
    if methods_of(type(part)):
        return "impure", type(part)
    if isinstance(part, Exception):
        return "raised", type(part), str(part)
    simple = isinstance(part, (*PLAIN, type(NotImplemented))) and type(part) is not slice
    return ("value", part) if simple else ("other", type(part))


def call_kept(func: Any, called: Callable[..., Any], values: Sequence[Any]) -> list[Any]:
    """As `call_flat`, of a function that keeps its results: they stay as they are."""
    try:
        result = called(func, *values[0])
    except Exception as error:
        return ["raised", error]
    structure, parts = _flattened(result, (TUPLE, NAMED))
    return [structure, *parts]


def described_kept(slots: Sequence[int], start: int, environment: Environment) -> Described:
    """As `described`, of a function that keeps its results; ``slots`` have those of calls before.

    Nothing else may share memory with them.
    """
    structure, *parts = environment[start:]
    arrays = [a for a in environment[:start] if isinstance(a, np.ndarray)]
    return structure, tuple([_described_kept(p, slots, arrays, environment) for p in parts])


def _described_kept(
    part: Any, slots: Sequence[int], arrays: Sequence[NDArray], environment: Environment
) -> tuple[Any, ...]:
    if type(part) is not np.ndarray:
        kind = _described_part(part, (), loose=False)
        return ("foreign", type(part)) if kind[0] == "other" else kind
    known = [slot for slot in slots if environment[slot] is part]
    if known:
        return "known", known[0]
    if not part.flags.c_contiguous or any(np.may_share_memory(part, a) for a in arrays):
        return "foreign", np.ndarray
    return "kept", part.shape, part.dtype, is_writeable(part)


def loosened(value: Described) -> Described:
    """What is seen of a result of which the extents do not matter."""
    structure, kinds = value
    if any(kind[0] == "view" for kind in kinds):
        return value
    return structure, tuple(
        ("loose", len(k[1]), k[2]) if k[0] == "array" and k[1] else k for k in kinds
    )
