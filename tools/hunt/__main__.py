"""python -m tools.hunt INSTRUCTION: look for registers on which emulator and GPU disagree.

The smallest case is printed as a test. The exit status is 1 if there is a difference.
"""

from __future__ import annotations

import argparse
import sys
from typing import Annotated

from ptxlab import PtxlabError
from ptxlab._util import interrupts
from ptxlab.cli.commands import InstructionName
from ptxlab.cli.instruction_arguments import Tcgen05, product_of
from ptxlab.cli.parser import add_arguments, values
from ptxlab.views.trace_text import text

from . import hunt


def run(
    instruction: InstructionName,
    *,
    mmas: Annotated[int, "number of MMAs to compare (default: 100000)", "N"] = 100_000,
    seed: Annotated[int | None, "repeat an earlier hunt (default: a new seed)", "N"] = None,
    category: Annotated[list[str] | None, "only this category of inputs; can be repeated", "NAME"] = None,
    model: Annotated[
        str | None, "the emulator's model, e.g. sm_90 (default: the model of the GPU)", "CHIP"
    ] = None,
    against: Annotated[str | None, "compare with this chip's model, not with a GPU", "CHIP"] = None,
    tcgen05: Tcgen05,
) -> int:
    """Hunt, and print the outcome."""
    form = product_of(instruction, tcgen05, "it moves a matrix: there is no arithmetic to hunt in")
    report = hunt(form, mmas=mmas, seed=seed, categories=category, model=model, against=against)
    print(report)
    difference = report.trace()
    if difference is not None:
        print(f"\n{text(difference)}\n\n{report.as_test()}", end="")
    return int(report.found)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.hunt", description=__doc__)
    add_arguments(parser, run)
    try:
        return run(**values(run, vars(parser.parse_args(words))))
    except PtxlabError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("the hunt was stopped before it found anything", file=sys.stderr)
        return interrupts.STATUS


if __name__ == "__main__":
    sys.exit(main())
