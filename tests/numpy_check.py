"""What the tests of fusecuda.numpy compare with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.graph.dtypes import is_numeric, kind_of
from fusecuda.streams.launches import LaunchCounter


def assert_same(found: Any, expected: Any) -> None:
    """Same type of container, dtype, shape and bits (NaN being NaN)."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e)
        return
    if isinstance(expected, np.ndarray | np.generic):
        if not is_numeric(expected.dtype):  # text, dates and objects stay NumPy's
            assert type(found) is type(expected), type(found)
            np.testing.assert_array_equal(found, expected)
            return
        assert type(found) is fc.Array, type(found)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        values = np.asarray(found)
        np.testing.assert_array_equal(values, expected)
        if kind_of(values.dtype) == "f":
            np.testing.assert_array_equal(np.signbit(values), np.signbit(expected))
        return
    assert type(found) is type(expected)
    assert found == expected


def assert_as_numpy(name: str, *args: Any, **kwargs: Any) -> None:
    """The same result, or the same type of error, as NumPy's function of that name."""
    try:
        expected = getattr(np, name)(*args, **kwargs)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(fnp, name)(*args, **kwargs)
        return
    assert_same(getattr(fnp, name)(*args, **kwargs), expected)


def lazily(make: Any) -> Any:
    """What ``make()`` gives, having launched nothing."""
    with LaunchCounter() as count:  # of ours: NumPy may make constants for what is recorded
        result = make()
    assert count.total == 0, dict(count.by_name)
    return result
