// Atomics, warps, barriers, conversions, half precision, inline assembly, memory functions.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
struct __tid {
  __declspec(property(get = x_)) unsigned x;
  static __device__ __forceinline__ unsigned x_() { return __nvvm_read_ptx_sreg_tid_x(); }
};
struct __ctaid {
  __declspec(property(get = x_)) unsigned x;
  static __device__ __forceinline__ unsigned x_() { return __nvvm_read_ptx_sreg_ctaid_x(); }
};
struct __ntid {
  __declspec(property(get = x_)) unsigned x;
  static __device__ __forceinline__ unsigned x_() { return __nvvm_read_ptx_sreg_ntid_x(); }
};
extern const __device__ __attribute__((weak)) __tid threadIdx;
extern const __device__ __attribute__((weak)) __ctaid blockIdx;
extern const __device__ __attribute__((weak)) __ntid blockDim;
typedef _Float16 half; typedef __bf16 bf16;
typedef half h2 __attribute__((ext_vector_type(2)));
typedef bf16 bb2 __attribute__((ext_vector_type(2)));
typedef __attribute__((address_space(3))) int sint;
template<int N> struct A { float v[N]; };
__device__ __noinline__ float f1(float (*g)(float), float x) { return g(x) + 1; }
__device__ __noinline__ float g1(float x) { return x * 3; }
__device__ __noinline__ float g2(float x) { return x / 7; }
__global__ void k(float *x, int *y, unsigned long long *z, half *h, const float *__restrict__ ro, int n) {
  int t = threadIdx.x; extern __shared__ float dyn[]; __shared__ int cnt; __shared__ unsigned long long cnt64; __shared__ float fs;
  if (t == 0) { cnt = 0; cnt64 = 0; fs = 0; } __syncthreads();
  float (*tab[2])(float) = {g1, g2};
  x[t] = f1(tab[(n + t) & 1], x[t]);
  __nvvm_atom_add_gen_i(&cnt, t); __nvvm_atom_add_gen_f(&fs, 1.f); __nvvm_atom_max_gen_i(&y[100], t); __nvvm_atom_cas_gen_i(&y[101], 0, 5);
  __nvvm_atom_xchg_gen_i(&y[102], 3); __nvvm_atom_inc_gen_ui((unsigned*)&y[103], 10); __nvvm_atom_min_gen_ll((long long*)&z[100], -t);
  __scoped_atomic_fetch_add(&y[104], 2, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_store_n(&y[105], 2, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
  y[106] = __scoped_atomic_load_n(&y[104], __ATOMIC_ACQUIRE, __MEMORY_SCOPE_WRKGRP) > 0;
  __scoped_atomic_fetch_nand(&y[107], 2, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __atomic_fetch_add(&cnt64, 3, __ATOMIC_SEQ_CST);
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_DEVICE); __nvvm_membar_gl();
  __syncthreads();
  y[t] = cnt + (int)cnt64 + (int)fs;
  int p; y[t] += __nvvm_vote_any_sync(-1, t > 3) + __nvvm_vote_ballot_sync(-1, t & 1) + __nvvm_match_any_sync_i32(-1, t & 3) + __nvvm_match_all_sync_i32p(-1, 7, &p); y[t] += p;
  y[t] += __nvvm_redux_sync_add(t, -1) + __nvvm_redux_sync_umax(t, -1) + __nvvm_activemask();
  y[t] += __nvvm_bar0_popc(t > 5) + __nvvm_bar0_or(t == 3) + __nvvm_bar0_and(1);
  __nvvm_bar_warp_sync(-1); __nvvm_barrier_sync(1); __nvvm_barrier_sync_cnt(2, 32);
   x[t] += __nvvm_shfl_sync_down_f32(-1, x[t], 1, 31);
  x[t] += __nvvm_sin_approx_f(x[t]) + __nvvm_ex2_approx_ftz_f(x[t] * .01f) + __nvvm_rsqrt_approx_f(x[t] * x[t] + 1) + __nvvm_rcp_rn_f(t + 1.f) + __nvvm_add_rz_f(x[t], .1f) + __nvvm_div_approx_f(x[t], 3.f) + __nvvm_sqrt_rn_f(t) + __nvvm_fma_rm_f(x[t], .3f, 1.f) + __nvvm_saturate_f(x[t]) + __nvvm_fmin_f(x[t], 2);
  y[t] += __nvvm_f2i_rn(x[t]) + __nvvm_d2i_rm(x[t] * 1.3) + __nvvm_mulhi_i(t << 20, 77777) + __nvvm_prmt(t, 77, 0x3210) + __nvvm_f2ui_rp(t*.7f);
  x[t] += __nvvm_i2f_rz(t * 1234567) + __nvvm_ll2f_rm(z[t]) + (float)__nvvm_add_rm_d(x[t], .1);
  z[t] = __nvvm_mulhi_ull(z[t], 0x123456789abcdefull) + __builtin_bitreverse64(t) + __nvvm_d2ll_rn(x[t] * 1e5);
  half a = h[t], b = h[t + 1]; h[t] = a * b + a / (b + (half)3) - __builtin_fmaf16(a, b, a); bf16 c = (bf16)x[t]; h2 v = *(h2*)(h + 2 * t); v = v * v + v; *(h2*)(h + 128 + 2 * t) = v;
  x[t] += (float)(c * c + c); x[t] += (float)(bf16)(float)v.x + ro[t];
  __nvvm_ldg_f(ro); x[t] += __nvvm_ldg_f(ro + t + 1);
  asm("{ mov.b64 {%0, %1}, %2; }" : "=r"(p), "=r"(n) : "l"(z[t])); y[t] += p * n;
  unsigned short us; asm volatile("mov.b16 %0, %1; // %% %=" : "=h"(us) : "h"((short)t)); y[t] += us;
  unsigned addr = (unsigned)(unsigned long long)(sint*)&cnt; int q; asm volatile("ld.shared.s32 %0, [%1];" : "=r"(q) : "r"(addr) : "memory"); y[t] += q;
  double d; asm("add.f64 %0, %1, %2;" : "=d"(d) : "d"((double)x[t]), "d"(1.5)); x[t] = d;
  A<5> s; for (int i = 0; i < 5; i++) s.v[i] = x[(t + i) & 63]; A<5> s2 = s; x[64 + t] = s2.v[t % 5];
  dyn[t] = x[t]; __syncthreads(); volatile float *vd = dyn; x[t] += vd[31 - t]; 
  char buf[40]; __builtin_memset(buf, t, 40); __builtin_memcpy(buf + 3, &x[1], 17); int acc = 0; for (int i = 0; i < 40; i++) acc = acc * 31 + buf[i]; y[t] ^= acc;
  __builtin_memcpy(y + 200 + 40 * (n & 1), y + 110, (t == 3) * (y[1] & 31));
  if (__builtin_isnan(x[t]) || __builtin_isinf(x[t])) y[t] = 3; if (__builtin_expect(n == 12345, 0)) __builtin_trap(); if (__builtin_isfpclass(x[t], 0x00f8)) y[t]++;
  x[t] += __builtin_roundf(x[t]) + __builtin_fmodf(x[t], 3.f) + __builtin_copysignf(1.f, -x[t]) + (float)__builtin_round(x[t] * 3.0) + __builtin_fmaxf(x[t], 3);
  y[t] += (int)__nvvm_read_ptx_sreg_clock() * 0 + __nvvm_read_ptx_sreg_laneid() + __nvvm_read_ptx_sreg_lanemask_lt() + __nvvm_read_ptx_sreg_warpsize();
}
