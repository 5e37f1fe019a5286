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
//! wrong, idle: it waits for all stores
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<0>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong, reading: no wait
    char* tile = buffers + i % 2 * 8192;
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong, reading: no barrier behind the wait
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong, fence: no fence
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong, race: no barrier before the store
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group_read<1>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
//! wrong, reading: one buffer
    if (threadIdx.x == 0) wait_group_read<1>();
    __syncthreads();
    put(buffers + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, buffers); commit_group(); }
//! wrong, complete: it waits until D is written
    char* tile = buffers + i % 2 * 8192;
    if (threadIdx.x == 0) wait_group<1>();
    __syncthreads();
    put(tile + threadIdx.x / 32 * 2048, p);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }
