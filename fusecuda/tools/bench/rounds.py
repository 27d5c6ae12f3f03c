"""Rounds: the contenders are processes of their own, and each is asked in turn for a sample."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..programs.program import Program
from .peers import OURS, PLAIN
from .rows import Figure, Row

LONGEST = 600.0  # seconds for an answer
LEAST, MOST = 3, 101  # rounds
PACKAGE = Path(__file__).resolve().parents[2]
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
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, env=space
        )
        self._rest = b""

    @property
    def is_alive(self) -> bool:
        """True if it can be asked."""
        return self._process.poll() is None

    def ask(self, limit: float = LONGEST, **request: Any) -> Answer:
        """The answer to a request, or why there is none, as ``missing``."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._line(limit)
        except BrokenPipeError:
            line = b""
        if line is None:
            self.close()
            return {"missing": f"no answer after {limit:.0f} seconds"}
        if not line:
            return {"missing": self._death()}
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
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._said.close()


def worker_of(peer: str, device: str, threads: int) -> Process:
    """The process of a peer."""
    module = f"{__package__}.worker"
    return Process([sys.executable, "-m", module, peer, device, str(threads)], threads)


Start = Callable[[str], Process]  # the process of a peer by its name


@dataclass(frozen=True)
class Effort:
    """Seconds of sampling for a row, and of one sample at least; processes of each contender."""

    budget: float
    shortest: float
    processes: int


def measure(
    program: Program, sizes: Sequence[int], peers: Sequence[str], start: Start, effort: Effort
) -> list[tuple[Row, dict[str, str]]]:
    """The rows of one program, and the versions of who took part, in processes of its own.

    ``effort`` says for how long; the samples of several sets of processes are put together, for
    where memory lies differs from one to the other.
    """
    found = {size: Samples({name: {} for name in peers}) for size in sizes}
    for _ in range(effort.processes):
        _sample(program, found, start, effort)
    return [
        (samples.row(program.name, size), samples.versions()) for size, samples in found.items()
    ]


@dataclass
class Samples:
    """What contenders have answered about one size, and how long their calls took."""

    answers: dict[str, Answer]  # the first of each, with the reason why it was lost
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def fit(self) -> list[str]:
        """Those who can still be timed; nobody without ours and the plain program."""
        fit = [n for n, a in self.answers.items() if not {"missing", "wrong"} & set(a)]
        return fit if OURS in fit and PLAIN in fit else []

    def heard(self, name: str, answer: Answer) -> None:
        """A contender is ready, or is not and is not asked again."""
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


def _sample(program: Program, found: dict[int, Samples], start: Start, effort: Effort) -> None:
    """Samples of all sizes by one process for each contender."""
    processes: dict[str, Process] = {}
    try:
        for size, samples in found.items():
            ready = {}
            for name in samples.fit():
                if name not in processes or not processes[name].is_alive:
                    processes[name] = start(name)
                answer = processes[name].ask(do="prepare", program=program.name, size=size)
                samples.heard(name, answer)
                if "once" in answer:
                    repeats = max(1, int(effort.shortest / max(answer["once"], 1e-9)))
                    ready[name] = processes[name], repeats
            if samples.fit():
                seconds, lost = rounds(ready, effort.budget / effort.processes)
                for name, why in lost.items():
                    samples.heard(name, {"missing": why})
                for name, some in seconds.items():
                    samples.seconds.setdefault(name, []).extend(some)
    finally:
        for process in processes.values():
            process.close()


def rounds(
    ready: dict[str, tuple[Process, int]], budget: float
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The samples of each, who take turns, in the other direction each time; and who was lost.

    ``ready`` has for each the process, and how many calls make a sample.
    """
    samples: dict[str, list[float]] = {name: [] for name in ready}
    lost: dict[str, str] = {}
    order, number, begin = list(ready), 0, time.monotonic()
    while number < LEAST or (number < MOST and time.monotonic() - begin < budget):
        for name in order:
            if name in lost:
                continue
            process, repeats = ready[name]
            answer = process.ask(do="sample", repeats=repeats)
            if "seconds" in answer:
                samples[name].append(answer["seconds"])
            else:
                lost[name] = answer["missing"]
        order.reverse()
        number += 1
    return samples, lost
