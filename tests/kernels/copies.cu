// Asynchronous copies: cp.async groups, bulk copies and TMA with mbarriers.
typedef unsigned int u32;
typedef unsigned long long u64;
struct __align__(64) TensorMap { unsigned char bytes[128]; };

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void barrier_init(u32 bar, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_expect(u32 bar, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory");
}
__device__ __forceinline__ void barrier_wait(u32 bar, u32 parity) {
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(bar), "r"(parity) : "memory");
}

extern "C" __global__ void async_pipeline(const float* in, float* out, int tiles) {
    __shared__ __align__(16) float buffer[3][128];
    const int t = threadIdx.x;
    for (int i = 0; i < 2; ++i) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(shared_address(&buffer[i][t * 4])), "l"(in + i * 128 + t * 4) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int i = 0; i < tiles; ++i) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        const float* now = buffer[i % 3];
        for (int k = 0; k < 4; ++k) out[i * 128 + t * 4 + k] = now[127 - (t * 4 + k)] * 2.0f;
        if (i + 2 < tiles)
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                :: "r"(shared_address(&buffer[(i + 2) % 3][t * 4])), "l"(in + (i + 2) * 128 + t * 4) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
}

extern "C" __global__ void zero_fill(const u32* in, u32* out, int n) {
    __shared__ __align__(16) u32 s[128];
    const int t = threadIdx.x;
    const int left = max(0, min(16, (n - t * 4) * 4));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
        :: "r"(shared_address(&s[t * 4])), "l"(in + t * 4), "r"(left) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int k = t; k < 128; k += 32) out[k] = s[k];
}

extern "C" __global__ void bulk_copy(const u32* in, u32* out) {
    __shared__ __align__(128) u32 s[256];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0) { barrier_init(b, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(b, 1024);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            :: "r"(shared_address(s)), "l"(in + blockIdx.x * 256), "r"(1024), "r"(b) : "memory");
    }
    barrier_wait(b, 0);
    s[threadIdx.x] = s[threadIdx.x] * 3 + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
            :: "l"(out + blockIdx.x * 256), "r"(shared_address(s)), "r"(1024) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

extern "C" __global__ void tma_transform(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to) {
    // Boxes of 16 x 32 floats with a 128-byte swizzle: loaded from above the array, too, doubled, stored.
    __shared__ __align__(1024) float s[16 * 32];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar), box = shared_address(s);
    if (threadIdx.x == 0) { barrier_init(b, 1); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
    __syncthreads();
    const int x = blockIdx.x * 32, y = blockIdx.y * 16;
    if (threadIdx.x == 0) {
        barrier_expect(b, sizeof(s));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
            :: "r"(box), "l"(&from), "r"(x), "r"(y - 4), "r"(b) : "memory");
    }
    barrier_wait(b, 0);
    for (int i = threadIdx.x; i < 16 * 32; i += blockDim.x) s[i] = s[i] * 2.0f + 1.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
            :: "l"(&to), "r"(x), "r"(y), "r"(box) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

extern "C" __global__ void mbarrier_pipeline(const u32* in, u32* out, int rounds) {
    // A warp that produces, one that consumes; two buffers, full and empty barriers.
    __shared__ u32 buffer[2][32];
    __shared__ u64 full[2], empty[2];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) for (int i = 0; i < 2; ++i) { barrier_init(shared_address(&full[i]), 32); barrier_init(shared_address(&empty[i]), 32); }
    __syncthreads();
    if (threadIdx.x >= 32) {
        for (int i = 0; i < rounds; ++i) {
            const int stage = i % 2, phase = i / 2 % 2;
            barrier_wait(shared_address(&empty[stage]), phase ^ 1);
            buffer[stage][lane] = in[i * 32 + lane] * 7;
            barrier_arrive(shared_address(&full[stage]));
        }
    } else {
        for (int i = 0; i < rounds; ++i) {
            const int stage = i % 2, phase = i / 2 % 2;
            barrier_wait(shared_address(&full[stage]), phase);
            out[i * 32 + lane] = buffer[stage][31 - lane] + i;
            barrier_arrive(shared_address(&empty[stage]));
        }
    }
}

extern "C" __global__ void bulk_reduce(const u32* in, u32* out, float* sums) {
    // Rows of all blocks are added up in global memory by bulk copies.
    __shared__ __align__(128) u32 s[64];
    __shared__ __align__(128) float f[64];
    s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    f[threadIdx.x] = (float)(s[threadIdx.x] & 255);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256;"
            :: "l"(out), "r"(shared_address(s)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;"
            :: "l"(sums), "r"(shared_address(f)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
