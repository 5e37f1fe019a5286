// Rungs 9 to 12: every warp has one job, and in the end blocks are persistent. One kernel; the rungs differ in its constants.
//
// D = A B + C. A is [M, K], B is stored as [N, K] (each column of B is contiguous), D and C are [M, N]. With 16-bit elements
// B may also be stored as [K, N] (B_BY_ROWS): wgmma then transposes it as it reads.
//
// Rung 9: one warpgroup, the producer, does nothing but ask TMA for tiles; the others, the consumers, do nothing but wgmma.
// They meet at two mbarriers for each stage of a ring in shared memory: `full` ends a phase when the bytes have arrived,
// `empty` when every consumer has read them. The producer gives its registers to the consumers (setmaxnreg).
//
// Rung 10: blocks are persistent, as many as the GPU runs at once, each computing one tile of D after the other. The producer
// already loads the next tile while the consumers still store the last one, and TMA stores it (TMA_STORES).
//
// Rung 11: blocks of a cluster work on neighbouring tiles. Those below each other need the same tile of B, those beside each
// other the same tile of A: each loads a part, and multicast delivers it to all. L2 is read that much less.
//
// Rung 12: the order of tiles (GROUP): those that are computed at the same time share rows of A and columns of B in L2.
#include "ptx.cuh"
#include "fragment.cuh"
#include "store.cuh"

constexpr int CONSUMERS = BLOCK_M / (TILES_M * INSTRUCTION_M);       // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;
constexpr int TILE_M = CLUSTER_M * BLOCK_M, TILE_N = CLUSTER_N * BLOCK_N;  // of D, for a cluster
constexpr int ROW = 128;                                             // bytes along K that a stage holds of each row
constexpr int STEP = 32;                                             // bytes along K that one wgmma takes, for every type
constexpr int A_BYTES = BLOCK_M * ROW;
constexpr int B_BYTES = BLOCK_N * ROW;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int STORES = STAGES * STAGE_BYTES;                         // where D's buffers lie in shared memory
constexpr int BARRIERS = STORES + TMA_STORES * CONSUMERS * 2 * STORE_BYTES;  // and the barriers
#include "ring.cuh"

__device__ __forceinline__ void produce(
    uint32_t memory, const TensorMap& A, const TensorMap& B, Tiles tiles, int K_bytes)
{
    const uint32_t rank = cluster_rank(), rank_m = rank / CLUSTER_N, rank_n = rank % CLUSTER_N;
    const uint16_t beside = ((1 << CLUSTER_N) - 1) << (rank_m * CLUSTER_N);  // blocks that need the same tile of A
    uint16_t below = 0;                                                      // and of B
    for (int m = 0; m < CLUSTER_M; ++m) below |= 1 << (m * CLUSTER_N + rank_n);
    constexpr int A_PART = BLOCK_M / CLUSTER_N, B_PART = BLOCK_N / CLUSTER_M;  // rows that this block loads

    Position at;
    for (int index = blockIdx.x / CLUSTER; index < tiles.count(); index += gridDim.x / CLUSTER) {
        int row, column;
        tiles.place(index, row, column);
        const int a_row = row + rank_m * BLOCK_M + rank_n * A_PART;
        const int b_row = column + rank_n * BLOCK_N + rank_m * B_PART;
        for (int k = 0; k < K_bytes; k += ROW, at.advance()) {
            const uint32_t full = full_barrier(memory, at.stage);
            const uint32_t a = memory + at.stage * STAGE_BYTES + rank_n * A_PART * ROW;
            const uint32_t b = memory + at.stage * STAGE_BYTES + A_BYTES + rank_m * B_PART * ROW;
            mbarrier_wait(empty_barrier(memory, at.stage), at.parity ^ 1);  // passes at once the first time round
            mbarrier_expect(full, STAGE_BYTES);
            load<(CLUSTER_N > 1)>(a, A, k / MAP_UNIT, a_row, full, beside);
            if constexpr (B_BY_ROWS) {
                for (int n = 0; n < B_PART; n += 64)  // columns, 128 bytes of each row
                    load<(CLUSTER_M > 1)>(b + n * ROW, B, (b_row + n) * 2, k / 2, full, below);
            } else {
                load<(CLUSTER_M > 1)>(b, B, k / MAP_UNIT, b_row, full, below);
            }
        }
    }
}

// Tells every block of the cluster that this warpgroup has read a stage.
__device__ __forceinline__ void release(uint32_t memory, int stage)
{
    if (CLUSTER == 1) {
        if (threadIdx.x % WARPGROUP == 0) mbarrier_arrive(empty_barrier(memory, stage));
    } else if (threadIdx.x % WARPGROUP < CLUSTER) {
        mbarrier_arrive_at(empty_barrier(memory, stage), threadIdx.x % WARPGROUP);
    }
}

// The tile of B at a step along K: 32 bytes further on in every row, or 16 rows further down.
__device__ __forceinline__ uint64_t b_descriptor(uint32_t b, int step)
{
    if constexpr (B_BY_ROWS) return descriptor_along_n(b + step / 2 * 128);
    else return descriptor(b + step);
}

// Waits for a stage and issues the instructions that multiply it; they are under way when this returns. With `accumulate`
// 0 the first of them forgets what the accumulators held.
__device__ __forceinline__ void multiply_stage(
    uint32_t memory, const Position& at, int consumer, Accumulator (&d)[TILES_M][ACCUMULATORS], int accumulate)
{
    const uint32_t a = memory + at.stage * STAGE_BYTES + consumer * TILES_M * INSTRUCTION_M * ROW;
    const uint32_t b = memory + at.stage * STAGE_BYTES + A_BYTES;
    mbarrier_wait(full_barrier(memory, at.stage), at.parity);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < ROW; step += STEP)
#pragma unroll
        for (int t = 0; t < TILES_M; ++t)
            multiply(d[t], descriptor(a + t * INSTRUCTION_M * ROW + step), b_descriptor(b, step), step > 0 || accumulate);
    wgmma_commit();
}

// The products of a whole tile, on top of what d holds.
__device__ __forceinline__ void multiply_tile(
    uint32_t memory, Position& at, int consumer, Accumulator (&d)[TILES_M][ACCUMULATORS], int K_bytes)
{
    // The first stage stands before the loop, so that a wgmma is under way whenever the loop begins anew: ptxas then leaves
    // the accumulators where they are.
    multiply_stage(memory, at, consumer, d, 1);
    int before = at.stage;
    at.advance();
    for (int k = ROW; k < K_bytes; k += ROW) {
        multiply_stage(memory, at, consumer, d, 1);
        wgmma_wait<1>();  // those of the stage before are done: it can be filled again
        release(memory, before);
        before = at.stage;
        at.advance();
    }
    wgmma_wait<0>();
    release(memory, before);
}

// The same with promotion: every PROMOTE stages the tensor core begins anew, and what it has summed up is added to d in
// ordinary arithmetic. With FP8 it keeps only 14 bits of a sum, too few for a long K.
__device__ __forceinline__ void multiply_tile_promoted(
    uint32_t memory, Position& at, int consumer, Accumulator (&d)[TILES_M][ACCUMULATORS], int K_bytes)
{
    Accumulator part[TILES_M][ACCUMULATORS];
    for (int k = 0, stages = 0; k < K_bytes; k += ROW) {
        multiply_stage(memory, at, consumer, part, stages > 0);
        wgmma_wait<0>();
        release(memory, at.stage);
        at.advance();
        if (++stages < PROMOTE && k + ROW < K_bytes) continue;
        stages = 0;
#pragma unroll
        for (int t = 0; t < TILES_M; ++t)
#pragma unroll
            for (int i = 0; i < ACCUMULATORS; ++i) d[t][i] += part[t][i];
    }
}

template <typename Output>  // D's tensor map, or its address
__device__ __forceinline__ void consume(
    uint8_t* dynamic, const Element* C, const Output& D, Tiles tiles, int M, int N, int K_bytes)
{
    const int consumer = threadIdx.x / WARPGROUP - 1;
    const uint32_t rank = cluster_rank(), rank_m = rank / CLUSTER_N, rank_n = rank % CLUSTER_N;
    const uint32_t memory = shared_address(dynamic);
    uint8_t* buffers = dynamic + STORES + consumer * 2 * STORE_BYTES;

    Position at;
    int turn = 0;
    for (int index = blockIdx.x / CLUSTER; index < tiles.count(); index += gridDim.x / CLUSTER) {
        int row, column;
        tiles.place(index, row, column);
        row += rank_m * BLOCK_M + consumer * TILES_M * INSTRUCTION_M;
        column += rank_n * BLOCK_N;

        Accumulator d[TILES_M][ACCUMULATORS];
#pragma unroll
        for (int t = 0; t < TILES_M; ++t) start(d[t], C, row + t * INSTRUCTION_M, column, M, N);

        if constexpr (PROMOTE == 0) multiply_tile(memory, at, consumer, d, K_bytes);
        else multiply_tile_promoted(memory, at, consumer, d, K_bytes);
#pragma unroll
        for (int t = 0; t < TILES_M; ++t) {
            if constexpr (TMA_STORES) store(buffers, turn, D, d[t], row + t * INSTRUCTION_M, column);
            else finish(d[t], D, row + t * INSTRUCTION_M, column, M, N);
        }
    }
    if (TMA_STORES && threadIdx.x % WARPGROUP == 0) tma_store_wait_read<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) __cluster_dims__(CLUSTER, 1, 1) gemm(
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const Element* C,
#if TMA_STORES
    const __grid_constant__ TensorMap D,
#else
    Result* D,
#endif
    int M, int N, int K_bytes)
{
    extern __shared__ __align__(1024) uint8_t dynamic[];
    const uint32_t memory = shared_address(dynamic);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(full_barrier(memory, stage), 1);
            mbarrier_init(empty_barrier(memory, stage), CONSUMERS * CLUSTER);
        }
        mbarrier_init_fence();
    }
    cluster_sync();

    if (threadIdx.x < WARPGROUP) {
        give_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce(memory, A, B, Tiles(M, N), K_bytes);
    } else {
        take_registers<CONSUMER_REGISTERS>();
        consume(dynamic, C, D, Tiles(M, N), M, N, K_bytes);
    }
    __syncwarp();
    cluster_sync();  // nobody leaves while others still arrive at its barriers
}
