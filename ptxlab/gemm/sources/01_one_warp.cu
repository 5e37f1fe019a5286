// Rung 1: one warp, one tile of D, everything from global memory.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N].
//
// The instruction takes 32 bytes of K at a time, whatever the element type: 16 halves, 32 bytes of FP8 or s8, 8 tf32. In
// bytes all fragments look alike: a lane holds 4-byte words of row lane / 4 at byte lane % 4 * 4, of the row 8 below,
// and of both again 16 bytes further on. Every lane fetches its words itself, so that each byte of A is read once for every
// tile beside it, N / 8 times in all.
#include "fragment.cuh"

// A word of a matrix; zero outside it. Rows are a multiple of 16 bytes long, so that no word crosses their end.
__device__ __forceinline__ uint32_t word(const uint8_t* matrix, int row, int rows, int byte, int row_bytes)
{
    if (row >= rows || byte >= row_bytes) return 0;
    return *(const uint32_t*)(matrix + (size_t)row * row_bytes + byte);
}

extern "C" __global__ void gemm(
    const uint8_t* A, const uint8_t* B, const Element* C, Result* D, int M, int N, int K_bytes)
{
    const int columns = (N + BLOCK_N - 1) / BLOCK_N;  // of tiles
    const int row = blockIdx.x / columns * BLOCK_M, column = blockIdx.x % columns * BLOCK_N;
    const int lane = threadIdx.x;

    Accumulator d[ACCUMULATORS];
    start(d, C, row, column, M, N);
    for (int k = 0; k < K_bytes; k += 32) {
        const int m = row + lane / 4, n = column + lane / 4, byte = k + lane % 4 * 4;
        const uint32_t a[4] = {
            word(A, m, M, byte, K_bytes), word(A, m + 8, M, byte, K_bytes),
            word(A, m, M, byte + 16, K_bytes), word(A, m + 8, M, byte + 16, K_bytes)};
        const uint32_t b[2] = {word(B, n, N, byte, K_bytes), word(B, n, N, byte + 16, K_bytes)};
        multiply(d, a, b, d);
    }
    finish(d, D, row, column, M, N);
}
