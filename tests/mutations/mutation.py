"""What a planted bug is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """``old``, which occurs once in ``file`` of the package, becomes ``new``, which is ``bug``.

    ``tests`` are node ids; at least one of them fails then.
    """

    name: str
    file: str
    old: str
    new: str
    bug: str
    tests: tuple[str, ...]


def ids(file: str, *names: str) -> tuple[str, ...]:
    """The node ids of tests of one file."""
    return tuple(f"tests/test_{file}.py::test_{name}" for name in names)
