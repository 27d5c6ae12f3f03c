"""Planted bugs in functions: the special ones, and what is borrowed from NumPy."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

_GAMMA, _NORMAL = "cpu_fallback/vecmath_gamma.h", "cpu_fallback/vecmath_normal.h"
_PHILOX, _COUNTERS = "codegen/philox.h", "capture/arrays/counters.py"

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
    Mutation(
        "philox-mixes-words",
        _PHILOX,
        "    next.a = (q >> 32) ^ w.b ^ low;",
        "    next.a = (q >> 32) ^ w.b ^ high;",
        "a round takes the other half of the key",
        _ids("philox", "published_vectors[c]", "published_vectors[cuda]"),
    ),
    Mutation(
        "philox-key-grows-out-of-its-word",
        _PHILOX,
        "        low = (low + 0x9E3779B9U) & 0xFFFFFFFFU;",
        "        low = low + 0x9E3779B9U;",
        "the key of a round carries into bits that are not its own",
        _ids("philox", "any_counter_stream_and_key[c]"),
    ),
    Mutation(
        "integers-without-carry",
        _PHILOX,
        " + (lower < more)) & ~all);",
        ") & ~all);",
        "an integer is one too small where the lower half carries",
        _ids("philox", "below_is_the_whole_part_of_an_exact_product[c]"),
    ),
    Mutation(
        "draws-repeat-in-a-call",
        _COUNTERS,
        "            generator.position = start + (drawn + count)",
        "            generator.position = start + count",
        "from the third draw of a fused call on the position stays where it was",
        _ids("drawing", "as_plain_code[forty_draws-True-False]"),
    ),
    Mutation(
        "seed-and-stream-are-one-number",
        _COUNTERS,
        "generator.stream, _leaf_of_stream)",
        "generator.stream, _leaf_of_seed)",
        "a plan is made for seeds that are like streams, and one for others",
        _ids("counters", "a_later_draw_or_another_seed_plans_and_compiles_nothing[random]"),
    ),
    Mutation(
        "generator-is-opaque",
        "capture/record/structure.py",
        "    _KINDS[kind] = INSTANCE",
        "    _KINDS.get(kind)",
        "what a generator holds is not followed: its functions are recorded anew",
        _ids("drawing", "replays_draw_on[c-dropout]"),
    ),
    Mutation(
        "scale-is-looked-at",
        _COUNTERS,
        "    return scale if _is_array(scale) else _checked(scale)",
        '    return scale if hasattr(scale, "shape") else _checked(scale)',
        "a distribution's parameter is a condition of the trace",
        _ids("drawing", "parameters_of_distributions_are_followed"),
    ),
    Mutation(
        "packs-with-foreign-bits",
        "cpu_fallback/philox_packs.h",
        "    FC_PHILOX_HALF(philox, code, (w[0] & mask) | w[1] << 32)",
        "    FC_PHILOX_HALF(philox, code, w[0] | w[1] << 32)",
        "without AVX-512 the upper halves of lanes get into the bits",
        _ids("philox_packs", "blocks_and_doubles[-mno-avx512f]"),
    ),
    Mutation(
        "doubles-of-one-half",
        "codegen/integers.h",
        "high = a >> 32 | 0x4530000000000000U;",
        "high = a >> 33 | 0x4530000000000000U;",
        "without AVX-512 large integers become other doubles",
        _ids("philox_packs", "blocks_and_doubles[-mno-avx512f]"),
    ),
)
