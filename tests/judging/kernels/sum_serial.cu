// sum: clean
__global__ void total(const float* x, float* result, int n) {
    if (threadIdx.x) return;
    float sum = 0;
    for (int i = n - 1; i >= 0; i--) sum += x[i];
    *result = sum;
}
