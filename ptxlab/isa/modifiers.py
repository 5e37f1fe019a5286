"""Operands of an instruction that are not matrices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ..errors import PtxlabError, listing

__all__ = ["Modifiers"]


@dataclass(frozen=True)
class Modifiers:
    """Sparsity selector, wgmma's scales, transposes and swizzle, and the selectors of block scales.

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

    @classmethod
    def from_keywords(cls, keywords: dict[str, Any]) -> Modifiers:
        """The modifiers of a call, e.g. ``{"selector": 1}``.

        An unknown name is an error that lists the known ones.
        """
        known = sorted(field.name for field in fields(cls))
        unknown = sorted(set(keywords) - set(known))
        if unknown:
            raise PtxlabError(
                f"unknown argument {unknown[0]!r}; besides a, b, c, e, scale_a, scale_b there are "
                f"{listing(known)}"
            )
        return cls(**keywords)
