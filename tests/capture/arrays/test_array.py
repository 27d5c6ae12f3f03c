"""fc.Array against numpy.ndarray: operators, methods, views, writes, protocols."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal, lazy, outcome, same_outcome, sample
from tests.marks import chosen, one_in

pytestmark = pytest.mark.usefixtures("both_ways")

DTYPES = ["?", "i1", "u1", "i4", "i8", "u8", "f4", "f8"]
LIBRARY = ["f2", "c16"]
BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, divmod,
]  # fmt: skip
USUAL = [
    operator.add, operator.truediv, operator.floordiv, operator.pow, operator.xor, operator.rshift,
    operator.le, operator.matmul, divmod,
]  # fmt: skip
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.ipow, operator.iand, operator.ior, operator.ixor, operator.ilshift,
    operator.irshift,
]  # fmt: skip
SCALARS: list[Any] = [
    0, 1, 2, 3, -1, 300, 2**40, 2**70, 0.5, 2.0, -1.0, True, 1j, np.float32(2), np.float64(2),
    np.int8(3), np.uint8(3), np.int64(-2), np.bool_(True), np.float16(2),
]  # fmt: skip


def safe(function: Callable[..., Any], a: Any, b: Any) -> tuple[Any, Any]:
    """Operands for which NumPy defines the result: small shifts and exponents."""
    if function in (operator.pow, operator.lshift, operator.rshift, operator.ipow) and isinstance(
        b, np.ndarray
    ):
        b = np.abs(b) % np.asarray(4, b.dtype) if b.dtype.kind in "iuf" else b
    return a, b


@pytest.mark.parametrize("function", chosen([*BINARY, operator.matmul], USUAL))
@one_in(40)
def test_binary_operators(function: Callable[..., Any]) -> None:
    """Every operator on every pair of dtypes has NumPy's dtype, shape and bits, or its error."""
    pending: list[tuple[Any, Any]] = []
    with np.errstate(all="ignore"):
        for i, s in enumerate([*DTYPES, *LIBRARY]):
            for j, t in enumerate([*DTYPES, *LIBRARY]):
                if (i + j) % 2 and s in "?i1u8f8" and t in "?i1u8f8":
                    continue
                a, b = safe(function, sample(s, (3, 4), i), sample(t, (3, 4), j + 9))
                want = outcome(function, a, b)
                pending.append((outcome(function, lazy(a), lazy(b)), want))
        for got, want in pending:
            same_outcome(got, want, 4 if function in (operator.pow, operator.truediv) else 0)


@pytest.mark.parametrize("function", chosen(BINARY, USUAL))
@one_in(24)
def test_operators_with_scalars(function: Callable[..., Any]) -> None:
    """NEP 50: Python numbers take the array's type and must fit; NumPy numbers are strong."""
    with np.errstate(all="ignore"):
        for dtype in ("?", "u1", "i4", "f4", "f8"):
            a = np.abs(sample(dtype, (5,)).astype("f8")).astype(dtype)
            pending = []
            for s in SCALARS:
                if function in (operator.lshift, operator.pow) and abs(s) > 100:
                    continue
                pending.append((outcome(function, lazy(a), s), outcome(function, a, s)))
                if function is not operator.pow or dtype != "u1":
                    pending.append((outcome(function, s, lazy(a)), outcome(function, s, a)))
            for got, want in pending:
                same_outcome(got, want, 4 if function is operator.pow else 0)


def test_nep_50_by_name() -> None:
    """The rules that users meet."""
    u, f, i = (lazy(sample(t)) for t in ("u1", "f4", "i4"))
    with pytest.raises(OverflowError):
        u + 300
    assert np.asarray(u < 300).all()
    assert (f * 2.0).dtype == np.float32
    assert (f * np.float64(2)).dtype == np.float64
    assert (i + True).dtype == np.int32
    assert (i / 2).dtype == np.float64


@pytest.mark.parametrize("function", IN_PLACE)
@one_in(16)
def test_in_place_operators(function: Callable[..., Any]) -> None:
    """In-place operators write to the memory seen by other views, cast as NumPy casts, or raise."""
    with np.errstate(all="ignore"):
        for s in ("?", "u1", "i8", "f4", "f8", "c16"):
            for other in (
                sample("f8", (4,)),
                sample("i1", (3, 1)),
                2,
                0.5,
                sample("i4", (2, 3, 4)),
            ):
                a, b = safe(function, sample(s, (3, 4)), other)
                x = lazy(a)
                view, whole = x[1:], x
                want = outcome(function, a, b)
                got = outcome(function, x, lazy(b))
                if isinstance(want, Exception):
                    same_outcome(got, want)
                else:
                    assert got is whole
                ulp = 4 if function is operator.ipow and s != "c16" else 0
                if function is operator.ipow and s == "c16":
                    continue  # NumPy's own complex power differs in place
                equal(x, a, ulp)
                equal(view, a[1:], ulp)


SHAPES: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda a: a, lambda a: a[0]), (lambda a: a[:, :1], lambda a: a[0]),
    (lambda a: a[::-1], lambda a: a),
    (lambda a: a.T, lambda a: a.T[::-2][:1]), (lambda a: a[:0], lambda a: a[0]),
    (lambda a: a[1, 1], lambda a: a), (lambda a: a[1, 1, ...], lambda a: a[0, 0, ...]),
    (lambda a: a[None], lambda a: a[:, None]), (lambda a: a, lambda a: a[:, :2]),
    (lambda a: a[::2, ::-3], lambda a: a[1::2, ::3][:1]),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(SHAPES)))
@one_in(10)
def test_shapes_broadcast(index: int) -> None:
    """0-d, empty, broadcast and strided operands give NumPy's shapes or its ValueError."""
    left, right = SHAPES[index]
    a = sample("f8", (4, 5))
    x = lazy(a)
    for function in (operator.add, operator.lt, np.maximum):
        same_outcome(
            outcome(lambda f=function: f(left(x), right(x))),
            outcome(lambda f=function: f(left(a), right(a))),
        )


METHODS: dict[str, Callable[[Any], Any]] = {
    "attributes": lambda a: [np.array([*a.shape, a.ndim, a.size, a.itemsize, a.nbytes, len(a)])],
    "T": lambda a: a.T, "mT": lambda a: a.mT, "real": lambda a: a.real, "imag": lambda a: a.imag,
    "flat": lambda a: np.array(list(a.flat)), "reshape": lambda a: a.reshape(2, -1),
    "reshape tuple": lambda a: a.reshape((5, 4)), "transpose": lambda a: a.transpose(1, 0),
    "ravel": lambda a: a.ravel(), "flatten": lambda a: a.flatten("F"), "copy": lambda a: a.copy(),
    "swapaxes": lambda a: a.swapaxes(0, 1), "squeeze": lambda a: a[:1].squeeze(),
    "astype": lambda a: a.real.astype(np.float32), "sum": lambda a: a.sum(axis=1),
    "prod": lambda a: a.prod(0),
    "max": lambda a: a.max(), "min": lambda a: a.min(1, keepdims=True), "any": lambda a: a.any(0),
    "all": lambda a: a.all(), "mean": lambda a: a.mean(0), "argmax": lambda a: a.argmax(1),
    "argmin": lambda a: a.argmin(), "cumsum": lambda a: a.cumsum(),
    "cumprod": lambda a: a.cumprod(1),
    "clip": lambda a: a.clip(1, 3), "round": lambda a: a.round(),
    "argsort": lambda a: a.argsort(kind="stable"),
    "take": lambda a: a.take([1, 2]), "repeat": lambda a: a.repeat(2),
    "nonzero": lambda a: a.nonzero(),
    "diagonal": lambda a: a.diagonal(1), "trace": lambda a: a.trace(), "conj": lambda a: a.conj(),
    "searchsorted": lambda a: np.sort(a, None).searchsorted([1, 2]), "dot": lambda a: a.dot(a.T),
    "compress": lambda a: a.compress([True, False, True], axis=0), "pos": lambda a: +a, "abs": abs,
    "choose": lambda a: (a > 2).astype(int).choose([a, -1]), "neg": lambda a: -a,
    "invert": lambda a: ~a,
    "argpartition": lambda a: a.argpartition(2, axis=1)[:, :0], "ptp": np.ptp,
    "tolist": lambda a: np.array(a.tolist()), "item": lambda a: np.array(a.item(3)),
    "tobytes": lambda a: np.frombuffer(a.tobytes(), np.uint8),
    "iteration": lambda a: [r * 1 for r in a],
    "contains": lambda a: np.array([1 in a, 99 in a]),
    "index": lambda a: np.arange(9)[int(abs(a[0, 0]))],
    "view": lambda a: a.view(np.uint8), "byteswap": lambda a: a.byteswap(),
    "std": lambda a: a.std(),
    "unpacking": lambda a: [*a[0]], "var": lambda a: a.var(axis=0, ddof=1),
}  # fmt: skip


_NEAR = ("std", "var", "mean", "abs")  # abs of complex numbers, by NumPy's hypot


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f4", "f8", "f2", "c16"])
@one_in(32)
def test_methods(name: str, dtype: str) -> None:
    """Methods and attributes give what those of numpy.ndarray give."""
    a = sample(dtype)
    with np.errstate(all="ignore"):
        want = outcome(METHODS[name], a)
        same_outcome(outcome(METHODS[name], lazy(a)), want, 4 if name in _NEAR else 0)


def in_place(a: Any) -> None:
    a.sort(axis=0)
    a.fill(3)
    a[1:].sort()
    a.partition(2, axis=1)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "slices": lambda a, b: a.__setitem__(slice(1, 3), b[:2]),
    "negative": lambda a, b: a[::-1, ::-2].__iadd__(b[:, :3]),
    "overlap": lambda a, b: a[1:].__iadd__(a[:-1]),
    "overlap back": lambda a, b: a[:-1].__setitem__(..., a[1:]),
    "transpose": lambda a, b: a.T.__setitem__(0, 7) or a.T[1:3].__imul__(2),
    "reshape": lambda a, b: a.reshape(-1).__setitem__(slice(None, None, 3), -1),
    "diagonal": lambda a, b: a.reshape(-1)[::6].__imul__(5),
    "ellipsis": lambda a, b: a[...].__isub__(b),
    "element": lambda a, b: a.__setitem__((1, 2), 9) or a.__setitem__((0, -1), a[1, 1]),
    "mask": lambda a, b: a.__setitem__(a > b, 0),
    "mask values": lambda a, b: a.__setitem__(a > b, b[a > b]),
    "mask rows": lambda a, b: a.__setitem__(a[:, 0] > b[:, 0], 1),
    "mask wrong": lambda a, b: a.__setitem__(a[:2] > 0, 1),
    "mask list": lambda a, b: a.__setitem__([True, False, True, False], 5),
    "index": lambda a, b: a.__setitem__([0, 2], b[:2]),
    "index pair": lambda a, b: a.__setitem__(([0, 1], [2, 3]), [7, 8]),
    "index add": lambda a, b: np.add.at(a, [0, 0, 1], 1),
    "index array": lambda a, b: a[:, np.array([0, -1])].__iadd__(1),
    "out of range": lambda a, b: a.__setitem__(9, 1),
    "index out of range": lambda a, b: a.__setitem__([1, 9], 1),
    "broadcast": lambda a, b: a.__setitem__(..., b[0]) or a.__setitem__((slice(None), 0), b[1, 1]),
    "too large": lambda a, b: a.__setitem__(0, b),
    "leading one": lambda a, b: a.__setitem__(0, b[1:2]),
    "list": lambda a, b: a.__setitem__(0, [1, 2, 3, 4, 5]),
    "scalars": lambda a, b: a.__setitem__(0, 2.75) or a.__setitem__(1, True),
    "nan": lambda a, b: a.__setitem__(0, float("nan")),
    "nan of NumPy": lambda a, b: a.__setitem__(0, np.float32("nan")),
    "big": lambda a, b: a.__setitem__(0, 300),
    "a big float": lambda a, b: a.__setitem__(0, 1e300),
    "string": lambda a, b: a.__setitem__(0, "x"),
    "newaxis": lambda a, b: a[:, None].__setitem__(slice(1, 2), 4),
    "empty": lambda a, b: a.__setitem__(slice(3, 1), 4),
    "out": lambda a, b: np.add(a, b, out=a),
    "out view": lambda a, b: np.multiply(a[1:], 2, out=a[:-1]),
    "where": lambda a, b: np.add(a, b, out=a, where=b > 1),
    "where sqrt": lambda a, b: np.negative(b, out=a, where=a > 2, casting="unsafe"),
    "two outs": lambda a, b: np.divmod(b, 3, out=(a, b)),
    "copyto": np.copyto,
    "copyto where": lambda a, b: np.copyto(a, 1, where=b > 1),
    "copyto wrong": lambda a, b: np.copyto(a, b[:2]),
    "put": lambda a, b: np.put(a, [0, 3], 7),
    "put a big one": lambda a, b: np.put(a, [0, 3], 300),
    "place big ones": lambda a, b: np.place(a, b > 1, [300, 7]),
    "mask of big ones": lambda a, b: np.putmask(a, b > 1, [300, 7]),
    "diagonal of big ones": lambda a, b: np.fill_diagonal(a[:, :4], [1, 300, 2, 3]),
    "diagonal of lazy ones": lambda a, b: np.fill_diagonal(a[:, :4], [a[0, 1], 300, b[1, 1], 3]),
    "methods": lambda a, b: in_place(a),
    "broadcast view": lambda a, b: np.broadcast_to(a, (2, 4, 5)).__setitem__(0, 1),
    "list of big ones": lambda a, b: a.__setitem__(0, [300, 1, 2, 3, 4]),
    "list with nan": lambda a, b: a.__setitem__(0, [float("nan"), 1, 2, 3, 4]),
    "places of big ones": lambda a, b: a.__setitem__(([0, 1], [2, 3]), (300, 8)),
    "flat list of big ones": lambda a, b: a.flat.__setitem__(slice(2, 4), [300, 1]),
    "flat": lambda a, b: a.flat.__setitem__(slice(2, 5), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "c16"])
@one_in(32)
def test_writes(name: str, dtype: str) -> None:
    """A write, and every view made before or after it, shows what NumPy would."""
    a, b = sample(dtype, (4, 5), 1), sample(dtype, (4, 5), 2)
    x, y = lazy(a), lazy(b)
    views = [lambda v: v[1:, ::-1], lambda v: v.T, lambda v: v.reshape(-1)[3:9], lambda v: v]
    before = [(view(a), view(x)) for view in views]
    snapshot = a * 1, x * 1
    with np.errstate(all="ignore"):
        want, got = outcome(WRITES[name], a, b), outcome(WRITES[name], x, y)
    if isinstance(want, Exception) or isinstance(got, Exception):
        same_outcome(got, want)
    equal(snapshot[1], snapshot[0])
    for plain, array in [*before, *((view(a), view(x)) for view in views), (b, y)]:
        equal(array, plain)


WRITERS: dict[str, Callable[[Any], Any]] = {
    "put": lambda a: np.put(a, [0, 3], 7), "place": lambda a: np.place(a, a > 2, [7, 8]),
    "putmask": lambda a: np.putmask(a, a > 2, 9), "copyto": lambda a: np.copyto(a, 2),
    "fill_diagonal": lambda a: np.fill_diagonal(a, 5), "put beyond": lambda a: np.put(a, 99, 7),
    "put_along_axis": lambda a: np.put_along_axis(a, np.ones((4, 1), int), 7, 1),
    "put a big one": lambda a: np.put(a, [0, 3], 300), "put none": lambda a: np.put(a, 1, None),
    "of a mask": lambda a: np.copyto(a, np.ma.array(np.ones((4, 5), "u1"), mask=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("state", ["warn", "raise"])
def test_functions_that_write(name: str, state: Any) -> None:
    """NumPy's functions write to lazy arrays, or raise what they raise, whatever errors raise."""
    a = sample("u1", (4, 5), 1)
    x = lazy(a)
    with np.errstate(all=state):
        want, got = outcome(WRITERS[name], a), outcome(WRITERS[name], x)
    assert repr(got) == repr(want)
    equal(x, a)


def test_swaps() -> None:
    """Exchanged names and exchanged contents."""
    a, b = sample("f8"), sample("f8", seed=3)
    x, y = lazy(a), lazy(b)
    for _ in range(5):
        a, b, x, y = b, a, y, x
        a[:], b[:] = b.copy(), a.copy()
        x[:], y[:] = y.copy(), x.copy()
        a[1:] += b[:-1]
        x[1:] += y[:-1]
    equal((x, y), (a, b))


INDICES: list[Any] = [
    0, -1, (1, 2), slice(1, 3), (slice(None), -1), (Ellipsis, 0), (None, 1), [0, 2],
    ([0, 1], [1, 2]),
    (slice(None), [3, 0]), ([[0, 1], [2, 3]],), ([0, 1], slice(1, 3)), ([0], None, [1]),
    np.array(2),
    np.array([True, False, True, True]), ([True, False, True, True], 1), 9, (0, 0, 0), [9], "x",
    1.5,
    (np.int8(1), np.uint8(2)), [], (), ..., np.array([[0], [1]]), True, None, slice(None, None, -2),
    (np.array([0, 1]), Ellipsis, np.array([1, 1])), np.array([-4, 3]), np.array([-5]),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(INDICES)))
def test_reads(index: int) -> None:
    """Every kind of index reads what NumPy reads, or raises its kind of error."""
    key = INDICES[index]
    a = sample("f8")
    same_outcome(outcome(lambda: np.asarray(lazy(a)[key])), outcome(lambda: a[key]))
    if isinstance(key, np.ndarray):
        same_outcome(outcome(lambda: np.asarray(lazy(a)[lazy(key)])), outcome(lambda: a[key]))


def test_scalars_are_values() -> None:
    """An element read is a number: later writes do not change it, ``+=`` binds the name anew."""
    x = lazy(sample("f8"))
    first, total = x[0, 0], x.sum()
    was, same = float(first), total
    x[0, 0] += 5
    total += 1
    assert float(first) == was
    assert float(total) == float(same) + 1
    assert float(x[0, 0]) == was + 5


def test_array_protocol() -> None:
    """np.asarray gives a read-only view that sees later writes; dtype and copy are honoured."""
    x = lazy(sample("f8"))
    seen, copied = np.asarray(x), np.array(x)
    assert not seen.flags.writeable
    assert copied.flags.writeable
    x[1:] *= 2
    x += 1
    equal(seen, x)
    assert not np.array_equal(copied, seen)
    assert np.asarray(x, np.float32).dtype == np.float32
    assert np.asarray(x, dtype="f8") is not None
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.float32, copy=False)
    assert np.shares_memory(np.asarray(x[1:]), np.asarray(x))


def test_conversions() -> None:
    """float, int, bool, complex, index, repr, str, format, hash, as NumPy's arrays answer."""
    for a in (
        np.array(2.5),
        np.array([3]),
        sample("i4"),
        np.array(4),
        np.array(True),
        sample("f8"),
    ):
        for function in (
            int,
            bool,
            complex,
            operator.index,
            str,
            len,
            lambda v: format(v, ""),
            hash,
        ):
            want, got = outcome(function, a), outcome(function, lazy(a))
            assert type(got) is type(want) or isinstance(want, type(got))
            assert isinstance(want, Exception) or got == want
    assert float(lazy(np.array(2.5))) == 2.5
    assert f"{lazy(np.array(2.5)):.2f}" == "2.50"
    assert repr(lazy(np.arange(2))) == "Array([0, 1])"
    with pytest.raises(AttributeError):
        lazy(np.arange(2)).no_such_name  # noqa: B018


def test_copies() -> None:
    """pickle, copy and deepcopy complete what is pending and share nothing."""
    x = lazy(sample("f8")) * 2
    others = (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.copy())
    for other in others:
        assert type(other) is fc.Array
        equal(other, np.asarray(x))
        other[...] = other + 1
        assert not np.array_equal(np.asarray(other), np.asarray(x))


def test_dlpack() -> None:
    """A DLPack export sees writes through the array, the array writes to the export."""
    x = lazy(sample("f8"))
    export = np.from_dlpack(x)
    equal(export, x)
    x += 1
    equal(export, x)
    view = x[1:]
    if export.flags.writeable:
        export[...] = 7
        equal(view * 1, np.full((3, 5), 7.0))


def test_namespace() -> None:
    """``__array_namespace__`` is the package's NumPy namespace."""
    assert lazy(np.arange(3)).__array_namespace__().__name__ == "fusecuda.numpy"


@pytest.mark.parametrize("size", (10, 100_000))
def test_a_shape_that_is_assigned_is_the_arrays_own(size: int) -> None:
    a = fc.numpy.arange(float(size)) * 2
    same, across = a, a.T
    a.shape = (2, -1)
    assert same.shape == (2, size // 2) and across.shape == (size,)
    a[1, 0] = -1
    assert across[size // 2] == -1
    inner = a[:, 1:]
    inner.shape = (2, 1, -1)
    inner += 1
    assert a[0, :3].tolist() == [0, 3, 5]
    with pytest.raises(AttributeError, match="in-place"):
        a.T.shape = (size,)
    with pytest.raises(ValueError, match="cannot reshape"):
        a.shape = (size + 1,)
    a.flat = [1, 2]
    assert a.sum() == 1.5 * size


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5 on
def test_a_function_that_shapes_its_argument_runs_as_it_stands() -> None:
    @fc.fused
    def f(a: Any) -> Any:
        a.shape = (2, -1)
        return a.sum(axis=0)

    for _ in range(3):
        x = np.arange(6.0)
        assert f(x).tolist() == [3, 5, 7] and x.shape == (2, 3)


@pytest.mark.parametrize("key", [1, (1, ...), slice(1, 2)], ids=str)
def test_what_is_written_to_one_element(key: Any) -> None:
    """No array, unless to a view of it, and no list that is deeper than what is written."""

    def written(x: Any, value: Any) -> Any:
        x[key] = value
        return x

    ones: list[Any] = [np.ones(1), np.ones((1, 1)), np.ones(2), np.ones(()), 1.0]
    for value in [*ones, [1.0], (1.0,), [1.0, 2.0], [[1.0]], [np.ones(1)]]:
        got = outcome(written, lazy(np.zeros(3)), value)
        same_outcome(got, outcome(written, np.zeros(3), value))
