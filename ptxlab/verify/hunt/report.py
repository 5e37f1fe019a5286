"""What a hunt came to: how much was compared, or the smallest case on which two disagree, in words and as a test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.dtypes import DType
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...numerics.trace import Trace, trace
from .case import Case

__all__ = ["Difference", "Report"]


@dataclass(frozen=True)
class Difference:
    """An element of D about which the emulator and the machine disagree, in the smallest case that was found.

    `case` has the codes of the operands, `row` and `col` say which element of D it is; `index` counts the MMAs before it.

    >>> import ptxlab
    >>> from ptxlab.verify.hunt import hunt
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    >>> def no_minus_one(operands):   # a machine that takes the s8 -1 for 0
    ...     codes = ins.a.unpack_codes(operands.a)
    ...     return ins.emulate(ins.a.pack_codes(np.where(codes == 0xFF, 0, codes)), operands.b, operands.c)
    >>> found = hunt(ins, mmas=100, seed=1, runner=no_minus_one).difference
    >>> found.row, found.col, hex(found.emulator), hex(found.machine)
    (0, 0, '0xffffffff', '0x0')
    >>> found.operands()
    ['A[0][0] = 0xff  # -1', 'B[0][0] = 0x01  # 1']
    """

    case: Case
    emulator: int
    machine: int
    category: str
    index: int
    launches: int

    @property
    def row(self) -> int:
        return self.case.row

    @property
    def col(self) -> int:
        return self.case.col

    def operands(self, spell: str = "{name}[{row}][{col}]") -> list[str]:
        """Every element that is not zero, with its code and value."""
        said = []
        for name, operand in self.case.setting.ins.inputs.items():
            array, packed = self.case.cells[name], self.case.packed and operand.layout is not None
            digits = -(-(operand.register_bits if packed else operand.dtype.bits) // 4)
            for row, col in np.argwhere(array != self.case.usual(name)).tolist():
                code = int(array[row, col])
                value = "" if packed or name == "e" else f"  # {_value(operand.dtype, code)}"
                said.append(
                    f"{spell.format(name=_NAMES[name], row=row, col=col)} = 0x{code:0{digits}x}{value}"
                )
        return said

    def settings(self) -> dict[str, Any]:
        """Modifiers that differ from their defaults."""
        modifiers, usual = self.case.setting.modifiers, Modifiers()
        return {name: value for name, value in vars(modifiers).items() if value != getattr(usual, name)}


_NAMES = {"a": "A", "b": "B", "c": "C", "e": "E", "scale_a": "SFA", "scale_b": "SFB"}


def _value(kind: DType, code: int) -> str:
    value = kind.decode(np.array([code], dtype=kind.code_type))[0]
    return f"{float(value):.{17 if kind.bits == 64 else 9}g}" if kind.is_float else str(int(value))


@dataclass(frozen=True)
class Report:
    """The outcome of a hunt; print it.

    >>> import ptxlab
    >>> from ptxlab.verify.hunt import hunt
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> report = hunt(ins, mmas=500, seed=1, against="sm_80")
    >>> report.found, report.mmas, report.categories
    (False, 500, ('bits', 'extremes', 'halves', 'edges', 'overflow_edge'))
    >>> print(str(report).split(" in ")[0])
    mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32: no difference
    """

    instruction: MmaForm
    chip: str
    machine: str
    seed: int
    categories: tuple[str, ...]
    mmas: int
    seconds: float
    model: str | None = None
    difference: Difference | None = None

    @property
    def found(self) -> bool:
        """Whether there is a difference."""
        return self.difference is not None

    def __str__(self) -> str:
        what = f"{len(self.categories)} {'category' if len(self.categories) == 1 else 'categories'}, seed {self.seed}, {self.seconds:.1f} s"
        if self.difference is None:
            mmas = f"{self.mmas:,} MMA{'s' * (self.mmas != 1)}"
            return f"{self.instruction.mnemonic}: no difference in {mmas} between the model of {self.chip} and {self.machine} ({what})"
        found = self.difference
        kind = self.instruction.d.dtype
        sides = {self.machine: found.machine, f"emulator ({self.chip})": found.emulator}
        wide = max(map(len, sides))
        lines = [
            f"{self.instruction.mnemonic}: D[{found.row}][{found.col}] differs",
            *(
                f"  {side:<{wide}}  0x{code:0{kind.bits // 4}x}  {_value(kind, code)}"
                for side, code in sides.items()
            ),
            f"  found in MMA {found.index:,}, category {found.category}, seed {self.seed}; made as small as this in {found.launches} launches:",
            *(f"  {line.replace('  #', '   ')}" for line in found.operands() or ["all elements are 0"]),
        ]
        lines += [f"  {name} = {value}" for name, value in found.settings().items()]
        if found.case.setting.ins.a_space == "shared":
            lines.append("  A in shared memory")
        return "\n".join(lines)

    def trace(self) -> Trace | None:
        """How the emulator comes to its code (see `Instruction.trace`); None where nothing was found."""
        if self.difference is None:
            return None
        case = self.difference.case
        return trace(case.operands(), case.row, case.col, model=self.model)

    def as_test(self) -> str:
        """The difference as a pytest function that passes where the emulator gives the machine's code; it stands alone.

        >>> import ptxlab
        >>> from ptxlab.verify.hunt import hunt
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
        >>> def no_minus_one(operands):   # a machine that takes the s8 -1 for 0
        ...     codes = ins.a.unpack_codes(operands.a)
        ...     return ins.emulate(ins.a.pack_codes(np.where(codes == 0xFF, 0, codes)), operands.b, operands.c)
        >>> print(hunt(ins, mmas=100, seed=1, runner=no_minus_one).as_test().split("None:")[1])
        <BLANKLINE>
            \"\"\"What no_minus_one gave: found by ptxlab hunt, category bits, seed 1.\"\"\"
            ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
            A = np.zeros(ins.a.shape, dtype=np.uint8)
            B = np.zeros(ins.b.shape, dtype=np.uint8)
            C = np.zeros(ins.c.shape, dtype=np.uint32)
            A[0, 0] = 0xff  # -1
            B[0, 0] = 0x01  # 1
            d = ins.emulate(ins.a.pack_codes(A), ins.b.pack_codes(B), ins.c.pack_codes(C))
            assert ins.d.unpack_codes(d)[0, 0] == 0x00000000  # 0; the emulator (sm_90) gave 0xffffffff, -1
        <BLANKLINE>
        """
        found = self.difference
        if found is None:
            raise PtxlabError(
                f"{self.instruction.mnemonic}: no difference was found, so there is nothing to write a test of"
            )
        ins, case, kind = found.case.setting.ins, found.case, self.instruction.d.dtype
        digits = kind.bits // 4
        lines = [
            "import numpy as np",
            "",
            "import ptxlab",
            "",
            "",
            f"def test_{re.sub('[^a-z0-9]+', '_', self.instruction.mnemonic.lower())}_{self.seed}_{found.index}() -> None:",
            f'    """What {self.machine} gave: found by ptxlab hunt, category {found.category}, seed {self.seed}."""',
            f'    ins = ptxlab.instruction("{ins.mnemonic}")'
            + ('.a_from("shared")' if ins.a_space == "shared" else ""),
        ]
        lines += [f"    {_NAMES[name]} = {_empty(case, name)}" for name in ins.inputs]
        lines += [f"    {line}" for line in found.operands("{name}[{row}, {col}]")]
        passed = [
            f"{_NAMES[name]}" if case.packed else f"ins.{name}.pack_codes({_NAMES[name]})"
            for name in ins.inputs
        ]
        passed = [
            f"{name}={text}" if name.startswith("scale") else text
            for name, text in zip(ins.inputs, passed, strict=True)
        ]
        passed += [f"{name}={value!r}" for name, value in found.settings().items() if name != "swizzle"]
        passed += [f"model={self.model!r}"] if self.model else []
        seen = (
            f"the emulator ({self.chip}) gave 0x{found.emulator:0{digits}x}, {_value(kind, found.emulator)}"
        )
        lines.append(f"    d = ins.emulate({', '.join(passed)})")
        where = f"{found.row}, {found.col}"
        lines.append(
            f"    assert ins.d.unpack_codes(d)[{where}] == 0x{found.machine:0{digits}x}  # {_value(kind, found.machine)}; {seen}"
        )
        return "\n".join(lines) + "\n"


def _empty(case: Case, name: str) -> str:
    """The array that the elements are put into."""
    array: NDArray[Any] = case.cells[name]
    operand = case.setting.ins.inputs[name]
    fill = case.usual(name)
    shape = (
        f"({operand.lanes}, {operand.registers})"
        if case.packed and operand.layout is not None
        else f"ins.{name}.shape"
    )
    kind = f"np.{array.dtype.name}"
    return f"np.full({shape}, 0x{fill:x}, dtype={kind})" if fill else f"np.zeros({shape}, dtype={kind})"
