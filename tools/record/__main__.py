"""python -m tools.record WHAT: record what a GPU, the assemblers or the compiler give, for the tests."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

GPU = {
    "golden": "results of every matrix instruction",
    "kernels": "what the kernels of tests/kernels write",
    "memory": "cycles of shared memory, bytes of TMA",
    "scalar": "scalar instructions on a million inputs each",
    "approximations": "approximate instructions",
    "timing": "times, and what Nsight Compute counts",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.record", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument(
        "folder", type=Path, nargs="?", default=argparse.SUPPRESS, help="default: tests/golden"
    )
    for name, text in GPU.items():
        command = commands.add_parser(name, parents=[folder], help=f"{text} (needs an H200)")
        if name == "scalar":
            command.add_argument("--details", type=Path, help="file for what differs")
        if name == "timing":
            command.add_argument("--launch", action="store_true", help="only launch what is counted")
    commands.add_parser("tcgen05", parents=[folder], help="lines of tcgen05 that assemblers take (minutes)")
    commands.add_parser("lesson_kernels", help="PTX of the lessons' kernels, for machines without NVRTC")
    commands.add_parser("gemm_profiles", help="predicted times of lesson 13's rungs (minutes)")
    commands.add_parser("gemm_project", help="predicted times of the rungs for the project (minutes)")
    commands.add_parser("triton_kernels", help="PTX of lesson 31's Triton kernels (needs Triton)")
    hunts = commands.add_parser("hunts", help="how many MMAs of each form were compared")
    hunts.add_argument("reports", type=Path, nargs="+", help="files of tools.hunt_all and tools.hunt_wgmma")
    sass = commands.add_parser("sass", help="machine code of every form for every chip (minutes)")
    sass.add_argument("--newer", action="store_true", help="only forms that the record's compiler lacks")
    options = vars(parser.parse_args())
    importlib.import_module(f".{options.pop('what')}", __package__).main(**options)


if __name__ == "__main__":
    main()
