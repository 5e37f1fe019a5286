"""The Explorer in a notebook: its messages over a widget's comm, and traits for the next cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets
from ipywidgets.widgets.widget import JUPYTER_WIDGETS_ECHO, _remove_buffers
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import is_name
from ..errors import PtxlabError
from .bundle import script, style
from .edits import Edit, SetRegisters
from .page.page_model import Outgoing, is_same, read_only
from .presenter import Observers
from .quiz.quiz import Score
from .session import PageSession
from .state import ExplorerState


class CheckedMessages(ipywidgets.DOMWidget):  # type: ignore[misc]
    """A widget that refuses a malformed message with a sentence, where ipywidgets shows a traceback.

    By itself it lets the page set nothing and refuses in silence; `NotebookPage` overrides `set_state` and
    `refuse_message`.
    """

    def refuse_message(self, sentence: str) -> None:
        """Show why a message was refused."""

    def set_state(self, sync_data: Any) -> None:
        """Set what the page may set; for anything else send the current value back."""
        if not isinstance(sync_data, dict):
            return
        views = sync_data.get("_view_count")  # maintained by ipywidgets
        is_count = views is None or (type(views) is int and 0 <= views < 1 << 31)
        accepted = {"_view_count": views} if "_view_count" in sync_data and is_count else {}
        super().set_state(accepted)
        refused = [name for name in sync_data if name not in accepted and name in self.keys]
        if refused:
            self.send_state(refused)

    def _handle_msg(self, msg: Any) -> None:
        match msg:
            case {"content": {"data": {"method": "update", "buffer_paths": [_, *_]}}}:
                self.refuse_message(
                    "the page sent bytes with a state, but no trait that it may set takes any"
                )
            case {"content": {"data": {"method": "update", "state": state}}}:
                self.set_state(state)
            case {"content": {"data": {"method": "request_state"}}}:
                self.send_state()
            case {"content": {"data": {"method": "custom", "content": content}}}:
                self._handle_custom_msg(content, msg.get("buffers") or [])
            case _:
                self.refuse_message(
                    "the page sent a message that is neither an update nor a request nor an edit"
                )


class NotebookPage(CheckedMessages, anywidget.AnyWidget):
    """The widget that JupyterLab draws: a comm to a session, whose page model has what it shows."""

    _esm = script("widget")
    _css = style()
    _explorer = traitlets.Unicode(script(), read_only=True).tag(sync=True)

    def __init__(self, session: PageSession) -> None:
        self._session = session
        super().__init__()
        session.page_model.transport = self._transport

    def _transport(self, message: Outgoing) -> None:
        if message["method"] != "update":
            self._send(message)
            return
        state, paths, buffers = _remove_buffers(message["state"])
        self._send({**message, "state": state, "buffer_paths": paths}, buffers=buffers)

    def get_state(
        self, key: str | Iterable[str] | None = None, drop_defaults: bool = False
    ) -> dict[str, Any]:
        """The traits of the widget and, if all are requested, the state of the page model."""
        own: dict[str, Any] = super().get_state(key, drop_defaults)
        return own if key is not None else own | self._session.page_model.get_state()

    def set_state(self, sync_data: Any) -> None:
        """Set what the page may set, and echo it to other pages of the same notebook."""
        if not isinstance(sync_data, dict):
            return
        super().set_state({name: value for name, value in sync_data.items() if name in self.keys})
        state = {name: value for name, value in sync_data.items() if name not in self.keys}
        accepts = self._session.page_model.accepts
        accepted = {name: value for name, value in state.items() if accepts(name, value)}
        if accepted and JUPYTER_WIDGETS_ECHO:
            self._send({"method": "echo_update", "state": accepted, "buffer_paths": []})
        self._session.handle({"method": "update", "state": state})

    def _handle_custom_msg(self, content: Any, buffers: Any) -> None:
        if buffers:
            self.refuse_message("the page sent bytes with a message, but no message takes any")
        else:
            self._session.handle({"method": "custom", "content": content})

    def refuse_message(self, sentence: str) -> None:
        """Show why a message was refused."""
        self._session.presenter.refuse(PtxlabError(sentence))


# -- traits of the Explorer that are stored elsewhere: read from the state, assigned by edits, observed


class ReadOnlyTrait(PtxlabError, AttributeError):
    """A trait that can be read and observed, but not assigned."""


class StateTrait(traitlets.TraitType[Any, Any]):
    """A trait that one function reads from the Explorer and another assigns."""

    def __init__(self, read: Callable[[Any], Any], write: Callable[[Any, Any], None], doc: str) -> None:
        super().__init__(help=doc)
        self.__doc__ = doc
        self._read, self._write = read, write

    def subclass_init(self, cls: type[Any]) -> None:
        """There is no default to prepare."""

    def get(self, obj: Any, cls: type[Any] | None = None) -> Any:
        return self._read(obj)

    def set(self, obj: Any, value: Any) -> None:
        self._write(obj, value)


class TraitObservers(Observers):
    """Notifies observers of an Explorer's traits with the old and the new value."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._last: dict[str, Any] = {"selection": {}, "quiz_score": Score()}
        self._last_registers: Mapping[str, NDArray[Any]] | None = None

    def notify(self, name: str, new: Any) -> None:
        """Notify observers of a trait if it changed; the first value is only remembered."""
        is_first, old = name not in self._last, self._last.get(name)
        self._last[name] = new
        if not is_first and not _equal_bits(old, new):
            self._notify(name, old, new)

    def notify_registers(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """The same for registers; arrays of operands are immutable, so the same array is no change."""
        before, self._last_registers = self._last_registers, arrays
        if before is not None and not is_same(tuple(arrays.values()), tuple(before.values())):
            old = {operand: read_only(registers) for operand, registers in before.items()}
            self._notify("registers", old, self._owner.registers)

    def _notify(self, name: str, old: Any, new: Any) -> None:
        change = traitlets.Bunch(name=name, old=old, new=new, owner=self._owner, type="change")
        self._owner.notify_change(change)


def _equal_bits(one: Any, other: Any) -> bool:
    """Whether two values of a trait are the same, bit for bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        same_type = one.shape == other.shape and one.dtype == other.dtype
        return same_type and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


class Registers(Mapping[str, NDArray[Any]]):
    """``ex.registers["A"]``: uint32 [lanes, registers], to read and to assign."""

    def __init__(self, state: ExplorerState, apply: Callable[[Edit], None]) -> None:
        self._state, self._apply = state, apply

    def __getitem__(self, name: str) -> NDArray[Any]:
        return read_only(self._state.registers(name))

    def __setitem__(self, name: str, registers: ArrayLike) -> None:
        self._apply(SetRegisters(name, registers))

    def __contains__(self, name: object) -> bool:
        return is_name(name, self._state.register_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._state.register_names)

    def __len__(self) -> int:
        return len(self._state.register_names)
