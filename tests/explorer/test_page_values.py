"""Lanes, registers and locations in the Explorer, against `views`, the layouts and the emulator."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ptxlab
from ptxlab import Instruction, PtxlabError, views
from ptxlab.explorer.edits import SetOption, SetRegister, SetValues
from ptxlab.explorer.page.instruction_info import instruction_info
from ptxlab.explorer.page.page_values import lane_registers
from ptxlab.explorer.page.trace_data import dot_product_steps
from ptxlab.explorer.state import ExplorerState
from ptxlab.instruction import mma_instructions
from ptxlab.isa.location import bit_range
from tests.cases import each

EVERY = mma_instructions()
QUAD = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
# One of each kind.
SAMPLE = list(
    {(ins.family, ins.a_type, ins.scale_vec, ins.mma_count): ins for ins in EVERY if ins.n <= 24}.values()
)
WARPGROUP = list(
    {
        (ins.family, ins.a_type, ins.n): ins
        for ins in EVERY
        if ins.family.startswith("wgmma") and ins.n in (8, 40)
    }.values()
)


def state_of(ins: Instruction) -> ExplorerState:
    return ExplorerState(ins, seed=1)


def read(sent: dict[str, Any], key: str) -> NDArray[np.int16]:
    return np.frombuffer(sent[key], dtype=np.int16).reshape(sent["rows"], sent["columns"])


def some(operand: Any, rng: np.random.Generator, count: int = 6) -> list[tuple[int, int]]:
    rows, columns = operand.shape
    return [
        (0, 0),
        (rows - 1, columns - 1),
        *((int(rng.integers(rows)), int(rng.integers(columns))) for _ in range(count)),
    ]


@each("ins", SAMPLE, ids=lambda ins: ins.mnemonic)
def test_registers_of_a_lane(ins: Instruction, rng: np.random.Generator) -> None:
    """Every field is the element that `views.holds` names, and the fields together are the register."""
    state = state_of(ins)
    lane = int(rng.integers(ins.lanes))
    for name, registers in lane_registers(state, lane).items():
        operand = ins.operands[name]
        assert len(registers) == operand.registers
        for index, register in enumerate(registers):
            expected = [
                (record["element"], record[operand.axes[0]], record[operand.axes[1]], record["bits"])
                for record in views.holds(ins, name, lane, index).records()
            ]
            found = [
                (
                    f"{name.lower()}{field['element']}",
                    field["row"],
                    field["column"],
                    bit_range(field["low"], field["low"] + len(field["bits"]) - 1),
                )
                for field in register["fields"]
            ]
            assert found[::-1] == expected
            assert int(register["hex"], 16) == state.registers(name)[lane, index]
            values = operand.dtype.decode(
                np.array(
                    [int(field["bits"], 2) for field in register["fields"]], dtype=operand.dtype.code_type
                )
            )
            np.testing.assert_array_equal(
                [float(field["text"]) for field in register["fields"]], values.astype(np.float64)
            )


@each("ins", SAMPLE, ids=lambda ins: ins.mnemonic)
def test_who_holds_a_cell(ins: Instruction, rng: np.random.Generator) -> None:
    """Lane, element, register and bits of a cell are those of `views.where` for the copy that is selected."""
    state = state_of(ins)
    for name, legal in ins.modifiers.items():
        if name in state.options and name != "scale_d":
            SetOption(name, legal[int(rng.integers(len(legal)))]).apply(state)
    infos = instruction_info(state)["matrices"]
    for name, sent in infos.items():
        operand = state.operation.operand(name)
        if operand.layout is None or (name == "A" and ins.sparse):
            continue
        for row, column in some(operand, rng):
            record = views.where(ins, sent["operand"], row, column).records()[
                state.operation.copy_index(name)
            ]
            low = int(read(sent, "low")[row, column])
            assert record["lane"] == read(sent, "lane")[row, column]
            assert record["element"] == f"{sent['element']}{read(sent, 'element_map')[row, column]}"
            assert record["register"] == read(sent, "register_map")[row, column]
            assert record["bits"] == bit_range(low, low + sent["bits"] - 1)
            if "read with" in record:
                assert sent["note"].endswith(f"read with {record['read with']}")


@each("ins", WARPGROUP, ids=lambda ins: ins.mnemonic)
def test_place_in_shared_memory(ins: Instruction, rng: np.random.Generator) -> None:
    """Byte, core matrix and row in shared memory, K-major and transposed, against `views.where`."""
    for form in (ins, ins.a_from("shared")):
        state = state_of(form)
        turns = [name for name in ("imm_trans_a", "imm_trans_b") if name in state.options]
        for values in itertools.product((0, 1), repeat=len(turns)):
            for name, value in zip(turns, values, strict=True):
                SetOption(name, value).apply(state)
            infos = instruction_info(state)["matrices"]
            shared = {name: sent for name, sent in infos.items() if "byte" in sent}
            assert set(shared) == {"B", *(["stored" if form.sparse else "A"] if form is not ins else [])}
            for sent in shared.values():
                letter = sent["operand"]
                transposed = bool(state.options.get(f"imm_trans_{letter.lower()}", 0))
                assert sent["memory"] == f"{'MN' if transposed else 'K'}-major, no swizzle"
                for row, column in some(form.operands[letter], rng):
                    (record,) = views.where(form, letter, row, column, transposed=transposed).records()
                    found = [int(read(sent, key)[row, column]) for key in ("byte", "core", "line")]
                    assert found == [record["byte offset"], record["core matrix"], record["row in it"]]
                    if sent["bits"] < 8:
                        assert bit_range(*[int(read(sent, "low")[row, column])] * 2) == record["bits"]


def test_four_products() -> None:
    """The column of B behind a cell of D, by what changes it; the lanes of a product as in the manual."""
    ins = ptxlab.instruction(QUAD)
    sent = instruction_info(state_of(ins))
    columns = np.frombuffer(sent["column_of_b"], dtype=np.int16).reshape(ins.d.shape)
    a, c = ins.a.pack(np.ones(ins.a.shape)), ins.c.pack(np.zeros(ins.c.shape))
    for column in range(ins.b.shape[1]):
        b = np.zeros(ins.b.shape)
        b[:, column] = 1
        hit = ins.d.unpack(ins.emulate(a, ins.b.pack(b), c)) != 0
        assert (columns[hit] == column).all() and hit.sum() == (columns == column).sum() == 8
    # PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16": computation 1 is by threads 0-3 and 16-19
    assert sent["lanes_of_product"] == [
        [*range(4 * pair, 4 * pair + 4), *range(4 * pair + 16, 4 * pair + 20)] for pair in range(4)
    ]
    assert {name: matrix["products"]["along"] for name, matrix in sent["matrices"].items()} == {
        "A": "rows",
        "B": "columns",
        "C": "rows",
        "D": "rows",
    }
    one = instruction_info(state_of(ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")))
    assert "column_of_b" not in one and "products" not in one["matrices"]["A"]


def test_elements_that_are_held_twice_say_so() -> None:
    infos = instruction_info(state_of(ptxlab.instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")))[
        "matrices"
    ]
    assert infos["A"]["note"].startswith("every element is held twice: a(i) again as a(i + 8); ")
    assert "twice" not in infos["D"]["note"]


@pytest.mark.parametrize(
    "ins",
    [
        next(ins for ins in EVERY if ins.scale_vec == vec and ins.sparse == sparse)
        for vec in (1, 2, 4)
        for sparse in (0, 1)
    ],
)
def test_scale_factors_in_the_dot_product(ins: Instruction) -> None:
    """Each summand names the two factors of its block, and what it says multiplies to what it gives."""
    state = state_of(ins)
    for name in ("SFA", "SFB"):
        shape = state.operation.operand(name).shape
        SetValues(name, 2.0 ** (np.arange(shape[0] * shape[1]).reshape(shape) % 3)).apply(state)
    a, b, sfa, sfb = (state.values(name) for name in ("A", "B", "SFA", "SFB"))
    row, column, width = 3, 2, ins.k // (ins.scale_vec or 1)
    total = 0.0
    for step in dot_product_steps(state, state.trace(row, column))["steps"]:
        if "k" not in step:
            continue
        (first, last), text = step["k"], step["text"]
        block = first // width
        assert f"SFA[{row}][{block}] · SFB[{block}][{column}]" in text
        assert f"{sfa[row, block]:g} · {sfb[block, column]:g}" in text
        ks = np.arange(first, last + 1)
        value = float(
            a[row, ks].astype(float) @ b[ks, column].astype(float) * sfa[row, block] * sfb[block, column]
        )
        total += value
        assert text.endswith(f"= {value:g}, sum so far {total:g}")
    assert total == state.values("D")[row, column]


# -- several lanes side by side --------------------------------------------------------------------------


@pytest.fixture
def explorer() -> Any:
    return ptxlab.explore("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")


def test_lanes_side_by_side(explorer: Any) -> None:
    view = explorer.view
    assert explorer.lanes == [0] and list(view.lane_registers) == ["0"]
    explorer.lanes = [3, 5, 9]
    assert (
        explorer.lanes == [3, 5, 9] and explorer.lane == 3 and view.lane_registers.keys() == {"3", "5", "9"}
    )
    explorer.lane = 7  # the pinned stay
    assert explorer.lanes == [7, 3, 5, 9] and view.lane_registers.keys() == {"3", "5", "7", "9"}
    for lane in explorer.lanes:
        assert view.lane_registers[str(lane)] == lane_registers(explorer.state, lane)
    explorer.apply(SetRegister("A", 9, 2, "0x3c003c00"))
    assert view.lane_registers["9"]["A"][2]["hex"] == "0x3c003c00"
    explorer.lanes = [4]
    assert explorer.lanes == [4] and view.pinned == [] and list(view.lane_registers) == ["4"]


@pytest.mark.parametrize("lanes", [[], [32], [-1], [1, 1], [0, 1, 2, 3, 4]])
def test_lanes_that_are_refused(explorer: Any, lanes: list[int]) -> None:
    with pytest.raises(PtxlabError, match="up to 4 different lanes can be shown side by side, from 0 to 31"):
        explorer.lanes = lanes
    assert explorer.lanes == [0]


@pytest.mark.parametrize(
    "value", [[32], [0, 0], [1.5], ["1"], [True], "12", 3, None, [0, 1, 2, 3, 4], {"0": 1}]
)
def test_a_page_pins_no_lane_that_is_not_there(explorer: Any, value: Any) -> None:
    explorer.view.set_state({"pinned": [6]})
    explorer.view.set_state({"pinned": value})
    assert explorer.view.pinned == [6]


def test_another_instruction_and_a_link_keep_the_lanes(explorer: Any) -> None:
    explorer.instruction = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
    explorer.lanes = [100, 5]
    again = ptxlab.explore(explorer.link)
    assert again.lanes == [100, 5] and again.view.lane_registers.keys() == {"5", "100"}
    explorer.instruction = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    assert explorer.lanes == [31, 5] and explorer.view.lane_registers.keys() == {"31", "5"}
