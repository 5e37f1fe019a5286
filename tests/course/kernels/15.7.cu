//! right: row and column named
    for (int i = 0; i < 8; i++) {
        int row = group() + i / 2 % 2 * 8;
        int column = thread_in_group() * 2 + i % 2 + i / 4 * 8;
        if (key + column > query + row) {
            s[i] = NONE;
        }
    }
//! right: a conditional
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int q = query + group() + ((i & 2) ? 8 : 0);
        const int k = key + 2 * thread_in_group() + (i & 1) + ((i & 4) ? 8 : 0);
        s[i] = k <= q ? s[i] : NONE;
    }
//! right: three loops
    for (int tile = 0; tile < 2; tile++)
        for (int half = 0; half < 2; half++)
            for (int c = 0; c < 2; c++)
                if (key + 8 * tile + 2 * thread_in_group() + c > query + group() + 8 * half)
                    s[4 * tile + 2 * half + c] = NONE;
//! right: a difference
    int d = key - query + 2 * thread_in_group() - group();
    for (int i = 0; i < 8; i++)
        if (d + i / 4 * 8 + i % 2 - i / 2 % 2 * 8 > 0) s[i] = NONE;
//! right: a helper and INFINITY
__device__ bool seen(int query, int key) { return key <= query; }
__device__ void mask(float (&s)[8], int query, int key) {
    query += group(), key += thread_in_group() * 2;
    for (int i = 0; i < 8; i++)
        if (!seen(query + (i / 2 % 2) * 8, key + i % 2 + (i / 4) * 8)) s[i] = -INFINITY;
}
//! right: lanes by hand, early exit
    int lane = threadIdx.x % 32;
    if (key + 15 <= query) return;
    for (int i = 7; i >= 0; i--) {
        int row = lane / 4 + (i >> 1 & 1) * 8, column = lane % 4 * 2 + (i & 1) + (i >> 2) * 8;
        if (query + row < key + column) s[i] = NONE;
    }
//! wrong: the diagonal is hidden
//! hint: The diagonal itself is masked, too.
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 >= query + group() + i / 2 % 2 * 8) s[i] = NONE;
//! wrong: inside the tile only
//! hint: That is right for tiles on the diagonal only: compare the numbers of key and query
    for (int i = 0; i < 8; i++)
        if (i / 4 * 8 + thread_in_group() * 2 + i % 2 > group() + i / 2 % 2 * 8) s[i] = NONE;
//! wrong: zero
//! hint: The places are right.
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 > query + group() + i / 2 % 2 * 8) s[i] = 0;
//! wrong: eight rows down are left out
//! hint: Rows 0 to 7 are right.
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 > query + group()) s[i] = NONE;
//! wrong: the other side
//! hint: You hid the keys *before* the query.
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 < query + group() + i / 2 % 2 * 8) s[i] = NONE;
//! wrong: rows and columns by another layout
//! hint: With query = 0 and key = 0, the first that is wrong is S[0][2].
    for (int i = 0; i < 8; i++)
        if (key + i > query + threadIdx.x / 2) s[i] = NONE;
