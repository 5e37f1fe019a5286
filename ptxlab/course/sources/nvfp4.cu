__device__ unsigned int address_of(const void* pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

__device__ void copy_scales(unsigned int column, unsigned long long tile)
{
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" :: "r"(column), "l"(tile) : "memory");
}

__device__ void multiply(unsigned int d, unsigned long long a, unsigned long long b, unsigned int idesc,
                         unsigned int sfa, unsigned int sfb, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16\n"
                 "    [%0], %1, %2, %3, [%4], [%5], p; }"
                 :: "r"(d), "l"(a), "l"(b), "r"(idesc), "r"(sfa), "r"(sfb), "r"(add) : "memory");
}

__device__ float load(unsigned int address)
{
    unsigned int word;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n"
                 "tcgen05.wait::ld.sync.aligned;" : "=r"(word) : "r"(address) : "memory");
    return __uint_as_float(word);
}

extern "C" __global__ void __launch_bounds__(128) nvfp4(
    const uint4* A, const uint4* B, const uint4* SFA, const uint4* SFB, float* D, float tensor_scale)
{
    __shared__ __align__(128) uint4 a[1024], b[256];      // 128 x 256 and 256 x 32 elements of 4 bits
    __shared__ __align__(128) uint4 sfa[128], sfb[128];   // four tiles of 512 bytes each
    __shared__ unsigned int tensor_memory;
    __shared__ unsigned long long complete;
    const int thread = threadIdx.x, warp = thread / 32;

    // Copy everything to shared memory, unchanged; a real kernel would use TMA.
    for (int i = thread; i < 1024; i += 128) a[i] = A[i];
    for (int i = thread; i < 256; i += 128) b[i] = B[i];
    sfa[thread] = SFA[thread];
    sfb[thread] = SFB[thread];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");

    // Tensor memory: D has columns 0 to 31, SFA 32 to 47, SFB 48 to 63.
    if (warp == 0) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;"
                     :: "r"(address_of(&tensor_memory)) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    }
    if (thread == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address_of(&complete)) : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const unsigned int d = tensor_memory, scale_a = d + 32, scale_b = d + 48;

    if (thread == 0) {
        // Scales: each copy takes one tile of 128 x 4, into four columns.
        const unsigned long long tile = 0x0000400800010000ull;
        for (int t = 0; t < 4; ++t) {
            copy_scales(scale_a + 4 * t, tile | address_of(sfa + 32 * t) >> 4);
            copy_scales(scale_b + 4 * t, tile | address_of(sfb + 32 * t) >> 4);
        }
        // Products: 64 of K each, with the columns of their scales. No wait before them.
        const unsigned long long matrix = 0x0000401000080000ull;
        for (int t = 0; t < 4; ++t)
            multiply(d, matrix | address_of(a + 256 * t) >> 4, matrix | address_of(b + 64 * t) >> 4,
                     0x08080480u, scale_a + 4 * t, scale_b + 4 * t, t > 0);
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                     :: "r"(address_of(&complete)) : "memory");
    }
    // All wait for the products.
    unsigned int over = 0;
    while (!over)
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(address_of(&complete)) : "memory");
    __syncwarp();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");

    // The epilogue: thread t has row t, and multiplies by the tensor scales of A and B.
    for (int column = 0; column < 32; ++column)
        D[thread * 32 + column] = load(d + (warp * 32 << 16) + column) * tensor_scale;
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;"
                     :: "r"(tensor_memory) : "memory");
}
