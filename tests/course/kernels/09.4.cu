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
//! wrong: the parity of the tile
//! hint: Your parity changes with every tile.
        int s = i % STAGES;
        mbarrier_wait(&full[s], i % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
//! wrong: always 0
//! hint: The parity is the same in every round.
        int s = i % STAGES;
        mbarrier_wait(&full[s], 0);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
//! wrong: one thread releases
//! hint: `empty[s]` gets 1 arrival from a warp, and it expects 128 in all: every thread says
        int s = i % STAGES;
        mbarrier_wait(&full[s], i / STAGES % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        if (threadIdx.x == 32) mbarrier_arrive(&empty[s]);
//! wrong: nobody releases
//! hint: No thread arrives at `empty[s]`: the producer never learns that the stage has been
        int s = i % STAGES;
        mbarrier_wait(&full[s], i / STAGES % 2);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
//! wrong: released before it is read
//! hint: The stage is released before it is read: the producer may overwrite it meanwhile.
        int s = i % STAGES;
        mbarrier_wait(&full[s], i / STAGES % 2);
        mbarrier_arrive(&empty[s]);
        multiply(d, stages[s], threadIdx.x / 32 - 1);
//! wrong: no wait
//! hint: No thread waits for `full[s]`: the tile may not be there.
        int s = i % STAGES;
        multiply(d, stages[s], threadIdx.x / 32 - 1);
        mbarrier_arrive(&empty[s]);
