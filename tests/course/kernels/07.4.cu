//! right: one line each
        int s = i % STAGES;
        mbarrier_wait(&full[s], (i / STAGES) % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
//! right: bits, additions to pointers
        const int stage = i % STAGES, round = i / STAGES;
        mbarrier_wait(full + stage, round & 1);
        multiply(d, stages[stage], (threadIdx.x - 32) / 32);
        mbarrier_arrive(empty + stage);
//! right: counters outside of the loop
__device__ void consume(Stage* stages, mbarrier* full, mbarrier* empty, float* d, int tiles) {
    int s = 0, parity = 0;
    for (int i = 0; i < tiles; i++) {
        mbarrier_wait(&full[s], parity);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
        if (++s == STAGES) {
            s = 0;
            parity ^= 1;
        }
    }
}
//! right: a while loop and a struct
struct Place { int stage, parity; };
__device__ Place place_of(int i) { return {i % STAGES, i / STAGES % 2}; }
__device__ void consume(Stage* stages, mbarrier* full, mbarrier* empty, float* d, int tiles) {
    int i = 0;
    while (i < tiles) {
        Place at = place_of(i++);
        mbarrier_wait(&full[at.stage], at.parity);
        multiply(d, stages[at.stage], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[at.stage]);
    }
}
//! right: rounds outside, stages inside
__device__ void consume(Stage* stages, mbarrier* full, mbarrier* empty, float* d, int tiles) {
    for (int round = 0; round * STAGES < tiles; round++)
        for (int s = 0; s < STAGES && round * STAGES + s < tiles; s++) {
            mbarrier_wait(&full[s], round % 2);
            multiply(d, stages[s], threadIdx.x / 32 - 1);
            mbarrier_arrive(&empty[s]);
        }
}
//! wrong, parity: the parity of the tile
        int s = i % STAGES;
        mbarrier_wait(&full[s], i % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
//! wrong, parity: always 0
        int s = i % STAGES;
        mbarrier_wait(&full[s], 0);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
//! wrong, arrival: one thread releases
        int s = i % STAGES;
        mbarrier_wait(&full[s], i / STAGES % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        if (threadIdx.x == 32) mbarrier_arrive(&empty[s]);
//! wrong, arrival: nobody releases
        int s = i % STAGES;
        mbarrier_wait(&full[s], i / STAGES % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
//! wrong, early: released before it is read
        int s = i % STAGES;
        mbarrier_wait(&full[s], i / STAGES % 2);
        mbarrier_arrive(&empty[s]);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
//! wrong, wait: no wait
        int s = i % STAGES;
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
