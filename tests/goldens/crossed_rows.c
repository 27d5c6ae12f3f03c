turned: 10 operations in 1 kernel
  moves 790,720 B, one operation at a time 3,169,600 B; peak 181,440 B
  0: reduce_multiply_sum_max_min_subtract (reduction)
     reads 784,000 B, writes 6,720 B
     multiply, 2 subtract, 2 divide, 2 max, min, 2 sum

// turned: reduce_multiply_sum_max_min_subtract, reduction over [700] rows of [70]
//   in0 reads parameter(1) float64[700, 70]
//   in1 reads parameter(0) float64[700, 70]
//   out2 writes subtract float64[700]
//   out3 writes divide float64[70]
//   out4 writes subtract float64[70]
// together, for they compute what is reduced, as it is read, and what follows from that alone:
//   multiply, 2 subtract, 2 divide, 2 max, min, 2 sum
// and across all rows: sum, sum, max
#ifndef FC_HAVE_max_f64
#define FC_HAVE_max_f64
FC_EXTREME_TREE(max_f64, double, int64_t, -HUGE_VAL, >, fc_maximum_f64(a, b))
#endif
#ifndef FC_HAVE_min_f64
#define FC_HAVE_min_f64
FC_EXTREME_TREE(min_f64, double, int64_t, HUGE_VAL, <, fc_minimum_f64(a, b))
#endif
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
#ifndef FC_HAVE_CROSS_sum_f64
#define FC_HAVE_CROSS_sum_f64
FC_CROSS(sum_f64, double)
#endif
#ifndef FC_HAVE_CROSS_max_f64
#define FC_HAVE_CROSS_max_f64
FC_CROSS(max_f64, double)
#endif
void reduce_multiply_sum_max_min_subtract_5daea2f6795e(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
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
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    char *free_scratch = scratch;
    (void)free_scratch;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t chunk = item / parts * FC_CHUNK;
        const int64_t behind = fc_min(rows, chunk + FC_CHUNK);
        const int64_t part = item % parts;
        const int64_t side = part_length;  // lanes side by side
        const int64_t chunks = (rows + FC_CHUNK - 1) / FC_CHUNK;
        char *left = a->workspace + 16 * rows * 0;
        double *const left5 = (double *)left;
        left += (chunks * parts * length * sizeof *left5 + 63) / 64 * 64;
        double *const left6 = (double *)left;
        left += (chunks * parts * length * sizeof *left6 + 63) / 64 * 64;
        double *const left7 = (double *)left;
        left += (chunks * parts * length * sizeof *left7 + 63) / 64 * 64;
        char *lanes = free_scratch;
        double *const lanes5 = (double *)lanes;
        lanes += (6 * side * length * sizeof *lanes5 + 63) / 64 * 64;
        double *const lanes6 = (double *)lanes;
        lanes += (6 * side * length * sizeof *lanes6 + 63) / 64 * 64;
        double *const lanes7 = (double *)lanes;
        lanes += (6 * side * length * sizeof *lanes7 + 63) / 64 * 64;
        int64_t waiting = 0;  // lanes that are through, some of them joined
        for (int64_t turn = 0; turn * side * parts < FC_LANES; ++turn) {
            fc_blank_sum_f64(lanes5 + waiting * length, side * length);
            fc_blank_sum_f64(lanes6 + waiting * length, side * length);
            fc_blank_max_f64(lanes7 + waiting * length, side * length);
            const int64_t first = chunk + part + fc_turned[turn];
            for (int64_t at_once = first; at_once < behind; at_once += FC_LANES) {
                for (int64_t lane = 0, row = at_once; lane < side && row < behind; ++lane, row += parts) {
                    double *const lane5 = lanes5 + (waiting + lane) * length;
                    double *const lane6 = lanes6 + (waiting + lane) * length;
                    double *const lane7 = lanes7 + (waiting + lane) * length;
                    const int64_t i_m0 = row;
                    const char *row_in0 = a->ptr[0] + i_m0 * s0_m0;
                    const char *row_in1 = a->ptr[1] + i_m0 * s1_m0;
                    char *row_out2 = a->ptr[2] + i_m0 * s2_m0;
                    fc_tree_max_f64 tree3;
                    fc_start_max_f64(&tree3);
                    fc_tree_min_f64 tree4;
                    fc_start_min_f64(&tree4);
                    for (int64_t at = 0; at < length; at += FC_CHUNK) {
                        const int64_t count = fc_min(FC_CHUNK, length - at);
                        double b3[FC_CHUNK + FC_BLOCK];
                        double b4[FC_CHUNK + FC_BLOCK];
                        double b5[FC_CHUNK + FC_BLOCK];
                        double b6[FC_CHUNK + FC_BLOCK];
                        double b7[FC_CHUNK + FC_BLOCK];
                        {
                            const int64_t run = count;
                            const double *in0 = (const double *)(row_in0 + at * s0_n0);
                            const double *in1 = (const double *)(row_in1 + at * s1_n0);
                            double last_in0[8];
                            double last_in1[8];
                            for (int64_t block = 0, count; block < run; block += count) {
                                count = fc_blocks(run - block, 8);
                                const int64_t from = fc_block(block, run, 8, a->again);
                                if (from + count > run) {
                                    in0 = (const double *)fc_copied(last_in0, in0 + block, 1, run - block, 8, sizeof *in0) - block;
                                    in1 = (const double *)fc_copied(last_in1, in1 + block, 1, run - block, 8, sizeof *in1) - block;
                                }
                                #pragma GCC ivdep
                                for (int64_t i = 0; i < count; ++i) {
                                    const int64_t k = from + i;
                                    const double v0 = in0[k];
                                    const double v1 = in1[k];
                                    const double v2 = v1 * v0;
                                    b3[k] = v2;
                                    b4[k] = v2;
                                    b5[k] = v2;
                                    b6[k] = v0;
                                    b7[k] = v1;
                                }
                            }
                        }
                        fc_meet_sum_f64(lane5 + at, b5, count);
                        fc_meet_sum_f64(lane6 + at, b6, count);
                        fc_meet_max_f64(lane7 + at, b7, count);
                        fc_push_max_f64(&tree3, fc_fold_max_f64(b3, count, at));
                        fc_push_min_f64(&tree4, fc_fold_min_f64(b4, count, at));
                    }
                    const double v3 = fc_finish_max_f64(&tree3);
                    const double v4 = fc_finish_min_f64(&tree4);
                    const double v8 = v3 - v4;
                    *(double *)(row_out2) = v8;
                }
            }
            waiting += side;
            for (int64_t others = turn; others & 1; others >>= 1) {
                waiting -= side;
                fc_join_sum_f64(lanes5 + (waiting - side) * length, lanes5 + waiting * length, side * length);
                fc_join_sum_f64(lanes6 + (waiting - side) * length, lanes6 + waiting * length, side * length);
                fc_join_max_f64(lanes7 + (waiting - side) * length, lanes7 + waiting * length, side * length);
            }
        }
        for (int64_t half = side / 2; half; half /= 2) {
            fc_join_sum_f64(lanes5 + 0 * length, lanes5 + half * length, half * length);
            fc_join_sum_f64(lanes6 + 0 * length, lanes6 + half * length, half * length);
            fc_join_max_f64(lanes7 + 0 * length, lanes7 + half * length, half * length);
        }
        memcpy(left5 + item * length, lanes5, (size_t)length * sizeof *lanes5);
        memcpy(left6 + item * length, lanes6, (size_t)length * sizeof *lanes6);
        memcpy(left7 + item * length, lanes7, (size_t)length * sizeof *lanes7);
    }
}
void reduce_multiply_sum_max_min_subtract_5daea2f6795e_finish(const fc_args *a) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t s3_m0 = a->dim[10];
    const int64_t s3_n0 = a->dim[11];
    const int64_t s4_m0 = a->dim[12];
    const int64_t s4_n0 = a->dim[13];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    const int64_t chunks = (rows + FC_CHUNK - 1) / FC_CHUNK;
    char *left = a->workspace + 16 * rows * 0;
    double *const left5 = (double *)left;
    left += (chunks * parts * length * sizeof *left5 + 63) / 64 * 64;
    double *const left6 = (double *)left;
    left += (chunks * parts * length * sizeof *left6 + 63) / 64 * 64;
    double *const left7 = (double *)left;
    left += (chunks * parts * length * sizeof *left7 + 63) / 64 * 64;
    fc_foot_sum_f64(left5, chunks, parts, length);
    fc_foot_sum_f64(left6, chunks, parts, length);
    fc_foot_max_f64(left7, chunks, parts, length);
    for (int64_t at = 0; at < length;) {
        const int64_t i_n0 = at;
        const int64_t run = n0 - i_n0;
        double *out3 = (double *)(a->ptr[3] + i_n0 * s3_n0);
        double *out4 = (double *)(a->ptr[4] + i_n0 * s4_n0);
        #pragma GCC ivdep
        for (int64_t k = 0; k < run; ++k) {
            const double v5 = left5[at + k] + 0;
            const double v6 = left6[at + k] + 0;
            const double v7 = left7[at + k];
            const double v9 = a->scalar[0].f64;
            const double v10 = v5 / v9;
            const double v11 = v6 / v9;
            const double v12 = v11 - v7;
            out3[k] = v10;
            out4[k] = v12;
        }
        at += run;
    }
}
