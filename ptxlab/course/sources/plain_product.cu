extern "C" __global__ void product(const float* A, const float* B, float* D, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += A[row * k + i] * B[i * n + column];
    D[row * n + column] = sum;
}
