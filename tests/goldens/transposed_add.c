transposed_add: 1 operation in 1 kernel
  moves 147,456 B, one operation at a time 147,456 B; peak 49,152 B
  0: loop_add (loop)
     reads 98,304 B, writes 49,152 B
     add

// transposed_add: loop_add, loop over [64, 96]
//   in0 reads parameter(1) float64[96, 64]
//   in1 reads parameter(0) float64[64, 96]
//   out2 writes add float64[64, 96]
void loop_add_0c537be46618(const fc_args *a, int64_t begin, int64_t end, char *scratch) {
    (void)scratch;
    const int64_t n0 = a->dim[2];
    const int64_t n1 = a->dim[3];
    const int64_t s0_n0 = a->dim[4];
    const int64_t s0_n1 = a->dim[5];
    const int64_t s1_n0 = a->dim[6];
    const int64_t s1_n1 = a->dim[7];
    const int64_t s2_n0 = a->dim[8];
    const int64_t s2_n1 = a->dim[9];
    for (int64_t at = begin; at < end;) {
        const int64_t i_n0 = at;
        const int64_t run = fc_min(FC_NEAR, fc_min(n0 - i_n0, end - at));
        for (int64_t i_n1 = 0; i_n1 < n1; ++i_n1) {
            const double *in0 = (const double *)(a->ptr[0] + i_n0 * s0_n0 + i_n1 * s0_n1);
            const double *in1 = (const double *)(a->ptr[1] + i_n0 * s1_n0 + i_n1 * s1_n1);
            double *out2 = (double *)(a->ptr[2] + i_n0 * s2_n0 + i_n1 * s2_n1);
            #pragma GCC ivdep
            for (int64_t k = 0; k < run; ++k) {
                const double v0 = *(const double *)((const char *)in0 + k * s0_n0);
                const double v1 = *(const double *)((const char *)in1 + k * s1_n0);
                const double v2 = v1 + v0;
                *(double *)((char *)out2 + k * s2_n0) = v2;
            }
        }
        at += run;
    }
}
