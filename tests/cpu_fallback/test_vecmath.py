"""The functions of ``vecmath.h``: accuracy, special values, exactness, vectorisation."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests import vecmath_harness as harness
from tests.marks import at_length, one_in

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SETS = Path(np.__file__).parent / "_core" / "tests" / "data"
DTYPES = [np.float64, np.float32]
INF, NAN = float("inf"), float("nan")
PI = np.pi
# The largest error allowed against mpmath, in ULP; the head of the header states
# what was measured.
BOUND = {"f64": 0.9, "f32": 0.51}
OTHER = {
    ("erfc", "f64"): 2.0,
    ("logaddexp", "f64"): 2.5,
    ("logaddexp", "f32"): 1.0,
    ("arctan2", "f32"): 0.9,
    **{(name, "f32"): bound for name, bound in harness.SINGLE.items()},
}


def ordered(values: np.ndarray) -> np.ndarray:
    """Map floats to integers that count them in order, -0 and 0 alike."""
    bits = values.view(f"i{values.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits)


def read_set(path: Path, dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read arguments, results and tolerances of one type from a validation set."""
    rows = [line.split(",") for line in path.read_text().splitlines() if line.startswith("np.")]
    rows = [row for row in rows if row[0] == f"np.{dtype.__name__}"]
    unsigned = f"u{np.dtype(dtype).itemsize}"
    columns = [np.array([int(row[i], 16) for row in rows], unsigned) for i in (1, 2)]
    return columns[0].view(dtype), columns[1].view(dtype), np.array([int(r[3]) for r in rows])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("path", sorted(SETS.glob("*.csv")), ids=lambda p: p.stem.split("-")[-1])
@at_length
def test_numpy_validation_set(lib: harness.Functions, path: Path, dtype: type) -> None:
    x, want, tolerance = read_set(path, dtype)
    got = lib(path.stem.split("-")[-1], x)
    nan = np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), nan)
    x, want, got, tolerance = (a[~nan] for a in (x, want, got, tolerance))
    bad = (np.abs(ordered(got) - ordered(want)) > tolerance) | (np.signbit(got) != np.signbit(want))
    assert not bad.any(), list(zip(x[bad], got[bad], want[bad], strict=True))[:5]


SPECIAL = {
    "exp": [(INF, INF), (-INF, 0.0), (0.0, 1.0), (-0.0, 1.0), (1e4, INF), (-1e4, 0.0)],
    "exp2": [(INF, INF), (-INF, 0.0), (-0.0, 1.0), (1e9, INF), (-1e9, 0.0)],
    "expm1": [(INF, INF), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (-200.0, -1.0), (1e4, INF)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (INF, INF), (-INF, NAN)],
    "log2": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (INF, INF), (-INF, NAN)],
    "log10": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (INF, INF), (-INF, NAN)],
    "log1p": [(-1.0, -INF), (0.0, 0.0), (-0.0, -0.0), (-2.0, NAN), (INF, INF), (-INF, NAN)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (50.0, 1.0)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (27.0, 3.0), (-8.0, -2.0)],
    "arctan": [(0.0, 0.0), (-0.0, -0.0), (INF, PI / 2), (-INF, -PI / 2), (1e30, PI / 2)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e4, INF), (-1e4, -INF)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (1e4, INF)],
    "arcsin": [(0.0, 0.0), (-0.0, -0.0), (1.0, PI / 2), (-1.0, -PI / 2), (1.5, NAN), (-INF, NAN)],
    "arccos": [(1.0, 0.0), (-1.0, PI), (0.0, PI / 2), (1.5, NAN), (-1.5, NAN), (INF, NAN)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (30.0, 1.0), (-30.0, -1.0)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (30.0, 0.0), (-30.0, 2.0)],
    "arcsinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "arccosh": [(1.0, 0.0), (0.5, NAN), (-1.0, NAN), (INF, INF), (-INF, NAN)],
    "arctanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)],
    "expit": [(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (1e4, 1.0), (-1e4, 0.0)],
}
ENDS = [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1e30, 1e-30, 1e-40, INF]
ENDS = np.array([*ENDS, *(-v for v in ENDS), NAN])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(lib: harness.Functions, name: str, dtype: type) -> None:
    x, want = np.array([*SPECIAL[name], (NAN, NAN)], dtype).T
    got = lib(name, x)
    np.testing.assert_array_equal(got, want)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", harness.BINARY)
def test_special_pairs_match_numpy(lib: harness.Functions, name: str, dtype: type) -> None:
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(ENDS, ENDS))
    with np.errstate(all="ignore"):
        want = getattr(np, harness.NUMPY_NAME.get(name, name))(x, y)
    got = lib(name, x, y)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    known = ~np.isnan(want)
    if name != "logaddexp":  # NumPy's own may cancel to either zero
        np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))
    x, y, got, want = (a[known] for a in (x, y, got, want))
    special = ~np.isfinite(want) | ~np.isfinite(got)
    np.testing.assert_array_equal(got[special], want[special])
    size = np.abs(want)
    if name == "logaddexp":  # where the sum cancels, so do its digits, and NumPy's
        larger = np.fmax(np.abs(x), np.abs(y))
        size = np.where(np.isfinite(larger), np.fmax(size, larger), size)
    with np.errstate(invalid="ignore"):
        gap = np.where(special, 0, np.abs(got - want) / np.spacing(size))
    assert gap.max() <= 2, (x[gap > 2], y[gap > 2])


def extreme(name: str, dtype: type, count: int) -> tuple[np.ndarray, ...]:
    """Draw arguments over all magnitudes on which the function is finite."""
    rng = np.random.default_rng(7)
    info = np.finfo(dtype)
    top = info.maxexp * 0.693
    wide = {
        "exp": (-top, top),
        "expm1": (-top, top),
        "expit": (-top, top),
        "exp2": (info.minexp - info.nmant, info.maxexp),
        "sinh": (-top, top),
        "cosh": (-top, top),
        "tanh": (-20, 20),
        "erf": (-1, 1),
        "erfc": (-1, 26.5 if dtype is np.float64 else 10),
    }
    if name in wide:
        return (rng.uniform(*wide[name], count).astype(dtype),)
    with np.errstate(over="ignore"):
        sizes = np.exp2(rng.uniform(info.minexp - 20, info.maxexp, count)).astype(dtype)
    if name in {"arcsin", "arccos", "arctanh"}:
        sizes = 1 - np.exp2(rng.uniform(-info.nmant, 0, count)).astype(dtype)
    if name == "arccosh":
        sizes = 1 + np.exp2(rng.uniform(-info.nmant, info.maxexp - 2, count)).astype(dtype)
    if name not in {"log", "log2", "log10", "log1p", "arccosh"}:
        sizes *= rng.choice([-1, 1], count).astype(dtype)
    return (sizes,)


@pytest.mark.parametrize("kind", harness.TYPES)
@pytest.mark.parametrize("name", (*harness.UNARY, *harness.BINARY))
@one_in(6)
def test_error_against_mpmath(lib: harness.Functions, name: str, kind: str) -> None:
    pytest.importorskip("mpmath")
    dtype = harness.TYPES[kind][0]
    draws = [harness.sample(name, dtype, 400, seed=5)]
    if name not in harness.BINARY:
        draws.append(extreme(name, dtype, 250))
    for args in draws:
        errors = harness.ulp_errors(name, args, lib(name, *args))
        worst = int(np.argmax(errors))
        bound = OTHER.get((name, kind), BOUND[kind])
        assert errors[worst] <= bound, (errors[worst], [float(a[worst]) for a in args])


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_reduction_next_to_multiples_of_half_pi(lib: harness.Functions, name: str) -> None:
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.prec = 1200
    near = [
        float(n * 2**k * mpmath.pi / 2) for n in (1, 3, 11, 29, 355) for k in range(0, 1000, 37)
    ]
    # closest of all doubles, by the continued fraction of 2/pi
    near.append(float.fromhex("0x1.6ac5b262ca1ffp+849"))
    x = np.array(near)
    assert harness.ulp_errors(name, (x,), lib(name, x)).max() <= 0.9
    single = x[np.abs(x) < 1e38].astype(np.float32)
    assert harness.ulp_errors(name, (single,), lib(name, single)).max() <= harness.SINGLE.get(
        name, 0.51
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_far_angle_leaves_its_pack_alone(
    lib: harness.Functions, tmp_path: Path, dtype: type
) -> None:
    """Packs with angles for the long way, each alone, and without vector functions: one result."""
    rng = np.random.default_rng(3)
    kind = "f64" if dtype is np.float64 else "f32"
    x = rng.uniform(-2000, 2000, 999).astype(dtype)
    far = [1e30, -3e6, 2.0**24, 2.0**12, PI, -14.5 * PI, 355.0, 1e-30, -0.0, INF, NAN]
    at = rng.choice(x.size, 120)
    x[at] = rng.choice(np.array(far, dtype), at.size)
    names = [(name, kind) for name in harness.ANGLES]
    plain = harness.Functions(harness.compile_library(tmp_path, (), ("cc",), names, False)[0])
    for name in harness.ANGLES:
        got = lib(name, x)
        alone = np.concatenate([lib(name, x[i : i + 1]) for i in range(x.size)])
        np.testing.assert_array_equal(got, alone)
        np.testing.assert_array_equal(got, plain(name, x))
        finite = x[np.isfinite(x)]
        bound = 0.9 if kind == "f64" else harness.SINGLE.get(name, 0.51)
        assert harness.ulp_errors(name, (finite,), lib(name, finite)).max() <= bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_seldom_power_leaves_its_pack_alone(
    lib: harness.Functions, tmp_path: Path, dtype: type
) -> None:
    """Powers that a pack leaves to the long way, each alone, and without packs: one result."""
    rng = np.random.default_rng(4)
    kind = "f64" if dtype is np.float64 else "f32"
    x, y = (rng.uniform(*ends, 2000).astype(dtype) for ends in ((0.1, 10), (-10, 10)))
    at = rng.choice(x.size, 400)
    x[at[:300]] = rng.choice(ENDS.astype(dtype), 300)
    y[at[100:]] = rng.choice(np.array([*ENDS, 80.5, -130, 3e2, -1e3, 2.0**64], dtype), 300)
    plain = harness.Functions(
        harness.compile_library(tmp_path, (), ("cc",), [("pow", kind)], False)[0]
    )
    got = lib("pow", x, y)
    alone = np.concatenate([lib("pow", x[i : i + 1], y[i : i + 1]) for i in range(x.size)])
    np.testing.assert_array_equal(got, alone)
    np.testing.assert_array_equal(got, plain("pow", x, y))
    with np.errstate(all="ignore"):
        usual = np.isfinite(x) & np.isfinite(y) & (x > 0) & (np.abs(y * np.log2(x)) < 1e4)
    errors = harness.ulp_errors("pow", (x[usual], y[usual]), got[usual])
    size = np.abs(got[usual])
    finite = np.isfinite(size)
    assert errors[finite].max() <= (0.85 if kind == "f64" else 0.51)


@pytest.mark.parametrize("name", harness.PACKED_DOUBLES)
def test_what_is_seldom_leaves_its_pack_alone(
    lib: harness.Functions, tmp_path: Path, name: str
) -> None:
    """Ends, subnormals and what is large, each alone, and without vector functions: one result."""
    rng = np.random.default_rng(9)
    low, high = harness.DOMAIN[name]
    x = rng.uniform(low, high, 2000)
    ends = [*ENDS, *(s * v for s in (1, -1) for v in (2e-308, 1e-310, 5e-324, 1.7e308, 2.0**58))]
    at = rng.choice(x.size, 300)
    x[at] = rng.choice(np.array([*ends, 1 - 2.0**-53, 1 + 2.0**-52, 0.0625, 16.0]), at.size)
    plain = harness.Functions(
        harness.compile_library(tmp_path, (), ("cc",), [(name, "f64")], False)[0]
    )
    got = lib(name, x)
    alone = np.concatenate([lib(name, x[i : i + 1]) for i in range(x.size)])
    assert np.array_equal(got, alone, equal_nan=True)
    assert np.array_equal(got, plain(name, x), equal_nan=True)
    known = np.isfinite(got)
    assert harness.ulp_errors(name, (x[known],), got[known]).max() <= 0.7


@pytest.mark.parametrize("name", harness.PACKED_FLOATS)
def test_a_seldom_float_leaves_its_pack_alone(
    lib: harness.Functions, tmp_path: Path, name: str
) -> None:
    """Of functions that look numbers up: in packs, each alone, and without packs, one result."""
    rng = np.random.default_rng(9)
    seldom = np.array([*ENDS, 1e38, -1e38, 1e-44, 1.0625, 0.9375, 9.3, 1e-20], np.float32)
    operands = [rng.uniform(0.01, 20, 1500).astype(np.float32) for _ in range(2)]
    for x in operands:
        at = rng.choice(x.size, 200)
        x[at] = rng.choice(seldom, at.size)
    args = operands[: 1 + (name in harness.OF_TWO)]
    folder, kind = tmp_path, (name, "f32")
    plain = harness.Functions(harness.compile_library(folder, (), ("cc",), [kind], False)[0])
    got = lib(name, *args)
    alone = np.concatenate([lib(name, *(x[i : i + 1] for x in args)) for i in range(1500)])
    np.testing.assert_array_equal(got, alone)
    np.testing.assert_array_equal(got, plain(name, *args))


SMALL_TERMS = {"sinh": (17, 21), "cosh": (17, 21), "tanh": (17, 20), "expm1": (35, 39)}


@pytest.mark.parametrize("name", SMALL_TERMS)
def test_small_terms_below_the_last_place_are_felt(lib: harness.Functions, name: str) -> None:
    """As e^-x beside e^x: what is not seen in a sum may still be half a unit."""
    x = np.random.default_rng(10).uniform(*SMALL_TERMS[name], 2000)
    for part in (x, -x):
        assert harness.ulp_errors(name, (part,), lib(name, part)).max() <= 0.8


def test_large_powers_near_1_are_within_bounds(lib: harness.Functions) -> None:
    """Where the logarithm's error counts most: bases to both ends of a reduced argument."""
    rng = np.random.default_rng(6)
    for ends in ((0.7072, 0.74), (1.37, 1.4142), (0.9, 1.1), (1e-300, 1e300)):
        x = rng.uniform(*ends, 1000)
        y = rng.uniform(650, 705, 1000) * rng.choice([-1, 1], 1000) / np.log(x)
        errors = harness.ulp_errors("pow", (x, y), lib("pow", x, y))
        assert errors.max() <= 0.85, ends


def test_powers_of_subnormal_bases(lib: harness.Functions) -> None:
    rng = np.random.default_rng(11)
    x = rng.integers(1, 1 << 52, 500, dtype=np.uint64).view(np.float64)
    y = rng.uniform(-0.9, 1.0, x.size)
    assert harness.ulp_errors("pow", (x, y), lib("pow", x, y)).max() <= 0.6


def test_float_angles_of_points_of_all_sizes(lib: harness.Functions) -> None:
    """Against the doubles', also where a coordinate or what the quotient leaves is subnormal."""
    rng = np.random.default_rng(8)
    n = 1 << 17
    y, x = (rng.integers(0, 1 << 32, n, dtype=np.uint32).view(np.float32) for _ in "yx")
    with np.errstate(all="ignore"):
        x[: n // 2] = y[: n // 2] * rng.uniform(0.3, 3, n // 2).astype(np.float32)
    x[np.isnan(x)], y[np.isnan(y)] = NAN, NAN  # quiet ones
    got, exact = lib("arctan2", y, x), lib("arctan2", y.astype(float), x.astype(float))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    known = ~np.isnan(exact)
    got, exact = got[known], exact[known]
    np.testing.assert_array_equal(np.signbit(got), np.signbit(exact))
    place = 2.0 ** (np.frexp(np.maximum(np.abs(exact), 2.0**-126))[1] - 24)
    assert (np.abs(got - exact) / place).max() <= 0.9


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_two_are_exact(lib: harness.Functions, dtype: type) -> None:
    info = np.finfo(dtype)
    n = np.arange(info.minexp - info.nmant, info.maxexp).astype(dtype)
    powers = np.ldexp(dtype(1), n.astype(int))
    np.testing.assert_array_equal(lib("exp2", n), powers)
    np.testing.assert_array_equal(lib("log2", powers), n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_ten(lib: harness.Functions, dtype: type) -> None:
    """Each is the double or float next to the exact value; Python's literals are."""
    top = 308 if dtype is np.float64 else 38
    n = np.arange(-top - 15, top + 1)
    with np.errstate(under="ignore"):
        powers = np.array([float(f"1e{k}") for k in n]).astype(dtype)
    got = lib("pow", np.full(n.size, 10, dtype), n.astype(dtype))
    np.testing.assert_array_equal(got, powers)
    normal = powers >= np.finfo(dtype).tiny
    np.testing.assert_array_equal(lib("log10", powers)[normal], n[normal])


def test_whole_powers_are_exact_where_representable(lib: harness.Functions) -> None:
    base, exponent = (a.ravel() for a in np.meshgrid(np.arange(-40, 41), np.arange(0, 33)))
    exact = [int(b) ** int(e) for b, e in zip(base, exponent, strict=True)]
    fits = np.array([int(float(v)) == v for v in exact])
    want = np.array([float(v) for v in exact])[fits]
    got = lib("pow", base[fits].astype(float), exponent[fits].astype(float))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", (*harness.UNARY, *harness.BINARY))
def test_bits_do_not_depend_on_position(lib: harness.Functions, name: str, dtype: type) -> None:
    args = harness.sample(name, dtype, 75)
    alone = np.concatenate([lib(name, *(a[i : i + 1] for a in args)) for i in range(75)])
    for size in range(1, 68):
        for offset in (0, 1, 2, 3, 5, 7):
            part = lib(name, *(a[offset : offset + size] for a in args))
            np.testing.assert_array_equal(part, alone[offset : offset + size])


@at_length
def test_loops_are_vectorised(tmp_path: Path) -> None:
    """All of them, for processors with AVX2 and FMA, of whatever kind the one at hand is."""
    if not harness.is_gcc(["cc"]):
        pytest.skip("cc is not gcc, whose report is read")
    if "__x86_64__" not in harness.said_by("cc", "-dM", "-E", "-"):
        pytest.skip("cc is not for x86-64")
    flags = ("-march=x86-64-v3", "-fopt-info-vec")
    library, report = harness.compile_library(tmp_path, flags)
    lines = library.with_name("loops.c").read_text().splitlines()
    done = {int(n) for n in re.findall(r"loops\.c:(\d+):.*loop vectorized", report)}
    vectorised = [lines[n - 1] for n in done]
    for name, kind in harness.ALL:
        assert any(f"fc_{name}_{kind}(" in line for line in vectorised), (name, kind)


def test_functions_do_not_warn(build: dict[str, tuple[Path, str]], tmp_path: Path) -> None:
    """Used ones and others."""
    assert not [said for _, said in build.values() if "warning" in said]
    text = tmp_path / "one.c"
    text.write_text('#include "vecmath.h"\ndouble f(double x) { return fc_exp_f64(x); }\n')
    x86 = "__x86_64__" in harness.said_by("cc", "-dM", "-E", "-")
    for target in ("-march=native", "-mno-fma")[: 1 + x86]:
        flags = harness.accepted(["cc"], harness.FLAGS)
        command = ["cc", *flags, target, "-Wall", "-Wextra", "-Werror"]
        command += [f"-I{harness.HEADER_DIR}", str(text), "-o", str(tmp_path / "one.so"), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
