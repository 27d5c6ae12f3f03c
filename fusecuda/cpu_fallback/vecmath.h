/* Elementary functions as scalar code that gcc vectorises: a plain loop
 *     for (i = 0; i < n; i++) out[i] = fc_exp_f64(x[i]);
 * becomes vector code, and as body and tail run the same operations, the bits of an
 * element never depend on where it stands.  There are no branches (ternaries become
 * blends), no calls and few tables: 2/pi for large angles in double, and of 16 places for
 * logarithms and powers, in double for inverse hyperbolics and arctan (vecmath_log_f64.h) and in
 * float for tanh, erf and arctan2 (vecmath_tables.h).  Where gcc calls vector functions
 * (vecmath_packs.h, vecmath_lookups.h), a table is looked up for a pack at once, by permuting
 * registers, and packs are tested at once: for angles that need the long way, and for powers and
 * operands of logarithms, inverse hyperbolics and arctan2 that are not everyday.
 *
 * Bits and errors are the same with every compiler and on every processor with IEEE 754
 * arithmetic: nothing is used but operations that are rounded alike everywhere, where
 * there is no fused multiply-add it is computed (vecmath_exact.h), and without a compiler
 * the same text is carried out by NumPy (translate.py).  docs/machines.md has the digests.
 *
 * Built for: -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv.  Not for
 * -ffast-math, which would undo the error-free sums.
 *
 * Each function stands as fc_<name>_f64 and fc_<name>_f32.  Special values are those of
 * C99 Annex F.  The errors are the largest seen, in ULP, against mpmath over 15 000
 * arguments of each, for most doubles against long doubles over two million: everyday ones, all
 * magnitudes, and the neighbourhoods of 0 and 1.  For the functions of one operand in float
 * arithmetic (vecmath_single.h, and sin, cos and tan) they are bounds that every float there is
 * was tried against.
 *
 *   name        f64    f32    method
 *   exp         0.86   0.91   x = n ln 2 + r, polynomial for e^r - 1, n added to its exponent
 *   exp2        0.79   0.88   2^r from r = x - n; exact for whole x
 *   expm1       0.91   0.90   2^n ((1 - 2^-n) + (e^r - 1))
 *   log         0.55   1.00   x = 2^k z, z r = 1 + f by a table of r and log r; polynomial in f
 *   log2        0.53   0.90   the same times log2 e in two words; exact for powers of 2
 *   log10       0.54   1.00   the same times log10 e; whole for powers of 10
 *   log1p       0.54   1.00   the same of 1 + x and its rounding error
 *   sin         0.67   0.90   pi/2 in two words, or Payne-Hanek; two polynomials, a choice
 *   cos         0.69   0.90   the same a quarter turn on
 *   tan         0.82   0.85   sin / cos in two words; f32: polynomial, and -1 / it
 *   arcsin      0.63   0.75   polynomial to 1/2; above, from sqrt((1 - x) / 2)
 *   arccos      0.60   0.96   the same
 *   arctan      0.58   0.92   a rotation by one of 16 angles to a small ratio, polynomial;
 *                             f32: reduced by 0, pi/4 or pi/2
 *   arctan2     1.25   0.75   reduced by 0, pi/4 or pi/2; 0.65 for ratios above 2^-900; f32: as erf
 *   sinh        0.78   0.95   2^n, 2^-n, sinh r and cosh r; f32: below 1 a polynomial
 *   cosh        0.70   0.98   the same
 *   tanh        0.75   1.00   -u / (2 + u) with u = e^-2x - 1 in two words; f32: as erf
 *   arcsinh     0.54   0.92   log of x + sqrt(x^2 + 1) in two words
 *   arccosh     0.55   0.95   log of x + sqrt(x^2 - 1) in two words
 *   arctanh     0.57   0.92   log1p of 2x / (1 - x) in two words
 *   expit       0.75   0.81   1 or e^-|x|, over 1 + e^-|x| in two words
 *   logaddexp   1.06   0.67   larger + log1p(e^-difference)
 *   erf         0.82   0.77   polynomial to 1; above, 1 - erfc; f32: polynomials of a table
 *   erfc        1.69   0.50   e^(-x^2) p((x - 4) / (x + 4)) / (1 + 2x); near 0, 1 - erf
 *   pow         0.57   0.51   e^(y log x), the logarithm in two words, to 2^-66; f32: in double
 *   cbrt        0.50   0.51   x^(-1/3) from the exponent in two steps, then a corrected product
 *   hypot       0.50   0.50   root of the sum of squares in two words, scaled
 *
 * The other float functions (pow, erfc, logaddexp, hypot) compute in double with short
 * polynomials.  logaddexp is within 1 ULP of the larger term; where the sum cancels to nearly 0
 * so do its digits, as NumPy's do.  pow_f64 errs by 0.51 ULP at most where the result is not
 * beyond e^+-20, by more only for bases next to 1 with exponents of hundreds; all powers of ten
 * and all results that are doubles are right.
 *
 * SciPy's special functions have headers of their own (vecmath_gamma.h, vecmath_normal.h,
 * vecmath_special.h); docs/functions.md has
 * their errors. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define FC_FN static inline __attribute__((always_inline))
#else
#define FC_FN static inline
#endif

#include "vecmath_exact.h"
#include "vecmath_f64.h"
#include "vecmath_log_f64.h"
#include "vecmath_trig_f64.h"
#include "vecmath_single.h"
#include "vecmath_tables.h"
#include "vecmath_pairs.h"
#include "vecmath_f32.h"
#include "vecmath_mod.h"
#include "vecmath_packs.h"
#include "vecmath_lookups.h"
