"""What a chip really runs: the machine code (SASS) of an instruction."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from .._util.arguments import as_flag
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.form import Form
from ..isa.modifiers import Modifiers
from ..isa.product_form import ProductForm
from .codegen.statement import smallest_kernel
from .compiler import check_compiler, compile
from .disk_cache import key_of, read_entry, write_entry

#: Name of the kernel that is disassembled.
NAME = "ptxlab_sass"

_TENSOR = re.compile(r"(?:[HIBDQO]G?MMA|UTC\w+)(?=\.|$)")
_TRANSFERS = re.compile(r"(?:LDSM|STSM|MOVM|LDTM|STTM|UTC\w+)(?=\.|$)")
#: Opcodes that move operands or wait; all others compute.
_PLAIN_OPCODES = (
    r"LDG LDS LDC LD LDL ULDC LDCU STG STS ST STL MOV(?:\d\w*)? UMOV(?:\d\w*)? S2R S2UR CS2R CS2UR R2UR "
    r"UR2R NOP EXIT RET BRA CALL WARPSYNC WARPGROUP WARPGROUPSET DEPBAR BAR FENCE MEMBAR ERRBAR CCTL BSSY "
    r"BSYNC ACQBULK ELECT UCGABAR_ARV SYNCS UTMACMDFLUSH ENDCOLLECTIVE IMAD\.MOV IMAD\.U32"
)
_PLAIN = re.compile(rf"(?:{'|'.join(_PLAIN_OPCODES.split())})(?=\.|$)")
#: A line of nvdisasm: address, predicate, opcode, operands.
_LINE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)([^;]*);", re.MULTILINE)
#: A constant moved into a register through the f16 unit: opcode and operands.
_CONSTANT_OPCODE = re.compile(r"HFMA2(\.MMA)?$")
_CONSTANT_OPERANDS = re.compile(r"^\s*\w+, -RZ, RZ, ")
#: Every instruction of these chips has 16 bytes; nvdisasm leaves out those that it does not know.
_INSTRUCTION_BYTES = 16
_ADDRESS = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/", re.MULTILINE)
_UNPRINTED = "(an instruction that nvdisasm does not print)"
_PADDING = re.compile(r"(\.L_x_\d+):\s+/\*[0-9a-f]+\*/\s+BRA `\(\1\)\s*;(\s+/\*[0-9a-f]+\*/\s+NOP\s*;)*\s*")


@dataclass(frozen=True)
class Sass:
    """The machine code of one instruction for one target.

    >>> str(Sass("sm_90a", {"HMMA.16816.F32": 2}, {"F2FP.F16.E4M3.UNPACK_B": 12, "FADD": 4}, 30, ""))
    'emulated: 2 HMMA.16816.F32, 16 around them (12 F2FP, 4 FADD)'
    >>> str(Sass("sm_90a", {}, {}, 4, "", transfer=True, unprinted=1))   # ldmatrix .s8.s4
    'native: 1 instruction that nvdisasm does not print'
    """

    target: str
    tensor: dict[str, int]  # tensor-core instructions with counts; for a transfer, LDSM, LDTM, UTCCP, ...
    arithmetic: dict[str, int]  # other instructions that compute
    rest: int  # all but the tensor-core instructions: loads, stores, moves, and the arithmetic
    listing: str
    transfer: bool = False  # then the arithmetic computes addresses
    unprinted: int = 0  # instructions that nvdisasm does not print

    @property
    def native(self) -> bool:
        """Whether the chip has it: one tensor-core instruction, and no arithmetic around it."""
        return sum(self.tensor.values()) + self.unprinted == 1 and (self.transfer or not self.arithmetic)

    @property
    def how(self) -> str:
        """native, split (more than one), emulated (with arithmetic) or plain (loads and stores)."""
        if self.native:
            return "native"
        if self.transfer:
            tensor_memory = any(opcode.startswith(("LDTM", "STTM")) for opcode in self.tensor)
            return "split" if tensor_memory else "plain"
        return "emulated" if self.arithmetic else "split"

    def __str__(self) -> str:
        """``native: 1 IMMA.16864.S4.S4``."""
        parts = [f"{count} {opcode}" for opcode, count in self.tensor.items()]
        if self.unprinted:
            parts.append(f"{counted(self.unprinted, 'instruction')} that nvdisasm does not print")
        matrix = ", ".join(parts)
        summary = f"{self.how}: {matrix or 'no matrix instruction'}"
        if not self.arithmetic or (self.transfer and self.tensor):  # it only computes addresses
            return summary
        by_name: Counter[str] = Counter()
        for opcode, count in self.arithmetic.items():
            by_name[opcode.split(".")[0]] += count
        where = "others"
        if self.tensor:
            where = "around it" if sum(self.tensor.values()) == 1 else "around them"
        names = listing((f"{count} {name}" for name, count in by_name.most_common()), 4)
        return f"{summary}, {by_name.total()} {where} ({names})"


def sass(form: Form, target: str = "sm_90a", modifiers: Modifiers | None = None) -> Sass:
    """Compile the smallest kernel with this instruction for a target and read its machine code; needs no GPU.

    NVRTC and nvdisasm are optional packages: if one is missing, the error says what to install.

    >>> import ptxlab
    >>> sass(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "sm_80").tensor
    {'IMMA.16864.S4.S4': 1}
    """
    if modifiers is not None:
        if not isinstance(form, ProductForm):
            raise PtxlabError(f"{form.mnemonic} takes no modifiers")
        form.check_modifiers(modifiers)
    (machine_code,) = _compiled({NAME: form}, target, modifiers)
    return machine_code


def survey(forms: Iterable[Form], target: str, at_a_time: int = 48) -> Iterator[Sass]:
    """The machine code of many instructions, in their order.

    Kernels share a compilation, which takes a fifth of the time of a `sass` for each.

    >>> import ptxlab
    >>> [machine_code.how for machine_code in survey(ptxlab.catalog("ldmatrix", "sm_75"), "sm_75")]
    ['native', 'native', 'native', 'native', 'native', 'native']
    """
    rest = iter(forms)
    while part := list(islice(rest, at_a_time)):
        yield from _compiled({f"{NAME}_{i}": form for i, form in enumerate(part)}, target)


def _compiled(kernels: dict[str, Form], target: str, modifiers: Modifiers | None = None) -> Iterator[Sass]:
    """The machine code of kernels, by name, each with one instruction: one compilation, one disassembly."""
    for form in kernels.values():
        if not form.supports(target):
            raise PtxlabError(
                f"{target} lacks {form.mnemonic}; targets that have it: {listing(form.targets, 30)}"
            )
        check_compiler(form, target)
    source = "\n".join(smallest_kernel(form, modifiers, name=name) for name, form in kernels.items())
    text = disassemble(compile(source, target))
    for name, form in kernels.items():
        yield counts_of_listing(text, target, name, transfer=not isinstance(form, ProductForm))


def disassemble(cubin: bytes, *, lines: bool = False) -> str:
    """CUBIN -> nvdisasm's listing of its machine code, cached; needs no GPU.

    With `lines`, comments name the source line of the instructions after them.

    >>> "EXIT" in disassemble(compile("__global__ void nothing() {}", "sm_90a"))
    True
    """
    if not isinstance(cubin, bytes | bytearray):
        raise PtxlabError(f"cubin: found {quoted(cubin)}; it takes machine code, as gpu.compile gives it")
    options = ["-c", "-g"] if as_flag(lines, "lines") else ["-c"]
    tool = nvdisasm()
    file_of_tool = Path(tool).stat()  # another version is another file
    parts = (
        hashlib.sha256(cubin).hexdigest(),
        tool,
        str(file_of_tool.st_size),
        str(file_of_tool.st_mtime_ns),
    )
    entry = f"{key_of(*parts)}{'.lines' if lines else ''}.sass"
    cached = read_entry(entry)
    if cached is not None:
        return cached.decode()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        process = subprocess.run([tool, *options, str(file)], capture_output=True, text=True, check=False)
    if process.returncode:
        reason = process.stderr.strip() or f"exit code {process.returncode}"
        raise PtxlabError(f"nvdisasm does not read this machine code: {reason}")
    write_entry(entry, process.stdout.encode())
    return process.stdout


@lru_cache(maxsize=1)
def nvdisasm() -> str:
    """The path of nvdisasm: from the wheel, or from a CUDA toolkit on the PATH."""
    path = None
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:
        pass
    else:
        path = find_nvidia_binary_utility("nvdisasm")
    path = path or shutil.which("nvdisasm")
    if not path:
        raise PtxlabError(
            "nvdisasm, CUDA's disassembler, is not installed: "
            'pip install "ptxlab[cuda13]" (package nvidia-cuda-nvdisasm)'
        )
    return str(path)


def counts_of_listing(text: str, target: str, name: str = NAME, *, transfer: bool = False) -> Sass:
    """The instruction counts in nvdisasm's listing of one kernel; a `transfer` moves a matrix.

    >>> text = ".text.k:\\n  /*0000*/  HMMA.16816.F32 R4, R4, R8, R12 ;\\n  /*0010*/  EXIT ;\\n"
    >>> counts_of_listing(text, "sm_80", "k").tensor
    {'HMMA.16816.F32': 1}
    """
    section = re.search(
        rf"^\.text\.{re.escape(name)}:\n(.*?)(?=\n\.L_x_\d+:\s*(?:\n\s*\n|\Z)|\n//---|\Z)",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    if section is None:
        raise PtxlabError(f"the listing for {target} has no kernel {name}")
    code, unprinted = _with_gaps(section[1])  # before the padding is removed, which would look like a gap
    code = _PADDING.sub("", code).rstrip()
    tensor: Counter[str] = Counter()
    arithmetic: Counter[str] = Counter()
    rest = 0
    addressed = "LDG" not in code  # code before the first load computes the lane's address
    for predicate, opcode, operands in _LINE.findall(code):
        addressed = addressed or opcode.startswith("LDG")
        if predicate in ("!PT", "!UPT") or opcode == "NOP":  # it never runs
            continue
        if _TENSOR.match(opcode) and not transfer:
            tensor[opcode] += 1
            continue
        rest += 1
        constant = _CONSTANT_OPCODE.match(opcode) and _CONSTANT_OPERANDS.match(operands)
        if addressed and not constant and not _PLAIN.match(opcode):
            arithmetic[opcode] += 1
    if transfer:
        tensor = Counter({opcode: n for opcode, n in arithmetic.items() if _TRANSFERS.match(opcode)})
        arithmetic -= tensor
        rest -= tensor.total()
    shown = "\n".join(re.sub(r"^\s+/\*([0-9a-f]+)\*/\s+", r"  /*\1*/  ", line) for line in code.splitlines())
    return Sass(target, dict(tensor), dict(arithmetic), rest, shown, transfer, unprinted)


def _with_gaps(code: str) -> tuple[str, int]:
    """The listing with a line for every instruction that nvdisasm left out, and their number."""
    lines: list[str] = []
    expected = 0
    unprinted = 0
    for line in code.splitlines():
        address = _ADDRESS.match(line)
        if address is not None:
            for missing in range(expected, int(address[1], 16), _INSTRUCTION_BYTES):
                lines.append(f"        /*{missing:04x}*/                   {_UNPRINTED}")
                unprinted += 1
            expected = int(address[1], 16) + _INSTRUCTION_BYTES
        lines.append(line)
    return "\n".join(lines), unprinted
