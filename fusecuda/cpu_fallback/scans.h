// Running extremes of floats, in place. Where no element is NaN each step is one instruction, of which
// the next one waits; of two that are equal the later one stays, as in fc_maximum and fc_minimum.
#define FC_SCAN_EXTREME(kind, t, T, P, better, extreme)                                            \
    FC_OUTLINE T fc_scan_##kind##_##t(T *values, int64_t run, T total) {                           \
        P odd = total != total;                                                                    \
        for (int64_t k = 0; k < run; ++k) odd |= (P)(values[k] != values[k]);                      \
        for (int64_t k = 0; odd && k < run; ++k)                                                   \
            total = values[k] = extreme(total, values[k]);                                         \
        for (int64_t k = 0; !odd && k < run; ++k) {                                                \
            const T value = values[k];                                                             \
            total = total better value ? total : value;                                            \
            values[k] = total;                                                                     \
        }                                                                                          \
        return total;                                                                              \
    }
FC_SCAN_EXTREME(max, f64, double, int64_t, >, fc_maximum_f64)
FC_SCAN_EXTREME(min, f64, double, int64_t, <, fc_minimum_f64)
FC_SCAN_EXTREME(max, f32, float, int32_t, >, fc_maximum_f32)
FC_SCAN_EXTREME(min, f32, float, int32_t, <, fc_minimum_f32)
