"""What several kernels would pass over rows for is done in one, and rows' values are no arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc

X, Y = np.random.default_rng(5).normal(size=(2, 300, 70))


def gradients(x: Any, y: Any) -> Any:
    """As of a layer norm: the last sums go across rows."""
    d = x - np.mean(x, axis=1, keepdims=True)
    scale = 1.0 / np.sqrt(np.mean(d * d, axis=1, keepdims=True) + 1e-5)
    hat = d * scale
    first, second = y.mean(axis=1, keepdims=True), (y * hat).mean(axis=1, keepdims=True)
    return scale * (y - first - hat * second), (y * hat).sum(axis=0), y.sum(axis=0)


def places(x: Any, y: Any) -> Any:
    """Where the largest stand along the other axis is found by another kernel."""
    d = x - np.mean(x, axis=1, keepdims=True)
    hat = d / np.sqrt(np.mean(d * d, axis=1, keepdims=True) + 1e-5)
    return (y * hat).mean(axis=1), (y * hat).argmax(axis=0)


def beside(x: Any, y: Any) -> Any:
    """Sums of arrays that have nothing else in common."""
    return x.sum(axis=1) * y.max(axis=1)


@pytest.mark.parametrize(("function", "launches"), [(gradients, 1), (beside, 1)])
def test_launches(function: Any, launches: int) -> None:
    """Reductions that are read together share a kernel, which has all it needs of a row."""
    executable = fc.lower(function, X, Y)
    assert executable.launches == launches
    found, expected = executable(X, Y), function(X, Y)
    pairs = zip(found, expected, strict=True) if function is gradients else [(found, expected)]
    assert all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in pairs)


def test_what_rows_have_in_common_is_stored_once_for_each() -> None:
    """Not as often as it is read: a broadcast is no array between kernels."""
    plan = fc.lower(places, X, Y).assembly.plan
    assert plan.between()
    assert all(node.size <= len(X) for node in plan.between())
