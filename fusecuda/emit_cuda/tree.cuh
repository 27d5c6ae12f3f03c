// The reduction tree, its lanes, chunks and blocks, and the kinds of reductions.
//
// A row is cut into chunks of 512 elements. In a chunk, lane l of 32 takes the elements i with
// (i / 4) % 32 == l, in their order; the lanes are folded in halves (l with l + 16, l + 8, ...).
// The chunks are combined pairwise: neighbours 0 and 1, 2 and 3, ..., then the results likewise.
// Missing elements count as the identity. The tree depends on the row's length alone: how many
// warps or blocks share a row changes who computes what, never the result.

enum { FC_GROUP = 4, FC_STEP = 128, FC_STEPS = 4, FC_CHUNK = 512 };

// The number of a thread in its block, and how many there are: warps are 32 in this order.
FC_INLINE int fc_thread() { return threadIdx.y * blockDim.x + threadIdx.x; }
FC_INLINE int fc_threads() { return blockDim.y * blockDim.x; }

template <typename P>
FC_INLINE P fc_shuffle(P p, int lane_mask) { return __shfl_xor_sync(FC_WARP, p, lane_mask); }
FC_INLINE bool fc_shuffle(bool p, int m) { return __shfl_xor_sync(FC_WARP, (int)p, m) != 0; }
FC_INLINE int8_t fc_shuffle(int8_t p, int m) { return (int8_t)__shfl_xor_sync(FC_WARP, (int)p, m); }
FC_INLINE uint8_t fc_shuffle(uint8_t p, int m) { return (uint8_t)__shfl_xor_sync(FC_WARP, (int)p, m); }
FC_INLINE int16_t fc_shuffle(int16_t p, int m) { return (int16_t)__shfl_xor_sync(FC_WARP, (int)p, m); }
FC_INLINE uint16_t fc_shuffle(uint16_t p, int m) { return (uint16_t)__shfl_xor_sync(FC_WARP, (int)p, m); }

// An element with its position in the row; position -1 is nobody.
template <typename V, typename I>
struct fc_at {
    V value;
    I index;
};
template <typename V, typename I>
FC_INLINE fc_at<V, I> fc_shuffle(fc_at<V, I> p, int m)
{
    fc_at<V, I> other;
    other.value = fc_shuffle(p.value, m);
    other.index = fc_shuffle(p.index, m);
    return other;
}

// The order of argmax and argmin: NaN before numbers, then the better, then the first. Comparisons
// with NaN are false. There is no branch, so that loads go on ahead.
template <bool LARGEST, typename V, typename I>
FC_INLINE fc_at<V, I> fc_first(fc_at<V, I> a, fc_at<V, I> b)
{
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool better = (a_nan & !b_nan) | (LARGEST ? a.value > b.value : a.value < b.value);
    const bool tied = (a_nan & b_nan) | (a.value == b.value);
    const bool wins = better | (tied & (a.index < b.index));
    const bool first = (b.index < 0) | ((a.index >= 0) & wins);
    return {first ? a.value : b.value, first ? a.index : b.index};
}

// The larger or the smaller of two, NaN if one of them is.
template <bool LARGEST, typename V>
FC_INLINE V fc_extreme(V a, V b)
{
    return (LARGEST ? a > b : a < b) | (a != a) ? a : b;
}
#if defined(__CUDACC_VER_MAJOR__) && __CUDA_ARCH__ >= 800
template <bool LARGEST>
FC_INLINE float fc_extreme(float a, float b)
{
    float best;
    if (LARGEST)
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    else
        asm("min.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    return best;
}
#endif

// The first of `a` and of the first `live` neighbours from position `at` on, which are behind it: the
// best of all is known before it is asked which one that was.
template <bool LARGEST, typename V, typename I, int N>
FC_INLINE fc_at<V, I> fc_first_of_pack(fc_at<V, I> a, const V (&v)[N], I at, int live)
{
    V best = v[0];
#pragma unroll
    for (int e = 1; e < N; ++e)
        if (e < live) best = fc_extreme<LARGEST>(best, v[e]);
    int place = N - 1;
#pragma unroll
    for (int e = N - 1; e >= 0; --e)
        if (e < live) place = (v[e] == best || v[e] != v[e]) ? e : place;
    const bool worse = LARGEST ? best <= a.value : best >= a.value;
    const bool first = live <= 0 || (a.index >= 0 && (worse || a.value != a.value));
    return {first ? a.value : best, first ? a.index : at + place};
}

// The kinds of reductions: P is what is combined, identity leaves every other P as it is.

template <typename T> FC_INLINE T fc_add(T a, T b) { return (T)((uint64_t)a + (uint64_t)b); }
FC_INLINE float fc_add(float a, float b) { return a + b; }
FC_INLINE double fc_add(double a, double b) { return a + b; }
template <typename T> FC_INLINE T fc_multiply(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }
FC_INLINE float fc_multiply(float a, float b) { return a * b; }
FC_INLINE double fc_multiply(double a, double b) { return a * b; }
template <typename T> FC_INLINE bool fc_is_nan(T a) { return a != a; }

// The least and the largest value of the type of the argument; integers are two's complement.
template <typename T> FC_INLINE T fc_least(T)
{
    return (T)-1 < (T)0 ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
}
FC_INLINE float fc_least(float) { return -(float)FC_INFINITY; }
FC_INLINE double fc_least(double) { return -FC_INFINITY; }
template <typename T> FC_INLINE T fc_largest(T zero) { return (T)~fc_least(zero); }
FC_INLINE bool fc_largest(bool) { return true; }
FC_INLINE float fc_largest(float) { return (float)FC_INFINITY; }
FC_INLINE double fc_largest(double) { return FC_INFINITY; }

#define FC_REDUCTION(name, IDENTITY, COMBINE)                                                      \
    template <typename T>                                                                          \
    struct fc_##name {                                                                             \
        typedef T P;                                                                               \
        static __device__ __forceinline__ P identity() { return IDENTITY; }                        \
        static __device__ __forceinline__ P leaf(T v, int64_t) { return v; }                       \
        static __device__ __forceinline__ P combine(P a, P b) { return COMBINE; }                  \
    };

FC_REDUCTION(sum, (T)-0.0, fc_add(a, b))  // -0.0 + x is x for every x
FC_REDUCTION(prod, (T)1, fc_multiply(a, b))
FC_REDUCTION(max, fc_least(T()), (a > b) | fc_is_nan(a) ? a : b)
FC_REDUCTION(min, fc_largest(T()), (a < b) | fc_is_nan(a) ? a : b)
FC_REDUCTION(any, (T)0, a | b)
FC_REDUCTION(all, (T)1, a & b)

#define FC_ARG_REDUCTION(name, LARGEST)                                                            \
    template <typename T, typename I>                                                              \
    struct fc_##name {                                                                             \
        typedef fc_at<T, I> P;                                                                     \
        static __device__ __forceinline__ P identity() { return {T(), -1}; }                       \
        static __device__ __forceinline__ P leaf(T v, I i) { return {v, i}; }                      \
        static __device__ __forceinline__ P combine(P a, P b) { return fc_first<LARGEST>(a, b); }  \
        /* An element behind those of `a`: it has to be better. */                                 \
        static __device__ __forceinline__ P take(P a, T v, I i)                                    \
        {                                                                                          \
            const bool worse = LARGEST ? v <= a.value : v >= a.value, a_nan = a.value != a.value;  \
            const bool first = (a.index >= 0) & (worse | a_nan);                                   \
            return {first ? a.value : v, first ? a.index : i};                                     \
        }                                                                                          \
        template <int N>                                                                           \
        static __device__ __forceinline__ P take(P a, const T (&v)[N], I at, int live)             \
        {                                                                                          \
            return fc_first_of_pack<LARGEST>(a, v, at, live);                                      \
        }                                                                                          \
    };

FC_ARG_REDUCTION(argmax, true)
FC_ARG_REDUCTION(argmin, false)

// Combined with what the lane `away` has, the lower lane's first; both get the result. Selected, for
// lanes of a warp that go two ways take both. Positions tell the order by themselves.
template <typename R, typename P>
FC_INLINE P fc_in_order(P p, P other, bool is_behind)
{
    return R::combine(is_behind ? other : p, is_behind ? p : other);
}
template <typename R, typename V, typename I>
FC_INLINE fc_at<V, I> fc_in_order(fc_at<V, I> p, fc_at<V, I> other, bool)
{
    return R::combine(p, other);
}
template <typename R>
FC_INLINE typename R::P fc_with_lane(typename R::P p, int away)
{
    return fc_in_order<R>(p, fc_shuffle(p, away), fc_thread() & away);
}

// Lanes folded in halves; the first `lanes` hold values. Every lane gets the result of its group.
template <typename R>
FC_INLINE typename R::P fc_fold(typename R::P p, int lanes)
{
    for (int half = lanes / 2; half; half /= 2) {
        p = fc_with_lane<R>(p, half);
    }
    return p;
}

// The first `count` lanes combined pairwise, neighbours first: lane k holds partial result k, those
// behind them nobody's. Every lane gets the result; levels at which nothing meets are left out.
template <typename R>
FC_INLINE typename R::P fc_pairwise(typename R::P p, int count)
{
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        if (step >= count) return fc_of_first_lane(p);
        p = fc_with_lane<R>(p, step);
    }
    return p;
}

// The results of up to 1024 consecutive chunks, pushed by a whole warp: lane k keeps the k-th.
template <typename R>
struct fc_chunks {
    typename R::P kept, runs;
    int count;

    __device__ __forceinline__ void start()
    {
        kept = runs = R::identity();
        count = 0;
    }
    __device__ __forceinline__ void push(typename R::P p)
    {
        if ((fc_thread() & 31) == (count & 31)) kept = p;
        if ((++count & 31) == 0) end_run();
    }
    __device__ __forceinline__ void end_run()
    {
        const typename R::P run = fc_pairwise<R>(kept, count & 31 ? count & 31 : 32);
        if ((fc_thread() & 31) == (count - 1) / 32) runs = run;
        kept = R::identity();
    }
    __device__ __forceinline__ typename R::P finish()
    {
        if (count == 1) return fc_of_first_lane(kept);
        if (count & 31) end_run();
        return fc_pairwise<R>(runs, (count + 31) / 32);
    }
};

// The block's total of one result for each warp; every thread gets it. `room` holds 32.
template <typename R>
FC_INLINE typename R::P fc_block_total(typename R::P p, typename R::P *room)
{
    if ((fc_thread() & 31) == 0) room[fc_thread() / 32] = p;
    __syncthreads();
    const int lane = fc_thread() & 31;
    const int warps = fc_threads() / 32;
    return fc_pairwise<R>(lane < warps ? room[lane] : R::identity(), warps);
}

// The total of up to 1024 results `at(0)`, `at(1)`, ... in their order; every thread gets it.
template <typename R, typename F>
FC_INLINE typename R::P fc_total_by(int count, typename R::P *room, F at)
{
    const int lane = fc_thread() & 31, warp = fc_thread() / 32, warps = fc_threads() / 32;
    for (int run = warp; run * 32 < count; run += warps) {
        const int k = run * 32 + lane;
        const typename R::P p = fc_pairwise<R>(k < count ? at(k) : R::identity(), count - run * 32);
        if (lane == 0) room[run] = p;
    }
    __syncthreads();
    return fc_pairwise<R>(lane * 32 < count ? room[lane] : R::identity(), (count + 31) / 32);
}

template <typename R>  // the same of results of other blocks
FC_INLINE typename R::P fc_total_of(const typename R::P *results, int count, typename R::P *room)
{
    __syncthreads();
    return fc_total_by<R>(count, room, [=](int k) { return results[k]; });
}

// True in the last of `blocks` blocks to come here, which then sees what the others have written.
// The counter is zero again afterwards.
FC_INLINE bool fc_last_block(unsigned *arrivals, unsigned blocks)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (fc_thread() == 0) {
        __threadfence();
        last = atomicInc(arrivals, blocks - 1) == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// The total of the row values from `begin`, a multiple of a chunk, to before `end`, by one block.
template <typename R, typename V>
FC_INLINE typename R::P fc_total_of_rows(const V *values, int64_t begin, int64_t end,
                                         typename R::P *room)
{
    const int lane = fc_thread() & 31, warp = fc_thread() / 32, warps = fc_threads() / 32;
    const int64_t all = (end - begin + FC_CHUNK - 1) / FC_CHUNK;
    int64_t each = 1;  // chunks of a warp, a power of two
    while (each * warps < all) each *= 2;
    fc_chunks<R> chunks;
    chunks.start();
    typename R::P p = R::identity();
    auto take = [&](int64_t at, int live) {
        const auto pack = fc_load<FC_GROUP>(values + at, live);
#pragma unroll
        for (int e = 0; e < FC_GROUP; ++e)
            if (e < live) p = R::combine(p, R::leaf(pack.at[e], at + e));
    };
    for (int64_t c = warp * each; c < (warp + 1) * each && c < all; ++c) {
        const int64_t start = begin + c * FC_CHUNK, first = start + lane * FC_GROUP;
        if (start + FC_CHUNK <= end) {
#pragma unroll
            for (int s = 0; s < FC_STEPS; ++s) take(first + s * FC_STEP, FC_GROUP);
        } else {
#pragma unroll 1
            for (int s = 0; s < FC_STEPS; ++s)
                take(first + s * FC_STEP, fc_clamp(end - first - s * FC_STEP, FC_GROUP));
        }
        chunks.push(fc_fold<R>(p, 32));
        p = R::identity();
    }
    __syncthreads();
    return fc_block_total<R>(chunks.finish(), room);
}
