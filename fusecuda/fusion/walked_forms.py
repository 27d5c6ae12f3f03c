"""Walked forms: the forms, and the tests of choices, that statements of the kernel IR name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .kernel_ir import (
    Choice,
    ChosenLoad,
    Gather,
    Index,
    InRange,
    Load,
    Scatter,
    Search,
    Statement,
    Store,
)


def forms_of(statements: Iterable[Statement]) -> list[int]:
    """The forms that ``statements`` walk, in order."""
    found: set[int] = set()
    for s in statements:
        if isinstance(s, Load | Index | Gather | Search | Store | Scatter):
            found.add(s.form)
        elif isinstance(s, InRange):
            found.update(form for form, _ in s.tests)
        elif isinstance(s, ChosenLoad):
            found.update(forms_chosen(s.sources))
    return sorted(found)


def forms_chosen(sources: Iterable[int | Choice]) -> Iterator[int]:
    """The forms of a choice, with those of the choices in it."""
    for source in sources:
        if isinstance(source, int):
            yield source
        else:
            yield from forms_chosen(source[1])


def tests_chosen(tests: Iterable[int], sources: Iterable[int | Choice]) -> Iterator[int]:
    """The tests of a choice, with those of the choices in it."""
    yield from tests
    for source in sources:
        if not isinstance(source, int):
            yield from tests_chosen(*source)
