extern "C" __global__ void gemm(const f16* A, const f16* B, float* D, int M, int N, int K) {
    const int warp = threadIdx.x / 32;
    const int row = blockIdx.y * 64 + warp / 2 * 32, column = blockIdx.x * 64 + warp % 2 * 32;
    float d[2][4][4] = {};
    for (int k = 0; k < K; k += 16) {
        unsigned a[2][4], b[4][2];
        for (int i = 0; i < 2; i++) load_a(a[i], A + (row + 16 * i) * K + k, K);
        for (int j = 0; j < 4; j++) load_b(b[j], B + (column + 8 * j) * K + k, K);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++) mma(d[i][j], a[i], b[j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) store_d(d[i][j], D + (row + 16 * i) * N + column + 8 * j, N);
}
