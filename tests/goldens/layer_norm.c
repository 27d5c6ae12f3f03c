layer_norm: 11 operations in 1 kernel
  moves 99,840 B, one operation at a time 597,504 B; peak 49,152 B
  0: reduce_sum_divide_multiply_add_sqrt (reduction)
     reads 50,688 B, writes 49,152 B
     3 divide, 2 subtract, 2 multiply, 2 add, sqrt, 2 sum

// layer_norm: reduce_sum_divide_multiply_add_sqrt, reduction over [64] rows of [96]
//   in0 reads parameter(0) float64[64, 96]
//   in1 reads parameter(2) float64[96]
//   in2 reads parameter(1) float64[96]
//   out3 writes add float64[64, 96]
// together, for they need the same rows, again where they follow a reduction: 3 divide, 2
//   subtract, 2 multiply, 2 add, sqrt, 2 sum
// 3 passes over each row
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
FC_OUTLINE double reduce_sum_divide_multiply_add_sqrt_94fc6c5ab1ad_join1(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree1;
    fc_start_sum_f64(&tree1);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree1, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 0)));
    return fc_finish_sum_f64(&tree1) + 0;
}
FC_OUTLINE double reduce_sum_divide_multiply_add_sqrt_94fc6c5ab1ad_join6(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree6;
    fc_start_sum_f64(&tree6);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree6, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)));
    return fc_finish_sum_f64(&tree6) + 0;
}
void reduce_sum_divide_multiply_add_sqrt_94fc6c5ab1ad(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
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
    const int64_t s3_m0 = a->dim[10];
    const int64_t s3_n0 = a->dim[11];
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
        const char *row_in2 = a->ptr[2] + i_m0 * s2_m0;
        char *row_out3 = a->ptr[3] + i_m0 * s3_m0;
        const double v2 = a->scalar[0].f64;
        const double v9 = a->scalar[1].f64;
        double v1;
        if (a->phase > 0) {
            v1 = reduce_sum_divide_multiply_add_sqrt_94fc6c5ab1ad_join1(a, row);
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
        double v6;
        if (a->phase > 1) {
            v6 = reduce_sum_divide_multiply_add_sqrt_94fc6c5ab1ad_join6(a, row);
        }
        else {
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
            v6 = fc_finish_sum_f64(&tree6) + 0;
        }
        const double v10 = v6 / v2;
        const double v11 = v10 + v9;
        const double v12 = fc_sqrt_f64(v11);
        for (int64_t at = first; at < last; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, last - at);
            {
                const int64_t run = count;
                const double *in0 = (const double *)(row_in0 + at * s0_n0);
                const double *in1 = (const double *)(row_in1 + at * s1_n0);
                const double *in2 = (const double *)(row_in2 + at * s2_n0);
                double *out3 = (double *)(row_out3 + at * s3_n0);
                double room3[FC_ROOM];
                double *to3 = a->streams ? room3 : out3;
                const fc_divisor_f64 by12 = fc_divisor_of_f64(v12);
                int64_t far12 = by12.far;
                const bool at_once = fc_shared(run, 8) && fc_apart(in1, out3, (size_t)run * sizeof(double)) && fc_apart(in2, out3, (size_t)run * sizeof(double)) && fc_apart(in0, out3, (size_t)run * sizeof(double));
                if (at_once && !far12) {
                    #pragma GCC ivdep
                    for (int64_t k = 0; k < run; ++k) {
                        const double v7 = in1[k];
                        const double v8 = in2[k];
                        const double v0 = in0[k];
                        const double v4 = v0 - v3;
                        const double v13 = fc_divide_by_f64(v4, by12);
                        far12 |= fc_is_far_f64(v4, by12);
                        const double v14 = v13 * v8;
                        const double v15 = v14 + v7;
                        to3[k] = v15;
                    }
                }
                if (!at_once || far12) {
                    double last_in1[8];
                    double last_in2[8];
                    double last_in0[8];
                    double last_to3[8];
                    for (int64_t block = 0, count; block < run; block += count) {
                        count = fc_blocks(run - block, 8);
                        const int64_t from = fc_block(block, run, 8, a->again);
                        if (from + count > run) {
                            in1 = (const double *)fc_copied(last_in1, in1 + block, 1, run - block, 8, sizeof *in1) - block;
                            in2 = (const double *)fc_copied(last_in2, in2 + block, 1, run - block, 8, sizeof *in2) - block;
                            in0 = (const double *)fc_copied(last_in0, in0 + block, 1, run - block, 8, sizeof *in0) - block;
                            to3 = last_to3 - block;
                        }
                        #pragma GCC ivdep
                        for (int64_t i = 0; i < count; ++i) {
                            const int64_t k = from + i;
                            const double v7 = in1[k];
                            const double v8 = in2[k];
                            const double v0 = in0[k];
                            const double v4 = v0 - v3;
                            const double v13 = v4 / v12;
                            const double v14 = v13 * v8;
                            const double v15 = v14 + v7;
                            to3[k] = v15;
                        }
                        if (from + count > run) {
                            memcpy((a->streams ? room3 : out3) + block, last_to3, (size_t)(run - block) * sizeof *last_to3);
                        }
                    }
                }
                if (a->streams) fc_stream(out3, room3, (size_t)run * sizeof *room3);
            }
        }
        if (parts > 1) {
            continue;
        }
    }
}
