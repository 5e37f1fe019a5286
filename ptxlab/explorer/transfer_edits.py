"""The `WordTransfer` that the Explorer starts with, and others made from it: each change gives another."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_index, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.tcgen05 import UNPACKED, Tcgen05Transfer
from ..isa.tensor_memory import LANES
from .parse_cell import parse, parse_register
from .state import check_seed
from .word_transfer import (
    REGISTERS,
    SHARED_MEMORY,
    ShiftTransfer,
    Side,
    Words,
    WordTransfer,
    shown_columns,
    transfer_class,
)

PATTERNS = ("addresses", "counting", "random", "one-hot", "zeros")
ELEMENTS = ("b32", "f32", "s32")  # how words can be read


def first_transfer(
    form: Tcgen05Transfer, address: int = 0, split: int | None = None, seed: int = 0
) -> WordTransfer:
    """What the Explorer starts with: words that are their own addresses; numbers, where they are compared."""
    number = as_int(address, "address")
    if not 0 <= number < 1 << 32:
        raise PtxlabError(f"address {quoted(number)}: it has 32 bits, the lane in the upper 16")
    kind = transfer_class(form)
    element = form.type if form.reduction and form.type in ELEMENTS else "b32"
    before = np.zeros(_shape(kind.target, form), dtype=np.uint32) if kind.keeps_words else None
    zeros = np.zeros(_shape(kind.source, form), dtype=np.uint32)
    transfer = kind(form, zeros, before, element=element)
    pattern = "random" if form.reduction else "addresses"
    words = filled(transfer, "A", pattern, np.random.default_rng(check_seed(seed)))
    return placed(replace(transfer, a=words), number >> 16, number & 0xFFFF, split)


def _shape(side: Side, form: Tcgen05Transfer) -> tuple[int, int]:
    """Rows and columns of what an instruction reads or writes."""
    if side is REGISTERS:
        return LANES, form.registers
    if side is SHARED_MEMORY:
        rows, words = replace(form, source="").tensor("T").shape
        return rows, words
    return LANES, shown_columns(form)


# -- where it begins -------------------------------------------------------------------------------------


def placed(transfer: WordTransfer, lane: int, column: int, split: int | None) -> WordTransfer:
    """The same at another address, or a refusal that says which there are."""
    form, columns = transfer.form, transfer.tensor_columns
    lane, column = as_int(lane, "lane"), as_int(column, "column")
    allowed = first_lanes(form)
    if lane not in allowed:
        where = "it begins in lane " + " or ".join(map(str, allowed))
        raise PtxlabError(f"lane {quoted(lane)}: {where}{_of_warp(form)}")
    most = most_column(form, split)
    if not 0 <= column <= most:
        raise PtxlabError(
            f"column {quoted(column)}: {form.mnemonic} takes {form.columns} of the {columns} columns shown; "
            f"it begins in column 0 to {most}"
        )
    if split is not None:
        split = as_int(split, "split")
        if form.shape != "16x32bx2":
            raise PtxlabError(f"split {quoted(split)}: only 16x32bx2 reads or writes two places")
        farthest = columns - column - form.columns // 2
        if not 0 <= split <= farthest:
            raise PtxlabError(
                f"split {quoted(split)}: the second half is 0 to {farthest} columns after the first"
            )
    return replace(transfer, lane=lane, column=column, split=split)


def first_lanes(form: Tcgen05Transfer) -> tuple[int, ...]:
    """Lanes in which an address may begin: of ld and st among each warp's 32."""
    if transfer_class(form) is ShiftTransfer:
        return (0, 32, 64, 96)
    return (0, 16) if form.threads == 32 and form.shape != "32x32b" else (0,)


def most_column(form: Tcgen05Transfer, split: int | None) -> int:
    """The last column in which it can begin."""
    taken = form.columns if split is None else form.columns // 2
    return shown_columns(form) - taken


def _of_warp(form: Tcgen05Transfer) -> str:
    return " of each warp's 32" if form.threads == 32 else ""


# -- fills ---------------------------------------------------------------------------------------------------


def filled(
    transfer: WordTransfer,
    name: str,
    pattern: str,
    random: np.random.Generator,
    row: int = 0,
    column: int = 0,
) -> Words:
    """The words of a fill; one-hot puts its 1 at `row`, `column`."""
    if not is_name(name, transfer.inputs):
        raise PtxlabError(f"{quoted(name)} cannot be filled; fill {listing(transfer.inputs)}")
    if not is_name(pattern, PATTERNS):
        raise PtxlabError(f"unknown fill {quoted(pattern)}; there are {listing(PATTERNS)}")
    shape = transfer.words(name).shape
    if pattern == "addresses":
        return _addresses(transfer, name)
    if pattern == "zeros":
        return np.zeros(shape, dtype=np.uint32)
    if pattern == "one-hot":
        words = np.zeros(shape, dtype=np.uint32)
        at = as_index(row, "row", shape[0]), as_index(column, "column", shape[1])
        words[at] = np.uint32(transfer.dtype.encode(1.0))
        return words
    if pattern == "random" and transfer.element == "b32":
        return random.integers(0, 1 << 32, shape, dtype=np.uint32)
    numbers = np.arange(shape[0] * shape[1]).reshape(shape)
    if pattern == "random":
        numbers = random.integers(-99, 100, shape)
    return transfer.dtype.encode(numbers.astype(np.float64)).astype(np.uint32)


def _addresses(transfer: WordTransfer, name: str) -> Words:
    """Words that say where they are: a row in the upper half and a column in the lower.

    Where the instruction moves halves, each half is such an address in 8 and 8 bits; of packed elements all
    are counted.
    """
    shape = transfer.words(name).shape
    rows, columns = (np.arange(size, dtype=np.uint32) for size in shape)
    if name == "A" and transfer.form.source:
        return _packed_elements(shape, UNPACKED[transfer.form.source])
    if name == "A" and transfer.form.pack:
        in_registers = transfer.registers == "A"  # then each register has the halves of two columns
        low = rows[:, None] << np.uint32(8) | (2 * columns if in_registers else columns)
        high = low + np.uint32(1) if in_registers else low
        return high << np.uint32(16) | low
    return rows[:, None] << np.uint32(16) | columns


def _packed_elements(shape: tuple[int, ...], bits: int) -> Words:
    """Rows in which the 16 elements of every 16 bytes are counted, with the padding that cp skips."""
    rows, groups = shape[0], shape[1] // 4
    elements = (np.arange(rows)[:, None] + np.arange(16 * groups)) % (1 << bits)
    ones = (elements[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(rows, groups, 16 * bits)
    padded = np.pad(ones, ((0, 0), (0, 0), (0, 128 - 16 * bits)))
    data = np.packbits(padded, axis=-1, bitorder="little").reshape(rows, -1)
    return np.ascontiguousarray(data).view("<u4").astype(np.uint32)


# -- words -----------------------------------------------------------------------------------------------


def with_word(transfer: WordTransfer, name: str, row: int, column: int, text: str) -> WordTransfer:
    """One word as it was typed."""
    words = _writable(transfer, name).copy()
    side = transfer.sides[name]
    at = f"{side.label}: "
    row = as_index(row, side.axes[0], words.shape[0], at)
    column = as_index(column, side.axes[1], words.shape[1], at)
    try:
        words[row, column] = _word(transfer, text)
    except PtxlabError as error:
        raise PtxlabError(f"{side.label}[{row}][{column}]: {error}") from None
    return with_words(transfer, name, words)


def _word(transfer: WordTransfer, text: str) -> int:
    """A word as it is typed: bits in hexadecimal, or a number of the type that words are read as."""
    word = text.strip().lower()
    if transfer.element == "b32" or word.startswith(("0x", "0b")):
        return parse_register(text, 32)
    return parse(transfer.dtype, text)


def _writable(transfer: WordTransfer, name: str) -> Words:
    words = transfer.words(name)
    if name == "D":
        raise PtxlabError(
            f"D is what {transfer.form.mnemonic} leaves and cannot be changed; change "
            f"{' or '.join(transfer.inputs)}"
        )
    return words


def with_words(transfer: WordTransfer, name: str, words: NDArray[Any]) -> WordTransfer:
    """All words of A or C."""
    before = _writable(transfer, name)
    if words.shape != before.shape:
        raise PtxlabError(f"{name}: found shape {quoted(words.shape)}; it takes {before.shape}")
    is_integer = words.dtype.kind in "iu"
    if not is_integer or not -(1 << 31) <= int(words.min()) <= int(words.max()) < 1 << 32:
        raise PtxlabError(f"{name}: found {words.dtype}; it takes 32-bit unsigned integers")
    words = words.astype(np.uint32)
    return replace(transfer, a=words) if name == "A" else replace(transfer, c=words)


def with_element(transfer: WordTransfer, element: str) -> WordTransfer:
    """The same words read as another type; those that are compared have one already."""
    if transfer.form.reduction or not is_name(element, ELEMENTS):
        allowed = transfer.element if transfer.form.reduction else listing(ELEMENTS)
        raise PtxlabError(f"element {quoted(element)}: words are read as {allowed}")
    return replace(transfer, element=element)


def with_form(transfer: WordTransfer, form: Tcgen05Transfer, seed: int) -> WordTransfer:
    """Another instruction with the words that both have; the address stays if it can."""
    before, after = first_transfer(transfer.form, seed=seed), first_transfer(form, seed=seed)
    if type(transfer) is type(after):
        if not form.reduction:
            after = replace(after, element=transfer.element)
        if (transfer.a != before.a).any():
            after = replace(after, a=_overlaid(after.a, transfer.a))
        if transfer.before.any():
            after = replace(after, c=_overlaid(after.before, transfer.before))
    lane, column, split = transfer.lane, transfer.column, transfer.split
    for place in ((lane, column, split), (0, column, None), (0, 0, None)):
        with contextlib.suppress(PtxlabError):
            return placed(after, *place)
    return after


def _overlaid(words: Words, earlier: Words) -> Words:
    rows, columns = (min(pair) for pair in zip(words.shape, earlier.shape, strict=True))
    result = words.copy()
    result[:rows, :columns] = earlier[:rows, :columns]
    return result


def same_transfer(one: WordTransfer, other: WordTransfer) -> bool:
    """Whether two are the same, to the last word."""
    same_words = np.array_equal(one.a, other.a) and np.array_equal(one.before, other.before)
    return one.settings == other.settings and same_words
