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
from ptxlab.explorer.cells import continued
from ptxlab.explorer.parse_cell import cells, holds, parse, reach
from ptxlab.explorer.refusals import Broken, Refused, keeping
from ptxlab.explorer.state import Bench
from ptxlab.instruction import mma_instructions

pytest.importorskip("traitlets")

from ptxlab.explorer.traits import edit_of

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
PAIRS = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"  # 4:8, in pairs
HALF = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"  # 2:4
TF32 = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"  # 1:2
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
QUICK = settings(max_examples=40, deadline=None)


def bench(mnemonic: str, **matrices: Any) -> Bench:
    made = Bench(ptxlab.instruction(mnemonic))
    for name in ("A", "B", "C"):
        made.set_values(name, matrices.get(name, np.zeros(made.operand(name).shape)))
    return made


def refused(made: Bench, edit: Any, kind: type[PtxlabError] = PtxlabError) -> Any:
    """The refusal of an edit, which changed nothing and is no step."""
    before, history = made.state, made.history
    with pytest.raises(kind) as error:
        edit()
    assert made.state.held is before.held and made.history is history
    assert "\n" not in str(error.value)
    return error.value


# -- what is typed ------------------------------------------------------------------------------------------------------

#: For every type: texts it takes with the value they stand for, and texts it refuses with a part of the sentence.
TAKEN = {
    "b1": {"1": 1, "0x1": 1, "-0": 0}, "b4": {"0b1110": 14, "4": 4}, "u4": {"15": 15, "0xf": 15}, "s4": {"-8": -8, "0xf": -1, "7.0": 7},
    "u8": {"255": 255}, "s8": {"-128": -128, "1e2": 100}, "s32": {"2147483647": 2**31 - 1, "0xffffffff": -1},
    "e2m1": {"6": 6, "-0": 0, "5.9": 6, "0xf": -6}, "e2m3": {"7.5": 7.5}, "e3m2": {"-28": -28}, "e4m3": {"448": 448, "0.1": 0.1015625},
    "e5m2": {"57344": 57344, "-inf": -np.inf}, "ue8m0": {"0.5": 0.5, "3": 4}, "ue4m3": {"448": 448, "-0": 0},
    "f16": {"65504": 65504, "inf": np.inf, "0.1": np.float16(0.1)}, "bf16": {"1e9": 998244352}, "tf32": {"1.5": 1.5}, "f32": {"1e38": np.float32(1e38)},
    "f64": {"0.1": 0.1, "-Infinity": -np.inf},
}  # fmt: skip
REFUSED = {
    "b1": {"2": "b1 holds 0..1", "0x2": "the 1 bit of b1; the largest is 0x1"}, "b4": {"16": "0..15"}, "u4": {"-1": "u4 holds 0..15"},
    "s4": {"9": "found 9; s4 holds -8..7", "0x1f": "the 4 bits of s4; the largest is 0xf", "1.5": "whole numbers -8..7"},
    "u8": {"256": "0..255"}, "s8": {"128": "-128..127"}, "s32": {"1e10": "holds -2147483648..2147483647"},
    "e2m1": {"7": "found 7; e2m1 holds -6..6", "inf": "e2m1 holds -6..6", "nan": "no NaN"}, "e2m3": {"8": "-7.5..7.5"}, "e3m2": {"1e9": "-28..28"},
    "e4m3": {"449": "-448..448 and nan", "inf": "found inf; e4m3 holds -448..448 and nan"}, "e5m2": {"6e4": "-57344..57344, inf and nan"},
    "ue8m0": {"0": "powers of two", "-1": "powers of two", "inf": "powers of two", "1e-45": "powers of two"},
    "ue4m3": {"-1": "0..448 and nan, no sign", "500": "0..448"}, "f16": {"1e9": "found 1e9; f16 holds -65504..65504, inf and nan"},
    "bf16": {"1e39": "-3.38953e+38..3.38953e+38"}, "tf32": {"3.402e38": "-3.40116e+38..3.40116e+38"}, "f32": {"1e39": "3.40282e+38"},
    "f64": {"1e400": "found 1e400; f64 holds"},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in TAKEN.items() for text in texts])
def test_taken(kind: str, text: str) -> None:
    value = DTYPES[kind].decode(parse(DTYPES[kind], text))
    assert value == TAKEN[kind][text]
    if text == "-0" and DTYPES[kind].signed and DTYPES[kind].is_float:
        assert np.signbit(value)


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts]
)
def test_refused(kind: str, text: str) -> None:
    with pytest.raises(PtxlabError) as error:
        parse(DTYPES[kind], text)
    assert REFUSED[kind][text] in str(error.value)
    assert (
        text in str(error.value)
        or str(float(text)) in str(error.value)
        or str(int(float(text))) in str(error.value)
    )


@pytest.mark.parametrize("text", ["abc", "0b", "0x", "1,5", "1 2", "=A1", "", "1_0", '"', "--1"])
@pytest.mark.parametrize("kind", sorted(DTYPES))
def test_no_number(kind: str, text: str) -> None:
    """Every type says what was found and what it takes."""
    with pytest.raises(PtxlabError) as error:
        parse(DTYPES[kind], text)
    said = str(error.value)
    assert (
        said.startswith(f"found {text!r}; {kind} takes a number such as 1")
        and "or a raw code such as 0x" in said
    )
    assert ("with a point and no comma" in said) is ("," in text)


def test_every_type_is_tried() -> None:
    assert set(TAKEN) == set(REFUSED) == set(DTYPES)


@pytest.mark.parametrize("kind", DTYPES.values(), ids=str)
def test_reach(kind: Any) -> None:
    """Its ends are values of the type, and there is none beyond them."""
    least, most, infinite, nan = reach(kind)
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
    assert ("nan" in holds(kind)) is bool(kind.is_float and kind.bits >= 8)


# -- copied and pasted ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", [["1"]]), ("1\t2\n3\t4", [["1", "2"], ["3", "4"]]), ("1\t2\r\n3\t4\r\n", [["1", "2"], ["3", "4"]]), ("1\r2\r", [["1"], ["2"]]),
        ('"1"\t"a\tb"\n"x\ny"\t"say ""7"""', [["1", "a\tb"], ["x\ny", 'say "7"']]), ("1\t\n\t2", [["1", ""], ["", "2"]]), ("", [[""]]), ("\n1", [[""], ["1"]]),
    ],
)  # fmt: skip
def test_cells_of_a_spreadsheet(text: str, found: list[list[str]]) -> None:
    assert cells(text) == found


@pytest.mark.parametrize("text", ['"1', '1\t"2\n3', '"1"2'])
def test_quotes_that_do_not_end(text: str) -> None:
    assert "ends with one" in str(refused(made := bench(DENSE), lambda: made.paste("A", 0, 0, text)))


@QUICK
@given(st.data())
def test_what_was_copied_pastes_back(data: st.DataObject) -> None:
    """Any block, as text of its values, pasted elsewhere gives the same codes there and changes nothing else."""
    mnemonic, name = data.draw(
        st.sampled_from(
            [(DENSE, "A"), (DENSE, "C"), (F16, "A"), (F16, "C"), (NVF4, "SFA"), (NVF4, "B"), (MXF4, "SFB")]
        )
    )
    made = Bench(ptxlab.instruction(mnemonic))
    made.fill(name, "random")
    rows, columns = made.operand(name).shape
    high, wide = data.draw(st.integers(1, min(4, rows))), data.draw(st.integers(1, min(4, columns)))
    (row, column), (to_row, to_column) = (
        (data.draw(st.integers(0, rows - high)), data.draw(st.integers(0, columns - wide))) for _ in range(2)
    )
    before = made.codes(name).copy()
    block = made.values(name)[row : row + high, column : column + wide]
    line = data.draw(st.sampled_from(["\n", "\r\n"]))
    text = line.join("\t".join(str(value) for value in cells) for cells in block) + data.draw(
        st.sampled_from(["", line])
    )
    made.paste(name, to_row, to_column, text)
    before[to_row : to_row + high, to_column : to_column + wide] = before[
        row : row + high, column : column + wide
    ].copy()
    np.testing.assert_array_equal(made.codes(name), before)


def test_over_a_range() -> None:
    """One value fills it, a block that fits it several times is repeated, one that does not is pasted once."""
    made = bench(DENSE)
    made.paste("A", 1, 1, "7", 3, 4)
    assert (made.values("A")[1:4, 1:5] == 7).all() and made.values("A").sum() == 7 * 12
    made.paste("A", 3, 4, "1\t2\n3\t4\n", 0, 1)  # the corners in any order
    np.testing.assert_array_equal(made.values("A")[:4, 1:5], np.tile([[1, 2], [3, 4]], (2, 2)))
    made.fill("A", "zeros")
    made.paste("A", 0, 0, "1\t2", 2, 2)
    np.testing.assert_array_equal(
        made.values("A")[:4, :4], [[1, 2, 0, 0], [1, 2, 0, 0], [1, 2, 0, 0], [0, 0, 0, 0]]
    )
    made.paste("A", 0, 0, "5\t\t6", 0, 2)
    assert made.values("A")[0, :4].tolist() == [5, 2, 6, 0]
    assert "reaches over the edge" in str(refused(made, lambda: made.paste("A", 15, 63, "1\t2")))
    assert "A[16][0] does not exist" in str(refused(made, lambda: made.paste("A", 0, 0, "1", 16, 0)))


def test_a_refused_text_says_where_and_is_not_lost() -> None:
    made = bench(DENSE)
    error = refused(made, lambda: made.paste("A", 2, 3, "1\t2\n3\t9"), Refused)
    assert str(error) == "A[3][4]: found 9; s4 holds -8..7"
    assert (error.offer["spots"], error.offer["text"], error.offer["prune"]) == ([[3, 4, 4]], "", "")
    error = refused(made, lambda: made.set_cell("B", 5, 6, "abc"), Refused)
    assert (error.offer["name"], error.offer["spots"], error.offer["text"], error.offer["cell"]) == (
        "B",
        [[5, 6, 6]],
        "abc",
        [5, 6],
    )
    assert "it cannot be written" in str(refused(made, lambda: made.clear("D", 0, 0, 1, 1)))


@pytest.mark.parametrize(
    ("mnemonic", "name", "start"),
    [(DENSE, "A", 0), (F16, "C", 0), (NVF4, "SFA", 1), (MXF4, "SFB", 1), (HALF, "E", 4), (HALF, "A", 0)],
)
def test_clear(mnemonic: str, name: str, start: int) -> None:
    """Cells go back to what they had at the start, also where there is no zero; those around stay."""
    made = Bench(ptxlab.instruction(mnemonic))
    made.fill(name, "random")
    before = made.values(name).copy()
    made.clear(name, 1, 1, 0, 0)
    before[:2, :2] = start
    np.testing.assert_array_equal(made.values(name), before)


# -- filled on ------------------------------------------------------------------------------------------------------------

S8 = DTYPES["s8"]


@QUICK
@given(st.integers(-20, 20), st.integers(-5, 5), st.integers(2, 4), st.integers(1, 8), st.booleans())
def test_series_go_on(first: int, step: int, length: int, count: int, forward: bool) -> None:
    """Down, right, up and left: what a fill leaves behind is one arithmetic progression, or one pattern."""
    line = [first + step * place for place in range(length)]
    made, at = (
        Bench(ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")),
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
        made.fill("A", "zeros")
        block = (
            "\n".join(str(number) for number in line)
            if upright
            else "\t".join(str(number) for number in line)
        )
        low, high = (at, at + length - 1)
        if upright:
            made.paste("A", at, 5, block)
            made.extend("A", low, 5, high, 5, to, 5, series)
            got = made.values("A")[:, 5]
        else:
            made.paste("A", 5, at, block)
            made.extend("A", 5, low, 5, high, 5, to, series)
            got = made.values("A")[5, :16]
        span = slice(0, length + count) if forward else slice(16 - length - count, 16)
        np.testing.assert_array_equal(got[span], whole if series else turned)
        assert np.count_nonzero(made.values("A")) == np.count_nonzero(whole if series else turned)


@pytest.mark.parametrize(
    ("kind", "line", "series", "found"),
    [
        ("s8", "5", False, "5 5 5"), ("s8", "5", True, "6 7 8"), ("s8", "1 2 4", True, "1 2 4"), ("s8", "3 3", True, "3 3 3"),
        ("f16", "0.1 0.2", True, "0.3 0.4 0.5"), ("f16", "0.1 0.2 0.3", True, "0.4 0.5 0.6"), ("f16", "1 nan", True, "1 nan 1"),
        ("f16", "-inf", True, "-inf -inf -inf"), ("e4m3", "1 1.5", True, "2 2.5 3"), ("tf32", "0.5 0.25", True, "0 -0.25 -0.5"),
        ("f64", "0.1 0.2", True, "0.3 0.4 0.5"), ("bf16", "1 2", True, "3 4 5"), ("e2m1", "0.5 1", True, "1.5 2"), ("u4", "9 6", True, "3 0"),
        ("f16", "8200 8208", True, "8216 8224"), ("f32", "1e20 2e20", True, "3e20 4e20"),
    ],
)  # fmt: skip
def test_continued(kind: str, line: str, series: bool, found: str) -> None:
    codes = [parse(DTYPES[kind], word) for word in line.split()]
    expected = [parse(DTYPES[kind], word) for word in found.split()]
    assert list(continued(DTYPES[kind], codes, len(expected), series)) == expected


@pytest.mark.parametrize(
    ("mnemonic", "name", "block", "sentence"),
    [
        (DENSE, "A", "5\n6", "A[3][0]: the series comes to 8; s4 holds -8..7"),
        (NVF4, "A", "3\n4", "A[2][0]: the series comes to 5, which e2m1 does not have; the nearest is 4"),
        (
            F16,
            "A",
            "2047\n2048",
            "A[2][0]: the series comes to 2049, which f16 does not have; the nearest is 2048",
        ),
        (
            F16,
            "A",
            "32000\n64000",
            "A[2][0]: the series comes to 96000; f16 holds -65504..65504, inf and nan",
        ),
        (
            MXF4,
            "SFA",
            "1\n2",
            "SFA[2][0]: the series comes to 3, which ue8m0 does not have; the nearest is 4",
        ),
        (NVF4, "SFA", "1\n0", "SFA[2][0]: the series comes to -1; ue4m3 holds 0..448 and nan, no sign"),
    ],
)
def test_a_series_that_the_type_cannot_hold(mnemonic: str, name: str, block: str, sentence: str) -> None:
    made = bench(mnemonic)
    made.paste(name, 0, 0, block)
    error = refused(made, lambda: made.extend(name, 0, 0, 1, 0, 15, 0, True), Refused)
    assert str(error) == sentence
    made.extend(name, 0, 0, 1, 0, 15, 0, False)
    np.testing.assert_array_equal(made.codes(name)[2:, 0], np.tile(made.codes(name)[:2, 0], 7))


def test_a_series_upwards_says_the_right_cell() -> None:
    made = bench(DENSE)
    made.paste("A", 10, 3, "-6\t1\n-5\t1")
    assert str(refused(made, lambda: made.extend("A", 11, 4, 10, 3, 2, 3, True))).startswith(
        "A[7][3]: the series comes to -9"
    )
    made.paste("A", 4, 60, "6\t5")
    assert str(refused(made, lambda: made.extend("A", 4, 60, 4, 61, 4, 57, True))).startswith(
        "A[4][58]: the series comes to 8"
    )


def test_a_fill_goes_one_way() -> None:
    made = bench(DENSE)
    for to in ((0, 0), (5, 5)):
        assert "a fill goes up, down, left or right" in str(
            refused(made, lambda to=to: made.extend("A", 0, 0, 1, 1, *to, True))
        )
    assert "does not exist" in str(refused(made, lambda: made.extend("A", 0, 0, 1, 1, 16, 0, True)))


def test_copies_keep_every_bit() -> None:
    """NaN with a payload, negative zero and the bits that tf32 ignores are copied as they are."""
    made = Bench(ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"))
    made.paste("A", 0, 0, "0x7fc00123\t0x80000001\t0x3f800001")
    made.extend("A", 0, 0, 0, 2, 15, 0, False)
    assert (made.codes("A")[:, :3] == [0x7FC00123, 0x80000001, 0x3F800001]).all()


# -- sparse A -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mnemonic", [PAIRS, HALF, TF32])
def test_broken_chunk(mnemonic: str) -> None:
    """The refusal names the chunk and offers to prune it: what was typed stays, then the largest; undo takes it back at once."""
    made = bench(mnemonic)
    structure = made.ins.structure
    assert structure is not None
    chunk, group, keep = structure.chunk, structure.group, structure.keep
    first = 2 * chunk
    full = [str(place + 2) for place in range(keep)]
    made.paste(
        "A", 3, first, ("\t" * group).join(full)
    )  # one in each of the first groups: as many as are kept
    before = made.values("A").copy()
    column = first + keep * group
    error = refused(made, lambda: made.set_cell("A", 3, column, "1"), Broken)
    assert error.spots == [(3, first, first + chunk - 1)]
    assert f"row 3, columns {first}..{first + chunk - 1}" in str(error) and "\n" not in str(error)
    assert (error.offer["prune"], error.offer["text"], error.offer["cell"]) == (
        "Prune this chunk",
        "1",
        [3, column],
    )
    made.prune(error)
    before[3, column] = 1
    before[3, first] = 0  # the smallest of the others
    np.testing.assert_array_equal(made.values("A"), before)
    made.undo()
    before[3, column], before[3, first] = 0, 2
    np.testing.assert_array_equal(made.values("A"), before)


@QUICK
@given(st.sampled_from([PAIRS, HALF, TF32]), st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
def test_pruning_always_mends(mnemonic: str, seed: int, full: float) -> None:
    """Whatever is proposed: the structure holds after, whole chunks stay, nothing new appears, typed cells go last."""
    random, ins = np.random.default_rng(seed), ptxlab.instruction(mnemonic)
    structure, kind = ins.structure, ins.a.dtype
    assert structure is not None
    values = random.integers(-7, 8, ins.a_dense.shape) * (random.random(ins.a_dense.shape) < full)
    typed = random.random(values.shape) < 0.2
    after = kind.decode(keeping(ins, kind.encode(values), typed)).astype(int)
    broken = structure.violations(values)
    assert not structure.violations(after).any()
    assert (after[after != 0] == values[after != 0]).all()
    wide = np.repeat(broken, structure.chunk, axis=1)
    assert (after == values)[~wide].all()
    np.testing.assert_array_equal(
        kind.decode(keeping(ins, kind.encode(values))).astype(int), np.where(wide, ins.prune(values), values)
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
def test_any_edit_of_sparse_a_is_taken_or_can_be_pruned(data: st.DataObject) -> None:
    made = bench(data.draw(st.sampled_from([PAIRS, HALF, TF32])))
    structure = made.ins.structure
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
            made.paste("A", row, column, text)
        except Broken as error:
            made.prune(error)
        assert not structure.violations(made.values("A")).any()
        np.testing.assert_array_equal(
            made.values("D"), made.ins(made.values("A"), made.values("B"), made.values("C"))
        )


def test_many_chunks() -> None:
    made = bench(HALF)
    error = refused(made, lambda: made.paste("A", 0, 0, "\t".join("1" * 16), 2, 15), Broken)
    assert len(error.spots) == 12 and error.offer["prune"] == "Prune all 12 chunks"
    assert error.offer["then"] == "1 1 1 1 → 1 1 0 0"
    assert str(error).endswith("(and 11 more chunks)")
    made.prune(error)
    np.testing.assert_array_equal(made.values("A")[:3], np.tile([1, 1, 0, 0], (3, 4)))


def test_a_fill_that_breaks_the_structure_is_offered() -> None:
    made = bench(HALF)
    made.paste("A", 0, 0, "3\t4")
    error = refused(made, lambda: made.extend("A", 0, 0, 0, 1, 0, 3, True), Broken)
    assert error.spots == [(0, 0, 3)]
    made.prune(error)
    assert made.values("A")[0, :4].tolist() == [0, 0, 5, 6]


def test_from_python_it_is_an_error_as_ever() -> None:
    made = bench(HALF)
    error = refused(made, lambda: made.set_values("A", np.ones((16, 16))))
    assert isinstance(error, PtxlabError) and str(error).startswith(
        "A: row 0, columns 0..3: 4 of the 4 values are non-zero"
    )


@pytest.mark.parametrize("how", ["cell", "register", "bit"])
def test_illegal_nibble(how: str) -> None:
    """Refused where it was typed: in the matrix, in a register, or as one bit of it."""
    made = bench(HALF)
    layout = made.ins.operands["E"].layout
    assert layout is not None
    lane, element = layout.locate(5, 2)
    place = made.ins.operands["E"].place(lane, element)
    content = int(made.registers("E")[lane, place.register])
    edits = {
        "cell": lambda: made.set_cell("E", 5, 2, "0b0000"),
        "register": lambda: made.set_register("E", lane, place.register, hex(content & ~(0xF << place.low))),
        "bit": lambda: made.flip("E", lane, place.register, place.low + 2),
    }
    error = refused(made, edits[how], Refused)
    assert (error.name, error.spots, error.offer["prune"]) == ("E", [(5, 2, 2)], "")
    assert "metadata of row 5, chunk 2: nibble 0b0000 is undefined for 2:4 sparsity; legal are 0b0100" in str(
        error
    )


# -- the explorer and what the page may ask -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "taken"),
    [
        ({"do": "paste", "name": "A", "row": 0, "column": 0, "text": "1"}, True),
        ({"do": "paste", "name": "A", "row": 0, "column": 0, "text": "1", "row2": 2, "column2": 3}, True),
        ({"do": "paste", "name": "A", "row": 0, "column": 0, "text": "1", "row2": "2", "column2": 3}, False),
        ({"do": "paste", "name": "A", "row": None, "column": 0, "text": "1"}, False),
        ({"do": "extend", "name": "A", "row": 0, "column": 0, "row2": 1, "column2": 0, "to_row": 5, "to_column": 0, "series": True}, True),
        ({"do": "extend", "name": "A", "row": 0, "column": 0, "row2": 1, "column2": 0, "to_row": 5, "to_column": 0, "series": 1}, False),
        ({"do": "clear", "name": "A", "row": 0, "column": 0, "row2": 1, "column2": True}, False),
        ({"do": "prune"}, True), ({"do": "drop"}, True), ({"do": "_write"}, False), ({"do": "restore"}, False),
    ],
)  # fmt: skip
def test_messages(message: Any, taken: bool) -> None:
    assert (edit_of(message) is not None) is taken


@pytest.fixture
def explorer() -> Any:
    return ptxlab.explore(HALF, A=np.zeros((16, 16)), B=np.ones((16, 8)), C=np.zeros((16, 8)))


def say(ex: Any, do: str, **more: Any) -> None:
    ex._on_message(None, {"do": do, **more}, None)


def offer(ex: Any) -> None:
    """An edit from the page that breaks the structure of row 3."""
    say(ex, "paste", name="A", row=3, column=8, text="2\t3")
    say(ex, "paste", name="A", row=3, column=10, text="1")
    assert ex.view.offer["spots"] == [[3, 8, 11]] and ex.view.problem == ex.view.offer["sentence"]
    assert ex.A[3, 8:12].tolist() == [2, 3, 0, 0]


def test_offer_taken(explorer: Any) -> None:
    offer(explorer)
    say(explorer, "prune")
    assert explorer.A[3, 8:12].tolist() == [0, 3, 1, 0] and explorer.D[3, 0] == 4
    assert explorer.view.offer == {} and explorer.view.problem == ""
    explorer.undo()
    assert explorer.A[3, 8:12].tolist() == [2, 3, 0, 0]
    say(explorer, "prune")  # nothing is offered any more
    assert explorer.A[3, 8:12].tolist() == [2, 3, 0, 0]


@pytest.mark.parametrize("how", ["drop", "edit", "undo", "instruction", "python"])
def test_offer_dropped(explorer: Any, how: str) -> None:
    offer(explorer)
    if how == "edit":
        say(explorer, "paste", name="B", row=0, column=0, text="5")
    elif how == "instruction":
        explorer.instruction = F16
    elif how == "python":
        explorer.C = np.ones((16, 8))
    else:
        say(explorer, how)
    assert explorer.view.offer == {} and explorer.view.problem == ""
    before = explorer.A.copy()
    say(explorer, "prune")
    np.testing.assert_array_equal(explorer.A, before)


def test_offer_replaced_and_not_writable_by_a_page(explorer: Any) -> None:
    offer(explorer)
    say(explorer, "paste", name="B", row=2, column=1, text="abc")
    assert explorer.view.offer["name"] == "B" and explorer.view.offer["text"] == "abc"
    say(explorer, "set_register", name="A", lane=0, register=0, text="xyz")
    assert explorer.view.offer == {} and "hexadecimal" in explorer.view.problem
    explorer.view.set_state({"offer": {"sentence": "<b>"}})
    assert explorer.view.offer == {}


def test_python_raises_and_offers_nothing(explorer: Any) -> None:
    with pytest.raises(PtxlabError, match="2:4 sparsity keeps at most 2"):
        explorer.A = np.ones((16, 16))
    assert explorer.view.offer == {} and explorer.view.problem == ""


def test_undo_with_nothing_to_undo_still_drops(explorer: Any) -> None:
    say(explorer, "paste", name="B", row=2, column=1, text="abc")
    assert explorer.view.offer
    explorer.undo()
    assert explorer.view.offer == {}


def test_every_sparse_form_can_be_mended() -> None:
    """One of every structure and type of A."""
    seen = {}
    for ins in mma_instructions():
        if ins.sparse and ins.n <= 24:
            seen.setdefault((ins.structure, ins.a.dtype, ins.family), ins)
    assert len(seen) > 12
    for ins in seen.values():
        made = Bench(ins)
        wide = made.operand("A").shape[1]
        with pytest.raises(Broken) as error:
            made.paste("A", 1, 0, "\t".join("1" * wide))
        made.prune(error.value)
        assert np.count_nonzero(made.values("A")[1]) == wide // 2
        assert Fraction(len(error.value.spots), wide) == Fraction(1, ins.structure.chunk)  # type: ignore[union-attr]
