"""ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store in the Explorer; for tcgen05 see test_tensor.py.

The independent source is `emulate` on memory and registers, which the GPU tests compare with an H200.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab.explorer.documents.matrix_transfer import MatrixTransfer
from ptxlab.explorer.documents.start import first_transfer
from ptxlab.explorer.edits import (
    ChooseInstruction,
    Edit,
    FillMatrix,
    FlipBit,
    SetCell,
    SetRegister,
    SetRegisters,
    SetTransfer,
)
from ptxlab.isa.catalog import transfer_forms
from tests.cases import each, refuses

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.b16"
STMATRIX = "stmatrix.sync.aligned.m8n8.x2.trans.b16"
WMMA = "wmma.load.a.sync.aligned.col.m16n16k16.f16"


@each("form", transfer_forms())
def test_every_element_of_d_is_that_of_a_which_it_is_linked_to(form: Any) -> None:
    """Links come from layouts, D from the emulator; a gap between rows changes neither."""
    transfer = first_transfer(form).filled("A", "random", np.random.default_rng(3))
    assert isinstance(transfer, MatrixTransfer)
    moved = transfer.a.reshape(-1)[transfer.source_cells[:, 0]]
    if form.signed:
        moved = np.where(moved & 8, moved | 0xF0, moved)
    np.testing.assert_array_equal(transfer.result.reshape(-1), moved)
    for name in transfer.names:
        lanes = transfer.thread_maps(name)["lane"]
        assert lanes.size == transfer.codes(name).size and 0 <= lanes.min() <= lanes.max() < 32
    if transfer.has_memory:
        apart = transfer.with_location(transfer.offered_strides[-1])
        np.testing.assert_array_equal(apart.result, transfer.result)
        assert apart.byte_addresses[1, 0] > transfer.byte_addresses[1, 0]


OPENED = [
    LDMATRIX,
    "ldmatrix.sync.aligned.m8n8.x4.trans.b16",
    "ldmatrix.sync.aligned.m16n16.x1.trans.b8x16.b6x16_p32",
    "ldmatrix.sync.aligned.m8n16.x2.s8.s4",
    STMATRIX,
    "movmatrix.sync.aligned.m8n8.trans.b16",
    WMMA,
    "wmma.load.b.sync.aligned.row.m8n8k4.f64",
    "wmma.load.a.sync.aligned.row.m8n8k128.b1",
    "wmma.store.d.sync.aligned.row.m16n16k16.f32",
]


@each("name", OPENED)
def test_a_transfer_opens_is_edited_undone_and_shared(name: str) -> None:
    ex = ptxlab.explore(name)
    first = ex.registers["D"]
    ex.apply(FillMatrix("A", "random"), SetCell("A", 3, 1, "0x1"))
    ex.selection = "A", 3, 1
    info = ex.view.instruction
    assert info["mnemonic"] == name and info["lanes"] == 32 and 0 <= ex.lane < 32
    namespace: dict[str, Any] = {}
    exec(ex.code(), namespace)
    np.testing.assert_array_equal(namespace["D"], ex.state.transfer.codes("D"))
    again = ptxlab.explore(ex.link)
    np.testing.assert_array_equal(again.registers["D"], ex.registers["D"])
    assert again.selection == ex.selection
    ex.undo()
    np.testing.assert_array_equal(ex.registers["D"], first)


def test_elements_and_registers_are_written_both_ways() -> None:
    """Row 9, column 3 of ldmatrix.x4 is the upper half of register 1 of lane 5, as in the manual's figure."""
    ex = ptxlab.explore(LDMATRIX)
    ex.apply(SetCell("A", 9, 3, "beef"))
    assert ex.D[5, 3] == 0xBEEF and ex.registers["D"][5, 1] >> 16 == 0xBEEF
    assert ex.view.instruction["matrices"]["D"]["column_names"][3] == "r1[31:16]"
    ex.apply(SetTransfer("element", "f16"), SetCell("A", 9, 3, "1.5"))
    assert ex.D[5, 3] == 1.5 and ex.registers["D"][5, 1] >> 16 == 0x3E00
    ex.apply(SetTransfer("trans", "trans"))
    assert ex.instruction.mnemonic == f"{LDMATRIX[:-4]}.trans.b16" and ex.D[12, 3] == 1.5
    store = ptxlab.explore(STMATRIX)
    store.apply(SetRegister("A", 9, 1, "0xcafe1234"))
    assert store.D[10, 2] == 0x1234 and store.D[11, 2] == 0xCAFE
    store.apply(SetRegisters("A", np.full((32, 2), 7)))
    assert store.D[0].tolist() == [7] * 8 and not store.D[1].any()


def test_bank_conflicts_follow_the_stride() -> None:
    ex = ptxlab.explore(LDMATRIX)
    assert ex.view.instruction["tensor"]["summary"].endswith("4 wavefronts")
    ex.apply(SetTransfer("stride", "128"))
    assert ex.view.instruction["tensor"]["summary"].endswith("32 wavefronts")
    assert ptxlab.explore(ex.link).code() == ex.code() and "stride=128" in ex.code()


def test_pages_and_figures_of_a_transfer(tmp_path: Path) -> None:
    ex = ptxlab.explore(WMMA)
    page = ex.save_html(tmp_path / "load.html", title="A fragment").read_text(encoding="utf-8")
    assert WMMA in page and "A fragment" in page
    assert WMMA in ex.figure().layout.meta["title"]


def test_the_explorer_goes_from_products_to_transfers_of_matrices_and_back() -> None:
    ex = ptxlab.explore(MMA)
    ex.A = np.ones((16, 16))
    before = ex.D
    for name in (LDMATRIX, "tcgen05.shift.cta_group::1.down", STMATRIX, WMMA):
        ex.apply(ChooseInstruction(name))
        assert ex.instruction.mnemonic == name and ex.view.B == ex.view.lane_registers == {}
    ex.instruction = MMA
    np.testing.assert_array_equal(ex.D, before)
    for _ in range(4):
        ex.undo()
    assert ex.instruction.mnemonic == LDMATRIX
    ex.undo()
    np.testing.assert_array_equal(ex.D, before)


REFUSED: list[tuple[str, Edit, str]] = [
    (LDMATRIX, SetCell("D", 0, 0, "1"), "D is what ldmatrix"),
    (LDMATRIX, SetCell("A", 32, 0, "1"), "S: row 32"),
    (LDMATRIX, SetCell("A", 0, 0, "10000"), "does not fit the 16 bits"),
    (LDMATRIX, SetTransfer("stride", "24"), "a multiple of 16 apart"),
    (LDMATRIX, SetTransfer("stride", "0"), "a multiple of 16 apart"),
    (LDMATRIX, SetTransfer("lane", "3"), "has no 'lane' to choose"),
    (LDMATRIX, SetTransfer("element", "f32"), "words are read as b16, f16"),
    (LDMATRIX, FlipBit("A", 0, 0, 0), "is an edit of instructions that multiply"),
    (WMMA, SetTransfer("stride", "8"), "shorter than a column"),
    (STMATRIX, SetRegister("A", 0, 9, "1"), "register 9"),
    ("movmatrix.sync.aligned.m8n8.trans.b16", SetTransfer("stride", "3"), "stays in registers"),
]


@each("name,edit,sentence", REFUSED)
def test_edits_that_a_transfer_lacks_are_refused(name: str, edit: Edit, sentence: str) -> None:
    ex = ptxlab.explore(name)
    before = ex.D
    refuses(sentence, ex.apply, edit)
    np.testing.assert_array_equal(ex.D, before)
    refuses("moves words and computes nothing", ex.find_difference)
