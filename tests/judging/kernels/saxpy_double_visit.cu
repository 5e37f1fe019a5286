// saxpy_in_place: wrong: line
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i];
    if (i < n) z[i] = a * z[i] + y[i];
}
