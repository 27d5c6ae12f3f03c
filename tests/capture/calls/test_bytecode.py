"""What is read in bytecode does not depend on how many names, constants and variables there are.

From the 257th on an instruction carries its argument in more than one word, and each Python writes
calls, attributes and pairs of loads in its own way.
"""

from __future__ import annotations

import random
import types
from collections.abc import Iterator

import numpy as np
import pytest

from fusecuda.capture.calls.bytecode import codes_of, instructions_of
from fusecuda.capture.calls.scan import reads_of
from tests.marks import few, one_in
from tests.side_by_side import run

PRELUDE = """
import math
import numpy.random
import numpy.random as draws
K = 2
LOG = []
TOTAL = 0.0
class C:
    count = 0
    def __init__(self):
        self.n = 1.5
    @classmethod
    def counted(cls, v):
        cls.count = cls.count + 1
        return v * cls.count
    @classmethod
    def given(cls, v, n):
        cls.count = n
        return v * cls.count
class N:
    pass
space = N()
space.k = 3.0
o = C()
G = np.ones(6)
x = np.arange(6.0)
def enclosing():
    held = 1.0
    calls = 0
"""
INSIDE = {
    "a draw": "x = x + np.random.rand()",
    "a draw of an array": "x = x + np.random.default_rng(4).normal(size=x.shape)",
    "a draw of a module's other name": "x = x * draws.standard_normal()",
    "a draw in a lambda": "x = (lambda v: v + np.random.random())(x)",
    "a draw in a comprehension": "x = x + sum([np.random.rand() for _ in range(2)])",
    "a number": "x = x * K",
    "a branch on a number": "x = x - 1 if K > 2 else x + 1",
    "an array": "x = x + G",
    "an attribute": "x = x * space.k",
    "a constant": "x = x * 1234.5",
    "a tuple": "x = x + (7.25, 8.5)[K > 2]",
    "an enclosing variable": "x = x * held",
    "an enclosing variable that is written": "nonlocal_counts()\n{pad}x = x + calls",
    "a global that is written": "global TOTAL\n{pad}TOTAL = TOTAL + 1\n{pad}x = x + TOTAL",
    "a list that grows": "LOG.append(K)\n{pad}x = x + len(LOG)",
    "an attribute that is written": "o.n = o.n + K\n{pad}x = x * o.n",
    "an attribute of a global": "space.k += 1\n{pad}x = x * space.k",
    "an attribute of a class": "x = C.counted(x)",
    "an attribute of a class, given": "x = C.given(x, K)",
    "an import": "import random as r\n{pad}x = x * r.random.__name__.__len__()",
    "an exception": "try:\n{pad}    x = x / MISSING\n{pad}except NameError:\n{pad}    x = x + 1",
    "a string": "x = x + len(f'{K:04d}{space.k}')",
    "a function": "def g(v, w=K):\n{pad}    return v * w + K\n{pad}x = g(x)",
    "a class": "class L:\n{pad}    k = K\n{pad}    j = held\n{pad}x = x * L.k + L.j",
    "a method of numbers": "x = x + math.sqrt(K)",
    "a part that is written": "x[1:3] += K",
}
CALL = "np.random.seed({}); r = f(x.copy())"
STEPS = [
    CALL.format(5),
    CALL.format(5),
    CALL.format(6),
    CALL.format(5),
    f"K = 3; {CALL.format(5)}",
    CALL.format(7),
    f"space.k = 0.5; G += 1; {CALL.format(5)}",
    CALL.format(5),
    CALL.format(8),
]


@pytest.fixture(autouse=True)
def no_trials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Calls are replayed, however fast the plain ones are."""
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.wants_plain", property(lambda s: False))
    monkeypatch.setattr("fusecuda.capture.record.rest.Trial.took", lambda *args, **kwargs: None)
    return


def program(inside: list[str], count: int) -> str:
    """A function with ``inside``, behind ``count`` names, constants and variables of each kind."""
    pad = " " * 8
    held = [f"    h{i} = {i}.5" for i in range(count)]
    before = [f"{pad}    v{i} = u{i}.a{i} + h{i} + {i}.25" for i in range(count)]
    lines = ["        global TOTAL"] if any("TOTAL" in INSIDE[name] for name in inside) else []
    lines += [f"{pad}if x is None:", f"{pad}    pass", *before]
    for name in inside:
        lines.append(pad + INSIDE[name].replace("global TOTAL\n{pad}", "").replace("{pad}", pad))
    counts = "    def nonlocal_counts():\n        nonlocal calls\n        calls += 1"
    head = [*held, counts, "    @fused", "    def f(x):"]
    return (
        PRELUDE
        + "\n".join([*head, *lines, f"{pad}return x, np.sqrt(x * x)"])
        + ("\n    return f\nf = enclosing()\n")
    )


@pytest.mark.parametrize("count", [0, 300])
@pytest.mark.parametrize("name", INSIDE)
@one_in(10)
def test_each_is_seen(name: str, count: int) -> None:
    """Each is as in the plain function, behind few names and behind many."""
    run(program([name], count), STEPS)


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_several_are_seen(seed: int) -> None:
    """Several at random, behind numbers of names around those where arguments grow."""
    source = random.Random(seed)
    chosen = source.sample(list(INSIDE), source.randint(2, 6))
    run(program(chosen, source.choice([0, 120, 250, 253, 255, 256, 257, 300])), STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 200, 50))
def test_many_are_seen(first: int) -> None:
    """More of them."""
    for seed in range(first, first + 50):
        test_several_are_seen(seed)


@pytest.mark.parametrize("count", few([260, 66_000], 1))
def test_arguments_are_whole(count: int) -> None:
    """Behind more than 2**8 and 2**16 names the instructions are those that there are without."""
    text = "    y = np.random.rand()\n    G.a = y\n    return [K * v for v in x]\n"
    before = "".join(f"    u{i}\n" for i in range(count))
    plain, padded = (_code(f"def f(x):\n{lines}{text}") for lines in ("", before))
    there, padded_there = ([_said(c) for c in codes_of(code)] for code in (plain, padded))
    assert [_without_names(a) for a in padded_there] == there


def _code(text: str) -> types.CodeType:
    space: dict[str, types.FunctionType] = {}
    exec(text, space)
    return space["f"].__code__


def _said(code: types.CodeType) -> list[tuple[str, str]]:
    named = [i for i in instructions_of(code) if isinstance(i.argval, str)]
    return [
        (i.opname, i.argval) for i in named if "JUMP" not in i.opname and i.opname != "FOR_ITER"
    ]


def _without_names(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name in said if not (name[0] == "u" and name[1:])]


class Touched(dict[str, object]):
    """Globals that keep the names that are looked up in them."""

    names: set[str]

    def __getitem__(self, name: str) -> object:
        self.names.add(name)
        return super().__getitem__(name)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_touched_is_read(seed: int) -> None:
    """Whatever a run of the function looks up in its globals is among the places that are read."""
    source = random.Random(seed)
    chosen = source.sample(list(INSIDE), source.randint(1, 8))
    space: dict[str, object] = {"np": np, "fused": lambda function: function}
    exec(program(chosen, source.choice([0, 100, 250, 256, 300])), space)
    function = space["f"]
    assert isinstance(function, types.FunctionType)
    reads = reads_of(function)
    seen = Touched(space)
    seen.names = set()
    copy = types.FunctionType(function.__code__, seen, "f", None, function.__closure__)
    copy(np.arange(6.0))
    some = (reads.values, reads.inputs, reads.constants, reads.stand_ins)
    known = {place.name for places in some for place, _ in places.values()}
    assert reads.opaque or seen.names <= known | {p.name for p in reads.written.values()}
    assert seen.names or not chosen


@pytest.mark.parametrize("count", [0, 300])
def test_constants_of_modules_are_followed(count: int) -> None:
    """Of a module of the user the attribute is read, and calls are replayed until it changes."""
    before = "".join(f"        u{i}.a{i}\n" for i in range(count))
    text = f"    if x is None:\n        pass\n{before}    return np.exp(x) * settings.k\n"
    steps = ["r = f(np.arange(6.0))"] * 3
    spaces = run(
        "import types\nsettings = types.ModuleType('settings')\nsettings.k = 3.0\n"
        f"@fused\ndef f(x):\n{text}",
        [*steps, "settings.k = 4.0; r = f(np.arange(6.0))", *steps],
    )
    assert "replayed" in spaces.functions[0].explain().splitlines()[0]
