/* Bits, fused multiply-add, error-free sums and polynomials, for vecmath.h; include that
 * file, not this one.
 *
 * Conventions: `hi`/`lo` pairs are unevaluated sums with |lo| << |hi|;
 * FC_P<n>(x, c0, ..) is c0 + c1*x + .. by Horner's rule, FC_Q<n> the same for floats. */

typedef struct { double hi, lo; } fc_dd;

FC_FN uint64_t fc_bits(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
FC_FN double fc_from_bits(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }
FC_FN uint32_t fc_bits32(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
FC_FN float fc_from_bits32(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }
FC_FN double fc_abs(double x) { return __builtin_fabs(x); }

/* Adding FC_MAGIC to a small double rounds it to an integer and leaves that
 * integer, in two's complement, in the low bits of the sum. */
#define FC_MAGIC 0x1.8p52
#define FC_SIGN_BIT 0x8000000000000000u
#define FC_ONE_BITS 0x3ff0000000000000u

/* `usual`, or where that will not do, what `rare` computes; the interpreter calls `rare` with
 * those elements alone. */
#define FC_SELDOM(test, rare, x, usual) ((test) != 0 ? rare(x) : (usual))

FC_FN double fc_pow2(uint64_t n) { return fc_from_bits((n + 1023) << 52); }

/* Both let NaN through, and each is one minimum; two bounds in a row would become
 * masks and blends. */
FC_FN double fc_cap(double x, double bound) { return x > bound ? bound : x; }
FC_FN double fc_limit(double x, double bound) {
    return __builtin_copysign(fc_cap(fc_abs(x), bound), x);
}

FC_FN fc_dd fc_fast_sum(double a, double b) {   /* needs |a| >= |b| or a == 0 */
    fc_dd s;
    s.hi = a + b;
    s.lo = (a - s.hi) + b;
    return s;
}

FC_FN fc_dd fc_sum(double a, double b) {
    fc_dd s;
    s.hi = a + b;
    double bb = s.hi - a;
    s.lo = (a - (s.hi - bb)) + (b - bb);
    return s;
}

/* ---- fused multiply-add ---------------------------------------------------------
 *
 * fc_fma is that of IEEE 754, and fc_mul a product and its error, where |a| and |b| are
 * below 2^990, a*b does not overflow, and bits of a*b below the least subnormal do not
 * count (as in a + b*c beside an everyday a).  Elsewhere, also at infinity, nothing is
 * promised, and no result may depend on it.  Where the processor has no such instruction
 * both are computed, to the same bits (Boldo and Melquiond, 2008): the product in two
 * words (Veltkamp, Dekker), two sums, and a last one whose small term is rounded to
 * odd, so that nothing is rounded twice.
 */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMA)

FC_FN double fc_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
FC_FN float fc_fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

FC_FN fc_dd fc_mul(double a, double b) {
    fc_dd p;
    p.hi = a * b;
    p.lo = fc_fma(a, b, -p.hi);
    return p;
}

#else

FC_FN fc_dd fc_mul(double a, double b) {
    double wide = 0x1.0000002p27, ca = wide * a, cb = wide * b;
    double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
    fc_dd p;
    p.hi = a * b;
    p.lo = ((ah * bh - p.hi) + ah * bl + al * bh) + al * bl;
    return p;
}

/* Masks by choices between doubles, which SSE2 has; it has none between 64-bit integers. */
#define FC_MASK(condition, bits) fc_bits((condition) ? fc_from_bits(bits) : 0.0)

/* a + b; where that is not a double, the one of its two neighbours that is odd */
FC_FN double fc_odd_sum(double a, double b) {
    fc_dd s = fc_sum(a, b);
    uint64_t u = fc_bits(s.hi), inexact = FC_MASK(s.lo != 0.0, 1);
    uint64_t step = inexact & ~u, down = (u ^ fc_bits(s.lo)) >> 63;
    return fc_from_bits(u + step - 2 * (step & down));
}

FC_FN double fc_fma(double a, double b, double c) {
    fc_dd p = fc_mul(a, b), u = fc_sum(c, p.lo), v = fc_sum(p.hi, u.hi);
    double r = v.hi + fc_odd_sum(u.lo, v.lo);
    return r == 0.0 ? p.hi + c : r;                    /* for the sign of zero */
}

/* The product of floats is a double; their sum is rounded to odd, then to a float. */
FC_FN float fc_fmaf(float a, float b, float c) {
    return (float)fc_odd_sum((double)a * (double)b, (double)c);
}

#endif

#define FC_P1(x, a) (a)
#define FC_P2(x, a, ...) fc_fma(FC_P1(x, __VA_ARGS__), x, a)
#define FC_P3(x, a, ...) fc_fma(FC_P2(x, __VA_ARGS__), x, a)
#define FC_P4(x, a, ...) fc_fma(FC_P3(x, __VA_ARGS__), x, a)
#define FC_P5(x, a, ...) fc_fma(FC_P4(x, __VA_ARGS__), x, a)
#define FC_P6(x, a, ...) fc_fma(FC_P5(x, __VA_ARGS__), x, a)
#define FC_P7(x, a, ...) fc_fma(FC_P6(x, __VA_ARGS__), x, a)
#define FC_P8(x, a, ...) fc_fma(FC_P7(x, __VA_ARGS__), x, a)
#define FC_P9(x, a, ...) fc_fma(FC_P8(x, __VA_ARGS__), x, a)
#define FC_P10(x, a, ...) fc_fma(FC_P9(x, __VA_ARGS__), x, a)
#define FC_P11(x, a, ...) fc_fma(FC_P10(x, __VA_ARGS__), x, a)
#define FC_P12(x, a, ...) fc_fma(FC_P11(x, __VA_ARGS__), x, a)
#define FC_P13(x, a, ...) fc_fma(FC_P12(x, __VA_ARGS__), x, a)
#define FC_P14(x, a, ...) fc_fma(FC_P13(x, __VA_ARGS__), x, a)
#define FC_P15(x, a, ...) fc_fma(FC_P14(x, __VA_ARGS__), x, a)
#define FC_P16(x, a, ...) fc_fma(FC_P15(x, __VA_ARGS__), x, a)
#define FC_P17(x, a, ...) fc_fma(FC_P16(x, __VA_ARGS__), x, a)
#define FC_P18(x, a, ...) fc_fma(FC_P17(x, __VA_ARGS__), x, a)
#define FC_P19(x, a, ...) fc_fma(FC_P18(x, __VA_ARGS__), x, a)
#define FC_P20(x, a, ...) fc_fma(FC_P19(x, __VA_ARGS__), x, a)
#define FC_P21(x, a, ...) fc_fma(FC_P20(x, __VA_ARGS__), x, a)
#define FC_P22(x, a, ...) fc_fma(FC_P21(x, __VA_ARGS__), x, a)
#define FC_P23(x, a, ...) fc_fma(FC_P22(x, __VA_ARGS__), x, a)
#define FC_P24(x, a, ...) fc_fma(FC_P23(x, __VA_ARGS__), x, a)

/* x, or 0 where a float has no digits for x next to 1.  Of anything smaller the powers are
 * subnormal, and a processor takes a hundred times as long for those. */
FC_FN float fc_felt_f(float x) {
    uint32_t u = fc_bits32(x);   /* masked, or gcc would choose between products of x and of 0 */
    return fc_from_bits32(u & -(uint32_t)((u << 1) >= 97u << 24));
}

#define FC_Q1(x, a) (a)
#define FC_Q2(x, a, ...) fc_fmaf(FC_Q1(x, __VA_ARGS__), x, a)
#define FC_Q3(x, a, ...) fc_fmaf(FC_Q2(x, __VA_ARGS__), x, a)
#define FC_Q4(x, a, ...) fc_fmaf(FC_Q3(x, __VA_ARGS__), x, a)
#define FC_Q5(x, a, ...) fc_fmaf(FC_Q4(x, __VA_ARGS__), x, a)
#define FC_Q6(x, a, ...) fc_fmaf(FC_Q5(x, __VA_ARGS__), x, a)
#define FC_Q7(x, a, ...) fc_fmaf(FC_Q6(x, __VA_ARGS__), x, a)
#define FC_Q8(x, a, ...) fc_fmaf(FC_Q7(x, __VA_ARGS__), x, a)
#define FC_Q9(x, a, ...) fc_fmaf(FC_Q8(x, __VA_ARGS__), x, a)
