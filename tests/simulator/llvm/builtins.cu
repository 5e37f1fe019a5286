// Functions of the header: atomics, warps, barriers, conversions, half precision; inline assembly, memory functions.
#include <cuda_fp16.h>
typedef _Float16 f16; typedef __bf16 bf16;
typedef f16 h2 __attribute__((ext_vector_type(2)));
typedef bf16 bb2 __attribute__((ext_vector_type(2)));
typedef __attribute__((address_space(3))) int sint;
template<int N> struct A { float v[N]; };
__device__ __noinline__ float f1(float (*g)(float), float x) { return g(x) + 1; }
__device__ __noinline__ float g1(float x) { return x * 3; }
__device__ __noinline__ float g2(float x) { return x / 7; }
__global__ void k(float *x, int *y, unsigned long long *z, f16 *h, const float *__restrict__ ro, int n) {
  int t = threadIdx.x; extern __shared__ float dyn[]; __shared__ int cnt; __shared__ unsigned long long cnt64; __shared__ float fs;
  if (t == 0) { cnt = 0; cnt64 = 0; fs = 0; } __syncthreads();
  float (*tab[2])(float) = {g1, g2};
  x[t] = f1(tab[(n + t) & 1], x[t]);
  atomicAdd(&cnt, t); atomicAdd(&fs, 1.f); atomicMax(&y[100], t); atomicCAS(&y[101], 0, 5);
  atomicExch(&y[102], 3); atomicInc((unsigned*)&y[103], 10); atomicMin((long long*)&z[100], -t);
  atomicAdd_block(&y[104], 2); atomicSub_system(&y[105], 2); atomicAdd(&cnt64, 3); __threadfence();
  __syncthreads();
  y[t] = cnt + (int)cnt64 + (int)fs;
  int p; y[t] += __any_sync(-1, t > 3) + __ballot_sync(-1, t & 1) + __match_any_sync(-1, t & 3) + __match_all_sync(-1, 7, &p); y[t] += p;
  y[t] += __reduce_add_sync(-1, t) + __reduce_max_sync(-1, t) + __activemask();
  y[t] += __syncthreads_count(t > 5) + __syncthreads_or(t == 3) + __syncthreads_and(1);
  __syncwarp(); x[t] += __shfl_down_sync(-1, x[t], 1);
  x[t] += __sinf(x[t]) + __expf(x[t] * .01f) + rsqrtf(x[t] * x[t] + 1) + __frcp_rn(t + 1.f) + __fadd_rz(x[t], .1f) + __fdividef(x[t], 3.f) + sqrtf(t) + __fmaf_rd(x[t], .3f, 1.f) + __saturatef(x[t]) + fminf(x[t], 2);
  y[t] += __float2int_rn(x[t]) + __double2int_rd(x[t] * 1.3) + __mulhi(t << 20, 77777) + __byte_perm(t, 77, 0x3210) + __float2uint_ru(t*.7f);
  x[t] += __int2float_rz(t * 1234567) + __ll2float_rd(z[t]) + (float)__dadd_rd(x[t], .1);
  z[t] = __umul64hi(z[t], 0x123456789abcdefull) + __brevll(t) + __double2ll_rn(x[t] * 1e5);
  f16 a = h[t], b = h[t + 1]; h[t] = a * b + a / (b + (f16)3) - __builtin_fmaf16(a, b, a); bf16 c = (bf16)x[t]; h2 v = *(h2*)(h + 2 * t); v = v * v + v; *(h2*)(h + 128 + 2 * t) = v;
  x[t] += (float)(c * c + c); x[t] += (float)(bf16)(float)v.x + ro[t];
  x[t] += __ldg(ro + t + 1);
  asm("{ mov.b64 {%0, %1}, %2; }" : "=r"(p), "=r"(n) : "l"(z[t])); y[t] += p * n;
  unsigned short us; asm volatile("mov.b16 %0, %1; // %% %=" : "=h"(us) : "h"((short)t)); y[t] += us;
  unsigned addr = (unsigned)(unsigned long long)(sint*)&cnt; int q; asm volatile("ld.shared.s32 %0, [%1];" : "=r"(q) : "r"(addr) : "memory"); y[t] += q;
  double d; asm("add.f64 %0, %1, %2;" : "=d"(d) : "d"((double)x[t]), "d"(1.5)); x[t] = d;
  A<5> s; for (int i = 0; i < 5; i++) s.v[i] = x[(t + i) & 63]; A<5> s2 = s; x[64 + t] = s2.v[t % 5];
  dyn[t] = x[t]; __syncthreads(); volatile float *vd = dyn; x[t] += vd[31 - t]; 
  char buf[40]; __builtin_memset(buf, t, 40); __builtin_memcpy(buf + 3, &x[1], 17); int acc = 0; for (int i = 0; i < 40; i++) acc = acc * 31 + buf[i]; y[t] ^= acc;
  __builtin_memcpy(y + 200 + 40 * (n & 1), y + 110, (t == 3) * (y[1] & 31));
  if (isnan(x[t]) || isinf(x[t])) y[t] = 3; if (__builtin_expect(n == 12345, 0)) __trap(); if (__builtin_isfpclass(x[t], 0x00f8)) y[t]++;
  x[t] += roundf(x[t]) + fmodf(x[t], 3.f) + copysignf(1.f, -x[t]) + (float)round(x[t] * 3.0) + fmaxf(x[t], 3);
  y[t] += (int)clock() * 0 + __lanemask_lt() + warpSize;
}
