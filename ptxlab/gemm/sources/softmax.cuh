// Softmax on accumulators of S = Q K^T, and what else the attention kernels do to them.
//
// mma and wgmma deal D out in the same way (fragment.cuh): a thread has parts of two rows, lane / 4 and the one 8 below; of every
// 8 columns it has the pair lane % 4 * 2 and the next, as d[4 j], d[4 j + 1] in the first row and d[4 j + 2], d[4 j + 3] in the
// second. The other parts of a row are in the other three lanes of its quad.
#pragma once
#include <stdint.h>

#define NONE __int_as_float(0xff800000)  // minus infinity: exp2 of it is zero

__device__ __forceinline__ float exp2_approx(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

__device__ __forceinline__ float quad_sum(float x)
{
    x = __fadd_rn(x, __shfl_xor_sync(~0u, x, 1));
    return __fadd_rn(x, __shfl_xor_sync(~0u, x, 2));
}

// The largest score of one of the two rows, at least `largest`.
template <int count>
__device__ __forceinline__ float row_max(const float (&s)[count], int row, float largest)
{
    float first = largest, second = s[2 * row + 1];  // two chains, so that they do not wait for each other
#pragma unroll
    for (int i = 2 * row; i < count; i += 4) {
        first = fmaxf(first, s[i]);
        second = fmaxf(second, s[i + 1]);
    }
    return quad_max(fmaxf(first, second));
}

// Scores of a row become exp(score - largest); gives this thread's part of their sum. `scale` turns powers of e into those of 2,
// and divides by the square root of the head's dimension on the way.
template <int count>
__device__ __forceinline__ float exponentiate(float (&s)[count], int row, float largest, float scale)
{
    const float offset = __fmul_rn(largest, scale);
    float sum = 0;
#pragma unroll
    for (int i = 2 * row; i < count; i += 4) {
        s[i] = exp2_approx(__fmaf_rn(s[i], scale, -offset));
        s[i + 1] = exp2_approx(__fmaf_rn(s[i + 1], scale, -offset));
        sum = __fadd_rn(sum, __fadd_rn(s[i], s[i + 1]));
    }
    return sum;
}

// What is known of a thread's two rows after some blocks of keys. A block with a larger score than all before changes the
// reference of every exponential: `factor` corrects what was summed up so far.
struct OnlineSoftmax {
    float largest[2] = {NONE, NONE}, sum[2] = {0, 0}, factor[2];  // the sum is of this thread's columns only

    // A block of scores: first their maximum and the factor, then their exponentials, whose sum is added.
    template <int count>
    __device__ __forceinline__ void compare(const float (&s)[count], float scale)
    {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            const float before = largest[row];
            largest[row] = row_max(s, row, before);
            factor[row] = exp2_approx(__fmul_rn(__fsub_rn(before, largest[row]), scale));
        }
    }

    template <int count>
    __device__ __forceinline__ void add(float (&s)[count], float scale)
    {
#pragma unroll
        for (int row = 0; row < 2; ++row)
            sum[row] = __fmaf_rn(sum[row], factor[row], exponentiate(s, row, largest[row], scale));
    }

    // What O is multiplied with at the end.
    __device__ __forceinline__ void finish()
    {
#pragma unroll
        for (int row = 0; row < 2; ++row) factor[row] = __frcp_rn(quad_sum(sum[row]));
    }
};

// Every row times its own factor.
template <int count>
__device__ __forceinline__ void scale_rows(float (&d)[count], const float (&factor)[2])
{
#pragma unroll
    for (int i = 0; i < count; ++i) d[i] = __fmul_rn(d[i], factor[i / 2 % 2]);
}

// Keys that come after the query do not count. `key` is the first column of S, `query` this thread's first row.
template <int count>
__device__ __forceinline__ void mask_causal(float (&s)[count], int query, int key)
{
    key += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < count; ++i)
        if (key + i / 4 * 8 + i % 2 > query + i / 2 % 2 * 8) s[i] = NONE;
}

// Two numbers as f16, rounded to nearest even; the first in the lower half.
__device__ __forceinline__ uint32_t f16x2(float first, float second)
{
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

// D of the first product becomes A of the second. A's fragment of 16 columns is that of two neighbouring tiles of D, in f16:
// every element is in the right lane already.
template <int count>
__device__ __forceinline__ void repack(const float (&d)[count], uint32_t (&a)[count / 8][4])
{
#pragma unroll
    for (int i = 0; i < count / 2; ++i) a[i / 4][i % 4] = f16x2(d[2 * i], d[2 * i + 1]);
}
