"""The dispatch table: from a NumPy function to the handler that records it.

Arrays reach what records them through this table only: handlers make arrays, so they import the
array, and never the other way round.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.exceptions import AxisError

from ...graph.numpy_rules import parameters_of
from ..record.flight import atomic
from ..record.recorder import current_recorder

Handler = Callable[..., Any]
_H = TypeVar("_H", bound=Handler)
TABLE: dict[Any, Handler] = {}


class Entries:
    """What operators, indexing and the protocols of an array call, by name: each an `entry`."""

    namespace: Any  # `fusecuda.numpy`
    builders: dict[str, Any]  # what stands for `numpy.r_` and the like

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


ENTRIES = Entries()


def entry(function: _H) -> _H:
    """Let arrays call ``function`` by its name."""
    setattr(ENTRIES, function.__name__, function)
    return function


def as_numpy_fails(target: Callable[..., Any], handler: Callable[..., Any]) -> Callable[..., Any]:
    """``handler``, with the errors that NumPy's ``target`` raises for arrays of such shapes.

    Of axes NumPy knows better: a number has an axis 0 for some of its functions.
    """

    @functools.wraps(handler)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return handler(*args, **kwargs)
        except Exception as error:
            numpys = ENTRIES.error_of(error, target, args, kwargs)
            if numpys is None:
                if isinstance(error, AxisError):
                    return NotImplemented
                raise
            try:
                raise numpys from error.__cause__
            finally:
                del numpys  # no cycle of error and frame keeps arrays alive

    return call


def _for_loose(target: Callable[..., Any], handler: Handler) -> Handler:
    """``handler``, where extents matter; else NumPy's own function."""

    @functools.wraps(handler)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and getattr(args[0], "pick", None) is not None:
            result = ENTRIES.of_picked(target, args, kwargs)
            if result is not NotImplemented:
                return result
        if current_recorder().loose:
            result = ENTRIES.loosely(target, args, kwargs)
            if result is not NotImplemented:
                return result
        return handler(*args, **kwargs)

    return call


def handles(*targets: Any) -> Callable[[_H], _H]:
    """Enter a handler in the table for the NumPy functions ``targets``.

    A handler takes what NumPy's function takes (never a written ``out``) and answers with a lazy
    result, or with NotImplemented where NumPy should compute.
    """

    def enter(handler: _H) -> _H:
        handler = atomic(  # type: ignore[assignment]
            _for_loose(targets[0], as_numpy_fails(targets[0], handler))
        )
        for target in targets:
            TABLE[target] = handler
        return handler

    return enter


@functools.lru_cache(maxsize=1024)
def positional_names(function: Callable[..., Any]) -> list[str] | None:
    """The names of what may be given by position, of its handler where NumPy does not tell them."""
    known = parameters_of(function)
    if known is None and function in TABLE:
        known = parameters_of(TABLE[function])
    if known is None:
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in known):
        return [""] * 100
    return [p.name for p in known if p.kind is not p.KEYWORD_ONLY]


@functools.lru_cache(maxsize=1024)
def place_of_out(function: Callable[..., Any]) -> int:
    """Where ``function`` takes ``out`` as a positional argument, behind all others if nowhere."""
    names = positional_names(function) or []
    return names.index("out") if "out" in names else 1000
