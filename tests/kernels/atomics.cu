// Atomic operations on global and shared memory, locks, and flags between threads.
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void histogram(const u32* x, u32* bins, int n) {
    __shared__ u32 s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i] & 63], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

extern "C" __global__ void atomic_kinds(const u32* x, u32* r, u64* w, int* s, float* f, double* d) {
    const u32 v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicMin(&r[0], v); atomicMax(&r[1], v); atomicAnd(&r[2], v | 0xff); atomicOr(&r[3], v & 0xff00);
    atomicXor(&r[4], v); atomicInc(&r[5], 40); atomicDec(&r[6], 40); atomicSub(&r[7], v);
    atomicAdd(&w[0], (u64)v * v); atomicMax(&w[1], (u64)v << 20); atomicXor(&w[2], (u64)v * 0x100000001ull);
    atomicMin(&s[0], (int)v); atomicMax(&s[1], (int)v); atomicAdd(&s[2], (int)v);
    atomicAdd(&f[0], (float)(v & 63)); atomicAdd(&d[0], (double)(v & 1023));
}

extern "C" __global__ void tickets(u32* next, u32* seen) {
    const u32 ticket = atomicAdd(next, 1u);
    seen[ticket] = 1 + atomicExch(&seen[ticket], 7u);
}

extern "C" __global__ void spin_lock(int* lock, int* total) {
    if ((threadIdx.x & 31) == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        *(volatile int*)total += blockIdx.x + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

extern "C" __global__ void flag_between_warps(volatile int* flag, volatile int* data, int* out) {
    // The first warp waits for the second.
    if (threadIdx.x < 32) {
        while (*flag == 0) {}
        __threadfence();
        out[threadIdx.x] = data[threadIdx.x];
    } else {
        data[threadIdx.x - 32] = threadIdx.x * 3;
        __threadfence();
        __syncwarp();
        if (threadIdx.x == 32) *flag = 1;
    }
}

extern "C" __global__ void last_block(const u32* x, u32* partial, u32* done, u32* out) {
    __shared__ bool last;
    u32 v = x[blockIdx.x * 32 + threadIdx.x];
    v = __reduce_add_sync(~0u, v);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        u32 sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += ((volatile u32*)partial)[i];
        *out = sum;
    }
}
