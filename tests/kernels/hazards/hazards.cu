// Kernels that have a hazard each; with FIXED defined, each just avoids it.
// One block of 64 threads unless the list in tests/test_hazards.py says otherwise.
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

extern "C" __global__ void next_turn(int* x) {  // the second turn overwrites what others still read
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

// -- barriers -----------------------------------------------------------------------------------------------

extern "C" __global__ void divided(int* x) {  // one barrier in each branch, and the warp divides
    if (threadIdx.x % IF_FIXED(64) IF_BROKEN(2) < 32 - IF_FIXED(0) IF_BROKEN(31)) {
        x[threadIdx.x] = 1;
        __syncthreads();
    } else {
        x[threadIdx.x] = 2;
        __syncthreads();
    }
}
