column_mean: 2 operations in 1 kernel
  moves 49,920 B, one operation at a time 51,456 B; peak 768 B
  0: reduce_sum_divide (reduction)
     reads 49,152 B, writes 768 B
     divide, sum

// column_mean: reduce_sum_divide, reduction over [96] rows of [64]
//   in0 reads parameter(0) float64[64, 96]
//   out1 writes divide float64[96]
// together, for they compute what is reduced, as it is read, and what follows from that alone:
//   divide, sum
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
void reduce_sum_divide_6910369c156d(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
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
    const int64_t block = part_length;
    char *free_scratch = scratch;
    (void)free_scratch;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t blocks = (m0 + block - 1) / block;
        const int64_t first = item % blocks * block;
        const int64_t width = fc_min(block, m0 - first);
        const int64_t outer = item / blocks;
        const int64_t row = outer * m0 + first;
        (void)row; (void)outer;
        const double *row_in0 = (const double *)(a->ptr[0] + first * s0_m0);
        double *row_out1 = (double *)(a->ptr[1] + first * s1_m0);
        double v1[64];
        double v3[64];
        const bool is_chunk = length > 0 && length <= FC_CHUNK;  // no tree over it
        (void)is_chunk;
        double lane1[FC_LANES * 64];
        fc_tree_sum_f64 tree1[64];
        for (int64_t c = 0; c < width && !is_chunk; ++c)
            fc_start_sum_f64(&tree1[c]);
        for (int64_t at = 0; at < length; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, length - at);
            const int64_t lanes_used = fc_min(FC_LANES, count);
            int64_t done = 0;
            for (; done < lanes_used; ++done) {
                const int64_t position = at + done;
                const int64_t i_n0 = position;
                const int64_t lanes = done % FC_LANES * block;
                (void)lanes;
                const double *in0 = (const double *)((const char *)row_in0 + i_n0 * s0_n0);
                #pragma GCC ivdep
                for (int64_t c = 0; c < width; ++c) {
                    const double v0 = in0[c];
                    lane1[lanes + c] = fc_leaf_sum_f64(v0, position);
                }
            }
            for (; block >= 32 && done + 8 * FC_LANES <= count; done += 8 * FC_LANES) {
                for (int64_t l = 0; l < FC_LANES; ++l) {
                    const double *from_in0[8];
                    for (int64_t k = 0; k < 8; ++k) {
                        const int64_t position = at + done + l + k * FC_LANES;
                        const int64_t i_n0 = position;
                        const double *in0 = (const double *)((const char *)row_in0 + i_n0 * s0_n0);
                        from_in0[k] = in0;
                    }
                    #pragma GCC ivdep
                    for (int64_t c = 0; c < width; ++c) {
                        double sum1 = lane1[l * block + c];
                        for (int64_t k = 0; k < 8; ++k) {
                            const double *const in0 = from_in0[k];
                            const double v0 = in0[c];
                            sum1 = fc_combine_sum_f64(sum1, fc_leaf_sum_f64(v0, 0));
                        }
                        lane1[l * block + c] = sum1;
                    }
                }
            }
            for (; done < count; ++done) {
                const int64_t position = at + done;
                const int64_t i_n0 = position;
                const int64_t lanes = done % FC_LANES * block;
                (void)lanes;
                const double *in0 = (const double *)((const char *)row_in0 + i_n0 * s0_n0);
                #pragma GCC ivdep
                for (int64_t c = 0; c < width; ++c) {
                    const double v0 = in0[c];
                    lane1[lanes + c] = fc_combine_sum_f64(lane1[lanes + c], fc_leaf_sum_f64(v0, position));
                }
            }
            int64_t used1 = lanes_used;
            for (int64_t w = FC_LANES / 2; w; w /= 2) {
                for (int64_t l = 0; l + w < used1; ++l)
                    #pragma GCC ivdep
                    for (int64_t c = 0; c < width; ++c)
                        lane1[l * block + c] = fc_combine_sum_f64(lane1[l * block + c], lane1[(l + w) * block + c]);
                used1 = fc_min(used1, w);
            }
            for (int64_t c = 0; c < width && !is_chunk; ++c)
                fc_push_sum_f64(&tree1[c], lane1[c]);
        }
        for (int64_t c = 0; c < width && is_chunk; ++c)
            v1[c] = lane1[c] + 0;
        for (int64_t c = 0; c < width && !is_chunk; ++c)
            v1[c] = fc_finish_sum_f64(&tree1[c]) + 0;
        const double v2 = a->scalar[0].f64;
        #pragma GCC ivdep
        for (int64_t c = 0; c < width; ++c) {
            v3[c] = v1[c] / v2;
            row_out1[c] = v3[c];
        }
    }
}
void reduce_sum_divide_6910369c156d_finish(const fc_args *a) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
}
