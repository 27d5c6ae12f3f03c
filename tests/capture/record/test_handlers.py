"""Handlers of signals that work with arrays in the midst of ours."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.calls.entry import Entries


@pytest.mark.timeout(20)
def test_a_handler_that_calls_the_same_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes where what is known of the function is looked up, which holds a lock."""
    function = fc.fused(lambda x: np.exp(x) + x.sum())
    results = []

    def handler(*args: Any) -> None:
        results.append(function(np.ones(2)))

    before = signal.signal(signal.SIGUSR1, handler)
    length = Entries.__len__

    def interrupted(self: Any) -> int:
        monkeypatch.setattr(Entries, "__len__", length)
        signal.raise_signal(signal.SIGUSR1)
        return length(self)

    monkeypatch.setattr(Entries, "__len__", interrupted)
    try:
        np.testing.assert_allclose(function(np.ones(3)), np.e + 3)
    finally:
        signal.signal(signal.SIGUSR1, before)
    np.testing.assert_allclose(results, [[np.e + 2] * 2])
