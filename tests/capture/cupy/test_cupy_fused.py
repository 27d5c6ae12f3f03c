"""``@fused`` with CuPy arguments, and what users of `cupy.fuse` ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402
from fusecuda import fused  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
X = np.arange(1.0, 25.0).reshape(4, 6)


def check(function: Any, *arrays: Any, ulp: int = 4) -> Any:
    """``fused(function)`` of CuPy arrays gives what NumPy gives; the launches are returned."""
    ours = [host(a) if isinstance(a, np.ndarray) else a for a in arrays]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    compiled = fused(function, device="cpu")
    for _ in range(2):
        with fc.count_launches() as launches:
            got = compiled(cp, *ours)
        want = function(np, *theirs)
        got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
        for g, w in zip(got, want, strict=True):
            if w is not None:
                assert type(g) is cp.ndarray
                equal(seen(g), np.asarray(w), ulp)
        for a, b in zip(ours, theirs, strict=True):
            if isinstance(b, np.ndarray):
                equal(seen(a), b, ulp)
    return launches.total


def test_cupy_in_cupy_out() -> None:
    """One kernel; arguments that are changed are changed."""
    assert check(lambda m, x, y: (x * y + 1).sum(axis=1), X, X / 7) == 1

    def changes(m: Any, x: Any, y: Any) -> Any:
        x[1:] += y[:-1]
        y *= 2
        return x.max(), y

    check(changes, X, X / 7)


def test_overlapping_arguments() -> None:
    """Arguments that show the same memory behave as in NumPy."""
    base = np.arange(12.0)
    a = cupy_host.over(base)

    @fused(device="cpu")
    def shift(x: Any, y: Any) -> Any:
        x += y
        return x * 1

    got = shift(a[1:], a[:-1])
    want = np.arange(12.0)
    want[1:] += want[:-1].copy()
    equal(base, want)
    equal(seen(got), want[1:])


def test_numpy_arguments_do_not_mix() -> None:
    """As in CuPy, except where CuPy takes them."""

    @fused(device="cpu")
    def f(x: Any, y: Any) -> Any:
        return x + y

    with pytest.raises(TypeError):
        f(host(X), X)
    equal(seen(f(host(X), np.float64(2))), X + 2)
    equal(f(X, X), X + X)


def test_strict() -> None:
    """What would run unfused is an error, before anything is done."""

    @fused(device="cpu", strict=True)
    def f(x: Any) -> Any:
        return cp.linalg.svd(x)

    with pytest.raises(fc.NotFusedError, match="svd"):
        f(host(X))


def test_explain_names_what_was_not_recorded() -> None:
    """And a block says which operations ran as without us."""
    h = host(X)
    with fused(device="cpu") as region:
        y = cp.median(h * 2)
    assert "median" in region.explain()
    assert float(seen(y)) == 25


# --- what cupy.fuse refuses or gets wrong


def test_slices_and_methods_cupy_9002() -> None:
    check(lambda m, x: x[1:, ::2] * 2 + x[:-1, 1::2].clip(3, 9), X)


def test_sort_cupy_9447() -> None:
    check(lambda m, x: m.sort(x % 5, axis=1) * 2, X)


def test_concrete_arrays_cupy_10016() -> None:
    table = host(np.arange(6.0))
    f = fused(lambda x: x * table + 1, device="cpu")
    equal(seen(f(host(X))), X * np.arange(6.0) + 1)


def test_arange_cupy_3112() -> None:
    check(lambda m, x: x * m.arange(6) + m.ones(6), X)


def test_norm_cupy_7098() -> None:
    check(lambda m, x: x / m.linalg.norm(x), X)


def test_clip_without_bound_cupy_8689() -> None:
    check(lambda m, x: m.clip(x, None, 7) + x.clip(3, None), X)


def test_matmul_cupy_8198() -> None:
    check(lambda m, x: m.maximum(x @ x.T, 0) + 1, X)


def test_output_shapes_cupy_1096() -> None:
    check(lambda m, x: (x.sum(axis=0), x.max(axis=1, keepdims=True), x[0] * x[:, :1]), X)


def test_clear_errors_cupy_1097() -> None:
    f = fused(lambda x, y: x + y, device="cpu")
    with pytest.raises(ValueError, match="broadcast"):
        f(host(X), host(X[:3]))


def test_a_sum_joined_to_elementwise_cupy_9008() -> None:
    assert check(lambda m, x, y: m.sum(m.sqrt(x) * y + 1, axis=1), X, X) == 1


def test_python_scalars_cupy_8536() -> None:
    f = fused(lambda x: x * 2.5 + 1, device="cpu")
    assert f(host(X.astype("f4"))).dtype == np.float32
    assert fused(lambda x: x + 1, device="cpu")(host(X.astype("i1"))).dtype == np.int8


def test_sums_over_short_axes_cupy_8092() -> None:
    check(lambda m, x: (x.reshape(12, 2).sum(axis=1), m.cumsum(x, axis=1)), X)


def test_warm_calls_are_replayed() -> None:
    """Recorded once, numbers and all; changed values and shapes are seen."""

    def body(x: Any, y: Any, k: float) -> Any:
        x += y
        return cp.exp(x / 9) * k, (x * y).sum()

    f = fused(body, device="cpu")
    a, b = X.copy(), X / 7
    ours = host(a), host(b)
    for k in (2.0, 2.0, 2.0, 3.0, 2.0):
        got = f(*ours, k)
        a += b
        for g, w in zip(got, (np.exp(a / 9) * k, (a * b).sum()), strict=True):
            assert type(g) is cp.ndarray
            equal(seen(g), np.asarray(w), ulp=4)
        equal(seen(ours[0]), a)
    assert f.traces == 1
    assert "replayed" in f.explain()
    equal(seen(f(host(X[:2]), host(X[:2]), 2.0)[1]), np.asarray((2 * X[:2] * X[:2]).sum()))
    assert f.traces == 2
    same = host(X)
    got = f(same, same, 2.0)  # the guard sees that the two are one
    equal(seen(got[1]), np.asarray((2 * X * 2 * X).sum()))


GAIN = 2.0


def gained(x: Any) -> Any:
    return x * GAIN


def test_globals_are_conditions() -> None:
    """A global that changes is read anew."""
    global GAIN
    f = fused(gained, device="cpu")
    for GAIN in (2.0, 2.0, 5.0, 2.0):
        equal(seen(f(host(X))), X * GAIN)


def test_a_function_that_looks_is_recorded_anew() -> None:
    """Branches on values are right at each call."""
    f = fused(lambda x: x * 2 if float(x.sum()) > 0 else x - 1, device="cpu")
    for sign in (1, -1, 1, -1):
        equal(seen(f(host(X * sign))), X * 2 if sign > 0 else -X - 1)
    g = fused(lambda x: x[1:], device="cpu")
    a = host(X)
    assert g(a).base is a and g(a).base is a


# --- which object a call gives

GIVEN = (
    lambda m, x, y: y.astype(y.dtype, copy=False),
    lambda m, x, y: y.astype(float, order="C", copy=False),
    lambda m, x, y: y.astype(float, order="A", copy=False),
    lambda m, x, y: y.astype(float, order="F", copy=False),
    lambda m, x, y: y.astype(np.float32, copy=False),
    lambda m, x, y: y.astype(float),
    lambda m, x, y: x.astype("f8", copy=False),
    lambda m, x, y: y.conj(),
    lambda m, x, y: (y * 1j).conj(),
    lambda m, x, y: m.conj(y),
    lambda m, x, y: m.atleast_1d(y),
    lambda m, x, y: m.atleast_2d(x),
    lambda m, x, y: m.atleast_2d(y[0]),
    lambda m, x, y: m.nan_to_num(y, copy=False),
    lambda m, x, y: m.nan_to_num(x, copy=False),
    lambda m, x, y: m.nan_to_num(y),
    lambda m, x, y: m.asarray(y),
    lambda m, x, y: m.ascontiguousarray(y),
    lambda m, x, y: m.add(x, y, out=y),
)


@pytest.mark.parametrize("layout", [lambda y: y, lambda y: y.T, lambda y: y[::2, 1:]])
@pytest.mark.parametrize("number", range(len(GIVEN)))
def test_the_array_itself_is_given(number: int, layout: Any) -> None:
    """Where NumPy and CuPy give the very array, not another one of its memory."""
    give = GIVEN[number]

    def program(m: Any, x: Any) -> Any:
        y = layout(x * 2)
        x = layout(x)
        found = give(m, x, y)
        found += 1
        return found is x, found is y, x * 1, y * 1, found * 1

    def in_block(m: Any, x: Any) -> Any:
        with fused(device="cpu"):
            return program(m, x)

    call = fused(program, device="cpu")
    for _ in range(3):
        for run in (call, in_block):
            h, wanted_x = host(X), X.copy()
            got, want = run(cp, h), program(np, wanted_x)
            assert got[:2] == want[:2]
            for g, w in zip((*got[2:], h), (*want[2:], wanted_x), strict=True):
                equal(seen(g), w)
