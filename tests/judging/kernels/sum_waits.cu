// sum: hang: 
__global__ void total(const float* x, float* result, int n) {
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    while (!ready) {}
    *result = x[0];
}
