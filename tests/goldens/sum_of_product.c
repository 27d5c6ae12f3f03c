sum_of_product: 3 operations in 1 kernel
  moves 147,464 B, one operation at a time 344,072 B; peak 8 B
  0: reduce_multiply_add_sum (reduction)
     reads 147,456 B, writes 8 B
     multiply, add, sum

// sum_of_product: reduce_multiply_add_sum, reduction over [] rows of [64, 96]
//   in0 reads parameter(2) float64[64, 96]
//   in1 reads parameter(1) float64[64, 96]
//   in2 reads parameter(0) float64[64, 96]
//   out3 writes reduce float64[]
// together, for they compute what is reduced, as it is read: multiply, add, sum
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
FC_INLINE void reduce_multiply_add_sum_aa8b3269c39f_row(const fc_args *a, int64_t row, double v5) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t n1 = a->dim[4];
    const int64_t s3_m0 = a->dim[14];
    const int64_t s3_n0 = a->dim[15];
    const int64_t s3_n1 = a->dim[16];
    const int64_t length = n0 * n1, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    const int64_t i_m0 = row;
    char *row_out3 = a->ptr[3] + i_m0 * s3_m0;
    *(double *)(row_out3) = v5;
}
void reduce_multiply_add_sum_aa8b3269c39f(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t n1 = a->dim[4];
    const int64_t s0_m0 = a->dim[5];
    const int64_t s0_n0 = a->dim[6];
    const int64_t s0_n1 = a->dim[7];
    const int64_t s1_m0 = a->dim[8];
    const int64_t s1_n0 = a->dim[9];
    const int64_t s1_n1 = a->dim[10];
    const int64_t s2_m0 = a->dim[11];
    const int64_t s2_n0 = a->dim[12];
    const int64_t s2_n1 = a->dim[13];
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
        const char *row_in1 = a->ptr[1] + i_m0 * s1_m0;
        const char *row_in2 = a->ptr[2] + i_m0 * s2_m0;
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
                    fc_lanes_sum_f64 lanes5;
                    fc_begin_sum_f64(&lanes5);
                    const double *in0 = (const double *)(row_in0 + i_n0 * s0_n0 + i_n1 * s0_n1);
                    const double *in1 = (const double *)(row_in1 + i_n0 * s1_n0 + i_n1 * s1_n1);
                    const double *in2 = (const double *)(row_in2 + i_n0 * s2_n0 + i_n1 * s2_n1);
                    int64_t done = 0;
                    for (; done + FC_LANES <= count; done += FC_LANES) {
                        #pragma GCC ivdep
                        for (int l = 0; l < FC_LANES; ++l) {
                            const int64_t k = done + l;
                            const double v0 = in0[k];
                            const double v1 = in1[k];
                            const double v2 = v1 * v0;
                            const double v3 = in2[k];
                            const double v4 = v3 + v2;
                            fc_take_sum_f64(&lanes5, l, v4);
                        }
                    }
                    if (done < count) {
                        #pragma GCC ivdep
                        for (int l = 0; l < FC_LANES; ++l) {
                            double met5 = fc_identity_sum_f64();
                            if (l < count - done) {
                                const int64_t k = done + l;
                                const double v0 = in0[k];
                                const double v1 = in1[k];
                                const double v2 = v1 * v0;
                                const double v3 = in2[k];
                                const double v4 = v3 + v2;
                                met5 = v4;
                            }
                            fc_take_sum_f64(&lanes5, l, met5);
                        }
                    }
                    fc_push_sum_f64(&tree5, fc_folded_sum_f64(&lanes5));
                }
                else {
                    double b5[FC_CHUNK + FC_BLOCK];
                    for (int64_t done = 0; done < count;) {
                        const int64_t position = at + done;
                        int64_t rest_n0 = position;
                        const int64_t i_n1 = rest_n0 % n1;
                        rest_n0 /= n1;
                        const int64_t i_n0 = rest_n0 % n0;
                        const int64_t run = fc_min(n1 - i_n1, count - done);
                        const double *in0 = (const double *)(row_in0 + i_n0 * s0_n0 + i_n1 * s0_n1);
                        const double *in1 = (const double *)(row_in1 + i_n0 * s1_n0 + i_n1 * s1_n1);
                        const double *in2 = (const double *)(row_in2 + i_n0 * s2_n0 + i_n1 * s2_n1);
                        if (run < 8) {
                            #pragma GCC ivdep
                            for (int64_t k = 0; k < run; ++k) {
                                const double v0 = in0[k];
                                const double v1 = in1[k];
                                const double v2 = v1 * v0;
                                const double v3 = in2[k];
                                const double v4 = v3 + v2;
                                b5[done + k] = v4;
                            }
                        }
                        else {
                            double last_in0[8];
                            double last_in1[8];
                            double last_in2[8];
                            for (int64_t block = 0, count; block < run; block += count) {
                                count = fc_blocks(run - block, 8);
                                const int64_t from = fc_block(block, run, 8, a->again);
                                if (from + count > run) {
                                    in0 = (const double *)fc_copied(last_in0, in0 + block, 1, run - block, 8, sizeof *in0) - block;
                                    in1 = (const double *)fc_copied(last_in1, in1 + block, 1, run - block, 8, sizeof *in1) - block;
                                    in2 = (const double *)fc_copied(last_in2, in2 + block, 1, run - block, 8, sizeof *in2) - block;
                                }
                                #pragma GCC ivdep
                                for (int64_t i = 0; i < count; ++i) {
                                    const int64_t k = from + i;
                                    const double v0 = in0[k];
                                    const double v1 = in1[k];
                                    const double v2 = v1 * v0;
                                    const double v3 = in2[k];
                                    const double v4 = v3 + v2;
                                    b5[done + k] = v4;
                                }
                            }
                        }
                        done += run;
                    }
                    fc_push_sum_f64(&tree5, fc_fold_sum_f64(b5, count, at));
                }
            }
        }
        if (parts == 1) {
            reduce_multiply_add_sum_aa8b3269c39f_row(a, row, fc_finish_sum_f64(&tree5) + 0);
        }
        else {
            *(double *)(a->workspace + 16 * ((row * parts + part) * 1 + 0)) = fc_finish_sum_f64(&tree5);
        }
    }
}
void reduce_multiply_add_sum_aa8b3269c39f_finish(const fc_args *a) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t n1 = a->dim[4];
    const int64_t length = n0 * n1, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    if (parts > 1) {
        for (int64_t row = 0; row < rows; ++row) {
            fc_tree_sum_f64 tree5;
            fc_start_sum_f64(&tree5);
            for (int64_t part = 0; part < parts; ++part) {
                fc_push_sum_f64(&tree5, *(double *)(a->workspace + 16 * ((row * parts + part) * 1 + 0)));
            }
            reduce_multiply_add_sum_aa8b3269c39f_row(a, row, fc_finish_sum_f64(&tree5) + 0);
        }
    }
}
