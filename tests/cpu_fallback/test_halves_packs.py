"""Conversions of halves by each set of instructions: by the processor's own or in integers."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests import vecmath_harness as harness

TARGETS = ("-march=native", "-mno-avx512f", "-mno-f16c")
LOOPS = """
void widen(const uint16_t *h, float *a, int64_t n) {
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) a[i] = fc_widen_f16(h[i]);
}
void narrow(const float *a, uint16_t *h, int64_t n) {
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) h[i] = fc_narrow_f16(fc_round_f16(a[i]));
}
void rounded(const float *a, float *b, int64_t n) {
    #pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) b[i] = fc_round_f16(a[i]);
}
"""


@pytest.fixture(scope="module", params=TARGETS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The loops compiled for one set of instructions."""
    return harness.compiled_for(request.param, LOOPS, tmp_path_factory.mktemp("loops"))


def test_conversions(library: Path) -> None:
    """All halves; floats that are halves, lie in the middle of two, or next to that."""
    loaded = ctypes.CDLL(str(library))

    def call(name: str, given: np.ndarray, dtype: type) -> np.ndarray:
        found = np.empty(given.size, dtype)
        pointers = (ctypes.c_void_p(v.ctypes.data) for v in (given, found))
        getattr(loaded, name)(*pointers, ctypes.c_int64(given.size))
        return found

    halves = np.arange(1 << 16, dtype=np.uint16)
    floats = call("widen", halves, np.float32)
    np.testing.assert_array_equal(floats, halves.view(np.float16).astype(np.float32))
    whole = np.sort(floats[np.isfinite(floats)])
    middle = ((whole[1:].astype(np.float64) + whole[:-1]) / 2).astype(np.float32)
    ends = np.float32([65519.996, 65520, 65536, 1e9, np.inf, np.nan, 2.0**-25, 1e-30, 0.0])
    near = [whole, middle, np.nextafter(middle, np.float32(9e9)), ends]
    near += [np.nextafter(middle, np.float32(-9e9)), -ends]
    values = np.concatenate(near)
    with np.errstate(over="ignore"):
        right = values.astype(np.float16)
    rounded = call("rounded", values, np.float32)
    np.testing.assert_array_equal(rounded, right.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(rounded), np.signbit(values))
    bits = call("narrow", values, np.uint16)
    is_number = ~np.isnan(values)
    np.testing.assert_array_equal(bits[is_number], right.view(np.uint16)[is_number])
    assert np.isnan(bits.view(np.float16)[~is_number]).all()
