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
//! wrong: behind the loop
//! hint: A fast warp still fills the tile for the next iteration while a slow one reads it.
14: __syncthreads(); store_d(d, D + column, N);
//! wrong: of a warp
//! hint: A fast warp still fills the tile for the next iteration while a slow one reads it.
12: mma(d, a, b); __syncwarp();
//! wrong: moved
//! hint: Now a warp reads elements of the tile that others may not have written yet: the
9: ;
12: mma(d, a, b); __syncthreads();
//! wrong: of one thread
//! hint: All threads of the block have to reach a barrier.
12: mma(d, a, b); if (threadIdx.x == 0) __syncthreads();
//! wrong: a fence in place of a barrier
//! hint: A fast warp still fills the tile for the next iteration while a slow one reads it.
12: mma(d, a, b); __threadfence_block();
//! wrong: a word too short
//! hint: does not compile
12: mma(d, a, b); __syncthread();
