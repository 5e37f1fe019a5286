"""Lessons 28 and 29: scale factors in tensor memory, and an nvfp4 product with tcgen05."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gemm.matmul import matmul
from ...instruction import instruction, mma_instruction
from ...isa.dtypes import dtype
from ...isa.instruction_descriptor import KINDS, InstructionDescriptor
from ...isa.tensor_memory import TensorOperand
from ...memory.library_formats import scale_offset, tile_scales
from ...simulation import Simulation
from ...simulator.kernel import Kernel
from ...tcgen05_instruction import TensorInstruction
from ...views import Cell, Grid, Header, Picture
from ...views.charts import bars, table
from ...views.colours import CHUNK_HUES
from ...views.grid import State
from ...views.labels import index_range, number_text
from ..answers import numbers, result_of, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when
from ..reader_kernels import ExplainedPart, explained_part, recorded, source_text
from .block_scaling import LARGEST_VALUE, error, restore
from .block_scaling import quantise as quantise_blocks

_Matrix = NDArray[np.float64]
NVFP4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16"
TILE_BYTES = 512  # bytes of 128x4 scales


def tensor_form(text: str, **parts: Any) -> TensorInstruction:
    """A form of tcgen05.mma with parts of its descriptor."""
    form = instruction(text, **parts)
    assert isinstance(form, TensorInstruction)
    return form


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

    stored: _Matrix  # values of the element type
    scales: _Matrix  # one for each block of a row
    tensor_scale: float  # one for the matrix, f32; 1 if the format has none

    @property
    def values(self) -> _Matrix:
        """What it stands for: stored values times both scales.

        >>> quantise(np.full((1, 16), 2688.0)).values[0, 0]
        np.float64(2688.0)
        """
        return restore(self.stored, self.scales) * self.tensor_scale


def quantise(X: _Matrix, name: str = "nvfp4", *, two_levels: bool = True) -> Quantised:
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


def weights(rows: int = 128, columns: int = 256, seed: int = 23) -> _Matrix:
    """Numbers like those of a layer: mostly small, some rows larger than others.

    >>> weights(2, 16).shape
    (2, 16)
    """
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)) * rng.uniform(0.5, 2, (rows, 1))


def errors(times: int) -> Picture:
    """How far a matrix is off in each format, if all its numbers are multiplied by 2^times first.

    >>> [cell.text for cell in errors(-12).grids[0].cells if cell.lines]
    ['3.1%', '11.8%', '100.0%', '9.6%']
    """
    X = weights() * 2.0**times
    cases = {
        "mxfp8": quantise(X, "mxfp8"),
        "mxfp4": quantise(X, "mxfp4"),
        "nvfp4, scale factors alone": quantise(X, two_levels=False),
        "nvfp4, and a tensor scale": quantise(X),
    }
    values = {name: error(X, case.values) for name, case in cases.items()}
    notes = (
        f"largest magnitude {number_text(np.abs(X).max(), 3)}",
        "root mean square of the error, relative to the matrix",
    )
    return bars(values, "Error by format", notes, text="{:.1%}".format, most=1.0)


def product_errors(X: _Matrix, W: _Matrix) -> Picture:
    """How far X W is off in each format, multiplied by the instruction of that format.

    >>> X = weights(128, 64)
    >>> [cell.text for cell in product_errors(X, X.T[:, :8]).grids[0].cells if cell.lines][2]
    '9.9%'
    """
    exact, values = X @ W, {}
    for name, form in FORMATS.items():
        A, Bt = quantise(X, name), quantise(np.ascontiguousarray(W.T), name)
        ins = tensor_form(form.mnemonic, n=32)
        D = matmul(A.stored, Bt.stored.T, instruction=ins, scale_a=A.scales, scale_b=Bt.scales.T, show=False)
        values[name] = error(exact, D * (A.tensor_scale * Bt.tensor_scale))
    notes = ("root mean square, relative to the product in f64",)
    return bars(values, "Error of the product by format", notes, text="{:.1%}".format)


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
        "a word is four scales: those of a row of A, or of a column of B",
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
        form, same = (tensor_form(f"{name}.{end}", n=64) for end in (f"scale_vec::{vector}", block))
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
    notes = ("sm_103 has K = 96 too, sm_107 K = 128 and scales of ue5m3",)
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
        ins = tensor_form(form.mnemonic, n=64)
        each = ins.scale_vec or 1
        step = k // ins.k
        column, first = 4 * (step * each // 4), step * each % 4
        notes.append(f"{ins.kind}: instruction {step}, column {column}, id {first}")
        rows.append(Header(row, 1, (f"{name}, {form.block} of K each",)))
        for scale in range(16):
            if scale >= _DEEP // form.block:
                cells.append(Cell(row, scale, 1, 1, (), role="blank"))
                continue
            mark: State = "mark" if scale // each == step else "plain"
            span = index_range(form.block * scale, form.block)
            tint = CHUNK_HUES[scale // each % 8] * 4 + 1
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


#: A product of 128 x 32 x 256 in nvfp4 by one block: scales by tcgen05.cp, tensor scales in the epilogue.
KERNEL = "\n" + source_text("nvfp4.cu")

#: The parts of the kernel: a name, what the first line contains, and what is to be seen there.
STOPS = {
    ("what there is", 'extern "C"'): "One block of 128 threads. A, B and the tiles of scale factors fit into "
    "shared memory, all 256 along K at once. `tensor_scale` is the product of the tensor scales of A and B.",
    ("to shared memory", "// Copy everything to"): "The scale factors were stored as tiles of 128 x 4, so "
    "they are copied just like A and B: 512 bytes for every 64 along K. The fence hands everything over to "
    "the async proxy, for `cp` as well as `mma`.",
    ("tensor memory", "// Tensor memory:"): "64 columns are allocated. The kernel decides what is where: D "
    "first, then 16 columns for the scale factors of A and 16 for those of B.",
    ("scales", "// Scales: each"): "One thread issues eight copies. The descriptor says that rows of 16 "
    "bytes are contiguous; `warpx4` makes the four copies in tensor memory. No thread has seen a scale "
    "factor.",
    ("products", "// Products: 64"): "The same thread goes on at once. Each product gets two more addresses "
    "than `kind::f16` takes, the columns of its scale factors. The descriptor `0x08080480` is the same for "
    "all: with nvfp4 both ids are 0.",
    ("wait", "// All wait"): "The mbarrier signals the end of the products, and they come after the copies: "
    "one wait is enough for both.",
    ("epilogue", "// The epilogue"): "D leaves tensor memory, and the second level is applied: one "
    "multiplication by the tensor scales. A real kernel also converts here, often to the next layer's nvfp4, "
    "and must then find new scale factors.",
}
PARTS = [name for name, _ in STOPS]


def part_of_kernel(part: str) -> ExplainedPart:
    """A part of the kernel, with its explanation.

    >>> len(part_of_kernel("scales").lines)
    6
    """
    return explained_part(KERNEL, part, STOPS)


def kernel() -> Kernel[Simulation]:
    """The kernel, to simulate; it comes with its PTX, and needs no compiler.

    >>> kernel().name, kernel().target
    ('nvfp4', 'sm_100a')
    """
    return recorded(KERNEL, "sm_100a")


def sources() -> list[str]:
    """The source of the kernel, whose PTX is recorded."""
    return [KERNEL]


def packed(X: Quantised) -> NDArray[np.uint8]:
    """The stored elements as bytes, as the kernel has them in shared memory.

    Each 64 of K are one tile, of core matrices of 8 rows by 16 bytes (lesson 06), without a swizzle.

    >>> packed(quantise(weights(32, 256))).shape
    (4096,)
    """
    codes = dtype("e2m1").encode(X.stored).astype(np.uint8)
    rows, k = codes.shape
    pairs = codes.reshape(rows // 8, 8, k // 64, 2, 32).transpose(2, 0, 3, 1, 4).reshape(-1, 2)
    return np.asarray(pairs[:, 0] | pairs[:, 1] << 4, dtype=np.uint8)


def scale_tiles(X: Quantised) -> NDArray[np.uint8]:
    """The scale factors as bytes, in tiles of 128 x 4.

    >>> scale_tiles(quantise(weights(32, 256))).shape
    (2048,)
    """
    return np.asarray(tile_scales(dtype("ue4m3").encode(X.scales)), dtype=np.uint8)


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


class Extreme(NamedTuple):
    """Matrices of a product, of which only D[0][0] is not zero."""

    A: _Matrix
    B: _Matrix
    C: _Matrix
    scales: dict[str, _Matrix]


def extreme(exponent: int = -9) -> Extreme:
    """A product in which C and the first block cancel; the scale factors of the second are 2^exponent.

    >>> case = extreme()
    >>> float((case.A[0] * case.B[:, 0]).sum()), case.C[0, 0] == 2.0**17
    (-1.5, np.True_)
    """
    ins = tensor_form(NVFP4, n=8)
    assert ins.scale_a is not None
    assert ins.scale_b is not None
    A, B, C = np.zeros(ins.a.shape), np.zeros(ins.b.shape), np.zeros(ins.c.shape)
    scale_a, scale_b = np.ones(ins.scale_a.shape), np.ones(ins.scale_b.shape)
    A[0, :2], A[0, 16], B[:, 0] = (-4, 2), 0.5, 1
    scale_a[0, :2], scale_b[:2, 0] = (256, 2.0**exponent), (256, 2.0**exponent)
    C[0, 0] = 2.0**17
    return Extreme(A, B, C, {"scale_a": scale_a, "scale_b": scale_b})


def rules() -> Picture:
    """What two published descriptions of a B200 make of the case of `extreme`.

    The largest exponents are 16 for a pair of scales, 17 for C, 18 for a product.

    >>> [rules().grids[0].at(row, 2).text for row in range(2)]
    ['0', '2^-19']
    """
    rows = {
        "MMA-Sim, arXiv 2511.10909;\nptxlab": ["scales and C, less 35 bits", "2^-18", "0"],
        "sf-tensor/tcgen05 on github,\nMODEL.md": [
            "products and C, less 39;\nscales, less 35",
            "2^-19",
            "2^-19",
        ],
    }
    columns = ["the largest exponent of", "last place", "D[0][0]"]
    notes = ("the exact sum is 2^-19", "ptxlab gives all 74 words of a B200 that sf-tensor has published")
    return table(rows, columns, "Two rules", notes)


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
    places = _scales_of(NVFP4, "SFA").where(_SFA_ROW, _SFA_K // 16)
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


def _scales_of(mnemonic: str, operand: str, **parts: Any) -> TensorOperand:
    return tensor_form(mnemonic, **parts).tensors[operand]


_PAIR = NVFP4.replace("cta_group::1", "cta_group::2")
_BOTH = 200


@checks("28.4")
def _pair(answer: object) -> Sentences:
    cta, column_a, column_b, ctas = whole_numbers(answer, 4, "`(CTA, column of SFA, column of SFB, CTAs)`")
    of_a = _scales_of(_PAIR, "SFA", m=256, n=256).where(_BOTH, 0)
    of_b = _scales_of(_PAIR, "SFB", m=256, n=256).where(0, _BOTH)
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
    wide = _scales_of(FORMATS["mxfp4"].mnemonic, "SFB", n=256).columns
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


_AMAX, _BLOCK_MAX, _ELEMENTS = 84.0, 5.25, (1.75, -3.2)


@checks("29.1")
def _two_levels(answer: object) -> Sentences:
    submitted = numbers(answer, "`(tensor scale, scale factor, first element, second element)`", 4)
    whole, scale, first, second = submitted
    right = _AMAX / 2688
    block = _BLOCK_MAX / right / 6
    kind = dtype("e2m1")
    stored = kind.decode(kind.encode(np.array(_ELEMENTS) / (right * block))).astype(float).tolist()
    return {
        correct(submitted == (right, block, *stored)): "The value of an element is what is stored times "
        f"{block:g}, a number that `ue4m3` has, times 1/32. The instruction multiplies by the scale factor; "
        "the tensor scale is applied last, when D leaves tensor memory.",
        when(whole == 1 / right): "That is the inverse. The matrix is *divided* by its tensor scale, to "
        "reach 2688.",
        when(whole == _AMAX / 6): "That would map the largest magnitude to 6. Scale factors go up to 448.",
        when(whole == _AMAX / 448): "That forgets the 6: the largest is an element times a scale factor, 6 "
        "x 448.",
        when(whole != right): f"Divide by it, and {_AMAX:g} becomes 2688. What is the tensor scale?",
        when(scale == _BLOCK_MAX / 6): "The tensor scale is right. That is the scale factor without it: "
        "divide the block by the tensor scale first.",
        when(scale == _BLOCK_MAX / right): f"The tensor scale is right. {scale:g} is the block's largest "
        "magnitude after the first division; the scale factor maps it to 6.",
        when(scale != block): "The tensor scale is right. Divide the block's largest by the tensor scale, "
        "then by 6.",
        when(first not in stored or abs(second) not in kind.decode(np.arange(8)).astype(float)): "The "
        "tensor scale and the scale factor are right. Divide each element by both; `e2m1` has 0, 0.5, 1, "
        "1.5, 2, 3, 4, 6.",
        when(second == -stored[1]): "Both are right. But `e2m1` has a sign.",
        otherwise: "The tensor scale and the scale factor are right. Divide each element by both, and take "
        "the nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6.",
    }


_WRITTEN = InstructionDescriptor("mxf4", m=256, n=128, scale_a_id=2, scale_b_id=2)


@checks("29.2")
def _write(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a number of 32 bits")
    right = _WRITTEN.code
    names = {"a": "A", "b": "B", "n": "N", "m": "M", "scale": "the type of the scales"}
    names |= {"scale_a_id": "the id of SFA", "scale_b_id": "the id of SFB"}
    wrong = [
        names.get(part.name, part.name.replace("_", " "))
        for part in _WRITTEN.bit_fields
        if submitted >> part.low & (1 << part.bits) - 1 != part.code
    ]
    return {
        correct(submitted == right): "The loop changes only the two ids: a fast kernel keeps one descriptor "
        "for each value, and uses them in turn.",
        when(not 0 <= submitted < 1 << 32): "A descriptor has 32 bits.",
        when(submitted & 0x30 == 0x10): "With `kind::f16` bits 4 and 5 are the type of D. Here D is always "
        "f32, and they are the id of SFB.",
        when(len(wrong) == 1): f"All fields are right but one: {(wrong[0] if wrong else '')}.",
        when(len(wrong) > 1): f"These fields are not right: {', '.join(wrong)}. The picture above has the "
        "place of each.",
        otherwise: "All fields are right, but another bit is 1.",
    }


_LEFT_OVER = 0x08100490
_PORTED = InstructionDescriptor("mxf4nvf4", m=128, n=64)


@checks("29.3")
def _fault(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a number of 32 bits")
    right = _PORTED.code
    return {
        correct(submitted == right): "The 1 in bit 4 said that D is f32. Here it makes the id of SFB 1, but "
        "with four scales per row the only legal id is 0; nothing is guaranteed about what a chip does with "
        "that. With mxfp8 it would be legal, and each column of B would get the scale of another block, "
        "without any error.",
        when(submitted == _LEFT_OVER): "That is the descriptor that the kernel has.",
        when(not 0 <= submitted < 1 << 32): "A descriptor has 32 bits.",
        when(submitted == right | 1 << 23): "That changes the type of the scales to `ue8m0`. Those of nvfp4 "
        "are `ue4m3`, with code 0.",
        when(submitted >> 27 & 3 != 1): "M is right as it was: bit 27 is 128 in both formats, as 8 x 16 "
        "from bit 24 on or as 1 x 128.",
        when(submitted & 0x30): "Bits 4 and 5 are still not 0. What are they with `kind::f16`, and what are "
        "they here?",
        otherwise: "Too much has changed. Read the old one as `kind::mxf4nvf4`, field by field: which of "
        "them says what it should not?",
    }


#: A stage of a kernel: its first row and k, and the column of tensor memory where its scales begin.
_FIRST_ROW, _FIRST_K, _FIRST_COLUMN = 256, 1536, 64
#: An element of A in it, and the codes of it and its partner in B, and those of their scales.
_AT_ROW, _AT_K = 300, 1700
_CODES, _SCALE_CODES = (0xB, 0x6), (0x2C, 0x41)


@checks("29.4")
def _capstone(answer: object) -> Sentences:
    form = "`(byte in shared memory, lane, column, byte, what is added)`"
    offset, lane, column, byte, added = numbers(answer, form, 5)
    row, k = _AT_ROW - _FIRST_ROW, _AT_K - _FIRST_K
    tile, scale = divmod(k // 16, 4)
    right_offset = tile * TILE_BYTES + int(scale_offset(row, scale, 4))
    place = _scales_of(NVFP4, "SFA").where(row, scale)[0]
    right_column = _FIRST_COLUMN + 4 * tile + place.column
    a, b = dtype("e2m1").decode(_CODES).astype(float).tolist()
    x, y = dtype("ue4m3").decode(_SCALE_CODES).astype(float).tolist()
    right_place = place.lane, right_column, place.low // 8
    is_right = (offset, (lane, column, byte), added) == (right_offset, right_place, a * x * b * y)
    return {
        correct(is_right): f"{a:g} x {x:g} x {b:g} x {y:g}. From a float to a byte, and through two "
        "memories into a sum: that is the whole path of a block scale, and you can now follow any of them.",
        when(offset == int(scale_offset(_AT_ROW, _AT_K // 16, 2048 // 16))): "That is its byte in the "
        "scales of all of A. The question is about the four tiles of this stage.",
        when(offset // TILE_BYTES != tile): f"Begin with the tile. k = {_AT_K} is number "
        f"{k} of the stage's 256, and a tile has 64 of them.",
        when(offset == right_offset - scale): "The tile is right, and the row. Which of the "
        "row's four scales in this tile is it?",
        when(offset != right_offset): f"The tile is right. In it, this is row {row} of 128: which 16 "
        "bytes, and which four of them?",
        when(lane == row): f"Shared memory is right. Row {row} of the block is not in lane {row}: 32 lanes "
        "have all 128 rows.",
        when(lane != place.lane): f"Shared memory is right. The lane is the block's row, {row}, % 32.",
        when(column == right_column - _FIRST_COLUMN): "Shared memory and lane are right. The first tile is "
        f"at column {_FIRST_COLUMN}, not at 0.",
        when(column == _FIRST_COLUMN + tile + row // 32): "Shared memory and lane are right. A tile takes "
        "four columns, so tile t begins 4t further on.",
        when(column == _FIRST_COLUMN + 4 * tile): "Shared memory and lane are right. That column of the "
        f"tile has rows 0 to 31; this is row {row}.",
        when(column != right_column): "Shared memory and lane are right. The tile begins at column "
        f"{_FIRST_COLUMN} + 4t; each of its four columns has 32 rows.",
        when(byte != place.low // 8): "Lane and column are right. Bytes of a word are the four scales of the "
        "row, in order.",
        when(added == a * b): "The places are right. That is the product of the elements without their "
        "scales.",
        when(added == -a * x * b * y): "The places are right. Bit 3 of an `e2m1` is its sign.",
        when(added in (a * x * b, a * b * y)): "The places are right. Both elements have a scale, that of A "
        "and that of B.",
        otherwise: "The places are right. `e2m1`: 0, 0.5, 1, 1.5, 2, 3, 4, 6 are codes 0 to 7, and bit 3 is "
        "the sign. `ue4m3`: four bits of exponent with bias 7, then three of fraction.",
    }
