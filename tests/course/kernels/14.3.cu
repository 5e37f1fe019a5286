//! right: a loop
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++) {
        int row = lane % 16;
        int vector = 2 * i + lane / 16;
        stmatrix(tile + row * 128 + ((vector ^ (row % 8)) * 16), &p[4 * i]);
    }
//! right: bits
    const int lane = threadIdx.x & 31, row = lane & 15, half = lane >> 4;
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        stmatrix(tile + (row << 7) + ((((i << 1) | half) ^ (row & 7)) << 4), p + (i << 2));
//! right: a helper for the swizzle
__device__ char* at(char* tile, int row, int vector) { return tile + 128 * row + 16 * (vector ^ row % 8); }
__device__ void put(char* tile, const unsigned* p) {
    int matrix = threadIdx.x % 32 / 8, row = threadIdx.x % 8 + matrix % 2 * 8;
    for (int i = 0; i < 4; i++) stmatrix(at(tile, row, 2 * i + matrix / 2), p + 4 * i);
}
//! right: the XOR of an address
    unsigned lane = threadIdx.x % 32;
    for (unsigned first = 0; first < 16; first += 4) {
        unsigned offset = lane % 16 * 128 + (first / 2 + lane / 16) * 16;
        stmatrix(tile + (offset ^ (offset >> 3 & 0x70)), p + first);
    }
//! right: four lines
    int lane = threadIdx.x % 32, row = lane % 16, c = lane / 16, x = row % 8;
    char* to = tile + row * 128;
    stmatrix(to + (c ^ x) * 16, p);
    stmatrix(to + ((c + 2) ^ x) * 16, p + 4);
    stmatrix(to + ((c + 4) ^ x) * 16, p + 8);
    stmatrix(to + ((c + 6) ^ x) * 16, p + 12);
//! right: columns of 16 in another order
    int lane = threadIdx.x % 32;
    for (int i = 3; i >= 0; i--)
        stmatrix(tile + lane % 16 * 128 + ((2 * i + lane / 16) ^ (lane % 8)) * 16, p + 4 * i);
//! wrong: no swizzle
//! hint: In every row of D, vectors of 8 elements have changed places: TMA reads a swizzled
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; i++) stmatrix(tile + lane % 16 * 128 + (2 * i + lane / 16) * 16, p + 4 * i);
//! wrong: matrices 1 and 2 exchanged
//! hint: Blocks of 8 x 8 have changed places: the upper right one of every 16 x 16 is where
    int lane = threadIdx.x % 32, row = lane % 8 + lane / 16 * 8;
    for (int i = 0; i < 4; i++)
        stmatrix(tile + row * 128 + ((2 * i + lane / 8 % 2) ^ row % 8) * 16, p + 4 * i);
//! wrong: the same registers again
//! hint: The first 16 columns are right: where do p[4] to p[7] go?
    int lane = threadIdx.x % 32, row = lane % 16;
    for (int i = 0; i < 4; i++) stmatrix(tile + row * 128 + ((2 * i + lane / 16) ^ row % 8) * 16, p);
//! wrong: plain stores
//! hint: D is right, but no `stmatrix` was executed
    for (int i = 0; i < 16; i++) {
        int row = group() + i % 2 * 8;
        ((unsigned*)(tile + row * 128 + ((i / 2) ^ row % 8) * 16))[thread_in_group()] = p[i];
    }
//! wrong: the rows of the whole block
//! hint: A row of `stmatrix` begins at a multiple of 16, and a warp has 16 rows of 128 bytes.
    int row = threadIdx.x % 64;
    for (int i = 0; i < 4; i++) stmatrix(tile + row * 128 + ((2 * i) ^ row % 8) * 16, p + 4 * i);
//! wrong: XORed with the wrong number
//! hint: Rows 0, 16, 32 and 48 are right, most others are not: by which number is the vector
    int lane = threadIdx.x % 32, row = lane % 16;
    for (int i = 0; i < 4; i++) stmatrix(tile + row * 128 + ((2 * i + lane / 16) ^ row / 2) * 16, p + 4 * i);
