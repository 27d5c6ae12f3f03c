// Compactions: tiles of elements, or of rows, of which a mask picks some. Blocks take tiles in the
// order in which they start, so that what a tile waits for has started before it.

enum { FC_PICKS = 8, FC_TILE_THREADS = 256 };
#define FC_OWN (1ull << 62)  // a state that tells what its tile has picked,
#define FC_ALL (1ull << 63)  // or what that and all tiles before it have

// The number of this block among those that have started; after all of them the counter is zero.
FC_INLINE unsigned fc_ticket(unsigned *tickets, unsigned blocks)
{
    __shared__ unsigned ticket;
    if (fc_thread() == 0) ticket = atomicInc(tickets, blocks - 1);
    __syncthreads();
    return ticket;
}

// How many the tiles before `tile` have picked, which has `count` itself; for a warp. A state is one
// word, so that nobody sees half of it.
FC_INLINE int64_t fc_picked_before(uint64_t *all_states, int64_t tile, unsigned count)
{
    volatile uint64_t *const states = all_states;
    const int lane = fc_thread() & 31;
    int64_t before = 0;
    if (lane == 0 && tile) states[tile] = FC_OWN | count;
    for (int64_t last = tile - 1; last >= 0; last -= 32) {
        uint64_t state = FC_ALL;  // in front of the first tile there is nothing
        if (last >= lane)
            do state = states[last - lane];
            while (!state);
        const unsigned ends = __ballot_sync(FC_WARP, (state & FC_ALL) != 0);
        const bool counts = !ends || lane < __ffs((int)ends);
        const long long own = counts ? (long long)(state & (FC_OWN - 1)) : 0;
        before += fc_fold<fc_sum<long long>>(own, 32);
        if (ends) break;
    }
    if (lane == 0) states[tile] = FC_ALL | (uint64_t)(before + count);
    return before;
}

// Where what a tile has picked goes. Element k of thread t is the (k * 256 + t)-th of the tile.
struct fc_tile {
    unsigned within[FC_PICKS * FC_TILE_THREADS / 32];  // picked before each 32, in this tile
    unsigned count;
    int64_t first;
};

// Fills `tile`, for all threads; bit k of `picked` tells of a thread's element k.
FC_INLINE void fc_pick(fc_tile &tile, unsigned picked, uint64_t *states, int64_t number)
{
    const int lane = fc_thread() & 31, warp = fc_thread() / 32;
    enum { WARPS = FC_TILE_THREADS / 32, EACH = FC_PICKS * WARPS / 32 };
#pragma unroll
    for (int k = 0; k < FC_PICKS; ++k) {
        const unsigned those = __ballot_sync(FC_WARP, picked >> k & 1);
        if (lane == 0) tile.within[k * WARPS + warp] = __popc(those);
    }
    __syncthreads();
    if (warp == 0) {
        unsigned own[EACH], sum = 0;
#pragma unroll
        for (int i = 0; i < EACH; ++i) sum += own[i] = tile.within[lane * EACH + i];
        unsigned through = sum;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const unsigned other = __shfl_up_sync(FC_WARP, through, step);
            if (lane >= step) through += other;
        }
        unsigned at = through - sum;
#pragma unroll
        for (int i = 0; i < EACH; ++i) tile.within[lane * EACH + i] = at, at += own[i];
        const unsigned count = __shfl_sync(FC_WARP, through, 31);
        const int64_t first = fc_picked_before(states, number, count);
        if (lane == 0) tile.count = count, tile.first = first;
    }
    __syncthreads();
}

// How many the tile has picked in front of the thread's element k; for whole warps.
FC_INLINE unsigned fc_within(const fc_tile &tile, unsigned picked, int k)
{
    const int lane = fc_thread() & 31, warp = fc_thread() / 32;
    const unsigned those = __ballot_sync(FC_WARP, picked >> k & 1);
    return tile.within[k * (FC_TILE_THREADS / 32) + warp] + __popc(those & ((1u << lane) - 1));
}

// The last block to come here leaves the states zero for the next launch.
FC_INLINE void fc_forget(uint64_t *states, int64_t tiles, unsigned *finished, unsigned blocks)
{
    if (!fc_last_block(finished, blocks)) return;
    for (int64_t i = fc_thread(); i < tiles; i += FC_TILE_THREADS) states[i] = 0;
}
