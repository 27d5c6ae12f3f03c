"""What lifted blocks leave alone, and what they leave behind when they are stopped."""

from __future__ import annotations

import contextlib
import linecache
import logging
import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.calls import block_sites
from fusecuda.capture.record.recorder import default_recorder, recorder_in_force
from fusecuda.capture.record.rest import Trial
from tests.real_code.compare import differences

Block = Callable[[], Any]
TURNS = 8


@pytest.fixture(autouse=True)
def always_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No measurement decides that a block is left as it is."""
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))
    block_sites.sites.clear()


def numbers(count: int = 12) -> Any:
    return np.arange(float(count)) - 3


_Inner__t = 5.0


class Inner:
    def private_variables(self, block: Block) -> Any:
        __t, x = 2.0, numbers()
        for _ in range(TURNS):
            with block():
                y = x * __t
            __t += 1
            x = y * 0.5
        return x


def private_variables(block: Block) -> Any:
    return Inner().private_variables(block)


def variables_as_a_dictionary(block: Block) -> Any:
    x = numbers()
    kept = locals()
    for _ in range(TURNS):
        with block():
            x = x * 0.5 + 1
    return kept["x"] is not None, x


def a_class_statement(block: Block) -> Any:
    class Kept:
        x, total = numbers(), 0
        for _ in range(TURNS):
            with block():
                x = x * 2
                total = total + 1

    return Kept.x, Kept.total


def an_attribute_for_the_block(block: Block) -> Any:
    class Holder:
        region: Any = None

    holder, before, same = Holder(), None, 0
    for _ in range(TURNS):
        with block() as holder.region:
            same += holder.region is not None and holder.region is before
            before = holder.region
    return same


def raised_again(block: Block) -> Any:
    x, found = numbers(), []
    for i in range(TURNS):
        try:
            try:
                raise ValueError("first")
            except ValueError:
                with block():
                    x = x + 1
                    if i > 5:
                        raise
        except ValueError as error:
            trace: Any = error.__traceback__
            found.append((str(error), trace.tb_frame.f_code.co_name, trace.tb_next is None))
    return x, found


def stopped_after_an_effect(block: Block) -> Any:
    matrix, x, count, found = np.eye(3), numbers(3), -1, []
    for i in range(TURNS):
        if i == 5:
            matrix[:] = 0
        try:
            with block():
                print(i, end="")
                count = i
                x = x + 1
                kept = [x, i]
                y = np.linalg.solve(matrix, x)
        except np.linalg.LinAlgError as error:
            found.append((count, str(error), x, kept, kept[0] is x))
    return found, x, y


def stopped_by_a_callback(block: Block) -> Any:
    x, count, seen = numbers(), -1, []

    def call(i: int) -> None:
        seen.append(i)
        if i == 5:
            raise KeyboardInterrupt

    try:
        for i in range(TURNS):
            with block():
                count = i
                x *= 1.5
                call(i)
    except KeyboardInterrupt:
        return count, x, seen
    return None


def dying_objects(block: Block) -> Any:
    died: list[Any] = []

    class Mortal:
        def __init__(self, k: int) -> None:
            self.k = k

        def __del__(self) -> None:
            died.append(self.k)

    x, one = numbers(), None
    for i in range(TURNS):
        with block():
            one = Mortal(i)
            x = x + one.k
    del one
    return x, died[-3:], len(died), {type(k) for k in died}


def changed_either_way(block: Block) -> Any:
    x, y = numbers(), numbers()
    for i in range(TURNS):
        with block():
            print("", end="")
            if i % 2:
                x += 1
            else:
                x = y * 2
    return x


PROGRAMS = (
    private_variables, variables_as_a_dictionary, a_class_statement, an_attribute_for_the_block,
    raised_again, stopped_after_an_effect, stopped_by_a_callback, dying_objects, changed_either_way,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
def test_is_as_it_stands(program: Callable[[Block], Any]) -> None:
    wanted = program(contextlib.nullcontext)
    for _ in range(2):
        assert not differences(program(fc.fused), wanted, program.__name__)
    assert sys.gettrace() is None


def test_errors_name_the_function() -> None:
    """An error after an effect comes from a function that has the name of the one around."""

    def function() -> None:
        x = numbers()
        for i in range(TURNS):
            with fc.fused():
                print("", end="")
                x = x + 1
                if i == 5:
                    raise RuntimeError

    with pytest.raises(RuntimeError) as caught:
        function()
    last = caught.traceback[-1]
    assert last.name == "function" and "raise RuntimeError" in str(last.statement)


# --- lazy arrays, whose memory a lifted block is given


def lists(block: Block) -> Any:
    x, kept = fnp.asarray(numbers()), []
    first = [x]
    for _ in range(TURNS):
        with block():
            x = x * 0.5 + 1
            kept.append(x)
            first[0] = x
    return x, kept, first, first[0] is x, kept[-1] is x


def dictionaries(block: Block) -> Any:
    x, state = fnp.asarray(numbers()), {"p": [fnp.asarray(numbers())], "n": 0}
    for _ in range(TURNS):
        with block():
            for k, p in enumerate(state["p"]):
                state["p"][k] = p - 0.1 * (p * x)
            state["n"] += 1
    return state


def lists_when_stopped(block: Block) -> Any:
    x, kept, found = fnp.asarray(numbers()), [], []
    for i in range(TURNS):
        try:
            with block():
                x = x + 1
                kept.append(x)
                if float(x.sum()) > 100 and i % 2:
                    raise ValueError
                y = x * 2
        except ValueError:
            found.append(i)
    return x, y, kept, found


def kinds(block: Block) -> Any:
    x, names = fnp.asarray(numbers()), []
    for _ in range(TURNS):
        with block():
            x = x + (3 if isinstance(x, np.ndarray) else 1)
            names.append(type(x).__name__)
            names.append(repr(x[:1]))
            own = np.asarray(x)
    return x, names, own


def callbacks(block: Block) -> Any:
    x, kept = fnp.asarray(numbers()), []

    def note(value: Any) -> None:
        kept.append(value)

    for _ in range(TURNS):
        with block():
            x = x + 1
            note(x.sum())
    return x, kept


LAZY = (lists, dictionaries, lists_when_stopped, kinds, callbacks)


@pytest.mark.parametrize("program", LAZY, ids=[p.__name__ for p in LAZY])
def test_lazy_arrays(program: Callable[[Block], Any]) -> None:
    wanted = program(contextlib.nullcontext)
    found = program(fc.fused)
    assert not differences(_shown(found), _shown(wanted), program.__name__)


def _shown(value: Any) -> Any:
    """``value`` with pairs of a type's name and NumPy's array in the place of lazy arrays."""
    if type(value) in (list, tuple):
        return type(value)([_shown(part) for part in value])
    if type(value) is dict:
        return {key: _shown(part) for key, part in value.items()}
    return ("lazy", np.asarray(value)) if type(value) is fc.Array else value


def test_bodies_that_are_lifted_with_lists() -> None:
    lists(fc.fused)
    assert any(v.explain().startswith("block: replayed")
               for s in block_sites.sites.values() for v in s._variants.values())  # fmt: skip


# --- modules, sources, warnings


MODULE = r"""
import numpy as np, other
text, scale, x = '\d', 1.0, np.arange(5.0)
for i in range(8):
    with block():
        scale = scale + 1
        x = x * 0.5 + other.look()
for i in range(8):
    with block():
        x = x + 1
        if i == 6:
            z: noted(i) = 3
"""
OTHER = "import module_of_blocks\ndef look():\n    return module_of_blocks.scale\n"


def test_a_module_that_another_one_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variables are seen, its annotations are made, and its source warns only once."""
    (tmp_path / "other.py").write_text(OTHER)
    file = tmp_path / "module_of_blocks.py"
    file.write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for block in (contextlib.nullcontext, fc.fused):
        module: Any = type(sys)("module_of_blocks")
        notes: list[int] = []
        monkeypatch.setitem(sys.modules, "module_of_blocks", module)
        monkeypatch.delitem(sys.modules, "other", raising=False)
        vars(module).update(block=block, noted=notes.append)
        with warnings.catch_warnings(action="ignore"):
            code = compile(MODULE, str(file), "exec")
        with warnings.catch_warnings(action="error"):
            exec(code, vars(module))
        found.append((module.x, module.scale, notes, list(module.__annotations__)))
    assert not differences(found[1], found[0], "")
    linecache.checkcache(str(file))


def test_callers_that_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings and log records name the line and the function of the block."""
    log, x = logging.getLogger("blocks"), numbers()
    with warnings.catch_warnings(record=True) as seen, caplog.at_level("INFO"):
        warnings.simplefilter("always")
        for _ in range(TURNS):
            with fc.fused():
                x = x + 1
                log.info("%s", x[0])
            with fc.fused():
                x = x + 1
                warnings.warn("told", stacklevel=1)
    assert {r.funcName for r in caplog.records} == {"test_callers_that_are_named"}
    assert {w.filename for w in seen} == {__file__}


def ever_new_shapes() -> Any:
    for i in range(100):
        x = numbers(5 + i)
        with fc.fused():
            y = x * 2 + 1
    return y


def test_shapes_that_never_come_again() -> None:
    """Such a block is left alone: it would be recorded each time."""
    assert ever_new_shapes().shape == (104,)
    (site,) = block_sites.sites.values()
    (variant,) = site._variants.values()
    assert variant.traces < 40


# --- signals, whose handlers run wherever something is done


def interrupted(handler: Callable[..., None], turns: int) -> int:
    """How many turns of a loop did not do their body once, while ``handler`` is called."""
    wrong = count = 0
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for i in range(turns):
            if i == 30:
                signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
            with fc.fused():
                count = count + 1
                k = i
            wrong += count != i + 1 or k != i
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return wrong


class Counting:
    """A handler that enters a block, which is done once each time."""

    def __init__(self) -> None:
        self.busy = False
        self.wrong = 0

    def __call__(self, *_: Any) -> None:
        if self.busy:
            return
        self.busy, number = True, 0
        with fc.fused():
            number = number + 1
            twice = number * 2
        self.wrong += (number, twice) != (1, 2)
        self.busy = False


def test_handlers_with_blocks_of_their_own() -> None:
    handler = Counting()
    for _ in range(4):
        handler()
    assert interrupted(handler, 6000) == handler.wrong == 0
    assert all(site._variants for site in block_sites.sites.values())


def test_handlers_that_raise() -> None:
    """Nobody traces or records after a signal has ended a loop, wherever that was.

    In a process of its own: Python's modules, too, may be left with a lock of theirs held.
    """
    process = multiprocessing.get_context("spawn").Process(target=_raised_at)
    process.start()
    process.join(100)
    assert process.exitcode == 0


def _raised_at() -> None:
    def handler(*_: Any) -> None:
        raise InterruptedError

    for _ in range(150):
        with contextlib.suppress(InterruptedError):
            interrupted(handler, 20_000)
        with fc.fused():
            pass
        assert sys.gettrace() is None and recorder_in_force.get() is default_recorder


def test_the_same_code_in_two_modules(tmp_path: Path) -> None:
    """Each reads its own globals."""
    text = """
def doubled(v):
    return v * FACTOR
def run():
    x = np.arange(6.0)
    for i in range(8):
        with fused():
            x = doubled(x) * OWN + i
    return x
"""
    file = tmp_path / "code_of_two.py"
    file.write_text(text)
    code = compile(text, str(file), "exec")
    for factor in (2.0, 0.5, 2.0):
        found = {}
        for block in (contextlib.nullcontext, fc.fused):
            space = {"np": np, "fused": block, "FACTOR": factor, "OWN": 1 / (factor + 1)}
            exec(code, space)
            found[block] = space["run"]()  # type: ignore[operator]
        assert found[fc.fused].tobytes() == found[contextlib.nullcontext].tobytes()
