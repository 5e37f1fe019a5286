"""The command line: `main` runs one command and prints its answer, or one sentence on what is wrong."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Sequence

from .._util import interrupts
from ..errors import PtxlabError, quoted
from . import output
from .commands import NAMES_COMMAND
from .output import Style
from .parser import parse

__all__ = ["main"]

_BUG = 70  # EX_SOFTWARE of sysexits.h
_HUNT = (
    "hunt is a developer's tool: in a clone of ptxlab, python -m tools.hunt INSTRUCTION looks for inputs on "
    "which emulator and GPU differ"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0: the answer was written; 1: a refusal; 2: wrong usage; 70: a bug in ptxlab; 130: interrupted.
    Without `argv`, it takes the arguments of the process and handles its signals.

    >>> main(["where", "mma.m16n8k64.s4", "A", "9", "37"])
    A[9][37] of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32
      A 16x64 s4, 4 registers in each of 32 lanes
      lane  element  register  bits
         4  a29             3  [23..20]
    0
    """
    if argv is not None:
        return _status(list(argv))
    if threading.current_thread() is not threading.main_thread():  # only that one handles signals
        return _status(sys.argv[1:])
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # they are for programmers
    try:
        interrupts.raise_once()
        status = _status(sys.argv[1:])
        interrupts.end_quietly()
    except KeyboardInterrupt:
        return interrupts.STATUS
    return status


def _status(words: list[str]) -> int:
    """Run the command; whatever goes wrong is one line on standard error."""
    try:
        return _run(words)
    except KeyboardInterrupt:
        output.error("ptxlab: interrupted")
        return interrupts.STATUS
    except output.OutputError as problem:
        if problem.reader_left:  # such as head, which has seen enough
            return 0
        return _refuse(str(problem))
    except PtxlabError as problem:
        return _refuse(str(problem))
    except MemoryError:
        return _refuse("there is not enough memory for this")
    except OSError as problem:
        place = "" if problem.filename is None else f"{quoted(os.fsdecode(problem.filename))}: "
        return _refuse(f"{place}{problem.strerror or problem}")
    except Exception as problem:
        if os.environ.get("PTXLAB_TRACEBACK"):
            raise
        detail = f"{type(problem).__name__}: {problem}"
        output.error(
            f"ptxlab: this is a bug in ptxlab ({output.one_line(detail)}); "
            "please report it, with the traceback that PTXLAB_TRACEBACK=1 shows"
        )
        return _BUG


def _run(words: list[str]) -> int:
    if words == [NAMES_COMMAND]:
        from ..isa.aliases import instruction_names

        output.write("\n".join(instruction_names()))
        return 0
    if words[:1] == ["hunt"]:
        raise PtxlabError(_HUNT)
    try:
        call = parse(words)
    except SystemExit as stop:  # argparse leaves this way after --help, --version and wrong usage
        return int(stop.code or 0)
    answer = call.run(Style())
    if isinstance(answer, int):
        return answer
    output.write(answer)
    return 0


def _refuse(sentence: str) -> int:
    output.error(f"ptxlab: {output.one_line(sentence)}")
    return 1
