/* Elementary functions as scalar code that gcc vectorises: a plain loop
 *     for (i = 0; i < n; i++) out[i] = fc_exp_f64(x[i]);
 * becomes vector code, and as body and tail run the same operations, the bits of an
 * element never depend on where it stands.  There are no branches (ternaries become
 * blends), no calls but pow's and, but for sin, cos and tan in double, no tables.
 *
 * Built for: -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv, with FMA
 * (-march=native).  Not for -ffast-math, which would undo the error-free sums.  Without
 * FMA every function is the C library's under its name here.
 *
 * Each function stands as fc_<name>_f64 and fc_<name>_f32.  Special values are those of
 * C99 Annex F.  The errors are the largest seen against mpmath, in ULP, over 15 000
 * arguments of each: everyday ones, all magnitudes, and the neighbourhood of 1.
 *
 *   name        f64    f32    method
 *   exp         0.70   0.51   x = n ln 2 + r, polynomial for e^r - 1, 2^n in two factors
 *   exp2        0.57   0.51   the same from r = x - n; exact for whole x
 *   expm1       0.79   0.51   2^n ((1 - 2^-n) + (e^r - 1))
 *   log         0.66   0.50   x = 2^k (1 + f), series in f / (2 + f), k ln 2 in two words
 *   log2        0.69   0.50   log(1 + f) in two words times log2 e; exact for powers of 2
 *   log10       0.62   0.50   the same times log10 e; whole for powers of 10
 *   log1p       0.69   0.50   1 + x and its rounding error through the logarithm
 *   sin         0.67   0.50   Payne-Hanek reduction for all x, two polynomials, a choice
 *   cos         0.69   0.50   the same a quarter turn on
 *   tan         0.82   0.51   sin / cos in two words
 *   arcsin      0.59   0.51   polynomial to 1/2; above, from sqrt((1 - x) / 2)
 *   arccos      0.56   0.51   the same
 *   arctan      0.59   0.50   reduced by 0, pi/4 or pi/2 to below tan(pi/8), polynomial
 *   arctan2     1.00   0.50   the same from the ratio in two words
 *   sinh        0.95   0.51   (t + t / (t + 1)) / 2 with t = e^x - 1 in two words
 *   cosh        0.73   0.50   (e^x + 1 / e^x) / 2
 *   tanh        0.63   0.50   (1 - e^-2x) / (1 + e^-2x) in two words
 *   arcsinh     0.87   0.50   log1p of x + sqrt(x^2 + 1) - 1
 *   arccosh     0.54   0.50   log1p of x - 1 + sqrt(x^2 - 1) in two words
 *   arctanh     0.72   0.50   log1p of 2x / (1 - x) in two words
 *   expit       0.70   0.50   1 / (1 + e^-x) in two words
 *   logaddexp   1.06   0.67   larger + log1p(e^-difference)
 *   erf         0.82   0.50   polynomial to 1; above, 1 - erfc
 *   erfc        1.69   0.50   e^(-x^2) p((x - 4) / (x + 4)) / (1 + 2x); near 0, 1 - erf
 *   pow         0.51   0.51   f64: the C library; f32: 2^(y log2 x) in double
 *   cbrt        0.50   0.51   z^(-1/3) by polynomial and one step, then a corrected product
 *   hypot       0.50   0.50   root of the sum of squares in two words, scaled
 *
 * The float functions compute in double with short polynomials.  logaddexp is within
 * 1 ULP of the larger term; where the sum cancels to nearly 0 so do its digits, as
 * NumPy's do.  pow_f64 is the C library's, not vectorised: its results for powers of
 * ten, misrounded ones included, are what NumPy users see. */
#ifndef FUSECUDA_VECMATH_H
#define FUSECUDA_VECMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define FC_FN static inline __attribute__((always_inline))
#else
#define FC_FN static inline
#endif

FC_FN double fc_pow_f64(double x, double y) { return pow(x, y); }

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)

#include "vecmath_f64.h"
#include "vecmath_f32.h"

#else

#define FC_LIBM1(name, libm) \
    FC_FN double fc_##name##_f64(double x) { return libm(x); } \
    FC_FN float fc_##name##_f32(float x) { return libm##f(x); }
#define FC_LIBM2(name, libm) \
    FC_FN double fc_##name##_f64(double x, double y) { return libm(x, y); } \
    FC_FN float fc_##name##_f32(float x, float y) { return libm##f(x, y); }

FC_LIBM1(exp, exp)
FC_LIBM1(exp2, exp2)
FC_LIBM1(expm1, expm1)
FC_LIBM1(log, log)
FC_LIBM1(log2, log2)
FC_LIBM1(log10, log10)
FC_LIBM1(log1p, log1p)
FC_LIBM1(sin, sin)
FC_LIBM1(cos, cos)
FC_LIBM1(tan, tan)
FC_LIBM1(arcsin, asin)
FC_LIBM1(arccos, acos)
FC_LIBM1(arctan, atan)
FC_LIBM1(sinh, sinh)
FC_LIBM1(cosh, cosh)
FC_LIBM1(tanh, tanh)
FC_LIBM1(arcsinh, asinh)
FC_LIBM1(arccosh, acosh)
FC_LIBM1(arctanh, atanh)
FC_LIBM1(cbrt, cbrt)
FC_LIBM1(erf, erf)
FC_LIBM1(erfc, erfc)
FC_LIBM2(arctan2, atan2)
FC_LIBM2(hypot, hypot)

FC_FN float fc_pow_f32(float x, float y) { return powf(x, y); }
FC_FN float fc_expit_f32(float x) { return (float)(1.0 / (1.0 + exp(-(double)x))); }
FC_FN double fc_expit_f64(double x) {
    double e = exp(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

FC_FN double fc_logaddexp_f64(double x, double y) {
    double big = x > y ? x : y, r = big + log1p(exp(-fabs(x - y)));
    r = x == y ? x + 0x1.62e42fefa39efp-1 : r;
    return x != x || y != y ? x + y : r;
}
FC_FN float fc_logaddexp_f32(float x, float y) { return (float)fc_logaddexp_f64(x, y); }

#endif
#endif
