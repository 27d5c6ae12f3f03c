"""Lowered functions: what `lower` and `cost` take, and what an executable may be called with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc


def read_only(values: Any) -> Any:
    made = np.array(values)
    made.flags.writeable = False
    return made


def added(x: Any, y: Any) -> Any:
    x += y
    return x * 2


def test_what_is_only_read_may_be_read_only() -> None:
    """An executable takes such arrays; what it writes to has to be writeable, as for NumPy."""
    plus = fc.lower(lambda x, y: x + y, fc.spec(3), fc.spec(3))
    exe = fc.lower(added, fc.spec(3), fc.spec(3))
    ones, fixed = np.ones(3), np.frombuffer(np.arange(3.0).tobytes())
    for _ in range(2):
        assert plus(fixed, ones).tolist() == plus(ones, fixed).tolist() == [1, 2, 3]
        assert exe(np.ones(3), fixed).tolist() == [2, 4, 6]
        with pytest.raises(ValueError, match="read-only"):
            exe(fixed, ones)
    assert fixed.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"lowered for \(float64\[3\], float64\[3\]\), not \(float"):
        plus(read_only([1.0]), ones)
    with pytest.raises(TypeError, match="other strides"):
        plus(np.ones(6)[::2], ones)


def test_a_view_of_what_is_read_only_is_read_only() -> None:
    exe = fc.lower(lambda x: (x[1:], x * 2), fc.spec(3))
    assert exe(np.ones(3))[0].flags.writeable
    assert not exe(read_only([1.0, 2, 3]))[0].flags.writeable


def test_stand_ins_lie_in_containers() -> None:
    """Lists, tuples and dicts of them, one in another, as for `export`."""

    def sums(pair: Any, named: Any) -> Any:
        return pair[0] + pair[1][0] * named["w"]

    given = (fc.spec(3), [fc.spec((2, 3))]), {"w": fc.spec(())}
    exe = fc.lower(sums, *given)
    values = (np.arange(3.0), [np.ones((2, 3))]), {"w": np.array(2.0)}
    assert exe(*values).tolist() == sums(*values).tolist()
    assert fc.cost(sums, *given).launches == 1
    with pytest.raises(TypeError, match=r"dict\(w=float64\[\]\)\), not .* dict\(w=float64\[1\]\)"):
        exe(values[0], {"w": np.ones(1)})


@pytest.mark.parametrize("use", [fc.lower, fc.cost, fc.export])
def test_what_is_no_option_is_named(use: Any, tmp_path: Path) -> None:
    more = {"path": tmp_path} if use is fc.export else {}
    with pytest.raises(TypeError, match=r"'y' is none of the options device, .* without a name"):
        use(lambda x, y: x + y, fc.spec(3), y=fc.spec(3), **more)


def test_shapes_of_stand_ins() -> None:
    """Whatever is an index is an extent; the rest is refused where it is written."""
    assert fc.spec(np.int64(4)) == fc.spec(4) == fc.spec([4])
    assert fc.spec(()).shape == () and type(fc.spec(np.int8(1)).shape[0]) is int
    for wrong in (2.5, (2.5,), "abc", None, ("3",)):
        with pytest.raises(TypeError, match="a shape is an extent or a tuple of them, not"):
            fc.spec(wrong)
    for below in (-1, (3, -2)):
        with pytest.raises(ValueError, match="no extent of a shape is negative"):
            fc.spec(below)


def looks(y: Any) -> Any:
    return y if y.sum() > 3 else -y


def picks(y: Any) -> Any:
    return (y * 2)[y > 0]


def picks_of_an_argument(y: Any) -> Any:
    return y[y.astype(bool)] * 2


def converts(y: Any) -> Any:
    return y * float(y.sum())


def prints(y: Any) -> Any:
    print(y)
    return y


@pytest.mark.parametrize("function", [looks, picks, picks_of_an_argument, converts, prints])
@pytest.mark.parametrize("use", [fc.lower, fc.cost])
def test_what_is_no_single_graph_names_the_line(use: Any, function: Callable[[Any], Any]) -> None:
    """The line of the function that looks at a value, or calls what NumPy or Python computes."""
    line = inspect.getsourcelines(function)[1] + 1
    with pytest.raises(fc.NotFusedError, match=rf"\({__file__}:{line}\)$"):
        use(function, fc.spec(5))


@pytest.mark.parametrize("streams", [0, 5, 2.5, -1, "2"])
def test_streams_are_a_whole_number(streams: Any) -> None:
    with pytest.raises(ValueError, match=f"streams must be 1 to 4, not {streams}"):
        fc.fused(np.exp, streams=streams)


def test_inspect_tells_what_runs_later() -> None:
    """Coroutines and generators, and the same of asynchronous ones; all have a name to show."""

    async def waits(x: Any) -> Any:
        return x

    def gives(x: Any, n: int = 2) -> Any:
        yield from [x] * n

    async def both(x: Any) -> Any:
        yield x

    kinds = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction
    for function in (waits, gives, both, len, looks):
        ours = fc.fused(function)
        assert [kind(ours) for kind in kinds] == [kind(function) for kind in kinds]
        assert function is len or inspect.signature(ours) == inspect.signature(function)
        assert repr(ours).startswith(f"<fused function {function.__qualname__} at 0x")
    assert list(fc.fused(gives)(3)) == [3, 3]


def test_fused_functions_have_what_functions_have() -> None:
    """Code, defaults, closure and globals are the function's, and may be set as there."""

    def scale(x: Any, n: int = 2, *, shift: float = 0.5) -> Any:
        return x * n + shift + len(kept)

    kept = [0]
    ours = fc.fused(scale)
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__"):
        assert getattr(ours, name) is getattr(scale, name)
    x = np.arange(3.0)
    np.testing.assert_array_equal(ours(x), x * 2 + 1.5)
    ours.__defaults__ = (3,)
    assert scale.__defaults__ == (3,)
    np.testing.assert_array_equal(ours(x), x * 3 + 1.5)
    assert not hasattr(fc.fused(functools.partial(scale, n=3)), "__code__")
