"""Panels beside the matrices of an instruction that multiplies: memory, a tcgen05.ld, the trace, the quiz.

Each knows what it shows of the state and sends that to its own trait of the view, if it changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import views
from ..errors import PtxlabError
from ..isa.form import Form
from ..isa.tcgen05 import Tcgen05Mma
from .differences import trace_columns
from .export import gpu_note
from .memory_descriptor import set_field
from .memory_view import MemoryLayout, lay_out, memory_data, memory_layout
from .question import Question
from .quiz import Quiz, Score, choose_questions
from .serialise import picture_data
from .state import ExplorerState, LoadRequest, MemoryRequest
from .stepper import dot_product_steps
from .tensor_view import Load, find_load, load_data
from .traits import Observers
from .view import View


class MemoryPanel:
    """A matrix in shared memory, bank by bank; `state.memory` says which, and how it lies there."""

    def __init__(self, state: ExplorerState, view: View) -> None:
        self._state, self._view = state, view
        self._sent: MemoryLayout | None = None

    def request(self, request: MemoryRequest | None) -> None:
        """Show a matrix like this, or none. The page itself follows what is written there."""
        layout = None if request is None else lay_out(self._state, request)
        if layout is not self._sent:
            self._view.memory = {} if layout is None else memory_data(self._state, layout)
        self._state.memory, self._sent = request, layout

    def set_field(self, name: str, text: str) -> None:
        """Write one field of the matrix descriptor of the tile that is shown."""
        layout = memory_layout(self._state)
        if layout is None or layout.shared is None:
            raise PtxlabError("no tile of wgmma or tcgen05.mma is shown; ex.show_memory shows one")
        self.request(MemoryRequest(layout.name, descriptor=set_field(layout.shared, name, text)))

    def keep(self) -> None:
        """After a change of the instruction or a modifier: the same matrix, laid out as before if it can."""
        request, attempts = self._state.memory, list[MemoryRequest | None]()
        if request is not None:
            attempts = [request, replace(request, major=None), MemoryRequest(request.name)]
        for attempt in [*attempts, None]:
            with contextlib.suppress(PtxlabError):
                self.request(attempt)
                return


class LoadPanel:
    """The registers of a thread after a tcgen05.ld; `state.load` says of which."""

    def __init__(self, state: ExplorerState, view: View) -> None:
        self._state, self._view = state, view
        self._sent: tuple[Form, Load | None] | None = None

    def request(self, request: LoadRequest) -> None:
        """Show this load; nothing for an instruction without tensor memory."""
        ins, load = self._state.form, None
        if isinstance(ins, Tcgen05Mma):
            load = find_load(ins, request)
            if (ins, load) != self._sent:
                self._view.load = load_data(ins, load)
        else:
            self._view.load = {}
        self._state.load, self._sent = request, (ins, load)

    def keep(self) -> None:
        """After a change of the instruction: the same load, or its shape, or the usual one."""
        request = self._state.load
        for attempt in (request, LoadRequest(request.shape), LoadRequest()):
            with contextlib.suppress(PtxlabError):
                self.request(attempt)
                return


class TracePanel:
    """Why a cell of D has its bits: its dot product step by step and, if it is open, the picture of them."""

    def __init__(self, state: ExplorerState, view: View) -> None:
        self._state, self._view = state, view
        self.cell: tuple[int, int] | None = None  # that was selected last

    @property
    def cell_or_first(self) -> tuple[int, int]:
        """For what needs a cell even if none was selected."""
        return self.cell or (0, 0)

    def show(self) -> None:
        """Show the cell that was selected last, if there is one."""
        if self.cell is None or self._state.transfer is not None:  # nothing is computed
            self._view.trace = {}
        else:
            self._view.trace = self.data(*self.cell, with_picture=self._view.tracing)

    def data(self, row: int, column: int, *, with_picture: bool) -> dict[str, Any]:
        """What the page shows about a cell; {} if no model explains its D."""
        state, results = self._state, self._state.results
        if not state.explains(row, column):
            return {}
        trace = state.trace(row, column)
        data: dict[str, Any] = {
            "row": row,
            "column": column,
            "dot_product": dot_product_steps(state, trace),
        }
        if with_picture and results.compared_models:
            data |= trace_columns(*(state.trace(row, column, chip) for chip in results.compared_models))
        elif with_picture:
            data |= picture_data(views.trace(trace, gpu_note(state, trace)))
        return data


class QuizPanel:
    """The quiz that runs, if one does, and the score of the latest."""

    def __init__(self, state: ExplorerState, view: View, observers: Observers) -> None:
        self._state, self._view, self._observers = state, view, observers
        self._quiz: Quiz | None = None
        self.score = Score()

    @property
    def running(self) -> Quiz:
        """The quiz that runs."""
        if self._quiz is None:
            raise PtxlabError("there is no quiz; ex.quiz() starts one")
        return self._quiz

    @property
    def questions(self) -> Sequence[Question]:
        """Those of the quiz that runs; otherwise some that anybody gets who asks for them here."""
        return self._quiz.questions if self._quiz else choose_questions(self._state, count=10, seed=0)

    def start(self, questions: Sequence[Question]) -> Quiz:
        """Ask these questions."""
        quiz = self._quiz = Quiz(self._state, questions, self.show)
        self.show()
        return quiz

    def stop(self) -> None:
        """End the quiz; its score stays."""
        self._quiz = None
        self.show()

    def show(self) -> None:
        """Show the question, the verdict and the score as they are now."""
        quiz = self._quiz
        if quiz is not None:
            quiz.drop_impossible()
            self.score = quiz.score
        self._view.quiz = {} if quiz is None else quiz.serialised()
        self._observers.notify("quiz_score", self.score)
