"""NumPy's functions on lazy arrays: those in the dispatch table, and those that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.arrays.dispatch import TABLE
from tests.capture.arrays.test_borrowed import CASES as BORROWED
from tests.capture.arrays.test_borrowed import A, B, C, F, I, M, N, U, V, Z
from tests.capture_check import equal, lazy, outcome, same_outcome, sample
from tests.marks import one_in

pytestmark = pytest.mark.usefixtures("both_ways")

H = sample(np.float16, (4, 5), 11)
ZERO_D = np.array(2.5)
EDGES = np.array([-3.0, -0.5, -0.0, 1.0, 1.0, 2.5, 7.0])
V7 = np.array([0.25, -3.0, 7.5, 1.0, 2.0, np.inf, -1.0])
NAN_LAST = np.array([-1.0, 0.5, 2.0, np.nan])
EMPTY = np.empty((0, 3))
EVERY = (A, F, I, U, M, C, ZERO_D)

Case = tuple[tuple[Any, ...], dict[str, Any]]


def case(*args: Any, **kwargs: Any) -> Case:
    return args, kwargs


def each(*arrays: Any) -> list[Case]:
    return [case(a) for a in arrays]


INITIALS = [
    case(A, initial=None), case(EMPTY, initial=None), case(F, 0, initial=[2.0]),
    case(C, 0, initial=np.ones(5)), case(F, initial=np.float64(1.5)), case(A, initial=()),
]  # fmt: skip
ODD = [  # keywords of other kinds than those that are documented
    *(case(A, 0, keepdims=k) for k in (1, 0, 2, None, np.int8(1), 1.5)),
    *(case(A, axis=k) for k in (True, (0, True), [0], np.int8(1), np.array([0]), 1.0)),
]
MASKS = [case(A, 0, where=k) for k in (1, 1.5, [[2], [0], [1], [1]], I, np.int8(1), A)]
SUMS = [
    *each(*EVERY, EMPTY, H, Z),
    case(A, 0), case(A, axis=1, keepdims=True), case(C, (0, 2)), case(C, -1),
    case(I, dtype=np.float32), case(F, 0, np.float64), case(A, where=M), case(A, initial=2.0),
    case(A, axis=2), case(A.T, 0), case(A[::-2, ::2], 1), case(EMPTY, 0), case(M, dtype=bool),
    *INITIALS, *ODD, *MASKS,
]  # fmt: skip
EXTREMES = [
    *each(*EVERY, N, Z, H), case(A, 0), case(C, (0, 1), keepdims=True), case(EMPTY), case(EMPTY, 1),
    case(A, initial=3.0), case(A, where=M, initial=-100.0), case(A, axis=5), *INITIALS,
    *ODD,
]  # fmt: skip
ARGS = [
    *each(*EVERY, N), case(A, 0), case(A, -1, keepdims=True), case(EMPTY), case(A, axis=7), *ODD,
]  # fmt: skip
LOGICAL = [
    *each(*EVERY, EMPTY, N), case(M, 0), case(M, axis=(0, 1)), case(M, 1, where=A > 0),
    *ODD, *MASKS,
]  # fmt: skip
MOMENTS = [
    *each(A, F, I, U, M, C, ZERO_D, H, Z), case(A, 0), case(A, 1, keepdims=True), case(C, (0, 2)),
    case(F, dtype=np.float64), *ODD, *MASKS,
]  # fmt: skip
FILTERS = [
    *(case(A.ravel(), V, mode) for mode in ("full", "same", "valid", "odd")),
    *(case(V, A.ravel(), mode) for mode in ("full", "same", "valid")), case(V, V[:4], "same"),
    case(F[0], I[1], "same"), case(U[0], U[1, :2], "full"), case(M[0], M[1, :3], "full"),
    case(H[0], H[1], "full"), case(Z[0], V), case(I[0], I[1, ::-2]), case(A, V), case(V, ZERO_D),
    case(V[:0], V), case(V, V[:0]), case(V, [1, 2]), case(A.ravel(), B.ravel(), "same"),
    case(np.array([np.inf, 1.0, np.nan, -0.0, 2.0]), V[:3], "full"), case(U[0], U[1, :2], 2),
    case(-V * 0, V[:2], "same"), case(V, np.array([1.0, np.inf, np.nan]), "full"), case(V, V),
]  # fmt: skip
SORTS = [*each(A, F, I, M, N, V), case(A, 0), case(A, axis=None), case(A, kind="stable")]
FLIPS = [*each(A, V, C), case(A, 0), case(C, (0, 2)), case(A, 3)]
SCANS = [*each(A, F, I, U, M, V), case(A, 0), case(C, 1), case(I, dtype=np.float64), case(A, 4)]
PLACES = [*each(*EVERY, N, Z, H, EMPTY), case(A.T), case(A[::-2, ::2]), case(A > 9), case([0, 3])]
LIKES = [
    *each(A, F, I, U, M, ZERO_D, EMPTY), case(A, dtype=np.int8), case(A, shape=(2, 3)),
    case(F, np.float64), case(A, shape=3),
]  # fmt: skip

CASES: dict[str, list[Case]] = {
    "sum": SUMS, "prod": SUMS, "nansum": [*each(A, N, I, F, H, Z), case(N, 0)],
    "nanprod": [*each(A, N, I), case(N, 1, keepdims=True)],
    "max": EXTREMES, "min": EXTREMES, "any": LOGICAL, "all": LOGICAL,
    "argmax": ARGS, "argmin": ARGS,
    "mean": MOMENTS, "var": [*MOMENTS, case(A, ddof=1), case(A, dtype=complex)],
    "std": [*MOMENTS, case(A, ddof=1)],
    "ptp": [*each(A, F, I, U, M, C), case(A, 0), case(A, 1, keepdims=True)],
    "real": each(A, F, I, Z), "imag": each(A, I, Z),
    "nan_to_num": [*each(A, N, F, I), case(N, nan=1.5), case(N, posinf=2.0, neginf=-3.0)],
    "count_nonzero": [*each(*EVERY, EMPTY), case(A, 0), case(A, axis=1, keepdims=True)],
    "where": [
        case(M, A, B), case(M, A, 0), case(M, 1.5, F), case(M, I, 2.5), case(M, I, U),
        case(A, A, V),
        case(M), case(M, A, None), case(M, 1, 2), case(True, A, B), case(M, H, F), case(M, Z, A),
        case(np.array(True), np.float32(1), 2.0), case(M[0], A, B[:, :1]), case(M, U, 300),
    ],
    "clip": [
        case(A, -1, 1), case(A, None, 1), case(A, -1, None), case(F, -1.5, 2), case(I, -2, 3),
        case(U, 2, 5), case(I, -1.5, 2.5), case(A, B, 2), case(A, min=0), case(A, max=0),
        case(A, 2, 1), case(N, -1, 1), case(U, -1, 5), case(U, 0, 300), case(M, 0, 1),
        case(A, V, 3),
        case(A), case(H, -1, 1), case(F, np.float64(-1), 1), case(ZERO_D, 0, 1),
    ],
    "bincount": [
        case(U[0]), case(U[0], minlength=300), case(U[0], V, 256), case(U[1], weights=F[0]),
        case(M[0], minlength=2), case(I[0]), case(U), case(A[0]), case(U[0], V[:3]), case(I[0, :0]),
        case(np.array([3, 1, 3]), minlength=4), case(np.array([3, 1, 3]), minlength=3),
    ],
    "histogram2d": [
        case(V, V), case(V, V[::-1], 3), case(A[0], B[0], [2, 3]), case(V, V, (2, EDGES)),
        case(V, V, EDGES, density=True), case(I[0], I[1], 4, [[0, 3], [-1, 2.5]]),
        case(A[0], B[0], 3, weights=V), case(A[0], B[0], 3, [None, (-1, 1)]), case(A[0], V[:2]),
        case(N[0], N[1], 3), case(F[0], F[1], 4, density=True), case(V[:0], V[:0], 2),
        case(A, B), case(V, V, [2, 3, 4]), case(V, V, 0), case(H[0], H[1], 3), case(C[0], C[0]),
    ],
    "histogram": [
        *each(A, F, I, U), case(A, 5, (-1, 1)), case(F, 3, (-1.0, 1.0), density=True),
        case(I, 4, (0, 3)), case(N, 6, (-2, 2)), case(A, 5, (1, 1)), case(A, 5, (2, 1)),
        case(A, [0, 1, 2]), case(A, 4, (-1, 1), weights=B), case(H, 3, (-1, 1)),
        *[case(a, EDGES) for a in (A, F, I, U, M, N, C, ZERO_D, EMPTY, Z)], case(A, [1, 3, 0]),
        case(F, EDGES.astype("f4"), density=True), case(I, [-2, 0, 3]), case(A, [1]), case(A, A),
        case(A, NAN_LAST), case(A, EDGES, (0, 1)), case(A, EDGES, weights=B), case(A, [0, 0, 1]),
        case(ZERO_D, 2, (0, 5)), case(EMPTY, 3, (0, 1)), case(A, 0, (0, 1)), case(A, 2.5, (0, 1)),
    ],
    "searchsorted": [
        *[case(EDGES, a) for a in (A, F, I, U, M, H, N, C, ZERO_D, EMPTY, Z, A.T, A[::-1])],
        *[case(np.arange(7).astype(t), A) for t in ("f4", "f2", "i8", "u1", "?", "c16")],
        case(EDGES, A, "right"), case(EDGES, A, side="right"), case(EDGES, A, "middle"),
        case(EDGES, 1.5), case(I[0], 2), case(EDGES, [0, 1.5]), case(EDGES[:0], A), case(A, A),
        case(EDGES[::-1], A, sorter=np.arange(7)[::-1]), case(ZERO_D, A), case(NAN_LAST, N, "left"),
        case(NAN_LAST, N, "right"), case(np.arange(5), A), case(np.arange(9, dtype="u8"), I),
    ],
    "digitize": [
        *[case(a, EDGES) for a in (A, F, I, U, M, H, N, C, ZERO_D, EMPTY, Z, A.T)],
        case(A, [0.2, 1, 4]), case(A, EDGES, True), case(A, EDGES, right=True), case(1.5, EDGES),
        case(A, EDGES[::-1]), case(A, [3, 1, 0], right=True), case(A, [1, 3, 0]), case(A, [1]),
        case(A, []), case(A, A), case(A, NAN_LAST), case(I, [1, 3]), case(F, np.arange(4)),
        case(A, [2, 2, 2]), case([0, 3], EDGES), case(A, np.array([3, 1, 0])), case(A, [1j, 2j]),
    ],
    "interp": [
        *[case(a, EDGES, V7) for a in (A, F, I, U, M, H, N, C, ZERO_D, EMPTY, Z, A.T, A[::-1])],
        *[case(A, np.arange(7).astype(t), V7) for t in ("f4", "f2", "i8", "u1", "c16")],
        *[case(A, EDGES, V7.astype(t)) for t in ("f4", "f2", "?", "c16")],
        case(A, EDGES, EDGES % 3), case(A, EDGES, np.arange(7)),
        case(A, EDGES, V7, -3, 1), case(A, EDGES, V7, left=np.nan, right=np.float32(2)),
        case(A, EDGES, V7, 1j), case(A, EDGES, V7, right=ZERO_D), case(A, EDGES, V7, left=V7[:1]),
        case(A, EDGES, V7, period=3.5), case(A, EDGES, V7[:3]), case(A, EDGES[:0], V7[:0]),
        case(N, EDGES[:1], V7[:1]), case(A, EDGES[:1], V7[:1], -1, -2), case(1.5, EDGES, V7),
        case(A, [0, 4, 8], [1.0, 3.0, 2.0]), case([0.5, 3], EDGES, V7), case(A, NAN_LAST, N[0, :4]),
        case(A * 1e300, EDGES, V7 * 1e300), case(A, A, V7), case(A, EDGES, V7, 10**400),
        case(np.array([2.0, 1, np.nan, -1, 3]), [1, 2, 2, 3, 3], [np.inf, 1, 2, -np.inf, np.nan]),
    ],
    "choose": [
        case(M, [A, B]), case(M, [A, V]), case(M, [F, A]), case(M, (I, U)), case(U, [A, B]),
        case(M, [A]), case(M, [A, B], mode="clip"), case(M, [A, 1.5]), case(M, C[:2]),
    ],
    "round": [*each(A, F, I, M, H, N), case(A / 3, 2), case(F / 3, 1), case(I, 1), case(I, -1),
              case(A * 37, -1), case(ZERO_D), case(A, decimals=0), case(I, 2**40)],
    "astype": [case(A, t) for t in (bool, np.int8, np.float32, np.float16, complex)]
    + [case(A, np.int32, copy=False), case(Z, np.float64), case(I, "U5"),
       case(A, float, copy=False)],
    "copy": [*each(*EVERY), case(A.T), case(A[::-1])],
    "reshape": [case(A, (5, 4)), case(A, -1), case(A, (2, -1)), case(A.T, (2, 10)), case(A, (3, 7)),
                case(A, (-1, -1)), case(A, (2, 10), order="F"), case(A, (20,), copy=True),
                case(A.T, -1, copy=False), case(EMPTY, (3, 0)), case(ZERO_D, (1, 1))],
    "ravel": [*each(*EVERY), case(A.T), case(A, "F"), case(A, order="K")],
    "transpose": [*each(A, C, V, ZERO_D), case(C, (1, 2, 0)), case(C, (0, -1, 1)), case(C, (0, 1)),
                  case(A, axes=(1, 0)), case(C, (0, 0, 1))],
    "matrix_transpose": each(A, C, V),
    "swapaxes": [case(C, 0, 2), case(C, -1, 1), case(C, 0, 3)],
    "moveaxis": [case(C, 0, -1), case(C, (0, 1), (1, 2)), case(C, 3, 0)],
    "squeeze": [case(C[:1]), case(C[:1, :, :1]), case(C[:1], 0), case(C, 0), case(A)],
    "expand_dims": [case(A, 0), case(A, -1), case(A, (0, 2)), case(A, 5), case(A, np.array([0]))],
    "broadcast_to": [case(V, (3, 5)), case(A, (2, 4, 5)), case(A, (4, 6)), case(ZERO_D, (2, 2)),
                     case(V, 5)],
    **dict.fromkeys(("flip", "fftshift", "ifftshift"), FLIPS),
    "diagonal": [*each(A, C), case(A, 1), case(A, -2), case(A, 9), case(C, 0, 1, 2), case(V)],
    "trace": [*each(A, I, F, C), case(A, 1), case(I, dtype=np.float32), case(V)],
    "concatenate": [case([A, B]), case((A, F), 1), case([A, I, M]), case([V, V, V]), case([A, V]),
                    case([A, B], None), case([A, B], axis=-1), case([A, [[1] * 5]]), case([]),
                    case([A, B], dtype=np.float32), case([A, B], dtype=np.int8), case([ZERO_D, V]),
                    case([H, F]), case(C), case([A, B], 2), case([A, EMPTY])],
    "block": [case([[A, B], [B, A]]), case([A, F]), case(A), case([[V, 1.0, 2]]), case([[A], [V]]),
              case([V, I[0], 3]), case([[[A]], [[B]]]), case([[A, A.T]]), case([[A, A], B]),
              case([]), case([[A, V]]), case((A, B)), case([[C], [C]]), case(ZERO_D),
              case([[1, I[:1]]])],
    "stack": [case([A, B]), case([A, F], 1), case([V, V], -1), case([A, V]), case([A, B], axis=3),
              case([ZERO_D, ZERO_D]), case([A, B], dtype=np.float32, casting="same_kind")],
    "hstack": [case([A, B]), case([V, V]), case([ZERO_D, V])],
    "vstack": [case([A, B]), case([V, V]), case([V, A]), case([V, A], dtype=np.float32)],
    "atleast_1d": [case(A), case(ZERO_D), case(A, ZERO_D), case(3)],
    "atleast_2d": [case(A), case(V), case(ZERO_D), case(V, C)],
    "pad": [case(A, 1), case(A, ((1, 2), (0, 3))), case(A, (1, 2)), case(V, 2, constant_values=7),
            case(I, 1, constant_values=2.7), case(A, 1, "edge"), case(A, 1, mode="reflect"),
            case(A, -1), case(M, 1, constant_values=True),
            case(A, 1, constant_values=((1, 2), (3, 4)))],
    "roll": [case(A, 1), case(A, -2, 1), case(A, (1, 2), (0, 1)), case(V, 7), case(A, 3, (0, 1)),
             case(A, 1, 0), case(A, 0), case(EMPTY, 1, 0), case(A, 1, 4)],
    "diff": [case(A), case(A, 2), case(A, 1, 0), case(M), case(U), case(A, 9), case(A, axis=0),
             case(A, prepend=0), case(A, n=0), case(A, -1), case(ZERO_D)],
    "take": [case(A, [0, 3]), case(A, [1, -1], 1), case(A, I % 4, 0), case(A, 2), case(A, 1, 1),
             case(A, [0, 30], mode="clip"), case(A, [99]), case(V, np.array([[0, 1], [2, 3]]))],
    "matmul": [case(A, B.T), case(A, V), case(F, F.T), case(I, I.T), case(C, C[:, :2]), case(A, B),
               case(V, V), case(A, 2.0), case(M, M.T)],
    "dot": [case(A, B.T), case(A, V), case(V, V), case(A, 2.0), case(A, B), case(ZERO_D, A),
            case(C, A[:2])],
    "sort": SORTS, "argsort": SORTS,
    "cumsum": SCANS, "cumprod": SCANS, "nancumsum": SCANS, "nancumprod": [*SCANS, case(N, 1)],
    "append": [case(A, B), case(A, V), case(A, [[1] * 5], 0), case(A, B, axis=1), case(A, 3),
               case(I, F)],
    "column_stack": [case([V, V]), case([A, A[:, 0]]), case((A, F)), case([ZERO_D, [1.5]])],
    "dstack": [case([A, B]), case([V, V]), case([C, C]), case([ZERO_D, ZERO_D]), case([A, V])],
    "repeat": [case(A, 3), case(A, 2, 0), case(A, 2, axis=-1), case(A, 0, 1),
               case(V, [1, 2, 0, 1, 3]), case(A.T, 2, 1), case(ZERO_D, 4), case(A, -1),
               case(A, 2, 7), case(EMPTY, 2, 0)],
    "tril": [*each(A, I, M, V, C), case(A, 1), case(A, k=-2), case(A.T, 7)],
    "triu": [*each(A, F, U, V, C), case(A, 1), case(A, k=-2), case(A.T, 7), case(N)],
    "select": [case([M, A > 0], [A, B]), case([A < -1, A < 0], [A * A, 1], 2.5), case([M], [I], -1),
               case([M[0], A > 0], (F, V), B[:, :1]), case([M], [U], 3), case([M, M], [I, F]),
               case([I], [I]), case([], []), case([M], [A, B]), case([M], [[1, 2, 3, 4, 5]], Z),
               case([M, M], [U, 2]), case([M], [2], U), case([M], [U], 300)],
    "tensordot": [case(A, B.T, 1), case(A, B), case(C, C, ([0, 2], [0, 2])), case(A, V, ([1], [0])),
                  case(A, B, 0), case(C, A, (1, 0)), case(A, B, 1), case(I, I.T, 1), case(F, F, 2),
                  case(EMPTY, EMPTY.T, 1)],
    "meshgrid": [case(V), case(V, V), case(A, V, indexing="ij"), case(V, F, sparse=True),
                 case(V, I, M, copy=False), case(ZERO_D, V), case(V, V, indexing="no")],
    "einsum": [case("ij,ij->i", A, A), case("ij,ij", F, A), case("ij->j", I), case("ij,ij->", Z, Z),
               case("i,ij->j", A[:, 0], A), case("ij,ij->ij", A, -A), case("ij,ij->i", H, H),
               case("ii", A), case("ij->ji", A), case("ij,jk", A, A.T), case("...i->...", A),
               case("ij,ij->k", A, A), case("i,ij->j", A, A), case(A, [0, 1], [1])],
    "inner": [case(V, V), case(A, V), case(A, B), case(C, C[0]), case(A, C), case(ZERO_D, A),
              case(F, F)],
    "vdot": [case(V, V), case(A, B), case(A, V), case(I, I), case(Z, Z)],
    "vecdot": [case(V, V), case(A, B), case(A, V), case(I, I), case(Z, Z), case(A, V[:2])],
    "matvec": [case(A, V), case(A.T, A[:, 0]), case(I, I[0]), case(Z, Z[0]), case(V, V)],
    "vecmat": [case(A[:, 0], A), case(V, A.T), case(I[:, 0], I), case(Z[:, 0], Z), case(A, V)],
    "kron": [case(V, V), case(A, B), case(A, V), case(V, C), case(I, F), case(ZERO_D, A),
             case(A, 2.0), case(U, M), case(EMPTY, V)],
    "norm": [*each(A, F, I, V, U, C, Z), case(A, axis=1), case(A, None, 0, True), case(V, 1),
             case(A, np.inf, 1), case(A, -np.inf, 0), case(A, 0, 1), case(A, 3, 0), case(A, 2, -1),
             case(A, "fro"), case(A, 1), case(A, axis=(0, 1)), case(N, axis=0), case(A, axis=5)],
    "sliding_window_view": [
        case(V, 3), case(A, (2, 3)), case(A, 2, 1), case(A, (2, 2), (0, 0)), case(C, 2, axis=-2),
        case(A.T[::-1], (2, 2)), case(V, 5), case(V, 6), case(A, 2), case(A, -1, 0), case(V, 0),
        case(A, (2, 2), (0, 3)), case(H, (1, 5)), case(Z, 3, 1), case(ZERO_D, ()), case(M, (4, 5)),
        case(A, 2.5, 0), case(I[:, ::-2], 2, 1), case(EMPTY, 1, 0), case(V, 2, writeable=True),
    ],
    "convolve": FILTERS, "correlate": FILTERS,
    "diag": [*each(*EVERY, V, H, Z, EMPTY), case(V, 1), case(V, -2), case(A, -1), case(V[::-2], 0),
             case(A, 9), case(V[:0], 2), case(A, 1.5), case(A[0].astype("S3"))],
    "diagflat": [*each(*EVERY, V, H, Z, EMPTY), case(A.T, 1), case(A, -2), case([[1, 2], [3, 4]])],
    "vander": [*each(V, F[0], U[0], M[0], Z[0], H[0], A, EMPTY[:, 0], ZERO_D), case(V, 3),
               case(I[0], 4, increasing=True), case(V, 12), case(V, 12, True), case(V, 0),
               case(V, 1), case(V[::-2], 2), case(V, -1)],
    "nonzero": PLACES, "flatnonzero": PLACES, "argwhere": PLACES,
    "compress": [case(V > 0, V), case(V, A, 1), case(A[:, 0] > 0, A, axis=0), case(M.ravel(), A),
                 case(V[:2], A), case([True, False, True], A, 0), case(V > 0, C, axis=-1),
                 case(M, A), case(V > 0, 3.0), case(A[:, 0] > 9, A.T, -1), case(V > 0, V, 1)],
    "extract": [case(M, A), case(A > 0, A.T.copy()), case(V, V), case(M, M), case(V > 0, A),
                case(A > 9, C[0]), case(True, ZERO_D), case([1, 0], V)],
    "full_like": [case(A, 3), case(I, 2.5), case(U, 300), case(A, 1, dtype=np.int8), case(M, True),
                  case(A, 7, shape=(2, 2)), case(F, V), case(ZERO_D, 1)],
    "zeros_like": LIKES, "empty_like": LIKES, "ones_like": LIKES,
    "iscomplexobj": each(*EVERY), "isrealobj": each(*EVERY), "common_type": each(*EVERY),
    "shape": each(*EVERY), "ndim": each(*EVERY), "size": [*each(*EVERY), case(A, 1), case(A, 2)],
    "result_type": [case(A, F), case(F, 1.0), case(U, 3), case(I, np.float32), case(M, 1)],
}  # fmt: skip
WRITERS = {"copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"}
ALIASES = {"amax": "max", "amin": "min", "around": "round", "permute_dims": "transpose"}
INEXACT = {"var": 8, "std": 8, "mean": 4, "sum": 4, "prod": 64, "nanprod": 64, "nansum": 4,
           "norm": 8, "tensordot": 8, "inner": 8, "vdot": 8,
           "vecdot": 8, "matvec": 8, "vecmat": 8}  # fmt: skip

PARAMETERS = [
    pytest.param(f, args, kwargs, id=f"{f.__name__}-{i}")
    for f in TABLE
    for i, (args, kwargs) in enumerate(CASES.get(ALIASES.get(f.__name__, f.__name__), []))
]


def test_every_entry_of_the_table_has_cases() -> None:
    """A handler without a case here would be untested."""
    known = {*CASES, *ALIASES, *WRITERS, *BORROWED}
    assert {f.__name__ for f in TABLE} <= known
    assert set(CASES) <= {f.__name__ for f in TABLE}


@pytest.mark.parametrize(("function", "args", "kwargs"), PARAMETERS)
@one_in(52)
def test_function_of_the_table(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Recorded, NumPy's function gives what it gives on NumPy arrays, or raises as it does."""
    with np.errstate(all="ignore"):
        want = outcome(lambda: function(*args, **kwargs))
        got = outcome(lambda: _computed(function(*lazy(args), **_lazy_values(kwargs))))
    if function is np.empty_like and not isinstance(want, Exception):
        got, want = np.zeros_like(got), np.zeros_like(want)
    same_outcome(got, want, INEXACT.get(function.__name__, 0))


def _lazy_values(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {k: lazy(v) for k, v in kwargs.items()}


def _computed(value: Any) -> Any:
    if isinstance(value, fc.Array):
        return np.asarray(value)
    return type(value)(map(_computed, value)) if type(value) in (list, tuple) else value


@pytest.mark.parametrize(("function", "args", "kwargs"), PARAMETERS[::5])
@one_in(16)
def test_function_inside_fused(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """In a fused function the result has NumPy's exact type too: scalar, array, tuple or int."""

    def call(*inner: Any) -> Any:
        return function(*inner, **kwargs)

    fused = fc.fused(call)
    with np.errstate(all="ignore"):
        want = outcome(call, *args)
        for _ in range(3):
            got = outcome(fused, *args)
            if function is not np.empty_like:
                same_outcome(got, want, INEXACT.get(function.__name__, 0))
            assert isinstance(want, Exception) or type(got) is type(want)


OUT_CALLS: list[Callable[[Any, Any], Any]] = [
    lambda a, out: np.sum(a, 0, None, out),
    lambda a, out: a.sum(0, None, out),
    lambda a, out: np.max(a, 0, out),
    lambda a, out: np.mean(a, axis=0, out=out),
    lambda a, out: np.cumsum(a[0], 0, None, out),
    lambda a, out: np.round(a[0], 0, out),
    lambda a, out: np.clip(a[0], -1, 1, out),
    lambda a, out: a[0].clip(-1, 1, out=out),
    lambda a, out: np.concatenate([a[0, :2], a[1, :3]], 0, out),
    lambda a, out: np.take(a, [0, 1, 2, 3, 4], None, out),
    lambda a, out: np.median(a, axis=0, out=out),
    lambda a, out: np.add.reduce(a, 0, None, out),
    lambda a, out: np.add.accumulate(a[0], 0, None, out),
    lambda a, out: np.matmul(a[0, :4], a, out=out),
    lambda a, out: np.dot(a[0, :4], a, out),
    lambda a, out: np.add(a[0], F[0], out=out, casting="equiv"),
    lambda a, out: np.add(a[0], 1, out=out, where=I[0]),
    lambda a, out: np.add(a[0], 1, out=out, where=[1, 0, 2, 0, 1], casting="unsafe"),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("call", OUT_CALLS)
def test_out(call: Callable[[Any, Any], Any], dtype: Any) -> None:
    """``out``, by position or name, is written, returned, and cast to as NumPy casts."""
    outs = np.full(5, 99, dtype), np.full(5, 99, dtype)
    target = fc.Array.of_array(outs[1])
    want = outcome(call, A, outs[0])
    got = outcome(call, lazy(A), target)
    same_outcome(got, want)
    equal(target, outs[0])
    assert isinstance(want, Exception) or got is target


EAGER: dict[str, Callable[..., Any]] = {
    "median": lambda a, b: np.median(a, axis=0),
    "norm": lambda a, b: np.linalg.norm(a, axis=1),
    "einsum": lambda a, b: np.einsum("ij,kj->ik", a, b),
    "histogram": lambda a, b: np.histogram(a, bins=4),
    "interp": lambda a, b: np.interp(b[0], np.arange(5.0), a[1]),
    "unique": lambda a, b: np.unique(a, return_counts=True),
    "tile": lambda a, b: np.tile(a, (2, 1)),
    "meshgrid": lambda a, b: np.meshgrid(a[0], b[1]),
    "gradient": lambda a, b: np.gradient(a),
    "convolve": lambda a, b: np.convolve(a[0], b[1], "same"),
    "percentile": lambda a, b: np.percentile(a, [10, 50], axis=1),
    "outer": lambda a, b: np.outer(a[0], b[0]),
    "kron": lambda a, b: np.kron(a, b[:2, :2]),
    "cross": lambda a, b: np.cross(a[:, :3], b[:, :3]),
    "allclose": lambda a, b: np.allclose(a, a + 1e-12),
    "array_equal": np.array_equal,
    "isclose": np.isclose,
    "tensordot": lambda a, b: np.tensordot(a, b, ((1,), (1,))),
    "average": lambda a, b: np.average(a, axis=0, weights=np.abs(b) + 1),
    "nanmean": lambda a, b: np.nanmean(np.where(a > 0, np.nan, b)),
    "solve": lambda a, b: np.linalg.solve(a[:, :4] @ a[:, :4].T + 99 * np.eye(4), b),
    "fft": lambda a, b: np.fft.fft(a, axis=1),
    "split": lambda a, b: np.split(a, 2),
    "repeat": lambda a, b: np.repeat(a, 2, axis=1),
    "nonzero": lambda a, b: np.nonzero(a > b),
    "searchsorted": lambda a, b: np.searchsorted(np.sort(a[0]), b[0]),
    "bincount": lambda a, b: np.bincount((a[0] % 4).astype(int)),
    "digitize": lambda a, b: np.digitize(a, np.array([-2.0, 0.0, 2.0])),
    "rot90": lambda a, b: np.rot90(a),
    "triu": lambda a, b: np.triu(a, 1),
    "select": lambda a, b: np.select([a > 2, a < -2], [a, b], 0.5),
    "cov": lambda a, b: np.cov(a),
    "partition": lambda a, b: np.partition(a, 2, axis=1)[:, 2],
    "lexsort": lambda a, b: np.lexsort((a[0], b[0])),
    "apply_along_axis": lambda a, b: np.apply_along_axis(lambda v: v.sum(), 1, a),
    "broadcast_arrays": lambda a, b: np.broadcast_arrays(a, b[0]),
    "frexp": lambda a, b: np.frexp(a),
    "modf": lambda a, b: np.modf(a),
    "divmod": lambda a, b: np.divmod(a, b + 9),
    "linspace": lambda a, b: np.linspace(a[0], b[0], 3),
    "trapezoid": lambda a, b: np.trapezoid(a, axis=1),
    "isin": lambda a, b: np.isin(a, [1.0, 2.0]),
    "nan_to_num": lambda a, b: np.nan_to_num(np.where(a > 0, np.inf, b)),
    "angle": lambda a, b: np.angle(a + 1j * b),
    "add.outer": lambda a, b: np.add.outer(a[0], b[0]),
    "add.reduceat": lambda a, b: np.add.reduceat(a[0], [0, 2]),
    "spacing": lambda a, b: np.spacing(a),
}


@pytest.mark.parametrize("name", EAGER)
@one_in(6)
def test_function_outside_the_table(name: str) -> None:
    """NumPy computes what we do not record, on lazy arrays as on its own, in fused code too."""
    call = EAGER[name]
    want = call(A, B)
    equal(_computed(call(lazy(A), lazy(B))), want, 4)
    equal(fc.fused(call)(A, B), want, 4)


@pytest.mark.parametrize("name", ["j0", "struve"])
def test_scipy_special_outside_the_table(name: str) -> None:
    """SciPy computes what we have no row for, between kernels."""
    special = pytest.importorskip("scipy.special")
    ufunc = getattr(special, name)
    x = np.linspace(0.05, 0.95, 37)
    args = (x, x) if ufunc.nin == 2 else (x,)
    np.testing.assert_allclose(np.asarray(ufunc(*lazy(args))), ufunc(*args), rtol=1e-14)
    np.testing.assert_allclose(fc.fused(lambda *a: ufunc(*a) + 0)(*args), ufunc(*args), rtol=1e-14)


def test_views_by_functions_outside_the_table_are_views() -> None:
    """What NumPy's function gives as a view of its argument is one: writes go through."""
    x, a = A.copy(), lazy(A)
    for array in (x, a):
        first, _ = np.split(array, 2)
        first[...] = 7
        np.rollaxis(array, 1)[0, 0] = 8
        np.rot90(array)[0] = 9
    equal(a, x)


@pytest.mark.parametrize(
    "write",
    [
        lambda a: np.copyto(a, 2.5, where=M),
        lambda a: np.put(a, [0, 3], [7, 8]),
        lambda a: np.place(a, M, [1, 2]),
        lambda a: np.putmask(a, M, 4),
        lambda a: np.put_along_axis(a, I[:, :1] % 5, 9, 1),
        lambda a: np.fill_diagonal(a, 6),
        lambda a: np.fill_diagonal(a.T, V[:4]),
        lambda a: np.fill_diagonal(a, V[:2]),
        lambda a: np.fill_diagonal(a[:, 1:3], A, wrap=True),
        lambda a: np.fill_diagonal(a[:, :2], 5, True),
        lambda a: np.fill_diagonal(a[::2, ::-2], a[0, :3]),
        lambda a: np.fill_diagonal(a.reshape(5, 2, 2)[:2], 7.5),
        lambda a: np.fill_diagonal(a, []) if a.ndim else None,
    ],
)
def test_functions_that_write(write: Callable[[Any], Any]) -> None:
    """What writes to its first argument writes to the array, in fused code to the caller's."""
    x, a, y = A.copy(), lazy(A), A.copy()
    fused = fc.fused(write)
    for _ in range(2):
        write(x)
        write(a)
        fused(y)
    equal(a, x)
    equal(y, x)
