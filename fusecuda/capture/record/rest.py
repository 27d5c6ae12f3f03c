"""Patience: when recording that has brought nothing lately rests, and when it tries again."""

from __future__ import annotations

import contextlib
from types import CodeType, FrameType

ATTEMPTS = 16  # without a gain, after which recording rests
TINY = 1 << 15  # bytes: where no value has more, a launch costs less than recording it
REST = 256  # blocks, or operations within one, that are then passed on

Site = tuple[CodeType, int]  # a ``with`` statement: its code and the position in it

_SITES_LIMIT = 1024
_attempts: dict[Site, int] = {}  # without a gain; negative while it rests


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


def left(site: Site, gained: bool) -> None:
    """A block at ``site`` has ended."""
    if gained:
        _attempts.pop(site, None)
        return
    if len(_attempts) >= _SITES_LIMIT:
        _attempts.clear()
    count = _attempts.get(site, 0) + 1
    _attempts[site] = count if count < ATTEMPTS else -REST
