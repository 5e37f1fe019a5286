"""An instruction with its operand list, as PTX writes it: for listings, and for asm statements in CUDA C++.

The order of operands is that of the syntax in the PTX ISA, which each instruction states in its section.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal

from ...errors import PtxlabError
from ...isa.form import Form
from ...isa.mma import Instruction
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...isa.tcgen05 import TensorControl, TensorInstruction, TensorTransfer
from ...isa.transfer import Transfer

#: The constraint of a value in inline assembly: float, double, integer of 16, 32 or 64 bits.
Constraint = Literal["f", "d", "h", "r", "l"]
#: The registers of each operand, by its name.
_Names = Mapping[str, Sequence[str]]
#: The number of columns in alloc and dealloc: the fewest that can be allocated.
_FEWEST_COLUMNS = 32


@dataclass(frozen=True)
class AsmOperand:
    """One operand of the instruction: its registers under the manual's names, and their constraint in C++.

    >>> AsmOperand("d", "f", 4, written=True).registers
    ('d[0]', 'd[1]', 'd[2]', 'd[3]')
    """

    name: str  # a, b_desc, e, p
    constraint: Constraint
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
        """Its registers as the manual names them: %a0, %a1, or %e."""
        if self.length is None:
            return [f"%{self.name}"]
        return [f"%{self.name}{i}" for i in range(self.length)]


def vector(names: Sequence[str]) -> str:
    """Registers in braces, as PTX writes a vector."""
    return "{" + ", ".join(names) + "}"


def mma_form(form: Form) -> Instruction:
    """The form itself if it is an mma, wmma or wgmma; others have no kernel here."""
    if not isinstance(form, Instruction):
        raise PtxlabError(f"{form.mnemonic}: ptxlab generates no kernel for it")
    return form


def stores(form: Transfer) -> bool:
    """Whether it writes memory."""
    return form.family in ("stmatrix", "wmma.store")


def is_issued(form: Form) -> bool:
    """Whether a single thread issues it: tcgen05.mma, .cp, .shift and .commit."""
    return form.lanes == 1 and not form.family.startswith("tcgen05.fence")


def ptx_line(form: Form, modifiers: Modifiers | None = None) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> import ptxlab
    >>> ptx_line(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x2.b16"))
    'ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [%p];'
    """
    names = {operand.name: operand.ptx_names for operand in asm_operands(form, modifiers)}
    return with_names(form, modifiers, names)


def asm_operands(form: Form, modifiers: Modifiers | None = None) -> list[AsmOperand]:
    """The operands of the instruction in the order of its syntax, without constants.

    >>> import ptxlab
    >>> asm_operands(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))[0].registers
    ('d[0]', 'd[1]', 'd[2]', 'd[3]')
    """
    return _operands(form, modifiers or Modifiers())


@singledispatch
def _operands(form: Form, modifiers: Modifiers) -> list[AsmOperand]:
    """The operands of a kind of form; each has its own below."""
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


@_operands.register(Transfer)
def _(form: Transfer, _: Modifiers) -> list[AsmOperand]:
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
    parts = _parts(form, modifiers or Modifiers(), names)
    return f"{form.mnemonic} {', '.join(parts)}".rstrip() + ";"


@singledispatch
def _parts(form: Form, modifiers: Modifiers, names: _Names) -> list[str]:
    """The operand list of a kind of form, with these names; each has its own below."""
    ins = mma_form(form)
    modifiers = ins.check_modifiers(modifiers)
    return (_wgmma_parts if ins.family.startswith("wgmma") else _mma_parts)(ins, modifiers, names)


@_parts.register(Transfer)
def _(form: Transfer, _: Modifiers, names: _Names) -> list[str]:
    if form.family == "movmatrix":
        return [names["d"][0], names["a"][0]]
    parts = [vector(names[form.register_operand.name.lower()]), f"[{names['p'][0]}]"]
    if stores(form):
        parts.reverse()
    if form.wmma:
        parts.append(names["stride"][0])
    return parts


def _mma_parts(ins: Instruction, modifiers: Modifiers, names: Mapping[str, Sequence[str]]) -> list[str]:
    parts = [vector(names[name]) for name in "dabc"]
    if ins.sparse:
        parts += [names["e"][0], str(modifiers.selector)]
    if ins.scale_vec:
        parts += [names["sfa"][0], vector([str(modifiers.byte_id_a), str(modifiers.thread_id_a)])]
        parts += [names["sfb"][0], vector([str(modifiers.byte_id_b), str(modifiers.thread_id_b)])]
    return parts


def _wgmma_parts(ins: Instruction, modifiers: Modifiers, names: Mapping[str, Sequence[str]]) -> list[str]:
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


# -- tcgen05: addresses of tensor memory, descriptors, registers -------------------------------------------


@_operands.register(TensorInstruction)
def _tensor_mma_operands(form: TensorInstruction, modifiers: Modifiers) -> list[AsmOperand]:
    names: list[tuple[str, Constraint]] = [("d_tmem", "r")]
    names.append(("a_tmem", "r") if form.a_space == "tensor" else ("a_desc", "l"))
    names.append(("b_desc", "l"))
    if form.sparse:
        names.append(("sp_meta_tmem", "r"))
    if form.decompress:
        names.append(("b_decompress_metadata", "r"))
    names.append(("idesc", "r"))
    if form.scaled:
        names += [("scale_a_tmem", "r"), ("scale_b_tmem", "r")]
    operands = [AsmOperand(name, constraint, address=True) for name, constraint in names]
    if modifiers.disable_output_lane:
        operands.append(AsmOperand("disable_output_lane", "r", form.mask_registers))
    if modifiers.zero_column_mask:
        operands.append(AsmOperand("zero_column_mask_desc", "l", address=True))
    return operands


@_operands.register(TensorTransfer)
def _(form: TensorTransfer, _: Modifiers) -> list[AsmOperand]:
    taddr = AsmOperand("taddr", "r", address=True)
    if form.family == "tcgen05.shift":
        return [taddr]
    if form.family == "tcgen05.cp":
        return [taddr, AsmOperand("s_desc", "l", address=True)]
    registers = AsmOperand("r", "r", form.registers, written=form.family == "tcgen05.ld")
    if form.family == "tcgen05.st":
        return [taddr, registers]
    results = [registers]
    if form.compresses:
        metadata_registers = -(-form.count // 32)  # two bits for each element
        results = [
            AsmOperand("mdata", "r", metadata_registers, written=True),
            AsmOperand("cdata", "r", form.registers, written=True),
        ]
    if form.reduces:
        results.append(AsmOperand("redval", "r", written=True))
    return [*results, taddr]


@_operands.register(TensorControl)
def _(form: TensorControl, _: Modifiers) -> list[AsmOperand]:
    generic = not {"shared::cta", "shared::cluster"} & {*form.qualifiers}  # else the address has 32 bits
    pointer: Constraint = "l" if generic else "r"
    if form.family == "tcgen05.alloc":
        return [AsmOperand("dst", pointer, address=True)]
    if form.family == "tcgen05.dealloc":
        return [AsmOperand("taddr", "r", address=True)]
    if form.family != "tcgen05.commit":
        return []
    operands = [AsmOperand("mbar", pointer, address=True)]
    if "ctaMask" in form.syntax_operands:
        wide = "multicast::cluster::32b" in form.qualifiers
        operands.append(AsmOperand("cta_mask", "r" if wide else "h", address=True))
    return operands


@_parts.register(TensorControl)
def _(form: TensorControl, _: Modifiers, names: _Names) -> list[str]:
    if form.family == "tcgen05.alloc":
        return [f"[{names['dst'][0]}]", str(_FEWEST_COLUMNS)]
    if form.family == "tcgen05.dealloc":
        return [names["taddr"][0], str(_FEWEST_COLUMNS)]
    if form.family == "tcgen05.commit":
        return [f"[{names['mbar'][0]}]", *names.get("cta_mask", ())]
    return []


@_parts.register(TensorInstruction)
def _(form: TensorInstruction, modifiers: Modifiers, names: _Names) -> list[str]:
    in_tensor_memory = ("d_tmem", "a_tmem", "sp_meta_tmem", "b_decompress_metadata", "scale_a_tmem")
    parts = []
    for operand in _tensor_mma_operands(form, modifiers):
        name = names[operand.name]
        if operand.name in (*in_tensor_memory, "scale_b_tmem"):
            parts.append(f"[{name[0]}]")
        elif operand.name == "disable_output_lane":
            parts.append(vector(name))
        elif operand.name != "zero_column_mask_desc":
            parts.append(name[0])
    parts.append("enable_input_d")
    if modifiers.zero_column_mask:
        parts.append(names["zero_column_mask_desc"][0])
    if modifiers.scale_input_d:
        parts.append(str(modifiers.scale_input_d))
    return parts


@_parts.register(TensorTransfer)
def _(form: TensorTransfer, _: Modifiers, names: _Names) -> list[str]:
    return transfer_parts(form, names)


def transfer_parts(form: TensorTransfer, names: _Names, split: int | None = None) -> list[str]:
    """The operand list of tcgen05.ld, .st, .cp or .shift with these names.

    `split` is `immHalfSplitoff` of 16x32bx2, by default half of the columns.
    """
    address = [f"[{names['taddr'][0]}]"]
    if form.family == "tcgen05.shift":
        return address
    if form.family == "tcgen05.cp":
        return [*address, names["s_desc"][0]]
    if form.shape == "16x32bx2":
        address.append(str(form.columns // 2 if split is None else split))
    if form.family == "tcgen05.st":
        return [*address, vector(names["r"])]
    registers = [vector(names[name]) for name in ("mdata", "cdata", "r") if name in names]
    return [*registers, *names.get("redval", ()), *address]
