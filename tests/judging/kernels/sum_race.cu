// sum: hazard: without a barrier
__global__ void total(const float* x, float* result, int n) {
    if (threadIdx.x == 0) *result = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) *result += x[i];
}
