// Rung 5: cp.async copies the tiles of later steps while this one is multiplied.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// Shared memory becomes a ring of STAGES tiles. cp.async moves 16 bytes from global to shared memory without a register
// and without waiting; the copies of one tile are committed as a group. While tile i is multiplied, tiles i + 1 to
// i + STAGES - 1 are on their way, and the latency of global memory is hidden.
#include "ptx.cuh"
#include "fragment.cuh"

constexpr int ROW = 128;  // bytes along K that a tile holds of each row
constexpr int STEPS = ROW / 32;
constexpr int STAGE_BYTES = (BLOCK_M + BLOCK_N) * ROW;
constexpr int THREADS = 32 * WARPS_M * WARPS_N;
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
constexpr int TILES_M = WARP_M / INSTRUCTION_M, TILES_N = WARP_N / INSTRUCTION_N;
static_assert(BLOCK_M * ROW / 16 % THREADS == 0 && BLOCK_N * ROW / 16 % THREADS == 0, "all threads copy as much");
static_assert(TILES_N % 2 == 0, "ldmatrix fetches two tiles of B at a time");

__device__ __forceinline__ int swizzled(int row, int byte) { return row * ROW + (byte ^ row % 8 * 16); }

// Starts the copy of a tile; what is outside the matrix arrives as zeros.
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

struct Fragments {
    uint32_t a[TILES_M][4], b[TILES_N][2];

    __device__ __forceinline__ void fetch(const uint8_t* a_tile, const uint8_t* b_tile, int warp_m, int warp_n, int step)
    {
        const int lane = threadIdx.x % 32;
        const int a_row = warp_m + lane % 16, a_byte = step * 32 + lane / 16 * 16;
        const int b_row = warp_n + lane % 8 + lane / 16 * 8, b_byte = step * 32 + lane / 8 % 2 * 16;
#pragma unroll
        for (int i = 0; i < TILES_M; ++i)
            ldmatrix_x4(a[i][0], a[i][1], a[i][2], a[i][3],
                        shared_address(a_tile + swizzled(a_row + i * INSTRUCTION_M, a_byte)));
#pragma unroll
        for (int j = 0; j < TILES_N; j += 2)
            ldmatrix_x4(b[j][0], b[j][1], b[j + 1][0], b[j + 1][1],
                        shared_address(b_tile + swizzled(b_row + j * INSTRUCTION_N, b_byte)));
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) gemm(
    const uint8_t* A, const uint8_t* B, const Element* C, Result* D, int M, int N, int K_bytes)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    const int columns = (N + BLOCK_N - 1) / BLOCK_N;
    const int row = blockIdx.x / columns * BLOCK_M, column = blockIdx.x % columns * BLOCK_N;
    const int warp = threadIdx.x / 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    const int count = (K_bytes + ROW - 1) / ROW;  // of tiles along K

    // Every call commits a group, an empty one past the end, so that groups can be counted.
    const auto load = [&](int i) {
        uint8_t* stage = memory + i % STAGES * STAGE_BYTES;
        if (i < count) {
            copy_tile(stage, A, BLOCK_M, row, M, i * ROW, K_bytes);
            copy_tile(stage + BLOCK_M * ROW, B, BLOCK_N, column, N, i * ROW, K_bytes);
        }
        cp_async_commit();
    };

    Accumulator d[TILES_M][TILES_N][ACCUMULATORS];
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            start(d[i][j], C, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);

    for (int i = 0; i < STAGES - 1; ++i) load(i);
    for (int i = 0; i < count; ++i) {
        cp_async_wait<STAGES - 2>();  // this thread's part of tile i is there
        __syncthreads();              // everybody's is, and everybody has done with tile i - 1
        load(i + STAGES - 1);         // into the place of tile i - 1
        const uint8_t* a_tile = memory + i % STAGES * STAGE_BYTES;
        const uint8_t* b_tile = a_tile + BLOCK_M * ROW;
        Fragments fragments[2];
        fragments[0].fetch(a_tile, b_tile, warp_m, warp_n, 0);
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (step + 1 < STEPS) fragments[(step + 1) % 2].fetch(a_tile, b_tile, warp_m, warp_n, step + 1);
            const Fragments& now = fragments[step % 2];
#pragma unroll
            for (int i = 0; i < TILES_M; ++i)
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) multiply(d[i][j], now.a[i], now.b[j], d[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            finish(d[i][j], D, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);
}
