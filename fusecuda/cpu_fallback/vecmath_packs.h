/* Vector functions of our own, for vecmath.h; include that file, not this one.
 *
 * gcc for x86-64 calls them in loops that it vectorises: their names say the instructions, the
 * lanes and the function.  So a whole pack may be tested at once, and only one that has an
 * element for it goes a long way: an angle to be reduced, or a power that is not everyday.
 * Other compilers, and loops that are not vectorised, take the inlined functions, whose bits
 * are the same.  A library has those that it wants (texts.py), unseen from outside. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#define FC_HIDDEN __attribute__((used, visibility("hidden")))

/* Whether the top bit is set in any of a pack's marks, of 32 or 64 bits.  gcc's own way from 512
 * bits to one number takes ten instructions, the processor's one. */
FC_FN int fc_any(const void *marks, unsigned bytes) {
    uint64_t word[8] = { 0 }, all = 0;
#if defined(__AVX512F__)
    if (bytes == 64) {
        long long v __attribute__((vector_size(64)));
        memcpy(&v, marks, sizeof v);
        return __builtin_ia32_ptestmq512(v, (v ^ v) | (long long)0x8000000080000000, 0xff) != 0;
    }
#endif
    memcpy(word, marks, bytes);
    for (unsigned k = 0; k < bytes / 8; k++) all |= word[k];
    return (all & 0x8000000080000000u) != 0;
}

#define FC_GOES_FAR(far) __builtin_expect(fc_any(&far, sizeof far), 0)

/* found[i] = table[place[i] & 15], by permuting registers: to gather from memory takes ten times
 * as long on many processors. */
#if defined(__AVX512F__)
FC_FN void fc_look_up_8(const double *table, const uint64_t *place, double *found) {
    double a __attribute__((vector_size(64))), b __attribute__((vector_size(64)));
    long long i __attribute__((vector_size(64)));
    memcpy(&a, table, 64), memcpy(&b, table + 8, 64), memcpy(&i, place, 64);
    a = __builtin_shuffle(a, b, i);
    memcpy(found, &a, 64);
}
#endif
#if defined(__AVX__)
FC_FN void fc_look_up_4(const double *table, const uint64_t *place, double *found) {
    long long i __attribute__((vector_size(32)));
    memcpy(&i, place, 32);
    double v __attribute__((vector_size(32))) = { table[i[0] & 15], table[i[1] & 15],
                                                  table[i[2] & 15], table[i[3] & 15] };
    memcpy(found, &v, 32);
}
#endif
FC_FN void fc_look_up_2(const double *table, const uint64_t *place, double *found) {
    for (int i = 0; i < 2; i++) found[i] = table[place[i] & 15];
}

#define FC_ONE(a, b) a
#define FC_TWO(a, b) a, b

/* An element of a vector.  Loops over them are vectorised and leave the vector in its register. */
#define FC_AT(T, v, i) (((T *)&(v))[i])

/* The long way for a pack: a call of its own, so that the short one needs no memory. */
#define FC_LONG(of, name, t, T, code, lanes)                                                      \
    typedef T fc_##code##_##name##_##t __attribute__((vector_size(lanes * sizeof(T))));           \
    static __attribute__((noinline)) fc_##code##_##name##_##t fc_##code##_long_##name##_##t(      \
            of(fc_##code##_##name##_##t a, fc_##code##_##name##_##t b)) {                         \
        fc_##code##_##name##_##t given[2] = { of(a, b) };                                         \
        T x[2][64 / sizeof(T)] = { { 0 } }, y[64 / sizeof(T)];                                    \
        for (int k = 0; k < 2; k++) memcpy(x[k], &given[k], sizeof *given);                       \
        fc_long_##name##_##t(x[0], x[1], y);                                                      \
        memcpy(given, y, sizeof *given);                                                          \
        return *given;                                                                            \
    }

#define FC_PACK(of, v, name, t, T, U, code, lanes)                                                \
    FC_LONG(of, name, t, T, code, lanes)                                                          \
    FC_HIDDEN fc_##code##_##name##_##t _ZGV##code##v##_fc_pack_##name##_##t(                      \
            of(fc_##code##_##name##_##t a, fc_##code##_##name##_##t b)) {                         \
        fc_##code##_##name##_##t y;                                                               \
        U far __attribute__((vector_size(lanes * sizeof(T))));                                    \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_attempt_##t s = fc_##name##_near_##t(of(FC_AT(T, a, i), FC_AT(T, b, i)));          \
            FC_AT(T, y, i) = s.y;                                                                 \
            FC_AT(U, far, i) = s.far;                                                             \
        }                                                                                         \
        if (FC_GOES_FAR(far)) return fc_##code##_long_##name##_##t(of(a, b));                     \
        return y;                                                                                 \
    }

/* The same for a function of doubles that looks up a row of tables between two steps. */
#define FC_PACK_OF_ROWS(name, rows, code, lanes)                                                  \
    FC_LONG(FC_ONE, name, f64, double, code, lanes)                                               \
    FC_HIDDEN fc_##code##_##name##_f64 _ZGV##code##v_fc_pack_##name##_f64(                        \
            fc_##code##_##name##_f64 a) {                                                         \
        fc_##code##_##name##_f64 given[] = { a }, result;                                         \
        double x[8] = { 0 }, y[8], r[lanes], h[lanes], l[lanes], high[lanes], low[lanes];         \
        uint64_t place[lanes], far[lanes];                                                        \
        for (int k = 0; k < 1; k++) memcpy(x, &given[k], sizeof a);  /* in registers: no array */ \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_dd u = fc_##name##_operand(x[i]);                                                  \
            high[i] = u.hi, low[i] = u.lo, place[i] = fc_log_place(u.hi);                         \
        }                                                                                         \
        fc_look_up_##lanes(fc_nearby, place, r);                                                  \
        fc_look_up_##lanes(rows, place, h);                                                       \
        fc_look_up_##lanes(rows + 16, place, l);                                                  \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_dd u = { high[i], low[i] };                                                        \
            fc_row row = { r[i], h[i], l[i] };                                                    \
            fc_attempt_f64 s = fc_##name##_with(x[i], u, row);                                    \
            y[i] = s.y, far[i] = s.far;                                                           \
        }                                                                                         \
        memcpy(&result, y, sizeof result);                                                        \
        if (FC_GOES_FAR(far)) return fc_##code##_long_##name##_f64(a);                            \
        return result;                                                                            \
    }

#define FC_SSE_f64(of, v, name) FC_PACK(of, v, name, f64, double, uint64_t, bN2, 2)
#define FC_SSE_f32(of, v, name) FC_PACK(of, v, name, f32, float, uint32_t, bN4, 4)
#if defined(__AVX__) && !defined(__AVX2__)  /* else gcc calls the next ones */
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
#define FC_LONE(of, name, t, T)                                                                   \
    __attribute__((simd("notinbranch"), const)) T fc_pack_##name##_##t(of(T x, T y));             \
    T fc_lone_##name##_##t(of(T x, T y)) __asm__("fc_pack_" #name "_" #t);                        \
    FC_HIDDEN T fc_lone_##name##_##t(of(T x, T y)) { return fc_##name##_##t(of(x, y)); }

#define FC_LONG_WAY(of, name, t, T)                                                               \
    static __attribute__((noinline)) void fc_long_##name##_##t(const T *a, const T *b, T *y) {    \
        (void)b;                                                                                  \
        for (unsigned i = 0; i < 64 / sizeof(T); i++) y[i] = fc_##name##_##t(of(a[i], b[i]));     \
    }

#define FC_PACKS(of, v, name, t, T)                                                               \
    FC_LONE(of, name, t, T) FC_LONG_WAY(of, name, t, T)                                           \
    FC_SSE_##t(of, v, name) FC_AVX_##t(of, v, name) FC_AVX2_##t(of, v, name)                      \
    FC_AVX512_##t(of, v, name)

#if defined(__AVX512F__)
#define FC_FOR_WIDTHS(make) make(bN2, 2) make(dN4, 4) make(eN8, 8)
#define FC_FOR_WIDTHS_OF_FLOATS(make) make(bN4, 4) make(dN8, 8) make(eN16, 16)
#elif defined(__AVX2__)
#define FC_FOR_WIDTHS(make) make(bN2, 2) make(dN4, 4)
#define FC_FOR_WIDTHS_OF_FLOATS(make) make(bN4, 4) make(dN8, 8)
#elif defined(__AVX__)
#define FC_FOR_WIDTHS(make) make(bN2, 2) make(cN4, 4)
#define FC_FOR_WIDTHS_OF_FLOATS(make) make(bN4, 4) make(cN8, 8)
#else
#define FC_FOR_WIDTHS(make) make(bN2, 2)
#define FC_FOR_WIDTHS_OF_FLOATS(make) make(bN4, 4)
#endif

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

#if defined(FC_WANTS_log_f64)
FC_LONE(FC_ONE, log, f64, double)
FC_LONG_WAY(FC_ONE, log, f64, double)
#define FC_LOGS(code, lanes) FC_PACK_OF_ROWS(log, fc_log_rows, code, lanes)
FC_FOR_WIDTHS(FC_LOGS)
#define fc_log_f64 fc_pack_log_f64
#endif
#if defined(FC_WANTS_log2_f64)
FC_LONE(FC_ONE, log2, f64, double)
FC_LONG_WAY(FC_ONE, log2, f64, double)
#define FC_LOG2S(code, lanes) FC_PACK_OF_ROWS(log2, fc_log2_rows, code, lanes)
FC_FOR_WIDTHS(FC_LOG2S)
#define fc_log2_f64 fc_pack_log2_f64
#endif
#if defined(FC_WANTS_log10_f64)
FC_LONE(FC_ONE, log10, f64, double)
FC_LONG_WAY(FC_ONE, log10, f64, double)
#define FC_LOG10S(code, lanes) FC_PACK_OF_ROWS(log10, fc_log10_rows, code, lanes)
FC_FOR_WIDTHS(FC_LOG10S)
#define fc_log10_f64 fc_pack_log10_f64
#endif
#if defined(FC_WANTS_log1p_f64)
FC_LONE(FC_ONE, log1p, f64, double)
FC_LONG_WAY(FC_ONE, log1p, f64, double)
#define FC_LOG1PS(code, lanes) FC_PACK_OF_ROWS(log1p, fc_log_rows, code, lanes)
FC_FOR_WIDTHS(FC_LOG1PS)
#define fc_log1p_f64 fc_pack_log1p_f64
#endif
#if defined(FC_WANTS_arcsinh_f64)
FC_LONE(FC_ONE, arcsinh, f64, double)
FC_LONG_WAY(FC_ONE, arcsinh, f64, double)
#define FC_ARCSINHS(code, lanes) FC_PACK_OF_ROWS(arcsinh, fc_log_rows, code, lanes)
FC_FOR_WIDTHS(FC_ARCSINHS)
#define fc_arcsinh_f64 fc_pack_arcsinh_f64
#endif
#if defined(FC_WANTS_arccosh_f64)
FC_LONE(FC_ONE, arccosh, f64, double)
FC_LONG_WAY(FC_ONE, arccosh, f64, double)
#define FC_ARCCOSHS(code, lanes) FC_PACK_OF_ROWS(arccosh, fc_log_rows, code, lanes)
FC_FOR_WIDTHS(FC_ARCCOSHS)
#define fc_arccosh_f64 fc_pack_arccosh_f64
#endif
#if defined(FC_WANTS_arctanh_f64)
FC_LONE(FC_ONE, arctanh, f64, double)
FC_LONG_WAY(FC_ONE, arctanh, f64, double)
#define FC_ARCTANHS(code, lanes) FC_PACK_OF_ROWS(arctanh, fc_log_rows, code, lanes)
FC_FOR_WIDTHS(FC_ARCTANHS)
#define fc_arctanh_f64 fc_pack_arctanh_f64
#endif

#define FC_ARCTANS(code, lanes)                                                                   \
    typedef double fc_##code##_arctan __attribute__((vector_size(lanes * sizeof(double))));       \
    FC_HIDDEN fc_##code##_arctan _ZGV##code##v_fc_pack_arctan_f64(fc_##code##_arctan a) {         \
        fc_##code##_arctan given[] = { a }, result;                                               \
        double x[lanes], y[lanes], p[lanes], q[lanes], h[lanes], l[lanes];                        \
        uint64_t place[lanes];                                                                    \
        for (int k = 0; k < 1; k++) memcpy(x, &given[k], sizeof a);                               \
        for (int i = 0; i < lanes; i++) place[i] = fc_arctan_place(x[i]);                         \
        fc_look_up_##lanes(fc_arctan_rows, place, p);                                             \
        fc_look_up_##lanes(fc_arctan_rows + 16, place, q);                                        \
        fc_look_up_##lanes(fc_arctan_rows + 32, place, h);                                        \
        fc_look_up_##lanes(fc_arctan_rows + 48, place, l);                                        \
        for (int i = 0; i < lanes; i++) y[i] = fc_arctan_with(x[i], p[i], q[i], h[i], l[i]);      \
        memcpy(&result, y, sizeof result);                                                        \
        return result;                                                                            \
    }

#if defined(FC_WANTS_arctan_f64)
FC_LONE(FC_ONE, arctan, f64, double)
FC_FOR_WIDTHS(FC_ARCTANS)
#define fc_arctan_f64 fc_pack_arctan_f64
#endif

/* The sign of x where y is an odd whole number; where it is none, `far` is set for x < 0. */
FC_FN uint64_t fc_pow_sign(double x, double y, int *far) {
    double parity = fc_abs(fc_fma(-2.0, __builtin_rint(0.5 * y), y));
    *far = (x < 0.0) & (__builtin_rint(y) != y);
    return -(uint64_t)(parity == 1.0) & fc_bits(x) & FC_SIGN_BIT;
}

/* fc_pow_f64 without what is seldom, of p = y log |x|: a normal x or 0, and a normal result or 0 */
FC_FN fc_attempt_f64 fc_pow_with(double x, double y, fc_dd p, double t, double hi, double lo) {
    int far, zero = (x == 0.0) & (y > 0.0) & (y < __builtin_inf());
    double a = fc_abs(x);
    uint64_t sign = fc_pow_sign(x, y, &far);
    int near = (a >= 0x1p-1022) & (a < __builtin_inf()) & (fc_abs(p.hi) < 708.0);
    near &= fc_abs(y) < 0x1p80;   /* larger ones fc_times need not be right for */
    uint64_t r = zero ? 0 : fc_bits(fc_exp_part(p, t, hi, lo)) + (fc_bits(t) >> 4 << 52);
    fc_attempt_f64 s = { fc_from_bits(r ^ sign), -(uint64_t)(far | !(near | zero)) };
    return s;
}

#define FC_POWERS(code, lanes)                                                                    \
    FC_LONG(FC_TWO, pow, f64, double, code, lanes)                                                \
    FC_HIDDEN fc_##code##_pow_f64 _ZGV##code##vv_fc_pack_pow_f64(fc_##code##_pow_f64 a,           \
                                                                 fc_##code##_pow_f64 b) {         \
        fc_##code##_pow_f64 given[] = { a, b }, result;                                           \
        double x[2][8] = { { 0 } }, y[8], r[lanes], h[lanes], l[lanes], t[lanes];                 \
        double high[lanes], low[lanes];                                                           \
        uint64_t place[lanes], far[lanes];                                                        \
        for (int k = 0; k < 2; k++) memcpy(x[k], &given[k], sizeof a);                            \
        for (int i = 0; i < lanes; i++) place[i] = fc_log_place(fc_abs(x[0][i]));                 \
        fc_look_up_##lanes(fc_nearby, place, r);                                                  \
        fc_look_up_##lanes(fc_log_rows, place, h);                                                \
        fc_look_up_##lanes(fc_log_rows + 16, place, l);                                           \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_row row = { r[i], h[i], l[i] };                                                    \
            fc_dd p = fc_times(fc_log_in_two(fc_abs(x[0][i]), 0.0, row), x[1][i]);                \
            t[i] = fc_exp_step(p), place[i] = fc_bits(t[i]), high[i] = p.hi, low[i] = p.lo;       \
        }                                                                                         \
        fc_look_up_##lanes(fc_exp_rows, place, h);                                                \
        fc_look_up_##lanes(fc_exp_rows + 16, place, l);                                           \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_dd p = { high[i], low[i] };                                                        \
            fc_attempt_f64 s = fc_pow_with(x[0][i], x[1][i], p, t[i], h[i], l[i]);                \
            y[i] = s.y, far[i] = s.far;                                                           \
        }                                                                                         \
        memcpy(&result, y, sizeof result);                                                        \
        if (FC_GOES_FAR(far)) return fc_##code##_long_pow_f64(a, b);                              \
        return result;                                                                            \
    }

#if defined(FC_WANTS_pow_f64)
FC_LONE(FC_TWO, pow, f64, double)
FC_LONG_WAY(FC_TWO, pow, f64, double)
FC_FOR_WIDTHS(FC_POWERS)
#define fc_pow_f64 fc_pack_pow_f64
#endif

#endif
