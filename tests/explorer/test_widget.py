"""The state behind the explorer, and the explorer without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, PtxlabError
from ptxlab.explorer.bundle import script, style
from ptxlab.explorer.cells.parse_cell import format_value
from ptxlab.explorer.documents.fills import PATTERNS, patterns
from ptxlab.explorer.documents.product_document import ChipComparison
from ptxlab.explorer.edits import (
    FillMatrix,
    FlipBit,
    Paste,
    SetCell,
    SetCodes,
    SetOption,
    SetRegister,
    SetRegisters,
    SetValues,
)
from ptxlab.explorer.page.page_values import register_fields
from ptxlab.explorer.page.trace_data import dot_product_steps
from ptxlab.explorer.state import ExplorerState
from ptxlab.instruction import mma_instructions
from ptxlab.isa.operation import Operation
from ptxlab.numerics.emulate import emulate
from ptxlab.views.palette import INTERFACE
from tests.cases import each
from tests.sampling import one_in
from tests.texts import replaced

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
TF32 = "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"

#: Every form, but of wgmma's many N only the smallest, one that is no power of two, and the largest.
FORMS = [ins for ins in mma_instructions() if not ins.family.startswith("wgmma") or ins.n in (8, 24, 256)]
SMALL = [ins for ins in FORMS if ins.n <= 24]


def name(ins: Instruction) -> str:
    return ins.mnemonic


def snapshot(state: ExplorerState) -> dict[str, bytes]:
    registers = {name: state.registers(name).tobytes() for name in state.ins.operands}
    return registers | {"options": json.dumps(state.options).encode()}


def refused(state: ExplorerState, part: str, edit: Any) -> None:
    """The edit raises a sentence with this part in it, and nothing has changed."""
    before = snapshot(state)
    with pytest.raises(PtxlabError) as error:
        edit()
    assert part in str(error.value)
    assert "\n" not in str(error.value)
    assert snapshot(state) == before


# -- the whole catalogue ---------------------------------------------------------------------------------


@pytest.mark.slow
@each("ins", one_in(36, FORMS), ids=name)
def test_opens_with_the_product(ins: Instruction) -> None:
    """D is what the instruction computes for the matrices that the Explorer shows."""
    state = ExplorerState(ins)
    D = ins(state.values("A"), state.values("B"), state.values("C"))
    np.testing.assert_array_equal(state.values("D"), D)
    assert np.count_nonzero(D) > 0


@each("ins", one_in(9, SMALL[::3]), ids=name)
@pytest.mark.slow
def test_every_fill_of_every_matrix(ins: Instruction) -> None:
    state = ExplorerState(ins)
    for matrix in state.operation.names:
        for how in patterns(matrix, state.operation.operand(matrix).dtype):
            FillMatrix(matrix, how).apply(state)
            shown = state.values(matrix)
            if how == "one-hot":
                assert (np.count_nonzero(shown), shown[0, 0]) == (1, 1)
            if how == "zeros":
                assert not shown.any()
            if how == "identity":
                np.testing.assert_array_equal(shown, np.eye(*shown.shape))
            if matrix == "A" and ins.structure is not None:
                assert not ins.structure.violations(shown).any()
    refused(state, "it is the result", lambda: FillMatrix("D", "zeros").apply(state))
    refused(state, "it takes zeros, ones", lambda: FillMatrix("A", "sevens").apply(state))


@each("ins", one_in(9, SMALL, 1), ids=name)
@pytest.mark.slow
def test_registers_and_matrices_are_one_state(ins: Instruction) -> None:
    """Random registers are shown as the operand unpacks them; writing the shown codes changes nothing."""
    state, random = ExplorerState(ins), np.random.default_rng(1)
    for operand in ins.operands.values():
        if operand.name in ("D", "E") or operand.layout is None:
            continue
        registers = random.integers(0, 1 << 32, (operand.lanes, operand.registers), dtype=np.uint32).astype(
            operand.register_type
        )
        SetRegisters(operand.name, registers).apply(state)
        np.testing.assert_array_equal(state.registers(operand.name), registers)
        shown = "stored" if operand.name == "A" and ins.sparse else operand.name
        np.testing.assert_array_equal(state.codes(shown), operand.unpack_codes(registers))
        SetCodes(shown, state.codes(shown)).apply(state)
        np.testing.assert_array_equal(state.registers(operand.name), registers)


@each("ins", one_in(9, SMALL, 2), ids=name)
def test_fields_rebuild_the_register(ins: Instruction) -> None:
    state = ExplorerState(ins)
    for operand in ins.operands.values():
        for lane in (0, ins.lanes - 1):
            rows = register_fields(state.document, operand.name, lane)
            assert len(rows) == operand.registers
            for row in rows:
                bits = {field["low"]: int(field["bits"], 2) for field in row["fields"]}
                assert sum(code << low for low, code in bits.items()) == int(row["hex"], 16)
                assert list(bits) == sorted(bits, reverse=True)


# -- typing ----------------------------------------------------------------------------------------------


def test_a_cell_is_where_the_layout_says() -> None:
    state = ExplorerState(ptxlab.instruction(DENSE))
    FillMatrix("A", "zeros").apply(state)
    SetCell("A", 9, 37, "-3").apply(state)
    registers = state.registers("A")
    lane, register, shift = 4, 3, 20  # row 9 = group 1 + 8, column 37 = 32 + 5: lane 4, a29
    assert registers[lane, register] == 0xD << shift
    assert np.count_nonzero(registers) == 1
    refused(state, "A[0][1]: found 9; s4 holds -8..7", lambda: SetCell("A", 0, 1, "9").apply(state))
    refused(state, "A[16][0] does not exist; A is 16x64", lambda: SetCell("A", 16, 0, "1").apply(state))
    refused(state, "D is the result", lambda: SetCell("D", 0, 0, "1").apply(state))
    refused(state, "has no matrix 'E'; it has A, B, C, D", lambda: SetCell("E", 0, 0, "1").apply(state))


def test_paste_is_all_or_nothing() -> None:
    state = ExplorerState(ptxlab.instruction(DENSE))
    FillMatrix("B", "zeros").apply(state)
    Paste("B", 62, 5, "1\t2\t3\r\n4\t\t0x7\r\n").apply(state)
    np.testing.assert_array_equal(state.values("B")[62:, 5:], [[1, 2, 3], [4, 0, 7]])
    refused(state, "B[63][6]: found 'x'", lambda: Paste("B", 62, 5, "7\t7\n7\tx").apply(state))
    refused(
        state,
        "a block of 1x4 cells does not fit at B[0][5]; B is 64x8",
        lambda: Paste("B", 0, 5, "1\t2\t3\t4").apply(state),
    )


def test_registers_typed() -> None:
    state = ExplorerState(ptxlab.instruction(DENSE))
    SetRegister("A", 4, 3, "0xD00000").apply(state)
    assert state.values("A")[9, 37] == -3
    FlipBit("A", 4, 3, 23).apply(state)
    assert state.values("A")[9, 37] == 5
    SetRegister("A", 4, 3, "dead_beef").apply(state)
    assert state.registers("A")[4, 3] == 0xDEADBEEF
    refused(state, "A, lane 4, register 3: found '0xyz'", lambda: SetRegister("A", 4, 3, "0xyz").apply(state))
    refused(state, "does not fit the 32 bits", lambda: SetRegister("A", 4, 3, "1ffffffff").apply(state))
    refused(state, "lane 32 does not exist", lambda: SetRegister("A", 32, 0, "0").apply(state))
    refused(state, "register 4 does not exist", lambda: SetRegister("A", 0, 4, "0").apply(state))
    refused(state, "bit 32 does not exist", lambda: FlipBit("A", 0, 0, 32).apply(state))
    refused(state, "D is the result", lambda: SetRegister("D", 0, 0, "0").apply(state))
    refused(state, "has no operand 'E'", lambda: SetRegister("E", 0, 0, "0").apply(state))
    refused(
        state,
        "it takes [..., 32 lanes, 4 registers]",
        lambda: SetRegisters("A", np.zeros((32, 5), np.uint32)).apply(state),
    )


def test_ignored_bits_of_tf32_stay() -> None:
    state = ExplorerState(ptxlab.instruction(TF32))
    SetRegister("A", 0, 0, "0x3f801fff").apply(state)
    assert state.values("stored")[0, 0] == 1
    SetCell("stored", 8, 0, "2").apply(state)
    SetCell("B", 0, 0, "3").apply(state)
    assert state.registers("A")[0, 0] == 0x3F801FFF


# -- sparsity --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mnemonic", [SPARSE, TF32, WGMMA])
def test_dense_edits_recompress(mnemonic: str) -> None:
    ins = ptxlab.instruction(mnemonic)
    state = ExplorerState(ins)
    assert ins.structure is not None
    FillMatrix("A", "zeros").apply(state)
    last = ins.structure.chunk - 1
    SetCell("A", 3, last, "1").apply(state)
    stored, nibbles = ins.compress(state.values("A"))
    np.testing.assert_array_equal(state.codes("E")[3], nibbles[3])
    np.testing.assert_array_equal(state.values("stored")[3], stored[3])
    assert state.operation.stored_columns()[3, np.flatnonzero(stored[3])[0]] == last


def test_untouched_chunks_keep_their_nibbles() -> None:
    state = ExplorerState(ptxlab.instruction(SPARSE))
    FillMatrix("A", "zeros").apply(state)
    SetCell("E", 0, 0, "0b1110").apply(state)
    SetCell("A", 5, 9, "1").apply(state)
    assert state.codes("E")[0, 0] == 0b1110
    SetCell("A", 0, 4, "2").apply(state)  # 0b1110 keeps pairs 2 and 3: columns 4..7
    assert state.codes("E")[0, 0] == 0b1110
    SetCell("A", 0, 0, "2").apply(state)
    assert state.codes("E")[0, 0] == 0b1000
    assert state.values("A")[0, [0, 4]].tolist() == [2, 2]


def test_broken_structure_is_told() -> None:
    state = ExplorerState(ptxlab.instruction(SPARSE))
    FillMatrix("A", "zeros").apply(state)
    Paste("A", 3, 8, "1\t0\t1").apply(state)
    told = "A: row 3, columns 8..15: 3 of the 4 pairs are non-zero; 4:8 pair-wise sparsity keeps at most 2"
    refused(state, told, lambda: SetCell("A", 3, 12, "1").apply(state))
    refused(state, "nibble 0b0000 is undefined", lambda: SetCell("E", 0, 0, "0").apply(state))
    refused(state, "nibble 0b0000 is undefined", lambda: SetRegister("E", 0, 0, "0").apply(state))
    refused(state, "(16, 64)", lambda: SetValues("A", np.zeros((16, 32))).apply(state))


def test_negative_zero_is_kept_where_there_is_room() -> None:
    state = ExplorerState(ptxlab.instruction(WGMMA))
    FillMatrix("A", "zeros").apply(state)
    SetCell("A", 0, 3, "0x80").apply(state)
    assert state.codes("A")[0, 3] == 0x80
    Paste("A", 0, 0, "1\t1").apply(state)
    assert state.values("A")[0, :4].tolist() == [1, 1, 0, 0]


def test_selector_picks_the_copy() -> None:
    """Selector 1 of tf32 reads other lanes: metadata typed there counts, and only there."""
    ins = ptxlab.instruction(TF32)
    state = ExplorerState(ins)
    assert ins.e is not None
    assert state.options == {"selector": 0}
    FillMatrix("A", "random").apply(state)
    metadata = state.registers("E")
    speaker = {
        selector: int(ins.e.layout.scatter(selector)[0, 0]) // ins.e.layout.elements for selector in (0, 1)
    }  # type: ignore[union-attr]
    metadata[speaker[1]] ^= 0b1010  # the other nibble of row 0, chunk 0
    SetRegisters("E", metadata).apply(state)
    before = state.codes("E")[0, 0]
    SetOption("selector", 1).apply(state)
    assert state.codes("E")[0, 0] == before ^ 0b1010
    refused(state, "selector=2", lambda: SetOption("selector", 2).apply(state))
    SetCell("E", 5, 0, "0b1110").apply(state)
    assert state.registers("E")[speaker[0]] != state.registers("E")[speaker[1]]


# -- scales, modifiers, the GPU --------------------------------------------------------------------------


@pytest.mark.parametrize("mnemonic", [NVF4, MXF4])
def test_d_grows_with_its_scales(mnemonic: str) -> None:
    state = ExplorerState(ptxlab.instruction(mnemonic))
    before = state.values("D")
    SetValues("SFA", np.full(state.operation.operand("SFA").shape, 2)).apply(state)
    np.testing.assert_array_equal(state.values("D"), 2 * before)
    SetValues("SFB", np.full(state.operation.operand("SFB").shape, 4)).apply(state)
    np.testing.assert_array_equal(state.values("D"), 8 * before)
    refused(state, "SFA[0][0]: found -1", lambda: SetCell("SFA", 0, 0, "-1").apply(state))


def test_modifiers_of_wgmma() -> None:
    state = ExplorerState(ptxlab.instruction(WGMMA))
    SetValues("C", np.ones((64, 8))).apply(state)
    product = state.values("D") - 1
    SetOption("imm_scale_a", -1).apply(state)
    np.testing.assert_array_equal(state.values("D"), 1 - product)
    SetOption("scale_d", False).apply(state)
    np.testing.assert_array_equal(state.values("D"), -product)
    refused(state, "no option 'selector'", lambda: SetOption("selector", 0).apply(state))


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.array])
def test_options_of_any_integer_type(kind: Any) -> None:
    ex = ptxlab.explore(SPARSE)
    ex.apply(SetOption("selector", kind(1)))
    assert type(ex.state.options["selector"]) is int
    assert ptxlab.explore(ex.link).state.options == {"selector": 1}
    wgmma = ptxlab.explore("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    wgmma.apply(SetOption("scale_d", kind(0)))
    assert wgmma.state.options["scale_d"] is False
    for wrong in (1.0, "1", None, [1], 7):
        with pytest.raises(PtxlabError, match="selector|SetOption"):
            ex.apply(SetOption("selector", wrong))
    assert ex.state.options == {"selector": 1}


def test_comparisons_mark_cells_that_differ() -> None:
    codes = np.arange(6).reshape(2, 3)
    assert not ChipComparison(codes).differ.any()
    assert not ChipComparison(codes, codes.copy()).differ.any()
    other = codes.copy()
    other[1, 2] = 9
    assert np.argwhere(ChipComparison(codes, other).differ).tolist() == [[1, 2]]
    np.testing.assert_array_equal(ChipComparison(codes, other).codes, codes)


@pytest.mark.parametrize("chips", [("GPU", None), ("GPU", "sm_90"), ("sm_90", "GPU")])
def test_gpu_beside_the_model(monkeypatch: pytest.MonkeyPatch, chips: Any) -> None:
    """With a stand-in for the GPU that is wrong in one register, exactly that cell differs."""

    def wrong(operands: Operation) -> Any:
        d = emulate(operands)
        d[7, 1] ^= np.uint32(1)
        return d

    monkeypatch.setattr(ptxlab.gpu, "run", wrong)
    state = ExplorerState(ptxlab.instruction(DENSE))
    result = state.comparison(*chips)
    expected = [state.ins.d.layout.coords()[7, 1].tolist()] if None not in chips else []  # type: ignore[union-attr]
    assert np.argwhere(result.differ).tolist() == expected
    assert (result.codes != state.comparison().codes).sum() == (chips[0] == "GPU")


@pytest.mark.gpu
@pytest.mark.parametrize("mnemonic", [DENSE, SPARSE, TF32, WGMMA])
def test_gpu_and_model_agree(mnemonic: str) -> None:
    ins = ptxlab.instruction(mnemonic)
    if not ptxlab.gpu.available(ins):
        pytest.skip(ptxlab.gpu.status(ins))
    assert not ExplorerState(ins).comparison(ptxlab.gpu.model(ins), "GPU").differ.any()


# -- the widget ------------------------------------------------------------------------------------------


def test_import_is_light() -> None:
    """Neither the package nor its state needs Jupyter."""
    heavy = ("ipywidgets", "anywidget", "traitlets", "plotly")
    code = f"import sys, ptxlab.explorer.state; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.delitem(sys.modules, "ptxlab.explorer.widget", raising=False)
    with pytest.raises(
        PtxlabError, match=r'needs ipywidgets, which is not installed: pip install "ptxlab\[lab\]"'
    ):
        ptxlab.explore(DENSE)


@pytest.fixture
def explorer() -> Any:
    pytest.importorskip("anywidget")
    return ptxlab.explore(DENSE, A=np.zeros((16, 64)), B=np.ones((64, 8)))


def test_read_and_write_from_the_next_cell(explorer: Any) -> None:
    explorer.A = np.eye(16, 64)
    assert explorer.registers["A"].dtype == np.uint32
    assert explorer.registers["A"].shape == (32, 4)
    np.testing.assert_array_equal(explorer.D, np.ones((16, 8)))
    registers = explorer.registers["A"].copy()
    registers[4, 3] = 0xD00000
    explorer.registers["A"] = registers
    assert (explorer.A[9, 37], explorer.D[9, 0]) == (-3, -2)
    explorer.C = np.full((16, 8), 10)
    assert explorer.D[0, 0] == 11
    assert sorted(explorer.registers) == ["A", "B", "C", "D"]
    with pytest.raises(PtxlabError, match="s4 holds -8..7"):
        explorer.B = np.full((64, 8), 8)
    with pytest.raises(ValueError, match="read-only"):
        explorer.A[0, 0] = 1
    with pytest.raises(AttributeError):
        explorer.D = explorer.D
    with pytest.raises(PtxlabError, match="has no matrix 'E'"):
        _ = explorer.metadata
    with pytest.raises(PtxlabError, match="lane 32 does not exist; lanes go from 0 to 31"):
        explorer.lane = 32


def on_screen(explorer: Any, matrix: str) -> Any:
    """What the browser would decode from the bytes that travel."""
    info, sent = explorer.view.instruction["matrices"][matrix], getattr(explorer.view, matrix)
    number_type: type[np.generic] = np.int32
    if info["kind"] == "float":
        number_type = np.float64 if info["bits"] == 64 else np.float32
    return np.frombuffer(sent["values"], number_type).reshape(info["rows"], info["columns"])


def test_registers_of_a_batch_are_refused() -> None:
    ex = ptxlab.explore(DENSE)
    before = {name: ex.registers[name] for name in "ABC"}
    with pytest.raises(PtxlabError, match=r"A: found shape \(2, 32, 4\); the registers of one instruction"):
        ex.registers["A"] = np.zeros((2, 32, 4), np.uint32)
    with pytest.raises(PtxlabError, match="one instruction"):
        ex.registers = {"B": before["B"], "A": np.zeros((1, 32, 4), np.uint32)}
    for name, registers in before.items():
        np.testing.assert_array_equal(ex.registers[name], registers)
    ex.A = np.zeros((16, 64))
    assert not ex.D.any()


def test_lanes_and_selections_of_any_integer_type() -> None:
    ex = ptxlab.explore(DENSE)
    ex.lane = np.int16(5)
    ex.selection = "D", np.uint8(9), np.array(3)
    ex.lanes = np.array([1, 2])
    assert ex.lanes == [1, 2] and ex.selection == {"name": "D", "row": 9, "column": 3}
    ex.apply(FlipBit("A", np.int64(4), np.int64(3), np.array(2)))


def test_messages_from_the_screen(explorer: Any) -> None:
    view = explorer.view

    def send(**message: Any) -> None:
        explorer.page._handle_custom_msg(message, [])

    send(type="paste", name="A", row=9, column=37, text="-3")
    assert on_screen(explorer, "A")[9, 37] == -3
    assert on_screen(explorer, "D")[9].tolist() == [-3] * 8
    view.lane = 4
    assert view.lane_registers["4"]["A"][3]["hex"] == "0x00d00000"
    send(type="set_register", name="A", lane=4, register=3, text="0x700000")
    assert on_screen(explorer, "A")[9, 37] == 7
    send(type="flip_bit", name="A", lane=4, register=3, bit=20)
    assert explorer.A[9, 37] == 6
    send(type="paste", name="A", row=0, column=0, text="many")
    assert view.problem.startswith("A[0][0]: found 'many'")
    assert explorer.A[9, 37] == 6
    send(do="set_option", name="selector", value=1)
    send(type="paste", name="A")
    assert explorer.A[9, 37] == 6
    send(type="paste", name="A", row=0, column=0, text="1")
    assert (view.problem, explorer.A[0, 0]) == ("", 1)


def test_fill_and_switch(explorer: Any) -> None:
    explorer.page._handle_custom_msg(
        {"type": "fill_matrix", "name": "B", "pattern": "one-hot", "row": 3, "column": 2}, None
    )
    assert np.argwhere(explorer.B).tolist() == [[3, 2]]
    toolbar = explorer.view.toolbar
    assert toolbar["patterns"]["B"] == list(PATTERNS) and "D" not in toolbar["patterns"]
    assert ("GPU" in [chip for _, chip in toolbar["chips"]]) is ptxlab.gpu.available(explorer.instruction)
    assert toolbar["gpu"] == {
        "available": ptxlab.gpu.available(explorer.instruction),
        "status": ptxlab.gpu.status(explorer.instruction),
        "busy": False,
    }
    explorer.page._handle_custom_msg(
        {
            "type": "choose_instruction",
            "mnemonic": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "a_space": "register",
        },
        None,
    )
    assert explorer.instruction.k == 16
    explorer.page._handle_custom_msg(
        {"type": "choose_instruction", "mnemonic": "mma.sync.m1", "a_space": "register"}, None
    )
    assert explorer.instruction.k == 16 and "mma.sync.m1" in explorer.view.problem


@pytest.mark.slow
@each(
    "ins",
    one_in(6, [*SMALL, *(ins.a_from("shared") for ins in SMALL if ins.family == "wgmma.sp" and ins.n == 8)]),
    ids=repr,
)
def test_every_instruction_opens_and_can_be_switched_to(ins: Instruction, explorer_of_all: Any) -> None:
    explorer_of_all.instruction = ins
    about = explorer_of_all.view.instruction
    assert about["mnemonic"] == ins.mnemonic
    for matrix, info in about["matrices"].items():
        operand = explorer_of_all.state.operation.operand(matrix)
        np.testing.assert_array_equal(
            on_screen(explorer_of_all, matrix), operand.dtype.decode(explorer_of_all.state.codes(matrix))
        )
        assert sum(length for _, length in info["parts"]) == operand.dtype.bits
        if operand.layout is not None:
            lane, element = (
                np.frombuffer(info[key], np.int16).reshape(operand.shape) for key in ("lane", "element_map")
            )
            row, column = operand.shape[0] - 1, operand.shape[1] // 2
            assert (int(lane[row, column]), int(element[row, column])) in operand.layout.holders(row, column)


@pytest.fixture(scope="module")
def explorer_of_all() -> Any:
    pytest.importorskip("anywidget")
    return ptxlab.explore(DENSE)


def test_switching_keeps_what_fits(explorer: Any) -> None:
    explorer.A = np.full((16, 64), 3)
    explorer.instruction = replaced(DENSE, "s4.s4", "u4.u4")
    assert (explorer.A == 3).all()
    explorer.instruction = SPARSE
    assert explorer.B.tolist() == np.ones((64, 8)).tolist()
    with pytest.raises(PtxlabError, match="not a matrix instruction"):
        explorer.instruction = "fma.rn.f32"
    assert explorer.instruction.mnemonic == SPARSE


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2, written down again."""
    red, green, blue = (
        (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for c in (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def over(colour: str, part: float, paper: str) -> str:
    """What the screen shows of a colour of this opacity on paper."""
    mixed = (
        round(part * int(colour[i : i + 2], 16) + (1 - part) * int(paper[i : i + 2], 16)) for i in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


@pytest.mark.parametrize(("theme", "papers"), [("light", ["#ffffff"]), ("dark", ["#111111", "#1c1c1c"])])
def test_every_cell_can_be_read(explorer: Any, theme: str, papers: list[str]) -> None:
    """Every cell has the contrast that WCAG 2 asks of small text; #111111 is JupyterLab's dark background."""
    ink = {name: pair[theme == "dark"] for name, pair in INTERFACE.items()}
    colours = explorer.view.instruction["colours"][theme]
    assert len({fill for fill, _ in colours}) == 32
    assert min(contrast(fill, text) for fill, text in colours) >= 4.5
    assert contrast(ink["plain"], ink["ink"]) >= 4.5
    for paper in papers:
        assert contrast(paper, ink["faint"]) >= 4.5
        for fill, _ in colours:
            assert contrast(over(fill, 0.22, paper), ink["faint"]) >= 4.5  # a value of A that is not stored
            assert contrast(over(fill, 0.4, paper), ink["ink"]) >= 4.5  # a nibble of metadata


def test_the_view_trusts_no_text() -> None:
    """Data reaches the page as text only, and nothing is fetched from elsewhere."""
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "import ",
        "http",
    ):
        assert word not in script()
    assert "url(" not in style()


# -- why a cell of D has its bits ------------------------------------------------------------------------


@each("ins", FORMS[::7], ids=name)
@pytest.mark.slow
def test_the_state_traces_what_it_shows(ins: Instruction) -> None:
    state = ExplorerState(ins)
    for option, legal in ins.modifiers.items():
        if option in state.options and not option.startswith("imm_trans"):
            SetOption(option, legal[-1]).apply(state)
    row, column = ins.d.shape[0] - 1, ins.d.shape[1] // 2
    assert state.trace(row, column).code == state.codes("D")[row, column]


def test_a_trace_is_sent_only_where_it_is_looked_at() -> None:
    ex = ptxlab.explore(DENSE)
    assert ex.view.trace == {}
    ex.view.selected = {"name": "A", "row": 1, "column": 2}
    assert ex.view.trace == {}
    ex.view.selected = {"name": "D", "row": 9, "column": 3}
    assert {key: ex.view.trace[key] for key in ex.view.trace if key != "dot_product"} == {
        "row": 9,
        "column": 3,
    }
    ex.view.tracing = True
    assert ex.view.trace["title"] == f"D[9][3] = {ex.D[9, 3]} of {DENSE}"
    json.dumps(ex.view.trace)

    # A is edited next: the trace stays with the cell of D.
    ex.view.selected = {
        "name": "A",
        "row": 9,
        "column": 2,
    }
    ex.A = np.zeros((16, 64))
    assert ex.view.trace["title"] == f"D[9][3] = 0 of {DENSE}"
    (grid,) = ex.view.trace["grids"]
    rows, columns = grid["size"]
    assert all(
        0 <= row < rows and 0 <= column <= column + width - 1 < columns
        for row, column, width, *_ in grid["cells"]
    )
    ex.instruction = TF32
    assert ex.view.trace == {}


# -- the dot product, step by step -----------------------------------------------------------------------


def test_steps_of_an_integer_dot_product() -> None:
    """Products and sums as NumPy has them, in the order of k; C first, the code of D last."""
    ex = ptxlab.explore(DENSE)
    ex.C = np.full((16, 8), 100)
    ex.view.selected = {"name": "D", "row": 9, "column": 3}
    sent = ex.view.trace["dot_product"]
    a, b = ex.A[9], ex.B[:, 3]
    sums = 100 + np.cumsum(a * b)
    assert sent["column_of_b"] == 3
    steps = [(step["role"], step.get("k"), step["text"]) for step in sent["steps"]]
    assert steps[0] == ("C", None, "C[9][3] = 100, sum so far 100")
    assert steps[1:-1] == [
        (
            "term",
            [k, k],
            f"k = {k}: A[9][{k}] · B[{k}][3] = {a[k]} · {b[k]} = {a[k] * b[k]}, sum so far {sums[k]}",
        )
        for k in range(64)
    ]
    assert steps[-1] == ("round", None, f"D[9][3] = {sums[-1]}, exact: 0x{sums[-1] & 0xFFFFFFFF:08x}")


def test_steps_of_a_sparse_dot_product_are_those_of_the_stored_elements() -> None:
    ex = ptxlab.explore(SPARSE)
    ex.view.selected = {"name": "D", "row": 5, "column": 2}
    # Pairs of a chunk of 8.
    keeps = {
        0b0100: (0, 1),
        0b1000: (0, 2),
        0b1100: (0, 3),
        0b1001: (1, 2),
        0b1101: (1, 3),
        0b1110: (2, 3),
    }
    expected = [
        8 * chunk + 2 * pair + half
        for chunk, code in enumerate(ex.metadata[5])
        for pair in keeps[int(code)]
        for half in (0, 1)
    ]
    assert [step["k"][0] for step in ex.view.trace["dot_product"]["steps"] if "k" in step] == expected


@each("ins", FORMS[::9], ids=name)
def test_steps_end_with_the_code_of_d(ins: Instruction) -> None:
    state = ExplorerState(ins)
    row, column = ins.d.shape[0] - 1, ins.d.shape[1] // 2
    steps = dot_product_steps(state, state.trace(row, column))
    code = int(state.codes("D")[row, column])
    last = steps["steps"][-1]
    assert last["role"] == "round" and last["text"].startswith(f"D[{row}][{column}] = ")
    assert last["text"].endswith(f": 0x{code:0{ins.d.dtype.bits // 4}x}")
    spans = [range(step["k"][0], step["k"][1] + 1) for step in steps["steps"] if "k" in step]
    covered = {k for span in spans for k in span}
    assert ins.k // 2 <= len(covered) <= ins.k if ins.sparse else covered == set(range(ins.k))
    assert 0 <= steps["column_of_b"] < ins.b.shape[1]
    json.dumps(steps)


def test_a_cut_is_told_where_it_happens() -> None:
    mnemonic = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    ex = ptxlab.explore(
        mnemonic, A=np.eye(16, 8) * 2.0**-14, B=np.full((8, 8), 2.0**-3), C=np.full((16, 8), 1024)
    )
    ex.view.selected = {"name": "D", "row": 0, "column": 0}
    align, _, term, *_ = ex.view.trace["dot_product"]["steps"]
    assert align["text"].startswith("aligned to 2^10, the largest exponent: what is below 2^-15 falls off")
    assert term["text"].endswith("= 6.10352e-05 · 0.125 = 7.62939453e-06, sum so far 1024.00001")  # exactly
    (bits,) = ex.view.trace["dot_product"]["bits"]
    first, product = bits["terms"][:2]
    assert (first["factors"], first["digits"], first["lead"], first["last"]) == ("C", "1", 10, -15)
    assert (product["digits"], product["lead"], product["last"]) == ("1", -17, -15)  # all of it is lost
    assert (bits["result"]["digits"], bits["result"]["value"], bits["exact"]) == ("1", "1024", "1024.00001")


def test_sums_that_are_not_finite_are_not_aligned_to_anything() -> None:
    """An infinity or NaN is said to decide the sum; in the steps as in the picture of them."""
    ex = ptxlab.explore("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", B=np.ones((8, 8)))
    ex.view.tracing = True
    for value, words in ((np.inf, "an infinity among the terms makes the sum inf"), (np.nan, "the sum NaN")):
        A = np.zeros((16, 8))
        A[0, :2] = 1, value
        ex.A, ex.view.selected = A, {"name": "D", "row": 0, "column": 0}
        trace = ex.view.trace
        sentences = [step["text"] for step in trace["dot_product"]["steps"]]
        assert words in sentences[-1]
        titles = [grid["title"] for grid in trace["grids"]]
        assert words in titles[0]
        assert not any("aligned to" in text for text in (*sentences, *titles))


@each(
    "mnemonic",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",  # a row for each term, one for those of 0
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",  # a row for 8 terms
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
    ],
)
def test_steps_of_a_sum_have_the_names_of_its_rows(mnemonic: str) -> None:
    """The page lights the row whose names have the step's."""
    ex = ptxlab.explore(mnemonic)
    ex.A = np.where(np.arange(ex.A.shape[1]) % 8 == 3, 1, 0) * np.ones(ex.A.shape)
    ex.view.tracing, ex.view.selected = True, {"name": "D", "row": 0, "column": 0}
    trace = ex.view.trace
    rows = [names for grid in trace["grids"] for names in grid["row_names"]]
    assert all(len(grid["row_names"]) == len(grid["rows"]) for grid in trace["grids"])
    steps = [step["name"] for step in trace["dot_product"]["steps"] if step["name"]]
    assert len(steps) > ex.A.shape[1]
    assert all(any(step in names for names in rows) for step in steps)


@each(
    "mnemonic, name",
    {
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": "C",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16": "D before",
        "tcgen05.mma.cta_group::1.kind::f16": "D before",
    }.items(),
)
def test_what_products_are_added_to_has_its_name(mnemonic: str, name: str) -> None:
    """wgmma and tcgen05.mma have no C: neither steps nor the picture name one."""
    ex = ptxlab.explore(mnemonic)
    ex.C = np.full(ex.C.shape, 0.1)
    ex.view.tracing, ex.view.selected = True, {"name": "D", "row": 0, "column": 0}
    trace = ex.view.trace
    value = format_value(ex.D[0, 0])  # as registers show it
    assert trace["dot_product"]["summary"].startswith(f"D[0][0] = {value} from {name} and ")
    sums, bits = trace["grids"]
    assert sums["rows"][0][1].split("\u00a0\u00a0")[0].replace("\u00a0", " ") == name
    assert bits["title"] == "the bits of D: f32"  # tcgen05's are in tensor memory
    assert "the exponent of a product is the sum of its factors' exponents" in trace["notes"][-1]
