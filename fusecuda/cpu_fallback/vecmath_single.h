/* The functions that float arithmetic is good enough for, for vecmath.h; include that file,
 * not this one.  Twice as many floats as doubles fit a vector, and none are converted.  The
 * fits are made for these intervals, and tests go over every float there is. */
#ifndef FUSECUDA_VECMATH_SINGLE_H
#define FUSECUDA_VECMATH_SINGLE_H

FC_FN float fc_capf(float x, float bound) { return x > bound ? bound : x; }
FC_FN float fc_limitf(float x, float bound) {
    return __builtin_copysignf(fc_capf(__builtin_fabsf(x), bound), x);
}

#define FC_LN2_HI_F 0x1.62e43p-1f
#define FC_LN2_OVER_F 0x1.05c61p-29f    /* by so much is it too large */

/* Adding it to a small float leaves the nearest whole number, plus 254, in the low bits: the
 * exponents of two factors, so that subnormal and overflowing results round once. */
#define FC_MAGIC_F 12583166.0f
/* The same for one exponent. */
#define FC_MAGIC_ONE_F 12583039.0f

FC_FN float fc_scale_one_f(float t) { return fc_from_bits32(fc_bits32(t) << 23); }
FC_FN float fc_scale_low_f(float t) { return fc_from_bits32(fc_bits32(t) >> 1 << 23); }
FC_FN float fc_scale_high_f(float t) {
    uint32_t n = fc_bits32(t);
    return fc_from_bits32((n - (n >> 1)) << 23);
}
FC_FN float fc_scale_f(float y, float t) { return y * fc_scale_low_f(t) * fc_scale_high_f(t); }

/* ---- exponentials ---------------------------------------------------------- */

FC_FN float fc_reduced_f(float x, float n) {           /* x - n ln 2 */
    return fc_fmaf(n, FC_LN2_OVER_F, fc_fmaf(-n, FC_LN2_HI_F, x));
}

FC_FN float fc_em1_rest_f(float r) {                   /* (e^r - 1 - r) / r^2 */
    return FC_Q5(r, 0x1.0p-1f, 0x1.555488p-3f, 0x1.5554ep-5f, 0x1.1240aep-7f, 0x1.6d56f2p-10f);
}

FC_FN float fc_em1_f(float r) { return fc_fmaf(r * r, fc_em1_rest_f(r), r); }

FC_FN float fc_exp2_poly_f(float r) {                  /* 2^r for |r| <= 1/2 */
    return fc_fmaf(r, FC_Q6(r, 0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af6ep-5f, 0x1.3b2a36p-7f,
        0x1.5f11b4p-10f, 0x1.443924p-13f), 1.0f);
}

FC_FN float fc_exp_f32(float x) {
    float c = fc_limitf(x, 104.0f), t = fc_fmaf(c, 0x1.715476p+0f, FC_MAGIC_F);
    float r = fc_reduced_f(c, t - FC_MAGIC_F);
    return fc_scale_f(fc_fmaf(r, fc_fmaf(r, fc_em1_rest_f(r), 1.0f), 1.0f), t);
}

FC_FN float fc_exp2_f32(float x) {
    float c = fc_limitf(x, 200.0f), t = c + FC_MAGIC_F;
    return fc_scale_f(fc_exp2_poly_f(c - (t - FC_MAGIC_F)), t);
}

/* 2^n ((1 - 2^-n) + (e^r - 1)), all in two words; past n = 40 the 2^-n is lost. */
FC_FN float fc_expm1_f32(float x) {
    float c = fc_limitf(x, 104.0f), t = fc_fmaf(c, 0x1.715476p+0f, FC_MAGIC_F);
    float n = t - FC_MAGIC_F, whole = fc_fmaf(-n, FC_LN2_HI_F, c);
    float r = fc_fmaf(n, FC_LN2_OVER_F, whole), tail = fc_fmaf(n, FC_LN2_OVER_F, whole - r);
    float less = fc_scale_one_f(FC_MAGIC_ONE_F - fc_capf(n, 40.0f)), one = 1.0f - less;
    float hi = one + r, lo = ((one - hi) + r) + ((1.0f - one) - less);
    float q = FC_Q6(r, 0x1.0p-1f, 0x1.555556p-3f, 0x1.5554e4p-5f, 0x1.110ffep-7f,
        0x1.6d5284p-10f, 0x1.a25028p-13f);
    float y = hi + (lo + fc_fmaf(r * r, q, tail));
    return __builtin_copysignf(x < -30.0f ? 1.0f : fc_scale_f(y, t), x);
}

FC_FN float fc_tanh_f32(float x) {      /* a polynomial to 1; above, 1 - 2 / (e^2a + 1) */
    float a = __builtin_fabsf(x), b = 2.0f * fc_capf(a, 10.0f), z = a * a;
    float t = fc_fmaf(b, 0x1.715476p+0f, FC_MAGIC_ONE_F), s = fc_scale_one_f(t);
    float p = fc_em1_f(fc_reduced_f(b, t - FC_MAGIC_ONE_F));
    float far = 1.0f - 2.0f / fc_fmaf(s, p, 1.0f + s);
    float near = fc_fmaf(a * z, FC_Q7(z, -0x1.55553cp-2f, 0x1.110be4p-3f, -0x1.b9623ep-5f,
        0x1.6009dap-6f, -0x1.0460e4p-7f, 0x1.2da3ccp-9f, -0x1.77d7c6p-12f), a);
    return __builtin_copysignf(a < 1.0f ? near : far, x);
}

FC_FN float fc_expit_f32(float x) {     /* e^-|x| or 1, over 1 + e^-|x| in two words */
    float c = -fc_capf(__builtin_fabsf(x), 104.0f), t = fc_fmaf(c, 0x1.715476p+0f, FC_MAGIC_F);
    float v = fc_reduced_f(c, t - FC_MAGIC_F), one = 1.0f + v;
    float more = fc_fmaf(v * v, fc_em1_rest_f(v), (1.0f - one) + v);
    float h = one + more, l = (one - h) + more;
    float low = fc_scale_low_f(t), high = fc_scale_high_f(t), s = low * high;
    float d = fc_fmaf(s, h, 1.0f), rest = fc_fmaf(s, l, fc_fmaf(s, h, 1.0f - d));
    float n = x < 0.0f ? h : 1.0f, r = 1.0f / d, q = n * r;
    q = fc_fmaf(fc_fmaf(-q, d, n) + fc_fmaf(-q, rest, x < 0.0f ? l : 0.0f), r, q);
    return q * (x < 0.0f ? low : 1.0f) * (x < 0.0f ? high : 1.0f);
}

FC_FN float fc_erf_f32(float x) {       /* a polynomial to 1; above, 1 - 2^log2(erfc) */
    float a = __builtin_fabsf(x), b = fc_capf(a, 4.0f), z = a * a;
    float c0 = 0x1.e4afdep-12f, c1 = 0x1.a04c6ap+0f;   /* -log2(erfc) = c0 + b (c1 + g) */
    float g = b * FC_Q5(b, 0x1.d745ecp-1f, 0x1.30f9c6p-3f, -0x1.02b5c8p-5f, 0x1.17e306p-8f,
        -0x1.1bd34ap-12f);
    float t = fc_fmaf(-b, c1 + g, FC_MAGIC_ONE_F);
    float r = fc_fmaf(-b, g, fc_fmaf(-b, c1, FC_MAGIC_ONE_F - t)) - c0;
    float far = fc_fmaf(-fc_exp2_poly_f(r), fc_scale_one_f(t), 1.0f);
    float near = fc_fmaf(a, FC_Q7(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ceap-4f,
        -0x1.b7f7b8p-6f, 0x1.53f9b8p-8f, -0x1.a39b12p-11f, 0x1.486a08p-14f), a);
    return __builtin_copysignf(a < 1.0f ? near : far, x);
}

/* ---- logarithms -------------------------------------------------------------- */

/* x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); x > 0 and finite. */
typedef struct { float k, f; uint32_t kbits; } fc_split_single;

FC_FN fc_split_single fc_split_normal_f(float x) {
    fc_split_single s;
    uint32_t u = fc_bits32(x), e = (u + (0x3f800000u - 0x3f3504f3u)) >> 23;
    s.k = fc_from_bits32(e | 0x4b000000u) - 8388735.0f;
    s.kbits = e - 127;
    s.f = fc_from_bits32(u - (s.kbits << 23)) - 1.0f;
    return s;
}

FC_FN fc_split_single fc_split_f(float x) {
    int tiny = x < 0x1p-126f;
    fc_split_single s = fc_split_normal_f(x * (tiny ? 0x1p23f : 1.0f));
    s.k -= tiny ? 23.0f : 0.0f;
    return s;
}

FC_FN float fc_log_ends_f(float x, float r) {
    float bad = x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
    r = x < __builtin_inff() ? r : x;
    return x > 0.0f ? r : bad;
}

#define FC_LN2_TOP_F 0x1.62e4p-1f       /* short, so that k * top is exact */
#define FC_LN2_REST_F 0x1.7f7d1cp-20f

/* k ln 2 + log(1 + f), where `small` holds what k * top leaves out */
FC_FN float fc_log_sum_f(float k, float f, float small) {
    float z = f * f, top = k * FC_LN2_TOP_F, hi = top + f, lo = (top - hi) + f;
    float p = FC_Q9(f, 0x1.555546p-2f, -0x1.fffffp-3f, 0x1.99a54cp-3f, -0x1.55626cp-3f,
        0x1.233196p-3f, -0x1.fb529p-4f, 0x1.e67354p-4f, -0x1.e29b86p-4f, 0x1.1a9452p-4f);
    float y = fc_fmaf(f * z, p, fc_fmaf(-0.5f, z, small));
    return hi + (lo + y);
}

FC_FN float fc_log_f32(float x) {
    fc_split_single s = fc_split_f(x);
    return fc_log_ends_f(x, fc_log_sum_f(s.k, s.f, s.k * FC_LN2_REST_F));
}

FC_FN float fc_log2_f32(float x) {
    fc_split_single s = fc_split_f(x);
    float p = fc_fmaf(s.f, FC_Q9(s.f, -0x1.715472p-1f, 0x1.ec7086p-2f, -0x1.7159c4p-2f,
        0x1.2781e6p-2f, -0x1.eadd92p-3f, 0x1.a28ab8p-3f, -0x1.85dcdp-3f, 0x1.7fc782p-3f,
        -0x1.cf0ad8p-4f), 0x1.4ae0cp-26f);
    return fc_log_ends_f(x, s.k + fc_fmaf(s.f, 0x1.715476p+0f, s.f * p));
}

FC_FN float fc_log1p_f32(float x) {     /* log(u + lost), u = 1 + x */
    int big = x >= 0x1p60f;
    float v = big ? 0.0f : x, sum = 1.0f + v, b = sum - 1.0f, lost = (1.0f - (sum - b)) + (v - b);
    float u = big ? 0.5f * x : sum;
    fc_split_single s = fc_split_normal_f(u);
    float c = lost * fc_from_bits32((127 - s.kbits) << 23), k = s.k + (big ? 1.0f : 0.0f);
    float f = s.f + c, rest = (s.f - f) + c;
    float y = fc_log_sum_f(k, f, fc_fmaf(k, FC_LN2_REST_F, fc_fmaf(-f, rest, rest)));
    return __builtin_copysignf(fc_log_ends_f(u, y), x);
}

#endif
