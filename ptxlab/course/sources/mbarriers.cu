typedef unsigned long long mbarrier;  // 64 bits in shared memory, opaque
struct alignas(64) TensorMap { char bytes[128]; };
#define PART __device__ __forceinline__
PART unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
PART void mbarrier_init(mbarrier* bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(bar)), "r"(arrivals) : "memory"); }
PART void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
PART void mbarrier_arrive(mbarrier* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address(bar)) : "memory"); }
PART void mbarrier_arrive_expect_tx(mbarrier* bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
        :: "r"(address(bar)), "r"(bytes) : "memory"); }
PART void mbarrier_wait(mbarrier* bar, int parity) {  // until the phase with this parity has ended
    unsigned ended = 0;
    while (!ended)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(ended) : "r"(address(bar)), "r"(parity) : "memory"); }
PART void tma_load(void* to, const TensorMap& map, int column, int row, mbarrier* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        :: "r"(address(to)), "l"(&map), "r"(column), "r"(row), "r"(address(bar)) : "memory"); }
struct Stage { alignas(128) f16 a[64 * 16], b[8 * 16]; };  // 2048 and 256 bytes
PART void multiply(float* d, const Stage& stage, int warp) {  // each warp takes 16 rows of A
    unsigned a[4], b[2];
    load_a(a, stage.a + warp * 256, 16);
    load_b(b, stage.b, 16);
    mma(d, a, b);
}

extern "C" __global__ void two_tiles(
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* D) {
    __shared__ Stage stage;
    __shared__ mbarrier full;
    float d[4] = {0, 0, 0, 0};
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect_tx(&full, 2048 + 256);
            tma_load(stage.a, A, 16 * i, 0, &full);
            tma_load(stage.b, B, 16 * i, 0, &full);
        }
        mbarrier_wait(&full, i);
        multiply(d, stage, threadIdx.x / 32);
        __syncthreads();  // everybody has read the tiles: they may be overwritten
    }
    store_d(d, D + threadIdx.x / 32 * 16 * 8, 8);
}

PART void produce(Stage* stages, mbarrier* full, mbarrier* empty,
                  const TensorMap& A, const TensorMap& B, int tiles) {
    if (threadIdx.x > 0)
        return;
    for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1);
        mbarrier_arrive_expect_tx(&full[s], 2048 + 256);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
    }
}

PART void consume(Stage* stages, mbarrier* full, mbarrier* empty, float* d, int tiles) {
    for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&full[s], i / STAGES % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
    }
}

extern "C" __global__ void ring(
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* D, int tiles) {
    __shared__ Stage stages[STAGES];
    __shared__ mbarrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], 128);
        }
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x < 32)
        produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + (threadIdx.x / 32 - 1) * 16 * 8, 8);
    }
}
