"""Sums of products, outer operations and grids are recorded; what they give is NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal
from tests.marks import one_in

RNG = np.random.default_rng(3)
P, Q = RNG.integers(-9, 9, (2, 60, 3)).astype(float)  # whose sums are exact
A, V = RNG.integers(-9, 9, (3, 3)).astype(float), RNG.integers(-9, 9, 60).astype(float)
C = (P + 1j * Q).astype("c8")

FUSED = [
    ("ij,ij->i", P, Q), ("ij,ij", P, Q), ("ij,ij->", P, Q), ("ij->j", P), ("i,ij->ij", V, P),
    ("ij,jk,ik->i", P, A, Q), (" i j , j k -> i k ", P, A), ("i,i", V, V), ("ij,i,kj->ik", P, V, A),
    ("ij,ij->j", P.astype("i1"), Q.astype("i1")), ("ij,ij->i", P.astype("f4"), Q),
    ("ij,ij->i", C, C), ("ji,ji->ij", P.T.copy().T, Q), ("ij,ij->i", P[:0], Q[:0]),
]  # fmt: skip
NUMPYS = [
    ("ii->i", A), ("ii", A), ("ij->ji", P), ("i,j->ij", V, V), ("...j,...j->...", P, Q),
    ("ij,ij->i", P > 0, Q > 0), ("ij,jk->ik", P.astype(int), Q.T.astype(int)),
]  # fmt: skip
S, T = RNG.integers(-9, 9, (2, 4, 20, 30)).astype(float)
MATRICES = [  # with how many products of matrices
    ("ij,jk->ik", 1, P, Q.T), ("ij,kj->ki", 1, P, Q), ("ij,kj->ik", 1, P.astype("f4"), Q),
    ("bij,bkj->bik", 1, S, T), ("bij,bkj->kbi", 1, S, T), ("bij,bkj", 1, S, T),
    ("bij,bkj->ik", 1, S, T), ("ij,kl->kijl", 0, A - 1, A[:2]), ("i,jk->ijk", 0, V, P),
    ("bij,ckj->bcik", 1, S, T), ("aij,bij->ab", 0, S, T),
    ("bij,bik->jk", 1, S[:, ::2], T[:, ::-2]), ("ij,jk,kl->il", 0, P, Q.T, P),
    ("bij,jk,bkl->bil", 2, S, T[0].T, T[:, ::-1]), ("ij,kj,m->ik", 1, C, C, V[:2]),
    ("ij,kj->", 0, P, Q), ("ij,kl,j->ik", 0, P, Q, A[0]), ("ij,jk->ik", 1, P[:0], Q.T),
]  # fmt: skip


def summed(notation: str, *operands: Any) -> Any:
    return np.einsum(notation, *operands)


@pytest.mark.parametrize("case", FUSED, ids=lambda c: c[0])
@one_in(6)
def test_sums_of_products_are_fused(case: tuple[Any, ...]) -> None:
    notation, *operands = case
    call = fc.lower(lambda *given: np.einsum(notation, *given), *operands)
    assert call.launches <= 1 and not any(k.kind == "library" for k in call.kernels)
    equal(call(*operands), np.einsum(notation, *operands))


@pytest.mark.parametrize("case", MATRICES, ids=lambda c: c[0])
@one_in(6)
def test_matrices_are_multiplied(case: tuple[Any, ...]) -> None:
    """Integers, so that sums are exact in any order."""
    notation, count, *operands = case
    call = fc.lower(lambda *given: np.einsum(notation, *given), *operands)
    products = sum(k.kind == "library" for k in call.kernels)
    assert products == count or call.launches == 0
    got, want = call(*operands), np.einsum(notation, *operands, optimize=True)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)  # zeros may have another sign


@pytest.mark.parametrize("seed", range(40))
@one_in(8)
def test_drawn_notations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    extents = {name: int(rng.integers(1, 13)) for name in "abcdef"}
    count = int(rng.integers(2, 5))
    drawn = ["".join(rng.permutation(list("abcdef"))[: rng.integers(1, 4)]) for _ in range(count)]
    names = sorted(set("".join(drawn)))
    result = "".join(rng.permutation(names)[: rng.integers(0, len(names) + 1)])
    operands = [rng.integers(-3, 4, [extents[n] for n in own]).astype(float) for own in drawn]
    notation = ",".join(drawn) + "->" + result
    want = np.einsum(notation, *operands, optimize=True)
    np.testing.assert_array_equal(fc.fused(summed)(notation, *operands), want)


@pytest.mark.parametrize("case", NUMPYS, ids=lambda c: c[0])
def test_others_are_numpys(case: tuple[Any, ...]) -> None:
    call = fc.fused(summed)
    for _ in range(2):
        equal(call(*case), np.einsum(*case))


@pytest.mark.parametrize(
    "wrong", [("ij,ij->k", P, Q), ("ij,ij->ii", P, Q), ("ij", P, Q), ("ij,jk->ik", P, Q), ("i", P)]
)
def test_faults_are_numpys(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError) as theirs:
        np.einsum(*wrong)
    with pytest.raises(ValueError) as ours:
        fc.fused(summed)(*wrong)
    assert str(ours.value) == str(theirs.value)


def pairs(x: Any, y: Any) -> Any:
    return np.add.outer(x, y) - 1


def test_outer_operations_are_fused() -> None:
    def nearest(x: Any, y: Any) -> Any:
        return np.abs(np.subtract.outer(x, y)).min(axis=1), np.maximum.outer(x[:2], y[:1])

    call = fc.fused(nearest, strict=True)
    for _ in range(2):
        with fc.count_launches() as counter:
            got = call(P[:, 0], V)
        equal(got, nearest(P[:, 0], V))
    assert not any(name.startswith("numpy.") for name in counter.by_name), counter.by_name
    for a, b in ((2.0, V), (V, 3), (P, A[0].astype("f4")), (A[0], P), (V.astype("i4"), V)):
        equal(fc.fused(pairs, strict=True)(a, b), pairs(a, b))


@pytest.mark.parametrize("options", [{}, {"indexing": "ij"}, {"sparse": True}, {"copy": False}])
def test_grids_are_computed_where_they_are_read(options: dict[str, Any]) -> None:
    def bump(x: Any, y: Any) -> Any:
        a, b = np.meshgrid(x[:20], y, **options)
        return a * a - b

    call = fc.fused(bump, strict=True)
    for _ in range(2):
        with fc.count_launches() as counter:
            got = call(V, P[:, 1])
        equal(got, bump(V, P[:, 1]))
    assert counter.total == 1, counter.by_name


def test_grids_are_arrays_of_their_own() -> None:
    def changed(x: Any, y: Any) -> Any:
        a, b = np.meshgrid(x, y)
        a[0] = 7
        x[0] = 5
        return a, b, a.flags.writeable

    mine, theirs = V.copy(), V.copy()
    equal(fc.fused(changed, strict=True)(mine, P[:, 0]), changed(theirs, P[:, 0]))
    equal(mine, theirs)
