three_metrics: 7 operations in 1 kernel
  moves 49,176 B, one operation at a time 344,120 B; peak 24 B
  0: reduce_absolute_max_sum_divide_multiply (reduction)
     reads 49,152 B, writes 24 B
     absolute, multiply, 2 divide, max, 2 sum

// three_metrics: reduce_absolute_max_sum_divide_multiply, reduction over [] rows of [64, 96]
//   in0 reads parameter(0) float64[64, 96]
//   out1 writes reduce float64[]
//   out2 writes divide float64[]
//   out3 writes divide float64[]
// together, for they compute what is reduced, as it is read, and what follows from that alone:
//   absolute, multiply, 2 divide, max, 2 sum
#ifndef FC_HAVE_max_f64
#define FC_HAVE_max_f64
FC_EXTREME_TREE(max_f64, double, int64_t, -HUGE_VAL, >, fc_maximum_f64(a, b))
#endif
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
FC_INLINE void reduce_absolute_max_sum_divide_multiply_fce3994cf1b5_row(const fc_args *a, int64_t row, double v2, double v3, double v5) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t n1 = a->dim[4];
    const int64_t s1_m0 = a->dim[8];
    const int64_t s1_n0 = a->dim[9];
    const int64_t s1_n1 = a->dim[10];
    const int64_t s2_m0 = a->dim[11];
    const int64_t s2_n0 = a->dim[12];
    const int64_t s2_n1 = a->dim[13];
    const int64_t s3_m0 = a->dim[14];
    const int64_t s3_n0 = a->dim[15];
    const int64_t s3_n1 = a->dim[16];
    const int64_t length = n0 * n1, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    const int64_t i_m0 = row;
    char *row_out1 = a->ptr[1] + i_m0 * s1_m0;
    char *row_out2 = a->ptr[2] + i_m0 * s2_m0;
    char *row_out3 = a->ptr[3] + i_m0 * s3_m0;
    const double v6 = a->scalar[0].f64;
    const double v7 = v3 / v6;
    const double v8 = v5 / v6;
    *(double *)(row_out1) = v2;
    *(double *)(row_out2) = v7;
    *(double *)(row_out3) = v8;
}
void reduce_absolute_max_sum_divide_multiply_fce3994cf1b5(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t n1 = a->dim[4];
    const int64_t s0_m0 = a->dim[5];
    const int64_t s0_n0 = a->dim[6];
    const int64_t s0_n1 = a->dim[7];
    const int64_t length = n0 * n1, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    char *free_scratch = scratch;
    (void)free_scratch;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t row = parts == 1 ? item : item / parts;
        const int64_t part = item - row * parts;
        const int64_t first = part * part_length;
        const int64_t last = fc_min(first + part_length, length);
        const int64_t i_m0 = row;
        const char *row_in0 = a->ptr[0] + i_m0 * s0_m0;
        fc_tree_max_f64 tree2;
        fc_start_max_f64(&tree2);
        fc_tree_sum_f64 tree3;
        fc_start_sum_f64(&tree3);
        fc_tree_sum_f64 tree5;
        fc_start_sum_f64(&tree5);
        for (int64_t at = first; at < last; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, last - at);
            {
                int64_t rest_n0 = at;
                const int64_t i_n1 = rest_n0 % n1;
                rest_n0 /= n1;
                const int64_t i_n0 = rest_n0 % n0;
                if (n1 - i_n1 >= count) {
                    fc_lanes_max_f64 lanes2;
                    fc_begin_max_f64(&lanes2);
                    fc_lanes_sum_f64 lanes3;
                    fc_begin_sum_f64(&lanes3);
                    fc_lanes_sum_f64 lanes5;
                    fc_begin_sum_f64(&lanes5);
                    const double *in0 = (const double *)(row_in0 + i_n0 * s0_n0 + i_n1 * s0_n1);
                    int64_t done = 0;
                    for (; done + FC_LANES <= count; done += FC_LANES) {
                        #pragma GCC ivdep
                        for (int l = 0; l < FC_LANES; ++l) {
                            const int64_t k = done + l;
                            const double v0 = in0[k];
                            const double v1 = fc_absolute_f64(v0);
                            const double v4 = v0 * v0;
                            fc_take_max_f64(&lanes2, l, v1);
                            fc_take_sum_f64(&lanes3, l, v1);
                            fc_take_sum_f64(&lanes5, l, v4);
                        }
                    }
                    if (done < count) {
                        #pragma GCC ivdep
                        for (int l = 0; l < FC_LANES; ++l) {
                            double met2 = fc_identity_max_f64();
                            double met3 = fc_identity_sum_f64();
                            double met5 = fc_identity_sum_f64();
                            if (l < count - done) {
                                const int64_t k = done + l;
                                const double v0 = in0[k];
                                const double v1 = fc_absolute_f64(v0);
                                const double v4 = v0 * v0;
                                met2 = v1;
                                met3 = v1;
                                met5 = v4;
                            }
                            fc_take_max_f64(&lanes2, l, met2);
                            fc_take_sum_f64(&lanes3, l, met3);
                            fc_take_sum_f64(&lanes5, l, met5);
                        }
                    }
                    fc_push_max_f64(&tree2, fc_folded_max_f64(&lanes2));
                    fc_push_sum_f64(&tree3, fc_folded_sum_f64(&lanes3));
                    fc_push_sum_f64(&tree5, fc_folded_sum_f64(&lanes5));
                }
                else {
                    double b2[FC_CHUNK + FC_BLOCK];
                    double b3[FC_CHUNK + FC_BLOCK];
                    double b5[FC_CHUNK + FC_BLOCK];
                    for (int64_t done = 0; done < count;) {
                        const int64_t position = at + done;
                        int64_t rest_n0 = position;
                        const int64_t i_n1 = rest_n0 % n1;
                        rest_n0 /= n1;
                        const int64_t i_n0 = rest_n0 % n0;
                        const int64_t run = fc_min(n1 - i_n1, count - done);
                        const double *in0 = (const double *)(row_in0 + i_n0 * s0_n0 + i_n1 * s0_n1);
                        if (run < 8) {
                            #pragma GCC ivdep
                            for (int64_t k = 0; k < run; ++k) {
                                const double v0 = in0[k];
                                const double v1 = fc_absolute_f64(v0);
                                const double v4 = v0 * v0;
                                b2[done + k] = v1;
                                b3[done + k] = v1;
                                b5[done + k] = v4;
                            }
                        }
                        else {
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
                                    const double v1 = fc_absolute_f64(v0);
                                    const double v4 = v0 * v0;
                                    b2[done + k] = v1;
                                    b3[done + k] = v1;
                                    b5[done + k] = v4;
                                }
                            }
                        }
                        done += run;
                    }
                    fc_push_max_f64(&tree2, fc_fold_max_f64(b2, count, at));
                    fc_push_sum_f64(&tree3, fc_fold_sum_f64(b3, count, at));
                    fc_push_sum_f64(&tree5, fc_fold_sum_f64(b5, count, at));
                }
            }
        }
        if (parts == 1) {
            reduce_absolute_max_sum_divide_multiply_fce3994cf1b5_row(a, row, fc_finish_max_f64(&tree2), fc_finish_sum_f64(&tree3) + 0, fc_finish_sum_f64(&tree5) + 0);
        }
        else {
            *(double *)(a->workspace + 16 * ((row * parts + part) * 3 + 0)) = fc_finish_max_f64(&tree2);
            *(double *)(a->workspace + 16 * ((row * parts + part) * 3 + 1)) = fc_finish_sum_f64(&tree3);
            *(double *)(a->workspace + 16 * ((row * parts + part) * 3 + 2)) = fc_finish_sum_f64(&tree5);
        }
    }
}
void reduce_absolute_max_sum_divide_multiply_fce3994cf1b5_finish(const fc_args *a) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t n1 = a->dim[4];
    const int64_t length = n0 * n1, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    if (parts > 1) {
        for (int64_t row = 0; row < rows; ++row) {
            fc_tree_max_f64 tree2;
            fc_start_max_f64(&tree2);
            for (int64_t part = 0; part < parts; ++part) {
                fc_push_max_f64(&tree2, *(double *)(a->workspace + 16 * ((row * parts + part) * 3 + 0)));
            }
            fc_tree_sum_f64 tree3;
            fc_start_sum_f64(&tree3);
            for (int64_t part = 0; part < parts; ++part) {
                fc_push_sum_f64(&tree3, *(double *)(a->workspace + 16 * ((row * parts + part) * 3 + 1)));
            }
            fc_tree_sum_f64 tree5;
            fc_start_sum_f64(&tree5);
            for (int64_t part = 0; part < parts; ++part) {
                fc_push_sum_f64(&tree5, *(double *)(a->workspace + 16 * ((row * parts + part) * 3 + 2)));
            }
            reduce_absolute_max_sum_divide_multiply_fce3994cf1b5_row(a, row, fc_finish_max_f64(&tree2), fc_finish_sum_f64(&tree3) + 0, fc_finish_sum_f64(&tree5) + 0);
        }
    }
}
