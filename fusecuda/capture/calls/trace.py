"""Trace: the recorder of one call of a fused function, which keeps the path that it takes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine import Executable, Interpreted
from ...graph.node import Node
from ...options import Options
from ..arrays.array import Array
from ..arrays.values import arrays_in, plain, wrap
from ..record.budget import Budget, processor_time
from ..record.numbers import TracedScalar, argument_of
from ..record.periods import repeats
from ..record.recorder import PENDING_LIMIT, Recorder, user_line
from ..record.storage import Storage
from ..record.structure import walk
from .numpy_calls import (
    call,
    call_flat,
    calls_of,
    described_part,
    flattened,
    is_plain,
    shares,
    unflattened,
)
from .path import Environment, Path, looker, nothing

_LOOK_AT_CLOCK = 512  # operations
_FIRST_KERNELS = 0.3  # seconds that the first kernels of a call may take in any case


class Unfollowed(BaseException):
    """Raised in a trace that cannot go on and has had no effect yet: the call is made again."""


class Trace(Recorder):
    """The recorder of one call; arguments are storages that it was given."""

    first_cut = 96  # operations, after which a body that repeats is sought
    transparent = True
    wrote = False  # memory of the caller has been written to
    longest: int | None = None  # operations
    failure = ""  # why the call has to be made again, though its function may swallow it

    def __init__(
        self,
        options: Options,
        path: Path | None = None,
        may_restart: bool = False,
        may_compute: bool = True,
    ) -> None:
        super().__init__(options)
        self.path = path or Path()
        self.may_restart = may_restart  # the function, run a second time, does the same
        self.may_compute = may_compute  # values may be looked at
        self.effects: Callable[[], str] = str  # what has been written outside, if anything
        self.catches = False  # the function has an ``except`` of its own
        self.observed_arguments: dict[str, Any] = {}
        self._looking = False
        self._operations = 0
        self._begun = processor_time()

    def _check_time(self, budget: Budget) -> None:
        """Start again without recording if that alone takes too long."""
        if processor_time() - self._begun > budget.FIRST:
            budget.spend(processor_time() - self._begun)
            self.give_up("planning and compiling takes too long: so does recording")

    def _break(self, why: str) -> None:
        self.path.broken = self.path.broken or f"{why} ({user_line()})"

    # --- what is recorded

    def note(self, node: Node, storage: Storage) -> None:
        super().note(node, storage)
        self._operations += 1
        if self.longest is not None and self._operations > self.longest:
            raise Unfollowed(f"it has more than {self.longest} operations")
        if self._operations % _LOOK_AT_CLOCK == 0 and self.budget is not None:
            self._check_time(self.budget)
        if self.catches and node.line is not None:  # it may fail, and the function may see that
            self.flush()
            if storage.error is not None:
                raise storage.error

    def _flush_at_period(self) -> None:
        """End a segment where a repeating body ends; what does not repeat goes on for longer."""
        count = len(self._sequence)
        if not self.may_compute:  # it is to be one plan, whatever its length
            self._sequence.clear()
        elif count < PENDING_LIMIT and not repeats(self._sequence):
            self._cut = min(2 * count, PENDING_LIMIT)
        else:
            super()._flush_at_period()

    def _in_place(self, storage: Storage) -> bool:
        known = self.path.slot_of(storage.buffer) is not None
        return (known or storage.held) and super()._in_place(storage)

    def flush(self, keep_observed: bool = False) -> None:
        if not self.may_compute:
            raise Unfollowed("it looks at a value while it is recorded")
        if not self.path.replaying:
            self.wrote = self.wrote or any(s.held for s in self.pending())
        super().flush(keep_observed)

    def _results(self, waiting: Sequence[Storage], targets: Sequence[bool]) -> Sequence[Any]:
        if self.is_unfollowed:
            return super()._results(waiting, targets)
        leaves, executable = self._executable(waiting, targets)
        executable = self.affordable(executable)
        sources = [self.path.source(leaf) for leaf in leaves]
        if self.path.replaying:
            shapes = [
                None if kept else (s.shape, s.dtype)
                for s, kept in zip(waiting, targets, strict=True)
            ]
            results = self.path.known_results(shapes)
        else:
            results = list(self._computed(executable, [argument_of(leaf) for leaf in leaves]))
            self.launches += executable.launches
        if isinstance(executable, Executable):
            self._ran(executable)
        self.path.ran(self._runner(executable), sources, results, waiting, complete=True)
        return results

    @property
    def is_unfollowed(self) -> bool:
        """True if it is known that nothing will be replayed."""
        return False

    def _runner(self, executable: Any) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """What runs it in a replay."""
        return executable.run  # type: ignore[no-any-return]

    def _ran(self, executable: Executable) -> None:
        self.reports.append(executable)

    def affordable(
        self, executable: Executable | Interpreted, last: bool = False
    ) -> Executable | Interpreted:
        """``executable``, or if there is no time for it the interpreter, or another start.

        For the ``last`` one, if there can be no other start, there is time.
        """
        if isinstance(executable, Executable):
            rest = _FIRST_KERNELS if not self.path.segments else 0.0
            wanted = executable.seconds_to_compile - rest
            if self.budget is None or wanted <= 0 or self.budget.allows(wanted):
                return executable
        self.give_up("planning and compiling takes too long")
        if last:
            return executable
        self._break("planning and compiling takes too long")
        return Interpreted(executable.graph)

    def _compute_apart(self, waiting: Sequence[Storage], error: Exception) -> None:
        self._break("an operation failed")
        super()._compute_apart(waiting, error)

    # --- what cannot be replayed

    def write_at_once(self, held: bool) -> None:
        """Memory is written to without being recorded; from now on there is no starting again."""
        self.look()
        self.wrote = self.wrote or held

    def hands_out(self) -> None:
        """Start again rather than give out memory of which we would not see the changes."""
        self.give_up("it takes an array's memory")

    def give_up(self, why: str) -> None:
        """Start the call again without recording, if that is still possible."""
        may_restart = self.may_restart and not self.wrote and not self.path.trail
        if may_restart and not self.effects():
            self.may_compute = False
            self.failure = why
            raise Unfollowed(why)

    def used(self) -> None:
        """Something opaque is about to be used: a second run would use it again."""
        self.may_restart = False
        if any(s.held for s in self.pending()):
            self.flush()

    # --- looks

    def look(self) -> None:
        """A value is looked at in a way that cannot be replayed."""
        if not self.may_compute:
            raise Unfollowed("it looks at a value while it is recorded")
        if not self._looking:
            self._break("it looks at the values of an array")
        self.observed = True

    def seen(self, array: Array, kind: Callable[[Any], Any]) -> Any:
        """What ``kind`` makes of the values of ``array``: a replay goes on where it is the same."""
        if not self.may_compute:
            raise Unfollowed("it looks at a value while it is recorded")
        path = self.path
        if array.storage.pending or path.looked_at:
            self._piece(array)
        known, value = path.known_value()
        if not known:
            self._looking = True
            try:
                value = kind(plain(array))
            finally:
                self._looking = False
        slot = path.slot_of(array.storage.buffer)
        if slot is None:
            self._break("it looks at an array from elsewhere")
        else:
            path.looked(looker(slot, array.shown_of, array.is_scalar, kind), value)
        return value

    def number(self, array: Array, kind: Callable[[Any], Any]) -> Any:
        """As `seen`, of a floating-point number that each replay computes and goes on with."""
        if not self.may_compute:
            raise Unfollowed("it looks at a value while it is recorded")
        if array.storage.pending:
            self._piece(array)
        slot = self.path.slot_of(array.storage.buffer)
        if slot is None or self.path.broken or array.dtype.kind != "f":
            return self.seen(array, kind)
        look = looker(slot, array.shown_of, array.is_scalar, kind)
        if self.path.replaying:
            (value,) = self.path.known_results([None])
        else:
            value = look(self.path.environment)
        self.path.ran(list, [look], [value], [None])  # a number that stays, whatever is dropped
        place = len(self.path.environment) - 1

        def found(environment: Environment) -> Any:
            return environment[place]

        return TracedScalar(value, found, lambda: self._observed(found, value))

    def _observed(self, look: Callable[[Environment], Any], value: Any) -> None:
        """A number that was computed is looked at: a replay goes on where it is the same."""
        if not self.path.segments or self.path.looked_at:
            self.path.ran(nothing, [], (), ())
        self.path.looked(look, value)

    def _piece(self, array: Array) -> None:
        """End a segment, so that ``array`` is computed."""
        if array.storage.pending and array.storage.recorder is not self:
            array.storage.recorder.flush()
        before = len(self.path.segments)
        self.flush()
        if array.storage.error is not None:
            raise array.storage.error
        if len(self.path.segments) == before:
            self.path.ran(nothing, [], (), ())

    # --- functions that NumPy computes

    def eager(self, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of a function of NumPy's, called by each replay; NotImplemented if it cannot.

        A replay goes on where shapes, dtypes and numbers among the results are the same.
        """
        if not self.may_compute:
            raise Unfollowed(f"numpy.{func.__name__} is computed while it is recorded")
        if self.path.broken or not is_plain((args, kwargs)):
            return NotImplemented
        arrays = list(arrays_in((args, tuple(kwargs.values()))))
        if any(a.storage.pending for a in arrays):
            self.flush()
        if any(a.storage.error is not None or a.storage.shared for a in arrays):
            return NotImplemented
        if any(self.path.slot_of(a.storage.buffer) is None for a in arrays):
            return NotImplemented
        template = self._template((args, kwargs))
        numbers = [part for part in walk((args, kwargs)) if type(part) is TracedScalar]
        return self._called(func, template, arrays, numbers)

    def _called(
        self,
        func: Any,
        template: Callable[[Any], Any],
        arrays: Sequence[Array],
        numbers: Sequence[TracedScalar],
    ) -> Any:
        path = self.path
        run = functools.partial(call_flat, func)
        if path.replaying and calls_of(path.trail[len(path.segments)], func):
            described = path.values[len(path.segments)]
            flat = path.known_results([d[1:] if d[0] == "array" else None for d in described[1]])
            shape = described[0]
        else:
            result = call(func, template(path.environment))
            if any(shares(part, arrays) for part in walk(result)):
                for number in numbers:
                    number.observe()
                return wrap(result, list(arrays))  # views, which a replay has without a call
            shape, flat = flattened(result)
            described = shape, [described_part(part) for part in flat]
        made = [Array.of_array(p, copy=False) if isinstance(p, np.ndarray) else None for p in flat]
        start = len(path.environment)
        path.ran(run, [template], flat, [None if m is None else m.storage for m in made])

        def look(environment: Environment) -> Any:
            results = environment[start : start + len(flat)]
            return shape, [described_part(part) for part in results]

        path.looked(look, described)
        parts = [m if m is not None else p for m, p in zip(made, flat, strict=True)]
        return unflattened(shape, parts)

    def _template(self, value: Any) -> Callable[[Environment], Any]:
        """What makes ``value`` again, with the arrays of a replay."""
        kind = type(value)
        if kind is Array:
            slot, shown, scalar = (
                self.path.slot_of(value.storage.buffer),
                value.shown_of,
                value.is_scalar,
            )
            assert slot is not None
            return lambda e: shown(e[slot])[()] if scalar else shown(e[slot])
        if kind is TracedScalar:
            return self.path.evaluated(value)
        if kind in (list, tuple):
            parts = [self._template(part) for part in value]
            return lambda e: kind([part(e) for part in parts])
        if kind is dict:
            named = {k: self._template(v) for k, v in value.items()}
            return lambda e: {k: part(e) for k, part in named.items()}
        if kind is np.ndarray:
            value = value.copy()  # what it holds now
        return lambda e: value
