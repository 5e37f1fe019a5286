constexpr int STAGES = 3, TILE = 128 * 128, STAGE = 2 * TILE;

extern "C" __global__ void gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
                                const float* bias, f16* D, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const uint32_t stages = shared_address(memory), full = stages + STAGES * STAGE;
    const int thread = threadIdx.x % 128, half = threadIdx.x / 128 * 64, count = K / 64;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) mbarrier_init(full + 8 * i, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    auto load = [&](int i) {
        if (i >= count) return;
        const uint32_t stage = stages + i % STAGES * STAGE, barrier = full + 8 * (i % STAGES);
        mbarrier_expect(barrier, STAGE);
        tma_load(stage, A, i * 64, blockIdx.y * 128, barrier);
        tma_load(stage + TILE, B, i * 64, blockIdx.x * 128, barrier);
    };
    float d[64];
#pragma unroll
    for (int i = 0; i < 64; i++) d[i] = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES - 1; i++) load(i);
    for (int i = 0; i < count; i++) {
        if (threadIdx.x == 0) load(i + STAGES - 1);
        mbarrier_wait(full + 8 * (i % STAGES), i / STAGES % 2);
        const uint32_t a = stages + i % STAGES * STAGE + half * 128, b = stages + i % STAGES * STAGE + TILE;
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < 4; step++) multiply(d, descriptor(a + 32 * step), descriptor(b + 32 * step), 1);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
    }
    const int row = blockIdx.y * 128 + half + thread / 32 * 16 + thread % 32 / 4;
    const int column = blockIdx.x * 128 + thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        const int n = column + i / 2 * 8;
        const float x = fmaxf(d[2 * i] + bias[n], 0.0f), y = fmaxf(d[2 * i + 1] + bias[n + 1], 0.0f);
        *(uint32_t*)(D + (row + i % 2 * 8) * N + n) = halves(x, y);
    }
}
