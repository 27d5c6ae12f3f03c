// Helpers behind the op table for integers: NumPy's corner cases, once for every element type.
// The text is in the intersection of C11 and C++17; FC_INLINE is `static inline` or a device
// function. Types are named as in HLO text: s8 ... s64, u8 ... u64.

// Shifts by more bits than there are, or by less than none, without a choice: a compiler follows the
// answers of a few such tests through the whole body of a loop, which is no loop of vectors then.
#define FC_FITS(U, T, b) (0 - (U)((U)(b) < 8 * sizeof(T)))
#define FC_COUNT(U, T, b) ((U)(b) & (8 * sizeof(T) - 1))

#define FC_SIGNED(t, T, U)                                                                         \
    FC_INLINE T fc_absolute_##t(T a) { return (T)(a < 0 ? 0 - (U)a : (U)a); }                      \
    FC_INLINE T fc_reciprocal_##t(T a) { /* of 0: NumPy's cast of infinity, 0 if narrow */         \
        const T none = (T)(sizeof(T) < 4 ? 0 : (U)1 << (8 * sizeof(T) - 1));                       \
        return (T)(a == 0 ? none : a == 1 ? 1 : a == -1 ? -1 : 0);                                 \
    }                                                                                              \
    FC_INLINE T fc_left_shift_##t(T a, T b) {                                                      \
        return (T)((U)a << FC_COUNT(U, T, b) & FC_FITS(U, T, b));                                  \
    }                                                                                              \
    FC_INLINE T fc_right_shift_##t(T a, T b) { /* too far: by all bits but the sign */             \
        return (T)(a >> (FC_COUNT(U, T, b) | (~FC_FITS(U, T, b) & (8 * sizeof(T) - 1))));          \
    }                                                                                              \
    FC_INLINE T fc_power_##t(T a, T b) {                                                           \
        U x = (U)a, r = 1;                                                                         \
        if (b < 0) return (T)(a == 1 || a == -1 ? (b & 1 ? a : 1) : 0);                            \
        for (; b > 0; b = (T)(b >> 1), x *= x) r *= b & 1 ? x : 1;                                 \
        return (T)r;                                                                               \
    }                                                                                              \
    FC_INLINE U fc_magnitude_##t(T a) { return a < 0 ? 0 - (U)a : (U)a; }                          \
    FC_INLINE U fc_common_##t(T a, T b) {                                                          \
        U x = fc_magnitude_##t(a), y = fc_magnitude_##t(b);                                        \
        while (x) { const U r = y % x; y = x; x = r; }                                             \
        return y;                                                                                  \
    }                                                                                              \
    FC_INLINE T fc_gcd_##t(T a, T b) { return (T)fc_common_##t(a, b); }                            \
    FC_INLINE T fc_lcm_##t(T a, T b) {                                                             \
        const U g = fc_common_##t(a, b);                                                           \
        return (T)(g == 0 ? 0 : fc_magnitude_##t(a) / g * fc_magnitude_##t(b));                    \
    }

#define FC_UNSIGNED(t, T, U)                                                                       \
    FC_INLINE T fc_reciprocal_##t(T a) { return (T)(a == 1); }                                     \
    FC_INLINE T fc_left_shift_##t(T a, T b) {                                                      \
        return (T)((U)a << FC_COUNT(U, T, b) & FC_FITS(U, T, b));                                  \
    }                                                                                              \
    FC_INLINE T fc_right_shift_##t(T a, T b) {                                                     \
        return (T)(a >> FC_COUNT(U, T, b) & FC_FITS(U, T, b));                                     \
    }                                                                                              \
    FC_INLINE T fc_power_##t(T a, T b) {                                                           \
        U x = a, r = 1;                                                                            \
        for (; b > 0; b = (T)(b >> 1), x *= x) r *= b & 1 ? x : 1;                                 \
        return (T)r;                                                                               \
    }                                                                                              \
    FC_INLINE T fc_gcd_##t(T a, T b) {                                                             \
        while (a) { const T r = (T)(b % a); b = a; a = r; }                                        \
        return b;                                                                                  \
    }                                                                                              \
    FC_INLINE T fc_lcm_##t(T a, T b) {                                                             \
        const T g = fc_gcd_##t(a, b);                                                              \
        return (T)(g == 0 ? 0 : (U)(a / g) * b);                                                   \
    }

FC_SIGNED(s8, int8_t, uint32_t)
FC_SIGNED(s16, int16_t, uint32_t)
FC_SIGNED(s32, int32_t, uint32_t)
FC_SIGNED(s64, int64_t, uint64_t)
FC_UNSIGNED(u8, uint8_t, uint32_t)
FC_UNSIGNED(u16, uint16_t, uint32_t)
FC_UNSIGNED(u32, uint32_t, uint32_t)
FC_UNSIGNED(u64, uint64_t, uint64_t)

// Python's signed and unsigned 64-bit integers compare by value.
FC_INLINE int fc_less_su(int64_t a, uint64_t b) { return a < 0 || (uint64_t)a < b; }
FC_INLINE int fc_less_us(uint64_t a, int64_t b) { return b > 0 && a < (uint64_t)b; }
FC_INLINE int fc_equal_su(int64_t a, uint64_t b) { return a >= 0 && (uint64_t)a == b; }
