"""Kept rows: whether what a mask has picked of an array stays where it lies."""

_KEPT_BELOW, _KEPT_SHARE = 1 << 16, 4  # bytes, and part of them, from which on memory is kept whole


def keeps(nbytes: int, count: int, rows: int) -> bool:
    """True if ``count`` of ``rows`` stay where they lie; few of many get memory of their own."""
    return count == rows or (nbytes >= _KEPT_BELOW and _KEPT_SHARE * count >= rows)
