//! right: the wait first
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_store(D, 64 * i, 0, tile);
        commit_group();
    }
//! right: the wait behind the store
    char* buffer = &buffers[(i & 1) << 13];
    int warp = threadIdx.x >> 5;
    put(buffer + warp * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_store(D, i * 64, 0, buffer);
        commit_group();
        wait_group_read<1>();
    }
    __syncthreads();
//! right: only when a buffer comes again
    char* tile = i % 2 ? buffers + 8192 : buffers;
    if (i >= 2) {
        if (threadIdx.x == 0) wait_group_read<1>();
        __syncthreads();
    }
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! right: all threads wait, with groups of their own
    const bool leader = threadIdx.x == 0;
    char* tile = buffers + 8192 * (i % 2);
    wait_group_read<1>();
    __syncthreads();
    put(tile + 2048 * (threadIdx.x / 32), p);
    fence_proxy_async();
    __syncthreads();
    if (leader) tma_store(D, 64 * i, 0, tile);
    commit_group();
//! right: a helper
__device__ void meet() { fence_proxy_async(); __syncthreads(); }
__device__ void send(char* buffers, const unsigned* p, const TensorMap& D, int i) {
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    meet();
    put(tile + threadIdx.x / 32 * 2048, p);
    meet();
    if (threadIdx.x != 0) return;
    tma_store(D, 64 * i, 0, tile);
    commit_group();
}
//! wrong: it waits for all stores
//! hint: It is right, but nothing overlaps: it waits for *all* stores, also for the one that
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<0>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong: no wait
//! hint: The third tile overwrites the first, which TMA may still be reading.
    char* tile = buffers + i % 2 * 8192;
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong: no barrier behind the wait
//! hint: A buffer is overwritten while TMA may still be reading it.
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong: no fence
//! hint: A proxy fence is missing: every tile is written through the generic proxy and read
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong: no barrier before the store
//! hint: The simulator found a race: TMA reads a tile that other warps may not have written
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong: one buffer
//! hint: A buffer is overwritten while TMA may still be reading it.
    if (threadIdx.x == 0) wait_group_read<1>();
    __syncthreads();
    put(buffers + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, buffers); commit_group(); }
//! wrong: it waits until D is written
//! hint: It is right, but `wait_group` also waits until D is in global memory.
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group<1>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
