"""Errors inside calls, most of numbers that are followed: in a replay as in the plain function."""

from __future__ import annotations

import contextlib
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.calls import recorded as recording
from fusecuda.capture.calls.host import HostCall
from fusecuda.capture.calls.trace import Trace
from fusecuda.capture.calls.undoing import Undoing
from fusecuda.executable import Executable
from tests import programs_of_errors
from tests.fuzz_calls import failure
from tests.marks import one_in
from tests.programs_of_errors import RAISING, around, calls
from tests.side_by_side import run


@pytest.fixture(autouse=True)
def no_trials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Calls are replayed, however fast the plain ones are."""
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.wants_plain", property(lambda s: False))
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.took", lambda *args, **kwargs: None)
    return


@pytest.mark.parametrize("number", ["float(y.sum())", "n"], ids=["look", "argument"])
@pytest.mark.parametrize("operation", RAISING)
@one_in(12)
def test_an_error_that_the_function_catches(operation: str, number: str) -> None:
    """It is caught in a replay too, each update is done once; then that way is replayed."""
    good, bad = RAISING[operation]
    program = around(operation, number, caught=True)
    for first, then in ((good, bad), (bad, good)):
        spaces = run(program, calls(first, first, then, first, then, then, first))
        assert [f.traces for f in spaces.functions] == [2]


@pytest.mark.parametrize("number", ["float(y.sum())", "n"], ids=["look", "argument"])
@pytest.mark.parametrize("operation", RAISING)
def test_an_error_that_passes_to_the_caller(operation: str, number: str) -> None:
    """The updates before it are there, once; those after it are not."""
    good, bad = RAISING[operation]
    program = around(operation, number, caught=False)
    for first, then in ((good, bad), (bad, good)):
        run(program, calls(first, first, then, first, then, then, first))


OF_ELEMENTS: dict[str, Callable[..., Any]] = {
    "an index": lambda x, i: x[i],
    "taken": np.take,
    "of an axis": lambda x, i: np.stack([x, x])[:, i],
    "along an axis": lambda x, i: np.take_along_axis(x, i, 0) + 1,
    "written": lambda x, i: x.__setitem__(i, 7.0),
    "a power": lambda x, i: i ** (2 - i),
}


@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_errors_of_elements_that_are_caught_have_numpys_text(name: str) -> None:
    """After an effect, too, when the call cannot be made again."""
    compute = OF_ELEMENTS[name]

    def f(x: Any, i: Any) -> Any:
        x += 1
        try:
            return compute(x, i)
        except (IndexError, ValueError) as error:
            return type(error), str(error)

    fused = fc.fused(f)
    for last in (2, 2, 7, 2, 7):
        x, y, i = np.arange(4.0), np.arange(4.0), np.array([0, 1, last])
        assert repr(fused(x, i)) == repr(f(y, i))
        assert np.array_equal(x, y)


def updates(x: Any, n: float) -> Any:
    """Divides between two updates, with a look before them."""
    s = float(x[0]) * n
    x += 1
    r = 1.0 / s
    x += 2
    return r


def test_updates_around_an_error() -> None:
    """Those before it are done, those after it not: said without another function."""
    function = fc.fused(updates)
    for _ in range(3):
        x = np.ones(5)
        assert function(x, 2.0) == 0.5
        assert x.tolist() == [4.0] * 5
    for _ in range(3):
        x = np.zeros(5)
        with pytest.raises(ZeroDivisionError, match="float division"):
            function(x, 2.0)
        assert x.tolist() == [1.0] * 5


def test_an_error_of_an_argument_alone() -> None:
    """Nothing has been run where it is found, and `why` names it."""

    def plain(x: Any, n: float) -> Any:
        x += 1
        return x * n, 1.0 / n

    function = fc.fused(plain)
    for n in (2.0, 4.0):
        product, inverse = function(np.ones(5), n)
        assert (product.tolist(), inverse) == ([2.0 * n] * 5, 1.0 / n)
    assert function.traces == 1
    x = np.ones(5)
    assert "it raises: ZeroDivisionError" in function.why(x, 0.0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            function(x, 0.0)
    assert x.tolist() == [4.0] * 5


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("s ** 0.5", (4.0, -4.0, 9.0, -9.0)),
        ("2 ** math.floor(s)", (3.0, -3.0, 4.0, -4.0)),
        ("10 ** math.floor(s) * 0.5", (2.0, 400.0, 3.0, -1.0)),
        ("(-8) ** s", (2.0, 0.5, 3.0, 1.5)),
        ("math.frexp(s)[1] / s", (2.0, 0.0, 2.0, 5.0)),
    ],
)
@pytest.mark.parametrize("number", ["float(y.sum())", "n"], ids=["look", "argument"])
def test_another_type(operation: str, values: tuple[float, ...], number: str) -> None:
    """A number of another type, which values may lead to, is another way."""
    run(around(f"np.ones(3, int) + ({operation})", number, caught=True), calls(*values, *values))


@pytest.mark.parametrize("look", ["int(y.max())", "round(y.max())"])
def test_a_look_that_raises(look: str) -> None:
    """An integer of NaN: first while recorded, then in a replay."""
    program = f"""
@fused
def f(x, y):
    x += 1
    try:
        k = {look}
        x *= k
    except (ValueError, OverflowError) as e:
        x -= 1
        k = str(e)
    return k, x + 1
x = np.ones(4)
"""
    good, bad = "r = f(x, np.full(4, 2.5))", "r = f(x, np.full(4, np.nan))"
    for steps in ([good, good, bad, good, bad], [bad, bad, good, bad, good]):
        spaces = run(program, [*steps, "r = f(x, np.full(4, np.inf))", *steps])
        assert spaces.functions[0].traces == 3


@pytest.mark.parametrize(
    "number", ["float(y)", "int(y)", "float(y.sum(keepdims=True))", "round(y.sum(), 'a')"]
)
@pytest.mark.parametrize("caught", [True, False], ids=["caught", "passed"])
def test_no_error_is_a_number(number: str, caught: bool) -> None:
    """What raises in place of a number does so, first and in each replay."""
    program = around(number, "0.0", caught=caught)
    run(program, ["y = np.full(1, 2.5)", *calls(2.0, 3.0, 2.0)])


def test_another_error_is_another_way() -> None:
    """Errors of one type that say other things are told apart."""
    program = around("math.comb(math.floor(s), 3 - math.floor(s))", "float(y.sum())", caught=True)
    run(program, calls(2.0, -1.0, 5.0, -1.0, 3.0, 7.0, 2.0))


def test_warnings_that_are_errors() -> None:
    """NumPy's own numbers warn, which raises where the user says so, before anything is run."""
    program = around("1.0 / n + float(y.sum())", "0.0", caught=True)
    numbers = [f"r = f(x, y, np.float64({v}))" for v in (2, 4, 0, 2, 0)]
    run(program.replace("s = 0.0", "z = 1.0 / n if y.shape else 0"), numbers)
    run(program, numbers)


def test_what_cannot_raise_is_no_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay of sums and products of floats has nothing more to do."""
    attempts: list[Any] = []
    attempt = Trace.attempt

    def noted(self: Trace, function: Callable[..., Any], args: Any) -> Any:
        attempts.append(function)
        return attempt(self, function, args)

    monkeypatch.setattr(Trace, "attempt", noted)

    def plain(x: Any, n: float, k: int) -> Any:
        s = float(x.sum())
        t = -abs(s * n - 3) + s / 2 + s // 0.5 + n % 2.0
        return x * t, (k * 3 - k) % 5

    function = fc.fused(plain)
    for _ in range(3):
        got, want = (f(np.arange(4.0), 0.5, 7) for f in (function, plain))
        assert got[0].tolist() == want[0].tolist()
        assert got[1] == want[1]
    assert function.traces == 1
    assert not attempts


def test_numbers_are_computed_once() -> None:
    """Each replay computes a number that leads to the next two once, not for both."""

    def root(x: Any, steps: int) -> Any:
        a = float(x.sum())
        s = a
        for _ in range(steps):
            s = 0.5 * (s + a / s)
        return x * s

    function = fc.fused(root)
    for value in (9.0, 4.0, 2.0):
        x = np.array([value, 0.0])
        assert function(x, 40)[0] == pytest.approx(value * math.sqrt(value), rel=1e-15)
    assert function.traces == 1


@pytest.mark.parametrize("looks", [True, False], ids=["look", "no look"])
@pytest.mark.parametrize("number", ["float(x.sum())", "n"], ids=["look", "argument"])
@pytest.mark.parametrize("step", ["s * 0.5 + 1", "s + s * 0.25", "s - 1 / s + n"])
@one_in(8)
def test_long_chains_of_numbers(step: str, number: str, looks: bool) -> None:
    """As long as they are, they are followed, and updates before them are done once."""
    program = f"""
@fused
def f(x, n):
    x += 1
    s = {number}
    for i in range(150):
        s = {step}
    x += {"float(x.max())" if looks else "1"}
    return x * s, s
x = np.ones(3)
"""
    spaces = run(program, [f"x[:] = 1; r = f(x, {n})" for n in (2.0, 3.0, 2.5, 4.0)])
    assert spaces.functions[0].traces == 1


def test_lazy_arrays() -> None:
    """Within a recording, and on lazy arrays, the function itself raises."""
    function = fc.fused(updates)
    function(np.ones(5), 2.0)
    for _ in range(2):
        x = fnp.asarray(np.zeros(5))
        with pytest.raises(ZeroDivisionError):
            function(x, 2.0)
        assert x.tolist() == [1.0] * 5


@pytest.mark.parametrize("line", ["z = x[:, k]", "x **= k", "z = x ** k"])
def test_arrays_whose_operations_fail(line: str) -> None:
    """The function that catches an error of NumPy's gets it where it arises."""
    program = f"""
@fused
def f(x, k):
    z = x + 1
    try:
        x += 1
        {line}
        x += 2
    except (IndexError, ValueError) as e:
        z = type(e).__name__
    return z, x * 2
x = np.arange(1, 7).reshape(2, 3)
"""
    step = "x[:] = 1; r = f(x, np.array([[{0}]]))"
    run(program, [step.format(k) for k in (1, 1, -9, 1, -9, 2, *range(-20, -10))])


def test_what_cannot_fail_is_fused_where_errors_are_caught() -> None:
    """All in one launch, as without ``try``."""

    def plain(x: Any, y: Any) -> Any:
        try:
            z = (x * 2 + y) * 3 - 1
            return z * y
        except ValueError:
            return x

    function = fc.fused(plain)
    x = np.arange(6.0)
    for _ in range(2):
        with fc.count_launches() as launches:
            got = function(x, x)
        assert got.tolist() == plain(x, x).tolist()
        assert launches.total == 1


def test_an_error_of_the_users_is_no_refusal() -> None:
    """With ``strict`` it is raised as it is, at the user's line; recording's own is one."""

    @fc.fused(strict=True)
    def limited(x: Any) -> Any:
        y = x * 2
        if len(x) > 2:
            raise ValueError("too long")
        return y

    @fc.fused(strict=True)
    def plain_only(x: Any) -> Any:
        if hasattr(x * 2, "storage"):  # as only our arrays have
            raise ValueError("no array")
        return x

    assert limited(np.ones(2)).tolist() == [2, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="too long"):
            limited(np.ones(3))
    with pytest.raises(fc.NotFusedError, match="it raised ValueError when it was recorded"):
        plain_only(np.ones(3))


@pytest.mark.parametrize("first", range(0, 60, 20))
@pytest.mark.filterwarnings("ignore")
@one_in(10)
def test_random_programs(first: int) -> None:
    """Random programs are as plain ones are."""
    for seed in range(first, first + 20):
        assert not failure(*programs_of_errors.written(seed)), seed


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 500))
@pytest.mark.filterwarnings("ignore")
def test_many_random_programs(first: int) -> None:
    """More of them."""
    for seed in range(first, first + 250):
        assert not failure(*programs_of_errors.written(seed)), seed


@pytest.mark.parametrize("undone", [False, True])
def test_what_always_raises_is_called_plainly(
    undone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that raises after an effect is recorded ever more rarely, and tried again."""
    log: list[int] = []
    recorded = []
    keeps = Undoing.keeps

    @fc.fused
    def f(x: Any, limit: float) -> Any:
        x += 1
        log.append(len(log))
        if x.max() > limit:
            raise ValueError(f"too much after {len(log)}")
        return x.sum()

    class Counted(recording.HostCall):
        def run(self) -> Any:
            recorded.append(len(log))
            return super().run()

    monkeypatch.setattr(recording, "HostCall", Counted)
    monkeypatch.setattr(Undoing, "keeps", lambda self, buffers: undone and keeps(self, buffers))
    for turn in range(1, 65):
        x = np.ones(3)
        with pytest.raises(ValueError, match=f"^too much after {turn}$"):
            f(x, 0.0)
        assert x.tolist() == [2, 2, 2]
    assert len(log) == 64 and 2 <= len(recorded) <= 8
    assert [f(np.ones(3), 9.0) for _ in range(80)] == [6.0] * 80
    assert f.traces >= 1


RNG = np.random.default_rng(0)
FAIL_BETWEEN = """
def look(x, y, j): y[j] = 7.0; x += 1; return x[0] > 1e9 or x + 1
def read(x, y, j):
    q = y[j]; x += 1
    if x[0] > 1e9: x += 1
    return q
def shuffled(x, y, j): y[j] = 7.0; x += 1; RNG.shuffle(x)
def at(x, y, j): y[j] = 7.0; x += 1; np.power.at(x, [0], 2)
def later(x, y, j):
    x *= 2
    if x[0] > 1e9: x += 1
    x += 1
    y[j] = 7.0; x += 5; x[0] = np.median(x)
def median(x, y, j): q = y[j]; x += 1; x[0] = np.median(x); return q
def put(x, y, j): y[j] = 1.0; np.put(x, [0], 3.0); x[1] += np.median(x)
def printed(x, y, j):
    print(end=""); x *= 2; y[j] = 7.0; x += 1
    if x[0] > 1e9: x += 1
def drawn(x, y, j): x *= RNG.random() > 2; x += 3; y[j] = 7.0; x += 1; return x.sum() > RNG.random()
def powers(x, y, j): x += 1; q = y.astype(int) ** (3 - j); x[0] = np.median(x); return q
"""


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("warm", range(3))
@pytest.mark.parametrize("dtype", ["f8", "f2", "u1"])
def test_a_call_that_fails_between_looks(dtype: str, warm: int) -> None:
    """It leaves its arguments as they were, or as NumPy does: nothing behind the error is done."""
    space: dict[str, Any] = {"np": np, "RNG": RNG}
    exec(FAIL_BETWEEN, space)
    for name, plain in [(n, f) for n, f in space.items() if isinstance(f, types.FunctionType)]:
        fast: Any = fc.fused(plain)
        for _ in range(warm):
            fast(np.ones(4, dtype), np.ones(4, dtype), np.array([1]))
        mine, numpys = np.ones((2, 4), dtype), np.ones((2, 4), dtype)
        with pytest.raises((IndexError, ValueError)) as ours:
            fast(*mine, np.array([5]))
        with pytest.raises(ours.type) as theirs:
            plain(*numpys, np.array([5]))
        if name in ("look", "read", "at"):  # made again by NumPy
            assert str(ours.value) == str(theirs.value)
        assert np.array_equal(mine, numpys) or (mine == 1).all(), (name, mine)


@pytest.mark.parametrize("warm", [0, 2])
def test_a_call_that_fails_between_large_updates(warm: int, nothing_is_undone: None) -> None:
    """It cannot begin again for what was kept of them."""
    test_a_call_that_fails_between_looks("f8", warm)


class Interrupted(Exception):  # noqa: N818 - as handlers of signals raise it
    """Comes whenever it likes."""


def updated(u: Any) -> Any:
    u += 1
    return u.sum()


def updated_twice(u: Any) -> Any:
    if u.sum() < 100:
        u += 1
    return u * 2


@pytest.mark.parametrize("function", [updated, updated_twice])
@pytest.mark.parametrize("interruption", [KeyboardInterrupt, Interrupted])
@pytest.mark.parametrize("place", ["run", "end"])
def test_interrupted_updates_are_done_once(
    function: Any, interruption: type[BaseException], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is interrupted as its kernels have run, or later, is not begun anew."""

    def interrupted(before: Any) -> Any:
        def call(*args: Any) -> None:
            before(*args)
            raise interruption

        return call

    owner: Any = Executable if place == "run" else HostCall
    for name in ("run", "run_checked") if place == "run" else ("_let_go",):
        monkeypatch.setattr(owner, name, interrupted(getattr(owner, name)))
    u = np.zeros(4)
    with contextlib.suppress(interruption):
        fc.fused(function)(u)
    assert u.tolist() in ([1.0] * 4, [0.0] * 4)
