"""Philox 4×32-10: random bits as a function of where they stand in a stream.

J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2,
3", SC '11. A block of 128 bits is made of a counter of 128 bits and a key of 64 in ten rounds of
two products; nothing is kept from one block to the next. Here it stands for NumPy's arrays, and is
what `codegen/philox.h` means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_LOW, _HALF = np.uint64(2**32 - 1), np.uint64(32)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = 10


def _words(counter: Any, stream: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    """The four words of 32 bits of each block, in numbers of 64."""
    a, b, c, d = counter & _LOW, counter >> _HALF, stream & _LOW, stream >> _HALF
    low, high = key & _LOW, key >> _HALF
    for _ in range(_ROUNDS):
        p, q = _FACTORS[0] * a, _FACTORS[1] * c
        a, b, c, d = (q >> _HALF) ^ b ^ low, q & _LOW, (p >> _HALF) ^ d ^ high, p & _LOW
        low, high = (low + _STEPS[0]) & _LOW, (high + _STEPS[1]) & _LOW
    return a, b, c, d


def philox(counter: Any, stream: Any, key: Any) -> Any:
    """Words 0 and 1 of each block as one number; the counter's upper half is the ``stream``."""
    a, b, _, _ = _words(counter, stream, key)
    return a | b << _HALF


def philox_rest(counter: Any, stream: Any, key: Any) -> Any:
    """Words 2 and 3 of each block as one number."""
    _, _, c, d = _words(counter, stream, key)
    return c | d << _HALF


def _multiply_high(a: Any, b: Any) -> Any:
    """The upper 64 bits of products."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a_high * b_low + (a_low * b_low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF)


def below(high: Any, low: Any, count: Any) -> Any:
    """The whole part of ``count`` times the fraction that 128 bits are; a count of 0 is 2**64."""
    with np.errstate(over="ignore"):
        lower = high * count + _multiply_high(low, count)
    carry = (lower < _multiply_high(low, count)).astype(np.uint64)
    return np.where(count == 0, high, _multiply_high(high, count) + carry)
