// Quotients and remainders of integers behind the op table, as codegen/division.h has them, without
// the processor's division of integers, of which there is none for packs.
//
// (a + 1/2) / b is at least 1 / 2b away from any whole number (for b > 0; else it is (a - 1/2) / b), and
// by 1/2 less from what lies in the middle of two. With |a| and |b| below 2^50, a (1 / b) + (1 / 2|b| -
// 1/2) in doubles is off by less than that, so the whole number next to it is that below a / b, or a / b.
// Adding M leaves it in the last bits of the sum. Numbers of 16 bits do with floats, the same way. (Where
// b is the same for all elements, 1 / b and what is added are computed once.)
#define FC_NEXT_WHOLE(F, I, absolute, M)                                                           \
    FC_INLINE I fc_whole_##F(F x, F y) {                                                           \
        const F r = 1 / y, sum = x * r + ((F)0.5 * absolute(r) - (F)0.5) + M, none = M;            \
        I bits, from;                                                                              \
        memcpy(&bits, &sum, sizeof bits);                                                          \
        memcpy(&from, &none, sizeof from);                                                         \
        return bits - from;                                                                        \
    }
FC_NEXT_WHOLE(double, int64_t, __builtin_fabs, 0x1.8p52)
FC_NEXT_WHOLE(float, int32_t, __builtin_fabsf, 0x1.8p23f)

// By addition to what has whole numbers in its last bits, for |a| below 2^51: an instruction for packs
// comes with AVX-512 only.
FC_INLINE double fc_double_near(int64_t a) {
#if defined(__AVX512DQ__)
    return (double)a;
#else
    const uint64_t bits = (uint64_t)a + 0x4338000000000000U;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x - 0x1.8p52;
#endif
}

// Quotients rounded down, of the wide types by 0 too, which packs may hold; INT_MIN // -1 wraps.
#define FC_NARROW_QUOTIENT(t, T, F)                                                                \
    FC_INLINE T fc_quotient_##t(T a, T b) { return (T)fc_whole_##F(a, b); }
FC_NARROW_QUOTIENT(s8, int8_t, float)
FC_NARROW_QUOTIENT(u8, uint8_t, float)
FC_NARROW_QUOTIENT(s16, int16_t, float)
FC_NARROW_QUOTIENT(u16, uint16_t, float)
FC_NARROW_QUOTIENT(s32, int32_t, double)
FC_NARROW_QUOTIENT(u32, uint32_t, double)

FC_INLINE int64_t fc_quotient_s64(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return b ? (int64_t)(0 - (uint64_t)a) : 0;
    return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}
FC_INLINE uint64_t fc_quotient_u64(uint64_t a, uint64_t b) { return b ? a / b : 0; }

// In loops of gcc's that it vectorises, packs are tested at once (see vecmath_packs.h).
#if defined(FC_PACKS)
// A small number less than 0 has its top bit set, which is what marks an element.
typedef struct { int64_t y; uint64_t far; } fc_attempt_s64;
typedef struct { uint64_t y, far; } fc_attempt_u64;

FC_INLINE fc_attempt_s64 fc_quotient_near_s64(int64_t a, int64_t b) {
    const uint64_t half = (uint64_t)1 << 50, far = (((uint64_t)a + half) | ((uint64_t)b + half)) >> 51;
    fc_attempt_s64 s = { fc_whole_double(fc_double_near(a), fc_double_near(b)), 0 - far };
    return s;
}

FC_INLINE fc_attempt_u64 fc_quotient_near_u64(uint64_t a, uint64_t b) {
    const fc_attempt_s64 near = fc_quotient_near_s64((int64_t)a, (int64_t)b);
    fc_attempt_u64 s = { (uint64_t)near.y, 0 - ((a | b) >> 50) };
    return s;
}

// Before AVX2 a pack of integers is half as long as one of doubles.
#define FC_SSE_s64(of, v, name) FC_PACK(of, v, name, s64, int64_t, uint64_t, bN2, 2)
#define FC_SSE_u64(of, v, name) FC_PACK(of, v, name, u64, uint64_t, uint64_t, bN2, 2)
#if defined(__AVX__)
#define FC_AVX_s64(of, v, name) FC_PACK(of, v, name, s64, int64_t, uint64_t, cN2, 2)
#define FC_AVX_u64(of, v, name) FC_PACK(of, v, name, u64, uint64_t, uint64_t, cN2, 2)
#else
#define FC_AVX_s64(of, v, name)
#define FC_AVX_u64(of, v, name)
#endif
#if defined(__AVX2__)
#define FC_AVX2_s64(of, v, name) FC_PACK(of, v, name, s64, int64_t, uint64_t, dN4, 4)
#define FC_AVX2_u64(of, v, name) FC_PACK(of, v, name, u64, uint64_t, uint64_t, dN4, 4)
#else
#define FC_AVX2_s64(of, v, name)
#define FC_AVX2_u64(of, v, name)
#endif
#if defined(__AVX512F__)
#define FC_AVX512_s64(of, v, name) FC_PACK(of, v, name, s64, int64_t, uint64_t, eN8, 8)
#define FC_AVX512_u64(of, v, name) FC_PACK(of, v, name, u64, uint64_t, uint64_t, eN8, 8)
#else
#define FC_AVX512_s64(of, v, name)
#define FC_AVX512_u64(of, v, name)
#endif

#if defined(FC_WANTS_quotient_s64)
FC_PACKS(FC_TWO, vv, quotient, s64, int64_t)
#define fc_quotient_s64 fc_pack_quotient_s64
#endif
#if defined(FC_WANTS_quotient_u64)
FC_PACKS(FC_TWO, vv, quotient, u64, uint64_t)
#define fc_quotient_u64 fc_pack_quotient_u64
#endif
#endif

#define FC_DIVISION(t, T, U)                                                                       \
    FC_INLINE T fc_floor_divide_##t(T a, T b) {                                                    \
        const T q = fc_quotient_##t(a, b == 0 ? 1 : b);                                            \
        return (T)((U)q & (0 - (U)(b != 0))); /* a choice would move the call behind a test */     \
    }                                                                                              \
    FC_INLINE T fc_remainder_##t(T a, T b) {                                                       \
        const T d = b == 0 ? 1 : b;                                                                \
        return (T)((U)a - (U)fc_quotient_##t(a, d) * (U)d);                                        \
    }                                                                                              \
    FC_INLINE T fc_fmod_##t(T a, T b) {                                                            \
        const T r = fc_remainder_##t(a, b);                                                        \
        return (T)((r != 0) & ((a < 0) != (b < 0)) ? (U)r - (U)b : (U)r);                          \
    }

// Of numbers below 2^21, which are divided as floats: 3 bits are left as above.
FC_INLINE int32_t fc_small_quotient(int32_t a, int32_t b) {
    const int32_t q = fc_whole_float((float)a, (float)(b == 0 ? 1 : b));
    return q & (0 - (b != 0));
}
#define FC_SMALL_DIVISION(t, T)                                                                    \
    FC_INLINE T fc_small_floor_divide_##t(T a, T b) {                                              \
        return (T)fc_small_quotient((int32_t)a, (int32_t)b);                                       \
    }                                                                                              \
    FC_INLINE T fc_small_remainder_##t(T a, T b) {                                                 \
        const int32_t r = (int32_t)a - fc_small_quotient((int32_t)a, (int32_t)b) * (int32_t)b;     \
        return (T)(r & (0 - (b != 0)));                                                            \
    }                                                                                              \
    FC_INLINE T fc_small_fmod_##t(T a, T b) {                                                      \
        const int32_t d = (int32_t)b, r = (int32_t)fc_small_remainder_##t(a, b);                   \
        return (T)(r - (d & (0 - ((r != 0) & (((int32_t)a < 0) != (d < 0))))));                    \
    }

FC_SMALL_DIVISION(s32, int32_t)
FC_SMALL_DIVISION(s64, int64_t)
FC_SMALL_DIVISION(u32, uint32_t)
FC_SMALL_DIVISION(u64, uint64_t)
FC_DIVISION(s8, int8_t, uint32_t)
FC_DIVISION(s16, int16_t, uint32_t)
FC_DIVISION(s32, int32_t, uint32_t)
FC_DIVISION(s64, int64_t, uint64_t)
FC_DIVISION(u8, uint8_t, uint32_t)
FC_DIVISION(u16, uint16_t, uint32_t)
FC_DIVISION(u32, uint32_t, uint32_t)
FC_DIVISION(u64, uint64_t, uint64_t)
