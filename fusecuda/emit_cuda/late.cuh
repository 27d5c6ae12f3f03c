// Late stores: tiles of elements that are written when all that read them have done so. What a tile
// shares with the tiles around it waits in memory, and the last block to have read it writes it.

// The tiles of which this block turns out to be the last reader.
struct fc_ready {
    unsigned count;
    int64_t tiles[256];
};

// Forgets the tiles; for all threads, before some of them call fc_arrive.
FC_INLINE void fc_arriving(fc_ready &ready)
{
    __threadfence();
    __syncthreads();
    if (fc_thread() == 0) ready.count = 0;
    __syncthreads();
}

// One of the `readers` of `tile` has read, and left what it shares of its own. A counter is zero
// again when all have come.
FC_INLINE void fc_arrive(fc_ready &ready, unsigned *arrivals, int64_t tile, unsigned readers)
{
    __threadfence();
    if (atomicInc(arrivals + tile, readers - 1) == readers - 1)
        ready.tiles[atomicAdd(&ready.count, 1u)] = tile;
    __threadfence();
}

// How many of the `count` tiles along an axis are at most `reach` from `at`.
template <typename I>
FC_INLINE I fc_around(I at, I reach, I count)
{
    const I first = at < reach ? 0 : at - reach;
    const I last = count - 1 - at < reach ? count - 1 : at + reach;
    return last - first + 1;
}
