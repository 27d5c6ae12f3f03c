"""Products of matrices and vectors: small ones are kernels, others the library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc

SHAPES = (
    *(((3,), (3,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((7, 3, 4), (4, 5))),
    *(((7, 3, 4), (7, 4, 2)), ((4,), (6, 4, 2)), ((6, 2, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2))),
    *(((0, 3), (3, 2)), ((3, 0), (0, 2)), ((40, 30), (30, 50)), ((500, 3), (3, 3))),
    ((70_000,), (70_000,)),
)


def drawn(dtype: str, shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(len(shape))
    values = rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)
    return (values if dtype[0] == "c" else values.real).astype(dtype)


def check(function: Callable[..., Any], *given: Any) -> None:
    """Whole numbers are exact in any order."""

    def product(*given: Any) -> Any:
        return function(*given)

    fused = fc.fused(product, strict=True)
    want = function(*given)
    for _ in range(2):
        got = fused(*given)
        assert type(got) is type(want) and got.dtype == want.dtype
        assert np.array_equal(got, want)
        assert np.asarray(got).strides == np.asarray(want).strides


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4", "u8"])
def test_products_of_all_shapes(dtype: str) -> None:
    for left, right in SHAPES:
        x, y = drawn(dtype, left), drawn(dtype, right)
        check(np.matmul, x, y)
        if max(x.ndim, y.ndim) < 3:
            check(np.dot, x, y)
        if x.shape == y.shape:
            check(np.vdot, x, y)


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy 2.2 has them")
@pytest.mark.parametrize("dtype", ["f4", "c16", "i4"])
def test_products_with_stacks_of_vectors(dtype: str) -> None:
    vectors, matrices = drawn(dtype, (5, 4)), drawn(dtype, (5, 4, 4))
    check(np.vecdot, vectors, drawn(dtype, (3, 1, 4)))
    check(np.matvec, matrices, vectors)
    check(np.vecmat, vectors, matrices)
    out = np.empty((5, 4), dtype)

    @fc.fused(strict=True)
    def written(out: Any) -> Any:
        return np.matvec(matrices, vectors, out=out) + 1

    assert np.array_equal(written(out), np.matvec(matrices, vectors) + 1)
    assert np.array_equal(out, np.matvec(matrices, vectors))
    with pytest.raises(ValueError, match="mismatch"):
        fc.fused(lambda x, y: np.vecdot(x, y) + 1)(vectors, matrices[0, :, :3])


def test_which_products_are_kernels() -> None:
    def kinds(left: tuple[int, ...], right: tuple[int, ...]) -> set[str]:
        return {k.kind for k in fc.lower(np.matmul, np.ones(left), np.ones(right)).kernels}

    for shapes in (((9, 9), (9, 9)), ((90_000, 4, 4), (4, 4)), ((90_000, 3), (3, 3))):
        assert "library" not in kinds(*shapes)
    for shapes in (((100, 100), (100,)), ((50_000,), (50_000,))):
        assert "library" not in kinds(*shapes)
    for shapes in (((40, 40), (40, 40)), ((9000, 8), (8, 8)), ((1000, 1000), (1000,))):
        assert kinds(*shapes) == {"library"}


def test_small_products_share_kernels() -> None:
    """A step of a filter, of which a library would be called for each product."""

    def step(f: Any, x: Any, p: Any) -> Any:
        return f @ x, f @ p @ f.T + np.eye(4) * 0.1

    f, x, p = np.eye(4) + 0.1, np.ones(4), np.eye(4)
    fused = fc.lower(step, f, x, p)
    assert "library" not in {k.kind for k in fused.kernels}
    for got, want in zip(fused(f, x, p), step(f, x, p), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
