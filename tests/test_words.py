"""Counts in words agree with what they count."""

from __future__ import annotations

import pytest

from fusecuda.words import counted


@pytest.mark.parametrize(
    ("count", "word", "text"),
    [
        (1, "kernel", "1 kernel"),
        (0, "kernel", "0 kernels"),
        (1, "launch", "1 launch"),
        (1234, "launch", "1,234 launches"),
        (2, "flush", "2 flushes"),
        (2, "pass", "2 passes"),
        (2, "entry", "2 entries"),
        (2, "way", "2 ways"),
    ],
)
def test_counted(count: int, word: str, text: str) -> None:
    assert counted(count, word) == text
