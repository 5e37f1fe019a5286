//! right: declared in the loop
3: ;
4: for (int column = 0; column < N; column += 8) { float d[4] = {0, 0, 0, 0};
//! right: set to 0 in the loop
4: for (int column = 0; column < N; column += 8) { for (int r = 0; r < 4; r++) d[r] = 0;
//! right: set to 0 behind the store
10: store_d(d, D + column, N); d[0] = d[1] = d[2] = d[3] = 0.0f;
//! right: before the inner loop, with braces
5: d[0] = 0; d[1] = 0; d[2] = 0; d[3] = 0;
for (int k = 0; k < K; k += 16) {
//! right: accumulators of their own
4: for (int column = 0; column < N; column += 8) { float e[4] = {};
8: mma(e, a, b);
10: store_d(e, D + column, N);
//! right: in the first step of K
5: for (int k = 0; k < K; k += 16) { if (k == 0) for (float& each : d) each = 0;
//! wrong: in every step of K
//! hint: Now only the last step of K is in the sum: the accumulators are set too often.
5: for (int k = 0; k < K; k += 16) { d[0] = d[1] = d[2] = d[3] = 0;
//! wrong: no start at all
//! hint: Now `mma` reads accumulators that no instruction has written.
3: float d[4];
//! wrong: only two of four
//! hint: The first 8 columns are right, the others still start with the sum of the tile
10: store_d(d, D + column, N); d[0] = d[1] = 0;
//! wrong: only for the first tile
//! hint: The first 8 columns are right, the others still start with the sum of the tile
4: for (int column = 0; column < N; column += 8) { if (column == 0) d[0] = d[1] = d[2] = d[3] = 0;
//! wrong: what is subtracted from itself
//! hint: Finite numbers come out right.
10: store_d(d, D + column, N); for (int r = 0; r < 4; r++) d[r] -= d[r];
//! wrong: times 0
//! hint: Finite numbers come out right.
10: store_d(d, D + column, N); for (int r = 0; r < 4; r++) d[r] *= 0;
