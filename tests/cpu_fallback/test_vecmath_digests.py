"""The vector math has the same bits with every compiler, with none, and without FMA."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from fusecuda.cpu_fallback import quick_fma
from fusecuda.cpu_fallback.translate import Translation
from tests import vecmath_digests as digests
from tests import vecmath_harness as harness
from tests.conftest import Golden

SOME = [("exp", "f64"), ("cbrt", "f64"), ("arctan2", "f64"), ("hypot", "f64"), ("log10", "f64")]
SOME += [(name, "f32") for name in ("sin", "tanh", "expit", "arccos", "log2", "cbrt")]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def run(
    lib: harness.Functions, setting: digests.Setting, functions: list[digests.Function], count: int
) -> None:
    """Demand that ``setting`` is run here and has the bits of the first setting."""
    if lack := setting.lacks():
        pytest.skip(lack)
    want, got = digests.values(lib, functions, count), setting.results(functions, count)
    assert [f for f in functions if digests.digest(got[f]) != digests.digest(want[f])] == []


@needs_cc
def test_digests_are_those_on_record(lib: harness.Functions, golden: Golden) -> None:
    """Of 60,000 draws of each function, whatever compiler and processor this is."""
    golden(digests.RECORD.name, digests.lines_of(digests.values(lib)))


@needs_cc
def test_some_functions_without_fused_multiply_add(lib: harness.Functions) -> None:
    run(lib, digests.Setting("quick", ("cc",), ("-mno-fma", "-O1")), SOME, 6_000)


@needs_cc
@pytest.mark.slow
def test_interpreted_functions_have_the_compiled_bits(lib: harness.Functions) -> None:
    run(lib, digests.Setting(digests.INTERPRETED), list(harness.ALL), 600)


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize("setting", digests.SETTINGS[1:], ids=lambda s: s.label)
def test_digests_under_each_setting(setting: digests.Setting) -> None:
    if lack := setting.lacks():
        pytest.skip(lack)
    got = {f: digests.digest(v) for f, v in setting.results().items()}
    record = digests.recorded()
    assert [f for f in record if got[f] != record[f]] == []


def test_draws_reach_what_is_special() -> None:
    """Subnormals, infinities, NaN, both zeros, large and small, for each type."""
    for kind, (dtype, _) in harness.TYPES.items():
        (x,) = digests.draws(("exp", kind))
        assert x.dtype == dtype
        assert x.size == digests.COUNT
        tiny, top = np.finfo(dtype).tiny, np.finfo(dtype).max
        assert np.count_nonzero((np.abs(x) < tiny) & (x != 0)) > 20
        assert np.count_nonzero(np.abs(x) > top / 2) > 5
        assert np.isnan(x).any()
        assert {np.inf, -np.inf, 0.0} <= set(x.tolist())
        assert np.signbit(x[x == 0]).any()


def test_the_page_has_the_digests_on_record() -> None:
    text = digests.PAGE.read_text()
    assert set(digests.recorded()) == set(harness.ALL)
    assert [f for f, value in digests.recorded().items() if f"`{value}`" not in text] == []


def test_a_digest_sees_one_bit() -> None:
    x = np.array([1.0, np.nan, 0.0])
    assert digests.digest(x) == digests.digest(np.array([1.0, -np.nan, 0.0]))
    assert digests.digest(x) != digests.digest(np.array([1.0, np.nan, -0.0]))
    assert digests.digest(x) != digests.digest(np.array([np.nextafter(1, 2), np.nan, 0.0]))


@pytest.mark.parametrize("kind", harness.TYPES)
def test_quick_multiply_add_has_the_bits_of_the_text(kind: str) -> None:
    """Random terms, terms that cancel, ties, sums next to ties, and numbers without an array."""
    dtype = np.dtype(harness.TYPES[kind][0]).type
    text = Translation()
    text.add((harness.HEADER_DIR / "vecmath_exact.h").read_text())
    name = "fc_fma" if kind == "f64" else "fc_fmaf"
    exact, quick = text[name], getattr(quick_fma, name.removeprefix("fc_"))
    rng, n, half = np.random.default_rng(5), 4096, np.finfo(dtype).nmant // 2
    a = (rng.normal(size=n) * 2.0 ** rng.integers(-30, 30, n)).astype(dtype)
    b = rng.normal(size=n).astype(dtype)
    whole = rng.integers(1 << half, 2 << half, (2, n)).astype(dtype)
    odd = 2 * whole + dtype(1)
    tie = odd[0] * dtype(2.0 ** (np.finfo(dtype).nmant - half))
    terms = [(a, b, b[::-1] * dtype(2.0) ** rng.integers(-60, 30, n).astype(dtype)), (a, b, -a * b)]
    terms += [(a, b, -a * b * (1 + np.spacing(dtype(1)) * rng.integers(-3, 4, n).astype(dtype)))]
    terms += [(a, dtype(0.1), b), (whole[0], whole[1], dtype(0.5)), (odd[0], odd[1], dtype(0.5))]
    terms += [(tie, dtype(1), odd[1] * dtype(0.5)), (tie, odd[1], b * dtype(1e-9))]
    terms += [(a, b, np.zeros(n, dtype)), (np.zeros(n, dtype), b, -np.zeros(n, dtype))]
    terms += [(dtype(0.1), dtype(0.3), dtype(-0.03))]
    least, top = np.spacing(dtype(1)), dtype(2.0 ** (np.finfo(dtype).nmant + 1))
    terms += [
        (whole[0] * 0 + 1 + least, 1 - least, top + 2 * rng.integers(0, 999, n).astype(dtype))
    ]
    with np.errstate(all="ignore"):
        for number, term in enumerate(terms):
            want, got = exact(*term), quick(exact, *term)
            assert np.asarray(got).tobytes() == np.asarray(want).tobytes(), number


FMA = """
#include <math.h>
#include <stdint.h>
#include <string.h>
#define FC_FN static inline
#include "vecmath_exact.h"
#if defined(__FMA__)
#error this is to test the arithmetic that stands in for fused multiply-add
#endif
long wrong(const double *a, const double *b, const double *c, long n) {
    long count = 0;
    for (long i = 0; i < n; i++) {
        double want = fma(a[i], b[i], c[i]), got = fc_fma(a[i], b[i], c[i]);
        count += fc_bits(want) != fc_bits(got);
    }
    return count;
}
"""


@needs_cc
def test_computed_fused_multiply_add_rounds_once(tmp_path: Path) -> None:
    """Random terms, terms that cancel, terms far apart, ties, zeros and subnormals."""
    setting = digests.Setting("", ("cc",), ("-mno-fma",))
    if lack := setting.lacks():
        pytest.skip(lack)
    import ctypes

    (tmp_path / "fma.c").write_text(FMA)
    flags = [f for f in harness.FLAGS if f != "-march=native"]
    line = ["cc", *flags, "-mno-fma", f"-I{harness.HEADER_DIR}", str(tmp_path / "fma.c")]
    harness.run([*line, "-o", str(tmp_path / "fma.so"), "-lm"])
    wrong = ctypes.CDLL(str(tmp_path / "fma.so")).wrong
    wrong.restype = ctypes.c_long
    rng = np.random.default_rng(1)
    n = 1 << 18

    def pattern(exponents: int, kept: int) -> np.ndarray:
        """Doubles with exponents that far from 0 either way, and so many bits of fraction."""
        fraction = rng.integers(0, 1 << 52, n, dtype=np.uint64) >> np.uint64(52 - kept)
        high = rng.integers(1023 - exponents, 1024 + exponents, n, dtype=np.uint64)
        sign = rng.integers(0, 2, n, dtype=np.uint64) << np.uint64(63)
        return (fraction << np.uint64(52 - kept) | high << np.uint64(52) | sign).view(np.float64)

    for exponents, kept in ((3, 52), (60, 52), (450, 52), (60, 3), (120, 1), (60, 27)):
        a, b, c = (pattern(exponents, kept) for _ in range(3))
        nearby = -a * b * (1 + rng.integers(-3, 4, n) * 2.0**-53)
        tiny = rng.integers(0, 1 << 53, n, dtype=np.uint64).view(np.float64)
        for third in (c, nearby, c * 2.0**-60, tiny, np.zeros(n), -np.zeros(n)):
            pointers = [ctypes.c_void_p(np.ascontiguousarray(v).ctypes.data) for v in (a, b, third)]
            assert wrong(*pointers, ctypes.c_long(n)) == 0, (exponents, kept)
