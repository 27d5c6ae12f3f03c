black_scholes: 34 operations in 1 kernel
  moves 245,760 B, one operation at a time 4,128,768 B; peak 98,304 B
  0: loop_multiply_add_log_sqrt_subtract (loop)
     reads 147,456 B, writes 98,304 B
     sqrt, 14 multiply, 4 divide, log, 6 add, 3 subtract, 2 negative, 3 exp

// black_scholes: loop_multiply_add_log_sqrt_subtract, loop over [64, 96]
//   in0 reads parameter(2) float64[64, 96]
//   in1 reads parameter(1) float64[64, 96]
//   in2 reads parameter(0) float64[64, 96]
//   out3 writes subtract float64[64, 96]
//   out4 writes add float64[64, 96]
// together, for they go over the same elements, and nothing between them is stored: sqrt, 14
//   multiply, 4 divide, log, 6 add, 3 subtract, 2 negative, 3 exp
void loop_multiply_add_log_sqrt_subtract_591f1d53c186(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
    (void)scratch;
    const int64_t n0 = a->dim[2];
    const int64_t n1 = a->dim[3];
    const int64_t s0_n0 = a->dim[4];
    const int64_t s0_n1 = a->dim[5];
    const int64_t s1_n0 = a->dim[6];
    const int64_t s1_n1 = a->dim[7];
    const int64_t s2_n0 = a->dim[8];
    const int64_t s2_n1 = a->dim[9];
    const int64_t s3_n0 = a->dim[10];
    const int64_t s3_n1 = a->dim[11];
    const int64_t s4_n0 = a->dim[12];
    const int64_t s4_n1 = a->dim[13];
    const double v2 = a->scalar[0].f64;
    const double v4 = a->scalar[1].f64;
    const double v13 = a->scalar[2].f64;
    const double v15 = a->scalar[3].f64;
    const double v22 = a->scalar[4].f64;
    const double v25 = a->scalar[5].f64;
    if (begin < end) {
        int64_t rest_n0 = begin;
        int64_t i_n1 = rest_n0 % n1;
        rest_n0 /= n1;
        int64_t i_n0 = rest_n0 % n0;
        for (int64_t at = begin; at < end;) {
            const int64_t run = fc_min(FC_ROOM, fc_min(n1 - i_n1, end - at));
            const double *in0 = (const double *)(a->ptr[0] + i_n0 * s0_n0 + i_n1 * s0_n1);
            const double *in1 = (const double *)(a->ptr[1] + i_n0 * s1_n0 + i_n1 * s1_n1);
            const double *in2 = (const double *)(a->ptr[2] + i_n0 * s2_n0 + i_n1 * s2_n1);
            double *out3 = (double *)(a->ptr[3] + i_n0 * s3_n0 + i_n1 * s3_n1);
            double *out4 = (double *)(a->ptr[4] + i_n0 * s4_n0 + i_n1 * s4_n1);
            double room3[FC_ROOM];
            double *to3 = a->streams ? room3 : out3;
            double room4[FC_ROOM];
            double *to4 = a->streams ? room4 : out4;
            double last_in0[8];
            double last_in1[8];
            double last_in2[8];
            double last_to3[8];
            double last_to4[8];
            for (int64_t block = 0, count; block < run; block += count) {
                count = fc_blocks(run - block, 8);
                const int64_t from = fc_block(block, run, 8, a->again);
                if (from + count > run) {
                    in0 = (const double *)fc_copied(last_in0, in0 + block, 1, run - block, 8, sizeof *in0) - block;
                    in1 = (const double *)fc_copied(last_in1, in1 + block, 1, run - block, 8, sizeof *in1) - block;
                    in2 = (const double *)fc_copied(last_in2, in2 + block, 1, run - block, 8, sizeof *in2) - block;
                    to3 = last_to3 - block;
                    to4 = last_to4 - block;
                }
                #pragma GCC ivdep
                for (int64_t i = 0; i < count; ++i) {
                    const int64_t k = from + i;
                    const double v0 = in0[k];
                    const double v1 = fc_sqrt_f64(v0);
                    const double v3 = v2 * v1;
                    const double v5 = v4 * v0;
                    const double v6 = in1[k];
                    const double v7 = in2[k];
                    const double v8 = v7 / v6;
                    const double v9 = fc_log_f64(v8);
                    const double v10 = v9 + v5;
                    const double v11 = v10 / v3;
                    const double v12 = v11 - v3;
                    const double v14 = v13 * v12;
                    const double v16 = v15 * v12;
                    const double v17 = v16 * v12;
                    const double v18 = v17 * v12;
                    const double v19 = v18 + v14;
                    const double v20 = -v19;
                    const double v21 = fc_exp_f64(v20);
                    const double v23 = v22 + v21;
                    const double v24 = v22 / v23;
                    const double v26 = v25 * v0;
                    const double v27 = fc_exp_f64(v26);
                    const double v28 = v6 * v27;
                    const double v29 = v28 * v24;
                    const double v30 = v13 * v11;
                    const double v31 = v15 * v11;
                    const double v32 = v31 * v11;
                    const double v33 = v32 * v11;
                    const double v34 = v33 + v30;
                    const double v35 = -v34;
                    const double v36 = fc_exp_f64(v35);
                    const double v37 = v22 + v36;
                    const double v38 = v22 / v37;
                    const double v39 = v7 * v38;
                    const double v40 = v39 - v29;
                    const double v41 = v40 - v7;
                    const double v42 = v41 + v28;
                    to3[k] = v40;
                    to4[k] = v42;
                }
                if (from + count > run) {
                    memcpy((a->streams ? room3 : out3) + block, last_to3, (size_t)(run - block) * sizeof *last_to3);
                    memcpy((a->streams ? room4 : out4) + block, last_to4, (size_t)(run - block) * sizeof *last_to4);
                }
            }
            if (a->streams) fc_stream(out3, room3, (size_t)run * sizeof *room3);
            if (a->streams) fc_stream(out4, room4, (size_t)run * sizeof *room4);
            at += run;
            i_n1 += run;
            if (i_n1 == n1) i_n1 = 0, ++i_n0;
        }
    }
}
