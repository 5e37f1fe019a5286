// The accumulators of one thread, and where they belong in D.
//
// mma and wgmma deal D out in the same way: a warp has 16 rows; a thread has two of them, row lane / 4 and the one 8 below,
// and in each row pairs of neighbouring columns, 8 columns apart. Pair 2 j is in the first row and pair 2 j + 1 in the
// second, both in columns 8 j + lane % 4 * 2 and the next.
#pragma once
#include "instruction.cuh"

constexpr int PAIRS = INSTRUCTION_N / 4;

__device__ __forceinline__ int fragment_row(int i)
{
    const int thread = threadIdx.x % LANES;
    return thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
}

__device__ __forceinline__ int fragment_column(int i) { return i / 2 * 8 + threadIdx.x % 4 * 2; }

// Accumulators before the first step: zero, or what C holds there.
__device__ __forceinline__ void start(
    Accumulator (&d)[ACCUMULATORS], const Element* C, int row, int column, int M, int N)
{
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; ++i) d[i] = 0;
    if (C == nullptr) return;
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
        const int m = row + fragment_row(i), n = column + fragment_column(i);
        if (m >= M || n >= N) continue;
        const Element* at = C + (size_t)m * N + n;
        set_pair(d, i, at[0], n + 1 < N ? at[1] : Element(0));
    }
}

// Accumulators to D in global memory; what lies outside D is left out.
__device__ __forceinline__ void finish(
    const Accumulator (&d)[ACCUMULATORS], Result* D, int row, int column, int M, int N)
{
#pragma unroll
    for (int i = 0; i < PAIRS; ++i) {
        const int m = row + fragment_row(i), n = column + fragment_column(i);
        if (m >= M || n >= N) continue;
        const Pair both = pair(d, i);
        Result* at = D + (size_t)m * N + n;
        if (N % 2 == 0) {  // rows begin at even places, so that a pair is one aligned word
            *(Pair*)at = both;
            continue;
        }
        at[0] = both.first;
        if (n + 1 < N) at[1] = both.second;
    }
}
