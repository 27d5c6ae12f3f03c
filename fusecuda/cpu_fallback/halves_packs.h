// Vector functions of halves, as vecmath_packs.h has them: the processor's own conversions, which
// round to nearest as those in integers do. gcc knows them for one number, not for vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__AVX2__) && defined(__F16C__)

#define FC_HALVES(code, lanes, narrowed, widened)                                                  \
    typedef float fc_floats_##code __attribute__((vector_size(lanes * 4)));                        \
    typedef uint32_t fc_bits_##code __attribute__((vector_size(lanes * 4)));                       \
    typedef uint16_t fc_halves_##code __attribute__((vector_size(lanes * 2)));                     \
    FC_HIDDEN fc_floats_##code _ZGV##code##v_fc_pack_widen_f16(fc_bits_##code h) {                 \
        return widened(__builtin_convertvector(h, fc_halves_##code));                              \
    }                                                                                              \
    FC_HIDDEN fc_floats_##code _ZGV##code##v_fc_pack_round_f16(fc_floats_##code a) {               \
        return widened(narrowed(a));                                                               \
    }                                                                                              \
    FC_NARROW(code, code, narrowed)
#define FC_NARROW(as, code, narrowed)                                                              \
    FC_HIDDEN fc_bits_##code _ZGV##as##v_fc_pack_narrow_f16(fc_floats_##code a) {                  \
        return __builtin_convertvector((fc_halves_##code)narrowed(a), fc_bits_##code);             \
    }

// What takes and gives eight halves, of which four count.
typedef short fc_eight __attribute__((vector_size(16)));
typedef float fc_four __attribute__((vector_size(16)));
typedef uint16_t fc_four_halves __attribute__((vector_size(8)));
FC_INLINE fc_four_halves fc_narrowed_4(fc_four a) {
    const fc_eight all = __builtin_ia32_vcvtps2ph(a, 0);
    fc_four_halves h;
    memcpy(&h, &all, sizeof h);
    return h;
}
FC_INLINE fc_four fc_widened_4(fc_four_halves h) {
    fc_eight all = { 0 };
    memcpy(&all, &h, sizeof h);
    return __builtin_ia32_vcvtph2ps(all);
}
#define FC_NARROWED_8(a) __builtin_ia32_vcvtps2ph256(a, 0)
#define FC_WIDENED_8(h) __builtin_ia32_vcvtph2ps256((fc_eight)(h))

FC_HALVES(bN4, 4, fc_narrowed_4, fc_widened_4)
FC_NARROW(cN4, bN4, fc_narrowed_4)  // before AVX2 a pack of integers is half as long as one of floats
FC_HALVES(dN8, 8, FC_NARROWED_8, FC_WIDENED_8)
#if defined(__AVX512F__)
typedef short fc_sixteen __attribute__((vector_size(32)));
#define FC_NARROWED_16(a) __builtin_ia32_vcvtps2ph512_mask(a, 0, (fc_sixteen){ 0 }, -1)
#define FC_WIDENED_16(h) \
    __builtin_ia32_vcvtph2ps512_mask((fc_sixteen)(h), (fc_floats_eN16){ 0 }, -1, 4)
FC_HALVES(eN16, 16, FC_NARROWED_16, FC_WIDENED_16)
#endif

#define FC_HALVES_ONE(name, T, U)                                                                  \
    __attribute__((simd("notinbranch"), const)) T fc_pack_##name##_f16(U x);                       \
    T fc_lone_##name##_f16(U x) __asm__("fc_pack_" #name "_f16");                                  \
    FC_HIDDEN T fc_lone_##name##_f16(U x) { return fc_##name##_f16(x); }

FC_HALVES_ONE(widen, float, uint32_t)
FC_HALVES_ONE(narrow, uint32_t, float)
FC_HALVES_ONE(round, float, float)
#define fc_widen_f16 fc_pack_widen_f16
#define fc_narrow_f16 fc_pack_narrow_f16
#define fc_round_f16 fc_pack_round_f16
#endif
