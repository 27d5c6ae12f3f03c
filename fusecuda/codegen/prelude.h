// Helpers behind the op table for floats: NumPy's corner cases, once for every element type.

// NaN in either operand of maximum and minimum gives NaN; fmax and fmin ignore it. NaN is chosen by
// the bits of a mask: tests that follow each other become branches, which nobody predicts.
#define FC_FLOAT(t, T, U, f, INF)                                                                  \
    FC_INLINE T fc_absolute_##t(T a) { return fabs##f(a); }                                        \
    FC_INLINE T fc_sqrt_##t(T a) { return sqrt##f(a); }                                            \
    FC_INLINE T fc_rint_##t(T a) { return rint##f(a); }                                            \
    FC_INLINE T fc_floor_##t(T a) { return floor##f(a); }                                          \
    FC_INLINE T fc_ceil_##t(T a) { return ceil##f(a); }                                            \
    FC_INLINE T fc_trunc_##t(T a) { return trunc##f(a); }                                          \
    FC_INLINE T fc_sign_##t(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a; }      \
    FC_INLINE T fc_either_##t(bool first, T a, T b) {                                              \
        U u, v;                                                                                    \
        const U mask = -(U)first;                                                                  \
        memcpy(&u, &a, sizeof u);                                                                  \
        memcpy(&v, &b, sizeof v);                                                                  \
        u = (u & mask) | (v & ~mask);                                                              \
        memcpy(&a, &u, sizeof a);                                                                  \
        return a;                                                                                  \
    }                                                                                              \
    FC_INLINE T fc_maximum_##t(T a, T b) { return fc_either_##t(a != a, a, a > b ? a : b); }       \
    FC_INLINE T fc_minimum_##t(T a, T b) { return fc_either_##t(a != a, a, a < b ? a : b); }       \
    FC_INLINE T fc_fmax_##t(T a, T b) { return fc_either_##t(a != a, b, a < b ? b : a); }          \
    FC_INLINE T fc_fmin_##t(T a, T b) { return fc_either_##t(a != a, b, a > b ? b : a); }          \
    FC_INLINE T fc_copysign_##t(T a, T b) { return copysign##f(a, b); }                            \
    FC_INLINE T fc_nextafter_##t(T a, T b) { return nextafter##f(a, b); }                          \
    FC_INLINE T fc_heaviside_##t(T a, T b) {                                                       \
        return a != a ? a : a < 0 ? (T)0 : a > 0 ? (T)1 : b;                                       \
    }                                                                                              \
    FC_INLINE bool fc_isinf_##t(T a) { return fabs##f(a) == INF; }                                 \
    FC_INLINE bool fc_isfinite_##t(T a) { return fabs##f(a) < INF; }                               \
    FC_INLINE T fc_fmod_##t(T a, T b) { return fc_mod_##t(a, b); }                                 \
    FC_INLINE T fc_remainder_##t(T a, T b) {                                                       \
        const T m = fc_mod_##t(a, b), sum = m + b;                                                 \
        const T moved = (b < 0) != (m < 0) ? sum : m;                                              \
        return b != 0 && m == 0 ? copysign##f((T)0, b) : moved;                                    \
    }                                                                                              \
    FC_INLINE T fc_floor_divide_##t(T a, T b) {                                                    \
        const T m = fc_mod_##t(a, b), ratio = a / b, exact = (a - m) / b;                          \
        const T q = m != 0 && (b < 0) != (m < 0) ? exact - (T)1 : exact, whole = floor##f(q);      \
        const T near = q - whole > (T)0.5 ? whole + (T)1 : whole;                                  \
        const T found = q == 0 ? copysign##f((T)0, ratio) : near;                                  \
        return b == 0 ? ratio : found;                                                             \
    }

FC_FLOAT(f32, float, uint32_t, f, HUGE_VALF)
FC_FLOAT(f64, double, uint64_t, , HUGE_VAL)

FC_INLINE bool fc_signbit_f32(float a) { return copysignf(1.0f, a) < 0; }
FC_INLINE bool fc_signbit_f64(double a) { return copysign(1.0, a) < 0; }
FC_INLINE float fc_degrees_f32(float a) { return a * (180.0f / 3.14159265358979323846f); }
FC_INLINE double fc_degrees_f64(double a) { return a * (180.0 / 3.14159265358979323846); }
FC_INLINE float fc_radians_f32(float a) { return a * (3.14159265358979323846f / 180.0f); }
FC_INLINE double fc_radians_f64(double a) { return a * (3.14159265358979323846 / 180.0); }
FC_INLINE uint32_t fc_bits_f32(float a) { uint32_t u; memcpy(&u, &a, sizeof u); return u; }
FC_INLINE float fc_float_of(uint32_t u) { float a; memcpy(&a, &u, sizeof a); return a; }
FC_INLINE int64_t fc_min(int64_t a, int64_t b) { return a < b ? a : b; }
FC_INLINE int64_t fc_max(int64_t a, int64_t b) { return a > b ? a : b; }

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
