/* Vector functions of our own, for vecmath.h; include that file, not this one.
 *
 * gcc for x86-64 calls them in loops that it vectorises: their names say the instructions, the
 * lanes and the function.  So a whole pack may be tested at once, and only one that has an
 * element for it goes a long way: an angle to be reduced, or a power that is not everyday.
 * Other compilers, and loops that are not vectorised, take the inlined functions, whose bits
 * are the same.  A library has those that it wants (texts.py), unseen from outside. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#define FC_HIDDEN __attribute__((used, visibility("hidden")))

#define FC_ONE(a, b) a
#define FC_TWO(a, b) a, b

#define FC_PACK(of, v, name, t, T, U, code, lanes)                                                \
    typedef T fc_##code##_##name##_##t __attribute__((vector_size(lanes * sizeof(T))));           \
    FC_HIDDEN fc_##code##_##name##_##t _ZGV##code##v##_fc_pack_##name##_##t(                      \
            of(fc_##code##_##name##_##t a, fc_##code##_##name##_##t b)) {                         \
        fc_##code##_##name##_##t given[] = { of(a, b) }, result;                                  \
        T x[2][64 / sizeof(T)] = { { 0 } }, y[64 / sizeof(T)];                                    \
        U far = 0;                                                                                \
        for (unsigned k = 0; k < sizeof given / sizeof *given; k++)                               \
            memcpy(x[k], &given[k], sizeof *given);                                               \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_attempt_##t s = fc_##name##_near_##t(of(x[0][i], x[1][i]));                        \
            y[i] = s.y;                                                                           \
            far |= s.far;                                                                         \
        }                                                                                         \
        if (__builtin_expect(far != 0, 0)) fc_long_##name##_##t(x[0], x[1], y);                   \
        memcpy(&result, y, sizeof result);                                                        \
        return result;                                                                            \
    }

#define FC_SSE_f64(of, v, name) FC_PACK(of, v, name, f64, double, uint64_t, bN2, 2)
#define FC_SSE_f32(of, v, name) FC_PACK(of, v, name, f32, float, uint32_t, bN4, 4)
#if defined(__AVX__)
#define FC_AVX_f64(of, v, name) FC_PACK(of, v, name, f64, double, uint64_t, cN4, 4)
#define FC_AVX_f32(of, v, name) FC_PACK(of, v, name, f32, float, uint32_t, cN8, 8)
#else
#define FC_AVX_f64(of, v, name)
#define FC_AVX_f32(of, v, name)
#endif
#if defined(__AVX2__)
#define FC_AVX2_f64(of, v, name) FC_PACK(of, v, name, f64, double, uint64_t, dN4, 4)
#define FC_AVX2_f32(of, v, name) FC_PACK(of, v, name, f32, float, uint32_t, dN8, 8)
#else
#define FC_AVX2_f64(of, v, name)
#define FC_AVX2_f32(of, v, name)
#endif
#if defined(__AVX512F__)
#define FC_AVX512_f64(of, v, name) FC_PACK(of, v, name, f64, double, uint64_t, eN8, 8)
#define FC_AVX512_f32(of, v, name) FC_PACK(of, v, name, f32, float, uint32_t, eN16, 16)
#else
#define FC_AVX512_f64(of, v, name)
#define FC_AVX512_f32(of, v, name)
#endif

/* The function of one element has the name that its vector functions end in; what the compiler
 * sees of that name is a declaration, or it would make vector functions itself. */
#define FC_PACKS(of, v, name, t, T)                                                               \
    __attribute__((simd("notinbranch"), const)) T fc_pack_##name##_##t(of(T x, T y));             \
    T fc_lone_##name##_##t(of(T x, T y)) __asm__("fc_pack_" #name "_" #t);                        \
    FC_HIDDEN T fc_lone_##name##_##t(of(T x, T y)) { return fc_##name##_##t(of(x, y)); }          \
    static __attribute__((noinline)) void fc_long_##name##_##t(const T *a, const T *b, T *y) {    \
        (void)b;                                                                                  \
        for (unsigned i = 0; i < 64 / sizeof(T); i++) y[i] = fc_##name##_##t(of(a[i], b[i]));     \
    }                                                                                             \
    FC_SSE_##t(of, v, name) FC_AVX_##t(of, v, name) FC_AVX2_##t(of, v, name)                      \
    FC_AVX512_##t(of, v, name)

#if defined(FC_WANTS_sin_f64)
FC_PACKS(FC_ONE, v, sin, f64, double)
#define fc_sin_f64 fc_pack_sin_f64
#endif
#if defined(FC_WANTS_cos_f64)
FC_PACKS(FC_ONE, v, cos, f64, double)
#define fc_cos_f64 fc_pack_cos_f64
#endif
#if defined(FC_WANTS_tan_f64)
FC_PACKS(FC_ONE, v, tan, f64, double)
#define fc_tan_f64 fc_pack_tan_f64
#endif
#if defined(FC_WANTS_sin_f32)
FC_PACKS(FC_ONE, v, sin, f32, float)
#define fc_sin_f32 fc_pack_sin_f32
#endif
#if defined(FC_WANTS_cos_f32)
FC_PACKS(FC_ONE, v, cos, f32, float)
#define fc_cos_f32 fc_pack_cos_f32
#endif
#if defined(FC_WANTS_tan_f32)
FC_PACKS(FC_ONE, v, tan, f32, float)
#define fc_tan_f32 fc_pack_tan_f32
#endif

#if defined(FC_WANTS_mod_f64)
FC_PACKS(FC_TWO, vv, mod, f64, double)
#define fc_mod_f64 fc_pack_mod_f64
#endif
#if defined(FC_WANTS_mod_f32)
FC_PACKS(FC_TWO, vv, mod, f32, float)
#define fc_mod_f32 fc_pack_mod_f32
#endif

/* The sign of x where y is an odd whole number; where it is none, `far` is set for x < 0. */
FC_FN uint64_t fc_pow_sign(double x, double y, int *far) {
    double parity = fc_abs(fc_fma(-2.0, __builtin_rint(0.5 * y), y));
    *far = (x < 0.0) & (__builtin_rint(y) != y);
    return -(uint64_t)(parity == 1.0) & fc_bits(x) & FC_SIGN_BIT;
}

/* fc_pow_f64 without what is seldom: a normal x or 0, and a normal result or 0 */
FC_FN fc_attempt_f64 fc_pow_near_f64(double x, double y) {
    int far, zero = (x == 0.0) & (y > 0.0) & (y < __builtin_inf());
    double a = fc_abs(x);
    fc_split d = fc_split_normal(a);
    fc_dd p = fc_times(fc_log_fine(d.k, d.f), y);
    fc_power e = fc_exp_fine(p);
    uint64_t sign = fc_pow_sign(x, y, &far);
    int near = (a >= 0x1p-1022) & (a < __builtin_inf()) & (fc_abs(p.hi + p.lo) < 708.0);
    uint64_t r = zero ? 0 : fc_bits(e.y) + (e.n << 52);
    fc_attempt_f64 s = { fc_from_bits(r ^ sign), -(uint64_t)(far | !(near | zero)) };
    return s;
}

FC_FN fc_attempt_f32 fc_pow_near_f32(float x, float y) {
    int far, zero = (x == 0.0f) & (y > 0.0f) & (y < __builtin_inff());
    double a = __builtin_fabsf(x);
    fc_split d = fc_split_normal(a);
    double p = y * fc_log2_short(d.k, d.f);
    uint64_t sign = fc_pow_sign(x, y, &far);
    int near = (a > 0.0) & (a < __builtin_inf()) & (fc_abs(p) < 200.0);
    uint64_t r = zero ? 0 : fc_bits(fc_exp2_short(p));
    fc_attempt_f32 s = { (float)fc_from_bits(r ^ sign), -(uint32_t)(far | !(near | zero)) };
    return s;
}

#if defined(FC_WANTS_pow_f64)
FC_PACKS(FC_TWO, vv, pow, f64, double)
#define fc_pow_f64 fc_pack_pow_f64
#endif

#if defined(FC_WANTS_pow_f32)
FC_PACKS(FC_TWO, vv, pow, f32, float)
#define fc_pow_f32 fc_pack_pow_f32
#endif

#endif
