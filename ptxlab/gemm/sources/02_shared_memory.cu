// Rung 2: a block copies tiles of A and B to shared memory once, and all of its warps read them from there.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// A block computes 64 x 64 of D. Of A and B it needs 64 rows each; 128 bytes of every row at a time go to shared memory in
// chunks of 16 bytes. Each byte of A is now read from global memory N / 64 times instead of N / 8.
//
// What is not good yet: rows lie 128 bytes apart, which is once around the 32 banks. When 8 rows are read at the same
// byte, as a fragment wants it, all 8 words are in one bank and are served one after the other.
#include "fragment.cuh"

constexpr int ROW = 128;                                      // bytes along K that a tile holds of each row
constexpr int THREADS = 32 * WARPS_M * WARPS_N;
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;  // what one warp computes
constexpr int TILES_M = WARP_M / INSTRUCTION_M, TILES_N = WARP_N / INSTRUCTION_N;
static_assert(BLOCK_M * ROW / 16 % THREADS == 0 && BLOCK_N * ROW / 16 % THREADS == 0, "all threads copy as much");

// Copies rows of a matrix to shared memory, with zeros for what is outside.
__device__ __forceinline__ void copy_tile(
    uint8_t* tile, const uint8_t* matrix, int tile_rows, int row, int rows, int byte, int row_bytes)
{
#pragma unroll
    for (int first = 0; first < tile_rows * ROW / 16; first += THREADS) {
        const int r = (first + threadIdx.x) / (ROW / 16), c = threadIdx.x % (ROW / 16) * 16;
        uint4 value = {0, 0, 0, 0};
        if (row + r < rows && byte + c < row_bytes)
            value = *(const uint4*)(matrix + (size_t)(row + r) * row_bytes + byte + c);
        *(uint4*)(tile + r * ROW + c) = value;
    }
}

__device__ __forceinline__ uint32_t word(const uint8_t* tile, int row, int byte)
{
    return *(const uint32_t*)(tile + row * ROW + byte);
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(
    const uint8_t* A, const uint8_t* B, const Element* C, Result* D, int M, int N, int K_bytes)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    uint8_t* a_tile = memory;
    uint8_t* b_tile = memory + BLOCK_M * ROW;
    const int columns = (N + BLOCK_N - 1) / BLOCK_N;
    const int row = blockIdx.x / columns * BLOCK_M, column = blockIdx.x % columns * BLOCK_N;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;  // where this warp works in the tile

    Accumulator d[TILES_M][TILES_N][ACCUMULATORS];
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            start(d[i][j], C, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);

    for (int k = 0; k < K_bytes; k += ROW) {
        copy_tile(a_tile, A, BLOCK_M, row, M, k, K_bytes);
        copy_tile(b_tile, B, BLOCK_N, column, N, k, K_bytes);
        __syncthreads();  // the tiles are complete
        for (int step = 0; step < ROW; step += 32) {
            const int byte = step + lane % 4 * 4;
            uint32_t b[TILES_N][2];
#pragma unroll
            for (int j = 0; j < TILES_N; ++j) {
                const int n = warp_n + j * INSTRUCTION_N + lane / 4;
                b[j][0] = word(b_tile, n, byte);
                b[j][1] = word(b_tile, n, byte + 16);
            }
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
                const int m = warp_m + i * INSTRUCTION_M + lane / 4;
                const uint32_t a[4] = {word(a_tile, m, byte), word(a_tile, m + 8, byte),
                                       word(a_tile, m, byte + 16), word(a_tile, m + 8, byte + 16)};
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) multiply(d[i][j], a, b[j], d[i][j]);
            }
        }
        __syncthreads();  // everybody has read them: they may be overwritten
    }
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            finish(d[i][j], D, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);
}
