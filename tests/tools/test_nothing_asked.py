"""While nobody counts, measures, logs or checks, a warm call runs no code for it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fusecuda as fc

PACKAGE = Path(fc.__file__).parent
SEEING = {"tools", "cases", "logging", "watch.py", "why.py"}


def function(x: np.ndarray) -> Any:
    return np.sqrt(x * x + 1.0) - x


def called(call: Callable[[], Any]) -> list[types.CodeType]:
    """The Python functions that ``call`` calls, itself among them."""
    found: list[types.CodeType] = []

    def note(frame: types.FrameType, event: str, arg: object) -> None:
        if event == "call":
            found.append(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def of_seeing(codes: list[types.CodeType]) -> set[str]:
    """The names of those in the package, or of Python's logging, that serve to see what happens."""
    found = set()
    for code in codes:
        path = Path(code.co_filename)
        parts = path.relative_to(PACKAGE).parts if path.is_relative_to(PACKAGE) else path.parts
        if {*parts[:1], *parts[-2:]} & SEEING and path != Path(__file__):
            found.add(code.co_qualname)
    return found


def test_a_warm_call_is_a_replay_and_no_more() -> None:
    fused, x = fc.fused(strict=True)(function), np.linspace(0, 1, 1000)
    for _ in range(20):
        fused(x)
    codes = called(lambda: fused(x))
    assert not of_seeing(codes)
    names = [code.co_qualname for code in codes]
    assert len(codes) <= 7, names  # this lambda, the call, its replay, what it runs
    with fc.count_launches():
        assert of_seeing(called(lambda: fused(x)))
    assert called(lambda: fused(x))[1:] == codes[1:]
    exe = fc.lower(function, x)
    exe.run([x])  # as a call is run whose arguments the driver does not look at
    assert not of_seeing(called(lambda: exe.run([x])))
