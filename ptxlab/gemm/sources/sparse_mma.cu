// Rung 5 with a sparse A: mma.sp, for chips since Ampere.
//
// D = A B + C. A is compressed, as compress.cu does it: its kept half, `stored`, is [M, K / 2], and metadata has one word for
// each lane, 16 rows and 16 chunks. B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// The kernel is that of rung 5: a ring of tiles that cp.async fills while earlier ones are multiplied. What is new:
//
// - Whatever the type, one mma.sp takes 32 bytes of each stored row of A and 64 bytes of each column of B. A fragment of A is
//   one ldmatrix.x4 of 16 rows, as it is of a dense A; a fragment of B is one of 8 columns.
// - The words of metadata are copied with the tiles: those of 64 rows and one stage are contiguous. Each lane of a warp then
//   reads its own.
#include "ptx.cuh"
#include "fragment.cuh"

constexpr int ROW = 128;                                     // bytes of a row in shared memory: of a stored row of A, and
constexpr int STEPS = ROW / 32;                              // of half of a column of B
constexpr int SLAB_BYTES = BLOCK_N * ROW;                    // B is two slabs, one for each half of K
constexpr int WORDS = STEPS / SELECTORS;                     // of metadata that a lane needs in a stage
constexpr int A_BYTES = BLOCK_M * ROW, B_BYTES = 2 * SLAB_BYTES;
constexpr int E_BYTES = BLOCK_M / 64 * WORDS * 512;          // 64 rows: a word for each lane of four warps
constexpr int STAGE_BYTES = A_BYTES + B_BYTES + E_BYTES;
constexpr int THREADS = 32 * WARPS_M * WARPS_N;
constexpr int WARP_M = BLOCK_M / WARPS_M, WARP_N = BLOCK_N / WARPS_N;
constexpr int TILES_M = WARP_M / INSTRUCTION_M, TILES_N = WARP_N / INSTRUCTION_N;

__device__ __forceinline__ int swizzled(int row, int byte) { return row * ROW + (byte ^ row % 8 * 16); }

// Starts the copy of a tile; what is outside the matrix arrives as zeros.
__device__ __forceinline__ void copy_tile(
    uint8_t* tile, const uint8_t* matrix, int tile_rows, int row, int rows, int byte, int row_bytes)
{
    for (int chunk = threadIdx.x; chunk < tile_rows * ROW / 16; chunk += THREADS) {
        const int r = chunk / (ROW / 16), c = chunk % (ROW / 16) * 16;
        const bool inside = row + r < rows && byte + c < row_bytes;
        const uint8_t* from = inside ? matrix + (size_t)(row + r) * row_bytes + byte + c : matrix;
        cp_async_16(shared_address(tile + swizzled(r, c)), from, inside);
    }
}

// Starts the copy of the metadata of a stage; below the last row of A, which is zero there, any will do.
__device__ __forceinline__ void copy_metadata(uint8_t* to, const uint32_t* metadata, int row, int M, int word, int words)
{
    const int last = (M - 1) / 64, some = min(WORDS, words - word);
    for (int chunk = threadIdx.x; chunk < BLOCK_M / 64 * some * 32; chunk += THREADS) {
        const int t = chunk / (some * 32), c = chunk % (some * 32) * 16;
        const uint32_t* from = metadata + ((size_t)min(row / 64 + t, last) * words + word) * 128;
        cp_async_16(shared_address(to + t * WORDS * 512 + c), (const uint8_t*)from + c, true);
    }
}

// What a warp multiplies in one step along K.
struct Fragments {
    uint32_t a[TILES_M][4], b[TILES_N][4], e[TILES_M];

    __device__ __forceinline__ void fetch(const uint8_t* stage, int warp_m, int warp_n, int step)
    {
        const int lane = threadIdx.x % 32;
        const uint8_t* b_slab = stage + A_BYTES + step / 2 * SLAB_BYTES;
        const uint32_t* words = (const uint32_t*)(stage + A_BYTES + B_BYTES) + step / SELECTORS * 128 + lane;
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
            const int row = warp_m + i * INSTRUCTION_M;
            ldmatrix_x4(a[i][0], a[i][1], a[i][2], a[i][3],
                        shared_address(stage + swizzled(row + lane % 16, step * 32 + lane / 16 * 16)));
            e[i] = words[row / 64 * WORDS * 128 + row % 64 / 16 * 32];
        }
#pragma unroll
        for (int j = 0; j < TILES_N; ++j) {
            const int column = warp_n + j * INSTRUCTION_N + lane % 8, byte = step % 2 * 64 + lane / 8 * 16;
            ldmatrix_x4(b[j][0], b[j][1], b[j][2], b[j][3], shared_address(b_slab + swizzled(column, byte)));
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) gemm(
    const uint8_t* stored, const uint32_t* metadata, const uint8_t* B, const Element* C, Result* D, int M, int N, int steps,
    int A_row_bytes, int B_row_bytes)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    const int columns = (N + BLOCK_N - 1) / BLOCK_N;
    const int row = blockIdx.x / columns * BLOCK_M, column = blockIdx.x % columns * BLOCK_N;
    const int warp = threadIdx.x / 32;
    const int warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    const int count = (steps + STEPS - 1) / STEPS;  // of stages along K

    // Every call commits a group, an empty one past the end, so that groups can be counted.
    const auto load = [&](int i) {
        uint8_t* stage = memory + i % STAGES * STAGE_BYTES;
        if (i < count) {
            copy_tile(stage, stored, BLOCK_M, row, M, i * ROW, A_row_bytes);
            copy_tile(stage + A_BYTES, B, BLOCK_N, column, N, i * 2 * ROW, B_row_bytes);
            copy_tile(stage + A_BYTES + SLAB_BYTES, B, BLOCK_N, column, N, i * 2 * ROW + ROW, B_row_bytes);
            copy_metadata(stage + A_BYTES + B_BYTES, metadata, row, M, i * WORDS, (steps + SELECTORS - 1) / SELECTORS);
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
        cp_async_wait<STAGES - 2>();  // this thread's part of stage i is there
        __syncthreads();              // everybody's is, and everybody has done with stage i - 1
        load(i + STAGES - 1);         // into the place of stage i - 1
        const uint8_t* stage = memory + i % STAGES * STAGE_BYTES;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (i * STEPS + step >= steps) break;
            Fragments now;
            now.fetch(stage, warp_m, warp_n, step);
#pragma unroll
            for (int t = 0; t < TILES_M; ++t)
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) {
                    // The selector is a constant of the instruction: with two, lanes 0 and 1 of each four hold the nibbles
                    // of even steps, lanes 2 and 3 those of odd ones.
                    if (step % SELECTORS == 0) multiply<0>(d[t][j], now.a[t], now.b[j], d[t][j], now.e[t]);
                    else multiply<SELECTORS - 1>(d[t][j], now.a[t], now.b[j], d[t][j], now.e[t]);
                }
        }
    }
#pragma unroll
    for (int i = 0; i < TILES_M; ++i)
#pragma unroll
        for (int j = 0; j < TILES_N; ++j)
            finish(d[i][j], D, row + warp_m + i * INSTRUCTION_M, column + warp_n + j * INSTRUCTION_N, M, N);
}
