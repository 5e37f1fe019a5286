// Reverse an array in shared memory: a __syncthreads() is missing
// grid 1, block 128, arguments range:f32:128
__global__ void reverse(float* x) {
  __shared__ float tile[128];
  int i = threadIdx.x;
  tile[i] = x[i];
  x[i] = tile[127 - i];
}
