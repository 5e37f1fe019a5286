// D = A B with tiles of 64x64, 4 warps of 32x32 each; ldmatrix from XOR-swizzled shared memory, mma m16n8k16.
// A is M x K row-major, B is N x K row-major (B transposed), D is M x N; all sizes are multiples of 64.

__device__ __forceinline__ unsigned place(unsigned base, int row, int chunk) {
    return base + row * 128 + ((chunk ^ (row & 7)) << 4);
}

extern "C" __global__ void gemm(const unsigned short* A, const unsigned short* B, float* D, int M, int N, int K) {
    __shared__ __align__(128) unsigned short sa[64 * 64];
    __shared__ __align__(128) unsigned short sb[64 * 64];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    const int wm = warp / 2 * 32, wn = warp % 2 * 32;
    const unsigned a0 = (unsigned)__cvta_generic_to_shared(sa), b0 = (unsigned)__cvta_generic_to_shared(sb);
    float acc[2][4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 64) {
        for (int i = threadIdx.x; i < 512; i += 128) {
            const int row = i / 8, chunk = i % 8;
            const int4 a = *(const int4*)(A + (size_t)(row0 + row) * K + k0 + chunk * 8);
            const int4 b = *(const int4*)(B + (size_t)(col0 + row) * K + k0 + chunk * 8);
            *(int4*)((char*)sa + row * 128 + ((chunk ^ (row & 7)) << 4)) = a;
            *(int4*)((char*)sb + row * 128 + ((chunk ^ (row & 7)) << 4)) = b;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 64; kk += 16) {
            unsigned a[2][4], b[4][2];
            for (int m = 0; m < 2; ++m) {
                const unsigned at = place(a0, wm + m * 16 + lane % 16, kk / 8 + lane / 16);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                    : "=r"(a[m][0]), "=r"(a[m][1]), "=r"(a[m][2]), "=r"(a[m][3]) : "r"(at));
            }
            for (int n = 0; n < 4; ++n) {
                const unsigned at = place(b0, wn + n * 8 + lane % 8, kk / 8 + lane / 8 % 2);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                    : "=r"(b[n][0]), "=r"(b[n][1]) : "r"(at));
            }
            for (int m = 0; m < 2; ++m)
                for (int n = 0; n < 4; ++n)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                        : "+f"(acc[m][n][0]), "+f"(acc[m][n][1]), "+f"(acc[m][n][2]), "+f"(acc[m][n][3])
                        : "r"(a[m][0]), "r"(a[m][1]), "r"(a[m][2]), "r"(a[m][3]), "r"(b[n][0]), "r"(b[n][1]));
        }
        __syncthreads();
    }
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 4; ++n)
            for (int r = 0; r < 4; ++r) {
                const int row = row0 + wm + m * 16 + lane / 4 + r / 2 * 8;
                const int col = col0 + wn + n * 8 + lane % 4 * 2 + r % 2;
                D[(size_t)row * N + col] = acc[m][n][r];
            }
}
