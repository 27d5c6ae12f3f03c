"""What NumPy writes in Python over other functions, and what leaves NaN out: as NumPy does it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.streams.launches import LaunchCounter
from tests.capture_check import lazy, outcome, same_outcome, sample
from tests.marks import one_in

pytestmark = pytest.mark.usefixtures("both_ways")

A = sample(np.float64, (4, 5), 1)
B = sample(np.float64, (4, 5), 2)
F = sample(np.float32, (4, 5), 3)
I = sample(np.int32, (4, 5), 4)  # noqa: E741 - NumPy code's own name for integers
U = sample(np.uint8, (4, 5), 5)
M = sample(np.bool_, (4, 5), 6)
V = sample(np.float64, (5,), 7)
N = np.where(sample(np.bool_, (4, 5), 8), np.nan, A)
G = N.astype(np.float32)
E = np.where(np.arange(5) == 2, np.nan, A)  # a column has nothing but NaN
C = sample(np.float64, (3, 4, 2), 9)
Z = sample(np.complex128, (4, 5), 10)
NZ = np.where(M, np.nan, Z)
H = sample(np.float16, (4, 5), 11)
S = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 2.5])
ZERO_D, EMPTY = np.array(2.5), np.empty((0, 3))

Case = tuple[tuple[Any, ...], dict[str, Any]]


def case(*args: Any, **kwargs: Any) -> Case:
    return args, kwargs


def each(*arrays: Any) -> list[Case]:
    return [case(a) for a in arrays]


OVER = [case(N), case(N, 0), case(E, 0), case(N, -1), case(G, 1), case(A), case(I, 0),
        case(N, (0, 1)),
        case(N, axis=1, keepdims=True), case(ZERO_D), case(N, 4),
        case(H), case(Z), case(NZ)]  # fmt: skip

CASES: dict[str, list[Case]] = {
    "nanmax": [*OVER, case(EMPTY), case(S), case(N, initial=2.0)],
    "nanmin": [*OVER, case(EMPTY), case(S), case(N, where=M, initial=3.0)],
    "nanmean": [*OVER, case(G, dtype=np.float64), case(N, where=M), case(U)],
    "nanvar": [*OVER, case(N, 0, ddof=1), case(G, ddof=7), case(E, 0, ddof=3)],
    "nanstd": [*OVER, case(N, 0, ddof=1), case(G, 1, ddof=2)],
    "gradient": [
        *each(A, F, I, V, C, U, Z, H), case(A, 0.5), case(A, 2, axis=1), case(A, axis=(0, 1)),
        case(V, V.cumsum() + np.arange(5) ** 2), case(A, 0.5, 2.0), case(A, edge_order=2),
        case(A, axis=3), case(A[:1]), case(A, 1, 2, 3), case(A, edge_order=3),
        case(A, 0.1, axis=-1),
    ],
    "trapezoid": [
        *each(A, F, I, V, C, Z), case(A, dx=0.5), case(A, V), case(A, axis=0), case(A, B, axis=1),
        case(A, V, axis=0), case(EMPTY, axis=0), case(C, dx=2.0, axis=1), case(A, axis=2),
    ],
    "polyval": [case([1.0, -2.0, 3.0], A), case([2, 1], I), case(V, A), case([1.5], F), case([], A),
                case([1, 2j], A), case(V, 2.0)],
    "piecewise": [
        case(A, [A < 0, A > 1], [-1, 1, 0]), case(A, [A < 0], [np.negative, np.square]),
        case(I, [I > 2], [7]), case(F, F > 0, [np.sqrt, 2.0]), case(ZERO_D, [ZERO_D > 0], [5.0]),
        case(A, [A < 0, A > 1, A > 2], [1]), case(EMPTY, [EMPTY > 0], [1.0]),
    ],
    "unwrap": [case(A), case(V * 3), case(A, axis=0), case(A, 2.0), case(F), case(I, period=5),
               case(I, period=4), case(A, axis=4)],
    "sinc": each(A, F, I, S, ZERO_D, M),
    "fix": [*each(A / 3, F, I, S, ZERO_D), case(U)],
    "isposinf": [*each(S, A, I, S.astype(np.float32)), case(Z)],
    "isneginf": [*each(S, A, I, ZERO_D), case(Z)],
    "cross": [
        case(A[:, :3], B[:, :3]), case(A[:3], B[:3], axis=0), case(I[:, :3], F[:, :3]),
        case(V[:3], A[:, :3]), case(A, B), case(ZERO_D, V[:3]), case(C[:, :3], C[:, :3], 1, 1, 1),
    ],
    "isclose": [case(A, B), case(A, A + 1e-9), case(S, S), case(S, S, equal_nan=True), case(I, I),
                case(F, A, 1e-2, 1e-2), case(A, 1.0), case(A, V), case(A, np.ones(3)), case(2, I)],
    "allclose": [case(A, A), case(A, B), case(S, S), case(S, S, equal_nan=True), case(I, 3)],
    "array_equal": [case(A, A), case(A, B), case(A, V), case(S, S), case(S, S, equal_nan=True)],
    "outer": [case(V, V), case(A, V), case(I, F), case(ZERO_D, V), case(EMPTY, V), case(Z, V)],
    "tile": [case(A, 2), case(A, (2, 1)), case(V, (2, 3)), case(A, (1, 2, 2)), case(A, 0),
             case(ZERO_D, 3), case(C, (1, 1)), case(C[::-1], (2, 1, 3, 2)), case(A, V),
             case(EMPTY, (2, 2)), case(A.T, 1), case(A, ()), case(Z, (3, 2)), case(A, (1, 1)),
             case(I, (2, -1))],
    "rot90": [*each(A, V, C, I, Z), *(case(A, k) for k in (2, 3, 4, -1)), case(C, 1, (1, 2)),
              case(C, 3, axes=(0, -1)), case(A, 1, (0, 0)), case(A, 1, (0, 5))],
    "cov": [case(A), case(A, bias=True), case(A, B), case(A, rowvar=False), case(V, V * 2), case(F),
            case(I, ddof=2), case(V), case(A, fweights=[1, 2, 1, 3, 1]), case(Z)],
    "corrcoef": [case(A), case(V, V[::-1] * 2 + 1), case(A, rowvar=False), case(F), case(A, B)],
    "average": [
        case(A), case(I), case(A, 0), case(A, axis=1, weights=np.abs(V) + 1),
        case(F, 1, keepdims=True),
        case(A, weights=B * B), case(A, 1, V * 0), case(A, 0, returned=True), case(I, 1, U[0] + 1),
        case(A, weights=V), case(A, (0, 1)), case(M),
    ],
    "angle": [*each(A, I, S, F, Z), case(A, deg=True), case(ZERO_D)],
    "ediff1d": [*each(A, I, V, EMPTY, ZERO_D), case(V, 99), case(V, to_begin=[1.0, 2.0]),
                case(A, A, V), case(I, 2.5), case(F, [1], to_begin=V), case(A.T, 0, [[1, 2]])],
    "split": [case(A, 2), case(A, 5, axis=1), case(A, 3), case(V, [1, 3]), case(A, (2, 9), 1),
              case(C, 2, -1), case(A, 2, 4), case(ZERO_D, 1), case(H, 2), case(Z, 4)],
    "array_split": [case(A, 3), case(A, 3, axis=1), case(V, 7), case(A, 0), case(I, [0, 2, 2])],
    "hsplit": [case(A, 5), case(V, 5), case(V, [2]), case(A, 2), case(ZERO_D, 1)],
    "vsplit": [case(A, 2), case(A, [1]), case(V, 1)],
    "dsplit": [case(C, 2), case(A, 1)],
    "atleast_3d": [*each(ZERO_D, V, A, C, Z), case(A, V)],
    "i0": each(V, F, I, ZERO_D, H, EMPTY, Z),
}  # fmt: skip
INEXACT = {"nanvar": 8, "nanstd": 8, "nanmean": 4, "trapezoid": 8, "sinc": 8, "cov": 64,
           "corrcoef": 64, "average": 16, "angle": 4, "unwrap": 64, "i0": 16}  # fmt: skip

PARAMETERS = [
    pytest.param(getattr(np, name), args, kwargs, id=f"{name}-{i}")
    for name, cases in CASES.items()
    for i, (args, kwargs) in enumerate(cases)
]


def computed(value: Any) -> Any:
    if isinstance(value, fc.Array):
        return np.asarray(value)
    return type(value)(map(computed, value)) if type(value) in (list, tuple) else value


def said_by(function: Callable[..., Any], *args: Any) -> Any:
    """The outcome; NumPy's warnings about values, which kernels do not see, are left out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return outcome(function, *args)


@pytest.mark.parametrize(("function", "args", "kwargs"), PARAMETERS)
@one_in(24)
def test_function(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Recorded, it gives what it gives on NumPy arrays, or raises as it does."""
    want = said_by(lambda: function(*args, **kwargs))
    got = said_by(
        lambda: computed(function(*lazy(args), **{k: lazy(v) for k, v in kwargs.items()}))
    )
    same_outcome(got, want, INEXACT.get(function.__name__, 0))


@pytest.mark.parametrize(("function", "args", "kwargs"), PARAMETERS[::4])
@one_in(24)
def test_inside_fused(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """With NumPy's exact type: scalar, array, tuple or bool."""

    def call(*inner: Any) -> Any:
        return function(*inner, **kwargs)

    fused, want = fc.fused(call), said_by(call, *args)
    for _ in range(3):
        got = said_by(fused, *args)
        same_outcome(got, want, INEXACT.get(function.__name__, 0))
        assert isinstance(want, Exception) or type(got) is type(want)


def filled(a: Any) -> Any:
    made = a * 2
    np.fill_diagonal(made[:, 1:], a[0])
    return made + 1


LARGE = np.linspace(-3.0, 3.0, 60000).reshape(300, 200)
ONE_LAUNCH: dict[str, Callable[[Any], Any]] = {
    "trapezoid": lambda a: np.trapezoid(a, axis=1),
    "polyval": lambda a: np.polyval([1.0, 2.0, 3.0], a),
    "sinc": lambda a: np.sinc(a) + 1,
    "isclose": lambda a: np.isclose(a, 1.0),
    "outer": lambda a: np.outer(a[0], a[1]),
    "tile": lambda a: np.tile(a * 2, (2, 3)) + 1,
    "repeats": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1) * 2,
    "convolve": lambda a: np.convolve(a[0], a[1, :9], "same") + 1,
    "correlate": lambda a: np.correlate(a.ravel(), a[1, :20], "full") + 1,
    "diag": lambda a: np.diag(a[0] * 2, 3) + 1,
    "diagflat": lambda a: np.exp(np.diagflat(a[0], -1)),
    "ediff1d": lambda a: np.ediff1d(a, 1.0, [2.0, 3.0]) + 1,
    "rot90": lambda a: np.rot90(a * 2) + 1,
    "vander": lambda a: np.vander(a[0] * 2, 5) + 1,
    "fill_diagonal": filled,
    "nanmean": lambda a: np.nanmean(a, axis=1),
    "nanvar": lambda a: np.nanvar(a, axis=1),
    "nanmax": lambda a: np.nanmax(a, axis=0),
    "average": lambda a: np.average(a, axis=0),
    "split": lambda a: sum(np.split(a * 2, 4, axis=1)),
    "hsplit": lambda a: np.multiply(*np.hsplit(np.exp(a), 2)),
    "angle": lambda a: np.angle(a) + 1,
    "i0": lambda a: np.i0(a) + 1,
}


@pytest.mark.parametrize("name", ONE_LAUNCH)
@one_in(8)
def test_one_launch(name: str) -> None:
    call = ONE_LAUNCH[name]
    with LaunchCounter() as counter:
        got = fc.fused(call)(LARGE)
    assert counter.total == 1
    np.testing.assert_allclose(got, call(LARGE), rtol=1e-12, atol=1e-15)


def test_a_gradient_costs_its_edges() -> None:
    """The interior in one launch, each edge in one of its own."""
    executable = fc.lower(lambda a: np.gradient(a, axis=0), LARGE)
    moved = sum(k.bytes_read + k.bytes_written for k in executable.kernels)
    assert moved < 4.1 * LARGE.nbytes


LOGSUMS: dict[str, Callable[..., Any]] = {
    "logsumexp": lambda f, a: f(a, axis=1),
    "logsumexp, kept": lambda f, a: f(a, axis=0, keepdims=True),
    "logsumexp, all": lambda f, a: f(a),
    "logsumexp, weights": lambda f, a: f(a, b=2.0),
    "softmax": lambda f, a: f(a, axis=1),
    "log_softmax": lambda f, a: f(a, axis=-1),
}


@pytest.mark.parametrize("name", LOGSUMS)
@one_in(16)
def test_scipys_sums_of_exponentials(name: str) -> None:
    """Python functions of SciPy's that are kernels in fused code; with infinities as SciPy's."""
    special = pytest.importorskip("scipy.special")
    function, call = getattr(special, name.partition(",")[0]), LOGSUMS[name]
    ends = np.array([[-np.inf, -np.inf], [np.inf, 1.0], [np.nan, 1.0], [1e4, -1e4], [-np.inf, 3.0]])
    fused = fc.fused(lambda a: call(function, a))
    for a in (LARGE, LARGE.astype(np.float32), (LARGE * 3).astype(int), ends):
        with np.errstate(all="ignore"):
            want = call(function, a)
        for _ in range(2):
            got = fused(a)
            assert np.asarray(got).dtype == np.asarray(want).dtype
            close = 1e-12 if np.asarray(want).dtype == np.float64 else 1e-5
            np.testing.assert_allclose(got, want, rtol=close, atol=close)
    with LaunchCounter() as counter:
        fused(LARGE)
    assert counter.total == (0 if "weights" in name else 1)


@pytest.mark.parametrize("name", ["corrcoef", "gradient", "cov"])
def test_lines_are_the_users(name: str) -> None:
    """Not those of NumPy's text, which is ours to run."""
    function = fc.fused(lambda x: getattr(np, name)(x * 2), strict=True)
    for _ in range(2):
        found = function(A)
    assert "test_borrowed.py" in function.explain() and "_base_impl.py" not in function.explain()
    assert np.shape(found)[-1] == (5 if name == "gradient" else 4)
