"""The Explorer widget: its state as traits for Python, and one view that draws it and sends back messages."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_flag, as_index, as_int, as_text
from ..errors import PtxlabError, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.operation import Operation
from ..isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from ..views.static_fallback import StaticFallback
from .differences import Finding
from .edits import Edit, Redo, SetRegisters, SetValues, Undo, make_edits
from .export import is_link, open_link, python_code, static_html
from .picker import picker_index
from .presenter import Presenter
from .protocol import (
    AnswerQuestion,
    Export,
    FindDifference,
    HideMemory,
    NextQuestion,
    Request,
    RequestPickerIndex,
    ResendMatrices,
    RunOnGpu,
    SetMemoryField,
    ShowLoad,
    ShowMemory,
    SkipQuestion,
    StartQuiz,
    StopQuiz,
    decode_message,
)
from .question import Question
from .quiz import Quiz, choose_questions
from .refusals import explorable, explorable_candidates
from .serialise import MATRICES
from .state import ExplorerState, History, LoadRequest, MemoryRequest
from .static_html import check_path, write_page
from .transfer import AnyTransfer, first_transfer
from .view import (
    MAX_PINNED,
    SHAREABLE,
    CheckedMessages,
    Observers,
    ReadOnlyTrait,
    Registers,
    StateTrait,
    View,
    read_only,
)

LEAST_HEIGHT, MOST_HEIGHT = 300, 10_000  # pixels; a lower Explorer shows nothing that can be read


@contextmanager
def _faults_as_refusals() -> Iterator[None]:
    """Refuse a message of the page that hits a mistake of ptxlab's, instead of filling the kernel's log."""
    try:
        yield
    except PtxlabError:
        raise
    except Exception as error:
        reason = quoted(f"{type(error).__name__}: {error}", 200)
        raise PtxlabError(f"ptxlab could not do this; please report {reason}") from error


def _pixels(height: int) -> int:
    """The height of an Explorer that shares the screen with something else."""
    pixels = as_int(height, "height")
    if not LEAST_HEIGHT <= pixels <= MOST_HEIGHT:
        raise PtxlabError(
            f"height: found {quoted(pixels)}; it takes {LEAST_HEIGHT} to {MOST_HEIGHT} pixels, or None for "
            "as much as the notebook shows at once"
        )
    return pixels


def _hexadecimal(descriptor: int | str) -> str:
    """A matrix descriptor as a page types it."""
    if isinstance(descriptor, str):
        return descriptor
    return f"0x{as_int(descriptor, 'descriptor'):016x}"


def _matrix_trait(matrix: str, doc: str) -> StateTrait:
    """A matrix by its values; metadata by its nibbles."""

    def read(ex: Explorer) -> NDArray[Any]:
        return read_only(ex._presenter.values(matrix))

    def write(ex: Explorer, values: ArrayLike) -> None:
        if matrix == "D":
            raise ReadOnlyTrait("D is the result and cannot be changed; change A, B or C")
        ex.apply(SetValues(matrix, values))

    return StateTrait(read, write, doc)


def _refuse_score() -> None:
    raise ReadOnlyTrait("quiz_score counts the answers of a quiz and cannot be assigned")


def _named(ins: Form | str) -> tuple[Product | AnyTransfer, list[str]]:
    """The instruction, or the first that a name which says too little may mean, and all that it may mean."""
    try:
        return explorable(ins), []
    except PtxlabError:
        candidates = explorable_candidates(ins) if isinstance(ins, str) else []
        if not candidates:
            raise
        return candidates[0], [form.mnemonic for form in candidates]


def _open(
    ins: Form | str, seed: int, address: int | None, split: int | None
) -> tuple[ExplorerState, dict[str, Any], dict[str, Any]]:
    """What an Explorer begins with: the state, the traits of the view that a link carries, the candidates."""
    if isinstance(ins, str) and is_link(ins):
        return *open_link(ins), {}
    form, candidates = _named(ins)
    state = ExplorerState(form, seed)
    if isinstance(form, Tcgen05Transfer):
        state.show(first_transfer(form, address or 0, split, seed))
    elif address is not None or split is not None:
        raise PtxlabError(f"{form.mnemonic}: address and split are for tcgen05.ld, .st, .cp and .shift")
    if not candidates:
        return state, {}, {}
    names = "is no full name; one instruction fits"
    if len(candidates) > 1:
        names = f"fits {len(candidates)} instructions: choose one above; this is the first"
    state.notices = (f"{quoted(ins)} {names}",)
    return state, {}, {"typed": str(ins).strip(), "mnemonics": candidates}


# -- the widget ------------------------------------------------------------------------------------------


class Explorer(StaticFallback, CheckedMessages, ipywidgets.VBox):  # type: ignore[misc]
    """Edit A, B, C or the registers of a lane; D follows. Get one with ``ptxlab.explore(ins)``.

    Everything on the screen can be read and assigned from the next cell: ``ex.A``, ``ex.B``, ``ex.C``,
    ``ex.metadata``, ``ex.registers["A"]``, ``ex.selection``; ``ex.D`` can be read. Assign whole matrices: the
    arrays that are read are copies. All of these are traits: ``ex.observe(handler, "D")`` calls the handler
    with the old and the new D whenever it changes.

    >>> from ptxlab.explorer.edits import SetRegister
    >>> ex = Explorer("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ex.A, ex.B = np.zeros((16, 64)), np.ones((64, 8))
    >>> ex.apply(SetRegister("A", lane=0, register=0, text="0x77777777"))
    >>> ex.D[:2, 0].tolist()   # 8 * 7 in row 0
    [56, 0]
    >>> ex.observe(lambda change: print(change.name, change.old[0, 0], "->", change.new[0, 0]), "D")
    >>> ex.undo()
    D 56 -> 0
    """

    A = _matrix_trait(
        "A", "Values of A; for sparse instructions the dense matrix, which must have their structure."
    )
    B = _matrix_trait("B", "Values of B.")
    C = _matrix_trait("C", "Values of C.")
    metadata = _matrix_trait("E", "The metadata nibbles of a sparse instruction, [rows, chunks].")
    scale_a = _matrix_trait("SFA", "Block scales of A.")
    scale_b = _matrix_trait("SFB", "Block scales of B.")
    D = _matrix_trait("D", "Values of the result; it can be read and observed.")
    registers = StateTrait(
        lambda ex: ex._registers,
        lambda ex, registers: ex._set_registers(registers),
        'Registers by operand: ``ex.registers["A"]``.',
    )
    selection = StateTrait(
        lambda ex: dict(ex.view.selected),
        lambda ex, selection: ex._presenter.select(selection),
        'The selected cell; assign ``("D", 9, 3)`` to select one.',
    )

    quiz_score = StateTrait(
        lambda ex: ex._presenter.quiz.score,
        lambda ex, score: _refuse_score(),
        "How many answers of the quiz are right: ``ex.quiz_score.right``, ``.answered``, ``.answers``.",
    )

    def __init__(
        self,
        ins: Form | str,
        *,
        A: ArrayLike | None = None,
        B: ArrayLike | None = None,
        C: ArrayLike | None = None,
        seed: int = 0,
        height: int | None = None,
        operands: Operation | None = None,
        address: int | None = None,
        split: int | None = None,
    ) -> None:
        self.state, view_traits, candidates = _open(ins, seed, address, split)
        first = {"A": A, "B": B, "C": C}
        make_edits(
            self.state, [SetValues(name, values) for name, values in first.items() if values is not None]
        )
        self.state.history = History()  # these are no edits to undo
        if operands is not None:
            self.state.show(operands)
        self.view = View(height=0 if height is None else _pixels(height))
        self._first_view = {name: getattr(self.view, name) for name in SHAREABLE}
        self._registers = Registers(self.state, self.apply)
        self._observers = Observers(self, self._registers)
        self._presenter = Presenter(self.state, self.view, self._observers)
        super().__init__([self.view])
        self._own_widgets = (self.layout, self.view, self.view.layout)
        self.view.on_msg(self._on_message)
        self.view.observe(lambda _: self._presenter.show_lanes(), ["lane", "pinned"])
        self.view.observe(lambda change: self._presenter.on_selected(change.new), "selected")
        self.view.observe(lambda _: self._presenter.trace.show(), "tracing")
        self.view.observe(lambda _: self.redraw_saved(), [*MATRICES, "label", "colour_by", "show_c"])
        try:
            self._presenter.show()
            self.view.candidates = candidates
            self._restore_view(view_traits)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the widget with everything that it opened: its view, and the layouts of both."""
        super().close()
        for widget in vars(self).get("_own_widgets", ()):  # none where the constructor refused its arguments
            widget.close()

    # -- from the next cell -------------------------------------------------------------------------------

    @property
    def instruction(self) -> Product | AnyTransfer:
        """The instruction; assign another one, and the matrices that fit it stay."""
        return self.state.form

    @instruction.setter
    def instruction(self, ins: Form | str) -> None:
        self._presenter.choose(explorable(ins))
        self._presenter.show()

    def restart(self, ins: Form | str) -> None:
        """Show an instruction with the matrices that an Explorer of it starts with; nothing is to undo."""
        self.state.replace_instruction(ExplorerState(explorable(ins), self.state.seed))
        self.state.history = History()
        self._presenter.forget_refusal()
        self._presenter.show()

    @property
    def chip(self) -> str:
        """The chip whose D is shown, such as "sm_90", or "GPU"; assign another that has the instruction.

        It is "" for instructions that move words, which no two chips do differently.
        """
        return self.state.chips[0]

    @chip.setter
    def chip(self, chip: str) -> None:
        self._presenter.choose_chips(chip, self.against)

    @property
    def against(self) -> str | None:
        """The chip, or "GPU", that D is compared with; None for none."""
        return self.state.chips[1]

    @against.setter
    def against(self, chip: str | None) -> None:
        self._presenter.choose_chips(self.chip, chip)

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Cells of D where the two chips differ; all False if D is not compared."""
        return self.state.comparison().differ

    def find_difference(self, seconds: float = 1.0) -> Finding:
        """Take small inputs on which the two chips differ, and select the first cell of D that does.

        What comes back is true if there is one; printed it says what was found. Inputs that differ already
        stay as they are, and undo brings the others back.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.against = "sm_80"
        >>> bool(ex.find_difference()), ex.differ.sum(), ex.selection["name"]
        (True, np.int64(1), 'D')
        >>> ex.chip = "sm_86"
        >>> print(ex.find_difference())
        sm_86 and sm_80 use the same rule for this instruction: they always agree
        """
        return self._presenter.find_difference(seconds)

    @property
    def lane(self) -> int:
        """The chosen lane."""
        return int(self.view.lane)

    @lane.setter
    def lane(self, lane: int) -> None:
        self.view.lane = as_index(lane, "lane", self._presenter.threads)

    @property
    def lanes(self) -> list[int]:
        """The lanes whose registers are shown side by side; assign up to four, the first is the chosen one.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.lanes = [0, 5, 9]
        >>> ex.lane = 7
        >>> ex.lanes
        [7, 0, 5, 9]
        """
        return self.view.lanes

    @lanes.setter
    def lanes(self, lanes: Sequence[int] | NDArray[np.integer]) -> None:
        last = self._presenter.threads - 1
        allowed = f"up to {MAX_PINNED} different lanes can be shown side by side, from 0 to {last}"
        is_list = isinstance(lanes, list | tuple | range | np.ndarray) and getattr(lanes, "ndim", 1) == 1
        if not is_list or not 0 < len(lanes) <= MAX_PINNED:
            raise PtxlabError(f"lanes {quoted(lanes)}: {allowed}")
        chosen = [as_int(lane, "lanes") for lane in lanes]
        if not self.view.accepts("pinned", chosen):
            raise PtxlabError(f"lanes {quoted(chosen)}: {allowed}")
        with self.view.hold_sync():
            self.view.lane, self.view.pinned = chosen[0], chosen if len(chosen) > 1 else []

    def apply(self, *edits: Edit) -> None:
        """Make edits (`ptxlab.explorer.edits`), several as one undo step; if one is refused, none is made."""
        for edit in edits:
            if not isinstance(edit, Edit):
                raise PtxlabError(
                    f"apply: found {quoted(edit)}; it takes edits, such as ptxlab.explorer.edits.SetCell"
                )
        self._presenter.apply(edits)
        self._presenter.show()

    def undo(self) -> None:
        """Take back the last edit, if there is one."""
        self.apply(Undo())

    def redo(self) -> None:
        """Take back the last undo, if there is one."""
        self.apply(Redo())

    def run(self) -> None:
        """Run the instruction on the GPU too, and mark where D differs from the model of its chip."""
        self._presenter.run()

    # -- shared memory ------------------------------------------------------------------------------------

    def show_memory(
        self,
        name: str = "A",
        *,
        by: str | None = None,
        major: str | None = None,
        pitch: int | None = None,
        swizzle: int | None = None,
        descriptor: int | str | None = None,
    ) -> None:
        """Show a matrix in shared memory, bank by bank, and the accesses that move it to or from registers.

        `by` is the instruction: "ldmatrix" or "ld.shared" for A and B, "stmatrix" or "st.shared" for D;
        wgmma and wmma have their own. `major` says whether a "row" or a "column" is contiguous, `pitch` how
        many bytes those are apart, and `swizzle` is 0, 32, 64 or 128. What is left out is as usual.
        A tile of wgmma or tcgen05.mma can lie as a matrix descriptor says, 64 bits or their hexadecimal text.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.show_memory("A", pitch=128)
        >>> ex.view.memory["wavefronts"]
        32
        >>> ex.show_memory("A", pitch=128, swizzle=128)
        >>> ex.view.memory["wavefronts"]
        4
        """
        panel = self._presenter.memory
        for what, text in (("by", by), ("major", major)):
            if text is not None and not isinstance(text, str):
                raise PtxlabError(f"{what}: found {quoted(text)}; it takes a text")
        request = MemoryRequest(
            as_text(name, "name"),
            by,
            major,
            None if pitch is None else as_int(pitch, "pitch"),
            None if swizzle is None else as_int(swizzle, "swizzle"),
            None if descriptor is None else _hexadecimal(descriptor),
        )
        panel.request(request)

    def hide_memory(self) -> None:
        """Show no memory."""
        self._presenter.memory.request(None)

    # -- tensor memory ------------------------------------------------------------------------------------

    def show_load(
        self,
        shape: str = "32x32b",
        *,
        count: int | None = None,
        lane: int = 0,
        column: int = 0,
        pack: bool = False,
        thread: int | None = None,
    ) -> None:
        """Show the registers of a thread after a tcgen05.ld of all four warps, beside tensor memory.

        `shape` and `count` are those of the load, which begins in `lane` 0 or 16 of each warp's 32 and in
        `column`; `pack` is .pack::16b. Without a count it takes up to 32 registers of each thread.

        >>> import ptxlab
        >>> ex = ptxlab.explore("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
        >>> ex.show_load("16x256b", count=4, thread=37)
        >>> ex.view.load["mnemonic"], ex.lane
        ('tcgen05.ld.sync.aligned.16x256b.x4.b32', 37)
        """
        request = LoadRequest(
            as_text(shape, "shape"),
            None if count is None else as_int(count, "count"),
            as_int(lane, "lane"),
            as_int(column, "column"),
            as_flag(pack, "pack"),
        )
        ins = self.state.ins
        if not isinstance(ins, Tcgen05Mma):
            raise PtxlabError(f"{ins.mnemonic} leaves D in registers; tcgen05.ld loads that of tcgen05.mma")
        chosen = None if thread is None else as_index(thread, "thread", self._presenter.threads)
        self._presenter.load.request(request)
        if chosen is not None:
            self.lane = chosen

    # -- the quiz -----------------------------------------------------------------------------------------

    def quiz(
        self,
        questions: Sequence[str | Question] | str | Question | None = None,
        *,
        kinds: Sequence[str] | None = None,
        count: int | None = None,
        seed: int | None = None,
    ) -> Quiz:
        """Ask questions on the screen: those that are given, or random ones; `ex.quiz_score` has the score.

        Random ones are of every kind that makes sense for the instruction, or of some `kinds` ("where",
        "holds", "nibble", "metadata", "value", "change", "code"); the same `seed` asks the same.

        >>> ex = Explorer("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
        >>> quiz = ex.quiz(["where A[9][37]", "holds lane 14 d3", "where B", "code A[0][0]"])
        >>> quiz.answer("lane 4 a29").sentence.split(": ")[0]
        'Right. A[9][37] is a29 of lane 4'
        >>> print(ex.quiz_score)
        1 of 1
        """
        panel = self._presenter.quiz
        return panel.start(choose_questions(self.state, questions, kinds=kinds, count=count, seed=seed))

    def stop_quiz(self) -> None:
        """End the quiz, if there is one; its score stays."""
        self._presenter.quiz.stop()

    # -- export -------------------------------------------------------------------------------------------

    def code(self) -> str:
        """Python that computes the D on the screen, without a notebook: ``exec(ex.code())``."""
        return python_code(self.state)

    @property
    def link(self) -> str:
        """Everything as a text to send to somebody: ``ptxlab.explore(link)`` opens it again.

        It is short where fills made the matrices: it names them and the seed instead of every register.
        """
        traits = {name: getattr(self.view, name) for name in SHAREABLE}
        changed = {name: value for name, value in traits.items() if value != self._first_view[name]}
        return self._presenter.link(changed)

    def save_html(self, path: str | Path, title: str = "") -> Path:
        """Write what is on the screen as one HTML file that needs no kernel and no network, read-only.

        >>> import tempfile
        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ex.save_html(f"{folder}/m16n8k16.html").name
        'm16n8k16.html'
        """
        check_path(path)
        return write_page(path, title, self.instruction.mnemonic, self.page_data())

    def page_data(self, **limits: int) -> dict[str, Any]:
        """What a saved page holds; with `most_products` all dot products only of a D that has no more."""
        return self._presenter.page_data(self.link, **limits)

    def static_html(self) -> str:
        """What is on the screen as an image, which a saved notebook shows where no kernel runs.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.static_html().split('"')[-2][:18]
        'data:image/svg+xml'
        """
        view = self.view
        return static_html(self.state, {"label": view.label, "colour": view.colour_by, "show_c": view.show_c})

    def figure(self, what: str | None = None, *, title: bool = True, **options: Any) -> Any:
        """A Plotly figure of what is selected on the screen, or of what is named.

        Names are "product", "A", "stored", "metadata", "B", "C", "D", "scales", "lane", "trace"; of tcgen05
        those in tensor memory ("D", "A", "E", "SFA", "SFB") are drawn there, and "load" is its tcgen05.ld; of
        its loads and stores the registers "R", of its copies the lanes "T".
        `ptxlab.figures.save(ex.figure("A"), "a.pdf")` writes it for papers: .svg, .pdf, .png, .html;
        `title=False` leaves out title and notes.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.selection = "D", 9, 3
        >>> ex.figure().layout.meta["title"], ex.figure("trace").layout.meta["title"].split(" = ")[0]
        ('D of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32', 'D[9][3]')
        """
        return self._presenter.figure(what, title, options)

    # -- from the page ------------------------------------------------------------------------------------

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        """Do what the page asks for; if it is refused, show why."""
        try:
            if buffers:
                raise PtxlabError("the page sent bytes with a message, but no message takes any")
            message = decode_message(content)
            if isinstance(message, Edit):
                with _faults_as_refusals():
                    self._presenter.apply([message])
                self._presenter.show()
            elif isinstance(message, RunOnGpu):
                self.run()
            elif isinstance(message, FindDifference):
                with _faults_as_refusals():
                    self._find_for_the_page()
            else:
                with _faults_as_refusals():
                    self._answer(message)
        except PtxlabError as error:
            self._presenter.refuse(error)

    def _find_for_the_page(self) -> None:
        """Search, and tell the page when that is over: what was found may be what it shows already."""
        try:
            self.find_difference()
        finally:
            self.view.send({"searched": True})

    def _answer(self, request: Request) -> None:
        match request:
            case RequestPickerIndex():
                self.view.picker_index = picker_index()
            case ResendMatrices():
                self.view.resend()
            case Export(format=format):
                file_name = f"{self.instruction.mnemonic.replace('::', '-')}.html"
                self.view.send({"export": format, "text": self._export(format), "name": file_name})
            case ShowMemory():
                self.show_memory(**vars(request))
            case SetMemoryField(name=name, text=text):
                self._presenter.memory.set_field(name, text)
            case HideMemory():
                self.hide_memory()
            case ShowLoad():
                asked = {name: value for name, value in vars(request).items() if value is not None}
                self.show_load(**asked)
            case StartQuiz():
                self.quiz()
            case StopQuiz():
                self.stop_quiz()
            case AnswerQuestion(text=text):
                quiz = self._presenter.quiz.running
                with contextlib.suppress(PtxlabError):  # the quiz shows why beside the answer
                    quiz.answer(text)
            case SkipQuestion():
                self._presenter.quiz.running.skip()
            case NextQuestion():
                self._presenter.quiz.running.next()

    def _export(self, format: str) -> str:
        if format == "code":
            return self.code()
        if format == "link":
            return self.link
        with tempfile.TemporaryDirectory() as folder:
            return self.save_html(Path(folder) / "page.html").read_text(encoding="utf-8")

    def _set_registers(self, registers: Any) -> None:
        if not isinstance(registers, Mapping):
            raise PtxlabError(
                f"registers: found {quoted(registers)}; they take a dict of arrays by operand, or assign "
                'those of one operand, ex.registers["A"] = array'
            )
        self.apply(*(SetRegisters(name, array) for name, array in registers.items()))

    def _restore_view(self, shared_traits: Mapping[str, Any]) -> None:
        """Show the lanes, selection and colours that a link carries."""
        for name, value in shared_traits.items():
            if name in ("memory", "load"):
                self._restore_request(name, value)
                continue
            if name not in SHAREABLE or not self.view.accepts(name, value):
                raise PtxlabError(
                    f"this link sets {quoted(name)} to {quoted(value)}, which the Explorer does not know"
                )
            setattr(self.view, name, value)

    def _restore_request(self, name: str, value: Any) -> None:
        """Show the shared memory, or the load, that a link carries: what a page could have asked for."""
        try:
            message = decode_message({"type": f"show_{name}", **value})
        except (PtxlabError, TypeError):
            message = None
        if not isinstance(message, ShowMemory | ShowLoad):
            raise PtxlabError(f"this link shows {name} as {quoted(value)}, which the Explorer does not know")
        self._answer(message)
