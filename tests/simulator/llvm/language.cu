// Structs, functions, recursion, switch, local arrays, wide integers, printf; lines of the source.
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
typedef float float4 __attribute__((ext_vector_type(4)));
struct P { int a; short b; double d; char c[5]; };
__device__ __noinline__ P helper(P p, int x) { p.a += x; p.c[x&3] += p.b; p.d *= x; return p; }
__device__ __noinline__ int rec(int x) { return x < 2 ? 1 : rec(x-1) * x + rec(x-2); }
__constant__ int table[4] = {1,2,3,4};
__device__ const char *names[2] = {"hello\n", "world"};
extern "C" __device__ int vprintf(const char *, const char *);
extern __shared__ int dyn[];
__global__ void __launch_bounds__(128, 2) k(float *x, int *y, P p, long long n) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * blockDim.x + t];
  dyn[t] = 3;
  __syncthreads();
  float acc = 0;
  for (int i = 0; i < n; i++) { acc = acc * s[(t + i) & 127] + 1.5f; if (i % 7 == t % 3) acc -= table[i & 3]; }
  P q = helper(p, t);
  y[t] = q.a + q.c[2] + (int)q.d + rec(t & 7);
  switch (t & 7) { case 0: acc += 1; break; case 1: acc *= 2; break; case 3: acc = y[3]; break; case 5: acc = __builtin_sqrtf(acc); }
  asm volatile("{ .reg .b32 t; add.f32 %0, %0, %1; mov.b32 t, %2; }" : "+f"(acc) : "f"(2.f), "r"(t), "n"(3) : "memory");
  x[t] = acc;
  int local[16];
  for (int i = 0; i < 16; i++) local[i] = y[i*2];
  for (int i = 0; i < 16; i++) y[local[i] & 15] = local[(i + t) & 15];
  __int128 w = n; w *= n+1; w /= 3;
  y[1] ^= (int)(w >> 64);
  __nvvm_shfl_sync_bfly_i32(-1, t, 1, 31);
  y[2] = __nvvm_shfl_sync_bfly_i32(-1, t, 1, 31);
  __nvvm_atom_add_gen_i(&y[3], 3); __atomic_fetch_add(&y[4], 2, __ATOMIC_RELAXED);
  float4 v = *(float4*)&x[t*4]; v += 1; *(float4*)&x[t*4] = v;
  struct {int a; const char *b;} args = {t, names[t&1]};
  vprintf("%d %s", (const char*)&args);
}
