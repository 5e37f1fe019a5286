// D = A B with one mma: A 16x16 by rows, B 16x8 by columns, D 16x8
// grid 1, block 32, arguments normal:f16:16x16 normal:f16:8x16 zeros:f32:16x8
#include <cuda_fp16.h>

__global__ void product(const __half* A, const __half* B, float* D) {
  int g = threadIdx.x / 4;  // row g of A, column g of B
  int t = threadIdx.x % 4;  // columns 2t and 2t + 1 of the row
  const unsigned* a = reinterpret_cast<const unsigned*>(A + 16 * g + 2 * t);
  const unsigned* b = reinterpret_cast<const unsigned*>(B + 16 * g + 2 * t);
  unsigned a0 = a[0];       // A[g][2t], A[g][2t + 1]
  unsigned a1 = a[64];      // A[g + 8][2t], ...
  unsigned a2 = a[4];       // A[g][2t + 8], ...
  unsigned a3 = a[68];      // A[g + 8][2t + 8], ...
  unsigned b0 = b[0];       // B[2t][g], B[2t + 1][g]
  unsigned b1 = b[4];       // B[2t + 8][g], ...
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  D[8 * g + 2 * t] = d[0];
  D[8 * g + 2 * t + 1] = d[1];
  D[8 * (g + 8) + 2 * t] = d[2];
  D[8 * (g + 8) + 2 * t + 1] = d[3];
}
