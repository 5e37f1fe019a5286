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
//! wrong, often: in every step of K
5: for (int k = 0; k < K; k += 16) { d[0] = d[1] = d[2] = d[3] = 0;
//! wrong, unwritten: no start at all
3: float d[4];
//! wrong, tile: only two of four
10: store_d(d, D + column, N); d[0] = d[1] = 0;
//! wrong, tile: only for the first tile
4: for (int column = 0; column < N; column += 8) { if (column == 0) d[0] = d[1] = d[2] = d[3] = 0;
//! wrong, infinite: what is subtracted from itself
10: store_d(d, D + column, N); for (int r = 0; r < 4; r++) d[r] -= d[r];
//! wrong, infinite: times 0
10: store_d(d, D + column, N); for (int r = 0; r < 4; r++) d[r] *= 0;
