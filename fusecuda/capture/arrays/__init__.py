"""The lazy array, and the one table of handlers that record what is done to it."""

from . import (  # noqa: F401 - each enters what it handles in the table
    at_once,
    borrowed,
    composed,
    failures,
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
)  # fmt: skip
