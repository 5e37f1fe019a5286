// saxpy: wrong: writes z
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = z[i];  // what the reference may have left in this memory
}
