"""Why a name is refused: the qualifier at fault, what the assembler makes of it, and what would be right."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest
from itertools import permutations

from ..errors import listing, quoted
from .aliases import atom_mnemonic, is_atom, is_intrinsic, plainest_forms, similar_names
from .catalog import REGISTER_FAMILIES, AnyForm, mma_forms, register_forms, tcgen05_forms
from .dtypes import DTYPES
from .quirks import QUIRKS
from .spelling import (
    COMPANIONS,
    canonical,
    companion,
    is_mnemonic,
    mnemonics,
    tcgen05_form,
    tcgen05_mnemonics,
)

#: Longer than any name; longer texts are not compared.
_MAX_LENGTH = 200

_FAMILIES = listing((*REGISTER_FAMILIES, "tcgen05"), 11)
_TCGEN05 = "multiplies or moves matrices in tensor memory (data-centre Blackwell)"


def why_not(name: str) -> str:
    """One sentence on why a name is refused.

    >>> why_not("wgmma.fence.sync.aligned").split("; ")[1]
    'it multiplies nothing and has no fragments'
    """
    if not name:
        return f"no instruction given; e.g. {next(iter(mnemonics()))}"
    if len(name) > _MAX_LENGTH:
        return f"{quoted(name)}: no instruction has a name of {len(name)} letters"
    if name.startswith("tcgen05") and not is_atom(name):
        return _tcgen05_refusal(name)
    head = companion(name)
    if head is not None:
        return f"{head} {COMPANIONS[head]}; it multiplies nothing and has no fragments"
    if is_atom(name):
        return _atom_refusal(name)
    if is_intrinsic(name):
        return (
            f"{quoted(name)}: LLVM has no matrix intrinsic of that name; it has, e.g., "
            "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
        )
    tokens = name.split(".")
    cased = _by_lower_case().get(name.lower())
    if cased is not None:
        return f"{quoted(name)}: PTX tells upper case from lower; this is spelt {cased}"
    similar = [] if is_mnemonic(name) else similar_names(name)
    if similar:
        return f"no instruction is called {quoted(name)}; did you mean {' or '.join(similar)}?"
    if is_mnemonic(name) or tokens[0] in _heads():
        return _mnemonic_refusal(name, tokens)
    if re.match(r"(?:[BDHIOQ]|[BHIQ]G|UTC[HIOQ])MMA\b|(?:LDS|STS|MOV)M\b", name):
        return f"{quoted(name)} is machine code (SASS); `ptxlab sass` shows what PTX becomes on a chip"
    if "wmma::" in name:
        return f"{quoted(name)} is C++, which ptxlab.wmma mirrors; PTX has wmma.load, wmma.mma and wmma.store"
    return f"{quoted(name)} is not a matrix instruction; families are {_FAMILIES}"


def _atom_refusal(name: str) -> str:
    if "TMA" in name or "BULK" in name or "CP_ASYNC" in name:
        return f"{quoted(name)} copies between global and shared memory; it is not a matrix instruction"
    if re.match(r"(?:\w+::)*SM10\d_(?:MMA|TMEM|UTCCP|MXF4)", name):
        return f"{quoted(name)} is a tcgen05 instruction, which {_TCGEN05}; name it by its PTX mnemonic"
    mnemonic = atom_mnemonic(name)
    if mnemonic is not None:
        reason = _mnemonic_refusal(mnemonic, mnemonic.split("."))
        return f"{quoted(name)} is not a CUTLASS atom; it would be {reason}"
    if re.search(r"SM120_(?:SPARSE_)?16x8x\d+_TN", name):
        scaled = "_VS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 32>"
        arguments = scaled if "_VS" in name else "<float_e4m3_t, float_e4m3_t, float>"
        return (
            f"{quoted(name)}: its template arguments have to say the types, e.g. SM120_16x8x32_TN{arguments}"
        )
    if re.search(r"_G?C64", name):
        return f"{quoted(name)} multiplies complex numbers by several instructions; name one of f64"
    return f"{quoted(name)} is not a CUTLASS atom that stands for one matrix instruction of PTX"


def _tcgen05_refusal(name: str) -> str:
    """Why a legal form is not accepted here, or what is wrong with an illegal one, and the nearest legal."""
    if tcgen05_form(name) is not None:
        opcode = name.split(".cta_group")[0].split(".sync")[0]
        return (
            f"{opcode} works in tensor memory, and this takes instructions that work in registers; "
            f"ptxlab.instruction({name!r}).figure() draws what it has there, `ptxlab show` tells the rest"
        )
    tokens = name.split(".")
    pool = {mnemonic: mnemonic.split(".") for mnemonic in tcgen05_mnemonics()}
    if tokens[:2] not in [words[:2] for words in pool.values()]:
        opcodes = dict.fromkeys(".".join(words[:2]) for words in pool.values())
        opcode = ".".join(tokens[:2])
        return f"{quoted(name)}: no instruction is called {opcode}; there are {listing(opcodes, 20)}"
    same = {mnemonic: words for mnemonic, words in pool.items() if words[:2] == tokens[:2]}
    fault, correction = quirk_of(name) or (_tcgen05_fault(tokens, list(same.values())), None)
    if tokens[1] == "mma":
        tokens = [token for token in tokens if not _is_in_descriptor(token)]
    similar = _nearest(tokens, same)
    if correction is not None:
        similar = [correction, *(other for other in similar if other != correction)][:3]
    return f"{quoted(name)}: {fault}; nearest legal: {listing(similar)}"


def _is_in_descriptor(token: str) -> bool:
    """Whether it is a shape or a type, which the descriptor of tcgen05.mma has."""
    return token in DTYPES or _shape([token]) is not None


def _tcgen05_fault(tokens: list[str], same: list[list[str]]) -> str:
    """The fault: a qualifier that is unknown or missing, or two that do not go together."""
    qualifiers_in_use = {word for words in same for word in words}
    unknown = next((token for token in tokens if token not in qualifiers_in_use), None)
    if tokens[1] == "mma" and any(map(_is_in_descriptor, tokens)):
        return (
            "shape and types of tcgen05.mma are not in its name but in its descriptor: "
            "ptxlab.instruction(name, m=128, n=256, a='f16', b='f16', d='f32')"
        )
    if unknown is not None:
        return f"{'.'.join(tokens[:2])} has no qualifier {_brief([unknown])}"
    legal = [set(words) for words in same]
    qualifiers = set(tokens)
    if len(qualifiers) < len(tokens):
        return f"{_brief([next(token for token in tokens if tokens.count(token) > 1)])} is there twice"
    if qualifiers in legal:
        return "its qualifiers stand in the wrong order"
    larger = [words for words in legal if qualifiers < words]
    if larger:
        missing = sorted(
            min(larger, key=len) - qualifiers, key=lambda word: (not word.startswith(("cta", "kind")), word)
        )
        group = missing[0].split("::")[0]
        return f".{missing[0] if group == missing[0] or len(larger) == 1 else group + '::'} is missing"
    for first in tokens[2:]:
        for second in tokens[2:]:
            if first != second and not any({first, second} <= words for words in legal):
                return f".{first} and .{second} do not go together"
    return "its qualifiers do not go together"


# -- incomplete names -------------------------------------------------------------------------------------


def candidates(name: str) -> list[AnyForm]:
    """The instructions that an incomplete name may mean, in the order of the catalogue.

    Each has all the qualifiers of the name, in its order. A name with other faults has no candidates.

    >>> [form.mnemonic for form in candidates("tcgen05.shift")]
    ['tcgen05.shift.cta_group::1.down', 'tcgen05.shift.cta_group::2.down']
    >>> candidates("mma.m16n8k99")
    []
    """
    name = name.strip()
    if len(name) > _MAX_LENGTH or not re.fullmatch(r"[\w.:]+", name) or quirk_of(name) is not None:
        return []
    if not name.startswith("tcgen05") and not is_mnemonic(name):
        return [*plainest_forms(name)]
    tokens = name.rstrip(".").split(".")
    forms = tcgen05_forms() if tokens[0] == "tcgen05" else register_forms()
    sparse = any(token.split("::")[0] == "sp" for token in tokens)
    return [form for form in forms if form.sparse == sparse and _has_in_order(form, tokens)]


def _has_in_order(form: AnyForm, tokens: list[str]) -> bool:
    qualifiers = iter(form.mnemonic.split("."))
    return all(token in qualifiers for token in tokens)


def _mnemonic_refusal(name: str, tokens: list[str]) -> str:
    similar = _nearest(tokens)
    reason, correction = quirk_of(name) or _wrong_types(tokens) or (_fault(tokens, similar[0]), None)
    if correction is not None:
        similar = [correction, *(other for other in similar if other != correction)][:3]
    return f"{quoted(name)}: {reason}; nearest legal: {listing(similar)}"


def quirk_of(name: str) -> tuple[str, str | None] | None:
    """What is wrong, what the assembler makes of it anyway, and the closest legal spelling.

    None if the assembler refuses it too.
    """
    for row in QUIRKS:
        fault = row.fault_of(name, canonical)
        if fault is not None:
            reason, correction = fault
            if correction is None:
                reason = _shape_without_type(name.split(".")) or reason
            return f"{reason}; the assembler takes it ({row.where}) and {row.emits}", correction
    return _two_quirks(name)


def _two_quirks(name: str) -> tuple[str, str] | None:
    """Like `quirk_of`, for spellings with two faults; the assembler accepts them only in some places."""
    corrections = (correction for row in QUIRKS for correction in row.corrections(name))
    for first, spelling in corrections:
        others = (row.fault_of(spelling, canonical) for row in QUIRKS if spelling is not None)
        for second, correction in filter(None, others):
            if correction is not None:
                both = ", and ".join(dict.fromkeys((first, second)))
                return f"{both}; the assembler may take it all the same", correction
    return None


def _wrong_types(tokens: list[str]) -> tuple[str, str] | None:
    """Types in the wrong order, and errors by analogy: bf16 results, all four types of wmma f16."""
    types = [token for token in tokens if token in DTYPES]
    if len(types) < 2:
        return None
    if len(types) == 4:
        orders = (".".join(_replaced(tokens, types, dict(enumerate(order)))) for order in permutations(types))
        correction = next(filter(None, map(canonical, orders)), None)
        if correction is not None:
            return f"types stand in the order D, A, B, C; found .{'.'.join(types)}", correction
    if types[0] == "bf16":
        correction = canonical(".".join(_replaced(tokens, types, {0: "f32", 3: "f32"})))
        if correction is not None:
            return "D and C of bf16 products are f32", correction
    if tokens[:2] == ["wmma", "mma"] and len(types) == 4 and types[1] == types[2] == "f16":
        correction = canonical(".".join(_replaced(tokens, types, {1: None, 2: None})))
        if correction is not None:
            return f"wmma.mma of f16 names the types of D and C only, .{types[0]}.{types[3]}", correction
    return None


def _replaced(tokens: list[str], types: list[str], changes: dict[int, str | None]) -> list[str]:
    """The tokens with some of their types, counted from 0, replaced or left out."""
    new_types = iter([changes.get(place, name) for place, name in enumerate(types)])
    words = (next(new_types) if token in DTYPES else token for token in tokens)
    return [word for word in words if word is not None]


def _fault(tokens: list[str], nearest: str) -> str:
    """The fault: shape and type that do not go together, an unknown word, or a difference from `nearest`."""
    without = _shape_without_type(tokens)
    if without is not None:
        return without
    if tokens[0] not in _heads():
        return f"{quoted(tokens[0])} is not a matrix instruction; families are {_FAMILIES}"
    unknown = next((token for token in tokens if token not in _words()), None)
    if unknown is not None:
        return f"no instruction here has the qualifier {_brief([unknown])}"
    legal = nearest.split(".")
    opcodes = SequenceMatcher(a=tokens, b=legal, autojunk=False).get_opcodes()
    changes = [opcode for opcode in opcodes if opcode[0] != "equal"]
    _, start, stop, legal_start, legal_stop = changes[0] if changes else ("", 0, 0, 0, 0)
    if start < stop:
        return f"{_brief(tokens[start:stop])} does not fit here"
    return f"{_brief(legal[legal_start:legal_stop])} is missing after .{tokens[start - 1]}"


def _brief(words: list[str]) -> str:
    """Qualifiers for a sentence: at most three, and at most 40 characters."""
    text = "".join(f".{word}" for word in words[:3])
    return f"{text[:40]}..." if len(text) > 40 or len(words) > 3 else text


def _heads() -> set[str]:
    return {family.split(".")[0] for family in REGISTER_FAMILIES}


def _shape_without_type(tokens: list[str]) -> str | None:
    """``m16n8k64 has no f16 form; f16 comes in m16n8k8, m16n8k16``, where they do not go together."""
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


# -- nearest spellings ------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def _tokens_by_mnemonic() -> dict[str, list[str]]:
    return {mnemonic: mnemonic.split(".") for mnemonic in mnemonics()}


@lru_cache(maxsize=None)
def _words() -> frozenset[str]:
    return frozenset({"rn"}.union(*_tokens_by_mnemonic().values()))


@lru_cache(maxsize=None)
def _by_lower_case() -> dict[str, str]:
    return {mnemonic.lower(): mnemonic for mnemonic in mnemonics()}


def _nearest(tokens: list[str], pool: dict[str, list[str]] | None = None) -> list[str]:
    """The three most similar mnemonics.

    Only those that share most words are compared in detail, which keeps a refusal quick.
    """
    candidates, words = pool or _tokens_by_mnemonic(), set(tokens)

    def shared_words(mnemonic: str) -> tuple[int, int]:
        legal = candidates[mnemonic]
        same_head = 2 if legal[0] == tokens[0] else 0
        return same_head + len(words.intersection(legal)), -abs(len(legal) - len(tokens))

    def order(mnemonic: str) -> tuple[float, int, bool, str]:
        legal = candidates[mnemonic]
        is_rare = ".f32.f16.f16" not in mnemonic  # what most people use comes first
        return -_similarity(tokens, legal), _distance(tokens, legal), is_rare, mnemonic

    return sorted(nlargest(200, candidates, key=shared_words), key=order)[:3]


def _shape(tokens: list[str]) -> str | None:
    return next((token for token in tokens if re.fullmatch(r"m\d{1,9}n\d{1,9}k\d{1,9}", token)), None)


def _distance(tokens: list[str], legal: list[str]) -> int:
    """The distance between two shapes; 0 if one is missing."""
    sizes = [[int(size) for size in re.findall(r"\d+", _shape(words) or "")] for words in (tokens, legal)]
    return sum(abs(x - y) for x, y in zip(*sizes, strict=False))


def _similarity(tokens: list[str], legal: list[str]) -> float:
    """How similar two spellings are, by the tokens that they share."""
    alike = SequenceMatcher(a=tokens, b=legal, autojunk=False).ratio()
    same_start = 0.1 if tokens[:2] == legal[:2] else 0.0
    return alike + same_start + 0.01 * len(set(tokens) & set(legal))
