// Mathematical functions, and kernels that are made of them.
typedef unsigned int u32;
#define INFINITY __int_as_float(0x7f800000)

extern "C" __global__ void functions(const float* x, const float* y, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], b = y[i], p = fabsf(a);
    float* o = out + 24 * i;
    o[0] = expf(a); o[1] = logf(p); o[2] = sinf(a); o[3] = cosf(b); o[4] = tanf(a); o[5] = powf(p, b);
    o[6] = tanhf(a); o[7] = erff(b); o[8] = rsqrtf(p); o[9] = 1.0f / a; o[10] = sqrtf(p); o[11] = a / b;
    o[12] = __expf(a); o[13] = __sinf(b); o[14] = __fdividef(a, b); o[15] = __log2f(p); o[16] = exp2f(b);
    o[17] = cbrtf(a); o[18] = atan2f(a, b); o[19] = hypotf(a, b); o[20] = log1pf(p); o[21] = expm1f(b);
    o[22] = fmodf(a, b); o[23] = normcdff(b);
}

extern "C" __global__ void double_functions(const double* x, double* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double a = x[i], p = fabs(a) + 1e-3;
    double* o = out + 10 * i;
    o[0] = exp(a); o[1] = log(p); o[2] = sin(a); o[3] = cos(a * 50); o[4] = pow(p, 1.7); o[5] = tanh(a);
    o[6] = erf(a); o[7] = rsqrt(p); o[8] = 1.0 / a; o[9] = cbrt(a);
}

extern "C" __global__ void softmax(const float* x, float* out, int columns) {
    // One warp for a row.
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* in = x + row * columns;
    float most = -INFINITY, sum = 0;
    for (int c = lane; c < columns; c += 32) most = fmaxf(most, in[c]);
    for (int s = 16; s > 0; s >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
    for (int c = lane; c < columns; c += 32) sum += expf(in[c] - most);
    for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
    for (int c = lane; c < columns; c += 32) out[row * columns + c] = expf(in[c] - most) / sum;
}

extern "C" __global__ void layer_norm(const float* x, const float* gain, const float* bias, float* out, int columns) {
    __shared__ float sums[2][4];
    const float* in = x + blockIdx.x * columns;
    float s = 0, q = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) { s += in[c]; q += in[c] * in[c]; }
    for (int k = 16; k > 0; k >>= 1) { s += __shfl_xor_sync(~0u, s, k); q += __shfl_xor_sync(~0u, q, k); }
    if (threadIdx.x % 32 == 0) { sums[0][threadIdx.x / 32] = s; sums[1][threadIdx.x / 32] = q; }
    __syncthreads();
    s = q = 0;
    for (int w = 0; w < 4; ++w) { s += sums[0][w]; q += sums[1][w]; }
    const float mean = s / columns, scale = rsqrtf(q / columns - mean * mean + 1e-5f);
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        out[blockIdx.x * columns + c] = (in[c] - mean) * scale * gain[c] + bias[c];
}

extern "C" __global__ void gelu(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

__device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ u32 pack(float low, float high) {
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

extern "C" __global__ void attention(const u32* q, const u32* k, const unsigned short* v, float* out, int keys) {
    // Online softmax as in flash attention: a warp has 16 queries of 16 halves; keys come in blocks of 16.
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    const u32* mine = q + blockIdx.x * 16 * 8;
    const u32 a[4] = {mine[g * 8 + t], mine[(g + 8) * 8 + t], mine[g * 8 + t + 4], mine[(g + 8) * 8 + t + 4]};
    float o[2][4] = {}, most[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    for (int first = 0; first < keys; first += 16) {
        float s[2][4] = {};
        for (int n = 0; n < 2; ++n) {
            const u32* key = k + (first + n * 8 + g) * 8;
            mma(s[n], a, key[t], key[t + 4]);
        }
        for (int h = 0; h < 2; ++h) {
            float m = most[h];
            for (int n = 0; n < 2; ++n) m = fmaxf(m, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
            const float scale = exp2f(most[h] - m);
            most[h] = m;
            sum[h] *= scale;
            for (int n = 0; n < 2; ++n)
                for (int e = 0; e < 2; ++e) {
                    s[n][2 * h + e] = exp2f(s[n][2 * h + e] - m);
                    sum[h] += s[n][2 * h + e];
                    o[n][2 * h + e] *= scale;
                }
        }
        const u32 p[4] = {pack(s[0][0], s[0][1]), pack(s[0][2], s[0][3]), pack(s[1][0], s[1][1]), pack(s[1][2], s[1][3])};
        for (int n = 0; n < 2; ++n) {
            const unsigned short* column = v + first * 16 + n * 8 + g;
            const u32 b0 = column[t * 32] | (u32)column[t * 32 + 16] << 16;
            const u32 b1 = column[t * 32 + 128] | (u32)column[t * 32 + 144] << 16;
            mma(o[n], p, b0, b1);
        }
    }
    for (int h = 0; h < 2; ++h) {
        sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
        sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
        for (int n = 0; n < 2; ++n)
            for (int e = 0; e < 2; ++e)
                out[(blockIdx.x * 16 + g + h * 8) * 16 + n * 8 + t * 2 + e] = o[n][2 * h + e] / sum[h];
    }
}
