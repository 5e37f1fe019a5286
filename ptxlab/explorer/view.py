"""What the browser draws, by name; from a page it takes only values that a page can have chosen.

Nothing here knows how messages travel: a widget's comm carries them in a notebook, a worker's in a tab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_int, as_text, is_name
from ..errors import PtxlabError, quoted
from .edits import Edit, SetRegisters
from .instruction_info import DISPLAY_CONTROLS
from .serialise import MATRICES, delta
from .state import ExplorerState

MAX_PINNED = 4  # lanes beside the chosen one
MAX_STEPS = 4096  # of a timeline
SHAREABLE = ("lane", "pinned", "selected", "show_c", "step", *DISPLAY_CONTROLS)  # what a link carries
_SENT_AS_DELTA = (*MATRICES, "lane_registers")
_SET_BY_PAGE = (*SHAREABLE, "tracing")

#: A message to the page: an update of what it shows, by name, or an answer.
Outgoing = dict[str, Any]


@dataclass
class _Sync:
    """What is not sent yet, and what was sent."""

    waiting: list[Outgoing] = field(default_factory=list)
    changed: dict[str, None] = field(default_factory=dict)  # names, in order
    from_page: Mapping[str, Any] = field(default_factory=dict)  # what the page set, while that is taken
    holding: bool = False
    latest: dict[str, tuple[int, Any]] = field(default_factory=dict)  # large values: how often sent, and what


class View:
    """The page's model. Matrices travel as bytes, `instruction` (sizes, types, lane maps) only once.

    What is assigned is sent, at once or when `hold_sync` ends, by `transport`; without one it waits.
    """

    instruction: dict[str, Any]
    A: dict[str, Any]
    stored: dict[str, Any]
    B: dict[str, Any]
    C: dict[str, Any]
    D: dict[str, Any]
    E: dict[str, Any]
    SFA: dict[str, Any]
    SFB: dict[str, Any]
    lane_registers: dict[str, Any]  # of the lanes that are shown, by lane
    lane: int
    pinned: list[int]  # lanes shown beside the chosen one
    selected: dict[str, Any]  # {name, row, column}
    colour_by: str
    label: str  # what cells show: value, hex, binary, lane
    show_c: bool
    zoom: int
    step: int  # where the timeline stands; 0 while it shows nothing
    height: int  # of the whole, in pixels; 0 for what the page shows at once
    problem: str
    refusal: dict[str, Any]  # of the last edit: cells at fault, sentence, what to do; or {}
    notice: str  # what changed, where that is not a problem
    toolbar: dict[str, Any]  # what can be chosen above the matrices, and what is chosen
    picker_index: dict[str, Any]  # empty until the picker is first opened
    candidates: dict[str, Any]  # of an ambiguous name, until one is chosen; or {}
    tracing: bool  # whether the bits of a cell of D are explained below
    trace: dict[str, Any]  # of the cell of D that was chosen last: see `TracePanel`
    memory: dict[str, Any]  # the matrix that is shown in shared memory, or {}
    load: dict[str, Any]  # the tcgen05.ld that is shown, or {}
    quiz: dict[str, Any]  # the question that is asked, the verdict, the score; or {}

    def __init__(self, height: int = 0) -> None:
        first = {"dict[str, Any]": dict, "list[int]": list, "int": int, "bool": bool, "str": str}
        values = {name: first[str(kind)]() for name, kind in View.__annotations__.items()}
        vars(self).update({**values, "colour_by": "lane", "label": "value", "zoom": 100, "height": height})
        self.transport: Callable[[Outgoing], None] | None = None
        self._observers: dict[str, list[Callable[[], object]]] = {}
        self._sync = _Sync()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in View.__annotations__:
            object.__setattr__(self, name, value)
            return
        # From Python, too, nothing that no page can choose: otherwise half of the view would follow it.
        if name in _SET_BY_PAGE and not self.accepts(name, value):
            raise PtxlabError(f"{name} of the view cannot be {quoted(value)}")
        if self._replace(name, value):
            with self.hold_sync():
                self._notify(name)

    @property
    def lanes(self) -> list[int]:
        """The lanes that are shown: the chosen one, unless it is pinned, then those that are."""
        return self.pinned if self.lane in self.pinned else [self.lane, *self.pinned]

    def observe(self, call: Callable[[], object], names: str | Iterable[str]) -> None:
        """Call this whenever one of these values changes."""
        for name in [names] if isinstance(names, str) else names:
            self._observers.setdefault(name, []).append(call)

    def _replace(self, name: str, value: Any) -> bool:
        """Put a value in its place; whether it is another one."""
        if vars(self)[name] == value:
            return False
        vars(self)[name] = value
        self._sync.changed[name] = None
        return True

    def _notify(self, name: str) -> None:
        for call in self._observers.get(name, ()):
            call()

    # -- to the page --------------------------------------------------------------------------------------

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send what changes in this block as one message, at its end."""
        sync = self._sync
        if sync.holding:
            yield
            return
        sync.holding = True
        try:
            yield
        finally:
            sync.holding = False
            page, values = sync.from_page, vars(self)
            names = [name for name in sync.changed if name not in page or page[name] != values[name]]
            sync.changed = {}
            if names:
                self.send_state(names)

    def send_state(self, names: Iterable[str] | None = None) -> None:
        """Send these values, large ones by what changed in them; without names all of them, whole."""
        self._emit({"method": "update", "state": self.get_state(names)})

    def send(self, answer: dict[str, Any]) -> None:
        """Send the page an answer that is no part of what it shows."""
        self._emit({"method": "custom", "content": answer})

    def resend(self) -> None:
        """Send matrices and registers whole, to a page that missed a change."""
        latest = self._sync.latest
        latest.update({name: (count, None) for name, (count, _) in latest.items()})
        self.send_state(_SENT_AS_DELTA)

    def _emit(self, message: Outgoing) -> None:
        if self.transport is None:
            self._sync.waiting.append(message)
        else:
            self.transport(message)

    def take_waiting(self) -> list[Outgoing]:
        """What no transport has sent yet, once."""
        waiting, self._sync.waiting = self._sync.waiting, []
        return waiting

    def get_state(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """What travels. Large values carry a version, so that a page knows whether it can apply a change."""
        state = {name: vars(self)[name] for name in (View.__annotations__ if names is None else names)}
        for name in state.keys() & set(_SENT_AS_DELTA):
            new = state[name]
            version, last = self._sync.latest.get(name, (0, None))
            change = delta(last, new) if names is not None and last is not new else None
            next_version = version if last is new else version + 1
            self._sync.latest[name] = next_version, new
            if change is None:
                state[name] = {**new, "version": next_version}
            else:
                state[name] = {**change, "since": version, "version": next_version}
        # Large values first: the page makes them whole before it hears of one that is drawn with them.
        return dict(sorted(state.items(), key=lambda item: item[0] not in _SENT_AS_DELTA))

    # -- from the page ------------------------------------------------------------------------------------

    def set_state(self, state: object) -> None:
        """Take what the page sets; what it may not set is sent back as it is."""
        if not isinstance(state, dict):
            return
        accepted = {name: value for name, value in state.items() if self.accepts(name, value)}
        refused = [name for name in state if name not in accepted and name in View.__annotations__]
        self._sync.from_page = accepted
        try:
            with self.hold_sync():
                changed = [name for name, value in accepted.items() if self._replace(name, value)]
                for name in changed:
                    self._notify(name)
        finally:
            self._sync.from_page = {}
        if refused:
            self.send_state(refused)

    def accepts(self, name: object, value: Any) -> bool:
        """Whether a page, or a link, may set this to that value."""
        if not isinstance(name, str) or name not in _SET_BY_PAGE:
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
    rows, columns = shapes[name]
    if not (0 <= row < rows and 0 <= column < columns):
        raise PtxlabError(
            f"selection: {name}[{quoted(row)}][{quoted(column)}] does not exist; {name} is {rows}x{columns}"
        )
    return {"name": name, "row": row, "column": column}


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
