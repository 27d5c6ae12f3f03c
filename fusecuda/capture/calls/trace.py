"""Trace: the recorder of one call of a fused function, which may look at values and go on."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...graph.dtypes import kind_of
from ...options import Options
from ..arrays.array import Array
from ..arrays.observed import item_of
from ..arrays.values import plain
from ..record.lines import title_of
from ..record.numbers import NUMBERS, TracedScalar, applied, is_long, value_of
from ..record.storage import Storage
from .fragments import Fragments
from .impure import ImpureCalls
from .numpy_calls import NumpyCalls
from .path import Environment, Path, Source, looker, nothing, outcome, outcome_of

_OF_A_LOOK = 8  # steps: as many as operations take so long
_MANY = 1024  # values: that so many are as they were is not to be expected


class Trace(Fragments):
    """The recorder of one call; arguments are storages that it was given."""

    def __init__(
        self,
        options: Options,
        path: Path | None = None,
        may_restart: bool = False,
        may_compute: bool = True,
    ) -> None:
        super().__init__(options, path, may_restart, may_compute)
        self.impure = ImpureCalls(self.acts, self.used, self.breaks)
        self.calls = NumpyCalls(self)
        self.observed_arguments: dict[str, Any] = {}
        self.attempted: list[TracedScalar] = []  # made before the first fragment by what may raise
        self._looking = False

    # --- looks

    def look(self) -> None:
        """A value is looked at in a way that cannot be replayed."""
        self.computes()
        if not self._looking:
            self.breaks("it looks at the values of an array")

    def seen(self, array: Array, kind: Callable[[Any], Any]) -> Any:
        """What ``kind`` makes of the values of ``array``: a replay goes on where it is the same."""
        self.computes()
        path = self.path
        if array.is_loose:
            array = array.loose.copied()
        if array.storage.pending or path.looked_at:
            self._piece(array)
        known, value = path.known_value()
        if not known:
            self._looking = True
            try:
                value = outcome(kind, plain(array))
            finally:
                self._looking = False
        slot = path.slot_of(array.storage.buffer)
        if slot is None:
            self.breaks("it looks at an array from elsewhere")
        elif not known and type(value) in (list, bytes) and array.size > _MANY:
            self.breaks(f"it looks at {array.size:,} values, which are others at each call")
        else:
            path.looked(looker(slot, array.shown_of, array.is_scalar, kind), value)
        return outcome_of(value)

    def number(self, array: Array, kind: Callable[[Any], Any]) -> Any:
        """As `seen`, of a number that each replay computes and goes on with."""
        self.computes()
        if array.storage.pending:
            self._piece(array)
        slot = self.path.slot_of(array.storage.buffer)
        if slot is None or self.path.broken or kind_of(array.dtype) not in "fiu":
            return self.seen(array, kind)
        if _may_raise(kind, array):
            return self._tried(kind, [looker(slot, array.shown_of, array.is_scalar, _itself)])
        look = looker(slot, array.shown_of, array.is_scalar, kind)
        if self.path.replaying:
            (value,) = self.path.known_results([None])
        else:
            value = look(self.path.environment)
        self.path.ran(list, [look], [value], [None])  # a number that stays, whatever is dropped
        return self.number_at(len(self.path.environment) - 1, value)

    def number_at(self, slot: int, value: Any) -> TracedScalar:
        """A number that each replay finds in ``slot``."""

        def found(environment: Environment) -> Any:
            return environment[slot]

        observe = functools.partial(self._observed, found, value)
        return TracedScalar(value, found, observe, self._branch, self.attempt)

    def _branch(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What ``function`` gives for numbers: a replay goes on where it is the same."""
        result = outcome(function, *map(value_of, args))
        self._observed(self.path.calling(functools.partial(outcome, function), args), result)
        return outcome_of(result)

    def attempt(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What ``function``, which may raise an error, or stands at the end of many, gives.

        A replay computes it where the program does: before what is recorded later, and what is
        pending, has been run. It goes on where a number of the same type comes out, or the same
        error. What is made of arguments before anything has been run is a condition of the trace.
        """
        path, long = self.path, is_long(args)
        if not path.broken and (path.fragments or (long and self.may_compute)):
            return self._tried(function, [path.evaluated(a) for a in args])
        made = applied(function, args)
        if type(made) is TracedScalar and not path.broken:
            self.attempted.append(made)
        return value_of(made) if long and path.broken else made

    def _tried(self, function: Callable[..., Any], sources: list[Source]) -> Any:
        path = self.path
        run = functools.partial(_result_of, function)
        if path.replaying:
            results = path.known_results([None, None])
        else:
            results = run([source(path.environment) for source in sources])  # type: ignore[operator]
        slot = len(path.environment)
        path.ran(run, sources, results, [None, None])
        path.looked(operator.itemgetter(slot), results[0])
        seen, value = results
        return outcome_of(seen) if value is None else self.number_at(slot + 1, value)

    def _observed(self, look: Callable[[Environment], Any], value: Any) -> None:
        """A number that was computed is looked at: a replay goes on where it is the same."""
        if not self.path.fragments or self.path.looked_at:
            self.path.ran(nothing, [], (), ())
        self.path.looked(look, value)

    def _piece(self, array: Array) -> None:
        """End a fragment, so that ``array`` is computed."""
        self._counted(_OF_A_LOOK)
        if array.storage.pending and array.storage.recorder is not self:
            array.storage.complete()
        before = len(self.path.fragments)
        self.flush()
        if array.storage.error is not None:
            raise array.storage.error
        if len(self.path.fragments) == before:
            self.path.ran(nothing, [], (), ())

    # --- functions that NumPy computes

    def compacted(self, storage: Storage) -> Any:
        """The array of what a mask picks: loose where its extent has differed."""
        self.computes(where=f" ({storage.node.line})")
        self._counted(_OF_A_LOOK)
        return self.calls.compacted(storage)

    def eager(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of a function of NumPy's, called by each replay; NotImplemented if it cannot.

        A replay goes on where shapes, dtypes and numbers among the results are the same.
        """
        self.computes(f"{title_of(func)} is computed")
        self._counted(_OF_A_LOOK)
        result = self.calls.result(func, args, kwargs)
        if self.is_raising and self._unsure and not self.path.replaying:
            self._catch_up()
        return result

    def _catch_up(self) -> None:
        """Compute what the replay had not: it comes before the error that is to be raised."""
        waiting = self.pending()
        self.flush()
        for storage in waiting:
            if storage.error is not None:
                raise storage.error


def _may_raise(kind: Callable[[Any], Any], array: Array) -> bool:
    """True if ``kind`` may find no number in ``array``: no int is NaN, no float an array."""
    if array.ndim > 0:
        return kind is not item_of
    return kind not in (float, item_of) and (kind is not int or kind_of(array.dtype) == "f")


def _itself(value: Any) -> Any:
    return value


def _result_of(function: Callable[..., Any], values: Sequence[Any]) -> list[Any]:
    """What is seen of a function of numbers, and the number: its type, or all that it has given."""
    result = outcome(function, *values)
    return [type(result), result] if type(result) in NUMBERS else [result, None]
