"""How long a debugger's step back takes, and how much memory its snapshots need: python benchmarks/debug.py.

The launches execute 100 million instructions of lanes: one with many blocks, one with few threads and a long
loop, which has as many more positions.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import ptxlab

_SOURCE = """
extern "C" __global__ void walk(float* x, int rounds) {
  __shared__ float s[128];
  float v = x[blockIdx.x * 128 + threadIdx.x];
  for (int i = 0; i < rounds; ++i) {
    s[threadIdx.x] = v + i;
    __syncthreads();
    v = s[127 - threadIdx.x] * 0.5f + v * 0.25f;
    __syncthreads();
  }
  x[blockIdx.x * 128 + threadIdx.x] = v;
}
"""
_LANE_INSTRUCTIONS = 100_000_000
_STEPS = 20


def main() -> None:
    kernel = ptxlab.kernel(_SOURCE)
    print(f"{'blocks':>7} {'positions':>10} {'run':>8} {'step back':>22} {'anywhere':>10} {'memory':>10}")
    for blocks in (2048, 256, 8):
        counts = kernel.simulate(1, 128, np.zeros(128, np.float32), 8, check=False, show=False).counts
        short = kernel.simulate(1, 128, np.zeros(128, np.float32), 4, check=False, show=False).counts
        a_round = (counts.total() - short.total()) / 4 / 4
        rounds = int(_LANE_INSTRUCTIONS / (blocks * 128 * a_round))
        session = kernel.debug(blocks, 128, np.ones(128 * blocks, np.float32), rounds)
        begun = perf_counter()
        session.run()
        spent = perf_counter() - begun
        end, times, far = session.position, [], []
        session.go(end)
        for _ in range(_STEPS):
            begun = perf_counter()
            session.back()
            times.append(perf_counter() - begun)
        for position in np.random.default_rng(0).integers(1, end, _STEPS).tolist():
            session.go(position)
            begun = perf_counter()
            session.back()
            far.append(perf_counter() - begun)
        print(
            f"{blocks:7} {end:10} {spent:6.1f} s {np.median(times):8.3f} s, most {max(times):.3f} s "
            f"{max(far):8.3f} s {session.memory / 1e6:7.0f} MB"
        )


if __name__ == "__main__":
    main()
