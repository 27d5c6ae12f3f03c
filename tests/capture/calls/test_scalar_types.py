"""Calls of NumPy's scalar types, and objects that are given and not used."""

from __future__ import annotations

import array
import asyncio
import collections
import copy
import datetime
import decimal
import fractions
import gc
import io
import numbers
import pathlib
import queue
import random
import typing
import uuid
import weakref
from typing import Any

import numpy as np
import pytest

from fusecuda import fused
from fusecuda.capture.record.numbers import TracedScalar
from tests.marks import one_in
from tests.side_by_side import run


def test_lazy_arrays_become_scalars_and_arrays() -> None:
    """Of NumPy's values, types and identity, without a look at the values."""

    def f(x: Any) -> Any:
        return (
            *(np.float32(x.sum()), np.int64(x.argmax()), np.uint8(x[1]), np.float16(x)),
            *(np.int32(x > 1), np.float64(x) is x, x * np.float64(x.max())),
            *(np.float32(x.reshape(1, -1)[:, :1]), np.float64(np.asarray(x[0]))),
        )

    fast: Any = fused(f, strict=True)
    for k in range(5):
        x = np.arange(4.0) * k
        for want, got in zip(f(x), fast(x), strict=True):
            assert type(got) is type(want)
            assert np.array_equal(got, want) and np.shape(got) == np.shape(want)
    assert fast.traces == 1


@pytest.mark.parametrize("values", [(1, 2, -3), (1.5, 2.5, 1e9), (1.5, 2, 2.5)])
def test_followed_numbers_stay_followed(values: tuple[float, ...]) -> None:
    """Another number of a type that was seen before records nothing."""

    def f(x: Any, k: float) -> Any:
        return x * np.float32(k), np.float32(0.5 * k)

    fast: Any = fused(f, strict=True)
    x = np.arange(4, dtype=np.float32)
    for k in values:
        for want, got in zip(f(x, k), fast(x, k), strict=True):
            assert got.dtype == want.dtype and np.array_equal(got, want)
    assert fast.traces == len(set(map(type, values)))


@pytest.mark.parametrize("number", [2.5, 3, 1j, np.float64(2), np.int32(3)], ids=repr)
def test_followed_numbers_have_the_attributes_of_numbers(number: Any) -> None:
    """What stands for one is not told by what it has, nor by functions that look for that."""
    names = [*dir(number), *dir(TracedScalar), *TracedScalar.__slots__, "shape", "item"]

    def f(x: Any, n: Any) -> Any:
        there = [name for name in names if hasattr(n, name)]
        return x * np.size(n), there, [name for name in names if getattr(n, name, x) is x]

    fast: Any = fused(f)
    for _ in range(3):
        for want, got in zip(f(np.ones(2), number), fast(np.ones(2), number), strict=True):
            assert np.array_equal(want, got)


@typing.runtime_checkable
class Sized(typing.Protocol):
    size: int


PROTOCOLS = (typing.SupportsIndex, typing.SupportsFloat, typing.SupportsRound, numbers.Real,
             collections.abc.Hashable, collections.abc.Sized, Sized, np.floating, np.ndarray,
             int, float)  # fmt: skip


@pytest.mark.parametrize("given", [2.5, 3, 1j, np.float32(2), np.ones(3)], ids=repr)
def test_protocols(given: Any) -> None:
    """What stands for a number or an array is of the kinds that they are of."""

    def f(x: Any, v: Any) -> Any:
        made = v * 2, x.sum()
        return x * 2, [[isinstance(w, kind) for kind in PROTOCOLS] for w in (v, *made)]

    fast: Any = fused(f)
    for _ in range(3):
        assert f(np.ones(2), given)[1] == fast(np.ones(2), given)[1]


def test_bounds_that_no_integer_reaches() -> None:
    """A replay of other numbers is NumPy's, too."""
    run("@fused\ndef f(x, y): return np.clip(x, 0, y)\n",
        [f"r = f(3, {y})" for y in ("4", "2", "2**63", "2**70", "5", "4.5")])  # fmt: skip


REPEATED = ([1, 2], (1, 2), "ab", b"ab", collections.deque([1, 2]), array.array("i", [1, 2]))


@pytest.mark.parametrize("sequence", REPEATED, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("number", ["x.argmax()", "(x.argmax() + n)", "n", "x.sum()"])
@one_in(4)
def test_sequences_are_repeated(sequence: Any, number: str) -> None:
    """As often as an integer of NumPy's says; by others they are not multiplied."""
    tried = f"try: return {number} * s, s * {number}\n    except TypeError: return 'none'"
    program = f"@fused\ndef f(x, n, s):\n    {tried}\n"
    for n in (2, 3):
        spaces = run(program, [])
        for space in (spaces.plain, spaces.fused):
            space.update(x=np.array([1.0, 0, 3]), n=np.int64(n), s=copy.copy(sequence))
        for _ in range(3):
            spaces.step("r = f(x, n, s)")


def test_a_number_that_does_not_fit_raises_numpys_error() -> None:
    """As does one that fitted before."""

    def f(x: Any, k: int) -> Any:
        return x + np.int8(k)

    fast: Any = fused(f)
    x = np.arange(3, dtype=np.int8)
    for k in (1, 2, 300, 3):
        outcomes = []
        for function in (f, fast):
            try:
                outcomes.append(function(x, k).tolist())
            except OverflowError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_types_that_are_more_than_called_are_themselves() -> None:
    """They are dtypes, are compared, are asked for by name."""

    def f(x: Any) -> Any:
        kind = np.float32
        return x.astype(np.float32), isinstance(x[0], np.float64), kind, np.float64(x[0])

    def by_name(x: Any) -> Any:
        return x * np.int8(2), getattr(np, "int8")  # noqa: B009

    for function in (f, by_name):
        fast: Any = fused(function, strict=True)
        for k in range(3):
            x = np.arange(3.0) + k
            want, got = function(x), fast(x)
            assert np.array_equal(want[0], got[0]) and want[1:] == got[1:]


class Agent:
    def __init__(self, tool: Any) -> None:
        self.tool, self.x, self.other = tool, np.arange(4.0), None

    def step(self, k: float) -> Any:
        return self.x * k if self.tool is not None else self.x

    def keep(self, k: float) -> Any:
        self.other = self.tool
        return self.x * k

    def draw(self, k: float) -> Any:
        self.x = self.x * k
        return self.x + self.tool.random() if self.x.sum() > 50 else self.x

    def read(self, k: float) -> Any:
        self.x = self.x * k
        return self.x + len(self.tool.read(2)) if self.x.sum() > 50 else self.x

    def same(self, k: float, tool: Any) -> Any:
        return self.x * k if self.tool is tool else self.x


def test_an_object_that_is_not_used_is_no_hindrance() -> None:
    """Nor is another one of its type, and none is kept alive."""
    fast: Any = fused(Agent.step, strict=True)
    for k in range(5):
        agent = Agent(io.BytesIO())
        assert np.array_equal(fast(agent, float(k)), agent.x * k)
    assert fast.traces == 1
    tool = weakref.ref(agent.tool)
    del agent
    gc.collect()
    assert tool() is None


def test_an_object_that_is_kept_is_the_callers() -> None:
    """Also where it is kept already the first time, and another one later."""
    agents = [Agent(np.random.default_rng(n)) for n in range(3)]
    fast: Any = fused(Agent.keep)
    for _ in range(2):
        for agent in agents:
            assert np.array_equal(fast(agent, 2.0), agent.x * 2)
            assert agent.other is agent.tool
            agent.tool = np.random.default_rng(7)


def test_an_object_that_is_used_on_one_path_is_used() -> None:
    """Numbers are drawn, and bytes read, as the plain function does so."""
    drawn = [Agent(np.random.default_rng(3)) for _ in range(2)]
    read = [Agent(io.BytesIO(b"abcdefg")) for _ in range(2)]
    for method, (plain, mine) in ((Agent.draw, drawn), (Agent.read, read)):
        fast: Any = fused(method)
        for k in (1.0, 1.5, 2.0, 3.0, 2.0, 0.01, 1.5):
            assert np.array_equal(fast(mine, k), method(plain, k))
    assert drawn[0].tool.random() == drawn[1].tool.random()
    assert read[0].tool.tell() == read[1].tool.tell() > 0


def test_which_object_it_is_may_be_asked() -> None:
    """Then each is a condition."""
    agent, other = Agent(np.random.default_rng(1)), np.random.default_rng(2)
    fast: Any = fused(Agent.same)
    for tool in (agent.tool, other, agent.tool, other):
        assert np.array_equal(fast(agent, 3.0, tool), agent.same(3.0, tool))


def test_memory_that_an_iterator_of_numpys_writes() -> None:
    """Also where the call cannot be started again, since numbers have been drawn."""
    drawn = np.random.default_rng(0)

    @fused
    def doubled(n: int) -> Any:
        m = drawn.random((n, n))
        before, total = m.copy(), 0.0
        with np.nditer(m, op_flags=["readwrite"]) as elements:
            for v in elements:
                v[...] = v * 2
                total += float(v)
        return before, m, total

    for _ in range(3):
        before, after, total = doubled(3)
        assert np.array_equal(after, before * 2) and np.isclose(total, after.sum())


async def _later(x: Any) -> Any:
    await asyncio.sleep(0)
    return x * 2


async def _all(x: Any) -> Any:
    return await asyncio.gather(_later(x), _later(x + 1))


def test_coroutines_run_unfused() -> None:
    """Their loop calls them between the turns of others."""
    fast: Any = fused(lambda x: asyncio.run(_all(x)))
    x = np.arange(3.0)
    for _ in range(3):
        first, second = fast(x)
        assert np.array_equal(first, x * 2) and np.array_equal(second, x * 2 + 2)
    assert "coroutine" in fast.explain()


def test_numbers_are_weak_where_numpy_asks_for_types() -> None:
    """`where` and `result_type` tell Python's numbers from NumPy's, also where no array is lazy."""

    def f(a: Any, b: Any) -> Any:
        mask = np.array([True, False])
        return np.where(True, a, b), np.where(mask, b, a), np.linspace(a, b, 3)

    def asking(a: Any, b: Any) -> Any:
        return np.full(2, a, np.result_type(a, b)), np.full(2, b)

    for plain in (f, asking):
        ours = fused(plain)
        for a, b in ((np.int8(4), 2), (np.int8(5), 2), (np.float32(2), 3.5), (1j, np.float32(3))):
            for got, want in zip(ours(a, b), plain(a, b), strict=True):
                np.testing.assert_array_equal(got, want, strict=True)


LIBRARY_OBJECTS = [
    *(datetime.date(2020, 1, 2), decimal.Decimal("1.5"), pathlib.PurePath("a"), bytearray(b"a")),
    *(datetime.timedelta(3), random.Random(1), np.random.default_rng(0), uuid.UUID(int=3)),
    *(io.BytesIO(b"a"), queue.Queue(), fractions.Fraction(1, 3), array.array("d", [1.0]), 3),
]


@pytest.mark.parametrize("given", LIBRARY_OBJECTS, ids=lambda v: type(v).__name__)
def test_objects_of_libraries_are_of_their_classes(given: Any) -> None:
    """Whichever of the two is read by name, given, or in something that is given."""

    def f(x: Any, q: Any) -> Any:
        numbers = isinstance(q, decimal.Decimal), isinstance(q, datetime.date | fractions.Fraction)
        others = isinstance(q, (queue.Queue, uuid.UUID)), isinstance(q, (array.array, bytearray))
        files = isinstance(q, io.BytesIO), isinstance(q, pathlib.PurePath)
        drawing = isinstance(q, random.Random), isinstance(q, np.random.Generator)
        exact = type(q) is datetime.timedelta, type(q) is decimal.Decimal, type(q) is bytearray
        kinds = {datetime.date: 1, random.Random: 2, np.random.Generator: 3}
        known = kinds.get(type(q)), issubclass(type(q), datetime.date), type(q) is datetime.date
        return x * 2, numbers, others, files, drawing, exact, known

    def inside(x: Any, q: list[Any]) -> Any:
        return f(x, q[0])

    for plain, value in ((f, given), (inside, [given])):
        ours = fused(plain)
        for _ in range(3):
            assert ours(np.arange(3.0), value)[1:] == plain(np.arange(3.0), value)[1:]
