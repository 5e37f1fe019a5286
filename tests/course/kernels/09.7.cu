//! right: one thread initialises
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], 4);
        }
        fence_mbarrier_init();
    }
    __syncthreads();
    int warp = threadIdx.x / 32;
    if (warp == 0) {
        produce(stages, full, empty, A, B, tiles);
    } else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 128 * (warp - 1), 8);
    }
//! right: one thread for each stage
    if (threadIdx.x < STAGES) {
        mbarrier_init(&full[threadIdx.x], 1);
        mbarrier_init(&empty[threadIdx.x], 4);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8);
    }
//! right: a thread of the consumers initialises
    if (threadIdx.x == 159) {
        #pragma unroll
        for (int s = STAGES - 1; s >= 0; s--) mbarrier_init(full + s, 1), mbarrier_init(empty + s, 4);
        fence_mbarrier_init();
    }
    __syncthreads();
    float d[4] = {};
    if (threadIdx.x >= 32) {
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 16 * 8 * ((threadIdx.x - 32) / 32), 8);
        return;
    }
    produce(stages, full, empty, A, B, tiles);
//! right: two threads, two kinds of barrier
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) mbarrier_init(&full[s], 1);
        fence_mbarrier_init();
    } else if (threadIdx.x == 64) {
        for (int s = 0; s < STAGES; s++) mbarrier_init(&empty[s], 4);
        fence_mbarrier_init();
    }
    __syncthreads();
    const int w = (int)threadIdx.x / 32 - 1;
    if (w < 0) { produce(stages, full, empty, A, B, tiles); return; }
    float d[4];
    for (int r = 0; r < 4; r++) d[r] = 0;
    consume(stages, full, empty, d, tiles);
    store_d(d, D + 128 * w, 8);
//! right: a helper, the fence by all
__device__ void set_up(mbarrier* full, mbarrier* empty) {
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], 4);
        }
    fence_mbarrier_init();
    __syncthreads();
}
extern "C" __global__ void ring(
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* D, int tiles) {
    __shared__ Stage stages[STAGES];
    __shared__ mbarrier full[STAGES];
    __shared__ mbarrier empty[STAGES];
    set_up(full, empty);
    switch (threadIdx.x / 32) {
        case 0: produce(stages, full, empty, A, B, tiles); break;
        default:
            float d[4] = {0, 0, 0, 0};
            consume(stages, full, empty, d, tiles);
            store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8);
    }
}
//! wrong: all threads initialise
//! hint: Several warps initialise the same barrier, or one does so again, and a barrier that
    for (int s = 0; s < STAGES; s++) {
        mbarrier_init(&full[s], 1);
        mbarrier_init(&empty[s], 4);
    }
    fence_mbarrier_init();
    __syncthreads();
    if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8);
    }
//! wrong: empty expects every thread
//! hint: Look at `consume`: how many threads arrive?
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) { mbarrier_init(&full[s], 1); mbarrier_init(&empty[s], 128); }
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8);
    }
//! wrong: no barrier behind the initialisation
//! hint: Threads use barriers that may not be initialised yet.
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) { mbarrier_init(&full[s], 1); mbarrier_init(&empty[s], 4); }
        fence_mbarrier_init();
    }
    if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8);
    }
//! wrong: no fence
//! hint: D is right, and the simulator found nothing, but one thing is missing: the fence
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) { mbarrier_init(&full[s], 1); mbarrier_init(&empty[s], 4); }
    __syncthreads();
    if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8);
    }
//! wrong: one stage only
//! hint: 2 mbarriers are initialised; 2 stages have 4.
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_init(empty, 4);
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8);
    }
//! wrong: all warps store to the same rows
//! hint: write different values
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) { mbarrier_init(&full[s], 1); mbarrier_init(&empty[s], 4); }
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles);
    else {
        float d[4] = {0, 0, 0, 0};
        consume(stages, full, empty, d, tiles);
        store_d(d, D, 8);
    }
