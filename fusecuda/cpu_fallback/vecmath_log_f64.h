/* Logarithms, inverse hyperbolics and powers in double, by small tables, for vecmath.h; include
 * that file, not this one.
 *
 * x = 2^k z, and z is in one of 16 intervals, of which the one about 1 is left as it is.  With r
 * next to 1 / z there, of 7 bits, f = z r - 1 is exact and within 1/29 of 0, and
 * log x = k log 2 - log r + log(1 + f): there is no division, and of 1 + f the logarithm is a short
 * polynomial.  Where the compiler has us write vector functions, a table is looked up within
 * registers (vecmath_packs.h). */

/* r of each interval */
static const double fc_nearby[16] = {
    0x1.3p+0, 0x1.28p+0, 0x1.18p+0, 0x1.1p+0, 0x1.08p+0, 0x1p+0, 0x1.ep-1, 0x1.c8p-1, 0x1.bp-1,
    0x1.98p-1, 0x1.88p-1, 0x1.7p-1, 0x1.6p-1, 0x1.58p-1, 0x1.48p-1, 0x1.38p-1,
};
/* -log r: 42 bits behind the point, so that a multiple of log 2 is added exactly; and the rest */
static const double fc_log_rows[32] = {
    -0x1.5ff3070a7ap-3, -0x1.29552f82p-3, -0x1.6f0d28ae58p-4, -0x1.f0a30c0118p-5,
    -0x1.f829b0e78p-6, 0.0, 0x1.08598b59e4p-4, 0x1.da72763844p-4, 0x1.5bf406b544p-3,
    0x1.d1037f2656p-3, 0x1.1178e8227ep-2, 0x1.522ae0738ap-2, 0x1.7fafa3bd81p-2, 0x1.973a343135p-2,
    0x1.c7ff9c7455p-2, 0x1.fb358af7a5p-2,
    0x1.8586f183bebf2p-44, 0x1.5b967f4471dfcp-44, 0x1.4b4641b664613p-44, 0x1.d599e83368e91p-45,
    -0x1.980267c7e09e4p-45, 0.0, -0x1.7e5dd7009902cp-46, 0x1.a89401fa71733p-46,
    -0x1.27023eb68981cp-46, -0x1.84a7e75b6f6e4p-47, 0x1.1ef78ce2d07f2p-44, 0x1.ebe708164c759p-45,
    0x1.46fb79bf6d4cbp-44, 0x1.ab73b16bf4984p-44, 0x1.324911f56db29p-44, -0x1.def40b87d36d9p-44,
};
static const double fc_log2_rows[32] = {
    -0x1.fbc16b9026p-3, -0x1.acf5e2db4ep-3, -0x1.08c588cda8p-3, -0x1.663f6fac9p-4,
    -0x1.6bad3758fp-5, 0.0, 0x1.7d60496cfcp-4, 0x1.563dc29ffap-3, 0x1.f5fd8a9064p-3,
    0x1.4f6fbb2cecp-2, 0x1.8a8980abfcp-2, 0x1.e7df5fe539p-2, 0x1.14c560fe688p-1, 0x1.25c0a0463cp-1,
    0x1.48eef193178p-1, 0x1.6ddfc2a79p-1,
    -0x1.0144751b3314fp-44, -0x1.927dfc23d978p-44, 0x1.871a7610e40bdp-45, -0x1.3167ccc538261p-44,
    0x1.3c6764fc87b4ap-48, 0.0, -0x1.2ce6312ebb81dp-46, 0x1.964190e41bca7p-44,
    -0x1.cb6f70109b0f1p-47, 0x1.661e393a16b95p-44, -0x1.66cccab240e9p-45, -0x1.532c412ba94dbp-44,
    0x1.7c407050799bfp-44, -0x1.50520a377c7ecp-45, 0x1.90d43956fa5d8p-45, -0x1.ce60916e52e91p-44,
};
static const double fc_log10_rows[32] = {
    -0x1.31b3055c48p-4, -0x1.02428c1f08p-4, -0x1.3ed1199a6p-5, -0x1.af5f92b01p-6,
    -0x1.b5e908eb2p-7, 0.0, 0x1.cb38fccd9p-6, 0x1.9c197abfp-5, 0x1.2e3a740b78p-4,
    0x1.93e7de0fc4p-4, 0x1.db11ed766cp-4, 0x1.25ba8215bp-3, 0x1.4d43f8275ap-3, 0x1.61b6939984p-3,
    0x1.8c13437696p-3, 0x1.b88e67cf98p-3,
    0x1.dcffc97be8c9cp-45, -0x1.5ea6bc2bc8c2cp-52, 0x1.bdafc8ad828b8p-45, 0x1.9f05921f59258p-46,
    0x1.90dfe0d1601cap-44, 0.0, -0x1.00925a535ae72p-44, 0x1.badcf3d6e4566p-46,
    0x1.d288560689912p-53, -0x1.80743406505e6p-48, -0x1.40bcd23c3e44cp-44, -0x1.007bf2d8bf07ap-44,
    0x1.20ca9a2bcc728p-45, -0x1.f70dc69c572dap-44, -0x1.59c2994d34d69p-44, -0x1.a01b9bb0ebf1bp-45,
};

#define FC_LEAST_BITS 0x3fea800000000000u  /* 0.828125, where the first interval begins */
#define FC_FRACTION_BITS 0x000fffffffffffffu

/* What the tables have for an element. */
typedef struct { double r, hi, lo; } fc_row;

/* Its low four bits are the interval's number. */
FC_FN uint64_t fc_log_place(double x) {
    return (fc_bits(x) + (FC_ONE_BITS - FC_LEAST_BITS)) >> 48;
}

/* k and f for a normal x */
typedef struct { double k, f; uint64_t e; } fc_near_one;

FC_FN fc_near_one fc_near_one_of(double x, double r) {
    uint64_t w = fc_bits(x) + (FC_ONE_BITS - FC_LEAST_BITS);
    fc_near_one s;
    s.e = w >> 52;
    s.k = fc_from_bits(s.e | 0x4330000000000000u) - (0x1p52 + 1023.0);
    s.f = fc_fma(fc_from_bits((w & FC_FRACTION_BITS) + FC_LEAST_BITS), r, -1.0);
    return s;
}

#define FC_LN2_42 0x1.62e42fefa38p-1       /* 42 bits, and the rest */
#define FC_LN2_PAST_42 0x1.ef35793c7673p-45

/* (log(1 + f) - f) / f^2 */
FC_FN double fc_log_bend(double f) {
    return fc_by_pairs9(f, -0x1p-1, 0x1.5555555555479p-2, -0x1.ffffffffffcbap-3,
        0x1.9999999d10772p-3, -0x1.5555555a53223p-3, 0x1.249226727ad2bp-3,
        -0x1.ffffad9769a3ep-4, 0x1.c82e592d1f006p-4, -0x1.9ab2fe8f3957cp-4);
}

/* log(2^k (1 + f) / r), where `rest` is the part of k log 2 - log r that is past 42 bits */
FC_FN double fc_log_joined(double k, double f, double rest, fc_row row) {
    fc_dd s = fc_fast_sum(fc_fma(k, FC_LN2_42, row.hi), f);
    return s.hi + (s.lo + fc_fma(f * f, fc_log_bend(f), rest));
}

FC_FN double fc_log_near(double x, double k0, fc_row row) {
    fc_near_one s = fc_near_one_of(x, row.r);
    double k = s.k - k0;
    return fc_log_joined(k, s.f, fc_fma(k, FC_LN2_PAST_42, row.lo), row);
}

/* log(1 + f) * scale + k * unit for the other bases; `bend` is (log(1 + f) - f) / f^2 * scale */
FC_FN double fc_log_of_base(double k, double f, double bend, fc_dd unit, fc_dd scale, fc_row row) {
    double a = fc_fma(k, unit.hi, row.hi), y = fc_fma(f, scale.hi, a);
    double rest = fc_fma(f * f, bend, fc_fma(k, unit.lo, row.lo));
    return y + (fc_fma(f, scale.lo, fc_fma(f, scale.hi, a - y)) + rest);
}

FC_FN double fc_log2_near(double x, double k0, fc_row row) {
    fc_near_one s = fc_near_one_of(x, row.r);
    fc_dd unit = { 1.0, 0.0 }, scale = { 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56 };
    double bend = fc_by_pairs9(s.f, -0x1.71547652b82fep-1, 0x1.ec709dc3a02cp-2,
        -0x1.71547652b8689p-2, 0x1.2776c511790a4p-2, -0x1.ec709dc36f53fp-3,
        0x1.a617309e29b57p-3, -0x1.71545811d3097p-3, 0x1.4910a0d44a219p-3,
        -0x1.281a01a563728p-3);
    return fc_log_of_base(s.k - k0, s.f, bend, unit, scale, row);
}

FC_FN double fc_log10_near(double x, double k0, fc_row row) {
    fc_near_one s = fc_near_one_of(x, row.r);
    fc_dd unit = { 0x1.34413509f8p-2, -0x1.80433b83b532ap-44 };
    fc_dd scale = { 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57 };
    double bend = fc_by_pairs9(s.f, -0x1.bcb7b1526e50ep-3, 0x1.287a7636f429fp-3,
        -0x1.bcb7b1526eef5p-4, 0x1.63c627782845cp-4, -0x1.287a76334f2f5p-4,
        0x1.fc3f69c5fe036p-5, -0x1.bcb7a8c732669p-5, 0x1.8c3beae0fdaecp-5,
        -0x1.6464bbf27cd3fp-5);
    return fc_log_of_base(s.k - k0, s.f, bend, unit, scale, row);
}

FC_FN fc_row fc_log_row(uint64_t place) {
    uint64_t i = place & 15;
    fc_row row = { fc_nearby[i], fc_log_rows[i], fc_log_rows[i + 16] };
    return row;
}

FC_FN fc_row fc_log2_row(uint64_t place) {
    uint64_t i = place & 15;
    fc_row row = { fc_nearby[i], fc_log2_rows[i], fc_log2_rows[i + 16] };
    return row;
}

FC_FN fc_row fc_log10_row(uint64_t place) {
    uint64_t i = place & 15;
    fc_row row = { fc_nearby[i], fc_log10_rows[i], fc_log10_rows[i + 16] };
    return row;
}

/* x, or 2^54 x where that is subnormal */
FC_FN double fc_lifted(double x) { return x < 0x1p-1022 ? x * 0x1p54 : x; }
FC_FN double fc_lift(double x) { return x < 0x1p-1022 ? 54.0 : 0.0; }

FC_FN double fc_log_f64(double x) {
    double a = fc_lifted(x);
    return fc_log_ends(x, fc_log_near(a, fc_lift(x), fc_log_row(fc_log_place(a))));
}

FC_FN double fc_log2_f64(double x) {
    double a = fc_lifted(x);
    return fc_log_ends(x, fc_log2_near(a, fc_lift(x), fc_log2_row(fc_log_place(a))));
}

FC_FN double fc_log10_f64(double x) {
    double a = fc_lifted(x);
    return fc_log_ends(x, fc_log10_near(a, fc_lift(x), fc_log10_row(fc_log_place(a))));
}

/* Of each: what the tables are looked up with, and what is made of what they have.  The top bit of
 * `far` is set where fc_log_f64 and its like have more to do: where |k| > most, as for subnormals,
 * 0, negative numbers and what is not finite. */
FC_FN uint64_t fc_seldom_log(double x, double most) {
    return fc_bits(most - fc_abs(fc_near_one_of(x, 1.0).k));
}

FC_FN fc_dd fc_log_operand(double x) { fc_dd u = { x, 0.0 }; return u; }
FC_FN fc_dd fc_log2_operand(double x) { fc_dd u = { x, 0.0 }; return u; }
FC_FN fc_dd fc_log10_operand(double x) { fc_dd u = { x, 0.0 }; return u; }

FC_FN fc_attempt_f64 fc_log_with(double x, fc_dd u, fc_row row) {
    fc_attempt_f64 s = { fc_log_near(u.hi, 0.0, row), fc_seldom_log(x, 1021.5) };
    return s;
}

FC_FN fc_attempt_f64 fc_log2_with(double x, fc_dd u, fc_row row) {
    fc_attempt_f64 s = { fc_log2_near(u.hi, 0.0, row), fc_seldom_log(x, 1021.5) };
    return s;
}

FC_FN fc_attempt_f64 fc_log10_with(double x, fc_dd u, fc_row row) {
    fc_attempt_f64 s = { fc_log10_near(u.hi, 0.0, row), fc_seldom_log(x, 1021.5) };
    return s;
}

/* ---- of sums in two words ------------------------------------------------------- */

/* log(u.hi + u.lo) + k0 ln 2 for a normal u.hi < 2^1023 and |u.lo| <= ulp(u.hi): accurate also
 * where the sum is close to 1, as it is for log1p */
FC_FN double fc_log_of_two(fc_dd u, double k0, fc_row row) {
    fc_near_one s = fc_near_one_of(u.hi, row.r);
    double down = fc_from_bits((2046 - s.e) << 52);    /* 2^-k */
    fc_dd f = fc_fast_sum(s.f, u.lo * down * row.r);
    double k = s.k + k0, rest = fc_fma(k, FC_LN2_PAST_42, row.lo) + f.lo;
    return fc_log_joined(k, f.hi, rest, row);
}

/* 1 + x, not for x < -1 */
FC_FN fc_dd fc_one_and(double x) {
    return fc_fast_sum(x > 1.0 ? x : 1.0, x > 1.0 ? 1.0 : x);
}

FC_FN fc_dd fc_log1p_operand(double x) { return fc_one_and(x); }

FC_FN fc_attempt_f64 fc_log1p_with(double x, fc_dd u, fc_row row) {
    double y = __builtin_copysign(fc_log_of_two(u, 0.0, row), x);
    fc_attempt_f64 s = { y, fc_seldom_log(u.hi, 57.5) };
    return s;
}

FC_FN double fc_log1p_f64(double x) {
    int big = x >= 0x1p58;
    fc_dd u = fc_one_and(big ? 1.0 : x);
    u.hi = big ? x * 0.5 : u.hi;
    double r = fc_log_of_two(u, big ? 1.0 : 0.0, fc_log_row(fc_log_place(u.hi)));
    return __builtin_copysign(fc_log_ends(big ? x : u.hi, r), x);
}

/* ---- inverse hyperbolics ----------------------------------------------------- */

FC_FN double fc_log_of_two_here(fc_dd u, double k0) {
    return fc_log_of_two(u, k0, fc_log_row(fc_log_place(u.hi)));
}

/* the square root of w in two words */
FC_FN fc_dd fc_root_of_two(fc_dd w) {
    double s = __builtin_sqrt(w.hi);
    fc_dd r = { s, (fc_fma(-s, s, w.hi) + w.lo) * fc_nearly_half_over(s) };
    return r;
}

/* a + sqrt(a^2 + 1), its small word whole where a is small */
FC_FN fc_dd fc_arcsinh_operand(double x) {
    double a = fc_abs(x);
    fc_dd z = fc_mul(a, a), w = fc_one_and(z.hi);
    w.lo += z.lo;
    fc_dd s = fc_root_of_two(w), u = fc_fast_sum(s.hi, a);
    u.lo += s.lo;
    return u;
}

FC_FN fc_attempt_f64 fc_arcsinh_with(double x, fc_dd u, fc_row row) {
    double y = __builtin_copysign(fc_log_of_two(u, 0.0, row), x);
    fc_attempt_f64 s = { y, -(uint64_t)((fc_abs(x) <= 0x1p30) == 0) };
    return s;
}

FC_FN double fc_arcsinh_f64(double x) {
    double a = fc_abs(x);
    int big = a > 0x1p30;
    fc_dd u = fc_arcsinh_operand(big ? 1.0 : a), v = { big ? a * 0.5 : u.hi, big ? 0.0 : u.lo };
    double r = fc_log_of_two_here(v, big ? 2.0 : 0.0);
    return __builtin_copysign(a < __builtin_inf() ? r : a, x);
}

/* x + sqrt(x^2 - 1), of which t = x - 1 is left where x is near 1 */
FC_FN fc_dd fc_arccosh_operand(double x) {
    double t = x - 1.0;
    fc_dd p = fc_mul(t, t), w = fc_sum(2.0 * t, p.hi);
    w.lo += p.lo;
    fc_dd s = fc_root_of_two(w), u = fc_fast_sum(x, s.hi);
    u.lo += s.lo;
    return u;
}

FC_FN fc_attempt_f64 fc_arccosh_with(double x, fc_dd u, fc_row row) {
    uint64_t far = -(uint64_t)(((x >= 1.0) & (x <= 0x1p30)) == 0);
    fc_attempt_f64 s = { fc_log_of_two(u, 0.0, row), far };
    return s;
}

FC_FN double fc_arccosh_f64(double x) {
    int big = x > 0x1p30;
    fc_dd u = fc_arccosh_operand(big ? 2.0 : x), v = { big ? x * 0.5 : u.hi, big ? 0.0 : u.lo };
    double r = fc_log_of_two_here(v, big ? 2.0 : 0.0);
    r = x < __builtin_inf() ? r : x;
    return x < 1.0 ? __builtin_nan("") : r;
}

/* 1 + 2a / (1 - a) */
FC_FN fc_dd fc_arctanh_operand(double x) {
    double a = fc_abs(x), a2 = 2.0 * a;
    fc_dd d = fc_fast_sum(1.0, -a);
    double r = 1.0 / d.hi, q = a2 * r;
    double lo = r * (fc_fma(-q, d.hi, a2) - q * d.lo);
    fc_dd u = fc_one_and(q);
    u.lo += lo;
    return u;
}

FC_FN fc_attempt_f64 fc_arctanh_with(double x, fc_dd u, fc_row row) {
    double y = __builtin_copysign(0.5 * fc_log_of_two(u, 0.0, row), x);
    fc_attempt_f64 s = { y, -(uint64_t)((fc_abs(x) < 1.0) == 0) };
    return s;
}

FC_FN double fc_arctanh_f64(double x) {
    double a = fc_abs(x), y = 0.5 * fc_log_of_two_here(fc_arctanh_operand(a < 1.0 ? a : 0.0), 0.0);
    y = a < 1.0 ? y : (a == 1.0 ? __builtin_inf() : __builtin_nan(""));
    return __builtin_copysign(y, x);
}

/* ---- powers ------------------------------------------------------------------- */

/* 2^(i/16), and its rounding error over it */
static const double fc_exp_rows[32] = {
    0x1p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0,
    0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0,
    0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f09p+0, 0x1.ae89f995ad3adp+0,
    0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0,
    0.0, 0x1.79aa65d837b6cp-54, -0x1.01b15eaa59348p-55, 0x1.68efde3a8a893p-54,
    0x1.34d754db0abb6p-55, 0x1.59f48a72a4c6cp-55, 0x1.690cebb7aafbp-56, 0x1.063e1e21c5409p-54,
    -0x1.3b3efbf5e2229p-54, -0x1.b32dcb94da51dp-56, 0x1.db72fc1f0eab4p-55, 0x1.1affc2b91ce27p-56,
    0x1.c1a7792cb3386p-55, 0x1.36eae30af0cb3p-56, 0x1.4a385a63d07a7p-56, -0x1.ff7128fd391f1p-55,
};

/* log x - k0 ln 2 in two words, to 2^-66 of itself, for a normal x */
FC_FN fc_dd fc_log_in_two(double x, double k0, fc_row row) {
    fc_near_one s = fc_near_one_of(x, row.r);
    double f = s.f, k = s.k - k0;
    fc_dd z = fc_mul(f, f), a = fc_fast_sum(fc_fma(k, FC_LN2_42, row.hi), f);
    /* f^2 (f / 3 - 1 / 2), the second factor in two words */
    double v = fc_fma(f, 0x1.5555555555555p-2, -0.5);
    double w = fc_fma(f, 0x1.5555555555555p-56, fc_fma(f, 0x1.5555555555555p-2, -0.5 - v));
    double b = fc_fma(z.hi, v, a.hi), rest = fc_fma(z.hi, v, a.hi - b);
    double q = fc_by_pairs8(f, -0x1.ffffffffffd8fp-3, 0x1.99999999995bdp-3,
        -0x1.5555555970086p-3, 0x1.24924929ed248p-3, -0x1.ffffb6c09e065p-4,
        0x1.c71c1ef9bb404p-4, -0x1.9aa43f3fa2252p-4, 0x1.756a9221f4c36p-4);
    rest = fc_fma(z.hi, w, fc_fma(z.lo, v, rest + a.lo));
    rest = fc_fma(z.hi * z.hi, q, rest) + fc_fma(k, FC_LN2_PAST_42, row.lo);
    fc_dd y = { b, rest };
    return y;
}

/* e^x = 2^(t / 16) e^r; the low four bits of t are the row's number. For |x.hi| < 2000. */
FC_FN double fc_exp_step(fc_dd x) { return fc_fma(x.hi, 0x1.71547652b82fep+4, FC_MAGIC); }

/* e^x over 2^(t / 16 rounded down), within 0.51 ULP */
FC_FN double fc_exp_part(fc_dd x, double t, double hi, double lo) {
    double n = t - FC_MAGIC, whole = fc_fma(-n, 0.0625 * FC_LN2_HI, x.hi);   /* exact */
    fc_dd r = fc_fast_sum(whole, fc_fma(-n, 0.0625 * FC_LN2_LO, x.lo));
    double z = r.hi * r.hi, low = fc_fma(z, fc_fma(r.hi, 0x1.1111111087e95p-7,
        0x1.5555555484bf8p-5), fc_fma(r.hi, 0x1.5555555555555p-3, 0.5));
    double high = fc_fma(r.hi, 0x1.a01b910f39d3dp-13, 0x1.6c183dec7514ap-10);
    double y = fc_fma(hi, r.hi, hi), rest = fc_fma(hi, r.hi, hi - y), small = r.lo + lo;
    small = fc_fma(small, r.hi, small);
    return y + fc_fma(hi, fc_fma(z, fc_fma(z * z, high, low), small), rest);
}

FC_FN double fc_pow_f64(double x, double y) {   /* e^(y log |x|), then the sign */
    double a = fc_abs(x), b = fc_limit(y, 0x1p80), inf = __builtin_inf(), up = fc_lifted(a);
    fc_dd p = fc_times(fc_log_in_two(up, fc_lift(a), fc_log_row(fc_log_place(up))), b);
    fc_dd c = { fc_limit(p.hi, 800.0), fc_abs(p.hi) < 800.0 ? p.lo : 0.0 };
    double t = fc_exp_step(c);
    uint64_t i = fc_bits(t) & 15, n = fc_bits(t) >> 4, half = n >> 1;
    double e = fc_exp_part(c, t, fc_exp_rows[i], fc_exp_rows[i + 16]);
    double r = e * fc_pow2(half) * fc_pow2(n - half);
    r = a == 0.0 || a == inf ? ((a == 0.0) == (b < 0.0) ? inf : 0.0) : r;
    /* y - 2 rint(y/2) is 0 for even, +-1 for odd whole numbers */
    double parity = fc_abs(fc_fma(-2.0, __builtin_rint(0.5 * b), b));
    uint64_t odd = -(uint64_t)(parity == 1.0);
    r = fc_from_bits(fc_bits(r) ^ (odd & fc_bits(x) & FC_SIGN_BIT));
    double root = __builtin_rint(b) == b ? 0.0 : x;    /* of a negative number: NaN */
    r = root < 0.0 && a < inf ? __builtin_nan("") : r;
    r = x != x || y != y ? x + y : r;
    return x == 1.0 || y == 0.0 ? 1.0 : r;
}
