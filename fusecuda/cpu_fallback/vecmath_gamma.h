/* The gamma function, its logarithm and its derivative, for vecmath.h; include that file,
 * not this one.  Stirling's series from 3 on, a polynomial in (x - s) / (x + s) below, and
 * reflection for negative x; the coefficients are near-minimax fits made for these
 * intervals.  The float functions compute in double and round. */

/* log x in two words, to 2^-56 of the larger of 1 and itself, for x > 0 and finite */
FC_FN fc_dd fc_log_two(double x) {
    fc_split s = fc_split_of(x);
    double rest = fc_log_rest(s.f);
    fc_dd h = fc_fast_sum(s.k * FC_LN2_TOP, s.f);
    return fc_fast_sum(h.hi, h.lo - fc_fma(s.k, -FC_LN2_REST, rest));
}

/* sin(pi r) / (pi r) - 1 for |r| <= 1/2, as r^2 times a polynomial */
FC_FN double fc_sinpi_rest(double z) {
    return z * FC_P8(z, -0x1.a51a6625307d3p+0, 0x1.9f9cb402bc45dp-1, -0x1.86a8e4720c749p-3,
        0x1.ac6805cdf308ap-6, -0x1.33816a0620ac5p-9, 0x1.3746c57917ca7p-13,
        -0x1.d3f28cd7ed530p-18, 0x1.080d6f89e0a7bp-22);
}

/* ---- log |gamma| ------------------------------------------------------------------ */

/* log gamma(b) for b >= 3: (b - 1/2)(log b - 1) + log(2 pi) / 2 - 1/2 + series in 1/b */
FC_FN double fc_stirling(double b) {
    double scale = b > 0x1p60 ? 0x1p-64 : 1.0, r = 1.0 / b, z = r * r;
    double series = r * FC_P11(z, 0x1.5555555555553p-4, -0x1.6c16c16bf6282p-9,
        0x1.a01a00e5622e3p-11, -0x1.3813174192ecdp-11, 0x1.b9326a92f5e65p-11,
        -0x1.f3dd1d895f8ddp-10, 0x1.8f44ea0ec1548p-8, -0x1.7937174913bd7p-6,
        0x1.4d2171357754ap-4, -0x1.a820884cf6c52p-3, 0x1.0c1787f28869cp-2);
    fc_dd l = fc_log_two(b), m = fc_sum(l.hi, -1.0);
    double n = (b - 0.5) * scale;
    m.lo += l.lo;
    fc_dd p = fc_mul(n, m.hi), y = fc_sum(p.hi, 0x1.acfe390c97d69p-2 * scale);
    double lo = p.lo + fc_fma(n, m.lo, series * scale);
    return (y.hi + (y.lo + lo)) / scale;
}

/* log gamma(b) for 3/4 <= b <= 3, of which b - 1, b - 2 and (b - 3/2) / (b + 3/2) are given */
FC_FN double fc_lgamma_low(double one, double two, double t) {
    double p = FC_P21(t, 0x1.eeb95b094c191p-2, -0x1.c0638869c10cbp-2, 0x1.06ce2b0811aedp-3,
        -0x1.34d888b7a32c8p-3, 0x1.5d697320db126p-4, -0x1.7dca5127e7c37p-4,
        0x1.0570a29832ff1p-4, -0x1.154741474337ep-4, 0x1.a11a140a38276p-5,
        -0x1.b3c5124cb7db7p-5, 0x1.5abd8e678c469p-5, -0x1.670f07dfcddaap-5,
        0x1.28a8e9e489f9cp-5, -0x1.30c4ca64888c4p-5, 0x1.02a67dbac9941p-5,
        -0x1.0feaa0b197090p-5, 0x1.d785c1b13d43fp-6, -0x1.8074308707de7p-6,
        0x1.503f4070d31e3p-6, -0x1.6e0324dbdad08p-5, 0x1.480939a2641fep-5);
    return one * two * p;
}

/* log gamma(b) less log w: b is x, or 1 + |x| where x is below 3/4, and then w is x, or for
 * negative x, |sin(pi x)| / pi, by which gamma(x) gamma(1 - x) = pi / sin(pi x) */
FC_FN double fc_gammaln_f64(double x) {
    double a = fc_abs(x), up = x < 0.75 ? 1.0 : 0.0, b = a + up;
    double low = b < 3.0 ? a : 1.0, one = low + (up - 1.0), two = low + (up - 2.0);
    double t = (low + (up - 1.5)) / (low + (up + 1.5));
    double small = fc_lgamma_low(one, two, t);
    double r = a - __builtin_rint(a), sine = fc_abs(fc_fma(r, fc_sinpi_rest(r * r), r));
    double w = up == 1.0 ? (x < 0.0 ? sine : a) : 1.0, l = fc_log_divided(w);
    double y = b < 3.0 ? small : fc_stirling(b < 3.0 ? 3.0 : b);
    y = x < 0.0 ? -l - y : y - l + 0.0;                 /* not -0 */
    return a < __builtin_inf() ? y : x;
}

/* ---- gamma ------------------------------------------------------------------------ */

/* log gamma(b + e) in two words, for 3 <= b <= 200 and a tiny e */
FC_FN fc_dd fc_log_gamma(double b, double e) {
    fc_split d = fc_split_normal(b);
    fc_dd l = fc_log_fine(d.k, d.f);
    double r = 1.0 / b, z = r * r;
    double series = r * FC_P11(z, 0x1.5555555555554p-4, -0x1.6c16c16bf6282p-9,
        0x1.a01a00e5622e2p-11, -0x1.3813174192ecdp-11, 0x1.b9326a92f5e66p-11,
        -0x1.f3dd1d895f8ddp-10, 0x1.8f44ea0ec1548p-8, -0x1.7937174913bd8p-6,
        0x1.4d2171357754ap-4, -0x1.a820884cf6c53p-3, 0x1.0c1788f27869cp-2);
    double slope = l.hi - fc_fma(z, 0x1.5555555555555p-4, 0.5 * r);
    fc_dd f = fc_sum(l.hi, -1.0);
    f.lo += l.lo;
    fc_dd p = fc_mul(b - 0.5, f.hi), y = fc_sum(p.hi, 0x1.acfe390c97d69p-2);
    double lo = p.lo + fc_fma(b - 0.5, f.lo, fc_fma(e, slope, 0x1.3494bc9001442p-56));
    return fc_fast_sum(y.hi, y.lo + (lo + series));
}

/* With a = |x| and D = a (a + 1) (a + 2), or 1 from 3 on, gamma(a) is e^y / D, and
 * gamma(-a) is -pi / sin(pi a) / a / gamma(a). */
FC_FN double fc_gamma_f64(double x) {
    double a = fc_abs(x), capped = fc_cap(a, 200.0);
    int low = a < 3.0;
    fc_dd b = fc_sum(low ? a : capped, low ? 3.0 : 0.0);
    fc_dd y = fc_log_gamma(b.hi, b.lo);
    fc_dd one = fc_sum(a, 1.0), two = fc_sum(a, 2.0), d = fc_mul(one.hi, two.hi);
    d.lo += fc_fma(one.hi, two.lo, one.lo * two.hi);
    d.hi = low ? d.hi : 1.0;
    d.lo = low ? d.lo : 0.0;
    double whole = __builtin_rint(a), r = a - whole, c = low ? a : 1.0;
    fc_dd s = fc_fast_sum(r, r * fc_sinpi_rest(r * r)), full = fc_mul(c, d.hi);
    full.lo = fc_fma(c, d.lo, full.lo);
    double parity = fc_abs(fc_fma(-2.0, __builtin_rint(0.5 * whole), whole));
    s.hi = parity == 1.0 ? s.hi : -s.hi;
    s.lo = parity == 1.0 ? s.lo : -s.lo;
    fc_dd below = fc_mul(low ? 1.0 : a, s.hi);
    below.lo = fc_fma(low ? 1.0 : a, s.lo, below.lo);
    /* 100 more in the exponent, so that subnormal results round once */
    fc_dd up = { x < 0.0 ? -y.hi : y.hi, x < 0.0 ? -y.lo : y.lo };
    fc_power e = fc_exp_fine(up);
    uint64_t more = x < 0.0 ? 100 : 0;
    e.n += more;
    double power = fc_power_value(e);
    fc_dd n = { x < 0.0 ? d.hi : power, x < 0.0 ? d.lo : 0.0 };
    fc_dd under = { x < 0.0 ? below.hi : full.hi, x < 0.0 ? below.lo : full.lo };
    double q = low || x < 0.0 ? fc_div(n, under) : power;
    q = x < 0.0 ? q * power * 0x1p-100 : q;
    q = a < 0x1p-600 ? 1.0 / x : q;
    q = x < 0.0 && whole == a ? __builtin_nan("") : q;
    return x != x ? x : q;
}

/* ---- psi --------------------------------------------------------------------------- */

/* psi(b) for 1 <= b <= 3: its distance from the root times a polynomial in
 * (b - 7/4) / (b + 7/4) */
FC_FN double fc_psi_low(double from_root, double t) {
    return from_root * FC_P21(t, 0x1.b763ca67112a0p-1, -0x1.2452fb45047fcp+0,
        0x1.90cf1e698a515p-1, -0x1.a41118afb4383p-1, 0x1.8ac56fb1a123ap-1,
        -0x1.95dcd0681ef81p-1, 0x1.8cec6c4fe1ba1p-1, -0x1.930942fe3d7d1p-1,
        0x1.8e47b1aa0bc17p-1, -0x1.91fd01cbff047p-1, 0x1.8efcaff3728c1p-1,
        -0x1.9176d13ee9330p-1, 0x1.8f679d0efd1a3p-1, -0x1.90f99fa6ea873p-1,
        0x1.8f33ebce80403p-1, -0x1.9401507b33592p-1, 0x1.960fb32a068aap-1,
        -0x1.70289713b85bcp-1, 0x1.58ef63bd1a208p-1, -0x1.26c63d9e7c08ap+0,
        0x1.472fcde500ae9p+0);
}

/* psi(b) for b >= 3: log b - 1 / (2b) - series in 1 / b^2 */
FC_FN double fc_psi_high(double b) {
    double r = 1.0 / b, z = r * r;
    double series = z * FC_P11(z, 0x1.5555555555534p-4, -0x1.1111111084411p-7,
        0x1.04103f703324fp-8, -0x1.11102b3b547a3p-8, 0x1.f0378ddf53b54p-8,
        -0x1.5681e502a55fap-6, 0x1.3e37d6431392bp-4, -0x1.4d0eeb4a8ccc4p-2,
        0x1.38acc645895cep+0, -0x1.9c2b9f79c5d91p+1, 0x1.09dcb42a9d05bp+2);
    fc_dd l = fc_log_two(b);
    return l.hi + (l.lo - fc_fma(0.5, r, series));
}

/* psi(b) - 1/x for 0 < x < 1, where b = 1 + x, and psi(1 - x) - pi cot(pi x) below 0 */
FC_FN double fc_psi_f64(double x) {
    double a = fc_abs(x), b = x < 1.0 ? a + 1.0 : a, low = b < 3.0 ? a : 1.0;
    double hi = x < 1.0 ? 0x1.d8b618d5af8fep-2 : 0x1.762d86356be3fp+0;
    double lo = x < 1.0 ? -0x1.1e563779a1f5bp-56 : 0x1.b86a722197829p-54;
    double t = (low - (x < 1.0 ? 0.75 : 1.75)) / (low + (x < 1.0 ? 2.75 : 1.75));
    double small = fc_psi_low((low - hi) - lo, t);
    double y = b < 3.0 ? small : fc_psi_high(b < 3.0 ? 3.0 : b);
    double whole = __builtin_rint(a), r = a - whole, z = r * r;
    double cosine = fc_fma(z, FC_P8(z, -0x1.3bd3cc9be45dep+2, 0x1.03c1f081b5a9fp+2,
        -0x1.55d3c7e3c9051p+0, 0x1.e1f5068620bcbp-3, -0x1.a6d1f12b0bef2p-6,
        0x1.f9d2c1f3b2167p-10, -0x1.b6a6feabe52e9p-14, 0x1.179a329ef4140p-18), 1.0);
    double cot = cosine / fc_fma(r, fc_sinpi_rest(z), r);
    y = x < 0.0 ? y + cot : (x < 1.0 ? y - 1.0 / x : y);
    y = x < 0.0 && whole == a ? __builtin_nan("") : y;
    return x < __builtin_inf() ? y : x;
}

FC_FN float fc_gammaln_f32(float x) { return (float)fc_gammaln_f64(x); }
FC_FN float fc_gamma_f32(float x) { return (float)fc_gamma_f64(x); }
FC_FN float fc_psi_f32(float x) { return (float)fc_psi_f64(x); }
