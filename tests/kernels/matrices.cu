// Matrix instructions of a warp, one each, with operands from memory as registers.
typedef unsigned int u32;
typedef unsigned short u16;

#define FOR_REGISTERS(count) for (int r = 0; r < count; ++r)

template <int N> __device__ __forceinline__ void load(u32 (&x)[N], const u32* from) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    FOR_REGISTERS(N) x[r] = from[(warp * 32 + lane) * N + r];
}

template <int N> __device__ __forceinline__ void store(const u32 (&x)[N], u32* to) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    FOR_REGISTERS(N) to[(warp * 32 + lane) * N + r] = x[r];
}

#define MMA_4_2_4(name, opcode)                                                                       \
    extern "C" __global__ void name(const u32* pa, const u32* pb, const u32* pc, u32* pd) {            \
        u32 a[4], b[2], c[4];                                                                          \
        load(a, pa); load(b, pb); load(c, pc);                                                         \
        asm volatile(opcode " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                    \
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                           \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                       \
        store(c, pd);                                                                                  \
    }

MMA_4_2_4(mma_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MMA_4_2_4(mma_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_4_2_4(mma_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_4_2_4(mma_s8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
MMA_4_2_4(mma_u4, "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32")
MMA_4_2_4(mma_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32")

extern "C" __global__ void mma_sparse(const u32* pa, const u32* pb, const u32* pc, const u32* pe, u32* pd) {
    u32 a[4], b[4], c[4], e[1];
    load(a, pa); load(b, pb); load(c, pc); load(e, pe);
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x1;"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(e[0]));
    store(c, pd);
}

extern "C" __global__ void mma_f64(const double* pa, const double* pb, double* pc) {
    const int i = threadIdx.x;
    double c0 = pc[2 * i], c1 = pc[2 * i + 1];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c0), "+d"(c1) : "d"(pa[i]), "d"(pb[i]));
    pc[2 * i] = c0;
    pc[2 * i + 1] = c1;
}

extern "C" __global__ void matrix_moves(const u32* in, u32* out) {
    // Through shared memory with stmatrix, back transposed with ldmatrix, and movmatrix.
    __shared__ __align__(16) u32 tile[2][4][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 at = (u32)__cvta_generic_to_shared(&tile[warp][0][0]) + lane * 16;
    u32 x[4], y[4], z;
    load(x, in);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
        :: "r"(at), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]) : "r"(at) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];"
        : "=r"(z) : "l"((char*)&tile[warp][0][0] + lane % 8 * 16 + 128) : "memory");
    y[3] ^= z;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(z) : "r"(x[0]));
    y[2] += z;
    store(y, out);
}

extern "C" __global__ void wmma_gemm(const u16* a, const u16* b, const float* c, float* d) {
    // 16x16x16 from memory: A row-major with a stride of 24, B column-major, C and D row-major.
    u32 ra[8], rb[8];
    float rc[8];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 24;"
        : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]), "=r"(ra[4]), "=r"(ra[5]), "=r"(ra[6]), "=r"(ra[7])
        : "l"(a));
    asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
        : "=r"(rb[0]), "=r"(rb[1]), "=r"(rb[2]), "=r"(rb[3]), "=r"(rb[4]), "=r"(rb[5]), "=r"(rb[6]), "=r"(rb[7])
        : "l"(b));
    asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 16;"
        : "=f"(rc[0]), "=f"(rc[1]), "=f"(rc[2]), "=f"(rc[3]), "=f"(rc[4]), "=f"(rc[5]), "=f"(rc[6]), "=f"(rc[7])
        : "l"(c));
    asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, "
        "{%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(rc[0]), "+f"(rc[1]), "+f"(rc[2]), "+f"(rc[3]), "+f"(rc[4]), "+f"(rc[5]), "+f"(rc[6]), "+f"(rc[7])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(ra[4]), "r"(ra[5]), "r"(ra[6]), "r"(ra[7]),
          "r"(rb[0]), "r"(rb[1]), "r"(rb[2]), "r"(rb[3]), "r"(rb[4]), "r"(rb[5]), "r"(rb[6]), "r"(rb[7]));
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7}, 16;"
        :: "f"(rc[0]), "f"(rc[1]), "f"(rc[2]), "f"(rc[3]), "f"(rc[4]), "f"(rc[5]), "f"(rc[6]), "f"(rc[7]), "l"(d)
        : "memory");
}
