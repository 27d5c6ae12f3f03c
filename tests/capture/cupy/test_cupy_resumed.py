"""Calls on CuPy's arrays that are recorded again, while other threads use what they are given."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import calls, trace  # noqa: E402
from fusecuda.capture.cupy.storages import complete  # noqa: E402
from fusecuda.capture.record.flight import unlocked  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
X = np.arange(1.0, 25.0).reshape(4, 6)


def signed(x: Any, w: Any) -> Any:
    """Updates ``x``, and looks at it."""
    x += w
    if float(x.sum()) > 0:
        return x * 2
    return x - w


def test_an_argument_that_another_thread_reads_at_the_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is completed once more; the update that has been made is not made again."""
    f, w = fused(signed, device="cpu"), host(X)
    for _ in range(2):
        f(host(X), w)
    read, left = threading.Event(), threading.Event()

    def reads() -> None:
        with fused(device="cpu"):
            w * 3
            read.set()
            left.wait(20)

    other = threading.Thread(target=reads, daemon=True)

    def completed(*arrays: Any) -> None:
        complete(*arrays)
        if not read.is_set():
            other.start()
            unlocked(lambda: read.wait(20))

    monkeypatch.setattr(calls, "complete", completed)
    x, theirs = host(-3 * X), -3 * X
    got, want = f(x, w), signed(theirs, X)
    left.set()
    other.join(20)
    equal([seen(got), seen(x), seen(w)], [want, theirs, X])
    assert f.traces == 2


def test_an_argument_that_another_thread_needs_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits until all is recorded that has been run before."""
    f, w = fused(signed, device="cpu"), host(X)
    for _ in range(2):
        f(host(X), w)
    other = threading.Thread(target=lambda: complete(w), daemon=True)
    note = trace.CupyTrace.note

    def noted(self: Any, *args: Any) -> None:
        note(self, *args)
        if self.path.replaying and not other.ident:
            other.start()
            unlocked(lambda: time.sleep(0.1))

    monkeypatch.setattr(trace.CupyTrace, "note", noted)
    x, theirs = host(-3 * X), -3 * X
    got, want = f(x, w), signed(theirs, X)
    other.join(20)
    assert other.ident
    equal([seen(got), seen(x)], [want, theirs])


def test_what_is_returned_belongs_to_the_caller() -> None:
    """A NumPy array that a call returns is not the one that later calls return."""
    f = fused(lambda x: (x * 2, x[0, :2].get()), device="cpu")
    x = host(X)
    for _ in range(4):
        got = f(x)[1]
        equal(got, X[0, :2])
        got[0] = 99


def test_empty_arrays_are_not_taped() -> None:
    """No address tells that several operands are one of them."""
    x = host(np.zeros((0, 3)))
    for several in (True, False, False):
        with fused(device="cpu"):
            made = [x * 2.0]
            if several:
                made += [x * 3.0, x + 1.0]
        assert [m.shape for m in made] == [(0, 3)] * len(made)


def test_one_odd_call_leaves_other_shapes_alone() -> None:
    """Empty arrays are not followed; all others are, and errors are forgotten in time."""
    f = fused(lambda x: x * 2 + 1, device="cpu")
    for _ in range(3):
        f(host(X))
        f(host(np.zeros((0, 3))))
    before = f.traces
    for n in (5, 6, 7):
        for _ in range(3):
            f(host(np.ones(n)))
    assert f.traces == before + 3
