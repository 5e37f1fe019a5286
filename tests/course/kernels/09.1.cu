//! right: behind the store
8: store_d(d, tile, 8); fence_proxy_async();
//! right: before the barrier, on a line of its own
9: fence_proxy_async();
__syncwarp();
//! right: by the thread that copies
10: if (threadIdx.x == 0) { fence_proxy_async();
//! right: written as PTX
8: store_d(d, tile, 8); asm volatile("fence.proxy.async;" ::: "memory");
//! right: a barrier of the block
9: fence_proxy_async(); __syncthreads();
//! wrong, store: before the store
8: fence_proxy_async(); store_d(d, tile, 8);
//! wrong, race: in place of the barrier
9: fence_proxy_async();
//! wrong, fence: by one thread, before the barrier
9: if (threadIdx.x == 0) fence_proxy_async(); __syncwarp();
//! wrong, fence: another fence
9: __threadfence_block(); __syncwarp();
//! wrong, fence: behind the copy
12: fence_proxy_async(); cp_async_bulk_commit_group();
//! wrong, any: no copy any more
11: fence_proxy_async();
