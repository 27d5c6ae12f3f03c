"""Calls, in a trace, of functions that NumPy computes itself: their arguments and results.

Each is a fragment of the path, done again by each replay. What a replay looks at afterwards are the
shapes and dtypes of the results, or that the function has raised an error. Where another shape has
been seen before, the result is *loose*: what follows does not depend on its extent, NumPy computes
whatever is made of it, in each replay, on the arrays themselves. Only where the program asks for
the extent is it looked at.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.library import at_line
from ..arrays.array import Array
from ..arrays.as_user import as_user
from ..arrays.opaque import given, known_as, stand_in, taken
from ..arrays.values import arrays_in
from ..record.lines import title_of
from ..record.numbers import TracedScalar
from ..record.origin import attribute_of
from ..record.recorder import current_recorder
from ..record.storage import Storage
from ..record.structure import SEQUENCES, leaves, plain_kind
from ..record.user_frames import user_line
from ..record.view import is_writeable, view_within
from .error_states import Recording, under
from .impure import Impure
from .loose import Loose
from .outcomes import (
    CACHED,
    PLAIN,
    ViewOf,
    call_flat,
    call_impure,
    call_kept,
    described,
    described_at,
    described_kept,
    loosened,
    put_together,
)
from .path import Environment, Fragment, nothing
from .places import is_constant

NDArray = np.ndarray[Any, Any]


def cached_call(
    func: Any, used: Callable[[], None], looked: Callable[[str], None]
) -> Callable[..., Any]:
    """``func``, which keeps its results: it is called, through its cache, by each replay.

    What it is given otherwise goes to it as to opaque code, and what is asked of the cache is asked
    by no replay.
    """
    why = f"it calls {func.__name__}, which keeps results,"

    def called(*args: Any, **kwargs: Any) -> Any:
        result = current_recorder().eager(func, args, kwargs)
        if result is NotImplemented:
            looked(f"{why} with what is not followed")
            return stand_in(func, used)(*args, **kwargs)
        return result

    def asked(name: str) -> Callable[[], Any]:
        def ask() -> Any:
            looked(f"{why} for its {name}")
            return getattr(stand_in(func, used), name)()

        return ask

    functools.update_wrapper(called, func)
    for name in ("cache_info", "cache_clear", "cache_parameters"):
        setattr(called, name, asked(name))
    return called


def is_plain(
    value: Any, constants: bool = False, source: Callable[[Any], Any] = lambda part: None
) -> bool:
    """True for what stays the same in each replay, or what the path knows, as ``source`` may tell.

    With ``constants`` that is all that cannot change.
    """
    return all(
        type(part) in (Array, TracedScalar)
        or source(part) is not None
        or (constants and is_constant(part))
        or part is np._NoValue
        or type(part) is type(np.sum)  # a function of NumPy's
        or issubclass(type(part), (*PLAIN, np.ndarray))
        for part in leaves(value)
    )


# Functions that pick by values: where one of them has differed in extent, another is likely to.
_PICKING = (
    operator.getitem,
    *(np.nonzero, np.flatnonzero, np.argwhere, np.compress, np.extract, np.where),
    *(np.unique, np.unique_values, np.unique_counts, np.intersect1d, np.union1d, np.setdiff1d),
    *(np.bincount, np.repeat, np.delete),
)


_OWNED = ("array", "loose", "number", "value", "raised")  # parts of results that may go


class NumpyCalls:
    """The calls of one trace."""

    def __init__(self, trace: Recording) -> None:
        self.trace = trace
        self.path = trace.path
        self._loose: list[weakref.ref[Loose]] = []
        self.sharing = False  # arrays that are no more loose share memory with others
        self._kept: dict[int, Array] = {}  # by their slots, what caches have given
        self._varying: list[Any] = []  # functions whose results have differed in extent

    def result(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What ``func`` gives, computed by each replay; NotImplemented if it cannot be."""
        path, fixed = self.path, type(func) in (CACHED, Impure)
        if path.broken or not is_plain((args, kwargs), fixed, self.trace.impure.source):
            return NotImplemented
        every = list(arrays_in((args, kwargs)))
        arrays = [a for a in every if not a.is_loose]
        slots = self._slots(arrays)
        if slots is None:
            return NotImplemented
        loose = len(arrays) < len(every)
        template = self.template((args, kwargs))
        run, look = self._steps(func, slots, loose)
        if type(func) is Impure:
            template = _with_function(func, template)
        if path.replaying:
            results, structure, kinds = self._known(func, loose)
        else:
            results = run([template(path.environment)])
            structure, kinds = look([*path.environment, *results])
        if any(kind[0] in ("other", "foreign") for kind in kinds):
            self.trace.breaks(f"it calls {title_of(func)}, whose result is not followed")
        made = self._made(kinds, results[1:], arrays)
        owners = [_owner(m) if k[0] in _OWNED else None for m, k in zip(made, kinds, strict=True)]
        complete = path.replaying or not self.trace.pending()
        path.ran(run, [template], results, [None, *owners], complete)
        path.looked(look, (structure, kinds), loosened)
        if structure == "raised":
            raise results[1]
        _hand_over(made, arrays)
        return put_together(structure, made)

    def _steps(
        self, func: Any, slots: list[int], loose: bool
    ) -> tuple[Callable[[Sequence[Any]], list[Any]], Callable[[Environment], Any]]:
        """What calls ``func`` with what a replay makes for it, and what is looked at afterwards."""
        called = under(self.trace.states, at_line(user_line()))
        start = len(self.path.environment)
        if type(func) is CACHED:
            look = functools.partial(described_kept, tuple(self._kept), start)
            return functools.partial(call_kept, func, called), look
        look = functools.partial(described, slots, loose or func in self._varying, start)
        if type(func) is Impure:
            return functools.partial(call_impure, func, not loose, as_user()), look
        return functools.partial(call_flat, func, not loose, called), look

    def _known(self, func: Any, loose: bool) -> tuple[Sequence[Any], Any, Sequence[Any]]:
        """What the replay has computed in this call: results, how they hang together, and kinds."""
        path = self.path
        assert calls_of(path.trail[len(path.fragments)], func), "a replay made another call"
        structure, kinds = path.values[len(path.fragments)]
        shapes = [k[1:] if k[0] == "array" else None for k in kinds]
        results = path.known_results([None, *shapes])
        if not loose and any(k[0] == "loose" for k in kinds):
            self._varying += [func, *_PICKING]
        return results, structure, kinds

    def _slots(self, arrays: Sequence[Array]) -> list[int] | None:
        """Where a replay finds ``arrays``, all computed; None if one cannot be found."""
        if any(a.storage.pending for a in arrays):
            self.trace.flush()
        if any(a.storage.error is not None or a.storage.shared for a in arrays):
            return None
        found = [self._slot(a.storage) for a in arrays]
        slots = [slot for slot in found if slot is not None]
        return None if self.path.broken or len(slots) < len(found) else slots

    def _slot(self, storage: Storage) -> int | None:
        """Where a replay finds the array; what the function has made of plain data, it makes again.

        None for what has come from elsewhere.
        """
        slot, buffer = self.path.slot_of(storage.buffer), storage.buffer
        if slot is not None or storage.held or type(buffer) is not np.ndarray:
            return slot
        made_again = functools.partial(_made_again, buffer.copy("K"))
        self.path.ran(made_again, [], [buffer], [storage])
        return self.path.slot_of(buffer)

    def compacted(self, storage: Storage) -> Any:
        """The array of what a mask picks, which a kernel writes; NotImplemented if it cannot be.

        What a replay looks at is how many elements that are, if they are not loose.
        """
        path = self.path
        if storage.pending:
            self.trace.flush()
        if storage.error is not None:
            raise storage.error
        slot = path.slot_of(storage.buffer)
        if path.broken or slot is None or storage.buffer is None:
            return NotImplemented
        loose = operator.getitem in self._varying
        look = functools.partial(described_at, slot, loose)
        _, (kind,) = self.seen(look, loosened)
        if kind[0] == "array":
            buffer = storage.buffer
            if buffer.shape != kind[1]:  # a replay has dropped it, and the recording has only
                buffer = path.blank_at(slot, *kind[1:])  # known how many there may be at most
            made = Array.of_array(buffer, copy=False)
        else:
            if not loose:
                self._varying += _PICKING
            made = self._loose_array(slot, kind, storage.buffer)
        path.keep(slot, _owner(made))
        return made

    def _made(self, kinds: Sequence[Any], parts: Sequence[Any], sources: Sequence[Array]) -> Any:
        """What the program gets for each part of a result."""
        made: list[Any] = []
        first = len(self.path.environment) + 1
        for i, (kind, part) in enumerate(zip(kinds, parts, strict=True)):
            if kind[0] == "array":
                array = Array.of_array(part, copy=False)
                array.writeable = is_writeable(part)  # not that of a view without elements
                made.append(array)
            elif kind[0] == "loose":
                made.append(self._loose_array(first + i, kind, part))
            elif kind[0] == "view":
                made.append(self._view(sources[kind[1]], part, kind[2]))
            elif kind[0] == "number":
                made.append(self.trace.number_at(first + i, part))
            elif kind[0] == "impure":
                made.append(self.trace.impure.standing_for(part, first + i))
            elif kind[0] == "kept":
                self._kept[first + i] = known = known_as(Array.of_array(part, copy=False), part)
                known.writeable = kind[3]
                known.storage.held = known.storage.escaped = True
                made.append(known)
            elif kind[0] == "known":
                made.append(self._kept[kind[1]])
            elif kind[0] == "foreign":
                made.append(taken(part, self.trace.used, fresh=False))
            else:
                made.append(part)
        return made

    def _view(self, source: Array, part: Any, shown: ViewOf) -> Any:
        buffer = source.storage.buffer
        assert buffer is not None
        view = view_within(shown.of(buffer), buffer) if buffer.dtype == shown.dtype else None
        if view is None:
            why = "it takes a view of another kind"
            self.trace.give_up(f"{why} ({user_line()})")  # what is written there is not followed
            self.trace.breaks(why)
            return Array.of_array(part)
        made = source.seen_through(view)
        made.writeable = source.writeable and shown.writeable
        return made

    # --- loose arrays

    def _loose_array(self, slot: int, kind: Any, array: Any) -> Array:
        loose = Loose(self, slot, kind[1], kind[2], array)
        self._loose = [weakref.ref(other) for other in (*self.loose(), loose)]
        self.trace.loose = True
        return loose.shown()

    def loose(self) -> list[Loose]:
        """The arrays that are loose now."""
        return [loose for r in self._loose if (loose := r()) is not None]

    def seen(
        self,
        look: Callable[[Environment], Any],
        loosen: Callable[[Any], Any] | None = None,
    ) -> Any:
        """What is looked at after the last piece."""
        path = self.path
        if path.looked_at:
            path.ran(nothing, [], (), ())
        known, value = path.known_value()
        if not known:
            value = look(path.environment)
        path.looked(look, value, loosen)
        return value

    # --- arguments

    def template(self, value: Any) -> Callable[[Environment], Any]:
        """What makes ``value`` again, with the arrays of a replay."""
        kind = type(value)
        known: Callable[[Environment], Any] | None = self.trace.impure.source(value)
        if known is not None:
            return known
        if kind is Array:
            return self._finder(value)
        if kind is TracedScalar:
            return self.path.evaluated(value)
        if kind in SEQUENCES:
            parts, made = [self.template(part) for part in value], plain_kind(kind)
            return lambda e: made([part(e) for part in parts])
        if kind is dict:
            named = {k: self.template(v) for k, v in value.items()}
            return lambda e: {k: part(e) for k, part in named.items()}
        if kind is slice:
            ends = self.template((value.start, value.stop, value.step))
            return lambda e: slice(*ends(e))
        if kind is np.ndarray:
            value = value.copy()  # what it holds now
        return lambda e: value

    def _finder(self, array: Array) -> Callable[[Environment], Any]:
        if array.is_loose:
            place = array.loose.slot
            return lambda e: e[place]
        slot, shown, scalar = (
            self.path.slot_of(array.storage.buffer),
            array.shown_of,
            array.is_scalar,
        )
        assert slot is not None
        return lambda e: shown(e[slot])[()] if scalar else shown(e[slot])


def _with_function(
    impure: Impure, given: Callable[[Environment], Any]
) -> Callable[[Environment], Any]:
    """What makes the function that ``impure`` call is then, and what it is ``given``."""
    return lambda e: (impure.found(e), *given(e))


def _made_again(array: NDArray, values: Sequence[Any]) -> list[NDArray]:
    """``array`` as it was, in memory of its own, which may be written to."""
    return [array.copy("K")]


def _hand_over(made: Sequence[Any], arrays: Sequence[Array]) -> None:
    """Let others write to those of ``arrays`` that an object among what is ``made`` holds."""
    objects = [attribute_of(m, "__dict__") or {} for m in made if type(m) is not Array]
    held = [part for d in objects for part in d.values() if type(part) is np.ndarray]
    for array in arrays if held else ():
        if any(np.may_share_memory(part, array.storage.buffer) for part in held):
            given(array)


def _owner(made: Any) -> Any:
    """Who keeps a result of a call; None for what stays."""
    if type(made) is not Array:
        return None
    return made.loose if made.is_loose else made.storage


def calls_of(fragment: Fragment, func: Any) -> bool:
    """True if ``fragment`` is a call of ``func``."""
    return bool(getattr(fragment.run, "args", (None,))[0] == func)
