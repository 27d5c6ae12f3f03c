standardize: 8 operations in 1 kernel
  moves 98,304 B, one operation at a time 393,296 B; peak 49,152 B
  0: reduce_sum_divide_subtract_multiply_sqrt (reduction)
     reads 49,152 B, writes 49,152 B
     3 divide, 2 subtract, multiply, sqrt, 2 sum

// standardize: reduce_sum_divide_subtract_multiply_sqrt, reduction over [] rows of [64, 96]
//   in0 reads parameter(0) float64[64, 96]
//   out1 writes divide float64[64, 96]
// together, for they need the same rows, again where they follow a reduction: 3 divide, 2
//   subtract, multiply, sqrt, 2 sum
// 3 passes over each row
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
FC_OUTLINE double reduce_sum_divide_subtract_multiply_sqrt_bfcdad8332dc_join1(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree1;
    fc_start_sum_f64(&tree1);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree1, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 0)));
    return fc_finish_sum_f64(&tree1) + 0;
}
FC_OUTLINE double reduce_sum_divide_subtract_multiply_sqrt_bfcdad8332dc_join6(const fc_args *a, int64_t row) {
    const int64_t parts = a->dim[0];
    fc_tree_sum_f64 tree6;
    fc_start_sum_f64(&tree6);
    for (int64_t part = 0; part < parts; ++part)
        fc_push_sum_f64(&tree6, *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)));
    return fc_finish_sum_f64(&tree6) + 0;
}
void reduce_sum_divide_subtract_multiply_sqrt_bfcdad8332dc(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
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
    const int64_t length = n0 * n1, rows = m0;
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
            v1 = reduce_sum_divide_subtract_multiply_sqrt_bfcdad8332dc_join1(a, row);
        }
        else {
            fc_tree_sum_f64 tree1;
            fc_start_sum_f64(&tree1);
            for (int64_t at = first; at < last; at += FC_CHUNK) {
                const int64_t count = fc_min(FC_CHUNK, last - at);
                double room1[FC_CHUNK + FC_BLOCK];
                const double *b1 = room1;
                {
                    int64_t rest_n0 = at;
                    const int64_t i_n1 = rest_n0 % n1;
                    rest_n0 /= n1;
                    const int64_t i_n0 = rest_n0 % n0;
                    const double *in0 = (const double *)(row_in0 + i_n0 * s0_n0 + i_n1 * s0_n1);
                    if (n1 - i_n1 >= count) {
                        b1 = in0;
                    }
                    else {
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
                                    room1[done + k] = v0;
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
                                        room1[done + k] = v0;
                                    }
                                }
                            }
                            done += run;
                        }
                    }
                }
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
            v6 = reduce_sum_divide_subtract_multiply_sqrt_bfcdad8332dc_join6(a, row);
        }
        else {
            fc_tree_sum_f64 tree6;
            fc_start_sum_f64(&tree6);
            for (int64_t at = first; at < last; at += FC_CHUNK) {
                const int64_t count = fc_min(FC_CHUNK, last - at);
                {
                    int64_t rest_n0 = at;
                    const int64_t i_n1 = rest_n0 % n1;
                    rest_n0 /= n1;
                    const int64_t i_n0 = rest_n0 % n0;
                    if (n1 - i_n1 >= count) {
                        fc_lanes_sum_f64 lanes6;
                        fc_begin_sum_f64(&lanes6);
                        const double *in0 = (const double *)(row_in0 + i_n0 * s0_n0 + i_n1 * s0_n1);
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
                    else {
                        double b6[FC_CHUNK + FC_BLOCK];
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
                                    const double v4 = v0 - v3;
                                    const double v5 = v4 * v4;
                                    b6[done + k] = v5;
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
                                        const double v4 = v0 - v3;
                                        const double v5 = v4 * v4;
                                        b6[done + k] = v5;
                                    }
                                }
                            }
                            done += run;
                        }
                        fc_push_sum_f64(&tree6, fc_fold_sum_f64(b6, count, at));
                    }
                }
            }
            if (parts > 1) {
                *(double *)(a->workspace + 16 * ((row * parts + part) * 2 + 1)) = fc_finish_sum_f64(&tree6);
                continue;
            }
            v6 = fc_finish_sum_f64(&tree6) + 0;
        }
        const double v7 = v6 / v2;
        const double v8 = fc_sqrt_f64(v7);
        for (int64_t at = first; at < last; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, last - at);
            for (int64_t done = 0; done < count;) {
                const int64_t position = at + done;
                int64_t rest_n0 = position;
                const int64_t i_n1 = rest_n0 % n1;
                rest_n0 /= n1;
                const int64_t i_n0 = rest_n0 % n0;
                const int64_t run = fc_min(n1 - i_n1, count - done);
                const double *in0 = (const double *)(row_in0 + i_n0 * s0_n0 + i_n1 * s0_n1);
                double *out1 = (double *)(row_out1 + i_n0 * s1_n0 + i_n1 * s1_n1);
                double room1[FC_ROOM];
                double *to1 = a->streams ? room1 : out1;
                const fc_divisor_f64 by8 = fc_divisor_of_f64(v8);
                int64_t far8 = by8.far;
                const bool at_once = fc_shared(run, 8) && fc_apart(in0, out1, (size_t)run * sizeof(double));
                if (at_once && !far8) {
                    #pragma GCC ivdep
                    for (int64_t k = 0; k < run; ++k) {
                        const double v0 = in0[k];
                        const double v4 = v0 - v3;
                        const double v9 = fc_divide_by_f64(v4, by8);
                        far8 |= fc_is_far_f64(v4, by8);
                        to1[k] = v9;
                    }
                }
                if (!at_once || far8) {
                    if (run < 8) {
                        #pragma GCC ivdep
                        for (int64_t k = 0; k < run; ++k) {
                            const double v0 = in0[k];
                            const double v4 = v0 - v3;
                            const double v9 = v4 / v8;
                            to1[k] = v9;
                        }
                    }
                    else {
                        double last_in0[8];
                        double last_to1[8];
                        for (int64_t block = 0, count; block < run; block += count) {
                            count = fc_blocks(run - block, 8);
                            const int64_t from = fc_block(block, run, 8, a->again);
                            if (from + count > run) {
                                in0 = (const double *)fc_copied(last_in0, in0 + block, 1, run - block, 8, sizeof *in0) - block;
                                to1 = last_to1 - block;
                            }
                            #pragma GCC ivdep
                            for (int64_t i = 0; i < count; ++i) {
                                const int64_t k = from + i;
                                const double v0 = in0[k];
                                const double v4 = v0 - v3;
                                const double v9 = v4 / v8;
                                to1[k] = v9;
                            }
                            if (from + count > run) {
                                memcpy((a->streams ? room1 : out1) + block, last_to1, (size_t)(run - block) * sizeof *last_to1);
                            }
                        }
                    }
                }
                if (a->streams) fc_stream(out1, room1, (size_t)run * sizeof *room1);
                done += run;
            }
        }
        if (parts > 1) {
            continue;
        }
    }
}
