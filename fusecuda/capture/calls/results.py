"""Results: what a fused function returns, with NumPy arrays for the lazy ones in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..record.numbers import TracedScalar
from ..record.storage import Storage
from .guard import ReplayWriter
from .places import is_constant
from .reads import is_pure

Given = Callable[[Any], tuple[str, Any] | None]


def storages_in(result: Any) -> list[Storage]:
    """The storages of the lazy arrays in a returned structure, each once."""
    found: list[Storage] = []
    stack = [result]
    while stack:
        value = stack.pop()
        if isinstance(value, Array):
            if not any(value.storage is s for s in found):
                found.append(value.storage)
        elif isinstance(value, list | tuple):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            stack.extend(reversed(list(value.values())))
    return found


def finished(result: Any, given: Given, inside: bool = False) -> Any:
    """A returned structure with every lazy array computed, as the user gets it."""
    if isinstance(result, Array):
        result.compute()
        storage = result.storage
        assert storage.buffer is not None
        array = result.view_of_storage.of(storage.buffer)
        return array[()] if result.is_scalar else array
    if type(result) is TracedScalar:
        return result.value
    known = None if inside else given(result)
    if known is not None:
        return known[1]
    if type(result) in (list, tuple):
        return type(result)(finished(v, given) for v in result)
    if isinstance(result, tuple) and hasattr(result, "_make"):
        return result._make(finished(v, given) for v in result)
    if type(result) is dict:
        return {finished(k, given): finished(v, given) for k, v in result.items()}
    if type(result) in (set, frozenset):
        return type(result)(finished(v, given) for v in result)
    return result


def result_text(
    result: Any,
    writer: ReplayWriter,
    given: Given,
    array_text: Callable[[Any], str | None],
) -> str | None:
    """Text that puts the result of a replay together, or None if it holds something unknown.

    ``array_text`` gives that for an array, None for another value; it raises TypeError for an array
    that is not known.
    """

    def text(value: Any) -> str:
        array = array_text(value)
        if array is not None:
            return array
        if type(value) is TracedScalar:
            return writer.scalar(value)
        known = given(value)
        if known is not None:
            return known[0]
        if type(value) in (list, tuple) or hasattr(value, "_make"):
            maker = writer.constant(type(value)) if hasattr(value, "_make") else ""
            inner = "".join(text(v) + ", " for v in value)
            return f"[{inner}]" if type(value) is list else f"{maker}({inner})"
        if type(value) is dict:
            parts = (f"{writer.constant(k)}: {text(v)}" for k, v in value.items())
            return f"{{{', '.join(parts)}}}"
        if type(value) is np.ndarray:
            return f"{writer.constant(value)}.copy()"
        if is_constant(value) or is_pure(value):
            return writer.constant(value)
        raise TypeError(type(value).__name__)

    try:
        return text(result)
    except TypeError:
        return None


def lazy_text(
    value: Any,
    writer: ReplayWriter,
    made: Mapping[int, str],
    memory: Mapping[int, str],
    whole: Mapping[int, str],
) -> str | None:
    """Text for a lazy array in a result; None for another value.

    ``made`` names the computed array of a storage, ``memory`` an argument's memory, ``whole`` the
    arguments themselves by the lazy arrays that stood for them.
    """
    if not isinstance(value, Array):
        return None
    if id(value) in whole:
        return whole[id(value)]
    key = id(value.storage)
    view = value.view_of_storage
    if key in made:
        text = made[key]
        if not (view.is_whole() and view.shape == value.storage.shape):
            text = f"{writer.constant(view)}.of({text})"
    else:
        text = f"{writer.constant(view)}.of({memory[key]})"
    return f"{text}[()]" if value.is_scalar else text
