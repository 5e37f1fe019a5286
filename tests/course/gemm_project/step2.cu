__device__ int place(int row, int vector) { return row * 128 + (vector ^ row % 8) * 16; }

__device__ void copy_tile(unsigned char* tile, const f16* from, int K) {
    for (int i = threadIdx.x; i < 64 * 8; i += 128)
        *(int4*)(tile + place(i / 8, i % 8)) = *(const int4*)(from + i / 8 * K + i % 8 * 8);
}

extern "C" __global__ void gemm(const f16* A, const f16* B, float* D, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    unsigned char *a_tile = memory, *b_tile = memory + 64 * 128;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
    float d[2][4][4] = {};
    for (int k = 0; k < K; k += 64) {
        copy_tile(a_tile, A + blockIdx.y * 64 * K + k, K);
        copy_tile(b_tile, B + blockIdx.x * 64 * K + k, K);
        __syncthreads();
        for (int step = 0; step < 4; step++) {
            unsigned a[2][4], b[4][2];
            for (int i = 0; i < 2; i++) {
                int at = place(warp_m + 16 * i + lane % 16, 2 * step + lane / 16);
                ldmatrix_x4(a[i][0], a[i][1], a[i][2], a[i][3], shared_address(a_tile + at));
            }
            for (int j = 0; j < 4; j += 2) {
                int at = place(warp_n + 8 * j + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2);
                ldmatrix_x4(b[j][0], b[j][1], b[j + 1][0], b[j + 1][1], shared_address(b_tile + at));
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) mma(d[i][j], a[i], b[j]);
        }
        __syncthreads();
    }
    const int row = blockIdx.y * 64 + warp_m, column = blockIdx.x * 64 + warp_n;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) store_d(d[i][j], D + (row + 16 * i) * N + column + 8 * j, N);
}
