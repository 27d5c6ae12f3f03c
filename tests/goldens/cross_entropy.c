cross_entropy: 10 operations in 1 kernel
  moves 49,672 B, one operation at a time 303,128 B; peak 1,032 B
  0: reduce_max_subtract_iota_gather_divide (reduction)
     reads 49,664 B, writes 8 B
     3 subtract, exp, log, divide, max, 2 sum

// cross_entropy: reduce_max_subtract_iota_gather_divide, reduction over [64] rows of [96]
//   in0 reads parameter(0) float64[64, 96]
//   in1 reads parameter(1) int64[64]
//   in3 reads parameter(0) float64[64, 96]
//   out4 writes divide float64[]
// together, for they need the same rows, again where they follow a reduction: 3 subtract, exp,
//   log, divide, max, 2 sum
// 2 passes over each row
#ifndef FC_HAVE_max_f64
#define FC_HAVE_max_f64
FC_EXTREME_TREE(max_f64, double, int64_t, -HUGE_VAL, >, fc_maximum_f64(a, b))
#endif
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
FC_OUTLINE double reduce_max_subtract_iota_gather_divide_86f173da85c2_join1(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_max_f64 tree1;
    fc_start_max_f64(&tree1);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_max_f64(&tree1, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 0)));
    return fc_finish_max_f64(&tree1);
}
FC_OUTLINE double reduce_max_subtract_iota_gather_divide_86f173da85c2_join4(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree4;
    fc_start_sum_f64(&tree4);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree4, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)));
    return fc_finish_sum_f64(&tree4) + 0;
}
void reduce_max_subtract_iota_gather_divide_86f173da85c2(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t s0_m0 = a->dim[4];
    const int64_t s0_n0 = a->dim[5];
    const int64_t s1_m0 = a->dim[6];
    const int64_t s1_n0 = a->dim[7];
    const int64_t s2_m0 = a->dim[8];
    const int64_t s2_n0 = a->dim[9];
    const int64_t origin2 = a->dim[10];
    const int64_t s3_m0 = a->dim[11];
    const int64_t s3_n0 = a->dim[12];
    const int64_t limit0 = a->dim[15];
    const int64_t limit1 = a->dim[16];
    const int64_t limit2 = a->dim[17];
    const int64_t limit3 = a->dim[18];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t row = parts == 1 ? item : item / parts;
        const int64_t part = item - row * parts;
        const int64_t first = part * part_length;
        const int64_t last = fc_min(first + part_length, length);
        const int64_t i_m0 = row;
        const char *row_in0 = a->ptr[0] + i_m0 * s0_m0;
        const char *row_in1 = a->ptr[1] + i_m0 * s1_m0;
        const int64_t row_at2 = origin2 + i_m0 * s2_m0;
        const char *row_in3 = a->ptr[2] + i_m0 * s3_m0;
        double v1;
        if (a->phase > 0) {
            v1 = reduce_max_subtract_iota_gather_divide_86f173da85c2_join1(a, row);
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
        fc_tree_sum_f64 tree4;
        fc_start_sum_f64(&tree4);
        for (int64_t at = first; at < last; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, last - at);
            double b4[FC_CHUNK + FC_BLOCK];
            {
                const int64_t run = count;
                const double *in0 = (const double *)(row_in0 + at * s0_n0);
                double last_in0[8];
                for (int64_t block = 0, count; block < run; block += count) {
                    count = fc_blocks(run - block, 8);
                    const int64_t from = fc_block(block, run, 8, a->again);
                    if (from + count > run) {
                        in0 = (const double *)fc_copied(last_in0, in0 + block, 1, run - block, 8, sizeof *in0) - block;
                    }
                    #pragma GCC ivdep
                    for (int64_t i = 0; i < count; ++i) {
                        const int64_t k = from + i;
                        const double v0 = in0[k];
                        const double v2 = v0 - v1;
                        const double v3 = fc_exp_f64(v2);
                        b4[k] = v3;
                    }
                }
            }
            fc_push_sum_f64(&tree4, fc_fold_sum_f64(b4, count, at));
        }
        if (parts > 1) {
            *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)) = fc_finish_sum_f64(&tree4);
            continue;
        }
        const double v4 = fc_finish_sum_f64(&tree4) + 0;
        const int64_t v5 = *(const int64_t *)(row_in1);
        const int64_t v6 = row_at2;
        const int64_t g7_0 = v6 < 0 ? v6 + limit0 : v6;
        const int64_t g7_1 = v5 < 0 ? v5 + limit2 : v5;
        const bool ok7 = ((uint64_t)g7_0 < (uint64_t)limit0) & ((uint64_t)g7_1 < (uint64_t)limit2);
        if (!ok7) a->status[0] = 1;
        const double v7 = ok7 ? *(const double *)((const char *)row_in3 + g7_0 * limit1 + g7_1 * (int64_t)sizeof(double)) : 0;
        const double v8 = v7 - v1;
        const double v9 = fc_log_f64(v4);
        const double v10 = v9 - v8;
        ((double *)(a->workspace + 16 * 2 * parts * rows * (parts > 1) + 16 * rows * 0))[row * (16 / sizeof(double))] = v10;
    }
}
void reduce_max_subtract_iota_gather_divide_86f173da85c2_finish(const fc_args *a) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t s1_m0 = a->dim[6];
    const int64_t s1_n0 = a->dim[7];
    const int64_t s2_m0 = a->dim[8];
    const int64_t s2_n0 = a->dim[9];
    const int64_t origin2 = a->dim[10];
    const int64_t s3_m0 = a->dim[11];
    const int64_t s3_n0 = a->dim[12];
    const int64_t s4_m0 = a->dim[13];
    const int64_t s4_n0 = a->dim[14];
    const int64_t limit0 = a->dim[15];
    const int64_t limit1 = a->dim[16];
    const int64_t limit2 = a->dim[17];
    const int64_t limit3 = a->dim[18];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    if (parts > 1) {
        for (int64_t row = 0; row < rows; ++row) {
            const int64_t i_m0 = row;
            const char *row_in1 = a->ptr[1] + i_m0 * s1_m0;
            const int64_t row_at2 = origin2 + i_m0 * s2_m0;
            const char *row_in3 = a->ptr[2] + i_m0 * s3_m0;
            const double v1 = reduce_max_subtract_iota_gather_divide_86f173da85c2_join1(a, row);
            const double v4 = reduce_max_subtract_iota_gather_divide_86f173da85c2_join4(a, row);
            const int64_t v5 = *(const int64_t *)(row_in1);
            const int64_t v6 = row_at2;
            const int64_t g7_0 = v6 < 0 ? v6 + limit0 : v6;
            const int64_t g7_1 = v5 < 0 ? v5 + limit2 : v5;
            const bool ok7 = ((uint64_t)g7_0 < (uint64_t)limit0) & ((uint64_t)g7_1 < (uint64_t)limit2);
            if (!ok7) a->status[0] = 1;
            const double v7 = ok7 ? *(const double *)((const char *)row_in3 + g7_0 * limit1 + g7_1 * (int64_t)sizeof(double)) : 0;
            const double v8 = v7 - v1;
            const double v9 = fc_log_f64(v4);
            const double v10 = v9 - v8;
            ((double *)(a->workspace + 16 * 2 * parts * rows * (parts > 1) + 16 * rows * 0))[row * (16 / sizeof(double))] = v10;
        }
    }
    fc_tree_sum_f64 tree11;
    fc_start_sum_f64(&tree11);
    for (int64_t at = 0; at < rows; at += FC_CHUNK) {
        double b11[FC_CHUNK];
        const int64_t count = fc_min(FC_CHUNK, rows - at);
        for (int64_t k = 0; k < count; ++k) b11[k] = ((double *)(a->workspace + 16 * 2 * parts * rows * (parts > 1) + 16 * rows * 0))[(at + k) * (16 / sizeof(double))];
        fc_push_sum_f64(&tree11, fc_fold_sum_f64(b11, count, at));
    }
    const double v11 = fc_finish_sum_f64(&tree11) + 0;
    char *row_out4 = a->ptr[3];
    const double v12 = a->scalar[0].f64;
    const double v13 = v11 / v12;
    *(double *)(row_out4) = v13;
}
