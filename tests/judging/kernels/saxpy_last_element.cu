// saxpy: wrong: no line writes z
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) z[i] = a * x[i] + y[i];
}
