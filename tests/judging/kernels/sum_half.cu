// sum: wrong: should be
__global__ void total(const float* x, float* result, int n) {
    __shared__ float partial[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = partial[0];
}
