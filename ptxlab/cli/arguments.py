"""The instruction and operands that the arguments of a command name; for tcgen05.mma with its descriptor."""

from __future__ import annotations

import argparse
import re
from typing import Any

from ..errors import PtxlabError, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse, parse_any
from ..isa.tcgen05 import Tcgen05Control, Tcgen05Form, Tcgen05Mma
from ..isa.transfer import TransferForm
from .parser import suggestion

_PARTS = ("m", "n", "a", "b", "d")  # options for parts of the descriptor of a tcgen05.mma
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


def form_of(args: argparse.Namespace) -> MmaForm | TransferForm | Tcgen05Form:
    """The form that the arguments name."""
    if not names_tcgen05(args):
        return parse(args.instruction)
    options = descriptor_options(args)
    code, parts = _descriptor(args.descriptor)
    parts |= {name: options[f"--{name}"] for name in _PARTS if f"--{name}" in options}
    form = parse_any(args.instruction, descriptor=code, **parts)
    if not isinstance(form, Tcgen05Form):
        raise PtxlabError(f"{form.mnemonic} does not belong to tcgen05")
    if args.tensor_a:
        if not isinstance(form, Tcgen05Mma):
            raise PtxlabError(f"--tensor-a: {form.mnemonic} has no A")
        form = form.a_from("tensor")
    return form


def descriptor_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of a tcgen05.mma that were given, with their values."""
    options = {"--descriptor": args.descriptor, "--tensor-a": args.tensor_a or None}
    options |= {f"--{name}": getattr(args, f"tcgen05_{name}", None) for name in _PARTS}
    return {option: value for option, value in options.items() if value is not None}


def names_tcgen05(args: argparse.Namespace) -> bool:
    """Whether the arguments name an instruction of tcgen05; its options are refused for others."""
    if "tcgen05" in args.instruction or "SM100_" in args.instruction:
        return True
    option = next(iter(descriptor_options(args)), None)
    if option is not None:
        raise PtxlabError(f"{option} belongs to tcgen05.mma, found {quoted(args.instruction)}")
    return False


def product_of(args: argparse.Namespace, refusal: str) -> Product:
    """The instruction that the arguments name; `refusal` is the error for one that does not multiply."""
    form = form_of(args)
    if isinstance(form, Tcgen05Control):
        raise PtxlabError(f"{form.mnemonic} {form.purpose}; it computes nothing")
    if not isinstance(form, MmaForm | Tcgen05Mma):
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
