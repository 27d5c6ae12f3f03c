"""Random bits by each set of instructions: with AVX-512 or by vector functions of our own."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests import vecmath_harness as harness
from tests.random_bits import block

TARGETS = ("-march=native", "-mno-avx512f", "-mno-avx2", "-mno-avx")
EDGES = (0, 1, 2**32 - 1, 2**32, 2**53 + 1, 2**63 + 1025, 2**64 - 2, 2**64 - 1)
LOOPS = """
void draw(uint64_t *a, uint64_t *b, const uint64_t *c, const uint64_t *s, const uint64_t *k,
          int64_t n) {
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) a[i] = fc_philox_u64(c[i], s[i], k[i]);
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) b[i] = fc_philox_rest_u64(c[i], s[i], k[i]);
}
void widen(double *a, const uint64_t *c, int64_t n) {
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) a[i] = fc_f64_of_u64(c[i]);
}
"""


@pytest.fixture(scope="module", params=TARGETS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The loops compiled for one set of instructions."""
    return harness.compiled_for(request.param, LOOPS, tmp_path_factory.mktemp("loops"))


def test_blocks_and_doubles(library: Path) -> None:
    """Whole packs and what is left of them; doubles are rounded once, to even."""
    rows = list(itertools.product(EDGES, EDGES, EDGES))[:509]
    columns = [np.array(column, np.uint64) for column in zip(*rows, strict=True)]
    a, b, n = np.empty_like(columns[0]), np.empty_like(columns[0]), len(rows)
    loaded = ctypes.CDLL(str(library))
    pointers = [ctypes.c_void_p(v.ctypes.data) for v in (a, b, *columns)]
    loaded.draw(*pointers, ctypes.c_int64(n))
    found = [int(x) | int(y) << 64 for x, y in zip(a, b, strict=True)]
    assert found == [block(c | s << 64, k) for c, s, k in rows]

    values = [e + d for e in EDGES for d in range(-1100, 1100, 7) if 0 <= e + d < 2**64]
    given, doubles = np.array(values, np.uint64), np.empty(len(values))
    loaded.widen(
        *(ctypes.c_void_p(v.ctypes.data) for v in (doubles, given)), ctypes.c_int64(len(values))
    )
    assert doubles.tolist() == [float(v) for v in values]
    assert not np.signbit(doubles).any()
