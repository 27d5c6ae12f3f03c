"""Philox 4×32-10 and what is drawn from it, in Python's integers: the tests' own definition."""

from __future__ import annotations

import numpy as np

# Random123's known answers for philox4x32 of 10 rounds (its file kat_vectors): counter, key, block.
KNOWN = (
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
)  # fmt: skip


def number(words: str) -> int:
    """Words of 32 bits, the lowest first, as one number."""
    return sum(int(word, 16) << 32 * i for i, word in enumerate(words.split()))


def block(counter: int, key: int) -> int:
    """The 128 bits of ``counter``, of 128 bits, under ``key``, of 64."""
    mask = 2**32 - 1
    a, b, c, d = (counter >> 32 * i & mask for i in range(4))
    low, high = key & mask, key >> 32
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ low, q & mask, p >> 32 ^ d ^ high, p & mask
        low, high = low + 0x9E3779B9 & mask, high + 0xBB67AE85 & mask
    return a | b << 32 | c << 64 | d << 96


def halves(position: int, seed: int, stream: int = 0) -> tuple[int, int]:
    """The lower and the upper 64 bits of what an element is made of."""
    found = block(position % 2**64 | stream << 64, seed)
    return found & 2**64 - 1, found >> 64


def floats(position: int, count: int, seed: int, stream: int = 0) -> np.ndarray:
    """What `random` draws at a position: the upper 53 bits of the lower half, exactly."""
    drawn = [halves(position + i, seed, stream)[0] >> 11 for i in range(count)]
    return np.array([float.fromhex(f"{bits:#x}p-53") for bits in drawn])


def integers(position: int, count: int, low: int, high: int, seed: int) -> list[int]:
    """What `integers` draws: a fraction of 128 bits, times how many there are."""
    found = []
    for i in range(count):
        upper, lower = halves(position + i, seed)
        found.append(low + ((upper << 64 | lower) * (high - low) >> 128))
    return found
