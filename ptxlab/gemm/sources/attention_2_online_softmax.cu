// Attention 2: an online softmax, over any number of keys.
//
// O = softmax(Q K^T / sqrt(HEAD)) V for each head. Q, K, V, O are [heads, sequence, HEAD] in f16.
//
// A block has 64 queries and goes through the keys in blocks of BLOCK_N, whose K and V it copies to shared memory. Only one
// block of S exists at a time. Whenever a row meets a larger score, its sum and its row of O are multiplied with the
// exponential of the difference; the division by the sum comes last.
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
    for (int key = 0; key < sequence; key += BLOCK_N) {
        __syncthreads();  // nobody reads the block before any more
        copy_tile(keys, K + head + (size_t)key * HEAD);
        copy_tile(values, V + head + (size_t)key * HEAD);
        __syncthreads();

        float s[KEY_TILES][4];
        multiply_keys(s, q, keys);
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
