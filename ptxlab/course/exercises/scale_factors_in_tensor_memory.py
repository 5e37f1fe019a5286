"""Lesson 28: scale factors in tensor memory: matrices in nvfp4, where each scale is; its pictures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instruction import mma_instruction
from ...isa.instruction_descriptor import KINDS
from ...isa.tensor_operand import TensorOperand
from ...memory.library_formats import scale_offset
from ...views import Cell, Grid, Header, Picture
from ...views.charts import bars, table
from ...views.colour_keys import VECTOR_HUES
from ...views.grid import State
from ...views.labels import index_range
from ..answers import result_of, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when
from .block_scaling import LARGEST_VALUE, restore
from .block_scaling import quantise as quantise_blocks
from .tensor_memory import mma_form

Matrix = NDArray[np.float64]
NVFP4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16"
TILE_BYTES = 512  # bytes of 128x4 scales


def scale_operand(mnemonic: str, operand: str, **parts: int) -> TensorOperand:
    """The scales of A or B in tensor memory, "SFA" or "SFB", of an instruction."""
    return mma_form(mnemonic, **parts).tensors[operand]


# -- floats to nvfp4 -----------------------------------------------------------------------------------------


class _BlockFormat(NamedTuple):
    """A format with block scales: its types, and the instruction that multiplies it."""

    element: str
    block: int
    scale: str
    mnemonic: str


FORMATS: dict[str, _BlockFormat] = {
    "mxfp8": _BlockFormat("e4m3", 32, "ue8m0", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32"),
    "mxfp4": _BlockFormat("e2m1", 32, "ue8m0", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32"),
    "nvfp4": _BlockFormat("e2m1", 16, "ue4m3", NVFP4),
}


class Quantised(NamedTuple):
    """A matrix in a format with block scales: what its elements, their scales, and the whole are stored as.

    >>> quantise(np.full((1, 16), 3.0)).scales
    array([[448.]])
    """

    stored: Matrix  # values of the element type
    scales: Matrix  # one for each block of a row
    tensor_scale: float  # one for the matrix, f32; 1 if the format has none

    @property
    def values(self) -> Matrix:
        """What it stands for: stored values times both scales.

        >>> quantise(np.full((1, 16), 2688.0)).values[0, 0]
        np.float64(2688.0)
        """
        return restore(self.stored, self.scales) * self.tensor_scale


def quantise(X: Matrix, name: str = "nvfp4", *, two_levels: bool = True) -> Quantised:
    """X in mxfp8, mxfp4 or nvfp4, with a scale for each block of a row.

    nvfp4 has two levels: the tensor scale takes the largest magnitude to 6 x 448, the largest element times
    the largest scale; `two_levels=False` leaves it at 1.

    >>> quantise(np.array([[1.0, 2.0, 3.0, -6.0] * 8]), "mxfp4").scales.tolist()
    [[1.0]]
    """
    element, block, scale, _ = FORMATS[name]
    tensor_scale = 1.0
    if scale == "ue4m3" and two_levels:
        tensor_scale = float(np.float32(np.abs(X).max() / (LARGEST_VALUE[element] * LARGEST_VALUE[scale])))
    return Quantised(*quantise_blocks(X / tensor_scale, element, block, scale), tensor_scale)


def weights(rows: int = 128, columns: int = 256, seed: int = 23) -> Matrix:
    """Numbers like those of a layer: mostly small, some rows larger than others.

    >>> weights(2, 16).shape
    (2, 16)
    """
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)) * rng.uniform(0.5, 2, (rows, 1))


# -- what the lesson shows -----------------------------------------------------------------------------------


def scale_words(n: int) -> Picture:
    """Words of scales that a product of 128 x n x 64 has, and how often mma.sync reads them from registers.

    >>> [cell.text for cell in scale_words(256).grids[0].cells if cell.lines]
    ['384', '6144', '0']
    """
    mma = mma_instruction(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    )
    count = 128 // mma.m * (n // mma.n)
    values = {
        "different words": 128.0 + n,
        "mma.sync: words read from registers": float(count * (mma.m + mma.n)),
        "tcgen05: words read from registers": 0.0,
    }
    notes = (
        "a word is the four scales of a row of A or of a column of B",
        f"mma.sync: {count} instructions, each with {mma.m} words of A and {mma.n} of B; tcgen05: one",
    )
    title = f"Scales of a product of 128 x {n} x 64, nvfp4"
    return bars(values, title, notes, text="{:.0f}".format, most=6144)


def kinds() -> Picture:
    """The kinds of tcgen05.mma with block scales.

    >>> picture = kinds()
    >>> [picture.grids[0].at(row, 3).text for row in range(4)]
    ['1', '2', '2', '4']
    """
    cases = (
        ("mxf8f6f4", "1X", "block32"),
        ("mxf4", "2X", "block32"),
        ("mxf4nvf4", "2X", "block32"),
        ("mxf4nvf4", "4X", "block16"),
    )
    texts = {}
    for kind, vector, block in cases:
        name = f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale"
        form, same = (mma_form(f"{name}.{end}", n=64) for end in (f"scale_vec::{vector}", block))
        assert form.scale_vec == same.scale_vec
        row = KINDS[kind]
        elements = "FP8, FP6, FP4" if len(row.types) > 1 else next(iter(row.types))
        types = "ue8m0" if vector != "4X" else "ue4m3, ue8m0"
        texts[f"{kind}, {vector} or {block}"] = [
            elements,
            types,
            str(form.k),
            str(form.scale_vec),
            str(form.k // (form.scale_vec or 1)),
        ]
    columns = ["elements", "scales", "K", "scales\nof a row", "elements\nof a scale"]
    notes = ("sm_103 also has K = 96, sm_107 K = 128 and scales of ue5m3",)
    return table(texts, columns, "Kinds of tcgen05.mma with block scales", notes)


_DEEP = 256  # K of the loop in the picture


def sub_columns(k: int) -> Picture:
    """A loop over K: the bytes of a row's scales, by kind, and those that the instruction at `k` reads.

    >>> sub_columns(96).notes[0]
    'mxf8f6f4: instruction 3, column 0, id 3'
    """
    cells, rows, notes = [], [], []
    hover = np.full((len(FORMATS), 16), "", dtype=object)
    for row, (name, form) in enumerate(FORMATS.items()):
        ins = mma_form(form.mnemonic, n=64)
        per_block = ins.scale_vec or 1
        step = k // ins.k
        column, first = 4 * (step * per_block // 4), step * per_block % 4
        notes.append(f"{ins.kind}: instruction {step}, column {column}, id {first}")
        rows.append(Header(row, 1, (f"{name}, {form.block} of K each",)))
        for scale in range(16):
            if scale >= _DEEP // form.block:
                cells.append(Cell(row, scale, 1, 1, (), role="blank"))
                continue
            mark: State = "mark" if scale // per_block == step else "plain"
            span = index_range(form.block * scale, form.block)
            tint = VECTOR_HUES[scale // per_block % 8] * 4 + 1
            cells.append(Cell(row, scale, 1, 1, (span,), tint, mark))
            hover[row, scale] = f"scale of K {span}\ncolumn {scale // 4 * 4}, byte {scale % 4}"
    heads = tuple(Header(4 * at, 4, (f"column {4 * at}, bytes 0..3",)) for at in range(4))
    grid = Grid(
        hover.shape, tuple(cells), hover, tuple(rows), heads, density="close",
        column_rules=tuple((4 * at, 0, len(FORMATS)) for at in range(1, 4)),
    )  # fmt: skip
    title = f"Scales of a row of A with K = {_DEEP}, in tensor memory; the instruction at k = {k}"
    return Picture(
        title, (*notes, "a colour is an instruction; rows 0 to 31 of A, tiles one after another"), (grid,)
    )


def versus() -> Picture:
    """Block scaling on GeForce Blackwell and on the data-centre chips.

    >>> versus().grids[0].at(0, 1).text
    'tensor memory, 4 copies'
    """
    rows = {
        "scales come from": ["registers of the warp", "tensor memory, 4 copies"],
        "brought by": ["each thread, ld.shared", "one thread, tcgen05.cp"],
        "chosen by": ["the selectors byte-id, thread-id", "address and id in the descriptor"],
        "M x N of an instruction": ["16 x 8", "128 x 8 to 256 x 256"],
        "issued by": ["32 threads", "one thread"],
        "K with nvfp4": ["64", "64; sm_103: also 96"],
        "D": ["registers", "tensor memory"],
    }
    columns = ["mma.sync, sm_120", "tcgen05.mma, sm_100"]
    return table(rows, columns, "Block scaling on two chips", ("RTX 50 and RTX PRO: sm_120; B200: sm_100",))


# -- exercises -----------------------------------------------------------------------------------------------

_ROWS, _DEPTH, _WIDE = 4096, 14336, 192


@checks("28.1")
def _bytes(answer: object) -> Sentences:
    form = "`(bytes of elements, bytes of scales, bytes an instruction reads)`"
    elements, scales, read = whole_numbers(answer, 3, form)
    count = _ROWS * _DEPTH
    right = count // 2, count // 16, (128 + _WIDE) * 4
    return {
        correct((elements, scales, read) == right): f"{right[2]:,} bytes, for {128 * _WIDE * 64:,} "
        "products: a scale of A serves 16 elements of its row, and each of these is multiplied by all "
        f"{_WIDE} columns of B. With its share of the scale, an element takes 4.5 bits.",
        when(elements == count): "That is one byte for each element. `e2m1` has four bits.",
        when(elements != right[0]): "`e2m1` has four bits: two elements share a byte.",
        when(scales == count // 32): "The elements are right. 32 is for the mx formats; what is it for "
        "nvfp4?",
        when(scales == count): "The elements are right. No element has a scale of its own: 16 neighbours of "
        "a row share one.",
        when(scales == count // 8): "The elements are right. A scale is one byte, and 16 elements share it.",
        when(scales != right[1]): "The elements are right. One byte, `ue4m3`, for each 16 elements.",
        when(read == 128 * 4): "The first two are right. Those are the scales of A. B has its own.",
        when(read == _WIDE * 4): "The first two are right. Those are the scales of B. A has its own.",
        when(read == 128 * _WIDE * 4): "The first two are right. The scales of a row are read for the row, "
        "not for each element of D.",
        when(read == 128 + _WIDE): "The first two are right. That is one scale for each row and column; K = "
        "64 has more than one block.",
        otherwise: "The first two are right. How many blocks of 16 are in K = 64? Each row of A and each "
        "column of B has that many scales.",
    }


def _picks() -> list[tuple[int, int, int]]:
    """(row, k, K) of elements: every part of the formula alone first, then anywhere."""
    rng = np.random.default_rng(233)
    plain = [
        (0, 0, 64),
        (0, 40, 64),
        (5, 0, 192),
        (32, 0, 64),
        (77, 63, 64),
        (3, 200, 256),
        (130, 0, 64),
        (130, 70, 256),
    ]
    for _ in range(40):
        depth = int(rng.integers(1, 32)) * 64
        plain.append((int(rng.integers(0, 1024)), int(rng.integers(0, depth)), depth))
    return plain


@checks("28.2")
def _scale_byte(answer: object) -> Sentences:
    form = "`scale_byte(row, k, K)` returns a byte"
    for row, k, depth in _picks():
        about = f"For A[{row}][{k}] with K = {depth}"
        (submitted,) = whole_numbers(result_of(answer, row, k, depth, form=form, about=about), 1, form)
        columns = depth // 16
        right = int(scale_offset(row, k // 16, columns))
        if submitted == right:
            continue
        tile = row // 128 * (columns // 4) + k // 64
        return {
            when(submitted == row * columns + k // 16): f"{about} you returned {submitted}, which is row by "
            "row. The scales are stored in tiles.",
            when(submitted == int(scale_offset(row, min(k // 32, columns - 1), columns))): f"{about} you "
            f"returned {submitted}. With nvfp4 a scale has 16 elements, not 32.",
            when(submitted == tile * TILE_BYTES + row % 128 * 4 + k // 16 % 4): f"{about} you returned "
            f"{submitted}: row by row within the tile. In a tile, row 1 begins at byte 16, and row 32 at "
            "byte 4.",
            when(submitted % TILE_BYTES == right % TILE_BYTES): f"{about} you returned {submitted}, which "
            "is the right place in a tile, but in another tile. Count the tiles along K first, then those "
            "below.",
            when(submitted // TILE_BYTES == right // TILE_BYTES): f"{about} you returned {submitted}, which "
            "is in the right tile. A tile has 16 bytes for each row % 32: the words of four rows that are "
            "32 apart.",
            otherwise: f"{about} you returned {submitted}. Which tile is it, and how many are before it? "
            "Then, within the tile: which 16 bytes, which four of them, which byte?",
        }
    return {
        correct(True): "Right for all of them. A kernel that quantises must compute this for each scale "
        "that it stores; in CUTLASS it is the layout `((32,4),4):((16,4),1)`, repeated."
    }


_SFA_ROW, _SFA_K = drawn("28.3", "`A[{}][{}]`", (77, 50), (90, 55), (109, 40), (45, 60), (70, 58))


@checks("28.3")
def _in_tensor_memory(answer: object) -> Sentences:
    column, byte, *lanes = whole_numbers(answer, 6, "`(column, byte, lane, lane, lane, lane)`")
    places = scale_operand(NVFP4, "SFA").where(_SFA_ROW, _SFA_K // 16)
    first = places[0]
    expected = sorted(place.lane for place in places)
    return {
        correct((column, byte, sorted(lanes)) == (first.column, first.low // 8, expected)): "Row "
        f"{_SFA_ROW} = {first.column} x 32 + {first.lane}. Each 32 lanes have all 128 rows: the "
        "manual requires the four copies.",
        when(column == _SFA_K // 16): "That is the number of the scale in its row. All four scales of a row "
        "are in one word; which column has the row?",
        when(_SFA_ROW in lanes and first.lane not in lanes): f"Row {_SFA_ROW} is not in lane {_SFA_ROW}, as "
        "it would be in D: 32 lanes hold all 128 rows, in four columns.",
        when(column != first.column): "Each column has 32 rows. Which one has this row?",
        when(byte == 8 * (first.low // 8)): "The column is right. That is the lowest bit; bytes count from "
        "0 to 3.",
        when(byte == _SFA_K // 32): "The column is right. With nvfp4 a scale has 16 elements.",
        when(byte != first.low // 8): f"The column is right. k = {_SFA_K} is in which block of 16?",
        when(lanes[0] in (first.lane, expected[-1]) and len(set(lanes)) == 1): "Column and byte are right. "
        "That is one lane; the others are 32 apart.",
        otherwise: f"Column and byte are right. Row {_SFA_ROW} % 32 gives the first lane, and there is a "
        "copy for each warp's 32 lanes.",
    }


_PAIR = NVFP4.replace("cta_group::1", "cta_group::2")
_BOTH = 200


@checks("28.4")
def _pair(answer: object) -> Sentences:
    cta, column_a, column_b, ctas = whole_numbers(answer, 4, "`(CTA, column of SFA, column of SFB, CTAs)`")
    of_a = scale_operand(_PAIR, "SFA", m=256, n=256).where(_BOTH, 0)
    of_b = scale_operand(_PAIR, "SFB", m=256, n=256).where(0, _BOTH)
    right = of_a[0].cta, of_a[0].column, of_b[0].column, len({place.cta for place in of_b})
    return {
        correct((cta, column_a, column_b, ctas) == right): "Each CTA computes 128 rows of D with all 256 "
        "columns, so it needs 128 scales of A, and all 256 of B. B itself is in two halves, one in each "
        "shared memory; its scales are not.",
        when(cta == 0): f"CTA 0 has rows 0 to 127 of A, of D and of SFA. Row {_BOTH} is not among them.",
        when(cta != right[0]): "A pair has CTA 0 and CTA 1.",
        when(column_a == _BOTH // 32): "The CTA is right. That would be the column if all 256 rows were in "
        f"it. Which of its 128 is row {_BOTH}?",
        when(column_a != right[1]): f"The CTA is right. Row {_BOTH} is its row {_BOTH - 128}; a column has "
        "32.",
        when(column_b == right[1]): "SFA is right. SFB is not laid out like SFA: no CTA has only half of "
        "the columns of D. All 256 are there, in how many columns of tensor memory?",
        when(column_b != right[2]): "SFA is right. A column of tensor memory has the scales of 32 columns "
        "of B.",
        otherwise: "Three are right. Each CTA computes half of the rows of D, but all of its columns.",
    }


_FIRST = 32  # column of tensor memory at which SFB begins


@checks("28.5")
def _loop(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 8, "`(column, id)` four times")
    columns, ids = submitted[::2], submitted[1::2]
    wide = scale_operand(FORMATS["mxfp4"].mnemonic, "SFB", n=256).columns
    right_columns, right_ids = (_FIRST, _FIRST, _FIRST + wide, _FIRST + wide), (0, 2, 0, 2)
    return {
        correct((columns, ids) == (right_columns, right_ids)): "256 columns of B take eight columns of "
        "tensor memory, and the four scales in a word serve two instructions. With mxfp8 they would serve "
        "four, with ids 0, 1, 2, 3; with nvfp4 one, and the id is always 0.",
        when(ids in ((0, 1, 0, 1), (0, 1, 2, 3))): "The id is the first byte that is read, not the number "
        "of the instruction. With two scales each, which byte does the second instruction begin with?",
        when(ids == (0, 0, 0, 0)): "With id 0 each instruction reads bytes 0 and 1 of its words. Who reads "
        "bytes 2 and 3?",
        when(ids != right_ids): "A word has four bytes, and an instruction reads two of them: from byte 0 "
        "or from byte 2.",
        when(columns in ((32, 32, 36, 36), (0, 0, 4, 4))): "The ids are right. One tile, of four columns, "
        "is for 128 columns of B. There are 256.",
        when(columns == (0, 0, wide, wide)): "The ids are right. But SFB begins at column 32.",
        when(columns in ((32, 33, 34, 35), (32, 32, 33, 33))): "The ids are right. The next column has the "
        "same scales of the *next 32 columns* of B.",
        when(columns == (32, 40, 48, 56)): "The ids are right. That would be new scales for each "
        "instruction; here four scales serve two.",
        otherwise: "The ids are right. How many columns of tensor memory do four scales of 256 columns of B "
        "take, and how many instructions do they serve?",
    }
