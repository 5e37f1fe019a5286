"""LLVM's names for these instructions: `llvm.nvvm.mma.m16n8k16.row.col.f32.f32`.

From llvm/include/llvm/IR/IntrinsicsNVVM.td. A name has what tells one from another: of f16 products the
types of D and C, of others the type of A, and that of B if it differs, or all four; `.p3` is a pointer to
shared memory.
"""

from __future__ import annotations

import re

from .dtypes import DTYPES
from .mma import MmaForm
from .spelling import form_of
from .transfer import TransferForm

_PREFIX = "llvm.nvvm."
_SPACES = {"0": [], "1": ["global"], "3": ["shared"]}


def is_intrinsic(name: str) -> bool:
    """Whether this looks like a name of LLVM.

    >>> is_intrinsic("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3")
    True
    """
    return name.startswith(_PREFIX)


def intrinsic_form(name: str) -> MmaForm | TransferForm | None:
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
    """Of D, A, B and C, as PTX writes them."""
    if len(types) == 2 and set(types) <= {"f16", "f32"}:
        return types if is_wmma else [types[0], "f16", "f16", types[1]]
    if len(types) not in (1, 2):
        return types
    first = DTYPES[types[0]]
    accumulator = "s32"
    if first.is_float:
        accumulator = "f64" if first.name == "f64" else "f32"
    return [accumulator, types[0], types[-1], accumulator]
