/* Trigonometry and roots in double, for vecmath.h; include that file, not this one. */

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

FC_FN double fc_atan_poly(double z) {   /* (atan(t) - t) / t^3 at z = t*t, |t| < tan(pi/8) */
    return fc_fma(z, fc_by_pairs11(z, 0x1.9999999999647p-3, -0x1.249249247547ep-3,
        0x1.c71c71b737201p-4, -0x1.745d14b6f6e35p-4, 0x1.3b136def2e971p-4, -0x1.110c6f3968207p-4,
        0x1.e171bad42d4a7p-5, -0x1.ab7bca778b4c6p-5, 0x1.70e675bd832f9p-5, -0x1.12283295b0496p-5,
        0x1.f1aaeebe13afep-7), -0x1.5555555555554p-2);
}

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
    double c = fc_atan_poly(z);
    fc_dd y = fc_fast_sum(base, t);
    y.lo += fc_fma(z * t, c, fc_fma(-z, lo, lo) + tail);
    return y;
}

/* For a in one of 16 intervals, two for each power of 2 from 1/16 to 16, and q / p near it:
 * atan a = atan(q / p) + atan((a p - q) / (a q + p)), the last within 1/10 of 0.  p, q, and the
 * angle in two words, by the upper 13 bits of a. */
static const double fc_arctan_rows[64] = {
    0x1.4p+2, 0x1.cp+2, 0x1p+2, 0x1.4p+2, 0x1p+1, 0.0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0, 0x1p+0,
    0x1p+0, 0x1p+0, 0x1p+0, 0x1.2p+3, 0x1.cp+2,
    0x1.8p+3, 0x1.8p+4, 0x1.3p+4, 0x1.1p+5, 0x1.3p+4, 0x1p+0, 0.0, 0x1.cp-4, 0x1.4p-3, 0x1.cp-3,
    0x1.4p-2, 0x1.cp-2, 0x1.3cp-1, 0x1.bcp-1, 0x1.6p+3, 0x1.8p+3,
    0x1.2d0ead6066395p+0, 0x1.4978fa3269ee1p+0, 0x1.5d013c41adabdp+0, 0x1.6cbea6149372p+0,
    0x1.77467e364f601p+0, 0x1.921fb54442d18p+0, 0.0, 0x1.be39ebe6f07c3p-4, 0x1.3d6eee8c6626cp-3,
    0x1.b90d7529260a2p-3, 0x1.362773707ebccp-2, 0x1.a64eec3cc23fdp-2, 0x1.1b1dc87904285p-1,
    0x1.6dc44551553afp-1, 0x1.c5277a4a086a2p-1, 0x1.0aefd22e6aa37p+0,
    0x1.b488828b0522fp-54, 0x1.2419a87f2a458p-55, 0x1.f82bba194dd5dp-54, -0x1.cf75b1715e1b3p-54,
    -0x1.bfda44f3537b8p-54, 0x1.1a62633145c07p-54, 0.0, 0x1.f7b8f29a05987p-58,
    0x1.61a3b0ce9281bp-57, 0x1.17b10d2e0e5abp-61, -0x1.963a544b672d8p-57, -0x1.24dec1b50b7ffp-56,
    -0x1.21e8c8aef8f29p-57, -0x1.bf8863573828ep-58, -0x1.905d9da5a8e82p-56, -0x1.4f5e6fbc4144cp-54,
};

FC_FN uint64_t fc_arctan_place(double x) {
    double a = fc_cap(fc_abs(x), 15.0);
    return fc_bits(a < 0.0625 ? 0.0625 : a) >> 51;
}

FC_FN double fc_arctan_with(double x, double p, double q, double base, double tail) {
    double a = fc_cap(fc_abs(x), 0x1p60);
    double n = fc_fma(a, p, -q), d = fc_fma(a, q, p), over = fc_fma(a, q, p - d);
    double r = 1.0 / d, t = n * r, lo = r * fc_fma(-t, over, fc_fma(-t, d, n)), z = t * t;
    double c = fc_fma(z, fc_fma(z * z, fc_fma(z, 0x1.31d42f16dcc28p-4, -0x1.743d5e186aa4dp-4),
        fc_fma(z, 0x1.c71c3c20dfcfp-4, -0x1.2492490da453dp-3)), 0x1.99999999909bep-3);
    fc_dd y = fc_fast_sum(base, t);
    y.lo += fc_fma(z * t, fc_fma(z, c, -0x1.555555555554cp-2), lo + tail);
    return __builtin_copysign(y.hi + y.lo, x);
}

FC_FN double fc_arctan_f64(double x) {
    uint64_t i = fc_arctan_place(x) & 15;
    return fc_arctan_with(x, fc_arctan_rows[i], fc_arctan_rows[i + 16], fc_arctan_rows[i + 32],
                          fc_arctan_rows[i + 48]);
}

FC_FN double fc_asin_poly(double z) {   /* (asin(s) - s) / s^3 at z = s*s <= 1/4 */
    return fc_fma(z, fc_by_pairs12(z, 0x1.333333332e082p-4, 0x1.6db6db721a572p-5,
        0x1.f1c71a91fca8cp-6, 0x1.6e8bdf343cc85p-6, 0x1.1c49ea66b0dc8p-6, 0x1.ca201e69986edp-7,
        0x1.7580d4e155442p-7, 0x1.61575bee27249p-7, 0x1.e459a90a6279ep-9, 0x1.641bd4a287ae0p-6,
        -0x1.58b4ce6951936p-6, 0x1.0b81074508e79p-5), 0x1.5555555555577p-3);
}

/* asin(s) for s = |x|, or for s = sqrt((1 - |x|) / 2) where |x| > 1/2 */
FC_FN fc_dd fc_asin_core(double a) {
    int high = a > 0.5;
    double z = high ? fc_fma(-0.5, a, 0.5) : a * a;
    double root = __builtin_sqrt(z), s = high ? root : a;
    double lo = high ? fc_fma(-s, s, z) * fc_nearly_half_over(s) : 0.0;
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

FC_FN double fc_arccos_f64(double x) {   /* pi/2 -+ asin |x|, pi - 2 asin s or 2 asin s */
    double a = fc_abs(x);
    fc_dd y = fc_asin_core(a);
    int high = a > 0.5, left = x < 0.0;
    double times = fc_from_bits(fc_bits(high ? 2.0 : -1.0) ^ (fc_bits(x) & FC_SIGN_BIT));
    double base = high ? (left ? 2.0 * FC_PIO2_HI : 0.0) : FC_PIO2_HI;
    double tail = high ? (left ? 2.0 * FC_PIO2_LO : 0.0) : FC_PIO2_LO;
    fc_dd h = fc_fast_sum(base, times * y.hi);
    return h.hi + (h.lo + fc_fma(times, y.lo, tail));
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

FC_FN double fc_cbrt_f64(double x) {
    double a = fc_abs(x);
    int small = a < 1.0;                               /* away from both ends */
    a *= small ? 0x1p300 : 0x1p-300;
    /* a^(-1/3) within 4 %: the upper half of a's bits over -3 */
    double upper = fc_from_bits(fc_bits(a) >> 32 | 0x4330000000000000u);
    double w = fc_from_bits(fc_bits(fc_fma(upper, -0x1.5555555555555p-2,
        0x1.d5555aa943555p+52)) << 32);
    double e = fc_fma(-a * w, w * w, 1.0);             /* w (1 - e)^(-1/3), to 2^-18 */
    w = fc_fma(w * e, FC_P3(e, 0x1.55510817bc53ap-2, 0x1.c99e312eb661fp-3,
        0x1.6ae83a066dfe7p-3), w);
    e = fc_fma(-a * w, w * w, 1.0);
    w = fc_fma(w * e, 0x1.5555555555555p-2, w);        /* to 2^-36 */
    double ww = w * w, y = a * ww;
    fc_dd y2 = fc_mul(y, y);
    double rest = fc_fma(y2.lo, y, fc_fma(y2.hi, y, -a));
    y = fc_fma(rest * -0x1.5555555555555p-2, ww, y);   /* y - (y^3 - a) / 3y^2 */
    y *= small ? 0x1p-100 : 0x1p100;
    return a > 0.0 && a < __builtin_inf() ? __builtin_copysign(y, x) : x + x;
}
