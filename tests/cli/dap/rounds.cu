// A launch for tests of `ptxlab debug --dap`: shared memory, a call, an inlined call, output.
__device__ __noinline__ float next(float v, float other) {
  return v + 2 * other;
}
__device__ float mixed(float a, float b) {
  float sum = a + b;
  return sum * a;
}
extern "C" __global__ void rounds(float* x, int* n) {
  __shared__ float s[64];
  float v = x[threadIdx.x];
  for (int i = 0; i < 4; ++i) {
    s[threadIdx.x] = v;
    __syncthreads();
    v = next(v, s[63 - threadIdx.x]);
    __syncthreads();
  }
  if (threadIdx.x == 40) printf("lane 8 of warp 1 has %g\n", v);
  if (threadIdx.x % 2) atomicAdd(n, 1);
  x[threadIdx.x] = mixed(v, x[threadIdx.x]);
}
