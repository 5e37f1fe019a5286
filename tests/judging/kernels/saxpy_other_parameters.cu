// saxpy: error: takes 4 arguments
__global__ void saxpy(float a, const float* x, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i];
}
