"""The command line: `main` runs one command and prints its answer, or one sentence on what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ..errors import PtxlabError
from . import completion
from .output import Style
from .parser import parse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 for an answer, 1 for a refusal, 2 for wrong usage.

    >>> main(["where", "mma.m16n8k64.s4", "A", "9", "37"])
    A[9][37] of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32
      A 16x64 s4, 4 registers in each of 32 lanes
      lane  element  register  bits
         4  a29             3  [23..20]
    0
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if words == [completion.NAMES_COMMAND]:
        print("\n".join(completion.instruction_names()))
        return 0
    try:
        args = parse(words)
        answer = args.handler(args, Style())
        if isinstance(answer, int):
            return answer
        print(answer)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse leaves this way after --help, --version and wrong usage
        return int(stop.code or 0)
    except PtxlabError as error:
        print(f"ptxlab: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of the pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
