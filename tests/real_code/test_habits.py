"""One line each of what users write: the same value or the same error as without us."""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.marks import one_in
from tests.real_code.compare import differences
from tests.real_code.running import fuse

ONES, COUNTS = np.ones(3), np.arange(1, 4)
SQUARE = np.arange(9.0).reshape(3, 3)
GAPS = np.array([1.0, np.nan, 3.0])
WAVE = np.array([1 + 1j, 2 + 2j])
CODES = np.array(["a", "b", "a"])
DAYS = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[D]")


def real_follows(z: Any) -> Any:
    z = z * 1
    part = z.real
    z *= 2
    return part


def real_mask(z: Any) -> Any:
    z = z * 1
    z.real[z.real < 2] = 0
    return z


def imag_slice(z: Any) -> Any:
    z = z * 1
    z.imag[:] = 0
    return z


def imag_in_place(z: Any) -> Any:
    part = z.imag
    part += 5
    return part


def imag_assigned(z: Any) -> Any:
    z.imag *= 2
    return z


VALUES: dict[str, tuple[Callable[..., Any], Any]] = {
    "a real part follows": (real_follows, WAVE),
    "a mask of the real part": (real_mask, WAVE),
    "a slice of the imaginary part": (imag_slice, WAVE),
    "the imaginary part in place": (imag_in_place, WAVE),
    "the imaginary part assigned": (imag_assigned, WAVE),
    "where of strings": (lambda s: np.where(s == "a", 2.0, 0), CODES),
    "where of other strings": (lambda s: np.where(s != "a", 2.0, 0), CODES),
    "a mask of strings": (lambda s: ONES[s == "a"], CODES),
    "strings counted": (lambda s: (s == "a").sum(), CODES),
    "strings among some": (lambda s: 2 * np.isin(s, ["a"]), CODES),
    "days compared": (lambda d: np.where(d >= np.datetime64("2020-01-02"), 1, 0), DAYS),
    "a day by its text": (lambda d: d == np.datetime64("2020-01-02"), DAYS),
    "days apart": (lambda d: (d - d[0]) / np.timedelta64(1, "D"), DAYS),
    "equal to None": (lambda x: x == None, ONES),  # noqa: E711
    "not equal to None": (lambda x: x != None, ONES),  # noqa: E711
    "among numbers": (lambda x: x[0] in [1.0, 2.0], ONES),
    "how many": (lambda x: np.count_nonzero(x), ONES),  # noqa: PLW0108
    "rounded to digits": (lambda x: round(x.sum(), 3), ONES),
    "rounded": (lambda x: round(x.sum()), ONES),
    "floor": (lambda x: math.floor(x.mean()), ONES),
    "a sum as key": (lambda x: {x.sum(): "sum"}, ONES),
    "a sum in a set": (lambda x: x.sum() in {3.0}, ONES),
    "a hash": (lambda x: hash(x.max()), COUNTS),
    "gaps filled in place": (lambda x: np.nan_to_num(x, copy=False, nan=7.0), GAPS),
    "bytes": (lambda x: bytes(x * 2), ONES),
    "bytes of whole numbers": (
        lambda x: (bytes(x), bytes(x[::-1] + 1), bytes(x.max()), sum(bytearray(x * 2))),
        COUNTS,
    ),
    "a view of memory": (lambda x: memoryview(x * 2).nbytes, ONES),
    "a digest": (lambda x: hashlib.sha1(x * 2).hexdigest(), ONES),
    "an item": (lambda x: (x * 2)[0].item(), ONES),
    "a list": (lambda x: (x * 2).tolist(), ONES),
    "text": (lambda x: f"{x.sum():.3f} {x[0]:5.1f} {x[:2] * 2}", ONES),
    "edges": (lambda x: np.pad(x, 2, mode="edge"), ONES),
    "reflected": (lambda x: np.pad(x * 2, (1, 2), mode="reflect"), COUNTS),
    "outer": (lambda x: np.outer(x, x + 1), COUNTS),
    "gradient": (lambda x: np.gradient(x, 2.0), SQUARE),
    "split": (lambda x: np.split(x, 3), SQUARE),
    "array_split": (lambda x: np.array_split(x * 2, 2, axis=1), SQUARE),
    "einsum": (lambda x: np.einsum("ij,jk->ik", x, x), SQUARE),
    "trapezoid": (lambda x: np.trapezoid(x, dx=0.5), SQUARE),
    "cov": (lambda x: np.cov(x), SQUARE),  # noqa: PLW0108
    "interp": (lambda x: np.interp(x, [0.0, 4.0, 8.0], [1.0, 3.0, 2.0]), SQUARE),
    "digitize": (lambda x: np.digitize(x, [2.0, 5.0]), SQUARE),
    "histogram": (lambda x: np.histogram(x, bins=3), SQUARE),
    "unique": (lambda x: np.unique(x // 2, return_counts=True), SQUARE),
    "meshgrid": (lambda x: np.meshgrid(x, x * 2), COUNTS),
    "a polynomial": (lambda x: np.polyval([1.0, 2.0, 3.0], x), SQUARE),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda r: r / r.max(), 1, x), SQUARE + 1),
    "vectorize": (np.vectorize(lambda v: v if v > 2 else -v), SQUARE),
    "ravelled and put back": (lambda x: np.unravel_index(x.argmax(), x.shape), SQUARE),
    "reduce": (lambda x: np.add.reduce(x, axis=1) + np.multiply.outer(x[0], x[1])[0], SQUARE),
    "accumulate": (lambda x: np.maximum.accumulate(x[::-1]), SQUARE),
    "at": (lambda x: np.add.at(x, [0, 0, 2], 1.0), ONES),
    "put": (lambda x: np.put(x, [0, 2], 5.0), ONES),
    "filled diagonal": (lambda x: np.fill_diagonal(x, 0.0), SQUARE),
    "a sorted list of numbers": (lambda x: sorted(x, reverse=True)[:2], COUNTS),
    "Python's own sum": (lambda x: sum(x) + max(x) + min(x), COUNTS),
    "any and all of Python": (lambda x: (any(x > 2), all(x > 0)), COUNTS),
    "enumerated": (lambda x: {i: v for i, v in enumerate(x)}, COUNTS),
    "zipped": (lambda x: dict(zip("abc", x * 2, strict=True)), COUNTS),
    "scalars and arrays of rank 0": (
        lambda x: [
            *(x[:1].squeeze(), np.squeeze(x[:1]), x[0].squeeze(), x.sum(keepdims=True).squeeze()),
            *(np.asarray(x[0]), np.array(x.sum()), x[0].copy(), np.copy(x[0]), np.nan_to_num(x[0])),
            *(x.mean().reshape(()), np.transpose(x[0]), x[..., 0].T, np.cov(x)),
        ],
        ONES,
    ),
    "a sum made an array": (lambda x: np.add(np.asarray(x.sum()), 1, out=np.asarray(x[0])), ONES),
    "a star": (lambda x: np.stack([*x, x[0]]), SQUARE),
}

ERRORS: dict[str, tuple[Callable[..., Any], Any]] = {
    "reshape": (lambda x: x.reshape(-1, 7), ONES),
    "shapes of operands": (lambda x: x + np.ones(4), ONES),
    "shapes in place": (lambda x: x.__iadd__(np.ones(4)), ONES),
    "shapes of indices": (lambda x: x[np.arange(2), np.arange(3)], SQUARE),
    "round of an array": (lambda x: round(x, 1), ONES),
    "concatenate": (lambda x: np.concatenate([x, np.ones((2, 2))]), ONES),
    "matmul": (lambda x: x @ np.ones(4), ONES),
    "stack": (lambda x: np.stack([x, np.ones(4)]), ONES),
    "an axis": (lambda x: x.sum(axis=2), ONES),
    "too many indices": (lambda x: x[0, 0], ONES),
    "assignment": (lambda x: x.__setitem__(slice(None), np.ones(4)), ONES),
    "a mask's length": (lambda x: x[np.ones(4, bool)], ONES),
    "a type": (lambda x: x.astype("nope"), ONES),
    "truth": (lambda x: bool(x > 0), ONES),
    "length of a number": (lambda x: len(x.sum()), ONES),
    "a hash of an array": (lambda x: hash(x), ONES),  # noqa: PLW0108
    "float of an array": (lambda x: float(x), ONES),  # noqa: PLW0108
    "casting in place": (lambda x: x.__iadd__(1.5), COUNTS),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 4)), ONES),
    "split": (lambda x: np.split(x, 2), ONES),
    "transpose": (lambda x: x.transpose(1, 0), ONES),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 1), ONES),
    "take": (lambda x: np.take(x, [5]), ONES),
    "an index": (lambda x: x[7], ONES),
    "argmax of nothing": (lambda x: x[:0].argmax(), ONES),
    "max of nothing": (lambda x: x[:0].max(), ONES),
    "a negative power": (lambda x: x**-1, COUNTS),
    "item": (lambda x: x.item(), ONES),
    "unpacking": (lambda x: [a for a, b in [x]], ONES),
    "an attribute": (lambda x: x.nothing, ONES),
    "a function's argument": (lambda x: np.sum(x, nothing=1), ONES),
    "a singular matrix": (lambda x: np.linalg.inv(x), SQUARE * 0),  # noqa: PLW0108
}


@pytest.mark.parametrize("name", VALUES)
@one_in(6)
def test_values(name: str) -> None:
    """Value, type, and what becomes of the argument, at three calls, the last with other values."""
    function, argument = VALUES[name]
    fused = fuse(function)
    plain, mine = copy.deepcopy(argument), copy.deepcopy(argument)
    for turn in range(3):
        if turn == 2 and plain.dtype.kind in "fc":
            plain, mine = copy.deepcopy(argument) * 2, copy.deepcopy(argument) * 2
        want, got = function(plain), fused(mine)
        found = differences({" ": got, " x": mine}, {" ": want, " x": plain}, "")
        assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    """NumPy's class of error and its text; one that depends on values may add where it was."""
    function, argument = ERRORS[name]
    with pytest.raises(Exception) as wanted:
        function(argument.copy())
    fused = fuse(function)
    for _ in range(2):
        with pytest.raises(wanted.type) as found:
            fused(argument.copy())
        text = re.sub(r" \(recorded at [^)]*\)$", "", str(found.value))
        assert text == str(wanted.value)
