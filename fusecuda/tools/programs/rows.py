"""All programs, by field and by name."""

from __future__ import annotations

from . import images, learning, physics, signals, statistics
from .program import Program

FIELDS = {"learning": learning, "physics": physics, "images": images, "statistics": statistics,
          "prices and signals": signals}  # fmt: skip
PROGRAMS: tuple[Program, ...] = tuple(p for field in FIELDS.values() for p in field.PROGRAMS)


def named(name: str) -> Program:
    """The program of that name; raises KeyError if there is none."""
    return {program.name: program for program in PROGRAMS}[name]
