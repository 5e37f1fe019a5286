"""What LLVM IR consists of: types with their layout in memory, values, instructions, functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

#: The bits of floating-point types.
FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


@dataclass(frozen=True)
class Type:
    """A type: `kind` is int, ptr, array, vector, struct, void, label, metadata, or a name of `FLOAT_BITS`.

    `count` is the width of an int, the address space of a pointer, the length of an array or vector.
    """

    kind: str
    count: int = 0
    elements: tuple[Type, ...] = ()
    packed: bool = False

    def element(self, index: int) -> Type:
        """The type of an element of a struct, an array or a vector."""
        return self.elements[index if self.kind == "struct" else 0]

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of all elements."""
        return self.elements if self.kind == "struct" else self.elements * self.count

    @property
    def bits(self) -> int:
        """The width of a scalar; 64 for a pointer, and for what has none."""
        if self.kind == "int":
            return self.count
        return FLOAT_BITS.get(self.kind, 64)


VOID = Type("void")


def rounded_up(value: int, unit: int) -> int:
    """The next multiple of a unit."""
    return -(-value // unit) * unit


@lru_cache(maxsize=4096)
def align_of(type_: Type) -> int:
    """The alignment of a type in bytes, by the data layout of NVPTX."""
    if type_.kind == "struct":
        return 1 if type_.packed else max((align_of(element) for element in type_.elements), default=1)
    if type_.kind == "array":
        return align_of(type_.elements[0])
    return min(1 << (_bytes(type_) - 1).bit_length(), 16 if type_.kind == "int" else 1 << 20)


@lru_cache(maxsize=4096)
def size_of(type_: Type) -> int:
    """The bytes from one element of an array of this type to the next."""
    if type_.kind == "struct":
        end = 0
        for element in type_.elements:
            end = rounded_up(end, 1 if type_.packed else align_of(element)) + size_of(element)
        return rounded_up(end, align_of(type_))
    if type_.kind == "array":
        return type_.count * size_of(type_.elements[0])
    return rounded_up(_bytes(type_), align_of(type_))


def _bytes(type_: Type) -> int:
    """The bytes that the bits of a scalar or a vector take."""
    bits = type_.count * type_.elements[0].bits if type_.kind == "vector" else type_.bits
    return max(1, -(-bits // 8))


def offset_of(type_: Type, index: int) -> int:
    """Where an element of a struct, an array or a vector begins."""
    if type_.kind != "struct":
        return index * size_of(type_.elements[0])
    end = 0
    for element in type_.elements[: index + 1]:
        start = rounded_up(end, 1 if type_.packed else align_of(element))
        end = start + size_of(element)
    return start


@lru_cache(maxsize=4096)
def leaves_of(type_: Type) -> tuple[tuple[Type, int], ...]:
    """The scalars of a type and where they begin; an integer of more than 64 bits is words of 64."""
    if type_.kind in ("struct", "array", "vector"):
        return tuple(
            (leaf, offset_of(type_, index) + offset)
            for index, part in enumerate(type_.parts)
            for leaf, offset in leaves_of(part)
        )
    if type_.kind == "int" and type_.count > 64:
        words = -(-type_.count // 64)
        rest = Type("int", type_.count - 64 * (words - 1))
        return (*((Type("int", 64), 8 * word) for word in range(words - 1)), (rest, 8 * (words - 1)))
    return () if type_.kind == "void" else ((type_, 0),)


@dataclass(frozen=True)
class Local:
    """A result of an instruction, or a parameter."""

    type: Type
    name: str


@dataclass(frozen=True)
class Global:
    """The address of a variable or a function of the module."""

    type: Type
    name: str


@dataclass(frozen=True)
class Constant:
    """A constant: the bits of a scalar, the elements of an aggregate, or None for zero and for undef."""

    type: Type
    value: int | tuple[Value, ...] | None
    undefined: bool = False


@dataclass(frozen=True)
class Assembly:
    """Inline assembly, as what is called."""

    text: str
    constraints: str


@dataclass(frozen=True)
class Metadata:
    """An argument that is metadata."""

    text: str
    type: Type = Type("metadata")


@dataclass(eq=False)
class Instruction:
    """An instruction, or a constant expression.

    `words` are its flags, predicates, orderings and metadata; `source` is the type that `getelementptr`
    steps through, or that `alloca` reserves; `indices` are those of `extractvalue` and `insertvalue`, or a
    mask of `shufflevector`; `labels` are targets, or the blocks from which a `phi` comes.
    """

    op: str
    type: Type
    arguments: list[Value] = field(default_factory=list)
    name: str = ""
    words: frozenset[str] = frozenset()
    predicate: str = ""
    source: Type = VOID
    indices: tuple[int, ...] = ()
    labels: list[str] = field(default_factory=list)
    callee: Value | Assembly | None = None
    attributes: list[dict[str, object]] = field(default_factory=list)  # of the arguments of a call
    align: int = 0
    location: str = ""  # the number of its metadata


Value = Local | Global | Constant | Metadata | Instruction


@dataclass
class Block:
    """A basic block."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass
class Function:
    """A function; `parameters` are their types, attributes and names."""

    name: str
    returns: Type
    parameters: list[tuple[Type, dict[str, object], str]]
    words: frozenset[str]
    attributes: dict[str, str]
    blocks: list[Block] = field(default_factory=list)
    location: str = ""


@dataclass
class Variable:
    """A global variable."""

    name: str
    type: Type
    space: int
    value: Value | None
    align: int
    words: frozenset[str]


@dataclass
class Module:
    """What an IR text describes; metadata is text by number."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
