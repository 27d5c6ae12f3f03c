/* Double-precision half of vecmath.h; include that file, not this one.
 *
 * Conventions: `hi`/`lo` pairs are unevaluated sums with |lo| << |hi|;
 * FC_P<n>(x, c0, ..) is c0 + c1*x + .. by Horner's rule.  All coefficients are
 * minimax fits made for these intervals. */
#ifndef FUSECUDA_VECMATH_F64_H
#define FUSECUDA_VECMATH_F64_H

typedef struct { double hi, lo; } fc_dd;

/* ---- bits, polynomials, error-free sums ---------------------------------- */

FC_FN uint64_t fc_bits(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
FC_FN double fc_from_bits(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }
FC_FN double fc_abs(double x) { return __builtin_fabs(x); }
FC_FN double fc_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

#define FC_P1(x, a) (a)
#define FC_P2(x, a, ...) fc_fma(FC_P1(x, __VA_ARGS__), x, a)
#define FC_P3(x, a, ...) fc_fma(FC_P2(x, __VA_ARGS__), x, a)
#define FC_P4(x, a, ...) fc_fma(FC_P3(x, __VA_ARGS__), x, a)
#define FC_P5(x, a, ...) fc_fma(FC_P4(x, __VA_ARGS__), x, a)
#define FC_P6(x, a, ...) fc_fma(FC_P5(x, __VA_ARGS__), x, a)
#define FC_P7(x, a, ...) fc_fma(FC_P6(x, __VA_ARGS__), x, a)
#define FC_P8(x, a, ...) fc_fma(FC_P7(x, __VA_ARGS__), x, a)
#define FC_P9(x, a, ...) fc_fma(FC_P8(x, __VA_ARGS__), x, a)
#define FC_P10(x, a, ...) fc_fma(FC_P9(x, __VA_ARGS__), x, a)
#define FC_P11(x, a, ...) fc_fma(FC_P10(x, __VA_ARGS__), x, a)
#define FC_P12(x, a, ...) fc_fma(FC_P11(x, __VA_ARGS__), x, a)
#define FC_P13(x, a, ...) fc_fma(FC_P12(x, __VA_ARGS__), x, a)
#define FC_P14(x, a, ...) fc_fma(FC_P13(x, __VA_ARGS__), x, a)
#define FC_P15(x, a, ...) fc_fma(FC_P14(x, __VA_ARGS__), x, a)
#define FC_P16(x, a, ...) fc_fma(FC_P15(x, __VA_ARGS__), x, a)
#define FC_P17(x, a, ...) fc_fma(FC_P16(x, __VA_ARGS__), x, a)
#define FC_P18(x, a, ...) fc_fma(FC_P17(x, __VA_ARGS__), x, a)
#define FC_P19(x, a, ...) fc_fma(FC_P18(x, __VA_ARGS__), x, a)
#define FC_P20(x, a, ...) fc_fma(FC_P19(x, __VA_ARGS__), x, a)
#define FC_P21(x, a, ...) fc_fma(FC_P20(x, __VA_ARGS__), x, a)
#define FC_P22(x, a, ...) fc_fma(FC_P21(x, __VA_ARGS__), x, a)
#define FC_P23(x, a, ...) fc_fma(FC_P22(x, __VA_ARGS__), x, a)
#define FC_P24(x, a, ...) fc_fma(FC_P23(x, __VA_ARGS__), x, a)

/* Adding FC_MAGIC to a small double rounds it to an integer and leaves that
 * integer, in two's complement, in the low bits of the sum. */
#define FC_MAGIC 0x1.8p52
#define FC_LN2_HI 0x1.62e42fefa39efp-1
#define FC_LN2_LO 0x1.abc9e3b39803fp-56
#define FC_PIO2_HI 0x1.921fb54442d18p+0
#define FC_PIO2_LO 0x1.1a62633145c07p-54

FC_FN fc_dd fc_fast_sum(double a, double b) {   /* needs |a| >= |b| or a == 0 */
    fc_dd s;
    s.hi = a + b;
    s.lo = (a - s.hi) + b;
    return s;
}

FC_FN fc_dd fc_sum(double a, double b) {
    fc_dd s;
    s.hi = a + b;
    double bb = s.hi - a;
    s.lo = (a - (s.hi - bb)) + (b - bb);
    return s;
}

FC_FN fc_dd fc_mul(double a, double b) {
    fc_dd p;
    p.hi = a * b;
    p.lo = fc_fma(a, b, -p.hi);
    return p;
}

/* (n.hi + n.lo) / (d.hi + d.lo), within 0.5 ULP plus a little. */
FC_FN double fc_div(fc_dd n, fc_dd d) {
    double r = 1.0 / d.hi;
    double q = n.hi * r;
    double rest = fc_fma(-q, d.hi, n.hi) + fc_fma(-q, d.lo, n.lo);
    return fc_fma(rest, r, q);
}

/* ---- exponentials ---------------------------------------------------------- */

/* e^x = 2^n * (1 + p.hi + p.lo); `t` holds n in its low bits. */
typedef struct { fc_dd p; double t; } fc_expo;

FC_FN double fc_pow2(uint64_t n) { return fc_from_bits((n + 1023) << 52); }

/* 2^n in two factors, so that subnormal and overflowing results round once. */
FC_FN double fc_scale(double x, double t) {
    uint64_t n = fc_bits(t), half = n >> 1;
    return x * fc_pow2(half) * fc_pow2(n - half);
}

/* e^(r + tail) - 1 for |r| <= ln(2)/2. */
FC_FN fc_dd fc_em1_poly(double r, double tail) {
    double q = FC_P11(r, 0x1.0000000000000p-1, 0x1.555555555555bp-3,
        0x1.5555555555503p-5, 0x1.111111110ec41p-7, 0x1.6c16c16c305c3p-10,
        0x1.a01a01b3897cep-13, 0x1.a01a013657fa4p-16, 0x1.71ddf0040fcf4p-19,
        0x1.27e5b47d16b92p-22, 0x1.af6c1af7a7d06p-26, 0x1.1e3d28bd464aep-29);
    fc_dd p = { r, fc_fma(r, fc_fma(r, q, tail), tail) };
    return p;
}

FC_FN fc_expo fc_expo_of(double x) {
    fc_expo e;
    e.t = fc_fma(x, 0x1.71547652b82fep+0, FC_MAGIC);
    double n = e.t - FC_MAGIC;
    double whole = fc_fma(-n, FC_LN2_HI, x);           /* exact */
    double r = fc_fma(-n, FC_LN2_LO, whole);
    e.p = fc_em1_poly(r, fc_fma(-n, FC_LN2_LO, whole - r));
    return e;
}

/* Both let NaN through, and each is one minimum; two bounds in a row would become
 * masks and blends. */
FC_FN double fc_cap(double x, double bound) { return x > bound ? bound : x; }
FC_FN double fc_limit(double x, double bound) {
    return __builtin_copysign(fc_cap(fc_abs(x), bound), x);
}

FC_FN double fc_one_plus(fc_dd p) {
    fc_dd s = fc_fast_sum(1.0, p.hi);
    return s.hi + (s.lo + p.lo);
}

FC_FN double fc_exp_f64(double x) {
    fc_expo e = fc_expo_of(fc_limit(x, 760.0));
    return fc_scale(fc_one_plus(e.p), e.t);
}

FC_FN double fc_exp2_f64(double x) {
    double c = fc_limit(x, 1100.0);
    double t = c + FC_MAGIC;
    double r = c - (t - FC_MAGIC);
    fc_dd y = fc_mul(r, FC_LN2_HI);
    return fc_scale(fc_one_plus(fc_em1_poly(y.hi, fc_fma(r, FC_LN2_LO, y.lo))), t);
}

FC_FN double fc_expm1_f64(double x) {
    fc_expo e = fc_expo_of(fc_limit(x, 760.0));
    /* 2^n (1 + p) - 1 = 2^n ((1 - 2^-n) + p); past n = 100 the 2^-n is lost. */
    double t = e.t > FC_MAGIC + 100.0 ? FC_MAGIC + 100.0 : e.t;
    fc_dd s = fc_fast_sum(1.0 - fc_pow2(-fc_bits(t)), e.p.hi);
    double y = fc_scale(s.hi + (s.lo + e.p.lo), e.t);
    return __builtin_copysign(x < -40.0 ? 1.0 : y, x);
}

/* ---- hyperbolics and the logistic function --------------------------------- */

FC_FN double fc_tanh_f64(double x) {   /* (1 - e^-2a) / (1 + e^-2a) */
    fc_expo e = fc_expo_of(-2.0 * fc_cap(fc_abs(x), 40.0));
    double s = fc_pow2(fc_bits(e.t)), p = s * e.p.hi, lo = s * e.p.lo;
    fc_dd below = fc_fast_sum(1.0, -s), above = fc_fast_sum(1.0, s);
    fc_dd n = fc_fast_sum(below.hi, -p), d = fc_fast_sum(above.hi, p);
    n = fc_fast_sum(n.hi, n.lo + (below.lo - lo));
    d = fc_fast_sum(d.hi, d.lo + (above.lo + lo));
    return __builtin_copysign(fc_div(n, d), x);
}

FC_FN double fc_sinh_f64(double x) {
    double a = fc_cap(fc_abs(x), 710.5);
    fc_expo e = fc_expo_of(a);
    /* a quarter of t = e^a - 1, for the sake of results near overflow */
    double s = fc_pow2(fc_bits(e.t) - 2);
    fc_dd t = fc_fast_sum(s - 0.25, s * e.p.hi);
    t = fc_fast_sum(t.hi, fc_fma(s, e.p.lo, t.lo));
    fc_dd d = fc_fast_sum(t.hi > 0.25 ? t.hi : 0.25, t.hi > 0.25 ? 0.25 : t.hi);
    d.lo += t.lo;
    double q = a > 40.0 ? 0.0 : 0.25 * fc_div(t, d);   /* t / (t + 1) */
    fc_dd r = fc_fast_sum(t.hi, q);
    double y = 2.0 * (r.hi + (r.lo + t.lo));
    return __builtin_copysign(a < 0x1p-28 ? a : y, x);
}

FC_FN double fc_cosh_f64(double x) {
    double a = fc_cap(fc_abs(x), 710.5);
    fc_expo e = fc_expo_of(a);
    double s = fc_pow2(fc_bits(e.t) - 2);
    fc_dd t = fc_fast_sum(s, s * e.p.hi);              /* e^a / 4 */
    t.lo = fc_fma(s, e.p.lo, t.lo);
    double q = a > 40.0 ? 0.0 : 0.0625 / (t.hi + t.lo);
    fc_dd r = fc_fast_sum(t.hi, q);
    return 2.0 * (r.hi + (r.lo + t.lo));
}

FC_FN double fc_expit_f64(double x) {
    fc_expo e = fc_expo_of(-fc_cap(fc_abs(x), 760.0));
    fc_dd s = fc_fast_sum(1.0, e.p.hi);
    s = fc_fast_sum(s.hi, s.lo + e.p.lo);
    s.hi = fc_scale(s.hi, e.t);
    s.lo = fc_scale(s.lo, e.t);
    fc_dd d = fc_fast_sum(1.0, s.hi);
    d.lo += s.lo;
    fc_dd n = { x < 0.0 ? s.hi : 1.0, x < 0.0 ? s.lo : 0.0 };
    return fc_div(n, d);
}

/* ---- error functions ----------------------------------------------------------- */

/* erfc(a) = e^(-a^2) * Q(t) / (1 + 2a) at t = (a - 4) / (a + 4), for a >= 0 */
FC_FN double fc_erfc_core(double a) {
    a = fc_cap(a, 27.5);                               /* from there on it is 0 */
    fc_dd h = fc_mul(a, a);
    fc_expo e = fc_expo_of(-h.hi);
    fc_dd s = fc_fast_sum(1.0, e.p.hi);
    s = fc_fast_sum(s.hi, s.lo + e.p.lo);
    s.lo = fc_fma(-h.lo, s.hi, s.lo);
    double t = (a - 4.0) / (a + 4.0);
    double q = FC_P24(t, 0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28fp-3, 0x1.f7f5df66fd6e2p-7,
        0x1.16ecefcfa54aep-4, -0x1.9ddb23c3e89f8p-4, 0x1.7fee004e0fc56p-4,
        -0x1.0fb06dfe54527p-4, 0x1.3079edf6d920cp-5, -0x1.09623882c22e9p-6,
        0x1.49c6726d78b95p-8, -0x1.8d4a9c30c1f56p-11, -0x1.a1df14cb03384p-13,
        0x1.3be06a943fcb1p-13, -0x1.995af8def9445p-16, -0x1.788db191da828p-17,
        0x1.7f361a896e1bdp-18, 0x1.3bde2457325d5p-22, -0x1.bb83c15e790bep-21,
        0x1.3df5a2ebdf877p-24, 0x1.da5798592750ap-24, -0x1.2a6e853f4e200p-26,
        -0x1.e42819db057cfp-27, 0x1.c07b0731da6bep-30, 0x1.45bdf077f5a6fp-30);
    fc_dd n = fc_mul(q, s.hi), d = fc_fast_sum(2.0 * a > 1.0 ? 2.0 * a : 1.0,
                                               2.0 * a > 1.0 ? 1.0 : 2.0 * a);
    n.lo = fc_fma(q, s.lo, n.lo);
    return fc_scale(fc_div(n, d), e.t);
}

FC_FN double fc_erf_poly(double x) {    /* erf(x) for |x| <= 1 */
    double z = fc_cap(x * x, 1.0);
    double p = FC_P13(z, 0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b1ep-4,
        -0x1.b82ce312848f7p-6, 0x1.565bcd0dae8afp-8, -0x1.c02db3d89f0f8p-11,
        0x1.f9a32197e9b2fp-14, -0x1.f4d1de82c721ep-17, 0x1.b9dee8336ce33p-20,
        -0x1.5f1ce4c008676p-23, 0x1.f7a089a7ceef8p-27, -0x1.385f93437f37fp-30,
        0x1.055ac43c76633p-34);
    return fc_fma(x, p, x);
}

FC_FN double fc_erfc_f64(double x) {
    double y = fc_erfc_core(fc_abs(x));
    y = x < 0.0 ? 2.0 - y : y;
    return fc_abs(x) < 0.4 ? 1.0 - fc_erf_poly(x) : y;
}

FC_FN double fc_erf_f64(double x) {
    double a = fc_abs(x), y = 1.0 - fc_erfc_core(a);
    return __builtin_copysign(a < 1.0 ? fc_erf_poly(a) : y, x);
}

/* ---- logarithms -------------------------------------------------------------- */

/* x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); x > 0 and finite. */
typedef struct { double k, f; uint64_t kbits; } fc_split;

#define FC_SQRT_HALF_BITS 0x3fe6a09e667f3bcdu
#define FC_ONE_BITS 0x3ff0000000000000u

FC_FN fc_split fc_split_normal(double x) {
    fc_split s;
    uint64_t u = fc_bits(x), e = (u + (FC_ONE_BITS - FC_SQRT_HALF_BITS)) >> 52;
    s.k = fc_from_bits(e | 0x4330000000000000u) - (0x1p52 + 1023.0);
    s.kbits = e - 1023;
    s.f = fc_from_bits(u - (s.kbits << 52)) - 1.0;
    return s;
}

FC_FN fc_split fc_split_of(double x) {
    /* masks, for gcc would do all of it twice on either side of a condition */
    uint64_t tiny = -(uint64_t)(x < 0x1p-1022);
    fc_split s = fc_split_normal(x * fc_from_bits(FC_ONE_BITS + (tiny & (54ull << 52))));
    s.k -= fc_from_bits(tiny & fc_bits(54.0));
    return s;
}

/* f - log(1 + f), the part of the logarithm that is small beside f. */
FC_FN double fc_log_rest(double f) {
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f;
    double r = z * FC_P8(z, 0x1.5555555555555p-1, 0x1.9999999999e02p-2,
        0x1.249249242b049p-2, 0x1.c71c72594521cp-3, 0x1.745cde1f38d33p-3,
        0x1.3b20af66d5930p-3, 0x1.0f5c720073550p-3, 0x1.0f662d5892aa8p-3);
    return fc_fma(half, f, -s * fc_fma(half, f, r));
}

FC_FN double fc_log_ends(double x, double r) {   /* log at 0, inf, NaN and below 0 */
    double bad = x == 0.0 ? -__builtin_inf() : __builtin_nan("");
    r = x < __builtin_inf() ? r : x;
    return x > 0.0 ? r : bad;
}

#define FC_LN2_TOP 0x1.62e42fefa2000p-1    /* short, so that k * top is exact */
#define FC_LN2_REST 0x1.9ef35793c7673p-41

FC_FN double fc_log_f64(double x) {
    fc_split s = fc_split_of(x);
    double rest = fc_log_rest(s.f);
    fc_dd h = fc_fast_sum(s.k * FC_LN2_TOP, s.f);
    return fc_log_ends(x, h.hi + (h.lo - fc_fma(s.k, -FC_LN2_REST, rest)));
}

/* k * unit + log(1 + f) * scale for the other bases */
FC_FN double fc_log_base(double x, fc_dd unit, fc_dd scale) {
    fc_split s = fc_split_of(x);
    fc_dd y = fc_fast_sum(s.f, -fc_log_rest(s.f));
    fc_dd p = fc_mul(y.hi, scale.hi);
    p.lo += fc_fma(y.hi, scale.lo, y.lo * scale.hi);
    fc_dd h = fc_fast_sum(s.k * unit.hi, p.hi);
    return fc_log_ends(x, h.hi + (h.lo + fc_fma(s.k, unit.lo, p.lo)));
}

FC_FN double fc_log2_f64(double x) {
    fc_dd unit = { 1.0, 0.0 }, scale = { 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56 };
    return fc_log_base(x, unit, scale);
}

FC_FN double fc_log10_f64(double x) {
    fc_dd unit = { 0x1.34413509f6000p-2, 0x1.9fef311f12b36p-42 };
    fc_dd scale = { 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57 };
    return fc_log_base(x, unit, scale);
}

/* log(u + c) + extra * ln 2 for a normal u < 2^1023 and |c| <= ulp(u): accurate
 * also where u + c is close to 1, as it is for log1p. */
FC_FN double fc_log_sum(double u, double c, double extra) {
    fc_split s = fc_split_normal(u);
    fc_dd f = fc_fast_sum(s.f, c * fc_pow2(-s.kbits));
    double rest = fc_log_rest(f.hi), k = s.k + extra;
    rest = fc_fma(f.hi, f.lo, rest) - f.lo;
    fc_dd h = fc_fast_sum(k * FC_LN2_TOP, f.hi);
    return h.hi + (h.lo - fc_fma(k, -FC_LN2_REST, rest));
}

FC_FN double fc_log1p_f64(double x) {
    fc_dd u = fc_sum(1.0, x);
    double r = fc_log_sum(x < 0x1p60 ? u.hi : x * 0.5, x < 0x1p60 ? u.lo : 0.0,
                          x < 0x1p60 ? 0.0 : 1.0);
    return __builtin_copysign(fc_log_ends(u.hi, r), x);
}

/* ---- inverse hyperbolics ----------------------------------------------------- */

FC_FN double fc_arcsinh_f64(double x) {
    double a = fc_abs(x);
    int big = a > 0x1p30;
    double b = big ? 1.0 : a, s = __builtin_sqrt(fc_fma(b, b, 1.0));
    fc_dd y = fc_fast_sum(b, b * b / (1.0 + s));       /* b + sqrt(b^2 + 1) - 1 */
    fc_dd u = fc_sum(1.0, y.hi);
    double r = fc_log_sum(big ? a * 0.5 : u.hi, big ? 0.0 : u.lo + y.lo, big ? 2.0 : 0.0);
    return __builtin_copysign(a < __builtin_inf() ? r : a, x);
}

FC_FN double fc_arccosh_f64(double x) {
    int big = x > 0x1p30;
    double t = (big ? 2.0 : x) - 1.0;
    fc_dd p = fc_mul(t, t), w = fc_sum(2.0 * t, p.hi); /* x^2 - 1 */
    double s = __builtin_sqrt(w.hi);
    double lo = (fc_fma(-s, s, w.hi) + (w.lo + p.lo)) / (s > 0.0 ? 2.0 * s : 1.0);
    fc_dd y = fc_sum(s, t), u = fc_sum(1.0, y.hi);
    double r = fc_log_sum(big ? x * 0.5 : u.hi, big ? 0.0 : u.lo + (y.lo + lo),
                          big ? 2.0 : 0.0);
    r = x < __builtin_inf() ? r : x;
    return x < 1.0 ? __builtin_nan("") : r;
}

FC_FN double fc_arctanh_f64(double x) {
    double a = fc_abs(x), a2 = 2.0 * (a < 1.0 ? a : 0.0);
    fc_dd d = fc_fast_sum(1.0, -0.5 * a2);
    double r = 1.0 / d.hi, q = a2 * r;                 /* 2a / (1 - a) */
    double lo = r * (fc_fma(-q, d.hi, a2) - q * d.lo);
    fc_dd u = fc_sum(1.0, q);
    double y = 0.5 * fc_log_sum(u.hi, u.lo + lo, 0.0);
    y = a < 1.0 ? y : (a == 1.0 ? __builtin_inf() : __builtin_nan(""));
    return __builtin_copysign(y, x);
}

FC_FN double fc_logaddexp_f64(double x, double y) {
    double big = x > y ? x : y, d = fc_abs(x - y);
    double r = big + fc_log1p_f64(fc_exp_f64(-d));
    r = x == y ? x + FC_LN2_HI : r;                    /* equal infinities too */
    return x != x || y != y ? x + y : r;
}

/* ---- trigonometric functions -------------------------------------------------- */

/* Payne-Hanek for every argument.  With x = X * 2^e, X in [1, 2) (or x = X < 2 and
 * e = 0), x * 2/pi is needed modulo 4 only, so of the bits of 2/pi those from weight
 * 2^53-e down are used: entry j of the table holds bits 16j..16j+63 of 2/pi behind 54
 * zeros.  Four pieces of 48 bits leave an absolute error of 2^-136, while no double is
 * closer than 2^-62 to a multiple of pi/2. */
static const uint64_t fc_two_over_pi[76] = {
    0x000000000000028bu, 0x00000000028be60du, 0x0000028be60db939u, 0x028be60db9391054u,
    0xe60db9391054a7f0u, 0xb9391054a7f09d5fu, 0x1054a7f09d5f47d4u, 0xa7f09d5f47d4d377u,
    0x9d5f47d4d377036du, 0x47d4d377036d8a56u, 0xd377036d8a5664f1u, 0x036d8a5664f10e41u,
    0x8a5664f10e4107f9u, 0x64f10e4107f9458eu, 0x0e4107f9458eaf7au, 0x07f9458eaf7aef15u,
    0x458eaf7aef1586dcu, 0xaf7aef1586dc91b8u, 0xef1586dc91b8e909u, 0x86dc91b8e909374bu,
    0x91b8e909374b8019u, 0xe909374b801924bbu, 0x374b801924bba827u, 0x801924bba8274648u,
    0x24bba827464873f8u, 0xa827464873f877acu, 0x464873f877ac72c4u, 0x73f877ac72c4a69cu,
    0x77ac72c4a69cfba2u, 0x72c4a69cfba208d7u, 0xa69cfba208d7d4bau, 0xfba208d7d4baed12u,
    0x08d7d4baed1213a6u, 0xd4baed1213a671c0u, 0xed1213a671c09ad1u, 0x13a671c09ad17df9u,
    0x71c09ad17df904e6u, 0x9ad17df904e64758u, 0x7df904e64758e60du, 0x04e64758e60d4ce7u,
    0x4758e60d4ce7d272u, 0xe60d4ce7d272117eu, 0x4ce7d272117e2ef7u, 0xd272117e2ef7e4a0u,
    0x117e2ef7e4a0ec7fu, 0x2ef7e4a0ec7fe25fu, 0xe4a0ec7fe25fff78u, 0xec7fe25fff781660u,
    0xe25fff7816603fbcu, 0xff7816603fbcbc46u, 0x16603fbcbc462d68u, 0x3fbcbc462d6829b4u,
    0xbc462d6829b47db4u, 0x2d6829b47db4d9fbu, 0x29b47db4d9fb3c9fu, 0x7db4d9fb3c9f2c26u,
    0xd9fb3c9f2c26dd3du, 0x3c9f2c26dd3d18fdu, 0x2c26dd3d18fd9a79u, 0xdd3d18fd9a797fa8u,
    0x18fd9a797fa8b5d4u, 0x9a797fa8b5d49eebu, 0x7fa8b5d49eeb1fafu, 0xb5d49eeb1faf97c5u,
    0x9eeb1faf97c5ecf4u, 0x1faf97c5ecf41ce7u, 0x97c5ecf41ce7de29u, 0xecf41ce7de294a4bu,
    0x1ce7de294a4ba9afu, 0xde294a4ba9afed7eu, 0x4a4ba9afed7ec47eu, 0xa9afed7ec47e3574u,
    0xed7ec47e35742158u, 0xc47e357421580cc1u, 0x357421580cc11bf1u, 0x21580cc11bf1edaeu,
};

/* the 48 bits of `word` from bit `shift` on, times 2^p where `unit` is 2^(52 + p) */
FC_FN double fc_piece(uint64_t word, uint64_t shift, double unit) {
    return fc_from_bits(((word << shift) >> 16) | fc_bits(unit)) - unit;
}

typedef struct { fc_dd r; uint64_t quadrant; } fc_angle;

FC_FN fc_angle fc_reduce(double ax) {
    uint64_t u = fc_bits(ax);
    int64_t e = (int64_t)(u >> 52) - 1023;
    e = e > 0 ? e : 0;
    double x = fc_from_bits(u - ((uint64_t)e << 52));
    int64_t j = (int64_t)((uint64_t)e >> 4);
    uint64_t shift = (uint64_t)e & 15;
    fc_dd a = fc_mul(x, fc_piece(fc_two_over_pi[j], shift, 0x1p58));
    fc_dd b = fc_mul(x, fc_piece(fc_two_over_pi[j + 3], shift, 0x1p10));
    fc_dd c = fc_mul(x, fc_piece(fc_two_over_pi[j + 6], shift, 0x1p-38));
    double d = x * fc_piece(fc_two_over_pi[j + 9], shift, 0x1p-86);

    double whole = fc_fma(-4.0, __builtin_rint(0.25 * a.hi), a.hi) + a.lo;   /* exact */
    double t = (whole + b.hi) + FC_MAGIC;
    fc_dd s1 = fc_sum(whole - (t - FC_MAGIC), b.hi), s2 = fc_sum(c.hi, b.lo);
    fc_dd s3 = fc_sum(s1.hi, s2.hi);
    double lo = s3.lo + (s1.lo + (s2.lo + (c.lo + d)));

    fc_angle out;
    out.r = fc_mul(s3.hi, FC_PIO2_HI);
    out.r.lo += fc_fma(s3.hi, FC_PIO2_LO, lo * FC_PIO2_HI);
    out.quadrant = fc_bits(t);
    return out;
}

FC_FN fc_dd fc_sin_poly(fc_dd r, double z) {
    double s = FC_P6(z, -0x1.5555555555548p-3, 0x1.111111110f7c0p-7,
        -0x1.a01a019bfbed0p-13, 0x1.71de35660bb77p-19, -0x1.ae5e5923b9417p-26,
        0x1.5d8f64ca359d4p-33);
    fc_dd y = { r.hi, fc_fma(z, fc_fma(r.hi, s, -0.5 * r.lo), r.lo) };
    return y;
}

FC_FN fc_dd fc_cos_poly(fc_dd r, double z) {
    double c = FC_P6(z, 0x1.555555555554bp-5, -0x1.6c16c16c14f81p-10,
        0x1.a01a019c82a4bp-16, -0x1.27e4f7e984640p-22, 0x1.1ee9d6d393b0cp-29,
        -0x1.8fa421bfe210cp-37);
    double zlo = fc_fma(r.hi, r.hi, -z);
    fc_dd y = fc_fast_sum(1.0, -0.5 * z);
    y.lo += fc_fma(z * z, c, fc_fma(-r.hi, r.lo, -0.5 * zlo));
    return y;
}

/* sin(|x| + turn * pi/2), negated where `flip` has its top bit set */
FC_FN double fc_sine(double ax, uint64_t turn, uint64_t flip) {
    fc_angle a = fc_reduce(ax);
    uint64_t q = a.quadrant + turn;
    double z = a.r.hi * a.r.hi;
    fc_dd s = fc_sin_poly(a.r, z), c = fc_cos_poly(a.r, z);
    double hi = q & 1 ? c.hi : s.hi, lo = q & 1 ? c.lo : s.lo;
    return fc_from_bits(fc_bits(hi + lo) ^ ((q & 2) << 62) ^ flip);
}

#define FC_SIGN_BIT 0x8000000000000000u

FC_FN double fc_sin_f64(double x) {
    double ax = fc_abs(x), y = fc_sine(ax, 0, fc_bits(x) & FC_SIGN_BIT);
    y = ax < 0x1p-26 ? x : y;
    return ax < __builtin_inf() ? y : x - x;
}

FC_FN double fc_cos_f64(double x) {
    double ax = fc_abs(x), y = fc_sine(ax, 1, 0);
    return ax < __builtin_inf() ? y : x - x;
}

FC_FN double fc_tan_f64(double x) {
    double ax = fc_abs(x);
    fc_angle a = fc_reduce(ax);
    double z = a.r.hi * a.r.hi;
    fc_dd s = fc_sin_poly(a.r, z), c = fc_cos_poly(a.r, z), n, d;
    s = fc_fast_sum(s.hi, s.lo), c = fc_fast_sum(c.hi, c.lo);
    uint64_t odd = a.quadrant & 1;
    n.hi = odd ? c.hi : s.hi, n.lo = odd ? c.lo : s.lo;
    d.hi = odd ? s.hi : c.hi, d.lo = odd ? s.lo : c.lo;
    uint64_t flip = (odd << 63) ^ (fc_bits(x) & FC_SIGN_BIT);
    double y = fc_from_bits(fc_bits(fc_div(n, d)) ^ flip);
    y = ax < 0x1p-27 ? x : y;
    return ax < __builtin_inf() ? y : x - x;
}

/* ---- inverse trigonometric functions ------------------------------------------- */

/* atan(n/d) for n, d >= 0, not both 0: by the tangent of a difference the
 * quotient is brought below tan(pi/8) by taking off 0, pi/4 or pi/2. */
FC_FN fc_dd fc_atan_ratio(double n, double d) {
    double low = 0x1.a827999fcef32p-2 * d, high = 0x1.3504f333f9de6p+1 * d;
    double base = n <= low ? 0.0 : n > high ? FC_PIO2_HI : 0.5 * FC_PIO2_HI;
    double tail = n <= low ? 0.0 : n > high ? FC_PIO2_LO : 0.5 * FC_PIO2_LO;
    /* n / d, (n - d) / (n + d) or -d / n */
    fc_dd p = fc_sum(n > high ? 0.0 : n, n <= low ? 0.0 : -d);
    fc_dd q = fc_sum(n <= low ? 0.0 : n, n > high ? 0.0 : d);
    double r = 1.0 / q.hi, t = p.hi * r;
    double lo = r * (fc_fma(-t, q.hi, p.hi) + fc_fma(-t, q.lo, p.lo));
    lo = fc_abs(t) < 0x1p-900 ? 0.0 : lo;              /* its products underflow */
    double z = t * t;
    double c = FC_P12(z, -0x1.5555555555554p-2, 0x1.9999999999647p-3,
        -0x1.249249247547ep-3, 0x1.c71c71b737201p-4, -0x1.745d14b6f6e35p-4,
        0x1.3b136def2e971p-4, -0x1.110c6f3968207p-4, 0x1.e171bad42d4a7p-5,
        -0x1.ab7bca778b4c6p-5, 0x1.70e675bd832f9p-5, -0x1.12283295b0496p-5,
        0x1.f1aaeebe13afep-7);
    fc_dd y = fc_fast_sum(base, t);
    y.lo += fc_fma(z * t, c, fc_fma(-z, lo, lo) + tail);
    return y;
}

FC_FN double fc_arctan_f64(double x) {
    double a = fc_abs(x);
    fc_dd y = fc_atan_ratio(a > 0x1p60 ? 0x1p60 : a, 1.0);
    return __builtin_copysign(x != x ? x : y.hi + y.lo, x);
}

FC_FN double fc_asin_poly(double z) {   /* (asin(s) - s) / s^3 at z = s*s <= 1/4 */
    return FC_P13(z, 0x1.5555555555577p-3, 0x1.333333332e082p-4, 0x1.6db6db721a572p-5,
        0x1.f1c71a91fca8cp-6, 0x1.6e8bdf343cc85p-6, 0x1.1c49ea66b0dc8p-6,
        0x1.ca201e69986edp-7, 0x1.7580d4e155442p-7, 0x1.61575bee27249p-7,
        0x1.e459a90a6279ep-9, 0x1.641bd4a287ae0p-6, -0x1.58b4ce6951936p-6,
        0x1.0b81074508e79p-5);
}

/* asin(s) for s = |x|, or for s = sqrt((1 - |x|) / 2) where |x| > 1/2 */
FC_FN fc_dd fc_asin_core(double a) {
    int high = a > 0.5;
    double z = high ? fc_fma(-0.5, a, 0.5) : a * a;
    double root = __builtin_sqrt(high ? z : 0.0), s = high ? root : a;
    double lo = high && s > 0.0 ? fc_fma(-s, s, z) / (2.0 * s) : 0.0;
    fc_dd y = { s, fc_fma(z * s, fc_asin_poly(z), lo) };
    return y;
}

FC_FN double fc_arcsin_f64(double x) {
    double a = fc_abs(x);
    fc_dd y = fc_asin_core(a);
    fc_dd h = fc_fast_sum(FC_PIO2_HI, -2.0 * y.hi);
    double big = h.hi + (h.lo + fc_fma(-2.0, y.lo, FC_PIO2_LO));
    return __builtin_copysign(a > 0.5 ? big : y.hi + y.lo, x);
}

FC_FN double fc_arccos_f64(double x) {
    double a = fc_abs(x);
    fc_dd y = fc_asin_core(a);
    fc_dd m = fc_fast_sum(FC_PIO2_HI, x < 0.0 ? y.hi : -y.hi);
    double mid = m.hi + (m.lo + (FC_PIO2_LO + (x < 0.0 ? y.lo : -y.lo)));
    fc_dd n = fc_fast_sum(2.0 * FC_PIO2_HI, -2.0 * y.hi);
    double neg = n.hi + (n.lo + fc_fma(-2.0, y.lo, 2.0 * FC_PIO2_LO));
    double pos = 2.0 * (y.hi + y.lo);
    return a > 0.5 ? (x < 0.0 ? neg : pos) : mid;
}

FC_FN double fc_arctan2_f64(double y, double x) {
    double n = fc_abs(y), d = fc_abs(x), big = n > d ? n : d;
    /* keep quotients and sums away from overflow and from subnormals */
    double scale = big > 0x1p1000 ? 0x1p-100 : (big < 0x1p-900 ? 0x1p120 : 1.0);
    /* infinities become finite pairs of the same angle, 0/0 becomes 0/1 */
    double inf = __builtin_inf();
    double up_n = d == inf ? 0.0 : scale, up_d = n == inf ? 0.0 : scale;
    double ns = n == inf ? 1.0 : n * up_n;
    double ds = (d == inf ? 1.0 : d * up_d) + (big == 0.0 ? 1.0 : 0.0);
    fc_dd a = fc_atan_ratio(ns, ds);
    fc_dd h = fc_fast_sum(2.0 * FC_PIO2_HI, -a.hi);
    double left = h.hi + (h.lo + (2.0 * FC_PIO2_LO - a.lo));
    double r = fc_bits(x) & FC_SIGN_BIT ? left : a.hi + a.lo;
    return __builtin_copysign(x != x || y != y ? x + y : r, y);
}

/* ---- roots ----------------------------------------------------------------------- */

FC_FN double fc_hypot_f64(double x, double y) {
    double a = fc_abs(x), b = fc_abs(y), big = a > b ? a : b, small = a > b ? b : a;
    double up = big > 0x1p500 ? 0x1p-600 : (big < 0x1p-400 ? 0x1p600 : 1.0);
    double down = big > 0x1p500 ? 0x1p600 : (big < 0x1p-400 ? 0x1p-600 : 1.0);
    big *= up, small *= up;
    fc_dd p = fc_mul(big, big), q = fc_mul(small, small), s = fc_fast_sum(p.hi, q.hi);
    double r = __builtin_sqrt(s.hi), rest = fc_fma(-r, r, s.hi) + (s.lo + (p.lo + q.lo));
    r = (r + rest / (r > 0.0 ? 2.0 * r : 1.0)) * down;
    r = x != x || y != y ? x + y : r;
    return a == __builtin_inf() || b == __builtin_inf() ? __builtin_inf() : r;
}

/* a = z * scale^3 with z in [1/2, 4), and w = z^(-1/3) * (1 + e/3 + ..) where
 * e = 1 - z w^3 is below 2^-15; a > 0 and normal. */
typedef struct { double z, w, scale; } fc_thirds;

FC_FN fc_thirds fc_split_thirds(double a) {
    uint64_t u = fc_bits(a);
    double m = fc_from_bits((u & 0x000fffffffffffffu) | FC_ONE_BITS);
    double k = fc_from_bits((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    double t = fc_fma(k, 0x1.5555555555555p-2, FC_MAGIC);   /* k = 3j + rem */
    double rem = fc_fma(-3.0, t - FC_MAGIC, k);
    double w = FC_P6(m, 0x1.c7f2cd60cd449p+0, -0x1.90e541992ad29p+0, 0x1.3e6614af27a65p+0,
        -0x1.3218ef47d05fcp-1, 0x1.3f9e05c534823p-3, -0x1.16d285907e88ap-6);
    fc_thirds d;
    d.z = m * (rem < 0.0 ? 0.5 : (rem > 0.0 ? 2.0 : 1.0));
    d.w = w * (rem < 0.0 ? 0x1.428a2f98d728bp+0 : (rem > 0.0 ? 0x1.965fea53d6e3dp-1 : 1.0));
    d.scale = fc_pow2(fc_bits(t));
    return d;
}

FC_FN double fc_cbrt_f64(double x) {
    double a = fc_abs(x);
    int tiny = a < 0x1p-1022;
    fc_thirds d = fc_split_thirds(tiny ? a * 0x1p54 : a);
    double w = d.w, e = fc_fma(-d.z * w, w * w, 1.0);
    w = fc_fma(w * e, fc_fma(e, 0x1.c71c71c71c71cp-3, 0x1.5555555555555p-2), w);
    double y = d.z * w * w;
    fc_dd y2 = fc_mul(y, y);
    double rest = fc_fma(y2.hi, y, -d.z) + y2.lo * y;
    y = fc_fma(-rest * 0x1.5555555555555p-2, w * w, y);   /* y - (y^3 - z) / 3y^2 */
    y *= d.scale * (tiny ? 0x1p-18 : 1.0);
    return a > 0.0 && a < __builtin_inf() ? __builtin_copysign(y, x) : x + x;
}

#endif
