// Scans: running sums and products of a row that one warp takes step by step, in the order of
// graph/tree.py. What is in front of an element is what chunks before its own have, with the steps
// before its own in the chunk and the lanes before its own in the step, and the lane's neighbours.

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

template <typename R>
struct fc_scan {
    typedef typename R::P P;
    P chunks, steps;  // all chunks before, and the steps before of this one

    // What the lane `by` before has, and the last one.
    static __device__ __forceinline__ P up(P p, int by)
    {
        return fc_moved(p, [by](unsigned w) { return __shfl_up_sync(FC_WARP, w, by); });
    }
    static __device__ __forceinline__ P of_last_lane(P p)
    {
        return fc_moved(p, [](unsigned w) { return __shfl_sync(FC_WARP, w, 31); });
    }
    __device__ __forceinline__ void start() { chunks = steps = R::identity(); }
    // The next step: four neighbours of each lane become what the row has up to each.
    __device__ __forceinline__ void step(P *v)
    {
        const int lane = fc_thread() & 31;
#pragma unroll
        for (int e = 1; e < FC_GROUP; ++e) v[e] = R::combine(v[e - 1], v[e]);
        P lanes = v[FC_GROUP - 1];
#pragma unroll
        for (int by = 1; by < 32; by *= 2) {
            const P other = up(lanes, by);
            if (lane >= by) lanes = R::combine(other, lanes);
        }
        const P last = up(lanes, 1);
        P before = R::combine(steps, lane ? last : R::identity());
        before = R::combine(chunks, before);
#pragma unroll
        for (int e = 0; e < FC_GROUP; ++e) v[e] = R::combine(before, v[e]);
        steps = R::combine(steps, of_last_lane(lanes));
    }
    __device__ __forceinline__ void end_chunk()
    {
        chunks = R::combine(chunks, steps);
        steps = R::identity();
    }
};
