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
//! wrong: before the store
//! hint: The copy still reads what the stores wrote through the other proxy.
8: fence_proxy_async(); store_d(d, tile, 8);
//! wrong: in place of the barrier
//! hint: The fence does not wait for other lanes: the barrier is needed as well.
9: fence_proxy_async();
//! wrong: by one thread, before the barrier
//! hint: The copy still reads what the stores wrote through the other proxy.
9: if (threadIdx.x == 0) fence_proxy_async(); __syncwarp();
//! wrong: another fence
//! hint: The copy still reads what the stores wrote through the other proxy.
9: __threadfence_block(); __syncwarp();
//! wrong: behind the copy
//! hint: The copy still reads what the stores wrote through the other proxy.
12: fence_proxy_async(); cp_async_bulk_commit_group();
//! wrong: no copy any more
//! hint: Every line that was there is still needed.
11: fence_proxy_async();
