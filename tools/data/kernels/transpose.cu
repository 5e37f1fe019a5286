// Transpose 32x32 in shared memory: 32-way bank conflicts; 33 columns have none
// grid 1, block 32x8, arguments range:f32:32x32 zeros:f32:32x32
__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[32][32];
  int x = threadIdx.x;
  for (int y = threadIdx.y; y < 32; y += 8) tile[y][x] = in[32 * y + x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) out[32 * y + x] = tile[x][y];
}
