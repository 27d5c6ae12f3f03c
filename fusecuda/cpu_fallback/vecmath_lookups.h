/* Vector functions of our own, as vecmath_packs.h has them, of what looks up numbers
 * (vecmath_tables.h, vecmath_pairs.h), for vecmath.h; include that file, not this one.
 *
 * A row of 16 is looked up for all lanes at once. */
#if defined(FC_PACKS)

#define FC_LOOK_eN16(row, at) __builtin_shuffle(*(const fc_row_eN16 *)(row), at)
#define FC_LOOK_dN8(row, at)                                                                      \
    __builtin_shuffle(*(const fc_row_dN8 *)(row), *(const fc_row_dN8 *)((row) + 8), at)
#define FC_LOOK_cN8(row, at) fc_look_cN8(row, at)
#define FC_LOOK_bN4(row, at) fc_look_bN4(row, at)

#define FC_BEYOND_eN16(words, bound)                                                              \
    (__builtin_ia32_ucmpd512_mask(words, (fc_places_eN16){ 0 } + (int)(bound), 5, 0xffff) != 0)
#define FC_BEYOND_dN8(words, bound) fc_beyond_dN8(words, bound)
#define FC_BEYOND_cN8(words, bound) fc_beyond_cN8(words, bound)
#define FC_BEYOND_bN4(words, bound) fc_beyond_bN4(words, bound)

#define FC_ROW_TYPES(code, lanes)                                                                 \
    typedef float fc_row_##code __attribute__((vector_size(lanes * 4), aligned(4), may_alias));   \
    typedef float fc_floats_##code __attribute__((vector_size(lanes * 4)));                       \
    typedef int fc_places_##code __attribute__((vector_size(lanes * 4)));                         \
    FC_FN fc_floats_##code fc_look_##code(const float *row, fc_places_##code at) {                \
        fc_floats_##code found;                                                                   \
        for (int i = 0; i < lanes; i++) FC_AT(float, found, i) = row[FC_AT(int, at, i) & 15];     \
        return found;                                                                             \
    }                                                                                             \
    FC_FN int fc_beyond_##code(fc_places_##code words, uint32_t bound) {                          \
        fc_places_##code far;                                                                     \
        for (int i = 0; i < lanes; i++)                                                           \
            FC_AT(uint32_t, far, i) = -(uint32_t)(FC_AT(uint32_t, words, i) >= bound);            \
        return fc_any(&far, sizeof far);                                                          \
    }

#define FC_ROWS_2(code, t)                                                                        \
    fc_floats_##code r0 = FC_LOOK_##code(t, at), r1 = FC_LOOK_##code(t + 16, at);
#define FC_ROWS_3(code, t)                                                                        \
    FC_ROWS_2(code, t)                                                                            \
    fc_floats_##code r2 = FC_LOOK_##code(t + 32, at);
#define FC_ROWS_7(code, t)                                                                        \
    FC_ROWS_3(code, t)                                                                            \
    fc_floats_##code r3 = FC_LOOK_##code(t + 48, at), r4 = FC_LOOK_##code(t + 64, at);            \
    fc_floats_##code r5 = FC_LOOK_##code(t + 80, at), r6 = FC_LOOK_##code(t + 96, at);
#define FC_ROWS_8(code, t)                                                                        \
    FC_ROWS_2(code, t)                                                                            \
    fc_floats_##code r2 = FC_LOOK_##code(t + 32, at), r3 = FC_LOOK_##code(t + 48, at);            \
    fc_floats_##code r4 = FC_LOOK_##code(t + 64, at), r5 = FC_LOOK_##code(t + 80, at);            \
    fc_floats_##code r6 = FC_LOOK_##code(t + 96, at), r7 = FC_LOOK_##code(t + 112, at);
#define FC_ROWS_9(code, t)                                                                        \
    FC_ROWS_8(code, t)                                                                            \
    fc_floats_##code r8 = FC_LOOK_##code(t + 128, at);
#define FC_PICKED_2 FC_AT(float, r0, i), FC_AT(float, r1, i)
#define FC_PICKED_3 FC_PICKED_2, FC_AT(float, r2, i)
#define FC_PICKED_7                                                                               \
    FC_PICKED_3, FC_AT(float, r3, i), FC_AT(float, r4, i), FC_AT(float, r5, i),                   \
        FC_AT(float, r6, i)
#define FC_PICKED_8                                                                               \
    FC_PICKED_2, FC_AT(float, r2, i), FC_AT(float, r3, i), FC_AT(float, r4, i),                   \
        FC_AT(float, r5, i), FC_AT(float, r6, i), FC_AT(float, r7, i)
#define FC_PICKED_9 FC_PICKED_8, FC_AT(float, r8, i)

/* Polynomials of pieces: they are right for everything. */
#define FC_PIECES(code, lanes, name, rows, piece)                                                 \
    FC_HIDDEN fc_floats_##code _ZGV##code##v_fc_pack_##name##_f32(fc_floats_##code x) {           \
        fc_floats_##code a, y;                                                                    \
        fc_places_##code at;                                                                      \
        for (int i = 0; i < lanes; i++)                                                           \
            FC_AT(float, a, i) = fc_##name##_given_f32(FC_AT(float, x, i));                       \
        for (int i = 0; i < lanes; i++)                                                           \
            FC_AT(uint32_t, at, i) = fc_##name##_place_f32(FC_AT(float, a, i));                   \
        FC_ROWS_##rows(code, fc_##name##_pieces)                                                  \
        for (int i = 0; i < lanes; i++) {                                                         \
            piece p = { FC_PICKED_##rows };                                                       \
            FC_AT(float, y, i) = fc_##name##_of_f32(FC_AT(float, x, i), FC_AT(float, a, i), p);   \
        }                                                                                         \
        return y;                                                                                 \
    }

/* Logarithms: of positive normal numbers u below `end`, or if there are others, of all. */
#define FC_LOGARITHMS(code, lanes, name, table, end)                                              \
    static __attribute__((noinline)) fc_floats_##code fc_long_##code##_##name(fc_floats_##code x) {\
        fc_floats_##code y;                                                                       \
        fc_places_##code at;                                                                      \
        for (int i = 0; i < lanes; i++)                                                           \
            FC_AT(uint32_t, at, i) = fc_log_place_f32(fc_##name##_lifted_f32(FC_AT(float, x, i)));\
        FC_ROWS_2(code, fc_##table##_parts)                                                       \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_log_piece_f p = { FC_PICKED_2 };                                                   \
            FC_AT(float, y, i) = fc_##name##_of_f32(FC_AT(float, x, i), p);                       \
        }                                                                                         \
        return y;                                                                                 \
    }                                                                                             \
    FC_HIDDEN fc_floats_##code _ZGV##code##v_fc_pack_##name##_f32(fc_floats_##code x) {           \
        fc_floats_##code y;                                                                       \
        fc_places_##code at, from;                                                                \
        for (int i = 0; i < lanes; i++) {                                                         \
            float u = fc_##name##_start_f32(FC_AT(float, x, i));                                  \
            FC_AT(uint32_t, at, i) = fc_log_place_f32(u);                                         \
            FC_AT(uint32_t, from, i) = fc_bits32(u) - 0x00800000u;                                \
        }                                                                                         \
        FC_ROWS_2(code, fc_##table##_parts)                                                       \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_log_piece_f p = { FC_PICKED_2 };                                                   \
            FC_AT(float, y, i) = fc_##name##_near_f32(FC_AT(float, x, i), p);                     \
        }                                                                                         \
        if (__builtin_expect(FC_BEYOND_##code(from, end), 0))                                     \
            return fc_long_##code##_##name(x);                                                    \
        return y;                                                                                 \
    }

FC_FOR_WIDTHS_OF_FLOATS(FC_ROW_TYPES)

#if defined(FC_WANTS_tanh_f32)
FC_LONE(FC_ONE, tanh, f32, float)
#define FC_TANHS_OF_FLOATS(code, lanes) FC_PIECES(code, lanes, tanh, 8, fc_piece_f)
FC_FOR_WIDTHS_OF_FLOATS(FC_TANHS_OF_FLOATS)
#define fc_tanh_f32 fc_pack_tanh_f32
#endif
#if defined(FC_WANTS_erf_f32)
FC_LONE(FC_ONE, erf, f32, float)
#define FC_ERFS_OF_FLOATS(code, lanes) FC_PIECES(code, lanes, erf, 9, fc_sloped_f)
FC_FOR_WIDTHS_OF_FLOATS(FC_ERFS_OF_FLOATS)
#define fc_erf_f32 fc_pack_erf_f32
#endif
#if defined(FC_WANTS_log_f32)
FC_LONE(FC_ONE, log, f32, float)
#define FC_LOGS_OF_FLOATS(code, lanes) FC_LOGARITHMS(code, lanes, log, log, 0x7f000000u)
FC_FOR_WIDTHS_OF_FLOATS(FC_LOGS_OF_FLOATS)
#define fc_log_f32 fc_pack_log_f32
#endif
#if defined(FC_WANTS_log1p_f32)
FC_LONE(FC_ONE, log1p, f32, float)
#define FC_LOG1PS_OF_FLOATS(code, lanes) FC_LOGARITHMS(code, lanes, log1p, log, 0x5d000000u)
FC_FOR_WIDTHS_OF_FLOATS(FC_LOG1PS_OF_FLOATS)
#define fc_log1p_f32 fc_pack_log1p_f32
#endif
#if defined(FC_WANTS_log2_f32)
FC_LONE(FC_ONE, log2, f32, float)
#define FC_LOG2S_OF_FLOATS(code, lanes) FC_LOGARITHMS(code, lanes, log2, log2, 0x7f000000u)
FC_FOR_WIDTHS_OF_FLOATS(FC_LOG2S_OF_FLOATS)
#define fc_log2_f32 fc_pack_log2_f32
#endif
#if defined(FC_WANTS_log10_f32)
FC_LONE(FC_ONE, log10, f32, float)
#define FC_LOG10S_OF_FLOATS(code, lanes) FC_LOGARITHMS(code, lanes, log10, log10, 0x7f000000u)
FC_FOR_WIDTHS_OF_FLOATS(FC_LOG10S_OF_FLOATS)
#define fc_log10_f32 fc_pack_log10_f32
#endif

#if defined(FC_WANTS_pow_f32)
/* Of positive normal numbers, and of 0 to positive powers. */
#define FC_POWERS_OF_FLOATS(code, lanes)                                                          \
    static __attribute__((noinline)) fc_floats_##code fc_long_##code##_pow(                       \
            fc_floats_##code x, fc_floats_##code y) {                                             \
        fc_floats_##code r;                                                                       \
        fc_places_##code at;                                                                      \
        for (int i = 0; i < lanes; i++) {                                                         \
            float a = __builtin_fabsf(FC_AT(float, x, i));                                        \
            FC_AT(uint32_t, at, i) = fc_log_place_f32(fc_lifted_f(a));                            \
        }                                                                                         \
        FC_ROWS_3(code, fc_pow_parts)                                                             \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_pow_piece_f p = { FC_PICKED_3 };                                                   \
            FC_AT(float, r, i) = fc_pow_of_f32(FC_AT(float, x, i), FC_AT(float, y, i), p);        \
        }                                                                                         \
        return r;                                                                                 \
    }                                                                                             \
    FC_HIDDEN fc_floats_##code _ZGV##code##vv_fc_pack_pow_f32(                                    \
            fc_floats_##code x, fc_floats_##code y) {                                             \
        fc_floats_##code r;                                                                       \
        fc_places_##code at, far;                                                                 \
        for (int i = 0; i < lanes; i++)                                                           \
            FC_AT(uint32_t, at, i) = fc_log_place_f32(FC_AT(float, x, i));                        \
        FC_ROWS_3(code, fc_pow_parts)                                                             \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_pow_piece_f p = { FC_PICKED_3 };                                                   \
            double log = fc_pow_log(FC_AT(float, x, i), 0.0f, p);                                 \
            FC_AT(float, r, i) = (float)fc_pow_exp2((double)FC_AT(float, y, i) * log);            \
        }                                                                                         \
        for (int i = 0; i < lanes; i++) {                                                         \
            uint32_t u = fc_bits32(FC_AT(float, x, i));                                           \
            int zero = (u == 0) & (FC_AT(float, y, i) > 0.0f);                                    \
            int near = (u - 0x00800000u < 0x7f000000u) | zero;                                    \
            near &= __builtin_fabsf(FC_AT(float, y, i)) < __builtin_inff();                       \
            FC_AT(float, r, i) = zero ? 0.0f : FC_AT(float, r, i);                                \
            FC_AT(uint32_t, far, i) = -(uint32_t)!near;                                           \
        }                                                                                         \
        if (FC_GOES_FAR(far)) return fc_long_##code##_pow(x, y);                                  \
        return r;                                                                                 \
    }

FC_LONE(FC_TWO, pow, f32, float)
FC_FOR_WIDTHS_OF_FLOATS(FC_POWERS_OF_FLOATS)
#define fc_pow_f32 fc_pack_pow_f32
#endif

#if defined(FC_WANTS_arctan2_f32)
/* Of points that are not very near or far. */
#define FC_ANGLES(code, lanes)                                                                    \
    static __attribute__((noinline)) fc_floats_##code fc_long_##code##_arctan2(                   \
            fc_floats_##code y, fc_floats_##code x) {                                             \
        fc_floats_##code r;                                                                       \
        fc_places_##code at;                                                                      \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_point_f g = fc_arctan2_given_f(FC_AT(float, y, i), FC_AT(float, x, i));            \
            FC_AT(uint32_t, at, i) = fc_arctan2_place_f32(fc_ratio_of_f(g.y, g.x));               \
        }                                                                                         \
        FC_ROWS_7(code, fc_arctan_pieces)                                                         \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_angle_piece_f p = { FC_PICKED_7 };                                                 \
            fc_point_f g = fc_arctan2_given_f(FC_AT(float, y, i), FC_AT(float, x, i));            \
            FC_AT(float, r, i) = fc_arctan2_of_f32(FC_AT(float, y, i), FC_AT(float, x, i), g, p); \
        }                                                                                         \
        return r;                                                                                 \
    }                                                                                             \
    FC_HIDDEN fc_floats_##code _ZGV##code##vv_fc_pack_arctan2_f32(                                \
            fc_floats_##code y, fc_floats_##code x) {                                             \
        fc_floats_##code r, low, high, by, t;                                                     \
        fc_places_##code at, far;                                                                 \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_ratio_f s = fc_ratio_of_f(FC_AT(float, y, i), FC_AT(float, x, i));                 \
            FC_AT(float, low, i) = s.low;                                                         \
            FC_AT(float, high, i) = s.high;                                                       \
            FC_AT(float, by, i) = s.r;                                                            \
            FC_AT(float, t, i) = s.t;                                                             \
            FC_AT(uint32_t, at, i) = fc_arctan2_place_f32(s);                                     \
            FC_AT(uint32_t, far, i) = -(uint32_t)!fc_is_calm_f(s.low, s.high);                    \
        }                                                                                         \
        FC_ROWS_7(code, fc_arctan_pieces)                                                         \
        for (int i = 0; i < lanes; i++) {                                                         \
            fc_angle_piece_f p = { FC_PICKED_7 };                                                 \
            fc_ratio_f s = { FC_AT(float, low, i), FC_AT(float, high, i), FC_AT(float, by, i),    \
                FC_AT(float, t, i) };                                                             \
            float n = FC_AT(float, y, i), d = FC_AT(float, x, i);                                 \
            FC_AT(float, r, i) = fc_arctan2_near_of_f(n, d, s, p);                                \
        }                                                                                         \
        if (FC_GOES_FAR(far)) return fc_long_##code##_arctan2(y, x);                              \
        return r;                                                                                 \
    }

FC_LONE(FC_TWO, arctan2, f32, float)
FC_FOR_WIDTHS_OF_FLOATS(FC_ANGLES)
#define fc_arctan2_f32 fc_pack_arctan2_f32
#endif

#endif
