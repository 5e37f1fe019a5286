"""The explorer's state from Python: undo, code, links, observers, what is sent, two chips, bad messages."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, PtxlabError
from ptxlab.explorer.documents.fills import patterns
from ptxlab.explorer.documents.product_document import ProductDocument
from ptxlab.explorer.edits import (
    ChooseInstruction,
    FillMatrix,
    Paste,
    SetCell,
    SetOption,
    SetRegister,
    SetRegisters,
    SetTransfer,
    SetValues,
    Undo,
    change_instruction,
)
from ptxlab.explorer.history import MAX_LOGGED, MAX_LOGGED_TEXT, UNDO_LIMIT
from ptxlab.explorer.links import open_link, share_link
from ptxlab.explorer.page.page_model import SHAREABLE
from ptxlab.explorer.page.toolbar_data import toolbar
from ptxlab.explorer.saving.export import python_code
from ptxlab.explorer.session import PageSession
from ptxlab.explorer.state import ExplorerState
from ptxlab.instruction import mma_instructions
from ptxlab.isa.operation import Operation
from ptxlab.isa.parse import parse_mma
from ptxlab.isa.targets import GENERATIONS
from ptxlab.numerics import has
from ptxlab.numerics.emulate import emulate
from tests.cases import each, refuses
from tests.sampling import one_in
from tests.texts import replaced

pytest.importorskip("anywidget")

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE_FP8 = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32"
TF32 = "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2"
LARGE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
QUADS = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
WMMA = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
KINDS = [DENSE, HALF, SPARSE, TF32, WGMMA, LARGE, NVF4, F64, QUADS, WMMA]

OLD_LINKS = Path(__file__).with_name("links.json")

#: One form of every family, shape and type of A and D: of those with many N the smallest.
SAMPLE = list(
    {
        (ins.family, ins.m, ins.k, ins.a_type, ins.d_type, ins.kind): ins
        for ins in sorted(mma_instructions(), key=lambda ins: -ins.n)
    }.values()
)[::3]


def shown(state: ExplorerState) -> tuple[Any, ...]:
    return (
        state.ins,
        state.options,
        {name: registers.tobytes() for name, registers in state.operation.arrays.items()},
    )


def wild(ins: Instruction, seed: int = 3) -> ExplorerState:
    """A state with random bits in every register, also NaNs and padding, and the last legal options."""
    state, random = ExplorerState(ins), np.random.default_rng(seed)
    for name, operand in ins.operands.items():
        if name not in ("D", "E"):
            like = state.operation.arrays[name]
            most = (1 << operand.dtype.bits) - 1 if operand.layout is None else np.iinfo(like.dtype).max
            SetRegisters(
                name, random.integers(0, most, like.shape, dtype=np.uint64, endpoint=True).astype(like.dtype)
            ).apply(state)
    for name, legal in ins.modifiers.items():
        if name in state.options:
            SetOption(name, legal[-1]).apply(state)
    return state


# -- the instruction -------------------------------------------------------------------------------------


def test_the_instruction_has_the_class_it_was_given() -> None:
    """Users hold an `Instruction`, which can run; a form of the ISA stays a form."""
    ex = ptxlab.explore(DENSE)
    assert type(ex.instruction) is Instruction
    message = {"type": "choose_instruction", "mnemonic": WGMMA, "a_space": "shared"}
    ex.page._handle_custom_msg(message, None)
    assert type(ex.instruction) is Instruction and ex.instruction.a_space == "shared"
    assert type(ptxlab.explore(ex.link).instruction) is Instruction
    ex.instruction = SPARSE
    assert type(ex.instruction) is Instruction
    assert type(parse_mma(HALF)) is Instruction
    assert type(ptxlab.instruction(HALF).explore().instruction) is Instruction


def test_swizzles_are_no_option() -> None:
    """They move bytes in shared memory and change no result."""
    state = ExplorerState(ptxlab.instruction(WGMMA))
    assert "swizzle" in state.ins.modifiers and "swizzle" not in state.options
    assert all(option["name"] != "swizzle" for option in toolbar(state, ("sm_90",))["options"])
    with pytest.raises(PtxlabError, match="no option 'swizzle'"):
        SetOption("swizzle", 128).apply(state)


@pytest.mark.parametrize("height", [100, -1, 10**9, 1.5, "tall", True])
def test_a_height_that_no_screen_has(height: Any) -> None:
    assert ptxlab.explore(HALF).view.height == 0
    assert ptxlab.explore(HALF, height=460).view.height == 460
    refuses("^height: found", ptxlab.explore, HALF, height=height)


def test_explore_without_an_instruction_opens_a_good_first_one() -> None:
    """f16 with f32, small whole numbers in A and B, the same each time."""
    ex, again = ptxlab.explore(), ptxlab.explore()
    assert ex.instruction.mnemonic == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert isinstance(ex.instruction, ptxlab.Instruction)
    for matrix in (ex.A, ex.B):
        assert matrix.any() and (matrix == np.rint(matrix)).all() and np.abs(matrix).max() < 10
    np.testing.assert_array_equal(ex.D, ex.A.astype(float) @ ex.B.astype(float))
    np.testing.assert_array_equal(ex.D, again.D)
    assert not (ptxlab.explore(seed=3).A == ex.A).all() and (ptxlab.explore(A=np.ones((16, 16))).A == 1).all()
    ex.close()
    again.close()


@pytest.mark.parametrize("seed", [7, np.int64(7), np.uint8(7), np.array(7)])
def test_seeds_of_any_integer_type(seed: Any) -> None:
    ex = ptxlab.explore(DENSE, seed=seed)
    np.testing.assert_array_equal(ex.A, ptxlab.explore(DENSE, seed=7).A)
    np.testing.assert_array_equal(ptxlab.explore(ex.link).A, ex.A)


@pytest.mark.parametrize("seed", [1.5, "7", None, True, -1, [7], np.array([7]), 1 << 128, [10**400]])
def test_other_seeds_are_refused(seed: Any) -> None:
    refuses(r"^seed: found .*; it takes a whole number", ptxlab.explore, DENSE, seed=seed)


# -- undo and redo ---------------------------------------------------------------------------------------


def test_every_kind_of_edit_is_one_step() -> None:
    ex = ptxlab.explore(TF32)
    registers = ex.registers["B"] ^ np.uint32(1 << 20)

    def send(**message: Any) -> None:
        ex.page._handle_custom_msg(message, [])

    edits: list[Any] = [
        lambda: send(type="paste", name="B", row=0, column=0, text="9"),
        lambda: send(type="paste", name="B", row=0, column=0, text="5\t6\n7\t8"),
        lambda: send(type="set_register", name="A", lane=4, register=1, text="0x40000000"),
        lambda: send(type="flip_bit", name="C", lane=4, register=1, bit=30),
        lambda: setattr(ex, "C", np.full((16, 8), 2.5)),
        lambda: ex.registers.__setitem__("B", registers),
        lambda: setattr(ex, "registers", {"B": registers + 1, "C": ex.registers["C"] + 1}),
        lambda: send(type="set_option", name="selector", value=1),
        lambda: send(type="fill_matrix", name="A", pattern="ones", row=0, column=0),
        lambda: ex.apply(FillMatrix("A", "zeros"), FillMatrix("B", "identity")),
    ]
    assert (ex.view.toolbar["undo"], ex.view.toolbar["redo"]) == (False, False)
    seen = [shown(ex.state)]
    results = [ex.D.tobytes()]
    for edit in edits:
        edit()
        seen.append(shown(ex.state))
        results.append(ex.D.tobytes())
    assert all(one != other for one, other in pairwise(seen))
    for step in reversed(range(len(edits))):
        ex.page._handle_custom_msg({"type": "undo"}, [])
        assert (shown(ex.state), ex.D.tobytes()) == (seen[step], results[step])
        assert ex.view.toolbar["options"][0]["value"] == ex.state.options["selector"]
    assert (ex.view.toolbar["undo"], ex.view.toolbar["redo"]) == (False, True)
    ex.undo()
    assert shown(ex.state) == seen[0]
    for step in range(1, len(seen)):
        ex.redo()
        assert shown(ex.state) == seen[step]
    ex.redo()
    assert (ex.view.toolbar["undo"], ex.view.toolbar["redo"], shown(ex.state)) == (True, False, seen[-1])
    ex.undo()
    ex.C = np.zeros((16, 8))
    assert not ex.view.toolbar["redo"]


def test_several_edits_with_another_instruction_are_one_step_or_none() -> None:
    ex = ptxlab.explore(DENSE)
    ex.C = np.ones((16, 8))
    before, random_state = ex.D, ex.state.random.bit_generator.state
    with pytest.raises(PtxlabError):
        ex.apply(ChooseInstruction(SPARSE), FillMatrix("B", "random"), SetCell("A", 99, 0, "1"))
    assert ex.instruction.mnemonic == DENSE and ex.state.random.bit_generator.state == random_state
    np.testing.assert_array_equal(ex.D, before)
    ex.undo()
    assert not ex.C.any()
    ex.apply(ChooseInstruction(SPARSE), FillMatrix("B", "ones"))
    assert ex.instruction.mnemonic == SPARSE and (ex.B == 1).all()
    ex.undo()  # both at once, back to the other instruction
    assert ex.instruction.mnemonic == DENSE
    np.testing.assert_array_equal(ex.D, ptxlab.explore(DENSE).D)
    ex.redo()
    assert ex.instruction.mnemonic == SPARSE and (ex.B == 1).all()


def test_refused_and_empty_edits_are_no_steps() -> None:
    ex = ptxlab.explore(DENSE, A=np.zeros((16, 64)))
    before = shown(ex.state)
    ex.A = ex.A
    ex.page._handle_custom_msg({"type": "paste", "name": "A", "row": 0, "column": 0, "text": "99"}, [])
    with pytest.raises(PtxlabError, match="s4 holds"):
        ex.apply(FillMatrix("B", "ones"), SetCell("A", 0, 0, "8"))
    assert shown(ex.state) == before
    assert not ex.view.toolbar["undo"]
    ex.instruction = DENSE
    assert not ex.view.toolbar["undo"]


def test_history_is_bounded_and_shares_what_did_not_change() -> None:
    state = ExplorerState(ptxlab.instruction(DENSE))
    for step in range(UNDO_LIMIT + 20):
        SetCell("C", 0, 0, str(step + 1)).apply(state)
    assert len(state.history.past) == UNDO_LIMIT
    assert len({id(step.document.arrays["A"]) for step in state.history.past}) == 1
    while state.undo():
        pass
    assert state.values("C")[0, 0] == 20


def screen(ex: Any) -> Any:
    """Everything that a change of the instruction changes."""
    look = (ex.lanes, ex.selection, ex.view.trace, ex.view.notice, ex.view.instruction["mnemonic"])
    chips = (ex.chip, ex.against, ex.view.toolbar["chips"], ex.view.toolbar["options"])
    arrays = {name: array.tobytes() for name, array in ex.state.operation.arrays.items()}
    return shown(ex.state), arrays, chips, look, ex.D.tobytes(), ex.state.random.bit_generator.state


@pytest.fixture
def changed() -> tuple[ptxlab.Explorer, list[Any]]:
    """f16, sparse FP8 and sparse s4, with edits in between; and the screens."""
    ex = ptxlab.explore(HALF)
    ex.apply(FillMatrix("A", "counting"))
    ex.apply(SetCell("A", 9, 13, "0.25"))
    ex.chip, ex.against, ex.selection, ex.lanes = "sm_80", "sm_90", ("D", 9, 3), [5, 0, 9]
    screens = [screen(ex)]
    ex.page._handle_custom_msg(
        {"type": "choose_instruction", "mnemonic": SPARSE_FP8, "a_space": "register"}, []
    )
    assert ex.view.notice and not ex.view.problem and ex.selection == {}
    ex.selection = "A", 3, 60
    screens.append(screen(ex))
    ex.instruction = SPARSE
    ex.apply(SetOption("selector", 1))
    screens.append(screen(ex))
    return ex, screens


def test_a_change_of_the_instruction_is_undone_with_everything_that_belongs_to_it(
    changed: tuple[ptxlab.Explorer, list[Any]],
) -> None:
    """Every screen comes back."""
    ex, screens = changed
    ex.undo()
    assert ex.state.options["selector"] == 0
    ex.undo()
    assert screen(ex) == screens[1]
    ex.undo()
    assert screen(ex) == screens[0] and ex.A[9, 13] == 0.25
    ex.undo()
    assert ex.A[9, 13] != 0.25 and ex.instruction.mnemonic == HALF
    for _ in range(9):
        ex.undo()
    assert not ex.view.toolbar["undo"] and ex.instruction.mnemonic == HALF


def test_a_change_of_the_instruction_is_done_again(changed: tuple[ptxlab.Explorer, list[Any]]) -> None:
    """The same screens, on the way forward, which an edit ends."""
    ex, screens = changed
    for _ in range(4):
        ex.undo()
    for _ in range(2):
        ex.redo()
    assert screen(ex) == screens[1]
    for _ in range(2):
        ex.redo()
    assert screen(ex)[:3] == screens[2][:3]
    assert (ex.view.toolbar["undo"], ex.view.toolbar["redo"]) == (True, False)
    for _ in range(9):
        ex.undo()
    ex.C = np.ones((16, 8))
    assert not ex.view.toolbar["redo"]


@pytest.mark.slow
def test_any_order_of_edits_changes_undos_and_redos() -> None:
    """A seeded walk over instructions, compared with a list of screens and a place in it."""
    choose = random.Random(15)
    ex = ptxlab.explore(HALF)
    screens, place = [screen(ex)], 0
    names = (HALF, DENSE, SPARSE, SPARSE_FP8, WGMMA, NVF4, QUADS)
    for _ in range(100):
        action = choose.randrange(6)
        if action < 2:
            ex.undo() if action else ex.redo()
            place = min(max(place + (-1 if action else 1), 0), len(screens) - 1)
            assert shown(ex.state) == screens[place][0] and ex.D.tobytes() == screens[place][4]
            assert ex.view.toolbar["undo"] == (place > 0)
            assert ex.view.toolbar["redo"] == (place < len(screens) - 1)
            continue
        before = shown(ex.state)
        if action == 2:
            ex.instruction = choose.choice(names)
        elif action == 3:
            ex.apply(FillMatrix(choose.choice("ABC"), choose.choice(("random", "ones", "zeros"))))
        elif action == 4:
            ex.apply(ChooseInstruction(choose.choice(names)), FillMatrix("B", "counting"))
        else:
            with pytest.raises(PtxlabError):
                ex.apply(
                    FillMatrix("A", "random"),
                    ChooseInstruction(choose.choice(names)),
                    SetCell("A", 999, 0, "1"),
                )
        if shown(ex.state) != before:
            screens, place = [*screens[: place + 1], screen(ex)], place + 1
    assert len({shot[0][0] for shot in screens}) > 3 and len(screens) > 10


def test_the_screen_of_an_undone_change_is_sent_whole() -> None:
    """What the page gets after undo is what it had: sizes, lane maps and every matrix."""
    ex = ptxlab.explore(HALF)
    names = ("instruction", "A", "B", "C", "D", "lane_registers", "toolbar")
    before = {name: getattr(ex.view, name) for name in names}
    ex.instruction = SPARSE_FP8
    ex.undo()
    after = {name: getattr(ex.view, name) for name in names}
    redo = after["toolbar"].pop("redo"), before["toolbar"].pop("redo")
    assert redo == (True, False) and after == before


def test_random_numbers_go_on_as_if_an_undone_change_had_not_been() -> None:
    one, other = ptxlab.explore(HALF), ptxlab.explore(HALF)
    other.instruction = SPARSE
    other.apply(FillMatrix("A", "random"))
    other.undo()
    other.undo()
    for ex in (one, other):
        ex.apply(FillMatrix("B", "random"))
    np.testing.assert_array_equal(one.B, other.B)


def test_a_refused_step_back_over_an_instruction_leaves_everything() -> None:
    ex = ptxlab.explore(HALF)
    ex.instruction = SPARSE
    before, history = screen(ex), ex.state.history
    with pytest.raises(PtxlabError):
        ex.apply(Undo(), FillMatrix("A", "random"), SetCell("A", 99, 0, "1"))
    assert screen(ex) == before and ex.state.history is history
    ex.apply(Undo(), FillMatrix("A", "ones"))  # as one step
    assert ex.instruction.mnemonic == HALF
    ex.undo()
    assert screen(ex) == before


def test_history_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole matrices that change each time, of changing instructions: the oldest go, the newest stay."""
    monkeypatch.setattr("ptxlab.explorer.history.HISTORY_BYTES", 20_000)
    state = ExplorerState(ptxlab.instruction(HALF))
    for step in range(40):
        SetValues("C", np.full((16, 8), step)).apply(state)
        change_instruction(state, ptxlab.instruction(DENSE if step % 2 else HALF))
        arrays = {
            id(array): array for entry in state.history.past for array in entry.document.arrays.values()
        }
        assert sum(array.nbytes for array in arrays.values()) <= 20_000
    assert 3 < len(state.history.past) < 40
    monkeypatch.setattr("ptxlab.explorer.history.HISTORY_BYTES", 1)
    SetCell("C", 0, 0, "7").apply(state)
    assert len(state.history.past) == 1 and state.undo() and state.values("C")[0, 0] == 39


# -- code ------------------------------------------------------------------------------------------------


def runs(state: ExplorerState) -> str:
    """The text, after it gave the D of the state bit for bit and every register of it."""
    text = python_code(state)
    names: dict[str, Any] = {}
    exec(compile(text, "code", "exec"), names)
    np.testing.assert_array_equal(state.ins.d.unpack_codes(names["d"]), state.comparison().codes)
    for name, argument in (("A", "a"), ("B", "b"), ("C", "c"), ("E", "e")):
        if name in state.operation.arrays:
            np.testing.assert_array_equal(names[argument], state.operation.arrays[name])
    return text


@each("ins", SAMPLE, ids=repr)
@pytest.mark.slow
def test_code_runs_and_gives_the_same(ins: Instruction) -> None:
    state = ExplorerState(ins, seed=7)
    assert "default_rng(7)" in runs(state)
    runs(wild(ins))


@pytest.mark.parametrize("mnemonic", KINDS)
def test_code_finds_the_formulas(mnemonic: str) -> None:
    state = ExplorerState(ptxlab.instruction(mnemonic))
    for how, word in (
        ("zeros", "np.zeros"),
        ("ones", "np.ones"),
        ("identity", "np.eye"),
        ("counting", "np.arange"),
    ):
        FillMatrix("B", how).apply(state)
        assert f"\nB = {word}" in runs(state)
    FillMatrix("C", "random").apply(state)
    FillMatrix("A", "zeros").apply(state)
    SetCell("A", 1, 2, "1").apply(state)
    runs(state)


def test_code_keeps_signs_and_payloads() -> None:
    state = ExplorerState(ptxlab.instruction(F64))
    SetRegister("A", 0, 0, "0x7ff8000000001234").apply(state)
    SetRegister("B", 5, 0, "0x8000000000000000").apply(state)
    assert "0x7ff8000000001234" in runs(state)
    half = ExplorerState(ptxlab.instruction(HALF))
    SetValues("A", np.full((16, 16), -0.0)).apply(half)
    SetValues("C", np.full((16, 8), -np.inf)).apply(half)
    assert "-np.inf" in runs(half)
    FillMatrix("A", "zeros").apply(half)
    assert half.operation.arrays["A"].sum() == 0 and "A = np.zeros" in runs(half)


def test_code_of_the_screen() -> None:
    ex = ptxlab.explore(HALF)
    ex.chip = "sm_80"
    names: dict[str, Any] = {}
    exec(ex.code(), names)
    np.testing.assert_array_equal(names["D"], ex.D)
    assert 'model="sm_80"' in ex.code()
    shared_a = ptxlab.instruction(WGMMA).a_from("shared")
    assert '.a_from("shared")' in runs(ExplorerState(shared_a))


# -- links -----------------------------------------------------------------------------------------------


@each("ins", SAMPLE, ids=repr)
@pytest.mark.slow
def test_a_link_keeps_every_bit(ins: Instruction) -> None:
    state = wild(ins)
    again, look = open_link(share_link(state, {"lane": 3}))
    assert shown(again) == shown(state)
    assert (look, again.chip_choice.chip, again.history.past) == ({"lane": 3}, state.chip_choice.chip, ())


def test_a_link_opens_the_same_screen() -> None:
    ex = ptxlab.explore(replaced(WGMMA, "e5m2", "e4m3"))
    ex.instruction = ptxlab.instruction(WGMMA).a_from("shared")
    ex.selection, ex.lane, ex.view.colour_by, ex.view.show_c, ex.view.zoom = (
        ("D", 63, 7),
        77,
        "value",
        True,
        150,
    )
    ex.apply(SetOption("imm_scale_a", -1))
    again = ptxlab.explore(f"  {ex.link}\n")
    assert shown(again.state) == shown(ex.state)
    assert again.instruction.a_space == "shared"
    assert (again.lane, again.selection, again.view.colour_by, again.view.show_c, again.view.zoom) == (
        77, {"name": "D", "row": 63, "column": 7}, "value", True, 150,
    )  # fmt: skip
    assert again.link == ex.link
    assert again.view.trace["row"] == 63
    assert len(ptxlab.explore(DENSE).link) < 2500


def packed(head: Any, body: bytes = b"") -> str:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return "ptxlab:a" + base64.urlsafe_b64encode(zlib.compress(text + b"\n" + body)).decode().rstrip("=")


HEAD = {
    "instruction": DENSE,
    "a": "register",
    "options": {},
    "chip": "sm_90",
    "against": None,
    "seed": 0,
    "look": {},
}
BODY = bytes(32 * 4 * 4 + 32 * 2 * 4 + 32 * 4 * 4)


@each(
    "link",
    [
        "ptxlab:", "ptxlab:a", "ptxlab:zAAAA", "ptxlab:a!!!!", "ptxlab:a\u00e9", packed(b"no json"),
        packed([1]), packed({}), packed(HEAD, b"short"),
        packed(HEAD, BODY + b"x"), packed({**HEAD, "instruction": "fma.rn.f32"}, BODY),
        packed({**HEAD, "instruction": 5}, BODY),
        packed({**HEAD, "a": "moon"}, BODY), packed({**HEAD, "options": {"selector": 3}}, BODY),
        packed({**HEAD, "options": 3}, BODY),
        packed({**HEAD, "look": 3}, BODY), packed({**HEAD, "look": {"lane": 99}}, BODY),
        packed({**HEAD, "look": {"lane": "x"}}, BODY),
        packed({**HEAD, "look": {"instruction": {}}}, BODY),
        packed({**HEAD, "look": {"colour_by": "mood"}}, BODY), packed({**HEAD, "look": {"zoom": 9}}, BODY),
        packed({**HEAD, "look": {"selected": {"name": "D"}}}, BODY), packed({**HEAD, "seed": "x"}, BODY),
        packed({**HEAD, "chip": []}, BODY)[:-9],
        packed({**HEAD, "options": {"__class__": 1}}, BODY), packed(b"[" * 100_000),
        packed({**HEAD, "seed": -1}, BODY),
    ],
)  # fmt: skip
def test_a_damaged_link_is_one_sentence(link: str) -> None:
    with pytest.raises(PtxlabError) as error:
        ptxlab.explore(link)
    assert "link" in str(error.value) or "instruction" in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_good_link_by_hand_and_every_cut_of_one() -> None:
    assert not ptxlab.explore(packed(HEAD, BODY)).D.any()
    for link in (ptxlab.explore(SPARSE).link, share_link(wild(ptxlab.instruction(SPARSE)), {})):
        for end in range(8, len(link) - 1, 37):
            refuses("damaged", open_link, link[:end])
        at = len(link) // 2
        changed = link[:at] + ("A" if link[at] != "A" else "B") + link[at + 1 :]
        refuses("damaged", open_link, changed)


@pytest.mark.parametrize("mnemonic", one_in(2, KINDS))
@pytest.mark.slow
def test_a_link_names_the_fills_and_the_seed_and_keeps_every_bit(mnemonic: str) -> None:
    """Whatever was filled, in any order, undone in between: the link is short, and opens to the same bits."""
    ex = ptxlab.explore(mnemonic, seed=11)
    plain = len(ex.link)
    assert plain < 250 and shown(ptxlab.explore(ex.link).state) == shown(ex.state)
    choose = np.random.default_rng(2)
    for step in range(7):
        matrices = [name for name in ex.state.operation.names if toolbar(ex.state, ())["patterns"].get(name)]
        name = str(choose.choice(matrices))
        pattern = str(choose.choice(patterns(name, ex.state.operation.operand(name).dtype)))
        row, column = (int(number) for number in choose.integers(8, size=2))
        ex.apply(FillMatrix(name, pattern, row, column))
        if step % 3 == 1:
            ex.undo()
        if step % 7 == 6:
            ex.redo()
        again = ptxlab.explore(ex.link)
        assert shown(again.state) == shown(ex.state) and again.link == ex.link
        again.close()
        # of sparse A, metadata from an earlier fill than its values is data
        assert len(ex.link) < plain + (600 if "stored" in matrices else 250)


def test_a_link_of_a_fill_that_was_edited_has_the_fill_and_the_edit() -> None:
    ex = ptxlab.explore(HALF, seed=5)
    ex.apply(FillMatrix("A", "random"))
    filled_only = len(ex.link)
    ex.apply(SetCell("A", 9, 13, "0.125"))
    ex.apply(SetRegister("C", 3, 1, "0x7fc00001"))
    again = ptxlab.explore(ex.link)
    assert shown(again.state) == shown(ex.state) and filled_only < len(ex.link) < filled_only + 100
    again.apply(FillMatrix("B", "random"))
    ex.apply(FillMatrix("B", "random"))
    assert shown(again.state) == shown(ex.state), "the next random numbers are the same, too"
    ex.A = np.random.default_rng(1).random((16, 16))
    assert len(ex.link) > 500 and shown(ptxlab.explore(ex.link).state) == shown(ex.state)
    ex.undo()
    assert len(ex.link) < filled_only + 150


def test_a_link_after_more_random_fills_than_it_follows() -> None:
    ex = ptxlab.explore(DENSE)
    for _ in range(MAX_LOGGED + 5):
        FillMatrix("B", "random").apply(ex.state)
    assert shown(ptxlab.explore(ex.link).state) == shown(ex.state)


#: As ptxlab wrote them before links named fills.
OLD_LINK = (
    "ptxlab:aeNrtUlFu4yAQne89Bt-WlTRVt7L4QL5GtYpcl6RWsYnsZKu2ys34QJxsYebF2zvsGmFg5vHmzQxfapiW83zpz4OfVKPG"
    "sauXj6mvOzccJ_tSj9uH6fFt-1DP_r3uvasPu7v6kM88d3eqUl2-N9vjsJztnI_-VLgW1XxdK9W_DqfsXsb946ZAj12Jp5rp4lyl"
    "FmtfVLOrlPP-LV9Qrpusan5W6jRMU_E9_SooZ_tzORVG1z1blyl_d-5iM2XW5C_z_vnjm2159e_7XjWHzi22Up_ej6rZbjbX6w8y"
    "lKjNI2GNeVCeIf9b0nlneGqcy9SMirAYngWfMALbNDCB2QuHofu8J7YZsBnGJMYUvpCthUHUaB4BnsJS1sCqy59WHLFX8Ab7xBqI"
    "OQmqJJeQ18QRb_yRddKaNbFC4ook3DbI6zuzsCbG6jVz4sxEs9Qh8Knl-InrJZXSyCVCh3AEIFpoItSKVuURFSXUwHBtDCtKiKEZ"
    "qxkXgZV8zFrTwEwt-mfY07KlhU-y04wNuEPI2EBZYLz0MHIcg25JrQg6InRH5pa-3fodkaN0R15cRG8SbmiwEzgloxbehDh_3-Gt"
    "nqJLI6qBWnkX_79_-PsDHL_yQw"
)


def test_a_link_of_the_first_version_opens() -> None:
    ex = ptxlab.explore(OLD_LINK)
    like = ptxlab.explore(HALF, seed=3)
    like.apply(SetCell("A", 9, 13, "0.25"))
    assert shown(ex.state) == shown(like.state)
    assert (ex.lane, ex.view.colour_by, ex.chip) == (7, "value", "sm_80")


def content(session: PageSession) -> dict[str, Any]:
    """Everything that a link carries, as `links.json` has it."""
    state, view = session.state, session.page_model
    digest = hashlib.sha256()
    for name, array in sorted(state.document.arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    form, document = state.form, state.document
    is_product = isinstance(document, ProductDocument)
    return {
        "instruction": form.mnemonic,
        "a_space": getattr(form, "a_space", None),
        "arrays": digest.hexdigest()[:32],
        "options": document.options if is_product else [list(document.location), document.element],
        "chips": list(state.chips),
        "seed": state.seed,
        "view": {name: getattr(view, name) for name in SHAREABLE},
        "memory": bool(view.memory),
        "load": view.load.get("mnemonic", ""),
        "result": hashlib.sha256(state.registers("D").tobytes()).hexdigest()[:32],
    }


@each("link,expected", lambda: [(row.pop("link"), row) for row in json.loads(OLD_LINKS.read_text())])
def test_links_of_the_second_version_open(link: str, expected: dict[str, Any]) -> None:
    """Links of ptxlab before links had logs: of fills, edits, options, pastes, arrays, masks, transfers."""
    session = PageSession(link)
    assert content(session) == expected
    again = PageSession(session.link)
    assert content(again) == expected and again.link == session.link


def with_log(*log: Any, instruction: str = DENSE, **parts: Any) -> str:
    """A link of the third version, made by hand."""
    line = json.dumps({"instruction": instruction, "log": log, **parts}).encode()
    return "ptxlab:c" + base64.urlsafe_b64encode(zlib.compress(line + b"\n")).decode().rstrip("=")


def test_a_log_that_grows_too_long_becomes_arrays() -> None:
    """So does one after an array; the random numbers go on all the same."""
    ex = ptxlab.explore(DENSE)
    ex.apply(FillMatrix("A", "random"))
    ex.B = np.eye(64, 8)
    assert ex.state.log.messages == ()
    ex.apply(FillMatrix("C", "random"))
    assert len(ex.state.log.messages) == 1 and ex.state.log.messages[0].generator
    ex.apply(Paste("A", 0, 0, "1\t" * 63 + "1" + " " * MAX_LOGGED_TEXT))
    assert ex.state.log.messages == () and ex.A[0].all()
    for count in range(MAX_LOGGED + 2):
        ex.apply(SetCell("C", 0, 0, str(count)))
    assert len(ex.state.log.messages) == 1 and len(ex.link) < 2500
    again = ptxlab.explore(ex.link)
    assert shown(again.state) == shown(ex.state) and again.link == ex.link
    for _ in range(3):
        ex.undo()
    assert len(ex.state.log.messages) == MAX_LOGGED - 1
    assert shown(ptxlab.explore(ex.link).state) == shown(ex.state)


FILL = ["fill_matrix", "B", "random", 0, 0]


def test_a_link_is_the_log_of_messages() -> None:
    """Fills draw the numbers that they drew; those of undone fills are passed over."""
    ex = ptxlab.explore(DENSE, seed=3)
    ex.apply(FillMatrix("A", "random"), SetCell("A", 9, 13, "-3"))
    ex.apply(FillMatrix("B", "random"))
    ex.undo()
    ex.apply(FillMatrix("B", "normal"))
    again = ptxlab.explore(ex.link)
    assert shown(again.state) == shown(ex.state) and again.link == ex.link
    for explorer in (ex, again):
        explorer.apply(FillMatrix("C", "random"))
    np.testing.assert_array_equal(again.C, ex.C)
    by_hand = ptxlab.explore(with_log(["fill_matrix", "A", "random"], ["set_cell", "A", 9, 13, "-3"], seed=3))
    np.testing.assert_array_equal(by_hand.A, ex.A)


def test_random_numbers_of_a_link_do_not_depend_on_what_was_undone() -> None:
    """Words of other shapes, an odd number of them, were drawn and undone before the form changed."""
    ex = ptxlab.explore("tcgen05.ld.sync.aligned.32x32b.x4.b32", seed=4)
    ex.apply(FillMatrix("A", "random"))
    ex.undo()
    ex.apply(SetTransfer("count", "x16"), FillMatrix("A", "random"))
    ex.apply(ChooseInstruction("tcgen05.ld.sync.aligned.16x64b.x2.b32"))
    ex.apply(FillMatrix("A", "random"))
    like = ptxlab.explore("wmma.load.a.sync.aligned.row.m8n8k128.b1")
    like.apply(FillMatrix("A", "random"))
    like.undo()
    like.apply(FillMatrix("A", "random"))
    for explorer in (ex, like):
        again = ptxlab.explore(explorer.link)
        for shared in (explorer, again):
            shared.apply(FillMatrix("A", "random"))
        assert ptxlab.explore(again.link).state.codes("A").tobytes() == explorer.state.codes("A").tobytes()


@each(
    "link,sentence",
    [
        (with_log("fill"), "has no message 'fill'"),
        (with_log(["choose_instruction", DENSE]), "has no message"),
        (with_log(["fill_matrix", "B"]), "pattern is missing"),
        (with_log(["fill_matrix", "Q", "random", 0, 0]), "Q"),
        (with_log(["fill_matrix", "B", "moon", 0, 0]), "cannot be filled with 'moon'"),
        (with_log(["set_cell", "A", 99, 0, "1"]), r"A\[99\]\[0\] does not exist"),
        (with_log(["set_cell", "A", 10**30, 0, "1"]), "at most"),
        (with_log(["set_cell", "A", 0, 0, "9"]), "s4 holds"),
        (with_log(["set_cell", "A", "0", 0, "9"]), "takes a whole number"),
        (with_log(["set_cell", [], 0, 0, "9"]), "takes a text"),
        (with_log(["fill_matrix@", "B", "random"]), "damaged"),
        (with_log(["fill_matrix@-1", "B", "random"]), "damaged"),
        (with_log(["fill_matrix@" + "f" * 33, "B", "random"]), "damaged"),
        (with_log(["set_transfer", "shape", "16x64b"]), "multiplies matrices"),
        (with_log(*[FILL] * (MAX_LOGGED + 1)), "damaged"),
        (with_log(over=["A"]), "registers that"),
        (with_log(data=[["A"]]), "registers that"),
        (with_log(at=[None], element="b16"), "damaged"),
        (with_log(instruction="ldmatrix.sync.aligned.m8n8.x4.b16"), "damaged"),
        (with_log(instruction="ldmatrix.sync.aligned.m8n8.x4.b16", at=["x"], element="b16"), "damaged"),
        (with_log(FILL, instruction="ldmatrix.sync.aligned.m8n8.x4.b16", at=[None], element="b16"), "'B'"),
    ],
)
def test_a_bad_log_is_one_sentence(link: str, sentence: str) -> None:
    refuses(sentence, ptxlab.explore, link)


# -- observing -------------------------------------------------------------------------------------------


def test_observers_are_told_old_and_new() -> None:
    ex = ptxlab.explore(SPARSE)
    changes: list[Any] = []
    ex.observe(changes.append, ["A", "B", "C", "D", "metadata", "registers", "selection"])
    old = {name: getattr(ex, name) for name in ("A", "D", "metadata")}
    ex.A = np.zeros((16, 64))
    assert [change.name for change in changes] == ["A", "D", "metadata", "registers"]
    for change in changes[:3]:
        np.testing.assert_array_equal(change.old, old[change.name])
        np.testing.assert_array_equal(change.new, getattr(ex, change.name))
    assert changes[3].new["A"].sum() == 0 and changes[3].old["A"].sum() > 0
    changes.clear()
    ex.A = ex.A
    ex.lane = 5
    assert changes == []
    ex.selection = {"name": "D", "row": 9, "column": 3}
    assert [(change.name, change.old, change.new) for change in changes] == [
        ("selection", {}, {"name": "D", "row": 9, "column": 3})
    ]
    changes.clear()
    ex.instruction = DENSE
    assert {"metadata", "selection", "registers"} <= {change.name for change in changes}
    assert next(change.new for change in changes if change.name == "metadata") is None
    ex.unobserve_all()
    changes.clear()
    ex.C = np.ones((16, 8))
    assert changes == []


def test_traits_can_be_linked() -> None:
    traitlets = pytest.importorskip("traitlets")
    one, two = ptxlab.explore(DENSE), ptxlab.explore(DENSE, seed=5)
    traitlets.dlink((one, "A"), (two, "A"))
    np.testing.assert_array_equal(two.A, one.A)
    one.A = np.eye(16, 64)
    np.testing.assert_array_equal(two.A, np.eye(16, 64))
    one.undo()
    np.testing.assert_array_equal(two.A, one.A)


def test_selections_are_read_and_assigned() -> None:
    ex = ptxlab.explore(DENSE)
    assert ex.selection == {}
    ex.selection = ("D", 9, np.int64(3))
    assert ex.selection == ex.view.selected == {"name": "D", "row": 9, "column": 3}
    assert ex.view.trace["row"] == 9
    for bad, part in [
        (("D", 16, 0), "D[16][0] does not exist; D is 16x8"), (("Q", 0, 0), "there is no matrix 'Q'"),
        (("D", 1.5, 0), "it takes a cell"),
        ("D", "it takes a cell"), (5, "it takes a cell"), ({"name": "D"}, "it takes a cell"),
        (("D", True, 0), "it takes a cell"),
    ]:  # fmt: skip
        with pytest.raises(PtxlabError) as error:
            ex.selection = bad
        assert part in str(error.value)
        assert ex.selection == {"name": "D", "row": 9, "column": 3}
    ex.selection = None
    assert ex.selection == {}


# -- what is sent ----------------------------------------------------------------------------------------


def sent_by(ex: Any, do: Any) -> dict[str, int]:
    """Names of the view's traits in the messages that an action sends, and how often."""
    count: dict[str, int] = {}

    def send_state(key: Any = None) -> None:
        for name in key:
            count[name] = count.get(name, 0) + 1

    original = ex.view.send_state
    ex.view.send_state = send_state
    try:
        do()
    finally:
        ex.view.send_state = original
    return count


@pytest.mark.parametrize(
    ("edit", "names"),
    [
        (lambda ex: ex.apply(SetCell("C", 0, 0, "5")), {"C", "D", "lane_registers"}),
        (lambda ex: ex.apply(SetCell("C", 15, 7, "5")), {"C", "D"}),
        (lambda ex: ex.apply(SetCell("B", 63, 7, "5")), {"B", "D"}),
        (lambda ex: setattr(ex, "A", np.zeros((16, 64))), {"A", "stored", "E", "D", "lane_registers"}),
        (lambda ex: setattr(ex, "B", ex.B), set()),
        (lambda ex: setattr(ex, "lane", 9), {"lane", "lane_registers"}),
        (lambda ex: ex.redo(), set()),
        (lambda ex: setattr(ex, "against", "sm_80"), {"D", "toolbar"}),
    ],
)
def test_only_what_changed_is_sent(edit: Any, names: set[str]) -> None:
    ex = ptxlab.explore(SPARSE)
    ex.apply(FillMatrix("B", "ones"))
    count = sent_by(ex, lambda: edit(ex))
    assert set(count) - {"selected"} == names
    assert set(count.values()) <= {1}


def test_undo_sends_what_it_changes() -> None:
    ex = ptxlab.explore(DENSE)
    ex.apply(SetCell("B", 63, 7, "5" if ex.B[63, 7] != 5 else "4"))
    assert set(sent_by(ex, ex.undo)) == {"B", "D", "toolbar"}  # the bar: nothing to undo, something to redo


# -- two chips -------------------------------------------------------------------------------------------


def test_the_chips_are_those_with_a_model() -> None:
    ex = ptxlab.explore(HALF)
    assert ex.chip == "sm_90" and ex.against is None and not ex.differ.any()
    assert {chip for _, chip in ex.view.toolbar["chips"]} - {"GPU"} == {
        chip for chip in GENERATIONS if has(ex.instruction, chip)
    }


@pytest.fixture
def against_ampere() -> ptxlab.Explorer:
    """Hopper beside Ampere: 32768 + 1/1024 is exact in the 25 bits of the one, not in the 24 of the other."""
    ex = with_large_sums()
    ex.against = "sm_80"
    return ex


def with_large_sums() -> ptxlab.Explorer:
    """Random matrices whose sums the chips round differently."""
    ex = ptxlab.explore(HALF)
    rng = np.random.default_rng(1)
    ex.A, ex.B, ex.C = rng.normal(size=(16, 16)), rng.normal(size=(16, 8)), rng.normal(size=(16, 8)) * 1000
    return ex


def words_of(ex: ptxlab.Explorer, chip: str) -> Any:
    """The registers of D that a chip gives."""
    return ex.instruction.emulate(*(ex.registers[name] for name in "ABC"), model=chip)


def test_two_chips_side_by_side(against_ampere: ptxlab.Explorer) -> None:
    ex = against_ampere
    hopper, ampere = (ex.instruction.d.unpack_codes(words_of(ex, chip)) for chip in ("sm_90", "sm_80"))
    np.testing.assert_array_equal(ex.differ, hopper != ampere)
    assert 0 < ex.differ.sum() < 128
    sent = ex.view.D
    np.testing.assert_array_equal(np.frombuffer(sent["codes"], np.uint32).reshape(16, 8), hopper)
    np.testing.assert_array_equal(np.frombuffer(sent["other_codes"], np.uint32).reshape(16, 8), ampere)
    assert sent["differ_count"] == ex.differ.sum() and sent["chips"] == ["sm_90", "sm_80"]


def test_a_chip_is_chosen_on_the_page(against_ampere: ptxlab.Explorer) -> None:
    """And compared with itself, or with none."""
    ex = against_ampere
    ampere = words_of(ex, "sm_80")
    ex.page._handle_custom_msg({"type": "set_chips", "chip": "sm_80", "against": "sm_80"}, None)
    np.testing.assert_array_equal(ex.D, ex.instruction.d.unpack(ampere))
    np.testing.assert_array_equal(ex.registers["D"], ampere)
    assert (ex.chip, ex.view.D["differ_count"]) == ("sm_80", 0)
    ex.page._handle_custom_msg({"type": "set_chips", "chip": "sm_80", "against": None}, None)
    assert ex.against is None and "differ" not in ex.view.D
    ex.view.tracing, ex.selection = True, ("D", 0, 0)
    assert ex.state.trace(0, 0).code == ex.instruction.d.unpack_codes(ampere)[0, 0]


def test_chips_without_a_model_are_refused(against_ampere: ptxlab.Explorer) -> None:
    """And another instruction begins with its own."""
    ex = against_ampere
    for bad in ("sm_70", "moon", 5):
        with pytest.raises(PtxlabError, match="takes sm_90, sm_80"):
            ex.chip = bad
    ex.instruction = NVF4
    assert (ex.chip, ex.against) == ("sm_120", None)


def test_the_gpu_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxlab.gpu, "available", lambda ins=None: True)

    def fails(operands: Operation) -> Any:
        raise PtxlabError("the GPU fell off the bus")

    monkeypatch.setattr(ptxlab.gpu, "run", fails)
    ex = ptxlab.explore(DENSE)
    ex.against = "GPU"
    assert (ex.view.problem, ex.chip, ex.against, ex.view.toolbar["against"]) == (
        "the GPU fell off the bus",
        "sm_90",
        None,
        None,
    )
    monkeypatch.setattr(ptxlab.gpu, "run", lambda operands: emulate(operands) ^ np.uint32(1))
    ex.chip, ex.against = "GPU", "sm_90"
    assert ex.differ.all() and ex.view.D["chips"] == ["GPU", "sm_90"]


# -- what a page may send --------------------------------------------------------------------------------

CELL = {"type": "paste", "name": "A", "row": 0, "column": 0, "text": "1"}
REGISTER = {"type": "set_register", "name": "A", "lane": 0, "register": 0, "text": "0"}
FLIP = {"type": "flip_bit", "name": "A", "lane": 0, "register": 0, "bit": 0}
ODD: list[Any] = [None, [], {}, "x", -1, 10**30, 1.5, float("nan"), True, "", "9" * 5000, {"a": 1}]


@each(
    "message",
    [
        None, 5, "paste", [], {}, {"type": None}, {"type": []}, {"type": "restore"}, {"type": "__init__"},
        {"type": "fill_matrix", "name": "A", "pattern": "ones"},
        {"type": "set_option", "name": "selector", "value": 1}, {"type": "paste"}, {**CELL, "row": 16},
        {**CELL, "column": 64}, {**CELL, "name": "D"},
        {**CELL, "text": "1\t" * 99}, {**CELL, "text": "x" * 3_000_000}, {**CELL, "text": "\x00"},
        {**CELL, "text": "1e999"},
        {**CELL, "text": "0x" + "f" * 999},
        {**REGISTER, "lane": 32}, {**REGISTER, "text": "f" * 9}, {**REGISTER, "name": "stored"},
        {**FLIP, "bit": 32}, {**FLIP, "register": 4},
        *(
            {**message, field: odd}
            for message in (CELL, REGISTER, FLIP)
            for field in message
            for odd in ODD
            if not (field == "text" and odd == "")
        ),
    ],
)  # fmt: skip
def test_bad_messages_change_nothing(message: Any, quiet: Any) -> None:
    before = shown(quiet.state)
    quiet.page._handle_custom_msg(message, [])
    assert shown(quiet.state) == before
    assert not quiet.state.history.past
    assert len(quiet.view.problem) < 6000


@pytest.fixture(scope="module")
def quiet() -> Any:
    return ptxlab.explore(DENSE)


@each(
    "state",
    [
        None, [], {"lane": 99}, {"lane": -1}, {"lane": "4"}, {"lane": None}, {"lane": True},
        {"selected": {"name": "D"}}, {"selected": 5},
        {"selected": {"name": "D", "row": "x", "column": 0}},
        {"selected": {"name": "D", "row": 99, "column": 0}},
        {"selected": {"name": "Q", "row": 0, "column": 0}}, {"zoom": 10**9}, {"zoom": "big"},
        {"colour_by": "mood"}, {"colour_by": []},
        {"show_c": "yes"}, {"tracing": 5}, {"instruction": {}}, {"A": {}}, {"problem": "x"},
        {"lane_registers": 1}, {"nothing": 1}, {"_esm": "alert(1)"}, {"_explorer": "alert(1)"}, {"trace": {}},
    ],
)  # fmt: skip
def test_bad_state_from_the_page_is_not_taken(state: Any, quiet: Any) -> None:
    before = quiet.page.get_state()
    quiet.page.set_state(state)
    assert quiet.page.get_state() == before


def test_good_state_from_the_page_is_taken(quiet: Any) -> None:
    quiet.view.set_state(
        {
            "lane": 4,
            "selected": {"name": "D", "row": 9, "column": 3},
            "zoom": 150,
            "colour_by": "value",
            "tracing": True,
        }
    )
    assert (quiet.lane, quiet.selection["row"], quiet.view.zoom, quiet.view.colour_by) == (4, 9, 150, "value")
    assert quiet.view.trace["title"].startswith("D[9][3]")


def test_nothing_of_the_widgets_is_overridden_unawares(quiet: Any) -> None:
    """No name of the Explorer, private or not, is one of ipywidgets' own; JupyterLab can show it.

    Only `close` is: what the Explorer opened is to be closed with it; and `static_html`, which is to be.
    """
    kind = type(quiet)
    inherited = {
        name
        for base in kind.__mro__[1:]
        for name, thing in vars(base).items()
        if callable(thing) or isinstance(thing, property)
    }
    own = {name for name in {*vars(kind), *vars(quiet)} if not name.startswith("__")}
    assert own & inherited == {"close", "static_html"}
    assert repr(quiet).startswith("Explorer(")
    assert "application/vnd.jupyter.widget-view+json" in quiet._repr_mimebundle_()[0]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A GPU of sm_80, which its model stands for; what was compiled and run there."""
    ran: list[str] = []
    monkeypatch.setattr(ptxlab.gpu, "available", lambda ins=None: True)
    monkeypatch.setattr(ptxlab.gpu, "status", lambda ins=None: "a GPU is ready")
    monkeypatch.setattr(ptxlab.gpu, "device_target", lambda: "sm_80")
    monkeypatch.setattr(ptxlab.gpu, "model", lambda ins: "sm_80")
    monkeypatch.setattr(ptxlab.gpu, "compile", lambda source, target, **options: ran.append(target))

    def run(operands: Operation) -> Any:
        ran.append("run")
        return emulate(operands, model="sm_80")

    monkeypatch.setattr(ptxlab.gpu, "run", run)
    return ran


def test_the_gpu_button_says_what_it_does(ran: list[str]) -> None:
    """Compiling, running, the time; compared with the model of the GPU's chip."""
    ex = with_large_sums()
    statuses: list[tuple[str, bool]] = []
    ex.view.observe(
        lambda: statuses.append((ex.view.toolbar["gpu"]["status"], ex.view.toolbar["gpu"]["busy"])), "toolbar"
    )
    ex.page._handle_custom_msg({"type": "run_on_gpu"}, None)
    assert statuses[:2] == [("compiling for sm_80 …", True), ("running on sm_80 …", True)]
    assert statuses[-1][0].startswith("the GPU took ") and not statuses[-1][1]
    assert (ex.chip, ex.against, ex.differ.sum(), ran) == ("sm_80", "GPU", 0, ["sm_80", "run"])


def test_the_gpu_runs_again_for_every_press_and_not_for_another_chip(ran: list[str]) -> None:
    ex = with_large_sums()
    ex.run()
    assert ran == ["sm_80", "run"]
    ex.run()
    assert ran == ["sm_80", "run", "sm_80", "run"]
    ex.chip = "sm_90"
    assert 0 < ex.differ.sum() < 128 and ran[-1] == "run" and len(ran) == 4


@pytest.mark.usefixtures("ran")
def test_the_gpu_button_can_be_pressed_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ex = ptxlab.explore(HALF)
    ex.run()

    def refuse(*_: Any, **__: Any) -> Any:
        raise PtxlabError("the compiler is not installed")

    monkeypatch.setattr(ptxlab.gpu, "compile", refuse)
    before = ex.view.toolbar
    ex.page._handle_custom_msg({"type": "run_on_gpu"}, None)
    assert ex.view.problem == "the compiler is not installed"
    assert ex.view.toolbar == before and not before["gpu"]["busy"]
    monkeypatch.setattr(ptxlab.gpu, "available", lambda ins=None: False)
    refuses("a GPU is ready", ex.run)


@pytest.mark.parametrize(
    "mnemonic", [HALF, SPARSE, NVF4, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"]
)
def test_a_selection_chooses_its_lane(mnemonic: str) -> None:
    """As a click does: of several holders the one that is read; a cell that no lane holds leaves the lane."""
    ex = ptxlab.explore(mnemonic)
    ins = ex.instruction
    ex.selection = "D", 9, 3
    assert ex.lane == ins.d.where(9, 3)[0].lane == ins.d.layout.locate(9, 3)[0]
    if ins.b.layout is None:
        ex.selection = "B", 3, 9
        assert ex.lane == ins.d.where(9, 3)[0].lane
    if ins.sparse:
        stored, nibbles = ins.compress(ex.A)
        kept = ins.expand(np.ones_like(stored), nibbles)[4]
        for column in range(ins.k):
            ex.lane = 31
            ex.selection = "A", 4, column
            lanes = {
                place.lane
                for at in range(ins.a.shape[1])
                if ex.state.operation.stored_columns()[4, at] == column
                for place in ins.a.where(4, at)
            }
            assert ({ex.lane} if kept[column] else {31}) == (lanes or {31})
