"""The lazy array, and the one table of handlers that record what is done to it."""

from . import (
    at_once,
    borrowed,
    composed,
    finding,
    indexing,
    joining,
    makers,
    movement,
    patterns,
    products,
    reductions,
    scatters,
    seen,
    segments,
    selection,
)

__all__ = [
    "at_once",
    "borrowed",
    "composed",
    "finding",
    "indexing",
    "joining",
    "makers",
    "movement",
    "patterns",
    "products",
    "reductions",
    "scatters",
    "seen",
    "segments",
    "selection",
]
