//! right: early return
    if (threadIdx.x != 0) return;
    for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&empty[s], (i / STAGES + 1) % 2);
        mbarrier_arrive_expect_tx(&full[s], 2048 + 256);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
    }
//! right: the first round does not wait
    if (threadIdx.x == 0) {
        for (int i = 0; i < tiles; ++i) {
            const int s = i % STAGES;
            if (i >= STAGES) mbarrier_wait(&empty[s], (i / STAGES - 1) % 2);
            mbarrier_arrive_expect_tx(&full[s], sizeof(Stage));
            tma_load(stages[s].a, A, i * 16, 0, &full[s]);
            tma_load(stages[s].b, B, i * 16, 0, &full[s]);
        }
    }
//! right: a parity that flips
    if (threadIdx.x == 0) {
        int s = 0, parity = 1;
        for (int i = 0; i < tiles; i++) {
            mbarrier_wait(empty + s, parity);
            mbarrier_arrive_expect_tx(full + s, 2304);
            tma_load(stages[s].b, B, 16 * i, 0, full + s);
            tma_load(stages[s].a, A, 16 * i, 0, full + s);
            if (++s == STAGES) s = 0, parity = !parity;
        }
    }
//! right: the warp waits, one lane copies
    for (int i = 0; i < tiles; i++) {
        int s = i % STAGES, phase = (i / STAGES) & 1;
        mbarrier_wait(&empty[s], phase ^ 1);
        if (threadIdx.x % 32 == 0) {
            mbarrier_arrive_expect_tx(&full[s], sizeof(stages[s].a) + sizeof(stages[s].b));
            tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
            tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
        }
        __syncwarp();
    }
//! right: a helper, columns that move
__device__ void fill(Stage& stage, mbarrier* full, const TensorMap& A, const TensorMap& B, int column) {
    mbarrier_arrive_expect_tx(full, 2304);
    tma_load(stage.a, A, column, 0, full);
    tma_load(stage.b, B, column, 0, full);
}
__device__ void produce(Stage* stages, mbarrier* full, mbarrier* empty,
                        const TensorMap& A, const TensorMap& B, int tiles) {
    if (threadIdx.x) return;
    for (int column = 0; column < tiles * 16; column += 16) {
        int i = column / 16, s = i % STAGES;
        mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1);
        fill(stages[s], &full[s], A, B, column);
    }
}
//! wrong: all lanes do it
//! hint: All 32 lanes of the warp call `produce`, and all of them do this.
    for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1);
        mbarrier_arrive_expect_tx(&full[s], 2304);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
    }
//! wrong: the consumers' parity
//! hint: Your parity is the opposite of what it should be, in every round.
    if (threadIdx.x == 0) for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&empty[s], i / STAGES % 2);
        mbarrier_arrive_expect_tx(&full[s], 2304);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
    }
//! wrong: nobody waits
//! hint: No thread waits for `empty[s]`: a stage is overwritten while consumers may still read
    if (threadIdx.x == 0) for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_arrive_expect_tx(&full[s], 2304);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
    }
//! wrong: elements
//! hint: You announce 1152: that is the number of elements.
    if (threadIdx.x == 0) for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1);
        mbarrier_arrive_expect_tx(&full[s], 64 * 16 + 8 * 16);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
    }
//! wrong: it waits for its own copies
//! hint: D is right, but the producer waits for its own copies at `full`: no two tiles are
    if (threadIdx.x == 0) for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1);
        mbarrier_arrive_expect_tx(&full[s], 2304);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
        mbarrier_wait(&full[s], i / STAGES % 2);
    }
//! wrong: two announcements
//! hint: You announce 2048 bytes, those of A.
    if (threadIdx.x == 0) for (int i = 0; i < tiles; i++) {
        int s = i % STAGES;
        mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1);
        mbarrier_arrive_expect_tx(&full[s], 2048);
        tma_load(stages[s].a, A, 16 * i, 0, &full[s]);
        mbarrier_arrive_expect_tx(&full[s], 256);
        tma_load(stages[s].b, B, 16 * i, 0, &full[s]);
    }
