"""Operands of an instruction that are not matrices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError, listing, quoted

#: Numbers that say yes or no: they may be written as truth values.
_TRANSPOSES = ("imm_trans_a", "imm_trans_b")


@dataclass(frozen=True)
class Modifiers:
    """Sparsity selector, wgmma's scales, transposes, swizzle, selectors of block scales, tcgen05's arguments.

    The defaults mean "left out".

    >>> Modifiers(selector=1) == Modifiers(selector=1, scale_d=True, imm_scale_a=1)
    True
    """

    selector: int = 0
    scale_d: bool = True
    imm_scale_a: int = 1
    imm_scale_b: int = 1
    imm_trans_a: int = 0
    imm_trans_b: int = 0
    byte_id_a: int = 0
    thread_id_a: int = 0
    byte_id_b: int = 0
    thread_id_b: int = 0
    swizzle: int = 0  # of tiles in shared memory; it moves bytes, never results
    enable_input_d: bool = True
    scale_input_d: int = 0
    disable_output_lane: int = 0  # a bit for each lane of tensor memory
    zero_column_mask: int = 0  # the 64-bit descriptor

    @property
    def column_shift(self) -> int:
        """Columns of B that the zero-column mask passes over.

        >>> Modifiers(zero_column_mask=0x203028000000000).column_shift
        2
        """
        return self.zero_column_mask >> 56 & 63

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is field.default:
                continue
            if isinstance(field.default, bool):
                value = as_flag(value, field.name)
            elif field.name in _TRANSPOSES and isinstance(value, bool | np.bool_):
                value = int(value)
            else:
                value = as_int(value, field.name)
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_keywords(cls, keywords: dict[str, Any]) -> Modifiers:
        """The modifiers of a call, e.g. ``{"selector": 1}``.

        An unknown name is an error that lists the known ones.
        """
        if not isinstance(keywords, dict):
            raise PtxlabError(f"modifiers: found {quoted(keywords)}; they are named, such as selector=1")
        known = sorted(field.name for field in fields(cls))
        unknown = sorted((name for name in keywords if name not in known), key=quoted)
        if unknown:
            raise PtxlabError(
                f"unknown argument {quoted(unknown[0])}; besides a, b, c, e, scale_a, scale_b there are "
                f"{listing(known)}"
            )
        return cls(**keywords)


#: What each modifier is where it is left out.
DEFAULTS: dict[str, int] = vars(Modifiers())
