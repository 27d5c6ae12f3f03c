"""Quotients and remainders of integers, of all magnitudes, by each set of instructions."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fusecuda.cpu_fallback import texts
from fusecuda.fusion.kernel_ir import SMALL as SMALLER
from tests import vecmath_harness as harness
from tests.marks import few, one_in

OPERATIONS = ("floor_divide", "remainder", "fmod")
TYPES = {np.dtype(f"{c}{n}"): f"{s}{8 * n}" for c, s in ("is", "uu") for n in (1, 2, 4, 8)}
WIDE = [dtype for dtype in TYPES if dtype.itemsize == 8]
TARGETS = ("-march=native", "-mno-avx512f", "-mno-avx2", "-mno-avx")
_LOOP = """
void {op}_{t}(T *y, const T *a, const T *b, int64_t n) {{
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) y[i] = fc_{op}_{t}(a[i], b[i]);
}}
void {op}_by_{t}(T *y, const T *a, const T *b, int64_t n) {{
    const T by = *b;
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) y[i] = fc_{op}_{t}(a[i], by);
}}
"""
SMALL = tuple(f"small_{op}" for op in OPERATIONS)
LOOPS = "".join(
    _LOOP.format(op=op, t=t).replace("T ", f"{'u' if t[0] == 'u' else ''}int{t[1:]}_t ")
    for op in (*OPERATIONS, *SMALL)
    for dtype, t in TYPES.items()
    if op in OPERATIONS or dtype.itemsize >= 4
)


COMPILERS = [*(("cc", target) for target in TARGETS), ("clang", TARGETS[0])]


@pytest.fixture(scope="module", params=few(COMPILERS, 1))
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The loops compiled by one compiler for one set of instructions."""
    compiler, target = request.param
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    if target != TARGETS[0] and "__x86_64__" not in harness.said_by("cc", "-dM", "-E", "-"):
        pytest.skip("these are x86's")
    folder: Path = tmp_path_factory.mktemp("loops")
    text = folder / "loops.c"
    text.write_text(texts.unit(texts.prelude(), [LOOPS], texts.epilogue()), "utf-8")
    flags = harness.accepted([compiler], [*harness.FLAGS, "-march=native"])
    command = [compiler, *flags, target, "-w", "-fPIC", "-shared", str(text)]
    subprocess.run([*command, "-o", str(folder / "loops.so"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "loops.so"))


def _operands(dtype: np.dtype[Any], below: int) -> tuple[list[int], list[int]]:
    """Pairs of all magnitudes, what is beside multiples, and the ends of the type and of halves."""
    rng, info = random.Random(3), np.iinfo(dtype)
    low, high = max(int(info.min), 1 - below), min(int(info.max), below - 1)
    signs = (1, -1) if low < 0 else (1,)
    sizes = [*range(1, info.bits), 49, 50, 51, 52, 53]
    a, b = [], []
    for _ in range(2500):
        of_a, of_b = (1 << rng.choice(sizes) for _ in range(2))
        y = rng.choice(signs) * rng.randint((of_b + 1) // 2, of_b)
        x = rng.choice(signs) * rng.randint(0, of_a)
        x = (x, x // y * y, x // y * y - 1, x // y * y + 1)[rng.randrange(4)]
        a.append(min(max(x, low), high))
        b.append(min(max(y, low), high))
    ends = [low, low + 1, high, high - 1, 0, 1, 2, 3, high // 2, *(s * 5 for s in signs)]
    ends += [s * e for e in (2**49, 2**50, 2**51 - 1, 2**51, 2**52 + 1) for s in signs if e < high]
    for x in ends:
        a += [x] * len(ends)
        b += ends
    return a, b


def _exact(op: str, a: int, b: int, dtype: np.dtype[Any]) -> int:
    """The value of Python's integers, 0 by 0, and wrapped around as in NumPy."""
    if b == 0:
        return 0
    if op == "fmod":
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    q = a // b if op == "floor_divide" else a % b
    return q - (1 << 8 * dtype.itemsize) if q > np.iinfo(dtype).max else q


@pytest.mark.parametrize("dtype", [d for d in TYPES if d not in WIDE], ids=str)
@pytest.mark.parametrize("op", OPERATIONS)
@one_in(10)
def test_values(library: Any, op: str, dtype: np.dtype[Any]) -> None:
    _demand_values(library, op, dtype)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("op", OPERATIONS)
def test_wide_values(library: Any, op: str, dtype: np.dtype[Any]) -> None:
    """Whose packs are tested at once for what doubles do not hold."""
    _demand_values(library, op, dtype)


@pytest.mark.parametrize("dtype", [d for d in TYPES if d.itemsize >= 4], ids=str)
@pytest.mark.parametrize("op", SMALL)
@one_in(6)
def test_small_values(library: Any, op: str, dtype: np.dtype[Any]) -> None:
    """Which are divided as floats, up to the largest that may be."""
    _demand_values(library, op, dtype, SMALLER)


def _demand_values(library: Any, op: str, dtype: np.dtype[Any], below: int = 1 << 64) -> None:
    """Demand exact ones in packs with near and far neighbours, and by one number for all."""
    a, b = _operands(dtype, below)
    exact = op.removeprefix("small_")
    n = len(a)
    x, y, got = np.array(a, dtype), np.array(b, dtype), np.empty(n, dtype)
    pointers = [ctypes.c_void_p(v.ctypes.data) for v in (got, x, y)]
    library[f"{op}_{TYPES[dtype]}"](*pointers, ctypes.c_int64(n))
    assert got.tolist() == [_exact(exact, i, j, dtype) for i, j in zip(a, b, strict=True)]
    for by in sorted(set(b[-12:]) | set(b[:5])):
        y[0] = by
        library[f"{op}_by_{TYPES[dtype]}"](*pointers, ctypes.c_int64(n))
        assert got.tolist() == [_exact(exact, i, by, dtype) for i in a], by
