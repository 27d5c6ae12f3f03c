"""Outcomes: what becomes of a case when its kernels run, in a process that may die of them."""

from __future__ import annotations

import argparse
import faulthandler
import os
import pickle
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..cases.case import Case, on_host
from ..cases.checked import meaning_of, results_of
from ..cases.compare import first_difference
from ..engine import Executable, build
from ..graph.interpret import interpret
from ..graph.library import steady
from .dumps import array_module, cases, refuse_without_compiler
from .usage import one_line

_LONGEST = 300.0  # seconds for one outcome
SAME, DIFFERS, INVALID = "same", "differs", "invalid"


@dataclass(frozen=True)
class Outcome:
    """What became of a case: its ``kind``, which tells faults apart, and the details."""

    kind: str
    text: str = ""

    @property
    def is_fault(self) -> bool:
        """True if the kernels do not do what the interpreter does."""
        return self.kind not in (SAME, INVALID)


def told(found: Outcome) -> str:
    """What the kernels make of a case, in words."""
    if found.kind == SAME:
        return "the kernels' results are the interpreter's"
    return found.text if found.kind == DIFFERS else f"{found.kind}: {found.text}"


def faults(arguments: argparse.Namespace) -> Iterator[tuple[Path, Case, Outcome]]:
    """The dumped cases of which the kernels are at fault; what becomes of each is printed."""
    for path, case in cases(arguments):
        refuse_without_compiler(case)
        found = outcome(case)
        print(f"{path.name}: {told(found)}")
        if found.is_fault:
            yield path, case, found


def whole(case: Case) -> Executable:
    """The executable of ``case``, as calls would have it."""
    return build(case.graph, case.strides, case.options)


def outcome(case: Case, make: Callable[[Case], Executable] = whole) -> Outcome:
    """What becomes of ``case`` in the executable that ``make`` makes of it.

    Compared is with the interpreter. On the CPU it runs in a process of its own.
    """
    if case.options.device != "cpu" or not hasattr(os, "fork"):
        return _outcome(case, make)
    return isolated(lambda: _outcome(case, make))


def _outcome(case: Case, make: Callable[[Case], Executable]) -> Outcome:
    device = case.options.device
    with steady(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = interpret(case.graph, case.arguments(), meaning_of(device))
        except Exception as error:
            return Outcome(INVALID, f"the interpreter fails: {one_line(error)}")
        try:
            arguments = case.arguments(array_module(device))
            results = results_of(case.graph, make(case).run(arguments), arguments)
        except Exception as error:
            return Outcome(f"raises {type(error).__name__}{_place(error)}", one_line(error))
        found = [np.asarray(on_host(r)) for r in results]
        difference = first_difference(case.graph, found, expected, exact=device == "cpu")
    return Outcome(DIFFERS, difference) if difference else Outcome(SAME)


def _place(error: Exception) -> str:
    """The function that raised, which tells one fault from another of the same type."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" in {frames[-1].name}" if frames else ""


def isolated(work: Callable[[], Outcome]) -> Outcome:
    """What ``work`` gives in a forked process, or of which signal that has died."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other threads are none of the child's business
        child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()  # how it dies is told by its status
            os.close(reading)
            answer: Any = work()
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(answer, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        ends = bool(select.select([pipe], [], [], _LONGEST)[0])
        if not ends:
            os.kill(child, signal.SIGKILL)
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if not ends:
        return Outcome("hangs", f"no result after {_LONGEST:.0f} seconds")
    if text:
        with suppress(pickle.UnpicklingError, EOFError):
            found: Outcome = pickle.loads(text)
            return found
    name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "no answer"
    return Outcome(f"dies of {name}", "the process that ran the kernels is gone")
