#define NONE __int_as_float(0xff800000)  // minus infinity
__device__ unsigned f16x2(float first, float second) {  // both as f16, rounded; the first in the lower half
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}
__device__ float power(float x) {  // 2^x
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

extern "C" __global__ void repacked(const float* S, unsigned* A) {  // S of 16 x 16
    float s[8];
    unsigned a[4];
    for (int i = 0; i < 8; i++)
        s[i] = S[(group() + i / 2 % 2 * 8) * 16 + i / 4 * 8 + thread_in_group() * 2 + i % 2];
    repack(s, a);
    for (int r = 0; r < 4; r++) A[threadIdx.x * 4 + r] = a[r];
}

extern "C" __global__ void online(  // 16 queries, a head of 16, keys in blocks of 16; V by columns
    const f16* Q, const f16* K, const f16* V, float* O, float* M, float* L, int keys, float scale) {
    unsigned q[4], a[4], b[2];
    float o[8] = {0, 0, 0, 0, 0, 0, 0, 0}, m[2] = {NONE, NONE}, l[2] = {0, 0};
    load_a(q, Q, 16);
    for (int key = 0; key < keys; key += 16) {
        float s[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int j = 0; j < 2; j++) {
            load_b(b, K + (key + j * 8) * 16, 16);
            mma(s + 4 * j, q, b);
        }
        rescale(s, o, m, l, scale);
        for (int r = 0; r < 4; r++) a[r] = f16x2(s[2 * r], s[2 * r + 1]);
        for (int j = 0; j < 2; j++) {
            load_b(b, V + j * 8 * keys + key, keys);
            mma(o + 4 * j, a, b);
        }
    }
    for (int i = 0; i < 8; i++)
        O[(group() + i / 2 % 2 * 8) * 16 + i / 4 * 8 + thread_in_group() * 2 + i % 2] = o[i];
    for (int row = 0; row < 2; row++) {
        M[threadIdx.x * 2 + row] = m[row];
        L[threadIdx.x * 2 + row] = l[row];
    }
}

extern "C" __global__ void masked(float* S, int query, int key) {  // S of 16 x 16
    float s[8];
    for (int i = 0; i < 8; i++)
        s[i] = S[(group() + i / 2 % 2 * 8) * 16 + i / 4 * 8 + thread_in_group() * 2 + i % 2];
    mask(s, query, key);
    for (int i = 0; i < 8; i++)
        S[(group() + i / 2 % 2 * 8) * 16 + i / 4 * 8 + thread_in_group() * 2 + i % 2] = s[i];
}
