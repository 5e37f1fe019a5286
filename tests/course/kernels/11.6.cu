//! right: the number of the iteration
16: mbarrier_wait(&full, k / 16 % 2);
//! right: bits
16: mbarrier_wait(&full, (k >> 4) & 1);
//! right: a parity that flips
5: float d[4] = {0, 0, 0, 0}; int parity = 0;
16: mbarrier_wait(&full, parity); parity ^= 1;
//! right: a counter
11: int i = 0; for (int k = 0; k < K; k += 16, i++) {
16: mbarrier_wait(&full, i % 2);
//! right: a bool
5: float d[4] = {0, 0, 0, 0}; bool odd = false;
16: mbarrier_wait(&full, odd);
20: odd = !odd; __syncwarp();
//! right: without a remainder
16: mbarrier_wait(&full, k / 16);
//! right: a new barrier in every iteration
20: __syncwarp();
if (threadIdx.x == 0) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(address(&full)) : "memory");
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
}
__syncwarp();
//! wrong: the other parity
//! hint: In iteration 0 the copy ends phase 0, in iteration 1 phase 1, and so on.
16: mbarrier_wait(&full, 1);
//! wrong: of k
//! hint: In iteration 0 the copy ends phase 0, in iteration 1 phase 1, and so on.
16: mbarrier_wait(&full, k % 2);
//! wrong: initialised again
//! hint: which nobody has invalidated
11: for (int k = 0; k < K; k += 16) { if (threadIdx.x == 0) mbarrier_init(&full, 1); __syncwarp();
//! wrong: no wait
//! hint: Nothing waits for the copy now: the loads may find the tile of the iteration before.
16: __syncwarp();
//! wrong: for four tiles only
//! hint: In iteration 0 the copy ends phase 0, in iteration 1 phase 1, and so on.
16: mbarrier_wait(&full, k == 16 || k == 48);
//! wrong: one ahead
//! hint: In iteration 0 the copy ends phase 0, in iteration 1 phase 1, and so on.
16: mbarrier_wait(&full, (k / 16 + 1) % 2);
