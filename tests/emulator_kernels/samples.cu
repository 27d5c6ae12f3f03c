// Kernels that are right, in the ways that reductions, tiles and vector code are usually written.

template <typename T, int N> struct alignas(sizeof(T) * N) Vec { T v[N]; };
struct Shape { int rows, columns; float scale; };

extern "C" __global__ void saxpy(float a, const float *__restrict__ x, float *__restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __fadd_rn(__fmul_rn(a, x[i]), y[i]);
}

// 16 bytes at a time, and the rest one by one.
extern "C" __global__ void __launch_bounds__(128) scale_vec(const float *x, float *y, float a, int n) {
    typedef Vec<float, 4> V;
    int i = blockIdx.x * blockDim.x + threadIdx.x, whole = n / 4;
    if (i < whole) {
        V v = reinterpret_cast<const V *>(x)[i];
#pragma unroll
        for (int k = 0; k < 4; k++) v.v[k] *= a;
        reinterpret_cast<V *>(y)[i] = v;
    }
    if (i < n - 4 * whole) y[4 * whole + i] = x[4 * whole + i] * a;
}

extern "C" __global__ void copy_float4(const float4 *x, float4 *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        __stcs(y + i, __ldcs(x + i));
}

template <typename T> __device__ __forceinline__ T warp_sum(T v) {
    for (int by = 16; by > 0; by >>= 1) v += __shfl_xor_sync(0xffffffffu, v, by);
    return v;
}

template <typename T> __device__ T block_sum(T v) {
    __shared__ T parts[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    v = warp_sum(v);
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : T(0);
    if (warp == 0) v = warp_sum(v);
    __syncthreads();
    return v;
}

extern "C" __global__ void row_sum(const double *x, double *out, int columns) {
    double sum = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        sum += x[(long long)blockIdx.x * columns + c];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// The block that ends last adds up what all blocks left; the counter returns to zero.
extern "C" __global__ void full_sum(const float *x, float *out, float *parts, unsigned *counter, int n) {
    __shared__ bool last;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = sum;
}

// All threads leave a partial each; every writer fences before the barrier.
extern "C" __global__ void column_sum(const int *x, int *out, int *parts, unsigned *counter, int rows) {
    __shared__ unsigned ticket;
    int c = threadIdx.x, sum = 0;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) sum += x[r * blockDim.x + c];
    parts[blockIdx.x * blockDim.x + c] = sum;
    __threadfence();
    __syncthreads();
    if (c == 0) ticket = atomicAdd(counter, 1u);
    __syncthreads();
    if (ticket != gridDim.x - 1) return;
    sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += parts[b * blockDim.x + c];
    out[c] = sum;
}

// One thread fences for its block, behind the barrier, and resets the counter with a plain write.
extern "C" __global__ void column_max(const int *x, int *out, int *parts, unsigned *counter, int rows) {
    __shared__ unsigned ticket;
    int c = threadIdx.x, most = x[blockIdx.x * blockDim.x + c];
    for (int r = blockIdx.x; r < rows; r += gridDim.x) most = max(most, x[r * blockDim.x + c]);
    parts[blockIdx.x * blockDim.x + c] = most;
    __syncthreads();
    if (c == 0) {
        __threadfence();
        ticket = atomicAdd(counter, 1u);
    }
    __syncthreads();
    if (ticket != gridDim.x - 1) return;
    for (int b = 0; b < gridDim.x; b++) most = max(most, parts[b * blockDim.x + c]);
    out[c] = most;
    if (c == 0) *counter = 0;
}

extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns) {
    __shared__ float tile[16][17];
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r < rows && c < columns) tile[threadIdx.y][threadIdx.x] = x[r * columns + c];
    __syncthreads();
    r = blockIdx.y * 16 + threadIdx.x, c = blockIdx.x * 16 + threadIdx.y;
    if (r < rows && c < columns) y[c * rows + r] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void plane(int *out, const __grid_constant__ Shape shape) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < shape.rows && c < shape.columns) out[r * shape.columns + c] = (int)(shape.scale * r) + c;
}

extern "C" __global__ void square_in_place(const long long *x, long long *y, unsigned long long n) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}

extern "C" __global__ void reverse_dynamic(const unsigned char *x, unsigned char *y, int n) {
    extern __shared__ __align__(16) unsigned char room[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) room[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = room[n - 1 - i];
}

// Threads without work return before the barrier, as CUDA allows.
extern "C" __global__ void early_return(const int *x, int *y, int n) {
    __shared__ int kept[64];
    if (threadIdx.x >= n) return;
    kept[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = kept[n - 1 - threadIdx.x];
}

__constant__ float WEIGHTS[3] = {0.25f, 0.5f, 0.25f};

extern "C" __global__ void smooth(const float *x, float *y, int stride, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = -1; k <= 1; k++)
        sum += WEIGHTS[k + 1] * x[(long long)min(max(i + k, 0), n - 1) * stride];
    y[i] = sum;
}

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins, int n) {
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[x[i]], 1u);
    __syncthreads();
    if (mine[threadIdx.x]) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

// Groups of eight lanes share memory under __syncwarp of their own mask, and vote.
extern "C" __global__ void groups(const int *x, int *y, int *votes) {
    __shared__ int kept[64];
    int t = threadIdx.x, lane = t & 31;
    unsigned mask = 0xffu << (lane & 24);
    kept[t] = x[t];
    __syncwarp(mask);
    int sum = kept[t ^ 7];
    for (int by = 4; by; by >>= 1) sum = max(sum, __shfl_down_sync(mask, sum, by, 8));
    y[t] = __shfl_sync(mask, sum, 0, 8);
    unsigned odd = __ballot_sync(0xffffffffu, x[t] & 1);
    int some = __any_sync(0xffffffffu, x[t] > 90), all = __all_sync(0xffffffffu, x[t] >= 0);
    int count = __syncthreads_count(x[t] & 1);
    votes[t] = __popc(odd) + 100 * some + 1000 * all + 10000 * count;
}

extern "C" __global__ void functions(const float *x, const double *d, float *y, double *e, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    y[i] = isnan(x[i]) ? -1.0f : fmaf(sqrtf(fabsf(x[i])), 2.0f, erff(x[i]));
    e[i] = __dadd_rn(lgamma(fabs(d[i]) + 1.0), __longlong_as_double(__double_as_longlong(d[i]))) +
           __umulhi(0x80000000u, 6u) + __clz(i) + (double)sin(x[0]);
}

// A chain of blocks in the order of their tickets: each hands its running sum to the next.
extern "C" __global__ void chain(const int *x, int *y, volatile int *sums, volatile int *flags, int *tickets) {
    __shared__ int ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1);
    __syncthreads();
    if (threadIdx.x != 0) return;
    int sum = x[ticket];
    if (ticket > 0) {
        while (flags[ticket - 1] == 0) {}
        __threadfence();
        sum += sums[ticket - 1];
    }
    sums[ticket] = sum;
    __threadfence();
    flags[ticket] = 1;
    y[ticket] = sum;
}
