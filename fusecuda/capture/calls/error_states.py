"""Error states: `numpy.errstate` in a function that is recorded.

Kernels give no warnings of floating-point faults; what NumPy computes is, in a replay as in the
program, under the state that the program asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..record.numbers import TracedScalar
from ..record.storage import Storage
from .impure import ImpureCalls
from .path import Path

_QUIET = ("warn", "ignore", None)
_FAULTS = ("divide", "over", "under", "invalid")
Function = Callable[..., Any]


class Recording(Protocol):
    """What error states and calls need of the trace that they are recorded in."""

    loose: bool
    states: list[dict[str, str]]

    @property
    def path(self) -> Path:
        """What the call has run so far."""

    def flush(self) -> None:
        """Compute all that is pending."""

    def pending(self) -> list[Storage]:
        """What is not computed yet."""

    def number_at(self, slot: int, value: Any) -> TracedScalar:
        """A number that each replay finds in ``slot``."""

    def finish_calls(self) -> None:
        """Let what is pending be computed under the state in force, where that matters."""

    @property
    def impure(self) -> ImpureCalls:
        """What stands for what each replay calls again."""

    def acts(self) -> None:
        """What follows must not be done again by another run."""

    def used(self) -> None:
        """What follows has effects that are not recorded."""

    def breaks(self, why: str) -> None:
        """The path cannot be replayed."""

    def give_up(self, why: str) -> None:
        """Start the call again without recording, if that is still possible."""


class ErrorState:
    """Stands for `numpy.errstate`."""

    def __init__(self, trace: Recording, kinds: dict[str, Any]) -> None:
        self._trace = trace
        self._kinds = kinds
        self._real = np.errstate(**kinds)
        if any(kind not in _QUIET for kind in kinds.values()):
            trace.used()
            trace.breaks("it calls np.errstate, which asks for errors or calls")

    def __enter__(self) -> None:
        self._trace.finish_calls()
        self._real.__enter__()
        self._trace.states.append(self._kinds)

    def __exit__(self, *exc: object) -> None:
        try:
            self._trace.finish_calls()
        finally:
            self._trace.states.pop()
            self._real.__exit__(*exc)  # type: ignore[arg-type]

    def __call__(self, function: Function) -> Function:
        self._trace.used()
        self._trace.breaks("it calls np.errstate as a decorator")
        return self._real(function)


def under(states: list[dict[str, str]], function: Function) -> Function:
    """``function``, called under the ``states`` that are in force."""
    if not states:
        return function
    kinds: dict[str, Any] = {}
    for state in states:
        kinds.update(dict.fromkeys(_FAULTS, state["all"]) if state.get("all") else {})
        kinds.update({name: kind for name, kind in state.items() if name != "all" and kind})

    def called(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(**kinds):
            return function(*args, **kwargs)

    return called
