//! right: straight on
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(full, 2 * (2048 + 256));
        tma_load(stages[0].a, A, 32 * i, 0, full);
        tma_load(stages[0].b, B, 32 * i, 0, full);
        tma_load(stages[1].a, A, 32 * i + 16, 0, full);
        tma_load(stages[1].b, B, 32 * i + 16, 0, full);
    }
//! right: early return, a loop, sizeof
    if (threadIdx.x != 0) return;
    mbarrier_arrive_expect_tx(full, 2 * sizeof(Stage));
    for (int s = 0; s < 2; s++) {
        int column = (2 * i + s) * 16;
        tma_load(stages[s].a, A, column, 0, full);
        tma_load(stages[s].b, B, column, 0, full);
    }
//! right: another thread, the bytes last
    if (threadIdx.x == 127) {
        for (int t = 2 * i; t < 2 * i + 2; ++t) {
            Stage& stage = stages[t % 2];
            tma_load(stage.b, B, t * 16, 0, full);
            tma_load(stage.a, A, t * 16, 0, full);
        }
        mbarrier_arrive_expect_tx(full, 4608);
    }
//! right: two threads copy, one arrives
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(full, 4608);
        for (int s = 0; s < 2; s++) tma_load(stages[s].a, A, 16 * (2 * i + s), 0, full);
    }
    if (threadIdx.x == 32)
        for (int s = 0; s < 2; s++) tma_load(stages[s].b, B, 16 * (2 * i + s), 0, full);
//! right: a helper function
__device__ void one(Stage& stage, mbarrier* full, const TensorMap& A, const TensorMap& B, int t) {
    tma_load(stage.a, A, t * 16, 0, full);
    tma_load(stage.b, B, t * 16, 0, full);
}
__device__ void load(Stage* stages, mbarrier* full, const TensorMap& A, const TensorMap& B, int i) {
    bool leader = threadIdx.x == 0;
    if (leader) mbarrier_arrive_expect_tx(full, 2 * (sizeof(stages[0].a) + sizeof(stages[0].b)));
    if (leader) one(stages[0], full, A, B, 2 * i);
    if (leader) one(stages[1], full, A, B, 2 * i + 1);
}
//! wrong: all threads do it
//! hint: All 128 threads call `load`, and all of them do this.
    mbarrier_arrive_expect_tx(full, 4608);
    for (int s = 0; s < 2; s++) {
        tma_load(stages[s].a, A, 16 * (2 * i + s), 0, full);
        tma_load(stages[s].b, B, 16 * (2 * i + s), 0, full);
    }
//! wrong: of one stage
//! hint: You announce the bytes of one tile of A and B, or the elements of two: all four
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(full, sizeof(Stage));
        for (int s = 0; s < 2; s++) {
            tma_load(stages[s].a, A, 16 * (2 * i + s), 0, full);
            tma_load(stages[s].b, B, 16 * (2 * i + s), 0, full);
        }
    }
//! wrong: one announcement for each tile
//! hint: You announce the bytes of one tile of A and B, or the elements of two: all four
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) {
            mbarrier_arrive_expect_tx(full, 2048 + 256);
            tma_load(stages[s].a, A, 16 * (2 * i + s), 0, full);
            tma_load(stages[s].b, B, 16 * (2 * i + s), 0, full);
        }
    }
//! wrong: a plain arrival
//! hint: No thread announces bytes.
    if (threadIdx.x == 0) {
        mbarrier_arrive(full);
        for (int s = 0; s < 2; s++) {
            tma_load(stages[s].a, A, 16 * (2 * i + s), 0, full);
            tma_load(stages[s].b, B, 16 * (2 * i + s), 0, full);
        }
    }
//! wrong: the tile of the stage
//! hint: Tile t begins at column 16 t of A and of B; all rows, starting at row 0.
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(full, 4608);
        for (int s = 0; s < 2; s++) {
            tma_load(stages[s].a, A, 16 * (i + s), 0, full);
            tma_load(stages[s].b, B, 16 * (i + s), 0, full);
        }
    }
//! wrong: row before column
//! hint: Tile t begins at column 16 t of A and of B; all rows, starting at row 0.
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(full, 4608);
        for (int s = 0; s < 2; s++) {
            tma_load(stages[s].a, A, 0, 16 * (2 * i + s), full);
            tma_load(stages[s].b, B, 0, 16 * (2 * i + s), full);
        }
    }
