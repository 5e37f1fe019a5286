"""python -m tools.exam [--seed N] [FOLDER]: thirty questions over all parts of the course, and their answers.

`questions.md` is to hand out, `answers.md` to keep. The same seed gives the same exam. Every kind of question
is a function that draws its numbers and asks the library for the answer; a part of the course has as many
questions as `PARTS` says, of its kinds in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.isa.cute import CuteLayout
from ptxlab.isa.dtypes import dtype
from ptxlab.isa.instruction_descriptor import InstructionDescriptor
from ptxlab.isa.mma import Instruction
from ptxlab.isa.sparsity import STRUCTURES
from ptxlab.memory import Tile, conflicts, descriptor

__all__ = ["PARTS", "Question", "exam"]


class Question(NamedTuple):
    """A question with its answer, both in Markdown."""

    kind: str
    part: str
    text: str
    answer: str


Kind = Callable[[Random], tuple[str, object]]


def _chosen(draw: Random, family: str, *types: str) -> Instruction:
    """An instruction of a family, from the catalogue: for sm_90a, and of one of these types of A."""
    forms = [
        form
        for form in ptxlab.catalog(family, "sm_90a")
        if isinstance(form, Instruction) and str(form.a_type) in types and form.shape != "m8n8k4"
    ]
    return draw.choice(forms)


def _number(value: float) -> str:
    """As an exact decimal number, without a point where none is needed."""
    return f"{value:g}" if value == float(f"{value:g}") else repr(value)


# -- First steps ---------------------------------------------------------------------------------------------


def fragment_place(draw: Random) -> tuple[str, object]:
    ins = _chosen(draw, "mma", "s4", "u4", "s8", "u8", "f16", "bf16", "e4m3", "e5m2")
    name = draw.choice("ABD")
    operand = ins.operand(name)
    row, col = (draw.randrange(size) for size in operand.shape)
    place = operand.where(row, col)[0]
    text = f"`{ins.mnemonic}`: which lane holds `{name}[{row}][{col}]`, in which register, and in which bits?"
    return text, f"lane {place.lane}, register {place.register}, bits {place.low} to {place.high}"


def fragment_element(draw: Random) -> tuple[str, object]:
    ins = _chosen(draw, "mma", "s8", "f16", "bf16", "tf32", "s4")
    name = draw.choice("ABC")
    coords = ins.operand(name).coords()
    lane, element = draw.randrange(32), draw.randrange(coords.shape[1])
    row, col = coords[lane, element].tolist()
    text = f"`{ins.mnemonic}`: which row and column of {name} is element {element} of lane {lane}?"
    return text, f"row {row}, column {col}"


def register_count(draw: Random) -> tuple[str, object]:
    return _registers(_chosen(draw, "mma", "s4", "s8", "f16", "tf32", "e4m3", "b1"))


def _registers(ins: Instruction) -> tuple[str, str]:
    text = f"`{ins.mnemonic}`: how many 32-bit registers does a lane use for A, for B and for D?"
    return text, ", ".join(str(ins.operand(name).registers) for name in "ABD")


def decode(draw: Random) -> tuple[str, object]:
    name = draw.choice(("e4m3", "e5m2", "e2m3", "e3m2"))
    kind = dtype(name)
    values = kind.decode(np.arange(1 << kind.bits))
    code = draw.choice(np.flatnonzero(np.isfinite(values) & (values != 0)).tolist())
    return f"Which number is `0b{code:0{kind.bits}b}` as `{name}`?", _number(float(values[code]))


def encode(draw: Random) -> tuple[str, object]:
    name = draw.choice(("e4m3", "bf16", "f16"))
    value = draw.choice((-1, 1)) * draw.choice((1, 1.25, 1.5, 1.75)) * 2.0 ** draw.randrange(-4, 6)
    code = int(dtype(name).encode([value])[0])
    return f"Encode {_number(value)} as `{name}`, in hexadecimal.", f"`0x{code:0{dtype(name).bits // 4}X}`"


def packed_integers(draw: Random) -> tuple[str, object]:
    word = draw.getrandbits(32)
    values = [(word >> 4 * i & 15) - (word >> 4 * i + 3 & 1) * 16 for i in range(8)]
    text = f"A register holds `0x{word:08X}`. Which eight `s4` numbers is that, first element first?"
    return text, ", ".join(map(str, values))


# -- Writing kernels -----------------------------------------------------------------------------------------


def wavefronts(draw: Random) -> tuple[str, object]:
    step = 4 * draw.choice((1, 2, 3, 5, 6, 8, 10, 12, 16, 20, 24, 33, 36, 40, 48))
    count = conflicts(np.arange(32) * step, width=4).wavefronts
    return f"Lane i of a warp loads 4 bytes at byte {step} * i of shared memory. How many wavefronts?", count


def ldmatrix_pitch(draw: Random) -> tuple[str, object]:
    pitch = 16 * draw.randrange(1, 20)
    load = ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.shared.b16")
    count = load.conflicts(np.arange(32) % 8 * pitch).wavefronts
    return (
        f"`ldmatrix.x1` reads 16 bytes from each of eight rows that are {pitch} bytes apart. How many "
        "wavefronts does it take?",
        count,
    )


def swizzled_offset(draw: Random) -> tuple[str, object]:
    swizzle = draw.choice((32, 64, 128))
    tile = Tile(bits=16, rows=64, k=swizzle // 2, swizzle=swizzle)
    row, k = draw.randrange(64), draw.randrange(swizzle // 2)
    text = (
        f"A K-major tile of f16 has 64 rows of {swizzle // 2} elements and the {swizzle}-byte swizzle. At "
        f"which byte of the tile does the element in row {row}, k = {k} begin?"
    )
    return text, tile.offset(row, k)


def read_descriptor(draw: Random) -> tuple[str, object]:
    swizzle = draw.choice((32, 64, 128))
    tile = Tile(bits=16, rows=64, k=swizzle // 2, swizzle=swizzle)
    code = tile.descriptor(draw.randrange(1, 100) * 1024)
    fields = descriptor(code)
    text = f"`wgmma` gets the matrix descriptor `0x{code:016x}`. Start address, stride and swizzle, in bytes?"
    return text, f"address {fields.address}, stride {fields.stride}, swizzle {fields.swizzle}"


def write_descriptor(draw: Random) -> tuple[str, object]:
    tile, address = Tile(bits=16, rows=64, k=64, swizzle=128), draw.randrange(1, 60) * 1024
    k = 16 * draw.randrange(4)
    text = (
        f"A K-major tile of f16, 64 rows by 64 of K, with the 128-byte swizzle, begins at `0x{address:x}`. "
        f"Write the descriptor of the slice that begins at k = {k} (LBO field 1)."
    )
    return text, f"`0x{tile.descriptor(address, k=k):016x}`"


def warpgroup_place(draw: Random) -> tuple[str, object]:
    n = 8 * draw.randrange(2, 17)
    ins = ptxlab.instruction(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16")
    row, col = draw.randrange(64), draw.randrange(n)
    place = ins.operand("D").where(row, col)[0]
    text = f"`{ins.mnemonic}`: which of the 128 threads holds `D[{row}][{col}]`, and in which register?"
    return text, f"thread {place.lane}, register {place.register}"


def ring_parity(draw: Random) -> tuple[str, object]:
    stages, tile = draw.randrange(2, 6), draw.randrange(4, 40)
    text = (
        f"A ring has {stages} stages; tile i goes to stage i % {stages}. For tile {tile}: which stage, and "
        "which parity do the consumers wait for at its barrier `full`?"
    )
    return text, f"stage {tile % stages}, parity {tile // stages % 2}"


def expected_bytes(draw: Random) -> tuple[str, object]:
    rows, columns, k = draw.choice((64, 128)), draw.choice((64, 128, 256)), draw.choice((32, 64))
    name = draw.choice(("f16", "e4m3", "tf32"))
    size = {"f16": 2, "e4m3": 1, "tf32": 4}[name]
    text = (
        f"A stage holds {rows} x {k} elements of A and {columns} x {k} of B, `{name}`, both brought by TMA. "
        "How many bytes does `mbarrier.arrive.expect_tx` announce?"
    )
    return text, f"{(rows + columns) * k * size:,}"


# -- Sparsity ------------------------------------------------------------------------------------------------

_SPARSE = (
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
)


def nibbles(draw: Random) -> tuple[str, object]:
    row = [0] * 16
    for chunk in range(4):
        for at in draw.sample(range(4), 2):
            row[4 * chunk + at] = draw.randrange(1, 10)
    word = sum(int(nibble) << 4 * i for i, nibble in enumerate(STRUCTURES["2:4"].compress([row])[1][0]))
    text = f"A row of f16 begins with {row}. Write the metadata of these four chunks as one number, 2:4."
    return text, f"`0x{word:04X}`"


def kept_columns(draw: Random) -> tuple[str, object]:
    name = draw.choice(("2:4", "4:8"))
    structure = STRUCTURES[name]
    nibble, parts = draw.choice(sorted(structure.nibbles.items()))
    chunk, width = draw.randrange(4), structure.chunk // 4
    columns = [chunk * structure.chunk + part * width + i for part in parts for i in range(width)]
    text = f"Which columns of a {name} row does the nibble `0b{nibble:04b}` of chunk {chunk} keep?"
    return text, ", ".join(map(str, columns))


def metadata_place(draw: Random) -> tuple[str, object]:
    ins = draw.choice([ptxlab.instruction(text) for text in _SPARSE])
    assert isinstance(ins, Instruction)
    metadata = ins.operand("E")
    row, chunk = (draw.randrange(size) for size in metadata.shape)
    selector = draw.choice(ins.selectors)
    place = metadata.where(row, chunk)[selector]
    text = (
        f"`{ins.mnemonic}` with selector {selector}: which lane supplies the nibble of row {row}, chunk "
        f"{chunk}, and in which bits?"
    )
    return text, f"lane {place.lane}, bits {place.low} to {place.high}"


def sparse_registers(draw: Random) -> tuple[str, object]:
    return _registers(_chosen(draw, "mma.sp", "s4", "s8", "f16", "tf32"))


# -- Numbers -------------------------------------------------------------------------------------------------


def truncated_sum(draw: Random) -> tuple[str, object]:
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    large, below, sign = draw.randrange(6, 12), draw.randrange(22, 27), draw.choice((-1, 1))
    small = 2 * large - below
    A, B = np.zeros((16, 16)), np.zeros((16, 8))
    A[0, :2], B[:2, 0] = (2.0**large, sign * 1.5), (2.0**large, 2.0**small)
    result = float(ins(A, B)[0, 0])
    text = (
        f"`{ins.mnemonic}` on an H200: two products of a sum are 2^{2 * large} and {sign * 1.5:g} * "
        f"2^{small}, all others and C are 0. Which number is D, exactly?"
    )
    difference = result - 2.0 ** (2 * large)
    return text, f"2^{2 * large} {difference / 2.0**small:+g} * 2^{small} = {_number(result)}"


def saturated(draw: Random) -> tuple[str, object]:
    added, top = draw.randrange(2, 400), 2**31 - 1
    text = (
        f"C[0][0] is {top}, the largest `s32`, and (A B)[0][0] is {added}. D without and with `.satfinite`?"
    )
    return text, f"{top + added - 2**32}, {top}"


def signs_by_popc(draw: Random) -> tuple[str, object]:
    length, different = 128, draw.randrange(10, 120)
    text = (
        f"Two vectors of {length} values, each 1 or -1, are stored as bits. The popc of their XOR is "
        f"{different}. What is their dot product?"
    )
    return text, length - 2 * different


def targets(draw: Random) -> tuple[str, object]:
    ins = ptxlab.instruction(
        draw.choice(
            (
                "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
                "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
                "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
                "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
            )
        )
    )
    names = ("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")
    text = f"Which of {', '.join(names)} accept `{ins.mnemonic}`?"
    return text, ", ".join(name for name in names if ins.supports(name))


# -- Blackwell -----------------------------------------------------------------------------------------------


def scaled_sum(draw: Random) -> tuple[str, object]:
    a, b = ([2.0 ** draw.randrange(-3, 4) for _ in range(2)] for _ in "AB")
    added = draw.randrange(200)
    text = (
        "`scale_vec::2X`, K = 64: all elements of A and B are 1. The scales of a row of A are "
        f"{_number(a[0])} and {_number(a[1])}, those of a column of B {_number(b[0])} and {_number(b[1])}; "
        f"the element of C is {added}. What is the element of D?"
    )
    return text, _number(32 * (a[0] * b[0] + a[1] * b[1]) + added)


def scale_code(draw: Random) -> tuple[str, object]:
    name = draw.choice(("ue8m0", "ue4m3"))
    value = 2.0 ** draw.randrange(-6, 8)
    code = int(dtype(name).encode([value])[0])
    return f"Which byte encodes the scale {_number(value)} as `{name}`?", f"`0x{code:02X}`"


def tensor_memory_place(draw: Random) -> tuple[str, object]:
    m, ws = draw.choice(((64, ""), (64, ".ws"), (32, ".ws"), (128, "")))
    n = draw.choice((64, 128, 256))
    form = ptxlab.instruction(f"tcgen05.mma{ws}.cta_group::1.kind::f16", m=m, n=n)
    row, col = draw.randrange(m), draw.randrange(n)
    place = form.d.where(row, col)[0]
    text = (
        f"`tcgen05.mma{ws}.cta_group::1.kind::f16`, M = {m}, N = {n}, D f32 from lane 0, column 0 on. In "
        f"which lane and column of tensor memory is `D[{row}][{col}]`?"
    )
    return text, f"lane {place.lane}, column {place.column}"


def instruction_descriptor(draw: Random) -> tuple[str, object]:
    m, n = draw.choice((64, 128)), 16 * draw.randrange(1, 17)
    name = draw.choice(("f16", "bf16"))
    code = InstructionDescriptor("f16", m=m, n=n, a=name, b=name, d="f32").code
    text = f"`tcgen05.mma` of `kind::f16` has the instruction descriptor `0x{code:08x}`. M, N, type of A?"
    return text, f"M = {m}, N = {n}, {name}"


# -- Other languages -----------------------------------------------------------------------------------------


def cute_index(draw: Random) -> tuple[str, object]:
    ins = _chosen(draw, "mma", "f16", "s8", "tf32")
    name = draw.choice("AC")
    operand = ins.operand(name)
    layout = operand.layout.cute
    lane, value = draw.randrange(32), draw.randrange(operand.coords().shape[1])
    row, col = operand.coords()[lane, value].tolist()
    rows, columns = operand.shape
    text = (
        f"A fragment of a {rows} x {columns} matrix is `{layout}` in CuTe's words; indices go down the "
        f"columns. Which index is value {value} of lane {lane}, and which row and column?"
    )
    return text, f"index {CuteLayout.read(layout)(lane, value)}, row {row}, column {col}"


# -- The same bits -------------------------------------------------------------------------------------------


def first_other_sum(draw: Random) -> tuple[str, object]:
    parts = draw.choice((2, 4, 8))
    length = parts * draw.randrange(12, 90)
    text = (
        f"One warp adds {length} products from k = 0 on; in another launch {parts} warps add equal parts of "
        "them, one after another. Which k has the first product that the one warp adds to another sum?"
    )
    return text, f"k = {length // parts}"


#: How many of the thirty questions each part of the course has, and of which kinds.
PARTS: dict[str, tuple[int, tuple[Kind, ...]]] = {
    "First steps": (
        7,
        (fragment_place, decode, register_count, fragment_element, encode, packed_integers),
    ),
    "Writing kernels": (
        8,
        (
            *(wavefronts, swizzled_offset, read_descriptor, warpgroup_place, ring_parity, ldmatrix_pitch),
            *(write_descriptor, expected_bytes),
        ),
    ),
    "Sparsity": (5, (nibbles, metadata_place, kept_columns, sparse_registers)),
    "Numbers": (4, (truncated_sum, saturated, signs_by_popc, targets)),
    "Blackwell": (4, (scaled_sum, tensor_memory_place, scale_code, instruction_descriptor)),
    "Other languages": (1, (cute_index,)),
    "The same bits": (1, (first_other_sum,)),
}


def exam(seed: int) -> list[Question]:
    """The questions of an exam, in the order of the course; no two are the same."""
    draw, asked = Random(seed), dict[str, Question]()
    for part, (count, kinds) in PARTS.items():
        for kind in islice(cycle(kinds), count):
            text, answer = kind(draw)
            while text in asked:
                text, answer = kind(draw)
            asked[text] = Question(kind.__name__, part, text, str(answer))
    return list(asked.values())


def sheet(seed: int, *, answers: bool) -> str:
    """The questions, or the answers to them, as Markdown."""
    lines = [f"# {'Answers' if answers else 'Questions'}, exam {seed}"]
    part = ""
    for number, question in enumerate(exam(seed), 1):
        if question.part != part:
            lines.append(f"## {question.part}")
        part = question.part
        lines.append(f"{number}. {question.answer if answers else question.text}")
    return "\n\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.exam", description="Write thirty questions over the course, and their answers."
    )
    parser.add_argument("folder", nargs="?", default="exam", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="another seed, another exam")
    parser.add_argument("--qti", action="store_true", help="also write exam.zip, a QTI 2.1 package")
    arguments = parser.parse_args()
    for name in ("questions", "answers"):
        text = sheet(arguments.seed, answers=name == "answers")
        write_atomically(arguments.folder / f"{name}.md", text)
    if arguments.qti:
        from .qti import package

        seed = arguments.seed
        write_atomically(arguments.folder / "exam.zip", package(exam(seed), f"Exam {seed}"))
    names = "questions.md, answers.md and exam.zip" if arguments.qti else "questions.md and answers.md"
    print(f"{names} in {arguments.folder}")


if __name__ == "__main__":
    main()
