// Rung 7: one thread asks TMA for a whole tile, and an mbarrier signals its arrival.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// 256 threads computed thousands of addresses for cp.async. TMA knows the matrix from its tensor map, and one thread asks for
// a box of it: addresses, swizzle, and zeros outside the matrix are the hardware's business, and so is the
// proxy fence. The bytes that arrive are counted by an mbarrier, one for each stage; whoever needs the tile waits for the
// end of its phase. The barriers' parity tells this phase from the one before.
//
// Rung 8 is this kernel with tiles of 128 x 256: it loads (128 + 256) / (128 * 256) bytes for each product, 128 x 128 a third more.
#include "ptx.cuh"
#include "fragment.cuh"

constexpr int ROW = 128;  // bytes along K that a tile holds of each row: one swizzled line
constexpr int STAGE_BYTES = (BLOCK_M + BLOCK_N) * ROW;
constexpr int THREADS = 128 * BLOCK_M / INSTRUCTION_M;

extern "C" __global__ void __launch_bounds__(THREADS) gemm(
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const Element* C, Result* D,
    int M, int N, int K_bytes)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    const uint32_t stages = shared_address(memory);
    const uint32_t barriers = stages + STAGES * STAGE_BYTES;
    const int columns = (N + BLOCK_N - 1) / BLOCK_N;
    const int row = blockIdx.x / columns * BLOCK_M, column = blockIdx.x % columns * BLOCK_N;
    const int warpgroup_row = threadIdx.x / 128 * INSTRUCTION_M;
    const int count = (K_bytes + ROW - 1) / ROW;

    if (threadIdx.x == 0) {
        // One arrival, from the thread that issues the TMA load.
        for (int i = 0; i < STAGES; ++i) mbarrier_init(barriers + 8 * i, 1);
        mbarrier_init_fence();
    }
    __syncthreads();

    const auto load = [&](int i) {
        if (i >= count) return;
        const uint32_t stage = stages + i % STAGES * STAGE_BYTES, barrier = barriers + 8 * (i % STAGES);
        mbarrier_expect(barrier, STAGE_BYTES);
        tma_load(stage, A, i * ROW / MAP_UNIT, row, barrier);
        tma_load(stage + BLOCK_M * ROW, B, i * ROW / MAP_UNIT, column, barrier);
    };

    Accumulator d[ACCUMULATORS];
    start(d, C, row + warpgroup_row, column, M, N);
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES - 1; ++i) load(i);
    for (int i = 0; i < count; ++i) {
        if (threadIdx.x == 0) load(i + STAGES - 1);  // into the place of tile i - 1
        mbarrier_wait(barriers + 8 * (i % STAGES), i / STAGES % 2);
        const uint32_t a = stages + i % STAGES * STAGE_BYTES + warpgroup_row * ROW;
        const uint32_t b = stages + i % STAGES * STAGE_BYTES + BLOCK_M * ROW;
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < ROW; step += 32) multiply(d, descriptor(a + step), descriptor(b + step), 1);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();  // nobody multiplies tile i any more
    }
    finish(d, D, row + warpgroup_row, column, M, N);
}
