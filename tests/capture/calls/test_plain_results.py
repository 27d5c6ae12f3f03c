"""Arrays of plain data that a fused function makes and gives back: each call has its own."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusecuda as fc
from tests.capture_check import equal


def _views(h: Any, seen: list[Any]) -> Any:
    t = np.array([1.5, 2.5, 3.5])
    u = np.arange(6.0).reshape(2, 3)
    if h.max() > 2:
        h += 1
    seen.append(t[1:])
    spread = np.broadcast_to(t, (2, 3))
    z = np.fft.fft(u).T
    read = np.frombuffer(b"abcd", "u1")
    parts = [z.imag, z, z[::-1, :1].real, u[1:].view("i4"), read, read[1:]]
    return [t[::-1], t, t, u.T[1:], u[0], spread, np.asfortranarray(u), u.reshape(-1)[::2], *parts]


def _told(arrays: list[Any]) -> Any:
    shared = [[np.shares_memory(a, b) for a in arrays] for b in arrays]
    return shared, [(a.strides, a.flags.writeable) for a in arrays], arrays[1] is arrays[2]


def test_views_of_arrays_of_plain_data_share_memory() -> None:
    """As the plain function's do, in results and in what is appended, and never those of calls."""
    fused = fc.fused(_views, strict=True)
    before: list[Any] = []
    for value in (0.0, 0.0, 5.0, 5.0, 0.0):
        held, seen = [], []
        wanted = [*_views(np.full(3, value), held), *held]
        got = [*fused(np.full(3, value), seen), *seen]
        equal(got, wanted)
        assert _told(got) == _told(wanted)
        assert not any(np.shares_memory(a, b) for a in got for b in before)
        before += got
        got[1][:] = 9.0
