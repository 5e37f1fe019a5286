"""The parts of a PTX module: operands, instructions, variables, functions.


PTX ISA, "Syntax", "State Spaces, Types, and Variables", "Instruction Operands".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import PurePath
from typing import TypeAlias

from ...gpu.compiler import SOURCE_NAME
from ...numerics import scalar
from .opcode_sets import ANYWHERE_TYPED, NO_RESULT

_TYPE = re.compile(r"(?:[usbf]|bf)(8|16|32|64|128)(x2|x4)?")
#: Types whose names do not state their bits.
_BITS = {
    "pred": 1, "tf32": 32, "e4m3": 8, "e5m2": 8, "e4m3x2": 16, "e5m2x2": 16, "e4m3x4": 32, "e5m2x4": 32,
    "e2m1x2": 8, "ue8m0x2": 16,
}  # fmt: skip


@lru_cache(maxsize=1024)
def type_bits(name: str) -> int | None:
    """Bits of a PTX type, named without its dot; None if there is no such type.

    >>> type_bits("f16x2"), type_bits("s64"), type_bits("rn")
    (32, 64, None)
    """
    match = _TYPE.fullmatch(name)
    if match is None:
        return _BITS.get(name)
    count = {"x2": 2, "x4": 4}.get(match[2] or "", 1)
    return int(match[1]) * count


def plain_name(name: str) -> str:
    """The name of a kernel or variable in the source, without C++'s mangling.

    >>> plain_name("_Z5twicePf"), plain_name("_ZN3lab4copyEv"), plain_name("_ZZ4gemmE4full")
    ('twice', 'lab::copy', 'full')
    """
    local = re.fullmatch(r"_ZZ.*?E(\d+)(\w+)", name)
    if local is not None:
        return local[2][: int(local[1])]
    nested = name.startswith("_ZN")
    rest = name[3 if nested else 2 :]
    identifiers: list[str] = []
    while name.startswith("_Z") and (size := re.match(r"\d+", rest)) and (nested or not identifiers):
        end = size.end() + int(size[0])
        identifiers.append(rest[size.end() : end])
        rest = rest[end:]
    return "::".join(identifiers) or name


def kernel_names(ptx: str) -> list[str]:
    """The kernels in the PTX of a compiler, as the source calls them, without reading the rest.

    >>> kernel_names(".visible .entry _Z5twicePf(\\n.param .u64 x\\n) { ret; }")
    ['twice']
    """
    return [plain_name(name) for name in re.findall(r"^[^\n/]*\.entry\s+([\w$]+)", ptx, re.MULTILINE)]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where an instruction comes from, by `.loc`; `inlined_at` is the location of an inlined call."""

    file: str
    line: int
    column: int
    inlined_at: SourceLocation | None = None


def outermost(location: SourceLocation) -> SourceLocation:
    """The call in the kernel at which a location was inlined; itself if it was not."""
    while location.inlined_at is not None:
        location = location.inlined_at
    return location


# -- operands ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register; `index` is its index in the function's list."""

    index: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, e.g. ``%tid.x``."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer, or the bits of a float; `type` is "int", "f32", "f64" or "decimal"."""

    value: int
    type: str = "int"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, a parameter or a function, and an offset in bytes."""

    name: str
    offset: int = 0
    mask: int = 0  # bits of the address in an initialiser such as 0xFF00(variable); 0 for all of it


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``; TMA's ``[map, {x, y}]`` has coordinates, which im2col's offsets may follow."""

    base: Register | Symbol | Immediate
    offset: int = 0
    coordinates: Vector | None = None
    offsets: Vector | None = None


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, c, d}``."""

    items: tuple[PtxOperand, ...]


@dataclass(frozen=True, slots=True)
class OperandList:
    """``(a, b)``: the arguments or results of a call."""

    items: tuple[PtxOperand, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """``!p``."""

    operand: Register


@dataclass(frozen=True, slots=True)
class Pair:
    """``p|q``."""

    first: PtxOperand
    second: PtxOperand


@dataclass(frozen=True, slots=True)
class Sink:
    """``_``: a result that is discarded."""


@dataclass(frozen=True, slots=True)
class LabelTarget:
    """A label; `index` is the index of the instruction after it."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Targets:
    """The labels of a ``.branchtargets``."""

    labels: tuple[LabelTarget, ...]


PtxOperand: TypeAlias = (
    Register
    | Special
    | Immediate
    | Symbol
    | Address
    | Vector
    | OperandList
    | Negated
    | Pair
    | Sink
    | LabelTarget
    | Targets
)


def registers_of(operand: PtxOperand | None) -> Iterator[Register]:
    """The registers of an operand, including those of an address or a vector.

    >>> r = Register(0, "%r0", "b32")
    >>> [register.name for register in registers_of(Vector((r, Address(r, 4))))]
    ['%r0', '%r0']
    """
    if isinstance(operand, Register):
        yield operand
    elif isinstance(operand, Negated):
        yield operand.operand
    elif isinstance(operand, Vector | OperandList):
        for item in operand.items:
            yield from registers_of(item)
    elif isinstance(operand, Pair):
        yield from registers_of(operand.first)
        yield from registers_of(operand.second)
    elif isinstance(operand, Address):
        if isinstance(operand.base, Register):
            yield operand.base
        yield from registers_of(operand.coordinates)
        yield from registers_of(operand.offsets)


def symbols_of(operand: PtxOperand | None) -> Iterator[Symbol]:
    """The variables and functions that an operand names.

    >>> [symbol.name for symbol in symbols_of(OperandList((Address(Symbol("tile")), Symbol("f"))))]
    ['tile', 'f']
    """
    if isinstance(operand, Symbol):
        yield operand
    elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
        yield operand.base
    elif isinstance(operand, Vector | OperandList):
        for item in operand.items:
            yield from symbols_of(item)


# -- statements ----------------------------------------------------------------------------------------------


#: What multimem.ld_reduce does with the values of several devices.
_REDUCING = frozenset({"add", "min", "max", "and", "or", "xor", "acc::f32", "acc::f16"})

_HEADERS = (".h", ".hpp", ".cuh", ".inl")


@dataclass(frozen=True)
class PtxInstruction:
    """One instruction; `index` is its index in the function, `line` its line in the PTX text.

    `parts` are those of the opcode, split at its dots; the type comes last, wherever it was written. On one
    device a multimem address has one location, and an instruction `multimem` the parts of the plain one.
    `by_compiler` marks a `trap` that the compiler put in place of code that C++ leaves undefined.

    >>> PtxInstruction(0, "ld.global.v4.f32", (), 1).parts
    ('ld', 'global', 'v4', 'f32')
    >>> PtxInstruction(0, "ld.f32.global.v4", (), 1).parts
    ('ld', 'global', 'v4', 'f32')
    >>> PtxInstruction(0, "multimem.ld_reduce.global.add.acc::f32.v4.f16x2", (), 1).parts
    ('ld', 'multimem', 'global', 'v4', 'f16x2')
    """

    index: int
    opcode: str
    operands: tuple[PtxOperand, ...]
    line: int
    location: SourceLocation | None = None
    guard: Register | Negated | None = None
    by_compiler: bool = False
    parts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = self.opcode.split(".")
        if parts[0] == "multimem" and len(parts) > 1:
            parts[:2] = [parts[1], "multimem"]
            if parts[0] == "ld_reduce":
                parts = ["ld", *(part for part in parts[1:] if part not in _REDUCING)]
            elif parts[0] == "cp":  # its second part names the kind of copy
                parts = [part for part in parts if part != "multimem"]
        if parts[0] in ANYWHERE_TYPED and type_bits(parts[-1]) is None:
            types = [part for part in parts[1:] if type_bits(part) is not None]
            if types:
                parts.remove(types[-1])
                parts.append(types[-1])
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def _result(self) -> PtxOperand | None:
        """The operand that it writes."""
        parts = self.parts
        if parts[0] in NO_RESULT or not self.operands:
            return None
        if parts[0] in ("bar", "barrier") and "red" not in parts:
            return None
        if parts[0] == "wgmma" and parts[1] != "mma_async":
            return None
        if parts[0] == "tcgen05" and parts[1] != "ld":
            return None
        first = self.operands[0]
        return None if isinstance(first, Address | Immediate) else first

    @property
    def is_arithmetic(self) -> bool:
        """Whether it computes registers from registers of the same lane, and does nothing else.

        >>> PtxInstruction(0, "vadd4.s32.s32.s32", (), 1).is_arithmetic
        True
        >>> PtxInstruction(0, "shfl.sync.idx.b32", (), 1).is_arithmetic
        False
        """
        name = self.parts[0]
        return name in scalar.names() or name == "cvta"

    @cached_property
    def registers(self) -> tuple[tuple[Register, ...], tuple[Register, ...]]:
        """The registers that it reads, each once, and those that it writes, in their order."""
        result = self._result
        written = [*registers_of(result)]
        operands = self.operands if result is None else self.operands[1:]
        while self.parts[0] == "tcgen05" and written and not isinstance(operands[0], Address):
            written += registers_of(operands[0])  # .red and .spcompress have more results
            operands = operands[1:]
        read = [register for operand in operands for register in registers_of(operand)]
        return tuple(dict.fromkeys([*read, *registers_of(self.guard)])), tuple(written)

    @cached_property
    def effects(self) -> tuple[frozenset[int], frozenset[int]]:
        """The registers that it reads, and those that it writes, by their numbers.

        The accumulators of a wgmma count as written only: whether it reads them depends on scale-d.

        >>> r = [Register(number, f"%r{number}", "b32") for number in range(3)]
        >>> [sorted(registers) for registers in PtxInstruction(0, "add.u32", (r[0], r[1], r[2]), 1).effects]
        [[1, 2], [0]]
        """
        read, written = self.registers
        return frozenset(register.index for register in read), frozenset(
            register.index for register in written
        )

    @property
    def source(self) -> SourceLocation | None:
        """Its location in the kernel's own file: code inlined from a header belongs to the call."""
        locations = []
        location = self.location
        while location is not None:
            locations.append(location)
            location = location.inlined_at
        return next((outer for outer in locations if outer.file == locations[-1].file), None)

    @property
    def source_line(self) -> int:
        """Its line in the kernel's source, or in the PTX if it has none."""
        source = self.source
        return self.line if source is None else source.line

    @property
    def has_line(self) -> bool:
        """Whether it belongs to a source line; NVRTC gives line 0 to the ends of branches that it merges."""
        return self.source is not None and self.source_line > 0

    @property
    def call_line(self) -> int | None:
        """The line of the kernel that calls the function it was inlined from; None if it was not inlined."""
        source = self.source
        return None if source is None or source.inlined_at is None else outermost(source).line

    @property
    def headers(self) -> tuple[SourceLocation, ...]:
        """Its location, if that is in another file than the kernel's own, e.g. a header.

        If yet another header calls it, the location of that call follows. Headers of Python frameworks are
        left out.
        """
        source, location = self.source, self.location
        if source is None or location is None or location.file == source.file:
            return ()
        call = location
        while call.inlined_at is not None and call.inlined_at.file != source.file:
            call = call.inlined_at
        hidden = _HEADERS if source.file.endswith(".py") else ()
        return tuple(
            header
            for header in dict.fromkeys((location, location if call.file == location.file else call))
            if PurePath(header.file).name != SOURCE_NAME  # that text is not a file that one can open
            and PurePath(header.file).suffix not in hidden
        )

    @property
    def inlining(self) -> str:
        """Where its function is and where it is called, for messages; empty if it is in the kernel itself."""
        lines = [f"line {header.line} of {PurePath(header.file).name}" for header in self.headers]
        places = ["from " + ", in ".join(lines)] if lines else []
        return ", ".join(places if self.call_line is None else (*places, f"called in line {self.call_line}"))

    @property
    def where(self) -> str:
        """Its source line, or else its PTX line, for messages."""
        source = self.source
        if source is None or not self.has_line:
            return f"PTX line {self.line}"
        return ", ".join(filter(None, (f"{PurePath(source.file).name}:{source.line}", self.inlining)))


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter; an array without a size, e.g. dynamic shared memory, has `count` None."""

    name: str
    space: str
    type: str
    align: int
    count: int | None = 1
    vector: int = 1
    pointer: bool = False  # a parameter that `.ptr` marks
    array: bool = False
    #: Initial values: numbers, or symbols, whose generic addresses are meant.
    values: tuple[int | Symbol, ...] | None = None
    linkage: str = ""  # "visible", "extern", "weak" or "common"
    line: int = 0

    @property
    def defined(self) -> bool:
        """Whether it is defined, not only declared; dynamic shared memory is only declared."""
        return self.linkage != "extern"

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return max(1, (type_bits(self.type) or 8) // 8) * self.vector

    @property
    def size(self) -> int:
        """Bytes of all elements; 0 if it has no size."""
        return self.element_bytes * (self.count or 0)


@dataclass(frozen=True)
class Function:
    """A kernel (`.entry`) or a device function (`.func`)."""

    name: str
    entry: bool
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    registers: tuple[Register, ...] = ()
    variables: tuple[Variable, ...] = ()  # shared and local memory, arguments of calls
    instructions: tuple[PtxInstruction, ...] = ()
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)  # maxntid, reqntid, ...
    defined: bool = True
    linkage: str = ""  # "visible", "extern" or "weak"
    #: From which instruction threads come to an end without `ret`: the compiler left out what follows.
    open_end: PtxInstruction | None = None


#: Functions that the driver provides.
BUILT_IN = ("vprintf", "__assertfail", "malloc", "free")


@dataclass(frozen=True)
class Module:
    """A PTX module."""

    version: tuple[int, int]
    target: str
    functions: dict[str, Function]
    variables: dict[str, Variable]
    debug: bool = False  # to be assembled without optimisation

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of its kernels."""
        return tuple(name for name, function in self.functions.items() if function.entry)

    @property
    def instructions(self) -> Iterator[PtxInstruction]:
        """The instructions of all functions."""
        return chain.from_iterable(function.instructions for function in self.functions.values())

    def reads_special(self, prefix: str) -> bool:
        """Whether an instruction reads a special register whose name has this prefix."""
        return any(
            isinstance(operand, Special) and operand.name.startswith(prefix)
            for instruction in self.instructions
            for operand in instruction.operands
        )
