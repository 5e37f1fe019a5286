// Clusters: distributed shared memory, barriers of a cluster, remote mbarriers, multicast.
typedef unsigned int u32;
typedef unsigned long long u64;
struct __align__(64) TensorMap { unsigned char bytes[128]; };

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u32 rank_in_cluster() { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ u32 remote(u32 address, u32 rank) {
    u32 r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
    return r;
}
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait(u32 bar, u32 parity) {
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(bar), "r"(parity) : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) neighbours(const u32* in, u32* out) {
    // Each block reads what the others of its cluster hold.
    __shared__ u32 s[32];
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    s[threadIdx.x] = in[block * 32 + threadIdx.x];
    cluster_sync();
    u32 sum = 0;
    for (u32 r = 0; r < 4; ++r) {
        u32 v;
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(remote(shared_address(&s[31 - threadIdx.x]), r)) : "memory");
        sum = sum * 3 + v;
    }
    u32 id, count;
    asm volatile("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%cluster_nctarank;" : "=r"(id), "=r"(count));
    out[block * 32 + threadIdx.x] = sum + rank_in_cluster() * 100 + id * 1000 + count;
    cluster_sync();
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const u32* in, u32* out) {
    // Each block sends to the next through st.async, which signals an mbarrier there.
    __shared__ __align__(16) u32 s[128];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar), next = (rank_in_cluster() + 1) % 4;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(b) : "memory");
    }
    cluster_sync();
    const uint4 v = ((const uint4*)in)[blockIdx.x * 32 + threadIdx.x];
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
        :: "r"(remote(shared_address(&s[threadIdx.x * 4]), next)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(remote(b, next)) : "memory");
    wait(b, 0);
    for (int i = 0; i < 4; ++i) out[blockIdx.x * 128 + i * 32 + threadIdx.x] = s[i * 32 + threadIdx.x] + blockIdx.x;
    cluster_sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(const __grid_constant__ TensorMap map, float* out) {
    // Each block loads half of the rows for both.
    __shared__ __align__(1024) float s[16 * 32];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar), rank = rank_in_cluster();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;" :: "r"(b) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%0], [%1, {%2, %3}], [%4], %5;"
            :: "r"(shared_address(s) + rank * 1024), "l"(&map), "r"((int)blockIdx.x / 2 * 32), "r"((int)rank * 8), "r"(b), "h"((short)3)
            : "memory");
    }
    wait(b, 0);
    for (int i = threadIdx.x; i < 512; i += blockDim.x) out[blockIdx.x * 512 + i] = s[i];
    cluster_sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) counters(const u32* in, u32* out) {
    // Both blocks count into the first through red.async, and each reads a row that one sent to both.
    __shared__ __align__(128) u32 s[64];
    __shared__ u32 count[4];
    __shared__ u64 bars[2];
    const u32 rank = rank_in_cluster(), b = shared_address(&bars[0]), c = shared_address(&bars[1]);
    if (threadIdx.x < 4) count[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(c) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(b) : "memory");
        if (rank == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(c) : "memory");
    }
    cluster_sync();
    if (threadIdx.x == 0 && rank == 1)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;"
            :: "r"(shared_address(s)), "l"(in + blockIdx.x / 2 * 64), "r"(b), "h"((short)3) : "memory");
    wait(b, 0);
    const u32 v = s[threadIdx.x];
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
        :: "r"(remote(shared_address(&count[v & 3]), 0)), "r"(v), "r"(remote(c, 0)) : "memory");
    if (rank == 0) wait(c, 0);
    out[blockIdx.x * 64 + threadIdx.x] = v + (rank == 0 ? count[threadIdx.x & 3] : 7);
    cluster_sync();
}
