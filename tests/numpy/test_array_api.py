"""fusecuda.numpy as a namespace of the Python Array API standard, version 2024.12."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp

# An older NumPy has less than the standard demands, and so has the namespace made of it.
NUMPY_HAS_ALL = np.__array_api_version__ >= "2024.12"
needs_newer_numpy = pytest.mark.skipif(not NUMPY_HAS_ALL, reason="NumPy is older than the standard")

# What the standard demands, by its own chapters.
NAMES: dict[str, str] = {
    "constants": "e inf nan newaxis pi",
    "creation": """
        arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones
        ones_like tril triu zeros zeros_like""",
    "dtypes": """
        bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64
        complex128""",
    "dtype functions": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": """
        abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
        bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh
        divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf
        isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or
        logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
        reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc""",
    "indexing": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """
        broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape
        roll squeeze stack tile unstack""",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "set": "unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistical": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
    "version": "__array_api_version__",
}
LINALG = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"""
FFT = """
    fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"""
ATTRIBUTES = "T device dtype mT ndim shape size"
METHODS = """
    __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__
    __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__
    __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__
    __setitem__ __sub__ __truediv__ __xor__ to_device
    __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ __imod__ __imatmul__ __iand__
    __ior__ __ixor__ __ilshift__ __irshift__
    __radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rpow__ __rmod__ __rmatmul__ __rand__
    __ror__ __rxor__ __rlshift__ __rrshift__"""

# Keywords that the standard names, for the functions where NumPy's have changed or differ.
KEYWORDS: dict[str, str] = {
    "arange": "dtype device", "argsort": "axis descending stable", "asarray": "dtype device copy",
    "astype": "copy device", "clip": "min max", "count_nonzero": "axis keepdims",
    "cumulative_prod": "axis dtype include_initial", "cumulative_sum": "axis dtype include_initial",
    "diff": "axis n prepend append", "empty": "dtype device", "empty_like": "dtype device",
    "eye": "k dtype device", "from_dlpack": "device copy", "full": "dtype device",
    "full_like": "dtype device", "linspace": "dtype device endpoint", "meshgrid": "indexing",
    "ones": "dtype device", "ones_like": "dtype device", "reshape": "copy",
    "searchsorted": "side sorter", "sort": "axis descending stable",
    "std": "axis correction keepdims",
    "sum": "axis dtype keepdims", "tensordot": "axes", "tril": "k", "unstack": "axis",
    "var": "axis correction keepdims", "zeros": "dtype device", "zeros_like": "dtype device",
}  # fmt: skip


def same(found: Any, expected: Any, rtol: float = 0) -> None:
    """The dtype, shape and values that NumPy gives, in a lazy array."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            same(f, e, rtol)
        return
    assert type(found) is fc.Array
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=rtol)


def both(name: str, *args: Any, rtol: float = 0, **kwargs: Any) -> None:
    """The function gives on lazy arrays what NumPy's gives on its own."""
    lazy = [fnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    lazies = {k: fnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in kwargs.items()}
    module, _, function = name.rpartition(".")
    ours, theirs = (getattr(n, module) if module else n for n in (fnp, np))
    same(getattr(ours, function)(*lazy, **lazies), getattr(theirs, function)(*args, **kwargs), rtol)


FLOATS = np.array([[0.5, -1.5, 2.0], [3.25, 0.0, -0.75]])
UNIT = np.array([-0.9, -0.1, 0.0, 0.3, 1.0])
INTS = np.array([[5, -3, 2], [7, 1, -8]])
BOOLS = np.array([True, False, True])
COMPLEX = np.array([1 + 2j, -0.5j, 3.0])


# --- names


@pytest.mark.parametrize("group", NAMES)
def test_the_namespace_has_every_name(group: str) -> None:
    names = [n for n in NAMES[group].split() if NUMPY_HAS_ALL or hasattr(np, n)]
    missing = [name for name in names if not hasattr(fnp, name)]
    assert not missing
    public = [name for name in names if not name.startswith("_")]
    assert set(public) <= set(dir(fnp))


@pytest.mark.parametrize(("module", "names"), [("linalg", LINALG), ("fft", FFT)])
def test_the_extensions_have_every_name(module: str, names: str) -> None:
    missing = [name for name in names.split() if not hasattr(getattr(fnp, module), name)]
    assert not missing


def test_the_array_has_every_attribute_and_method() -> None:
    array = fnp.ones((2, 2))
    missing = [name for name in (ATTRIBUTES + METHODS).split() if not hasattr(array, name)]
    assert not missing
    assert array.__array_namespace__() is fnp
    assert array.__array_namespace__(api_version=fnp.__array_api_version__) is fnp
    with pytest.raises(ValueError, match="is not supported"):
        array.__array_namespace__(api_version="1999.12")
    assert array.device == "cpu"
    assert array.to_device("cpu") is array
    assert array.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("name", KEYWORDS)
def test_functions_take_the_standards_keywords(name: str) -> None:
    if not (NUMPY_HAS_ALL or hasattr(np, name)):
        pytest.skip("NumPy is older than the standard")
    parameters = inspect.signature(getattr(fnp, name)).parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    missing = [k for k in KEYWORDS[name].split() if k not in parameters]
    if missing and not open_ended and not NUMPY_HAS_ALL:
        numpys = inspect.signature(getattr(np, name)).parameters
        missing = [k for k in missing if k in numpys]
    assert not missing or open_ended


def test_the_version_is_not_newer_than_numpys() -> None:
    assert fnp.__array_api_version__ == min("2024.12", np.__array_api_version__)
    assert hasattr(fnp, "__array_namespace_info__") == hasattr(np, "__array_namespace_info__")


@needs_newer_numpy
def test_inspection() -> None:
    info = fnp.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert list(info.devices()) == ["cpu"]
    assert info.capabilities()["boolean indexing"] is True
    assert info.capabilities()["data-dependent shapes"] is True
    defaults = info.default_dtypes()
    assert defaults["real floating"] == fnp.zeros(1).dtype
    assert defaults["integral"] == fnp.arange(1).dtype
    for name, dtype in info.dtypes().items():
        assert fnp.zeros(1, dtype=dtype).dtype == getattr(fnp, name)


# --- behaviour


def test_creation() -> None:
    assert fnp.asarray([1, 2], dtype=fnp.float32, device="cpu", copy=True).dtype == np.float32
    same(fnp.arange(2, 8, 3, dtype=fnp.float32), np.arange(2, 8, 3, dtype="f4"))
    same(fnp.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, endpoint=False))
    same(fnp.full((2,), True), np.full((2,), True))
    same(fnp.eye(2, 3, k=1, dtype=fnp.int32), np.eye(2, 3, k=1, dtype="i4"))
    same(fnp.from_dlpack(fnp.ones(3), device="cpu", copy=True), np.ones(3))
    same(fnp.triu(fnp.asarray(FLOATS), k=1), np.triu(FLOATS, k=1))
    same(fnp.meshgrid(INTS[0], INTS[1], indexing="ij"), np.meshgrid(*INTS, indexing="ij"))


def test_dtype_functions() -> None:
    a = fnp.asarray(FLOATS)
    same(fnp.astype(a, fnp.int32), FLOATS.astype("i4"))
    assert fnp.astype(a, fnp.float64, copy=False) is a
    assert fnp.finfo(a).bits == 64
    assert fnp.finfo(fnp.float32).bits == 32
    assert fnp.iinfo(fnp.asarray(INTS)).max == 2**63 - 1
    assert fnp.iinfo(fnp.int8).min == -128
    assert fnp.isdtype(a.dtype, "real floating")
    assert fnp.isdtype(fnp.int8, ("bool", "signed integer"))
    assert fnp.result_type(a, fnp.float32) == np.float64
    assert fnp.result_type(fnp.ones(2, dtype="f4"), 1.0) == np.float32
    assert fnp.can_cast(fnp.asarray(INTS), fnp.float64)
    assert not fnp.can_cast(a, fnp.int64)


def test_elementwise() -> None:
    exact = "abs ceil floor trunc round sign signbit square negative positive isfinite isinf isnan"
    for name in exact.split():
        both(name, FLOATS)
    for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "asinh", "atan"]:
        both(name, FLOATS, rtol=1e-14)
    for name in ["acos", "asin"]:
        both(name, UNIT, rtol=1e-14)
    both("atanh", UNIT[:-1], rtol=1e-14)
    for name in ["acosh", "log", "log1p", "log2", "log10", "sqrt", "reciprocal"]:
        both(name, np.abs(FLOATS) + 1, rtol=1e-14)
    pairs = "add subtract multiply divide maximum minimum copysign nextafter hypot atan2 logaddexp"
    for name in pairs.split():
        both(name, FLOATS, FLOATS[::-1] + 0.5, rtol=1e-14)
    both("pow", np.abs(FLOATS) + 0.25, FLOATS[::-1] + 1, rtol=1e-14)
    for name in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]:
        both(name, INTS, INTS[::-1])
        both(name, FLOATS, 0.0)
    for name in ["floor_divide", "remainder", "bitwise_and", "bitwise_or", "bitwise_xor"]:
        both(name, INTS, INTS[::-1])
    for name in ["bitwise_left_shift", "bitwise_right_shift"]:
        both(name, INTS, 2)
    both("bitwise_invert", INTS)
    for name in ["logical_and", "logical_or", "logical_xor"]:
        both(name, BOOLS, ~BOOLS)
    both("logical_not", BOOLS)
    for name in ["real", "imag", "conj", "abs"]:
        both(name, COMPLEX)
        both(name, FLOATS)
    both("clip", FLOATS, -1.0, 1.0)
    if NUMPY_HAS_ALL:
        both("clip", FLOATS, min=-1.0, max=1.0)
        both("clip", FLOATS, max=np.array([0.0, 1.0, 2.0]))


def test_statistical() -> None:
    for name, axis, keep in itertools.product(
        ["max", "min", "sum", "prod", "mean", "std", "var"], [None, 0, (0, 1)], [False, True]
    ):
        both(name, FLOATS, axis=axis, keepdims=keep, rtol=1e-15)
    both("var", FLOATS, axis=1, correction=1.0, rtol=1e-15)
    both("std", FLOATS, correction=1, rtol=1e-15)
    both("sum", INTS.astype("i1"))
    both("sum", INTS, dtype=np.float32)
    for name in ("cumulative_sum", "cumulative_prod") if NUMPY_HAS_ALL else ():
        both(name, INTS[0])
        both(name, FLOATS, axis=1, include_initial=True)


def test_searching() -> None:
    for name in ("argmax", "argmin"):
        both(name, FLOATS)
        both(name, FLOATS, axis=1, keepdims=True)
    both("nonzero", INTS - 1)
    both("where", FLOATS > 0, FLOATS, -FLOATS)
    both("where", FLOATS > 0, FLOATS, 0.0)
    both("searchsorted", np.array([1, 3, 5]), np.array([0, 3, 9]), side="right")
    found = fnp.count_nonzero(fnp.asarray(INTS - 1), axis=1)
    same(found, np.count_nonzero(INTS - 1, axis=1))
    assert int(fnp.count_nonzero(fnp.asarray(INTS - 1))) == 5


def test_sorting() -> None:
    keys = np.array([3, 1, 2, 1, 3, 3])
    rows = np.array([[2.0, 1.0, 3.0], [0.0, 5.0, -1.0]])
    both("sort", rows)
    both("argsort", keys, stable=True)
    lazy = fnp.asarray(keys)
    same(fnp.sort(lazy, descending=True), np.sort(keys)[::-1])
    same(fnp.sort(fnp.asarray(rows), axis=0, descending=True), np.sort(rows, axis=0)[::-1])
    same(fnp.argsort(lazy, descending=True), np.array([0, 4, 5, 2, 1, 3]))
    same(fnp.argsort(lazy, axis=None, descending=True), np.array([0, 4, 5, 2, 1, 3]))
    order = fnp.argsort(fnp.asarray(rows), axis=1, descending=True)
    same(order, np.array([[2, 0, 1], [1, 0, 2]]))


def test_set() -> None:
    x = np.array([[3, 1, 1], [2, 3, 3]])
    for name in ["unique_all", "unique_counts", "unique_inverse", "unique_values"]:
        both(name, x)
    found = fnp.unique_all(fnp.asarray(x))
    same(found.values, np.array([1, 2, 3]))
    same(found.counts, np.array([2, 1, 3]))


def test_manipulation() -> None:
    x = np.arange(6).reshape(1, 2, 3)
    both("broadcast_to", x, (4, 2, 3))
    both("broadcast_arrays", x, np.arange(2).reshape(2, 1))
    both("expand_dims", x, axis=1)
    for axis in (None, 1, (0, 2)):
        both("flip", x, axis=axis)
    both("moveaxis", x, 0, 2)
    both("permute_dims", x, (2, 0, 1))
    both("repeat", x, 2, axis=1)
    both("repeat", np.arange(3), np.array([1, 0, 2]))
    both("reshape", x, (3, 2))
    both("roll", x, 1, axis=2)
    both("roll", x, (1, 2), axis=(1, 2))
    both("squeeze", x, axis=0)
    both("tile", x, (2, 1, 2))
    same(fnp.unstack(fnp.asarray(x), axis=2), tuple(np.moveaxis(x, 2, 0)))
    a = fnp.asarray(x)
    same(fnp.concat([a, a + 1.5], axis=None), np.concat([x, x + 1.5], axis=None))
    same(fnp.concat([a, a], axis=-1), np.concat([x, x], axis=-1))
    same(fnp.stack([a, a], axis=-1), np.stack([x, x], axis=-1))
    if NUMPY_HAS_ALL:
        with pytest.raises(ValueError, match="copy"):
            fnp.reshape(a.mT, (6,), copy=False)
    with pytest.raises(ValueError, match="1-d"):
        fnp.unstack(fnp.asarray(1))


def test_linear_algebra() -> None:
    a, b = FLOATS, FLOATS.T.copy()
    square = np.array([[4.0, 1.0], [1.0, 3.0]])
    both("matmul", a, b)
    both("matrix_transpose", a)
    both("tensordot", a, b, axes=1)
    both("tensordot", a, a, axes=((0,), (0,)))
    both("vecdot", a, a, rtol=1e-15)
    same(fnp.asarray(a) @ fnp.asarray(b), a @ b)
    for name in [
        "cholesky",
        "det",
        "diagonal",
        "eigh",
        "eigvalsh",
        "inv",
        "pinv",
        "qr",
        "slogdet",
        "svd",
        "svdvals",
        "trace",
    ]:
        both(f"linalg.{name}", square)
    for name in ["matrix_norm", "matrix_rank", "matrix_transpose", "vector_norm"]:
        both(f"linalg.{name}", square)
    both("linalg.matrix_power", square, 3)
    both("linalg.solve", square, np.array([1.0, 2.0]))
    both("linalg.cross", a, a[::-1])
    both("linalg.outer", a[0], a[1])
    both("linalg.matmul", a, b)
    both("linalg.vecdot", a, a, axis=0, rtol=1e-15)
    both("linalg.tensordot", a, b, axes=1)


def test_fft() -> None:
    for name in ["fft", "ifft", "fftn", "ifftn", "rfft", "rfftn", "ihfft", "fftshift", "ifftshift"]:
        both(f"fft.{name}", FLOATS)
    for name in ["irfft", "irfftn", "hfft"]:
        both(f"fft.{name}", COMPLEX)
    same(fnp.fft.fftfreq(4, d=0.5), np.fft.fftfreq(4, d=0.5))
    same(fnp.fft.rfftfreq(4), np.fft.rfftfreq(4))


def test_indexing() -> None:
    a = fnp.asarray(FLOATS)
    both("take", FLOATS, np.array([2, 0]), axis=1)
    both("take_along_axis", FLOATS, np.array([[0], [2]]), axis=1)
    keys: list[Any] = [
        0, -1, (0, 1), slice(None), (slice(None), slice(None, None, -1)), ..., (..., 1), None,
        (0, slice(1, None)), (None, ..., None),
    ]  # fmt: skip
    for key in keys:
        same(a[key], np.asarray(FLOATS[key]))
    mask = FLOATS > 0
    same(a[mask], FLOATS[mask])
    same(a[fnp.asarray(mask)], FLOATS[mask])
    rows = np.array([1, 0, 1])
    same(a[fnp.asarray(rows), fnp.asarray(rows)], FLOATS[rows, rows])
    expected = FLOATS.copy()
    a[0, 1:], expected[0, 1:] = 9.0, 9.0
    a[fnp.asarray(mask)], expected[mask] = -1.0, -1.0
    same(a, expected)


def test_utility() -> None:
    for name, axis in itertools.product(["all", "any"], [None, 0, 1]):
        both(name, INTS > 0, axis=axis)
    both("diff", INTS)
    both("diff", INTS, axis=0)
    both("diff", INTS, n=2, prepend=np.array([[0], [0]]), append=np.array([[1], [1]]))


def test_operators() -> None:
    a, x = fnp.asarray(FLOATS), FLOATS
    same(-a + 1.5 * a - a / 2, -x + 1.5 * x - x / 2)
    same(abs(a) ** 2 % 3 // 0.5, abs(x) ** 2 % 3 // 0.5)
    i, n = fnp.asarray(INTS), INTS
    same((i << 1) ^ (i & 6) | (~i >> 1), (n << 1) ^ (n & 6) | (~n >> 1))
    same((a > 0) == (a != 0.5), (x > 0) == (x != 0.5))
    assert float(a[0, 0]) == 0.5
    assert int(i[0, 0]) == 5
    assert complex(a[0, 0]) == 0.5 + 0j
    assert bool(i[0, 0])
    assert range(10)[i[0, 0]] == 5
    assert a.mT.shape == a.T.shape == (3, 2)
