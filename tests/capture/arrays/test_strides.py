"""What a function makes lies in memory as NumPy's result does, whatever order its operands have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fusecuda.capture.calls.fused import FusedFunction
from fusecuda.capture.calls.recording import _Recorded
from fusecuda.options import Options

NDArray = np.ndarray[Any, Any]
EINSUMS = {2: "ij,ij->", 3: "ijk,ijk->", 4: "ijkl,ijkl->"}
ONES = np.ones((40, 1))
SHAPES = {2: (4, 6), 3: (4, 6, 3), 4: (2, 3, 4, 5)}

MAKE: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda x, y: x @ y.swapaxes(-1, -2),
    "matmul of transposed": lambda x, y: x.swapaxes(-1, -2) @ y,
    "matmul of many": lambda x, y: (x[..., None] * ONES[:, 0]) @ (y[..., None, :] * ONES),
    "matmul by a matrix": lambda x, y: x @ np.ones((x.shape[-1], 2)),
    "matmul by a vector": lambda x, y: x @ y.reshape(-1, y.shape[-1])[0],
    "vector by matmul": lambda x, y: y.reshape(-1, y.shape[-1])[0, 0] * np.ones(x.shape[-2]) @ x,
    "dot": lambda x, y: np.dot(x, y.swapaxes(-1, -2)),
    "dot of transposed": lambda x, y: np.dot(x.T, y),
    "inner": np.inner,
    "outer": np.outer,
    "ufunc outer": lambda x, y: np.add.outer(x, y * 1),
    "kron": lambda x, y: np.kron(x, y[:2, :2]),
    "tensordot": lambda x, y: np.tensordot(x, y, ([-1], [-1])),
    "vecdot": np.vecdot,
    "einsum, products": lambda x, y: np.einsum(EINSUMS[x.ndim] + "ijkl"[: x.ndim][::-1], x, y),
    "einsum, sums": lambda x, y: np.einsum(EINSUMS[x.ndim] + "j", x, y),
    "stack": lambda x, y: np.stack([x, x * 2]),
    "stack within": lambda x, y: np.stack([x, y, x.copy()], 1),
    "stack last": lambda x, y: np.stack([x, y], -1),
    "stack of repeats": lambda x, y: np.stack([np.broadcast_to(x[0], x.shape)] * 2, 1),
    "array": lambda x, y: np.array([x * 2, y]),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "concatenate a column": lambda x, y: np.concatenate([x, y[:, :1]], 1),
    "concatenate repeats": lambda x, y: np.concatenate([np.broadcast_to(x[0], x.shape)] * 2, -1),
    "hstack backwards": lambda x, y: np.hstack([x[::-1], y[::-1]]),
    "vstack": lambda x, y: np.vstack([x, y]),
    "dstack": lambda x, y: np.dstack([x, y]),
    "column_stack": lambda x, y: np.column_stack([x, y]),
    "append": lambda x, y: np.append(x, y, 0),
    "block": lambda x, y: np.block([[x, x * 2], [x * 3, x]]),
    "block of a row": lambda x, y: np.block([x, y]),
    "block of one": lambda x, y: np.block([[x]]),
    "block of an array": lambda x, y: np.block(x),
    "block of many": lambda x, y: np.block([[np.repeat(x * 1, 1 << 16, 0).T, y.T]]),
    "copy A": lambda x, y: np.copy(x, "A"),
    "copy of repeats": lambda x, y: np.copy(np.broadcast_to(x[0], x.shape)),
    "clip": lambda x, y: np.clip(x, y, 1),
    "cumsum": lambda x, y: np.cumsum(x, 1),
    "running maximum": lambda x, y: np.maximum.accumulate(x, 0),
    "diff": lambda x, y: np.diff(x, axis=0),
    "gradient": lambda x, y: np.gradient(x, axis=0),
    "cross": lambda x, y: np.cross(x[..., :3], y[..., :3]),
    "isclose": np.isclose,
    "nan_to_num": lambda x, y: np.nan_to_num(x),
    "nanmax": lambda x, y: np.nanmax(x, 0),
    "nanmean": lambda x, y: np.nanmean(x, -1),
    "nanvar": lambda x, y: np.nanvar(x, 0),
    "nanstd": lambda x, y: np.nanstd(x, 1, keepdims=True),
    "norm": lambda x, y: np.linalg.norm(x, axis=0),
    "pad": lambda x, y: np.pad(x, 1),
    "pad with edges": lambda x, y: np.pad(x, 2, "edge"),
    "polyval": lambda x, y: np.polyval([1, 2, 3], x),
    "reduceat": lambda x, y: np.add.reduceat(x, [0, 1], 0),
    "reduceat, last": lambda x, y: np.maximum.reduceat(x, [0, 1], -1),
    "repeat": lambda x, y: np.repeat(x, 3, -1),
    "tile": lambda x, y: np.tile(x, (2, 1)),
    "reshape": lambda x, y: np.reshape(x, (-1, 2)),
    "reshape F": lambda x, y: np.reshape(x, (2, -1), "F"),
    "roll": lambda x, y: np.roll(x, (1, 2), (0, 1)),
    "roll repeats": lambda x, y: np.roll(np.broadcast_to(x[0], x.shape), 1, 0),
    "rot90": lambda x, y: np.rot90(x) * 1,
    "round": lambda x, y: np.round(x),
    "round to tenths": lambda x, y: np.round(x, 1),
    "round to tens": lambda x, y: np.round(x, -1),
    "select": lambda x, y: np.select([x > 0, y > 0], [x, y], 0.0),
    "select numbers": lambda x, y: np.select([x > 0], [1.0], 0.0),
    "sort": lambda x, y: np.sort(x, 0),
    "sort repeats": lambda x, y: np.sort(np.broadcast_to(x[0], x.shape), 0),
    "argsort": lambda x, y: np.argsort(x, 0),
    "sums": lambda x, y: np.sum(x, 1),
    "places": lambda x, y: np.argmax(x, 0),
    "var": lambda x, y: np.var(x, -1, keepdims=True),
    "take": lambda x, y: np.take(x, [0, 1, 1], 0),
    "tril": lambda x, y: np.tril(x),
    "unwrap": lambda x, y: np.unwrap(x, axis=0),
    "where": lambda x, y: np.where(x > 0, x[..., :1], y),
    "windows": lambda x, y: np.lib.stride_tricks.sliding_window_view(x, 2, 0) * 1,
}  # fmt: skip


def orders() -> Iterator[tuple[int, ...]]:
    yield from itertools.permutations(range(2))
    yield from itertools.permutations(range(3))
    yield from ((3, 2, 1, 0), (1, 0, 2, 3), (0, 2, 1, 3))


def laid(order: tuple[int, ...], step: int) -> NDArray:
    """An array whose axes lie in memory in an ``order``, every ``step``th element along each."""
    shape = SHAPES[len(order)]
    memory = np.random.default_rng(0).standard_normal([abs(step) * shape[a] for a in order])
    return memory[(slice(None, None, step),) * len(order)].transpose(np.argsort(order))


def recorded(function: Callable[..., Any], *args: NDArray) -> Any:
    """The lazy array that ``function`` makes where it is recorded, of which nothing is computed."""
    owner: FusedFunction[..., Any] = FusedFunction(function, Options())
    call = _Recorded(owner, (*owner.head, *args), execute=False)
    call.run()
    ((_, made),) = call.found
    return made


def steps(a: Any) -> list[int]:
    """The strides along axes that have more than one element."""
    return [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


@pytest.mark.parametrize("name", MAKE)
def test_results_have_numpys_strides(name: str) -> None:
    function, seen = MAKE[name], 0
    for order, other in itertools.pairwise(orders()):
        same = len(order) == len(other)
        for x, y in [(laid(order, s), laid(order, s)) for s in (1, 2, -1)] + [
            (laid(order, 1), laid(other if same else order, 1))
        ]:
            try:
                wanted = function(x, y)
            except (ValueError, TypeError):  # of such shapes there is no such product
                continue
            assert steps(recorded(function, x, y)) == steps(wanted)
            seen += 1
    assert seen
