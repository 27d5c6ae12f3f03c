"""Functions that are called as wholes do what they do operation by operation, and as NumPy's."""

from __future__ import annotations

import importlib
import pickle
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.arrays.array import Array
from fusecuda.capture.calls import whole
from fusecuda.capture.calls.whole import Whole
from fusecuda.capture.record.block import Region
from fusecuda.capture.record.recorder import AT_ONCE_BELOW, recorder_in_force
from fusecuda.options import Options
from fusecuda.tools.own_code import OwnModules, with_wholes
from fusecuda.tools.stand_in import stand_in
from tests.marks import one_in
from tests.programs_of_wholes import DIFFERENT, HEAD, SAME, Writer

CALLS = 8
_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


@pytest.fixture(autouse=True)
def as_under_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Region]:
    """``import cupy`` gives lazy arrays, and wholes are made wherever they can be."""
    monkeypatch.setitem(sys.modules, "cupy", stand_in())
    monkeypatch.setattr(whole, "_MARGIN", float("inf"))
    monkeypatch.setattr(whole, "_SHORT", -1.0)
    region = Region(Options(device="cpu"))
    region.at_once_below = AT_ONCE_BELOW
    token = recorder_in_force.set(region)
    yield region
    region.flush()
    recorder_in_force.reset(token)


def space(text: str, plain: bool = False) -> dict[str, Any]:
    """The globals of a program, of NumPy's arrays if it is to be plain."""
    made: dict[str, Any] = {"__name__": "whole_program"}
    if plain:
        exec(compile(text.replace("import cupy as cp", "import numpy as cp"), "<p>", "exec"), made)
    else:
        exec(with_wholes(text.encode(), "<p>"), made)
    return made


def alike(got: Any, want: Any) -> None:
    """Lazy arrays of the values that NumPy's have; all else of one type and equal."""
    if isinstance(want, np.ndarray | np.generic):
        assert type(got) is Array, type(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.is_scalar == isinstance(want, np.generic)
        np.testing.assert_array_equal(np.asarray(got), want)
        return
    assert type(got) is type(want)
    if isinstance(want, dict):
        assert list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    if isinstance(want, list | tuple):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            alike(a, b)
    elif isinstance(want, _NUMBERS):
        assert got == want or got != got


def leaves(value: Any) -> list[Any]:
    """The arrays in a result."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    if type(value) is Array:
        return [] if value.is_scalar else [value]
    return [value] if isinstance(value, np.ndarray) else []


def sharing(values: list[Any]) -> list[Any]:
    """Which of some arrays are one object, and which share memory."""
    shown = [np.asarray(v) for v in values]
    return [
        (a is b, np.shares_memory(x, y))
        for a, x in zip(values, shown, strict=True)
        for b, y in zip(values, shown, strict=True)
    ]


def outcome(call: str, names: dict[str, Any]) -> Any:
    """What an expression gives, or the error that it raises."""
    try:
        return eval(call, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def side_by_side(text: str, call: str, step: str = "", whole: bool | None = True) -> Whole:
    """Call a program's function again and again in both ways; ``f`` is that function.

    ``whole`` says whether its calls have to be made as wholes.
    """
    both = [space(text), space(text, plain=True)]
    names = [n for n in both[1] if not n.startswith("__") and n not in ("cp", "f")]
    for _ in range(CALLS):
        ours, plain = (outcome(call, names) for names in both)
        alike(ours, plain)
        for name in names:
            if isinstance(both[1][name], np.ndarray | list | dict | float | int):
                alike(both[0][name], both[1][name])
        mine, theirs = (
            leaves([result, *(names[n] for n in sorted(names) if n in both[1])])
            for result, names in ((ours, both[0]), (plain, both[1]))
        )
        assert sharing(mine) == sharing(theirs)
        for names_ in both:
            exec(step, names_)
    made: Whole = both[0]["f"]
    if whole is not None:
        assert (type(made) is Whole and not made.refused) is whole, made.refused
        if whole:
            assert any(entry.as_whole for entry in made._entries.values())
    return made


@pytest.mark.parametrize("name", SAME)
def test_wholes_are_the_same(name: str) -> None:
    """Results, kinds, identity, shared memory, effects and errors are NumPy's."""
    text, call = SAME[name]
    side_by_side(HEAD + text, call, whole=None if name == "numpys_exceptions" else True)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_not_known_to_be_the_same_is_called_as_it_is(name: str) -> None:
    """No whole is made, so all is as without."""
    names = space(HEAD + DIFFERENT[name])
    for _ in range(CALLS):
        outcome("f(x)", names)
    f = names["f"]
    entries = f._entries.values() if type(f) is Whole else ()
    assert type(f) is not Whole or f.refused or not any(e.small for e in entries)


def random_program(seed: int) -> None:
    """Run the program of a seed both ways, with operations on its arrays in between."""
    writer = Writer(seed)
    steps = [
        "",
        "x -= 1",
        "x = x * 0.25; y[:] = x",
        "w = z[6:]",
        "w = w * 0.5",
        "z[2:8] = 1",
        "r = f(x, y, 1)",
    ]
    head = f"{HEAD}w = cp.ones(6)\n"
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        step = f"try: {writer.pick(steps) or 'pass'}\nexcept Exception: pass"
        side_by_side(head + writer.program(), writer.call(), step, whole=None)


@pytest.mark.parametrize("first", range(0, 40, 10))
@one_in(6)
def test_random_programs(first: int) -> None:
    """``python -m tests.capture.calls.test_whole FIRST LAST`` runs more."""
    for seed in range(first, first + 10):
        random_program(seed)


def test_names_that_change() -> None:
    """Constants, functions and arrays read by name are what they are at each call."""
    text = HEAD + (
        "K = 1.0\nw = cp.ones(6)\ndef g(a):\n    return a + K\n"
        "def h(a):\n    return a - K\ndef f(a):\n    return g(a) * w + len(a) + K\n"
    )
    side_by_side(text, "f(x)", "K = K + 1")
    side_by_side(text, "f(x)", "w = w * 2", whole=None)
    side_by_side(text, "f(x)", "g, h = h, g", whole=None)
    side_by_side(text, "f(x)", "len = sum", whole=None)
    side_by_side(text, "f(x)", "g = K", whole=None)


def test_random_numbers() -> None:
    """NumPy's generator draws them, in the order of the program."""
    text = HEAD + "def f(a):\n    return a + cp.random.normal(size=6), cp.random.rand()\n"
    ours, plain = space(text), space(text, plain=True)
    for seed in range(CALLS):
        found = []
        for names in (ours, plain):
            np.random.seed(seed)  # noqa: NPY002 - what scripts use
            found.append(names["f"](names["x"]))
        alike(found[0][0], found[1][0])
        assert float(found[0][1]) == found[1][1]
    assert any(e.as_whole for e in ours["f"]._entries.values()), ours["f"].refused


LOOKERS = [
    "import inspect", "import inspect as looker", "from inspect import stack",
    "import sys\nfrom inspect import stack as seen",
]  # fmt: skip


@pytest.mark.parametrize("head", LOOKERS)
def test_who_looks_at_callers_stays_itself(head: str) -> None:
    """Only where ``stack`` is that of frames: arrays are stacked by functions that are wrapped."""
    name = head.rsplit(maxsplit=1)[-1]
    call = f"{name}()" if "from" in head else f"{name}.stack()"
    text = f"{head}\nimport cupy as cp\ndef g(a):\n    return cp.stack([a, a])\n"
    names = space(f"{text}def f(a):\n    return len({call}) + a\n")
    assert type(names["f"]) is types.FunctionType
    assert type(names["g"]) is Whole or head == "from inspect import stack"  # as g names it, too


def test_stacked_arrays() -> None:
    """A function that stacks arrays is called as a whole."""
    text = HEAD + "def f(a):\n    out = []\n    for v in a:\n        out.append(v * a)\n"
    side_by_side(text + "    return cp.stack(out)\n", "f(x)")


SHARED = {
    "attributes": "rng.normal(size=6) * rng.random() + rng.integers(9)",
    "of_floats": "rng.random(6, dtype=cp.float32) + rng.standard_normal(6, dtype='f')",
    "old": "old.rand(6) + old.randint(0, 9, 6)",
    "given": "(g or rng).uniform(0, n, 6)",
    "passed_on": "h(rng, a)",
    "in_place": "h(rng, a, rng.shuffle(a))",
    "of_arrays": "rng.choice(a, 3, p=a / a.sum()), rng.permutation(a), rng.normal(a, 1)",
    "returned": "[rng.random(), rng][int(n > 5)]",
    "made": "cp.random.default_rng(int(n)).normal(size=3)",
    "raises": "rng.normal(size=3) / rng.normal(0, 3 - n)",
    "until_an_error": "rng.normal(size=4)[int(n)], rng.random()",
}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions whose calls are made as wholes."""
    wholes: list[str] = []
    as_whole = Whole._as_whole

    def call(self: Whole, *args: Any) -> Any:
        wholes.append(self.__name__)
        return as_whole(self, *args)

    monkeypatch.setattr(Whole, "_as_whole", call)
    return wholes


@pytest.mark.parametrize("name", SHARED)
def test_wholes_draw_from_the_generators_of_the_script(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go on where others have stopped, and others where they have."""
    wholes = counted(monkeypatch)
    text = HEAD + (
        "rng, old = cp.random.default_rng(3), cp.random.RandomState(4)\n"
        "def h(g, v, more=None):\n    return v[0] + g.random(2)\n"
        f"def f(a, n, g=None):\n    return {SHARED[name]}\n"
    )
    both = [space(text), space(text, plain=True)]
    call = "f(z, n, rng)" if name == "given" else "f(z, n)"
    for n in range(CALLS):
        both[0]["n"] = both[1]["n"] = float(n)
        found = [outcome(call, names) for names in both]
        if found[1] is both[1]["rng"]:
            assert found[0] is both[0]["rng"]
        else:
            alike(*found)
        alike(*(names["rng"].random() for names in both))
        alike(*(names["old"].rand(2) for names in both))
        if n == CALLS - 2:  # another one goes by its name
            for names in both:
                exec("rng = cp.random.default_rng(8)", names)
    assert wholes, both[0]["f"].refused


@pytest.mark.parametrize("made", ["default_rng(1)", "RandomState(1)"])
def test_generators_that_wholes_make_are_the_scripts(made: str) -> None:
    """What they draw is lazy, as what its own generators draw."""
    names = space(HEAD + f"def f(a, n):\n    g = cp.random.{made}\n    return (a, g)[n > 5]\n")
    for n in range(CALLS):
        found = names["f"](names["z"], n)
        assert n < 6 or type(found.normal(size=3)) is Array


GIVEN = {
    "lambdas": ("lor, k", "y[0] + g(y * 0.5)"),
    "functions": ("deriv, k", "g(y) - y.sum()"),
    "of_others": ("other, k", "g(y)"),
    "by_keyword": ("n=k, g=deriv", "g(y)"),
    "identity": ("deriv, k", "g is deriv, g is lor, g(y)"),
    "returned": ("deriv, k", "[y.sum(), g][n > 5]"),
    "kept": ("deriv, k", "{n: y, 'g': y if n < 6 else g}"),
    "as_keys": ("deriv, k", "{(g if n > 5 else n): g(y)}"),
    "passed_on": ("deriv, k", "twice(g, y), twice(lor, y)"),
    "raises": ("fails, k", "g(y) / (5 - n)"),
    "draws": ("draws, k", "g(y)"),
    "with_defaults": ("of_two, k", "g(y), g(y, n)"),
}
FUNCTIONS = HEAD + (
    "rng, W = cp.random.default_rng(3), cp.ones(6)\n"
    "lor = lambda v: cp.stack([v[1] - v[0], v[0] * 2])\n"
    "other = lambda v: v * W\n"
    "def deriv(v):\n    v[0] += 1\n    return -v\n"
    "def fails(v):\n    if v[0] > 2:\n        raise ValueError(v[0] + 1)\n    return v\n"
    "def draws(v):\n    return v + rng.normal(size=6)\n"
    "def of_two(v, k=2):\n    return v * k\n"
    "def twice(g, v):\n    return g(g(v))\n"
)


@pytest.mark.parametrize("name", GIVEN)
def test_functions_that_are_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They work on NumPy's memory, too, and are themselves where they come out again."""
    wholes = counted(monkeypatch)
    given, body = GIVEN[name]
    plainly = name in ("functions", "raises")  # as such that the script passes on are
    text = FUNCTIONS + f"def f(g, n, y=None):\n    y = z[:6]\n    return {body}\n"
    text = text.replace("y = z[:6]", "y = z[:6].copy() + n")
    both = [space(text), space(text, plain=True)]
    if plainly:
        both[0].update(deriv=both[0]["deriv"].function, fails=both[0]["fails"].function)
    for n in range(CALLS):
        both[0]["k"] = both[1]["k"] = float(n)
        found = [outcome(f"f({given})", names) for names in both]
        if found[1] is both[1]["deriv"]:
            assert found[0] is both[0]["deriv"]
        elif type(found[1]) is dict and found[1].get("g") is both[1]["deriv"]:
            assert found[0]["g"] is both[0]["deriv"]
        elif type(found[1]) is dict and both[1]["deriv"] in found[1]:
            alike(found[0][both[0]["deriv"]], found[1][both[1]["deriv"]])
        else:
            alike(*found)
    assert "f" in wholes and not both[0]["f"].refused


def test_each_function_that_is_given_has_its_own_calls() -> None:
    """Several in turn, changed ones, made anew each time, or such as have no twin."""
    text = FUNCTIONS + (
        "said = []\ndef f(g, y):\n    return g(y) + 1\n"
        "def says(v):\n    said.append(1)\n    return v\n"
        "def scaled(k):\n    return lambda v: v * k\n"
        "every = [lor, says, other, scaled(2), of_two, draws]\n"
    )
    both = [space(text), space(text, plain=True)]
    for n in range(6 * CALLS):
        for names in both:
            if n == 3 * CALLS:
                exec("of_two.__defaults__ = (5,)\nother = every[2] = lambda v: v / 2", names)
        for call in (f"f(every[{n} % 6], y)", "f(lambda v: v + 2, y)"):
            alike(*(outcome(call, names) for names in both))
    assert len(both[0]["said"]) == len(both[1]["said"]) == CALLS
    assert sum(entry.as_whole for entry in both[0]["f"]._entries.values()) == 5


def test_methods_of_generators_are_given_out() -> None:
    """They draw from the script's own, and give lazy arrays."""
    text = HEAD + (
        "rng, old = cp.random.default_rng(3), cp.random.RandomState(4)\n"
        "def f(n):\n    return [rng.normal, old.normal, x.repeat] if n == 5 else [rng.random()]\n"
    )
    ours, plain = space(text), space(text, plain=True)
    for n in range(CALLS):
        found = [names["f"](float(n)) for names in (ours, plain)]
        if n == 5:
            found = [[draw(3) for draw in draws] for draws in found]
        alike(*found)


def test_generators_of_another_kind_than_first() -> None:
    """Where it was made for others, calls are made as they are."""
    text = HEAD + "def f(a, g):\n    return a + g.normal(size=6)\n"
    ours, plain = space(text), space(text, plain=True)
    for names, cp in ((ours, sys.modules["cupy"]), (plain, np)):
        names["made"] = [cp.random.default_rng(1), cp.random.RandomState(2)]
    for n in range(3 * CALLS):
        call = f"f(x, made[{n} // {CALLS} % 2])"
        alike(outcome(call, ours), outcome(call, plain))


def test_a_name_for_generators_of_two_kinds() -> None:
    """What a whole may do with one is not known of another one."""
    text = HEAD + (
        "first, second = cp.random.default_rng(3), cp.random.RandomState(4)\nrng = first\n"
        "def f(n):\n    return rng.normal(size=6, **({'dtype': cp.float32} if n else {}))\n"
    )
    names = space(text)
    for _ in range(CALLS):
        assert names["f"](0).dtype == np.float64
    names["rng"] = names["second"]
    for _ in range(CALLS):
        assert names["f"](1).dtype == np.float32


@pytest.mark.parametrize("draw", ["exponential", "laplace", "rand", "standard_normal"])
def test_draws_of_cupys_types(draw: str) -> None:
    """What NumPy's functions do not take is no affair of a whole, under whatever name."""
    state, args = "cp.random.RandomState(3)", "6, " if draw == "rand" else "size=6, "
    for head, name in (
        ("", f"cp.random.{draw}"), (f"other = cp.random.{draw}\n", "other"),
        (f"state = {state}\n", f"state.{draw}"),
    ):  # fmt: skip
        names = space(HEAD + f"{head}def f(n):\n    return {name}({args}dtype=cp.float32)\n")
        for _ in range(CALLS):
            assert names["f"](0).dtype == np.float32


DRAWS = [
    "rng.normal(size=6)", "drawn(size=6)", "rng.integers(0, 9, 6)", "state.rand(6)", "old(6)",
    "cp.random.rand(6)", "of_all(6)", "stream.permutation(6)",
]  # fmt: skip


@pytest.mark.parametrize("draw", DRAWS)
def test_generators_of_the_script(draw: str) -> None:
    """Whatever stands under a name, each call draws once, from the script's own."""
    text = HEAD + (
        "rng, state = cp.random.default_rng(3), cp.random.RandomState(4)\n"
        "stream = cp.random.Generator(cp.random.PCG64(5))\ncp.random.seed(6)\n"
        "drawn, old, of_all = rng.normal, state.rand, cp.random.rand\n"
        f"def f(a):\n    return a + {draw}\n"
    )
    plain = space(text, plain=True)
    found = [plain["f"](plain["x"]) for _ in range(CALLS)]
    ours = space(text)
    for want in found:
        alike(ours["f"](ours["x"]), want)


def test_other_operations_in_between() -> None:
    """What was recorded before reads what was there before, and what comes after sees writes."""
    text = HEAD + "def f(a):\n    a[::2] += 1\n    return a[1:]\n"
    side_by_side(text, "f(x)", "before = x * 2; r = f(x); r[0] = 9; x[3] -= 1; after = x[1:] + r")


def test_large_arrays_are_recorded(as_under_run: Region) -> None:
    """Where something large is recorded, calls stay as they are, and are fused."""
    names = space(
        "import cupy as cp\nbig = cp.ones(100_000)\nsmall = cp.ones(10)\n"
        "def f(a):\n    return (a * 2 + 1).sum()\n"
        "def rows(a):\n    for i in range(3):\n        a[i] += 1\n"
        "m = cp.zeros((1000, 1000))\n"
    )
    f, rows = names["f"], names["rows"]
    for _ in range(CALLS):
        assert float(f(names["big"])) == 300_000
        assert float(f(names["small"])) == 30
        rows(names["m"])
    sizes = {size: entry.as_whole for size, entry in f._entries.items()}
    assert len(sizes) == 2 and sizes[max(sizes)] is False and sizes[min(sizes)] is True
    assert [e.as_whole for e in rows._entries.values()] == [True]  # little of it is touched
    launches = as_under_run.launches
    float(f(names["big"]))
    assert as_under_run.launches == launches + 1


def test_calls_in_blocks_and_reports_are_as_they_are(as_under_run: Region) -> None:
    """Where all is to be recorded, so are they."""
    names = space(HEAD + "def f(a):\n    return a + 1\n")
    as_under_run.at_once_below = 0
    for _ in range(CALLS):
        names["f"](names["x"])
    assert not names["f"]._entries


def test_what_does_not_pay_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured, and looked at again later."""
    monkeypatch.setattr(whole, "_MARGIN", 0.0)
    names = space(HEAD + "def f(a):\n    return a + 1\n")
    for _ in range(CALLS):
        names["f"](names["x"])
    (entry,) = names["f"]._entries.values()
    assert not entry.as_whole
    monkeypatch.setattr(whole, "_MARGIN", float("inf"))
    for _ in range(100):
        names["f"](names["x"])
    assert entry.as_whole


@pytest.mark.parametrize(
    "change", ["scaled.__kwdefaults__ = {'k': N}", "scaled.__kwdefaults__['k'] = N"]
)
def test_defaults_of_keywords_that_change(change: str) -> None:
    """A call uses those that are there when it is made."""
    text = """
import cupy as cp
N = 1.0
a = cp.ones(3)
def scaled(x, *, k=2.0): return (x * 2 - x) * k + x - x * 1
def f(x): return scaled(x) * 3 - x + x
"""
    side_by_side(text, "f(a)", f"N += 1.0; {change}", whole=None)


def test_what_is_in_the_way_steps_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short functions, and those that are never called as wholes, take their place again."""
    names = space(
        HEAD + "def add(a, b):\n    return a + b\ndef f(a):\n    return a * add(2, 3)\n"
        "def kept(a):\n    return str(id(a))\ndef calls(n):\n    return add(n, 1)\n"
    )
    for _ in range(CALLS):
        names["f"](names["x"])
        names["calls"](3)
    wholes = {name: names[name] for name in ("add", "f", "kept", "calls")}
    twin = names["f"]._twin
    monkeypatch.setattr(whole, "_SHORT", 1.0)
    for i in range(5 * whole._IDLE):
        assert names["add"](i, 1) == i + 1
        alike(names["f"](names["x"]), np.arange(6.0) * 5)
    assert names["kept"](1) == str(id(1))
    for name in ("add", "kept"):
        assert type(names[name]) is types.FunctionType
        assert names[name] is wholes[name].function
        assert wholes[name].aside
    assert wholes["add"](1, 2) == 3
    assert names["f"] is wholes["f"] and names["calls"] is wholes["calls"]
    assert names["f"]._twin is twin  # still, of what has taken its place


def test_functions_that_call_themselves_deeply() -> None:
    """They go about as deep as Python lets them."""
    program = space("""
import cupy as cp

def counted(n):
    return 0 if n == 0 else 1 + counted(n - 1)

def summed(x, n):
    return x.sum() if n == 0 else summed(x * 1, n - 1)

class Chain:
    def __init__(self, following):
        self.next = following

    def depth(self):
        return 1 + self.next.depth() if self.next else 0
""")
    frames = 0
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back
    deep = sys.getrecursionlimit() - frames - 150
    assert program["counted"](deep) == deep
    chain = program["Chain"](None)
    for _ in range(deep):
        chain = program["Chain"](chain)
    assert chain.depth() == deep
    assert float(program["summed"](fc.numpy.ones(3), deep)) == 3.0


def test_a_whole_that_has_stepped_aside_is_pickled_as_the_function() -> None:
    names = space("def f():\n    return id(1)\n")
    made = types.ModuleType("whole_program")
    vars(made).update(names)
    sys.modules["whole_program"] = made
    try:
        f = vars(made)["f"]
        assert pickle.loads(pickle.dumps(f)) is f
        vars(made)["f"] = f.function
        f.aside = True
        assert pickle.loads(pickle.dumps(f)) is f.function
    finally:
        del sys.modules["whole_program"]


def test_writing_past_a_pending_read(as_under_run: Region) -> None:
    """What waits for the old values gets them before a whole writes."""
    names = space(HEAD + "big = cp.ones(100_000)\ndef f(a):\n    a += 1\n")
    f, big = names["f"], names["big"]
    part = big[:10]
    for count in range(CALLS):
        waiting = big * 2
        f(part)
        assert np.asarray(waiting)[0] == 2 * (1 + count)
        assert np.asarray(big)[0] == 2 + count


def test_threads() -> None:
    """Calls of one function in several threads have their own arrays."""
    names = space(
        HEAD + "def f(a, n):\n    for i in range(len(a)):\n        a[i] += n\n    return a\n"
    )
    faults: list[Any] = []

    def work(n: int) -> None:
        own = names["cp"].zeros(20)
        for _ in range(100):
            if names["f"](own, n) is not own:
                faults.append(n)
        if not (np.asarray(own) == 100 * n).all():
            faults.append(np.asarray(own))

    token = recorder_in_force.get()
    threads = [
        threading.Thread(target=lambda n=n: (recorder_in_force.set(token), work(n)))  # type: ignore[misc]
        for n in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults


def test_wholes_within_fused_functions() -> None:
    """They are followed, as the functions that they stand for."""
    names = space(HEAD + "def g(a):\n    return a * 2\ndef f(a):\n    return g(a) + 1\n")
    for target in (fc.fused(names["f"]), fc.fused(lambda a: names["f"](a) - 1)):
        for _ in range(3):
            last = target(np.arange(3.0))
        assert list(last) in ([1, 3, 5], [0, 2, 4])
    given = fc.fused(names["f"])
    assert list(given(np.ones(2))) == [3, 3] and given.explain().startswith("f: replayed")


def test_what_looks_at_its_callers_stays_itself() -> None:
    """Nothing stands between it and them."""
    text = "import sys\ndef here():\n    return sys._getframe(1).f_lineno\nline = here()\n"
    names = space(text)
    assert names["line"] == 4 and type(names["here"]) is not Whole


def test_which_functions_are_made_wholes() -> None:
    """Those at the top level that are called and nothing else."""
    names = space(
        "def f(a):\n    def g():\n        pass\n    return g\ndef passed():\n    pass\n"
        "def decorated():\n    pass\nclass C:\n    def m(self):\n        pass\n"
        "l = [passed]\nasync def later():\n    pass\nv = lambda: 1\n"
    )
    kinds = {n for n, value in names.items() if type(value) is Whole}
    assert kinds == {"f", "decorated"}
    f = names["f"]
    assert (f.__name__, f.__doc__, f.__module__) == ("f", None, "whole_program")
    assert f.function.__code__.co_firstlineno == 1


def test_modules_of_the_scripts_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of modules beside the script are wholes, and called by name within others."""
    (tmp_path / "beside_whole.py").write_text(
        "import cupy as cp\nK = 2\ndef g(a):\n    return a * K\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [OwnModules(str(tmp_path)), *sys.meta_path])
    try:
        beside: types.ModuleType = importlib.import_module("beside_whole")
        assert type(vars(beside)["g"]) is Whole
        assert pickle.loads(pickle.dumps(vars(beside)["g"])) is vars(beside)["g"]
        names = space(HEAD + "import beside_whole\ndef f(a):\n    return beside_whole.g(a) + 1\n")
        for k in range(CALLS):
            vars(beside)["K"] = k
            np.testing.assert_array_equal(np.asarray(names["f"](names["x"])), np.arange(6) * k + 1)
        assert any(e.as_whole for e in names["f"]._entries.values())
        vars(beside)["g"] = lambda a: a - 1
        assert float(names["f"](names["x"])[0]) == 0
    finally:
        sys.modules.pop("beside_whole", None)
    assert not list(tmp_path.glob("__pycache__/*"))


def main(first: int, last: int, program: Callable[[int], None] = random_program) -> None:
    """Print the seeds of the random programs that fail."""
    sys.modules["cupy"] = stand_in()
    whole._MARGIN, whole._SHORT = float("inf"), -1.0
    region = Region(Options(device="cpu"))
    region.at_once_below = AT_ONCE_BELOW
    recorder_in_force.set(region)
    for seed in range(first, last):
        try:
            program(seed)
        except Exception as error:
            print(seed, type(error).__name__, str(error)[:300].replace("\n", " "), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
