// saxpy: wrong: line 4 writes z
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = static_cast<int>(a) * x[i] + y[i];
}
