// Attention 1: two products, one behind the other, for one tile of keys.
//
// O = softmax(Q K^T / sqrt(HEAD)) V for each head. Q, K, V, O are [heads, sequence, HEAD] in f16; here the sequence is KEYS long.
//
// One warp has 16 queries and all keys. Accumulators of S stay in registers: rounded to f16 they are the A fragments of the
// second product, and no element changes its lane. Every lane fetches its words from global memory.
#include "fragment.cuh"
#include "softmax.cuh"

constexpr int STEPS = HEAD / 16, TILES = HEAD / 8;            // of the head's dimension: along K of S, along N of O
constexpr int KEY_STEPS = KEYS / 16, KEY_TILES = KEYS / 8;    // of the keys: along K of O, along N of S

__device__ __forceinline__ uint32_t word(const uint16_t* at) { return *(const uint32_t*)at; }

extern "C" __global__ void __launch_bounds__(32) attention(
    const uint16_t* Q, const uint16_t* K, const uint16_t* V, uint16_t* O, int sequence, float scale)
{
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4 * 2;
    const size_t head = (size_t)blockIdx.y * sequence * HEAD;
    const uint16_t* q = Q + head + (blockIdx.x * 16 + g) * HEAD + t;
    const uint16_t* k = K + head + g * HEAD + t;
    const uint16_t* v = V + head + t * HEAD + g;

    float s[KEY_TILES][4] = {};
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        const uint16_t* at = q + step * 16;
        const uint32_t a[4] = {word(at), word(at + 8 * HEAD), word(at + 8), word(at + 8 * HEAD + 8)};
#pragma unroll
        for (int j = 0; j < KEY_TILES; ++j) {
            const uint16_t* keys = k + j * 8 * HEAD + step * 16;  // a row of K is a column of B
            const uint32_t b[2] = {word(keys), word(keys + 8)};
            multiply(s[j], a, b, s[j]);
        }
    }

    float(&scores)[KEY_TILES * 4] = (float(&)[KEY_TILES * 4])s;
    float inverse[2];
#pragma unroll
    for (int row = 0; row < 2; ++row)
        inverse[row] = __frcp_rn(quad_sum(exponentiate(scores, row, row_max(scores, row, NONE), scale)));
    scale_rows(scores, inverse);
    uint32_t p[KEY_STEPS][4];
    repack(scores, p);

    float o[TILES][4] = {};
#pragma unroll
    for (int step = 0; step < KEY_STEPS; ++step)
#pragma unroll
        for (int j = 0; j < TILES; ++j) {
            const uint16_t* at = v + step * 16 * HEAD + j * 8;  // two keys of a column lie a row apart
            const uint32_t b[2] = {at[0] | (uint32_t)at[HEAD] << 16, at[8 * HEAD] | (uint32_t)at[9 * HEAD] << 16};
            multiply(o[j], p[step], b, o[j]);
        }

    uint16_t* out = O + head + (blockIdx.x * 16 + g) * HEAD + t;
#pragma unroll
    for (int j = 0; j < TILES; ++j) {
        *(uint32_t*)(out + j * 8) = f16x2(o[j][0], o[j][1]);
        *(uint32_t*)(out + 8 * HEAD + j * 8) = f16x2(o[j][2], o[j][3]);
    }
}
