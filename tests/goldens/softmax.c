softmax: 5 operations in 1 kernel
  moves 98,304 B, one operation at a time 395,264 B; peak 50,688 B
  0: reduce_max_subtract_exp_sum_divide (resident)
     reads 49,152 B, writes 49,152 B
     subtract, exp, divide, max, sum

// softmax: reduce_max_subtract_exp_sum_divide, reduction over [64] rows of [96]
//   in0 reads parameter(0) float64[64, 96]
//   out1 writes divide float64[64, 96]
// together, for they need the same rows, again where they follow a reduction: subtract, exp,
//   divide, max, sum
// 3 passes over each row, which stays resident between them
#ifndef FC_HAVE_max_f64
#define FC_HAVE_max_f64
FC_EXTREME_TREE(max_f64, double, int64_t, -HUGE_VAL, >, fc_maximum_f64(a, b))
#endif
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
FC_OUTLINE double reduce_max_subtract_exp_sum_divide_ce5cbfbb88fc_join1(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_max_f64 tree1;
    fc_start_max_f64(&tree1);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_max_f64(&tree1, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 0)));
    return fc_finish_max_f64(&tree1);
}
FC_OUTLINE double reduce_max_subtract_exp_sum_divide_ce5cbfbb88fc_join4(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree4;
    fc_start_sum_f64(&tree4);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree4, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)));
    return fc_finish_sum_f64(&tree4) + 0;
}
void reduce_max_subtract_exp_sum_divide_ce5cbfbb88fc(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t s0_m0 = a->dim[4];
    const int64_t s0_n0 = a->dim[5];
    const int64_t s1_m0 = a->dim[6];
    const int64_t s1_n0 = a->dim[7];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t row = parts == 1 ? item : item / parts;
        const int64_t part = item - row * parts;
        const int64_t first = part * part_length;
        const int64_t last = fc_min(first + part_length, length);
        const int64_t kept = (length * sizeof(double) + 63) / 64 * 64;
        char *free_scratch = parts > 1 ? a->workspace + 16 * rows * (2 * parts + 0) + row * kept : scratch;
        double *const row_keep0 = (double *)free_scratch;
        free_scratch += (length * sizeof(double) + 63) / 64 * 64;
        (void)free_scratch;
        const int64_t i_m0 = row;
        const char *row_in0 = a->ptr[0] + i_m0 * s0_m0;
        char *row_out1 = a->ptr[1] + i_m0 * s1_m0;
        double v1;
        if (a->phase > 0) {
            v1 = reduce_max_subtract_exp_sum_divide_ce5cbfbb88fc_join1(a, row);
        }
        else {
            fc_tree_max_f64 tree1;
            fc_start_max_f64(&tree1);
            for (int64_t at = first; at < last; at += FC_CHUNK) {
                const int64_t count = fc_min(FC_CHUNK, last - at);
                const double *in0 = (const double *)(row_in0 + at * s0_n0);
                const double *const b1 = in0;
                fc_push_max_f64(&tree1, fc_fold_max_f64(b1, count, at));
            }
            if (parts > 1) {
                *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 0)) = fc_finish_max_f64(&tree1);
                continue;
            }
            v1 = fc_finish_max_f64(&tree1);
        }
        double v4;
        if (a->phase > 1) {
            v4 = reduce_max_subtract_exp_sum_divide_ce5cbfbb88fc_join4(a, row);
        }
        else {
            fc_tree_sum_f64 tree4;
            fc_start_sum_f64(&tree4);
            for (int64_t at = first; at < last; at += FC_CHUNK) {
                const int64_t count = fc_min(FC_CHUNK, last - at);
                double b4[FC_CHUNK + FC_BLOCK];
                {
                    const int64_t run = count;
                    const double *in0 = (const double *)(row_in0 + at * s0_n0);
                    double *keep0 = row_keep0 + at + 0;
                    double last_in0[8];
                    double last_keep0[8];
                    for (int64_t block = 0, count; block < run; block += count) {
                        count = fc_blocks(run - block, 8);
                        const int64_t from = fc_block(block, run, 8, a->again);
                        if (from + count > run) {
                            in0 = (const double *)fc_copied(last_in0, in0 + block, 1, run - block, 8, sizeof *in0) - block;
                            keep0 = last_keep0 - block;
                        }
                        #pragma GCC ivdep
                        for (int64_t i = 0; i < count; ++i) {
                            const int64_t k = from + i;
                            const double v0 = in0[k];
                            const double v2 = v0 - v1;
                            const double v3 = fc_exp_f64(v2);
                            keep0[k] = v3;
                            b4[k] = v3;
                        }
                        if (from + count > run) {
                            memcpy(row_keep0 + at + 0 + block, last_keep0, (size_t)(run - block) * sizeof *last_keep0);
                        }
                    }
                }
                fc_push_sum_f64(&tree4, fc_fold_sum_f64(b4, count, at));
            }
            if (parts > 1) {
                *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)) = fc_finish_sum_f64(&tree4);
                continue;
            }
            v4 = fc_finish_sum_f64(&tree4) + 0;
        }
        for (int64_t at = first; at < last; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, last - at);
            {
                const int64_t run = count;
                double *out1 = (double *)(row_out1 + at * s1_n0);
                double *keep0 = row_keep0 + at + 0;
                double room1[FC_ROOM];
                double *to1 = a->streams ? room1 : out1;
                const fc_divisor_f64 by4 = fc_divisor_of_f64(v4);
                int64_t far4 = by4.far;
                const bool at_once = fc_shared(run, 8);
                if (at_once && !far4) {
                    #pragma GCC ivdep
                    for (int64_t k = 0; k < run; ++k) {
                        const double v3 = keep0[k];
                        const double v5 = fc_divide_by_f64(v3, by4);
                        far4 |= fc_is_far_f64(v3, by4);
                        to1[k] = v5;
                    }
                }
                if (!at_once || far4) {
                    double last_keep0[8];
                    double last_to1[8];
                    for (int64_t block = 0, count; block < run; block += count) {
                        count = fc_blocks(run - block, 8);
                        const int64_t from = fc_block(block, run, 8, a->again);
                        if (from + count > run) {
                            keep0 = (const double *)fc_copied(last_keep0, keep0 + block, 1, run - block, 8, sizeof *keep0) - block;
                            to1 = last_to1 - block;
                        }
                        #pragma GCC ivdep
                        for (int64_t i = 0; i < count; ++i) {
                            const int64_t k = from + i;
                            const double v3 = keep0[k];
                            const double v5 = v3 / v4;
                            to1[k] = v5;
                        }
                        if (from + count > run) {
                            memcpy((a->streams ? room1 : out1) + block, last_to1, (size_t)(run - block) * sizeof *last_to1);
                        }
                    }
                }
                if (a->streams) fc_stream(out1, room1, (size_t)run * sizeof *room1);
            }
        }
        if (parts > 1) {
            continue;
        }
    }
}
