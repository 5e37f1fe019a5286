// Rows of elements of 1 or 4 bits, of which arrays hold one in a byte, packed as mma reads them: the first element in the low
// bits, rows padded with zeros to `pitch` words. Elements may lie any steps apart, so that this is also the transpose.
#include <stdint.h>

template <int bits>
__global__ void __launch_bounds__(256) pack_bits(
    const uint8_t* from, long long row_step, long long column_step, int rows, int columns, uint32_t* to, int pitch)
{
    constexpr int ELEMENTS = 32 / bits;
    // Neighbouring threads take what lies side by side in memory: the words of a row, or those of neighbouring rows.
    const long long number = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= (long long)rows * pitch) return;
    const bool down = row_step < column_step;
    const int row = down ? number % rows : number / pitch, word = down ? number / rows : number % pitch;
    uint32_t packed = 0;
    for (int i = 0; i < ELEMENTS; ++i) {
        const int column = word * ELEMENTS + i;
        if (column < columns) packed |= (from[row * row_step + column * column_step] & ((1u << bits) - 1)) << bits * i;
    }
    to[(long long)row * pitch + word] = packed;
}
