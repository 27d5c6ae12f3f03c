"""What a planted bug is."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path, PurePath

TESTS = Path(__file__).resolve().parents[1]


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
    limit: float = 60.0  # seconds; what takes longer hangs, and is noticed
    needs: str = ""  # what the C compiler defines where this processor compiles the place at all


def ids(file: str, *names: str) -> tuple[str, ...]:
    """The node ids of tests of one file, "name" or "folder/name"."""
    return tuple(f"{_found(file)}::test_{name}" for name in names)


@functools.cache
def _found(file: str) -> str:
    """The one file of that name."""
    path = PurePath(file)
    (found,) = TESTS.rglob(str(path.with_name(f"test_{path.name}.py")))
    return f"tests/{found.relative_to(TESTS)}"
