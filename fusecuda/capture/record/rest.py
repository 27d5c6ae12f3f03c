"""Rest: when recording that gains nothing is left alone, and when it is tried again.

Two things tell. Where both ways can be taken, they are timed (`Trial`). Where only recording can be
seen, as in a block or at one operation, what a flush has computed tells whether it was worth it.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import sys
import weakref
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, Protocol

ATTEMPTS = 16  # without a gain, after which recording rests
TINY = 1 << 15  # bytes: where no value has more, a launch costs less than recording it
REST = 256  # blocks, or operations within one, that are then passed on

Site = tuple[CodeType, int]  # a ``with`` statement: its code and the position in it

_SITES_LIMIT = 1024
_attempts: dict[Site, int] = {}  # without a gain; negative while it rests
_trials: dict[Site, Trial] = {}


class Trial:
    """Which of two ways to make a call is faster, by the times of a few calls each way.

    The first calls are fused, one of them if it had to be recorded; then plain and fused ones take
    turns. ``plain`` is None while nothing is decided, and then says whether plain calls are to be
    made, for as many calls as ``turns`` has; then it is looked at again. That comes ever more
    rarely, and costs a hundredth of the time between.
    """

    REPLAYS_FIRST = 4
    EACH = 3  # calls of a kind, of which the fastest counts
    MARGIN = 0.95  # of the fused time, below which a plain call has to be
    CLEAR = 2.0  # a factor that one or two calls each show
    LONG = 5e-3  # seconds, which nothing else that goes on in the machine doubles
    LOOK = 256  # calls, after which it is looked at again for the first time
    MOST = 1 << 20
    SHARE = 100  # of the time between, which a look may cost

    OTHER = 2.0  # a factor that tells other work from what was measured
    measured = 0  # fused calls of all, made because nothing is decided

    __slots__ = ("_first", "_fused", "_looks", "_others", "_plain", "plain", "turns")

    def __init__(self, first: int = 1) -> None:
        self.plain: bool | None = None
        self.turns: Iterator[bool] = itertools.repeat(True)  # true until it is looked at again
        self._looks = 0
        self._others = 0
        self._first = first  # calls that are fused, before plain ones are made
        self._fused: list[float] = []
        self._plain: list[float] = []

    @property
    def wants_plain(self) -> bool:
        """True if the next call is to be plain."""
        if self.plain is not None:
            return self.plain
        return len(self._fused) >= self._first + len(self._plain)

    @property
    def has_passed(self) -> bool:
        """True if plain calls are to be made from now on."""
        return bool(self.plain)

    def took(self, seconds: float, plain: bool, replayed: bool = False) -> None:
        """A call took so long."""
        if self.plain is not None:
            return
        if replayed:
            self._first = self.REPLAYS_FIRST
        fused_times, plain_times = self._fused, self._plain  # once: threads share a block's trial
        (plain_times if plain else fused_times).append(seconds)
        Trial.measured += not plain
        if not plain_times or not fused_times:
            return
        fused, other = min(fused_times), min(plain_times)
        if other > self.CLEAR * fused and other > self.LONG:
            self._decide(False, (fused, other))
        elif fused > self.CLEAR * other and min(len(fused_times), len(plain_times)) > 1:
            self._decide(True, (fused, other))
        elif len(plain_times) >= self.EACH:
            self._decide(other < self.MARGIN * fused, (fused, other))

    def _decide(self, plain: bool, times: tuple[float, float]) -> None:
        self.plain = plain
        look = (self.EACH + 1) * max(times) / max(min(times), 1e-9)
        calls = max(self.LOOK << 4 * self._looks, self.SHARE * look)
        self.turns = itertools.repeat(True, int(min(calls, self.MOST)))

    def look_again(self) -> None:
        """If it was decided for so many calls, nothing is decided any more."""
        if self.plain is not None and operator.length_hint(self.turns, 1) == 0:
            self._looks = min(self._looks + 1, 3)
            self._begin()

    def _begin(self) -> None:
        self.plain = None
        self._first = 1
        self._others = 0
        self._fused, self._plain = [], []
        self.turns = itertools.repeat(True)

    def noticed(self, seconds: float) -> None:
        """It is decided, and a call took so long: other work than was measured is measured anew.

        That is where calls in a row take many times as long, or as little.
        """
        known = min(self._plain if self.plain else self._fused, default=seconds)
        is_other = not known / self.OTHER < seconds < known * self.OTHER
        self._others = self._others + 1 if is_other else 0
        if self._others > self.EACH:
            self.measure_anew()

    def measure_anew(self) -> None:
        """Nothing is decided any more: what is called does other work than was measured."""
        self._looks = 0
        self._begin()

    def take_turns(self, most: int) -> int:
        """At most so many calls that are decided are taken off its turns; how many those are."""
        if not self.wants_plain or self.plain is None:
            return 0
        there = operator.length_hint(self.turns, 0)
        taken = min(there, most)
        self.turns = itertools.repeat(True, there - taken)
        return taken

    def text(self) -> str:
        """What was measured."""
        fused_times, plain_times = self._fused, self._plain
        if not plain_times or not fused_times:
            return ""
        fused, plain = min(fused_times), min(plain_times)
        return f"{fused * 1e6:,.1f} µs fused, {plain * 1e6:,.1f} µs without"


def undisturbed(seconds: float, own: float) -> float:
    """How long a plain call would have taken, of which its thread has computed for ``own`` seconds.

    Where that is far less, others had the processor: one such call would decide for fused ones.
    """
    return own if seconds > Trial.LONG and seconds > Trial.CLEAR * own else seconds


def site_of(frame: FrameType) -> Site:
    """The place of the ``with`` statement in ``frame``, or of what entered an exit stack."""
    while frame.f_code.co_filename == contextlib.__file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def rests(site: Site) -> bool:
    """True for a block that is passed through: at this place the last ones gained nothing."""
    count = _attempts.get(site, 0)
    if count < 0:
        _attempts[site] = count + 1
    return count < 0


def take_rests(site: Site, most: int) -> int:
    """At most so many of the times that a block is passed through are taken; how many those are."""
    count = _attempts.get(site, 0)
    taken = min(max(-count, 0), most)
    if taken:
        _attempts[site] = count + taken
    return taken


def left(site: Site, gained: bool) -> None:
    """A block at ``site`` has ended."""
    if gained:
        _attempts.pop(site, None)
        return
    if len(_attempts) >= _SITES_LIMIT:
        _attempts.clear()
    count = _attempts.get(site, 0) + 1
    _attempts[site] = count if count < ATTEMPTS else -REST


class Granted(Protocol):
    """Entries of a block that may be passed through without asking."""

    left: int


grants: weakref.WeakSet[Granted] = weakref.WeakSet()


def forget() -> None:
    """Measure all blocks anew from now on."""
    for granted in tuple(grants):
        granted.left = 0
    _attempts.clear()
    _trials.clear()


def trial_at(site: Site) -> Trial:
    """The trial of the blocks at ``site``: recorded, or with what is in them done at once."""
    trial = _trials.get(site)
    if trial is None:
        if len(_trials) >= _SITES_LIMIT:
            _trials.clear()
        trial = _trials[site] = Trial(ATTEMPTS)
    trial.look_again()
    next(trial.turns, None)
    return trial


def took(trial: Trial, seconds: float, passed: bool) -> None:
    """A block took so long."""
    if trial.plain is None:
        trial.took(seconds, passed)
    elif trial.plain is passed:
        trial.noticed(seconds)


# --- single operations


class Operation:
    """One operation of a program: whether the flushes that computed it were worth it."""

    __slots__ = ("code", "in_vain", "passed", "recorded")

    def __init__(self, code: CodeType) -> None:
        self.code = code  # kept, for its identity tells it
        self.recorded = 0
        self.in_vain = 0  # of the times that it was recorded
        self.passed = 0  # times that it was left to NumPy

    def rests(self) -> bool:
        """True if it is to be left to NumPy this time."""
        if self.in_vain == self.recorded >= _VAIN:
            self.passed += 1
            return self.passed % _AGAIN != 0
        if self.recorded >= REST:
            self.recorded = self.in_vain = 0
        return False


_VAIN = 4  # flushes in vain, after which an operation rests
_AGAIN = 64  # operations, of which one is recorded to see whether that is still in vain
_operations: dict[tuple[int, int], Operation] = {}
_NOT_USER = (__name__.partition(".")[0], "numpy.")


def operation_rests(noted: list[Operation | None], possible: bool, nodes: int) -> bool:
    """True if what the user's line does now is to be left to NumPy, which is ``possible``.

    Else it is ``noted``, as ``nodes`` that will be recorded.
    """
    frame: Any = sys._getframe(3)
    while frame.f_globals.get("__name__", "").startswith(_NOT_USER) and frame.f_back is not None:
        frame = frame.f_back
    key = id(frame.f_code), frame.f_lasti
    operation = _operations.get(key)
    if operation is None:
        if len(_operations) >= _SITES_LIMIT:
            _operations.clear()
        operation = _operations[key] = Operation(frame.f_code)
    if possible and operation.rests():
        return True
    operation.recorded += 1
    if len(noted) >= _SITES_LIMIT:  # of operations that raise
        noted.clear()
    noted += (operation, *(None,) * (nodes - 1))
    return False


def computed_in_vain(noted: Sequence[Operation | None]) -> None:
    """A flush has computed nothing but what ``noted`` operations have recorded, and in vain."""
    for operation in noted:
        if operation is not None:
            operation.in_vain += 1
