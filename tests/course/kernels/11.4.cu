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
//! wrong: elements
//! hint: How many bytes do the two copies bring together?
10: mbarrier_arrive_expect_tx(&full, 16 * 16 + 8 * 16);
//! wrong: two tiles of the same size
//! hint: How many bytes do the two copies bring together?
10: mbarrier_arrive_expect_tx(&full, 2 * sizeof(tile_a));
//! wrong: the other tile only
//! hint: How many bytes do the two copies bring together?
10: mbarrier_arrive_expect_tx(&full, sizeof(tile_b));
//! wrong: two announcements, one arrival
//! hint: How many bytes do the two copies bring together?
12: mbarrier_arrive_expect_tx(&full, sizeof(tile_b)); tma_load(tile_b, B, 0, 0, &full);
//! wrong: no wait
//! hint: A tile is still read before its copy is known to be complete.
15: __syncwarp();
//! wrong: a second wait for the phase
//! hint: How many bytes do the two copies bring together?
15: mbarrier_wait(&full, 0); mbarrier_wait(&full, 1);
