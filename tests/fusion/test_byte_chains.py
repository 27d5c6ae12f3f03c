"""What is computed from a byte alone is looked up, and has the bits of the computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.marks import one_in
from tests.strategies import same_bits

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def gamma(x: Any, y: Any) -> Any:
    return (255.0 * (x / 255.0) ** 0.45 + 0.5).astype(np.float32)


def of_two(x: Any, y: Any) -> Any:
    """A table for each of two bytes, whose values meet each other and the bytes themselves."""
    waves = np.exp(np.cos(y * 0.1)) ** 1.5
    return np.log1p(abs(np.sin(x * 0.1))) * np.cbrt(x * 1.5) * waves - x + (y > 3)


def twice(x: Any, y: Any) -> Any:
    """Two values of one byte, one of them on the way to the other."""
    root = np.cbrt(x * 1.0) ** 1.5
    return root * y, np.sin(root) ** 0.75 + y


def beside_numbers(x: Any, y: Any) -> Any:
    """With what is one number for all elements, and a byte that is written too."""
    scale = float(len(y))
    return np.arctan2(np.sqrt(x + scale * 0.001), scale) + np.expm1(x * 0.01), x ^ y


PROGRAMS = (gamma, of_two, twice, beside_numbers)


def operands(dtype: str, step: int = 1, rows: int = 100) -> tuple[Any, Any]:
    """An array with all bytes, and one row for all rows."""
    x = np.resize(np.arange(256, dtype=np.uint8).view(dtype), (rows, 80 * abs(step)))[:, ::step]
    return x, np.broadcast_to(np.arange(80, dtype=np.uint8).view(dtype), x.shape)


def has_table(program: Callable[..., Any], *arrays: Any) -> bool:
    return any("table" in kernel.source for kernel in fc.lower(program, *arrays).kernels)


@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@one_in(24)
def test_values(program: Callable[..., Any], dtype: str) -> None:
    """They are those of the same numbers in 16 bits, forwards, backwards and by steps."""
    for step in (1, 3, -1):
        arrays = operands(dtype, step)
        wide = [a.astype(f"{dtype[0]}2") for a in arrays]
        assert has_table(program, *arrays) and not has_table(program, *wide)
        found, wanted = (fc.lower(program, *given)(*given) for given in (arrays, wide))
        for a, b in zip(_listed(found), _listed(wanted), strict=True):
            assert same_bits(a, b.astype(a.dtype))


def _listed(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def test_tables_are_for_many_elements_of_bytes_and_costly_chains() -> None:
    """Elsewhere, and where no value is of one byte alone, each element is computed."""
    x, y = operands("u1")
    assert has_table(gamma, x, y)
    assert not has_table(gamma, x[:10], y[:10])
    assert not has_table(gamma, x.astype(np.uint16), y)
    assert not has_table(lambda x, y: x * 0.5 + 1, x, y)
    assert not has_table(lambda x, y: (x * 0.5 + y) ** 0.45, x, y)


def test_remainders_are_computed() -> None:
    """Of narrow integers they are few products, made by vectors; with more a table pays again."""
    x = np.arange(5000, dtype=np.uint8)
    for function, tabled in (
        (lambda x: x % 7, False),
        (lambda x: x // 9, False),
        (lambda x: (x % 7) ** 2.2, True),
    ):
        (text,) = fc.lower(function, x).emit("c")
        assert ("[256]" in text) == tabled
