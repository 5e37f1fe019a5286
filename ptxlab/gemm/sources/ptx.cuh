// What the kernels of the ladder say to the hardware beside the matrix instruction itself: one PTX instruction, one
// function. Addresses of shared memory are 32-bit numbers, as PTX takes them; `shared_address` makes one from a pointer.
#pragma once
#include <stdint.h>

__device__ __forceinline__ uint32_t shared_address(const void* pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

// ---- ldmatrix: four 8 x 16-byte matrices from shared memory into registers, laid out as mma wants them ---------------

__device__ __forceinline__ void ldmatrix_x4(uint32_t& r0, uint32_t& r1, uint32_t& r2, uint32_t& r3, uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(row)
                 : "memory");
}

// The same, each matrix transposed: what lies in shared memory by rows arrives as if by columns.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t& r0, uint32_t& r1, uint32_t& r2, uint32_t& r3, uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(row)
                 : "memory");
}

// ---- cp.async: 16 bytes from global to shared memory, without a register in between ---------------------------------

// Copies nothing and writes 16 zeros where `inside` is false; the pointer must be valid all the same.
__device__ __forceinline__ void cp_async_16(uint32_t to, const void* from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `pending` of this thread's groups are under way.
template <int pending>
__device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}

// ---- wgmma: four warps multiply tiles that lie in shared memory ------------------------------------------------------

// The descriptor of a tile in shared memory: rows of `swizzle` bytes along K, groups of 8 rows one after the other,
// chunks of 16 bytes swizzled within each row. The address is that of the tile, plus the bytes of the steps along K before.
template <int swizzle = 128>
__device__ __forceinline__ uint64_t descriptor(uint32_t address)
{
    static_assert(swizzle == 128 || swizzle == 64 || swizzle == 32, "a swizzle of 128, 64 or 32 bytes");
    const uint64_t swizzle_code = (uint64_t)(swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3) << 62;
    const uint64_t group_stride = (uint64_t)(8 * swizzle >> 4) << 32;
    const uint64_t leading_stride = (uint64_t)1 << 16;  // not used with a swizzle
    return swizzle_code | group_stride | leading_stride | (address & 0x3ffff) >> 4;
}

// A tile of B that lies the other way, along N: rows of K, each with 64 columns of 2 bytes, groups of 8 rows 1024 bytes apart,
// and the next 64 columns behind all `rows` of them. Only 16-bit types can be multiplied from it.
template <int rows = 64>
__device__ __forceinline__ uint64_t descriptor_along_n(uint32_t address)
{
    const uint64_t swizzle_128_bytes = (uint64_t)1 << 62;
    const uint64_t group_stride = (uint64_t)(1024 >> 4) << 32;
    const uint64_t column_stride = (uint64_t)(rows * 128 >> 4) << 16;
    return swizzle_128_bytes | group_stride | column_stride | (address & 0x3ffff) >> 4;
}

// Registers that were written before are now the accumulators' own.
__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending>
__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
}

// The same, after which the accumulators may be read: the compiler, too, leaves what reads them behind the wait.
template <int pending, int count>
__device__ __forceinline__ void wgmma_wait(float (&d)[count])
{
    wgmma_wait<pending>();
#pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
}

// What this thread wrote to shared memory becomes visible to wgmma and TMA, which read it through another path.
__device__ __forceinline__ void fence_async_proxy()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- mbarrier: counts arrivals of threads and bytes of TMA; its phase ends when all have arrived --------------------

__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}

// Arrives at the barrier that lies at the same address in another block of the cluster. Nothing was written that the other
// block would read, so that no fence of the cluster is needed: .release.cluster would cost one for each arrival.
__device__ __forceinline__ void mbarrier_arrive_at(uint32_t barrier, uint32_t rank)
{
    asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; "
                 "mbarrier.arrive.shared::cluster.b64 _, [remote]; }"
                 :: "r"(barrier), "r"(rank)
                 : "memory");
}

// Arrives, and announces bytes that TMA will bring.
__device__ __forceinline__ void mbarrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}

// Waits for the end of the phase with this parity: 0 for the first, then 1, then 0 again.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

// ---- TMA: one thread asks for a box of a matrix; what is outside the matrix arrives as zeros and is not stored ------

struct alignas(64) TensorMap {
    uint8_t bytes[128];
};

// `column` counts bytes: maps are of bytes, whatever the elements are. (Only tf32 is told to TMA, which rounds it on the way.)
__device__ __forceinline__ void tma_load(uint32_t to, const TensorMap& map, int column, int row, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

// The box arrives at the same address, and its bytes at the same barrier, in every block of the mask.
__device__ __forceinline__ void tma_load_multicast(
    uint32_t to, const TensorMap& map, int column, int row, uint32_t barrier, uint16_t blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
                 : "memory");
}

// Contiguous bytes, a multiple of 16, without a map.
__device__ __forceinline__ void bulk_load(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(to), "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void tma_store(const TensorMap& map, int column, int row, uint32_t from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&map), "r"(column), "r"(row), "r"(from)
                 : "memory");
}

__device__ __forceinline__ void tma_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but `pending` stores have read their shared memory, which may then be written again.
template <int pending>
__device__ __forceinline__ void tma_store_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(pending) : "memory");
}

__device__ __forceinline__ void tma_prefetch_map(const TensorMap& map)
{
    asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory");
}

// ---- blocks, warpgroups, clusters -----------------------------------------------------------------------------------

// A barrier for some of the warps: those that name the same number.
__device__ __forceinline__ void named_barrier(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(threads) : "memory");
}

// Arrives at such a barrier without waiting for the others.
__device__ __forceinline__ void named_barrier_arrive(int number, int threads)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(number), "r"(threads) : "memory");
}

template <int registers>
__device__ __forceinline__ void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(registers));
}

template <int registers>
__device__ __forceinline__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(registers));
}

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
