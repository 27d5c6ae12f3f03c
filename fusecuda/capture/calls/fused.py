"""fused: regions as a block, and functions that are traced once and replayed."""

from __future__ import annotations

import functools
import opcode
import sys
import weakref
from collections.abc import Callable, Sequence
from contextvars import Token
from time import perf_counter
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, overload

from ...interpreted import Interpreted
from ...options import Options, asked_for, default_device
from ...streams.launches import is_counting
from ...watch import watchers
from ..record import rest
from ..record.block import Region
from ..record.recorder import Recorder, default_recorder, recorder_in_force
from ..record.rest import Trial
from ..record.summary import summary
from . import block_sites
from .function import FusedFunction
from .memory import provider
from .passing import LIBRARY, MOST, Passing
from .skip import Skipped, end

if TYPE_CHECKING:
    from ...engine import Executable

P = ParamSpec("P")
R = TypeVar("R")


@overload
def fused(
    function: None = None, *, device: str = ..., contract: bool = ..., strict: bool = ...,
    streams: int = ..., check: float = ...,
) -> FusedBlock: ...  # fmt: skip
@overload
def fused(
    function: Callable[P, R], *, device: str = ..., contract: bool = ..., strict: bool = ...,
    streams: int = ..., check: float = ...,
) -> FusedFunction[P, R]: ...  # fmt: skip
def fused(function: Any = None, **options: Any) -> Any:
    """``with fused() as region``, ``@fused``, ``fused(fn, **options)`` or ``@fused(**options)``.

    As a block, operations on CuPy and lazy arrays are computed together when it is left. As a
    decorator it makes a `FusedFunction` of ``function``, anything that can be called, which keeps
    its signature: arrays in, arrays of the same kind out. The ``options``, with their defaults:

    - ``device``: "cpu" or "cuda" (``FUSECUDA_DEVICE``); that of the arrays if neither is given;
    - ``contract``: on a GPU, products and sums may be contracted to one rounding (False);
    - ``strict``: raise NotFusedError, naming the line, for what would run unfused (False);
    - ``streams``: how many streams of a device may be used, 1 to 4 (1);
    - ``check``: of the runs of each plan the first and then this share, 0 to 1, are computed
      unfused, too, and the first difference is warned of (0, or ``FUSECUDA_CHECK``); calls are
      fused then even where it does not pay.

    Raises TypeError for what cannot be called, ValueError for options out of range.
    """
    global _usual  # noqa: PLW0603 - what most blocks are made with
    asked = asked_for()
    if function is None and not options and asked == _usual[0]:
        return FusedBlock(_usual[1], _usual[2])
    chosen = _options(asked, **options)
    device_chosen = "device" in options or asked[0] is not None
    if function is None:
        if not options:
            _usual = asked, chosen, device_chosen
        return FusedBlock(chosen, device_chosen)
    if not callable(function):
        raise TypeError(f"fused takes a function, not a {type(function).__name__}")
    return FusedFunction(function, chosen, device_chosen)


@functools.lru_cache(maxsize=64, typed=True)
def _options(_asked: tuple[Any, Any], **given: Any) -> Options:
    """The ``given`` options and, where the environment asks for that, the others."""
    given.setdefault("device", default_device())
    return Options(**given)


_usual: tuple[Any, Options, bool] = ((), Options(check=0.0), False)  # where that was asked for
_frame = sys._getframe
_modules = sys.modules
_sites = block_sites.sites


class FusedBlock:
    """What ``fused(**options)`` gives: the region of a ``with`` statement, or a decorator.

    ``launches`` is the number of kernels and library calls that the block has launched.
    """

    # What stays so where a block is passed through is here: a block is made for each entry.
    launches = 0  # kernels that the block has launched
    _nested: list[Any] = []  # noqa: RUF012 - one of its own once it is entered
    _reports: Sequence[Executable] = ()
    _remarks: Sequence[str] = ()
    _site: block_sites.Site | None = None  # the with statement
    _lifted: Any = None  # the `Lifted` that does the work of the body, if it is asked
    _replayed = False  # it has done that
    _trial: Trial | None = None  # of running it as it stands, recorded or at once
    _asked = False  # it is run at once for the trial of that function
    _place: rest.Site | None = None  # by which that is known
    _entered = 0.0
    _opening = 0.0  # seconds that it took to make a region
    _began = 0.0  # the body
    _launched = 0  # by others, before
    _meanwhile = 0  # runs without kernels, before
    _passing: Passing | None = None  # while it is passed through with nothing done
    _skips: FrameType | None = None  # whose body is not to run

    def __init__(self, options: Options, device_chosen: bool) -> None:
        self._options = options
        self._chosen = device_chosen  # the device was named; else it is that of the arrays

    def __call__(self, function: Callable[P, R]) -> FusedFunction[P, R]:
        return FusedFunction(function, self._options, self._chosen)

    def __enter__(self) -> Self:
        frame = _frame(1)
        site = _sites.get((id(frame.f_code), frame.f_lasti))
        if site is not None and site.passing.left > 0:  # threads may have taken the last one twice
            passing = site.passing
            if (
                passing.options is self._options
                and passing.library is _modules.get(LIBRARY)
                and recorder_in_force.get() is default_recorder
                and not (watchers or self._nested or self._passing)
            ):
                passing.left -= 1
                if self._site is not None:  # it has been entered before
                    self._clear()
                if default_recorder._live:
                    default_recorder.flush()
                self._site, self._remarks = site, passing.remarks
                self._launched = default_recorder.launches
                self._passing = passing
                self._began = perf_counter()
                return self
        self._enter_as_ever(frame)
        return self

    def _clear(self) -> None:
        """Forget the last time that it was entered."""
        self._reports = self._remarks = ()
        self._lifted = self._trial = None
        self._replayed = self._asked = False
        self._opening = 0.0

    def _enter_as_ever(self, frame: FrameType) -> None:
        self._entered = perf_counter()
        outer = recorder_in_force.get()
        self._nested = self._nested or []
        nested = len(self._nested)
        if isinstance(outer, Region) and outer.is_abandoned():
            recorder_in_force.set(default_recorder)
            outer.flush()
            outer.close()
            outer = default_recorder
        try:
            self._enter(outer, frame)
        except BaseException:  # of a signal's handler, too, after which nothing ends the block
            recorder_in_force.set(outer)
            for token, opened, *_ in self._nested[nested:]:
                if token is not None:
                    opened.close()
            del self._nested[nested:]
            raise

    def _enter(self, outer: Recorder, frame: FrameType) -> None:
        region: Region | None = None
        token: Token[Recorder] | None = None
        self._site = None
        self._clear()
        joins = isinstance(outer, Region)  # a nested block: what it has recorded goes on
        if not joins:
            if outer._live or outer is not default_recorder:
                outer.flush()
            if outer is default_recorder and not self._options.strict and self._is_done(frame):
                return
            place = self._place = rest.site_of(frame)
            self._trial = rest.trial_at(place) if self._may_pass(outer) else None
            if not self._passes(self._trial) and not rest.rests(place):
                begin = perf_counter()
                outer = region = _new_region(self._options, self._chosen)
                self._opening = perf_counter() - begin
                region.site, region.block = place, weakref.ref(self)
                region.home = (place[0].co_filename, place[0].co_firstlineno, place[1])
                if _is_named(frame):  # its launches may be asked for: all is compiled
                    region.budget = None
                token = recorder_in_force.set(region)
        joins = joins and not _is_named(frame)
        self._nested.append((token, outer, outer.launches, len(outer.reports), joins))
        if region is not None:
            region.open()
        self._began, self._meanwhile = perf_counter(), Interpreted.meanwhile

    def _passes(self, trial: Trial | None) -> bool:
        """True if all in the block is to be done at once."""
        if trial is None or is_counting():
            return False
        lifted = self._lifted
        if lifted is not None and lifted.is_timed and trial.plain is not False:
            self._asked = True  # that is what the function is to be faster than
            return True
        return trial.wants_plain

    def _is_done(self, frame: FrameType) -> bool:
        """True if a function has done what the body in ``frame`` would do, which is skipped."""
        self._site = block_sites.site_of(frame)
        try:
            self._lifted, skipped = self._site.enter(frame, self._options, self._chosen)
            if skipped:
                self._skips = frame
            return skipped
        except BaseException:  # of a signal's handler, too, after which no body begins
            end(frame)
            raise

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> bool:
        passing = self._passing
        if passing is not None and not self._nested and self._skips is None:
            seconds = perf_counter() - self._began
            self._passing = None
            if default_recorder._live:
                default_recorder.flush()
                seconds = perf_counter() - self._began
            self.launches = default_recorder.launches - self._launched
            if not passing.low < seconds < passing.high:
                if kind is None and passing.took(seconds) and self._site is not None:
                    self._site.ask_again()
            elif passing.others:
                passing.others = 0
            return False
        return self._exit(kind, _frame(1))

    def _exit(self, kind: type[BaseException] | None, frame: FrameType) -> bool:
        if self._skips is not None:
            return self._skipped(kind)
        end(frame)
        token, recorder, before, reports, joins = self._nested[-1]
        try:
            if token is not None:
                recorder_in_force.reset(token)
            if not joins:
                recorder.flush()
        finally:
            if token is not None:
                recorder.close()
            self._nested.pop()
        seconds = perf_counter() - self._began
        if self._lifted is not None and self._site is not None:
            self._lifted.ran_in_place(seconds, kind is not None)
            self._site.ran(seconds)
        self.launches = recorder.launches - before
        self._reports = recorder.reports[reports:]
        passed, trial = not isinstance(recorder, Region), self._trial
        if passed:
            self._remarks = _AS_COUNTED if trial is None else _AS_MEASURED
        else:
            self._remarks = [_UNRECORDED % n for n in recorder.unrecorded]
        has_kernels = self._meanwhile == Interpreted.meanwhile
        tells = trial is not None and not self._nested and kind is None and not self._asked
        if tells and has_kernels:
            assert trial is not None
            rest.took(trial, seconds + self._opening, passed)
        if token is not None:
            rest.left(recorder.site, recorder.gained)
            if recorder.faults and kind is None:
                raise recorder.faults[0]
        elif recorder is default_recorder and not self._nested:
            self._grant()
        return False

    def _grant(self) -> None:
        """Let the next entries be passed through with nothing done, if that is known to be best."""
        site, trial, place = self._site, self._trial, self._place
        if site is None or place is None or not site.is_of(place) or self._asked:
            return
        entries = site.rest_of(MOST)
        entries = trial.take_turns(entries) if trial else rest.take_rests(place, entries)
        if entries:
            site.pass_by(entries)
            site.passing.grant(entries, self._options, self._remarks, trial)

    def _skipped(self, kind: type[BaseException] | None) -> bool:
        """The end of a block whose body has been done when it was entered."""
        frame, self._skips = self._skips, None
        assert frame is not None and self._lifted is not None
        self.launches = self._lifted.launches
        self._replayed = True
        end(frame)  # if a signal's handler has raised
        self._lifted.surrounds(perf_counter() - self._entered)
        assert kind is not None, "the body of a block has been done twice"
        return kind is Skipped

    def _may_pass(self, outer: Recorder) -> bool:
        """True if what is in the block may as well be done at once, by NumPy."""
        options = self._options
        asked = options.strict or options.check or not options.on_host
        return outer is default_recorder and not asked and provider() is None

    def explain(self, full: bool = False) -> str:
        """Text: which operations shared a kernel, each refusal with its reason, bytes saved.

        The hottest plans in one screen, unless it is to be ``full``.
        """
        lifted, remarks = self._lifted, self._remarks
        if lifted is not None and self._replayed:
            return str(lifted.explain(full))
        if self._site is not None and (why := self._site.why):
            remarks = [*remarks, _NOT_LIFTED % why]
        elif lifted is not None:
            remarks = [*remarks, _NOT_LIFTED % lifted.explain().splitlines()[0]]
        text = summary(self._reports, full) if self._reports else ""
        return "\n".join([*([text] if text else []), *remarks]) or "nothing was recorded\n"


_UNRECORDED = "not recorded: %s has no graph meaning\n"
_NOT_LIFTED = "recorded where it stands: %s\n"
_AS_COUNTED = (
    f"passed through: {rest.ATTEMPTS} times it recorded one operation, or tiny arrays\n",
)
_AS_MEASURED = ("passed through: as measured, or to be measured, NumPy at once is faster\n",)


def _is_named(frame: FrameType) -> bool:
    """False for a block of which the program keeps nothing: ``with fused():`` without ``as``."""
    following = frame.f_lasti + 2  # up to Python 3.13; later, and within functions, it is no pop
    return frame.f_code.co_code[following : following + 1] != _POP_TOP


_POP_TOP = bytes([opcode.opmap["POP_TOP"]])


def _new_region(options: Options, chosen: bool) -> Region:
    """The recorder of a new block; it takes CuPy arrays too if CuPy has been imported."""
    library = provider()
    if library is None:
        return Region(options, follows=True)
    region: Region = library.open_region(options, chosen)
    return region
