// Helpers behind the op table: NumPy's corner cases, written once for every element type.
// The text is in the intersection of C11 and C++17; FC_INLINE is `static inline` or a device
// function. Types are named as in HLO text: s8 … s64, u8 … u64, f32, f64.

// --- integers -----------------------------------------------------------------------------------

// Division by zero gives 0, as in NumPy; INT_MIN // -1 wraps around instead of trapping.
#define FC_SIGNED(t, T, U)                                                                         \
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
    FC_INLINE T fc_fmod_##t(T a, T b) { return (T)(b == 0 || b == -1 ? 0 : a % b); }               \
    FC_INLINE T fc_absolute_##t(T a) { return (T)(a < 0 ? 0 - (U)a : (U)a); }                      \
    FC_INLINE T fc_reciprocal_##t(T a) { /* of 0: NumPy's cast of infinity, 0 if narrow */         \
        const T none = (T)(sizeof(T) < 4 ? 0 : (U)1 << (8 * sizeof(T) - 1));                       \
        return (T)(a == 0 ? none : a == 1 ? 1 : a == -1 ? -1 : 0);                                 \
    }                                                                                              \
    FC_INLINE T fc_left_shift_##t(T a, T b) {                                                      \
        return (T)((U)b < 8 * sizeof(T) && b >= 0 ? (U)a << b : 0);                                \
    }                                                                                              \
    FC_INLINE T fc_right_shift_##t(T a, T b) {                                                     \
        return (T)(b >= 0 && (U)b < 8 * sizeof(T) ? a >> b : a < 0 ? -1 : 0);                      \
    }                                                                                              \
    FC_INLINE T fc_power_##t(T a, T b) {                                                           \
        U x = (U)a, r = 1;                                                                         \
        for (; b > 0; b = (T)(b >> 1), x *= x) r *= b & 1 ? x : 1;                                 \
        return (T)r;                                                                               \
    }                                                                                              \
    FC_INLINE U fc_magnitude_##t(T a) { return a < 0 ? 0 - (U)a : (U)a; }                          \
    FC_INLINE U fc_divisor_##t(T a, T b) {                                                         \
        U x = fc_magnitude_##t(a), y = fc_magnitude_##t(b);                                        \
        while (x) { const U r = y % x; y = x; x = r; }                                             \
        return y;                                                                                  \
    }                                                                                              \
    FC_INLINE T fc_gcd_##t(T a, T b) { return (T)fc_divisor_##t(a, b); }                           \
    FC_INLINE T fc_lcm_##t(T a, T b) {                                                             \
        const U g = fc_divisor_##t(a, b);                                                          \
        return (T)(g == 0 ? 0 : fc_magnitude_##t(a) / g * fc_magnitude_##t(b));                    \
    }

#define FC_UNSIGNED(t, T, U)                                                                       \
    FC_INLINE T fc_floor_divide_##t(T a, T b) { return (T)(b == 0 ? 0 : a / b); }                  \
    FC_INLINE T fc_remainder_##t(T a, T b) { return (T)(b == 0 ? 0 : a % b); }                     \
    FC_INLINE T fc_fmod_##t(T a, T b) { return (T)(b == 0 ? 0 : a % b); }                          \
    FC_INLINE T fc_reciprocal_##t(T a) { return (T)(a == 1); }                                     \
    FC_INLINE T fc_left_shift_##t(T a, T b) { return (T)(b < 8 * sizeof(T) ? (U)a << b : 0); }     \
    FC_INLINE T fc_right_shift_##t(T a, T b) { return (T)(b < 8 * sizeof(T) ? a >> b : 0); }       \
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

// --- floating point -------------------------------------------------------------------------------

// NaN in either operand of maximum and minimum gives NaN; fmax and fmin ignore it.
#define FC_FLOAT(t, T, f, INF)                                                                     \
    FC_INLINE T fc_absolute_##t(T a) { return fabs##f(a); }                                        \
    FC_INLINE T fc_sqrt_##t(T a) { return sqrt##f(a); }                                            \
    FC_INLINE T fc_rint_##t(T a) { return rint##f(a); }                                            \
    FC_INLINE T fc_floor_##t(T a) { return floor##f(a); }                                          \
    FC_INLINE T fc_ceil_##t(T a) { return ceil##f(a); }                                            \
    FC_INLINE T fc_trunc_##t(T a) { return trunc##f(a); }                                          \
    FC_INLINE T fc_sign_##t(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a; }      \
    FC_INLINE T fc_maximum_##t(T a, T b) { return (a > b) | (a != a) ? a : b; }                    \
    FC_INLINE T fc_minimum_##t(T a, T b) { return (a < b) | (a != a) ? a : b; }                    \
    FC_INLINE T fc_fmax_##t(T a, T b) { return (a >= b) | (b != b) ? a : b; }                      \
    FC_INLINE T fc_fmin_##t(T a, T b) { return (a <= b) | (b != b) ? a : b; }                      \
    FC_INLINE T fc_copysign_##t(T a, T b) { return copysign##f(a, b); }                            \
    FC_INLINE T fc_nextafter_##t(T a, T b) { return nextafter##f(a, b); }                          \
    FC_INLINE T fc_heaviside_##t(T a, T b) {                                                       \
        return a != a ? a : a < 0 ? (T)0 : a > 0 ? (T)1 : b;                                       \
    }                                                                                              \
    FC_INLINE bool fc_isinf_##t(T a) { return fabs##f(a) == INF; }                                 \
    FC_INLINE bool fc_isfinite_##t(T a) { return fabs##f(a) < INF; }                               \
    FC_INLINE T fc_fmod_##t(T a, T b) { return fmod##f(a, b); }                                    \
    FC_INLINE T fc_remainder_##t(T a, T b) {                                                       \
        T m = fmod##f(a, b);                                                                       \
        if (b == 0) return m;                                                                      \
        if (m == 0) return copysign##f((T)0, b);                                                   \
        return (b < 0) != (m < 0) ? m + b : m;                                                     \
    }                                                                                              \
    FC_INLINE T fc_floor_divide_##t(T a, T b) {                                                    \
        if (b == 0) return a / b;                                                                  \
        const T m = fmod##f(a, b);                                                                 \
        T q = (a - m) / b;                                                                         \
        if (m != 0 && (b < 0) != (m < 0)) q -= (T)1;                                               \
        if (q == 0) return copysign##f((T)0, a / b);                                               \
        const T whole = floor##f(q);                                                               \
        return q - whole > (T)0.5 ? whole + (T)1 : whole;                                          \
    }

FC_FLOAT(f32, float, f, HUGE_VALF)
FC_FLOAT(f64, double, , HUGE_VAL)

FC_INLINE bool fc_signbit_f32(float a) { return copysignf(1.0f, a) < 0; }
FC_INLINE bool fc_signbit_f64(double a) { return copysign(1.0, a) < 0; }
FC_INLINE float fc_degrees_f32(float a) { return a * (180.0f / 3.14159265358979323846f); }
FC_INLINE double fc_degrees_f64(double a) { return a * (180.0 / 3.14159265358979323846); }
FC_INLINE float fc_radians_f32(float a) { return a * (3.14159265358979323846f / 180.0f); }
FC_INLINE double fc_radians_f64(double a) { return a * (3.14159265358979323846 / 180.0); }
FC_INLINE int64_t fc_min(int64_t a, int64_t b) { return a < b ? a : b; }

// Of two infinities of one sign, x - y is NaN: equal operands are told apart first.
#define FC_TRANSCENDENTAL(t, T)                                                                    \
    FC_INLINE T fc_power_##t(T a, T b) { return fc_pow_##t(a, b); }                                \
    FC_INLINE T fc_logaddexp2_##t(T a, T b) {                                                      \
        const T d = a - b, log2_e = (T)1.44269504088896340736;                                     \
        const T rest = log2_e * fc_log1p_##t(fc_exp2_##t(d > 0 ? -d : d));                         \
        return a == b ? a + 1 : (d > 0 ? a : b) + rest;                                            \
    }

FC_TRANSCENDENTAL(f32, float)
FC_TRANSCENDENTAL(f64, double)
