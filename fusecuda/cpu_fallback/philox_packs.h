// Vector functions of Philox for processors without AVX-512, as vecmath_packs.h has them: gcc knows
// no product of 32 bits by 32 in lanes of 64, and computes one of 64 bits by 64 in its place. That
// product minds the lower halves of lanes alone, so anything may stand in the upper ones.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__AVX512F__)

#define FC_PHILOX(code, lanes, product)                                                            \
    typedef uint64_t fc_lanes_##code __attribute__((vector_size(lanes * 8)));                      \
    typedef int fc_words_##code __attribute__((vector_size(lanes * 8)));                           \
    FC_INLINE fc_lanes_##code fc_product_##code(uint64_t a, fc_lanes_##code b) {                   \
        const fc_lanes_##code all = { 0 };                                                         \
        return (fc_lanes_##code)product((fc_words_##code)(all + a), (fc_words_##code)b);           \
    }                                                                                              \
    FC_PHILOX_HALF(philox, code, (w[0] & mask) | w[1] << 32)                                       \
    FC_PHILOX_HALF(philox_rest, code, (w[2] & mask) | w[3] << 32)

#define FC_PHILOX_HALF(name, code, half)                                                           \
    FC_HIDDEN fc_lanes_##code _ZGV##code##vvv_fc_pack_##name##_u64(                                \
            fc_lanes_##code counter, fc_lanes_##code stream, fc_lanes_##code key) {                \
        const uint64_t mask = 0xFFFFFFFFU;                                                         \
        fc_lanes_##code w[4] = { counter, counter >> 32, stream, stream >> 32 };                   \
        fc_lanes_##code low = key, high = key >> 32;                                               \
        for (int i = 0; i < 10; i++) {                                                             \
            const fc_lanes_##code p = fc_product_##code(0xD2511F53U, w[0]);                        \
            const fc_lanes_##code q = fc_product_##code(0xCD9E8D57U, w[2]);                        \
            w[0] = (q >> 32) ^ w[1] ^ low;                                                         \
            w[1] = q;                                                                              \
            w[2] = (p >> 32) ^ w[3] ^ high;                                                        \
            w[3] = p;                                                                              \
            low += 0x9E3779B9U;                                                                    \
            high += 0xBB67AE85U;                                                                   \
        }                                                                                          \
        return half;                                                                               \
    }

#define FC_PHILOX_ONE(name)                                                                        \
    __attribute__((simd("notinbranch"), const)) uint64_t fc_pack_##name##_u64(                     \
            uint64_t counter, uint64_t stream, uint64_t key);                                      \
    uint64_t fc_lone_##name##_u64(uint64_t counter, uint64_t stream, uint64_t key)                 \
            __asm__("fc_pack_" #name "_u64");                                                      \
    FC_HIDDEN uint64_t fc_lone_##name##_u64(uint64_t counter, uint64_t stream, uint64_t key) {     \
        return fc_##name##_u64(counter, stream, key);                                              \
    }

FC_PHILOX_ONE(philox)
FC_PHILOX_ONE(philox_rest)
FC_PHILOX(bN2, 2, __builtin_ia32_pmuludq128)
#if defined(__AVX__)
FC_PHILOX(cN2, 2, __builtin_ia32_pmuludq128)
#endif
#if defined(__AVX2__)
FC_PHILOX(dN4, 4, __builtin_ia32_pmuludq256)
#endif
#define fc_philox_u64 fc_pack_philox_u64
#define fc_philox_rest_u64 fc_pack_philox_rest_u64
#endif
