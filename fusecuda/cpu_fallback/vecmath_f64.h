/* Double-precision half of vecmath.h but for trigonometry and roots; include that file,
 * not this one.  All coefficients are minimax fits made for these intervals. */

#define FC_LN2_HI 0x1.62e42fefa39efp-1
#define FC_LN2_LO 0x1.abc9e3b39803fp-56

/* (n.hi + n.lo) / (d.hi + d.lo), within 0.5 ULP plus a little. */
FC_FN double fc_div(fc_dd n, fc_dd d) {
    double r = 1.0 / d.hi;
    double q = n.hi * r;
    double rest = fc_fma(-q, d.hi, n.hi) + fc_fma(-q, d.lo, n.lo);
    return fc_fma(rest, r, q);
}

/* 1 / 2s within 1.6 %, for what is small itself: the exponent turned round and a step of Newton's.
 * Right at 1, and next to it to the fourth order; finite at 0. */
FC_FN double fc_nearly_half_over(double s) {
    double h = fc_from_bits(0x7fd0000000000000u - fc_bits(s));
    return h * (2.0 - (s + s) * h);
}

/* A value, and whether it is to be computed another way instead. */
typedef struct { double y; uint64_t far; } fc_attempt_f64;

/* ---- polynomials in pairs -------------------------------------------------- */

/* c0 + c1 x + .., in pairs and pairs of those (Estrin): a few operations more than Horner's rule,
 * and a chain half as long, which is what most functions wait for */
FC_FN double fc_by_pairs8(double x, double c0, double c1, double c2, double c3, double c4,
                          double c5, double c6, double c7) {
    double z = x * x, low = fc_fma(z, fc_fma(x, c3, c2), fc_fma(x, c1, c0));
    return fc_fma(z * z, fc_fma(z, fc_fma(x, c7, c6), fc_fma(x, c5, c4)), low);
}

FC_FN double fc_by_pairs9(double x, double c0, double c1, double c2, double c3, double c4,
                          double c5, double c6, double c7, double c8) {
    double z = x * x, zz = z * z, low = fc_fma(z, fc_fma(x, c3, c2), fc_fma(x, c1, c0));
    double high = fc_fma(z, fc_fma(x, c7, c6), fc_fma(x, c5, c4));
    return fc_fma(zz, fc_fma(zz, c8, high), low);
}

FC_FN double fc_by_pairs10(double x, double c0, double c1, double c2, double c3, double c4,
                           double c5, double c6, double c7, double c8, double c9) {
    double z = x * x, zz = z * z, low = fc_fma(z, fc_fma(x, c3, c2), fc_fma(x, c1, c0));
    double high = fc_fma(z, fc_fma(x, c7, c6), fc_fma(x, c5, c4));
    return fc_fma(zz, fc_fma(zz, fc_fma(x, c9, c8), high), low);
}

FC_FN double fc_by_pairs11(double x, double c0, double c1, double c2, double c3, double c4,
                           double c5, double c6, double c7, double c8, double c9, double c10) {
    double z = x * x, zz = z * z, low = fc_fma(z, fc_fma(x, c3, c2), fc_fma(x, c1, c0));
    double mid = fc_fma(z, fc_fma(x, c7, c6), fc_fma(x, c5, c4));
    double high = fc_fma(z, c10, fc_fma(x, c9, c8));
    return fc_fma(zz, fc_fma(zz, high, mid), low);
}

FC_FN double fc_by_pairs12(double x, double c0, double c1, double c2, double c3, double c4,
                           double c5, double c6, double c7, double c8, double c9, double c10,
                           double c11) {
    double z = x * x, zz = z * z, low = fc_fma(z, fc_fma(x, c3, c2), fc_fma(x, c1, c0));
    double mid = fc_fma(z, fc_fma(x, c7, c6), fc_fma(x, c5, c4));
    double high = fc_fma(z, fc_fma(x, c11, c10), fc_fma(x, c9, c8));
    return fc_fma(zz, fc_fma(zz, high, mid), low);
}

/* ---- exponentials ---------------------------------------------------------- */

/* e^x = 2^n * (1 + p.hi + p.lo); `t` holds n in its low bits. */
typedef struct { fc_dd p; double t; } fc_expo;

/* 2^n in two factors, so that subnormal and overflowing results round once. */
FC_FN double fc_scale(double x, double t) {
    uint64_t n = fc_bits(t), half = n >> 1;
    return x * fc_pow2(half) * fc_pow2(n - half);
}

/* e^(r + tail) - 1 for |r| <= ln(2)/2. */
FC_FN fc_dd fc_em1_poly(double r, double tail) {
    double q = fc_fma(r, fc_by_pairs10(r, 0x1.555555555555bp-3, 0x1.5555555555503p-5,
        0x1.111111110ec41p-7, 0x1.6c16c16c305c3p-10, 0x1.a01a01b3897cep-13, 0x1.a01a013657fa4p-16,
        0x1.71ddf0040fcf4p-19, 0x1.27e5b47d16b92p-22, 0x1.af6c1af7a7d06p-26,
        0x1.1e3d28bd464aep-29), 0.5);
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

/* y 2^n, rounded once, for n in t's low bits and y 2^n below 2^1024.  A product that is subnormal
 * takes a processor a hundred times as long, so 1 is added to what is 2^1022 times as large: then
 * the sum's last digit is that of subnormal numbers, and all the digits are their bits. */
FC_FN double fc_power_times(double y, double t) {
    uint64_t u = fc_bits(y) + (fc_bits(t) << 52);
    double low = fc_from_bits(u + (1022ull << 52)) + 1.0, usual = fc_from_bits(u);
    return usual >= 0x1p-1022 ? usual : fc_from_bits(fc_bits(low) - FC_ONE_BITS);
}

/* `y`, or where x is above `most`, infinity; a NaN x stays one. */
FC_FN double fc_overflowing(double x, double most, double y) {
    return x <= most ? y : x + __builtin_inf();
}

FC_FN double fc_exp_f64(double x) {
    double c = x > -746.0 ? x : -746.0, t = fc_fma(c, 0x1.71547652b82fep+0, FC_MAGIC);
    double n = t - FC_MAGIC, r = fc_fma(-n, FC_LN2_LO, fc_fma(-n, FC_LN2_HI, c));
    double y = FC_P12(r, 1.0, 1.0, 0x1.000000000000cp-1, 0x1.555555555555cp-3,
        0x1.555555554fe0bp-5, 0x1.111111110e9efp-7, 0x1.6c16c186053d3p-10, 0x1.a01a01b44afd9p-13,
        0x1.a01995c12cadcp-16, 0x1.71ddee619014cp-19, 0x1.28b0efa86035cp-22,
        0x1.af6e9ed00b522p-26);
    return fc_overflowing(x, 0x1.62e42fefa39efp+9, fc_power_times(y, t));
}

FC_FN double fc_exp2_f64(double x) {
    double c = x > -1076.0 ? x : -1076.0, t = c + FC_MAGIC, r = c - (t - FC_MAGIC);
    double y = FC_P12(r, 1.0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c5a6p-3, 0x1.c6b08d704a183p-5,
        0x1.3b2ab6fb9fd4fp-7, 0x1.5d87fe7888b62p-10, 0x1.4309130f862b6p-13,
        0x1.ffcbfcdbb0815p-17, 0x1.62bfc60f5590bp-20, 0x1.b524224fbe196p-24,
        0x1.e61dcc21b6ec9p-28, 0x1.eafe8868eac99p-32);
    return fc_overflowing(x, 0x1.fffffffffffffp+9, fc_power_times(y, t));
}

FC_FN double fc_expm1_f64(double x) {
    fc_expo e = fc_expo_of(fc_cap(x, 710.0));
    /* 2^n (1 + p) - 1 = 2^n ((1 - 2^-n) + p); past n = 100 the 2^-n is lost. */
    fc_dd one = fc_sum(1.0, -fc_pow2(-fc_bits(fc_cap(e.t, FC_MAGIC + 100.0))));
    fc_dd s = fc_fast_sum(one.hi, e.p.hi);
    double y = s.hi + (s.lo + (e.p.lo + one.lo));
    y = (y + y) * fc_pow2(fc_bits(e.t) - 1);           /* n may be 1024 */
    return __builtin_copysign(x < -40.0 ? 1.0 : y, x);
}

/* ---- hyperbolics and the logistic function --------------------------------- */

FC_FN double fc_tanh_f64(double x) {   /* -u / (2 + u) at u = e^-2a - 1 */
    fc_expo e = fc_expo_of(-2.0 * fc_cap(fc_abs(x), 40.0));
    double s = fc_pow2(fc_bits(e.t));
    fc_dd least = fc_fast_sum(-1.0, s), u = fc_fast_sum(least.hi, s * e.p.hi);
    u = fc_fast_sum(u.hi, fc_fma(s, e.p.lo, u.lo + least.lo));   /* 2^n p is exact */
    fc_dd n = { -u.hi, -u.lo }, d = fc_fast_sum(2.0, u.hi);
    d.lo += u.lo;
    return __builtin_copysign(fc_div(n, d), x);
}

/* a = n ln 2 + r, `tail` past r; r (1 + z odd) and 1 + z even are sinh r and cosh r; less and more
 * are 1 - 4^-n and 1 + 4^-n, and lost is what 4^-n lost there; t has n in its low bits */
typedef struct { double r, tail, z, odd, even, less, more, lost, t; } fc_hyper;

FC_FN fc_hyper fc_hyper_of(double a) {
    double t = fc_fma(a, 0x1.71547652b82fep+0, FC_MAGIC), n = t - FC_MAGIC;
    double w = fc_fma(-n, FC_LN2_HI, a), r = fc_fma(-n, FC_LN2_LO, w), z = r * r, zz = z * z;
    fc_hyper h;
    h.r = r, h.z = z, h.tail = fc_fma(-n, FC_LN2_LO, w - r);
    h.odd = fc_fma(zz, fc_fma(zz, 0x1.af5f40dd9423p-26,
        fc_fma(z, 0x1.71ddf8041f4a4p-19, 0x1.a01a01b0076e7p-13)),
        fc_fma(z, 0x1.111111110f64ep-7, 0x1.5555555555559p-3));
    h.even = fc_fma(z, fc_fma(zz, fc_fma(zz, 0x1.1f8bbc4e2454ep-29,
        fc_fma(z, 0x1.27e4cc22e9085p-22, 0x1.a01a01ad78926p-16)),
        fc_fma(z, 0x1.6c16c16c15008p-10, 0x1.5555555555558p-5)), 0.5);
    double down = fc_from_bits(FC_ONE_BITS - (fc_bits(fc_cap(t, FC_MAGIC + 64.0)) << 53));
    h.more = 1.0 + down;
    double felt = h.more - 1.0;
    h.less = 1.0 - felt, h.lost = down - felt, h.t = t;
    return h;
}

/* 2^(n - 1) (p cosh r + q sinh r + lost e^-r) for p >= q r or p = 0; n may be 1025 */
FC_FN double fc_hyper_sum(fc_hyper h, double p, double q, double lost) {
    double y = fc_fma(q, h.r, p), rest = fc_fma(q, h.r, p - y) + fc_fma(-lost, h.r, lost);
    rest = fc_fma(h.tail, fc_fma(p, h.r, q), rest);
    y += fc_fma(h.z, fc_fma(q * h.r, h.odd, p * h.even), rest);
    return (y + y) * fc_pow2(fc_bits(h.t) - 2);
}

FC_FN double fc_sinh_f64(double x) {
    double a = fc_cap(fc_abs(x), 710.5);
    fc_hyper h = fc_hyper_of(a);
    double y = fc_hyper_sum(h, h.less, h.more, -h.lost);
    return __builtin_copysign(y, x);
}

FC_FN double fc_cosh_f64(double x) {
    fc_hyper h = fc_hyper_of(fc_cap(fc_abs(x), 710.5));
    return fc_hyper_sum(h, h.more, h.less, h.lost);
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

/* erfc(a) = e^(-a^2) * Q(t) / (1 + 2a) at t = (a - 4) / (a + 4), for 0 <= a <= 27.5 */
FC_FN double fc_erfc_poly(double a) {
    double t = (a - 4.0) / (a + 4.0);
    return FC_P24(t, 0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28fp-3, 0x1.f7f5df66fd6e2p-7,
        0x1.16ecefcfa54aep-4, -0x1.9ddb23c3e89f8p-4, 0x1.7fee004e0fc56p-4,
        -0x1.0fb06dfe54527p-4, 0x1.3079edf6d920cp-5, -0x1.09623882c22e9p-6,
        0x1.49c6726d78b95p-8, -0x1.8d4a9c30c1f56p-11, -0x1.a1df14cb03384p-13,
        0x1.3be06a943fcb1p-13, -0x1.995af8def9445p-16, -0x1.788db191da828p-17,
        0x1.7f361a896e1bdp-18, 0x1.3bde2457325d5p-22, -0x1.bb83c15e790bep-21,
        0x1.3df5a2ebdf877p-24, 0x1.da5798592750ap-24, -0x1.2a6e853f4e200p-26,
        -0x1.e42819db057cfp-27, 0x1.c07b0731da6bep-30, 0x1.45bdf077f5a6fp-30);
}

/* the same with a^2 given in two words */
FC_FN double fc_erfc_of(double a, fc_dd h) {
    fc_expo e = fc_expo_of(-h.hi);
    fc_dd s = fc_fast_sum(1.0, e.p.hi);
    s = fc_fast_sum(s.hi, s.lo + e.p.lo);
    s.lo = fc_fma(-h.lo, s.hi, s.lo);
    double q = fc_erfc_poly(a);
    fc_dd n = fc_mul(q, s.hi), d = fc_fast_sum(2.0 * a > 1.0 ? 2.0 * a : 1.0,
                                               2.0 * a > 1.0 ? 1.0 : 2.0 * a);
    n.lo = fc_fma(q, s.lo, n.lo);
    return fc_scale(fc_div(n, d), e.t);
}

FC_FN double fc_erfc_core(double x) {
    double a = fc_cap(x, 27.5);                        /* from there on it is 0 */
    return fc_erfc_of(a, fc_mul(a, a));
}

FC_FN double fc_erf_poly(double x) {    /* erf(x) for |x| <= 1 */
    double z = fc_cap(x * x, 1.0);
    double p = FC_P13(z, 0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b1ep-4,
        -0x1.b82ce312848f7p-6, 0x1.565bcd0dae8afp-8, -0x1.c02db3d89f0f8p-11,
        0x1.f9a32197e9b2fp-14, -0x1.f4d1de82c721ep-17, 0x1.b9dee8336ce33p-20,
        -0x1.5f1ce4c008676p-23, 0x1.f7a089a7ceef8p-27, -0x1.385f93437f37fp-30,
        0x1.055ac43c76633p-34);
    return fc_abs(x) < 0x1p-500 ? x * p + x : fc_fma(x, p, x);
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

FC_FN double fc_log_divided(double x) {
    fc_split s = fc_split_of(x);
    double rest = fc_log_rest(s.f);
    fc_dd h = fc_fast_sum(s.k * FC_LN2_TOP, s.f);
    return fc_log_ends(x, h.hi + (h.lo - fc_fma(s.k, -FC_LN2_REST, rest)));
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

FC_FN double fc_log1p_divided(double x) {
    fc_dd u = fc_sum(1.0, x);
    double r = fc_log_sum(x < 0x1p60 ? u.hi : x * 0.5, x < 0x1p60 ? u.lo : 0.0,
                          x < 0x1p60 ? 0.0 : 1.0);
    return __builtin_copysign(fc_log_ends(u.hi, r), x);
}

FC_FN double fc_logaddexp_f64(double x, double y) {
    double big = x > y ? x : y, d = fc_abs(x - y);
    double r = big + fc_log1p_divided(fc_exp_f64(-d));
    r = x == y ? x + FC_LN2_HI : r;                    /* equal infinities too */
    return x != x || y != y ? x + y : r;
}

/* ---- powers ------------------------------------------------------------------- */

/* log(2^k (1 + f)) in two words, to 2^-64 of itself and mostly to much less: k ln 2 + s + s^3 / 12
 * in two words, at s = 2f / (2 + f), and s^5 times an even polynomial. */
FC_FN fc_dd fc_log_fine(double k, double f) {
    double d = fc_fma(0.5, f, 1.0), r = 1.0 / d, s = f * r;
    double tail = r * fc_fma(-s, fc_fma(0.5, f, 1.0 - d), fc_fma(-s, d, f));
    fc_dd z = fc_mul(s, s), c = fc_mul(s, z.hi), cube = fc_mul(c.hi, 0x1.5555555555555p-4);
    c.lo = fc_fma(s, z.lo, c.lo);
    cube.lo = fc_fma(c.lo, 0x1.5555555555555p-4, fc_fma(c.hi, 0x1.5555555555555p-58, cube.lo));
    double zz = z.hi * z.hi, slope = z.hi * fc_fma(z.hi, 0.0625, 0.25);
    double low = fc_fma(zz, FC_P2(z.hi, 0x1.c71c71c56a206p-12, 0x1.745d183dd16e4p-14),
        FC_P2(z.hi, 0x1.9999999999995p-7, 0x1.2492492492ff9p-9));
    double high = fc_fma(zz, FC_P2(z.hi, 0x1.de26565029d5dp-21, 0x1.eb7460d29f436p-23),
        FC_P2(z.hi, 0x1.3b13600773528p-16, 0x1.11211164c768fp-18));
    double a = fc_fma(k, FC_LN2_TOP, s), b = a + cube.hi;
    double rest = fc_fma(k, FC_LN2_REST, cube.lo) + fc_fma(slope, tail, tail);
    rest += (s + fc_fma(k, FC_LN2_TOP, -a)) + ((a - b) + cube.hi);
    return fc_fast_sum(b, fc_fma(c.hi * z.hi, fc_fma(zz * zz, high, low), rest));
}

/* e^x = 2^n y, within 0.51 ULP */
typedef struct { double y; uint64_t n; } fc_power;

/* for |x.hi| < 2000; n halves of an octave are taken off */
FC_FN fc_power fc_exp_fine(fc_dd x) {
    double t = fc_fma(x.hi, 0x1.71547652b82fep+1, FC_MAGIC), n = t - FC_MAGIC;
    double r = fc_fma(-n, 0.5 * FC_LN2_HI, x.hi);      /* exact */
    double tail = fc_fma(-n, 0.5 * FC_LN2_LO, x.lo);
    fc_dd z = fc_mul(r, r), a = fc_fast_sum(1.0, r);
    double b = fc_fma(0.5, z.hi, a.hi), lost = fc_fma(0.5, z.hi, a.hi - b);
    double low = fc_fma(z.hi, FC_P2(r, 0x1.11111111115efp-7, 0x1.6c16c16c5bdcep-10),
        FC_P2(r, 0x1.5555555555555p-3, 0x1.5555555555530p-5));
    double high = fc_fma(z.hi, FC_P3(r, 0x1.71de6c1d35e02p-19, 0x1.281409cf31e47p-22,
        0x1.ad5aa59955235p-26),
        FC_P2(r, 0x1.a01a019a04c5dp-13, 0x1.a019fc1c4059dp-16));
    double cube = r * z.hi * fc_fma(z.hi * z.hi, high, low);
    double rest = cube + fc_fma(tail, b + cube, fc_fma(0.5, z.lo, a.lo + lost));
    uint64_t odd = fc_bits(t) & 1;
    double root = odd ? 0x1.6a09e667f3bcdp+0 : 1.0, more = odd ? -0x1.bdd3413b26456p-54 : 0.0;
    fc_dd y = fc_mul(b, root);
    fc_power p = { y.hi + fc_fma(b, more, fc_fma(rest, root, y.lo)), fc_bits(t) >> 1 };
    return p;
}

FC_FN double fc_power_value(fc_power p) {
    uint64_t half = p.n >> 1;
    return p.y * fc_pow2(half) * fc_pow2(p.n - half);
}

FC_FN fc_dd fc_times(fc_dd l, double y) {
    fc_dd p = fc_mul(y, l.hi);
    p.lo = fc_fma(y, l.lo, p.lo);
    return p;
}
