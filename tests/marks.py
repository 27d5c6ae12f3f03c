"""Marks: of many alike, a few run by default and the others with the slow tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def few(values: Iterable[Any], count: int) -> list[Any]:
    """``values`` as parameters, all after the first ``count`` marked slow."""
    return [
        value if i < count else pytest.param(value, marks=pytest.mark.slow)
        for i, value in enumerate(values)
    ]


def chosen(values: Iterable[Any], usual: Collection[Any]) -> list[Any]:
    """``values`` as parameters, all but the ``usual`` ones marked slow."""
    return [v if v in usual else pytest.param(v, marks=pytest.mark.slow) for v in values]
