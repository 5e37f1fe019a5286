"""Programs in CUDA C++ as LLVM IR, with the PTX that Clang's own back end makes of it.

`python -m tests.simulator.llvm_pairs --record` records them again, and `--seeds 0 2000` compares random
programs that are not recorded. Both need ziglang.
"""

from __future__ import annotations

import argparse
import bz2
import json
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

import ptxlab
from ptxlab.gpu import clang
from ptxlab.simulator.llvm import ptx_from_llvm
from ptxlab.simulator.result import Result

from .clang_roads import run_clang
from .random_cuda import Program

FOLDER = Path(__file__).parent / "llvm"
_RECORDED = FOLDER / "pairs.json.bz2"
_SEEDS = range(12)  # of the random programs that are recorded
THREADS = 32


@lru_cache(maxsize=1)
def recorded() -> dict[str, tuple[str, str]]:
    """LLVM IR and PTX by the name of the program."""
    pairs = json.loads(bz2.decompress(_RECORDED.read_bytes()))
    return {name: (ir, ptx) for name, (ir, ptx) in pairs.items()}


def compiled(source: str, options: Sequence[str] = ()) -> tuple[str, str]:
    """LLVM IR of a source with ptxlab's header, and the PTX that Clang makes of it, both by ziglang."""
    flags = clang.arguments("sm_90a", options)
    files = {f"headers/{name}": text for name, text in clang.header_files().items()} | {"kernel.cu": source}
    ir = run_clang([*flags, "-emit-llvm", "kernel.cu", "-o", "kernel.ll"], files)
    back_end = flags[: flags.index("-fcuda-is-device")]
    words = [*back_end, "-x", "ir", "-disable-llvm-passes", "-S", "kernel.ll", "-o", "kernel.ptx"]
    return ir, run_clang(words, {"kernel.ll": ir})


def run(name: str, ptx: str, *, check: bool = False) -> tuple[list[bytes], Result]:
    """Run a program; returns the bytes of its arrays."""
    generator = np.random.default_rng(0)
    arguments: list[object]
    kernel = ptxlab.kernel(ptx)
    if name.startswith("random"):
        integers = generator.integers(-(1 << 31), 1 << 31, THREADS * 16).astype(np.int32)
        integers[::3] %= 100
        floats = (generator.standard_normal(THREADS * 8) * 50).astype(np.float32)
        results, totals = np.zeros(THREADS * 64, np.uint64), np.zeros(96, np.int32)
        record = generator.integers(0, 100, 40, dtype=np.uint8).tobytes()
        arguments = [integers, floats, results, totals, np.int32(13), record]
    elif name == "language":
        record = np.array([3, 4], np.int32).tobytes() + np.float64(2.5).tobytes() + b"abcde\0\0\0"
        numbers = np.arange(512, dtype=np.int32)
        arguments = [numbers.astype(np.float32) / 7, numbers, record, np.int64(20)]
    else:
        arguments = [
            generator.standard_normal(512).astype(np.float32), np.zeros(512, np.int32),
            generator.integers(0, 1 << 62, 512).astype(np.uint64),
            generator.standard_normal(1024).astype(np.float16),
            generator.standard_normal(512).astype(np.float32), np.int32(20),
        ]  # fmt: skip
    result = kernel.simulate(1, THREADS, *arguments, shared=1024, check=check)
    return [argument.tobytes() for argument in arguments if isinstance(argument, np.ndarray)], result


def differs(seed: int) -> bool:
    """Whether a random program gives other results when ptxlab translates it."""
    name, program = f"random {seed}", Program(seed)
    ir, ptx = compiled(program.source, program.options)
    return run(name, ptx_from_llvm(ir, "sm_90a"))[0] != run(name, ptx)[0]


def _record() -> None:
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.cu"))}
    pairs = {name: compiled(source) for name, source in sources.items()}
    for seed in _SEEDS:
        program = Program(seed)
        pairs[f"random {seed}"] = compiled(program.source, program.options)
    _RECORDED.write_bytes(bz2.compress(json.dumps(pairs).encode()))


def _compare(first: int, end: int) -> int:
    """Compare the programs of some seeds; returns how many differ or are refused."""
    failures = 0
    for seed in range(first, end):
        try:
            message = "other results" if differs(seed) else ""
        except ptxlab.PtxlabError as error:
            message = str(error)
        if message:
            failures += 1
            print(f"seed {seed}: {message}", flush=True)
        if (seed + 1 - first) % 100 == 0 or seed + 1 == end:
            print(f"{seed + 1 - first} programs, {failures} failures", flush=True)
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--seeds", nargs=2, type=int, metavar=("FIRST", "END"))
    asked = parser.parse_args()
    if asked.record:
        _record()
    if asked.seeds:
        sys.exit(_compare(*asked.seeds) > 0)
