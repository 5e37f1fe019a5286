// transpose: clean
__global__ void transpose(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    __syncthreads();
    row = blockIdx.y * 16 + threadIdx.x;
    column = blockIdx.x * 16 + threadIdx.y;
    if (row < rows && column < columns) y[column * rows + row] = tile[threadIdx.x][threadIdx.y];
}
