"""Outputs: results of NumPy's functions, where ``out`` names the arrays that they are put into."""

from __future__ import annotations

from typing import Any

from .array import Array


def fitting(targets: tuple[Any, ...], result: Any) -> tuple[Any, ...] | None:
    """The parts of ``result``, one for each target, if they are such as the targets: else None.

    A function that is given its ``out`` may compute in the type of that.
    """
    parts = result if isinstance(result, tuple) else (result,)
    if result is NotImplemented or len(parts) != len(targets):
        return None
    known = all(_fits(t, part) for t, part in zip(targets, parts, strict=True))
    return parts if known else None


def _fits(target: Any, part: Any) -> bool:
    if not isinstance(part, Array) or part.is_loose:
        return False
    if target is None:
        return True
    return isinstance(target, Array) and (target.dtype, target.shape) == (part.dtype, part.shape)
