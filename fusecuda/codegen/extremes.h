// Extremes of halves, which are floats in kernels. Of two that are equal, as zeros of either sign are,
// NumPy takes the first; NaN as of floats. In the intersection of C11 and C++17.

FC_INLINE float fc_maximum_f16(float a, float b) { return (a >= b) | (a != a) ? a : b; }
FC_INLINE float fc_minimum_f16(float a, float b) { return (a <= b) | (a != a) ? a : b; }
FC_INLINE float fc_fmax_f16(float a, float b) { return (a >= b) | (b != b) ? a : b; }
FC_INLINE float fc_fmin_f16(float a, float b) { return (a <= b) | (b != b) ? a : b; }
