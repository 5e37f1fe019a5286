// Rung 4: warps compute 64 x 64 instead of 32 x 32, and fetch the next fragments while they multiply.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// For w x w of D a warp reads 2 w rows from shared memory and does w w products with each of their bytes: twice the width,
// half the traffic for the same work. The accumulators of 64 x 64 are 128 registers of each lane; that is why tiles
// do not grow on and on. Two sets of fragments take turns: one is multiplied while ldmatrix fills the other.
#include "ptx.cuh"
#include "fragment.cuh"

constexpr int ROW = 128;  // bytes along K that a tile holds of each row
constexpr int STEPS = ROW / 32;
constexpr int THREADS = 32 * WARPS_M * WARPS_N;
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
constexpr int TILES_M = WARP_M / INSTRUCTION_M, TILES_N = WARP_N / INSTRUCTION_N;
static_assert(BLOCK_M * ROW / 16 % THREADS == 0 && BLOCK_N * ROW / 16 % THREADS == 0, "all threads copy as much");
static_assert(TILES_N % 2 == 0, "ldmatrix fetches two tiles of B at a time");

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

// What a warp multiplies in one step along K.
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
    uint8_t* a_tile = memory;
    uint8_t* b_tile = memory + BLOCK_M * ROW;
    const int columns = (N + BLOCK_N - 1) / BLOCK_N;
    const int row = blockIdx.x / columns * BLOCK_M, column = blockIdx.x % columns * BLOCK_N;
    const int warp = threadIdx.x / 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;

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
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            finish(d[i][j], D, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);
}
