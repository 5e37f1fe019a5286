//! right: both sizes
10: mbarrier_arrive_expect_tx(&full, sizeof(tile_a) + sizeof(tile_b));
//! right: a number
10: mbarrier_arrive_expect_tx(&full, 512 + 256);
//! right: elements times their size
10: mbarrier_arrive_expect_tx(&full, (16 * 16 + 8 * 16) * sizeof(f16));
//! right: two arrivals
8: mbarrier_init(&full, 2);
12: mbarrier_arrive_expect_tx(&full, sizeof(tile_b)); tma_load(tile_b, B, 0, 0, &full);
//! right: two barriers
4: __shared__ mbarrier full, second;
8: mbarrier_init(&full, 1); mbarrier_init(&second, 1);
12: mbarrier_arrive_expect_tx(&second, sizeof(tile_b)); tma_load(tile_b, B, 0, 0, &second);
15: mbarrier_wait(&full, 0); mbarrier_wait(&second, 0);
//! wrong, bytes: elements
10: mbarrier_arrive_expect_tx(&full, 16 * 16 + 8 * 16);
//! wrong, bytes: two tiles of the same size
10: mbarrier_arrive_expect_tx(&full, 2 * sizeof(tile_a));
//! wrong, bytes: the other tile only
10: mbarrier_arrive_expect_tx(&full, sizeof(tile_b));
//! wrong, arrival: two announcements, one arrival
12: mbarrier_arrive_expect_tx(&full, sizeof(tile_b)); tma_load(tile_b, B, 0, 0, &full);
//! wrong, wait: no wait
15: __syncwarp();
//! wrong, wait: a second wait for the phase
15: mbarrier_wait(&full, 0); mbarrier_wait(&full, 1);
