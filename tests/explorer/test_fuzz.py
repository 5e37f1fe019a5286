"""Hostile calls, messages and links: the Explorer answers, or refuses with a sentence and changes nothing.

Seeded; PTXLAB_FUZZ=N makes N tries of each kind instead of a few hundred.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.errors import PtxlabError, quoted
from ptxlab.explorer import ExplorerState, edits, links
from ptxlab.explorer.cells import parse_cell
from ptxlab.explorer.page.page_values import register_fields
from ptxlab.explorer.saving import export
from ptxlab.explorer.session import decode_message

pytest.importorskip("anywidget")

from ptxlab.explorer.page.page_model import parse_selection
from tests.explorer.test_protocol import EXAMPLES
from tests.sampling import EXHAUSTIVE

TRIES = int(os.environ.get("PTXLAB_FUZZ", "200" if EXHAUSTIVE else "60"))
DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
WGMMA = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
TENSOR = "tcgen05.mma.sp.cta_group::1.kind::f16"
MOVE = "tcgen05.st.sync.aligned.16x64b.x2.b32"
PRODUCTS = (DENSE, SPARSE, SCALED, WGMMA, TENSOR)
STARTS = (*PRODUCTS, MOVE)

MARK = "qzj"  # what long inputs are made of, to find them again in a message
MAX_LETTERS, MAX_REPEATED, MAX_SECONDS = 700, 80, 5.0


class Hostile:
    """Raises at whatever is asked of it."""

    def _refuse(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no")

    __eq__ = __hash__ = __repr__ = __str__ = __iter__ = __len__ = __index__ = __float__ = __array__ = _refuse
    __bool__ = __getitem__ = __fspath__ = __contains__ = __lt__ = _refuse


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


#: What JSON can carry, and what Python can pass besides.
JSON_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3, 7, 15, 16, 31, 32, 64, 1 << 31, (1 << 31) + 1, -(1 << 63), 10**400,
    10**5000, 0.0, 1.5, -0.0, float("nan"), float("inf"), 1e308, "", " ", "A", "B", "C", "D", "E", "stored",
    "SFA", "0x7", "-3", "nan", "1e999", "0x" + "f" * 5000, "1\t2\n3", '"', "'", "\0", "\ud800", "é",
    MARK * 2000, "9" * 5000,
    "sm_80", "GPU", "random", "ones", "one-hot", "selector", "scale_d", DENSE, SPARSE, SCALED, WGMMA,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16", [], [1], [1, 2, 3], ["D", 1, 2], {}, {"name": "D"}, {"A": 1},
    {"name": "D", "row": 9, "column": 3}, [MARK] * 500, nested(500),
)  # fmt: skip
PYTHON_VALUES: tuple[Any, ...] = (
    *JSON_VALUES, ..., b"A", object(), Hostile(), [Hostile()], {"A": Hostile()}, int, len, np.int8(3),
    np.uint64(1 << 63), np.float32(2), np.bool_(True), np.array(3), np.array([3]), np.array("A"),
    np.zeros((16, 64)), np.zeros((0,)),
    np.full((32, 4), -1), np.zeros((2, 32, 4), np.uint32), np.zeros((5, 32, 2), np.uint32), np.ones((16, 16)),
    np.zeros((32, 4), ">u4"), np.zeros((32, 4), complex), np.zeros((32, 4), object), np.array([["a"]]),
    np.ma.masked_array(np.zeros((16, 64)), np.eye(16, 64)), [[1, 2], [3]], Fraction(1, 3), range(3), {3, 4},
    np.full((16, 64), np.nan), np.full((16, 64), 1e300), ("D", 9, 3), ("D", np.int64(9), np.array(3)),
    np.eye(16, 64),
    {"A": np.zeros((32, 4), np.uint32), "B": np.zeros((3, 3))}, Path("x.html"), iter([1, 2]),
)  # fmt: skip


def problems_of(sentence: str) -> Iterator[str]:
    """What is wrong with a sentence: it has one line, a bounded length, and repeats little of the input."""
    if not sentence or "\n" in sentence or len(sentence) > MAX_LETTERS:
        yield f"no sentence, but {sentence:.1000}"
    if sentence.count(MARK) * len(MARK) > MAX_REPEATED:
        yield f"repeats too much: {sentence:.1000}"


def snapshot(ex: Any) -> dict[str, Any]:
    """What a refusal must leave as it was: the state, its history, and all traits but the problem."""
    state = ex.state
    traits = {name: getattr(ex.view, name) for name in type(ex.view).__annotations__}
    return {
        "instruction": state.form,
        "operands": {name: array.tobytes() for name, array in state.document.arrays.items()},
        "settings": state.document.settings,
        "history": [*map(id, state.history.past), *map(id, state.history.future)],
        "chips": state.chips,
        "random": repr(state.random.bit_generator.state),
        "notices": state.notices,
        "children": ex.children,
        "view": {name: value for name, value in traits.items() if name not in ("problem", "refusal")},
    }


@dataclass
class Outcome:
    """What became of a call."""

    refused: bool = False


class Failures:
    """Collects what broke the contract, so that one run tells all of it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextlib.contextmanager
    def watch(self, name: str, value: Any, ex: Any) -> Iterator[Outcome]:
        """A call that may answer, or refuse with one sentence and leave the Explorer as it was."""
        before, start, outcome = snapshot(ex), time.process_time(), Outcome()
        shown = "a hostile object" if isinstance(value, Hostile) else quoted(value)
        try:
            yield outcome
        except PtxlabError as error:
            outcome.refused = True
            self.lines += [f"{name} of {shown}: {problem}" for problem in problems_of(str(error))]
            after = snapshot(ex)
            changed = [part for part, content in after.items() if content != before[part]]
            if changed:
                self.lines.append(f"{name} of {shown} was refused ({error}), but changed {changed}")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.lines.append(f"{name} of {shown}: {error!r:.200} in {where.filename}:{where.lineno}")
        seconds = time.process_time() - start  # of this process, however busy the machine is
        if seconds > MAX_SECONDS:
            self.lines.append(f"{name} of {shown} took {seconds:.1f} s")


def explorers() -> dict[str, Any]:
    screens = {name: ptxlab.explore(name) for name in STARTS}
    screens[TENSOR].apply(edits.SetDescriptorField("n", "32"))  # quicker
    return screens


# -- calls from Python ---------------------------------------------------------------------------------------


def set_trait(widget: Any, name: str, value: Any) -> None:
    """Assign a trait of the view, whose type traitlets itself checks, in its own words."""
    from traitlets import TraitError

    with contextlib.suppress(TraitError):
        setattr(widget, name, value)


def actions(ex: Any, value: Any, other: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    """Everything that can be called or assigned, with a value in one place."""
    setters = ("A", "B", "C", "D", "metadata", "scale_a", "scale_b", "registers", "selection", "instruction")
    assign = {
        name: (lambda name=name: setattr(ex, name, value))
        for name in (*setters, "chip", "against", "lane", "lanes")
    }
    for name in ("lane", "pinned", "selected", "zoom", "colour_by", "label", "show_c", "tracing"):
        assign[f"view.{name}"] = lambda name=name: set_trait(ex.view, name, value)
    return assign | {
        "edit": lambda: ex.apply(value),
        "registers[A]": lambda: ex.registers.__setitem__("A", value),
        "registers[?]": lambda: ex.registers.__setitem__(value, np.zeros((32, 4), np.uint32)),
        "read registers": lambda: ex.registers[value],
        "in registers": lambda: value in ex.registers,
        "several edits": lambda: ex.apply(
            edits.FillMatrix("B", "random"), edits.SetChips(ex.chip, None), edits.SetValues("C", value)
        ),
        "instruction and edit": lambda: ex.apply(
            edits.ChooseInstruction(DENSE), edits.FillMatrix("A", "random"), edits.SetValues("A", value)
        ),
        "SetCell": lambda: ex.apply(edits.SetCell(value, 0, 1, "1")),
        "SetCell row": lambda: ex.apply(edits.SetCell("A", value, other, "1")),
        "SetCell text": lambda: ex.apply(edits.SetCell("A", 0, 1, value)),
        "SetCodes": lambda: ex.apply(edits.SetCodes("B", value)),
        "SetOption": lambda: ex.apply(edits.SetOption("selector", value)),
        "SetOption flag": lambda: ex.apply(edits.SetOption("scale_d", value)),
        "SetOption name": lambda: ex.apply(edits.SetOption(value, 1)),
        "FlipBit": lambda: ex.apply(edits.FlipBit("A", value, other, 0)),
        "FillMatrix": lambda: ex.apply(edits.FillMatrix("A", value)),
        "one-hot": lambda: ex.apply(edits.FillMatrix("B", "one-hot", value, other)),
        "figure": lambda: ex.figure(value),
        "figure of a lane": lambda: ex.figure("lane", lane=value),
        "figure of a matrix": lambda: ex.figure("A", shown=value, lane=3),
        "figure option": lambda: ex.figure("B", cell=value),
        "save_html": lambda: ex.save_html(folder / "x.html", value),
        "save_html path": lambda: None if isinstance(value, str | Path) else ex.save_html(value),
        "undo": ex.undo,
        "redo": ex.redo,
        "seed": lambda: ptxlab.explore(DENSE, seed=value).close(),
        "first A": lambda: ptxlab.explore(DENSE, A=value).close(),
        "explore": lambda: ptxlab.explore(value).close(),
        "ExplorerState": lambda: ExplorerState(value),
        "state.codes": lambda: ex.state.codes(value),
        "state.registers": lambda: ex.state.registers(value),
        "state.comparison": lambda: ex.state.comparison(value, other),
    }  # fmt: skip


@pytest.mark.slow
def test_hostile_calls_are_answered_or_refused_and_change_nothing(tmp_path: Path) -> None:
    choose = random.Random(14)
    screens = explorers()
    refused, failures = 0, Failures()
    for _ in range(TRIES):
        ex = screens[choose.choice(STARTS)]
        value, other = choose.choice(PYTHON_VALUES), choose.choice(PYTHON_VALUES)
        possible = actions(ex, value, other, tmp_path)
        name = choose.choice(list(possible))
        with failures.watch(name, value, ex) as outcome:
            possible[name]()
        refused += outcome.refused
    assert not failures.lines, "\n".join(failures.lines)
    assert TRIES // 10 < refused < TRIES


@pytest.mark.slow
def test_edits_of_hostile_parts_are_made_or_refused() -> None:
    """Every edit, each of its parts replaced in turn: also those that no page can send."""
    choose = random.Random(14)
    screens = explorers()
    failures = Failures()
    kinds = [kind for kind in vars(edits).values() if isinstance(kind, type) and issubclass(kind, edits.Edit)]
    kinds.remove(edits.Edit)
    good: dict[str, Any] = {
        "name": "B", "row": 1, "column": 0, "row2": 2, "column2": 1, "to_row": 4, "to_column": 0,
        "series": True, "text": "1", "pattern": "ones", "lane": 3, "register": 0, "bit": 2, "value": 1,
        "chip": "sm_90", "against": None, "mnemonic": DENSE, "a_space": "register", "address": 8, "size": 4,
        "values": np.zeros((64, 8)), "codes": np.zeros((64, 8), np.uint8),
        "registers": np.zeros((32, 2), np.uint32),
    }  # fmt: skip
    for _ in range(TRIES):
        ex, kind = screens[choose.choice(STARTS)], choose.choice(kinds)
        parts = {field.name: good[field.name] for field in fields(kind)}
        if parts:
            parts[choose.choice(list(parts))] = choose.choice(PYTHON_VALUES)
        if choose.random() < 0.5 and "name" in parts:
            parts["name"] = choose.choice(("A", "stored", "B", "C", "D", "E", "SFA", "SFB", "selector"))
        with failures.watch(kind.__name__, list(parts.values()), ex):
            ex.apply(kind(**parts))
    assert not failures.lines, "\n".join(failures.lines)


@pytest.mark.slow
def test_the_parts_below_answer_or_refuse() -> None:
    """Modules that the widget is made of, and that other code may call."""
    ex, failures = ptxlab.explore(SPARSE), Failures()
    state, f16 = ex.state, ptxlab.dtype("f16")
    parts: dict[str, Callable[[Any], Any]] = {
        "open_link": links.open_link,
        "decode_message": decode_message,
        "decode a type": lambda value: decode_message({"type": value}),
        "picture": lambda value: export.picture(state, value),
        "registers of a name": lambda value: register_fields(state.document, value, 0),
        "registers of a lane": lambda value: register_fields(state.document, "A", value),
        "a cell": lambda value: parse_cell.parse(f16, value),
        "a register": lambda value: parse_cell.parse_register(value, 32),
        "a block": parse_cell.parse_cells,
        "trace": lambda value: state.trace(value, 0),
        "lane_of": lambda value: state.operation.lane_of("A", value, 0),
        "copy_index": state.operation.copy_index,
        "codes": state.operation.codes,
        "values": state.operation.matrix,
        "registers": state.operation.registers,
        "codes of a chip": state.result,
        "selection": lambda value: parse_selection(value, {"D": (16, 8)}),
        "set_state": ex.page.set_state,
    }
    for name, part in parts.items():
        for value in PYTHON_VALUES:
            with failures.watch(name, value, ex):
                part(value)
    assert not failures.lines, "\n".join(failures.lines)


# -- messages from the page ----------------------------------------------------------------------------------


def plausible(choose: random.Random) -> dict[Any, Any]:
    """A message as a page sends it, with other numbers, matrices and texts; many are obeyed."""
    kind = choose.choice(list(EXAMPLES))
    message: dict[Any, Any] = {"type": kind, **EXAMPLES[kind]}
    for name in message.keys() & {"row", "column", "row2", "column2", "to_row", "to_column", "lane", "bit"}:
        message[name] = choose.randrange(choose.choice((2, 8, 16, 32)))
    if kind in ("set_cell", "paste", "set_register"):
        cells = (
            "0",
            "1",
            "-3",
            "0.5",
            "1e-9",
            "nan",
            "-inf",
            "0x3",
            "0b11",
            "",
            "6",
            "448",
            "65504",
            "2147483647",
        )
        rows = range(choose.choice((1, 1, 2, 3)))
        message["text"] = "\n".join(
            "\t".join(choose.choices(cells, k=choose.choice((1, 1, 2)))) for _ in rows
        )
    if "name" in message and kind != "set_option":
        message["name"] = choose.choice(("A", "stored", "B", "C", "E", "SFA", "SFB"))
    return message


def mutated(choose: random.Random) -> Any:
    """A message with something wrong: a value, a field too many or too few, another kind, or no message."""
    message = plausible(choose)
    for _ in range(choose.choice((1, 1, 1, 2))):
        names = list(message)
        match choose.randrange(8):
            case 0:
                message.pop(choose.choice(names))
            case 1:
                message[choose.choice(("extra", "type", "lane", "text", MARK * 99, "", "__class__"))] = (
                    choose.choice(JSON_VALUES)
                )
            case 2:
                return choose.choice((choose.choice(JSON_VALUES), [message], {"message": message}))
            case _:
                message[choose.choice(names)] = choose.choice(JSON_VALUES)
        if not message:
            break
    return message


@pytest.mark.slow
def test_hostile_messages_are_obeyed_or_refused_and_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    choose = random.Random(14)
    screens = explorers()
    refused, failures = 0, Failures()
    for _ in range(TRIES):
        name = choose.choice(STARTS)
        ex, message = screens[name], choose.choice((plausible, mutated))(choose)
        buffers = choose.choice(([], [], [], None, [b"abc"], [memoryview(bytes(7))], 5))
        ex.view.problem, before = "", snapshot(ex)
        with failures.watch("message", message, ex):  # through ipywidgets, as from a page
            ex.page._handle_custom_msg(message, buffers)
        if ex.view.problem:
            refused += 1
            failures.lines += [f"{quoted(message)}: {problem}" for problem in problems_of(ex.view.problem)]
            if snapshot(ex) != before:
                failures.lines.append(
                    f"{quoted(message)} was refused ({ex.view.problem}), but changed something"
                )
            if "please report" in ex.view.problem:
                failures.lines.append(f"{quoted(message)}: {ex.view.problem}")
        if choose.random() < 0.05:
            screens[name].close()
            screens[name] = ptxlab.explore(name)
    assert not failures.lines, "\n".join(failures.lines)
    assert not caplog.records, "nothing goes into the kernel's log"
    assert TRIES // 4 < refused < 9 * TRIES // 10
    for ex in screens.values():  # what was obeyed is all there
        again = ptxlab.explore(ex.link)
        for name in ex.registers:
            np.testing.assert_array_equal(again.registers[name], ex.registers[name])


def test_malformed_comm_messages_leave_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """What arrives below the messages: ipywidgets' own envelope, and states of traits."""
    choose = random.Random(14)
    ex = ptxlab.explore(SPARSE)
    failures = Failures()
    traits = [*type(ex.view).__annotations__, *ex.page.keys, *ex.keys, "moon", "_view_count"]
    for _ in range(TRIES):
        value = choose.choice(JSON_VALUES)
        state = {choose.choice(traits): value, choose.choice(traits): choose.choice(JSON_VALUES)}
        data: dict[str, Any] = {"method": "update", "state": state, "buffer_paths": []}
        envelope: Any = {"content": {"data": data}, "buffers": []}
        match choose.randrange(6):
            case 0:
                data[choose.choice(("method", "state", "buffer_paths", "content"))] = value
            case 1:
                data.pop(choose.choice(list(data)))
            case 2:
                envelope = choose.choice(({}, {"content": value}, {"content": {"data": value}}, value))
            case 3:
                data |= {
                    "buffer_paths": choose.choice(([["A", "codes"]], [["x"]], [[]], [5])),
                    "state": {"A": {}},
                }
                envelope["buffers"] = choose.choice(([], [b""], [b"abc"], [memoryview(bytes(2048))] * 3))
        children, codes = ex.children, ex.state.codes("A").tobytes()
        with failures.watch("state", envelope, ex):
            choose.choice((ex, ex.page))._handle_msg(envelope)
        assert ex.children == children and ex.state.codes("A").tobytes() == codes
        failures.lines += problems_of(ex.view.problem) if ex.view.problem else []
        assert ex.view.lane in range(32) and isinstance(ex.view.D["codes"], bytes)
    assert not failures.lines, "\n".join(failures.lines)
    assert not caplog.records, "nothing goes into the kernel's log"


# -- links ---------------------------------------------------------------------------------------------------


def packed(head: bytes, body: bytes, version: str) -> str:
    word = base64.urlsafe_b64encode(zlib.compress(head + b"\n" + body, 9)).decode().rstrip("=")
    return f"ptxlab:{version}{word}"


def unpacked(link: str) -> tuple[dict[str, Any], bytes]:
    word = link[len("ptxlab:a") :]
    head, _, body = zlib.decompress(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))).partition(b"\n")
    return json.loads(head), body


def links_of(name: str) -> list[str]:
    """A link of the first version, one with data, and one with fills, some of them undone, and edits."""
    ex = ptxlab.explore(name)
    for step in range(3):
        ex.apply(edits.FillMatrix("A", "random"), edits.FillMatrix("B", "random"))
        if step == 1:
            ex.undo()
    ex.apply(edits.FillMatrix("C", "one-hot", 3, 4), edits.SetCell("B", 1, 1, "1"))
    ex.lane = 3
    with_fills = ex.link
    ex.B = np.random.default_rng(3).integers(-3, 4, ex.B.shape)
    state = ex.state
    head = {
        "instruction": name, "a": "register", "options": state.options, "chip": ex.chip,
        "against": None, "seed": 0, "look": {"lane": 3, "pinned": [], "zoom": 100},
    }  # fmt: skip
    body = b"".join(array.tobytes() for _, array in sorted(state.operation.arrays.items()))
    links = [packed(json.dumps(head).encode(), body, "a"), ex.link, with_fills]
    for link in links:
        ptxlab.explore(link).close()
    ex.close()
    return links


def damaged(link: str, choose: random.Random) -> str:
    """The link with letters changed or lost, with other bytes inside, or with other words in its head."""
    head, body = unpacked(link)
    version = link[len("ptxlab:")]
    at, cut = choose.randrange(len(link)), choose.randrange(8, len(link))
    letter = choose.choice("AZaz09-_=+/ é\n\0")
    name = choose.choice(list(head))
    value = choose.choice(JSON_VALUES)
    if isinstance(value, int) and abs(value) > 10**4000:
        value = 10**4000  # json.dumps writes no more digits
    inner = dict(head)
    match choose.randrange(10):
        case 0:
            return link[:at] + letter + link[at + 1 :]
        case 1:
            return link[:cut]
        case 2:
            return link[:at] + link[choose.randrange(len(link)) :]
        case 3:
            return packed(json.dumps(head).encode(), body[: choose.randrange(len(body) + 1)] + b"x", version)
        case 4:
            flipped = bytearray(body or b"x")
            flipped[choose.randrange(len(flipped))] ^= 1 << choose.randrange(8)
            return packed(json.dumps(head).encode(), bytes(flipped), version)
        case 5:
            text = json.dumps(head).encode().replace(b'"', choose.choice((b"", b"'", b'""')))
            return packed(text, body, version)
        case 6:
            look = head.get("look", {})
            inner["look"] = {**look, choose.choice((*look, "moon", "A", "_esm")): value}
        case 7:
            part = choose.choice(("options", "edits"))
            words = head.get(part, {})
            inner[part] = {**words, choose.choice((*words, "moon", "swizzle", "A")): value}
        case 8:
            part = choose.choice(("fills", "skipped", "data", "log", "over"))
            inner[part] = [
                *head.get(part, []),
                choose.choice(
                    (value, ["A", value], ["C", "one-hot", 1, value], ["set_cell", "A", 1, value, "1"])
                ),
            ]
        case _:
            inner[name] = value
    return packed(json.dumps(inner).encode(), body, version)


@pytest.mark.slow
def test_hostile_links_open_or_are_refused_at_once() -> None:
    choose = random.Random(14)
    moved = ptxlab.explore(MOVE, address=4)
    moved.apply(edits.SetRegister("A", 3, 1, "0xabc"))
    links = [moved.link, *(link for name in PRODUCTS for link in links_of(name))]
    refused, failures, ex = 0, Failures(), ptxlab.explore(DENSE)
    for _ in range(TRIES):
        link = damaged(choose.choice(links), choose)
        with failures.watch("explore", link, ex) as outcome:
            ptxlab.explore(link).close()
        refused += outcome.refused
    assert not failures.lines, "\n".join(failures.lines)
    assert TRIES // 2 < refused < TRIES
