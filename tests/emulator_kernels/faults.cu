// Kernels with one planted fault each.

struct alignas(16) Quad { float v[4]; };

extern "C" __global__ void shifted(const float *x, float *y, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i + by];
}

extern "C" __global__ void no_tail(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}

extern "C" __global__ void vector_copy(const float *x, float *y) {
    reinterpret_cast<Quad *>(y)[threadIdx.x] = reinterpret_cast<const Quad *>(x)[threadIdx.x];
}

extern "C" __global__ void no_barrier(const float *x, float *y) {
    __shared__ float kept[64];
    kept[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = kept[threadIdx.x ^ 1];
}

extern "C" __global__ void no_second_barrier(const float *x, float *y) {
    __shared__ float kept[64];
    for (int k = 0; k < 2; k++) {
        kept[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = kept[threadIdx.x ^ 33];
    }
}

// A shuffle does not order memory.
extern "C" __global__ void shuffle_for_barrier(float *y) {
    __shared__ float kept[32];
    kept[threadIdx.x] = 1.0f;
    float v = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
    y[threadIdx.x] = kept[threadIdx.x ^ 1] + v;
}

// __syncwarp orders a warp, not the block.
extern "C" __global__ void syncwarp_for_barrier(float *y) {
    __shared__ float kept[64];
    kept[threadIdx.x] = 1.0f;
    __syncwarp();
    y[threadIdx.x] = kept[threadIdx.x ^ 32];
}

extern "C" __global__ void unwritten(float *y, int n) {
    __shared__ float kept[64];
    if (threadIdx.x < n) kept[threadIdx.x] = 1.0f;
    __syncthreads();
    y[threadIdx.x] = kept[threadIdx.x];
}

extern "C" __global__ void unwritten_dynamic(unsigned char *y) {
    extern __shared__ unsigned char room[];
    if (threadIdx.x > 0) room[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = room[threadIdx.x];
}

extern "C" __global__ void outside_dynamic(int *y) {
    extern __shared__ unsigned char room[];
    reinterpret_cast<int *>(room)[threadIdx.x] = 1;
    y[threadIdx.x] = 1;
}

extern "C" __global__ void outside_shared(float *y, int n) {
    __shared__ float kept[32];
    for (int i = 0; i <= n; i++) kept[i] = 1.0f;
    y[0] = kept[0];
}

extern "C" __global__ void wrong_mask(int *y) {
    if (threadIdx.x < 16) y[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1, 1);
    else __syncthreads();
}

extern "C" __global__ void mask_of_others(int *y) {
    y[threadIdx.x] = __ballot_sync(0x0000ffffu, 1);
}

extern "C" __global__ void mask_of_returned(int *y) {
    if (threadIdx.x < 4) return;
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
}

extern "C" __global__ void lane_outside_mask(int *y) {
    if (threadIdx.x < 8) y[threadIdx.x] = __shfl_xor_sync(0xffu, 1, 8);
}

extern "C" __global__ void two_barriers(int *y) {
    if (threadIdx.x < 32) {
        __syncthreads();
        y[threadIdx.x] = 1;
    } else {
        y[threadIdx.x] = 2;
        __syncthreads();
    }
}

extern "C" __global__ void barrier_and_shuffle(int *y) {
    if (threadIdx.x < 33) __syncthreads();
    else y[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 1);
}

extern "C" __global__ void same_word(int *y) { *y = blockIdx.x; }

extern "C" __global__ void no_fence(const float *x, float *out, float *parts, unsigned *counter) {
    parts[blockIdx.x] = x[blockIdx.x];
    if (atomicInc(counter, gridDim.x - 1) != gridDim.x - 1) return;
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += parts[i];
    *out = sum;
}

extern "C" __global__ void fence_too_early(const float *x, float *out, float *parts, unsigned *counter) {
    __threadfence();
    parts[blockIdx.x] = x[blockIdx.x];
    if (atomicInc(counter, gridDim.x - 1) != gridDim.x - 1) return;
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += parts[i];
    *out = sum;
}

extern "C" __global__ void block_fence(const float *x, float *out, float *parts, unsigned *counter) {
    parts[blockIdx.x] = x[blockIdx.x];
    __threadfence_block();
    if (atomicInc(counter, gridDim.x - 1) != gridDim.x - 1) return;
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += parts[i];
    *out = sum;
}

// Only thread 0's own writes are fenced: nothing orders its block's before its fence.
extern "C" __global__ void fence_of_one(const float *x, float *out, float *parts, unsigned *counter) {
    __shared__ bool last;
    parts[blockIdx.x * 32 + threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last || threadIdx.x) return;
    float sum = 0;
    for (int i = 0; i < 32 * gridDim.x; i++) sum += parts[i];
    *out = sum;
}

// The last block, but not all of its threads: no barrier brings the others what thread 0 saw.
extern "C" __global__ void seen_by_one(const float *x, float *out, float *parts, unsigned *counter) {
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = x[blockIdx.x];
        __threadfence();
        atomicInc(counter, gridDim.x - 1);
    }
    if (threadIdx.x == 31) out[blockIdx.x] = parts[0];
}

extern "C" __global__ void plain_counter(int *y) {
    if (threadIdx.x == 0) *y = 0;
    atomicAdd(y, 1);
}

extern "C" __global__ void neighbour(float *y) {
    y[threadIdx.x] = y[threadIdx.x ^ 1] + 1.0f;
}

extern "C" __global__ void wait_for_next(volatile int *flags) {
    flags[blockIdx.x] = 1;
    while (flags[(blockIdx.x + 1) % gridDim.x] == 0) {}
}

extern "C" __global__ void divide(const int *x, int *y) { y[0] = x[0] / x[1]; }

extern "C" __global__ void wild(int *y, const int *pointer) { y[0] = pointer[0]; }
