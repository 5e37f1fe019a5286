// Atomic operations and operands of inline assembly of 128 and of 16 bits.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
typedef unsigned __int128 u128; typedef __int128 i128; typedef unsigned long long u64; typedef unsigned short u16;
__attribute__((device)) inline u128 swapped(u128 x, u64 by) {
  u128 y; asm volatile("{ .reg .b64 p, q; mov.b128 {p, q}, %1; xor.b64 p, p, %2; mov.b128 %0, {q, p}; }"
    : "=q"(y) : "q"(x), "l"(by)); return y; }
__global__ void k(float *x, int *y, u64 *z, _Float16 *h, const float *ro, int n) {
  int t = __nvvm_read_ptx_sreg_tid_x(); u128 v = (u128)z[t] << 64 | z[t + 1], sum = 0;
  __shared__ u128 own[32]; __shared__ u16 small[32]; __shared__ u128 all; u128 *mine = (u128 *)(z + 128) + t;
  own[t] = v * n; *mine = v ^ 5; small[t] = t * 77; if (t == 0) all = 7; __nvvm_bar_sync(0);
  u128 want = t & 1 ? *mine : v; bool same = __atomic_compare_exchange_n(mine, &want, swapped(v, t), 0, 2, 0);
  sum += want + same; sum ^= __atomic_exchange_n(mine, v + 9, 3); sum += __atomic_fetch_add(&own[t], v, 5);
  sum += __atomic_fetch_sub(mine, v * 3, 0); sum ^= __atomic_fetch_nand(mine, v << 9, 0); sum ^= __atomic_fetch_or(&own[t], v >> 3, 4);
  sum += __atomic_fetch_max((i128 *)mine, (i128)v - 4, 0); sum += __atomic_fetch_min((i128 *)&own[t], -(i128)v, 0);
  sum ^= __atomic_fetch_max(mine, ~v, 0); __atomic_fetch_add(&all, (u128)t << 60, 0);
  u16 old = t & 2 ? small[t] : 3; sum += __atomic_compare_exchange_n(&small[t], &old, (u16)n, 0, 2, 0) + old;
  sum += __atomic_fetch_add(&small[t], (u16)40000, 0) + __atomic_exchange_n(&small[t], (u16)(t * 999), 0);
  sum ^= __atomic_fetch_max((short *)&small[t], (short)-3, 0) + __atomic_fetch_nand(&small[t], (u16)t, 0);
  __nvvm_bar_sync(0); sum += all + own[t] + small[t]; z[256 + 2 * t] = sum; z[257 + 2 * t] = sum >> 64;
  z[320 + 2 * t] = swapped(sum, 3); *(u128 *)(z + 400) = all;
}
