// The operations that have no name of their own in CUDA: NumPy's meaning, or CuPy's where it differs.
#pragma once

#define FC_FLOAT_OPS(t, T, f)                                                                      \
    FC_INLINE T fc_sign_##t(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a; }      \
    FC_INLINE T fc_maximum_##t(T a, T b) { return (a != a) | (b != b) ? a + b : fmax##f(a, b); }   \
    FC_INLINE T fc_minimum_##t(T a, T b) { return (a != a) | (b != b) ? a + b : fmin##f(a, b); }   \
    FC_INLINE T fc_fmax_##t(T a, T b) { return fmax##f(a, b); }                                    \
    FC_INLINE T fc_fmin_##t(T a, T b) { return fmin##f(a, b); }                                    \
    FC_INLINE T fc_heaviside_##t(T a, T b) {                                                       \
        return a != a ? a : a < 0 ? (T)0 : a > 0 ? (T)1 : b;                                       \
    }                                                                                              \
    FC_INLINE bool fc_isinf_##t(T a) { return fabs##f(a) == (T)FC_INFINITY; }                      \
    FC_INLINE bool fc_isfinite_##t(T a) { return fabs##f(a) < (T)FC_INFINITY; }                    \
    FC_INLINE bool fc_signbit_##t(T a) { return copysign##f((T)1, a) < 0; }                        \
    FC_INLINE T fc_floor_divide_##t(T a, T b) { return floor##f(a / b); }                          \
    FC_INLINE T fc_remainder_##t(T a, T b) { return fma##f(-floor##f(a / b), b, a); }              \
    FC_INLINE T fc_degrees_##t(T a) { return a * (T)(180 / 3.14159265358979323846); }            \
    FC_INLINE T fc_radians_##t(T a) { return a * (T)(3.14159265358979323846 / 180); }            \
    FC_INLINE T fc_expit_##t(T a) { return (T)1 / ((T)1 + exp##f(-a)); }                           \
    FC_INLINE T fc_exp2_##t(T a) { return pow##f((T)2, a); }                                       \
    FC_INLINE T fc_logaddexp_##t(T a, T b) {                                                       \
        if (a == b) return (T)(a + log(2.0));                                                      \
        return fmax##f(a, b) + log1p##f(exp##f(-fabs##f(a - b)));                                  \
    }                                                                                              \
    FC_INLINE T fc_logaddexp2_##t(T a, T b) {                                                      \
        if (a == b) return (T)(a + 1.0);                                                           \
        return fmax##f(a, b) + log2##f(1 + exp2##f(-fabs##f(a - b)));                              \
    }

FC_FLOAT_OPS(f32, float, f)
FC_FLOAT_OPS(f64, double, )

// Of integers of 64 bits CUDA shifts by the lower 32 bits of the count, and CuPy takes the remainder of
// the doubles next to them.
#define FC_WIDE(t, T)                                                                              \
    FC_INLINE T fc_wide_left_shift_##t(T a, T b) {                                                 \
        return (uint32_t)b < 64 ? (T)((uint64_t)a << (uint32_t)b) : 0;                             \
    }                                                                                              \
    FC_INLINE T fc_wide_right_shift_##t(T a, T b) {                                                \
        return a >> ((uint32_t)b < 63 ? (uint32_t)b : 63) >> ((uint32_t)b > 63 ? 1 : 0);           \
    }                                                                                              \
    FC_INLINE T fc_wide_fmod_##t(T a, T b) {                                                       \
        return b == 0 ? 0 : (T)fmod((double)a, (double)b);                                         \
    }

FC_WIDE(s64, int64_t)
FC_WIDE(u64, uint64_t)
