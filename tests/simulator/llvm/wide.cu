// Integers and operands of inline assembly of 128 bits.
typedef unsigned __int128 u128; typedef __int128 i128; typedef unsigned long long u64;
__device__ u128 swapped(u128 x, u64 by) {
  u128 y; asm volatile("{ .reg .b64 p, q; mov.b128 {p, q}, %1; xor.b64 p, p, %2; mov.b128 %0, {q, p}; }"
    : "=q"(y) : "q"(x), "l"(by)); return y; }
__global__ void k(float *x, int *y, u64 *z, _Float16 *h, const float *ro, int n) {
  int t = threadIdx.x; u128 v = (u128)z[t] << 64 | z[t + 1], sum = 0;
  __shared__ u128 own[32]; u128 *mine = (u128 *)(z + 128) + t;
  own[t] = v * n; *mine = v ^ 5; __syncthreads();
  sum += swapped(v, t); sum ^= atomicExch(mine, v + 9); sum += atomicCAS(&own[t], own[t], v);
  sum += *mine - (v * 3 >> (t & 127)); sum ^= ~(v << (n & 127)); sum += (i128)v < -(i128)*mine ? v : *mine;
  sum ^= (u128)((i128)v >> (t * 5 & 127)) / ((z[t] >> 40) + 1); sum += (i128)v % ((i128)z[t + 2] | 1);
  sum += __builtin_elementwise_max(v << 78, (u128)2) ^ __builtin_elementwise_min((i128)v, -(i128)*mine);
  sum ^= (i128)v < 0 ? -(i128)v : (i128)v; sum += own[31 - t] > v; sum += (i128)(int)z[t]; z[256 + 2 * t] = sum; z[257 + 2 * t] = sum >> 64;
  z[320 + 2 * t] = swapped(sum, 3); *(u128 *)(z + 400) = own[0];
}
