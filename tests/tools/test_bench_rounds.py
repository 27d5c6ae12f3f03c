"""How ``bench`` asks its contenders: turns, places, shares of the time, lost processes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from fusecuda.capture.record.budget import Budget
from fusecuda.tools.bench import command, rounds
from fusecuda.tools.bench.peers import OURS, PLAIN
from fusecuda.tools.programs.rows import named
from tests.contenders import Here, explained, off_by
from tests.marks import at_length


@pytest.fixture(autouse=True)
def budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers change it."""
    monkeypatch.setattr(Budget, "FIRST", Budget.FIRST)


class Told:
    """A process that writes down when it is asked, and dies after so many answers."""

    def __init__(self, name: str, log: list[str], lives: int = 10**6, seconds: float = 1.0) -> None:
        self.name, self.log, self.lives, self.seconds = name, log, lives, seconds
        self.repeats: list[int] = []
        self.limit = 0.0

    @property
    def is_alive(self) -> bool:
        return self.lives >= 0

    def send(self, **request: Any) -> None:
        self.log.append(f"{self.name}{request['do'][0]}")
        self.repeats.append(request.get("repeats", 0))

    def answer(self, limit: float = 0.0) -> dict[str, Any]:
        self.lives -= 1
        self.limit = limit
        self.log.append(self.name)
        return {"seconds": self.seconds} if self.is_alive else {"missing": "its process ended"}

    def close(self) -> None:
        self.lives = -1


def test_all_take_turns_in_both_directions() -> None:
    """Nobody is asked while another works; the first answers tell how many calls are a sample."""
    log: list[str] = []
    ready: Any = {name: Told(name, log, seconds=1e-3 * k) for k, name in enumerate("abc", 1)}
    samples, lost = rounds.rounds(ready, budget=0.0, shortest=1e-2)
    assert log == [part for name in "abccbaabc" for part in (f"{name}s", name)]
    assert not lost and {len(s) for s in samples.values()} == {rounds.LEAST}
    assert [told.repeats for told in ready.values()] == [[1, 10, 10], [1, 5, 5], [1, 3, 3]]


def test_one_that_dies_does_not_stop_the_others() -> None:
    log: list[str] = []
    ready: Any = {"a": Told("a", log, seconds=1e-3), "b": Told("b", log, lives=1)}
    samples, lost = rounds.rounds(ready, budget=0.0, shortest=1e-3)
    assert lost == {"b": "its process ended"}
    assert len(samples["a"]) == rounds.LEAST and log.count("b") == 2


def test_a_first_call_that_is_long_is_a_sample() -> None:
    ready: Any = {"a": Told("a", [], seconds=9.0), "b": Told("b", [], seconds=1e-3)}
    samples, _ = rounds.rounds(ready, budget=0.0, shortest=1e-3)
    assert {name: len(some) for name, some in samples.items()} == {"a": 3, "b": 2}


def test_all_work_at_once_where_nothing_is_timed() -> None:
    """In the time that all have together; a lost process is begun again for the next request."""
    log: list[str] = []
    contenders = rounds.Contenders(lambda name: Told(name, log, lives=2))  # type: ignore[arg-type,return-value]
    assert all("seconds" in a for a in contenders.ask("ab", 9.0, do="prepare").values())
    assert log == ["ab", "bb", "a", "b", "ap", "bp", "a", "b"]  # they begin, and prepare
    first: Any = contenders["a"]
    assert 0 < first.limit <= 9.0
    assert all("missing" in a for a in contenders.ask("ab", 9.0, do="move").values())
    assert not first.is_alive
    assert "seconds" in contenders.ask("a", 9.0, do="prepare")["a"]
    assert contenders["a"] is not first


def test_one_that_does_not_begin_is_not_asked() -> None:
    log: list[str] = []
    contenders = rounds.Contenders(lambda name: Told(name, log, lives=0))  # type: ignore[arg-type,return-value]
    assert "ended" in contenders.ask("a", 9.0, do="prepare")["a"]["missing"]
    assert log == ["ab", "a"]


def test_ours_gets_ready_alone() -> None:
    """For it measures what pays while it does; the plain program too, then all others at once."""
    log: list[str] = []
    contenders = rounds.Contenders(lambda name: Told(name, log))  # type: ignore[arg-type,return-value]
    effort = rounds.Effort(0.0, 0.0, 1)
    rounds.measure(named("column sum"), [60], [OURS, PLAIN, "c", "d"], contenders, effort)
    log = [what for what in log if what[-1] not in "bs"]  # they begin, and are sampled
    assert log[:10] == [OURS, f"{OURS}p", OURS, PLAIN, f"{PLAIN}p", PLAIN, "c", "d", "cp", "dp"]


def test_samples_come_from_two_places() -> None:
    """By one process for each contender; what is wrong at one place takes its times away."""
    begun: list[str] = []

    def start(name: str) -> Any:
        begun.append(name)
        return Here(name, "cpu", explained(off_by(0.0)))

    program, effort = named("column sum"), rounds.Effort(0.0, 0.0, 2)
    contenders = rounds.Contenders(start)
    for _ in range(2):
        ((row, _),) = rounds.measure(program, [60], [OURS, PLAIN], contenders, effort)
        assert {f.runs for f in row.times.values()} == {2 * rounds.LEAST}
    assert begun == [OURS, PLAIN]


def test_who_is_not_ready_in_time_is_asked_for_no_larger_size() -> None:
    """The others are timed; the next program begins its process again."""
    begun: list[str] = []

    def start(name: str) -> Any:
        begun.append(name)
        return Told(name, [], lives=0) if name == "Numba" else Here(name, "cpu")

    contenders = rounds.Contenders(start)
    effort = rounds.Effort(0.0, 0.0, 1)
    for turn in (1, 2):
        rows = rounds.measure(named("column sum"), [60, 200], [OURS, PLAIN, "Numba"], contenders,
                              effort)  # fmt: skip
        assert [row.missing for row, _ in rows] == [{"Numba": "its process ended"}] * 2
        assert all(set(row.times) == {OURS, PLAIN} for row, _ in rows)
        assert begun.count("Numba") == turn and begun.count(OURS) == 1


def test_programs_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is short, samples are fewer, and peers have to be ready sooner."""
    found: list[rounds.Effort] = []

    def measure(*what: Any) -> list[Any]:
        found.append(what[-1])
        return []

    monkeypatch.setattr(command, "measure", measure)
    programs, contenders = [named("column sum")] * 3, rounds.Contenders(lambda name: Told(name, []))  # type: ignore[arg-type,return-value]
    for seconds in (6.0, 600.0, -1.0):
        command.measured(
            programs, {p.name: [60] for p in programs}, [], contenders,
            rounds.Effort(1.5, 0.0, 2), seconds,
        )  # fmt: skip
    short, long, none = found[0], found[3], found[6]
    assert short.budget == pytest.approx(1 / 3, rel=0.1) and long.budget == 1.5
    assert short.patience == pytest.approx(5.0) and long.patience == pytest.approx(500, rel=0.1)
    assert none.budget == 0.0 and found[5].patience > long.patience  # what nobody has used


DEAF = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)"
SLOW = """
import signal, sys, time

def interrupted(*signal):
    if slow:
        raise KeyboardInterrupt
    print('{"missing": "interrupted"}', flush=True)  # before it had begun

slow = False
signal.signal(signal.SIGINT, interrupted)
for line in sys.stdin:
    try:
        slow = "slow" in line
        if slow:
            time.sleep(60)
        print('{"seconds": 1.0}', flush=True)
    except KeyboardInterrupt:
        print('{"missing": "interrupted"}', flush=True)
"""


@at_length
def test_one_that_takes_too_long_is_interrupted() -> None:
    """And goes on with the next request: what it has imported is not lost."""
    process = rounds.Process([sys.executable, "-S", "-c", SLOW], 1)
    process.send(do="sample")
    assert process.answer(limit=30.0) == {"seconds": 1.0}
    process.send(do="slow")
    # Long enough for the process to have begun, on a machine that has much else to do.
    assert "no answer after 3 seconds" in process.answer(limit=3.0)["missing"]
    process.send(do="sample")
    assert process.answer(limit=30.0) == {"seconds": 1.0}
    process.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
        ("import sys; sys.exit('no memory')", "status 1: no memory"),
        ("input()", "status 0"),
        ("import time; time.sleep(60)", "no answer after 1 seconds"),
        (f"{DEAF}; time.sleep(60)", "no answer after 1 seconds"),
    ],
)
def test_processes_that_do_not_answer(
    code: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "GRACE", 0.1)
    process = rounds.Process([sys.executable, "-S", "-c", code], 1)
    process.send(do="sample", repeats=1)
    answer = process.answer(limit=1.0 if "sleep" in code else 30.0)
    assert said in answer["missing"]
    assert not process.is_alive
    process.close()
