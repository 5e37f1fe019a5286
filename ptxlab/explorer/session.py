"""An Explorer without a transport: messages of a page go in, messages for it come out.

A notebook's comm (`page.py`) and a worker in a browser tab (`worker.py`) carry the same messages:
``{"method": "update", "state": {...}}`` sets what is shown, by name, ``{"method": "custom", "content": ...}``
is an edit or a request of `protocol.py` one way and an answer the other, and ``{"method": "request_state"}``
asks for everything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError, quoted
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.operation import Operation
from ..isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from .edits import Edit, SetValues, make_edits
from .export import is_link, open_link, page_address, python_code, share_link
from .picker import picker_index
from .presenter import Observers, Presenter
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
from .quiz import choose_questions
from .refusals import explorable, explorable_candidates
from .state import ExplorerState, History, LoadRequest, MemoryRequest
from .static_html import pack, page_data, page_text
from .transfer import AnyTransfer, first_transfer
from .view import SHAREABLE, Outgoing, View


class Nobody:
    """Observes nothing."""

    def notify(self, name: str, new: Any) -> None:
        """A value changed."""

    def notify_registers(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Registers changed."""


class PageSession:
    """The state of an Explorer, what its page shows, and what is done for the page's messages.

    >>> session = PageSession("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> edit = {"type": "set_cell", "name": "A", "row": 9, "column": 37, "text": "-3"}
    >>> [message] = session.handle({"method": "custom", "content": edit})
    >>> message["method"], sorted(message["state"])
    ('update', ['A', 'D', 'toolbar'])
    """

    def __init__(
        self,
        ins: Form | str,
        *,
        matrices: Mapping[str, ArrayLike | None] | None = None,
        seed: int = 0,
        height: int = 0,
        operands: Operation | None = None,
        address: int | None = None,
        split: int | None = None,
        observers: Observers | None = None,
    ) -> None:
        self.state, view_values, candidates = _open(ins, seed, address, split)
        first = [SetValues(name, values) for name, values in (matrices or {}).items() if values is not None]
        make_edits(self.state, first)
        self.state.history = History()  # these are no edits to undo
        if operands is not None:
            self.state.show(operands)
        self.view = View(height)
        self._first_view = {name: getattr(self.view, name) for name in SHAREABLE}
        self.presenter = presenter = Presenter(self.state, self.view, observers or Nobody())
        self.view.observe(presenter.show_lanes, ["lane", "pinned"])
        self.view.observe(lambda: presenter.on_selected(self.view.selected), "selected")
        self.view.observe(presenter.trace.show, "tracing")
        presenter.show()
        self.view.candidates = candidates
        self._restore_view(view_values)
        self.view.take_waiting()  # whoever opens a page asks for everything

    def handle(self, message: object) -> list[Outgoing]:
        """Do what a message of the page asks; returns what to send it, unless the view's transport has."""
        match message:
            case {"method": "update", "state": state}:
                self.view.set_state(state)
            case {"method": "custom", "content": content}:
                self._do(content)
            case {"method": "request_state"}:
                self.view.send_state()
            case _:
                self.presenter.refuse(
                    PtxlabError("the page sent a message that is neither an update nor a request nor an edit")
                )
        return self.view.take_waiting()

    @property
    def link(self) -> str:
        """Everything as a text that `ptxlab.explore` and the page open."""
        state, values = self.state, {name: getattr(self.view, name) for name in SHAREABLE}
        look = {name: value for name, value in values.items() if value != self._first_view[name]}
        if state.memory is not None:
            look["memory"] = _without_none(state.memory)
        if state.load != LoadRequest() and isinstance(state.form, Tcgen05Mma):
            look["load"] = _without_none(state.load)
        return share_link(state, look)

    def page_data(self, **limits: int) -> dict[str, Any]:
        """What a saved page holds."""
        trace, quiz = self.presenter.trace, self.presenter.quiz
        questions = quiz.questions if self.state.transfer is None else []
        cell = trace.cell_or_first
        return page_data(self.state, self.view, self.link, trace.data, cell, questions, **limits)

    # -- what a page asks for -----------------------------------------------------------------------------

    def _do(self, content: object) -> None:
        """Make an edit, or answer a request; if it is refused, show why."""
        try:
            message = decode_message(content)
            if isinstance(message, RunOnGpu):
                self.presenter.run()
                return
            with _faults_as_refusals():
                if isinstance(message, Edit):
                    self.presenter.apply([message])
                else:
                    self._answer(message)
            if isinstance(message, Edit):
                self.presenter.show()
        except PtxlabError as error:
            self.presenter.refuse(error)

    def _answer(self, request: Request) -> None:
        presenter, view = self.presenter, self.view
        match request:
            case RequestPickerIndex():
                view.picker_index = picker_index()
            case ResendMatrices():
                view.resend()
            case FindDifference():
                try:
                    presenter.find_difference(1.0)
                finally:
                    view.send({"searched": True})  # what was found may be what the page shows already
            case Export(format=format):
                file_name = f"{self.state.form.mnemonic.replace('::', '-')}.html"
                view.send({"export": format, "text": self._export(format), "name": file_name})
            case ShowMemory():
                presenter.memory.request(MemoryRequest(**vars(request)))
            case SetMemoryField(name=name, text=text):
                presenter.memory.set_field(name, text)
            case HideMemory():
                presenter.memory.request(None)
            case ShowLoad():
                asked = {name: value for name, value in vars(request).items() if value is not None}
                self.show_load(LoadRequest(**asked))
            case StartQuiz():
                presenter.quiz.start(choose_questions(self.state))
            case StopQuiz():
                presenter.quiz.stop()
            case AnswerQuestion(text=text):
                quiz = presenter.quiz.running
                with contextlib.suppress(PtxlabError):  # the quiz shows why beside the answer
                    quiz.answer(text)
            case SkipQuestion():
                presenter.quiz.running.skip()
            case NextQuestion():
                presenter.quiz.running.next()

    def show_load(self, request: LoadRequest) -> None:
        """Show the registers of a thread after a tcgen05.ld."""
        ins = self.state.ins
        if not isinstance(ins, Tcgen05Mma):
            raise PtxlabError(f"{ins.mnemonic} leaves D in registers; tcgen05.ld loads that of tcgen05.mma")
        self.presenter.load.request(request)

    def _export(self, format: str) -> str:
        if format == "code":
            return python_code(self.state)
        if format == "link":
            return page_address(self.link)
        return page_text("", self.state.form.mnemonic, pack(self.page_data()))

    # -- what a link carries ------------------------------------------------------------------------------

    def _restore_view(self, shared: Mapping[str, Any]) -> None:
        """Show the lanes, selection and colours that a link carries."""
        for name, value in shared.items():
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


def _without_none(request: object) -> dict[str, Any]:
    return {name: value for name, value in vars(request).items() if value is not None}


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
    """What an Explorer begins with: the state, what a link carries of the view, the candidates."""
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
