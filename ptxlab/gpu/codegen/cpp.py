"""What generated kernels share, in CUDA C++: parameters, asm operands, offsets of bytes in tiles."""

from __future__ import annotations

from collections.abc import Sequence

from ...isa.mma import Instruction
from ...isa.operand import Operand
from ...memory import Modes, Tile

#: Name of the kernel in the source of every mma, wmma and wgmma.
NAME = "ptxlab_mma"


def register_word(operand: Operand) -> str:
    """The C++ type of one register."""
    return "unsigned long long" if operand.register_bits == 64 else "unsigned int"


def constraint(operand: Operand) -> str:
    """The constraint of one register in inline assembly, as an integer."""
    return "l" if operand.register_bits == 64 else "r"


class AsmOperands:
    """The operands of an asm statement, numbered in the order in which they are added; outputs come first.

    `names` has the numbers of each operand's registers, for `with_names`.

    >>> operands = AsmOperands()
    >>> operands.add("d", "=r", ["d[0]", "d[1]"])
    >>> operands.add("p", "l", ["address"])
    >>> operands.names, operands.outputs, operands.inputs
    ({'d': ['%0', '%1'], 'p': ['%2']}, ['"=r"(d[0])', '"=r"(d[1])'], ['"l"(address)'])
    """

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}
        self.outputs: list[str] = []
        self.inputs: list[str] = []

    def add(self, name: str, constraint: str, expressions: Sequence[str]) -> None:
        """Add an operand by the C++ expressions of its registers; the constraint of an output has = or +."""
        first = len(self.outputs) + len(self.inputs)
        self.names[name] = [f"%{first + i}" for i in range(len(expressions))]
        operands = self.outputs if constraint[0] in "=+" else self.inputs
        operands += [f'"{constraint}"({expression})' for expression in expressions]

    def add_registers(self, operand: Operand, array: str = "", sign: str = "") -> None:
        """Add all registers of an operand, in an array of its own name or another."""
        name = operand.name.lower()
        registers = [f"{array or name}[{r}]" for r in range(operand.registers)]
        self.add(name, f"{sign}{constraint(operand)}", registers)


def code_word(operand: Operand) -> str:
    """The C++ type of one element code of an operand in shared memory, as NumPy passes it."""
    return {8: "unsigned char", 16: "unsigned short", 32: "unsigned int"}[max(8, operand.dtype.bits)]


def title(ins: Instruction) -> str:
    """A comment line for each operand."""
    return "\n// ".join(operand.describe() for operand in ins.operands.values())


def parameters(ins: Instruction) -> str:
    """Pointers to the inputs of the kernel, and to D."""
    inputs = []
    for operand in ins.inputs.values():
        word = code_word(operand) if operand.space == "shared" else register_word(operand)
        inputs.append(f"const {word}* {operand.name}")
    return f"{', '.join(inputs)},\n    {register_word(ins.d)}* D"


def pointer(operand: Operand) -> str:
    """The declaration of a pointer to a lane's registers of an operand."""
    start = f"{operand.name} + (i * {operand.lanes} + lane) * {operand.registers}"
    return f"        const {register_word(operand)}* {operand.name.lower()} = {start};"


def stores(ins: Instruction) -> str:
    """The loop that stores a lane's registers of D."""
    start = f"(i * {ins.lanes} + lane) * {ins.d.registers}"
    return f"        for (int r = 0; r < {ins.d.registers}; ++r) D[{start} + r] = d[r];"


def _index_terms(index: str, modes: Modes) -> list[str]:
    """An index through its modes as C++ terms: ``row % 8 * 16``, ``row / 8 * 512``."""
    terms = []
    below = 1
    used = [mode for mode in modes if mode[0] > 1]
    for number, (size, step) in enumerate(used):
        term = index
        if below > 1:
            term += f" / {below}"
        if number < len(used) - 1:
            term += f" % {size}"
        if step != 1:
            term += f" * {step}"
        terms.append(term)
        below *= size
    return terms


def byte_offset(tile: Tile, row: str = "row", k: str = "k") -> str:
    """The offset of element (row, k) in the tile before swizzling, in bytes, as a C++ expression."""
    rows, ks = tile.modes
    elements = " + ".join(_index_terms(row, rows) + _index_terms(k, ks))
    if tile.bits == 8:
        return elements
    if tile.bits > 8:
        return f"({elements}) * {tile.bits // 8}"
    return f"({elements}) / {8 // tile.bits}"


def swizzling(tile: Tile) -> list[str]:
    """The statement that swizzles `at`, an offset in the tile; none for a tile without a swizzle."""
    if not tile.swizzle:
        return []
    if tile.chunk == 32:
        return ["    at ^= (at >> 7 & 3) << 5;"]
    return [f"    at ^= (at >> 7 & {tile.swizzle // 16 - 1}) << 4;"]
