softmax: 5 operations in 1 kernel
  moves 98,304 B, one operation at a time 395,264 B; peak 52,224 B
  0: reduce_max_subtract_exp_sum_divide (resident)
     reads 49,152 B, writes 49,152 B
     subtract, exp, divide, max, sum

// softmax: reduce_max_subtract_exp_sum_divide, reduction over [64] rows of [96]
//   in0 reads parameter float64[64, 96]
//   out1 writes divide float64[64, 96]
// 3 passes over each row, which stays resident between them
#ifndef FC_HAVE_max_f64
#define FC_HAVE_max_f64
FC_TREE(max_f64, double, double, -HUGE_VAL, v, fc_maximum_f64(a, b))
#endif
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_TREE(sum_f64, double, double, -0.0, v, a + b)
#endif
void reduce_max_subtract_exp_sum_divide_5dd5f85ccb46(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
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
    char *free_scratch = scratch;
    double *const row_keep0 = (double *)free_scratch;
    free_scratch += (length * sizeof(double) + 63) / 64 * 64;
    double *const row_keep1 = (double *)free_scratch;
    free_scratch += (length * sizeof(double) + 63) / 64 * 64;
    (void)free_scratch;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t row = item / parts, part = item % parts;
        (void)part;
        const int64_t i_m0 = row;
        const char *row_in0 = a->ptr[0] + i_m0 * s0_m0;
        char *row_out1 = a->ptr[1] + i_m0 * s1_m0;
        fc_tree_max_f64 tree1;
        fc_start_max_f64(&tree1);
        for (int64_t at = 0; at < length; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, length - at);
            double b1[FC_CHUNK];
            {
                const int64_t run = count;
                const double *in0 = (const double *)(row_in0 + at * s0_n0);
                double *const keep0 = row_keep0 + at + 0;
                #pragma GCC ivdep
                for (int64_t k = 0; k < run; ++k) {
                    const double v0 = in0[k];
                    keep0[k] = v0;
                    b1[k] = v0;
                }
            }
            fc_push_max_f64(&tree1, fc_fold_max_f64(b1, count, at));
        }
        const double v1 = fc_finish_max_f64(&tree1);
        fc_tree_sum_f64 tree4;
        fc_start_sum_f64(&tree4);
        for (int64_t at = 0; at < length; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, length - at);
            double b4[FC_CHUNK];
            {
                const int64_t run = count;
                double *const keep0 = row_keep0 + at + 0;
                double *const keep1 = row_keep1 + at + 0;
                #pragma GCC ivdep
                for (int64_t k = 0; k < run; ++k) {
                    const double v0 = keep0[k];
                    const double v2 = v0 - v1;
                    const double v3 = fc_exp_f64(v2);
                    keep1[k] = v3;
                    b4[k] = v3;
                }
            }
            fc_push_sum_f64(&tree4, fc_fold_sum_f64(b4, count, at));
        }
        const double v4 = fc_finish_sum_f64(&tree4) + 0;
        for (int64_t at = 0; at < length; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, length - at);
            {
                const int64_t run = count;
                double *out1 = (double *)(row_out1 + at * s1_n0);
                double *const keep1 = row_keep1 + at + 0;
                #pragma GCC ivdep
                for (int64_t k = 0; k < run; ++k) {
                    const double v3 = keep1[k];
                    const double v5 = v3 / v4;
                    out1[k] = v5;
                }
            }
        }
    }
}
