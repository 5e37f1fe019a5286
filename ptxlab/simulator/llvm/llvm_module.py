"""A module in LLVM IR -> PTX: its variables and declarations; `function_translator.py` does the functions."""

from __future__ import annotations

from ...errors import PtxlabError
from ...isa.targets import TARGET_VERSIONS, PtxVersion, check_target
from .function_translator import SPACES, Translator, constant_offset, linkage_of, ptx_name, signature_of
from .intrinsics import call_intrinsic
from .ir_reader import read_ir
from .ir_syntax import Constant, Global, Instruction, Module, Value, Variable, align_of, offset_of, size_of
from .ptx_text import Text

_VERSION = PtxVersion(8, 8)  # of PTX, as Clang 22 writes it


class _Initialiser:
    """The bytes of a variable, and the addresses in it."""

    def __init__(self, module: Module, variable: Variable) -> None:
        self.bytes = bytearray(size_of(variable.type))
        self.addresses: dict[int, str] = {}
        self.names: set[str] = set()
        self._module = module
        self._variable = variable
        if variable.value is not None:
            self._write(variable.value, 0)

    def _write(self, value: Value, start: int) -> None:
        if isinstance(value, Constant):
            if isinstance(value.value, tuple):
                for index, part in enumerate(value.value):
                    self._write(part, start + offset_of(value.type, index))
            elif value.value:
                size = size_of(value.type)
                self.bytes[start : start + size] = value.value.to_bytes(size, "little")
            return
        offset, generic = 0, False
        while isinstance(value, Instruction):
            if value.op == "getelementptr" and (step := constant_offset(value)) is not None:
                offset += step
            elif value.op == "addrspacecast":
                generic = value.type.count == 0
            elif value.op not in ("ptrtoint", "inttoptr", "bitcast"):
                raise PtxlabError(
                    f"LLVM IR: {value.op} in the value of @{self._variable.name} is not translated"
                )
            value = value.arguments[0]
        if not isinstance(value, Global):
            raise PtxlabError(f"LLVM IR: the value of @{self._variable.name} is not translated")
        self.names.add(value.name)
        pointed = self._module.variables.get(value.name)
        generic |= pointed is not None and pointed.space == 0
        name = ptx_name(value.name)
        text = f"generic({name})" if generic else name
        self.addresses[start] = f"{text}+{offset}" if offset else text


def _variables_of(module: Module) -> str:
    """The variables of a module, those first whose addresses are in others."""
    texts: dict[str, str] = {}

    def write(name: str) -> None:
        variable = module.variables[name]
        if name in texts or name.startswith("llvm.") or '"llvm.metadata"' in variable.words:
            return
        texts[name] = ""  # a variable may have its own address in it
        initialiser = _Initialiser(module, variable)
        for other in initialiser.names & set(module.variables):
            write(other)
        space = SPACES[variable.space or 1]
        align = variable.align or align_of(variable.type)
        size = size_of(variable.type)
        head = f"{linkage_of(variable.words)}{space} .align {align}"
        label = ptx_name(name)
        if variable.value is None:
            count = str(size) if size else ""
            texts[name] = f".extern {space} .align {align} .b8 {label}[{count}];\n"
        elif initialiser.addresses:
            if size % 8 or any(start % 8 for start in initialiser.addresses):
                raise PtxlabError(f"LLVM IR: the addresses in @{name} are not at multiples of 8 bytes")
            words = [
                initialiser.addresses.get(at) or str(int.from_bytes(initialiser.bytes[at : at + 8], "little"))
                for at in range(0, size, 8)
            ]
            listing = f"[{len(words)}] = {{{', '.join(words)}}}"
            if variable.type.kind == "ptr":
                listing = f" = {words[0]}"
            texts[name] = f"{head} .u64 {label}{listing};\n"
        else:
            content = bytes(initialiser.bytes).rstrip(b"\0")
            values = f" = {{{', '.join(map(str, content))}}}" if content and variable.space != 3 else ""
            texts[name] = f"{head} .b8 {label}[{max(1, size)}]{values};\n"
        texts[name] = texts.pop(name)  # behind those it has the addresses of

    for name in module.variables:
        write(name)
    return "".join(texts.values())


def ptx_of_module(module: Module, target: str, version: str) -> str:
    """The PTX of a module."""
    files = Text(module.metadata)
    defined = [function for function in module.functions.values() if function.blocks]
    bodies = [
        Translator(module, function, files, number, call_intrinsic).translate()
        for number, function in enumerate(defined)
    ]
    called = {
        instruction.callee.name
        for function in defined
        for block in function.blocks
        for instruction in block.instructions
        if isinstance(instruction.callee, Global)
    }
    declarations = []
    for function in module.functions.values():
        if function.name.startswith("llvm.") or "ptx_kernel" in function.words:
            continue
        if function.blocks:
            declarations.append(f"{linkage_of(function.words)}.func {signature_of(function)};\n")
        elif function.name in called:
            declarations.append(f".extern .func {signature_of(function)};\n")
    head = f".version {version}\n.target {target}\n.address_size 64\n\n"
    return "".join([head, *declarations, _variables_of(module), "\n".join(bodies), "\n", files.footer()])


def ptx_from_llvm(ir: str, target: str) -> str:
    """The PTX of LLVM IR that Clang wrote for NVPTX.

    >>> ir = '''
    ... define ptx_kernel void @twice(ptr %x) {
    ...   %value = load i32, ptr %x
    ...   %sum = shl i32 %value, 1
    ...   store i32 %sum, ptr %x
    ...   ret void
    ... }'''
    >>> [line.strip() for line in ptx_from_llvm(ir, "sm_90a").splitlines() if ".u32" in line or "shl" in line]
    ['ld.global.u32 %r1, [%rd2];', 'shl.b32 %r2, %r1, 1;', 'st.global.u32 [%rd2], %r2;']
    """
    version = max(_VERSION, TARGET_VERSIONS[check_target(target)])
    return ptx_of_module(read_ir(ir), target, str(version))
