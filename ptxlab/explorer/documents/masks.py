"""The masks of tcgen05.mma as text: lanes of D that keep their content, columns of B read as zeros."""

from __future__ import annotations

import re

from ...errors import PtxlabError, quoted
from ...isa.product_form import ProductForm
from ...isa.tcgen05 import TensorInstruction
from ...isa.tensor_operand import LANES
from ...isa.zero_column_mask import ZeroColumnMask
from ...views.labels import index_runs

MASKS = ("disable_output_lane", "zero_column_mask")


def mask_names(ins: ProductForm) -> tuple[str, ...]:
    """The masks that an instruction takes; they have too many values to list.

    >>> import ptxlab
    >>> mask_names(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"))
    ('disable_output_lane',)
    """
    if ins.descriptor is None:
        return ()
    return tuple(name for name in MASKS if name not in ins.modifiers)


def option_names(ins: ProductForm) -> tuple[str, ...]:
    """Modifiers with several values, which the Explorer offers; a swizzle changes no result."""
    listed = (name for name, legal in ins.modifiers.items() if len(legal) > 1 and name != "swizzle")
    return (*listed, *mask_names(ins))


def mask_text(name: str, mask: int) -> str:
    """A mask as text: ranges of lanes, or a run of columns; any other descriptor in hexadecimal.

    >>> mask_text("disable_output_lane", 0x1000F), mask_text("zero_column_mask", 0x3028000000000)
    ('0..3, 16', 'use 4, skip 3')
    """
    if not mask:
        return ""
    if name == "disable_output_lane":
        return index_runs(disabled_lanes(mask))
    columns = ZeroColumnMask.decode(mask)
    plain = ZeroColumnMask(columns.use, columns.skip, shift=columns.shift)
    if columns != plain:
        return f"0x{mask:016x}"
    return f"use {columns.use}, skip {columns.skip}" + (f", shift {columns.shift}" if columns.shift else "")


def parse_mask(ins: TensorInstruction, name: str, text: str) -> int:
    """The mask that a text means; an empty text masks nothing.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16")
    >>> hex(parse_mask(ins, "disable_output_lane", "0..3, 16"))
    '0x1000f'
    """
    word = " ".join(text.lower().replace("_", "").split())
    if word in ("", "none", "0"):
        return 0
    if re.fullmatch(r"0x[0-9a-f]{1,64}", word):
        return int(word, 16)
    return _lanes(ins, text) if name == "disable_output_lane" else _runs(text)


def _lanes(ins: TensorInstruction, text: str) -> int:
    mask, most = 0, LANES * ins.cta_group
    for part in re.split(r"[,;\s]+", re.sub(r"\s*(\.\.|-|to)\s*", "..", text.strip())):
        match = re.fullmatch(r"(\d{1,3})(?:\.\.(\d{1,3}))?", part)
        first = int(match[1]) if match else most
        last = int(match[2] or first) if match else most
        if not first <= last < most:
            raise PtxlabError(
                f"disable-output-lane: found {quoted(text.strip())}; type lanes from 0 to {most - 1}, such "
                f"as 0..15, 32, or a mask of {most} bits in hexadecimal"
            )
        mask |= (1 << last + 1) - (1 << first)
    return mask


def _runs(text: str) -> int:
    words = " ".join(text.lower().split())
    match = re.fullmatch(r"use (\d{1,3})\W+skip (\d{1,3})(?:\W+shift (\d{1,2}))?", words)
    if not match:
        raise PtxlabError(
            f"zero-column-mask: found {quoted(text.strip())}; type runs of columns, such as use 4, skip 3, "
            "or the descriptor's 64 bits in hexadecimal"
        )
    return ZeroColumnMask(use=int(match[1]), skip=int(match[2]), shift=int(match[3] or 0)).code


def disabled_lanes(mask: int) -> list[int]:
    """The lanes of D that keep their content; those of a second CTA count from 128."""
    return [lane for lane in range(mask.bit_length()) if mask >> lane & 1]
