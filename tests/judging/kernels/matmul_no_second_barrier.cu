// matmul: hazard: without a barrier
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[16][16], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        int along = start + threadIdx.x, down = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && along < k ? a[row * k + along] : 0;
        right[threadIdx.y][threadIdx.x] = down < k && column < n ? b[down * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
