"""Lowering: the executable of one trace of a function, not yet run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import NotFusedError
from ...options import Options
from ..arrays.dispatch import raising
from ..record.structure import SEQUENCES, walk
from .endings import ASKS_BY_NAME, TAKES_MEMORY, Unfollowed
from .function import FusedFunction
from .guard import MISS
from .host import HostCall

if TYPE_CHECKING:
    from ...engine import Executable


def lower_function(
    function: Any, args: Sequence[Any], options: Options, longest: int | None
) -> Executable:
    """The executable of one trace of ``function`` with ``args``, callable, not yet run.

    A call with arrays of which others are read-only has a trace of its own: of such calls the
    function may give other views, and raise errors.
    """
    owner: FusedFunction[..., Any] = FusedFunction(function, options)
    replay, executable = _traced(owner, (*owner.head, *args), longest)
    wanted = _signature(args)
    traces = {_writeable(args): replay}

    def otherwise(args_now: tuple[Any, ...]) -> Any:
        if (got := _signature(args_now)) != wanted:
            raise TypeError(f"{owner.__name__} was lowered for {wanted}, not {got}")
        given, written = (*owner.head, *args_now), _writeable(args_now)
        if written not in traces:
            traces[written], _ = _traced(owner, given, longest)
        result = traces[written](given)
        if result is MISS:
            raise TypeError(
                f"{owner.__name__} was lowered for {wanted}, not for arrays that share other"
                " memory or have other strides, nor with what it read changed"
            )
        return result

    def call(*args_now: Any) -> Any:
        executable.make_ready()
        result = replay((*owner.head, *args_now))
        return otherwise(args_now) if result is MISS else result

    return dataclasses.replace(executable, caller=call)


def _traced(
    owner: FusedFunction[..., Any], given: tuple[Any, ...], longest: int | None
) -> tuple[Callable[..., Any], Executable]:
    """What replays a call with arguments like ``given``, and the executable of its graph."""
    all_lazy = False
    while True:
        tracer = HostCall(owner, given, execute=False, all_lazy=all_lazy)
        tracer.trace.longest = longest
        if tracer.unfusable or raising():
            why = tracer.unfusable or "errstate"
            raise NotFusedError(f"{owner.__name__} cannot be fused: {why}")
        try:
            tracer.run()
            break
        except Unfollowed as unfollowed:
            why = unfollowed.told()
            more_lazy = why.startswith(TAKES_MEMORY) and not all_lazy
            if not (more_lazy or why.startswith(ASKS_BY_NAME)):  # as a call is recorded again
                raise NotFusedError(f"{owner.__name__} is no single graph: {why}") from None
            all_lazy = all_lazy or more_lazy
    replay, executable = tracer.replay, tracer.executable
    assert replay is not None and executable is not None
    return replay, executable


def _writeable(args: Sequence[Any]) -> tuple[bool, ...]:
    """Which of the arrays in ``args`` can be written to."""
    return tuple([a.flags.writeable for a in walk(args) if isinstance(a, np.ndarray)])


def _signature(args: Sequence[Any]) -> str:
    return f"({', '.join(map(_told, args))})"


def _told(value: Any) -> str:
    if type(value) in SEQUENCES:
        return f"{type(value).__name__}{_signature(value)}"
    if type(value) is dict:
        return f"dict({', '.join(f'{key}={_told(part)}' for key, part in value.items())})"
    is_array = hasattr(value, "shape")
    return f"{value.dtype}{list(value.shape)}" if is_array else type(value).__name__
