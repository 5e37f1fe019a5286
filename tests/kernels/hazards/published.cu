// What went wrong in published kernels, cut down to a few lines of our own; with FIXED defined, each is right.
// A comment names where the pattern was seen. x counts up from 0; f and o are zero. The launches are in
// tests/simulator/test_published_hazards.py.
typedef unsigned int u32;
typedef unsigned long long u64;
#ifdef FIXED
#define RIGHT(...) __VA_ARGS__
#define WRONG(...)
#else
#define RIGHT(...)
#define WRONG(...) __VA_ARGS__
#endif
#define KERNEL(name) extern "C" __global__ void name(int* x, int* f, int* o)
#define T ((int)threadIdx.x)
#define B ((int)blockIdx.x)
#define FENCE_PROXY asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

__device__ __forceinline__ u32 shared(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ int load_acquire(int* p) {
    int v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ int load_relaxed(int* p) {
    int v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void store_release(int* p, int v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ void store_release_block(int* p, int v) {
    asm volatile("st.release.cta.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ void init(u64* b, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\nfence.mbarrier_init.release.cluster;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(u64* b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(b)) : "memory");
}
__device__ __forceinline__ void expect(u64* b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u64* b, int parity) {
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(shared(b)), "r"(parity) : "memory");
}
__device__ __forceinline__ void load_bulk(int* to, const int* from, int bytes, u64* b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :: "r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(b)) : "memory");
}
__device__ __forceinline__ void store_bulk(int* to, const int* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;"
        :: "l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_async(int* to, const int* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left> __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" :: "n"(left) : "memory"); }
__device__ __forceinline__ u32 of_other_block(const void* p) {  // of a cluster of two
    u32 there;
    asm volatile("{ .reg .b32 r; mov.b32 r, %%cluster_ctarank; xor.b32 r, r, 1;\nmapa.shared::cluster.u32 %0, %1, r; }"
        : "=r"(there) : "r"(shared(p)));
    return there;
}
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// -- locks and flags between blocks -------------------------------------------------------------------------

KERNEL(lock_without_fences) {  // the data are plain, and only the lock is atomic
    while (atomicCAS(f, 0, 1) != 0) {}
    RIGHT(__threadfence();)
    o[0] += 1;
    RIGHT(__threadfence();)
    atomicExch(f, 0);
}
KERNEL(lock_release_unfenced) {  // ScoR: the lock is given back before the store is visible
    while (atomicCAS(f, 0, 1) != 0) {}
    __threadfence();
    o[0] += 1;
    RIGHT(__threadfence();)
    atomicExch(f, 0);
}
KERNEL(lock_acquire_unfenced) {  // ScoR: nothing keeps the load behind the lock
    while (atomicCAS(f, 0, 1) != 0) {}
    RIGHT(__threadfence();)
    o[0] += 1;
    __threadfence();
    atomicExch(f, 0);
}
KERNEL(lock_fences_of_block) {  // ScoR: fences for one block, and two blocks take the lock
    while (atomicCAS(f, 0, 1) != 0) {}
    RIGHT(__threadfence();) WRONG(__threadfence_block();)
    o[0] += 1;
    RIGHT(__threadfence();) WRONG(__threadfence_block();)
    atomicExch(f, 0);
}
KERNEL(lock_of_block) {  // ScoR: a lock that is atomic for one block, taken by two
    RIGHT(while (atomicCAS(f, 0, 1) != 0) {}) WRONG(while (atomicCAS_block(f, 0, 1) != 0) {})
    __threadfence();
    o[0] += 1;
    __threadfence();
    RIGHT(atomicExch(f, 0);) WRONG(atomicExch_block(f, 0);)
}
KERNEL(lock_left_early) {  // ScoR: a store after the lock was given back
    while (atomicCAS(f, 0, 1) != 0) {}
    __threadfence();
    o[0] = B;
    __threadfence();
    atomicExch(f, 0);
    WRONG(if (B == 0) o[0] = 5;)
}
KERNEL(lock_not_taken) {  // ScoR: one block does not take the lock that the other holds
    RIGHT(while (atomicCAS(f, 0, 1) != 0) {}) WRONG(if (B) while (atomicCAS(f, 0, 1) != 0) {})
    __threadfence();
    o[0] = B;
    __threadfence();
    RIGHT(atomicExch(f, 0);) WRONG(if (B) atomicExch(f, 0);)
}
KERNEL(lock_in_a_block) {  // warps of one block take the lock: fences for the block are enough, and none is too few
    if (T % 32 == 0) {
        while (atomicCAS_block(f, 0, 1) != 0) {}
        RIGHT(__threadfence_block();)
        o[0] += T;
        RIGHT(__threadfence_block();)
        atomicExch_block(f, 0);
    }
}
KERNEL(flag_taken_back) {  // a warp waits for the flag by taking it
    if (T == 0) {
        o[0] = x[5];
        RIGHT(__threadfence_block();)
        atomicExch(f, 1);
    } else if (T == 32) {
        while (atomicExch(f, 0) == 0) {}
        __threadfence_block();
        o[1] = o[0];
    }
}
KERNEL(two_locks) {  // each block holds what the other waits for
    int* first = f + RIGHT(0) WRONG(B), *second = f + RIGHT(1) WRONG(1 - B);
    while (atomicCAS(first, 0, 1) != 0) {}
    WRONG(atomicAdd(f + 2, 1); while (atomicAdd(f + 2, 0) < 2) {})
    while (atomicCAS(second, 0, 1) != 0) {}
    atomicAdd(o, 1);
    atomicExch(second, 0);
    atomicExch(first, 0);
}
KERNEL(message_unfenced) {  // a flag is raised, and the data may come after it
    if (B == 0) {
        o[0] = 7;
        RIGHT(__threadfence();)
        atomicExch(f, 1);
    } else {
        while (atomicAdd(f, 0) == 0) {}
        __threadfence();
        o[1] = o[0] + 1;
    }
}
KERNEL(message_read_early) {  // DeepEP-like: the reader's line may be in its L1 already
    if (B == 0) {
        while (atomicAdd(f, 0) == 0) {}
        o[0] = 7;
        __threadfence();
        atomicExch(f + 32, 1);
    } else {
        const int line = o[1];
        atomicExch(f, 1 + line);
        while (atomicAdd(f + 32, 0) == 0) {}
        RIGHT(__threadfence();)
        o[64] = o[0];
    }
}
KERNEL(relaxed_flag) {  // st.release and ld.relaxed: one half of the pair
    if (B == 0) {
        o[0] = 7;
        store_release(f, 1);
    } else {
        RIGHT(while (load_acquire(f) == 0) {}) WRONG(while (load_relaxed(f) == 0) {})
        o[1] = o[0];
    }
}
KERNEL(acquire_of_block) {  // the reader's fence is for one block
    if (B == 0) {
        o[0] = 7;
        store_release(f, 1);
    } else {
        while (load_relaxed(f) == 0) {}
        RIGHT(__threadfence();) WRONG(__threadfence_block();)
        o[1] = o[0];
    }
}
KERNEL(release_of_block) {  // the writer's release is for one block
    if (B == 0) {
        o[0] = 7;
        RIGHT(store_release(f, 1);) WRONG(store_release_block(f, 1);)
    } else {
        while (load_acquire(f) == 0) {}
        o[1] = o[0];
    }
}
KERNEL(other_flag) {  // three blocks: the second raises a flag that says nothing of the first one's data
    if (B == 0) {
        o[0] = 7;
        store_release(f, 1);
    } else if (B == 1) {
        RIGHT(while (load_acquire(f) == 0) {})
        store_release(f + 32, 1);
    } else {
        while (load_acquire(f + 32) == 0) {}
        o[1] = o[0];
    }
}
KERNEL(one_flag_for_all) {  // a block's own flag is there, and a neighbour's data are read
    o[B] = B;
    store_release(f + B, 1);
    RIGHT(while (load_acquire(f + (B + 1) % 3) == 0) {}) WRONG(while (load_acquire(f + (B + 2) % 3) == 0) {})
    o[64 + B] = o[(B + 1) % 3];
}
KERNEL(last_block) {  // the last block adds up what the others stored
    o[B] = x[B];
    RIGHT(__threadfence();)
    if (atomicAdd(f, 1) == 3) {
        __threadfence();
        o[64] = o[0] + o[1] + o[2] + o[3];
    }
}
KERNEL(last_block_ticket) {  // the ticket is atomic for one block
    o[B] = x[B];
    __threadfence();
    if (RIGHT(atomicAdd(f, 1)) WRONG(atomicAdd_block(f, 1)) == 3) {
        __threadfence();
        o[64] = o[0] + o[1] + o[2] + o[3];
    }
}
KERNEL(look_back) {  // a scan over blocks: each waits for the sum of the one before
    if (T == 0) {
        int before = 0;
        if (B) {
            while (load_acquire(f + B - 1) == 0) {}
            before = o[B - 1];
        }
        o[B] = before + x[B];
        RIGHT(__threadfence();)
        atomicExch(f + B, 1);
    }
}
KERNEL(grid_barrier) {  // by hand: arrivals without a fence
    o[B] = x[B];
    RIGHT(__threadfence();)
    atomicAdd(f, 1);
    while (atomicAdd(f, 0) < 3) {}
    __threadfence();
    o[64 + B] = o[(B + 1) % 3];
}
KERNEL(grid_barrier_leader) {  // by hand: the fence stands before the block's barrier, where only the leader has one
    o[B * 64 + T] = x[T];
    RIGHT(__syncthreads();)
    if (T == 0) {
        __threadfence();
        atomicAdd(f, 1);
        while (atomicAdd(f, 0) < 2) {}
        __threadfence();
    }
    __syncthreads();
    o[256 + B * 64 + T] = o[(1 - B) * 64 + T];
}
KERNEL(too_many_blocks) {  // TIRx-kernels#97: a barrier of the grid, and not all blocks fit
    extern __shared__ int dynamic[];
    dynamic[0] = 1;
    atomicAdd(f, dynamic[0]);
    while (atomicAdd(f, 0) < (int)gridDim.x) {}
}
KERNEL(reset_between) {  // a plain store among atomic additions
    if (B == 0) { RIGHT(atomicExch(f, 5);) WRONG(f[0] = 5;) }
    else atomicAdd(f, 1);
}
KERNEL(guarded_maximum) {  // Indigo: a plain look before atomicMax
    const int value = x[B * 64 + T];
    RIGHT(atomicMax(o, value);)
    WRONG(if (o[0] < value) atomicMax(o, value);)
}
KERNEL(histogram) {  // an addition that is not atomic
    RIGHT(atomicAdd(o + x[T] % 8, 1);) WRONG(o[x[T] % 8] += 1;)
}
KERNEL(scope_then_wider) {  // ScoR: one block counts for itself, the other for all
    if (B == 0) { RIGHT(atomicAdd(o, 1);) WRONG(atomicAdd_block(o, 1);) }
    else atomicAdd(o, 1);
}
KERNEL(scope_then_narrower) {  // the same in the other order
    if (B == 1) { RIGHT(atomicAdd(o, 1);) WRONG(atomicAdd_block(o, 1);) }
    else atomicAdd(o, 1);
}
KERNEL(written_and_read_only) {  // ld.global.nc of what this kernel wrote
    o[T] = x[T];
    __syncthreads();
    o[64 + T] = RIGHT(o[63 - T]) WRONG(__ldg(o + 63 - T));
}

// -- volatile -----------------------------------------------------------------------------------------------

KERNEL(volatile_exchange) {  // warps exchange values, and volatile is no barrier
    __shared__ volatile int s[64];
    s[T] = x[T];
    RIGHT(__syncthreads();)
    o[T] = s[63 - T];
}
KERNEL(volatile_counter) {  // x + 1 of two threads
    volatile int* p = o;
    RIGHT(atomicAdd(o, 1);) WRONG(p[0] = p[0] + 1;)
}
KERNEL(volatile_and_atomic) {  // a store among atomic additions
    volatile int* p = o;
    if (T == 33) { RIGHT(atomicExch(o, 3);) WRONG(p[0] = 3;) }
    else atomicAdd(o, 1);
}
KERNEL(warp_synchronous) {  // HeCBench#91, Kaldi#3211: a sum as before Volta
    __shared__ int s[64];
    s[T] = x[T];
    __syncthreads();
    if (T < 32) {
        volatile int* v = s;
        for (int d = 32; d; d /= 2) {
            RIGHT(const int sum = v[T] + v[T + (T < d ? d : 0)]; __syncwarp(); v[T] = sum; __syncwarp();)
            WRONG(v[T] += v[T + (T < d ? d : 0)];)
        }
        o[T] = v[0];
    }
}
KERNEL(volatile_flag) {  // the data may come after the flag
    if (B == 0) {
        o[0] = 7;
        RIGHT(__threadfence();)
        *(volatile int*)f = 1;
    } else {
        while (*(volatile int*)f == 0) {}
        __threadfence();
        o[1] = o[0];
    }
}

// -- barriers of the block ----------------------------------------------------------------------------------

KERNEL(tile_read_early) {  // HeCBench#253
    __shared__ int s[64];
    s[T] = x[T];
    RIGHT(__syncthreads();)
    o[T] = s[(T + 1) % 64];
}
KERNEL(tile_overwritten) {  // HeCBench#254: the next tile comes before all have read this one
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 2; ++i) {
        s[T] = x[i * 64 + T];
        __syncthreads();
        sum += s[(T + 32) % 64];
        RIGHT(__syncthreads();)
    }
    o[T] = sum;
}
KERNEL(tree_sum) {  // no barrier between the levels
    __shared__ int s[128];
    s[T] = x[T];
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (T < d) s[T] += s[T + d];
        RIGHT(__syncthreads();)
    }
    __syncthreads();
    o[T] = s[0];
}
KERNEL(scan_in_place) {  // Hillis and Steele with one array
    __shared__ int s[64];
    s[T] = x[T];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        const int other = T >= d ? s[T - d] : 0;
        RIGHT(__syncthreads();)
        s[T] += other;
        __syncthreads();
    }
    o[T] = s[T];
}
KERNEL(sum_not_ready) {  // thread 0 has set it to zero for some
    __shared__ int sum;
    if (T == 0) sum = 0;
    RIGHT(__syncthreads();)
    atomicAdd(&sum, x[T]);
    __syncthreads();
    o[T] = sum;
}
KERNEL(broadcast) {  // llama.cpp#13469: one thread computes, all read
    __shared__ int scale;
    if (T == 40) scale = x[T];
    RIGHT(__syncthreads();)
    o[T] = x[T] * scale;
}
KERNEL(broadcast_again) {  // the scratch of a block's sum, used twice
    __shared__ int scratch[2];
    for (int i = 0; i < 2; ++i) {
        if (T % 32 == 0) scratch[T / 32] = x[T + i];
        __syncthreads();
        o[i * 64 + T] = scratch[0] + scratch[1];
        RIGHT(__syncthreads();)
    }
}
KERNEL(two_buffers) {  // the one that is being read is filled
    __shared__ int s[2][64];
    s[0][T] = x[T];
    for (int i = 0; i < 3; ++i) {
        __syncthreads();
        s[RIGHT(1 - i % 2) WRONG(i % 2)][T] = x[64 * i + T];
        o[64 * i + T] = s[i % 2][63 - T];
    }
}
KERNEL(stencil_in_place) {  // neighbours in global memory
    const int sum = x[T] + x[T + 1];
    RIGHT(o[T] = sum;) WRONG(x[T] = sum;)
}
KERNEL(neighbour_block) {  // a halo that the neighbour computes
    o[B * 64 + T] = x[B * 64 + T] * 2;
    RIGHT(f[B * 64 + T] = x[(B * 64 + T + 1) % 128] * 2;)
    WRONG(f[B * 64 + T] = o[(B * 64 + T + 1) % 128];)
}
KERNEL(sort_by_lanes) {  // lanes of one warp exchange through shared memory
    __shared__ int s[32];
    s[T] = x[T ^ 5];
    RIGHT(__syncwarp();)
    for (int d = 1; d < 4; d *= 2) {
        const int other = s[T ^ d];
        __syncwarp();
        s[T] = max(other, s[T]);
        __syncwarp();
    }
    o[T] = s[T];
}
KERNEL(halves_of_a_warp) {  // masks of sixteen lanes, and lanes of both halves exchange
    __shared__ int s[32];
    s[T] = x[T];
    __syncwarp(RIGHT(~0u) WRONG(T < 16 ? 0xffff : 0xffff0000));
    o[T] = s[T ^ 16];
}
KERNEL(named_for_some) {  // five warps read, and four arrive at the barrier of the one that overwrites
    __shared__ int s[32];
    if (T < 32) s[T] = x[T];
    __syncthreads();
    const int w = T / 32;
    if (w < 5) {
        o[T] = s[T % 32];
        if (RIGHT(true) WRONG(w != 0)) asm volatile("bar.arrive 1, %0;" :: "n"(RIGHT(192) WRONG(160)) : "memory");
    } else {
        asm volatile("bar.sync 1, %0;" :: "n"(RIGHT(192) WRONG(160)) : "memory");
        s[T % 32] = 5;
    }
}
KERNEL(named_for_the_third) {  // the same, and the third stays away
    __shared__ int s[32];
    if (T < 32) s[T] = x[T];
    __syncthreads();
    const int w = T / 32;
    if (w < 5) {
        o[T] = s[T % 32];
        if (RIGHT(true) WRONG(w != 2)) asm volatile("bar.arrive 1, %0;" :: "n"(RIGHT(192) WRONG(160)) : "memory");
    } else {
        asm volatile("bar.sync 1, %0;" :: "n"(RIGHT(192) WRONG(160)) : "memory");
        s[T % 32] = 5;
    }
}
KERNEL(other_barrier) {  // producer and consumer name different barriers
    __shared__ int s[32];
    if (T < 32) {
        s[T] = x[T];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync %0, 64;" :: "n"(RIGHT(1) WRONG(2)) : "memory");
        o[T] = s[T - 32];
    }
}
KERNEL(barrier_in_a_branch) {  // TileLang#2612
    __shared__ int s[64];
    s[T] = x[T];
    WRONG(if (T % 32 < 20)) __syncthreads();
    o[T] = s[63 - T];
}
KERNEL(barriers_in_a_loop) {  // lanes leave the loop one after another
    int sum = 0;
    for (int i = 0; i < RIGHT(8) WRONG(x[T] % 8 + 1); ++i) {
        sum += i;
        __syncthreads();
    }
    o[T] = sum;
}
KERNEL(lanes_elsewhere) {  // a shuffle names lanes that are in the other branch
    int value = x[T];
    if (T % 32 < 24) value = __shfl_xor_sync(RIGHT(0xffffff) WRONG(~0u), value, 1);
    o[T] = value;
}

// -- memory that nobody wrote, addresses --------------------------------------------------------------------

KERNEL(tail_not_zeroed) {  // the last tile is not full
    __shared__ int s[64];
    if (T < 50) s[T] = x[T];
    RIGHT(else s[T] = 0;)
    __syncthreads();
    o[T] = s[63 - T];
}
KERNEL(sums_not_zeroed) {  // shared counters start from what was there
    __shared__ int s[8];
    RIGHT(if (T < 8) s[T] = 0; __syncthreads();)
    atomicAdd(&s[x[T] % 8], 1);
    __syncthreads();
    if (T < 8) o[T] = s[T];
}
__device__ int results[64];
KERNEL(into_a_variable) {  // the race's result stays in a variable of the module
    __shared__ int s[64];
    s[T] = x[T];
    RIGHT(__syncthreads();)
    results[T] = s[63 - T];
}
KERNEL(unset_into_a_variable) {  // what nobody wrote, handed back in one
    __shared__ int s[64];
    if (T < RIGHT(64) WRONG(60)) s[T] = x[T];
    __syncthreads();
    results[T] = s[63 - T];
}
KERNEL(one_too_far) { o[T + RIGHT(960) WRONG(961)] = x[T]; }  // i <= n
KERNEL(next_array) {  // one element beyond the array, in the next one
    __shared__ int s[64], u[64];
    s[T] = x[T];
    u[T] = x[T] + 1;
    __syncthreads();
    s[T + RIGHT(0) WRONG(1)] = 3;
    __syncthreads();
    o[T] = s[63 - T] + u[63 - T];
}
KERNEL(odd_vector) { ((int4*)(o + RIGHT(4) WRONG(2)))[T] = make_int4(1, 2, 3, 4); }  // 16 bytes at a multiple of 8

// -- cp.async -----------------------------------------------------------------------------------------------

KERNEL(copies_one_group_short) {  // two groups are under way, and one may still be when the first is read
    __shared__ int s[2][64];
    copy_async(&s[0][T], x + T);
    commit();
    copy_async(&s[1][T], x + 64 + T);
    commit();
    wait_copies<RIGHT(0) WRONG(1)>();
    __syncthreads();
    o[T] = s[1][63 - T];
}
KERNEL(copies_without_barrier) {  // each thread has waited for its own copies
    __shared__ int s[64];
    copy_async(&s[T], x + T);
    commit();
    wait_copies<0>();
    RIGHT(__syncthreads();)
    o[T] = s[63 - T];
}
KERNEL(copies_over_a_tile) {  // the next copy starts while others read
    __shared__ int s[64];
    for (int i = 0; i < 2; ++i) {
        copy_async(&s[T], x + 64 * i + T);
        commit();
        wait_copies<0>();
        __syncthreads();
        o[64 * i + T] = s[63 - T];
        RIGHT(__syncthreads();)
    }
}
KERNEL(copies_in_a_ring) {  // a stage is filled in the iteration that reads it
    __shared__ int s[3][64];
    for (int i = 0; i < 2; ++i) { copy_async(&s[i][T], x + 64 * i + T); commit(); }
    for (int i = 0; i < 4; ++i) {
        wait_copies<RIGHT(1) WRONG(2)>();
        __syncthreads();
        o[64 * i + T] = s[i % 3][63 - T];
        if (i < 2) copy_async(&s[(i + 2) % 3][T], x + 64 * (i + 2) + T);
        commit();
    }
}
KERNEL(copies_and_an_mbarrier) {  // TIRx-kernels#202: plain stores arrive, and copies are under way
    __shared__ int s[128];
    __shared__ u64 full;
    if (T == 0) init(&full, 32);
    __syncthreads();
    if (T < 32) {
        copy_async(&s[T], x + T);
        s[64 + T] = x[T];
        RIGHT(asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(shared(&full)) : "memory");)
        WRONG(arrive(&full);)
    } else {
        wait(&full, 0);
        o[T] = s[63 - T] + s[95 - (T - 32)];
    }
}

// -- bulk copies and mbarriers ------------------------------------------------------------------------------

KERNEL(bulk_without_wait) {  // a barrier of the block is not the copy's
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    if (T == 0) {
        init(&full, 1);
        expect(&full, 256);
        load_bulk(s, x, 256, &full);
    }
    __syncthreads();
    RIGHT(wait(&full, 0);)
    o[T] = s[63 - T];
}
KERNEL(bulk_other_parity) {  // parity 1 asks for the phase before the first
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    if (T == 0) {
        init(&full, 1);
        expect(&full, 256);
        load_bulk(s, x, 256, &full);
    }
    __syncthreads();
    wait(&full, RIGHT(0) WRONG(1));
    o[T] = s[63 - T];
}
KERNEL(bulk_fewer_bytes) {  // half of them are announced
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    if (T == 0) {
        init(&full, 1);
        expect(&full, RIGHT(256) WRONG(128));
        load_bulk(s, x, 128, &full);
        load_bulk(s + 32, x + 32, 128, &full);
    }
    __syncthreads();
    wait(&full, 0);
    o[T] = s[63 - T];
}
KERNEL(bulk_more_bytes) {  // CUTLASS#2404: more are announced than come
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    if (T == 0) {
        init(&full, 1);
        expect(&full, RIGHT(256) WRONG(272));
        load_bulk(s, x, 256, &full);
    }
    __syncthreads();
    wait(&full, 0);
    o[T] = s[63 - T];
}
template <bool waits, bool all, bool turns, bool hands_back> __device__ __forceinline__ void ring(int* x, int* o) {
    __shared__ __align__(128) int s[2][64];
    __shared__ u64 full[2], empty[2];
    if (T == 0) for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], all ? 64 : 2); }
    __syncthreads();
    if (T < 32) {
        if (T == 0) for (int i = 0; i < 5; ++i) {
            if (waits) wait(&empty[i % 2], (i / 2 & 1) ^ 1);
            expect(&full[i % 2], 256);
            load_bulk(s[i % 2], x + 64 * i, 256, &full[i % 2]);
        }
    } else {
        for (int i = 0; i < 5; ++i) {
            wait(&full[i % 2], turns ? i / 2 & 1 : 0);
            o[64 * i + T - 32] = s[i % 2][95 - T];
            if (all) arrive(&empty[i % 2]);
            else {
                if (hands_back) __syncwarp();
                if (T % 32 == 0) arrive(&empty[i % 2]);
            }
        }
    }
}
KERNEL(ring) { ring<true, true, RIGHT(true) WRONG(false), true>(x, o); }  // the parity does not turn with the ring
KERNEL(ring_not_waiting) { ring<RIGHT(true) WRONG(false), true, true, true>(x, o); }  // stages are filled again at once
KERNEL(ring_one_lane) { ring<true, false, true, RIGHT(true) WRONG(false)>(x, o); }  // TIRx-kernels#202: one lane hands back for all
KERNEL(ring_never_full) {  // vLLM#26026: one consumer of two hands the stage back
    __shared__ u64 empty;
    if (T == 0) init(&empty, 64);
    __syncthreads();
    if (T >= 32 RIGHT(|| true)) arrive(&empty);
    wait(&empty, 0);
    o[T] = 1;
}
KERNEL(filled_after_loads) {  // DeepEP#642, TransformerEngine#2695: loads, then a bulk copy over them
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    s[T] = x[T];
    if (T == 0) init(&full, 1);
    __syncthreads();
    const int before = s[63 - T];
    RIGHT(FENCE_PROXY;)
    __syncthreads();
    if (T == 0) {
        expect(&full, 256);
        load_bulk(s, x + 64, 256, &full);
    }
    wait(&full, 0);
    o[T] = s[T] + before;
}
KERNEL(filled_after_a_sum) {  // globalToShmemAsyncCopy of cuda-samples: the assembler may add after the barrier
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    float sum = 0;
    if (T == 0) init(&full, 1);
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
        __syncthreads();
        if (T == 0) {
            expect(&full, 256);
            load_bulk(s, x + 64 * i, 256, &full);
        }
        wait(&full, i);
        sum = fmaf(sum, 0.5f, s[63 - T]);
        RIGHT(FENCE_PROXY;)
    }
    o[T] = (int)sum;
}
KERNEL(filled_after_stores) {  // TIRx-kernels#53: zeros, then a bulk copy over some of them
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    s[T] = 0;
    if (T == 0) init(&full, 1);
    RIGHT(FENCE_PROXY;)
    __syncthreads();
    if (T == 0) {
        expect(&full, 128);
        load_bulk(s, x, 128, &full);
    }
    wait(&full, 0);
    o[T] = s[63 - T];
}
KERNEL(stored_unfenced) {  // FlashKDA#24, cudnn-frontend#784: ordinary stores, then a bulk copy out of them
    __shared__ __align__(128) int s[64];
    s[T] = x[T];
    RIGHT(FENCE_PROXY;)
    __syncthreads();
    if (T == 0) {
        store_bulk(o, s, 256);
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
KERNEL(stored_and_reused) {  // the copy may still read what the next iteration overwrites
    __shared__ __align__(128) int s[64];
    for (int i = 0; i < 2; ++i) {
        s[T] = x[64 * i + T];
        FENCE_PROXY;
        __syncthreads();
        if (T == 0) {
            store_bulk(o + 64 * i, s, 256);
            RIGHT(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
        }
        __syncthreads();
    }
    if (T == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
KERNEL(initialised_by_two) {  // TIRx-kernels#6: lane 0 of each warp
    __shared__ u64 full;
    if (T RIGHT(== 0) WRONG(% 32 == 0)) init(&full, 64);
    __syncthreads();
    arrive(&full);
    wait(&full, 0);
    o[T] = 1;
}
KERNEL(initialised_again) {  // TLX#462: for the next tile, without mbarrier.inval
    __shared__ u64 full;
    for (int i = 0; i < 2; ++i) {
        if (T == 0) init(&full, 64);
        __syncthreads();
        arrive(&full);
        wait(&full, 0);
        __syncthreads();
        RIGHT(if (T == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(shared(&full)) : "memory");)
        RIGHT(__syncthreads();)
    }
    o[T] = 1;
}
KERNEL(mbarrier_as_data) {  // Triton#3858: its bytes become data, without mbarrier.inval
    __shared__ __align__(8) int s[64];
    u64* full = (u64*)s;
    if (T == 0) init(full, 64);
    __syncthreads();
    arrive(full);
    wait(full, 0);
    __syncthreads();
    RIGHT(if (T == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(shared(full)) : "memory");)
    RIGHT(__syncthreads();)
    s[T] = x[T];
    __syncthreads();
    o[T] = s[63 - T];
}
KERNEL(never_initialised) {  // nobody has
    __shared__ u64 full;
    RIGHT(if (T == 0) init(&full, 64);)
    __syncthreads();
    arrive(&full);
    wait(&full, 0);
    o[T] = 1;
}
extern "C" __global__ void __launch_bounds__(128) registers_of_one_warp(int* x, int* f, int* o) {  // TIRx-kernels#53
    if (T < RIGHT(128) WRONG(32)) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    o[T] = x[T];
}

// -- clusters of two blocks ---------------------------------------------------------------------------------

#define CLUSTER(name) extern "C" __global__ void __cluster_dims__(2) name(int* x, int* f, int* o)

CLUSTER(ended_early) {  // a block leaves while the other reads its shared memory
    __shared__ int s[64];
    s[T] = x[T];
    cluster_barrier();
    int value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(of_other_block(s + T)) : "memory");
    o[B * 64 + T] = value;
    RIGHT(cluster_barrier();)
}
CLUSTER(relaxed_barrier) {  // CUTLASS#3324: an arrival at the cluster's barrier that publishes nothing
    __shared__ int s[64];
    s[T] = x[T];
    RIGHT(asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");)
    WRONG(asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");)
    int value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(of_other_block(s + T)) : "memory");
    o[B * 64 + T] = value;
    cluster_barrier();
}
CLUSTER(pushed_without_barrier) {  // what the other block stores here is read after a barrier of this block
    __shared__ int s[64];
    s[T] = 0;
    cluster_barrier();
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(of_other_block(s + T)), "r"(x[T]) : "memory");
    RIGHT(cluster_barrier();) WRONG(__syncthreads();)
    o[B * 64 + T] = s[63 - T];
    cluster_barrier();
}
CLUSTER(overwritten_elsewhere) {  // the other block still reads what the next turn overwrites
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 2; ++i) {
        s[T] = x[64 * i + T];
        cluster_barrier();
        int value;
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(of_other_block(s + T)) : "memory");
        sum += value;
        RIGHT(cluster_barrier();) WRONG(__syncthreads();)
    }
    o[B * 64 + T] = sum;
    cluster_barrier();
}
CLUSTER(signal_of_block) {  // a flag to the other block's mbarrier, of scope .cta, behind data for it
    __shared__ int s[64];
    __shared__ u64 full;
    if (T == 0) init(&full, 64);
    cluster_barrier();
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(of_other_block(s + T)), "r"(x[T]) : "memory");
    RIGHT(asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(of_other_block(&full)) : "memory");)
    WRONG(asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" :: "r"(of_other_block(&full)) : "memory");)
    wait(&full, 0);
    o[B * 64 + T] = s[63 - T];
    cluster_barrier();
}

// -- right, though it may look wrong ------------------------------------------------------------------------

KERNEL(clean_used_before_the_copy) {  // CUTLASS's pipelines: what was loaded has been used when the stage is filled again
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    if (T == 0) init(&full, 1);
    __syncthreads();
    for (int i = 0; i < 3; ++i) {
        if (T == 0) {
            expect(&full, 256);
            load_bulk(s, x + 64 * i, 256, &full);
        }
        wait(&full, i & 1);
        o[64 * i + T] = s[63 - T] + 1;
        __syncthreads();
    }
}
KERNEL(clean_equal_values) {  // all store one value
    __shared__ int s;
    s = 3;
    __syncthreads();
    o[T] = s;
}
KERNEL(clean_half_ended) {  // lanes that have ended do not count at a barrier, since Volta
    if (T % 32 >= 16) return;
    __syncthreads();
    o[T] = x[T];
}
KERNEL(clean_lanes_ended) {  // nor at a shuffle: PTX waits for lanes that have not exited
    if (T % 32 >= 24) return;
    o[T] = __shfl_xor_sync(~0u, x[T], 1);
}
KERNEL(clean_lock_of_lanes) {  // lanes of one warp take a lock one after another
    bool done = false;
    while (!done) {
        if (atomicCAS(f, 0, 1) == 0) {
            __threadfence();
            o[0] += 1;
            __threadfence();
            atomicExch(f, 0);
            done = true;
        }
    }
}
KERNEL(clean_chain_of_flags) {  // what block 0 released reaches block 2 through block 1
    if (B == 0) {
        o[0] = 7;
        store_release(f, 1);
    } else if (B == 1) {
        while (load_acquire(f) == 0) {}
        store_release(f + 32, 1);
    } else {
        while (load_acquire(f + 32) == 0) {}
        o[1] = o[0];
    }
}
KERNEL(clean_leader_acquires) {  // one thread waits for the flag, and its block's barrier hands on what it saw
    if (B == 0) {
        o[T] = x[T];
        __syncthreads();
        if (T == 0) store_release(f, 1);
    } else {
        if (T == 0) while (load_acquire(f) == 0) {}
        __syncthreads();
        o[64 + T] = o[63 - T];
    }
}
KERNEL(clean_release_sequence) {  // an atomic addition of another block keeps what the first one released
    if (B == 0) {
        o[0] = 7;
        __threadfence();
        atomicAdd(f, 1);
    } else if (B == 1) {
        atomicAdd(f, 1);
    } else {
        while (load_acquire(f) < 2) {}
        o[1] = o[0];
    }
}
KERNEL(clean_volatile_spin) {  // a volatile flag that waits, with fences
    if (B == 0) {
        o[0] = 7;
        __threadfence();
        *(volatile int*)f = 1;
    } else {
        while (*(volatile int*)f == 0) {}
        __threadfence();
        o[1] = o[0];
    }
}
KERNEL(clean_halves_apart) {  // masks of sixteen lanes, and lanes of one half exchange
    __shared__ int s[32];
    s[T] = x[T];
    __syncwarp(T < 16 ? 0xffff : 0xffff0000);
    o[T] = s[T ^ 8];
}
KERNEL(clean_system_scope) {  // atomics of two scopes that both include the other thread
    if (B == 0) atomicAdd_system(o, 1);
    else atomicAdd(o, 1);
}
KERNEL(clean_own_read_only) {  // ld.global.nc of what nobody writes, beside stores
    o[T] = __ldg(x + 63 - T);
    __syncthreads();
    o[64 + T] = __ldg(x + T) + o[63 - T];
}
KERNEL(clean_relaxed_counter) {  // relaxed atomics, and no other data behind them
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(o) : "memory");
}
KERNEL(clean_stages_of_mbarriers) {  // an mbarrier is used again phase by phase
    __shared__ int s[64];
    __shared__ u64 full;
    if (T == 0) init(&full, 64);
    __syncthreads();
    for (int i = 0; i < 3; ++i) {
        s[T] = x[64 * i + T];
        arrive(&full);
        wait(&full, i & 1);
        o[64 * i + T] = s[63 - T];
        __syncthreads();
    }
}
__device__ unsigned int arrived;
KERNEL(clean_last_block_of_the_guide) {  // as in the CUDA programming guide: volatile sums, one fence, a count set back
    __shared__ bool last;
    volatile int* sums = o;
    if (T == 0) {
        sums[B] = x[B];
        __threadfence();
        last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && T == 0) {
        int total = 0;
        for (int i = 0; i < (int)gridDim.x; ++i) total += sums[i];
        sums[64] = total;
        arrived = 0;
    }
}
KERNEL(clean_semaphore) {  // CUTLASS's: blocks add to one tile in turn, and thread 0 waits and tells
    if (T == 0) while (load_acquire(f) != B) {}
    __syncthreads();
    o[T] += x[B * 64 + T];
    __syncthreads();
    if (T == 0) store_release(f, B + 1);
}
KERNEL(clean_arrivals) {  // CUTLASS's: blocks count with red.release, and the last turns to what all wrote
    o[B * 64 + T] = x[T];
    __syncthreads();
    if (T == 0) asm volatile("fence.acq_rel.gpu;\nred.relaxed.gpu.global.add.s32 [%0], 1;" :: "l"(f) : "memory");
    if (B == 0) {
        if (T == 0) while (load_acquire(f) != (int)gridDim.x) {}
        __syncthreads();
        for (int i = 0; i < (int)gridDim.x; ++i) o[512 + T] += o[i * 64 + T];
    }
}
KERNEL(clean_lock_by_instructions) {  // the lock's own instructions acquire and release
    int old;
    do asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(f) : "memory");
    while (old != 0);
    o[0] += 1;
    store_release(f, 0);
}
KERNEL(clean_leader_fences) {  // thread 0 waits, has a fence, and the barrier hands on what it saw
    if (B == 0) {
        o[T] = x[T];
        __threadfence();
        __syncthreads();
        if (T == 0) atomicExch(f, 1);
    } else {
        if (T == 0) {
            while (atomicAdd(f, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        o[64 + T] = o[63 - T];
    }
}
KERNEL(clean_flag_for_the_system) {  // a wider scope than it takes
    if (B == 0) {
        o[0] = 7;
        asm volatile("st.release.sys.global.u32 [%0], 1;" :: "l"(f) : "memory");
    } else {
        int flag;
        do asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(flag) : "l"(f) : "memory");
        while (flag == 0);
        o[1] = o[0];
    }
}
KERNEL(clean_flag_in_the_block) {  // scope .cta, and both warps are of one block
    if (T == 0) {
        o[0] = 7;
        store_release_block(f, 1);
    } else if (T == 32) {
        int flag;
        do asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(flag) : "l"(f) : "memory");
        while (flag == 0);
        o[1] = o[0];
    }
}
KERNEL(clean_scopes_in_turn) {  // atomics of one block, then a flag, then atomics of all
    if (B == 0) {
        atomicAdd_block(o, 1);
        __threadfence();
        atomicExch(f, 1);
    } else {
        while (atomicAdd(f, 0) == 0) {}
        __threadfence();
        atomicAdd(o, 1);
    }
}
KERNEL(clean_read_only_beside) {  // ld.global.nc of one half of an array, and stores to the other
    o[T] = x[T];
    __syncthreads();
    o[64 + T] = __ldg(o + 512 + T) + o[63 - T];
}
KERNEL(clean_data_then_mbarrier) {  // bytes that were data become an mbarrier: only the way back needs mbarrier.inval
    __shared__ __align__(8) int s[64];
    s[T] = x[T];
    __syncthreads();
    o[T] = s[63 - T];
    __syncthreads();
    u64* full = (u64*)s;
    if (T == 0) init(full, 64);
    __syncthreads();
    arrive(full);
    wait(full, 0);
}
KERNEL(clean_many_readers) {  // five warps read, and all arrive before the sixth overwrites
    __shared__ int s[32];
    for (int i = 0; i < 2; ++i) {
        if (T >= 160) s[T % 32] = x[T + i];
        __syncthreads();
        if (T < 160) o[i * 256 + T] = s[T % 32];
        if (T < 160) asm volatile("bar.arrive 1, 192;" ::: "memory");
        else asm volatile("bar.sync 1, 192;" ::: "memory");
    }
}
KERNEL(clean_volatile_in_turn) {  // volatile accesses with barriers between
    __shared__ volatile int s[64];
    for (int i = 0; i < 2; ++i) {
        s[T] = x[T + i];
        __syncthreads();
        o[i * 64 + T] = s[63 - T];
        __syncthreads();
    }
}
KERNEL(clean_volatile_own) {  // each thread has its own element
    volatile int* p = o;
    p[T] = p[T] + 1;
    p[T] = p[T] + 1;
}
KERNEL(clean_shuffled_halves) {  // a sum by halves of a warp, with their masks, then of the warp
    __shared__ int s[2];
    const u32 mask = T < 16 ? 0xffff : 0xffff0000;
    int sum = x[T];
    for (int d = 8; d; d /= 2) sum += __shfl_xor_sync(mask, sum, d);
    if (T % 16 == 0) s[T / 16] = sum;
    __syncwarp();
    o[T] = s[0] + s[1];
}
extern "C" __global__ void __launch_bounds__(256) clean_registers_by_role(int* x, int* f, int* o) {  // whole warpgroups
    if (T < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    else asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
    o[T] = x[T];
}
KERNEL(clean_fence_by_the_leader) {  // after the barrier, the thread that copies has the proxy fence for all
    __shared__ __align__(128) int s[64];
    __shared__ u64 full;
    s[T] = x[T];
    if (T == 0) init(&full, 1);
    __syncthreads();
    const int before = s[63 - T];
    __syncthreads();
    if (T == 0) {
        FENCE_PROXY;
        expect(&full, 256);
        load_bulk(s, x + 64, 256, &full);
    }
    wait(&full, 0);
    o[T] = s[T] + before;
}
__device__ int zeros[64];
KERNEL(clean_variable_not_written) { o[T] = zeros[T] + x[T]; }  // variables of the module start as zeros
KERNEL(clean_flags_by_lane) {  // each lane waits for another block's flag, and then one reads what all stored
    if (B < 3) {
        o[B] = x[B];
        store_release(f + B, 1);
    } else {
        if (T < 3) while (load_acquire(f + T) == 0) {}
        __syncwarp();
        if (T == 0) o[64] = o[0] + o[1] + o[2];
    }
}
KERNEL(clean_flag_in_turn) {  // two blocks hand one word to and fro
    for (int i = 0; i < 3; ++i) {
        while (load_acquire(f) != 2 * i + B) {}
        o[0] += x[B + 1];
        store_release(f, 2 * i + B + 1);
    }
}
KERNEL(clean_value_with_its_flag) {  // NCCL's: a value and its flag in one volatile access
    int value = 0, flag = 0;
    if (B == 0) asm volatile("st.volatile.global.v2.u32 [%0], {%1, 1};" :: "l"(f), "r"(x[7]) : "memory");
    else {
        do asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(value), "=r"(flag) : "l"(f) : "memory");
        while (flag == 0);
        o[0] = value;
    }
}
KERNEL(clean_look_back_in_a_word) {  // CUB's: sum and state in one word
    u64* words = (u64*)f;
    u64 before = 1;
    if (B) {
        do asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(before) : "l"(words + B - 1) : "memory");
        while ((before & 1) == 0);
    }
    const u64 sum = (before >> 32) + x[B];
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(words + B), "l"(sum << 32 | 1) : "memory");
    o[B] = (int)sum;
}
KERNEL(clean_rows_of_one_array) {  // a two-dimensional array, by one index
    __shared__ int s[8][8];
    s[T / 8][T % 8] = x[T];
    __syncthreads();
    o[T] = (&s[0][0])[63 - T];
}
KERNEL(clean_addition_by_cas) {  // as in the CUDA programming guide: a plain look, and atomicCAS until it was right
    int old = o[0], assumed;
    do {
        assumed = old;
        old = atomicCAS(o, assumed, assumed + x[T]);
    } while (assumed != old);
}
