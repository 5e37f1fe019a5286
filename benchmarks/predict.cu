// One kernel for each unit that a launch can be bound by, and some of everyday.
typedef unsigned long long u64;
extern "C" __global__ void copy(uint4* y, const uint4* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __global__ void copy4(unsigned* y, const unsigned* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __global__ void strided(float* y, const float* x, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * step < n) y[i] = x[i * step];
}
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}
extern "C" __global__ void reduce(float* out, const float4* x, int n) {
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    s += v.x + v.y + v.z + v.w;
  }
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  __shared__ float part[32];
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x == 0) atomicAdd(out, s);
  }
}
template <int PITCH> __device__ void transpose_tile(float* y, const float* x, int n) {
  __shared__ float tile[32 * PITCH];
  int bx = blockIdx.x % (n / 32), by = blockIdx.x / (n / 32), tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  for (int r = ty; r < 32; r += 8) tile[r * PITCH + tx] = x[(by * 32 + r) * n + bx * 32 + tx];
  __syncthreads();
  for (int r = ty; r < 32; r += 8) y[(bx * 32 + r) * n + by * 32 + tx] = tile[tx * PITCH + r];
}
extern "C" __global__ void transpose_conflicts(float* y, const float* x, int n) { transpose_tile<32>(y, x, n); }
extern "C" __global__ void transpose_padded(float* y, const float* x, int n) { transpose_tile<33>(y, x, n); }
extern "C" __global__ void transpose_naive(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, r = i / n, c = i % n;
  y[c * n + r] = x[i];
}
extern "C" __global__ void exponentials(float* y, int n) {
  float v = threadIdx.x * 1e-3f;
  for (int i = 0; i < n; i++) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));
  y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void multiply_adds(float* y, int n) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < n; i++) {
    a = a * 1.5f + 0.5f; b = b * 1.5f + 0.5f; c = c * 1.5f + 0.5f; d = d * 1.5f + 0.5f;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
extern "C" __global__ void integers(unsigned* y, int n) {
  unsigned a = threadIdx.x, b = a + 1;
  for (int i = 0; i < n; i++) { a = (a ^ (a << 13)) + b; b = (b ^ (b >> 17)) + a; }
  y[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}
extern "C" __global__ void divisions(float* y, int n) {
  float a = threadIdx.x + 1.0f;
  for (int i = 0; i < n; i++) a = 3.0f / a + 1.0f;
  y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
extern "C" __global__ void products(unsigned* y, int n) {
  unsigned a[4] = {threadIdx.x, 1, 2, 3}, b[2] = {4, 5};
  float d[4][4] = {};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 4; j++)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  float s = 0;
  for (int j = 0; j < 16; j++) s += d[j / 4][j % 4];
  y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
extern "C" __global__ void fragments(unsigned* y, int n) {
  __shared__ __align__(128) unsigned tile[4096];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) tile[i] = i;
  __syncthreads();
  unsigned at = (unsigned)__cvta_generic_to_shared(tile) + (threadIdx.x % 32) * 16, s = 0;
  for (int i = 0; i < n; i++) {
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at + i % 16 * 512));
    s += a ^ b ^ c ^ d;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
extern "C" __global__ void atomics(unsigned* y, int n, int mask) {
  for (int i = 0; i < n; i++) atomicAdd(y + ((blockIdx.x * blockDim.x + threadIdx.x + i * 977) & mask), 1u);
}
extern "C" __global__ void shared_atomics(unsigned* y, const unsigned* x, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(bins + (x[i] & 255), 1u);
  __syncthreads();
  atomicAdd(y + threadIdx.x, bins[threadIdx.x]);
}
extern "C" __global__ void async_copies(unsigned* y, const uint4* x, int n, int steps) {
  extern __shared__ __align__(128) uint4 stage[];
  unsigned at = (unsigned)__cvta_generic_to_shared(stage) + threadIdx.x * 16, s = 0;
  long i = (long)blockIdx.x * steps * blockDim.x + threadIdx.x;
  for (int j = 0; j < steps + 3; j++) {
    if (j < steps) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + j % 4 * blockDim.x * 16), "l"(x + i + (long)j * blockDim.x));
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 3;" ::: "memory");
    __syncthreads();
    if (j >= 3) s += stage[(j - 3) % 4 * blockDim.x + (threadIdx.x ^ 1)].x;
    __syncthreads();
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
extern "C" __global__ void bulk_copies(unsigned* y, const char* x, int steps) {
  extern __shared__ __align__(128) unsigned ring[];
  __shared__ __align__(8) u64 full[4];
  const int bytes = 8192;
  unsigned at = (unsigned)__cvta_generic_to_shared(ring), bar = (unsigned)__cvta_generic_to_shared(full), s = 0;
  if (threadIdx.x == 0)
    for (int i = 0; i < 4; i++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar + 8 * i));
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const char* from = x + (long)blockIdx.x * steps * bytes;
  for (int j = 0; j < steps + 3; j++) {
    if (threadIdx.x == 0 && j < steps) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar + j % 4 * 8), "r"(bytes) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        ::"r"(at + j % 4 * bytes), "l"(from + (long)j * bytes), "r"(bytes), "r"(bar + j % 4 * 8) : "memory");
    }
    if (j >= 3) {
      int k = j - 3;
      asm volatile("{ .reg .pred p; W_%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W_%=; }"
        ::"r"(bar + k % 4 * 8), "r"(k / 4 & 1) : "memory");
      s += ring[k % 4 * bytes / 4 + threadIdx.x];
      __syncthreads();
    }
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
extern "C" __global__ void softmax(float* y, const float* x, int n) {
  __shared__ float part[32];
  const float* row = x + (long)blockIdx.x * n;
  float m = -1e30f, s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
  __syncthreads();
  for (int i = 0; i < blockDim.x / 32; i++) m = fmaxf(m, part[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += __expf(row[i] - m);
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < blockDim.x / 32; i++) s += part[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[(long)blockIdx.x * n + i] = __expf(row[i] - m) / s;
}
extern "C" __global__ void sgemm(float* c, const float* a, const float* b, int n) {
  __shared__ float sa[16][64], sb[16][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.x / (n / 64) * 64, col = blockIdx.x % (n / 64) * 64;
  float acc[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      sa[i % 16][i / 16] = a[(row + i / 16) * n + k + i % 16];
      sb[i / 64][i % 64] = b[(k + i / 64) * n + col + i % 64];
    }
    __syncthreads();
    for (int kk = 0; kk < 16; kk++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) acc[i][j] += sa[kk][ty * 4 + i] * sb[kk][tx * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + col + tx * 4 + j] = acc[i][j];
}
extern "C" __global__ void stencil(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, r = i / n, c = i % n;
  if (r > 0 && r < n - 1 && c > 0 && c < n - 1)
    y[i] = 0.2f * (x[i] + x[i - 1] + x[i + 1] + x[i - n] + x[i + n]);
}
