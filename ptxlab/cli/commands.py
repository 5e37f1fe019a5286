"""The commands as data: what each is called, what runs it, its arguments, its help and its examples."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..errors import listing, quoted
from ..isa.catalog import REGISTER_FAMILIES
from .output import Style

NAMES_COMMAND = "__complete"  # not in the help: the scripts of `completion` call it
_DIGITS = 40  # of a number; rows, lanes, seeds and counts have fewer

#: Help of rows that have none of their own.
_COMMON = {
    "INSTRUCTION": "PTX mnemonic, short name such as mma.m16n8k64.s4, atom of CUTLASS, or pasted code",
    "OPERAND": "A, B, C, D, E (metadata), SFA, SFB (block scales), R (ldmatrix, stmatrix, tcgen05.ld, .st)",
    "ROW": "of the element, from 0",
    "COLUMN": "of the element, from 0",
    "FAMILY": f"one of {listing(REGISTER_FAMILIES, 10)}, tcgen05, tcgen05.mma, tcgen05.ld, ...",
    "--selector": "sparsity selector (default: 0)",
    "--swizzle": "for an operand in shared memory: swizzle mode (0, 32, 64, 128)",
    "--transposed": "for an operand in shared memory (wgmma with f16 or bf16): MN-major instead of K-major",
    "--csv": "a table for other programs",
    "--markdown": "a table for documents",
    "--json": "print JSON",
    "--svg": "a picture",
    "--cuda": "a device function in CUDA C++",
    "--cute": "the layout in CuTe's notation",
    "--formula": "row and column as formulas of lane and element",
    "--no-title": "with --svg: without title and notes, for papers",
    "--dark": "with --svg: for a dark page",
}
_TCGEN05_SIZE = """\
  + --m int:M -> tcgen05_m   M, e.g. 128
  + --n int:N -> tcgen05_n   N, e.g. 256
"""
_TCGEN05_TYPES = """\
  + --a str:A -> tcgen05_a   the type of A, e.g. bf16
  + --b str:B -> tcgen05_b   the type of B
  + --d str:D -> tcgen05_d   the type of D
"""
_TCGEN05_DESCRIPTOR = """\
  + --descriptor str:PARTS   the parts together, m=64,n=32,a=bf16,d=f32, or the 32 bits
  + --tensor-a               A is in tensor memory
"""
_LAUNCH = """\
  --grid str:X,Y,Z = 1    blocks (default: 1)
  --block str:X,Y,Z = 32  threads of a block (default: 32)
  --cluster str:X,Y,Z     blocks of a cluster, where the kernel does not state it
  --arg str:VALUE ...     a number, x.npy, or FILL:TYPE:SHAPE with zeros, ones, range, normal or bits; once
                          per argument
  --name str              name of the kernel, where the file has several
  --target str = sm_90a   what CUDA C++ is compiled for (default: sm_90a)
  --option str:FLAG ...   option for NVRTC, e.g. --option=-DN=4
  --shared int:BYTES = 0  dynamic shared memory
  --seed int = 0          seed of the fills normal and bits (default: 0)
"""
#: Rows that several commands share. Some have another use for --a, so that the parts of a descriptor
#: get names of their own.
_SHARED_ROWS = {
    "  tcgen05\n": _TCGEN05_SIZE + _TCGEN05_TYPES + _TCGEN05_DESCRIPTOR,
    "  tcgen05 size\n": _TCGEN05_SIZE + _TCGEN05_DESCRIPTOR,
    "  launch\n": _LAUNCH,
}
_ROW = re.compile(
    r"(?P<group>[|+] )?(?P<name>\S+)(?: (?P<kind>int|str|const|\{\S+\})(?::(?P<metavar>\S+))?)?"
    r"(?P<repeated> \.\.\.)?(?: = (?P<default>\S+))?(?: -> (?P<dest>\w+))?"
)


@dataclass(frozen=True)
class Command:
    """A command: `handler` is a module of this package and its function, which is imported when it runs.

    A row of `arguments` is an argument with its help:

        FILE                        a word; [FILE] may be left out
        --all                       a flag
        --seed int:N = 0            a number, called N in the help, and its default; or `= required`
        --arg str ...               a text; may be repeated
        --on {emulator,gpu} -> to   one of these; the result has it as `to`
        | --cpp                     excludes the rows beside it that have a |, too
        formats csv json            how the answer can be printed; the result has csv or json as `format`
        tcgen05                     the options for the descriptor of a tcgen05.mma
        launch                      those of a launch: its grid, its arguments, how its kernel is compiled
    """

    handler: str
    summary: str
    arguments: str
    examples: str

    def run(self, args: argparse.Namespace, style: Style) -> str | int:
        """Run the command: its answer, or its exit status."""
        module, name = self.handler.split(".")  # imported only now: others may need much more than this one
        answer: str | int = getattr(import_module(f".{module}", __package__), name)(args, style)
        return answer

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add what the rows declare to the parser of this command."""
        groups: dict[str, argparse._ActionsContainer] = {"": parser}
        rows = re.sub(r"  formats (.+)\n", _format_rows, self.arguments)
        for name, shared in _SHARED_ROWS.items():
            rows = rows.replace(name, shared)
        for row in re.sub(r"\n {6,}", " ", rows).splitlines():  # which joins the lines of a long help
            declaration, _, help = row.strip().partition("  ")
            group, name, options = _argument(declaration, help.strip())
            if group not in groups and group == "|":
                groups[group] = parser.add_mutually_exclusive_group()
            elif group not in groups:
                title = "only for tcgen05.mma, whose shape and types are in a descriptor"
                groups[group] = parser.add_argument_group(title)
            groups[group].add_argument(name, **options)


def _format_rows(names: re.Match[str]) -> str:
    rows = [f"  | --{name} const -> format\n" for name in names[1].split()]
    return "".join([*rows, "  --no-title\n  --dark\n"])


def _argument(declaration: str, help: str) -> tuple[str, str, dict[str, Any]]:
    """The group of an argument, its name, and its options for `add_argument`."""
    row = _ROW.fullmatch(declaration.replace("[", "").replace("]", ""))
    assert row is not None, declaration
    name, kind, default = row["name"], row["kind"], row["default"]
    options: dict[str, Any] = {"help": help or _COMMON[name]}
    is_word = not name.startswith("--")
    if row["dest"] and not is_word:
        options["dest"] = row["dest"]
    if kind is None and not is_word:
        options["action"] = "store_true"
    elif kind == "const":
        options |= {"action": "store_const", "const": name[2:]}
    elif kind is not None and kind.startswith("{"):
        options["choices"] = kind.strip("{}").split(",")
    elif row["metavar"] or is_word:
        options["metavar"] = row["metavar"] or name
    if kind == "int":
        options["type"] = integer
    if row["repeated"]:
        options["action"] = "append"
    if default == "required":
        options["required"] = True
    elif default is not None:
        options["default"] = default
    if "[" in declaration:
        options |= {"nargs": "?"} if is_word else {"nargs": "?", "const": ""}
    return (row["group"] or "").strip(), (row["dest"] or name.lower()) if is_word else name, options


def integer(text: str) -> int:
    """A whole number as Python and C write it, decimal or hexadecimal."""
    digits = re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)", text.strip())
    if digits is None:
        raise argparse.ArgumentTypeError(f"invalid int value: {quoted(text)}")
    if len(digits[0]) > _DIGITS:
        raise argparse.ArgumentTypeError(f"invalid int value: {quoted(text)}, a number of {len(text)} digits")
    return int(text, 16 if "x" in text.lower() else 10)


OVERVIEW = """\
examples:
  ptxlab list wmma                               every form of a family
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
  ptxlab profile twice.cu --arg ones:f4:32       how long it takes on an H200
  ptxlab measure mma.m16n8k16.f32.f16 --recorded H200     latency and throughput

exit status: 0 the answer was written, 1 the request cannot be answered (one sentence says why),
2 wrong usage, 70 a bug in ptxlab, 130 interrupted
"""

#: Each command: its name and handler, what it does, its arguments, and examples, which tests run.
_COMMANDS = """\
list = lookup.list_
list the instructions that ptxlab knows
  [FAMILY]
  --json
  --family str:FAMILY -> named_family  the same as FAMILY
  --target str:TARGET  only what this target has, e.g. sm_90a
  --type str:TYPE      only this element type of A, B or D, e.g. s4
  --shape str:SHAPE    only this shape, e.g. m16n8k64 or 'm64n*k64'
  | --sparse           only instructions with a sparse A
  | --dense            only instructions with a dense A
  --count              only count them, by family and type of A
examples:
  ptxlab list --count                        how many, by family and type
  ptxlab list --target sm_75 --type s4       the s4 instructions of a T4
  ptxlab list --shape 'm64n*k64' --sparse    a shape with every N
  ptxlab list wgmma | head -3                one name per line in a pipe
show = lookup.show
show everything about one instruction
  INSTRUCTION
  --json
  --target str:TARGET  the chip whose machine code is shown (default: sm_90a, or the first that has the
                       instruction)
  --no-sass            leave out the machine code, which takes a second the first time
  tcgen05
examples:
  ptxlab show mma.m16n8k64.s4
  ptxlab show mma.m16n8k64.s4 --target sm_80    with the machine code of that chip
  ptxlab show wmma.m8n8k32.s4 --json
where = lookup.where
say which lane holds an element, in which bits
  INSTRUCTION
  --json
  OPERAND
  ROW int
  COLUMN int
  --explain  for D: also every register of A, B, C, E and the scales that goes into the element
  --stored   for a sparse A: row and column are those of the compressed matrix
  --swizzle int:BYTES = 0
  --transposed
  tcgen05
examples:
  ptxlab where mma.m16n8k64.s4 A 9 37
  ptxlab where mma.sp.m16n8k16.tf32 E 0 0              a metadata nibble
  ptxlab where mma.m16n8k64.s4 D 9 3 --explain         everything that goes into it
  ptxlab where wgmma.sp.m64n24k64.f32.e4m3 B 37 13     a byte of shared memory
  ptxlab where tcgen05.mma.cta_group::1.kind::f16 D 20 3 --m 64    in tensor memory
holds = lookup.holds
list the elements that a lane holds
  INSTRUCTION
  --json
  OPERAND
  --lane int = required  0 to 31; 0 to 127 for a warpgroup and tensor memory
  --register int         only this register; for tcgen05.mma, this column of tensor memory
  --cta int = 0          for a CTA pair (cta_group::2): 0 or 1
  tcgen05
examples:
  ptxlab holds mma.m16n8k64.s4 A --lane 5
  ptxlab holds mma.m16n8k64.s4 A --lane 5 --register 1
  ptxlab holds tcgen05.ld.sync.aligned.16x256b.x1.b32 R --lane 37    a thread of 128
layout = lookup.layout
show the fragment layout of an operand
  INSTRUCTION
  OPERAND
  --dense     for a sparse A: the logical (dense) matrix, not the compressed one
  --lane int  highlight this lane in --svg
  --swizzle int:BYTES = 0
  --transposed
  tcgen05
  formats csv markdown json svg cute formula
examples:
  ptxlab layout mma.m16n8k64.s4 C
  ptxlab layout mma.m16n8k64.s4 C --formula            as the manual writes it
  ptxlab layout mma.sp.m16n8k64.s4 A --dense --markdown
  ptxlab layout mma.m16n8k64.s4 A --csv > a.csv        one line per element
  ptxlab layout tcgen05.mma.cta_group::1.kind::f16 D --m 64 --svg > d.svg
metadata = lookup.metadata
show which bits of which lane describe each chunk of a sparse A
  INSTRUCTION
  --selector int = 0
  tcgen05
  formats csv markdown json svg
examples:
  ptxlab metadata mma.sp.m16n8k16.tf32 --selector 1
  ptxlab metadata mma.sp.m16n8k64.s4 --svg > e.svg
  ptxlab metadata tcgen05.mma.sp.cta_group::1.kind::f16 --selector 1
cute = lookup.cute
print the layouts in CuTe's notation, of all operands or one
  INSTRUCTION
  --json
  [OPERAND]
  tcgen05
examples:
  ptxlab cute mma.m16n8k64.s4
  ptxlab cute mma.m16n8k64.s4 A
ptx = lookup.ptx
print the PTX instruction, or a module or CUDA C++ that contains it
  INSTRUCTION
  | --cpp              as an asm statement of CUDA C++
  | --kernel           the CUDA C++ kernel that `ptxlab run` compiles
  | --module           a whole PTX module, with the .version that it needs
  --target str:TARGET  for --module: its .target (default: sm_90a, or the first that has the instruction)
  --shared-a           for wgmma: A comes from shared memory
  tcgen05
examples:
  ptxlab ptx mma.m16n8k64.s4                 the PTX instruction with its registers
  ptxlab ptx mma.m16n8k64.s4 --cpp           as an asm statement
  ptxlab ptx mma.m16n8k64.s4 --kernel        the kernel that `run` compiles
sass = lookup.sass
print the machine code of an instruction; needs no GPU
  INSTRUCTION
  --json
  --target str:TARGET  the chip (default: sm_90a, or the first that has the instruction)
  --all                one line for each generation of chips
  tcgen05
examples:
  ptxlab sass mma.m16n8k64.s4 --target sm_90a
  ptxlab sass mma.m16n8k64.s4 --all          one line for each generation of chips
  ptxlab sass tcgen05.mma.cta_group::2.kind::f16
models = lookup.models
describe the arithmetic of every chip, and how it is known
  --json
  --chip str:CHIP  only this chip, e.g. sm_80
examples:
  ptxlab models --chip sm_80                 how an A100 adds and rounds
  ptxlab models --json
descriptor = memory.show_descriptor
decode a descriptor of wgmma or tcgen05, say what is wrong with it, or list those of a tile
  [DESCRIPTOR int] -> code   the 64 bits, or the 32 of a tcgen05.mma; without them, --tile lists those of the
                             tile
  --tile str:TILE            bits=16,rows=64,k=64,major=K,swizzle=128 (or dtype=f16; also order=MN), or a
                             layout of CuTe
  --k int = 0                where the slice starts along K (default: 0)
  --row int = 0              where the slice starts along M or N (default: 0)
  --address int              where the tile is in shared memory
  --instruction str:INSTRUCTION  the wgmma or tcgen05.mma that reads through it
  --operand str:OPERAND = B  which operand of that instruction: A or B (default: B)
  tcgen05
  --transposed               for wgmma: the operand is MN-major (imm-trans = 1)
  formats json svg
examples:
  ptxlab descriptor 0x4000004000010040
  ptxlab descriptor 0x4000002000010040 --tile bits=16,rows=64,k=64,swizzle=128
  ptxlab descriptor 0x4000004000010042 --instruction wgmma.m64n64k16.f32.f16
  ptxlab descriptor 0x4000004000010042 --svg > bytes.svg        which bytes it reads
  ptxlab descriptor 0x8400490 --instruction tcgen05.mma.cta_group::1.kind::f16
  ptxlab descriptor --instruction tcgen05.mma.cta_group::1.kind::f16 --m 64 --n 32
  ptxlab descriptor --tile bits=16,rows=64,k=128,swizzle=128    those of all slices
  ptxlab descriptor --tile dtype=e4m3,rows=64,k=64,swizzle=64 --svg > tile.svg
conflicts = memory.conflicts_of
count the bank conflicts of one access to shared memory, and find a pitch or a swizzle without them
  [ACCESS]                   ldmatrix or stmatrix as PTX spells it, or ld.shared or st.shared, e.g.
                             ld.shared.v4.f32 (default: ldmatrix of four matrices of f16)
  --pitch int:BYTES          bytes from one row to the next
  --swizzle str:SWIZZLE = 0  swizzle mode (0, 32, 64, 128 bytes), or CuTe's Swizzle<3,3,4>, which counts
                             elements (Swizzle<3,4,3> and others of wgmma count bytes)
  --layout str:LAYOUT        instead of both, a CuTe layout of a matrix: 'Swizzle<3,3,3> o (64,64):(64,1)'
  --type str:TYPE            the type of its elements, e.g. e4m3 (default: that of the access)
  --column int:BYTES = 0     where it starts in its rows (default: 0)
  --lanes-per-row int:N = 1  for ld.shared and st.shared: lanes side by side in a row (default: 1)
  --colour {lane,wavefront} = lane  what the words are labelled with
  formats json svg
examples:
  ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 128
  ptxlab conflicts ldmatrix.sync.aligned.m8n8.x4.shared.b16 --pitch 80 --swizzle 64
  ptxlab conflicts ld.shared.v4.f32 --pitch 64 --lanes-per-row 4
  ptxlab conflicts --swizzle 'Swizzle<3,3,4>'
  ptxlab conflicts --layout 'Swizzle<3,3,3> o (64,64):(64,1)'
  ptxlab conflicts st.shared.b32 --pitch 128 --svg > banks.svg
repack = memory.repack_plan
find the conversions, shuffles and permutes from one operand's registers to another's
  SOURCE  INSTRUCTION:OPERAND, e.g. mma.m16n8k16.f32.f16:D (default: D, or R of ldmatrix)
  TARGET  INSTRUCTION:OPERAND (default: A, or R of stmatrix); the smaller side is repeated to fit
  formats json cuda svg
examples:
  ptxlab repack wgmma.m64n32k32.f32.e4m3:D wgmma.m64n32k32.f32.e4m3:A
  ptxlab repack mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16 --cuda    device function
  ptxlab repack ldmatrix.sync.aligned.m8n8.x2.trans.b16 mma.m16n8k16.f32.f16:B
  ptxlab repack mma.m16n8k32.s8:D mma.m16n8k32.s8:A --json
run = compute.run
run an instruction on random registers
  INSTRUCTION
  --on {emulator,gpu,both} = emulator  both compares them bit for bit (default: emulator)
  --seed int = 0   seed of the random registers (default: 0)
  --batch int = 1  number of independent MMAs (default: 1)
  --selector int = 0
  tcgen05
examples:
  ptxlab run mma.m16n8k64.s4 --seed 3
  ptxlab run mma.sp.m16n8k16.tf32 --on both --batch 1000
hunt = compute.hunt
look for registers on which emulator and GPU disagree, and print the smallest as a test
  INSTRUCTION
  --mmas int:N = 100000    number of MMAs to compare (default: 100000)
  --seed int:N             repeat an earlier hunt (default: a new seed)
  --category str:NAME ...  only this category of inputs; can be repeated
  --model str:CHIP         the emulator's model, e.g. sm_90 (default: the model of the GPU)
  --against str:CHIP       compare with this chip's model, not with a GPU
  tcgen05
examples:
  ptxlab hunt mma.m16n8k16.f32.f16                     on a GPU: 100,000 MMAs
  ptxlab hunt mma.m16n8k16.f32.f16 --category bottom --mmas 1000000
  ptxlab hunt mma.m16n8k64.s4 --against sm_80 --mmas 1000    two models, no GPU
trace = compute.trace
explain the bits of an element of D: products, alignment, lost bits, sum, rounding
  INSTRUCTION
  ROW int
  COLUMN int
  --category str:NAME  category of inputs, e.g. bits, moderate, exponents (default: moderate; bits for
                       integers)
  --seed int = 0       seed of the inputs (default: 0)
  --model str:CHIP     the chip whose arithmetic is traced, e.g. sm_80
  --a str:FILE.npy     A from a file written by np.save; a dense matrix
  --b str:FILE.npy     B from a file written by np.save
  --c str:FILE.npy     C from a file written by np.save
  tcgen05 size
  formats json svg
examples:
  ptxlab trace mma.m16n8k16.f32.f16 3 5
  ptxlab trace mma.m16n8k64.s4 6 7 --category edges       sums that wrap around
  ptxlab trace mma.m16n8k16.f32.f16 3 5 --category exponents --seed 2
  ptxlab trace mma.m16n8k32.f32.e4m3 0 0 --svg > why.svg  as a picture
  ptxlab trace tcgen05.mma.cta_group::1.kind::f8f6f4 3 5 --descriptor m=64,a=e5m2
measure = compute.measure
measure latency and throughput of an instruction, with clock, power and temperature
  --json
  [INSTRUCTION]          PTX mnemonic, short name, or pasted code
  --a {register,shared}  where wgmma finds A (default: register)
  --zeros                operands of zeros: less power, higher clocks
  --recorded str:CHIP    show what was recorded on a chip, e.g. H200; needs no GPU
  --all                  every instruction of this machine's GPU
  --record [str:FILE]    keep the figures of --all in FILE.json (default: in your data folder)
examples:
  ptxlab measure mma.m16n8k16.f32.f16                        on this machine's GPU
  ptxlab measure wgmma.m64n128k16.f32.f16 --a shared --recorded H200    without one
  ptxlab measure --all --record                              every instruction
simulate = simulate.simulate
run a kernel of CUDA C++ or PTX without a GPU, bit for bit
  --json
  FILE                    CUDA C++ or PTX
  launch
  --check {list,error,off} = list  hazards: list them, fail at the first (exit status 1), or do not look
                          (default: list)
  --chip str = H200 -> product  whose published peaks bound the time (default: H200)
  --limit int:N           the most instructions that warps may execute: a loop that never ends is an error
  --save str:FILE.npz     write all arrays into a file of np.savez
examples:
  ptxlab simulate twice.cu --block 128 --arg ones:float32:128   an array made here
  ptxlab simulate saxpy.cu --grid 8 --arg 2.5 --arg x.npy --arg y.npy --save z.npz
  ptxlab simulate gemm.cu --grid 8,8 --check error --chip A100 --arg a.npy
  ptxlab simulate all.cu --name "gemm<64>" --option=-DSTAGES=3 --shared 65536
profile = simulate.profile
predict how long a launch takes on an H200, without one, and what its warps wait for
  --json
  FILE                    CUDA C++ or PTX
  --compare str:FILE      another version of the kernel, with the same arguments: what changed since
  launch
  --chip str = H200 -> product  the chip whose time is predicted (default: H200)
examples:
  ptxlab profile twice.cu --grid 4096 --block 256 --arg ones:f4:1048576
  ptxlab profile --compare before.cu after.cu --grid 512 --arg zeros:f4:65536
check = check.check
run a Python script or tests without a GPU, and report hazards and bank conflicts of every launch
  FILE                     a Python script, or a file of pytest (test_*.py)
  --argument str:WORD ...  an argument for the script, or for pytest
  | --json const -> format
  | --sarif const -> format  for code-scanning services: SARIF 2.1.0
examples:
  ptxlab check train.py              launches of Triton, Numba, CuTe DSL and others
  ptxlab check test_kernels.py --sarif > ptxlab.sarif
lab = lab.lab
copy the notebooks into a folder and open JupyterLab there; other options go to jupyter lab
  --to str:FOLDER = ptxlab-notebooks  the folder of your copies (default: ptxlab-notebooks)
  --update     replace copies by newer versions; a new version of a notebook you changed is put beside it
  --copy-only  copy, but do not open JupyterLab
examples:
  ptxlab lab                        into the folder ptxlab-notebooks
  ptxlab lab --to course            into another folder
  ptxlab lab --update               after an update of ptxlab
  ptxlab lab --no-browser --port 9999    with options of jupyter lab
completion = completion.script
print a script that completes commands, options and instructions in a shell
  SHELL {bash,zsh,fish}  the shell that reads the script
examples:
  eval "$(ptxlab completion bash)"    in ~/.bashrc
  eval "$(ptxlab completion zsh)"     in ~/.zshrc, after compinit
  ptxlab completion fish > ~/.config/fish/completions/ptxlab.fish
"""

#: In the order of the help.
COMMANDS = {
    name: Command(*rest)
    for name, *rest in re.findall(
        r"^(\w+) = (\S+)\n(.*)\n((?:  .*\n)+)examples:\n((?:  .*\n)+)", _COMMANDS, re.MULTILINE
    )
}
