// The part of CUDA C++ that kernels use, for a host compiler. Included before every kernel source.
// To add a math function, a vector type or an atomic: one row in the table of its section.
#pragma once

// ------------------------------------------------------------------ words of the language
#define __global__
#define __device__
#define __host__
#define __shared__ static __attribute__((section("emu_shared")))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define EMU_CAPTURE_LINE unsigned line = __builtin_LINE()
#define EMU_IN static inline __attribute__((always_inline, unused))

typedef decltype(sizeof 0) size_t;
typedef unsigned long long emu_u64;

// ------------------------------------------------------------------ what the runtime offers
struct uint3 { unsigned x, y, z; };
extern "C" {
uint3 emu_thread_index() __attribute__((const));
uint3 emu_block_index() __attribute__((const));
uint3 emu_block_shape() __attribute__((const));
uint3 emu_grid_shape() __attribute__((const));
void *emu_dynamic() __attribute__((const));
void emu_atomic(void *, unsigned size, unsigned line);
void emu_fence();
emu_u64 emu_block(unsigned kind, emu_u64 value, unsigned line);
emu_u64 emu_warp(unsigned kind, unsigned mask, emu_u64 value, unsigned source, unsigned width,
                 unsigned size, unsigned line);
void emu_cluster_arrive(unsigned line = __builtin_LINE());
void emu_cluster_wait(unsigned line = __builtin_LINE());
void *emu_of_rank(const void *, unsigned rank, unsigned line = __builtin_LINE());
void emu_trap(unsigned line) __attribute__((noreturn));
void *__tsan_memcpy(void *, const void *, size_t);
void *__tsan_memset(void *, int, size_t);
}
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
#define threadIdx (emu_thread_index())
#define blockIdx (emu_block_index())
#define blockDim (emu_block_shape())
#define gridDim (emu_grid_shape())
#define warpSize 32
#define memcpy __tsan_memcpy
#define memset __tsan_memset
#define __trap() emu_trap(__LINE__)
#define assert(x) ((x) ? (void)0 : emu_trap(__LINE__))

// ------------------------------------------------------------------ vector types
#define EMU_VECTOR2(T, N, A) \
    struct alignas(A) N { T x, y; }; \
    EMU_IN N make_##N(T x, T y) { return {x, y}; }
#define EMU_VECTOR3(T, N) \
    struct N { T x, y, z; }; \
    EMU_IN N make_##N(T x, T y, T z) { return {x, y, z}; }
#define EMU_VECTOR4(T, N, A) \
    struct alignas(A) N { T x, y, z, w; }; \
    EMU_IN N make_##N(T x, T y, T z, T w) { return {x, y, z, w}; }
#define EMU_VECTORS(T, N, S) EMU_VECTOR2(T, N##2, 2 * S) EMU_VECTOR4(T, N##4, (S < 8 ? 4 * S : 16))
EMU_VECTORS(signed char, char, 1) EMU_VECTORS(unsigned char, uchar, 1)
EMU_VECTORS(short, short, 2) EMU_VECTORS(unsigned short, ushort, 2)
EMU_VECTORS(int, int, 4) EMU_VECTORS(unsigned, uint, 4)
EMU_VECTORS(long long, longlong, 8) EMU_VECTORS(unsigned long long, ulonglong, 8)
EMU_VECTORS(float, float, 4) EMU_VECTORS(double, double, 8)
EMU_VECTOR3(int, int3) EMU_VECTOR3(float, float3) EMU_VECTOR3(double, double3)
EMU_IN uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

// ------------------------------------------------------------------ bits
template <class To, class From> EMU_IN To emu_bits(From from) {
    static_assert(sizeof(To) >= sizeof(From), "bits are lost");
    To to = To();
    __builtin_memcpy(&to, &from, sizeof from);
    return to;
}
template <class To> EMU_IN To emu_unbits(emu_u64 from) {
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
EMU_IN float __int_as_float(int x) { return emu_bits<float>(x); }
EMU_IN int __float_as_int(float x) { return emu_bits<int>(x); }
EMU_IN float __uint_as_float(unsigned x) { return emu_bits<float>(x); }
EMU_IN unsigned __float_as_uint(float x) { return emu_bits<unsigned>(x); }
EMU_IN double __longlong_as_double(long long x) { return emu_bits<double>(x); }
EMU_IN long long __double_as_longlong(double x) { return emu_bits<long long>(x); }
EMU_IN int __double2hiint(double x) { return (int)(emu_bits<emu_u64>(x) >> 32); }
EMU_IN int __double2loint(double x) { return (int)emu_bits<emu_u64>(x); }
EMU_IN double __hiloint2double(int h, int l) {
    return emu_bits<double>((emu_u64)(unsigned)h << 32 | (unsigned)l);
}
EMU_IN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((emu_u64)a * b >> 32); }
EMU_IN int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
EMU_IN emu_u64 __umul64hi(emu_u64 a, emu_u64 b) {
    return (emu_u64)((unsigned __int128)a * b >> 64);
}
EMU_IN long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
EMU_IN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
EMU_IN int __clzll(long long x) { return x ? __builtin_clzll((emu_u64)x) : 64; }
EMU_IN int __popc(unsigned x) { return __builtin_popcount(x); }
EMU_IN int __popcll(emu_u64 x) { return __builtin_popcountll(x); }
EMU_IN int __ffs(int x) { return __builtin_ffs(x); }
EMU_IN int __ffsll(long long x) { return __builtin_ffsll(x); }
EMU_IN unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1u) << (31 - i);
    return y;
}

// ------------------------------------------------------------------ barriers, shuffles, votes
// The numbers are those of `Operation` in runtime/schedule.h.
EMU_IN void __syncthreads(EMU_CAPTURE_LINE) { emu_block(0, 0, line); }
EMU_IN int __syncthreads_or(int p, EMU_CAPTURE_LINE) { return (int)emu_block(1, p != 0, line); }
EMU_IN int __syncthreads_and(int p, EMU_CAPTURE_LINE) { return (int)emu_block(2, p != 0, line); }
EMU_IN int __syncthreads_count(int p, EMU_CAPTURE_LINE) { return (int)emu_block(3, p != 0, line); }
EMU_IN void __syncwarp(unsigned mask = 0xffffffffu, EMU_CAPTURE_LINE) {
    emu_warp(9, mask, 0, 0, 32, 0, line);
}
EMU_IN unsigned __activemask(EMU_CAPTURE_LINE) {
    return (unsigned)emu_warp(10, 0, 0, 0, 32, 0, line);
}
EMU_IN unsigned __ballot_sync(unsigned mask, int p, EMU_CAPTURE_LINE) {
    return (unsigned)emu_warp(8, mask, p != 0, 0, 32, 0, line);
}
EMU_IN int __any_sync(unsigned mask, int p, EMU_CAPTURE_LINE) {
    return emu_warp(8, mask, p != 0, 0, 32, 0, line) != 0;
}
EMU_IN int __all_sync(unsigned mask, int p, EMU_CAPTURE_LINE) {
    return emu_warp(8, mask, p != 0, 0, 32, 0, line) == mask;
}
#define EMU_SHUFFLE(T) \
    EMU_IN T __shfl_sync(unsigned mask, T v, int lane, int width = 32, EMU_CAPTURE_LINE) { \
        return emu_unbits<T>(emu_warp(4, mask, emu_bits<emu_u64>(v), lane, width, sizeof v, line)); \
    } \
    EMU_IN T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32, EMU_CAPTURE_LINE) { \
        return emu_unbits<T>(emu_warp(5, mask, emu_bits<emu_u64>(v), by, width, sizeof v, line)); \
    } \
    EMU_IN T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32, EMU_CAPTURE_LINE) { \
        return emu_unbits<T>(emu_warp(6, mask, emu_bits<emu_u64>(v), by, width, sizeof v, line)); \
    } \
    EMU_IN T __shfl_xor_sync(unsigned mask, T v, int by, int width = 32, EMU_CAPTURE_LINE) { \
        return emu_unbits<T>(emu_warp(7, mask, emu_bits<emu_u64>(v), by, width, sizeof v, line)); \
    }
EMU_SHUFFLE(int) EMU_SHUFFLE(unsigned) EMU_SHUFFLE(long) EMU_SHUFFLE(unsigned long)
EMU_SHUFFLE(long long) EMU_SHUFFLE(unsigned long long) EMU_SHUFFLE(float) EMU_SHUFFLE(double)

// ------------------------------------------------------------------ memory
EMU_IN void __threadfence() { emu_fence(); }
// Orders nothing between blocks, and within one the emulator knows barriers only.
EMU_IN void __threadfence_block() { asm volatile("" ::: "memory"); }
EMU_IN void __threadfence_system() { emu_fence(); }
template <class T> EMU_IN T __ldg(const T *p) { return *p; }
template <class T> EMU_IN T __ldcs(const T *p) { return *p; }
template <class T> EMU_IN T __ldcg(const T *p) { return *p; }
template <class T> EMU_IN T __ldca(const T *p) { return *p; }
template <class T> struct emu_same { typedef T type; };
template <class T> EMU_IN void __stcs(T *p, typename emu_same<T>::type v) { *p = v; }
template <class T> EMU_IN void __stcg(T *p, typename emu_same<T>::type v) { *p = v; }
template <class T> EMU_IN void __stwb(T *p, typename emu_same<T>::type v) { *p = v; }
template <class T> EMU_IN void __stwt(T *p, typename emu_same<T>::type v) { *p = v; }

// Not instrumented: the runtime is told of the update as a whole.
template <class T, class F>
static __attribute__((noinline, no_sanitize_thread)) T emu_update(T *p, unsigned line, F next) {
    emu_atomic((void *)p, sizeof(T), line);
    T old = *p;
    *p = next(old);
    return old;
}
#define EMU_ATOMIC(NAME, T, NEXT) \
    EMU_IN T NAME(T *p, T v, EMU_CAPTURE_LINE) { \
        return emu_update(p, line, [v](T old) -> T { return NEXT; }); \
    }
#define EMU_ATOMIC_BITS(T) \
    EMU_ATOMIC(atomicAnd, T, old &v) EMU_ATOMIC(atomicOr, T, old | v) \
    EMU_ATOMIC(atomicXor, T, old ^ v) EMU_ATOMIC(atomicExch, T, ((void)old, v)) \
    EMU_ATOMIC(atomicMax, T, old < v ? v : old) EMU_ATOMIC(atomicMin, T, v < old ? v : old) \
    EMU_IN T atomicCAS(T *p, T expected, T v, EMU_CAPTURE_LINE) { \
        return emu_update(p, line, [=](T old) -> T { return old == expected ? v : old; }); \
    }
EMU_ATOMIC_BITS(int) EMU_ATOMIC_BITS(unsigned) EMU_ATOMIC_BITS(unsigned long long)
EMU_ATOMIC(atomicMax, long long, old < v ? v : old)
EMU_ATOMIC(atomicMin, long long, v < old ? v : old)
EMU_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)v))
EMU_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)v))
EMU_ATOMIC(atomicAdd, unsigned, old + v) EMU_ATOMIC(atomicSub, unsigned, old - v)
EMU_ATOMIC(atomicAdd, unsigned long long, old + v)
EMU_ATOMIC(atomicAdd, float, old + v) EMU_ATOMIC(atomicAdd, double, old + v)
EMU_ATOMIC(atomicExch, float, ((void)old, v))
EMU_ATOMIC(atomicInc, unsigned, old >= v ? 0u : old + 1u)
EMU_ATOMIC(atomicDec, unsigned, old == 0u || old > v ? v : old - 1u)

#include "device_math.h"
#include "device_special.h"

// ------------------------------------------------------------------ how Python finds a kernel
struct emu_parameter {
    unsigned size, unit;  // unit: what a pointer points to, in bytes
    char kind;  // pointer, q: pointer to const, i, u, f, bool, half, struct
};
template <class T> struct emu_kind { static constexpr char value = 's'; };
template <class T> struct emu_kind<T *> { static constexpr char value = 'p'; };
template <class T> struct emu_kind<const T *> { static constexpr char value = 'q'; };
template <class T> constexpr unsigned emu_unit(...) { return 1; }
template <class T> constexpr decltype(sizeof(*T())) emu_unit(int) { return sizeof(*T()); }
#define EMU_KIND(T, K) template <> struct emu_kind<T> { static constexpr char value = K; };
EMU_KIND(bool, 'b') EMU_KIND(float, 'f') EMU_KIND(double, 'f') EMU_KIND(__half, 'h')
EMU_KIND(char, 'i') EMU_KIND(signed char, 'i') EMU_KIND(short, 'i') EMU_KIND(int, 'i')
EMU_KIND(long, 'i') EMU_KIND(long long, 'i') EMU_KIND(unsigned char, 'u')
EMU_KIND(unsigned short, 'u') EMU_KIND(unsigned, 'u') EMU_KIND(unsigned long, 'u')
EMU_KIND(unsigned long long, 'u')

template <unsigned... I> struct emu_list {};
template <unsigned N, unsigned... I> struct emu_count : emu_count<N - 1, N - 1, I...> {};
template <unsigned... I> struct emu_count<0, I...> { typedef emu_list<I...> type; };
template <class F> struct emu_signature;
template <class... A> struct emu_signature<void(A...)> {
    static constexpr emu_parameter list[] = {{sizeof(A), emu_unit<A>(0), emu_kind<A>::value}...,
                                             {0, 0, 0}};
    template <unsigned... I>
    static __attribute__((no_sanitize_thread)) void spread(void (*f)(A...), void **v, emu_list<I...>) {
        f(*(A *)v[I]...);
    }
    static __attribute__((no_sanitize_thread)) void call(void (*f)(), void **values) {
        spread((void (*)(A...))f, values, typename emu_count<sizeof...(A)>::type());
    }
};
struct emu_entry {
    void (*kernel)();
    void (*call)(void (*)(), void **);
    unsigned count;
    const emu_parameter *list;
};
#define EMU_ENTRY(F) \
    extern "C" __attribute__((visibility("default"))) const emu_entry emu_entry_##F = { \
        (void (*)())F, emu_signature<decltype(F)>::call, \
        sizeof(emu_signature<decltype(F)>::list) / sizeof(emu_parameter) - 1, \
        emu_signature<decltype(F)>::list};
