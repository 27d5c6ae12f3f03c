/* Arithmetic of complex numbers, written for doubles: the text for floats is made of it
 * (`complex_text` of codegen/texts.py), so no constant stands here that is not whole.
 *
 * Products are (ac - bd) + (ad + bc)i; quotients and reciprocals are scaled by the larger part
 * of the divisor (R. L. Smith, "Algorithm 116: Complex division", 1962), as NumPy computes them.
 * FC_ROUNDED keeps GCC 12 from making one instruction of a product and a sum or difference, which it
 * does where both parts are vectorised together, -ffp-contract=off notwithstanding; and NVRTC, which
 * does so wherever it can.
 * In the intersection of C11 and C++17, and of what translate.py reads. */

FC_FN fc_c128 fc_make_c128(double re, double im) {
    fc_c128 z;
    z.re = re;
    z.im = im;
    return z;
}

FC_FN fc_c128 fc_join_f64(double re, double im) { return fc_make_c128(re, im); }
FC_FN double fc_real_c128(fc_c128 a) { return a.re; }
FC_FN double fc_imag_c128(fc_c128 a) { return a.im; }
FC_FN fc_c128 fc_conjugate_c128(fc_c128 a) { return fc_make_c128(a.re, -a.im); }
FC_FN fc_c128 fc_negative_c128(fc_c128 a) { return fc_make_c128(-a.re, -a.im); }
FC_FN fc_c128 fc_add_c128(fc_c128 a, fc_c128 b) { return fc_make_c128(a.re + b.re, a.im + b.im); }
FC_FN fc_c128 fc_subtract_c128(fc_c128 a, fc_c128 b) {
    return fc_make_c128(a.re - b.re, a.im - b.im);
}
FC_FN fc_c128 fc_multiply_c128(fc_c128 a, fc_c128 b) {
    return fc_make_c128(FC_ROUNDED(a.re * b.re) - FC_ROUNDED(a.im * b.im),
                        FC_ROUNDED(a.re * b.im) + FC_ROUNDED(a.im * b.re));
}
FC_FN fc_c128 fc_square_c128(fc_c128 a) {
    return fc_make_c128(FC_ROUNDED(a.re * a.re) - FC_ROUNDED(a.im * a.im),
                        FC_ROUNDED(a.re * a.im) + FC_ROUNDED(a.im * a.re));
}
FC_FN double fc_absolute_c128(fc_c128 a) { return fc_hypot_f64(a.re, a.im); }

FC_FN fc_c128 fc_divide_c128(fc_c128 a, fc_c128 b) {
    double size_re = fc_absolute_f64(b.re), size_im = fc_absolute_f64(b.im);
    double large = size_re >= size_im ? b.re : b.im, small = size_re >= size_im ? b.im : b.re;
    double ratio = small / large, scale = 1 / (large + FC_ROUNDED(small * ratio));
    double by_re = FC_ROUNDED(a.re * ratio), by_im = FC_ROUNDED(a.im * ratio);
    double re = size_re >= size_im ? a.re + by_im : by_re + a.im;
    double im = size_re >= size_im ? a.im - by_re : by_im - a.re;
    return fc_make_c128((size_re == 0 && size_im == 0) ? a.re / size_re : re * scale,
                        (size_re == 0 && size_im == 0) ? a.im / size_re : im * scale);
}

FC_FN fc_c128 fc_reciprocal_c128(fc_c128 a) {
    double size_re = fc_absolute_f64(a.re), size_im = fc_absolute_f64(a.im);
    double large = size_im <= size_re ? a.re : a.im, small = size_im <= size_re ? a.im : a.re;
    double ratio = small / large, below = large + FC_ROUNDED(small * ratio);
    return fc_make_c128((size_im <= size_re ? 1 : ratio) / below,
                        (size_im <= size_re ? -ratio : -1) / below);
}

FC_FN bool fc_equal_c128(fc_c128 a, fc_c128 b) { return a.re == b.re && a.im == b.im; }
FC_FN bool fc_not_equal_c128(fc_c128 a, fc_c128 b) { return a.re != b.re || a.im != b.im; }
FC_FN bool fc_truth_c128(fc_c128 a) { return a.re != 0 || a.im != 0; }
FC_FN bool fc_isnan_c128(fc_c128 a) { return a.re != a.re || a.im != a.im; }
FC_FN bool fc_isinf_c128(fc_c128 a) { return fc_isinf_f64(a.re) || fc_isinf_f64(a.im); }
FC_FN bool fc_isfinite_c128(fc_c128 a) { return fc_isfinite_f64(a.re) && fc_isfinite_f64(a.im); }
