// Structs, functions, recursion, switch, local arrays, wide integers, printf; lines of the source.
typedef float w4 __attribute__((ext_vector_type(4)));
struct P { int a; short b; double d; char c[5]; };
__device__ __noinline__ P helper(P p, int x) { p.a += x; p.c[x&3] += p.b; p.d *= x; return p; }
__device__ __noinline__ int rec(int x) { return x < 2 ? 1 : rec(x-1) * x + rec(x-2); }
__constant__ int table[4] = {1,2,3,4};
__device__ const char *names[2] = {"hello\n", "world"};
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
  switch (t & 7) { case 0: acc += 1; break; case 1: acc *= 2; break; case 3: acc = y[3]; break; case 5: acc = sqrtf(acc); }
  asm volatile("{ .reg .b32 t; add.f32 %0, %0, %1; mov.b32 t, %2; }" : "+f"(acc) : "f"(2.f), "r"(t), "n"(3) : "memory");
  x[t] = acc;
  int local[16];
  for (int i = 0; i < 16; i++) local[i] = y[i*2];
  for (int i = 0; i < 16; i++) y[local[i] & 15] = local[(i + t) & 15];
  __int128 w = n; w *= n+1; w /= 3;
  y[1] ^= (int)(w >> 64);
  __shfl_xor_sync(-1, t, 1);
  y[2] = __shfl_xor_sync(-1, t, 1);
  atomicAdd(&y[3], 3); atomicAdd_system(&y[4], 2);
  w4 v = *(w4*)&x[t*4]; v += 1; *(w4*)&x[t*4] = v;
  printf("%d %s", t, names[t&1]);
}
