// CUDA's arithmetic for a host compiler: results of the host's libm, no flush to zero.
#pragma once

// ------------------------------------------------------------------ C functions: NAME and NAMEf
#define EMU_FUNCTIONS1(X) \
    X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) \
    X(exp) X(exp2) X(exp10) X(expm1) X(log) X(log2) X(log10) X(log1p) X(logb) X(sqrt) X(cbrt) \
    X(erf) X(erfc) X(tgamma) X(lgamma) X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint) \
    X(fabs) X(j0) X(j1) X(y0) X(y1)
#define EMU_FUNCTIONS2(X) \
    X(pow) X(fmod) X(remainder) X(atan2) X(hypot) X(copysign) X(nextafter) X(fdim)
#define EMU_FUNCTION1(F) \
    extern "C" double F(double) noexcept; \
    extern "C" float F##f(float) noexcept; \
    EMU_IN float F(float x) { return F##f(x); }
#define EMU_FUNCTION2(F) \
    extern "C" double F(double, double) noexcept; \
    extern "C" float F##f(float, float) noexcept; \
    EMU_IN float F(float x, float y) { return F##f(x, y); } \
    EMU_IN double F(float x, double y) { return F((double)x, y); } \
    EMU_IN double F(double x, float y) { return F(x, (double)y); }
EMU_FUNCTIONS1(EMU_FUNCTION1)
EMU_FUNCTIONS2(EMU_FUNCTION2)
// Of zeros the positive one is the larger one, of a number and NaN the number is both.
#define EMU_EXTREME(T, F, f, A, B) \
    EMU_IN T F(T a, T b) { \
        return a != a ? b : b != b ? a : a == b ? (copysign##f((T)1, a) < 0 ? A : B) : a < b ? A : B; \
    }
EMU_EXTREME(float, fminf, f, a, b)
EMU_EXTREME(float, fmin, f, a, b)
EMU_EXTREME(double, fmin, , a, b)
EMU_EXTREME(float, fmaxf, f, b, a)
EMU_EXTREME(float, fmax, f, b, a)
EMU_EXTREME(double, fmax, , b, a)
EMU_IN double fmin(float a, double b) { return fmin((double)a, b); }
EMU_IN double fmin(double a, float b) { return fmin(a, (double)b); }
EMU_IN double fmax(float a, double b) { return fmax((double)a, b); }
EMU_IN double fmax(double a, float b) { return fmax(a, (double)b); }
#define EMU_FUNCTION_OTHER(R, F, ARGS_D, ARGS_F, PASS, RF) \
    extern "C" R F ARGS_D noexcept; \
    extern "C" RF F##f ARGS_F noexcept; \
    EMU_IN RF F ARGS_F { return F##f PASS; }
EMU_FUNCTION_OTHER(double, fma, (double a, double b, double c), (float a, float b, float c),
                   (a, b, c), float)
EMU_FUNCTION_OTHER(double, ldexp, (double a, int b), (float a, int b), (a, b), float)
EMU_FUNCTION_OTHER(double, scalbn, (double a, int b), (float a, int b), (a, b), float)
EMU_FUNCTION_OTHER(double, frexp, (double a, int *b), (float a, int *b), (a, b), float)
EMU_FUNCTION_OTHER(double, modf, (double a, double *b), (float a, float *b), (a, b), float)
EMU_FUNCTION_OTHER(int, ilogb, (double a), (float a), (a), int)
EMU_FUNCTION_OTHER(long, lrint, (double a), (float a), (a), long)
EMU_FUNCTION_OTHER(long long, llrint, (double a), (float a), (a), long long)
EMU_FUNCTION_OTHER(long long, llround, (double a), (float a), (a), long long)
EMU_FUNCTION_OTHER(void, sincos, (double a, double *s, double *c), (float a, float *s, float *c),
                   (a, s, c), void)
EMU_IN double pow(double x, int y) { return pow(x, (double)y); }
EMU_IN float pow(float x, int y) { return powf(x, (float)y); }

// ------------------------------------------------------------------ CUDA's own functions
EMU_IN float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
EMU_IN double rsqrt(double x) { return 1.0 / sqrt(x); }
EMU_IN float rsqrt(float x) { return rsqrtf(x); }
EMU_IN float rcbrtf(float x) { return (float)(1.0 / cbrt((double)x)); }
EMU_IN double rcbrt(double x) { return 1.0 / cbrt(x); }
EMU_IN double sinpi(double x) { return sin(3.14159265358979323846 * fmod(x, 2.0)); }
EMU_IN double cospi(double x) { return cos(3.14159265358979323846 * fmod(x, 2.0)); }
EMU_IN float sinpif(float x) { return (float)sinpi((double)x); }
EMU_IN float cospif(float x) { return (float)cospi((double)x); }
EMU_IN float fdividef(float x, float y) { return x / y; }
EMU_IN float __fdividef(float x, float y) { return x / y; }
EMU_IN float __expf(float x) { return expf(x); }
EMU_IN float __exp10f(float x) { return exp10f(x); }
EMU_IN float __logf(float x) { return logf(x); }
EMU_IN float __log2f(float x) { return log2f(x); }
EMU_IN float __log10f(float x) { return log10f(x); }
EMU_IN float __sinf(float x) { return sinf(x); }
EMU_IN float __cosf(float x) { return cosf(x); }
EMU_IN float __tanf(float x) { return tanf(x); }
EMU_IN float __powf(float x, float y) { return powf(x, y); }
EMU_IN float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
EMU_IN float __frsqrt_rn(float x) { return rsqrtf(x); }
EMU_IN float __frcp_rn(float x) { return 1.0f / x; }
EMU_IN double __drcp_rn(double x) { return 1.0 / x; }

// ------------------------------------------------------------------ rounded once, never contracted
#define EMU_FMA_f __builtin_fmaf
#define EMU_FMA_d __builtin_fma
#define EMU_ROUNDED(T, P, F) \
    EMU_IN T __##P##add_rn(T a, T b) { return a + b; } \
    EMU_IN T __##P##sub_rn(T a, T b) { return a - b; } \
    EMU_IN T __##P##mul_rn(T a, T b) { return a * b; } \
    EMU_IN T __##P##div_rn(T a, T b) { return a / b; } \
    EMU_IN T __##P##sqrt_rn(T a) { return sqrt(a); } \
    EMU_IN T F(T a, T b, T c) { return EMU_FMA_##P(a, b, c); }
EMU_ROUNDED(float, f, __fmaf_rn)
EMU_ROUNDED(double, d, __fma_rn)

// ------------------------------------------------------------------ classification
#define EMU_CLASSIFY(T) \
    EMU_IN bool isnan(T x) { return __builtin_isnan(x); } \
    EMU_IN bool isinf(T x) { return __builtin_isinf(x) != 0; } \
    EMU_IN bool isfinite(T x) { return __builtin_isfinite(x); } \
    EMU_IN bool signbit(T x) { return __builtin_signbit(x) != 0; }
EMU_CLASSIFY(float)
EMU_CLASSIFY(double)

// ------------------------------------------------------------------ smaller, greater, absolute
#define EMU_LEAST(R, A, B) \
    EMU_IN R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; } \
    EMU_IN R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
#define EMU_LEAST_OF(S, U) EMU_LEAST(S, S, S) EMU_LEAST(U, U, U) EMU_LEAST(U, S, U) EMU_LEAST(U, U, S)
EMU_LEAST_OF(int, unsigned)
EMU_LEAST_OF(long, unsigned long)
EMU_LEAST_OF(long long, unsigned long long)
EMU_IN float min(float a, float b) { return fminf(a, b); }
EMU_IN float max(float a, float b) { return fmaxf(a, b); }
EMU_IN double min(double a, double b) { return fmin(a, b); }
EMU_IN double max(double a, double b) { return fmax(a, b); }
EMU_IN double min(float a, double b) { return fmin((double)a, b); }
EMU_IN double max(float a, double b) { return fmax((double)a, b); }
EMU_IN double min(double a, float b) { return fmin(a, (double)b); }
EMU_IN double max(double a, float b) { return fmax(a, (double)b); }
EMU_IN int abs(int x) { return x < 0 ? (int)(0u - (unsigned)x) : x; }
EMU_IN long abs(long x) { return x < 0 ? (long)(0ul - (unsigned long)x) : x; }
EMU_IN long long abs(long long x) { return x < 0 ? (long long)(0ull - (emu_u64)x) : x; }
EMU_IN long long llabs(long long x) { return abs(x); }
EMU_IN long labs(long x) { return abs(x); }
EMU_IN float abs(float x) { return fabsf(x); }
EMU_IN double abs(double x) { return fabs(x); }

// ------------------------------------------------------------------ conversions that saturate
template <class To, class From> EMU_IN To emu_saturate(From x, To least, To most) {
    if (__builtin_isnan(x)) return To(0);
    return x <= (From)least ? least : x >= (From)most ? most : (To)x;
}
#define EMU_TO_INTEGER(T, P, N, LEAST, MOST) \
    EMU_IN T __##P##2##N##_rz(EMU_REAL_##P x) { return emu_saturate<T>(trunc(x), LEAST, MOST); } \
    EMU_IN T __##P##2##N##_rn(EMU_REAL_##P x) { return emu_saturate<T>(rint(x), LEAST, MOST); } \
    EMU_IN T __##P##2##N##_rd(EMU_REAL_##P x) { return emu_saturate<T>(floor(x), LEAST, MOST); } \
    EMU_IN T __##P##2##N##_ru(EMU_REAL_##P x) { return emu_saturate<T>(ceil(x), LEAST, MOST); }
#define EMU_REAL_float float
#define EMU_REAL_double double
#define EMU_TO_INTEGERS(P) \
    EMU_TO_INTEGER(int, P, int, -0x7fffffff - 1, 0x7fffffff) \
    EMU_TO_INTEGER(unsigned, P, uint, 0u, 0xffffffffu) \
    EMU_TO_INTEGER(long long, P, ll, -0x7fffffffffffffffll - 1, 0x7fffffffffffffffll) \
    EMU_TO_INTEGER(unsigned long long, P, ull, 0ull, 0xffffffffffffffffull)
EMU_TO_INTEGERS(float)
EMU_TO_INTEGERS(double)
EMU_IN float __double2float_rn(double x) { return (float)x; }
EMU_IN float __int2float_rn(int x) { return (float)x; }
EMU_IN float __uint2float_rn(unsigned x) { return (float)x; }
EMU_IN float __ll2float_rn(long long x) { return (float)x; }
EMU_IN float __ull2float_rn(unsigned long long x) { return (float)x; }
EMU_IN double __int2double_rn(int x) { return (double)x; }
EMU_IN double __ll2double_rn(long long x) { return (double)x; }
EMU_IN double __ull2double_rn(unsigned long long x) { return (double)x; }

#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_NAN __builtin_nan("")

// ------------------------------------------------------------------ half
#ifdef __FLT16_MAX__
struct alignas(2) __half {
    unsigned short bits;
    __half() = default;
    __half(float x) { set(x); }
    __half(double x) {
        _Float16 h = (_Float16)x;
        __builtin_memcpy(&bits, &h, 2);
    }
    __half(int x) { set((float)x); }
    operator float() const {
        _Float16 h;
        __builtin_memcpy(&h, &bits, 2);
        return (float)h;
    }
    void set(float x) {
        _Float16 h = (_Float16)x;
        __builtin_memcpy(&bits, &h, 2);
    }
};
EMU_IN float __half2float(__half x) { return (float)x; }
EMU_IN __half __float2half(float x) { return __half(x); }
EMU_IN __half __float2half_rn(float x) { return __half(x); }
EMU_IN __half __double2half(double x) { return __half(x); }
EMU_IN unsigned short __half_as_ushort(__half x) { return x.bits; }
EMU_IN __half __ushort_as_half(unsigned short x) {
    __half h;
    h.bits = x;
    return h;
}
#define EMU_HALF(OP, NAME) \
    EMU_IN __half operator OP(__half a, __half b) { return __half((float)a OP(float) b); } \
    EMU_IN __half NAME(__half a, __half b) { return a OP b; }
EMU_HALF(+, __hadd) EMU_HALF(-, __hsub) EMU_HALF(*, __hmul) EMU_HALF(/, __hdiv)
#define EMU_HALF_COMPARE(OP) \
    EMU_IN bool operator OP(__half a, __half b) { return (float)a OP(float) b; }
EMU_HALF_COMPARE(<) EMU_HALF_COMPARE(<=) EMU_HALF_COMPARE(>) EMU_HALF_COMPARE(>=)
EMU_HALF_COMPARE(==) EMU_HALF_COMPARE(!=)
#else
struct __half;
#endif
typedef __half half;
