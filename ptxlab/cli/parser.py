"""The commands with their arguments and help. Wrong usage is answered in one sentence, with a suggestion."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from .._version import __version__
from ..errors import listing, quoted
from ..isa.catalog import REGISTER_FAMILIES
from . import completion, compute, lab, lookup, measure, memory, repack, simulate, streams, tcgen05
from .names import suggestion
from .output import Style

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["EXAMPLES", "OVERVIEW", "Handler", "build", "parse"]

#: What runs a command: it returns the text to print, or an exit code where it has printed by itself.
Handler: TypeAlias = Callable[[argparse.Namespace, Style], str | int]

OVERVIEW = """\
examples:
  ptxlab list --family wmma                      every form of a family
  ptxlab show mma.m16n8k64.s4                    all about it; a short name will do
  ptxlab where mma.m16n8k64.s4 A 9 37            lane, register and bits of A[9][37]
  ptxlab where mma.sp.m16n8k64.s4 A 9 37         the same for a sparse A
  ptxlab where mma.m16n8k64.s4 D 9 3 --explain   everything that goes into D[9][3]
  ptxlab holds mma.m16n8k64.s4 B --lane 5        what lane 5 holds of B
  ptxlab layout mma.m16n8k64.s4 A --svg > a.svg  the layout as a picture
  ptxlab descriptor 0x4000004000010040           which bytes wgmma reads through it
  ptxlab conflicts ld.shared.v4.f32 --pitch 80   bank conflicts of an access
  ptxlab repack mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16    D as A of the next mma
  ptxlab sass mma.m16n8k64.s4 --target sm_80     the machine code of that chip
  ptxlab trace mma.m16n8k16.f32.f16 3 5          why D[3][5] has its bits
  ptxlab run mma.sp.m16n8k16.tf32 --on both      emulator against GPU, bit for bit
  ptxlab simulate twice.cu --arg ones:f4:32      a whole kernel, without a GPU
  ptxlab measure mma.m16n8k16.f32.f16 --recorded H200     latency and throughput

exit status: 0 the answer was written, 1 the request cannot be answered (one sentence says why),
2 wrong usage, 70 a defect of ptxlab, 130 interrupted
"""

#: Examples below the help of each command; a test runs them.
EXAMPLES = {
    "list": """\
  ptxlab list --count                        how many, by family and type
  ptxlab list --target sm_75 --type s4       the s4 instructions of a T4
  ptxlab list --shape 'm64n*k64' --sparse    a shape with every N
  ptxlab list --family wgmma | head -3       one name per line in a pipe""",
    "show": """\
  ptxlab show mma.m16n8k64.s4
  ptxlab show mma.m16n8k64.s4 --target sm_80    with the machine code of that chip
  ptxlab show wmma.m8n8k32.s4 --json""",
    "where": """\
  ptxlab where mma.m16n8k64.s4 A 9 37
  ptxlab where mma.sp.m16n8k16.tf32 E 0 0              a metadata nibble
  ptxlab where mma.m16n8k64.s4 D 9 3 --explain         everything that goes into it
  ptxlab where wgmma.sp.m64n24k64.f32.e4m3 B 37 13     a byte of shared memory
  ptxlab where tcgen05.mma.cta_group::1.kind::f16 D 20 3 --m 64    in tensor memory""",
    "holds": """\
  ptxlab holds mma.m16n8k64.s4 A --lane 5
  ptxlab holds mma.m16n8k64.s4 A --lane 5 --register 1
  ptxlab holds tcgen05.ld.sync.aligned.16x256b.x1.b32 R --lane 37    a thread of 128""",
    "layout": """\
  ptxlab layout mma.m16n8k64.s4 C
  ptxlab layout mma.m16n8k64.s4 C --formula            as the manual writes it
  ptxlab layout mma.sp.m16n8k64.s4 A --dense --markdown
  ptxlab layout mma.m16n8k64.s4 A --csv > a.csv        one line per element
  ptxlab layout tcgen05.mma.cta_group::1.kind::f16 D --m 64 --svg > d.svg""",
    "descriptor": """\
  ptxlab descriptor 0x4000004000010040
  ptxlab descriptor 0x4000002000010040 --tile bits=16,rows=64,k=64,swizzle=128
  ptxlab descriptor 0x4000004000010042 --instruction wgmma.m64n64k16.f32.f16
  ptxlab descriptor 0x4000004000010042 --svg > bytes.svg        which bytes it reads
  ptxlab descriptor 0x8400490 --instruction tcgen05.mma.cta_group::1.kind::f16
  ptxlab descriptor --instruction tcgen05.mma.cta_group::1.kind::f16 --m 64 --n 32
  ptxlab descriptor --tile bits=16,rows=64,k=128,swizzle=128    those of all slices
  ptxlab descriptor --tile dtype=e4m3,rows=64,k=64,swizzle=64 --svg > tile.svg""",
    "conflicts": """\
  ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 128
  ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 80 --swizzle 64
  ptxlab conflicts ld.shared.v4.f32 --pitch 64 --lanes-per-row 4
  ptxlab conflicts st.shared.b32 --pitch 128 --svg > banks.svg""",
    "repack": """\
  ptxlab repack wgmma.m64n32k32.f32.e4m3:D wgmma.m64n32k32.f32.e4m3:A
  ptxlab repack mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16 --cuda    device function
  ptxlab repack ldmatrix.sync.aligned.m8n8.x2.trans.b16 mma.m16n8k16.f32.f16:B
  ptxlab repack mma.m16n8k32.s8:D mma.m16n8k32.s8:A --json""",
    "metadata": """\
  ptxlab metadata mma.sp.m16n8k16.tf32 --selector 1
  ptxlab metadata mma.sp.m16n8k64.s4 --svg > e.svg
  ptxlab metadata tcgen05.mma.sp.cta_group::1.kind::f16 --selector 1""",
    "cute": """\
  ptxlab cute mma.m16n8k64.s4
  ptxlab cute mma.m16n8k64.s4 A""",
    "ptx": """\
  ptxlab ptx mma.m16n8k64.s4                 the PTX instruction with its registers
  ptxlab ptx mma.m16n8k64.s4 --cpp           as an asm statement
  ptxlab ptx mma.m16n8k64.s4 --kernel        the kernel that `run` compiles""",
    "sass": """\
  ptxlab sass mma.m16n8k64.s4 --target sm_90a
  ptxlab sass mma.m16n8k64.s4 --all          one line for each generation of chips
  ptxlab sass tcgen05.mma.cta_group::2.kind::f16""",
    "models": """\
  ptxlab models --chip sm_80                 how an A100 adds and rounds
  ptxlab models --json""",
    "trace": """\
  ptxlab trace mma.m16n8k16.f32.f16 3 5
  ptxlab trace mma.m16n8k64.s4 6 7 --category edges       sums that wrap around
  ptxlab trace mma.m16n8k16.f32.f16 3 5 --category exponents --seed 2
  ptxlab trace mma.m16n8k32.f32.e4m3 0 0 --svg > why.svg  as a picture
  ptxlab trace tcgen05.mma.cta_group::1.kind::f8f6f4 3 5 --descriptor m=64,a=e5m2""",
    "run": """\
  ptxlab run mma.m16n8k64.s4 --seed 3
  ptxlab run mma.sp.m16n8k16.tf32 --on both --batch 1000""",
    "hunt": """\
  ptxlab hunt mma.m16n8k16.f32.f16                     on a GPU: 100,000 MMAs
  ptxlab hunt mma.m16n8k16.f32.f16 --category bottom --mmas 1000000
  ptxlab hunt mma.m16n8k64.s4 --against sm_80 --mmas 1000    two models, no GPU""",
    "measure": """\
  ptxlab measure mma.m16n8k16.f32.f16                        on this machine's GPU
  ptxlab measure wgmma.m64n128k16.f32.f16 --a shared --recorded H200    without one
  ptxlab measure --all --record                              every instruction""",
    "simulate": """\
  ptxlab simulate twice.cu --block 128 --arg ones:float32:128   an array made here
  ptxlab simulate saxpy.cu --grid 8 --arg 2.5 --arg x.npy --arg y.npy --save z.npz
  ptxlab simulate gemm.cu --grid 8,8 --check error --chip A100 --arg a.npy
  ptxlab simulate all.cu --name "gemm<64>" --option=-DSTAGES=3 --shared 65536""",
    "lab": """\
  ptxlab lab                        into the folder ptxlab-notebooks
  ptxlab lab --to course            into another folder
  ptxlab lab --update               after an update of ptxlab
  ptxlab lab --no-browser --port 9999    with options of jupyter lab""",
    "completion": completion.INSTALL,
}


_SHOWN = 60  # letters of a word that a message repeats
_LONGEST_MESSAGE = 300  # of argparse, with what it repeats
_LONG_WORD = re.compile(rf"(\S{{{_SHOWN}}})\S+")
_DIGITS = 40  # of a number; rows, lanes, seeds and counts have fewer


def _integer(text: str) -> int:
    """A whole number as Python and C write it, decimal or hexadecimal."""
    digits = re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)", text.strip())
    if digits is None:
        raise argparse.ArgumentTypeError(f"invalid int value: {quoted(text)}")
    if len(digits[0]) > _DIGITS:
        raise argparse.ArgumentTypeError(f"invalid int value: {quoted(text)}, a number of {len(text)} digits")
    return int(text, 16 if "x" in text.lower() else 10)


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in one sentence, without the usage block, and suggests what was meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice is not None:
            known = re.findall(r"[\w-]+", choice[2])
            argument = "command" if self.prog == "ptxlab" else message.split(":")[0].removeprefix("argument ")
            remedy = suggestion(choice[1][:_SHOWN], known) or f"; there are {listing(known, 20)}"
            message = f"invalid choice: {argument} {quoted(choice[1])}{remedy}"
        message = _LONG_WORD.sub(r"\1...", message)  # argparse repeats the words of the user in full
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[:_LONGEST_MESSAGE]}..."
        stop = "" if message.endswith("?") else ";"
        self.exit(2, f"{self.prog}: {message}{stop} see {self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        if message:
            streams.error(streams.one_line(message))
        raise SystemExit(status)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Help and version: unlike argparse's own method, this one does not hide that they were lost."""
        streams.write(message.rstrip("\n"))


class _Commands:
    """Adds commands to a parser, each with its help, its examples and the arguments that many share."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def add(
        self, name: str, handler: Handler, summary: str, *, instruction: bool = True, json: bool = False
    ) -> argparse.ArgumentParser:
        command = self._commands.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=f"examples:\n{EXAMPLES[name]}\n",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(handler=handler, command=command)
        if instruction:
            command.add_argument(
                "instruction",
                metavar="INSTRUCTION",
                help="PTX mnemonic, short name such as mma.m16n8k64.s4, atom of CUTLASS, or pasted code",
            )
        if json:
            command.add_argument("--json", action="store_true", help="print JSON")
        return command


def build() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="ptxlab",
        description="PTX matrix instructions: which lane holds what, in which bits, and what comes out.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"ptxlab {__version__}")
    commands = _Commands(parser)
    _add_lookups(commands)
    _add_shared_memory_commands(commands)
    _add_computations(commands)
    _add_measure(commands)
    _add_kernels(commands)
    _add_tools(commands)
    return parser


def _add_tcgen05(command: argparse.ArgumentParser, parts: Sequence[str] = tcgen05.PARTS) -> None:
    """What a mnemonic of tcgen05.mma does not say; some commands have other uses for --a, --b and --d."""
    about = {
        "m": "M, e.g. 128", "n": "N, e.g. 256", "a": "type of A, e.g. bf16",
        "b": "type of B", "d": "type of D",
    }  # fmt: skip
    for name in parts:
        kind = _integer if name in "mn" else str
        command.add_argument(
            f"--{name}", type=kind, metavar=name.upper(), help=f"of tcgen05.mma: {about[name]}"
        )
    command.add_argument(
        "--descriptor", metavar="PARTS", help="of tcgen05.mma: m=64,n=32,a=bf16,d=f32, or the 32 bits"
    )
    command.add_argument("--tensor-a", action="store_true", help="of tcgen05.mma: A is in tensor memory")
    command.set_defaults(tcgen05=tuple(parts))


def _add_lookups(commands: _Commands) -> None:
    """Commands that read off what is declared about an instruction."""
    command = commands.add(
        "list", lookup.list_, "list the instructions that ptxlab knows", instruction=False, json=True
    )
    command.add_argument(
        "--family",
        metavar="FAMILY",
        help=f"one of {listing(REGISTER_FAMILIES, 10)}, tcgen05, tcgen05.mma, tcgen05.ld, ...",
    )
    command.add_argument("--target", metavar="TARGET", help="only what this target has, e.g. sm_90a")
    command.add_argument("--type", metavar="TYPE", help="only this element type of A, B or D, e.g. s4")
    command.add_argument("--shape", metavar="SHAPE", help="only this shape, e.g. m16n8k64 or 'm64n*k64'")
    structure = command.add_mutually_exclusive_group()
    structure.add_argument("--sparse", action="store_true", help="only instructions with a sparse A")
    structure.add_argument("--dense", action="store_true", help="only instructions with a dense A")
    command.add_argument("--count", action="store_true", help="only count them, by family and type of A")

    command = commands.add("show", lookup.show, "show everything about one instruction", json=True)
    command.add_argument(
        "--target",
        metavar="TARGET",
        help="the chip whose machine code is shown (default: sm_90a, or the first that has the instruction)",
    )
    command.add_argument(
        "--no-sass",
        action="store_true",
        help="leave out the machine code, which takes a second the first time",
    )

    _add_tcgen05(command)

    command = commands.add("where", lookup.where, "say which lane holds an element, in which bits", json=True)
    command.add_argument(
        "operand",
        metavar="OPERAND",
        help="A, B, C, D, E (metadata), SFA, SFB (block scales), R (ldmatrix, stmatrix, tcgen05.ld, .st)",
    )
    command.add_argument("row", type=_integer)
    command.add_argument("column", type=_integer)
    command.add_argument(
        "--explain",
        action="store_true",
        help="for D: also every register of A, B, C, E and the scales that goes into the element",
    )
    command.add_argument(
        "--stored",
        action="store_true",
        help="for a sparse A: row and column are those of the compressed matrix",
    )
    _add_shared_memory(command)
    _add_tcgen05(command)

    command = commands.add("holds", lookup.holds, "list the elements that a lane holds", json=True)
    command.add_argument("operand", metavar="OPERAND")
    command.add_argument("--lane", type=_integer, required=True)
    command.add_argument("--register", type=_integer, help="of tcgen05.mma: the column of tensor memory")
    command.add_argument("--cta", type=_integer, default=0, help="of a CTA pair (cta_group::2): 0 or 1")
    _add_tcgen05(command)

    command = commands.add("layout", lookup.layout, "show the fragment layout of an operand")
    command.add_argument("operand", metavar="OPERAND")
    command.add_argument(
        "--dense",
        action="store_true",
        help="for a sparse A: the logical (dense) matrix, not the compressed one",
    )
    command.add_argument("--lane", type=_integer, help="highlight this lane in --svg")
    _add_shared_memory(command)
    _add_tcgen05(command)
    _add_formats(command, ("csv", "markdown", "json", "svg", "cute", "formula"))

    command = commands.add(
        "metadata", lookup.metadata, "show which bits of which lane describe each chunk of a sparse A"
    )
    command.add_argument("--selector", type=_integer, default=0, help="sparsity selector (default: 0)")
    _add_tcgen05(command)
    _add_formats(command, ("csv", "markdown", "json", "svg"))

    command = commands.add(
        "cute", lookup.cute, "print the layouts in CuTe's notation, of all operands or one", json=True
    )
    command.add_argument("operand", metavar="OPERAND", nargs="?")
    _add_tcgen05(command)

    command = commands.add(
        "ptx", lookup.ptx, "print the PTX instruction, or a module or CUDA C++ that contains it"
    )
    source = command.add_mutually_exclusive_group()
    source.add_argument("--cpp", action="store_true", help="as an asm statement of CUDA C++")
    source.add_argument("--kernel", action="store_true", help="the CUDA C++ kernel that `run` compiles")
    source.add_argument(
        "--module", action="store_true", help="a whole PTX module, with the .version that it needs"
    )
    command.add_argument(
        "--target",
        metavar="TARGET",
        help="for --module: its .target (default: sm_90a, or the first that has the instruction)",
    )
    command.add_argument("--shared-a", action="store_true", help="for wgmma: A comes from shared memory")
    _add_tcgen05(command)

    command = commands.add(
        "sass", lookup.sass, "print the machine code of an instruction; needs no GPU", json=True
    )
    command.add_argument(
        "--target",
        metavar="TARGET",
        help="the chip (default: sm_90a, or the first that has the instruction)",
    )
    command.add_argument("--all", action="store_true", help="one line for each generation of chips")
    _add_tcgen05(command)

    command = commands.add(
        "models",
        lookup.models,
        "describe the arithmetic of every chip, and how it is known",
        instruction=False,
        json=True,
    )
    command.add_argument("--chip", metavar="CHIP", help="only this chip, e.g. sm_80")


def _add_shared_memory_commands(commands: _Commands) -> None:
    """Commands about tiles and banks."""
    command = commands.add(
        "descriptor",
        memory.check,
        "decode a descriptor of wgmma or tcgen05, say what is wrong with it, or list those of a tile",
        instruction=False,
    )
    command.add_argument(
        "code",
        metavar="DESCRIPTOR",
        type=_integer,
        nargs="?",
        help="the 64 bits, or the 32 of a tcgen05.mma; without them --tile lists its own",
    )
    command.add_argument(
        "--tile",
        metavar="TILE",
        help="bits=16,rows=64,k=64,major=K,swizzle=128 (or dtype=f16; also order=MN), or a layout of CuTe",
    )
    command.add_argument("--k", type=_integer, default=0, help="where the slice starts along K (default: 0)")
    command.add_argument(
        "--row", type=_integer, default=0, help="where the slice starts along M or N (default: 0)"
    )
    command.add_argument("--address", type=_integer, help="where the tile is in shared memory")
    command.add_argument(
        "--instruction", metavar="INSTRUCTION", help="the wgmma or tcgen05.mma that reads through it"
    )
    command.add_argument(
        "--operand", metavar="OPERAND", default="B", help="of that instruction: A or B (default: B)"
    )
    _add_tcgen05(command)
    command.add_argument(
        "--transposed", action="store_true", help="of that wgmma: the operand is MN-major (imm-trans = 1)"
    )
    _add_formats(command, ("json", "svg"))

    command = commands.add(
        "conflicts",
        memory.conflicts_of,
        "count the bank conflicts of one access to shared memory, and find a pitch or a swizzle without them",
        instruction=False,
    )
    command.add_argument(
        "access",
        metavar="ACCESS",
        help="ldmatrix or stmatrix as PTX spells it, or ld.shared or st.shared, e.g. ld.shared.v4.f32",
    )
    command.add_argument("--pitch", type=_integer, metavar="BYTES", help="from one row to the next")
    command.add_argument(
        "--swizzle", type=_integer, default=0, metavar="BYTES", help="swizzle mode (0, 32, 64, 128)"
    )
    command.add_argument(
        "--column",
        type=_integer,
        default=0,
        metavar="BYTES",
        help="where it starts in its rows (default: 0)",
    )
    command.add_argument(
        "--lanes-per-row",
        type=_integer,
        default=1,
        metavar="N",
        help="for ld.shared and st.shared: lanes beside each other in a row (default: 1)",
    )
    command.add_argument(
        "--colour", choices=("lane", "wavefront"), default="lane", help="what the words are labelled with"
    )
    _add_formats(command, ("json", "svg"))

    command = commands.add(
        "repack",
        repack.repack_plan,
        "find the conversions, shuffles and permutes from one operand's registers to another's",
        instruction=False,
    )
    command.add_argument(
        "source",
        metavar="SOURCE",
        help="INSTRUCTION:OPERAND, e.g. mma.m16n8k16.f32.f16:D (default: D, or R of ldmatrix)",
    )
    command.add_argument(
        "target",
        metavar="TARGET",
        help="INSTRUCTION:OPERAND (default: A, or R of stmatrix); of a smaller side several tiles are taken",
    )
    _add_formats(command, ("json", "cuda", "svg"))


def _add_computations(commands: _Commands) -> None:
    """Commands that compute with registers."""
    command = commands.add("run", compute.run, "run an instruction on random registers")
    command.add_argument("--on", choices=("emulator", "gpu", "both"), default="emulator")
    command.add_argument("--seed", type=_integer, default=0, help="of the random registers (default: 0)")
    command.add_argument("--batch", type=_integer, default=1, help="number of independent MMAs (default: 1)")
    command.add_argument("--selector", type=_integer, default=0, help="sparsity selector (default: 0)")
    _add_tcgen05(command)

    command = commands.add(
        "hunt",
        compute.hunt,
        "look for registers on which emulator and GPU disagree, and print the smallest as a test",
    )
    command.add_argument(
        "--mmas",
        type=_integer,
        default=100_000,
        metavar="N",
        help="number of MMAs to compare (default: 100000)",
    )
    command.add_argument(
        "--seed", type=_integer, metavar="N", help="repeat an earlier hunt (default: a new seed)"
    )
    command.add_argument(
        "--category", action="append", metavar="NAME", help="only this category of inputs; can be repeated"
    )
    command.add_argument(
        "--model", metavar="CHIP", help="the emulator's model, e.g. sm_90 (default: the model of the GPU)"
    )
    command.add_argument("--against", metavar="CHIP", help="compare with this chip's model, not with a GPU")
    _add_tcgen05(command)

    command = commands.add(
        "trace",
        compute.trace,
        "explain the bits of an element of D: products, alignment, lost bits, sum, rounding",
    )
    command.add_argument("row", type=_integer)
    command.add_argument("column", type=_integer)
    command.add_argument(
        "--category",
        metavar="NAME",
        help="category of inputs, e.g. bits, moderate, exponents (default: moderate; bits for integers)",
    )
    command.add_argument("--seed", type=_integer, default=0, help="of the inputs (default: 0)")
    command.add_argument("--model", metavar="CHIP", help="the chip whose arithmetic is traced, e.g. sm_80")
    command.add_argument("--a", metavar="FILE.npy", help="A from a file written by np.save; a dense matrix")
    command.add_argument("--b", metavar="FILE.npy", help="B from a file written by np.save")
    command.add_argument("--c", metavar="FILE.npy", help="C from a file written by np.save")
    _add_tcgen05(command, ("m", "n"))
    _add_formats(command, ("json", "svg"))


def _add_measure(commands: _Commands) -> None:
    command = commands.add(
        "measure",
        measure.measure,
        "measure latency and throughput of an instruction, with clock, power and temperature",
        instruction=False,
        json=True,
    )
    command.add_argument(
        "instruction", metavar="INSTRUCTION", nargs="?", help="PTX mnemonic, short name, or pasted code"
    )
    command.add_argument(
        "--a", choices=("register", "shared"), help="where wgmma finds A (default: register)"
    )
    command.add_argument("--zeros", action="store_true", help="operands of zeros: less power, higher clocks")
    command.add_argument("--recorded", metavar="CHIP", help="what was recorded on a chip, e.g. H200; no GPU")
    command.add_argument("--all", action="store_true", help="every instruction of this machine's GPU")
    command.add_argument(
        "--record",
        metavar="FILE",
        nargs="?",
        const="",
        help="keep the figures of --all in FILE.json (default: in your data folder)",
    )


def _add_kernels(commands: _Commands) -> None:
    """Commands about whole kernels."""
    command = commands.add(
        "simulate",
        simulate.simulate,
        "run a kernel of CUDA C++ or PTX without a GPU, bit for bit",
        instruction=False,
        json=True,
    )
    command.add_argument("file", metavar="FILE", help="CUDA C++ or PTX")
    command.add_argument("--grid", metavar="X,Y,Z", default="1", help="blocks (default: 1)")
    command.add_argument("--block", metavar="X,Y,Z", default="32", help="threads of a block (default: 32)")
    command.add_argument(
        "--arg",
        action="append",
        metavar="VALUE",
        help="a number, x.npy, or FILL:TYPE:SHAPE with zeros, ones, range, normal or bits; once per argument",
    )
    command.add_argument(
        "--check",
        choices=("list", "error", "off"),
        default="list",
        help="hazards: list them, fail at the first (exit status 1), or do not look (default: list)",
    )
    command.add_argument(
        "--chip", dest="product", default="H200", help="whose published peaks bound the time (default: H200)"
    )
    command.add_argument("--name", help="of the kernel, where there are several")
    command.add_argument("--target", default="sm_90a", help="what CUDA C++ is compiled for (default: sm_90a)")
    command.add_argument("--option", action="append", metavar="FLAG", help="of NVRTC, e.g. --option=-DN=4")
    command.add_argument("--shared", type=_integer, default=0, metavar="BYTES", help="dynamic shared memory")
    command.add_argument("--seed", type=_integer, default=0, help="of normal and bits (default: 0)")
    command.add_argument("--save", metavar="FILE.npz", help="write all arrays into a file of np.savez")


def _add_tools(commands: _Commands) -> None:
    command = commands.add(
        "lab",
        lab.lab,
        "copy the notebooks into a folder and open JupyterLab there; other options go to jupyter lab",
        instruction=False,
    )
    command.allow_abbrev = False  # else an option for jupyter lab could be taken for one of these
    command.add_argument(
        "--to", metavar="FOLDER", default=lab.FOLDER, help="the folder of your copies (default: %(default)s)"
    )
    command.add_argument(
        "--update",
        action="store_true",
        help="replace copies by newer versions; a new version of a notebook you changed is put beside it",
    )
    command.add_argument("--copy-only", action="store_true", help="copy, but do not open JupyterLab")

    command = commands.add(
        "completion",
        _completion,
        "print a script that completes commands, options and instructions in a shell",
        instruction=False,
    )
    command.add_argument("shell", choices=completion.SHELLS)


def _completion(args: argparse.Namespace, style: Style) -> str:
    return completion.script(args.shell, build())


def _add_shared_memory(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--swizzle",
        type=_integer,
        default=0,
        metavar="BYTES",
        help="for an operand in shared memory: swizzle mode (0, 32, 64, 128)",
    )
    command.add_argument(
        "--transposed",
        action="store_true",
        help="for an operand in shared memory, of wgmma f16 and bf16: MN-major instead of K-major",
    )


_FORMATS = {
    "csv": "a table for other programs",
    "markdown": "a table for documents",
    "json": "print JSON",
    "svg": "a picture",
    "cuda": "a device function in CUDA C++",
    "cute": "the layout in CuTe's notation",
    "formula": "row and column as formulas of lane and element",
}


def _add_formats(command: argparse.ArgumentParser, names: Sequence[str]) -> None:
    group = command.add_mutually_exclusive_group()
    for name in names:
        group.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=_FORMATS[name])
    if "svg" in names:
        command.add_argument(
            "--no-title", action="store_true", help="with --svg: without title and notes, for papers"
        )


@lru_cache(maxsize=1)
def _parser() -> argparse.ArgumentParser:
    return build()


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of one command; leaves with SystemExit on wrong usage, as argparse does.

    The result has `handler`, which runs the command; options that `lab` passes on are in `jupyter_options`.
    """
    parser = _parser()
    for word in words:
        option, _, value = word.partition("=")
        if value == "--" and option.startswith("-"):  # argparse of Python 3.11 takes it for an empty list
            parser.error(f"argument {option}: expected one argument")
    args, unknown = parser.parse_known_args(words)
    if not hasattr(args, "handler"):
        if unknown:
            _refuse(parser, unknown)
        parser.print_help()
        parser.exit()
    if args.handler is lab.lab:
        args.jupyter_options = [word for word in unknown if word != "--"]
    elif unknown:
        _refuse(args.command, unknown)
    return args


def _refuse(parser: argparse.ArgumentParser, unknown: list[str]) -> NoReturn:
    options = [option for action in parser._actions for option in action.option_strings]
    words = [word.split("=")[0][:_SHOWN] for word in unknown[:8] if word.startswith("-")]
    suggestions = [suggestion(word, options) for word in words]
    remedy = next((text for text in suggestions if text), "")
    arguments = " ".join(unknown)
    if len(arguments) > _SHOWN:
        arguments = f"{arguments[:_SHOWN]}..."
    parser.error(f"unrecognized arguments: {arguments}{remedy}")
