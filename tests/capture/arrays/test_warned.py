"""Warnings of NumPy's functions on lazy arrays: of the user's line, by the user's filters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda.numpy as fnp

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda m, x: m.ones(3) / 0,
    "in place": lambda m, x: m.ones(3).__itruediv__(0),
    "ufunc": lambda m, x: m.log(-1 - 0 * m.ones(3)),
    "method of a ufunc": lambda m, x: m.divide.outer(m.ones(2), m.zeros(2)),
    "method": lambda m, x: m.ones(0).mean(),
    "function": lambda m, x: m.nanmean(x),
    "function of NumPy's": lambda m, x: np.nanmedian(x),
    "outside the table": lambda m, x: m.corrcoef(m.ones((2, 3))),
}


def warned(call: Callable[[Any, Any], Any], module: Any, action: Any) -> list[Any]:
    """What each of two lines warns of, three times each: category, text, file and line."""
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        for _ in range(3):
            call(module, module.array([1.0, 0, 2]) * np.nan)
            call(module, module.array([1.0, 0, 2]) * np.nan)
    return [(w.category, str(w.message), w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("action", ["default", "always", "module", "once"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_warnings_name_the_users_line(call: Any, action: str) -> None:
    """As often as NumPy's, and of the same lines."""
    want = warned(call, np, action)
    assert want
    assert warned(call, fnp, action) == want


def test_filters_are_of_the_users_module() -> None:
    """A filter for the module that calls is one for what it has computed."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", module=__name__)
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            fnp.ones(3) / 0
        warnings.filterwarnings("ignore", module=__name__)
        fnp.ones(3) / 0
    assert not found
