// Casts that packs have no instruction for before AVX-512: between whole numbers of 64 bits and floats.
// One of them in a loop would keep all of it from vectors. Out of range they give what the processor's
// instruction for one number gives.
#if defined(__SSE4_1__) && defined(__GNUC__) && !defined(__AVX512DQ__)

FC_INLINE double fc_double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
FC_INLINE uint64_t fc_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// The halves are put into doubles, which are added: 2^84 and the upper half, 2^52 and the lower one.
FC_INLINE double fc_of_halves(uint64_t a, double less) {
    const double high = fc_double_of_bits(a >> 32 | 0x4530000000000000U);
    const double low = fc_double_of_bits((a & 0xFFFFFFFFU) | 0x4330000000000000U);
    return (high - less) + low;
}
FC_INLINE double fc_f64_of_u64(uint64_t a) { return fc_of_halves(a, 0x1.00000001p84); }
FC_INLINE double fc_f64_of_s64(int64_t a) { /* 2^63 more, and less again */
    return fc_of_halves((uint64_t)a ^ (uint64_t)1 << 63, 0x1.00000801p84);
}

// Through a double, in which what is longer than 53 bits ends with a bit that says whether more came
// behind: so the float is what one rounding makes.
FC_INLINE uint64_t fc_odd(uint64_t a) { return (a | ((a & 2047) + 2047)) & ~(uint64_t)2047; }
FC_INLINE float fc_f32_of_u64(uint64_t a) {
    return (float)fc_f64_of_u64(a >> 53 ? fc_odd(a) : a);
}
FC_INLINE float fc_f32_of_s64(int64_t a) {
    const uint64_t bits = (uint64_t)a, edge = (uint64_t)1 << 53;
    return (float)fc_f64_of_s64((int64_t)(bits + edge > 2 * edge ? fc_odd(bits) : bits));
}

// The whole part's upper half, with a sign, and its lower one, each in the last bits of a double.
FC_INLINE uint64_t fc_halves_of(double x) {
    const double whole = __builtin_trunc(x), high = __builtin_floor(whole * 0x1p-32);
    const uint64_t upper = fc_bits_of_double(high + 0x1.8p52);
    const uint64_t lower = fc_bits_of_double(whole - high * 0x1p32 + 0x1p52);
    return (upper << 32) + (lower & 0xFFFFFFFFU);
}
FC_INLINE int64_t fc_s64_of_f64(double x) {
    const uint64_t none = (uint64_t)1 << 63;
    return (int64_t)(x >= -0x1p63 && x < 0x1p63 ? fc_halves_of(x) : none);
}
FC_INLINE uint64_t fc_u64_of_f64(double x) {
    const uint64_t none = (uint64_t)1 << 63;
    const uint64_t small = x >= -0x1p63 && x < 0x1p63 ? fc_halves_of(x) : none;
    return x < 0x1p63 ? small : fc_halves_of(x - 0x1p63) ^ none;
}
#else
FC_INLINE double fc_f64_of_u64(uint64_t a) { return FC_OF_WHOLE(double, a); }
FC_INLINE double fc_f64_of_s64(int64_t a) { return FC_OF_WHOLE(double, a); }
FC_INLINE float fc_f32_of_u64(uint64_t a) { return FC_OF_WHOLE(float, a); }
FC_INLINE float fc_f32_of_s64(int64_t a) { return FC_OF_WHOLE(float, a); }
FC_INLINE int64_t fc_s64_of_f64(double x) { return (int64_t)x; }
FC_INLINE uint64_t fc_u64_of_f64(double x) { return (uint64_t)x; }
#endif
