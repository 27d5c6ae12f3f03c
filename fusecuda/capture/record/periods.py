"""Periods: where a sequence of recorded operations repeats itself."""

from __future__ import annotations

from collections.abc import Sequence


def smallest_period(sequence: Sequence[int]) -> int:
    """How many more operations end the body that ``sequence`` repeats, 0 if it ends here.

    The body is the shortest one that the second half of the sequence repeats; if the beginning of
    the sequence repeats it too, bodies are counted from the beginning. Also 0 if nothing repeats.
    """
    count = len(sequence)
    half = count // 2
    tail = sequence[half:]
    period = _period_of(tail)
    if period == 0:
        return 0
    start = half
    while start and sequence[start - 1] == sequence[start - 1 + period]:
        start -= 1
    return -(count - start) % period


def repeats(sequence: Sequence[int]) -> bool:
    """True if the second half of ``sequence`` is a body that repeats."""
    return _period_of(sequence[len(sequence) // 2 :]) > 0


def _period_of(sequence: Sequence[int]) -> int:
    """The smallest p with sequence[i] == sequence[i + p] throughout, at most half the length.

    By the failure function of Knuth, Morris and Pratt; 0 if there is none.
    """
    count = len(sequence)
    failure = [0] * count
    matched = 0
    for i in range(1, count):
        while matched and sequence[i] != sequence[matched]:
            matched = failure[matched - 1]
        if sequence[i] == sequence[matched]:
            matched += 1
        failure[i] = matched
    period = count - failure[-1] if count else 0
    return period if 0 < period <= count // 2 else 0
