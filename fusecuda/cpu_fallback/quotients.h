// Quotients by a divisor that many elements share: a product and two fused multiply-adds instead of
// a division, to the same bits.
//
// Let r be 1 / b rounded and q be a r rounded. Then e = a - q b is a double, and q + e r rounded is
// a / b rounded: Markstein's theorem, IBM Journal of Research and Development 34, 1990; with the
// divisor known beforehand, Brisebarre, Muller and Raina, IEEE Transactions on Computers 53, 2004.
// Nothing may over- or underflow on the way: what is not surely so counts as far, and whoever has
// met one such element divides instead. NaN is NaN either way, and zeros have their sign.

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMA)
#define FC_SHARED 32  // elements of a run from which on the preparation pays
#else
#define FC_SHARED INT64_MAX
#endif

// Whether a run shares its divisor: what vectors leave of a short one is divided as quickly in a block.
FC_INLINE bool fc_shared(int64_t run, int64_t size) {
    return run >= FC_SHARED && (run % size == 0 || run >= 16 * size);
}

// `tiny`: e is exact from there on; `wide`: a divisor this far from 1, and a quotient, are normal.
#define FC_SHARED_DIVISOR(t, T, F, f, tiny, wide, largest)                                         \
    typedef struct {                                                                               \
        T b, r, least, most;                                                                       \
        F far;                                                                                     \
    } fc_divisor_##t;                                                                              \
    FC_INLINE fc_divisor_##t fc_divisor_of_##t(T b) {                                              \
        const T size = b < 0 ? -b : b, low = size / wide, high = size * wide;                      \
        const fc_divisor_##t by = {b, 1 / b, low > tiny ? low : tiny,                              \
                                   high < largest ? high : largest,                                \
                                   !((size >= 1 / wide) & (size <= wide))};                        \
        return by;                                                                                 \
    }                                                                                              \
    FC_INLINE F fc_is_far_##t(T a, fc_divisor_##t by) {                                            \
        const T size = __builtin_fabs##f(a);                                                       \
        return (F)((size > by.most) | ((size < by.least) & (size > 0)));                           \
    }                                                                                              \
    FC_INLINE T fc_divide_by_##t(T a, fc_divisor_##t by) {                                         \
        const T q = a * by.r, e = __builtin_fma##f(-q, by.b, a);                                   \
        return __builtin_copysign##f(__builtin_fma##f(e, by.r, q), q);                             \
    }

FC_SHARED_DIVISOR(f64, double, int64_t, , 0x1p-960, 0x1p1000, 0x1.fffffffffffffp1023)
FC_SHARED_DIVISOR(f32, float, int32_t, f, 0x1p-100f, 0x1p120f, 0x1.fffffep127f)

// Of whole numbers below 2^50: as fc_whole_double has them (division.h), with what is the same for all
// computed once. A remainder is one of doubles, in which products of such numbers are exact.
typedef struct {
    double b, r, less;
    int64_t far;
} fc_divisor_s64;
FC_INLINE int64_t fc_is_long(int64_t a) { return (int64_t)(((uint64_t)a + ((uint64_t)1 << 50)) >> 51); }
FC_INLINE fc_divisor_s64 fc_divisor_of_s64(int64_t b) {
    const double size = (double)b, r = 1 / size;
    const fc_divisor_s64 by = {size, r, 0.5 * __builtin_fabs(r) - 0.5, (b == 0) | fc_is_long(b)};
    return by;
}
FC_INLINE int64_t fc_is_far_s64(int64_t a, fc_divisor_s64 by) {
    (void)by;
    return fc_is_long(a);
}
FC_INLINE double fc_whole_by(double a, fc_divisor_s64 by) { return a * by.r + by.less + 0x1.8p52; }
FC_INLINE int64_t fc_last_bits(double a) { /* of what whole numbers have been added to 1.5 * 2^52 to */
    const double none = 0x1.8p52;
    int64_t bits, from;
    memcpy(&bits, &a, sizeof bits);
    memcpy(&from, &none, sizeof from);
    return bits - from;
}
FC_INLINE int64_t fc_floor_divide_by_s64(int64_t a, fc_divisor_s64 by) {
    return fc_last_bits(fc_whole_by(fc_double_near(a), by));
}
FC_INLINE double fc_rest_by(double a, fc_divisor_s64 by) {
    return a - (fc_whole_by(a, by) - 0x1.8p52) * by.b;
}
FC_INLINE int64_t fc_remainder_by_s64(int64_t a, fc_divisor_s64 by) {
    return fc_last_bits(fc_rest_by(fc_double_near(a), by) + 0x1.8p52);
}
FC_INLINE int64_t fc_fmod_by_s64(int64_t a, fc_divisor_s64 by) {
    const double x = fc_double_near(a), rest = fc_rest_by(x, by);
    const double other = (rest != 0) & ((x < 0) != (by.b < 0)) ? rest - by.b : rest;
    return fc_last_bits(other + 0x1.8p52);
}

// Whether what is written at `out` is none of what is read at `in`, as much of both.
FC_INLINE bool fc_apart(const void *in, const void *out, size_t size) {
    const char *const a = (const char *)in, *const b = (const char *)out;
    return a >= b + size || b >= a + size;
}
