"""Natives: what a region leaves to CuPy, and whether its recording gains anything."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import NotFusedError
from ...options import DEVICES, Options
from ..record import rest as patience
from ..record.block import Region
from ..record.numbers import value_seen
from ..record.recorder import default_recorder, recorder_in_force
from ..record.structure import rebuilt
from ..record.user_frames import user_line
from .memory import SPACES, Space
from .storages import complete

if TYPE_CHECKING:
    from ...engine import Executable

_NAMED = 20  # unrecorded operations that `explain` names


class Natives(Region):
    """A region in the memory of a space, which has CuPy do what it does not record."""

    def __init__(self, options: Options, chosen: bool = True) -> None:
        super().__init__(options)
        device = options.device if chosen else "cuda"
        self.space: Space | None = SPACES.get(device) if device in DEVICES else None
        self.cupy_options = options
        if self.space is not None and device != options.device:
            self.cupy_options = dataclasses.replace(options, device=device)
        self.captures = self.space is not None
        self.largest = 0  # bytes of the largest value computed
        self.operations = 0  # CuPy operations recorded, each a launch or more without us
        self.on_open: Callable[[], None] | None = None
        self.on_close: Callable[[], None] | None = None
        self._fruitless = 0  # flushes in a row that computed one operation or none
        self._operations_before = 0
        self._resting = 0  # operations that are passed on before the next is recorded

    def open(self) -> None:
        if self.on_open is not None:
            self.on_open()

    def close(self) -> None:
        self.captures = False
        if self.on_close is not None:
            self.on_close()

    @property
    def gained(self) -> bool:
        """False if CuPy can compute here, and it was asked for one operation, or tiny ones."""
        plain = self.space is not None and self.space.is_cupys_own and not self.cupy_options.strict
        others = len(self.reports) > self.operations
        return not plain or others or (self.operations > 1 and self.largest > patience.TINY)

    def _ran(self, executable: Executable) -> None:
        super()._ran(executable)
        self.largest = max(self.largest, executable.largest)

    def native(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        name: str = "",
        flush: bool = True,
    ) -> Any:
        """What CuPy's own ``function`` does, on computed arrays, with recording suspended."""
        if flush:
            self._unrecorded(name)
            self.flush()
            complete(args, kwargs)
        return self._by_cupy(function, args, kwargs)

    def _by_cupy(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What ``function`` gives for computed arrays."""
        assert self.space is not None
        args, kwargs = rebuilt((args, kwargs), value_seen)
        token = recorder_in_force.set(default_recorder)
        try:
            return self.space.native(function, args, kwargs)
        finally:
            recorder_in_force.reset(token)

    def _unrecorded(self, name: str) -> None:
        """Note, or under ``strict`` refuse, an operation that CuPy runs itself."""
        if not name or self._resting:
            return
        if self.operations - self._operations_before <= 1 and not self.cupy_options.strict:
            self._fruitless += 1
            if self._fruitless >= patience.ATTEMPTS:
                self._fruitless, self._resting = 0, patience.REST
        else:
            self._fruitless = 0
        self._operations_before = self.operations
        if self.cupy_options.strict:
            raise NotFusedError(f"{name} has no graph meaning and would run unfused")
        if self.tally is not None:
            self.tally.completed(name, user_line())
        if len(self.unrecorded) < _NAMED:
            self.unrecorded.append(name)

    @property
    def resting(self) -> bool:
        """True while operations are passed on."""
        return self._resting > 0

    def rests(self) -> bool:
        """True for an operation that is passed on, for recording has brought nothing lately."""
        if not self._resting:
            return False
        self._resting -= 1
        return True
