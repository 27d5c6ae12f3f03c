/* Vector functions of our own, for vecmath.h; include that file, not this one.
 *
 * gcc for x86-64 calls them in loops that it vectorises: their names say the instructions, the
 * lanes and the function.  So a whole pack may be tested at once, and only one that has an
 * element for it goes a long way.  Other compilers, and loops that are not vectorised, take
 * the inlined functions, whose bits are the same.  A library has those that it wants (texts.py),
 * unseen from outside. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#define FC_HIDDEN __attribute__((used, visibility("hidden")))

#define FC_PACK(name, t, T, U, code, lanes)                                                       \
    typedef T fc_##code##_##name##_##t __attribute__((vector_size(lanes * sizeof(T))));           \
    FC_HIDDEN fc_##code##_##name##_##t _ZGV##code##v_fc_pack_##name##_##t(                        \
            fc_##code##_##name##_##t v) {                                                         \
        T x[64 / sizeof(T)] = { 0 }, y[64 / sizeof(T)];                                           \
        U far = 0;                                                                                \
        memcpy(x, &v, sizeof v);                                                                  \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_attempt_##t s = fc_##name##_near_##t(x[i]);                                        \
            y[i] = s.y;                                                                           \
            far |= s.far;                                                                         \
        }                                                                                         \
        if (__builtin_expect(far != 0, 0)) fc_long_##name##_##t(x, y);                            \
        memcpy(&v, y, sizeof v);                                                                  \
        return v;                                                                                 \
    }

#define FC_SSE_f64(name) FC_PACK(name, f64, double, uint64_t, bN2, 2)
#define FC_SSE_f32(name) FC_PACK(name, f32, float, uint32_t, bN4, 4)
#if defined(__AVX__)
#define FC_AVX_f64(name) FC_PACK(name, f64, double, uint64_t, cN4, 4)
#define FC_AVX_f32(name) FC_PACK(name, f32, float, uint32_t, cN8, 8)
#else
#define FC_AVX_f64(name)
#define FC_AVX_f32(name)
#endif
#if defined(__AVX2__)
#define FC_AVX2_f64(name) FC_PACK(name, f64, double, uint64_t, dN4, 4)
#define FC_AVX2_f32(name) FC_PACK(name, f32, float, uint32_t, dN8, 8)
#else
#define FC_AVX2_f64(name)
#define FC_AVX2_f32(name)
#endif
#if defined(__AVX512F__)
#define FC_AVX512_f64(name) FC_PACK(name, f64, double, uint64_t, eN8, 8)
#define FC_AVX512_f32(name) FC_PACK(name, f32, float, uint32_t, eN16, 16)
#else
#define FC_AVX512_f64(name)
#define FC_AVX512_f32(name)
#endif

/* The function of one element has the name that its vector functions end in; what the compiler
 * sees of that name is a declaration, or it would make vector functions itself. */
#define FC_PACKS(name, t, T)                                                                      \
    __attribute__((simd("notinbranch"), const)) T fc_pack_##name##_##t(T x);                      \
    T fc_lone_##name##_##t(T x) __asm__("fc_pack_" #name "_" #t);                                 \
    FC_HIDDEN T fc_lone_##name##_##t(T x) { return fc_##name##_##t(x); }                          \
    static __attribute__((noinline)) void fc_long_##name##_##t(const T *x, T *y) {                \
        for (unsigned i = 0; i < 64 / sizeof(T); i++) y[i] = fc_##name##_##t(x[i]);               \
    }                                                                                             \
    FC_SSE_##t(name) FC_AVX_##t(name) FC_AVX2_##t(name) FC_AVX512_##t(name)

#if defined(FC_WANTS_sin_f64)
FC_PACKS(sin, f64, double)
#define fc_sin_f64 fc_pack_sin_f64
#endif
#if defined(FC_WANTS_cos_f64)
FC_PACKS(cos, f64, double)
#define fc_cos_f64 fc_pack_cos_f64
#endif
#if defined(FC_WANTS_tan_f64)
FC_PACKS(tan, f64, double)
#define fc_tan_f64 fc_pack_tan_f64
#endif
#if defined(FC_WANTS_sin_f32)
FC_PACKS(sin, f32, float)
#define fc_sin_f32 fc_pack_sin_f32
#endif
#if defined(FC_WANTS_cos_f32)
FC_PACKS(cos, f32, float)
#define fc_cos_f32 fc_pack_cos_f32
#endif

#endif
