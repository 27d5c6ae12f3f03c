"""Fused functions: whatever changes between calls, the result is what NumPy's would be."""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal, outcome, same_outcome, twin
from tests.marks import one_in

X = np.arange(12.0).reshape(3, 4) - 5
SCALE = 2.0
TABLE = np.arange(4.0)
SETTINGS = types.ModuleType("settings")
SETTINGS.gain = 3.0  # type: ignore[attr-defined]
SETTINGS.bias = np.ones(4)  # type: ignore[attr-defined]


def calls(function: Callable[..., Any], *argument_lists: Any) -> fc.FusedFunction:
    """Call ``function`` fused and plain with equal arguments; results and arguments must agree."""
    fused = fc.fused(function)
    for args in argument_lists:
        mine, theirs = twin(args), twin(args)
        got, want = outcome(fused, *mine), outcome(function, *theirs)
        check(got, want)
        check(mine, theirs)
    return fused


def check(got: Any, want: Any) -> None:
    """Equal values of exactly the same types, in structures of exactly the same types."""
    if isinstance(want, Exception):
        same_outcome(got, want)
        return
    if isinstance(got, Exception):
        raise got
    assert type(got) is type(want), f"{type(got)} is not {type(want)}"
    if isinstance(want, dict):
        assert list(got) == list(want)
        check(list(got.values()), list(want.values()))
    elif isinstance(want, list | tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            check(g, w)
    elif isinstance(want, np.ndarray | np.generic) and want.dtype.kind in "biufcmM":
        equal(got, want)
    elif isinstance(want, np.ndarray):
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want or want != want


# --- the guard: arrays


LAYOUTS: list[Any] = [
    X, X[:2], X.astype(np.float32), X.T.copy(), X.T, X[::2], X[::-1, ::-1], X[:, 1:3],
    X.astype("i4"),
    X[:0], X[0], np.array(3.0), np.asfortranarray(X), np.broadcast_to(X[0], (3, 4)), X > 0,
    X.astype(">f8"), X.astype(np.float16), X.astype(complex), X.astype(np.longdouble), X,
]  # fmt: skip


def test_layouts_in_turn() -> None:
    """Shape, dtype, byte order and strides decide which trace is replayed; results are NumPy's."""
    fused = calls(lambda x: (x * 2 + x.sum(), x.T), *((a,) for a in LAYOUTS * 2))
    assert fused.traces <= len(LAYOUTS)


def test_same_layout_is_recorded_once() -> None:
    """New arrays of one layout replay one trace, in few kernels."""
    fused = calls(lambda x, y: np.sqrt(x * x + y), *((X + k, X[0] ** 2) for k in range(4)))
    assert fused.traces == 1
    y = X[0] ** 2
    with fc.count_launches() as counter:
        fused(X, y)
    assert counter.total == 1
    assert "replayed" in fused.explain()


@pytest.mark.parametrize(
    "x",
    [
        np.array(["a", "b"]), np.array([1, None]), np.ones((2, 2)).view(np.recarray),
        np.ma.masked_array([1.0, 2.0], [True, False]), np.zeros(2, [("a", "f8"), ("b", "i4")]),
        np.zeros(3, [("a", "i4"), ("b", "f8")])["b"], np.array(["2020-01-01"], "M8[D]"),
        np.array([1, 2], "m8[s]"), np.frombuffer(bytes(17), np.float64, 2, 1), np.zeros((2, 0)),
    ],
)  # fmt: skip
def test_unusual_arrays(x: Any) -> None:
    """Object, string, structured, datetime and unaligned arrays and subclasses: NumPy's result."""
    for function in (lambda a: a[:1], lambda a: a == a, lambda a: a + a):
        calls(function, (x,), (x,))


def test_read_only_argument() -> None:
    """Writing to a read-only argument raises NumPy's ValueError, in a warm call too."""

    def write(x: Any) -> None:
        x[0] = 1

    fused = fc.fused(write)
    x = np.zeros(3)
    fused(x)
    x.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            fused(x)


# --- the guard: names


def test_closure_variable_and_cell() -> None:
    """A closure's number, array and later rebinding are seen."""
    k, w = 2.0, np.arange(4.0)

    def f(x: Any) -> Any:
        return x * k + w

    fused = fc.fused(f)
    for _ in range(2):
        equal(fused(X), f(X))
    k = 5.0
    equal(fused(X), f(X))
    w += 1
    equal(fused(X), f(X))
    w = np.ones(4, np.float32)
    equal(fused(X), f(X))
    assert fused.traces == 3


def test_globals_attributes_and_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Globals, attributes of modules, helpers, their code and defaults, are conditions."""
    space: dict[str, Any] = {"np": np, "S": SETTINGS, "W": np.arange(4.0), "k": 2, "X": X}
    source = (
        "def helper(x, c=1.0):\n    return x + c * k\n"
        "def f(x, p=2.0):\n    return np.abs(helper(x)) * p + S.gain + W\n"
    )
    exec(source, space)
    f = space["f"]
    fused = fc.fused(f)
    changes: list[Callable[[], Any]] = [
        lambda: None,
        lambda: space.update(k=7),
        lambda: space.update(k=7.0),
        lambda: space.update(k=True),
        lambda: monkeypatch.setattr(SETTINGS, "gain", 9.0),
        lambda: space.update(W=np.ones(4)),
        lambda: space["W"].__imul__(3),
        lambda: space.update(W=[1, 2, 3, 4]),
        lambda: space.update(W=np.zeros(4)),
        lambda: setattr(space["helper"], "__defaults__", (4.0,)),
        lambda: setattr(f, "__defaults__", (-1.0,)),
        lambda: space.update(helper=lambda x: x - 1),
        lambda: space.update(abs=lambda x: 0),
        lambda: space.update(np=types.SimpleNamespace(abs=lambda x: x * 0.5)),
    ]
    for change in changes:
        change()
        for _ in range(2):
            equal(fused(X), f(X))


def test_array_of_a_module_and_names_not_yet_defined() -> None:
    """An array behind a module's attribute is read anew; an undefined name raises NameError."""

    def f(x: Any) -> Any:
        return x * SETTINGS.bias

    fused = fc.fused(f)
    for _ in range(3):
        equal(fused(X), f(X))
        SETTINGS.bias += 1

    def g(x: Any) -> Any:
        return x + undefined_name  # type: ignore[name-defined] # noqa: F821

    for _ in range(2):
        with pytest.raises(NameError):
            fc.fused(g)(X)


def test_global_array_and_argument_share_memory() -> None:
    """A global array that an argument overlaps sees what the function writes, in its order."""

    def f(x: Any) -> Any:
        x += 1
        y = TABLE * 2
        x *= 3
        return y, TABLE + x

    mine = fc.fused(f)
    for view in (slice(None), slice(None, None, -1)):
        for _ in range(2):
            start = TABLE.copy()
            want = f(TABLE[view])
            after = TABLE.copy()
            TABLE[...] = start
            equal(mine(TABLE[view]), want)
            equal(TABLE, after)
            TABLE[...] = start


# --- scalars


SCALARS: list[tuple[str, Callable[..., Any], list[Any], int | None]] = [
    ("plain", lambda x, s: x * s + 2 * s - s / 3, [0.5, 1.5, -2.0, math.inf], 1),
    ("int", lambda x, s: x.astype(int) // (s + 1) + s**2 % 7, [1, 2, 5, 8], 1),
    ("branch", lambda x, s: x + s if s > 2 else x - s, [1, 3, 1, 5, 3], None),
    ("range", lambda x, s: sum((x * k for k in range(s)), x), [0, 2, 3, 2], None),
    ("power", lambda x, s: x**s, [2, 3, 2, 0, 1], None),
    ("axis", lambda x, s: x.sum(s), [0, 1, -1, 7], None),
    ("slice", lambda x, s: x[s:, ::s], [1, 2, 1], None),
    ("item", lambda x, s: x[s], [0, 2, -1, 9], None),
    ("math", lambda x, s: x * math.sin(s), [0.1, 0.2, 0.1], None),
    ("cast", lambda x, s: x * int(s), [1.5, 2.7, 1.5], None),
    ("text", lambda x, s: (f"{s:.1f}", x + s), [1.0, 2.0], None),
    ("repr", lambda x, s: (repr(s), str(s)), [1.0, 2], None),
    ("divide by zero", lambda x, s: x * (1 / s), [1, 2, 0, 0.0, 4], None),
    ("negative root", lambda x, s: x * s**0.5, [4.0, -4.0, 9.0], None),
    ("bounds", lambda x, s: x.astype(int).astype(np.uint8) + s, [1, 255, 256, -1, 3], None),
    ("compare", lambda x, s: x.astype(int).astype(np.uint8) < s, [3, 300, -1], None),
    ("where", lambda x, s: np.where(x > s, x, s), [0.0, 1, 2.0], None),
    ("assign", lambda x, s: x.__setitem__(0, s), [1.0, math.nan, 3], None),
    ("types", lambda x, s: (s, -s, abs(s) + 1, x.astype("f4") + s), [1, 2.0, True, 3], None),
    ("numpy", lambda x, s: x.astype("f4") * s, [np.float64(2), np.float32(3), np.int8(4)], None),
    ("same numpy type", lambda x, s: (x * s, s + 1), [np.float64(v) for v in (1, 2, -0.0)], 1),
    ("numpy int", lambda x, s: x.astype("i2") + s, [np.int16(5), np.int16(-7)], 1),
    ("isinstance", lambda x, s: x * isinstance(s, np.float64), [np.float64(2), 2.0], None),
    ("zero sign", lambda x, s: (np.copysign(x, s), math.copysign(1, s)), [0.0, -0.0, 0.0], None),
    ("full", lambda x, s: np.full(3, s) * x[0, 0], [1.0, 2.0], None),
    ("complex", lambda x, s: x * s, [1j, 2j, 1j], None),
    ("string", lambda x, s: x.sum() if s == "sum" else x.max(), ["sum", "max", "sum"], 2),
    ("none", lambda x, s: x if s is None else x * 2, [None, 1, None], None),
    ("slice object", lambda x, s: x[s] * 2, [slice(1), slice(2), slice(1)], None),
    ("function", lambda x, s: s(x) + 1, [np.exp2, np.abs, abs], None),
    ("python function", lambda x, s: s(x), [lambda v: v * SCALE, lambda v: v - SCALE], None),
    ("dtype", lambda x, s: x.astype(s), [np.dtype("f4"), np.float32, "i8", int], None),
]  # fmt: skip


@pytest.mark.parametrize(("function", "values", "traces"), [s[1:] for s in SCALARS],
                         ids=[s[0] for s in SCALARS])  # fmt: skip
@one_in(12)
def test_scalar_arguments(
    function: Callable[..., Any], values: list[Any], traces: int | None
) -> None:
    """A number in arithmetic keeps the trace; one whose value decides something is a condition."""
    with np.errstate(all="ignore"):
        fused = calls(function, *((X, v) for v in values * 2))
    assert traces is None or fused.traces == traces


# --- arguments that share memory, and writes


def relax(u: Any, v: Any) -> Any:
    u[1:] += v[:-1]
    v *= 2
    return u - v


def test_arguments_that_share_memory() -> None:
    """The same array twice, overlapping views, and apart: each as NumPy computes it."""
    fused = fc.fused(relax)
    pairs: list[Callable[[Any], tuple[Any, Any]]] = [
        lambda b: (b[:8], b[8:]), lambda b: (b, b), lambda b: (b[1:], b[:-1]),
        lambda b: (b, b[::-1]),
        lambda b: (b[:8], b[:8]), lambda b: (b[::2], b[1::2]), lambda b: (b[:8], b[8:].copy()),
    ]  # fmt: skip
    for pair in pairs * 3:
        mine, theirs = np.arange(16.0), np.arange(16.0)
        check(outcome(fused, *pair(mine)), outcome(relax, *pair(theirs)))
        equal(mine, theirs)


def step(*arrays: Any) -> Any:
    early = [b + 1 for b in arrays[6:]]
    for a, b in zip(arrays[:6], arrays[6:], strict=True):
        a[...] = a * 0.5
        a[...] = a + b
    return early, [b * 2 for b in arrays[6:]]


def test_many_arguments_that_share_memory() -> None:
    """Of many arrays some are apart, some overlap, some only where they are read."""
    fused, memory = fc.fused(step, strict=True), np.arange(400.0)
    apart = [slice(20 * k, 20 * k + 20) for k in range(12)]
    turned = [slice(20 * k + 19, 20 * k - 1 if k else None, -1) for k in range(12)]
    ways = [apart, turned, apart[::-1]]
    for place in (3, 9):  # one that is written; one that is read
        for other in (slice(19, 39), slice(0, 20), slice(219, 239), slice(239, 259)):
            ways.append([*apart[:place], other, *apart[place + 1 :]])
    for way in (way for _ in range(3) for way in ways):
        mine, theirs = memory.copy(), memory.copy()
        got, want = (f(*[m[part] for part in way]) for f, m in ((fused, mine), (step, theirs)))
        equal(got, want)
        equal(mine, theirs)


def test_two_dtypes_over_one_buffer() -> None:
    """Arguments that see one memory as different types are right, unfused."""
    mine, theirs = np.arange(4.0), np.arange(4.0)

    def f(a: Any, b: Any) -> Any:
        a += 1
        b += 1  # of the integer, which floats have too
        return a * 2

    fused = fc.fused(f)
    for _ in range(2):
        want = f(theirs, theirs.view("i8"))
        equal(fused(mine, mine.view("i8")), want)
        equal(mine, theirs)


def mutate(x: Any, y: Any) -> Any:
    old = x[0] * 1
    first = x[1, 1]
    x[1:-1] *= 2
    x[:, ::-2] -= y
    x.T[0] = 7
    flat = x.reshape(-1)
    flat[x.reshape(-1) > 5] = -1
    x[[0, 2], [1, 3]] = 9
    return old, first, x[1:], x


def test_mutation_of_arguments() -> None:
    """In-place operations on views, masks and index arrays end up in the caller's memory."""
    fused = calls(mutate, *((X + k, X[0, ::2] * k) for k in range(4)))
    assert fused.traces == 1
    calls(mutate, *((np.asfortranarray(X), X[0, ::2]), ((X + 0)[::-1, ::-1], X[0, ::2])) * 2)


def swap(a: Any, b: Any) -> Any:
    for _ in range(3):
        a, b = b, a
        a[:], b[:] = b.copy(), a.copy()
        a += 1
    return a, b


def test_swaps_return_the_arguments_themselves() -> None:
    """What is returned as it came is the very object; a view of it shares its memory."""
    calls(swap, *[(X[0], X[1])] * 3)
    fused = fc.fused(lambda a, b: (b, a, a[1:], [a.T]))
    x, y = X.copy(), X + 1
    for _ in range(3):
        r = fused(x, y)
        assert r[0] is y
        assert r[1] is x
        assert np.shares_memory(r[2], x)
        assert np.shares_memory(r[3][0], x)


def test_raise_midway() -> None:
    """Arguments are as NumPy would have left them when a function raises."""

    def f(x: Any, n: int) -> Any:
        x[0] += 1
        if n > 1:
            raise KeyError(n)
        x += np.ones(n + 4)
        return x

    calls(f, *((X, n) for n in (0, 1, 2, 0, 3, 1)))


def test_lowered_for_one_array_given_twice() -> None:
    """The error says what differs where shapes and types do not."""
    x = np.ones(3)
    executable = fc.lower(lambda a, b: np.concatenate([a, b]), x, x)
    assert executable(x, x).shape == (6,)
    with pytest.raises(TypeError, match="share other memory"):
        executable(x, x.copy())
    with pytest.raises(TypeError, match=r"not \(float64\[4\]"):
        executable(np.ones(4), x)


def test_what_is_passed_through_is_called_as_the_function_is() -> None:
    """With its errors, by name and by position, and other arguments find their way."""

    def f(x: Any, y: Any) -> Any:
        return x + y

    f.__qualname__ = "f"
    ours: Any = fc.fused(f)
    ours(X, X * 2)
    ours._pass_through((X, X * 2), itertools.repeat(True))
    equal(ours(X, X * 2), X * 3)
    equal(ours(y=X * 2, x=X), X * 3)
    equal(ours(X[:2], X[1:]), X[:2] + X[1:])
    assert ours(1, 2) == 3 and type(ours).__name__ == "FusedFunction"
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'y'"):
        ours(X)


def test_defaults_that_change_are_seen_by_calls_with_names() -> None:
    def step(x: Any, factor: float = 2.0, shift: float = 1.0) -> Any:
        return x * factor + shift

    f, x = fc.fused(step), np.arange(4.0)
    for defaults in ((2.0, 1.0), (3.0, 1.0), (2.0, 1.0)):
        step.__defaults__ = defaults
        for _ in range(2):
            equal(f(x, shift=5.0), x * defaults[0] + 5.0)
