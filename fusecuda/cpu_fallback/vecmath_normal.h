/* The normal distribution, inverse error functions and the logistic family, for vecmath.h;
 * include that file, not this one.  Coefficients are near-minimax fits made for these
 * intervals; the form of erfinv is Giles's ("Approximating the erfinv function", 2010).
 * The float functions compute in double and round. */

#define FC_ROOT_HALF 0x1.6a09e667f3bcdp-1

/* ---- normal distribution ------------------------------------------------------------ */

/* e^(a^2) erfc(a) for a >= 0: as erfc up to 27, from there on its asymptotic series */
FC_FN double fc_erfcx_core(double a) {
    double low = fc_cap(a, 27.0), r = 1.0 / a, z = r * r;
    double far = r * 0x1.20dd750429b6dp-1 * FC_P8(z < 1.0 ? z : 1.0, 1.0, -0.5, 0.75, -1.875,
        6.5625, -29.53125, 162.421875, -1055.7421875);
    double near = fc_erfc_poly(low) / fc_fma(2.0, low, 1.0);
    return a > 27.0 ? far : near;
}

FC_FN double fc_erfcx_f64(double x) {   /* for x < 0: 2 e^(x^2) - erfcx(-x) */
    double a = fc_abs(x), c = fc_cap(a, 27.0);
    fc_dd h = fc_mul(c, c);
    fc_expo e = fc_expo_of(h.hi);
    fc_dd s = fc_fast_sum(1.0, e.p.hi);
    s = fc_fast_sum(s.hi, s.lo + e.p.lo);
    double y = fc_erfcx_core(a);
    return x < 0.0 ? fc_scale(2.0 * (s.hi + fc_fma(h.lo, s.hi, s.lo)), e.t) - y : y;
}

/* erfc(|x| / sqrt(2)) / 2, with x^2 in two words */
FC_FN double fc_ndtr_core(double x) {
    double c = fc_cap(fc_abs(x), 38.75);               /* from there on it is 0 */
    fc_dd h = fc_mul(c, c);
    h.hi = 0.5 * h.hi;
    h.lo = 0.5 * h.lo;
    return 0.5 * fc_erfc_of(c * FC_ROOT_HALF, h);
}

FC_FN double fc_ndtr_f64(double x) {
    double y = fc_ndtr_core(x);
    return x > 0.0 ? 1.0 - y : y;
}

FC_FN double fc_log_ndtr_f64(double x) {
    double a = fc_abs(x), c = fc_cap(a, 0x1p400);
    double log = fc_log_divided(0.5 * fc_erfcx_core(c * FC_ROOT_HALF));
    double low = a > 0x1p400 ? -0.5 * a * a : fc_fma(-0.5 * c, c, log);
    return x < 0.0 ? low : fc_log1p_divided(-fc_ndtr_core(x));
}

/* ---- inverses ------------------------------------------------------------------------ */

/* erfinv(p) / p at w = -log((1 - p)(1 + p)), for 0 <= w < 750 */
FC_FN double fc_erfinv_core(double w) {
    double u = fc_cap(w, 6.25) - 3.125, s = __builtin_sqrt(w);
    double v = (s < 4.0 ? s : 4.0) - 3.25, m = (s < 6.5 ? s : 6.5) - 5.25;
    double t = (s - 10.59375) / (s + 2.0);
    double a = FC_P24(u, 0x1.a755e7c99ae86p+0, 0x1.ebd80d9b13df9p-3, -0x1.8b6c33114eeaep-8,
        -0x1.84576948353e1p-11, 0x1.879c2a20da432p-13, -0x1.d1d1f7ca4030fp-17,
        -0x1.6e8a53f106129p-20, 0x1.c6b4f890935ddp-22, -0x1.f36ce4ae847fdp-26,
        -0x1.1a9eb1bc8f0f0p-28, 0x1.20f4e6bf074cfp-30, -0x1.dc3ee8b6c53ccp-35,
        -0x1.c89564c5d1004p-37, 0x1.723527b7cff86p-39, -0x1.6d9ec5e3ec6afp-44,
        -0x1.686642b67610ap-45, 0x1.db523eb040288p-48, -0x1.73898c37dc54ap-55,
        -0x1.2c266176e7096p-53, 0x1.1f4ba5de5dc3fp-56, 0x1.536d397f9b9b1p-60,
        -0x1.9d290dd3bcb70p-62, -0x1.5087a244b0f6cp-70, 0x1.e9b8ae7230c25p-69);
    double b = FC_P20(v, 0x1.e5d4a1d9a47bbp-1, 0x1.1c2dfe43a92ffp-6, -0x1.e2e937d0bcd6dp-9,
        -0x1.594ce8cee2134p-16, 0x1.953cf4459fa50p-11, -0x1.8d0a4baf180d5p-11,
        0x1.13f34530ffeaap-11, -0x1.1c5d50e3b88bfp-12, 0x1.7d002fdd51c7dp-14,
        -0x1.d1a4dacbe77cep-18, -0x1.a0e731ef3a7f2p-17, 0x1.00f9481f4acd6p-17,
        -0x1.86f1a9c133b14p-20, -0x1.a1e2718c281c0p-21, 0x1.78617211177e8p-21,
        -0x1.e114c59e9cff0p-23, -0x1.0520ddaea3653p-26, 0x1.82876fd91d8aap-25,
        -0x1.c2028c097d66fp-27, -0x1.5345be8a1e5fbp-31);
    double c = FC_P21(m, 0x1.f19cbf0309384p-1, 0x1.de0d8f2351661p-8, -0x1.79eda939fab3dp-10,
        0x1.01fa1744fa197p-12, -0x1.30fd4899b99d3p-15, 0x1.1d7e397877e48p-18,
        -0x1.d06ba49a814ccp-23, -0x1.60aa549b12f46p-24, 0x1.5c8dc2102cbc0p-25,
        -0x1.c1dc4bfb4d892p-27, 0x1.11bc3976b033dp-28, -0x1.77b3dba182406p-30,
        0x1.39e1f603bb59ep-31, -0x1.2873731176a0dp-32, 0x1.0cdfab030c04ap-33,
        -0x1.9f263623d872cp-35, 0x1.32b39c1360e80p-36, -0x1.e47d75b597940p-38,
        0x1.8251a1d467941p-40, 0x1.f34a50f1914bbp-42, -0x1.c19251450b97bp-43);
    double d = FC_P22(t, 0x1.fae0edabb1c80p-1, 0x1.2f605ae20c133p-6, -0x1.0e983d6efcdaap-7,
        0x1.5a0e4effaecf3p-19, 0x1.7a6b4c24e662fp-17, -0x1.47a79208f9cadp-13,
        -0x1.308ce02ab8499p-16, -0x1.eb1111f47ae84p-16, -0x1.f92e88a070094p-17,
        -0x1.6f80cda81c2bdp-17, -0x1.02bebe64ad36cp-17, -0x1.7e45f822052c7p-18,
        -0x1.2823a71a4ca29p-18, -0x1.cc917d326b32ap-19, -0x1.26a5538f5abdap-19,
        -0x1.d4d7edeaee792p-20, -0x1.be792e9aeb3aap-19, -0x1.7824b9dc1a6c5p-19,
        0x1.05cb19b111188p-19, 0x1.cc4cd7cee00bcp-20, -0x1.0e55c545dc6e2p-18,
        -0x1.d5d592450c768p-19);
    return w < 6.25 ? a : s * (s < 4.0 ? b : (s < 6.5 ? c : d));
}

FC_FN double fc_erfinv_f64(double x) {
    double a = fc_abs(x), p = a < 1.0 ? a : 0.0;
    double y = p * fc_erfinv_core(-fc_log_divided((1.0 - p) * (1.0 + p)));
    y = a < 1.0 ? y : (a == 1.0 ? __builtin_inf() : __builtin_nan(""));
    return __builtin_copysign(y, x);
}

/* |erfcinv(y)| for 0 < y < 2, where q is the lesser of y and 2 - y */
FC_FN double fc_erfcinv_core(double q) {
    return (1.0 - q) * fc_erfinv_core(-fc_log_divided(q * (2.0 - q)));
}

FC_FN double fc_erfcinv_f64(double x) {
    double q = x > 1.0 ? 2.0 - x : x;
    double y = fc_erfcinv_core(q > 0.0 ? q : 1.0);
    y = q > 0.0 ? y : (q == 0.0 ? __builtin_inf() : __builtin_nan(""));
    return x >= 1.0 ? -y : y;  /* of 1 it is SciPy's -0 */
}

FC_FN double fc_ndtri_f64(double x) {
    double q = x > 0.5 ? 2.0 - 2.0 * x : 2.0 * x;
    double y = 2.0 * FC_ROOT_HALF * fc_erfcinv_core(q > 0.0 ? q : 1.0);
    y = q > 0.0 ? y : (q == 0.0 ? __builtin_inf() : __builtin_nan(""));
    return x < 0.5 ? -y : y;
}

/* ---- the logistic function's inverse and logarithm ---------------------------------- */

/* log(x / (1 - x)); about 1/2, of 1 + (2x - 1) / (1 - x) in two words */
FC_FN double fc_logit_f64(double x) {
    int middle = x > 0.25 && x < 0.75, tiny = x < 0x1p-900;
    double q = (middle ? 2.0 * x - 1.0 : (tiny ? x * 0x1p100 : x)) / (1.0 - x);
    fc_dd u = fc_sum(middle ? 1.0 : 0.0, q);
    double y = fc_log_sum(u.hi, u.lo, 0.0);
    y = tiny ? y - 0x1.1542457337d43p+6 : y;           /* 100 ln 2 */
    double end = x == 0.0 ? -__builtin_inf() : (x == 1.0 ? __builtin_inf() : __builtin_nan(""));
    return x > 0.0 && x < 1.0 ? y : end;
}

FC_FN double fc_log_expit_f64(double x) {
    double y = fc_log1p_divided(fc_exp_f64(-fc_abs(x)));
    return x < 0.0 ? x - y : -y;
}

FC_FN float fc_erfcx_f32(float x) { return (float)fc_erfcx_f64(x); }
FC_FN float fc_ndtr_f32(float x) { return (float)fc_ndtr_f64(x); }
FC_FN float fc_log_ndtr_f32(float x) { return (float)fc_log_ndtr_f64(x); }
FC_FN float fc_erfinv_f32(float x) { return (float)fc_erfinv_f64(x); }
FC_FN float fc_erfcinv_f32(float x) { return (float)fc_erfcinv_f64(x); }
FC_FN float fc_ndtri_f32(float x) { return (float)fc_ndtri_f64(x); }
FC_FN float fc_logit_f32(float x) { return (float)fc_logit_f64(x); }
FC_FN float fc_log_expit_f32(float x) { return (float)fc_log_expit_f64(x); }
