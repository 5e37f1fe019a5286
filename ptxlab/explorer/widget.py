"""The Explorer widget: traits and methods for the next cell, around a session and its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_flag, as_index, as_int, as_text
from ..errors import PtxlabError, quoted
from ..isa.form import Form
from ..isa.operation import Operation
from ..views.static_fallback import StaticFallback
from .documents.forms import Explorable, explorable
from .edits import Edit, Redo, SetRegisters, SetValues, Undo
from .history import History
from .notebook_page import CheckedMessages, NotebookPage, ReadOnlyTrait, Registers, StateTrait, TraitObservers
from .page.page_model import MATRICES, MAX_PINNED, read_only
from .page.toolbar_data import TOOLS
from .page.trace_data import FoundDifference
from .quiz.quiz import Quiz, ShortQuestion, choose_questions
from .saving.export import python_code, static_html
from .saving.static_html import MAX_PRODUCTS, check_path, write_page
from .session import PageSession
from .state import ExplorerState, LoadRequest, MemoryRequest

MIN_HEIGHT, MAX_HEIGHT = 300, 10_000  # pixels; a lower Explorer would be unreadable


def _pixels(height: int) -> int:
    """The height of an Explorer, checked."""
    pixels = as_int(height, "height")
    if not MIN_HEIGHT <= pixels <= MAX_HEIGHT:
        raise PtxlabError(
            f"height: found {quoted(pixels)}; it takes {MIN_HEIGHT} to {MAX_HEIGHT} pixels, or None for "
            "as much as the notebook shows at once"
        )
    return pixels


def _tools(tools: object) -> list[str]:
    """The tools that stand on the bar, checked."""
    names = [tools] if isinstance(tools, str) else tools
    known = isinstance(names, Iterable) and list(names)
    unknown = [name for name in known or () if name not in TOOLS]
    if known is False or unknown:
        found = unknown[0] if unknown else tools
        raise PtxlabError(f"tools: found {quoted(found)}; it takes names of {', '.join(TOOLS)}")
    return known


def _hexadecimal(descriptor: int | str) -> str:
    """A matrix descriptor as hexadecimal text."""
    if isinstance(descriptor, str):
        return descriptor
    return f"0x{as_int(descriptor, 'descriptor'):016x}"


def _matrix_trait(matrix: str, doc: str) -> StateTrait:
    """The trait of a matrix: its values, or the nibbles of metadata."""

    def read(ex: Explorer) -> NDArray[Any]:
        return read_only(ex._presenter.values(matrix))

    def write(ex: Explorer, values: ArrayLike) -> None:
        if matrix == "D":
            raise ReadOnlyTrait("D is the result and cannot be changed; change A, B or C")
        ex.apply(SetValues(matrix, values))

    return StateTrait(read, write, doc)


def _refuse_score(explorer: Any, score: object) -> None:
    raise ReadOnlyTrait("quiz_score counts the answers of a quiz and cannot be assigned")


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
        _refuse_score,
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
        tools: Iterable[str] = (),
        operands: Operation | None = None,
        address: int | None = None,
        split: int | None = None,
    ) -> None:
        self.session = PageSession(
            ins,
            matrices={"A": A, "B": B, "C": C},
            seed=seed,
            height=0 if height is None else _pixels(height),
            tools=_tools(tools),
            operands=operands,
            address=address,
            split=split,
            observers=TraitObservers(self),
        )
        self.state, self.view = self.session.state, self.session.page_model
        self._presenter = self.session.presenter
        self._registers = Registers(self.state, self.apply)
        self.page = NotebookPage(self.session)
        super().__init__([self.page])
        self._own_widgets = (self.layout, self.page, self.page.layout)
        self.view.observe(self.redraw_saved, [*MATRICES, "label", "colour_by", "show_c"])

    def close(self) -> None:
        """Close the widget with everything that it opened: its view, and the layouts of both."""
        super().close()
        for widget in vars(self).get("_own_widgets", ()):  # none if the constructor refused its arguments
            widget.close()

    # -- from the next cell -------------------------------------------------------------------------------

    @property
    def instruction(self) -> Explorable:
        """The instruction; assign another one to switch, which keeps the matrices that fit."""
        return self.state.form

    @instruction.setter
    def instruction(self, ins: Form | str) -> None:
        self._presenter.choose(explorable(ins))
        self._presenter.show()

    def restart(self, ins: Form | str) -> None:
        """Start anew with an instruction and its initial matrices; the undo history is cleared."""
        self.state.replace_instruction(ExplorerState(explorable(ins), self.state.seed))
        self.state.history = History()
        self._presenter.forget_refusal()
        self._presenter.show()

    @property
    def chip(self) -> str:
        """The chip whose D is shown, such as "sm_90", or "GPU"; assign another that has the instruction.

        It is "" for transfers, which are the same on all chips.
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

    def find_difference(self, seconds: float = 1.0) -> FoundDifference:
        """Search for small inputs on which the two chips differ, and select the first cell of D that does.

        The result is true if there is one, and says what was found when printed. Inputs on which the chips
        already differ are kept; undo restores replaced ones.

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
        self.view.lane = as_index(lane, "lane", self.state.threads)

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
        last = self.state.threads - 1
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
        """Undo the last edit, if there is one."""
        self.apply(Undo())

    def redo(self) -> None:
        """Redo the last undone edit, if there is one."""
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
        layout: str | None = None,
    ) -> None:
        """Show a matrix in shared memory, bank by bank, and the accesses that move it to or from registers.

        `by` is the instruction: "ldmatrix" or "ld.shared" for A and B, "stmatrix" or "st.shared" for D;
        wgmma and wmma have their own. `major` says whether a "row" or a "column" is contiguous, `pitch` how
        many bytes those are apart, and `swizzle` is 0, 32, 64 or 128. What is left out has its default.
        For a tile of wgmma or tcgen05.mma, a matrix `descriptor` can state the layout, as 64 bits or as
        hexadecimal text; for other operands, CuTe's notation, ``"Swizzle<3,3,3> o (64,64):(64,1)"``.

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
            None if layout is None else as_text(layout, "layout"),
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
        `column`; `pack` is .pack::16b. Without a count it fills up to 32 registers of each thread.

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
        chosen = None if thread is None else as_index(thread, "thread", self.state.threads)
        self.session.show_load(request)
        if chosen is not None:
            self.lane = chosen

    # -- the quiz -----------------------------------------------------------------------------------------

    def quiz(
        self,
        questions: Sequence[str | ShortQuestion] | str | ShortQuestion | None = None,
        *,
        kinds: Sequence[str] | None = None,
        count: int | None = None,
        seed: int | None = None,
    ) -> Quiz:
        """Ask the given questions on the screen, or random ones; `ex.quiz_score` has the score.

        Random questions are of every kind that makes sense for the instruction, or of some `kinds` ("where",
        "holds", "nibble", "metadata", "value", "change", "code"); the same `seed` asks the same ones.

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
        """Everything as a text to share: ``ptxlab.explore(link)`` opens it again.

        It is short if edits made the matrices: it repeats these from the seed on. Assigned arrays are in it.
        """
        return self.session.link

    def save_html(self, path: str | Path, title: str = "") -> Path:
        """Write what is on the screen as one read-only HTML file that needs no kernel and no network.

        >>> import tempfile
        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ex.save_html(f"{folder}/m16n8k16.html").name
        'm16n8k16.html'
        """
        check_path(path)
        return write_page(path, title, self.instruction.mnemonic, self.page_data())

    def page_data(self, max_products: int = MAX_PRODUCTS) -> dict[str, Any]:
        """What a saved page holds; all dot products only if D has at most `max_products`."""
        return self.session.page_data(max_products)

    def static_html(self) -> str:
        """What is on the screen as an image, which a saved notebook shows without a kernel.

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

    def _set_registers(self, registers: Any) -> None:
        if not isinstance(registers, Mapping):
            raise PtxlabError(
                f"registers: found {quoted(registers)}; they take a dict of arrays by operand, or assign "
                'those of one operand, ex.registers["A"] = array'
            )
        self.apply(*(SetRegisters(name, array) for name, array in registers.items()))
