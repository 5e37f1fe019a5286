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
//! wrong, diagonal: the diagonal is hidden
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 >= query + group() + i / 2 % 2 * 8) s[i] = NONE;
//! wrong, diagonal: inside the tile only
    for (int i = 0; i < 8; i++)
        if (i / 4 * 8 + thread_in_group() * 2 + i % 2 > group() + i / 2 % 2 * 8) s[i] = NONE;
//! wrong, weight: zero
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 > query + group() + i / 2 % 2 * 8) s[i] = 0;
//! wrong, row: eight rows down are left out
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 > query + group()) s[i] = NONE;
//! wrong, before: the other side
    for (int i = 0; i < 8; i++)
        if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 < query + group() + i / 2 % 2 * 8) s[i] = NONE;
//! wrong, row: rows and columns by another layout
    for (int i = 0; i < 8; i++)
        if (key + i > query + threadIdx.x / 2) s[i] = NONE;
