// saxpy: wrong: changes its input x
__global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) const_cast<float*>(x)[i] = 0;
    if (i < n) z[i] = y[i];
}
