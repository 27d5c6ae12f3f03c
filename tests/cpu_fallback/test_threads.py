"""OMP_NUM_THREADS: what it may say, and what becomes of the rest."""

from __future__ import annotations

import os

import pytest

from fusecuda.cpu_fallback import threads


@pytest.fixture(autouse=True)
def unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has not asked yet, on five processors."""
    monkeypatch.setattr(threads._process, "count", None)
    monkeypatch.setattr(threads, "processors", lambda: 5)


@pytest.mark.parametrize(
    ("text", "count"),
    [("3", 3), (" 3 ", 3), ("+3", 3), ("3,2", 3), ("3 , 2", 3), ("2000", 256), ("2147483647", 256)],
)
def test_a_whole_number_is_taken(text: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to what the driver can start: memory is laid out for each thread."""
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads.thread_count() == count


@pytest.mark.parametrize("text", ["", " "])
def test_nothing_is_no_number(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads.thread_count() == 5


WRONG = [
    *("abc", "2.0", "100000000000", "2147483648", "0", "-1", "0x4", "1e3", "1_0", "²", "3x"),
    *("3,abc", "3,0", "3,", ",3", "3 2", "9" * 5000),
]


@pytest.mark.parametrize("text", WRONG)
def test_what_openmp_would_not_take_is_ignored_with_one_message(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    with pytest.warns(RuntimeWarning, match="OMP_NUM_THREADS=.* is ignored") as said:
        assert threads.thread_count() == 5
    assert len(said) == 1
    assert len(str(said[0].message)) < 300
    assert threads.thread_count() == 5  # silent: warnings are errors here


def test_the_count_is_set_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads.set_thread_count(0) == 5
    assert threads.set_thread_count(10**6) == 1
    assert threads.set_thread_count(7) == 256


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_runs_on_one_thread() -> None:
    child = os.fork()
    if child == 0:
        os._exit(threads.thread_count())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
