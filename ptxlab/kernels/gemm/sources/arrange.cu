// Rows of a matrix, one after the other and padded with zeros to `pitch` elements; TMA and cp.async want rows that begin
// at multiples of 16 bytes. Elements may lie any steps apart, so that this is also the transpose: the tile of shared memory
// lets both the reads and the writes of a warp be neighbours.
template <typename Code>
__global__ void __launch_bounds__(256) arrange(
    const Code* from, long long row_step, long long column_step, int rows, int columns, Code* to, long long pitch)
{
    __shared__ Code tile[32][33];  // one more than 32: columns of it lie in different banks
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    const bool down = row_step < column_step;  // neighbours in memory are below each other
    const int row = blockIdx.y * 32, column = blockIdx.x * 32;
    for (int i = y; i < 32; i += 8) {
        const int r = down ? x : i, c = down ? i : x;
        Code code = 0;
        if (row + r < rows && column + c < columns) code = from[(row + r) * row_step + (column + c) * column_step];
        tile[r][c] = code;
    }
    __syncthreads();
    for (int i = y; i < 32; i += 8) {
        if (row + i < rows && column + x < pitch) to[(row + i) * pitch + column + x] = tile[i][x];
    }
}
