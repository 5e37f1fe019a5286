// Rows and columns any steps apart -> rows of contiguous elements, a multiple of 16 bytes long, with zeros at their ends.
//
// A block moves 64 x 64 elements through shared memory, so that it reads along whichever axis is contiguous and always
// writes along rows.
constexpr int SIDE = 64, THREADS = 256;

// tf32 has 10 bits of fraction: to nearest even; infinity and NaN stay.
__device__ __forceinline__ Word converted(Word bits)
{
    if (!ROUND_TO_TF32 || (bits & 0x7f800000) == 0x7f800000) return bits;
    return (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}

extern "C" __global__ void __launch_bounds__(THREADS) pack(
    const Word* from, long long row_step, long long column_step, Word* to, int rows, int columns, int pitch)
{
    __shared__ Word tile[SIDE][SIDE + 1];
    const int across = (pitch + SIDE - 1) / SIDE;
    const int row = blockIdx.x / across * SIDE, column = blockIdx.x % across * SIDE;
    for (int i = threadIdx.x; i < SIDE * SIDE; i += THREADS) {
        const int fast = i % SIDE, slow = i / SIDE;
        const int r = column_step == 1 ? slow : fast, c = column_step == 1 ? fast : slow;
        Word value = 0;
        if (row + r < rows && column + c < columns)
            value = converted(from[(row + r) * row_step + (column + c) * column_step]);
        tile[r][c] = value;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SIDE * SIDE; i += THREADS) {
        const int r = i / SIDE, c = i % SIDE;
        if (row + r < rows && column + c < pitch) to[(long long)(row + r) * pitch + column + c] = tile[r][c];
    }
}
