"""Running a piece plain and fused, side by side, and what came of it."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import itertools
import random
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import fusecuda as fc
from tests.real_code.compare import differences
from tests.real_code.piece import ANEW, REPLAYED, UNFUSED, Piece

FOLDER = Path(__file__).parent
FIELDS = ("simulations", "physics", "learning", "sampling", "signals", "images", "tables",
          "finance", "by_hand", "programs", "frameworks", "trackers", "sciences",
          "structures", "experiments", "methods", "pictures", "textbooks",
          "keepers", "workshop")  # fmt: skip
_numbers = itertools.count()


# --- what the tests know of `explain`, all of it


def reason_of(function: Any) -> str:
    """The line that says what became of the last calls."""
    return str(function.explain().splitlines()[0])


def outcome_of(function: Any) -> str:
    """One of the three outcomes."""
    said = reason_of(function).partition(": ")[2]
    if said.startswith("replayed"):
        return REPLAYED
    if said.startswith("recorded anew"):
        return ANEW
    assert said.startswith(("runs unfused", "ran unfused")), said
    return UNFUSED


def names_its_cause(reason: str, file: str) -> bool:
    """True if a line of the program is named, or that measurement spoke against fusing."""
    return re.search(rf"{file}:\d+|line \d+|measured", reason) is not None


def recordings_of(function: Any) -> int:
    """How often the function has been recorded."""
    return int(function.traces)


def fuse(function: Callable[..., Any]) -> Any:
    """``function`` as a user fuses it."""
    return fc.fused(function)


# --- the two worlds


@contextlib.contextmanager
def program(field_name: str) -> Iterator[types.ModuleType]:
    """A copy of a program of its own, with globals that nobody has changed."""
    name = f"real_code_{field_name}_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{field_name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]


def names_of(field_name: str) -> list[str]:
    """The names of a program's pieces."""
    with program(field_name) as module:
        return [piece.name for piece in module.PIECES]


class World:
    """A program, its arguments, and the random numbers of its process."""

    def __init__(self, module: types.ModuleType, name: str, with_us: bool) -> None:
        self.module = module
        self.piece: Piece = next(p for p in module.PIECES if p.name == name)
        self.arguments = self.piece.make()
        owner_name, _, self.attribute = self.piece.function.rpartition(".")
        self.is_method = bool(owner_name)
        self.owner: Any = getattr(module, owner_name) if owner_name else module
        self.function = getattr(self.owner, self.attribute)
        if with_us:
            self.function = fuse(self.function)
            setattr(self.owner, self.attribute, self.function)
        legacy = np.random.RandomState(7).get_state()
        self.chance: Any = legacy, random.Random(7).getstate()

    def call(self) -> Any:
        """What one call returns or raises, and prints."""
        outer = np.random.get_state(), random.getstate()  # noqa: NPY002
        np.random.set_state(self.chance[0])  # noqa: NPY002
        random.setstate(self.chance[1])
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                result = self.bare()
        except Exception as error:
            result = error
        finally:
            self.chance = np.random.get_state(), random.getstate()  # noqa: NPY002
            np.random.set_state(outer[0])  # noqa: NPY002
            random.setstate(outer[1])
        return result, printed.getvalue()

    def bare(self) -> Any:
        """The call itself."""
        count = len(self.arguments) - len(self.piece.keywords)
        args = self.arguments[:count]
        named = dict(zip(self.piece.keywords, self.arguments[count:], strict=True))
        if self.is_method:
            return getattr(args[0], self.attribute)(*args[1:], **named)
        return getattr(self.module, self.attribute)(*args, **named)

    def state(self) -> dict[str, Any]:
        """All that a call may have changed."""
        seen = {k: v for k, v in vars(self.module).items() if k.isupper() and k != "PIECES"}
        return {"arguments": self.arguments, "globals": seen, "chance": repr(self.chance)}


@dataclass
class Report:
    """What came of a piece."""

    piece: Piece
    faults: list[str] = field(default_factory=list)
    outcome: str = ""
    reason: str = ""
    late: int = 0  # recordings after the second call, with nothing changed


def run(field_name: str, name: str) -> Report:
    """Run a piece in both worlds, comparing after every call."""
    with program(field_name) as theirs, program(field_name) as ours:
        plain, fused = World(theirs, name, False), World(ours, name, True)
        report = Report(plain.piece)
        before = 0
        for i in range(plain.piece.calls):
            if i == 2:
                before = recordings_of(fused.function)
            if not _agree(plain, fused, f"call {i}", report):
                return report
        report.late = recordings_of(fused.function) - before
        report.outcome = outcome_of(fused.function)
        report.reason = reason_of(fused.function)
        pairs = zip(plain.piece.changes, fused.piece.changes, strict=True)
        for number, (change, same_change) in enumerate(pairs):
            change(plain.arguments)
            same_change(fused.arguments)
            for i in range(2):
                if not _agree(plain, fused, f"change {number}, call {i}", report):
                    return report
    return report


def _agree(plain: World, fused: World, when: str, report: Report) -> bool:
    """True if a call has the same result, and leaves the same behind, in both worlds."""
    outer = copy.copy(np.geterr())
    wants, gots = plain.call(), fused.call()
    found = differences({"": gots, "state": fused.state()}, {"": wants, "state": plain.state()}, "")
    if np.geterr() != outer:
        found.append("numpy.errstate is not as it was")
    report.faults += [f"{when}: {text}" for text in found]
    if not found or not isinstance(gots[0], Exception) or isinstance(wants[0], Exception):
        return not found
    trace = gots[0].__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        report.faults.append(f"raised at {file.parent.name}/{file.name}:{trace.tb_lineno}")
    return False
