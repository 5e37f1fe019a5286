// Attention 4: a ring of keys and values in shared memory, which cp.async fills while others are multiplied.
//
// O = softmax(Q K^T / sqrt(HEAD)) V for each head. Q, K, V, O are [heads, sequence, HEAD] in f16.
//
// A stage holds a block's tile of K and its tile of V. While one is multiplied, the next STAGES - 1 are on their way. Its bits
// are those of attention 2 and 3: when data comes does not change what is computed.
#include "attention.cuh"

constexpr int STAGE_BYTES = 2 * TILE_BYTES;

// Starts the copy of a tile of K or V.
__device__ __forceinline__ void copy_tile(uint8_t* tile, const uint16_t* from)
{
#pragma unroll
    for (int first = 0; first < TILE_BYTES / 16; first += THREADS) {
        const int r = (first + threadIdx.x) / (ROW / 16), c = (first + threadIdx.x) % (ROW / 16) * 16;
        cp_async_16(shared_address(tile + swizzled(r, c)), (const uint8_t*)from + r * ROW + c, true);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) attention(
    const uint16_t* Q, const uint16_t* K, const uint16_t* V, uint16_t* O, int sequence, float scale)
{
    extern __shared__ __align__(128) uint8_t memory[];
    const size_t head = (size_t)blockIdx.y * sequence * HEAD;
    const int query = blockIdx.x * QUERIES + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;  // this lane's first row
    const size_t at = head + (size_t)query * HEAD + threadIdx.x % 4 * 2;
    const int end = CAUSAL ? (blockIdx.x + 1) * QUERIES : sequence;
    const int count = (end + BLOCK_N - 1) / BLOCK_N;  // of blocks of keys

    // Every call commits a group, an empty one past the end, so that groups can be counted.
    const auto load = [&](int i) {
        uint8_t* stage = memory + i % STAGES * STAGE_BYTES;
        if (i < count) {
            copy_tile(stage, K + head + (size_t)i * BLOCK_N * HEAD);
            copy_tile(stage + TILE_BYTES, V + head + (size_t)i * BLOCK_N * HEAD);
        }
        cp_async_commit();
    };

    for (int i = 0; i < STAGES - 1; ++i) load(i);
    uint32_t q[STEPS][4];
    load_queries(q, Q + at);
    OnlineSoftmax softmax;
    float o[TILES][4] = {};
    for (int i = 0; i < count; ++i) {
        cp_async_wait<STAGES - 2>();  // this thread's part of block i is there
        __syncthreads();              // everybody's is, and everybody has done with block i - 1
        load(i + STAGES - 1);         // into the place of block i - 1
        const uint8_t* keys = memory + i % STAGES * STAGE_BYTES;

        float s[KEY_TILES][4];
        multiply_keys(s, q, keys);
        const int key = i * BLOCK_N;
        if (CAUSAL && key + BLOCK_N > blockIdx.x * QUERIES) mask_causal((float(&)[KEY_TILES * 4])s, query, key);
        softmax.compare((float(&)[KEY_TILES * 4])s, scale);
        softmax.add((float(&)[KEY_TILES * 4])s, scale);
        scale_rows((float(&)[TILES * 4])o, softmax.factor);
        uint32_t p[KEY_STEPS][4];
        repack((float(&)[KEY_TILES * 4])s, p);
        multiply_values(o, p, keys + TILE_BYTES);
    }
    softmax.finish();
    scale_rows((float(&)[TILES * 4])o, softmax.factor);
    store(o, O + at);
}
