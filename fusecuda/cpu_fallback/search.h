// A run of searches. In a short array all elements are compared, each with a vector of values; in
// others some values take each step together, for one alone waits for what it reads. What is before
// NaN is told once: numbers need one comparison.
#define FC_BELOW_NUMBER(a, v) ((a) < (v))
#define FC_NOT_ABOVE_NUMBER(a, v) ((a) <= (v))
#define FC_BELOW_NAN(a, v) ((a) == (a))
#define FC_NOT_ABOVE_NAN(a, v) 1
enum { FC_FEW = 32, FC_TOGETHER = 16 };
#define FC_SEARCH_RUN(found, T, values, run, count, BEFORE, ELEMENT)                               \
    {                                                                                              \
        int64_t of_nan, past = 0;                                                                  \
        FC_SEARCH(of_nan, T, 0, count, BEFORE##_NAN, ELEMENT)                                      \
        if (count <= FC_FEW) {                                                                     \
            for (; past < run; ++past) (found)[past] = 0;                                          \
            for (int64_t entry = 0; entry < count; ++entry) {                                      \
                const T element = ELEMENT;                                                         \
                _Pragma("GCC ivdep")                                                               \
                for (int64_t k = 0; k < run; ++k)                                                  \
                    (found)[k] += BEFORE##_NUMBER(element, (values)[k]);                           \
            }                                                                                      \
        }                                                                                          \
        for (; past + FC_TOGETHER <= run; past += FC_TOGETHER) {                                   \
            int64_t some[FC_TOGETHER] = {0};                                                       \
            for (int64_t left = count, half; left > 0; left -= half) {                             \
                half = (left + 1) / 2;                                                             \
                for (int k = 0; k < FC_TOGETHER; ++k) {                                            \
                    const int64_t entry = some[k] + half - 1;                                      \
                    const T element = ELEMENT;                                                     \
                    some[k] += half & -(int64_t)BEFORE##_NUMBER(element, (values)[past + k]);      \
                }                                                                                  \
            }                                                                                      \
            for (int k = 0; k < FC_TOGETHER; ++k) (found)[past + k] = some[k];                     \
        }                                                                                          \
        for (; past < run; ++past) {                                                               \
            int64_t one;                                                                           \
            FC_SEARCH(one, T, (values)[past], count, BEFORE##_NUMBER, ELEMENT)                     \
            (found)[past] = one;                                                                   \
        }                                                                                          \
        for (int64_t k = 0; k < run; ++k)                                                          \
            (found)[k] = (values)[k] != (values)[k] ? of_nan : (found)[k];                         \
    }
