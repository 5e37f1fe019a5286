constexpr int STAGES = 3, TILE = 128 * 128, STAGE = 2 * TILE;

__device__ int place(int row, int vector) { return row * 128 + (vector ^ row % 8) * 16; }

__device__ void copy_tile(unsigned char* tile, const f16* from, int K) {
    for (int i = threadIdx.x; i < 128 * 8; i += 256)
        cp_async_16(shared_address(tile + place(i / 8, i % 8)), from + i / 8 * K + i % 8 * 8, true);
}

__device__ uint64_t descriptor(uint32_t address) {
    return 1ull << 62 | (uint64_t)(1024 / 16) << 32 | 1ull << 16 | (address & 0x3ffff) >> 4;
}

extern "C" __global__ void gemm(const f16* A, const f16* B, float* D, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const int thread = threadIdx.x % 128, half = threadIdx.x / 128 * 64, count = K / 64;
    auto load = [&](int i) {
        unsigned char* stage = memory + i % STAGES * STAGE;
        if (i < count) {
            copy_tile(stage, A + blockIdx.y * 128 * K + i * 64, K);
            copy_tile(stage + TILE, B + blockIdx.x * 128 * K + i * 64, K);
        }
        cp_async_commit();
    };
    float d[64];
#pragma unroll
    for (int i = 0; i < 64; i++) d[i] = 0;
    for (int i = 0; i < STAGES - 1; i++) load(i);
    for (int i = 0; i < count; i++) {
        cp_async_wait<STAGES - 2>();
        fence_async_proxy();
        __syncthreads();
        const uint32_t a = shared_address(memory) + i % STAGES * STAGE + half * 128;
        const uint32_t b = shared_address(memory) + i % STAGES * STAGE + TILE;
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < 4; step++) multiply(d, descriptor(a + 32 * step), descriptor(b + 32 * step), 1);
        wgmma_commit();
        load(i + STAGES - 1);
        wgmma_wait<0>();
    }
    const int row = blockIdx.y * 128 + half + thread / 32 * 16 + thread % 32 / 4;
    const int column = blockIdx.x * 128 + thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i++)
        *(float2*)(D + (row + i % 2 * 8) * N + column + i / 2 * 8) = make_float2(d[2 * i], d[2 * i + 1]);
}
