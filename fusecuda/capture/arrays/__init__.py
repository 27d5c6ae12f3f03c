"""The lazy array, and the one table of handlers that record what is done to it."""

from . import (
    at_once,
    borrowed,
    composed,
    indexing,
    joining,
    movement,
    products,
    reductions,
    scatters,
    segments,
    selection,
)

__all__ = [
    "at_once",
    "borrowed",
    "composed",
    "indexing",
    "joining",
    "movement",
    "products",
    "reductions",
    "scatters",
    "segments",
    "selection",
]
