"""An instruction with its operand list, as PTX writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import PtxlabError
from ...isa.form import Form
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...isa.transfer import TransferForm

__all__ = ["AsmOperand", "asm_operands", "mma_form", "ptx_line", "stores", "with_names"]

#: How inline assembly passes a value: float, double, 32-bit or 64-bit integer.
_Constraint = Literal["f", "d", "r", "l"]


@dataclass(frozen=True)
class AsmOperand:
    """One operand of the instruction: its registers under the manual's names, and how C++ passes them.

    >>> import ptxlab
    >>> asm_operands(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))[0].registers
    ('d[0]', 'd[1]', 'd[2]', 'd[3]')
    """

    name: str  # a, b_desc, e, p
    constraint: _Constraint
    length: int | None = None  # registers of an array; None for a single variable
    written: bool = False
    address: bool = False  # a pointer or a descriptor

    @property
    def registers(self) -> tuple[str, ...]:
        """The C++ expressions of its registers."""
        if self.length is None:
            return (self.name,)
        return tuple(f"{self.name}[{i}]" for i in range(self.length))

    @property
    def ptx_names(self) -> list[str]:
        """Its registers as the manual names them: %a0, %a1; %e."""
        if self.length is None:
            return [f"%{self.name}"]
        return [f"%{self.name}{i}" for i in range(self.length)]


def mma_form(form: Form) -> MmaForm:
    """The form itself if it multiplies matrices; any other that is not a transfer has no kernel here."""
    if not isinstance(form, MmaForm):
        raise PtxlabError(f"{form.mnemonic}: ptxlab generates no kernel for it")
    return form


def stores(form: TransferForm) -> bool:
    """Whether it writes memory."""
    return form.family in ("stmatrix", "wmma.store")


def ptx_line(form: Form, modifiers: Modifiers | None = None) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> import ptxlab
    >>> ptx_line(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x2.b16"))
    'ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [%p];'
    """
    return with_names(form, modifiers, {operand.name: operand.ptx_names for operand in asm_operands(form)})


def asm_operands(form: Form) -> list[AsmOperand]:
    """The operands of the instruction in the order in which it names them; constants are not among them."""
    if isinstance(form, TransferForm):
        return _transfer_operands(form)
    ins = mma_form(form)
    asynchronous = ins.family.startswith("wgmma")
    order = [ins.d, ins.a, ins.b] if asynchronous else [ins.d, ins.a, ins.b, ins.c]
    order += [operand for operand in (ins.e, ins.scale_a, ins.scale_b) if operand is not None]
    return [_mma_operand(operand) for operand in order]


def _mma_operand(operand: Operand) -> AsmOperand:
    name = operand.name.lower()
    if operand.space == "shared":
        return AsmOperand(f"{name}_desc", "l", address=True)
    single = operand.name in ("E", "SFA", "SFB")
    return AsmOperand(
        name, _constraint(operand), None if single else operand.registers, written=operand.name == "D"
    )


def _transfer_operands(form: TransferForm) -> list[AsmOperand]:
    if form.family == "movmatrix":
        return [AsmOperand("d", "r", 1, written=True), AsmOperand("a", "r", 1)]
    matrix = form.carried
    shared = (form.space or "").startswith("shared")
    registers = AsmOperand(
        matrix.name.lower(), _constraint(matrix), matrix.registers, written=not stores(form)
    )
    address = AsmOperand("p", "r" if shared else "l", address=True)
    operands = [address, registers] if stores(form) else [registers, address]
    if form.wmma:
        operands.append(AsmOperand("stride", "r"))
    return operands


def _constraint(operand: Operand) -> _Constraint:
    if operand.dtype.name == "f32":
        return "f"
    if operand.dtype.name == "f64":
        return "d"
    return "l" if operand.register_bits == 64 else "r"


def with_names(form: Form, modifiers: Modifiers | None, names: Mapping[str, Sequence[str]]) -> str:
    """The instruction with these names for the registers of each operand, e.g. those of an asm statement."""
    if isinstance(form, TransferForm):
        parts = _transfer_parts(form, names)
    else:
        ins = mma_form(form)
        modifiers = ins.check_modifiers(modifiers or Modifiers())
        make = _wgmma_parts if ins.family.startswith("wgmma") else _mma_parts
        parts = make(ins, modifiers, names)
    return f"{form.mnemonic} {', '.join(parts)};"


def _vector(names: Sequence[str]) -> str:
    return "{" + ", ".join(names) + "}"


def _transfer_parts(form: TransferForm, names: Mapping[str, Sequence[str]]) -> list[str]:
    if form.family == "movmatrix":
        return [names["d"][0], names["a"][0]]
    parts = [_vector(names[form.carried.name.lower()]), f"[{names['p'][0]}]"]
    if stores(form):
        parts.reverse()
    if form.wmma:
        parts.append(names["stride"][0])
    return parts


def _mma_parts(ins: MmaForm, modifiers: Modifiers, names: Mapping[str, Sequence[str]]) -> list[str]:
    parts = [_vector(names[name]) for name in "dabc"]
    if ins.sparse:
        parts += [names["e"][0], str(modifiers.selector)]
    if ins.scale_vec:
        parts += [names["sfa"][0], _vector([str(modifiers.byte_id_a), str(modifiers.thread_id_a)])]
        parts += [names["sfb"][0], _vector([str(modifiers.byte_id_b), str(modifiers.thread_id_b)])]
    return parts


def _wgmma_parts(ins: MmaForm, modifiers: Modifiers, names: Mapping[str, Sequence[str]]) -> list[str]:
    a = names["a_desc"][0] if ins.a_space == "shared" else _vector(names["a"])
    parts = [_vector(names["d"]), a, names["b_desc"][0]]
    if ins.sparse:
        parts += [names["e"][0], str(modifiers.selector)]
    parts.append("scale_d")
    immediates = {
        "imm_scale_a": modifiers.imm_scale_a,
        "imm_scale_b": modifiers.imm_scale_b,
        "imm_trans_a": modifiers.imm_trans_a,
        "imm_trans_b": modifiers.imm_trans_b,
    }
    parts += [str(value) for name, value in immediates.items() if len(ins.modifiers[name]) > 1]
    return parts
