"""What gives an array itself where it lies as asked for: writes go where CuPy's go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402 - it needs CuPy
from tests import cupy_host  # noqa: E402 - it needs CuPy
from tests.tape_check import check  # noqa: E402 - it needs CuPy

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


ROWS: dict[str, Callable[[Any], Any]] = {
    "copy": lambda x: x.T.copy(),
    "copy C": lambda x: x.T.copy(order="C"),
    "ascontiguousarray": lambda x: cp.ascontiguousarray(x.T),
    "operator": lambda x: x.T * 2,
    "power": lambda x: x.T**2,
    "clip": lambda x: x.T.clip(0, 1),
    "round": lambda x: x.T.round(1),
    "where": lambda x: cp.where(x.T > 0, x.T, 0),
    "two results": lambda x: cp.modf(x.T)[0],
    "concatenate": lambda x: cp.concatenate([x.T, x.T]),
    "stack": lambda x: cp.stack([x.T, x.T]),
    "reduction": lambda x: x[None].T.sum(axis=2),
}


@pytest.mark.parametrize("name", ROWS)
def test_new_arrays_lie_in_rows(name: str) -> None:
    """As CuPy's do, whatever they are made of: a kernel of the user's may count on it."""
    values = np.random.default_rng(4).standard_normal((4, 3))
    for _ in range(2):
        with fused(device="cpu"):
            made = ROWS[name](cupy_host.host(values))
            assert made.flags.c_contiguous
            assert cp.copy(made.T).strides == made.T.strides  # which keeps the order
            flat = made.ravel("F")
        seen = cupy_host.seen(made)
        np.testing.assert_array_equal(cupy_host.seen(flat), seen.ravel("F"))


LIKE: dict[str, Callable[[Any], Any]] = {
    "nan_to_num": lambda x: cp.nan_to_num(x.T),
    "copy of what repeats": lambda x: cp.copy(cp.broadcast_to(x[0], (4, 3))),
    "cast of what repeats": lambda x: cp.broadcast_to(x[0], (4, 3)).astype("f8"),
    "like what repeats": lambda x: cp.zeros_like(cp.broadcast_to(x[0], (4, 3))),
}


@pytest.mark.parametrize("name", LIKE)
def test_what_is_made_like_an_array_lies_like_it(name: str) -> None:
    """Axes along which that repeats vary fastest."""
    for _ in range(2):
        with fused(device="cpu", strict=True):
            made = LIKE[name](cupy_host.host(np.ones((4, 3))))
        assert made.flags.f_contiguous and not made.flags.c_contiguous
