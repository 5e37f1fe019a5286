"""The parser: commands, options, help with examples, and refusals in one sentence."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from .. import __version__
from ..errors import PtxlabError, listing
from ..isa.catalog import FAMILIES
from . import answers, complete
from .names import find, meant
from .render import Style

__all__ = ["main"]

_EXAMPLES = """\
examples:
  ptxlab list --family wmma                      every form of a family
  ptxlab show mma.m16n8k64.s4                    all about it; a short name will do
  ptxlab where mma.m16n8k64.s4 A 9 37            lane, register and bits of A[9][37]
  ptxlab where mma.sp.m16n8k64.s4 A 9 37         the same for a sparse A
  ptxlab where mma.m16n8k64.s4 D 9 3 --explain   all that goes into D[9][3]
  ptxlab holds mma.m16n8k64.s4 B --lane 5        what lane 5 holds of B
  ptxlab layout mma.m16n8k64.s4 A --svg > a.svg  the picture of the manual
  ptxlab sass mma.m16n8k64.s4 --target sm_80     what the chip really runs
  ptxlab trace mma.m16n8k16.f32.f16 3 5          why D[3][5] has its bits
  ptxlab run mma.sp.m16n8k16.tf32 --on both      emulator against GPU, bit for bit

exit codes: 0 answered, 1 no such thing (one sentence says why), 2 wrong usage
"""

#: Examples under the help of each command; a test runs them.
EXAMPLES: dict[str, str] = {
    "list": """\
  ptxlab list --count                        how many, by family and type
  ptxlab list --target sm_75 --type s4       what a T4 has for s4
  ptxlab list --shape 'm64n*k64' --sparse    all N of a shape
  ptxlab list --family wgmma | head -3       one name a line in a pipe""",
    "show": """\
  ptxlab show mma.m16n8k64.s4
  ptxlab show mma.m16n8k64.s4 --target sm_80    what that chip runs for it
  ptxlab show wmma.m8n8k32.s4 --json""",
    "where": """\
  ptxlab where mma.m16n8k64.s4 A 9 37
  ptxlab where mma.sp.m16n8k16.tf32 E 0 0              a metadata nibble
  ptxlab where mma.m16n8k64.s4 D 9 3 --explain         all that goes into it
  ptxlab where wgmma.sp.m64n24k64.f32.e4m3 B 37 13     a byte of shared memory""",
    "holds": """\
  ptxlab holds mma.m16n8k64.s4 A --lane 5
  ptxlab holds mma.m16n8k64.s4 A --lane 5 --register 1""",
    "layout": """\
  ptxlab layout mma.m16n8k64.s4 C
  ptxlab layout mma.m16n8k64.s4 C --formula            as the manual writes it
  ptxlab layout mma.sp.m16n8k64.s4 A --dense --markdown
  ptxlab layout mma.m16n8k64.s4 A --csv > a.csv        a line for every element""",
    "metadata": """\
  ptxlab metadata mma.sp.m16n8k16.tf32 --selector 1
  ptxlab metadata mma.sp.m16n8k64.s4 --svg > e.svg""",
    "cute": """\
  ptxlab cute mma.m16n8k64.s4
  ptxlab cute mma.m16n8k64.s4 A""",
    "ptx": """\
  ptxlab ptx mma.m16n8k64.s4                 the line
  ptxlab ptx mma.m16n8k64.s4 --cpp           as an asm statement
  ptxlab ptx mma.m16n8k64.s4 --kernel        the kernel that `run` compiles""",
    "sass": """\
  ptxlab sass mma.m16n8k64.s4 --target sm_90a
  ptxlab sass mma.m16n8k64.s4 --all          one line for each generation of chips""",
    "models": """\
  ptxlab models --chip sm_80                 what an A100 does with sums
  ptxlab models --json""",
    "trace": """\
  ptxlab trace mma.m16n8k16.f32.f16 3 5
  ptxlab trace mma.m16n8k64.s4 6 7 --category edges       partial sums, wrap
  ptxlab trace mma.m16n8k16.f32.f16 3 5 --category exponents --seed 2
  ptxlab trace mma.m16n8k32.f32.e4m3 0 0 --svg > why.svg  as a picture""",
    "run": """\
  ptxlab run mma.m16n8k64.s4 --seed 3
  ptxlab run mma.sp.m16n8k16.tf32 --on both --batch 1000""",
    "hunt": """\
  ptxlab hunt mma.m16n8k16.f32.f16                     on a GPU: 100,000 MMAs
  ptxlab hunt mma.m16n8k16.f32.f16 --category bottom --mmas 1000000
  ptxlab hunt mma.m16n8k64.s4 --against sm_80 --mmas 1000    two models, no GPU""",
    "lab": """\
  ptxlab lab
  ptxlab lab --no-browser""",
    "completion": complete.INSTALL,
}


def _run(args: argparse.Namespace, style: Style) -> str:
    from . import act

    return act.run(find(args.instruction), args.on, args.seed, args.batch, args.selector, style)


def _hunt(args: argparse.Namespace, style: Style) -> int:
    from . import act

    return act.hunt(find(args.instruction), args.mmas, args.seed, args.category, args.model, args.against)


def _trace(args: argparse.Namespace, style: Style) -> str:
    from . import why

    return why.trace(args, style)


def _lab(args: argparse.Namespace, style: Style) -> str | int:
    from . import act

    return act.lab(args.arguments)


def _completion(args: argparse.Namespace, style: Style) -> str:
    return complete.script(args.shell, parser())


class _Parser(argparse.ArgumentParser):
    """Refuses in one sentence, without the usage block, and says what was meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice is not None:
            known = re.findall(r"[\w-]+", choice[2])
            which = "command" if self.prog == "ptxlab" else message.split(":")[0].removeprefix("argument ")
            message = f"invalid choice: {which} {choice[1]!r}{meant(choice[1], known) or f'; there are {listing(known, 20)}'}"
        self.exit(2, f"{self.prog}: {message}{';' if message[-1] != '?' else ''} see {self.prog} --help\n")


@lru_cache(maxsize=1)
def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(
        prog="ptxlab",
        description="PTX matrix instructions: who holds what, in which bits, and what comes out.",
        epilog=_EXAMPLES,
    )
    top.formatter_class = argparse.RawDescriptionHelpFormatter
    top.add_argument("-V", "--version", action="version", version=f"ptxlab {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def command(
        name: str, handler: Callable[..., Any], about: str, *, instruction: bool = True, json: bool = False
    ) -> argparse.ArgumentParser:
        examples = f"examples:\n{EXAMPLES[name]}\n"
        sub = commands.add_parser(
            name,
            help=about,
            description=about,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(handler=handler, parser=sub)
        if instruction:
            sub.add_argument(
                "instruction",
                metavar="INSTRUCTION",
                help="PTX mnemonic, or a short name such as mma.m16n8k64.s4",
            )
        if json:
            sub.add_argument("--json", action="store_true", help="the same as JSON")
        return sub

    sub = command("list", answers.list_, "the instructions that ptxlab knows", instruction=False, json=True)
    sub.add_argument("--family", metavar="FAMILY", help=listing(FAMILIES))
    sub.add_argument("--target", metavar="TARGET", help="only those that a target has, e.g. sm_90a")
    sub.add_argument(
        "--type", metavar="TYPE", help="only those with this element type for A, B or D, e.g. s4"
    )
    sub.add_argument("--shape", metavar="SHAPE", help="only those of this shape, e.g. m16n8k64 or 'm64n*k64'")
    only = sub.add_mutually_exclusive_group()
    only.add_argument("--sparse", action="store_true", help="only those with a sparse A")
    only.add_argument("--dense", action="store_true", help="only those without")
    sub.add_argument("--count", action="store_true", help="only how many: by family and type of A")

    sub = command("show", answers.show, "all about one instruction", json=True)
    sub.add_argument(
        "--target",
        metavar="TARGET",
        help="the chip whose machine code is looked at (sm_90a where it has the instruction)",
    )
    sub.add_argument(
        "--no-sass",
        action="store_true",
        help="without looking at the machine code, which takes a second at first",
    )

    sub = command("where", answers.where, "which lane holds an element, and in which bits", json=True)
    sub.add_argument(
        "operand",
        metavar="OPERAND",
        help="A, B, C, D, E (metadata), SFA, SFB (block scales), R (ldmatrix, stmatrix)",
    )
    sub.add_argument("row", type=int)
    sub.add_argument("column", type=int)
    sub.add_argument(
        "--explain",
        action="store_true",
        help="D: also every register of A, B, C, E and scales that goes into the element",
    )
    sub.add_argument(
        "--stored", action="store_true", help="sparse A: the coordinates are those of the stored half"
    )
    _swizzle(sub)

    sub = command("holds", answers.holds, "what a lane holds", json=True)
    sub.add_argument("operand", metavar="OPERAND")
    sub.add_argument("--lane", type=int, required=True)
    sub.add_argument("--register", type=int)

    sub = command("layout", answers.layout, "the fragment layout of an operand")
    sub.add_argument("operand", metavar="OPERAND")
    sub.add_argument(
        "--dense", action="store_true", help="sparse A as it is meant instead of as it is stored"
    )
    sub.add_argument("--lane", type=int, help="put one lane in the focus of --svg")
    _swizzle(sub)
    _forms(sub, ("csv", "markdown", "json", "svg", "cute", "formula"))

    sub = command("metadata", answers.metadata, "which lane's which bits describe every chunk of sparse A")
    sub.add_argument("--selector", type=int, default=0)
    _forms(sub, ("csv", "markdown", "json", "svg"))

    sub = command("cute", answers.cute, "the layouts in CuTe's notation, of all operands or one", json=True)
    sub.add_argument("operand", metavar="OPERAND", nargs="?")

    sub = command("ptx", answers.ptx, "the PTX line, or the CUDA C++ around it")
    how = sub.add_mutually_exclusive_group()
    how.add_argument("--cpp", action="store_true", help="the asm statement of CUDA C++")
    how.add_argument("--kernel", action="store_true", help="the CUDA C++ source that `run` compiles")
    sub.add_argument("--shared-a", action="store_true", help="wgmma: A from shared memory")

    sub = command(
        "sass", answers.sass, "the machine code that the compiler makes of it; needs no GPU", json=True
    )
    sub.add_argument(
        "--target", metavar="TARGET", help="sm_90a where it has the instruction, else the first that has"
    )
    sub.add_argument("--all", action="store_true", help="one line for each generation of chips")

    sub = command(
        "models",
        answers.models,
        "the arithmetic of every chip, and how it is known",
        instruction=False,
        json=True,
    )
    sub.add_argument("--chip", metavar="CHIP", help="only those of one chip, e.g. sm_80")

    sub = command("run", _run, "run it on random registers")
    sub.add_argument("--on", choices=("emulator", "gpu", "both"), default="emulator")
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--batch", type=int, default=1, help="how many independent ones")
    sub.add_argument("--selector", type=int, default=0, help="sparsity selector")

    sub = command(
        "hunt",
        _hunt,
        "look for registers on which the emulator and the GPU disagree, and print the smallest as a test",
    )
    sub.add_argument("--mmas", type=int, default=100_000, metavar="N", help="how many to compare (100000)")
    sub.add_argument("--seed", type=int, metavar="N", help="repeat a hunt; a fresh one otherwise")
    sub.add_argument(
        "--category", action="append", metavar="NAME", help="only this kind of inputs; may be given again"
    )
    sub.add_argument("--model", metavar="CHIP", help="the emulator's model, e.g. sm_90 (that of the GPU)")
    sub.add_argument("--against", metavar="CHIP", help="the model of another chip in the place of the GPU")

    sub = command(
        "trace", _trace, "why an element of D has its bits: products, alignment, what is lost, sum, rounding"
    )
    sub.add_argument("row", type=int)
    sub.add_argument("column", type=int)
    sub.add_argument(
        "--category",
        metavar="NAME",
        help="kind of inputs: bits, moderate, exponents, cancellation ... (moderate; bits for integers)",
    )
    sub.add_argument("--seed", type=int, default=0, help="of the inputs")
    sub.add_argument("--model", metavar="CHIP", help="the chip whose arithmetic is followed, e.g. sm_80")
    for name, more in (("a", "; dense for a sparse instruction"), ("b", ""), ("c", "")):
        sub.add_argument(
            f"--{name}", metavar="FILE.npy", help=f"{name.upper()} from a file that np.save wrote{more}"
        )
    _forms(sub, ("json", "svg"))

    command(
        "lab",
        _lab,
        "open JupyterLab on the notebooks; further options are passed on to jupyter lab",
        instruction=False,
    )
    sub = command(
        "completion",
        _completion,
        "a script that completes commands, options and instructions in a shell",
        instruction=False,
    )
    sub.add_argument("shell", choices=complete.SHELLS)
    return top


def _swizzle(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--swizzle",
        type=int,
        default=0,
        metavar="BYTES",
        help="operand in shared memory: swizzle (0, 32, 64, 128)",
    )
    sub.add_argument(
        "--transposed", action="store_true", help="f16 and bf16 in shared memory: MN-major instead of K-major"
    )


def _forms(sub: argparse.ArgumentParser, names: Sequence[str]) -> None:
    group = sub.add_mutually_exclusive_group()
    for name in names:
        group.add_argument(f"--{name}", dest="form", action="store_const", const=name)


def _unknown(sub: argparse.ArgumentParser, rest: list[str]) -> NoReturn:
    options = [option for action in sub._actions for option in action.option_strings]
    hint = next(
        (said for word in rest if word.startswith("-") and (said := meant(word.split("=")[0], options))), ""
    )
    sub.error(f"unrecognized arguments: {' '.join(rest)}{hint}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: answered; 1: a sentence on what does not exist or is missing; 2: wrong usage.

    >>> main(["where", "mma.m16n8k64.s4", "A", "9", "37"])
    A[9][37] of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32
      A 16x64 s4, 4 registers in each of 32 lanes
      lane  element  register  bits
         4  a29             3  [23..20]
    0
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == [complete.HIDDEN]:
        print(complete.words())
        return 0
    top = parser()
    try:
        args, rest = top.parse_known_args(words)
        handler = getattr(args, "handler", None)
        if handler is _lab:
            args.arguments = rest
        elif rest:
            _unknown(getattr(args, "parser", top), rest)
        if handler is None:
            top.print_help()
            return 0
        answer = handler(args, Style())
        if isinstance(answer, int):
            return answer
        print(answer)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse leaves this way after --help, --version and bad usage
        return int(stop.code or 0)
    except PtxlabError as error:
        print(f"ptxlab: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, e.g. head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
