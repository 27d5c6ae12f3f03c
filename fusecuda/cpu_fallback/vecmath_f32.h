/* The single-precision functions of vecmath.h that compute in double, and those that do so for a
 * few arguments (sin, cos and tan); include that file, not this one.
 *
 * In double the argument and the result convert exactly or with one rounding, subnormals and
 * overflow come out of the final conversion, and no step needs compensation.  The error is then
 * 0.5 ULP plus the 2^-28 or so of the fits. */

/* ---- exponentials ---------------------------------------------------------- */

typedef struct { double p, t; } fc_expo32;   /* e^x = 2^n (1 + p), n in t's low bits */

FC_FN double fc_em1_poly32(double r) {
    return fc_fma(r * r, FC_P6(r, 0x1.0000003a3f74bp-1, 0x1.55555442eba2dp-3,
        0x1.55548d7d6e63cp-5, 0x1.111270c2571b7p-7, 0x1.6d8d4bf2e2433p-10,
        0x1.9f0907964c19bp-13), r);
}

FC_FN fc_expo32 fc_expo32_of(double x) {
    fc_expo32 e;
    e.t = fc_fma(x, 0x1.71547652b82fep+0, FC_MAGIC);
    e.p = fc_em1_poly32(fc_fma(-(e.t - FC_MAGIC), FC_LN2_HI, x));
    return e;
}

FC_FN double fc_exp32(float x) {                       /* |x| < 700 */
    fc_expo32 e = fc_expo32_of(x);
    double s = fc_pow2(fc_bits(e.t));
    return fc_fma(s, e.p, s);
}

/* ---- error functions ----------------------------------------------------------- */

/* e^(-a^2) * Q(t) / (1 + 2a) at t = (a - 3) / (a + 3), for a >= 0 */
FC_FN double fc_erfc_core32(float x) {
    double a = fc_capf(x, 10.5f), t = (a - 3.0) / (a + 3.0);
    fc_expo32 e = fc_expo32_of(-a * a);
    double s = fc_pow2(fc_bits(e.t));
    double q = FC_P13(t, 0x1.40c522d7e4fc4p+0, -0x1.15c084da3f7a3p-3, -0x1.85a15c6edd2e2p-5,
        0x1.09836d039945fp-3, -0x1.e88b78a48fbb2p-4, 0x1.17c969994d772p-4,
        -0x1.8577d22f51164p-6, 0x1.4c17819a64704p-9, 0x1.f0c8557eec3dcp-10,
        -0x1.9dfe10ebfe60cp-11, -0x1.0bec513ade208p-13, 0x1.07109abde002bp-13,
        0x1.1226ee230da9ap-15);
    return fc_fma(s, e.p, s) * q / fc_fma(2.0, a, 1.0);
}

FC_FN float fc_erfc_f32(float x) {
    double y = fc_erfc_core32(__builtin_fabsf(x));
    return (float)(x < 0.0f ? 2.0 - y : y);
}

/* ---- logarithms -------------------------------------------------------------- */

/* log(1 + f) for |f| < 0.42 */
FC_FN double fc_log_poly32(double f) {
    double s = f / (2.0 + f), z = s * s;
    double r = z * FC_P4(z, 0x1.555554fd6a053p-1, 0x1.999a7ae85827dp-2,
        0x1.2438bf6582b2fp-2, 0x1.e2fa2122e5150p-3);
    return fc_fma(s, r, s + s);
}

FC_FN double fc_log1p32(double y) {   /* y > -1 and finite */
    fc_split s = fc_split_normal(1.0 + y);
    double f = s.k == 0.0 ? y : s.f;
    return fc_fma(s.k, FC_LN2_HI, fc_log_poly32(f));
}

FC_FN float fc_logaddexp_f32(float x, float y) {
    float big = x > y ? x : y, d = __builtin_fabsf(x - y);
    double e = fc_exp32(-fc_capf(d, 600.0f));
    float r = (float)((double)big + fc_log1p32(e));
    r = x == y ? (float)((double)x + FC_LN2_HI) : r;
    return x != x || y != y ? x + y : r;
}

/* ---- trigonometric functions --------------------------------------------------- */

/* x * 2/pi - back less the nearest multiple of 1 or 2.  Of the bits of 2/pi those are
 * left out that times x give multiples of 4.  Two windows of 135 bits serve all floats:
 * a piece of 29 bits, whose product with a 24-bit x is exact, and two of 53 bits, whose
 * products only round when added.  The error is below 2^-53 of a quadrant, and
 * relative where the angle is small. */
typedef struct { double r; uint64_t count; } fc_angle32;

FC_FN fc_angle32 fc_reduce32(double ax, double back, double magic) {
    int big = ax >= 0x1p76;
    double a = ax * (big ? 0x1.529fc27000000p-52 : 0x1.45f306d000000p-1);
    double b = big ? 0x1.5f47d4d377037p-82 : 0x1.9391054a7f09dp-30;
    double c = big ? -0x1.3ad4cd8778df8p-137 : 0x1.7d1f534ddc0dbp-84;
    a = a - ((a + 0x1.8p54) - 0x1.8p54) - back;        /* multiples of 4 go */
    double t = fc_fma(ax, b, a) + magic;
    fc_angle32 out = { fc_fma(ax, c, fc_fma(ax, b, a - (t - magic))), fc_bits(t) };
    return out;
}

#define FC_MAGIC_EVEN 0x1.8p53   /* rounds to an even integer, kept halved */

/* sin(|x| - back * pi/2), negated where `flip` has its top bit set.  The angle is taken
 * modulo pi, which a longer polynomial pays for: no cosine, no choice. */
FC_FN float fc_sine32(double ax, double back, uint64_t flip) {
    fc_angle32 a = fc_reduce32(ax, back, FC_MAGIC_EVEN);
    double z = a.r * a.r, zz = z * z;
    double p = fc_fma(fc_fma(-0x1.cbb50c3659f84p-19, z, 0x1.500c31069871ap-13), zz,
        fc_fma(-0x1.32d1026685d4ep-8, z, 0x1.466bbfc465d2dp-4));
    p = fc_fma(p, zz, fc_fma(-0x1.4abbce51e044ep-1, z, FC_PIO2_HI)) * a.r;
    return (float)fc_from_bits(fc_bits(p) ^ (a.count << 63) ^ flip);
}

FC_FN float fc_sin_far_f32(float x) {   /* the reduction makes NaN of infinity */
    double w = x;
    return fc_sine32(fc_abs(w), 0.0, fc_bits(w) & FC_SIGN_BIT);
}

FC_FN float fc_cos_far_f32(float x) {
    return fc_sine32(__builtin_fabsf(x), 1.0, FC_SIGN_BIT);
}

/* In float arithmetic, as the doubles' in vecmath_trig_f64.h. */
typedef struct { float y; uint32_t far; } fc_attempt_f32;

FC_FN fc_attempt_f32 fc_near_sine_f(float ax, uint32_t turn, uint32_t flip) {
    float t = fc_fmaf(ax, 0x1.45f306p-1f, 0x1.8p23f), n = t - 0x1.8p23f;
    float w = fc_fmaf(-n, 0x1.921fb6p+0f, ax), r = fc_fmaf(n, 0x1.777a5cp-25f, w);
    float tail = fc_fmaf(n, 0x1.777a5cp-25f, w - r), v = fc_felt_f(r), z = v * v;
    float h = 1.0f - 0.5f * z;
    float s = fc_fmaf(r * z, FC_Q3(z, -0x1.555546p-3f, 0x1.11077ep-7f, -0x1.9956acp-13f), tail);
    float c = FC_Q3(z, 0x1.55554ap-5f, -0x1.6c0c16p-10f, 0x1.99df0cp-16f);
    c = fc_fmaf(z * z, c, fc_fmaf(-r, tail, (1.0f - h) - 0.5f * z));
    uint32_t q = fc_bits32(t) + turn;
    float y = (q & 1 ? h : r) + (q & 1 ? c : s);
    fc_attempt_f32 out = { fc_from_bits32(fc_bits32(y) ^ ((q & 2) << 30) ^ flip),
        -(uint32_t)((ax >= 0x1p12f) | ((__builtin_fabsf(r) < 0x1p-12f) & (ax > 0.5f))) };
    return out;
}

FC_FN fc_attempt_f32 fc_sin_near_f32(float x) {
    return fc_near_sine_f(__builtin_fabsf(x), 0, fc_bits32(x) & 0x80000000u);
}

FC_FN fc_attempt_f32 fc_cos_near_f32(float x) {
    return fc_near_sine_f(__builtin_fabsf(x), 1, 0);
}

FC_FN float fc_sin_f32(float x) {
    fc_attempt_f32 s = fc_sin_near_f32(x);
    return FC_SELDOM(s.far, fc_sin_far_f32, x, s.y);
}

FC_FN float fc_cos_f32(float x) {
    fc_attempt_f32 s = fc_cos_near_f32(x);
    return FC_SELDOM(s.far, fc_cos_far_f32, x, s.y);
}

/* tan x, or for odd quarters -1 / tan, whose divisor is in two words */
FC_FN fc_attempt_f32 fc_tan_near_f32(float x) {
    float ax = __builtin_fabsf(x);
    float t = fc_fmaf(ax, 0x1.45f306p-1f, 0x1.8p23f), n = t - 0x1.8p23f;
    float w = fc_fmaf(-n, 0x1.921fb6p+0f, ax), r = fc_fmaf(n, 0x1.777a5cp-25f, w);
    float tail = fc_fmaf(n, 0x1.777a5cp-25f, w - r), v = fc_felt_f(r), z = v * v;
    float p = FC_Q7(z, 0x1.555562p-2f, 0x1.110d34p-3f, 0x1.bae96cp-5f, 0x1.5c33a6p-6f,
        0x1.655c12p-7f, 0x1.f305e4p-18f, 0x1.214aaep-8f);
    float cube = r * z, lost = fc_fmaf(r, fc_fmaf(v, v, -z), fc_fmaf(r, z, -cube));
    float near = fc_fmaf(cube, p, r), u = fc_felt_f(near);
    float small = fc_fmaf(lost, p, fc_fmaf(u * u, tail, tail));
    float rest = fc_fmaf(cube, p, small), h = r + rest, l = (r - h) + rest;
    float q = -1.0f / h, y = fc_fmaf(q, fc_fmaf(q, l, fc_fmaf(q, h, 1.0f)), q);
    y = fc_bits32(t) & 1 ? y : h;
    fc_attempt_f32 out = { fc_from_bits32(fc_bits32(y) ^ (fc_bits32(x) & 0x80000000u)),
        -(uint32_t)((ax >= 0x1p12f) | ((__builtin_fabsf(r) < 0x1p-12f) & (ax > 0.5f))) };
    return out;
}

FC_FN float fc_tan_far_f32(float x) {
    double w = x;
    fc_angle32 a = fc_reduce32(fc_abs(w), 0.0, FC_MAGIC);
    double r = a.r * FC_PIO2_HI, z = r * r;
    double s = fc_fma(r * z, FC_P4(z, -0x1.5555554c6d56ap-3, 0x1.11110867115e5p-7,
        -0x1.a00f7c803d45fp-13, 0x1.6cd1510b0f283p-19), r);
    double c = fc_fma(z, FC_P4(z, -0x1.ffffffcb6b1aap-2, 0x1.55553c6f9971ep-5,
        -0x1.6c07edc7ec6e6p-10, 0x1.9915c388db8f6p-16), 1.0);
    double y = (a.count & 1 ? c : s) / (a.count & 1 ? s : c);
    return (float)fc_from_bits(fc_bits(y) ^ (a.count << 63) ^ (fc_bits(w) & FC_SIGN_BIT));
}

FC_FN float fc_tan_f32(float x) {
    fc_attempt_f32 s = fc_tan_near_f32(x);
    return FC_SELDOM(s.far, fc_tan_far_f32, x, s.y);
}

/* ---- roots ------------------------------------------------------------------------ */

FC_FN float fc_hypot_f32(float x, float y) {
    double a = __builtin_fabsf(x), b = __builtin_fabsf(y), inf = __builtin_inf();
    double r = __builtin_sqrt(fc_fma(a, a, b * b));
    return (float)(a == inf || b == inf ? inf : r);
}
