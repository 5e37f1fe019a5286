// Attention 5: wgmma and TMA, every warp with one job, and exponentials while the tensor cores multiply.
//
// O = softmax(Q K^T / sqrt(HEAD)) V for each head. Q, K, V, O are [heads, sequence, HEAD] in f16.
//
// One warpgroup, the producer, asks TMA for tiles of K and V, which go through a ring in shared memory; two consumers have 64
// queries each. Of S = Q K^T both operands are in shared memory; of O += P V the first is in registers, where the softmax
// left it, and wgmma transposes V as it reads.
//
// An SM does 2048 multiply-adds or 16 exponentials in a cycle. A score takes 2 HEAD of the ones and one of the others: with 128
// dimensions a softmax takes half as long as the products, and neither may wait for the other.
// - In a warpgroup, scores of the next block are asked for before P V of this one, so that the tensor cores always have work
//   left when scores are ready, and the row maximum is found meanwhile.
// - Between the two, named barriers let one at a time issue its products: its exponentials run while the other's products do.
//
// Blocks of keys come in descending order: the one that the diagonal crosses comes first, and the loop needs no mask.
#include "ptx.cuh"
#include "instruction.cuh"
#include "softmax.cuh"

constexpr int WARPGROUP = 128;                    // threads
constexpr int CONSUMERS = 2;                      // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int QUERIES = INSTRUCTION_M;            // of a consumer
constexpr int BLOCK_M = CONSUMERS * QUERIES;
constexpr int ROW = 128;                          // bytes that TMA's boxes hold of a row: 64 elements, swizzled
constexpr int PARTS = HEAD * 2 / ROW;             // boxes that make a row
constexpr int Q_BYTES = QUERIES * HEAD * 2;       // of a consumer
constexpr int TILE_BYTES = BLOCK_N * HEAD * 2;    // of K or V
constexpr int RING = CONSUMERS * Q_BYTES;         // where things lie in shared memory
constexpr int BARRIERS = RING + STAGES * TILE_BYTES;
constexpr int Q_BARRIER = BARRIERS + 16 * STAGES;
constexpr int SCORES = BLOCK_N / 2, OUTPUTS = HEAD / 2;  // accumulators of a thread
static_assert(!CAUSAL || BLOCK_N == BLOCK_M, "only the first block of keys is masked, and every query sees one of its keys");

// Tiles are counted through: K of the first block is 0, its V is 1, K of the second is 2. Each has its stage in the ring, two
// mbarriers, and the parity of their phase.
struct RingTile {
    uint32_t address, full, empty, parity;

    __device__ __forceinline__ RingTile(uint32_t memory, int number)
        : address(memory + RING + number % STAGES * TILE_BYTES),
          full(memory + BARRIERS + number % STAGES * 16), empty(full + 8), parity(number / STAGES % 2) {}

    __device__ __forceinline__ void wait() const { mbarrier_wait(full, parity); }

    __device__ __forceinline__ void release() const
    {
        if (threadIdx.x % WARPGROUP == 0) mbarrier_arrive(empty);
    }
};

__device__ __forceinline__ void produce(
    uint32_t memory, const TensorMap& Q, const TensorMap& K, const TensorMap& V, int head, int query, int count)
{
    const uint32_t q_barrier = memory + Q_BARRIER;
    mbarrier_expect(q_barrier, CONSUMERS * Q_BYTES);
    for (int consumer = 0; consumer < CONSUMERS; ++consumer)
        for (int part = 0; part < PARTS; ++part)
            tma_load(memory + consumer * Q_BYTES + part * QUERIES * ROW, Q, part * 64, head + query + consumer * QUERIES,
                     q_barrier);
    for (int i = 0; i < 2 * count; ++i) {
        const RingTile tile(memory, i);
        mbarrier_wait(tile.empty, tile.parity ^ 1);  // passes at once the first time round
        mbarrier_expect(tile.full, TILE_BYTES);
        const int key = (count - 1 - i / 2) * BLOCK_N;
        for (int part = 0; part < PARTS; ++part)
            tma_load(tile.address + part * BLOCK_N * ROW, i % 2 ? V : K, part * 64, head + key, tile.full);
    }
}

// Issues S = Q K^T; it is under way when this returns.
__device__ __forceinline__ void multiply_keys(float (&s)[SCORES], uint32_t q, uint32_t k)
{
#pragma unroll
    for (int step = 0; step < HEAD / 16; ++step) {
        const int part = step / 4, byte = step % 4 * 32;
        multiply(s, descriptor(q + part * QUERIES * ROW + byte), descriptor(k + part * BLOCK_N * ROW + byte), step > 0);
    }
    wgmma_commit();
}

// Issues O += P V, or O = P V.
__device__ __forceinline__ void multiply_values(
    float (&o)[OUTPUTS], const uint32_t (&p)[BLOCK_N / 16][4], uint32_t v, bool accumulate)
{
#pragma unroll
    for (int step = 0; step < BLOCK_N / 16; ++step)
        multiply(o, p[step], descriptor_along_n<BLOCK_N>(v + step * 16 * ROW), step > 0 || accumulate);
    wgmma_commit();
}

// One consumer at a time issues products.
__device__ __forceinline__ void my_turn(int consumer) { named_barrier(3 + consumer, CONSUMERS * WARPGROUP); }
__device__ __forceinline__ void your_turn(int consumer) { named_barrier_arrive(4 - consumer, CONSUMERS * WARPGROUP); }

__device__ __forceinline__ void consume(
    uint8_t* dynamic, const TensorMap& O, int head, int query, int count, float scale)
{
    const int consumer = threadIdx.x / WARPGROUP - 1, thread = threadIdx.x % WARPGROUP;
    const uint32_t memory = shared_address(dynamic), q = memory + consumer * Q_BYTES;
    query += consumer * QUERIES;
    const int line = thread / 32 * 16 + thread % 32 / 4;  // this thread's first row

    OnlineSoftmax softmax;
    float s[SCORES], o[OUTPUTS];
    uint32_t p[BLOCK_N / 16][4];
    if (consumer == 1) your_turn(consumer);  // the first consumer begins

    mbarrier_wait(memory + Q_BARRIER, 0);
    const RingTile first(memory, 0);
    first.wait();
    wgmma_fence();
    multiply_keys(s, q, first.address);
    wgmma_wait<0>(s);
    first.release();
    if (CAUSAL) mask_causal(s, query + line, (count - 1) * BLOCK_N);
    softmax.compare(s, scale);
    softmax.add(s, scale);
    repack(s, p);

    for (int i = 1; i < count; ++i) {
        const RingTile keys(memory, 2 * i), values(memory, 2 * i - 1);  // values of the block before
        keys.wait();
        my_turn(consumer);
        wgmma_fence();
        multiply_keys(s, q, keys.address);
        values.wait();
        multiply_values(o, p, values.address, i > 1);
        your_turn(consumer);
        wgmma_wait<1>(s);
        keys.release();
        softmax.compare(s, scale);
        wgmma_wait<0>(o);  // P is free as well
        values.release();
        scale_rows(o, softmax.factor);
        softmax.add(s, scale);
        repack(s, p);
    }
    if (consumer == 0) my_turn(consumer);  // takes the arrival that is left

    const RingTile last(memory, 2 * count - 1);
    last.wait();
    wgmma_fence();
    multiply_values(o, p, last.address, count > 1);
    softmax.finish();
    wgmma_wait<0>(o);
    scale_rows(o, softmax.factor);

    // O leaves through the shared memory of this consumer's Q, which nobody reads any more.
    uint8_t* rows = dynamic + consumer * Q_BYTES;
#pragma unroll
    for (int i = 0; i < OUTPUTS / 2; ++i) {
        const int row = line + i % 2 * 8, part = i / 16, byte = i / 2 % 8 * 16 + threadIdx.x % 4 * 4;
        *(uint32_t*)(rows + part * QUERIES * ROW + row * ROW + (byte ^ row % 8 * 16)) = f16x2(o[2 * i], o[2 * i + 1]);
    }
    fence_async_proxy();
    named_barrier(1 + consumer, WARPGROUP);
    if (thread == 0) {
        for (int part = 0; part < PARTS; ++part) tma_store(O, part * 64, head + query, q + part * QUERIES * ROW);
        tma_store_commit();
        tma_store_wait_read<0>();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) attention(
    const __grid_constant__ TensorMap Q, const __grid_constant__ TensorMap K, const __grid_constant__ TensorMap V,
    const __grid_constant__ TensorMap O, int sequence, float scale)
{
    extern __shared__ __align__(1024) uint8_t dynamic[];
    const uint32_t memory = shared_address(dynamic);
    const int head = blockIdx.y * sequence;  // its first row
    const int query = (gridDim.x - 1 - blockIdx.x) * BLOCK_M;  // those with most keys come first
    const int count = ((CAUSAL ? query + BLOCK_M : sequence) + BLOCK_N - 1) / BLOCK_N;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(memory + BARRIERS + 16 * stage, 1);
            mbarrier_init(memory + BARRIERS + 16 * stage + 8, CONSUMERS);
        }
        mbarrier_init(memory + Q_BARRIER, 1);
        mbarrier_init_fence();
    }
    __syncthreads();

    if (threadIdx.x < WARPGROUP) {
        give_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0) produce(memory, Q, K, V, head, query, count);
    } else {
        take_registers<CONSUMER_REGISTERS>();
        consume(dynamic, O, head, query, count, scale);
    }
}
