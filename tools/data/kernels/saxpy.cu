// Y = a X + Y: 1,000 elements in blocks of 256 threads
// grid 4, block 256, arguments 2 range:f32:1000 ones:f32:1000 1000
__global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] += a * x[i];
  }
}
