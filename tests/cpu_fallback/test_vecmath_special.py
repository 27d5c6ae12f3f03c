"""SciPy's special functions in C: errors against mpmath, special values, bits at every place."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Callable

import numpy as np
import pytest

from fusecuda.cpu_fallback import interpreted, texts
from tests import special_functions as special
from tests import vecmath_harness as harness
from tests.marks import one_in

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
INF, NAN = math.inf, math.nan


def check(lib: Callable[..., np.ndarray], name: str, kind: str, count: int, seed: int) -> None:
    """Demand the bound of draws from all places."""
    bound = special.BOUNDS[name] if kind == "f64" else special.SINGLE
    for args in special.draws(name, harness.TYPES[kind][0], count, seed):
        errors = special.ulp_errors(name, args, lib(name, *args))
        worst = int(errors.argmax())
        assert errors[worst] <= bound, (errors[worst], [float(a[worst]) for a in args])


@pytest.mark.parametrize("kind", harness.TYPES)
@pytest.mark.parametrize("name", special.NAMES)
@one_in(12)
def test_error_against_mpmath(lib: harness.Functions, name: str, kind: str) -> None:
    check(lib, name, kind, 40, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", harness.TYPES)
@pytest.mark.parametrize("name", special.NAMES)
def test_error_of_many(lib: harness.Functions, name: str, kind: str) -> None:
    check(lib, name, kind, 3000, seed=5)


SPECIAL = {
    "gammaln": [(0, INF), (-0.0, INF), (1, 0.0), (2, 0.0), (-3, INF), (INF, INF), (-INF, -INF)],
    "gamma": [(0, INF), (-0.0, -INF), (1, 1), (5, 24), (-3, NAN), (INF, INF), (-INF, NAN)],
    "psi": [(0, -INF), (-0.0, INF), (-2, NAN), (INF, INF), (-INF, NAN)],
    "erfcx": [(0, 1), (INF, 0.0), (-INF, INF), (-30, INF)],
    "erfinv": [(0, 0.0), (-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN), (-INF, NAN)],
    "erfcinv": [(0, INF), (-0.0, INF), (1, -0.0), (2, -INF), (-1, NAN), (INF, NAN)],
    "ndtr": [(0, 0.5), (INF, 1), (-INF, 0.0), (-40, 0.0), (40, 1)],
    "ndtri": [(0, -INF), (0.5, 0.0), (1, INF), (-1, NAN), (2, NAN), (INF, NAN)],
    "log_ndtr": [(INF, -0.0), (-INF, -INF), (40, -0.0)],
    "logit": [(0, -INF), (-0.0, -INF), (0.5, 0.0), (1, INF), (-1, NAN), (2, NAN), (INF, NAN)],
    "log_expit": [(INF, -0.0), (-INF, -INF)],
    "i0": [(0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (1e4, INF), (1e30, INF)],
    "i0e": [(0, 1), (INF, 0.0), (-INF, 0.0)],
    "i1": [(0, 0.0), (-0.0, -0.0), (INF, NAN), (1e4, INF), (-1e30, -INF)],
    "i1e": [(0, 0.0), (-0.0, -0.0), (INF, 0.0), (-INF, -0.0)],
    "entr": [(0, 0.0), (1, -0.0), (-1, -INF), (INF, -INF), (-INF, -INF)],
    "exp10": [(0, 1), (2, 100), (-INF, 0.0), (INF, INF), (400, INF)],
    "exprel": [(0, 1), (-0.0, 1), (INF, INF), (-INF, 0.0)],
    "cosm1": [(0, 0.0), (-0.0, 0.0), (INF, NAN), (-INF, NAN)],
}
PAIRS = {
    "xlogy": [(0, 0, 0.0), (0, INF, 0.0), (2, 0, -INF), (1, -1, NAN), (0, -1, 0.0), (INF, 2, INF)],
    "xlog1py": [(0, -1, 0.0), (2, -1, -INF), (1, -2, NAN), (0, INF, 0.0), (INF, 1, INF)],
    "rel_entr": [(0, 0, 0.0), (0, 2, 0.0), (2, 0, INF), (-1, 1, INF), (1, -1, INF), (2, INF, -INF)],
    "kl_div": [(0, 0, 0.0), (0, 2, 2), (2, 0, INF), (-1, 1, INF), (2, INF, NAN), (3, 3, 0.0)],
    "huber": [(1, 3, 2.5), (2, 1, 0.5), (-1, 1, INF), (1, INF, INF), (INF, 2, 2), (0, 0, 0.0)],
    "pseudo_huber": [(-1, 1, INF), (0, 3, 0.0), (2, 0, 0.0), (2, INF, INF), (INF, 0, 0.0)],
    "boxcox": [(0, 2, -0.5), (1, 3, 0.0), (0, 0, -INF), (-1, 1, NAN), (INF, 1, INF), (INF, -1, 1)],
    "boxcox1p": [(-1, 2, -0.5), (0, 3, 0.0), (-1, 0, -INF), (-2, 1, NAN), (INF, -1, 1)],
    "inv_boxcox": [(0, 2, 1), (0, 0, 1), (-1, 1, 0.0), (1, -1, INF), (2, -1, NAN)],
    "inv_boxcox1p": [(0, 2, 0.0), (0, 0, 0.0), (-1, 1, -1), (1, -1, INF), (2, -1, NAN)],
}


@pytest.mark.parametrize("kind", harness.TYPES)
@pytest.mark.parametrize("name", special.NAMES)
def test_special_values(lib: harness.Functions, name: str, kind: str) -> None:
    """SciPy's, but for the signs of zeros: odd functions keep them."""
    rows = SPECIAL.get(name, PAIRS.get(name, []))
    *args, want = np.array([*rows, (NAN,) * len(rows[0])], harness.TYPES[kind][0]).T
    got = lib(name, *args)
    np.testing.assert_array_equal(got, want)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


def test_gamma_of_whole_numbers_is_exact(lib: harness.Functions) -> None:
    """As long as the factorial is a double."""
    n = np.arange(1, 24)
    want = np.array([math.factorial(int(k) - 1) for k in n], float)
    np.testing.assert_array_equal(lib("gamma", n.astype(float)), want)


def test_powers_of_ten_are_those_that_python_writes(lib: harness.Functions) -> None:
    n = np.arange(-307, 309)
    want = np.array([float(f"1e{k}") for k in n])
    np.testing.assert_array_equal(lib("exp10", n.astype(float)), want)


@pytest.mark.parametrize("kind", harness.TYPES)
def test_bits_do_not_depend_on_position(lib: harness.Functions, kind: str) -> None:
    """Of a vector's lanes and of what is left over."""
    for name in special.NAMES:
        args = [np.concatenate(a)[:75] for a in zip(*_all(name, kind), strict=True)]
        alone = np.concatenate([lib(name, *(a[i : i + 1] for a in args)) for i in range(75)])
        for size in (1, 2, 3, 7, 8, 9, 15, 17, 31, 33, 66):
            for offset in (0, 1, 3, 6):
                part = lib(name, *(a[offset : offset + size] for a in args))
                np.testing.assert_array_equal(part, alone[offset : offset + size])


def _all(name: str, kind: str) -> list[tuple[np.ndarray, ...]]:
    return special.draws(name, harness.TYPES[kind][0], 80)


def test_without_a_compiler_the_bits_are_the_same(lib: harness.Functions) -> None:
    for name, kind in itertools.product(special.NAMES, harness.TYPES):
        for args in _all(name, kind):
            np.testing.assert_array_equal(interpreted.call(name, *args), lib(name, *args))


def test_only_kernels_that_call_them_hold_them() -> None:
    plain = texts.unit(texts.prelude(), ["x = fc_exp_f64(y);"], "")
    assert "fc_erfinv_core" not in plain
    text = texts.unit(texts.prelude(), ["x = fc_ndtri_f32(y);"], "")
    assert "fc_erfinv_core" in text
    assert "fc_gammaln_f64" not in text
