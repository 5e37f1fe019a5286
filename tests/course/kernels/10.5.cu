//! right: a number that never wins
3: float m = -INFINITY; if (row < M)
4: m = fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1]);
7: if (row < M && thread == 0)
9: ;
//! right: the last row again
3: {
4: int from = min(row, M - 1); float m = fmaxf(D[from * 8 + thread * 2], D[from * 8 + thread * 2 + 1]);
7: if (thread == 0 && row < M)
//! right: a conditional, one branch for the store
3: bool mine = row < M;
4: float m = mine ? max(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1]) : 0.0f;
7: if (mine) if (thread == 0)
9: ;
//! right: a butterfly in a loop
3: float m = 0; if (row < M) {
4: m = fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1]); }
5: for (int mask = 2; mask; mask /= 2)
6: m = fmaxf(m, __shfl_xor_sync(~0u, m, mask));
7: if (row < M && thread == 0)
9: ;
//! right: shuffles downwards
3: ;
4: float m = row < M ? fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1]) : 0;
5: m = fmaxf(m, __shfl_down_sync(0xffffffff, m, 2, 4));
6: m = fmaxf(m, __shfl_down_sync(0xffffffff, m, 1, 4));
7: if (row < M && !thread)
9: ;
//! wrong: whoever is active
//! hint: The rows are right, but only 4 of 32 lanes take part in the shuffles
5: m = fmaxf(m, __shfl_xor_sync(__activemask(), m, 1));
6: m = fmaxf(m, __shfl_xor_sync(__activemask(), m, 2));
//! wrong: the lanes of 5 rows
//! hint: some lanes execute a shuffle whose mask does not name them
5: m = fmaxf(m, __shfl_xor_sync(0x000fffff, m, 1));
6: m = fmaxf(m, __shfl_xor_sync(0x000fffff, m, 2));
//! wrong: a mask that is too small
//! hint: some lanes execute a shuffle whose mask does not name them
5: m = fmaxf(m, __shfl_xor_sync(0xffff, m, 1));
6: m = fmaxf(m, __shfl_xor_sync(0xffff, m, 2));
//! wrong: no branch at all
//! hint: Which lanes does the mask of `__shfl_xor_sync` name, and which of them are in the
3: {
//! wrong: one shuffle
//! hint: Each row needs the numbers of all four lanes of its group.
3: float m = 0; if (row < M)
4: m = fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1]);
6: ;
7: if (row < M && thread == 0)
9: ;
//! wrong: a barrier in the branch
//! hint: Which lanes does the mask of `__shfl_xor_sync` name, and which of them are in the
5: __syncwarp(); m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 1));
//! wrong: whoever is active, outside the branch
//! hint: All lanes took part, but the mask does not ask for them
3: float m = -INFINITY; if (row < M)
4: m = fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1]);
5: m = fmaxf(m, __shfl_xor_sync(__activemask(), m, 1));
6: m = fmaxf(m, __shfl_xor_sync(__activemask(), m, 2));
7: if (row < M && thread == 0)
9: ;
