// Searches: how many elements of a sorted array are before a value. NaN is behind all numbers, as
// where NumPy sorts. ELEMENT is the one at `entry`, of type T. Each value takes the same steps,
// without a branch: what may still be `left` after one is half of it, whatever has been found.
#define FC_BELOW(a, v) (!((a) >= (v)) & ((a) == (a)))
#define FC_NOT_ABOVE(a, v) (((a) <= (v)) | ((v) != (v)))
#define FC_SEARCH(found, T, value, count, BEFORE, ELEMENT)                                         \
    found = 0;                                                                                     \
    for (int64_t left = count, half; left > 0; left -= half) {                                     \
        half = (left + 1) / 2;                                                                     \
        const int64_t entry = found + half - 1;                                                    \
        const T element = ELEMENT;                                                                 \
        found += half & -(int64_t)BEFORE(element, value);                                          \
    }
