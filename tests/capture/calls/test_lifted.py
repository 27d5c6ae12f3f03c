"""Blocks that are entered again and again: their bodies are replayed, and do what they say."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.calls import block_sites, skip
from fusecuda.capture.record.rest import Trial
from fusecuda.errors import FusecudaError
from tests import programs_of_blocks
from tests.fuzz_calls import failure
from tests.marks import one_in
from tests.real_code.compare import differences

Block = Callable[[], Any]
TURNS = 7


@pytest.fixture(autouse=True)
def always_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No measurement decides that a block is left as it is."""
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))


def numbers(count: int = 12) -> Any:
    return np.arange(float(count)) - 3


def sites() -> list[block_sites.Site]:
    """What is known of the blocks of this file that are entered."""
    return list(block_sites.sites.values())


# --- programs: each is given what makes blocks, and returns all that can be seen afterwards.
# They hold no ``assert``, which pytest would write anew.


def temporaries(block: Block) -> Any:
    x, y = numbers(), numbers() * 0.5
    for i in range(TURNS):
        with block():
            t = x * y + i
            u = t - x
            x = np.maximum(u, t) * 0.25
    return x, y


def in_place(block: Block) -> Any:
    u = numbers()
    v = u[1:]
    seen = []
    for _ in range(TURNS):
        with block():
            u[1:-1] += 0.5 * (u[2:] - u[:-2])
            u *= 0.75
            w = u
        seen.append(w is u)
    return u, v, seen


def names_of_one_array(block: Block) -> Any:
    x = numbers()
    for _ in range(TURNS):
        with block():
            a = x * 2 + 1
            b = a
            c = a[2:]
        b += 1
        x = a * 0.25
    return a, b, c, x


def values_that_are_looked_at(block: Block) -> Any:
    x, count = numbers(), 0
    for _ in range(TURNS):
        with block():
            if float(x.sum()) > 5:
                x = x * 0.5
                count += 1
            else:
                x = x + 1
            largest = float(x.max())
    return x, count, largest


def values_that_may_not_be_there(block: Block) -> Any:
    found = []
    for i in range(TURNS):
        x = numbers() + i
        with block():
            if i % 3 == 1:
                late = x * 2
            y = x + 1
        with contextlib.suppress(UnboundLocalError):
            found.append(late.sum())
        if i == 4:
            del late
        found.append(y.sum())
    return found


def inner_loops(block: Block) -> Any:
    x = numbers()
    for _ in range(TURNS):
        with block():
            for k in range(3):
                x = x * 0.5 + k
                if k == 1:
                    continue
            total = sum([v.sum() for v in (x, x + 1)])
    return x, k, total


def containers(block: Block) -> Any:
    state = {"u": numbers(), "steps": 0}
    history: list[Any] = []
    for i in range(TURNS):
        with block():
            state["u"] = state["u"] * 0.5 + i
            state["steps"] += 1
            history.append(state["u"].sum())
    return state, history


class Plate:
    """A simulation as users write it."""

    def __init__(self, n: int) -> None:
        self.u = np.zeros((n, n))
        self.u[n // 2] = 1.0
        self.__rate = 0.1
        self.time = 0.0

    def run(self, block: Block, steps: int) -> None:
        for _ in range(steps):
            with block():
                u = self.u
                inner = u[1:-1, 1:-1]
                flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner
                inner += self.__rate * flow
                self.time += self.__rate


def methods(block: Block) -> Any:
    plate = Plate(9)
    plate.run(block, TURNS)
    return plate.u, plate.time


def entered_from_a_generator(block: Block) -> Any:
    def steps(x: Any) -> Iterator[Any]:
        for i in range(TURNS):
            with block():
                y = x * 2 + i
                x = y * 0.5
            yield y

    return list(steps(numbers()))


def variables_of_inner_functions(block: Block) -> Any:
    x, scale = numbers(), 2.0

    def change() -> None:
        nonlocal scale
        scale += 1

    def look() -> float:
        return scale

    for _ in range(TURNS):
        with block():
            change()
            x = x + scale * look()
    return x, scale


def variables_that_inner_functions_read(block: Block) -> Any:
    x, scale = numbers(), 2.0

    def look(v: Any) -> Any:
        return v * scale

    for i in range(TURNS):
        with block():
            x = look(x) * 0.25 + scale
        scale = 1.0 + i
    return x


GLOBAL = 1.0


def globals_written(block: Block) -> Any:
    global GLOBAL  # noqa: PLW0603
    GLOBAL = 1.0
    x = numbers()
    for _ in range(TURNS):
        with block():
            x = x * 0.5 + GLOBAL
            GLOBAL = GLOBAL * 1.5
    return x, GLOBAL


def errors(block: Block) -> Any:
    found: list[Any] = []
    x = numbers()
    for i in range(TURNS + 3):
        done = None
        try:
            with block():
                y = x + i
                x[0] += 1
                done = "first"
                if i == TURNS:
                    raise ValueError(f"at {i}")
                if i == TURNS + 1:
                    np.add(x, np.zeros(5))
                done = "all"
        except ValueError as error:
            found.append((type(error), str(error), done, y.copy()))
    return found, x, done


def left_early(block: Block) -> Any:
    x = numbers()
    for i in range(TURNS + 5):
        with block():
            x = x + 1
            if i == TURNS:
                break
    for i in range(TURNS):
        with block():
            if i % 2:
                continue
            x = x * 0.5
    return x, i


def returned_from(block: Block) -> Any:
    def step(x: Any, i: int) -> Any:
        with block():
            y = x * 2
            if i % 2:
                return y
        return y + 1

    return [step(numbers(), i) for i in range(TURNS)]


def several_managers(block: Block) -> Any:
    x = numbers()
    for _ in range(TURNS):
        with np.errstate(all="ignore"), block():
            x = x / 2 + 1
        with block(), contextlib.suppress(ValueError):
            x = x * 0.5
    return x


def entered_twice_at_once(block: Block) -> Any:
    def step(x: Any, depth: int) -> Any:
        with block():
            y = x * 0.5 + depth
            if depth:
                y = y + step(y, depth - 1)
        return y

    return [step(numbers(), 2) for _ in range(TURNS)]


def tries_first(block: Block) -> Any:
    x, caught = numbers(), 0
    for i in range(TURNS):
        with block():
            try:
                x = x + [1.0, 2.0][i % 3]
            except IndexError:
                caught += 1
    return x, caught


def swallows_all(block: Block) -> Any:
    x, caught = numbers(), 0
    for _ in range(TURNS):
        with block():
            while True:
                try:
                    x = x * 0.5 + 1
                    break
                except BaseException:
                    caught += 1
    return x, caught


def shapes_that_change(block: Block) -> Any:
    found = []
    for i in range(3 * TURNS):
        x = np.ones((i % 4 + 1, 5), dtype="f8" if i % 2 else "f4")
        with block():
            y = (x * 2 + i).sum(axis=0)
            z = x if i % 5 == 0 else x + 1
        found.append((y, z is x, z))
    return found


def comprehensions(block: Block) -> Any:
    x, k = numbers(), 100
    for _ in range(TURNS):
        with block():
            parts = [x[k:] * k for k in range(3)]
            named = {n: v.sum() for n, v in zip("abc", parts, strict=True)}
            best = max(named, key=lambda n: -len(n))
            y = parts[0] + k
    return parts, named, best, y, k


PART = [np.full(4, 100.0)]


def comprehensions_over_their_own_names(block: Block) -> Any:
    PART, last = [numbers(), numbers() + 1], []
    for i in range(TURNS):
        with block():
            last = [PART * 2 for PART in PART if PART.size]
            pairs = [[n * i for n in n] for n in last]
        PART = [last[1] * 0.25, last[0] + i]
    return PART, last, pairs


def held_by_comprehensions(block: Block) -> Any:
    x, seen = numbers(), []
    for i in range(TURNS):
        with block():
            shifted = x * 0.5 + i
            rows = [shifted + k for k in range(2)]
            total = sum(shifted[j] for j in range(3))
            first, second = (shifted * k for k in (2, 3))
            x = x + rows[1] * 0.1 + first - second
        seen.append((total, [shifted - k for k in range(2)]))
    return x, shifted, rows, first, seen


def kept_by_generators(block: Block) -> Any:
    x, seen = numbers(), []
    for i in range(TURNS):
        with block():
            scale = i + 1.0
            x = x + scale
            kept = (k * scale for k in range(3))
        scale += 1
        seen.append(list(kept))
    return x, seen


def taken_by_what_is_called_list(block: Block) -> Any:
    x, seen, list = numbers(), [], iter
    for i in range(TURNS):
        with block():
            scale = i + 1.0
            x = x + scale
            kept = list(k * scale for k in range(3))
        scale += 1
        seen.append([*kept])
    return x, seen


PROGRAMS = (
    temporaries, in_place, names_of_one_array, values_that_are_looked_at,
    values_that_may_not_be_there, inner_loops, containers, methods, entered_from_a_generator,
    variables_of_inner_functions, variables_that_inner_functions_read, globals_written, errors,
    left_early, returned_from, several_managers, entered_twice_at_once, tries_first, swallows_all,
    shapes_that_change, comprehensions, held_by_comprehensions, kept_by_generators,
    taken_by_what_is_called_list, comprehensions_over_their_own_names,
)  # fmt: skip
AS_THEY_STAND = {  # part of what is said of blocks that are not lifted
    "kept_by_generators": "an inner function holds 'scale'",
    "taken_by_what_is_called_list": "an inner function holds 'scale'",
    "variables_of_inner_functions": "an inner function writes 'scale'",
    "globals_written": "it writes globals",
    "swallows_all": "handled otherwise",
    "left_early": "it leaves a loop around it",
    "returned_from": "it returns",
    "tries_first": "handled otherwise",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
@one_in(8)
def test_does_what_it_says(program: Callable[[Block], Any]) -> None:
    block_sites.sites.clear()
    wanted = program(contextlib.nullcontext)
    for _ in range(2):
        found = program(fc.fused)
        assert not differences(found, wanted, program.__name__)
    assert sys.gettrace() is None
    reasons = {site.why for site in sites()} - {""}
    expected = AS_THEY_STAND.get(program.__name__)
    if expected is None and program is not several_managers:
        assert not reasons
        assert all(site._variants for site in sites())
    elif expected is not None:
        assert any(expected in reason for reason in reasons), reasons


def a_loop(x: Any) -> list[Any]:
    blocks = []
    for i in range(TURNS):
        with fc.fused() as region:
            y = x * 2 + 1
            x = np.sqrt(y * y + i)
        blocks.append(region)
    return blocks


def test_is_replayed() -> None:
    """After the first entries nothing is recorded any more, and a block is one launch."""
    block_sites.sites.clear()
    blocks = a_loop(numbers(1000))
    (site,) = sites()
    (variant,) = site._variants.values()
    assert variant.traces <= 2
    assert [b.launches for b in blocks[-3:]] == [1, 1, 1]
    assert "replayed" in blocks[-1].explain() and "1 launch" in blocks[-1].explain()


@pytest.mark.parametrize("size", [10, 20_000])
def test_lazy_arrays_stay_lazy(size: int) -> None:
    def run(block: Block, x: Any) -> Any:
        total = None
        for i in range(TURNS):
            with block():
                y = fnp.sqrt(x * x + i)
                x = y + 1
                total = x.sum()
                x[0] = 0.5
        return x, y, total

    plain = run(contextlib.nullcontext, fnp.asarray(numbers(size)))
    found = run(fc.fused, fnp.asarray(numbers(size)))
    for a, b in zip(plain, found, strict=True):
        assert type(a) is type(b) is fc.Array
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert found[2].ndim == 0


def both_kinds(x: Any, z: Any) -> Any:
    for _ in range(TURNS):
        with fc.fused():
            y = x * 2
            w = z * 2
        with fc.fused():
            v = fnp.asarray(x) + 1
    return y, w, v


def test_numpy_arrays_next_to_lazy_ones() -> None:
    """What would be NumPy's is NumPy's, and what would be lazy is lazy."""
    y, w, v = both_kinds(numbers(), fnp.asarray(numbers()))
    assert type(y) is np.ndarray and type(w) is type(v) is fc.Array


def test_variables_of_a_module(tmp_path: Any) -> None:
    """At the top level of a script: a function that uses a variable of the block sees it."""
    text = """
import numpy as np
scale, x, seen = 1.0, np.arange(6.0), []
def look(v):
    return v * scale
def note():
    seen.append(x[0])
for i in range(8):
    with block():
        x = x * 0.5 + i
        k = i * 2
for i in range(8):
    with block():
        scale = scale + 1
        x = look(x) * 0.125
for i in range(8):
    with block():
        x = x + 1
        note()
for i in range(8):
    with block():
        if i % 2:
            late = x + i
        x = x - 1
"""
    file = tmp_path / "script_of_blocks.py"
    file.write_text(text)
    code = compile(text, str(file), "exec")
    spaces: list[dict[str, Any]] = []
    block_sites.sites.clear()
    for block in (contextlib.nullcontext, fc.fused):
        spaces.append({"__name__": "script_of_blocks", "block": block})
        exec(code, spaces[-1])
    plain, found = ({k: v for k, v in s.items() if k in ("scale", "x", "seen", "k", "late")}
                    for s in spaces)  # fmt: skip
    assert not differences(found, plain, "")
    assert any(v.explain().startswith("block: replayed")
               for s in sites() for v in s._variants.values())  # fmt: skip


def an_interrupted_loop(interrupt: Callable[[], None]) -> Any:
    x = numbers()
    for i in range(TURNS):
        if i == TURNS - 1:
            interrupt()
        with fc.fused():
            x = x + 1
    return x


def test_a_signal_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised before the body would begin is raised, and nobody traces any more."""

    def interrupt() -> None:
        monkeypatch.setattr(skip, "_raise", _interrupted)

    an_interrupted_loop(lambda: None)
    with pytest.raises(KeyboardInterrupt):
        an_interrupted_loop(interrupt)
    monkeypatch.undo()
    assert sys.gettrace() is None
    x = an_interrupted_loop(lambda: None)
    assert x[0] == numbers()[0] + TURNS


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_not_while_somebody_traces() -> None:
    """A debugger sees each line of a block."""
    lines: list[int] = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code is an_interrupted_loop.__code__:
            lines.append(frame.f_lineno)
        return tracer

    def traced() -> Any:
        return an_interrupted_loop(lambda: None)

    traced()
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        x = traced()
    finally:
        sys.settrace(before)
    body = an_interrupted_loop.__code__.co_firstlineno + 6
    assert lines.count(body) == TURNS and x[0] == numbers()[0] + TURNS


def work(start: int, block: Block) -> Any:
    x = numbers() + start
    for i in range(40):
        with block():
            y = x * 0.5 + i
            x = y - start
    return x


def test_threads() -> None:
    """The same block, entered by several threads at once."""
    results: list[Any] = []

    def noted(start: int) -> None:
        results.append((start, work(start, fc.fused)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=noted, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(results) == 4
    for start, x in results:
        assert x.tobytes() == work(start, contextlib.nullcontext).tobytes()


def dropped_afterwards(other: Any) -> list[bool]:
    alive = []
    for i in range(TURNS + 3):
        x = numbers(5000)
        known = weakref.ref(x)
        with fc.fused():
            y = x * 2 + i
            z = other * 2
        del x
        alive.append(known() is not None)
    del y, z
    return alive


@pytest.mark.parametrize("lazily", [False, True], ids=["replayed", "where it stands"])
def test_arrays_die_with_their_variables(lazily: bool) -> None:
    """A block keeps nothing that it was given; a recording may, until garbage is collected."""
    block_sites.sites.clear()
    alive = dropped_afterwards(fnp.asarray(numbers()) if lazily else numbers())
    assert not any(alive[-4:]), alive


def test_strict_blocks_are_recorded() -> None:
    """What is asked to be fused whole or not at all is recorded where it stands."""
    x = fnp.asarray(numbers())
    for _ in range(TURNS):
        with fc.fused(strict=True) as region:
            x = x * 0.5 + 1
            float(x.sum())
    assert region.launches and issubclass(fc.NotFusedError, FusecudaError)


@pytest.mark.parametrize("seed", range(24))
@one_in(16)
def test_random_programs(seed: int) -> None:
    program, steps = programs_of_blocks.written(seed)
    assert not failure(program, steps), program
