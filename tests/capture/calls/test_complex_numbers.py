"""Complex numbers given, or kept in attributes, are followed as floats are."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused
from tests.marks import one_in

X = np.arange(1.0, 25.0).reshape(4, 6)
Z = X - 1j * X[::-1]
VALUES = [
    1 + 2j, complex(-0.0, 3.0), complex(0.0, -0.0), complex(2.0, math.inf), complex(math.nan, 1.0),
    -2j,
]  # fmt: skip


def _bits(value: Any) -> Any:
    """All bits, and the type; what is not a number is one value."""
    array = np.asarray(value)
    parts = np.stack([array.real, array.imag]).astype(np.float64)
    parts[np.isnan(parts)] = math.nan
    return type(value), array.dtype, parts.tobytes()


def replayed(function: Any, *calls: tuple[Any, ...], traces: int = 1) -> None:
    """All calls give what the plain function gives, and one of them is recorded."""
    ours = fused(function)
    for args in calls:
        with np.errstate(all="ignore"):
            want = function(*args)
        with fc.count_launches(), np.errstate(all="ignore"):
            got = ours(*args)
        assert _bits(got) == _bits(want), args
    assert ours.traces == traces


@pytest.mark.parametrize("kind", [complex, np.complex128, np.complex64])
@pytest.mark.parametrize("array", [X, Z, Z.astype(np.complex64), X.astype(np.float32)])
@one_in(12)
def test_a_number_given_enters_as_numpy_takes_it(kind: Any, array: Any) -> None:
    """With its promotion: a Python number is weak."""
    replayed(lambda x, c: x * c, *[(array, kind(v)) for v in VALUES])
    replayed(lambda x, c: c - x[1:], *[(array, kind(v)) for v in VALUES])


def test_arithmetic_among_numbers_is_done_again() -> None:
    """In Python, with its parts, its conjugate and `cmath`."""

    def f(x: Any, c: complex, phase: float) -> Any:
        turn = cmath.exp(1j * phase) * c.conjugate()
        return x * (turn + c.real - 0.5j * c.imag) + abs(c) + complex(phase, 2.0)

    ours = fused(f)
    for i, v in enumerate(VALUES[:2] + VALUES[5:]):
        with fc.count_launches():
            np.testing.assert_allclose(ours(Z, v, 0.25 * i), f(Z, v, 0.25 * i), rtol=1e-14)
    assert ours.traces == 1


def test_what_is_returned_and_kept_is_followed() -> None:
    """An attribute that each call replaces, and a result that is a number."""

    class Filter:
        def __init__(self) -> None:
            self.level = np.complex128(0)
            self.gain = 1 + 0.5j

        def step(self, z: Any) -> Any:
            self.level = 0.75 * self.level + 0.25 * z[0, 0].conjugate()
            self.gain *= 1j
            return z * self.gain - self.level

    ours, plain = Filter(), Filter()
    step = fused(Filter.step)
    for i in range(6):
        with fc.count_launches():
            got = step(ours, Z + i)
        assert _bits(got) == _bits(plain.step(Z + i))
        assert (ours.level, ours.gain) == (plain.level, plain.gain)
        assert type(ours.level) is type(plain.level)
    assert step.traces == 1


def test_what_is_looked_at_leads_on() -> None:
    """A comparison is a condition, and so is an error."""

    def f(x: Any, c: Any) -> Any:
        return x * c if c == 1j or abs(c) > 2 else x + c

    ours = fused(f)
    for c in (1j, 3 + 0j, 0.5j, 1j, 4 + 1j):
        assert _bits(ours(X, c)) == _bits(f(X, c))
    with pytest.raises(TypeError, match="not supported between instances of 'complex' and 'int'"):
        fused(lambda x, c: x * c if c > 0 else x)(X, 1j)


def test_a_mask_of_what_was_written_by_parts_is_computed_anew() -> None:
    """Reading a part computes what is pending: no operation holds on to what it was made of."""

    def f(z: Any) -> Any:
        z = z * 1.0
        z.imag *= 2
        z.real[np.abs(z) < 20] = 0
        return z

    replayed(f, *[(Z + i - 2j * i,) for i in range(5)])


def test_numbers_meet_arrays_that_are_made_inside() -> None:
    """As operands they are followed, too."""

    def f(c: Any, phase: float) -> Any:
        return np.exp(c * np.arange(6)) + phase * np.linspace(0, 1, 6)

    replayed(f, (1j, 0.5), (2j, 1.5), (0.25 + 1j, -2.0))
