// D = A B^T: TMA loads tiles of 64 x 64 halves with a 128-byte swizzle; one warp produces, one warpgroup multiplies.
// A is M x K, B is N x K, both row-major; D is M x N. A block computes 64 x 64; K is a multiple of 64.
typedef unsigned int u32;
typedef unsigned long long u64;
struct __align__(64) TensorMap { unsigned char bytes[128]; };
#define STAGES 2

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait(u32 bar, u32 parity) {
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(bar), "r"(parity) : "memory");
}

__device__ __forceinline__ u64 descriptor(u32 address) {
    return (u64)(address >> 4 & 0x3fff) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}

__device__ __forceinline__ void load(u32 to, const TensorMap* map, int x, int y, u32 bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}

extern "C" __global__ void __launch_bounds__(256) gemm(
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* D, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ u64 full[STAGES], empty[STAGES];
    const u32 tiles = shared_address(memory);
    const int warpgroup = threadIdx.x / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&full[i])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(shared_address(&empty[i])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (warpgroup == 1) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 128) {
            for (int i = 0; i < K / 64; ++i) {
                const int stage = i % STAGES;
                const u32 bar = shared_address(&full[stage]), at = tiles + stage * 16384;
                wait(shared_address(&empty[stage]), (i / STAGES & 1) ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16384;" :: "r"(bar) : "memory");
                load(at, &A, i * 64, blockIdx.y * 64, bar);
                load(at + 8192, &B, i * 64, blockIdx.x * 64, bar);
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[32] = {};
    for (int i = 0; i < K / 64; ++i) {
        const int stage = i % STAGES;
        const u32 at = tiles + stage * 16384;
        wait(shared_address(&full[stage]), i / STAGES & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < 4; ++k) {
            const u64 a = descriptor(at + k * 32), b = descriptor(at + 8192 + k * 32);
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0;\n}"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                : "l"(a), "l"(b), "r"(i + k));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(&empty[stage])) : "memory");
    }
    const int lane = threadIdx.x % 32, row = blockIdx.y * 64 + threadIdx.x / 32 * 16 + lane / 4;
    for (int n = 0; n < 8; ++n)
        for (int r = 0; r < 4; ++r)
            D[(row + r / 2 * 8) * N + blockIdx.x * 64 + n * 8 + lane % 4 * 2 + r % 2] = d[n * 4 + r];
}
