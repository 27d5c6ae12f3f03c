"""fusecuda.numpy: what it creates has NumPy's bits, and is lazy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.marks import one_in
from tests.numpy_check import assert_as_numpy, assert_same, lazily

DTYPES = [None, "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "f2", "c8", "c16"]


# --- creation

SHAPES = [(), 0, 3, (2, 3), [4, 1], (0, 5), (2, 3, 4), np.int64(3), np.array([2, 2])]


@pytest.mark.parametrize("name", ["zeros", "ones"])
@pytest.mark.parametrize("dtype", DTYPES)
@one_in(12)
def test_zeros_and_ones(name: str, dtype: Any) -> None:
    for shape in SHAPES:
        assert_as_numpy(name, shape, dtype)
    assert_as_numpy(name, (2, 3), dtype=dtype, order="F")


def test_empty_has_shape_and_dtype() -> None:
    for shape, dtype in itertools.product([(), 3, (2, 0, 4)], [None, "i4", "f4", "c8", "M8[s]"]):
        found, expected = fnp.empty(shape, dtype), np.empty(shape, dtype)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        found = fnp.empty_like(expected)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(10)
def test_full(dtype: Any) -> None:
    values = [0, 1, -1, True, 2.5, -0.0, np.float32(0.1), np.int8(-3), 300, [1, 2, 3], np.arange(3)]
    for value in values:
        assert_as_numpy("full", (2, 3), value, dtype)
    assert_as_numpy("full", 2, np.inf)
    assert_as_numpy("full", 2, 1 + 2j)
    assert_as_numpy("full", 2, "text")
    assert_as_numpy("full", (2, 3), [1, 2])
    assert_as_numpy("full", 2, 2**70, dtype="i8")


def test_full_of_a_lazy_value_is_lazy() -> None:
    value = fnp.asarray([1.0, 2.0]).sum()
    found = lazily(lambda: fnp.full((2, 2), value))
    np.testing.assert_array_equal(np.asarray(found), np.full((2, 2), 3.0))
    assert fnp.full(2, fnp.asarray([1.5, 2.5]), dtype="i4").tolist() == [1, 2]


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "full_like"])
def test_like(name: str) -> None:
    more = (7,) if name == "full_like" else ()
    for a in [np.ones((2, 3), "f4"), [1, 2], 3.0, np.array(1, "i2"), np.ones((2, 0), "c8")]:
        assert_as_numpy(name, a, *more)
        assert_as_numpy(name, a, *more, dtype="u1")
        assert_as_numpy(name, a, *more, shape=(4,))
    lazy = fnp.asarray([1, 2, 3])
    assert_same(getattr(fnp, name)(lazy, *more), getattr(np, name)(np.array([1, 2, 3]), *more))


def test_bad_shapes_and_devices_are_numpys_errors() -> None:
    for name, shape in itertools.product(["zeros", "ones", "empty"], [-1, (2, -3), 1.5, "ab"]):
        with pytest.raises((ValueError, TypeError)) as expected:
            getattr(np, name)(shape)
        with pytest.raises(expected.type):
            getattr(fnp, name)(shape)
    for make in (lambda: fnp.zeros(3, device="gpu"), lambda: fnp.asarray(3, device="gpu")):
        with pytest.raises(ValueError, match="Device not understood"):
            make()
    assert fnp.zeros(3, device="cpu").shape == (3,)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(6)
def test_arange(dtype: Any, both_ways: int) -> None:
    """Recorded, and done at once as small ones are."""
    cases: list[tuple[Any, ...]] = [
        (0,), (1,), (2,), (5,), (-3,), (3, 9), (9, 3), (9, 3, -2), (0, 10, 3), (0, 100, 7), (5.0,),
        (0.5, 3.0), (0.0, 1.0, 0.1), (1, 2, 0.3), (-1.5, 2.5, 1e-1), (3.3, -3.3, -0.7), (0, 1, 0),
        (0.1, 0.1 + 1e-17, 1e-18), (1e16, 1e16 + 10), (-0.0, 3.0), (0.0, -3.0, -1.0), (1e-300, 1.0),
        (0, 1, 1e-3), (100, 140), (np.int32(4),), (np.float32(0), np.float32(1), np.float32(0.1)),
        (True,), (0, np.nan), (0, np.inf), (250, 260), (2**62, 2**62 + 3), (1e-310, 1e-309, 1e-310),
    ]  # fmt: skip
    for case in cases:
        if case == (1e-300, 1.0) or case[-1:] == (np.nan,):
            continue
        assert_as_numpy("arange", *case, dtype=dtype)
    assert_as_numpy("arange", 0, np.nan)


def test_arange_takes_numpys_keywords() -> None:
    for kwargs in ({"stop": 4}, {"start": 1, "stop": 4}, {"start": 4}, {"stop": 4, "step": 2}):
        assert_as_numpy("arange", **kwargs)
    assert_as_numpy("arange", 3, None, 1)
    assert_as_numpy("arange", 2, dtype=None, device="cpu")
    with pytest.raises(TypeError):
        fnp.arange()


def test_long_ranges_have_numpys_bits() -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        start, step = random.uniform(-10, 10), random.uniform(-1, 1)
        assert_as_numpy("arange", start, start + step * 3000.5, step)
        assert_as_numpy("arange", start, start + step * 3000.5, step, "f4")
        stop = random.uniform(-1e3, 1e3)
        for endpoint in (True, False):
            assert_as_numpy("linspace", start, stop, 1001, endpoint)
            assert_as_numpy("linspace", start, stop, 997, endpoint, dtype="f4")


@pytest.mark.parametrize("dtype", [None, "f4", "i4", "u1", "f2", "c8"])
def test_linspace(dtype: Any) -> None:
    for start, stop in [(0, 1), (0.0, 10.0), (5, 5), (10, -3), (-0.0, 1), (0, 5e-324), (1, 2**53)]:
        for num, endpoint in itertools.product([0, 1, 2, 5, 50], [True, False]):
            if dtype in ("u1", "f2") and not 0 <= start <= stop <= 10:
                continue
            if dtype == "i4" and stop > 2**31:
                continue
            assert_as_numpy("linspace", start, stop, num, endpoint, dtype=dtype)
    assert_as_numpy("linspace", 0, 1, -1)
    assert_as_numpy("linspace", [0, 1], [2, 3], 4, dtype=dtype)
    assert_as_numpy("linspace", np.array([0, 1]), 3, 4, axis=1)
    found, step = fnp.linspace(0, 3, 7, retstep=True)
    expected, numpy_step = np.linspace(0, 3, 7, retstep=True)
    assert_same(found, expected)
    assert step == numpy_step


@pytest.mark.parametrize("dtype", [float, "i2", "?", "c8", None])
@one_in(6)
def test_eye_and_tri(dtype: Any) -> None:
    for n, m, k in itertools.product([0, 4], [None, 6], [0, 1, -2, 9, -9, 2**40]):
        assert_as_numpy("eye", n, m, k, dtype)
        assert_as_numpy("tri", n, m, min(k, 9), dtype)
    assert_as_numpy("identity", 3, dtype)
    assert_as_numpy("eye", 3, order="F")


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name: str) -> None:
    for shape in [(3,), (3, 4), (2, 4, 3), (0, 2)]:
        for dtype, k in [("f8", 0), ("f8", 1), ("i4", -1), ("?", 0), ("c16", 7)]:
            a = (np.arange(np.prod(shape)).reshape(shape) + 1).astype(dtype)
            assert_as_numpy(name, a, k)
    assert_as_numpy(name, [[1, 2], [3, 4]])
    assert_as_numpy(name, 3)


def test_meshgrid_and_indices() -> None:
    x, y, z = np.arange(3), np.linspace(0, 1, 4), np.arange(2)
    options = [{}, {"indexing": "ij"}, {"sparse": True}, {"copy": False}]
    inputs = [(), (x,), (x, y), (x, y, z), ([1, 2], 3.0)]
    for vectors, kwargs in itertools.product(inputs, options):
        assert_as_numpy("meshgrid", *vectors, **kwargs)
    assert_as_numpy("meshgrid", x, indexing="no")
    for shape in [(), (3,), (2, 3), (2, 0), (2, 3, 4)]:
        for dtype, sparse in itertools.product([int, "f4", "u1", "c8"], [False, True]):
            assert_as_numpy("indices", shape, dtype, sparse)
    assert_as_numpy("fromfunction", lambda i, j: i * 10 + j, (3, 4))
    assert_as_numpy("fromfunction", lambda i, j: i == j, (3, 4), dtype=int)


def test_what_is_computed_from_indices_launches_nothing() -> None:
    makers = [
        lambda: fnp.zeros((3, 4)), lambda: fnp.ones(3, "i4"), lambda: fnp.full(3, 2.5),
        lambda: fnp.arange(10), lambda: fnp.arange(0, 1, 0.1), lambda: fnp.linspace(0, 1, 11),
        lambda: fnp.eye(3), lambda: fnp.identity(3), lambda: fnp.tri(3),
        lambda: fnp.indices((2, 3)),
        lambda: fnp.tril(fnp.ones((3, 3))), lambda: fnp.meshgrid(fnp.arange(3), fnp.arange(4)),
        lambda: fnp.zeros_like(fnp.ones(3) * 2), lambda: fnp.asarray(fnp.ones(3) * 2),
        lambda: fnp.fromfunction(lambda i, j: i + j, (3, 3)),
        lambda: fnp.unstack(fnp.eye(3)), lambda: fnp.broadcast_arrays(fnp.ones(3), 2.0),
    ]  # fmt: skip
    for make in makers:
        lazily(make)


# --- asarray


def test_asarray_copies_what_is_numpys() -> None:
    x = np.arange(4.0)
    for make in (fnp.asarray, fnp.array, fnp.asanyarray, fnp.ascontiguousarray):
        a = make(x)
        x[0] += 10
        assert a[0] != x[0]
        assert type(a) is fc.Array


def test_asarray_takes_what_numpys_does() -> None:
    values: list[Any] = [
        3, 2.5, True, 1j, [1, 2], [[1.0], [2.0]], (1, 2.5), np.float32(3), np.arange(3)[::-1],
        range(4), np.arange(6).reshape(2, 3).T, memoryview(b"abc"), [np.arange(2), np.arange(2)],
        np.array("2020-01-01", "M8[D]"), np.array(["a", "bc"]), np.array([1, 2], ">i4"), [],
    ]  # fmt: skip
    for value in values:
        assert_as_numpy("asarray", value)
        assert_as_numpy("array", value, ndmin=2)
    for value, dtype in itertools.product(values[:9], ["f4", "i8", "c16"]):
        assert_as_numpy("asarray", np.real(value), dtype)
    assert_as_numpy("asarray", [300], "i1")
    assert isinstance(fnp.asarray([None]), np.ndarray)


def test_asarray_of_lazy_arrays() -> None:
    a = fnp.arange(3) * 2
    assert fnp.asarray(a) is a
    assert fnp.asarray(a, dtype=a.dtype) is a
    copy = fnp.asarray(a, copy=True)
    copy[0] = 9
    assert a[0] == 0
    assert lazily(lambda: fnp.asarray(a, dtype="f4")).dtype == np.float32
    with pytest.raises(ValueError, match="avoid copy"):
        fnp.asarray(a, dtype="f4", copy=False)
    stacked = lazily(lambda: fnp.asarray([a, a + 1]))
    np.testing.assert_array_equal(np.asarray(stacked), [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(np.asarray(fnp.asarray([[a[1], 1], [2, 3]])), [[2, 1], [2, 3]])


LAYOUTS = [
    lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: x[::-1, 1:], lambda x: x[1],
    lambda x: x[::-2, ::-1], lambda x: x[1, 2], lambda x: x[:0], lambda x: x[None, :, ::3],
]  # fmt: skip


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("dtype", ["f8", "i2"])
def test_asarray_without_copy_is_the_callers_memory(layout: int, dtype: str) -> None:
    base = np.arange(24, dtype=dtype).reshape(4, 6)
    x = np.asarray(LAYOUTS[layout](base))
    if not isinstance(LAYOUTS[layout](base), np.ndarray):
        x = base[1:2, 2:3].reshape(())
    a = fnp.asarray(x, copy=False)
    np.testing.assert_array_equal(np.asarray(a), x)
    np.testing.assert_array_equal(np.asarray(a.reshape(-1)), x.reshape(-1))
    if not x.size:
        return
    before = a * 2
    expected = x * 2
    x[...] = 7  # the caller's write shows at once, and not in what was recorded before
    np.testing.assert_array_equal(np.asarray(before), expected)
    np.testing.assert_array_equal(np.asarray(a + 1), x + 1)
    a += 1
    assert (x == 8).all()
    a[...] = 3
    assert (x == 3).all()
    assert (base == 3).sum() >= x.size
    assert (base == 3).sum() <= x.size + 1


def test_asarray_without_copy_says_when_it_cannot() -> None:
    with pytest.raises(ValueError, match="copy"):
        fnp.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="copy"):
        fnp.asarray(np.arange(3), dtype="f4", copy=False)
    fields = np.zeros(3, [("a", "i1"), ("b", "f8")])
    with pytest.raises(ValueError, match="copy"):
        fnp.asarray(fields["b"], copy=False)
    frozen = np.arange(3)
    frozen.flags.writeable = False
    a = fnp.asarray(frozen, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1


def test_dlpack() -> None:
    x = np.arange(4.0)
    a = fnp.from_dlpack(x)
    x[1] = 10
    assert a[1] == 10
    copy = fnp.from_dlpack(x, copy=True)
    x[1] = 20
    assert copy[1] == 10
    lazy = fnp.arange(3) * 2
    same = fnp.from_dlpack(lazy)
    same[0] = 5
    assert lazy.tolist() == [5, 2, 4]
    assert np.from_dlpack(lazy).tolist() == [5, 2, 4]


@pytest.mark.parametrize("name", ["ascontiguousarray", "asfortranarray"])
def test_what_lies_as_asked_for_is_the_array_itself(name: str) -> None:
    """Writes to the result are seen in the array where NumPy's are."""
    for part in (lambda x: x[1], lambda x: x.T, lambda x: x[:, 1:], lambda x: x[1:], lambda x: x):
        n, x = np.arange(12.0).reshape(3, 4), fnp.asarray(np.arange(12.0).reshape(3, 4))
        for module, array in ((np, n), (fnp, x)):
            made = getattr(module, name)(part(array))
            made += 10
        np.testing.assert_array_equal(np.asarray(x), n)
