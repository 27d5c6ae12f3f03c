"""Impure functions: prints, logs, clocks and random draws are made again by each replay."""

from __future__ import annotations

import logging
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.side_by_side import run

HEAD = """import contextlib, io, logging, random, sys, time, warnings
X = np.linspace(-1, 1, 4000).reshape(40, 100)
def shown(function, *args):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = function(*args)
    return result, out.getvalue()
lines = []
class Kept(logging.Handler):
    def __init__(self): super().__init__(); self.records = []
    def emit(self, record):
        if record.exc_info: lines.append(str(record.exc_info[1]))
        lines.append((record.levelname, record.funcName, record.lineno, record.getMessage()))
kept = Kept()
log = logging.Logger("of the test", logging.INFO); log.addHandler(kept)
"""

REPLAYED = {
    "print": (
        """
@fused
def f(x, k):
    y = x * k + 1
    print("begins", k, x.shape, y.dtype)
    z = np.exp(y)
    print("most", y.max(), y.min(), sep=" = ")
    return z - z.mean()
""",
        ["r = shown(f, X, 2.5)", "r = shown(f, X + 1, 3)", "r = shown(f, X[::2], 3)"] * 2,
    ),
    "prints of arrays": (
        """
@fused
def f(x): y = x + 1; print(y[:2, 0], y[0, 0]); y *= 2; print(y[1, :3]); return y
""",
        ["r = shown(f, X)", "r = shown(f, X - 1)", "r = shown(f, X.copy())"],
    ),
    "prints that depend": (
        """
@fused
def f(x, n):
    for i in range(n):
        x = x * 0.5
        if i % 2: print("step", i, float(x.max()) > 0.2)
        if x.max() < 0.1:
            print("small"); break
    return x
""",
        ["r = shown(f, X, 6)", "r = shown(f, X * 3, 6)", "r = shown(f, X * 100, 4)"] * 2,
    ),
    "log": (
        """
@fused
def f(x):
    log.debug("never %s", x.sum())
    y = x * 2
    log.info("mean %.3f of %r", y.mean(), y.shape)
    log.log(logging.ERROR, "bad")
    return np.sin(y) + y
""",
        ["r = f(X)", "r = f(X + 1)", "log.setLevel(10); r = f(X)", "log.disabled = True; r = f(X)"],
    ),
    "a log of an object": (
        """
class Model:
    def __init__(self): self.log, self.rate = log, 0.5
    @fused
    def step(self, x):
        y = x * self.rate
        self.log.warning("rate %s", self.rate)
        return y + 1
model = Model()
""",
        ["r = model.step(X)", "model.rate = 2.0; r = model.step(X)", "r = model.step(X + 1)"],
    ),
    "draws": (
        """
rng = np.random.default_rng(5)
@fused
def f(x): return np.exp(x + rng.normal(size=x.shape) * 0.1) + rng.random()
""",
        ["r = f(X)", "r = f(X * 2)", "r = f(X)", "state = rng.bit_generator.state"],
    ),
    "draws of what is given": (
        """
@fused
def f(x, rng): return np.where(rng.random(x.shape) < 0.5, x, -x) * rng.integers(1, 9)
""",
        [
            f"r = f(X, np.random.default_rng({k})), f(X, np.random.default_rng({k + 1}))"
            for k in (1, 2)
        ]
        + ["g = np.random.default_rng(3); r = f(X, g), f(X, g)", "s = g.bit_generator.state"],
    ),
    "draws of an object": (
        """
class Walk:
    def __init__(self): self.rng, self.x = np.random.default_rng(9), X.copy()
    @fused
    def step(self):
        self.x = self.x + self.rng.standard_normal(self.x.shape)
        return self.x.mean()
walk = Walk()
""",
        ["r = walk.step()"] * 4,
    ),
    "NumPy's own generator": (
        """
@fused
def f(x, n):
    for _ in range(n):
        step = x + np.random.uniform(-1, 1, x.shape)
        x = np.where(np.random.rand(*x.shape) < np.exp(x * x - step * step), step, x)
    return x
""",
        [
            "np.random.seed(4); r = f(X, 3)",
            "np.random.seed(5); r = f(X, 3)",
            "np.random.seed(5); r = f(X, 2)",
        ],
    ),
    "draws of arrays": (
        """
rng = np.random.default_rng(5)
@fused
def f(x, k):
    noise = rng.normal(x, np.abs(x) + 1)
    return noise.sum(0) + rng.choice(x[0], size=100), rng.permutation(x)[0] * k
""",
        ["r = f(X, 2)", "r = f(X + 1, 3)", "r = f(X, 2)"],
    ),
    "Python's generator": (
        """
@fused
def f(x):
    if random.random() < 0.5: return x * random.uniform(1, 2)
    return x + random.randint(1, 6)
""",
        [f"random.seed({k}); r = f(X)" for k in (1, 2, 3, 4, 1, 2)],
    ),
    "seeds": (
        """
import random
@fused
def f(x, seed): random.seed(seed); return x * random.random()
""",
        [f"r = f(X, {k})" for k in (1, 2, 1, 2)],
    ),
    "generators that it makes": (
        """
@fused
def f(x, seed):
    rng, old, own = np.random.default_rng(seed), np.random.RandomState(3), random.Random(seed)
    assert isinstance(own, random.Random) and not isinstance(x, np.random.RandomState)
    return x + rng.normal(size=x.shape) * own.random() + old.randint(5)
""",
        ["r = f(X, 1)", "r = f(X, 2)", "r = f(X + 1, 2)", "r = f(X, 1)"],
    ),
    "generators that it takes or makes": (
        """
@fused
def f(x, seed):
    rng = np.random.default_rng(seed)
    if isinstance(seed, np.random.Generator): assert rng is not None
    other = np.random.default_rng(rng)
    return x + rng.random() - other.random(x.shape)
""",
        [
            "r = f(X, 1)",
            "r = f(X, 2)",
            "g = np.random.default_rng(3); r = f(X, g), f(X, g)",
            "g = np.random.default_rng(4); r = f(X, g), g.random()",
        ],
    ),
    "a log of its own": (
        """
@fused
def g(x, name):
    own = logging.getLogger("of the test " + name)
    own.info("never")
    return x + 1
""",
        ["r = g(X, 'a')", "r = g(X, 'b')", "r = g(X, 'b')"],
    ),
    "texts": (
        """
import datetime, json, re
number = re.compile(r"(\\d+)")
@fused
def f(x, text):
    found = re.match(r"[a-z]+ (\\d+)", text)
    every = number.findall(text)
    scale = json.loads('{"of": [2.5, 3]}')["of"][0]
    return x * int(found[1]) + scale * len(every) + datetime.timedelta(minutes=2).total_seconds()
""",
        ["r = f(X, 'abc 12 3')", "r = f(X, 'abc 5')", "r = f(X + 1, 'abc 12 3')"],
    ),
    "filters of warnings": (
        """
@fused
def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)
        warnings.warn("never")
        y = np.sqrt(x * x) + 1
    warnings.warn("shown", UserWarning)
    return y
def g(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = f(x)
    return y, [(str(w.message), w.filename, w.lineno) for w in caught]
filters = lambda: len(warnings.filters)
""",
        ["r = g(X); n = filters()", "r = g(X - 1); n = filters()"] * 2,
    ),
    "errors": (
        """
rng = np.random.default_rng(5)
@fused
def f(x, scale):
    try: return x + rng.normal(0, scale, x.shape)
    except ValueError as error: return str(error), x * 2
""",
        ["r = f(X, 1.0)", "r = f(X, -1.0)", "r = f(X, 2.0)", "r = f(X, -2.0)"],
    ),
    "errors after prints": (
        """
@fused
def f(x, i): print("at", i); y = x * 2; print("then"); return y[i] + 1
""",
        ["r = shown(f, X, 3)", "r = shown(f, X, 99)", "r = shown(f, X, 3)"],
    ),
    "a stream": (
        """
@fused
def f(x): y = x + 1; sys.stdout.write("written\\n"); return y * y
def g(x):
    before, sys.stdout = sys.stdout, stream
    try: return f(x)
    finally: sys.stdout = before
stream = io.StringIO()
""",
        ["r = g(X); text = stream.getvalue()"] * 4,
    ),
    "what is written in place": (
        """
rng = np.random.default_rng(5)
@fused
def f(x, out):
    out += x; print(out[0, 0]); out *= rng.random(); print(out.sum() > 0)
A = X.copy()
""",
        ["r = shown(f, X, A)", "r = shown(f, X + 1, A)", "r = shown(f, X, A)"],
    ),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_replayed(name: str) -> None:
    program, steps = REPLAYED[name]
    spaces = run(HEAD + program, [*steps, "list(lines)"])
    for function in spaces.functions:
        assert function.explain().startswith(f"{function.__name__}: replayed"), function.explain()


# Used in a way that no replay could repeat: recorded anew, and right.
ANEW = {
    "shuffle": (
        """
rng = np.random.default_rng(5)
@fused
def f(x): y = x + 1; rng.shuffle(y); return y * 2
""",
        ["r = f(X)", "r = f(X)"],
    ),
    "out": (
        """
rng = np.random.default_rng(5)
@fused
def f(x):
    y = x + 1
    total, z = float(y.sum()), y * 2
    rng.random(out=y)
    return x + y, z, total > 0
""",
        ["r = f(X)", "r = f(X)"],
    ),
    "out that is given back": (
        """
rng = np.random.default_rng(5)
@fused
def f(x): y = rng.permuted(x, out=x); z = rng.random(out=x[0]); return y is x, z is x, y
""",
        ["r = f(X)", "r = f(X)"],
    ),
    "the state": (
        """
rng = np.random.default_rng(5)
@fused
def f(x): y = x * rng.random(); s = rng.bit_generator.state["state"]["state"]; return y, s
""",
        ["r = f(X)", "r = f(X)"],
    ),
    "passed on": (
        """
@fused
def f(x, *, say=print): list(map(say, ["a", "b"])); say(*[k for k in range(3)]); return x * 2
""",
        ["r = shown(f, X)", "r = shown(f, X)"],
    ),
    "lists": (
        """
import random
@fused
def f(x): k = [1, 2, 3]; random.shuffle(k); return x * k[0], k, random.choice([x, 2 * x])
""",
        ["random.seed(1); r = f(X)", "random.seed(2); r = f(X)"],
    ),
    "the state of a generator": (
        """
import random
@fused
def f(x):
    before = random.getstate()
    a = random.random()
    random.setstate(before)
    return x * a, random.random() - a
""",
        ["random.seed(1); r = f(X)", "random.seed(2); r = f(X)"],
    ),
    "texts of values": (
        """
import re
@fused
def f(x, by):
    found = re.sub("[a-z]", str(by), "1a")
    shown = json.dumps({"by": by, "most": x.max().item(), "kinds": [1, by]})
    try: json.dumps({"of": x})
    except TypeError as error: shown += str(error)
    return x * float(found), shown
import json
""",
        ["r = f(X, 3)", "r = f(X * 2, 4)", "r = f(X, 3)"],
    ),
    "objects": (
        """
class Named:
    def __repr__(self): return "a name"
named = Named()
@fused
def f(x, file): print(named, x.shape); print("there", file=file); return x + 1
""",
        ["o = io.StringIO(); r = shown(f, X, o); t = o.getvalue()"] * 3,
    ),
    "an error that is logged": (
        """
@fused
def f(x):
    y = x * 2
    try: y[999]
    except IndexError: log.error("none", exc_info=True)
    return y + 1
""",
        ["r = f(X)", "r = f(X)"],
    ),
}


@pytest.mark.parametrize("name", ANEW)
def test_recorded_anew(name: str) -> None:
    program, steps = ANEW[name]
    run(HEAD + program, [*steps, "list(lines)"])


def test_records_keep_what_was_logged() -> None:
    """A handler may keep a record: the numbers in it are those of its call."""
    kept: list[logging.LogRecord] = []

    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record)

    log = logging.Logger("keeps")
    log.addHandler(Keeps())

    @fc.fused
    def f(x: Any) -> Any:
        y = x + 1
        log.info("%s %s", x.sum(), y)
        y *= 2
        return y

    for k in range(5):
        f(np.full(3000, float(k)))
    assert [record.args[0] for record in kept] == [3000.0 * k for k in range(5)]  # type: ignore[index]
    assert [record.args[1].max() for record in kept] == [2.0 * k + 2 for k in range(5)]  # type: ignore[index,union-attr]


def test_warnings_name_their_line() -> None:
    @fc.fused
    def f(x: Any) -> Any:
        warnings.warn("of the program", UserWarning, 1)
        return x + 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            f(np.ones(3000))
    first = f.__wrapped__.__code__.co_firstlineno
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, first + 2)] * 5


@pytest.mark.parametrize("level", [1, 2, 3, 4])
@pytest.mark.parametrize("by_position", [False, True])
def test_warnings_name_a_caller(level: int, by_position: bool) -> None:
    """Of a function inside, of the fused one or further up, each by its own line."""

    def checked(x: Any) -> None:
        if by_position:
            warnings.warn("of the program", UserWarning, level)
        else:
            warnings.warn("of the program", stacklevel=level)

    def f(x: Any) -> Any:
        checked(x)
        return x + 1

    def called(function: Any, times: int) -> Any:
        for _ in range(times):
            function(np.ones(3000))
        return function(np.ones(3000))

    fused = fc.fused(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        called(fused, 4), called(f, 4)
    places = [(w.filename, w.lineno) for w in caught]
    assert places[:5] == places[5:] and {file for file, _ in places} == {__file__}
    assert fused.explain().startswith("f: replayed")


def test_logs_name_a_caller() -> None:
    records: list[logging.LogRecord] = []
    log = logging.Logger("of callers")
    log.addFilter(lambda record: records.append(record) or False)

    def f(x: Any) -> Any:
        print(end="")
        log.warning("of the program", stacklevel=2)
        return x + 1

    def called(function: Any) -> Any:
        return function(np.ones(3000))

    fused = fc.fused(f)
    for function in (f, fused, fused):
        called(function)
    assert {(r.pathname, r.funcName, r.lineno) for r in records} == {
        (__file__, "called", called.__code__.co_firstlineno + 1)
    }


def test_clocks_go_on() -> None:
    """Each replay asks the clock again, before and after what is between."""

    @fc.fused
    def f(x: Any) -> Any:
        began = time.perf_counter()
        y = np.exp(x).sum()
        time.sleep(0.001)
        return y, began, time.perf_counter() - began

    results = [f(np.ones(3000)) for _ in range(5)]
    assert sorted(began for _, began, _ in results) == [began for _, began, _ in results]
    assert all(took > 0.0009 for _, _, took in results)
    assert f.explain().startswith("f: replayed")


def test_what_was_done_is_not_done_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither where a call is started again, nor where a value was not seen before."""
    rng = np.random.default_rng(1)

    @fc.fused
    def f(x: Any, y: Any) -> Any:
        print("once")
        shift = rng.random()
        z = x * 2 + shift
        if y is not None:
            z.data[0, 0]  # memory is taken
        return z

    @fc.fused
    def g(x: Any) -> Any:
        print("once")
        shift = rng.random()
        if x.sum() + shift > 100:
            print("large")
            return x - shift
        return x + shift

    draws = 0
    for call in (lambda: f(np.ones((3, 1000)), np.ones(5)), lambda: f(np.ones(3000), None)) * 2:
        call()
        draws += 1
    for scale in (0.0, 1.0, 0.0, -1.0, 1.0):
        g(np.full(3000, scale))
        draws += 1
    assert capsys.readouterr().out.count("once") == draws
    assert rng.random() == np.random.default_rng(1).random(draws + 1)[-1]


GENERATORS: list[Callable[[int], Any]] = [
    np.random.default_rng,
    np.random.RandomState,
    random.Random,
]


@pytest.mark.parametrize("make", GENERATORS)
def test_another_object_is_another_generator(make: Callable[[int], Any]) -> None:
    """A replay draws from what it is given, not from what was there when it was recorded."""

    @fc.fused
    def f(x: Any, rng: Any) -> Any:
        return x * rng.uniform(1, 2)

    x = np.ones(3000)
    for seed in (1, 2, 3, 1, 2):
        assert f(x, make(seed))[0] == make(seed).uniform(1, 2)
    assert f.explain().startswith("f: replayed")
