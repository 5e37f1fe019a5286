// histogram: hazard: without a barrier
__global__ void histogram(const int* x, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bins[x[i]]++;
}
