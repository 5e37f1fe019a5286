"""The presenter: applies edits to the state, puts what changed into the page model, and notifies observers.

Instructions that multiply show matrices, registers and results, with panels beside them; transfers show the
words or elements that they move, and where each goes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from .. import gpu, views
from ..errors import PtxlabError
from ..figures import chart
from ..gpu import codegen
from ..isa.tcgen05 import TensorInstruction
from .cells.refused_edit import RefusedEdit
from .documents.forms import Explorable
from .documents.product_document import GPU, NO_CHIP
from .edits import Edit, SetChips, change_instruction, make_edits
from .page.memory_descriptor import set_field
from .page.memory_view import MemoryLayout, lay_out, memory_data, memory_layout
from .page.page_model import MATRICES, PageModel, parse_selection, read_only
from .page.page_values import KnownRegisters, lane_registers
from .page.render import Rendering, Sources, render
from .page.tensor_view import find_load, load_data, thread_of
from .page.toolbar_data import toolbar
from .page.trace_data import FoundDifference, dot_product_steps, find_difference, picture_data, trace_columns
from .quiz.quiz import Quiz, Score, ShortQuestion, choose_questions
from .saving.export import gpu_note, picture
from .state import ExplorerState, LoadRequest, MemoryRequest

#: The Explorer's trait for each matrix that can be read and assigned.
MATRIX_TRAITS = {
    "A": "A",
    "B": "B",
    "C": "C",
    "D": "D",
    "E": "metadata",
    "SFA": "scale_a",
    "SFB": "scale_b",
}


class Observers:
    """Receives changes; this one ignores them, `notebook_page.TraitObservers` notifies traits."""

    def notify(self, name: str, new: Any) -> None:
        """A value changed."""

    def notify_registers(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Registers changed."""


class Presenter:
    """Connects an `ExplorerState` with the model of its page and with observers."""

    def __init__(self, state: ExplorerState, page_model: PageModel, observers: Observers) -> None:
        self.state, self.page_model, self.observers = state, page_model, observers
        self.memory = MemoryPanel(state, page_model)
        self.load = LoadPanel(state, page_model)
        self.trace = TracePanel(state, page_model)
        self.quiz = QuizPanel(state, page_model, observers)
        self._shown: Explorable | None = None  # the instruction that the page shows
        self._sent: Mapping[str, Sources] = {}  # what the screen was made from when it was sent
        self._known_registers: KnownRegisters = {}
        self._toolbar_sources: tuple[Any, ...] = ()  # what the toolbar was made from
        self._gpu_time = ""
        self._search_result = ""  # the result of the search for a difference, until the next change

    # -- what there is ------------------------------------------------------------------------------------

    @property
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and columns of every matrix."""
        return self.state.document.shapes

    def values(self, name: str) -> NDArray[Any]:
        """The values of a matrix; for metadata, its nibbles."""
        return self.state.document.values(name)

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that holds a cell in a register; None where none does."""
        lane = self.state.document.thread_of(name, row, column)
        return thread_of(self.state, name, row, column) if lane is None else lane

    # -- edits --------------------------------------------------------------------------------------------

    def apply(self, edits: Sequence[Edit]) -> None:
        """Make edits as one undo step, or none of them; `show` then sends the result."""
        self.preserve_view()
        make_edits(self.state, edits)
        self.forget_refusal()

    def choose(self, ins: Explorable) -> None:
        """Switch to another instruction; `show` then sends it."""
        self.preserve_view()
        change_instruction(self.state, ins)
        self.forget_refusal()

    def forget_refusal(self) -> None:
        """Forget what was refused or found before: it belongs to an earlier state."""
        self.state.refusal, self._search_result = None, ""

    def choose_chips(self, chip: str, against: str | None) -> None:
        """Show D of a chip, compared with another."""
        self.state.choose_chips(chip, against)
        self.forget_refusal()
        self.show()

    def find_difference(self, seconds: float) -> FoundDifference:
        """Search for small inputs on which the two chips differ, and select the first cell of D that does."""
        self.preserve_view()
        with self.state.all_or_nothing():
            finding = find_difference(self.state, seconds)
        self.state.refusal, self._search_result = None, finding.sentence
        with self.page_model.hold_sync():
            self.show()
            if finding.cell is not None:
                self.select(("D", *finding.cell))
        return finding

    def run(self) -> None:
        """Run the instruction on the GPU, and compare D with that of the model of its chip."""
        ins, choice = self.state.ins, self.state.chip_choice
        if not gpu.available(ins):
            raise PtxlabError(gpu.status(ins))
        target, chips, toolbar_before = gpu.device_target(), choice.available, self.page_model.toolbar
        try:
            self._toolbar_sources = ()
            self.page_model.toolbar = toolbar(self.state, chips, f"compiling for {target} …")
            gpu.compile(codegen.source(ins, self.state.operation.modifiers), target)
            self.page_model.toolbar = toolbar(self.state, chips, f"running on {target} …")
            self.state.operation.results.pop(GPU, None)
            model = gpu.model(ins) or choice.model
            self.apply([SetChips(GPU, None) if model == NO_CHIP else SetChips(model, GPU)])
            self.show()
        except BaseException:
            self.page_model.toolbar = toolbar_before  # no longer busy
            raise

    # -- chosen lanes and cells, which undoing a change of the instruction restores -----------------------

    def preserve_view(self) -> None:
        """Store the chosen lanes and cells with the state, so that undo restores them."""
        page_model = self.page_model
        self.state.saved_view = {
            "lane": int(page_model.lane),
            "pinned": list(page_model.pinned),
            "selected": dict(page_model.selected),
            "traced": self.trace.cell,
        }

    def _restore_view(self) -> None:
        saved = self.state.saved_view
        for name in ("lane", "pinned", "selected"):
            if name in saved and self.page_model.accepts(name, saved[name]):
                setattr(self.page_model, name, saved[name])
        self.trace.cell = saved.get("traced", self.trace.cell)

    def _reset_view(self) -> None:
        """Reset selection and caches for another instruction."""
        self.page_model.lane = min(self.page_model.lane, self.state.threads - 1)
        self.page_model.pinned = [lane for lane in self.page_model.pinned if lane < self.state.threads]
        self.page_model.selected = self.page_model.candidates = {}
        self.trace.cell, self._gpu_time = None, ""
        self._sent, self._shown, self._toolbar_sources = {}, self.state.form, ()
        self._known_registers = {}

    # -- the screen ---------------------------------------------------------------------------------------

    def show(self) -> None:
        """Send what changed, and only that."""
        self.show_problem("")
        self._send_changes()

    def _send_changes(self) -> None:
        state, page_model = self.state, self.page_model
        is_new_instruction = self._shown is not state.document.ins
        with page_model.hold_sync():
            if is_new_instruction:
                self._reset_view()
            rendering = self._render()
            names = rendering.changed(self._sent)
            self._sent = rendering.sources
            self._show_toolbar()
            page_model.notice = "; ".join(
                notice for notice in (*state.notices, self._search_result) if notice
            )
            if "instruction" in names:
                page_model.instruction = rendering.draw("instruction")
            if is_new_instruction:
                self._restore_view()
            for name in MATRICES:
                if name in names:
                    setattr(page_model, name, rendering.draw(name))
            self.show_lanes()
            self.trace.show()
            if "instruction" in names:
                self.memory.keep()
                self.load.keep()
            if is_new_instruction:
                self.quiz.stop()  # its questions were about the previous instruction
            else:
                self.quiz.show()
        self._notify_observers(names)

    def _show_toolbar(self) -> None:
        state, document, history = self.state, self.state.document, self.state.history
        chips, steps = document.available, (bool(history.past), bool(history.future))
        new_sources = (document.settings, chips, document.chips, steps, self._gpu_time)
        if new_sources != self._toolbar_sources:
            self.page_model.toolbar = toolbar(state, chips, gpu_time=self._gpu_time)
        self._toolbar_sources = new_sources

    def _render(self) -> Rendering:
        """What the page draws; if the GPU fails, with D of the default model, and the problem is shown."""
        state = self.state
        runs_now = GPU in state.document.chips and GPU not in state.operation.results
        start = time.perf_counter()
        try:
            rendering = render(state)
        except PtxlabError as error:
            state.show_chips(state.chip_choice.first)
            self.page_model.problem = str(error)
            return render(state)
        if runs_now:
            milliseconds = (time.perf_counter() - start) * 1e3
            self._gpu_time = f"the GPU took {milliseconds:.1f} ms, copies included"
        return rendering

    def _notify_observers(self, changed: Sequence[str]) -> None:
        document = self.state.document
        names = document.names
        for name, trait in MATRIX_TRAITS.items():
            if name in changed:
                exists = name in names and (name != "D" or document.has_result)
                self.observers.notify(trait, read_only(document.values(name)) if exists else None)
        self.observers.notify_registers(document.arrays)

    def show_problem(self, problem: str) -> None:
        """Show why an edit was refused, where, and what can be done instead; "" clears it."""
        with self.page_model.hold_sync():
            self.page_model.problem = problem
            self.page_model.refusal = {} if self.state.refusal is None else self.state.refusal.serialised

    def refuse(self, error: PtxlabError) -> None:
        """Show why the page's last message was refused."""
        self.state.refusal = error if isinstance(error, RefusedEdit) else None
        if self.page_model.problem == str(error):
            self.page_model.problem = ""  # the page only sees changes: the same problem must be sent again
        self.show_problem(str(error))

    def select(self, selection: object) -> None:
        """Select a cell and, as a click does, the lane that holds it."""
        cell = parse_selection(selection, self.shapes)
        lane = self.thread_of(**cell) if cell else None
        with self.page_model.hold_sync():
            if lane is not None:
                self.page_model.lane = lane
            self.page_model.selected = cell

    def on_selected(self, cell: Mapping[str, Any]) -> None:
        """Follow a selection of the page."""
        if cell.get("name") == "D":
            self.trace.cell = int(cell["row"]), int(cell["column"])
            self.trace.show()
        self.observers.notify("selection", dict(cell))

    def show_lanes(self) -> None:
        """Send the registers of the shown lanes; a transfer shows all registers anyway."""
        document = self.state.document
        threads = document.threads if document.shows_lanes else 0
        self.page_model.lane_registers = {
            str(lane): lane_registers(self.state, lane, self._known_registers)
            for lane in self.page_model.lanes
            if lane < threads
        }

    # -- export -------------------------------------------------------------------------------------------

    def figure(self, what: str | None, title: bool, options: Mapping[str, Any]) -> Any:
        """A Plotly figure."""
        page_model = self.page_model
        drawn = picture(
            self.state,
            what,
            selected=page_model.selected,
            chosen_lane=page_model.lane,
            cell=self.trace.cell_or_first,
            display={"label": page_model.label, "colour": page_model.colour_by, "show_c": page_model.show_c},
            options=options,
        )
        return chart(drawn, title=title)


# -- panels beside the matrices of an instruction that multiplies: memory, a tcgen05.ld, the trace, the quiz


class MemoryPanel:
    """A matrix in shared memory, bank by bank, as `state.memory` requests."""

    def __init__(self, state: ExplorerState, page_model: PageModel) -> None:
        self._state, self._page_model = state, page_model
        self._sent: MemoryLayout | None = None

    def request(self, request: MemoryRequest | None) -> None:
        """Show a matrix like this, or none. The page updates its content from the matrix itself."""
        layout = None if request is None else lay_out(self._state, request)
        if layout is not self._sent:
            self._page_model.memory = {} if layout is None else memory_data(self._state, layout)
        self._state.memory, self._sent = request, layout

    def set_field(self, name: str, text: str) -> None:
        """Set one field of the matrix descriptor of the shown tile."""
        layout = memory_layout(self._state)
        if layout is None or layout.shared is None:
            raise PtxlabError("no tile of wgmma or tcgen05.mma is shown; ex.show_memory shows one")
        self.request(MemoryRequest(layout.name, descriptor=set_field(layout.shared, name, text)))

    def keep(self) -> None:
        """After a change of instruction or modifier, show the same matrix, laid out as before if possible."""
        request, attempts = self._state.memory, list[MemoryRequest | None]()
        if request is not None:
            attempts = [request, replace(request, major=None), MemoryRequest(request.name)]
        for attempt in [*attempts, None]:
            with contextlib.suppress(PtxlabError):
                self.request(attempt)
                return


class LoadPanel:
    """The registers of a thread after the tcgen05.ld that `state.load` requests."""

    def __init__(self, state: ExplorerState, page_model: PageModel) -> None:
        self._state, self._page_model = state, page_model

    def request(self, request: LoadRequest) -> None:
        """Show this load; an instruction without tensor memory has none."""
        ins = self._state.form
        self._page_model.load = (
            load_data(ins, find_load(ins, request)) if isinstance(ins, TensorInstruction) else {}
        )
        self._state.load = request

    def keep(self) -> None:
        """After a change of the instruction, show the same load, or its shape, or the default."""
        request = self._state.load
        for attempt in (request, LoadRequest(request.shape), LoadRequest()):
            with contextlib.suppress(PtxlabError):
                self.request(attempt)
                return


class TracePanel:
    """Why a cell of D has its bits: its dot product step by step and, if open, the picture of the bits."""

    def __init__(self, state: ExplorerState, page_model: PageModel) -> None:
        self._state, self._page_model = state, page_model
        self.cell: tuple[int, int] | None = None  # the last selected one

    @property
    def cell_or_first(self) -> tuple[int, int]:
        """The last selected cell, or the first of D."""
        return self.cell or (0, 0)

    def show(self) -> None:
        """Show the last selected cell, if there is one."""
        if self.cell is None:
            self._page_model.trace = {}
        else:
            self._page_model.trace = self.data(*self.cell, with_picture=self._page_model.tracing)

    def data(self, row: int, column: int, *, with_picture: bool, with_bits: bool = True) -> dict[str, Any]:
        """What the page shows about a cell; {} if no model explains its D."""
        state = self._state
        if not state.explains(row, column):
            return {}
        trace = state.trace(row, column)
        compared = [state.trace(row, column, chip) for chip in state.chip_choice.compared_models or ()]
        data: dict[str, Any] = {
            "row": row,
            "column": column,
            "dot_product": dot_product_steps(state, trace, compared[1] if compared else None, with_bits),
        }
        if with_picture and compared:
            data |= trace_columns(*compared)
        elif with_picture:
            data |= picture_data(views.trace(trace, gpu_note(state, trace)))
        return data


class QuizPanel:
    """The running quiz, if any, and the score of the latest."""

    def __init__(self, state: ExplorerState, page_model: PageModel, observers: Observers) -> None:
        self._state, self._page_model, self._observers = state, page_model, observers
        self._quiz: Quiz | None = None
        self.score = Score()

    @property
    def running(self) -> Quiz:
        """The running quiz, or a refusal."""
        if self._quiz is None:
            raise PtxlabError("there is no quiz; ex.quiz() starts one")
        return self._quiz

    def questions(self) -> Sequence[ShortQuestion]:
        """The questions of the running quiz; without one, ten that are the same for everyone."""
        return self._quiz.questions if self._quiz else choose_questions(self._state, count=10, seed=0)

    def start(self, questions: Sequence[ShortQuestion]) -> Quiz:
        """Ask these questions."""
        quiz = self._quiz = Quiz(self._state, questions, self.show)
        self.show()
        return quiz

    def stop(self) -> None:
        """End the quiz; its score stays."""
        self._quiz = None
        self.show()

    def show(self) -> None:
        """Show the current question, verdict and score."""
        quiz = self._quiz
        if quiz is not None:
            quiz.refresh()
            self._page_model.quiz, self.score = quiz.serialised(), quiz.score
        else:
            self._page_model.quiz = {}
        self._observers.notify("quiz_score", self.score)
