// Clusters: blocks that run at the same time and see each other's shared memory, on devices of
// compute capability 9.0 and later. What one tells the others lies in its shared memory, so none
// may end before all have read it.

#ifdef __CUDACC_VER_MAJOR__
#if __CUDA_ARCH__ >= 900
#define FC_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)
FC_INLINE void fc_cluster_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
FC_INLINE void fc_cluster_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
template <typename T>
FC_INLINE const T *fc_of_rank(const T *own, unsigned rank)
{
    uint64_t there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
    return reinterpret_cast<const T *>(there);
}
#else  // such a kernel is launched nowhere
#define FC_CLUSTER(blocks)
FC_INLINE void fc_cluster_arrive() { __trap(); }
FC_INLINE void fc_cluster_wait() {}
template <typename T>
FC_INLINE const T *fc_of_rank(const T *own, unsigned) { return own; }
#endif
#else
#define FC_CLUSTER(blocks)
FC_INLINE void fc_cluster_arrive() { emu_cluster_arrive(); }
FC_INLINE void fc_cluster_wait() { emu_cluster_wait(); }
template <typename T>
FC_INLINE const T *fc_of_rank(const T *own, unsigned rank) { return (const T *)emu_of_rank(own, rank); }
#endif

// The threads of all BLOCKS that share a row meet, and see what each other has told.
template <int BLOCKS>
FC_INLINE void fc_meet()
{
    if (BLOCKS == 1) {
        __syncthreads();
    } else {
        fc_cluster_arrive();
        fc_cluster_wait();
    }
}

// The total of the `count` chunks of a row, up to 1024, of which each block has told its `own`.
template <typename R, int BLOCKS>
FC_INLINE typename R::P fc_total_told(const typename R::P *told, int own, int count,
                                      typename R::P *room)
{
    return fc_total_by<R>(count, room, [=](int k) {
        const int rank = BLOCKS == 1 ? 0 : k / own;
        const typename R::P *const at = told + (k - rank * own);
        return BLOCKS == 1 ? *at : *fc_of_rank(at, rank);
    });
}
