// Launches for tests of `ptxlab debug --dap`: a race, and warps that wait for each other.
extern "C" __global__ void race(int* x) {
  __shared__ int s[96];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[95 - threadIdx.x];
}
extern "C" __global__ void hang(int* x) {
  x[threadIdx.x] = 1;
  if (threadIdx.x < 32)
    __syncthreads();
  else
    asm volatile("bar.sync 1, 96;");
}
