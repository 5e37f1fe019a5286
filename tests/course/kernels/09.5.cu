//! right: what is copied
12: mbarrier_arrive_expect_tx(&full, count * 4);
//! right: sizeof
12: mbarrier_arrive_expect_tx(&full, count * sizeof(float));
//! right: without count
12: mbarrier_arrive_expect_tx(&full, min(256, (n - i) * 4));
//! right: a variable
11: if (threadIdx.x == 0) { int bytes = 4 * count;
12: mbarrier_arrive_expect_tx(&full, bytes);
13: cp_async_bulk(chunk, x + i, bytes, &full);
//! right: full chunks, and the rest
12: if (i + 64 <= n) mbarrier_arrive_expect_tx(&full, sizeof(chunk));
else mbarrier_arrive_expect_tx(&full, n % 64 * 4);
//! right: quarters
12: mbarrier_arrive_expect_tx(&full, count / 4 * 16);
//! wrong, bytes: numbers
12: mbarrier_arrive_expect_tx(&full, count);
//! wrong, bytes: it fits n = 160 only
12: mbarrier_arrive_expect_tx(&full, i < 128 ? 256 : 128);
//! wrong, bytes: chunks of 32
9: for (int i = 0; i < n; i += 32) {
10: int count = 32;
12: mbarrier_arrive_expect_tx(&full, 128);
15: mbarrier_wait(&full, i / 32 % 2);
//! wrong, bytes: a full copy at the end
13: cp_async_bulk(chunk, x + i, sizeof(chunk), &full);
//! wrong, numbers: full chunks only
9: for (int i = 0; i + 64 <= n; i += 64) {
//! wrong, wait: no wait
15: __syncthreads();
