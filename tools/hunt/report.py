"""The outcome of a hunt: how much was compared, or the smallest case on which the two sides differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ptxlab.differences.case import Case
from ptxlab.errors import PtxlabError
from ptxlab.isa.catalog import Product
from ptxlab.isa.dtypes import DType
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.tcgen05 import TensorInstruction
from ptxlab.numerics.steps import Trace
from ptxlab.numerics.trace import trace


class CaseElement(NamedTuple):
    """One element or register of a case: the operand's name, the place, and its code and value."""

    operand: str
    row: int
    col: int
    bits: int
    code: int
    value: float | int | None = None  # None for metadata and for registers

    def __str__(self) -> str:
        note = "" if self.value is None else f"  # {_number(self.value, self.bits)}"
        return f"{self.operand}[{self.row}][{self.col}] = {_hexadecimal(self.code, self.bits)}{note}"


@dataclass(frozen=True)
class Difference:
    """An element of D about which the emulator and the machine disagree, in the smallest case that was found.

    `emulator` and `machine` are the two codes; `index` counts the MMAs that agreed before.

    >>> import ptxlab
    >>> from tools.hunt import hunt
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    >>> def reads_minus_one_as_zero(operands):
    ...     codes = ins.a.unpack_codes(operands.a)
    ...     a = ins.a.pack_codes(np.where(codes == 0xFF, 0, codes))
    ...     return ins.emulate(a, operands.b, operands.c)
    >>> difference = hunt(ins, mmas=100, seed=1, runner=reads_minus_one_as_zero).difference
    >>> print(*difference.elements, sep="\\n")
    A[0][0] = 0xff  # -1
    B[0][0] = 0x01  # 1
    >>> difference.row, difference.col, hex(difference.emulator), hex(difference.machine)
    (0, 0, '0xffffffff', '0x0')
    """

    case: Case
    emulator: int
    machine: int
    category: str
    index: int
    launches: int

    @property
    def row(self) -> int:
        """The row of the element of D."""
        return self.case.row

    @property
    def col(self) -> int:
        """The column of the element of D."""
        return self.case.col

    @property
    def elements(self) -> list[CaseElement]:
        """The elements that differ from their defaults (zeros, the first nibble, scales of 1)."""
        elements = []
        for argument, operand in self.case.ins.inputs.items():
            is_register = self.case.in_registers and operand.layout is not None
            bits = np.iinfo(operand.register_type).bits if is_register else operand.dtype.bits
            for cell in self.case.changed_cells(argument):
                _, row, col = cell
                code = self.case.code(cell)
                value = None if is_register or argument == "e" else _value(operand.dtype, code)
                elements.append(CaseElement(operand.name, row, col, bits, code, value))
        return elements

    @property
    def modifiers(self) -> dict[str, int]:
        """Modifiers that differ from their defaults, by name."""
        defaults = vars(Modifiers())
        modifiers = vars(self.case.configuration.modifiers)
        return {name: value for name, value in modifiers.items() if value != defaults[name]}


@dataclass(frozen=True)
class Report:
    """The outcome of a hunt; print it.

    >>> import ptxlab
    >>> from tools.hunt import hunt
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> report = hunt(ins, mmas=500, seed=1, against="sm_80")
    >>> report.found, report.mmas, report.categories
    (False, 500, ('bits', 'extremes', 'halves', 'edges', 'overflow_edge'))
    """

    instruction: Product
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
        if self.difference is None:
            categories = _counted(len(self.categories), "category", "categories")
            return (
                f"{self.instruction.mnemonic}: no difference in {_counted(self.mmas, 'MMA', 'MMAs')} between "
                f"the model of {self.chip} and {self.machine} "
                f"({categories}, seed {self.seed}, {self.seconds:.1f} s)"
            )
        difference, dtype = self.difference, self.instruction.d.dtype
        codes = {self.machine: difference.machine, f"emulator ({self.chip})": difference.emulator}
        width = max(map(len, codes))
        lines = [f"{self.instruction.mnemonic}: D[{difference.row}][{difference.col}] differs"]
        lines += [f"  {side:<{width}}  {'  '.join(_written(dtype, code))}" for side, code in codes.items()]
        lines.append(
            f"  found in MMA {difference.index:,}, category {difference.category}, seed {self.seed}; "
            f"reduced in {difference.launches} launches to:"
        )
        lines += [f"  {str(element).replace('  # ', '    ')}" for element in difference.elements]
        if not difference.elements:
            lines.append("  all elements are 0")
        lines += [f"  {name} = {value}" for name, value in difference.modifiers.items()]
        ins = difference.case.ins
        if isinstance(ins, TensorInstruction):
            lines.append(f"  instruction descriptor 0x{ins.descriptor.code:08x}")
        if ins.a_space != _default_space(ins):
            lines.append(f"  A in {ins.a_space} memory")
        return "\n".join(lines)

    def trace(self) -> Trace | None:
        """How the emulator arrives at its code (see `Instruction.trace`); None if nothing was found."""
        if self.difference is None:
            return None
        case = self.difference.case
        return trace(case.operands(), case.row, case.col, model=self.model)

    def as_test(self) -> str:
        """The difference as a pytest function, which passes once the emulator gives the machine's code.

        >>> import ptxlab
        >>> from tools.hunt import hunt
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
        >>> def reads_minus_one_as_zero(operands):
        ...     codes = ins.a.unpack_codes(operands.a)
        ...     a = ins.a.pack_codes(np.where(codes == 0xFF, 0, codes))
        ...     return ins.emulate(a, operands.b, operands.c)
        >>> print(hunt(ins, mmas=100, seed=1, runner=reads_minus_one_as_zero).as_test().split("None:")[1])
        <BLANKLINE>
            \"\"\"What reads_minus_one_as_zero gave: found by tools.hunt, category bits, seed 1.\"\"\"
            ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
            A = np.zeros(ins.a.shape, dtype=np.uint8)
            B = np.zeros(ins.b.shape, dtype=np.uint8)
            C = np.zeros(ins.c.shape, dtype=np.uint32)
            A[0, 0] = 0xff  # -1
            B[0, 0] = 0x01  # 1
            d = ins.emulate(ins.a.pack_codes(A), ins.b.pack_codes(B), ins.c.pack_codes(C))
            # the emulator (sm_90) gave 0xffffffff, -1
            assert ins.d.unpack_codes(d)[0, 0] == 0x00000000  # 0
        <BLANKLINE>
        """
        difference = self.difference
        if difference is None:
            raise PtxlabError(f"{self.instruction.mnemonic}: no difference was found to write a test of")
        case, ins, dtype = difference.case, difference.case.ins, self.instruction.d.dtype
        mnemonic = re.sub("[^a-z0-9]+", "_", self.instruction.mnemonic.lower())
        in_memory = "" if ins.a_space == _default_space(ins) else f'.a_from("{ins.a_space}")'
        descriptor = f", descriptor=0x{ins.descriptor.code:08x}" if isinstance(ins, TensorInstruction) else ""
        body = [
            f'"""What {self.machine} gave: found by tools.hunt, category {difference.category}, '
            f'seed {self.seed}."""',
            f'ins = ptxlab.instruction("{ins.mnemonic}"{descriptor}){in_memory}',
        ]
        body += [f"{operand.name} = {_filled(case, name)}" for name, operand in ins.inputs.items()]
        body += [str(element).replace("][", ", ") for element in difference.elements]
        body += [
            f"d = ins.emulate({', '.join(self._arguments(difference))})",
            f"# the emulator ({self.chip}) gave {', '.join(_written(dtype, difference.emulator))}",
            f"assert ins.d.unpack_codes(d)[{difference.row}, {difference.col}] == "
            + "  # ".join(_written(dtype, difference.machine)),
        ]
        lines = [
            "import numpy as np",
            "",
            "import ptxlab",
            "",
            "",
            f"def test_{mnemonic}_{self.seed}_{difference.index}() -> None:",
            *(f"    {line}" for line in body),
        ]
        return "\n".join(lines) + "\n"

    def _arguments(self, difference: Difference) -> list[str]:
        """The arguments of `ins.emulate` in the test."""
        arguments = []
        for argument, operand in difference.case.ins.inputs.items():
            text = operand.name
            if not difference.case.in_registers:
                text = f"ins.{argument}.pack_codes({operand.name})"
            arguments.append(f"{argument}={text}" if argument in ("scale_a", "scale_b") else text)
        arguments += [f"{name}={value!r}" for name, value in difference.modifiers.items()]
        if self.model:
            arguments.append(f"model={self.model!r}")
        return arguments


def _default_space(ins: Product) -> str:
    """Where A is by default."""
    return "shared" if isinstance(ins, TensorInstruction) else "register"


def _filled(case: Case, argument: str) -> str:
    """The expression that makes an array of defaults, for the test."""
    operand, default = case.ins.inputs[argument], case.default(argument)
    shape = f"ins.{argument}.shape"
    if case.in_registers and operand.layout is not None:
        shape = str(operand.stored_shape)
    dtype = f"np.{case.codes[argument].dtype.name}"
    if default:
        return f"np.full({shape}, 0x{default:x}, dtype={dtype})"
    return f"np.zeros({shape}, dtype={dtype})"


def _value(dtype: DType, code: int) -> float | int:
    value = dtype.decode(np.array([code], dtype=dtype.code_type))[0]
    return float(value) if dtype.is_float else int(value)


def _written(dtype: DType, code: int) -> tuple[str, str]:
    """A code in hexadecimal, and its value."""
    return _hexadecimal(code, dtype.bits), _number(_value(dtype, code), dtype.bits)


def _number(value: float | int, bits: int) -> str:
    """A value with enough digits to distinguish it from its neighbours."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.17g}" if bits == 64 else f"{value:.9g}"


def _hexadecimal(code: int, bits: int) -> str:
    return f"0x{code:0{-(-bits // 4)}x}"


def _counted(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"
