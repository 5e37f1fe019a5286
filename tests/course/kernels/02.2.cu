//! right: both registers, line by line
    int k = thread_in_group() * 2, n = group();
    b[0] = (unsigned)B[k * 8 + n] | (unsigned)B[(k + 1) * 8 + n] << 16;
    b[1] = (unsigned)B[(k + 8) * 8 + n] | (unsigned)B[(k + 9) * 8 + n] << 16;
//! right: a loop with braces
    for (int r = 0; r < 2; r++) {
        int row = thread_in_group() * 2 + 8 * r;
        int col = group();
        unsigned low = B[row * 8 + col];
        unsigned high = B[(row + 1) * 8 + col];
        b[r] = low | (high << 16);
    }
//! right: a union of two halves
    union { f16 half[2]; unsigned word; } u;
    for (int r = 0; r < 2; ++r) {
        for (int h = 0; h < 2; ++h)
            u.half[h] = B[(thread_in_group() * 2 + h + 8 * r) * 8 + group()];
        b[r] = u.word;
    }
//! right: written as halves through a pointer
    f16* out = (f16*)b;
    for (int i = 0; i < 4; i++)
        out[i] = B[(thread_in_group() * 2 + i % 2 + i / 2 * 8) * 8 + group()];
//! right: a helper function, addition in place of |
__device__ unsigned pair(const f16* p) { return p[0] + 65536u * p[8]; }
__device__ void load_b(unsigned* b, const f16* B) {
    const f16* first = B + 16 * thread_in_group() + group();
    b[0] = pair(first);
    b[1] = pair(first + 64);
}
//! right: lanes by hand
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    #pragma unroll
    for (int r = 0; r < 2; r++)
        b[r] = B[(2 * t + 8 * r) * 8 + g] | ((unsigned)B[(2 * t + 1 + 8 * r) * 8 + g] << 16);
//! wrong: high and low exchanged
//! hint: The two halves of every register are swapped: the lower row belongs in bits 0 to 15.
    for (int r = 0; r < 2; r++) {
        int k = thread_in_group() * 2 + r * 8;
        b[r] = (unsigned)B[k * 8 + group()] << 16 | B[(k + 1) * 8 + group()];
    }
//! wrong: as if B were stored by columns
//! hint: You read B as if it were stored by columns.
    for (int r = 0; r < 2; r++)
        b[r] = *(const unsigned*)(B + group() * 16 + thread_in_group() * 2 + r * 8);
//! wrong: one element in a register
//! hint: The upper halves of all registers are 0.
    for (int r = 0; r < 2; r++) b[r] = B[(thread_in_group() * 2 + r * 8) * 8 + group()];
//! wrong: neighbours in a row
//! hint: Its two elements are neighbours in a column.
    for (int r = 0; r < 2; r++) {
        int k = thread_in_group() * 2 + r * 8;
        b[r] = B[k * 8 + group()] | (unsigned)B[k * 8 + group() + 1] << 16;
    }
//! wrong: a 32-bit load across rows
//! hint: Two rows are not adjacent in memory: load two 16-bit elements and join them.
    for (int r = 0; r < 2; r++)
        b[r] = *(const unsigned*)&B[(thread_in_group() * 2 + r * 8) * 8 + group()];
//! wrong: group and thread in group exchanged
//! hint: B has 16 rows of 8 elements: which row and column does each lane read?
    for (int r = 0; r < 2; r++) {
        int k = group() * 2 + r * 8;
        b[r] = B[k * 8 + thread_in_group()] | (unsigned)B[(k + 1) * 8 + thread_in_group()] << 16;
    }
//! wrong: two indices
//! hint: B is one long array: element (k, n) is B[k * 8 + n].
    int k = thread_in_group() * 2;
    b[0] = B[k][group()];
