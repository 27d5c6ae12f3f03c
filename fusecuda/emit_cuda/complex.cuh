// What the texts of powers and complex numbers (codegen/powers.h, complex.h and others) stand on, by CUDA's
// names, and their sums.
#define FC_FN FC_INLINE

#define FC_PARTS(t, T, f)                                                                          \
    FC_INLINE T fc_absolute_##t(T a) { return fabs##f(a); }                                        \
    FC_INLINE T fc_copysign_##t(T a, T b) { return copysign##f(a, b); }                            \
    FC_INLINE T fc_hypot_##t(T a, T b) { return hypot##f(a, b); }

FC_PARTS(f32, float, f)
FC_PARTS(f64, double, )

// What FC_ROUNDED(a * b) is here: no part of a fused multiply-add.
FC_INLINE float fc_product(float a, float b) { return __fmul_rn(a, b); }
FC_INLINE double fc_product(double a, double b) { return __dmul_rn(a, b); }

FC_INLINE double fc_fma(double a, double b, double c) { return fma(a, b, c); }
FC_INLINE double fc_sqrt_f64(double a) { return sqrt(a); }
FC_INLINE double fc_exp_f64(double a) { return exp(a); }
FC_INLINE double fc_log_f64(double a) { return log(a); }
FC_INLINE double fc_log1p_f64(double a) { return log1p(a); }
FC_INLINE double fc_arctan2_f64(double a, double b) { return atan2(a, b); }
FC_INLINE double fc_sin_f64(double a) { return sin(a); }
FC_INLINE double fc_cos_f64(double a) { return cos(a); }
FC_INLINE double fc_sinh_f64(double a) { return sinh(a); }
FC_INLINE double fc_cosh_f64(double a) { return cosh(a); }

#define FC_COMPLEX_SUM(C, T)                                                                       \
    FC_INLINE C fc_shuffle(C p, int m)                                                             \
    {                                                                                              \
        C other;                                                                                   \
        other.re = fc_shuffle(p.re, m);                                                            \
        other.im = fc_shuffle(p.im, m);                                                            \
        return other;                                                                              \
    }                                                                                              \
    template <>                                                                                    \
    struct fc_sum<C> {                                                                             \
        typedef C P;                                                                               \
        static __device__ __forceinline__ P identity() { return {(T)-0.0, (T)-0.0}; }              \
        static __device__ __forceinline__ P leaf(P v, int64_t) { return v; }                       \
        static __device__ __forceinline__ P combine(P a, P b)                                      \
        {                                                                                          \
            return {a.re + b.re, a.im + b.im};                                                     \
        }                                                                                          \
    };

FC_COMPLEX_SUM(fc_c64, float)
FC_COMPLEX_SUM(fc_c128, double)

// Products and quotients of complex numbers as NVRTC makes them of CuPy's: the last product of each part
// is one with the sum, and a quotient is scaled by the sum of the divisor's parts.
#define FC_COMPLEX_PRODUCTS(c, C, T, f, mul)                                                       \
    FC_INLINE C fc_times_##c(C a, C b)                                                             \
    {                                                                                              \
        return {fma##f(a.re, b.re, -mul(a.im, b.im)), fma##f(a.re, b.im, mul(a.im, b.re))};        \
    }                                                                                              \
    FC_INLINE C fc_squared_##c(C a) { return fc_times_##c(a, a); }                                 \
    FC_INLINE C fc_over_##c(C a, C b)                                                              \
    {                                                                                              \
        const T by = 1 / (fabs##f(b.re) + fabs##f(b.im));                                          \
        const C p = {mul(a.re, by), mul(a.im, by)}, q = {mul(b.re, by), mul(b.im, by)};            \
        const T size = 1 / fma##f(q.re, q.re, mul(q.im, q.im));                                    \
        const T re = fma##f(p.re, q.re, mul(p.im, q.im));                                          \
        const T im = fma##f(p.im, q.re, -mul(p.re, q.im));                                         \
        return {mul(re, size), mul(im, size)};                                                     \
    }                                                                                              \
    FC_INLINE C fc_one_over_##c(C a)                                                               \
    {                                                                                              \
        const C one = {1, 0};                                                                      \
        return fc_over_##c(one, a);                                                                \
    }

FC_COMPLEX_PRODUCTS(c64, fc_c64, float, f, __fmul_rn)
FC_COMPLEX_PRODUCTS(c128, fc_c128, double, , __dmul_rn)
