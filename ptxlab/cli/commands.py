"""The commands: in which module each is, what it does, and the types that their parameters share.

A command is a function with the name of the command; `parser.py` makes its arguments from its signature. A
new one is a row of `COMMANDS`, its function, and a line in README.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from ..errors import listing
from ..isa.catalog import REGISTER_FAMILIES

NAMES_COMMAND = "__complete"  # not in the help: the scripts of `completion` call it


class Beside(NamedTuple):
    """What a page shows beside the answer of a command to a question in words (`ask.py`).

    It is the picture that the command itself draws with --svg, or one of the operand or the instruction that
    its words name; and a link that opens the instruction in the Explorer.
    """

    picture: Literal["", "its own", "operand", "instruction"] = ""
    explorer: bool = False


class Command(NamedTuple):
    """The module that has the function, imported when the command is used, and what the help says of it.

    Those that answer at once, without files, compiler or GPU, answer questions in words, too: `beside` is for
    them.
    """

    module: str
    summary: str
    beside: Beside | None = None


_NOTHING, _PICTURE, _EXPLORER = Beside(), Beside("its own"), Beside(explorer=True)
_PICTURE_AND_EXPLORER = Beside("its own", explorer=True)
_OPERAND, _INSTRUCTION = Beside("operand", explorer=True), Beside("instruction", explorer=True)


#: In the order of the help.
COMMANDS = {
    "list": Command("lookup", "list the instructions that ptxlab knows", _NOTHING),
    "show": Command("lookup", "show everything about one instruction", _INSTRUCTION),
    "where": Command("lookup", "say which lane holds an element, in which bits", _OPERAND),
    "holds": Command("lookup", "list the elements that a lane holds", _OPERAND),
    "layout": Command("lookup", "show the fragment layout of an operand", _PICTURE_AND_EXPLORER),
    "metadata": Command(
        "lookup", "show which bits of which lane describe each chunk of a sparse A", _PICTURE_AND_EXPLORER
    ),
    "cute": Command("lookup", "print the layouts in CuTe's notation, of all operands or one", _INSTRUCTION),
    "ptx": Command(
        "lookup", "print the PTX instruction, or a module or CUDA C++ that contains it", _INSTRUCTION
    ),
    "sass": Command("lookup", "print the machine code of an instruction; needs no GPU"),
    "models": Command("lookup", "describe the arithmetic of every chip, and how it is known", _NOTHING),
    "descriptor": Command(
        "memory_commands",
        "decode a descriptor of wgmma or tcgen05, say what is wrong with it, or list those of a tile",
        _PICTURE,
    ),
    "conflicts": Command(
        "memory_commands",
        "count the bank conflicts of one access to shared memory, and find a pitch or a swizzle without them",
        _PICTURE,
    ),
    "repack": Command(
        "memory_commands",
        "find the conversions, shuffles and permutes from one operand's registers to another's",
        _PICTURE,
    ),
    "run": Command("compute", "run an instruction on random registers", _EXPLORER),
    "trace": Command(
        "compute",
        "explain the bits of an element of D: products, alignment, lost bits, sum, rounding",
        _PICTURE_AND_EXPLORER,
    ),
    "measure": Command(
        "compute",
        "measure latency and throughput of an instruction, with clock, power and temperature",
    ),
    "simulate": Command("simulate_commands", "run a kernel of CUDA C++ or PTX without a GPU, bit for bit"),
    "debug": Command("debug", "step through a kernel, forwards and backwards, at a prompt"),
    "profile": Command(
        "simulate_commands",
        "predict how long a launch takes on an H200, without one, and what its warps wait for",
    ),
    "compare": Command(
        "simulate_commands",
        "say where the results of two kernels part: the first element and operation that differ",
    ),
    "check": Command(
        "check",
        "run a Python script or tests without a GPU, and report hazards and bank conflicts of every launch",
    ),
    "judge": Command(
        "judge",
        "give a verdict on a kernel: every output compared with a task's reference, hazards, predicted time",
    ),
    "grader": Command(
        "grader", "write an autograder for a task: Gradescope, GitHub Classroom, Otter or nbgrader"
    ),
    "mcp": Command("mcp_server", "serve the tools of ptxlab to language models: MCP over stdin and stdout"),
    "lab": Command(
        "lab", "copy the notebooks into a folder and open JupyterLab there; other options go to jupyter lab"
    ),
    "completion": Command(
        "completion", "print a script that completes commands, options and instructions in a shell"
    ),
}


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
  ptxlab judge saxpy.cu --task saxpy             is the kernel right, at every size
  ptxlab measure mma.m16n8k16.f32.f16 --recorded H200     latency and throughput

exit status: 0 the answer was written, 1 the request cannot be answered (one sentence says why),
2 wrong usage, 70 a bug in ptxlab, 130 interrupted
"""


# -- parameters --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flags:
    """Options of which at most one is given, with their help: the parameter is the name of that one."""

    help: Mapping[str, str]


InstructionName = Annotated[
    str, "PTX mnemonic, short name such as mma.m16n8k64.s4, atom of CUTLASS, or pasted code"
]
OperandName = Annotated[
    str, "A, B, C, D, E (metadata), SFA, SFB (block scales), R (ldmatrix, stmatrix, tcgen05.ld, .st)"
]
Index = Annotated[int, "of the element, from 0"]
Family = Annotated[
    str | None, f"one of {listing(REGISTER_FAMILIES, 10)}, tcgen05, tcgen05.mma, tcgen05.ld, ..."
]
Selector = Annotated[int, "sparsity selector (default: 0)"]
Swizzle = Annotated[int, "for an operand in shared memory: swizzle mode (0, 32, 64, 128)", "BYTES"]
Transposed = Annotated[
    bool, "for an operand in shared memory (wgmma with f16 or bf16): MN-major instead of K-major"
]
Json = Annotated[bool, "print JSON"]
