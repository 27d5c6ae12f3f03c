"""Memory: the numbered buffers of a program, and where in them values lie."""

from __future__ import annotations

from dataclasses import dataclass

ALIGNMENT = 64  # bytes, at multiples of which temporaries start


@dataclass(frozen=True, slots=True)
class Buffer:
    """A piece of memory: an argument's, a result's, or (both None) a temporary's of ``nbytes``."""

    argument: int | None
    output: int | None
    nbytes: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a node's elements are: a buffer, the byte offset in it, and byte strides."""

    buffer: int
    offset: int
    strides: tuple[int, ...]
