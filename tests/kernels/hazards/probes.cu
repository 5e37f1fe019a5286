// Kernels that try to provoke a hazard on a GPU; with FIXED defined, each has the wait, fence or barrier.
// `python -m tools.probe_hazards` runs them. All count, over all threads and iterations, results that are wrong
// and results. Blocks of 128 threads; values change with every iteration. `in` has IN words, the product of each
// index with MIX; `scratch` has 128 words for each block; `halves` has 64 tiles of 1024 equal halves, 1 to 64.
typedef unsigned int u32;
typedef unsigned long long u64;
#ifdef FIXED
#define IF_FIXED(...) __VA_ARGS__
#define IF_BROKEN(...)
#else
#define IF_FIXED(...)
#define IF_BROKEN(...) __VA_ARGS__
#endif
#define PROBE(name) extern "C" __global__ void __launch_bounds__(128) name(u64* counts, const u32* in, u32* scratch, const u32* halves, int iterations)
#define CLUSTER_PROBE(name) extern "C" __global__ void __launch_bounds__(128) __cluster_dims__(2) name(u64* counts, const u32* in, u32* scratch, const u32* halves, int iterations)
const u32 IN = 65536, MIX = 2654435761u;

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u32 value(int iteration, u32 index) { return (iteration * gridDim.x + blockIdx.x) * MIX + index; }
__device__ __forceinline__ u32 offset(int iteration) { return ((iteration * gridDim.x + blockIdx.x) * 128) % IN; }
__device__ __forceinline__ void count(u64* counts, u64 wrong, u64 all) {
    atomicAdd(counts, wrong);
    atomicAdd(counts + 1, all);
}
__device__ __forceinline__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ bool waited(u32 bar, u32 parity, int most = 1 << 20) {  // it gives up: then the result is wrong
    u32 done = 0;
    for (int i = 0; i < most && !done; ++i)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}
__device__ __forceinline__ void start(u32 bar, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\nfence.mbarrier_init.release.cluster;" :: "r"(bar), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void load_bulk(u32 to, const u32* from, u32 bytes, u32 bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :: "r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
}
__device__ __forceinline__ void store_bulk(u32* to, u32 from, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;"
        :: "l"(to), "r"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ u32 look(const u32* p) {  // as others wrote it last
    u32 x;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}

// -- races --------------------------------------------------------------------------------------------------

__device__ __forceinline__ void put(u32 at, u32 x) { asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"(x) : "memory"); }
__device__ __forceinline__ u32 get(u32 at) {
    u32 x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    return x;
}
PROBE(race_of_warps) {  // a barrier between warps that write and read shared memory
    __shared__ u32 s[128];
    u32 wrong = 0, t = threadIdx.x, at = shared_address(s);
    for (int i = 0; i < iterations; ++i) {
        put(at + t * 4, value(i, t));
        IF_FIXED(__syncthreads();)
        wrong += get(at + (127 - t) * 4) != value(i, 127 - t);
        __syncthreads();
    }
    count(counts, wrong, iterations);
}
PROBE(race_of_lanes) {  // __syncwarp() between lanes that write and read shared memory
    __shared__ u32 s[128];
    u32 wrong = 0, t = threadIdx.x, at = shared_address(s);
    for (int i = 0; i < iterations; ++i) {
        put(at + t * 4, value(i, t));
        IF_FIXED(__syncwarp();)
        wrong += get(at + (t ^ 31) * 4) != value(i, t ^ 31);
        __syncwarp();
    }
    count(counts, wrong, iterations);
}
PROBE(overtaken_read) {  // a barrier between warps that read and those that overwrite
    __shared__ u32 s[128];
    u32 wrong = 0, t = threadIdx.x, at = shared_address(s);
    for (int i = 0; i < iterations; ++i) {
        put(at + t * 4, value(i, t));
        __syncthreads();
        wrong += get(at + (127 - t) * 4) != value(i, 127 - t);
        IF_FIXED(__syncthreads();)
    }
    count(counts, wrong, iterations);
}

// -- waits --------------------------------------------------------------------------------------------------

PROBE(cp_async_wait) {  // cp.async.wait_group before data of cp.async are read
    __shared__ __align__(16) volatile u32 s[512];
    u32 wrong = 0, t = threadIdx.x;
    for (int i = 0; i < iterations; ++i) {
        const u32 at = (offset(i) * 4 + t * 4) % IN;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;"
            :: "r"(shared_address((void*)(s + t * 4))), "l"(in + at) : "memory");
        IF_FIXED(asm volatile("cp.async.wait_group 0;" ::: "memory");)
        __syncthreads();
        const u32 other = 127 - t;
        wrong += s[other * 4] != (offset(i) * 4 + other * 4) % IN * MIX;
        IF_BROKEN(asm volatile("cp.async.wait_group 0;" ::: "memory");)
        __syncthreads();
    }
    count(counts, wrong, iterations);
}
PROBE(bulk_wait) {  // a wait for the mbarrier before data of a bulk copy are read
    __shared__ __align__(128) volatile u32 s[128];
    __shared__ u64 bar;
    u32 wrong = 0, t = threadIdx.x, b = shared_address(&bar);
    if (t == 0) start(b, 1);
    __syncthreads();
    for (int i = 0; i < iterations; ++i) {
        if (t == 0) load_bulk(shared_address((void*)s), in + offset(i), 512, b);
        __syncthreads();
        bool fine = true;
        IF_FIXED(fine = waited(b, i & 1);)
        wrong += !(s[t] == (offset(i) + t) * MIX && fine);
        IF_BROKEN(waited(b, i & 1);)
        __syncthreads();
        if (t == 0) fence_proxy();
    }
    count(counts, wrong, iterations);
}
PROBE(bulk_source) {  // cp.async.bulk.wait_group.read before the source of a bulk copy is overwritten
    __shared__ __align__(128) volatile u32 s[128];
    u32 wrong = 0, t = threadIdx.x;
    u32* out = scratch + blockIdx.x * 128;
    for (int i = 0; i < iterations; ++i) {
        s[t] = value(i, t);
        fence_proxy();
        __syncthreads();
        if (t == 0) {
            store_bulk(out, shared_address((void*)s), 512);
            IF_FIXED(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
        }
        __syncthreads();
        s[t] = ~value(i, t);
        if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        __syncthreads();
        wrong += look(out + t) != value(i, t);
        asm volatile("fence.proxy.async;" ::: "memory");  // before the next copy overwrites what was read
        __syncthreads();
    }
    count(counts, wrong, iterations);
}
PROBE(bulk_result) {  // cp.async.bulk.wait_group without .read before the result of a bulk copy is read
    __shared__ __align__(128) volatile u32 s[128];
    u32 wrong = 0, t = threadIdx.x;
    u32* out = scratch + blockIdx.x * 128;
    for (int i = 0; i < iterations; ++i) {
        s[t] = value(i, t);
        fence_proxy();
        __syncthreads();
        if (t == 0) {
            store_bulk(out, shared_address((void*)s), 512);
            IF_FIXED(asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");)
            IF_BROKEN(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
        }
        __syncthreads();
        wrong += look(out + t) != value(i, t);
        asm volatile("fence.proxy.async;" ::: "memory");  // before the next copy overwrites what was read
        if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        __syncthreads();
    }
    count(counts, wrong, iterations);
}

// -- fences between proxies ---------------------------------------------------------------------------------

PROBE(bulk_proxy) {  // fence.proxy.async between stores to shared memory and a bulk copy out of it
    __shared__ __align__(128) volatile u32 s[128];
    u32 wrong = 0, t = threadIdx.x;
    u32* out = scratch + blockIdx.x * 128;
    for (int i = 0; i < iterations; ++i) {
        s[t] = value(i, t);
        IF_FIXED(fence_proxy();)
        __syncthreads();
        if (t == 0) {
            store_bulk(out, shared_address((void*)s), 512);
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        wrong += look(out + t) != value(i, t);
        asm volatile("fence.proxy.async;" ::: "memory");  // before the next copy overwrites what was read
        __syncthreads();
    }
    count(counts, wrong, iterations);
}
PROBE(bulk_overwrite) {  // fence.proxy.async between loads of global memory and a bulk copy that overwrites it
    __shared__ __align__(128) volatile u32 s[64 * 128];
    u32 wrong = 0, t = threadIdx.x;
    u32* out = scratch + blockIdx.x * 128;
    for (int i = 0; i < 64; ++i) s[i * 128 + t] = value(i, t);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    for (int i = 0; i < iterations; ++i) {
        if (t == 0) {
            store_bulk(out, shared_address((void*)(s + i % 64 * 128)), 512);
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        wrong += look(out + t) != value(i % 64, t);
        IF_FIXED(asm volatile("fence.proxy.async;" ::: "memory");)
        __syncthreads();
    }
    count(counts, wrong, iterations);
}
PROBE(init_fence) {  // a fence between mbarrier.init and a bulk copy of another warp that arrives there
    __shared__ __align__(128) volatile u32 s[128];
    __shared__ u64 bar;
    u32 wrong = 0, t = threadIdx.x, b = shared_address(&bar);
    for (int i = 0; i < iterations; ++i) {
        if (t == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
            IF_FIXED(asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); fence_proxy();)
        }
        __syncthreads();
        if (t == 32) load_bulk(shared_address((void*)s), in + offset(i), 512, b);
        const bool fine = waited(b, 0);
        wrong += !(s[t] == (offset(i) + t) * MIX && fine);
        __syncthreads();
        if (t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(b) : "memory");
        if (t == 32) fence_proxy();
        __syncthreads();
    }
    count(counts, wrong, iterations);
}

// -- wgmma --------------------------------------------------------------------------------------------------

__device__ __forceinline__ u64 tile(const void* p) { return (u64)(shared_address(p) >> 4) | (u64)8 << 16 | (u64)16 << 32; }
template <bool adds> __device__ __forceinline__ void multiply(float (&d)[4], u64 a, u64 b) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "n"((int)adds));
}
__device__ __forceinline__ void fence_wgmma() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void finish() { asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ __forceinline__ u32 twice(int n) {  // n, 1 to 64, as two halves
    u32 x;
    asm("{ .reg .f16 h; cvt.rn.f16.s32 h, %1; mov.b32 %0, {h, h}; }" : "=r"(x) : "r"(n));
    return x;
}
__device__ __forceinline__ u32 unequal(const float (&d)[4], float right) {
    return (d[0] != right) + (d[1] != right) + (d[2] != right) + (d[3] != right);
}

PROBE(wgmma_proxy) {  // fence.proxy.async between stores to shared memory and wgmma
    __shared__ __align__(128) u32 a[512], b[64];
    u64 wrong = 0;
    u32 t = threadIdx.x;
    for (int i = 0; i < iterations; ++i) {
        const int n = 1 + (i + blockIdx.x) % 64;
        for (int j = t; j < 512; j += 128) a[j] = twice(n);
        if (t < 64) b[t] = twice(1);
        IF_FIXED(fence_proxy();)
        __syncthreads();
        float d[4] = {0, 0, 0, 0};
        fence_wgmma();
        multiply<false>(d, tile(a), tile(b));
        finish();
        wrong += unequal(d, 16.0f * n);
        __syncthreads();
    }
    count(counts, wrong, 4ull * iterations);
}
PROBE(wgmma_copied) {  // fence.proxy.async between cp.async, with its wait, and wgmma
    __shared__ __align__(128) u32 a[512], b[64];
    u64 wrong = 0;
    u32 t = threadIdx.x;
    for (int i = 0; i < iterations; ++i) {
        const int n = 1 + (i + blockIdx.x) % 64;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(a + t * 4)), "l"(halves + (n - 1) * 512 + t * 4) : "memory");
        if (t < 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(b + t * 4)), "l"(halves + t * 4) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        IF_FIXED(fence_proxy();)
        __syncthreads();
        float d[4] = {0, 0, 0, 0};
        fence_wgmma();
        multiply<false>(d, tile(a), tile(b));
        finish();
        wrong += unequal(d, 16.0f * n);
        __syncthreads();
    }
    count(counts, wrong, 4ull * iterations);
}
template <int distance> __device__ __forceinline__ u64 rows_of_warps(int iterations) {
    __shared__ __align__(128) u32 a[512], b[64];
    u64 wrong = 0;
    const u32 t = threadIdx.x, warp = t / 32, other = (warp + distance) % 4;
    if (t < 64) b[t] = twice(1);
    fence_proxy();
    __syncthreads();
    for (int i = 0; i < iterations; ++i) {
        if (i % 8 == warp * 2) for (u64 start = clock64(); clock64() - start < 64 + i % 61 * 32;) {}  // one is late
        for (int j = t % 32; j < 128; j += 32) a[other * 128 + j] = twice(1 + (i + other + blockIdx.x) % 64);
        fence_proxy();
        IF_FIXED(__syncthreads();)
        __syncwarp();
        float d[4] = {0, 0, 0, 0};
        fence_wgmma();
        multiply<false>(d, tile(a), tile(b));
        finish();
        wrong += unequal(d, 16.0f * (1 + (i + warp + blockIdx.x) % 64));
        if (distance) __syncthreads();
    }
    return wrong;
}
PROBE(wgmma_own_rows) {  // a barrier between each warp's stores to its own rows of A and wgmma
    count(counts, rows_of_warps<0>(iterations), 4ull * iterations);
}
PROBE(wgmma_other_rows) {  // a barrier between each warp's stores to rows of A of the next warp and wgmma
    count(counts, rows_of_warps<1>(iterations), 4ull * iterations);
}
PROBE(wgmma_wait) {  // wgmma.wait_group before accumulators are read
    __shared__ __align__(128) u32 a[512], b[64];
    u64 wrong = 0;
    u32 t = threadIdx.x;
    if (t < 64) b[t] = twice(1);
    for (int i = 0; i < iterations; ++i) {
        const int n = 1 + (i + blockIdx.x) % 64;
        for (int j = t; j < 512; j += 128) a[j] = twice(n);
        fence_proxy();
        __syncthreads();
        float d[4] = {0, 0, 0, 0};
        fence_wgmma();
        multiply<false>(d, tile(a), tile(b));
        IF_FIXED(finish();)
        IF_BROKEN(asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");)
        wrong += unequal(d, 16.0f * n);
        IF_BROKEN(asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");)
        __syncthreads();
    }
    count(counts, wrong, 4ull * iterations);
}
PROBE(wgmma_fence) {  // wgmma.fence between instructions that compute accumulators and wgmma
    __shared__ __align__(128) u32 a[512], b[64];
    u64 wrong = 0;
    u32 t = threadIdx.x;
    for (int j = t; j < 512; j += 128) a[j] = twice(1);
    if (t < 64) b[t] = twice(1);
    fence_proxy();
    __syncthreads();
    for (int i = 0; i < iterations; ++i) {
        const float n = (float)(i % 1024 + t);
        float d[4] = {n + 1, n + 1, n + 1, n + 1};
        IF_FIXED(fence_wgmma();)
        multiply<true>(d, tile(a), tile(b));
        finish();
        wrong += unequal(d, n + 17);
    }
    count(counts, wrong, 4ull * iterations);
}

// -- clusters -----------------------------------------------------------------------------------------------

__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ u32 in_block(u32 address, u32 rank) {
    u32 there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}
CLUSTER_PROBE(wide_atomics) {  // or.b32 instead of or.b64 in shared memory of another block
    __shared__ volatile u64 s;
    u64 lost = 0;
    u32 t = threadIdx.x, rank = blockIdx.x % 2, there = in_block(shared_address((void*)&s), 0), bit = t + rank * 32;
    for (int i = 0; i < iterations; ++i) {
        if (t == 0) s = 0;
        cluster_barrier();
        if (t < 32) {
            IF_BROKEN(asm volatile("red.relaxed.cluster.shared::cluster.or.b64 [%0], %1;" :: "r"(there), "l"((u64)1 << bit) : "memory");)
            IF_FIXED(asm volatile("red.relaxed.cluster.shared::cluster.or.b32 [%0], %1;" :: "r"(there + bit / 32 * 4), "r"(1u << bit % 32) : "memory");)
        }
        cluster_barrier();
        if (rank == 0 && t == 0) lost += __popcll(~s);
        cluster_barrier();
    }
    if (rank == 0 && t == 0) count(counts, lost, 64ull * iterations);
}
template <int scope> __device__ __forceinline__ void arrive(u32 bar) {
    if (scope == 0) asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" :: "r"(bar) : "memory");
    if (scope == 1) asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(bar) : "memory");
    if (scope == 2) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(bar) : "memory");
}
template <int scope, int back = 2, bool far = true> __device__ __forceinline__ void hand_over(u64* counts, u32* scratch, int iterations) {
    // Block 0 of the cluster writes to shared memory of block 1 and, if `far`, to global memory, and arrives there.
    __shared__ volatile u32 s[128];
    __shared__ u64 full, empty;
    u64 wrong = 0;
    const u32 t = threadIdx.x, rank = blockIdx.x % 2, f = shared_address(&full), e = shared_address(&empty);
    const u32 there = in_block(shared_address((void*)(s + t)), 1), theirs = in_block(f, 1), ours = in_block(e, 0);
    volatile u32* out = scratch + blockIdx.x / 2 * 256;
    if (t == 0) {
        start(f, 128);
        start(e, 128);
    }
    cluster_barrier();
    for (int i = 0; i < iterations; ++i) {
        const u32 x = (i * gridDim.x + blockIdx.x / 2) * MIX + t, y = x - t + (127 - t);
        if (rank == 0) {
            if (far) out[t] = x;
            asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(x) : "memory");
            arrive<scope>(theirs);
            waited(e, i & 1);
        } else {
            u32 done = 0;
            for (int j = 0; j < 1 << 20 && !done; ++j) {
                if (scope == 0)
                    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                        : "=r"(done) : "r"(f), "r"(i & 1) : "memory");
                else
                    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                        : "=r"(done) : "r"(f), "r"(i & 1) : "memory");
            }
            wrong += s[127 - t] != y || !done;
            if (far) {
                u32 seen;
                asm volatile("ld.global.u32 %0, [%1];" : "=r"(seen) : "l"((const u32*)out + (127 - t)) : "memory");
                wrong += seen != y;
            }
            arrive<back>(ours);
        }
    }
    cluster_barrier();
    if (rank == 1) count(counts, wrong, (far ? 2ull : 1ull) * iterations);
}
CLUSTER_PROBE(cta_scope) {  // .release.cluster and .acquire.cluster instead of .cta between blocks of a cluster
    hand_over<IF_FIXED(2) IF_BROKEN(0)>(counts, scratch, iterations);
}
CLUSTER_PROBE(default_scope) {  // .release.cluster in an arrival at another block's mbarrier
    hand_over<IF_FIXED(2) IF_BROKEN(1)>(counts, scratch, iterations);
}
CLUSTER_PROBE(hand_back) {  // .release.cluster in an arrival there, after which what was read, global memory included, is overwritten
    hand_over<2, IF_FIXED(2) IF_BROKEN(1)>(counts, scratch, iterations);
}
CLUSTER_PROBE(hand_back_shared) {  // .release.cluster in an arrival at another block's mbarrier, after which shared memory that was read is overwritten
    hand_over<2, IF_FIXED(2) IF_BROKEN(1), false>(counts, scratch, iterations);
}

// -- flags, volatile memory, scopes -------------------------------------------------------------------------

__device__ __forceinline__ u32 load(const u32* p) {  // through the cache of the SM
    u32 x;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
// Blocks in pairs: the odd one says that it is ready, the even one writes a word and raises a flag.
template <bool loads_last, bool acquires> __device__ __forceinline__ void take_over(u64* counts, u32* scratch, int iterations) {
    u32 *data = scratch + blockIdx.x / 2 * 256, *ready = data + 64, *flag = data + 96, wrong = 0;
    if (threadIdx.x) return;
    for (u32 i = 1; i <= iterations; ++i) {
        if (blockIdx.x % 2 == 0) {
            while (atomicAdd(ready, 0) != i) {}
            __threadfence();
            data[0] = i * MIX;
            __threadfence();
            atomicExch(flag, i);
        } else {
            u32 near = 0;
            if (!loads_last) near = load(data + 1);
            __threadfence();
            if (loads_last) near = load(data + 1);
            atomicExch(ready, i + near);  // data[1] is 0
            while (atomicAdd(flag, 0) != i) {}
            if (acquires) __threadfence();
            wrong += load(data) != i * MIX;
        }
    }
    if (blockIdx.x % 2) {
        atomicExch(ready, 0);
        atomicExch(flag, 0);
        count(counts, wrong, iterations);
    }
}
PROBE(flag_acquire) {  // __threadfence() after the read of a flag, where the cache of the SM holds the line
    take_over<true, IF_FIXED(true) IF_BROKEN(false)>(counts, scratch, iterations);
}
PROBE(flag_acquire_emptied) {  // __threadfence() after the read of a flag, before which another one emptied the cache
    take_over<false, IF_FIXED(true) IF_BROKEN(false)>(counts, scratch, iterations);
}
PROBE(bulk_over_shared) {  // fence.proxy.async between loads of shared memory and a bulk copy that overwrites it
    __shared__ __align__(128) u32 s[1024];
    __shared__ u64 bar;
    u32 wrong = 0, t = threadIdx.x, at = shared_address(s), b = shared_address(&bar);
    if (t == 0) start(b, 1);
    __syncthreads();
    for (int i = 0; i < iterations; ++i) {
        u32 x[8];
        const u32 row = t % 32 * 32 + t / 32 * 8, other = row ^ 992;  // the lanes of a warp share one bank
#pragma unroll
        for (u32 k = 0; k < 8; ++k) put(at + (row + k) * 4, value(i, row + k));
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < 8; ++k) x[k] = get(at + (other + k) * 4);
        IF_FIXED(fence_proxy();)
        __syncthreads();
        if (t == 0) load_bulk(at, in + offset(i) % (IN - 1024), 4096, b);
        const bool came = waited(b, i & 1);
#pragma unroll
        for (u32 k = 0; k < 8; ++k) wrong += !came || x[k] != value(i, other + k);
        __syncthreads();
    }
    count(counts, wrong, iterations * 8);
}
PROBE(volatile_warps) {  // a barrier between warps that write and read volatile shared memory
    __shared__ volatile u32 s[128];
    u32 wrong = 0, t = threadIdx.x;
    for (int i = 0; i < iterations; ++i) {
        s[t] = value(i, t);
        IF_FIXED(__syncthreads();)
        const u32 x = s[127 - t];
        __syncthreads();
        wrong += x != value(i, 127 - t);
    }
    count(counts, wrong, iterations);
}
PROBE(volatile_lanes) {  // __syncwarp() between lanes that write and read volatile shared memory
    __shared__ volatile u32 s[128];
    u32 wrong = 0, t = threadIdx.x;
    for (int i = 0; i < iterations; ++i) {
        s[t] = value(i, t);
        IF_FIXED(__syncwarp();)
        const u32 x = s[t ^ 31];
        __syncwarp();
        wrong += x != value(i, t ^ 31);
    }
    count(counts, wrong, iterations);
}
PROBE(volatile_update) {  // an atomic operation for what several threads add to
    __shared__ volatile u32 sum;
    u32 wrong = 0, t = threadIdx.x;
    for (int i = 0; i < iterations; ++i) {
        if (t == 0) sum = 0;
        __syncthreads();
        IF_BROKEN(sum = sum + 1;)
        IF_FIXED(atomicAdd((u32*)&sum, 1);)
        __syncthreads();
        wrong += sum != 128;
        __syncthreads();
    }
    count(counts, wrong, iterations);
}
PROBE(constant_loads) {  // an ordinary load instead of ld.global.nc of what the kernel has written
    u32 wrong = 0, t = threadIdx.x, *own = scratch + blockIdx.x * 128;
    for (int i = 0; i < iterations; ++i) {
        own[t] = value(i, t);
        __syncthreads();
        u32 x;
        IF_FIXED(asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(own + 127 - t) : "memory");)
        IF_BROKEN(asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(x) : "l"(own + 127 - t) : "memory");)
        wrong += x != value(i, 127 - t);
        __syncthreads();
    }
    count(counts, wrong, iterations);
}
PROBE(two_scopes) {  // scope .gpu for both of two blocks that add to one word
    u32 *sum = scratch + blockIdx.x / 2 * 256, *done = sum + 32;
    for (int i = 0; i < iterations; ++i) {
        if (blockIdx.x % 2) atomicAdd(sum, 1);
        else IF_BROKEN(atomicAdd_block)IF_FIXED(atomicAdd)(sum, 1);
    }
    __syncthreads();
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(done, 1) == 1) {
        __threadfence();
        const u32 all = iterations * 256, found = atomicExch(sum, 0);
        count(counts, all - found, all);
        *done = 0;
    }
}
