//! right: brackets
    return row * 128 + (vector ^ (row % 8)) * 16;
//! right: named steps
    int base = row * 128;
    int swizzled = vector ^ (row & 7);
    return base + swizzled * 16;
//! right: shifts
    return (row << 7) | ((vector ^ (row & 7)) << 4);
//! right: a rotation
    return row * 128 + ((vector + row) % 8) * 16;
//! right: a rotation the other way
    int c = (vector - row) & 7;
    return 128 * row + 16 * c;
//! right: the XOR of an address
    int address = row * 128 + vector * 16;
    return address ^ ((address >> 7) & 7) << 4;
//! right: a template and a branch
template <int rows> __device__ int turned(int row, int vector) { return vector ^ row % rows; }
__device__ int place(int row, int vector) {
    if (row < 8) return row * 128 + 16 * (vector ^ row);
    return row * 128 + 16 * turned<8>(row, vector);
}
//! wrong: rows as they are
//! hint: D is right, but nothing is gained: there are still 112 wavefronts too many.
    return row * 128 + vector * 16;
//! wrong: padded
//! hint: A vector begins at a multiple of 16, and the tile ends after 2048 bytes: there is no
    return row * 144 + vector * 16;
//! wrong: vectors of a row below each other
//! hint: D is right, and `ldmatrix` has no conflicts.
    return vector * 256 + row * 16;
//! wrong: two rows at a time
//! hint: D is right, but shared memory takes 16 wavefronts more than needed.
    return row * 128 + (vector ^ (row / 2 % 8)) * 16;
//! wrong: two vectors at one place
//! hint: Do two vectors go to the same place?
    return row * 128 + ((vector & row) % 8) * 16;
//! wrong: in elements
//! hint: A vector begins at a multiple of 16, and the tile ends after 2048 bytes: there is no
    return row * 64 + (vector ^ row % 8) * 8;
