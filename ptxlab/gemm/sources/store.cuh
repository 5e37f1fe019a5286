// D leaves through shared memory: a warpgroup writes its accumulators there, and TMA takes them to global memory.
#pragma once
#include "ptx.cuh"
#include "fragment.cuh"

constexpr int WARPGROUP = 128;                                       // threads
constexpr int STORE_ROW = 128;                                       // bytes of a row of D that one TMA store takes
constexpr int STORE_BYTES = INSTRUCTION_M * STORE_ROW;
constexpr int STORE_PAIRS = STORE_ROW / RESULT_BYTES / 4;            // of each thread

// One tile of D, 64 rows of it, goes through shared memory in pieces of 128 bytes a row, and TMA stores them while the
// next piece is written. Chunks of 16 bytes are swizzled as TMA expects it, which also keeps banks apart.
__device__ __forceinline__ void store(
    uint8_t* buffers, int& turn, const TensorMap& D, const Accumulator (&d)[ACCUMULATORS], int row, int column)
{
    const int thread = threadIdx.x % WARPGROUP;
    // Pairs of 8 bytes: half a warp writes four rows at a time, and two of them would meet in the same banks. Odd rows swap the
    // two halves of their 128 bytes.
    const bool swapped = sizeof(Pair) == 8 && thread / 4 % 2;
#pragma unroll
    for (int piece = 0; piece * STORE_ROW < BLOCK_N * RESULT_BYTES; ++piece) {
        uint8_t* buffer = buffers + turn * STORE_BYTES;  // two take turns
        turn ^= 1;
        if (thread == 0) tma_store_wait_read<1>();  // the store before the last has read this buffer
        named_barrier(1 + threadIdx.x / WARPGROUP, WARPGROUP);
#pragma unroll
        for (int i = 0; i < STORE_PAIRS; ++i) {
            const int line = fragment_row(i), byte = fragment_column(i) * RESULT_BYTES ^ swapped * 64;
            const Pair value = swapped ? pair(d, piece * STORE_PAIRS + (i ^ 4)) : pair(d, piece * STORE_PAIRS + i);
            *(Pair*)(buffer + line * STORE_ROW + (byte ^ line % 8 * 16)) = value;
        }
        fence_async_proxy();
        named_barrier(1 + threadIdx.x / WARPGROUP, WARPGROUP);
        if (thread == 0) {
            tma_store(D, column * RESULT_BYTES + piece * STORE_ROW, row, shared_address(buffer));
            tma_store_commit();
        }
    }
}
