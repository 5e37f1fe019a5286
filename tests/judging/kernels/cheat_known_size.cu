// saxpy: wrong: at a hidden size
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (n == 1 || n == 33 || n == 257)) z[i] = a * x[i] + y[i];
    else if (i < n) z[i] = 0;
}
