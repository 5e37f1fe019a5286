// Rung 8 with a sparse A: wgmma.sp, and metadata as a third operand.
//
// D = A B + C. A is compressed, as compress.cu does it: its kept half, `stored`, is [M, K / 2], and metadata has one word for
// each lane, 64 rows and 16 chunks. B is stored as [N, K] (each column of B is contiguous), D and C are [M, N]. A B of 16-bit
// elements may also be stored as [K, N] (B_BY_ROWS): wgmma then transposes it as it reads.
//
// The kernel is that of rung 12: a producer, consumers, a ring of stages, persistent blocks in clusters. What is new:
//
// - Whatever the type, one wgmma.sp takes 32 bytes of each stored row of A but 64 bytes of each column of B: A counts twice.
//   It multiplies in the time of a dense instruction, so it needs B twice as fast. While the tensor cores multiply 64 x 256 at
//   their full rate, shared memory can just deliver that B; all that TMA writes there comes on top. This is what binds the
//   kernel, and why its tiles are as large as registers allow, and why blocks below each other share B by multicast.
// - Metadata travels with the tiles: the words of one stage are contiguous, so a bulk copy brings them to shared memory,
//   where each lane finds its own, without a bank conflict.
// - Of 16- and 32-bit types, one word serves two steps: lanes 0 and 1 of each four hold the nibbles of the first, lanes 2 and 3
//   those of the second; the selector, a constant of the instruction, says whose turn it is. Of 8-bit types all take part.
// - A wgmma reads its metadata while it runs, not when it is issued. A variable that the next stage assigns anew would change
//   under its hands, which the compiler cannot see. So two sets of words take turns.
#include "ptx.cuh"
#include "fragment.cuh"
#include "store.cuh"

constexpr int CONSUMERS = BLOCK_M / (TILES_M * INSTRUCTION_M);       // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int TILE_M = CLUSTER * BLOCK_M, TILE_N = INSTRUCTION_N;    // of D, for a cluster
constexpr int A_STEP = 32, B_STEP = 64;                              // bytes along K that one wgmma.sp takes, for every type
constexpr int A_ROW = STEPS * A_STEP;                                // bytes of a stored row in a stage
constexpr int B_ROW = 128;                                           // bytes of a column of B in a slab, which is as wide as
constexpr int SLABS = STEPS * B_STEP / B_ROW;                        // a swizzle can be; a stage has this many
constexpr int SLAB_BYTES = INSTRUCTION_N * B_ROW;
constexpr int WORDS = STEPS / SELECTORS;                             // of metadata that a lane needs in a stage
constexpr int WORD_BYTES = WARPGROUP * 4;                            // one word for every lane
constexpr int A_BYTES = BLOCK_M * A_ROW;
constexpr int B_BYTES = SLABS * SLAB_BYTES;
constexpr int E_BYTES = BLOCK_M / INSTRUCTION_M * WORDS * WORD_BYTES;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES + (E_BYTES + 1023) / 1024 * 1024;
constexpr int BARRIERS = STAGES * STAGE_BYTES + CONSUMERS * 2 * STORE_BYTES;  // where they lie in shared memory
#include "ring.cuh"

__device__ __forceinline__ void produce(
    uint32_t memory, const TensorMap& stored, const uint32_t* metadata, const TensorMap& B, Tiles tiles, int M, int steps)
{
    constexpr int B_PART = INSTRUCTION_N / CLUSTER;  // columns of B that this block loads for all of the cluster
    constexpr uint16_t everyone = (1 << CLUSTER) - 1;
    const int rank = cluster_rank();
    const int words = (steps + SELECTORS - 1) / SELECTORS;  // of a lane, along the whole of K
    const int last_rows = (M - 1) / INSTRUCTION_M;

    Position at;
    for (int index = blockIdx.x / CLUSTER; index < tiles.count(); index += gridDim.x / CLUSTER) {
        int row, column;
        tiles.place(index, row, column);
        row += rank * BLOCK_M;
        for (int step = 0; step < steps; step += STEPS, at.advance()) {
            const uint32_t full = full_barrier(memory, at.stage);
            const uint32_t a = memory + at.stage * STAGE_BYTES, b = a + A_BYTES, e = b + B_BYTES;
            const int word = step / SELECTORS, some = min(WORDS, words - word);  // the last stage may have fewer words
            mbarrier_wait(empty_barrier(memory, at.stage), at.parity ^ 1);  // passes at once the first time round
            mbarrier_expect(full, A_BYTES + B_BYTES + BLOCK_M / INSTRUCTION_M * some * WORD_BYTES);
            tma_load(a, stored, step * A_STEP, row, full);
            for (int t = 0; t < BLOCK_M / INSTRUCTION_M; ++t) {
                const int rows = min(row / INSTRUCTION_M + t, last_rows);  // below the last row A is zero: any metadata will do
                const uint32_t* from = metadata + ((size_t)rows * words + word) * WARPGROUP;
                bulk_load(e + t * WORDS * WORD_BYTES, from, some * WORD_BYTES, full);
            }
            if constexpr (B_BY_ROWS) {
                for (int n = rank * 64; n < INSTRUCTION_N; n += CLUSTER * 64)  // columns, 128 bytes of each row
                    load<(CLUSTER > 1)>(b + n * B_ROW, B, (column + n) * 2, step * B_STEP / 2, full, everyone);
            } else {
                for (int slab = 0; slab < SLABS; ++slab)
                    load<(CLUSTER > 1)>(b + slab * SLAB_BYTES + rank * B_PART * B_ROW, B, (step * B_STEP + slab * B_ROW) / MAP_UNIT,
                                        column + rank * B_PART, full, everyone);
            }
        }
    }
}

// Tells every block of the cluster that this warp has read a stage.
__device__ __forceinline__ void release(uint32_t memory, int stage)
{
    __syncwarp();  // all lanes have read their metadata
    const int lane = threadIdx.x % 32;
    if (CLUSTER == 1) {
        if (lane == 0) mbarrier_arrive(empty_barrier(memory, stage));
    } else if (lane < CLUSTER) {
        mbarrier_arrive_at(empty_barrier(memory, stage), lane);
    }
}

// What one warpgroup reads of a stage: its rows of A, all of B, and the metadata of its lane.
struct Stage {
    uint32_t a, b;      // shared addresses
    const uint32_t* e;

    __device__ __forceinline__ Stage(const uint8_t* dynamic, int stage, int first_tile)
    {
        const uint8_t* start = dynamic + stage * STAGE_BYTES;
        a = shared_address(start) + first_tile * INSTRUCTION_M * A_ROW;
        b = shared_address(start) + A_BYTES;
        e = (const uint32_t*)(start + A_BYTES + B_BYTES + first_tile * WORDS * WORD_BYTES) + threadIdx.x % WARPGROUP;
    }

    __device__ __forceinline__ uint32_t word(int tile, int step) const
    {
        return e[(tile * WORDS + step / SELECTORS) * WARPGROUP];
    }

    __device__ __forceinline__ uint64_t a_step(int tile, int step) const
    {
        return descriptor<A_ROW>(a + tile * INSTRUCTION_M * A_ROW + step * A_STEP);
    }

    __device__ __forceinline__ uint64_t b_step(int step) const
    {
        if constexpr (B_BY_ROWS) return descriptor_along_n(b + step * B_STEP / 2 * B_ROW);  // 32 rows further down
        else return descriptor(b + step * B_STEP / B_ROW * SLAB_BYTES + step * B_STEP % B_ROW);
    }
};

// One step of one tile. The selector is a constant, so that there are as many instructions as selectors.
__device__ __forceinline__ void multiply_step(
    Accumulator (&d)[ACCUMULATORS], const Stage& stage, uint32_t word, int tile, int step)
{
    if (step % SELECTORS == 0) multiply<0>(d, stage.a_step(tile, step), stage.b_step(step), word, 1);
    else multiply<SELECTORS - 1>(d, stage.a_step(tile, step), stage.b_step(step), word, 1);
}

// Waits for a stage, loads its metadata and issues its products; they are under way when this returns.
__device__ __forceinline__ void multiply_stage(
    Accumulator (&d)[TILES_M][ACCUMULATORS], uint32_t (&words)[TILES_M][WORDS], const uint8_t* dynamic, Position at, int first)
{
    const Stage stage(dynamic, at.stage, first);
    mbarrier_wait(full_barrier(shared_address(dynamic), at.stage), at.parity);
#pragma unroll
    for (int t = 0; t < TILES_M; ++t)
#pragma unroll
        for (int w = 0; w < WORDS; ++w) words[t][w] = stage.word(t, w * SELECTORS);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int t = 0; t < TILES_M; ++t) multiply_step(d[t], stage, words[t][step / SELECTORS], t, step);
    wgmma_commit();
}

// All whole stages of K.
__device__ __forceinline__ void multiply_stages(
    Accumulator (&d)[TILES_M][ACCUMULATORS], const uint8_t* dynamic, Position& at, int first, int stages)
{
    const uint32_t memory = shared_address(dynamic);
    uint32_t even[TILES_M][WORDS], odd[TILES_M][WORDS];  // metadata of a stage and of the next
    // The first stage stands before the loop, so that a wgmma is under way whenever the loop begins anew: ptxas then leaves
    // the accumulators where they are.
    multiply_stage(d, even, dynamic, at, first);
    int before = at.stage;
    at.advance();
    const auto next = [&](uint32_t (&words)[TILES_M][WORDS]) {
        multiply_stage(d, words, dynamic, at, first);
        wgmma_wait<1>();  // those of the stage before are done: it can be filled again, and so can its words
        release(memory, before);
        before = at.stage;
        at.advance();
    };
    int i = 1;
    for (; i + 1 < stages; i += 2) {
        next(odd);
        next(even);
    }
    wgmma_wait<0>();
    release(memory, before);
    if (i < stages) {
        multiply_stage(d, odd, dynamic, at, first);
        wgmma_wait<0>();
        release(memory, at.stage);
        at.advance();
    }
}

// The last steps of K, where they are less than a stage: one after the other.
__device__ __forceinline__ void multiply_rest(
    Accumulator (&d)[TILES_M][ACCUMULATORS], const uint8_t* dynamic, Position& at, int first, int steps)
{
    const Stage stage(dynamic, at.stage, first);
    mbarrier_wait(full_barrier(shared_address(dynamic), at.stage), at.parity);
#pragma unroll
    for (int step = 0; step < STEPS - 1; ++step) {
        if (step == steps) break;
#pragma unroll
        for (int t = 0; t < TILES_M; ++t) {
            const uint32_t word = stage.word(t, step);
            wgmma_fence();
            multiply_step(d[t], stage, word, t, step);
            wgmma_commit();
            wgmma_wait<0>();
        }
    }
    release(shared_address(dynamic), at.stage);
    at.advance();
}

__device__ __forceinline__ void consume(
    uint8_t* dynamic, const Element* C, const TensorMap& D, Tiles tiles, int M, int N, int steps)
{
    const int consumer = threadIdx.x / WARPGROUP - 1;
    const int first = consumer * TILES_M;  // tile of 64 rows that this warpgroup begins with
    uint8_t* buffers = dynamic + STAGES * STAGE_BYTES + consumer * 2 * STORE_BYTES;

    Position at;
    int turn = 0;
    for (int index = blockIdx.x / CLUSTER; index < tiles.count(); index += gridDim.x / CLUSTER) {
        int row, column;
        tiles.place(index, row, column);
        row += cluster_rank() * BLOCK_M + first * INSTRUCTION_M;

        Accumulator d[TILES_M][ACCUMULATORS];
#pragma unroll
        for (int t = 0; t < TILES_M; ++t) start(d[t], C, row + t * INSTRUCTION_M, column, M, N);
        if (steps >= STEPS) multiply_stages(d, dynamic, at, first, steps / STEPS);
        if (steps % STEPS != 0) multiply_rest(d, dynamic, at, first, steps % STEPS);
#pragma unroll
        for (int t = 0; t < TILES_M; ++t) store(buffers, turn, D, d[t], row + t * INSTRUCTION_M, column);
    }
    if (threadIdx.x % WARPGROUP == 0) tma_store_wait_read<0>();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) __cluster_dims__(CLUSTER, 1, 1) gemm(
    const __grid_constant__ TensorMap stored, const uint32_t* metadata, const __grid_constant__ TensorMap B,
    const Element* C, const __grid_constant__ TensorMap D, int M, int N, int steps)
{
    extern __shared__ __align__(1024) uint8_t dynamic[];
    const uint32_t memory = shared_address(dynamic);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(full_barrier(memory, stage), 1);
            mbarrier_init(empty_barrier(memory, stage), CONSUMERS * WARPGROUP / 32 * CLUSTER);
        }
        mbarrier_init_fence();
    }
    cluster_sync();

    if (threadIdx.x < WARPGROUP) {
        give_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce(memory, stored, metadata, B, Tiles(M, N), M, steps);
    } else {
        take_registers<CONSUMER_REGISTERS>();
        consume(dynamic, C, D, Tiles(M, N), M, N, steps);
    }
    __syncwarp();
    cluster_sync();  // nobody leaves while others still arrive at its barriers
}
