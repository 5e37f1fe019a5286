"""The index of the picker: every instruction that the Explorer shows, compact, with words to search for.

Instructions that differ only in N (wgmma has up to 32) share one row. A row is a list of small numbers:
indices of its family, shape, types, qualifiers and targets in the lists beside it. A tcgen05.mma is listed by
its mnemonic, with the shape and types of its plainest descriptor; its words name all types. Transfers follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, singledispatch
from typing import Any

from ...isa.catalog import (
    Product,
    mma_forms,
    tcgen05_forms,
    tcgen05_products,
    tcgen05_transfers,
    transfer_forms,
)
from ...isa.form import Form
from ...isa.mma import Instruction
from ...isa.targets import CARD_NAMES, TARGETS, generation
from ...isa.tcgen05 import TensorControl, TensorInstruction, TensorTransfer
from ...isa.transfer import Transfer
from ..documents.forms import AnyTransfer, Explorable

#: Other names of element types.
_TYPE_WORDS = {
    "f16": ("half", "fp16"), "bf16": ("bfloat", "bfloat16"), "tf32": ("tensorfloat", "tensorfloat32"),
    "f64": ("double", "fp64"), "e4m3": ("fp8", "float8"), "e5m2": ("fp8", "float8"),
    "e3m2": ("fp6", "float6"), "e2m3": ("fp6", "float6"), "e2m1": ("fp4", "float4"),
    "s8": ("int8", "integer"),
    "u8": ("int8", "uint8", "integer"), "s4": ("int4", "integer"), "u4": ("int4", "uint4", "integer"),
    "b1": ("binary", "bits", "int1"), "s1z4m11": ("integer",),
}  # fmt: skip

_ROUNDING_WORDS = {"rz": ("toward", "zero"), "rm": ("down",), "rp": ("up",)}


@lru_cache(maxsize=1)
def _tensor_forms() -> tuple[TensorInstruction, ...]:
    """Every tcgen05.mma, by its mnemonic."""
    return tcgen05_products()


@lru_cache(maxsize=1)
def _other_forms() -> tuple[TensorControl, ...]:
    """What the Explorer has nothing to show of: tcgen05.alloc, .commit, .fence and the like."""
    return tuple(form for form in tcgen05_forms() if isinstance(form, TensorControl))


@lru_cache(maxsize=1)
def _transfer_forms() -> tuple[AnyTransfer, ...]:
    """Every tcgen05.ld, .st, .cp and .shift; ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store."""
    return (*tcgen05_transfers(), *transfer_forms())


def everyday_words(ins: Explorable) -> tuple[str, ...]:
    """Words that describe an instruction, apart from those of its mnemonic, targets and their generations.

    >>> import ptxlab
    >>> everyday_words(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32"))
    ('sparse', '4:8', 'warp', 'int4', 'integer', 'uint4', 'mixed')
    >>> everyday_words(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::tf32"))
    ('dense', 'tensor', 'memory', 'asynchronous', 'pair', 'tf32', 'tensorfloat', 'tensorfloat32')
    >>> everyday_words(ptxlab.instruction("tcgen05.cp.cta_group::1.4x256b"))
    ('copy', 'tensor', 'memory', 'move', 'shared')
    """
    return tuple(dict.fromkeys(word for word, _ in _words_with_parts(ins)))


@singledispatch
def _words_with_parts(ins: Form) -> Iterator[tuple[str, str]]:
    """Everyday words, each with the part of the mnemonic that it stands for, or ""; see below."""
    raise NotImplementedError(ins)


#: What each transfer does, in one word.
_MOVES = {
    "tcgen05.ld": "load", "tcgen05.st": "store", "tcgen05.cp": "copy", "tcgen05.shift": "shift",
    "ldmatrix": "load", "stmatrix": "store", "movmatrix": "transpose", "wmma.load": "load",
    "wmma.store": "store",
}  # fmt: skip


@_words_with_parts.register(Transfer)
def _(ins: Transfer) -> Iterator[tuple[str, str]]:
    """Everyday words of an instruction that moves a matrix to or from the registers of a warp."""
    yield _MOVES[ins.family], ins.family.removeprefix("wmma.")
    yield from (("move", ""), ("registers", ""), ("warp", ""))
    if ins.family != "movmatrix":
        yield "memory", ""
    if not ins.wmma:
        yield "shared", ""
    if ins.trans:
        yield "transpose", "trans"
    yield from ((word, ins.type) for word in _TYPE_WORDS.get(ins.type, ()))
    if ins.source:
        yield "decompress", ins.source


@_words_with_parts.register(TensorTransfer)
def _(ins: TensorTransfer) -> Iterator[tuple[str, str]]:
    """Everyday words of an instruction that moves words to or from tensor memory."""
    yield _MOVES[ins.family], ins.family.removeprefix("tcgen05.")
    yield from (("tensor", "tcgen05"), ("memory", "tcgen05"), ("move", "tcgen05"))
    if ins.family == "tcgen05.cp":
        yield "shared", "cp"
    if ins.threads == 32:
        yield from (("warp", ""), ("registers", ""))
    if ins.cta_group == 2:
        yield "pair", "cta_group::2"
    if ins.source:
        yield from (("decompress", ins.source), (f"fp{4 if ins.source.startswith('b4') else 6}", ins.source))
    if ins.reduces:
        yield from (("reduce", "red"), ("minimum" if ins.reduction == "min" else "maximum", ins.reduction))
    if ins.compresses:
        yield from (("compress", "spcompress"), ("2:4", "sp::2:4"))


@_words_with_parts.register(TensorInstruction)
def _(ins: TensorInstruction) -> Iterator[tuple[str, str]]:
    """Everyday words of a tcgen05.mma; its types are those that a descriptor can name."""
    yield from _density_words(ins)
    yield from (("tensor", "tcgen05"), ("memory", "tcgen05"), ("asynchronous", "tcgen05"))
    if ins.cta_group == 2:
        yield "pair", "cta_group::2"
    if ins.ws:
        yield from (("weight", "ws"), ("stationary", "ws"))
    kind = f"kind::{ins.kind}"
    for dtype in ins.traits.types:
        yield from ((word, kind) for word in (dtype, *_TYPE_WORDS[dtype]))
    if ins.scaled:
        yield from (("block", "block_scale"), ("scaled", "block_scale"))
        if ins.descriptor.scale == "ue4m3":
            yield "nvfp4", kind
        else:
            yield "microscaling", "block_scale"
            yield from ((f"mx{_TYPE_WORDS[dtype][0]}", kind) for dtype in ins.traits.types)
    if ins.decompress:
        yield from (("lookup", "decompress::lut::b"), ("table", "decompress::lut::b"))


def _density_words(ins: Product) -> Iterator[tuple[str, str]]:
    names = ("dense",) if ins.structure is None else ("sparse", ins.structure.name)
    return ((name, "") for name in names)


@_words_with_parts.register(Instruction)
def _(ins: Instruction) -> Iterator[tuple[str, str]]:
    """Everyday words of an instruction whose operands are in registers."""
    yield from _density_words(ins)
    yield ("warpgroup", "wgmma") if ins.lanes == 128 else ("warp", "")
    for dtype in (ins.a_type, ins.b_type):
        yield from ((word, dtype) for word in _TYPE_WORDS[dtype])
    if ins.mma_count > 1:  # made for Volta
        yield from (("volta", ins.shape), ("quadpair", ins.shape))
    if ins.scale_vec is not None:
        yield from (("block", "block_scale"), ("scaled", "block_scale"))
        if ins.scale_type == "ue4m3":
            yield "nvfp4", "ue4m3"
        elif ins.kind != "mxf4nvf4" or ins.scale_vec == 2:  # MX has a scale for every 32 elements
            yield "microscaling", "block_scale"
            yield from ((f"mx{_TYPE_WORDS[dtype][0]}", dtype) for dtype in (ins.a_type, ins.b_type))
    if ins.satfinite:
        yield "saturating", "satfinite"
    if ins.a_type != ins.b_type:
        yield "mixed", ""
    if ins.family.startswith("wgmma"):
        yield "asynchronous", "mma_async"
    if ins.rounding:
        yield from ((word, ins.rounding) for word in _ROUNDING_WORDS[ins.rounding])


def _parts_of_words() -> dict[str, list[str]]:
    """The parts of mnemonics that everyday words stand for."""
    parts: dict[str, dict[str, None]] = {}
    forms: list[Explorable] = [*mma_forms(), *_tensor_forms(), *_transfer_forms()]
    for ins in forms:
        for word, part in _words_with_parts(ins):
            if part:
                parts.setdefault(word, {})[part] = None
    return {word: list(choices) for word, choices in parts.items()}


@lru_cache(maxsize=1)
def _layout_counts() -> dict[tuple[str, str, str], int]:
    """How many layouts of A and B a family has for a shape and types."""
    layouts: dict[tuple[str, str, str], set[tuple[str, str]]] = {}
    for ins in mma_forms():
        layouts.setdefault((ins.family, ins.shape, _types(ins)), set()).add((ins.a_layout, ins.b_layout))
    return {key: len(pairs) for key, pairs in layouts.items()}


def _qualifiers(ins: Instruction) -> str:
    """What the mnemonic has besides family, shape and types; layouts only if there is a choice."""
    words = []
    if _layout_counts()[ins.family, ins.shape, _types(ins)] > 1:
        words.append(f"{ins.a_layout}.{ins.b_layout}")
    if ins.ordered:
        words.append("sp::ordered_metadata")
    if ins.kind is not None:
        words.append(f"kind::{ins.kind}")
    if ins.scale_vec is not None:
        words.append(f"{ins.scale_vec}X {ins.scale_type}")
    words += [word for word in (ins.bit_op, ins.rounding) if word]
    if ins.satfinite:
        words.append("satfinite")
    return " ".join(words) or "plain"


def _tensor_qualifiers(ins: TensorInstruction) -> str:
    """What the mnemonic of a tcgen05.mma has besides its family."""
    words = [f"cta_group::{ins.cta_group}", f"kind::{ins.kind}"]
    flags = ((ins.scale_vector, True), ("decompress::lut::b", ins.decompress), ("ashift", ins.ashift))
    return " ".join([*words, *(word for word, is_set in flags if word and is_set)])


def _transfer_qualifiers(ins: AnyTransfer) -> str:
    """What the mnemonic of a transfer has besides its family, shape and type."""
    if isinstance(ins, Transfer):
        words: list[str] = [ins.matrix or "", ins.layout or ""]
        if not ins.wmma:
            count = "" if ins.family == "movmatrix" else f"x{ins.count}"
            words = [count, "trans" if ins.trans else "", ins.source or ""]
    elif ins.threads == 1:
        words = [f"cta_group::{ins.cta_group}", ins.multicast, ins.source]
    else:
        unpack = "unpack::16b" if ins.family == "tcgen05.st" else "pack::16b"
        flags = ((unpack, ins.pack), ("red", ins.reduces), ("spcompress", ins.compresses),
                 (ins.reduction, bool(ins.reduction)), ("abs", ins.absolute), ("NaN", ins.nan))  # fmt: skip
        words = [f"x{ins.count}", *(word for word, is_set in flags if is_set)]
    return " ".join(word for word in words if word)


def _types(ins: Product) -> str:
    return f"{ins.d_type}.{ins.a_type}.{ins.b_type}.{ins.c_type}"


def _target_words(targets: tuple[str, ...]) -> str:
    """A set of targets in few words: ``sm_80 and later``."""
    if len(targets) > 1 and targets == TARGETS[TARGETS.index(targets[0]) :]:
        return f"{targets[0]} and later"
    return ", ".join(targets) if len(targets) < 3 else f"{targets[0]} and {len(targets) - 1} more"


class _Indices:
    """Numbers distinct values in the order of first use."""

    def __init__(self) -> None:
        self.values: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        return self.values.setdefault(value, len(self.values))


@lru_cache(maxsize=1)
def picker_index() -> dict[str, Any]:
    """All instructions that the Explorer shows: lists of names, and a row of indices for each instruction.

    A row is [mnemonic with ``nN`` where N varies, family, shape, types, qualifiers, set of targets, set of N,
    set of words, where A may be (1: registers or shared memory, 2: shared or tensor memory), lanes].

    >>> index = picker_index()
    >>> index["count"], len(index["rows"]), index["families"][3:7]
    (2231, 1198, ['wgmma', 'wgmma.sp', 'tcgen05.mma', 'tcgen05.mma.sp'])
    >>> index["others"][0]   # of the catalogue, that have no matrices and no data
    50
    >>> index["rows"][530][0], index["n_sets"][index["rows"][530][6]][:3]
    ('wgmma.mma_async.sp.sync.aligned.m64nNk64.satfinite.s32.u8.u8', [8, 16, 24])
    """
    forms: dict[tuple[str, str], list[Instruction]] = {}
    for ins in mma_forms():
        shape = f"m{ins.m}nNk{ins.k}" if ins.family.startswith("wgmma") else ins.shape
        forms.setdefault((ins.mnemonic.replace(ins.shape, shape), shape), []).append(ins)
    families, shapes, types, qualifiers, target_sets, n_sets, word_sets = (_Indices() for _ in range(7))
    sizes = {((group[0].m, group[0].n, group[0].k), shape) for (_, shape), group in forms.items()}
    sizes |= {((form.m, form.n, form.k), form.shape) for form in _tensor_forms()}
    for _, shape in sorted(sizes):  # listed by size
        shapes(shape)

    def row(
        ins: Explorable,
        shape: str,
        element_types: str,
        other_qualifiers: str,
        mnemonic: str = "",
        n_values: tuple[int, ...] = (0,),
        a_places: int = 0,
    ) -> list[str | int]:
        return [
            mnemonic or ins.mnemonic,
            families(ins.family),
            shapes(shape),
            types(element_types),
            qualifiers(other_qualifiers),
            target_sets((ins.targets, str(ins.ptx_version))),
            n_sets(n_values),
            word_sets(everyday_words(ins)),
            a_places,
            ins.lanes,
        ]

    rows = []
    for (mnemonic, shape), group in forms.items():
        ins = group[0]
        n_values = tuple(form.n for form in group)
        a_places = int(ins.family.startswith("wgmma"))
        rows.append(row(ins, shape, _types(ins), _qualifiers(ins), mnemonic, n_values, a_places))
    for form in _tensor_forms():
        a_places = 0 if form.ashift else 2
        qualifiers_of_form = _tensor_qualifiers(form)
        rows.append(
            row(form, form.shape, _types(form), qualifiers_of_form, n_values=(form.n,), a_places=a_places)
        )
    for transfer in _transfer_forms():
        rows.append(row(transfer, transfer.shape, transfer.type, _transfer_qualifiers(transfer)))
    return {
        "count": len(mma_forms()) + len(_tensor_forms()) + len(_transfer_forms()),
        "others": [len(_other_forms()), list(dict.fromkeys(form.family for form in _other_forms()))],
        "families": list(families.values),
        "shapes": list(shapes.values),
        "types": list(types.values),
        "qualifiers": list(qualifiers.values),
        "targets": [
            [name, generation(name), " ".join(CARD_NAMES.get(name, ())).lower().split()] for name in TARGETS
        ],
        "target_sets": [
            [_target_words(targets), [TARGETS.index(target) for target in targets], version]
            for targets, version in target_sets.values
        ],
        "n_sets": [list(sizes) for sizes in n_sets.values],
        "word_sets": [list(words) for words in word_sets.values],
        "parts_of_words": _parts_of_words(),
        "rows": rows,
    }
