"""Cells edited as in a spreadsheet: what is typed, pasted, filled on, refused, pruned."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxlab
from ptxlab import DTYPES, PtxlabError
from ptxlab.explorer.cells.cell_blocks import continue_cells
from ptxlab.explorer.cells.parse_cell import parse, parse_block, parse_cells, range_words, value_range
from ptxlab.explorer.cells.refused_edit import BrokenStructure, RefusedEdit, prune_broken_chunks
from ptxlab.explorer.edits import (
    ClearCells,
    Edit,
    ExtendCells,
    FillMatrix,
    FlipBit,
    Paste,
    PruneChunks,
    SetCell,
    SetRegister,
    SetValues,
)
from ptxlab.explorer.session import decode_message
from ptxlab.explorer.state import ExplorerState
from ptxlab.instruction import mma_instructions
from tests.cases import each, refuses

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
PAIRS = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"  # 4:8, in pairs
HALF = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"  # 2:4
TF32 = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"  # 1:2
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
QUICK = settings(max_examples=40, deadline=None)


def state_of(mnemonic: str, **matrices: Any) -> ExplorerState:
    state = ExplorerState(ptxlab.instruction(mnemonic))
    for name in ("A", "B", "C"):
        SetValues(name, matrices.get(name, np.zeros(state.operation.operand(name).shape))).apply(state)
    return state


def prune(state: ExplorerState, error: RefusedEdit) -> None:
    """Take the offer of a refusal."""
    state.refusal = error
    PruneChunks().apply(state)


def refused(state: ExplorerState, edit: Any, kind: type[PtxlabError] = PtxlabError) -> Any:
    """The refusal of an edit, which changed nothing and is no step."""
    before, history = state.operation, state.history
    with pytest.raises(kind) as error:
        edit()
    assert state.operation is before and state.history is history
    assert "\n" not in str(error.value)
    return error.value


# -- what is typed ---------------------------------------------------------------------------------------

#: For every type: texts it takes and their values, and texts it refuses with a part of the sentence.
TAKEN = {
    "b1": {"1": 1, "0x1": 1, "-0": 0}, "b4": {"0b1110": 14, "4": 4}, "u4": {"15": 15, "0xf": 15},
    "s4": {"-8": -8, "0xf": -1, "0b0000": 0, "7.0": 7, " 7 ": 7, "\u22123": -3},
    "u8": {"255": 255}, "s8": {"-128": -128, "1e2": 100}, "s32": {"2147483647": 2**31 - 1, "0xffffffff": -1},
    "e2m1": {"6": 6, "-0": 0, "5.9": 6, "0xf": -6}, "e2m3": {"7.5": 7.5}, "e3m2": {"-28": -28},
    "e4m3": {"448": 448, "0.1": 0.1015625, "0x7e": 448},
    "e5m2": {"57344": 57344, "-inf": -np.inf}, "ue8m0": {"0.5": 0.5, "3": 4}, "ue4m3": {"448": 448, "-0": 0},
    "f16": {"65504": 65504, "inf": np.inf, "0.1": np.float16(0.1), "-0": 0}, "bf16": {"1e9": 998244352},
    "tf32": {"1.5": 1.5, "1e-3": 1049 / 2**20, "0x3f800001": 1},
    "f32": {"1e38": np.float32(1e38), "nan": np.nan},
    "f64": {"0.1": 0.1, "-Infinity": -np.inf},
}  # fmt: skip
REFUSED = {
    "b1": {"2": "b1 holds 0..1", "0x2": "the 1 bit of b1; the largest is 0x1"}, "b4": {"16": "0..15"},
    "u4": {"-1": "u4 holds 0..15"},
    "s4": {
        "9": "found 9; s4 holds -8..7", "0x1f": "the 4 bits of s4; the largest is 0xf",
        "1.5": "whole numbers -8..7", "nan": "whole numbers -8..7",
    },
    "u8": {"256": "0..255"}, "s8": {"128": "-128..127"}, "s32": {"2147483648": "-2147483648..2147483647"},
    "e2m1": {"7": "found 7; e2m1 holds -6..6", "inf": "e2m1 holds -6..6", "nan": "no NaN"},
    "e2m3": {"8": "-7.5..7.5"}, "e3m2": {"1e9": "-28..28"},
    "e4m3": {"449": "-448..448 and nan", "inf": "found inf; e4m3 holds -448..448 and nan"},
    "e5m2": {"6e4": "-57344..57344, inf and nan"},
    "ue8m0": {"0": "powers of two", "-1": "powers of two", "inf": "powers of two", "1e-45": "powers of two"},
    "ue4m3": {"-1": "0..448 and nan, no sign", "500": "0..448"},
    "f16": {"1e9": "found 1e9; f16 holds -65504..65504, inf and nan"},
    "bf16": {"1e39": "-3.38953e+38..3.38953e+38"}, "tf32": {"3.402e38": "-3.40116e+38..3.40116e+38"},
    "f32": {"1e39": "3.40282e+38"},
    "f64": {"1e400": "found 1e400; f64 holds"},
}  # fmt: skip


@each("kind, text", [(kind, text) for kind, texts in TAKEN.items() for text in texts])
def test_typed_values_are_taken(kind: str, text: str) -> None:
    value = DTYPES[kind].decode(parse(DTYPES[kind], text))
    np.testing.assert_equal(value, TAKEN[kind][text])
    if text == "-0" and DTYPES[kind].signed and DTYPES[kind].is_float:
        assert np.signbit(value)


@each("kind, text", [(kind, text) for kind, texts in REFUSED.items() for text in texts])
def test_typed_values_that_a_type_lacks_are_refused(kind: str, text: str) -> None:
    with pytest.raises(PtxlabError) as error:
        parse(DTYPES[kind], text)
    assert REFUSED[kind][text] in str(error.value)
    start = f"code {text} does not fit" if text.startswith("0x") else f"found {text}; "
    assert str(error.value).startswith(start)


@each("text", ["abc", "0b", "0x", "1,5", "1 2", "=A1", "", "1_0", '"', "--1"])
@each("kind", sorted(DTYPES))
def test_no_number(kind: str, text: str) -> None:
    """Every type says what was found and what it takes."""
    with pytest.raises(PtxlabError) as error:
        parse(DTYPES[kind], text)
    sentence = str(error.value)
    assert (
        sentence.startswith(f"found {text!r}; {kind} takes a number such as 1")
        and "or a raw code such as 0x" in sentence
    )
    assert ("with a point and no comma" in sentence) is ("," in text)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text("0123456789.,-+−eExXbnaifNIF_ =½²٣∞é😀\0\n", max_size=12), st.sampled_from(sorted(DTYPES)))
def test_any_text_is_a_code_or_a_sentence(text: str, kind: str) -> None:
    try:
        code = parse(DTYPES[kind], text)
    except PtxlabError:
        return
    assert 0 <= code < 1 << DTYPES[kind].bits


def test_every_type_is_tried() -> None:
    assert set(TAKEN) == set(REFUSED) == set(DTYPES)


@each("kind", DTYPES.values(), ids=str)
def test_the_ends_of_a_range_are_values_of_the_type(kind: Any) -> None:
    """Its ends are values of the type, and there is none beyond them."""
    least, most, infinite, nan = value_range(kind)
    for end in (least, most):
        assert float(kind.decode(kind.encode(float(end)))) == end
    codes = (
        np.arange(1 << kind.bits)
        if kind.bits <= 16
        else np.random.default_rng(0).integers(0, 1 << 32, 1000, dtype=np.uint64) << np.uint64(kind.bits - 32)
    )
    with np.errstate(invalid="ignore"):
        values = kind.decode(codes).astype(np.float64)
    finite = values[np.isfinite(values)]
    assert (least <= finite).all() and (finite <= most).all()
    assert kind.bits > 16 or (infinite, nan) == (np.isinf(values).any(), np.isnan(values).any())
    assert ("nan" in range_words(kind)) is bool(kind.is_float and kind.bits >= 8)


# -- copied and pasted -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", [["1"]]), ("1\t2\n3\t4", [["1", "2"], ["3", "4"]]),
        ("1\t2\r\n3\t4\r\n", [["1", "2"], ["3", "4"]]), ("1\r2\r", [["1"], ["2"]]),
        ('"1"\t"a\tb"\n"x\ny"\t"say ""7"""', [["1", "a\tb"], ["x\ny", 'say "7"']]),
        ("1\t\n\t2", [["1", ""], ["", "2"]]), ("", [[""]]), ("\n1", [[""], ["1"]]),
    ],
)  # fmt: skip
def test_cells_of_a_spreadsheet(text: str, found: list[list[str]]) -> None:
    assert parse_cells(text) == found


@pytest.mark.parametrize("text", ['"1', '1\t"2\n3', '"1"2'])
def test_quotes_that_do_not_end(text: str) -> None:
    assert "ends with one" in str(
        refused(state := state_of(DENSE), lambda: Paste("A", 0, 0, text).apply(state))
    )


FOUR = [["1", "2"], ["3", "4"]]


@each(
    "text, cells",
    [
        ("1,2\n3,4", FOUR),
        ("1, 2\r\n3, 4\r\n", FOUR),
        ("1, 2,\n3, 4,\n", FOUR),
        ("1;2\n3;4", FOUR),
        ("1 ; 2\n3 ; 4", [["1 ", "2"], ["3 ", "4"]]),
        ("  1   2\n  3   4", FOUR),
        ("1\u00a02\n3 4\n", FOUR),
        ("1,,2", [["1", "", "2"]]),
        ('"1","2"\n3,4', FOUR),
        ("1\n2", [["1"], ["2"]]),
        (" 7 ", [["7"]]),
        ("1,5;2,5", [["1,5", "2,5"]]),
        ("1,5\t2", [["1,5", "2"]]),
        ("1,5", [["1,5"]]),
        ("1, 5", [["1", "5"]]),
        ("", [[""]]),
        ("\n1", [[""], ["1"]]),
        ("[[1, 2], [3, 4]]", FOUR),
        ("[[1 2]\n [3 4]]", FOUR),
        ("[(1, 2), (3, 4),]", FOUR),
        ("((1, 2), (3, 4))", FOUR),
        (" [1 2]\n [3 4]", FOUR),
        ("[1, 2]", [["1", "2"]]),
        ("[[[1, 2], [3, 4]]]", FOUR),
        ("[[1,\t2],\n\t[3,\t4]]", FOUR),
        ("A = np.array([[1, 2],\n [3, 4]], dtype=np.int8);", FOUR),
        ("array([[1, 2], [3, 4]], shape=(2, 2), dtype=int8)", FOUR),
        ("[array([1, 2]), array([3, 4])]", FOUR),
        ("tensor([[1, 2], [3, 4]], device='cuda:0', dtype=torch.int8)", FOUR),
        ("[np.float16(1.0), np.float16(nan)]", [["1.0", "nan"]]),
        ("['0x3c00', \"inf\", 1e-3]", [["0x3c00", "inf", "1e-3"]]),
    ],
)
def test_cells_as_people_copy_them(text: str, cells: list[list[str]]) -> None:
    assert parse_block(text) == cells


@each("print_of", [str, repr, lambda array: str(array.tolist()), lambda array: repr(list(array))])
@each("dtype", [np.float16, np.float64, np.float32])
def test_what_numpy_prints_pastes_back(print_of: Any, dtype: Any) -> None:
    """Rows that NumPy breaks into several lines, with its own spelling of every number."""
    state = state_of(F16)
    values = np.random.default_rng(5).integers(-99, 99, (8, 8)).astype(dtype) / 8
    values[0, :3] = np.nan, np.inf, -np.inf
    wide = np.concatenate([values] * 4, axis=1)
    with np.printoptions(linewidth=40):
        assert len(print_of(wide).splitlines()) > 8 or print_of not in (str, repr)
        assert [len(row) for row in parse_block(print_of(wide))] == [32] * 8
        Paste("C", 0, 0, print_of(values)).apply(state)
    np.testing.assert_array_equal(state.values("C")[:8], values)


@each(
    "text, sentence",
    [
        (str(np.zeros((64, 64))), "row 1, column 4 of the text is '...'"),
        ("1 2\n3 …", "row 2, column 2 of the text is '…'"),
        ("[...]", "row 1, column 1 of the text is '...'"),
        ("[[1, 2],\n ...,\n [3, 4]]", "row 2, column 1 of the text is '...'"),
        ("[[1, 2], [3]]", "row 2 of the text ends at column 1; row 1 has 2 columns"),
        ("[[1, 2], 3]", "row 2 of the text is '3'"),
        ("[[1, , 2]]", "row 1, column 2 of the text"),
        ("[[1, 2]", "ends inside of brackets"),
        ("[[1, 2]]]", "without its '['"),
        ("[1, 2)", "without its '('"),
        ("[[[1], [2]], [[3], [4]]]", "row 1 of the text holds lists"),
        ("[[]]", "nothing in them"),
        ("[" * 99, "in each other"),
        ("array([1, 2], [3])", "several; paste one"),
        ("1,2\n3,x", "A[3][4]: found 'x'; s4 takes a number"),
        ("1,2\n3,x", "(row 2, column 2 of the text)"),
        ("[[1. 2.]\n [3. 9.]]", "found 9; s4 holds -8..7 (row 2, column 2 of the text)"),
        ("1,5;2,5", "with a point and no comma"),
        ("1 2; 3 4", "A[2][3]: found '1 2'"),
        ("[1, 2] [3]", "ends at column 1"),
    ],
)
def test_a_refused_block_says_where_in_one_sentence_and_changes_nothing(text: str, sentence: str) -> None:
    state = state_of(DENSE)
    message = str(refused(state, lambda: Paste("A", 2, 3, text).apply(state)))
    assert sentence in message and "\n" not in message and len(message) < 300


def test_typing_into_one_cell_is_no_paste() -> None:
    """Commas and brackets mean nothing there."""
    state = state_of(DENSE)
    for text in ("1,2", "[1]", "1 2", "1;2"):
        error = refused(state, lambda text=text: SetCell("A", 0, 0, text).apply(state), RefusedEdit)  # type: ignore[misc]
        assert error.serialised["text"] == text


@QUICK
@given(st.text("[](),;=\"'\t\n .…1-xe", max_size=40))
def test_any_text_is_cells_or_one_sentence(text: str) -> None:
    state = state_of(DENSE)
    before, sentence = state.operation, ""
    try:
        Paste("A", 0, 0, text).apply(state)
    except PtxlabError as error:
        sentence = str(error)
    assert "\n" not in sentence and len(sentence) < 300
    assert not sentence or state.operation is before


@QUICK
@given(st.data())
def test_what_was_copied_pastes_back(data: st.DataObject) -> None:
    """A block pasted elsewhere as text of its values gives the same codes there and changes nothing else."""
    mnemonic, name = data.draw(
        st.sampled_from(
            [(DENSE, "A"), (DENSE, "C"), (F16, "A"), (F16, "C"), (NVF4, "SFA"), (NVF4, "B"), (MXF4, "SFB")]
        )
    )
    state = ExplorerState(ptxlab.instruction(mnemonic))
    FillMatrix(name, "random").apply(state)
    rows, columns = state.operation.operand(name).shape
    high, wide = data.draw(st.integers(1, min(4, rows))), data.draw(st.integers(1, min(4, columns)))
    (row, column), (to_row, to_column) = (
        (data.draw(st.integers(0, rows - high)), data.draw(st.integers(0, columns - wide))) for _ in range(2)
    )
    before = state.codes(name).copy()
    block = state.values(name)[row : row + high, column : column + wide]
    line = data.draw(st.sampled_from(["\n", "\r\n"]))
    text = line.join("\t".join(str(value) for value in cells) for cells in block) + data.draw(
        st.sampled_from(["", line])
    )
    Paste(name, to_row, to_column, text).apply(state)
    before[to_row : to_row + high, to_column : to_column + wide] = before[
        row : row + high, column : column + wide
    ].copy()
    np.testing.assert_array_equal(state.codes(name), before)


def test_over_a_range() -> None:
    """One value fills it, a block that fits several times is repeated, another is pasted once."""
    state = state_of(DENSE)
    Paste("A", 1, 1, "7", 3, 4).apply(state)
    assert (state.values("A")[1:4, 1:5] == 7).all() and state.values("A").sum() == 7 * 12
    Paste("A", 3, 4, "1\t2\n3\t4\n", 0, 1).apply(state)  # the corners in any order
    np.testing.assert_array_equal(state.values("A")[:4, 1:5], np.tile([[1, 2], [3, 4]], (2, 2)))
    FillMatrix("A", "zeros").apply(state)
    Paste("A", 0, 0, "1\t2", 2, 2).apply(state)
    np.testing.assert_array_equal(
        state.values("A")[:4, :4], [[1, 2, 0, 0], [1, 2, 0, 0], [1, 2, 0, 0], [0, 0, 0, 0]]
    )
    Paste("A", 0, 0, "5\t\t6", 0, 2).apply(state)
    assert state.values("A")[0, :4].tolist() == [5, 2, 6, 0]
    assert "does not fit at A[15][63]" in str(refused(state, lambda: Paste("A", 15, 63, "1\t2").apply(state)))
    assert "A[16][0] does not exist" in str(refused(state, lambda: Paste("A", 0, 0, "1", 16, 0).apply(state)))


def test_a_refused_text_says_where_and_is_not_lost() -> None:
    state = state_of(DENSE)
    error = refused(state, lambda: Paste("A", 2, 3, "1\t2\n3\t9").apply(state), RefusedEdit)
    assert str(error) == "A[3][4]: found 9; s4 holds -8..7"
    assert (error.serialised["cells"], error.serialised["text"], error.serialised["prune"]) == (
        [[3, 4, 4]],
        "",
        "",
    )
    error = refused(state, lambda: SetCell("B", 5, 6, "abc").apply(state), RefusedEdit)
    assert (
        error.serialised["name"],
        error.serialised["cells"],
        error.serialised["text"],
        error.serialised["typed_at"],
    ) == (
        "B",
        [[5, 6, 6]],
        "abc",
        [5, 6],
    )
    assert "cannot be changed" in str(refused(state, lambda: ClearCells("D", 0, 0, 1, 1).apply(state)))


@pytest.mark.parametrize(
    ("mnemonic", "name", "start"),
    [(DENSE, "A", 0), (F16, "C", 0), (NVF4, "SFA", 1), (MXF4, "SFB", 1), (HALF, "E", 4), (HALF, "A", 0)],
)
def test_cleared_cells_get_back_what_they_had_at_the_start(mnemonic: str, name: str, start: int) -> None:
    """Cells go back to what they had at the start, also where there is no zero; those around stay."""
    state = ExplorerState(ptxlab.instruction(mnemonic))
    FillMatrix(name, "random").apply(state)
    before = state.values(name).copy()
    ClearCells(name, 1, 1, 0, 0).apply(state)
    before[:2, :2] = start
    np.testing.assert_array_equal(state.values(name), before)


# -- filled on -------------------------------------------------------------------------------------------

S8 = DTYPES["s8"]


@QUICK
@given(st.integers(-20, 20), st.integers(-5, 5), st.integers(2, 4), st.integers(1, 8), st.booleans())
def test_series_go_on(first: int, step: int, length: int, count: int, forward: bool) -> None:
    """Down, right, up and left: what a fill leaves behind is one arithmetic progression, or one pattern."""
    line = [first + step * place for place in range(length)]
    state, at = (
        ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")),
        0 if forward else 16 - length,
    )
    to = length + count - 1 if forward else 16 - length - count
    whole = np.array(
        [line[0] + step * place for place in (range(length + count) if forward else range(-count, length))]
    )
    turned = np.array(
        [line[place % length] for place in (range(length + count) if forward else range(-count, length))]
    )
    for upright, series in product((True, False), (True, False)):
        FillMatrix("A", "zeros").apply(state)
        block = (
            "\n".join(str(number) for number in line)
            if upright
            else "\t".join(str(number) for number in line)
        )
        low, high = (at, at + length - 1)
        if upright:
            Paste("A", at, 5, block).apply(state)
            ExtendCells("A", low, 5, high, 5, to, 5, series).apply(state)
            got = state.values("A")[:, 5]
        else:
            Paste("A", 5, at, block).apply(state)
            ExtendCells("A", 5, low, 5, high, 5, to, series).apply(state)
            got = state.values("A")[5, :16]
        span = slice(0, length + count) if forward else slice(16 - length - count, 16)
        np.testing.assert_array_equal(got[span], whole if series else turned)
        assert np.count_nonzero(state.values("A")) == np.count_nonzero(whole if series else turned)


@each(
    "kind, line, series, found",
    [
        ("s8", "5", False, "5 5 5"), ("s8", "5", True, "6 7 8"), ("s8", "1 2 4", True, "1 2 4"),
        ("s8", "3 3", True, "3 3 3"),
        ("f16", "0.1 0.2", True, "0.3 0.4 0.5"), ("f16", "0.1 0.2 0.3", True, "0.4 0.5 0.6"),
        ("f16", "1 nan", True, "1 nan 1"),
        ("f16", "-inf", True, "-inf -inf -inf"), ("e4m3", "1 1.5", True, "2 2.5 3"),
        ("tf32", "0.5 0.25", True, "0 -0.25 -0.5"),
        ("f64", "0.1 0.2", True, "0.3 0.4 0.5"), ("bf16", "1 2", True, "3 4 5"),
        ("e2m1", "0.5 1", True, "1.5 2"), ("u4", "9 6", True, "3 0"),
        ("f16", "8200 8208", True, "8216 8224"), ("f32", "1e20 2e20", True, "3e20 4e20"),
    ],
)  # fmt: skip
def test_filled_cells_repeat_or_continue_a_series(kind: str, line: str, series: bool, found: str) -> None:
    codes = [parse(DTYPES[kind], word) for word in line.split()]
    expected = [parse(DTYPES[kind], word) for word in found.split()]
    assert list(continue_cells(DTYPES[kind], codes, len(expected), series)) == expected


@pytest.mark.parametrize(
    ("mnemonic", "name", "block", "sentence"),
    [
        (DENSE, "A", "5\n6", "A[3][0]: the series reaches 8; s4 holds -8..7"),
        (NVF4, "A", "3\n4", "A[2][0]: the series reaches 5, which e2m1 does not have; the nearest is 4"),
        (
            F16,
            "A",
            "2047\n2048",
            "A[2][0]: the series reaches 2049, which f16 does not have; the nearest is 2048",
        ),
        (
            F16,
            "A",
            "32000\n64000",
            "A[2][0]: the series reaches 96000; f16 holds -65504..65504, inf and nan",
        ),
        (
            MXF4,
            "SFA",
            "1\n2",
            "SFA[2][0]: the series reaches 3, which ue8m0 does not have; the nearest is 4",
        ),
        (NVF4, "SFA", "1\n0", "SFA[2][0]: the series reaches -1; ue4m3 holds 0..448 and nan, no sign"),
        (
            "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
            "A",
            "1e308\n1.5e308",
            "A[2][0]: the series reaches 2e+308; f64 holds -1.79769e+308..1.79769e+308, inf and nan",
        ),
    ],
)
def test_a_series_that_the_type_cannot_hold(mnemonic: str, name: str, block: str, sentence: str) -> None:
    state = state_of(mnemonic)
    Paste(name, 0, 0, block).apply(state)
    error = refused(state, lambda: ExtendCells(name, 0, 0, 1, 0, 15, 0, True).apply(state), RefusedEdit)
    assert str(error) == sentence
    ExtendCells(name, 0, 0, 1, 0, 15, 0, False).apply(state)
    np.testing.assert_array_equal(state.codes(name)[2:, 0], np.tile(state.codes(name)[:2, 0], 7))


def test_a_series_upwards_says_the_right_cell() -> None:
    state = state_of(DENSE)
    Paste("A", 10, 3, "-6\t1\n-5\t1").apply(state)
    assert str(refused(state, lambda: ExtendCells("A", 11, 4, 10, 3, 2, 3, True).apply(state))).startswith(
        "A[7][3]: the series reaches -9"
    )
    Paste("A", 4, 60, "6\t5").apply(state)
    assert str(refused(state, lambda: ExtendCells("A", 4, 60, 4, 61, 4, 57, True).apply(state))).startswith(
        "A[4][58]: the series reaches 8"
    )


def test_a_fill_goes_one_way() -> None:
    state = state_of(DENSE)
    for to in ((0, 0), (5, 5)):
        assert "fill up, down, left or right" in str(
            refused(state, lambda to=to: ExtendCells("A", 0, 0, 1, 1, *to, True).apply(state))
        )
    assert "does not exist" in str(
        refused(state, lambda: ExtendCells("A", 0, 0, 1, 1, 16, 0, True).apply(state))
    )


def test_copies_keep_every_bit() -> None:
    """NaN with a payload, negative zero and the bits that tf32 ignores are copied as they are."""
    state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"))
    Paste("A", 0, 0, "0x7fc00123\t0x80000001\t0x3f800001").apply(state)
    ExtendCells("A", 0, 0, 0, 2, 15, 0, False).apply(state)
    assert (state.codes("A")[:, :3] == [0x7FC00123, 0x80000001, 0x3F800001]).all()


# -- sparse A --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mnemonic", [PAIRS, HALF, TF32])
def test_broken_chunk(mnemonic: str) -> None:
    """The refusal names the chunk and offers to prune it: typed values stay, then the largest; one undo."""
    state = state_of(mnemonic)
    structure = state.ins.structure
    assert structure is not None
    chunk, group, keep = structure.chunk, structure.group, structure.keep
    first = 2 * chunk
    full = [str(place + 2) for place in range(keep)]
    # One in each of the first groups: as many as are kept.
    Paste("A", 3, first, ("\t" * group).join(full)).apply(state)
    before = state.values("A").copy()
    column = first + keep * group
    error = refused(state, lambda: SetCell("A", 3, column, "1").apply(state), BrokenStructure)
    assert error.cells == [(3, first, first + chunk - 1)]
    assert f"row 3, columns {first}..{first + chunk - 1}" in str(error) and "\n" not in str(error)
    assert (error.serialised["prune"], error.serialised["text"], error.serialised["typed_at"]) == (
        "Prune this chunk",
        "1",
        [3, column],
    )
    prune(state, error)
    before[3, column] = 1
    before[3, first] = 0  # the smallest of the others
    np.testing.assert_array_equal(state.values("A"), before)
    state.undo()
    before[3, column], before[3, first] = 0, 2
    np.testing.assert_array_equal(state.values("A"), before)


@QUICK
@given(st.sampled_from([PAIRS, HALF, TF32]), st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
def test_pruning_always_mends(mnemonic: str, seed: int, full: float) -> None:
    """Always: the structure holds after, whole chunks stay, nothing new appears, typed cells go last."""
    random, ins = np.random.default_rng(seed), ptxlab.instruction(mnemonic)
    structure, kind = ins.structure, ins.a.dtype
    assert structure is not None
    values = random.integers(-7, 8, ins.a_dense.shape) * (random.random(ins.a_dense.shape) < full)
    typed = random.random(values.shape) < 0.2
    after = kind.decode(prune_broken_chunks(ins, kind.encode(values), typed)).astype(int)
    broken = structure.violations(values)
    assert not structure.violations(after).any()
    assert (after[after != 0] == values[after != 0]).all()
    wide = np.repeat(broken, structure.chunk, axis=1)
    assert (after == values)[~wide].all()
    np.testing.assert_array_equal(
        kind.decode(prune_broken_chunks(ins, kind.encode(values))).astype(int),
        np.where(wide, ins.prune(values), values),
    )
    for row, chunk in np.argwhere(broken):
        at = slice(chunk * structure.chunk, (chunk + 1) * structure.chunk)
        groups = [
            set(np.arange(structure.group) + structure.group * group) for group in range(structure.groups)
        ]
        wanted = [
            group for group in groups if any(typed[row, at][cell] and values[row, at][cell] for cell in group)
        ]
        kept = [group for group in groups if any(after[row, at][cell] for cell in group)]
        assert sum(group in kept for group in wanted) == min(len(wanted), structure.keep)


@QUICK
@given(st.data())
@pytest.mark.slow
def test_any_edit_of_sparse_a_is_taken_or_can_be_pruned(data: st.DataObject) -> None:
    state = state_of(data.draw(st.sampled_from([PAIRS, HALF, TF32])))
    structure = state.ins.structure
    assert structure is not None
    for _ in range(4):
        high, wide = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
        row, column = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 9))
        numbers = data.draw(st.lists(st.integers(0, 6), min_size=high * wide, max_size=high * wide))
        text = "\n".join(
            "\t".join(str(number) for number in numbers[place : place + wide])
            for place in range(0, high * wide, wide)
        )
        try:
            Paste("A", row, column, text).apply(state)
        except BrokenStructure as error:
            prune(state, error)
        assert not structure.violations(state.values("A")).any()
        np.testing.assert_array_equal(
            state.values("D"), state.ins(state.values("A"), state.values("B"), state.values("C"))
        )


def test_many_chunks() -> None:
    state = state_of(HALF)
    error = refused(state, lambda: Paste("A", 0, 0, "\t".join("1" * 16), 2, 15).apply(state), BrokenStructure)
    assert len(error.cells) == 12 and error.serialised["prune"] == "Prune all 12 chunks"
    assert error.serialised["preview"] == "1 1 1 1 → 1 1 0 0"
    assert str(error).endswith("(and 11 more chunks)")
    prune(state, error)
    np.testing.assert_array_equal(state.values("A")[:3], np.tile([1, 1, 0, 0], (3, 4)))


def test_a_fill_that_breaks_the_structure_is_offered() -> None:
    state = state_of(HALF)
    Paste("A", 0, 0, "3\t4").apply(state)
    error = refused(state, lambda: ExtendCells("A", 0, 0, 0, 1, 0, 3, True).apply(state), BrokenStructure)
    assert error.cells == [(0, 0, 3)]
    prune(state, error)
    assert state.values("A")[0, :4].tolist() == [0, 0, 5, 6]


def test_from_python_it_is_an_error_as_ever() -> None:
    state = state_of(HALF)
    error = refused(state, lambda: SetValues("A", np.ones((16, 16))).apply(state))
    assert isinstance(error, PtxlabError) and str(error).startswith(
        "A: row 0, columns 0..3: 4 of the 4 values are non-zero"
    )


def test_a_nibble_is_typed_as_it_is_shown() -> None:
    state = state_of(HALF)
    SetCell("E", 5, 2, "1001").apply(state)
    assert state.codes("E")[5, 2] == 0b1001
    error = refused(state, lambda: SetCell("E", 5, 2, "1201").apply(state), RefusedEdit)
    assert str(error).startswith("metadata[5][2]: found 1201")


@pytest.mark.parametrize("how", ["cell", "register", "bit"])
def test_illegal_nibble(how: str) -> None:
    """RefusedEdit where it was typed: in the matrix, in a register, or as one bit of it."""
    state = state_of(HALF)
    layout = state.ins.operands["E"].layout
    assert layout is not None
    lane, element = layout.locate(5, 2)
    place = state.ins.operands["E"].place(lane, element)
    content = int(state.registers("E")[lane, place.register])
    edits = {
        "cell": lambda: SetCell("E", 5, 2, "0b0000").apply(state),
        "register": lambda: SetRegister("E", lane, place.register, hex(content & ~(0xF << place.low))).apply(
            state
        ),
        "bit": lambda: FlipBit("E", lane, place.register, place.low + 2).apply(state),
    }
    error = refused(state, edits[how], RefusedEdit)
    assert (error.name, error.cells, error.serialised["prune"]) == ("E", [(5, 2, 2)], "")
    assert "metadata of row 5, chunk 2: nibble 0b0000 is undefined for 2:4 sparsity; legal are 0b0100" in str(
        error
    )


# -- the explorer and what the page may ask --------------------------------------------------------------


PASTE = {"type": "paste", "name": "A", "row": 0, "column": 0, "text": "1"}
EXTEND = {
    "type": "extend_cells", "name": "A", "row": 0, "column": 0, "row2": 1, "column2": 0,
    "to_row": 5, "to_column": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("message", "taken"),
    [
        (PASTE, True),
        ({**PASTE, "row2": 2, "column2": 3}, True),
        ({**PASTE, "row2": "2", "column2": 3}, False),
        ({"type": "paste", "name": "A", "row": None, "column": 0, "text": "1"}, False),
        ({**EXTEND, "series": True}, True),
        ({**EXTEND, "series": 1}, False),
        ({"type": "clear_cells", "name": "A", "row": 0, "column": 0, "row2": 1, "column2": True}, False),
        ({"type": "prune_chunks"}, True), ({"type": "dismiss_refusal"}, True), ({"type": "_write"}, False),
        ({"type": "restore"}, False),
    ],
)  # fmt: skip
def test_messages_are_decoded_or_refused(message: Any, taken: bool) -> None:
    if taken:
        assert isinstance(decode_message(message), Edit)
    else:
        refuses("message", decode_message, message)


@pytest.fixture
def explorer() -> Any:
    return ptxlab.explore(HALF, A=np.zeros((16, 16)), B=np.ones((16, 8)), C=np.zeros((16, 8)))


def send(ex: Any, message_type: str, **fields: Any) -> None:
    ex.page._handle_custom_msg({"type": message_type, **fields}, None)


def break_structure(ex: Any) -> None:
    """An edit from the page that breaks the structure of row 3."""
    send(ex, "paste", name="A", row=3, column=8, text="2\t3")
    send(ex, "paste", name="A", row=3, column=10, text="1")
    assert ex.view.refusal["cells"] == [[3, 8, 11]] and ex.view.problem == ex.view.refusal["sentence"]
    assert ex.A[3, 8:12].tolist() == [2, 3, 0, 0]


def test_pruning_is_taken(explorer: Any) -> None:
    break_structure(explorer)
    send(explorer, "prune_chunks")
    assert explorer.A[3, 8:12].tolist() == [0, 3, 1, 0] and explorer.D[3, 0] == 4
    assert explorer.view.refusal == {} and explorer.view.problem == ""
    explorer.undo()
    assert explorer.A[3, 8:12].tolist() == [2, 3, 0, 0]
    send(explorer, "prune_chunks")  # nothing is offered any more
    assert explorer.A[3, 8:12].tolist() == [2, 3, 0, 0]


@pytest.mark.parametrize("how", ["dismiss_refusal", "edit", "undo", "instruction", "python"])
def test_refusal_dismissed(explorer: Any, how: str) -> None:
    break_structure(explorer)
    if how == "edit":
        send(explorer, "paste", name="B", row=0, column=0, text="5")
    elif how == "instruction":
        explorer.instruction = F16
    elif how == "python":
        explorer.C = np.ones((16, 8))
    else:
        send(explorer, how)
    assert explorer.view.refusal == {} and explorer.view.problem == ""
    before = explorer.A.copy()
    send(explorer, "prune_chunks")
    np.testing.assert_array_equal(explorer.A, before)


def test_refusal_replaced_and_not_writable_by_a_page(explorer: Any) -> None:
    break_structure(explorer)
    send(explorer, "paste", name="B", row=2, column=1, text="abc")
    assert explorer.view.refusal["name"] == "B" and explorer.view.refusal["text"] == "abc"
    send(explorer, "set_register", name="A", lane=0, register=0, text="xyz")
    assert explorer.view.refusal == {} and "hexadecimal" in explorer.view.problem
    explorer.view.set_state({"refusal": {"sentence": "<b>"}})
    assert explorer.view.refusal == {}


def test_python_raises_and_offers_nothing(explorer: Any) -> None:
    with pytest.raises(PtxlabError, match="2:4 sparsity keeps at most 2"):
        explorer.A = np.ones((16, 16))
    assert explorer.view.refusal == {} and explorer.view.problem == ""


def test_undo_with_nothing_to_undo_still_drops(explorer: Any) -> None:
    send(explorer, "paste", name="B", row=2, column=1, text="abc")
    assert explorer.view.refusal
    explorer.undo()
    assert explorer.view.refusal == {}


def test_every_sparse_form_can_be_mended() -> None:
    """One of every structure and type of A."""
    seen = {}
    for ins in mma_instructions():
        if ins.sparse and ins.n <= 24:
            seen.setdefault((ins.structure, ins.a.dtype, ins.family), ins)
    assert len(seen) > 12
    for ins in seen.values():
        state = ExplorerState(ins)
        wide = state.operation.operand("A").shape[1]
        with pytest.raises(BrokenStructure) as error:
            Paste("A", 1, 0, "\t".join("1" * wide)).apply(state)
        prune(state, error.value)
        assert np.count_nonzero(state.values("A")[1]) == wide // 2
        assert Fraction(len(error.value.cells), wide) == Fraction(1, ins.structure.chunk)  # type: ignore[union-attr]
