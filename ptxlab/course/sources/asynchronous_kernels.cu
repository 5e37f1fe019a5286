typedef unsigned u32;
typedef unsigned long long u64;
#define PART __device__ __forceinline__
PART u32 address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
PART void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
PART void cp_async_bulk(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
        :: "l"(to), "r"(address(from)), "r"(bytes) : "memory"); }
PART void cp_async_bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
PART void cp_async_bulk_wait_group() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
PART int place(int row, int half) { return row / 8 * 16 + half * 8 + row % 8; }
PART u64 descriptor(const void* tile) { return (u64)(address(tile) >> 4) | (u64)8 << 16 | (u64)16 << 32; }
PART void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
PART void wgmma(float* d, u64 a, u64 b) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory"); }
PART void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
PART void wgmma_wait_group() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
typedef u64 mbarrier;
struct alignas(64) TensorMap { char bytes[128]; };
#include "mbarrier.cuh"
PART void cp_async_bulk(void* to, const void* from, int bytes, mbarrier* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :: "r"(address(to)), "l"(from), "r"(bytes), "r"(address(bar)) : "memory"); }

extern "C" __global__ void bulk_store(const f16* A, const f16* B, float* D) {
    __shared__ __align__(128) float tile[16 * 8];
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    load_a(a, A, 16);
    load_b(b, B, 16);
    mma(d, a, b);
    store_d(d, tile, 8);
    __syncwarp();
    if (threadIdx.x == 0) {
        cp_async_bulk(D, tile, sizeof(tile));  // to global memory
        cp_async_bulk_commit_group();
        cp_async_bulk_wait_group();
    }
}

extern "C" __global__ void warpgroup(const int4* A, const int4* B, float* D) {
    __shared__ __align__(128) int4 tile_a[64 * 2], tile_b[8 * 2];  // vectors of 8 elements
    float d[4] = {0, 0, 0, 0};
    int row = threadIdx.x % 64, half = threadIdx.x / 64;
    tile_a[place(row, half)] = A[row * 2 + half];
    if (row < 8)
        tile_b[place(row, half)] = B[row * 2 + half];
    fence_proxy_async();
    __syncthreads();
    wgmma_fence();
    wgmma(d, descriptor(tile_a), descriptor(tile_b));
    wgmma_commit_group();
    store_d(d, D + threadIdx.x / 32 * 16 * 8, 8);
    wgmma_wait_group();
}

extern "C" __global__ void rescaled(const int4* A, const int4* B, float* D) {  // D = A B / 2 + A B
    __shared__ __align__(128) int4 tile_a[64 * 2], tile_b[8 * 2];
    float d[4] = {0, 0, 0, 0};
    int row = threadIdx.x % 64, half = threadIdx.x / 64;
    tile_a[place(row, half)] = A[row * 2 + half];
    if (row < 8)
        tile_b[place(row, half)] = B[row * 2 + half];
    fence_proxy_async();
    __syncthreads();
    wgmma_fence();
    wgmma(d, descriptor(tile_a), descriptor(tile_b));
    wgmma_commit_group();
    wgmma_wait_group();
    for (int r = 0; r < 4; r++)
        d[r] *= 0.5f;
    wgmma(d, descriptor(tile_a), descriptor(tile_b));
    wgmma_commit_group();
    wgmma_wait_group();
    store_d(d, D + threadIdx.x / 32 * 16 * 8, 8);
}

extern "C" __global__ void two_boxes(const __grid_constant__ TensorMap A,
                                     const __grid_constant__ TensorMap B, float* D) {
    __shared__ __align__(128) f16 tile_a[16 * 16], tile_b[8 * 16];  // 512 and 256 bytes
    __shared__ mbarrier full;
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect_tx(&full, sizeof(tile_a));
        tma_load(tile_a, A, 0, 0, &full);
        tma_load(tile_b, B, 0, 0, &full);
    }
    __syncwarp();
    mbarrier_wait(&full, 0);
    load_a(a, tile_a, 16);
    load_b(b, tile_b, 16);
    mma(d, a, b);
    store_d(d, D, 8);
}

extern "C" __global__ void pieces(const float* x, float* y, int n) {  // y = 2 x
    __shared__ __align__(128) float piece[64];
    __shared__ mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    for (int i = 0; i < n; i += 64) {
        int count = min(64, n - i);
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect_tx(&full, sizeof(piece));
            cp_async_bulk(piece, x + i, count * 4, &full);
        }
        mbarrier_wait(&full, i / 64 % 2);
        if (threadIdx.x < count)
            y[i + threadIdx.x] = 2 * piece[threadIdx.x];
        __syncthreads();
    }
}

extern "C" __global__ void one_barrier(const __grid_constant__ TensorMap A, const f16* B, float* D, int K) {
    __shared__ __align__(128) f16 tile[16 * 16];
    __shared__ mbarrier full;
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncwarp();
    for (int k = 0; k < K; k += 16) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect_tx(&full, sizeof(tile));
            tma_load(tile, A, k, 0, &full);
        }
        mbarrier_wait(&full, 0);
        load_a(a, tile, 16);
        load_b(b, B + k, K);
        mma(d, a, b);
        __syncwarp();
    }
    store_d(d, D, 8);
}

extern "C" __global__ void ring(const __grid_constant__ TensorMap A, const f16* B, float* D, int K) {
    __shared__ __align__(128) f16 tile[2][16 * 16];
    __shared__ mbarrier full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], 32);
        }
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 32)  // the producer
        for (int i = 0; i < K / 16; i++) {
            int s = i % 2;
            mbarrier_wait(&empty[s], i / 2 % 2);
            mbarrier_arrive_expect_tx(&full[s], sizeof(tile[s]));
            tma_load(tile[s], A, 16 * i, 0, &full[s]);
        }
    if (threadIdx.x < 32) {  // the consumers
        unsigned a[4], b[2];
        float d[4] = {0, 0, 0, 0};
        for (int i = 0; i < K / 16; i++) {
            int s = i % 2;
            mbarrier_wait(&full[s], i / 2 % 2);
            load_a(a, tile[s], 16);
            load_b(b, B + 16 * i, K);
            mma(d, a, b);
            mbarrier_arrive(&empty[s]);
        }
        store_d(d, D, 8);
    }
}
