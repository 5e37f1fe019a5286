"""python -m benchmarks.gpu: every ratio on this machine's GPU, in one run.

Products of matrices beside cuBLAS, cuBLASLt and cuSPARSELt, then what `ptxlab.measure` finds beside probes
written by hand. `--record` keeps the figures in results.json, from which the documentation takes them.
"""

from __future__ import annotations

import argparse

from . import gemm, measure
from .__main__ import RESULTS, keep


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"keep the figures in {RESULTS.name}")
    args = parser.parse_args()
    results = {}
    # Instructions come last: after them the GPU is so warm that products reach some percent less.
    for name, part in (("gemm", gemm.measure), ("measure", measure.measure)):
        results[name] = part()
        if args.record:
            keep({name: results[name]})
    print(results["gemm"]["machine"])


if __name__ == "__main__":
    main()
