"""What a piece of real code is, as the files of this folder list theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REPLAYED, ANEW, UNFUSED = "replayed", "recorded anew", "unfused"
OUTCOMES = (UNFUSED, ANEW, REPLAYED)  # from the worst to the best


@dataclass(frozen=True)
class Piece:
    """A program that a user wrote, how it is called, and what should become of it.

    ``function`` names what is fused, ``"step"`` or ``"Plate.step"``; ``make`` gives its arguments,
    equal ones each time (of a method, ``self`` first), of which the last are passed by
    ``keywords``. It is called ``calls`` times, then each of ``changes`` alters the arguments or the
    module and two calls follow. ``outcome`` is the least that a user may expect. A piece is
    ``steady`` if after two calls there is nothing more to record.
    """

    name: str
    function: str
    make: Callable[[], list[Any]]
    outcome: str
    changes: tuple[Callable[[list[Any]], Any], ...] = ()
    calls: int = 4
    keywords: tuple[str, ...] = ()
    steady: bool = True


def put(place: int, value: Callable[[Any], Any]) -> Callable[[list[Any]], None]:
    """A change: the argument at ``place`` becomes what ``value`` makes of it."""

    def change(arguments: list[Any]) -> None:
        arguments[place] = value(arguments[place])

    return change


def attribute(place: int, name: str, value: Any) -> Callable[[list[Any]], None]:
    """A change: an attribute of the argument at ``place`` is set."""

    def change(arguments: list[Any]) -> None:
        setattr(arguments[place], name, value)

    return change
