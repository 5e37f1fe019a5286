__device__ void product(float* d, const f16* A, const f16* B, int K) {  // 16 x 64 of D for each warp
    for (int i = 0; i < 32; i++) d[i] = 0;
    for (int k = 0; k < K; k += 16) {
        unsigned a[4], b[2];
        load_a(a, A + threadIdx.x / 32 * 16 * K + k, K);
        for (int j = 0; j < 8; j++) {
            load_b(b, B + j * 8 * K + k, K);
            mma(d + 4 * j, a, b);
        }
    }
}

__device__ float gelu(float x) {
    float u = 0.7978846f * (x + 0.044715f * x * x * x);  // sqrt(2 / pi)
    return x / (1 + __expf(-2 * u));  // x / 2 * (1 + tanh(u))
}

__device__ unsigned pack(float low, float high) {  // two f16 in a register
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

__device__ void stmatrix(void* row, const unsigned* p) {  // p[0] to p[3]: four matrices of 8 x 8
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
        :: "r"((unsigned)__cvta_generic_to_shared(row)), "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3])
        : "memory");
}

struct alignas(64) TensorMap { char bytes[128]; };
__device__ void tma_store(const TensorMap& map, int column, int row, const void* tile) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
        :: "l"(&map), "r"(column), "r"(row), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
}
__device__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int n> __device__ void wait_group() {
    asm volatile("cp.async.bulk.wait_group %0;" :: "n"(n) : "memory");
}
template <int n> __device__ void wait_group_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(n) : "memory");
}

extern "C" __global__ void words(const f16* A, const f16* B, float* D, int N, int K) {
    float d[32];
    product(d, A, B, K);
    D += threadIdx.x / 32 * 16 * N;  // the rows of this warp
    for (int j = 0; j < 8; j++)
        for (int r = 0; r < 4; r++)
            D[(group() + r / 2 * 8) * N + 8 * j + thread_in_group() * 2 + r % 2] = gelu(d[4 * j + r]);
}

extern "C" __global__ void pairs(const f16* A, const f16* B, const float* bias, unsigned* D, int N, int K) {
    int row = threadIdx.x / 32 * 16, column = blockIdx.x * 64;
    float d[32];
    product(d, A, B + column * K, K);
    store(d, bias + column, D + (row * N + column) / 2, N);
}

extern "C" __global__ void staged(const f16* A, const f16* B, const float* bias,
                                  const __grid_constant__ TensorMap D, int K) {
    __shared__ __align__(1024) char tile[8192];  // 64 rows of 128 bytes
    int column = blockIdx.x * 64;
    float d[32];
    unsigned p[16];
    product(d, A, B + column * K, K);
    finish(p, d, bias + column);
    put(tile + threadIdx.x / 32 * 2048, p);
    leave(tile, D, column);
}

extern "C" __global__ void wide(const f16* A, const f16* B, const float* bias,
                                const __grid_constant__ TensorMap D, int K) {
    __shared__ __align__(1024) char buffers[16384];  // two tiles
    float d[32];
    unsigned p[16];
    for (int i = 0; i < 4; i++) {  // 64 columns of D at a time
        product(d, A, B + i * 64 * K, K);
        finish(p, d, bias + i * 64);
        send(buffers, p, D, i);
    }
    if (threadIdx.x == 0) wait_group_read<0>();
}

__device__ void finish(unsigned* p, const float* d, const float* bias) {  // bias, ReLU, f16
    for (int i = 0; i < 16; i++) {
        int column = i / 2 * 8 + thread_in_group() * 2;
        p[i] = pack(max(d[2 * i] + bias[column], 0.0f), max(d[2 * i + 1] + bias[column + 1], 0.0f));
    }
}

__device__ void store(const float* d, const float* bias, unsigned* D, int N) {
    unsigned p[16];
    finish(p, d, bias);
    for (int i = 0; i < 16; i++)
        D[((group() + i % 2 * 8) * N + i / 2 * 8 + thread_in_group() * 2) / 2] = p[i];
}

__device__ void put(char* tile, const unsigned* p) {
    for (int i = 0; i < 4; i++) {
        int row = threadIdx.x % 16, vector = 2 * i + threadIdx.x % 32 / 16;
        stmatrix(tile + row * 128 + (vector ^ row % 8) * 16, p + 4 * i);
    }
}

__device__ void leave(char* tile, const TensorMap& D, int column) {
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_store(D, column, 0, tile);
        commit_group();
        wait_group_read<0>();
    }
}
