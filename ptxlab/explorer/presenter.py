"""What the Explorer shows: an instruction with what it reads, edited, on the screen and exported.

Those that multiply show matrices, registers and results, with panels beside them; those that transfer show
the words that they move, and where each goes.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .. import gpu
from ..errors import PtxlabError
from ..figures import chart, figure
from ..gpu import codegen
from ..isa.catalog import Product
from ..isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from ..isa.tensor_memory import LANES
from .differences import Finding, find_difference
from .edits import Edit, SetChips, change_instruction
from .export import check_figure, figure_of_selection, picture, python_code, share_link
from .instruction_info import instruction_info, threads
from .panels import LoadPanel, MemoryPanel, QuizPanel, TracePanel
from .refusals import RefusedEdit
from .serialise import (
    KnownRegisters,
    changed_parts,
    comparison_bytes,
    is_same,
    lane_registers,
    matrix_bytes,
    sources,
)
from .state import GPU, NOBODY, Comparison, ExplorerState, LoadRequest
from .static_html import save_page, save_transfer
from .tensor_view import thread_of
from .toolbar import toolbar
from .traits import MATRIX_TRAITS, Observers, read_only
from .transfer_edits import make_edits
from .transfer_export import share_transfer, transfer_code
from .transfer_view import transfer_bytes, transfer_info, transfer_toolbar
from .view import MATRICES, View, parse_selection
from .word_transfer import WordTransfer


class Presenter(ABC):
    """Stands between the state of an instruction, the view that draws it, and observers of the Explorer."""

    def __init__(self, state: ExplorerState, view: View, observers: Observers) -> None:
        self.state, self.view, self.observers = state, view, observers

    # -- what there is ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def instruction(self) -> Product | Tcgen05Transfer:
        """The instruction."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """The threads whose registers can be shown."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and columns of every matrix."""

    @abstractmethod
    def values(self, name: str) -> NDArray[Any]:
        """A matrix as people read it."""

    @property
    @abstractmethod
    def register_names(self) -> Sequence[str]:
        """Operands by whose names there are registers."""

    @abstractmethod
    def registers(self, name: str) -> NDArray[Any]:
        """Registers of an operand."""

    @abstractmethod
    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that has a cell in a register; None where no thread has."""

    # -- edits --------------------------------------------------------------------------------------------

    def apply(self, edits: Sequence[Edit]) -> None:
        """Make edits as one step to undo, or none of them; nothing is shown yet."""
        self.preserve_view()
        make_edits(self.state, edits)
        self.forget_refusal()

    def choose(self, ins: Product | Tcgen05Transfer) -> None:
        """Go on with another instruction; nothing is shown yet."""
        self.preserve_view()
        change_instruction(self.state, ins)
        self.forget_refusal()

    @abstractmethod
    def preserve_view(self) -> None:
        """Keep the lanes and cells on the screen with the state, where undo brings them back."""

    def forget_refusal(self) -> None:
        """After a change: what was refused before is about another state."""
        self.state.refusal = None

    # -- the screen ---------------------------------------------------------------------------------------

    def show(self) -> None:
        """Send what changed, and only that."""
        self.show_problem("")
        self._send_changes()

    @abstractmethod
    def _send_changes(self) -> None:
        """Compare with what was sent last, and tell the view and observers of the difference."""

    @abstractmethod
    def hide(self) -> None:
        """Take everything off the screen that an instruction of the other kind does not show."""

    def show_problem(self, problem: str) -> None:
        """Show why an edit was refused, where, and what can be done instead; "" if all is well."""
        with self.view.hold_sync():
            self.view.problem = problem
            self.view.refusal = {} if self.state.refusal is None else self.state.refusal.serialised

    def refuse(self, error: PtxlabError) -> None:
        """Show why the page's last message was refused."""
        self.state.refusal = error if isinstance(error, RefusedEdit) else None
        if self.view.problem == str(error):
            self.view.problem = ""  # the page sees only changes, and shows the sentence where it was asked
        self.show_problem(str(error))

    def select(self, selection: object) -> None:
        """Select a cell and, as a click does, the lane that holds it."""
        cell = parse_selection(selection, self.shapes)
        lane = self.thread_of(**cell) if cell else None
        with self.view.hold_sync():
            if lane is not None:
                self.view.lane = lane
            self.view.selected = cell

    def on_selected(self, cell: Mapping[str, Any]) -> None:
        """Follow a selection of the page."""
        self.observers.notify("selection", dict(cell))

    @abstractmethod
    def show_lanes(self) -> None:
        """Send the registers of the lanes that are shown."""

    @abstractmethod
    def show_trace(self) -> None:
        """Send why the cell of D that was selected last has its bits."""

    # -- export -------------------------------------------------------------------------------------------

    @abstractmethod
    def code(self) -> str:
        """Python that computes D."""

    @abstractmethod
    def link(self, view_traits: Mapping[str, Any]) -> str:
        """Everything as a text to send."""

    @abstractmethod
    def save_html(self, path: str | Path, title: str, link: str) -> Path:
        """Write a page."""

    @abstractmethod
    def figure(self, what: str | None, title: bool, options: Mapping[str, Any]) -> Any:
        """A Plotly figure."""


class ProductPresenter(Presenter):
    """Shows an `ExplorerState`."""

    def __init__(self, state: ExplorerState, view: View, observers: Observers) -> None:
        super().__init__(state, view, observers)
        self.memory = MemoryPanel(state, view)
        self.load = LoadPanel(state, view)
        self.trace = TracePanel(state, view)
        self.quiz = QuizPanel(state, view, observers)
        self._shown: Product | None = None  # the instruction that the view shows
        self._sent: dict[str, tuple[Any, ...]] = {}  # the sources of each part of the screen when it was sent
        self._known_registers: KnownRegisters = {}
        self._toolbar_sources: tuple[Any, ...] = ()  # what the toolbar was made from
        self._gpu_time = ""
        self._finding = ""  # what the search for a difference came to, until the next change

    @property
    def instruction(self) -> Product:
        return self.state.ins

    @property
    def threads(self) -> int:
        return threads(self.state.ins)

    @property
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        matrices = self.state.operation
        return {name: matrices.operand(name).shape for name in matrices.names}

    def values(self, name: str) -> NDArray[Any]:
        """Values; of metadata its nibbles."""
        return self.state.codes(name) if name == "E" else self.state.values(name)

    @property
    def register_names(self) -> Sequence[str]:
        """A, B, C, D, and E, SFA, SFB where the instruction has them."""
        names = list(self.state.operation.arrays)
        return [*names[:3], "D", *names[3:]]

    def registers(self, name: str) -> NDArray[Any]:
        return self.state.registers(name)

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        lane = self.state.operation.lane_of(name, row, column)
        return thread_of(self.state, name, row, column) if lane is None else lane

    # -- edits --------------------------------------------------------------------------------------------

    def forget_refusal(self) -> None:
        super().forget_refusal()
        self._finding = ""

    def choose_chips(self, chip: str, against: str | None) -> None:
        """Show D of a chip, compared with another."""
        self.state.results.choose(chip, against)
        self.forget_refusal()
        self.show()

    def find_difference(self, seconds: float) -> Finding:
        """Take small inputs on which the two chips differ, and select the first cell of D that does."""
        self.preserve_view()
        with self.state.all_or_nothing():
            finding = find_difference(self.state, seconds)
        self.state.refusal, self._finding = None, finding.sentence
        with self.view.hold_sync():
            self.show()
            if finding.cell is not None:
                self.select(("D", *finding.cell))
        return finding

    def run(self) -> None:
        """Run the instruction on the GPU, and compare D with that of the model of its chip."""
        ins, results = self.state.ins, self.state.results
        if not gpu.available(ins):
            raise PtxlabError(gpu.status(ins))
        target, chips, toolbar_before = gpu.device_target(), results.available, self.view.toolbar
        try:
            self._toolbar_sources = ()
            self.view.toolbar = toolbar(self.state, chips, f"compiling for {target} …")
            gpu.compile(codegen.source(ins, self.state.operation.modifiers), target)
            self.view.toolbar = toolbar(self.state, chips, f"running on {target} …")
            self.state.operation.results.pop(GPU, None)
            model = gpu.model(ins) or results.model
            self.apply([SetChips(GPU, None) if model == NOBODY else SetChips(model, GPU)])
            self.show()
        except BaseException:
            self.view.toolbar = toolbar_before  # it no longer waits
            raise

    # -- lanes and cells on the screen, which come back when a change of the instruction is undone ---------

    def preserve_view(self) -> None:
        view = self.view
        self.state.look = {
            "lane": int(view.lane),
            "pinned": list(view.pinned),
            "selected": dict(view.selected),
            "traced": self.trace.cell,
        }

    def _restore_look(self) -> None:
        look = self.state.look
        for name in ("lane", "pinned", "selected"):
            if name in look and self.view.accepts(name, look[name]):
                setattr(self.view, name, look[name])
        self.trace.cell = look.get("traced", self.trace.cell)

    def _reset_look(self) -> None:
        """Begin with another instruction: nothing is selected, and nothing was sent."""
        self.view.lane = min(self.view.lane, self.threads - 1)
        self.view.pinned = [lane for lane in self.view.pinned if lane < self.threads]
        self.view.selected = {}
        self.trace.cell, self._gpu_time = None, ""
        self._sent, self._shown, self._toolbar_sources = {}, self.state.ins, ()
        self._known_registers = {}

    # -- the screen ---------------------------------------------------------------------------------------

    def _send_changes(self) -> None:
        state, view = self.state, self.view
        is_new_instruction = self._shown is not state.ins
        with view.hold_sync():
            if is_new_instruction:
                self._reset_look()
            chips = state.results.available
            comparison = self._comparison(chips)
            new_sources = sources(state, comparison)
            changed = changed_parts(new_sources, self._sent)
            self._sent = new_sources
            self._show_toolbar(chips)
            view.notice = "; ".join(each for each in (*state.notices, self._finding) if each)
            if "instruction" in changed:
                view.instruction = instruction_info(state)
            if is_new_instruction:
                self._restore_look()
            for name in MATRICES:
                if name in changed:
                    setattr(view, name, self._matrix_bytes(name, comparison))
            self.show_lanes()
            self.show_trace()
            if "instruction" in changed:
                self.memory.keep()
                self.load.keep()
            if is_new_instruction:
                self.quiz.stop()  # its questions are about another instruction
            else:
                self.quiz.show()
        self._tell_observers(changed)

    def _show_toolbar(self, chips: tuple[str, ...]) -> None:
        state, results, history = self.state, self.state.results, self.state.history
        chosen = (results.chip, results.against, bool(history.past_steps), bool(history.future_steps))
        new_sources = (state.ins, state.operation.modifiers, chips, chosen, self._gpu_time)
        if new_sources != self._toolbar_sources:
            self.view.toolbar = toolbar(state, chips, gpu_time=self._gpu_time)
        self._toolbar_sources = new_sources

    def _matrix_bytes(self, name: str, comparison: Comparison) -> dict[str, Any]:
        if name == "D":
            return comparison_bytes(self.state, comparison)
        return matrix_bytes(self.state, name)

    def _comparison(self, chips: Sequence[str]) -> Comparison:
        """D by the chosen chips; if the GPU fails, by the first model, and the problem is shown."""
        results = self.state.results
        try:
            if results.chip not in (*chips, results.first) or results.against not in (None, *chips):
                raise PtxlabError("there is no GPU: D is computed by the emulator")
            uses_gpu = GPU in (results.chip, results.against)
            runs_now = uses_gpu and GPU not in self.state.operation.results
            start = time.perf_counter()
            comparison = self.state.comparison()
            if runs_now:
                milliseconds = (time.perf_counter() - start) * 1e3
                self._gpu_time = f"the GPU took {milliseconds:.1f} ms, copies included"
            return comparison
        except PtxlabError as error:
            results.reset_chips()
            self.view.problem = str(error)
            return self.state.comparison()

    def _tell_observers(self, changed: Sequence[str]) -> None:
        state = self.state
        for name, trait in MATRIX_TRAITS.items():
            if name in changed:
                exists = name in state.ins.matrices and (name != "D" or state.results.is_known)
                self.observers.notify(trait, read_only(self.values(name)) if exists else None)
        self.observers.notify_registers(state.operation.arrays)

    def hide(self) -> None:
        self._shown, self._sent, self._finding = None, {}, ""
        self.trace.cell = None
        view = self.view
        with view.hold_sync():
            view.selected, view.pinned, view.lane_registers, view.notice = {}, [], {}, ""
            view.lane = min(view.lane, LANES - 1)
            self.memory.request(None)
            self.load.clear()
            self.show_trace()
            self.quiz.stop()

    def on_selected(self, cell: Mapping[str, Any]) -> None:
        if cell.get("name") == "D":
            self.trace.cell = int(cell["row"]), int(cell["column"])
            self.show_trace()
        super().on_selected(cell)

    def show_lanes(self) -> None:
        shown = (lane for lane in self.view.lanes if lane < self.threads)
        self.view.lane_registers = {
            str(lane): lane_registers(self.state, lane, self._known_registers) for lane in shown
        }

    def show_trace(self) -> None:
        self.trace.show()

    # -- export -------------------------------------------------------------------------------------------

    def code(self) -> str:
        return python_code(self.state)

    def link(self, view_traits: Mapping[str, Any]) -> str:
        state, look = self.state, dict(view_traits)
        if state.memory is not None:
            look["memory"] = _without_none(state.memory)
        if state.load != LoadRequest() and isinstance(state.ins, Tcgen05Mma):
            look["load"] = _without_none(state.load)
        return share_link(state, look)

    def save_html(self, path: str | Path, title: str, link: str) -> Path:
        return save_page(
            path,
            title,
            self.state,
            self.view,
            link,
            self.trace.data,
            self.trace.cell_or_first,
            self.quiz.questions,
        )

    def figure(self, what: str | None, title: bool, options: Mapping[str, Any]) -> Any:
        state, view = self.state, self.view
        display = {"label": view.label, "colour": view.colour_by, "show_c": view.show_c}
        name = figure_of_selection(state, view.selected) if what is None else what
        check_figure(state, name, options)
        cell = self.trace.cell_or_first
        drawn = picture(state, name, chosen_lane=view.lane, cell=cell, display=display, **options)
        return chart(drawn, title=title)


def _without_none(request: object) -> dict[str, Any]:
    return {name: value for name, value in vars(request).items() if value is not None}


class TransferPresenter(Presenter):
    """Shows the transfer of an `ExplorerState`."""

    def __init__(self, state: ExplorerState, view: View, observers: Observers) -> None:
        super().__init__(state, view, observers)
        self._sent: dict[str, tuple[Any, ...]] = {}  # what each part of the screen was made from

    @property
    def transfer(self) -> WordTransfer:
        """What is shown."""
        transfer = self.state.transfer
        if TYPE_CHECKING:
            assert transfer is not None
        return transfer

    @property
    def instruction(self) -> Tcgen05Transfer:
        return self.transfer.form

    @property
    def threads(self) -> int:
        return LANES

    @property
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        return self.transfer.shapes

    def values(self, name: str) -> NDArray[Any]:
        return self.transfer.dtype.decode(self.transfer.words(name))

    @property
    def register_names(self) -> Sequence[str]:
        return self.transfer.names

    def registers(self, name: str) -> NDArray[Any]:
        return self.transfer.words(name)

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        return self.transfer.thread_of(name, row, column)

    # -- the screen ---------------------------------------------------------------------------------------

    def _send_changes(self) -> None:
        view, transfer = self.view, self.transfer
        words: dict[str, tuple[Any, ...]] = {name: (transfer.words(name),) for name in transfer.names}
        words["D"] = (transfer,)  # with its links
        changed = [name for name, source in words.items() if not is_same(source, self._sent.get(name))]
        with view.hold_sync():
            view.toolbar = transfer_toolbar(transfer, self.state.history)
            if transfer.settings != self._sent.get("instruction"):
                view.instruction = transfer_info(transfer)
                if not view.accepts("selected", dict(view.selected)):
                    view.selected = {}
            for name in MATRICES:
                if name in changed or name not in words:
                    setattr(view, name, transfer_bytes(transfer, name))
        self._sent = {**words, "instruction": transfer.settings}
        for name, trait in MATRIX_TRAITS.items():
            if name not in words:
                self.observers.notify(trait, None)
            elif name in changed:
                self.observers.notify(trait, read_only(self.values(name)))

    def preserve_view(self) -> None:
        """Undo of a transfer leaves lanes and selection as they are."""

    def hide(self) -> None:
        self._sent = {}  # an instruction that multiplies replaces all of it

    def show_lanes(self) -> None:
        """All registers are on the screen already."""

    def show_trace(self) -> None:
        """Nothing is computed that could be explained."""

    # -- export -------------------------------------------------------------------------------------------

    def code(self) -> str:
        return transfer_code(self.transfer)

    def link(self, view_traits: Mapping[str, Any]) -> str:
        return share_transfer(self.transfer, self.state.seed, view_traits)

    def save_html(self, path: str | Path, title: str, link: str) -> Path:
        return save_transfer(path, title, self.instruction, self.view, link)

    def figure(self, what: str | None, title: bool, options: Mapping[str, Any]) -> Any:
        return figure(self.instruction, what, title=title, **options)
