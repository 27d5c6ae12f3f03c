/* The single-precision functions of two operands that look up numbers, as vecmath_tables.h has it,
 * for vecmath.h; include that file, not this one. */

/* ---- powers ------------------------------------------------------------------------
 *
 * In double, as only so many digits of a logarithm are left in a power.  The places are those of
 * the logarithms; `by` is a short number, `high` one of whole 2^-16, which is added to k without an
 * error. */

typedef struct { float by, high, low; } fc_pow_piece_f;

FC_TABLE float fc_pow_parts[48] = {
    0x1.6cp+0f, 0x1.5dp+0f, 0x1.4ep+0f, 0x1.41p+0f, 0x1.35p+0f, 0x1.2ap+0f, 0x1.1fp+0f,
    0x1.16p+0f, 0x1.0dp+0f, 0x1p+0f, 0x1p+0f, 0x1.d4p-1f, 0x1.bap-1f, 0x1.a4p-1f, 0x1.9p-1f,
    0x1.7ep-1f, -0x1.03fep-1f, -0x1.c9dp-2f, -0x1.88e8p-2f, -0x1.4e44p-2f, -0x1.15fcp-2f,
    -0x1.c0d8p-3f, -0x1.51b8p-3f, -0x1.e73p-4f, -0x1.24bp-4f, 0.0f, 0.0f, 0x1.098p-3f,
    0x1.b26p-3f, 0x1.249cp-2f, 0x1.6cbp-2f, 0x1.b0b8p-2f, 0x1.5d1a1ap-19f, -0x1.7b6524p-21f,
    -0x1.c72e0cp-18f, 0x1.dfc5c2p-20f, 0x1.98945p-18f, -0x1.b66ecap-18f, -0x1.5c83d2p-18f,
    0x1.3ee806p-20f, -0x1.6df84ep-18f, 0.0f, 0.0f, -0x1.c731ap-19f, 0x1.24beaap-22f,
    0x1.a5627ap-19f, 0x1.ed0cbap-19f, -0x1.80b0bap-18f
};

/* log2 x for a positive normal x times 2^23 to the power -less, to 2^-39 of itself */
FC_FN double fc_pow_log(float x, float less, fc_pow_piece_f p) {
    uint32_t u = fc_bits32(x), power = (u - 0x3f300000u) & 0xff800000u;
    double f = fc_fma((double)fc_from_bits32(u - power), (double)p.by, -1.0);
    float k = fc_fmaf((float)(int32_t)power - less, 0x1p-23f, p.high);
    return fc_fma(f, FC_P7(f, 0x1.71547652ba173p+0, -0x1.715476520130bp-1, 0x1.ec709c7a4fe2dp-2,
        -0x1.71548223214aap-2, 0x1.277f8671c9b0bp-2, -0x1.ecb42bd2f063dp-3,
        0x1.86ce4a4e9bc74p-3), (double)k + (double)p.low);
}

/* 2^x, to 2^-34 of itself; what a float has no room for is 0 or infinity when it becomes one */
FC_FN double fc_pow_exp2(double x) {
    double y = fc_limit(x, 200.0), t = y + FC_MAGIC, r = y - (t - FC_MAGIC);
    y = fc_fma(r, FC_P7(r, 0x1.62e42ff0e1953p-1, 0x1.ebfbe07787badp-3, 0x1.c6b08ac06654dp-5,
        0x1.3b29f39ce1bcap-7, 0x1.5d8a8603c63e4p-10, 0x1.445c844c17c3ap-13,
        0x1.fde5f88058607p-17), 1.0);
    return fc_from_bits(fc_bits(y) + (fc_bits(t) << 52));
}

/* 2^(y log2 |x|), then the sign */
FC_FN float fc_pow_of_f32(float x, float y, fc_pow_piece_f p) {
    float a = __builtin_fabsf(x);
    double b = fc_limit(y, 0x1p200);   /* now 0 * inf is 0 */
    double log = fc_pow_log(fc_lifted_f(a), a < 0x1p-126f ? FC_LIFTED_F : 0.0f, p);
    log = a < __builtin_inff() ? log : (double)a;
    log = a == 0.0f ? -__builtin_inf() : log;
    double r = fc_pow_exp2(b * log);
    /* y - 2 rint(y/2) is 0 for even, +-1 for odd whole numbers */
    double parity = fc_abs(fc_fma(-2.0, __builtin_rint(0.5 * b), b));
    uint64_t odd = -(uint64_t)(parity == 1.0);
    r = fc_from_bits(fc_bits(r) ^ (odd & fc_bits((double)x) & FC_SIGN_BIT));
    double root = __builtin_rint(b) == b ? 0.0 : (double)x;    /* of a negative number: NaN */
    r = root < 0.0 ? (root < -0x1p200 ? r : __builtin_nan("")) : r;
    r = y == 0.0f ? 1.0 : r;
    return (float)(x == 1.0f ? 1.0 : r);
}

FC_FN float fc_pow_f32(float x, float y) {
    uint32_t i = fc_log_place_f32(fc_lifted_f(__builtin_fabsf(x))) & 15;
    fc_pow_piece_f p = { fc_pow_parts[i], fc_pow_parts[16 + i], fc_pow_parts[32 + i] };
    return fc_pow_of_f32(x, y, p);
}

/* ---- angles ------------------------------------------------------------------------
 *
 * The smaller of |x| and |y| over the larger, in two words.  What the angle lies next to is a sum
 * of whole 2^-22, so that it has no error. */

typedef struct { float at, c0, c1, c2, c3, c4, c5; } fc_angle_piece_f;
typedef struct { float low, high, r, t; } fc_ratio_f;

FC_FN fc_ratio_f fc_ratio_of_f(float y, float x) {
    uint32_t a = fc_bits32(y) & 0x7fffffffu, b = fc_bits32(x) & 0x7fffffffu;
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    float r = 1.0f / fc_from_bits32(high);
    fc_ratio_f s = { fc_from_bits32(low), fc_from_bits32(high), r, fc_from_bits32(low) * r };
    return s;
}

FC_FN uint32_t fc_arctan2_place_f32(fc_ratio_f s) {
    return fc_bits32(fc_fmaf(s.t, 0x1.ff8p-1f, 1.0f)) >> 19;
}

FC_TABLE float fc_arctan_pieces[112] = {
    0.0f, 0x1.86497ep-4f, 0x1.41c5f2p-3f, 0x1.c3009ep-3f, 0x1.1f6ee8p-2f, 0x1.60cdcp-2f,
    0x1.9ecb6p-2f, 0x1.ded036p-2f, 0x1.101d7ep-1f, 0x1.306f1cp-1f, 0x1.5088ccp-1f, 0x1.70dc28p-1f,
    0x1.90cd2p-1f, 0x1.b02a68p-1f, 0x1.d10282p-1f, 0x1.eef312p-1f, 0.0f, 0x1.851ccp-4f,
    0x1.3f2ap-3f, 0x1.bbeacp-3f, 0x1.1838ep-2f, 0x1.53c2dp-2f, 0x1.8a1bdp-2f, 0x1.bfe22p-2f,
    0x1.f43bdp-2f, 0x1.12a7f8p-1f, 0x1.29b878p-1f, 0x1.3fa508p-1f, 0x1.540eap-1f, 0x1.66ef28p-1f,
    0x1.798488p-1f, 0x1.89748p-1f, 0x1p+0f, 0x1.fb64aep-1f, 0x1.f3aa62p-1f, 0x1.e851a6p-1f,
    0x1.da9b06p-1f, 0x1.c9ac1ep-1f, 0x1.b7d4b2p-1f, 0x1.a423d6p-1f, 0x1.8f3b2p-1f, 0x1.7a43fcp-1f,
    0x1.65887ep-1f, 0x1.510f46p-1f, 0x1.3d75ep-1f, 0x1.2afc2ep-1f, 0x1.18917cp-1f, 0x1.08aac8p-1f,
    0x1.c09b88p-26f, -0x1.7f4b6p-4f, -0x1.3274e4p-3f, -0x1.9a3f56p-3f, -0x1.edf60ep-3f,
    -0x1.19e7a4p-2f, -0x1.3219cap-2f, -0x1.426a1p-2f, -0x1.4ae554p-2f, -0x1.4c55eep-2f,
    -0x1.4835ccp-2f, -0x1.3fb776p-2f, -0x1.342cfep-2f, -0x1.26bd7ap-2f, -0x1.1745f6p-2f,
    -0x1.0883f2p-2f, -0x1.55565p-2f, -0x1.433ee4p-2f, -0x1.25b8f6p-2f, -0x1.fa45c4p-3f,
    -0x1.9efce6p-3f, -0x1.39ec96p-3f, -0x1.b74cf2p-4f, -0x1.03c778p-4f, -0x1.8b586p-6f,
    0x1.0aff74p-7f, 0x1.12f3cp-5f, 0x1.b23412p-5f, 0x1.11194ap-4f, 0x1.34c864p-4f, 0x1.4b0464p-4f,
    0x1.54713ap-4f, 0x1.4ba954p-13f, 0x1.731e52p-4f, 0x1.1ca72ep-3f, 0x1.6284dep-3f,
    0x1.8709e4p-3f, 0x1.8cdd7cp-3f, 0x1.79960cp-3f, 0x1.532492p-3f, 0x1.20a382p-3f,
    0x1.d555e8p-4f, 0x1.6b0c16p-4f, 0x1.0ae20ep-4f, 0x1.6f6772p-5f, 0x1.ce2cd6p-6f,
    0x1.d79d1cp-7f, 0x1.2b2476p-8f, 0x1.95065p-3f, 0x1.dbab9ap-3f, 0x1.bf73eap-4f, 0x1.2eb192p-3f,
    -0x1.eb9996p-5f, -0x1.9c84f6p-6f, -0x1.4af054p-4f, -0x1.133dd4p-5f, -0x1.21732ap-4f,
    -0x1.4f1892p-4f, -0x1.6dc12cp-5f, -0x1.70a67ap-4f, -0x1.a8e836p-4f, 0x1.4306c8p-5f,
    0x1.d1c81cp-7f, -0x1.587d18p-4f
};

/* Whether nothing over- or underflows on the way. */
FC_FN int fc_is_calm_f(float low, float high) {
    return (fc_bits32(high) - 0x21800000u < 0x3c000000u) & (fc_bits32(low) - 1 >= 0x0d7fffffu);
}

FC_FN float fc_arctan2_near_of_f(float y, float x, fc_ratio_f s, fc_angle_piece_f p) {
    uint32_t steep = -(uint32_t)((fc_bits32(y) & 0x7fffffffu) > (fc_bits32(x) & 0x7fffffffu));
    uint32_t left = -(fc_bits32(x) >> 31), turn = (fc_bits32(x) ^ steep) & 0x80000000u;
    float tail = s.r * fc_fmaf(-s.t, s.high, s.low), d = s.t - p.at;
    float q = d * FC_Q4(d, p.c2, p.c3, p.c4, p.c5);
    float rest = fc_fmaf(d, p.c1, fc_fmaf(q, d, tail * p.c1));
    uint32_t base = (steep & 0x3fc90fdau) | (~steep & left & 0x40490fdbu);
    uint32_t more = (steep & 0x33a22169u) | (~steep & left & 0xb3bbbd2eu);
    float high = fc_from_bits32(base) + fc_from_bits32(fc_bits32(p.c0) ^ turn);
    float low = fc_from_bits32(more) + fc_from_bits32(fc_bits32(rest) ^ turn);
    return __builtin_copysignf(high + low, y);
}

/* Of any pair: infinities become finite pairs of the same angle, 0 and 0 becomes 0 and 1. */
typedef struct { float y, x; } fc_point_f;

FC_FN fc_point_f fc_arctan2_given_f(float y, float x) {
    float inf = __builtin_inff(), a = __builtin_fabsf(y), b = __builtin_fabsf(x);
    float big = a > b ? a : b, small = a > b ? b : a, up = big >= 0x1p60f ? 0x1p-4f : 0x1p60f;
    up = fc_is_calm_f(small, big) ? 1.0f : up;
    float n = a == inf ? 1.0f : (b == inf ? 0.0f : a * up);
    float d = b == inf ? 1.0f : (a == inf ? 0.0f : b * up);
    fc_point_f s = { n, __builtin_copysignf(big == 0.0f ? 1.0f : d, x) };
    return s;
}

FC_FN float fc_arctan2_of_f32(float y, float x, fc_point_f g, fc_angle_piece_f p) {
    float angle = fc_arctan2_near_of_f(g.y, g.x, fc_ratio_of_f(g.y, g.x), p);
    return __builtin_copysignf(x != x || y != y ? x + y : angle, y);
}

FC_FN float fc_arctan2_f32(float y, float x) {
    fc_point_f g = fc_arctan2_given_f(y, x);
    uint32_t i = fc_arctan2_place_f32(fc_ratio_of_f(g.y, g.x)) & 15;
    fc_angle_piece_f p = { fc_arctan_pieces[i], fc_arctan_pieces[16 + i],
        fc_arctan_pieces[32 + i], fc_arctan_pieces[48 + i], fc_arctan_pieces[64 + i],
        fc_arctan_pieces[80 + i], fc_arctan_pieces[96 + i] };
    return fc_arctan2_of_f32(y, x, g, p);
}
