"""Kernels that hang, in the usual order or in another one only, and kernels that never do."""

from __future__ import annotations

from typing import NamedTuple

SOURCE = r"""
typedef unsigned long long barrier_t;
#define P(x) unsigned(__cvta_generic_to_shared(&x))
__device__ void init(unsigned b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory");
}
__device__ void wait(unsigned b, int parity) {
  asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }"
               :: "r"(b), "r"(parity & 1) : "memory");
}
__device__ void arrive(unsigned b) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory");
}
__device__ void expect(unsigned b, int n) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(b), "r"(n) : "memory");
}
__device__ void copy(unsigned to, const int* from, int n, unsigned b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(to), "l"(from), "r"(n), "r"(b) : "memory");
}
__device__ void sync(int barrier, int count) {
  asm volatile("barrier.sync %0, %1;" :: "r"(barrier), "r"(count) : "memory");
}
__device__ void take(int* lock) { while (atomicCAS(lock, 0, 1) != 0); __threadfence(); }
__device__ void give(int* lock) { __threadfence(); atomicExch(lock, 0); }
enum { CLEAN, FIRST_PARITY, BYTES, NO_ARRIVAL, SWAPPED, LEAVES, COUNT, PARITY, SKIPS, EARLY };

// one warp copies tiles, the others add them up
template <int STAGES, int CONSUMERS, int TILES, int FAULT>
__global__ void pipeline(int* x) {
  __shared__ alignas(128) int tiles[STAGES][32];
  __shared__ barrier_t full[STAGES], empty[STAGES];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0)
    for (int i = 0; i < STAGES; i++) {
      init(P(full[i]), 1);
      init(P(empty[i]), CONSUMERS + (FAULT == COUNT));
    }
  __syncthreads();
  if (warp == 0) {
    if (lane == 0)
      for (int t = 0; t < TILES - (FAULT == SKIPS); t++) {
        const int s = t % STAGES;
        wait(P(empty[s]), t / STAGES + 1 + (FAULT == FIRST_PARITY));
        expect(P(full[s]), FAULT == BYTES ? 256 : 128);
        copy(P(tiles[s]), x + 32 * t, 128, P(full[s]));
      }
  } else {
    int sum = 0;
    for (int t = 0; t < TILES; t++) {
      const int s = t % STAGES;
      if (FAULT == LEAVES && t == 1 && warp == 1) break;
      wait(P(full[s]), t / STAGES + (FAULT == PARITY && t == TILES - 1));
      if (FAULT == EARLY) { __syncwarp(); if (lane == 0) arrive(P(empty[s])); }
      sum += tiles[s][lane];
      asm volatile("fence.proxy.async.shared::cta;" : "+r"(sum) :: "memory");
      __syncwarp();
      if (FAULT == EARLY || (FAULT == NO_ARRIVAL && warp == CONSUMERS)) continue;
      if (lane == 0) arrive(FAULT == SWAPPED ? P(full[s]) : P(empty[s]));
    }
    x[32 * (TILES + warp) + lane] = sum;
  }
}

// each block takes two locks, one after the other
template <int LOCKS, bool IN_ORDER>
__global__ void locks(int* x) {
  if (threadIdx.x) return;
  int one = blockIdx.x % LOCKS, two = (blockIdx.x + 1) % LOCKS;
  if (IN_ORDER && one > two) { const int t = one; one = two; two = t; }
  take(x + one); take(x + two);
  x[LOCKS]++;
  give(x + two); give(x + one);
}
// the same by the warps of a block, with locks in shared memory
template <bool IN_ORDER>
__global__ void shared_locks(int* x) {
  __shared__ int lock[2];
  if (threadIdx.x < 2) lock[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 32) return;
  const int one = IN_ORDER ? 0 : threadIdx.x / 32 & 1, two = 1 - one;
  take(lock + one); take(lock + two);
  x[0]++;
  give(lock + two); give(lock + one);
}
// a lock that one way out does not give back
template <bool GIVES>
__global__ void early_return(int* x) {
  if (threadIdx.x) return;
  take(x);
  const int count = ++x[1];
  if (!GIVES && blockIdx.x == 1 && count == 1) return;
  give(x);
}
// the first to come waits for what block 1 raises, unless block 1 is the first
template <bool ALWAYS>
__global__ void first_waits(int* x) {
  if (threadIdx.x) return;
  const bool first = atomicAdd(x, 1) == 0;
  if (ALWAYS && blockIdx.x == 1) atomicExch(x + 1, 1);
  if (first) while (atomicAdd(x + 1, 0) == 0);
  if (blockIdx.x == 1) atomicExch(x + 1, 1);
}
// two signals, of which a slow waiter sees one
template <bool COUNTS>
__global__ void signals(int* x) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 2; i++) while (COUNTS ? atomicAdd(x, 0) <= i : atomicExch(x, 0) == 0);
  } else {
    if (COUNTS) atomicAdd(x, 1); else atomicExch(x, 1);
  }
}
// a wait that must not come after two phases
template <bool ANSWERED>
__global__ void overtaken(int* x) {
  __shared__ barrier_t full, seen;
  if (threadIdx.x == 0) { init(P(full), 1); init(P(seen), 1); }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive(P(full));
    if (ANSWERED) wait(P(seen), 0);
    arrive(P(full));
  }
  if (threadIdx.x == 32) {
    wait(P(full), 0);
    if (ANSWERED) arrive(P(seen));
    x[0] = 1;
  }
}
// named barriers: what is expected, and who comes
template <int EXPECTED, int OTHER>
__global__ void named(int* x) {
  if (threadIdx.x < 32) sync(1, EXPECTED); else sync(OTHER, EXPECTED);
  x[threadIdx.x] = 1;
}
template <bool ARRIVES>
__global__ void leaves_early(int* x) {
  if (!ARRIVES && threadIdx.x >= 64) return;
  sync(1, 96);
  x[threadIdx.x] = 1;
}
// a barrier of all blocks by hand
template <int MISSING>
__global__ void all_blocks(int* x) {
  if (threadIdx.x) return;
  if (blockIdx.x == MISSING) return;
  __threadfence();
  atomicAdd(x, 1);
  while (*(volatile int*)x < gridDim.x);
  __threadfence();
  x[1 + blockIdx.x] = 1;
}
template <int ARRIVALS>
__global__ void cluster(int* x) {
  __shared__ barrier_t full;
  unsigned rank, there;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) init(P(full), 2);
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(P(full)), "r"(rank ^ 1));
    if (ARRIVALS == 2 || rank == 0)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
    arrive(P(full));
  }
  wait(P(full), 0);
  x[blockIdx.x * 32 + threadIdx.x] = 1;
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


class Case(NamedTuple):
    """A kernel of SOURCE and its launch; `hangs` is "always", "sometimes" (not in the usual order) or ""."""

    name: str
    grid: int
    block: int
    hangs: str
    cluster: int | None = None


_SHAPES = ((1, 1, 3), (2, 1, 4), (2, 2, 4), (4, 2, 8))
_FAULTS = ("FIRST_PARITY", "BYTES", "NO_ARRIVAL", "SWAPPED", "LEAVES", "COUNT", "PARITY", "SKIPS")


def _pipeline(stages: int, consumers: int, tiles: int, fault: str = "CLEAN", hangs: str = "") -> Case:
    return Case(f"pipeline<{stages}, {consumers}, {tiles}, {fault}>", 1, 32 * (consumers + 1), hangs)


HANGING = (
    *(_pipeline(*shape, fault, "always") for shape in _SHAPES for fault in _FAULTS),
    Case("locks<2, false>", 2, 32, "sometimes"),
    Case("locks<2, false>", 3, 32, "sometimes"),
    Case("locks<3, false>", 3, 32, "sometimes"),
    Case("shared_locks<false>", 1, 64, "sometimes"),
    Case("early_return<false>", 2, 32, "sometimes"),
    Case("first_waits<false>", 2, 32, "sometimes"),
    Case("signals<false>", 3, 32, "sometimes"),
    Case("overtaken<false>", 1, 64, "always"),
    Case("named<96, 1>", 1, 64, "always"),
    Case("named<64, 2>", 1, 64, "always"),
    Case("leaves_early<false>", 1, 96, "always"),
    Case("leaves_early<false>", 2, 96, "always"),
    Case("all_blocks<0>", 2, 32, "always"),
    Case("all_blocks<2>", 3, 32, "always"),
    Case("cluster<1>", 2, 32, "always", 2),
    Case("cluster<1>", 4, 32, "always", 2),
)
CLEAN = (
    *(_pipeline(*shape) for shape in _SHAPES),
    *(_pipeline(stages, consumers, 2 * stages) for stages in (1, 2, 3) for consumers in (1, 2, 3)),
    _pipeline(4, 2, 16),
    Case("locks<2, true>", 2, 32, ""),
    Case("shared_locks<true>", 1, 64, ""),
    Case("early_return<true>", 2, 32, ""),
    Case("early_return<true>", 3, 32, ""),
    Case("first_waits<true>", 2, 32, ""),
    Case("signals<true>", 3, 32, ""),
    Case("overtaken<true>", 1, 64, ""),
    Case("named<64, 1>", 1, 64, ""),
    Case("named<32, 2>", 1, 64, ""),
    Case("leaves_early<true>", 1, 96, ""),
    Case("leaves_early<true>", 2, 96, ""),
    Case("all_blocks<9>", 2, 32, ""),
    Case("all_blocks<9>", 3, 32, ""),
    Case("cluster<2>", 2, 32, "", 2),
    Case("cluster<2>", 4, 32, "", 2),
    Case("pipeline<2, 1, 2, EARLY>", 1, 64, ""),
)
