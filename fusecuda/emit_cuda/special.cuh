// SciPy's special functions on a GPU: CUDA's own where there are such, else CuPy's expressions.
#pragma once

#define FC_SPECIAL(t, T, f)                                                                        \
    FC_INLINE T fc_gammaln_##t(T a) {                                                              \
        return a == -(T)FC_INFINITY ? a : lgamma##f(a);                                            \
    }                                                                                              \
    FC_INLINE T fc_gamma_##t(T a) {                                                                \
        const bool pole = a < 0 && a == floor##f(a);                                               \
        return pole ? (T)(FC_INFINITY - FC_INFINITY) : tgamma##f(a);                               \
    }                                                                                              \
    FC_INLINE T fc_psi_##t(T a) { return (T)fc_digamma((double)a); }                               \
    FC_INLINE T fc_erfinv_##t(T a) { return erfinv##f(a); }                                        \
    FC_INLINE T fc_erfcinv_##t(T a) { return erfcinv##f(a); }                                      \
    FC_INLINE T fc_erfcx_##t(T a) { return erfcx##f(a); }                                          \
    FC_INLINE T fc_ndtr_##t(T a) { return normcdf##f(a); }                                         \
    FC_INLINE T fc_ndtri_##t(T a) { return normcdfinv##f(a); }                                     \
    FC_INLINE T fc_log_ndtr_##t(T a) {                                                             \
        const T s = a * 0.707106781186547524400844362104849039;                                    \
        if (a < -1.0) return log##f(erfcx##f(-s) / 2) - s * s;                                     \
        return log1p##f(-erfc##f(s) / 2);                                                          \
    }                                                                                              \
    FC_INLINE T fc_logit_##t(T a) { return log##f(a / (1 - a)); }                                  \
    FC_INLINE T fc_log_expit_##t(T a) {                                                            \
        return a < 0.0 ? a - log1p##f(exp##f(a)) : -log1p##f(exp##f(-a));                          \
    }                                                                                              \
    FC_INLINE T fc_i0_##t(T a) { return cyl_bessel_i0##f(a); }                                     \
    FC_INLINE T fc_i1_##t(T a) { return cyl_bessel_i1##f(a); }                                     \
    FC_INLINE T fc_i0e_##t(T a) { return exp##f(-fabs##f(a)) * cyl_bessel_i0##f(a); }              \
    FC_INLINE T fc_i1e_##t(T a) { return exp##f(-fabs##f(a)) * cyl_bessel_i1##f(a); }              \
    FC_INLINE T fc_xlogy_##t(T a, T b) { return a == 0 && b == b ? (T)0 : a * log##f(b); }         \
    FC_INLINE T fc_xlog1py_##t(T a, T b) { return a == 0 && b == b ? (T)0 : a * log1p##f(b); }     \
    FC_INLINE T fc_exp10_##t(T a) { return exp10##f(a); }                                          \
    FC_INLINE T fc_exprel_##t(T a) { return fabs##f(a) < 1e-16 ? (T)1 : expm1##f(a) / a; }         \
    FC_INLINE T fc_entr_##t(T a) { return (T)fc_entropy((double)a); }                              \
    FC_INLINE T fc_rel_entr_##t(T a, T b) { return (T)fc_divergence((double)a, (double)b, 0); }    \
    FC_INLINE T fc_kl_div_##t(T a, T b) { return (T)fc_divergence((double)a, (double)b, 1); }      \
    FC_INLINE T fc_huber_##t(T a, T b) { return (T)fc_huber((double)a, (double)b); }               \
    FC_INLINE T fc_pseudo_huber_##t(T a, T b) { return (T)fc_pseudo_huber((double)a, (double)b); } \
    FC_INLINE T fc_cosm1_##t(T a) { return (T)fc_cosine_less_one((double)a); }                     \
    FC_INLINE T fc_boxcox_##t(T a, T b) { return (T)fc_boxcox((double)a, (double)b); }             \
    FC_INLINE T fc_boxcox1p_##t(T a, T b) { return (T)fc_boxcox1p((double)a, (double)b); }         \
    FC_INLINE T fc_inv_boxcox_##t(T a, T b) { return (T)fc_inv_boxcox((double)a, (double)b); }     \
    FC_INLINE T fc_inv_boxcox1p_##t(T a, T b) { return (T)fc_inv_boxcox1p((double)a, (double)b); }

// As SciPy's: reflected, brought to [1, 2] by the recurrence, where it is a rational function of
// Boost's (J. Maddock, 2006), or from 10 on an asymptotic series.
FC_INLINE double fc_digamma(double x) {
    double y = 0;
    if (x == 0) return copysign((double)FC_INFINITY, -x);
    if (x < 0) {
        const double r = x - trunc(x);
        if (r == 0 || x == -FC_INFINITY) return FC_INFINITY - FC_INFINITY;
        y = -3.14159265358979323846 / tan(3.14159265358979323846 * r);
        x = 1 - x;
    }
    if (x < 1) {
        y -= 1 / x;
        x += 1;
    } else if (x < 10) {
        for (; x > 2; y += 1 / x) x -= 1;
    }
    if (x >= 1 && x <= 2) {
        const double u = x - 1;
        const double g = ((x - 1569415565.0 / 1073741824.0)
            - (381566830.0 / 1073741824.0) / 1073741824.0) - 0.9016312093258695918615325e-19;
        const double p = ((((-0.0020713321167745952 * u - 0.045251321448739056) * u
            - 0.28919126444774784) * u - 0.65031853770896507) * u - 0.32555031186804491) * u
            + 0.25479851061131551;
        const double q = (((((-0.55789841321675513e-6 * u + 0.0021284987017821144) * u
            + 0.054151797245674225) * u + 0.43593529692665969) * u + 1.4606242909763515) * u
            + 2.0767117023730469) * u + 1.0;
        return y + (g * 0.99558162689208984 + g * (p / q));
    }
    const double z = x < 1e17 ? 1 / (x * x) : 0;
    const double s = z * ((((((8.33333333333333333333e-2 * z - 2.10927960927960927961e-2) * z
        + 7.57575757575757575758e-3) * z - 4.16666666666666666667e-3) * z
        + 3.96825396825396825397e-3) * z - 8.33333333333333333333e-3) * z
        + 8.33333333333333333333e-2);
    return y + (log(x) - 0.5 / x - s);
}

FC_INLINE double fc_entropy(double x) {
    if (x > 0) return -x * log(x);
    return x == 0 ? 0 : x < 0 ? -(double)FC_INFINITY : x;
}

FC_INLINE double fc_divergence(double x, double y, int whole) {
    if (x != x || y != y) return x + y;
    if (x > 0 && y > 0) return whole ? x * log(x / y) - x + y : x * log(x / y);
    if (x == 0 && y >= 0) return whole ? y : 0;
    return (double)FC_INFINITY;
}

FC_INLINE double fc_huber(double delta, double r) {
    if (delta < 0) return (double)FC_INFINITY;
    return fabs(r) <= delta ? 0.5 * r * r : delta * (fabs(r) - 0.5 * delta);
}

FC_INLINE double fc_pseudo_huber(double delta, double r) {
    if (delta < 0) return (double)FC_INFINITY;
    if (delta == 0 || r == 0) return 0;
    const double v = r / delta;
    return delta * delta * (sqrt(1 + v * v) - 1);
}

FC_INLINE double fc_cosine_less_one(double x) {
    if (!(fabs(x) <= 0.785398163397448309615660845819875721)) return cos(x) - 1;
    const double z = x * x;
    const double p = (((((4.7377507964246204691685e-14 * z - 1.1470284843425359765671e-11) * z
        + 2.0876754287081521758361e-9) * z - 2.7557319214999787979814e-7) * z
        + 2.4801587301570552304991e-5) * z - 1.3888888888888872993737e-3) * z
        + 4.1666666666666666609054e-2;
    return -0.5 * z + z * z * p;
}

FC_INLINE double fc_boxcox(double x, double k) {
    return fabs(k) < 1e-19 ? log(x) : expm1(k * log(x)) / k;
}

FC_INLINE double fc_boxcox1p(double x, double k) {
    const double l = log1p(x);
    const bool linear = fabs(k) < 1e-19 || (fabs(l) < 1e-289 && fabs(k) < 1e273);
    return linear ? l : expm1(k * l) / k;
}

FC_INLINE double fc_inv_boxcox(double x, double k) {
    return k == 0 ? exp(x) : exp(log1p(k * x) / k);
}

FC_INLINE double fc_inv_boxcox1p(double x, double k) {
    if (k == 0) return expm1(x);
    return fabs(k * x) < 1e-154 ? x : expm1(log1p(k * x) / k);
}

FC_SPECIAL(f32, float, f)
FC_SPECIAL(f64, double, )
