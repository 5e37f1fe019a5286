// Tensor maps that kernels change: tensormap.replace, as grouped GEMMs do, and copies of maps.
typedef unsigned int u32;
typedef unsigned long long u64;
struct __align__(64) TensorMap { unsigned char bytes[128]; };

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait(u32 bar, u32 parity) {
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(bar), "r"(parity) : "memory");
}

// Block g loads a box of its own matrix (start, rows, columns in sizes) and stores it, doubled, in another.
extern "C" __global__ void grouped_maps(const __grid_constant__ TensorMap map, TensorMap* maps, u32* data, u32* out, const int* sizes) {
    __shared__ __align__(1024) u32 tile[8 * 16];
    __shared__ __align__(128) TensorMap own[2];
    __shared__ u64 bar;
    const int t = threadIdx.x, g = blockIdx.x;
    const int start = sizes[4 * g], rows = sizes[4 * g + 1], columns = sizes[4 * g + 2], at = sizes[4 * g + 3];
    const u32 b = shared_address(&bar);
    for (int i = 0; i < 2; ++i) reinterpret_cast<u32*>(&own[i])[t] = reinterpret_cast<const u32*>(&map)[t];
    __syncwarp();
    if (t == 0) {
        for (int i = 0; i < 2; ++i) {
            const u32 m = shared_address(&own[i]);
            const u64 address = (u64)((i ? out : data) + start);
            asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" :: "r"(m), "l"(address) : "memory");
            asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(m), "r"(columns) : "memory");
            asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(m), "r"(rows) : "memory");
            asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" :: "r"(m), "l"((u64)columns * 4) : "memory");
        }
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    for (int i = 0; i < 2; ++i)
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
            :: "l"(maps + 2 * g + i), "r"(shared_address(&own[i])) : "memory");
    for (int i = 0; i < 2; ++i)
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(maps + 2 * g + i) : "memory");
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(512) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
            :: "r"(shared_address(tile)), "l"(maps + 2 * g), "r"(at * 4), "r"(at), "r"(b) : "memory");
    }
    wait(b, 0);
    for (int i = t; i < 128; i += 32) tile[i] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (t == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
            :: "l"(maps + 2 * g + 1), "r"(at * 4), "r"(at), "r"(shared_address(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncwarp();
    for (int i = 0; i < 2; ++i) reinterpret_cast<u32*>(maps + 2 * g + i)[t] = 0;  // opaque: nothing to compare
}

// Every field of a map in shared memory; sizes are those of the changed map.
extern "C" __global__ void replaced_fields(const __grid_constant__ TensorMap map, TensorMap* maps, u32* data, u32* out) {
    __shared__ __align__(1024) u32 tile[256];
    __shared__ __align__(128) TensorMap own;
    __shared__ u64 bar;
    const int t = threadIdx.x;
    const u32 b = shared_address(&bar), m = shared_address(&own);
    reinterpret_cast<u32*>(&own)[t] = reinterpret_cast<const u32*>(&map)[t];
    for (int i = t; i < 256; i += 32) tile[i] = 0xA5A5A5A5u;
    __syncwarp();
    if (t == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" :: "r"(m), "l"(data) : "memory");
        asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], %1;" :: "r"(m), "r"(2) : "memory");
        asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 1;" :: "r"(m) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(m), "r"(24) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(m), "r"(10) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 2, %1;" :: "r"(m), "r"(3) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" :: "r"(m), "l"(64ull) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 1, %1;" :: "r"(m), "l"(1024ull) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(m), "r"(16) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(m), "r"(8) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 2, %1;" :: "r"(m), "r"(2) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(m), "r"(2) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 2, %1;" :: "r"(m), "r"(1) : "memory");
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 1;" :: "r"(m) : "memory");
        asm volatile("tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%0], 0;" :: "r"(m) : "memory");
        asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0;" :: "r"(m) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
        :: "l"(maps), "r"(m) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(maps) : "memory");
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(16 * 4 * 2 * 2) : "memory");
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
            :: "r"(shared_address(tile)), "l"(maps), "r"(8), "r"(3), "r"(1), "r"(b) : "memory");
    }
    wait(b, 0);
    for (int i = t; i < 256; i += 32) out[i] = tile[i];
    reinterpret_cast<u32*>(maps)[t] = 0;
}

// Pixels of pictures, for each element of a filter of 3 by 2.
extern "C" __global__ void im2col_columns(const __grid_constant__ TensorMap from, u32* out) {
    __shared__ __align__(1024) u32 tile[24 * 8];
    __shared__ u64 bar;
    const int t = threadIdx.x, column = blockIdx.x;
    const u32 b = shared_address(&bar);
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    for (int tap = 0; tap < 6; ++tap) {
        if (t == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(24 * 32) : "memory");
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                :: "r"(shared_address(tile)), "l"(&from), "r"(0), "r"(column - 1), "r"(column % 2), "r"(column / 2), "r"(b),
                   "h"((unsigned short)(tap % 2)), "h"((unsigned short)(tap / 2)) : "memory");
        }
        wait(b, tap & 1);
        for (int i = t; i < 24 * 8; i += 32) out[(column * 6 + tap) * 24 * 8 + i] = tile[i];
        __syncwarp();
    }
}

// A column of pixels into pictures.
extern "C" __global__ void im2col_store(const u32* in, const __grid_constant__ TensorMap to, int x, int y, int n) {
    __shared__ __align__(1024) u32 tile[24 * 8];
    for (int i = threadIdx.x; i < 24 * 8; i += 32) tile[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3, %4}], [%5];"
            :: "l"(&to), "r"(0), "r"(x), "r"(y), "r"(n), "r"(shared_address(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
