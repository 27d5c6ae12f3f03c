// CUDA's special functions for a host compiler: by series and by Newton's method, slow and exact.
#pragma once

EMU_IN double erfcx(double x) {
    if (x < 25) return exp(x * x) * erfc(x);
    const double z = 1 / (x * x);
    return (1 - z / 2 + 3 * z * z / 4 - 15 * z * z * z / 8 + 105 * z * z * z * z / 16)
        * (0.56418958354775628695 / x);
}
// By Newton's method on the logarithm of erfc, which is nearly a parabola.
EMU_IN double erfcinv(double y) {
    if (!(y >= 0 && y <= 2)) return __builtin_nan("");
    const double q = y > 1 ? 2 - y : y;
    double x = q > 0.5 ? 0.88622692545275801365 * (1 - q) : sqrt(-log(q));
    for (int i = 0; i < 60 && q > 0; i++) {
        const double e = erfcx(x);
        x += (log(e / q) - x * x) * e * 0.88622692545275801365;
    }
    return y > 1 ? -x : x;
}
EMU_IN double erfinv(double x) {
    const double a = fabs(x);
    double y = 0.88622692545275801365 * a;
    for (int i = 0; i < 20; i++) y -= (erf(y) - a) * 0.88622692545275801365 * exp(y * y);
    return copysign(a > 0.5 ? erfcinv(1 - a) : y, x);
}
EMU_IN double normcdf(double x) { return erfc(-x * 0.70710678118654752440) / 2; }
EMU_IN double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2 * p); }
EMU_IN double emu_bessel(double x, int order) {
    const double q = x * x / 4;
    double term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 3000 && sum < __builtin_inf(); k++) {
        term *= q / ((double)k * (k + order));
        sum += term;
    }
    return sum;
}
EMU_IN double cyl_bessel_i0(double x) { return emu_bessel(x, 0); }
EMU_IN double cyl_bessel_i1(double x) { return emu_bessel(x, 1); }

#define EMU_SINGLE(F) \
    EMU_IN float F##f(float x) { return (float)F((double)x); } \
    EMU_IN float F(float x) { return F##f(x); }
EMU_SINGLE(erfcx) EMU_SINGLE(erfcinv) EMU_SINGLE(erfinv) EMU_SINGLE(normcdf) EMU_SINGLE(normcdfinv)
EMU_SINGLE(cyl_bessel_i0) EMU_SINGLE(cyl_bessel_i1)
