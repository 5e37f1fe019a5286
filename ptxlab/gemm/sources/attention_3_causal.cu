// Attention 3: causal, so that a query sees the keys up to its own place and none behind it.
//
// O = softmax(Q K^T / sqrt(HEAD)) V for each head. Q, K, V, O are [heads, sequence, HEAD] in f16.
//
// Half of S does not count. Blocks of keys behind the last query of this block are not even loaded; in those that the diagonal
// crosses, scores behind it become minus infinity, whose exponential is zero. All other blocks are as before.
#include "attention.cuh"

// A tile of K or V, 16 bytes a thread at a time.
__device__ __forceinline__ void copy_tile(uint8_t* tile, const uint16_t* from)
{
#pragma unroll
    for (int first = 0; first < TILE_BYTES / 16; first += THREADS) {
        const int r = (first + threadIdx.x) / (ROW / 16), c = (first + threadIdx.x) % (ROW / 16) * 16;
        *(uint4*)(tile + swizzled(r, c)) = *(const uint4*)((const uint8_t*)from + r * ROW + c);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) attention(
    const uint16_t* Q, const uint16_t* K, const uint16_t* V, uint16_t* O, int sequence, float scale)
{
    extern __shared__ __align__(128) uint8_t memory[];
    uint8_t *keys = memory, *values = memory + TILE_BYTES;
    const size_t head = (size_t)blockIdx.y * sequence * HEAD;
    const int query = blockIdx.x * QUERIES + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;  // this lane's first row
    const size_t at = head + (size_t)query * HEAD + threadIdx.x % 4 * 2;

    uint32_t q[STEPS][4];
    load_queries(q, Q + at);
    OnlineSoftmax softmax;
    float o[TILES][4] = {};
    const int end = (blockIdx.x + 1) * QUERIES;  // no query of this block sees keys from here on
    for (int key = 0; key < end; key += BLOCK_N) {
        __syncthreads();  // nobody reads the block before any more
        copy_tile(keys, K + head + (size_t)key * HEAD);
        copy_tile(values, V + head + (size_t)key * HEAD);
        __syncthreads();

        float s[KEY_TILES][4];
        multiply_keys(s, q, keys);
        if (key + BLOCK_N > blockIdx.x * QUERIES) mask_causal((float(&)[KEY_TILES * 4])s, query, key);
        softmax.compare((float(&)[KEY_TILES * 4])s, scale);
        softmax.add((float(&)[KEY_TILES * 4])s, scale);
        scale_rows((float(&)[TILES * 4])o, softmax.factor);
        uint32_t p[KEY_STEPS][4];
        repack((float(&)[KEY_TILES * 4])s, p);
        multiply_values(o, p, values);
    }
    softmax.finish();
    scale_rows((float(&)[TILES * 4])o, softmax.factor);
    store(o, O + at);
}
