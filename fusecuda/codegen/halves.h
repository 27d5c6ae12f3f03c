// Float16 in memory, float in kernels: conversions in integers, rounded to nearest, ties to even.
// Every value of a half is a float, and + - * / sqrt of halves, rounded to float and then to half,
// are rounded once (float has more than twice the bits). In the intersection of C11 and C++17.

FC_INLINE float fc_widen_f16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    const float normal = fc_float_of((rest << 13) + (112u << 23));     // exponent 15 becomes 127
    const float small = (float)(int32_t)rest * 5.9604644775390625e-8f;  // 2^-24
    const float special = fc_float_of((rest << 13) | 0x7f800000u);
    const float a = rest >= 0x7c00u ? special : rest < 0x0400u ? small : normal;
    return fc_float_of(fc_bits_f32(a) | sign);
}

// The float nearest to `a` that is a half.
FC_INLINE float fc_round_f16(float a) {
    const uint32_t u = fc_bits_f32(a), sign = u & 0x80000000u, rest = u & 0x7fffffffu;
    const uint32_t even = (rest + 0x0fffu + (rest >> 13 & 1)) & ~0x1fffu;
    // Below 2^-14 halves are multiples of 2^-24, and so are floats from 0.5 to 1.
    const float small = (fc_float_of(rest) + 0.5f) - 0.5f;
    const uint32_t large = even >= 0x47800000u ? 0x7f800000u : even;  // 2^16
    const uint32_t number = rest < 0x38800000u ? fc_bits_f32(small) : large;
    return fc_float_of((rest > 0x7f800000u ? rest | 0x00400000u : number) | sign);
}

// The half nearest to a double: what is lost on the way to float shows in the last bit, so that
// nothing is rounded twice.
FC_INLINE float fc_round_f16_of_f64(double a) {
    const float near = (float)a;
    uint32_t u = fc_bits_f32(near);
    const double back = (double)near, size = a < 0 ? -a : a, reached = back < 0 ? -back : back;
    u = reached > size ? u - 1 : u;
    u = back == a || a != a ? u : u | 1;
    return fc_round_f16(fc_float_of(u));
}

// The bits of a float that is a half.
FC_INLINE uint16_t fc_narrow_f16(float a) {
    const uint32_t u = fc_bits_f32(a), sign = u >> 16 & 0x8000u, rest = u & 0x7fffffffu;
    const float tiny = rest < 0x38800000u ? fc_float_of(rest) : 0.0f;
    const uint32_t small = (uint32_t)(int32_t)(tiny * 16777216.0f);  // 2^24
    const uint32_t large = rest >= 0x7f800000u ? 0x7c00u | (rest > 0x7f800000u ? 0x0200u : 0u)
                                               : (rest - (112u << 23)) >> 13;
    return (uint16_t)((rest < 0x38800000u ? small : large) | sign);
}
