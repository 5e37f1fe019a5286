//! right: behind the product
12: mma(d, a, b); __syncthreads();
//! right: at the end of the loop
13: __syncthreads(); }
//! right: at its beginning
6: for (int k = 0; k < K; k += 16) { __syncthreads();
//! right: as soon as the tile is in registers
11: __syncthreads(); load_b(b, B + column * K + k, K);
//! right: two tiles, used alternately
2: __shared__ __align__(16) f16 tiles[2][16 * 24];
6: for (int k = 0; k < K; k += 16) { f16* tile = tiles[k / 16 % 2];
//! right: the loop over, several lines changed
6: int k = 0; while (true) {
13: k += 16; if (k >= K) break; __syncthreads(); }
//! wrong, iteration: behind the loop
14: __syncthreads(); store_d(d, D + column, N);
//! wrong, iteration: of a warp
12: mma(d, a, b); __syncwarp();
//! wrong, barrier: moved
9: ;
12: mma(d, a, b); __syncthreads();
//! wrong, reach: of one thread
12: mma(d, a, b); if (threadIdx.x == 0) __syncthreads();
//! wrong, iteration: a fence in place of a barrier
12: mma(d, a, b); __threadfence_block();
//! wrong, compile: a word too short
12: mma(d, a, b); __syncthread();
