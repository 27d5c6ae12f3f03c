"""What gives an array itself where it lies as asked for: writes go where CuPy's go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from tests import cupy_host  # noqa: E402 - it needs CuPy
from tests.tape_check import check  # noqa: E402

cupy_host.install()
pytestmark = pytest.mark.usefixtures("where_they_stand")
_PARTS: list[Any] = [
    lambda x: x, lambda x: x[2:], lambda x: x[::2], lambda x: x[:, 1:], lambda x: x[1],
    lambda x: x.T, lambda x: x[:, 2], lambda x: x[1:2, ::2], lambda x: x[::-1], lambda x: x[2:2],
    lambda x: x.reshape(-1)[3:9], lambda x: (x * 2)[1:], lambda x: (x + 1).T,
]  # fmt: skip
_MAKE: list[Any] = [
    lambda m, x: m.ascontiguousarray(x),
    lambda m, x: m.ascontiguousarray(x, np.float32),
    lambda m, x: m.ascontiguousarray(x, dtype=np.float64),
    lambda m, x: x.astype("f8", copy=False),
    lambda m, x: x.astype("f8", order="C", copy=False),
    lambda m, x: x.astype("f8", order="A", copy=False),
    lambda m, x: m.asarray(x, dtype="f8"),
    lambda m, x: m.array(x),
    lambda m, x: x.conj(),
    lambda m, x: x.conjugate(),
]


def _written(make: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    def write(m: Any, x: Any, part: Callable[[Any], Any]) -> Any:
        x *= 2  # which is pending
        made = make(m, part(x))
        made += 10
        return made, x * 2

    return write


@pytest.mark.parametrize("make", _MAKE, ids=range(len(_MAKE)))
def test_writes_go_where_they_go_without_us(make: Any) -> None:
    """Twice: what is known by then is followed."""
    for part in _PARTS * 2:
        check(_written(make), np.arange(24.0).reshape(4, 6), part)
