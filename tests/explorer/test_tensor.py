"""The Explorer on tcgen05: matrices in tensor memory, the descriptor, and tcgen05.ld, .st, .cp and .shift."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.errors import PtxlabError
from ptxlab.explorer.documents.start import first_transfer
from ptxlab.explorer.edits import (
    ChooseInstruction,
    FillMatrix,
    FlipBit,
    SetCell,
    SetDescriptor,
    SetDescriptorField,
    SetMask,
    SetOption,
    SetRegister,
    SetTransfer,
    SetValues,
)
from ptxlab.explorer.page.instruction_info import instruction_info
from ptxlab.explorer.page.memory_descriptor import place_shared
from ptxlab.explorer.page.tensor_view import find_load, load_data
from ptxlab.explorer.page.transfer_view import transfer_info
from ptxlab.explorer.quiz.quiz import Quiz, ShortQuestion, choose_questions, kinds_of, parse_question
from ptxlab.explorer.state import ExplorerState, LoadRequest
from ptxlab.isa.catalog import tcgen05_forms
from ptxlab.isa.tcgen05 import TensorInstruction, TensorTransfer
from ptxlab.memory import Tcgen05Descriptor, Tile
from tests.cases import refuses
from tests.texts import replaced

pytest.importorskip("anywidget")

F16 = "tcgen05.mma.cta_group::1.kind::f16"
S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
NVFP4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16"
FORMS: dict[str, Any] = {
    "layout D": (F16, {"n": 16}, "shared"),
    "layout F": (F16, {"m": 64, "n": 16}, "tensor"),
    "layout B": ("tcgen05.mma.cta_group::2.kind::f16", {"m": 128, "n": 32}, "tensor"),
    "layout G": ("tcgen05.mma.ws.cta_group::1.kind::f16", {"m": 32, "n": 64}, "tensor"),
    "scales": (NVFP4, {"n": 40}, "tensor"),
    "scale ids": (
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale",
        {"n": 16, "scale_a_id": 2},
        "shared",
    ),
    "sparse": ("tcgen05.mma.sp.cta_group::1.kind::f16", {"n": 16, "selector": 3}, "tensor"),
    "f16 results": (F16, {"n": 16, "d": "f16"}, "shared"),
}


def state_of(name: str) -> ExplorerState:
    mnemonic, parts, space = FORMS[name]
    ins = ptxlab.instruction(mnemonic, **parts)
    assert isinstance(ins, TensorInstruction)
    return ExplorerState(ins.a_from(space))


def pairs(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.int32).reshape(-1, 2)


@pytest.mark.parametrize("name", FORMS)
def test_places_that_the_page_draws_are_those_of_the_layout(name: str) -> None:
    """The sum of the places of copy, row and column, against `where`; matrices share no bit."""
    state = state_of(name)
    ins = state.ins
    assert isinstance(ins, TensorInstruction)
    info = instruction_info(state)["tensor"]
    used = np.zeros((info["ctas"] * 128, info["columns"], 32), dtype=np.int64)
    for operand, place in info["places"].items():
        tensor = ins.tensor(operand)
        copy, row, column = (pairs(place[part]) for part in ("copy", "row", "column"))
        at = copy[:, None, None] + row[None, :, None] + column[None, None, :]
        lane, bit = at[..., 0], at[..., 1]
        r, c = tensor.shape[0] - 1, tensor.shape[1] // 2
        expected = [
            (128 * location.cta + location.lane, 32 * (place["first"] + location.column) + location.low)
            for location in tensor.where(r, c)
        ]
        assert sorted(zip(lane[:, r, c].tolist(), bit[:, r, c].tolist(), strict=True)) == sorted(expected)
        for offset in range(tensor.dtype.bits):
            np.add.at(used, (lane, bit // 32, bit % 32 + offset), 1)
    assert used.max() == 1 and info["columns"] <= info["allocated"] <= 512


@pytest.mark.parametrize("name", FORMS)
def test_cells_words_and_d_follow_each_other(name: str) -> None:
    """An edited cell is in every copy of its word, and in no other bit; D is what `emulate` gives."""
    state = state_of(name)
    ins = state.ins
    before = {operand: words.copy() for operand, words in state.operation.arrays.items()}
    SetCell("C", 3, 5, "2").apply(state)
    for scales in ("SFA", "SFB"):
        if scales in state.operation.names:
            SetCell(scales, 0, 0, "4").apply(state)
            operand = state.operation.operand(scales)
            words = state.registers(scales)
            changed = words ^ before[scales]
            expected = np.zeros(state.operation.operand(scales).shape, dtype=operand.dtype.code_type)
            expected[0, 0] = state.codes(scales)[0, 0] ^ int(operand.dtype.encode(1.0))
            np.testing.assert_array_equal(changed, operand.pack_codes(expected))
    arrays = state.operation.arrays
    inputs = {argument: arrays[operand.name] for argument, operand in ins.inputs.items()}
    assert hasattr(ins, "emulate")
    d = ins.emulate(**inputs)
    np.testing.assert_array_equal(state.codes("D"), ins.d.unpack_codes(d))
    lane, column = np.argwhere(ins.c.pack_codes(np.ones(ins.c.shape, dtype=ins.c.dtype.code_type)))[-1]
    FlipBit("C", lane, column, 3).apply(state)
    assert state.undo()
    assert state.registers("C")[lane, column] ^ 8 != state.registers("C")[lane, column]


@pytest.mark.parametrize("request_", [
    LoadRequest(), LoadRequest("16x256b", 2), LoadRequest("16x64b", lane=16, column=8),
    LoadRequest("16x32bx2", 4), LoadRequest("32x32b", 8, pack=True), LoadRequest("16x128b", column=16),
])  # fmt: skip
def test_registers_after_a_load_are_those_of_its_form(request_: LoadRequest) -> None:
    """Lanes and columns that the page gets, against what the emulated load returns."""
    state = state_of("layout D")
    assert isinstance(state.ins, TensorInstruction)
    state.load = request_
    load = find_load(state.ins, state.load)
    data = load_data(state.ins, load)
    words = np.arange(128 * 32, dtype=np.uint32).reshape(128, 32)
    form = ptxlab.instruction(load.form.mnemonic)
    address = request_.lane << 16 | request_.column
    registers = form.emulate(words, address=address)
    lanes, columns = (np.frombuffer(data[part], np.int16).reshape(32, -1) for part in ("lanes", "columns"))
    for thread in (0, 37, 127):
        values = words[thread // 32 * 32 + lanes[thread % 32], columns[thread % 32]]
        if request_.pack:
            values = values[::2] & 0xFFFF | (values[1::2] & 0xFFFF) << 16
        np.testing.assert_array_equal(values, registers[thread])


def test_loads_that_cannot_be_are_refused_and_change_nothing() -> None:
    ex = ptxlab.explore(F16, m=64, n=32)
    shown = ex.view.load
    for options, sentence in (
        ({"shape": "32x64b"}, "shape='32x64b'"),
        ({"shape": "32x32b", "count": 3}, "x3: 32x32b is loaded 1, 2, 4"),
        ({"shape": "32x32b", "lane": 16}, "begins in lane 0"),
        ({"shape": "32x32b", "count": 64}, "reads 64 columns; 32 are allocated"),
        ({"shape": "16x64b", "count": 1, "column": 31}, "begins in column 0 to 30"),
    ):
        refuses(sentence, ex.show_load, **options)
    assert ex.view.load is shown and ex.state.load == LoadRequest()
    ex.show_load("16x256b", count=4, thread=100)
    assert ex.lane == 100
    ex.selection = "D", 41, 10  # lane 73: row 9 of the third warp's lanes
    assert ex.lane == 69 and ex.view.selected == {"name": "D", "row": 41, "column": 10}
    again = ptxlab.explore(ex.link)
    assert again.view.load["mnemonic"] == ex.view.load["mnemonic"]
    assert again.instruction == ex.instruction


def test_fields_of_the_descriptor_change_the_instruction() -> None:
    """A field, the bits, undo; what is wrong is said and changes nothing."""
    ex = ptxlab.explore(F16, m=64, n=16, A=np.ones((64, 16)))
    ex.apply(SetDescriptorField("m", "128"))
    assert ex.instruction.shape == "m128n16k16" and ex.A.shape == (128, 16)
    assert ex.A[:64].all() and not ex.A[64:].any()  # what was there stays
    ex.apply(SetDescriptorField("d", "f16"), SetDescriptorField("negate_a", "1"))
    fields = {field["name"]: field["text"] for field in ex.view.instruction["descriptor"]["fields"]}
    assert (fields["d"], fields["negate_a"], fields["n"]) == ("f16", "1", "16")
    assert ex.D[0, 0] == -ex.B[:, 0].sum()
    ex.apply(SetDescriptor(ex.view.instruction["descriptor"]["hex"].replace("0x", "")))
    assert ex.instruction.descriptor.negate_a
    before = ex.view.instruction
    for edit, sentence in (
        (SetDescriptorField("n", "100"), "n=100: the descriptor takes multiples of 8"),
        (SetDescriptorField("n", "many"), "found 'many'; it takes a whole number"),
        (SetDescriptorField("a", "bf16"), "D is f16"),
        (SetDescriptorField("sparse", "1"), "tcgen05.mma says so"),
        (SetDescriptorField("moon", "1"), "no field 'moon'"),
        (SetDescriptor("0x08400050"), "bit 6 is 1, but is reserved"),
        (SetDescriptor("twelve"), "32 bits in hexadecimal"),
    ):
        refuses(sentence, ex.apply, edit)
    assert ex.view.instruction is before
    for _ in range(2):
        ex.undo()
    assert ex.instruction.shape == "m64n16k16" and ex.A.all()


def test_reserved_bits_are_no_fields() -> None:
    """Bit 29 of kind::f16 is reserved ("Instruction descriptor format for ..."): it has one K."""
    for kind, has_k in {"f16": False, "tf32": False, "f8f6f4": True}.items():
        info = ptxlab.explore(f"tcgen05.mma.cta_group::1.kind::{kind}").view.instruction
        assert ("k" in [field["name"] for field in info["descriptor"]["fields"]]) == has_k, kind


def test_what_is_added_is_d_itself() -> None:
    """Neither wgmma nor tcgen05.mma has an operand C."""
    for name, option in {
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16": "scale_d",
        "tcgen05.mma.cta_group::1.kind::f16": "enable_input_d",
    }.items():
        ex = ptxlab.explore(name)
        assert ex.view.instruction["accumulator"] == "D", name
        assert ex.view.instruction["matrices"]["C"]["label"] == "D before"
        ex.apply(SetOption(option, False))
        assert ex.view.instruction["accumulator"] == "", name
    plain = ptxlab.explore("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").view.instruction
    assert "accumulator" not in plain and plain["matrices"]["C"]["label"] == "C"


def set_field(ex: ptxlab.Explorer, name: str, text: str) -> str:
    """What the page says when a field of the matrix descriptor is typed; empty for nothing."""
    ex.view.problem = ""
    ex.page._handle_custom_msg({"type": "set_memory_field", "name": name, "text": text}, [])
    return str(ex.view.problem)


@pytest.fixture
def moved() -> ptxlab.Explorer:
    """B in shared memory with another swizzle at another address, whose base offset does not fit."""
    ex = ptxlab.explore(F16, m=64, n=32)
    assert "no tile of wgmma or tcgen05.mma is shown" in set_field(ex, "stride", "512")
    ex.show_memory("B")
    assert not set_field(ex, "swizzle", "64B") and not set_field(ex, "address", "0x480")
    return ex


@pytest.fixture
def mended(moved: ptxlab.Explorer) -> ptxlab.Explorer:
    """The same with the base offset that belongs there, and another stride."""
    assert not set_field(moved, "base_offset", "1") and not set_field(moved, "stride", "1024")
    return moved


MENDED = Tcgen05Descriptor(0x480, 16, 1024, 64, base_offset=1)


def test_fields_of_the_matrix_descriptor_follow_the_swizzle(moved: ptxlab.Explorer) -> None:
    shown = moved.view.memory["descriptor"]
    fields = {field["name"]: field["text"] for field in shown["fields"]}
    plain = Tile(16, 32, 16, swizzle=64)
    assert fields["stride"] == str(plain.stride) and moved.view.memory["swizzle"] == 64
    assert shown["problems"] == ["base offset 0: a swizzle pattern that starts at 0x480 has base offset 1"]


def test_the_matrix_descriptor_moves_b_in_shared_memory(mended: ptxlab.Explorer) -> None:
    memory = mended.view.memory
    assert memory["descriptor"]["hex"] == f"0x{MENDED.code:016x}"
    assert not memory["descriptor"]["problems"]
    rows, k = np.arange(32), np.arange(16)[:, None]
    byte = np.frombuffer(memory["byte"], np.int32).reshape(16, 32)
    assert np.array_equal(byte, MENDED.addresses(rows, k))
    assert ptxlab.explore(mended.link).view.memory["byte"] == memory["byte"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("stride", "256", "B[0][4] and B[0][8] would both be read from byte 0x5a0"),
        ("stride", "100", "found '100'; it takes a multiple of 16 bytes below 0x40000"),
        ("address", "0x40000", "a block has at most 232448 bytes"),
        ("version", "2", "bits 46-48 are 2; for tcgen05 they are 1"),
        ("absolute", "1", "the tile is K-major, with a swizzle of 128 bytes"),
        ("swizzle", "128B_BASE32B", "moves 16 bytes at a time"),
        ("swizzle", "7", "there are none, 32B"),
        ("moon", "1", "has no field 'moon'"),
    ],
)
def test_a_field_that_cannot_be_changes_nothing(
    mended: ptxlab.Explorer, name: str, text: str, sentence: str
) -> None:
    before = mended.view.memory
    assert sentence in set_field(mended, name, text)
    assert mended.view.memory is before


@pytest.mark.parametrize(
    ("descriptor", "sentence"), [(1 << 53, "bits 46-48 are 0"), ("twelve", "64 bits in hexadecimal")]
)
def test_a_descriptor_that_cannot_be_changes_nothing(
    mended: ptxlab.Explorer, descriptor: Any, sentence: str
) -> None:
    before = mended.view.memory
    refuses(sentence, mended.show_memory, "B", descriptor=descriptor)
    assert mended.view.memory is before


def test_the_shown_tile_follows_the_instruction(mended: ptxlab.Explorer) -> None:
    """Also where the descriptor would read bytes twice, or not be legal."""
    ex = mended
    ex.show_memory("B", descriptor=MENDED.code)
    ex.apply(SetDescriptorField("transpose_b", "1"))
    assert ex.view.memory["name"] == "B" and ex.view.memory["major"] == "row"
    ex.instruction = "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"
    assert not set_field(ex, "swizzle", "32B") and ex.view.memory["descriptor"]["hex"] == "0xc000001000010000"
    refuses("A of .* is in registers", ex.show_memory, "A", descriptor=0)


@pytest.mark.parametrize("kind", ["f16", "tf32", "i8"])
def test_a_tile_is_where_its_descriptor_says(kind: str) -> None:
    """The PTX ISA's table of strides, and the modes of a tile: two ways to the same bytes."""
    transposed = kind != "i8"
    ins = ptxlab.instruction(f"tcgen05.mma.sp.cta_group::1.kind::{kind}", transpose_b=transposed)
    for operand, turned in ((ins.a, False), (ins.b, transposed)):
        for swizzle in (0, 32, 64, 128):
            if not turned and operand.name == "B" and swizzle == 32:
                refuses("rows of 64 bytes do not fit", place_shared, ins, operand, turned, swizzle)
                continue
            shared = place_shared(ins, operand, turned, swizzle)
            offsets = shared.placement.offsets if operand.name == "A" else shared.placement.offsets.T
            assert np.array_equal(offsets, shared.tile.offsets)
            assert shared.reads.wavefronts == shared.reads.least


def test_other_families_and_back_keep_matrices_and_descriptor() -> None:
    ex = ptxlab.explore(F16, m=64, n=24)
    ex.apply(SetValues("B", np.full((16, 24), 2)))
    ex.apply(ChooseInstruction("tcgen05.mma.cta_group::1.kind::tf32", "tensor"))
    assert ex.instruction.shape == "m64n24k8" and ex.instruction.a_space == "tensor" and (ex.B == 2).all()
    assert isinstance(ex.instruction, type(ptxlab.instruction(F16)))
    ex.apply(ChooseInstruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"))
    assert ex.view.load == {} and (ex.B == 2).all() and len(ex.view.lane_registers["0"]) > 0
    with pytest.raises(PtxlabError, match="has no instruction descriptor"):
        ex.apply(SetDescriptor("0x8400010"))
    refuses("leaves D in registers", ex.show_load)
    ex.undo()
    assert ex.instruction.shape == "m64n24k8" and ex.view.load["mnemonic"].startswith("tcgen05.ld")


def test_scale_factors_stay_with_their_rows() -> None:
    """From a CTA to a pair, which has more rows, and back; a scale for 16 becomes one for 32."""
    ex = ptxlab.explore(NVFP4, n=16)
    scales = np.where(np.arange(128)[:, None] % 2, 2.0, 1.0) * np.ones((1, 4))
    ex.scale_a = scales
    ex.apply(ChooseInstruction(replaced(NVFP4, "::1", "::2")))
    assert ex.scale_a.shape == (256, 4) if ex.instruction.m == 256 else (128, 4)
    np.testing.assert_array_equal(ex.scale_a[:128], scales)
    assert (ex.scale_a[128:] == 1).all()
    ex.apply(ChooseInstruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale"))
    np.testing.assert_array_equal(ex.scale_a, scales[:, :2])


def test_words_of_tensor_memory_are_edited_and_d_is_not() -> None:
    ex = ptxlab.explore(ptxlab.instruction(F16, m=64, n=16).a_from("tensor"))
    ex.apply(SetRegister("A", lane=33, register=1, text="0x40003c00"))  # row 17, columns 2 and 3
    assert ex.A[17, 2:4].tolist() == [1.0, 2.0]
    for edit, sentence in (
        (SetRegister("D", 0, 0, "0"), "D is the result"),
        (SetRegister("A", 128, 0, "0"), "lane 128"),
        (SetRegister("C", 0, 16, "0"), "column 16"),
        (FlipBit("C", 0, 0, 32), "C in tensor memory, lane 0, column 0: bit 32 does not exist"),
        (SetRegister("E", 0, 0, "0"), "has no operand 'E'"),
    ):
        refuses(sentence, ex.apply, edit)


def test_an_edit_sends_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """m128n256 has 32768 results; a changed cell of A sends a row of D and nothing of the layout."""
    ex = ptxlab.explore(F16)
    sent: list[tuple[dict[str, Any], Any]] = []
    monkeypatch.setattr(ex.page, "_send", lambda message, buffers=None: sent.append((message, buffers)))
    ex.apply(SetCell("A", 3, 2, "2.5"))
    size = sum(len(buffer) for _, buffers in sent for buffer in buffers or [])
    names = {name for message, _ in sent for name in message.get("state", {})}
    assert {"A", "D"} <= names and not {"instruction", "load", "B", "C"} & names
    assert 0 < size < 8192


def test_figures_are_those_of_tensor_memory() -> None:
    ex = ptxlab.explore(F16, m=64, n=16)
    ex.show_load("16x64b", thread=37)
    assert "layout F" in ex.figure().layout.meta["subtitle"]
    part = ex.figure("D", lanes=range(4), columns=range(4))
    assert part.layout.meta["title"].startswith("D of tcgen05.mma")
    assert "tcgen05.ld" in ex.figure("load").layout.meta["title"]
    assert ex.figure("product").layout.meta["title"] == f"{F16} m64n16k16"
    assert ex.figure("lane", lane=36).layout.meta["title"].startswith("Lane 36 of tensor memory")
    assert ex.figure("B", columns=range(4)).data[0].z.shape == (16, 4)
    refuses("no figure 'E'; there are product, A, B, C, D, lane, load, trace", ex.figure, "E")
    refuses("has no option 'shown'", ex.figure, "D", shown="hex")


def test_what_goes_around_tcgen05_is_refused_in_a_sentence() -> None:
    for name in ("tcgen05.wait::ld.sync.aligned", "tcgen05.fence::before_thread_sync"):
        refuses("touches no word of a matrix that the Explorer could show", ptxlab.explore, name)
    refuses("address and split are for", ptxlab.explore, F16, address=4)


# -- tcgen05.ld, .st, .cp and .shift -----------------------------------------------------------------------


def transfers(family: str) -> list[TensorTransfer]:
    return [form for form in tcgen05_forms(family) if isinstance(form, TensorTransfer)]


def test_loads_and_stores_link_the_words_that_the_layout_says() -> None:
    """`locate` finds one word by the layout's modes; the links come from the emulator's arrays."""
    for form in (*transfers("tcgen05.ld"), *transfers("tcgen05.st")):
        if form.compresses or form.count not in (1, 4):
            continue
        address = 2 if form.shape == "32x32b" else 16 << 16 | 2
        transfer = first_transfer(form, address)
        for thread, register in ((0, 0), (37, form.registers - 1), (127, form.registers // 2)):
            lane, column = form.locate(thread, register, address)
            word = lane * transfer.tensor_columns + column
            if form.family == "tcgen05.ld":
                width = transfer.result.shape[1]
                assert transfer.source_cells[thread * width + register, 0] == word
            else:
                assert transfer.source_cells[word].tolist() == [thread * form.registers + register]


def test_every_link_is_a_word_that_arrived() -> None:
    for family in ("tcgen05.ld", "tcgen05.st", "tcgen05.cp", "tcgen05.shift"):
        for form in transfers(family)[::5]:
            transfer = first_transfer(form)
            there = transfer.source_cells[:, 0] >= 0
            arrived, read = transfer.result.reshape(-1), transfer.a.reshape(-1)
            if not (form.pack or form.source or form.absolute):
                np.testing.assert_array_equal(arrived[there], read[transfer.source_cells[there, 0]])
            stays = there if transfer.c is None else ~there
            assert form.family == "tcgen05.ld" or transfer.c is None or not arrived[stays].any()


def test_unpacked_words_come_from_the_words_of_their_bits() -> None:
    """A word of four elements of 6 bits has 24 bits of the source: the second has some of two words."""
    transfer = first_transfer(ptxlab.instruction("tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32"))
    links = transfer.source_cells.reshape(128, 32, 2)
    assert links[3, :5].tolist() == [[12, -1], [12, 13], [13, 14], [14, -1], [-1, -1]]
    for bit in range(96):  # each bit of the source changes the words that are linked to it, and no others
        a = transfer.a.copy()
        a[3, bit // 32] ^= np.uint32(1 << bit % 32)
        changed = np.argwhere(replace(transfer, a=a).result != transfer.result)
        assert changed.tolist() == [[3, bit // 24]] and 12 + bit // 32 in links[3, bit // 24]


def test_what_can_be_chosen_of_a_move_is_legal() -> None:
    for family in ("tcgen05.ld", "tcgen05.st", "tcgen05.cp", "tcgen05.shift"):
        first = first_transfer(transfers(family)[0])
        for control in transfer_info(first)["transfer"]["controls"]:
            state = ExplorerState(first.ins)
            last = str(control["range"]["max"]) if "range" in control else ""
            values = [value for _, value in control.get("choices", [(last, last)])]
            for value in values:
                SetTransfer(control["name"], value).apply(state)
                now = {
                    control["name"]: control["value"]
                    for control in transfer_info(state.transfer)["transfer"]["controls"]
                }
                assert now[control["name"]] == value, (family, control["name"])


def test_a_transfer_is_edited_undone_shared_and_saved(tmp_path: Path) -> None:
    ex = ptxlab.explore("tcgen05.st.sync.aligned.16x64b.x2.b32", address=16 << 16 | 4)
    lane, column = ex.instruction.locate(37, 1, 16 << 16 | 4)
    ex.apply(SetRegister("A", 37, 1, "0xcafe"), SetRegister("C", 3, 5, "77"))
    assert ex.D[lane, column] == 0xCAFE and ex.D[3, 5] == 0x77 and ex.registers["D"][lane, column] == 0xCAFE
    ex.selection = "D", lane, column
    assert ex.lane == 37
    again = ptxlab.explore(ex.link)
    namespace: dict[str, Any] = {}
    exec(ex.code(), namespace)
    np.testing.assert_array_equal(again.D, ex.D)
    np.testing.assert_array_equal(namespace["D"], ex.D)
    page = ex.save_html(tmp_path / "st.html").read_text(encoding="utf-8")
    assert "tcgen05.st.sync.aligned.16x64b.x2.b32" in page
    ex.apply(SetTransfer("element", "f32"), SetCell("A", 0, 0, "1.5"))
    assert ex.A[0, 0] == 1.5 and ex.registers["A"][0, 0] == 0x3FC00000
    ex.undo()
    ex.undo()
    assert ex.D[lane, column] == 37 << 16 | 1 and not ex.D[3, 5]
    for edit, sentence in (
        (SetRegister("D", 0, 0, "1"), "D is what tcgen05.st"),
        (SetTransfer("lane", "8"), "it begins in lane 0 or 16 of each warp's 32"),
        (SetTransfer("count", "x3"), "tcgen05.st has x1, x2"),
        (SetMask("disable_output_lane", "1"), "is an edit of instructions that multiply"),
        (FillMatrix("A", "normal"), "unknown fill 'normal'"),
    ):
        refuses(sentence, ex.apply, edit)
    refuses("moves words and computes nothing", ex.run)


def test_code_of_a_copy_reads_shared_memory_through_the_descriptor() -> None:
    for name in ("128x256b", "4x256b", "32x128b.warpx4"):
        ex = ptxlab.explore(f"tcgen05.cp.cta_group::1.{name}", address=2)
        namespace: dict[str, Any] = {}
        exec(ex.code(), namespace)
        np.testing.assert_array_equal(namespace["D"], ex.D)
        assert hex(namespace["tile"].code)[2:] in ex.view.instruction["shape"]


def test_the_explorer_goes_from_products_to_transfers_and_back() -> None:
    ex = ptxlab.explore(F16, n=16)
    ex.A = np.ones(ex.A.shape)
    before = ex.D
    told: list[str] = []
    ex.observe(lambda change: told.append(change.name), ["B", "D"])
    ex.apply(ChooseInstruction("tcgen05.ld.red.sync.aligned.32x32b.x4.max.f32"))
    assert ex.instruction.emulate(ex.registers["A"])[1].tolist() == ex.registers["D"][:, 4].tolist()
    assert ex.view.instruction["matrices"]["D"]["column_names"] == ["r0", "r1", "r2", "r3", "redval"]
    assert sorted(told) == ["B", "D"]
    ex.instruction = "tcgen05.shift.cta_group::1.down"
    assert ex.view.B == {} and ex.D[0, 0] == ex.A[1, 0]
    ex.undo()
    ex.undo()
    np.testing.assert_array_equal(ex.D, before)
    assert ex.view.instruction["mnemonic"] == F16 and ex.view.load["registers"] == 16
    ex = ptxlab.explore("tcgen05.shift.cta_group::1.down")
    for name in ("st.sync.aligned.32x32b.x2.b32", "ld.sync.aligned.32x32b.x2.b32", "cp.cta_group::1.128x256b",
                 "shift.cta_group::1.down"):  # fmt: skip
        ex.instruction = f"tcgen05.{name}"
        assert ex.view.instruction["mnemonic"] == ex.instruction.mnemonic == f"tcgen05.{name}"
    ex.instruction = F16  # nothing multiplied before it, of which a notice could tell
    assert ex.chip == "sm_100" and not ex.view.notice


LOAD, SHIFT = "tcgen05.ld.sync.aligned.32x32b.x4.b32", "tcgen05.shift.cta_group::1.down"


def test_one_history_crosses_products_and_transfers() -> None:
    """Undo and redo go through both kinds, and bring back words, matrices, selections and random numbers."""
    ex = ptxlab.explore(F16, n=16)
    shown: list[tuple[str, bytes, bytes]] = []

    def remember() -> None:
        on_page = ex.view.instruction["mnemonic"], ex.view.A["codes"], ex.view.D["codes"]
        shown.append(on_page)
        assert on_page[0] == ex.instruction.mnemonic and ex.view.toolbar["undo"] == (len(shown) > 1)

    remember()
    ex.selection = "D", 9, 3
    for edit in (
        FillMatrix("A", "random"),
        ChooseInstruction(LOAD),
        SetRegister("A", 3, 1, "0xcafe"),
        FillMatrix("A", "random"),
        ChooseInstruction(S4),
        FillMatrix("B", "random"),
        ChooseInstruction(SHIFT),
        ChooseInstruction(S4),
    ):
        ex.apply(edit)
        remember()
    for step in reversed(shown[:-1]):
        ex.undo()
        assert (ex.view.instruction["mnemonic"], ex.view.A["codes"], ex.view.D["codes"]) == step
    assert not ex.view.toolbar["undo"] and ex.selection == {"name": "D", "row": 9, "column": 3}
    for step in shown[1:]:
        ex.redo()
        assert (ex.view.instruction["mnemonic"], ex.view.A["codes"], ex.view.D["codes"]) == step
        np.testing.assert_array_equal(ptxlab.explore(ex.link).D, ex.D)
    assert not ex.view.toolbar["redo"]


def test_edits_of_both_kinds_are_made_together_or_not_at_all() -> None:
    ex = ptxlab.explore(S4)
    with pytest.raises(PtxlabError, match="multiplies matrices"):
        ex.apply(
            ChooseInstruction(LOAD),
            SetTransfer("column", "3"),
            ChooseInstruction(S4),
            SetTransfer("column", "3"),
        )
    assert ex.instruction.mnemonic == S4 and not ex.view.toolbar["redo"]


def test_where_nothing_is_published_d_stays_empty_and_the_rest_is_shown() -> None:
    ex = ptxlab.explore("tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale", k=192, n=16)
    info = ex.view.instruction
    assert "no target has it" in info["matrices"]["D"]["unknown"]
    assert info["tensor"]["places"]["D"]["columns"] == 16 and ex.view.load["registers"] == 16
    ex.selection = "D", 3, 5
    ex.B = np.ones(ex.B.shape)  # edits, undo and links work, D and its trace say why they cannot
    assert ex.view.trace == {} and "run(" in ex.code()
    assert ptxlab.explore(ex.link).instruction == ex.instruction
    for ask in (lambda: ex.D, lambda: ex.figure("trace"), ex.find_difference):
        refuses("no target has it with this descriptor", ask)
    assert ex.figure("D").layout.meta["title"].startswith("D of")
    ex.apply(ChooseInstruction(F16))
    assert ex.chip == "sm_100" and ex.D.shape == (128, 16)
    ex.undo()
    assert ex.chip == "" and "no model" in ex.view.toolbar["chips"][0]


@pytest.fixture
def with_disabled_lanes() -> ptxlab.Explorer:
    """Lanes 0 to 3 and 64 are not written; C is 7."""
    ex = ptxlab.explore(F16, n=16)
    ex.C = np.full(ex.C.shape, 7.0)
    ex.apply(SetMask("disable_output_lane", "0..3, 64"))
    return ex


@pytest.fixture
def with_zero_columns() -> ptxlab.Explorer:
    """Of every 7 columns of B, 3 are zero."""
    ex = ptxlab.explore("tcgen05.mma.ws.cta_group::1.kind::f16", m=32, n=64)
    ex.apply(SetMask("zero_column_mask", "use 4, skip 3"))
    return ex


def test_lanes_that_are_disabled_keep_d() -> None:
    ex = ptxlab.explore(F16, n=16)
    before = ex.D
    ex.C = np.full(ex.C.shape, 7.0)
    ex.apply(SetMask("disable_output_lane", "0..3, 64"))
    kept = np.isin(np.arange(128), [0, 1, 2, 3, 64])
    np.testing.assert_array_equal(ex.D, np.where(kept[:, None], 7, before + 7))


def test_disabled_lanes_are_shown_in_code_and_in_links(with_disabled_lanes: ptxlab.Explorer) -> None:
    ex = with_disabled_lanes
    assert ex.view.toolbar["options"][-1]["value"] == "0..3, 64"
    assert ex.view.instruction["disabled_lanes"] == [0, 1, 2, 3, 64]
    assert "disable_output_lane=0x1000000000000000f" in ex.code()
    np.testing.assert_array_equal(ptxlab.explore(ex.link).D, ex.D)
    ex.selection = "D", 3, 5
    assert ex.view.trace == {}  # nothing was computed there


def test_disabled_lanes_stay_with_another_type(with_disabled_lanes: ptxlab.Explorer) -> None:
    ex = with_disabled_lanes
    ex.apply(ChooseInstruction("tcgen05.mma.cta_group::1.kind::tf32"))
    assert ex.state.operation.modifiers.disable_output_lane == 0x1000000000000000F


def test_columns_of_b_are_zero_or_another(with_zero_columns: ptxlab.Explorer) -> None:
    ws = with_zero_columns
    assert not ws.D[:, 4:7].any() and ws.D[:, 3].any()
    assert ws.view.instruction["zero_columns"][:4] == [4, 5, 6, 11]
    far = ptxlab.explore("tcgen05.mma.ws.cta_group::1.kind::f16", m=32, n=64, max_shift=8)
    far.apply(SetMask("zero_column_mask", "use 4, skip 3, shift 2"))
    np.testing.assert_array_equal(far.D[:, :4], (far.A @ far.B)[:, 2:6])
    assert far.B.shape == (16, 72) and far.state.column_of_b(0, 3) == 5


def test_masks_that_cannot_be_are_refused(
    with_disabled_lanes: ptxlab.Explorer, with_zero_columns: ptxlab.Explorer
) -> None:
    ex, ws = with_disabled_lanes, with_zero_columns
    for explorer, name, text, sentence in (
        (ex, "disable_output_lane", "0..128", "type lanes from 0 to 127"),
        (ex, "zero_column_mask", "use 4, skip 3", "has no mask 'zero_column_mask'; it has disable_output"),
        (ws, "zero_column_mask", "use 4", "type runs of columns, such as use 4, skip 3"),
        (ws, "zero_column_mask", "use 4, skip 3, shift 1", "take max_shift=8"),
    ):
        with pytest.raises(PtxlabError, match=sentence):
            explorer.apply(SetMask(name, text))


ASKED = ("layout F", "layout B", "layout G", "scales", "sparse")


@pytest.mark.parametrize("name", ASKED)
def test_the_quiz_asks_about_tensor_memory(name: str) -> None:
    """Right answers are right, as the layouts and `slots` say; texts give the same question back."""
    state, random = state_of(name), np.random.default_rng(5)
    state.load = LoadRequest("16x256b", count=1)
    ins = state.ins
    assert isinstance(ins, TensorInstruction)
    for kind in ("word", "thread", "field", "reach"):
        short = choose_questions(state, kinds=[kind], count=1, seed=3)[0]
        question = short.ask(state)
        assert all(question.judge(answer).right for answer in question.answers)
        assert parse_question(state, short.text, random) == short
        if kind == "word":
            name, row, column = question.marked[0]
            place = ins.tensors[name].where(row, column)[0]
            cta = f"{place.cta} " if ins.tensors[name].ctas > 1 else ""
            assert question.judge(f"{cta}{place.lane} {place.column}").right
            assert not question.judge(f"{cta}{place.lane} {place.column + 1}").right
        if kind == "thread":
            thread, register = map(int, re.findall(r"\d+", question.answers[0]))
            _, row, column = question.marked[0]
            assert thread // 32 % 4 == ins.d.where(row, column)[0].lane // 32
            assert not question.judge(f"{thread} {(register + 1) % 4}").right
        if kind == "field":
            assert not ins.faults(int(short.text.split()[-1], 16)) and not question.judge("7").right


@pytest.mark.parametrize("name", ASKED)
def test_questions_about_tensor_memory_are_typed(name: str, rng: np.random.Generator) -> None:
    state = state_of(name)
    state.load = LoadRequest("16x256b", count=1)
    ins = state.ins
    assert isinstance(ins, TensorInstruction)
    assert parse_question(state, "where is D[3][5]?", rng) == ShortQuestion("word", "D[3][5]")
    assert "where" not in kinds_of(state)
    for text, sentence in (
        ("word B[0][0]", "B is not in tensor memory"),
        (f"field z 0x{ins.descriptor.code:08x}", "has no field 'z'"),
        ("reach lane 128", "128"),
        ("thread A[0][0]", "a cell of D"),
    ):
        refuses(sentence, parse_question, state, text, rng)


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_that_cannot_be_read_says_what_to_type(name: str) -> None:
    state = state_of(name)
    with pytest.raises(PtxlabError, match="type lane 36 column 3|type CTA 0 lane 36"):
        Quiz(state, [ShortQuestion("word", "D[0][0]")]).answer("lane 3")


def test_answers_about_tensor_memory() -> None:
    state = state_of("layout F")
    state.load = LoadRequest("16x256b", count=2)
    for question, right, wrong in (
        ("word D[9][3]", "lane 9, column 3", "lane 25 column 3"),
        ("word D[20][3]", "36 3", "lane 20, column 3"),
        ("thread D[20][3]", "thread 49 register 1", "thread 20 register 3"),
        ("field n 0x08400010", "256", "32"),
        ("field d 0x08400010", "F32", "f16"),
        ("reach lane 70 of 8 warps", "2, 6", "2"),
    ):
        asked = ShortQuestion(*question.split(" ", 1)).ask(state)
        assert asked.judge(right).right and not asked.judge(wrong).right
