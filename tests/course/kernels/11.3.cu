//! right: before the second product
16: wgmma_fence();
wgmma(d, descriptor(tile_a), descriptor(tile_b));
//! right: behind the loop
15: d[r] *= 0.5f; wgmma_fence();
//! right: the loop with braces
14: for (int r = 0; r < 4; r++) {
15: d[r] *= 0.5f; }
16: wgmma_fence(); wgmma(d, descriptor(tile_a), descriptor(tile_b));
//! right: written out
14: d[0] *= 0.5f; d[1] *= 0.5f; d[2] *= 0.5f; d[3] *= 0.5f;
15: wgmma_fence();
//! right: written as PTX
15: d[r] = d[r] / 2;
16: asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); wgmma(d, descriptor(tile_a), descriptor(tile_b));
//! wrong: before the threads change d
//! hint: The second `wgmma` may still use accumulators from before they were halved.
13: wgmma_wait_group(); wgmma_fence();
//! wrong: a barrier in its place
//! hint: The second `wgmma` may still use accumulators from before they were halved.
16: __syncthreads(); wgmma(d, descriptor(tile_a), descriptor(tile_b));
//! wrong: the other fence
//! hint: The second `wgmma` may still use accumulators from before they were halved.
16: fence_proxy_async(); wgmma(d, descriptor(tile_a), descriptor(tile_b));
//! wrong: without the first wait
//! hint: Now threads touch the accumulators while the first `wgmma` may still write them
13: ;
16: wgmma_fence(); wgmma(d, descriptor(tile_a), descriptor(tile_b));
//! wrong: without the halving
//! hint: Both products and the halving are needed; only their order was not safe.
14: ;
15: ;
//! wrong: without the second product
//! hint: Both products and the halving are needed; only their order was not safe.
16: wgmma_fence();
