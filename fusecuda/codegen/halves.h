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

// The float nearest to `a` that is a half. A number so far away that its units are those of a's halves
// is added and taken off again; below 2^-14 halves are multiples of 2^-24, and from 2^16 on infinite.
FC_INLINE float fc_round_f16(float a) {
    const uint32_t u = fc_bits_f32(a), power = u & 0x7f800000u;
    const uint32_t most = power > 0x47000000u ? 0x47000000u : power;             // 2^15
    const float far = fc_float_of((most < 0x38800000u ? 0x38800000u : most) + 0x06c00000u);
    const uint32_t size = fc_bits_f32((a + far) - far) & 0x7fffffffu;
    const uint32_t number = fc_float_of(size) > 65504.0f ? 0x7f800000u : size;
    return fc_float_of(number | (u & 0x80000000u));
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
    const uint32_t small = fc_bits_f32(fc_float_of(rest) + 0.5f) - 0x3f000000u;  // times 2^-24
    const uint32_t large = rest >= 0x7f800000u ? 0x7c00u | (rest > 0x7f800000u ? 0x0200u : 0u)
                                               : (rest - (112u << 23)) >> 13;
    return (uint16_t)((rest < 0x38800000u ? small : large) | sign);
}
