"""What the browser draws, as traits; from a page it takes only values that a page can have chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, as_text, is_name
from ..errors import PtxlabError, quoted
from .bundle import script, style
from .edits import Edit, SetRegisters
from .instruction_info import DISPLAY_CONTROLS
from .quiz import Score
from .serialise import MATRICES, delta, is_same
from .state import ExplorerState

MAX_PINNED = 4  # lanes beside the chosen one
MAX_STEPS = 4096  # of a timeline
SHAREABLE = ("lane", "pinned", "selected", "show_c", "step", *DISPLAY_CONTROLS)  # traits that a link carries
_SENT_AS_DELTA = (*MATRICES, "lane_registers")
_SET_BY_PAGE = (*SHAREABLE, "tracing")


class CheckedMessages(ipywidgets.DOMWidget):  # type: ignore[misc]
    """A widget that refuses a malformed message with a sentence, where ipywidgets shows a traceback.

    This one lets the page set nothing and is silent; `View` says what it takes.
    """

    def refuse_message(self, sentence: str) -> None:
        """Show why a message was refused."""

    def accepts(self, name: str, value: Any) -> bool:
        """Whether a page may set a trait to this value."""
        return False

    def set_state(self, sync_data: Any) -> None:
        """Take what the page sends; what it may not set is sent back as it is."""
        if not isinstance(sync_data, dict):
            return
        accepted = {name: value for name, value in sync_data.items() if self._may_set(name, value)}
        super().set_state(accepted)
        refused = [name for name in sync_data if name not in accepted and name in self.keys]
        if refused:
            self.send_state(refused)

    def _may_set(self, name: object, value: Any) -> bool:
        if not isinstance(name, str):
            return False
        if name == "_view_count":  # kept by ipywidgets itself
            return value is None or (type(value) is int and 0 <= value < 1 << 31)
        return self.accepts(name, value)

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


class View(CheckedMessages, anywidget.AnyWidget):
    """The model of the page. Matrices travel as bytes, `instruction` (sizes, types, lane maps) only once."""

    _esm = script()
    _css = style()

    instruction = traitlets.Dict().tag(sync=True)
    A = traitlets.Dict().tag(sync=True)
    stored = traitlets.Dict().tag(sync=True)
    B = traitlets.Dict().tag(sync=True)
    C = traitlets.Dict().tag(sync=True)
    D = traitlets.Dict().tag(sync=True)
    E = traitlets.Dict().tag(sync=True)
    SFA = traitlets.Dict().tag(sync=True)
    SFB = traitlets.Dict().tag(sync=True)
    lane_registers = traitlets.Dict().tag(sync=True)  # of the lanes that are shown, by lane
    lane = traitlets.Int(0).tag(sync=True)
    pinned = traitlets.List(traitlets.Int()).tag(sync=True)  # lanes shown beside the chosen one
    selected = traitlets.Dict().tag(sync=True)  # {name, row, column}
    colour_by = traitlets.Unicode("lane").tag(sync=True)
    label = traitlets.Unicode("value").tag(sync=True)  # what cells show: value, hex, binary, lane
    show_c = traitlets.Bool(False).tag(sync=True)
    zoom = traitlets.Int(100).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)  # where the timeline stands; 0 while it shows nothing
    height = traitlets.Int(0).tag(sync=True)  # of the whole, in pixels; 0 for what the page shows at once
    problem = traitlets.Unicode("").tag(sync=True)
    refusal = traitlets.Dict().tag(sync=True)  # of the last edit: cells at fault, sentence, what to do; or {}
    notice = traitlets.Unicode("").tag(sync=True)  # what changed, where that is not a problem
    toolbar = traitlets.Dict().tag(sync=True)  # what can be chosen above the matrices, and what is chosen
    picker_index = traitlets.Dict().tag(sync=True)  # empty until the picker is first opened
    candidates = traitlets.Dict().tag(sync=True)  # of an ambiguous name, until one is chosen; or {}
    tracing = traitlets.Bool(False).tag(sync=True)  # whether the bits of a cell of D are explained below
    trace = traitlets.Dict().tag(sync=True)  # of the cell of D that was chosen last: see `TracePanel`
    memory = traitlets.Dict().tag(sync=True)  # the matrix that is shown in shared memory, or {}
    load = traitlets.Dict().tag(sync=True)  # the tcgen05.ld that is shown, or {}
    quiz = traitlets.Dict().tag(sync=True)  # the question that is asked, the verdict, the score; or {}

    def __init__(self, **traits: Any) -> None:
        self._latest: dict[str, tuple[int, Any]] = {}  # per large trait: how often it was sent, and what
        self._allow_delta = False
        super().__init__(**traits)

    @property
    def lanes(self) -> list[int]:
        """The lanes that are shown: the chosen one, unless it is pinned, then those that are."""
        lane, pinned = int(self.lane), [int(each) for each in self.pinned]
        return pinned if lane in pinned else [lane, *pinned]

    def resend(self) -> None:
        """Send matrices and registers whole, to a page that missed a change."""
        self._latest = {name: (count, None) for name, (count, _) in self._latest.items()}
        self.send_state(_SENT_AS_DELTA)

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Send traits to the page; large ones by what changed in them, unless all traits are asked for."""
        self._allow_delta = key is not None
        try:
            super().send_state(key)
        finally:
            self._allow_delta = False

    def get_state(
        self, key: str | Iterable[str] | None = None, drop_defaults: bool = False
    ) -> dict[str, Any]:
        """What travels. Large traits carry a version, so that a page knows whether it can apply a change."""
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        for name in state.keys() & set(_SENT_AS_DELTA):
            new = state[name]
            version, last = self._latest.get(name, (0, None))
            change = delta(last, new) if self._allow_delta and last is not new else None
            next_version = version if last is new else version + 1
            self._latest[name] = next_version, new
            if change is None:
                state[name] = {**new, "version": next_version}
            else:
                state[name] = {**change, "since": version, "version": next_version}
        # Large traits first: the page makes them whole before it hears of a trait that is drawn with them.
        return dict(sorted(state.items(), key=lambda item: item[0] not in _SENT_AS_DELTA))

    def accepts(self, name: str, value: Any) -> bool:
        """Whether a page, or a link, may set a trait to this value."""
        if not is_name(name, _SET_BY_PAGE):
            return False
        if name == "lane":
            return type(value) is int and 0 <= value < self.instruction.get("lanes", 1)
        if name == "step":
            return type(value) is int and 0 <= value < MAX_STEPS
        if name == "pinned":
            return self._accepts_pinned(value)
        if name == "selected":
            return self._accepts_selected(value)
        control = DISPLAY_CONTROLS.get(name, {})
        if "range" in control:
            limits = control["range"]
            return type(value) is int and bool(limits["min"] <= value <= limits["max"])
        if "options" in control:
            return is_name(value, [option for _, option in control["options"]])
        return type(value) is bool

    @traitlets.validate(*_SET_BY_PAGE)
    def _check_choice(self, proposal: Any) -> Any:
        """Refuse from Python, too, what no page can choose: otherwise half of the view would follow it."""
        if not self.accepts(proposal.trait.name, proposal.value):
            raise PtxlabError(f"{proposal.trait.name} of the view cannot be {quoted(proposal.value)}")
        return proposal.value

    def _accepts_pinned(self, value: Any) -> bool:
        if type(value) is not list or len(value) > MAX_PINNED:
            return False
        return all(self.accepts("lane", lane) for lane in value) and len(set(value)) == len(value)

    def _accepts_selected(self, value: Any) -> bool:
        matrices = self.instruction.get("matrices", {})
        shapes = {name: (info["rows"], info["columns"]) for name, info in matrices.items()}
        try:
            return type(value) is dict and value == parse_selection(value, shapes)
        except PtxlabError:
            return False

    def refuse_message(self, sentence: str) -> None:
        """Show why a message was refused."""
        self.problem = sentence


def parse_selection(selection: Any, shapes: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """A cell as the view has it, from ``("D", 9, 3)`` or a dict of name, row and column; {} for None."""
    if selection is None or (isinstance(selection, Mapping) and not selection):
        return {}
    expected = 'it takes a cell such as ("D", 9, 3), or None'
    if isinstance(selection, Mapping):
        selection = [selection.get("name"), selection.get("row"), selection.get("column")]
    if not isinstance(selection, list | tuple) or len(selection) != 3:
        raise PtxlabError(f"selection: found {quoted(selection)}; {expected}")
    name = selection[0]
    try:
        row, column = (as_int(index, "selection") for index in selection[1:])
        as_text(name, "selection")
    except PtxlabError:
        raise PtxlabError(f"selection: found {quoted(selection)}; {expected}") from None
    if name not in shapes:
        raise PtxlabError(f"selection: there is no matrix {quoted(name)}; there are {', '.join(shapes)}")
    row = as_int(selection[1], "row of the selection")
    column = as_int(selection[2], "column of the selection")
    rows, columns = shapes[name]
    if not (0 <= row < rows and 0 <= column < columns):
        raise PtxlabError(
            f"selection: {name}[{quoted(row)}][{quoted(column)}] does not exist; {name} is {rows}x{columns}"
        )
    return {"name": name, "row": row, "column": column}


# -- traits of the Explorer without values of their own: read from what it shows, written by edits, observed


#: Matrices that people read and assign, and the Explorer's trait of each.
MATRIX_TRAITS = {
    "A": "A",
    "B": "B",
    "C": "C",
    "D": "D",
    "E": "metadata",
    "SFA": "scale_a",
    "SFB": "scale_b",
}


class ReadOnlyTrait(PtxlabError, AttributeError):
    """A trait that can be read and observed, but not assigned."""


class StateTrait(traitlets.TraitType[Any, Any]):
    """A trait that one function reads from the Explorer, and another one assigns."""

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


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written, so that ``ex.A[0, 0] = 1`` fails instead of changing nothing."""
    array = array.copy()
    array.flags.writeable = False
    return array


class Observers:
    """Notifies whoever observes the traits of an Explorer of the old and the new value of what changed."""

    def __init__(self, owner: traitlets.HasTraits, registers: Registers) -> None:
        self._owner, self._registers = owner, registers
        self._last: dict[str, Any] = {"selection": {}, "quiz_score": Score()}
        self._last_registers: Mapping[str, NDArray[Any]] | None = None

    def notify(self, name: str, new: Any) -> None:
        """Say what a trait is now; the first time there is nothing that it differs from."""
        is_first, old = name not in self._last, self._last.get(name)
        self._last[name] = new
        if not is_first and not _equal_bits(old, new):
            self._notify(name, old, new)

    def notify_registers(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """The same of the registers; arrays of operands are never written, so the same array is no change."""
        before, self._last_registers = self._last_registers, arrays
        if before is not None and not is_same(tuple(arrays.values()), tuple(before.values())):
            old = {operand: read_only(registers) for operand, registers in before.items()}
            self._notify("registers", old, self._registers)

    def _notify(self, name: str, old: Any, new: Any) -> None:
        change = traitlets.Bunch(name=name, old=old, new=new, owner=self._owner, type="change")
        self._owner.notify_change(change)


def _equal_bits(one: Any, other: Any) -> bool:
    """Whether two values of a trait are the same, bit for bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        same_type = one.shape == other.shape and one.dtype == other.dtype
        return same_type and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other
