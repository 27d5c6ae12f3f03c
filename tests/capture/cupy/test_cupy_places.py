"""Where results and parts of arrays lie, in known recordings: nothing is taken for another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402 - they need CuPy
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402
from tests.tape_check import Watch, X, check, watching  # noqa: E402, F401 - a fixture

cupy_host.install()
pytestmark = pytest.mark.usefixtures("where_they_stand")
TURNS = 4  # the first is recorded, the others are followed


def test_an_operation_in_place_is_no_assignment(watch: Watch) -> None:
    """Python assigns after ``x[part] += y`` what is there: that is one operation."""

    def step(m: Any, x: Any) -> Any:
        x[1:-1] += x[:1]
        x[:, 2] *= 2
        x[0, 1:3] -= 1
        x[...] /= 4
        x[None, 1] += 1
        x[::-1, ::2] -= x[:1, ::2]
        return ()

    for turn in range(TURNS):
        check(step, X + turn)
        followed, learned, _, _ = watch.look()
        assert followed + learned == 6


@pytest.mark.parametrize(
    "to, of",
    [
        (np.s_[1:3], np.s_[2:4]), (np.s_[:, 0], np.s_[:, 1]), (np.s_[0], np.s_[3]),
        (np.s_[::-1], np.s_[:]), (np.s_[::2], np.s_[:2]), (np.s_[1:2], np.s_[1]),
        (np.s_[0, :2], np.s_[1, 1:3]), (np.s_[..., -1], np.s_[..., 0]), (np.s_[2], np.s_[2]),
        (np.s_[None, 1], np.s_[0]), (np.s_[-1:], np.s_[:1]),
    ],
)  # fmt: skip
def test_parts_that_look_alike(to: Any, of: Any) -> None:
    """A part is assigned to another one of the same array, updated or not."""

    def step(m: Any, x: Any) -> Any:
        part = x[of]
        x[to] = part
        part += 1
        x[to] = part
        y = x + 1
        y[to] = y[of]
        return (y,)

    for turn in range(TURNS):
        check(step, X + turn)


def test_a_view_of_another_shape_is_no_assignment_of_its_own() -> None:
    """Nor is the part of another array that lies as far from its beginning."""

    def step(m: Any, x: Any) -> Any:
        y = x * 2
        part = y[1:3]
        part -= 1
        x[1:3] = part
        row = x[0]
        row.shape = (2, 3)
        row *= 2
        x[:2, :3] = row
        return (y,)

    for turn in range(TURNS):
        check(step, X + turn)


def test_numbers_assigned_to_parts_and_elements() -> None:
    """Whether there is an element or a part, and whatever the type."""

    def step(m: Any, x: Any, k: float) -> Any:
        line = x[1] * 1
        line[0] = k
        line[-2:] = k
        x[0, 0], x[1], x[2, ::2] = k, k, k
        n = x.astype(int)
        n[0] = k
        n[1, 1:] = k
        half = x.astype("f2")
        half[:, 1] = k
        half[3, 3] = k
        point, single = m.zeros(()), m.zeros((), "f4")
        point[...] = single[()] = k
        return line, n, half, point, single + x[0].astype("f4")

    for k in (0.1, 0.1, -1.75, 3.3, 0.1):
        check(step, X, k)


def test_results_of_which_only_parts_are_left() -> None:
    """What has no storage yet is computed if any array shows it."""

    def step(m: Any, x: Any) -> Any:
        tail = (x + 1)[1:]
        corner = ((x * 2).T)[0, 0:2]
        one = x - 3
        other = one[::2]
        other += 1
        del one
        again = x * x
        again += x
        again[0] = tail[0]
        return tail, corner, other, again

    for turn in range(TURNS):
        check(step, X + turn)


def test_results_that_leave_what_is_known() -> None:
    """Nodes are made for what was followed without storages, dropped or not."""
    for turn in range(TURNS + 2):
        x = host(X)
        with fused(device="cpu"):
            a = x + 1
            b = a * 2
            b -= x
            part = b[1:]
            del b
            if turn % 2:
                a = a / 4
                part *= a[1:]
            total = part.sum(axis=0)
        want = (X + 1) * 2 - X
        if turn % 2:
            want[1:] *= (X[1:] + 1) / 4
        equal(seen(part), want[1:])
        equal(seen(total), want[1:].sum(axis=0))


def test_other_regions_read_what_has_no_storage_yet() -> None:
    """A block in a context of its own computes it."""
    import contextvars

    for turn in range(TURNS):
        x, found = host(X + turn), []
        with fused(device="cpu"):
            y = x * 2
            y += 1

            def beside(y: Any = y, found: Any = found) -> None:
                with fused(device="cpu"):
                    found.append(y * 3)

            contextvars.Context().run(beside)
            y -= 1
        equal(seen(found[0]), ((X + turn) * 2 + 1) * 3)
        equal(seen(y), (X + turn) * 2)
