"""One contender in a process of its own: compares what a program gives, and then times its calls.

``python -m fusecuda.tools.bench.worker PEER DEVICE THREADS`` answers requests, each a line of JSON,
until there are no more. What libraries print goes to standard error.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

from ..counting import ProcessCounter
from ..profile import steps_of
from ..programs.program import Program
from ..programs.rows import PROGRAMS
from ..programs.rows import named as program_named
from ..usage import one_line
from .peers import OURS, PLAIN, Peer, Way, named

Answer = dict[str, Any]

DECIDED = 12  # calls after which `fused` has decided between its two ways
ENOUGH = 8.0  # seconds of such calls
PEERS_RTOL = 1e-9  # of the largest element, for libraries that round otherwise
SLACK = 10.0  # times a program's own tolerance, which is that of 100,000 elements
LENGTHY = 1.0  # seconds: a peer's first call that takes longer is the only one compared
REASON = 200  # characters
SHORT = 0.02  # seconds: shorter calls are made once before a sample, while others go to sleep


class Kept(ProcessCounter):
    """Counts launches, and keeps what ran."""

    def __init__(self) -> None:
        super().__init__()
        self.executables: list[Any] = []

    def ran(self, executable: Any, lap: Any) -> None:
        super().ran(executable, lap)
        self.executables.append(executable)


class Contender:
    """A program of one size, ready to be timed: its way, its arguments, and how they were."""

    def __init__(self, way: Way, arguments: Sequence[Any], written: Sequence[int]) -> None:
        self.way = way
        self.given = [way.place(a) for a in arguments]
        self._kept = {i: way.place(arguments[i]) for i in written}
        self.once = float("inf")  # seconds of the fastest sample

    def restore(self) -> None:
        """What calls have overwritten is as it was."""
        for i, kept in self._kept.items():
            _write(self.given[i], kept)

    def call(self) -> tuple[float, Any]:
        """The seconds of one call until its result is there, and the result."""
        begin = time.perf_counter()
        result = self.way.call(*self.given)
        self.way.wait(result)
        return time.perf_counter() - begin, result

    def settle(self) -> None:
        """Make so many calls that they are as all later ones; fewer where they are long."""
        taken: list[float] = []
        while len(taken) < DECIDED and (len(taken) < 3 or sum(taken) < ENOUGH):
            taken.append(self.call()[0])
        self.restore()

    def move(self) -> None:
        """The arguments lie elsewhere in memory."""
        self.restore()
        self.given = copy.deepcopy(self.given)

    def sample(self, repeats: int) -> float:
        """Seconds for a call, of ``repeats`` in a row."""
        if self.once < SHORT:
            self.call()
        self.restore()
        begin = time.perf_counter()
        for _ in range(repeats):
            result = self.way.call(*self.given)
        self.way.wait(result)
        seconds = (time.perf_counter() - begin) / repeats
        self.once = min(self.once, seconds)
        return seconds


def _write(target: Any, source: Any) -> None:
    if isinstance(target, list | tuple):
        for a, b in zip(target, source, strict=True):
            _write(a, b)
    else:
        target[...] = source


# --- comparing

Task = tuple[Sequence[Any], list[Any]]  # the arguments of a call, and what NumPy computes of them


def task_of(program: Program, size: int) -> Task:
    """The program's task at that size."""
    arguments = program.arguments(size)
    return arguments, expected_of(program, arguments)


def write_task(program: Program, size: int, path: Path) -> None:
    """Leave the task in a file, so that it is drawn and computed once for all contenders."""
    with path.open("wb") as file:
        pickle.dump(task_of(program, size), file, protocol=5)


def read_task(path: Path) -> Task:
    """What `write_task` has left."""
    with path.open("rb") as file:
        task: Task = pickle.load(file)
    return task


def values_of(way: Way, result: Any, arguments: Sequence[Any]) -> list[Any]:
    """All that a call has computed, on the host: its results, and the arrays of its arguments."""
    results = result if isinstance(result, list | tuple) else (result,)
    found = [way.host(r) for r in results if r is not None]
    return found + [way.host(a) for a in _leaves(arguments) if hasattr(a, "shape")]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def expected_of(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """What NumPy computes of the plain program."""
    given = copy.deepcopy(list(arguments))
    return values_of(Way(nothing_called), program.make(numpy)(*given), given)


def nothing_called(*args: Any) -> None:
    """The call of a way that is only asked for values."""


def disagreement(expected: Sequence[Any], found: Sequence[Any], rtol: float, strict: bool) -> str:
    """How ``found`` differs from NumPy's values by more than ``rtol`` allows, or ""."""
    if len(found) != len(expected):
        return f"{len(found)} arrays, not {len(expected)}"
    for number, (want, got) in enumerate(zip(expected, found, strict=True)):
        if got.shape != want.shape or (strict and got.dtype != want.dtype):
            return (
                f"array {number} is {got.dtype}{list(got.shape)}, not {want.dtype}{[*want.shape]}"
            )
        if want.dtype.kind in "fc" and rtol:
            wrong = ~(numpy.abs(got - want) <= rtol * numpy.max(numpy.abs(want), initial=0.0))
        else:
            wrong = ~((got == want) | ((got != got) & (want != want)))  # noqa: PLR0124 - NaN
        count = int(numpy.count_nonzero(wrong))
        if count:
            at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
            return (
                f"{count:,} of {want.size:,} elements of array {number} differ: "
                f"{got[at]!r}, not {want[at]!r}, at {list(at)}"
            )
    return ""


def reason(error: Exception) -> str:
    """What a library says, on one line that is not too long."""
    words = _NOISE.sub("", str(error)).split()
    return f"{type(error).__name__}: {' '.join(words)}"[:REASON].rstrip(": ")


_NOISE = re.compile("\x1b\\[[0-9;]*m| at 0x[0-9a-f]+")  # colours and addresses


# --- requests


class Worker:
    """What a process does: `prepare` a program of a size, `sample` its calls."""

    def __init__(self, peer: Peer, device: str, threads: int) -> None:
        self.peer, self.device, self.threads = peer, device, threads
        self.contender: Contender | None = None

    def prepare(self, name: str, size: int, task: str = "") -> Answer:
        """The program at that size is ready: facts about it, or why it is ``missing``, ``wrong``.

        Nothing that is not right can be sampled. ``task`` is a file of `write_task`.
        """
        self.contender = None
        program = program_named(name)
        arguments, expected = read_task(Path(task)) if task else task_of(program, size)
        try:
            way = self.peer.way(program, self.device, self.threads)
            first, wrong = self._compared(program, way, arguments, expected)
        except KeyboardInterrupt:
            return {"missing": "interrupted"}
        except Exception as error:  # whatever a library fails with, the others go on
            if self.peer.name == OURS:
                return {"wrong": f"raises {one_line(error)}"}
            return {"missing": reason(error)}
        if wrong:
            return {"wrong": wrong}
        del expected
        contender = Contender(way, arguments, program.written)
        if self.peer.name == OURS:
            contender.settle()
        facts = self._facts(program, contender)
        self.contender = contender
        return {"first": first, **facts}

    def _compared(
        self, program: Program, way: Way, arguments: Sequence[Any], expected: Sequence[Any]
    ) -> tuple[float, str]:
        """The seconds of the first call, and what is wrong with it or with the next ones."""
        ours = self.peer.name == OURS
        rtol = program.rtol * SLACK
        if not ours or self.device != "cpu":  # the bits of a GPU's functions are CuPy's
            rtol = max(rtol, PEERS_RTOL)
        first, wrong = 0.0, ""
        for number in range(3):
            contender = Contender(way, arguments, ())
            seconds, result = contender.call()
            first = first or seconds
            found = values_of(way, result, contender.given)
            wrong = wrong or disagreement(expected, found, rtol, strict=ours)
            if not ours and (number or seconds > LENGTHY):
                break
        return first, wrong

    def _facts(self, program: Program, contender: Contender) -> Answer:
        """Launches of a call, and for ours what they move and compute, where all is known."""
        module = sys.modules.get(self.peer.module)
        facts: Answer = {"version": str(getattr(module, "__version__", ""))}
        if self.peer.name not in (OURS, PLAIN):
            return facts
        with Kept() as counter:
            contender.call()
        contender.restore()
        facts["launches"] = counter.total + program.unseen
        if self.peer.name == OURS:
            by_numpy = any(name.startswith(("numpy.", "cupy.")) for name in counter.by_name)
            steps = [step for e in counter.executables for step in steps_of(e)]
            if steps and not by_numpy and not program.unseen:
                facts["bytes"] = sum(s.bytes for s in steps)
                facts["flops"] = sum(s.flops for s in steps)
            told = contender.way.call.explain().splitlines()[0]  # type: ignore[attr-defined]
            if "unfused" in told:
                facts["remark"] = told
        return facts

    def answer(self, request: Answer) -> Answer:
        """What the request asks for."""
        if request["do"] == "begin":
            self.prepare(PROGRAMS[0].name, 100)
            return {}
        if request["do"] == "prepare":
            return self.prepare(request["program"], request["size"], request["task"])
        assert self.contender is not None
        if request["do"] == "move":
            self.contender.move()
            return {}
        return {"seconds": self.contender.sample(request["repeats"])}


def main(arguments: Sequence[str]) -> None:
    """Answer what comes on standard input."""
    name, device, threads = arguments
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(named(name), device, int(threads))
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
