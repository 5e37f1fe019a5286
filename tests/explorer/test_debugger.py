"""The debugger's page without a browser: what it shows of a session, and what it does when the page asks."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.explorer.debugger import debugger as module
from ptxlab.explorer.debugger.debugger import Debugger, register_texts
from ptxlab.explorer.debugger.debugger_style import debugger_style
from ptxlab.explorer.debugger.debugger_widget import DebuggerWidget
from ptxlab.memory import Tile
from ptxlab.views.palette import contrast
from ptxlab.views.waiting_picture import waiting_html
from tests.simulator.kernel_cases import CASES

SOURCE = r"""extern "C" __global__ void turn(float* x, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float v = tile[63 - threadIdx.x];
  x[threadIdx.x] = v + n / (x[threadIdx.x] - 5);
}
extern "C" __global__ void crossed(float* x, int n) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    asm volatile("bar.sync 2, 64;" ::: "memory");
  } else if (threadIdx.x < 64) {
    asm volatile("bar.sync 2, 64;" ::: "memory");
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  x[threadIdx.x] = 1;
}
extern "C" __global__ void many(float* x, int n) {
  for (int i = 0; i < 400; ++i) { x[threadIdx.x] += n; __syncthreads(); }
}"""


def opened(name: str = "turn", block: int = 64) -> tuple[Debugger, np.ndarray[Any, Any]]:
    x = np.arange(64, dtype=np.float32)
    return Debugger(ptxlab.kernel(SOURCE, name).debug(1, block, x, 3)), x


def sent(debugger: Debugger, kind: str, **fields: Any) -> dict[str, Any]:
    """The state after a message and all that it starts; the state is what JSON has."""
    debugger.handle({"type": kind, **fields})
    while debugger._slices is not None:
        debugger.handle({"type": "go_on"})
    return json.loads(json.dumps(debugger.state()))  # type: ignore[no-any-return]


def row_of(state: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in state["registers"]["rows"] if row["means"] == name or row["name"] == name)


def test_motion_and_what_it_shows() -> None:
    debugger, x = opened()
    program = debugger.program()
    source, ptx = program["columns"]
    assert "".join(text for _, text in source["texts"][3]) == "  __syncthreads();"
    bar = next(i for i, parts in enumerate(ptx["texts"]) if "bar.sync" in "".join(text for _, text in parts))
    assert ptx["lines"][bar] == 4 and set(program["code"]) >= {3, 4, 5, 6}
    state = sent(debugger, "move", motion="step", line=1, warp=0)
    assert state["place"]["line"] == 3 and state["warps"]["rows"][0]["state"] == "next"
    state = sent(debugger, "move", motion="run_to", line=5)
    assert state["place"]["line"] == 5 and row_of(state, "threadIdx.x")["values"] == [
        str(i) for i in range(32)
    ]
    assert row_of(state, "n")["values"] == ["3"] * 32
    state = sent(debugger, "move", motion="run_to", line=ptx["numbers"][bar], ptx=True)
    assert state["place"]["position"] == state["place"]["length"], "it does not run again"
    state = sent(debugger, "move", motion="back_to", line=ptx["numbers"][bar], ptx=True)
    assert state["place"]["text"].startswith("bar.sync") and x[0] == 0
    before = state["place"]["position"]
    state = sent(debugger, "move", motion="step", warp=1)
    assert state["place"]["position"] > before and 1 in state["place"]["warps"]
    state = sent(debugger, "choose_warp", warp=1)
    assert state["warps"]["chosen"] == state["registers"]["warp"] == 1
    assert "warp=9" in sent(debugger, "choose_warp", warp=9)["place"]["problem"]
    assert sent(debugger, "move", motion="go", position=0)["place"]["problem"] == ""


def test_registers_that_a_step_changed_are_marked() -> None:
    debugger, _ = opened()
    sent(debugger, "move", motion="run_to", line=5)
    written = debugger.session.instruction
    assert written is not None
    state = sent(debugger, "move", motion="step", warp=0)
    changed = [row["name"] for row in state["registers"]["rows"] if row["changed"]]
    assert changed == [register.name for register in written.registers[1]]
    assert json.loads(json.dumps(debugger.state()))["registers"] == state["registers"], (
        "also when asked again"
    )
    reads = {row["name"] for row in state["registers"]["rows"] if row["role"] == "read"}
    assert debugger.session.instruction is not None
    assert reads == {register.name for register in debugger.session.instruction.registers[0]}


def test_texts_of_registers() -> None:
    ones = np.full(2, 0x3F800000, np.uint32)
    assert register_texts(ones, "f32") == ["1", "1"] and register_texts(ones, "") == ["3f800000"] * 2
    assert register_texts(np.array([1 << 44, 0], np.uint64), "u64") == ["100000000000", "0"]
    assert register_texts(np.array([True]), "") == ["true"]


def test_breakpoints_and_watches_of_the_page() -> None:
    debugger, _ = opened()
    state = sent(debugger, "set_breakpoint", line=5, when="tid > 3")
    assert state["points"]["breakpoints"] == [{"line": 5, "ptx": False, "when": "tid > 3"}]
    assert "'tid > 3' cannot be computed" in sent(debugger, "move", motion="run")["place"]["problem"]
    state = sent(debugger, "set_breakpoint", line=5)
    assert [point["when"] for point in state["points"]["breakpoints"]] == [""]
    sent(debugger, "move", motion="go", position=0)
    assert sent(debugger, "move", motion="run")["place"]["stopped"] == "breakpoint at line 5"
    assert sent(debugger, "set_breakpoint", line=5, remove=True)["points"]["breakpoints"] == []
    assert "line=2: it has no instructions" in sent(debugger, "set_breakpoint", line=2)["place"]["problem"]
    sent(debugger, "move", motion="go", position=0)
    state = sent(debugger, "set_watch", row=0, column=7)
    assert state["points"]["watches"] == ["x: f32[64], byte 28"]
    state = sent(debugger, "move", motion="run")
    assert "has changed" in state["place"]["stopped"] and [0, 7] in state["memory"]["changed"]
    state = sent(debugger, "set_watch", remove=0)
    assert state["points"]["watches"] == []
    register = row_of(state, "threadIdx.x")["name"]
    assert sent(debugger, "set_watch", register=register)["points"]["watches"] == [f"{register} of warp 0"]


def test_memory_through_a_swizzle() -> None:
    """What a tile stores is read back in rows and columns; the plain view shows the bytes in their order."""
    tile = Tile(bits=16, rows=16, k=64, swizzle=128)
    matrix = np.arange(16 * 64, dtype=np.float16).reshape(16, 64)
    stored = tile.store(matrix.view(np.uint16))
    source = "__global__ void f(unsigned char* x) { x[0] = x[0]; }"
    debugger = Debugger(ptxlab.kernel(source).debug(1, 32, stored))
    state = sent(debugger, "show_memory", dtype="f16", rows=16, columns=64, swizzle=128)
    shown = np.array([[float(text) for text in row] for row in state["memory"]["cells"]])
    assert np.array_equal(shown, matrix[:, :32])
    state = sent(debugger, "show_memory", column=32)
    assert float(state["memory"]["cells"][3][0]) == matrix[3, 32]
    plain = sent(debugger, "show_memory", swizzle=0, column=0)["memory"]["cells"]
    assert float(plain[1][0]) == stored.view(np.float16)[64] != matrix[1, 0]
    assert "a tile of" in sent(debugger, "show_memory", swizzle=128, columns=3)["place"]["problem"]
    assert "as 'f4'" in sent(debugger, "show_memory", dtype="f4")["place"]["problem"]


def test_who_wrote_opens_node_by_node() -> None:
    debugger, x = opened()
    sent(debugger, "move", motion="run")
    state = sent(debugger, "who_wrote", row=0, column=5)
    origin = state["origin"]
    assert (origin["opcode"], origin["line"], origin["lane"]) == ("st.global.f32", 6, 5)
    steps = 0
    while leaf := next((node for node in _nodes(origin) if node["more"]), None):
        assert leaf["position"] is None
        origin = sent(debugger, "follow", node=leaf["node"])["origin"]
        steps += 1
    whole = debugger.session.who_wrote(x, 5)
    assert [node["what"] for node in _nodes(origin)] != [] and steps > 5
    opcodes = {node["opcode"] for node in _nodes(origin)}
    assert opcodes == {part.opcode for part in whole.walk()}, "node by node the whole tree"
    assert sent(debugger, "follow", node=0)["origin"] == {}
    sent(debugger, "show_memory", what="shared")
    state = sent(debugger, "who_wrote", row=0, column=9)
    assert (state["origin"]["opcode"], state["origin"]["lane"]) == ("st.shared.f32", 9)
    assert state["memory"]["cells"][0][9] == "9"
    assert "node 99" in sent(debugger, "follow", node=99)["place"]["problem"]


def _nodes(origin: dict[str, Any]) -> list[dict[str, Any]]:
    return [origin, *(node for source in origin["sources"] for node in _nodes(source))]


def test_the_first_infinity_is_found() -> None:
    debugger, _ = opened()
    state = sent(debugger, "find_first", what="infinity")
    assert state["origin"]["line"] == 6 and state["origin"]["lane"] == 5 and state["warps"]["chosen"] == 0
    assert (
        "no arithmetic instruction of this launch gives a NaN"
        in (sent(debugger, "find_first", what="NaN")["place"]["problem"])
    )


def test_long_motions_can_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page asks for slice after slice; in between the position is nowhere or where it has come to."""
    monkeypatch.setattr(module, "_SLICE", 0.0)
    debugger, x = opened("many")
    session = debugger.session
    session._rate = 1.0  # an instruction in a slice, until it is measured
    debugger.handle({"type": "go_on"})
    assert debugger.state()["place"]["busy"] == "look_ahead" and session.position == 0 and x[0] == 0
    for _ in range(10_000):
        debugger.handle({"type": "go_on"})
        assert session.position == 0 and x[0] == 0, "looking ahead leaves everything where it is"
        if session.length is not None:
            break
    length = session.length
    assert length is not None and debugger.state()["place"]["busy"] == ""
    assert not debugger.state()["place"]["searches"]
    session._rate = 1.0
    debugger.handle({"type": "move", "motion": "run"})
    assert debugger.state()["place"]["busy"] == "run"
    debugger.handle({"type": "halt"})
    state = debugger.state()["place"]
    assert state["busy"] == "" and state["stopped"] == "interrupted" and state["position"] < length
    session.go(length)
    session._rate = 1.0
    debugger.handle({"type": "move", "motion": "run_back"})
    debugger.handle({"type": "halt"})
    assert session.position == length, "what went backwards returns to where it began"
    debugger.handle({"type": "move", "motion": "run_back"})
    session.go(7)  # somebody else moves it
    debugger.handle({"type": "go_on"})
    assert session.position == 7 and debugger.state()["place"]["busy"] == ""


def test_a_launch_without_an_end_is_not_searched_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "__global__ void endless(volatile int* x) { while (*x < 1 << 30) *x += 1; }"
    monkeypatch.setattr(module, "_SLICE", 0.01)
    monkeypatch.setattr(module, "_MAX_SEARCH", 0.02)
    debugger = Debugger(ptxlab.kernel(endless).debug(1, 1, np.zeros(1, np.int32)))
    assert debugger.state()["place"]["searches"]
    for _ in range(3):
        debugger.handle({"type": "go_on"})
    place = debugger.state()["place"]
    assert (place["searches"], place["busy"], place["length"], place["position"]) == (False, "", None, 0)
    monkeypatch.setattr(module, "_MAX_SEARCH", 60.0)
    other = Debugger(ptxlab.kernel(endless).debug(1, 1, np.zeros(1, np.int32)))
    other.handle({"type": "halt"})
    assert not other.state()["place"]["searches"], "also when it is told to stop"


def test_the_picture_of_a_hang() -> None:
    debugger, _ = opened("crossed")
    state = sent(debugger, "move", motion="run")
    assert state["waiting"].count("<section>") == 2 and "<svg" in state["waiting"]
    waiting = debugger.session.error.waiting  # type: ignore[union-attr]
    assert len(waiting.cycle) == 2
    page = waiting_html(waiting, styled=True)
    for text in ("barrier 1", "barrier 2", "32 of 64 arrivals", "ptxlab.cu:10"):
        assert text in page, text
    assert {row["state"] for row in state["warps"]["rows"]} == {"waits"}
    assert sent(debugger, "move", motion="back", warp=0)["waiting"] == ""


def test_a_matrix_instruction_opens_with_its_operands() -> None:
    case = CASES["gemm_mma_swizzled"]
    session = case.compiled().debug(case.grid, case.block, *case.inputs(), shared=case.shared)
    mma = next(i for i in session.kernel.function.instructions if i.parts[0] == "mma")
    debugger = Debugger(session)
    state = sent(debugger, "move", motion="run_to", line=mma.line, ptx=True)
    assert state["place"]["is_matrix"]
    sent(debugger, "choose_warp", warp=state["place"]["warps"][0])
    sent(debugger, "open_explorer")
    assert debugger.explorer is not None
    first = next(iter(mma.operands[1].items)).name  # type: ignore[union-attr]
    expected = session.registers(debugger.warp)[first].view(np.uint32)
    assert np.array_equal(debugger.explorer.state.registers("A")[:, 0], expected)
    sent(debugger, "move", motion="go", position=0)
    assert "is no matrix instruction" in sent(debugger, "open_explorer")["place"]["problem"]


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("text", "the page sent no message"),
        ({"type": "eval"}, "unknown message 'eval'"),
        ({"type": "move", "motion": "__init__"}, "motion of Move: found '__init__'"),
        ({"type": "move", "motion": "go"}, "position: found None"),
        ({"type": "move", "motion": "go", "position": -1}, "positions are counted from 0 on"),
        ({"type": "show_memory", "what": "nothing"}, "memory 'nothing': it is no array of this launch"),
        ({"type": "show_memory", "rows": -1}, "rows -1: it is 0 to"),
        ({"type": "who_wrote", "row": 99, "column": 0}, r"element [99][0]: there are"),
        ({"type": "who_wrote", "register": "%none"}, "register='%none': there are"),
        ({"type": "set_watch", "remove": 3}, "watch 3: there are 0"),
    ],
)
def test_what_a_page_may_not_ask_is_refused_in_a_sentence(message: object, sentence: str) -> None:
    debugger, _ = opened()
    debugger.handle(message)
    assert sentence in debugger.state()["place"]["problem"]
    assert debugger.session.position == 0


def test_the_widget_sends_what_has_changed() -> None:
    debugger, x = opened()
    widget = DebuggerWidget(debugger.session)
    answers: list[Any] = []
    widget.send = lambda content, buffers=None: answers.append(content)
    widget._handle_custom_msg({"type": "move", "motion": "run"}, [])
    assert answers == [{"answered": True}] and widget.place["where"] == "the end" and x[0] != 0
    widget.set_state({"program": {"title": "<img src=x onerror=alert(1)>"}})  # as a page sends it
    assert widget.program["title"].startswith("kernel turn")
    assert "__syncthreads" in widget.static_html() and "turn, position" in widget.static_html()
    widget.close()
    assert "<header>" in str(debugger.session._repr_html_())


def test_text_on_the_colours_of_the_debugger_can_be_read() -> None:
    pairs = re.findall(r"--[\w-]+: (#\w+); --on-[\w-]+: (#\w+);", debugger_style())
    assert len(pairs) > 64 and min(contrast(*pair) for pair in pairs) >= 4.5


def test_a_hang_in_a_notebook_shows_the_picture(capsys: pytest.CaptureFixture[str]) -> None:
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython() or __import__("IPython").get_ipython()
    shell.push({"run": lambda: ptxlab.kernel(SOURCE, "crossed").simulate(1, 64, np.zeros(64, "f4"), 1)})
    shell.run_cell("run()")
    assert "who waits for whom" in capsys.readouterr().out
    with pytest.raises(PtxlabError):
        ptxlab.kernel(SOURCE, "crossed").simulate(1, 64, np.zeros(64, "f4"), 1)
