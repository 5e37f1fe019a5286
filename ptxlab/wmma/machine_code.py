"""The machine instructions that a chip runs for a sub-byte wmma, and which forms the CUDA guide deprecates.

The instructions were read, with nvdisasm, from the machine code that CUDA 13.0 makes of the kernels in
`kernels`; tests/wmma/test_wmma.py reads them again.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PtxlabError
from ..isa.mma import Instruction
from ..isa.targets import TARGETS
from .fragment_forms import form
from .types import BitOpLike, FormLike

_UNPACKED = "its 4-bit elements are unpacked to 8 bits, C is added by ordinary integer instructions"
_BITS_AS_BYTES = "its bits are unpacked to bytes"

_BOTH_ANDS = "A with the complement of B, the complement of A with B, and both counts are added to C"

#: What runs on this target, and on later ones up to the next entry, for an element type or a bit operation of
#: b1: the opcode, how many times it runs, and how it does the work if the chip lacks the instruction itself.
_OPCODES_SINCE: dict[str, dict[str, tuple[str, int, str]]] = {
    "sm_75": {
        "s4": ("IMMA.8832.S4.S4", 1, ""),
        "u4": ("IMMA.8832.U4.U4", 1, ""),
        "xor": ("BMMA.88128.XOR.POPC", 1, ""),
        "and": ("BMMA.88128.AND.POPC", 1, ""),
    },
    "sm_90": {
        "s4": ("IMMA.8816.S8.S8", 2, _UNPACKED),
        "u4": ("IMMA.8816.U8.U8", 2, _UNPACKED),
        "xor": ("BMMA.88128.AND.POPC", 2, _BOTH_ANDS),
        "and": ("BMMA.88128.AND.POPC", 1, ""),
    },
    "sm_100": {
        "s4": ("IMMA.16816.S8.S8", 2, _UNPACKED),
        "u4": ("IMMA.16816.U8.U8", 2, _UNPACKED),
        "xor": ("IMMA.16832.U8.U8", 4, _BITS_AS_BYTES),
        "and": ("IMMA.16832.U8.U8", 4, _BITS_AS_BYTES),
    },
}

_DEPRECATED = ("u4", "s4", "xor")
_REMOVAL = "sm_90"
_SOURCE = 'CUDA C++ Programming Guide, "Sub-byte Operations"'


@dataclass(frozen=True)
class MachineCode:
    """The matrix instructions in the machine code of one form for one target.

    >>> code = machine_code("s4", "sm_90")
    >>> code.opcode, code.count, code.native
    ('IMMA.8816.S8.S8', 2, False)
    """

    target: str
    opcode: str
    count: int
    how: str = ""

    @property
    def native(self) -> bool:
        """Whether the chip has the instruction itself."""
        return not self.how

    def __str__(self) -> str:
        code = f"{self.count} {self.opcode}"
        return f"{code} ({self.how})" if self.how else code


@dataclass(frozen=True)
class Deprecation:
    """What the CUDA guide says about a form, and what runs on the first chip that was to lack it (`removal`).

    >>> s4 = deprecation("s4")
    >>> s4.deprecated, s4.removal, s4.before.opcode, s4.instead.opcode
    (True, 'sm_90', 'IMMA.8832.S4.S4', 'IMMA.8816.S8.S8')
    """

    instruction: Instruction
    deprecated: bool
    removal: str
    before: MachineCode
    instead: MachineCode
    source: str = _SOURCE

    def __str__(self) -> str:
        old, new = self.before, self.instead
        operation = _operation(self.instruction)
        name = f"b1 with bmmaBitOp{operation.upper()}" if self.instruction.bit_op else operation
        if not self.deprecated:
            return f"{name} is not deprecated: {self.removal} runs {new}, as {old.target} does"
        return (
            f"{name} is deprecated in the CUDA guide, to be removed in {self.removal}; "
            f"it still compiles for {new.target}: {old.target} runs {old}, {new.target} runs {new}"
        )


def _operation(ins: Instruction) -> str:
    """The key in `_OPCODES_SINCE` and `_DEPRECATED`: the bit operation of b1, otherwise the element type."""
    return ins.bit_op or ins.a_type


def machine_code(name: FormLike, target: str, op: BitOpLike | None = None, satf: bool = False) -> MachineCode:
    """The matrix instructions that CUDA 13.0 generates for this form on that target.

    >>> str(machine_code("s4", "sm_86"))
    '1 IMMA.8832.S4.S4'
    """
    ins = form(name, op, satf)
    if not ins.supports(target):  # an unknown target is an error
        raise PtxlabError(f"{target} lacks {ins.mnemonic}; it needs {ins.targets[0]} or higher")
    since = [first for first in _OPCODES_SINCE if TARGETS.index(first) <= TARGETS.index(target)]
    opcode, count, how = _OPCODES_SINCE[max(since, key=TARGETS.index)][_operation(ins)]
    if ins.satfinite and how:
        how += ", which also clamp the sum"
    elif ins.satfinite:
        opcode += ".SAT"
    return MachineCode(target, opcode, count, how)


def deprecation(name: FormLike, op: BitOpLike | None = None, satf: bool = False) -> Deprecation:
    """Whether the CUDA guide calls this form deprecated, and what runs instead; `str` gives a sentence.

    >>> print(deprecation("b1", "and"))
    b1 with bmmaBitOpAND is not deprecated: sm_90 runs 1 BMMA.88128.AND.POPC, as sm_80 does
    """
    ins = form(name, op, satf)
    return Deprecation(
        ins, _operation(ins) in _DEPRECATED, _REMOVAL, machine_code(ins, "sm_80"), machine_code(ins, _REMOVAL)
    )
