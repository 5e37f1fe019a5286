"""Count on a GPU how often the litmus tests of tests/simulator/litmus_cases.py end with each outcome.

python -m tools.litmus [test ...] [--seconds 2] [--to tests/golden/litmus.json]

Blocks of a test meet before each round, in which each lane runs an instance of its own; in every second
round the lines of the locations are in L1 before. Outcomes that the model forbids are counted apart: there
must be none. What the model allows and the count does not show was not seen on that GPU; it may happen.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.gpu.device import check_device
from tests.simulator.litmus_cases import LITMUS, Litmus

FILE = Path(__file__).parents[1] / "tests" / "golden" / "litmus.json"
_LANES = 32
_SOURCE = """
// blocks of a group wait for each other: all of them are resident
__device__ void meet(unsigned* gate, unsigned blocks, unsigned round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(gate, 1);
    while (*(volatile unsigned*)gate < blocks * (round + 1)) ;
  }
  __syncthreads();
}
%(roles)s
extern "C" __global__ %(clusters)s
void litmus(unsigned* memory, unsigned* registers, unsigned* gates, int rounds) {
  const unsigned group = blockIdx.x / %(blocks)d, block = blockIdx.x %% %(blocks)d;
  const unsigned groups = gridDim.x / %(blocks)d;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x %% 32;
  const size_t all = size_t(rounds) * groups * 32;
  unsigned random = blockIdx.x * 747796405u + threadIdx.x / 32 * 2891336453u + 1;
  for (int round = 0; round < rounds; ++round) {
    const size_t instance = (size_t(round) * groups + group) * 32 + lane;
    unsigned* at = memory + 2 * instance;
    unsigned pads = 0;
    if (round & 1)
      for (int location = 0; location < %(locations)d; ++location)
        asm volatile("ld.weak.u32 %%0, [%%1];" : "=r"(pads) : "l"(at + location * 2 * all + 1) : "memory");
    meet(gates + group, %(blocks)d, round);
    random = random * 747796405u + 2891336453u;
    for (unsigned wait = pads + (random >> 27); wait; --wait) asm volatile("");
%(calls)s
  }
}
"""


def source(case: Litmus) -> str:
    """The kernel of a test, in CUDA C++."""
    places = case.places or tuple((number, number) for number in range(len(case.threads)))
    blocks = sorted(set(places))
    locations = [event.location for event in case.test.initial]
    registers = register_names(case)
    roles, calls = [], []
    for number, (text, place) in enumerate(zip(case.threads, places, strict=True)):
        written = [event.register for event in case.test.instructions if event.thread == number]
        names = [register for register in registers if register in written]
        body = text
        for index, location in enumerate(locations):
            body = body.replace(f"[{location}]", f"[%{len(names) + index}]")
        for index, register in enumerate(names):
            body = re.sub(rf"(?<=[ ,]){register}(?=[,;])", f"%{index}", body)
        outputs = ", ".join(f'"=&r"(to_{name})' for name in names)
        inputs = ", ".join(f'"l"(at + {index} * 2 * all)' for index in range(len(locations)))
        stores = "".join(
            f" registers[{registers.index(name)} * all + instance] = to_{name};" for name in names
        )
        declared = f"unsigned {', '.join(f'to_{name}' for name in names)};" if names else ""
        roles.append(
            f"__device__ void role_{number}(unsigned* at, unsigned* registers, size_t all, "
            "size_t instance) {\n"
            f'  {declared}\n  asm volatile("{body}" : {outputs} : {inputs} : "memory");\n {stores}\n}}'
        )
        warp = sum(other == place for other in places[:number])
        calls.append(
            f"    if (block == {blocks.index(place)} && warp == {warp}) "
            f"role_{number}(at, registers, all, instance);"
        )
    clusters = max(sum(block[0] == first[0] for block in blocks) for first in blocks)
    same_sizes = len(blocks) % clusters == 0
    values: dict[str, Any] = {
        "roles": "\n".join(roles),
        "calls": "\n".join(calls),
        "blocks": len(blocks),
        "locations": len(locations),
        "clusters": f"__cluster_dims__({clusters})" if clusters > 1 and same_sizes else "",
    }
    return _SOURCE % values


def register_names(case: Litmus) -> list[str]:
    """The registers that a test's outcomes name."""
    return sorted({event.register for event in case.test.instructions if event.register})


def shape(case: Litmus, groups: int) -> tuple[int, int]:
    """Blocks of a launch, and threads of each."""
    places = case.places or tuple((number, number) for number in range(len(case.threads)))
    return groups * len(set(places)), 32 * max(places.count(place) for place in places)


def arrays(case: Litmus, groups: int, rounds: int) -> tuple[Any, Any, Any]:
    """Memory, registers and gates of a launch."""
    count = groups * rounds * _LANES
    memory = np.zeros((len(case.test.initial), count, 2), np.uint32)
    registers = np.zeros((max(len(register_names(case)), 1), count), np.uint32)
    return memory, registers, np.zeros(groups, np.uint32)


def outcomes(case: Litmus, memory: Any, registers: Any) -> dict[tuple[tuple[str, int], ...], int]:
    """How often each outcome came."""
    names = register_names(case) + [event.location for event in case.test.initial]
    columns = [*registers[: len(register_names(case))], *memory[:, :, 0]]
    rows, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
    return {
        tuple(sorted(zip(names, row, strict=True))): count
        for row, count in zip(rows.T.tolist(), counts.tolist(), strict=True)
    }


def run(case: Litmus, seconds: float, groups: int, rounds: int) -> dict[str, Any]:
    """Counts of a test on this machine's GPU."""
    made = ptxlab.kernel(source(case), "litmus", "sm_90a")
    total: dict[tuple[tuple[str, int], ...], int] = {}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        memory, registers, gates = arrays(case, groups, rounds)
        made.launch(*shape(case, groups), memory, registers, gates, rounds)
        for outcome, count in outcomes(case, memory, registers).items():
            total[outcome] = total.get(outcome, 0) + count
    allowed = case.test.outcomes
    return {
        "instances": sum(total.values()),
        "seen": sum(
            count for outcome, count in total.items() if case.outcome.items() <= dict(outcome).items()
        ),
        "forbidden": sum(count for outcome, count in total.items() if outcome not in allowed),
        "outcomes": {", ".join(f"{k}={v}" for k, v in outcome): total[outcome] for outcome in sorted(total)},
    }


def main() -> None:
    """Run the tests, print and keep what they counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wanted", nargs="*", metavar="test", help="a part of its name")
    parser.add_argument("--seconds", type=float, default=2, help="for each test")
    parser.add_argument("--groups", type=int, default=132, help="of blocks; all must be resident")
    parser.add_argument("--rounds", type=int, default=256)
    parser.add_argument("--to", type=Path, default=FILE)
    chosen = parser.parse_args()
    record = json.loads(chosen.to.read_text(encoding="utf-8")) if chosen.to.exists() else {}
    for case in LITMUS:
        if chosen.wanted and not any(part in case.name for part in chosen.wanted):
            continue
        row = run(case, chosen.seconds, chosen.groups, chosen.rounds)
        record[case.name] = {"on": check_device().name, "allowed": case.allowed, **row}
        verdict = "allowed" if case.allowed else "forbidden"
        print(
            f"{case.name}: {verdict}, seen {row['seen']} of {row['instances']:.3g}"
            + (f", {row['forbidden']} FORBIDDEN" if row["forbidden"] else ""),
            flush=True,
        )
        write_atomically(chosen.to, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
