// Hangs and races of other people's kernels, each cut down to a few lines of our own. The issue or pull request is
// named above each; tests/simulator/bug_cases.py has the launches, and the actions that find the bug.
// x counts up from 0, f is zero.
#include <cooperative_groups.h>
typedef unsigned int u32;
typedef unsigned long long u64;
#define KERNEL(name) extern "C" __global__ void name(int* x, int* f)
#define T ((int)threadIdx.x)
#define B ((int)blockIdx.x)
#define WARP (T / 32)

__device__ __forceinline__ u32 shared(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64* b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ __forceinline__ void fence_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void arrive(u64* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(b)) : "memory");
}
__device__ __forceinline__ void expect(u64* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u64* b, int parity) {
  asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L; }"
               :: "r"(shared(b)), "r"(parity & 1) : "memory");
}
__device__ __forceinline__ void load_bulk(int* to, const int* from, int bytes, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(b)) : "memory");
}
__device__ __forceinline__ u32 peer(const void* p) {  // the same place in the other block of a cluster of two
  u32 address;
  asm volatile("{ .reg .b32 r; mov.b32 r, %%cluster_ctarank; xor.b32 r, r, 1;\n"
               "mapa.shared::cluster.u32 %0, %1, r; }" : "=r"(address) : "r"(shared(p)));
  return address;
}
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// -- hangs ---------------------------------------------------------------------------------------------------

// https://github.com/tile-ai/tilelang/pull/2406: the consumers ask for more registers than the file has
extern "C" __global__ __maxnreg__(128) void registers_oversubscribed(int* x, int* f) {
  if (T < 256) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  else asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  __syncthreads();  // the producers still have loads to start
  f[T % 256] = 1;
}

// https://github.com/tile-ai/tilelang/issues/2566: bytes are announced, but nobody arrives
KERNEL(expected_without_arrival) {
  __shared__ alignas(128) int tile[64];
  __shared__ u64 full;
  if (T == 0) { init(&full, 1); fence_init(); }
  __syncthreads();
  if (T == 0) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 256;" :: "r"(shared(&full)) : "memory");
    load_bulk(tile, x, 256, &full);
  }
  wait(&full, 0);
  f[T] = tile[T];
}

// https://github.com/Dao-AILab/flash-attention/issues/1317: the producer's first wait takes parity 0 instead of 1
KERNEL(first_parity) {
  __shared__ u64 empty;
  __shared__ int tile[32];
  if (T == 0) { init(&empty, 1); fence_init(); }
  __syncthreads();
  for (int i = 0; i < 3; ++i) {
    if (WARP == 0) { wait(&empty, i); tile[T] = x[32 * i + T]; }
    __syncthreads();
    if (T == 32) { f[i] = tile[0]; arrive(&empty); }
  }
}

// https://github.com/punica-ai/punica/pull/35: blocks with more steps call grid.sync() more often
KERNEL(grid_sync_per_step) {
  const int steps = B == 0 ? 3 : 2;
  for (int i = 0; i < steps; ++i) {
    if (T == 0) atomicAdd(f, x[i]);
    cooperative_groups::this_grid().sync();
  }
}

// https://github.com/flashinfer-ai/flashinfer/pull/2996: half of the warps take another branch, with no barrier
KERNEL(barrier_in_one_role) {
  __shared__ u64 done;
  __shared__ int partial[64];
  if (T == 0) { init(&done, 1); fence_init(); }
  __syncthreads();
  if (WARP >= 2) {
    wait(&done, 0);  // the loads of the next step
  } else {
    partial[T] = x[T];
    __syncthreads();
    if (T == 0) { f[0] = partial[0] + partial[63]; arrive(&done); }
  }
}

// https://github.com/numba/numba/issues/9770: one lane takes the loop's other way to its barrier
KERNEL(continue_before_barrier) {
  if (T == 0) {
    if (!__syncthreads_or(x[0])) return;
  } else {
    for (int i = 0; i < 2; ++i) f[T] = __syncthreads_or(i);
  }
}

// https://github.com/tile-ai/tilelang/issues/1026: a barrier for the block, in a branch for even lanes
KERNEL(barrier_for_even_lanes) {
  __shared__ int s[32];
  s[T] = x[T];
  if (T % 2 == 0) {
    const int a = s[T];
    __syncthreads();
    s[T ^ 1] = a;
  }
  f[T] = s[T];
}

// https://github.com/NVIDIA/cutlass/issues/2364: a call named like an initialisation announces bytes
KERNEL(announced_before_init) {
  __shared__ u64 full;
  if (T == 0) {
    expect(&full, 1);
    fence_init();
  }
  __syncthreads();
  f[T] = x[T];
}

// https://github.com/NVIDIA/cuml/issues/458: a barrier of the grid is used again before all have left it
KERNEL(grid_barrier_again) {
  for (int i = 0; i < 2; ++i) {
    if (atomicAdd(f, 1) == (int)gridDim.x - 1) atomicExch(f, 0);
    while (atomicAdd(f, 0) != 0) {}
  }
  x[B] = 1;
}

// https://github.com/flashinfer-ai/flashinfer/pull/4533: two pairs of warps meet at barriers with one number
KERNEL(same_barrier_number) {
  if (WARP < 2)
    for (int i = 0; i < 2; ++i) asm volatile("barrier.sync 1, 64;" ::: "memory");
  if (WARP == 2) asm volatile("barrier.arrive 1, 64;" ::: "memory");
  if (WARP == 3) asm volatile("barrier.sync 1, 64;" ::: "memory");
  f[WARP] = 1;
}

// https://github.com/NVIDIA/Fuser/pull/1769: a warp arrives before the barrier is initialised
KERNEL(arrival_before_init) {
  __shared__ u64 done;
  if (T == 0) { init(&done, 2); fence_init(); }
  if (T % 32 == 0) arrive(&done);
  wait(&done, 0);
  f[WARP] = 1;
}

// -- races ---------------------------------------------------------------------------------------------------

// https://github.com/NVIDIA/cuml/pull/6578: the next row overwrites what thread 0 still adds up
KERNEL(next_row_too_early) {
  __shared__ int s[64];
  for (int row = 0; row < 2; ++row) {
    s[T] = x[T] + row;
    __syncthreads();
    if (T == 0) {
      int sum = 0;
      for (int i = 0; i < 64; ++i) sum += s[i];
      f[row] = sum;
    }
  }
}

// https://github.com/ORNL/HeCBench/issues/254: one thread adds up, and all read the sum
KERNEL(sum_read_by_all) {
  __shared__ int sum;
  if (T == 0) { sum = x[1] + x[2]; }
  f[T] = ((volatile int&)sum) + 1;
}

// https://github.com/ggml-org/llama.cpp/pull/13742: a warp skips a tile, and the next mask comes while others decide
KERNEL(skipped_tile) {
  __shared__ int mask[64];
  int sum = 0;
  for (int tile = 0; tile < 2; ++tile) {
    mask[T] = x[64 * tile + T] & 64;
    __syncthreads();
    bool skip = true;
    for (int i = 0; i < 64; ++i) skip = skip && !mask[i];
    if (skip) continue;
    sum += mask[63 - T];
    __syncthreads();
  }
  f[T] = sum;
}

// https://github.com/NVIDIA/Fuser/pull/2391: the semaphore of a split product is released without a fence
KERNEL(semaphore_without_fence) {
  if (B == 0) {
    x[T] = 7;
    __syncthreads();
    if (T == 0) atomicExch(f, 1);
  } else {
    while (atomicAdd(f, 0) == 0) {}
    __threadfence();
    f[1 + T] = x[T];
  }
}

// https://github.com/NVIDIA/cccl/pull/10627: thread 0 says that the block is done while others still count
KERNEL(counted_before_done) {
  __shared__ bool last;
  atomicAdd(f + 1, 1);
  if (T == 0) { __threadfence(); last = atomicAdd(f, 1) == 1; }
  __syncthreads();
  if (last && T == 0) x[0] = atomicAdd(f + 1, 0);
}

// https://github.com/triton-lang/triton/pull/4542: the lock is given back while other warps still store
KERNEL(lock_given_early) {
  if (T == 0) { while (atomicCAS(f, 0, 1) != 0) {} __threadfence(); }
  __syncthreads();
  x[T] += 1;
  if (T == 0) { __threadfence(); atomicExch(f, 0); }
}

// https://github.com/csarofeen/pytorch/pull/2457: the group is committed after the wait, which then waits for nothing
KERNEL(committed_after_the_wait) {
  __shared__ int s[64];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared(s + T)), "l"(x + T) : "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  __syncthreads();
  f[T] = s[63 - T];
}

// https://github.com/tile-ai/tilelang/pull/3087: both waits take the same parity: old data, or none ever
KERNEL(stale_parity) {
  __shared__ alignas(128) int tile[64];
  __shared__ u64 full;
  if (T == 0) { init(&full, 1); fence_init(); }
  __syncthreads();
  for (int k = 0; k < 2; ++k) {
    if (T == 0) { expect(&full, 256); load_bulk(tile, x + 64 * k, 256, &full); }
    wait(&full, k / 2);
    f[64 * k + T] = tile[T];
    __syncthreads();
  }
}

// https://github.com/MoonshotAI/FlashKDA/issues/24: TMA reads what ordinary stores wrote, behind a barrier alone
KERNEL(store_without_proxy_fence) {
  __shared__ alignas(128) int tile[64];
  tile[T] = x[T] + 1;
  __syncthreads();
  if (T == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\ncp.async.bulk.commit_group;\n"
                 "cp.async.bulk.wait_group 0;" :: "l"(x), "r"(shared(tile)) : "memory");
  }
}

// https://github.com/facebookexperimental/triton/pull/2292: a store into a block that may not have begun
extern "C" __global__ void __cluster_dims__(2) store_into_absent_block(int* x, int* f) {
  __shared__ int s[32];
  s[T] = 0;
  asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(peer(s + T)), "r"(x[T]) : "memory");
  cluster_barrier();
  f[32 * B + T] = s[T];
}

// https://github.com/triton-lang/triton/pull/9413: a block ends while the other reads its shared memory
extern "C" __global__ void __cluster_dims__(2) read_of_ended_block(int* x, int* f) {
  __shared__ int s[32];
  s[T] = x[T];
  cluster_barrier();
  int value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(peer(s + T)) : "memory");
  f[32 * B + T] = value;
}

// https://github.com/NVIDIA/cutlass/issues/3324: an arrival with the scope of one block, between two
extern "C" __global__ void __cluster_dims__(2) scope_of_one_block(int* x, int* f) {
  __shared__ int s[32];
  __shared__ u64 full;
  if (T == 0) { init(&full, 32); fence_init(); }
  cluster_barrier();
  if (B == 1) {
    s[T] = x[T];
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" :: "r"(peer(&full)) : "memory");
  } else {
    wait(&full, 0);
    int value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(peer(s + T)) : "memory");
    f[32 * B + T] = value;
  }
  cluster_barrier();
}

// https://github.com/NVIDIA/cub/issues/154: both halves of a warp shuffle with the mask of the first
KERNEL(mask_of_the_other_half) { f[T] = __shfl_up_sync(0x0000ffffu, x[T], 1, 16); }
