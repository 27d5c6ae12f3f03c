centered_columns: 3 operations in 1 kernel
  moves 98,304 B, one operation at a time 150,528 B; peak 81,920 B
  0: reduce_sum_divide_subtract (resident)
     reads 49,152 B, writes 49,152 B
     divide, subtract, sum

// centered_columns: reduce_sum_divide_subtract, reduction over [96] rows of [64]
//   in0 reads parameter(0) float64[64, 96]
//   out1 writes subtract float64[64, 96]
// together, for they need the same rows, again where they follow a reduction: divide, subtract,
//   sum
// 2 passes over each row, which stays resident between them
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
void reduce_sum_divide_subtract_88fcca2b73e2(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
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
    double *const row_keep0 = (double *)free_scratch;
    free_scratch += (length * block * sizeof(double) + 63) / 64 * 64;
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
        const double v2 = a->scalar[0].f64;
        double lane1[FC_LANES * 64];
        fc_tree_sum_f64 tree1[64];
        for (int64_t c = 0; c < width && !is_chunk; ++c)
            fc_start_sum_f64(&tree1[c]);
        for (int64_t at = 0; at < length; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, length - at);
            const int64_t lanes_used = fc_min(FC_LANES, count);
            for (int64_t l = 0; l < lanes_used; ++l)
                for (int64_t c = 0; c < width; ++c)
                    lane1[l * block + c] = fc_identity_sum_f64();
            int64_t done = 0;
            for (; done < count; ++done) {
                const int64_t position = at + done;
                const int64_t i_n0 = position;
                const int64_t lanes = done % FC_LANES * block;
                (void)lanes;
                const double *in0 = (const double *)((const char *)row_in0 + i_n0 * s0_n0);
                #pragma GCC ivdep
                for (int64_t c = 0; c < width; ++c) {
                    const double v0 = in0[c];
                    row_keep0[(at + done) * block + c] = v0;
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
        #pragma GCC ivdep
        for (int64_t c = 0; c < width; ++c) {
            v3[c] = v1[c] / v2;
        }
        for (int64_t at = 0; at < length; at += FC_CHUNK) {
            const int64_t count = fc_min(FC_CHUNK, length - at);
            int64_t done = 0;
            for (; done < count; ++done) {
                const int64_t position = at + done;
                const int64_t i_n0 = position;
                const int64_t lanes = done % FC_LANES * block;
                (void)lanes;
                double *out1 = (double *)((char *)row_out1 + i_n0 * s1_n0);
                double room1[FC_ROOM];
                double *to1 = a->streams ? room1 : out1;
                #pragma GCC ivdep
                for (int64_t c = 0; c < width; ++c) {
                    const double v0 = row_keep0[(at + done) * block + c];
                    const double v4 = v0 - v3[c];
                    to1[c] = v4;
                }
                if (a->streams) fc_stream(out1, room1, (size_t)width * sizeof *room1);
            }
        }
    }
}
