votes_of_few: 6 operations in 1 kernel
  moves 840,112 B, one operation at a time 2,611,168 B; peak 174,256 B
  0: reduce_argmax_iota_equal_sum_where (reduction)
     reads 784,000 B, writes 56,112 B
     equal, convert, where, argmax, 2 sum

// votes_of_few: reduce_argmax_iota_equal_sum_where, reduction over [7000] rows of [7]
//   in0 reads reshape float64[7000, 7]
//   in2 reads reshape float64[7000, 7]
//   out3 writes reduce int64[7000]
//   out4 writes reduce int64[7]
//   out5 writes reduce float64[7]
// together, for they need the same rows, again where they follow a reduction: equal, convert,
//   where, argmax, 2 sum
// 2 passes over each row
// and across all rows: sum, sum
#ifndef FC_HAVE_argmax_f64
#define FC_HAVE_argmax_f64
FC_ARG_TREE(argmax_f64, double, int64_t, >)
#endif
#ifndef FC_HAVE_sum_s64
#define FC_HAVE_sum_s64
FC_TREE(sum_s64, int64_t, int64_t, 0, v, (int64_t)(a + b))
#endif
#ifndef FC_HAVE_sum_f64
#define FC_HAVE_sum_f64
FC_FLOAT_TREE(sum_f64, double, -0.0, a + b)
#endif
#ifndef FC_HAVE_CROSS_sum_s64
#define FC_HAVE_CROSS_sum_s64
FC_CROSS(sum_s64, int64_t)
#endif
#ifndef FC_HAVE_CROSS_sum_f64
#define FC_HAVE_CROSS_sum_f64
FC_CROSS(sum_f64, double)
#endif
void reduce_argmax_iota_equal_sum_where_fcad8d75e8e9(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t s0_m0 = a->dim[4];
    const int64_t s0_n0 = a->dim[5];
    const int64_t s1_m0 = a->dim[6];
    const int64_t s1_n0 = a->dim[7];
    const int64_t origin1 = a->dim[8];
    const int64_t s2_m0 = a->dim[9];
    const int64_t s2_n0 = a->dim[10];
    const int64_t s3_m0 = a->dim[11];
    const int64_t s3_n0 = a->dim[12];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    const int64_t block = part_length;
    char *free_scratch = scratch;
    (void)free_scratch;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t chunk = item * FC_CHUNK;
        const int64_t behind = fc_min(rows, chunk + FC_CHUNK);
        const int64_t chunks = (rows + FC_CHUNK - 1) / FC_CHUNK;
        char *left = a->workspace + 16 * rows * 0;
        int64_t *const left5 = (int64_t *)left;
        left += (chunks * parts * length * sizeof *left5 + 63) / 64 * 64;
        double *const left9 = (double *)left;
        left += (chunks * parts * length * sizeof *left9 + 63) / 64 * 64;
        char *waiting = free_scratch;
        int64_t *const waiting5 = (int64_t *)waiting;
        waiting += FC_PITCH * length * sizeof *waiting5;
        double *const waiting9 = (double *)waiting;
        waiting += FC_PITCH * length * sizeof *waiting9;
        for (int64_t row = chunk, width; row < behind; row += width) {
            const int64_t outer = row / m0, first = row % m0;
            width = fc_min(fc_min(block, m0 - first), behind - row);
            (void)row; (void)outer;
            const char *row_in0 = a->ptr[0] + first * s0_m0;
            const int64_t row_at1 = origin1 + first * s1_m0;
            const char *row_in2 = a->ptr[1] + first * s2_m0;
            char *row_out3 = a->ptr[2] + first * s3_m0;
            int64_t v1[64];
            const double v6 = a->scalar[0].f64;
            double best1[64];
            int64_t place1[64];
            for (int64_t done = 0; done < length; ++done) {
                const int64_t position = done;
                const int64_t i_n0 = position;
                const int64_t lanes = done * block;
                (void)lanes;
                const char *in0 = (const char *)((const char *)row_in0 + i_n0 * s0_n0);
                #pragma GCC ivdep
                for (int64_t c = 0; c < width; ++c) {
                    const double v0 = *(const double *)(in0 + c * s0_m0);
                    const bool better1 = !done | FC_IS_BETTER(v0, >, best1[c]);
                    best1[c] = better1 ? v0 : best1[c];
                    place1[c] = better1 ? (int64_t)done : place1[c];
                }
            }
            for (int64_t c = 0; c < width; ++c)
                v1[c] = place1[c];
            for (int64_t done = 0; done < length; ++done) {
                const int64_t position = done;
                const int64_t i_n0 = position;
                const int64_t lanes = done * block;
                (void)lanes;
                const int64_t at1 = row_at1 + i_n0 * s1_n0;
                const char *in2 = (const char *)((const char *)row_in2 + i_n0 * s2_n0);
                #pragma GCC ivdep
                for (int64_t c = 0; c < width; ++c) {
                    const int64_t v2 = at1 + c * s1_m0;
                    const bool v3 = v2 == v1[c];
                    const int64_t v4 = (int64_t)v3;
                    const double v7 = *(const double *)(in2 + c * s2_m0);
                    const double v8 = v3 ? v7 : v6;
                    (waiting5 + position * FC_PITCH + row - chunk)[c] = v4;
                    (waiting9 + position * FC_PITCH + row - chunk)[c] = v8;
                }
            }
            #pragma GCC ivdep
            for (int64_t c = 0; c < width; ++c) {
                *(int64_t *)(row_out3 + c * s3_m0) = v1[c];
            }
        }
        for (int64_t k = 0; k < length; ++k)
            left5[item * length + k] = fc_fold_sum_s64(waiting5 + k * FC_PITCH, behind - chunk, 0);
        for (int64_t k = 0; k < length; ++k)
            left9[item * length + k] = fc_fold_sum_f64(waiting9 + k * FC_PITCH, behind - chunk, 0);
    }
}
void reduce_argmax_iota_equal_sum_where_fcad8d75e8e9_finish(const fc_args *a) {
    const int64_t parts = a->dim[0];
    const int64_t part_length = a->dim[1];
    const int64_t m0 = a->dim[2];
    const int64_t n0 = a->dim[3];
    const int64_t s4_m0 = a->dim[13];
    const int64_t s4_n0 = a->dim[14];
    const int64_t s5_m0 = a->dim[15];
    const int64_t s5_n0 = a->dim[16];
    const int64_t length = n0, rows = m0;
    (void)length; (void)rows; (void)parts; (void)part_length;
    const int64_t chunks = (rows + FC_CHUNK - 1) / FC_CHUNK;
    char *left = a->workspace + 16 * rows * 0;
    int64_t *const left5 = (int64_t *)left;
    left += (chunks * parts * length * sizeof *left5 + 63) / 64 * 64;
    double *const left9 = (double *)left;
    left += (chunks * parts * length * sizeof *left9 + 63) / 64 * 64;
    fc_foot_sum_s64(left5, chunks, parts, length);
    fc_foot_sum_f64(left9, chunks, parts, length);
    for (int64_t at = 0; at < length;) {
        const int64_t i_n0 = at;
        const int64_t run = n0 - i_n0;
        char *out4 = a->ptr[3] + i_n0 * s4_n0;
        char *out5 = a->ptr[4] + i_n0 * s5_n0;
        #pragma GCC ivdep
        for (int64_t k = 0; k < run; ++k) {
            const int64_t v5 = left5[at + k];
            const double v9 = left9[at + k] + 0;
            *(int64_t *)(out4 + k * s4_n0) = v5;
            *(double *)(out5 + k * s5_n0) = v9;
        }
        at += run;
    }
}
