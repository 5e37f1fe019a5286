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
//! wrong: exchanged
//! hint: The two halves of every register are swapped: the lower column is in bits 0 to 15
    for (int r = 0; r < 4; r++) a[r] = f16x2(s[2 * r + 1], s[2 * r]);
//! wrong: registers 1 and 2 exchanged
//! hint: Registers 1 and 2 are swapped.
    a[0] = f16x2(s[0], s[1]);
    a[1] = f16x2(s[4], s[5]);
    a[2] = f16x2(s[2], s[3]);
    a[3] = f16x2(s[6], s[7]);
//! wrong: bits of floats
//! hint: Those are the bits of `float`s.
    for (int r = 0; r < 4; r++) a[r] = __float_as_uint(s[r]);
//! wrong: only the first tile
//! hint: The first two registers are right.
    for (int r = 0; r < 4; r++) a[r] = f16x2(s[2 * (r % 2)], s[2 * (r % 2) + 1]);
//! wrong: neighbours that are not
//! hint: `s[0]` and `s[1]` are neighbours in a row, and so are the two elements of a
    for (int r = 0; r < 4; r++) a[r] = f16x2(s[r], s[r + 4]);
//! wrong: a function that there is not
//! hint: does not compile
    for (int r = 0; r < 4; r++) a[r] = pack(s[2 * r], s[2 * r + 1]);
