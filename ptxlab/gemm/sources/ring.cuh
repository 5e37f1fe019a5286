// What kernels share whose warps have one job each: a ring of stages in shared memory, and the order of tiles.
//
// The kernel that includes this says how many STAGES there are, where in shared memory their BARRIERS lie, how large a tile of
// D a cluster computes (TILE_M x TILE_N), and how many rows of tiles are rasterised together (GROUP).
#pragma once
#include "ptx.cuh"

// Two mbarriers of a stage. A phase of `full` ends when the producer and all its bytes have arrived, one of `empty` when all
// consumers have.
__device__ __forceinline__ uint32_t full_barrier(uint32_t memory, int stage) { return memory + BARRIERS + 16 * stage; }
__device__ __forceinline__ uint32_t empty_barrier(uint32_t memory, int stage) { return full_barrier(memory, stage) + 8; }

// Where the ring stands: which stage, and the parity of its phase.
struct Position {
    int stage = 0;
    uint32_t parity = 0;

    __device__ __forceinline__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

// The rasterisation: tiles are taken in groups of GROUP rows, down each column of the group. What runs at the same
// time then shares few rows of A and few columns of B, and finds them in L2.
struct Tiles {
    int rows, columns;  // counted in clusters

    __device__ __forceinline__ Tiles(int M, int N)
        : rows((M + TILE_M - 1) / TILE_M), columns((N + TILE_N - 1) / TILE_N) {}

    __device__ __forceinline__ int count() const { return rows * columns; }

    // The first row and column of D that a cluster computes.
    __device__ __forceinline__ void place(int index, int& row, int& column) const
    {
        const int group = index / (GROUP * columns);
        const int inside = index % (GROUP * columns);
        const int height = min(GROUP, rows - group * GROUP);
        row = (group * GROUP + inside % height) * TILE_M;
        column = inside / height * TILE_N;
    }
};

// One box from L2, for this block or for all blocks of a mask.
template <bool multicast>
__device__ __forceinline__ void load(
    uint32_t to, const TensorMap& map, int column, int row, uint32_t full, uint16_t blocks)
{
    if constexpr (multicast) tma_load_multicast(to, map, column, row, full, blocks);
    else tma_load(to, map, column, row, full);
}
