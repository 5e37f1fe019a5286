"""An Explorer without a transport: messages from a page go in, messages to it come out.

A notebook's comm (`notebook_page.py`) and a worker in a browser tab (`worker.py`) carry the same messages:
``{"method": "update", "state": {...}}`` sets what is shown, by name, ``{"method": "custom", "content": ...}``
is an edit (`edits.py`) or a request from the page, or an answer to it, and ``{"method": "request_state"}``
asks for everything. `MESSAGES` lists all edits and requests; `set_cell` on the wire is `SetCell` there.
front/messages.d.ts is generated from it (`python -m tools.explorer_messages`), and a test compares them.
"""

from __future__ import annotations

import contextlib
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, dataclass, fields
from typing import Any, Literal

from numpy.typing import ArrayLike

from ..errors import PtxlabError, quoted
from ..isa.form import Form
from ..isa.operation import Operation
from ..isa.tcgen05 import TensorTransfer
from . import edits
from .documents.forms import Explorable, explorable, explorable_candidates
from .documents.start import first_transfer, product_document
from .edits import Edit, MatrixName, SetValues, make_edits
from .history import History
from .links import is_link, open_link, page_address, share_link
from .message import Message, decode, is_optional, message_name
from .page.page_model import SHAREABLE, Outgoing, PageModel
from .page.picker import picker_index
from .presenter import Observers, Presenter
from .quiz.quiz import choose_questions
from .saving.export import python_code
from .saving.static_html import MAX_PRODUCTS, pack, page_data, page_text
from .state import ExplorerState, LoadRequest, MemoryRequest

# -- requests --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request(Message):
    """A message that edits no operands."""

    def answer(self, session: PageSession) -> None:
        """Fulfil the request, or raise."""
        raise NotImplementedError


@dataclass(frozen=True)
class RequestPickerIndex(Request):
    """Send the instructions that the picker lists."""

    def answer(self, session: PageSession) -> None:
        session.page_model.picker_index = picker_index()


@dataclass(frozen=True)
class RunOnGpu(Request):
    """Run the instruction on the GPU and compare D with the model."""

    def answer(self, session: PageSession) -> None:
        session.presenter.run()


@dataclass(frozen=True)
class FindDifference(Request):
    """Find operands on which the two compared chips differ, and select the first cell that does."""

    def answer(self, session: PageSession) -> None:
        try:
            session.presenter.find_difference(1.0)
        finally:
            # the state may be unchanged, so the page would not notice
            session.page_model.send({"searched": True})


@dataclass(frozen=True)
class Export(Request):
    """Send the state as Python code, as a link, or as a page."""

    format: Literal["code", "link", "page"]

    def answer(self, session: PageSession) -> None:
        file_name = f"{session.state.form.mnemonic.replace('::', '-')}.html"
        text = session.export(self.format)
        session.page_model.send({"export": self.format, "text": text, "name": file_name})


@dataclass(frozen=True)
class ResendMatrices(Request):
    """Send matrices and registers whole: the page missed a change."""

    def answer(self, session: PageSession) -> None:
        session.page_model.resend()


@dataclass(frozen=True)
class ShowMemory(Request, MemoryRequest):
    """Show a matrix in shared memory, laid out and moved like this; what is left out has its default."""

    name: MatrixName

    def answer(self, session: PageSession) -> None:
        session.presenter.memory.request(MemoryRequest(**vars(self)))


@dataclass(frozen=True)
class SetMemoryField(Request):
    """Set one field of the matrix descriptor of the shown tile, from the text of its value."""

    name: str
    text: str

    def answer(self, session: PageSession) -> None:
        session.presenter.memory.set_field(self.name, self.text)


@dataclass(frozen=True)
class HideMemory(Request):
    """Show no memory."""

    def answer(self, session: PageSession) -> None:
        session.presenter.memory.request(None)


@dataclass(frozen=True)
class ShowLoad(Request):
    """Show the registers of a thread after this tcgen05.ld; what is left out has its default."""

    shape: str
    count: int | None = None
    lane: int | None = None
    column: int | None = None
    pack: bool | None = None

    def answer(self, session: PageSession) -> None:
        session.show_load(LoadRequest(**_without_none(self)))


@dataclass(frozen=True)
class StartQuiz(Request):
    """Ask random questions about the instruction."""

    def answer(self, session: PageSession) -> None:
        session.presenter.quiz.start(choose_questions(session.state))


@dataclass(frozen=True)
class AnswerQuestion(Request):
    """Answer the question of the quiz with typed text, or the name of what was clicked."""

    text: str

    def answer(self, session: PageSession) -> None:
        quiz = session.presenter.quiz.running
        with contextlib.suppress(PtxlabError):  # the quiz shows the reason
            quiz.answer(self.text)


@dataclass(frozen=True)
class SkipQuestion(Request):
    """Show the answer; the question does not count."""

    def answer(self, session: PageSession) -> None:
        session.presenter.quiz.running.skip()


@dataclass(frozen=True)
class NextQuestion(Request):
    """Ask the next question."""

    def answer(self, session: PageSession) -> None:
        session.presenter.quiz.running.next()


@dataclass(frozen=True)
class StopQuiz(Request):
    """End the quiz; its score stays."""

    def answer(self, session: PageSession) -> None:
        session.presenter.quiz.stop()


# -- messages --------------------------------------------------------------------------------------------

#: Every message that the page may send, by its type.
MESSAGES: dict[str, type[Edit | Request]] = {
    message_name(message): message
    for message in (
        edits.SetCell, edits.Paste, edits.ClearCells, edits.ExtendCells, edits.FillMatrix, edits.PruneChunks,
        edits.DismissRefusal, edits.SetRegister, edits.FlipBit, edits.SetWord, edits.SetOption,
        edits.SetMask, edits.SetChips, edits.ChooseInstruction, edits.SetDescriptor, edits.SetDescriptorField,
        edits.SetTransfer, edits.Undo, edits.Redo,
        RequestPickerIndex, RunOnGpu, FindDifference, Export, ResendMatrices, ShowMemory, SetMemoryField,
        HideMemory, ShowLoad,
        StartQuiz, AnswerQuestion, SkipQuestion, NextQuestion, StopQuiz,
    )
}  # fmt: skip


def decode_message(message: object) -> Edit | Request:
    """The edit or request in a message from a page, or a `PtxlabError` that says what is wrong."""
    return decode(message, MESSAGES)


_TYPESCRIPT = {int: "number", str: "string", bool: "boolean", types.NoneType: "null"}


def typescript() -> str:
    """front/messages.d.ts: a type for every message, for the checker of the JavaScript.

    >>> print(typescript().splitlines()[-1])
      | { type: "stop_quiz" };
    """
    lines = [
        "// Messages from the page to Python. Written from ptxlab/explorer/session.py (MESSAGES) by",
        "// python -m tools.explorer_messages; do not edit.",
        "",
        "type Message =",
    ]
    for kind, message in MESSAGES.items():
        hints = typing.get_type_hints(message, include_extras=True)
        members = [f'type: "{kind}"', *(_member(field, hints) for field in fields(message))]
        line = f"  | {{ {'; '.join(members)} }}"
        if len(line) > 108:
            line = "\n".join(["  | {", *(f"      {member};" for member in members), "    }"])
        lines.append(line)
    return "\n".join(lines) + ";\n"


def _member(field: Field[Any], hints: dict[str, Any]) -> str:
    name, hint = field.name, hints[field.name]
    if is_optional(field, hints):
        name += "?"
    if typing.get_origin(hint) is typing.Annotated:
        return f"{name}: {hint.__metadata__[0]}"
    if typing.get_origin(hint) is Literal:
        return f"{name}: " + " | ".join(f'"{value}"' for value in typing.get_args(hint))
    return f"{name}: " + " | ".join(_TYPESCRIPT[choice] for choice in typing.get_args(hint) or (hint,))


# -- the session -----------------------------------------------------------------------------------------


class PageSession:
    """The state of an Explorer, the model of its page, and the handling of the page's messages.

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
        tools: Iterable[str] = (),
        operands: Operation | None = None,
        address: int | None = None,
        split: int | None = None,
        observers: Observers | None = None,
    ) -> None:
        self.state, view_values, candidates = _open(ins, seed, address, split)
        first = [SetValues(name, values) for name, values in (matrices or {}).items() if values is not None]
        make_edits(self.state, first)
        self.state.history = History()  # the given matrices are the start, which cannot be undone
        if operands is not None:
            self.state.open(product_document(operands))
        self.page_model = PageModel(height, tools)
        self._first_view = {name: getattr(self.page_model, name) for name in SHAREABLE}
        self.presenter = presenter = Presenter(self.state, self.page_model, observers or Observers())
        self.page_model.observe(presenter.show_lanes, ["lane", "pinned"])
        self.page_model.observe(lambda: presenter.on_selected(self.page_model.selected), "selected")
        self.page_model.observe(presenter.trace.show, "tracing")
        presenter.show()
        self.page_model.candidates = candidates
        self._restore_view(view_values)
        self.page_model.take_waiting()  # discarded: a page that opens requests everything

    def handle(self, message: object) -> list[Outgoing]:
        """Handle a message of the page; returns the messages that no transport has sent yet."""
        match message:
            case {"method": "update", "state": state}:
                self.page_model.set_state(state)
            case {"method": "custom", "content": content}:
                self._handle_custom(content)
            case {"method": "request_state"}:
                self.page_model.send_state()
            case _:
                self.presenter.refuse(
                    PtxlabError("the page sent a message that is neither an update nor a request nor an edit")
                )
        return self.page_model.take_waiting()

    @property
    def link(self) -> str:
        """Everything as a text that `ptxlab.explore` and the page can open."""
        state, values = self.state, {name: getattr(self.page_model, name) for name in SHAREABLE}
        view_values = {name: value for name, value in values.items() if value != self._first_view[name]}
        if state.memory is not None:
            view_values["memory"] = _without_none(state.memory)
        if state.load != LoadRequest() and state.form.descriptor is not None:
            view_values["load"] = _without_none(state.load)
        return share_link(state, view_values)

    def page_data(self, max_products: int = MAX_PRODUCTS) -> dict[str, Any]:
        """What a saved page holds; all dot products only if D has at most `max_products`."""
        trace, quiz = self.presenter.trace, self.presenter.quiz
        cell = trace.cell_or_first
        return page_data(
            self.state, self.page_model, self.link, trace.data, cell, quiz.questions, max_products
        )

    # -- what a page asks for -----------------------------------------------------------------------------

    def _handle_custom(self, content: object) -> None:
        """Apply an edit or answer a request; show why if it is refused."""
        try:
            message = decode(content, MESSAGES)
            if isinstance(message, RunOnGpu):
                message.answer(self)
                return
            with _faults_as_refusals():
                if isinstance(message, Edit):
                    self.presenter.apply([message])
                else:
                    message.answer(self)
            if isinstance(message, Edit):
                self.presenter.show()
        except PtxlabError as error:
            self.presenter.refuse(error)

    def show_load(self, request: LoadRequest) -> None:
        """Show the registers of a thread after a tcgen05.ld."""
        ins = self.state.ins
        if ins.descriptor is None:
            raise PtxlabError(f"{ins.mnemonic} leaves D in registers; tcgen05.ld loads that of tcgen05.mma")
        self.presenter.load.request(request)

    def export(self, format: str) -> str:
        """The state as Python code, as a link, or as a page."""
        if format == "code":
            return python_code(self.state)
        if format == "link":
            return page_address(self.link)
        return page_text("", self.state.form.mnemonic, pack(self.page_data()))

    # -- what a link carries ------------------------------------------------------------------------------

    def _restore_view(self, shared: Mapping[str, Any]) -> None:
        """Restore the lanes, selection and colours of a link."""
        for name, value in shared.items():
            if name in ("memory", "load"):
                self._restore_request(name, value)
                continue
            if name not in SHAREABLE or not self.page_model.accepts(name, value):
                raise PtxlabError(
                    f"this link sets {quoted(name)} to {quoted(value)}, which the Explorer does not know"
                )
            setattr(self.page_model, name, value)

    def _restore_request(self, name: str, value: Any) -> None:
        """Restore the memory view or the load of a link, checked like a message of the page."""
        try:
            message = decode_message({"type": f"show_{name}", **value})
        except (PtxlabError, TypeError):
            message = None
        if not isinstance(message, ShowMemory | ShowLoad):
            raise PtxlabError(f"this link shows {name} as {quoted(value)}, which the Explorer does not know")
        message.answer(self)


def _without_none(request: object) -> dict[str, Any]:
    return {name: value for name, value in vars(request).items() if value is not None}


@contextmanager
def _faults_as_refusals() -> Iterator[None]:
    """Turn a bug of ptxlab into a refusal that the page shows, instead of a traceback in the log."""
    try:
        yield
    except PtxlabError:
        raise
    except Exception as error:
        reason = quoted(f"{type(error).__name__}: {error}", 200)
        raise PtxlabError(f"ptxlab could not do this; please report {reason}") from error


def _resolve(ins: Form | str) -> tuple[Explorable, list[str]]:
    """The instruction and no candidates; or, for an ambiguous name, the first candidate and all of them."""
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
    """The initial state, the values of the page in a link, and the candidates of an ambiguous name."""
    if isinstance(ins, str) and is_link(ins):
        return *open_link(ins), {}
    form, candidates = _resolve(ins)
    state = ExplorerState(form, seed)
    if isinstance(form, TensorTransfer):
        state.open(first_transfer(form, address or 0, split, seed))
    elif address is not None or split is not None:
        raise PtxlabError(f"{form.mnemonic}: address and split are for tcgen05.ld, .st, .cp and .shift")
    if not candidates:
        return state, {}, {}
    names = "is no full name; one instruction fits"
    if len(candidates) > 1:
        names = f"fits {len(candidates)} instructions: choose one above; this is the first"
    state.notices = (f"{quoted(ins)} {names}",)
    return state, {}, {"typed": str(ins).strip(), "mnemonics": candidates}
