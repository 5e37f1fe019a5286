// Rung 3: ldmatrix fetches whole fragments, and a swizzle keeps their rows in different banks.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// ldmatrix reads matrices of 8 rows x 16 bytes and deals them out as mma wants them; four of them are one fragment of A, or
// those of two neighbouring tiles of B. Lane l names row l % 8 of matrix l / 8.
//
// The swizzle: the chunk of 16 bytes that belongs at place c of row r lies at place c ^ (r % 8). Eight rows at the same c
// then are in eight different groups of four banks, and one ldmatrix takes as few cycles as it can.
#include "ptx.cuh"
#include "fragment.cuh"

constexpr int ROW = 128;  // bytes along K that a tile holds of each row
constexpr int THREADS = 32 * WARPS_M * WARPS_N;
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
constexpr int TILES_M = WARP_M / INSTRUCTION_M, TILES_N = WARP_N / INSTRUCTION_N;
static_assert(BLOCK_M * ROW / 16 % THREADS == 0 && BLOCK_N * ROW / 16 % THREADS == 0, "all threads copy as much");
static_assert(TILES_N % 2 == 0, "ldmatrix fetches two tiles of B at a time");

// Where byte `byte` of row `row` lies in a tile.
__device__ __forceinline__ int swizzled(int row, int byte) { return row * ROW + (byte ^ row % 8 * 16); }

__device__ __forceinline__ void copy_tile(
    uint8_t* tile, const uint8_t* matrix, int tile_rows, int row, int rows, int byte, int row_bytes)
{
#pragma unroll
    for (int first = 0; first < tile_rows * ROW / 16; first += THREADS) {
        const int r = (first + threadIdx.x) / (ROW / 16), c = threadIdx.x % (ROW / 16) * 16;
        uint4 value = {0, 0, 0, 0};
        if (row + r < rows && byte + c < row_bytes)
            value = *(const uint4*)(matrix + (size_t)(row + r) * row_bytes + byte + c);
        *(uint4*)(tile + swizzled(r, c)) = value;
    }
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
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;

    // The rows and chunks that this lane names: of A two matrices below each other, then the same 16 bytes further on; of
    // B two matrices beside each other, then those of the next tile.
    const int a_row = warp_m + lane % 16, a_byte = lane / 16 * 16;
    const int b_row = warp_n + lane % 8 + lane / 16 * 8, b_byte = lane / 8 % 2 * 16;

    Accumulator d[TILES_M][TILES_N][ACCUMULATORS];
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            start(d[i][j], C, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);

    for (int k = 0; k < K_bytes; k += ROW) {
        copy_tile(a_tile, A, BLOCK_M, row, M, k, K_bytes);
        copy_tile(b_tile, B, BLOCK_N, column, N, k, K_bytes);
        __syncthreads();
        for (int step = 0; step < ROW; step += 32) {
            uint32_t b[TILES_N][2];
#pragma unroll
            for (int j = 0; j < TILES_N; j += 2)
                ldmatrix_x4(b[j][0], b[j][1], b[j + 1][0], b[j + 1][1],
                            shared_address(b_tile + swizzled(b_row + j * INSTRUCTION_N, step + b_byte)));
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
                uint32_t a[4];
                ldmatrix_x4(a[0], a[1], a[2], a[3],
                            shared_address(a_tile + swizzled(a_row + i * INSTRUCTION_M, step + a_byte)));
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) multiply(d[i][j], a, b[j], d[i][j]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            finish(d[i][j], D, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);
}
