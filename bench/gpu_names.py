"""PyTorch's functions under NumPy's names and with NumPy's arguments, as the programs call them."""

from __future__ import annotations

from typing import Any

import torch

abs = torch.abs
exp = torch.exp
log = torch.log
sqrt = torch.sqrt


def sum(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The sum of all elements, or along an axis."""
    return torch.sum(x) if axis is None else torch.sum(x, dim=axis, keepdim=keepdims)


def mean(x: Any, axis: int, keepdims: bool = False) -> Any:
    """The mean along an axis."""
    return torch.mean(x, dim=axis, keepdim=keepdims)


def max(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The largest of all elements, or along an axis."""
    return torch.amax(x) if axis is None else torch.amax(x, dim=axis, keepdim=keepdims)


def argmax(x: Any, axis: int) -> Any:
    """Where the largest is along an axis."""
    return torch.argmax(x, dim=axis)
