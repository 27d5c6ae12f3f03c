"""The functions in float arithmetic at every float there is, against those in double arithmetic."""

from __future__ import annotations

import ctypes
import shutil

import pytest

from tests import vecmath_harness as harness
from tests.marks import in_turn

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

LANES = 4096
# The double function errs by less than 2^-28 of a float's last place. What is wrong beyond
# measure - NaN, infinity or the sign of zero - counts as 1e30.
SHARED = """
#include "vecmath.h"
#include <fenv.h>
enum { LANES = %d };
static double error_of(double got, double exact) {
    double want = (float)exact, both = fc_abs(got) + fc_abs(want);
    double size = fc_abs(exact) < 0x1p-126 ? 0x1p-126 : fc_abs(exact);
    double place = fc_from_bits((fc_bits(size) & 0x7ff0000000000000u) - (23ull << 52));
    double gap = fc_abs(got - exact) / place;
    double turned = (fc_bits(got) ^ fc_bits(want)) >> 63 ? 1e30 : 0.0;
    double unlike = got == want ? turned : 1e30;
    double none = want != want ? 0.0 : 1e30;
    unlike = got != got ? none : unlike;
    gap = both == 0.0 ? unlike : gap;
    return both < __builtin_inf() ? gap : unlike;
}
"""
SEARCH = """
double worst_NAME(uint64_t step, float *at) {
    static float x[LANES], y[LANES];
    static double exact[LANES], error[LANES];
    double worst = 0;
    for (uint64_t first = 0; first < 1ull << 32; first += step * LANES) {
        for (int i = 0; i < LANES; i++) x[i] = fc_from_bits32((uint32_t)(first + step * i));
        for (int i = 0; i < LANES; i++) y[i] = fc_NAME_f32(x[i]);
        for (int i = 0; i < LANES; i++) exact[i] = fc_NAME_f64(x[i]);
        for (int i = 0; i < LANES; i++) error[i] = error_of(y[i], exact[i]);
        uint64_t larger = 0;
        for (int i = 0; i < LANES; i++) larger |= error[i] > worst ? ~0ull : 0;
        for (int i = 0; i < LANES && larger; i++)
            if (error[i] > worst) { *at = x[i]; worst = error[i]; }
    }
    return worst;
}
int underflows_NAME(float *restrict y) {
    static float x[LANES];
    int found = 0;
    for (uint32_t u = 0x0c000000u; u < 0x30000000u; u += 997 * LANES) {
        for (int i = 0; i < LANES; i++) x[i] = fc_from_bits32((u + 997 * i) | (i & 1u) << 31);
        feclearexcept(FE_ALL_EXCEPT);
        for (int i = 0; i < LANES; i++) y[i] = fc_NAME_f32(x[i]);
        found |= fetestexcept(FE_UNDERFLOW);
    }
    return found;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """A search for the worst error of each function."""
    folder = tmp_path_factory.mktemp("floats")
    text, built = folder / "floats.c", folder / "floats.so"
    text.write_text(SHARED % LANES + "".join(SEARCH.replace("NAME", n) for n in harness.SINGLE))
    flags = [*harness.accepted(["cc"], harness.FLAGS), f"-I{harness.HEADER_DIR}"]
    harness.run(["cc", *flags, str(text), "-o", str(built), "-lm"])
    return ctypes.CDLL(str(built))


def worst(library: ctypes.CDLL, name: str, step: int) -> tuple[float, float]:
    """The largest error at every ``step``-th float, and where it is."""
    search, at = library[f"worst_{name}"], ctypes.c_float()
    search.restype = ctypes.c_double
    return search(ctypes.c_uint64(step), ctypes.byref(at)), at.value


@pytest.mark.parametrize("name", harness.SINGLE)
def test_error_at_some_floats(library: ctypes.CDLL, name: str) -> None:
    error, at = worst(library, name, 4093)
    assert error <= harness.SINGLE[name], at.hex()


@pytest.mark.slow
@pytest.mark.parametrize("name", in_turn(list(harness.SINGLE)))
def test_error_at_every_float(library: ctypes.CDLL, name: str) -> None:
    error, at = worst(library, name, 1)
    assert error <= harness.SINGLE[name], at.hex()


@pytest.mark.parametrize("name", harness.SINGLE)
def test_nothing_underflows_at_small_floats(library: ctypes.CDLL, name: str) -> None:
    """From 2^-103 to 2^-31: a processor takes a hundred times as long for what is subnormal."""
    assert not library[f"underflows_{name}"]((ctypes.c_float * LANES)())
