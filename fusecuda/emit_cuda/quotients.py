"""Quotients: what a kernel divides by is known to the host, which gives it a factor instead.

For 0 <= n < 2^(bits - 1) and a divisor d of as many bits, n // d is 2n * factor >> bits >> down.
2^down is the least power of two that is at least d, and factor is 2^(bits - 1 + down) / d, rounded
up. Rounding adds less than 1 / d to n / d, so no quotient comes out too large.
"""

from __future__ import annotations

FACTOR, DOWN = "by", "down"  # how the names of these two end, behind that of the divisor


def quotient_by(divisor: int, wide: bool) -> tuple[int, int]:
    """The factor, as a signed integer of its bits, and the shift that divide an index."""
    bits = 64 if wide else 32
    divisor = max(divisor, 1)  # where there is nothing, nothing is divided
    down = (divisor - 1).bit_length()
    factor = -(-(1 << (bits - 1 + down)) // divisor)
    return factor - (factor >> (bits - 1) << bits), down
