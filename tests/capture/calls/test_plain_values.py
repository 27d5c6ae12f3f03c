"""What C code takes of what stands for numbers, objects and functions, where nothing starts again.

Each program prints first: from then on a call cannot be made again as it is.
"""

from __future__ import annotations

import pytest

from tests.side_by_side import run

HEAD = """import array, collections, contextlib, datetime, functools, io
import json, os, pathlib, tempfile
from datetime import timedelta
X = np.linspace(-1, 1, 4000).reshape(40, 100)
def shown(function, *args):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = function(*args)
    return result, out.getvalue()
"""

REPLAYED = {
    "times": (
        """
@fused
def f(x, k):
    print("at", k)
    days = timedelta(days=k) + datetime.timedelta(seconds=float(x.max()))
    assert isinstance(days, timedelta) and issubclass(timedelta, object)
    return x * days.total_seconds(), days, np.datetime64(k, "D"), np.timedelta64(k, "s")
""",
        ["r = shown(f, X, 3)", "r = shown(f, X, 4)", "r = shown(f, X + 1, 4)"],
    ),
    "what a class has": (
        """
@fused
def f(x, k):
    print(timedelta.max, timedelta.__name__, timedelta == datetime.timedelta, {timedelta: k})
    return x + min(timedelta(k), timedelta.max).days
""",
        ["r = shown(f, X, 3)", "r = shown(f, X, 4)"],
    ),
    "texts of numbers": (
        """
@fused
def f(x, k):
    print("at", k)
    return x * k, json.dumps({"k": [k, {k: k}], "most": x.max(), "kinds": [float(x.min()), None]})
""",
        ["r = shown(f, X, 3)", "r = shown(f, X, 4)", "r = shown(f, X, 2.5)", "r = shown(f, X, 3)"],
    ),
    "queues": (
        """
@fused
def f(x, k):
    print("at", k)
    last = collections.deque([x, x * 2], maxlen=k)
    last.append(x * 3)
    rows = [k]
    held = collections.deque([rows])
    rows.append(2)
    every = collections.defaultdict(collections.deque)
    every["a"].append(k)
    return sum(last), len(last), isinstance(last, collections.deque), every["a"].pop(), held[0][1]
""",
        ["r = shown(f, X, 1)", "r = shown(f, X, 2)", "r = shown(f, X, 3)"],
    ),
    "generators of bits": (
        """
@fused
def f(x, k):
    print("at", k)
    rng = np.random.Generator(np.random.PCG64(k))
    other = np.random.Generator(np.random.MT19937(np.random.SeedSequence(k)))
    assert isinstance(rng, np.random.Generator)
    return x + rng.random(x.shape) * other.normal(), np.random.Philox(k).random_raw()
""",
        ["r = shown(f, X, 1)", "r = shown(f, X, 2)", "r = shown(f, X, 2)"],
    ),
    "attributes of functions": (
        """
def helped(x: float) -> "of": return x * helped.by
helped.by = 3
@fused
def f(x):
    print(helped.__annotations__, helped.__qualname__, helped.__module__, helped.__doc__)
    return helped(x) + helped.by
""",
        ["r = shown(f, X)", "helped.by = 2.5; r = shown(f, X)", "helped.by = 3; r = shown(f, X)"],
    ),
    "one bound": (
        """
@fused
def f(x, k):
    print("at", k)
    y = x > k
    return y.clip(True), y.clip(max=False), x.clip(k), x.clip(None, k), x.clip(k, max=None)
""",
        ["r = shown(f, X, 0.5)", "r = shown(f, X, 0.25)"],
    ),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_replayed(name: str) -> None:
    program, steps = REPLAYED[name]
    spaces = run(HEAD + program, steps * 2)
    for function in spaces.functions:
        assert function.explain().startswith(f"{function.__name__}: replayed"), function.explain()


RIGHT = {
    "functions that count": (
        """
def helped(x): helped.times += 1; return x * helped.times
helped.times = 0
@fused
def f(x): print("begins"); return helped(x) + 1
""",
        ["r = shown(f, X); n = helped.times"],
    ),
    "functions that keep": (
        """
@functools.lru_cache
def kept(k): return k * 2
kept.by = 1
def helped(x): y = x * len(helped.every); helped.every.append(1); return y
helped.every = []
@fused
def f(x): print("begins"); kept.by += 1; return helped(x) * kept.by + kept(3)
""",
        ["r = shown(f, X); n = kept.by, len(helped.every)"],
    ),
    "paths": (
        """
@fused
def f(x, path):
    print(bytes(path), os.fspath(path))
    x.tofile(path)
    y = np.fromfile(path)
    x.dump(path)
    return y.reshape(x.shape) + x, path.exists(), callable(path), callable(print), str(path)
def g(x):
    with tempfile.TemporaryDirectory() as folder:
        return shown(f, x, pathlib.Path(folder) / "kept")[0][:4]
""",
        ["r = g(X)", "r = g(X + 1)"],
    ),
    "memory": (
        """
@fused
def f(x, memory):
    print("begins")
    return np.add(x, memory), np.maximum(memory, x), np.add(x[0, :3], bytearray(b"abc"))
memory = array.array("d", range(100))
""",
        ["r = shown(f, X, memory)", "memory[3] = 50; r = shown(f, X, memory)"],
    ),
    "numbers of other kinds": (
        """
import decimal, fractions, math
@fused
def f(x, n):
    print("begins", math.floor(n), math.ceil(n), math.trunc(n), complex(n))
    return x * float(n), n * 2, [*reversed([n, 1])]
""",
        ["r = shown(f, X, fractions.Fraction(7, 3))", "r = shown(f, X, decimal.Decimal('1.5'))"],
    ),
    "dates and time zones": (
        """
from zoneinfo import ZoneInfo
@fused
def f(x):
    print("begins")
    hours = np.arange("2002-10-27T04:30", 240, 60, dtype="M8[m]")
    at = np.datetime_as_string(hours, timezone=ZoneInfo("US/Eastern"))
    return x * 2, at, np.is_busday([datetime.date(2020, 2, 1)])
@fused
def g(x, day): return x * np.busday_count(day, np.datetime64("2020-02-01"))
""",
        ["r = shown(f, X)", *(f"r = g(X, datetime.date(2020, 1, {day}))" for day in (1, 8))],
    ),
    "what bools do not have": (
        """
@fused
def f(x): print("begins"); return np.clip(x > 0, None, None)
""",
        ["r = shown(f, X)"],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    program, steps = RIGHT[name]
    run(HEAD + program, steps * 3)
