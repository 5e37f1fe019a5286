//! right: a loop
    for (int r = 0; r < 4; r++) {
        a[r] = f16x2(s[2 * r], s[2 * r + 1]);
    }
//! right: four lines
    a[0] = f16x2(s[0], s[1]);
    a[1] = f16x2(s[2], s[3]);
    a[2] = f16x2(s[4], s[5]);
    a[3] = f16x2(s[6], s[7]);
//! right: two counters
    for (int i = 0, r = 0; i < 8; i += 2) a[r++] = f16x2(s[i], s[i + 1]);
//! right: tiles and rows
    for (int tile = 0; tile < 2; ++tile)
        for (int row = 0; row < 2; ++row) {
            const float* from = &s[4 * tile + 2 * row];
            a[2 * tile + row] = f16x2(from[0], from[1]);
        }
//! right: a helper
__device__ unsigned both(const float* two) { return f16x2(*two, *(two + 1)); }
__device__ void repack(const float (&s)[8], unsigned (&a)[4]) {
    unsigned* to = a;
    for (int i = 0; i < 8; i += 2) *to++ = both(s + i);
}
//! right: one half at a time
    for (int r = 0; r < 4; r++)
        a[r] = (f16x2(s[2 * r], 0) & 0xffff) | f16x2(s[2 * r + 1], 0) << 16;
//! wrong, halves: exchanged
    for (int r = 0; r < 4; r++) a[r] = f16x2(s[2 * r + 1], s[2 * r]);
//! wrong, register: registers 1 and 2 exchanged
    a[0] = f16x2(s[0], s[1]);
    a[1] = f16x2(s[4], s[5]);
    a[2] = f16x2(s[2], s[3]);
    a[3] = f16x2(s[6], s[7]);
//! wrong, register: bits of floats
    for (int r = 0; r < 4; r++) a[r] = __float_as_uint(s[r]);
//! wrong, register: only the first tile
    for (int r = 0; r < 4; r++) a[r] = f16x2(s[2 * (r % 2)], s[2 * (r % 2) + 1]);
//! wrong, register: neighbours that are not
    for (int r = 0; r < 4; r++) a[r] = f16x2(s[r], s[r + 4]);
//! wrong, compile: a function that there is not
    for (int r = 0; r < 4; r++) a[r] = pack(s[2 * r], s[2 * r + 1]);
