"""PTX text -> form, or an error that names the qualifier at fault and the spellings that would be right."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

from ..errors import PtxlabError, listing
from .catalog import FAMILIES, catalog, mma_forms
from .catalog.transfer import spellings as transfer_spellings
from .dtypes import DTYPES
from .form import Form
from .mma import MmaForm
from .quirks import QUIRKS
from .transfer import TransferForm

__all__ = ["parse", "parse_mma"]

#: Legal in PTX ISA 9.1 and later, unknown to 9.0's assembler.
_NVF4_4X = "row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"
_LATER = {
    f"mma.sync.aligned.m16n8k64.{_NVF4_4X}": "9.1",
    f"mma.sp::ordered_metadata.sync.aligned.m16n8k128.{_NVF4_4X}": "9.1",
}


@lru_cache(maxsize=None)
def _spellings() -> dict[str, MmaForm | TransferForm]:
    known: dict[str, MmaForm | TransferForm] = {}
    for ins in mma_forms():
        known[ins.mnemonic] = ins
        if ins.kind in ("mxf4", "mxf8f6f4"):  # their only .scale_vec may be left out
            known[ins.mnemonic.replace(f".scale_vec::{ins.scale_vec}X", "")] = ins
        if ins.lanes == 128 and ins.satfinite:  # the assembler takes .satfinite at the end as well
            known[ins.mnemonic.replace(".satfinite", "") + ".satfinite"] = ins
        if ins.a_type == "f64" and ins.rounding is None:  # .rn is the default and may be written
            known[
                ins.mnemonic.replace(ins.shape, f"{ins.shape}.rn")
                if ins.family == "wmma"
                else f"{ins.mnemonic}.rn"
            ] = ins
    for text, entry in list(known.items()):
        if entry.family == "wmma":  # the manual's examples have the shape first
            known[re.sub(r"\.((?:row|col)\.(?:row|col))\.(m\d+n\d+k\d+)", r".\2.\1", text)] = entry
    for row in catalog():
        if isinstance(row, TransferForm):
            known.update(transfer_spellings(row))
            if row.wmma:  # and the state space between shape and layout
                for variant in map(row.in_space, row.spaces):
                    known[
                        f"{row.family}.{row.matrix}.sync.aligned.{row.shape}.{variant.space}.{row.layout}.{row.type}"
                    ] = variant
    return known


def _normal(text: str) -> str:
    """The mnemonic alone: white space around dots gone.

    Guard predicate, operand list and comments cut off.
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).strip()
    text = re.sub(r"^@\s*!?\s*%?\w+\s+", "", text)
    text = re.sub(r"\s*(\.|::)\s*", r"\1", text)
    return re.split(r"[\s{\[;,]", text, maxsplit=1)[0] if text else ""


def parse(text: str | Form) -> MmaForm | TransferForm:
    """The form of that PTX spelling; a trailing operand list and stray white space do no harm.

    >>> parse("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32").selectors
    (0, 1)
    """
    if isinstance(text, MmaForm | TransferForm):
        return text
    if not isinstance(text, str):
        raise PtxlabError(
            f"an instruction is named by its PTX text, found {type(text).__name__}; e.g. "
            f"{next(iter(_spellings()))!r}"
        )
    name = _normal(text)
    if name in _spellings():
        return _spellings()[name]
    raise PtxlabError(_refusal(name))


def parse_mma(text: str | Form) -> MmaForm:
    """As `parse`, for instructions that multiply matrices; ldmatrix and the other transfers are an error.

    >>> parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").k
    16
    """
    form = parse(text)
    if not isinstance(form, MmaForm):
        raise PtxlabError(f"{form.mnemonic} transfers a matrix; this needs one that multiplies")
    return form


def _tokens(name: str) -> list[str]:
    return name.split(".")


@lru_cache(maxsize=None)
def _canonical() -> dict[str, list[str]]:
    """The spelling of every instruction that it has itself, to be offered."""
    return {spelling: _tokens(spelling) for spelling, ins in _spellings().items() if spelling == ins.mnemonic}


@lru_cache(maxsize=None)
def _words() -> frozenset[str]:
    return frozenset(token for spelling in _spellings() for token in _tokens(spelling))


def _refusal(name: str) -> str:
    if not name:
        return f"no instruction given; e.g. {next(iter(_spellings()))}"
    if name in _LATER:
        return f"{name} needs PTX ISA {_LATER[name]}; this catalogue is that of PTX ISA 9.0 (CUDA 13.0)"
    cased = _by_lower_case().get(name.lower())
    if cased is not None:
        return f"{name!r}: PTX tells upper case from lower; this is spelt {cased}"
    tokens = _tokens(name)
    quirk = _quirk_of(name, tokens)
    near = _nearest(tokens)
    if quirk is None:
        return f"{name!r}: {_fault(name, tokens, near[0])}; nearest legal: {listing(near)}"
    reason, meant = quirk
    if meant is not None:
        near = [meant, *(other for other in near if other != meant)][:3]
    return f"{name!r}: {reason}; nearest legal: {listing(near)}"


def _fault(name: str, tokens: list[str], nearest: str) -> str:
    """What is wrong.

    Shape and type that do not go together, a word that no instruction has, or the first difference from the
    nearest.
    """
    without = _shape_without_type(tokens)
    if without is not None:
        return without
    if tokens[0] not in {family.split(".")[0] for family in FAMILIES}:
        return f"{tokens[0]!r} is no matrix instruction; families are {listing(FAMILIES, 12)}"
    strange = next((token for token in tokens if token not in _words()), None)
    if strange is not None:
        return f"no instruction here has the qualifier .{strange}"
    best = _tokens(nearest)
    ops = [op for op in SequenceMatcher(a=tokens, b=best, autojunk=False).get_opcodes() if op[0] != "equal"]
    _, low, high, blow, bhigh = ops[0] if ops else ("", 0, 0, 0, 0)
    is_, right = ".".join(tokens[low:high]), ".".join(best[blow:bhigh])
    return f".{is_} does not fit here" if is_ else f".{right} is missing after .{tokens[low - 1]}"


def _quirk_of(name: str, tokens: list[str]) -> tuple[str, str | None] | None:
    """What is wrong, what the assembler makes of it all the same, and the spelling that is meant.

    None where the assembler refuses too.
    """
    right = _meant(name)
    if right is not None:
        moved = next(token for token, other in zip(_tokens(right), tokens, strict=True) if token != other)
        return (
            f".{moved} stands elsewhere in the manual's order; the assembler takes any order, ptxlab the "
            f"manual's",
            right,
        )
    for row in QUIRKS:
        fault = row.fault_of(name, _meant)
        if fault is not None:
            reason, meant = fault
            if meant is None:
                reason = _shape_without_type(tokens) or reason
            return f"{reason}; the assembler takes it ({row.where}) and {row.emits}", meant
    return None


@lru_cache(maxsize=None)
def _by_lower_case() -> dict[str, str]:
    return {spelling.lower(): spelling for spelling in _spellings()}


@lru_cache(maxsize=None)
def _by_content() -> dict[object, str]:
    """The first spelling of each set of qualifiers, to know one that only has them in another order."""
    return {_content(_tokens(spelling)): spelling for spelling in reversed(_spellings())}


def _meant(name: str) -> str | None:
    """The legal spelling of the same qualifiers, whatever their order."""
    return name if name in _spellings() else _by_content().get(_content(_tokens(name)))


def _content(tokens: list[str]) -> object:
    """What the assembler reads in a spelling whatever the order: see `ptxlab.isa.quirks.ORDER`."""
    head = 1
    if tokens[:2] in (["wmma", "load"], ["wmma", "store"]):
        head = 3
    elif tokens[0] in ("wmma", "wgmma"):
        head = 2
    keeping = [[token for token in tokens[head:] if token in group] for group in _KEEPING]
    rest = sorted(token for token in tokens[head:] if not any(token in group for group in _KEEPING))
    return tuple(tokens[:head]), tuple(map(tuple, keeping)), tuple(rest)


#: Qualifiers that keep their order among themselves.
_KEEPING = (
    frozenset({*DTYPES, "b16", "b8"}),
    frozenset({"row", "col"}),
    frozenset({"xor", "and", "popc"}),
    frozenset({"b8x16", "b6x16_p32", "b4x16_p64"}),
)


def _nearest(tokens: list[str]) -> list[str]:
    """The three most alike.

    Only those that share most words are compared letter by letter, which keeps a refusal quick.
    """
    every, words = _canonical(), set(tokens)
    alike = nlargest(
        200,
        every,
        key=lambda s: (
            2 * (every[s][0] == tokens[0]) + len(words.intersection(every[s])),
            -abs(len(every[s]) - len(tokens)),
        ),
    )
    return sorted(alike, key=lambda s: (-_likeness(tokens, every[s]), _distance(tokens, every[s]), s))[:3]


def _shape_without_type(tokens: list[str]) -> str | None:
    """``m16n8k64 has no f16 form.

    F16 comes in m16n8k8, m16n8k16``, where shape and types are known but do not go together.
    """
    sparse = any(token in ("sp", "sp::ordered_metadata") for token in tokens)
    shape = _shape(tokens)
    types = [token for token in tokens if token in DTYPES]
    if shape is None or len(types) < 3:
        return None
    shapes = list(_shapes(tokens[0], sparse).get(types[1], ()))
    if not shapes or shape in shapes:
        return None
    shapes.sort(key=lambda other: _distance([shape], [other]))
    return f"{shape} has no {types[1]} form; {types[1]} comes in {listing(shapes, 6)}"


@lru_cache(maxsize=None)
def _shapes(head: str, sparse: bool) -> dict[str, tuple[str, ...]]:
    """The shapes of each type of A."""
    shapes: dict[str, dict[str, None]] = {}
    for ins in mma_forms():
        if ins.sparse == sparse and ins.family.split(".")[0] == head:
            shapes.setdefault(ins.a_type, {})[ins.shape] = None
    return {name: tuple(names) for name, names in shapes.items()}


def _shape(tokens: list[str]) -> str | None:
    return next((token for token in tokens if re.fullmatch(r"m\d+n\d+k\d+", token)), None)


def _distance(tokens: list[str], legal: list[str]) -> int:
    """How far two shapes are apart; 0 where one has none."""
    sizes = [[int(size) for size in re.findall(r"\d+", _shape(each) or "")] for each in (tokens, legal)]
    return sum(abs(x - y) for x, y in zip(*sizes, strict=False))


def _likeness(tokens: list[str], legal: list[str]) -> float:
    """How alike two spellings are: common tokens in order, and letters within the tokens that differ."""
    alike = SequenceMatcher(a=tokens, b=legal, autojunk=False).ratio()
    return alike + 0.1 * (tokens[:2] == legal[:2]) + 0.01 * len(set(tokens) & set(legal))
