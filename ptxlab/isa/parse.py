"""From a name to its form: any spelling that the assembler takes, pasted code, short names, atoms, LLVM."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from ..errors import PtxlabError, listing
from .catalog import AnyForm
from .form import Form
from .mma import Instruction
from .spelling import companion, form_of, mentions, mnemonics, tcgen05_form
from .tcgen05 import AnyTcgen05, Tcgen05Form
from .transfer import Transfer

if TYPE_CHECKING:
    from .tcgen05 import TensorInstruction

_Form = TypeVar("_Form", bound=Form)


def parse(text: str | Form) -> Instruction | Transfer:
    """The form that a text names.

    The text is one of these: a mnemonic with its qualifiers in any order that the assembler takes; a line of
    PTX or an `asm` statement with one; a short name (`mma.m16n8k64.s4`, the plainest such form); an atom of
    CUTLASS; an intrinsic of LLVM.
    A bare name of wgmma has A in registers; an operand list says where A is.

    >>> parse("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32").selectors
    (0, 1)
    >>> parse("SM80_16x8x16_F32F16F16F32_TN")
    <mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32>
    """
    forms = parse_all(text)
    if len(forms) > 1:
        raise PtxlabError(
            f"the text has {len(forms)} different matrix instructions; take one of them: {listing(forms, 8)}"
        )
    return forms[0]


def parse_any(text: str | Form, *, descriptor: int | None = None, **parts: object) -> AnyForm:
    """Like `parse`, with tcgen05 as well. tcgen05.mma takes its descriptor, as 32 bits or in parts.

    >>> parse_any("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32).shape
    'm64n32k16'
    """
    form = text if isinstance(text, Instruction | Transfer) else _tcgen05(text) or parse(text)
    if descriptor is None and not parts:
        return form
    from .tcgen05 import TensorInstruction

    if not isinstance(form, TensorInstruction):
        part = "descriptor" if descriptor is not None else next(iter(parts))
        raise PtxlabError(f"{part}: only tcgen05.mma has a descriptor; {form.mnemonic} takes none")
    return _interned(form.with_descriptor(descriptor, **parts))


@lru_cache(maxsize=1024)
def _interned(form: TensorInstruction) -> TensorInstruction:
    """The equal form that was parsed first, which has already computed its layouts."""
    return form


def _tcgen05(text: str | Form) -> AnyTcgen05 | None:
    """The form of tcgen05 that a text names; None if it names others, an error if it names several."""
    if isinstance(text, Tcgen05Form):
        if TYPE_CHECKING:
            assert isinstance(text, AnyTcgen05)
        return text
    if not isinstance(text, str) or ("tcgen05" not in text and "SM100_" not in text):
        return None
    from .aliases import tcgen05_atom

    mentioned = mentions(text)
    atoms = {name: tcgen05_atom(name) for name in mentioned if not name.startswith("tcgen05")}
    names = [name for name in mentioned if name.startswith("tcgen05") or atoms.get(name) is not None]
    forms: list[AnyTcgen05] = []
    for name in [name for name in names if not companion(name)] or names[:1]:
        form = atoms.get(name) or tcgen05_form(name)
        if form is None:
            raise PtxlabError(_refusal(name))
        forms.append(_with_a_as_written(form, name, text))
    distinct = list(dict.fromkeys(forms))
    if len(distinct) > 1:
        raise PtxlabError(
            f"the text has {len(distinct)} different tcgen05 instructions; take one of them: "
            f"{listing(distinct, 8)}"
        )
    return distinct[0] if distinct else None


def _with_a_as_written(form: _Form, name: str, text: str) -> _Form:
    """The form with A where an operand list has it: wgmma `{d}, a-desc, ...`, tcgen05.mma `[d], [a], ...`."""
    if isinstance(form, Instruction) and form.family.startswith("wgmma"):
        return form.a_from("shared") if _second_operands(name, text, "{", "}") == {""} else form
    if isinstance(form, Tcgen05Form):
        from .tcgen05 import TensorInstruction

        if isinstance(form, TensorInstruction) and _second_operands(name, text, "[", "]") == {"["}:
            return form.a_from("tensor")
    return form


def _second_operands(name: str, text: str, opening: str, closing: str) -> set[str]:
    """How the second operand begins wherever the first is in brackets: with the same bracket, or without."""
    code = re.sub(r'\\[nt]|["\s]', "", text)
    start, end = re.escape(opening), re.escape(closing)
    return set(re.findall(rf"{re.escape(name)}{start}[^{start}{end}]*{end},({start}?)", code))


def parse_every(text: str) -> list[AnyForm]:
    """Like `parse_all`, with tcgen05 as well; fences, waits and the like count only if nothing else is named.

    >>> parse_every("tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [r1]; tcgen05.wait::ld.sync.aligned;")
    [<tcgen05.ld.sync.aligned.32x32b.x1.b32>]
    """
    names = mentions(text)
    matrix_names = [name for name in names if not companion(name)]
    forms = [_with_a_as_written(parse_any(name), name, text) for name in matrix_names or names[:1] or [text]]
    return list(dict.fromkeys(forms))


def parse_mma(text: str | Form) -> Instruction:
    """Like `parse`, for instructions that multiply matrices; ldmatrix and the other transfers are an error.

    >>> parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").k
    16
    """
    if isinstance(text, Instruction):
        return text
    form = parse(text)
    if not isinstance(form, Instruction):
        raise PtxlabError(f"{form.mnemonic} transfers a matrix; this needs one that multiplies")
    return form


def parse_product(text: str | Form) -> Instruction | TensorInstruction:
    """Like `parse_mma`, with tcgen05.mma as well.

    >>> parse_product("tcgen05.mma.cta_group::1.kind::f16").k
    16
    """
    form = None if isinstance(text, Instruction) else _tcgen05(text)
    if form is None:
        return parse_mma(text)
    from .tcgen05 import TensorInstruction

    if not isinstance(form, TensorInstruction):
        raise PtxlabError(f"{form.mnemonic} multiplies no matrices; tcgen05.mma does")
    return form


def parse_all(text: str | Form) -> list[Instruction | Transfer]:
    """The forms that a text names, each once and at least one, in the order of the text.

    >>> code = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [r4]; wgmma.fence.sync.aligned;"
    >>> parse_all(code + " movmatrix.sync.aligned.m8n8.trans.b16 r5, r6;")
    [<ldmatrix.sync.aligned.m8n8.x4.shared.b16>, <movmatrix.sync.aligned.m8n8.trans.b16>]
    """
    if isinstance(text, Instruction | Transfer):
        return [text]
    if isinstance(text, Tcgen05Form):
        raise PtxlabError(_refusal(text.mnemonic))
    if not isinstance(text, str):
        raise PtxlabError(
            f"an instruction is named by its PTX text, found {type(text).__name__}; e.g. "
            f"{next(iter(mnemonics()))!r}"
        )
    names = mentions(text)
    matrix_names = [name for name in names if not companion(name)]
    if not matrix_names:
        raise PtxlabError(_refusal(names[0] if names else ""))
    return list(dict.fromkeys(_with_a_as_written(_resolve(name), name, text) for name in matrix_names))


@lru_cache(maxsize=1024)
def _resolve(name: str) -> Instruction | Transfer:
    form = form_of(name)
    if form is None:
        from .aliases import alias_form

        form = alias_form(name)
    if form is None:
        raise PtxlabError(_refusal(name))
    return form


def _refusal(name: str) -> str:
    """Why a name is refused. The module that finds out is loaded only then."""
    from .refusals import why_not

    return why_not(name)
