"""Planted bugs in functions: the special ones, and what is borrowed from NumPy."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

_GAMMA, _NORMAL = "cpu_fallback/vecmath_gamma.h", "cpu_fallback/vecmath_normal.h"

FUNCTIONS = (
    Mutation(
        "stirling-without-series",
        _GAMMA,
        "    double lo = p.lo + fc_fma(n, m.lo, series * scale);",
        "    double lo = fc_fma(n, m.lo, p.lo);",
        "gammaln lacks Stirling's series",
        _ids("vecmath_special", "error_against_mpmath[gammaln-f64]"),
    ),
    Mutation(
        "reflected-sign",
        _GAMMA,
        "    s.hi = parity == 1.0 ? s.hi : -s.hi;",
        "    s.hi = -s.hi;",
        "gamma has one sign for all negative numbers",
        _ids("vecmath_special", "error_against_mpmath[gamma-f64]"),
    ),
    Mutation(
        "square-in-one-word",
        _NORMAL,
        "    h.lo = 0.5 * h.lo;",
        "    h.lo = 0.0;",
        "far down the tail of ndtr the square's rounding shows",
        _ids("vecmath_special", "error_against_mpmath[ndtr-f64]"),
    ),
    Mutation(
        "bessel-cap",
        "cpu_fallback/vecmath_special.h",
        "fc_times_exp(fc_i0_core(a), a < 8.0 ? 0.0 : fc_cap(a, 1400.0))",
        "fc_times_exp(fc_i0_core(a), a < 8.0 ? 0.0 : fc_cap(a, 700.0))",
        "i0 of a huge number is not infinite",
        _ids("vecmath_special", "special_values[i0-f64]"),
    ),
    Mutation(
        "headers-for-all",
        "cpu_fallback/texts.py",
        "if called & special_functions(h))",
        "if called)",
        "kernels carry headers that they do not call",
        _ids("vecmath_special", "only_kernels_that_call_them_hold_the_headers"),
    ),
    Mutation(
        "known-by-name",
        "capture/arrays/ufuncs.py",
        'return name if getattr(sys.modules.get("scipy.special"), name, None) is ufunc else None',
        "return name",
        "a ufunc that is only called as SciPy's is taken for it",
        _ids("special", "a_ufunc_is_known_by_what_it_is_not_by_its_name"),
    ),
    Mutation(
        "asked-in-vain",
        "capture/calls/scan.py",
        'by_name = instruction.opname == "LOAD_CONST" and type(instruction.argval) is str',
        "by_name = type(instruction.argval) is str",
        "a variable's name is taken for the attribute that getattr asks for",
        _ids("special", "names_that_are_computed_are_no_conditions"),
    ),
    Mutation(
        "nothing-left",
        "capture/arrays/reductions.py",
        "np.where(nothing, kind(np.nan), found)",
        "found",
        "of nothing but NaN, nanmax is -inf",
        _ids("borrowed", "function[recorded-nanmax-2]"),
    ),
)
