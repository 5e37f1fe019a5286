"""The model of the page: the values that the browser draws, of which the page may set some.

A transport carries its messages: a widget's comm in a notebook, a worker in a browser tab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_int, as_text, is_name
from ...errors import PtxlabError, quoted
from .toolbar_data import DISPLAY_CONTROLS

#: The matrices that an instruction may have.
MATRICES = ("A", "stored", "B", "C", "D", "E", "SFA", "SFB")
MAX_PINNED = 4  # lanes beside the chosen one
MAX_STEPS = 4096  # of the timeline
SHAREABLE = ("lane", "pinned", "selected", "show_c", "step", *DISPLAY_CONTROLS)  # what a link may set
_SENT_AS_DELTA = (*MATRICES, "lane_registers")
_SET_BY_PAGE = (*SHAREABLE, "tracing")

#: A message to the page: an update of values by name, or an answer.
Outgoing = dict[str, Any]


@dataclass
class _Sync:
    """The state of synchronisation: what is to be sent, and what was sent."""

    waiting: list[Outgoing] = field(default_factory=list)
    changed: dict[str, None] = field(default_factory=dict)  # names, in order
    from_page: Mapping[str, Any] = field(default_factory=dict)  # being set by the page: not sent back to it
    holding: bool = False
    #: Version and value as last sent, if large.
    latest: dict[str, tuple[int, Any]] = field(default_factory=dict)


class PageModel:
    """The page's model. Matrices are sent as bytes, `instruction` (sizes, types, lane maps) only once.

    An assigned value is sent by `transport`, at once or when `hold_sync` ends; without one it waits.
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
    lane_registers: dict[str, Any]  # of the shown lanes, by lane
    lane: int
    pinned: list[int]  # lanes shown beside the chosen one
    selected: dict[str, Any]  # {name, row, column}
    colour_by: str
    label: str  # what cells show: value, hex, binary, lane
    show_c: bool
    zoom: int
    step: int  # position of the timeline; 0 while it shows nothing
    height: int  # of the Explorer in pixels; 0 for what the window shows at once
    problem: str
    refusal: dict[str, Any]  # of the last edit: cells at fault, sentence, remedy; or {}
    tools: list[str]  # of the menu, that stand on the bar: `toolbar_data.TOOLS`
    notice: str  # what changed, if that is no problem
    toolbar: dict[str, Any]  # the controls above the matrices, and their values
    picker_index: dict[str, Any]  # empty until the picker is first opened
    candidates: dict[str, Any]  # of an ambiguous name, until one is chosen; or {}
    tracing: bool  # whether the trace below the matrices is open
    trace: dict[str, Any]  # of the last selected cell of D: see `TracePanel`
    memory: dict[str, Any]  # the matrix shown in shared memory, or {}
    load: dict[str, Any]  # the shown tcgen05.ld, or {}
    quiz: dict[str, Any]  # the current question, verdict and score; or {}

    def __init__(self, height: int = 0, tools: Iterable[str] = ()) -> None:
        first = {
            "dict[str, Any]": dict,
            "list[int]": list,
            "list[str]": list,
            "int": int,
            "bool": bool,
            "str": str,
        }
        values = {name: first[str(kind)]() for name, kind in PageModel.__annotations__.items()}
        vars(self).update({**values, "colour_by": "lane", "label": "value", "zoom": 100, "height": height})
        vars(self)["tools"] = list(tools)
        self.transport: Callable[[Outgoing], None] | None = None
        self._observers: dict[str, list[Callable[[], object]]] = {}
        self._sync = _Sync()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in PageModel.__annotations__:
            object.__setattr__(self, name, value)
            return
        # Python may set only what a page may set, so that no part of the page gets an impossible value.
        if name in _SET_BY_PAGE and not self.accepts(name, value):
            raise PtxlabError(f"{name} of the view cannot be {quoted(value)}")
        if self._replace(name, value):
            with self.hold_sync():
                self._notify(name)

    @property
    def lanes(self) -> list[int]:
        """The shown lanes: the chosen one first, unless it is pinned, then the pinned ones."""
        return self.pinned if self.lane in self.pinned else [self.lane, *self.pinned]

    def observe(self, call: Callable[[], object], names: str | Iterable[str]) -> None:
        """Call this whenever one of these values changes."""
        for name in [names] if isinstance(names, str) else names:
            self._observers.setdefault(name, []).append(call)

    def _replace(self, name: str, value: Any) -> bool:
        """Set a value; whether it changed."""
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
        """Send these values, large ones as deltas; without names, all of them whole."""
        self._emit({"method": "update", "state": self.get_state(names)})

    def send(self, answer: dict[str, Any]) -> None:
        """Send the page an answer, which is not part of the model."""
        self._emit({"method": "custom", "content": answer})

    def resend(self) -> None:
        """Send matrices and registers whole to a page that missed a delta."""
        latest = self._sync.latest
        latest.update({name: (count, None) for name, (count, _) in latest.items()})
        self.send_state(_SENT_AS_DELTA)

    def _emit(self, message: Outgoing) -> None:
        if self.transport is None:
            self._sync.waiting.append(message)
        else:
            self.transport(message)

    def take_waiting(self) -> list[Outgoing]:
        """The messages that no transport has sent; they are then forgotten."""
        waiting, self._sync.waiting = self._sync.waiting, []
        return waiting

    def get_state(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Values to send. Large ones have a version, from which a page knows whether it can apply a delta."""
        state = {name: vars(self)[name] for name in (PageModel.__annotations__ if names is None else names)}
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
        # Large values first: the page restores them before a value that is drawn with them arrives.
        return dict(sorted(state.items(), key=lambda item: item[0] not in _SENT_AS_DELTA))

    # -- from the page ------------------------------------------------------------------------------------

    def set_state(self, state: object) -> None:
        """Set what the page may set; for anything else send the current value back."""
        if not isinstance(state, dict):
            return
        accepted = {name: value for name, value in state.items() if self.accepts(name, value)}
        refused = [name for name in state if name not in accepted and name in PageModel.__annotations__]
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
    """A cell as the page stores it, from ``("D", 9, 3)`` or a dict of name, row and column; {} for None."""
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


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only copy, so that ``ex.A[0, 0] = 1`` fails instead of having no effect."""
    array = array.copy()
    array.flags.writeable = False
    return array


# -- what changed of a large value ----------------------------------------------------------------------


def delta(old: Any, new: Any) -> dict[str, Any] | None:
    """How to make a new value from the old; None where most of it changed.

    Parts of dicts are given by name, 32-bit words of bytes and items of lists by index.

    >>> delta({"codes": bytes(64), "count": 1}, {"codes": bytes(60) + b"\\7\\0\\0\\0", "count": 2})
    {'parts': {'codes': {'at': b'\\x0f\\x00\\x00\\x00', 'to': b'\\x07\\x00\\x00\\x00'}, 'count': {'new': 2}}}
    >>> delta({"A": ["a", "b", "c"]}, {"A": ["a", "x", "c"]})
    {'parts': {'A': {'at': [1], 'to': ['x']}}}
    """
    if type(old) is not type(new):
        return None
    if isinstance(new, dict):
        if old.keys() != new.keys():
            return None
        changed = {name: part for name, part in new.items() if old[name] != part}
        return {"parts": {name: delta(old[name], part) or {"new": part} for name, part in changed.items()}}
    if not isinstance(new, bytes | list) or len(old) != len(new) or (isinstance(new, bytes) and len(new) % 4):
        return None
    if isinstance(new, list):
        indices = [
            index for index, (before, after) in enumerate(zip(old, new, strict=True)) if before != after
        ]
        return {"at": indices, "to": [new[index] for index in indices]}
    words = np.frombuffer(new, np.uint32)
    at = np.flatnonzero(words != np.frombuffer(old, np.uint32))
    if 2 * at.size >= words.size:
        return None
    return {"at": at.astype(np.uint32).tobytes(), "to": words[at].tobytes()}


def is_same(first: tuple[Any, ...], second: tuple[Any, ...] | None) -> bool:
    """Whether two tuples hold the very same objects."""
    if second is None or len(first) != len(second):
        return False
    return all(a is b for a, b in zip(first, second, strict=True))
