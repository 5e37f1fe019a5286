"""The memory view: fragments in shared memory, the accesses that move them, and edits of their bytes.

The independent source is the emulator of ldmatrix and stmatrix, which the GPU tests compare with an H200.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.explorer.edits import SetCell, SetOption, SetWord
from ptxlab.explorer.page.memory_view import MemoryLayout, has_memory_view, memory_data, memory_layout
from ptxlab.explorer.state import ExplorerState, MemoryRequest
from ptxlab.instruction import Transfer, register_instructions
from ptxlab.memory import Tile, conflicts
from tests.cases import each, refuses

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
QUAD = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
HALF = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
PADDED = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32"
WMMA = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"

SHOWN: list[tuple[str, dict[str, Any]]] = [
    (F16, {"name": "A"}),
    (F16, {"name": "A", "pitch": 48, "swizzle": 64}),
    (F16, {"name": "A", "major": "column", "swizzle": 32}),
    (F16, {"name": "B", "major": "row", "pitch": 16}),
    (S4, {"name": "B", "swizzle": 128}),
    (SPARSE, {"name": "A", "swizzle": 128}),
    (PADDED, {"name": "A", "pitch": 32}),
    (WMMA, {"name": "A"}),
    (WMMA, {"name": "B", "pitch": 48}),
    (WGMMA, {"name": "A", "pitch": 144}),
    (HALF, {"name": "D", "by": "stmatrix", "swizzle": 32}),
    (HALF, {"name": "C", "by": "ldmatrix", "major": "column"}),
    (F16, {"name": "A", "by": "ld.shared", "major": "column", "pitch": 36}),
    (F16, {"name": "D", "swizzle": 128}),
    (F64, {"name": "B"}),
    (WGMMA, {"name": "D", "pitch": 272}),
    (F16, {"name": "A", "layout": "Swizzle<3,3,3> o (64,64):(64,1)"}),
    (F16, {"name": "A", "layout": "(16,(8,2)):(8,(1,128))"}),
    (F16, {"name": "B", "layout": "(16,8):(1,64)", "by": "ld.shared"}),
]  # fmt: skip


def shown(mnemonic: str, **request: Any) -> tuple[ExplorerState, MemoryLayout]:
    state = ExplorerState(ptxlab.instruction(mnemonic))
    state.memory = MemoryRequest(**request)
    layout = memory_layout(state)
    assert layout is not None
    return state, layout


@each("mnemonic, request_", SHOWN)
def test_the_accesses_move_the_fragment(mnemonic: str, request_: dict[str, Any]) -> None:
    state, layout = shown(mnemonic, **request_)
    operand, codes = layout.operand, state.codes(layout.name)
    memory, registers = layout.placement.store(codes), operand.pack_codes(codes)
    stored, moved = np.zeros_like(memory), np.zeros_like(registers)
    for access in layout.accesses:
        own = slice(32 * access.warp, 32 * access.warp + 32)
        first = access.first // operand.elements_per_register
        if access.is_matrix:
            transfer = ptxlab.instruction(access.name)
            assert isinstance(transfer, Transfer)
            taken = slice(first, first + len(access.addresses) // 8)
            addresses = np.resize(access.addresses, 32)
            if transfer.family == "stmatrix":
                stored = transfer.emulate(registers[own, taken], addresses, stored)
            else:
                moved[own, taken] = transfer.emulate(memory, addresses)
            continue
        width = access.count * operand.width // 8
        assert (
            access.conflicts.wavefronts
            == conflicts(access.addresses, width, store=operand.name == "D").wavefronts
        )
        bytes_ = registers[own].view(np.uint8).reshape(32, -1)
        part = slice(access.first * operand.width // 8, access.first * operand.width // 8 + width)
        at = access.addresses[:, None] + np.arange(width)
        stored[at] = bytes_[:, part]
        moved[own].view(np.uint8).reshape(32, -1)[:, part] = memory[at]
    if operand.name == "D":
        np.testing.assert_array_equal(stored, memory)
    else:
        np.testing.assert_array_equal(operand.unpack_codes(moved), operand.unpack_codes(registers))
    np.testing.assert_array_equal(layout.placement.load(memory, operand.dtype.bits), codes)


@each("mnemonic, request_", [*SHOWN, (WGMMA, {"name": "B", "swizzle": 32})])
def test_a_wavefront_takes_one_word_of_a_bank(mnemonic: str, request_: dict[str, Any]) -> None:
    state, layout = shown(mnemonic, **request_)
    data = memory_data(state, layout)
    wavefront = np.frombuffer(data["wavefront"], np.int16)
    words = np.frombuffer(data["byte"], np.int32) // 4
    lanes = np.zeros(len(words), dtype=np.int64)
    if layout.operand.layout is not None:
        lanes = layout.operand.layout.scatter().reshape(-1) // layout.operand.layout.elements
    assert wavefront.min() == 0 and wavefront.max() == data["wavefronts"] - 1
    seen = np.unique(np.stack([lanes // 32, wavefront, words]), axis=1)
    banks = np.unique(np.stack([seen[0], seen[1], seen[2] % 32]), axis=1)
    assert seen.shape == banks.shape
    numbers = [step["wavefront"] for step in data["steps"] if step["kind"] == "wavefront"]
    assert numbers == list(range(data["wavefronts"]))


@pytest.mark.slow
def test_every_matrix_that_has_a_memory_view_opens() -> None:
    families: dict[Any, ptxlab.Instruction] = {}
    for form in register_instructions():
        if isinstance(form, ptxlab.Instruction):
            families.setdefault((form.family, form.a.dtype.bits), form)
    for ins in families.values():
        state = ExplorerState(ins)
        for name in ("A", "stored", "B", "C", "D"):
            if name in state.operation.names and has_memory_view(ins, name):
                state.memory = MemoryRequest(name)
                layout = memory_layout(state)
                assert layout is not None and memory_data(state, layout)["size"] >= layout.operand.dtype.bits


def test_wgmma_reads_the_tile() -> None:
    state, layout = shown(WGMMA, name="B", swizzle=32)
    tile = Tile.of(state.ins.b, 32)
    np.testing.assert_array_equal(layout.placement.store(state.codes("B")), tile.store(state.codes("B").T))
    SetOption("imm_trans_b", 1).apply(state)
    state.memory = MemoryRequest("B", swizzle=128)
    turned = memory_layout(state)
    assert turned is not None and turned.major == "row"
    expected = Tile.of(state.ins.b, 128, transposed=True).store(state.codes("B").T)
    np.testing.assert_array_equal(turned.placement.store(state.codes("B")), expected)


@pytest.mark.parametrize(("mnemonic", "request_", "words"), [
    (F16, {"name": "E"}, "has no 'E' in shared memory to show; there are A, B, C, D"),
    (QUAD, {"name": "A"}, "there are none"),
    (F16, {"name": "A", "pitch": 24}, "multiples of 16 bytes apart, from 32 to 1024"),
    (F16, {"name": "A", "swizzle": 48}, "swizzle=48: there are 0, 32, 64, 128"),
    (F16, {"name": "A", "by": "wgmma"}, "by='wgmma': there are ldmatrix, ld.shared"),
    (F16, {"name": "A", "major": "K"}, "major='K': there are row, column"),
    (S4, {"name": "A", "major": "column"}, "no load takes less than a byte"),
    (WMMA, {"name": "A", "swizzle": 32}, "it cannot follow a swizzle"),
    (WMMA, {"name": "A", "major": "column"}, "takes A as .row"),
    (WGMMA, {"name": "B", "major": "row"}, "imm-trans-b 1 says so"),
    (WGMMA, {"name": "B", "pitch": 144}, "its swizzle says where rows are"),
])  # fmt: skip
def test_what_cannot_be_shown_is_refused(mnemonic: str, request_: dict[str, Any], words: str) -> None:
    with pytest.raises(PtxlabError) as refusal:
        shown(mnemonic, **request_)
    assert words in str(refusal.value)


def test_bytes_are_edited_and_undone() -> None:
    state, layout = shown(S4, name="A", swizzle=128)
    before = state.codes("A")
    address = int(layout.placement.offsets[9, 32])
    SetWord(address, 4, "0x76543210").apply(state)
    assert state.codes("A")[9, 32:40].tolist() == list(range(8))
    SetWord(address + 1, 1, "0xfe").apply(state)
    assert state.codes("A")[9, 32:40].tolist() == [0, 1, 14, 15, 4, 5, 6, 7]
    state.undo()
    state.undo()
    np.testing.assert_array_equal(state.codes("A"), before)
    for edit, words in (
        (SetWord(40, 4, "1"), "no element of A is there"),
        (SetWord(2, 4, "1"), "at multiples of their number"),
        (SetWord(1 << 20, 4, "1"), "bytes go from 0 to 0x7ff"),
        (SetWord(0, 4, "0x123456789"), "byte 0x0"),
    ):
        refuses(words, edit.apply, state)
    state.memory = None
    with pytest.raises(PtxlabError, match="no memory is shown"):
        SetWord(0, 4, "1").apply(state)
    state, layout = shown(F16, name="D")
    with pytest.raises(PtxlabError, match="D is the result"):
        SetWord(0, 4, "1").apply(state)


def test_memory_is_sent_when_it_is_opened_or_laid_out_anew_and_at_no_edit() -> None:
    pytest.importorskip("anywidget")
    ex = ptxlab.explore(WGMMA)
    changes: list[Any] = []
    ex.view.observe(lambda: changes.append(ex.view.memory), "memory")
    ex.apply(SetCell("B", 0, 0, "1"))
    assert ex.view.memory == {} and not changes
    ex.page._handle_custom_msg({"type": "show_memory", "name": "B", "swizzle": 32}, [])
    assert ex.view.memory["swizzle"] == 32 and len(changes) == 1
    ex.apply(SetWord(0, 4, "0x3c003c00"), SetCell("B", 0, 0, "2"))
    ex.undo()
    assert len(changes) == 1
    ex.apply(SetOption("imm_trans_b", 1))
    assert ex.view.memory["major"] == "row" and ex.view.memory["swizzle"] == 32 and len(changes) == 2
    ex.page._handle_custom_msg({"type": "show_memory", "name": "B", "pitch": 9}, [])
    assert "its swizzle says where rows are" in ex.view.problem and len(changes) == 2
    ex.instruction = F16
    assert ex.view.memory["by"] == "ldmatrix" and ex.view.memory["swizzle"] == 32
    ex.instruction = QUAD
    assert ex.view.memory == {}
    ex.instruction = F16
    ex.show_memory("A", pitch=144)
    again = ptxlab.explore(ex.link)
    assert again.view.memory == ex.view.memory
    ex.show_memory("D")
    ex.hide_memory()
    assert ex.view.memory == {}


def test_layouts_of_cute() -> None:
    """They place the matrix as a pitch and a swizzle of CUTLASS do, and take the place of both."""
    cute = {"name": "A", "layout": "Swizzle<3,3,3> o (64,64):(64,1)"}
    state, layout = shown(F16, **cute)
    _, swizzled = shown(F16, name="A", pitch=128, swizzle=128)
    assert np.array_equal(layout.placement.offsets, swizzled.placement.offsets)
    assert (layout.wavefronts, layout.least, layout.by) == (4, 4, "ldmatrix")
    data = memory_data(state, layout)
    assert data["layout"] == cute["layout"] in data["facts"] and data["pitch"] is None
    swizzles = next(control for control in data["controls"] if control["name"] == "swizzle")
    assert swizzles["choices"][0] == ["Swizzle<3,3,3>", -1, ""] and swizzles["value"] == -1
    _, plain = shown(F16, name="A", layout="(64,64):(64,1)")
    assert plain.wavefronts == 32
    refused = {
        "16 rows and 16 columns, two modes": {"layout": "(8,64):(64,1)"},
        "in the same place": {"layout": "(16,16):(0,1)"},
        "swizzle=128: the layout says": {"layout": "(16,16):(16,1)", "swizzle": 128},
        "there are": {"layout": "(16,16):(16,1)", "by": "wgmma"},
    }
    for sentence, options in refused.items():
        refuses(sentence, shown, F16, name="A", **options)
    refuses("through a descriptor", shown, WGMMA, name="B", layout="(16,64):(64,1)")
