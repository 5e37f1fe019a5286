// Values exchanged within a warp, and barriers of a block.
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void warp_sum(const int* x, int* out) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step > 0; step >>= 1) v += __shfl_xor_sync(~0u, v, step);
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

extern "C" __global__ void shuffles(const u32* x, u32* out) {
    const int i = threadIdx.x;
    const u32 v = x[i];
    u32 r = __shfl_up_sync(~0u, v, 3) + __shfl_down_sync(~0u, v, 5, 8) * 3 + __shfl_sync(~0u, v, v & 31) * 5;
    r += __shfl_sync(~0u, v, i + 1, 16) * 7;
    const double d = __shfl_xor_sync(~0u, (double)v, 1);
    u32 inside, from;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 7, 0x1f, 0xffffffff; selp.u32 %1, 1, 0, p; }"
        : "=r"(from), "=r"(inside) : "r"(v));
    out[i] = r + (u32)(u64)d + (inside ? from : 12345u);
}

extern "C" __global__ void partial_masks(const u32* x, u32* out) {
    const int i = threadIdx.x, lane = i & 31;
    const u32 v = x[i];
    u32 r;
    if (lane < 12) {
        r = __shfl_sync(0xfffu, v, (lane + 1) % 12) + __ballot_sync(0xfffu, v & 1);
    } else {
        r = __shfl_xor_sync(0xfffff000u, v, 1) ^ __ballot_sync(0xfffff000u, v & 2);
        if (__any_sync(0xfffff000u, v > 0xf0000000u)) r += 9;
    }
    __syncwarp();
    out[i] = r + __popc(__activemask());
}

extern "C" __global__ void votes(const u32* x, u32* out) {
    const int i = threadIdx.x;
    const u32 v = x[i];
    u32 r = __ballot_sync(~0u, v & 4) + __all_sync(~0u, v > 100) + __any_sync(~0u, v > 0xfff00000u) * 2;
    r += __match_any_sync(~0u, v % 5) * 3;
    int agreed;
    r += __match_all_sync(~0u, v > 1000u, &agreed) * 5 + agreed;
    r ^= __reduce_add_sync(~0u, v) + __reduce_min_sync(~0u, v) + __reduce_max_sync(~0u, (int)v);
    r ^= __reduce_and_sync(~0u, v | 0xff) + __reduce_or_sync(~0u, v & 0xff) + __reduce_xor_sync(~0u, v);
    u32 leader;
    asm volatile("{ .reg .pred p; .reg .b32 l; elect.sync l|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(leader));
    out[i] = r + (leader ? 100000u : 0u);
}

extern "C" __global__ void bitonic_sort(u32* data) {
    u32 v = data[threadIdx.x];
    const int lane = threadIdx.x & 31;
    for (int k = 2; k <= 32; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            const u32 other = __shfl_xor_sync(~0u, v, j);
            const bool up = (lane & k) == 0, lower = (lane & j) == 0;
            v = (up == lower) ? min(v, other) : max(v, other);
        }
    data[threadIdx.x] = v;
}

extern "C" __global__ void block_reduce(const float* x, float* out, int n) {
    __shared__ float s[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step >>= 1) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0] + blockIdx.x;
}

extern "C" __global__ void block_scan(const int* x, int* out) {
    __shared__ int s[2][128];
    int t = threadIdx.x, from = 0;
    s[0][t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int d = 1; d < 128; d <<= 1) {
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        from = 1 - from;
        __syncthreads();
    }
    out[blockIdx.x * 128 + t] = s[from][t];
}

extern "C" __global__ void barrier_votes(const int* x, int* out) {
    const int v = x[threadIdx.x];
    const int count = __syncthreads_count(v & 1);
    const int all = __syncthreads_and(v >= 0), any = __syncthreads_or(v > 500);
    out[threadIdx.x] = count * 4 + (all != 0) * 2 + (any != 0);
}

extern "C" __global__ void named_barriers(const int* x, int* out) {
    // The first warp produces for the second: full is barrier 1, empty is barrier 2.
    __shared__ int buffer[32];
    const int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 4; ++i) {
            if (i) asm volatile("bar.sync 2, 64;" ::: "memory");
            buffer[lane] = x[i * 32 + lane] * 3;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        }
    } else {
        for (int i = 0; i < 4; ++i) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[i * 32 + lane] = buffer[31 - lane] + i;
            if (i < 3) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}

extern "C" __global__ void early_exit(const int* x, int* out, int n) {
    __shared__ int s[96];
    const int i = threadIdx.x;
    if (i >= n) return;
    s[i] = x[i];
    __syncthreads();
    out[i] = s[n - 1 - i] + (int)blockDim.x;
}
