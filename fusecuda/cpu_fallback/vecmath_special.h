/* Modified Bessel functions, entropies, and functions put together of others, for vecmath.h;
 * include that file, not this one.  Definitions at zeros and infinities are SciPy's.  The
 * float functions compute in double and round. */

/* ---- modified Bessel functions ------------------------------------------------------- */

/* m e^v; m may be 0 */
FC_FN double fc_times_exp(double m, double v) {
    fc_expo e = fc_expo_of(v);
    fc_dd s = fc_fast_sum(1.0, e.p.hi);
    return fc_scale(fc_fma(m, s.hi, m * (s.lo + e.p.lo)), e.t);
}

/* I0(a) below 8; from there on e^-a I0(a), a polynomial in 16 / a - 1 over sqrt(a) */
FC_FN double fc_i0_core(double a) {
    double z = a < 8.0 ? a * a : 0.0, t = 16.0 / (a < 8.0 ? 8.0 : a) - 1.0;
    double low = FC_P17(z, 0x1.0000000000000p+0, 0x1.0000000000000p-2, 0x1.0000000000002p-6,
        0x1.c71c71c71c6dfp-12, 0x1.c71c71c71cbe1p-18, 0x1.23456789a8318p-24,
        0x1.02e85c08d260ap-31, 0x1.522a43f155552p-39, 0x1.522a444603fe2p-47,
        0x1.0b312ee43b7c5p-55, 0x1.5601c7e411b36p-64, 0x1.69c76363ac35fp-73,
        0x1.41b6c17a09391p-82, 0x1.e56f7ffb05c87p-92, 0x1.46a4446d3e276p-101,
        0x1.31d00bad6ba1ap-111, 0x1.20d247d00eeebp-120);
    double high = FC_P24(t, 0x1.9bd428ad249a5p-2, 0x1.b87969bb93bcbp-9, 0x1.1daa72b5ccfadp-13,
        0x1.75e5ee702e57ap-17, 0x1.8e513c6a21829p-20, 0x1.3f49ac32e14bfp-22,
        0x1.7d0cd4fd1f2b8p-24, 0x1.51ccdc47b6c77p-25, 0x1.7288379f891f7p-26,
        0x1.03bcdeab408e2p-27, -0x1.d72c8d3f0b6bcp-28, -0x1.cd5da3da6b614p-27,
        -0x1.58ce729fc478ap-28, 0x1.05248ba2f26a0p-27, 0x1.c034e59a2db9bp-28,
        -0x1.ece52144ada18p-29, -0x1.3756a636aa04fp-28, 0x1.ba2352eb42f20p-30,
        0x1.295fc465ff477p-29, -0x1.5be16a36a0da0p-31, -0x1.650b3e7f898b0p-31,
        0x1.852f5d42d1ca3p-33, 0x1.90df137cc1a36p-34, -0x1.ada2c97f3fdddp-36);
    return a < 8.0 ? low : high / __builtin_sqrt(a);
}

FC_FN double fc_i1_core(double a) {
    double z = a < 8.0 ? a * a : 0.0, t = 16.0 / (a < 8.0 ? 8.0 : a) - 1.0;
    double low = FC_P16(z, 0x1.0000000000000p-1, 0x1.0000000000001p-4, 0x1.5555555555540p-9,
        0x1.c71c71c71c9ecp-15, 0x1.6c16c16c13a93p-21, 0x1.845c8a0d26f80p-28,
        0x1.27e4fb73f1ad7p-35, 0x1.522a443ba2a26p-43, 0x1.2c97552280795p-51,
        0x1.ab8234c2c46fbp-60, 0x1.f17258b099a34p-69, 0x1.e290ec0d14f98p-78,
        0x1.8a6faa072cdf9p-87, 0x1.1dc3a22d140b2p-96, 0x1.1ec8e2d9b0ddbp-106,
        0x1.20de50ee937a2p-115);
    double high = FC_P24(t, 0x1.8ebe783a84030p-2, -0x1.3f796198ee63dp-7, -0x1.cbc54df1d28edp-13,
        -0x1.f89c2304c35d3p-17, -0x1.ec8e127b73a3fp-20, -0x1.761383996dea0p-22,
        -0x1.ad8afba84040bp-24, -0x1.727891f52aef6p-25, -0x1.91e870dc073a7p-26,
        -0x1.21ba2485afab4p-27, 0x1.d68fdf13b4f0fp-28, 0x1.e2d0791db759ap-27,
        0x1.7ee7fbfb39f90p-28, -0x1.0821c71098c2bp-27, -0x1.dd37812c1dd72p-28,
        0x1.e14768d6db225p-29, 0x1.475d4e2f2acfep-28, -0x1.a250a944e85b4p-30,
        -0x1.36f288e187d2ep-29, 0x1.42be4263f9ec5p-31, 0x1.7455f3bd09231p-31,
        -0x1.6612a100e112cp-33, -0x1.a1752f6235857p-34, 0x1.8a72ab2fc6959p-36);
    return a < 8.0 ? a * low : high / __builtin_sqrt(a);
}

/* At infinity i0 and i1 are NaN, as SciPy's are. */
FC_FN double fc_i0_f64(double x) {
    double a = fc_abs(x), y = fc_times_exp(fc_i0_core(a), a < 8.0 ? 0.0 : fc_cap(a, 1400.0));
    return a < __builtin_inf() ? y : x - x;
}

FC_FN double fc_i0e_f64(double x) {
    double a = fc_abs(x);
    return fc_times_exp(fc_i0_core(a), a < 8.0 ? -a : 0.0);
}

FC_FN double fc_i1_f64(double x) {
    double a = fc_abs(x), y = fc_times_exp(fc_i1_core(a), a < 8.0 ? 0.0 : fc_cap(a, 1400.0));
    return a < __builtin_inf() ? __builtin_copysign(y, x) : x - x;
}

FC_FN double fc_i1e_f64(double x) {
    double a = fc_abs(x);
    return __builtin_copysign(fc_times_exp(fc_i1_core(a), a < 8.0 ? -a : 0.0), x);
}

/* ---- entropies ----------------------------------------------------------------------- */

FC_FN double fc_xlogy_f64(double x, double y) {
    double r = x * fc_log_divided(y);
    return x == 0.0 && y == y ? 0.0 : r;
}

FC_FN double fc_xlog1py_f64(double x, double y) {
    double r = x * fc_log1p_divided(y);
    return x == 0.0 && y == y ? 0.0 : r;
}

FC_FN double fc_entr_f64(double x) {
    double r = -x * fc_log_divided(x > 0.0 ? x : 1.0);
    r = x < 0.0 ? -__builtin_inf() : r;
    return x == 0.0 ? 0.0 : r;
}

/* log(x / y) for positive x and y: near 1 of 1 + (x - y) / y, elsewhere of the quotient, or
 * where that is not a normal number, the difference of two logarithms */
FC_FN double fc_log_ratio(double x, double y) {
    double q = x / y, r = fc_log_divided(q);
    r = q > 0.5 && q < 2.0 ? fc_log1p_divided((x - y) / y) : r;
    return q > 0x1p-1000 && q < __builtin_inf() ? r : fc_log_divided(x) - fc_log_divided(y);
}

FC_FN double fc_rel_entr_f64(double x, double y) {
    double r = x * fc_log_ratio(x, y), inf = __builtin_inf();
    r = x > 0.0 && y > 0.0 ? r : (x == 0.0 && y >= 0.0 ? 0.0 : inf);
    return x != x || y != y ? x + y : r;
}

/* x log(x / y) - x + y is x (q - log(1 + q)) at q = (y - x) / x; elsewhere the difference of
 * both is taken in two words */
FC_FN double fc_kl_div_f64(double x, double y) {
    double q = (y - x) / x, l = fc_log_ratio(x, y), inf = __builtin_inf();
    double scale = x > 0x1p500 || y > 0x1p500 ? 0x1p-100 : 1.0;
    scale = x < 0x1p-900 && y < 0x1p-900 ? 0x1p400 : scale;  /* a product of normal numbers */
    fc_dd d = fc_sum(y * scale, -x * scale);
    double r = (fc_fma(x * scale, l, d.hi) + d.lo) / scale;
    r = q > -0.29 && q < 0.41 ? x * fc_log_rest(q) : r;
    r = x > 0.0 && y > 0.0 ? r : (x == 0.0 && y >= 0.0 ? y : inf);
    return x != x || y != y ? x + y : r;
}

/* ---- losses ---------------------------------------------------------------------------- */

FC_FN double fc_huber_f64(double delta, double x) {
    double a = fc_abs(x), r = a <= delta ? 0.5 * x * x : delta * (a - 0.5 * delta);
    return delta < 0.0 ? __builtin_inf() : r;
}

/* d^2 (sqrt(1 + (x / d)^2) - 1), as x^2 / (1 + sqrt(1 + (x / d)^2)) */
FC_FN double fc_pseudo_huber_f64(double delta, double x) {
    double v = fc_abs(x / delta), s = __builtin_sqrt(1.0 + v * v);
    double r = v > 0x1p500 ? delta * fc_abs(x) : x * (x / (1.0 + s)) + (delta - delta);
    r = delta == 0.0 || x == 0.0 ? 0.0 : r;
    return delta < 0.0 ? __builtin_inf() : r;
}

/* ---- powers and exponentials --------------------------------------------------------- */

FC_FN double fc_exp10_f64(double x) {   /* its log 10 is the one that pow(10, x) computes */
    fc_dd log10 = { 0x1.26bb1bbb55516p+1, -0x1.f48b8p-53 };
    return fc_power_value(fc_exp_fine(fc_times(log10, fc_limit(x, 340.0))));
}

FC_FN double fc_exprel_f64(double x) {
    double r = fc_expm1_f64(x) / x;
    r = x == __builtin_inf() ? x : r;
    return x == 0.0 ? 1.0 : r;
}

FC_FN double fc_cosm1_f64(double x) {
    double s = fc_sin_f64(0.5 * x);
    return 0.0 - 2.0 * s * s;
}

/* (e^w - 1) / k, also where e^w overflows and the quotient does not */
FC_FN double fc_power_less_one(double w, double k) {
    double h = fc_exp_f64(0.5 * w);
    return w > 700.0 ? h * (h / k) : fc_expm1_f64(w) / k;
}

FC_FN double fc_boxcox_f64(double x, double k) {
    double l = fc_log_divided(x);
    return fc_abs(k) < 1.0e-19 ? l : fc_power_less_one(k * l, k);
}

FC_FN double fc_boxcox1p_f64(double x, double k) {
    double l = fc_log1p_divided(x);
    int linear = fc_abs(k) < 1.0e-19 || (fc_abs(l) < 1.0e-289 && fc_abs(k) < 1.0e273);
    return linear ? l : fc_power_less_one(k * l, k);
}

/* log(1 + k x), also where the product overflows */
FC_FN double fc_log_of_product(double x, double k) {
    double w = k * x, apart = fc_log_divided(fc_abs(x)) + fc_log_divided(fc_abs(k));
    return w == __builtin_inf() ? apart : fc_log1p_divided(w);
}

FC_FN double fc_inv_boxcox_f64(double x, double k) {
    return fc_exp_f64(k == 0.0 ? x : fc_log_of_product(x, k) / k);
}

FC_FN double fc_inv_boxcox1p_f64(double x, double k) {
    double r = fc_expm1_f64(k == 0.0 ? x : fc_log_of_product(x, k) / k);
    return k != 0.0 && fc_abs(k * x) < 1.0e-154 ? x : r;
}

/* ---- single precision ------------------------------------------------------------------ */

FC_FN float fc_i0_f32(float x) { return (float)fc_i0_f64(x); }
FC_FN float fc_i0e_f32(float x) { return (float)fc_i0e_f64(x); }
FC_FN float fc_i1_f32(float x) { return (float)fc_i1_f64(x); }
FC_FN float fc_i1e_f32(float x) { return (float)fc_i1e_f64(x); }
FC_FN float fc_xlogy_f32(float x, float y) { return (float)fc_xlogy_f64(x, y); }
FC_FN float fc_xlog1py_f32(float x, float y) { return (float)fc_xlog1py_f64(x, y); }
FC_FN float fc_entr_f32(float x) { return (float)fc_entr_f64(x); }
FC_FN float fc_rel_entr_f32(float x, float y) { return (float)fc_rel_entr_f64(x, y); }
FC_FN float fc_kl_div_f32(float x, float y) { return (float)fc_kl_div_f64(x, y); }
FC_FN float fc_huber_f32(float delta, float x) { return (float)fc_huber_f64(delta, x); }
FC_FN float fc_pseudo_huber_f32(float delta, float x) {
    return (float)fc_pseudo_huber_f64(delta, x);
}
FC_FN float fc_exp10_f32(float x) { return (float)fc_exp10_f64(x); }
FC_FN float fc_exprel_f32(float x) { return (float)fc_exprel_f64(x); }
FC_FN float fc_cosm1_f32(float x) { return (float)fc_cosm1_f64(x); }
FC_FN float fc_boxcox_f32(float x, float k) { return (float)fc_boxcox_f64(x, k); }
FC_FN float fc_boxcox1p_f32(float x, float k) { return (float)fc_boxcox1p_f64(x, k); }
FC_FN float fc_inv_boxcox_f32(float x, float k) { return (float)fc_inv_boxcox_f64(x, k); }
FC_FN float fc_inv_boxcox1p_f32(float x, float k) { return (float)fc_inv_boxcox1p_f64(x, k); }
