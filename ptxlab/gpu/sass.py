"""What a chip really runs: an instruction as an asm statement, and the machine code (SASS) that CUDA's compiler makes of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from .. import gpu
from ..errors import PtxlabError, listing
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from .codegen import ptx_line

__all__ = ["NAME", "Sass", "declarations", "read", "sass", "source", "statement", "survey"]

#: Name of the kernel that is disassembled.
NAME = "ptxlab_sass"

_TENSOR = re.compile(r"(?:[HIBDQO]G?MMA|UTC\w+)(?=\.|$)")
_MOVERS = re.compile(r"(?:LDSM|STSM|MOVM)(?=\.|$)")
#: What brings operands in and out, or waits; everything else computes.
_PLAIN = re.compile(
    r"(?:LDG|LDS|LDC|LD|LDL|ULDC|LDCU|STG|STS|ST|STL|MOV(?:\d\w*)?|UMOV(?:\d\w*)?|S2R|S2UR|CS2R|CS2UR|R2UR|UR2R|NOP|EXIT|RET|BRA|CALL|WARPSYNC|WARPGROUP|"
    r"WARPGROUPSET|DEPBAR|BAR|FENCE|MEMBAR|ERRBAR|CCTL|BSSY|BSYNC|ACQBULK|UCGABAR_ARV|SYNCS|UTMACMDFLUSH|ENDCOLLECTIVE|IMAD\.MOV|IMAD\.U32)(?=\.|$)"
)
#: A line of nvdisasm: address, predicate, opcode, operands.
_LINE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)([^;]*);", re.MULTILINE)
_ZERO_MOVE = (
    re.compile(r"HFMA2(\.MMA)?$"),
    re.compile(r"^\s*\w+, -RZ, RZ, "),
)  # a constant put into a register through the f16 unit
_PADDING = re.compile(r"(\.L_x_\d+):\s+/\*[0-9a-f]+\*/\s+BRA `\(\1\)\s*;(\s+/\*[0-9a-f]+\*/\s+NOP\s*;)*\s*")

_CPP_TYPES = {"f": "float", "d": "double", "r": "unsigned int", "l": "unsigned long long"}


# -- the statement ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Name:
    """A %name of the PTX line: the C++ array or variable behind it."""

    array: str
    index: int | None
    constraint: str
    address: bool = False  # a pointer or a descriptor

    @property
    def cpp(self) -> str:
        return self.array if self.index is None else f"{self.array}[{self.index}]"


def _line(ins: Form, modifiers: Modifiers | None) -> str:
    return ptx_line(ins, modifiers)


def _names(ins: Form, line: str) -> Iterator[_Name]:
    """Every %name of the line in its order."""
    operands = {name.lower(): operand for name, operand in ins.operands.items()}
    for found in re.finditer(r"(\[?)%([a-z_]+)(\d*)", line, flags=re.IGNORECASE):
        bracket, name, number = found.groups()
        operand = operands.get(name.lower())
        address = bool(bracket) or name.endswith("_desc")
        if address:
            constraint = "r" if bracket and ".shared" in line else "l"
        elif operand is None:
            constraint = "r"
        else:
            constraint = {"f32": "f", "f64": "d"}.get(operand.dtype.name) or (
                "l" if operand.register_bits == 64 else "r"
            )
        yield _Name(name, int(number) if number else None, constraint, address)


def _numbered(line: str) -> str:
    """The line with its names replaced by the numbers of an asm statement; one that comes twice keeps its number."""
    numbers: dict[str, int] = {}
    return re.sub(r"%\w+", lambda found: f"%{numbers.setdefault(found[0], len(numbers))}", line)


def _written(line: str) -> int:
    """How many names the instruction writes: those of the first operand, unless that is an address."""
    first = re.match(r"\S+\s+(\{[^}]*\}|[^,]+)", line)
    return 0 if first is None or first[1].startswith("[") else first[1].count("%")


def declarations(ins: Form) -> str:
    """The registers that the statement names, as C++ declares them.

    >>> import ptxlab
    >>> declarations(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    'float d[4], c[4]; unsigned int a[4], b[2];'
    """
    return " ".join(_declared(_names(ins, ptx_line(ins))))


def statement(ins: Form, modifiers: Modifiers | None = None) -> str:
    """The instruction as one writes it in CUDA C++: an asm statement with its constraints.

    >>> import ptxlab
    >>> print(statement(ptxlab.instruction("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32")))
    asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 "
                 "{%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(a[0]),
                   "r"(b[0]),
                   "r"(c[0]), "r"(c[1]));
    """
    line = _line(ins, modifiers)
    names, split = list(dict.fromkeys(_names(ins, line))), _written(line)
    asynchronous = line.startswith("wgmma")
    mnemonic, operands = _numbered(line).split(" ", 1)
    text = [f'"{mnemonic} "', f'"{operands}"']
    inputs = _constraints(names[split:], "")
    if asynchronous:
        text = [
            '"{ .reg .pred scale_d; "',
            f'"setp.ne.b32 scale_d, %{len(names)}, 0; "',
            text[0],
            f'{text[1][:-1]} }}"',
        ]
        inputs.append(f'"r"({int(modifiers.scale_d) if modifiers else 1})')
    indent = "\n" + " " * len("asm volatile(")
    outputs = _constraints(names[:split], "+" if asynchronous else "=")
    parts = [
        *text,
        _clause(outputs, indent),
        _clause(inputs, indent),
        *([': "memory"'] if "[" in operands else []),
    ]
    said = f"asm volatile({indent.join(parts)});"
    if not asynchronous:
        return said
    before, *after = (f'asm volatile("wgmma.{what};" ::: "memory");' for what in _ASYNC)
    return "\n".join([before, said, *after])


def _constraints(names: list[_Name], sign: str) -> list[str]:
    """The constraints of every operand, the registers of one together."""
    arrays: dict[str, list[str]] = {}
    for name in names:
        arrays.setdefault(name.array, []).append(f'"{sign}{name.constraint}"({name.cpp})')
    return [", ".join(registers) for registers in arrays.values()]


def _clause(lines: list[str], indent: str) -> str:
    return f": {f',{indent}  '.join(lines)}".rstrip()


_ASYNC = ("fence.sync.aligned", "commit_group.sync.aligned", "wait_group.sync.aligned 0")


def source(ins: Form, modifiers: Modifiers | None = None, name: str = NAME) -> str:
    """The smallest kernel around it: load, the one instruction, store. A lane computes one address and finds its registers 256 bytes apart.

    >>> import ptxlab
    >>> source(ptxlab.instruction("movmatrix.sync.aligned.m8n8.trans.b16")).splitlines()[4]
    '    a[0] = *(unsigned int*)(memory + 256);'
    """
    line = _line(ins, modifiers)
    names, split = list(dict.fromkeys(_names(ins, line))), _written(line)
    parameters = ["char* memory", *(f"{_CPP_TYPES[it.constraint]} {it.array}" for it in names if it.address)]
    places = {
        it: f"*({_CPP_TYPES[it.constraint]}*)(memory + {256 * i})"
        for i, it in enumerate(names)
        if not it.address
    }
    loads = [
        f"{it.cpp} = {place};"
        for i, (it, place) in enumerate(places.items())
        if i >= split or line.startswith("wgmma")
    ]
    stores = [f"{place} = {it.cpp};" for i, (it, place) in enumerate(places.items()) if i < split]
    own = ["memory += 8 * threadIdx.x;"] if loads else []
    lines = [*own, *_declared(places), *loads, *statement(ins, modifiers).splitlines(), *stores]
    body = "\n".join(f"    {text}" for text in lines)
    return f'extern "C" __global__ void {name}({", ".join(parameters)})\n{{\n{body}\n}}\n'


def _declared(names: Iterable[_Name]) -> list[str]:
    """``unsigned int a[4], b[2];`` and so on, types in the order of their first register."""
    lengths: dict[str, dict[str, int]] = {}
    for name in names:
        arrays = lengths.setdefault(_CPP_TYPES[name.constraint], {})
        arrays[name.array] = max(arrays.get(name.array, 0), 0 if name.index is None else name.index + 1)
    return [
        f"{kind} {', '.join(f'{a}[{size}]' if size else a for a, size in arrays.items())};"
        for kind, arrays in lengths.items()
    ]


# -- the machine code -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sass:
    """The machine code of one instruction for one target.

    >>> str(Sass("sm_90a", {"HMMA.16816.F32": 2}, {"F2FP.F16.E4M3.UNPACK_B": 12, "FADD": 4}, 30, ""))
    'emulated: 2 HMMA.16816.F32, 16 around them (12 F2FP, 4 FADD)'
    """

    target: str
    tensor: dict[
        str, int
    ]  # tensor-core instructions (of ldmatrix and its kin: what moves matrices), with counts
    arithmetic: dict[str, int]  # what else computes
    rest: int  # all but the tensor-core instructions: loads, stores, moves, and the arithmetic
    listing: str
    moves: bool = False  # an instruction that moves a matrix: its arithmetic is on addresses

    @property
    def native(self) -> bool:
        """Whether the chip has the instruction itself: one tensor-core instruction, and no arithmetic around it."""
        return sum(self.tensor.values()) == 1 and (self.moves or not self.arithmetic)

    @property
    def how(self) -> str:
        """native; split into several tensor-core instructions; emulated by arithmetic, around some or without; plain loads and stores."""
        if self.native:
            return "native"
        return "plain" if self.moves else "emulated" if self.arithmetic else "split"

    def __str__(self) -> str:
        """``native: 1 IMMA.16864.S4.S4``."""
        short: Counter[str] = Counter()
        for opcode, count in self.arithmetic.items():
            short[opcode.split(".")[0]] += count
        runs = (
            ", ".join(f"{count} {opcode}" for opcode, count in self.tensor.items()) or "no matrix instruction"
        )
        if not short or (self.moves and self.native):
            return f"{self.how}: {runs}"
        others = listing((f"{count} {name}" for name, count in short.most_common()), 4)
        around = (
            f"{short.total()} around {'it' if sum(self.tensor.values()) == 1 else 'them'}"
            if self.tensor
            else f"{short.total()} others"
        )
        return f"{self.how}: {runs}, {around} ({others})"


def sass(ins: Form, target: str = "sm_90a", modifiers: Modifiers | None = None) -> Sass:
    """Compile the smallest kernel with this instruction for that target and read its machine code; needs no GPU.

    NVRTC and nvdisasm are optional packages: where one is missing, the error says what to install.

    >>> import ptxlab
    >>> sass(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "sm_80").tensor
    {'IMMA.16864.S4.S4': 1}
    """
    if modifiers is not None:
        if not isinstance(ins, MmaForm):
            raise PtxlabError(f"{ins.mnemonic} takes no modifiers")
        ins.check_modifiers(modifiers)
    (found,) = _compiled({NAME: ins}, target, modifiers)
    return found


def survey(instructions: Iterable[Form], target: str, at_a_time: int = 48) -> Iterator[Sass]:
    """The machine code of many instructions, in their order: kernels share a compilation, which takes a fifth of the time of `sass` for each.

    >>> import ptxlab
    >>> [found.how for found in survey(ptxlab.catalog("ldmatrix", "sm_75"), "sm_75")]
    ['native', 'native', 'native', 'native', 'native', 'native']
    """
    rest = iter(instructions)
    while part := list(islice(rest, at_a_time)):
        yield from _compiled({f"{NAME}_{i}": ins for i, ins in enumerate(part)}, target)


def _compiled(kernels: dict[str, Form], target: str, modifiers: Modifiers | None = None) -> Iterator[Sass]:
    """The machine code of kernels, each with a name and an instruction, in one compilation and one disassembly."""
    for ins in kernels.values():
        if not ins.supports(target):
            raise PtxlabError(
                f"{target} lacks {ins.mnemonic}; targets that have it: {listing(ins.targets, 30)}"
            )
    text = gpu.disassemble(
        gpu.compile("\n".join(source(ins, modifiers, name) for name, ins in kernels.items()), target)
    )
    for name, ins in kernels.items():
        yield read(text, target, name, moves=not isinstance(ins, MmaForm))


def read(text: str, target: str, name: str = NAME, *, moves: bool = False) -> Sass:
    """The counts of nvdisasm's listing of one kernel; `moves` says that its instruction moves a matrix.

    >>> read(".text.k:\\n  /*0000*/  HMMA.16816.F32 R4, R4, R8, R12 ;\\n  /*0010*/  EXIT ;\\n", "sm_80", "k").tensor
    {'HMMA.16816.F32': 1}
    """
    found = re.search(
        rf"^\.text\.{name}:\n(.*?)(?=\n\.L_x_\d+:\s*(?:\n\s*\n|\Z)|\n//---|\Z)",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    if found is None:
        raise PtxlabError(f"the listing for {target} has no kernel {name}")
    code = _PADDING.sub("", found[1]).rstrip()
    tensor: Counter[str] = Counter()
    others: Counter[str] = Counter()
    rest = 0
    addressed = "LDG" not in code  # what stands before the first load computes the address of the lane
    for predicate, opcode, operands in _LINE.findall(code):
        addressed = addressed or opcode.startswith("LDG")
        if predicate in ("!PT", "!UPT") or opcode == "NOP":  # never runs: fills a slot
            continue
        if _TENSOR.match(opcode):
            tensor[opcode] += 1
            continue
        rest += 1
        plain = _PLAIN.match(opcode) or all(
            pattern.match(part) for pattern, part in zip(_ZERO_MOVE, (opcode, operands), strict=True)
        )
        if addressed and not plain:
            others[opcode] += 1
    if moves:
        tensor = Counter({opcode: others.pop(opcode) for opcode in list(others) if _MOVERS.match(opcode)})
        rest -= tensor.total()
    shown = "\n".join(re.sub(r"^\s+/\*([0-9a-f]+)\*/\s+", r"  /*\1*/  ", line) for line in code.splitlines())
    return Sass(target, dict(tensor), dict(others), rest, shown, moves)
