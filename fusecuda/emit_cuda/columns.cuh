// Columns: a thread combines chunks by itself, and the threads of a column meet in shared memory.

// Chunks combined pairwise by a single thread: fewer than 1 << LEVELS.
template <typename R, int LEVELS>
struct fc_stack {
    typename R::P level[LEVELS];
    int count;

    __device__ __forceinline__ void start() { count = 0; }
    __device__ __forceinline__ void push(typename R::P p)
    {
        bool placed = false;
#pragma unroll
        for (int k = 0; k < LEVELS; ++k) {
            if (placed) continue;
            if (count >> k & 1) {
                p = R::combine(level[k], p);
            } else {
                level[k] = p;
                placed = true;
            }
        }
        ++count;
    }
    __device__ __forceinline__ typename R::P finish()
    {
        typename R::P p = R::identity();
        bool any = false;
#pragma unroll
        for (int k = 0; k < LEVELS; ++k)
            if (count >> k & 1) {
                p = any ? R::combine(level[k], p) : level[k];
                any = true;
            }
        return p;
    }
};

// What the up to eight threads of a column have put into `room`.
template <typename R>
FC_INLINE void fc_of_column(const typename R::P *room, typename R::P (&p)[8])
{
#pragma unroll
    for (int k = 0; k < 8; ++k)
        p[k] = k < blockDim.y ? room[k * blockDim.x + threadIdx.x] : R::identity();
}

// The lanes of a chunk of a column folded in halves: lane k of up to 8 is that of thread y == k.
template <typename R>
FC_INLINE typename R::P fc_fold_column(const typename R::P *room)
{
    typename R::P p[8];
    fc_of_column<R>(room, p);
#pragma unroll
    for (int half = 4; half; half /= 2)
#pragma unroll
        for (int k = 0; k < half; ++k) p[k] = R::combine(p[k], p[k + half]);
    return p[0];
}

// Eight neighbours combined pairwise.
template <typename R>
FC_INLINE typename R::P fc_pairs(typename R::P (&p)[8])
{
#pragma unroll
    for (int step = 1; step < 8; step *= 2)
#pragma unroll
        for (int k = 0; k < 8; k += 2 * step) p[k] = R::combine(p[k], p[k + step]);
    return p[0];
}

// The total of `count` results `at(0)`, `at(1)`, ... for the column of a thread. Each of a column's
// threads takes a power of two of neighbours, eight at a time under way; all get the total. `stack`
// has been used up, `room` holds one for each thread.
template <typename R, typename S, typename F>
FC_INLINE typename R::P fc_total_of_column(int count, S &stack, typename R::P *room, F at)
{
    int each = 1;
    while (each * (int)blockDim.y < count) each *= 2;
    const int first = threadIdx.y * each;
    typename R::P p[8];
    stack.start();
    for (int from = 0; from < each && first + from < count; from += 8) {
#pragma unroll
        for (int k = 0; k < 8; ++k)
            p[k] = from + k < each && first + from + k < count ? at(first + from + k) : R::identity();
        stack.push(fc_pairs<R>(p));
    }
    room[fc_thread()] = stack.finish();
    __syncthreads();
    fc_of_column<R>(room, p);
    return fc_pairs<R>(p);
}

// The same of results of other blocks, which lie `step` apart.
template <typename R, typename I, typename S>
FC_INLINE typename R::P fc_total_of_parts(const typename R::P *results, I step, int count, S &stack,
                                          typename R::P *room)
{
    return fc_total_of_column<R>(count, stack, room, [=](int k) { return results[k * step]; });
}

// The same of the `count` chunks of a column, of which each block of a cluster has told its `own`.
template <typename R, typename S>
FC_INLINE typename R::P fc_total_of_cluster(const typename R::P *told, int own, int count, S &stack,
                                            typename R::P *room)
{
    return fc_total_of_column<R>(count, stack, room, [=](int k) {
        const int rank = k / own;
        return *fc_of_rank(told + (k - rank * own) * (int)blockDim.x + threadIdx.x, rank);
    });
}
