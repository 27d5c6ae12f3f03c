// Float16 on the device: one instruction for each conversion; elsewhere codegen/halves.h.

FC_INLINE uint32_t fc_bits_f32(float a) { return __float_as_uint(a); }
FC_INLINE float fc_float_of(uint32_t u) { return __uint_as_float(u); }

#ifdef __CUDACC_VER_MAJOR__
FC_INLINE float fc_widen_f16(uint16_t h)
{
    float a;
    asm("cvt.f32.f16 %0, %1;" : "=f"(a) : "h"(h));
    return a;
}
FC_INLINE uint16_t fc_narrow_f16(float a)
{
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a));
    return h;
}
FC_INLINE float fc_round_f16(float a) { return fc_widen_f16(fc_narrow_f16(a)); }
FC_INLINE float fc_round_f16_of_f64(double a)
{
    uint16_t h;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(a));
    return fc_widen_f16(h);
}
#else
#include "halves.h"
#endif
