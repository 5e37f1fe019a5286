// saxpy: clean
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x) z[i] = a * x[i] + y[i];
}
