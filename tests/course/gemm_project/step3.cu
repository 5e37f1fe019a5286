constexpr int STAGES = 3, TILE = 128 * 128, STAGE = 2 * TILE;  // bytes of a tile, and of one of A with one of B

__device__ int place(int row, int vector) { return row * 128 + (vector ^ row % 8) * 16; }

__device__ void copy_tile(unsigned char* tile, const f16* from, int K) {
    for (int i = threadIdx.x; i < 128 * 8; i += 128)
        cp_async_16(shared_address(tile + place(i / 8, i % 8)), from + i / 8 * K + i % 8 * 8, true);
}

extern "C" __global__ void gemm(const f16* A, const f16* B, float* D, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = K / 64;
    const int warp_m = warp / 2 * 64, warp_n = warp % 2 * 64;
    auto load = [&](int i) {
        unsigned char* stage = memory + i % STAGES * STAGE;
        if (i < count) {
            copy_tile(stage, A + blockIdx.y * 128 * K + i * 64, K);
            copy_tile(stage + TILE, B + blockIdx.x * 128 * K + i * 64, K);
        }
        cp_async_commit();
    };
    float d[4][8][4] = {};
    for (int i = 0; i < STAGES - 1; i++) load(i);
    for (int i = 0; i < count; i++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        load(i + STAGES - 1);
        const unsigned char *a_tile = memory + i % STAGES * STAGE, *b_tile = a_tile + TILE;
#pragma unroll
        for (int step = 0; step < 4; step++) {
            unsigned a[4][4], b[8][2];
#pragma unroll
            for (int m = 0; m < 4; m++) {
                int at = place(warp_m + 16 * m + lane % 16, 2 * step + lane / 16);
                ldmatrix_x4(a[m][0], a[m][1], a[m][2], a[m][3], shared_address(a_tile + at));
            }
#pragma unroll
            for (int n = 0; n < 8; n += 2) {
                int at = place(warp_n + 8 * n + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2);
                ldmatrix_x4(b[n][0], b[n][1], b[n + 1][0], b[n + 1][1], shared_address(b_tile + at));
            }
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int n = 0; n < 8; n++) mma(d[m][n], a[m], b[n]);
        }
    }
    const int row = blockIdx.y * 128 + warp_m, column = blockIdx.x * 128 + warp_n;
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 8; n++) store_d(d[m][n], D + (row + 16 * m) * N + column + 8 * n, N);
}
