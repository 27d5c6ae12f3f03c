"""Planted bugs around quotients by shared divisors, and results that go past the caches."""

from __future__ import annotations

from .mutation import Mutation, ids

_TEXT = "cpu_fallback/quotients.h"
_QUOTIENTS = "cpu_fallback/quotients"
_STREAMING = "cpu_fallback/streaming"

SHARED_DIVISORS = (
    Mutation(
        "quotient-of-minus-zero",
        _TEXT,
        "return __builtin_copysign##f(__builtin_fma##f(e, by.r, q), q);",
        "return __builtin_fma##f(e, by.r, q);      ",
        "a quotient of a negative zero has no sign",
        ids(_QUOTIENTS, "neighbours"),
    ),
    Mutation(
        "quotient-of-the-smallest",
        _TEXT,
        "(F)((size > by.most) | ((size < by.least) & (size > 0)))",
        "(F)(size > by.most)                                     ",
        "quotients of small elements are rounded twice",
        ids(_QUOTIENTS, "bits"),
    ),
    Mutation(
        "quotient-of-long-numbers",
        _TEXT,
        "return (int64_t)(((uint64_t)a + ((uint64_t)1 << 50)) >> 51);",
        "return (int64_t)(((uint64_t)a + ((uint64_t)1 << 62)) >> 63);",
        "whole numbers that doubles do not hold are divided as doubles",
        ids(_QUOTIENTS, f"neighbours_of_long_numbers[{2**61 + 1}]"),
    ),
    Mutation(
        "quotient-of-what-was-overwritten",
        _TEXT,
        "    return a >= b + size || b >= a + size;",
        "    return a != b || size;",
        "a second try reads what the first one has written",
        ids(_QUOTIENTS, "in_place"),
    ),
    Mutation(
        "quotient-by-a-buffer",
        "cpu_fallback/quotients.py",
        "if not isinstance(s, ir.Effect)}.union(varying)",
        "if not isinstance(s, ir.Effect)}",
        "a value that waits in a buffer counts as the same for all elements",
        ids(_QUOTIENTS, "running_totals"),
    ),
    Mutation(
        "streams-into-the-caches",
        "fusion/needs.py",
        "return moved >= cost.STREAM_BYTES and not _overwrites(kernel, walked)",
        "return moved >= cost.STREAM_BYTES",
        "what is overwritten where it was read goes past the caches",
        ids(_STREAMING, "what_is_overwritten_is_in_the_caches"),
    ),
    Mutation(
        "streams-half-lines",
        "cpu_fallback/runs.h",
        "    memcpy(out, in, size);\n}",
        "    memcpy(out, in, size / 2);\n}",
        "the end of a run that is no whole line is lost",
        ids(_STREAMING, "lengths"),
    ),
)
