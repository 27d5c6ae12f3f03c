"""Lowering: the executable of one trace of a function, not yet run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import NotFusedError
from ...options import Options
from ..arrays.dispatch import raising
from .endings import TAKES_MEMORY, Unfollowed
from .function import FusedFunction
from .guard import MISS
from .host import HostCall

if TYPE_CHECKING:
    from ...engine import Executable


def lower_function(
    function: Any, args: Sequence[Any], options: Options, longest: int | None = None
) -> Executable:
    """The executable of one trace of ``function`` with ``args``, callable, not yet run."""
    owner: FusedFunction[..., Any] = FusedFunction(function, options)
    given = (*owner.head, *args)
    for all_lazy in (False, True):
        tracer = HostCall(owner, given, execute=False, all_lazy=all_lazy)
        tracer.trace.longest = longest
        if tracer.unfusable or raising():
            why = tracer.unfusable or "errstate"
            raise NotFusedError(f"{owner.__name__} cannot be fused: {why}")
        try:
            tracer.run()
            break
        except Unfollowed as unfollowed:
            why = str(unfollowed)
            if all_lazy or not why.startswith(TAKES_MEMORY):  # else as a call is recorded again
                raise NotFusedError(f"{owner.__name__} is no single graph: {why}") from None
    replay, executable = tracer.replay, tracer.executable
    assert replay is not None and executable is not None

    def call(*args_now: Any) -> Any:
        executable.make_ready()
        result = replay((*owner.head, *args_now))
        if result is MISS:
            wanted, got = _signature(args), _signature(args_now)
            if got == wanted:
                got += " that share other memory, have other strides, or with what it read changed"
            raise TypeError(f"{owner.__name__} was lowered for {wanted}, not {got}")
        return result

    return dataclasses.replace(executable, caller=call)


def _signature(args: Sequence[Any]) -> str:
    texts = (f"{a.dtype}{list(a.shape)}" if hasattr(a, "shape") else type(a).__name__ for a in args)
    return f"({', '.join(texts)})"
