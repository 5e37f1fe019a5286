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
//! wrong, conflicts: rows as they are
    return row * 128 + chunk * 16;
//! wrong, pad: padded
    return row * 144 + chunk * 16;
//! wrong, conflicts: chunks of a row below each other
    return chunk * 256 + row * 16;
//! wrong, conflicts: two rows at a time
    return row * 128 + (chunk ^ (row / 2 % 8)) * 16;
//! wrong, place: two chunks at one place
    return row * 128 + ((chunk & row) % 8) * 16;
//! wrong, pad: in elements
    return row * 64 + (chunk ^ row % 8) * 8;
