/* The functions that float arithmetic is good enough for, for vecmath.h; include that file,
 * not this one.  Twice as many floats as doubles fit a vector, and none are converted.  The
 * fits are made for these intervals, and tests go over every float there is. */

FC_FN float fc_capf(float x, float bound) { return x > bound ? bound : x; }

#define FC_LN2_HI_F 0x1.62e43p-1f
#define FC_LN2_OVER_F 0x1.05c61p-29f    /* by so much is it too large */

/* Adding it to a small float leaves the nearest whole number, plus 254, in the low bits: the
 * exponents of two factors, so that subnormal and overflowing results round once. */
#define FC_MAGIC_F 12583166.0f
/* The same for one exponent, and the number alone. */
#define FC_MAGIC_ONE_F 12583039.0f
#define FC_MAGIC_NONE_F 0x1.8p23f

FC_FN float fc_scale_one_f(float t) { return fc_from_bits32(fc_bits32(t) << 23); }
FC_FN float fc_scale_low_f(float t) { return fc_from_bits32(fc_bits32(t) >> 1 << 23); }
FC_FN float fc_scale_high_f(float t) {
    uint32_t n = fc_bits32(t);
    return fc_from_bits32((n - (n >> 1)) << 23);
}

/* ---- exponentials ---------------------------------------------------------- */

FC_FN float fc_reduced_f(float x, float n) {           /* x - n ln 2 */
    return fc_fmaf(n, FC_LN2_OVER_F, fc_fmaf(-n, FC_LN2_HI_F, x));
}

FC_FN float fc_em1_rest_f(float r) {                   /* (e^r - 1 - r) / r^2 */
    return FC_Q5(r, 0x1.0p-1f, 0x1.555488p-3f, 0x1.5554ep-5f, 0x1.1240aep-7f, 0x1.6d56f2p-10f);
}

FC_FN float fc_exp2_poly_f(float r) {                  /* 2^r for |r| <= 1/2 */
    return fc_fmaf(r, FC_Q6(r, 0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af6ep-5f, 0x1.3b2a36p-7f,
        0x1.5f11b4p-10f, 0x1.443924p-13f), 1.0f);
}

/* As the doubles' in vecmath_f64.h, for y 2^n below 2^128. */
FC_FN float fc_power_times_f(float y, float t) {
    uint32_t u = fc_bits32(y) + (fc_bits32(t) << 23);
    float low = fc_from_bits32(u + (126u << 23)) + 1.0f, usual = fc_from_bits32(u);
    return usual >= 0x1p-126f ? usual : fc_from_bits32(fc_bits32(low) - 0x3f800000u);
}

FC_FN float fc_overflowing_f(float x, float most, float y) {
    return x <= most ? y : x + __builtin_inff();
}

FC_FN float fc_exp_f32(float x) {
    float c = x < -104.0f ? -104.0f : x, t = fc_fmaf(c, 0x1.715476p+0f, FC_MAGIC_NONE_F);
    float r = fc_reduced_f(c, t - FC_MAGIC_NONE_F);
    float y = fc_fmaf(r, fc_fmaf(r, fc_em1_rest_f(r), 1.0f), 1.0f);
    return fc_overflowing_f(x, 0x1.62e42ep+6f, fc_power_times_f(y, t));
}

FC_FN float fc_exp2_f32(float x) {
    float c = x < -150.0f ? -150.0f : x, t = c + FC_MAGIC_NONE_F;
    float y = fc_exp2_poly_f(c - (t - FC_MAGIC_NONE_F));
    return fc_overflowing_f(x, 0x1.fffffep+6f, fc_power_times_f(y, t));
}

/* s ((1 - 1/s) + (e^r - 1)) with s = 2^n, the sum in two words; of half of s, which is finite */
FC_FN float fc_expm1_f32(float x) {
    float c = x > 89.0f ? 89.0f : x;
    c = c < -87.0f ? -87.0f : c;
    float t = fc_fmaf(c, 0x1.715476p+0f, FC_MAGIC_ONE_F - 1.0f), n = t - (FC_MAGIC_ONE_F - 1.0f);
    float whole = fc_fmaf(-n, FC_LN2_HI_F, c), r = fc_fmaf(n, FC_LN2_OVER_F, whole);
    float tail = fc_fmaf(n, FC_LN2_OVER_F, whole - r);
    float s = fc_scale_one_f(t), one = s - 0.5f, u = s * r, hi = one + u;
    float lo = ((one - hi) + u) + ((s - one) - 0.5f);
    float q = FC_Q6(r, 0x1.0p-1f, 0x1.555556p-3f, 0x1.5554e4p-5f, 0x1.110ffep-7f,
        0x1.6d5284p-10f, 0x1.a25028p-13f);
    int tiny = fc_bits32(x) << 1 < 97u << 24;    /* as in fc_felt_f */
    float v = fc_from_bits32(fc_bits32(r) & (uint32_t)(tiny - 1));
    float y = hi + fc_fmaf(s, fc_fmaf(v * v, q, tail), lo);
    return tiny ? x : y + y;
}

FC_FN float fc_expit_f32(float x) {     /* e^-|x| or 1, over 1 + e^-|x| in two words */
    float c = -fc_capf(__builtin_fabsf(x), 104.0f), t = fc_fmaf(c, 0x1.715476p+0f, FC_MAGIC_F);
    float r0 = fc_reduced_f(c, t - FC_MAGIC_F), v = fc_felt_f(r0), one = 1.0f + r0;
    float more = fc_fmaf(v * v, fc_em1_rest_f(r0), (1.0f - one) + r0);
    float h = one + more, l = (one - h) + more;
    float low = fc_scale_low_f(t), high = fc_scale_high_f(t), s = low * high;
    float d = fc_fmaf(s, h, 1.0f), rest = fc_fmaf(s, l, fc_fmaf(s, h, 1.0f - d));
    float n = x < 0.0f ? h : 1.0f, r = 1.0f / d, q = n * r;
    q = fc_fmaf(fc_fmaf(-q, d, n) + fc_fmaf(-q, rest, x < 0.0f ? l : 0.0f), r, q);
    return q * (x < 0.0f ? low : 1.0f) * (x < 0.0f ? high : 1.0f);
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

FC_FN float fc_log_ends_f(float x, float r) {
    float bad = x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
    r = x < __builtin_inff() ? r : x;
    return x > 0.0f ? r : bad;
}

#define FC_LN2_TOP_F 0x1.62e4p-1f       /* short, so that k * top is exact */
#define FC_LN2_REST_F 0x1.7f7d1cp-20f

/* k ln 2 + log(1 + f), where `small` holds what k * top leaves out */
FC_FN float fc_log_sum_f(float k, float f, float small) {
    float v = fc_felt_f(f), z = v * v, top = k * FC_LN2_TOP_F, hi = top + f, lo = (top - hi) + f;
    float p = FC_Q9(f, 0x1.555546p-2f, -0x1.fffffp-3f, 0x1.99a54cp-3f, -0x1.55626cp-3f,
        0x1.233196p-3f, -0x1.fb529p-4f, 0x1.e67354p-4f, -0x1.e29b86p-4f, 0x1.1a9452p-4f);
    float y = fc_fmaf(f * z, p, fc_fmaf(-0.5f, z, small));
    return hi + (lo + y);
}

typedef struct { float hi, lo; } fc_pair_single;

FC_FN fc_pair_single fc_sum_f(float a, float b) {
    float hi = a + b, bb = hi - a;
    fc_pair_single s = { hi, (a - (hi - bb)) + (b - bb) };
    return s;
}

/* log(u + lost) + extra ln 2 for a normal u and a small rest */
FC_FN float fc_log_pair_f(float u, float lost, float extra) {
    fc_split_single s = fc_split_normal_f(u);
    float c = lost * fc_from_bits32((127 - s.kbits) << 23), k = s.k + extra;
    float f = s.f + c, rest = (s.f - f) + c;
    return fc_log_sum_f(k, f, fc_fmaf(k, FC_LN2_REST_F, fc_fmaf(-f, rest, rest)));
}

/* ---- inverse hyperbolics ------------------------------------------------------- */

FC_FN float fc_arcsinh_f32(float x) {   /* log1p of a + a^2 / (1 + sqrt(a^2 + 1)) */
    float a = __builtin_fabsf(x);
    int big = a > 0x1p14f;
    float b = big ? 1.0f : a, r = 1.0f / (1.0f + __builtin_sqrtf(fc_fmaf(b, b, 1.0f)));
    float v = fc_felt_f(b), w = v * v * r;
    float off = fc_fmaf(-w, w, fc_fmaf(v, v, -2.0f * w));   /* of w (w + 2) = b^2 */
    float y = b + w, tail = fc_fmaf(off, r, (b - y) + w);
    fc_pair_single u = fc_sum_f(1.0f, y);
    y = fc_log_pair_f(big ? 0.5f * a : u.hi, big ? 0.0f : u.lo + tail, big ? 2.0f : 0.0f);
    return __builtin_copysignf(a < __builtin_inff() ? y : a, x);
}

FC_FN float fc_arccosh_f32(float x) {   /* log1p of t + sqrt(t^2 + 2t) with t = x - 1 */
    int big = x > 0x1p14f;
    float t = (big ? 2.0f : x) - 1.0f, p = t * t;
    fc_pair_single w = fc_sum_f(2.0f * t, p);
    float s = __builtin_sqrtf(w.hi), rest = fc_fmaf(-s, s, w.hi) + (w.lo + fc_fmaf(t, t, -p));
    float tail = rest / (s > 0.0f ? 2.0f * s : 1.0f);
    fc_pair_single y = fc_sum_f(s, t), u = fc_sum_f(1.0f, y.hi);
    float lost = u.lo + (y.lo + tail);
    float r = fc_log_pair_f(big ? 0.5f * x : u.hi, big ? 0.0f : lost, big ? 2.0f : 0.0f);
    r = x < __builtin_inff() ? r : x;
    return x < 1.0f ? __builtin_nanf("") : r;
}

FC_FN float fc_arctanh_f32(float x) {   /* log1p of 2a / (1 - a) in two words */
    float a = __builtin_fabsf(x), b = a < 1.0f ? a : 0.0f;
    float d = 1.0f - b, lost = (1.0f - d) - fc_felt_f(b), r = 1.0f / d, q = 2.0f * b * r;
    float tail = r * fc_fmaf(-q, lost, fc_fmaf(-q, d, 2.0f * b));
    fc_pair_single u = fc_sum_f(1.0f, q);
    float y = 0.5f * fc_log_pair_f(u.hi, u.lo + tail, 0.0f);
    y = a < 1.0f ? y : (a == 1.0f ? __builtin_inff() : __builtin_nanf(""));
    return __builtin_copysignf(y, x);
}

/* ---- hyperbolics --------------------------------------------------------------- */

/* e^x = 2^n (C + S) and e^-x = 2^-n (C - S), C being 1 + `even` and S `r` + `odd` what cosh and
 * sinh are of a small r.  The halves of 2^n and 2^-n have the sum and difference `up` and `down`,
 * each a quarter of what it stands for, and finite. */
typedef struct { float a, b, up, down, r, even, odd; } fc_halves_f;

FC_FN fc_halves_f fc_halves_of_f(float x) {            /* 0 <= x < 89.7 */
    float t = fc_fmaf(x, 0x1.715476p+0f, FC_MAGIC_ONE_F - 3.0f), n = t - (FC_MAGIC_ONE_F - 3.0f);
    float whole = fc_fmaf(-n, FC_LN2_HI_F, x), r = fc_fmaf(n, FC_LN2_OVER_F, whole);
    float tail = fc_fmaf(n, FC_LN2_OVER_F, whole - r), v = fc_felt_f(r), z = v * v;
    uint32_t k = fc_bits32(t) << 23, most = k > 248u << 23 ? k : 248u << 23;
    float a = fc_from_bits32(k), b = fc_from_bits32(most - k);
    fc_halves_f h = { a, b, a + b, a - b, r,
        z * FC_Q3(z, 0x1p-1f, 0x1.5554e4p-5f, 0x1.6d51bep-10f),
        fc_fmaf(v * z, FC_Q2(z, 0x1.55548cp-3f, 0x1.123d64p-7f), tail) };
    return h;
}

FC_FN float fc_sinh_f32(float x) {      /* a polynomial to 1 */
    float a = __builtin_fabsf(x), v = fc_felt_f(a), z = v * v;
    fc_halves_f h = fc_halves_of_f(fc_capf(a, 89.7f));
    float small = fc_fmaf(h.up, h.odd, fc_fmaf(h.down, h.even, (h.a - h.down) - h.b));
    float rest = fc_fmaf(h.a, h.r, fc_fmaf(h.b, h.r, small));
    float near = fc_fmaf(a * z, FC_Q4(z, 0x1.555556p-3f, 0x1.1110ecp-7f, 0x1.a01accp-13f,
        0x1.76adcp-19f), a);
    return __builtin_copysignf(a < 1.0f ? near : 4.0f * (h.down + rest), x);
}

FC_FN float fc_cosh_f32(float x) {
    fc_halves_f h = fc_halves_of_f(fc_capf(__builtin_fabsf(x), 89.7f));
    float small = fc_fmaf(h.down, h.odd, fc_fmaf(h.up, h.even, (h.a - h.up) + h.b));
    float rest = fc_fmaf(h.a, h.r, fc_fmaf(-h.b, h.r, small));
    return 4.0f * (h.up + rest);
}

/* ---- inverse trigonometric functions ---------------------------------------------- */

/* base + rest + atan(t), for t between -0.6 and 0.6 */
FC_FN float fc_atan_sum_f(float t, float base, float rest) {
    float v = fc_felt_f(t), z = v * v;
    float p = FC_Q6(z, -0x1.555538p-2f, 0x1.998ce6p-3f, -0x1.23a49cp-3f, 0x1.b6c3dap-4f,
        -0x1.283faap-4f, 0x1.e3af2p-6f);
    return base + (t + fc_fmaf(t * z, p, rest));
}

/* By so much of them are pi's float and its parts too large. */
#define FC_PI_OVER_F 0x1.de12cap-26f

/* |x| from 0, (|x| - 1) / (|x| + 1) from pi/4, or -1 / |x| from pi/2 */
FC_FN float fc_arctan_f32(float x) {
    float a = __builtin_fabsf(x);
    int low = a <= 0.6f, high = a > 2.0f;
    float n = low ? a : (high ? -1.0f : a - 1.0f), d = low ? 1.0f : (high ? a : a + 1.0f);
    float base = low ? 0.0f : (high ? 0x1.921fb6p+0f : 0x1.921fb6p-1f);
    return __builtin_copysignf(fc_atan_sum_f(n / d, base, -FC_PI_OVER_F * base), x);
}

/* asin(s) - s, for 0 <= s <= 1/2 and z = s^2 */
FC_FN float fc_asin_rest_f(float s, float z) {
    return s * z * FC_Q5(z, 0x1.5555c8p-3f, 0x1.330224p-4f, 0x1.74772ep-5f, 0x1.8c719cp-6f,
        0x1.592e74p-5f);
}

FC_FN float fc_arcsin_f32(float x) {    /* above 1/2, pi/2 less twice that of sqrt((1 - a) / 2) */
    float a = __builtin_fabsf(x), half = 0.5f * (1.0f - a);
    int high = a > 0.5f;
    float s = high ? __builtin_sqrtf(high ? half : 0.0f) : a, v = fc_felt_f(s);
    float z = high ? half : v * v;
    /* what the root lost, over nearly 2s, is of no account below 1/2 and where s is small */
    float tail = fc_fmaf(-v, v, z) * (high ? fc_fmaf(s, -0x1.0fp+2f, 0x1.85p+1f) : 0.0f);
    float rest = fc_asin_rest_f(s, z) + tail, h = 0x1.921fb6p+0f - 2.0f * s;
    float lost = (0x1.921fb6p+0f - h) - 2.0f * s;
    float far = h + fc_fmaf(-2.0f, rest, lost - 0x1.777a5cp-25f);
    return __builtin_copysignf(high ? far : s + rest, x);
}

FC_FN float fc_arccos_f32(float x) {
    float a = __builtin_fabsf(x), half = 0.5f * (1.0f - a);
    int high = a > 0.5f, left = x < 0.0f;
    float s = high ? __builtin_sqrtf(high ? half : 0.0f) : a, v = fc_felt_f(s);
    float z = high ? half : v * v;
    float tail = fc_fmaf(-v, v, z) * (high ? fc_fmaf(s, -0x1.0fp+2f, 0x1.85p+1f) : 0.0f);
    float rest = fc_asin_rest_f(s, z) + tail;
    /* 0 + 2 asin, pi - 2 asin, or pi/2 -+ asin */
    float base = high ? (left ? 0x1.921fb6p+1f : 0.0f) : 0x1.921fb6p+0f;
    float times = (high ? 2.0f : 1.0f) * (high != left ? 1.0f : -1.0f), p = times * s;
    float h = base + p, lost = (base - h) + p;
    return h + fc_fmaf(times, rest, fc_fmaf(-base, FC_PI_OVER_F, lost));
}

/* ---- roots ----------------------------------------------------------------------- */

FC_FN float fc_cbrt_f32(float x) {      /* z w^2 with w = z^(-1/3), and one step of Newton's */
    float a = __builtin_fabsf(x);
    int tiny = a < 0x1p-126f;
    uint32_t u = fc_bits32(a * (tiny ? 0x1p24f : 1.0f));
    float m = fc_from_bits32((u & 0x7fffffu) | 0x3f800000u);
    float k = fc_from_bits32((u >> 23) | 0x4b000000u) - 8388735.0f;
    float t = fc_fmaf(k, 0x1.555556p-2f, FC_MAGIC_ONE_F);   /* k = 3j + rem */
    float rem = fc_fmaf(-3.0f, t - FC_MAGIC_ONE_F, k);
    float w = FC_Q6(m, 0x1.c74242p+0f, -0x1.8e778ep+0f, 0x1.3b07a8p+0f, -0x1.2d7e64p-1f,
        0x1.396aaap-3f, -0x1.103bacp-6f);
    float z = m * (rem < 0.0f ? 0.5f : (rem > 0.0f ? 2.0f : 1.0f));
    w *= rem < 0.0f ? 0x1.428a3p+0f : (rem > 0.0f ? 0x1.965feap-1f : 1.0f);
    float ww = w * w, y = z * ww, yy = y * y;
    float rest = fc_fmaf(yy, y, -z) + fc_fmaf(y, y, -yy) * y;
    y = fc_fmaf(-rest * 0x1.555556p-2f, ww, y) * fc_scale_one_f(t) * (tiny ? 0x1p-8f : 1.0f);
    return a > 0.0f && a < __builtin_inff() ? __builtin_copysignf(y, x) : x + x;
}
