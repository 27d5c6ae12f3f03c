/* Remainders, exact, for vecmath.h; include that file, not this one.
 *
 * C's fmod subtracts bit by bit.  But if the quotient has at most 53 bits, q = trunc(x / y), of
 * the rounded quotient, is right or one too large: rounding keeps the order, and q is a double.
 * So |x| - q |y| is in [-|y|, |y|) and a multiple of the last place of both, which makes it a
 * double: the fused multiply-add is exact, and so is adding |y| where it is negative.  Where there
 * is none, fc_fma cuts |y| in two, which the largest numbers are too large for. */
FC_FN double fc_mod_f64(double x, double y) { return fmod(x, y); }
FC_FN float fc_mod_f32(float x, float y) { return fmodf(x, y); }

FC_FN fc_attempt_f64 fc_mod_near_f64(double x, double y) {
    double a = fc_abs(x), b = fc_abs(y), t = a / b;
    double r = fc_fma(-__builtin_trunc(t), b, a);
    int near = (t < 0x1p53) & (b < 0x1p990);
    fc_attempt_f64 s = { __builtin_copysign(r < 0 ? r + b : r, x), -(uint64_t)!near };
    return s;
}

/* The product of 29 bits and a float is a double. */
FC_FN fc_attempt_f32 fc_mod_near_f32(float x, float y) {
    double a = fc_abs(x), b = fc_abs(y), t = a / b;
    double r = a - __builtin_trunc(t) * b;
    int near = (t < 0x1p29) & (b < __builtin_inf());
    fc_attempt_f32 s = { (float)__builtin_copysign(r < 0 ? r + b : r, (double)x), -(uint32_t)!near };
    return s;
}
