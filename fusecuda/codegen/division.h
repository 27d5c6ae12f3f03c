// Quotients and remainders of integers behind the op table, by the division that there is.
// Division by zero gives 0, as in NumPy; INT_MIN // -1 wraps around instead of trapping.
#define FC_SIGNED_DIVISION(t, T, U)                                                                \
    FC_INLINE T fc_floor_divide_##t(T a, T b) {                                                    \
        if (b == 0) return 0;                                                                      \
        if (b == -1) return (T)(0 - (U)a);                                                         \
        const T q = (T)(a / b);                                                                    \
        return (T)(q - ((a % b != 0) & ((a < 0) != (b < 0))));                                     \
    }                                                                                              \
    FC_INLINE T fc_remainder_##t(T a, T b) {                                                       \
        if (b == 0 || b == -1) return 0;                                                           \
        const T r = (T)(a % b);                                                                    \
        return (T)((r != 0) & ((r < 0) != (b < 0)) ? r + b : r);                                   \
    }                                                                                              \
    FC_INLINE T fc_fmod_##t(T a, T b) { return (T)(b == 0 || b == -1 ? 0 : a % b); }

#define FC_UNSIGNED_DIVISION(t, T)                                                                 \
    FC_INLINE T fc_floor_divide_##t(T a, T b) { return (T)(b == 0 ? 0 : a / b); }                  \
    FC_INLINE T fc_remainder_##t(T a, T b) { return (T)(b == 0 ? 0 : a % b); }                     \
    FC_INLINE T fc_fmod_##t(T a, T b) { return (T)(b == 0 ? 0 : a % b); }

FC_SIGNED_DIVISION(s8, int8_t, uint32_t)
FC_SIGNED_DIVISION(s16, int16_t, uint32_t)
FC_SIGNED_DIVISION(s32, int32_t, uint32_t)
FC_SIGNED_DIVISION(s64, int64_t, uint64_t)
FC_UNSIGNED_DIVISION(u8, uint8_t)
FC_UNSIGNED_DIVISION(u16, uint16_t)
FC_UNSIGNED_DIVISION(u32, uint32_t)
FC_UNSIGNED_DIVISION(u64, uint64_t)
