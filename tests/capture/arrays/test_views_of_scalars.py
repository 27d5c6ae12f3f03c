"""What is made of a scalar is memory of its own: writes to it leave the scalar as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.marks import one_in

VIEWS: dict[str, Callable[[Any], Any]] = {
    "new_axis": lambda s: s[None],
    "new_axis_behind_all": lambda s: s[..., None],
    "ellipsis": lambda s: s[...],
    "reshape": lambda s: s.reshape(1),
    "reshaped": lambda s: np.reshape(s, (1, 1)),
    "ravel": lambda s: s.ravel(),
    "raveled": np.ravel,
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "expand_dims": lambda s: np.expand_dims(s, 0),
    "of_a_part": lambda s: s.real[None],
    "of_a_view": lambda s: np.squeeze(s[None, ...]),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "set": lambda v: v.__setitem__(..., 2),
    "add": lambda v: np.add(v, 1, out=v),
    "putmask": lambda v: np.putmask(v, v > 0, 2),
    "copyto": lambda v: np.copyto(v, 2),
}
X = np.arange(50_000.0) + 1


def _of(view: Any, write: Any) -> Any:
    def function(x: Any) -> Any:
        total = x.sum()
        shown = view(total)
        write(shown)
        return total * 1, shown

    return function


def _in_a_block(function: Any, x: Any) -> Any:
    with fc.fused(strict=True):
        found = function(fnp.asarray(x) * 1.0)
    return found


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "fused": lambda function, x: [fc.fused(function)(x) for _ in range(2)][-1],
    "block": _in_a_block,
    "lazy": lambda function, x: function(fnp.asarray(x)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("view", VIEWS)
@one_in(12)
def test_writes_leave_the_scalar_as_it_is(view: str, way: str) -> None:
    """However the array is made and written to."""
    for write in WRITES.values():
        function = _of(VIEWS[view], write)
        for got, want in zip(WAYS[way](function, X), function(X), strict=True):
            np.testing.assert_array_equal(np.asarray(got), want)
            assert np.shape(got) == np.shape(want)


@pytest.mark.parametrize("way", WAYS)
def test_scalars_take_no_items(way: str) -> None:
    """However the item is named, the error is NumPy's, and nothing is written."""

    def function(x: Any) -> Any:
        total, said = x.sum(), []
        for key in (..., (), 0, None):
            try:
                total[key] = 2
            except TypeError as error:
                said.append(len(str(error)))
        return total * 1, said

    (got, said), (want, expected) = WAYS[way](function, X), function(X)
    np.testing.assert_array_equal(np.asarray(got), want)
    assert said == expected and len(said) == 4


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.cumsum(x, out=x[0]),
        lambda x: np.cumsum(x[1], axis=0, out=x[0]),
        lambda x: x.cumprod(out=x.sum()),
        lambda x: np.maximum.accumulate(x, out=x.max()),
        lambda x: np.median(x, out=x[0]),
        lambda x: np.add(x[1], 1, out=x[0]),
    ],
)
def test_scalars_are_nothing_to_write_to(write: Any) -> None:
    """NumPy's error is raised; given memory of no axes its running sums end the process."""
    with pytest.raises(TypeError) as wanted:
        write(X)
    function = fc.fused(write)
    for _ in range(2):
        with pytest.raises(TypeError) as raised:
            function(X.copy())
        assert str(raised.value) == str(wanted.value)
