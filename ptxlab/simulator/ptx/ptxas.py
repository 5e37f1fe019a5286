"""What the assembler changes so that results differ: fused products, signs in `selp`, and code that is wrong.

PTX ISA, "mul" and "add": those without a rounding modifier may be fused. NVRTC fuses a * b + c itself, and
leaves c - a * b, among others, to ptxas. What ptxas does was read off its machine code: a product is fused
into all sums that use it, or into none. It is fused if they are in the same basic block with the same type
and `.ftz`, and nothing else uses the product; `mov` and `neg` in between do not count. If a sum adds two
products, the one with fewer uses is fused, or else the first. Approximate divisions end in a product, too.

In machine code, `neg` and `abs` of f32 are sums with 0, which make every NaN the same. If `selp` chooses
their result, ptxas omits the sum: the selection changes the sign itself, and a NaN keeps its bits. That holds
even if other instructions use the result, or with a `mov` in between; not with `.ftz`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .dataflow import basic_blocks, constants, register_bits, successors
from .syntax import Function, Immediate, PtxInstruction, Register

# -- which mul and add become one fma, which rounds once -----------------------------------------------------

_FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
#: Instructions that end a basic block of ptxas besides branches.
_ENDS = {"call", "membar", "pmevent", "setmaxnreg"}
#: Integer types whose division has a branch; that of u32 has none.
_BRANCHING_INTEGERS = ("s16", "u16", "s32", "s64", "u64")


class Contraction(NamedTuple):
    """A sum that takes the factors of a product instead of the product itself."""

    product: int  # the instruction that multiplies
    position: int  # of the product among the two that are added
    negative: bool  # whether there is a `neg` in between


@dataclass
class _Product:
    """A product and the sums of its block that use it."""

    instruction: PtxInstruction
    uses: dict[int, Contraction] = field(default_factory=dict)  # by the index of the sum
    fused: bool = True  # whether it may be fused into all its uses


def contractions(function: Function) -> dict[int, Contraction]:
    """The sums that ptxas fuses, by the index of their `add` or `sub`.

    >>> from ptxlab.simulator.ptx.reader import read_ptx
    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .entry k(.param .u64 p) { .reg .f32 %f<4>; .reg .b64 %r;
    ... ld.param.u64 %r, [p]; mul.f32 %f2, %f0, %f1; sub.f32 %f3, %f0, %f2; st.global.f32 [%r], %f3; ret; }'''
    >>> contractions(read_ptx(text).functions["k"])
    {2: Contraction(product=1, position=1, negative=False)}
    """
    instructions = function.instructions
    if not any(_is_product(instruction) for instruction in instructions):
        return {}
    blocks = _blocks(function)
    live = _live_out(function, blocks)
    contractions: dict[int, Contraction] = {}
    for line in _straight_lines(function, blocks):
        needed = _needed([instructions[index] for index in line], live[line[-1]])
        contractions.update(_fused(needed, live[line[-1]]))
    return contractions


def _is_product(instruction: PtxInstruction) -> bool:
    """Whether it multiplies, or divides by means of a product, without a rounding modifier."""
    name, *qualifiers = instruction.parts
    if instruction.guard is not None or name not in ("mul", "div") or qualifiers[-1] not in _FLOATS:
        return False
    if name == "div":
        return qualifiers[0] in ("approx", "full")
    return set(qualifiers[:-1]) <= {"ftz"}


def _is_sum(instruction: PtxInstruction) -> bool:
    name, *qualifiers = instruction.parts
    if name not in ("add", "sub") or qualifiers[-1] not in _FLOATS:
        return False
    return set(qualifiers[:-1]) <= {"ftz", "sat"}


def _passes_on(instruction: PtxInstruction) -> bool:
    """Whether it is a copy of a register, or its negative."""
    only_registers = all(isinstance(operand, Register) for operand in instruction.operands)
    return instruction.parts[0] in ("mov", "neg") and only_registers and instruction.guard is None


def _ends_block(instruction: PtxInstruction) -> bool:
    """Whether ptxas ends a basic block with it: exact divisions and roots branch to code for rare values."""
    name, *qualifiers = instruction.parts
    if name in _ENDS:
        return True
    if name == "fence":  # proxy fences do not
        return qualifiers[0] in ("acq_rel", "sc")
    if name in ("div", "rem") and qualifiers[-1] in _BRANCHING_INTEGERS:
        return True
    if name in ("div", "rcp", "sqrt"):
        return not {"rn", "rz", "rm", "rp"}.isdisjoint(qualifiers)
    return name == "rsqrt" and qualifiers[-1] == "f64" and "ftz" not in qualifiers


def _kind(instruction: PtxInstruction) -> tuple[str, bool]:
    """The type, and whether subnormal numbers are flushed to zero."""
    return instruction.parts[-1], "ftz" in instruction.parts


# -- the flow of control ------------------------------------------------------------------------------------


def _blocks(function: Function) -> dict[int, int]:
    """Basic blocks as ptxas divides them: index of the first instruction -> index after the last."""
    cuts = {
        instruction.index + 1
        for instruction in function.instructions
        if _ends_block(instruction) and instruction.index + 1 < len(function.instructions)
    }
    starts = sorted({*basic_blocks(function), *cuts})
    return dict(zip(starts, [*starts[1:], len(function.instructions)], strict=True))


def _straight_lines(function: Function, blocks: dict[int, int]) -> Iterator[list[int]]:
    """Chains of basic blocks that can only follow each other, as the indices of their instructions."""
    instructions = function.instructions
    after = {start: successors(instructions, end - 1) for start, end in blocks.items()}
    before: dict[int, list[int]] = {start: [] for start in (*blocks, len(instructions))}
    for start, targets in after.items():
        for target in targets:
            before[target].append(start)
    ends = {start for start, end in blocks.items() if _ends_block(instructions[end - 1])}

    def follows(start: int) -> int | None:
        """The only successor of a block, if it has no other predecessor."""
        (target,) = after[start] if len(after[start]) == 1 else (len(instructions),)
        return target if start not in ends and target in blocks and len(before[target]) == 1 else None

    inner = {follows(start) for start in blocks}
    for start in blocks:
        if start in inner and start != 0:
            continue
        line: list[int] = []
        place: int | None = start
        while place is not None and place not in line:
            line += range(place, blocks[place])
            place = follows(place)
        yield line


def _live_out(function: Function, blocks: dict[int, int]) -> dict[int, int]:
    """The registers, as bits, that are read after the last instruction of each basic block."""
    instructions = function.instructions
    live_in = dict.fromkeys((*blocks, len(instructions)), 0)
    changed = True
    while changed:
        changed = False
        for start in reversed(blocks):
            end = blocks[start]
            live = 0
            for target in successors(instructions, end - 1):
                live |= live_in[target]
            for index in range(end - 1, start - 1, -1):
                live = _live_before(instructions[index], live)
            changed |= live != live_in[start]
            live_in[start] = live
    out: dict[int, int] = {}
    for end in blocks.values():
        out[end - 1] = 0
        for target in successors(instructions, end - 1):
            out[end - 1] |= live_in[target]
    return out


def _only_computes(instruction: PtxInstruction) -> bool:
    """Whether the assembler omits it if its result is never read."""
    return instruction.is_arithmetic or instruction.parts[0] == "ld"


def _live_before(instruction: PtxInstruction, live: int) -> int:
    """The registers that are read from an instruction on, from those that are read after it."""
    read, written = instruction.effects
    bits = register_bits(written)
    if _only_computes(instruction) and not live & bits:
        return live
    if instruction.parts[0] == "wgmma":  # it reads its accumulators, too
        live |= bits
    elif instruction.guard is None:
        live &= ~bits
    return live | register_bits(read)


def _needed(line: list[PtxInstruction], live: int) -> list[PtxInstruction]:
    """The line without instructions whose results are never read."""
    needed = []
    for instruction in reversed(line):
        _, written = instruction.effects
        if not _only_computes(instruction) or live & register_bits(written):
            needed.append(instruction)
        live = _live_before(instruction, live)
    return needed[::-1]


# -- products and sums -------------------------------------------------------------------------------------


def _fused(line: list[PtxInstruction], live: int) -> dict[int, Contraction]:
    """The contractions of a straight line; `live` are the registers that are read after it."""
    products = _products(line, live)
    while True:
        chosen: dict[int, tuple[_Product, Contraction]] = {}
        loser = None
        for product in products:
            if not product.fused:
                continue
            for index, contraction in product.uses.items():
                rival = chosen.get(index)
                if rival is None:
                    chosen[index] = (product, contraction)
                    continue
                pair = sorted(
                    (rival, (product, contraction)),
                    key=lambda candidate: (len(candidate[0].uses), candidate[1].position),
                )
                loser = loser or pair[1][0]
        if loser is None:
            return {index: contraction for index, (_, contraction) in chosen.items()}
        loser.fused = False


def _products(line: list[PtxInstruction], live: int) -> list[_Product]:
    """The products of a straight line with their uses."""
    products: list[_Product] = []
    # register -> the product in it, and whether it is negated
    by_register: dict[int, tuple[_Product, bool]] = {}
    for instruction in line:
        read, written = instruction.effects
        if instruction.parts[0] == "wgmma":
            read = read | written
        used = {register: by_register[register] for register in read if register in by_register}
        copied = None
        if used and _passes_on(instruction):
            product, negative = next(iter(used.values()))
            if instruction.parts[0] == "mov" or _kind(instruction) == _kind(product.instruction):
                copied = product, negative ^ (instruction.parts[0] == "neg")
        if copied is None and used:
            _use(instruction, used)
        for register in written:
            if instruction.guard is not None and register in by_register:
                by_register[register][0].fused = False
            by_register.pop(register, None)
            if copied is not None:
                by_register[register] = copied
        if _is_product(instruction):
            product = _Product(instruction)
            products.append(product)
            for register in written:
                by_register[register] = product, False
    for register, (product, _) in by_register.items():
        if live >> register & 1:
            product.fused = False
    return products


def _use(instruction: PtxInstruction, used: dict[int, tuple[_Product, bool]]) -> None:
    """Note that an instruction reads products, by register: a sum takes their factors if it can."""
    sources = [
        (position, *used[operand.index])
        for position, operand in enumerate(instruction.operands[1:])
        if isinstance(operand, Register) and operand.index in used
    ]
    adds = _is_sum(instruction) and len({id(product) for _, product, _ in sources}) == len(sources)
    for product, _ in used.values():
        product.fused &= adds and _kind(instruction) == _kind(product.instruction)
    for position, product, negative in sources:
        product.uses[instruction.index] = Contraction(product.instruction.index, position, negative)


# -- signs that are changed where a value is selected --------------------------------------------------------

_SIGNS = ("neg.f32", "abs.f32")


class Modified(NamedTuple):
    """A register whose sign is changed as it is read."""

    register: Register
    kind: str  # "neg" or "abs"


def modified_selections(function: Function) -> dict[int, tuple[Modified | None, Modified | None]]:
    """What `selp.f32` reads instead of its two sources, by its index.

    >>> from ptxlab.simulator.ptx.reader import read_ptx
    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .entry k() { .reg .f32 %f<4>; .reg .pred %p;
    ... neg.f32 %f1, %f0; selp.f32 %f3, %f1, %f2, %p; ret; }'''
    >>> modified_selections(read_ptx(text).functions["k"])[1][0].kind
    'neg'
    """
    instructions = function.instructions
    if not any(instruction.opcode in _SIGNS for instruction in instructions):
        return {}
    selections: dict[int, tuple[Modified | None, Modified | None]] = {}
    for start, end in basic_blocks(function).items():
        sources: dict[int, Modified] = {}  # register -> the register whose sign was changed to make it
        for instruction in instructions[start:end]:
            if instruction.opcode == "selp.f32" and len(instruction.operands) == 4:
                first, second = (_source(operand, sources) for operand in instruction.operands[1:3])
                if first is not None or second is not None:
                    selections[instruction.index] = first, second
            result = _sign_change(instruction, sources)
            written = instruction.effects[1]
            sources = {
                register: modified
                for register, modified in sources.items()
                if register not in written and modified.register.index not in written
            }
            if result is not None and result.register.index not in written:
                sources.update(dict.fromkeys(written, result))
    return selections


def _source(operand: object, sources: dict[int, Modified]) -> Modified | None:
    return sources.get(operand.index) if isinstance(operand, Register) else None


def _sign_change(instruction: PtxInstruction, sources: dict[int, Modified]) -> Modified | None:
    """What an instruction writes, if it only changes a sign or copies such a result."""
    if instruction.guard is not None or len(instruction.operands) != 2:
        return None
    source = instruction.operands[1]
    if not isinstance(source, Register):
        return None
    if instruction.opcode in _SIGNS:
        return Modified(source, instruction.parts[0])
    return sources.get(source.index) if instruction.opcode in ("mov.f32", "mov.b32") else None


# -- code that computes another value than PTX says ----------------------------------------------------------


@dataclass(frozen=True)
class Rotation:
    """An `add` or `sub` of 64 bits that ptxas turns into a rotate to the left, which is another value."""

    left: int  # the position of the left shift among the two operands
    amount: int  # of the left shift; the right shift has the rest of 64

    words: ClassVar[str] = "of two shifts, which ptxas of CUDA 12.0 to 13.2 turns into a rotate"
    remedy: ClassVar[str] = "assemble with CUDA 13.3 or later, or with -O0"

    def expected(self, name: str, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """What PTX says, from the operands of the sum."""
        return np.asarray(first + second if name == "add" else first - second)

    def computed(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """What the assembler's code computes."""
        upper, lower = (second, first) if self.left else (first, second)
        return np.asarray(upper | lower & np.uint64((1 << self.amount) - 1))


@dataclass(frozen=True)
class SignFill:
    """A `bfe.s32` of a constant part beyond the sign: ptxas makes -1 of it, whatever the sign is."""

    position: int

    words: ClassVar[str] = "beyond bit 31, of which ptxas of CUDA 12.0 to 13.4 makes -1"
    remedy: ClassVar[str] = "begin below bit 32, or assemble with -O0"

    def expected(self, name: str, value: NDArray[Any]) -> NDArray[Any]:
        """What PTX says: the sign in every bit."""
        return np.asarray((value.view(np.int32) >> np.int32(31)).view(np.uint32))

    def computed(self, value: NDArray[Any]) -> NDArray[Any]:
        """What the assembler's code computes."""
        return np.full_like(value, 0xFFFFFFFF)


def faults(function: Function) -> dict[int, Rotation | SignFill]:
    """The instructions of a function that assemblers are known to get wrong, by their index."""
    return {**rotations(function), **sign_fills(function)}


def sign_fills(function: Function) -> dict[int, SignFill]:
    """The `bfe.s32` whose position and length are constants, the position 32 or more in its lower 8 bits.

    Read off the machine code of ptxas of CUDA 12.0 to 13.4 at -O1 to -O3, for all targets, and seen on an
    H200 (FuzzX, m052). Other types are right, and so is a position that varies.

    >>> from ptxlab.simulator.ptx.reader import read_ptx
    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .entry k() { .reg .b32 %r<2>; bfe.s32 %r1, %r0, 40, 9; bfe.s32 %r1, %r0, 31, 9; ret; }'''
    >>> sign_fills(read_ptx(text).functions["k"])
    {0: SignFill(position=40)}
    """
    fills: dict[int, SignFill] = {}
    numbers: dict[int, int] | None = None
    for instruction in function.instructions:
        if instruction.opcode != "bfe.s32" or not isinstance(instruction.operands[1], Register):
            continue
        numbers = constants(function) if numbers is None else numbers
        position, length = (_number(operand, numbers) & 0xFF for operand in instruction.operands[2:4])
        if position >= 32 and length:
            fills[instruction.index] = SignFill(position)
    return fills


#: What tells a value from others: the instruction that computes it, or a register and a block that reads it.
_Value: TypeAlias = int | tuple[int, int]


class _Shift(NamedTuple):
    """A shift by a constant."""

    kind: str  # "left", "right", or "signed" for a right shift that fills with the sign
    value: _Value
    amount: int


_SHIFTS = {"shl.b64": "left", "shr.b64": "right", "shr.u64": "right", "shr.s64": "signed"}


def rotations(function: Function) -> dict[int, Rotation]:
    """The sums of a function that ptxas of CUDA 12.0 to 13.2 turns into a rotate, by their index.

    Read off the machine code of each release, for all targets, and seen on an H200: x << n and x >> 64 - n
    with constant n, added or subtracted in either order, become a rotate of x at -O1, -O2 and -O3, whatever
    else uses the shifts. That is right only if they are added and the right shift is unsigned. `or` and
    `xor`, products, 32 and 16 bits, and amounts that are not constant are left alone. CUDA 13.3 no longer
    does it.

    >>> from ptxlab.simulator.ptx.reader import read_ptx
    >>> text = '''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .entry k() { .reg .b64 %x<4>;
    ... shl.b64 %x1, %x0, 8; shr.u64 %x2, %x0, 56; sub.s64 %x3, %x2, %x1; ret; }'''
    >>> rotations(read_ptx(text).functions["k"])
    {2: Rotation(left=1, amount=8)}
    """
    instructions = function.instructions
    opcodes = {instruction.opcode for instruction in instructions}
    if "shl.b64" not in opcodes or opcodes.isdisjoint(("shr.b64", "shr.u64", "shr.s64")):
        return {}
    numbers = constants(function)
    writes = Counter(register for instruction in instructions for register in instruction.effects[1])
    values: dict[int, _Value] = {}  # of registers that are written once
    shifts: dict[_Value, _Shift] = {}
    pairs_of_shifts: dict[int, Rotation] = {}
    for start, end in basic_blocks(function).items():
        local: dict[int, _Value] = {}  # of registers that this block has written
        for instruction in instructions[start:end]:
            registers = [
                operand.index for operand in instruction.operands[1:3] if isinstance(operand, Register)
            ]
            sources = [
                local.get(register, values.get(register, (register, start if writes[register] > 1 else -1)))
                for register in registers
            ]
            result: _Value = instruction.index
            if instruction.guard is None and sources:
                kind = _SHIFTS.get(instruction.opcode, "")
                amount = _number(instruction.operands[-1], numbers)
                if instruction.parts[0] == "mov":
                    result = sources[0]
                elif kind and 0 < amount < 64:
                    shifts[result] = _Shift(kind, sources[0], amount)
            if instruction.parts[0] in ("add", "sub") and instruction.parts[-1] in ("u64", "s64"):
                operands = [shifts[source] for source in sources if source in shifts]
                if len(operands) == 2 and _becomes_rotate(instruction.parts[0], *operands):
                    left = [operand.kind for operand in operands].index("left")
                    pairs_of_shifts[instruction.index] = Rotation(left, operands[left].amount)
            written = instruction.effects[1]
            local.update(dict.fromkeys(written, result))
            values.update((register, result) for register in written if writes[register] == 1)
    return pairs_of_shifts


def _number(operand: object, numbers: dict[int, int]) -> int:
    """A constant operand; 0 for others."""
    if isinstance(operand, Immediate):
        return operand.value
    return numbers.get(operand.index, 0) if isinstance(operand, Register) else 0


def _becomes_rotate(name: str, first: _Shift, second: _Shift) -> bool:
    """Whether the assembler makes a rotate of a sum that is none."""
    kinds = {first.kind, second.kind}
    if first.value != second.value or first.amount + second.amount != 64 or len(kinds) < 2:
        return False
    return "left" in kinds and (name == "sub" or "signed" in kinds)
