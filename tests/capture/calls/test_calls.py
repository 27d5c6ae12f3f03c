"""Calls of fused functions: what is a condition, what is followed, what is done again."""

from __future__ import annotations

import collections
import copy
import functools
import gc
import math
import os
import pickle
import random
import subprocess
import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal

X = np.linspace(-2.0, 3.0, 24).reshape(4, 6)


def agree(
    function: Callable[..., Any], make: Callable[[], list[Any]], calls: int = 4, traces: int = 0
) -> fc.FusedFunction[..., Any]:
    """The fused function, having given the plain one's results and effects at each call."""
    fused = fc.fused(function, strict=traces > 0)
    mine, theirs = make(), make()
    for _ in range(calls):
        equal(fused(*mine), function(*theirs), ulp=4)
        assert same(mine, theirs), (mine, theirs)
    if traces:
        assert "replayed" in fused.explain()
        assert fused.traces == traces
    return fused


def same(a: Any, b: Any) -> bool:
    """True if two objects of one type hold equal values, floating-point ones to some bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | float):
        return bool(np.allclose(a, b, rtol=1e-13, atol=1e-300))
    if isinstance(a, list | tuple | collections.deque):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.random.Generator):
        return same(a.bit_generator.state, b.bit_generator.state)
    inside = a if isinstance(a, dict) else getattr(a, "__dict__", None)
    if inside is None:
        return bool(a == b)
    others = b if isinstance(b, dict) else vars(b)
    return inside.keys() == others.keys() and all(same(inside[k], others[k]) for k in inside)


# --- objects


class Plate:
    rate = 0.25

    def __init__(self) -> None:
        self.u = X.copy()
        self.time = 0.0
        self.seen: list[float] = []

    def laplacian(self) -> Any:
        return np.roll(self.u, 1, 0) + np.roll(self.u, -1, 0) - 2 * self.u

    def step(self, dt: float) -> Any:
        self.u = self.u + dt * self.rate * self.laplacian()
        self.time += dt
        self.seen.append(self.time)
        return self.u * math.cos(self.time)


def test_a_method_is_replayed_and_its_object_changes() -> None:
    """Attributes are set, lists grow, numbers are followed through `math`."""
    agree(Plate.step, lambda: [Plate(), 0.1], calls=5, traces=2)  # one to learn that `seen` grows


def test_an_attribute_of_the_class_is_a_condition() -> None:
    """Also where the function is called with keywords only."""

    class Scaled(Plate):
        rate = 1.0

        def scaled(self, *, by: float) -> Any:
            return self.u * self.rate * by

    plate, fused = Scaled(), fc.fused(Scaled.scaled)
    for rate in (1.0, 1.0, 2.0, 2.0, 1.0):
        Scaled.rate = rate
        equal(fused(plate, by=2.0), Scaled.scaled(plate, by=2.0))


def test_a_method_is_a_condition() -> None:
    """One that is exchanged in the class is called."""

    class Changing(Plate):
        def laplacian(self) -> Any:
            return self.u * 2

    plate, fused = Changing(), fc.fused(lambda p: p.laplacian() + 1)
    equal(fused(plate), plate.laplacian() + 1)
    Changing.laplacian = lambda self: self.u * 3  # type: ignore[method-assign]
    equal(fused(plate), plate.laplacian() + 1)


@dataclass
class Settings:
    gain: float = 2.0
    offsets: dict[str, Any] = field(default_factory=lambda: {"a": X[0] * 2, "b": 1.0})


class Point(NamedTuple):
    place: Any
    turns: int


class Slotted:
    __slots__ = ("a", "n")

    def __init__(self) -> None:
        self.a, self.n = X.copy(), 1


def moved(point: Point, settings: Settings, slotted: Slotted, more: Any) -> Any:
    slotted.n += 1
    slotted.a *= settings.gain
    settings.offsets["b"] = settings.offsets["b"] + 0.5
    more.append(point.place.sum())
    place = point.place * settings.gain + settings.offsets["a"]
    return Point(place, point.turns + 1), {"s": [settings, (place, slotted)]}, {3, slotted.n}


def test_containers_of_every_kind() -> None:
    """Named tuples, dataclasses, slots, deques; what is given comes back as the very object."""
    make = lambda: [Point(X, 0), Settings(), Slotted(), collections.deque(maxlen=2)]  # noqa: E731
    fused = fc.fused(moved)
    mine, theirs = make(), make()
    for _ in range(4):
        (point, nested, some), want = fused(*mine), moved(*theirs)
        assert type(point) is Point
        equal(point.place, want[0].place)
        assert nested["s"][0] is mine[1] and nested["s"][1][1] is mine[2]
        assert some == want[2] and type(mine[2].n) is int
        equal(mine[2].a, theirs[2].a)
        equal(list(mine[3]), list(theirs[3]), ulp=4)


def test_the_same_list_twice_is_one_list() -> None:
    """Also after calls with two lists."""

    def f(a: list[Any], b: list[Any]) -> Any:
        a.append(a[0] + 1)
        return b[-1] * 2

    fused = fc.fused(f)
    for twice in (False, True, True, False):
        mine, theirs = [X], [X]
        others = (mine, theirs) if twice else ([X * 3], [X * 3])
        equal(fused(mine, others[0]), f(theirs, others[1]))
        assert len(mine) == len(theirs) == 2


CONFIG = types.SimpleNamespace(dt=0.5, table=X * 2, names={"a", "b"})


def test_containers_that_are_read_by_name_are_conditions() -> None:
    """Numbers, arrays and sets in them; what is written to them is written."""

    def f(x: Any) -> Any:
        CONFIG.last = x.sum()
        return x * CONFIG.dt + CONFIG.table if "a" in CONFIG.names else x

    fused = fc.fused(f)
    for change in (
        lambda: None, lambda: None, lambda: setattr(CONFIG, "dt", 0.75),
        lambda: CONFIG.table.__imul__(2), lambda: CONFIG.names.discard("a"), lambda: None,
    ):  # fmt: skip
        change()
        got, last = fused(X), CONFIG.last
        equal(got, f(X))
        equal(last, CONFIG.last, ulp=4)
        assert type(last) is np.float64


# --- looks


def settled(x: Any, limit: Any) -> Any:
    rounds = 0
    while np.abs(x).max() > limit:
        x = x * 0.5
        rounds += 1
    if x.sum() > 0:
        return x + 1, rounds
    return x - 1, rounds


def test_branches_are_replayed_and_new_ones_are_learned() -> None:
    """The pieces between looks are computed once each, also where a replay leaves known paths."""
    fused = fc.fused(settled, strict=True)
    traces = []
    for scale in (1.0, 1.0, 20.0, 20.0, -1.0, 1.0, -20.0, 0.001, 20.0):
        equal(fused(X * scale, 0.5), settled(X * scale, 0.5))
        traces.append(fused.traces)
    assert traces[0] == traces[1] and traces[2] == traces[3] and traces[-1] == traces[-2]


def test_arguments_that_are_written_before_a_look_are_written_once() -> None:
    """A replay that comes to a value not seen before does not do again what it has done."""

    def f(x: Any, steps: Any) -> Any:
        x += 1
        if x.sum() > steps[0]:
            x *= 2
        if x.max() > steps[1]:
            x -= 3
        return x.min()

    fused = fc.fused(f, strict=True)
    for steps in ((1e9, 1e9), (1e9, 1e9), (-1e9, 1e9), (1e9, -1e9), (-1e9, -1e9), (-1e9, -1e9)):
        mine, theirs = X.copy(), X.copy()
        equal(fused(mine, np.array(steps)), f(theirs, np.array(steps)))
        equal(mine, theirs)


def test_functions_without_kernels_are_called_by_replays() -> None:
    """And where shapes depend on values, what follows does not look at them."""

    def f(x: Any) -> Any:
        kept = x[x > 0]
        return np.median(x, axis=1) + np.linalg.norm(kept), np.pad(kept, 2, mode="edge") * 2

    fused = agree(f, lambda: [X], traces=1)
    for x in (X + 1, X - 1, X * 3, X + 1):
        equal(fused(x), f(x), ulp=4)
    assert fused.traces == 2


def test_numbers_that_were_looked_at_are_followed() -> None:
    """``float``, ``item`` and ``round`` of a sum are computed by replays, not recorded anew."""

    def f(x: Any, log: list[float]) -> Any:
        total = float(x.sum())
        log.append(round(total, 3))
        return x / total, x.max().item()

    fused = fc.fused(f, strict=True)
    for k in range(4):
        mine: list[float] = []
        theirs: list[float] = []
        equal(fused(X + k, mine), f(X + k, theirs), ulp=4)
        equal(mine, theirs)
        assert type(mine[0]) is float
    assert fused.traces == 1


def test_a_power_of_integers_may_become_a_float() -> None:
    """After a look, where a condition cannot send the call elsewhere any more."""

    def f(x: Any, k: int) -> Any:
        return x * (2**k) if x.sum() < 1e9 else x

    fused = fc.fused(f)
    for k in (2, 3, -1, -2, 4):
        equal(fused(X, k), f(X, k))
        equal(fused(X.astype(int), k), f(X.astype(int), k))


def test_a_number_decides_after_it_was_followed() -> None:
    """What is compared later leads to another path."""

    def f(x: Any) -> Any:
        total = float(x.sum())
        y = x * total
        return y if total > 10 else -y

    fused = fc.fused(f)
    for k in (0, 0, 3, 0, 3, -3):
        equal(fused(X + k), f(X + k), ulp=4)


def test_results_of_early_fragments_are_dropped() -> None:
    """A long path keeps what is still needed, and nothing else."""

    def f(x: Any) -> Any:
        for _ in range(40):
            if x.sum() < 1e300:
                x = x * 1.01
        return x

    fused = agree(f, lambda: [X], traces=1)
    (entry,) = fused._entries.values()
    fragment, kept = entry.replays[0].__globals__["start"].first, []  # type: ignore[attr-defined]
    while fragment is not None:
        kept.append(fragment.drops)
        fragment = next(iter(fragment.next.values()))[0][1] if fragment.next else None
    assert sum(map(len, kept)) > 60


# --- opaque things


class Compiled:
    """As a compiler of Python hands functions out: callable, and that is all."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)

    def __call__(self, *args: Any) -> Any:
        assert all(type(a) in (np.ndarray, float, int) for a in args)
        return object.__getattribute__(self, "_function")(*args)


doubled = Compiled(lambda x: x * 2)
filled = Compiled(lambda x: x.fill(7.0))


def test_an_opaque_callable_is_given_arrays() -> None:
    """It may write to them, and what it gives is taken."""

    def f(x: Any) -> Any:
        y = doubled(x + 1)
        z = x * 1
        filled(z)
        return y + z

    fused = agree(f, lambda: [X])
    assert "recorded anew" in fused.explain()


COUNTED: list[int] = []
counted = Compiled(lambda: COUNTED.append(1))


def test_an_opaque_call_is_made_once() -> None:
    """Also where what comes after it cannot be recorded, or raises."""

    def f(x: Any, fault: bool) -> Any:
        counted()
        return x.flat[1] + (x + x[0, :3] if fault else x)

    fused = fc.fused(f)
    for fault in (False, True, False):
        COUNTED.clear()
        if fault:
            with pytest.raises(ValueError, match="broadcast"):
                fused(X, fault)
        else:
            equal(fused(X, fault), f(X, fault))
            COUNTED.pop()
        assert len(COUNTED) == 1


def test_generators_draw_as_they_would() -> None:
    """Each number is drawn once, whatever becomes of the call."""

    def f(x: Any, rng: Any, local: int) -> Any:
        mine = random.Random(local)
        noise = rng.normal(size=x.shape)
        rng.shuffle(noise)
        return x + noise * mine.random()

    agree(f, lambda: [X, np.random.default_rng(3), 4])


def test_what_is_caught_and_what_is_raised() -> None:
    """Errors are NumPy's, in class and text, inside of a function and out of it."""

    def f(x: Any, where: Any) -> Any:
        try:
            return x[np.array(where)] * 2
        except IndexError as error:
            return str(error)

    agree(f, lambda: [X, [0, 1]])
    agree(f, lambda: [X, [0, 9]])

    def g(x: Any) -> Any:
        try:
            return x.reshape(5, -1)
        except ValueError as error:
            return str(error)

    agree(g, lambda: [X])
    for broken in (lambda x: x + np.ones(5), lambda x: x @ x, lambda x: np.concatenate([x, x[0]])):
        with pytest.raises(ValueError) as wanted:
            broken(X)
        with pytest.raises(ValueError) as got:
            fc.fused(broken)(X)
        assert str(got.value) == str(wanted.value)


def test_strict_names_the_line_of_a_refusal() -> None:
    """What is recorded anew at each call is refused, too."""

    def f(x: Any) -> Any:
        open(os.devnull).close()
        return x

    with pytest.raises(fc.NotFusedError, match=r"it calls open \(.*test_calls.py:\d+\)"):
        fc.fused(f, strict=True)(X)


# --- the function itself


@fc.fused
def scaled(x: Any, by: float = 2.0) -> Any:
    """Twice."""
    return x * by


def test_copies_and_pickles_are_the_function_itself() -> None:
    """By reference, as functions are."""
    assert pickle.loads(pickle.dumps(scaled)) is scaled
    assert copy.copy(scaled) is scaled and copy.deepcopy(scaled) is scaled
    assert (scaled.__name__, scaled.__doc__) == ("scaled", "Twice.")


def branching(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def added_to(x: Any) -> Any:
    x += 1
    return np.sort(x) * 2


def looking(x: Any) -> Any:
    return x * float(f"{x[0, 0]}") + len(str(x))


@pytest.mark.parametrize("function", [np.cos, branching, added_to, looking])
def test_nothing_waits_for_the_collector(function: Any) -> None:
    """Neither arguments nor results are held by what the first call has left."""
    gc.collect()
    gc.disable()
    try:
        step = fc.fused(lambda x: function(x) + 1)
        for _ in range(3):
            x = X.copy()
            y = step(x)
            alive = [weakref.ref(x), weakref.ref(y)]
            del x, y
            assert [a() for a in alive] == [None, None]
    finally:
        gc.enable()


def test_classes_are_not_kept() -> None:
    """Those that a function makes anew each time, with a fused method."""

    def made() -> Any:
        class Model:
            by = 2.0

            @fc.fused
            def step(self, x: Any) -> Any:
                return x * self.by + type(self).by

        equal(Model().step(X), X * 2 + 2)
        return weakref.ref(Model)

    alive = [made() for _ in range(3)]
    gc.collect()
    assert [a() for a in alive] == [None] * 3


_SCRIPT = """
import numpy as np, pickle
from joblib import Parallel, delayed
from fusecuda import fused

SCALE = 2.0

@fused
def scaled(x, by):
    return x * by + SCALE

class Model:
    @fused
    def step(self, x):
        return scaled(x, 3.0) - 1

assert pickle.loads(pickle.dumps(scaled)) is scaled
tasks = [delayed(scaled)(np.ones(3), k) for k in range(4)] + [delayed(Model().step)(np.ones(3))]
print([float(y.sum()) for y in Parallel(n_jobs=2)(tasks)])
"""


def test_functions_of_a_script_in_workers(tmp_path: Path) -> None:
    """Those of `joblib` are given what they cannot import."""
    pytest.importorskip("joblib")
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.strip() == "[6.0, 9.0, 12.0, 15.0, 12.0]", done.stderr


def test_what_can_be_called_can_be_fused() -> None:
    """Bound methods, objects that are called, partial functions."""

    class Scale:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, x: Any) -> Any:
            return x * self.by

        def plus(self, x: Any) -> Any:
            return x + self.by

    scale = Scale(3.0)
    for function in (scale, scale.plus, functools.partial(np.add, X)):
        fused = fc.fused(function)
        for _ in range(3):
            equal(fused(X), function(X))
        scale.by += 1
        equal(fused(X), function(X))


def _scaled(by: Any, x: Any, plus: float = 1.0) -> Any:
    return np.sqrt(np.abs(x)) * by + plus


@pytest.mark.parametrize(
    ("partial", "calls"),
    [
        (functools.partial(_scaled, 2.0), [((X,), {}), ((X + 1,), {}), ((X,), {"plus": 2.0})]),
        (functools.partial(_scaled, X, plus=3.0), [((X,), {}), ((X,), {"plus": 4.0})]),
        (functools.partial(functools.partial(_scaled, 2.0), plus=2), [((X,), {})]),
        (functools.partial(_scaled, by=2.0), [((), {"x": X}), ((), {"x": X, "by": 3.0})]),
        (functools.partial(fc.fused(_scaled), 2.0), [((X,), {})]),
    ],
    ids=["a number", "an array", "of a partial", "by name", "of a fused function"],
)
def test_partials_are_replayed(partial: Any, calls: Any) -> None:
    """With what they hold and what a call says instead, by name too."""
    fused = fc.fused(partial, strict=True)
    for args, kwargs in calls:
        for _ in range(3):
            equal(fused(*args, **kwargs), partial(*args, **kwargs))
        assert fused.explain().startswith("_scaled: replayed")
    partial.keywords["plus"] = 5.0
    equal(fused(*calls[-1][0], **calls[-1][1]), partial(*calls[-1][0], **calls[-1][1]))


# --- times


def test_a_trial_decides_by_the_fastest_calls() -> None:
    """Plain calls are made from then on, if those were faster."""
    from fusecuda.capture.record.rest import Trial

    trial = Trial()
    for _ in range(4):
        assert not trial.wants_plain
        trial.took(9e-6, plain=False, replayed=True)
    while trial.plain is None:
        plain = trial.wants_plain
        trial.took(2e-6 if plain else 9e-6, plain, replayed=not plain)
    assert trial.plain and trial.wants_plain
    other = Trial()
    for _ in range(20):
        other.took(2e-6 if not other.wants_plain else 3e-6, other.wants_plain, replayed=True)
    assert other.plain is False


def test_a_plain_call_that_was_stopped_does_not_decide() -> None:
    """What a thread has waited for the processor, while others had it, is not the call's time."""
    from fusecuda.capture.record.rest import undisturbed

    assert undisturbed(0.020, own=0.0004) == 0.0004
    assert undisturbed(0.020, own=0.015) == 0.020  # other threads of a library took part
    assert undisturbed(0.001, own=0.0) == 0.001  # a clock may be coarse


@pytest.mark.parametrize("function", [lambda x: x * 2, lambda x, by=2.0: x * by])
def test_it_is_looked_at_again_which_way_is_faster(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What slow moments of the machine have decided does not stay so, in either direction."""
    from fusecuda.capture.calls import function as module
    from fusecuda.capture.record.rest import Trial

    now, pace = 0.0, 1.0

    def clock() -> float:
        nonlocal now
        now += pace
        return now

    monkeypatch.setattr(module, "perf_counter", clock)
    monkeypatch.setattr(module, "thread_time", lambda: now)
    monkeypatch.setattr(Trial, "LOOK", 4)
    monkeypatch.setattr(Trial, "SHARE", 0)
    fused = fc.fused(function)
    equal(fused(X), X * 2)
    (entry,) = fused._entries.values()
    for look, plain in enumerate((True, False, True)):
        calls = 0
        while entry.trial.plain is not plain:
            pace = 1.0 if entry.trial.wants_plain is plain else 3.0
            equal(fused(X), X * 2)
            calls += 1
        assert (4 << 4 * (look - 1) if look else 0) < calls < 100
        equal(fused(X), X * 2)
        assert isinstance(fused, module.PassedThrough) is (plain and function.__defaults__ is None)


def test_a_budget_ends_and_grows_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time for a plan the interpreter computes, with the same bits."""
    from fusecuda.capture.record import budget, plans

    monkeypatch.setattr(budget.Budget, "FIRST", 0.0)
    monkeypatch.setattr(budget.Budget, "SHARE", 0.0)
    plans.forget()
    spent = budget.Budget()
    assert spent.allows()
    spent.spend(1.0)
    assert not spent.allows()
    monkeypatch.setattr(budget.Budget, "SHARE", 1e12)
    assert spent.allows()
    spent.spend(0.0, passed=3600.0)  # what has passed in a compiler earns nothing
    assert not spent.allows()
    monkeypatch.setattr(budget.Budget, "SHARE", 0.0)

    def f(x: Any) -> Any:
        for k in range(3):
            if x.sum() < 1e9:
                x = np.exp(x * k)[1:]
        return x

    fused = fc.fused(f)
    fused.budget = spent
    for _ in range(3):
        equal(fused(X), f(X), ulp=4)
    assert "too long" in fused.explain()


def test_what_is_strict_has_all_the_time_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It raises for what cannot be fused, not on a slow machine for what can."""
    from fusecuda.capture.record import budget, plans

    monkeypatch.setattr(budget.Budget, "FIRST", 0.0)
    monkeypatch.setattr(budget.Budget, "SHARE", 0.0)
    plans.forget()

    def f(x: Any) -> Any:
        for k in range(300):
            x = x * 0.5 + np.cos(x + k)
        return x

    fused = fc.fused(f, strict=True)
    for _ in range(2):
        equal(fused(X), f(X), ulp=1 << 12)
    assert fused.traces == 1


def test_slices_from_elsewhere_are_indices() -> None:
    """Of NumPy's index helper, and of an object that nobody can look into."""
    x = np.arange(12.0).reshape(3, 4)

    class Opaque:
        window = staticmethod(functools.partial(lambda: (slice(1, 3), ...)))

    opaque = Opaque()

    def program(a: Any) -> Any:
        return a[np.s_[:, 1:]] * 2, a[opaque.window()] + 1, a[np.index_exp[0]]

    fused = fc.fused(program)
    for _ in range(3):
        for got, want in zip(fused(x), program(x), strict=True):
            np.testing.assert_array_equal(got, want)


def test_an_error_in_a_replay_is_the_functions_own() -> None:
    """It is caught where the function catches it, and what was changed before it stays changed."""

    @fc.fused
    def root(x: Any) -> Any:
        y = x * 2
        try:
            return np.linalg.cholesky(y)
        except np.linalg.LinAlgError:
            return y - 1

    @fc.fused
    def counted(counts: dict[str, int], x: Any) -> Any:
        counts["begun"] += 1
        y = np.linalg.cholesky(x * 2)
        counts["done"] += 1
        return y

    good = np.eye(200) * 2
    counts = {"begun": 0, "done": 0}
    for sign in (1, 1, 1, -1, 1, -1, -1, 1):
        assert root(good * sign)[0, 0] == (2 if sign > 0 else -5)
        if sign > 0:
            assert counted(counts, good)[0, 0] == 2
        else:
            with pytest.raises(np.linalg.LinAlgError):
                counted(counts, -good)
    assert counts == {"begun": 8, "done": 5}


class Times(np.ndarray):
    """Arrays with operators of their own."""

    def __rmul__(self, other: Any) -> Any:
        return "mine"

    __array_priority__ = 10


def test_arrays_that_are_read_only_are_replayed_beside_others() -> None:
    """A trace is for arrays of which the same ones may be written to."""
    still = X.copy()
    still.flags.writeable = False

    def add(x: Any, y: Any) -> Any:
        return np.sqrt(x * x + y * y)

    def into(x: Any, y: Any) -> Any:
        y += x
        return y

    for given in ((X, still), (still, X.copy()), (still, still[::-1].copy()), (X, X + 1)):
        agree(add, lambda given=given: list(given), traces=1)  # type: ignore[misc]
    fused = fc.fused(into)
    for _ in range(3):
        fused(X, X.copy())
    with pytest.raises(ValueError, match="read-only"):
        fused(X, still)
    assert same(fused(still, X.copy()), X + X)


SUBCLASSES = {
    "masked": np.ma.masked_array(X[:, :4], X[:, :4] > 0),
    "matrix": X[:, :4].view(np.matrix),
    "own operators": X[:, :4].view(Times),
}


@pytest.mark.parametrize("name", SUBCLASSES)
def test_arrays_of_other_kinds_may_be_read_by_name(name: str) -> None:
    """As closure variables and defaults: they decide what the operators do."""
    second = SUBCLASSES[name]

    def closure(x: Any) -> Any:
        return x * second

    def default(x: Any, of: Any = second) -> Any:
        return x * of

    x = X[:, 1:5].copy()
    for function in (closure, default):
        fused = fc.fused(function)
        for _ in range(3):
            got, want = fused(x), function(x)
            assert type(got) is type(want) and repr(got) == repr(want)
        assert f", a {type(second).__name__}" in fused.explain()


NAMED: dict[str, Any] = {
    "eigh": lambda a: np.exp(-np.linalg.eigh(a * 0.5).eigenvalues),
    "unpacked": lambda a: [part * 2 for part in np.linalg.eigh(a * 0.5)],
    "qr": lambda a: np.linalg.qr(a * 2).R * 2,
    "svd": lambda a: np.linalg.svd(a * 2)[1] + 1,
    "slogdet": lambda a: np.linalg.slogdet(a * 2)[1] * 2,
    "itself": lambda a: np.linalg.slogdet(a * 2),
    "unique": lambda a: np.unique_counts(np.round(a)).counts * 2,
}


@pytest.mark.parametrize("name", NAMED)
def test_named_results_are_followed(name: str) -> None:
    """Functions of NumPy's that give named tuples are fragments of a replay like others."""

    def function(a: Any) -> Any:
        return NAMED[name](a)

    fused = agree(function, lambda: [np.diag(np.arange(1.0, 41)) + 1], traces=1)
    a = np.diag(np.arange(2.0, 42)) - 1
    assert same(fused(a), function(a))


def test_what_is_recorded_inside_is_no_measure() -> None:
    """A plain call in which another function is first recorded says nothing of plain calls."""
    inner = fc.fused(lambda x: np.tanh(x) * 2 + np.exp(-x))

    def outer(x: Any, inside: bool) -> Any:
        return inner(x) if inside else x + 1

    step: Any = fc.fused(outer)
    step(X, False)
    (entry,) = step._entries.values()
    for plain in ([], [1]):
        equal(step._timed(entry, (X, True)), outer(X, True))
        assert len(entry.trial._plain) == len(plain)
        next(iter(inner._entries.values())).trial.plain = False  # decided how it is called
