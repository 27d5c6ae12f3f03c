"""Words for people: a number and what it counts, and where something stands."""

from __future__ import annotations


def counted(count: int, word: str) -> str:
    """``count`` and ``word``, an English noun given in the singular: "1 launch", "2 launches"."""
    return f"{count:,} {word if count == 1 else _plural(word)}"


def _plural(word: str) -> str:
    if word.endswith(("ch", "sh", "s", "x")):
        return f"{word}es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def position(place: str) -> tuple[str, int]:
    """The file and number of a line given as FILE:NUMBER, by which lines are sorted; else 0."""
    file, _, number = place.rpartition(":")
    return (file, int(number)) if number.isdigit() else (place, 0)
