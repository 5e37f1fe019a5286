// Kernels that have a hazard each; with FIXED defined, each just avoids it.
// One block of 64 threads unless the list in tests/simulator/test_hazards.py says otherwise.
typedef unsigned int u32;
typedef unsigned long long u64;
#ifdef FIXED
#define IF_FIXED(...) __VA_ARGS__
#define IF_BROKEN(...)
#else
#define IF_FIXED(...)
#define IF_BROKEN(...) __VA_ARGS__
#endif

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void wait(u32 bar, u32 parity) {
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(bar), "r"(parity) : "memory");
}

// -- races --------------------------------------------------------------------------------------------------

extern "C" __global__ void reverse(int* x) {  // a barrier is missing between writing and reading
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    IF_FIXED(__syncthreads();)
    x[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void next_turn(int* x) {  // the second iteration overwrites what others still read
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[threadIdx.x] = x[threadIdx.x] + i;
        __syncthreads();
        sum += s[63 - threadIdx.x];
        IF_FIXED(__syncthreads();)
    }
    x[threadIdx.x] = sum;
}

extern "C" __global__ void warp_reverse(int* x) {  // lanes of one warp need a barrier, too
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    IF_FIXED(__syncwarp();)
    x[threadIdx.x] = s[threadIdx.x ^ 31];
}

extern "C" __global__ void count_all(int* x) {  // += is not atomic
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    IF_BROKEN(n += x[threadIdx.x];)
    IF_FIXED(atomicAdd(&n, x[threadIdx.x]);)
    __syncthreads();
    x[threadIdx.x] = n;
}

extern "C" __global__ void named(int* x) {  // warp 0 leaves what warp 1 reads, at different barriers
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        s[threadIdx.x] = x[threadIdx.x];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        IF_FIXED(asm volatile("bar.sync 1, 64;" ::: "memory");)
        x[threadIdx.x] = s[63 - threadIdx.x];
        IF_BROKEN(asm volatile("bar.sync 1, 64;" ::: "memory");)
    }
}

extern "C" __global__ void neighbours(int* x) {  // two blocks, global memory: block 1 reads what block 0 writes
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    IF_BROKEN(x[i] = x[(i + 1) % (gridDim.x * blockDim.x)];)
    IF_FIXED(x[i + gridDim.x * blockDim.x] = x[(i + 1) % (gridDim.x * blockDim.x)];)
}

extern "C" __global__ void unpublished(int* x) {  // a flag without a fence
    volatile int* flag = x + 1;
    if (threadIdx.x == 0) {
        x[0] = 7;
        IF_FIXED(__threadfence_block();)
        *flag = 1;
    } else if (threadIdx.x == 32) {
        while (*flag == 0) {}
        IF_FIXED(__threadfence_block();)
        x[2] = ((int*)x)[0] + 1;
    }
}

// -- memory that nobody wrote -------------------------------------------------------------------------------

extern "C" __global__ void half_filled(int* x) {  // only half of the tile is written
    __shared__ int s[64];
    if (threadIdx.x < IF_FIXED(64) IF_BROKEN(32)) s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void stack(int* x) {  // a local array, read where nothing was written
    int a[16];
    for (int i = IF_FIXED(0) IF_BROKEN(1); i < 16; ++i) a[(i + x[0]) % 16] = i;
    x[threadIdx.x + 64] = a[(x[1] + threadIdx.x) % 16];
}

// -- asynchronous copies ------------------------------------------------------------------------------------

extern "C" __global__ void copy_unwaited(const int4* in, int4* out) {  // cp.async: no wait
    __shared__ int4 s[64];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(shared_address(&s[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    IF_FIXED(asm volatile("cp.async.wait_group 0;" ::: "memory");)
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void copy_uncommitted(const int4* in, int4* out) {  // cp.async: wait_group without a group
    __shared__ int4 s[64];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(shared_address(&s[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
    IF_FIXED(asm volatile("cp.async.commit_group;" ::: "memory");)
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void copy_order(const int4* in, int4* out) {  // the barrier stands before the wait
    __shared__ int4 s[64];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(shared_address(&s[threadIdx.x])), "l"(in + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    IF_BROKEN(__syncthreads();)
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    IF_FIXED(__syncthreads();)
    out[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void bulk_unwaited(const u32* in, u32* out) {  // a bulk copy: nobody waits for its mbarrier
    __shared__ __align__(128) u32 s[64];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" :: "r"(b) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
            :: "r"(shared_address(s)), "l"(in), "r"(b) : "memory");
    }
    __syncthreads();
    IF_FIXED(wait(b, 0);)
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void bulk_unfenced(u32* x) {  // stores, then a bulk copy out of them: other proxies
    __shared__ __align__(128) u32 s[64];
    s[threadIdx.x] = threadIdx.x * 3;
    IF_FIXED(asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(x), "r"(shared_address(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

extern "C" __global__ void bulk_reused(u32* x) {  // the copy may still read what is overwritten
    __shared__ __align__(128) u32 s[64];
    s[threadIdx.x] = threadIdx.x * 3;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(x), "r"(shared_address(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        IF_FIXED(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
    }
    __syncthreads();
    s[threadIdx.x] = 5;
    IF_BROKEN(if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
}

extern "C" __global__ void bulk_left(u32* x) {  // the block ends while a copy may still read its shared memory
    __shared__ __align__(128) u32 s[64];
    s[threadIdx.x] = threadIdx.x * 3;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(x), "r"(shared_address(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        IF_FIXED(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
    }
}

extern "C" __global__ void early_arrival(u32* x) {  // threads use an mbarrier that may not be there yet
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(b) : "memory");
    IF_FIXED(__syncthreads();)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(b) : "memory");
    wait(b, 0);
    x[threadIdx.x] = 1;
}

// -- barriers -----------------------------------------------------------------------------------------------

extern "C" __global__ void divided(int* x) {  // one barrier in each branch, and the warp divides
    if (threadIdx.x % 2) {
        x[threadIdx.x] = 1;
        IF_BROKEN(__syncthreads();)
    } else {
        x[threadIdx.x] = 2;
        IF_BROKEN(__syncthreads();)
    }
    IF_FIXED(__syncthreads();)
    x[threadIdx.x] += 1;
}

extern "C" __global__ void half_warps(int* x) {  // a named barrier is for whole warps
    if (threadIdx.x % 32 < IF_FIXED(32) IF_BROKEN(16))
        asm volatile("bar.sync 1, %0;" :: "n"(IF_FIXED(64) IF_BROKEN(32)) : "memory");
    x[threadIdx.x] = 1;
}

extern "C" __global__ void waiting_apart(int* x) {  // half a warp shuffles, the other half is at the barrier
    if (threadIdx.x % 32 < IF_FIXED(32) IF_BROKEN(16)) x[threadIdx.x] = __shfl_xor_sync(~0u, x[threadIdx.x], 1);
    __syncthreads();
    x[threadIdx.x] += 1;
}

extern "C" __global__ void outside_mask(int* x) {  // sixteen lanes shuffle with a mask of eight
    if (threadIdx.x % 32 < 16) x[threadIdx.x] = __shfl_xor_sync(IF_FIXED(0xffff) IF_BROKEN(0xff), x[threadIdx.x], 1);
}

extern "C" __global__ void half_a_warp(u32* x) {  // an mma needs all 32 lanes
    u32 d0 = 0, d1 = 0;
    if (threadIdx.x % 32 < IF_FIXED(32) IF_BROKEN(16))
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%2}, {%2}, {%0,%1};"
            : "+r"(d0), "+r"(d1) : "r"(x[threadIdx.x]));
    x[threadIdx.x + 64] = d0 ^ d1;
}

extern "C" __global__ void never_full(int* x) {  // an mbarrier for 64 arrivals gets 32: nobody goes on
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(b) : "memory");
    __syncthreads();
    if (threadIdx.x < IF_FIXED(64) IF_BROKEN(32)) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(b) : "memory");
    wait(b, 0);
    x[threadIdx.x] = 1;
}

extern "C" __global__ void too_many_bytes(const u32* in, u32* out) {  // more bytes are announced than are copied
    __shared__ __align__(128) u32 s[64];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" :: "r"(b) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(IF_FIXED(256) IF_BROKEN(512)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
            :: "r"(shared_address(s)), "l"(in), "r"(b) : "memory");
    }
    __syncthreads();
    wait(b, 0);
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void not_everyone(int* x) {  // a named barrier for 64 threads that 32 reach
    if (threadIdx.x < IF_FIXED(64) IF_BROKEN(32)) asm volatile("bar.sync 1, 64;" ::: "memory");
    x[threadIdx.x] = 1;
}

// -- addresses and registers --------------------------------------------------------------------------------

extern "C" __global__ void past_the_end(int* x) {  // one element too far
    x[threadIdx.x + 448 + IF_FIXED(0) IF_BROKEN(1)] = 1;
}

extern "C" __global__ void past_shared(int* x) {  // shared memory has 64 elements
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x + IF_FIXED(0) IF_BROKEN(1)] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = dynamic[63 - threadIdx.x];
}

extern "C" __global__ void odd_address(int* x) {  // eight bytes at a multiple of four
    *(u64*)(x + threadIdx.x * 2 + IF_FIXED(0) IF_BROKEN(1)) = 1;
}

extern "C" __global__ void no_value(u32* x) {  // PTX that computes with a register before it writes it
    u32 r;
    asm volatile("{ .reg .b32 t;\n" IF_FIXED("mov.b32 t, 5;\n") "add.u32 %0, t, 1; }" : "=r"(r));
    x[threadIdx.x] = r;
}

// -- clusters of two blocks ---------------------------------------------------------------------------------

__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ int from_other_block(const int* s) {
    u32 there, value;
    asm volatile("{ .reg .b32 r; mov.b32 r, %%cluster_ctarank; xor.b32 r, r, 1;\nmapa.shared::cluster.u32 %0, %1, r; }"
        : "=r"(there) : "r"(shared_address(s)));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    return value;
}

extern "C" __global__ void __cluster_dims__(2) ended(int* x) {  // a block may end while the other reads its memory
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    cluster_barrier();
    x[64 + blockIdx.x * 64 + threadIdx.x] = from_other_block(s + threadIdx.x);
    IF_FIXED(cluster_barrier();)
}

extern "C" __global__ void __cluster_dims__(2) not_started(int* x) {  // the other block may not have started
    __shared__ int s[64];
    s[threadIdx.x] = 0;
    IF_FIXED(cluster_barrier();)
    IF_BROKEN(__syncthreads();)
    if (threadIdx.x == 0) {
        u32 there;
        asm volatile("{ .reg .b32 r; mov.b32 r, %%cluster_ctarank; xor.b32 r, r, 1;\n"
            "mapa.shared::cluster.u32 %0, %1, r; }" : "=r"(there) : "r"(shared_address(s)));
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(there) : "memory");
    }
    cluster_barrier();
    x[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

// -- wgmma: a warpgroup of 128 threads ----------------------------------------------------------------------

template <bool proxy, bool fence, bool commit, bool wait>
__device__ __forceinline__ void multiply(float* x) {
    __shared__ __align__(128) u32 s[576];
    for (int i = threadIdx.x; i < 576; i += 128) s[i] = 0x3c003c00;
    if (proxy) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const u64 a = (u64)(shared_address(s) >> 4) | (u64)8 << 16 | (u64)16 << 32;
    const u64 b = (u64)(shared_address(s + 512) >> 4) | (u64)8 << 16 | (u64)16 << 32;
    float d[4];
    for (int i = 0; i < 4; ++i) d[i] = x[threadIdx.x];
    if (fence) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
    if (commit) asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (wait) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) x[512 + threadIdx.x * 4 + i] = d[i] + 1;
}

extern "C" __global__ void wgmma_proxy(float* x) {  // stores to a tile, then wgmma, without fence.proxy.async
    multiply<IF_FIXED(true) IF_BROKEN(false), true, true, true>(x);
}
extern "C" __global__ void wgmma_unfenced(float* x) {  // no wgmma.fence
    multiply<true, IF_FIXED(true) IF_BROKEN(false), true, true>(x);
}
extern "C" __global__ void wgmma_uncommitted(float* x) {  // wgmma.wait_group without wgmma.commit_group
    multiply<true, true, IF_FIXED(true) IF_BROKEN(false), true>(x);
}
extern "C" __global__ void wgmma_unwaited(float* x) {  // the accumulators are read at once
    multiply<true, true, true, IF_FIXED(true) IF_BROKEN(false)>(x);
}

// -- phases and counts --------------------------------------------------------------------------------------

extern "C" __global__ void too_few_bytes(const u32* in, u32* out) {  // the second copy is not announced
    __shared__ __align__(128) u32 s[64];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" :: "r"(b) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(IF_FIXED(256) IF_BROKEN(128)) : "memory");
        for (int i = 0; i < 64; i += 32)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                :: "r"(shared_address(s + i)), "l"(in + i), "r"(b) : "memory");
    }
    __syncthreads();
    wait(b, 0);
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void one_by_one(int* x) {  // a barrier for 32 threads lets the two warps pass one by one
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync 1, %0;" :: "n"(IF_FIXED(64) IF_BROKEN(32)) : "memory");
    x[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void __cluster_dims__(2) wide_maximum(int* x) {  // no max.u64 in another block's shared memory
    __shared__ u64 s;
    if (threadIdx.x == 0) s = 0;
    cluster_barrier();
    u32 there;
    asm volatile("{ .reg .b32 r; mov.b32 r, %%cluster_ctarank; xor.b32 r, r, 1;\n"
        "mapa.shared::cluster.u32 %0, %1, r; }" : "=r"(there) : "r"(shared_address(&s)));
    IF_BROKEN(asm volatile("red.relaxed.cluster.shared::cluster.max.u64 [%0], %1;" :: "r"(there), "l"((u64)x[threadIdx.x]) : "memory");)
    IF_FIXED(asm volatile("red.relaxed.cluster.shared::cluster.max.u32 [%0], %1;" :: "r"(there), "r"(x[threadIdx.x]) : "memory");)
    cluster_barrier();
    x[64 + blockIdx.x * 64 + threadIdx.x] = s;
}

extern "C" __global__ void some_lanes(int* x) {  // half of each warp passes the barrier by
    if (threadIdx.x % 32 < IF_FIXED(32) IF_BROKEN(16)) __syncthreads();
    x[threadIdx.x] += 1;
}

extern "C" __global__ void some_shuffle(int* x) {  // the mask names lanes that never shuffle
    int value = x[threadIdx.x];
    if (threadIdx.x % 32 < 16) value = __shfl_xor_sync(IF_FIXED(0xffff) IF_BROKEN(~0u), value, 1);
    x[threadIdx.x] = value;
}

extern "C" __global__ void in_place(int* x) {  // each thread overwrites what its neighbour reads
    const int sum = x[threadIdx.x] + x[threadIdx.x + 1];
    IF_FIXED(__syncthreads();)
    x[threadIdx.x] = sum;
}

extern "C" __global__ void wgmma_copied(float* x) {  // cp.async, its wait, a barrier, wgmma: no fence.proxy.async
    __shared__ __align__(128) u32 s[576];
    for (int i = threadIdx.x * 4; i < 576; i += 512)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(s + i)), "l"(x + i) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    IF_FIXED(asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
    __syncthreads();
    const u64 a = (u64)(shared_address(s) >> 4) | (u64)8 << 16 | (u64)16 << 32;
    const u64 b = (u64)(shared_address(s + 512) >> 4) | (u64)8 << 16 | (u64)16 << 32;
    float d[4];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < 4; ++i) x[512 + threadIdx.x * 4 + i] = d[i];
}

extern "C" __global__ void one_fence(u32* x) {  // the thread that copies has its fence before the barrier, others none
    __shared__ __align__(128) u32 s[64];
    s[threadIdx.x] = threadIdx.x * 3;
    IF_BROKEN(if (threadIdx.x == 0) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
    __syncthreads();
    if (threadIdx.x == 0) {
        IF_FIXED(asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(x), "r"(shared_address(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// -- scopes -------------------------------------------------------------------------------------------------

extern "C" __global__ void own_scope(int* x) {  // two blocks count in one place with atomics of scope .cta
    IF_BROKEN(asm volatile("red.relaxed.cta.global.add.u32 [%0], 1;" :: "l"(x) : "memory");)
    IF_FIXED(asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(x) : "memory");)
}

template <int scope>  // 0: .cta, 1: none, 2: .cluster
__device__ __forceinline__ void arrive_remotely(int* x) {
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;\nfence.mbarrier_init.release.cluster;" :: "r"(b) : "memory");
    cluster_barrier();
    u32 there;
    asm volatile("{ .reg .b32 r; mov.b32 r, %%cluster_ctarank; xor.b32 r, r, 1;\n"
        "mapa.shared::cluster.u32 %0, %1, r; }" : "=r"(there) : "r"(b));
    if (scope == 0) asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
    if (scope == 1) asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
    if (scope == 2) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
    wait(b, 0);
    x[blockIdx.x * 64 + threadIdx.x] = 1;
    cluster_barrier();
}
extern "C" __global__ void __cluster_dims__(2) remote_arrival(int* x) {  // arrivals of scope .cta at another block's mbarrier
    arrive_remotely<IF_FIXED(2) IF_BROKEN(0)>(x);
}
extern "C" __global__ void __cluster_dims__(2) remote_default(int* x) {  // arrivals there that name no scope
    arrive_remotely<IF_FIXED(2) IF_BROKEN(1)>(x);
}

extern "C" __global__ void fence_before(u32* x) {  // a fence before the named barrier at which it learns of the stores
    __shared__ __align__(128) u32 s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = threadIdx.x * 3;
    IF_BROKEN(if (threadIdx.x == 32) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
    asm volatile("bar.sync 1, 64;" ::: "memory");
    IF_FIXED(if (threadIdx.x == 32) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
    if (threadIdx.x == 32) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;\n"
            "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" :: "l"(x), "r"(shared_address(s)) : "memory");
    }
    asm volatile("bar.sync 1, 64;" ::: "memory");
}

extern "C" __global__ void result_read(u32* x) {  // wait_group.read is for the source of a bulk copy, not for its result
    __shared__ __align__(128) u32 s[64];
    s[threadIdx.x] = threadIdx.x * 3;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\ncp.async.bulk.commit_group;"
            :: "l"(x), "r"(shared_address(s)) : "memory");
        IF_BROKEN(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
        IF_FIXED(asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");)
    }
    __syncthreads();
    x[64 + threadIdx.x] = x[63 - threadIdx.x];
}

extern "C" __global__ void init_unfenced(const u32* in, u32* out) {  // no fence after mbarrier.init
    __shared__ __align__(128) u32 s[64];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        IF_FIXED(asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");)
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
            :: "r"(shared_address(s)), "l"(in), "r"(b) : "memory");
    }
    wait(b, 0);
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void __cluster_dims__(2) remote_data(int* x) {  // what was stored before an arrival without scope is read
    __shared__ u32 s[64];
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;\nfence.mbarrier_init.release.cluster;" :: "r"(b) : "memory");
    cluster_barrier();
    u32 there, data;
    asm volatile("{ .reg .b32 r; mov.b32 r, %%cluster_ctarank; xor.b32 r, r, 1;\nmapa.shared::cluster.u32 %0, %2, r;\n"
        "mapa.shared::cluster.u32 %1, %3, r; }" : "=r"(there), "=r"(data) : "r"(b), "r"(shared_address(s + threadIdx.x)));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(data), "r"(threadIdx.x) : "memory");
    IF_BROKEN(asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");)
    IF_FIXED(asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");)
    wait(b, 0);
    x[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
    cluster_barrier();
}

extern "C" __global__ void bulk_over_loads(u32* x, u32* out) {  // a bulk copy overwrites what may still be loaded
    __shared__ __align__(128) u32 s[64];
    s[threadIdx.x] = threadIdx.x * 3;
    asm volatile("fence.proxy.async;" ::: "memory");
    const u32 before = ((volatile u32*)x)[63 - threadIdx.x];
    IF_FIXED(asm volatile("fence.proxy.async;" ::: "memory");)
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\ncp.async.bulk.commit_group;\n"
            "cp.async.bulk.wait_group 0;" :: "l"(x), "r"(shared_address(s)) : "memory");
    }
    out[threadIdx.x] = before;
}

// -- rows of A that warps write -----------------------------------------------------------------------------

template <int distance> __device__ __forceinline__ void multiply_rows(float* x) {  // of a warp that far
    __shared__ __align__(128) u32 a[512], b[64];
    if (threadIdx.x < 64) b[threadIdx.x] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const u32 rows = (threadIdx.x / 32 + distance) % 4 * 128;
    for (int i = threadIdx.x % 32; i < 128; i += 32) a[rows + i] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    IF_FIXED(__syncthreads();)
    IF_BROKEN(__syncwarp();)
    const u64 p = (u64)(shared_address(a) >> 4) | (u64)8 << 16 | (u64)16 << 32;
    const u64 q = (u64)(shared_address(b) >> 4) | (u64)8 << 16 | (u64)16 << 32;
    float d[4];
    for (int i = 0; i < 4; ++i) d[i] = x[threadIdx.x];
    asm volatile("wgmma.fence.sync.aligned;\n{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }\n"
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(p), "l"(q) : "memory");
    for (int i = 0; i < 4; ++i) x[512 + threadIdx.x * 4 + i] = d[i] + 1;
}
extern "C" __global__ void wgmma_own_rows(float* x) { multiply_rows<0>(x); }    // __syncwarp() alone between a warp's stores to its rows of A and wgmma
extern "C" __global__ void wgmma_other_rows(float* x) { multiply_rows<1>(x); }  // the same with rows of the next warp

// -- the life of an mbarrier --------------------------------------------------------------------------------

__device__ __forceinline__ void init(u32 bar, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ void meet(u32 bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory");
    wait(bar, 0);
}

extern "C" __global__ void init_by_warps(int* x) {  // a thread of each warp initialises the mbarrier
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    if (threadIdx.x IF_BROKEN(% 32) == 0) init(b, 64);
    __syncthreads();
    meet(b);
    x[threadIdx.x] = 1;
}

extern "C" __global__ void init_again(int* x) {  // each iteration initialises the mbarrier anew, without mbarrier.inval
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x == 0) init(b, 64);
        __syncthreads();
        meet(b);
        __syncthreads();
        IF_FIXED(if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(b) : "memory");)
    }
    x[threadIdx.x] = 1;
}

extern "C" __global__ void barrier_as_data(int* x) {  // the bytes of an mbarrier are used for data
    __shared__ u64 s[64];
    const u32 b = shared_address(s);
    if (threadIdx.x == 0) init(b, 64);
    __syncthreads();
    meet(b);
    __syncthreads();
    IF_FIXED(if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(b) : "memory");)
    IF_FIXED(__syncthreads();)
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void never_initialised(int* x) {  // nobody initialises the mbarrier
    __shared__ u64 bar;
    const u32 b = shared_address(&bar);
    IF_FIXED(if (threadIdx.x == 0) init(b, 64);)
    __syncthreads();
    meet(b);
    x[threadIdx.x] = 1;
}

// -- arrays, warpgroups, blocks, and code without a meaning -------------------------------------------------

extern "C" __global__ void next_array(int* x) {  // one element past the first of two arrays in shared memory
    __shared__ int s[64], t[64];
    s[threadIdx.x] = x[threadIdx.x];
    t[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x + IF_FIXED(0) IF_BROKEN(1)] + t[threadIdx.x];
}

extern "C" __global__ void one_warp_resized(int* x) {  // setmaxnreg is for all warps of a warpgroup
    if (threadIdx.x < IF_FIXED(128) IF_BROKEN(32)) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    x[threadIdx.x] = 1;
}

extern "C" __global__ void too_many_blocks(int* x) {  // 140 blocks of 200 KiB wait for each other, and an H200 runs 132
    if (threadIdx.x == 0) {
        atomicAdd(x, 1);
        while (*(volatile int*)x < IF_FIXED(blockIdx.x + 1) IF_BROKEN(gridDim.x)) {}
    }
}

extern "C" __global__ void null_pointer(int* x) {  // a store through a null pointer, for which NVRTC puts a trap
    int* p = IF_FIXED(x) IF_BROKEN(nullptr);
    if (threadIdx.x == 0) *p = 5;
}

__device__ void set_first(int* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void no_function(int* x) {  // a call of what is not a function
    void (*function)(int*) = IF_FIXED(set_first) IF_BROKEN((void (*)(int*))5);
    function(x);
}

// -- flags, volatile memory, scopes ---------------------------------------------------------------------------

extern "C" __global__ void last_block(u32* x) {  // the block that comes last adds up, and acquires nothing
    __shared__ bool last;
    x[64 + blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(&x[0], 1) == gridDim.x - 1;
        IF_FIXED(__threadfence();)
    }
    __syncthreads();
    if (last) x[320 + threadIdx.x] = x[64 + threadIdx.x] + x[128 + threadIdx.x];
}

extern "C" __global__ void held_in_cache(u32* x) {  // the cache of the SM holds x[65] since x[66] was read
    if (threadIdx.x) return;
    if (blockIdx.x == 1) {
        while (atomicAdd(&x[0], 0) == 0) {}
        x[65] = 42;
        __threadfence();
        atomicExch(&x[32], 1);
    } else {
        const u32 before = x[66];
        x[0] = 0;
        atomicExch(&x[0], 1 + before);
        while (atomicAdd(&x[32], 0) != 1) {}
        IF_FIXED(__threadfence();)
        x[128] = x[65];
    }
}

extern "C" __global__ void wrong_flag(volatile u32* x) {  // warp 1 waits for another flag than warp 0 raises
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        ((u32*)x)[64 + lane] = lane;
        __threadfence();
        if (lane == 0) x[0] = 1000;
    } else {
        while (x[IF_FIXED(0) IF_BROKEN(40)] < IF_FIXED(1000) IF_BROKEN(40)) {}
        __threadfence();
        x[128 + lane] = ((u32*)x)[64 + lane];
    }
}

extern "C" __global__ void volatile_reverse(u32* x) {  // volatile orders nothing between warps
    __shared__ volatile u32 s[64];
    s[threadIdx.x] = x[threadIdx.x];
    IF_FIXED(__syncthreads();)
    x[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void volatile_count(u32* x) {  // nor is it atomic
    volatile u32* count = x + 256;
    IF_BROKEN(*count = *count + 1;)
    IF_FIXED(atomicAdd(x + 256, 1);)
}

extern "C" __global__ void volatile_lanes(u32* x) {  // lanes of a warp need not execute together
    __shared__ volatile u32 s[64];
    if (threadIdx.x >= 32) return;
    s[threadIdx.x] = x[threadIdx.x];
    IF_FIXED(__syncwarp();)
    x[threadIdx.x] = s[31 - threadIdx.x];
}

extern "C" __global__ void either_half(u32* x) {  // each half of the warp waits for itself only
    __shared__ u32 s[64];
    s[threadIdx.x] = x[threadIdx.x];
    IF_BROKEN(__syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffff : 0xffff0000);)
    IF_FIXED(__syncwarp();)
    x[threadIdx.x] = s[threadIdx.x ^ 16];
}

extern "C" __global__ void third_reader(u32* x) {  // five warps read s, and one of them tells nobody
    __shared__ u32 s;
    if (threadIdx.x == 0) s = 7;
    __syncthreads();
    const int warp = threadIdx.x / 32;
    if (warp < 5) x[64 + threadIdx.x] = s;
    if (warp == 5) asm volatile("bar.sync 1, %0;" :: "r"(IF_FIXED(192) IF_BROKEN(160)) : "memory");
    else if (IF_FIXED(true) IF_BROKEN(warp != 2)) asm volatile("bar.arrive 1, %0;" :: "r"(IF_FIXED(192) IF_BROKEN(160)) : "memory");
    if (threadIdx.x == 160) s = 8;
}

extern "C" __global__ void other_scope(u32* x) {  // atomic for its own block only
    if (threadIdx.x) return;
    if (blockIdx.x == 0) x[64] = IF_BROKEN(atomicAdd_block) IF_FIXED(atomicAdd)(x, 1);
    else x[65] = atomicAdd(x, 1);
}

extern "C" __global__ void read_only(u32* x) {  // the cache for constants need not see the store
    x[threadIdx.x] = threadIdx.x;
    __syncthreads();
    x[64 + threadIdx.x] = IF_BROKEN(__ldg(x + 63 - threadIdx.x)) IF_FIXED(x[63 - threadIdx.x]);
}

__device__ u32 results[64];

extern "C" __global__ void module_result(const u32* x) {  // a variable of the module is a result, too
    __shared__ u32 s[64];
    s[threadIdx.x] = x[threadIdx.x];
    IF_FIXED(__syncthreads();)
    results[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void bulk_over_shared_loads(u32* x) {  // loads may be under way when the copy overwrites
    __shared__ alignas(16) u32 s[64];
    __shared__ alignas(8) u64 barrier;
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(shared_address(&barrier)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    const u32 value = s[63 - threadIdx.x];
    IF_FIXED(asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(shared_address(&barrier)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(shared_address(s)), "l"(x + 64), "r"(shared_address(&barrier)) : "memory");
    }
    asm volatile("{ .reg .pred p;\nwait: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra wait; }" :: "r"(shared_address(&barrier)) : "memory");
    x[128 + threadIdx.x] = value + s[threadIdx.x];
}

extern "C" __global__ void bulk_over_a_barrier(u32* x) {  // what was an mbarrier is overwritten through the other proxy
    __shared__ alignas(16) u64 s[2];
    __shared__ alignas(8) u64 barrier;
    const u32 first = shared_address(s), second = shared_address(&barrier);
    if (threadIdx.x == 0) {
        init(first, 64);
        init(second, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    meet(first);
    __syncthreads();
    if (threadIdx.x == 32) {
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(first) : "memory");
        IF_FIXED(asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16;" :: "r"(second) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];"
                     :: "r"(first), "l"(x + 64), "r"(second) : "memory");
    }
    asm volatile("{ .reg .pred p;\nwait: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra wait; }" :: "r"(second) : "memory");
    x[threadIdx.x] = (u32)s[threadIdx.x & 1];
}

extern "C" __global__ void rotated(u64* x) {  // a difference of shifts, of which an assembler makes a rotate
    const u64 value = x[threadIdx.x] - x[threadIdx.x + 128];
    IF_BROKEN(x[threadIdx.x] = (value << 8) - (value >> 56);)
    IF_FIXED(x[threadIdx.x] = (value << 8) + (value >> 56);)
}

#if __CUDA_ARCH__ >= 1000
extern "C" __global__ void columns_kept(int* x) {  // tensor memory that nobody frees
    __shared__ u32 columns;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" :: "r"(shared_address(&columns)) : "memory");
        __syncwarp();
        IF_FIXED(asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" :: "r"(columns) : "memory");)
    }
}

extern "C" __global__ void loaded_late(u32* x) {  // columns that a tcgen05.ld reads, overwritten without a wait
    __shared__ u32 columns;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" :: "r"(shared_address(&columns)) : "memory");
        __syncwarp();
        asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};\ntcgen05.wait::st.sync.aligned;" :: "r"(columns), "r"(threadIdx.x) : "memory");
        u32 loaded;
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(loaded) : "r"(columns) : "memory");
        IF_FIXED(asm volatile("tcgen05.wait::ld.sync.aligned;" : "+r"(loaded) :: "memory");)
        asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};\ntcgen05.wait::st.sync.aligned;" :: "r"(columns), "r"(0) : "memory");
        x[threadIdx.x] = loaded;
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" :: "r"(columns) : "memory");
    }
}

extern "C" __global__ void first_lanes(u32* x) {  // tensor memory of warp 1, by the lanes of warp 0
    __shared__ u32 columns;
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" :: "r"(shared_address(&columns)) : "memory");
    __syncthreads();
    u32 place = columns + (threadIdx.x / 32 * 32 << 16), loaded;
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};\ntcgen05.wait::st.sync.aligned;" :: "r"(place), "r"(x[threadIdx.x]) : "memory");
    IF_BROKEN(place = columns;)
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\ntcgen05.wait::ld.sync.aligned;" : "=r"(loaded) : "r"(place) : "memory");
    x[threadIdx.x] = loaded + 1;
    __syncthreads();
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" :: "r"(columns) : "memory");
}
#endif

// -- the heap of malloc --------------------------------------------------------------------------------------

extern "C" __global__ void freed_early(u32* x) {  // memory of malloc, read after free
    volatile u32* own = (volatile u32*)malloc(64);
    own[3] = x[threadIdx.x];
    IF_BROKEN(free((void*)own);)
    x[threadIdx.x] = own[3] + 1;
    IF_FIXED(free((void*)own);)
}

extern "C" __global__ void past_malloc(u32* x) {  // an element behind those that malloc gave out
    IF_BROKEN(const u32 count = 16;)
    IF_FIXED(const u32 count = 17;)
    volatile u32* own = (volatile u32*)malloc(count * sizeof(u32));
    own[16] = x[threadIdx.x];
    x[threadIdx.x] = own[16] + 1;
    free((void*)own);
}

extern "C" __global__ void freed_twice(u32* x) {  // memory of a block, freed by each warp
    __shared__ u32* all;
    if (threadIdx.x == 0) all = (u32*)malloc(256);
    __syncthreads();
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = all[63 - threadIdx.x];
    __syncthreads();
    IF_BROKEN(if (threadIdx.x % 32 == 0) free(all);)
    IF_FIXED(if (threadIdx.x == 0) free(all);)
}

extern "C" __global__ void freed_inside(u32* x) {  // a pointer that has moved is freed
    u32* own = (u32*)malloc(64);
    u32* next = own;
    for (u32 i = 0; i < 4; ++i) *next++ = x[threadIdx.x + i * 64];
    x[threadIdx.x] = next[-1];
    IF_BROKEN(free(next);)
    free(own);
}

extern "C" __global__ void never_freed(u32* x) {  // memory that some threads do not free
    u32* own = (u32*)malloc(64);
    own[0] = x[threadIdx.x];
    IF_BROKEN(if (own[0] % 2))
    free(own);
}
