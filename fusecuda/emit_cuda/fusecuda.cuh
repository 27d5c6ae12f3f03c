// What every emitted kernel stands on: types, indices, quotients, and packs of neighbours.
// It needs no other header, so that NVRTC starts at once.
#pragma once

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

typedef struct { float re, im; } fc_c64;
typedef struct { double re, im; } fc_c128;

#define FC_INLINE static __device__ __forceinline__
// An integer as a float: of a float's integer part a compiler might else make a truncation, to -0.0.
#define FC_OF_WHOLE(T, v) ((v) ? (T)(v) : 0)
#define FC_WARP 0xffffffffu
#define FC_INFINITY __longlong_as_double(0x7ff0000000000000LL)

FC_INLINE int fc_clamp(long long n, int most) { return n < 0 ? 0 : n < most ? (int)n : most; }

// An index as CuPy takes it: out of range it wraps around, so that no memory is touched outside.
template <typename I>
FC_INLINE I fc_wrap(int64_t index, I n)
{
    if ((uint64_t)index < (uint64_t)n) return (I)index;
    const int64_t rest = index % (int64_t)n;
    return (I)(rest < 0 ? rest + n : rest);
}

// n / d for what `quotients.py` has made of d.
FC_INLINE int fc_over(int n, int by, int down)
{
    return (int)(__umulhi(2u * (unsigned)n, (unsigned)by) >> down);
}
FC_INLINE int64_t fc_over(int64_t n, int64_t by, int64_t down)
{
    return (int64_t)(__umul64hi(2ull * (uint64_t)n, (uint64_t)by) >> down);
}

// Whether two integers are the same. NVRTC 12.6 to 13.3 takes, from sm_90 on, the comparison of an
// integer between zero and a bound with that bound (`clip(x, 0, 255) == 255`) for a predicate of the
// instruction that clips, which tells something else. A comparison of their bits it leaves alone.
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1304
FC_INLINE bool fc_same(int a, int b)
{
    unsigned bits;
    asm("xor.b32 %0, %1, %2;" : "=r"(bits) : "r"(a), "r"(b));
    return bits == 0;
}
FC_INLINE bool fc_same(int64_t a, int64_t b)
{
    uint64_t bits;
    asm("xor.b64 %0, %1, %2;" : "=l"(bits) : "l"(a), "l"(b));
    return bits == 0;
}
#else
FC_INLINE bool fc_same(int a, int b) { return a == b; }
FC_INLINE bool fc_same(int64_t a, int64_t b) { return a == b; }
#endif

// --- quotients by one divisor ----------------------------------------------------------------------

// A quotient by a reciprocal that is rounded correctly, corrected twice, is rounded correctly itself
// (Markstein, IBM J. Res. Dev. 34, 1990) if nothing on the way leaves the range. There is no branch,
// so that several are under way; what is `odd`, by exponents or as NaN, is to be divided anew.
struct fc_divisor {
    float by, reciprocal;
    bool is_odd;
};
FC_INLINE bool fc_is_middling(float a)  // from 2^-60 on, below 2^60
{
    return (__float_as_uint(a) & 0x7fffffffu) - 0x21800000u < 0x3c000000u;
}
FC_INLINE fc_divisor fc_divide_by(float by) { return {by, __frcp_rn(by), !fc_is_middling(by)}; }
FC_INLINE float fc_quotient(float a, const fc_divisor &d, bool &odd)
{
    const float first = __fmul_rn(a, d.reciprocal);
    const float second = __fmaf_rn(__fmaf_rn(-d.by, first, a), d.reciprocal, first);
    if (!fc_is_middling(a) && !(__float_as_uint(a) == 0 && d.by > 0)) odd = true;
    return __fmaf_rn(__fmaf_rn(-d.by, second, a), d.reciprocal, second);
}

// --- packs: neighbours in memory that one thread moves together -----------------------------------

// N elements that are loaded and stored by one instruction where 16 bytes hold them.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) fc_pack {
    T at[N];
};

// The N elements from `from` on, STEP apart, of which the first `live` exist; one by one, so that
// they may begin anywhere.
template <int N, int STEP = 1, typename T>
FC_INLINE fc_pack<T, N> fc_load_each(const T *from, int live)
{
    fc_pack<T, N> pack;
#pragma unroll
    for (int e = 0; e < N; ++e) pack.at[e] = e < live ? from[e * STEP] : T();
    return pack;
}

// The same where they begin at a multiple of a pack's alignment.
template <int N, typename T>
FC_INLINE fc_pack<T, N> fc_load(const T *from, int live)
{
    if (live >= N) return *reinterpret_cast<const fc_pack<T, N> *>(from);
    return fc_load_each<N>(from, live);
}

template <int N, int STEP = 1, typename T>
FC_INLINE void fc_store_each(T *to, const fc_pack<T, N> &pack, int live)
{
#pragma unroll
    for (int e = 0; e < N; ++e)
        if (e < live) to[e * STEP] = pack.at[e];
}

template <int N, typename T>
FC_INLINE void fc_store(T *to, const fc_pack<T, N> &pack, int live)
{
    if (live >= N) {
        *reinterpret_cast<fc_pack<T, N> *>(to) = pack;
        return;
    }
#pragma unroll
    for (int e = 0; e < N - 1; ++e)  // the last one is in whole packs only
        if (e < live) to[e] = pack.at[e];
}

// A value of another lane, whatever its type: word by word as `move` moves them.
template <typename T, typename F>
FC_INLINE T fc_moved(T value, F move)
{
    union words {
        unsigned word[(sizeof(T) + 3) / 4];
        T value;
        __device__ words() {}
    } moved;
    moved.word[sizeof(moved.word) / 4 - 1] = 0;
    moved.value = value;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(moved.word) / 4); ++k) moved.word[k] = move(moved.word[k]);
    return moved.value;
}

template <typename T>
FC_INLINE T fc_of_next_lane(T value)
{
    return fc_moved(value, [](unsigned word) { return __shfl_down_sync(FC_WARP, word, 1); });
}
template <typename T>
FC_INLINE T fc_of_first_lane(T value)
{
    return fc_moved(value, [](unsigned word) { return __shfl_sync(FC_WARP, word, 0); });
}

// The N elements from `from` on, `step` apart; as one where they are `whole` packs.
template <int N, typename T, typename I>
FC_INLINE fc_pack<T, N> fc_load_row(const T *from, I step, int whole, int live)
{
    if (whole) return fc_load<N>(from, live);
    fc_pack<T, N> pack;
#pragma unroll
    for (int e = 0; e < N; ++e) pack.at[e] = e < live ? from[e * step] : T();
    return pack;
}

// A row's packs, one of each of its `lanes`, where the row may begin anywhere: each lane stores the
// pack that begins at the first aligned element of its own, of which the next lane has the end.
// Its own begins at a multiple of N; `live` counts the elements from there on, up to two packs. All
// lanes of a warp come here together.
template <int N, typename T, typename I>
FC_INLINE void fc_store_row(T *row, I at, I step, const fc_pack<T, N> &pack, int live, int lane,
                            int lanes)
{
    T *const to = row + at * step;
    enum { GROUP = 16 / sizeof(T) < N ? 16 / sizeof(T) : N };
    if (step != 1) {
#pragma unroll
        for (int e = 0; e < N; ++e)
            if (e < live) to[e * step] = pack.at[e];
        return;
    }
    const int skip = (int)(-(uint64_t)row / sizeof(T)) & (GROUP - 1);
    T both[N + GROUP - 1];
#pragma unroll
    for (int e = 0; e < N; ++e) both[e] = pack.at[e];
#pragma unroll
    for (int e = 0; e < GROUP - 1; ++e) both[N + e] = fc_of_next_lane(pack.at[e]);
    __syncwarp();  // what is overwritten may have been read by another lane
    const int most = lane == lanes - 1 ? N - skip : N;
    const int have = live - skip < most ? live - skip : most;
#pragma unroll
    for (int half = GROUP / 2; half; half /= 2)
#pragma unroll
        for (int e = 0; e < N + half - 1; ++e)
            if (skip & half && e + half < N + GROUP - 1) both[e] = both[e + half];
    fc_pack<T, N> aligned;
#pragma unroll
    for (int e = 0; e < N; ++e) aligned.at[e] = both[e];
    if (have > 0) fc_store<N>(to + skip, aligned, have);
    if (lane == 0)
#pragma unroll
        for (int e = 0; e < GROUP - 1; ++e)
            if (e < skip && e < live) to[e] = pack.at[e];
}
