/* x to a known small whole power, or half of one: a few products in two words, whose errors are
 * known, within 0.51 ULP.  Where there is no error to be known, since the power is subnormal,
 * infinite or no number, that is what the product gives.  Of floats the products of doubles are rounded. */

#define FC_NORMAL 2.2250738585072014e-308
typedef struct { double hi, lo; } fc_two;

FC_FN fc_two fc_two_of(double hi, double lo) {
    fc_two r;
    r.hi = hi;
    r.lo = lo;
    return r;
}
FC_FN fc_two fc_squared(double x) {
    double p = FC_ROUNDED(x * x);
    return fc_two_of(p, fc_fma(x, x, -p));
}
FC_FN fc_two fc_two_times(fc_two a, fc_two b) {
    double p = FC_ROUNDED(a.hi * b.hi), e = fc_fma(a.hi, b.hi, -p);
    return fc_two_of(p, fc_fma(a.hi, b.lo, fc_fma(a.lo, b.hi, e)));
}
FC_FN double fc_one_word(fc_two a) {
    double sum = a.hi + a.lo;
    return a.lo - a.lo == 0.0 && fc_absolute_f64(a.hi) >= FC_NORMAL ? sum : a.hi;
}
FC_FN fc_two fc_inverse(double x) {
    double q = 1.0 / x;
    return fc_two_of(q, q * fc_fma(-q, x, 1.0));
}

/* Powers that are halves: of zeros and infinities those of positive ones. */
FC_FN double fc_rooted(double x) { return x < 0.0 && x + x == x ? -x : x + 0.0; }
FC_FN fc_two fc_inverse_root(double x) {   /* of a small one that of its 2^200-fold, and so on */
    double up = x < 0x1p-800 ? 0x1p200 : x > 0x1p800 ? 0x1p-200 : 1.0;
    double back = x < 0x1p-800 ? 0x1p100 : x > 0x1p800 ? 0x1p-100 : 1.0;
    double s = fc_sqrt_f64(x * up), d = fc_fma(-s, s, x * up), q = 1.0 / s;
    double more = q * fc_fma(-0.5 * d * q, q, fc_fma(-q, s, 1.0));
    return fc_two_of(q * back, more * back);
}

/* Errors of products are doubles where these are not nearly subnormal: a power that would be below
 * 2^-960 is that of x times 2^(960 / n), brought back. */
FC_FN double fc_times_if(int yes, double x, double by) { return x * (yes ? by : 1.0); }

FC_FN double fc_power_3_f64(double a) {
    int small = fc_absolute_f64(a) < 0x1p-320;
    double x = fc_times_if(small, a, 0x1p320);
    double y = fc_one_word(fc_two_times(fc_squared(x), fc_two_of(x, 0.0)));
    return fc_times_if(small, y, 0x1p-960);
}
FC_FN double fc_power_4_f64(double a) {
    int small = fc_absolute_f64(a) < 0x1p-240;
    double x = fc_times_if(small, a, 0x1p240);
    fc_two s = fc_squared(x);
    double y = fc_one_word(fc_two_times(s, s));
    return fc_times_if(small, y, 0x1p-960);
}
FC_FN double fc_power_5_f64(double a) {
    int small = fc_absolute_f64(a) < 0x1p-192;
    double x = fc_times_if(small, a, 0x1p192);
    fc_two s = fc_squared(x);
    double y = fc_one_word(fc_two_times(fc_two_times(s, s), fc_two_of(x, 0.0)));
    return fc_times_if(small, y, 0x1p-960);
}
FC_FN double fc_power_6_f64(double a) {
    int small = fc_absolute_f64(a) < 0x1p-160;
    double x = fc_times_if(small, a, 0x1p160);
    fc_two s = fc_squared(x);
    double y = fc_one_word(fc_two_times(fc_two_times(s, s), s));
    return fc_times_if(small, y, 0x1p-960);
}
FC_FN double fc_power_12_f64(double a) {
    int small = fc_absolute_f64(a) < 0x1p-80;
    double x = fc_times_if(small, a, 0x1p80);
    fc_two s = fc_squared(x), t = fc_two_times(fc_two_times(s, s), s);
    double y = fc_one_word(fc_two_times(t, t));
    return fc_times_if(small, y, 0x1p-960);
}
FC_FN double fc_power_minus_2_f64(double a) {
    int large = fc_absolute_f64(a) > 0x1p480;
    double x = fc_times_if(large, a, 0x1p-480);
    fc_two i = fc_inverse(x);
    double y = fc_one_word(fc_two_times(i, i));
    return fc_times_if(large, y, 0x1p-960);
}
FC_FN double fc_power_minus_3_f64(double a) {
    int large = fc_absolute_f64(a) > 0x1p320;
    double x = fc_times_if(large, a, 0x1p-320);
    fc_two i = fc_inverse(x);
    double y = fc_one_word(fc_two_times(fc_two_times(i, i), i));
    return fc_times_if(large, y, 0x1p-960);
}
FC_FN double fc_power_3_halves_f64(double x) {
    double root = fc_rooted(x);
    int small = root < 0x1p-640;
    double a = fc_times_if(small, root, 0x1p640), s = fc_sqrt_f64(a), d = fc_fma(-s, s, a);
    double p = FC_ROUNDED(a * s);
    double y = fc_one_word(fc_two_of(p, fc_fma(a, s, -p) + 0.5 * s * d));
    return fc_times_if(small, y, 0x1p-960);
}
FC_FN double fc_power_minus_half_f64(double x) {
    return fc_one_word(fc_inverse_root(fc_rooted(x)));
}
FC_FN double fc_power_minus_3_halves_f64(double x) {
    double root = fc_rooted(x);
    int large = root > 0x1p640;
    double a = fc_times_if(large, root, 0x1p-640);
    double y = fc_one_word(fc_two_times(fc_inverse_root(a), fc_inverse(a)));
    return fc_times_if(large, y, 0x1p-960);
}

FC_FN float fc_power_3_f32(float a) { double x = a; return (float)(x * x * x); }
FC_FN float fc_power_4_f32(float a) { double x = a, s = x * x; return (float)(s * s); }
FC_FN float fc_power_5_f32(float a) { double x = a, s = x * x; return (float)(s * s * x); }
FC_FN float fc_power_6_f32(float a) { double x = a, s = x * x; return (float)(s * s * s); }
FC_FN float fc_power_12_f32(float a) {
    double x = a, s = x * x, t = s * s * s;
    return (float)(t * t);
}
FC_FN float fc_power_minus_2_f32(float a) { double x = a; return (float)(1.0 / (x * x)); }
FC_FN float fc_power_minus_3_f32(float a) { double x = a; return (float)(1.0 / (x * x * x)); }
FC_FN float fc_power_3_halves_f32(float a) {
    double x = fc_rooted(a);
    return (float)(x * fc_sqrt_f64(x));
}
FC_FN float fc_power_minus_half_f32(float a) { return (float)(1.0 / fc_sqrt_f64(fc_rooted(a))); }
FC_FN float fc_power_minus_3_halves_f32(float a) {
    double x = fc_rooted(a);
    return (float)(1.0 / (x * fc_sqrt_f64(x)));
}
