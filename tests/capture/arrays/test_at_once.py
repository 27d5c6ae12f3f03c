"""Small work on lazy arrays is done at once: no node, the same memory, NumPy's own rules."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.arrays.table import ENTRIES
from fusecuda.capture.record import recorder as records
from fusecuda.capture.record.recorder import AT_ONCE_BELOW, Recorder, default_recorder
from tests.capture_check import equal

LARGE = AT_ONCE_BELOW // 8 + 1000  # doubles


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The operations that are recorded."""
    default_recorder.flush()
    names: list[str] = []
    note = Recorder.note

    def counted(self: Recorder, node: Any, storage: Any) -> None:
        names.append(node.op)
        note(self, node, storage)

    monkeypatch.setattr(Recorder, "note", counted)
    yield names
    default_recorder.flush()


def test_small_work_makes_no_nodes(noted: list[str]) -> None:
    x, n = fnp.asarray([3.0, 1.0, 2.0, 4.0]), np.array([3.0, 1.0, 2.0, 4.0])
    for np_, given in ((fnp, x), (np, n)):
        a: Any = given
        a += 1
        a[1:] *= a[:-1].copy()
        a[a > 9] = 0.5
        a[0] = a[-1] = a[[1, 2]].sum()
        a[2] += np_.sqrt(a).max()
        np_.add(a, 1, out=a)
        a.reshape(2, 2).T[0] = np_.where(a > 1, a, -a)[:2]
    equal(x, n)
    assert not noted
    y = fnp.zeros(3) + fnp.arange(3) @ fnp.ones((3, 3))
    equal(y, np.arange(3) @ np.ones((3, 3)))
    assert not noted and float(y[1]) == 3.0 and bool(y[0] == y[2]) and int(y[0]) == 3


SMALL: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("arange", lambda np_, x: np_.arange(1.0, 2.5, 0.5) * 2),
    ("eye", lambda np_, x: np_.eye(3) + np_.tri(3) + np_.identity(3, int)),
    ("triangles", lambda np_, x: np_.triu(x) + np_.tril(x, -1)),
    ("outer", lambda np_, x: np_.outer(x[0], x[1]) + np_.add.outer(x[0], x[1])),
    ("growing", lambda np_, x: (np_.tile(x, 2), np_.repeat(x[0], 2), np_.kron(x, x))),
    ("vander", lambda np_, x: np_.vander(x[0]) + np_.vander(x[1], 3, increasing=True)),
    ("pad", lambda np_, x: (np_.pad(x, 1), np_.pad(x, ((0, 2), (1, 1)), mode="edge"))),
    ("insert", lambda np_, x: np_.insert(x, 1, 7, axis=0)),
    ("nan_to_num", lambda np_, x: np_.nan_to_num(x / 0 - x)),
    ("split", lambda np_, x: np_.split(x[0], 3) + np_.hsplit(x, 3) + np_.array_split(x, 2)),
    ("rot90", lambda np_, x: np_.rot90(x) + np_.fliplr(x)),
    ("builders", lambda np_, x: (np_.c_[x[0], x[1]], np_.r_[0, x[0], 1:3])),
    ("copies", lambda np_, x: (x.T.reshape(-1), x.ravel(), x.flatten("F"), x.T.ravel())),
    ("views", lambda np_, x: (x.swapaxes(0, 1) @ x, x.mT + 1, x[None].squeeze(0))),
    ("divmod", lambda np_, x: (*divmod(x, 2.0), *divmod(7, x + 1))),
    ("dot", lambda np_, x: x.dot(x)),
    ("solve", lambda np_, x: np_.linalg.solve((x + 10 * np_.eye(3)).T, x.T).T),
]  # fmt: skip


@pytest.mark.parametrize("work", [work for _, work in SMALL], ids=[name for name, _ in SMALL])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_functions_of_small_arrays_make_no_nodes(
    work: Any, noted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ENTRIES, "call_function", None)  # nor do they go to handlers
    values = np.arange(9.0).reshape(3, 3)
    got, want = work(fnp, fnp.asarray(values)), work(np, values)
    assert not noted
    pairs = zip(got, want, strict=True) if isinstance(want, tuple | list) else [(got, want)]
    for result, numpys in pairs:
        assert type(result) is fc.Array
        equal(result, numpys)
    assert not noted


def test_what_grows_much_is_recorded(noted: list[str]) -> None:
    x = fnp.asarray([1.0, 2.0, 3.0])
    much = fnp.asarray(np.arange(1000.0))
    for work in (
        lambda np_, x, much: np_.repeat(x, 20_000),
        lambda np_, x, much: np_.tile(x, (20_000, 2)),
        lambda np_, x, much: np_.pad(x, pad_width=50_000),
        lambda np_, x, much: np_.outer(much, much),
        lambda np_, x, much: np_.kron(much, much),
        lambda np_, x, much: np_.vander(much / 1000),
    ):
        noted.clear()
        made = work(fnp, x, much)
        assert noted
        equal(made[-3:], work(np, np.array([1.0, 2.0, 3.0]), np.arange(1000.0))[-3:])


def test_parts_of_small_arrays_are_views(noted: list[str]) -> None:
    x, n = fnp.asarray(np.arange(12.0).reshape(3, 4)), np.arange(12.0).reshape(3, 4)
    for np_, given in ((fnp, x), (np, n)):
        first, second = np_.hsplit(given.T[1:3].T, 2)
        first += 10
        np_.rot90(given)[0] *= second.sum()
        with pytest.raises(ValueError, match="read-only"):
            np_.diagonal(given)[0] = 1
        assert not np_.diagonal(given).flags.writeable
        given[0, 0] = first[0, 0]
    assert not noted
    equal(x, n)
    large = fnp.asarray(np.arange(2.0 * LARGE))
    for part in fnp.split(large, 2):
        part[0] = -1
    waiting = large + 1
    fnp.split(large, 2)[1][0] = 5
    assert float(waiting[LARGE]) == 0 and float(large[LARGE]) == 5


def test_sums_at_indices_of_small_arrays(noted: list[str]) -> None:
    x, n = fnp.asarray(np.arange(4.0)), np.arange(4.0)
    for np_, given in ((fnp, x), (np, n)):
        np_.add.at(given, [0, 0, 2], 1.5)
        np_.maximum.at(given[1:], np.array([0, 1]), np.array([9.0, 1.0]))
        np_.negative.at(given, slice(3, None))
        with pytest.raises(IndexError):
            np_.add.at(given, 7, 1.0)
    assert not noted
    equal(x, n)
    large = fnp.asarray(np.ones(LARGE))
    waiting = large + 1
    fnp.add.at(large, [5], 1.0)
    assert float(waiting[5]) == 2 and float(large[5]) == 2
    x = fnp.asarray(np.ones(8))
    waiting = (large * 2)[:8] + x
    fnp.add.at(x, [5], 1.0)
    assert float(waiting[1]) == 3 and float(waiting[5]) == 5 and float(x[5]) == 2


def test_results_are_lazy_arrays_and_scalars_stay_scalars() -> None:
    x = fnp.asarray([1.5, 2.5])
    for result, scalar in ((x + 1, False), (x[0], True), (x.sum(), True), (-x[1], True),
                           (fnp.sqrt(x[0]), True), (x[:1], False), (x.T, False)):  # fmt: skip
        assert type(result) is fc.Array
        assert result.is_scalar is scalar
    first = x[0]
    x[0] = 9
    before = first
    first += 1
    assert float(before) == 1.5 and float(first) == 2.5


def test_inside_blocks_everything_is_recorded() -> None:
    with fc.fused() as region:
        y = fnp.asarray([1.0, 2.0]) + 1
    assert region.launches == 1
    equal(y, np.array([2.0, 3.0]))


def test_an_update_touches_what_it_writes(noted: list[str]) -> None:
    """Elements and small regions of a large array are written in its own memory."""
    w, n = fnp.asarray(np.arange(4.0 * LARGE).reshape(4, -1)), np.arange(4.0 * LARGE).reshape(4, -1)
    memory = w.storage.buffer
    for a in (w, n):
        a[1, 2] += 1
        a[0, 1:5] = a[0, 3:7]
        a[2, ::-1][:3] *= 2
        a[-1, -1] = a[0, 0]
    assert not noted and w.storage.buffer is memory
    equal(w, n)


def test_what_is_recorded_reads_the_values_from_before() -> None:
    """A write at once does not reach what waits for the memory as it was."""
    x = fnp.asarray(np.ones(LARGE))
    view = x[10:]
    y = x + 1
    x[5] = 7
    view[0] += 1
    assert float(y[5]) == 2 and float(y[10]) == 2
    assert float(x[5]) == 7 and float(x[10]) == 2 and float(view[0]) == 2


def test_views_follow_other_memory() -> None:
    """Views that have kept NumPy's own see what a kernel has put elsewhere, and keep nothing."""
    x = fnp.asarray(np.zeros(LARGE))
    views = [x[i : i + 3] for i in range(100)]
    assert float(views[7][0]) == 0
    old = sys.getrefcount(x.storage.buffer)
    assert old > 100
    buffer = x.storage.buffer
    x[...] = x * 2 + 1
    assert float(x.sum()) == LARGE
    if x.storage.buffer is not buffer:
        assert sys.getrefcount(buffer) < 10
    views[7] += 1
    assert float(x[8]) == 2 and float(views[8][0]) == 2


def test_read_only_and_overlapping_writes() -> None:
    x = fnp.asarray(np.arange(6.0))
    shown = fnp.broadcast_to(x, (2, 6))
    for write in (lambda: shown.__setitem__((0, 0), 1), lambda: shown.__iadd__(1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    kept = np.arange(3.0)
    kept.flags.writeable = False
    mine = fnp.asarray(kept, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        mine[0] = 1
    x[1:] = x[:-1]
    equal(x, np.array([0.0, 0, 1, 2, 3, 4]))
    x[::-1] += x
    equal(x, np.array([4.0, 3, 3, 3, 3, 4]))


def test_memory_of_others() -> None:
    """An array that is somebody's memory is read and written there; a copy stays a copy."""
    mine = np.arange(4.0)
    shared, own = fnp.asarray(mine, copy=False), fnp.asarray(mine)
    shared[1] = 10
    mine[2] = 20
    equal(shared + 0, np.array([0.0, 10, 20, 3]))
    equal(own + 0, np.arange(4.0))
    out = fnp.atleast_1d(mine)
    out[0] = 99
    assert mine[0] == 0
    seen = np.asarray(own)
    own[0] = 5
    assert seen[0] == 5


def test_numpys_errors_and_errstate() -> None:
    x = fnp.asarray([1.0, 0.0])
    for call, kind in (
        (lambda: x[2], IndexError), (lambda: x + fnp.ones(3), ValueError),
        (lambda: fnp.asarray([1, 2]).__iadd__(0.5), TypeError),
        (lambda: fnp.asarray(np.uint8([1])) + 300, OverflowError),
        (lambda: x.__setitem__(0, fnp.ones(3)), ValueError),
    ):  # fmt: skip
        with pytest.raises(kind):
            call()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        x / 0
    equal(x, np.array([1.0, 0.0]))


@pytest.mark.parametrize("size", [10, 50_000, 300_000])
@pytest.mark.parametrize(
    "fault",
    [
        lambda x: x.__setitem__(slice(2, 5), np.ones(7)),
        lambda x: x.__setitem__(["a"], 1),
        lambda x: x.__iadd__(1j),
        lambda x: np.add(x, 1j, out=x),
        lambda x: x.astype("no_such_type"),
        lambda x: x.astype(float, casting="somehow"),
        lambda x: x.astype(int, casting="safe"),
        lambda x: x.fill("a"),
        lambda x: x.__delitem__(0),
        lambda x: x.mT,
        lambda x: x[:1].reshape(()).mT,
        lambda x: x.__array_namespace__(api_version="1999"),
    ],
)
def test_errors_are_numpys_at_every_size(fault: Any, size: int) -> None:
    """Also where no blank arrays of so many elements are made to ask for them."""
    with pytest.raises(Exception) as wanted:
        fault(np.ones(size))
    with pytest.raises(wanted.type) as found:
        fault(fnp.ones(size) + 0)
    assert str(found.value) == str(wanted.value)


def test_products_and_library_calls_copy_nothing(noted: list[str]) -> None:
    b = fnp.asarray(np.random.default_rng(1).random((200, 200)))
    product = b @ b
    assert type(product) is fc.Array and not noted
    np.testing.assert_allclose(product, b.compute() @ b.compute())
    assert fnp.sort(b).shape == (200, 200) and fnp.linalg.inv(b).shape == (200, 200)
    assert not noted


def test_few_small_operations_wait_and_many_do_not(noted: list[str]) -> None:
    """What hangs on a large computation joins it, unless there is a long row of it."""
    total = (fnp.asarray(np.ones(LARGE)) * 2).sum()
    for _ in range(4):
        total = total + 1
    assert len(noted) == 6
    for _ in range(3 * records.SMALL_IN_A_ROW):
        total = total + 1
    assert len(noted) <= 6 + records.SMALL_IN_A_ROW
    assert float(total) == 2 * LARGE + 4 + 3 * records.SMALL_IN_A_ROW


def test_threads_write_parts_of_one_array() -> None:
    """No update is lost, whether the other threads' parts are recorded or written at once."""
    x = fnp.asarray(np.zeros((4, LARGE)))
    failed: list[BaseException] = []
    kept: list[Any] = []

    def work(row: int) -> None:
        try:
            for step in range(60):
                x[row, 3] += 1
                if step % 20 == row:
                    kept.append(x[row] * 2)  # so that the part is written to other memory
                    x[row, 10:] = fnp.asarray(np.full(LARGE - 10, float(step)))
                float(x[row, 3])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
    for row in range(4):
        assert float(x[row, 3]) == 60 and float(x[row, 10]) == 40 + row


def test_iteration_sees_what_is_written_meanwhile() -> None:
    """At once or recorded, as NumPy's iterators do."""
    a = fnp.arange(4.0)
    seen = []
    for value in a:
        seen.append(float(value))
        a[3] = 9
    assert seen == [0, 1, 2, 9]
    large = fnp.ones(1_000_000)
    part = large[:2]
    found = iter(part)
    assert float(next(found)) == 1
    large += 1
    assert float(next(found)) == 2
