// What people write: products that the assembler fuses, 128-bit integers, one lane that waits for others.
#include <cuda_fp16.h>
#include <cstdint>

extern "C" __global__ void complex_products(const float2* x, const float2* y, float2* out, float* rest, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 a = x[i], b = y[i];
    out[i] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    float r = a.x;
    for (int k = 0; k < 5; ++k) r = a.y - r * b.x + b.y;  // Horner, but not as fmaf
    rest[i] = r - a.x / b.y;
}

extern "C" __global__ void quotients(const float* x, float* out) {  // the assembler knows reciprocals of constants
    const float a = x[threadIdx.x];
    float* o = out + threadIdx.x * 6;
    o[0] = __fdividef(a, 1.0490012f); o[1] = __fdividef(a, 3.6159506f) + 1.0f; o[2] = 2.0f - __fdividef(a, -5.4425898f);
    o[3] = a / 3.5537271f; o[4] = 1.0f / a - a; o[5] = __fdividef(a, 1e38f) + __fdividef(1e-39f, a);
}

extern "C" __global__ void half_products(const __half2* x, const __half2* y, __half2* out, double* rest) {
    const int i = threadIdx.x;
    const __half2 a = x[i], b = y[i];
    out[i] = __hsub2(__hadd2(a, b), __hmul2(a, b));
    const double d = __low2float(a), e = __high2float(b);
    rest[i] = (d - e * e) - (e - d * d) * d;
}

extern "C" __global__ void wide_integers(const uint64_t* x, uint64_t* out) {
    const int i = threadIdx.x;
    const auto join = [](uint64_t high, uint64_t low) { return (unsigned __int128)high << 64 | low; };
    const unsigned __int128 a = join(x[4 * i], x[4 * i + 1]), b = join(x[4 * i + 2], x[4 * i + 3]);
    const unsigned __int128 results[] = {a * b, a / (b >> 40 | 1), a % (b >> 17 | 1), a << (x[4 * i] & 127), (__int128)a >> 5};
    for (int k = 0; k < 5; ++k) out[10 * i + 2 * k] = results[k] >> 64, out[10 * i + 2 * k + 1] = results[k];
}

// Each block waits for the sum of those before it: one lane looks back, the others are at the barrier.
extern "C" __global__ void scan(const int* x, int* out, volatile int* sums, volatile int* flags, int n) {
    __shared__ int totals[8], before;
    const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = i < n ? x[i] : 0;
    for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    for (int k = 0; k < warp; ++k) sum += totals[k];
    if (threadIdx.x == 255) {
        int previous = 0;
        if (blockIdx.x) {
            while (flags[blockIdx.x - 1] == 0) {}
            __threadfence();
            previous = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = previous + sum;
        __threadfence();
        flags[blockIdx.x] = 1;
        before = previous;
    }
    __syncthreads();
    if (i < n) out[i] = sum + before;
}

__device__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ uint32_t pack(float x, float y) {
    const __half2 pair = __floats2half2_rn(x, y);
    return *reinterpret_cast<const uint32_t*>(&pair);
}

// Attention with a running maximum: a warp has 16 queries, keys and values come 16 at a time.
extern "C" __global__ void flash(const __half* q, const __half* k, const __half* v, float* out, int keys) {
    constexpr int D = 32;
    constexpr float SCALE = 0.1767767f, LOG2E = 1.442695f;
    __shared__ __half sk[16][D + 8], sv[16][D + 8];
    const int lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2;
    uint32_t a[2][4];
    for (int s = 0; s < 2; ++s)
        for (int i = 0; i < 4; ++i)
            a[s][i] = *(const uint32_t*)(q + (blockIdx.x * 16 + row + i % 2 * 8) * D + s * 16 + column + i / 2 * 8);
    float o[4][4] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {};
    for (int first = 0; first < keys; first += 16) {
        __syncwarp();
        for (int i = lane; i < 64; i += 32) {
            *(uint4*)&sk[i / 4][i % 4 * 8] = *(const uint4*)(k + first * D + i * 8);
            *(uint4*)&sv[i / 4][i % 4 * 8] = *(const uint4*)(v + first * D + i * 8);
        }
        __syncwarp();
        float s[2][4] = {};
        for (int n = 0; n < 2; ++n)
            for (int h = 0; h < 2; ++h)
                mma(s[n], a[h], *(uint32_t*)&sk[n * 8 + row][h * 16 + column], *(uint32_t*)&sk[n * 8 + row][h * 16 + column + 8]);
        for (int r = 0; r < 2; ++r) {
            float here = fmaxf(fmaxf(s[0][2 * r], s[0][2 * r + 1]), fmaxf(s[1][2 * r], s[1][2 * r + 1])) * SCALE;
            here = fmaxf(here, __shfl_xor_sync(~0u, here, 1));
            here = fmaxf(here, __shfl_xor_sync(~0u, here, 2));
            const float next = fmaxf(most[r], here), shrink = exp2f((most[r] - next) * LOG2E);
            float sum = 0;
            for (int n = 0; n < 2; ++n)
                for (int e = 2 * r; e < 2 * r + 2; ++e) sum += s[n][e] = exp2f((s[n][e] * SCALE - next) * LOG2E);
            total[r] = total[r] * shrink + sum;
            most[r] = next;
            for (int n = 0; n < 4; ++n) o[n][2 * r] *= shrink, o[n][2 * r + 1] *= shrink;
        }
        const uint32_t p[4] = {pack(s[0][0], s[0][1]), pack(s[0][2], s[0][3]), pack(s[1][0], s[1][1]), pack(s[1][2], s[1][3])};
        for (int n = 0; n < 4; ++n) {
            uint32_t b0, b1;
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                : "=r"(b0), "=r"(b1) : "r"((uint32_t)__cvta_generic_to_shared(&sv[lane % 16][n * 8])));
            mma(o[n], p, b0, b1);
        }
    }
    for (int r = 0; r < 2; ++r) {
        total[r] += __shfl_xor_sync(~0u, total[r], 1);
        total[r] += __shfl_xor_sync(~0u, total[r], 2);
        for (int n = 0; n < 4; ++n)
            *(float2*)(out + (blockIdx.x * 16 + row + 8 * r) * D + n * 8 + column) = make_float2(o[n][2 * r] / total[r], o[n][2 * r + 1] / total[r]);
    }
}
