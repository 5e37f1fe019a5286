typedef unsigned u32;
#define PART __device__ __forceinline__
PART u32 address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
PART void cp_async(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(address(to)), "l"(from) : "memory"); }
PART void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending> PART void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory"); }

extern "C" __global__ void side_by_side(const f16* A, const f16* B, float* D, int N, int K) {
    __shared__ __align__(16) f16 tile[16 * 24];  // 16 x 16 elements, rows padded
    int column = threadIdx.x / 32 * 8;
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k += 16) {
        for (int i = threadIdx.x; i < 256; i += blockDim.x)
            tile[i / 16 * 24 + i % 16] = A[i / 16 * K + k + i % 16];
        __syncthreads();
        ldmatrix(a, tile + threadIdx.x % 16 * 24 + threadIdx.x % 32 / 16 * 8);
        load_b(b, B + column * K + k, K);
        mma(d, a, b);
    }
    store_d(d, D + column, N);
}

extern "C" __global__ void bias_relu(const float* D, const float* bias, float* Y, int M, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / N, column = i % N;
    if (row > M)
        return;
    float sum = D[i] + bias[column];
    Y[i] = sum > 0 ? sum : 0;
}

extern "C" __global__ void by_hand(const f16* A, const f16* B, float* D) {
    int group = threadIdx.x / 4, thread = threadIdx.x % 4;
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    for (int r = 0; r < 4; r++) {
        int row = group + r / 2 * 8, k = thread * 2 + r % 2 * 8;
        a[r] = *(const unsigned*)(A + row * 16 + k);
    }
    for (int r = 0; r < 2; r++) {
        int column = group, k = thread * 2 + r * 8;
        b[r] = *(const unsigned*)(B + column * 16 + k);
    }
    mma(d, a, b);
    for (int r = 0; r < 4; r++) {
        int row = group + r / 2 * 8, column = thread * 2 + r % 2;
        D[row * 8 + column] = d[r];
    }
}

extern "C" __global__ void one_warp(const f16* A, const f16* B, float* D, int N, int K) {
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    for (int column = 0; column < N; column += 8) {
        for (int k = 0; k < K; k += 16) {
            load_a(a, A + k, K);
            load_b(b, B + column * K + k, K);
            mma(d, a, b);
        }
        store_d(d, D + column, N);
    }
}

extern "C" __global__ void row_max(const float* D, float* most, int M) {  // D: M x 8
    int row = threadIdx.x / 4, thread = threadIdx.x % 4;
    if (row < M) {
        float m = fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1]);
        m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 1));
        m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 2));
        if (thread == 0)
            most[row] = m;
    }
    __syncwarp();
}

extern "C" __global__ void staged(const f16* A, const f16* B, float* D) {  // D: 16 x 32
    __shared__ __align__(16) float tile[16 * 32];
    unsigned a[4], b[2];
    load_a(a, A, 16);
    for (int column = 0; column < 32; column += 8) {
        float d[4] = {0, 0, 0, 0};
        load_b(b, B + column * 16, 16);
        mma(d, a, b);
        store_d(d, tile + column, 32);
    }
    __syncwarp();
    for (int i = threadIdx.x; i < 128; i += 32)
        ((float4*)D)[i] = ((float4*)tile)[i];
}

extern "C" __global__ void pipeline(const f16* A, const f16* B, float* D, int K) {
    __shared__ __align__(16) f16 tile[2][16 * 24];  // used alternately
    int row = threadIdx.x % 16, column = threadIdx.x / 16 * 8;
    const f16* from = A + row * K + column;
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    cp_async(&tile[0][row * 24 + column], from);
    cp_async_commit_group();
    for (int k = 0; k < K; k += 16) {
        if (k + 16 < K) {
            cp_async(&tile[(k / 16 + 1) % 2][row * 24 + column], from + k + 16);
            cp_async_commit_group();
        }
        cp_async_wait_group<1>();  // all but the latest group
        __syncwarp();
        load_a(a, tile[k / 16 % 2], 24);
        load_b(b, B + k, K);
        mma(d, a, b);
        __syncwarp();
    }
    store_d(d, D, 8);
}
