"""The instruction and operands that the arguments of a command name; for tcgen05.mma with its descriptor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..errors import PtxlabError, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.mma import Instruction
from ..isa.operand import Operand
from ..isa.parse import parse, parse_any
from ..isa.tcgen05 import Tcgen05Form, TensorControl, TensorInstruction
from ..isa.transfer import Transfer
from .parser import suggestion


@dataclass(frozen=True, kw_only=True)
class Tcgen05:
    """The options for the descriptor of a tcgen05.mma."""

    title: ClassVar[str] = "only for tcgen05.mma, whose shape and types are in a descriptor"
    m: Annotated[int | None, "M, e.g. 128"] = None
    n: Annotated[int | None, "N, e.g. 256"] = None
    a: Annotated[str | None, "the type of A, e.g. bf16"] = None
    b: Annotated[str | None, "the type of B"] = None
    d: Annotated[str | None, "the type of D"] = None
    descriptor: Annotated[
        str | None, "the parts together, m=64,n=32,a=bf16,d=f32, or the 32 bits", "PARTS"
    ] = None
    tensor_a: Annotated[bool, "A is in tensor memory"] = False

    @property
    def parts(self) -> dict[str, int | str]:
        """The parts that were given, by name."""
        parts = {"m": self.m, "n": self.n, "a": self.a, "b": self.b, "d": self.d}
        return {name: value for name, value in parts.items() if value is not None}

    @property
    def first(self) -> str:
        """The first option that was given, or ""."""
        if self.descriptor is not None:
            return "--descriptor"
        return "--tensor-a" if self.tensor_a else next((f"--{name}" for name in self.parts), "")


_ALIASES = {
    "METADATA": "E",
    "META": "E",
    "SCALE_A": "SFA",
    "SCALEA": "SFA",
    "SCALE_B": "SFB",
    "SCALEB": "SFB",
}


def find_operand(form: Form, name: str) -> Operand:
    """The operand with that name, or an error that suggests one."""
    try:
        return form.operand(name)
    except PtxlabError as error:
        alias = _ALIASES.get(name.upper().replace("-", "_"))
        if alias in form.operands:
            remedy = f"; did you mean {alias}?"
        else:
            remedy = suggestion(name.upper(), form.operands)
        raise PtxlabError(f"{error}{remedy}") from None


def operand_name(form: Form, text: str) -> str:
    """The name of an operand. tcgen05 also takes aliases, and C of tcgen05.mma means D."""
    if not isinstance(form, Tcgen05Form):
        return find_operand(form, text).name
    name = _ALIASES.get(text.upper().replace("-", "_"), text.upper())
    return "D" if name == "C" and "D" in form.tensors else name


def form_of(instruction: str, tcgen05: Tcgen05) -> Instruction | Transfer | Tcgen05Form:
    """The form that the arguments name."""
    if not names_tcgen05(instruction, tcgen05):
        return parse(instruction)
    code, parts = _descriptor(tcgen05.descriptor)
    form = parse_any(instruction, descriptor=code, **{**parts, **tcgen05.parts})
    if not isinstance(form, Tcgen05Form):
        raise PtxlabError(f"{form.mnemonic} does not belong to tcgen05")
    if tcgen05.tensor_a:
        if not isinstance(form, TensorInstruction):
            raise PtxlabError(f"--tensor-a: {form.mnemonic} has no A")
        form = form.a_from("tensor")
    return form


def names_tcgen05(instruction: str, tcgen05: Tcgen05) -> bool:
    """Whether the arguments name an instruction of tcgen05; its options are refused for others."""
    if "tcgen05" in instruction or "SM100_" in instruction:
        return True
    if tcgen05.first:
        raise PtxlabError(f"{tcgen05.first} belongs to tcgen05.mma, found {quoted(instruction)}")
    return False


def product_of(instruction: str, tcgen05: Tcgen05, refusal: str) -> Product:
    """The instruction that the arguments name; `refusal` is the error for one that does not multiply."""
    form = form_of(instruction, tcgen05)
    if isinstance(form, TensorControl):
        raise PtxlabError(f"{form.mnemonic} {form.purpose}; it computes nothing")
    if not isinstance(form, Instruction | TensorInstruction):
        raise PtxlabError(f"{form.mnemonic}: {refusal}")
    return form


_FLAGS = {"false": False, "true": True}


def _descriptor(text: str | None) -> tuple[int | None, dict[str, int | str]]:
    """``0x8400010``, or ``m=64,n=32,d=f16``."""
    if text is None:
        return None, {}
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,12}", text):
        return int(text, 16 if text[:2].lower() == "0x" else 10), {}
    parts: dict[str, int | str] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or not name.isidentifier() or name in ("text", "descriptor"):
            raise PtxlabError(
                f"--descriptor {quoted(text)}: expected 32 bits, such as 0x8400010, or fields, such as "
                "m=64,n=32,d=f16"
            )
        parts[name] = int(value) if re.fullmatch(r"[0-9]{1,9}", value) else _FLAGS.get(value.lower(), value)
    return None, parts
