"""Lesson 25: scale factors of blocks, their bytes and lanes, how to quantise a block; its pictures."""

from __future__ import annotations

import math
from dataclasses import replace
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from ...instruction import mma_instruction, mma_instructions
from ...isa.dtypes import dtype
from ...views import Grid, Header, Picture
from ...views.charts import bars, table
from ...views.grid import Entry, uniform_grid
from ...views.labels import number_text
from ..answers import WrongForm, first_wrong, function_table, numbers, result_of, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

INS = mma_instruction(
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
)
ROW, COL = drawn("25.3", "`A[{}][{}]`", (9, 37), (10, 40), (13, 52), (12, 35), (14, 61))
SCALES_A, SCALES_B, ADDED = drawn(
    "25.1",
    "row 9 of A are {0[0]:g} and {0[1]:g}, the scales of column 3 of B are {1[0]:g} and {1[1]:g}, and "
    "`C[9][3]` is {2:g}",
    ((4.0, 0.5), (2.0, 8.0), 100.0),
    ((2.0, 0.25), (4.0, 16.0), 50.0),
    ((8.0, 0.5), (1.0, 4.0), 70.0),
    ((0.5, 4.0), (8.0, 1.0), 30.0),
    ((16.0, 0.25), (0.5, 4.0), 90.0),
)
_SCALE = drawn("25.2", "the scale {:g} as", 0.25, 0.125, 0.5, 0.0625, 0.03125)
BYTE_ID, THREAD_ID, K, N = 2, 3, 40, 5
_BLOCK = (0.9, -2.6, 0.1, 1.6)
_TOP = 2  # the exponent of 6, the largest value of e2m1


# -- what the lesson shows -----------------------------------------------------------------------------------

#: The largest value of the types that elements and scales are quantised to.
LARGEST_VALUE = {"e2m1": 6.0, "e4m3": 448.0, "ue4m3": 448.0}
_Matrix = NDArray[np.float64]


def quantise(
    X: _Matrix, element: str = "e2m1", block: int = 32, scale: str = "ue8m0"
) -> tuple[_Matrix, _Matrix]:
    """The stored values of X, and one scale for every `block` elements of a row.

    The largest magnitude of a block, amax, decides: the scale is a power of two that brings it near the
    largest value of the element type (`ue8m0`), or amax divided by that value (`ue4m3`).

    >>> stored, scales = quantise(np.array([[0.9, -2.6, 0.1, 1.6]]), block=4)
    >>> stored.tolist(), scales.tolist()
    ([[2.0, -6.0, 0.0, 3.0]], [[0.5]])
    """
    element_type, scale_type, largest = dtype(element), dtype(scale), LARGEST_VALUE[element]
    blocks = X.reshape(len(X), -1, block)
    amax = np.abs(blocks).max(axis=-1, keepdims=True)
    if scale == "ue8m0":
        exact = 2.0 ** (np.frexp(amax)[1] - np.frexp(largest)[1])
    else:
        exact = np.minimum(amax / largest, LARGEST_VALUE["ue4m3"])
    scales = scale_type.decode(scale_type.encode(exact)).astype(float)
    scaled = np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales > 0)
    stored = element_type.decode(element_type.encode(np.clip(scaled, -largest, largest)))
    return stored.astype(float).reshape(X.shape), scales[..., 0]


def restore(stored: _Matrix, scales: _Matrix) -> _Matrix:
    """Stored values times their scales, as the instruction reads them.

    >>> restore(np.array([[2.0, -6.0]]), np.array([[0.5]])).tolist()
    [[1.0, -3.0]]
    """
    blocks = stored.reshape(*scales.shape, -1)
    return (blocks * scales[..., None]).reshape(stored.shape)


def error(exact: _Matrix, approximate: _Matrix) -> float:
    """Root mean square of the difference, relative to the exact matrix.

    >>> error(np.array([3.0, 4.0]), np.array([3.0, 4.5]))
    0.1
    """
    return float(np.sqrt(((exact - approximate) ** 2).mean() / (exact**2).mean()))


def rounded(weights: _Matrix, scale: float = 1.0) -> Picture:
    """Some numbers on their way through four bits: divided by a scale, rounded to e2m1, multiplied again.

    >>> [cell.text for cell in rounded(np.array([0.02]), 1 / 128).grids[0].cells]
    ['0.02', '2.56', '3', '0.0234']
    """
    e2m1 = dtype("e2m1")
    scaled = weights / scale
    stored = e2m1.decode(e2m1.encode(scaled)).astype(float) + 0.0  # no -0
    rows = {"weight": weights, "divided by the scale": scaled, "stored as e2m1": stored}
    rows["times the scale"] = stored * scale
    if scale == 1:
        rows = {name: rows[name] for name in ("weight", "stored as e2m1")}
    texts = {name: [number_text(value, 3) for value in row] for name, row in rows.items()}
    names = list(rows)

    def entry(row: int, column: int) -> Entry:
        name, text = names[row], texts[names[row]][column]
        heat = stored[column] / LARGEST_VALUE["e2m1"] if name == "stored as e2m1" else 0.0
        return Entry((text,), tooltip=f"{name}: {text}", heat=0.8 * heat)

    grid = uniform_grid((len(names), len(weights)), entry, names, 1)
    title = "Weights in four bits"
    if scale != 1:
        title += f", with the scale 1/{1 / scale:g}" if scale < 1 else f", with the scale {scale:g}"
    notes = ("colour: the stored value, blue below zero and vermilion above",)
    return Picture(title, notes, (grid,))


def kinds() -> Picture:
    """Every kind of instruction with block scales.

    >>> kinds().grids[0].at(0, 1).text
    '32'
    """
    forms: dict[str, tuple[str, int, set[str]]] = {}
    for ins in [*mma_instructions("mma"), *mma_instructions("mma.sp")]:
        if ins.scale_vec:
            name = f"{ins.family} {ins.shape} {ins.kind} {ins.scale_vec}X {ins.scale_type}"
            entry = forms.setdefault(name, (str(ins.scale_type), ins.k // ins.scale_vec, set()))
            entry[2].add(ins.a_type)
    texts = {
        name: [scale, str(size), "\n".join(wrap(", ".join(sorted(types)), 18))]
        for name, (scale, size, types) in forms.items()
    }
    columns = ["type of a scale", "columns per scale", "types of A"]
    return table(texts, columns, "Every kind of instruction with .block_scale")


def selectors() -> Picture:
    """The values that selectors may have, by the number of scales in a row.

    >>> selectors().grids[0].at(1, 0).text
    '0, 2'
    """
    names = ("byte_id_a", "thread_id_a", "byte_id_b", "thread_id_b")
    texts: dict[str, list[str]] = {}
    for ins in mma_instructions("mma"):
        if ins.scale_vec:
            values = [", ".join(map(str, ins.modifiers[name])) for name in names]
            texts.setdefault(f"{ins.scale_vec}X", values)
    columns = [name.replace("_", "-") for name in names]
    title = "Legal selectors, by the number of scales per row"
    return table(dict(sorted(texts.items())), columns, title)


def errors(weights: _Matrix) -> Picture:
    """How far the weights are off after quantisation in each format.

    >>> [cell.text for cell in errors(np.full((1, 32), 1.2)).grids[0].cells if cell.lines][:2]
    ['4.2%', '16.7%']
    """
    formats = (("e4m3", 32, "ue8m0"), ("e2m1", 32, "ue8m0"), ("e2m1", 16, "ue4m3"))
    values = {
        f"{element}, one {scale} per {block} ({dtype(element).bits + 8 / block:.2f} bits)": error(
            weights, restore(*quantise(weights, element, block, scale))
        )
        for element, block, scale in formats
    }
    return bars(values, "Relative error of the weights", ("root mean square",), text="{:.1%}".format)


_SHOWN = 8  # rows of a map


def outlier(weights: _Matrix, column: int = 40) -> Picture:
    """What becomes of all other weights if one column is 1, for three sizes of blocks.

    >>> outlier(np.full((2, 64), 0.01)).grids[0].title
    '64 elements per scale: 100% of the others become zero'
    """
    spoiled = weights.copy()
    spoiled[:, column] = 1.0
    others = np.arange(weights.shape[1]) != column
    grids = []
    for block, scale in ((64, "ue8m0"), (32, "ue8m0"), (16, "ue4m3")):
        lost = restore(*quantise(spoiled, "e2m1", block, scale)) == 0
        share = f"{lost[:, others].mean():.1%}".replace(".0%", "%")
        title = f"{block} elements per scale: {share} of the others become zero"
        grids.append(_map(lost[:_SHOWN], column, title))
    notes = (f"the first {_SHOWN} rows", "vermilion: became zero", f"grey: column {column}, the outlier")
    return Picture("One large column, and what becomes of the others", notes, tuple(grids))


def _map(lost: NDArray[np.bool_], column: int, title: str) -> Grid:
    def entry(row: int, k: int) -> Entry:
        heat = None if k == column else 0.6 * float(lost[row, k])
        return Entry((), tooltip=f"A[{row}][{k}]: {'zero' if lost[row, k] else 'kept'}", heat=heat)

    grid = uniform_grid((len(lost), lost.shape[1]), entry, [], 16, ("m", "k"), title)
    return replace(grid, rows=(Header(0, len(lost), ("",)),), new_line=True)


# -- exercises ---------------------------------------------------------------------------------------------


def _block() -> int:
    """Columns of A that share a scale."""
    return INS.k // (INS.scale_vec or 1)


@checks("25.1")
def _scaled_product(answer: object) -> Sentences:
    (submitted,) = numbers(answer, "one number", 1)
    size = _block()
    products = [a * b for a, b in zip(SCALES_A, SCALES_B, strict=True)]
    expected = size * sum(products) + ADDED
    every_pair = sum(SCALES_A) * sum(SCALES_B)
    combined = submitted in (INS.k * every_pair + ADDED, size * every_pair + ADDED)
    return {
        correct(submitted == expected): f"In block 0 every product is 1 * {SCALES_A[0]:g} * 1 * "
        f"{SCALES_B[0]:g}, in block 1 it is 1 * {SCALES_A[1]:g} * 1 * {SCALES_B[1]:g}. There are {size} "
        "of each, and C is added without scaling.",
        when(submitted == expected - ADDED): "The product is right, but C is still missing.",
        when(submitted == sum(products) * (size + ADDED)): "C has no scale: only A and B are scaled.",
        when(submitted == size * sum(SCALES_A) + ADDED): "That uses only the scales of A. B also has scales.",
        when(combined): "Block 0 of the row is multiplied only by block 0 of the column: the scales of "
        "different blocks are never combined.",
        when(submitted == sum(products) + ADDED): "That is one product of each block plus C. How many "
        "products does a block have?",
        when(submitted == INS.k * sum(products) + ADDED): "Each pair of scales belongs to one block, which "
        "is half of the columns, not to all of them.",
        when(submitted == size * (sum(SCALES_A) + sum(SCALES_B)) + ADDED): "The two scales of a product "
        "are multiplied, not added.",
        otherwise: f"Take one block at a time: {size} products, each of them the product of two elements "
        "and two scales. Then add C.",
    }


@checks("25.2")
def _scale_bytes(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(byte as ue8m0, byte as ue4m3)`")
    power, small = (int(dtype(name).encode([_SCALE])[0]) for name in ("ue8m0", "ue4m3"))
    exponent = int(math.log2(_SCALE))
    bias = dtype("ue4m3").bias
    return {
        correct(submitted == (power, small)): f"{_SCALE:g} is 2^{exponent}. `ue8m0` is nothing but an "
        f"exponent: {exponent} + 127. In `ue4m3` the exponent field is {exponent} + 7, and it is above "
        "three fraction bits, which are zero.",
        when(submitted == (small, power)): "Both bytes are right, but in the wrong order.",
        when(submitted == (power, exponent + bias)): "The first is right. Your second is the exponent "
        "field, but that is not in the lowest bits.",
        when(submitted[0] == power): "The first is right. For `ue4m3` add its bias to the exponent and "
        "shift the field above the three fraction bits.",
        when(submitted[0] == 127 - exponent): "The scale is below 1, so its exponent is negative: the "
        "field is smaller than the bias.",
        when(submitted[0] in (exponent, exponent & 0xFF)): "A negative exponent is stored neither with a "
        "minus nor in two's complement: a bias is added.",
        when(submitted[1] == small): "The second is right. A byte of `ue8m0` is the exponent plus 127, and "
        "nothing else.",
        otherwise: f"Write {_SCALE:g} as a power of two. The exponent plus the bias is the exponent field; "
        "a power of two has fraction 0.",
    }


@checks("25.3")
def _place_a(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, byte)`")
    scales = INS.operand("SFA")
    block = COL // _block()
    right, upper = scales.where(ROW, block)[0], scales.where(ROW - 8, block)[0]
    expected = (right.lane, right.element)
    return {
        correct(submitted == expected): f"In the quad of groupID {ROW % 8} the first lane has the scales "
        f"of row {ROW % 8} and the second the scales of row {ROW}; block {block} is byte {right.element}.",
        when(submitted == (upper.lane, upper.element)): f"That lane has the scales of row {ROW - 8}. "
        "Within a quad, one lane has the scales of one row, and its neighbour has the scales of the row "
        "eight below.",
        when(submitted[0] in (right.lane + 2, upper.lane + 2)): "Those lanes supply the scales when "
        "thread-id-a is 1; here it is 0.",
        when(submitted[1] in (right.low, right.high)): "That is the number of a bit. A register has four "
        "bytes, 0 to 3; byte 0 is the lowest.",
        when(submitted == (right.lane, right.element + 2)): "Those bytes are read when byte-id-a is 2; here "
        "it is 0.",
        when(submitted[0] == right.lane): "The lane is right. The lowest byte scales the first block of the "
        "row.",
        when(submitted[0] > 31): "There are 32 lanes, 0 to 31: rows 8 to 15 use the same quads as rows 0 to "
        "7.",
        when(submitted[1] == right.element): "The byte is right. Which two lanes of a quad supply the "
        "scales of A, and for which rows?",
        otherwise: "Find the quad with groupID = row % 8; thread-id-a 0 selects its lower two lanes, one "
        "for each of the two rows.",
    }


@checks("25.4")
def _place_b(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, byte)`")
    vec = INS.scale_vec or 1
    block, scales = K // _block(), INS.operand("SFB")
    right = scales.where(block, N)[THREAD_ID * (4 // vec) + BYTE_ID // vec]
    expected = (right.lane, right.element)
    return {
        correct(submitted == expected): f"thread-id-b {THREAD_ID} selects the last lane of the quad of "
        f"column {N}, byte-id-b {BYTE_ID} selects its upper two bytes, and row {K} is in block {block}: the "
        "second of the two.",
        when(submitted[1] in (right.low, right.high)): "That is the number of a bit. A register has four "
        "bytes, and byte 0 is the lowest.",
        when(submitted[0] == right.lane - 1): "That is the lane for thread-id 2. The first of the two "
        "selectors is the byte-id, the second is the thread-id.",
        when(submitted == (right.lane, block)): "The lane is right. That byte is read with byte-id 0; here "
        "byte-id-b selects the upper two bytes.",
        when(submitted == (right.lane, BYTE_ID)): "The lane is right, and so is the pair of bytes. Which of "
        f"the two belongs to row {K}?",
        when(submitted[0] == right.lane): "The lane is right. byte-id-b is the first byte of the pair, and "
        "block 0 is in the lower byte.",
        when(submitted[0] in (N, N * 4, K % 8 * 4 + THREAD_ID)): "A quad belongs to one column of B: "
        "groupID is the column, and thread-id-b selects the lane within the quad.",
        when(submitted[0] > 31): "There are 32 lanes, 0 to 31.",
        when(submitted[1] == right.element): "The byte is right. groupID is the column, and thread-id-b "
        "selects the lane of the quad.",
        otherwise: "Four lanes have groupID equal to the column. thread-id-b selects one of them, and "
        "byte-id-b the first byte of the pair that is read.",
    }


@checks("25.5")
def lane_of(answer: object) -> Sentences:
    submitted = function_table(answer, INS.m, 2, form="`lane_of(row, thread_id)` returns a lane")
    expected = np.array(
        [sorted({place.lane for place in INS.operand("SFA").where(row, 0)}) for row in range(INS.m)]
    )
    rows, threads = np.indices(expected.shape)
    where = first_wrong(submitted, expected, "row {}, thread-id {}")
    return {
        correct(not where): "Right for all 32: `row % 8 * 4` is the first lane of the quad, thread-id "
        "moves by two lanes, and the lower row by one.",
        when((submitted >= INS.lanes).any()): f"There are 32 lanes, 0 to 31; look at {where}: rows 8 to 15 "
        "share the quads of rows 0 to 7.",
        when((submitted[:8] == expected[:8]).all()): "Right for rows 0 to 7. The lower rows use the same "
        f"quads, but not the same lanes: {where}.",
        when((submitted[:, 0] == expected[:, 0]).all()): "Right for thread-id 0. thread-id 1 selects the "
        "*upper two* lanes of the quad, both of them.",
        when((submitted == rows % 8 * 4 + rows // 8 * 2 + threads).all()): "The quads are right. But you "
        "exchanged two things: thread-id selects the pair of lanes, and the row selects the lane within the "
        "pair.",
        when((submitted // 4 == expected // 4).all()): "The quads are right. Look at the lane within the "
        f"quad for {where}.",
        otherwise: f"The first wrong result is for {where}. A quad is four lanes, and its number, groupID, "
        "is `row % 8`.",
    }


@checks("25.6")
def by_hand(answer: object) -> Sentences:
    submitted = numbers(answer, "`(scale, q0, q1, q2, q3)`", 5)
    quantised, scales = quantise(np.array([_BLOCK]), block=len(_BLOCK))
    scale, stored = scales.item(), tuple(quantised[0].tolist())
    amax = max(map(abs, _BLOCK))
    known = set(dtype("e2m1").decode(np.arange(16)).astype(float).tolist())
    worth = tuple(value * scale for value in stored)
    no_value = next((value for value in submitted[1:] if value not in known), None)
    pairs = enumerate(zip(submitted[1:], stored, strict=True))
    wrong_element = next((i for i, (mine, right) in pairs if mine != right), None)
    return {
        correct(submitted == (scale, *stored)): f"The largest magnitude is {amax:g}; divided by {scale:g} "
        f"that is {amax / scale:g}, which is between 4 and 8. The other elements, divided by {scale:g}, "
        "are rounded to the nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6. The instruction multiplies each stored "
        "value by the scale again.",
        when(submitted[0] == 1 / scale): "Elements are *divided* by the scale when they are stored, and "
        "the hardware multiplies by it: yours is the inverse.",
        when(submitted[0] == math.log2(scale)): "That is the exponent of the scale. The scale itself is "
        "2 to that power.",
        when(abs(submitted[0] - amax / LARGEST_VALUE["e2m1"]) < 0.01): "That is amax / 6, the rule for "
        "`ue4m3`. `ue8m0` holds powers of two only.",
        when(submitted[0] != scale): f"The scale is a power of two with 4 <= {amax:g} / scale < 8. Yours "
        "is not: try its neighbours.",
        when(submitted[1:] == worth): "The scale is right. Those are the values that come *back*, "
        "multiplied by the scale; give the stored values.",
        when(no_value is not None): f"The scale is right, but {no_value or 0:g} is not a value of e2m1. Its "
        "values are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.",
        when(submitted[1:] == tuple(map(abs, stored))): "The magnitudes are right. e2m1 has a sign.",
        otherwise: f"The scale is right. Look again at element {wrong_element}: divide, then "
        "take the *nearest* value of e2m1.",
    }


def _blocks() -> list[list[float]]:
    """Blocks of 32 numbers; in every second one the largest is negative, and some are powers of two."""
    rng = np.random.default_rng(117)
    blocks = []
    for i, size in enumerate((1.0, 1e-3, 37.0, 2.0**-20, 7e4, 1.3, 2.9e-5, 0.7)):
        block = rng.uniform(-1, 1, 32) * size
        block[rng.integers(32)] = size * (-1.5 if i % 2 else 1.25)
        blocks.append(block)
    for size in (4.0, 2.0**-7, math.nextafter(1.0, 0.0)):
        block = rng.uniform(-0.5, 0.5, 32) * size
        block[rng.integers(32)] = size
        blocks.append(block)
    return [block.tolist() for block in blocks]


@checks("25.7")
def scale_byte(answer: object) -> Sentences:
    form = "`scale_byte(block)` returns a byte"
    for block in _blocks():
        amax = max(map(abs, block))
        about = f"For a block whose largest magnitude is {amax:g}"
        expected = math.frexp(amax)[1] - 1 - _TOP + 127
        value = result_of(answer, list(block), form=form, about=about)
        if isinstance(value, (int, float, np.number)) and 0 < value == 2.0 ** (expected - 127):
            raise WrongForm(f"{about} you returned the scale itself. Return its byte: the exponent plus 127.")
        (submitted,) = whole_numbers(value, 1, form)
        if submitted == expected:
            continue
        largest_number = max((number for number in block if number > 0), default=1e-300)
        of_largest_number = submitted == math.frexp(largest_number)[1] - 1 - _TOP + 127
        return {
            when(submitted == expected - 127): f"{about} you returned the exponent of the scale. Add the "
            "bias of 127.",
            when(submitted == expected + _TOP): f"{about} your scale leaves it between 1 and 2. It should be "
            "between 4 and 8: e2m1 goes up to 6.",
            when(of_largest_number): f"{about} you used the largest *number*. A negative element may have "
            "the largest magnitude.",
            when(not 0 <= submitted <= 254): f"{about} you returned {submitted}, which is not a scale: "
            "bytes go from 0 to 254 (255 means NaN).",
            when(submitted == expected - 1): f"{about} the scale is too small by half: the largest "
            "magnitude comes out at 8 or more. The rule counts from 4, the highest power of two in e2m1, "
            "not from 6.",
            when(submitted == expected + 1): f"{about} the scale is twice too large: the largest magnitude "
            "comes out below 4. Round the logarithm down, not up.",
            otherwise: f"{about} you returned {submitted}. Take the exponent of the largest magnitude, "
            "subtract 2 for e2m1, add the bias 127.",
        }
    return {
        correct(True): "Right for all blocks. This is the rule of the OCP Microscaling (MX) specification: "
        "floor(log2(amax)) - 2, stored with a bias of 127."
    }
