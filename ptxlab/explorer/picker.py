"""Every instruction that multiplies, as the picker of the explorer wants it: compact, with the words that people look for.

Instructions that differ in N alone (wgmma has up to 32 of them) are one *form*. A form is a line of small numbers: the places of
its family, shape, types, qualifiers and targets in the lists beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..isa.catalog import mma_forms
from ..isa.mma import MmaForm
from ..isa.targets import TARGETS

__all__ = ["architecture", "shelf", "words"]

#: The first target of every architecture.
_GENERATIONS = {"Turing": 75, "Ampere": 80, "Ada": 89, "Hopper": 90, "Blackwell": 100}

#: What people call an element type.
_TYPES = {
    "f16": ("half", "fp16"), "bf16": ("bfloat", "bfloat16"), "tf32": ("tensorfloat", "tensorfloat32"), "f64": ("double", "fp64"),
    "e4m3": ("fp8", "float8"), "e5m2": ("fp8", "float8"), "e3m2": ("fp6", "float6"), "e2m3": ("fp6", "float6"), "e2m1": ("fp4", "float4"),
    "s8": ("int8", "integer"), "u8": ("int8", "uint8", "integer"), "s4": ("int4", "integer"), "u4": ("int4", "uint4", "integer"),
    "b1": ("binary", "bits", "int1"),
}  # fmt: skip

#: What people call the machines that have a target.
_MACHINES = {
    "sm_75": ("t4",), "sm_80": ("a100",), "sm_86": ("a10", "3090"), "sm_87": ("orin",), "sm_89": ("l4", "l40", "4090"), "sm_90a": ("h100", "h200"),
    "sm_100a": ("b200",), "sm_103a": ("b300",), "sm_110a": ("thor",), "sm_120a": ("5090",), "sm_121a": ("spark",),
}  # fmt: skip

_ROUNDINGS = {"rz": ("toward", "zero"), "rm": ("down",), "rp": ("up",)}


def architecture(target: str) -> str:
    """NVIDIA's name for the generation of a target.

    >>> architecture("sm_90a"), architecture("sm_86"), architecture("sm_121")
    ('Hopper', 'Ampere', 'Blackwell')
    """
    number = int(re.sub(r"\D", "", target))
    return [name for name, first in _GENERATIONS.items() if number >= first][-1]


def words(ins: MmaForm) -> tuple[str, ...]:
    """Everyday words that fit an instruction, beside those of its mnemonic, its targets and their architectures.

    >>> import ptxlab
    >>> words(ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32"))
    ('sparse', '4:8', 'warp', 'int4', 'integer', 'uint4', 'mixed')
    """
    return tuple(dict.fromkeys(word for word, _ in _words(ins)))


def _words(ins: MmaForm) -> Iterator[tuple[str, str]]:
    """Everyday words, each with the part of the mnemonic that it stands for, or ""."""
    for word in ("dense",) if ins.structure is None else ("sparse", ins.structure.name):
        yield word, ""
    yield ("warpgroup", "wgmma") if ins.lanes == 128 else ("warp", "")
    for kind in (ins.a_type, ins.b_type):
        yield from ((word, kind) for word in _TYPES[kind])
    if ins.mma_count > 1:
        yield from (("volta", ins.shape), ("quadpair", ins.shape))  # as it was made for
    if ins.scale_vec is not None:
        yield from (("block", "block_scale"), ("scaled", "block_scale"))
        if ins.scale_type == "ue4m3":
            yield "nvfp4", "ue4m3"
        else:
            yield from (
                ("microscaling", "block_scale"),
                *((f"mx{_TYPES[kind][0]}", kind) for kind in (ins.a_type, ins.b_type)),
            )
    if ins.satfinite:
        yield "saturating", "satfinite"
    if ins.a_type != ins.b_type:
        yield "mixed", ""
    if ins.family.startswith("wgmma"):
        yield "asynchronous", "mma_async"
    if ins.rounding:
        yield from ((word, ins.rounding) for word in _ROUNDINGS[ins.rounding])


def _stands() -> dict[str, list[str]]:
    """The parts of mnemonics that everyday words stand for."""
    found: dict[str, dict[str, None]] = {}
    for ins in mma_forms():
        for word, part in _words(ins):
            if part:
                found.setdefault(word, {})[part] = None
    return {word: list(parts) for word, parts in found.items()}


@lru_cache(maxsize=1)
def _layouts() -> dict[tuple[str, str, str], int]:
    """How many layouts of A and B there are of a family, shape and types."""
    found: dict[tuple[str, str, str], set[tuple[str, str]]] = {}
    for ins in mma_forms():
        found.setdefault((ins.family, ins.shape, _types(ins)), set()).add((ins.a_layout, ins.b_layout))
    return {key: len(layouts) for key, layouts in found.items()}


def _qualifiers(ins: MmaForm) -> str:
    """What the mnemonic says beside family, shape and types: ``kind::mxf4 2X ue8m0``; of the layouts only where there is a choice."""
    said = [f"{ins.a_layout}.{ins.b_layout}"] * (_layouts()[ins.family, ins.shape, _types(ins)] > 1)
    said += ["sp::ordered_metadata"] * ins.ordered
    said += [f"kind::{ins.kind}"] * (ins.kind is not None)
    said += [f"{ins.scale_vec}X {ins.scale_type}"] * (ins.scale_vec is not None)
    said += [word for word in (ins.bit_op, ins.rounding) if word] + ["satfinite"] * ins.satfinite
    return " ".join(said) or "plain"


def _types(ins: MmaForm) -> str:
    return f"{ins.d_type}.{ins.a_type}.{ins.b_type}.{ins.c_type}"


def _among(targets: tuple[str, ...]) -> str:
    """A set of targets in few words: ``sm_80 and later``."""
    if len(targets) > 1 and targets == TARGETS[TARGETS.index(targets[0]) :]:
        return f"{targets[0]} and later"
    return ", ".join(targets) if len(targets) < 3 else f"{targets[0]} and {len(targets) - 1} more"


class _Names:
    """A list that gives everything its place, each thing once."""

    def __init__(self) -> None:
        self.places: dict[Any, int] = {}

    def __call__(self, thing: Any) -> int:
        return self.places.setdefault(thing, len(self.places))


@lru_cache(maxsize=1)
def shelf() -> dict[str, Any]:
    """The whole catalogue of products: lists of names, and one line of places in them for every form.

    A line is [mnemonic with ``nN`` where N varies, family, shape, types, qualifiers, set of targets, set of Ns, set of words, whether A may
    come from shared memory, lanes].

    >>> found = shelf()
    >>> found["count"], found["families"], len(found["forms"])
    (1562, ['mma', 'mma.sp', 'wmma', 'wgmma', 'wgmma.sp'], 529)
    >>> found["forms"][-1][0], found["ns"][found["forms"][-1][6]][:3]
    ('wgmma.mma_async.sp.sync.aligned.m64nNk64.satfinite.s32.u8.u8', [8, 16, 24])
    """
    forms: dict[tuple[str, str], list[MmaForm]] = {}
    for ins in mma_forms():
        many = ins.family.startswith("wgmma")
        shape = f"m{ins.m}nNk{ins.k}" if many else ins.shape
        forms.setdefault((ins.mnemonic.replace(ins.shape, shape), shape), []).append(ins)
    families, shapes, types, qualifiers, targets, ns, said = (_Names() for _ in range(7))
    for _, shape in sorted(
        {((rows[0].m, rows[0].n, rows[0].k), shape) for (_, shape), rows in forms.items()}
    ):
        shapes(shape)
    lines = []
    for (mnemonic, shape), rows in forms.items():
        ins = rows[0]
        line = [
            mnemonic,
            families(ins.family),
            shapes(shape),
            types(_types(ins)),
            qualifiers(_qualifiers(ins)),
            targets(ins.targets),
        ]
        lines.append(
            [
                *line,
                ns(tuple(row.n for row in rows)),
                said(words(ins)),
                int(ins.family.startswith("wgmma")),
                ins.lanes,
            ]
        )
    return {
        "count": len(mma_forms()),
        "families": list(families.places),
        "shapes": list(shapes.places),
        "types": list(types.places),
        "qualifiers": list(qualifiers.places),
        "targets": [[target, architecture(target), list(_MACHINES.get(target, ()))] for target in TARGETS],
        "among": [[_among(each), [TARGETS.index(target) for target in each]] for each in targets.places],
        "ns": [list(each) for each in ns.places],
        "words": [list(each) for each in said.places],
        "stands": _stands(),
        "forms": lines,
    }
