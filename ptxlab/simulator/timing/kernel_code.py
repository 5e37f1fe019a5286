"""The machine code of a kernel, each instruction with the PTX instruction that it comes from.

The assembler keeps source lines. It gets PTX in which every instruction has a line of its own, so its line
table says which PTX instruction a machine instruction belongs to. How instructions wait for each other is
part of their encoding: the cycles until the next may issue (`stall`), which of six scoreboards a slow one
sets until it has written its result or read its operands, and which of them an instruction waits for.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile

from ...errors import PtxlabError
from ...gpu.compiler import assembler_versions, compile_kernel, link_modules
from ...gpu.disk_cache import key_of, read_entry, write_entry
from ...gpu.sass import disassemble
from ..ptx.syntax import Immediate, Module, Register

_BYTES = 16  # of a machine instruction
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"[\w$%]+\s*:(?!:)")
_LINE_DIRECTIVE = re.compile(r"\.(loc|file)\b")
_TO_LINE_END = re.compile(r"\.(loc|file|version|target|address_size)\b")
_LISTED = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?)(U?P\w+)\s+)?([A-Z][\w.]*)([^;]*);")
_TARGET = re.compile(r"^(\.L_x_\w+):")
_BRANCH = re.compile(r"`\((\.L_x_\w+)\)")
_LINE = re.compile(r'//## File "[^"]*", line (\d+)')
_SHARED = re.compile(r"(\.shared\s+\.align\s+)(\d+)(\s+\.b8\s+[\w$]+\[)")
_INTERNAL = re.compile(r"^(\$__internal_[^:\n]+):$", re.MULTILINE)
_WIDTH = re.compile(r"(?:LDS|STS)(?:\.\w+)*\.(64|128)\b")


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    """One instruction of the machine code, and how it waits.

    `origin` is the number of the PTX instruction in the module, -1 for none. After it the warp pauses `stall`
    cycles. It sets the scoreboard `writes` until its result is written, `reads` until its operands are read;
    7 is none. It waits for the scoreboards whose bits are in `waits`. If it `leads`, a basic block begins
    with it.
    """

    address: int
    opcode: str
    operands: str
    idle: bool  # its guard is never true: it only fills an issue slot
    origin: int
    stall: int
    writes: int
    reads: int
    waits: int
    leads: bool = False  # it is the target of a branch, or follows one
    loops: int = 0  # number of loops around it

    @property
    def name(self) -> str:
        """The opcode without what follows its first dot."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True)
class KernelCode:
    """A kernel's machine code, and the registers of each thread."""

    instructions: tuple[MachineInstruction, ...]
    registers: int


def numbered(text: str) -> tuple[str, int]:
    """PTX in which `.loc` gives each instruction of the module its number, from 1; and how many there are.

    The text's own `.loc` and `.file` are left out.

    >>> text, count = numbered(".entry k() { .reg .b32 %r; L: mov.b32 %r, 0; add.u32 %r, %r, 1; ret; }")
    >>> count, text.count(".loc")
    (3, 3)
    """
    plain = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    cut = plain.find(".section")
    if cut >= 0:
        plain = plain[:cut]
    plain = _SHARED.sub(_aligned, plain)
    parts: list[str] = []
    count = depth = 0
    place, end = 0, len(plain)
    while place < end:
        if plain[place].isspace() or plain[place] == ";":
            parts.append(plain[place])
            place += 1
            continue
        if plain[place] in "{}":
            depth += 1 if plain[place] == "{" else -1
            parts.append(plain[place])
            place += 1
            continue
        label = _LABEL.match(plain, place)
        if label is not None and depth:
            parts.append(label[0])
            place = label.end()
            continue
        after = _statement_end(plain, place, depth)
        statement = plain[place:after]
        place = after
        if _LINE_DIRECTIVE.match(statement):
            continue
        if depth and not statement.startswith("."):
            count += 1
            parts.append(f"\n.loc 1 {count} 0\n")
        parts.append(statement)
    return "".join(parts) + '\n.file 1 "ptx"\n', count


def _aligned(match: re.Match[str]) -> str:
    """An array in shared memory as the assembler places it without linking: at a multiple of 16."""
    return f"{match[1]}{max(int(match[2]), 16)}{match[3]}"


def _statement_end(text: str, start: int, depth: int) -> int:
    """Where a statement ends: after its semicolon, at a brace, or for `.loc` and the like with its line."""
    if _TO_LINE_END.match(text, start):
        end = text.find("\n", start)
        return len(text) if end < 0 else end
    braces = 0
    for place in range(start, len(text)):
        character = text[place]
        if character == "{":
            if not depth and "=" not in text[start:place]:
                return place  # of a function
            braces += 1
        elif character == "}":
            if not braces:
                return place
            braces -= 1
        elif character == ";" and not braces:
            return place + 1
    return len(text)


@lru_cache(maxsize=32)
def machine_code(
    texts: tuple[str, ...], entry: str, target: str, count: int, functions: tuple[str, ...] = ()
) -> KernelCode:
    """The machine code of a kernel, and of functions that it may call; its module has `count` instructions.

    Only instructions of the first of linked modules are numbered.
    """
    text, found = numbered(texts[0])
    if len(texts) == 1 and found != count:
        raise PtxlabError(
            f"the time of {entry} cannot be predicted: its module has {count} instructions, {found} of "
            "them in the text"
        )
    code = _cubin((text, *texts[1:]), entry, target)
    sections = _sections(code)
    entry = _KERNEL if f".text.{_KERNEL}" in sections else entry
    words = sections.get(f".text.{entry}")
    if words is None:
        raise PtxlabError(f"the machine code has no kernel {entry}")
    listing = disassemble(code, lines=True)
    instructions = _instructions(listing, entry, words)
    for name in functions:
        if f".text.{name}" in sections and instructions:
            behind = instructions[-1].address + _BYTES
            called = _instructions(listing, name, sections[f".text.{name}"])
            instructions += [
                replace(instruction, address=behind + instruction.address) for instruction in called
            ]
    return KernelCode(tuple(instructions), _registers(sections, entry))


def registers(texts: tuple[str, ...], entry: str, target: str) -> int:
    """The registers of each thread in that machine code, without disassembling it."""
    sections = _sections(_cubin((numbered(texts[0])[0], *texts[1:]), entry, target))
    return _registers(sections, _KERNEL if f".text.{_KERNEL}" in sections else entry)


def _cubin(texts: tuple[str, ...], entry: str, target: str) -> bytes:
    """The machine code of modules, the first of which is numbered; cached."""
    key = f"{key_of(*texts, entry, target, *assembler_versions())}.alone.cubin"
    code = read_entry(key)
    if code is None:
        code = _assembled(texts[0], entry, target) if len(texts) == 1 else None
        code = code or link_modules(texts, target)
        write_entry(key, code)
    return code


_KERNEL = "ptxlab_timed_kernel"
_ENTRY = r"\.entry\s+{}\s*(?:\(([^)]*)\))?([^{{]*)\{{"
_PARAMETER = re.compile(
    r"\s*\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)(?:\s+\.[\w.\s]+?)?\s+([\w$%]+)(?:\[(\d+)\])?\s*"
)
_MODULE_SHARED = re.compile(r"(?:\.extern\s+)?(\.shared\s+\.align\s+\d+\s+\.b8\s+[\w$]+\[)(\d*)\]\s*;")
_VARIABLE = re.compile(
    r"\.(?:global|const|shared|tex|func)\b[^;]*?([A-Za-z_$][\w$]*)\s*(?:\[[^;]*|=[^;]*|\([^;]*)?;"
)
_WORDS = {"8": "unsigned char", "16": "unsigned short", "32": "unsigned", "64": "unsigned long long"}


def _assembled(text: str, entry: str, target: str) -> bytes | None:
    """A kernel alone, as a driver assembles it; None if it needs more of the module or NVRTC refuses it.

    For linking, the assembler makes other code, with other registers, to allow for what it does not know.
    NVRTC does not link, so it gets the kernel's PTX as inline assembly.
    """
    head = re.search(_ENTRY.format(re.escape(entry)), text)
    if head is None:
        return None
    depth, end = 1, head.end()
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    body, others = text[head.end() : end - 1], text[: head.start()] + text[end:]
    shared = "".join(f"{start}{size or 16}];\n" for start, size in _MODULE_SHARED.findall(others))
    while "{" in (outer := re.sub(r"\{[^{}]*\}", ";", others)) and outer != others:
        others = outer
    module_names = set(_VARIABLE.findall(_MODULE_SHARED.sub("", outer)))
    if not module_names.isdisjoint(re.findall(r"[A-Za-z_$][\w$]*", body)):
        return None
    types, structures = [], []
    for number, parameter in enumerate(
        declaration for declaration in (head[1] or "").split(",") if declaration.strip()
    ):
        match = _PARAMETER.fullmatch(parameter)
        if match is None:
            return None
        types.append(_WORDS.get(match[2].strip("busf"), ""))
        if match[4]:
            structures.append(f"struct __align__({match[1] or 1}) P{number} {{ char bytes[{match[4]}]; }};\n")
            types[-1] = f"const __grid_constant__ P{number}"
        name = rf"(?<![\w$%]){re.escape(match[3])}(?![\w$%])"
        body = re.sub(name, f"{_KERNEL}_param_{number}", body)
    parameters = ", ".join(f"{kind} p{number}" for number, kind in enumerate(types))
    quoted = (shared + body).replace("\\", "\\\\").replace('"', '\\"').splitlines()
    lines = "\n".join(f'"{line}\\n"' for line in ["{", *quoted, "}"])
    source = (
        f"{''.join(structures)}#line {_NOWHERE}\n"
        f'extern "C" __global__ {_bounds(head[2])}void {_KERNEL}({parameters}) {{ asm volatile({lines}); }}'
    )
    try:
        return compile_kernel(source, target)[0]
    except PtxlabError:
        return None


_NOWHERE = 10_000_000  # a line after those of all instructions


def _bounds(directives: str) -> str:
    """The directives of a kernel about its blocks, as attributes of CUDA C++."""
    numbers = {
        name: [int(value) for value in values.split(",") if value.strip()]
        for name, values in re.findall(r"\.(\w+)\s+([\d,\s]+)", directives)
    }
    result = ""
    threads = numbers.get("maxntid") or numbers.get("reqntid")
    if threads:
        least = numbers.get("minnctapersm")
        result += f"__launch_bounds__({math.prod(threads)}{f', {least[0]}' if least else ''}) "
    if "maxnreg" in numbers:
        result += f"__maxnreg__({numbers['maxnreg'][0]}) "
    if "reqnctapercluster" in numbers:
        result += f"__cluster_dims__({', '.join(map(str, numbers['reqnctapercluster']))}) "
    return result


def instruction_numbers(module: Module) -> dict[int, int]:
    """The number of each instruction in the module, from 0, by its id."""
    return {id(instruction): number for number, instruction in enumerate(module.instructions)}


def _sections(code: bytes) -> dict[str, bytes]:
    """The sections of an ELF file, by name."""
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count, names = struct.unpack_from("<HHH", code, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, start + size * number) for number in range(count)]
    strings = headers[names][4]
    sections: dict[str, bytes] = {}
    for name, kind, _, _, offset, length, *_ in headers:
        first = strings + name
        content = b"" if kind == _WITHOUT_CONTENT else code[offset : offset + length]
        sections[code[first : code.index(0, first)].decode()] = content
    return sections


_WITHOUT_CONTENT = 8  # the type of a section that only reserves memory (SHT_NOBITS)
_REGISTERS = 0x2F  # the attribute with the number of registers of a function


def _registers(sections: dict[str, bytes], entry: str) -> int:
    """How many registers each thread of a kernel has."""
    symbols, names, notes = (sections.get(name, b"") for name in (".symtab", ".strtab", ".nv.info"))
    place = 0
    while place + 4 <= len(notes):
        kind, attribute, size = struct.unpack_from("<BBH", notes, place)
        if attribute == _REGISTERS:
            symbol, count = struct.unpack_from("<II", notes, place + 4)
            (first,) = struct.unpack_from("<I", symbols, 24 * symbol)
            if names[first : names.index(0, first)].decode() == entry:
                return int(count)
        place += 4 + (size if kind == 4 else 0)
    raise PtxlabError(f"the machine code does not say how many registers {entry} takes")


_BRANCHES = frozenset({"BRA", "EXIT", "RET", "CALL", "BRX", "JMP"})


def _instructions(listing: str, entry: str, words: bytes) -> list[MachineInstruction]:
    """The instructions of a kernel, from nvdisasm's listing and their encoding.

    Internal functions of the compiler follow it: those for rare values, e.g. of divisions, are left out;
    those for matrix instructions that the chip lacks are inlined where they are called.
    """
    section = listing.partition(f".text.{entry}:\n")[2].partition("\n//---")[0]
    kernel, *rest = _INTERNAL.split(section)
    labels: dict[str, int] = {}
    result = _listed(kernel, words, labels)
    ends = [number for number, instruction in enumerate(result) if instruction.name in ("EXIT", "RET", "BRA")]
    result = result[: ends[-1] + 1] if ends else result
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        if "_mma_" in name:
            body = list(takewhile(lambda instruction: instruction.name != "RET", _listed(text, words, {})))
            result = _with_calls(result, name, body)
    return _with_loops(result, labels)


def _listed(text: str, words: bytes, labels: dict[str, int]) -> list[MachineInstruction]:
    """The instructions of a function; its labels are added to `labels`."""
    origin, leads = 0, True
    pending: list[str] = []
    result: list[MachineInstruction] = []
    for line in text.splitlines():
        label, source = _TARGET.match(line), _LINE.search(line)
        if label is not None:
            pending.append(label[1])
        if source is not None:
            origin = int(source[1]) if int(source[1]) < _NOWHERE else 0
            continue
        match = _LISTED.match(line)
        if match is None:
            continue
        address = int(match[1], 16)
        labels |= dict.fromkeys(pending, address)
        control = int.from_bytes(words[address + 8 : address + _BYTES], "little") >> 41
        result.append(
            MachineInstruction(
                address,
                match[4],
                operands=match[5].strip(),
                idle=match[2] == "!" and match[3] in ("PT", "UPT"),
                origin=origin - 1,
                stall=control & 15,
                writes=control >> 5 & 7,
                reads=control >> 8 & 7,
                waits=control >> 11 & 63,
                leads=leads or bool(pending),
            )
        )
        leads, pending = result[-1].name in _BRANCHES, []
    return result


def _with_calls(
    code: list[MachineInstruction], function: str, body: list[MachineInstruction]
) -> list[MachineInstruction]:
    """The code with a function inlined wherever it is called."""
    result: list[MachineInstruction] = []
    called = False
    for instruction in code:
        if instruction.name == "CALL" and f"`({function})" in instruction.operands:
            result.append(replace(instruction, opcode="NOP"))
            result += [
                replace(inner, address=instruction.address, origin=instruction.origin, leads=False)
                for inner in body
            ]
            called = True
            continue
        result.append(replace(instruction, leads=False) if called else instruction)
        called = False
    return result


def _with_loops(code: list[MachineInstruction], labels: dict[str, int]) -> list[MachineInstruction]:
    """The instructions with the number of loops around each, i.e. of branches back over it."""
    loops: dict[int, int] = {}  # address of the first instruction -> of the last
    for instruction in code:
        target = _BRANCH.search(instruction.operands) if instruction.name == "BRA" else None
        first = labels.get(target[1], instruction.address) if target else instruction.address
        if first < instruction.address:
            loops[first] = max(instruction.address, loops.get(first, 0))
    around = [
        sum(first <= instruction.address <= last for first, last in loops.items()) for instruction in code
    ]
    return [replace(instruction, loops=count) for instruction, count in zip(code, around, strict=True)]


def widths(code: KernelCode) -> dict[int, int]:
    """Bytes that a lane accesses in shared memory at once, by PTX instruction, if the opcode states them.

    The assembler joins accesses to neighbouring words.
    """
    result: dict[int, int] = {}
    for instruction in code.instructions:
        match = _WIDTH.match(instruction.opcode)
        if match is not None and not instruction.idle:
            result[instruction.origin] = int(match[1]) // 8
    return result


def counters(code: KernelCode) -> set[int]:
    """PTX instructions that add one in shared memory: lanes that add to the same word share an access."""
    return {
        instruction.origin for instruction in code.instructions if instruction.opcode.startswith("ATOMS.POPC")
    }


_EVICT_FIRST = 0x12F0000000000000  # as an immediate: what createpolicy makes of L2::evict_first, all of it


def evicted_first(module: Module) -> set[int]:
    """The numbers of memory accesses whose data L2 evicts before others."""
    result: set[int] = set()
    number = 0
    for function in module.functions.values():
        policies = {
            instruction.operands[0].name
            for instruction in function.instructions
            if instruction.parts[0] == "createpolicy" and "L2::evict_first" in instruction.parts[:4]
            if isinstance(instruction.operands[0], Register)
        }
        for instruction in function.instructions:
            policy = instruction.operands[-1] if "L2::cache_hint" in instruction.parts else None
            named = isinstance(policy, Register) and policy.name in policies
            stated = isinstance(policy, Immediate) and policy.value == _EVICT_FIRST
            if named or stated or (instruction.parts[0] == "ld" and "L2::evict_first" in instruction.parts):
                result.add(number)
            number += 1
    return result
