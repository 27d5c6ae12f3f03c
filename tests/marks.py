"""Marks: of many alike, a few run by default and the others with the slow tests."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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


def in_turn(values: Sequence[Any]) -> Sequence[Any]:
    """All ``values``, or the part that FUSECUDA_TURN names: 0/4 to 3/4 of four equal ones."""
    part, parts = _turn()
    return values[part::parts]


def _turn() -> tuple[int, int]:
    part, parts = map(int, os.environ.get("FUSECUDA_TURN", "0/1").split("/"))
    return part, parts


one_in = pytest.mark.one_in  # `@one_in(5)`: by default every fifth set of parameters, see `sample`
at_length = pytest.mark.one_in(0)  # takes seconds: by default not at all
_ALIKE = 5  # sets of parameters, from which on about a sixth run where nothing else is said
_GOLDEN = 0.6180339887498949


def sample(items: Sequence[pytest.Item], asked: Collection[str]) -> set[pytest.Item]:
    """Marks slow what `one_in` leaves out, unless its test or it is ``asked`` for by its own id.

    What of it has another turn than FUSECUDA_TURN says is returned.

    Those that are slow anyway are not counted. The first runs, and of the others those that golden
    steps meet: they fall in with the period of no parameter, so each value of each parameter is
    among them where there are enough. FUSECUDA_TEST_MORE=3 makes it three times as many, for runs
    in which no slow tests take part.
    """
    usual = [item for item in items if item.get_closest_marker("slow") is None]
    alike = Counter(_name(item) for item in usual)
    seen: Counter[str] = Counter()
    more = float(os.environ.get("FUSECUDA_TEST_MORE", "1"))
    part, parts = _turn()
    others: set[pytest.Item] = set()
    for item in usual:
        name = _name(item)
        mark = item.get_closest_marker("one_in")
        count = mark.args[0] if mark else 6 if alike[name] >= _ALIKE else 1
        if not mark and "golden" in getattr(item, "fixturenames", ()):
            count = 1  # it is cheap, and an emitted text that changed shall be seen at once
        step = seen[name]
        seen[name] += 1
        left_out = not count or step * _GOLDEN % 1 >= more / count
        if left_out and not {name, item.nodeid} & set(asked):
            item.add_marker(pytest.mark.slow)
            if zlib.crc32(item.nodeid.encode()) % parts != part:  # whatever other tests there are
                others.add(item)
    return others


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
