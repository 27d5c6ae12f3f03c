// Bfloat16 in memory, float in kernels: the upper half of a float, rounded to nearest, ties to even.
// + - * / sqrt of such numbers, rounded to float and then again, are rounded once (float has more
// than twice the bits). In the intersection of C11 and C++17.

FC_INLINE float fc_widen_bf16(uint16_t b) { return fc_float_of((uint32_t)b << 16); }

// The float nearest to `a` that is a bfloat16; a carry goes on into the exponent, up to infinity.
FC_INLINE float fc_round_bf16(float a) {
    const uint32_t u = fc_bits_f32(a), even = (u + 0x7fffu + (u >> 16 & 1)) & 0xffff0000u;
    return fc_float_of((u & 0x7fffffffu) > 0x7f800000u ? (u | 0x00400000u) & 0xffff0000u : even);
}

// The bits of a float that is a bfloat16.
FC_INLINE uint16_t fc_narrow_bf16(float a) { return (uint16_t)(fc_bits_f32(a) >> 16); }
