//! right: the opposite parity
15: mbarrier_wait(&empty[s], i / 2 % 2 ^ 1);
//! right: one round before
15: mbarrier_wait(&empty[s], (i / 2 + 1) % 2);
//! right: no wait in the first round
15: if (i >= 2) mbarrier_wait(&empty[s], (i / 2 - 1) % 2);
//! right: a parity that flips
12: if (threadIdx.x == 32) { int parity = 1;
13: for (int i = 0; i < K / 16; i++) {
15: mbarrier_wait(&empty[s], parity); if (s == 1) parity ^= 1;
18: } }
//! right: the consumers release both at first
20: unsigned a[4], b[2]; mbarrier_arrive(&empty[0]); mbarrier_arrive(&empty[1]);
//! right: negated
15: mbarrier_wait(&empty[s], !(i / 2 % 2));
//! wrong: no wait
//! hint: Go through the first iteration of both: who waits for whom?
15: ;
//! wrong: always 1
//! hint: Go through the first iteration of both: who waits for whom?
15: mbarrier_wait(&empty[s], 1);
//! wrong: for four tiles only
//! hint: Go through the first iteration of both: who waits for whom?
15: mbarrier_wait(&empty[s], i < 2);
//! wrong: with every tile
//! hint: Go through the first iteration of both: who waits for whom?
15: mbarrier_wait(&empty[s], i % 2 ^ 1);
//! wrong: the consumers' parity
//! hint: Now the consumers read a stage that no copy has filled: their wait was right.
24: mbarrier_wait(&full[s], i / 2 % 2 ^ 1);
//! wrong: one arrival in place of 32
//! hint: Go through the first iteration of both: who waits for whom?
7: mbarrier_init(&empty[s], 1);
15: mbarrier_wait(&empty[s], i / 2 % 2 ^ 1);
