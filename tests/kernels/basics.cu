// Plain kernels: arithmetic, control flow, memory spaces, calls.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void copy(const u32* in, u32* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void vector_copy(const uint4* in, uint4* out, const double2* d, double2* e) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 v = in[i];
    out[i] = make_uint4(v.w, v.z, v.y, v.x);
    e[i] = make_double2(d[i].y, d[i].x);
}

extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void integers(const u32* x, const u32* y, u32* out, u64* wide, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 a = x[i], b = y[i] | 1;
    const int s = (int)a, t = (int)b;
    u32 h = a / b + a % b * 3 + (u32)(s / t) * 5 + (u32)(s % t) * 7;
    h ^= __popc(a) + __clz(b) * 11 + __ffs(a) * 13 + __brev(b) * 17;
    h += __byte_perm(a, b, 0x5140) + __umulhi(a, b) * 19 + (u32)__mulhi(s, t) * 23 + __mul24(s, t);
    h ^= (a << (b & 31)) + (a >> (b & 31)) + (u32)(s >> (b & 31)) + __funnelshift_l(a, b, a & 63);
    h += __funnelshift_rc(a, b, b & 63) + __sad(s, t, h) + __usad(a, b, h) + __hadd(s, t) + __rhadd(s, t);
    h ^= min(s, t) + max(s, t) * 3 + min(a, b) * 5 + max(a, b) * 7 + abs(s) * 9;
    h += __dp4a((int)a, (int)b, (int)h) + __dp4a(a, b, h) + __dp2a_lo((int)a, (int)b, (int)h);
    out[i] = h;
    u64 w = (u64)a * b + ((u64)b << 32 | a);
    const long long v = (long long)(w ^ 0x8000000000001234ull);
    w += (u64)(v / (t | 1)) + w % (b | 1) + (u64)(v >> (b & 63)) + (w << (a & 63)) + (u64)__popcll(w);
    w ^= (u64)__clzll(v) + __umul64hi(w, (u64)v) + (u64)__mul64hi(v, (long long)w) + __brevll(w) + __ffsll(v);
    wide[i] = w + (u64)min(v, (long long)w) + max((u64)v, w);
}

extern "C" __global__ void inline_integers(const u32* x, const u32* y, u32* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 a = x[i], b = y[i];
    u32 r0, r1, r2, r3, lo, hi;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r0) : "r"(a), "r"(b & 31), "r"(b >> 5 & 31));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r1) : "r"(a), "r"(b), "r"(b & 31), "r"(a & 31));
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(r2) : "r"(a), "r"(b), "r"(a ^ ~b));
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r3) : "r"(a), "r"(b), "r"(a & 3));
    asm("add.cc.u32 %0, %2, %3;\n addc.u32 %1, %2, 0;" : "=r"(lo), "=r"(hi) : "r"(a), "r"(b));
    asm("{ .reg .pred p; setp.lt.and.s32 p, %1, %2, 1; @p add.u32 %0, %0, 77; @!p xor.b32 %0, %0, 5; }"
        : "+r"(r0) : "r"(a), "r"(b));
    out[i] = r0 ^ r1 * 3 ^ r2 * 5 ^ r3 * 7 ^ lo * 9 ^ hi * 11;
}

extern "C" __global__ void floats(const float* x, const float* y, float* out, double* wide, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], b = y[i];
    float* o = out + 16 * i;
    o[0] = a + b; o[1] = a - b; o[2] = a * b; o[3] = __fdiv_rn(a, b);
    o[4] = __fsqrt_rn(fabsf(a)); o[5] = fmaf(a, b, a); o[6] = __fadd_rz(a, b); o[7] = __fmul_ru(a, b);
    o[8] = __fmaf_rd(a, b, b); o[9] = fminf(a, b); o[10] = fmaxf(a, b); o[11] = __frcp_rn(a);
    o[12] = floorf(a) + rintf(b); o[13] = truncf(a) - ceilf(b); o[14] = __saturatef(a); o[15] = copysignf(a, b);
    double* w = wide + 6 * i;
    const double c = a, d = b;
    w[0] = c + d * 3.0; w[1] = c / d; w[2] = sqrt(fabs(d)); w[3] = fma(c, d, c); w[4] = __dmul_rz(c, d);
    w[5] = (double)(long long)c + (double)(u32)fabs(d);
}

extern "C" __global__ void conversions(const float* x, const u32* y, u32* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i];
    const u32 b = y[i];
    u32 h = (u32)(int)a + (u32)a * 3 + __float2int_rn(a) * 5 + __float2uint_ru(a) * 7 + __float_as_uint((float)(int)b);
    h ^= __float_as_uint((float)b) + __float_as_uint(__int2float_rz((int)b)) * 3;
    u16 half;
    u32 pair;
    float back;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(a));
    asm("cvt.f32.f16 %0, %1;" : "=f"(back) : "h"(half));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(a), "f"(back));
    h += half * 3u + __float_as_uint(back) + pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(a), "f"(back));
    h ^= pair + (u32)(signed char)b + (u32)(short)b + (u32)(u8)(b >> 8) * 5;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(pair) : "f"(a));
    h += pair + (u32)__double2float_rn((double)a * 1.0000001);
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(half) : "f"(a), "f"(back));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(half));
    out[i] = h ^ half * 7u ^ pair * 9u;
}

extern "C" __global__ void halves(const u32* x, const u32* y, u32* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 a = x[i], b = y[i];
    u32 r;
    asm("fma.rn.f16x2 %0, %1, %2, %1;" : "=r"(r) : "r"(a), "r"(b)); out[6 * i] = r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); out[6 * i + 1] = r;
    asm("mul.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); out[6 * i + 2] = r;
    asm("fma.rn.bf16x2 %0, %1, %2, %2;" : "=r"(r) : "r"(a), "r"(b)); out[6 * i + 3] = r;
    asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); out[6 * i + 4] = r;
    asm("fma.rn.relu.f16x2 %0, %1, %2, %1;" : "=r"(r) : "r"(a), "r"(b)); out[6 * i + 5] = r;
}

extern "C" __global__ void bytes(const signed char* a, const u8* b, const short* c, u8* out, u16* out2, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = (u8)(a[i] * 3 + b[i] - (c[i] >> 2));
    out2[i] = (u16)(a[i] * b[i] + c[i]);
}

extern "C" __global__ void collatz(const u32* start, u32* steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = start[i], count = 0;
    while (x > 1) {
        if (x & 1) x = 3 * x + 1;
        else x >>= 1;
        if (++count > 300) break;
    }
    steps[i] = count;
}

extern "C" __global__ void nested(const int* x, int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i], r = 0;
    for (int a = 0; a < (v & 7); ++a) {
        if (a & 1) {
            for (int b = 0; b < (v >> 3 & 3); ++b) r += (a ^ b) * v;
            if (r & 4) continue;
            r += 11;
        } else if ((v ^ a) & 2) {
            r -= a * 3;
        } else {
            r ^= v;
            if (r % 5 == 0) break;
        }
        r = r * 2 + 1;
    }
    switch (v & 15) {
        case 0: r += 100; break;
        case 1: r ^= 200;
        case 2: r -= 300; break;
        case 3: r *= 7; break;
        case 4: r = -r; break;
        case 5: r >>= 3; break;
        case 6: r <<= 2; break;
        case 7: r |= 0x700; break;
        case 8: r &= 0xff0f; break;
        default: r += v;
    }
    out[i] = r;
}

extern "C" __global__ void local_array(const u8* index, u32* out) {
    u32 table[32];
    for (int k = 0; k < 32; ++k) table[k] = k * threadIdx.x + 7;
    const u8* mine = index + (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    u32 sum = 0;
    for (int k = 0; k < 8; ++k) {
        table[mine[k] & 31] += k * sum + 1;
        sum += table[mine[(k + 3) & 7] & 31];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__constant__ float weights[8] = {0.5f, -1.25f, 2.0f, 0.125f, 3.5f, -0.75f, 1.0f, 9.0f};
__device__ u32 counter = 41;
__device__ const u16 lookup[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};

extern "C" __global__ void module_variables(const float* x, float* out) {
    const int i = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += weights[(k + i) & 7] * x[i + k];
    if (i == 0) counter += 1;
    __syncthreads();
    out[i] = sum + lookup[i & 15] + counter;
}

__device__ __noinline__ int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
__device__ __noinline__ int square(int n) { return n * n + 1; }
__device__ __noinline__ int cube(int n) { return n * n * n - 1; }
struct Pair { int a; float b; };
__device__ __noinline__ Pair combine(Pair p, const Pair& q) { return {p.a + q.a * 2, p.b * q.b}; }
typedef int (*Function)(int);

extern "C" __global__ void calls(const int* x, int* out, float* floats) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int v = x[i];
    Function f = (v & 1) ? square : cube;
    int r = factorial(v & 7) + f(v & 63);
    if (v & 2) r += square(v & 31);
    Pair p = {r, (float)v}, q = {v, 0.5f};
    const Pair s = combine(p, q);
    out[i] = s.a;
    floats[i] = s.b;
}

struct Settings { int first; float scale; u8 flags[4]; double bias; };

extern "C" __global__ void structs(Settings settings, float* out) {
    const int i = threadIdx.x;
    out[i] = (float)((i + settings.first) * settings.scale + settings.bias + settings.flags[i & 3]);
}

template <int N, typename T>
__global__ void scaled(T* x) { x[threadIdx.x] = x[threadIdx.x] * N; }
template __global__ void scaled<3, int>(int*);

extern "C" __global__ void generic_pointers(int* a, int* b, int* out) {
    __shared__ int s[64];
    int mine[4] = {1, 2, 3, (int)threadIdx.x};
    s[threadIdx.x] = threadIdx.x * 5;
    __syncthreads();
    int* choices[4] = {a, b, s, mine};
    const int k = threadIdx.x & 3;
    int* p = choices[k];
    p[k == 3 ? 1 : threadIdx.x] += 1000;
    __syncthreads();
    out[threadIdx.x] = p[k == 3 ? 1 : threadIdx.x] + s[63 - threadIdx.x];
}

extern "C" __global__ void dynamic_shared(const int* in, int* out) {
    extern __shared__ int memory[];
    int* first = memory;
    short* second = (short*)(memory + blockDim.x);
    first[threadIdx.x] = in[threadIdx.x];
    second[threadIdx.x] = (short)(in[threadIdx.x] * 3);
    __syncthreads();
    out[threadIdx.x] = first[blockDim.x - 1 - threadIdx.x] + second[(threadIdx.x + 5) % blockDim.x];
}
