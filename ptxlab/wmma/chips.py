"""What a chip runs for a sub-byte wmma, and which forms the CUDA guide calls deprecated.

Read from the machine code that CUDA 13.0 makes of the kernels in `kernels` (nvdisasm); tests/test_wmma.py reads it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.targets import TARGETS
from .fragments import row

__all__ = ["Deprecation", "MachineCode", "deprecation", "machine_code"]


class _Form(NamedTuple):
    opcode: str
    times: int
    how: str = ""


_UNPACKED = "its 4-bit elements are unpacked to 8 bits, C is added by ordinary integer instructions"
_BITS_AS_BYTES = "its bits are unpacked to bytes"

#: From this target on, until the next entry: the form (element type, or bit operation of b1) and what runs for it.
_GENERATIONS: dict[str, dict[str, _Form]] = {
    "sm_75": {
        "s4": _Form("IMMA.8832.S4.S4", 1),
        "u4": _Form("IMMA.8832.U4.U4", 1),
        "xor": _Form("BMMA.88128.XOR.POPC", 1),
        "and": _Form("BMMA.88128.AND.POPC", 1),
    },
    "sm_90": {
        "s4": _Form("IMMA.8816.S8.S8", 2, _UNPACKED),
        "u4": _Form("IMMA.8816.U8.U8", 2, _UNPACKED),
        "xor": _Form(
            "BMMA.88128.AND.POPC",
            2,
            "A with the complement of B, the complement of A with B, and both counts are added to C",
        ),
        "and": _Form("BMMA.88128.AND.POPC", 1),
    },
    "sm_100": {
        "s4": _Form("IMMA.16816.S8.S8", 2, _UNPACKED),
        "u4": _Form("IMMA.16816.U8.U8", 2, _UNPACKED),
        "xor": _Form("IMMA.16832.U8.U8", 4, _BITS_AS_BYTES),
        "and": _Form("IMMA.16832.U8.U8", 4, _BITS_AS_BYTES),
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
        return f"{self.count} {self.opcode}" + (f" ({self.how})" if self.how else "")


@dataclass(frozen=True)
class Deprecation:
    """What the CUDA guide says of a form, and what the chip from which it is to be removed runs instead.

    >>> found = deprecation("s4")
    >>> found.deprecated, found.removal, found.before.opcode, found.instead.opcode
    (True, 'sm_90', 'IMMA.8832.S4.S4', 'IMMA.8816.S8.S8')
    """

    instruction: MmaForm
    deprecated: bool
    removal: str
    before: MachineCode
    instead: MachineCode
    source: str = _SOURCE

    def __str__(self) -> str:
        form, old, new = _form(self.instruction), self.before, self.instead
        name = f"b1 with bmmaBitOp{form.upper()}" if self.instruction.bit_op else form
        if not self.deprecated:
            return f"{name} is not deprecated: {self.removal} runs {new}, as {old.target} does"
        runs = f"{old.target} runs {old}, {new.target} runs {new}"
        return f"{name} is deprecated in the CUDA guide, to be removed in {self.removal}; it still compiles for it: {runs}"


def _form(ins: MmaForm) -> str:
    return ins.bit_op or ins.a_type


def machine_code(given: Any, target: str, op: Any = None, satf: bool = False) -> MachineCode:
    """What CUDA 13.0 makes of this form for that target.

    >>> str(machine_code("s4", "sm_86"))
    '1 IMMA.8832.S4.S4'
    """
    ins = row(given, op, satf)
    if not ins.supports(target):
        raise PtxlabError(f"{target} lacks {ins.mnemonic}; it needs {ins.targets[0]} or higher")
    first = max(
        (name for name in _GENERATIONS if TARGETS.index(name) <= TARGETS.index(target)), key=TARGETS.index
    )
    opcode, count, how = _GENERATIONS[first][_form(ins)]
    if ins.satfinite:
        opcode, how = (f"{opcode}.SAT", "") if not how else (opcode, f"{how}, which also clamp the sum")
    return MachineCode(target, opcode, count, how)


def deprecation(given: Any, op: Any = None, satf: bool = False) -> Deprecation:
    """Whether the CUDA guide calls this form deprecated, and what runs instead; `str` of it is a sentence.

    >>> print(deprecation("b1", "and"))
    b1 with bmmaBitOpAND is not deprecated: sm_90 runs 1 BMMA.88128.AND.POPC, as sm_80 does
    """
    ins = row(given, op, satf)
    return Deprecation(
        ins, _form(ins) in _DEPRECATED, _REMOVAL, machine_code(ins, "sm_80"), machine_code(ins, _REMOVAL)
    )
