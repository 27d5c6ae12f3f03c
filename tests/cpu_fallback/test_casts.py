"""Casts between whole numbers of 64 bits and floats, where packs can and cannot."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests import vecmath_harness as harness

TARGETS = ("-march=native", "-mno-avx512dq", "-mno-avx2", "-mno-sse4.1")
TYPES = {"s64": np.int64, "u64": np.uint64, "f32": np.float32, "f64": np.float64}
C_TYPES = {"s64": "int64_t", "u64": "uint64_t", "f32": "float", "f64": "double"}
TO_FLOATS = tuple(itertools.product(("f32", "f64"), ("s64", "u64")))
TO_WHOLE = (("s64", "f64"), ("u64", "f64"))
LOOPS = "\n".join(
    f"void {to}_of_{of}({C_TYPES[to]} *a, const {C_TYPES[of]} *b, int64_t n) {{\n"
    "    #pragma GCC ivdep\n"
    f"    for (int64_t i = 0; i < n; i++) a[i] = fc_{to}_of_{of}(b[i]);\n"
    "}"
    for to, of in TO_FLOATS + TO_WHOLE
)


@pytest.fixture(scope="module", params=TARGETS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The loops compiled for one set of instructions."""
    return harness.compiled_for(request.param, LOOPS, tmp_path_factory.mktemp("loops"))


def cast(library: Path, to: str, of: str, given: np.ndarray) -> np.ndarray:
    """``given`` in another type."""
    given = np.ascontiguousarray(given, TYPES[of])
    made = np.empty(given.shape, TYPES[to])
    function = getattr(ctypes.CDLL(str(library)), f"{to}_of_{of}")
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (made, given)]
    function(*pointers, ctypes.c_int64(given.size))
    return made


def whole_numbers(lowest: int, highest: int) -> list[int]:
    """What lies around powers of two, their sums, and the ends of the type."""
    edges = [0, *(s << k for k in range(64) for s in (1, -1, 3, -3))]
    sums = [a + b for a in edges[::3] for b in edges[::7]]
    near = [e + d for e in (*edges, *sums) for d in (-1, 0, 1)]
    return [v for v in (*near, lowest, highest, highest - 1) if lowest <= v <= highest]


@pytest.mark.parametrize("to, of", TO_FLOATS)
def test_whole_numbers_are_rounded_once(library: Path, to: str, of: str) -> None:
    """To even, from 2^24 and 2^53 on; zero is +0.0."""
    info = np.iinfo(TYPES[of])
    given = whole_numbers(int(info.min), int(info.max))
    made = cast(library, to, of, np.array(given, TYPES[of]))
    assert made.tolist() == [rounded(v, {"f32": 24, "f64": 53}[to]) for v in given]
    assert not np.signbit(made[[v == 0 for v in given]]).any()


def rounded(value: int, digits: int) -> float:
    """``value``, of which as many binary digits are kept, the even ones of two that are as near."""
    size = abs(value)
    last = max(size.bit_length() - digits, 0)
    kept, rest, half = size >> last, size & ((1 << last) - 1), (1 << last) >> 1
    kept += rest > half or (rest == half != 0 and kept & 1)
    return float((kept << last) * (1 if value >= 0 else -1))


@pytest.mark.parametrize("to, of", TO_WHOLE)
def test_floats_lose_what_is_behind_the_point(library: Path, to: str, of: str) -> None:
    info = np.iinfo(TYPES[to])
    sizes = [float(s << k) for k in range(64) for s in (1, 3)]
    parts = [0.0, -0.0, 0.5, 0.999, 1.5, 2.0**31 + 0.5, 2.0**32 - 0.5, 2.0**51 + 0.5]
    near = [np.nextafter(s, t) for s in sizes for t in (0, np.inf)]
    sizes = [*sizes, *near, *parts, *(s + p for s in sizes for p in parts)]
    given = [v for s in sizes for v in (s, -s) if info.min <= int(v) <= info.max]
    made = cast(library, to, of, np.array(given))
    assert made.tolist() == [int(v) for v in given]
