// Rung 6: with wgmma, four warps together multiply tiles straight from shared memory.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// A warpgroup, four warps, names a tile of A (64 rows) and one of B (up to 256) by descriptors: no ldmatrix, no fragments in
// registers, only accumulators. The swizzle of rung 3 is the hardware's own, and the descriptor says so.
//
// wgmma reads shared memory through another path than the threads that wrote it, the async proxy: each of them
// has to fence what it wrote before the barrier. wgmma also runs while the warps go on; after commit and
// wait the accumulators are complete and the tiles may be overwritten.
#include "ptx.cuh"
#include "fragment.cuh"

constexpr int ROW = 128;  // bytes along K that a tile holds of each row: one swizzled line
constexpr int STAGE_BYTES = (BLOCK_M + BLOCK_N) * ROW;
constexpr int THREADS = 128 * BLOCK_M / INSTRUCTION_M;
static_assert(BLOCK_M * ROW / 16 % THREADS == 0 && BLOCK_N * ROW / 16 % THREADS == 0, "all threads copy as much");

__device__ __forceinline__ int swizzled(int row, int byte) { return row * ROW + (byte ^ row % 8 * 16); }

__device__ __forceinline__ void copy_tile(
    uint8_t* tile, const uint8_t* matrix, int tile_rows, int row, int rows, int byte, int row_bytes)
{
#pragma unroll
    for (int first = 0; first < tile_rows * ROW / 16; first += THREADS) {
        const int r = (first + threadIdx.x) / (ROW / 16), c = threadIdx.x % (ROW / 16) * 16;
        const bool inside = row + r < rows && byte + c < row_bytes;
        const uint8_t* from = inside ? matrix + (size_t)(row + r) * row_bytes + byte + c : matrix;
        cp_async_16(shared_address(tile + swizzled(r, c)), from, inside);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(
    const uint8_t* A, const uint8_t* B, const Element* C, Result* D, int M, int N, int K_bytes)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    const int columns = (N + BLOCK_N - 1) / BLOCK_N;
    const int row = blockIdx.x / columns * BLOCK_M, column = blockIdx.x % columns * BLOCK_N;
    const int warpgroup_row = threadIdx.x / 128 * INSTRUCTION_M;
    const int count = (K_bytes + ROW - 1) / ROW;

    const auto load = [&](int i) {
        uint8_t* stage = memory + i % STAGES * STAGE_BYTES;
        if (i < count) {
            copy_tile(stage, A, BLOCK_M, row, M, i * ROW, K_bytes);
            copy_tile(stage + BLOCK_M * ROW, B, BLOCK_N, column, N, i * ROW, K_bytes);
        }
        cp_async_commit();
    };

    Accumulator d[ACCUMULATORS];
    start(d, C, row + warpgroup_row, column, M, N);
    for (int i = 0; i < STAGES - 1; ++i) load(i);
    for (int i = 0; i < count; ++i) {
        cp_async_wait<STAGES - 2>();
        fence_async_proxy();  // this thread's part of tile i is there, also for wgmma
        __syncthreads();      // everybody's is, and nobody multiplies tile i - 1 any more
        const uint32_t a = shared_address(memory + i % STAGES * STAGE_BYTES) + warpgroup_row * ROW;
        const uint32_t b = shared_address(memory + i % STAGES * STAGE_BYTES) + BLOCK_M * ROW;
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < ROW; step += 32) multiply(d, descriptor(a + step), descriptor(b + step), 1);
        wgmma_commit();
        load(i + STAGES - 1);  // into the place of tile i - 1, while the tensor cores are busy
        wgmma_wait<0>();
    }
    finish(d, D, row + warpgroup_row, column, M, N);
}
