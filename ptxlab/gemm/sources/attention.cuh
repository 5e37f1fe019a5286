// What attention kernels 2 to 4 share: four warps with 16 queries each, tiles of keys and values in shared memory, swizzled.
#pragma once
#include "ptx.cuh"
#include "fragment.cuh"
#include "softmax.cuh"

constexpr int THREADS = 128;
constexpr int QUERIES = 64;                                    // of a block
constexpr int STEPS = HEAD / 16, TILES = HEAD / 8;             // of the head's dimension
constexpr int KEY_STEPS = BLOCK_N / 16, KEY_TILES = BLOCK_N / 8;  // of a block of keys
constexpr int ROW = HEAD * 2;                                  // bytes
constexpr int TILE_BYTES = BLOCK_N * ROW;

__device__ __forceinline__ int swizzled(int row, int byte) { return row * ROW + (byte ^ row % 8 * 16); }

// The 16 queries of this warp as fragments of A, straight from global memory; `q` is this lane's first word.
__device__ __forceinline__ void load_queries(uint32_t (&a)[STEPS][4], const uint16_t* q)
{
#pragma unroll
    for (int i = 0; i < 4 * STEPS; ++i) a[i / 4][i % 4] = *(const uint32_t*)(q + i / 4 * 16 + i % 2 * 8 * HEAD + i / 2 % 2 * 8);
}

// S = Q K^T: a row of K is a column of B, so that ldmatrix fetches fragments of B as they are.
__device__ __forceinline__ void multiply_keys(float (&s)[KEY_TILES][4], const uint32_t (&a)[STEPS][4], const uint8_t* keys)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4 * KEY_TILES; ++i) s[i / 4][i % 4] = 0;
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int j = 0; j < KEY_TILES; j += 2) {
            uint32_t b[2][2];
            const int row = j * 8 + lane % 8 + lane / 16 * 8, byte = step * 32 + lane / 8 % 2 * 16;
            ldmatrix_x4(b[0][0], b[0][1], b[1][0], b[1][1], shared_address(keys + swizzled(row, byte)));
            multiply(s[j], a[step], b[0], s[j]);
            multiply(s[j + 1], a[step], b[1], s[j + 1]);
        }
}

// O += P V: a row of V is a row of B, and ldmatrix transposes it.
__device__ __forceinline__ void multiply_values(float (&o)[TILES][4], const uint32_t (&p)[KEY_STEPS][4], const uint8_t* values)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < KEY_STEPS; ++step)
#pragma unroll
        for (int j = 0; j < TILES; j += 2) {
            uint32_t b[2][2];
            const int row = step * 16 + lane % 16, byte = (j + lane / 16) * 16;
            ldmatrix_x4_trans(b[0][0], b[0][1], b[1][0], b[1][1], shared_address(values + swizzled(row, byte)));
            multiply(o[j], p[step], b[0], o[j]);
            multiply(o[j + 1], p[step], b[1], o[j + 1]);
        }
}

// The accumulators as f16, `out` being this lane's first pair.
__device__ __forceinline__ void store(const float (&o)[TILES][4], uint16_t* out)
{
#pragma unroll
    for (int j = 0; j < TILES; ++j) {
        *(uint32_t*)(out + j * 8) = f16x2(o[j][0], o[j][1]);
        *(uint32_t*)(out + 8 * HEAD + j * 8) = f16x2(o[j][2], o[j][3]);
    }
}
