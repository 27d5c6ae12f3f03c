"""Whether two worlds are alike: values, types, and which arrays share memory."""

from __future__ import annotations

import enum
import io
import pathlib
import random
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

PRECISION = {np.dtype(t): tolerance for t, tolerance in
             ((np.float16, 1e-2), (np.float32, 1e-5), (np.complex64, 1e-5))}  # fmt: skip
TOLERANCE = 1e-12  # of float64: sums may be taken in another order
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, np.ufunc, property)
_SHARING_LIMIT = 60  # arrays of which it is asked who shares memory with whom


def differences(got: Any, want: Any, where: str = "result") -> list[str]:
    """What is different between two things, the first few of it; [] if nothing is."""
    found: list[str] = []
    pairs: dict[int, int] = {}
    arrays: list[tuple[str, Any, Any]] = []
    for place, a, b, why in _walk(got, want, where, pairs, arrays):
        found.append(f"{place}: {why} ({_short(a)}, not {_short(b)})")
        if len(found) >= 3:
            return found
    for i, (place, a, b) in enumerate(arrays[:_SHARING_LIMIT]):
        for other, c, d in arrays[:i]:
            if np.may_share_memory(a, c) != np.may_share_memory(b, d):
                not_ = "" if np.may_share_memory(a, c) else "do not "
                found.append(f"{place} and {other} {not_}share memory")
    return found[:3]


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    text = repr(value)
    return text if len(text) < 90 else f"{text[:90]}…"


def _kind(value: Any) -> str:
    """The type's name; a program loaded twice has each of its types twice."""
    kind = type(value)
    own = kind.__module__.startswith("real_code_")
    return kind.__qualname__ if own else f"{kind.__module__}.{kind.__qualname__}"


Difference = tuple[str, Any, Any, str]


def _walk(
    got: Any, want: Any, where: str, pairs: dict[int, int], arrays: list[Any]
) -> Iterator[Difference]:
    if _kind(got) != _kind(want):
        yield where, got, want, f"a {_kind(got)} instead of a {_kind(want)}"
        return
    if isinstance(want, _CODE) or want is None:
        return
    if not isinstance(want, int | float | complex | str | bytes | np.generic | tuple):
        known = pairs.setdefault(id(want), id(got))
        if known != id(got):
            yield where, got, want, "not the object that it is elsewhere"
            return
    if isinstance(want, np.ndarray | np.generic | float | complex):
        if type(want) is np.ndarray:
            arrays.append((where, got, want))
        yield from _numbers(got, want, where)
        return
    plain = _plain(want)
    if plain is not None:
        if _plain(got) != plain:
            yield where, _plain(got), plain, "different"
        return
    ours, theirs = _parts(got), _parts(want)
    if list(ours) != list(theirs):
        yield where, list(ours), list(theirs), "other parts"
        return
    for name, value in theirs.items():
        yield from _walk(ours[name], value, f"{where}{name}", pairs, arrays)


def _numbers(got: Any, want: Any, where: str) -> Iterator[Difference]:
    a, b = np.asarray(got), np.asarray(want)
    if a.dtype != b.dtype or a.shape != b.shape:
        yield where, got, want, "another dtype or shape"
        return
    if isinstance(want, np.ndarray) and got.flags.writeable != want.flags.writeable:
        yield where, got.flags.writeable, want.flags.writeable, "writeable or not"
    if b.dtype.kind not in "fc":
        if not np.array_equal(a, b):
            wrong = np.argwhere(a != b)
            yield where, got, want, f"{len(wrong)} elements differ, the first at {wrong[0]}"
        return
    if b.size == 0:
        return
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        yield where, got, want, "not finite at other places"
        return
    if finite.any():
        scale = np.abs(b[finite]).max()
        off = np.abs(a[finite] - b[finite])
        limit = PRECISION.get(b.dtype, TOLERANCE) * scale
        if (off > limit).any():
            yield where, got, want, f"{(off > limit).sum()} elements off by up to {off.max():.3g}"


def _plain(value: Any) -> Any:
    """What can be compared as it is, of a value that has no parts to be looked into."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, io.BytesIO | io.StringIO):
        return value.getvalue()
    if isinstance(value, pathlib.Path):
        return value.read_bytes() if value.exists() else b""
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, dict | list | tuple | BaseException) or hasattr(value, "__dict__"):
        return None
    return None if hasattr(value, "__slots__") else repr(value)


def _parts(value: Any) -> dict[str, Any]:
    """What is inside, by how one gets there."""
    if isinstance(value, dict):
        return {f"[{k!r}]": v for k, v in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{i}]": v for i, v in enumerate(value)}
    if isinstance(value, BaseException):
        return {".args": value.args, ".text": str(value)}
    slots = [s for s in getattr(type(value), "__slots__", ()) if hasattr(value, s)]
    names = dict.fromkeys([*slots, *getattr(value, "__dict__", {})])
    return {f".{n}": getattr(value, n) for n in names}
