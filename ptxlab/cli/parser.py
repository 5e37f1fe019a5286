"""The commands with their arguments and help. Wrong usage is answered in one sentence, with a suggestion."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from .._version import __version__
from ..errors import listing, quoted
from ..isa.catalog import REGISTER_FAMILIES
from . import completion, lab, streams
from .examples import EXAMPLES, OVERVIEW
from .names import TCGEN05_PARTS, suggestion
from .output import Style

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

#: What runs a command: it returns the text to print, or an exit code where it has printed by itself.
Handler: TypeAlias = Callable[[argparse.Namespace, Style], str | int]

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


def _run(handler: str, args: argparse.Namespace, style: Style) -> str | int:
    """Run a command, whose module is imported only now: the others may need much more than this one."""
    module, name = handler.split(".")
    run: Handler = getattr(import_module(f".{module}", __package__), name)
    return run(args, style)


class _Commands:
    """Adds commands to a parser, each with its help, its examples and the arguments that many share."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def add(
        self, name: str, handler: str, summary: str, *, instruction: bool = True, json: bool = False
    ) -> argparse.ArgumentParser:
        """`handler`: a module of this package and its function, such as lookup.where."""
        command = self._commands.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=f"examples:\n{EXAMPLES[name]}\n",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(handler=partial(_run, handler), command=command)
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
    for add in (
        _add_list,
        _add_show,
        _add_where,
        _add_holds,
        _add_layout,
        _add_metadata,
        _add_cute,
        _add_ptx,
        _add_sass,
        _add_models,
        _add_descriptor,
        _add_conflicts,
        _add_repack,
        _add_run,
        _add_hunt,
        _add_trace,
        _add_measure,
        _add_simulate,
        _add_lab,
        _add_completion,
    ):
        add(commands)
    return parser


def _add_tcgen05(command: argparse.ArgumentParser, parts: Sequence[str] = TCGEN05_PARTS) -> None:
    """What a mnemonic of tcgen05.mma does not say; some commands have other uses for --a, --b and --d."""
    about = {
        "m": "M, e.g. 128", "n": "N, e.g. 256", "a": "the type of A, e.g. bf16",
        "b": "the type of B", "d": "the type of D",
    }  # fmt: skip
    group = command.add_argument_group("only for tcgen05.mma, whose shape and types are in a descriptor")
    for name in parts:
        kind = _integer if name in "mn" else str
        group.add_argument(f"--{name}", type=kind, metavar=name.upper(), help=about[name])
    group.add_argument(
        "--descriptor", metavar="PARTS", help="the parts together, m=64,n=32,a=bf16,d=f32, or the 32 bits"
    )
    group.add_argument("--tensor-a", action="store_true", help="A is in tensor memory")
    command.set_defaults(tcgen05=tuple(parts))


def _add_operand(command: argparse.ArgumentParser, nargs: Literal["?"] | None = None) -> None:
    command.add_argument(
        "operand",
        metavar="OPERAND",
        nargs=nargs,
        help="A, B, C, D, E (metadata), SFA, SFB (block scales), R (ldmatrix, stmatrix, tcgen05.ld, .st)",
    )


def _add_element(command: argparse.ArgumentParser) -> None:
    command.add_argument("row", metavar="ROW", type=_integer, help="of the element, from 0")
    command.add_argument("column", metavar="COLUMN", type=_integer, help="of the element, from 0")


def _add_list(commands: _Commands) -> None:
    command = commands.add(
        "list", "lookup.list_", "list the instructions that ptxlab knows", instruction=False, json=True
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


def _add_show(commands: _Commands) -> None:
    command = commands.add("show", "lookup.show", "show everything about one instruction", json=True)
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


def _add_where(commands: _Commands) -> None:
    command = commands.add(
        "where", "lookup.where", "say which lane holds an element, in which bits", json=True
    )
    _add_operand(command)
    _add_element(command)
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


def _add_holds(commands: _Commands) -> None:
    command = commands.add("holds", "lookup.holds", "list the elements that a lane holds", json=True)
    _add_operand(command)
    command.add_argument(
        "--lane", type=_integer, required=True, help="0 to 31; 0 to 127 for a warpgroup and tensor memory"
    )
    command.add_argument(
        "--register", type=_integer, help="only this register; for tcgen05.mma, this column of tensor memory"
    )
    command.add_argument("--cta", type=_integer, default=0, help="for a CTA pair (cta_group::2): 0 or 1")
    _add_tcgen05(command)


def _add_layout(commands: _Commands) -> None:
    command = commands.add("layout", "lookup.layout", "show the fragment layout of an operand")
    _add_operand(command)
    command.add_argument(
        "--dense",
        action="store_true",
        help="for a sparse A: the logical (dense) matrix, not the compressed one",
    )
    command.add_argument("--lane", type=_integer, help="highlight this lane in --svg")
    _add_shared_memory(command)
    _add_tcgen05(command)
    _add_formats(command, ("csv", "markdown", "json", "svg", "cute", "formula"))


def _add_metadata(commands: _Commands) -> None:
    command = commands.add(
        "metadata", "lookup.metadata", "show which bits of which lane describe each chunk of a sparse A"
    )
    command.add_argument("--selector", type=_integer, default=0, help="sparsity selector (default: 0)")
    _add_tcgen05(command)
    _add_formats(command, ("csv", "markdown", "json", "svg"))


def _add_cute(commands: _Commands) -> None:
    command = commands.add(
        "cute", "lookup.cute", "print the layouts in CuTe's notation, of all operands or one", json=True
    )
    _add_operand(command, nargs="?")
    _add_tcgen05(command)


def _add_ptx(commands: _Commands) -> None:
    command = commands.add(
        "ptx", "lookup.ptx", "print the PTX instruction, or a module or CUDA C++ that contains it"
    )
    source = command.add_mutually_exclusive_group()
    source.add_argument("--cpp", action="store_true", help="as an asm statement of CUDA C++")
    source.add_argument(
        "--kernel", action="store_true", help="the CUDA C++ kernel that `ptxlab run` compiles"
    )
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


def _add_sass(commands: _Commands) -> None:
    command = commands.add(
        "sass", "lookup.sass", "print the machine code of an instruction; needs no GPU", json=True
    )
    command.add_argument(
        "--target",
        metavar="TARGET",
        help="the chip (default: sm_90a, or the first that has the instruction)",
    )
    command.add_argument("--all", action="store_true", help="one line for each generation of chips")
    _add_tcgen05(command)


def _add_models(commands: _Commands) -> None:
    command = commands.add(
        "models",
        "lookup.models",
        "describe the arithmetic of every chip, and how it is known",
        instruction=False,
        json=True,
    )
    command.add_argument("--chip", metavar="CHIP", help="only this chip, e.g. sm_80")


def _add_descriptor(commands: _Commands) -> None:
    command = commands.add(
        "descriptor",
        "memory.check",
        "decode a descriptor of wgmma or tcgen05, say what is wrong with it, or list those of a tile",
        instruction=False,
    )
    command.add_argument(
        "code",
        metavar="DESCRIPTOR",
        type=_integer,
        nargs="?",
        help="the 64 bits, or the 32 of a tcgen05.mma; without them, --tile lists those of the tile",
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
        "--operand",
        metavar="OPERAND",
        default="B",
        help="which operand of that instruction: A or B (default: B)",
    )
    _add_tcgen05(command)
    command.add_argument(
        "--transposed", action="store_true", help="for wgmma: the operand is MN-major (imm-trans = 1)"
    )
    _add_formats(command, ("json", "svg"))


def _add_conflicts(commands: _Commands) -> None:
    command = commands.add(
        "conflicts",
        "memory.conflicts_of",
        "count the bank conflicts of one access to shared memory, and find a pitch or a swizzle without them",
        instruction=False,
    )
    command.add_argument(
        "access",
        metavar="ACCESS",
        help="ldmatrix or stmatrix as PTX spells it, or ld.shared or st.shared, e.g. ld.shared.v4.f32",
    )
    command.add_argument("--pitch", type=_integer, metavar="BYTES", help="bytes from one row to the next")
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
        help="for ld.shared and st.shared: lanes side by side in a row (default: 1)",
    )
    command.add_argument(
        "--colour", choices=("lane", "wavefront"), default="lane", help="what the words are labelled with"
    )
    _add_formats(command, ("json", "svg"))


def _add_repack(commands: _Commands) -> None:
    command = commands.add(
        "repack",
        "repack.repack_plan",
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
        help="INSTRUCTION:OPERAND (default: A, or R of stmatrix); the smaller side is repeated to fit",
    )
    _add_formats(command, ("json", "cuda", "svg"))


def _add_run(commands: _Commands) -> None:
    command = commands.add("run", "compute.run", "run an instruction on random registers")
    command.add_argument(
        "--on",
        choices=("emulator", "gpu", "both"),
        default="emulator",
        help="both compares them bit for bit (default: emulator)",
    )
    command.add_argument("--seed", type=_integer, default=0, help="seed of the random registers (default: 0)")
    command.add_argument("--batch", type=_integer, default=1, help="number of independent MMAs (default: 1)")
    command.add_argument("--selector", type=_integer, default=0, help="sparsity selector (default: 0)")
    _add_tcgen05(command)


def _add_hunt(commands: _Commands) -> None:
    command = commands.add(
        "hunt",
        "compute.hunt",
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


def _add_trace(commands: _Commands) -> None:
    command = commands.add(
        "trace",
        "compute.trace",
        "explain the bits of an element of D: products, alignment, lost bits, sum, rounding",
    )
    _add_element(command)
    command.add_argument(
        "--category",
        metavar="NAME",
        help="category of inputs, e.g. bits, moderate, exponents (default: moderate; bits for integers)",
    )
    command.add_argument("--seed", type=_integer, default=0, help="seed of the inputs (default: 0)")
    command.add_argument("--model", metavar="CHIP", help="the chip whose arithmetic is traced, e.g. sm_80")
    command.add_argument("--a", metavar="FILE.npy", help="A from a file written by np.save; a dense matrix")
    command.add_argument("--b", metavar="FILE.npy", help="B from a file written by np.save")
    command.add_argument("--c", metavar="FILE.npy", help="C from a file written by np.save")
    _add_tcgen05(command, ("m", "n"))
    _add_formats(command, ("json", "svg"))


def _add_measure(commands: _Commands) -> None:
    command = commands.add(
        "measure",
        "measure.measure",
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
    command.add_argument(
        "--recorded", metavar="CHIP", help="show what was recorded on a chip, e.g. H200; needs no GPU"
    )
    command.add_argument("--all", action="store_true", help="every instruction of this machine's GPU")
    command.add_argument(
        "--record",
        metavar="FILE",
        nargs="?",
        const="",
        help="keep the figures of --all in FILE.json (default: in your data folder)",
    )


def _add_simulate(commands: _Commands) -> None:
    command = commands.add(
        "simulate",
        "simulate.simulate",
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
    command.add_argument("--name", help="name of the kernel, where the file has several")
    command.add_argument("--target", default="sm_90a", help="what CUDA C++ is compiled for (default: sm_90a)")
    command.add_argument(
        "--option", action="append", metavar="FLAG", help="option for NVRTC, e.g. --option=-DN=4"
    )
    command.add_argument("--shared", type=_integer, default=0, metavar="BYTES", help="dynamic shared memory")
    command.add_argument(
        "--seed", type=_integer, default=0, help="seed of the fills normal and bits (default: 0)"
    )
    command.add_argument("--save", metavar="FILE.npz", help="write all arrays into a file of np.savez")


def _add_lab(commands: _Commands) -> None:
    command = commands.add(
        "lab",
        "lab.lab",
        "copy the notebooks into a folder and open JupyterLab there; other options go to jupyter lab",
        instruction=False,
    )
    command.set_defaults(jupyter_options=[])
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


def _add_completion(commands: _Commands) -> None:
    command = commands.add(
        "completion",
        "parser.completion_script",
        "print a script that completes commands, options and instructions in a shell",
        instruction=False,
    )
    command.add_argument("shell", choices=completion.SHELLS, help="the shell that reads the script")


def completion_script(args: argparse.Namespace, style: Style) -> str:
    """The answer of `ptxlab completion`."""
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
        help="for an operand in shared memory (wgmma with f16 or bf16): MN-major instead of K-major",
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
    args, unknown = parser.parse_known_args(_with_elements(words))
    if not hasattr(args, "handler"):
        if unknown:
            _refuse(parser, unknown)
        parser.print_help()
        parser.exit()
    if hasattr(args, "jupyter_options"):
        args.jupyter_options = [word for word in unknown if word != "--"]
    elif unknown:
        _refuse(args.command, unknown)
    return args


def _with_elements(words: Sequence[str]) -> list[str]:
    """The words with elements as they are written everywhere else: A[9][37] is A 9 37."""
    if not words or words[0] not in ("where", "trace"):
        return list(words)
    separate: list[str] = []
    for word in words:
        element = re.fullmatch(r"([A-Za-z]{1,3})\[(\d+)\]\[(\d+)\]", word)
        if element is None:
            separate.append(word)
        else:
            separate += element.groups() if words[0] == "where" else element.groups()[1:]
    return separate


def _refuse(parser: argparse.ArgumentParser, unknown: list[str]) -> NoReturn:
    options = [option for action in parser._actions for option in action.option_strings]
    words = [word.split("=")[0][:_SHOWN] for word in unknown[:8] if word.startswith("-")]
    suggestions = [suggestion(word, options) for word in words]
    remedy = next((text for text in suggestions if text), "")
    arguments = " ".join(unknown)
    if len(arguments) > _SHOWN:
        arguments = f"{arguments[:_SHOWN]}..."
    parser.error(f"unrecognized arguments: {arguments}{remedy}")
