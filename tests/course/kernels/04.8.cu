//! right: brackets
    return row * 128 + (chunk ^ (row % 8)) * 16;
//! right: named steps
    int base = row * 128;
    int swizzled = chunk ^ (row & 7);
    return base + swizzled * 16;
//! right: shifts
    return (row << 7) | ((chunk ^ (row & 7)) << 4);
//! right: a rotation
    return row * 128 + ((chunk + row) % 8) * 16;
//! right: a rotation the other way
    int c = (chunk - row) & 7;
    return 128 * row + 16 * c;
//! right: the XOR of an address
    int address = row * 128 + chunk * 16;
    return address ^ ((address >> 7) & 7) << 4;
//! right: a template and a branch
template <int rows> __device__ int turned(int row, int chunk) { return chunk ^ row % rows; }
__device__ int place(int row, int chunk) {
    if (row < 8) return row * 128 + 16 * (chunk ^ row);
    return row * 128 + 16 * turned<8>(row, chunk);
}
//! wrong: rows as they are
//! hint: D is right, but nothing is gained: there are still 112 wavefronts too many.
    return row * 128 + chunk * 16;
//! wrong: padded
//! hint: A chunk begins at a multiple of 16, and the tile ends after 2048 bytes: there is no
    return row * 144 + chunk * 16;
//! wrong: chunks of a row below each other
//! hint: D is right, and `ldmatrix` has no conflicts.
    return chunk * 256 + row * 16;
//! wrong: two rows at a time
//! hint: D is right, but shared memory takes 16 wavefronts more than needed.
    return row * 128 + (chunk ^ (row / 2 % 8)) * 16;
//! wrong: two chunks at one place
//! hint: Do two chunks go to the same place?
    return row * 128 + ((chunk & row) % 8) * 16;
//! wrong: in elements
//! hint: A chunk begins at a multiple of 16, and the tile ends after 2048 bytes: there is no
    return row * 64 + (chunk ^ row % 8) * 8;
