// softmax: clean
__global__ void softmax(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < columns; i++) most = fmaxf(most, x[row * columns + i]);
    for (int i = 0; i < columns; i++) sum += expf(x[row * columns + i] - most);
    for (int i = 0; i < columns; i++) y[row * columns + i] = expf(x[row * columns + i] - most) / sum;
}
