"""Lesson 29: an nvfp4 product with tcgen05: two levels of scales, its kernel, and how exact it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...gemm.matmul import matmul
from ...isa.dtypes import dtype
from ...isa.instruction_descriptor import InstructionDescriptor
from ...memory.library_formats import scale_offset, tile_scales
from ...simulator.kernel import Kernel
from ...views import Picture
from ...views.charts import bars, table
from ...views.labels import number_text
from ..answers import numbers, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import ExplainedPart, explained_part, recorded, source_text
from .block_scaling import error
from .scale_factors_in_tensor_memory import (
    FORMATS,
    NVFP4,
    TILE_BYTES,
    Matrix,
    Quantised,
    quantise,
    scale_operand,
    weights,
)
from .tensor_memory import mma_form

# -- what the lesson shows -----------------------------------------------------------------------------------


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


def product_errors(X: Matrix, W: Matrix) -> Picture:
    """How far X W is off in each format, multiplied by the instruction of that format.

    >>> X = weights(128, 64)
    >>> [cell.text for cell in product_errors(X, X.T[:, :8]).grids[0].cells if cell.lines][2]
    '9.9%'
    """
    exact, values = X @ W, {}
    for name, form in FORMATS.items():
        A, Bt = quantise(X, name), quantise(np.ascontiguousarray(W.T), name)
        ins = mma_form(form.mnemonic, n=32)
        D = matmul(A.stored, Bt.stored.T, instruction=ins, scale_a=A.scales, scale_b=Bt.scales.T, show=False)
        values[name] = error(exact, D * (A.tensor_scale * Bt.tensor_scale))
    notes = ("root mean square, relative to the product in f64",)
    return bars(values, "Error of the product by format", notes, text="{:.1%}".format)


# -- the kernel, part by part --------------------------------------------------------------------------------

#: A product of 128 x 32 x 256 in nvfp4 by one block: scales by tcgen05.cp, tensor scales in the epilogue.
KERNEL = "\n" + source_text("nvfp4.cu")

#: The parts of the kernel: a name, what the first line contains, and what to notice there.
STOPS = {
    ("what there is", 'extern "C"'): "One block of 128 threads. A, B and the tiles of scale factors fit into "
    "shared memory, all 256 along K at once. `tensor_scale` is the product of the tensor scales of A and B.",
    ("to shared memory", "// Copy everything to"): "The scale factors were stored as tiles of 128 x 4, so "
    "they are copied just like A and B: 512 bytes for every 64 along K. The fence hands everything over to "
    "the async proxy, for `cp` as well as `mma`.",
    ("tensor memory", "// Tensor memory:"): "64 columns are allocated. The kernel decides what is where: D "
    "first, then 16 columns for the scale factors of A and 16 for the scale factors of B.",
    ("scales", "// Scales: each"): "One thread issues eight copies. The descriptor says that rows of 16 "
    "bytes are contiguous; `warpx4` makes the four copies in tensor memory. No thread has seen a scale "
    "factor.",
    ("products", "// Products: 64"): "The same thread continues immediately. Each product gets two more "
    "addresses than `kind::f16` takes, the columns of its scale factors. The descriptor `0x08080480` is the "
    "same for all: with nvfp4 both ids are 0.",
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


def kernel() -> Kernel:
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


# -- where two published rules differ ------------------------------------------------------------------------


class Extreme(NamedTuple):
    """Matrices of a product, of which only D[0][0] is not zero."""

    A: Matrix
    B: Matrix
    C: Matrix
    scales: dict[str, Matrix]


def extreme(exponent: int = -9) -> Extreme:
    """A product in which C and the first block cancel; the scale factors of the second are 2^exponent.

    >>> case = extreme()
    >>> float((case.A[0] * case.B[:, 0]).sum()), case.C[0, 0] == 2.0**17
    (-1.5, np.True_)
    """
    ins = mma_form(NVFP4, n=8)
    assert ins.scale_a is not None
    assert ins.scale_b is not None
    A, B, C = np.zeros(ins.a.shape), np.zeros(ins.b.shape), np.zeros(ins.c.shape)
    scale_a, scale_b = np.ones(ins.scale_a.shape), np.ones(ins.scale_b.shape)
    A[0, :2], A[0, 16], B[:, 0] = (-4, 2), 0.5, 1
    scale_a[0, :2], scale_b[:2, 0] = (256, 2.0**exponent), (256, 2.0**exponent)
    C[0, 0] = 2.0**17
    return Extreme(A, B, C, {"scale_a": scale_a, "scale_b": scale_b})


def rules() -> Picture:
    """What two published descriptions of a B200 give for the product of `extreme`.

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
        when(second == -stored[1]): "Both scales are right. But `e2m1` has a sign.",
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
        when(len(wrong) == 1): f"All fields are right but one: {', '.join(wrong)}.",
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
        when(submitted == right | 1 << 23): "That changes the type of the scales to `ue8m0`. The scales of "
        "nvfp4 are `ue4m3`, with code 0.",
        when(submitted >> 27 & 3 != 1): "M is right as it was: bit 27 is 128 in both formats, as 8 in "
        "units of 16 or as 1 in units of 128.",
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
    place = scale_operand(NVFP4, "SFA").where(row, scale)[0]
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
        when(added in (a * x * b, a * b * y)): "The places are right. Both elements have a scale, one from A "
        "and one from B.",
        otherwise: "The places are right. `e2m1`: 0, 0.5, 1, 1.5, 2, 3, 4, 6 are codes 0 to 7, and bit 3 is "
        "the sign. `ue4m3`: four bits of exponent with bias 7, then three of fraction.",
    }
