// sum: clean
__global__ void total(const float* x, float* result, int n) {
    __shared__ float partial[8];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; warp++) sum += partial[warp];
        *result = sum;
    }
}
