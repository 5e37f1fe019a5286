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
//! wrong, fence: no fence
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); wait_group_read<0>(); }
//! wrong, race: no barrier
    fence_proxy_async();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); wait_group_read<0>(); }
//! wrong, fence: one thread fences before the barrier
    if (threadIdx.x == 0) fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); wait_group_read<0>(); }
//! wrong, times: all threads store
    fence_proxy_async();
    __syncthreads();
    tma_store(D, column, 0, tile);
    commit_group();
    wait_group_read<0>();
//! wrong, ends: no wait
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); }
//! wrong, commit: no commit
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, column, 0, tile); wait_group_read<0>(); }
//! wrong, column: the row before the column
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) { tma_store(D, 0, column, tile); commit_group(); wait_group_read<0>(); }
