/* The single-precision functions that look up numbers by where their argument lies, for vecmath.h;
 * include that file, not this one.
 *
 * A row of a table has a number for each of 16 places: a vector of 512 bits holds one, and its
 * lanes are picked in one instruction (vecmath_lookups.h); of 256 bits, two.  A number that the
 * others are corrections of is at a place where it is nearly a float, so that it has no second. */

#if defined(__GNUC__)
#define FC_TABLE static const __attribute__((aligned(64)))
#else
#define FC_TABLE static const
#endif

/* ---- polynomials, each about a number of its own ------------------------------- */

typedef struct { float at, c0, c1, c2, c3, c4, c5, c6; } fc_piece_f;

FC_FN float fc_piece_value_f(float d, fc_piece_f p) {
    return FC_Q7(d, p.c0, p.c1, p.c2, p.c3, p.c4, p.c5, p.c6);
}

FC_TABLE float fc_tanh_pieces[128] = {
    0x1.8002aap+0f, 0x1.fffaa4p+0f, 0x1.3ffdeep+1f, 0x1.7ffd52p+1f, 0x1.e002cep+1f,
    0x1.2ffe1ep+2f, 0x1.6ffdbcp+2f, 0x1.b0004ep+2f, 0x1.0a2b24p+3f, 0.0f, 0.0f, 0x1.800092p-3f,
    0x1.80002ep-2f, 0x1.3ffe2ep-1f, 0x1.bfff6p-1f, 0x1.1ffeb6p+0f, 0x1.cf708ep-1f, 0x1.ed9444p-1f,
    0x1.f9254ap-1f, 0x1.fd77b6p-1f, 0x1.ff6f1ep-1f, 0x1.ffec6p-1f, 0x1.fffd58p-1f, 0x1.ffffa4p-1f,
    0x1.fffffcp-1f, 0.0f, 0.0f, 0x1.7b9086p-3f, 0x1.6ef566p-2f, 0x1.1bf33cp-1f, 0x1.6866p-1f,
    0x1.9e5bd2p-1f, 0x1.720f4cp-3f, 0x1.216e6cp-4f, 0x1.b3bdccp-6f, 0x1.4357cap-7f,
    0x1.219c76p-9f, 0x1.39fba8p-12f, 0x1.540114p-15f, 0x1.7001b6p-18f, 0x1.0044dep-22f, 0.0f,
    0x1p+0f, 0x1.ee69d6p-1f, 0x1.be3facp-1f, 0x1.62862ap-1f, 0x1.02507cp-1f, 0x1.6152e4p-2f,
    -0x1.4ef62ep-3f, -0x1.1704a2p-4f, -0x1.ade876p-6f, -0x1.41be94p-7f, -0x1.214a12p-9f,
    -0x1.39ef24p-12f, -0x1.53fefcp-15f, -0x1.70009ep-18f, -0x1.00d106p-22f, 0.0f,
    -0x1.4ed438p-25f, -0x1.6e86eap-3f, -0x1.3fd568p-2f, -0x1.893b24p-2f, -0x1.6ba81cp-2f,
    -0x1.1df15ep-2f, 0x1.67bbaap-4f, 0x1.59060ep-5f, 0x1.16e6cap-6f, 0x1.a8bb64p-8f,
    0x1.807c84p-10f, 0x1.a203cp-13f, 0x1.c4d1aap-16f, 0x1.ea28e8p-19f, 0x1.505324p-23f, 0.0f,
    -0x1.55542cp-2f, -0x1.27a45ep-2f, -0x1.6dc312p-3f, -0x1.2472bep-6f, 0x1.4f0feap-4f,
    0x1.c68c42p-4f, -0x1.992592p-6f, -0x1.25321ep-6f, -0x1.07bbfcp-7f, -0x1.a03138p-9f,
    -0x1.7ed9fp-11f, -0x1.a1d3d4p-14f, -0x1.c4d5ecp-17f, -0x1.ea3fd6p-20f, -0x1.472716p-24f, 0.0f,
    -0x1.57a61cp-13f, 0x1.cf9744p-4f, 0x1.584f28p-3f, 0x1.1a642p-3f, 0x1.f21206p-5f,
    0x1.ab2b32p-9f, -0x1.94bb8ap-9f, 0x1.34958cp-8f, 0x1.779bb4p-9f, 0x1.41b19ap-10f,
    0x1.3bdffcp-12f, 0x1.5c1d44p-15f, 0x1.79e8a8p-18f, 0x1.98ec0ap-21f, 0x1.3cb7fep-25f, 0.0f,
    0x1.167e5ep-3f, 0x1.8a1ae8p-4f, 0x1.329664p-6f, -0x1.bb347cp-5f, -0x1.deef3ep-5f,
    -0x1.061212p-5f, 0x1.dad992p-8f, -0x1.af23dcp-14f, -0x1.77fc4ep-11f, -0x1.8eb872p-12f,
    -0x1.9bf708p-14f, -0x1.cdc5a4p-17f, -0x1.f692a2p-20f, -0x1.0fc588p-22f, -0x1.e79b1p-27f, 0.0f,
    -0x1.3fd378p-6f, -0x1.ffca48p-5f, -0x1.1d1c06p-4f, -0x1.7fc90ep-6f, 0x1.a6271ap-7f,
    0x1.35c676p-6f
};

FC_FN float fc_tanh_given_f32(float x) { return fc_capf(__builtin_fabsf(x), 9.24f); }
FC_FN uint32_t fc_tanh_place_f32(float a) { return fc_bits32(a + 0.75f) >> 21; }

FC_FN float fc_tanh_of_f32(float x, float a, fc_piece_f p) {
    return __builtin_copysignf(fc_piece_value_f(a - p.at, p), x);
}

FC_FN float fc_tanh_f32(float x) {
    float a = fc_tanh_given_f32(x);
    uint32_t i = fc_tanh_place_f32(a) & 15;
    fc_piece_f p = { fc_tanh_pieces[i], fc_tanh_pieces[16 + i], fc_tanh_pieces[32 + i],
        fc_tanh_pieces[48 + i], fc_tanh_pieces[64 + i], fc_tanh_pieces[80 + i],
        fc_tanh_pieces[96 + i], fc_tanh_pieces[112 + i] };
    return fc_tanh_of_f32(x, a, p);
}

/* The first piece has x itself beside the others' number: its slope is more than 1. */
typedef struct { float at, c0, c1, c2, c3, c4, c5, c6, more; } fc_sloped_f;

FC_TABLE float fc_erf_pieces[144] = {
    0x1.c0029cp+0f, 0x1.20028cp+1f, 0x1.5ffd3p+1f, 0x1.a0032p+1f, 0x1.dffcep+1f, 0.0f, 0.0f, 0.0f,
    0.0f, 0x1.800278p-3f, 0x1.3ffda6p-2f, 0x1.bffe38p-2f, 0x1.40007ep-1f, 0x1.c0027ap-1f,
    0x1.2000c2p+0f, 0x1.5ffe1ep+0f, 0x1.f92d4ep-1f, 0x1.ff405ap-1f, 0x1.fff2cep-1f, 0x1.ffff7p-1f,
    0x1.fffffcp-1f, 0.0f, 0.0f, 0.0f, 0.0f, 0x1.ac4894p-3f, 0x1.5da78cp-2f, 0x1.db0674p-2f,
    0x1.3f19cep-1f, 0x1.917396p-1f, 0x1.c6db4ep-1f, 0x1.e575e8p-1f, 0x1.b0457p-5f, 0x1.d3ea0cp-8f,
    0x1.33883cp-11f, 0x1.e9684p-16f, 0x1.d998c6p-21f, 0.0f, 0.0f, 0.0f, 0x1.06eba8p-3f,
    0x1.16e2b6p+0f, 0x1.05fdap+0f, 0x1.dd1736p-1f, 0x1.86e8f2p-1f, 0x1.0ca91cp-1f, 0x1.45e77p-2f,
    0x1.5ceca4p-3f, -0x1.7a3f2cp-4f, -0x1.0735d4p-6f, -0x1.a6d53p-10f, -0x1.97a6a8p-14f,
    -0x1.db803cp-20f, 0.0f, 0.0f, 0.0f, 0x1.89f97cp-22f, -0x1.a256e6p-3f, -0x1.477a94p-2f,
    -0x1.a172bep-2f, -0x1.e8a3e8p-2f, -0x1.d62a86p-2f, -0x1.6ea556p-2f, -0x1.dfc2d8p-3f,
    0x1.7155fap-4f, 0x1.63e01cp-6f, 0x1.69abacp-9f, 0x1.99cff6p-13f, 0x1.0aa6ecp-17f, 0.0f, 0.0f,
    0.0f, -0x1.812d12p-2f, -0x1.59a722p-2f, -0x1.192826p-2f, -0x1.88999ep-3f, -0x1.c81e8ep-5f,
    0x1.7ca26ep-4f, 0x1.4cb40ap-3f, 0x1.43771cp-3f, -0x1.8a157p-5f, -0x1.38b06ep-6f,
    -0x1.ab255cp-9f, -0x1.851b4p-13f, -0x1.4a9b28p-14f, 0.0f, 0.0f, 0.0f, 0x1.dd8aacp-12f,
    0x1.999684p-4f, 0x1.31d1dep-3f, 0x1.6c9f1ep-3f, 0x1.695a84p-3f, 0x1.cc52e6p-4f,
    0x1.ca4dc2p-6f, -0x1.f381bap-6f, 0x1.877342p-8f, 0x1.5abb16p-7f, 0x1.727f4cp-9f,
    0x1.580886p-12f, 0x1.4b7d88p-16f, 0.0f, 0.0f, 0.0f, 0x1.bfb684p-4f, 0x1.58bd2ap-4f,
    0x1.34a50ap-4f, 0x1.996d9ep-6f, -0x1.b558c6p-6f, -0x1.114e06p-4f, -0x1.f4abbep-5f,
    -0x1.f69aap-6f, 0x1.2922bcp-7f, -0x1.6adc5p-9f, -0x1.b5639ep-10f, -0x1.5ef61ep-10f,
    0x1.5ef886p-11f, 0.0f, 0.0f, 0.0f, 0x1.71d924p-8f, -0x1.59515cp-4f, -0x1.90113cp-7f,
    -0x1.5c078p-4f, -0x1.4b55dp-5f, -0x1.4e6ba4p-7f, 0x1.f5809p-7f, 0x1.64208p-6f, 0.0f, 0.0f,
    0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0x1p+0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f
};

FC_FN float fc_erf_given_f32(float x) { return fc_capf(__builtin_fabsf(x), 4.0f); }
FC_FN uint32_t fc_erf_place_f32(float a) { return fc_bits32(a + 0.5f) >> 21; }

FC_FN float fc_erf_of_f32(float x, float a, fc_sloped_f p) {
    fc_piece_f q = { p.at, fc_fmaf(a, p.more, p.c0), p.c1, p.c2, p.c3, p.c4, p.c5, p.c6 };
    return __builtin_copysignf(fc_piece_value_f(a - p.at, q), x);
}

FC_FN float fc_erf_f32(float x) {
    float a = fc_erf_given_f32(x);
    uint32_t i = fc_erf_place_f32(a) & 15;
    fc_sloped_f p = { fc_erf_pieces[i], fc_erf_pieces[16 + i], fc_erf_pieces[32 + i],
        fc_erf_pieces[48 + i], fc_erf_pieces[64 + i], fc_erf_pieces[80 + i],
        fc_erf_pieces[96 + i], fc_erf_pieces[112 + i], fc_erf_pieces[128 + i] };
    return fc_erf_of_f32(x, a, p);
}

/* ---- logarithms ------------------------------------------------------------------
 *
 * x = 2^k m with m from 0.6875 to 1.375.  Its place has a number `by` next to 1 / m and its
 * logarithm, so that f = m by - 1 is small; from 15/16 to 17/16 that number is 1. */

typedef struct { float by, part; } fc_log_piece_f;
typedef struct { float k, f, part; } fc_logged_f;   /* k times 2^23 */

FC_FN uint32_t fc_log_place_f32(float x) { return (fc_bits32(x) - 0x3f300000u) >> 19; }

FC_FN fc_logged_f fc_logged_of_f(float x, float less, fc_log_piece_f p) {
    uint32_t u = fc_bits32(x), power = (u - 0x3f300000u) & 0xff800000u;
    fc_logged_f s = { (float)(int32_t)power - less,
        fc_fmaf(fc_from_bits32(u - power), p.by, -1.0f), p.part };
    return s;
}

/* What has lost digits is lifted, by so much. */
#define FC_LIFTED_F 192937984.0f   /* 23 times 2^23 */

FC_FN float fc_lifted_f(float x) { return x * (x < 0x1p-126f ? 0x1p23f : 1.0f); }

FC_FN fc_logged_f fc_logged_full_f(float x, fc_log_piece_f p) {
    return fc_logged_of_f(fc_lifted_f(x), x < 0x1p-126f ? FC_LIFTED_F : 0.0f, p);
}

FC_TABLE float fc_log_parts[32] = {
    0x1.6d90fp+0f, 0x1.5e5108p+0f, 0x1.4d53b6p+0f, 0x1.3edc1ap+0f, 0x1.35c0cp+0f, 0x1.292e36p+0f,
    0x1.1e1064p+0f, 0x1.13ad34p+0f, 0x1p+0f, 0x1p+0f, 0x1p+0f, 0x1.dc87d8p-1f, 0x1.b9b7f4p-1f,
    0x1.a603eap-1f, 0x1.8f8434p-1f, 0x1.7eb69ap-1f, -0x1.6cd2p-2f, -0x1.413p-2f, -0x1.0e48p-2f,
    -0x1.c1bp-3f, -0x1.8658p-3f, -0x1.317cp-3f, -0x1.c6dp-4f, -0x1.2f5p-4f, 0.0f, 0.0f, 0.0f,
    0x1.261p-4f, 0x1.2e64p-3f, 0x1.8bd8p-3f, 0x1.fc0cp-3f, 0x1.2a06p-2f
};

/* (log (1 + f) - f) / f^2 */
FC_FN float fc_log_rest_f(float f) {
    return FC_Q5(f, -0x1p-1f, 0x1.555516p-2f, -0x1.ffff84p-3f, 0x1.9b3268p-3f, -0x1.56ca58p-3f);
}

FC_FN float fc_log_total_f(fc_logged_f s) {
    float r = fc_fmaf(s.f * s.f, fc_log_rest_f(s.f), s.k * 0x1.7f7d1cp-43f);
    return fc_fmaf(s.k, 0x1.62e4p-24f, s.part) + (s.f + r);
}

FC_FN float fc_log_start_f32(float x) { return x; }
FC_FN float fc_log_lifted_f32(float x) { return fc_lifted_f(x); }
FC_FN float fc_log_near_f32(float x, fc_log_piece_f p) {
    return fc_log_total_f(fc_logged_of_f(x, 0.0f, p));
}

FC_FN float fc_log_of_f32(float x, fc_log_piece_f p) {
    return fc_log_ends_f(x, fc_log_total_f(fc_logged_full_f(x, p)));
}

FC_FN float fc_log_f32(float x) {
    uint32_t i = fc_log_place_f32(fc_lifted_f(x)) & 15;
    fc_log_piece_f p = { fc_log_parts[i], fc_log_parts[16 + i] };
    return fc_log_of_f32(x, p);
}

/* log (u + lost) with what a sum has lost */
FC_FN float fc_log_of_pair_f(float u, float lost, float less, fc_log_piece_f p) {
    fc_logged_f s = fc_logged_of_f(u, less, p);
    uint32_t power = (fc_bits32(u) - 0x3f300000u) & 0xff800000u;
    float c = lost * fc_from_bits32(0x3f800000u - power) * p.by;
    float r = fc_fmaf(s.f * s.f, fc_log_rest_f(s.f),
        fc_fmaf(s.k, 0x1.7f7d1cp-43f, fc_fmaf(-s.f, c, c)));
    return fc_fmaf(s.k, 0x1.62e4p-24f, s.part) + (s.f + r);
}

FC_FN float fc_log1p_start_f32(float x) { return 1.0f + x; }

FC_FN float fc_log1p_near_f32(float x, fc_log_piece_f p) {
    float u = 1.0f + x;
    return __builtin_copysignf(fc_log_of_pair_f(u, x - (u - 1.0f), 0.0f, p), x);
}

FC_FN float fc_log1p_lifted_f32(float x) { return x >= 0x1p60f ? 0.5f * x : 1.0f + x; }

FC_FN float fc_log1p_of_f32(float x, fc_log_piece_f p) {
    float u = fc_log1p_lifted_f32(x), lost = x >= 0x1p60f ? 0.0f : x - (u - 1.0f);
    float y = fc_log_of_pair_f(u, lost, x >= 0x1p60f ? -8388608.0f : 0.0f, p);
    return __builtin_copysignf(fc_log_ends_f(u, y), x);
}

FC_FN float fc_log1p_f32(float x) {
    uint32_t i = fc_log_place_f32(fc_log1p_lifted_f32(x)) & 15;
    fc_log_piece_f p = { fc_log_parts[i], fc_log_parts[16 + i] };
    return fc_log1p_of_f32(x, p);
}

FC_TABLE float fc_log2_parts[32] = {
    0x1.6b7b36p+0f, 0x1.5afaaep+0f, 0x1.4d0912p+0f, 0x1.438b0cp+0f, 0x1.366308p+0f,
    0x1.28cc0ep+0f, 0x1.21a49p+0f, 0x1.13f19cp+0f, 0x1p+0f, 0x1p+0f, 0x1p+0f, 0x1.db5b6ep-1f,
    0x1.ba6bc8p-1f, 0x1.a1f1dep-1f, 0x1.8df568p-1f, 0x1.7ade3ap-1f, -0x1.02fp-1f, -0x1.c13cp-2f,
    -0x1.84a4p-2f, -0x1.59ecp-2f, -0x1.1c98p-2f, -0x1.b4e8p-3f, -0x1.6cdp-3f, -0x1.bb5p-4f, 0.0f,
    0.0f, 0.0f, 0x1.b6dp-4f, 0x1.af9p-3f, 0x1.2bdcp-2f, 0x1.744p-2f, 0x1.bcep-2f
};

FC_FN float fc_log2_total_f(fc_logged_f s) {
    float z = s.f * s.f, q = fc_fmaf(s.f, 0x1.ec703ep-2f, -0x1.71545p-1f);
    q = fc_fmaf(z, fc_fmaf(s.f, 0x1.28a264p-2f, -0x1.728874p-2f), q);
    float r = fc_fmaf(z, q, s.f * 0x1.4ae0cp-26f);
    return fc_fmaf(s.k, 0x1p-23f, s.part) + fc_fmaf(s.f, 0x1.715476p+0f, r);
}

FC_FN float fc_log2_start_f32(float x) { return x; }
FC_FN float fc_log2_lifted_f32(float x) { return fc_lifted_f(x); }
FC_FN float fc_log2_near_f32(float x, fc_log_piece_f p) {
    return fc_log2_total_f(fc_logged_of_f(x, 0.0f, p));
}

FC_FN float fc_log2_of_f32(float x, fc_log_piece_f p) {
    return fc_log_ends_f(x, fc_log2_total_f(fc_logged_full_f(x, p)));
}

FC_FN float fc_log2_f32(float x) {
    uint32_t i = fc_log_place_f32(fc_lifted_f(x)) & 15;
    fc_log_piece_f p = { fc_log2_parts[i], fc_log2_parts[16 + i] };
    return fc_log2_of_f32(x, p);
}

FC_TABLE float fc_log10_parts[32] = {
    0x1.6be2c8p+0f, 0x1.5aa2d4p+0f, 0x1.4fa862p+0f, 0x1.42c9bep+0f, 0x1.33e878p+0f,
    0x1.28c784p+0f, 0x1.20c4ecp+0f, 0x1.173ee2p+0f, 0x1p+0f, 0x1p+0f, 0x1p+0f, 0x1.dacd7cp-1f,
    0x1.babc4ap-1f, 0x1.a1bc9p-1f, 0x1.8d904cp-1f, 0x1.7c2f12p-1f, -0x1.38c8p-3f, -0x1.0d96p-3f,
    -0x1.e1ecp-4f, -0x1.9c6p-4f, -0x1.486cp-4f, -0x1.06fp-4f, -0x1.ac88p-5f, -0x1.3538p-5f, 0.0f,
    0.0f, 0.0f, 0x1.0c58p-5f, 0x1.029p-4f, 0x1.69f4p-4f, 0x1.c2p-4f, 0x1.08c2p-3f
};

FC_FN float fc_log10_total_f(fc_logged_f s) {
    float small = fc_fmaf(s.f, -0x1.5b235ep-27f, s.k * 0x1.a84fbcp-44f);
    float z = s.f * s.f, q = fc_fmaf(s.f, 0x1.287a3cp-3f, -0x1.bcb784p-3f);
    q = fc_fmaf(z, fc_fmaf(s.f, 0x1.65302ep-4f, -0x1.be289ap-4f), q);
    float r = fc_fmaf(z, q, small);
    return fc_fmaf(s.k, 0x1.3441p-25f, s.part) + fc_fmaf(s.f, 0x1.bcb7b2p-2f, r);
}

FC_FN float fc_log10_start_f32(float x) { return x; }
FC_FN float fc_log10_lifted_f32(float x) { return fc_lifted_f(x); }
FC_FN float fc_log10_near_f32(float x, fc_log_piece_f p) {
    return fc_log10_total_f(fc_logged_of_f(x, 0.0f, p));
}

FC_FN float fc_log10_of_f32(float x, fc_log_piece_f p) {
    return fc_log_ends_f(x, fc_log10_total_f(fc_logged_full_f(x, p)));
}

FC_FN float fc_log10_f32(float x) {
    uint32_t i = fc_log_place_f32(fc_lifted_f(x)) & 15;
    fc_log_piece_f p = { fc_log10_parts[i], fc_log10_parts[16 + i] };
    return fc_log10_of_f32(x, p);
}
