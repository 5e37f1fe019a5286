"""Operands of tcgen05 instructions as PTX writes them: addresses of tensor memory, descriptors, registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...isa.modifiers import Modifiers
from ...isa.tcgen05 import Tcgen05Control, Tcgen05Form, Tcgen05Mma, Tcgen05Transfer
from .asm import AsmOperand, Constraint, vector

#: Columns that alloc and dealloc name in a line: the fewest that there are.
COLUMNS = 32


def issued_by_one(form: Tcgen05Form) -> bool:
    """Whether one thread issues it, rather than a warp."""
    return form.lanes == 1 and not form.family.startswith("tcgen05.fence")


def metadata_registers(form: Tcgen05Transfer) -> int:
    """Registers that .spcompress fills with metadata: two bits for each of its elements."""
    return -(-form.count // 32)


def operands(form: Tcgen05Form, modifiers: Modifiers) -> list[AsmOperand]:
    """The operands in the order in which the instruction names them; constants are not among them."""
    if isinstance(form, Tcgen05Mma):
        return _mma_operands(form, modifiers)
    if isinstance(form, Tcgen05Transfer):
        return _transfer_operands(form)
    return _control_operands(form) if isinstance(form, Tcgen05Control) else []


def _mma_operands(form: Tcgen05Mma, modifiers: Modifiers) -> list[AsmOperand]:
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
    every = [AsmOperand(name, constraint, address=True) for name, constraint in names]
    if modifiers.disable_output_lane:
        every.append(AsmOperand("disable_output_lane", "r", form.mask_registers))
    if modifiers.zero_column_mask:
        every.append(AsmOperand("zero_column_mask_desc", "l", address=True))
    return every


def _transfer_operands(form: Tcgen05Transfer) -> list[AsmOperand]:
    taddr = AsmOperand("taddr", "r", address=True)
    if form.family == "tcgen05.shift":
        return [taddr]
    if form.family == "tcgen05.cp":
        return [taddr, AsmOperand("s_desc", "l", address=True)]
    registers = AsmOperand("r", "r", form.registers, written=form.family == "tcgen05.ld")
    if form.family == "tcgen05.st":
        return [taddr, registers]
    every = [registers]
    if form.compresses:
        metadata = AsmOperand("mdata", "r", metadata_registers(form), written=True)
        every = [metadata, AsmOperand("cdata", "r", form.registers, written=True)]
    if form.reduces:
        every.append(AsmOperand("redval", "r", written=True))
    return [*every, taddr]


def _control_operands(form: Tcgen05Control) -> list[AsmOperand]:
    generic = not {"shared::cta", "shared::cluster"} & {*form.qualifiers}  # else an address of 32 bits
    pointer: Constraint = "l" if generic else "r"
    if form.family == "tcgen05.alloc":
        return [AsmOperand("dst", pointer, address=True)]
    if form.family == "tcgen05.dealloc":
        return [AsmOperand("taddr", "r", address=True)]
    if form.family != "tcgen05.commit":
        return []
    every = [AsmOperand("mbar", pointer, address=True)]
    if "ctaMask" in form.syntax_operands:
        wide = "multicast::cluster::32b" in form.qualifiers
        every.append(AsmOperand("cta_mask", "r" if wide else "h", address=True))
    return every


def line_parts(
    form: Tcgen05Form,
    modifiers: Modifiers,
    names: Mapping[str, Sequence[str]],
    *,
    split: int | None = None,
    columns: int = COLUMNS,
) -> list[str]:
    """The operand list with these names for the registers of each operand.

    `split` is `immHalfSplitoff` of 16x32bx2; left out, half of the columns.
    """
    if isinstance(form, Tcgen05Mma):
        return _mma_parts(form, modifiers, names)
    if isinstance(form, Tcgen05Transfer):
        return _transfer_parts(form, names, form.columns // 2 if split is None else split)
    if form.family == "tcgen05.alloc":
        return [f"[{names['dst'][0]}]", str(columns)]
    if form.family == "tcgen05.dealloc":
        return [names["taddr"][0], str(columns)]
    if form.family == "tcgen05.commit":
        return [f"[{names['mbar'][0]}]", *names.get("cta_mask", ())]
    return []


def _mma_parts(form: Tcgen05Mma, modifiers: Modifiers, names: Mapping[str, Sequence[str]]) -> list[str]:
    in_tensor_memory = ("d_tmem", "a_tmem", "sp_meta_tmem", "b_decompress_metadata", "scale_a_tmem")
    parts = []
    for operand in _mma_operands(form, modifiers):
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


def _transfer_parts(form: Tcgen05Transfer, names: Mapping[str, Sequence[str]], split: int) -> list[str]:
    address = [f"[{names['taddr'][0]}]"]
    if form.family == "tcgen05.shift":
        return address
    if form.family == "tcgen05.cp":
        return [*address, names["s_desc"][0]]
    if form.shape == "16x32bx2":
        address.append(str(split))
    if form.family == "tcgen05.st":
        return [*address, vector(names["r"])]
    registers = [vector(names[name]) for name in ("mdata", "cdata", "r") if name in names]
    return [*registers, *names.get("redval", ()), *address]
