// Scans: running sums and products of a row that one warp takes step by step, in the order of
// graph/tree.py. What is in front of an element is what chunks before its own have, with the steps
// before its own in the chunk and the lanes before its own in the step, and the lane's neighbours.

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

// Tells the tiles behind what one, or a group, comes to.
template <typename P>
FC_INLINE void fc_tell(P value, P *total, volatile uint64_t *state)
{
    *total = value;
    __threadfence();
    *state = 1;
}

// What comes before tile `at` of the `count` of a row, which comes to `own`; for a warp. A tile tells
// what it comes to, and the last one of each 32 what these come to, of each 32 of those, and so on:
// `totals` has them one level behind the other, which are there where `all_states` says so. No tile
// waits for one that has not started; each has been told by another warp before it waits. The order
// is that of graph/tree.py.
template <typename R, typename I>
FC_INLINE typename R::P fc_tiles_before(typename R::P own, I at, I count, uint64_t *all_states,
                                        typename R::P *totals)
{
    typedef typename R::P P;
    volatile uint64_t *states = all_states;
    const int lane = fc_thread() & 31;
    P before = R::identity();
    for (bool is_first = true, is_last = true;; is_first = false) {
        const int place = (int)(at & 31);
        P value = own;
        if (lane < place) {
            const I other = at - place + lane;
            while (!states[other]);
            __threadfence();
            value = totals[other];
        } else if (lane == place && is_last && !is_first) {
            fc_tell(own, totals + at, states + at);
        }
#pragma unroll
        for (int by = 1; by < 32; by *= 2) {
            const P other = fc_scan<R>::up(value, by);
            if (lane >= by) value = R::combine(other, value);
        }
        const P behind = fc_moved(value, [place](unsigned w) {
            return __shfl_sync(FC_WARP, w, (place + 31) & 31);
        });
        before = R::combine(place ? behind : R::identity(), before);
        if (count <= 32) return before;
        own = fc_scan<R>::of_last_lane(value);
        is_last = is_last && place == 31;
        states += count, totals += count;
        count = (count + 31) / 32, at /= 32;
    }
}

// What comes before the chunk of this warp, which comes to `own`, in the row of a tile.
template <typename R, typename I>
FC_INLINE typename R::P fc_chunks_before(typename R::P own, I at, I count, uint64_t *states,
                                         typename R::P *totals, typename R::P (&room)[9])
{
    typedef typename R::P P;
    const int warp = fc_thread() / 32;
    if ((fc_thread() & 31) == 0) room[warp] = own;
    __syncthreads();
    P all = room[0];
#pragma unroll
    for (int w = 1; w < 8; ++w) all = R::combine(all, room[w]);
    if (fc_thread() == 32) {
        fc_tell(all, totals + at, states + at);
    } else if (warp == 0) {
        const P before = fc_tiles_before<R>(all, at, count, states, totals);
        if (fc_thread() == 0) room[8] = before;
    }
    __syncthreads();
    P front = R::identity();
    for (int w = 0; w < warp; ++w) front = R::combine(front, room[w]);
    return R::combine(room[8], front);
}
