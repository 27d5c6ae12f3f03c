/* Trigonometry and roots in double, for vecmath.h; include that file, not this one. */
#ifndef FUSECUDA_VECMATH_TRIG_F64_H
#define FUSECUDA_VECMATH_TRIG_F64_H

#define FC_PIO2_HI 0x1.921fb54442d18p+0
#define FC_PIO2_LO 0x1.1a62633145c07p-54

/* ---- trigonometric functions -------------------------------------------------- */

/* Nearly every angle is reduced with pi/2 in two words, whose products with a whole number
 * n < 2^24 fc_fma does not round: w is exact, and so is w - r where |r| > 2^-26.  What is
 * larger, or next to a multiple of pi/2, goes the long way, Payne-Hanek.  Where the compiler
 * has us write vector functions, only packs with such an angle do (vecmath_packs.h).
 *
 * The long way serves all arguments.  With x = X * 2^e, X in [1, 2) (or x = X < 2 and
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

FC_FN fc_angle fc_near_angle(double ax) {
    double t = fc_fma(ax, 0x1.45f306dc9c883p-1, FC_MAGIC), n = t - FC_MAGIC;
    double w = fc_fma(-n, FC_PIO2_HI, ax);
    double r = fc_fma(-n, FC_PIO2_LO, w);
    fc_dd both = { r, fc_fma(-n, FC_PIO2_LO, w - r) };
    fc_angle a = { both, fc_bits(t) };
    return a;
}

FC_FN uint64_t fc_far_f64(double ax, double r) {
    return -(uint64_t)((ax >= 0x1p24) | ((fc_abs(r) < 0x1p-26) & (ax > 0.5)));
}

/* sin(a + turn * pi/2), negated where `flip` has its top bit set */
FC_FN double fc_sine(fc_angle a, uint64_t turn, uint64_t flip) {
    uint64_t q = a.quadrant + turn;
    double z = a.r.hi * a.r.hi;
    fc_dd s = fc_sin_poly(a.r, z), c = fc_cos_poly(a.r, z);
    double hi = q & 1 ? c.hi : s.hi, lo = q & 1 ? c.lo : s.lo;
    return fc_from_bits(fc_bits(hi + lo) ^ ((q & 2) << 62) ^ flip);
}

FC_FN double fc_sin_far_f64(double x) {
    double ax = fc_abs(x), y = fc_sine(fc_reduce(ax), 0, fc_bits(x) & FC_SIGN_BIT);
    return ax < __builtin_inf() ? y : x - x;
}

FC_FN fc_attempt_f64 fc_sin_near_f64(double x) {
    double ax = fc_abs(x);
    fc_angle a = fc_near_angle(ax);
    fc_attempt_f64 s = { fc_sine(a, 0, fc_bits(x) & FC_SIGN_BIT), fc_far_f64(ax, a.r.hi) };
    return s;
}

FC_FN double fc_sin_f64(double x) {
    fc_attempt_f64 s = fc_sin_near_f64(x);
    return FC_SELDOM(s.far, fc_sin_far_f64, x, s.y);
}

FC_FN double fc_cos_far_f64(double x) {
    double ax = fc_abs(x), y = fc_sine(fc_reduce(ax), 1, 0);
    return ax < __builtin_inf() ? y : x - x;
}

FC_FN fc_attempt_f64 fc_cos_near_f64(double x) {
    double ax = fc_abs(x);
    fc_angle a = fc_near_angle(ax);
    fc_attempt_f64 s = { fc_sine(a, 1, 0), fc_far_f64(ax, a.r.hi) };
    return s;
}

FC_FN double fc_cos_f64(double x) {
    fc_attempt_f64 s = fc_cos_near_f64(x);
    return FC_SELDOM(s.far, fc_cos_far_f64, x, s.y);
}

FC_FN double fc_tan_of(fc_angle a, uint64_t flip) {
    double z = a.r.hi * a.r.hi;
    fc_dd s = fc_sin_poly(a.r, z), c = fc_cos_poly(a.r, z), n, d;
    s = fc_fast_sum(s.hi, s.lo), c = fc_fast_sum(c.hi, c.lo);
    uint64_t odd = a.quadrant & 1;
    n.hi = odd ? c.hi : s.hi, n.lo = odd ? c.lo : s.lo;
    d.hi = odd ? s.hi : c.hi, d.lo = odd ? s.lo : c.lo;
    return fc_from_bits(fc_bits(fc_div(n, d)) ^ (odd << 63) ^ flip);
}

FC_FN double fc_tan_far_f64(double x) {
    double ax = fc_abs(x), y = fc_tan_of(fc_reduce(ax), fc_bits(x) & FC_SIGN_BIT);
    return ax < __builtin_inf() ? y : x - x;
}

FC_FN fc_attempt_f64 fc_tan_near_f64(double x) {
    double ax = fc_abs(x);
    fc_angle a = fc_near_angle(ax);
    double y = fc_tan_of(a, fc_bits(x) & FC_SIGN_BIT);
    fc_attempt_f64 s = { ax < 0x1p-27 ? x : y, fc_far_f64(ax, a.r.hi) };
    return s;
}

FC_FN double fc_tan_f64(double x) {
    fc_attempt_f64 s = fc_tan_near_f64(x);
    return FC_SELDOM(s.far, fc_tan_far_f64, x, s.y);
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
    /* keep quotients and sums from overflow, and their errors from what subnormals lose */
    double scale = big > 0x1p800 ? 0x1p-200 : (big < 1.0 ? 0x1p900 : 1.0);
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
