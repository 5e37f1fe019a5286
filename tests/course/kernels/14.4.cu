//! right: the usual order
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_store(D, column, 0, tile);
        commit_group();
        wait_group_read<0>();
    }
//! right: early return
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x != 0) return;
    tma_store(D, column, 0, tile);
    commit_group();
    wait_group_read<0>();
//! right: the last thread
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        tma_store(D, column, 0, tile);
        commit_group(); wait_group_read<0>();
    }
//! right: a fence behind the barrier
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_proxy_async();
        tma_store(D, column, 0, tile);
        commit_group();
        wait_group_read<0>();
    }
//! right: it waits for the store
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 32) {
        tma_store(D, column, 0, tile);
        commit_group();
        wait_group<0>();
    }
    __syncthreads();
//! right: the whole warp waits
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) tma_store(D, column, 0, tile);
        commit_group();
        wait_group_read<0>();
    }
//! wrong: no fence
//! hint: The simulator found a missing proxy fence: TMA reads through the async proxy what
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); wait_group_read<0>(); }
//! wrong: no barrier
//! hint: The simulator found a race: TMA reads rows that other lanes or warps may not have
    fence_proxy_async();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); wait_group_read<0>(); }
//! wrong: one thread fences before the barrier
//! hint: Your fence does not cover all that was written.
    if (threadIdx.x == 0) fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); wait_group_read<0>(); }
//! wrong: all threads store
//! hint: D is stored 128 times over: every thread that calls `tma_store` stores the whole
    fence_proxy_async();
    __syncthreads();
    tma_store(D, column, 0, tile);
    commit_group();
    wait_group_read<0>();
//! wrong: no wait
//! hint: The block may end, and its shared memory with it, while TMA still reads the tile.
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); }
//! wrong: no commit
//! hint: A group ends with a commit.
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); wait_group_read<0>(); }
//! wrong: the row before the column
//! hint: Only the first block's tile has arrived.
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 0, column, tile); commit_group(); wait_group_read<0>(); }
