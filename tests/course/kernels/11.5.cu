//! right: what is copied
12: mbarrier_arrive_expect_tx(&full, count * 4);
//! right: sizeof
12: mbarrier_arrive_expect_tx(&full, count * sizeof(float));
//! right: without count
12: mbarrier_arrive_expect_tx(&full, min(256, (n - i) * 4));
//! right: a variable
11: if (threadIdx.x == 0) { int bytes = 4 * count;
12: mbarrier_arrive_expect_tx(&full, bytes);
13: cp_async_bulk(piece, x + i, bytes, &full);
//! right: full pieces, and the rest
12: if (i + 64 <= n) mbarrier_arrive_expect_tx(&full, sizeof(piece));
else mbarrier_arrive_expect_tx(&full, n % 64 * 4);
//! right: quarters
12: mbarrier_arrive_expect_tx(&full, count / 4 * 16);
//! wrong: numbers
//! hint: how many bytes does the copy bring in each iteration, and how many are announced?
12: mbarrier_arrive_expect_tx(&full, count);
//! wrong: it fits n = 160 only
//! hint: how many bytes does the copy bring in each iteration, and how many are announced?
12: mbarrier_arrive_expect_tx(&full, i < 128 ? 256 : 128);
//! wrong: pieces of 32
//! hint: how many bytes does the copy bring in each iteration, and how many are announced?
9: for (int i = 0; i < n; i += 32) {
10: int count = 32;
12: mbarrier_arrive_expect_tx(&full, 128);
15: mbarrier_wait(&full, i / 32 % 2);
//! wrong: a full copy at the end
//! hint: how many bytes does the copy bring in each iteration, and how many are announced?
13: cp_async_bulk(piece, x + i, sizeof(piece), &full);
//! wrong: full pieces only
//! hint: All full pieces are right
9: for (int i = 0; i + 64 <= n; i += 64) {
//! wrong: no wait
//! hint: Now the piece is read before its copy is known to be complete.
15: __syncthreads();
