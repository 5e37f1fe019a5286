// sum: hang: nobody writes
__global__ void total(const float* x, float* result, int n) {
    volatile const float* again = x;
    if (threadIdx.x == 0) *result = 0;
    while (true) {
        if (again[0] == 123456.5f) return;
    }
}
