// saxpy: wrong: was not written
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}
