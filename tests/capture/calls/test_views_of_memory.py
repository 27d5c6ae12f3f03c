"""Views that NumPy's functions give of memory with gaps, and what is picked by constants."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record.rest import Trial
from fusecuda.capture.record.view import in_memory_order, view_within
from tests.marks import one_in
from tests.real_code.compare import differences
from tests.side_by_side import run

NDArray = np.ndarray[Any, Any]
SHIFTS = np.array([[0, 0], [1, 0], [0, 1], [-1, 2]])


@pytest.fixture(autouse=True)
def always_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No measurement decides that a function is left as it is."""
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))


def with_gaps(a: NDArray) -> NDArray:
    """As ``a``, every second element of memory twice as long along each axis."""
    memory = np.full(tuple(2 * n + 1 for n in a.shape), -7, a.dtype)
    shown: NDArray = memory[(slice(1, None, 2),) * a.ndim]
    shown[...] = a
    return shown


def columns(a: NDArray) -> NDArray:
    """As ``a``, the first columns of a longer array."""
    shown = np.full((*a.shape[:-1], a.shape[-1] + 3), -7, a.dtype)[..., : a.shape[-1]]
    shown[...] = a
    return shown


LAYOUTS: tuple[Callable[[NDArray], NDArray], ...] = (
    np.copy, with_gaps, columns, np.asfortranarray,
    lambda a: with_gaps(a)[::-1][::-1], lambda a: with_gaps(a.T).T,
    lambda a: np.ascontiguousarray(a[::-1])[::-1],
)  # fmt: skip


def diagonal_written(x: Any, k: Any) -> Any:
    np.einsum("ii->i", x)[...] *= 2
    return x.sum(axis=0)


def transposed_written(x: Any, k: Any) -> Any:
    flat = np.einsum("ij->ji", x)
    flat[0] += 1
    return x * 2


def given_back_written(x: Any, k: Any) -> Any:
    same = np.real_if_close(x)
    same[1:] = 3
    return x + 1


def row_taken(x: Any, k: Any) -> Any:
    row = np.take(x, k[1], axis=0)
    row += 100
    return row


def row_taken_flat(x: Any, k: Any) -> Any:
    return np.take(x[0], k[1]), np.ravel(x[1])[k[1]], x[:, 1].reshape(1, -1) + k[1]


def by_ranges(x: Any, k: Any) -> Any:
    x[range(3), k] -= 1
    x[range(2)] *= 2
    return x[range(3), range(2, -1, -1)], x[2, range(2)], x[range(0)]


def read_only(x: Any, k: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2))
    shown = np.linalg.diagonal(x)
    return np.diag(x), np.diag(x * 2, 1), windows, np.broadcast_to(k, (2, 3)), shown


def rolled_by_constants(x: Any, k: Any) -> Any:
    shifted = [np.roll(x, tuple(s), axis=(0, 1)) for s in SHIFTS]
    return np.stack(shifted), np.roll(x, k[1], 0), np.roll(x, SHIFTS[3, 1])


def by_what_is_computed(x: Any, k: Any) -> Any:
    most = k.max()
    return (np.roll(x, most + 1), np.arange(most + 2), np.bincount(k, minlength=most + 3),
            np.pad(x, ((most, 1), (0, 0))), np.round(x * 1000, most - 3),
            np.histogram(x, bins=4, range=(x.min(), x.max())))  # fmt: skip


def filled_by_what_is_computed(x: Any, k: Any) -> Any:
    return (np.full_like(x, x.max()), np.full_like(k, x.mean() * 9),
            np.pad(x, 1, constant_values=x.min()), np.full((2, 3), x.max(), order="F"))  # fmt: skip


PROGRAMS = (
    diagonal_written, transposed_written, given_back_written, row_taken, row_taken_flat, by_ranges,
    read_only, rolled_by_constants, by_what_is_computed, filled_by_what_is_computed,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@one_in(16)
def test_as_numpy(program: Callable[..., Any]) -> None:
    """Values, what may be written to, and what is written through views; all of it replayed."""
    fused = fc.fused(program)
    for layout in LAYOUTS:
        for turn in range(3):
            x = np.random.default_rng(turn).random((3, 3))
            k = np.array([0, 2, 1] if turn == 2 else [0, 1, 2])
            theirs, ours = (layout(x), layout(k)), (layout(x), layout(k))
            want, got = program(*theirs), fused(*ours)
            found = differences({" ": got, " given": ours}, {" ": want, " given": theirs}, "")
            assert not found, "\n".join(found)
    assert "replayed" in fused.explain().splitlines()[0]


def test_a_view_within_memory() -> None:
    """Each view by slices of memory with gaps is found, and is of the same elements."""
    whole = np.arange(6 * 8 * 10).reshape(6, 8, 10)
    slices = (slice(None), slice(1, 4), slice(None, None, 2), slice(None, None, -1))
    memories = (whole, whole[:, :, 2:7], whole[:, 1:5], whole[::2, ::3, 1::4], whole[::2])
    for memory, key in itertools.product(memories, itertools.product(slices, repeat=3)):
        for a in (
            memory[key],
            memory[key].transpose(2, 0, 1),
            memory[key].diagonal(),
            memory[key][1],
        ):
            laid, _ = in_memory_order(memory)
            view = view_within(a, laid)
            assert view is not None
            shown = view.of(laid)
            assert shown.strides == a.strides or a.size <= max(a.shape)
            assert np.array_equal(shown, a) and np.shares_memory(shown, a)


def test_no_view_within_memory() -> None:
    """What lies between the elements of memory is none of them."""
    whole = np.arange(48).reshape(6, 8)
    memory = whole[::2, ::2]
    assert view_within(whole[:, ::2], memory) is None
    assert view_within(whole[::2, 1::2], memory) is None
    assert view_within(whole[::2], memory) is None
    assert view_within(memory[:, :0], memory) is None


@pytest.mark.parametrize("is_large", [False, True])
def test_an_argument_keeps_its_base(is_large: bool, request: pytest.FixtureRequest) -> None:
    """Also where an argument has been written to, so that the call cannot be made again if it is
    large.
    """
    if is_large:
        request.getfixturevalue("nothing_is_undone")
    program = """
@fused
def f(x, out):
    np.cumsum(x, out=out)
    if out[0] > 0: out *= 2
    return x.base is None, out.base is None, x.flags.owndata, out.flags.owndata, x[1:].base is None
"""
    steps = ["x = np.arange(6.0) + 1; out = np.empty(6); r = f(x, out)", "r = f(x[::2], out[:3])"]
    run(program, steps * 3)


GIVEN: dict[str, Callable[[Any], Any]] = {
    "type": lambda x: x.dtype.type(x * 2),
    "type by name": lambda x: getattr(np, "float64")(x * 2),  # noqa: B009
    "mapped": lambda x: next(map(np.float64, [x * 2])),
    "partly applied": lambda x: functools.partial(np.float64)(x * 2),
    "masked": lambda x: np.ma.array(x * 2, copy=False).data,
    "among objects": lambda x: np.array([x * 2, None], dtype=object)[0],
    "buffer": lambda x: np.frombuffer(x * 2),
    "array on a buffer": lambda x: np.ndarray((3,), buffer=x * 2),
}


@pytest.mark.parametrize("acts", [True, False])
@pytest.mark.parametrize("name", GIVEN)
def test_memory_that_numpys_code_takes_is_written_to(name: str, acts: bool) -> None:
    """Also where something has been done that cannot be done again."""
    take = GIVEN[name]

    def program(x: Any) -> Any:
        if acts:
            print(end="")
        taken = take(x)
        taken += 1
        return taken

    fused = fc.fused(program)
    for _ in range(2):
        found = fused(np.arange(3.0))
        assert found.tolist() == [1, 3, 5] and found.flags.writeable


def test_memory_that_is_taken_shows_what_is_written() -> None:
    """To either: what was read before is as it was then."""

    def program(x: Any, kind: Any) -> Any:
        print(end="")
        own = x * 2
        taken = kind(own)
        before = own + 1
        taken += 1
        after = own + 1
        own *= 2
        return before, after, taken

    found = fc.fused(program)(np.arange(3.0), np.float64)
    assert [part.tolist() for part in found] == [[1, 3, 5], [2, 4, 6], [2, 6, 10]]
