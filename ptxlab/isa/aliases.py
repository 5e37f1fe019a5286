"""Names that are not PTX's: short names, CUTLASS's atoms, LLVM's intrinsics.

A short name, such as `mma.m16n8k64.s4`, names the plainest such instruction.

CUTLASS: `SM80_16x8x16_F32F16F16F32_TN`, `SM75_U32x4_LDSM_N`, from include/cute/arch/{mma,copy}_sm*.hpp. A
name states the first target, the shape, the types of D, A, B and C, and the layouts of A and B: T is PTX's
row, N its col; SS and RS say whether wgmma reads A from shared memory or from registers. Atoms of SM120 have
the types as template arguments, those of SM100 (tcgen05) the shape as well.

LLVM: `llvm.nvvm.mma.m16n8k16.row.col.f32.f32`, from llvm/include/llvm/IR/IntrinsicsNVVM.td. A name has only
the types that distinguish it: D and C for f16 products; for others A, and B if it differs, or all four. `.p3`
is a pointer to shared memory.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, product

from ..errors import PtxlabError, listing, quoted
from .catalog import catalog, register_forms
from .dtypes import DTYPES
from .form import Form
from .mma import Instruction
from .spelling import form_of, is_mnemonic, tcgen05_form
from .tcgen05 import AnyTcgen05
from .transfer import Transfer


def alias_form(name: str) -> Instruction | Transfer | None:
    """The instruction that a name other than PTX's stands for; None if there is none."""
    form = atom_form(name) or intrinsic_form(name)
    if form is None and not is_mnemonic(name) and not is_intrinsic(name):
        form = by_short_name(name)
    return form


# -- short names ---------------------------------------------------------------------------------------------

#: More words than any name has; longer texts are refused before anything is compared.
_MAX_WORDS = 20


def short_name(form: Form) -> str | None:
    """``mma.m16n8k64.s4``, with a float D also its type: ``mma.m16n8k16.f32.f16``; None if it has none."""
    if not isinstance(form, Instruction) or form.kind:
        return None
    if form.a_type != form.b_type or form.c_type != form.d_type:
        return None
    parts = [form.family, form.shape]
    if form.d_type != "s32":
        parts.append(form.d_type)
    parts.append(form.a_type)
    if form.bit_op:
        parts.append(form.bit_op)
    return ".".join(parts)


@lru_cache(maxsize=1)
def instruction_names() -> tuple[str, ...]:
    """Every short name and every mnemonic, for completion.

    >>> "mma.m16n8k64.s4" in instruction_names()
    True
    """
    forms = catalog()
    short_names = dict.fromkeys(name for form in forms if (name := short_name(form)))
    return *short_names, *(form.mnemonic for form in forms)


def by_short_name(name: str) -> Instruction | Transfer | None:
    """The plainest instruction that has every qualifier of the name; None if there is none.

    Types must come in PTX's order; `.sp`, `.load` and `.store` must be written. Of several forms the plainest
    is taken: without .satfinite, .kind and rounding, with ordered metadata, row.col, C of D's type, A and B
    of one type. If several are equally plain, the name is refused.

    >>> by_short_name("mma.m16n8k64.s4")
    <mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32>
    """
    plainest = plainest_forms(name)
    if len(plainest) > 1:
        names = sorted(form.mnemonic for form in plainest)
        raise PtxlabError(
            f"{quoted(name)} could be any of {len(names)} instructions, so say more: {listing(names, 6)}"
        )
    return plainest[0] if plainest else None


def plainest_forms(name: str) -> list[Instruction | Transfer]:
    """Every instruction that a short name may mean, equally plain, in the order of the catalogue."""
    tokens = _qualifiers(name)
    if len(tokens) > _MAX_WORDS:
        return []
    matches = list(_matching(tokens))
    extras = [_extra_qualifiers(form, qualifiers, tokens) for form, qualifiers in matches]
    return [form for (form, _), extra in zip(matches, extras, strict=True) if extra == min(extras, default=0)]


@lru_cache(maxsize=None)
def _catalog() -> tuple[tuple[Instruction | Transfer, list[str]], ...]:
    """Every form of the catalogue with the qualifiers of its mnemonic."""
    return tuple((form, _qualifiers(form.mnemonic)) for form in register_forms())


@lru_cache(maxsize=None)
def _words() -> frozenset[str]:
    return frozenset(word for _, qualifiers in _catalog() for word in qualifiers)


def _qualifiers(text: str) -> list[str]:
    return re.split(r"\.|::", text.strip("."))


def _matching(tokens: list[str]) -> Iterator[tuple[Instruction | Transfer, list[str]]]:
    if _words().issuperset(tokens):
        yield from (entry for entry in _catalog() if _matches(*entry, tokens))


def _matches(form: Form, qualifiers: list[str], tokens: list[str]) -> bool:
    """Whether the form has all that the tokens name, and nothing that they would have to name."""
    if tokens[0] != qualifiers[0]:
        names_an_operation = tokens[0] in ("mma", "wmma", "wgmma")
        if names_an_operation or not isinstance(form, Instruction):
            return False
    if form.sparse != ("sp" in tokens or "ordered_metadata" in tokens):
        return False
    if any(word in qualifiers and word not in tokens for word in ("load", "store")):
        return False
    if isinstance(form, Instruction):
        types = iter([form.d_type, form.a_type, form.b_type, form.c_type, form.scale_type])
        if not all(token in types for token in tokens if token in DTYPES):  # in this order
            return False
        tokens = [token for token in tokens if token not in DTYPES]  # wmma leaves out the f16 of A and B
    if not all(token in qualifiers for token in tokens):
        return False
    orders = iter([word for word in qualifiers if word in ("row", "col")])
    return all(token in orders for token in tokens if token in ("row", "col"))


def _extra_qualifiers(form: Form, qualifiers: list[str], tokens: list[str]) -> int:
    """How many properties the form has that the tokens do not name."""
    optional = ("satfinite", "kind", "trans", "rz", "rm", "rp")
    extras = [word in qualifiers and word not in tokens for word in optional]
    orders = [word for word in qualifiers if word in ("row", "col")]
    if not isinstance(form, Instruction):
        usual = "col" if qualifiers[:3] == ["wmma", "load", "b"] else "row"
        extras.append(any(order not in (usual, *tokens) for order in orders))
        extras.append("matrix" in qualifiers[0] and "b16" not in qualifiers)  # ldmatrix.x4 is that of m8n8
        return sum(extras)
    types = [token for token in tokens if token in DTYPES]
    extras += [
        form.sparse and not form.metadata_ordered,
        form.a_type != form.b_type and not {form.a_type, form.b_type} <= set(tokens),
        orders not in (["row", "col"], []) and not {"row", "col"} & set(tokens),
        form.c_type != form.d_type,
        len(types) > 1 and types[0] != form.d_type,
        bool(types) and form.a_type not in types,
    ]
    return sum(extras)


# -- similar names ----------------------------------------------------------------------------------------


def similar_names(name: str) -> list[str]:
    """Up to three short names that exist: unknown words are replaced or, if all are known, any one word."""
    tokens = _qualifiers(name)
    unknown = [token for token in tokens if token not in _words()]
    if len(tokens) > _MAX_WORDS or len(unknown) > 2:
        return []
    if len(unknown) == len(tokens) and not any(_looks_like(token) for token in tokens):
        return []
    if unknown:
        options = [[token] if token in _words() else _similar_words(token) for token in tokens]
        names = (list(words) for words in product(*options) if _exists(list(words)))
    else:
        names = (words for index in range(len(tokens)) for words in _with_another_word(tokens, index))
    return [".".join(words) for words in islice(names, 3)]


def _looks_like(token: str) -> bool:
    """Whether an unknown word resembles an operation or a shape."""
    heads = {qualifiers[0] for _, qualifiers in _catalog()}
    shape = re.match(r"m\d+n\d+", token) is not None
    return shape or bool(difflib.get_close_matches(token.lower(), heads, 1, 0.7))


def _similar_words(token: str) -> list[str]:
    """Known words that resemble it; only types for a word that looks like a type."""
    words: Iterable[str] = _words()
    if re.fullmatch(r"(?:b|bf|tf|[efsu])\d+\w*", token):
        words = DTYPES
    return difflib.get_close_matches(token, words, 4, 0.5)


def _with_another_word(tokens: list[str], index: int) -> Iterator[list[str]]:
    """Up to two names that exist with another shape or type at this index."""
    token, others = tokens[index], tokens[:index] + tokens[index + 1 :]
    if not others or not (token in DTYPES or _is_shape(token)):
        return
    words = {word for _, qualifiers in _matching(others) for word in qualifiers}
    words = {word for word in words if (word in DTYPES if token in DTYPES else _is_shape(word))}
    alike = sorted(words, key=lambda word: (-difflib.SequenceMatcher(a=token, b=word).ratio(), word))
    names = ([*tokens[:index], word, *tokens[index + 1 :]] for word in alike[:8])
    yield from islice((name for name in names if _exists(name)), 2)


def _is_shape(word: str) -> bool:
    return re.fullmatch(r"m\d+n\d+(k\d+)?", word) is not None


def _exists(tokens: list[str]) -> bool:
    return next(_matching(tokens), None) is not None


# -- atoms of CUTLASS ----------------------------------------------------------------------------------------

_ATOM = re.compile(
    r"(?P<scopes>(?:\w+::)*)(?:SM\d+_)?(?P<prefix>SPARSE_|GMMA_|MMA_)?"
    r"(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?:(?P<types>(?:BF16|TF32|E\dM\d|[FSU]\d+){3,4})_)?"
    r"(?P<source>[SR]S)?_?(?P<layout>[TN]{2})?(?P<scaled>_VS)?(?:_(?P<suffix>SATURATE|ANDPOPC|XORPOPC))?"
    r"(?:<(?P<arguments>[^<>]*)>)?"
)
_COPY = re.compile(
    r"(?:\w+::)*SM\d+_(?:(?P<packed>S(?P<source>U[46])_D)?U(?P<bits>8|16|32)x(?P<elements>\d+))"
    r"(?:_x(?P<count>[124]))?_(?P<op>LDSM|STSM|MOVM)_(?P<order>[NT])(?:<[^<>]*>)?"
)
_SUFFIXES = {"SATURATE": "satfinite", "ANDPOPC": "and.popc", "XORPOPC": "xor.popc", None: ""}
_LAYOUTS = {"T": "row", "N": "col"}
_CPP_TYPES = {
    "half_t": "f16", "bfloat16_t": "bf16", "tfloat32_t": "tf32", "float": "f32", "int8_t": "s8",
    "uint8_t": "u8", "int32_t": "s32",
}  # fmt: skip
#: Operation, bits of an element, order -> the instruction, and how many elements of a lane one matrix takes.
_COPIES = {
    ("LDSM", "32", "N"): ("ldmatrix.sync.aligned.m8n8.x{count}.shared.b16", 1),
    ("LDSM", "32", "T"): ("ldmatrix.sync.aligned.m8n8.x{count}.trans.shared.b16", 1),
    ("LDSM", "16", "T"): ("ldmatrix.sync.aligned.m8n8.x{count}.trans.shared.b16", 2),
    ("LDSM", "8", "T"): ("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8", 8),
    ("STSM", "32", "N"): ("stmatrix.sync.aligned.m8n8.x{count}.shared.b16", 1),
    ("STSM", "32", "T"): ("stmatrix.sync.aligned.m8n8.x{count}.trans.shared.b16", 1),  # used by DeepGEMM
    ("STSM", "16", "T"): ("stmatrix.sync.aligned.m8n8.x{count}.trans.shared.b16", 2),
    ("STSM", "8", "T"): ("stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8", 4),
    ("MOVM", "32", "T"): ("movmatrix.sync.aligned.m8n8.trans.b16", 1),
}
_PACKED = {"U4": "b4x16_p64", "U6": "b6x16_p32"}


def is_atom(name: str) -> bool:
    """Whether this looks like a name of CUTLASS.

    >>> is_atom("SM90_TMA_LOAD"), is_atom("mma.m16n8k16")
    (True, False)
    """
    return re.match(r"(?:\w+::)*(?:SM\d+_|G?MMA_\d+x)", name) is not None


def atom_form(name: str) -> Instruction | Transfer | None:
    """The instruction of an atom; None if it has none here.

    >>> atom_form("SM90::GMMA::MMA_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>")
    <wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16, A in shared memory>
    """
    copy, atom = _COPY.fullmatch(name), _ATOM.fullmatch(name)
    if copy is not None and copy["packed"]:
        source = _PACKED[copy["source"]]
        return form_of(f"ldmatrix.sync.aligned.m8n16.x{copy['count']}.shared.b8x16.{source}")
    if copy is not None:
        mnemonic, elements = _COPIES.get((copy["op"], copy["bits"], copy["order"]), ("", 1))
        return form_of(mnemonic.format(count=int(copy["elements"]) // elements))
    if atom is None:
        return None
    form = next((form for form in map(form_of, _mma_names(atom)) if form is not None), None)
    if isinstance(form, Instruction) and atom["source"] and form.lanes == 128:
        return form.a_from("shared" if atom["source"] == "SS" else "register")
    return form


def atom_mnemonic(name: str) -> str | None:
    """The mnemonic that an atom which does not exist would have; None if its name says too little.

    >>> atom_mnemonic("SM80_16x8x99_F32F16F16F32_TN")
    'mma.sync.aligned.m16n8k99.row.col.f32.f16.f16.f32'
    """
    atom = _ATOM.fullmatch(name)
    if atom is None or not set(_types(atom)) <= {*DTYPES}:
        return None
    if atom["scaled"] and not _arguments(atom)[-1].isdecimal():
        return None
    return _mma_names(atom)[0]


def _mma_names(atom: re.Match[str]) -> list[str]:
    """The mnemonics that the name of an atom may stand for; one is legal, or none."""
    m, n, k = int(atom["m"]), int(atom["n"]), int(atom["k"])
    shape, suffix = f"m{m}n{n}k{k}", _SUFFIXES[atom["suffix"]]
    types = _types(atom)
    sparse = "SPARSE" in f"{atom['scopes']}{atom['prefix']}{atom['arguments']}".upper()
    if m == 64:
        plain = ".".join(("sync.aligned", shape, *types, suffix)).rstrip(".")
        names = [f"wgmma.mma_async.{plain}", f"wgmma.mma_async.sp.{plain}"]
        return names[1:] if sparse else names
    layouts = ("row", "col")
    if atom["layout"]:
        layouts = _LAYOUTS[atom["layout"][0]], _LAYOUTS[atom["layout"][1]]
    operation = "mma.sp::ordered_metadata" if sparse else "mma"
    words = [operation, "sync.aligned", shape, *layouts, *_kind(atom, types, k), *types, suffix]
    return [".".join(word for word in words if word)]


def _types(atom: re.Match[str]) -> list[str]:
    """The types of D, A, B and C, and of the scales."""
    if atom["types"]:
        names = re.findall(r"BF16|TF32|E\dM\d|[FSU]\d+", atom["types"])
        return ["b1" if name == "U1" else name.lower() for name in names]
    a, b, c, *rest = (*_arguments(atom), "", "", "")
    return [c, a, b, c, *(scale for scale in rest[:1] if scale)]


def _arguments(atom: re.Match[str]) -> list[str]:
    """The template arguments as PTX names the types: ``cutlass::float_e4m3_t`` is e4m3."""
    words = [word.strip().rpartition("::")[2] for word in (atom["arguments"] or "").split(",")]
    return [_CPP_TYPES.get(word, word.removeprefix("float_").removesuffix("_t")) for word in words]


def _kind(atom: re.Match[str], types: list[str], k: int) -> list[str]:
    """The kind of an SM120 atom, which CUTLASS derives from the types and from VS, the k of one scale."""
    if atom["types"]:
        return []
    if not atom["scaled"]:
        return ["kind::f8f6f4"]
    vector_size = _arguments(atom)[-1]
    if not vector_size.isdecimal():
        return []
    narrow = k == 64 if "SPARSE" not in atom[0] else k == 128
    kind = "mxf4nvf4" if narrow else "mxf8f6f4"
    return [f"kind::{kind}", "block_scale", f"scale_vec::{k // max(int(vector_size), 1)}X"]


# -- atoms of CUTLASS for tcgen05 ----------------------------------------------------------------------------

_UMMA = re.compile(
    r"(?:\w+::)*SM100_MMA_(?P<kind>TF32|F16BF16|S8|F8F6F4|MXF8F6F4|MXF4NVF4|MXF4)(?P<pair>_2x1SM)?"
    r"_(?P<source>[ST]S)(?P<sparse>_SPARSE)?(?P<scaled>_SCALED)?(?:<(?P<arguments>[^<>]*)>)?"
)
_TMEM = re.compile(
    r"(?:\w+::)*SM100_TMEM_(?P<op>LOAD|STORE)_(?P<lanes>16|32)dp(?P<bits>\d+)b(?P<count>\d+)x(?P<half>_16b)?"
)
_UTCCP = re.compile(
    r"(?:\w+::)*SM100_UTCCP_(?:\dx)?(?P<lanes>\d+)dp(?P<bits>\d+)bit(?P<cast>lw0213|lw0123)?_(?P<ctas>[12])cta"
)
_UMMA_KINDS = {
    "TF32": "tf32", "F16BF16": "f16", "S8": "i8", "F8F6F4": "f8f6f4", "MXF8F6F4": "mxf8f6f4.block_scale",
    "MXF4NVF4": "mxf4nvf4.block_scale", "MXF4": "mxf4nvf4.block_scale",
}  # fmt: skip
_CASTS = {("64", "lw0213"): ".warpx2::02_13", ("64", "lw0123"): ".warpx2::01_23", ("32", None): ".warpx4"}


def tcgen05_atom(name: str) -> AnyTcgen05 | None:
    """The tcgen05 instruction of an atom of SM100, with its template arguments; None if it has none.

    >>> tcgen05_atom("SM100_MMA_F16BF16_SS<half_t, half_t, float, 64, 32, UMMA::Major::K, UMMA::Major::MN>")
    <tcgen05.mma.cta_group::1.kind::f16 m64n32k16.f32.f16.f16>
    >>> tcgen05_atom("SM100_TMEM_LOAD_16dp256b4x")
    <tcgen05.ld.sync.aligned.16x256b.x4.b32>
    """
    umma = _UMMA.fullmatch(name)
    if umma is not None:
        return _umma_form(umma)
    load = _TMEM.fullmatch(name)
    if load is not None:
        family, pack = ("ld", "pack") if load["op"] == "LOAD" else ("st", "unpack")
        shape = f"{load['lanes']}x{load['bits']}b"
        if shape == "16x32b":
            shape = "16x32bx2"
        half = f".{pack}::16b" if load["half"] else ""
        return tcgen05_form(f"tcgen05.{family}.sync.aligned.{shape}.x{load['count']}{half}.b32")
    copy = _UTCCP.fullmatch(name)
    if copy is None:
        return None
    cast = _CASTS.get((copy["lanes"], copy["cast"]), "")
    return tcgen05_form(f"tcgen05.cp.cta_group::{copy['ctas']}.{copy['lanes']}x{copy['bits']}b{cast}")


def _umma_form(atom: re.Match[str]) -> AnyTcgen05 | None:
    from .tcgen05 import TensorInstruction

    words = _arguments(atom)
    numbers = [int(word) for word in words if word.isdecimal()]
    kind = _UMMA_KINDS[atom["kind"]]
    if kind.startswith("mxf4nvf4"):
        kind += ".block16" if numbers[2:3] == [16] else ".block32"
    sparse = ".sp" if atom["sparse"] else ""
    group = 2 if atom["pair"] else 1
    form = tcgen05_form(f"tcgen05.mma{sparse}.cta_group::{group}.kind::{kind}")
    if not isinstance(form, TensorInstruction):
        return form
    if atom["source"] == "TS":
        form = form.a_from("tensor")
    if len(numbers) < 2 or len(words) < 3:
        return form
    majors = [word == "MN" for word in words if word in ("K", "MN")]
    transposes = dict(zip(("transpose_a", "transpose_b"), majors, strict=False))
    m, n, *_ = numbers
    return form.with_descriptor(None, a=words[0], b=words[1], d=words[2], m=m, n=n, **transposes)


# -- intrinsics of LLVM --------------------------------------------------------------------------------------

_PREFIX = "llvm.nvvm."
_SPACES = {"0": [], "1": ["global"], "3": ["shared"]}


def is_intrinsic(name: str) -> bool:
    """Whether this looks like a name of LLVM.

    >>> is_intrinsic("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3")
    True
    """
    return name.startswith(_PREFIX)


def intrinsic_form(name: str) -> Instruction | Transfer | None:
    """The instruction of an intrinsic; None if it has none here.

    >>> intrinsic_form("llvm.nvvm.mma.m16n8k8.row.col.tf32")
    <mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32>
    >>> intrinsic_form("llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p3")
    <wmma.load.a.sync.aligned.row.m16n16k16.shared.f16>
    """
    if not is_intrinsic(name):
        return None
    plain = name.removeprefix(_PREFIX).replace("sp.ordered.metadata", "sp::ordered_metadata")
    head, *words = [word for word in plain.split(".") if word != "stride"]
    pointer = re.fullmatch(r"p(\d)(?:i\d+)?", words[-1]) if words else None
    space = _SPACES.get(pointer[1], []) if pointer is not None else []
    words = words[:-1] if pointer is not None else words
    if head == "wmma" and words[1:2] in (["load"], ["store"]):
        shape, *words = words
        return form_of(".".join([head, *words[:2], "sync.aligned", shape, *words[2:], *space]))
    if head in ("mma", "wmma"):
        operation = "wmma.mma" if head == "wmma" else "mma"
        types = [word for word in words if word in DTYPES]
        others = [word for word in words if word not in DTYPES and word != "mma"]
        return form_of(".".join([operation, "sync.aligned", *others, *_all_types(types, head == "wmma")]))
    return form_of(".".join([head, *words, *space]))


def _all_types(types: list[str], is_wmma: bool) -> list[str]:
    """The types of D, A, B and C in PTX's mnemonic."""
    if len(types) == 2 and set(types) <= {"f16", "f32"}:
        return types if is_wmma else [types[0], "f16", "f16", types[1]]
    if len(types) not in (1, 2):
        return types
    first = DTYPES[types[0]]
    accumulator = "s32"
    if first.is_float:
        accumulator = "f64" if first.name == "f64" else "f32"
    return [accumulator, types[0], types[-1], accumulator]
