// Corners: a warpgroup and a warp in one block, atomics of 16 bytes, bit-fields, a loop of compare-and-swap, grid.sync().
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void wait(u32 bar, u32 parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}"
        :: "r"(bar), "r"(parity) : "memory");
}
__device__ u64 descriptor(u32 address) {  // 128-byte swizzle, rows of 128 bytes
    return (u64)(address >> 4 & 0x3fff) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}

// The fifth warp copies 64 rows of A and 8 of B, 128 bytes each, for the warpgroup: a block of 160 threads.
extern "C" __global__ void __launch_bounds__(160) producer_warp(const unsigned char* in, float* out, int steps) {
    __shared__ __align__(1024) unsigned char tiles[72 * 128];
    __shared__ u64 full, empty;
    const int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&full)) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(shared_address(&empty)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    in += blockIdx.x * steps * sizeof(tiles);
    if (t >= 128) {
        for (int i = 0; t == 128 && i < steps; ++i) {
            wait(shared_address(&empty), i + 1 & 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                :: "r"(shared_address(&full)), "n"(sizeof(tiles)) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                :: "r"(shared_address(tiles)), "l"(in + i * sizeof(tiles)), "n"(sizeof(tiles)), "r"(shared_address(&full)) : "memory");
        }
        return;
    }
    float d[4] = {};
    for (int i = 0; i < steps; ++i) {
        wait(shared_address(&full), i & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < 4; ++k)
            asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                : "l"(descriptor(shared_address(tiles) + 32 * k)), "l"(descriptor(shared_address(tiles) + 8192 + 32 * k)));
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(&empty)) : "memory");
    }
    for (int i = 0; i < 4; ++i) out[(blockIdx.x * 128 + t) * 4 + i] = d[i];
}

struct __align__(16) Pair { u64 low, high; };

extern "C" __global__ void wide_swaps(Pair* x, Pair* out) {
    const int i = threadIdx.x;
    Pair old = x[0];
    for (Pair seen; i % 16 == 0; old = seen) {
        seen = atomicCAS(x, old, Pair{old.low + i + 1, old.high + 1});
        if (seen.low == old.low && seen.high == old.high) break;
    }
    out[i] = atomicExch(x + 1 + i, Pair{(u64)i, ~(u64)i});
}

struct Fields { u32 a : 3; int b : 7; u32 c : 12; u64 d : 40; signed char e : 4; };

extern "C" __global__ void bit_fields(const u32* x, u64* out, double* sum) {
    const u32 v = x[threadIdx.x];
    Fields f;
    f.a = v, f.b = v >> 3, f.c = v >> 7, f.d = (u64)v * v, f.e = v >> 9;
    f.b += 5, f.c *= 3, f.d -= v;
    out[threadIdx.x] = f.a + f.b * 3 + f.c * 5 + f.d * 7 + f.e * 11;
    u64* place = (u64*)sum;  // as the CUDA guide adds doubles
    u64 old = *place, assumed;
    do {
        assumed = old;
        old = atomicCAS(place, assumed, __double_as_longlong(__longlong_as_double(assumed) + (v & 1023)));
    } while (assumed != old);
}

// What grid.sync() of cooperative groups does: blocks count in a word that a cooperative launch brings.
__device__ void grid_sync() {
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 high, low;
        asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
        asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
        volatile u32* arrived = (volatile u32*)(((u64)high << 32 | low) + 4);
        const u32 step = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1);
        __threadfence();
        const u32 before = atomicAdd((u32*)arrived, step);
        while (((before ^ *arrived) & 0x80000000u) == 0) {}
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void relaxation(int* a, int* b, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int s = 0; s < steps; ++s) {
        b[i] = a[(i + 1) % n] - a[(i + n - 1) % n] + 2 * a[i];
        grid_sync();
        int* other = a;
        a = b, b = other;
    }
}
