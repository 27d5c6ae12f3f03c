"""Rounds: the contenders are processes of their own, and each is asked in turn for a sample.

Nothing else runs while one is sampled, nor while ours gets ready, which measures by itself what
pays. The others get ready at once, for that is mostly compiling.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..programs.program import Program
from .peers import OURS, PLAIN
from .rows import Figure, Row
from .worker import write_task

LONGEST = 600.0  # seconds for an answer
GRACE = 5.0  # seconds in which one that is interrupted stops
LEAST, MOST = 2, 101  # rounds in each place
LONG = 0.1  # seconds: a call so long is a sample, even the first
PACKAGE = Path(__file__).resolve().parents[2]
_OWN = [  # folders that are left out of what is told: results are for others, too
    json.dumps(f"{folder}{os.sep}").strip('"').encode() for folder in (PACKAGE.parent, sys.prefix)
]
_THREADS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_MAX_THREADS")

Answer = dict[str, Any]


class Process:
    """A contender's process; whatever becomes of it, there is an answer."""

    def __init__(self, command: Sequence[str], threads: int) -> None:
        path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
        space = dict.fromkeys(_THREADS, str(threads)) | {
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ, "PYTHONPATH": path
        }  # fmt: skip
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, env=space,
            start_new_session=True,
        )  # fmt: skip
        self._rest = b""
        self._sent = 0.0

    @property
    def is_alive(self) -> bool:
        """True if it can be asked."""
        return self._process.poll() is None

    def send(self, **request: Any) -> None:
        """Ask for something, whose `answer` comes later."""
        assert self._process.stdin is not None
        self._sent = time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # its end is told as the answer
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, limit: float = LONGEST) -> Answer:
        """The answer to what was sent; why there is none in ``limit`` seconds, as ``missing``.

        What takes longer is interrupted, and if that does not help, the process ends.
        """
        line = self._line(limit)
        if line is None:
            seconds = time.monotonic() - self._sent
            os.kill(self._process.pid, signal.SIGINT)
            if not self._line(GRACE):
                self.close()
            return {"missing": f"no answer after {seconds:.0f} seconds"}
        if not line:
            return {"missing": self._death()}
        for folder in _OWN:
            line = line.replace(folder, b"")
        answer: Answer = json.loads(line)
        return answer

    def _line(self, limit: float) -> bytes | None:
        """The next line, nothing if there will be none, None if it does not come in time."""
        assert self._process.stdout is not None
        end = time.monotonic() + limit
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                return None
            some = os.read(self._process.stdout.fileno(), 1 << 16)
            if not some:
                return b""
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _death(self) -> str:
        status = self._process.wait()
        self._said.seek(0)
        last = (self._said.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        how = f"status {status}" if status >= 0 else signal.Signals(-status).name
        return f"its process ended by {how}: {last}"[:300].rstrip(": ")

    def close(self) -> None:
        """End it, and the compilers that it has begun."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._said.close()


def worker_of(peer: str, device: str, threads: int) -> Process:
    """The process of a peer."""
    module = f"{__package__}.worker"
    return Process([sys.executable, "-m", module, peer, device, str(threads)], threads)


Start = Callable[[str], Process]  # the process of a peer by its name


class Contenders:
    """The process of each contender, for all programs: a lost one is begun again when needed."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._processes: dict[str, Process] = {}

    def __getitem__(self, name: str) -> Process:
        return self._processes[name]

    def ask(self, names: Sequence[str], limit: float, **request: Any) -> dict[str, Answer]:
        """The answers to one request, at which all work at once, in ``limit`` seconds at most."""
        lost = {name: a for name, a in self._begin(names).items() if "missing" in a}
        asked = [name for name in names if name not in lost]
        return lost | self._send(asked, limit, request)

    def _begin(self, names: Sequence[str]) -> dict[str, Answer]:
        """Those that do not run yet import their library and compile a first program."""
        new = [n for n in names if n not in self._processes or not self._processes[n].is_alive]
        self._processes |= {name: self._start(name) for name in new}
        return self._send(new, LONGEST, {"do": "begin"})

    def _send(self, names: Sequence[str], limit: float, request: Answer) -> dict[str, Answer]:
        end = time.monotonic() + limit
        for name in names:
            self[name].send(**request)
        return {name: self[name].answer(max(end - time.monotonic(), 0.1)) for name in names}

    def close(self) -> None:
        """End all."""
        for process in self._processes.values():
            process.close()


@dataclass(frozen=True)
class Effort:
    """What a row may take: seconds of sampling, and of one sample at least; places in memory.

    ``patience`` are the seconds in which a peer has to be ready, compiled and compared.
    """

    budget: float
    shortest: float
    places: int
    patience: float = LONGEST

    def within(self, share: float) -> Effort:
        """That of a program that may take about ``share`` seconds, with all of its sizes."""
        budget, patience = min(self.budget, share / 6), max(5.0, 2.5 * share)
        return replace(self, budget=budget, patience=min(self.patience, patience))


def measure(
    program: Program,
    sizes: Sequence[int],
    peers: Sequence[str],
    contenders: Contenders,
    effort: Effort,
) -> list[tuple[Row, dict[str, str]]]:
    """The rows of one program, and the versions of who took part.

    Where memory lies makes a difference, so the samples of several places are put together. Who
    does not get ready for one size is not asked for larger ones.
    """
    found, lost = [], dict[str, str]()
    for size in sorted(sizes):
        samples = Samples({n: {"missing": lost[n]} if n in lost else {} for n in peers})
        _prepare(program, size, samples, contenders, effort)
        if samples.fit():
            _sample(samples, contenders, effort)
        lost = {n: a["missing"] for n, a in samples.answers.items() if "missing" in a}
        found.append((samples.row(program.name, size), samples.versions()))
    return found


@dataclass
class Samples:
    """What contenders have answered about one size, and how long their calls took."""

    answers: dict[str, Answer]  # of each, with the reason why it was lost
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def fit(self) -> list[str]:
        """Those who can still be timed; nobody without ours and the plain program."""
        fit = [n for n, a in self.answers.items() if not {"missing", "wrong"} & set(a)]
        return fit if OURS in fit and PLAIN in fit else []

    def heard(self, answers: dict[str, Answer]) -> None:
        """Contenders are ready, or are not and are not asked again."""
        for name, answer in answers.items():
            self.answers[name] = {**answer, **self.answers[name]}

    def versions(self) -> dict[str, str]:
        """Those of the libraries that took part."""
        return {n: a["version"] for n, a in self.answers.items() if a.get("version")}

    def row(self, program: str, size: int) -> Row:
        """What all of it comes to; a contender that was lost has no time."""
        ours, fit = self.answers[OURS], self.fit()
        return Row(
            program,
            size,
            {n: Figure.of(s) for n, s in self.seconds.items() if n in fit},
            self._said("launches"),
            ours.get("first", 0.0),
            ours.get("bytes"),
            ours.get("flops"),
            self._said("missing"),
            self._said("wrong"),
            ours.get("remark", ""),
        )

    def _said(self, what: str) -> dict[str, Any]:
        return {n: a[what] for n, a in self.answers.items() if what in a}


def _prepare(
    program: Program, size: int, samples: Samples, contenders: Contenders, effort: Effort
) -> None:
    """All that can be timed are ready, and have been compared."""
    request: dict[str, Any] = {"do": "prepare", "program": program.name, "size": size}
    with tempfile.TemporaryDirectory() as folder:
        request["task"] = str(Path(folder) / "task")
        write_task(program, size, Path(request["task"]))
        for name in samples.fit()[:2]:
            samples.heard(contenders.ask([name], LONGEST, **request))
        samples.heard(contenders.ask(samples.fit()[2:], effort.patience, **request))


def _sample(samples: Samples, contenders: Contenders, effort: Effort) -> None:
    """Samples of all who are ready, from each place in memory; from one where they take long."""
    begin = time.monotonic()
    for place in range(effort.places):
        if place and time.monotonic() - begin > max(4 * effort.budget, 1.0):
            break
        if place:
            samples.heard(contenders.ask(samples.fit(), LONGEST, do="move"))
        ready = {name: contenders[name] for name in samples.fit()}
        seconds, lost = rounds(ready, effort.budget / effort.places, effort.shortest)
        samples.heard({name: {"missing": why} for name, why in lost.items()})
        for name, some in seconds.items():
            samples.seconds.setdefault(name, []).extend(some)


def rounds(
    ready: dict[str, Process], budget: float, shortest: float
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The samples of each, who take turns, in the other direction each time; and who was lost.

    A sample is as many calls as take ``shortest`` seconds by the first one, which is not counted.
    """
    samples: dict[str, list[float]] = {name: [] for name in ready}
    repeats = dict.fromkeys(ready, 1)
    lost: dict[str, str] = {}
    order, number, begin = list(ready), -1, time.monotonic()
    while number < LEAST or (number < MOST and time.monotonic() - begin < budget):
        for name in [name for name in order if name not in lost]:
            ready[name].send(do="sample", repeats=repeats[name])
            answer = ready[name].answer()
            if "seconds" not in answer:
                lost[name] = answer["missing"]
                continue
            if number < 0:
                repeats[name] = max(1, int(shortest / max(answer["seconds"], 1e-9)))
            if number >= 0 or answer["seconds"] > LONG:
                samples[name].append(answer["seconds"])
        order.reverse()
        number += 1
    return samples, lost
