"""Which form a mnemonic names, whatever the order of its qualifiers, and the mnemonics in a pasted text.

The assembler reads qualifiers in any order, as long as types, layouts, bit operation and `.popc`, target and
source format keep their order among themselves. Published code relies on it:
`ldmatrix.sync.aligned.x4.m8n8.shared.b16`, `.satfinite` at the end, `kind::` before the shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from .catalog import register_forms, tcgen05_forms
from .dtypes import DTYPES
from .mma import Instruction
from .tcgen05 import CONTROL_FAMILIES, AnyTcgen05
from .transfer import Transfer

#: Qualifiers that keep their order among themselves.
_ORDERED = (
    frozenset({*DTYPES, "b16", "b8"}),
    frozenset({"row", "col"}),
    frozenset({"xor", "and", "popc"}),
    frozenset({"b8x16", "b6x16_p32", "b4x16_p64"}),
)
#: The same for tcgen05.
_TCGEN05_ORDERED = (frozenset({"f32", "b2", "b8x16", "b6x16_p32", "b4x16_p64"}),)
#: Words of tcgen05 that stand right after the word before them.
_TCGEN05_HEADS = frozenset({"ws", "red", "spcompress"})
_Key = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...]]


def form_of(name: str) -> Instruction | Transfer | None:
    """The form that the assembler reads in a mnemonic; None if the catalogue has none.

    >>> form_of("ldmatrix.sync.aligned.x4.m8n8.shared.b16")
    <ldmatrix.sync.aligned.m8n8.x4.shared.b16>
    """
    return _forms().get(_key(_without_repetition(name.split("."))))


def canonical(name: str) -> str | None:
    """The mnemonic in the manual's order; None if the catalogue has no such form."""
    form = tcgen05_form(name) if name.startswith("tcgen05") else form_of(name)
    return None if form is None else form.mnemonic


def is_mnemonic(name: str) -> bool:
    """Whether this is meant as a whole mnemonic, not as a short name: every mnemonic has `.sync.aligned`.

    >>> is_mnemonic("mma.sync.m16n8k16.f16"), is_mnemonic("mma.m16n8k16.f16")
    (True, False)
    """
    return not {"sync", "aligned"}.isdisjoint(name.split("."))


@lru_cache(maxsize=None)
def _forms() -> dict[_Key, Instruction | Transfer]:
    return {_key(name.split(".")): form for name, form in spellings()}


@lru_cache(maxsize=None)
def mnemonics() -> dict[str, Instruction | Transfer]:
    """Every form by its own mnemonic, with each state space of a transfer."""
    return {form.mnemonic: form for _, form in spellings()}


def spellings() -> Iterator[tuple[str, Instruction | Transfer]]:
    """Every set of qualifiers that names a form, in the manual's order, with the form."""
    for form in register_forms():
        if isinstance(form, Transfer):
            for variant in (form, *map(form.in_space, form.spaces)):
                yield variant.mnemonic, variant
            continue
        yield form.mnemonic, form
        if form.kind in ("mxf4", "mxf8f6f4"):  # their only .scale_vec may be left out
            yield form.mnemonic.replace(f".scale_vec::{form.scale_vec}X", ""), form
        if form.a_type == "f64" and form.rounding is None:  # .rn is the default and may be written
            yield f"{form.mnemonic}.rn", form
        if form.family.startswith("wgmma"):  # mandatory in the manual, not for the assembler
            yield form.mnemonic.replace(".aligned", ""), form


def head_length(tokens: list[str]) -> int:
    """How many words the opcode has: ``wmma.load.a``, ``wgmma.mma_async``, ``mma``, ``tcgen05.mma.ws``."""
    if tokens[0] == "tcgen05":
        return next(
            (i for i, token in enumerate(tokens) if i > 1 and token not in _TCGEN05_HEADS), len(tokens)
        )
    if tokens[:2] in (["wmma", "load"], ["wmma", "store"]):
        return 3
    return 2 if tokens[0] in ("wmma", "wgmma") else 1


def _key(tokens: list[str]) -> _Key:
    """What the assembler reads in a mnemonic, whatever the order of its qualifiers."""
    head = head_length(tokens)
    groups = _TCGEN05_ORDERED if tokens[0] == "tcgen05" else _ORDERED
    ordered = [tuple(token for token in tokens[head:] if token in group) for group in groups]
    rest = sorted(token for token in tokens[head:] if not any(token in group for group in groups))
    return tuple(tokens[:head]), tuple(ordered), tuple(rest)


def _without_repetition(tokens: list[str]) -> list[str]:
    """Drop a second `.sync` or `.satfinite`, as the assembler does."""
    for word in ("sync", "satfinite"):
        if tokens.count(word) > 1:
            first = tokens.index(word)
            tokens = [token for index, token in enumerate(tokens) if token != word or index == first]
    return tokens


#: Instructions that accompany matrix instructions in a kernel but are none themselves, and what they do.
COMPANIONS = {
    "wgmma.fence": "orders accesses to registers and shared memory before wgmma.mma_async",
    "wgmma.commit_group": "closes a group of wgmma.mma_async, to be waited for",
    "wgmma.wait_group": "waits until wgmma.mma_async groups are complete; before it their results must not "
    "be read",
    **CONTROL_FAMILIES,
}


def companion(name: str) -> str | None:
    """Which of the instructions around a matrix instruction this is, such as `wgmma.fence`."""
    return next((head for head in COMPANIONS if f"{name}.".startswith((f"{head}.", f"{head}::"))), None)


# -- tcgen05 ----------------------------------------------------------------------------------------------


def tcgen05_form(name: str) -> AnyTcgen05 | None:
    """The form of tcgen05 that a mnemonic names, with its plainest descriptor; None if there is none.

    >>> tcgen05_form("tcgen05.shift.down.cta_group::1")
    <tcgen05.shift.cta_group::1.down>
    """
    return _tcgen05_by_key().get(_key(_without_repetition(name.split("."))))


@lru_cache(maxsize=None)
def tcgen05_mnemonics() -> dict[str, AnyTcgen05]:
    """Every form of tcgen05 by its mnemonic, with every collector hint."""
    from .tcgen05 import TensorInstruction

    by_name: dict[str, AnyTcgen05] = {}
    for form in tcgen05_forms():
        variants: list[AnyTcgen05] = [form]
        if isinstance(form, TensorInstruction):
            variants = [form.collecting(a, b) for a, b in form.collectors]
        by_name |= {variant.mnemonic: variant for variant in variants}
    return by_name


@lru_cache(maxsize=None)
def _tcgen05_by_key() -> dict[_Key, AnyTcgen05]:
    return {_key(name.split(".")): form for name, form in tcgen05_mnemonics().items()}


# -- pasted text ------------------------------------------------------------------------------------------

_FAMILIES = "mma|wmma|wgmma|ldmatrix|stmatrix|movmatrix|tcgen05"
_MENTION = re.compile(
    rf"(?<![\w.%$])(?:{_FAMILIES})(?:\.\w+(?:::\w+(?::\d)?)*)+"  # a mnemonic of PTX
    r"|(?<![\w.%$:])(?:\w+::)*(?:SM\d+_\w+|G?MMA_\d+x\d+x\d+_\w+)(?:<[^<>]*>)?"  # an atom of CUTLASS
    r"|(?<![\w.%$])llvm\.nvvm\.(?:w?mma|ldmatrix|stmatrix)(?:\.\w+)+"  # an intrinsic of LLVM
)
#: What may split a name in C and in copied text: line continuations, colours, zero-width characters.
_SPLITS = re.compile(r'\\[nt]|\\\r?\n|"\s+"|""|\x1b\[[\d;]*m|[\xad\u200b-\u200f\u2060\ufeff]')


def mentions(text: str) -> list[str]:
    """The matrix instructions that a text names, each once: PTX, CUTLASS's atoms, LLVM's intrinsics.

    A text without any of these gives its first word, which may be a short name.

    >>> mentions('asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, ...;" : "+d"(c));')
    ['mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64']
    """
    # adjacent strings are one; \\n and \\t are two characters in them
    code = re.sub(_SPLITS, lambda match: " " if match[0] in ("\\n", "\\t") else "", text)
    bare = _collapsed(re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL))
    # in prose a name may follow the dot of a sentence
    names = _MENTION.findall(bare) or _MENTION.findall(_collapsed(code)) or _MENTION.findall(code)
    if not names:
        words = re.split(
            r'[\s{\[;,"\'`()]+', re.sub(r"^@!?%?\w+ ", "", bare).strip(" {[;,\"'`()"), maxsplit=1
        )
        names = [word for word in words[:1] if word]
    return list(dict.fromkeys(names))


def _collapsed(text: str) -> str:
    """Collapse white space, and remove it around the dots and colons of a mnemonic."""
    return re.sub(r" ?(\.|::) ?", r"\1", " ".join(text.split()))
