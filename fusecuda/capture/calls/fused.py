"""fused: regions as a block, and functions that are traced once and replayed."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable
from contextvars import Token
from time import perf_counter
from types import FrameType
from typing import Any, ParamSpec, Self, TypeVar, overload

from ...engine import Executable
from ...options import Options, default_device
from ...streams.launches import is_counting
from ..record import rest
from ..record.block import Region
from ..record.recorder import Recorder, default_recorder, recorder_in_force
from ..record.rest import Trial
from ..record.summary import summary
from . import lifted as lifting
from .function import FusedFunction
from .lifted import Lifted
from .memory import provider
from .skip import Skipped, end

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
    - ``contract``: products and sums may be contracted to one rounding (default: False);
    - ``strict``: raise NotFusedError, naming the line, for what would run unfused (False);
    - ``streams``: how many streams of a device may be used, 1 to 4 (1);
    - ``check``: of the runs of each plan the first and then this share, 0 to 1, are computed
      unfused, too, and the first difference is warned of (0, or ``FUSECUDA_CHECK``); calls are
      fused then even where it does not pay.

    Raises TypeError for what cannot be called, ValueError for options out of range.
    """
    named, check = os.environ.get("FUSECUDA_DEVICE"), os.environ.get("FUSECUDA_CHECK")
    chosen = _options(named, check, **options)
    device_chosen = "device" in options or named is not None
    if function is None:
        return FusedBlock(chosen, device_chosen)
    if not callable(function):
        raise TypeError(f"fused takes a function, not a {type(function).__name__}")
    return FusedFunction(function, chosen, device_chosen)


@functools.lru_cache(maxsize=64, typed=True)
def _options(_device: str | None, _check: str | None, **given: Any) -> Options:
    """The ``given`` options and, where the environment has these values, the others."""
    given.setdefault("device", default_device())
    return Options(**given)


class FusedBlock:
    """What ``fused(**options)`` gives: the region of a ``with`` statement, or a decorator.

    ``launches`` is the number of kernels and library calls that the block has launched.
    """

    def __init__(self, options: Options, device_chosen: bool) -> None:
        self.launches = 0  # kernels that the block has launched
        self._options = options
        self._chosen = device_chosen  # the device was named; else it is that of the arrays
        self._nested: list[Any] = []
        self._reports: list[Executable] = []
        self._remarks: list[str] = []
        self._site: lifting.Site | None = None  # the with statement
        self._lifted: Lifted | None = None  # what does the work of the body, if it is asked
        self._replayed = False  # it has done that
        self._trial: Trial | None = None  # of running it as it stands, recorded or at once
        self._began = 0.0
        self._meanwhile = 0  # runs without kernels, before
        self._skips: FrameType | None = None  # whose body is not to run

    def __call__(self, function: Callable[P, R]) -> FusedFunction[P, R]:
        return FusedFunction(function, self._options, self._chosen)

    def __enter__(self) -> Self:
        outer, nested = recorder_in_force.get(), len(self._nested)
        if isinstance(outer, Region) and outer.is_abandoned():
            recorder_in_force.set(default_recorder)
            outer.flush()
            outer.close()
            outer = default_recorder
        try:
            self._enter(outer, sys._getframe(1))
        except BaseException:  # of a signal's handler, too, after which nothing ends the block
            recorder_in_force.set(outer)
            for token, opened, *_ in self._nested[nested:]:
                if token is not None:
                    opened.close()
            del self._nested[nested:]
            raise
        return self

    def _enter(self, outer: Recorder, frame: FrameType) -> None:
        region: Region | None = None
        token: Token[Recorder] | None = None
        self._site = self._lifted = self._trial = None
        self._replayed = False
        if not isinstance(outer, Region):  # a nested block joins the outer one
            outer.flush()
            if outer is default_recorder and not self._options.strict and self._is_done(frame):
                return
            place = rest.site_of(frame)
            self._trial = rest.trial_at(place) if self._may_pass(outer) else None
            passed = self._trial is not None and self._trial.wants_plain and not is_counting()
            if not passed and not rest.rests(place):
                outer = region = _new_region(self._options, self._chosen)
                region.site, region.block = place, weakref.ref(self)
                token = recorder_in_force.set(region)
        self._nested.append((token, outer, outer.launches, len(outer.reports)))
        if region is not None:
            region.open()
        self._began, self._meanwhile = perf_counter(), Executable.meanwhile

    def _is_done(self, frame: FrameType) -> bool:
        """True if a function has done what the body in ``frame`` would do, which is skipped."""
        self._site = lifting.site_of(frame)
        try:
            self._lifted, skipped = self._site.enter(frame, self._options, self._chosen)
            if skipped:
                self._skips = frame
            return skipped
        except BaseException:  # of a signal's handler, too, after which no body begins
            end(frame)
            raise

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> bool:
        if self._skips is not None:
            return self._skipped(kind)
        end(sys._getframe(1))
        token, recorder, before, reports = self._nested[-1]
        try:
            if token is not None:
                recorder_in_force.reset(token)
            recorder.flush()
        finally:
            if token is not None:
                recorder.close()
            self._nested.pop()
        if self._lifted is not None:
            self._lifted.ran_in_place(perf_counter() - self._began, kind is not None)
        self.launches = recorder.launches - before
        self._reports = recorder.reports[reports:]
        passed, trial = not isinstance(recorder, Region), self._trial
        if passed:
            self._remarks = [_PASSED if trial is None else _FASTER]
        else:
            self._remarks = [_UNRECORDED % n for n in recorder.unrecorded]
        has_kernels = self._meanwhile == Executable.meanwhile
        if trial is not None and not self._nested and kind is None and has_kernels:
            rest.took(trial, perf_counter() - self._began, passed)
        if token is not None:
            rest.left(recorder.site, recorder.gained)
            if recorder.faults and kind is None:
                raise recorder.faults[0]
        return False

    def _skipped(self, kind: type[BaseException] | None) -> bool:
        """The end of a block whose body has been done when it was entered."""
        frame, self._skips = self._skips, None
        assert frame is not None and self._lifted is not None
        self.launches = self._lifted.launches
        self._replayed = True
        end(frame)  # if a signal's handler has raised
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
            return lifted.explain(full)
        if self._site is not None and (why := self._site.why):
            remarks = [*remarks, _NOT_LIFTED % why]
        elif lifted is not None:
            remarks = [*remarks, _NOT_LIFTED % lifted.explain().splitlines()[0]]
        text = summary(self._reports, full) if self._reports else ""
        return "\n".join([*([text] if text else []), *remarks]) or "nothing was recorded\n"


_UNRECORDED = "not recorded: %s has no graph meaning\n"
_NOT_LIFTED = "recorded where it stands: %s\n"
_PASSED = f"passed through: {rest.ATTEMPTS} times it recorded one operation, or tiny arrays\n"
_FASTER = "passed through: as measured, or to be measured, NumPy at once is faster\n"


def _new_region(options: Options, chosen: bool) -> Region:
    """The recorder of a new block; it takes CuPy arrays too if CuPy has been imported."""
    library = provider()
    if library is None:
        return Region(options, follows=True)
    region: Region = library.open_region(options, chosen)
    return region
