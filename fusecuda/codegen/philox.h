// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3): a block
// of 128 random bits is made of a counter of 128 bits, whose upper half is the number of a stream,
// and a key of 64. Each element is a block of its own, so that it does not matter who computes it.
// Words of 32 bits stand in numbers of 64: so the products vectorise.
typedef struct { uint64_t a, b, c, d; } fc_words;

FC_INLINE fc_words fc_philox_round(fc_words w, uint64_t low, uint64_t high) {
    const uint64_t p = 0xD2511F53U * (w.a & 0xFFFFFFFFU), q = 0xCD9E8D57U * (w.c & 0xFFFFFFFFU);
    fc_words next;
    next.a = (q >> 32) ^ w.b ^ low;
    next.b = q & 0xFFFFFFFFU;
    next.c = (p >> 32) ^ w.d ^ high;
    next.d = p & 0xFFFFFFFFU;
    return next;
}

FC_INLINE fc_words fc_philox_block(uint64_t counter, uint64_t stream, uint64_t key) {
    uint64_t low = key & 0xFFFFFFFFU, high = key >> 32;
    fc_words w;
    w.a = counter & 0xFFFFFFFFU;
    w.b = counter >> 32;
    w.c = stream & 0xFFFFFFFFU;
    w.d = stream >> 32;
    for (int i = 0; i < 10; i++) {
        w = fc_philox_round(w, low, high);
        low = (low + 0x9E3779B9U) & 0xFFFFFFFFU;
        high = (high + 0xBB67AE85U) & 0xFFFFFFFFU;
    }
    return w;
}

FC_INLINE uint64_t fc_philox_u64(uint64_t counter, uint64_t stream, uint64_t key) {
    const fc_words w = fc_philox_block(counter, stream, key);
    return w.a | w.b << 32;
}

FC_INLINE uint64_t fc_philox_rest_u64(uint64_t counter, uint64_t stream, uint64_t key) {
    const fc_words w = fc_philox_block(counter, stream, key);
    return w.c | w.d << 32;
}

FC_INLINE uint64_t fc_multiply_high(uint64_t a, uint64_t b) {
    const uint64_t mask = 0xFFFFFFFFU, p = (a & mask) * (b & mask);
    const uint64_t middle = (a >> 32) * (b & mask) + (p >> 32);
    const uint64_t other = (a & mask) * (b >> 32) + (middle & mask);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

// The whole part of count times the fraction that 128 bits are; a count of 0 is 2^64.
FC_INLINE uint64_t fc_below_u64(uint64_t high, uint64_t low, uint64_t count) {
    const uint64_t more = fc_multiply_high(low, count), lower = high * count + more;
    const uint64_t all = -(uint64_t)(count == 0); // a mask, so that nothing becomes a branch
    return (high & all) | ((fc_multiply_high(high, count) + (lower < more)) & ~all);
}
