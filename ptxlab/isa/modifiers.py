"""The scalar arguments of matrix instructions: selectors, scales, transposes, swizzle, masks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError, quoted

#: 0/1 immediates that also accept a bool.
_TRANSPOSES = ("imm_trans_a", "imm_trans_b")


@dataclass(frozen=True)
class Modifiers:
    """The scalar arguments of a matrix instruction, all families in one class.

    An argument that is left out has its default value.

    >>> Modifiers(selector=1) == Modifiers(selector=1, scale_d=True, imm_scale_a=1)
    True
    """

    # mma.sp, wgmma.mma_async.sp: the sparsity selector
    selector: int = 0
    # wgmma
    scale_d: bool = True
    imm_scale_a: int = 1
    imm_scale_b: int = 1
    imm_trans_a: int = 0
    imm_trans_b: int = 0
    # mma with block scales: the lanes and the bytes that supply the scales
    byte_id_a: int = 0
    thread_id_a: int = 0
    byte_id_b: int = 0
    thread_id_b: int = 0
    # tiles in shared memory
    swizzle: int = 0  # changes where bytes lie, not the result
    # tcgen05
    enable_input_d: bool = True
    scale_input_d: int = 0
    disable_output_lane: int = 0  # a bit for each lane of tensor memory
    zero_column_mask: int = 0  # the 64-bit descriptor

    @property
    def column_shift(self) -> int:
        """The number of leading columns of B that the zero-column mask skips.

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
        """The modifiers of a call, e.g. ``{"selector": 1}``. The error for an unknown name lists all of them.

        >>> Modifiers.from_keywords({"selektor": 1})  # doctest: +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
        ptxlab.errors.PtxlabError: unknown argument 'selektor'; besides a, b, c, e, scale_a, scale_b there are
        byte_id_a, byte_id_b, disable_output_lane, enable_input_d, imm_scale_a, imm_scale_b, imm_trans_a,
        imm_trans_b, scale_d, scale_input_d, selector, swizzle, thread_id_a, thread_id_b, zero_column_mask
        """
        if not isinstance(keywords, dict):
            raise PtxlabError(f"modifiers: found {quoted(keywords)}; they are named, such as selector=1")
        unknown = sorted(keywords.keys() - DEFAULTS.keys(), key=quoted)
        if unknown:
            raise PtxlabError(
                f"unknown argument {quoted(unknown[0])}; besides a, b, c, e, scale_a, scale_b there are "
                f"{', '.join(sorted(DEFAULTS))}"
            )
        return cls(**keywords) if keywords else _PLAIN


_PLAIN = Modifiers()
#: Default value of every modifier.
DEFAULTS: dict[str, int] = vars(_PLAIN)
