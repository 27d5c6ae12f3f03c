row_variance: 6 operations in 1 kernel
  moves 49,664 B, one operation at a time 298,496 B; peak 512 B
  0: reduce_sum_divide_subtract_multiply (reduction)
     reads 49,152 B, writes 512 B
     2 divide, subtract, multiply, 2 sum

// row_variance: reduce_sum_divide_subtract_multiply, reduction over [64] rows of [96]
//   in0 reads parameter(0) float64[64, 96]
//   out1 writes divide float64[64]
// together, for they need the same rows, again where they follow a reduction: 2 divide, subtract,
//   multiply, 2 sum
// 2 passes over each row
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
FC_OUTLINE double reduce_sum_divide_subtract_multiply_ad8bcc6130e9_join1(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree1;
    fc_start_sum_f64(&tree1);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree1, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 0)));
    return fc_finish_sum_f64(&tree1) + 0;
}
FC_OUTLINE double reduce_sum_divide_subtract_multiply_ad8bcc6130e9_join6(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree6;
    fc_start_sum_f64(&tree6);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree6, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)));
    return fc_finish_sum_f64(&tree6) + 0;
}
void reduce_sum_divide_subtract_multiply_ad8bcc6130e9(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
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
        const int64_t i_m0 = row;
        const char *row_in0 = a->ptr[0] + i_m0 * s0_m0;
        char *row_out1 = a->ptr[1] + i_m0 * s1_m0;
        const double v2 = a->scalar[0].f64;
        double v1;
        if (a->phase > 0) {
            v1 = reduce_sum_divide_subtract_multiply_ad8bcc6130e9_join1(a, row);
        }
        else {
            fc_tree_sum_f64 tree1;
            fc_start_sum_f64(&tree1);
            for (int64_t at = first; at < last; at += FC_CHUNK) {
                const int64_t count = fc_min(FC_CHUNK, last - at);
                const double *in0 = (const double *)(row_in0 + at * s0_n0);
                const double *const b1 = in0;
                fc_push_sum_f64(&tree1, fc_fold_sum_f64(b1, count, at));
            }
            if (parts > 1) {
                *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 0)) = fc_finish_sum_f64(&tree1);
                continue;
            }
            v1 = fc_finish_sum_f64(&tree1) + 0;
        }
        const double v3 = v1 / v2;
        fc_tree_sum_f64 tree6;
        fc_start_sum_f64(&tree6);
        for (int64_t at = first; at < last; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, last - at);
            fc_lanes_sum_f64 lanes6;
            fc_begin_sum_f64(&lanes6);
            const double *in0 = (const double *)(row_in0 + at * s0_n0);
            int64_t done = 0;
            for (; done + FC_LANES <= count; done += FC_LANES) {
                #pragma GCC ivdep
                for (int l = 0; l < FC_LANES; ++l) {
                    const int64_t k = done + l;
                    const double v0 = in0[k];
                    const double v4 = v0 - v3;
                    const double v5 = v4 * v4;
                    fc_take_sum_f64(&lanes6, l, v5);
                }
            }
            if (done < count) {
                #pragma GCC ivdep
                for (int l = 0; l < FC_LANES; ++l) {
                    double met6 = fc_identity_sum_f64();
                    if (l < count - done) {
                        const int64_t k = done + l;
                        const double v0 = in0[k];
                        const double v4 = v0 - v3;
                        const double v5 = v4 * v4;
                        met6 = v5;
                    }
                    fc_take_sum_f64(&lanes6, l, met6);
                }
            }
            fc_push_sum_f64(&tree6, fc_folded_sum_f64(&lanes6));
        }
        if (parts > 1) {
            *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)) = fc_finish_sum_f64(&tree6);
            continue;
        }
        const double v6 = fc_finish_sum_f64(&tree6) + 0;
        const double v7 = v6 / v2;
        *(double *)(row_out1) = v7;
    }
}
void reduce_sum_divide_subtract_multiply_ad8bcc6130e9_finish(const fc_args *a) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t s1_m0 = a->dim[6];
    const int64_t s1_n0 = a->dim[7];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    if (parts > 1) {
        for (int64_t row = 0; row < rows; ++row) {
            const int64_t i_m0 = row;
            char *row_out1 = a->ptr[1] + i_m0 * s1_m0;
            const double v2 = a->scalar[0].f64;
            const double v1 = reduce_sum_divide_subtract_multiply_ad8bcc6130e9_join1(a, row);
            const double v3 = v1 / v2;
            const double v6 = reduce_sum_divide_subtract_multiply_ad8bcc6130e9_join6(a, row);
            const double v7 = v6 / v2;
            *(double *)(row_out1) = v7;
        }
    }
}
