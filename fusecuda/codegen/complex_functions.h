/* Functions of complex doubles from those of real ones; those of complex floats are computed in
 * double. Special values are those of C99 Annex G.6. Errors are small beside the whole result,
 * not beside each part: within 4 units of 2^-53 of its absolute value. */

FC_FN fc_c128 fc_wide_c64(fc_c64 a) { return fc_make_c128(a.re, a.im); }
FC_FN fc_c64 fc_narrow_c128(fc_c128 a) { return fc_make_c64((float)a.re, (float)a.im); }

#define FC_LN2 0x1.62e42fefa39efp-1

/* Choices are between values that are there, for gcc makes vectors of no others: a function on one
 * side of a condition would be a branch. */
#define FC_MOST 0x1.fffffffffffffp1023

/* e^a.re alone may overflow */
FC_FN fc_c128 fc_exp_c128(fc_c128 a) {
    double whole = fc_exp_f64(a.re), half = fc_exp_f64(a.re * 0.5);
    double c = fc_cos_f64(a.im), s = fc_sin_f64(a.im);
    double re = whole > FC_MOST ? c * half * half : c * whole;
    double im = whole > FC_MOST ? s * half * half : s * whole;
    double size = a.re > 0 ? a.re : 0.0, wide = a.re > 0 ? im : 0.0;
    bool wild = fc_isfinite_f64(a.im) == 0 && fc_isinf_f64(a.re);
    re = wild ? size : re;
    im = wild ? wide : im;
    return fc_make_c128(a.im == 0 ? whole : re, a.im == 0 ? a.im : im);
}

FC_FN fc_c128 fc_log_c128(fc_c128 a) {
    double x = fc_absolute_f64(a.re), y = fc_absolute_f64(a.im);
    double large = x > y ? x : y, small = x > y ? y : x;
    double near = 0.5 * fc_log1p_f64((large - 1.0) * (large + 1.0) + small * small);
    double scale = large < 0x1.0p-900 ? 0x1.0p600 : large > 0x1.0p1000 ? 0x1.0p-600 : 1.0;
    double back = large < 0x1.0p-900 ? -600.0 : large > 0x1.0p1000 ? 600.0 : 0.0;
    double size = fc_log_f64(fc_hypot_f64(a.re * scale, a.im * scale)) + back * FC_LN2;
    return fc_make_c128((large > 0.5 && large < 2.0) ? near : size, fc_arctan2_f64(a.im, a.re));
}

FC_FN fc_c128 fc_sqrt_c128(fc_c128 a) {
    double x = fc_absolute_f64(a.re), y = fc_absolute_f64(a.im), large = x > y ? x : y;
    double scale = large > 0x1.0p1000 ? 0x1.0p-600 : large < 0x1.0p-900 ? 0x1.0p600 : 1.0;
    double back = large > 0x1.0p1000 ? 0x1.0p300 : large < 0x1.0p-900 ? 0x1.0p-300 : 1.0;
    double xs = x * scale, ys = y * scale;
    double root = fc_sqrt_f64((xs + fc_hypot_f64(xs, ys)) * 0.5), ratio = ys / (root + root);
    double rest = root == 0 ? 0.0 : ratio, sum = x + y, bare = a.im != a.im ? a.im : 0.0;
    double re = (a.re < 0 ? rest : root) * back, im = (a.re < 0 ? root : rest) * back;
    double far = a.re > 0 ? x : bare, up = a.re > 0 ? bare : x;
    re = x > FC_MOST ? far : re;
    im = x > FC_MOST ? up : im;
    re = y > FC_MOST ? y : re;
    im = y > FC_MOST ? y : im;
    bool odd = sum != sum && (x > FC_MOST) == 0 && (y > FC_MOST) == 0;
    double side = fc_copysign_f64(im, a.im);
    return fc_make_c128(odd ? sum : re, odd ? sum : side);
}

/* sinh x, and cosh x, times t; where they overflow, (e^|x|/2)^2 / 2 */
FC_FN double fc_sinh_times(double x, double t) {
    double half = fc_exp_f64(fc_absolute_f64(x) * 0.5), s = fc_sinh_f64(x);
    return fc_isinf_f64(s) ? fc_copysign_f64(0.5, x) * t * half * half : s * t;
}
FC_FN double fc_cosh_times(double x, double t) {
    double half = fc_exp_f64(fc_absolute_f64(x) * 0.5), c = fc_cosh_f64(x);
    return fc_isinf_f64(c) ? 0.5 * t * half * half : c * t;
}

FC_FN fc_c128 fc_sinh_c128(fc_c128 a) {
    double re = fc_sinh_times(a.re, fc_cos_f64(a.im)), im = fc_cosh_times(a.re, fc_sin_f64(a.im));
    bool wild = fc_isfinite_f64(a.im) == 0;
    re = wild && (a.re == 0 || fc_isinf_f64(a.re)) ? a.re : a.im == 0 ? fc_sinh_f64(a.re) : re;
    return fc_make_c128(re, a.im == 0 ? a.im : im);
}

FC_FN fc_c128 fc_cosh_c128(fc_c128 a) {
    double re = fc_cosh_times(a.re, fc_cos_f64(a.im)), im = fc_sinh_times(a.re, fc_sin_f64(a.im));
    bool wild = fc_isfinite_f64(a.im) == 0;
    double zero = fc_copysign_f64(0.0, a.re) * fc_copysign_f64(1.0, a.im);
    re = wild && fc_isinf_f64(a.re) ? fc_absolute_f64(a.re) : a.im == 0 ? fc_cosh_f64(a.re) : re;
    return fc_make_c128(re, (a.im == 0 || (wild && a.re == 0)) ? zero : im);
}

/* sin z = -i sinh(iz), cos z = cosh(iz) */
FC_FN fc_c128 fc_sin_c128(fc_c128 a) {
    fc_c128 s = fc_sinh_c128(fc_make_c128(-a.im, a.re));
    return fc_make_c128(s.im, -s.re);
}
FC_FN fc_c128 fc_cos_c128(fc_c128 a) { return fc_cosh_c128(fc_make_c128(-a.im, a.re)); }

FC_FN fc_c64 fc_exp_c64(fc_c64 a) { return fc_narrow_c128(fc_exp_c128(fc_wide_c64(a))); }
FC_FN fc_c64 fc_log_c64(fc_c64 a) { return fc_narrow_c128(fc_log_c128(fc_wide_c64(a))); }
FC_FN fc_c64 fc_sqrt_c64(fc_c64 a) { return fc_narrow_c128(fc_sqrt_c128(fc_wide_c64(a))); }
FC_FN fc_c64 fc_sin_c64(fc_c64 a) { return fc_narrow_c128(fc_sin_c128(fc_wide_c64(a))); }
FC_FN fc_c64 fc_cos_c64(fc_c64 a) { return fc_narrow_c128(fc_cos_c128(fc_wide_c64(a))); }
FC_FN fc_c64 fc_sinh_c64(fc_c64 a) { return fc_narrow_c128(fc_sinh_c128(fc_wide_c64(a))); }
FC_FN fc_c64 fc_cosh_c64(fc_c64 a) { return fc_narrow_c128(fc_cosh_c128(fc_wide_c64(a))); }
