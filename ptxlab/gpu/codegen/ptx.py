"""An instruction with its operand list, as PTX writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import PtxlabError
from ...isa.form import Form
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...isa.tcgen05 import Tcgen05Form
from ...isa.transfer import TransferForm
from . import tensor_ptx
from .asm import AsmOperand, Constraint, vector


def mma_form(form: Form) -> MmaForm:
    """The form itself if it multiplies matrices; any other that is not a transfer has no kernel here."""
    if not isinstance(form, MmaForm):
        raise PtxlabError(f"{form.mnemonic}: ptxlab generates no kernel for it")
    return form


def stores(form: TransferForm) -> bool:
    """Whether it writes memory."""
    return form.family in ("stmatrix", "wmma.store")


def is_issued(form: Form) -> bool:
    """Whether one thread issues it for all: tcgen05.mma, .cp, .shift and .commit."""
    return isinstance(form, Tcgen05Form) and tensor_ptx.issued_by_one(form)


def ptx_line(form: Form, modifiers: Modifiers | None = None) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> import ptxlab
    >>> ptx_line(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x2.b16"))
    'ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [%p];'
    """
    names = {operand.name: operand.ptx_names for operand in asm_operands(form, modifiers)}
    return with_names(form, modifiers, names)


def asm_operands(form: Form, modifiers: Modifiers | None = None) -> list[AsmOperand]:
    """The operands of the instruction in the order in which it names them; constants are not among them.

    >>> import ptxlab
    >>> asm_operands(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))[0].registers
    ('d[0]', 'd[1]', 'd[2]', 'd[3]')
    """
    if isinstance(form, Tcgen05Form):
        return tensor_ptx.operands(form, modifiers or Modifiers())
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
    matrix = form.register_operand
    shared = (form.space or "").startswith("shared")
    registers = AsmOperand(
        matrix.name.lower(), _constraint(matrix), matrix.registers, written=not stores(form)
    )
    address = AsmOperand("p", "r" if shared else "l", address=True)
    operands = [address, registers] if stores(form) else [registers, address]
    if form.wmma:
        operands.append(AsmOperand("stride", "r"))
    return operands


def _constraint(operand: Operand) -> Constraint:
    if operand.dtype.name == "f32":
        return "f"
    if operand.dtype.name == "f64":
        return "d"
    return "l" if operand.register_bits == 64 else "r"


def with_names(form: Form, modifiers: Modifiers | None, names: Mapping[str, Sequence[str]]) -> str:
    """The instruction with these names for the registers of each operand, e.g. those of an asm statement."""
    if isinstance(form, TransferForm):
        parts = _transfer_parts(form, names)
    elif isinstance(form, Tcgen05Form):
        parts = tensor_ptx.line_parts(form, modifiers or Modifiers(), names)
    else:
        ins = mma_form(form)
        modifiers = ins.check_modifiers(modifiers or Modifiers())
        make = _wgmma_parts if ins.family.startswith("wgmma") else _mma_parts
        parts = make(ins, modifiers, names)
    return f"{form.mnemonic} {', '.join(parts)}".rstrip() + ";"


def _transfer_parts(form: TransferForm, names: Mapping[str, Sequence[str]]) -> list[str]:
    if form.family == "movmatrix":
        return [names["d"][0], names["a"][0]]
    parts = [vector(names[form.register_operand.name.lower()]), f"[{names['p'][0]}]"]
    if stores(form):
        parts.reverse()
    if form.wmma:
        parts.append(names["stride"][0])
    return parts


def _mma_parts(ins: MmaForm, modifiers: Modifiers, names: Mapping[str, Sequence[str]]) -> list[str]:
    parts = [vector(names[name]) for name in "dabc"]
    if ins.sparse:
        parts += [names["e"][0], str(modifiers.selector)]
    if ins.scale_vec:
        parts += [names["sfa"][0], vector([str(modifiers.byte_id_a), str(modifiers.thread_id_a)])]
        parts += [names["sfb"][0], vector([str(modifiers.byte_id_b), str(modifiers.thread_id_b)])]
    return parts


def _wgmma_parts(ins: MmaForm, modifiers: Modifiers, names: Mapping[str, Sequence[str]]) -> list[str]:
    a = names["a_desc"][0] if ins.a_space == "shared" else vector(names["a"])
    parts = [vector(names["d"]), a, names["b_desc"][0]]
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
