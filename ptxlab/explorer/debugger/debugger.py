"""What the page of a debugger shows of a session, and what it does when the page asks.

The page is the same in a notebook (`debugger_widget.py`) and in a browser tab (`cli/kernel_page.py`): it
sends messages, and Python answers with the state. What may take long is done in slices, each of which the
page asks for, so that it can show how far it is and stop it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, lines_of, quoted
from ...memory.tile import Tile
from ...simulator.debug import DebugSession
from ...simulator.debug.debug_session import WarpState
from ...simulator.debug.origins import Origin
from ...simulator.kernel import Kernel
from ...simulator.ptx.syntax import Function, PtxInstruction, Register, Special, registers_of, symbols_of
from ...views.highlight import tokens
from ...views.kernel_listings import ptx_listing
from ...views.labels import number_text
from ...views.waiting_picture import waiting_html
from ..message import Message, decode
from ..session import PageSession

_SLICE = 0.12  # seconds of work between two messages of the page
_MAX_SEARCH = 60.0  # seconds of work after which the end of a launch is looked for no more
_MAX_WARPS = 512  # in the map
_MAX_REGISTERS = 160
_MAX_CELLS = 32  # rows and columns of a matrix at once
_MAX_CODE = 4000  # lines of a listing
_PLAIN_STOPS = ("position", "begin", "line", "barrier", "the end", "error")  # which the place tells as well
_BACKWARDS = ("back", "back_barrier", "run_back", "back_to")

#: Types in which bytes of memory can be read.
_TYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype("f4"), "f16": np.dtype("f2"), "bf16": np.dtype(ml_dtypes.bfloat16), "f64": np.dtype("f8"),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn), "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "s32": np.dtype("i4"), "u32": np.dtype("u4"), "s16": np.dtype("i2"), "u16": np.dtype("u2"),
    "s8": np.dtype("i1"), "u8": np.dtype("u1"), "s64": np.dtype("i8"), "u64": np.dtype("u8"),
}  # fmt: skip
_FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


# -- messages of the page ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Move(Message):
    """Go on or back: a method of the session, by name."""

    motion: Literal[
        "step", "back", "step_barrier", "back_barrier", "run", "run_back", "run_to", "back_to", "go"
    ]
    position: int | None = None
    line: int | None = None  # to go to; with step and back, 1 for a line at a time
    ptx: bool | None = None
    warp: int | None = None


@dataclass(frozen=True)
class GoOn(Message):
    """Another slice of what is being done."""


@dataclass(frozen=True)
class Halt(Message):
    """Leave what is being done."""


@dataclass(frozen=True)
class ChooseWarp(Message):
    """Show the registers of a warp, and the shared memory of its block."""

    warp: int


@dataclass(frozen=True)
class SetBreakpoint(Message):
    """Set a breakpoint, or with a condition change it, or take it away."""

    line: int
    ptx: bool | None = None
    when: str | None = None
    remove: bool | None = None


@dataclass(frozen=True)
class SetWatch(Message):
    """Watch a register of the chosen warp, or an element of an array; `remove` is the number of a watch."""

    register: str | None = None
    row: int | None = None
    column: int | None = None
    nan: bool | None = None
    remove: int | None = None


@dataclass(frozen=True)
class ShowMemory(Message):
    """Show an array or a memory as a matrix."""

    what: str | None = None
    dtype: str | None = None
    rows: int | None = None
    columns: int | None = None
    row: int | None = None  # the first that is shown
    column: int | None = None
    offset: int | None = None  # bytes before the matrix
    swizzle: int | None = None


@dataclass(frozen=True)
class WhoWrote(Message):
    """Who wrote a register of a lane of the chosen warp, or an element of the matrix that is shown."""

    register: str | None = None
    lane: int | None = None
    row: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Follow(Message):
    """Open a node of the tree of origins; 0 takes the tree away."""

    node: int


@dataclass(frozen=True)
class FindFirst(Message):
    """Go behind the first instruction with such a result."""

    what: Literal["NaN", "infinity"]


@dataclass(frozen=True)
class OpenExplorer(Message):
    """Open what the matrix instruction reads that the chosen warp executes next."""


#: What the page may send, by name.
MESSAGES: dict[str, type[Message]] = {
    "move": Move, "go_on": GoOn, "halt": Halt, "choose_warp": ChooseWarp, "set_breakpoint": SetBreakpoint,
    "set_watch": SetWatch, "show_memory": ShowMemory, "who_wrote": WhoWrote, "follow": Follow,
    "find_first": FindFirst, "open_explorer": OpenExplorer,
}  # fmt: skip


@dataclass
class _Matrix:
    """Which memory is shown, and how."""

    what: str = ""
    dtype: str = ""
    rows: int = 0
    columns: int = 0
    row: int = 0
    column: int = 0
    offset: int = 0
    swizzle: int = 0


class Debugger:
    """The state of the page of a session.

    >>> import numpy as np, ptxlab
    >>> source = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }"
    >>> debugger = Debugger(ptxlab.kernel(source).debug(1, 32, np.arange(32, dtype=np.float32)))
    >>> debugger.handle({"type": "move", "motion": "run"})
    >>> debugger.state()["memory"]["cells"][0][:4]
    ['0', '2', '4', '6']
    """

    def __init__(self, session: DebugSession) -> None:
        self.session = session
        self.warp = 0
        self.explorer: PageSession | None = None  # the last that was opened
        self._problem = ""
        self._busy = ""  # what is being done
        self._slices: Iterator[None] | None = None
        self._begun = 0  # the position where it began
        self._search = _MAX_SEARCH  # seconds for which the end of the launch is still looked for
        self._moved_to = -1  # where the last slice has left the session
        self._matrix = _Matrix()
        self._nodes: list[Origin] = []
        self._root: Origin | None = None
        self._last: tuple[int, int, dict[str, bytes]] = (-1, -1, {})  # position, warp, registers
        self._seen: dict[str, bytes] = {}  # memory as it was shown last, by what it is
        self._changes: dict[str, Any] = {}
        names = list(session.arrays)
        self._matrix.what = names[0] if names else "shared"
        self._reset_matrix()

    # -- what does not change --------------------------------------------------------------------------------

    def program(self) -> dict[str, Any]:
        """The listings, each line with its number and the source line that it belongs to."""
        kernel = self.session.kernel
        columns = []
        if kernel.source is not kernel.ptx:
            texts = token_lines(kernel.source)[:_MAX_CODE]
            columns.append(
                {
                    "name": kernel.language,
                    "ptx": False,
                    "texts": texts,
                    "numbers": list(range(1, len(texts) + 1)),
                    "lines": list(range(1, len(texts) + 1)),
                }
            )
        listing = ptx_listing(kernel)
        is_only = not columns
        columns.append(
            {
                "name": "PTX",
                "ptx": True,
                "texts": token_lines(listing.text)[:_MAX_CODE],
                "numbers": list(listing.numbers[:_MAX_CODE]),
                "lines": [0] * len(listing.lines) if is_only else list(listing.lines[:_MAX_CODE]),
            }
        )
        return {
            "title": repr(kernel)[1:-1],
            "columns": columns,
            "code": sorted(self._lines_with_code()),
            "warps": self.session.grid.warps,
        }

    def _lines_with_code(self) -> set[int]:
        return {instruction.source_line for instruction in self.session.kernel.module.instructions} - {0}

    # -- what changes ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything else that the page shows."""
        session = self.session
        if self._last[:2] != (session.position, self.warp):
            self._changes = {}
        return {
            "place": self._place(),
            "warps": self._warps(),
            "registers": self._registers(),
            "memory": self._memory(),
            "barriers": self._barriers(),
            "points": self._points(),
            "origin": self._tree(),
            "waiting": self._waiting(),
        }

    def _place(self) -> dict[str, Any]:
        session, instruction = self.session, self.session.instruction
        text = "" if instruction is None else lines_of(session.kernel.ptx)[instruction.line - 1].strip()
        where = "the end" if instruction is None else instruction.where
        if session.ended and self._waiting():
            where = "nothing: no warp can go on"
        return {
            "position": session.position,
            "length": session.length,
            "stopped": "" if self._busy or session.stopped.startswith(_PLAIN_STOPS) else session.stopped,
            "error": ""
            if session.error is None or not session.ended or self._waiting()
            else str(session.error),
            "fails": session.error is not None,
            "line": 0 if instruction is None else self._line(instruction),
            "ptx_line": 0 if instruction is None else instruction.line,
            "where": where,
            "text": text,
            "warps": list(session.next_warps),
            "is_matrix": instruction is not None and _is_matrix(instruction),
            "output": session.output[-2000:],
            "snapshots": session.memory,
            "busy": self._busy,
            "searches": session.length is None and self._search > 0,
            "problem": self._problem,
        }

    def _line(self, instruction: PtxInstruction) -> int:
        """Its line of the source that is shown; of PTX that names lines of another source, its own."""
        kernel = self.session.kernel
        if kernel.source is kernel.ptx:
            return instruction.line
        return instruction.call_line or instruction.source_line

    def _is_ptx(self, ptx: bool | None) -> bool:
        """Whether a line of a message is one of the PTX; without another source each is."""
        return bool(ptx) or self.session.kernel.source is self.session.kernel.ptx

    def _warps(self) -> dict[str, Any]:
        """A row for each warp: its number, state, line, line of the PTX, what it waits for, its parts."""
        rows: dict[int, dict[str, Any]] = {}
        for state in self.session.warps:
            row = rows.get(state.warp)
            if row is None:
                rows[state.warp] = self._warp_row(state)
                continue
            row["parts"] += 1
            if state.state == "next":  # its other lanes stand elsewhere
                rows[state.warp] = {**self._warp_row(state), "parts": row["parts"]}
        shown = list(rows.values())
        first = max(0, min(self.warp - _MAX_WARPS // 2, len(shown) - _MAX_WARPS))
        return {"chosen": self.warp, "rows": shown[first : first + _MAX_WARPS], "count": len(shown)}

    def _warp_row(self, state: WarpState) -> dict[str, Any]:
        instruction = state.instruction
        return {
            "warp": state.warp,
            "block": list(state.block),
            "state": state.state,
            "line": 0 if instruction is None else self._line(instruction),
            "ptx_line": 0 if instruction is None else instruction.line,
            "opcode": "" if instruction is None else instruction.opcode,
            "waits": state.waits_for,
            "lanes": len(state.lanes),
            "parts": 1,
        }

    def _registers(self) -> dict[str, Any]:
        """The registers of the chosen warp; those that the next instruction uses come first."""
        session = self.session
        try:
            values = session.registers(self.warp)
        except PtxlabError as error:  # its block does not run
            return {"warp": self.warp, "rows": [], "hidden": 0, "note": str(error)}
        now = {name: content.tobytes() for name, content in values.items()}
        if self._last[:2] != (session.position, self.warp):
            before = self._last[2] if self._last[1] == self.warp else now
            self._changes = {
                name: np.flatnonzero(
                    np.frombuffer(content, values[name].dtype)
                    != np.frombuffer(before[name], values[name].dtype)
                    if name in before
                    else np.ones(32, np.bool_)
                ).tolist()
                for name, content in now.items()
                if content != before.get(name)
            }
            self._last = session.position, self.warp, now
        instruction = session.instruction if self.warp in session.next_warps else None
        reads, writes = ((), ()) if instruction is None else instruction.registers
        roles = {register.name: "written" for register in writes}
        roles |= {register.name: "read" for register in reads}
        function = session.function_of(self.warp)
        kinds, names = register_kinds(function), register_names(function, self.session.kernel)
        rows = [
            {
                "name": name,
                "means": names.get(name, ""),
                "role": roles.get(name, ""),
                "values": register_texts(content, kinds.get(name, "")),
                "changed": self._changes.get(name, []),
            }
            for name, content in values.items()
        ]
        order = {"read": 0, "written": 1, "": 3}
        rows.sort(key=lambda row: 2 if row["changed"] and not row["role"] else order[row["role"]])
        return {
            "warp": self.warp,
            "rows": rows[:_MAX_REGISTERS],
            "hidden": max(0, len(rows) - _MAX_REGISTERS),
            "note": "" if rows else "no register has been written yet",
        }

    def _barriers(self) -> list[dict[str, Any]]:
        with suppress(PtxlabError):
            return [vars(barrier) for barrier in self.session.mbarriers(self._block)]
        return []

    @property
    def _block(self) -> int:
        """The block of the chosen warp."""
        return self.warp // self.session.grid.warps

    def _points(self) -> dict[str, Any]:
        return {
            "breakpoints": [
                {
                    "line": point.line,
                    "ptx": point.ptx,
                    "when": point.when if isinstance(point.when, str) else "",
                }
                for point in self.session.breakpoints
            ],
            "watches": [watch.name for watch in self.session.watches],
        }

    def _waiting(self) -> str:
        """The picture of a launch that hangs, at its end."""
        waiting = getattr(self.session.error, "waiting", None)
        return waiting_html(waiting) if waiting and self.session.ended else ""

    # -- memory as a matrix ----------------------------------------------------------------------------------

    def _reset_matrix(self) -> None:
        """The matrix as it is stored: an array in its own shape, other memory in rows of 32 words."""
        matrix = self._matrix
        matrix.row = matrix.column = matrix.offset = matrix.swizzle = 0
        if matrix.what in self.session.arrays:
            array = self.session.arrays[matrix.what]
            matrix.dtype = next((name for name, dtype in _TYPES.items() if dtype == array.dtype), "")
            matrix.columns = array.shape[-1] if array.ndim > 1 else min(array.size, _MAX_CELLS)
            matrix.rows = -(-array.size // max(matrix.columns, 1))
            return
        matrix.dtype = "f32"
        if matrix.what == "tensor":
            matrix.rows, matrix.columns = 128, 512
        else:
            matrix.columns, matrix.rows = 32, 0

    def _bytes(self) -> NDArray[np.uint8]:
        """The memory that is shown, as bytes."""
        what = self._matrix.what
        if what in self.session.arrays:
            return np.ascontiguousarray(self.session.arrays[what]).reshape(-1).view(np.uint8)
        if what == "tensor":
            return self.session.tensor_memory(self._block).reshape(-1).view(np.uint8)
        return self.session.shared(self._block)

    def _offsets(self, size: int, row: NDArray[Any], column: NDArray[Any]) -> NDArray[np.int64]:
        """The bytes at which elements of the matrix are."""
        matrix = self._matrix
        if not matrix.swizzle:
            return np.asarray(matrix.offset + (row * matrix.columns + column) * size)
        tile = Tile(8 * size, max(8, -(-matrix.rows // 8) * 8), matrix.columns, swizzle=matrix.swizzle)
        return np.asarray(matrix.offset + tile.offset(row, column))

    def _memory(self) -> dict[str, Any]:
        matrix = self._matrix
        choices = [[name, self._array_title(name)] for name in self.session.arrays]
        choices.append(["shared", f"shared memory of block {self._block}"])
        with suppress(PtxlabError):
            self.session.tensor_memory(self._block)
            choices.append(["tensor", f"tensor memory of block {self._block}"])
        shown: dict[str, Any] = {
            **vars(matrix),
            "choices": choices,
            "types": list(_TYPES),
            "cells": [],
            "changed": [],
            "note": "",
        }
        try:
            content = self._bytes()
            dtype = _TYPES.get(matrix.dtype) or self.session.arrays[matrix.what].dtype
            if not matrix.rows:
                matrix.rows = -(-(len(content) - matrix.offset) // (dtype.itemsize * matrix.columns))
                shown["rows"] = matrix.rows
            rows = np.arange(matrix.row, min(matrix.row + _MAX_CELLS, matrix.rows))[:, None]
            columns = np.arange(matrix.column, min(matrix.column + _MAX_CELLS, matrix.columns))[None, :]
            places = np.broadcast_to(self._offsets(dtype.itemsize, rows, columns), (rows.size, columns.size))
        except PtxlabError as error:
            return {**shown, "note": str(error)}
        if not len(content):
            return {**shown, "note": "the kernel has none"}
        inside = places + dtype.itemsize <= len(content)
        taken = np.where(inside, places, 0)[..., None] + np.arange(dtype.itemsize)
        raw = np.ascontiguousarray(content[taken])
        values = raw.view(dtype)[..., 0]
        key = f"{vars(matrix)} {self._block}"
        before = np.frombuffer(self._seen.get(key, raw.tobytes()), np.uint8).reshape(raw.shape)
        self._seen = {key: raw.tobytes()}
        is_changed = (raw != before).any(axis=-1)
        shown["cells"] = [
            [number_text(value) if is_inside else "" for value, is_inside in zip(*line, strict=True)]
            for line in zip(values, inside, strict=True)
        ]
        shown["changed"] = np.argwhere(is_changed).tolist()
        return shown

    def _array_title(self, name: str) -> str:
        array, kernel = self.session.arrays[name], self.session.kernel
        names = parameter_names(kernel)
        number = int(name) - 1 if name.isdigit() else -1
        title = names[number] if 0 <= number < len(names) else f"argument {name}"
        kind = next((key for key, dtype in _TYPES.items() if dtype == array.dtype), str(array.dtype))
        return f"{title}: {kind}{list(array.shape)}"

    # -- origins ---------------------------------------------------------------------------------------------

    def _tree(self) -> dict[str, Any]:
        if self._root is None:
            return {}
        self._nodes = [self._root]
        numbers = {id(self._root): 1}

        def add(origin: Origin) -> dict[str, Any]:
            for source in origin.sources:
                self._nodes.append(source)
                numbers[id(source)] = len(self._nodes)
            return {
                "node": numbers[id(origin)],
                "what": origin.what,
                "note": origin.note,
                "opcode": origin.opcode,
                "where": origin.where,
                "line": origin.line,
                "warp": origin.warp,
                "lane": origin.lane,
                "position": origin.position,
                "more": origin.rest is not None,
                "sources": [add(source) for source in origin.sources],
            }

        return add(self._root)

    # -- messages --------------------------------------------------------------------------------------------

    def handle(self, content: object) -> None:
        """Do what the page asks for; `state` has what came of it."""
        try:
            message = decode(content, MESSAGES)
            if not isinstance(message, GoOn | Halt):
                self._leave()
                self._problem = ""
            _HANDLERS[type(message)](self, message)
        except PtxlabError as error:
            self._busy, self._slices = "", None
            self._problem = str(error)

    def _leave(self) -> None:
        """Leave what is being done; what went backwards returns to where it began."""
        if self._slices is not None:
            self._slices = None
            if self._busy in _BACKWARDS and self._moved_to == self.session.position:
                self.session.go(self._begun)
            self.session.stopped = "interrupted"
        self._busy = ""

    def _move(self, message: Move) -> None:
        options: dict[str, Any] = {}
        arguments: list[Any] = []
        if message.motion == "go":
            arguments = [message.position]
        elif message.motion in ("run_to", "back_to"):
            arguments, options = [message.line], {"ptx": self._is_ptx(message.ptx)}
        elif message.motion in ("step", "back"):
            options = {"line": bool(message.line)}
        if message.warp is not None and message.motion in ("run_to", "back_to", "step", "back"):
            options["warp"] = message.warp
        if message.motion in ("step", "back") and not message.line and message.warp is not None:
            self._begin(message.motion, self._to_step_of(message.motion, message.warp))
            return
        self._begin(message.motion, self.session.in_slices(message.motion, *arguments, **options))

    def _to_step_of(self, motion: str, warp: int) -> Iterator[None]:
        """Instruction by instruction until the one that comes next is of a warp."""
        begun = self.session.position
        while True:
            position = self.session.position
            yield from self.session.in_slices(motion)
            if warp in self.session.next_warps or self.session.position == position or self.session.ended:
                break
            if motion == "back" and self.session.position == 0:
                break
        if self.session.ended and warp not in self.session.next_warps and motion == "step":
            self.session.stopped = self.session.stopped or f"warp {warp} does not go on from {begun}"

    def _begin(self, name: str, slices: Iterator[None]) -> None:
        self._busy, self._slices, self._begun = name, slices, self.session.position
        self._moved_to = self.session.position
        self._go_on(GoOn())

    def _go_on(self, message: GoOn) -> None:
        """A slice of the motion; without one, of the search for the length of the launch."""
        if self._slices is None:
            begun = perf_counter()
            is_found = self.session.look_ahead(_SLICE) is not None
            self._search -= perf_counter() - begun
            self._busy = "" if is_found or self._search <= 0 else "look_ahead"
            return
        if self.session.position != self._moved_to:  # somebody else has moved it meanwhile
            self._slices, self._busy = None, ""
            return
        end = perf_counter() + _SLICE
        for _ in self._slices:
            if perf_counter() > end:
                self._moved_to = self.session.position
                return
        self._slices, self._busy = None, ""
        if self.session.next_warps and self.warp not in self.session.next_warps and self._begun is not None:
            self._show_mover()

    def _show_mover(self) -> None:
        """After a breakpoint or a watch of another warp, that is the one to look at."""
        if self.session.stopped.startswith(("breakpoint", "line")) or "changed" in self.session.stopped:
            self.warp = self.session.next_warps[0]

    def _halt(self, _: Halt) -> None:
        if self._slices is None:
            self._search = 0
        self._leave()

    def _choose_warp(self, message: ChooseWarp) -> None:
        self.session.registers(message.warp)  # refuses one that does not run
        self.warp = message.warp

    def _set_breakpoint(self, message: SetBreakpoint) -> None:
        points, is_ptx = self.session.breakpoints, self._is_ptx(message.ptx)
        here = [point for point in points if (point.line, point.ptx) == (message.line, is_ptx)]
        if not message.remove:
            self.session.breakpoint(message.line, message.when or None, ptx=is_ptx)
        for point in here:
            points.remove(point)

    def _set_watch(self, message: SetWatch) -> None:
        session, is_nan = self.session, bool(message.nan)
        if message.remove is not None:
            if not 0 <= message.remove < len(session.watches):
                raise PtxlabError(f"watch {message.remove}: there are {len(session.watches)}, from 0 on")
            del session.watches[message.remove]
        elif message.register is not None:
            session.watch(register=message.register, warp=self.warp, nan=is_nan)
        else:
            offset, dtype = self._element(message.row, message.column)
            what, block = self._matrix.what, self._block

            def read(session: DebugSession) -> Any:
                if what in session.arrays:
                    content = session.arrays[what].reshape(-1).view(np.uint8)
                else:
                    content = session.shared(block)
                return content[offset : offset + dtype.itemsize].view(dtype)

            watch = session.watch(read, nan=is_nan)
            title = self._array_title(what) if what in session.arrays else f"{what} memory"
            watch.name = f"{title}, byte {offset}"

    def _element(self, row: int | None, column: int | None) -> tuple[int, np.dtype[Any]]:
        """The byte of an element of the matrix that is shown, and its type."""
        matrix = self._matrix
        dtype = _TYPES.get(matrix.dtype) or self.session.arrays[matrix.what].dtype
        if row is None or column is None or not (0 <= row < matrix.rows and 0 <= column < matrix.columns):
            raise PtxlabError(f"element [{row}][{column}]: there are {matrix.rows} x {matrix.columns}")
        offset = int(self._offsets(dtype.itemsize, np.array(row), np.array(column)))
        return offset, dtype

    def _show_memory(self, message: ShowMemory) -> None:
        matrix = self._matrix
        former = _Matrix(**vars(matrix))
        if message.what is not None and message.what != matrix.what:
            if message.what not in (*self.session.arrays, "shared", "tensor"):
                raise PtxlabError(f"memory {quoted(message.what)}: it is no array of this launch")
            matrix.what = message.what
            self._reset_matrix()
            return
        for name in ("dtype", "rows", "columns", "row", "column", "offset", "swizzle"):
            value = getattr(message, name)
            if value is None:
                continue
            if name == "dtype" and value not in _TYPES:
                raise PtxlabError(f"as {quoted(value)}: it is one of {', '.join(_TYPES)}")
            if name != "dtype" and not 0 <= value <= 1 << 24:
                raise PtxlabError(f"{name} {value}: it is 0 to {1 << 24}")
            setattr(matrix, name, value)
        if not matrix.columns:
            matrix.columns = former.columns
        try:
            self._offsets(_TYPES[matrix.dtype].itemsize if matrix.dtype else 4, np.array(0), np.array(0))
        except PtxlabError:
            self._matrix = former
            raise

    def _who_wrote(self, message: WhoWrote) -> None:
        if message.register is not None:
            self._root = self.session.who_wrote(
                register=message.register, warp=self.warp, lane=message.lane or 0, most=1
            )
            return
        offset, dtype = self._element(message.row, message.column)
        matrix = self._matrix
        if matrix.what in self.session.arrays:
            array = self.session.arrays[matrix.what]
            index = np.unravel_index(offset // array.itemsize, array.shape)
            self._root = self.session.who_wrote(matrix.what, tuple(int(i) for i in index), most=1)
        elif matrix.what == "shared":
            self._root = self.session.who_wrote_shared(offset, dtype.itemsize, self._block, most=1)
        else:
            raise PtxlabError(
                "who wrote tensor memory is not followed; ask for a register that tcgen05.ld reads"
            )

    def _follow(self, message: Follow) -> None:
        if message.node == 0:
            self._root, self._nodes = None, []
        elif not 0 < message.node <= len(self._nodes):
            raise PtxlabError(f"node {message.node}: there are {len(self._nodes)}, from 1 on")
        else:
            self.session.follow(self._nodes[message.node - 1])

    def _find_first(self, message: FindFirst) -> None:
        session = self.session
        origin = session.first_nan() if message.what == "NaN" else session.first_infinity()
        if origin is None:
            raise PtxlabError(f"no arithmetic instruction of this launch gives {_AN[message.what]}")
        self._root = origin
        if origin.warp is not None:
            self.warp = origin.warp
        session.stopped = f"first {message.what}"

    def _open_explorer(self, _: OpenExplorer) -> None:
        operands = self.session.operands(self.warp)
        self.explorer = PageSession(operands.ins, operands=operands)


_AN = {"NaN": "a NaN", "infinity": "an infinity"}
_HANDLERS: dict[type[Message], Callable[[Debugger, Any], None]] = {
    kind: getattr(Debugger, f"_{name}") for name, kind in MESSAGES.items()
}


# -- registers -----------------------------------------------------------------------------------------------


def register_kinds(function: Function) -> dict[str, str]:
    """The type of the first instruction that writes a register, "" where it holds packed elements."""
    kinds: dict[str, str] = {}
    for instruction in function.instructions:
        packed = _packed(instruction)
        kind = next(
            (
                part
                for part in reversed(instruction.parts)
                if part in _FLOATS or re.fullmatch(r"[su]\d+", part)
            ),
            "",
        )
        for register in instruction.registers[1]:
            kinds.setdefault(register.name, kind)
        for register in packed:
            kinds[register.name] = ""
    return kinds


def _packed(instruction: PtxInstruction) -> set[Register]:
    """The registers of a matrix instruction that hold several elements: all but those of D and C."""
    if not _is_matrix(instruction):
        return set()
    others = [operand for at, operand in enumerate(instruction.operands) if at not in (0, 3)]
    return {register for operand in others for register in registers_of(operand)}


def _is_matrix(instruction: PtxInstruction) -> bool:
    return bool({"mma", "mma_async"}.intersection(instruction.parts))


def register_texts(values: NDArray[Any], kind: str) -> list[str]:
    """The values of all lanes: decimal where the type has the size of the register, else hexadecimal.

    >>> register_texts(np.array([1, 255], np.uint32), "s32"), register_texts(np.array([255], np.uint32), "")
    (['1', '255'], ['000000ff'])
    """
    if values.dtype == np.bool_:
        return ["true" if value else "false" for value in values.tolist()]
    size = values.dtype.itemsize
    if values.dtype.kind == "f":
        return [number_text(value, 5) for value in values.tolist()]
    if kind in _FLOATS and np.dtype(_FLOATS[kind]).itemsize == size:
        return [number_text(value, 5) for value in values.view(_FLOATS[kind]).tolist()]
    if kind in (f"s{8 * size}", f"u{8 * size}") and (
        size < 8 or int(np.abs(values.view("i8")).max()) < 1 << 31
    ):
        numbers = values.view(f"{'i' if kind[0] == 's' else 'u'}{size}")
        return [str(value) for value in numbers.tolist()]
    digits = 1 if size == 8 else 2 * size  # addresses have many zeros
    return [f"{value:0{digits}x}" for value in values.view(f"u{size}").tolist()]


def register_names(function: Function, kernel: Kernel) -> dict[str, str]:
    """What a register is called in the source, where the PTX tells: a parameter, or threadIdx and its kin.

    >>> import ptxlab
    >>> kernel = ptxlab.kernel("__global__ void f(int* x, int n) { x[threadIdx.x] = n; }")
    >>> sorted(set(register_names(kernel.function, kernel).values()))
    ['n', 'threadIdx.x', 'x']
    """
    writers: dict[str, list[PtxInstruction]] = {}
    for instruction in function.instructions:
        for register in instruction.registers[1]:
            writers.setdefault(register.name, []).append(instruction)
    in_ptx = [parameter.name for parameter in kernel.function.parameters]
    parameters = dict(zip(in_ptx, parameter_names(kernel), strict=True))
    names: dict[str, str] = {}
    for name, (instruction, *others) in writers.items():
        source = instruction.operands[-1]
        if others or not instruction.operands:
            continue
        symbols = [symbol.name for symbol in symbols_of(source) if symbol.name in parameters]
        if instruction.parts[:2] == ("ld", "param") and symbols:
            names[name] = parameters[symbols[0]]
        elif instruction.parts[0] == "mov" and isinstance(source, Special):
            base, _, axis = source.name.lstrip("%").partition(".")
            names[name] = f"{_SPECIAL[base]}.{axis}" if base in _SPECIAL else source.name
        elif (
            instruction.parts[0] in ("mov", "cvta") and isinstance(source, Register) and source.name in names
        ):
            names[name] = names[source.name]
    return names


_SPECIAL = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}


def parameter_names(kernel: Kernel) -> list[str]:
    """The names of the parameters: those of C++ where its text shows them, otherwise PTX's.

    >>> import ptxlab
    >>> source = "__global__ void f(const float* x, int n) { if (n) *const_cast<float*>(x) = 1; }"
    >>> parameter_names(ptxlab.kernel(source))
    ['x', 'n']
    """
    in_ptx = [parameter.name for parameter in kernel.function.parameters]
    pattern = rf"\b{re.escape(kernel.title)}\s*\(([^(){{}};]*)\)\s*\{{"
    signature = re.search(pattern, re.sub(r"//.*|/\*.*?\*/", "", kernel.source)) if kernel.compiler else None
    if signature is None:
        return in_ptx
    names = [
        name
        for parameter in signature[1].split(",")
        for name in re.findall(r"(\w+)\s*(?:\[\w*\]\s*)*$", parameter)
    ]
    return names if len(names) == len(in_ptx) else in_ptx


def token_lines(source: str) -> list[list[tuple[str, str]]]:
    """The lines of a source, each as parts with their kinds.

    >>> token_lines("int i;\\nret")
    [[('keyword', 'int'), ('', ' i;')], [('', 'ret')]]
    """
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, text in tokens(source):
        for number, piece in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if piece:
                lines[-1].append((kind, piece))
    return lines
