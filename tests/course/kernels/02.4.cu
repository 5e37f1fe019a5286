//! right: one step after the other
    int warp = threadIdx.x / 32;
    int row = 64 * blockIdx.y + 16 * warp;
    int col = 8 * blockIdx.x;
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k += 16) {
        unsigned a[4], b[2];
        load_a(a, A + row * K + k, K);
        load_b(b, B + col * K + k, K);
        mma(d, a, b);
    }
    store_d(d, D + row * N + col, N);
//! right: pointers that move
    const int warp = threadIdx.x >> 5;
    A += (blockIdx.y * 64 + warp * 16) * K;
    B += blockIdx.x * 8 * K;
    D += (blockIdx.y * 64 + warp * 16) * N + blockIdx.x * 8;
    unsigned a[4], b[2];
    float d[4] = {};
    for (int k = 0; k < K / 16; k++, A += 16, B += 16) {
        load_a(a, A, K);
        load_b(b, B, K);
        mma(d, a, b);
    }
    store_d(d, D, N);
//! right: a while loop, addresses of elements
    int m = blockIdx.y * 64 + threadIdx.x / 32 * 16, n = blockIdx.x * 8, k = 0;
    unsigned a[4], b[2];
    float acc[4];
    for (int i = 0; i < 4; i++) acc[i] = 0.0f;
    while (k < K) {
        load_b(b, &B[n * K + k], K);
        load_a(a, &A[m * K + k], K);
        mma(acc, a, b);
        k += 16;
    }
    store_d(acc, &D[m * N + n], N);
//! right: a helper for the tile
__device__ void tile(float* d, const f16* A, const f16* B, int K) {
    for (int k = 0; k < K; k += 16) {
        unsigned a[4], b[2];
        load_a(a, A + k, K); load_b(b, B + k, K); mma(d, a, b);
    }
}
extern "C" __global__ void stacked(const f16* A, const f16* B, float* D, int N, int K) {
    int y = blockIdx.y * 4 + threadIdx.x / 32;
    float d[4] = {0.f, 0.f, 0.f, 0.f};
    tile(d, A + y * 16 * K, B + blockIdx.x * 8 * K, K);
    store_d(d, D + y * 16 * N + blockIdx.x * 8, N);
}
//! right: N from the grid, size_t
    size_t row = 16 * (threadIdx.x / 32 + 4 * blockIdx.y), column = 8 * blockIdx.x;
    unsigned a[4], b[2]; float d[4] = {0, 0, 0, 0};
    for (size_t k = 0; k != K; k += 16)
        load_a(a, A + row * K + k, K), load_b(b, B + column * K + k, K), mma(d, a, b);
    store_d(d, D + row * (gridDim.x * 8) + column, gridDim.x * 8);
//! wrong: all warps compute the same rows
//! hint: Only rows 0 to 15 of every 64 are computed: all four warps load the same ones.
    int row = 64 * blockIdx.y, col = 8 * blockIdx.x;
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k += 16) {
        load_a(a, A + row * K + k, K);
        load_b(b, B + col * K + k, K);
        mma(d, a, b);
    }
    store_d(d, D + row * N + col, N);
//! wrong: the lane in place of the warp
//! hint: All 32 lanes of a warp need the same row; what is the warp's number?
    int row = 64 * blockIdx.y + threadIdx.x % 32 * 16, col = 8 * blockIdx.x;
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k += 16) {
        load_a(a, A + row * K + k, K); load_b(b, B + col * K + k, K); mma(d, a, b);
    }
    store_d(d, D + row * N + col, N);
//! wrong: the accumulators start at 0 in every step
//! hint: Only the last 16 along K are in the sum
    int row = 64 * blockIdx.y + threadIdx.x / 32 * 16, col = 8 * blockIdx.x;
    for (int k = 0; k < K; k += 16) {
        unsigned a[4], b[2];
        float d[4] = {0, 0, 0, 0};
        load_a(a, A + row * K + k, K); load_b(b, B + col * K + k, K); mma(d, a, b);
        store_d(d, D + row * N + col, N);
    }
//! wrong: no loop
//! hint: Only the first 16 along K are in the sum
    int row = 64 * blockIdx.y + threadIdx.x / 32 * 16, col = 8 * blockIdx.x;
    unsigned a[4], b[2]; float d[4] = {0, 0, 0, 0};
    load_a(a, A + row * K, K); load_b(b, B + col * K, K); mma(d, a, b);
    store_d(d, D + row * N + col, N);
//! wrong: accumulators without a start
//! hint: `mma` reads a register that was never written.
    int row = 64 * blockIdx.y + threadIdx.x / 32 * 16, col = 8 * blockIdx.x;
    unsigned a[4], b[2]; float d[4];
    for (int k = 0; k < K; k += 16) {
        load_a(a, A + row * K + k, K); load_b(b, B + col * K + k, K); mma(d, a, b);
    }
    store_d(d, D + row * N + col, N);
//! wrong: the block's row is left out
//! hint: All rows after row 63 are missing: what counts blocks along y?
    int row = threadIdx.x / 32 * 16, col = 8 * blockIdx.x;
    unsigned a[4], b[2]; float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k += 16) {
        load_a(a, A + row * K + k, K); load_b(b, B + col * K + k, K); mma(d, a, b);
    }
    store_d(d, D + row * N + col, N);
