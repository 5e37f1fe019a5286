"""The Explorer widget: its state as traits for Python, and one view that draws it and sends back messages."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from .. import gpu, views
from .._util.arguments import as_flag, as_index, as_int, as_text, is_name
from ..errors import PtxlabError, quoted
from ..gpu import codegen
from ..isa.operands import Operands
from ..isa.parse import parse_any
from ..isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from ..isa.tensor_memory import LANES
from ..views.figures import chart, figure
from .differences import Finding, find_difference
from .edits import (
    ChooseInstruction,
    Edit,
    Redo,
    SetChips,
    SetRegisters,
    SetValues,
    Undo,
    change_instruction,
)
from .export import (
    check_figure,
    figure_of_selection,
    gpu_note,
    is_link,
    open_link,
    picture,
    python_code,
    share_link,
)
from .matrices import Product
from .memory_descriptor import set_field
from .memory_view import MemoryLayout, memory_data, memory_layout
from .move_export import move_code, open_move, share_move
from .move_view import move_bytes, move_info, move_toolbar
from .moves import MoveState, first_move, with_form
from .picker import picker_index
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
    comparison_bytes,
    decode_message,
    instruction_info,
    is_same,
    lane_registers,
    matrix_bytes,
    picture_data,
    sources,
    threads,
    toolbar,
)
from .questions import Question
from .quiz import Quiz, Score, choose_questions
from .refusals import RefusedEdit, explorable, multiplication
from .results import GPU, NOBODY, Comparison
from .state import ExplorerState, History, LoadRequest, MemoryRequest, Wrap
from .static_html import save_move, save_page
from .stepper import dot_product_steps
from .tensor_view import Load, load_data, tensor_load, thread_of
from .trace_columns import trace_columns
from .view import MATRICES, MAX_PINNED, SHAREABLE, CheckedMessages, View, parse_selection

__all__ = ["Explorer"]

_BESIDE_A_MOVE = "tcgen05.mma.cta_group::1.kind::f16"  # what the state multiplies while a move is shown
LEAST_HEIGHT, MOST_HEIGHT = 300, 10_000  # pixels; a lower Explorer shows nothing that can be read


# -- traits that are read from the state -----------------------------------------------------------------


class ReadOnlyTrait(PtxlabError, AttributeError):
    """A trait that can be read and observed, but not assigned."""


class StateTrait(traitlets.TraitType[Any, Any]):
    """A trait without a value of its own: it is read from the state, and written by an edit of it."""

    def __init__(
        self, read: Callable[[Any], Any], write: Callable[[Any, Any], None] | None, doc: str
    ) -> None:
        super().__init__(help=doc)
        self.__doc__ = doc
        self._read, self._write = read, write

    def subclass_init(self, cls: type[Any]) -> None:
        """There is no default to prepare."""

    def get(self, obj: Any, cls: type[Any] | None = None) -> Any:
        return self._read(obj)

    def set(self, obj: Any, value: Any) -> None:
        if self._write is None:
            raise ReadOnlyTrait(f"{self.name} is the result and cannot be changed; change A, B or C")
        self._write(obj, value)


class MatrixTrait(StateTrait):
    """A matrix of the state by its values; metadata by its nibbles."""

    def __init__(self, matrix: str, doc: str) -> None:
        def read(ex: Explorer) -> NDArray[Any]:
            return _read_only(ex._values(matrix))

        def write(ex: Explorer, values: ArrayLike) -> None:
            ex.apply(SetValues(matrix, values))

        super().__init__(read, None if matrix == "D" else write, doc)
        self.matrix = matrix


class Registers(Mapping[str, NDArray[Any]]):
    """``ex.registers["A"]``: uint32 [lanes, registers], to read and to assign."""

    def __init__(self, owner: Explorer) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> NDArray[Any]:
        moves = self._owner._moves
        return _read_only(self._owner.state.registers(name) if moves is None else moves.move.words(name))

    def __setitem__(self, name: str, registers: ArrayLike) -> None:
        self._owner.apply(SetRegisters(name, registers))

    def __contains__(self, name: object) -> bool:
        return is_name(name, self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def _names(self) -> list[str]:
        """A, B, C, D, and E, SFA, SFB where the instruction has them."""
        if self._owner._moves is not None:
            return list(self._owner._moves.move.names)
        names = list(self._owner.state.operands.arrays)
        return [*names[:3], "D", *names[3:]]


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


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written, so that ``ex.A[0, 0] = 1`` fails instead of changing nothing."""
    array = array.copy()
    array.flags.writeable = False
    return array


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


def _equal_bits(one: Any, other: Any) -> bool:
    """Whether two values of a trait are the same, bit for bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        same_type = one.shape == other.shape and one.dtype == other.dtype
        return same_type and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


# -- the widget ------------------------------------------------------------------------------------------


class Explorer(CheckedMessages, ipywidgets.VBox):  # type: ignore[misc]
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

    A = MatrixTrait(
        "A", "Values of A; for sparse instructions the dense matrix, which must have their structure."
    )
    B = MatrixTrait("B", "Values of B.")
    C = MatrixTrait("C", "Values of C.")
    metadata = MatrixTrait("E", "The metadata nibbles of a sparse instruction, [rows, chunks].")
    scale_a = MatrixTrait("SFA", "Block scales of A.")
    scale_b = MatrixTrait("SFB", "Block scales of B.")
    D = MatrixTrait("D", "Values of the result; it can be read and observed.")
    registers = StateTrait(
        lambda ex: ex._registers,
        lambda ex, registers: ex._set_registers(registers),
        'Registers by operand: ``ex.registers["A"]``.',
    )
    selection = StateTrait(
        lambda ex: dict(ex.view.selected),
        lambda ex, selection: ex._select(selection),
        'The selected cell; assign ``("D", 9, 3)`` to select one.',
    )

    quiz_score = StateTrait(
        lambda ex: ex._score,
        lambda ex, score: ex._refuse_score(),
        "How many answers of the quiz are right: ``ex.quiz_score.right``, ``.answered``, ``.answers``.",
    )

    def __init__(
        self,
        ins: Product | Tcgen05Transfer | str,
        *,
        A: ArrayLike | None = None,
        B: ArrayLike | None = None,
        C: ArrayLike | None = None,
        seed: int = 0,
        height: int | None = None,
        wrap: Wrap | None = None,
        wrap_transfer: Callable[[Tcgen05Transfer], Tcgen05Transfer] | None = None,
        operands: Operands | None = None,
        address: int | None = None,
        split: int | None = None,
    ) -> None:
        self._wrap_move = wrap_transfer or (lambda form: form)
        self._came_from_product = False  # whether undo goes back from a move to what multiplied before it
        # the tcgen05.ld, .st, .cp or .shift that is shown instead of the state, or None
        self._moves, shared_traits = self._open(ins, seed, wrap, address, split)
        edits = [
            SetValues(name, values) for name, values in (("A", A), ("B", B), ("C", C)) if values is not None
        ]
        if self._moves is not None:
            self._moves.apply([*edits])
            self._moves.past = []
        else:
            for edit in edits:
                edit.apply(self.state)
        if operands is not None:
            self.state.operands = replace(operands, ins=self.state.ins)
        self.state.history = History()
        self._registers = Registers(self)
        self._sent: dict[str, tuple[Any, ...]] = {}  # the sources of each matrix as it was last sent
        self._observed: dict[str, Any] = {
            "selection": {},
            "quiz_score": Score(),
        }  # what observers were told last
        self._shown: Product | None = None  # the instruction that the view shows
        self._gpu_time = ""
        self._finding = ""  # what the search for a difference came to, until the next change
        self._traced_cell: tuple[int, int] | None = None
        self._memory: MemoryLayout | None = None  # that the view shows
        self._load: tuple[Product, Load | None] | None = None  # likewise
        self._quiz: Quiz | None = None  # the one that runs
        self._score = Score()  # of the latest quiz
        self.view = View(height=0 if height is None else _pixels(height))
        self._first_view = {name: getattr(self.view, name) for name in SHAREABLE}
        super().__init__([self.view])
        self._own_widgets = (self.layout, self.view, self.view.layout)
        self.view.on_msg(self._on_message)
        self.view.observe(lambda _: self._show_lanes(), ["lane", "pinned"])
        self.view.observe(self._on_selected, "selected")
        self.view.observe(lambda _: self._show_trace(), "tracing")
        try:
            self._show()
            self._restore_view(shared_traits)
        except BaseException:
            self.close()
            raise

    def _open(
        self,
        ins: Product | Tcgen05Transfer | str,
        seed: int,
        wrap: Wrap | None,
        address: int | None,
        split: int | None,
    ) -> tuple[MoveState | None, Mapping[str, Any]]:
        """Begin with an instruction, or with a link: the move that is shown, if it is one, and the view."""
        product, moves, traits = multiplication(_BESIDE_A_MOVE), None, dict[str, Any]()
        if isinstance(ins, str) and is_link(ins):
            link = open_move(ins)
            if link is None:
                self.state, traits = open_link(ins, wrap)
                return None, traits
            moves, traits = link
            moves.move = replace(moves.move, form=self._wrap_move(moves.form))
        else:
            form = explorable(ins)
            if isinstance(form, Tcgen05Transfer):
                moves = MoveState(first_move(self._wrap_move(form), address or 0, split, seed), seed)
            elif address is not None or split is not None:
                raise PtxlabError(
                    f"{form.mnemonic}: address and split are for tcgen05.ld, .st, .cp and .shift"
                )
            else:
                product = form
        self.state = ExplorerState(product if wrap is None else wrap(product), seed, wrap)
        return moves, traits

    def _wrap_shown(self) -> None:
        """Give the move that is shown the class that users hold."""
        if self._moves is not None:
            self._moves.move = replace(self._moves.move, form=self._wrap_move(self._moves.form))

    def close(self) -> None:
        """Close the widget with everything that it opened: its view, and the layouts of both."""
        super().close()
        for widget in vars(self).get("_own_widgets", ()):  # none where the constructor refused its arguments
            widget.close()

    # -- from the next cell -------------------------------------------------------------------------------

    @property
    def instruction(self) -> Product | Tcgen05Transfer:
        """The instruction; assign another one, and the matrices that fit it stay."""
        return self.state.ins if self._moves is None else self._moves.form

    @instruction.setter
    def instruction(self, ins: Product | Tcgen05Transfer | str) -> None:
        form = explorable(ins)
        if isinstance(form, Tcgen05Transfer):
            self._show_form(form)
        else:
            if self._moves is None:
                self.state.look = self._look()
            change_instruction(self.state, form)
            self._leave_move()
            self._finding = ""
        self._show()

    def _show_form(self, form: Tcgen05Transfer) -> None:
        """Go on with a tcgen05.ld, .st, .cp or .shift; what multiplied is kept for undo."""
        form = self._wrap_move(form)
        if self._moves is not None:
            self._moves.commit(with_form(self._moves.move, form, self._moves.seed))
            return
        self.state.look = self._look()
        self._moves = MoveState(first_move(form, seed=self.state.seed), self.state.seed)
        self._came_from_product = True

    def _leave_move(self) -> None:
        """Show what multiplies again; if nothing did before, there is nothing to go back to."""
        if self._moves is not None and not self._came_from_product:
            self.state.history, self.state.notices = History(), ()
        self._moves = None

    def _product(self) -> Product:
        """The instruction, for what only those that multiply have."""
        if self._moves is not None:
            raise PtxlabError(
                f"{self._moves.form.mnemonic} moves words and computes nothing; "
                "this is for instructions that multiply"
            )
        return self.state.ins

    def _values(self, name: str) -> NDArray[Any]:
        """A matrix as people read it: values; of metadata its nibbles."""
        if self._moves is not None:
            move = self._moves.move
            return move.dtype.decode(move.words(name))
        return self.state.codes(name) if name == "E" else self.state.values(name)

    @property
    def chip(self) -> str:
        """The chip whose D is shown, such as "sm_90", or "GPU"; assign another that has the instruction."""
        return self.state.results.chip if self._moves is None else ""

    @chip.setter
    def chip(self, chip: str) -> None:
        self._choose_chips(chip, self.against)

    @property
    def against(self) -> str | None:
        """The chip, or "GPU", that D is compared with; None for none."""
        return self.state.results.against

    @against.setter
    def against(self, chip: str | None) -> None:
        self._choose_chips(self.chip, chip)

    def _choose_chips(self, chip: str, against: str | None) -> None:
        self._product()
        self.state.results.choose(chip, against)
        self.state.refusal, self._finding = None, ""
        self._show()

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Cells of D where the two chips differ; all False if D is not compared."""
        self._product()
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
        self._product()
        self.state.look = self._look()
        with self.state.all_or_nothing():
            finding = find_difference(self.state, seconds)
        self.state.refusal, self._finding = None, finding.sentence
        with self.view.hold_sync():
            self._show()
            if finding.cell is not None:
                self._select(("D", *finding.cell))
        return finding

    @property
    def lane(self) -> int:
        """The chosen lane."""
        return int(self.view.lane)

    @lane.setter
    def lane(self, lane: int) -> None:
        self.view.lane = as_index(lane, "lane", self._threads)

    @property
    def _threads(self) -> int:
        return LANES if self._moves is not None else threads(self.state.ins)

    @property
    def lanes(self) -> list[int]:
        """The lanes whose registers are shown side by side; assign up to four, the first is the chosen one.

        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> ex.lanes = [0, 5, 9]
        >>> ex.lane = 7
        >>> ex.lanes
        [7, 0, 5, 9]
        """
        lane, pinned = self.lane, [int(each) for each in self.view.pinned]
        return pinned if lane in pinned else [lane, *pinned]

    @lanes.setter
    def lanes(self, lanes: Sequence[int] | NDArray[np.integer]) -> None:
        allowed = (
            f"up to {MAX_PINNED} different lanes can be shown side by side, from 0 to {self._threads - 1}"
        )
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
        self._make(edits)
        self._show()

    def _make(self, edits: Sequence[Edit]) -> None:
        """Change the state, or leave it as it was; nothing is shown yet."""
        if self._change_family(edits):
            return
        if self._moves is not None:
            self._moves.apply(list(edits))
            self._wrap_shown()
            return
        self.state.look = self._look()
        if len(edits) == 1:
            with self.state.all_or_nothing():
                edits[0].apply(self.state)
        else:
            with self.state.one_step():
                for edit in edits:
                    edit.apply(self.state)
        self.state.refusal, self._finding = None, ""

    def _change_family(self, edits: Sequence[Edit]) -> bool:
        """Go from an instruction that multiplies to one that moves words, or back; whether that was asked."""
        if len(edits) != 1:
            return False
        edit = edits[0]
        if isinstance(edit, Undo) and self._moves is not None and not self._moves.past:
            if self._came_from_product:
                self._moves = None
            return True
        if not isinstance(edit, ChooseInstruction):
            return False
        form = parse_any(edit.mnemonic)
        if isinstance(form, Tcgen05Transfer):
            self._show_form(form)
            return True
        if self._moves is None:
            return False
        with self.state.all_or_nothing():
            edit.apply(self.state)
        self._leave_move()
        return True

    def undo(self) -> None:
        """Take back the last edit, if there is one."""
        self.apply(Undo())

    def redo(self) -> None:
        """Take back the last undo, if there is one."""
        self.apply(Redo())

    def run(self) -> None:
        """Run the instruction on the GPU too, and mark where D differs from the model of its chip."""
        ins, results = self._product(), self.state.results
        if not gpu.available(ins):
            raise PtxlabError(gpu.status(ins))
        target, chips, toolbar_before = gpu.device_target(), results.available, self.view.toolbar
        try:
            self.view.toolbar = toolbar(self.state, chips, f"compiling for {target} …")
            gpu.compile(codegen.source(ins, self.state.operands.modifiers), target)
            self.view.toolbar = toolbar(self.state, chips, f"running on {target} …")
            results.forget(GPU)
            model = gpu.model(ins) or results.model
            self.apply(SetChips(GPU, None) if model == NOBODY else SetChips(model, GPU))
        except BaseException:
            self.view.toolbar = toolbar_before  # it no longer waits
            raise

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
        self._product()
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
        self._request_memory(request)

    def _set_memory_field(self, name: str, text: str) -> None:
        layout = memory_layout(self.state)
        if layout is None or layout.shared is None:
            raise PtxlabError("no tile of wgmma or tcgen05.mma is shown; ex.show_memory shows one")
        self.show_memory(layout.name, descriptor=set_field(layout.shared, name, text))

    def hide_memory(self) -> None:
        """Show no memory."""
        self._request_memory(None)

    def _request_memory(self, request: MemoryRequest | None) -> None:
        before, self.state.memory = self.state.memory, request
        try:
            self._show_memory()
        except PtxlabError:
            self.state.memory = before
            raise

    def _show_memory(self) -> None:
        """Send what is shown in memory, if that changed; the page itself follows what is written there."""
        layout = memory_layout(self.state)
        if layout is self._memory:
            return
        self.view.memory = {} if layout is None else memory_data(self.state, layout)
        self._memory = layout

    def _keep_memory(self) -> None:
        """After a change of the instruction or a modifier: the same matrix, laid out as before if it can."""
        request, attempts = self.state.memory, list[MemoryRequest | None]()
        if request is not None:
            attempts = [request, replace(request, major=None), MemoryRequest(request.name)]
        for attempt in [*attempts, None]:
            with contextlib.suppress(PtxlabError):
                self._request_memory(attempt)
                return

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
        if not isinstance(self._product(), Tcgen05Mma):
            raise PtxlabError(
                f"{self.instruction.mnemonic} leaves D in registers; tcgen05.ld loads that of tcgen05.mma"
            )
        chosen = None if thread is None else as_index(thread, "thread", self._threads)
        self._request_load(request)
        if chosen is not None:
            self.lane = chosen

    def _request_load(self, request: LoadRequest) -> None:
        before, self.state.load = self.state.load, request
        try:
            self._show_load()
        except PtxlabError:
            self.state.load = before
            raise

    def _show_load(self) -> None:
        load = tensor_load(self.state)
        key = (self.state.ins, load)
        if key == self._load:
            return
        self.view.load = {} if load is None else load_data(self.state, load)
        self._load = key

    def _keep_load(self) -> None:
        """After a change of the instruction: the same load, or its shape, or the usual one."""
        request = self.state.load
        for attempt in (request, LoadRequest(request.shape), LoadRequest()):
            with contextlib.suppress(PtxlabError):
                self._request_load(attempt)
                return

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
        self._product()
        chosen = choose_questions(self.state, questions, kinds=kinds, count=count, seed=seed)
        self._quiz = Quiz(self.state, chosen, self._show_quiz)
        self._show_quiz()
        return self._quiz

    def stop_quiz(self) -> None:
        """End the quiz, if there is one; its score stays."""
        self._quiz = None
        self._show_quiz()

    def _show_quiz(self) -> None:
        quiz = self._quiz
        if quiz is not None:
            quiz.drop_impossible()
            self._score = quiz.score
        self.view.quiz = {} if quiz is None else quiz.serialised()
        self._notify("quiz_score", self._score)

    def _refuse_score(self) -> None:
        raise ReadOnlyTrait("quiz_score counts the answers of a quiz and cannot be assigned")

    def _quiz_request(self, request: Request) -> None:
        if isinstance(request, StartQuiz):
            self.quiz()
        elif isinstance(request, StopQuiz):
            self.stop_quiz()
        elif self._quiz is None:
            raise PtxlabError("there is no quiz; ex.quiz() starts one")
        elif isinstance(request, AnswerQuestion):
            with contextlib.suppress(PtxlabError):  # the quiz shows why beside the answer
                self._quiz.answer(request.text)
        elif isinstance(request, SkipQuestion):
            self._quiz.skip()
        elif isinstance(request, NextQuestion):
            self._quiz.next()

    # -- export -------------------------------------------------------------------------------------------

    def code(self) -> str:
        """Python that computes the D on the screen, without a notebook: ``exec(ex.code())``."""
        return python_code(self.state) if self._moves is None else move_code(self._moves)

    @property
    def link(self) -> str:
        """Everything as a text to send to somebody: ``ptxlab.explore(link)`` opens it again.

        It is short where fills made the matrices: it names them and the seed instead of every register.
        """
        traits = {name: getattr(self.view, name) for name in SHAREABLE}
        changed = {name: value for name, value in traits.items() if value != self._first_view[name]}
        if self._moves is not None:
            return share_move(self._moves, changed)
        if self.state.memory is not None:
            changed["memory"] = {
                name: value for name, value in vars(self.state.memory).items() if value is not None
            }
        if self.state.load != LoadRequest() and isinstance(self.state.ins, Tcgen05Mma):
            changed["load"] = {
                name: value for name, value in vars(self.state.load).items() if value is not None
            }
        return share_link(self.state, changed)

    def save_html(self, path: str | Path, title: str = "") -> Path:
        """Write what is on the screen as one HTML file that needs no kernel and no network, read-only.

        >>> import tempfile
        >>> ex = Explorer("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ex.save_html(f"{folder}/m16n8k16.html").name
        'm16n8k16.html'
        """
        if self._moves is not None:
            return save_move(path, title, self._moves.form, self.view, self.link)
        cell = self._traced_cell or (0, 0)
        questions = self._quiz.questions if self._quiz else choose_questions(self.state, count=10, seed=0)
        return save_page(path, title, self.state, self.view, self.link, self._trace, cell, questions)

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
        if self._moves is not None:
            return figure(self._moves.form, what, title=title, **options)
        view = self.view
        display = {"label": view.label, "colour": view.colour_by, "show_c": view.show_c}
        name = figure_of_selection(self.state, view.selected) if what is None else what
        check_figure(self.state, name, options)
        cell = self._traced_cell or (0, 0)
        drawn = picture(self.state, name, chosen_lane=view.lane, cell=cell, display=display, **options)
        return chart(drawn, title=title)

    # -- from the page ------------------------------------------------------------------------------------

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        """Do what the page asks for; if it is refused, show why."""
        try:
            if buffers:
                raise PtxlabError("the page sent bytes with a message, but no message takes any")
            message = decode_message(content)
            if isinstance(message, Edit):
                with _faults_as_refusals():
                    self._make([message])
                self._show()
            elif isinstance(message, RunOnGpu):
                self.run()
            elif isinstance(message, FindDifference):
                with _faults_as_refusals():
                    self._find_for_the_page()
            else:
                with _faults_as_refusals():
                    self._answer(message)
        except PtxlabError as error:
            self.state.refusal = error if isinstance(error, RefusedEdit) else None
            if self.view.problem == str(error):
                self.view.problem = (
                    ""  # the page sees only changes, and shows the sentence where it was asked
                )
            self._show_problem(str(error))

    def _find_for_the_page(self) -> None:
        """Search, and tell the page when that is over: what was found may be what it shows already."""
        try:
            self.find_difference()
        finally:
            self.view.send({"searched": True})

    def _answer(self, request: Request) -> None:
        if isinstance(request, RequestPickerIndex):
            self.view.picker_index = picker_index()
        elif isinstance(request, ResendMatrices):
            self.view.resend()
        elif isinstance(request, ShowMemory):
            self.show_memory(
                request.name,
                by=request.by,
                major=request.major,
                pitch=request.pitch,
                swizzle=request.swizzle,
                descriptor=request.descriptor,
            )
        elif isinstance(request, SetMemoryField):
            self._set_memory_field(request.name, request.text)
        elif isinstance(request, HideMemory):
            self.hide_memory()
        elif isinstance(request, ShowLoad):
            self.show_load(
                request.shape,
                count=request.count,
                lane=request.lane or 0,
                column=request.column or 0,
                pack=bool(request.pack),
            )
        elif isinstance(request, Export):
            file_name = f"{self.instruction.mnemonic.replace('::', '-')}.html"
            text = self._export(request.format)
            self.view.send({"export": request.format, "text": text, "name": file_name})
        else:
            self._quiz_request(request)

    def _export(self, format: str) -> str:
        if format == "code":
            return self.code()
        if format == "link":
            return self.link
        with tempfile.TemporaryDirectory() as folder:
            return self.save_html(Path(folder) / "page.html").read_text(encoding="utf-8")

    def _on_selected(self, change: Any) -> None:
        if change.new.get("name") == "D" and self._moves is None:
            self._traced_cell = int(change.new["row"]), int(change.new["column"])
            self._show_trace()
        self._notify("selection", dict(change.new))

    def _set_registers(self, registers: Any) -> None:
        if not isinstance(registers, Mapping):
            raise PtxlabError(
                f"registers: found {quoted(registers)}; they take a dict of arrays by operand, or assign "
                'those of one operand, ex.registers["A"] = array'
            )
        self.apply(*(SetRegisters(name, array) for name, array in registers.items()))

    def _select(self, selection: Any) -> None:
        """Select a cell and, as a click does, the lane that holds it."""
        matrices, moves = self.state.matrices, self._moves
        if moves is None:
            shapes = {name: matrices.operand(name).shape for name in matrices.names}
        else:
            shapes = moves.move.shapes
        cell, lane = parse_selection(selection, shapes), None
        if cell and moves is not None:
            lane = moves.move.thread_of(**cell)
        elif cell:
            lane = matrices.lane_of(**cell)
            lane = thread_of(self.state, **cell) if lane is None else lane
        with self.view.hold_sync():
            if lane is not None:
                self.view.lane = lane
            self.view.selected = cell

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

    # -- to the page --------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Send what changed, and only that."""
        self._show_problem("")
        if self._moves is not None:
            self._show_moves(self._moves)
            return
        new_instruction = self._shown is not self.state.ins
        with self.view.hold_sync():
            if new_instruction:
                self._reset_view()
            chips = self.state.results.available
            comparison = self._comparison(chips)
            new_sources = sources(self.state, comparison)
            changed = [
                name for name, parts in new_sources.items() if not is_same(parts, self._sent.get(name))
            ]
            self._sent = new_sources
            self.view.toolbar = toolbar(self.state, chips, gpu_time=self._gpu_time)
            self.view.notice = "; ".join(each for each in (*self.state.notices, self._finding) if each)
            if "instruction" in changed:
                self.view.instruction = instruction_info(self.state)
            if new_instruction:
                self._restore_look(self.state.look)
            for name in MATRICES:
                if name in changed:
                    setattr(self.view, name, self._matrix_bytes(name, comparison))
            self._show_lanes()
            self._show_trace()
            if "instruction" in changed:
                self._keep_memory()
                self._keep_load()
            if new_instruction:
                self._quiz = None  # its questions are about another instruction
            self._show_quiz()
        self._notify_matrices(changed)

    def _show_moves(self, moves: MoveState) -> None:
        """Send the words of a move, and where they are."""
        move = moves.move
        if self._shown is not None or not self._sent:
            self._forget_product()
        fixed = (move.form, move.lane, move.column, move.split, move.element)
        new_sources: dict[str, tuple[Any, ...]] = {name: (move.words(name),) for name in move.names}
        new_sources["D"] = (move,)  # with its links
        with self.view.hold_sync():
            self.view.toolbar = move_toolbar(moves, bool(moves.past) or self._came_from_product)
            if fixed != self._sent.get("instruction"):
                self.view.instruction = move_info(moves)
                if not self.view.accepts("selected", dict(self.view.selected)):
                    self.view.selected = {}
            for name in MATRICES:
                if not is_same(new_sources.get(name, ()), self._sent.get(name)):
                    setattr(self.view, name, move_bytes(move, name))
        changed = [name for name in new_sources if not is_same(new_sources[name], self._sent.get(name))]
        self._sent = {**new_sources, "instruction": fixed}
        for name in ("A", "B", "C", "D"):
            if name in changed or name not in move.names:
                self._notify(name, self._values(name) if name in move.names else None)

    def _forget_product(self) -> None:
        """What the page showed of an instruction that multiplies goes, and comes back whole."""
        view = self.view
        self.state.memory, self._memory, self._load, self._quiz = None, None, None, None
        self._shown, self._sent, self._traced_cell, self._finding = None, {}, None, ""
        with view.hold_sync():
            view.selected, view.pinned, view.lane_registers, view.notice = {}, [], {}, ""
            view.lane = min(view.lane, LANES - 1)
            view.memory, view.load, view.trace, view.quiz = {}, {}, {}, {}

    def _matrix_bytes(self, name: str, comparison: Comparison) -> dict[str, Any]:
        if name == "D":
            return comparison_bytes(self.state, comparison)
        return matrix_bytes(self.state, name)

    def _look(self) -> dict[str, Any]:
        """Lanes and cells on the screen, which come back when a change of the instruction is undone."""
        view = self.view
        return {
            "lane": int(view.lane),
            "pinned": list(view.pinned),
            "selected": dict(view.selected),
            "traced": self._traced_cell,
        }

    def _restore_look(self, look: Mapping[str, Any]) -> None:
        for name in ("lane", "pinned", "selected"):
            if name in look and self.view.accepts(name, look[name]):
                setattr(self.view, name, look[name])
        self._traced_cell = look.get("traced", self._traced_cell)

    def _reset_view(self) -> None:
        lanes = threads(self.state.ins)
        self.view.lane = min(self.view.lane, lanes - 1)
        self.view.pinned = [lane for lane in self.view.pinned if lane < lanes]
        self.view.selected = {}
        self._traced_cell, self._gpu_time = None, ""
        self._sent = {}
        self._shown = self.state.ins

    def _comparison(self, chips: Sequence[str]) -> Comparison:
        """D by the chosen chips; if the GPU fails, by the first model, and the problem is shown."""
        results = self.state.results
        try:
            if results.chip not in (*chips, results.first) or results.against not in (None, *chips):
                raise PtxlabError("there is no GPU: D is computed by the emulator")
            uses_gpu = GPU in (results.chip, results.against)
            runs_now = uses_gpu and not results.has(self.state.operands, GPU)
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

    def _show_problem(self, problem: str) -> None:
        """Show why an edit was refused, where, and what can be done instead; "" if all is well."""
        refusal = self.state.refusal
        with self.view.hold_sync():
            self.view.problem = problem
            self.view.refusal = {} if refusal is None else refusal.serialised

    def _show_lanes(self) -> None:
        if self._moves is not None:
            return
        self.view.lane_registers = {
            str(lane): lane_registers(self.state, lane) for lane in self.lanes if lane < self._threads
        }

    def _show_trace(self) -> None:
        """Show why the cell of D that was selected last has its bits; the picture only if it is open."""
        if self._traced_cell is None or self._moves is not None:
            self.view.trace = {}
        else:
            self.view.trace = self._trace(*self._traced_cell, with_picture=self.view.tracing)

    def _trace(self, row: int, column: int, *, with_picture: bool) -> dict[str, Any]:
        results = self.state.results
        if not results.explains(self.state.operands, row, column):
            return {}
        trace = self.state.trace(row, column)
        data: dict[str, Any] = {
            "row": row,
            "column": column,
            "dot_product": dot_product_steps(self.state, trace),
        }
        if with_picture and results.compared_models:
            data |= trace_columns(*(self.state.trace(row, column, chip) for chip in results.compared_models))
        elif with_picture:
            data |= picture_data(views.trace(trace, gpu_note(self.state, trace)))
        return data

    # -- to observers -------------------------------------------------------------------------------------

    def _notify_matrices(self, changed: Sequence[str]) -> None:
        names = self.state.matrices.names
        for name, trait in self.traits().items():
            if isinstance(trait, MatrixTrait) and trait.matrix in changed:
                is_there = trait.matrix in names and (trait.matrix != "D" or self.state.results.is_known)
                self._notify(name, getattr(self, name) if is_there else None)
        arrays = self.state.operands.arrays
        if not is_same(tuple(arrays.values()), tuple(self._observed.get("registers", {}).values())):
            self._notify("registers", arrays)

    def _notify(self, name: str, new: Any) -> None:
        """Tell the observers of a trait, if it changed."""
        is_first, old = name not in self._observed, self._observed.get(name)
        self._observed[name] = new
        if name == "registers":
            old = {operand: _read_only(registers) for operand, registers in (old or {}).items()}
            new = self._registers
        elif _equal_bits(old, new):
            return
        if not is_first:
            self.notify_change(traitlets.Bunch(name=name, old=old, new=new, owner=self, type="change"))
