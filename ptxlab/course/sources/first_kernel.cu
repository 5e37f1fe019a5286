typedef unsigned short f16;  // its 16 bits
__device__ void mma(float* d, const unsigned* a, const unsigned* b) {  // d += a * b
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ int group() { return threadIdx.x % 32 / 4; }
__device__ int thread_in_group() { return threadIdx.x % 4; }
__device__ void load_a(unsigned* a, const f16* A, int K) {  // A by rows of K elements
    for (int r = 0; r < 4; r++)
        a[r] = *(const unsigned*)(A + (group() + r % 2 * 8) * K + thread_in_group() * 2 + r / 2 * 8);
}
__device__ void load_b(unsigned* b, const f16* B, int K) {  // B by columns of K elements
    for (int r = 0; r < 2; r++)
        b[r] = *(const unsigned*)(B + group() * K + thread_in_group() * 2 + r * 8);
}

__device__ void store_d(const float* d, float* D, int N) {  // D by rows of N elements
    for (int r = 0; r < 4; r++)
        D[(group() + r / 2 * 8) * N + thread_in_group() * 2 + r % 2] = d[r];
}

__device__ void ldmatrix(unsigned* a, const void* row) {  // 16 bytes in shared memory
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
        : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

extern "C" __global__ void one(const f16* A, const f16* B, float* D, const float* bias) {
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    load_a(a, A, 16);
    LOAD_B
    START
    mma(d, a, b);
    store_d(d, D, 8);
}

extern "C" __global__ void tiled(const f16* A, const f16* B, float* D) {
    __shared__ __align__(128) char tile[2048];
    for (int i = threadIdx.x; i < 128; i += 32) {
        int4 vector = ((const int4*)A)[i];
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
            :: "r"((unsigned)__cvta_generic_to_shared(tile + place(i / 8, i % 8))),
            "r"(vector.x), "r"(vector.y), "r"(vector.z), "r"(vector.w) : "memory");
    }
    __syncthreads();
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < 64; k += 16) {
        ldmatrix(a, tile + place(threadIdx.x % 16, k / 8 + threadIdx.x / 16));
        load_b(b, B + k, 64);
        mma(d, a, b);
    }
    store_d(d, D, 8);
}
